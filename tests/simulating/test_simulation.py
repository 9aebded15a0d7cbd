"""Many runs and ``caet-opt simulate``."""

import csv
import json
import sys
from dataclasses import replace
from decimal import Decimal
from math import log

import numpy as np
import pytest
from commands import expect_refusal, run_command
from inverse_gaussian import InverseGaussian

from caet_opt import BanditModel, BestArm, InputError, SolverError, TieError, parse_family
from caet_opt.cli import main
from caet_opt.exploring import compiling
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating import runs as sim
from caet_opt.simulating.runs import Experiment, RunRecord, run_many, run_number, run_once
from caet_opt.simulating.streams import COST_DISTRIBUTIONS, ArmStreams
from caet_opt.simulating.summary import simulate, summarise
from caet_opt.solving.profiles import Profile
from cases.runs import without_compiled

KEYS = [
    *("runs", "mean_cost", "cost_ci", "cost_at_least", "quantiles", "mean_samples", "error_rate"),
    "unfinished",
    "limited",
    "answers_left",
    *("characteristic_time", "lower_bound"),
    *("upper_bound", "predicted_cost", "rounds_per_second", "policy", "threshold", "seed", "error_ci", "guaranteed"),
    *("assumes", "mean_solves", "widest_gap"),
]
FAMILY_MEANS = {
    "gaussian": [1, 0],
    "bernoulli": [0.6, 0.3],
    "poisson": [30.0, 2.0],
    "exponential": [1, 2],
    "gamma:2.5": [1, 2],
    "geometric": [1, 2],
}
EASY = ["--family", "gaussian", "--means", "2,0", "--costs", "1,1", "--task", "best-arm", "--delta", "0.1"]
QUICK = [*EASY, "--workers", "1", "--runs", "3"]


def experiment(family, means, costs, task, log_inv_delta, source="known", threshold="mixture", **options):
    model = BanditModel(parse_family(family), means, costs)
    settings = {"log_inv_delta": log_inv_delta, "cost_source": source, "threshold": threshold, **options}
    return Experiment(model, task, Parameters(**settings))


GAPS = BanditModel(parse_family("gaussian"), [Decimal("1.4"), Decimal("0.8")], "gaps")
PAPER = experiment("gaussian", [3, 4, 2], "gaps", "ranking", 10, "gaps", "deviational", theta=1.2, constant=1.0)
BERNOULLI = experiment("bernoulli", [0.8, 0.5, 0.3], [1, 2, 1], "best-arm", 3, threshold="informational")
FREE = experiment("gaussian", [3, 2, 1, 0], [0, 1, 0, 2], "ranking", 5)
RANDOM = experiment("poisson", [3, 1], [1, 2], "best-arm", 2, "observed", cost_distribution="exponential")
EXPERIMENTS = {"paper": PAPER, "bernoulli": BERNOULLI, "free": FREE, "random-costs": RANDOM}


def simulated(capsys, *argv, status=0):
    """Standard output of the command, which says nothing on stderr."""
    return run_command(capsys, "simulate", *argv, status=status)


# many runs


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_compiled_or_not_and_by_any_number_of_workers_the_records_are_the_same(name):
    told = []
    records = run_many(EXPERIMENTS[name], 3, 7)
    assert run_many(EXPERIMENTS[name], 3, 7, workers=2, progress=told.append) == records
    assert sorted(told) == records
    assert [record.index for record in records] == [0, 1, 2]
    assert len({record.rounds for record in records}) > 1
    with without_compiled():
        assert [run_number(EXPERIMENTS[name], 7, index) for index in range(3)] == records


def test_a_run_in_a_process_of_its_own_is_compiled(monkeypatch):
    """As in a worker that was not forked, where nobody has prepared anything."""
    monkeypatch.setattr(compiling, "_loaded", {})
    run_once(PAPER, np.random.SeedSequence(3), 0)
    assert list(compiling._loaded) == [(PAPER.policy, False)]


def test_a_run_depends_on_its_seed_alone():
    seed = np.random.SeedSequence(3, spawn_key=(1,))
    first = run_once(PAPER, seed, 1)
    assert run_once(PAPER, seed, 1) == first == run_many(PAPER, 2, 3)[1]
    assert run_many(PAPER, 2, 4)[1] != first


