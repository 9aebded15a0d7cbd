"""Many problems at once: each row as the single call has it, or refused with the reason that the single call gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inverse_gaussian import InverseGaussian
from problems import FAMILIES, REFERENCES, TASKS, random_instance

from caet_opt import (
    BanditModel,
    CaetError,
    Comparisons,
    Custom,
    InputError,
    Task,
    characteristic_time,
    characteristic_times,
)
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.kernels import native
from caet_opt.solving.batch import BLOCK

TOLERANCE = 1e-9
NAMED = ["best-arm", "ranking", "top-arms:2", "groups:3,0/2,1", "control:1", "comparisons:2-0,3-1"]


def solve_row(many, row):
    """What the single call has for a row: its answer, or the error that it raises."""
    try:
        model = BanditModel(many.family, many.means[row].tolist(), many.costs[row].tolist())
        return characteristic_time(model, many.task)
    except CaetError as error:
        return error


def check_row(many, row):
    """A row is certified where the single call has an answer, to the same T*, and refused for the same reason."""
    one = solve_row(many, row)
    if isinstance(one, CaetError):
        assert many.reasons[row] == str(one)
        assert np.isnan([many.value[row], many.lower[row], many.upper[row], many.gap[row]]).all()
        assert np.isnan(many.sampling_proportions[row]).all()
        assert np.isnan(many.cost_proportions[row]).all()
        return
    assert row not in many.reasons
    assert many.lower[row] <= many.value[row] <= many.upper[row]
    assert max(many.lower[row], one.lower) <= min(many.upper[row], one.upper)
    assert many.gap[row] <= TOLERANCE
    assert many.gap[row] == ((many.upper[row] - many.lower[row]) / many.upper[row] if many.upper[row] > 0 else 0.0)
    np.testing.assert_allclose(many.sampling_proportions[row], one.sampling_proportions, atol=2e-5)
    np.testing.assert_allclose(many.cost_proportions[row], one.cost_proportions, atol=2e-5)


def check_rows(many):
    for row in range(len(many)):
        check_row(many, row)


def random_rows(family, task, arms, count=12):
    """Means and costs of instances, a quarter of the arms free; the family and the task of the last one."""
    rng = np.random.default_rng([FAMILIES.index(family), TASKS.index(task), arms])
    found = [random_instance(rng, family, task, arms) for _ in range(count)]
    means, costs = ([getattr(model, name) for model, _ in found] for name in ("means", "costs"))
    return found[-1][0].family, means, costs, found[-1][1]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_and_task_with_free_arms_as_the_single_call_has_it(family, task):
    for arms in (3, 7):
        many = characteristic_times(*random_rows(family, task, arms))
        assert not many.reasons
        check_rows(many)


@pytest.mark.parametrize(
    "task", ["best-arm", "ranking", "top-arms:2", "groups:3,0/2,1", "control:1", "comparisons:2-0"]
)
@pytest.mark.parametrize("costs", ["gaps", [1.0, 0.0, 3.0, 2.0]])
def test_costs_by_gaps_or_for_all_rows(task, costs):
    means = np.random.default_rng(3).uniform(0.1, 0.9, (30, 4))
    many = characteristic_times("bernoulli", means, costs, task)
    rows = np.max(means, axis=1, keepdims=True) - means if costs == "gaps" else np.tile(costs, (30, 1))
    assert np.array_equal(many.costs, rows)
    check_rows(many)


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: reference.name)
def test_the_reference_problems(reference):
    costs = reference.model.cost_rule or reference.model.costs
    many = characteristic_times(reference.model.family, [reference.model.means] * 2, costs, reference.task)
    assert many.value == pytest.approx([reference.characteristic_time] * 2, rel=1e-11)
    assert many.sampling_proportions[1] == pytest.approx(reference.sampling_proportions, abs=1e-8)


BAD = {
    0: [0.5, 0.5, 0.1],  # a tie that matters
    2: [0.5, np.nan, 0.1],
    3: [0.5, np.inf, 0.1],
    5: [0.5, 1.5, 0.1],
}


def test_refused_rows_keep_their_place_and_have_the_reason_of_the_single_call():
    means = np.random.default_rng(5).uniform(0.1, 0.9, (8, 3))
    costs = np.ones((8, 3))
    for row, bad in BAD.items():
        means[row] = bad
    costs[6, 1], costs[7, 1] = -1.0, np.nan
    many = characteristic_times("bernoulli", means, costs, "best-arm")
    assert list(many.reasons) == [0, 2, 3, 5, 6, 7]
    assert np.array_equal(np.isnan(many.value), np.isin(np.arange(8), list(many.reasons)))
    words = ["T* is infinite", "mean nan of arm 1", "mean inf of arm 1", "outside the bernoulli family"]
    for reason, word in zip(many.reasons.values(), [*words, "is negative", "cost nan of arm 1"], strict=True):
        assert word in reason
    check_rows(many)


def test_a_tie_that_the_task_does_not_ask_about_is_none():
    many = characteristic_times("gaussian", [[1, 2, 1], [2, 2, 1], [0, 1, 1]], [1, 1, 1], "best-arm")
    assert list(many.reasons) == [1, 2]
    assert list(characteristic_times("gaussian", [[2, 2, 1]], [1, 1, 1], "top-arms:2").reasons) == []


def test_nothing_to_pay_is_an_answer():
    many = characteristic_times("bernoulli", [[0.5, 0.3], [0.5, 0.3], [0.0, 0.3]], [[0, 0], [1, 1], [0, 1]], "best-arm")
    assert not many.reasons
    assert (many.value[0], many.gap[0], *many.sampling_proportions[0], *many.cost_proportions[0]) == (0.0,) * 6
    assert many.value[1] > 0
    check_rows(many)


def test_numbers_beyond_double_precision_are_told_of():
    many = characteristic_times("gaussian", [[1e-200, 0.0], [1e308, -1e308], [1.0, 0.0]], "gaps", "ranking")
    assert list(many.reasons) == [0, 1]
    assert "double precision" in many.reasons[0]
    assert "cost inf of arm 1" in many.reasons[1]


def test_a_gap_above_the_tolerance_is_a_refusal_with_its_gap():
    many = characteristic_times("gaussian", [[3, 4, 2], [1, 2, 3]], "gaps", "ranking", tolerance=1e-18)
    assert list(many.reasons) == [0, 1]
    assert "above the tolerance 1.0e-18" in many.reasons[1]


def test_workers_and_blocks_change_nothing():
    rng = np.random.default_rng(6)
    means = rng.normal(size=(2 * BLOCK + 5, 3))
    costs = np.where(rng.random(means.shape) < 0.2, 0.0, 1.0)
    one, two = (characteristic_times("gaussian", means, costs, "ranking", workers=workers) for workers in (1, 2))
    for name in ("value", "lower", "upper", "gap", "sampling_proportions", "cost_proportions"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)
    backwards = characteristic_times("gaussian", means[::-1], costs[::-1], "ranking")
    assert np.array_equal(backwards.value[::-1], one.value)
    assert one.reasons == two.reasons == {}


def test_more_than_one_block_takes_no_single_call(monkeypatch):
    monkeypatch.setattr("caet_opt.solving.batch.characteristic_time", None)
    means = np.random.default_rng(7).uniform(0.1, 0.9, (BLOCK + 1, 4))
    assert not characteristic_times("bernoulli", means, "gaps", "groups:0,3/1,2").reasons


def test_a_row_that_compiled_code_gives_up_is_tried_by_the_single_call(monkeypatch):
    monkeypatch.setattr("caet_opt.solving.batch.find_loop", lambda *arguments: certify_nothing)
    check_rows(characteristic_times("gaussian", [[3, 4, 2], [1, 1, 0]], "gaps", "ranking"))


def certify_nothing(*arguments):
    """A loop that certifies no row."""


def test_without_compiled_code_a_few_rows_are_interpreted(monkeypatch):
    monkeypatch.setattr(native, "_compiled", None)
    check_rows(characteristic_times("poisson", [[3, 4, 2], [1, 1, 0]], [1, 2, 0], "ranking"))
    assert native.loaded_kernel() is None


def test_a_familys_own_formulas_are_solved_row_by_row():
    check_rows(characteristic_times(InverseGaussian(), [[3, 4, 2], [1, 1, 0.5]], [1, 1, 0], "ranking"))


class Alternating(Task):
    """A task that compiled code does not know: the better of arms 0 and 1."""

    name = "alternating"

    def answer(self, means):
        if means[2] > 100:
            raise InputError("too large for this task")
        return (0, 1) if means[0] >= means[1] else (1, 0)

    def answer_statements(self, answer, arms):
        return (Statement(*answer),)

    @classmethod
    def parse(cls, argument):
        return cls()


@pytest.mark.parametrize("task", [Alternating(), Custom([[(0, 1)], [(1, 0)]])])
def test_tasks_that_only_say_their_pairs(task):
    many = characteristic_times("gaussian", [[1, 2, 3], [2, 1, 3], [2, 2, 3], [1, 2, 200]], [1, 2, 1], task)
    assert list(many.reasons) == ([2, 3] if isinstance(task, Alternating) else [2])
    check_rows(many)


def test_a_variance_belongs_to_its_arm():
    many = characteristic_times("gaussian:1,4,9", [[1, 2, 3], [3, 1, 2], [2, 3, 1]], [1, 1, 2], "ranking")
    assert len({round(value, 6) for value in many.value}) == 3
    check_rows(many)


def test_the_frame_has_a_row_per_model():
    frame = characteristic_times("gaussian", [[3, 4, 2], [1, 1, 0]], "gaps", "ranking").to_frame()
    shares = [f"{name}[{arm}]" for name in ("omega", "u") for arm in range(3)]
    assert list(frame.columns) == ["characteristic_time", "lower", "upper", "gap", *shares, "error"]
    assert frame["error"].isna().tolist() == frame["gap"].notna().tolist() == [True, False]
    assert frame.loc[0, "u[0]"] == pytest.approx(2 - 2**0.5)


def test_what_was_given_is_neither_kept_nor_written_to():
    means = np.array([[3.0, 4.0, 2.0]])
    means.flags.writeable = False
    many = characteristic_times("gaussian", means, np.array([1, 1, 2]), "ranking")
    assert many.means is not means
    check_rows(many)


GOOD = {"family": "gaussian", "means": [[3, 4, 2]], "costs": "gaps", "task": "ranking"}


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ({"family": "gausian"}, "did you mean 'gaussian'"),
        ({"family": 3}, "family must be a Family"),
        ({"family": "gaussian:1,2"}, "2 variances for 3 arms"),
        ({"task": "rank"}, "did you mean 'ranking'"),
        ({"task": 3}, "task must be a string"),
        ({"task": Comparisons([(0, 3)])}, "names arm 3"),
        ({"means": [3, 4, 2]}, r"got shape \(3,\)"),
        ({"means": []}, r"got shape \(0,\)"),
        ({"means": np.zeros((0, 3))}, r"got shape \(0, 3\)"),
        ({"means": [[3], [4]]}, r"K at least 2, got shape \(2, 1\)"),
        ({"means": [[3, 4], [2]]}, "rows of equal length"),
        ({"means": "many"}, "floats or whole numbers"),
        ({"means": [[True, False]]}, "floats or whole numbers, got one of bool"),
        ({"means": [[2**60, 1, 2]]}, "beyond 2\\^53"),
        ({"costs": "gap"}, "costs must be an array of numbers or 'gaps', got 'gap'"),
        ({"costs": [1, 2]}, r"costs of shape \(2,\) for means of shape \(1, 3\)"),
        ({"costs": [[1, 2, 3]] * 2}, r"costs of shape \(2, 3\) for means"),
        ({"workers": 0}, "workers must be a positive whole number"),
        ({"workers": 10**6}, "workers must be at most"),
        ({"tolerance": 2}, "below 1"),
    ],
)
def test_bad_input_is_said_in_one_line(bad, word):
    with pytest.raises(InputError, match=word) as told:
        characteristic_times(**GOOD | bad)
    assert "\n" not in str(told.value)


finite = st.floats(-10, 10).map(lambda x: round(x, 2))
cost = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))


@given(st.data())
def test_any_rows_are_as_the_single_call_has_them(data):
    arms = data.draw(st.integers(2, 5))
    tasks = ["best-arm", "ranking", f"top-arms:{arms - 1}", "control:1", "comparisons:1-0", "groups:1,0"]
    rows = data.draw(st.integers(1, 6))
    means, costs = (
        data.draw(st.lists(st.lists(kind, min_size=arms, max_size=arms), min_size=rows, max_size=rows))
        for kind in (finite, cost)
    )
    family = data.draw(st.sampled_from(["gaussian", "gaussian:0.5", "bernoulli", "poisson", "exponential"]))
    check_rows(characteristic_times(family, means, costs, data.draw(st.sampled_from(tasks))))
