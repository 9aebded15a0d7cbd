"""Statements: judged exactly and as doubles, turned around, mirrored, and as compiled code has them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt.bandits.tasks import Statement
from caet_opt.bandits.tasks.pairs import MARGIN, MARGIN_ROWS, RATIO, RATIO_REST, REST, surplus
from caet_opt.bandits.tasks.statements import above, below, encode, judge, mirror, number_text
from caet_opt.common.exact import exact

DECIMALS = st.integers(-30, 30).map(lambda tenths: Fraction(tenths, 10))
RATIOS = st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(11, 10), Fraction(3)])


@st.composite
def statements(draw, arms=2):
    """About two arms with a margin, a ratio or neither, or about an arm and a level."""
    a, b = draw(st.permutations(range(arms)))[:2]
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(st.sampled_from([above, below]))(a, draw(DECIMALS))
    return [Statement(a, b), Statement(a, b, draw(DECIMALS)), Statement(a, b, Fraction(0), draw(RATIOS))][kind - 1]


def sign(value):
    return (value > 0) - (value < 0)


@given(statements(), st.lists(DECIMALS, min_size=2, max_size=2))
def test_exact_means_are_judged_exactly_and_decimals_as_doubles_the_same(statement, means):
    winner, loser = (0 if arm is None else means[arm] for arm in statement[:2])
    expected = sign(winner - statement.ratio * loser - statement.margin)
    assert judge(statement, means) == expected
    assert judge(statement, [float(mean) for mean in means]) == expected


@given(statements(), st.lists(DECIMALS, min_size=2, max_size=2))
def test_of_a_statement_and_its_reverse_one_holds_or_neither(statement, means):
    assert judge(statement.reverse, means) == -judge(statement, means)
    assert statement.reverse.reverse == statement


@given(statements(), st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2))
def test_doubles_that_differ_by_more_than_rounding_are_judged_exactly(statement, means):
    winner, loser = (Fraction(0) if arm is None else Fraction(means[arm]) for arm in statement[:2])
    difference = winner - statement.ratio * loser - statement.margin
    unit = (abs(winner) + abs(statement.ratio * loser) + abs(statement.margin)) * Fraction(1, 2**51)
    if statement.is_plain or abs(difference) > 2 * unit:
        assert judge(statement, means) == sign(difference)
    elif abs(difference) * 4 < unit:
        assert judge(statement, means) == 0


@pytest.mark.parametrize(
    ("means", "margin"), [((0.3, 0.2), "0.1"), ((0.8, 0.7), "0.1"), ((1.1, 2.2), "-1.1"), ((0.85, 0.83), "0.02")]
)
def test_decimals_that_meet_a_margin_are_a_tie_as_doubles_too(means, margin):
    statement = Statement(0, 1, Fraction(margin))
    assert judge(statement, means) == judge(statement.reverse, means) == 0
    assert judge(statement, [exact(mean) for mean in means]) == 0
    assert judge(statement, [means[0] + 1e-14, means[1]]) == 1
    assert judge(statement, [means[0] - 1e-14, means[1]]) == -1


def test_the_order_of_two_doubles_is_what_it_is():
    assert judge(Statement(0, 1), [np.nextafter(0.3, 1), 0.3]) == 1
    assert surplus(0.3, 0.3, 0.0, 1.0) == 0.0
    assert surplus(0.0, 0.0, 0.0, 1.5) == 0.0
    assert surplus(1e308, -1e308, 1.0, 1.0) == np.inf


@given(statements())
def test_mirrored_twice_it_is_the_same_and_the_mirror_of_the_reverse_is_the_reverse_of_the_mirror(statement):
    assert mirror(mirror(statement)) == statement
    assert mirror(statement.reverse) == mirror(statement).reverse


def test_better_where_lower_is_better():
    assert str(mirror(Statement(0, 1, Fraction("0.02")))) == "1 > 0 + 0.02"  # 0 < 1 - 0.02
    assert str(mirror(Statement(0, 1, Fraction(0), Fraction("1.1")))) == "1 > 1.1 * 0"
    assert str(mirror(above(0, Fraction(2)))) == "0 < 2.0"


@given(st.lists(statements(3), max_size=5), st.integers(0, 3))
def test_encoded_numbers_add_up_to_the_exact_ones(listed, more):
    pairs, margins = encode(listed, len(listed) + more)
    assert pairs.shape == (2, len(listed) + more)
    assert margins.shape == (MARGIN_ROWS, len(listed) + more)
    for p, statement in enumerate(listed):
        assert tuple(pairs[:, p]) == tuple(-1 if arm is None else arm for arm in statement[:2])
        for row, rest, number in ((MARGIN, REST, statement.margin), (RATIO, RATIO_REST, statement.ratio)):
            assert margins[row, p] == float(number)
            assert abs(Fraction(margins[row, p]) + Fraction(margins[rest, p]) - number) <= abs(number) / 2**100
    assert (pairs[:, len(listed) :] == -1).all()
    assert (margins[MARGIN, len(listed) :] == -1.0).all()


@given(st.decimals(allow_nan=False, allow_infinity=False, places=30, min_value=-(10**6), max_value=10**6))
def test_a_number_is_written_in_full(value):
    assert Fraction(number_text(Fraction(value))) == Fraction(value)


def test_a_ratio_is_written_as_a_decimal_on_either_side():
    assert str(Statement(0, 1, Fraction(0), Fraction(10, 11))) == "1.1 * 0 > 1"
    assert str(Statement(0, 1, Fraction(5), Fraction(10, 11))) == "1.1 * 0 > 1 + 5.5"
    assert str(Statement(0, 1, Fraction(5), Fraction(11, 10))) == "0 > 1.1 * 1 + 5"
