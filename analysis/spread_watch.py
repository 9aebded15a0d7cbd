"""The watch over the spread of rewards: python analysis/spread_watch.py [--runs N] [--part NAME]

``false``    false alarms over clean experiments, looked at after every outcome, at the level that is shipped and at
             5 %, for arms in turn, for a rule that follows the leader, and for an adversary that knows the truth and
             pulls the arm whose mean so far is furthest from it, after which residuals are largest; beside them what a
             test would do that takes residuals from the mean so far for independent.
``power``    outcomes until it speaks where the variance is larger than stated, or counts vary more than Poisson ones.
``revenue``  revenue per user, mostly nothing and else log-normal, recorded as ``gaussian:1``: when an answer is
             declared, how often it is wrong, and when the watch speaks; in 0.2.0, and now.

Exit status 1 when false alarms are not consistent with their level, or, on revenue, wrong answers that are said to be
guaranteed with delta.
"""

import argparse
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families import Family, Gaussian, Poisson
from caet_opt.bandits.families.numerics import Array
from caet_opt.common.numbers import table
from caet_opt.exploring.explorer import Explorer
from caet_opt.kernels.native import without_compiling
from caet_opt.live import watch
from caet_opt.live.replay import absorb_outcome, choose_arms, has_ended, may_declare
from cases.spread import (
    LEVELS,
    RULES,
    Draw,
    count_alarms,
    draw_counts,
    draw_normal,
    draw_paths,
    first_alarm,
    follow_leader,
    is_consistent,
    largest_log_e,
    log_e,
    naive_log_e,
)

RUNS, DELTA = 10_000, 0.05

#: Clean experiments: family, true means, and how many outcomes.
CLEAN: tuple[tuple[Family, Array, int], ...] = (
    (Gaussian(1.0), np.array([0.3, 0.0]), 300),
    (Gaussian(1.0), np.array([0.4, 0.3, 0.2, 0.0, -0.2]), 300),
    (Gaussian(1.0), np.zeros(50), 100),
    (Poisson(), np.array([0.3, 0.2]), 300),
    (Poisson(), np.array([6.0, 5.0, 4.0, 0.5, 0.1]), 300),
    (Poisson(), np.full(50, 5.0), 100),
)


def count_false_alarms(runs: int) -> bool:
    """Print shares of clean experiments with an alarm; whether all are consistent with their levels."""
    rows, good = [], True
    for family, truth, length in CLEAN:
        for name, rule in RULES.items():
            paths = draw_paths(family.sample, truth, rule, runs, length, seed=1)
            found = largest_log_e(paths, lambda arms, rewards: log_e(family, arms, rewards, len(truth)))  # noqa: B023
            known = [family.name, str(len(truth)), str(length), name]
            rows.append([*known, "the watch", *map(str, (runs, *count_alarms(found)))])
            good = good and all(map(is_consistent, count_alarms(found), LEVELS, [runs] * len(LEVELS)))
            if isinstance(family, Gaussian):
                found = largest_log_e(paths, lambda arms, rewards: naive_log_e(arms, rewards, len(truth)))  # noqa: B023
                rows.append([*known, "residuals", *map(str, (runs, *count_alarms(found)))])
    headers = ("rewards", "arms", "outcomes", "chosen", "test", "experiments")
    print("False alarms on rewards as they are assumed, looked at after every outcome")
    print(table((*headers, *(f"alarms at {level:g}" for level in LEVELS)), rows, (0, 3, 4)))
    return good


