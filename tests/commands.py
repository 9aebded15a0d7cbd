"""Commands in the process of the tests: what they print, and how they refuse bad input; and scripts of analysis/."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from caet_opt.cli import main
from caet_opt.exploring.policies import list_policies
from caet_opt.presenting.figures import FIGURES, policies
from caet_opt.simulating.studies import cells


def run_command(capsys, *argv, status=0):
    """Standard output of a command that says nothing on stderr, or only that it compiles."""
    assert main([*map(str, argv)]) == status
    out, err = capsys.readouterr()
    assert said(err) == []
    return out


def run_script(name, *argv):
    """The status of a script of analysis/ in a process of its own, and the cells of the table that it prints."""
    path = Path(__file__).parents[1] / "analysis" / name
    done = subprocess.run([sys.executable, path, *map(str, argv)], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]


def said(err):
    """The lines on stderr, without those that something is compiled, which depends on what ran before."""
    return [line for line in err.splitlines() if not line.startswith("caet-opt: compiling ")]


def read_json(text):
    """What JSON says, NaN and infinity refused."""

    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def expect_refusal(capsys, *argv, words=""):
    """The one line on stderr, with these words in it, of a command that refuses its input."""
    status = main([*map(str, argv)])
    out, err = capsys.readouterr()
    err = "".join(f"{line}\n" for line in said(err))
    check_refusal(status, out, err, words)
    return err


def check_refusal(status, out, err, words):
    """Check that a command printed nothing, and ended with status 2 and one line that has these words in it."""
    assert words in err
    assert status == 2
    assert out == ""
    assert err.startswith("caet-opt: error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err


def shorten_figure(monkeypatch, name, levels, first=0):
    """Have ``caet-opt reproduce`` draw a figure at these levels, its instances from the given one on."""
    kept = list(FIGURES[name].instances.items())[first:]
    instances = {instance: (levels, full) for instance, (_, full) in kept}
    monkeypatch.setitem(FIGURES, name, replace(FIGURES[name], instances=instances))


def shorten_policies(monkeypatch):
    """Have ``caet-opt reproduce policies`` run three policies on two models, one of which two of them cover."""
    monkeypatch.setitem(policies.GRID, "models", ["paper-instance-1.toml", "bernoulli-costs.toml"])
    monkeypatch.setitem(policies.QUICK, "deltas", [0.1])
    found = ["caet", "uniform", "chernoff-racing"]

    def shortened(task, family):
        return [name for name in found if name in list_policies(task, family)]

    monkeypatch.setattr(cells, "list_policies", shortened)
