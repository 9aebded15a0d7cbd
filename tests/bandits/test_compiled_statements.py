"""The statements that compiled code writes are those of the task, whatever was there before."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caet_opt import BanditModel, Custom, parse_task
from caet_opt.bandits.tasks import pairs, pose_task
from caet_opt.bandits.tasks.pairs import MARGIN, MARGIN_ROWS, MIRRORED, RATIO
from caet_opt.bandits.tasks.statements import encode, judge
from caet_opt.kernels.compile import compile_functions, list_functions

ARMS = 4
TEXTS = [
    *("best-arm", "ranking", "top-arms:2", "groups:3,0/2,1", "control:2", "comparisons:2-0,3-1,0-1"),
    *("above:0.5", "above:-0.2", "control:1+0.1", "control:3-0.2", "control:0*1.5", "control:2*0.5"),
    *("comparisons:0-1+0.1,1-0+0.1,2-3,3-0*2", "cheapest:above:0.5", "cheapest:control:1", "cheapest:control:0+0.1"),
    *("cheapest:control:1-0.2", "cheapest:control:0*0.5", "cheapest:control:2*2"),
    *("best-arm~0.1", "ranking~0.2", "top-arms:2~0.1", "groups:3,0/2,1~0.3"),
    *("comparisons:2-0,3-1,0-1~0.1", "comparisons:0-1+0.1,2-3-0.1~0.2"),
]
COSTS = [2, 3, 1, 1]

#: Tenths, so that differences of doubles often are a margin up to rounding.
MEANS = st.lists(st.integers(-3, 12).map(lambda tenths: tenths / 10), min_size=ARMS, max_size=ARMS).map(np.array)


def each_task(test):
    return pytest.mark.parametrize("lower", [False, True])(pytest.mark.parametrize("text", TEXTS)(test))


@cache
def compiled():
    return compile_functions(list_functions(pairs))


def posed(text, lower):
    task = parse_task(text, lower_is_better=lower).for_costs(COSTS)
    task.check(ARMS)
    return task


def columns(task, means, more=0):
    return encode(task.statements(means.tolist()), task.count_statements(ARMS) + more * task.needs_costs)


@each_task
@settings(max_examples=40)
@given(sequence=st.lists(MEANS, min_size=2, max_size=5), more=st.integers(0, 2))
def test_statements_are_those_of_the_task(text, lower, sequence, more):
    """Means one after the other, each from the statements of those before; interpreted and compiled, bit for bit."""
    task = posed(text, lower)
    form = task.compiled_form(ARMS)
    plain = columns(task, sequence[0], more)
    native = tuple(array.copy() for array in plain)
    for means in sequence:
        pairs.write_statements(*form, means, *plain)
        compiled()["write_statements"](*form, means, *native)
        for found, same, expected in zip(plain, native, columns(task, means, more), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.tobytes() == same.tobytes()


@each_task
@settings(max_examples=40)
@given(means=MEANS, arm=st.integers(0, ARMS - 1), value=st.integers(-3, 12))
def test_an_answer_whose_statements_hold_stays(text, lower, means, arm, value):
    """After a change of one mean: if its statements hold, and the others did, the answer is the one before, or one of
    several that are right."""
    task = posed(text, lower)
    before, strict = columns(task, means), holds(task.statements(means.tolist()), means)
    assert pairs.statements_hold(means, *before, -1, 0.0) == strict
    asserted = task.statements(means.tolist())
    means[arm] = value / 10
    now = pairs.statements_hold(means, *before, arm, 0.0)
    assert now == compiled()["statements_hold"](means, *before, arm, 0.0)
    assert now == holds([statement for statement in asserted if arm in statement.arms], means)
    if strict and now:
        right = [task.answer_statements(answer, ARMS) for answer in task.right_answers(means.tolist())]
        assert asserted in right
        assert len(right) == 1 or task.several_right


def holds(statements, means):
    return all(judge(statement, means.tolist()) > 0 for statement in statements)


@pytest.mark.parametrize("text", ["control:1*1.1", "control:1*0.7", "control:1+0.1", "above:0.3", "comparisons:0-1*3"])
@given(y=st.floats(1e-3, 1e3), steps=st.integers(-12, 12))
def test_near_a_boundary_what_holds_is_the_answer(text, y, steps):
    """However doubles at a boundary are judged, a statement that holds is one of the answer, and not its reverse."""
    task = parse_task(text)
    statement = next(one for one in task.statements([1.0, 1.0]) if 0 in one.arms)
    statement = statement if statement.winner == 0 else statement.reverse
    boundary = (
        float(statement.ratio * Fraction(y) + statement.margin) if statement.loser == 1 else float(statement.margin)
    )
    means = np.array([boundary * (1 + steps * 2.0**-53), y])
    for one in (statement, statement.reverse):
        if pairs.statements_hold(means, *encode([one]), -1, 0.0):
            assert one in task.statements(means.tolist())
            assert not pairs.statements_hold(means, *encode([one.reverse]), -1, 0.0)
            exactly = judge(one, [Fraction(mean) for mean in means.tolist()])
            assert exactly == 1
    if abs(steps) <= 1:
        assert not pairs.statements_hold(means, *encode([statement]), -1, 0.0)


@pytest.mark.parametrize("text", TEXTS[:6])
def test_tasks_without_margins_have_the_shapes_and_pairs_that_they_had(text):
    task = parse_task(text)
    form = task.compiled_form(ARMS)
    shape, members = task.compiled_shape(ARMS)
    assert (form.shape, form.numbers.size) == (shape, 0)
    assert form.members is not None
    np.testing.assert_array_equal(form.members, members)
    means = np.array([0.3, 0.1, 0.4, 0.1])
    written, margins = encode(task.statements(means))
    np.testing.assert_array_equal(written.T, task.pairs(means))
    np.testing.assert_array_equal(margins[MARGIN], 0.0)
    np.testing.assert_array_equal(margins[RATIO], 1.0)
    assert pairs.statements_hold(means, written, margins, -1, 0.0) == pairs.pairs_hold(means, written, -1)
    mirrored = parse_task(text, lower_is_better=True)
    assert mirrored.compiled_form(ARMS).shape == shape + MIRRORED
    assert mirrored.compiled_shape(ARMS) is None


def test_a_custom_task_has_no_form():
    assert Custom([["0 > 1 + 0.5"], ["1 > 0 - 0.5"]]).compiled_form(2) is None


def test_only_arms_that_are_cheaper_than_one_that_qualifies_are_asked_about():
    model = BanditModel("bernoulli", [0.5, 0.6, 0.7, 0.8], costs=[4, 1, 3, 2])
    task = pose_task(model, "cheapest:control:2-0.05")
    assert [statement.arms for statement in task.statements(model.means)] == [(2, 1), (3, 2)]
    assert task.list_answers(4) == [1, 3, 2]
    assert task.compiled_form(4).numbers.shape == (2 * MARGIN_ROWS, 2)
    assert (task.count_statements(4), task.statements_at_risk(4)) == (3, 3)
