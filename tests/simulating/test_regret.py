"""Explore then commit: the regret curve, the commitment and the asymptote."""

from math import inf, log, nan

import numpy as np
import pytest

from caet_opt import BanditModel, Bernoulli, BestArm, Gaussian, InputError, Poisson, characteristic_time
from caet_opt.simulating.regret import explore_then_commit, recorded_rounds, regret_rate

EASY = BanditModel(Gaussian(), [2.0, 0.0, 1.0], "gaps")


@pytest.fixture(scope="module")
def easy():
    return explore_then_commit(EASY, 1e6, runs=4, seed=3, checkpoints=25)


def test_regret_never_falls_and_is_flat_after_a_correct_commitment(easy):
    assert easy.committed == 4
    assert easy.wrong == 0
    assert np.all(np.diff(easy.regrets, axis=1) >= 0)
    for regret, time in zip(easy.regrets, easy.commitment_times, strict=True):
        after = regret[easy.times >= time]
        assert 0 < time < easy.horizon
        assert np.all(after == after[0])
        assert regret[easy.times < time][-1] < after[0]


def test_the_curve_ends_at_the_horizon_with_a_mean(easy):
    assert easy.times[-1] == easy.horizon == 10**6
    assert len(easy.mean_regret) == len(easy.times) == easy.regrets.shape[1]


def test_regret_is_at_least_one_pull_of_every_arm(easy):
    assert easy.times[0] == 3
    assert np.all(easy.regrets[:, 0] == 3.0)


@pytest.mark.parametrize(
    "model",
    [
        EASY,
        BanditModel(Bernoulli(), [0.5, 0.45, 0.43, 0.4], [1, 1, 1, 1]),
        BanditModel(Gaussian([4.0, 1.0, 0.5]), [1.0, 2.0, 0.0], "gaps"),
        BanditModel(Poisson(), [1.0, 3.0], "gaps"),
    ],
)
def test_the_asymptote_is_the_characteristic_time_with_gaps_as_costs(model):
    by_gaps = BanditModel(model.family, model.means, "gaps")
    assert regret_rate(model) == pytest.approx(characteristic_time(by_gaps, BestArm()).value, rel=1e-9)


def test_the_asymptote_of_a_gaussian_is_two_over_the_gaps(easy):
    assert easy.asymptote == pytest.approx((2 / 2 + 2 / 1) * log(10**6), rel=1e-12)


def test_results_do_not_depend_on_the_number_of_workers(easy):
    spread = explore_then_commit(EASY, 1e6, runs=4, seed=3, checkpoints=25, workers=2)
    assert np.array_equal(spread.regrets, easy.regrets)
    assert np.array_equal(spread.commitment_times, easy.commitment_times)


def test_a_horizon_too_short_to_commit_explores_to_its_end():
    hard = BanditModel(Gaussian(), [0.0, 0.01], "gaps")
    found = explore_then_commit(hard, 50, runs=2, seed=1)
    assert found.committed == 0
    assert found.wrong == 0
    assert found.regrets[0, -1] <= 50 * 0.01


def test_regret_after_a_wrong_commitment_grows_by_the_gap(monkeypatch):
    monkeypatch.setattr(BestArm, "answer", lambda self, means: int(np.argmin(means)))
    found = explore_then_commit(EASY, 1e6, runs=1, seed=1, checkpoints=10, constant=1.0, threshold="deviational")
    late = found.times >= found.commitment_times[0]
    assert (found.committed, found.wrong) == (1, 1)
    assert np.diff(found.regrets[0, late]) == pytest.approx(2.0 * np.diff(found.times[late]))


def test_costs_other_than_gaps_are_replaced_by_the_gaps():
    costly = BanditModel(Gaussian(), EASY.means, [5, 5, 5])
    same = [explore_then_commit(model, 1e3, runs=1, seed=2).regrets for model in (costly, EASY)]
    assert np.array_equal(*same)


def test_recorded_rounds_are_distinct_and_end_at_the_horizon():
    assert recorded_rounds(2, 5, 60) == (2, 3, 4, 5)
    assert recorded_rounds(3, 10**9, 1)[-1] == 10**9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 3}, "horizon"),
        ({"horizon": inf}, "horizon"),
        ({"horizon": nan}, "horizon"),
        ({"runs": 0}, "runs"),
        ({"checkpoints": 0}, "checkpoints"),
        ({"threshold": "custmary"}, "customary"),
        ({"theta": 1.2}, "theta"),
        ({"gamma0": 0.0}, "gamma0"),
        ({"model": BanditModel(Gaussian(), [1, 1, 0], "gaps")}, "single best arm"),
    ],
)
def test_bad_requests_say_what_is_wrong(options, message):
    request = {"model": EASY, "horizon": 1e4, "runs": 1, "seed": 1, **options}
    with pytest.raises(InputError, match=message):
        explore_then_commit(**request)
