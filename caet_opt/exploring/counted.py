"""Rewards in a range outside of rounds: the histograms that a view's arms have, and what they say of a statement."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, fsum, inf, isclose, log
from typing import Any

import numpy as np

from caet_opt.bandits.distributions import Distributions
from caet_opt.bandits.families import Bounded, Family
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks import Statement
from caet_opt.bandits.tasks.pairs import MARGIN
from caet_opt.bandits.tasks.statements import encode
from caet_opt.common.checks import is_number
from caet_opt.errors import InputError
from caet_opt.kernels import betting, ledger
from caet_opt.kernels.bounded_term import (
    HEAD,
    HIGHEST,
    HIGHEST_REST,
    LOWER_END,
    LOWEST,
    LOWEST_REST,
    POINTS,
    RANGE,
    SPREAD,
    UPPER_END,
    row_of,
)
from caet_opt.kernels.compile import list_functions
from caet_opt.kernels.counting import BY_LEVEL, level_distances, many_levels, place_reward, tabulate
from caet_opt.kernels.interpret import interpret

#: The counts of each arm's rewards on the levels of its family; none for families of which count and sum say all.
Histograms = tuple[tuple[float, ...], ...]

#: The bets of `caet_opt.kernels.betting` beside that of nothing, and their weights.
BETS = betting.FIRST_BET * betting.PACE ** np.arange(betting.BETS)
WEIGHTS = betting.SCALE * np.sqrt(np.minimum(BETS, betting.EVEN))

#: How often a search for the end of an interval halves what is left.
HALVINGS = 50

#: What the parts that rewards count by may add up to beside their number.
ROUNDING = 1e-9


def extra_rows(family: Family) -> int:
    """How many rows a view's arms have beside the named ones; see `caet_opt.kernels.ledger`."""
    return 2 + table_width(family) if isinstance(family, Bounded) else 0


def table_width(family: Family) -> int:
    """The entries of an arm in the table of histograms."""
    return HEAD + BY_LEVEL * len(family.places) if isinstance(family, Bounded) else 0


def table_size(family: Family, arms: int) -> int:
    """The entries of that table for so many arms; none for families of which count and sum say all."""
    return 1 + arms * table_width(family) if isinstance(family, Bounded) else 0


def write_histograms(family: Bounded, arms: Array, histograms: Histograms = ()) -> None:
    """Lay out the table behind the rows of a view's arms, with nothing counted, or with these histograms."""
    flat, base = arms.reshape(-1), ledger.table_base(arms)
    arms[ledger.ARM_ROWS], flat[base] = 1.0, table_width(family)
    low, high = family.ends
    for arm in range(arms.shape[1]):
        start, levels = row_of(flat, base, arm), many_levels(flat, base)
        flat[start + LOWEST], flat[start + HIGHEST], flat[start + RANGE] = float(low), float(high), float(high - low)
        flat[start + LOWEST_REST], flat[start + HIGHEST_REST] = family.end_rests
        flat[start + HEAD + 3 * levels : start + HEAD + 4 * levels] = family.places
        if histograms:
            flat[start + HEAD + 4 * levels : start + HEAD + 5 * levels] = histograms[arm]
            tabulate(flat, start, levels)


def read_histograms(arms: Array) -> Histograms:
    """The histograms in a view's arms."""
    if arms.shape[0] <= ledger.ARM_ROWS:
        return ()
    flat, base = arms.reshape(-1), ledger.table_base(arms)
    levels = many_levels(flat, base)
    starts = (row_of(flat, base, arm) + HEAD + 4 * levels for arm in range(arms.shape[1]))
    return tuple(tuple(flat[start : start + levels].tolist()) for start in starts)


def count_rewards(family: Family, histograms: Histograms, rewards: Sequence[tuple[int, float]]) -> Histograms:
    """The histograms with some more rewards, each of an arm; none for families of which count and sum say all."""
    if not isinstance(family, Bounded):
        return histograms
    arms = np.zeros((ledger.ARM_ROWS + extra_rows(family), len(histograms)))
    write_histograms(family, arms, histograms)
    for arm, reward in rewards:
        place_reward(arms.reshape(-1), ledger.table_base(arms), arm, reward)
    return read_histograms(arms)


def check_histograms(family: Family, histograms: Histograms, counts: Sequence[int], sums: Sequence[float]) -> None:
    """Raise `InputError` unless there is a histogram for each arm exactly where the family needs one, and it has as
    many rewards as were counted, of the same sum."""
    if not isinstance(family, Bounded):
        if histograms:
            raise InputError(f"a saved state of family {family} has no histograms")
        return
    levels = len(family.places)
    if len(histograms) != len(counts) or any(len(one) != levels for one in histograms):
        raise InputError(f"a saved state of family {family} needs a histogram of {levels} counts for every arm")
    for arm, (histogram, count) in enumerate(zip(histograms, counts, strict=True)):
        if not all(is_number(part) and part >= 0 for part in histogram):
            raise InputError(f"the histogram of arm {arm} must be numbers of zero or more, got {list(histogram)}")
        if not isclose(sum(histogram), count, rel_tol=ROUNDING, abs_tol=ROUNDING):
            raise InputError(f"the histogram of arm {arm} counts {sum(histogram):g} rewards, but there were {count}")
        found = fsum(level * part for level, part in zip(family.levels.tolist(), histogram, strict=True))
        if abs(found - sums[arm]) > ROUNDING * count * max(map(abs, family.levels.tolist())):
            raise InputError(f"the histogram of arm {arm} adds up to {found:g}, but its rewards to {sums[arm]:g}")


