"""Scalar divergences of the shipped families, in the subset of Python that numba compiles.

The formulas and the bounds of their errors are those of `caet_opt.bandits.families`; tests compare the two.
"""

from caet_opt.bandits.families.scalar import kl_div

GAUSSIAN, BERNOULLI, POISSON, EXPONENTIAL, GEOMETRIC = range(5)


def mixture_divergence(
    family: int, x: float, other: float, share: float, other_share: float, rest: float, other_rest: float
) -> float:
    """d(x, m) of a shipped family with unit dispersion, for the mixture ``m = share x + other_share other``.

    The means are x + rest and other + other_rest; see `caet_opt.bandits.families.base.Family.mixture_divergence`.
    """
    h = other_share * ((other - x) + (other_rest - rest))
    if family == GAUSSIAN:
        return 0.5 * h * h
    if h == 0.0:
        return 0.0
    y = share * x + other_share * other
    if family == POISSON:
        return kl_div(x, y, h, h / (x + y))
    if family == BERNOULLI:
        failures = (1.0 - x) - rest
        others = share * failures + other_share * ((1.0 - other) - other_rest)
        return kl_div(x, y, h, h / (x + y)) + kl_div(failures, others, -h, -h / (failures + others))
    if family == EXPONENTIAL:
        return kl_div(1.0, x / y, -h / y, -h / (x + y))
    trials_x, trials_y = 1.0 + x, 1.0 + y
    step = h / trials_y
    return kl_div(1.0, trials_x / trials_y, -step, -h / (trials_x + trials_y)) + kl_div(
        x, y * trials_x / trials_y, step, h / (x * trials_y + y * trials_x)
    )


def variance(family: int, m: float) -> float:
    """V(m) of a shipped family with unit dispersion."""
    if family == GAUSSIAN:
        return 1.0
    if family == BERNOULLI:
        return m * (1.0 - m)
    if family == POISSON:
        return m
    if family == EXPONENTIAL:
        return m * m
    return m * (1.0 + m)
