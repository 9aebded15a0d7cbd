"""Colleagues who may read a file and not write it leave nothing beside it, and lock nobody out."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from test_live_store import EVERYONES, as_nobody, start

from caet_opt import BusyError, LiveExperiment
from caet_opt.cli import main
from caet_opt.live import copying

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="permissions of Unix")


@pytest.fixture
def folder():
    """A folder that everybody can read."""
    made = Path(tempfile.mkdtemp(dir=EVERYONES))
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def look_on(file):
    """Every command that only reads, as the colleague runs it."""
    verbs = (["status"], ["status", "--verify"], ["status", "--json"], ["export"])
    return all(main(["experiment", verb[0], str(file), *verb[1:]]) == 0 for verb in verbs)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="another user can be had by root alone")
@pytest.mark.parametrize("mode", [0o755, 0o777], ids=["closed folder", "folder of all"])
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
def test_a_colleague_who_looks_locks_nobody_out(folder, mode, is_open):
    experiment = start(folder)
    experiment.next(3)
    if not is_open:
        experiment.close()
    folder.chmod(mode)
    before = names(folder)
    assert as_nobody(lambda: look_on(folder / "trial.caet"))
    assert as_nobody(lambda: main(["experiment", "list", str(folder)]) == 0)
    assert names(folder) == before

    def watch():
        """Who looks and does not leave; the owner goes on."""
        with LiveExperiment.open(folder / "trial.caet") as shown:
            shown.status()
            return names(folder) == before

    assert as_nobody(watch)
    assert all((folder / name).stat().st_uid == 0 for name in names(folder))
    experiment.record("a", 1)
    experiment.close()
    assert names(folder) == ["trial.caet"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="another user can be had by root alone")
def test_who_may_write_anothers_file_leaves_nothing_beside_it_by_looking(folder):
    start(folder).close()
    (folder / "trial.caet").chmod(0o666)
    folder.chmod(0o777)

    def work():
        with LiveExperiment.open(folder / "trial.caet") as shown:
            shown.status()
            looked = names(folder) == ["trial.caet"]
            shown.next(2)
            shown.record("a", 1)
            return looked and shown.summary()["recorded"] == 1

    assert as_nobody(work)
    with LiveExperiment.open(folder / "trial.caet") as again:
        assert (again.summary()["handed_out"], again.verify()) == (2, [])
    assert names(folder) == ["trial.caet"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="another user can be had by root alone")
def test_who_works_on_anothers_file_and_looks_keeps_its_locks(folder):
    """A copy closes the file, by which the locks of this process end: then others remove the log that it writes to."""
    start(folder).close()
    shutil.chown(folder / "trial.caet", 65534)
    before = ["trial.caet", "trial.caet-shm", "trial.caet-wal"]
    with LiveExperiment.open(folder / "trial.caet") as one:
        one.next(1)
        with LiveExperiment.open(folder / "trial.caet") as other:
            assert other.summary()["handed_out"] == 1
            look = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM pulls').fetchall()"
            subprocess.run([sys.executable, "-c", look, str(folder / "trial.caet")], check=True)
            assert names(folder) == before
    assert names(folder) == ["trial.caet"]


def test_status_leaves_nothing_in_a_folder_that_cannot_be_written(folder):
    start(folder).close()
    folder.chmod(0o555)
    assert as_nobody(lambda: look_on(folder / "trial.caet"))
    assert names(folder) == ["trial.caet"]


def test_a_log_that_another_user_left_is_named(folder, monkeypatch, capsys):
    start(folder).close()
    (folder / "trial.caet-shm").touch()
    (folder / "trial.caet-shm").chmod(0o444)
    if os.geteuid() == 0:
        shutil.chown(folder / "trial.caet", 65534)
        shutil.chown(folder, 65534)

    def record():
        try:
            LiveExperiment.open(folder / "trial.caet").next()
        except PermissionError as error:
            told = "trial.caet-shm beside it cannot be written; have whoever made that close the experiment" in str(
                error
            )
        LiveExperiment.open(folder / "trial.caet").backup(folder / "copy.caet")
        with LiveExperiment.open(folder / "copy.caet") as copy:
            return told and len(copy.next()) == 1

    assert as_nobody(record)


def test_a_copy_is_of_one_moment_while_others_write(tmp_path, monkeypatch):
    """A change, a merge or a new log between two readings is noticed, and the copy is made again."""
    experiment = start(tmp_path)
    file, copy = tmp_path / "trial.caet", tmp_path / "copy.caet"
    genuine, left = copying.copyfile, iter(range(4))

    def disturbed(source, target):
        genuine(source, target)
        if next(left, None) is not None:
            experiment.next(50)
            with closing(sqlite3.connect(file)) as other:
                other.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    monkeypatch.setattr(copying, "copyfile", disturbed)
    assert not copying.copy_at_one_moment(file, copy, 0.0)
    assert copying.copy_at_one_moment(file, copy, 10.0)
    with closing(sqlite3.connect(copy)) as found:
        assert found.execute("SELECT count(*) FROM pulls").fetchone() == (200,)
        assert found.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    experiment.close()


def test_what_is_added_to_the_log_meanwhile_keeps_nobody_waiting(tmp_path, monkeypatch):
    experiment = start(tmp_path)
    experiment._store._merge = lambda: None  # no merge comes between
    experiment.next(5)
    genuine = copying.copyfile

    def disturbed(source, target):
        genuine(source, target)
        experiment.next(1)

    monkeypatch.setattr(copying, "copyfile", disturbed)
    assert copying.copy_at_one_moment(tmp_path / "trial.caet", tmp_path / "copy.caet", 0.0)
    with LiveExperiment.open(tmp_path / "copy.caet") as copied:
        assert copied.summary()["handed_out"] == 6
    experiment.close()


def test_who_never_finds_a_quiet_moment_is_told(tmp_path, monkeypatch):
    start(tmp_path).close()
    (tmp_path / "trial.caet").chmod(0o444)
    monkeypatch.setattr("caet_opt.live.store.can_write", lambda path: False)
    monkeypatch.setattr(copying, "is_copied", lambda file, copy: False)
    with pytest.raises(BusyError, match="try again, or wait longer"):
        LiveExperiment.open(tmp_path / "trial.caet", wait=0.05)
