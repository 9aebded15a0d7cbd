"""Tables: rows, columns, digits, formats, failed rows, workers, and the shape of LaTeX and Markdown."""

import csv
import json
import os
import re
import shlex
from decimal import Decimal, localcontext
from glob import glob
from pathlib import Path

import numpy as np
import pytest
from commands import expect_refusal, read_json, run_command
from hypothesis import given
from hypothesis import strategies as st
from study_files import make_summary

import caet_opt
from caet_opt import (
    BanditModel,
    Gaussian,
    InputError,
    ModelFile,
    Ranking,
    SolverError,
    characteristic_table,
    read_model,
)
from caet_opt.cli import main
from caet_opt.cli import table as command
from caet_opt.common.numbers import digits_shared, format_certified, table
from caet_opt.presenting.tables import formats, latex
from caet_opt.presenting.tables import result_columns as results
from caet_opt.presenting.tables import time_rows as rows
from caet_opt.presenting.tables.layout import Number, Table, choose_columns
from caet_opt.presenting.tables.tex_text import tex
from caet_opt.presenting.tables.time_columns import columns, conventions, usual_names
from caet_opt.simulating import pool
from caet_opt.solving.backends.clarabel import Clarabel

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
PAPER = str(ROOT / "models" / "paper-instance-1.toml")
MODELS = len(list((ROOT / "models").glob("*.toml")))
TIME = 11.656854249492381

NAMED = """\
title = "50% of A_1 & more"
family = "gaussian:0.5,2,1"
means = [10.2, 9.6, 9.1]
costs = [5, 1, 2]
arms = ["a & b", "50% | x_1", "c"]
task = "ranking"
"""
TIED = 'family = "gaussian"\nmeans = [1, 1, 2]\ncosts = [1, 1, 1]\ntask = "ranking"\n'


@pytest.fixture
def folder(tmp_path):
    """A good model, one with special characters in its names, a tie, and a file without costs."""
    (tmp_path / "good.toml").write_text(Path(PAPER).read_text())
    (tmp_path / "named.toml").write_text(NAMED)
    (tmp_path / "tied.toml").write_text(TIED)
    (tmp_path / "broken.toml").write_text('family = "gaussian"\ncosts = [1, 2]\ntask = "ranking"\n')
    return tmp_path


def tabled(capsys, *argv, status=0):
    """Standard output of the command, which says nothing on stderr."""
    return run_command(capsys, "table", *argv, status=status)


def records(capsys, *argv, status=0):
    """The rows of the JSON format."""
    return read_json(tabled(capsys, *argv, "--format", "json", status=status))["rows"]


# rows


def test_a_row_per_model_solver_and_delta(capsys):
    found = records(
        capsys, PAPER, ROOT / "models" / "top-arms.toml", "--delta", "0.1,0.01", "--solvers", "native", "clarabel"
    )
    assert [(row["model"], row["solver"], row["delta"]) for row in found] == [
        (model, solver, delta)
        for model in ("paper-instance-1", "top-arms")
        for solver in ("native", "clarabel")
        for delta in (0.1, 0.01)
    ]
    row = found[1]
    assert row["characteristic_time"] == pytest.approx(TIME, rel=1e-9)
    assert row["lower"] <= TIME <= row["upper"]
    assert row["lower_bound"] == pytest.approx(TIME * 0.98 * np.log(99))
    assert row["binding_statements"] == ["0 > 2"]
    assert row["expected"] == TIME
    assert row["deviation"] < 1e-9
    assert row["error"] is None


def test_the_cost_blind_player_pays_for_the_proportions_of_unit_costs():
    """Two Gaussian arms, costs 1 and 4: u = (1/2, 1/2), T = (1/2 + 4/2) / (gap^2 / 8), T* = 2 (1 + 2)^2 / gap^2."""
    model = BanditModel(Gaussian(), [0.5, 0.0], [1, 4])
    (row,) = characteristic_table([(model, "best-arm")]).to_dict("records")
    assert row["cost_blind_proportions"] == pytest.approx([0.5, 0.5])
    assert row["cost_blind_time"] == pytest.approx(2.5 * 8 / 0.25)
    assert row["cost_blind_ratio"] == pytest.approx(80 / 72)


