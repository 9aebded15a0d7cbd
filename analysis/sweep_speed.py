"""Two workers against one, and a sweep against a bare simulate: python analysis/sweep_speed.py [--runs N] [--repeat N]

All three compute the same runs of the same cell, in turn in one process, and the best of their times are compared,
which others on the machine disturb least. The sweep reads and checks its study, starts its workers anew, and writes
every block and its manifest.
Exit status 1 unless two workers are 1.8 times one and the overhead over simulate is at most 10 %.
"""

import argparse
import io
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from caet_opt.cli import main as command
from caet_opt.common.numbers import table

MODEL = Path(__file__).parent.parent / "models" / "paper-instance-1.toml"
LEVEL, THRESHOLD = 20, "deviational"

#: What is asked for: speed-up by the second worker, and share of time that a sweep takes in addition.
SPEEDUP, OVERHEAD = 1.8, 0.10


def time_work(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds of some work, and of the processors for it and for its workers."""
    start, before = perf_counter(), sum(os.times()[:4])
    work()
    return perf_counter() - start, sum(os.times()[:4]) - before


def call_command(*words: str) -> None:
    """A command, which must succeed, without its output."""
    with redirect_stdout(io.StringIO()):
        status = command(list(words))
    if status:
        raise RuntimeError(f"caet-opt {' '.join(words)} ended with status {status}")


def simulate(runs: int) -> None:
    """The runs by ``caet-opt simulate``."""
    setting = ("--log-inv-delta", str(LEVEL), "--threshold", THRESHOLD, "--runs", str(runs))
    call_command("simulate", str(MODEL), *setting, "--workers", "1", "--json")


def sweep(runs: int, workers: int) -> None:
    """The same runs by ``caet-opt sweep``, into a new folder."""
    with TemporaryDirectory() as name:
        study = Path(name) / "study.toml"
        study.write_text(
            f'models = ["{MODEL.resolve()}"]\nlog_inv_deltas = [{LEVEL}]\nthreshold = "{THRESHOLD}"\nruns = {runs}\n',
            encoding="utf-8",
        )
        call_command("sweep", str(study), "--out", f"{name}/results", "--workers", str(workers), "--json")


def main() -> int:
    """Print the times and their ratios."""
    parser = argparse.ArgumentParser(description="Two workers against one, and a sweep against a bare simulate.")
    parser.add_argument("--runs", type=int, default=1500, metavar="N")
    parser.add_argument("--repeat", type=int, default=5, metavar="N")
    arguments = parser.parse_args()
    work: dict[str, Callable[[], None]] = {
        "simulate": lambda: simulate(arguments.runs),
        "sweep, 1 worker": lambda: sweep(arguments.runs, 1),
        "sweep, 2 workers": lambda: sweep(arguments.runs, 2),
    }
    for each in work.values():
        each()  # compiles and imports
    rounds = [{name: time_work(each) for name, each in work.items()} for _ in range(arguments.repeat)]
    best = {name: [min(times) for times in zip(*(each[name] for each in rounds), strict=True)] for name in work}
    (bare, _), (one, _), (two, _) = best.values()
    print(table(["", "seconds", "processor"], [[name, *(f"{value:.2f}" for value in best[name])] for name in work]))
    print(f"\ntwo workers over one: {one / two:.2f} (at least {SPEEDUP})")
    print(f"one worker over simulate: {one / bare - 1:+.1%} (at most {OVERHEAD:.0%})")
    return 0 if one / two >= SPEEDUP and one / bare - 1 <= OVERHEAD else 1


if __name__ == "__main__":
    raise SystemExit(main())
