"""``caet-opt reproduce policies`` on few policies and runs: what it writes, goes on with, and shows."""

import csv

import pytest
from commands import run_command, said, shorten_policies
from study_files import contents

from caet_opt import POLICIES, characteristic_time, read_model, summarise_results
from caet_opt.cli import main, reproduce
from caet_opt.presenting.figures import FIGURES, Effort, policies
from caet_opt.simulating.studies import store
from caet_opt.simulating.studies.blocks import Outcome, run_locally

for package in ("pyarrow", "matplotlib"):
    pytest.importorskip(package, reason=f"{package} is not installed (extra: dev)")


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Three policies on two models at one delta: five cells, of a block each."""
    shorten_policies(monkeypatch)


def reproduced(capsys, folder, *argv):
    """Standard output of the command."""
    return run_command(capsys, "reproduce", "policies", "--runs", "3", "--workers", "1", "--out", folder, *argv)


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_it_is_written_as_png_pdf_csv_and_table(capsys, tmp_path):
    title, delta, foot, written = reproduced(capsys, tmp_path / "new").split("\n\n")
    assert title == f"{FIGURES['policies'].title}, seed 1"
    first, head, *lines = delta.splitlines()
    assert first == "delta = 0.1"
    assert head.split() == ["policy", "paper-instance-1", "bernoulli-costs"]
    assert [line.split()[0] for line in lines] == ["caet", "uniform", "chernoff-racing"]
    assert [line.count("[") for line in lines] == [0, 0, 0]  # of three runs
    assert lines[2].split()[1] == "-"
    assert foot.splitlines()[-1].startswith("15 runs of 5 cells: 0 wrong answers, ")
    files = {suffix: tmp_path / "new" / f"policies.{suffix}" for suffix in ("csv", "png", "pdf")}
    assert all(str(file) in written for file in files.values())
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert files["pdf"].read_bytes().startswith(b"%PDF")
    rows = read(files["csv"])
    assert len(rows) == 5
    assert [f"{float(row['ratio']):.2f}" for row in rows if row["policy"] == "chernoff-racing"] == [lines[2].split()[2]]


def test_ratios_have_intervals_where_there_are_any(capsys, tmp_path):
    """From ten runs on, and not for racing."""
    table = reproduced(capsys, tmp_path, "--runs", "10").split("\n\n")[1]
    assert [line.count("[") for line in table.splitlines()[2:]] == [2, 2, 0]


def test_the_same_command_computes_nothing_again(capsys, tmp_path):
    first = reproduced(capsys, tmp_path)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "policies" / "blocks").iterdir()}
    assert reproduced(capsys, tmp_path) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "policies" / "blocks").iterdir()} == times


def test_only_what_is_asked_for_is_shown(capsys, tmp_path):
    reproduced(capsys, tmp_path)
    out = reproduced(capsys, tmp_path, "--seed", "2")
    assert "15 runs of 5 cells" in out
    assert {row["seed"] for row in read(tmp_path / "policies.csv")} == {"2"}
    assert set(summarise_results(tmp_path / "policies")["seed"]) == {1, 2}


def test_an_interrupted_run_is_gone_on_with(capsys, tmp_path, monkeypatch):
    def interrupted(jobs, workers):
        yield next(run_locally(jobs, workers))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reproduce, "run_locally", interrupted)
        assert main(["reproduce", "policies", "--runs", "3", "--out", str(tmp_path)]) == 130
    out, err = capsys.readouterr()
    assert (out, err) == ("", "caet-opt: interrupted; 1 of 5 blocks are stored; run the same command to resume\n")
    assert not (tmp_path / "policies.csv").exists()
    kept = contents(tmp_path / "policies")
    reproduced(capsys, tmp_path)
    assert len(kept) == 1
    assert kept.items() < contents(tmp_path / "policies").items()
    reproduced(capsys, tmp_path / "at once")
    assert contents(tmp_path / "at once" / "policies") == contents(tmp_path / "policies")


@pytest.mark.parametrize("lost", [1, 5])
def test_blocks_that_are_given_up_are_told(capsys, tmp_path, monkeypatch, lost):
    def unlucky(jobs, workers):
        yield from (Outcome(job.block, None, "SolverError: no") for job in jobs[:lost])
        yield from run_locally(jobs[lost:], workers)

    monkeypatch.setattr(reproduce, "run_locally", unlucky)
    assert main(["reproduce", "policies", "--runs", "3", "--out", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert len(said(err)) == lost
    assert (f"{15 - 3 * lost} runs of 5 cells" in out) == (tmp_path / "policies.png").exists() == (lost < 5)


def test_runs_and_seed_are_those_of_the_study():
    study = policies.make_study(Effort(runs=7, seed=9))
    assert (study.name, study.runs, study.seed) == ("policies", 7, 9)


def test_missing_pyarrow_is_named_before_anything_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "find_spec", lambda name: None)
    assert main(["reproduce", "policies", "--out", str(tmp_path / "new")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("caet-opt: error: stored results need pyarrow; install it with: ")
    assert not (tmp_path / "new").exists()


def test_full_goes_on_from_quick(monkeypatch):
    monkeypatch.undo()
    quick, full = (policies.make_study(Effort(full=full)) for full in (False, True))
    assert set(quick.levels) < set(full.levels)
    assert quick.runs < full.runs
    assert (quick.grid, quick.models) == (full.grid, full.models)
    assert (policies.QUICK["deltas"][0], policies.QUICK["deltas"][-1]) == (0.1, 1e-6)


def test_the_six_models_are_what_they_are_said_to_be(monkeypatch):
    monkeypatch.undo()
    entries = [read_model(path) for path in policies.make_study(Effort()).models]
    assert [str(entry.task) for entry in entries] == [
        "ranking",
        "ranking",
        "best-arm",
        "top-arms:2",
        "control:0",
        "best-arm",
    ]
    bernoulli, trial = entries[2], entries[4]
    assert bernoulli.model.family.name == "bernoulli"
    assert max(bernoulli.model.costs) >= 100 * min(bernoulli.model.costs) > 0
    assert trial.model.costs[0] == 0
    assert all(any(policy.covers(entry.task) for entry in entries) for policy in POLICIES.values())


def test_the_catalogue_is_found_wherever_the_command_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = read_model("paper-instance-1")
    assert characteristic_time(entry.model, entry.task).value == pytest.approx(entry.characteristic_time)


def test_ratios_are_on_a_logarithmic_axis_above_the_bound(capsys, tmp_path):
    reproduced(capsys, tmp_path)
    canvas = FIGURES["policies"].draw(summarise_results(tmp_path / "policies"))
    assert [axis.get_title() for axis in canvas.axes] == ["paper-instance-1", "bernoulli-costs"]
    assert {axis.get_yscale() for axis in canvas.axes} == {"log"}
    assert canvas.axes[0].get_ylabel() == "cost / lower bound, logarithmic"
    assert [len(axis.get_lines()) for axis in canvas.axes] == [4, 5]
    assert [text.get_text() for text in canvas.legends[0].get_texts()][2:] == ["caet", "uniform", "chernoff-racing"]
