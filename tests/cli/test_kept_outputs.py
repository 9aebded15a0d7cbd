"""Outputs that would replace what must not be lost: an input, a live experiment, a file of a study's results."""

import os
from pathlib import Path

import pytest
from commands import expect_refusal, run_command
from study_files import write_study

from caet_opt import Caet, LiveExperiment, write_model, write_report
from caet_opt.bandits.modelfile import read_model
from caet_opt.errors import InputError
from caet_opt.presenting.report.experiment import write_experiment_page

MODEL = 'family = "gaussian"\nmeans = [2, 0]\ncosts = [1, 1]\ntask = "best-arm"\n'
PROFILE = 'backend = "native"\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder to be in, with a model, a profile, a live experiment, and links to them."""
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(MODEL)
    Path("p.toml").write_text(PROFILE)
    with LiveExperiment.start("e.caet", "best-arm", "bernoulli", arms=2, costs=[1, 1], delta=0.1) as experiment:
        experiment.next(2)
    Path("folder").mkdir()
    Path("soft").symlink_to("m.toml")
    os.link("m.toml", "hard")
    Path("live").symlink_to("e.caet")
    return tmp_path


def contents(place):
    """What is in every file; of a live experiment, whose log may be merged into it, which file it is."""
    found = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.suffix[:5] != ".caet"}
    databases = [path for path, data in found.items() if data.startswith(b"SQLite")]
    return found | {path: path.stat().st_ino for path in (place / "e.caet", *databases)}


SAME = ("m.toml", "./m.toml", "folder/../m.toml", "soft", "hard")
QUICK = "--delta 0.1 --runs 1 --max-rounds 20 --workers 1"

#: Commands, and the files that they read.
READERS = {
    f"simulate m.toml {QUICK} --csv": SAME,
    f"simulate m.toml {QUICK} --solver p.toml --csv": ("p.toml",),
    "solve m.toml --digits 12 --certificate": SAME,
    "solve m.toml --digits 12 --solver p.toml --certificate": ("p.toml",),
    "table m.toml --output": SAME,
    "table . --solvers p.toml --format csv --output": ("p.toml", "m.toml"),
    "compare m.toml --repeat 1 --solvers native p.toml --csv": (*SAME, "p.toml"),
}


@pytest.mark.parametrize(("line", "output"), [(line, one) for line, found in READERS.items() for one in found])
def test_an_output_that_is_an_input_is_refused(line, output, place, capsys):
    before = contents(place)
    option = line.split()[-1]
    expect_refusal(capsys, *line.split(), output, words=f"{option} {output}: ")
    assert contents(place) == before


def test_a_curve_whose_files_are_its_input(place, capsys):
    for suffix in ("csv", "png", "pdf"):
        Path(f"curve.{suffix}").write_text(MODEL)
        words = f"curve curve.{suffix} --sweep mean:0 --from 1 --to 2 --points 3 --output curve"
        expect_refusal(capsys, *words.split(), words=f"--output curve.{suffix}: is an input of this command")
        assert Path(f"curve.{suffix}").read_text() == MODEL
        Path(f"curve.{suffix}").unlink()


WRITERS = (
    "experiment export e.caet --csv",
    "experiment report e.caet -o",
    f"simulate m.toml {QUICK} --csv",
    "solve m.toml --digits 12 --certificate",
    "table m.toml --output",
    "compare m.toml --repeat 1 --solvers native --csv",
)


@pytest.mark.parametrize("line", WRITERS)
@pytest.mark.parametrize("output", ["e.caet", "./e.caet", "live", "twin", "e.caet-wal"])
def test_a_live_experiment_is_never_replaced(line, output, place, capsys):
    with LiveExperiment.open("e.caet") as experiment:
        experiment.next()  # the log is there as long as somebody has it open
        os.link("e.caet", "twin")
        before = contents(place)
        expect_refusal(capsys, *line.split(), output, words="a database, as live experiments are")
        assert contents(place) == before
        assert experiment.verify() == []


def test_figures_do_not_replace_a_live_experiment(place, capsys):
    Path("curve.png").symlink_to("e.caet")
    words = "curve m.toml --sweep mean:0 --from 1 --to 2 --points 3 --output curve"
    expect_refusal(capsys, *words.split(), words="--output curve.png: is a database")
    assert not Path("curve.csv").exists()


def test_what_python_writes_replaces_no_live_experiment(place):
    before = contents(place)
    explorer = Caet.start("best-arm", "bernoulli", arms=2, costs=[1, 1], delta=0.1)
    with LiveExperiment.open("e.caet") as experiment:
        for write in (
            lambda: explorer.save("live"),
            lambda: write_model("e.caet", read_model("m.toml")),
            lambda: write_experiment_page(experiment, "e.caet"),
        ):
            with pytest.raises(InputError, match="is a database, as live experiments are"):
                write()
    assert contents(place) == before


def test_files_of_results_are_not_replaced(place, capsys):
    study = write_study(place, runs=4, block=2, max_rounds=40)
    run_command(capsys, "sweep", study, "--out", "results", "--workers", "1")
    before = contents(place)
    for output in ("results/manifest.json", *map(str, Path("results/blocks").iterdir())):
        for line in ("report results --output", "table results --output", f"simulate m.toml {QUICK} --csv"):
            words = f"belongs to the results in {os.path.realpath('results')}"
            expect_refusal(capsys, *line.split(), output, words=words)
        with pytest.raises(InputError, match="belongs to the results"):
            write_report("results", output)
    assert contents(place) == before
    run_command(capsys, "report", "results", "--output", "results/page.html")
    run_command(capsys, "report", "results", "--output", "results/page.html")  # again, over the old page
    expect_refusal(capsys, "sweep", "study.toml", "--out", "m.toml", words="--out m.toml: cannot be written")


def test_what_was_read_before_is_no_input_of_the_next_command(place, capsys):
    run_command(capsys, "solve", "m.toml")
    run_command(capsys, "table", "paper-instance-1", "--output", "m.toml")
    assert not Path("m.toml").read_text().startswith("family")


def test_a_file_with_a_wrong_model_in_it_is_not_written(place, capsys):
    Path("bad.toml").write_text("means = [1")
    Path("tie.toml").write_text(MODEL.replace("[2, 0]", "[2, 2]"))
    Path("old.tex").write_text("old")
    words = "table m.toml bad.toml tie.toml --format latex --output"
    said = expect_refusal(
        capsys, *words.split(), "x.tex", words="--output x.tex: not written, because bad.toml: not valid TOML"
    )
    assert "tie.toml: arms 0 and 1 have equal means" in said
    expect_refusal(capsys, *words.split(), "old.tex")
    assert not Path("x.tex").exists()
    assert Path("old.tex").read_text() == "old"


def test_what_a_solver_cannot_certify_keeps_its_row_in_a_file(place, capsys):
    from caet_opt.cli import main

    Path("p.toml").write_text('backend = "native"\nmax_iterations = 1\n')
    assert main(["table", "paper-instance-1", "--solvers", "p.toml", "--format", "csv", "--output", "x.csv"]) == 1
    out, err = capsys.readouterr()
    assert out == "written: x.csv\n"
    assert err.startswith("caet-opt: these rows of x.csv have no numbers: ")
    assert err.count("\n") == 1
    assert Path("x.csv").read_text().count("\n") == 2