def test_a_solve_that_fails_says_its_run_and_its_round():
    given = {"threshold": "customary", "solver": Profile("native", max_iterations=2)}
    failing = experiment("bernoulli", [0.5, 0.4, 0.3], [1, 2, 3], "ranking", 20, **given)
    with pytest.raises(SolverError, match=r"^run 0, round 10: solver 'native' reached a certified gap") as raised:
        run_many(failing, 1, 1)
    assert 1e-8 < raised.value.gap < 1.0


def test_a_record_adds_up():
    for record in run_many(FREE, 3, 0):
        assert record.stopped
        assert record.rounds == sum(record.counts)
        assert record.cost == pytest.approx(record.counts[1] + 2 * record.counts[3])
        assert (record.correct, record.answer) == (True, "(0, 1, 2, 3)")


def test_gaps_pay_the_true_gaps():
    (record,) = run_many(PAPER, 1, 0)
    assert record.cost == pytest.approx(record.counts[0] + 2 * record.counts[2])


def test_other_solvers_and_families_run():
    clarabel = BERNOULLI.change(solver="clarabel", max_rounds=12)
    assert run_many(clarabel, 1, 0) == run_many(BERNOULLI.change(max_rounds=12), 1, 0)
    model = BanditModel(InverseGaussian(), [3, 1], [1, 1])
    own = Experiment(model, BestArm(), Parameters(log_inv_delta=1, max_rounds=9))
    assert run_many(own, 1, 0)[0].rounds == 9


@pytest.mark.parametrize("name", COST_DISTRIBUTIONS)
def test_random_costs_have_the_mean_of_the_model(name):
    model = BanditModel(parse_family("gaussian"), [1, 0], [0.0, 0.7])
    streams = ArmStreams(model, np.random.SeedSequence(0), name)
    free, costly = streams.buffers.spending
    assert np.all(free == 0)
    assert costly.mean() == pytest.approx(0.7, abs=5 * costly.std() / np.sqrt(costly.size) + 1e-12)
    assert costly.min() >= 0
    before = streams.buffers.spending.copy(), streams.buffers.rewards.copy()
    streams.buffers.cursor[1] = 4000
    streams.refill(1)
    for buffer, old in zip(
        (streams.buffers.spending[1], streams.buffers.rewards[1]), (before[0][1], before[1][1]), strict=True
    ):
        assert np.array_equal(buffer[:96], old[4000:])  # what was not used comes first
    assert np.any(streams.buffers.rewards[1, 96:] != before[1][1, 96:])
    assert np.any(streams.buffers.spending[1, 96:] != before[0][1, 96:]) == (name != "constant")


@pytest.mark.parametrize("family", FAMILY_MEANS)
def test_a_stream_does_not_depend_on_where_its_blocks_begin(family):
    model = BanditModel(parse_family(family), FAMILY_MEANS[family], [0.5, 0.7])
    whole, parts = (ArmStreams(model, np.random.SeedSequence(3), "exponential", block) for block in (512, 64))
    drawn = []
    for used in (64, 40, 33, 64, 50, 61):
        drawn.append((parts.buffers.rewards[1, :used].copy(), parts.buffers.spending[1, :used].copy()))
        parts.buffers.cursor[1] = used
        parts.refill_used()
    rewards, costs = (np.concatenate(values) for values in zip(*drawn, strict=True))
    assert np.array_equal(rewards, whole.buffers.rewards[1, : rewards.size])
    assert np.array_equal(costs, whole.buffers.spending[1, : costs.size])


def test_rewards_do_not_depend_on_the_distribution_of_costs():
    constant, random = (ArmStreams(RANDOM.model, np.random.SeedSequence(0), name) for name in ("constant", "uniform"))
    assert np.array_equal(constant.buffers.rewards, random.buffers.rewards)


def test_observed_costs_are_what_is_paid():
    (record,) = run_many(RANDOM, 1, 0)
    assert record.stopped
    assert record.cost != pytest.approx(record.counts[0] + 2 * record.counts[1])


# the summary


