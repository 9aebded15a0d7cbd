"""Numbers as they were given: the rational number that each input means, and its decimal text."""

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational
from typing import Any

#: What counts as a number in a model; whole numbers are floats to a type checker.
Number = float | Decimal | Fraction


def exact(value: Any) -> Fraction:
    """The rational number that an input means.

    Whole numbers, decimals and fractions mean themselves. A float means the shortest decimal that rounds to it, which
    is the one that was typed where one was; so does anything else that converts to a float.

    >>> exact(0.1), exact(Decimal("0.1")), exact(3)
    (Fraction(1, 10), Fraction(1, 10), Fraction(3, 1))
    """
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(value) if isinstance(value, Decimal) else Fraction(float.__repr__(float(value)))


def read_decimal(text: str) -> Decimal:
    """The decimal that a text spells; `ValueError` for anything else, as `float` raises it."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"not a number: {text!r}") from None


def decimal_text(value: Fraction) -> str:
    """A rational number in full: as a decimal where it has a finite one, else as a fraction.

    >>> decimal_text(Fraction(7, 5)), decimal_text(Fraction(3)), decimal_text(Fraction(1, 3))
    ('1.4', '3', '1/3')
    """
    places = max(multiplicity(value.denominator, 2), multiplicity(value.denominator, 5))
    scaled = value * 10**places
    if scaled.denominator != 1:
        return str(value)
    digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if value < 0 else "") + whole + (f".{part}" if part else "")


def multiplicity(number: int, prime: int) -> int:
    """How often a prime divides a positive number."""
    times = 0
    while number % prime == 0:
        number, times = number // prime, times + 1
    return times
