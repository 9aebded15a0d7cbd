"""The command line on good input, and when a solver, a pipe or the user stops it."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import read_json, run_command

import caet_opt
from caet_opt import (
    POLICIES,
    BanditModel,
    Bernoulli,
    Exponential,
    Gaussian,
    InputError,
    Poisson,
    Ranking,
    SolverError,
    TieError,
    TopArms,
    characteristic_time,
    read_model,
)
from caet_opt.bandits.families import FAMILIES
from caet_opt.bandits.tasks import TASKS, parse_task
from caet_opt.cli import COMMANDS, check_nothing_left, main, solve
from caet_opt.cli.experiment import VERBS
from caet_opt.common.numbers import digits_supported, format_certified, relative_deviation, round_outward, table
from caet_opt.exploring.prediction import MEASURED
from caet_opt.exploring.settings import SIMULATED
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.presenting.figures import FIGURES
from caet_opt.presenting.tables.formats import FORMATS
from caet_opt.simulating.studies.study import KEYS as KEYS_OF_STUDIES
from caet_opt.solving import compare
from caet_opt.solving.backends import installed_backends
from caet_opt.solving.backends.clarabel import Clarabel
from caet_opt.solving.programs.text import show_program

ROOT = Path(__file__).resolve().parents[2]
PAPER = str(ROOT / "models" / "paper-instance-1.toml")
FLAGS = ["solve", "--family", "gaussian", "--means", "3,4,2", "--costs", "gaps", "--task", "ranking"]
FREE = ["solve", "--family", "gaussian", "--means", "1,2", "--costs", "0,0", "--task", "best-arm"]
KEYS = [
    "task",
    "family",
    "names",
    "means",
    "costs",
    "characteristic_time",
    "lower",
    "upper",
    "gap",
    "cost_proportions",
    "sampling_proportions",
    "statements",
    "binding_statements",
    "statement_weights",
    "solver",
    "iterations",
    "seconds",
]
TIME = 11.656854249492381


# solve --json


def test_json_is_one_object_with_the_keys_of_the_contract(capsys):
    record = read_json(run_command(capsys, *FLAGS, "--json"))
    assert list(record) == KEYS
    assert record["task"] == "ranking"
    assert record["family"] == "gaussian"
    assert record["means"] == [3, 4, 2]
    assert record["costs"] == [1, 0, 2]
    assert record["characteristic_time"] == pytest.approx(TIME, rel=1e-9)
    assert record["lower"] <= TIME <= record["upper"]
    assert record["lower"] < record["characteristic_time"] <= record["upper"]
    assert record["gap"] == (record["upper"] - record["lower"]) / record["upper"] <= 1e-9
    assert record["sampling_proportions"] == pytest.approx([0.585786437627, 0, 0.414213562373], abs=1e-6)
    assert record["cost_proportions"] == pytest.approx([0.414213562373, 0, 0.585786437627], abs=1e-6)
    assert record["binding_statements"] == ["0 > 2"]
    assert record["statement_weights"] == [1.0]
    assert record["iterations"] > 0
    assert record["seconds"] > 0


def test_json_is_the_record_of_the_answer(capsys):
    record = read_json(run_command(capsys, *FLAGS, "--json"))
    result = characteristic_time(BanditModel(Gaussian(), [3, 4, 2], "gaps"), "ranking")
    assert {**result.to_record(), "seconds": 0} == {**record, "seconds": 0}


def test_json_says_what_was_solved(capsys, tmp_path):
    """The names of the arms, and, where means do not say all, what rewards they have and how often."""
    record = read_json(run_command(capsys, "solve", "judge-scores", "--json"))
    assert list(record) == [*KEYS[:5], "distributions", *KEYS[5:]]
    assert record["names"] == ["large", "medium", "small"]
    first, *_ = record["distributions"]
    assert first == {"levels": [0, 0.25, 0.5, 0.75, 1], "probabilities": [0.01, 0.02, 0.12, 0.55, 0.30]}
    for mean, arm in zip(record["means"], record["distributions"], strict=True):
        assert np.dot(arm["levels"], arm["probabilities"]) == pytest.approx(mean)
    (tmp_path / "pilot.csv").write_text("arm,reward\nb,0.5\na,1\nb,0.25\nb,0.5\nb,0\n")
    asked = ("--samples", tmp_path / "pilot.csv", "--family", "bounded:0,1", "--task", "best-arm", "--json")
    record = read_json(run_command(capsys, "solve", *asked))
    assert record["names"] == ["b", "a"]
    assert record["distributions"] == [
        {"levels": [0, 0.25, 0.5], "probabilities": [0.25, 0.25, 0.5], "rewards": 4},
        {"levels": [1], "probabilities": [1], "rewards": 1},
    ]


def test_json_of_a_problem_with_nothing_to_pay(capsys):
    model = ["--family", "bernoulli", "--means", "0,1,0.5", "--costs", "0,0,1", "--task", "comparisons:0-1"]
    record = read_json(run_command(capsys, "solve", *model, "--json"))
    assert list(record) == KEYS
    assert record["characteristic_time"] == record["gap"] == 0
    assert record["sampling_proportions"] == [0, 0, 0]
    assert record["binding_statements"] == record["statement_weights"] == []


def test_json_carries_the_lower_bound_when_delta_is_given(capsys):
    record = read_json(run_command(capsys, *FLAGS, "--json", "--delta", "0.1"))
    assert list(record) == [*KEYS, "lower_bound", "threshold", "predicted_cost", "predicted_rounds"]
    assert record["lower_bound"]["delta"] == 0.1
    assert record["lower_bound"]["kl"] == pytest.approx(TIME * 0.8 * np.log(9))
    assert record["lower_bound"]["log"] == pytest.approx(TIME * np.log(1 / 0.24))


def test_a_delta_below_double_precision_is_given_by_its_logarithm(capsys):
    record = read_json(run_command(capsys, *FLAGS, "--json", "--log-inv-delta", "5000"))
    assert record["lower_bound"] == {"delta": 0, "log_inv_delta": 5000} | dict.fromkeys(
        ("kl", "log"), pytest.approx(TIME * 5000, rel=1e-3)
    )
    assert record["predicted_cost"] == pytest.approx(TIME * 5000, rel=0.02)
    assert "any strategy at log(1/delta) = 5000: at least 582" in run_command(capsys, *FLAGS, "--log-inv-delta", "5000")


def test_solve_predicts_what_simulate_predicts(capsys):
    record = read_json(run_command(capsys, *FLAGS, "--json", "--delta", "0.05"))
    runs = ["simulate", *FLAGS[1:], "--delta", "0.05", "--runs", "1", "--json"]
    simulated = read_json(run_command(capsys, *runs))
    assert record["predicted_cost"] == simulated["predicted_cost"] == pytest.approx(65.5, abs=0.1)
    assert record["threshold"] == simulated["threshold"] == "e-process"


@pytest.mark.parametrize("delta", ["0.5", "0.6", "0.99"])
def test_no_command_states_a_lower_bound_from_half_on(delta, capsys):
    assert f"any {delta}-PAC strategy: at least 0, since guessing" in run_command(capsys, *FLAGS, "--delta", delta)
    bounds = read_json(run_command(capsys, *FLAGS, "--json", "--delta", delta))["lower_bound"]
    assert bounds["kl"] == bounds["log"] == 0
    runs = ["simulate", *FLAGS[1:], "--delta", delta, "--runs", "1", "--max-rounds", "50"]
    assert read_json(run_command(capsys, *runs, "--json"))["lower_bound"] == 0
    assert re.search(r"lower bound +0, over .* zero for delta of 1/2 or more", run_command(capsys, *runs))
    table = ["table", PAPER, "--delta", delta, "--format", "json", "--workers", "1"]
    assert [row["lower_bound"] for row in read_json(run_command(capsys, *table))["rows"]] == [0]


# how models are given


@pytest.mark.parametrize(
    "words",
    [
        "--means -1,2,-3.5",
        "--means -1 2 -3.5",
        "--means=-1,2,-3.5",
        "--means -1, 2, -3.5",
        "--means -1e0 2 -.35e1",
    ],
)
def test_lists_with_commas_spaces_and_negative_numbers(words, capsys):
    argv = [
        "solve",
        *words.split(),
        "--family",
        "gaussian",
        "--costs",
        "1",
        "0.5",
        "2",
        "--task",
        "best-arm",
        "--json",
    ]
    record = read_json(run_command(capsys, *argv))
    assert record["means"] == [-1, 2, -3.5]
    assert record["costs"] == [1, 0.5, 2]


def test_a_file_and_the_flags_give_the_same_answer(capsys):
    by_file = read_json(run_command(capsys, "solve", PAPER, "--json"))
    by_flags = read_json(run_command(capsys, *FLAGS, "--json"))
    assert {**by_file, "seconds": 0} == {**by_flags, "seconds": 0}


@pytest.mark.parametrize(
    "words",
    [
        "solve {} --delta 0.05",
        "plan {} --delta 0.05 --runs 2 --budget 1234567.5",
        "thresholds {} --delta 0.05",
        "simulate {} --delta 0.05 --runs 2",
        "simulate {} --delta 0.05 --runs 2 --policy caet,uniform",
        "table {} --delta 0.05 --columns model,costs,T*,bound,cost_blind_time --significant 6 --no-notes",
        "curve {} --sweep cost:0 --from 100000 --to 1000000 --points 3 --no-figure",
    ],
)
def test_costs_are_plain_numbers(words, tmp_path, capsys):
    """1000000 and 123456.5, not 1e+06; of a table, T* has its certified digits alone."""
    file = tmp_path / "dear.toml"
    file.write_text('family = "gaussian:400"\nmeans = [10, 9.5]\ncosts = [1000000, 123456.5]\ntask = "best-arm"\n')
    out = run_command(
        capsys, *words.format(file).split(), *["--output", tmp_path / "c"][: 2 * words.startswith("curve")]
    )
    assert re.findall(r"\S*\de\+\d\S*", out) == ["5.84379e+09"] * words.startswith("table")
    if words.startswith(("solve", "plan")):
        assert re.search(r"^1 +9.5 +123456.5( |$)", out, re.MULTILINE)


def test_a_file_without_a_task_is_told_one(tmp_path, capsys):
    file = tmp_path / "mine.toml"
    file.write_text('family = "bernoulli"\nmeans = [0.5, 0.3]\n')
    record = read_json(run_command(capsys, "solve", file, "--task", "best-arm", "--json"))
    assert (record["task"], record["means"]) == ("best-arm", [0.5, 0.3])
    assert "task above:0.4, family bernoulli" in run_command(
        capsys, "thresholds", file, "--task", "above:0.4", "--delta", "0.1"
    )


def test_a_task_replaces_the_file_s_and_its_expected_time(capsys):
    out = run_command(capsys, "solve", PAPER, "--task", "best-arm")
    assert "task best-arm" in out
    assert "expected" not in out
    assert "expected" in run_command(capsys, "solve", PAPER, "--task", "ranking")


@pytest.mark.parametrize("names", [["drug A, drug B,placebo"], ["drug A,", "drug B,", "placebo"]])
def test_arm_names_with_commas(names, capsys):
    out = run_command(capsys, *FLAGS, "--arms", *names)
    assert "drug A > placebo (weight 1.000000)" in out


def test_arm_names_as_words(capsys):
    assert "x > z (weight 1.000000)" in run_command(capsys, *FLAGS, "--arms", "x", "y", "z")


@pytest.mark.parametrize("solver", ["clarabel", "ipopt", "pyomo"])
def test_solver_by_name_and_by_profile(solver, capsys):
    if solver not in installed_backends():
        pytest.skip(f"{solver} is not installed")
    for choice in (solver, str(ROOT / "solvers" / f"{solver}.toml")):
        record = read_json(run_command(capsys, *FLAGS, "--solver", choice, "--json"))
        assert record["solver"] == solver
        assert record["characteristic_time"] == pytest.approx(TIME, rel=1e-9)


# the text for people


def test_the_text_shows_arms_pairs_time_and_bounds(capsys):
    lines = run_command(capsys, "solve", PAPER, "--delta", "0.1").splitlines()
    assert lines[0] == read_model(PAPER).title
    assert lines[1] == "task ranking, family gaussian, 3 arms"
    assert re.split("  +", lines[3]) == ["arm", "mean", "cost", "cost proportion", "sampling proportion"]
    assert [line.split() for line in lines[4:7]] == [
        ["0", "3", "1", "0.414214", "0.585786"],
        ["1", "4", "0", "0", "0"],
        ["2", "2", "2", "0.585786", "0.414214"],
    ]
    assert lines[8] == "binding statements: 0 > 2 (weight 1.000000)"
    digits = r"11\.6568542494\d*"
    assert re.match(rf"T\* = {digits}  in \[{digits}, {digits}\], relative gap \d\.\de-1\d$", lines[9])
    assert lines[10].startswith("expected 11.656854249492381, relative deviation ")
    assert "at least 20.49" in lines[11]
    assert "16.635" in lines[11]
    low, high = MEASURED["d"]
    assert lines[12] == (
        "predicted cost of CAET with the e-process threshold: about 55.3, in about 381 rounds; "
        f"in tests of this prediction, mean costs were {low:.2f} to {high:.2f} times that"
    )
    assert lines[13].startswith("solver ")


def test_the_printed_interval_contains_the_certified_one(capsys):
    record = read_json(run_command(capsys, *FLAGS, "--json"))
    _, interval = format_certified(*(record[key] for key in ("characteristic_time", "lower", "upper", "gap")))
    low, high = map(float, interval.strip("[]").split(","))
    assert low <= record["lower"] < record["upper"] <= high


def test_a_result_prints_as_the_command_does(capsys):
    result = characteristic_time(BanditModel(Gaussian(), [3, 4, 2], "gaps"), "ranking")
    lines, shown = str(result).splitlines(), run_command(capsys, *FLAGS).splitlines()
    assert lines[:-1] == shown[:-1]
    assert lines[0] == "task ranking, family gaussian, 3 arms"
    assert lines[-2].startswith("T* = 11.65685424949")
    assert lines[-1].startswith("solver native, ")


def test_a_result_in_a_notebook_is_a_small_table():
    model = BanditModel(Gaussian(), [3, 4, 2], "gaps", ["a<b", "b", "c"])
    html = characteristic_time(model, "ranking")._repr_html_()
    assert html.count("<tr>") == 4
    assert "<td>a&lt;b</td><td>3</td><td>1</td><td>0.414214</td><td>0.585786</td>" in html
    assert "a&lt;b &gt; c (weight 1.000000)" in html
    assert "T* = 11.65685424949" in html


def test_nothing_to_pay_reads_well(capsys):
    out = run_command(capsys, *FREE)
    assert "binding statements: none" in out
    assert "T* = 0  in [0, 0]" in out


def test_digits_supported_is_what_the_gap_allows():
    assert digits_supported(9.99, 1e-4) == 3  # +- 0.001, half a unit of the second decimal is 0.005
    assert digits_supported(1.01, 1e-4) == 4  # +- 0.0001, half a unit of the third decimal is 0.0005
    assert digits_supported(1.0, 0.5) == 1
    assert digits_supported(123.0, 0.9) == 1
    assert digits_supported(1.0, 1e-30) == 15


@pytest.mark.parametrize("value", [1.0, 1.01, 2.5, 9.99, 123456.7, 3.2e-7])
@pytest.mark.parametrize("gap", [1e-2, 3e-6, 1e-9, 7e-13])
def test_the_gap_is_within_half_a_unit_of_the_last_printed_digit(value, gap):
    digits = digits_supported(value, gap)
    unit = 10.0 ** (np.floor(np.log10(value)) + 1 - digits)
    assert value * gap <= 0.5 * unit * (1 + 1e-9)
    assert value * gap * 10 > 0.5 * unit * (1 - 1e-9)


@pytest.mark.parametrize(("low", "high"), [(1.23456, 1.23461), (9.9996, 9.9999), (2e-9, 2.1e-9), (1e20, 2e20)])
def test_intervals_are_rounded_outward(low, high):
    shown = [float(end) for end in round_outward(low, high, 4)]
    assert shown[0] <= low <= high <= shown[1]
    assert shown == pytest.approx([low, high], rel=2e-3)


def test_relative_deviation_from_zero():
    assert relative_deviation(0.0, 0.0) == 0.0
    assert relative_deviation(1e-300, 0.0) == float("inf")
    assert relative_deviation(3.0, 2.0) == 0.5


def test_table_is_aligned():
    assert table(["a", "bb"], [["xxx", "1"], ["y", "22"]]) == "a    bb\nxxx   1\ny    22"


# --cross-check


def test_cross_check_shows_every_backend_and_their_agreement(capsys):
    out = run_command(capsys, "solve", PAPER, "--cross-check")
    for backend in installed_backends():
        assert re.search(rf"^{backend} +11\.65685", out, re.MULTILINE)
    assert f"all {len(installed_backends())} answers overlap" in out


def test_cross_check_as_json(capsys):
    record = read_json(run_command(capsys, "solve", PAPER, "--cross-check", "--json"))
    assert list(record) == ["solvers", "agree"]
    assert record["agree"] is True
    assert [entry["solver"] for entry in record["solvers"]] == list(installed_backends())
    for entry in record["solvers"]:
        assert list(entry) == [*KEYS, "solver_gap"]
        assert entry["characteristic_time"] == pytest.approx(TIME, rel=1e-9)


def fail(self, problem, profile, start=None):
    raise SolverError("out of luck")


def test_cross_check_goes_on_after_a_backend_that_fails(monkeypatch, capsys):
    monkeypatch.setattr(Clarabel, "solve", fail)
    assert main(["solve", PAPER, "--cross-check"]) == 1
    out, err = capsys.readouterr()
    assert re.search(r"^clarabel +failed$", out, re.MULTILINE)
    assert "clarabel failed: solver 'clarabel' failed: out of luck" in out
    assert err == ""
    others = len(installed_backends()) - 1
    assert out.count(" 11.656854") == 3 * others
    assert main(["solve", PAPER, "--cross-check", "--json"]) == 1
    entries = read_json(capsys.readouterr().out)["solvers"]
    assert [entry["solver"] for entry in entries if "error" in entry] == ["clarabel"]


def test_cross_check_tells_when_intervals_do_not_overlap(monkeypatch, capsys):
    truth = compare.characteristic_time

    def skewed(model, task, solver, limits=()):
        result = truth(model, task, solver=solver)
        if solver.backend == installed_backends()[0]:
            object.__setattr__(result, "upper", 0.5 * result.lower)
        return result

    monkeypatch.setattr(compare, "characteristic_time", skewed)
    if len(installed_backends()) < 2:
        pytest.skip("one backend alone cannot disagree")
    assert main(["solve", PAPER, "--cross-check", "--json"]) == 1
    assert read_json(capsys.readouterr().out)["agree"] is False
    assert main(["solve", PAPER, "--cross-check"]) == 1
    assert "do NOT all overlap" in capsys.readouterr().out


# --show-program


def lines_of(text):
    """Lines with single spaces."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_show_program_reads_like_the_paper(capsys):
    lines = lines_of(run_command(capsys, "solve", PAPER, "--show-program"))
    assert "d(x, y) = (x - y)^2 / (2 variance), variances = 1" in lines
    start = lines.index("maximise t")
    assert lines[start + 1 : start + 5] == [
        "subject to t <= w_0 d(3, 4), arm 1 is free (1 > 0)",
        "t <= w_0 d(3, m) + w_2 d(2, m), m = (3 w_0 + 2 w_2) / (w_0 + w_2) (0 > 2)",
        "w_0 + 2 w_2 = 1",
        "w >= 0",
    ]
    assert any(line.startswith("T* = 11.65685") for line in lines)


