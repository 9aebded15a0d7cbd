"""A live experiment in one process: what is handed out and taken in, when it stops, and that its rows say it all."""

import json
import random

import numpy as np
import pandas as pd
import pytest
from whole_runs import fail_to_solve

from caet_opt import Explorer, InputError, LiveExperiment, SolverError
from caet_opt.exploring.policies import POLICIES
from caet_opt.kernels import native
from caet_opt.live import experiment as live
from caet_opt.live import replay
from caet_opt.live.experiment import list_experiments
from caet_opt.presenting.report.experiment import experiment_page

LIVE = [name for name, policy in POLICIES.items() if not policy.needs_truth]
ARMS = ("large", "small", "local")
MEANS = (0.97, 0.5, 0.03)


def start(path, **changes):
    """A small experiment in a new file."""
    asked = {"arms": ARMS, "costs": [3, 5, 1], "delta": 0.1, **changes}
    return LiveExperiment.start(path / "trial.caet", asked.pop("task", "best-arm"), "bernoulli", **asked)


def draw(rng, arm):
    """An outcome of an arm."""
    return int(rng.random() < MEANS[arm])


def go_on(experiment, rng, pulls):
    """So many pulls, one after the other, or until it stops."""
    for _ in range(pulls):
        if not (handed := experiment.next()):
            break
        experiment.record(handed[0].name, draw(rng, handed[0].arm), pull=handed[0].number)
    return experiment


@pytest.mark.parametrize("policy", LIVE)
def test_one_pull_after_the_other_goes_as_the_object_in_memory_goes(tmp_path, policy):
    """Closed and opened again after each pull, and with what is out counted where nothing is out."""
    explorer = Explorer.start("best-arm", "bernoulli", arms=3, costs=[3, 5, 0], delta=1e-9, policy=policy, seed=4)
    experiment, rng = start(tmp_path, costs=[3, 5, 0], delta=1e-9, policy=policy, seed=4), random.Random(1)
    for round_ in range(25):
        if round_ % 3 == 0:
            experiment.close()
        (pull,) = experiment.next()
        assert pull.arm == explorer.next_arm()
        reward = draw(rng, pull.arm)
        explorer.observe(pull.arm, reward)
        experiment.record(pull.arm, reward)
    with experiment._store.reading() as db:
        assert experiment._load(db).state == explorer.state
    assert experiment.verify() == []


@pytest.mark.parametrize("policy", LIVE)
def test_ten_workers_are_not_all_sent_to_one_arm(tmp_path, policy):
    experiment = go_on(start(tmp_path, policy=policy, delta=1e-9), random.Random(2), 12)
    together = [pull.arm for pull in experiment.next(5)]
    one_by_one = [experiment.next()[0].arm for _ in range(5)]
    assert len({*together, *one_by_one}) > 1
    assert experiment.status()["waiting"] == 10


@pytest.mark.parametrize("policy", LIVE)
def test_outcomes_in_any_order_late_and_never(tmp_path, policy):
    """Eight workers; the way to the end is replayed to the last bit, and the memory of the policy with it."""
    experiment, rng, out = start(tmp_path, policy=policy, delta=0.3), random.Random(5), []
    for _ in range(400):
        out += experiment.next(8 - len(out))
        if experiment.stopped:
            break
        pull = out.pop(rng.randrange(len(out)))
        if rng.random() < 0.05:
            continue  # never comes back: still out
        experiment.record(None, draw(rng, pull.arm), pull=pull.number)
    assert experiment.stopped
    assert experiment.answer == "large"
    assert experiment.next() == ()
    for pull in out:  # late ones change no answer
        experiment.record(None, 1 - draw(rng, pull.arm), pull=pull.number)
    assert experiment.answer == "large"
    assert experiment.verify() == []