def test_the_error_rate_of_a_proven_threshold_is_consistent_with_delta():
    easy = experiment("gaussian", [1, 0], [1, 1], "best-arm", log(10))
    summary = summarise(easy, run_many(easy, 100, 0, workers=2), seconds=2.0)
    assert (summary.runs, summary.unfinished, summary.guaranteed) == (100, 0, True)
    assert summary.consistent
    assert summary.error_ci[0] <= summary.error_rate <= min(0.1, summary.error_ci[1])
    assert summary.lower_bound <= summary.cost_ci[0] < summary.mean_cost < summary.cost_ci[1]
    assert summary.rounds_per_second == pytest.approx(50 * summary.mean_samples)


def test_bounds():
    assert PAPER.optimum.value == pytest.approx(11.656854249492381)
    assert PAPER.upper_bound == pytest.approx(1.2 * 10 * 11.656854249492381)
    assert FREE.upper_bound == pytest.approx(5 * FREE.optimum.value)
    easy = experiment("gaussian", [1, 0], [1, 1], "best-arm", log(20))
    assert easy.lower_bound == pytest.approx(easy.optimum.lower_bound(0.05))
    assert experiment("gaussian", [1, 0], [1, 1], "best-arm", 5000).lower_bound == pytest.approx(8 * 5000)


def test_an_asymptotic_run_stays_near_the_bounds():
    far = PAPER.change(delta=None, log_inv_delta=500.0)
    summary = summarise(far, run_many(far, 4, 0, workers=2))
    assert summary.lower_bound < summary.mean_cost < summary.upper_bound
    assert not summary.guaranteed


def record(index, correct, cost=1.0):
    return RunRecord(index, correct is not None, correct, "0", 10, cost, 8, 1e-8, (5, 5))


def test_unfinished_runs_are_counted():
    easy = experiment("gaussian", [1, 0], [1, 1], "best-arm", log(10))
    summary = summarise(easy, [record(0, True), record(1, None, 4.0), record(2, False), record(3, None, 4.0)])
    assert (summary.runs, summary.unfinished, summary.error_rate) == (4, 2, 0.25)
    assert summary.mean_cost == 2.5
    assert summary.lower_estimate
    assert summary.error_ci == pytest.approx((0.006309, 0.993691), abs=1e-6)
    assert summary.rounds_per_second is None


def test_too_many_errors_are_noticed():
    easy = experiment("gaussian", [1, 0], [1, 1], "best-arm", log(10))
    assert summarise(easy, [record(i, i >= 4) for i in range(10)]).consistent is True  # P(X >= 4) = 0.0128
    assert summarise(easy, [record(i, i >= 5) for i in range(10)]).consistent is False  # P(X >= 5) = 0.0016


def test_one_run_has_no_interval_and_none_no_summary():
    assert summarise(FREE, [record(0, True)]).cost_ci is None
    with pytest.raises(InputError, match="no run"):
        summarise(FREE, [])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threshold": "mixtur"}, "did you mean 'mixture'"),
        ({"theta": 1.0, "threshold": "deviational"}, "above 1"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"max_rounds": 10**20}, "max_rounds must be at most 1000000000000000"),
        ({"max_rounds": 10**5000}, "got a number beyond"),
        ({"max_rounds": 2.5}, "whole number"),
        ({"cost_distribution": "normal"}, "unknown cost distribution"),
        ({"cost_distribution": "uniform"}, "must be observed"),
        ({"cost_source": "observed", "cost_distribution": "bernoulli"}, "at most 1"),
        ({"cost_source": "gaps"}, "whose costs are 'gaps'"),
        ({"solver": "cplex"}, "unknown solver"),
    ],
)
def test_an_impossible_experiment_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        BERNOULLI.change(**change)
    with pytest.raises(InputError, match="7"):
        replace(BERNOULLI, task="top-arms:7")


def test_gaps_of_decimals_are_gaps():
    assert GAPS.costs == (0.0, 0.6)
    assert Experiment(GAPS, BestArm(), Parameters(log_inv_delta=3)).parameters.cost_source == "gaps"


