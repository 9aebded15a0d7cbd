"""Plans: what is said of a cost before an experiment begins, against the runs themselves."""

import json
from decimal import Decimal
from math import nan

import numpy as np
import pytest
from commands import expect_refusal, read_json, run_command

from caet_opt import BanditModel, InputError, compare_policies, plan, simulate
from caet_opt.simulating.mean_intervals import find_quantiles
from caet_opt.simulating.plans import SURE, find_rival
from caet_opt.simulating.runs import Experiment

TWO = BanditModel("bernoulli", [Decimal("0.6"), Decimal("0.4")], costs=[1, 2], arms=["old", "new"])
THREE = BanditModel("gaussian", [1.5, 1, 0.3], costs=[1, 0.1, 0.5])


@pytest.fixture(scope="module")
def budgeted():
    return plan(TWO, "best-arm", delta=0.1, budget=150, runs=300, seed=3)


def test_a_plan_says_what_its_runs_say(budgeted):
    summary = simulate(TWO, "best-arm", delta=0.1, runs=300, seed=3, solve="lazy")
    costs = summary.records["cost"]
    assert budgeted.quantiles == {share: np.sort(costs)[int(300 * float(share)) - 1] for share in ("0.1", "0.5", "0.9")}
    assert budgeted.within_budget == np.mean(costs <= 150)
    low, high = budgeted.cheapest.within_budget_ci
    assert low < budgeted.within_budget < high
    assert budgeted.cheapest.mean_calls == pytest.approx(np.mean(summary.records["counts"].tolist(), axis=0))
    assert (budgeted.characteristic_time, budgeted.lower_bound) == (summary.characteristic_time, summary.lower_bound)
    assert budgeted.predicted_cost == summary.predicted_cost


def test_a_plan_says_what_it_takes_the_arms_for(budgeted):
    assert "arm  mean  cost\nold   0.6     1\nnew   0.4     2\n" in str(budgeted)


def test_the_smallest_difference_costs_the_budget_in_other_runs_too(budgeted):
    found = budgeted.difference
    assert (found.leader, found.rival, found.present) == (0, 1, pytest.approx(0.2))
    assert found.cost == pytest.approx(150, rel=0.02)
    moved = BanditModel("bernoulli", [0.6, 0.6 - found.smallest], costs=[1, 2])
    other = plan(moved, "best-arm", delta=0.1, budget=150, runs=1000, seed=4)
    assert other.within_budget == pytest.approx(SURE, abs=0.05)


def test_a_budget_that_no_difference_is_settled_with():
    found = plan(THREE, "ranking", delta=0.1, budget=1, runs=20)
    assert found.within_budget == 0.0
    assert found.difference.smallest is None
    assert "no difference between 1 and 0 alone is settled within the budget in 90 % of runs; here it is 0.5" in str(
        found
    )


def test_a_rival_moves_as_long_as_its_pair_is_the_nearest():
    rival = find_rival(Experiment(THREE, "ranking", plan(THREE, "ranking", delta=0.1, runs=1).experiment.parameters))
    assert (rival.leader, rival.number, rival.present, rival.farthest) == (0, 1, 0.5, 0.7)
    assert rival.time_at(0.0) == np.inf
    assert rival.time_at(rival.find_distance(50.0)) == pytest.approx(50.0, rel=1e-2)


def test_the_cheapest_policy_is_planned():
    found = plan(THREE, "ranking", delta=0.1, policies=["uniform", "caet"], runs=50, seed=1)
    frame = compare_policies(THREE, "ranking", ["uniform", "caet"], delta=0.1, runs=50, seed=1, solve="lazy")
    assert [one.mean_cost for one in found.policies] == frame["mean_cost"].tolist()
    assert found.cheapest.policy == frame.sort_values("mean_cost")["policy"].iloc[0] == "caet"
    assert "cheapest         caet" in str(found)


def test_unfinished_runs_hide_quantiles_and_are_not_within_a_budget():
    found = plan(TWO, "best-arm", delta=1e-9, budget=1e6, max_rounds=20, runs=10)
    assert found.quantiles == {"0.1": None, "0.5": None, "0.9": None}
    assert found.within_budget == 0.0
    assert "10 of 10 runs had not stopped" in str(found)


@pytest.mark.parametrize("budget", [0, -1, nan, float("inf"), True, "much"])
def test_a_budget_is_a_positive_number(budget):
    with pytest.raises(InputError, match="budget must be a positive number"):
        plan(TWO, "best-arm", delta=0.1, budget=budget)


def test_quantiles_are_of_the_runs():
    costs, all_of_them = np.array([5.0, 1.0, 4.0, 2.0, 3.0]), np.ones(5, dtype=bool)
    assert find_quantiles(costs, all_of_them) == {"0.1": 1.0, "0.5": 3.0, "0.9": 5.0}
    assert find_quantiles(costs, costs != 1.0) == {"0.1": 2.0, "0.5": 4.0, "0.9": None}


FLAGS = ("--family", "bernoulli", "--means", "0.6,0.4", "--costs", "1,2", "--task", "best-arm")


def test_the_command_prints_the_same_plan(budgeted, capsys):
    words = ("plan", *FLAGS, "--delta", "0.1", "--budget", "150", "--runs", "300", "--seed", "3")
    record = read_json(run_command(capsys, *words, "--json"))
    assert record == json.loads(json.dumps(budgeted.to_record()))
    text = run_command(capsys, *words)
    assert f"50 %: {record['quantiles']['0.5']:.4g}" in text


def test_the_command_draws_quantiles_against_delta(tmp_path, capsys):
    words = ("plan", *FLAGS, "--delta", "0.1", "--runs", "10", "--figure", str(tmp_path / "made" / "plan"))
    text = run_command(capsys, *words)
    assert f"written: {tmp_path / 'made' / 'plan'}.png" in text
    assert sorted(file.name for file in (tmp_path / "made").iterdir()) == ["plan.pdf", "plan.png"]


def test_bad_input_is_one_line(capsys):
    for words, message in (
        (["--delta", "0.1", "--budget", "-5"], "budget must be a positive number, got -5"),
        (["--delta", "0.1", "--policy", "best"], "unknown policy 'best'"),
        ([], "give either --delta"),
    ):
        expect_refusal(capsys, "plan", *FLAGS, *words, words=message)


def test_a_margin_has_no_smallest_difference_and_it_is_said():
    model = BanditModel("gaussian", [0.0, 2.0])
    found = plan(model, "control:0+0.5", delta=0.2, budget=100, runs=10)
    assert found.difference is None
    assert "difference       not computed: with levels, margins and ratios, no rival's mean can be moved" in str(found)