def measure_power(runs: int) -> None:
    """Print after how many outcomes the watch speaks, the leader followed."""
    rows, length = [], 3000
    for arms in (2, 10):
        near = np.linspace(1.0, 0.9, arms)
        cases: list[tuple[Family, Array, float, Draw]] = []
        cases += [(Gaussian(1.0), near, factor, draw_normal(factor)) for factor in (1.25, 1.5, 2.0, 4.0, 100.0)]
        for means in (near, 100.0 * near):
            cases += [(Poisson(), means, factor, draw_counts(factor)) for factor in (1.5, 2.0, 4.0, 100.0)]
        for family, means, factor, draw in cases:
            paths = draw_paths(draw, means, follow_leader, runs, length, seed=2)
            found = [first_alarm(log_e(family, *one, arms)) for one in zip(*paths, strict=True)]
            spoke = [at for at in found if at is not None]
            quantiles = [f"{at:.0f}" for at in np.quantile(spoke, (0.1, 0.5, 0.9, 1.0))]
            known = [family.name, f"{means[-1]:g} to {means[0]:g}", str(arms), f"{factor:g}"]
            rows.append([*known, f"{len(spoke)} of {runs}", *quantiles])
    headers = ("recorded as", "means", "arms", "variance times", "spoke", "10 %", "median", "90 %", "largest")
    print(f"Outcomes until the watch speaks, of {length} at most")
    print(table(headers, rows, (0,)))


def draw_revenue(rng: np.random.Generator, arm: int) -> float:
    """Revenue of a user: three in ten buy, for 50 on average with a long tail; of arm 1 a tenth more, in both."""
    bought = rng.random() < (0.3, 0.33)[arm]
    return float(rng.lognormal(np.log((50.0, 55.0)[arm]) - 0.5)) if bought else 0.0


class Ending(NamedTuple):
    """How an experiment on revenue ended: the outcome that declared, whether wrongly, and when the watch spoke."""

    outcome: int
    wrong: bool
    spoke: int | None


def run_revenue(run: int, ended: Callable[[Explorer], bool]) -> Ending:
    """An experiment until an answer is declared."""
    rng, arms, rewards = np.random.default_rng([run, 4]), list[int](), list[float]()
    explorer = Explorer.start("best-arm", "gaussian:1", arms=2, costs=[1, 1], delta=DELTA)
    while not (arms and ended(explorer)):
        with without_compiling():
            (arm,) = choose_arms(explorer, 1, ()) if ended is may_declare else explorer.next_arms(1)
        reward = draw_revenue(rng, arm)
        absorb_outcome(explorer, arm, reward, None)
        arms.append(arm)
        rewards.append(reward)
    seen = watch.see_spread(explorer.family, np.array(arms), np.array(rewards), 2)
    return Ending(len(arms), explorer.answer != 1, seen.since)


def try_revenue(runs: int) -> bool:
    """Print what happens on revenue; whether wrong answers that are said to be guaranteed are consistent with delta."""
    rows, good = [], False
    for name, ended in (("in 0.2.0", has_ended), ("now", may_declare)):
        found = [run_revenue(run, ended) for run in range(runs)]
        spoke = [one.spoke for one in found if one.spoke is not None] if ended is may_declare else []
        silent = [one for one in found if one.spoke is None] if ended is may_declare else found
        good = is_consistent(sum(one.wrong for one in silent), DELTA, runs)
        outcomes = [one.outcome for one in found]
        counts = (sum(one.wrong for one in found), len(silent), sum(one.wrong for one in silent))
        numbers = (runs, f"{np.median(outcomes):g}", max(outcomes), *counts)
        rows.append([name, *map(str, numbers), *([f"{np.median(spoke):g}", str(max(spoke))] if spoke else "--")])
    headers = (
        "revenue as gaussian:1",
        "experiments",
        "declared at",
        "at most",
        "wrong",
        "guaranteed",
        "of these wrong",
    )
    print("When an answer is declared, and when the watch speaks: medians and largest numbers of outcomes")
    print(table((*headers, "watch speaks at", "at most"), rows, (0,)))
    return good


def main() -> int:
    """Run the parts, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"clean experiments of each kind ({RUNS})")
    parser.add_argument("--part", choices=("false", "power", "revenue"), help="only this one")
    arguments = parser.parse_args()
    good = True
    if arguments.part in (None, "false"):
        good = count_false_alarms(arguments.runs)
    if arguments.part in (None, "power"):
        measure_power(min(200, arguments.runs))
    if arguments.part in (None, "revenue"):
        good = try_revenue(min(200, arguments.runs)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
