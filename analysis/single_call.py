"""Where the microseconds of one call go: python analysis/single_call.py [--repeats N] [--margins | --bounded]

The public call on three and on ten arms, and each of its steps by itself; they take turns and the best of the repeats
counts. The solver benchmark prints the same lines. With --margins: the call with a margin beside the one without.
With --bounded: the call for rewards in a range, of 5 and of 21 values, beside Bernoulli ones of the same means.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import binom

from caet_opt import BanditModel, characteristic_time
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.common.numbers import table
from caet_opt.kernels.compile import compile_functions
from caet_opt.kernels.instance import solve_instance
from caet_opt.kernels.native import compiled_kernel
from caet_opt.solving.backends.native import TARGET, pack_pattern, solve_columns
from caet_opt.solving.characteristic import find
from caet_opt.solving.problem import ask, read_task
from caet_opt.solving.profiles import Profile, find_profile
from caet_opt.solving.programs.cache import cached_program
from caet_opt.solving.result import CharacteristicTime

TOLERANCE, LIMIT = 1e-9, 500

#: Calls between two looks at the clock.
CALLS = 200

CASES = [("gaussian", "ranking", 3), ("bernoulli", "best-arm", 3), ("gaussian", "ranking", 10)]


def repeat_inside(
    numbers: Array,
    packed: Integers,
    family: int,
    error: float,
    low: float,
    high: float,
    effort: Array,
    weights: Array,
    calls: int,
) -> float:
    """The compiled call without Python around it, so many times."""
    total = 0.0
    for _ in range(calls):
        _, _, value, _, _ = solve_instance(
            numbers, packed, family, error, low, high, effort, weights, False, TOLERANCE, TARGET, LIMIT
        )
        total += value
    return total


def read(task_name: str) -> Profile:
    """What is asked, and by whom."""
    read_task(task_name)
    return find_profile("native")


def call_often(step: Callable[[], Any]) -> None:
    """So many calls from Python."""
    for _ in range(CALLS):
        step()


def best_times(steps: dict[str, Callable[[], Any]], inside: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Microseconds of each step, the least of the repeats, less those of a call that does nothing; ``inside`` makes
    its calls itself."""
    turns: dict[str, Callable[[], Any]] = {name: partial(call_often, step) for name, step in steps.items()}
    turns["inside"] = inside
    best = dict.fromkeys(turns, inf)
    for _ in range(repeats):
        for name, turn in turns.items():
            started = process_time()
            turn()
            best[name] = min(best[name], 1e6 * (process_time() - started) / CALLS)
    return {name: taken - best["nothing"] * (name != "inside") for name, taken in best.items()}


def measure(family: str, task_name: str, arms: int, repeats: int) -> dict[str, float]:
    """Microseconds of the call and of its steps on one model."""
    model = BanditModel(family, np.linspace(0.1, 0.9, arms).tolist(), [1.0] * arms)
    task, profile = read_task(task_name), find_profile("native")
    question = ask(model, task)
    found = characteristic_time(model, task)
    pattern = (question.columns, type(model.family), model.costly)
    packed = cached_program("native call", pattern, pack_pattern)
    effort, weights = np.zeros(arms), np.zeros(len(question.statements))
    kernel = compiled_kernel()
    solve, inside = kernel["solve_instance"], compile_functions((repeat_inside,), kernel)["repeat_inside"]
    assert packed is not None
    assert inside(model.kernel_numbers, *packed, effort, weights, 1) > 0
    fields = [getattr(found, name) for name in CharacteristicTime.__annotations__]
    asked = (False, TOLERANCE, TARGET, LIMIT)
    return best_times(
        {
            "nothing": lambda: None,
            "call": lambda: characteristic_time(model, task_name),
            "task": lambda: read(task_name),
            "asked": lambda: ask(model, task),
            "find": lambda: find(question, profile, None, 0.0),
            "solve": lambda: solve_columns(question.model, question.columns, profile, None),
            "pattern": lambda: cached_program("native call", pattern, pack_pattern),
            "room": lambda: (np.zeros(arms), np.zeros(len(question.statements))),
            "compiled": lambda: solve(model.kernel_numbers, *packed, effort, weights, *asked),
            "record": lambda: CharacteristicTime(*fields),
        },
        lambda: inside(model.kernel_numbers, *packed, effort, weights, CALLS),
        repeats,
    )


