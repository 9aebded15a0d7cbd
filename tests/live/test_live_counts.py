"""Outcomes that come as counts: the same state as one by one, looked at as a whole, replayed, refused where wrong."""

import json
import re
import sqlite3

import numpy as np
import pytest
from commands import expect_refusal, run_command
from hypothesis import given, settings
from hypothesis import strategies as st

from caet_opt import POLICIES, Explorer, InputError, LiveExperiment
from caet_opt.live.contents import Outcome
from caet_opt.live.replay import absorb_batch, in_batches

ASKED = {"arms": ["old", "b", "c"], "delta": 0.05}
COUNTS = [("old", 90, 1000), ("b", 150, 1000), ("c", 95, 1000)]


def begin(path, task="control:old", **more):
    return LiveExperiment.start(path, task, "bernoulli", **ASKED | more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.caet"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.booleans()), min_size=1, max_size=30), st.randoms())
def test_sums_give_the_evidence_of_every_order(outcomes, random):
    """The e-value after a batch is that after its outcomes one by one, in whatever order they came."""
    whole = Explorer.start("best-arm", "bernoulli", arms=2, delta=0.05)
    for arm in (0, 1):
        whole.observe(arm, arm)
    absorb_batch(whole, [Outcome(3 + place, arm, float(won), 1.0) for place, (arm, won) in enumerate(outcomes)])
    single = Explorer.start("best-arm", "bernoulli", arms=2, delta=0.05)
    for arm in (0, 1):
        single.observe(arm, arm)
    random.shuffle(outcomes)
    for arm, won in outcomes:
        single.observe(arm, float(won))
    assert whole.state == single.state
    assert whole.diagnostics.evidence.tolist() == single.diagnostics.evidence.tolist()
    assert whole.diagnostics.thresholds.tolist() == single.diagnostics.thresholds.tolist()


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"oracle"}))
@pytest.mark.parametrize("tracking", ["c", "d"])
def test_every_policy_goes_on_after_a_batch(path, policy, tracking):
    if tracking == "c" and not POLICIES[policy].tracks:
        return
    with LiveExperiment.start(
        path,
        "best-arm",
        "bernoulli",
        **ASKED,
        policy=policy,
        **{"tracking": tracking} if POLICIES[policy].tracks else {},
    ) as experiment:
        experiment.record_many([{"pull": pull.number, "reward": pull.arm % 2} for pull in experiment.next(5)])
        assert experiment.record_counts([("old", 4, 9), ("b", 6, 8), ("c", 3, 7), ("old", 1, 2)]) == 26
        experiment.record_many([{"pull": pull.number, "reward": 1} for pull in experiment.next(3)])
        found = experiment.status()
        assert [arm["pulls"] for arm in found["arms"]] >= [11, 8, 7]
        assert (found["recorded"], found["counted"], found["waiting"]) == (34, 26, 0)
        assert experiment.verify() == []
        saved = experiment.export()
    with LiveExperiment.open(path) as again:
        assert again.status() == found | {"file": str(path)}
        assert again.export() == saved


def test_nothing_is_looked_at_inside_a_batch(path):
    """Ten successes of b and none of old would settle it; so do not the counts as a whole, in which order they are."""
    with begin(path, "best-arm", arms=["old", "b"]) as experiment:
        experiment.record_counts([("b", 40, 80), ("old", 0, 0), ("old", 40, 80)])
        assert not experiment.stopped
        assert [moment["outcome"] for moment in experiment.history()["moments"]] == [160]
        experiment.record_counts([("b", 200, 200), ("old", 0, 200)])
        stopped = experiment.status()["stopped"]
        assert (stopped["answer"], stopped["outcome"], stopped["cost"]) == ("b", 560, 560.0)
        assert [moment["outcome"] for moment in experiment.history()["moments"]] == [160, 560]
        assert experiment.verify() == []
        experiment.record_counts([("old", 300, 300)])
        assert experiment.status()["stopped"]["late"] == 300
        assert experiment.answer == "b"
        assert experiment.verify() == []


def test_what_is_settled_while_the_rest_is_open_can_be_acted_on(path):
    with begin(path) as experiment:
        experiment.record_counts(COUNTS)
        found, words = experiment.status(), str(experiment)
        assert found["stopped"] is None
        assert found["settled"] == found["established"] == ["b > old"]
        assert "SETTLED: b > old; act on it" in words
        assert "at most 0.05" in words


