"""Whether a statement's e-value exceeds its bound, in the subset of Python that numba compiles, for every loop.

    E = min over x of M_a^+(x) M_b^-((x - margin) / ratio)    of ``a > ratio b + margin``,
    E = M_a^+(level) of ``a > level``,    E = M_b^-(level) of ``b < level``.

A pair, margin 0 and ratio 1, is `needed_evidence`, any other statement `needed_by`.
"""

from math import exp, inf, log, log1p
from typing import NamedTuple

from caet_opt.bandits.families.martingales import (
    FAR,
    bernoulli_log_martingale,
    bernoulli_log_martingale_floor,
    exponential_log_martingale,
    exponential_log_martingale_floor,
    gaussian_log_martingale,
    gaussian_log_martingale_floor,
    geometric_log_martingale,
    geometric_log_martingale_floor,
    poisson_log_martingale,
    poisson_log_martingale_floor,
)
from caet_opt.kernels.term import BERNOULLI, EXPONENTIAL, GAUSSIAN, POISSON

#: The first step from the pooled mean, as a part of the gap between the means, and the smallest, also as a part of what
#: is left to a boundary, at which it is given up: less than a thousandth of the evidence is lost by it.
FIRST_STEP, SMALLEST_STEP = 0.0625, 1e-4

#: Where it is given up, too: formulas would leave double precision.
LARGEST = 1e150

#: What rounding may have moved a mean by, as a part of it, and the part of a difference of means below which that is
#: nothing: evidence is then off by no more than what `martingales.ALLOWANCE` allows for. See `told_apart`.
BLUR, NOTHING = 5.0 * 2.0**-53, 1e-9

#: By how much a step grows after one that was covered, and shrinks after one that was not.
GROWTH, SHRINKAGE = 1.6, 0.4


#: More than a margin, a sum with it and its rounding are off by, as a part of what is added.
ROUNDED = 4.0 * 2.0**-53

#: The constant in ``KEPT + (1 - KEPT) M``, which stands for the martingale M of an arm that falls to nothing where the
#: other's does not rise without bounds; see `at_boundary`.
KEPT = 0.05


class Side(NamedTuple):
    """An arm of a statement: its weight (pulls over dispersion), its mean, and rho over its dispersion.

    ``Side(0.0, 0.0, 0.0)`` is no arm: the statement is about the other one and a level.
    """

    weight: float
    mean: float
    rho: float


def log_martingale(family: int, arm: Side, x: float, above: bool) -> float:
    """log M(x) of a shipped family; see `caet_opt.bandits.families.martingales`."""
    if family == GAUSSIAN:
        return gaussian_log_martingale(arm.weight, arm.mean, arm.rho, x, above)
    if family == BERNOULLI:
        return bernoulli_log_martingale(arm.weight, arm.mean, arm.rho, x, above)
    if family == POISSON:
        return poisson_log_martingale(arm.weight, arm.mean, arm.rho, x, above)
    if family == EXPONENTIAL:
        return exponential_log_martingale(arm.weight, arm.mean, arm.rho, x, above)
    return geometric_log_martingale(arm.weight, arm.mean, arm.rho, x, above)


def log_martingale_floor(family: int, arm: Side, above: bool) -> float:
    """The lower bound of log M over all x."""
    if family == GAUSSIAN:
        return gaussian_log_martingale_floor(arm.weight, arm.mean, arm.rho, above)
    if family == BERNOULLI:
        return bernoulli_log_martingale_floor(arm.weight, arm.mean, arm.rho, above)
    if family == POISSON:
        return poisson_log_martingale_floor(arm.weight, arm.mean, arm.rho, above)
    if family == EXPONENTIAL:
        return exponential_log_martingale_floor(arm.weight, arm.mean, arm.rho, above)
    return geometric_log_martingale_floor(arm.weight, arm.mean, arm.rho, above)


