"""The term of a statement: its value, rates and curvature, what it proves, and its two ways of running."""

from decimal import Decimal
from fractions import Fraction
from math import exp, inf, isnan, log, nextafter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from caet_opt import Gaussian
from caet_opt.bandits.families import scalar
from caet_opt.bandits.families.numerics import UNIT
from caet_opt.kernels import margin_floor, margin_term, term
from caet_opt.kernels.compile import compile_functions, list_functions
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.interpret import interpret
from caet_opt.kernels.margin_term import FAILS, HIDDEN, HOLDS, TIE
from caet_opt.kernels.term import BERNOULLI, EXPONENTIAL, GAUSSIAN, GEOMETRIC, POISSON

KERNEL = list_functions(scalar, term, margin_term, margin_floor)
INTERPRETED = interpret(KERNEL, Gaussian)
WITH_MARGINS = (BERNOULLI, POISSON, EXPONENTIAL, GEOMETRIC)

#: Digits of the arithmetic that tells: a point may be 1e-300 from an end.
DIGITS = 340


@pytest.fixture(scope="module")
def compiled():
    return compile_functions(KERNEL)


def space_end(family):
    return 1.0 if family == BERNOULLI else inf


def divergence(family, x, y):
    """d(x, y) in the arithmetic of mpmath."""

    def entropy(a, b):
        return (a * mp.log(a / b) if a else mpf(0)) - a + b

    if family == GAUSSIAN:
        return (x - y) ** 2 / 2
    if family == POISSON:
        return entropy(x, y)
    if family == BERNOULLI:
        return entropy(x, y) + entropy(1 - x, 1 - y)
    if family == EXPONENTIAL:
        return x / y - 1 - mp.log(x / y)
    return (x * mp.log(x / y) if x else mpf(0)) + (1 + x) * mp.log((1 + y) / (1 + x))


def slope(family, x, y):
    """Derivative of d(x, y) in y."""
    spread = {BERNOULLI: y * (1 - y), POISSON: y, EXPONENTIAL: y * y, GEOMETRIC: y * (1 + y)}
    return (y - x) / spread[family]


def least(family, wa, wb, x, y, e, points=160):
    """Least value of the term and its rates there, by bisection of F' between points at all odds."""
    wa, wb, x, y, e = map(mpf, (wa, wb, x, y, e))
    low, high = max(y + e, mpf(0)), min(x, 1 + e) if family == BERNOULLI else x

    def point(v):
        odds = mp.exp(v)
        return low + (high - low) * odds / (1 + odds) if v < 0 else high - (high - low) / (1 + odds)

    def rise(v):
        at = point(v)
        return wa * slope(family, x, at) + wb * slope(family, y, at - e)

    def value(v):
        rates = divergence(family, x, point(v)), divergence(family, y, point(v) - e)
        return wa * rates[0] + wb * rates[1], *rates

    logs = [mpf(v) for v in (-690, -400, -150, *np.linspace(-70, 70, points), 150, 400, 690)]
    signs = [rise(v) > 0 for v in logs]
    found = [value(logs[0]), value(logs[-1])]
    for before, after, falls, rises in zip(logs, logs[1:], signs, signs[1:], strict=False):
        if rises and not falls:
            for _ in range(100):
                middle = (before + after) / 2
                before, after = (before, middle) if rise(middle) > 0 else (middle, after)
            found.append(value(before))
    return min(found)


def as_double(number):
    """A decimal as a double and what rounding took away."""
    exact = Fraction(number)
    return float(exact), float(exact - Fraction(float(exact)))


def term_of(kernel, family, wa, wb, x, y, e, ratio="1", free=(False, False)):
    """`statement_term` of decimals."""
    (x, rest_x), (y, rest_y), (e, rest_e), (ratio, rest_r) = map(as_double, (x, y, e, ratio))
    low = -inf if family == GAUSSIAN else 0.0
    numbers = (x, y, rest_x, rest_y, e, rest_e, ratio, rest_r)
    return kernel["statement_term"](family, low, space_end(family), wa, wb, *numbers, *free)