def test_of_a_best_arm_only_answers_are_excluded(path):
    """That 1 > 2 is established may be wrong with more than delta where 0 is the best: nobody is told to act on it."""
    with begin(path, "best-arm") as experiment:
        experiment.record_counts([("old", 500, 1000), ("b", 520, 1000), ("c", 100, 1000)])
        found = experiment.status()
        assert found["not_excluded"] == ["old", "b"]
        assert found["established"] == ["old > c", "b > c"]
        assert found["settled"] == []
        assert "SETTLED" not in str(experiment)


def test_counts_from_the_command_line_and_from_files(capsys, path, tmp_path):
    begin(path).close()
    rows, trials = tmp_path / "counts.csv", tmp_path / "trials.csv"
    rows.write_text("arm,successes,trials\nold,9,100\nb,15,100\n", encoding="utf-8")
    trials.write_text("reward,arm\n1,c\n0,c\n0,old\n", encoding="utf-8")
    out = run_command(capsys, "experiment", "record", path, "--counts", rows, "--counts", trials, "--counts", "c,1,7")
    assert out.splitlines()[0] == "recorded: 210"
    assert "every trial is counted once" in out
    found = json.loads(run_command(capsys, "experiment", "status", path, "--json"))
    assert [(arm["pulls"], arm["mean"]) for arm in found["arms"]] == [(101, 9 / 101), (100, 0.15), (9, 2 / 9)]


def test_counts_of_an_arm_that_is_given_twice_add_up_and_are_told(capsys, path):
    """None is lost without a word: neither what is new on two days nor a slip, which could not be undone."""
    begin(path).close()
    out = run_command(
        capsys, "experiment", "record", path, "--counts", "b,3,10", "--counts", "old,1,5", "--counts", "1,4,10"
    )
    assert out.splitlines()[0] == "recorded: 25"
    assert out.splitlines()[2:] == ["counts of b, which were given more than once, add up: 7 successes in 20 trials"]
    found = json.loads(run_command(capsys, "experiment", "status", path, "--json"))
    assert [(arm["pulls"], arm["mean"]) for arm in found["arms"]] == [(5, 0.2), (20, 0.35), (0, None)]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ("old,9,5", "successes of arm 'old' must be at most 5, got 9"),
        ("old,-1,5", "--counts must be ARM,SUCCESSES,TRIALS, as a,90,1000, got 'old,-1,5'"),
        ("old,-1,5", "successes and trials are whole numbers, 0 or more"),
        ("old,1,80,7", "as a,90,1000, three values, got 'old,1,80,7'"),
        ("old", "old: no such file; --counts must be ARM,SUCCESSES,TRIALS, as a,90,1000, or a CSV file"),
        ("old=5/10", "--counts must be ARM,SUCCESSES,TRIALS, as a,90,1000, or a CSV file"),
        ("old,1.5,5", "--counts must be ARM,SUCCESSES,TRIALS"),
        ("old,5", "--counts must be ARM,SUCCESSES,TRIALS"),
        ("old,0,0", "there are no trials to record"),
        (
            "old,0,9999999",
            "trials of arm 'old' must be at most 1000000, got 9999999; record up to 1000000 at a time",
        ),
        ("new,1,2", "unknown arm 'new'"),
        ("nothing.csv", "nothing.csv: no such file"),
    ],
)
def test_what_is_no_count_is_refused(capsys, path, counts, words):
    with begin(path) as experiment:
        expect_refusal(capsys, "experiment", "record", path, "--counts", counts, words=words)
        assert experiment.status()["recorded"] == 0


def test_a_name_with_a_comma_has_counts(capsys, path):
    LiveExperiment.start(path, "best-arm", "bernoulli", arms=["a,b", "c"], delta=0.1).close()
    assert run_command(capsys, "experiment", "record", path, "--counts", "a,b,1,2").startswith("recorded: 2\n")


class Frame(dict):
    """What of a data frame is used: its columns."""

    columns = property(lambda self: list(self))


