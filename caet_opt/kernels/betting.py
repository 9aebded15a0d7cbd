"""Capital from betting on rewards in a range, in the subset of Python that numba compiles.

Against "the mean is at most x" of rewards whose distances u from the lower end, in units of the range, were counted n_k
times,

    M(x) = sum over bets j of  pi_j  product over k of (1 - b_j + b_j u_k / x)^(n_k),      0 <= b_j < 1,  one of them 0.

Whatever the distribution, a factor has the expectation ``1 - b + b mean / x <= 1`` where the mean is at most x: M is a
supermartingale under what it bets against, below 1 / alpha with probability 1 - alpha at all moments together, by
Ville's inequality, whoever chose the arms. It falls in x, and is at least pi_0. Distances from the upper end serve
against "the mean is at least".

A reward between two levels counts in part on each, in proportion (`caet_opt.kernels.counting`): the weighted geometric
mean of two factors is at most the arithmetic one, which is the factor of the reward itself.

A statement ``a > b + e`` has ``E = min over x of M_a(x) M_b(x - e)``, M_b against "at least", which rises in x: on
[x, x'] the product is at least M_a(x') M_b(x - e), and finitely many such intervals prove the minimum. ``a > level``
has ``E = M_a(level)``. The proofs, and why these bets, are in docs/mathematics/bounded.md.
"""

from math import exp, inf, log, log1p, sqrt

from caet_opt.bandits.families.numerics import UNIT, Array
from caet_opt.kernels.bounded_term import (
    HEAD,
    LOW_MEAN,
    LOWER_END,
    POINTS,
    SPREAD,
    UPPER_END,
    bounded_gap,
    row_of,
)
from caet_opt.kernels.counting import level_distances, place_error

#: The bets are so many, from the first on each the last times PACE. Their weights are in proportion to the square root
#: of the bet, or of EVEN if that is less; the bet of nothing has the weight NOTHING. Chosen by
#: ``analysis/betting_study.py priors``.
BETS, FIRST_BET, PACE, EVEN, NOTHING = 24, 2.0**-0.25, 2.0**-0.5, 0.2, 0.02

#: What the square root is multiplied by, so that all weights sum to one.
SCALE = (1.0 - NOTHING) / sum(sqrt(min(FIRST_BET * PACE**j, EVEN)) for j in range(BETS))

#: The least capital, as a logarithm: what the bet of nothing keeps.
LEAST_CAPITAL = log(NOTHING)

#: The largest ``b / (1 - b)``.
MOST_ODDS = FIRST_BET / (1.0 - FIRST_BET)

#: More than rounding takes from a logarithm of capital, as a part of what is added up.
BLURRED = 1e-12

#: A step along the boundary: the first, as a part of the gap; how much it grows after one that was covered, shrinks
#: after one that was not; and the part of the gap at which it is given up, by which a thousandth of the evidence is
#: lost.
FIRST_PART, LONGER, SHORTER, LEAST_PART = 0.0625, 1.6, 0.4, 1e-4


def rounding_of(table: Array, start: int, pulls: float, t: float, size: float) -> float:
    """More than rounding may have added to log M, where logarithms of up to ``size`` altogether were added up.

    A reward is within `place_error` of where it was counted, and t within as much of what was meant: a factor changes,
    as a part of itself, by ``(b / (1 - b)) / t`` times that at most. A count is a sum of up to as many parts as pulls.
    """
    off = place_error(table, start)
    return float((BLURRED + 4.0 * UNIT * pulls) * (8.0 + size) + 2.0 * pulls * off * (1.0 + MOST_ODDS / t))


def log_capital(table: Array, start: int, side: int, pulls: float, t: float) -> float:
    """log M of an arm of so many pulls against means up to the distance t from an end, less what rounding may have
    added; infinite where t is at the end or beyond."""
    if not t > 0.0:
        return inf
    n = int(table[start + POINTS])
    values, masses = start + HEAD + side * n, start + HEAD + 2 * n
    most, total, size, bet = 0.0, NOTHING, 0.0, FIRST_BET
    for _ in range(BETS):
        grown, moved = 0.0, 0.0
        for k in range(n):
            part = pulls * table[masses + k] * log1p(bet * (table[values + k] / t - 1.0))
            grown += part
            moved += abs(part)
        weight = SCALE * sqrt(min(bet, EVEN))
        if grown > most:
            total = total * exp(most - grown) + weight
            most = grown
        else:
            total += weight * exp(grown - most)
        size = max(size, moved)
        bet *= PACE
    found = most + log(total) - rounding_of(table, start, pulls, t, size)
    return float(max(found, LEAST_CAPITAL - BLURRED))