@st.composite
def margins(draw):
    """A family, efforts, means and a margin such that the statement holds."""
    family = draw(st.sampled_from(WITH_MARGINS))
    sizes = st.floats(0.0, 1.0) if family == BERNOULLI else st.floats(-6.0, 3.0).map(lambda size: 10.0**size)
    x, y = draw(sizes), draw(sizes)
    near = st.floats(-8.0, 1.0).map(lambda size: (x - y) - 10.0**size)
    e = draw(st.one_of(near, st.floats(-1.0, 1.0).map(lambda part: part * max(x, y))))
    efforts = st.one_of(st.floats(-2.0, 2.0), st.floats(-30.0, 30.0)).map(lambda size: 10.0**size)
    assume(x - y - e > 1e-9 * max(x, y, abs(e)) and e != 0.0 and (family != BERNOULLI or e > -1.0))
    assume(x > 1e-290 and (y == 0.0 or y > 1e-290))
    assume(y < 1.0 or family != BERNOULLI)  # else, as for x = 0, one pair of means alone may contradict
    return family, draw(efforts), draw(efforts), x, y, e


HOSTILE = [
    *((BERNOULLI, 1.0, effort, 0.95, 0.96, -0.1) for effort in (1e-200, 1e-60, 1e-20, 1.0, 1e20, 1e60)),
    *((BERNOULLI, 1.0, effort, 1.0, 0.3, 0.2) for effort in (1e-5, 1.0, 1e5)),
    *((BERNOULLI, 1.0, effort, 0.6, 0.0, 0.3) for effort in (1e-3, 3.0, 1e3)),
    (BERNOULLI, 1.0, 1.0, 0.5, 0.0, 0.499999),
    (BERNOULLI, 1.0, 1.0, 1.4e-45, 0.0, 3.5e-46),
    (BERNOULLI, 1.0, 1.0, 0.5, 0.5, -0.5),
    (BERNOULLI, 1.0, 1.0, 0.5, 0.9, -0.9),
    (BERNOULLI, 1.0, 1.0, 1.0, 0.0, -0.3),
    *((POISSON, 1.0, effort, 3.0, 0.0, 1.0) for effort in (1e-3, 1.0, 1e3)),
    *((GEOMETRIC, 1.0, effort, 30.0, 0.0, 10.0) for effort in (1e-3, 1.0, 1e3)),
    *((family, 1e-150, 1.0, 0.3, 0.5, -0.6) for family in (EXPONENTIAL, POISSON, GEOMETRIC)),
    *((EXPONENTIAL, 1.0, effort, 5.0, 0.03, 1.0) for effort in (1e-30, 0.6, 0.668, 0.67, 0.7, 1e30)),
    *((GEOMETRIC, 1.0, effort, 50.0, 1e-3, 7.0) for effort in (0.3, 0.6, 0.8, 1.0)),
]


def check(kernel, case, sharp=True):
    """Value and floor of a case against 340 digits, and where the point is sharply defined its rates."""
    with mp.workdps(DIGITS):
        value, *rates = least(*case)
        family, wa, wb, x, y, e = case
        present, f, da, db, curve = term_of(kernel, family, wa, wb, x, y, e)
        floor = kernel["margin_floor"](family, wa, wb, x, y, 0.0, 0.0, e, 0.0, 0.0, 1.0)
        assert present
        assert 0.0 <= curve <= margin_term.MOST_CURVE
        assert abs(f / value - 1) < 1e-14
        assert 0 < 1 - floor / value < 1e-13
        for found, rate, effort in ((da, rates[0], wa), (db, rates[1], wb)):  # what is nothing of f may be rounded
            assert not sharp or abs(found - rate) < max(1e-9 * rate, 1e-14 * value / effort)


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_hostile_margins_against_many_digits(case, compiled):
    check(compiled, case)


@given(margins())
@settings(max_examples=60)
def test_margins_against_many_digits(compiled, case):
    check(compiled, case)


@given(margins())
@settings(max_examples=200)
def test_interpreted_and_compiled_margins_end_in_the_same_bits(compiled, case):
    family, wa, wb, x, y, e = case
    numbers = (family, wa, wb, x, y, 0.0, 0.0, e, 0.0)
    for name, arguments in (
        ("margin_bends", (family, *numbers[3:])),
        ("margin_term", (*numbers, 0.0, 1.0)),
        ("margin_floor", (*numbers, 0.0, 1.0)),
        ("margin_floor", (*numbers, 0.1, 0.7)),
    ):
        assert repr(INTERPRETED[name](*arguments)) == repr(compiled[name](*arguments)), name
    assert repr(term_of(INTERPRETED, *case)) == repr(term_of(compiled, *case))


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_interpreted_and_compiled_are_the_same_where_it_is_hostile(case, compiled):
    assert repr(term_of(INTERPRETED, *case)) == repr(term_of(compiled, *case))
    family, wa, wb, x, y, e = case
    floors = {
        repr(k["margin_floor"](family, wa, wb, x, y, 0.0, 0.0, e, 0.0, 0.0, 1.0)) for k in (INTERPRETED, compiled)
    }
    assert len(floors) == 1


