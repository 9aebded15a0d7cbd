"""Numbers and tables for people: no digit that the certificate does not support."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from html import escape
from math import floor, log10

from caet_opt.bandits.files import escape_controls

#: Every decimal of so many significant digits survives a double, and every double survives so many digits.
MOST_DIGITS, DOUBLE_DIGITS = 15, 17


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


def to_digits(value: float, digits: int) -> str:
    """A number to so many significant digits, trailing zeros kept.

    >>> to_digits(22.5, 5), to_digits(990.2, 3), to_digits(0.0, 5)
    ('22.500', '990', '0')
    """
    return f"{value:#.{digits}g}".rstrip(".").replace(".e", "e") if value else "0"


def round_outward(lower: float, upper: float, digits: int) -> tuple[str, str]:
    """The ends of an interval to so many significant digits, rounded away from each other.

    >>> round_outward(1.23456, 1.23461, 4)
    ('1.234', '1.235')
    """
    if upper == 0:
        return to_digits(lower, digits), to_digits(upper, digits)
    unit = Decimal(1).scaleb(Decimal(upper).adjusted() + 1 - digits)
    low, high = Decimal(lower).quantize(unit, ROUND_FLOOR), Decimal(upper).quantize(unit, ROUND_CEILING)
    plain = -4 <= Decimal(upper).adjusted() < digits
    return (f"{low:f}", f"{high:f}") if plain else (f"{low:e}", f"{high:e}")


def digits_shared(value: float, lower: float, upper: float, gap: float) -> int:
    """How many significant digits every number of a certified interval has in common when rounded, at least one.

    >>> digits_shared(1.23446, 1.23444, 1.23447, 2.4e-5), digits_shared(22.5, 22.499999, 22.500001, 1e-7)
    (4, 7)
    """
    digits = digits_supported(value, gap)
    while digits > 1 and to_digits(lower, digits) != to_digits(upper, digits):
        digits -= 1
    return digits


def digits_of_interval(lower: float, upper: float) -> int:
    """How many significant digits of its ends show an interval's width to a hundredth, as far as doubles go.

    >>> digits_of_interval(1.0, 1.5), digits_of_interval(22.49, 22.51), digits_of_interval(1.0, 1.0)
    (4, 6, 17)
    """
    if lower >= upper:
        return DOUBLE_DIGITS
    unit = floor(log10(upper - lower)) - 2
    return max(1, min(DOUBLE_DIGITS, Decimal(upper).adjusted() + 1 - unit))


def certified_parts(
    value: float, lower: float, upper: float, gap: float, most: int = MOST_DIGITS
) -> tuple[str, str, str]:
    """A certified value as the digits to which its whole interval rounds, and the interval's ends, rounded outward.

    The ends have as many digits as show the interval's width. Where ``most`` cuts the value short they have two more
    than it. With at most 2 digits, 22.5 -+ 1e-9 is neither 22 nor 23; then there is a digit more.

    >>> certified_parts(22.5, 22.499999999, 22.500000001, 1e-10, most=2)
    ('22.5', '22.499', '22.501')
    >>> certified_parts(26.6, 26.599999999999985, 26.600000000000016, 1.2e-15)
    ('26.6000000000000', '26.599999999999983', '26.600000000000016')
    """
    shared = digits_shared(value, lower, upper, gap)
    fewer = (digits for digits in range(most, shared) if to_digits(lower, digits) == to_digits(upper, digits))
    digits = next(fewer, shared)
    ends = round_outward(lower, upper, digits + 2 if digits < shared else digits_of_interval(lower, upper))
    return to_digits(value, digits), *ends


def format_certified(value: float, lower: float, upper: float, gap: float, most: int = MOST_DIGITS) -> tuple[str, str]:
    """The value of `certified_parts`, and its interval.

    >>> format_certified(22.5, 22.499999999, 22.500000001, 1e-10, most=2)
    ('22.5', '[22.499, 22.501]')
    """
    shown, low, high = certified_parts(value, lower, upper, gap, most)
    return shown, f"[{low}, {high}]"


def digits_rooted(gap: float, most: int) -> int:
    """How many digits to print of what converges like the root of the gap, as proportions do; at most ``most``.

    >>> digits_rooted(1e-14, 6), digits_rooted(1e-9, 6), digits_rooted(0.0, 6), digits_rooted(0.5, 6)
    (6, 4, 6, 1)
    """
    return max(1, min(most, floor(-log10(gap) / 2))) if gap > 0 else most


def proportion(share: float, decimals: int = 6) -> str:
    """A proportion to some decimals; a smaller one in scientific notation, so that it is not taken for zero.

    >>> proportion(0.25), proportion(2e-9), proportion(0.0), proportion(0.25, 3)
    ('0.250000', '2.0e-09', '0', '0.250')
    """
    if share == 0:
        return "0"
    return f"{share:.{decimals}f}" if share >= 10.0**-decimals else f"{share:.1e}"


def duration(seconds: float) -> str:
    """A time to three significant digits in the unit that suits it.

    >>> duration(3.1234e-05), duration(0.0025), duration(12.0), duration(1234.0)
    ('31.2 us', '2.50 ms', '12.0 s', '1234 s')
    """
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{to_digits(seconds / size, 3)} {unit}"
    return f"{to_digits(seconds, 3) if seconds < 999.5 else round(seconds)} s"


def format_ratio(ratio: float) -> str:
    """A ratio to three significant digits, as people write it.

    >>> format_ratio(1.0), format_ratio(4.567), format_ratio(1811.3), format_ratio(123456.0)
    ('1 x', '4.57 x', '1810 x', '123000 x')
    """
    return f"{Decimal(f'{ratio:.3g}'):f} x"


def pair_names(pairs: Iterable[Sequence[int]], arms: Sequence[str]) -> list[str]:
    """Pairs by the names of their arms."""
    return [f"{escape_controls(arms[a])} > {escape_controls(arms[b])}" for a, b in pairs]


def relative_deviation(value: float, expected: float) -> float:
    """``|value - expected| / |expected|``; for an expected zero, zero or infinity."""
    if expected == 0:
        return 0.0 if value == 0 else float("inf")
    return abs(value - expected) / abs(expected)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Columns with headers, aligned right except those listed in ``left``.

    A row with fewer cells than there are columns ends in a remark, which may run over the columns that it lacks.
    """
    lines = [[escape_controls(cell) for cell in line] for line in (headers, *rows)]
    columns = len(headers)
    counted = [line if len(line) == columns else line[:-1] for line in lines]
    widths = [max(len(line[column]) for line in counted if column < len(line)) for column in range(columns)]

    def pad(line: list[str], column: int) -> str:
        if len(line) < columns and column == len(line) - 1:
            return line[column]
        return line[column].ljust(widths[column]) if column in left else line[column].rjust(widths[column])

    return "\n".join("  ".join(pad(line, column) for column in range(len(line))).rstrip() for line in lines)


def html_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same columns for a notebook; a remark runs over the columns that its row lacks."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headers)
    body = ""
    for *cells, last in rows:
        span = len(headers) - len(cells)
        tag = f'<td colspan="{span}">' if span > 1 else "<td>"
        body += "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in cells) + f"{tag}{escape(last)}</td></tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
