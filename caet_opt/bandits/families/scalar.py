"""Special functions one number at a time, in the subset of Python that numba compiles."""

from math import exp, inf, log, log1p, pi

from caet_opt.bandits.families.numerics import EVEN, ODD, SERIES_END, SMALLEST

E0, E1, E2, E3, E4, E5, E6, E7 = EVEN
O0, O1, O2, O3, O4, O5, O6, O7 = ODD

#: ``log(2 pi) / 2``.
HALF_LOG_TWO_PI = 0.5 * log(2.0 * pi)


def kl_div(x: float, y: float, h: float, s: float) -> float:
    """``x log(x / y) - x + y`` with ``h = y - x`` and ``s = h / (x + y)`` given; see `numerics`."""
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


def log_factorial_rest(z: float) -> float:
    """``log Gamma(z + 1) - z log z + z`` for z >= 0, within 1e-11: zero at zero, ``log(2 pi z) / 2`` for large z.

    Stirling's series from z = 8 on, whose error is below the first term left out; below, the recursion
    ``Gamma(z + 1) = Gamma(z + 9) / ((z + 1) ... (z + 8))``.
    """
    if z <= 0.0:
        return 0.0
    y, shift = z, 0.0
    if z < 8.0:
        y = z + 8.0
        steps = (z + 1.0) * (z + 2.0) * (z + 3.0) * (z + 4.0) * (z + 5.0) * (z + 6.0) * (z + 7.0) * y
        shift = y * log(y) - z * log(z) - 8.0 - log(steps)
    q = 1.0 / (y * y)
    series = (((-q / 1680.0 + 1.0 / 1260.0) * q - 1.0 / 360.0) * q + 1.0 / 12.0) / y
    return shift + HALF_LOG_TWO_PI + 0.5 * log(y) + series


def log_normal_tail(y: float) -> float:
    """``y^2 / 2 + log Phi(y)``, within 3e-9, without cancellation for y < 0.

    For y <= 0 it is ``log t + P(2 t - 1)`` with ``t = 1 / (1 + 0.3 |y|)`` and the polynomial P that interpolates it at
    13 Chebyshev nodes. For y > 0, ``Phi(y) = 1 - Phi(-y)``.
    """
    if not abs(y) < inf:
        return y
    t = 1.0 / (1.0 + 0.3 * abs(y))
    s = 2.0 * t - 1.0
    p = ((-4.06009189385e-05 * s + 5.27282914428e-06) * s + 0.000278474436325) * s - 3.52377813139e-05
    p = (((p * s - 0.00119923850816) * s + 2.64201796948e-05) * s + 0.00485799799244) * s + 0.00160774152685
    p = ((p * s - 0.0217584720561) * s - 0.0281692899708) * s + 0.115042853826
    tail = log(t) + (p * s + 0.741447171767) * s - 1.50521027599
    if y <= 0.0:
        return tail
    half = 0.5 * y * y
    return half + log1p(-exp(tail - half))
