"""Simulated runs with a limit on their cost or on their pulls."""

import json
from fractions import Fraction

import numpy as np
import pytest

from caet_opt import BanditModel, Explorer, InputError, simulate
from caet_opt.cli import main
from caet_opt.common.exact import exact
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.plans import plan
from caet_opt.simulating.regret import explore_then_commit
from caet_opt.simulating.runs import Experiment, run_number
from cases.runs import without_compiled

MODEL = BanditModel("bernoulli", [0.6, 0.5, 0.4], costs=[0.3, 0.1, 0.2])
FREE = BanditModel("gaussian", [1.0, 0.4, 0.0], costs=[1, 0, 3.7])
GAPS = BanditModel("gaussian", [1.0, 0.4, 0.0], costs="gaps")


def paid(model, counts):
    """What pulls cost, as exact decimals."""
    return sum((count * exact(cost) for count, cost in zip(counts, model.costs, strict=True)), Fraction(0))


def one_run(model, index, **settings):
    """A run of best-arm at delta = 0.05."""
    return run_number(Experiment(model, "best-arm", Parameters(delta=0.05, **settings)), 3, index)


@pytest.mark.parametrize("policy", ["caet", "uniform", "top-two", "kl-racing"])
@pytest.mark.parametrize("batch", [1, 7, "growing"])
@pytest.mark.parametrize(("model", "limit"), [(MODEL, 20.0), (MODEL, 0.35), (FREE, 9.1)])
def test_a_run_is_the_same_up_to_the_limit_and_never_beyond_it(policy, batch, model, limit):
    settings = {"policy": policy, "batch": batch}
    for index in range(3):
        found = one_run(model, index, max_cost=limit, **settings)
        assert paid(model, found.counts) <= exact(limit)
        if found.stopped:
            assert found == one_run(model, index, **settings)
            continue
        assert found[:-1] == one_run(model, index, max_rounds=found.rounds, **settings)[:-1]
        longer = one_run(model, index, max_rounds=found.rounds + 1, **settings)
        assert paid(model, longer.counts) > exact(limit) or longer.stopped
        assert found.answers_left in (1, 2, 3)


def test_it_makes_no_difference_whether_rounds_are_compiled():
    found = one_run(MODEL, 0, max_cost=12.3)
    with without_compiled():
        assert one_run(MODEL, 0, max_cost=12.3) == found


def test_costs_are_the_decimals_that_were_written():
    """Three times 0.1 is more than 0.3 in doubles, and two dimes and a dime are three."""
    model = BanditModel("bernoulli", [0.6, 0.5], costs=[0.1, 0.1])
    assert one_run(model, 0, max_cost=0.3).rounds == 3


@pytest.mark.parametrize("distribution", ["constant", "exponential", "uniform"])
def test_costs_that_are_observed_exceed_the_limit_by_the_last_pull_at_most(distribution):
    settings = {"cost_source": "observed", "cost_distribution": distribution}
    for index in range(5):
        found = one_run(MODEL, index, max_cost=5.05, **settings)
        assert not found.stopped
        assert found.cost >= 5.05
        assert found[:-1] == one_run(MODEL, index, max_rounds=found.rounds, **settings)[:-1]
        assert one_run(MODEL, index, max_rounds=found.rounds - 1, **settings).cost < 5.05


def test_gaps_are_not_known_before_either():
    found = one_run(GAPS, 0, max_cost=4.0)
    assert found.cost >= 4.0 > one_run(GAPS, 0, max_rounds=found.rounds - 1).cost


def test_a_limit_on_the_pulls():
    found = one_run(MODEL, 0, max_pulls=17)
    assert (found.rounds, found.stopped, found.answers_left) == (17, False, 3)
    assert one_run(MODEL, 0, max_pulls=17, max_cost=100.0) == found
    assert one_run(MODEL, 0, max_pulls=17, policy="uniform", batch=5).rounds == 17


def test_a_limit_that_is_never_met_changes_nothing():
    without = simulate(MODEL, "best-arm", delta=0.2, runs=5, seed=2)
    limited = simulate(MODEL, "best-arm", delta=0.2, runs=5, seed=2, max_cost=1e9, max_pulls=10**9)
    assert limited.run_records == without.run_records
    assert (limited.limited, limited.answers_left, limited.unfinished) == (0, None, 0)