def told_apart(family: int, x: float, y: float) -> tuple[float, float]:
    """Two means, moved towards each other by what rounding may have moved them apart, unless that is nothing.

    An empirical mean is within ``5 u |mean|``, u = 2^-53, of the mean of what was observed
    (``docs/mathematics/e_process.md``). E_ab, as Z_ab, does not fall when the winner's mean rises or the loser's falls:
    a pair that passes with these means passes with those that rounding has moved, and what is proven of a threshold
    holds for rewards of any size. Gaussian martingales depend on differences alone, so that one mean can be zero,
    around which doubles are dense.
    """
    gap, blur = abs(x - y), BLUR * (abs(x) + abs(y))
    if not blur > NOTHING * gap:
        return x, y
    if family == GAUSSIAN:
        left = max(gap - blur, 0.0)
        return (left, 0.0) if x > y else (0.0, left)
    shift = BLUR + 2.0**-53 if x > y else -BLUR - 2.0**-53  # more, as the results are doubles themselves
    nearer, other = x - shift * abs(x), y + shift * abs(y)
    return (nearer, other) if (nearer > other) == (x > y) else (y, y)


def told_apart_by(family: int, x: float, y: float, margin: float) -> tuple[float, float, float]:
    """Two means and a margin with ``x > y + margin``, moved so that it holds by less, by what rounding may have moved
    them; see `told_apart`.

    The margin is a double within ``u |margin|`` of what was meant. Gaussian statements become pairs: the differences,
    zero and zero. Where nothing is left, neither is x above y + margin.
    """
    gap, blur = (x - y) - margin, BLUR * (abs(x) + abs(y) + abs(margin))
    if not blur > NOTHING * gap:
        return (gap, 0.0, 0.0) if family == GAUSSIAN else (x, y, margin)
    if family == GAUSSIAN:
        return max(gap - blur, 0.0), 0.0, 0.0
    shift = BLUR + 2.0**-53
    return x - shift * abs(x), y + shift * abs(y), margin + shift * abs(margin)


def needed_evidence(
    family: int, low: float, high: float, level: float, evidence: float, winner: Side, loser: Side, everywhere: bool
) -> float:
    """What ``Z_ab`` must exceed: ``level + Z_ab - log E_ab``, with log E_ab taken at the pooled mean.

    An average is below the largest, so ``log E_ab <= Z_ab``, and a pair with less evidence than the level is not looked
    at. Where the pooled mean is passed but not every other x, the evidence itself is what it does not exceed, if
    ``everywhere`` is asked for.
    """
    if not evidence > level:
        return level
    mean, other = told_apart(family, winner.mean, loser.mean)
    winner, loser = Side(winner.weight, mean, winner.rho), Side(loser.weight, other, loser.rho)
    weight = winner.weight + loser.weight
    x = (winner.weight / weight) * winner.mean + (loser.weight / weight) * loser.mean
    return needed_from(family, low, high, level, evidence, winner, loser, 0.0, x, everywhere)


def needed_by(
    family: int,
    low: float,
    high: float,
    level: float,
    evidence: float,
    winner: Side,
    loser: Side,
    margin: float,
    ratio: float,
    x: float,
    everywhere: bool,
) -> float:
    """What the evidence Z of ``winner > ratio loser + margin`` must exceed: ``level + Z - log E``, log E taken at x.

    The evidence is the least of ``w_a d(m_a, x) + w_b d(m_b, (x - margin) / ratio)``, and x the winner's mean there: a
    place to begin at, of which nothing is asked; without one, nan. A ratio belongs to exponential, gamma and Poisson
    rewards, with margin 0: any other is never found to hold. So is a statement that is false for all means; one that
    is true for all of them has infinite evidence. As in `needed_evidence`, ``log E <= Z``.

    - A Gaussian margin, and a ratio, make a pair of other means and weights.
    - Where one side is no arm, E is the other's martingale at the level.
    """
    if not evidence > level:
        return level
    if loser.rho == 0.0:
        return needed_at_level(family, low, high, level, evidence, winner, margin, True)
    if winner.rho == 0.0:
        return needed_at_level(family, low, high, level, evidence, loser, -margin / ratio, False)
    if ratio != 1.0:
        if margin != 0.0 or family not in (POISSON, EXPONENTIAL):
            return evidence
        weight, mean, rho = scaled_side(family, loser.weight, loser.mean, loser.rho, ratio)
        loser = Side(weight, mean, rho)
        return needed_evidence(family, low, high, level, evidence, winner, loser, everywhere)
    if margin == 0.0:
        return needed_evidence(family, low, high, level, evidence, winner, loser, everywhere)
    mean, other, offset = told_apart_by(family, winner.mean, loser.mean, margin)
    winner, loser = Side(winner.weight, mean, winner.rho), Side(loser.weight, min(other, high), loser.rho)
    if family == GAUSSIAN:
        return needed_evidence(family, low, high, level, evidence, winner, loser, everywhere)
    if not abs(margin) < high - low:
        return evidence if margin > 0.0 else level
    start = boundary_start(low, high, winner, loser, offset, x)
    return needed_from(family, low, high, level, evidence, winner, loser, offset, start, everywhere)


