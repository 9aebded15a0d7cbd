"""Pairs of models from a table of scores."""

from itertools import cycle
from math import nan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import BanditModel, InputError, LiveExperiment, characteristic_time, paired, parse_family, parse_task
from caet_opt.bandits.paired import TASK

SCORE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(st.lists(st.tuples(SCORE, SCORE), min_size=1, max_size=12))
def test_rewards_are_differences_and_the_level_is_nought(rows):
    """The mean is the difference of the means, and ``above:0`` says which of them is larger."""
    first, second = np.array(rows).T
    model = paired({"a": first, "b": second}, [2, 1]).model
    assert model.costs == (3,)
    assert model.means[0] == pytest.approx(first.mean() - second.mean(), abs=1e-12)
    assert model.distributions.sampled == (len(rows),)
    if model.means[0]:
        above = parse_task(TASK).answer(model.means)
        assert (len(above) == 1) == (first.sum() > second.sum())


@pytest.mark.parametrize(
    ("scores", "family"),
    [
        ([0, 1, 1], "bounded:-1,1,2"),
        ([1, 1, 1], "bounded:-1,1,2"),
        ([0.25, 1, 0.5], "bounded:-1,1,8"),
        ([1 / 3, 2 / 3, 1], "bounded:-1,1,6"),
        ([0.7, 0.1, 0.6], "bounded:-1,1"),
        ([0.71, 0.13, 0.6], "bounded:-1,1,40"),
    ],
)
def test_levels_are_those_of_the_scores_ties_included(scores, family):
    pairs = paired({"a": scores, "b": [0.0, 0.0, 1.0]})
    assert str(pairs.model.family) == family
    assert parse_family(pairs.family) == pairs.model.family


def test_a_difference_of_decimals_is_one():
    pairs = paired({"a": [0.7, 0.3], "b": [0.6, 0.1]})
    assert pairs.differences[0].tolist() == [0.1, 0.2]


@pytest.mark.parametrize("table", [([1, 1, 1, 0, 1], [1, 0, 0, 1, 1]), ([1, 1, 1, 1, 0, 0], [0, 0, 1, 0, 1, 0])])
def test_ties_of_right_or_wrong_cost_their_price_and_say_nothing(table):
    """T* is that of the items on which the models differ, at the price of all."""
    first, second = map(np.array, table)
    pairs = paired({"a": first, "b": second}, [2, 1])
    wins, losses = np.sum(first > second), np.sum(first < second)
    decided = BanditModel("bernoulli", [wins / (wins + losses)], [3 * len(first) / (wins + losses)])
    expected = characteristic_time(decided, "above:0.5").value
    assert characteristic_time(pairs.model, TASK).value == pytest.approx(expected, rel=1e-9)


def test_a_data_frame_and_all_pairs():
    table = pd.DataFrame({"a": [1, 1, 0], "b": [1, 0, 0], "c": [0, 1, 1]})
    pairs = paired(table)
    assert pairs.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    assert pairs.costs == (2, 2, 2)
    assert [list(one) for one in pairs.differences] == [[0, 1, 0], [1, 0, -1], [1, -1, -1]]


def test_pairing_is_cheaper_where_scores_go_together_and_not_where_they_do_not():
    """T* of the order of two models, by pairs over each by itself, with the same means."""
    together = {"a": [1] * 8 + [0] * 2, "b": [1] * 7 + [0] * 3}
    apart = {"a": [1] * 8 + [0] * 2, "b": [0] * 3 + [1] * 7}
    alone = characteristic_time(BanditModel("bernoulli", [0.8, 0.7]), "best-arm").value
    by_pairs = [characteristic_time(paired(table).model, TASK).value for table in (together, apart)]
    assert by_pairs[0] < alone / 4
    assert by_pairs[1] > alone


def test_one_pair_is_a_live_experiment(tmp_path):
    """A task about levels needs no second arm; ties are outcomes like others."""
    pairs = paired({"a": [1, 0, 0.5], "b": [0, 0, 0.25]})
    told = {"arms": pairs.arms, "delta": 0.05, "costs": pairs.costs}
    with LiveExperiment.start(tmp_path / "pair.caet", TASK, pairs.family, **told) as experiment:
        for reward in cycle(pairs.differences[0]):
            if not (pulls := experiment.next()):
                break
            experiment.record(pulls[0].arm, reward, pull=pulls[0].number)
        assert experiment.answer == "a over b"
        assert experiment.verify() == []
        assert experiment.status()["spent"] == 2 * experiment.status()["recorded"]
    with pytest.raises(InputError, match="needs at least two arms, got 1"):
        LiveExperiment.start(tmp_path / "one.caet", "best-arm", "bernoulli", **told)


def test_prices_may_be_told_by_name():
    table = {"a": [1, 0], "b": [0, 0], "c": [1, 1]}
    assert paired(table, {"c": 5, "a": 1, "b": 2}).costs == (3.0, 6.0, 7.0)


