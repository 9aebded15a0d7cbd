"""docs/live_experiments.md tells the truth: its commands print what stands below them."""

import re
import shlex
import sys
from io import StringIO
from pathlib import Path

from caet_opt import LiveExperiment
from caet_opt.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "live_experiments.md").read_text(encoding="utf-8")
BLOCKS = dict.fromkeys(("console", "python"), "")
for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
    BLOCKS[language] += text


def run_line(line, capsys, monkeypatch):
    """What a command prints; one that begins with printf feeds the other."""
    told, pipe, command = line.rpartition(" | ")
    monkeypatch.setattr(sys, "stdin", StringIO(shlex.split(told)[1].replace("\\n", "\n") if pipe else ""))
    main(shlex.split(command)[1:])
    return "".join(capsys.readouterr())


def test_every_command_prints_what_stands_below_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in BLOCKS["console"].split("$ ")[1:]:
        line, _, printed = block.partition("\n")
        assert run_line(line, capsys, monkeypatch) == printed, line
    exec(BLOCKS["python"], {"ask": lambda name: 1})
    assert "8 outcomes" in capsys.readouterr().out
    assert LiveExperiment.open("trial.caet").verify() == []
