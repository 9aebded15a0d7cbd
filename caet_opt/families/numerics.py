"""The one special function that every divergence needs."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Terms of the series for |s| <= 0.2: s^(2k) / (2k + 3) is below 1e-17 from k = 11 on.
SERIES = tuple(1.0 / (2 * k + 3) for k in range(12))

#: A quotient smaller than this, or larger than its inverse, may have lost digits, or left double precision.
SMALLEST = 1e-300


def kl_div(x: ArrayLike, y: ArrayLike, difference: ArrayLike) -> Any:
    """Generalised divergence ``x log(x / y) - x + y`` with ``y - x = difference`` given exactly.

    For close arguments the textbook form cancels. With ``s = h / (x + y)`` and ``h = y - x``,

        x log(x / y) - x + y = h s - 2 x s^3 (1/3 + s^2/5 + s^4/7 + ...),

    which keeps full relative precision. ``kl_div(0, y) = y`` and ``kl_div(x, 0) = inf`` for ``x > 0``. Elsewhere the
    logarithm of the quotient is taken, which for small x and y has digits that the difference of two logarithms lacks.
    """
    x, y, h = np.broadcast_arrays(
        np.asarray(x, dtype=float), np.asarray(y, dtype=float), np.asarray(difference, dtype=float)
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        s = np.where(h == 0.0, 0.0, h / (x + y))
        series = h * s - 2.0 * x * s**3 * np.polynomial.polynomial.polyval(s * s, SERIES)
        quotient = x / y
        fits = (quotient > SMALLEST) & (quotient < 1.0 / SMALLEST)
        direct = h + x * np.where(fits, np.log(quotient), np.log(x) - np.log(y))
    result = np.where(np.abs(s) <= 0.2, series, np.where(x == 0.0, y, direct))
    return result[()]