@pytest.mark.parametrize("change", [{"theta": 1.5}, {"r": 0.5}, {"r_prime": 0.125}], ids=str)
def test_outside_the_theory_there_is_no_upper_bound(change):
    assert PAPER.change(theta=1.3, r=0.49, r_prime=0.12).upper_bound == pytest.approx(PAPER.upper_bound * 1.3 / 1.2)
    assert PAPER.change(**change).upper_bound is None


@pytest.mark.parametrize(("runs", "seed", "workers"), [(0, 0, 1), (1, -1, 1), (1, 0, 0), (1.5, 0, 1)])
def test_impossible_numbers_of_runs_are_refused(runs, seed, workers):
    with pytest.raises(InputError, match="whole number"):
        run_many(FREE, runs, seed, workers)


def test_a_tie_has_no_characteristic_time():
    with pytest.raises(TieError):
        _ = experiment("gaussian", [1, 1], [1, 1], "best-arm", 3).optimum


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_keeps_what_is_finished(workers):
    def interrupt(_):
        finished.append(_)
        if len(finished) == 2:
            raise KeyboardInterrupt

    finished = []
    with pytest.raises(sim.Interrupted) as caught:
        run_many(PAPER, 50, 0, workers, progress=interrupt)
    assert caught.value.records == sorted(finished)
    assert len(finished) == 2


# from Python


def test_simulate_is_the_command(capsys):
    model = BanditModel(parse_family("gaussian"), [2, 0], [1, 1])
    found = simulate(model, "best-arm", policy="caet", delta=0.1, runs=3)
    printed = json.loads(simulated(capsys, *QUICK, "--json"))
    told = json.loads(json.dumps(found.to_record()))
    assert list(told) == list(printed) == KEYS
    assert {**told, "rounds_per_second": None} == {**printed, "rounds_per_second": None}
    assert str(found).splitlines()[:-1] == simulated(capsys, *QUICK).splitlines()[1:-1]


def test_a_model_takes_its_family_by_name():
    assert BanditModel("gaussian:4", [2, 0], [1, 1]) == BanditModel(parse_family("gaussian:4"), [2, 0], [1, 1])
    with pytest.raises(InputError, match="did you mean 'gaussian'"):
        BanditModel("gausian", [2, 0], [1, 1])


def test_the_records_are_a_frame():
    found = simulate(PAPER.model, "ranking", delta=0.1, runs=3, seed=2, max_rounds=150)
    experiment = Experiment(PAPER.model, "ranking", Parameters(delta=0.1, max_rounds=150))
    assert found.records.columns.tolist() == [
        *("run", "stopped", "correct", "answer", "rounds", "cost", "solves", "widest_gap", "counts")
    ]
    assert [tuple(row) for row in found.records[["run", "rounds", "cost", "counts"]].to_numpy()] == [
        (record.index, record.rounds, record.cost, record.counts) for record in run_many(experiment, 3, 2)
    ]
    assert found.records["cost"].mean() == pytest.approx(found.mean_cost)
    assert found.records["correct"].isna().sum() == found.unfinished
    assert "<td>e-process</td>" in found._repr_html_()


def test_simulate_checks_before_it_runs(monkeypatch):
    monkeypatch.setattr("caet_opt.simulating.summary.run_many", lambda *_: pytest.fail("nothing must be run"))
    model = BanditModel(parse_family("gaussian"), [2, 2], [1, 1])
    for given, words in (
        ({"delta": 0.1}, "equal means"),
        ({}, "give either delta"),
        ({"delta": 0.1, "treshold": "mixture"}, "did you mean 'threshold'"),
        ({"delta": 0.1, "policy": "oracel"}, "unknown policy"),
    ):
        with pytest.raises(InputError, match=words):
            simulate(model, "best-arm", **given)


# the command


def test_json(capsys):
    printed = json.loads(simulated(capsys, *QUICK, "--json"))
    assert list(printed) == KEYS
    assert (printed["runs"], printed["policy"], printed["threshold"], printed["seed"]) == (3, "caet", "e-process", 0)
    assert printed["characteristic_time"] == pytest.approx(2.0)
    assert printed["rounds_per_second"] > 0
    assert json.loads(simulated(capsys, *QUICK, "--json", "--workers", 2))["mean_cost"] == printed["mean_cost"]
    assert json.loads(simulated(capsys, *QUICK, "--json", "--seed", 1))["mean_cost"] != printed["mean_cost"]
    assert json.loads(simulated(capsys, *QUICK, "--json", "--runs", 1))["cost_ci"] is None


