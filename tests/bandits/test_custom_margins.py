"""Answers of one's own with margins and levels: how they are written, whether they overlap, and which one is right."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from caet_opt import Custom, InputError, Statement, parse_family
from caet_opt.bandits.tasks.constraints import can_hold
from caet_opt.bandits.tasks.items import read_item, write_item
from caet_opt.bandits.tasks.statements import above, below, judge

#: A region of practical equivalence: better, worse, or neither.
EQUIVALENCE = [["0 > 1 + 0.1"], ["1 > 0 + 0.1"], ["0 > 1 - 0.1", "1 > 0 - 0.1"]]

#: The better of two arms that are both above a level; else which are.
LEVELS = [
    *(["0 > 0.5", "1 > 0.5", (0, 1)], ["0 > 0.5", "1 > 0.5", (1, 0)]),
    *(["0 > 0.5", "1 < 0.5"], ["0 < 0.5", "1 > 0.5"], ["0 < 0.5", "1 < 0.5"]),
]


@st.composite
def statements(draw, arms=4):
    """About some arms and zero, with margins of halves."""
    a, b = draw(st.permutations([*range(arms), None]))[:2]
    return Statement(a, b, Fraction(draw(st.integers(-4, 4)), 2))


def widest(listed, arms=4):
    """The largest t, up to 1, for which some means exceed all statements by t: a linear program."""
    rows = np.zeros((len(listed), arms + 1))
    for row, (winner, loser, _, _) in zip(rows, listed, strict=True):
        for arm, sign in ((winner, -1), (loser, 1)):
            if arm is not None:
                row[arm] = sign
    rows[:, arms] = 1
    bounds = [(None, None)] * arms + [(-100, 1)]
    margins = [-float(statement.margin) for statement in listed]
    return -linprog([0] * arms + [-1], rows, margins, bounds=bounds).fun


@given(st.lists(statements(), min_size=1, max_size=7))
def test_what_can_hold_is_what_some_means_satisfy(listed):
    assert can_hold(listed) == (widest(listed) > 1e-6)


@given(st.lists(statements(), min_size=1, max_size=5), st.lists(st.integers(-30, 30), min_size=4, max_size=4))
def test_what_holds_for_some_means_can_hold(listed, quarters):
    means = [Fraction(value, 4) for value in quarters]
    if all(judge(statement, means) > 0 for statement in listed):
        assert can_hold(listed)
    turned = [statement if judge(statement, means) > 0 else statement.reverse for statement in listed]
    if all(judge(statement, means) for statement in listed):
        assert can_hold(turned)


@given(
    st.lists(st.lists(statements(3), min_size=1, max_size=3), min_size=2, max_size=3),
    st.lists(st.lists(st.integers(-20, 20), min_size=3, max_size=3), min_size=20, max_size=20),
)
def test_answers_that_are_taken_do_not_overlap(answers, sampled):
    """Answers that are refused are found to contradict themselves or to overlap by a linear program."""
    answers = [list(dict.fromkeys(answer)) for answer in answers]
    try:
        task = Custom([[write_item(statement) for statement in answer] for answer in answers])
    except InputError:
        pairs = [answers[i] + answers[j] for i in range(len(answers)) for j in range(i)]
        plain = all(statement.is_plain for answer in answers for statement in answer)  # every order has to be covered
        apart = all(widest(both, 3) <= 1e-6 for both in pairs)
        assert plain or not apart or any(widest(answer, 3) <= 1e-6 for answer in answers)
        return
    for eighths in sampled:
        means = [Fraction(value, 8) for value in eighths]
        right = [index for index, answer in enumerate(task.stated) if all(judge(one, means) > 0 for one in answer)]
        assert len(right) <= 1
        if right:
            assert task.answer(means) == task.answer([float(mean) for mean in means]) == right[0]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("0 > 1", Statement(0, 1)),
        ("0>1+0.02", Statement(0, 1, Fraction("0.02"))),
        (" 0 < 1 - 1e-3 ", Statement(1, 0, Fraction("0.001"))),
        ("2 > 0.8", above(2, Fraction("0.8"))),
        ("2 < 0.8", below(2, Fraction("0.8"))),
        ("2 < -0.8", below(2, Fraction("-0.8"))),
        ("2 > 1.0", above(2, Fraction(1))),
        ("2 > 1", Statement(2, 1)),
        ("new > old + 0.5", Statement(0, 1, Fraction("0.5"))),
        ("'new' > a>b", Statement(0, 2)),
        ("a>b > 0.5", above(2, Fraction("0.5"))),
        ("gpt-4 < old - 4", Statement(1, 3, Fraction(4))),
        ("old < gpt-4", Statement(3, 1)),
    ],
)
def test_texts_are_read(text, statement):
    names = ["new", "old", "a>b", "gpt-4"]
    assert read_item(text, names) == statement
    assert read_item(write_item(statement)) == statement


@given(statements(), st.sampled_from([Fraction(0), Fraction("1e-30"), Fraction(10**17), Fraction(10**30)]))
def test_a_statement_is_read_back_from_its_text(statement, more):
    statement = statement._replace(margin=statement.margin + more)
    assert read_item(write_item(statement)) == statement


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([["0 > 1 + 0.1"], ["1 > 0 - 0.2"]], "answers 0 and 1 can be right for the same means"),
        ([["0 > 0.5"], ["0 < 0.6"]], "answers 0 and 1 can be right for the same means"),
        ([["0 > 0.5"], ["1 < 0.5"]], "answers 0 and 1 can be right for the same means"),
        ([["0 > 1 + 0.1", "1 > 0 - 0.1"], ["1 > 0"]], "answer 0 of the custom task contradicts itself: no means"),
        ([["0 > 0.5", "1 < 0.4", "1 > 0"], ["1 > 0.5"]], "contradicts itself"),
        ([["0 > 1 + 0.1"], []], "answer 1 of the custom task lists no pair"),
        ([["0 = 1"]], "a statement is written as"),
        ([["0 > 1 * 1.1"]], "a statement is written as"),
        ([["0 > 0"]], "a statement is written as"),
        ([["0.5 < 1"]], "a statement is written as"),
        ([["new > 0.5"]], "a statement is written as"),
        ([["0 > 1e999"]], "the level must be a finite number"),
        ([[""]], "a statement is written as"),
        ([[0.5]], "a pair is two different arms"),
    ],
)
def test_answers_that_make_no_sense(answers, words):
    with pytest.raises(InputError) as refusal:
        Custom(answers)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_two_readings_of_a_text_are_shown():
    with pytest.raises(InputError, match=r"""'"a" > "b>c"' and as '"a>b" > "c"'; write names in quotes"""):
        read_item("a>b>c", ["a", "b>c", "a>b", "c"])
    with pytest.raises(InputError, match="arms: new, old"):
        read_item("nwe > old", ["new", "old"])


def test_practical_equivalence():
    task = Custom(EQUIVALENCE)
    assert [task.answer(means) for means in ([0.3, 0.1], [0.1, 0.3], [0.25, 0.2], [0.3, 0.2])] == [0, 1, 2, 0]
    assert [str(statement) for statement in task.statements([0.25, 0.2])] == ["0 > 1 - 0.1", "1 > 0 - 0.1"]
    assert (task.statements_at_risk(2), task.count_statements(2)) == (2, 2)
    assert Custom([task.answers[0], *task.answers[1:]]) == task


def test_levels():
    task = Custom(LEVELS)
    assert [task.answer(means) for means in ([0.7, 0.6], [0.6, 0.7], [0.7, 0.4], [0.4, 0.7], [0.2, 0.1])] == [
        0,
        1,
        2,
        3,
        4,
    ]
    assert task.statements_at_risk(2) == 3
    task.check_family(parse_family("bernoulli"))
    with pytest.raises(InputError, match=r"level 0\.5 must be between"):
        Custom(LEVELS).check_family(type("Far", (type(parse_family("bernoulli")),), {"mean_space": space(2.0, 3.0)})())


def space(low, high):
    return parse_family("bernoulli").mean_space._replace(low=low, high=high)


def test_means_that_no_answer_covers_are_said():
    task = Custom([["0 > 1 + 0.1"], ["1 > 0 + 0.1"]])
    with pytest.raises(InputError, match=r"no answer covers the means 0\.5, 0\.45"):
        task.answer([0.5, 0.45])
