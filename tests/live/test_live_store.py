"""The file of a live experiment: killed processes, two at once, locks, full disks, files that are not ours."""

import os
import shutil
import sqlite3
import sys
import tempfile
import threading
from multiprocessing import get_context
from pathlib import Path

import pytest
from commands import run_script

from caet_opt import InputError, LiveExperiment
from caet_opt.live import store

ASKED = {"arms": ["a", "b"], "costs": [1, 2], "log_inv_delta": 1e6, "policy": "top-two"}


def start(folder, **changes):
    return LiveExperiment.start(Path(folder) / "trial.caet", "best-arm", "bernoulli", **{**ASKED, **changes})


def contents(path):
    """Everything in the tables."""
    connection = sqlite3.connect(path)
    found = list(connection.iterdump())
    connection.close()
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_killed_processes_lose_nothing_and_hand_out_nothing_twice():
    status, (_, *rows) = run_script("live_crashes.py", "--kills", 6, "--policy", "top-two", "--seed", 1)
    found = {what: int(number) for what, number in rows}
    assert found["outcomes acknowledged"] > 0
    assert {what: number for what, number in found.items() if what.startswith("wrong") and number} == {}
    assert len([what for what in found if what.startswith("wrong")]) == 5
    assert (status, found["kills"]) == (0, 6)


def hand_out_and_record(file, pulls, queue):
    """One of several processes."""
    with LiveExperiment.open(file, wait=60) as experiment:
        for _ in range(pulls):
            (pull,) = experiment.next()
            experiment.record(pull.arm, pull.number % 2, pull=pull.number)
            queue.put(pull.number)


def test_two_processes_at_once_lose_nothing(tmp_path):
    experiment = start(tmp_path)
    context = get_context("forkserver")
    queue = context.Queue()
    workers = [context.Process(target=hand_out_and_record, args=(tmp_path / "trial.caet", 20, queue)) for _ in range(2)]
    for worker in workers:
        worker.start()
    numbers = [queue.get(timeout=60) for _ in range(40)]
    for worker in workers:
        worker.join()
    assert sorted(numbers) == list(range(1, 41))
    status = experiment.status()
    assert (status["recorded"], status["waiting"]) == (40, 0)
    assert experiment.verify() == []


def test_threads_share_an_object(tmp_path):
    experiment, numbers = start(tmp_path), []

    def work():
        for _ in range(10):
            (pull,) = experiment.next()
            experiment.record(pull.arm, 1, pull=pull.number)
            numbers.append(pull.number)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 31))
    assert experiment.verify() == []


def test_what_another_process_did_is_seen(tmp_path):
    one, other = start(tmp_path), LiveExperiment.open(tmp_path / "trial.caet")
    pulls = one.next(2)
    other.record(pulls[1].arm, 1)
    one.record(pulls[0].arm, 0)
    assert one.status() == other.status()
    assert one.verify() == []


def test_a_locked_file_is_waited_for_and_then_told(tmp_path):
    start(tmp_path).close()
    holder = sqlite3.connect(tmp_path / "trial.caet", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    experiment = LiveExperiment.open(tmp_path / "trial.caet", wait=0.05)
    with pytest.raises(TimeoutError, match=r"kept it locked for 0\.05 s"):
        experiment.next()
    assert experiment.status()["handed_out"] == 0  # who only looks does not wait
    holder.execute("ROLLBACK")
    assert experiment.next()[0].number == 1


def test_a_full_disk_leaves_the_last_whole_transaction(tmp_path):
    experiment = start(tmp_path)
    experiment.next(3)
    experiment.record("a", 1)
    with experiment._store.reading() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
    experiment._store._connection.execute(f"PRAGMA max_page_count = {pages}")
    before = contents(tmp_path / "trial.caet")
    with pytest.raises(OSError, match="no space left"):
        experiment.next(10_000, arm="a")
    assert contents(tmp_path / "trial.caet") == before
    experiment.close()
    experiment.record("b", 1)
    assert len(experiment.next(10_000, arm="a")) == 10_000
    assert experiment.status()["recorded"] == 2


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")
def test_a_file_that_the_system_does_not_let_grow(tmp_path):
    """Writing fails in the midst of a transaction, as the system says it."""
    import resource

    experiment = start(tmp_path)
    experiment.next()
    before, limits = contents(tmp_path / "trial.caet"), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"nothing of this command is in it"):
            experiment.next(10_000, arm="a")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert contents(tmp_path / "trial.caet") == before
    experiment.record("a", 1)
    assert experiment.verify() == []


#: A folder for temporary files that every user can enter: that of the tests may be root's own.
EVERYONES = "/tmp"