def test_counts_from_a_data_frame_and_in_numbers_of_its_kind(path):
    frame = Frame(trials=[5.0, np.float64(7.0)], arm=["old", "b"], successes=np.array([3, 0]), day=["one", "two"])
    with begin(path) as experiment:
        assert experiment.record_counts(frame) == 12
        assert experiment.record_counts([("old", 3.0, np.float64(5.0))]) == 5
        assert [(arm["pulls"], arm["mean"]) for arm in experiment.status()["arms"][:2]] == [(10, 0.6), (7, 0.0)]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([("old", 3.0, 5.5)], "trials of arm 'old' must be a whole number, zero or more, got 5.5"),
        ([("old", True, 5)], "successes of arm 'old' must be a whole number, zero or more, got True"),
        ([("old", 5)], "count 1 must be an arm, its successes and its trials, as ('large', 90, 1000), got ('old', 5)"),
        ([("old", 1, 2), "b,1"], "count 2 must be an arm, its successes and its trials"),
        ({"old": (1, 2)}, "count 1 must be an arm, its successes and its trials"),
        (7, "counts must be a list, got 7"),
        (Frame(arm=["old"], successes=[1]), "needs the columns arm, successes, trials; trials is missing"),
    ],
)
def test_what_is_no_count_in_python_is_refused(path, counts, words):
    with begin(path) as experiment:
        with pytest.raises(InputError, match=re.escape(words)):
            experiment.record_counts(counts)
        assert experiment.status()["recorded"] == 0


def test_counts_stand_alone_and_are_of_bernoulli_rewards_with_known_costs(capsys, path, tmp_path):
    begin(path).close()
    expect_refusal(
        capsys, "experiment", "record", path, "old", "1", "--counts", "old,1,2", words="--counts cannot be combined"
    )
    other = tmp_path / "other.csv"
    other.write_text("arm,wins\nold,1\n", encoding="utf-8")
    expect_refusal(
        capsys, "experiment", "record", path, "--counts", other, words="header with arm, successes and trials"
    )
    other.write_text("arm,successes,trials\nold,0.5,1\n", encoding="utf-8")
    words = "line 2: successes and trials must be whole numbers"
    expect_refusal(capsys, "experiment", "record", path, "--counts", other, words=words)
    asked = {"arms": 2, "delta": 0.05}
    for name, family, more, words in (
        ("p", "poisson", {}, "the order of poisson rewards matters"),
        ("g", "bounded:0,1", {}, "counts are for bernoulli rewards"),
        ("o", "bernoulli", {"cost_source": "observed"}, "observed costs need a cost"),
    ):
        with LiveExperiment.start(tmp_path / name, "best-arm", family, **asked, **more) as experiment:
            with pytest.raises(InputError, match=words):
                experiment.record_counts([(0, 1, 2)])
            assert experiment.status()["recorded"] == 0


#: Three outcomes of each family that are outcomes of it.
GRADED = {
    "bounded:0,1": (0.25, 0.7, 1.0),
    "bounded:1/2/3/4/5": (1.0, 3.0, 4.5),
    "gaussian:0.1": (-0.3, 0.1, 0.7),
    "exponential": (0.2, 1.7, 0.9),
    "gamma:2": (0.2, 1.7, 0.9),
    "geometric": (1.0, 4.0, 2.0),
}


@pytest.mark.parametrize("family", GRADED)
def test_assigned_outcomes_give_the_evidence_of_every_order(path, family):
    """With observed costs; what is settled, and where each mean is, do not depend on the order or on who handed out."""
    rewards = [(arm, reward) for arm in (0, 1) for reward in GRADED[family] * 4]
    asked = {"arms": 2, "delta": 0.3, "cost_source": "observed"}
    rows = [{"arm": arm, "reward": reward, "cost": 0.5 + arm} for arm, reward in rewards]
    found = []
    for number, order in enumerate((rows, rows[::-1])):
        with LiveExperiment.start(path.with_suffix(f".{number}"), "best-arm", family, **asked) as experiment:
            assert experiment.record_assigned(order) == len(rows)
            found.append(experiment.status())
            assert experiment.verify() == []
    with LiveExperiment.start(path, "best-arm", family, **asked) as experiment:
        for row in rows:
            (pull,) = experiment.next(arm=row["arm"])
            experiment.record(pull=pull.number, **row)
        found.append(experiment.status())
    for other in found[1:]:
        for arm, same in zip(found[0]["arms"], other["arms"], strict=True):
            assert (arm["pulls"], arm["spent"]) == (same["pulls"], same["spent"])
            for part in ("mean", "low", "high"):
                assert arm[part] == pytest.approx(same[part], rel=1e-9)
    assert [one["counted"] for one in found] == [len(rows), len(rows), 0]


