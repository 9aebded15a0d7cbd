"""T* where several answers are right: the least over all of them, certified, and no bound at a given delta."""

import json
from fractions import Fraction
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caet_opt import BanditModel, InputError, characteristic_time, characteristic_times, parse_task
from caet_opt.bandits.tasks import read_custom
from caet_opt.errors import TieError
from caet_opt.proving.closed_forms import applicable
from caet_opt.solving import several
from caet_opt.solving.characteristic import solve_question
from caet_opt.solving.problem import ask_answer
from caet_opt.solving.profiles import find_profile


def dear_leader():
    means = [Fraction(text) for text in ("0.5", "0.499", "0.49", "0.49", "0.49", "0.49")]
    return BanditModel("gaussian", means, costs=[10, 1, 1, 1, 1, 1])


def five_rates():
    return BanditModel("bernoulli", [0.4, 0.5, 0.6, 0.7, 0.8], costs=[1] * 5)


@pytest.mark.parametrize("solver", ["native", "ipopt"])
def test_references(solver):
    found = characteristic_time(five_rates(), "best-arm~0.15", solver=solver)
    assert found.answer == 4
    assert found.value == pytest.approx(30.431803668985, rel=1e-9)
    table = found.answers
    assert list(table["answer"]) == [4, 3]
    assert table["T*"].tolist() == pytest.approx([30.431803668985, 593.70631786515], rel=1e-9)
    assert (table["lower"] <= table["T*"]).all()
    assert (table["T*"] <= table["upper"]).all()


def test_the_easiest_answer_need_not_be_the_leader():
    found = characteristic_time(dear_leader(), "best-arm~0.1")
    times = dict(zip(found.answers["answer"], found.answers["T*"], strict=True))
    assert found.answer == 1
    assert times == pytest.approx({1: 4366.34, 0: 5037.72, **dict.fromkeys((2, 3, 4, 5), 5325.71)}, rel=1e-6)
    assert found.statements == parse_task("best-arm~0.1").answer_statements(1, 6)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "exponential", "geometric"])
@pytest.mark.parametrize("task", ["ranking~0.1", "top-arms:2~0.1", "groups:0,1/2,3~0.1", "comparisons:0-1,1-2~0.1"])
def test_the_least_of_all_right_answers(family, task, monkeypatch):
    """With answers put out by their lower bounds, and without: the same T*, and bounds that are ones."""
    model, posed = BanditModel(family, [0.5, 0.45, 0.48, 0.2], costs=[3, 1, 2, 1]), parse_task(task)
    profile = find_profile("native")
    every = {
        answer: solve_question(ask_answer(model, posed, answer), profile)
        for answer in posed.right_answers(model.exact_means)
    }
    monkeypatch.setattr(several, "FEW", 0)
    found = characteristic_time(model, task)
    assert found.value == min(one.value for one in every.values())
    assert every[found.answer].value == found.value
    assert found.lower <= min(one.lower for one in every.values())
    assert found.upper == min(one.upper for one in every.values())
    assert len(found.times) == len(every)
    for time in found.times:
        assert time.lower <= every[time.answer].upper
        assert isnan(time.value) == (time.upper == inf)
        if time.upper == inf:
            assert time.lower > found.upper


@given(
    means=st.lists(st.integers(1, 19), min_size=2, max_size=4),
    costs=st.lists(st.integers(0, 5), min_size=4, max_size=4),
    tolerance=st.sampled_from(["0.07", "0.15", "0.3"]),
)
@settings(max_examples=25, deadline=None)
def test_no_right_answer_is_easier(means, costs, tolerance):
    """Nor is there one that the interval leaves out, whatever the tie: with a tolerance there is always an answer."""
    model = BanditModel("bernoulli", [Fraction(mean, 20) for mean in means], costs[: len(means)])
    task = parse_task(f"best-arm~{tolerance}")
    found = characteristic_time(model, task)
    for answer in task.right_answers(model.exact_means):
        alone = solve_question(ask_answer(model, task, answer), find_profile("native"))
        assert found.lower <= alone.lower
        assert found.upper <= alone.upper


def test_what_is_exactly_at_the_margin_is_not_right():
    model = BanditModel("bernoulli", [Fraction(1, 2), Fraction(45, 100), Fraction(451, 1000)], costs=[1, 1, 1])
    assert set(characteristic_time(model, "best-arm~0.05").answers["answer"]) == {0, 2}