def as_nobody(action):
    """What an action returns, true or false, to a user who may not write; root is told apart by no permission."""
    if os.geteuid() != 0:
        return action()
    child = os.fork()
    if child == 0:
        status = 2
        try:
            os.setuid(65534)
            tempfile.tempdir = EVERYONES
            status = 0 if action() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="permissions of Unix")
@pytest.mark.parametrize("merged", [True, False])
def test_a_read_only_file_can_be_looked_at(merged):
    """In a folder that is read-only, too; with what is still in the log beside it."""
    folder = Path(tempfile.mkdtemp(dir=EVERYONES))
    try:
        experiment = start(folder)
        experiment.next(2)
        status = experiment.status()
        if merged:
            experiment.close()
        (folder / "shown").mkdir()
        for name in ("trial.caet", "trial.caet-wal"):
            if (folder / name).exists():
                shutil.copyfile(folder / name, folder / "shown" / name)
                (folder / "shown" / name).chmod(0o444)
        (folder / "shown").chmod(0o555)
        folder.chmod(0o755)
        file = folder / "shown" / "trial.caet"

        def look():
            shown = LiveExperiment.open(file)
            seen = shown.status() | {"file": ""} == status | {"file": ""} and shown.verify() == []
            try:
                shown.next()
            except PermissionError as error:
                return seen and "read-only: it can be looked at" in str(error)
            return False

        assert as_nobody(look)
        experiment.close()
    finally:
        (folder / "shown").chmod(0o755)
        shutil.rmtree(folder)


def test_a_second_start_is_refused_and_changes_nothing(tmp_path):
    start(tmp_path).close()
    before = contents(tmp_path / "trial.caet")
    with pytest.raises(InputError, match="there is a file already"):
        start(tmp_path)
    assert contents(tmp_path / "trial.caet") == before


def test_of_two_starts_at_once_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "is_filled", lambda path: False)  # both have looked before either wrote
    start(tmp_path).close()
    with pytest.raises(InputError, match="there is a file already"):
        start(tmp_path)


def test_a_start_that_was_killed_leaves_a_file_that_can_be_started(tmp_path):
    """Before its transaction SQLite has made the file, and perhaps an empty database of it."""
    (tmp_path / "trial.caet").touch()
    with pytest.raises(InputError, match="not an experiment"):
        LiveExperiment.open(tmp_path / "trial.caet")
    start(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "empty.caet")
    connection.execute("PRAGMA user_version = 0")
    connection.execute("VACUUM")
    connection.close()
    assert (tmp_path / "empty.caet").stat().st_size > 0
    LiveExperiment.start(tmp_path / "empty.caet", "best-arm", "bernoulli", **ASKED).close()


@pytest.mark.parametrize("what", ["text", "foreign", "folder", "newer", "cut"])
def test_files_that_are_not_ours_are_refused_and_left_as_they_are(tmp_path, what):
    path = tmp_path / "trial.caet"
    if what == "text":
        path.write_text("pull,arm,reward\n" * 50)
    elif what == "foreign":
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE pulls (number)")
        connection.close()
    elif what == "folder":
        path.mkdir()
    else:
        start(tmp_path).close()
        data = bytearray(path.read_bytes())
        if what == "newer":
            data[60:64] = (2).to_bytes(4, "big")
        path.write_bytes(data if what == "newer" else data[: len(data) // 2 + 100])
    before = None if what == "folder" else path.read_bytes()
    words = {"newer": r"schema 2, known here up to 1\); update", "cut": "damaged", "folder": "cannot be read"}
    with pytest.raises(InputError, match=words.get(what, "not an experiment")):
        LiveExperiment.open(path).status()
    assert before is None or path.read_bytes() == before


def count_steps(experiment):
    """What SQLite does for one pull, its outcome, and a summary, in steps of its machine."""
    steps = []
    experiment._store._open().set_progress_handler(lambda: steps.append(1), 1)
    (pull,) = experiment.next()
    experiment.record(pull.arm, 1)
    experiment.summary()
    experiment._store._open().set_progress_handler(None, 1)
    return len(steps)


def test_a_long_file_takes_no_more_steps_than_a_short_one(tmp_path):
    experiment = start(tmp_path, policy="uniform")
    for pull in experiment.next(4):
        experiment.record(pull.arm, 1, pull=pull.number)
    first = count_steps(experiment)
    experiment.record_many({"pull": pull.number, "reward": 1} for pull in experiment.next(3000))
    assert count_steps(experiment) < 1.2 * first


def test_every_connection_waits_for_the_disk(tmp_path):
    experiment = start(tmp_path)
    with experiment._store.reading() as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_fork_does_not_use_the_connection_of_its_parent(tmp_path, monkeypatch):
    experiment = start(tmp_path)
    first = experiment._store._open()
    assert experiment._store._open() is first
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert experiment._store._open() is not first