def test_what_is_handed_out_from_a_pretended_state_changes_nothing():
    explorer = Explorer.start("best-arm", "gaussian", arms=3, costs=[1, 2, 3], delta=0.05)
    for arm, reward in [(0, 1.0), (1, 0.2), (2, 0.1), (0, 0.9)]:
        explorer.observe(arm, reward)
    before = explorer.state
    first = explorer.next_arms(12)
    assert first == explorer.next_arms(12)
    assert first[0] == explorer.next_arm()
    assert explorer.state == before


def test_a_batch_follows_the_target_of_the_present_means():
    """Counts with what is handed out stay near the target, but for forced exploration."""
    explorer = Explorer.start("best-arm", "gaussian", arms=3, costs=[1, 2, 3], delta=0.05)
    for arm, reward in [(0, 1.0), (1, 0.2), (2, 0.1)]:
        explorer.observe(arm, reward)
    chosen = np.bincount(explorer.next_arms(600), minlength=3) / 600
    assert np.abs(chosen - explorer.diagnostics.target).max() < 0.05


def test_what_is_out_counts_as_if_it_had_come_back_as_expected():
    """The pulls of a batch are those of the same batch in parts."""
    for policy in LIVE:
        explorer = Explorer.start("best-arm", "poisson", arms=3, costs=[1, 2, 3], delta=1e-9, policy=policy)
        for arm, reward in [(0, 5), (1, 3), (2, 1)] * 3:
            explorer.observe(arm, reward)
        whole = explorer.next_arms(6)
        assert len(set(whole)) > 1
        for out in range(1, 6):
            assert explorer.next_arms(6 - out, whole[:out]) == whole[out:]


def test_before_every_arm_has_an_outcome_the_arms_take_turns(tmp_path):
    experiment = start(tmp_path)
    assert [pull.arm for pull in experiment.next(5)] == [0, 1, 2, 0, 1]
    experiment.record("large", 1)
    assert [pull.arm for pull in experiment.next(2)] == [2, 0]


def test_an_arm_can_be_asked_for(tmp_path):
    experiment = start(tmp_path)
    assert [pull[1:] for pull in experiment.next(2, arm="local")] == [(2, "local")] * 2
    assert experiment.next(arm=1)[0].name == "small"


def test_an_outcome_by_its_arm_is_of_the_oldest_pull(tmp_path):
    experiment = start(tmp_path)
    experiment.next(3, arm="small")
    experiment.record("small", 1, pull=2)
    experiment.record("small", 0)
    assert [row["position"] for row in experiment.export()] == [2, 1, None]
    assert [row["reward"] for row in experiment.export()] == [0.0, 1.0, None]


def test_an_outcome_is_taken_once(tmp_path):
    experiment = start(tmp_path)
    experiment.next()
    experiment.record("large", 1)
    for again in (lambda: experiment.record("large", 1), lambda: experiment.record("large", 1, pull=1)):
        with pytest.raises(InputError, match=r"no pull of arm 'large' is out|recorded already"):
            again()
    assert experiment.status()["recorded"] == 1


@pytest.mark.parametrize("arms", [None, 1.5, "ab", ["a", " b"], ["a", "b\n"], ["a", "0"], ["a"], 1, True])
def test_names_that_are_none_are_refused(tmp_path, arms):
    with pytest.raises(InputError):
        start(tmp_path, arms=arms, costs=[1, 2])
    assert list(tmp_path.iterdir()) == []


def test_many_outcomes_are_taken_all_or_none(tmp_path):
    experiment = start(tmp_path)
    experiment.next(3)
    with pytest.raises(InputError, match="outcome 2: reward 7 is outside"):
        experiment.record_many([{"pull": 1, "reward": 1}, {"pull": 2, "reward": 7}])
    assert experiment.status()["recorded"] == 0
    assert experiment.record_many([{"pull": 3, "reward": 1}, {"arm": "large", "reward": 0}]) == 2
    assert experiment.verify() == []