@given(margins(), st.floats(-1.0, 1.0))
@settings(max_examples=100)
def test_rates_and_curvature_are_derivatives(compiled, case, tilt):
    """f(w) <= w . rates(v) for all v, with equality at v = w; and the curvature of log f in log w."""
    family, _, _, x, y, e = case
    assume(
        1e-3 < x < 1e3 and 1e-3 < y < 1e3 and x - y - e > 1e-3 * max(x, y) and (e < 0 or family in (BERNOULLI, POISSON))
    )
    wa, wb = 1.0, 10.0**tilt
    _, f, da, db, curve = term_of(compiled, family, wa, wb, x, y, e)
    step = 1e-3

    def value(by):
        return log(term_of(compiled, family, wa * exp(by), wb, x, y, e)[1])

    assert (value(step) - value(-step)) / (2 * step) == pytest.approx(wa * da / f, rel=1e-4, abs=1e-6)
    bent = -(value(step) - 2 * value(0.0) + value(-step)) / (step * step)
    assert curve == pytest.approx(max(bent, 0.0), rel=1e-3, abs=2e-6)
    for by in (-3.0, -0.1, 0.2, 2.0):
        other = term_of(compiled, family, wa * exp(by), wb, x, y, e)[1]
        assert other <= (wa * exp(by) * da + wb * db) * (1 + 1e-13)


@given(margins(), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=2))
@settings(max_examples=100)
def test_a_floor_is_below_every_value_on_its_piece(compiled, case, ends):
    family, wa, wb, x, y, e = case
    first, last = sorted(ends)
    floor = compiled["margin_floor"](family, wa, wb, x, y, 0.0, 0.0, e, 0.0, first, last)
    with mp.workdps(60):
        low, high = max(mpf(y) + mpf(e), mpf(0)), min(mpf(x), 1 + mpf(e)) if family == BERNOULLI else mpf(x)
        for part in (0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0):
            share = mpf(first) + (mpf(last) - mpf(first)) * mpf(part)
            at = low + share * (high - low)
            if low < at < high and at - mpf(e) > mpf(y):
                value = mpf(wa) * divergence(family, mpf(x), at) + mpf(wb) * divergence(family, mpf(y), at - mpf(e))
                assert floor <= value


KINKS = [
    (EXPONENTIAL, 5.0, 0.03, 1.0),
    (EXPONENTIAL, 5.0, 1e-12, 2.0),
    (GEOMETRIC, 50.0, 1e-3, 7.0),
    (GEOMETRIC, 1e3, 1e-5, 500.0),
]


def at_kink(kernel, family, x, y, e):
    """The loser's effort at which the two minima are equal, the winner's being 1, and the shares of the bends."""
    first, second = kernel["margin_bends"](family, x, y, 0.0, 0.0, e, 0.0)
    low, high = -40.0, 40.0
    while nextafter(low, inf) < high and low < 0.5 * (low + high) < high:
        middle = 0.5 * (low + high)
        numbers = (family, 1.0, exp(middle), x, y, 0.0, 0.0, e, 0.0)
        before = kernel["margin_term"](*numbers, 0.0, first)[0]
        low, high = (low, middle) if before < kernel["margin_term"](*numbers, second, 1.0)[0] else (middle, high)
    return exp(low), first, second


@pytest.mark.parametrize("kink", KINKS, ids=str)
@pytest.mark.parametrize("nearby", [0.0, 1e-9, -1e-9, 1e-3, -1e-3, 0.3, -0.3])
def test_the_smaller_of_two_minima_is_proven(kink, nearby, compiled):
    family, x, y, e = kink
    effort = at_kink(compiled, *kink)[0] * exp(nearby)
    check(compiled, (family, 1.0, effort, x, y, e), nearby != 0.0)


