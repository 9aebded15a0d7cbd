"""Statements about arms whose means are on the boundary: how often the e-process finds them to hold, an error."""

from collections.abc import Iterator
from fractions import Fraction
from math import nan
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
    """Two arms of these means, of which the first is not above ratio times the second plus margin, by nothing."""

    family: str
    means: tuple[str, str]
    statement: Statement

    def numbers(self, delta: float) -> Numbers:
        """As compiled code reads it."""
        family, statement = parse_family(self.family), self.statement
        space, dispersions = family.mean_space, family.dispersions(2).tolist()
        arms = (statement.winner, statement.loser)
        return Numbers(
            FAMILY_CODES[type(family)],
            float(space.low),
            float(space.high),
            float(np.log(1.0 / delta)),
            float(statement.margin),
            float(statement.ratio),
            (float(self.means[0]), float(self.means[1])),
            (dispersions[0], dispersions[1]),
            (
                0.0 if arms[0] is None else DEFAULT_RHO / dispersions[0],
                0.0 if arms[1] is None else DEFAULT_RHO / dispersions[1],
            ),
        )


def list_cases() -> Iterator[Case]:
    """Every family: margins of both signs, inside and near the ends, ratios, and levels from both sides."""
    for family, *pairs in (
        ("gaussian", ("0.3", "0"), ("0", "0.3")),
        ("gaussian:0.5,2", ("0.3", "0"), ("0", "0.3")),
        (
            "bernoulli",
            ("0.6", "0.5"),
            ("0.5", "0.6"),
            ("0.15", "0.05"),
            ("0.98", "0.9"),
            ("0.9", "0.98"),
            ("0.02", "0.1"),
        ),
        ("poisson", ("2", "1.5"), ("1.5", "2"), ("0.6", "0.1"), ("0.1", "0.6")),
        ("exponential", ("1.5", "1"), ("1", "1.5"), ("1.05", "0.05"), ("0.05", "1.05")),
        ("gamma:2.5", ("1.5", "1"), ("1", "1.5")),
        ("geometric", ("1.5", "1"), ("1", "1.5"), ("0.6", "0.1"), ("0.1", "0.6")),
    ):
        for one, other in pairs:
            yield Case(family, (one, other), Statement(0, 1, Fraction(one) - Fraction(other)))
        one = pairs[0][0]
        yield Case(family, (one, "0"), above(0, Fraction(one)))
        yield Case(family, ("0", one), below(1, Fraction(one)))
    for family in ("poisson", "exponential", "gamma:2.5"):
        for one, other, ratio in (("2.2", "2", "1.1"), ("1.5", "2", "0.75")):
            yield Case(family, (one, other), Statement(0, 1, ratio=Fraction(ratio)))


def find_errors(numbers: Numbers, sampling: int, first: Array, second: Array, ends: Integers) -> None:
    """Put the round in which each run finds its statement to hold into ``ends``, zero where it does not.

    A row of ``first`` and ``second`` has the rewards of a run, in the order of the pulls of an arm.
    """
    family, (mean_a, mean_b), (phi_a, phi_b), (rho_a, rho_b) = (
        numbers.family,
        numbers.means,
        numbers.dispersions,
        numbers.rho,
    )
    for run in range(first.shape[0]):
        ends[run] = 0
        count_a, count_b, sum_a, sum_b = 0, 0, 0.0, 0.0
        for t in range(max(first.shape[1], second.shape[1])):
            pulls_first = t % 2 == 0
            if sampling == ONE_IN_TEN:
                pulls_first = t % 10 == 0
            elif sampling == UNLUCKY and count_a > 0 and count_b > 0:
                one, other = (
                    Side(count_a / phi_a, sum_a / count_a, rho_a),
                    Side(count_b / phi_b, sum_b / count_b, rho_b),
                )
                luck = log_martingale(family, one, mean_a, True)
                pulls_first = luck < log_martingale(family, other, mean_b, False)
            if rho_b == 0.0 or (pulls_first and rho_a > 0.0):
                sum_a += first[run, count_a]
                count_a += 1
            else:
                sum_b += second[run, count_b]
                count_b += 1
            if (count_a == 0 and rho_a > 0.0) or (count_b == 0 and rho_b > 0.0):
                continue
            winner = Side(count_a / phi_a, sum_a / max(count_a, 1), rho_a)
            loser = Side(count_b / phi_b, sum_b / max(count_b, 1), rho_b)
            low, high, level, margin, ratio = numbers.low, numbers.high, numbers.level, numbers.margin, numbers.ratio
            need = needed_by(family, low, high, level, EVIDENCE, winner, loser, margin, ratio, nan, True)
            if need < EVIDENCE:
                ends[run] = t + 1
                break


def count_errors(case: Case, sampling: int, delta: float, runs: int, rounds: int, seed: tuple[int, ...]) -> int:
    """How many of so many runs find the statement to hold, looking at every round."""
    search: Any = compile_functions((find_errors,), compiled_shared())["find_errors"]
    rng, family, numbers = np.random.default_rng(seed), parse_family(case.family), case.numbers(delta)
    ends = np.zeros(runs, dtype=np.int64)
    for start in range(0, runs, CHUNK):
        part = slice(start, min(start + CHUNK, runs))
        rewards = (draw_rewards(family, numbers, rng, arm, part.stop - start, rounds) for arm in (0, 1))
        search(numbers, sampling, *rewards, ends[part])
    return int(np.count_nonzero(ends))


def draw_rewards(family: Family, numbers: Numbers, rng: np.random.Generator, arm: int, runs: int, rounds: int) -> Array:
    """Rewards of an arm in so many runs, one run in a row; none of no arm."""
    if numbers.rho[arm] == 0.0:
        return np.zeros((runs, 0))
    drawn = family.sample(rng, numbers.means[arm], numbers.dispersions[arm], runs * rounds)
    return np.asarray(drawn, dtype=float).reshape(runs, rounds)