def test_a_pull_that_is_withdrawn_counts_no_longer_and_may_come_back_after_all(tmp_path):
    experiment = start(tmp_path)
    experiment.next(3)
    experiment.release(1, 3)
    status = experiment.status()
    assert (status["waiting"], status["withdrawn"], [row["pull"] for row in status["out"]]) == (1, 2, [2])
    with pytest.raises(InputError, match="pull 1 is not out"):
        experiment.release(2, 1)
    assert experiment.status()["waiting"] == 1  # all or none
    with pytest.raises(InputError, match="no pull of arm 'large' is out"):
        experiment.record("large", 1)
    experiment.record("large", 1, pull=1)
    status = experiment.status()
    assert (status["waiting"], status["withdrawn"], status["recorded"]) == (1, 1, 1)
    assert experiment.verify() == []


def test_what_comes_after_the_end_is_kept_and_changes_no_answer(tmp_path):
    experiment, rng = start(tmp_path, delta=0.3), random.Random(7)
    experiment.next(6, arm="large")
    go_on(experiment, rng, 300)
    assert experiment.stopped
    stop = experiment.status()["stopped"]
    for pull in range(1, 7):
        experiment.record("large", 0, pull=pull)
    status = experiment.status()
    assert status["stopped"] == {**stop, "late": 6}
    assert status["arms"][0]["pulls"] == sum(
        row["arm"] == 0 and row["reward"] is not None for row in experiment.export()
    )
    assert status["spent"] == stop["cost"] + 18
    assert experiment.answer == "large"
    assert "6 outcomes came later" in str(experiment)
    assert experiment.verify() == []


@pytest.mark.parametrize("task", ["ranking", "top-arms:2", "groups:0,1", "control:2", "comparisons:0-1"])
def test_every_task_has_an_answer_in_words(tmp_path, task):
    experiment = go_on(start(tmp_path, task=task, policy="top-two", delta=0.3), random.Random(3), 600)
    said = {
        "ranking": "large > small > local",
        "top-arms:2": "large, small",
        "groups:0,1": "large",
        "control:2": "large > local, small > local",
        "comparisons:0-1": "large > small",
    }
    assert experiment.answer == said[task]
    assert experiment.verify() == []


def test_observed_costs_are_told_with_each_outcome(tmp_path):
    experiment = start(tmp_path, costs=None, cost_source="observed")
    experiment.next(3)
    with pytest.raises(InputError, match="need a cost"):
        experiment.record("large", 1)
    experiment.record("large", 1, 2.5)
    with pytest.raises(InputError, match="zero or more"):
        experiment.record("small", 1, -1)
    experiment.record("small", 1, 0)
    assert experiment.status()["spent"] == 2.5
    assert experiment.verify() == []


def test_gaps_are_costs_that_nobody_tells(tmp_path):
    experiment = go_on(start(tmp_path, costs=None, cost_source="gaps"), random.Random(3), 20)
    assert experiment.status()["spent"] == 0
    assert experiment.verify() == []


def test_an_unproven_threshold_is_asked_for_and_labelled(tmp_path):
    with pytest.raises(InputError, match="'customary' does not guarantee delta here"):
        start(tmp_path, threshold="customary")
    assert not (tmp_path / "trial.caet").exists()
    experiment = start(tmp_path, threshold="customary", unproven=True)
    assert "NOT GUARANTEED" in str(experiment)
    assert experiment.status()["guaranteed"] is False
    assert "wrong with probability at most 0.1" in str(start_in(tmp_path / "other", threshold="mixture"))


def start_in(folder, **changes):
    folder.mkdir()
    return start(folder, **changes)


def test_a_solver_that_fails_loses_no_outcome(tmp_path, monkeypatch):
    experiment = go_on(start(tmp_path), random.Random(3), 8)
    experiment.next(3, arm="small")

    fail_to_solve(monkeypatch, SolverError("no answer"))
    experiment.record("small", 1)
    assert experiment.status()["recorded"] == 9
    assert len(experiment.next()) == 1  # the target counts as uniform
    assert experiment.next(arm="small")[0].name == "small"
    monkeypatch.undo()
    experiment.record("small", 0)
    experiment.next()
    assert experiment.status()["recorded"] == 10


