"""The progress bar: what it says, that a pipe gets nothing, and that every command has it with total and time left."""

import re
import sys
from pathlib import Path

import pytest
from commands import shorten_figure, shorten_policies

from caet_opt.cli import main
from caet_opt.presenting import progress
from caet_opt.presenting.figures import FIGURES, Effort, Figure
from caet_opt.presenting.progress import Bar

ROOT = Path(__file__).parents[2]
MODELS = [str(ROOT / "models" / f"{name}.toml") for name in ("paper-instance-1", "top-arms")]


def pretend_terminal(monkeypatch, columns):
    """A terminal so wide, on which every step is drawn; called in the test, where stderr is what is captured."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "INTERVAL", -1.0)
    monkeypatch.setenv("COLUMNS", str(columns))


@pytest.fixture
def short(monkeypatch):
    """Figures of two points each."""
    for name, levels in (("figure-1", (2.0, 3.0)), ("proportions", (2.0, 3.0)), ("regret", (1000,))):
        shorten_figure(monkeypatch, name, levels)
    shorten_policies(monkeypatch)


def test_the_time_left_goes_by_the_work():
    bar = Bar(4, "blocks", 10.0)
    assert bar.line(3.0) == f"[{'.' * 30}] 0/4 blocks"
    bar.step(2.0, "1/2 of a cell")
    assert bar.line(3.0) == f"[{'#' * 6}{'.' * 24}] 1/4 blocks, 12.0 s left | 1/2 of a cell"
    bar.step(8.0)
    assert bar.line(75.0) == f"[{'#' * 30}] 2/4 blocks, 0.0 s left"


def test_nothing_to_do_is_no_error():
    assert Bar(0, "blocks").line(1.0).endswith("0/0 blocks")


def test_a_line_fits_the_terminal(capsys, monkeypatch):
    pretend_terminal(monkeypatch, 40)
    with Bar(2, "runs") as bar:
        bar.step(note="x" * 100)
    lines = capsys.readouterr().err.split("\r\033[K")
    assert len(lines) == 4
    assert max(map(len, lines)) == 39
    assert lines[-1] == ""


def test_a_pipe_gets_nothing(capsys):
    with Bar(2, "runs") as bar:
        bar.step()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if isinstance(figure, Figure)])
def test_the_plan_of_a_figure_is_what_it_does(short, name):
    steps = []
    effort = Effort(runs=2, progress=steps.append)
    assert len(list(FIGURES[name].measure(effort))) > 0
    assert sorted(steps) == sorted(FIGURES[name].plan(effort))


COMMANDS = {
    "simulate": (["simulate", MODELS[0], "--delta", "0.1", "--runs", "3"], "3/3 runs"),
    "table": (["table", *MODELS], "2/2 models"),
    "verify": (["verify", "two-gaussian-arms", "--instances", "3", "--slow", "0", "--proven", "0"], "3/3 instances"),
    "compare": (["compare", *MODELS, "--solvers", "native", "--repeat", "1"], "2/2 models"),
    **{name: (["reproduce", name, "--runs", "2"], "runs") for name in FIGURES if name != "policies"},
    "policies": (["reproduce", "policies", "--runs", "2"], "5/5 blocks"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_total_and_time_left(short, capsys, monkeypatch, tmp_path, command):
    pretend_terminal(monkeypatch, 200)
    monkeypatch.chdir(tmp_path)
    argv, last = COMMANDS[command]
    assert main([*argv, *(["--workers", "1"] if command != "compare" else [])]) == 0
    *lines, end = capsys.readouterr().err.split("\r\033[K")[1:]
    assert last in lines[-1]
    assert re.match(r"\[#{30}\] (\d+)/\1 \w+, 0\.0 s left", lines[-1])
    assert end == ""
