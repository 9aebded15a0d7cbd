"""Threads or processes for the runs of one simulation: python analysis/threads_or_processes.py [--repeats N]

The same runs by one worker, by a pool of worker processes and by a pool of threads, which share the compiled code and
take turns in Python: many short runs, few long ones, and so few that starting the workers counts. The ways take turns
and the best of the repeats counts. The last column is the share of a run's processor time outside compiled rounds,
most of it in Python, where one thread runs at a time; it can be read on a busy machine too. Exit status 1 when a record
depends on the way.
"""

import argparse
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from time import perf_counter, thread_time
from typing import Any
from unittest.mock import patch

from caet_opt import BanditModel, Ranking
from caet_opt.bandits.modelfile import read_model
from caet_opt.common.numbers import table
from caet_opt.exploring.compiling import compiled_play
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.runs import Experiment, RunRecord, prepare, run_many, run_number

WORKERS, SEED = 2, 1
HEADERS = ["", "runs", "rounds each", "one worker, s", "processes, s", "threads, s"]
HEADERS += ["one/processes", "one/threads", "threads/processes", "outside compiled code"]


def run_in_threads(experiment: Experiment, runs: int) -> list[RunRecord]:
    """What `run_many` returns, by threads."""
    prepare(experiment)
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(lambda index: run_number(experiment, SEED, index), range(runs)))


def share_outside(experiment: Experiment, runs: int) -> float:
    """The share of processor time that runs spend outside compiled rounds."""
    inside, play = 0.0, compiled_play(experiment.policy)

    def timed(*arguments: Any) -> Any:
        nonlocal inside
        entered = thread_time()
        found = play(*arguments)
        inside += thread_time() - entered
        return found

    with patch.object(experiment.policy, "find_play", lambda policy: timed):
        started = thread_time()
        for index in range(runs):
            run_number(experiment, SEED, index)
        return 1.0 - inside / (thread_time() - started)


def short_runs() -> Experiment:
    """The first instance of the paper at an ordinary confidence."""
    entry = read_model("models/paper-instance-1.toml")
    return Experiment(entry.model, entry.task, Parameters(delta=0.05))


def long_runs() -> Experiment:
    """Ten arms with close means, to be ranked: about a hundred thousand rounds."""
    model = BanditModel("gaussian", [0.1 * arm for arm in range(10)], [1.0] * 10)
    return Experiment(model, Ranking(), Parameters(delta=1e-3))


def measure(name: str, experiment: Experiment, runs: int, repeats: int) -> tuple[list[str], bool]:
    """A line of the table, and whether all ways have the same records."""
    ways: dict[str, Callable[[], list[RunRecord]]] = {
        "one": lambda: run_many(experiment, runs, SEED),
        "processes": lambda: run_many(experiment, runs, SEED, WORKERS),
        "threads": lambda: run_in_threads(experiment, runs),
    }
    best, records = dict.fromkeys(ways, inf), {}
    prepare(experiment)
    for _ in range(repeats):
        for way, run in ways.items():
            started = perf_counter()
            records[way] = run()
            best[way] = min(best[way], perf_counter() - started)
    rounds = sum(record.rounds for record in records["one"]) / runs
    ratios = [("one", "processes"), ("one", "threads"), ("threads", "processes")]
    line = [name, str(runs), f"{rounds:.0f}", *(f"{best[way]:.4f}" for way in ways)]
    line += [f"{best[slow] / best[fast]:.2f}" for slow, fast in ratios]
    line.append(f"{share_outside(experiment, min(runs, 200)):.2f}")
    return line, records["one"] == records["processes"] == records["threads"]


def main() -> int:
    """Print the table; exit status 1 when the ways differ."""
    parser = argparse.ArgumentParser(description="Threads or processes for many runs.")
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {WORKERS} workers")
    cases = [
        ("many short runs", short_runs(), 2000, repeats),
        ("few long runs", long_runs(), 8, repeats),
        ("few short runs", short_runs(), 20, 10 * repeats),
    ]
    found = [measure(*case) for case in cases]
    print(table(HEADERS, [line for line, _ in found], left=(0,)))
    return int(not all(same for _, same in found))


if __name__ == "__main__":
    sys.exit(main())
