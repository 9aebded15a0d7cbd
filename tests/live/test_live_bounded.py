"""Live experiments with rewards in a range: their life by commands, replay, intervals, and what they refuse."""

import csv
import io
import json
import sqlite3

import numpy as np
import pytest
from commands import expect_refusal, read_json, run_command

from caet_opt import BanditModel, Explorer, InputError, LiveExperiment, parse_task
from caet_opt.exploring.counted import empirical
from caet_opt.live.contents import Outcome
from caet_opt.live.intervals import Intervals
from caet_opt.live.replay import absorb_batch
from caet_opt.solving.characteristic import characteristic_time

#: What each arm brings, over and over.
SCORES = {"small": [0.1, 0.3, 0.25, 0.0], "large": [0.75, 0.9, 0.6, 1.0]}
#: Makes a checkpoint one that is made anew from the rows.
OTHER_VERSION = "UPDATE checkpoint SET saved = json_set(saved, '$.version', '0.2.0')"

ASKED = {"arms": ["small", "large"], "costs": [1, 2], "delta": 0.2}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judge.caet"


def begin(path, task="best-arm", family="bounded:0,1,4", **more):
    return LiveExperiment.start(path, task, family, **ASKED | more)


def go_on(experiment, rounds=100):
    """Rounds of the scores, until it stops."""
    told = {"small": 0, "large": 0}
    for _ in range(rounds):
        if experiment.stopped:
            break
        (pull,) = experiment.next()
        experiment.record(pull.name, SCORES[pull.name][told[pull.name] % 4], pull=pull.number)
        told[pull.name] += 1
    return experiment


def test_a_life_by_commands(path, capsys):
    start = ["start", path, "--task", "best-arm", "--family", "bounded:0,1,4", "--arms", "small,large"]
    told = run_command(capsys, "experiment", *start, "--costs", "1,2", "--delta", "0.2")
    assert "by betting on each mean; guaranteed for independent rewards in [0, 1] of any distribution" in told
    assert "pull 1: small" in run_command(capsys, "experiment", "next", path)
    refused = expect_refusal(capsys, "experiment", "record", path, "small", "1.7", words="reward 1.7 is outside")
    assert "numbers in [0, 1]" in refused
    expect_refusal(capsys, "experiment", "record", path, "small", "nan", words="REWARD must be a number, got 'nan'")
    run_command(capsys, "experiment", "record", path, "small", "0.1")
    run_command(capsys, "experiment", "next", path, "--pulls", "2")
    run_command(capsys, "experiment", "release", path, "3")
    run_command(capsys, "experiment", "record", path, "large", "0.8")
    words = run_command(capsys, "experiment", "status", path)
    assert "best-arm of small, large: bounded:0,1,4 rewards, policy caet" in words
    assert "2 outcomes, 0 pulls out, 1 withdrawn" in words
    status = read_json(run_command(capsys, "experiment", "status", path, "--json"))
    assert status["assumes"] == "independent rewards in [0, 1] of any distribution"
    assert [arm["mean"] for arm in status["arms"]] == pytest.approx([0.1, 0.8])
    assert status["pairs"][0]["settled"] is False
    rows = list(csv.DictReader(io.StringIO(run_command(capsys, "experiment", "export", path))))
    assert [row["reward"] for row in rows] == ["0.1", "0.8", ""]
    page = path.with_suffix(".html")
    run_command(capsys, "experiment", "report", path, "-o", page)
    assert "bounded:0,1,4" in page.read_text()


def test_outcomes_as_rows_are_all_taken_or_none(path, monkeypatch, capsys):
    with begin(path) as experiment:
        experiment.next(4)
    monkeypatch.setattr("sys.stdin", io.StringIO("arm,reward\nsmall,0.2\nlarge,1.01\n"))
    expect_refusal(capsys, "experiment", "record", path, words="reward 1.01 is outside the bounded family")
    with LiveExperiment.open(path) as experiment:
        assert experiment.status()["recorded"] == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("arm,reward\nsmall,0.2\nlarge,0.99\n"))
    assert "recorded: 2" in run_command(capsys, "experiment", "record", path)


@pytest.mark.parametrize("solve", ["exact", "lazy"])
def test_a_stop_is_that_of_the_explorer_and_is_found_again_by_replay(path, solve):
    with begin(path, solve=solve) as experiment:
        go_on(experiment)
        assert experiment.answer == "large"
        assert experiment.verify() == []
        before, history = experiment.status(), experiment.export()
    explorer = Explorer.start("best-arm", "bounded:0,1,4", arms=2, costs=[1, 2], delta=0.2, solve=solve)
    for row in history:
        assert explorer.next_arm() == row["arm"]
        assert not explorer.stopped
        explorer.observe(row["arm"], row["reward"])
    assert explorer.stopped
    with sqlite3.connect(path) as db:
        saved = json.loads(db.execute("SELECT saved FROM checkpoint").fetchone()[0])
        assert saved["state"]["histograms"] == [list(row) for row in explorer.state.histograms]
        db.execute(OTHER_VERSION)
    with LiveExperiment.open(path) as experiment:
        after = experiment.status()
        assert experiment.verify() == []
    assert (after["arms"], after["pairs"], after["stopped"]) == (before["arms"], before["pairs"], before["stopped"])


