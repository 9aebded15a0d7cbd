"""Policies on the same draws: `compare_policies`, and ``caet-opt simulate`` with several policies."""

import csv
import json
import sys
from dataclasses import replace
from statistics import mean

import numpy as np
import pytest
from commands import expect_refusal, read_json, run_command
from inverse_gaussian import InverseGaussian

from caet_opt import BanditModel, InputError, TieError, compare_policies, simulate
from caet_opt.cli import main
from caet_opt.exploring.policies import list_policies
from caet_opt.simulating import runs as sim
from caet_opt.simulating.comparison import ComparisonInterrupted, PolicyComparison, make_experiments, run_policies
from caet_opt.simulating.mean_intervals import mean_interval
from caet_opt.simulating.runs import RunRecord
from caet_opt.simulating.summary import summarise

MODEL = BanditModel("gaussian", [1.5, 0.5, 0.0], costs=[1, 0.1, 0.01])
NAMES = ["uniform", "caet", "top-two"]
FLAGS = ["--family", "gaussian", "--means", "1.5,0.5,0", "--costs", "1,0.1,0.01", "--task", "best-arm"]
QUICK = [*FLAGS, "--delta", "0.1", "--runs", "4", "--workers", "1"]


def each(names=NAMES, **settings):
    """The policies one by one."""
    return [
        simulate(MODEL, "best-arm", policy=name, **{"delta": 0.1, "runs": 4, "seed": 3, **settings}) for name in names
    ]


def compare(names=NAMES, **settings):
    return compare_policies(MODEL, "best-arm", names, **{"delta": 0.1, "runs": 4, "seed": 3, **settings})


# from Python


def test_a_row_is_what_the_policy_does_by_itself():
    frame = compare(runs=12)
    assert frame["policy"].tolist() == NAMES
    for row, summary in zip(frame.to_dict("records"), each(runs=12), strict=True):
        for name in ("runs", "unfinished", "mean_cost", "mean_samples", "error_rate", "guaranteed", "consistent"):
            assert row[name] == getattr(summary, name)
        assert (row["cost_low"], row["cost_high"], row["cost_at_least"]) == (*summary.cost_ci, summary.cost_at_least)
        assert (row["error_low"], row["error_high"]) == summary.error_ci
        assert row["ratio"] == summary.mean_cost / summary.lower_bound
        assert row["microseconds_per_round"] > 0
        assert row["threshold"] == "e-process"


def test_differences_are_paired_with_the_first_policy():
    frame = compare(runs=12)
    first, *others = [summary.records["cost"].tolist() for summary in each(runs=12)]
    assert frame.loc[0, ["difference", "difference_low", "difference_high"]].tolist() == [0.0, 0.0, 0.0]
    for row, costs in zip(frame.to_dict("records")[1:], others, strict=True):
        paired = [cost - of_first for cost, of_first in zip(costs, first, strict=True)]
        assert row["difference"] == pytest.approx(mean(paired))
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(mean_interval(np.array(paired)))
        assert row["difference_low"] < row["difference"] < row["difference_high"]
        assert row["difference"] == pytest.approx(row["mean_cost"] - frame.loc[0, "mean_cost"])


def test_policies_meet_the_same_draws():
    """Without costs to tell apart, Track-and-Stop is CAET and equal spending is uniform, run by run."""
    model = BanditModel("gaussian", [1.5, 0.5, 0.0], costs=[1, 1, 1])
    for pair in (["caet", "track-and-stop"], ["uniform", "equal-spending"]):
        row = compare_policies(model, "best-arm", pair, delta=0.1, runs=10).iloc[1]
        assert row[["difference", "difference_low", "difference_high"]].tolist() == [0.0, 0.0, 0.0]


def test_the_number_of_workers_changes_nothing_and_every_run_is_told():
    told = []
    frame = compare(workers=2, progress=lambda policy, record: told.append((policy, record.index)))
    timed = "microseconds_per_round"
    assert frame.drop(columns=timed).equals(compare().drop(columns=timed))
    assert sorted(told) == sorted((name, index) for name in NAMES for index in range(4))
    assert [policy for policy, _ in told] == [name for name in NAMES for _ in range(4)]


