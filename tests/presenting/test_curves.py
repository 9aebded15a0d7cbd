"""Curves: values, switches of binding pairs, ties, closed forms, files, and what is refused."""

import csv
import json
import shlex
from math import sqrt
from pathlib import Path

import matplotlib as mpl
import matplotlib.image
import matplotlib.style
import pytest
from commands import expect_refusal, run_command
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import (
    BanditModel,
    Bernoulli,
    Gaussian,
    InputError,
    Ranking,
    SolverError,
    characteristic_time,
    read_model,
    trace_curve,
)
from caet_opt.cli import curve as command
from caet_opt.cli import main
from caet_opt.presenting import curves
from caet_opt.presenting.curves import largest_deviation, parse_sweep
from caet_opt.presenting.figures import curve as figure
from caet_opt.presenting.figures import style

ROOT = Path(__file__).resolve().parents[2]
PAPER = str(ROOT / "models" / "paper-instance-1.toml")
GOLDEN = (3 + sqrt(5)) / 2
PATH = ["curve", PAPER, "--sweep", "mean:2", "--from", "0", "--to", "2.5", "--points", "11"]
RANKING = BanditModel(Gaussian(), [3, 4, 2], "gaps")


# values and switches


def test_the_switch_is_where_the_branches_of_the_closed_form_meet():
    """With gaps as costs both pairs bind from Delta_3 = 2.618 Delta_2 on; here Delta_2 = 1 and Delta_3 = 4 - mean."""
    curve = trace_curve(RANKING, "ranking", "mean:2", 0, 2.5, 11)
    (switch,) = curve.switches
    assert switch.value == pytest.approx(4 - GOLDEN, abs=1e-6)
    assert (str(switch.statement), switch.starts) == ("1 > 0", False)
    assert largest_deviation(curve) < 1e-9
    for point in curve.points:
        second, third = 1.0, 4 - point.value
        if third <= GOLDEN * second:
            expected = 2 / (sqrt(third) - sqrt(second)) ** 2
        else:
            expected = 2 * (third - second) / (second * (third - 2 * second))
        assert point.result.value == pytest.approx(expected, rel=1e-9)
        assert point.closed_form == "three-arm-ranking-gaps"


@given(st.floats(0.5, 2), st.floats(0.5, 4), st.floats(0.2, 5))
def test_the_switch_of_any_costs_is_where_h_meets_its_bound(near, far_cost, near_cost):
    """Costs (0, c_2, c_3): only the pair of costly arms binds up to h^2 = g^2 (1 + sqrt(c_3 / c_2))."""
    model = BanditModel(Gaussian(), [0.0, -near, -near - 1], [0, near_cost, far_cost])
    bound = near * sqrt(1 + sqrt(far_cost / near_cost))
    curve = trace_curve(model, "ranking", "mean:2", -near - 2 * bound, -near - 0.3 * bound, 6)
    (switch,) = curve.switches
    assert switch.value == pytest.approx(-near - bound, rel=1e-5)


def test_points_agree_with_single_solves_and_the_switch_joins_them():
    curve = trace_curve(RANKING, "ranking", "mean:2", 0, 2.5, 6)
    assert [point.kind for point in curve.points].count("switch") == 1
    values = [point.value for point in curve.points]
    assert values == sorted(values)
    for point in curve.points:
        alone = characteristic_time(BanditModel(Gaussian(), [3, 4, point.value], "gaps"), "ranking")
        assert point.result.value == pytest.approx(alone.value, rel=1e-11)
        assert point.result.cost_proportions == pytest.approx(alone.cost_proportions, abs=1e-5)


def test_gaps_follow_a_mean_and_freeze_around_a_cost():
    at, _ = parse_sweep("mean:0", RANKING).at(RANKING, Ranking(), 3.5)
    assert (at.means, at.costs, at.cost_rule) == ((3.5, 4, 2), (0.5, 0, 2), "gaps")
    at, _ = parse_sweep("cost:0", RANKING).at(RANKING, Ranking(), 7)
    assert (at.means, at.costs, at.cost_rule) == ((3, 4, 2), (7, 0, 2), None)
    given = BanditModel(Gaussian(), [3, 4, 2], [1, 2, 3])
    assert parse_sweep("mean:0", given).at(given, Ranking(), 3.5)[0].costs == (1, 2, 3)


