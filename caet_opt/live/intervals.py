"""Confidence sequences of means and differences, from the stopping rule's e-process: intervals for every look.

With M+ and M- the one-sided martingales of an arm, of which M+(x) falls in x and M-(x) rises, a mean x is excluded
where either is at least ``2 K / alpha``, and a difference D of arms a and b is below theirs where, for every x,

    M+_a(x + D) N_b(x)  >=  K (K - 1) / alpha,       N = (1 - e) M- + e M+,   e = `OTHER_SIDE`.

With probability 1 - alpha all means, and with the same all differences, are where these bounds say, at every look: see
``docs/mathematics/live.md``. The functions bound log M from below, and a bound is a point at which that is above the
level, never one beside it: rounding and an early end of a search make an interval wider.
"""

from collections.abc import Callable
from math import exp, inf, log, log1p, sqrt
from typing import NamedTuple, Protocol

from caet_opt.bandits.families.base import MeanSpace
from caet_opt.exploring.policies.base import Setup
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping.e_process import DEFAULT_RHO, foreign_martingales
from caet_opt.kernels import e_values
from caet_opt.kernels.confidence import coordinate_of, mean_at
from caet_opt.kernels.e_values import BLUR, FIRST_STEP, GROWTH, NOTHING, SHRINKAGE, Side
from caet_opt.kernels.family_codes import FAMILY_CODES

#: A function of a mean.
Curve = Callable[[float], float]

Interval = tuple[float, float]

#: How often a search steps outward, each step twice the last, and inward, each halving what is left; fewer of these for
#: a difference, of which each takes a search of its own.
MOST_STEPS, HALVINGS, FEW_HALVINGS = 100, 40, 12

#: The weight of M+ in the martingale of the arm that is to be the worse of two.
OTHER_SIDE = 0.05

#: Where a search over x is given up, as a part of its first step.
FINEST = 0.02

#: Means at an end of the mean space are searched from here, in the coordinate of `bounds.coordinate_of`.
INSIDE = 30.0


class Martingales(Protocol):
    """log M+ and log M- of each arm's rewards, from below, and what a search over means wants to know."""

    means: list[float]
    weights: list[float]

    def log_martingale(self, arm: int, x: float, above: bool) -> float:
        """log M+ of an arm at a mean inside the mean space, or log M-."""

    def floor(self, arm: int, above: bool) -> float:
        """What that is at least, whatever x."""

    def bound(self, arm: int, level: float, below: bool) -> float:
        """The point nearest to the empirical mean, below it or above, that was found to be excluded at a level; the end
        of the mean space if there is none."""

    def spread(self, arm: int) -> float:
        """About the square of how far the mean of an arm may be from what was seen."""

    def blur(self, *arms: int) -> float:
        """What rounding may have moved bounds by that are found from the means of some arms."""


class Mixtures:
    """The mixture martingales of a family, of the stopping rule's prior."""

    def __init__(self, setup: Setup, state: State) -> None:
        self.space, self._variance = setup.family.mean_space, setup.family.unit_variance
        dispersions, rho = setup.dispersions.tolist(), getattr(setup.threshold, "rho", DEFAULT_RHO)
        self.means = state.means().tolist()
        self.weights = [count / dispersion for count, dispersion in zip(state.counts, dispersions, strict=True)]
        self.sides = [
            Side(weight, mean, rho * scale / dispersion)
            for weight, dispersion, mean, scale in zip(
                self.weights, dispersions, self.means, setup.prior_scales.tolist(), strict=True
            )
        ]
        family = type(setup.family)
        self._code = FAMILY_CODES.get(family, -1)
        self._functions = vars(e_values) if family in FAMILY_CODES else foreign_martingales(family)

    def log_martingale(self, arm: int, x: float, above: bool) -> float:
        return float(self._functions["log_martingale"](self._code, self.sides[arm], x, above))

    def floor(self, arm: int, above: bool) -> float:
        return float(self._functions["log_martingale_floor"](self._code, self.sides[arm], above))

    def bound(self, arm: int, level: float, below: bool) -> float:
        return bound_of_mean(lambda x: self.log_martingale(arm, x, below), self.means[arm], self.space, level, below)

    def spread(self, arm: int) -> float:
        """V(mean) / weight, V not zero."""
        mean, weight = self.means[arm], self.weights[arm]
        mean = mean + (0.5 - mean) / (weight + 1.0) if self.space.high < inf else mean
        variance = float(self._variance(mean))
        return float(max(variance, 1.0 / weight if self.space.low > -inf else 0.0) / weight)

    def blur(self, *arms: int) -> float:
        """Nothing, where what rounding may have moved means by (`e_values.told_apart`) is beside their deviations.

        Bounds move with the observed means: by as much for Gaussian rewards, and by about as much for others, of which
        only those that hardly vary, so that bounds are near the mean, have it count.
        """
        blur = BLUR * sum(abs(self.means[arm]) for arm in arms)
        return blur if blur > NOTHING * sqrt(sum(map(self.spread, arms))) else 0.0