@pytest.mark.parametrize("kink", KINKS, ids=str)
def test_between_two_minima_there_is_a_maximum(kink, compiled):
    family, x, y, e = kink
    effort, first, second = at_kink(compiled, *kink)
    numbers = (family, 1.0, effort, x, y, 0.0, 0.0, e, 0.0)
    split = compiled["margin_split"](*numbers, first, second)
    assert 0.0 < first < split < second < 1.0
    ends = [compiled["margin_term"](*numbers, split + by, split + by)[0] for by in (-1e-3 * split, 0.0, 1e-3 * split)]
    assert ends[1] > max(ends[0], ends[2])
    left, right = compiled["margin_term"](*numbers, 0.0, first), compiled["margin_term"](*numbers, second, 1.0)
    assert left[0] == pytest.approx(right[0], rel=1e-13)
    assert ends[1] > left[0]
    assert isnan(compiled["margin_split"](family, 1.0, effort * 1e6, *numbers[3:], first, second))


@pytest.mark.parametrize("family", [EXPONENTIAL, GEOMETRIC])
def test_minima_that_all_but_coincide_are_bounded_still(family, compiled):
    """R is flat in its second derivative, too: F is its least value to twelve digits over a thousandth of the range."""
    x, e, low, high = 50.0, 7.0, 1e-9, 7.0
    while low < (low * high) ** 0.5 < high:
        middle = (low * high) ** 0.5
        bent = compiled["margin_bends"](family, x, middle, 0.0, 0.0, e, 0.0) != (1.0, 1.0)
        low, high = (middle, high) if bent else (low, middle)
    share = compiled["margin_bends"](family, x, low, 0.0, 0.0, e, 0.0)[0]
    frame = INTERPRETED["margin_frame"](family, x, low, 0.0, 0.0, e, 0.0)
    effort = 1.0 / INTERPRETED["pull"](family, 1.0, low, frame, share / (1.0 - share))
    for y in (low, high):
        with mp.workdps(60):
            value = least(family, 1.0, effort, x, y, e)[0]
            floor = compiled["margin_floor"](family, 1.0, effort, x, y, 0.0, 0.0, e, 0.0, 0.0, 1.0)
            assert 0 < 1 - floor / value < 1e-10


@pytest.mark.parametrize(
    ("x", "y", "e", "ratio", "side"),
    [
        ("0.3", "0.2", "0.1", "1", HIDDEN),
        ("0.3", "0.2", "0.0999999999999999999999999999999999", "1", HIDDEN),
        ("0.3000000000000001", "0.2", "0.1", "1", HOLDS),
        ("0.2999999999999999", "0.2", "0.1", "1", FAILS),
        ("0.33", "0.3", "0", "1.1", HIDDEN),
        ("0.3300000000000002", "0.3", "0", "1.1", HOLDS),
        ("0.23", "0.3", "-0.1", "1.1", HIDDEN),
        ("0.5", "0.5", "0", "1", TIE),
        ("0.6", "0.5", "0", "1", HOLDS),
    ],
)
def test_decimals_are_taken_for_what_they_are(x, y, e, ratio, side, compiled):
    (x, rest_x), (y, rest_y), (e, rest_e), (ratio, rest_r) = map(as_double, (x, y, e, ratio))
    arguments = (x, y, rest_x, rest_y, e, rest_e, ratio, rest_r)
    assert compiled["statement_side"](*arguments) == side
    assert INTERPRETED["statement_side"](*arguments) == side


DECIMALS = st.decimals(-5, 5, places=18).map(str)


@given(DECIMALS, DECIMALS, DECIMALS, st.decimals("0.01", 100, places=17).map(str))
def test_sums_with_rests_are_within_their_allowance(x, y, e, ratio):
    gap = Fraction(x) - Fraction(ratio) * Fraction(y) - Fraction(e)
    (xd, rest_x), (yd, rest_y), (ed, rest_e), (rd, rest_r) = map(as_double, (x, y, e, ratio))
    found, blur = margin_term.statement_gap(xd, yd, rest_x, rest_y, ed, rest_e, rd, rest_r)
    if abs(found) > blur:
        assert abs(Fraction(found) - gap) <= 8 * Fraction(UNIT) * abs(gap)
    seen, rest = margin_term.seen_loser(yd, rest_y, ed, rest_e, rd, rest_r)
    exact = Fraction(ratio) * Fraction(y) + Fraction(e)
    size = abs(Fraction(ratio) * Fraction(y)) + abs(Fraction(e))
    assert abs(Fraction(seen) + Fraction(rest) - exact) <= 8 * Fraction(UNIT) ** 2 * size
    back, rest = margin_term.seen_winner(xd, rest_x, ed, rest_e, rd, rest_r)
    exact = (Fraction(x) - Fraction(e)) / Fraction(ratio)
    size = (abs(Fraction(x)) + abs(Fraction(e))) / Fraction(ratio)
    assert abs(Fraction(back) + Fraction(rest) - exact) <= 8 * Fraction(UNIT) ** 2 * size


