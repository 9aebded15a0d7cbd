"""Confidence bounds of a mean, in the subset of Python that numba compiles: where its divergence reaches a level."""

from math import inf, log1p, sqrt

from caet_opt.bandits.families.numerics import Array
from caet_opt.exploring.stopping.kernels import E_PROCESS, threshold_value
from caet_opt.exploring.tally import COUNT, MEAN, PRIOR, Conditions, weight_of
from caet_opt.solving.native.divergences import GAUSSIAN, mixture_divergence, variance

#: More steps than halving a bracket of doubles can take, and the relative width at which a bound is good enough.
MOST_STEPS, ACCURACY = 2000, 1e-12


def bound_level(setting: Conditions, arms: Array, now: float, arm: int) -> float:
    """beta of a single arm: the threshold of a pair of two arms with its pulls.

    For the e-process that is what many pulls need, ``level + log(1 + w / rho) - 2 log 2``, and the level at least.
    """
    pulls = arms[COUNT, arm]
    if setting.threshold == E_PROCESS:
        extra = log1p(weight_of(setting, arms, arm) / setting.numbers[PRIOR, arm]) - 2.0 * 0.6931471805599453
        return setting.level + max(extra, 0.0)
    return threshold_value(setting.threshold, now, pulls, pulls, setting.level, setting.slope)


def confidence_bound(setting: Conditions, arms: Array, arm: int, level: float, above: bool) -> float:
    """The largest q above, or the least below, the empirical mean with ``w d(mean, q) <= level``.

    Newton's method on ``d(mean, q) - level / w``, whose derivative is ``(q - mean) / V(q)``, inside a bracket of the
    root that every evaluation shortens, and the middle of it where a step would leave it.
    """
    weight, mean = weight_of(setting, arms, arm), float(arms[MEAN, arm])
    target = level / weight
    if setting.family == GAUSSIAN:
        return mean + sqrt(2.0 * target) if above else mean - sqrt(2.0 * target)
    inner, outer = mean, setting.high if above else setting.low
    if mean == outer:
        return mean
    reach = sqrt(2.0 * target * variance(setting.family, mean)) + target
    q = mean + reach if above else mean - reach
    if not setting.low < q < setting.high:
        q = 0.5 * (mean + outer)
    for _ in range(MOST_STEPS):
        if q == mean:
            break
        excess = mixture_divergence(setting.family, mean, q, 0.0, 1.0, 0.0, 0.0) - target
        if excess <= 0.0:
            inner = q
        else:
            outer = q
        step = excess * variance(setting.family, q) / (q - mean)
        if abs(step) <= ACCURACY * abs(q) or abs(outer - inner) <= ACCURACY * abs(q):
            break
        q -= step
        if not min(inner, outer) < q < max(inner, outer):
            q = 0.5 * (inner + outer) if abs(outer) < inf else mean + 2.0 * (inner - mean)
    return q