class Intervals:
    """The intervals of a state at a level, as 0.95: all means at once, and all differences at once."""

    def __init__(self, setup: Setup, state: State, level: float) -> None:
        self.space, self.arms = setup.family.mean_space, setup.arms
        self.alpha, self.counts = 1.0 - level, state.counts
        self.martingales: Martingales = setup.counted(state) or Mixtures(setup, state)

    def mean(self, arm: int) -> Interval:
        """Of an arm's mean."""
        if not self.counts[arm]:
            return self.space.low, self.space.high
        level, blur = log(2 * self.arms / self.alpha), self.martingales.blur(arm)
        low, high = (self.martingales.bound(arm, level, below) for below in (True, False))
        return max(low - blur, self.space.low), min(high + blur, self.space.high)

    def excludes_mean(self, arm: int, mean: float) -> bool:
        """Whether a mean inside the mean space is outside the interval of an arm."""
        level = log(2 * self.arms / self.alpha)
        found = (self.martingales.log_martingale(arm, mean, above) for above in (True, False))
        return bool(self.counts[arm]) and any(log_m >= level for log_m in found)

    def excludes_difference(self, a: int, b: int, difference: float) -> bool:
        """Whether a difference is outside the interval of the mean of a less that of b."""
        if not (self.counts[a] and self.counts[b]):
            return False
        return self._covers(a, b, difference) or self._covers(b, a, -difference)

    def difference(self, a: int, b: int) -> Interval:
        """Of the mean of a less that of b."""
        blur = self.martingales.blur(a, b) if self.counts[a] and self.counts[b] else 0.0
        return self._least_difference(a, b) - blur, blur - self._least_difference(b, a)

    def _least_difference(self, a: int, b: int) -> float:
        """The largest D found with ``M+_a(x + D) N_b(x)`` above the level at every x."""
        widest, found = self.space.high - self.space.low, self.martingales
        if not (self.counts[a] and self.counts[b]):
            return -widest
        seen = bad = found.means[a] - found.means[b]
        step = sqrt(self._level_of_differences * (found.spread(a) + found.spread(b)))
        for _ in range(MOST_STEPS):
            good = max(seen - step, -widest)
            if good == -inf or good == bad:
                return -widest
            if good == -widest or self._covers(a, b, good):
                return refine(lambda difference: self._covers(a, b, difference), good, bad, FEW_HALVINGS)
            bad, step = good, 2.0 * step
        return -widest

    @property
    def _level_of_differences(self) -> float:
        """What the logarithm of the product has to reach."""
        return log(self.arms * (self.arms - 1) / self.alpha)

    def _covers(self, a: int, b: int, difference: float) -> bool:
        """Whether ``log M+_a(x + D) + log N_b(x)`` is at least the level for every x at which both are means."""
        low, high, found, level = self.space.low, self.space.high, self.martingales, self._level_of_differences
        left, right = max(low, low - difference), min(high, high - difference)
        weight = found.weights[a] + found.weights[b]
        reached = found.means[a] - difference
        start = (found.weights[a] / weight) * reached + (found.weights[b] / weight) * found.means[b]
        step = FIRST_STEP * (reached - found.means[b])
        if not start > left:
            start = left + min(step, 0.5 * (right - left))
        if not start < right:
            start = right - min(step, 0.5 * (right - left))
        if not left < start < right:  # closer than doubles tell apart
            return False
        product = Product(
            falling=lambda x: found.log_martingale(a, x + difference, True) if low < x + difference < high else -inf,
            rising=lambda x: found.log_martingale(b, x, False) + log(1.0 - OTHER_SIDE),
            other_side=lambda x: found.log_martingale(b, x, True) + log(OTHER_SIDE),
        )
        if not product.falling(start) + product.rising(start) >= level:
            return False
        least_falling = product.falling(right) if low < right + difference < high else found.floor(a, True)
        least_rising = product.rising(left) if low < left < high else found.floor(b, False) + log(1.0 - OTHER_SIDE)
        return product.covers_right(start, right, step, level, least_falling) and product.covers_left(
            start, left, step, level, least_rising
        )


