"""Statements about arms whose means are on the boundary: how often the e-process finds them to hold, an error."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import log, nan
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.families import Family, parse_family
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.statements import Statement, above, below
from caet_opt.exploring.compiling import compiled_shared
from caet_opt.exploring.stopping.e_process import DEFAULT_RHO
from caet_opt.kernels.compile import compile_functions
from caet_opt.kernels.e_values import Side, log_martingale, needed_by
from caet_opt.kernels.family_codes import FAMILY_CODES

#: Which arm is pulled: both in turn; the one whose rewards speak less for the error; the first in each tenth round.
IN_TURN, UNLUCKY, ONE_IN_TEN = range(3)
SAMPLING = ("in turn", "the unlucky", "one in ten")

#: More than any log E here: whether that exceeds a level does not depend on the evidence, if there is enough.
EVIDENCE = 1e4

#: Runs whose rewards are in memory at a time.
CHUNK = 250


class Numbers(NamedTuple):
    """A case as compiled code reads it: the family, the level of log E, the statement, and of both arms their true
    means, dispersions and rho, which is zero for no arm."""

    family: int
    low: float
    high: float
    level: float
    margin: float
    ratio: float
    means: tuple[float, float]
    dispersions: tuple[float, float]
    rho: tuple[float, float]


class Case(NamedTuple):
    """Two arms whose means are on the boundary of a statement: the winner is arm 0, the loser arm 1."""

    family: str
    means: tuple[str, str]
    statement: Statement

    def numbers(self, delta: float) -> Numbers:
        """As compiled code reads it."""
        family, (_, _, margin, ratio) = parse_family(self.family), self.statement
        first, second = family.dispersions(2).tolist()
        rho_a, rho_b = (DEFAULT_RHO if arm in self.statement.arms else 0.0 for arm in (0, 1))
        return Numbers(
            FAMILY_CODES[type(family)],
            *(float(family.mean_space.low), float(family.mean_space.high), -log(delta), float(margin), float(ratio)),
            means=(float(self.means[0]), float(self.means[1])),
            dispersions=(first, second),
            rho=(rho_a / first, rho_b / second),
        )


#: Means of arms 0 and 1, whose difference is the margin, inside and near the ends; levels are at the very first.
MEANS = {
    "gaussian": ["0.3 0", "0 0.3"],
    "gaussian:0.5,2": ["0.3 0", "0 0.3"],
    "bernoulli": ["0.6 0.5", "0.5 0.6", "0.15 0.05", "0.98 0.9", "0.9 0.98", "0.02 0.1"],
    "poisson": ["2 1.5", "1.5 2", "0.6 0.1", "0.1 0.6"],
    "exponential": ["1.5 1", "1 1.5", "1.05 0.05", "0.05 1.05"],
    "gamma:2.5": ["1.5 1", "1 1.5"],
    "geometric": ["1.5 1", "1 1.5", "0.6 0.1", "0.1 0.6"],
}

#: Means whose quotient is the ratio.
RATIOS = {family: ["2.2 2", "1.5 2"] for family in ("poisson", "exponential", "gamma:2.5")}


def list_cases() -> Iterator[Case]:
    """Every family: margins of both signs, levels from both sides, and ratios."""
    for family, pairs in MEANS.items():
        for one, other in map(str.split, pairs):
            yield Case(family, (one, other), Statement(0, 1, Fraction(one) - Fraction(other)))
        level = pairs[0].split()[0]
        yield Case(family, (level, "0"), above(0, Fraction(level)))
        yield Case(family, ("0", level), below(1, Fraction(level)))
    for family, pairs in RATIOS.items():
        for one, other in map(str.split, pairs):
            yield Case(family, (one, other), Statement(0, 1, ratio=Fraction(one) / Fraction(other)))


def pulls_first(numbers: Numbers, sampling: int, t: int, winner: Side, loser: Side) -> bool:
    """Whether arm 0 is pulled in round t."""
    if winner.rho == 0.0 or loser.rho == 0.0:
        return loser.rho == 0.0
    if sampling == ONE_IN_TEN:
        return t % 10 == 0
    if sampling == IN_TURN or winner.weight == 0.0 or loser.weight == 0.0:
        return t % 2 == 0
    one, other = numbers.means
    return log_martingale(numbers.family, winner, one, True) < log_martingale(numbers.family, loser, other, False)


def find_errors(numbers: Numbers, sampling: int, first: Array, second: Array, ends: Integers) -> None:
    """Put the round in which each run finds its statement to hold into ``ends``, zero where it does not.

    A row of ``first`` and ``second`` has the rewards of a run, in the order of the pulls of an arm.
    """
    (phi_a, phi_b), (rho_a, rho_b) = numbers.dispersions, numbers.rho
    low, high, level, margin, ratio = numbers.low, numbers.high, numbers.level, numbers.margin, numbers.ratio
    for run in range(first.shape[0]):
        ends[run] = 0
        count_a, count_b, sum_a, sum_b = 0, 0, 0.0, 0.0
        winner, loser = Side(0.0, 0.0, rho_a), Side(0.0, 0.0, rho_b)
        for t in range(max(first.shape[1], second.shape[1])):
            if pulls_first(numbers, sampling, t, winner, loser):
                sum_a += first[run, count_a]
                count_a += 1
                winner = Side(count_a / phi_a, sum_a / count_a, rho_a)
            else:
                sum_b += second[run, count_b]
                count_b += 1
                loser = Side(count_b / phi_b, sum_b / count_b, rho_b)
            if (count_a == 0 and rho_a > 0.0) or (count_b == 0 and rho_b > 0.0):
                continue
            need = needed_by(numbers.family, low, high, level, EVIDENCE, winner, loser, margin, ratio, nan, True)
            if need < EVIDENCE:
                ends[run] = t + 1
                break


@cache
def compiled_search() -> Any:
    """`find_errors`, compiled."""
    return compile_functions((pulls_first, find_errors), compiled_shared(False))["find_errors"]


def count_errors(case: Case, sampling: int, delta: float, runs: int, rounds: int, seed: tuple[int, ...]) -> int:
    """How many of so many runs find the statement to hold, looking at every round."""
    rng, family, numbers = np.random.default_rng(seed), parse_family(case.family), case.numbers(delta)
    ends = np.zeros(runs, dtype=np.int64)
    for start in range(0, runs, CHUNK):
        part = slice(start, min(start + CHUNK, runs))
        rewards = (draw_rewards(family, numbers, rng, arm, part.stop - start, rounds) for arm in (0, 1))
        compiled_search()(numbers, sampling, *rewards, ends[part])
    return int(np.count_nonzero(ends))


def draw_rewards(family: Family, numbers: Numbers, rng: np.random.Generator, arm: int, runs: int, rounds: int) -> Array:
    """Rewards of an arm in so many runs, one run in a row; none of no arm."""
    if numbers.rho[arm] == 0.0:
        return np.zeros((runs, 0))
    drawn = family.sample(rng, numbers.means[arm], numbers.dispersions[arm], runs * rounds)
    return np.asarray(drawn, dtype=float).reshape(runs, rounds)