def empirical(family: Bounded, histograms: Histograms) -> Distributions:
    """The distributions that the histograms are, exactly as they were counted."""
    levels = family.exact_levels
    parts = [[(level, Fraction(n)) for level, n in zip(levels, one, strict=True) if n > 0] for one in histograms]
    totals = [sum((n for _, n in part), Fraction(0)) for part in parts]
    values = tuple(tuple(level for level, _ in part) for part in parts)
    return Distributions(values, tuple(tuple(n / t for _, n in part) for part, t in zip(parts, totals, strict=True)))


def seen_means(family: Family, means: Array, histograms: Histograms) -> Any:
    """What a model of what was seen is made from: the means, or the distributions where means do not say all."""
    return empirical(family, histograms) if isinstance(family, Bounded) else means.tolist()


def log_capital(table: Array, start: int, side: int, pulls: float, t: float) -> float:
    """`betting.log_capital` for all bets at once: outside of rounds it is evaluated thousands of times."""
    if not t > 0.0:
        return inf
    n = int(table[start + POINTS])
    values, masses = (table[start + HEAD + row * n : start + HEAD + (row + 1) * n] for row in (side, 2))
    parts = pulls * masses * np.log1p(BETS[:, None] * (values / t - 1.0))
    grown, moved = parts.sum(axis=1), float(np.abs(parts).sum(axis=1).max())
    most = max(float(grown.max()), 0.0)
    total = betting.NOTHING * exp(-most) + float(np.dot(WEIGHTS, np.exp(grown - most)))
    found = most + log(total) - betting.rounding_of(table, start, pulls, t, moved)
    return found if found > betting.LEAST_CAPITAL - betting.BLURRED else betting.LEAST_CAPITAL - betting.BLURRED


#: The functions of `betting` with that one among them.
QUICK = interpret(list_functions(betting), Bounded, {"log_capital": log_capital})


class Counted:
    """What histograms say of means and statements, by the functions of a round: the capital of each arm's bets,
    evidence, and whether log E exceeds a level; like compiled code without a word of what leaves double precision.

    ``counts`` may be fractions.
    """

    def __init__(self, family: Bounded, counts: Sequence[float], means: Array, histograms: Histograms) -> None:
        self.arms = np.zeros((ledger.ARM_ROWS + extra_rows(family), len(counts)))
        self.arms[ledger.COUNT], self.arms[ledger.MEAN] = counts, means
        write_histograms(family, self.arms, histograms)
        self.table, self.base = self.arms.reshape(-1), ledger.table_base(self.arms)
        self.means, self.weights, self.space = list(map(float, means)), list(map(float, counts)), family.mean_space

    def log_martingale(self, arm: int, x: float, above: bool) -> float:
        """log of the capital of bets that the mean of an arm is above x, or below it: of M+ or M-."""
        start, side = row_of(self.table, self.base, arm), LOWER_END if above else UPPER_END
        distance, _ = level_distances(self.table, start, 0.0, x, side)
        return log_capital(self.table, start, side, self.weights[arm], float(distance))

    def floor(self, arm: int, above: bool) -> float:
        """What that is at least: what the bet of nothing keeps."""
        return betting.LEAST_CAPITAL - betting.BLURRED

    def bound(self, arm: int, level: float, below: bool) -> float:
        """A mean below the empirical one, or above it, at which the capital reaches a level; the end of the range if
        there is none."""
        start, side = row_of(self.table, self.base, arm), LOWER_END if below else UPPER_END
        bad, good = 1.0, 0.0  # distances from that end, at which the capital is short of the level and is not
        for _ in range(HALVINGS):
            middle = 0.5 * (good + bad)
            found = log_capital(self.table, start, side, self.weights[arm], middle)
            good, bad = (middle, bad) if found >= level else (good, middle)
        low, width = float(self.table[start + LOWEST]), float(self.table[start + RANGE])
        return low + good * width if below else float(self.table[start + HIGHEST]) - good * width

    def spread(self, arm: int) -> float:
        """About the square of how far an arm's mean may be from what was seen: ``variance / N + (range / N)^2``."""
        start, count = row_of(self.table, self.base, arm), self.weights[arm]
        width = float(self.table[start + RANGE])
        return float(self.table[start + SPREAD]) * width * width / count + (width / count) ** 2

    def blur(self, *arms: int) -> float:
        """Nothing: the capital has rounding counted against it."""
        return 0.0

    def column(self, statement: Statement) -> tuple[Integers, Array]:
        """A statement as a column."""
        pairs, margins = encode([statement])
        return pairs, np.vstack([margins, [[0.0]]])

    @np.errstate(all="ignore")
    def evidence(self, statement: Statement) -> float:
        """Z of a statement."""
        return float(ledger.counted_rates(self.arms, *self.column(statement), 0)[0])

    def asked(self, statement: Statement) -> tuple[int, int, float, float, float, float, float]:
        """What `betting` is told of a statement."""
        pairs, margins = self.column(statement)
        a, b = pairs[:, 0].tolist()
        x, y = (self.means[arm] if arm >= 0 else 0.0 for arm in (a, b))
        wa, wb = (self.weights[arm] if arm >= 0 else 0.0 for arm in (a, b))
        return a, b, x, y, float(margins[MARGIN, 0]), wa, wb

    def lead(self, statement: Statement, level: float) -> float:
        """By how much log E exceeds a level at most, as one point of the boundary says."""
        asked = self.asked(statement)
        return float(QUICK["capital_lead"](self.table, self.base, *asked, level)[0])

    def exceeds(self, statement: Statement, level: float) -> bool:
        """Whether log E of a statement is proven to exceed a level."""
        asked = self.asked(statement)
        return bool(QUICK["capital_exceeds"](self.table, self.base, *asked, level))