def test_arms_are_found_by_name_before_number():
    model = BanditModel(Gaussian(), [1, 2], [1, 1], ["1", "a:b"])
    assert parse_sweep("mean:1", model).arm == 0
    assert parse_sweep("cost:a:b", model).arm == 1
    assert parse_sweep("cost:0", model).arm == 0


def test_a_cost_may_start_at_zero():
    curve = trace_curve(BanditModel(Gaussian(), [1.0, 0.0], [1, 1]), "best-arm", "cost:0", 0, 4, 5)
    expected = [2 * (1 + sqrt(cost)) ** 2 for cost in range(5)]
    assert [point.result.value for point in curve.points] == pytest.approx(expected)
    assert curve.switches == ()


# ties and gaps


def test_a_tie_on_the_grid_is_a_gap():
    curve = trace_curve(RANKING, "ranking", "mean:0", 3, 5, 5)
    assert curve.ties == (4,)
    assert [point.value for point in curve.points if point.error is not None] == [4]
    assert [[point.value for point in stretch if point.kind == "grid"] for stretch in curve.stretches()] == [
        [3, 3.5],
        [4.5, 5],
    ]


def test_a_grid_of_decimals_meets_a_tie_at_a_decimal():
    model = read_model(ROOT / "models" / "top-arms.toml").model
    curve = trace_curve(model, "top-arms:2", "mean:2", -1, 2)
    assert curve.ties == (0.8,)
    assert [point.value for point in curve.points if point.error is not None] == [0.8]
    assert max(point.result.value for point in curve.points if point.result is not None) < 1e5


def test_a_tie_between_points_breaks_the_line():
    curve = trace_curve(RANKING, "ranking", "mean:0", 3.1, 5, 4)
    assert curve.ties == pytest.approx((4,), rel=1e-9)
    assert all(point.error is None for point in curve.points)
    assert [stretch[0].value for stretch in curve.stretches()] == pytest.approx([3.1, 4 + 1.1 / 3])


def test_models_outside_the_family_are_a_gap(capsys):
    model = BanditModel(Bernoulli(), [0.5, 0.2], [1, 1])
    curve = trace_curve(model, "best-arm", "mean:0", 0.6, 1.4, 5)
    assert [point.error is None for point in curve.points] == [True, True, True, False, False]
    out = run_command(
        capsys,
        *(["curve", "--family", "bernoulli", "--means", "0.5,0.2", "--costs", "1,1", "--task", "best-arm"]),
        *(["--sweep", "mean:0", "--from", "0.6", "--to", "1.4", "--points", "5", "--json"]),
    )
    assert "1.2" in json.loads(out)["points"][3]["error"]


def test_a_path_without_any_answer_is_an_error():
    with pytest.raises(InputError, match=r"no model of the sweep has a T\*; at 2: "):
        trace_curve(BanditModel(Bernoulli(), [0.5, 0.2], [1, 1]), "best-arm", "mean:0", 2, 3, 3)


def test_a_solver_that_fails_is_a_gap_and_status_1(capsys, monkeypatch, tmp_path):
    solve = curves.characteristic_time

    def unlucky(model, task, **how):
        if model.means[2] == 1.0:
            raise SolverError("out of luck")
        return solve(model, task, **how)

    monkeypatch.setattr(curves, "characteristic_time", unlucky)
    out = run_command(capsys, *PATH, "--no-figure", "--output", tmp_path / "c", status=1)
    assert "no T* at 1: out of luck" in out


# margins and levels


