"""Numbers and tables for people: no digit that the certificate does not support, and every bound rounded outward.

A bound is printed by `round_down`, `round_up`, `write_interval` or `certified_parts`, never by a format of its own:
what is printed of a lower bound is at most the bound, and of an upper bound at least.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_DOWN, Context, Decimal
from fractions import Fraction
from html import escape
from math import ceil, exp, floor, inf, isclose, isfinite, log, log10

from caet_opt.common.files import escape_controls

#: Of an interval; None is no end.
Ends = tuple[float | None, float | None]

#: Every decimal of so many significant digits survives a double, and every double survives so many digits.
MOST_DIGITS, DOUBLE_DIGITS = 15, 17

#: The digits of an interval's ends show its width to this power of ten of it.
SHOWN_WIDTH = -2

#: Arithmetic that only moves the decimal point.
EXACTLY = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)

#: Arithmetic that keeps the first digits as they are, whatever follows.
TRUNCATED = Context(prec=2, rounding=ROUND_DOWN, Emax=MAX_EMAX, Emin=MIN_EMIN)

#: A large number with an exponent, of up to fifteen digits before the point.
LARGE = re.compile(r"\b\d(\.\d+)?e\+(0\d|1[0-4])\b")

#: A delta that was typed has at most so many digits.
TYPED_DIGITS = 10


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


def in_full(text: str) -> str:
    """A text whose large numbers are written out, as amounts of money and numbers of pulls are: the same numbers.

    >>> in_full("1.694e+03, 95 % in [1.6e+03, 1.8e+03]"), in_full("2.0e-09"), in_full("1e+20")
    ('1694, 95 % in [1600, 1800]', '2.0e-09', '1e+20')
    """
    return LARGE.sub(lambda found: f"{Decimal(found[0]):f}", text)


def write_money(amount: float) -> str:
    """An amount that was paid: to the hundredth, a whole one without, and one below 1 to four significant digits.

    >>> write_money(1694.2), write_money(46.0), write_money(0.0123456), write_money(0.5), write_money(2e20)
    ('1694.20', '46', '0.01235', '0.5', '2e+20')
    """
    if not 1.0 <= abs(amount) < 1e15:
        return without_zeros(to_digits(amount, 4))
    return f"{amount:.0f}" if amount == int(amount) else f"{amount:.2f}"


def write_count(count: int, noun: str) -> str:
    """A number of things: 1 pull, 2 pulls."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def write_given(value: float, digits: int = 10) -> str:
    """A number that was given, such as a cost, without zeros at its end; a large one is written out.

    >>> write_given(123456.5), write_given(1e6), write_given(0.25), write_given(2.5e10, 3), write_given(3e-7)
    ('123456.5', '1000000', '0.25', '25000000000', '3e-07')
    """
    return in_full(f"{value:.{digits}g}")


def magnitude(value: float | Fraction) -> int:
    """The power of ten of the first digit of a number that is not zero.

    >>> magnitude(-12.5), magnitude(0.002), magnitude(Fraction(1, 3))
    (1, -3, -1)
    """
    number = Fraction(value)
    return TRUNCATED.divide(Decimal(number.numerator), Decimal(number.denominator)).adjusted()


def round_down(value: float | Fraction, digits: int) -> str:
    """A lower bound to so many significant digits: the largest such decimal that is not above it.

    A double is taken for the shortest decimal that stands for it, as JSON has it: 0.1 is 0.1000, not 0.09999.

    >>> round_down(30.8906, 4), round_down(-1.23451, 4), round_down(1234567.0, 4), round_down(-inf, 4)
    ('30.89', '-1.235', '1.234e+06', '-inf')
    """
    return round_bound(shortest(value), lambda: magnitude(value) + 1 - digits, up=False)


def round_up(value: float | Fraction, digits: int) -> str:
    """An upper bound to so many significant digits: the smallest such decimal that is not below it.

    >>> round_up(4.12335, 4), round_up(9.9996, 4), round_up(-2e-9, 2), round_up(0.05, 2), round_up(0.0, 4)
    ('4.124', '10.000', '-2.0e-09', '0.050', '0')
    """
    return round_bound(shortest(value), lambda: magnitude(value) + 1 - digits, up=True)


def without_zeros(text: str) -> str:
    """A decimal without the zeros at its end.

    >>> without_zeros("2.50000"), without_zeros("2.000e+06"), without_zeros("200")
    ('2.5', '2e+06', '200')
    """
    digits, e, exponent = text.partition("e")
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) + e + exponent


def shortest(value: float | Fraction) -> float | Fraction:
    """The shortest decimal that stands for a double; what is not finite, or exact already, as it is."""
    return Fraction(repr(float(value))) if not isinstance(value, Fraction) and isfinite(value) else value


def round_bound(value: float | Fraction, unit: Callable[[], int], *, up: bool) -> str:
    """A bound to a multiple of ten to the power of ``unit``, which is asked for where there is something to round."""
    if value == 0 or not isfinite(value):
        return f"{float(value):g}"
    power = unit()
    steps = Fraction(value) / Fraction(10) ** power
    whole = ceil(steps) if up else floor(steps)
    if not whole:
        return "0"
    number = Decimal(whole).scaleb(power, EXACTLY)
    if power <= 0 and number.adjusted() >= -4:
        return f"{number:f}"
    carried = max(number.adjusted() - max(magnitude(value), power), 0)  # 9.6e-15 up to one digit is 1e-14, not 1.0e-14
    mantissa, _, exponent = f"{number:.{number.adjusted() - power - carried}e}".partition("e")
    return f"{mantissa}e{int(exponent):+03d}"


