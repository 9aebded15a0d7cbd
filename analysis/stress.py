"""The stress test: python analysis/stress.py [INSTANCES] [--seed S] [--workers N] [--solver NAME]

Hostile random instances of every family and task, each either certified to 1e-9 or refused with a `SolverError`.
Prints the counts; every refusal with its seed, so that `hostile_instance(default_rng([S, i]))` brings it back.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
from instances import hostile_instance

from caet_opt.certificate import certify
from caet_opt.characteristic import characteristic_time
from caet_opt.errors import SolverError
from caet_opt.native.compiled import compiled_kernel

TOLERANCE = 1e-9
BLOCK = 500


class Outcome(NamedTuple):
    """What happened to one instance: the gap certified by the code that knows no solver, or the refusal's."""

    number: int
    kind: str
    gap: float
    iterations: int
    seconds: float
    refused: bool


def attempt(seed: int, index: int, solver: str) -> Outcome:
    """Solve one instance and certify its answer again."""
    model, task = hostile_instance(np.random.default_rng([seed, index]))
    kind = f"{model.family.name} {task.name}"
    started = perf_counter()
    try:
        result = characteristic_time(model, task, solver=solver, tolerance=TOLERANCE)
    except SolverError as error:
        return Outcome(index, kind, error.gap, 0, perf_counter() - started, True)
    seconds = perf_counter() - started
    again = certify(model, result.pairs, result.effort, result.multipliers)
    return Outcome(index, kind, again.gap, result.iterations, seconds, False)


def block(seed: int, solver: str, first: int, last: int) -> list[Outcome]:
    """A block of instances, in a worker."""
    return [attempt(seed, index, solver) for index in range(first, last)]


def outcomes(instances: int, seed: int, workers: int, solver: str) -> Iterator[Outcome]:
    """All outcomes in order, with a counter on stderr when that is a terminal."""
    starts = range(0, instances, BLOCK)
    ends = [min(start + BLOCK, instances) for start in starts]
    with ProcessPoolExecutor(workers) as pool:
        for part in pool.map(partial(block, seed, solver), starts, ends):
            yield from part
            if sys.stderr.isatty():
                print(f"\r{part[-1].number + 1}/{instances}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def main() -> int:
    """Run the stress test; exit status 1 when an answer was accepted that is not certified."""
    parser = argparse.ArgumentParser(description="Hostile random instances: certified, or refused.")
    parser.add_argument("instances", nargs="?", type=int, default=100_000, metavar="INSTANCES")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--solver", default="native")
    arguments = parser.parse_args()
    if arguments.solver == "native":
        compiled_kernel()
    started = perf_counter()
    found = list(outcomes(arguments.instances, arguments.seed, arguments.workers, arguments.solver))
    report(found, arguments.seed, perf_counter() - started)
    return 1 if any(outcome.gap > TOLERANCE for outcome in found if not outcome.refused) else 0


def report(found: list[Outcome], seed: int, elapsed: float) -> None:
    """Counts, gaps, iterations, and every refusal."""
    refused = [outcome for outcome in found if outcome.refused]
    accepted = [outcome for outcome in found if not outcome.refused]
    gaps = np.array([outcome.gap for outcome in accepted])
    iterations = np.array([outcome.iterations for outcome in accepted])
    print(f"instances                  {len(found)} (seed {seed}, {elapsed:.0f} s)")
    print(f"certified to {TOLERANCE:.0e}         {int(np.sum(gaps <= TOLERANCE))}")
    print(f"accepted, not certified    {int(np.sum(gaps > TOLERANCE))}")
    print(f"refused (SolverError)      {len(refused)}")
    print(f"certified gap              median {np.median(gaps):.1e}, largest {np.max(gaps):.1e}")
    print(f"share within 1e-12         {np.mean(gaps <= 1e-12):.4f}")
    print(f"iterations                 mean {np.mean(iterations):.1f}, largest {np.max(iterations)}")
    print(f"time per solve             median {1e6 * np.median([o.seconds for o in accepted]):.0f} us")
    for outcome in refused:
        print(f"refused: [{seed}, {outcome.number}] {outcome.kind}, gap {outcome.gap:.1e}")


if __name__ == "__main__":
    sys.exit(main())
