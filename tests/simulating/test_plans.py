"""Plans: what is said of a cost before an experiment begins, against the runs themselves."""

import json
from decimal import Decimal
from math import nan

import numpy as np
import pytest
from commands import expect_refusal, read_json, run_command, said

from caet_opt import BanditModel, InputError, compare_policies, plan, simulate
from caet_opt.cli import main
from caet_opt.common.numbers import round_down
from caet_opt.simulating import plans
from caet_opt.simulating.mean_intervals import find_quantiles
from caet_opt.simulating.plans import SURE, PlanInterrupted, find_rival, smallest_difference
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


def test_what_the_present_difference_is_enough_for_is_settled():
    """Costs of so few pulls move in steps, none of which is within 2 % of the budget."""
    model = BanditModel("bernoulli", [0.9, 0.3])
    found = plan(model, "best-arm", delta=0.05, budget=40, runs=500)
    assert found.within_budget >= SURE
    assert found.difference.smallest <= found.difference.present
    assert found.difference.cost <= 40
    assert "settled within the budget in 90 % of runs; here it is 0.6" in str(found)
    assert "no difference" not in str(found)


@pytest.mark.parametrize("budget", [22, 35, 55, 100, 1000])
def test_the_smallest_difference_lies_between_one_that_failed_and_one_that_was_enough(budget, budgeted):
    tried = []

    def simulate(moved):
        """Costs in steps of 15."""
        tried.append(15 * np.ceil(0.2 / (moved.model.means[0] - moved.model.means[1]) ** 2))
        return tried[-1]

    found = smallest_difference(budgeted.experiment, budget, 75.0, simulate)
    enough = np.sqrt(0.2 / (budget // 15))
    assert found.smallest == pytest.approx(enough, rel=0.011)
    assert found.smallest >= enough
    assert len(tried) <= plans.TRIES
    assert found.cost <= budget


def test_a_search_without_an_end_finds_nothing(budgeted):
    """Where each distance turns out to cost slightly too much."""
    assert smallest_difference(budgeted.experiment, 100.0, 103.0, lambda moved: 103.0) is None


def test_what_is_not_found_is_not_said_not_to_exist(monkeypatch):
    monkeypatch.setattr(plans, "smallest_difference", lambda *_: None)
    found = plan(TWO, "best-arm", delta=0.1, budget=150, runs=10)
    assert found.difference is None
    assert "difference       not found: of 8 differences that were tried, none is settled within" in str(found)


def test_free_arms_have_no_smallest_difference():
    free = BanditModel("gaussian", [0, 1], costs=[0, 0])
    found = plan(free, "best-arm", delta=0.05, budget=1, runs=30)
    assert found.difference is None
    assert "difference       not computed: all arms that are compared are free" in str(found)


def test_a_pair_of_free_arms_is_not_the_nearest():
    model = BanditModel("gaussian", [0, 1, 3], costs=[0, 0, 1])
    found = plan(model, "comparisons:0-1,1-2", delta=0.05, budget=30, runs=100)
    assert (found.difference.leader, found.difference.rival) == (2, 1)
    assert found.difference.cost <= 30
    assert find_rival(found.experiment).farthest == 2.5  # the free pair keeps half of its distance


def test_a_budget_too_large_to_be_simulated_is_said(monkeypatch):
    monkeypatch.setattr(plans, "smallest_difference", None)  # is not called
    found = plan(BanditModel("bernoulli", [0.9, 0.5]), "best-arm", delta=0.05, budget=1e6, runs=100)
    assert found.difference is None
    assert found.within_budget == 1.0
    assert "difference       not computed: the budget is so large that this would take too long" in str(found)


def press(what, record):
    """Ctrl-C during the search for the smallest difference."""
    if what == "smallest difference":
        raise KeyboardInterrupt


def test_ctrl_c_during_the_search_leaves_the_rest_of_the_plan(budgeted):
    with pytest.raises(PlanInterrupted) as caught:
        plan(TWO, "best-arm", delta=0.1, budget=150, runs=300, seed=3, progress=press)
    found = caught.value.plan
    assert found.policies == budgeted.policies
    assert found.difference is None
    assert "difference       not computed: interrupted" in str(found)


def test_the_command_prints_what_it_has_on_ctrl_c(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(plans, "smallest_difference", interrupt)
    assert main(["plan", *FLAGS, "--delta", "0.1", "--budget", "150", "--runs", "20", "--figure", "never/drawn"]) == 130
    out, err = capsys.readouterr()
    assert said(err) == ["caet-opt: interrupted, the smallest difference is not computed"]
    assert "within budget" in out
    assert "written" not in out


def test_a_rival_moves_as_long_as_its_pair_is_the_nearest():
    rival = find_rival(Experiment(THREE, "ranking", plan(THREE, "ranking", delta=0.1, runs=1).experiment.parameters))
    assert (rival.leader, rival.number, rival.present, rival.farthest) == (0, 1, 0.5, 0.6)
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


FLAGS = ("--family", "bernoulli", "--means", "0.6,0.4", "--arms", "old,new", "--costs", "1,2", "--task", "best-arm")


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


def test_the_help_has_the_defaults_of_a_plan(capsys):
    for command, default in (("plan", "lazy"), ("simulate", "exact")):
        text = " ".join(run_command(capsys, command, "--help").split())
        assert f"(lazy means a GAP of 0.1) ({default})" in text


def test_the_record_names_the_arms_and_the_threshold(budgeted):
    record = budgeted.to_record()
    assert record["names"] == ["old", "new"]
    assert record["threshold"] == record["policies"][0]["threshold"] == "e-process"


def test_a_tolerance_has_no_smallest_difference_and_it_is_said():
    found = plan(TWO, "best-arm~0.02", delta=0.1, budget=100, runs=10)
    assert "difference       not computed: with a tolerance, no rival's mean can be moved" in str(found)


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
    done = f"{100 * budgeted.within_budget:.0f} % of runs were done"
    assert f"The budget of 150 is about as likely to be enough as not: {done}" in budget
    assert budget.endswith(f"to finish in nine of ten, allow {budgeted.quantiles['0.9']:#.4g}.")


@pytest.mark.parametrize(
    ("budget", "runs", "words"),
    [
        (5, 100, "The budget of 5 is very likely too small: 0 % of runs were done"),
        (1e4, 100, "The budget of 10000 is very likely to be enough: 100 % of runs were done."),
        (1e4, 20, "The budget of 10000 is likely to be enough: 100 % of runs were done."),
        (1e4, 2, "2 runs are too few to tell whether the budget of 10000 is enough: 100 % of runs were done."),
        (1e4, 1, "1 run is too few to tell whether the budget of 10000 is enough: 100 % of runs were done."),
    ],
)
def test_a_budget_is_enough_or_is_not_as_far_as_its_interval_says(budget, runs, words, monkeypatch):
    monkeypatch.setattr(plans, "smallest_difference", lambda *_: None)
    text = str(plan(TWO, "best-arm", delta=0.1, budget=budget, runs=runs))
    assert text.splitlines()[-1].startswith(words)
    assert f"within budget    {words.partition(': ')[2][:3].strip()}" in text


def test_one_run_is_one_run(monkeypatch):
    monkeypatch.setattr(plans, "smallest_difference", lambda *_: None)
    text = str(plan(TWO, "best-arm", delta=0.1, budget=1e4, runs=1))
    assert text.startswith("1 simulated run, delta = 0.1")
    assert "within budget    100 % of runs at 10000, 95 % in [2.50 %, 100.0 %]" in text


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
    assert "Warning: the pilot is too small: its resamples differ widely in their T* or their answers" in str(found)
    assert "is more likely than not to be enough, if the pilot is right: 100 % of runs" in str(found)
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
    assert "Warning: the pilot is too small: an arm has fewer than 10 rewards" in str(found)


def test_a_pilot_of_one_reward_has_one_reward():
    found = plan(BanditModel.from_samples("bounded:0,1", [[0.2], [0.6]]), "best-arm", delta=0.1, runs=1)
    assert "The pilot has 1 reward of each arm." in str(found)


def test_a_pilot_of_many_values_is_resampled_less_often():
    values = [[place / 5000 for place in range(start, start + 1000)] for start in (0, 2000)]
    found = plan(BanditModel.from_samples("bounded:0,1", values), "best-arm", delta=0.1, runs=2)
    assert found.pilot.resamples == 30
    assert "Of 30 resamples, eight" in str(found)


def test_guessed_means_are_no_pilot(budgeted):
    assert budgeted.pilot is None
    assert budgeted.to_record()["pilot"] is None