def test_series_are_aligned_on_their_items():
    """Whatever their order; those of a data frame are, whatever its index says."""
    first = pd.Series([1, 0, 0.5], index=["x", "y", "z"])
    second = pd.Series([0.25, 1, 0], index=["z", "x", "y"])
    assert paired({"a": first, "b": second}).differences[0].tolist() == [0, 0, 0.25]
    table = pd.DataFrame({"a": [1, 0], "b": [0, 0]}, index=["x", "x"])
    assert paired(table).differences[0].tolist() == [1, 0]


def test_series_without_the_same_items():
    first, second = pd.Series([1, 0], index=["x", "y"]), pd.Series([1, 0], index=["y", "z"])
    with pytest.raises(InputError, match=r"2 of 3 items lack a score, first item: 'x', model 'b'; .* drop these items"):
        paired({"a": first, "b": second})
    with pytest.raises(InputError, match="scores of 'b' have the item 'x' twice"):
        paired({"a": first, "b": pd.Series([1, 0], index=["x", "x"])})
    with pytest.raises(InputError, match="those of 'b' are none; give all as Series, or all as lists"):
        paired({"a": first, "b": [1, 0]})


@pytest.mark.parametrize("nothing", [nan, None, pd.NA])
def test_items_without_a_score_are_not_dropped_silently(nothing):
    table = pd.DataFrame({"a": [1, 0, 1, 1], "b": [1, nothing, 0, nothing]}, index=["p", "q", "r", "s"])
    table["b"] = table["b"].astype("Float64")
    with pytest.raises(InputError, match=r"2 of 4 items lack a score, first item: 'q', model 'b'; .*table\.dropna\(\)"):
        paired(table)
    assert paired(table.dropna()).differences[0].tolist() == [0, 1]


def test_columns_of_other_libraries_are_lists():
    arrow = pytest.importorskip("pyarrow")
    assert paired({"a": arrow.array([1.0, 0.0]), "b": arrow.array([0.0, 0.5])}).differences[0].tolist() == [1, -0.5]


def test_one_model_is_named_or_counted():
    table = {"a": [1, 0], "b": [0, 0], "c": [1, 1]}
    assert paired(table, against=1).pairs == paired(table, against="b").pairs == (("a", "b"), ("c", "b"))
    assert paired(table, against=0).arms == ["b over a", "c over a"]
    numbered = pd.DataFrame({2: [1, 0], 1: [0, 0], 5: [1, 1]})  # names that are numbers go before places
    assert paired(numbered, against=2).arms == ["1 over 2", "5 over 2"]
    for wrong, words in ((3, "its place from 0 to 2, got 3"), (-1, "got -1"), (True, "unknown model 'True'")):
        with pytest.raises(InputError, match=words):
            paired(table, against=wrong)


def test_prices_of_a_series_go_by_name():
    table = {"a": [1, 0], "b": [0, 0]}
    assert paired({**table, "c": [1, 1]}, pd.Series({"c": 5, "a": 1, "b": 2})).costs == (3.0, 6.0, 7.0)
    assert paired(table, pd.Series([3, 1])).costs == (4.0,)
    assert paired(table, {0: 3, 1: 1}).costs == (4.0,)
    with pytest.raises(InputError, match="one for each model by its name, a, b, got costs of a, c"):
        paired(table, pd.Series({"a": 1, "c": 2}))


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({1: [1], "1": [0]}, {}, "models need names of their own, and '1' is that of 2"),
        ({"a": [1]}, {}, "two models or more"),
        ({"a": [1], "b": [0]}, {"costs": 3}, "costs must be 2 numbers, one for each model, got 3"),
        ({"a": [1], "b": [1, 0]}, {}, "a score of each for every item"),
        ({"a": [], "b": []}, {}, "a score of each for every item"),
        ({"a": [1], "b": [nan]}, {}, "from 0 to 1"),
        ({"a": [1], "b": [2]}, {}, "from 0 to 1"),
        ({"a": [1], "b": ["x"]}, {}, "scores of 'b' must be numbers"),
        ({"a": [1], "b": [0]}, {"costs": [1]}, "costs must be 2 numbers"),
        ({"a": [1], "b": [0]}, {"costs": [1, -1]}, "zero or more"),
        ({"a": [1], "b": [0]}, {"costs": {"a": 1, "c": 2}}, "costs must be 2 numbers"),
        ({"a": [1], "b": [0]}, {"costs": [1, "x"]}, "costs must be 2 numbers"),
        ("table.csv", {}, "a data frame, or a list for each model by name, got str"),
        ({"a": [1], "b": [0]}, {"against": "c"}, "unknown model 'c'"),
    ],
)
def test_bad_tables(table, options, message):
    with pytest.raises(InputError, match=message):
        paired(table, **options)
