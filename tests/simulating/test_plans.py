"""Plans: what is said of a cost before an experiment begins, against the runs themselves."""

import json
from decimal import Decimal
from math import nan

import numpy as np
import pytest
from commands import expect_refusal, read_json, run_command

from caet_opt import BanditModel, InputError, compare_policies, plan, simulate
from caet_opt.common.numbers import round_down
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
    assert "expect about 20 trials" in str(found)
    assert "or more, as some runs had not stopped." in str(found)
    assert str(found).endswith("Whether the budget of 1000000 is enough is not known: 10 of 10 runs had not stopped.")


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


def test_a_plan_ends_in_words(budgeted):
    """What to expect, what T* means for it, and whether the budget is likely to be enough."""
    expect, least, budget = str(budgeted).split("\n\n")[-1].splitlines()
    trials = sum(budgeted.cheapest.mean_calls)
    assert (
        f"expect about {round(trials):.4g} trials at a cost of {budgeted.cheapest.mean_cost:.4g} on average" in expect
    )
    assert f"nine in ten such experiments cost at most {budgeted.quantiles['0.9']:#.4g}" in expect
    assert f"at least {float(round_down(budgeted.lower_bound, 4)):.4g} on average" in least
    assert f"about {np.log(10) * budgeted.characteristic_time:.3g} more (T* log 10)" in least
    assert f"The budget of 150 is more likely than not too small: {100 * budgeted.within_budget:.0f} % of" in budget
    assert budget.endswith(f"to finish in nine of ten, allow {budgeted.quantiles['0.9']:#.4g}.")


@pytest.mark.parametrize(("budget", "words"), [(30, "is very likely too small"), (1e4, "is very likely to be enough")])
def test_a_budget_is_enough_or_is_not(budget, words):
    assert words in str(plan(TWO, "best-arm", delta=0.1, budget=budget, runs=20)).splitlines()[-1]


def pilot(size, gap):
    """Samples of right or wrong of two arms, the shares of which are 0.5 and so much more."""
    ones = [round(size * share) for share in (0.5, 0.5 + gap)]
    return BanditModel.from_samples("bounded:0,1", [[1] * n + [0] * (size - n) for n in ones])


def test_a_small_pilot_is_warned_of():
    found = plan(pilot(40, 0.1), "best-arm", delta=0.1, budget=1e6, runs=10)
    assert found.pilot.sizes == (40, 40)
    chance = 0.19  # that the second arm of a resample is not above the first, by the normal approximation
    assert found.pilot.others == pytest.approx(chance, abs=0.12)
    assert found.pilot.is_small
    assert "The pilot has 40 rewards of each arm. Of 100 resamples, eight in ten have T* from" in str(found)
    assert "Warning: the pilot is small for this question: the cost may be as far off." in str(found)
    assert "very likely to be enough, if the pilot is right: 100 % of runs" in str(found)
    assert found.to_record()["pilot"]["small"]
    assert plan(pilot(40, 0.1), "best-arm", delta=0.1, budget=1e6, runs=10).pilot == found.pilot


def test_a_large_pilot_is_not_warned_of():
    found = plan(pilot(2000, 0.3), "best-arm", delta=0.1, runs=10)
    low, high = found.pilot.times["0.1"], found.pilot.times["0.9"]
    assert low < found.characteristic_time < high < 1.5 * low  # by the normal approximation 1.28 times
    assert found.pilot.others == 0
    assert "Warning" not in str(found)


def test_resamples_of_a_tiny_pilot_say_little():
    found = plan(BanditModel.from_samples("bounded:0,1", [[0.2] * 3, [0.6] * 4]), "best-arm", delta=0.1, runs=10)
    assert found.pilot.times["0.1"] == pytest.approx(found.pilot.times["0.9"])
    assert "The pilot has 3 to 4 rewards of each arm" in str(found)
    assert "Warning: the pilot is small for this question: of so few, even resamples say little." in str(found)


def test_a_pilot_of_many_values_is_resampled_less_often():
    values = [[place / 5000 for place in range(start, start + 1000)] for start in (0, 2000)]
    found = plan(BanditModel.from_samples("bounded:0,1", values), "best-arm", delta=0.1, runs=2)
    assert found.pilot.resamples == 30
    assert "Of 30 resamples, eight" in str(found)


def test_guessed_means_are_no_pilot(budgeted):
    assert budgeted.pilot is None
    assert budgeted.to_record()["pilot"] is None