@pytest.mark.parametrize("task", ["comparisons:1-0,2-1", "comparisons:0-1,1-2 (lower is better)"])
def test_a_swept_margin_shifts_the_gaps_of_gaussian_arms(task):
    """T* with the margin e is that of the gaps less e; the costly pair alone binds from g + e on, where it was g."""
    lower = task.endswith(")")
    model = BanditModel("gaussian", [0, 1, 2.2], [0, 2, 0.5], lower_is_better=lower)
    ratio = sqrt(1 + sqrt(0.5 / 2))
    meeting = (ratio * 1 - 1.2) / (ratio - 1)
    curve = trace_curve(model, task, "margin", -2, 0.9, 30)
    for point in curve.points:
        near, far = 1 - point.value, 1.2 - point.value
        shifted = BanditModel("gaussian", [0, near, near + far], [0, 2, 0.5])
        alone = characteristic_time(shifted, "ranking")
        assert point.result.value == pytest.approx(alone.value, rel=1e-9)
        assert point.result.sampling_proportions == pytest.approx(alone.sampling_proportions, abs=1e-5)
    assert curve.ties == ()
    (switch,) = curve.switches
    assert switch.value == pytest.approx(meeting, rel=1e-5)
    assert (curve.name(switch), switch.starts) == ("1 > 0 + margin", True)
    assert [statement[:2] for statement in curve.points[0].result.statements] == [(1, 0), (2, 1)]


@pytest.mark.parametrize(
    ("task", "sweep", "ties", "between"),
    [
        ("above:0.5", "level", (0.2, 0.444, 0.446), "1"),
        ("control:2+0.1", "margin", (0.244, 0.246), "1"),
        ("ranking", "mean:2", (0.444, 0.446), "1 > 2 > 0"),
    ],
)
@pytest.mark.parametrize("points", [5, 9, 101])
def test_all_ties_between_two_points_are_found(task, sweep, ties, between, points):
    """Two of them, of which the first is a point of the finest grid, with an answer of its own in between."""
    curve = trace_curve(BanditModel("bernoulli", [0.444, 0.446, 0.2]), task, sweep, 0.1, 0.9, points)
    assert curve.ties == pytest.approx(ties, rel=1e-9)
    *_, (first, last, answer), _ = curve.answers()
    assert (first, last) == pytest.approx(ties[-2:], rel=1e-9)
    assert answer == between


def test_where_arms_are_tied_all_along_there_is_no_answer_between_ties():
    curve = trace_curve(BanditModel("gaussian", [0, 1, 1], costs=[1, 1, 1]), "best-arm", "mean:0", -1, 3.1, 9)
    assert curve.answers() == [(1.05, 3.1, "0")]
    assert max(curve.ties) == 0.5375


def test_a_swept_level_is_a_sum_by_arm_broken_at_every_mean(capsys):
    """T* = sum of c_a / d(mu_a, level), which tends to infinity at the means; there the answer changes."""
    means, costs = [0.2, 0.45, 0.7], [1, 2, 0.5]
    model = BanditModel("bernoulli", means, costs, ["a", "b", "c"])
    curve = trace_curve(model, "above:0.5", "level", 0.1, 0.9, 41)
    for point in curve.points:
        if point.result is not None:
            terms = [cost / model.family.divergence(mean, point.value) for mean, cost in zip(means, costs, strict=True)]
            assert point.result.value == pytest.approx(sum(terms), rel=1e-9)
    assert curve.ties == pytest.approx((0.2, 0.45, 0.7), rel=1e-9)
    assert [[round(end, 9) for end in region[:2]] for region in curve.answers()] == [
        [0.1, 0.2],
        [0.2, 0.45],
        [0.45, 0.7],
        [0.7, 0.9],
    ]
    assert [region[2] for region in curve.answers()] == ["a, b, c", "b, c", "c", "none"]
    assert curve.switches == ()
    assert all(len({*curve.binding(point)}) == 3 for point in curve.points if point.result is not None)
    flags = ["--family", "bernoulli", "--means", "0.2,0.45,0.7", "--costs", "1,2,0.5", "--arms", "a,b,c"]
    path = ["--task", "above:0.5", "--sweep", "level", "--from", "0.1", "--to", "0.9", "--points", "3", "--json"]
    record = json.loads(run_command(capsys, "curve", *flags, *path))
    assert record["sweep"] == "level"
    assert [point["level"] for point in record["points"]] == [0.1, 0.5, 0.9]
    assert record["points"][1]["binding_statements"] == "a < 0.5, b < 0.5, c > 0.5"


