"""Rewards in a range as a run counts them, in the subset of Python that numba compiles.

Each arm has a histogram on levels v_0 = 0 < ... < v_L = 1, in units of the range. A reward v between two levels counts
in part on each, in proportion, so that the mean stays what it is:

    n_k += (v_(k+1) - v) / (v_(k+1) - v_k),      n_(k+1) += (v - v_k) / (v_(k+1) - v_k).

The histograms are in a table of `caet_opt.kernels.bounded_term`: a row has what that module reads of the empirical
distribution, its values being the levels that were seen, and behind it the levels and their counts.
"""

from math import inf

from caet_opt.bandits.families.numerics import UNIT, Array
from caet_opt.kernels.bounded_term import (
    HEAD,
    HIGH_INVERSE,
    HIGH_MEAN,
    HIGHEST,
    LOW_INVERSE,
    LOW_MEAN,
    LOWER_END,
    LOWEST,
    POINTS,
    RANGE,
    SPREAD,
    UPPER_END,
    bet_value,
    bounded_gap,
    bounded_term,
    find_bet,
    row_of,
)

#: What a row has for each level: distances from both ends, mass, the level itself and its count.
BY_LEVEL = 5


def as_one_row(arms: Array) -> Array:
    """The numbers of an array one entry after the other, as the same memory.

    Compiled code has `caet_opt.kernels.plain.as_one_row` in its place: numba's `reshape` may raise, and an exact round
    in which something may raise takes some hundredths longer, for every family.
    """
    return arms.reshape(arms.size)


def many_levels(table: Array, base: int) -> int:
    """How many levels rewards are counted on, in a table whose width is at ``base``."""
    return (int(table[base]) - HEAD) // BY_LEVEL


def place_error(table: Array, start: int) -> float:
    """What rounding may move a reward by, in units of the range, and the distance of a level from which it is on it."""
    largest = max(abs(table[start + LOWEST]), abs(table[start + HIGHEST]))
    return float(16.0 * UNIT * (1.0 + largest / table[start + RANGE]))


def count_reward(table: Array, base: int, arm: int, reward: float) -> None:
    """Take a reward of an arm into its histogram, and the distribution that follows from it."""
    place_reward(table, base, arm, reward)
    tabulate(table, row_of(table, base, arm), many_levels(table, base))


def place_reward(table: Array, base: int, arm: int, reward: float) -> None:
    """Take a reward of an arm into its histogram alone."""
    start, levels = row_of(table, base, arm), many_levels(table, base)
    place = start + HEAD + 3 * levels
    v = (reward - table[start + LOWEST]) / table[start + RANGE]
    k = 0
    while k < levels - 2 and table[place + k + 1] <= v:
        k += 1
    below, above, near = table[place + k], table[place + k + 1], place_error(table, start)
    part = (v - below) / (above - below)
    if v - below <= near:
        part = 0.0
    elif above - v <= near:
        part = 1.0
    table[place + levels + k] += 1.0 - part
    table[place + levels + k + 1] += part


def tabulate(table: Array, start: int, levels: int) -> None:
    """Write the distribution of a histogram where `caet_opt.kernels.bounded_term` reads it."""
    place, counts = start + HEAD + 3 * levels, start + HEAD + 4 * levels
    points, total = 0, 0.0
    for k in range(levels):
        if table[counts + k] > 0.0:
            points += 1
            total += table[counts + k]
    table[start + POINTS] = points
    table[start + LOW_MEAN], table[start + HIGH_MEAN], table[start + SPREAD] = 0.0, 0.0, 0.0
    table[start + LOW_INVERSE], table[start + HIGH_INVERSE] = 0.0, 0.0
    at = start + HEAD
    for k in range(levels):
        if table[counts + k] > 0.0:
            low, mass = table[place + k], table[counts + k] / total
            high = 1.0 - low
            table[at], table[at + points], table[at + 2 * points] = low, high, mass
            table[start + LOW_MEAN] += mass * low
            table[start + HIGH_MEAN] += mass * high
            table[start + LOW_INVERSE] += mass / low if low > 0.0 else inf
            table[start + HIGH_INVERSE] += mass / high if high > 0.0 else inf
            at += 1
    for k in range(start + HEAD, start + HEAD + points):
        off = table[k] - table[start + LOW_MEAN]
        table[start + SPREAD] += table[k + 2 * points] * off * off


def level_distances(table: Array, start: int, mean: float, level: float, side: int) -> tuple[float, float]:
    """How far a level is from an end, towards which it is from the mean, and from the mean, in units of the range."""
    if side == LOWER_END:
        return (level - table[start + LOWEST]) / table[start + RANGE], (mean - level) / table[start + RANGE]
    return (table[start + HIGHEST] - level) / table[start + RANGE], (level - mean) / table[start + RANGE]


def counted_term(
    table: Array, base: int, a: int, b: int, x: float, y: float, margin: float, wa: float, wb: float
) -> tuple[float, float, float]:
    """f of "a > b + margin" at these weights, with the empirical distributions, and its rates; x and y are the means.

    A side that is -1 is a level. f is zero where the means do not have the statement, and infinite where no means
    contradict it.
    """
    if a < 0 and b < 0:
        return inf, 0.0, 0.0
    if a < 0 or b < 0:
        arm, side = (a, LOWER_END) if b < 0 else (b, UPPER_END)
        mean, level = (x, margin) if b < 0 else (y, -margin)
        start = row_of(table, base, arm)
        inside, before = level_distances(table, start, mean, level, side)
        if not before > 0.0:
            return 0.0, 0.0, 0.0
        if not inside > 0.0:
            return inf, 0.0, 0.0
        bet, _ = find_bet(table, start, side, inside, before, 0.0)
        rate = bet_value(table, start, side, inside, before, bet)
        return (wa * rate, rate, 0.0) if b < 0 else (wb * rate, 0.0, rate)
    first, second = row_of(table, base, a), row_of(table, base, b)
    gap, shift = bounded_gap(table, first, x, y, 0.0, 0.0, margin, 0.0)
    if not gap > 0.0:
        return 0.0, 0.0, 0.0
    if not 1.0 + shift > 0.0:
        return inf, 0.0, 0.0
    f, da, db, _, _ = bounded_term(table, first, second, wa, wb, gap, shift)
    return f, da, db