def test_a_file_whose_checkpoint_is_another_versions_goes_on_the_same(tmp_path, path):
    twin = tmp_path / "twin.caet"
    with begin(path, delta=1e-6) as experiment:
        go_on(experiment, 9)
        experiment.backup(twin)
    with sqlite3.connect(twin) as db:
        db.execute(OTHER_VERSION)
    with LiveExperiment.open(path) as one, LiveExperiment.open(twin) as two:
        assert [pull.arm for pull in one.next(5)] == [pull.arm for pull in two.next(5)]


def test_levels_that_are_listed_come_back_from_the_file(path):
    with begin(path, family="bounded:0/0.3/0.5/1") as experiment:
        go_on(experiment, 4)
    with LiveExperiment.open(path) as experiment:
        assert experiment.status()["family"] == "bounded:0/0.3/0.5/1"
        assert go_on(experiment).answer == "large"
        assert experiment.verify() == []


def test_what_is_ahead_is_the_time_of_what_was_counted(path):
    with begin(path, delta=1e-4) as experiment:
        go_on(experiment, 12)
        ahead, explorer = experiment.status()["ahead"], Explorer.start("best-arm", "bounded:0,1,4", arms=2, delta=1e-4)
        for row in experiment.export():
            explorer.observe(row["arm"], row["reward"])
        words = str(experiment)
    model = BanditModel(explorer.family, empirical(explorer.family, explorer.state.histograms), [1, 2])
    time = characteristic_time(model, "best-arm").value
    assert ahead["characteristic_time"] == pytest.approx(time, rel=1e-9)
    assert f"{time:.4g}" in words


def test_latencies_with_a_time_limit_where_lower_is_better(path):
    scores = {"small": [2.0, 3.5, 30.0, 4.0], "large": [25.0, 30.0, 28.0, 30.0]}
    with begin(path, parse_task("best-arm", lower_is_better=True), "bounded:0,30") as experiment:
        for _ in range(60):
            if experiment.stopped:
                break
            for pull in experiment.next():
                experiment.record(pull.name, scores[pull.name][pull.number % 4], pull=pull.number)
        assert experiment.answer == "small"
        status = experiment.status()
    assert all(0.0 <= arm["low"] < arm["mean"] < arm["high"] <= 30.0 for arm in status["arms"])


def test_counts_and_fractions_are_for_yes_or_no(path, tmp_path, capsys):
    begin(path).close()
    words = "counts are for bernoulli rewards, not bounded:0,1,4"
    expect_refusal(capsys, "experiment", "record", path, "--counts", "small,3,10", words=words)
    start = ["start", tmp_path / "other.caet", "--task", "best-arm", "--family", "bounded:0,1", "--arms", "a,b"]
    words = "fractions are for the bernoulli family"
    expect_refusal(capsys, "experiment", *start, "--delta", "0.05", "--fractions", words=words)
    with LiveExperiment.open(path) as experiment, pytest.raises(InputError, match="counts are for bernoulli rewards"):
        experiment.record_counts([("small", 3, 10)])


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("bounded", "needs its range"),
        ("bounded:0", "has the form bounded:LO,HI"),
        ("bounded:1,0", "a low end below its high end"),
        ("bounded:0,1,0", "must be a whole number from 1 to 1000"),
        ("bounded:nan,1", "must be numbers"),
        ("bounded:0/2/1", "levels must ascend"),
    ],
)
def test_a_range_that_is_none_is_refused_and_leaves_no_file(path, capsys, family, words):
    start = ["start", path, "--task", "best-arm", "--family", family, "--arms", "a,b", "--delta", "0.05"]
    expect_refusal(capsys, "experiment", *start, words=words)
    assert not path.exists()


def change_histograms(path, change):
    """Replace the histograms in the checkpoint of a file by what a function makes of them."""
    with sqlite3.connect(path) as db:
        saved = json.loads(db.execute("SELECT saved FROM checkpoint").fetchone()[0])
        saved["state"]["histograms"] = change(saved["state"]["histograms"])
        db.execute("UPDATE checkpoint SET saved = ?", [json.dumps(saved)])