def test_csv(capsys, tmp_path):
    path = tmp_path / "runs.csv"
    printed = json.loads(simulated(capsys, *QUICK, "--json", "--csv", path))
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "index",
        "stopped",
        "correct",
        "answer",
        "rounds",
        "cost",
        "solves",
        "widest_gap",
        "count_0",
        "count_1",
    ]
    assert [row["index"] for row in rows] == ["0", "1", "2"]
    assert sum(float(row["cost"]) for row in rows) / 3 == pytest.approx(printed["mean_cost"])
    assert all(int(row["rounds"]) == int(row["count_0"]) + int(row["count_1"]) for row in rows)


def test_text(capsys):
    printed = simulated(capsys, *QUICK)
    for words in (
        "policy caet with D-tracking, known costs; 3 runs, seed 0, delta = 0.1; solver native\n",
        "\nguaranteed for independent Gaussian rewards of variance 1: wrong with probability at most 0.1 (proven, "
        "however often you look)\n",
        "consistent with delta",
        "lower bound",
        "T* beta(tau) at this delta; in tests of this prediction, mean costs were 0.83 to 1.30 times that",
        "unfinished   0",
        "rounds per second",
    ):
        assert words in printed


def test_text_of_an_unproven_threshold_and_unfinished_runs(capsys):
    printed = simulated(capsys, *QUICK, "--threshold", "customary", "--max-rounds", 2, "--tracking", "d")
    assert "\nNOT GUARANTEED: no proof that the error probability stays below delta (not proven for any" in printed
    assert "D-tracking" in printed
    assert "mean cost    at least 2," in printed
    assert "2 of 3 runs had not stopped after 2 rounds" in printed


def test_costs_of_the_command(capsys):
    regret = ["--family", "gaussian", "--means", "2,0", "--costs", "gaps", "--task", "best-arm", "--delta", "0.1"]
    assert "costs are the gaps to the best arm" in simulated(capsys, *regret, "--runs", 1)
    assert "known costs" in simulated(capsys, *regret, "--runs", 1, "--cost-source", "known")
    random = ["--cost-source", "observed", "--cost-distribution", "uniform"]
    assert "observed costs (uniform)" in simulated(capsys, *QUICK, *random)