class Product(NamedTuple):
    """log of a falling function, times the sum of a rising and a falling one, all given by their logarithms."""

    falling: Curve
    rising: Curve
    other_side: Curve

    def covers_right(self, start: float, end: float, step: float, level: float, least_falling: float) -> bool:
        """Whether it is at least the level from the start to the end, given what the falling function is at least.

        Intervals on which it is are laid side by side, until what has risen suffices for all that is left; see
        `caet_opt.kernels.e_values.is_covered`.
        """
        x, finest, risen = start, FINEST * step, self.rising(start)
        while not risen + least_falling >= level:
            step = step if x + step < end else 0.5 * (end - x)
            if not (step > min(finest, FINEST * (end - x)) and x < x + step):
                return False
            if self.falling(x + step) + risen >= level:
                x, step = x + step, GROWTH * step
                risen = self.rising(x)
            else:
                step = SHRINKAGE * step
        return True

    def covers_left(self, start: float, end: float, step: float, level: float, least_rising: float) -> bool:
        """The same to the left, where both falling functions are larger, given what the rising one is at least."""
        x, finest, fallen, other = start, FINEST * step, self.falling(start), self.other_side(start)
        while not fallen + max(other, least_rising) >= level:
            step = step if x - step > end else 0.5 * (x - end)
            if not (step > min(finest, FINEST * (x - end)) and x - step < x):
                return False
            if fallen + add_logarithms(self.rising(x - step), other) >= level:
                x, step = x - step, GROWTH * step
                fallen, other = self.falling(x), self.other_side(x)
            else:
                step = SHRINKAGE * step
        return True


def add_logarithms(one: float, other: float) -> float:
    """``log(e^one + e^other)``."""
    return max(one, other) + log1p(exp(-abs(one - other)))


def bound_of_mean(
    log_martingale: Callable[..., float], mean: float, space: MeanSpace, level: float, below: bool
) -> float:
    """The point nearest to the empirical mean that was found to be excluded; the end of the space if there is none.

    The search is in the coordinate of `caet_opt.kernels.confidence`: the mean, its logarithm or its log-odds.
    """
    low, high = space.low, space.high
    sign = -1.0 if below else 1.0
    end = low if below else high
    outside = -INSIDE if mean == low else INSIDE
    start = coordinate_of(low, high, mean) if low < mean < high else outside

    def excluded(r: float) -> bool:
        x = mean_at(low, high, r)
        return low < x < high and log_martingale(x) >= level

    step = 1e-3 * max(1.0, abs(start))
    for _ in range(MOST_STEPS):
        place = start + sign * step
        if low > -inf and abs(place) > 300.0:
            return end
        if excluded(place):
            return mean_at(low, high, refine(excluded, place, start, HALVINGS))
        step *= 2.0
    return end


def refine(holds: Callable[[float], bool], good: float, bad: float, halvings: int) -> float:
    """A point at which something holds, close to where it ceases to, between one at which it does and one at which it
    does not."""
    for _ in range(halvings):
        middle = 0.5 * (good + bad)
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