@pytest.mark.parametrize("family", [GAUSSIAN, *WITH_MARGINS])
def test_a_plain_pair_is_the_term_of_today(family, compiled):
    for wa, wb in ((1.0, 2.0), (1e-20, 3.0)):
        today = term.pair_term(family, wa, wb, 0.7, 0.3, 1e-17, -2e-17, False, False)
        numbers = (wa, wb, 0.7, 0.3, 1e-17, -2e-17, 0.0, 0.0, 1.0, 0.0)
        assert compiled["statement_term"](family, 0.0, inf, *numbers, False, False)[:4] == (True, *today[:3])


@pytest.mark.parametrize(
    ("family", "x", "y", "e", "ratio"),
    [
        (GAUSSIAN, "0.3", "-0.5", "0.2", "1"),
        (GAUSSIAN, "0.3", "0.5", "-0.7", "1"),
        (EXPONENTIAL, "2", "1.2", "0", "1.5"),
        (POISSON, "2", "1.2", "0", "1.5"),
        (POISSON, "0.4", "1.2", "0", "0.3"),
    ],
)
def test_shifts_and_ratios_are_pairs_at_other_means(family, x, y, e, ratio, compiled):
    wa, wb = 0.7, 2.3
    _, f, da, db, curve = term_of(compiled, family, wa, wb, x, y, e, ratio)
    with mp.workdps(40):
        mx, my, me, mr = (mpf(Fraction(v).numerator) / Fraction(v).denominator for v in (x, y, e, ratio))

        def value(at):
            return wa * divergence(family, mx, mr * at + me) + wb * divergence(family, my, at)

        low, high = my, (mx - me) / mr
        for _ in range(200):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, right) if value(left) < value(right) else (left, high)
        assert f == pytest.approx(float(value(low)), rel=1e-14)
        assert da == pytest.approx(float(divergence(family, mx, mr * low + me)), rel=1e-12)
        assert db == pytest.approx(float(divergence(family, my, low)), rel=1e-12)
    logs = [log(term_of(compiled, family, wa * exp(by), wb, x, y, e, ratio)[1]) for by in (-1e-3, 0.0, 1e-3)]
    assert curve == pytest.approx(-(logs[0] - 2 * logs[1] + logs[2]) / 1e-6, rel=1e-3)


@pytest.mark.parametrize("family", [GAUSSIAN, *WITH_MARGINS])
def test_one_free_side_is_a_level(family, compiled):
    """0.7 > 0.3 + 0.1 with one of them known, and 0.7 > 0.4, 0.3 < 0.6, the other side being 0."""
    with mp.workdps(40):
        above, below = (float(divergence(family, mpf(x) / 10, mpf(y) / 10)) for x, y in ((7, 4), (3, 6)))
    for arguments, free, rates in (
        (("0.7", "0.3", "0.1"), (False, True), (above, 0.0)),
        (("0.7", "0.3", "0.1"), (True, False), (0.0, below)),
        (("0.7", "0", "0.4"), (False, True), (above, 0.0)),
        (("0", "0.3", "-0.6"), (True, False), (0.0, below)),
        (("0.7", "0.2", "0", "2"), (False, True), (above, 0.0)),
        (("1.2", "0.3", "0", "2"), (True, False), (0.0, below)),
    ):
        present, f, da, db, curve = term_of(compiled, family, 3.0, 5.0, *arguments, free=free)
        assert present
        assert (da, db) == pytest.approx(rates, rel=1e-14)
        assert f == pytest.approx(3.0 * rates[0] + 5.0 * rates[1], rel=1e-14)
        assert curve == 0.0


PLACES = st.integers(1, 17)


