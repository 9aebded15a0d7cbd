"""Where the pulls of each policy tend, and that its answers are wrong no more often than delta says."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest

from caet_opt import POLICIES, BanditModel, characteristic_time
from caet_opt.exploring.policies import list_policies
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.runs import Experiment, run_many, run_once

MEANS, COSTS = (1.5, 1.0, 0.5), (1.0, 0.1, 0.01)

#: Three times as far apart: the same optimum, and estimates of it that are nearer.
FAR = (4.5, 3.0, 1.5)

#: So large a log(1/delta) that nothing stops.
NEVER = 1e6


@cache
def shares(policy, rounds, family="gaussian", means=MEANS, costs=COSTS, task="best-arm", level=NEVER, **settings):
    """The shares of the pulls after so many rounds."""
    parameters = Parameters(log_inv_delta=level, policy=policy, max_rounds=rounds, **settings)
    experiment = Experiment(BanditModel(family, means, costs), task, parameters)
    record = run_once(experiment, np.random.SeedSequence(11), 0)
    assert (record.stopped, record.rounds) == (False, rounds)
    return np.array(record.counts) / rounds


def optimum(task="best-arm", means=MEANS, costs=COSTS, family="gaussian"):
    return characteristic_time(BanditModel(family, means, costs), task).sampling_proportions


OPTIMAL = ("caet", "ctas", "top-two-ids", "oracle")


@pytest.mark.parametrize("task", ["best-arm", "ranking"])
@pytest.mark.parametrize("policy", OPTIMAL)
def test_pulls_tend_to_the_optimum(policy, task):
    expected = optimum(task)
    assert np.max(np.abs(optimum(task, costs=(1, 1, 1)) - expected)) > 0.1  # far from what is best for equal costs
    np.testing.assert_allclose(shares(policy, 200_000, means=FAR, task=task), expected, atol=0.01)


@pytest.mark.parametrize("policy", OPTIMAL)
def test_pulls_tend_to_the_optimum_of_bernoulli_arms(policy):
    means, costs = (0.3, 0.8, 0.6, 0.5), (2.0, 1.0, 0.1, 0.5)
    for task in ("top-arms:2", "control:2"):
        expected = optimum(task, means, costs, "bernoulli")
        found = shares(policy, 200_000, "bernoulli", means, costs, task)
        np.testing.assert_allclose(found, expected, atol=0.015)


@pytest.mark.parametrize("task", ["best-arm", "ranking"])
def test_track_and_stop_tends_to_the_optimum_of_equal_costs(task):
    found = shares("track-and-stop", 200_000, means=FAR, task=task)
    np.testing.assert_allclose(found, optimum(task, costs=(1, 1, 1)), atol=0.01)


@pytest.mark.parametrize("policy", [*OPTIMAL, "equal-spending", "best-challenger"])
def test_free_arms_take_their_share_and_the_others_the_optimum(policy):
    """Gaps as costs: the best arm is free and has the zero-cost share."""
    found = shares(policy, 200_000, costs="gaps", task="ranking", zero_cost_share=0.5)
    expected = 0.5 * optimum("ranking", costs="gaps")
    expected[0] = 0.5
    if policy == "equal-spending":  # gaps 1/2 and 1
        expected = np.array([0.5, 1 / 3, 1 / 6])
    assert found[0] == pytest.approx(0.5, abs=0.005)
    if policy != "best-challenger":
        np.testing.assert_allclose(found, expected, atol=0.015)


@pytest.mark.parametrize("policy", ["uniform", "kl-racing", "chernoff-racing"])
def test_pulls_are_equal(policy):
    np.testing.assert_allclose(shares(policy, 30_000), 1 / 3, atol=1e-9)


def test_equal_spending_divides_by_costs():
    inverse = 1 / np.array(COSTS)
    np.testing.assert_allclose(shares("equal-spending", 30_000), inverse / sum(inverse), atol=1e-3)


def test_chernoff_overlap_divides_by_roots_of_costs():
    inverse = 1 / np.sqrt(COSTS)
    np.testing.assert_allclose(shares("chernoff-overlap", 30_000), inverse / sum(inverse), atol=1e-3)


@pytest.mark.parametrize("policy", ["top-two", "thompson-top-two"])
def test_top_two_rules_tend_to_the_best_proportions_with_half_on_the_best_arm(policy):
    """The optimum for unit costs under the limit, T* for beta = 1/2, whatever pulls cost."""
    means = (0.0, 1.0, 0.5, -0.2)
    found = shares(policy, 200_000, means=means, costs=(1.0, 0.1, 0.01, 1.0))
    expected = characteristic_time(BanditModel("gaussian", means), "best-arm", limits="pulls:leader=0.5")
    assert found[1] == pytest.approx(0.5, abs=0.005)
    np.testing.assert_allclose(found, expected.sampling_proportions, atol=0.01)


@pytest.mark.parametrize("limit", ["pulls:leader=0.5", "cost:0<=0.2"])
@pytest.mark.parametrize("policy", ["caet", "oracle"])
def test_pulls_tend_to_the_optimum_under_a_limit(policy, limit):
    found = shares(policy, 20_000, means=FAR, limits=limit, solve="lazy")
    model = BanditModel("gaussian", FAR, COSTS)
    expected = characteristic_time(model, "best-arm", limits=limit).sampling_proportions
    assert np.max(np.abs(expected - optimum(means=FAR))) > 0.1
    np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize(
    ("family", "means"), [("bernoulli", (0.9, 0.5)), ("poisson", (3.0, 1.0)), ("gaussian", (1.0, 0.0))]
)
def test_best_challenger_evens_the_divergences_per_cost_of_two_arms(family, means):
    """Which is the optimum of two arms; for Gaussian ones the shares are as 1 / sqrt(cost)."""
    costs = (1.0, 0.1)
    model = BanditModel(family, means, costs)

    def excess(share):
        centre = share * means[0] + (1 - share) * means[1]
        first, second = (model.family.divergence(mean, centre) for mean in means)
        return first / costs[0] - second / costs[1]

    expected = brentq(excess, 1e-9, 1 - 1e-9)
    found = shares("best-challenger", 50_000, family, means, costs)
    assert found[0] == pytest.approx(expected, abs=0.005)
    assert optimum("best-arm", means, costs, family)[0] == pytest.approx(expected, abs=1e-6)


def even_bounds(total, level):
    """Pulls of two Gaussian arms of means 1.0 and 0.5 that sum to a total and have the same upper bound."""

    def excess(first):
        return (1.0 + np.sqrt(2 * level / first)) - (0.5 + np.sqrt(2 * level / (total - first)))

    first = brentq(excess, 1e-6 * total, (1 - 1e-6) * total)
    return first, total - first


def test_half_of_the_pulls_of_kl_lucb_go_to_the_leader():
    """And of the challengers the one with the largest upper bound is pulled, so that their bounds stay the same."""
    rounds, level = 20_000, 20_000.0
    first, second = even_bounds(rounds / 2, level)
    found = shares("kl-lucb", rounds, level=level, threshold="customary", costs=(1, 1, 1))
    np.testing.assert_allclose(found, np.array([rounds / 2, first, second]) / rounds, atol=0.01)


def test_ugape_pulls_the_surest_arm_as_often_as_its_strongest_rival():
    """The less pulled of both is next: the best arm goes along with arm 1, and arm 2 has the same upper bound as it."""
    rounds, level = 20_000, 20_000.0
    first = brentq(lambda pulls: even_bounds(rounds - pulls, level)[0] - pulls, 0.34 * rounds, 0.49 * rounds)
    found = shares("ugape", rounds, level=level, threshold="customary", costs=(1, 1, 1))
    np.testing.assert_allclose(found, np.array([first, first, rounds - 2 * first]) / rounds, atol=0.01)


#: The first two are near ties, where a wrong answer is as likely as it gets.
HARD = {
    "gaussian": ("best-arm", BanditModel("gaussian", [0.02, 0.0, 0.0], [1.0, 0.1, 0.5])),
    "bernoulli": ("best-arm", BanditModel("bernoulli", [0.5, 0.52, 0.5], [0.0, 1.0, 0.5])),
    "poisson": ("top-arms:2", BanditModel("poisson", [1.4, 1.6, 1.2, 1.0], [1.0, 0.5, 1.0, 2.0])),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "family"), [(policy, family) for family, (task, _) in HARD.items() for policy in list_policies(task)]
)
def test_the_error_rate_stays_below_delta(policy, family):
    """With the default threshold, which is proven for every sampling rule; a run that does not end is no error.

    Ties change the answer, and then policies that solve leave compiled code: they have fewer and shorter runs.
    """
    quick, delta = issubclass(POLICIES[policy], IndexPolicy), 0.3
    runs, rounds = (400, 4000) if quick else (100, 300)
    task, model = HARD[family]
    experiment = Experiment(model, task, Parameters(delta=delta, policy=policy, max_rounds=rounds))
    assert experiment.rule.guarantees(model.family)
    records = run_many(experiment, runs, seed=2)
    wrong, stopped = sum(record.correct is False for record in records), sum(record.stopped for record in records)
    if quick or family == "gaussian":
        assert stopped > 0
    if quick and family == "gaussian":
        assert wrong > 0
    assert binomtest(wrong, runs, delta, alternative="greater").pvalue > 0.01