def test_show_program_with_names_negative_means_and_idle_arms():
    model = BanditModel(Poisson(), [0.5, 2, 0, 1], [1, 0.5, 3, 2], ["a", "b", "c", "d"])
    lines = lines_of(show_program(model, parse_task("comparisons:0-1,1-2")))
    assert "subject to t <= w[b] d(2, m) + w[a] d(0.5, m), m = (2 w[b] + 0.5 w[a]) / (w[b] + w[a]) (b > a)" in lines
    assert "t <= w[b] d(2, m) + w[c] d(0, m), m = (2 w[b]) / (w[b] + w[c]) (b > c)" in lines
    assert "w[a] + 0.5 w[b] + 3 w[c] = 1" in lines
    assert "w[d] = 0, the arm is in no constraint" in lines
    text = show_program(BanditModel(Gaussian(), [3, -1], [1, 1]), Ranking())
    assert "m = (3 w_0 - w_1) / (w_0 + w_1)" in text


def test_show_program_lists_what_it_drops_and_why():
    model = BanditModel(Bernoulli(), [0.0, 0.5, 0.2, 0.1, 0.6], [0, 1, 0, 0, 0])
    lines = lines_of(show_program(model, parse_task("comparisons:0-1,1-2,1-3,2-3,1-4")))
    start = lines.index("statements that constrain nothing")
    assert lines[start + 1 :] == [
        "1 > 0: d(0.5, 0) is infinite, any effort will do",
        "1 > 2: implied by a statement about arm 1 with a nearer free arm or level",
        "1 > 3: implied by a statement about arm 1 with a nearer free arm or level",
        "2 > 3: both arms are free of cost",
    ]
    assert "subject to t <= w_1 d(0.5, 0.6), arm 4 is free (4 > 1)" in lines