@given(
    st.sampled_from(sorted(FAMILY_CODES, key=str)),
    st.lists(st.floats(0.01, 0.99), min_size=3, max_size=3),
    PLACES,
    PLACES,
)
def test_rates_of_levels_are_within_their_allowance(family, numbers, digits, ratio_digits):
    code = FAMILY_CODES[family]
    x, y, ratio = (f"{number:.{digits}f}" for number in numbers)
    ratio = "1" if ratio_digits == digits else f"{numbers[2]:.{ratio_digits}f}"
    e = str(Decimal(x) - Decimal("0.00173"))
    assume(0 < Fraction(x) < 1 and 0 < Fraction(y) < 1 and Fraction(ratio) > 0)
    for arguments, point in (((x, "0", e), Fraction(e)), (("0", y, f"-{x}"), Fraction(x)), ((x, y, "0", ratio), None)):
        decimals = [Fraction(number) for number in (*arguments, "1")[:4]]
        if point is None:
            point = decimals[1] * decimals[3]
        mean, free = (decimals[1], (True, False)) if arguments[0] == "0" else (decimals[0], (False, True))
        (a, rest_a), (b, rest_b), (m, rest_m), (r, rest_r) = map(as_double, decimals)
        if margin_term.statement_side(a, b, rest_a, rest_b, m, rest_m, r, rest_r) != HOLDS or not 0 < point < 1:
            continue
        rate = sum(term_of(INTERPRETED, code, 1.0, 1.0, *arguments, free=free)[2:4])
        with mp.workdps(60):
            truth = divergence(code, *(mpf(number.numerator) / number.denominator for number in (mean, point)))
            allowed = family.divergence_error + margin_floor.statement_error(m, rest_m, r, rest_r)
            assert abs(rate / truth - 1) <= allowed * UNIT


@pytest.mark.parametrize(
    ("family", "x", "y", "e", "free"),
    [
        (BERNOULLI, "0.7", "0.3", "-0.4", (False, True)),  # would have to be below -0.1
        (BERNOULLI, "0.7", "0.3", "-0.3", (False, True)),  # to be 0
        (BERNOULLI, "0.7", "0.3", "-0.4", (True, False)),  # would have to be above 1.1
        (BERNOULLI, "0.7", "0.3", "-0.3", (True, False)),  # to be 1
        (POISSON, "0.7", "0.3", "-0.4", (False, True)),
        (EXPONENTIAL, "0.7", "0", "-1", (False, True)),
        (GAUSSIAN, "0.7", "0", "-1", (True, True)),
        (BERNOULLI, "0.7", "0.3", "-1", (False, False)),
    ],
)
def test_no_term_where_no_means_contradict(family, x, y, e, free, compiled):
    assert term_of(compiled, family, 1.0, 1.0, x, y, e, free=free) == (False, inf, 0.0, 0.0, 0.0)


def test_one_pair_of_means_alone_contradicts(compiled):
    """Poisson 0 > 0.3 - 0.4, and Bernoulli 0.3 > 1 - 0.9."""
    found = term_of(compiled, POISSON, 2.0, 3.0, "0", "0.3", "-0.4")
    rate = 0.3 * log(0.3 / 0.4) + 0.1
    assert found == (True, pytest.approx(3 * rate), 0.0, pytest.approx(rate), 0.0)
    present, f, da, db, _ = term_of(compiled, BERNOULLI, 2.0, 3.0, "0.3", "1", "-0.9")
    rate = 0.3 * log(3) + 0.7 * log(0.7 / 0.9)
    assert (present, f, da, db) == (True, pytest.approx(2 * rate), pytest.approx(rate), 0.0)


@pytest.mark.parametrize("numbers", [(5e-324, 0.0, -0.1), (0.3, 1e-310, 0.1), (1e200, 1.0, 2.0), (0.3, 0.2, 0.2)])
def test_nothing_is_proven_at_the_ends_of_double_precision_or_of_what_does_not_hold(numbers, compiled):
    x, y, e = numbers
    for family in WITH_MARGINS:
        assert compiled["margin_floor"](family, 1.0, 1.0, x, y, 0.0, 0.0, e, 0.0, 0.0, 1.0) == 0.0
        assert INTERPRETED["margin_floor"](family, 1.0, 1.0, x, y, 0.0, 0.0, e, 0.0, 0.0, 1.0) == 0.0