def test_a_change_by_hand_is_noticed(tmp_path):
    experiment = go_on(start(tmp_path), random.Random(3), 12)
    changes = {
        "UPDATE outcomes SET reward = 1 - reward WHERE position = 4": "reward_sums",
        "DELETE FROM outcomes WHERE position = 12": "counts",
        "UPDATE pulls SET waiting = 1 WHERE number = 3": "marked as out",
        "UPDATE pulls SET arm = 1 - arm WHERE number = 1": "counts",
        "INSERT INTO stop VALUES (1, 5, 0, '0', 1)": "stopped by outcome",
        "UPDATE checkpoint SET position = 11": "the checkpoint is of outcome 11",
    }
    for change, words in changes.items():
        with experiment._store.writing() as db:
            db.execute(change)
            assert any(words in found for found in replay.find_differences(db)), change
            db.execute("ROLLBACK")
            db.execute("BEGIN")
    assert experiment.verify() == []


def test_nobody_who_holds_the_lock_waits_for_a_compiler(tmp_path, monkeypatch):
    """What is worth compiling is compiled before the file is locked."""
    experiment = go_on(start(tmp_path), random.Random(3), 6)
    seen = []
    monkeypatch.setattr(native, "_compiled", None)
    monkeypatch.setattr(native, "INTERPRETED_BUDGET", 0.0)
    monkeypatch.setattr(native, "compiled_kernel", lambda: pytest.fail("compiled"))
    connection = experiment._store._connection
    monkeypatch.setattr(live, "compile_rounds", lambda policy, view: seen.append(connection.in_transaction))
    go_on(experiment, random.Random(3), 3).status()
    assert seen
    assert not any(seen)


def test_the_status_is_json_and_says_what_is_ahead(tmp_path):
    experiment = start(tmp_path, delta=1e-9)
    assert "no answer yet" in str(experiment)
    go_on(experiment, random.Random(3), 30)
    status = json.loads(json.dumps(experiment.status(), allow_nan=False))
    ahead = status["ahead"]
    assert ahead["cost"] == pytest.approx(ahead["characteristic_time"] * ahead["missing"])
    assert "still to pay: about" in str(experiment)
    assert [pair["evidence"] - pair["threshold"] for pair in status["pairs"]] == sorted(
        pair["evidence"] - pair["threshold"] for pair in status["pairs"]
    )
    assert sum(arm["spent"] for arm in status["arms"]) == status["spent"]
    with pytest.raises(InputError, match="level must lie strictly between"):
        experiment.status(level=1)


@pytest.mark.parametrize(
    ("family", "rewards", "settings", "cost", "reason"),
    [
        ("bernoulli", (1, 1), {"costs": [1, 1]}, None, "arms 0 (a) and 1 (b) have equal means (1)"),
        ("gaussian:1", (1, 1), {"cost_source": "gaps"}, 0.0, "every arm that the answer needs is free as far as costs"),
        ("gaussian:1", (2, 1), {"costs": [0, 0]}, 0.0, "every arm that the answer needs is free"),
        ("gaussian:1", (1, 1), {"costs": [0, 0]}, 0.0, "every arm that the answer needs is free"),
        ("bernoulli", (1, 0), {"costs": [0, 1]}, 0.0, "the free arm a has the mean 1, the end of"),
        ("poisson", (3, 0), {"costs": [2, 0]}, 0.0, "the free arm b has the mean 0, the end of"),
        ("exponential", (0.5, 1e-300), {"costs": [1, 0]}, None, "reached a certified gap of 1.0, above the tolerance"),
        ("gaussian:1", (1e-5, 0), {"costs": [1e300, 1e300], "policy": "uniform"}, None, "outside double precision"),
        ("gaussian:1", (1e200, -1e200), {"costs": [1, 1], "policy": "uniform"}, None, "outside double precision"),
        ("gaussian:1", (1e-4, 0), {"costs": [1e299, 1e299], "delta": 1e-13}, None, "or its cost, is outside"),
    ],
)
def test_what_is_still_to_pay_says_why_it_cannot_be_said_or_is_nothing(
    tmp_path, family, rewards, settings, cost, reason
):
    asked = {"arms": ["a", "b"], "delta": 0.05, **settings}
    with LiveExperiment.start(tmp_path / "ahead.caet", "best-arm", family, **asked) as experiment:
        for arm, reward in enumerate(rewards):
            experiment.next(1, arm=arm)
            experiment.record(arm, reward)
        ahead = json.loads(json.dumps(experiment.status(), allow_nan=False))["ahead"]
        words = next(line for line in str(experiment).splitlines() if line.startswith("still to pay"))
    assert ahead["cost"] == cost
    assert reason in ahead["reason"]
    start = "nothing: " if cost == 0 else "unknown at the present means: "
    assert words == f"still to pay: {start}{ahead['reason']}"


