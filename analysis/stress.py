"""The stress test: python analysis/stress.py [INSTANCES] [--seed S] [--workers N] [--solver NAME]
    [--adversarial] [--statements | --range] [--both]

Hostile random instances of every family and task, each either certified to 1e-9 or refused with a `SolverError`.
With --adversarial the instances are small, their numbers are such as make rounding show, and each certified interval
is held against the digits that ball arithmetic proves. With --statements the tasks have levels, margins and ratios, and
each certified interval is held against the bounds that efforts and weights nearby give, or with --adversarial against
proven digits as well, those that could not be proven being counted. With --range rewards are in a range, of any
distribution. Prints the counts; every refusal with its seed, so
that `hostile_instance(default_rng([S, i]))`, or that of the mode in `MODES`, brings it back.
With --both each instance is solved by interpreted and by compiled code, and all bits are compared.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from caet_opt.errors import SolverError, TieError
from caet_opt.kernels.native import compiled_kernel, interpreted_kernel
from caet_opt.proving.prove import proven_time
from caet_opt.solving.certificate import certify
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.result import CharacteristicTime
from cases.instances import (
    adversarial_instance,
    adversarial_stated_instance,
    any_stated_instance,
    bits_of,
    hostile_instance,
    hostile_range_instance,
)

TOLERANCE = 1e-9
BLOCK = 500


#: Digits that are proven in the adversarial mode.
DIGITS = 25


class Both(NamedTuple):
    """Whether interpreted and compiled code end in the same bits on one instance, cold and warm."""

    number: int
    equal: bool


#: What makes the instances of each mode.
MODES = {
    "hostile": hostile_instance,
    "adversarial": adversarial_instance,
    "statements": any_stated_instance,
    "adversarial statements": adversarial_stated_instance,
    "range": hostile_range_instance,
}


def run_both_ways(seed: int, mode: str, first: int, last: int) -> list[Both]:
    """A block of instances, interpreted and compiled."""
    make_instance, found = MODES[mode], []
    for index in range(first, last):
        model, task = make_instance(np.random.default_rng([seed, index]))
        kernels = interpreted_kernel(type(model.family)), compiled_kernel()
        interpreted, compiled = (bits_of(kernel, model, task) for kernel in kernels)
        found.append(Both(index, interpreted == compiled))
    return found


class Outcome(NamedTuple):
    """What happened to one instance: the gap certified by the code that knows no solver, or the refusal's."""

    number: int
    kind: str
    gap: float
    iterations: int
    seconds: float
    refused: bool
    outside: bool = False
    unproven: bool = False


def attempt(seed: int, index: int, solver: str, mode: str) -> Outcome:
    """Solve one instance, certify its answer again, and in the adversarial mode prove its digits."""
    model, task = MODES[mode](np.random.default_rng([seed, index]))
    kind = f"{model.family.name} {task.name}"
    started = perf_counter()
    try:
        result = characteristic_time(model, task, solver=solver, tolerance=TOLERANCE)
    except (SolverError, TieError) as error:
        return Outcome(index, kind, getattr(error, "gap", 1.0), 0, perf_counter() - started, True)
    seconds = perf_counter() - started
    again = certify(model, result.statements, result.effort, result.multipliers)
    outside, unproven = mode not in ("hostile", "adversarial") and not is_met(result, seed), False
    if "adversarial" in mode:
        try:
            outside = outside or not holds(result)
        except SolverError:
            unproven = True
    return Outcome(index, kind, again.gap, result.iterations, seconds, False, outside, unproven)


def holds(result: CharacteristicTime) -> bool:
    """Whether the certified interval contains the T* that is proven; `SolverError` where none is."""
    proven = proven_time(result.model, result.task, DIGITS, start=result)
    return Fraction(result.lower) <= proven.upper and proven.lower <= Fraction(result.upper)


def is_met(result: CharacteristicTime, seed: int) -> bool:
    """Whether no effort near the one that was found does better than the lower bound, and none of some weights proves
    more than the upper one."""
    rng, model = np.random.default_rng(seed), result.model
    for size in (1e-7, 1e-4, 1e-2):
        effort = result.effort * np.exp(size * rng.standard_normal(result.effort.size))
        weights = result.multipliers * np.exp(size * rng.standard_normal(result.multipliers.size))
        found = certify(model, result.statements, effort, weights)
        if found.upper < result.lower or found.lower > result.upper:
            return False
    return True


def block(seed: int, solver: str, mode: str, first: int, last: int) -> list[Outcome]:
    """A block of instances, in a worker."""
    return [attempt(seed, index, solver, mode) for index in range(first, last)]


def outcomes(do_block: Callable[[int, int], list[Any]], instances: int, workers: int) -> Iterator[Any]:
    """All outcomes in order, with a counter on stderr when that is a terminal."""
    starts = range(0, instances, BLOCK)
    ends = [min(start + BLOCK, instances) for start in starts]
    with ProcessPoolExecutor(workers) as pool:
        for part in pool.map(do_block, starts, ends):
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
    parser.add_argument("--adversarial", action="store_true", help="small instances, held against proven digits")
    parser.add_argument("--statements", action="store_true", help="levels, margins and ratios")
    parser.add_argument("--range", action="store_true", help="rewards in a range, of any distribution")
    parser.add_argument("--both", action="store_true", help="interpreted against compiled code, bit for bit")
    arguments = parser.parse_args()
    if arguments.solver == "native":
        compiled_kernel()
    started, many = perf_counter(), (arguments.instances, arguments.workers)
    mode = " ".join(name for name in ("adversarial", "statements", "range") if getattr(arguments, name)) or "hostile"
    if mode not in MODES:
        parser.error(f"there is no mode {mode!r}; there are: {', '.join(MODES)}")
    if arguments.both:
        ways = list(outcomes(partial(run_both_ways, arguments.seed, mode), *many))
        different = [one.number for one in ways if not one.equal]
        print(f"instances {len(ways)} (seed {arguments.seed}), interpreted and compiled differ: {len(different)}")
        print("".join(f"different: [{arguments.seed}, {number}]\n" for number in different[:20]), end="")
        return int(bool(different))
    found = list(outcomes(partial(block, arguments.seed, arguments.solver, mode), *many))
    report(found, arguments.seed, perf_counter() - started)
    if mode != "hostile":
        report_outside(found, arguments.seed)
    plain = mode == "adversarial"  # where all digits are proven
    bad = (one.outside or one.gap > TOLERANCE or (plain and one.unproven) for one in found if not one.refused)
    return int(any(bad))


def report_outside(found: list[Outcome], seed: int) -> None:
    """How many certified intervals exclude the T* that is proven, or a bound of it."""
    outside = [outcome for outcome in found if outcome.outside]
    print(f"intervals without T*       {len(outside)} of {sum(not outcome.refused for outcome in found)}")
    unproven = [outcome for outcome in found if outcome.unproven]
    if unproven:
        print(f"without proven digits      {len(unproven)}")
    for outcome in unproven[:20]:
        print(f"unproven: [{seed}, {outcome.number}] {outcome.kind}, gap {outcome.gap:.1e}")
    for outcome in outside[:20]:
        print(f"outside: [{seed}, {outcome.number}] {outcome.kind}, gap {outcome.gap:.1e}")


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
