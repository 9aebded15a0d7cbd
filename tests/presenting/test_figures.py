"""``caet-opt reproduce`` in tiny settings: files, columns, tables, and what it refuses."""

import csv
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from commands import expect_refusal, run_command, shorten_figure
from study_files import make_summary

from caet_opt import MissingExtraError
from caet_opt.cli import main
from caet_opt.presenting.figures import FIGURES, Effort, figure_1, proportions, study, style
from caet_opt.solving.result import bound_per_time

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
    assert b"/Type3" not in files["pdf"].read_bytes()
    rows = read(files["csv"])
    assert tuple(rows[0]) == FIGURES[name].columns
    assert all(row["runs"] == "2" for row in rows)
    title, table, written = out.split("\n\n")
    assert "seed 1" in title
    assert len(table.splitlines()) == 1 + lines
    assert all(str(file) in written for file in files.values())


def test_rows_of_figure_1_carry_the_bounds_of_the_theory():
    rows = list(FIGURES["figure-1"].measure(Effort(runs=10)))
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
    titles = [axis.get_title() for axis in canvas.axes[3:]]
    assert titles == [f"$T^{{\\star}} = {time}$" for time in ("11.657", "26.598", "47.962")]


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
    table = reproduced(capsys, "figure-1", "--runs", 1, "--out", tmp_path)
    assert re.search(r"^\(3, 4, 2\) .* {2}-  ", table, re.MULTILINE)
    assert "nan" not in table
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
    looks = [style.find_look(which) for which in range(style.LOOKS)]
    assert len({(look["marker"], look["linestyle"]) for look in looks}) == style.LOOKS >= 15
    assert len({(look["color"], look["marker"]) for look in looks[:15]}) == 15


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
    canvas = study.study_figure(make_summary(policies, **settings))
    found = [text.get_text() for text in canvas.legends[0].get_texts()]
    assert found == ["lower bound", "upper bound, asymptotic", *names]


def test_a_legend_has_the_order_of_the_curves_whichever_panel_has_them():
    some, others = make_summary(["caet", "ctas", "uniform"]), make_summary(["caet", "uniform"]).assign(model="first")
    canvas = study.study_figure(pd.concat([others[:2], some, others[2:]]))
    assert [text.get_text() for text in canvas.legends[0].get_texts()][2:] == ["caet", "ctas", "uniform"]
    rows = proportions.measure_point(next(iter(proportions.INSTANCES)), 5.0, 1, Effort())
    texts = FIGURES["proportions"].draw(rows).legends[0].get_texts()
    assert [text.get_text() for text in texts][1:] == ["arm 0", "arm 1", "arm 2"]


def test_policies_that_differ_between_models_only_are_named():
    first, second = make_summary(["caet"]), make_summary(["uniform"]).assign(model="n")
    canvas = study.study_figure(pd.concat([first, second]))
    assert [axis.get_lines()[-1].get_label() for axis in canvas.axes] == ["caet", "uniform"]


def test_a_study_is_drawn_over_the_level_with_bounds_on_a_grid_of_their_own():
    (axis,) = study.study_figure(make_summary(["caet"])).axes
    lower, upper, cost = axis.get_lines()
    levels = lower.get_xdata()
    assert (levels[0], levels[-1]) == pytest.approx((2.0, 8.0))
    assert len(levels) >= 100
    assert lower.get_ydata() == pytest.approx([10 * bound_per_time(level) / level for level in levels])
    assert upper.get_ydata() == pytest.approx([12.0] * len(levels))
    assert (list(cost.get_xdata()), list(cost.get_ydata())) == ([2.0, 8.0], [20.0, 20.0])
    assert axis.get_ylabel() == r"cost / $\log(1/\delta)$"


