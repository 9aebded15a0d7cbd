"""``caet-opt compare`` and the measuring behind it."""

import csv
import json
import re
from pathlib import Path

import pytest
from commands import expect_refusal, run_command

from caet_opt import (
    BanditModel,
    CharacteristicTime,
    Gaussian,
    InputError,
    Profile,
    SolverError,
    TieError,
    characteristic_time,
    compare_solvers,
    read_model,
)
from caet_opt.cli import main
from caet_opt.solving import compare
from caet_opt.solving.backends import installed_backends
from caet_opt.solving.backends.clarabel import Clarabel
from caet_opt.solving.backends.ipopt import Ipopt, Pyomo
from caet_opt.solving.backends.native import Native
from caet_opt.solving.compare import COLUMNS, Comparison, Measurement, median_seconds

ROOT = Path(__file__).resolve().parents[2]
PAPER, TWO = (str(ROOT / "models" / f"{name}.toml") for name in ("paper-instance-1", "gaussian-two-arms"))
ENTRY = read_model(PAPER)
QUICK = ["--solvers", "native", "clarabel", "--repeat", "1"]
TIED = 'family = "gaussian"\nmeans = [1, 1]\ncosts = [1, 1]\ntask = "best-arm"\n'


def compared(capsys, *argv, status=0):
    """Standard output of the command, which says nothing on stderr."""
    return run_command(capsys, "compare", *argv, status=status)


@pytest.fixture
def broken_clarabel(monkeypatch):
    """Clarabel fails whatever it is given."""

    def fail(self, problem, profile, start=None):
        raise SolverError("out of luck")

    monkeypatch.setattr(Clarabel, "solve", fail)


# measuring


def test_a_model_is_measured_by_every_solver_in_their_order():
    solvers = {"mine": Profile("native", tolerance=1e-10), "clarabel": Profile("clarabel")}
    rows = compare_solvers(ENTRY.model, ENTRY.task, solvers, repeat=2).rows()
    assert [(row["solver"], row["answered_by"]) for row in rows] == [("mine", "native"), ("clarabel", "clarabel")]
    for row in rows:
        assert row["characteristic_time"] == pytest.approx(11.656854249492381, rel=1e-9)
        assert row["lower"] <= row["characteristic_time"] <= row["upper"]
        assert row["gap"] <= 1e-9
        assert row["seconds"] > 0
        assert row["error"] is None
    assert min(row["ratio"] for row in rows) == 1


@pytest.mark.usefixtures("broken_clarabel")
def test_a_fallback_is_named():
    solvers = {"c": Profile("clarabel", fallback="native")}
    comparison = compare_solvers(ENTRY.model, ENTRY.task, solvers, repeat=0)
    (row,) = comparison.rows()
    assert (row["solver"], row["answered_by"], row["error"]) == ("c", "native", None)
    assert "c (native)" in str(comparison)


def test_the_median_is_over_the_timed_calls():
    calls = []
    assert median_seconds(lambda: calls.append(1), 7) >= 0
    assert len(calls) == 7


def answer(lower, upper):
    """An answer of which only the interval matters."""
    result = object.__new__(CharacteristicTime)
    object.__setattr__(result, "lower", lower)
    object.__setattr__(result, "upper", upper)
    return result


def comparison(*results):
    """What solvers with these answers give; None for one that failed."""
    return Comparison(
        ENTRY.model,
        ENTRY.task,
        tuple(Measurement("s", one, error=SolverError("no") if one is None else None) for one in results),
    )


def test_ratios_leave_failures_alone(monkeypatch):
    found = {"a": Measurement("a", seconds=2.0), "b": Measurement("b"), "c": Measurement("c", seconds=0.5)}
    monkeypatch.setattr(compare, "measure_solver", lambda model, task, name, *rest: found[name])
    assert [one.ratio for one in compare.measure(ENTRY.model, ENTRY.task, found, 1).measurements] == [4.0, None, 1.0]
    assert compare.measure(ENTRY.model, ENTRY.task, {"b": None}, 1).measurements[0].ratio is None


def test_intervals_without_a_common_point_disagree():
    low, high = answer(1.0, 2.0), answer(2.5, 3.0)
    apart, touching, nothing = comparison(low, high), comparison(low, None, answer(2.0, 3.0)), comparison(None)
    assert (apart.agree, apart.disagree, apart.complete) == (False, True, False)
    assert (touching.agree, touching.disagree, touching.complete) == (True, False, False)
    assert (nothing.agree, nothing.disagree, nothing.complete) == (False, False, False)
    assert comparison(low, low).complete


# from Python