def test_the_cost_blind_player_gives_free_arms_a_finite_weight():
    """With the better arm free, T* = c 2 / gap^2, and half of the pulls go to each arm: T = (c / 2) 8 / gap^2."""
    model = BanditModel(Gaussian(), [1.0, 0.0], [0, 3])
    (row,) = characteristic_table((model, "best-arm")).to_dict("records")
    assert row["characteristic_time"] == pytest.approx(6)
    assert row["cost_blind_time"] == pytest.approx(12)
    assert row["cost_blind_ratio"] == pytest.approx(2)


def test_the_cost_blind_ratio_is_missing_where_there_is_nothing_to_pay(capsys):
    (row,) = records(capsys, ROOT / "models" / "free-of-charge.toml")
    assert row["characteristic_time"] == row["cost_blind_time"] == 0
    assert row["cost_blind_ratio"] is None
    settled = BanditModel(caet_opt.Bernoulli(), [0.0, 0.5], [0, 1])  # one success proves that the free arm is worse
    (row,) = characteristic_table([(settled, "best-arm")]).to_dict("records")
    assert row["characteristic_time"] == 0
    assert row["cost_blind_time"] > 0
    assert row["cost_blind_ratio"] is None
    assert " 0         -" in tabled(capsys, ROOT / "models" / "free-of-charge.toml")


@given(
    st.lists(st.floats(-3, 3), min_size=3, max_size=5, unique_by=lambda mean: round(mean, 1)),
    st.lists(st.sampled_from([0.0, 0.1, 1.0, 7.0]), min_size=5, max_size=5),
)
def test_nobody_pays_less_than_the_optimum(means, costs):
    model = BanditModel(Gaussian(), means, costs[: len(means)])
    (row,) = characteristic_table([(model, "ranking")]).to_dict("records")
    if row["characteristic_time"] > 0:
        assert row["cost_blind_ratio"] >= 1 - 1e-9


def test_the_cost_blind_model_is_solved_only_where_a_column_needs_it(monkeypatch):
    def refuse(*arguments):
        raise AssertionError(arguments)

    monkeypatch.setattr(rows, "compare_blind", refuse)
    assert len(characteristic_table(PAPER, columns=["model", "T*"])) == 1


# failed rows


def test_a_failed_row_says_why_and_loses_no_other(capsys, folder):
    out = tabled(capsys, folder, status=2)
    lines = out.split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == ["model", "broken", "good", "named", "tied"]
    assert lines[1].startswith("broken  error: the key 'means' is missing")
    assert "11.656854" in lines[2]
    assert lines[4].startswith("tied    ranking  error: arms 0 and 1 have equal means")
    found = records(capsys, folder, status=2)
    assert [row["error"] is None for row in found] == [False, True, True, False]
    assert "error_kind" not in found[0]
    assert found[3]["task"] == "ranking"


def test_a_solver_that_fails_is_status_1_whatever_else_is_wrong(capsys, folder, monkeypatch):
    solve = rows.characteristic_time

    def unlucky(model, task, *, solver, limits=()):
        if model.arms[0] == "a & b":
            raise SolverError("out of luck")
        return solve(model, task, solver=solver)

    monkeypatch.setattr(rows, "characteristic_time", unlucky)
    out = tabled(capsys, folder, status=1)
    assert "named   ranking  error: out of luck\n" in out
    assert "11.656854" in out
    assert "'means' is missing" in out


def test_a_missing_file_is_a_failed_row(capsys, tmp_path):
    out = tabled(capsys, PAPER, tmp_path / "no.toml", status=2)
    assert "no                error: no such file\n" in out
    assert "11.656854" in out


def test_an_error_without_a_cell_before_it_names_the_model(capsys, folder):
    assert "error: broken: the key 'means' is missing" in tabled(capsys, folder, "--columns", "T*,gap", status=2)