def test_the_answer_of_the_cheapest_arm_along_a_margin(capsys, tmp_path):
    """The control itself qualifies where it may be worse than itself, and no more from a margin of zero on, where the
    statements are the same and there is no tie."""
    model = ROOT / "models" / "non-inferior-model.toml"
    path = ["--task", "cheapest:control:large-0.02", "--sweep", "margin", "--from", "-0.08", "--to", "0.02"]
    out = run_command(capsys, "curve", model, *path, "--points", "41", "--no-figure", "--output", tmp_path / "c")
    answers = [line for line in out.splitlines() if line.startswith("answer for ")]
    assert answers == [
        "answer for margin -0.08 to -0.06: tiny",
        "answer for margin -0.06 to -0.007: small",
        "answer for margin -0.007 to -0.0025: large",
        "answer for margin 0 to 0.02: none",
    ]
    assert "large > tiny - margin" in out


def test_a_margin_that_no_means_of_the_family_have_is_a_gap():
    model = BanditModel("bernoulli", [0.5, 0.4], [1, 1])
    curve = trace_curve(model, "control:0", "margin", 0, 1.2, 4)
    assert [point.error is None for point in curve.points] == [True, True, True, False]


def test_the_figure_of_a_margin_names_it():
    model = BanditModel("gaussian", [0, 1, 2.2], [0, 2, 0.5])
    canvas = figure.curve_figure(trace_curve(model, "comparisons:1-0,2-1", "margin", -2, 0.9, 30))
    assert canvas.axes[-1].get_xlabel() == "margin"
    assert [text.get_text() for text in canvas.axes[0].texts] == [
        "binding: 2 > 1 + margin",
        "1 > 0 + margin, 2 > 1 + margin",
    ]


# files