def scaled_side(family: int, weight: float, mean: float, rho: float, ratio: float) -> tuple[float, float, float]:
    """The side whose martingale at ``ratio y`` is the given one's at y: its mean times the ratio.

    The martingale of exponential and gamma rewards depends on the mean over y. That of Poisson rewards depends on the
    sum of rewards, ``weight mean``, and on weight and rho times y. The mean is rounded up, as a loser's.
    """
    mean = ratio * mean
    mean += ROUNDED * mean
    if family == POISSON:
        return weight / ratio, mean, rho / ratio
    return weight, mean, rho


def needed_at_level(
    family: int, low: float, high: float, level: float, evidence: float, arm: Side, x: float, above: bool
) -> float:
    """What ``Z = w d(m, x)`` must exceed for ``log M(x) > level``: M+ for an arm above x, else M-.

    The mean is on the side that is stated, or there is no evidence. Beyond the end of all means a statement is true, of
    infinite evidence, or false. So it is at the end: rewards of mean 0 are 0, and one that is not speaks for itself.
    """
    if not (arm.mean > x if above else arm.mean < x):
        return evidence
    mean, place = told_apart(family, arm.mean, x)
    if not low < x < high:
        return level if (x <= low) == above else evidence
    if not low < place < high:
        return evidence
    return level + (evidence - log_martingale(family, Side(arm.weight, mean, arm.rho), place, above))


def boundary_start(low: float, high: float, winner: Side, loser: Side, margin: float, x: float) -> float:
    """The smaller of both means at a point of the boundary: where the winner is at x, or else at the pooled mean, and
    farther inside if that is at an end."""
    weight, gap, end = winner.weight + loser.weight, (winner.mean - loser.mean) - margin, high - abs(margin)
    if not low < x < high:
        x = (winner.weight / weight) * winner.mean + (loser.weight / weight) * (loser.mean + margin)
    step = SMALLEST_STEP * min(abs(gap), end - low)
    return max(low + step, min(end - step, x - max(margin, 0.0)))


def needed_from(
    family: int,
    low: float,
    high: float,
    level: float,
    evidence: float,
    winner: Side,
    loser: Side,
    margin: float,
    start: float,
    everywhere: bool,
) -> float:
    """What the evidence must exceed, from log E at the start; see `is_covered`."""
    if not low < start < high - abs(margin):
        return evidence
    up = at_boundary(family, low, high, winner, margin, start, True)
    down = at_boundary(family, low, high, loser, margin, start, False)
    need = level + (evidence - (up + down))
    if (
        everywhere
        and evidence > need
        and not is_covered(family, low, high, level, winner, loser, margin, start, up, down)
    ):
        return evidence
    return need


