"""Commands on tasks of which several answers may be right."""

import json

import pytest
from commands import run_command

from caet_opt import run_study, summarise_results
from caet_opt.presenting.figures.study import study_figure
from caet_opt.presenting.report.page import write_report

NEAR = ["--family", "bernoulli", "--means", "0.5,0.5,0.2", "--costs", "1,2,1", "--task", "best-arm~0.2"]


@pytest.fixture
def cli(capsys):
    """What a command prints."""
    return lambda *words: run_command(capsys, *words)


def test_solve(cli):
    out = cli("solve", *NEAR, "--delta", "0.05", "--json")
    record = json.loads(out)
    assert record["lower_bound"] is None
    assert record["answer"] == "0 (within 0.2 of the best)"
    assert [one["answer"] for one in record["answers"]] == ["0 (within 0.2 of the best)", "1 (within 0.2 of the best)"]
    assert record["answers"][0]["characteristic_time"] == record["characteristic_time"]
    assert record["predicted_cost"] > 0
    text = cli("solve", *NEAR, "--delta", "0.05", "--show-program")
    assert "easiest right answer: 0 (within 0.2 of the best)" in text
    assert "lower bound: known only as delta tends to 0" in text
    assert "kl form" not in text
    assert "near ties of several right answers may cost much less or more than that" in text
    assert "mean costs were" not in text


@pytest.mark.parametrize("command", ["simulate", "plan", "thresholds"])
def test_no_lower_bound_is_printed(cli, command):
    runs = [] if command == "thresholds" else ["--runs", "12", "--seed", "1"]
    out = cli(command, *NEAR, "--delta", "0.1", *runs, "--json")
    assert json.loads(out)["lower_bound"] is None
    text = cli(command, *NEAR, "--delta", "0.1", *runs)
    assert "kl(" not in text
    assert [line for line in text.splitlines() if line.startswith("lower bound") and "known only" not in line] == []


def test_compared_policies_and_a_table(cli, tmp_path):
    out = cli("simulate", *NEAR, "--delta", "0.1", "--runs", "10", "--policy", "caet,uniform", "--json")
    assert [one["lower_bound"] for one in json.loads(out)] == [None, None]
    out = cli("table", "level-arms", "paper-instance-1", "--delta", "0.1", "--format", "json")
    assert [row["lower_bound"] is None for row in json.loads(out)["rows"]] == [True, False]
    out = cli("table", "level-arms", "--delta", "0.1")
    assert "best arm within 0.05" in out


def test_a_curve_over_the_tolerance(cli):
    flags = ["--sweep", "margin", "--from", "0.05", "--to", "0.4", "--points", "5", "--json"]
    out = cli("curve", *NEAR, *flags)
    record = json.loads(out)
    assert record["ties"] == []
    times = [point["characteristic_time"] for point in record["points"] if point["kind"] == "grid"]
    assert times == sorted(times, reverse=True)


def test_a_study_its_table_figure_and_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(
        'models = ["level-arms", "paper-instance-1"]\ndeltas = [0.3, 0.1]\nruns = 10\nseed = 1\n'
    )
    folder = run_study("study.toml")
    runs = summarise_results(folder)
    tolerant = runs[runs["task"] == "best-arm~0.05"]
    assert tolerant["lower_bound"].isna().all()
    assert runs[runs["task"] == "ranking"]["lower_bound"].notna().all()
    assert (tolerant["error_rate"] < 0.5).all()
    study_figure(folder)
    study_figure(folder, over="lower_bound")
    write_report(folder, "page.html")
    assert "within 0.05" in (tmp_path / "page.html").read_text()