def test_the_command_writes_figure_and_csv(capsys, tmp_path):
    out = run_command(capsys, *PATH, "--output", tmp_path / "new" / "path")
    files = {suffix: tmp_path / "new" / f"path.{suffix}" for suffix in ("csv", "png", "pdf")}
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert files["pdf"].read_bytes().startswith(b"%PDF")
    assert b"/Type3" not in files["pdf"].read_bytes()
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["path.csv", "path.pdf", "path.png"]
    with files["csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert list(rows[0])[:4] == ["mean", "characteristic_time", "lower", "upper"]
    assert float(rows[0]["characteristic_time"]) == pytest.approx(3)
    assert float(rows[0]["u[0]"]) == pytest.approx(8 / 9)
    assert float(rows[0]["omega[2]"]) == pytest.approx(1 / 3)
    (added,) = [row for row in rows if row["kind"] == "switch"]
    assert float(added["mean"]) == pytest.approx(4 - GOLDEN, abs=1e-6)
    assert (rows[0]["binding_statements"], rows[-1]["binding_statements"]) == ("1 > 0, 0 > 2", "0 > 2")
    assert "at mean 1.38197 the statement 1 > 0 ceases to bind" in out
    assert "closed form three-arm-ranking-gaps at every point" in out


def test_the_figure_shows_curve_closed_form_and_switch():
    curve = trace_curve(RANKING, "ranking", "mean:0", 1, 5, 41)
    canvas = figure.curve_figure(curve, "a title")
    times, costs, pulls = canvas.axes
    labels = {line.get_label() for line in times.get_lines()}
    assert {f"${style.TIME}$, solved", f"${style.TIME}$, closed form three-arm-ranking-gaps"} <= labels
    assert {"binding statements change", f"tie, ${style.TIME}$ infinite"} <= labels
    shares = [(line.get_color(), line.get_marker()) for line in costs.get_lines() if line.get_gid()]
    assert len(set(shares)) == 3
    others = {(line.get_color(), line.get_marker()) for line in times.get_lines()}
    assert {colour for colour, _ in shares}.isdisjoint(colour for colour, _ in others)
    assert {marker for _, marker in shares}.isdisjoint(marker for _, marker in others)
    assert {"arm 0", "arm 1", "arm 2"} <= {line.get_label() for line in costs.get_lines()}
    assert [text.get_text() for text in times.texts] == ["binding: 2 > 0", "0 > 2", "1 > 0, 0 > 2", "0 > 1, 1 > 2"]
    assert times.get_yscale() == "log"
    assert pulls.get_xlabel() == "mean of arm 0"


def test_one_panel_alone_and_no_title():
    curve = trace_curve(RANKING, "ranking", "mean:2", 0, 2.5, 11)
    alone = figure.curve_figure(curve, title="", only="time")
    (axis,) = alone.axes
    assert alone.get_suptitle() == ""
    assert axis.get_ylabel().startswith(f"${style.TIME}$")
    assert axis.get_xlabel() == "mean of arm 2"
    assert figure.curve_figure(curve).get_suptitle() == "task ranking, family gaussian, 3 arms"
    (shares,) = figure.curve_figure(curve, only="sampling").axes
    assert "sampling proportions" in shares.get_ylabel()
    with pytest.raises(InputError, match="unknown panel 'T'"):
        figure.curve_figure(curve, only="T")


def test_the_command_draws_one_panel_without_a_title(capsys, tmp_path):
    whole, alone = tmp_path / "whole", tmp_path / "alone"
    run_command(capsys, *PATH, "--output", whole)
    run_command(capsys, *PATH, "--output", alone, "--only", "time", "--no-title", "--width", "column")
    heights = [mpl.image.imread(f"{stem}.png").shape for stem in (whole, alone)]
    assert heights[1][0] < heights[0][0]
    assert heights[1][1] == round(3.25 * 300)


def test_theory_is_readable_in_a_dark_style():
    curve = trace_curve(RANKING, "ranking", "mean:0", 1, 5, 21)
    with mpl.style.context("dark_background"):
        canvas = figure.curve_figure(curve, only="time")
    (axis,) = canvas.axes
    assert {line.get_color() for line in axis.get_lines()} == {"white"}
    assert canvas.get_facecolor() == (0, 0, 0, 1)


def test_regions_are_labelled_only_where_there_is_room():
    entry = read_model(ROOT / "models" / "top-arms.toml")
    canvas = figure.curve_figure(trace_curve(entry.model, entry.task, "mean:2", -1, 2, 31), "a title")
    assert len(canvas.axes[0].texts) == 0


def test_json_has_points_switches_and_ties(capsys):
    record = json.loads(run_command(capsys, *PATH, "--json"))
    assert list(record) == ["task", "family", "sweep", "arms", "points", "switches", "ties", "answers"]
    assert len(record["points"]) == 12
    assert record["switches"][0]["statement"] == "1 > 0"
    assert record["answers"] == [{"from": 0.0, "to": 2.5, "answer": "1 > 0 > 2"}]
    assert record["sweep"] == "mean:2"


def test_a_logarithmic_sweep_of_a_named_arm(capsys, tmp_path):
    model = ROOT / "models" / "wireless-channels.toml"
    argv = ["--sweep", "cost:2.4 GHz", "--from", "1", "--to", "100", "--points", "3", "--log"]
    out = run_command(capsys, "curve", model, *argv, "--no-figure", "--output", tmp_path / "c")
    assert [line.split()[0] for line in out.splitlines()[4:7]] == ["1", "10", "100"]
    assert "no closed form applies" in out
    assert not (tmp_path / "c.png").exists()


def test_the_frame_has_a_row_per_point():
    frame = trace_curve(RANKING, "ranking", "mean:2", 0, 2.5, 3).to_frame()
    assert len(frame) == 4
    assert frame["u[1]"].tolist() == [0] * 4


def test_missing_matplotlib_is_named_before_anything_is_solved(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(style, "find_spec", lambda name: None)
    assert main([*PATH, "--output", str(tmp_path / "new" / "c")]) == 2
    assert "pip install 'caet-opt[plot]', or in a clone: pip install '.[plot]'" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    run_command(capsys, *PATH, "--no-figure", "--output", tmp_path / "c")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--sweep": "meen:2"}, "unknown sweep 'meen'; did you mean 'mean'?"),
        ({"--sweep": "mean"}, "sweep 'mean' names no arm; write mean:0"),
        ({"--sweep": "margin:2"}, "sweep 'margin:2': the margin belongs to the task, not to an arm; write margin"),
        ({"--sweep": "margin"}, "task 'ranking' has no margin; control:ARM and comparisons:A-B can have one"),
        ({"--sweep": "level"}, "task 'ranking' has no level; above:LEVEL and cheapest:above:LEVEL have one"),
        ({"--sweep": "margin", "--task": "control:0*1.1"}, "ratios of means are for exponential"),
        ({"--sweep": "level", "--task": "control:0+1"}, "task 'control:0+1' has no level"),
        (
            {"--sweep": "margin", "--task": "comparisons:0-1+1,1-2+2"},
            "task 'comparisons:0-1+1,1-2+2' has no margin that is the same for each pair",
        ),
        ({"--sweep": "mean:3"}, "sweep 'mean:3': unknown arm '3'"),
        ({"--sweep": "cost:x"}, "unknown arm 'x'; known: 0, 1, 2"),
        ({"--sweep": None}, "missing --sweep"),
        ({"--from": None}, "missing --from"),
        ({"--to": None}, "missing --to"),
        ({"--to": "0"}, "from a number to a larger one, got 0 to 0"),
        ({"--to": "inf"}, "--to: must be a number, got 'inf'"),
        ({"--to": "-1"}, "from a number to a larger one"),
        ({"--from": "a"}, "--from: must be a number, got 'a'"),
        ({"--points": "1"}, "at least 2 points"),
        ({"--points": "0"}, "--points: must be a positive whole number, got '0'"),
        ({"--log": ""}, "a logarithmic sweep starts above zero, got 0"),
        ({"--output": "/dev/null/x/y"}, "--output /dev/null/x/y: cannot be written"),
        ({"--output": str(ROOT)}, "is a folder; name what the files begin with"),
        ({"--json": "", "--no-figure": ""}, "--json writes no files"),
        ({"--solver": "nativ"}, "did you mean 'native'?"),
    ],
)
def test_bad_input_is_one_line(capsys, tmp_path, change, message):
    options = {"--sweep": "mean:2", "--from": "0", "--to": "2.5", "--points": "5"}
    if "--json" not in change:
        options["--output"] = str(tmp_path / "c")
    options |= change
    words = [word for name, value in options.items() if value is not None for word in (name, value) if word]
    expect_refusal(capsys, "curve", PAPER, *words, words=message)
    assert list(tmp_path.iterdir()) == []