def test_every_installed_backend_is_compared_unless_told():
    found = compare_solvers(ENTRY.model, "ranking", repeat=0)
    assert [one.solver for one in found.measurements] == list(installed_backends())
    assert found.complete
    frame = found.to_frame()
    assert tuple(frame.columns) == COLUMNS
    assert list(frame["solver"]) == list(installed_backends())


def test_a_comparison_prints_as_a_table():
    found = compare_solvers(ENTRY.model, ENTRY.task, ["native", ROOT / "solvers" / "native.toml"], repeat=0)
    header, *lines = str(found).splitlines()
    assert re.split("  +", header) == list(compare.HEADINGS)
    assert [line.split()[0] for line in lines[:2]] == ["native", "native.toml"]
    assert lines[2:] == ["", "the certified intervals of all 2 answers overlap"]
    html = found._repr_html_()
    assert html.count("<tr>") == 3
    assert "<td>native.toml</td>" in html
    assert "answers overlap" in html


@pytest.mark.usefixtures("broken_clarabel")
def test_a_comparison_tells_who_failed():
    found = compare_solvers(ENTRY.model, ENTRY.task, ["clarabel", "native"], repeat=0)
    assert "clarabel failed: solver 'clarabel' failed: out of luck" in str(found)
    assert found.agree
    assert not found.complete
    alone = compare_solvers(ENTRY.model, ENTRY.task, "clarabel", repeat=0)
    assert str(alone).endswith("no solver has a certified answer")


def test_a_comparison_of_what_has_no_time_is_bad_input():
    with pytest.raises(TieError, match="equal means"):
        compare_solvers(BanditModel(Gaussian(), [1, 1], [1, 1]), "best-arm", repeat=0)
    for solvers, message in ((["native", "native"], "named twice"), ([], "no solver is named"), ("natvie", "native")):
        with pytest.raises(InputError, match=message):
            compare_solvers(ENTRY.model, ENTRY.task, solvers, repeat=0)
    for repeat in (-1, 1.5, True):
        with pytest.raises(InputError, match="repeat must be a whole number"):
            compare_solvers(ENTRY.model, ENTRY.task, repeat=repeat)


def test_the_tolerance_is_every_solver_s():
    found = compare_solvers(ENTRY.model, ENTRY.task, "native", repeat=0, tolerance=1e-17)
    assert "above the tolerance 1.0e-17" in str(found)
    with pytest.raises(InputError, match="tolerance must be a positive number"):
        compare_solvers(ENTRY.model, ENTRY.task, "native", tolerance=-1.0)


def test_a_large_ratio_reads_as_people_write_it():
    (line,) = Comparison(
        ENTRY.model,
        ENTRY.task,
        (Measurement("native", characteristic_time(ENTRY.model, ENTRY.task), 1.0, 1811.3),),
    ).lines(("solver", "ratio"))
    assert line == ["native", "1810 x"]


def test_solvers_agree_on_statements():
    model = BanditModel("exponential", [2, 1.2, 0.7], [1, 1, 3])
    found = compare_solvers(model, "control:1+0.1", repeat=0)
    assert [one.solver for one in found.measurements] == list(installed_backends())
    assert found.complete
    assert found.to_frame()["characteristic_time"].to_numpy() == pytest.approx(63.054247495882, rel=1e-9)


# the command


def test_the_table_has_a_line_per_model_and_solver(capsys):
    header, *rows = compared(capsys, PAPER, TWO, *QUICK).splitlines()
    assert header.split() == ["model", "solver", "T*", "gap", "own", "gap", "iterations", "time", "ratio"]
    assert [row.split()[:2] for row in rows] == [
        [model, solver] for model in ("paper-instance-1", "gaussian-two-arms") for solver in ("native", "clarabel")
    ]
    assert all(re.search(r" [\d.]+ (us|ms|s) +[\d.]+ x$", row) for row in rows)


def test_every_installed_backend_takes_part_by_default(capsys):
    _, *rows = compared(capsys, TWO, "--repeat", "1").partition("\n\n")[0].splitlines()
    assert [row.split()[1] for row in rows] == list(installed_backends())


def test_who_provides_ipopt_is_told(capsys, monkeypatch):
    for backend in (Ipopt, Pyomo):
        monkeypatch.setattr(backend, "provider", classmethod(lambda cls: "Ipopt 3.14 by someone"))
        monkeypatch.setattr(backend, "answer", lambda self, *given: Native().answer(*given))
        monkeypatch.setattr(backend, "is_installed", classmethod(lambda cls: True))
    solvers = ["--solvers", "native", "ipopt", "pyomo", "--repeat", "1"]
    assert compared(capsys, TWO, PAPER, *solvers).endswith("\n\nipopt, pyomo: Ipopt 3.14 by someone\n")
    record = json.loads(compared(capsys, TWO, *solvers, "--json"))
    assert [row["provider"] for row in record["rows"]] == [None, *["Ipopt 3.14 by someone"] * 2]
    assert "by someone" not in compared(capsys, TWO, *QUICK)


