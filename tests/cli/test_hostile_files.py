"""Damaged and hostile files of live experiments: every verb ends, in one line, and changes nothing that it refuses."""

import shutil
import sys

import pytest
from commands import expect_refusal, said
from hostile_files import hostile_names, spoil

from caet_opt import LiveExperiment
from caet_opt.cli import main

#: The verbs, in words after ``experiment``: the file, a page and a copy in braces.
VERBS = (
    *("next {file}", "record {file} a 1", "release {file} 4", "stop {file}", "status {file}", "status {file} --json"),
    *("status {file} --verify", "export {file}", "report {file} -o {page}", "backup {file} {copy}"),
)

#: What some verbs do not look at, and read without harm.
HARMLESS = {"an unknown encoding", "a log of noise"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A file with three outcomes and three pulls out."""
    path = tmp_path_factory.mktemp("sound") / "trial.caet"
    names = ["a", "b", "c"]
    with LiveExperiment.start(path, "best-arm", "bernoulli", arms=names, costs=[3, 5, 1], delta=0.05) as experiment:
        for pull in experiment.next(3):
            experiment.record(pull.arm, int(pull.arm == 0), pull=pull.number)
        experiment.next(3)
    return path


def run_verb(capsys, verb, file):
    """The status of a verb, and what it said; a refusal is one line, without control characters."""
    page, copy = file.with_name("page.html"), file.with_name("copy.caet")
    copy.unlink(missing_ok=True)
    status = main(["experiment", *verb.format(file=file, page=page, copy=copy).split()])
    out, err = capsys.readouterr()
    if status == 2:
        assert len(said(err)) == 1
        assert err.startswith("caet-opt: error: ")
        assert out == ""
    assert (out + err).replace("\n", "").isprintable()
    return status


@pytest.mark.parametrize("name", hostile_names())
def test_a_hostile_file_is_told_in_one_line_by_every_verb(sound, tmp_path, capsys, name):
    spoilt, found = tmp_path / "spoilt" / "bad.caet", []
    spoilt.parent.mkdir()
    shutil.copyfile(sound, spoilt)
    spoil(spoilt, name)
    for number, verb in enumerate(VERBS):
        folder = shutil.copytree(spoilt.parent, tmp_path / str(number))
        found.append(run_verb(capsys, verb, folder / "bad.caet"))
        assert [path.name for path in folder.iterdir() if path.name.startswith(".caet-opt")] == []
        allowed = (0, 1, 2) if "--verify" in verb else (0, 2)
        assert found[-1] in allowed, verb
    assert (max(found) == 0) == (name in HARMLESS)


def test_a_file_whose_tables_cannot_be_read_is_not_started_anew(sound, tmp_path, capsys):
    shutil.copyfile(sound, tmp_path / "bad.caet")
    spoil(tmp_path / "bad.caet", "a table whose name is no text")
    asked = ["--task", "best-arm", "--family", "bernoulli", "--arms", "a,b", "--delta", "0.1"]
    expect_refusal(capsys, "experiment", "start", tmp_path / "bad.caet", *asked, words="there is a file already")


@pytest.mark.parametrize(
    "name",
    ["view for experiment", "no checkpoint row", "names with lines", "half of it", "a table whose name is no text"],
)
def test_a_list_goes_on_past_a_bad_file(sound, tmp_path, capsys, name):
    for file in ("1.caet", "2.caet", "3.caet"):
        shutil.copyfile(sound, tmp_path / file)
    spoil(tmp_path / "2.caet", name)
    assert main(["experiment", "list", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["file", "1.caet", "2.caet", "3.caet"]
    assert "damaged" in lines[2]
    assert all("running" in lines[number] for number in (1, 3))


@pytest.mark.skipif(sys.platform == "win32", reason="pipes with names")
@pytest.mark.parametrize("verb", [verb for verb in VERBS if "report" not in verb])
def test_a_pipe_is_no_experiment_and_nobody_waits_for_it(tmp_path, capsys, verb):
    import os

    os.mkfifo(tmp_path / "bad.caet")
    assert run_verb(capsys, verb, tmp_path / "bad.caet") == 2
