"""``caet-opt sweep``: whatever happens to it, the results are those of an undisturbed run."""

import csv
import errno
import os
import random
import signal
import sys
import time
from math import exp
from shutil import copytree

import pytest
from commands import expect_refusal
from pandas.testing import assert_frame_equal
from study_files import children, contents, is_running, run_sweep, start_command, wait_until, write_study

from caet_opt import load_results
from caet_opt.cli import main
from caet_opt.simulating.studies import blocks, store
from caet_opt.simulating.studies.store import Store

pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: studies)")

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


@pytest.fixture
def study(tmp_path):
    return write_study(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The results of the study by one worker that nothing disturbs."""
    folder = tmp_path_factory.mktemp("made")
    assert main(["sweep", write_study(folder), "--out", str(folder / "results"), "--workers", "1"]) == 0
    return folder / "results"


@pytest.fixture
def undisturbed(made, tmp_path):
    return copytree(made, tmp_path / "undisturbed")


def same(folder, undisturbed):
    """Whether two folders hold the same blocks byte for byte, and so the same frames."""
    assert contents(folder) == contents(undisturbed)
    assert_frame_equal(load_results(folder, counts=True), load_results(undisturbed, counts=True))
    manifests = [Store(one).read_manifest() for one in (folder, undisturbed)]
    assert manifests[0] == manifests[1]
    assert manifests[0]["failures"] == []
    return True


def test_any_number_of_workers_gives_the_same_files(tmp_path, study, undisturbed, capsys):
    found, err = run_sweep(capsys, study, tmp_path / "three", "--workers", "3")
    assert err == ""
    assert (found["cells"], found["runs"], found["runs_stored"]) == (4, 96, 96)
    assert (found["blocks"], found["blocks_stored"], found["failures"]) == (20, 20, [])
    assert same(tmp_path / "three", undisturbed)


def test_runs_are_those_of_simulate(tmp_path, study, undisturbed, capsys):
    argv = [str(tmp_path / "free-model.toml"), "--log-inv-delta", "3", "--threshold", "customary", "--runs", "24"]
    assert main(["simulate", *argv, "--csv", str(tmp_path / "runs.csv"), "--workers", "1"]) == 0
    capsys.readouterr()
    with (tmp_path / "runs.csv").open() as source:
        expected = list(csv.DictReader(source))
    frame = load_results(undisturbed, counts=True)
    found = frame[(frame["model"] == "free-model") & (frame["log_inv_delta"] == 3)]
    assert [list(row.values()) for row in expected] == [
        [
            str(value)
            for value in (r.run, r.stopped, r.correct, r.answer, r.rounds, r.cost, r.solves, r.widest_gap, *r.counts)
        ]
        for r in found.itertuples()
    ]


def test_nothing_is_computed_again(study, undisturbed, capsys):
    before = {path: path.stat().st_mtime_ns for path in (undisturbed / "blocks").iterdir()}
    found, _ = run_sweep(capsys, study, undisturbed)
    assert (found["blocks"], found["runs_stored"]) == (0, 96)
    assert {path: path.stat().st_mtime_ns for path in (undisturbed / "blocks").iterdir()} == before
    assert main(["sweep", study, "--out", str(undisturbed)]) == 0
    assert "nothing was missing" in capsys.readouterr().out


def test_more_runs_and_other_blocks_compute_only_what_is_new(tmp_path, study, undisturbed, capsys):
    before = contents(undisturbed)
    found, _ = run_sweep(capsys, write_study(tmp_path, runs=30, block=7), undisturbed)
    assert (found["blocks"], found["runs_stored"]) == (8, 120)  # runs 24 to 27, and 28 and 29, of every cell
    after = contents(undisturbed)
    assert before.items() <= after.items()
    frame = load_results(undisturbed)
    assert frame.groupby("cell", observed=True)["run"].apply(list).tolist() == 4 * [list(range(30))]
    run_sweep(capsys, write_study(tmp_path, runs=30), tmp_path / "at once")
    assert_frame_equal(load_results(tmp_path / "at once"), frame)


def test_a_changed_study_adds_cells_and_keeps_the_old(tmp_path, undisturbed, capsys):
    before = load_results(undisturbed)
    found, _ = run_sweep(capsys, write_study(tmp_path, log_inv_deltas=[3, 5], seed=0), undisturbed)
    assert (found["cells"], found["blocks"]) == (4, 10)
    after = load_results(undisturbed)
    assert sorted(after["log_inv_delta"].unique()) == [1, 3, 5]
    assert len(after) == 6 * 24
    kept = after[after["log_inv_delta"] < 5]
    assert sorted(kept["cost"]) == sorted(before["cost"])
    found, _ = run_sweep(capsys, write_study(tmp_path, seed=1), undisturbed)
    assert found["blocks"] == 20
    assert set(load_results(undisturbed)["seed"]) == {0, 1}


@pytest.mark.parametrize("harm", ["truncated", "changed", "empty", "another's"])
def test_a_damaged_file_is_noticed_and_computed_again(study, undisturbed, capsys, harm):
    before = contents(undisturbed)
    first, second = sorted((undisturbed / "blocks").iterdir())[:2]
    whole = first.read_bytes()
    changed = bytearray(whole)
    changed[40] ^= 1
    first.write_bytes(
        {"truncated": whole[:-30], "changed": changed, "empty": b"", "another's": second.read_bytes()}[harm]
    )
    assert main(["table", str(undisturbed)]) == 2
    assert first.name in capsys.readouterr().err
    found, _ = run_sweep(capsys, study, undisturbed)
    assert (found["damaged"], found["blocks"]) == (1, 1)
    assert contents(undisturbed) == before


def test_a_folder_in_place_of_a_file_is_told(study, undisturbed, capsys):
    path = next((undisturbed / "blocks").iterdir())
    path.unlink()
    path.mkdir()
    _, err = run_sweep(capsys, study, undisturbed, status=1)
    assert f"{path}: cannot be removed" in err
    assert len(err.splitlines()) == 1


# what goes wrong


@linux
@pytest.mark.parametrize("times", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_again_and_again_and_resumed(tmp_path, capsys, times):
    """The sweep or one of its workers, at random moments; nothing is lost and nothing is there twice."""
    study = write_study(tmp_path, runs=100, block=2)
    generator, folder, whole = random.Random(3), tmp_path / "killed", tmp_path / "whole"

    def stored():
        return len(list(folder.glob("blocks/*.parquet")))

    for number in range(times):
        goal = stored() + generator.randrange(6)
        process = start_command(["sweep", study, "--out", str(folder), "--workers", "2"], tmp_path / "log")
        wait_until(lambda goal=goal: stored() >= goal)
        time.sleep(generator.uniform(0, 0.03))
        workers = children(process.pid)
        if number % 2 and workers:
            os.kill(generator.choice(workers), signal.SIGKILL)
            wait_until(lambda goal=goal: stored() > goal)
        process.kill()
        process.join()
        wait_until(lambda workers=workers: not any(map(is_running, workers)))
    before = stored()
    assert times < before < 200
    found, err = run_sweep(capsys, study, folder, "--workers", "2")
    assert found["blocks_stored"] == 200 - before
    assert err == ""
    run_sweep(capsys, study, whole, "--workers", "2")
    assert same(folder, whole)


def unlucky(monkeypatch, doom):
    """Have run 7 of every cell of the easy model meet its doom."""
    lucky = blocks.run_number

    def run_number(experiment, seed, index):
        if index == 7 and len(experiment.model.means) == 2:
            doom()
        return lucky(experiment, seed, index)

    monkeypatch.setattr(blocks, "run_number", run_number)


def raised():
    raise ArithmeticError("no\nluck")


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


@linux
@pytest.mark.parametrize(
    ("doom", "error"),
    [(raised, "ArithmeticError: no luck"), (killed, "its worker process was ended by SIGKILL")],
)
def test_a_block_that_fails_three_times_is_reported_and_the_rest_goes_on(
    tmp_path, study, undisturbed, capsys, monkeypatch, doom, error
):
    tries, folder = tmp_path / "tries", tmp_path / "unlucky"

    def counted():
        with tries.open("a") as sink:
            sink.write("x")
        doom()

    with monkeypatch.context() as patch:
        unlucky(patch, counted)
        found, err = run_sweep(capsys, study, folder, "--workers", "2", status=1)
    assert tries.read_text() == "xxxxxx"
    assert (found["blocks_stored"], found["runs_stored"]) == (18, 86)
    assert sorted(err.splitlines()) == [
        f"caet-opt: gave up on easy-model, log(1/delta) = {level}, seed 0, runs 5 to 9: {error}" for level in (1, 3)
    ]
    left = Store(folder).read_manifest()["failures"]
    assert left == found["failures"]
    assert [(failure["first"], failure["runs"], failure["seed"]) for failure in left] == 2 * [(5, 5, 0)]
    assert run_sweep(capsys, study, folder)[0]["blocks"] == 2
    assert same(folder, undisturbed)


@linux
def test_a_killed_worker_has_its_block_run_again(tmp_path, study, undisturbed, capsys, monkeypatch):
    flag, folder = tmp_path / "flag", tmp_path / "again"

    def once():
        if not flag.exists():
            flag.touch()
            killed()

    unlucky(monkeypatch, once)
    _, err = run_sweep(capsys, study, folder, "--workers", "2")
    assert err == ""
    assert same(folder, undisturbed)


@pytest.mark.parametrize("writes", [1, 2, 7])
def test_a_full_disk_stops_it_cleanly(tmp_path, study, undisturbed, capsys, monkeypatch, writes):
    folder, real, left = tmp_path / "full", os.fsync, [writes]

    def full(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(store.os, "fsync", full)
        _, err = run_sweep(capsys, study, folder, status=1)
    assert err == (
        f"caet-opt: error: {folder}: cannot be written (No space left on device); "
        f"{writes - 1} of 20 blocks are stored; run the same command to resume\n"
    )
    assert not list(folder.rglob("*.part"))
    assert len(contents(folder)) == writes - 1
    run_sweep(capsys, study, folder)
    assert same(folder, undisturbed)


@linux
def test_ctrl_c_keeps_what_is_finished(tmp_path, study, undisturbed, capsys):
    folder, log = tmp_path / "interrupted", tmp_path / "log"
    process = start_command(["sweep", write_study(tmp_path, runs=5000), "--out", str(folder), "--workers", "2"], log)
    wait_until(lambda: len(list(folder.glob("blocks/*.parquet"))) > 3)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGINT)
    process.join(10)
    assert process.exitcode == 130
    stored = len(contents(folder))
    assert log.read_text() == (
        f"caet-opt: interrupted; {stored} of 4000 blocks are stored; run the same command to resume\n"
    )
    assert not any(map(is_running, workers))
    assert len(load_results(folder)) == 5 * stored


@linux
def test_a_second_sweep_is_refused(tmp_path, capsys):
    folder, log = tmp_path / "held", tmp_path / "log"
    process = start_command(["sweep", write_study(tmp_path, runs=5000), "--out", str(folder)], log)
    wait_until(lambda: list(folder.glob("blocks/*.parquet")))
    study = write_study(tmp_path)
    _, err = run_sweep(capsys, study, folder, status=2)
    process.kill()
    process.join()
    assert err.startswith(f"caet-opt: error: {folder}: a sweep is running here already (process {process.pid} on ")
    assert len(err.splitlines()) == 1
    run_sweep(capsys, study, folder)  # the lock ended with its process, although that had no time to say so


def test_a_missing_lock_library_is_named(tmp_path, study, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "filelock", None)
    _, err = run_sweep(capsys, study, tmp_path / "out", status=2)
    assert err == (
        "caet-opt: error: sweeps need the module 'filelock'; "
        "install it with: pip install 'caet-opt[studies]', or in a clone: pip install '.[studies]'\n"
    )


def test_the_lock_is_given_back(study, undisturbed, capsys):
    for _ in range(2):
        run_sweep(capsys, study, undisturbed)
    assert not (undisturbed / "sweep.json").exists()


def test_the_bar_names_the_cell(tmp_path, study, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("caet_opt.presenting.progress.INTERVAL", -1.0)
    monkeypatch.setenv("COLUMNS", "200")
    _, err = run_sweep(capsys, study, tmp_path / "out", "--workers", "1")
    last = err.split("\r\033[K")[-2]
    assert last.startswith(f"[{'#' * 30}] 20/20 blocks, 0.0 s left | 5/5 of ")


def test_what_a_killed_sweep_left_unfinished_is_removed(study, undisturbed, capsys):
    (undisturbed / "blocks" / "0123.parquet.part").write_bytes(b"PAR1")
    (undisturbed / "manifest.json.part").write_text("{")
    run_sweep(capsys, study, undisturbed)
    assert not list(undisturbed.rglob("*.part"))


# before anything runs


def test_a_dry_run_prints_the_cells_and_writes_nothing(tmp_path, study, capsys):
    assert main(["sweep", study, "--out", str(tmp_path / "none"), "--dry-run", "--workers", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        *("model", "log(1/delta)", "threshold", "runs", "rounds", "each", "predicted", "cost", "time"),
    ]
    assert [line.split()[:4] for line in lines[1:5]] == [
        [model, level, "customary", "24"] for model in ("easy-model", "free-model") for level in ("1", "3")
    ]
    assert lines[6] == "in tests of this prediction, mean costs were 0.83 to 1.30 times the predicted cost"
    assert lines[7] == f"4 cells, 96 runs, 0 of them stored in {tmp_path / 'none'}"
    assert lines[8].startswith("20 blocks to compute, about ")
    assert lines[8].endswith(" with 2 workers; nothing was run")
    assert not (tmp_path / "none").exists()


def test_a_dry_run_takes_rewards_in_a_range(tmp_path, capsys):
    """Which have no threshold that takes no time."""
    file = write_study(tmp_path, models=["judge-scores"], threshold=None)
    assert main(["sweep", file, "--out", str(tmp_path / "none"), "--dry-run"]) == 0
    assert "judge-scores             1  e-process" in capsys.readouterr().out


def test_a_dry_run_knows_what_is_stored(study, undisturbed, capsys):
    next((undisturbed / "blocks").iterdir()).write_bytes(b"")
    before = contents(undisturbed)
    found, _ = run_sweep(capsys, study, undisturbed, "--dry-run")
    assert (found["runs"], found["blocks"], len(found["cells"])) == (96, 1, 4)
    assert found["core_seconds"] > 0
    assert all(0 < cell["predicted_cost"] <= 2 * cell["rounds"] for cell in found["cells"])
    assert contents(undisturbed) == before


#: What is changed in the study, further words, and a part of the message.
BAD = [
    ({"treshold": "mixture"}, "", "study.toml: unknown key 'treshold'; did you mean 'threshold'?"),
    ({"models": None}, "", "the key 'models' is missing; write models ="),
    ({"models": []}, "", "models must be a list of files and patterns, not empty"),
    ({"models": ["none-*.toml"]}, "", "no model matches 'none-*.toml'"),
    ({"models": ["none.toml"]}, "", "none.toml: no such file"),
    ({"models": ["easy-model.toml", "twin.toml"]}, "", "models easy-model and twin are the same; name one of them"),
    ({"models": ["tie.toml"]}, "", "cell tie, log(1/delta) = 1, threshold = customary: arms 0 and 1 have equal means"),
    ({"models": ["study.toml"]}, "", "study.toml: unknown key 'models'"),
    ({"theta": []}, "", "theta is an empty list, and so is the grid"),
    ({"log_inv_deltas": []}, "", "log_inv_deltas is an empty list"),
    ({"log_inv_deltas": None, "deltas": [0.1, 0]}, "", "deltas must lie strictly between 0 and 1, got 0"),
    ({"log_inv_deltas": None, "deltas": 1}, "", "deltas must lie strictly between 0 and 1, got 1"),
    ({"log_inv_deltas": None, "deltas": ["0.1"]}, "", "deltas must be numbers, got '0.1'"),
    ({"log_inv_deltas": None}, "", "give either deltas = [0.1, 0.01], or log_inv_deltas"),
    ({"deltas": [0.1]}, "", "give either deltas = [0.1, 0.01], or log_inv_deltas"),
    ({"log_inv_deltas": [-1]}, "", "log_inv_deltas must be positive, got -1"),
    ({"log_inv_deltas": [2, 2.0]}, "", "log_inv_deltas lists a value twice"),
    ({"log_inv_deltas": {"from": 1, "to": 5}}, "", "log_inv_deltas needs 'points'"),
    ({"log_inv_deltas": {"from": 5, "to": 1, "points": 3}}, "", "cannot go from 5 to 1 in 3 points"),
    ({"log_inv_deltas": {"from": 1, "to": 5, "point": 3}}, "", "unknown key of log_inv_deltas 'point'"),
    ({"threshold": ["mixtures"]}, "", "unknown threshold 'mixtures'; did you mean 'mixture'?"),
    ({"theta": 1.2}, "", "threshold 'customary' takes no theta"),
    ({"threshold": "deviational", "theta": 1}, "", "theta of the deviational threshold must be a number above 1"),
    ({"threshold": 3}, "", "threshold must be a string, got 3"),
    ({"r": [0.4, -0.7]}, "", "r = -0.7: r must be positive"),
    ({"r": "0.4"}, "", "r must be a number, got '0.4'"),
    ({"cost_source": "gaps"}, "", "gaps as the source of costs need a model whose costs are 'gaps'"),
    ({"tracking": "e"}, "", "unknown tracking 'e'; known: c, d"),
    ({"task": "top-arms:5"}, "", "top-arms:5"),
    ({"runs": 0}, "", "runs must be a positive whole number, got 0"),
    ({"runs": True}, "", "runs must be a positive whole number, got True"),
    ({"seed": -1}, "", "seed must be a whole number, zero or more, got -1"),
    ({"block": 2.5}, "", "block must be a positive whole number, got 2.5"),
    ({"log_inv_deltas": {"from": 1, "to": 9, "points": 10**11}}, "", "points of log_inv_deltas must be at most 100000"),
    ({"log_inv_deltas": {"from": 1, "to": 9, "points": 10**5}}, "", "the grid has 200000 cells, more than 100000"),
    ({"runs": 10**12}, "", "make 800000000000 files, more than 1000000; use larger blocks or fewer runs"),
    ({"runs": 10**12, "block": 10**9}, "", "block must be at most 1000000, got 1000000000"),
    ({"runs": 10**18, "block": 10**6}, "", "runs must be at most 1000000000000, got 1000000000000000000"),
    ({"max_rounds": 10**18}, "", "max_rounds must be at most 1000000000000000, got 1000000000000000000"),
    ({"log_inv_deltas": [1e-17]}, "", "log(1/delta) must lie in [1e-15, 1e+100]"),
    ({"log_inv_deltas": {"from": 1e-17, "to": 3, "points": 2}}, "", "log(1/delta) must lie in [1e-15, 1e+100]"),
    ({"log_inv_deltas": [1e300]}, "", "log(1/delta) must lie in [1e-15, 1e+100]"),
    ({"log_inv_deltas": [float("inf")]}, "", "log_inv_deltas must be numbers, got inf"),
    ({"models": ["large.toml"]}, "", "mean 1e+20 of arm 0 is too large to draw poisson rewards"),
    ({"title": 3}, "", "title must be a string, got 3"),
    ({}, "--out {folder}/study.toml", "cannot be written"),
    ({}, "--out /proc/none", "--out /proc/none: cannot be written"),
    ({}, "--out {folder}/old", "not a manifest of format 4; name another folder"),
    ({}, "--out {folder}/damaged", "manifest.json: damaged"),
    ({}, "--workers 0", "--workers"),
    ({}, "--workers 2 --scheduler tcp://localhost:1", "give --workers, for this machine, or --scheduler"),
]


@pytest.mark.parametrize(("changes", "words", "message"), BAD, ids=[row[2] for row in BAD])
def test_a_bad_study_is_one_line_and_runs_nothing(tmp_path, capsys, changes, words, message):
    study = write_study(tmp_path, **changes)
    (tmp_path / "tie.toml").write_text('family = "gaussian"\nmeans = [1, 1]\ncosts = [1, 1]\ntask = "best-arm"\n')
    (tmp_path / "twin.toml").write_text((tmp_path / "easy-model.toml").read_text().replace("Easy", "Twin"))
    (tmp_path / "large.toml").write_text('family = "poisson"\nmeans = [1e20, 1]\ncosts = [1, 1]\ntask = "best-arm"\n')
    for name, manifest in (("old", '{"format": 0}'), ("damaged", '{"format": 2')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(manifest)
    out = [] if "--out" in words else ["--out", str(tmp_path / "out")]
    expect_refusal(capsys, "sweep", study, *out, *words.format(folder=tmp_path).split(), words=message)
    assert not list(tmp_path.rglob("*.parquet"))


def test_deltas_are_those_of_simulate(tmp_path, capsys):
    found, _ = run_sweep(
        capsys, write_study(tmp_path, log_inv_deltas=None, deltas=[0.1]), tmp_path / "out", "--dry-run"
    )
    assert [exp(-cell["log_inv_delta"]) for cell in found["cells"]] == pytest.approx([0.1, 0.1], rel=1e-15)