def test_show_program_with_levels_margins_and_ratios():
    model = BanditModel(Poisson(), [7, 5, 4], [1, 2, 0])
    lines = lines_of(show_program(model, parse_task("control:1+1")))
    assert "subject to t <= min over y of w_0 d(7, y + 1) + w_1 d(5, y) (0 > 1 + 1)" in lines
    assert "t <= w_1 d(5, 3), arm 2 is free (1 > 2 - 1)" in lines
    assert "min over y of w_0 d(7, 1.1 y) + w_1 d(5, y)" in show_program(model, parse_task("control:1*1.1"))
    lines = lines_of(show_program(BanditModel(Bernoulli(), [0.2, 0.7], [1, 0]), parse_task("control:1-0.8")))
    assert "0 > 1 - 0.8: -0.1 is no mean of the bernoulli family, any effort will do" in lines
    lines = lines_of(show_program(BanditModel(Bernoulli(), [0.2, 0.7], [1, 2]), parse_task("above:0.5")))
    assert "subject to t <= w_0 d(0.2, 0.5) (0 < 0.5)" in lines


def test_show_program_with_nothing_to_pay():
    text = show_program(BanditModel(Gaussian(), [1, 2], [0, 0]), Ranking())
    assert "so T* = 0" in text
    assert "maximise" not in text