def test_a_statement_that_holds_by_less_than_doubles_tell_puts_its_answer_out():
    near = Fraction("0.45") + Fraction(1, 10**25)
    model = BanditModel("bernoulli", [Fraction(1, 2), near], costs=[1, 1])
    found = characteristic_time(model, "best-arm~0.05")
    assert found.answer == 0
    assert found.gap < 1e-9
    assert [time.answer for time in found.times] == [0, 1]
    assert found.times[1].lower > 1e6


def test_too_many_right_answers_are_refused_in_a_line():
    model = BanditModel("gaussian", [0] * 7, costs=[1] * 7)
    with pytest.raises(InputError, match="more than 1000 right answers") as refusal:
        characteristic_time(model, "ranking~1")
    assert "\n" not in str(refusal.value)
    assert characteristic_time(model, "best-arm~1").value > 0


def test_a_task_that_has_no_right_answer_is_a_tie():
    class Nothing(type(parse_task("best-arm~1"))):
        def right_answers(self, means):
            return iter(())

    with pytest.raises(TieError, match="no answer that is right"):
        characteristic_time(five_rates(), Nothing(parse_task("best-arm"), 1 / 2))


def test_there_is_no_bound_at_a_given_delta():
    found = characteristic_time(five_rates(), "best-arm~0.15")
    with pytest.raises(InputError, match="no lower bound at a given delta"):
        found.lower_bound(0.05)
    record = json.loads(json.dumps(found.to_record()))
    assert record["lower_bound"] is None
    assert record["answer"] == "4 (within 0.15 of the best)"
    assert [one["characteristic_time"] for one in record["answers"]] == [time.value for time in found.times]
    assert "easiest right answer: 4 (within 0.15 of the best)" in str(found)


def test_a_task_with_one_right_answer_has_a_table_of_one():
    found = characteristic_time(five_rates(), "best-arm")
    assert found.answer == 4
    assert found.answers.to_dict("records") == [
        {"answer": 4, "T*": found.value, "lower": found.lower, "upper": found.upper}
    ]
    assert "answer" not in found.to_record()


def test_many_models_at_once():
    means = np.array([[0.5, 0.5, 0.1], [0.5, 0.2, 0.1]])
    many = characteristic_times("bernoulli", means, [1, 2, 1], "best-arm~0.1")
    for row, value in zip(means.tolist(), many.value, strict=True):
        assert characteristic_time(BanditModel("bernoulli", row, [1, 2, 1]), "best-arm~0.1").value == value


def test_answers_of_ones_own():
    model = BanditModel("bernoulli", [0.5, 0.5, 0.2], costs=[1, 2, 1])
    task = read_custom("custom~0.1", [[(0, 1), (0, 2)], [(1, 0), (1, 2)], [(2, 0), (2, 1)]])
    assert characteristic_time(model, task).value == characteristic_time(model, "best-arm~0.1").value
    assert applicable(model, "best-arm~0.1") == ()


def test_the_lower_mean_is_the_better_one():
    model = BanditModel("gaussian", [-0.5, -0.499, 0.2], costs=[10, 1, 1], lower_is_better=True)
    mirrored = BanditModel("gaussian", [0.5, 0.499, -0.2], costs=[10, 1, 1])
    task = parse_task("best-arm~0.1", lower_is_better=True)
    assert characteristic_time(model, task).value == pytest.approx(
        characteristic_time(mirrored, "best-arm~0.1").value, rel=1e-12
    )


def test_a_warm_start_is_of_the_same_answer():
    first = characteristic_time(dear_leader(), "best-arm~0.1")
    again = characteristic_time(dear_leader(), "best-arm~0.1", warm_start=first)
    assert again.value == pytest.approx(first.value, rel=1e-9)


@pytest.mark.parametrize("text", ["best-arm", "best-arm~0.1", "above:0.4", "cheapest:above:0.4"])
def test_a_task_as_text_takes_the_lower_mean_where_the_model_says_so(text):
    model = BanditModel("bernoulli", [0.5, 0.2, 0.3], costs=[1, 2, 3], lower_is_better=True)
    task = parse_task(text, lower_is_better=True)
    assert characteristic_time(model, text).value == characteristic_time(model, task).value
    assert characteristic_time(model, text).statements == characteristic_time(model, task).statements