def test_the_summary_says_how_many_and_how_many_answers_were_left():
    found = simulate(MODEL, "best-arm", delta=0.05, runs=20, seed=2, max_cost=60.0)
    left = [run.answers_left for run in found.run_records if not run.stopped]
    assert 0 < found.limited == found.unfinished == len(left)
    assert found.answers_left == np.mean(left)
    assert {run.answers_left for run in found.run_records if run.stopped} <= {None}
    words = f"max_cost 60 ended {found.limited} of them, with {found.answers_left:.3g} answers left on average"
    assert words in str(found)
    assert found.cost_ci is None
    rounds = simulate(MODEL, "best-arm", delta=0.05, runs=3, seed=2, max_rounds=5)
    assert (rounds.limited, rounds.answers_left, rounds.unfinished) == (0, None, 3)
    assert "3 of 3 runs had not stopped after 5 rounds; they are counted" in str(rounds)


def test_answers_that_are_too_many_are_not_counted():
    model = BanditModel("gaussian", [float(arm) for arm in range(7)], costs=[1.0] * 7)
    found = simulate(model, "ranking", delta=0.05, runs=2, max_pulls=9)
    assert (found.limited, found.answers_left) == (2, None)
    assert "max_pulls 9 ended 2 of them; they are counted" in str(found)


def test_a_run_that_cannot_begin():
    found = one_run(MODEL, 0, max_cost=min(MODEL.costs) / 2)
    assert (found.rounds, found.answer, found.answers_left) == (0, "", 3)


def test_the_command_has_both(tmp_path, capsys):
    words = ["simulate", "--family", "bernoulli", "--means", "0.6,0.5", "--costs", "1,2", "--task", "best-arm"]
    words += ["--delta", "0.05", "--runs", "4", "--workers", "1", "--max-cost", "12", "--max-pulls", "50"]
    assert main([*words, "--json", "--csv", str(tmp_path / "runs.csv")]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["limited"], record["unfinished"], record["answers_left"]) == (4, 4, 2.0)
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert lines[0].endswith("widest_gap,count_0,count_1")
    assert main([*words, "--policy", "caet,uniform"]) == 0
    assert (
        "uniform: 4 of 4 runs had not stopped; max_cost 12 or max_pulls 50 ended 4 of them" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_cost": 0}, "max_cost must be positive, got 0"),
        ({"max_cost": -1.0}, "max_cost must be positive"),
        ({"max_cost": float("nan")}, "max_cost must be a number, got nan"),
        ({"max_cost": float("inf")}, "max_cost must be a number, got inf"),
        ({"max_cost": "much"}, "max_cost must be a number, got 'much'"),
        ({"max_pulls": 0}, "max_pulls must be a positive whole number, got 0"),
        ({"max_pulls": 2.5}, "max_pulls must be a positive whole number, got 2.5"),
        ({"max_pulls": 10**5000}, "max_pulls must be at most 9007199254740992"),
    ],
)
def test_what_is_no_limit_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        Parameters(delta=0.05, **given)


@pytest.mark.parametrize("name", ["max_cost", "max_pulls"])
def test_a_limit_is_refused_where_it_would_end_nothing(name):
    with pytest.raises(InputError, match=f"{name} is for simulate and live experiments; a plan has a budget"):
        plan(MODEL, "best-arm", delta=0.05, **{name: 5})
    with pytest.raises(InputError, match=f"{name} is for simulate and live experiments; the horizon ends this"):
        explore_then_commit(GAPS, 100, runs=1, seed=0, **{name: 5})


def test_an_explorer_says_which_limit_it_has_met(tmp_path):
    explorer = Explorer.start("best-arm", "bernoulli", arms=2, delta=0.05, costs=[1, 2], max_cost=3, max_pulls=2)
    assert explorer.limit is None
    for _ in range(2):
        explorer.observe(explorer.next_arm(), 1)
    assert explorer.limit == "max_pulls"
    explorer.save(tmp_path / "saved.json")
    again = Explorer.resume(tmp_path / "saved.json")
    assert (again.limit, again.parameters.ends) == ("max_pulls", {"max_cost": 3.0, "max_pulls": 2})
