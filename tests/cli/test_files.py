"""Files that are whole or not there, and those of the command line."""

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from caet_opt import Caet
from caet_opt.cli import main
from caet_opt.common import files
from caet_opt.common.files import write_whole

MODEL = 'family = "gaussian"\nmeans = [2, 0]\ncosts = [1, 1]\ntask = "best-arm"\n'
HEAD = "index,stopped,correct,answer,rounds,cost,solves,widest_gap,count_0,count_1\n"

#: Commands that write a file, which is put behind them, and how the file begins.
WRITERS = {
    "simulate": ("simulate {model} --delta 0.1 --runs 2 --workers 1 --csv", HEAD),
    "compare": ("compare {model} --solvers native --repeat 1 --csv", "model,family,task,"),
    "table": ("table {model} --workers 1 --format csv --output", "model,"),
    "solve": ("solve {model} --digits 12 --certificate", "{"),
}


@pytest.fixture
def model(tmp_path):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "model.toml"
    path.write_text(MODEL)
    return path


@pytest.fixture(params=WRITERS)
def writer(request, model):
    """The words of a command that writes a file, and how the file begins."""
    line, begins = WRITERS[request.param]
    return line.format(model=model).split(), begins


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path, writer):
    argv, begins = writer
    place = tmp_path / "out"
    place.write_text("old" * 10000)
    place.chmod(0o640)
    assert main([*argv, str(place)]) == 0
    assert place.read_text().startswith(begins)
    assert "old" not in place.read_text()
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_goes_wrong_in_writing_leaves_the_old_file(tmp_path, writer, failure, monkeypatch, capsys):
    def full(number):
        raise failure

    argv, _ = writer
    place = tmp_path / "out"
    place.write_text("old")
    monkeypatch.setattr(files.os, "fsync", full)
    status = main([*argv, str(place)])
    assert status == (130 if isinstance(failure, KeyboardInterrupt) else 2)
    assert place.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "interrupted" in err or "out: cannot be written (No space left on device)" in err


def test_the_old_file_is_there_during_the_work(tmp_path, model, monkeypatch):
    from caet_opt.simulating import runs as simulation

    place = tmp_path / "out"
    place.write_text("old")
    seen = []

    def run(*arguments):
        seen.append((place.read_text(), sorted(os.listdir(tmp_path))))
        return real(*arguments)

    real = simulation.run_number
    monkeypatch.setattr(simulation, "run_number", run)
    assert (
        main(["simulate", str(model), *["--delta", "0.1", "--runs", "2", "--workers", "1", "--csv"], str(place)]) == 0
    )
    assert seen == [("old", ["in", "out"])] * 2
    assert place.read_text().startswith(HEAD)


def test_a_link_stays_a_link(tmp_path, writer):
    argv, begins = writer
    target, link = tmp_path / "in" / "target", tmp_path / "link"
    link.symlink_to(target)
    assert main([*argv, str(link)]) == 0
    assert link.is_symlink()
    assert target.read_text().startswith(begins)


def test_a_pipe_is_written_to(tmp_path, writer):
    argv, begins = writer
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    assert main([*argv, str(pipe)]) == 0
    reader.join(timeout=20)
    assert found[0].startswith(begins)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_standard_output_by_its_path_has_both(tmp_path, model):
    place = tmp_path / "out"
    words = [
        "simulate",
        str(model),
        *["--delta", "0.1", "--runs", "1", "--workers", "1", "--csv", "/dev/stdout"],
    ]
    with place.open("w") as sink:
        done = subprocess.run([sys.executable, "-m", "caet_opt", *words], stdout=sink, check=False)
    assert done.returncode == 0
    text = place.read_text()
    assert text.startswith(HEAD)
    assert "\nmean cost " in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_said(writer, capsys):
    argv, _ = writer
    assert main([*argv, "/dev/full"]) == 2
    assert "/dev/full: cannot be written (No space left on device)" in capsys.readouterr().err


def test_a_pipe_stays_one_in_python_too(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    Caet.start("best-arm", "bernoulli", arms=2, delta=0.05).save(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(timeout=20)
    assert json.loads(found[0])["task"] == "best-arm"


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_a_pipe_by_its_number_is_written_to():
    """As the shell's >(command) names one."""
    begin, end = os.pipe()
    write_whole(f"/dev/fd/{end}", "a text")
    os.close(end)
    with open(begin) as source:
        assert source.read() == "a text"


def test_new_files_have_the_usual_permissions(tmp_path):
    usual, whole = tmp_path / "usual", tmp_path / "whole"
    usual.write_text("a")
    write_whole(whole, "a")
    assert whole.stat().st_mode == usual.stat().st_mode