def boundary_place(table: Array, first: int, second: int, wa: float, wb: float, gap: float, shift: float) -> float:
    """A point of the boundary of "a > b + e" near which E is least: the mean of both, weighted by pulls over variance.

    Distance from the lower end; the boundary is from ``max(0, e)`` to ``min(1, 1 + e)``, and this is inside.
    """
    spare = 0.25 * gap * gap
    fa, fb = wa / (table[first + SPREAD] + spare), wb / (table[second + SPREAD] + spare)
    x = table[first + LOW_MEAN] - gap * fb / (fa + fb)
    low, high = max(0.0, shift), min(1.0, 1.0 + shift)
    edge = LEAST_PART * min(gap, high - low)
    return float(min(max(x, low + edge), high - edge))


def capital_of(
    table: Array, first: int, second: int, wa: float, wb: float, shift: float, x: float, winner: bool
) -> float:
    """log M_a(x) of the winner of "a > b + e", or log M_b(x - e) of the loser; x is a distance from the lower end."""
    if winner:
        return log_capital(table, first, LOWER_END, wa, x)
    return log_capital(table, second, UPPER_END, wb, 1.0 - (x - shift))


def is_won(
    table: Array, first: int, second: int, wa: float, wb: float, gap: float, shift: float, level: float, start: float
) -> bool:
    """Whether ``log M_a(x) + log M_b(x - e) > level`` on all of the boundary, which is walked from a point in steps
    that are covered, to the right, where M_a falls, and to the left, where M_b does."""
    for right in (True, False):
        x, step = start, FIRST_PART * gap
        end = min(1.0, 1.0 + shift) if right else max(0.0, shift)
        risen = capital_of(table, first, second, wa, wb, shift, x, not right)
        while x != end and not risen + LEAST_CAPITAL > level:
            ahead = min(x + step, end) if right else max(x - step, end)
            if capital_of(table, first, second, wa, wb, shift, ahead, right) + risen > level:
                x, step = ahead, step * LONGER
                risen = capital_of(table, first, second, wa, wb, shift, x, not right)
            else:
                step *= SHORTER
                if step < LEAST_PART * gap:
                    return False
    return True


def capital_lead(
    table: Array, base: int, a: int, b: int, x: float, y: float, margin: float, wa: float, wb: float, level: float
) -> tuple[float, float, float]:
    """By how much log E of "a > b + margin" exceeds a level at most, as one point of its boundary says, and what one
    outcome of each arm can add to that.

    x and y are the means, wa and wb the pulls; a side that is -1 is a level. A factor is at most one over the distance.
    """
    if a < 0 and b < 0:
        return inf, 0.0, 0.0
    if a < 0 or b < 0:
        arm, side = (a, LOWER_END) if b < 0 else (b, UPPER_END)
        mean, place = (x, margin) if b < 0 else (y, -margin)
        start = row_of(table, base, arm)
        inside, before = level_distances(table, start, mean, place, side)
        if not inside > 0.0:  # true of all means, or of all but one; what rounding hides is no lead
            return (inf if before > place_error(table, start) else -inf), inf, inf
        growth = log(1.0 / inside) if inside < 1.0 else 0.0
        return log_capital(table, start, side, wa if b < 0 else wb, inside) - level, growth, growth
    first, second = row_of(table, base, a), row_of(table, base, b)
    gap, shift = bounded_gap(table, first, x, y, 0.0, 0.0, margin, 0.0)
    apart = gap > place_error(table, first)  # what rounding hides is no lead
    if not apart or not 1.0 + shift > 0.0:
        return (inf if apart else -inf), inf, inf
    place = boundary_place(table, first, second, wa, wb, gap, shift)
    up = capital_of(table, first, second, wa, wb, shift, place, True)
    down = capital_of(table, first, second, wa, wb, shift, place, False)
    return up + down - level, log(1.0 / place), log(1.0 / (1.0 - (place - shift)))


def capital_exceeds(
    table: Array, base: int, a: int, b: int, x: float, y: float, margin: float, wa: float, wb: float, level: float
) -> bool:
    """Whether log E of a statement is proven to exceed a level; as in `capital_lead`."""
    lead, _, _ = capital_lead(table, base, a, b, x, y, margin, wa, wb, level)
    if not lead > 0.0:
        return False
    if a < 0 or b < 0 or lead == inf:
        return True
    first, second = row_of(table, base, a), row_of(table, base, b)
    gap, shift = bounded_gap(table, first, x, y, 0.0, 0.0, margin, 0.0)
    place = boundary_place(table, first, second, wa, wb, gap, shift)
    return is_won(table, first, second, wa, wb, gap, shift, level, place)