def test_a_model_that_is_solved_by_the_fallback_says_so(capsys, tmp_path, monkeypatch):
    def fail(*arguments):
        raise SolverError("out of luck")

    monkeypatch.setattr(Clarabel, "solve", fail)
    profile = tmp_path / "short.toml"
    profile.write_text('backend = "clarabel"\nfallback = "native"\n')
    (row,) = records(capsys, PAPER, "--solvers", profile)
    assert row["solver"] == "short.toml (native)"


# columns and digits


def test_columns_are_chosen_by_name_or_heading(capsys):
    out = tabled(capsys, PAPER, "--columns", "model,T*", "sampling_proportions", "--significant", "6")
    assert out.splitlines()[:2] == [
        "model                  T*  u*",
        "paper-instance-1  11.6569  (0.585786, 0, 0.414214)",
    ]
    assert "u*: share of the pulls of costly arms" in out
    assert "Blind" not in out


def test_named_arms_are_shown_by_name(capsys, folder):
    out = tabled(capsys, folder / "named.toml", "--columns", "u*,binding_statements")
    assert re.search(
        r"^a & b 0\.\d{4}, 50% \| x_1 0\.\d{4}, c 0\.\d{4}  a & b > 50% \| x_1, 50% \| x_1 > c$", out, re.M
    )


def test_every_column_has_a_cell_for_every_row(capsys, folder):
    names = ",".join(column.name for column in columns())
    out = tabled(capsys, folder, "--columns", names, "--delta", "0.05", status=2)
    assert len(out.split("\n\n")[0].splitlines()) == 5


def test_the_usual_columns_fit_a_terminal_and_follow_the_question(capsys):
    out = tabled(capsys, ROOT / "models")
    assert max(map(len, out.split("\n\n")[0].splitlines())) <= 80
    assert usual_names(1, 2, proven=False)[-4:] == ("delta", "lower_bound", "solver", "seconds")


@pytest.mark.parametrize(
    ("policies", "shown", "words"),
    [
        (["caet"], [], "10 simulated runs of CAET in 2 cells."),
        (["uniform"], ["policy"], "10 simulated runs of uniform in 2 cells."),
        (["caet", "uniform"], ["policy"], "20 simulated runs of 2 policies in 4 cells."),
    ],
)
def test_results_name_their_policies(policies, shown, words):
    summary = make_summary(policies)
    assert results.usual_names(summary) == ["model", "log_inv_delta", *shown, *results.USUAL]
    assert results.caption(results.plain_rows(summary)) == words


def test_the_help_lists_every_column_and_format(capsys):
    out = tabled(capsys, "--help")
    for name in [column.name for column in columns()] + list(formats.FORMATS):
        assert name in out


@given(st.floats(1e-8, 1e8), st.floats(1e-15, 0.2), st.floats(0, 1))
def test_the_whole_interval_rounds_to_the_printed_digits(upper, gap, place):
    lower = upper * (1 - gap)
    value = lower + place * (upper - lower)
    digits = digits_shared(value, lower, upper, gap)
    shown = format_certified(value, lower, upper, gap)[0]
    unit = 10.0 ** (np.floor(np.log10(float(shown))) + 1 - digits)
    if digits > 1:
        assert max(float(shown) - lower, upper - float(shown)) <= 0.5 * unit * (1 + 1e-6)


@given(st.floats(1e-8, 1e8), st.floats(1e-14, 0.2))
def test_the_printed_interval_is_as_wide_as_the_gap_says(upper, gap):
    lower = upper * (1 - gap)
    low, high = map(Decimal, format_certified(upper, lower, upper, gap)[1].strip("[]").split(", "))
    width = Decimal(upper) - Decimal(lower)
    assert low <= Decimal(lower)
    assert high >= Decimal(upper)
    assert high - low <= width * Decimal("1.03")