def test_show_program_with_a_variance_per_arm():
    lines = lines_of(show_program(BanditModel(Gaussian([1, 4]), [1, 2], [1, 3]), Ranking()))
    assert "d_a is d with the dispersion v_a of arm a, v = 1, 4" in lines
    mean = "m = (2 w_1/v_1 + w_0/v_0) / (w_1/v_1 + w_0/v_0)"
    assert f"subject to t <= w_1 d_1(2, m) + w_0 d_0(1, m), {mean} (1 > 0)" in lines


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"bounded"}))  # which has no formula in means
def test_show_program_states_every_family_s_divergence(family):
    model = BanditModel(FAMILIES[family].parse("2" if family == "gamma" else None), [0.2, 0.5, 0.7], [1, 1, 1])
    text = show_program(model, TopArms(1))
    assert "d(x, y) = " in text
    assert ("shape = 2" in text) == (family == "gamma")


def test_show_program_with_a_user_s_own_family():
    class Mine(Exponential):
        name = "mine"

    text = show_program(BanditModel(Mine(), [1, 2], [1, 1]), Ranking())
    assert "Kullback-Leibler divergence of the mine family" in text


def test_show_program_refuses_a_tie():
    with pytest.raises(TieError, match="arms 0 and 1"):
        show_program(BanditModel(Gaussian(), [1, 1], [1, 1]), Ranking())


