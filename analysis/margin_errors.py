"""Errors at the margin: python analysis/margin_errors.py [--runs N] [--delta D] [--rounds N] [--seed S] [--family F]
    [--declared]

Two arms with mu_a = ratio mu_b + margin, or one arm at a level, exactly: how many runs find ``a > ratio b + margin`` to
hold by the e-process, in this direction alone, looking at every round. Every family, margins of both signs, inside and
near the ends of the means. Arms are pulled in turn, or one in ten rounds, or so as to provoke errors: the arm whose
martingale at its true mean is the smaller one. ``p-value`` is that of the exact binomial test against more errors than
delta allows. Exit status 1 when a rate is not consistent with delta.

With --declared whole experiments: what `above`, `cheapest` and `control` declare, by the default policy with lazy
targets, where one arm is far above the level or margin and the others are below it by 1e-6 or more: every other answer
is wrong.
"""

import argparse
import sys
from collections.abc import Iterator

from caet_opt import BanditModel, simulate
from caet_opt.common.numbers import table, write_interval
from caet_opt.simulating.summary import SIGNIFICANCE, error_interval, tail_probability
from cases.margins import SAMPLING, Case, count_errors, list_cases

#: A level for each family, and a mean far above it.
LEVELS = {
    "gaussian": (0.0, 1.5),
    "gaussian:0.5,1,2": (0.0, 1.5),
    "bernoulli": (0.5, 0.95),
    "poisson": (1.0, 3.0),
    "exponential": (1.0, 3.0),
    "gamma:2.5": (1.0, 2.0),
    "geometric": (1.0, 4.0),
}

#: How far other arms are below.
NEAR = 1e-6

#: The costs: the arms below are the cheaper ones.
COSTS = (3.0, 1.0, 2.0)


def declared_rows(family: str, arguments: argparse.Namespace) -> list[tuple[float, list[str]]]:
    """A row for each task: how many runs declare a wrong answer."""
    (level, far), rows, runs, delta = LEVELS[family], [], arguments.runs, arguments.delta
    beside, margin = level - NEAR, 0.25
    by_level, by_margin = [far, beside, beside], [far, level, level + margin - NEAR]
    cases = [(f"above:{level:g}", by_level), (f"cheapest:above:{level:g}", by_level)]
    cases += [(f"control:1+{margin:g}", by_margin), (f"cheapest:control:1+{margin:g}", by_margin)]
    for task, means in cases:
        found = simulate(
            BanditModel(family, means, COSTS),
            task,
            delta=delta,
            runs=runs,
            seed=arguments.seed,
            solve="lazy",
            max_rounds=arguments.rounds,
            workers=1,
        )
        errors = round(found.error_rate * runs)
        chance = tail_probability(errors, runs, delta)
        interval = write_interval(*error_interval(errors, errors, runs), 4)
        cells = [f"{errors / runs:.4f}", interval, f"{errors / runs / delta:.1%}", f"{chance:.3g}"]
        rows.append((chance, [family, ", ".join(f"{mean:g}" for mean in means), task, "caet", str(runs), *cells]))
    return rows


def rows_of(case: Case, number: int, arguments: argparse.Namespace) -> list[tuple[float, list[str]]]:
    """A row for each sampling rule, with its p-value before it; one for a level, of which there is one arm to pull."""
    rows, delta, runs = [], arguments.delta, arguments.runs
    for sampling, name in enumerate(SAMPLING if len(case.statement.arms) == 2 else ("",)):
        errors = count_errors(case, sampling, delta, runs, arguments.rounds, (arguments.seed, number, sampling))
        chance, rate = tail_probability(errors, runs, delta), errors / runs
        interval = write_interval(*error_interval(errors, errors, runs), 4)
        means = ", ".join(case.means[arm] for arm in case.statement.arms)
        cells = [f"{rate:.4f}", interval, f"{rate / delta:.1%}", f"{chance:.3g}"]
        rows.append((chance, [case.family, means, str(case.statement), name, str(runs), *cells]))
    return rows


def declared_blocks(arguments: argparse.Namespace) -> Iterator[list[tuple[float, list[str]]]]:
    """The rows of each family, for whole experiments."""
    for family in LEVELS:
        if arguments.family in (None, family):
            yield declared_rows(family, arguments)


def stated_blocks(arguments: argparse.Namespace) -> Iterator[list[tuple[float, list[str]]]]:
    """The rows of all statements."""
    cases = [case for case in list_cases() if arguments.family in (None, case.family)]
    yield [row for number, case in enumerate(cases) for row in rows_of(case, number, arguments)]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Errors of statements whose means are on the boundary.")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--delta", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", help="only this one, as gamma:2.5")
    parser.add_argument("--declared", action="store_true", help="what whole experiments declare")
    arguments = parser.parse_args()
    headers = ["family", "means", "statement", "pulls", "runs", "error rate", "95 %", "used", "p-value"]
    print(f"delta = {arguments.delta:g}, {arguments.rounds} rounds, a look at each")
    found = []
    for rows in declared_blocks(arguments) if arguments.declared else stated_blocks(arguments):
        print(table(headers, [cells for _, cells in rows], left=(0, 1, 2, 3)), flush=True)
        found += rows
    return int(min(chance for chance, _ in found) < SIGNIFICANCE / len(found))


if __name__ == "__main__":
    sys.exit(main())
