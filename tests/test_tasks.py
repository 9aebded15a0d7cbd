"""Answers, pairs and supports of every task, and the check of custom tasks against Definition 1."""

from itertools import permutations

import pytest

from caet_opt import Custom, InputError, parse_task

MEANS = (0.2, 0.9, 0.5, 0.7)


@pytest.mark.parametrize(
    ("text", "answer", "pairs", "support"),
    [
        ("best-arm", 1, {(1, 0), (1, 2), (1, 3)}, (0, 1, 2, 3)),
        ("ranking", (1, 3, 2, 0), {(1, 3), (3, 2), (2, 0)}, (0, 1, 2, 3)),
        ("top-arms:2", (1, 3), {(1, 0), (1, 2), (3, 0), (3, 2)}, (0, 1, 2, 3)),
        ("groups:0,2", (2,), {(2, 0)}, (0, 2)),
        ("groups:0,2/3,1", (2, 1), {(2, 0), (1, 3)}, (0, 1, 2, 3)),
        ("control:2", (1, 3), {(2, 0), (1, 2), (3, 2)}, (0, 1, 2, 3)),
        ("comparisons:0-1,2-0", ((1, 0), (2, 0)), {(1, 0), (2, 0)}, (0, 1, 2)),
    ],
)
def test_answer_pairs_and_support(text, answer, pairs, support):
    task = parse_task(text)
    task.check(len(MEANS))
    assert task.answer(MEANS) == answer
    assert set(task.pairs(MEANS)) == pairs
    assert len(task.pairs(MEANS)) == len(pairs)
    assert task.support(MEANS) == support
    assert parse_task(str(task)) == task


@pytest.mark.parametrize(
    "text", ["best-arm", "ranking", "top-arms:2", "groups:0,2/3,1", "control:2", "comparisons:0-1,2-0"]
)
def test_shipped_tasks_satisfy_definition_1(text):
    """The answers met over all orders, given as a custom task, pass the same check as a user's."""
    task = parse_task(text)
    answers = {task.pairs([-order.index(arm) for arm in range(4)]) for order in permutations(range(4))}
    custom = Custom(sorted(answers))
    assert custom.answer_pairs(custom.answer(MEANS), 4) == task.pairs(MEANS)


def test_custom_task_names_an_order_that_no_answer_covers():
    with pytest.raises(InputError, match=r"no answer covers the order 1 > 0 > 2"):
        Custom([[(0, 1)], [(1, 0), (2, 0)]])


def test_custom_task_names_an_order_that_two_answers_cover():
    with pytest.raises(InputError, match=r"the order 0 > 1 > 2 is covered by answers 0 and 1"):
        Custom([[(0, 1)], [(1, 2)]])


def test_overlap_is_found_beyond_enumeration():
    chain = [(arm, arm + 1) for arm in range(11)]
    with pytest.raises(InputError, match="covered by answers 0 and 1"):
        Custom([chain, chain[:5]])


def test_uncovered_means_are_an_error_beyond_enumeration():
    chain = [(arm, arm + 1) for arm in range(11)]
    task = Custom([chain, [(b, a) for a, b in chain]])
    assert task.answer([-float(arm) for arm in range(12)]) == 0
    with pytest.raises(InputError, match="no answer covers"):
        task.answer([1.0, 2.0, 0.0, *range(-9, 0)])


@pytest.mark.parametrize("answers", [[], [[(0, 0)]], [[(0, 1), (1, 0)]], [[(0, 1)], []], [[(0, -1)]], [["01"]]])
def test_malformed_answers(answers):
    with pytest.raises(InputError):
        Custom(answers)


def test_ties_are_broken_by_the_lower_number():
    assert parse_task("best-arm").answer([0.5, 0.5, 0.1]) == 0
    assert parse_task("ranking").answer([0.1, 0.5, 0.5]) == (1, 2, 0)
    assert parse_task("comparisons:1-0").answer([0.5, 0.5]) == ((1, 0),)
