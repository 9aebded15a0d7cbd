"""What names and titles do to a terminal and to a spreadsheet: nothing."""

import csv
import io

import pytest
from commands import run_command
from hypothesis import given
from hypothesis import strategies as st

from caet_opt.cli import main
from caet_opt.common.files import escape_controls
from caet_opt.common.rows import csv_cell, plain_text
from caet_opt.presenting.tables.formats import csv_lines

#: A model whose title and arms would clear a terminal, begin lines of their own, and turn text round.
MODEL = r"""
title = "one\u001b[2J\ntwo\r\u202ethree"
family = "gaussian"
means = [1, 0.5, 0.2]
costs = [1, 2, 3]
arms = ["a\u001b[31m", "b\nT* = 0", "c\u202ed\u0007"]
task = "ranking"
"""

#: Words of commands that print of a model, with its path in braces.
COMMANDS = (
    *("solve {}", "solve {} --digits 20", "solve {} --show-program", "table {}", "table {} --format markdown"),
    *("table {} --columns model,title,names,sampling_proportions", "thresholds {} --delta 0.1", "compare {}"),
    *(
        "simulate {} --delta 0.3 --runs 2 --max-rounds 50",
        "curve {} --sweep mean:2 --from 0 --to 0.1 --points 2 --no-figure",
    ),
    *("solve {} --task top-arms:9", "solve {} --task control:9", "solve {}x"),
)


@pytest.fixture
def model(tmp_path, monkeypatch):
    """The file, whose own name is no better."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m\x1b[2J\n.toml"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_prints_control_characters_of_a_model(model, capsys, words):
    status = main([word.replace("{}", str(model)) for word in words.split()])
    out, err = capsys.readouterr()
    assert status in (0, 1, 2)
    assert "internal error" not in err
    assert (out + err).replace("\n", "").isprintable()
    assert not any(line.startswith(("T* = 0", "two")) for line in (out + err).splitlines())


@given(st.text())
def test_a_text_without_control_characters_is_a_line(text):
    assert escape_controls(text).isprintable()


def test_a_text_that_is_harmless_stays_as_it_is():
    assert escape_controls("naïve 中 =1+1") == "naïve 中 =1+1"


@given(st.text())
def test_no_cell_of_csv_is_a_formula_and_each_is_found_again(text):
    cell = csv_cell(text)
    assert not cell or cell[0] not in "=@\t\r\n\uff1d\uff0b\uff0d\uff20"
    if cell[:1] in ("+", "-"):
        float(cell)  # a number is no formula
    assert plain_text(cell) == text
    (row,) = csv.reader(io.StringIO(csv_lines([[text, -1.5]]), newline=""))
    assert row == [cell, "-1.5"]


def test_every_csv_of_a_command_is_safe(tmp_path, capsys):
    path = tmp_path / "=1+1.toml"
    path.write_text(
        'family = "gaussian"\nmeans = [1, 0]\ncosts = [1, 2]\ntask = "best-arm"\ntitle = "@x"\narms = ["=a", "b"]\n'
    )
    files = {
        "compare": ("compare", path, "--csv", tmp_path / "1.csv"),
        "curve": ("curve", path, "--sweep", "mean:1", "--from", "0", "--to", "0.5", "--points", "2", "--no-figure"),
    }
    run_command(capsys, *files["compare"])
    run_command(capsys, *files["curve"], "--output", tmp_path / "2")
    (tmp_path / "3.csv").write_text(run_command(capsys, "table", path, "--format", "csv"))
    for name in ("1.csv", "2.csv", "3.csv"):
        for row in csv.reader((tmp_path / name).open(newline="")):
            assert not any(cell.startswith(("=", "@", "+")) for cell in row), name
    assert "'=" in (tmp_path / "3.csv").read_text()