def test_one_run_has_no_interval():
    frame = compare(runs=1)
    missing = frame[["cost_low", "cost_high", "difference_low", "difference_high"]]
    assert missing.isna().all().all()
    assert set(missing.dtypes) == {np.dtype(float)}
    assert frame["difference"].notna().all()


def test_a_delta_without_a_lower_bound_has_no_ratio():
    frame = compare(["uniform"], delta=0.6, runs=2)
    assert frame["ratio"].isna().all()
    assert frame["ratio"].dtype == float


def test_one_name_and_names_with_commas():
    assert compare("uniform", runs=1)["policy"].tolist() == ["uniform"]
    assert compare("uniform, caet", runs=1)["policy"].tolist() == ["uniform", "caet"]


@pytest.mark.parametrize(("task", "number"), [("best-arm", 15), ("ranking", 10)])
def test_all_are_those_that_cover_the_task(task, number):
    experiments = make_experiments(MODEL, task, "all", {"delta": 0.1}, {})
    assert [one.parameters.policy for one in experiments] == list_policies(task)
    assert len(experiments) == number


def test_all_are_those_that_know_the_family():
    model = BanditModel(InverseGaussian(), [3, 1], costs=[1, 1])
    names = [one.parameters.policy for one in make_experiments(model, "best-arm", "all", {"delta": 0.1}, {})]
    assert set(list_policies("best-arm")) - set(names) == {"thompson-top-two"}
    with pytest.raises(InputError, match="knows the shipped families only"):
        compare_policies(model, "best-arm", ["caet", "thompson-top-two"], delta=0.1)


@pytest.mark.parametrize(
    ("task", "policies", "settings", "words"),
    [
        ("ranking", ["caet", "kl-racing"], {}, "policy 'kl-racing' covers best-arm, not ranking"),
        ("ranking", ["caet", "ugape"], {}, "policy 'ugape' covers best-arm and top-arms, not ranking"),
        ("best-arm", ["caet", "uniform", "caet"], {}, "policy 'caet' is named twice"),
        ("best-arm", ["caet", "unifrom"], {}, "unknown policy 'unifrom'; did you mean 'uniform'?"),
        ("best-arm", ["caet", 3], {}, "policy must be a string, got 3"),
        ("best-arm", [], {}, "no policy is named"),
        ("best-arm", ["caet", "all"], {}, "'all' stands for every policy that covers the task; give it alone"),
        ("best-arm", ["caet"], {"policy": "uniform"}, "not also as the setting policy"),
        ("best-arm", ["caet"], {"treshold": "mixture"}, "did you mean 'threshold'"),
        ("best-arm", ["caet"], {"log_inv_delta": 3}, "give either delta"),
        ("best-arm", ["caet"], {"runs": 0}, "runs must be a positive whole number"),
    ],
)
def test_refusals_come_before_the_first_run(monkeypatch, task, policies, settings, words):
    monkeypatch.setattr(sim, "run_number", lambda *_: pytest.fail("nothing must be run"))
    with pytest.raises(InputError) as caught:
        compare_policies(MODEL, task, policies, delta=0.1, **settings)
    assert words in str(caught.value)


def test_a_tie_is_refused():
    with pytest.raises(TieError):
        compare_policies(BanditModel("gaussian", [1, 1], costs=[1, 1]), "best-arm", "uniform", delta=0.1)


def press_at(monkeypatch, policy, index):
    """Press Ctrl-C in this run of this policy."""
    real = sim.run_number

    def run(experiment, seed, number):
        if (experiment.parameters.policy, number) == (policy, index):
            raise KeyboardInterrupt
        return real(experiment, seed, number)

    monkeypatch.setattr(sim, "run_number", run)


def test_an_interruption_keeps_what_is_finished(monkeypatch):
    costs = [summary.records["cost"].tolist() for summary in each()]
    press_at(monkeypatch, "caet", 2)
    with pytest.raises(ComparisonInterrupted) as caught:
        compare()
    assert [record.index for record in caught.value.records] == [0, 1]
    frame = caught.value.comparison.to_frame()
    assert frame[["policy", "runs"]].to_numpy().tolist() == [["uniform", 4], ["caet", 2]]
    assert frame.loc[1, "difference"] == pytest.approx(mean(costs[1][i] - costs[0][i] for i in range(2)))
    assert "up to 4 runs each" in str(caught.value.comparison)


