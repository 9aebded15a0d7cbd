"""The pool of worker processes, forked and spawned: order, errors, deaths, Ctrl-C, and what commands make of them."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import shorten_figure
from study_files import children, is_running, wait_until

from caet_opt import InputError, SolverError
from caet_opt.cli import main
from caet_opt.simulating import pool
from caet_opt.simulating.pool import WorkerDiedError, cores, is_portable, run_jobs

ROOT = Path(__file__).parents[2]
MODEL = str(ROOT / "models" / "paper-instance-1.toml")
linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


@pytest.fixture(params=["fork", "spawn"])
def start(request, monkeypatch):
    """How processes start."""
    if request.param == "fork" and sys.platform != "linux":
        pytest.skip("forking is safe on Linux only")
    monkeypatch.setattr(pool, "START", request.param)
    return request.param


def add(shared, job):
    return shared + job, os.getpid()


def fail(shared, job):
    if job == 3:
        raise shared
    return job


def die(shared, job):
    if job == shared:
        os.kill(os.getpid(), signal.SIGKILL)
    return job, "lived"


def nap(shared, job):
    time.sleep(job)
    return job


class OddError(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


class Counted:
    """Something that notes how often it is pickled."""

    times = 0

    def __reduce__(self):
        Counted.times += 1
        return int, (7,)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_job_is_done_once_whoever_does_it(start, workers):
    found = list(run_jobs(add, 10, range(20), workers))
    assert sorted(number for number, _ in found) == list(range(10, 30))
    elsewhere = {process for _, process in found} - {os.getpid()}
    assert len(elsewhere) <= workers
    assert bool(elsewhere) == (workers > 1)


def test_one_worker_and_a_single_job_are_this_process():
    assert list(run_jobs(add, 1, [1, 2], 1)) == [(2, os.getpid()), (3, os.getpid())]
    assert list(run_jobs(add, 1, [1], 2)) == [(2, os.getpid())]
    assert list(run_jobs(add, 1, [], 2)) == []


def test_results_come_as_they_are_finished(start):
    assert list(run_jobs(nap, None, [3.0, 0.0, 0.1], 2)) == [0.0, 0.1, 3.0]


def test_what_is_shared_is_sent_once_to_each_worker(monkeypatch):
    monkeypatch.setattr(pool, "START", "spawn")
    monkeypatch.setattr(Counted, "times", 0)
    assert sorted(number for number, _ in run_jobs(add, Counted(), range(9), 2)) == list(range(7, 16))
    assert Counted.times == 3  # each worker, and once to see whether it can be sent at all


def test_what_cannot_be_sent_to_a_spawned_process_is_done_here(monkeypatch):
    monkeypatch.setattr(pool, "START", "spawn")
    assert list(run_jobs(lambda shared, job: (job, os.getpid()), None, [1, 2], 2)) == [
        (1, os.getpid()),
        (2, os.getpid()),
    ]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_job_is_raised_here(start, workers):
    with pytest.raises(InputError, match="wrong"):
        list(run_jobs(fail, InputError("wrong"), range(9), workers))


@pytest.mark.skipif(sys.platform != "linux", reason="needs forking")
def test_an_error_that_cannot_be_sent_keeps_its_name():
    with pytest.raises(RuntimeError, match="OddError: very odd"):
        list(run_jobs(fail, OddError("very", "odd"), range(9), 2))


@linux
def test_leaving_early_ends_the_processes(start):
    before = set(children(os.getpid()))
    jobs = run_jobs(nap, None, [0.0, 60.0, 60.0], 2)
    assert next(jobs) == 0.0
    team = set(children(os.getpid())) - before
    jobs.close()
    assert len(team) >= 2
    wait_until(lambda: sum(map(is_running, team)) <= (start == "spawn"))  # its resource tracker lives on


def test_a_death_is_an_error(start):
    with pytest.raises(WorkerDiedError, match=r"^a worker process was ended by SIGKILL; memory may be short"):
        list(run_jobs(die, 3, range(9), 2))


def test_a_death_costs_no_more_than_its_job(start):
    found = sorted(run_jobs(die, 3, range(6), 2, on_death=lambda job, cause: (job, cause)))
    assert found == [(job, "worker process was ended by SIGKILL" if job == 3 else "lived") for job in range(6)]
    assert list(run_jobs(die, 3, [3], 2, on_death=lambda job, cause: cause)) == ["worker process was ended by SIGKILL"]


def test_a_process_that_cannot_be_started_is_told(monkeypatch):
    def refuse(self):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(pool.get_context(pool.START).Process, "start", refuse)
    with pytest.raises(SolverError, match=r"cannot be started .Resource temporarily unavailable.; use fewer workers"):
        list(run_jobs(add, 1, [1, 2], 2))


def test_the_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5}, raising=False)
    assert cores() == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 4, 5}, raising=False)
    assert cores() == 3


COMMANDS = {
    "simulate": ["simulate", MODEL, "--delta", "0.1", "--runs", "4"],
    "table": ["table", MODEL, str(ROOT / "models" / "top-arms.toml"), "--solvers", "native", "clarabel"],
    "verify": ["verify", "two-gaussian-arms", "--instances", "4", "--proven", "0", "--solvers", "native"],
    "reproduce": ["reproduce", "regret", "--runs", "4"],
}


@linux
@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_worker_costs_one_line_and_status_1(capsys, monkeypatch, tmp_path, command):
    monkeypatch.setattr(pool, "work", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.chdir(tmp_path)
    assert main([*COMMANDS[command], "--workers", "2"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == ("caet-opt: error: a worker process was ended by SIGKILL; memory may be short: use fewer workers\n")


@linux
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shares_what_a_spawned_process_can_be_sent(capsys, monkeypatch, tmp_path, command):
    sent = []
    monkeypatch.setattr(pool, "can_start", lambda do, shared: sent.append(is_portable((do, shared))) or True)
    shorten_figure(monkeypatch, "regret", (1000,))
    monkeypatch.chdir(tmp_path)
    assert main([*COMMANDS[command], "--workers", "2"]) == 0
    assert sent
    assert all(sent)


SCRIPT = """
import sys
from caet_opt.simulating import pool
from test_pool import nap

if __name__ == "__main__":
    pool.START = sys.argv[1]
    try:
        list(pool.run_jobs(nap, None, [0.0, 60.0, 60.0, 60.0], 3))
    except KeyboardInterrupt:
        sys.exit(130)
"""


@linux
@pytest.mark.parametrize("pause", [0.0, 1.0])
def test_ctrl_c_ends_the_workers_in_silence(start, tmp_path, pause):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent), *sys.path])
    process = subprocess.Popen(
        [sys.executable, str(script), start],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: children(process.pid))
    time.sleep(pause)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")
    wait_until(lambda: not group_is_there(process.pid))


def group_is_there(group):
    """Whether a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
