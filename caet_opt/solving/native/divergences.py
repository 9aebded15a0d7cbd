"""Scalar divergences of the shipped families, in the subset of Python that numba compiles.

The formulas and the bounds of their errors are those of `caet_opt.bandits.families`; tests compare the two.
"""

from math import inf, log

from caet_opt.bandits.families.numerics import EVEN, ODD, SERIES_END, SMALLEST

GAUSSIAN, BERNOULLI, POISSON, EXPONENTIAL, GEOMETRIC = range(5)

E0, E1, E2, E3, E4, E5, E6, E7 = EVEN
O0, O1, O2, O3, O4, O5, O6, O7 = ODD


def kl_div(x: float, y: float, h: float, s: float) -> float:
    """``x log(x / y) - x + y`` with ``h = y - x`` and ``s = h / (x + y)`` given; see `bandits.families.numerics`."""
    if h == 0.0:
        return 0.0
    if abs(s) > SERIES_END:
        if x == 0.0:
            return y
        if y == 0.0:
            return inf
        quotient = x / y
        if SMALLEST < quotient < 1.0 / SMALLEST:
            return h + x * log(quotient)
        return h + x * (log(x) - log(y))
    q = s * s
    r = q * q
    even = ((((((E7 * r + E6) * r + E5) * r + E4) * r + E3) * r + E2) * r + E1) * r + E0
    odd = ((((((O7 * r + O6) * r + O5) * r + O4) * r + O3) * r + O2) * r + O1) * r + O0
    return h * s - 2.0 * x * s * q * (even + q * odd)


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