def test_options_reach_the_algorithm(capsys):
    options = ["--threshold", "deviational", "--theta", "1.5", "--constant", "certified"]
    printed = simulated(capsys, *QUICK, *options, "--r", "0.7", "--r-prime", "0.2", "--gamma0", "0.01")
    assert "theta = 1.5" in printed
    assert "(certified)" in printed
    assert "upper bound  not proven: the proof needs theta <= e/2, r < 1/2, r_prime < 1/8 and, if costs" in printed
    assert "; solver native (lazy); batch 7\n" in simulated(capsys, *QUICK, "--solve", "lazy", "--batch", 7)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--delta", "0"], "strictly between 0 and 1"),
        (["--delta", "1"], "strictly between 0 and 1"),
        (["--delta", "nan"], "must be a number, got 'nan'"),
        (["--delta", "small"], "must be a number"),
        (["--log-inv-delta", "3"], "either --delta"),
        (["--runs", "0"], "positive whole number"),
        (["--runs", "2.5"], "must be a positive whole number"),
        (["--seed", "-1"], "--seed"),
        (["--workers", "0"], "positive whole number"),
        (["--max-rounds", "0"], "positive whole number"),
        (["--policy", "caat"], "did you mean 'caet'"),
        (["--threshold", "mixtures"], "did you mean 'mixture'"),
        (["--theta", "1.2"], "takes no theta"),
        (["--threshold", "deviational", "--theta", "1"], "above 1"),
        (["--threshold", "deviational", "--constant", "big"], "'certified'"),
        (["--tracking", "e"], "unknown tracking 'e'; known: c, d"),
        (["--r", "0"], "r must be positive"),
        (["--outside-theory"], "unknown option '--outside-theory'"),
        (["--gamma0", "0"], "gamma0 must be positive"),
        (["--cost-source", "guessed"], "known: gaps, known, observed"),
        (["--cost-source", "gaps"], "whose costs are 'gaps'"),
        (["--cost-distribution", "uniform"], "must be observed"),
        (["--solver", "cplex"], "unknown solver"),
        (["--loop", "reference"], "unknown option '--loop'"),
        (["--means", "1,1"], "equal means"),
        (["--csv", "/nowhere/at/all.csv"], "cannot be written"),
        (["--trackin", "c"], "did you mean '--tracking'"),
        (["--max-rounds", "99999999999999999999"], "must be at most"),
        (["--family", "poisson", "--means", "1e20,1"], "can be up to 1e+18"),
        (["--family", "geometric", "--means", "1e17,1"], "can be up to 1e+16"),
        (["--family", "exponential", "--means", "1e101,1"], "can be up to 1e+100"),
        (["--family", "exponential", "--means", "1e-300,1e-299"], "can be as small as 1e-290"),
        (["--family", "gamma:0.001", "--means", "2,1"], "for shapes from 0.05"),
        (["--costs", "1e101,1"], "costs must be at most 1e+100"),
        (["--r", "1e5", "--r-prime", "1e300", "--delta", "0.9"], "--r-prime = 1e+300 is too large"),
    ],
)
def test_bad_input(capsys, monkeypatch, arguments, words):
    monkeypatch.setattr("caet_opt.simulating.comparison.run_many", lambda *_, **__: pytest.fail("nothing must be run"))
    expect_refusal(capsys, "simulate", *EASY, *arguments, words=words)


def test_neither_delta_nor_its_logarithm(capsys):
    expect_refusal(capsys, "simulate", *EASY[:-2], words="--log-inv-delta")
    expect_refusal(capsys, "simulate", *EASY[:-2], "--log-inv-delta", "inf", words="must be a number, got 'inf'")


@pytest.mark.parametrize("level", ["1e-17", "1e-300", "1e-16", "1e101", "1e308"])
def test_a_delta_that_is_no_double_below_one(capsys, level):
    words = "log(1/delta) must lie in [1e-15, 1e+100]"
    expect_refusal(capsys, "simulate", *EASY[:-2], "--log-inv-delta", level, words=words)


def test_the_extremes_of_what_is_allowed(capsys):
    for words in (
        ["--log-inv-delta", "1e-15"],
        ["--log-inv-delta", "1e100", "--max-rounds", "20"],
        ["--log-inv-delta", "0.5", "--r", "1e5"],
        ["--delta", "0.1", "--family", "poisson", "--means", "1e18,1"],
        ["--delta", "0.1", "--costs", "1e100,1"],
        ["--delta", "0.1", "--max-rounds", str(10**9)],
    ):
        printed = json.loads(simulated(capsys, *EASY[:-2], *words, "--json", "--workers", 1, "--runs", 2))
        assert printed["runs"] == 2


def test_interruption_prints_what_is_finished(capsys, monkeypatch, tmp_path):
    real = sim.run_number

    def interrupted(experiment, seed, index):
        if index == 2:
            raise KeyboardInterrupt
        return real(experiment, seed, index)

    monkeypatch.setattr(sim, "run_number", interrupted)
    path = tmp_path / "runs.csv"
    assert main(["simulate", *QUICK, "--runs", "9", "--json", "--csv", str(path)]) == 130
    out, err = capsys.readouterr()
    assert json.loads(out)["runs"] == 2
    assert err == "caet-opt: interrupted, 2 of 9 runs are finished\n"
    assert len(path.read_text().splitlines()) == 3


def test_interruption_before_anything_is_finished(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sim, "run_number", interrupted)
    assert main(["simulate", *QUICK]) == 130
    out, err = capsys.readouterr()
    assert (out, err) == ("", "caet-opt: interrupted, 0 of 3 runs are finished\n")


def test_the_bar_is_for_terminals(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["simulate", *QUICK]) == 0
    assert "0/3 runs" in capsys.readouterr().err
