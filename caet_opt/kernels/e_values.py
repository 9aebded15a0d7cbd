"""Whether a pair's e-value exceeds its bound, in the subset of Python that numba compiles: one rule for every loop."""

from typing import NamedTuple

from caet_opt.bandits.families.martingales import (
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


class Side(NamedTuple):
    """An arm of a pair: its weight (pulls over dispersion), its mean, and rho over its dispersion."""

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
    if not low < x < high:
        return evidence
    up, down = log_martingale(family, winner, x, True), log_martingale(family, loser, x, False)
    need = level + (evidence - (up + down))
    if everywhere and evidence > need and not is_covered(family, low, high, level, winner, loser, x, up, down):
        return evidence
    return need


def is_covered(
    family: int, low: float, high: float, level: float, winner: Side, loser: Side, start: float, up: float, down: float
) -> bool:
    """Whether ``log M_a(x) + log M_b(x) > level`` for every mean x, given both terms at the start.

    M_a falls and M_b rises in x, so on an interval from x to y their product is at least ``M_a(y) M_b(x)``. Intervals
    with that above the level are laid side by side from the start to the right until M_b and the least value of M_a
    suffice for all that is left, and to the left until M_a and the least value of M_b do.
    """
    gap = winner.mean - loser.mean
    for right in (True, False):
        falls, rises, grown = (winner, loser, down) if right else (loser, winner, up)
        end, side = (high, 1.0) if right else (low, -1.0)
        floor, x, step = log_martingale_floor(family, falls, right), start, FIRST_STEP * gap
        while not grown + floor > level:
            step = step if side * (end - (x + side * step)) > 0.0 else 0.5 * side * (end - x)
            y = x + side * step
            if not low < y < high:
                return False
            if log_martingale(family, falls, y, right) + grown > level:
                x, step = y, GROWTH * step
                grown = log_martingale(family, rises, x, not right)
            else:
                step = SHRINKAGE * step
            goes_on = side * x < side * (x + side * step) < LARGEST
            if not (goes_on and step > SMALLEST_STEP * min(gap, x - low, high - x)):
                return False
    return True