def test_rows_of_scores_from_a_platform(capsys, tmp_path, path):
    LiveExperiment.start(path, "best-arm", "bounded:1,5,4", arms=["old", "new"], delta=0.05).close()
    rows = tmp_path / "stars.csv"
    rows.write_text("arm,reward\n" + "new,5\nold,1.5\n" * 20, encoding="utf-8")
    out = run_command(capsys, "experiment", "record", path, "--counts", rows)
    assert out.splitlines()[0] == "recorded: 40; the experiment has stopped with the answer new"
    assert "40 of the outcomes were assigned elsewhere" in run_command(capsys, "experiment", "status", path)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("arm,reward\nold,5\nold,6\n", "line 3: reward 6 is outside"),
        ("arm,reward\nold,nan\n", "rows.csv: line 2: reward must be a number, got 'nan'"),
        ("arm,reward\nother,5\n", "line 2: unknown arm 'other'"),
        ("arm,reward\nold\n", "rows.csv: line 2: 1 cells, but the header has 2"),
        ("arm,reward\n,5\n", "line 2: unknown arm"),
        ("arm,reward\nold,\n", "rows.csv: line 2: the reward is blank; give a number, or remove the row"),
        ("arm,reward,cost\nold,5,2\n", "line 2: the cost of arm 'old' is known to be 1; leave it out"),
        ("arm,reward\n", "rows.csv: there are no rows below the header"),
        ("arm;reward\nold;5\n", "rows.csv: columns are separated by semicolons; separate them by commas"),
        ("user,arm,reward\n1,old,5\n", "rows.csv: remove the column 'user'; arm, reward are all that is recorded"),
        ("arm,reward,arm\nold,5,new\n", "rows.csv: remove the column 'arm'; arm, reward are all that is recorded"),
    ],
)
def test_rows_that_are_none_are_refused(capsys, tmp_path, path, rows, words):
    with LiveExperiment.start(path, "best-arm", "bounded:1,5", arms=["old", "new"], delta=0.05) as experiment:
        (tmp_path / "rows.csv").write_text(rows, encoding="utf-8")
        expect_refusal(capsys, "experiment", "record", path, "--counts", tmp_path / "rows.csv", words=words)
        assert experiment.status()["recorded"] == 0


def test_where_the_order_matters_it_must_be_told(tmp_path):
    """The watch over Poisson counts predicts each by those before; that over Gaussian rewards looks after a batch."""
    with LiveExperiment.start(tmp_path / "p", "best-arm", "poisson", arms=2, delta=0.05) as experiment:
        with pytest.raises(InputError, match="the order of poisson rewards matters, as their spread is watched"):
            experiment.record_assigned([{"arm": 0, "reward": 1}])
        assert experiment.status()["recorded"] == 0
    spread = [{"arm": arm, "reward": reward} for arm in (0, 1) for reward in (-9.0, 9.0, *[0.0] * 400)]
    alarms = []
    for calm in (2, 402):  # of each arm, in the batch with the outcomes that spread too much
        with LiveExperiment.start(tmp_path / f"{calm}", "best-arm", "gaussian:1", arms=2, delta=0.05) as experiment:
            experiment.record_assigned([*spread[:calm], *spread[402 : 402 + calm]])
            alarms.append(experiment.status()["watch"]["alarm"])
    assert alarms == [True, False]


@pytest.mark.parametrize("change", ["last = 4000", "last = 9999999", "first = -5", "last = 'x'"])
def test_a_changed_batch_is_found(path, change):
    with begin(path) as experiment:
        experiment.record_counts(COUNTS)
        experiment.record_counts([("b", 500, 600)])
        experiment.record_counts([("c", 500, 600), ("old", 50, 600)])
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE batches SET {change} WHERE first = 1")
    with LiveExperiment.open(path) as experiment, pytest.raises(InputError, match=r"damaged.* of (a|the) batch"):
        experiment.verify()


def test_outcomes_are_grouped_by_batch():
    outcomes = [Outcome(position, 0, 1.0, 1.0) for position in range(1, 8)]
    grouped = [[one.position for one in batch] for batch in in_batches(outcomes, {2: 4, 6: 6})]
    assert grouped == [[1], [2, 3, 4], [5], [6], [7]]


def test_counts_may_be_rows_of_an_array(tmp_path):
    with LiveExperiment.start(tmp_path / "x.caet", "best-arm", "bernoulli", arms=2, delta=0.05) as experiment:
        assert experiment.record_counts(np.array([[0, 1, 3], [1, 1, 3]])) == 6
