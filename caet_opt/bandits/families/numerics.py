"""The one special function that every divergence needs, and what its rounding is bounded by.

Errors are counted in units of ``u = 2^-53``: a number "within n" has a relative error of at most ``n u``, to first
order; bounds that are printed add one for all higher orders. Sums and products of the same sign add up as usual. The
logarithm of the mathematical library is taken to be within 2, one unit in the last place.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: Half a unit in the last place of a number in [1, 2): the unit in which errors are counted.
UNIT = 2.0**-53

#: Where the series ends. The direct form loses digits like ``1 / g``: 1.6 of them at this end, ten at 0.2.
SERIES_END = 0.6

#: Coefficients of ``P(q) = (artanh(s) / s - 1) / q = 1/3 + q/5 + q^2/7 + ...`` with ``q = s^2`` up to 0.36, even powers
#: and odd ones: the polynomial that interpolates P at 16 Chebyshev nodes, within 1.1 of it (tests/test_families.py).
EVEN = (
    0.3333333333333333,
    0.1428571428486508,
    0.0909090526601452,
    0.06664526523014022,
    0.05000797643712593,
    -0.042842814548447426,
    -0.724089541388803,
    -1.3145386154413117,
)
ODD = (
    0.2000000000000361,
    0.11111111189881194,
    0.07692419599325886,
    0.059104891499309316,
    0.06527820235298751,
    0.3447157984285941,
    1.3222059435240596,
    0.7193749332116962,
)

#: A quotient smaller than this, or larger than its inverse, may have lost digits, or left double precision.
SMALLEST = 1e-300


def kl_div(x: ArrayLike, y: ArrayLike, difference: ArrayLike, slope: ArrayLike) -> Any:
    """Generalised divergence ``g = x log(x / y) - x + y``, given ``h = y - x`` and ``s = (y - x) / (x + y)``.

    ``kl_div(0, y) = y`` and ``kl_div(x, 0) = inf`` for ``x > 0``. With ``t = h / x``,

        |s| <= 0.6    g = h s - 2 x s^3 P(s^2)
        elsewhere     g = h + x log(x / y),   that is t < -3/4 or t > 3, where g / x = t - log(1 + t) >= 0.636.

    docs/mathematics/certificate.md bounds its error by those of x, y, h and s.
    """
    x, y, h, s = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in (x, y, difference, slope)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        q = s * s
        tail = horner(EVEN, q * q) + q * horner(ODD, q * q)
        series = h * s - 2.0 * x * s * q * tail
        quotient = x / y
        fits = (quotient > SMALLEST) & (quotient < 1.0 / SMALLEST)
        direct = h + x * np.where(fits, np.log(quotient), np.log(x) - np.log(y))
    result = np.where(np.abs(s) <= SERIES_END, series, np.where(x == 0.0, y, direct))
    return np.where(h == 0.0, 0.0, result)[()]


def horner(coefficients: tuple[float, ...], q: Any) -> Any:
    """A polynomial by Horner's rule."""
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * q + coefficient
    return value


def slope(difference: ArrayLike, total: ArrayLike) -> Any:
    """``(y - x) / (x + y)``, zero where there is no difference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(difference) == 0.0, 0.0, np.divide(difference, total))[()]