def breakdown(family: str, task: str, arms: int, repeats: int) -> list[tuple[str, float]]:
    """What each part of the call takes; the parts sum to the whole."""
    t = measure(family, task, arms, repeats)
    parts = [
        ("solving and certifying, in compiled code", t["inside"]),
        ("handing numbers over and back", t["compiled"] - t["inside"]),
        ("finding the pattern", t["pattern"]),
        ("room for the answer", t["room"]),
        ("naming the answer", t["solve"] - t["compiled"] - t["pattern"] - t["room"]),
        ("the statements", t["asked"]),
        ("task, profile", t["task"]),
        ("the record", t["record"]),
        ("tolerance, clock, counts", t["find"] - t["solve"] - t["record"]),
    ]
    parts.append(("calling", t["call"] - sum(taken for _, taken in parts)))
    return [*parts, ("the public call", t["call"])]


def lines(repeats: int = 50) -> Iterator[str]:
    """The table, a column per case."""
    columns = [breakdown(*case, repeats) for case in CASES]
    headers = ["microseconds", *(f"{family} {task} K = {arms}" for family, task, arms in CASES)]
    rows = [[part[0][0], *(f"{taken:.2f}" for _, taken in part)] for part in zip(*columns, strict=True)]
    yield from table(headers, rows).splitlines()


def margin_lines(repeats: int) -> Iterator[str]:
    """The public call with and without a margin, and their ratio."""
    rows = []
    for family in ("gaussian", "bernoulli", "exponential"):
        for arms in (3, 10):
            model = BanditModel(family, np.linspace(0.1, 0.9, arms).tolist(), [1.0] * arms)
            calls = {task: partial(characteristic_time, model, task) for task in ("control:0", "control:0+0.02")}
            found = best_times({"nothing": lambda: None, **calls}, lambda: None, repeats)
            plain, beyond = found["control:0"], found["control:0+0.02"]
            rows.append([family, str(arms), f"{plain:.1f}", f"{beyond:.1f}", f"{beyond / plain:.2f}"])
    yield from table(["family", "K", "control:0", "control:0+0.02", "ratio"], rows).splitlines()


def bounded_lines(repeats: int) -> Iterator[str]:
    """The public call for rewards in a range, each value with a hundredth at least, and for Bernoulli ones of the same
    means."""
    rows = []
    for arms in (3, 10):
        for steps in (4, 20):
            places = np.arange(steps + 1)
            likely = [binom.pmf(places, steps, p) for p in np.linspace(0.1, 0.9, arms)]
            masses = [0.01 + (1.0 - 0.01 * len(places)) * mass for mass in likely]
            scores = BanditModel(
                "bounded:0,1", levels=(places / steps).tolist(), probabilities=masses, costs=[1.0] * arms
            )
            answers = BanditModel("bernoulli", scores.means, [1.0] * arms)
            calls = {model.family.name: partial(characteristic_time, model, "best-arm") for model in (scores, answers)}
            found = best_times({"nothing": lambda: None, **calls}, lambda: None, repeats)
            rows.append([str(arms), str(steps + 1), *(f"{found[name]:.1f}" for name in calls)])
    yield from table(["K, best-arm", "values", "bounded, microseconds", "bernoulli"], rows).splitlines()


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Where the microseconds of one call go.")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--margins", action="store_true", help="the call with a margin beside the one without")
    parser.add_argument("--bounded", action="store_true", help="the call for rewards in a range")
    arguments = parser.parse_args()
    compiled_kernel()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    chosen = margin_lines if arguments.margins else bounded_lines if arguments.bounded else lines
    print("\n".join(chosen(arguments.repeats)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