def test_an_interruption_between_two_policies(monkeypatch):
    press_at(monkeypatch, "caet", 0)
    with pytest.raises(ComparisonInterrupted) as caught:
        compare()
    assert [(one.policy, one.runs) for one in caught.value.comparison.summaries] == [("uniform", 4)]
    assert "difference:" not in str(caught.value.comparison)


def test_an_interruption_before_anything_is_finished(monkeypatch):
    press_at(monkeypatch, "uniform", 0)
    with pytest.raises(ComparisonInterrupted) as caught:
        compare()
    assert (len(caught.value.comparison.to_frame()), str(caught.value.comparison)) == (0, "no run is finished")


def test_policies_that_share_no_run_have_no_difference():
    first, second, _ = each(runs=2)
    late = [record._replace(index=record.index + 2) for record in second.run_records]
    apart = PolicyComparison((first, replace(second, run_records=tuple(late))))
    assert np.isnan(apart.to_frame().loc[1, "difference"])
    assert apart.to_records()[1]["difference"] is None
    assert apart.cells(apart.summaries[1])[4:6] == ["-", "-"]


def test_unfinished_runs_make_lower_estimates():
    experiments = make_experiments(MODEL, "best-arm", NAMES, {"delta": 0.1}, {"max_rounds": 2})
    comparison = run_policies(experiments, 3, 0)
    text = str(comparison)
    row = next(line for line in text.splitlines() if line.startswith("uniform ")).split()
    assert (row[1], row[-3]) == (">=", "0/3")
    assert "uniform: 3 of 3 runs had not stopped after 2 rounds; they are counted as far as they went, so mean" in text
    assert "those of uniform make every difference too large" in text
    assert comparison.to_frame()["unfinished"].tolist() == [3, 3, 3]


def test_too_many_errors_are_said():
    summaries = [
        summarise(
            one,
            [
                RunRecord(index, True, one.parameters.policy != "caet", "0", 9, 1.0, 6, 1e-8, (3, 3, 3))
                for index in range(9)
            ],
        )
        for one in make_experiments(MODEL, "best-arm", NAMES, {"delta": 0.1}, {})
    ]
    notes = str(PolicyComparison(tuple(summaries))).splitlines()[-1]
    assert notes.startswith("caet: error rate 1, 95 % in [")
    assert notes.endswith("significantly ABOVE delta")


# the command


def test_the_table(capsys):
    lines = run_command(capsys, "simulate", *QUICK, "--policy", ",".join(NAMES)).splitlines()
    assert lines[0] == "task best-arm, family gaussian, 3 arms"
    assert lines[1] == (
        "3 policies on the same draws, D-tracking for policies that track, known costs; 4 runs each, seed 0, "
        "delta = 0.1; solver native"
    )
    assert lines[2].startswith("threshold e-process: ")
    assert lines[3].startswith("guaranteed for independent Gaussian rewards of variance 1: wrong with")
    assert [line.split("  ")[0] for line in lines[5:7]] == ["T*", "lower bound"]
    assert lines[8].split("  ")[0] == "policy"
    assert [line.split()[0] for line in lines[9:12]] == NAMES
    assert lines[-2] == "difference: cost minus the cost of uniform in the same run, on average"
    assert lines[-1] == "no interval for fewer than 10 runs: uniform, caet, top-two"
    frame = compare(seed=0)
    for line, row in zip(lines[9:12], frame.to_dict("records"), strict=True):
        cells = line.replace("[", "").replace("]", "").replace(",", "").split()
        assert float(cells[1]) == pytest.approx(row["mean_cost"], rel=1e-4)
        assert float(cells[4]) == pytest.approx(row["ratio"], rel=1e-4)
        assert cells[-4:-2] == ["0", "4/4"]
        assert cells[-1] == "us"
    assert lines[9].split()[5:7] == ["-", "-"]
    assert float(lines[10].split()[5]) == pytest.approx(frame.loc[1, "difference"], rel=1e-4)


def test_the_heading_names_only_what_is_used(capsys):
    text = run_command(capsys, "simulate", *QUICK, "--policy", "uniform,top-two")
    assert "2 policies on the same draws, known costs; 4 runs each, seed 0, delta = 0.1\n" in text
    mixed = [*QUICK, "--policy", "uniform,caet", "--solver", "clarabel", "--max-rounds", "9", "--runs", "1"]
    assert "; solver clarabel\n" in run_command(capsys, "simulate", *mixed)
    unused = [*QUICK, "--policy", "uniform", "--solver", "clarabel"]
    assert run_command(capsys, "simulate", *unused).splitlines()[1].endswith("4 runs, seed 0, delta = 0.1")


