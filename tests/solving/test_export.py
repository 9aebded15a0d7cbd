"""Programs in files: read by others, they have the same T*."""

import json
import re
import subprocess
from math import log
from pathlib import Path

import pytest

from caet_opt import BanditModel, characteristic_time, parse_task, read_model
from caet_opt.cli import main
from caet_opt.solving.export import program_files


def write(folder, name, file, *more):
    """Write the program of a model by the command; the path, its map, and T*."""
    path, entry = folder / file, read_model(name)
    assert main(["solve", name, "--write", str(path), *more]) == 0
    result = characteristic_time(entry.model, entry.task)
    return path, json.loads(path.with_name(path.name + ".map").read_text(encoding="utf-8")), result


@pytest.mark.parametrize("name", ["champion-and-challenger", "paper-instance-1", "non-inferior-model"])
def test_a_solver_that_reads_nl_files_finds_the_same_time(pounce, tmp_path, name, capsys):
    """Pounce, which has a reader of its own; names of rows and columns are beside it."""
    path, told, result = write(tmp_path, name, "program.nl")
    options = ["tol=1e-12", "bound_relax_factor=0"]
    subprocess.run([pounce, path, "-AMPL", *options], check=True, capture_output=True)
    lines = path.with_suffix(".sol").read_text().splitlines()
    first = lines.index("Options") + 2
    first += int(lines[first - 1])
    _, duals, _, values = map(int, lines[first : first + 4])  # how many constraints and variables, and numbers of each
    solution = lines[first + 4 + duals : first + 4 + duals + values]
    values = dict(zip(told["variables"].values(), solution, strict=True))
    assert 1 / float(values["rate"]) == pytest.approx(result.value, rel=1e-8)
    assert path.with_suffix(".col").read_text().splitlines()[-1] == "rate"
    assert len(path.with_suffix(".row").read_text().splitlines()) == len(told["constraints"]) + 1


@pytest.mark.parametrize("name", ["champion-and-challenger", "wireless-channels"])
@pytest.mark.parametrize("file", ["program.gms", "program.bar"])
def test_the_terms_in_a_text_are_those_of_the_statements(tmp_path, name, file, capsys):
    """At the optimal effort the least of them is 1 / T*, and the budget is spent."""
    path, told, result = write(tmp_path, name, file)
    model, text = result.model, path.read_text(encoding="utf-8")
    shares = dict(zip((f"effort of arm {arm}" for arm in model.arms), result.effort / result.value, strict=True))
    values = {symbol: shares.get(meaning, 0.0) for symbol, meaning in told["variables"].items()}  # a rate of 0
    found = {}
    for symbol, meaning in told["constraints"].items():
        (line,) = re.findall(rf"^{symbol}(?:_lo)?(?:\.\.|:) (.*?) ;?$", text.replace(";", " ;"), re.MULTILINE)
        body = re.sub(r"^0 =l= |=e= 1|>= 0|== 1", "", line).replace("^", "**")
        found[meaning] = eval(body, {"log": log, **values})
    assert found.pop("budget") == pytest.approx(1, rel=1e-12)
    assert set(found) == {one.write(model.arms) for one in result.statements}
    assert 1 / min(found.values()) == pytest.approx(result.value, rel=1e-10)


def test_a_linear_program_is_read_by_a_linear_solver(tmp_path, capsys):
    highspy = pytest.importorskip("highspy")
    path, told, result = write(tmp_path, "on-time", "program.lp")
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(path))
    solver.run()
    assert 1 / solver.getObjectiveValue() == pytest.approx(result.value, rel=1e-9)
    assert "effort of arm north" in told["variables"].values()


def test_cuts_have_the_optimum_of_their_terms():
    """Margins of exponential arms have no formula; the map says so."""
    model = BanditModel("exponential", [2, 1.2, 0.7], costs=[1, 1, 3], arms=["ü", "a b", "a_b"])
    files = {str(path): text for path, text in program_files(model, parse_task("control:1+0.1"), "p.lp").items()}
    told = json.loads(files["p.lp.map"])
    assert "linear cuts" in told["note"]
    assert list(told["variables"].values())[1:] == ["effort of arm ü", "effort of arm a b", "effort of arm a_b"]
    assert len(set(told["variables"])) == 4
    assert files["p.lp"].isascii()


def test_limits_are_written_too(tmp_path, capsys):
    path = tmp_path / "p.gms"
    assert main(["solve", "garivier-kaufmann-1", "--limit", "pulls:1<=0.3", "--write", str(path)]) == 0
    told = json.loads((tmp_path / "p.gms.map").read_text())
    (symbol,) = [symbol for symbol, meaning in told["constraints"].items() if meaning == "pulls:1<=0.3"]
    assert re.search(rf"^{symbol}(_hi)?\.\. .*=l= 0", path.read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("champion-and-challenger", "p.lp", "the term of 'red > blue' is not linear; write .nl, .gms, .bar"),
        (
            "champion-and-challenger",
            "p.mod",
            "unknown format; the name of the file must end in one of: .nl (AMPL's solvers)",
        ),
        ("free-of-charge", "p.nl", "there is no program to write"),
        ("on-time", "nowhere/p.nl", "p.nl: cannot be written (No such file or directory)"),
    ],
)
def test_what_cannot_be_written_is_told_in_one_line(tmp_path, capsys, name, file, words):
    assert main(["solve", name, "--write", str(tmp_path / file)]) == 2
    out, err = capsys.readouterr()
    assert words in err
    assert len(err.splitlines()) == 1
    assert (out, list(tmp_path.iterdir())) == ("", [])


def test_what_is_read_is_not_written_over(tmp_path, capsys):
    path = tmp_path / "p.nl.map"
    path.write_text((Path(__file__).parents[2] / "models" / "on-time.toml").read_text())
    assert main(["solve", str(path), "--write", str(tmp_path / "p.nl")]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["p.nl.map"]
