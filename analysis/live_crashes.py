"""Killed in the midst of a live experiment: python analysis/live_crashes.py [--kills N] [--policy P] [--seed S]

Three processes hand out pulls of one file and record their outcomes. Each writes down what was acknowledged to it, once
the call has returned. At random moments one of them is killed (SIGKILL) and replaced. Then the file is compared with
what they wrote down: every acknowledged outcome is there with its reward, none twice, no pull was handed to two of
them, SQLite finds the file whole, and replaying its rows gives its state. Exit status 1 where that is not so.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory

from caet_opt.common.numbers import table
from caet_opt.live.experiment import LiveExperiment

WORKERS, KILLS = 3, 100

#: The longest time between two kills, in seconds; a pull takes about a hundredth of one.
LONGEST = 0.2


def work(file: str, log: str, seed: int) -> None:
    """Hand out and record until killed; what was acknowledged is a line of the log, written in one step."""
    rng = random.Random(seed)
    with LiveExperiment.open(file, wait=60.0) as experiment:
        sink = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        while True:
            pulls = experiment.next(rng.randint(1, 3))
            os.write(sink, (json.dumps({"handed": [pull.number for pull in pulls]}) + "\n").encode())
            for pull in pulls:
                reward = rng.randint(0, 1)
                experiment.record(pull.arm, reward, pull=pull.number)
                os.write(sink, (json.dumps({"pull": pull.number, "reward": reward}) + "\n").encode())


def torture(folder: Path, kills: int, policy: str, seed: int) -> dict[str, int]:
    """So many kills, and what the comparison found; the keys that begin with "wrong" should all be zero."""
    file, rng = str(folder / "trial.caet"), random.Random(seed)
    asked = {"arms": 3, "costs": [1, 2, 3], "log_inv_delta": 1e6, "policy": policy}
    LiveExperiment.start(file, "best-arm", "bernoulli", **asked).close()  # type: ignore[arg-type]
    context = get_context("forkserver")
    context.set_forkserver_preload(["caet_opt.live.experiment"])

    def launch(number: int) -> BaseProcess:
        process = context.Process(target=work, args=(file, str(folder / f"log-{number}"), number), daemon=True)
        process.start()
        return process

    workers = {number: launch(number) for number in range(WORKERS)}
    for number in range(WORKERS, WORKERS + kills):
        while not all((folder / f"log-{begun}").exists() for begun in workers):
            time.sleep(0.001)
        time.sleep(LONGEST * rng.random())
        kill(workers.pop(rng.choice(list(workers))))
        workers[number] = launch(number)
    for process in workers.values():
        kill(process)
    return compare(folder, file) | {"kills": kills}


def kill(process: BaseProcess) -> None:
    """SIGKILL, and wait for the end."""
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def compare(folder: Path, file: str) -> dict[str, int]:
    """The file against what was acknowledged."""
    handed: Counter[int] = Counter()
    acknowledged: dict[int, int] = {}
    for log in folder.glob("log-*"):
        for line in map(json.loads, log.read_text().splitlines()):
            if "handed" in line:
                handed.update(line["handed"])
            else:
                acknowledged[line["pull"]] = line["reward"]
    with LiveExperiment.open(file) as experiment:
        rows = {row["pull"]: row for row in experiment.export()}
        with experiment._store.reading() as db:
            (whole,) = db.execute("PRAGMA integrity_check").fetchone()
            (recorded, distinct) = db.execute("SELECT count(*), count(DISTINCT pull) FROM outcomes").fetchone()
        return {
            "pulls handed out": len(rows),
            "outcomes in the file": recorded,
            "outcomes acknowledged": len(acknowledged),
            "pulls left out by the killed": experiment.summary()["waiting"],
            "wrong: acknowledged and not there": sum(
                pull not in rows or rows[pull]["reward"] != reward for pull, reward in acknowledged.items()
            ),
            "wrong: recorded twice": recorded - distinct,
            "wrong: handed out twice": sum(times > 1 for times in handed.values()) + len(handed - Counter(rows.keys())),
            "wrong: damaged": int(whole != "ok"),
            "wrong: replay differs": len(experiment.verify()),
        }


def main() -> int:
    """Run it, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=KILLS, help=f"how many ({KILLS})")
    parser.add_argument("--policy", default="top-two", help="that decides (top-two)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (0)")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        found = torture(Path(folder), arguments.kills, arguments.policy, arguments.seed)
    print(table(("what", "number"), [[what, str(number)] for what, number in found.items()]))
    return int(any(number for what, number in found.items() if what.startswith("wrong")))


if __name__ == "__main__":
    sys.exit(main())
