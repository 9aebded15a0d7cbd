"""One file that is one file, however it is copied, replaced or linked; and writers who wait in turn."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from commands import run_script

from caet_opt import BusyError, CaetError, InputError, LiveExperiment
from caet_opt.live import contents, database, store
from caet_opt.live.turn import Turn

ASKED = {"arms": ["a", "b"], "costs": [1, 2], "log_inv_delta": 1e6, "policy": "top-two"}
KEPT = Path(__file__).parents[1] / "kept" / "0.2.0" / "live"


def start(folder, **changes):
    return LiveExperiment.start(Path(folder) / "trial.caet", "best-arm", "bernoulli", **{**ASKED, **changes})


def counts(path):
    """Pulls and outcomes of a file, as another process finds them in the file alone."""
    code = f"from caet_opt import LiveExperiment as L; s = L.open({str(path)!r}).summary()"
    code += "; print(s['handed_out'], s['recorded'])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def run(*argv):
    """A command in a process of its own: what it printed."""
    code = "import sys; from caet_opt.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, "experiment", *map(str, argv)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def copy(path, to):
    """What ``cp`` does, in a process of its own."""
    code = f"import shutil; shutil.copyfile({str(path)!r}, {str(to)!r})"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_copy_after_a_command_is_whole_though_another_process_has_it_open(tmp_path):
    experiment = start(tmp_path)
    experiment.next(2)
    assert run("record", tmp_path / "trial.caet", "a", "1") == (0, "recorded: 1\n")
    copy(tmp_path / "trial.caet", tmp_path / "copy.caet")
    assert counts(tmp_path / "copy.caet") == ["2", "1"]
    experiment.close()


def test_the_log_is_merged_soon_after_the_last_of_a_quick_succession(tmp_path):
    experiment = start(tmp_path)
    for pull in experiment.next(4):
        experiment.record(pull.arm, 1, pull=pull.number)
    deadline, found = time.monotonic() + 60, None
    while found != (4, 4):
        assert time.monotonic() < deadline
        copy(tmp_path / "trial.caet", tmp_path / "copy.caet")
        with sqlite3.connect(tmp_path / "copy.caet") as db:
            found = db.execute("SELECT (SELECT count(*) FROM pulls), (SELECT count(*) FROM outcomes)").fetchone()
    experiment.close()


def test_a_closed_file_has_nothing_beside_it(tmp_path):
    one, other = start(tmp_path), LiveExperiment.open(tmp_path / "trial.caet")
    one.next(2)
    other.record("a", 1)
    other.close()
    assert (tmp_path / "trial.caet-wal").stat().st_size == 0
    one.close()
    assert [path.name for path in tmp_path.iterdir()] == ["trial.caet"]


def test_a_backup_is_whole_while_another_one_writes(tmp_path):
    experiment, other = start(tmp_path), LiveExperiment.open(tmp_path / "trial.caet", wait=0.05)
    experiment.next(5)
    with experiment._store.writing():
        other.backup(tmp_path / "copy.caet")
    experiment.record("a", 1)
    found = LiveExperiment.open(tmp_path / "copy.caet")
    assert (found.summary()["handed_out"], found.summary()["recorded"], found.verify()) == (5, 0, [])
    found.record("b", 1)
    assert found._store._seen.identity != experiment._store._seen.identity
    found.close()
    experiment.close()
    other.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.caet", "trial.caet"]


def test_a_backup_leaves_a_file_as_it_is_and_nothing_where_it_fails(tmp_path, monkeypatch):
    experiment = start(tmp_path)
    (tmp_path / "there").write_text("mine")
    with pytest.raises(InputError, match="there is a file already"):
        experiment.backup(tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(InputError, match=r"no such folder: .*nowhere$"):
        experiment.backup(tmp_path / "nowhere" / "copy.caet")
    monkeypatch.setattr(store.os.path, "lexists", lambda path: False)  # another one makes it meanwhile
    with pytest.raises(InputError, match="there is a file already"):
        experiment.backup(tmp_path / "there")
    experiment.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there", "trial.caet"]


def test_a_file_that_was_replaced_is_not_written(tmp_path):
    experiment = start(tmp_path)
    experiment.next(2)
    experiment.backup(tmp_path / "copy.caet")
    os.replace(tmp_path / "copy.caet", tmp_path / "trial.caet")
    for action in (lambda: experiment.record("a", 1), experiment.next, experiment.status):
        with pytest.raises(InputError, match=r"was replaced by another file .* nothing of this command is in it"):
            action()
    experiment.close()
    with pytest.raises(InputError, match="was replaced by another experiment, or a copy; open it again"):
        experiment.record("a", 1)  # which has an identity of its own
    with LiveExperiment.open(tmp_path / "trial.caet") as again:
        again.record("a", 1)
        assert again.verify() == []


def test_a_file_that_was_removed_is_not_written(tmp_path):
    experiment = start(tmp_path)
    experiment.next(2)
    (tmp_path / "trial.caet").unlink()
    with pytest.raises(InputError, match="no such file"):
        experiment.record("a", 1)
    with pytest.raises(InputError, match="was removed while it was open"):
        experiment.status()
    experiment.close()


def test_an_older_copy_in_the_same_place_is_noticed(tmp_path):
    """Written over the file itself, as ``cp`` does, where the inode stays."""
    experiment = start(tmp_path)
    experiment.next(2)
    experiment.close()
    copy(tmp_path / "trial.caet", tmp_path / "copy.caet")
    experiment.record("a", 1)
    database.merge(experiment._store._open(), 1.0)
    copy(tmp_path / "copy.caet", tmp_path / "trial.caet")
    with pytest.raises(InputError, match=r"has 2 pulls and 0 outcomes, but had 2 and 1: an older copy"):
        experiment.record("b", 1)
    experiment.close()


def test_a_file_with_two_names_is_not_written_under_either(tmp_path):
    """Each name has a log of its own: a pull would be handed out twice."""
    experiment = start(tmp_path)
    experiment.next(2)
    os.link(tmp_path / "trial.caet", tmp_path / "other.caet")
    with pytest.raises(InputError, match="has a second name, a hard link"):
        experiment.next()
    with pytest.raises(InputError, match="has a second name, a hard link"):
        LiveExperiment.open(tmp_path / "other.caet")
    status, said = run("next", tmp_path / "other.caet")
    assert status == 2
    assert "has a second name, a hard link" in said
    (tmp_path / "other.caet").unlink()
    assert experiment.next()[0].number == 3
    experiment.close()


def test_a_symbolic_link_is_the_file(tmp_path):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "trial.caet").symlink_to(tmp_path / "trial.caet")
    one, other = start(tmp_path), LiveExperiment.open(tmp_path / "links" / "trial.caet")
    assert [one.next()[0].number, other.next()[0].number, one.next()[0].number] == [1, 2, 3]
    one.close()
    other.close()
    assert [path.name for path in (tmp_path / "links").iterdir()] == ["trial.caet"]


def test_another_object_of_the_process_takes_no_locks_away(tmp_path):
    """A handle that is closed takes the locks of its process on the file with it: a command would remove the log."""
    experiment = start(tmp_path)
    experiment.next(2)
    LiveExperiment.open(tmp_path / "trial.caet").close()
    store.read_header(tmp_path / "trial.caet")
    assert run("next", tmp_path / "trial.caet") == (0, "pull 3: a\n")
    assert (tmp_path / "trial.caet-wal").exists()
    experiment.close()


def test_a_plain_copy_in_the_same_process_loses_nothing(tmp_path):
    """It takes the locks away, the log is removed by the next command, and the object opens the file again."""
    experiment = start(tmp_path)
    experiment.next(2)
    shutil.copyfile(tmp_path / "trial.caet", tmp_path / "copy.caet")
    assert run("next", tmp_path / "trial.caet") == (0, "pull 3: a\n")
    assert not (tmp_path / "trial.caet-wal").exists()
    experiment.record("a", 1)
    assert counts(tmp_path / "trial.caet") == ["3", "1"]
    assert experiment.verify() == []
    experiment.close()


def test_a_log_that_is_removed_in_the_midst_is_told(tmp_path, monkeypatch):
    experiment = start(tmp_path)
    experiment.next(2)
    monkeypatch.setattr(contents, "hand_out", lambda db, arm: (tmp_path / "trial.caet-shm").unlink() or 3)
    with pytest.raises(
        InputError, match="removed the log that is open; it is not known whether this command took effect"
    ):
        experiment.next()
    experiment.close()


def test_a_file_of_the_first_version_gets_an_identity_with_its_first_change(tmp_path):
    shutil.copyfile(KEPT / "caet-exact.caet", tmp_path / "trial.caet")
    with LiveExperiment.open(tmp_path / "trial.caet") as experiment:
        experiment.status()
        assert experiment._store._seen.identity is None
        experiment.next()
        assert len(experiment._store._seen.identity) == 32
    with LiveExperiment.open(tmp_path / "trial.caet") as experiment:
        assert experiment.verify() == []


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), "long", True])
def test_a_wait_is_a_number_of_seconds(tmp_path, wait):
    with pytest.raises(InputError, match="wait must be seconds"):
        LiveExperiment.open(tmp_path / "trial.caet", wait=wait)


def test_processes_without_pauses_take_turns(tmp_path):
    """Of a fixed number of pulls nobody gets less than half of an equal share."""
    asked = ("--workers", 3, "--pulls", 240, "--seconds", "inf", "--folder", tmp_path)
    status, (_, *shares, _, _) = run_script("live_fairness.py", *asked)
    pulls = [int(pulls) for pulls, _, _ in shares]
    assert (status, [error for _, _, error in shares]) == (0, ["-", "-", "-"])
    assert sum(pulls) >= 240
    assert pulls[0] >= 40
    assert [path.name for path in tmp_path.iterdir()] == ["trial.caet"]


def test_threads_without_pauses_take_turns(tmp_path):
    experiment, pulls = start(tmp_path), []

    def work():
        while len(pulls) < 150:
            (pull,) = experiment.next()
            experiment.record(pull.arm, 1, pull=pull.number)
            pulls.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(pulls)) == 3
    assert min(pulls.count(thread) for thread in set(pulls)) >= 25
    experiment.close()


def hold(path, ready):
    """Take the turn, and never leave it."""
    with Turn(path).taken(time.monotonic() + 60):
        ready.set()
        time.sleep(600)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_who_is_killed_while_waiting_keeps_nobody_waiting(tmp_path):
    experiment = start(tmp_path, wait=60)
    context = get_context("forkserver")
    ready = context.Event()
    waiter = context.Process(target=hold, args=(tmp_path / "trial.caet", ready))
    waiter.start()
    assert ready.wait(60)
    with pytest.raises(BusyError), LiveExperiment.open(tmp_path / "trial.caet", wait=0.05) as other:
        other.next()  # it is the turn of the one that waits
    os.kill(waiter.pid, signal.SIGKILL)
    waiter.join()
    assert experiment.next()[0].number == 1
    experiment.close()
    assert [path.name for path in tmp_path.iterdir()] == ["trial.caet"]


def test_too_long_a_wait_is_an_error_of_the_library_in_one_line(tmp_path):
    experiment, other = start(tmp_path), LiveExperiment.open(tmp_path / "trial.caet", wait=0.05)
    with experiment._store.writing(), pytest.raises(BusyError) as found:
        other.next()
    assert isinstance(found.value, CaetError)
    path = tmp_path / "trial.caet"
    said = f"{path}: another process has kept it locked for 0.05 s; try again, or wait longer (--wait)"
    assert str(found.value) == said
    with experiment._store.reading():
        experiment._store.wait = 0.05
        with ThreadPoolExecutor(1) as pool, pytest.raises(BusyError, match="another thread has kept it locked"):
            pool.submit(experiment.status).result()


def test_an_experiment_is_opened_or_started(tmp_path):
    asked = {"arms": ["a", "b"], "costs": [1, 2], "delta": 0.05}
    path = tmp_path / "trial.caet"
    with LiveExperiment.open_or_start(path, "best-arm", "bernoulli", **asked) as experiment:
        experiment.next()
    with LiveExperiment.open_or_start(path, "best-arm", "bernoulli", **asked) as experiment:
        assert experiment.next()[0].number == 2
    other = {
        "its task is best-arm, not ranking": ("ranking", "bernoulli", {}),
        "its family is bernoulli, not poisson": ("best-arm", "poisson", {}),
        "its list of arms is a, b, not a, c": ("best-arm", "bernoulli", {"arms": ["a", "c"]}),
        "its list of costs is 1, 2, not 1, 3": ("best-arm", "bernoulli", {"costs": [1, 3]}),
        "its delta is 0.05, not 0.1": ("best-arm", "bernoulli", {"delta": 0.1}),
        "its delta is 0.05, not exp(-3)": ("best-arm", "bernoulli", {"delta": None, "log_inv_delta": 3}),
        "its policy is caet, not uniform": ("best-arm", "bernoulli", {"policy": "uniform"}),
        "its seed is 0, not 3": ("best-arm", "bernoulli", {"seed": 3}),
        "its threshold is e-process, not mixture": ("best-arm", "bernoulli", {"threshold": "mixture"}),
        "does not guarantee delta here": ("best-arm", "bernoulli", {"threshold": "customary"}),
    }
    for words, (task, family, changes) in other.items():
        with pytest.raises(InputError) as found:
            LiveExperiment.open_or_start(path, task, family, **{**asked, **changes})
        assert words in str(found.value)
    with pytest.raises(InputError, match="delta must lie strictly"):
        LiveExperiment.open_or_start(tmp_path / "new.caet", "best-arm", "bernoulli", **{**asked, "delta": 5})
    path.write_text("none")
    with pytest.raises(InputError, match="not an experiment"):
        LiveExperiment.open_or_start(path, "best-arm", "bernoulli", **asked)


def test_a_second_start_says_how_to_go_on(tmp_path):
    start(tmp_path).close()
    with pytest.raises(InputError, match=r"there is a file already; .* --if-missing .*open_or_start, or open"):
        start(tmp_path)