# the program around the commands


def test_a_solver_that_fails_is_one_line_and_status_1(monkeypatch, capsys):
    monkeypatch.setattr(Clarabel, "solve", fail)
    assert main([*FLAGS, "--solver", "clarabel"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("caet-opt: error: solver 'clarabel' failed: out of luck; try another solver")
    assert err.count("\n") == 1


def test_a_tolerance_out_of_reach_is_status_1(capsys):
    assert main([*FLAGS, "--tolerance", "1e-17"]) == 1
    assert "above the tolerance 1.0e-17" in capsys.readouterr().err


def test_an_interrupt_is_status_130(monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(solve, "run", interrupt)
    assert main(FLAGS) == 130
    assert capsys.readouterr().err == "caet-opt: interrupted\n"


def test_version_and_help(capsys):
    version = re.escape(caet_opt.__version__)
    printed = run_command(capsys, "--version")
    assert re.fullmatch(rf"caet-opt {version} \((Ipopt( [\d.]+)? by \w+\S* \S+|no Ipopt)\)\n", printed)
    assert ("no Ipopt" in printed) == ("ipopt" not in installed_backends())
    assert "solve " in run_command(capsys, "--help")
    text = run_command(capsys, "solve", "--help")
    assert "examples:" in text
    assert "exit status: 0 success; 1 no certified answer" in text


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("solve", [*FAMILIES, *(set(TASKS) - {"custom"})]),
        ("simulate", [*POLICIES, *THRESHOLDS, *(setting.flag for setting in SIMULATED)]),
        ("sweep", KEYS_OF_STUDIES),
        ("reproduce", FIGURES),
        ("table", FORMATS),
    ],
)
def test_the_help_names_everything_that_is_registered(command, names, capsys):
    words = set(re.split(r"[\s,;:|=()]+", run_command(capsys, command, "--help")))
    assert set(names) - words == set()


@pytest.mark.parametrize("words", [*([name] for name in COMMANDS), *(["experiment", verb] for verb in VERBS)])
def test_the_help_says_no_default_twice(words, capsys):
    text = " ".join(run_command(capsys, *words, "--help").split())
    assert re.findall(r"(\([^()]*\)) \1", text) == []


@pytest.mark.parametrize("words", [*([name] for name in COMMANDS), *(["experiment", verb] for verb in VERBS)])
def test_the_help_fits_a_terminal_and_has_an_example(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    lines = run_command(capsys, *words, "--help").splitlines()
    assert [line for line in lines if len(line) > 110] == []
    assert any(line.startswith(f"  caet-opt {' '.join(words)}") for line in lines)


@pytest.mark.parametrize("words", [["simulate"], ["plan"], ["experiment", "start"]])
def test_what_is_for_experts_stands_apart(words, capsys):
    usual, experts = run_command(capsys, *words, "--help").split("\nfor experts:\n")
    for flag in ("--rho", "--theta", "--constant", "--r", "--r-prime", "--gamma0"):
        assert re.search(rf"^  {flag} ", experts, re.MULTILINE)
        assert not re.search(rf"^  {flag} ", usual, re.MULTILINE)
    assert "--threshold" in usual


def test_the_examples_of_the_help_work(capsys, monkeypatch, tmp_path):
    for folder in ("models", "solvers"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)  # where an example may write its files
    examples = [line.split()[1:] for line in solve.EXAMPLES.splitlines() if line.startswith("  caet-opt ")]
    assert len(examples) >= 5
    for argv in examples:
        solver = argv[argv.index("--solver") + 1] if "--solver" in argv else ""
        if "ipopt" in solver and "ipopt" not in installed_backends():
            continue
        run_command(capsys, *argv)


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "needed"), [(["--help"], []), (["--version"], []), (["solve", "--help"], ["numpy"])], ids=str
)
def test_help_imports_no_numerical_package_that_it_does_not_need(words, needed):
    heavy = ["numpy", "scipy", "pandas", "numba", "cvxpy", "pyomo", "cyipopt", "casadi", "sympy"]
    action = f"from caet_opt.cli import main; main({words})"
    done = run_python(f"{action}; import sys; print('loaded:', [m for m in {heavy} if m in sys.modules])")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"loaded: {needed}"


def test_the_nearest_option_is_found_in_a_usage_in_colour():
    """As Python 3.14 writes it to a terminal."""
    parser = argparse.ArgumentParser(usage="caet-opt solve [\33[32m--json\33[0m] [\33[36m--solver \33[33mS\33[0m]")
    with pytest.raises(InputError, match="did you mean '--solver'"):
        check_nothing_left(["--sovler"], parser)


def test_the_package_imports_no_numerical_package():
    done = run_python("import caet_opt, sys; print([m for m in ('numpy', 'cvxpy') if m in sys.modules])")
    assert done.stdout == "[]\n"


def test_a_closed_pipe_is_quiet():
    code = (
        "import os, sys; from caet_opt.cli import main\n"
        "read, write = os.pipe(); os.close(read); os.dup2(write, 1)\n"
        f"sys.exit(main({FREE}))"
    )
    done = run_python(code)
    assert done.stderr == ""
    assert done.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "caet_opt", *FREE],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "caet-opt: error: cannot write the output (No space left on device)\n"