def test_one_policy_says_what_holds_of_it(capsys):
    def told(policy):
        return run_command(capsys, "simulate", *QUICK, "--policy", policy)

    assert "policy caet with D-tracking, known costs; " in told("caet")
    uniform = told("uniform")
    assert "policy uniform, known costs; 4 runs, seed 0, delta = 0.1\n" in uniform
    assert "upper bound" not in uniform
    assert "predicted" not in uniform
    for policy in ("caet", "top-two-ids"):
        assert "theta T* log(1/delta), as delta tends to 0" in told(policy)


def test_json_is_a_list_of_the_objects_of_each(capsys):
    quick = [*QUICK, "--runs", "12"]
    frame = compare(seed=0, runs=12)
    printed = read_json(run_command(capsys, "simulate", *quick, "--policy", ",".join(NAMES), "--json"))
    assert [one["policy"] for one in printed] == NAMES
    for one, row in zip(printed, frame.to_dict("records"), strict=True):
        alone = read_json(run_command(capsys, "simulate", *quick, "--policy", one["policy"], "--json"))
        assert list(one) == [*alone, "difference", "difference_ci"]
        assert all(one[name] == alone[name] for name in alone if name != "rounds_per_second")
        assert one["difference"] == row["difference"]
        assert one["difference_ci"] == [row["difference_low"], row["difference_high"]]
    single = read_json(run_command(capsys, "simulate", *QUICK, "--policy", "uniform,caet", "--json", "--runs", "1"))
    assert [one["difference_ci"] for one in single] == [None, None]


def test_csv_has_the_policy_first(capsys, tmp_path):
    path = tmp_path / "runs.csv"
    run_command(capsys, "simulate", *QUICK, "--policy", ",".join(NAMES), "--csv", path)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:3] == ["policy", "index", "stopped"]
    assert [(row["policy"], row["index"]) for row in rows] == [(name, str(i)) for name in NAMES for i in range(4)]
    frame = compare(seed=0)
    assert mean(float(row["cost"]) for row in rows[:4]) == pytest.approx(frame.loc[0, "mean_cost"])


def test_ctrl_c_prints_what_is_finished(capsys, monkeypatch, tmp_path):
    press_at(monkeypatch, "caet", 1)
    path = tmp_path / "runs.csv"
    command = ["simulate", *QUICK, "--policy", ",".join(NAMES), "--csv", str(path)]
    assert main([*command, "--json"]) == 130
    out, err = capsys.readouterr()
    assert [(one["policy"], one["runs"]) for one in json.loads(out)] == [("uniform", 4), ("caet", 1)]
    assert err == "caet-opt: interrupted, 5 of 12 runs are finished\n"
    assert len(path.read_text().splitlines()) == 6
    press_at(monkeypatch, "uniform", 1)
    assert main([*command, "--json"]) == 130
    assert len(json.loads(capsys.readouterr().out)) == 1  # still a list: several were asked for


@pytest.mark.parametrize("task", ["best-arm", "ranking"])
def test_all_policies_of_a_task(capsys, task):
    quick = [*QUICK, "--task", task, "--policy", "all", "--runs", "1", "--max-rounds", "9"]
    printed = read_json(run_command(capsys, "simulate", *quick, "--json"))
    assert [one["policy"] for one in printed] == list_policies(task)


def test_the_bar_counts_the_runs_of_all_policies(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["simulate", *QUICK, "--policy", ",".join(NAMES)]) == 0
    assert "0/12 runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "caet,unifrom"], "did you mean 'uniform'"),
        (["--policy", "caet,caet"], "policy 'caet' is named twice"),
        (["--policy", "caet,"], "unknown policy ''"),
        (["--policy", "uniform,kl-lucb", "--task", "ranking"], "covers best-arm and top-arms, not ranking"),
    ],
)
def test_bad_input(capsys, monkeypatch, arguments, words):
    monkeypatch.setattr(sim, "run_number", lambda *_: pytest.fail("nothing must be run"))
    expect_refusal(capsys, "simulate", *QUICK, *arguments, words=words)