def round_outward(lower: float | Fraction, upper: float | Fraction, digits: int) -> tuple[str, str]:
    """The ends of an interval to the same decimal, so many significant digits of the larger one, rounded away from each
    other; doubles are taken for what they are to the last bit, which is what a certificate speaks of.

    >>> round_outward(1.23456, 1.23461, 4), round_outward(-0.5, 20.0, 3), round_outward(-inf, 0.0, 3)
    (('1.234', '1.235'), ('-0.5', '20.0'), ('-inf', '0'))
    """
    finite = [end for end in (lower, upper) if end != 0 and isfinite(end)]

    def unit() -> int:
        return max(map(magnitude, finite)) + 1 - digits

    return round_bound(lower, unit, up=False), round_bound(upper, unit, up=True)


def unit_of_width(lower: float, upper: float) -> int | None:
    """The power of ten that shows the width of an interval to a hundredth; None where it has none, or no end."""
    width = upper - lower
    return floor(log10(width)) + SHOWN_WIDTH if 0 < width < inf else None


def digits_beside(value: float, interval: Ends | None, digits: int) -> int:
    """So many significant digits of a number, and more where the width of its interval is of a later digit.

    >>> digits_beside(1234567.0, (1234563.9, 1234570.1), 4), digits_beside(5, (1, 9), 4), digits_beside(7, None, 4)
    (9, 4, 4)
    """
    lower, upper = interval or (None, None)
    unit = None if lower is None or upper is None else unit_of_width(lower, upper)
    if unit is None or value == 0:
        return digits
    return max(digits, min(DOUBLE_DIGITS, magnitude(value) + 1 - unit))


def round_ends(lower: float | None, upper: float | None, digits: int) -> tuple[str, str]:
    """The ends of an interval to so many significant digits each, and to as many as show its width to a hundredth,
    rounded away from each other; None is no end.

    >>> round_ends(1234563.8319, 1234569.9681, 4), round_ends(1e-10, 5.4321, 4), round_ends(None, -0.25, 4)
    (('1234563.83', '1234569.97'), ('1.000e-10', '5.433'), ('-inf', '-0.2500'))
    """
    low, high = -inf if lower is None else lower, inf if upper is None else upper
    return (
        round_down(low, digits_beside(low, (lower, upper), digits) if isfinite(low) else digits),
        round_up(high, digits_beside(high, (lower, upper), digits) if isfinite(high) else digits),
    )


def write_interval(lower: float | None, upper: float | None, digits: int) -> str:
    """An interval as text, by `round_ends`.

    >>> write_interval(60.634639, 72.56536, 5), write_interval(0.0, 0.16843, 4), write_interval(None, None, 4)
    ('[60.634, 72.566]', '[0, 0.1685]', '[-inf, inf]')
    """
    return "[{}, {}]".format(*round_ends(lower, upper, digits))


def write_gap(gap: float, digits: int = 2) -> str:
    """A relative gap, rounded up.

    >>> write_gap(1.23e-14), write_gap(0.0), write_gap(9.1e-15, 1)
    ('1.3e-14', '0', '1e-14')
    """
    return round_up(gap, digits)


def recover_delta(log_inv_delta: float) -> float:
    """delta from log(1/delta): the decimal of fewest digits that has this logarithm, where one of few digits does, and
    ``exp(-log(1/delta))`` otherwise, which would make 0.05000000000000001 of 0.05.

    >>> recover_delta(-log(0.05)), recover_delta(-log(1e-9)), recover_delta(3.0) == exp(-3.0), recover_delta(800.0)
    (0.05, 1e-09, True, 0.0)
    """
    typed = typed_delta(log_inv_delta)
    return exp(-log_inv_delta) if typed is None else float(typed)


def typed_delta(log_inv_delta: float) -> str | None:
    """The delta that was typed, if that was typed and not its logarithm: a decimal of few digits that has this
    logarithm, up to rounding.

    >>> typed_delta(-log(0.1)), typed_delta(-log(1e-6)), typed_delta(2.5)
    ('0.1', '1e-6', None)
    """
    near = exp(-log_inv_delta)
    for digits in range(1, TYPED_DIGITS + 1):
        text = f"{near:.{digits}g}"
        if 0 < float(text) < 1 and isclose(-log(float(text)), log_inv_delta, rel_tol=4e-16):
            mantissa, e, exponent = text.partition("e")
            return f"{mantissa}e{int(exponent)}" if e else text
    return None


def are_typed(levels: Iterable[float]) -> bool:
    """Whether these are the logarithms of deltas that were typed, all of them.

    >>> are_typed([-log(0.1), -log(0.05)]), are_typed([-log(0.1), 3.0])
    (True, False)
    """
    return all(typed_delta(level) is not None for level in levels)


def write_level(log_inv_delta: float, delta: str = "delta") -> str:
    """The confidence as it was typed: ``delta = 0.05``, or ``log(1/delta) = 3``.

    >>> write_level(-log(0.05)), write_level(3.0), write_level(-log(0.05), "δ")
    ('delta = 0.05', 'log(1/delta) = 3', 'δ = 0.05')
    """
    typed = typed_delta(log_inv_delta)
    return f"{delta} = {typed}" if typed else f"log(1/{delta}) = {log_inv_delta:.6g}"


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
    """How many significant digits of the larger end show an interval's width to a hundredth, as far as doubles go.

    >>> digits_of_interval(1.0, 1.5), digits_of_interval(22.49, 22.51), digits_of_interval(1.0, 1.0)
    (4, 6, 17)
    """
    unit = unit_of_width(lower, upper)
    larger = max(abs(lower), abs(upper))
    return DOUBLE_DIGITS if unit is None else max(1, min(DOUBLE_DIGITS, magnitude(larger) + 1 - unit))


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
