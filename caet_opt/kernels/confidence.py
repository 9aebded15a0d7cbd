"""Confidence bounds of a mean, in the subset of Python that numba compiles: where its divergence reaches a level."""

from math import exp, inf, log, log1p, sqrt

from caet_opt.bandits.families.numerics import Array
from caet_opt.kernels.ledger import COUNT, MEAN, PRIOR, Conditions, weight_of
from caet_opt.kernels.term import GAUSSIAN, mixture_divergence, variance
from caet_opt.kernels.thresholds import CUSTOMARY, E_PROCESS, POWER, threshold_value

#: More steps than the bounds of shipped families take, and the step, as a part of the distance from the
#: mean, after which r is good enough.
MOST_STEPS, SMALL_STEP = 200, 1e-6

#: The longest step away from the mean: near an end of the mean space d is flat, and a step would be far too long.
LONGEST = 4.0

#: Beyond this the square of a mean, whose logarithm or log-odds it is, leaves double precision.
FARTHEST = 300.0

#: A mean so near an end of its space is at it: logarithms of smaller numbers lose their digits.
LEAST_NORMAL = 2.3e-308


def bound_level(setting: Conditions, arms: Array, now: float, arm: int) -> float:
    """beta of a single arm: the threshold of a pair of two arms with its pulls.

    For the e-process that is what many pulls need, ``level + log(1 + w / rho) - 2 log 2``, and the level at least.
    """
    pulls = arms[COUNT, arm]
    if setting.threshold == E_PROCESS:
        extra = log1p(weight_of(setting, arms, arm) / setting.numbers[PRIOR, arm]) - 2.0 * log(2.0)
        return setting.level + max(extra, 0.0)
    return threshold_value(setting.threshold, now, pulls, pulls, setting.level, setting.slope)


def levels_are_equal(setting: Conditions) -> bool:
    """Whether beta depends on the round alone, so that it is the same for every arm."""
    return setting.threshold == POWER or setting.threshold == CUSTOMARY


def is_bound_above(setting: Conditions, arms: Array, arm: int, level: float, upper: bool, q: float) -> bool:
    """Whether a bound of an arm is above q: the upper one where q is below the mean, or ``w d(mean, q) < level``; the
    lower one where q is below the mean, and ``w d(mean, q) > level``."""
    mean = arms[MEAN, arm]
    if (q < mean) == upper or not (q < setting.high if upper else setting.low < q):
        return bool(q < mean)
    reached = weight_of(setting, arms, arm) * mixture_divergence(setting.family, mean, q, 0.0, 1.0, 0.0, 0.0)
    return bool(reached < level if upper else reached > level)


def confidence_bound(setting: Conditions, arms: Array, arm: int, level: float, above: bool) -> float:
    """The largest q above, or the least below, the empirical mean with ``w d(mean, q) <= level``.

    Newton's method in the coordinate r of q: q itself on the whole line, log q for positive means, log-odds for means
    between 0 and 1. In it d(mean, q) is convex for the shipped families, with derivative ``(q - mean) / V(q) dq/dr``:
    once r is beyond the root it comes back to it, and before that its steps are bounded. For other families a step is
    kept inside the bracket that the evaluations leave. An end of the mean space is returned where d stays below the
    level as far as doubles go.
    """
    weight, mean = weight_of(setting, arms, arm), float(arms[MEAN, arm])
    low, high, target = setting.low, setting.high, level / weight
    if setting.family == GAUSSIAN:
        return mean + sqrt(2.0 * target) if above else mean - sqrt(2.0 * target)
    end, side = (high, 1.0) if above else (low, -1.0)
    if abs(mean - end) < LEAST_NORMAL:
        return end
    r = 0.0
    if low + LEAST_NORMAL < mean < high:
        reach = sqrt(2.0 * target * variance(setting.family, mean)) / rate_of(low, high, mean)
        r = coordinate_of(low, high, mean) + side * min(reach, LONGEST)
    inner, outer = -side * inf, side * inf
    q = mean
    for _ in range(MOST_STEPS):
        if r * side >= FARTHEST and low > -inf:
            return end
        q = mean_at(low, high, r)
        if not low < q < high:
            return end
        if (q - mean) * side <= 0.0:  # rounding took the step away
            return q
        excess = mixture_divergence(setting.family, mean, q, 0.0, 1.0, 0.0, 0.0) - target
        if excess > 0.0:
            outer = r
        else:
            inner = r
        rate = rate_of(low, high, q)
        step = excess * (variance(setting.family, q) / rate) / (q - mean)
        step = max(step, -LONGEST) if above else min(step, LONGEST)
        r -= step
        if abs(step) <= SMALL_STEP * min(1.0, abs(q - mean) / rate):  # the next one would be about its square
            return mean_at(low, high, r)
        if not min(inner, outer) < r < max(inner, outer):
            r = 0.5 * (inner + outer) if abs(inner) < inf and abs(outer) < inf else r + step + side
    return q


def coordinate_of(low: float, high: float, q: float) -> float:
    """r of a mean: q, log q, or its log-odds."""
    if low == -inf:
        return q
    return log(q) if high == inf else log(q / (1.0 - q))


def mean_at(low: float, high: float, r: float) -> float:
    """The mean of a coordinate r."""
    if low == -inf:
        return r
    if high == inf:
        return exp(r)
    return 1.0 / (1.0 + exp(-r)) if r > 0.0 else exp(r) / (1.0 + exp(r))


def rate_of(low: float, high: float, q: float) -> float:
    """``dq/dr``: 1, q, or q (1 - q)."""
    if low == -inf:
        return 1.0
    return q if high == inf else q * (1.0 - q)