def test_what_is_still_to_pay_needs_no_reason_where_it_can_be_said(tmp_path):
    experiment = go_on(start(tmp_path, delta=1e-9), random.Random(3), 30)
    assert experiment.status()["ahead"]["reason"] is None


def test_what_came_after_the_stop_is_told_apart_from_what_was_settled_then(tmp_path):
    experiment = start(tmp_path, delta=0.2)
    pulls = [pull for arm in (0, 1, 2) * 20 for pull in experiment.next(1, arm=arm)]
    for pull in pulls[:3]:
        experiment.record(pull.arm, int(pull.arm == 0), pull=pull.number)
    later = iter(pulls[3:])
    while experiment.answer is None:
        pull = next(later)
        experiment.record(pull.arm, int(pull.arm == 0), pull=pull.number)
    assert "settled now" not in str(experiment)
    late = [pull for pull in later if pull.arm == 0]
    for pull in late:
        experiment.record(pull.arm, 0, pull=pull.number)
    status, words = experiment.status(), str(experiment)
    assert status["stopped"]["answer"] == "large"
    assert not all(pair["settled"] for pair in status["pairs"])
    assert "settled now" in words
    assert f"count the {len(late)} outcomes" in words
    assert "settled now" in experiment_page(experiment)


def test_the_history_ends_where_the_status_is(tmp_path):
    experiment = go_on(start(tmp_path, delta=1e-9), random.Random(3), 43)
    status, history = experiment.status(), experiment.history(points=7)
    last = history["moments"][-1]
    assert [moment["outcome"] for moment in history["moments"]][:2] == [1, 8]
    assert last["spent"] == [arm["spent"] for arm in status["arms"]]
    assert last["evidence"] == [pair["evidence"] for pair in status["pairs"]]
    assert last["needed"] == [pair["threshold"] for pair in status["pairs"]]
    assert last["intervals"] == [{"low": arm["low"], "high": arm["high"]} for arm in status["arms"]]
    assert history["moments"][0]["evidence"] is None


def test_a_folder_is_listed_with_what_cannot_be_read(tmp_path):
    start(tmp_path).close()
    (tmp_path / "notes.txt").write_text("nothing")
    damaged = bytearray((tmp_path / "trial.caet").read_bytes())
    damaged[60:64] = (9).to_bytes(4, "big")
    (tmp_path / "newer.caet").write_bytes(damaged)
    found = list_experiments(tmp_path)
    assert [record["file"] for record in found] == ["newer.caet", "trial.caet"]
    assert "made by a newer caet-opt (schema 9" in found[0]["error"]
    assert (found[1]["task"], found[1]["stopped"], found[1]["error"]) == ("best-arm", False, None)


@pytest.mark.parametrize("listed", [np.array, pd.Index, tuple])
def test_names_may_come_from_a_table(tmp_path, listed):
    told = {"arms": listed(["old", "new"]), "delta": 0.05}
    with LiveExperiment.start(tmp_path / "x.caet", "best-arm", "bernoulli", **told) as experiment:
        assert experiment.names == ("old", "new")
