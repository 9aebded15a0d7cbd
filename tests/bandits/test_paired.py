"""Pairs of models from a table of scores."""

from math import nan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import BanditModel, InputError, LiveExperiment, characteristic_time, paired
from caet_opt.bandits.paired import TASK, decide

SCORE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(st.lists(st.tuples(SCORE, SCORE), min_size=1, max_size=12))
def test_a_decided_item_is_for_whom_the_mean_difference_is(rows):
    """p > 1/2 where the mean difference is positive, and a decision costs price / E abs(d): by counting draws."""
    first, second = np.array(rows).T
    pairs = paired({"a": first, "b": second}, [2, 1])
    if not np.any(first - second):
        with pytest.raises(InputError, match="the same score on every item"):
            _ = pairs.model
        return
    draws = (np.arange(4) + 0.5) / 4
    decided = [decide(d, draw) for d in first - second for draw in draws]
    ones, zeros = decided.count(1), decided.count(0)
    assert pairs.model.means[0] == pytest.approx(ones / (ones + zeros))
    assert pairs.model.costs[0] == pytest.approx(3 * len(decided) / (ones + zeros))
    assert np.sign(ones - zeros) == np.sign(round(np.mean(first - second), 12))


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
    by_pairs = [paired(table).model for table in (together, apart)]
    assert by_pairs[0].means == (1.0,)
    assert characteristic_time(by_pairs[0], TASK).value < alone / 4
    assert characteristic_time(by_pairs[1], TASK).value > alone


def test_one_pair_is_a_live_experiment(tmp_path):
    """A task about levels needs no second arm."""
    pairs = paired({"a": [1, 0], "b": [0, 0]})
    told = {"arms": pairs.arms, "delta": 0.05, "costs": pairs.costs}
    with LiveExperiment.start(tmp_path / "pair.caet", TASK, "bernoulli", **told) as experiment:
        while pulls := experiment.next():
            experiment.record(pulls[0].arm, 1)
        assert experiment.answer == "a over b"
        assert experiment.verify() == []
    with pytest.raises(InputError, match="needs at least two arms, got 1"):
        LiveExperiment.start(tmp_path / "one.caet", "best-arm", "bernoulli", **told)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"a": [1]}, {}, "two models or more"),
        ({"a": [1], "b": [1, 0]}, {}, "a score of each for every item"),
        ({"a": [], "b": []}, {}, "a score of each for every item"),
        ({"a": [1], "b": [nan]}, {}, "from 0 to 1"),
        ({"a": [1], "b": [2]}, {}, "from 0 to 1"),
        ({"a": [1], "b": ["x"]}, {}, "scores of 'b' must be numbers"),
        ({"a": [1], "b": [0]}, {"costs": [1]}, "costs must be 2 numbers"),
        ({"a": [1], "b": [0]}, {"costs": [1, -1]}, "zero or more"),
        ({"a": [1], "b": [0]}, {"against": "c"}, "unknown model 'c'"),
    ],
)
def test_bad_tables(table, options, message):
    with pytest.raises(InputError, match=message):
        paired(table, **options)


def test_a_difference_out_of_range():
    with pytest.raises(InputError, match=r"in \[-1, 1\], got 1.5"):
        decide(1.5, 0)
