"""What is predicted of CAET at a finite delta: T* beta(tau), counted in pulls."""

from math import exp, log

import numpy as np
import pytest
from commands import read_json, run_command
from inverse_gaussian import InverseGaussian

from caet_opt import BanditModel, characteristic_time, threshold_table
from caet_opt.exploring import prediction
from caet_opt.exploring.prediction import ACCURACY, compare_thresholds, mean_exploration_floor, predict, project
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.stopping import THRESHOLDS, make_threshold, threshold_of
from caet_opt.kernels.aiming import exploration_floor

#: Models without a free arm, of every kind of graph.
COSTLY = [
    (BanditModel("gaussian", [3, 4, 2], [1, 2, 1]), "ranking"),
    (BanditModel("gaussian:1,4,2,1", [1.2, 1, 0.5, 0.3], [1, 2, 1, 0.5]), "top-arms:2"),
    (BanditModel("bernoulli", [0.7, 0.55, 0.35], [1, 3, 1]), "ranking"),
    (BanditModel("poisson", [9, 7, 5, 8], [1, 1, 2, 3]), "best-arm"),
    (BanditModel("exponential", [1, 1.8, 3], [2, 1, 1]), "best-arm"),
    (BanditModel("gamma:2", [2, 1, 4, 3], [1, 1, 5, 1]), "groups:0,1/2,3"),
    (BanditModel("geometric", [1, 2, 4], [1, 1, 1]), "control:1"),
]


def prediction_of(model, task, **settings):
    """The prediction of the parameters' threshold, with T*."""
    optimum, parameters = characteristic_time(model, task), Parameters(**settings)
    rule = threshold_of(parameters, model.family, len(model.means), optimum.task)
    return predict(optimum, rule, parameters), optimum.value


@pytest.mark.parametrize(("model", "task"), COSTLY)
@pytest.mark.parametrize("threshold", ["customary", "deviational"])
def test_without_the_exploration_floor_the_cost_is_the_time_times_the_threshold(model, task, threshold, monkeypatch):
    """Exactly where beta depends on the round only, so that all pairs that bind in T* are settled at once."""
    monkeypatch.setattr(prediction, "mean_exploration_floor", lambda arms, rounds: 0.0)
    found, time = prediction_of(model, task, delta=0.05, threshold=threshold)
    assert found.cost == pytest.approx(time * found.threshold, rel=2 * ACCURACY)


@pytest.mark.parametrize(("model", "task"), COSTLY)
@pytest.mark.parametrize("threshold", [None, "mixture"])
def test_the_exploration_floor_adds_what_vanishes_with_delta(model, task, threshold):
    excess = []
    for level in (3, 30, 3000):
        found, time = prediction_of(model, task, log_inv_delta=level, threshold=threshold)
        excess.append(found.cost / (time * found.threshold) - 1)
    assert -0.02 < excess[2] < 0.02
    assert abs(excess[2]) <= abs(excess[0]) + ACCURACY < 0.3


@pytest.mark.parametrize(("arms", "rounds"), [(2, 50), (5, 1000), (20, 100_000)])
def test_the_mean_floor_is_that_of_the_rounds_so_far(arms, rounds):
    floors = [exploration_floor(arms, t) for t in range(rounds)]
    assert mean_exploration_floor(arms, rounds) == pytest.approx(np.mean(floors), rel=0.02)


def test_tau_solves_its_equation():
    """Two Gaussian arms of equal cost share the pulls: t (gap / 2)^2 / 2 = log((1 + log t) / delta)."""
    found, _ = prediction_of(BanditModel("gaussian", [1, 0], [2, 2]), "best-arm", delta=0.01, threshold="customary")
    tau = found.rounds
    assert tau / 8 == pytest.approx(log((1 + log(tau)) / 0.01), rel=2 * ACCURACY)
    assert found.pulls == pytest.approx((tau / 2, tau / 2))
    assert found.cost == pytest.approx(2 * tau)
    assert found.threshold == pytest.approx(tau / 8, rel=2 * ACCURACY)


@pytest.mark.parametrize(("model", "task"), COSTLY)
def test_tau_is_the_first_round_at_which_every_pair_has_enough(model, task):
    """Against a scan of all rounds, with the pair's evidence from its definition as a minimum."""
    found, _ = prediction_of(model, task, delta=0.2, threshold="mixture")
    optimum = characteristic_time(model, task)
    rule = make_threshold("mixture", model.family, len(model.means), task=task, delta=0.2)
    x = np.linspace(min(model.means), max(model.means), 4001)[1:-1]
    rates = [
        model.family.unit_divergence(mean, x, x - mean) / dispersion
        for mean, dispersion in zip(model.means, model.dispersions, strict=True)
    ]

    def is_enough(t):
        floor = mean_exploration_floor(len(model.means), t)
        pulls = t * project(optimum.sampling_proportions, floor)
        return all(
            np.min(sum(pulls[i] * rates[i] for i in pair)) > rule.value(t, *(pulls[i] for i in pair))
            for pair in optimum.task.pairs(model.means)
        )

    assert is_enough(1.001 * found.rounds)
    assert not any(is_enough(t) for t in np.linspace(len(model.means), 0.999 * found.rounds, 50))


