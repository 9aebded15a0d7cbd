"""Scalar divergences of the shipped families, in the subset of Python that numba compiles."""

from math import inf, log

from caet_opt.families.numerics import SMALLEST

GAUSSIAN, BERNOULLI, POISSON, EXPONENTIAL, GEOMETRIC = range(5)


def kl_div(x: float, y: float, h: float) -> float:
    """``x log(x / y) - x + y`` with ``h = y - x`` given; see `caet_opt.families.numerics.kl_div`."""
    if h == 0.0:
        return 0.0
    if x == 0.0:
        return y
    if y == 0.0:
        return inf
    s = h / (x + y)
    if abs(s) > 0.2:
        quotient = x / y
        if SMALLEST < quotient < 1.0 / SMALLEST:
            return h + x * log(quotient)
        return h + x * (log(x) - log(y))
    q = s * s
    tail = 1.0 / 25.0
    tail = tail * q + 1.0 / 23.0
    tail = tail * q + 1.0 / 21.0
    tail = tail * q + 1.0 / 19.0
    tail = tail * q + 1.0 / 17.0
    tail = tail * q + 1.0 / 15.0
    tail = tail * q + 1.0 / 13.0
    tail = tail * q + 1.0 / 11.0
    tail = tail * q + 1.0 / 9.0
    tail = tail * q + 1.0 / 7.0
    tail = tail * q + 1.0 / 5.0
    tail = tail * q + 1.0 / 3.0
    return h * s - 2.0 * x * s * q * tail


def mixture_divergence(family: int, x: float, other: float, share: float, other_share: float) -> float:
    """d(x, m) of a shipped family with unit dispersion, for the mixture ``m = share x + other_share other``."""
    h = other_share * (other - x)
    if family == GAUSSIAN:
        return 0.5 * h * h
    y = share * x + other_share * other
    if family == BERNOULLI:
        return kl_div(x, y, h) + kl_div(1.0 - x, share * (1.0 - x) + other_share * (1.0 - other), -h)
    if family == POISSON:
        return kl_div(x, y, h)
    if family == EXPONENTIAL:
        return kl_div(1.0, x / y, -h / y)
    step = h / (1.0 + y)
    return kl_div(1.0, (1.0 + x) / (1.0 + y), -step) + kl_div(x, y * (1.0 + x) / (1.0 + y), step)


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
