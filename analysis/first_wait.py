"""How long the first answer takes: python analysis/first_wait.py [--repeat N] [--tree PATH ...]

Each figure is the best of N fresh processes, in which everything is counted from before ``import caet_opt`` on: numba's
own import, too. Cold: numba's cache is an empty folder; cached: a process before has filled it. Trees take turns, so
that two checkouts are compared in one run. Seconds on the clock, and of them those on a core, which other work on the
machine changes less.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from caet_opt.common.numbers import table

#: What a fresh process does after it has noted the time.
IMPORT = "import caet_opt"
NUMBA = "import numba"
SOLVE = """
from caet_opt import BanditModel, characteristic_time
from caet_opt.kernels.native import compiled_kernel
compiled_kernel()
assert characteristic_time(BanditModel("gaussian", [2, 0], costs=[1, 1]), "best-arm").gap < 1e-9
"""
SIMULATE = """
from caet_opt import BanditModel, simulate
simulate(BanditModel("gaussian", [2, 0], costs=[1, 1]), "best-arm", runs=1, delta=0.05, seed=1, workers=1)
"""
HELP = """
from contextlib import redirect_stdout, suppress
from io import StringIO
from caet_opt.cli import main
with redirect_stdout(StringIO()), suppress(SystemExit):
    main(["--help"])
"""

#: What is measured, and whether it compiles something, which a second process then finds in the cache.
TASKS = (
    ("import caet_opt", IMPORT, False),
    ("caet-opt --help", HELP, False),
    ("import numba", NUMBA, False),
    ("first compiled solve", SOLVE, True),
    ("first compiled run", SIMULATE, True),
)

#: What is printed after it: seconds on the clock, and on a core.
TIMED = """
from time import perf_counter, process_time
started = perf_counter(), process_time()
{task}
print(perf_counter() - started[0], process_time() - started[1])
"""


def run(tree: Path, task: str, cache: str) -> tuple[float, float]:
    """Seconds of a task in a fresh process, on the clock and on a core."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **threads, "PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", TIMED.format(task=task)]
    done = subprocess.run(command, env=environment, cwd=cache, check=True, capture_output=True, text=True)
    wall, busy = done.stdout.split()[-2:]
    return float(wall), float(busy)


def measure(tree: Path, task: str) -> list[tuple[float, float]]:
    """Seconds of a task with an empty cache, and of a second process with what the first has left there."""
    with TemporaryDirectory() as cache:
        return [run(tree, task, cache), run(tree, task, cache)]


def best_of(repeats: list[list[tuple[float, float]]]) -> list[str]:
    """The least seconds of each kind, cold and cached."""
    least = [[min(column) for column in zip(*times, strict=True)] for times in zip(*repeats, strict=True)]
    return [f"{wall:.2f} ({busy:.2f})" for wall, busy in least]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Seconds to the first answer, in fresh processes.")
    parser.add_argument("--repeat", type=int, default=3, help="processes per figure; the best counts")
    parser.add_argument("--tree", type=Path, action="append", help="a checkout; give it twice to compare two")
    arguments = parser.parse_args()
    trees = [tree.resolve() for tree in arguments.tree or [Path(__file__).parents[1]]]
    rows = []
    for name, task, compiles in TASKS:
        taken = [[measure(tree, task) for tree in trees] for _ in range(arguments.repeat)]
        cold, cached = zip(*(best_of(list(times)) for times in zip(*taken, strict=True)), strict=True)
        rows += [[f"{name}, cold", *cold], [f"{name}, cached", *cached]] if compiles else [[name, *cached]]
    print(table(["seconds on the clock (on a core)", *(tree.name for tree in trees)], rows, left=(0,)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
