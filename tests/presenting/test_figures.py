"""``caet-opt reproduce`` in tiny settings: files, columns, tables, and what it refuses."""

import csv
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from commands import expect_refusal, run_command, shorten_figure
from study_files import make_summary

from caet_opt import MissingExtraError
from caet_opt.cli import main
from caet_opt.presenting.figures import FIGURES, figure_1, proportions, study, style
from caet_opt.presenting.figures.style import Effort

PNG, PDF = b"\x89PNG", b"%PDF"


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Two deltas or horizons per instance."""
    shorten_figure(monkeypatch, "figure-1", (2.0, 5.0))
    shorten_figure(monkeypatch, "proportions", (3.0, 8.0))
    shorten_figure(monkeypatch, "regret", (100, 1000), first=1)


def reproduced(capsys, *argv):
    """Standard output of a command that succeeds and says nothing on stderr."""
    return run_command(capsys, "reproduce", *argv, "--workers", "1")


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("name", "lines"), [("figure-1", 6), ("proportions", 14), ("regret", 2)])
def test_a_figure_is_written_as_png_pdf_csv_and_table(capsys, tmp_path, name, lines):
    out = reproduced(capsys, name, "--runs", 2, "--out", tmp_path / "new")
    files = {suffix: tmp_path / "new" / f"{name}.{suffix}" for suffix in ("png", "pdf", "csv")}
    assert files["png"].read_bytes().startswith(PNG)
    assert files["pdf"].read_bytes().startswith(PDF)
    rows = read(files["csv"])
    assert tuple(rows[0]) == FIGURES[name].columns
    assert all(row["runs"] == "2" for row in rows)
    title, table, written = out.split("\n\n")
    assert "seed 1" in title
    assert len(table.splitlines()) == 1 + lines
    assert all(str(file) in written for file in files.values())


def test_rows_of_figure_1_carry_the_bounds_of_the_theory():
    rows = list(FIGURES["figure-1"].measure(Effort(runs=3)))
    assert [(row.instance, row.log_inv_delta) for row in rows] == [
        (name, level) for name in ("(3, 4, 2)", "(1.4, 0.8, 0.3)", "(0.5, 0.9, 0.2)") for level in (2.0, 5.0)
    ]
    for row in rows:
        assert row.upper_bound == pytest.approx(1.2 * row.characteristic_time * row.log_inv_delta)
        assert row.lower_bound < row.mean_cost
        assert row.cost_low < row.mean_cost < row.cost_high
    assert rows[0].characteristic_time == pytest.approx(11.656854249492381)
    assert rows[-1].characteristic_time == pytest.approx(47.962233876129694)
    canvas = FIGURES["figure-1"].draw(rows)
    titles = [axis.get_title().split(",  ")[1] for axis in canvas.axes[:3]]
    assert titles == ["T* = 11.657", "T* = 26.598", "T* = 47.962"]


def test_the_instance_of_the_authors_readme_is_drawn_over_its_own_range():
    for levels in figure_1.INSTANCES[0.5, 0.9, 0.2]:
        assert (min(levels), max(levels)) == (30.0, 100.0)


def test_figure_1_falls_between_the_bounds():
    for means in figure_1.INSTANCES:
        (row,) = figure_1.measure_point(means, 100.0, 16, Effort(seed=1))
        assert row.characteristic_time < row.per_log("mean_cost") < 1.2 * row.characteristic_time
        assert row.unfinished == 0


def test_shares_add_up_and_approach_their_limits():
    rows = proportions.measure_point(list(proportions.INSTANCES)[1], 100.0, 4, Effort())
    alpha = 1.0 - 100.0**-0.4
    parts = [row.share * (1.0 if row.kind == "free" else 1.0 - alpha) for row in rows]
    assert sum(parts) == pytest.approx(1.0)
    assert [row.limit for row in rows if row.kind == "free"] == [0.5, 0.5]
    assert sum(row.limit for row in rows if row.kind == "costly") == pytest.approx(1.0)
    for row in rows:
        assert row.share == pytest.approx(row.target, abs=0.08)


def test_the_seed_decides_and_the_workers_do_not():
    first, again, spread, other = (
        list(FIGURES["figure-1"].measure(effort))
        for effort in (Effort(runs=2), Effort(runs=2), Effort(runs=2, workers=2), Effort(runs=2, seed=5))
    )
    assert first == again == spread != other


def test_full_has_more_points_and_runs():
    figure = FIGURES["figure-1"]
    assert figure.choose_runs(Effort(full=True)) == 1000
    assert figure.choose_runs(Effort(full=True, runs=3)) == 3
    levels = [level for _, full in figure_1.INSTANCES.values() for level in full]
    assert figure.plan(Effort(full=True, runs=2)) == [level for level in levels for _ in range(2)]
    assert len(figure_1.FULL) > 8
    assert len(proportions.FULL) > 6


def test_an_interrupted_run_keeps_its_rows(capsys, tmp_path, monkeypatch):
    run_many, seen = figure_1.run_many, []

    def interrupted(*arguments):
        seen.append(arguments)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return run_many(*arguments)

    monkeypatch.setattr(figure_1, "run_many", interrupted)
    assert main(["reproduce", "figure-1", "--runs", "2", "--out", str(tmp_path), "--workers", "1"]) == 130
    out, err = capsys.readouterr()
    assert err == "caet-opt: interrupted\n"
    assert len(read(tmp_path / "figure-1.csv")) == 2
    assert out.count("(3, 4, 2)") == 2
    assert not (tmp_path / "figure-1.png").exists()


def test_a_single_run_is_drawn_without_a_band(capsys, tmp_path):
    assert "nan" in reproduced(capsys, "figure-1", "--runs", 1, "--out", tmp_path)
    assert (tmp_path / "figure-1.png").stat().st_size > 10_000


def test_missing_matplotlib_is_named_before_anything_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(style, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError):
        style.require_matplotlib()
    assert main(["reproduce", "figure-1", "--out", str(tmp_path / "new")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    commands = "pip install 'caet-opt[plot]', or in a clone: pip install '.[plot]'"
    assert err == f"caet-opt: error: figures need matplotlib; install it with: {commands}\n"
    assert not (tmp_path / "new").exists()


def test_many_curves_are_told_apart_without_colour():
    marks = [(marker, line) for _, marker, line in style.CURVES]
    assert len(set(marks)) == len(marks) >= 15
    assert len({(colour, marker) for colour, marker, _ in style.CURVES[:15]}) == 15


@pytest.mark.parametrize(
    ("policies", "settings", "names"),
    [
        (["caet"], {}, ["CAET"]),
        (["caet"], {"threshold": ["mixture", "customary"]}, ["CAET, mixture", "CAET, customary"]),
        (["uniform"], {"threshold": ["mixture", "customary"]}, ["uniform, mixture", "uniform, customary"]),
        (["caet", "uniform"], {}, ["caet", "uniform"]),
        (["caet", "ctas"], {"r": [0.3, 0.4]}, ["caet, r = 0.3", "caet, r = 0.4", "ctas, r = 0.3", "ctas, r = 0.4"]),
    ],
)
def test_curves_of_a_study_are_named_by_policy(policies, settings, names):
    canvas = study.draw(make_summary(policies, **settings))
    found = [text.get_text() for text in canvas.legends[0].get_texts()]
    assert found == ["lower bound", "upper bound, asymptotic", *names]


def test_a_legend_has_the_order_of_the_curves_whichever_panel_has_them():
    some, others = make_summary(["caet", "ctas", "uniform"]), make_summary(["caet", "uniform"]).assign(model="first")
    canvas = study.draw(pd.concat([others[:2], some, others[2:]]))
    assert [text.get_text() for text in canvas.legends[0].get_texts()][2:] == ["caet", "ctas", "uniform"]
    rows = proportions.measure_point(next(iter(proportions.INSTANCES)), 5.0, 1, Effort())
    texts = FIGURES["proportions"].draw(rows).legends[0].get_texts()
    assert [text.get_text() for text in texts] == ["arm 0", "arm 1", "arm 2"]


def test_policies_that_differ_between_models_only_are_named():
    first, second = make_summary(["caet"]), make_summary(["uniform"]).assign(model="n")
    canvas = study.draw(pd.concat([first, second]))
    assert [axis.get_lines()[-1].get_label() for axis in canvas.axes] == ["caet", "uniform"]


@pytest.mark.parametrize(
    ("over", "lower", "upper", "cost"), [("log_inv_delta", 8, 12, 20), ("lower_bound", 1, 1.5, 2.5)]
)
def test_a_study_is_drawn_over_the_level_or_the_lower_bound(over, lower, upper, cost):
    (axis,) = study.draw(make_summary(["caet"]), over).axes
    assert [list(line.get_ydata()) for line in axis.get_lines()] == [[value] * 2 for value in (lower, upper, cost)]
    assert axis.get_ylabel() == f"cost / {study.DIVISORS[over]}"


def test_a_lower_bound_of_zero_leaves_a_gap():
    summary = make_summary(["caet"])
    summary.loc[0, "lower_bound"] = 0.0
    (axis,) = study.draw(summary, "lower_bound").axes
    assert [list(np.isnan(line.get_ydata())) for line in axis.get_lines()] == [[True, False]] * 3


def test_sixteen_policies_are_told_apart_and_costs_far_apart_are_on_a_logarithmic_axis():
    canvas = study.draw(make_summary([f"policy-{at}" for at in range(16)]))
    (axis,) = canvas.axes
    drawn = [line for line in axis.get_lines() if line.get_label().startswith("policy-")]
    assert len({(line.get_marker(), line.get_linestyle()) for line in drawn}) == 16
    assert axis.get_yscale() == "log"


def test_importing_the_figures_does_not_import_matplotlib():
    code = "import sys, caet_opt.presenting.figures; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["figure1"], "did you mean 'figure-1'?"),
        (["proportion"], "did you mean 'proportions'?"),
        (["xyz"], "known: figure-1, policies, proportions, regret"),
        ([], "FIGURE"),
        (["regret", "--runs", "0"], "--runs: must be a positive whole number, got '0'"),
        (["regret", "--runs", "-3"], "--runs: must be a positive whole number, got '-3'"),
        (["regret", "--workers", "two"], "--workers: must be a positive whole number, got 'two'"),
        (["regret", "--seed", "-1"], "--seed: must be a whole number, zero or more, got '-1'"),
        (["regret", "--seed", "1.5"], "--seed: must be a whole number, zero or more, got '1.5'"),
        (["regret", "--out", "/dev/null/x"], "--out /dev/null/x: cannot be written"),
        (["regret", "--out", "/proc"], "--out /proc: cannot be written"),
        (["regret", "--ful"], "did you mean '--full'?"),
    ],
)
def test_bad_input_is_one_line(capsys, argv, message):
    expect_refusal(capsys, "reproduce", *argv, words=message)
