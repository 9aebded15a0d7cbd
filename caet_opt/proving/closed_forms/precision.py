"""Evaluation at any number of digits: exact inputs, and working precision that grows until the digits stand still."""

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from mpmath import inf, log, mp, mpf

from caet_opt.bandits.families import Family
from caet_opt.errors import SolverError

#: How often the working precision may be doubled.
DOUBLINGS = 8


def compute_to(digits: int, compute: Callable[[], Sequence[Any]]) -> list[Any]:
    """Numbers to so many significant digits: computed again at twice the precision until they agree.

    Where the working precision is too low to tell two inputs apart, a division by zero counts as no numbers at all.
    """
    precision, values = 0, list[Any]()
    for doubling in range(DOUBLINGS + 1):
        precision = (digits + 10) * 2**doubling
        with mp.workdps(precision):
            before = values
            try:
                values = list(compute())
            except ZeroDivisionError:
                values = []
            unit = mpf(10) ** -(digits + 2)
            if len(before) == len(values) > 0 and all(
                abs(old - new) <= unit * abs(new) for old, new in zip(before, values, strict=True)
            ):
                return values
    raise SolverError(f"the closed form does not settle at {precision} digits; its inputs are too extreme")


def as_mpf(value: Any) -> Any:
    """A fraction, or a sequence of them, at the present working precision; whole numbers stay as they are."""
    if isinstance(value, tuple):
        return tuple(map(as_mpf, value))
    return mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def as_fraction(value: Any) -> Fraction:
    """The exact value of a binary floating-point number of any precision."""
    sign, mantissa, exponent, _ = value._mpf_
    number = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -number if sign else number


def as_decimal(value: Any, digits: int) -> Decimal:
    """The number to so many significant decimal digits."""
    exact = as_fraction(value)
    return Context(prec=digits).divide(Decimal(exact.numerator), Decimal(exact.denominator))


def unit_divergence(family: type[Family]) -> Callable[[Any, Any], Any]:
    """d(x, y) of the family at unit dispersion and at the working precision; infinite for y on the boundary."""
    low, high = family.mean_space.low, family.mean_space.high

    def divergence(x: Any, y: Any) -> Any:
        return family.algebraic_divergence(x, y, log_or_zero) if low < y < high else inf

    return divergence


def log_or_zero(x: Any) -> Any:
    """log(x), and zero at zero, because divergences contain ``x log(x)`` only."""
    return log(x) if x else mpf(0)
