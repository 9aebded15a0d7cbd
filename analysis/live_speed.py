"""A hundred thousand pulls in one file: python analysis/live_speed.py [--pulls N] [--policy P,P]

For each policy an experiment is filled, in batches of a thousand, with so many pulls and their outcomes. At the
beginning and at the end single pulls are handed out and recorded, by one object, with compiled rounds and without, and
by an object that is opened for each, as a command does, and the medians of each are compared. What the disk takes to be
sure of a transaction is in all of them, so that the processor's share stands beside. Prints the milliseconds, their
ratio, which should be at most 3, and the size of the file; exit status 1 where it is not.
"""

import argparse
import random
import sys
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from caet_opt.common.numbers import table
from caet_opt.live.experiment import LiveExperiment
from caet_opt.simulating.runs import compile_loop
from cases.runs import without_compiled

PULLS, BATCH, TIMED, LIMIT = 100_000, 1000, 60, 3.0

MEANS = (0.7, 0.6, 0.4)

#: Ways of working; a command has no compiled rounds at hand.
WAYS = COMPILED, INTERPRETED, REOPENED = ("one object, compiled", "one object, interpreted", "opened for each")


def draw(arm: int) -> int:
    """An outcome."""
    return int(random.random() < MEANS[arm])


def time_pulls(path: Path, way: str) -> tuple[float, float]:
    """The median seconds of handing out one pull and recording it, on the clock and on a core."""
    with nullcontext() if way == COMPILED else without_compiled():
        return time_each(path, reopen=way == REOPENED)


def time_each(path: Path, *, reopen: bool) -> tuple[float, float]:
    """The same with compiled code, if it is at hand."""
    seconds, busy = [], []
    experiment = LiveExperiment.open(path)
    for _ in range(TIMED):
        start, began = perf_counter(), process_time()
        if reopen:
            experiment.close()
            experiment = LiveExperiment.open(path)
        (pull,) = experiment.next()
        if reopen:
            experiment.close()
            experiment = LiveExperiment.open(path)
        experiment.record(pull.arm, draw(pull.arm), pull=pull.number)
        seconds.append(perf_counter() - start)
        busy.append(process_time() - began)
    experiment.close()
    return median(seconds), median(busy)


def fill(path: Path, pulls: int) -> None:
    """Hand out and record so many, in batches; outcomes come back in any order."""
    with LiveExperiment.open(path) as experiment:
        for done in range(0, pulls, BATCH):
            handed = list(experiment.next(min(BATCH, pulls - done)))
            random.shuffle(handed)
            experiment.record_many({"pull": pull.number, "reward": draw(pull.arm)} for pull in handed)


def measure(folder: Path, policy: str, pulls: int) -> list[list[str]]:
    """A row for each way of working."""
    path = folder / f"{policy}.caet"
    asked = {"arms": 3, "costs": [1, 2, 3], "log_inv_delta": 1e6, "policy": policy}
    LiveExperiment.start(path, "best-arm", "bernoulli", **asked).close()  # type: ignore[arg-type]
    compile_loop(policy)
    time_pulls(path, COMPILED)
    first = {way: time_pulls(path, way) for way in WAYS}
    start = perf_counter()
    fill(path, pulls)
    filling = perf_counter() - start
    last = {way: time_pulls(path, way) for way in WAYS}
    size = path.stat().st_size / 1e6
    return [
        [
            policy,
            way,
            f"{1e3 * first[way][0]:.2f}",
            f"{1e3 * last[way][0]:.2f}",
            f"{last[way][0] / first[way][0]:.2f}",
            f"{1e3 * last[way][1]:.2f}",
            f"{size:.1f}",
            f"{filling:.0f}",
        ]
        for way in WAYS
    ]


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pulls", type=int, default=PULLS, help=f"in the file ({PULLS})")
    parser.add_argument("--policy", default="uniform,caet", help="policies (uniform,caet)")
    arguments = parser.parse_args()
    random.seed(1)
    with TemporaryDirectory() as folder:
        rows = [row for name in arguments.policy.split(",") for row in measure(Path(folder), name, arguments.pulls)]
    headers = ("policy", "by", "ms at the beginning", "ms at the end", "ratio", "ms on a core", "MB", "s to fill")
    print(table(headers, rows, (0, 1)))
    return int(any(float(row[4]) > LIMIT for row in rows))


if __name__ == "__main__":
    sys.exit(main())
