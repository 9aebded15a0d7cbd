"""Every guarantee that a command prints says for which rewards it holds, in the words of one function."""

from pathlib import Path

import pytest
from commands import expect_refusal, read_json, run_command

import caet_opt

FOUR = "guaranteed for independent Gaussian rewards of variance 4: wrong with probability at most 0.05"
MODEL = ("--family", "gaussian:4", "--means", "9,0", "--costs", "1,1", "--task", "best-arm", "--delta", 0.05)
START = ("--task", "best-arm", "--arms", "old,new", "--costs", "1,1", "--delta", 0.05)


@pytest.mark.parametrize("command", ["simulate", "thresholds"])
def test_of_a_model(capsys, command):
    more = ("--runs", 2) if command == "simulate" else ()
    assert FOUR in run_command(capsys, command, *MODEL, *more)
    found = read_json(run_command(capsys, command, *MODEL, *more, "--json"))
    assert found["assumes"] == "independent Gaussian rewards of variance 4"


def test_of_several_policies(capsys):
    assert FOUR in run_command(capsys, "simulate", *MODEL, "--runs", 2, "--policy", "caet,uniform")


def test_of_a_live_experiment(capsys, tmp_path):
    path = tmp_path / "trial.caet"
    assert FOUR in run_command(capsys, "experiment", "start", path, *START, "--family", "gaussian:4")
    assert FOUR in run_command(capsys, "experiment", "status", path)
    status = read_json(run_command(capsys, "experiment", "status", path, "--json"))
    assert (status["guaranteed"], status["assumes"]) == (True, "independent Gaussian rewards of variance 4")


def test_a_live_experiment_without_its_variance(capsys, tmp_path):
    words = "gaussian:VAR, for example gaussian:4"
    expect_refusal(capsys, "experiment", "start", tmp_path / "trial.caet", *START, "--family", "gaussian", words=words)
    assert list(tmp_path.iterdir()) == []


def test_the_words_are_written_once():
    """Whatever says "guaranteed for" is the one function, or speaks of it."""
    folder = Path(caet_opt.__file__).parent
    found = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if "guaranteed for" in path.read_text()
    }
    assert found == {"exploring/stopping/base.py", "bandits/families/base.py"}
