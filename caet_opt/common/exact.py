"""Numbers as they were given: the rational number that each input means, and its decimal text."""

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import isfinite
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


#: Numbers as people write them: a sign, digits with at most one point among them, a power of ten. Python reads more,
#: 1_0 for ten, the digits of every script, infinity, and what comes that way was hardly meant.
PLAIN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

#: A whole number, with no more digits than one of 64 bits has.
WHOLE = re.compile(r"[0-9]{1,18}")


def read_decimal(text: str) -> Decimal:
    """The decimal that a text spells; `ValueError` for anything else.

    >>> read_decimal("1e-3")
    Decimal('0.001')
    >>> read_decimal("1_000")
    Traceback (most recent call last):
        ...
    ValueError: numbers are written as 12.5 or 1e-3
    """
    if PLAIN.fullmatch(text) is None:
        raise ValueError("numbers are written as 12.5 or 1e-3")
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("its exponent is too long") from None


def read_double(text: str) -> float:
    """The double nearest to the decimal that a text spells; `ValueError` where that is infinite, or zero and the
    decimal is not.

    >>> read_double("1e-400")
    Traceback (most recent call last):
        ...
    ValueError: it is too close to zero for double precision
    """
    decimal = read_decimal(text)
    double = float(decimal)
    if not isfinite(double):
        raise ValueError("it is too large for double precision")
    if double == 0 and decimal != 0:
        raise ValueError("it is too close to zero for double precision")
    return double


def fits_double(value: Any) -> bool:
    """Whether a number is finite as a double, and zero there only if it is zero. Of any other its exact value may take
    all memory, as that of 1e-999999999 does.

    >>> fits_double(Decimal("0.1")), fits_double(Decimal("1e-400")), fits_double(Decimal("nan")), fits_double(10**400)
    (True, False, False, False)
    """
    try:
        double = float(value)
    except (OverflowError, TypeError, ValueError):  # too large a whole number, an array, a signalling NaN
        return False
    return isfinite(double) and (double != 0 or value == 0)


def read_whole(text: str) -> int | None:
    """The whole number that plain digits spell, or None.

    >>> read_whole("12"), read_whole("-1"), read_whole("9" * 5000)
    (12, None, None)
    """
    return int(text) if WHOLE.fullmatch(text) else None


def brief(text: str, most: int = 40) -> str:
    """A word as an error shows it."""
    return text if len(text) <= most else f"{text[:most]}..."


def read_toml_number(text: str) -> Decimal:
    """A number with a point or an exponent as TOML spells it, with underscores where one likes, inf and nan."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"not a number: {brief(text)!r}") from None


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
