"""Whether compiled code has the bits of interpreted code on the numba that is here: python analysis/numba_releases.py

Solves every model of models/ and random ones, and goes through random runs of CAET and of a policy that does not solve,
each by compiled code and without any. `make numba` calls it on the oldest release that pyproject.toml admits and on the
newest. Prints the versions and what differs in a bit, which is status 1.
"""

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.modelfile import read_model
from caet_opt.bandits.tasks import Task
from caet_opt.kernels.compile import find_compiler
from caet_opt.kernels.native import compiled_kernel, interpreted_kernel
from cases.instances import bits_of, hostile_instance
from cases.runs import differences

MODELS = sorted((Path(__file__).parents[1] / "models").glob("*.toml"))

#: Random problems; random runs, of these policies in turn: each more policy compiles a loop of its own.
PROBLEMS, RUNS, POLICIES = 30, 60, ("caet", "top-two")


def problems() -> Iterator[tuple[str, BanditModel, Task]]:
    """What is solved, by name."""
    for path in MODELS:
        entry = read_model(path)
        yield path.stem, entry.model, entry.task
    for number in range(PROBLEMS):
        yield f"problem {number}", *hostile_instance(np.random.default_rng([31, number]))


def unlike_solves() -> Iterator[str]:
    """Names of the problems whose solutions differ."""
    for name, model, task in problems():
        if bits_of(compiled_kernel(), model, task) != bits_of(interpreted_kernel(type(model.family)), model, task):
            yield name


def main() -> int:
    """Compare, print, and return the exit status."""
    begun = perf_counter()
    found = ", ".join(f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy"))
    print(f"Python {platform.python_version()}, {found}, compiled by {find_compiler().__name__}", flush=True)
    unlike = [*unlike_solves(), *differences(range(RUNS), policies=POLICIES)]
    print(*unlike, sep="\n", end="\n" if unlike else "")
    seconds = perf_counter() - begun
    print(f"{len(MODELS) + PROBLEMS} problems and {RUNS} runs both ways in {seconds:.0f} s, {len(unlike)} differ")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
