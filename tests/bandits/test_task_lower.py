"""Tasks in which the lower mean is the better one: what they assert is what the higher one would be, turned around."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import (
    BanditModel,
    BestArm,
    Custom,
    InputError,
    Ranking,
    Statement,
    characteristic_time,
    parse_task,
    proven_time,
)
from caet_opt.bandits.tasks import LowerIsBetter

PLAIN = ["best-arm", "ranking", "top-arms:2", "groups:3,0/2,1", "control:2", "comparisons:2-0,3-1"]

#: Those that need not say that lower is better.
IN_WORDS = {"best-arm": "lowest arm", "control:2": "below arm 2", "comparisons:2-0,3-1": "order of 2 pairs"}


@pytest.mark.parametrize("text", [*PLAIN, "control:1+0.5", "control:2-0.5", "comparisons:0-1+0.5"])
@given(means=st.lists(st.integers(-6, 6).map(lambda halves: halves / 2), min_size=4, max_size=4))
def test_the_opposite_means_have_the_same_answer(text, means):
    task, lower = parse_task(text), parse_task(text, lower_is_better=True)
    opposite = [-mean for mean in means]
    assert lower.answer(means) == task.answer(opposite)
    turned = [(statement.loser, statement.winner, statement.margin) for statement in task.statements(opposite)]
    assert [statement[:3] for statement in lower.statements(means)] == turned
    assert lower.support(means) == task.support(opposite)
    assert (lower.count_statements(4), lower.statements_at_risk(4)) == (
        task.count_statements(4),
        task.statements_at_risk(4),
    )
    if lower.list_answers(4) is not None:
        assert list(lower.list_answers(4)) == list(task.list_answers(4))


def test_levels_and_ratios():
    means = [2.0, 3.0, 1.5]
    above, ratio = (parse_task(text, lower_is_better=True) for text in ("above:1.8", "control:1*1.6"))
    assert above.answer(means) == (2,)
    assert [str(statement) for statement in above.statements(means)] == ["0 > 1.8", "1 > 1.8", "2 < 1.8"]
    assert ratio.answer(means) == (2,)  # 1.6 times 1.5 is less than 3, and 1.6 times 2 is not
    assert [str(statement) for statement in ratio.statements(means)] == ["1.6 * 0 > 1", "1 > 1.6 * 2"]


@pytest.mark.parametrize("text", PLAIN)
def test_it_says_so(text):
    task, lower = parse_task(text), parse_task(text, lower_is_better=True)
    assert str(lower) == f"{text} (lower is better)"
    assert parse_task(f"{text}  (lower is better) ") == lower == parse_task(str(lower), lower_is_better=True)
    assert lower != task
    assert task != lower
    assert len({lower, task, parse_task(str(lower))}) == 2
    assert lower.describe() == IN_WORDS.get(text, f"{task.describe()}, lower is better")
    assert (lower.name, lower.lower_is_better, task.lower_is_better) == (task.name, True, False)
    assert lower.pairs([3, 4, 2, 1]) == tuple(statement[:2] for statement in lower.statements([3, 4, 2, 1]))


def test_ties_are_broken_by_the_lower_number():
    assert LowerIsBetter(BestArm()).answer([0.5, 0.1, 0.1]) == 1
    assert LowerIsBetter(Ranking()).answer([0.5, 0.1, 0.1]) == (1, 2, 0)
    assert parse_task("above:0.5", lower_is_better=True).answer([0.5, 0.4]) == (1,)


def test_answers_of_ones_own_say_themselves_which_mean_is_larger():
    task = Custom([[(0, 1)], [(1, 0)]], lower_is_better=True)
    assert task.answer([1, 2]) == 0
    assert task.statements([1, 2]) == (Statement(1, 0),)
    texts = Custom([["0 > 1 + 0.5"], ["0 < 1 + 0.5"]], lower_is_better=True)
    assert texts == Custom([["0 > 1 + 0.5"], ["0 < 1 + 0.5"]])
    with pytest.raises(InputError, match="already says"):
        LowerIsBetter(task)


def test_gaps_are_distances_to_the_smallest_mean():
    model = BanditModel("exponential", [2, 3, 1.5], costs="gaps", lower_is_better=True)
    assert model.costs == (0.5, 1.5, 0.0)
    assert [float(cost) for cost in model.exact_costs] == [0.5, 1.5, 0.0]
    assert model != BanditModel("exponential", [2, 3, 1.5], costs="gaps")
    known = {"costs": [1, 1, 1]}
    assert BanditModel("gaussian", [2, 3, 1], **known, lower_is_better=True) != BanditModel(
        "gaussian", [2, 3, 1], **known
    )
    with pytest.raises(InputError, match="'lower_is_better' must be true or false, got 'yes'"):
        BanditModel("gaussian", [2, 3, 1], lower_is_better="yes")


@pytest.mark.parametrize("compute", [characteristic_time, lambda model, task: proven_time(model, task, 12)])
def test_a_task_by_its_name_is_that_of_a_model_whose_lower_mean_is_better(compute):
    lower, higher = (
        BanditModel("gaussian", means, [1, 2, 1], lower_is_better=is_lower)
        for means, is_lower in (([5, 6, 8], True), ([-5, -6, -8], False))
    )
    assert str(compute(lower, "best-arm").task) == "best-arm (lower is better)"
    assert float(compute(lower, "best-arm").value) == pytest.approx(float(compute(higher, "best-arm").value), rel=1e-11)
