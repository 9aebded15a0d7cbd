"""The pairs that compiled code writes are those of the task, whatever was there before."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import BestArm, Custom, Ranking, parse_task
from caet_opt.bandits.tasks import Comparisons, Control, Groups, TopArms, pairs
from caet_opt.kernels.compile import compile_functions, list_functions

#: Few values, so that many means are equal; minus zero equals zero.
VALUES = (-1.0, -0.0, 0.0, 0.25, 1.0)


@cache
def compiled():
    return compile_functions(list_functions(pairs))


def columns(task, means):
    return np.ascontiguousarray(np.array(task.pairs(means), dtype=np.int64).T)


@st.composite
def tasks(draw):
    """A number of arms and a task about some of them."""
    arms = draw(st.integers(2, 9))
    order = draw(st.permutations(range(arms)))
    cut = draw(st.integers(2, arms))
    groups = [order[:cut]] if arms - cut < 2 else [order[:cut], order[cut:]]
    every = [pair if draw(st.booleans()) else pair[::-1] for pair in combinations(range(arms), 2)]
    compared = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    size, control = draw(st.integers(1, arms - 1)), draw(st.integers(0, arms - 1))
    listed = (BestArm(), Ranking(), TopArms(size), Groups(groups), Control(control), Comparisons(compared))
    return arms, draw(st.sampled_from(listed))


@given(tasks(), st.data())
def test_pairs_are_those_of_the_task(chosen, data):
    """Means one after the other, each from the pairs of those before; interpreted and compiled."""
    arms, task = chosen
    task.check(arms)
    shape, members = task.compiled_shape(arms)
    vectors = st.lists(st.sampled_from(VALUES), min_size=arms, max_size=arms).map(np.array)
    sequence = data.draw(st.lists(vectors, min_size=2, max_size=6))
    plain = columns(task, sequence[0])
    native = plain.copy()
    for means in sequence:
        pairs.write_pairs(shape, members, means, plain)
        compiled()["write_pairs"](shape, members, means, native)
        np.testing.assert_array_equal(plain, columns(task, means))
        np.testing.assert_array_equal(native, plain)


@given(tasks(), st.data())
def test_an_answer_whose_pairs_hold_stays(chosen, data):
    """After a change of one mean: if its pairs hold, and the others did, the answer is the one before."""
    arms, task = chosen
    means = np.array(data.draw(st.lists(st.sampled_from(VALUES), min_size=arms, max_size=arms)))
    before, arm = columns(task, means), data.draw(st.integers(0, arms - 1))
    strict = all(pairs.pairs_hold(means, before, other) for other in range(arms))
    assert strict == bool(np.all(means[before[0]] > means[before[1]]))
    means[arm] = data.draw(st.sampled_from(VALUES))
    holds = pairs.pairs_hold(means, before, arm)
    assert holds == compiled()["pairs_hold"](means, before, arm)
    assert holds == all(means[a] > means[b] for a, b in before.T if arm in (a, b))
    if strict and holds:
        np.testing.assert_array_equal(columns(task, means), before)


@pytest.mark.parametrize("text", ["best-arm", "ranking", "top-arms:2", "groups:3,0/2,1", "control:2"])
def test_every_step_between_means_with_ties(text):
    """All of 81 means of four arms after all of the others."""
    task, everything = parse_task(text), [np.array(means) for means in product((0.0, 1.0, 2.0), repeat=4)]
    shape, members = task.compiled_shape(4)
    expected = [columns(task, means) for means in everything]
    for before, (means, after) in product(expected, zip(everything, expected, strict=True)):
        found = before.copy()
        compiled()["write_pairs"](shape, members, means, found)
        assert found.tolist() == after.tolist()


@pytest.mark.parametrize("task", [Ranking(), BestArm(), TopArms(1), TopArms(17), TopArms(59)])
def test_many_arms(task):
    source = np.random.default_rng(5)
    shape, members = task.compiled_shape(60)
    found = columns(task, source.normal(size=60))
    for _ in range(20):
        means = source.normal(size=60).round(1)
        compiled()["write_pairs"](shape, members, means, found)
        np.testing.assert_array_equal(found, columns(task, means))


def test_a_custom_task_has_no_shape():
    assert Custom([[(0, 1)], [(1, 0)]]).compiled_shape(2) is None
