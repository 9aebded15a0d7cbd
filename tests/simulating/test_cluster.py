"""The same blocks on a Dask cluster, started as users start one."""

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from study_files import contents, run_doomed, run_sweep, wait_until, write_study

from caet_opt.simulating.studies import cluster

pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: studies)")
pytest.importorskip("distributed", reason="dask is not installed (extra: cluster)")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

#: The scheduler gives up a block that two workers have died with, not four, which takes longer; both know `run_doomed`.
SETTINGS = os.environ | {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
}


def dask(*words):
    """A process of ``dask``."""
    argv = [sys.executable, "-m", "dask", *map(str, words), "--no-dashboard"]
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=SETTINGS)


def ended(*processes):
    """Ask processes to end, and wait until they have."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()


def answers(port):
    """Whether there is somebody behind a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler on loopback, without workers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = dask("scheduler", "--host", "127.0.0.1", "--port", port)
    wait_until(lambda: answers(port), 60)
    yield f"tcp://127.0.0.1:{port}"
    ended(process)


@pytest.fixture(scope="module")
def workers(scheduler, tmp_path_factory):
    """Two workers of the scheduler."""
    folder = tmp_path_factory.mktemp("dask")
    processes = [dask("worker", scheduler, "--nthreads", 1, "--local-directory", folder) for _ in range(2)]
    yield processes
    ended(*processes)


def refused(capsys, tmp_path, *options):
    """What the command says that does not run."""
    found, err = run_sweep(capsys, write_study(tmp_path), tmp_path / "out", *options, status=2)
    assert found is None
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists()
    return err


def test_a_scheduler_that_is_not_there(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    err = refused(capsys, tmp_path, "--scheduler", "tcp://127.0.0.1:9")
    assert "--scheduler tcp://127.0.0.1:9: no Dask scheduler answers; start one with: dask scheduler" in err
    err = refused(capsys, tmp_path, "--scheduler", "localhost")
    assert "--scheduler must be an address such as tcp://localhost:8786, got 'localhost'" in err


NO_ADDRESSES = (
    *("", "tcp://", "tcp://:", "tcp://:8786", "tcp://localhost", "tcp://localhost:", "tcp://localhost:0", "tcp:// :1"),
    *("tcp://localhost:65536", "tcp://localhost:x", "tcp://[::1:9", "tcp://user@host:1", "ucx://host:1"),
    "tcp://host:\u0663",
)


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_what_is_no_address_of_a_scheduler(capsys, tmp_path, address):
    err = refused(capsys, tmp_path, "--scheduler", address)
    assert f"--scheduler must be an address such as tcp://localhost:8786, got {address!r}" in err


def test_an_address_that_nothing_can_be_behind(capsys, tmp_path):
    assert "there is no host a..b" in refused(capsys, tmp_path, "--scheduler", "tcp://a..b:1")
    assert "there is no host " in refused(capsys, tmp_path, "--scheduler", f"tcp://{'a' * 300}:1")
    assert "tls needs certificates" in refused(capsys, tmp_path, "--scheduler", "tls://127.0.0.1:9")


def test_a_missing_extra_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    assert "pip install 'caet-opt[cluster]', or in a clone: pip install '.[cluster]'" in refused(
        capsys, tmp_path, "--scheduler", "tcp://127.0.0.1:9"
    )


def test_a_scheduler_without_workers(capsys, tmp_path, monkeypatch, scheduler):
    monkeypatch.setattr(cluster, "PATIENCE", 2)
    err = refused(capsys, tmp_path, "--scheduler", scheduler)
    assert f"{scheduler}: has no worker; start one with: dask worker {scheduler}" in err


def test_a_cluster_gives_the_same_results_although_a_worker_is_killed(
    capsys, tmp_path, scheduler, workers, monkeypatch
):
    monkeypatch.setattr(cluster, "PATIENCE", 20)
    import psutil

    study, folder = write_study(tmp_path, runs=60), tmp_path / "cluster"

    def kill_one():
        wait_until(lambda: len(list(folder.glob("blocks/*.parquet"))) >= 15, 60)
        (worker,) = [
            one for one in psutil.Process(workers[0].pid).children() if "spawn_main" in " ".join(one.cmdline())
        ]
        worker.kill()
        return len(contents(folder))

    with ThreadPoolExecutor(1) as pool:
        before = pool.submit(kill_one)
        found, err = run_sweep(capsys, study, folder, "--scheduler", scheduler)
        assert before.result() < 48
    assert (found["blocks_stored"], found["failures"], err) == (48, [], "")
    run_sweep(capsys, study, tmp_path / "here", "--workers", "1")
    assert contents(folder) == contents(tmp_path / "here")


def test_blocks_that_fail_are_reported_and_the_rest_goes_on(capsys, tmp_path, scheduler, workers, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 20)
    study, folder = write_study(tmp_path), tmp_path / "cluster"
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "run_there", run_doomed)
        found, err = run_sweep(capsys, study, folder, "--scheduler", scheduler, status=1)
    assert found is not None, err
    assert found["blocks_stored"] == 18, err
    assert sorted(err.splitlines()) == [
        f"caet-opt: gave up on easy-model, log(1/delta) = 1, seed 0, runs {runs}: {error}"
        for runs, error in (
            ("10 to 14", "its worker processes died, one after the other"),
            ("5 to 9", "ArithmeticError: no luck"),
        )
    ]
    assert run_sweep(capsys, study, folder, "--workers", "1")[0]["blocks"] == 2


def test_a_result_lost_with_its_worker_is_waited_for():
    waited, future = [], SimpleNamespace(status="lost")
    submission = object.__new__(cluster.Submission)
    submission.client, submission.begun = SimpleNamespace(status="running"), {id(future): "job"}
    submission.finished = SimpleNamespace(add=waited.append)
    assert submission.settle(future) is None
    assert waited == [future]
    assert list(submission.begun.values()) == ["job"]


def test_workers_with_other_versions_are_refused(capsys, tmp_path, scheduler, workers, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 20)
    ours = cluster.versions() | {"caet_opt": "9.9"}
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "difference", lambda theirs, own=cluster.difference: own(theirs | {"numpy": "1.0"}))
        err = refused(capsys, tmp_path, "--scheduler", scheduler)
    assert "worker tcp://127.0.0.1:" in err
    assert "has numpy 1.0, not " in err
    assert cluster.run_there(None, ours).startswith(
        "the worker's versions are not those of the sweep: has caet_opt 9.9"
    )