@given(margins())
@settings(max_examples=100)
def test_floors_of_decimals_are_close_to_those_of_doubles(compiled, case):
    """A tenth is no double: what rounding took away of it is no reason to prove less, unless efforts are far apart."""
    family, wa, wb, *decimals = case
    (x, rest_x), (y, rest_y), (e, rest_e) = (as_double(f"{number:.7g}") for number in decimals)
    assume(x - y - e > 1e-6 * max(x, y, abs(e)) and e > -1.0)
    floor = compiled["margin_floor"](family, wa, wb, x, y, rest_x, rest_y, e, rest_e, 0.0, 1.0)
    f = term_of(compiled, family, wa, wb, *(f"{number:.7g}" for number in decimals))[1]
    assert 1 - 1e-13 < floor / f <= 1.0 or wa / wb > 1e20 or wa / wb < 1e-20


@given(margins(), st.integers(2, 17))
@settings(max_examples=200)
def test_rates_are_within_their_allowance_at_a_point_that_contradicts(compiled, case, digits):
    """The smaller share of the point is a double, which defines it: both rates are those of one point."""
    family, wa, wb, *numbers = case
    exact = [Fraction(f"{number:.{digits}g}") for number in numbers]
    x, y, e = exact
    assume(x > 0 and (family != BERNOULLI or (y < 1 and e > -1)))
    (xd, rest_x), (yd, rest_y), (ed, rest_e) = map(as_double, exact)
    decimals = (xd, yd, rest_x, rest_y, ed, rest_e)
    assume(margin_term.statement_side(*decimals, 1.0, 0.0) == HOLDS)
    *_, odds = found = compiled["margin_term"](family, wa, wb, *decimals, 0.0, 1.0)
    assume(compiled["is_resolved"](family, *decimals, odds))
    share, other = map(Fraction, margin_term.shares_of(odds))
    low, high = max(y + e, Fraction(0)), min(x, 1 + e) if family == BERNOULLI else x
    point = low + share * (high - low) if share <= other else high - other * (high - low)
    with mp.workdps(DIGITS):
        for mean, at, rate in ((x, point, found[1]), (y, point - e, found[2])):
            truth = divergence(family, *(mpf(number.numerator) / number.denominator for number in (mean, at)))
            if rate >= 1e-290:
                assert abs(rate / truth - 1) <= margin_floor.margin_error(family) * UNIT


def test_what_is_not_covered_is_no_number(compiled):
    assert isnan(term_of(compiled, BERNOULLI, 1.0, 1.0, "0.7", "0.3", "0", "1.5")[1])
    assert isnan(term_of(compiled, POISSON, 1.0, 1.0, "0.7", "0.3", "0.1", "1.5")[1])


def two_arms(kernel, family, x, y, e, costs):
    """T* of one statement, and the effort, by golden section in the log of the ratio of efforts."""

    def cost(log_effort):
        return (costs[0] + costs[1] * exp(log_effort)) / term_of(kernel, family, 1.0, exp(log_effort), x, y, e)[1]

    low, high, golden = -100.0, 100.0, 0.5 * (5**0.5 - 1)
    for _ in range(120):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if cost(left) < cost(right) else (left, high)
    return cost(low), exp(low)


def test_references_of_two_arms(compiled):
    assert two_arms(compiled, BERNOULLI, "0.80", "0.86", "-0.1", (0.006, 0.03))[0] == pytest.approx(
        9.7500401845439, rel=1e-13
    )
    x, y, e, costs = "5", "0.03", "1", (3.455, 1.0)
    value, effort = two_arms(compiled, EXPONENTIAL, x, y, e, costs)
    assert value == pytest.approx(1.8226, abs=5e-5)
    first, second = compiled["margin_bends"](EXPONENTIAL, 5.0, 0.03, 0.0, 0.0, 1.0, 0.0)
    rates = [
        compiled["margin_term"](EXPONENTIAL, 1.0, effort, 5.0, 0.03, 0.0, 0.0, 1.0, 0.0, *piece)[1:3]
        for piece in ((0.0, first), (second, 1.0))
    ]
    lower = {
        part: 1.0
        / max(part * near / cost + (1 - part) * far / cost for near, far, cost in zip(*rates, costs, strict=True))
        for part in np.linspace(0.0, 1.0, 1001)
    }
    assert max(lower.values()) == pytest.approx(value, rel=1e-3)  # two points meet the upper bound; one does not:
    assert max(lower[0.0], lower[1.0]) < 0.96 * value