def at_boundary(family: int, low: float, high: float, arm: Side, margin: float, t: float, above: bool) -> float:
    """log M of the winner (``above``) or the loser where the smaller of both means is t, the larger t + abs(margin).

    Near an end the bound of M is poor, and the least value over all means a better one. A pair does without it, as the
    other arm's M is infinite there.

    **The mixture.** For a positive margin an arm whose M falls to nothing at a finite end of its means has
    ``KEPT + (1 - KEPT) M`` in place of M, a monotone martingale, too: at that end the other arm's M is finite, and the
    least product would be 0, whatever was observed. Of the shipped families this is the loser's of exponential and
    gamma rewards, which falls like its mean. Poisson, geometric and Bernoulli M fall to ``1 / (1 + sum)`` (of rewards,
    or of failures at 1), while the other's is exponential in its pulls; at infinite means what rises outruns what falls
    as it does for a pair; and for a negative margin the arm that reaches an end alone is the one whose M rises there.
    """
    if margin == 0.0:
        return log_martingale(family, arm, t, above)
    x = t
    if above == (margin > 0.0):  # rounded to where M is less
        x = t + abs(margin)
        x += (ROUNDED if above else -ROUNDED) * (abs(t) + abs(margin))
    found = log_martingale(family, arm, x, above) if low < x < high else -FAR
    if found < 0.0:
        found = max(found, log_martingale_floor(family, arm, above))
    return log_kept(found) if is_kept(family, low, high, arm, margin, above) else found


def is_kept(family: int, low: float, high: float, arm: Side, margin: float, above: bool) -> bool:
    """Whether an arm's M falls to nothing at a finite end, where the other arm is inside its means."""
    return margin > 0.0 and abs(high if above else low) < inf and log_martingale_floor(family, arm, above) <= -FAR


def log_kept(found: float) -> float:
    """``log(KEPT + (1 - KEPT) e^found)``."""
    constant, part = log(KEPT), found + log1p(-KEPT)
    return max(constant, part) + log1p(exp(-abs(constant - part)))


def least_falling(family: int, low: float, high: float, arm: Side, margin: float, above: bool) -> float:
    """A lower bound of what falls, as far as the boundary reaches: its value there, if that is inside its own means."""
    end = high - abs(margin) if above else low
    if margin < 0.0 and abs(end) < inf:
        return at_boundary(family, low, high, arm, margin, end, above)
    floor = log_martingale_floor(family, arm, above)
    return log_kept(floor) if is_kept(family, low, high, arm, margin, above) else floor


def is_covered(
    family: int,
    low: float,
    high: float,
    level: float,
    winner: Side,
    loser: Side,
    margin: float,
    start: float,
    up: float,
    down: float,
) -> bool:
    """Whether ``log M_a + log M_b > level`` on all of the boundary of ``winner > loser + margin``, given both at the
    start: a point x is the smaller of both means.

    M_a falls and M_b rises in x, so on an interval from x to y their product is at least ``M_a(y) M_b(x)``. Intervals
    with that above the level are laid side by side from the start to the right until M_b and the least value of M_a
    suffice for all that is left, and to the left until M_a and the least value of M_b do.
    """
    gap, last = (winner.mean - loser.mean) - margin, high - abs(margin)
    for right in (True, False):
        falls, rises, grown = (winner, loser, down) if right else (loser, winner, up)
        end, side = (last, 1.0) if right else (low, -1.0)
        floor, x, step = least_falling(family, low, high, falls, margin, right), start, FIRST_STEP * gap
        while not grown + floor > level:
            step = step if side * (end - (x + side * step)) > 0.0 else 0.5 * side * (end - x)
            y = x + side * step
            if not low < y < last or y == x:  # nothing lies between x and the end
                return False
            if at_boundary(family, low, high, falls, margin, y, right) + grown > level:
                x, step = y, GROWTH * step
                grown = at_boundary(family, low, high, rises, margin, x, not right)
            else:
                step = SHRINKAGE * step
            goes_on = side * x < side * (x + side * step) < LARGEST
            if not (goes_on and step > SMALLEST_STEP * min(gap, x - low, last - x)):
                return False
    return True