def test_folders_and_profiles(capsys, tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.toml").write_text(Path(TWO).read_text())
    profile = ROOT / "solvers" / "native.toml"
    _, *rows = compared(capsys, tmp_path, tmp_path / "a.toml", "--solvers", profile, "--repeat", "1").splitlines()
    assert [row.split()[:2] for row in rows] == [["a", "native.toml"], ["b", "native.toml"]]


def test_models_of_one_name_are_told_apart(capsys, tmp_path):
    same = tmp_path / Path(TWO).name
    same.write_text(Path(TWO).read_text())
    record = json.loads(compared(capsys, TWO, same, *QUICK, "--json"))
    assert {row["model"] for row in record["rows"]} == {TWO, str(same)}


def test_json_is_one_object(capsys):
    record = json.loads(compared(capsys, PAPER, *QUICK, "--json"))
    assert list(record) == ["repeat", "rows", "disagreements"]
    assert record["repeat"] == 1
    assert record["disagreements"] == []
    for row in record["rows"]:
        assert tuple(row) == ("model", *COLUMNS)
        assert row["characteristic_time"] == pytest.approx(11.656854249492381, rel=1e-9)


def test_csv_holds_the_same_rows(capsys, tmp_path):
    target = tmp_path / "rows.csv"
    record = json.loads(compared(capsys, PAPER, TWO, *QUICK, "--json", "--csv", target))
    with target.open(newline="") as lines:
        written = list(csv.DictReader(lines))
    assert written == [
        {key: "" if value is None else str(value) for key, value in row.items()} for row in record["rows"]
    ]


@pytest.mark.usefixtures("broken_clarabel")
def test_a_failure_is_a_row_and_nothing_is_lost(capsys, tmp_path):
    target = tmp_path / "rows.csv"
    out = compared(capsys, PAPER, TWO, *QUICK, "--csv", target, status=1)
    assert len(re.findall(r"^\S+ +clarabel +failed$", out, re.MULTILINE)) == 2
    assert len(re.findall(r"^\S+ +native +\d", out, re.MULTILINE)) == 2
    assert "paper-instance-1 by clarabel failed: solver 'clarabel' failed: out of luck" in out
    assert target.read_text().count("out of luck") == 2


@pytest.mark.usefixtures("broken_clarabel")
def test_a_failure_in_json(capsys):
    record = json.loads(compared(capsys, TWO, *QUICK, "--json", status=1))
    good, bad = record["rows"]
    assert good["error"] is None
    assert "out of luck" in bad["error"]
    assert bad["characteristic_time"] is bad["seconds"] is bad["ratio"] is None


def test_a_tie_is_a_failed_row(capsys, tmp_path):
    (tmp_path / "tied.toml").write_text(TIED)
    out = compared(capsys, tmp_path / "tied.toml", TWO, *QUICK, status=1)
    assert out.count("equal means") == 2
    assert len(re.findall(r"^gaussian-two-arms +\w+ +72", out, re.MULTILINE)) == 2


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_disagreement_is_told(capsys, monkeypatch, form):
    monkeypatch.setattr(Comparison, "agree", False)
    assert "gaussian-two-arms" in compared(capsys, TWO, *QUICK, *form, status=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: MODELS"),
        (["nowhere.toml"], "nowhere.toml: no such file"),
        ([TWO, "--solvers", "clarabell"], "did you mean 'clarabel'?"),
        ([TWO, "--solvers", "nowhere.toml"], "nowhere.toml: no such file"),
        ([TWO, "--solvers", TWO], "unknown key"),
        ([TWO, "--repeat", "0"], "must be a positive whole number, got '0'"),
        ([TWO, "--repeat", "-3"], "must be a positive whole number, got '-3'"),
        ([TWO, "--repeat", "x"], "must be a positive whole number, got 'x'"),
        ([TWO, "--csv", "/nowhere/rows.csv"], "--csv /nowhere/rows.csv: cannot be written (No such file or directory)"),
        ([TWO, "--sovlers", "native"], "did you mean '--solvers'?"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, words, message):
    expect_refusal(capsys, "compare", *words, words=message)


def test_a_folder_without_models_is_bad_input(capsys, tmp_path):
    expect_refusal(capsys, "compare", tmp_path, words="no model file")


def test_a_solver_that_is_not_installed_is_bad_input(capsys, monkeypatch):
    monkeypatch.setattr(Clarabel, "requires", "no_such_module")
    assert main(["compare", TWO, "--solvers", "clarabel"]) == 2
    assert "needs the module 'no_such_module'" in capsys.readouterr().err