@pytest.mark.parametrize("wrong", [[], [[9.0, 0.0]] * 2, [[1.0] * 5] * 2, 7, [["1"] * 5] * 2])
def test_where_histograms_of_a_checkpoint_are_wrong_the_rows_count(path, wrong):
    with begin(path, delta=1e-6) as experiment:
        go_on(experiment, 9)
        before = experiment.status()
    change_histograms(path, lambda _: wrong)
    with LiveExperiment.open(path) as experiment:
        after = experiment.status()
        assert len(experiment.verify()) == 1
    assert (after["arms"], after["pairs"]) == (before["arms"], before["pairs"])


def test_histograms_that_were_changed_by_hand_are_found(path):
    with begin(path, delta=1e-6) as experiment:
        go_on(experiment, 9)
    change_histograms(path, lambda rows: [rows[0][::-1], rows[1]])
    with LiveExperiment.open(path) as experiment:
        assert any("histograms" in line for line in experiment.verify())


def test_sums_give_the_evidence_of_every_order():
    """Many outcomes at once are counted as one by one."""
    whole, single = (Explorer.start("best-arm", "bounded:0,1,4", arms=2, delta=0.05) for _ in range(2))
    from_rows = [(0, 0.4), (1, 0.2), (0, 0.9), (1, 0.75), (0, 1.0), (1, 0.1)]
    for explorer in (whole, single):
        explorer.observe(0, 0.5)
        explorer.observe(1, 0.5)
    absorb_batch(whole, [Outcome(3 + place, arm, reward, 1.0) for place, (arm, reward) in enumerate(from_rows)])
    for arm, reward in from_rows:
        single.observe(arm, reward)
    assert whole.state.histograms == single.state.histograms
    assert whole.diagnostics.evidence == pytest.approx(single.diagnostics.evidence, rel=1e-12)


def observed(family, outcomes, seed=0, **more):
    """An experiment on two arms of known means after so many outcomes, in turn; and the means."""
    explorer = Explorer.start("best-arm", family, arms=2, delta=0.05, policy="uniform", **more)
    rng, (low, high) = np.random.default_rng(seed), map(float, explorer.family.ends)
    draws = [rng.choice([0.0, 0.37, 1.0], outcomes, p=[0.2, 0.5, 0.3]), rng.beta(2, 3, outcomes)]
    for turn in range(outcomes):
        explorer.observe(turn % 2, float(low + (high - low) * draws[turn % 2][turn]))
    return explorer, [low + (high - low) * mean for mean in (0.485, 0.4)]


@pytest.mark.parametrize("family", ["bounded:0,1", "bounded:-10,30,4", "bounded:0/0.3/0.5/1"])
def test_an_interval_ends_where_the_capital_reaches_the_level(family):
    explorer, truth = observed(family, 120)
    intervals, means = Intervals(explorer.setup, explorer.state, 0.95), explorer.state.means()
    for arm in range(2):
        low, high = intervals.mean(arm)
        assert low < truth[arm] < high
        for end in (low, high):
            assert intervals.excludes_mean(arm, end)
            assert not intervals.excludes_mean(arm, end + 1e-6 * (means[arm] - end))
    low, high = intervals.difference(0, 1)
    assert low < truth[0] - truth[1] < high
    for end in (low, high):
        assert intervals.excludes_difference(0, 1, end)
        assert not intervals.excludes_difference(0, 1, end + 0.05 * (means[0] - means[1] - end))


def test_an_interval_of_nothing_or_of_one_outcome_is_in_the_range():
    explorer = Explorer.start("best-arm", "bounded:-10,30", arms=2, delta=0.05)
    explorer.observe(0, 30.0)
    intervals = Intervals(explorer.setup, explorer.state, 0.95)
    assert intervals.mean(1) == (-10.0, 30.0)
    assert intervals.mean(0)[1] == 30.0
    assert -10.0 <= intervals.mean(0)[0] < 30.0
    assert intervals.difference(0, 1) == (-40.0, 40.0)


def test_intervals_cover_at_every_look():
    """At 80 %: of 80 experiments of 30 outcomes, at most 20 % miss a mean at any look, or the difference at the last
    one, up to chance."""
    missed = np.zeros((80, 2), dtype=bool)
    rng = np.random.default_rng(5)
    for one in range(80):
        explorer = Explorer.start("best-arm", "bounded:0,1,4", arms=2, delta=0.05, policy="uniform")
        for turn in range(30):
            explorer.observe(turn % 2, float(rng.choice([0.0, 0.37, 1.0], p=[0.2, 0.5, 0.3])))
            intervals = Intervals(explorer.setup, explorer.state, 0.8)
            missed[one, 0] |= any(intervals.excludes_mean(arm, 0.485) for arm in range(2) if turn >= arm)
        missed[one, 1] = intervals.excludes_difference(0, 1, 0.0)
    assert np.all(missed.sum(axis=0) <= 0.2 * 80 + 3 * np.sqrt(0.16 * 80))
