"""Numbers and tables for people: no digit that the certificate does not support."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import floor, log10

#: A double carries no more significant decimal digits than this.
MOST_DIGITS = 15


def digits_supported(value: float, gap: float) -> int:
    """How many significant digits of a value are certain when it is certain up to a relative gap.

    The last digit counts as certain when the absolute gap is at most half a unit of it:

    >>> digits_supported(11.6568, 1e-6)  # +- 0.00001, half a unit of the fourth decimal is 0.00005
    6
    >>> digits_supported(11.6568, 0.0)
    15
    """
    if value == 0 or gap <= 0:
        return MOST_DIGITS
    leading = floor(log10(abs(value)))
    return max(1, min(MOST_DIGITS, floor(leading + 1 - log10(2 * abs(value) * gap))))


def significant(value: float, digits: int) -> str:
    """A number to so many significant digits, trailing zeros kept.

    >>> significant(22.5, 5), significant(990.2, 3), significant(0.0, 5)
    ('22.500', '990', '0')
    """
    return f"{value:#.{digits}g}".rstrip(".") if value else "0"


def outward(lower: float, upper: float, digits: int) -> tuple[str, str]:
    """The ends of an interval to so many significant digits, rounded away from each other.

    >>> outward(1.23456, 1.23461, 4)
    ('1.234', '1.235')
    """
    if upper == 0:
        return significant(lower, digits), significant(upper, digits)
    unit = Decimal(1).scaleb(Decimal(upper).adjusted() + 1 - digits)
    low, high = Decimal(lower).quantize(unit, ROUND_FLOOR), Decimal(upper).quantize(unit, ROUND_CEILING)
    plain = -4 <= Decimal(upper).adjusted() < digits
    return (f"{low:f}", f"{high:f}") if plain else (f"{low:e}", f"{high:e}")


def certified(value: float, lower: float, upper: float, gap: float) -> tuple[str, str]:
    """A certified value as its supported digits, and its interval two digits further."""
    digits = digits_supported(value, gap)
    low, high = outward(lower, upper, digits + 2)
    return significant(value, digits), f"[{low}, {high}]"


def proportion(share: float) -> str:
    """A proportion to six decimals; a smaller one in scientific notation, so that it is not taken for zero.

    >>> proportion(0.25), proportion(2e-9), proportion(0.0)
    ('0.250000', '2.0e-09', '0')
    """
    if share == 0:
        return "0"
    return f"{share:.6f}" if share >= 1e-6 else f"{share:.1e}"


def duration(seconds: float) -> str:
    """A time to three significant digits in the unit that suits it.

    >>> duration(3.1234e-05), duration(0.0025), duration(12.0), duration(1234.0)
    ('31.2 us', '2.50 ms', '12.0 s', '1234 s')
    """
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{significant(seconds / size, 3)} {unit}"
    return f"{significant(seconds, 3) if seconds < 999.5 else round(seconds)} s"


def relative_deviation(value: float, expected: float) -> float:
    """``|value - expected| / |expected|``; for an expected zero, zero or infinity."""
    if expected == 0:
        return 0.0 if value == 0 else float("inf")
    return abs(value - expected) / abs(expected)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Columns with headers, aligned right except those listed in ``left``."""
    lines = [list(headers), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