def test_no_example_of_columns_breaks_in_a_shell_that_globs(capsys):
    for text in (tabled(capsys, "--help"), (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()):
        assert "T*," in text
        assert not re.search(r"--columns [^'\"\s]*\*", text)
        assert not re.search(r"as [^'\"\s]*,T\*", text)


def test_a_row_holds_the_record_of_the_answer():
    entry = read_model(PAPER)
    (row,) = rows.rows_of(rows.Source("paper", entry), rows.Request({"mine": caet_opt.Profile("native")}))
    record = caet_opt.characteristic_time(entry.model, entry.task).to_record()
    assert {**record, "solver": "mine", "seconds": row["seconds"]}.items() <= row.items()


def test_a_coarse_gap_prints_few_digits(capsys, tmp_path):
    row = dict(zip(("characteristic_time", "lower", "upper", "gap"), (11.65, 11.62, 11.68, 0.005), strict=True))
    row |= {"names": ["0", "1"], "sampling_proportions": [0.6664, 0.3336], "cost_blind_ratio": 1.23456}
    row |= {"lower_bound": 116.5}
    cells = {column.name: column.cell(row) for column in columns()}
    assert cells["characteristic_time"] == "12"
    assert (cells["lower"], cells["upper"]) == ("11.6199", "11.6800")  # 11.62 as a double is less
    assert cells["sampling_proportions"].numbers == ("0.7", "0.3")
    assert cells["cost_blind_ratio"] == "1"
    assert cells["lower_bound"] == "110"  # a lower bound is not rounded up
    assert cells["delta"] is None


def test_proven_digits_replace_certified_ones(capsys):
    argv = [PAPER, ROOT / "models" / "clinical-trial.toml", "--digits", "30"]
    out = tabled(capsys, *argv, "--columns", "model,T*,lower,upper")
    assert "11.6568542494923801952067548968 " in out  # 6 + 4 sqrt(2)
    assert "proven, with the inputs as exact decimals" in out
    first, second = records(capsys, *argv)
    assert first["proven"] == "11.6568542494923801952067548968"
    lower, upper = (Decimal(first[name]) for name in ("proven_lower", "proven_upper"))
    with localcontext(prec=60):
        assert lower <= 6 + 4 * Decimal(2).sqrt() <= upper
    assert upper - lower < Decimal("1e-28")
    assert first["characteristic_time"] == pytest.approx(TIME)
    assert Decimal(second["lower"]) <= Decimal(second["proven"]) <= Decimal(second["upper"])
    assert "S[table-format=5.28]" in tabled(capsys, *argv, "--format", "latex")


def test_rows_that_cannot_be_proven_keep_their_certified_digits(capsys, tmp_path):
    """Each is named, with the reason, and the others are proven."""
    argv = [PAPER, "judge-scores", "placebo-trial", "--digits", "30"]
    out = tabled(capsys, *argv, "--columns", "model,T*,lower")
    assert "11.6568542494923801952067548968 " in out
    assert re.search(r"^judge-scores +3\.019354479\d* ", out, re.MULTILINE)
    told = " ".join(out.split())
    assert "Not proven, but certified: judge-scores; rewards of family bounded:0,1 have no proven digits" in told
    assert "Not proven, but certified: placebo-trial; digits are proven without limits." in told
    assert "proven, with the inputs as exact decimals" in told
    assert "has the digits to which both ends of its certified interval round" in told
    proven, *others = records(capsys, *argv)
    assert proven["proven"] is not None
    assert all(row["proven"] is None and row["error"] is None for row in others)
    assert main(["table", *map(str, argv), "--format", "csv", "--output", str(tmp_path / "rows.csv")]) == 0
    assert capsys.readouterr().err.count("caet-opt: Not proven, but certified: ") == 2
    out = tabled(capsys, "judge-scores", "--digits", "30")
    assert "exact decimals" not in out


@pytest.mark.parametrize("form", ["terminal", "markdown", "latex", "latex-fragment"])
def test_notes_can_be_left_out(capsys, form):
    argv = ["judge-scores", PAPER, "--delta", "0.1", "--format", form]
    noted = tabled(capsys, *argv)
    assert "Lower bound at" in noted
    bare = tabled(capsys, *argv, "--no-notes")
    assert "Lower bound at" not in bare
    assert "3.019" in bare
    assert main(["table", *map(str, argv), "--digits", "20", "--no-notes"]) == 0  # but what is missing is said
    assert "Not proven, but certified: judge-scores" in capsys.readouterr().err


def test_the_divergence_of_rewards_in_a_range_has_its_name(capsys):
    told = " ".join(tabled(capsys, "judge-scores").split())
    assert "in the range, by the divergence KL_inf(F, x), the least Kullback-Leibler divergence from an arm's" in told
    assert r"$\mathrm{KL}_{\inf}(F, x)$" in tabled(capsys, "judge-scores", "--format", "latex-fragment")


# machine formats


def test_csv_reads_back_as_the_json_does(capsys, folder):
    argv = [folder, "--delta", "0.1", "--columns", "model,names,T*,u*,lower_bound,gap,iterations"]
    found = list(csv.DictReader(tabled(capsys, *argv, "--format", "csv", status=2).splitlines()))
    expected = records(capsys, *argv, status=2)
    assert list(found[0]) == list(expected[0])
    assert list(found[0])[-1] == "error"
    for row, other in zip(found, expected, strict=True):
        for name, value in other.items():
            text = row[name]
            assert (text or None if isinstance(value, str | None) else json.loads(text)) == value


def test_json_states_the_conventions(capsys):
    record = json.loads(tabled(capsys, PAPER, "--format", "json", "--delta", "0.1"))
    assert list(record) == ["conventions", "rows", "notes"]
    assert "(x - y)^2 / (2 s^2)" in record["conventions"]["divergence"]
    assert "not 1/T*" in record["conventions"]["characteristic_time"]
    assert "log(1/delta)" in record["conventions"]["confidence"]
    assert record["notes"] == []


@pytest.mark.parametrize(
    ("model", "names", "about"),
    [
        ("gaussian-two-arms", "model,T*", ["characteristic_time", "divergence", "digits"]),
        ("bernoulli-two-arms", "model,T*,u*", ["characteristic_time", "digits", "sampling_proportions"]),
        ("bernoulli-two-arms", "model,lower_bound", []),
        ("bernoulli-two-arms", "model,K,means", []),
    ],
)
def test_only_what_applies_is_noted(capsys, model, names, about):
    record = json.loads(tabled(capsys, model, "--format", "json", "--columns", names))
    assert list(record["conventions"]) == about


@pytest.mark.parametrize(("model", "free"), [("bernoulli-two-arms", False), ("clinical-trial", True)])
def test_free_arms_are_spoken_of_where_there_are_any(capsys, model, free):
    assert ("free arm" in tabled(capsys, model, "--columns", "model,u*,blind/T*")) == free


def test_significant_digits_are_those_of_every_number(capsys):
    shown = ("--columns", "means,T*,omega*,u*,blind T,blind/T*,expected", "--significant", "3")
    line = tabled(capsys, "paper-readme-instance", *shown).splitlines()[1]
    numbers = ["(0.5, 0.9, 0.2)", "48.0", "(0.431, 0, 0.569)", "(0.569, 0, 0.431)", "48.5", "1.01", "48"]
    assert re.split(r"  +", line) == numbers


def test_families_and_tasks_are_words_for_people_and_grammar_for_machines(capsys):
    shown = ("gaussian-variances", "groups-of-two", "--columns", "family,task")
    _, first, second = tabled(capsys, *shown).splitlines()[:3]
    assert first.split("  ") == ["Gaussian, variances 0.5, 2, 1, 4", "ranking"]
    assert second.split() == ["Gaussian", "best", "of", "3", "groups"]
    rows = tabled(capsys, *shown, "--format", "csv").splitlines()[1:]
    assert rows == [
        '"gaussian:0.5,2,1,4",ranking,',
        '"gaussian","groups:0,1/2,3/4,5",'.replace('"gaussian"', "gaussian"),
    ]


@pytest.mark.parametrize("form", ["latex", "latex-fragment"])
def test_a_caption_and_a_label_are_those_of_latex(capsys, form):
    asked = ("--caption", r"$T^\star$ at $\delta = 0.1$", "--label", "tab:times")
    assert r"\caption{$T^\star$ at $\delta = 0.1$}\label{tab:times}" in tabled(capsys, PAPER, "--format", form, *asked)


def test_a_caption_stands_above_text(capsys):
    assert tabled(capsys, PAPER, "--caption", "Times").startswith("Times\n\nmodel ")
    assert tabled(capsys, PAPER, "--caption", "T*", "--format", "markdown").startswith("T\\*\n\n| model ")


def test_machines_get_every_column(capsys):
    (row,) = records(capsys, PAPER)
    absent = ("proven", "proven_lower", "proven_upper", "half_leader_time")
    assert list(row) == [column.name for column in columns() if column.name not in absent]


@pytest.mark.parametrize("form", ["terminal", "markdown", "latex", "latex-fragment"])
def test_every_format_for_people_states_the_conventions(capsys, form):
    out = tabled(capsys, PAPER, "--format", form)
    assert "not 1/T" in re.sub(r"[\\$^*]|star", "", out)
    assert "variance" in out
    assert re.search(r"log\(1/(\\)?delta\)", out)


def test_the_frame_is_tidy_by_arm(folder):
    frame = characteristic_table(folder, deltas=[0.1], columns=["model", "names", "u*", "lower_bound"])
    assert list(frame.columns) == ["model", "names", "sampling_proportions", "lower_bound", "error"]
    good = frame[frame["error"].isna()]
    assert list(good["model"]) == ["good", "named"]
    arms = good.explode(["names", "sampling_proportions"])
    assert len(arms) == 6
    assert arms.groupby("model")["sampling_proportions"].sum().tolist() == pytest.approx([1, 1])


def test_models_come_as_files_folders_entries_or_pairs(folder):
    entry = read_model(PAPER)
    frame = characteristic_table(
        [folder / "good.toml", entry, (entry.model, Ranking()), ModelFile(entry.model, entry.task)]
    )
    assert frame["model"].tolist() == ["good", entry.title, "model 3", "model 4"]
    assert frame["characteristic_time"].tolist() == pytest.approx([TIME] * 4)
    assert characteristic_table({"mine": PAPER}, solvers="native")["model"].tolist() == ["mine"]


def test_two_files_of_one_name_are_told_apart(capsys, tmp_path):
    other = tmp_path / "paper-instance-1.toml"
    other.write_text(Path(PAPER).read_text())
    assert [row["model"] for row in records(capsys, PAPER, other, PAPER)] == [PAPER, str(other)]


# LaTeX and Markdown


def golden_table(folder):
    """A table whose cells do not depend on the last digits of a solver."""
    names = ["model", "task", "arms", "characteristic_time", "sampling_proportions", "delta", "lower_bound"]
    chosen = choose_columns([*names, "cost_blind_ratio"], columns(6))
    request = rows.Request({"native": caet_opt.Profile("native")}, (0.05,))
    paths = [folder / f"{name}.toml" for name in ("broken", "good", "named", "tied")]
    paths += [ROOT / "models" / f"{name}.toml" for name in ("clinical-trial", "free-of-charge", "regret-poisson")]
    found = rows.compute([rows.Source(path.stem, path) for path in paths], request)
    return Table(
        chosen, found, conventions([column.name for column in chosen], found), "Characteristic times.", ("A note.",)
    )


@pytest.mark.parametrize(
    ("name", "form"),
    [("table.tex", "latex"), ("fragment.tex", "latex-fragment"), ("table.md", "markdown"), ("table.txt", "terminal")],
)
def test_the_shape_is_kept(folder, name, form):
    text = formats.FORMATS[form](golden_table(folder))
    if os.environ.get("CAET_OPT_GOLDEN") == "write":
        (GOLDEN / name).write_text(text, encoding="utf-8")
    assert text == (GOLDEN / name).read_text(encoding="utf-8")


def test_latex_escapes_what_latex_reads_otherwise():
    assert tex(r"a_b & 50% #1 $x$ {y} ~ ^ \ < > |") == (
        r"a\_b \& 50\% \#1 \$x\$ \{y\} $\sim$ \^{} $\backslash$ $<$ $>$ $|$"
    )
    assert tex("na\u00efve \u2014 \u03b1\u0391\u039b\u03c2 \u4e2d --x\n\ty") == (
        r"na\"{\i}ve \textemdash{} $\alpha$$\mathrm{A}$$\Lambda$$\varsigma$ [U+4E2D] -{}-x y"
    )


@given(st.text())
def test_latex_is_ascii_with_balanced_braces(text):
    found = tex(text)
    assert found.isascii()
    unescaped = re.sub(r"\\.", "", found)
    assert unescaped.count("{") == unescaped.count("}")
    assert unescaped.count("$") % 2 == 0
    assert not re.search(r"[#%&_~]", unescaped)


@pytest.mark.parametrize(
    ("numbers", "form"),
    [
        (["11.657", "972.5"], "3.3"),
        (["1.3e-14", "2e-09", "0"], "1.1e-2"),
        (["1e+20", "3"], "1e2"),
        (["5"], "1"),
        ([], "1"),
    ],
)
def test_number_columns_have_room_for_their_numbers(numbers, form):
    assert latex.number_format([Number(number) for number in numbers])[0] == form


def test_a_long_latex_table_breaks_across_pages(capsys):
    out = tabled(capsys, ROOT / "models", "--delta", "0.1,0.01", "--format", "latex")
    assert r"\begin{longtable}" in out
    assert r"\usepackage{longtable}" in out
    fragment = tabled(capsys, ROOT / "models", "--delta", "0.1,0.01", "--format", "latex-fragment")
    assert fragment.startswith(r"% needs \usepackage{booktabs,siunitx,longtable}")
    assert r"\documentclass" not in fragment


def test_a_wide_latex_table_has_wide_paper(capsys):
    out = tabled(
        capsys, PAPER, "--format", "latex", "--columns", "title,file,task,family,T*,lower,upper,omega*,u*,u blind"
    )
    assert float(re.search(r"paperwidth=(\d+)mm", out)[1]) > 297
    assert "paperwidth" not in tabled(capsys, PAPER, "--format", "latex")


def test_control_characters_are_written_out():
    assert formats.escape_controls("a\x1b[31mb\nc\td") == r"a\x1b[31mb c\td"
    assert formats.markdown_text("a|b_c*d`e<f") == r"a\|b\_c\*d\`e\<f"


def test_a_remark_does_not_widen_its_column():
    assert table(["a", "b"], [["x", "1"], ["y", "2"], ["a long remark"]]).splitlines() == [
        "a  b",
        "x  1",
        "y  2",
        "a long remark",
    ]


# many models


def test_workers_change_no_row(folder, monkeypatch):
    monkeypatch.setattr(rows, "QUICK_SOLVES", 0)
    models = [folder, ROOT / "models"]
    names = [column.name for column in columns() if column.name != "seconds"]
    alone, shared = (characteristic_table(models, columns=names, workers=workers) for workers in (1, 2))
    assert len(alone) == 4 + MODELS
    assert alone.to_json() == shared.to_json()
    assert alone["error"].notna().sum() == 2


def test_a_short_table_starts_no_process(monkeypatch):
    def refuse(*arguments):
        raise AssertionError(arguments)

    monkeypatch.setattr(pool.Worker, "start", refuse)
    assert len(characteristic_table(ROOT / "models", workers=2)) == MODELS
    monkeypatch.setattr(rows, "QUICK_SOLVES", 10)
    with pytest.raises(AssertionError):
        characteristic_table(ROOT / "models", workers=2)


def interrupted_after(monkeypatch, models):
    compute, seen = rows.rows_of, []

    def interrupting(source, request):
        seen.append(source)
        if len(seen) > models:
            raise KeyboardInterrupt
        return compute(source, request)

    monkeypatch.setattr(rows, "rows_of", interrupting)


def test_ctrl_c_prints_what_is_finished(capsys, monkeypatch):
    interrupted_after(monkeypatch, 3)
    assert main(["table", str(ROOT / "models")]) == 130
    out, err = capsys.readouterr()
    assert err == f"caet-opt: interrupted, 3 of {MODELS} models are finished\n"
    assert len(out.split("\n\n")[0].splitlines()) == 4
    assert out.endswith(f"Interrupted: 3 of {MODELS} models are finished.\n")


def test_ctrl_c_writes_what_is_finished(capsys, monkeypatch, tmp_path):
    file = tmp_path / "table.json"
    interrupted_after(monkeypatch, 2)
    assert main(["table", str(ROOT / "models"), "--format", "json", "--output", str(file)]) == 130
    record = json.loads(file.read_text())
    assert len(record["rows"]) == 2
    assert record["notes"] == [f"Interrupted: 2 of {MODELS} models are finished."]


def test_ctrl_c_before_the_first_row_leaves_the_file_as_it_was(capsys, monkeypatch, tmp_path):
    file = tmp_path / "table.md"
    file.write_text("before")
    interrupted_after(monkeypatch, 0)
    assert main(["table", PAPER, "--output", str(file)]) == 130
    assert capsys.readouterr().out == ""
    assert file.read_text() == "before"
    assert os.listdir(tmp_path) == ["table.md"]


# output and bad input


def test_the_examples_of_the_help_work(capsys, monkeypatch, tmp_path):
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    lines = [line for line in command.EXAMPLES.splitlines() if line.startswith("  caet-opt ")]
    examples = [shlex.split(line)[2:] for line in lines if "results/" not in line]
    assert len(examples) == 6
    for argv in examples:
        expanded = [path for word in argv for path in sorted(glob(word)) or [word]]
        assert tabled(capsys, *expanded)
    assert (tmp_path / "table.tex").read_text().startswith(r"\documentclass")


def test_the_table_goes_to_a_file(capsys, tmp_path):
    file = tmp_path / "table.md"
    assert tabled(capsys, PAPER, "--format", "markdown", "--output", file) == f"written: {file}\n"
    assert file.read_text() == tabled(capsys, PAPER, "--format", "markdown")
    assert os.listdir(tmp_path) == ["table.md"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([PAPER, "--columns", "model,gapp"], "unknown column 'gapp'; did you mean 'gap'?"),
        ([PAPER, "--columns", "model,xyz"], "known: arms, binding_statements, characteristic_time"),
        ([PAPER, "--columns", "T*,gap,characteristic_time"], "column 'characteristic_time' is chosen twice"),
        ([PAPER, "--columns", ","], "no column is chosen; known: model, title"),
        ([PAPER, "--format", "latx"], "unknown format 'latx'; did you mean 'latex'?"),
        ([PAPER, "--delta", "0.1,1.5"], "--delta must lie strictly between 0 and 1, got 1.5"),
        ([PAPER, "--delta", "small"], "--delta must be numbers"),
        ([PAPER, "--solvers", "nativ"], "unknown solver 'nativ'; did you mean 'native'?"),
        ([PAPER, "--solvers", "native", "native"], "solver 'native' is named twice"),
        ([PAPER, "--workers", "0"], "--workers: must be a positive whole number, got '0'"),
        ([PAPER, "--digits", "1001"], "digits must be a whole number from 1 to 1000, got 1001"),
        ([PAPER, "--digits", "-3"], "--digits: must be a positive whole number, got '-3'"),
        ([PAPER, "--caption", "x", "--format", "csv"], "--caption is for tables that people read: latex, "),
        ([PAPER, "--label", "x"], "--label is for --format latex and latex-fragment"),
        ([PAPER, "--label", "a b", "--format", "latex"], "--label must be letters, digits and any of"),
        ([PAPER, "--significant", "x"], "--significant: must be a positive whole number, got 'x'"),
        ([PAPER, "--output", "/dev/null/x"], "--output /dev/null/x: cannot be written"),
        ([PAPER, "--output", str(ROOT)], "is a folder; name a file"),
        ([str(ROOT / "tests" / "golden")], "no model file (*.toml) in this folder"),
        ([], "MODELS"),
    ],
)
def test_bad_input_is_one_line(capsys, argv, message):
    expect_refusal(capsys, "table", *argv, words=message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"models": []}, "no model"),
        ({"models": PAPER, "deltas": [2]}, "delta must lie strictly between 0 and 1"),
        ({"models": PAPER, "digits": 0}, "digits must be a whole number from 1 to 1000, got 0"),
        ({"models": PAPER, "workers": 0}, "workers must be a positive whole number"),
        ({"models": PAPER, "columns": ["x"]}, "unknown column 'x'"),
        ({"models": PAPER, "solvers": []}, "no solver is named"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        characteristic_table(**arguments)