def test_a_study_is_drawn_over_the_lower_bound():
    (axis,) = study.study_figure(make_summary(["caet"]), "lower_bound").axes
    lower, upper, cost = axis.get_lines()
    assert lower.get_ydata() == pytest.approx([1.0] * len(lower.get_xdata()))
    assert upper.get_ydata() == pytest.approx([1.2 * level / bound_per_time(level) for level in upper.get_xdata()])
    assert cost.get_ydata() == pytest.approx([2.0 * level / bound_per_time(level) for level in (2.0, 8.0)])
    assert axis.get_ylabel() == "cost / lower bound, logarithmic"


def test_a_lower_bound_of_zero_leaves_a_gap():
    summary = make_summary(["caet"])
    summary.loc[0, ["log_inv_delta", "lower_bound"]] = 0.1, 0.0  # delta = 0.9
    (axis,) = study.study_figure(summary, "lower_bound").axes
    lower, upper, cost = axis.get_lines()
    assert min(lower.get_xdata()) > np.log(2)
    assert np.isfinite([*lower.get_ydata(), *upper.get_ydata()]).all()
    assert list(np.isnan(cost.get_ydata())) == [True, False]


@pytest.mark.parametrize(
    ("models", "width", "rows"), [(8, "page", [4, 4]), (5, "page", [3, 2]), (5, "column", [2, 2, 1])]
)
def test_panels_leave_no_hole(models, width, rows):
    summary = pd.concat([make_summary(["caet"]).assign(model=f"m{at}") for at in range(models)])
    canvas = study.study_figure(summary, width=width)
    tops = [round(axis.get_position().y1, 3) for axis in canvas.axes]
    assert [tops.count(top) for top in dict.fromkeys(tops)] == rows
    canvas.draw_without_rendering()
    for top in set(tops):
        row = [axis.get_position() for axis, found in zip(canvas.axes, tops, strict=True) if found == top]
        assert max(place.x1 for place in row) > 0.95
    assert canvas.get_figwidth() == style.WIDTHS[width]


def test_no_note_and_no_legend_is_wider_than_the_figure():
    canvas = study.study_figure(make_summary([f"policy-{at}" for at in range(16)]), width="column")
    canvas.draw_without_rendering()
    assert canvas.legends[0].get_window_extent().width <= canvas.bbox.width


def test_the_users_own_style_wins():
    import matplotlib as mpl
    from cycler import cycler

    own = {"font.family": ["monospace"], "lines.linewidth": 3.0, "figure.figsize": (4.0, 3.0)}
    with mpl.rc_context(own | {"axes.prop_cycle": cycler(color=["red"])}):
        canvas = study.study_figure(make_summary(["caet"]))
    line = canvas.axes[0].get_lines()[-1]
    assert (line.get_color(), line.get_linewidth()) == ("red", 3.0)
    assert canvas.axes[0].title.get_fontfamily() == ["monospace"]
    assert canvas.get_figwidth() == 4.0


def test_a_figure_that_the_user_saves_has_its_fonts_embedded(tmp_path):
    study.study_figure(make_summary(["caet"])).savefig(tmp_path / "cost.pdf")
    assert b"/Type3" not in (tmp_path / "cost.pdf").read_bytes()
    assert b"/CIDFontType2" in (tmp_path / "cost.pdf").read_bytes()


def test_names_are_text_and_not_mathematics():
    import matplotlib as mpl

    assert style.literal("a $1 arm") == r"a \$1 arm"
    with mpl.rc_context({"text.usetex": True}):
        assert style.literal("50% of a_1") == r"50\% of a\_1"


def test_sixteen_policies_are_told_apart_and_costs_far_apart_are_on_a_logarithmic_axis():
    canvas = study.study_figure(make_summary([f"policy-{at}" for at in range(16)]))
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
        (["regret", "--width", "wide"], "--width: must be column or page, got 'wide'"),
    ],
)
def test_bad_input_is_one_line(capsys, argv, message):
    expect_refusal(capsys, "reproduce", *argv, words=message)