def test_an_answer_that_is_clear_takes_one_pull_of_each_arm():
    found, _ = prediction_of(BanditModel("gaussian", [100, 0, -100], [1, 2, 3]), "ranking", delta=0.2)
    assert (found.rounds, found.cost) == (3, pytest.approx(sum(found.pulls * np.array([1, 2, 3]))))
    assert sum(found.pulls) == pytest.approx(3)


def test_the_more_the_free_arms_get_the_closer_the_cost_is_to_the_time_times_the_threshold():
    model = BanditModel("gaussian", [3, 4, 2, 3.5], "gaps")
    found = {}
    for share in (0.3, 0.6, 0.9, 0.99):
        one, time = prediction_of(model, "best-arm", log_inv_delta=1e6, threshold="customary", zero_cost_share=share)
        found[share] = one.cost / (time * one.threshold)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert 1 <= found[0.99] < 1.05 < found[0.3]


def test_negligible_costs_that_are_estimated_count_as_zero():
    model = BanditModel("bernoulli", [0.5, 0.45, 0.2], "gaps")
    dropped, _ = prediction_of(model, "best-arm", delta=0.05)
    kept, _ = prediction_of(model, "best-arm", delta=0.05, gamma0=0.01, threshold="mixture")
    same = BanditModel("bernoulli", [0.5, 0.45, 0.2], [0, 0.05, 0.3])
    known, _ = prediction_of(same, "best-arm", delta=0.05, threshold="mixture")
    assert dropped.pulls[0] == pytest.approx(dropped.pulls[1])
    assert kept.pulls == pytest.approx(known.pulls, rel=1e-6)
    assert kept.pulls[0] > 2 * kept.pulls[1]


def test_beyond_double_precision_nothing_is_predicted():
    found, _ = prediction_of(BanditModel("gaussian", [1e-55, 0], [1, 1]), "best-arm", log_inv_delta=1e100)
    assert found is None


def test_a_family_of_ones_own_is_predicted():
    found, time = prediction_of(BanditModel(InverseGaussian(), [1, 2, 3], [1, 1, 1]), "best-arm", delta=0.05)
    assert found.cost == pytest.approx(time * found.threshold, rel=0.05)


# which threshold is proven when


def test_every_threshold_has_a_line_and_the_deviational_one_its_proven_constant_too():
    model = BanditModel("gaussian", [3, 4, 2], "gaps")
    table = threshold_table(model, "ranking", delta=0.05)
    assert list(dict.fromkeys(table["threshold"])) == list(THRESHOLDS)
    assert table["threshold"].tolist().count("deviational") == 2
    proven = {(row.threshold, row.proven) for row in table.itertuples()}
    assert proven == {
        *(("e-process", True), ("mixture", True), ("informational", False)),
        *(("deviational", False), ("deviational", True), ("customary", False)),
    }
    costs = table.set_index(["threshold", "proven"])["predicted_cost"]
    assert costs["customary", False] < costs["e-process", True] < costs["mixture", True] < costs["deviational", True]
    assert table["value"].tolist() == pytest.approx((table["predicted_cost"] / 11.6569).tolist(), rel=0.01)


def test_what_is_proven_depends_on_the_family():
    table = threshold_table(BanditModel("bernoulli", [0.8, 0.5], [1, 2]), "best-arm", log_inv_delta=3)
    assert table.set_index("threshold")["proven"]["informational"]
    assert table["formula"].str.contains("R = 1, log").any()


def test_a_threshold_that_is_not_defined_for_the_family_says_so():
    optimum = characteristic_time(BanditModel(InverseGaussian(), [1, 2], [1, 1]), "best-arm")
    first, second, *_ = compare_thresholds(optimum, Parameters(delta=0.1))
    assert (first["threshold"], first["formula"], first["proven"], first["predicted_cost"]) == (
        "e-process",
        *[None, False, None],
    )
    assert "needs log_martingale" in first["reason"]
    assert second["proven"]
    assert second["predicted_cost"] > 0


FLAGS = ["thresholds", "--family", "gaussian", "--means", "3,4,2", "--costs", "gaps", "--task", "ranking"]


def test_the_command_prints_a_line_per_threshold(capsys):
    lines = run_command(capsys, *FLAGS, "--delta", "0.05").splitlines()
    assert lines[2].split() == ["threshold", "proven", "beta(tau)", "tau", "predicted", "cost", "formula"]
    rows = [line.split() for line in lines[3:9]]
    assert [(row[0], row[1]) for row in rows] == [
        *(("e-process", "yes"), ("mixture", "yes"), ("informational", "no")),
        *(("deviational", "no"), ("deviational", "yes"), ("customary", "no")),
    ]
    assert rows[0][2:5] == ["5.603", "463.2", "65.50"]
    assert lines[10] == (
        "proven means: guaranteed for independent Gaussian rewards of variance 1: wrong with probability at most 0.05"
    )
    assert (
        lines[11] == "lower bound: no strategy costs less than 30.89 on average, T* kl(delta, 1 - delta), rounded down"
    )


def test_the_command_as_json_is_the_table(capsys):
    found = read_json(run_command(capsys, *FLAGS, "--log-inv-delta", "50", "--json"))
    assert (found["delta"], found["log_inv_delta"]) == (exp(-50), 50)
    assert found["lower_bound"] == pytest.approx(11.656854 * 50)
    table = threshold_table(BanditModel("gaussian", [3, 4, 2], "gaps"), "ranking", log_inv_delta=50)
    assert found["thresholds"] == table.to_dict("records")