def test_the_examples_of_the_help_work(capsys, monkeypatch, tmp_path):
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    lines = command.EXAMPLES.replace("\\\n", " ").splitlines()
    examples = [shlex.split(line)[1:] for line in lines if line.startswith("  caet-opt ")]
    assert len(examples) == 7
    for argv in examples:
        run_command(capsys, *argv)
    assert len(list((tmp_path / "results").iterdir())) == 3


def test_the_example_of_the_readme_crosses_its_branch_point():
    entry = read_model(PAPER)
    curve = trace_curve(entry.model, entry.task, "mean:2", 0, 2.5)
    assert "--sweep mean:2 --from 0 --to 2.5" in command.EXAMPLES
    assert len({point.result.binding_statements for point in curve.points}) == 2


def test_a_point_says_what_the_record_of_its_answer_says():
    curve = trace_curve(RANKING, "ranking", "mean:2", 1, 2, 2)
    for point, row in zip(curve.points, curve.rows(), strict=True):
        record = point.result.to_record()
        assert [row[f"u[{arm}]"] for arm in RANKING.arms] == record["sampling_proportions"]
        assert {name: record[name] for name in ("characteristic_time", "lower", "upper")}.items() <= row.items()


def test_a_swept_ratio_scales_the_control_of_exponential_arms():
    """T* is that of the control with its mean times the ratio, and at the ratio of two means there is a tie."""
    model = BanditModel("exponential", [1, 2, 1.5], costs=[1, 1, 2], arms=["a", "b", "c"])
    curve = trace_curve(model, "control:a", "ratio", 0.5, 1.75, points=6)
    for point in curve.points:
        if point.result is not None and point.value != 1:
            scaled = model.with_numbers(means=[point.value, 2, 1.5])
            assert point.result.value == pytest.approx(characteristic_time(scaled, "control:a").value, rel=1e-9)
    assert curve.ties == (1.5,)
    assert curve.sweep.write(curve.points[0].result.statements[0], 0.5, model.arms) == "b > ratio * a"
    with pytest.raises(InputError, match=r"ratios of means are for exponential, gamma and poisson rewards"):
        trace_curve(BanditModel("bernoulli", [0.1, 0.2]), "control:0", "ratio", 0.5, 2)
    with pytest.raises(InputError, match="has a margin, so it cannot have a ratio"):
        trace_curve(model, "control:a+0.2", "ratio", 0.5, 2)
