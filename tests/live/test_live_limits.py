"""Live experiments that end before they have an answer: limits on cost and pulls, and an end by hand."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from caet_opt import InputError, LiveExperiment
from caet_opt.cli import main
from caet_opt.live.status_text import to_words
from caet_opt.presenting.report.experiment import experiment_page

KEPT = Path(__file__).parents[1] / "kept" / "0.2.0" / "live"

#: Each arm once costs 9, and so does each lap of the first pulls.
ASKED = {"arms": ["large", "small", "local"], "costs": [3, 5, 1], "delta": 0.05}


def begin(path, family="bernoulli", **settings):
    """A new experiment."""
    return LiveExperiment.start(path, "best-arm", family, **ASKED | settings)


def arms_of(pulls):
    """Their numbers."""
    return [pull.arm for pull in pulls]


def answer_all(experiment, cost=None):
    """Outcomes of all that is out: the first arm is right, the others are wrong."""
    out = [row for row in experiment.export() if row["position"] is None and row["withdrawn"] is None]
    for row in out:
        experiment.record(None, int(row["arm"] == 0), cost, pull=row["pull"])


def spoken(capsys, *words):
    """What a command says, which ends with status 0."""
    assert main(["experiment", *map(str, words)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trial.caet"


def test_as_many_pulls_as_fit_are_handed_out(path):
    with begin(path, max_cost=13) as experiment:
        assert arms_of(experiment.next(9)) == [0, 1, 2, 0]  # 3 + 5 + 1 + 3, and the next would cost 5
        assert experiment.next() == ()
        assert experiment.status()["ended"]["reason"] == "max_cost"
        answer_all(experiment)
        assert experiment.status()["spent"] == 12.0
        assert experiment.next(arm="small") == ()


def test_a_limit_can_be_met_exactly_in_decimals(path):
    """Three times 0.1 is more than 0.3 in doubles."""
    with begin(path, costs=[0.1, 0.1, 0.1], max_cost=0.3) as experiment:
        assert len(experiment.next(5)) == 3
        answer_all(experiment)
        assert experiment.status()["spent"] > 0.3
        assert experiment.next() == ()


def test_an_arm_by_name_is_within_the_limit_too(path, capsys):
    with begin(path, max_cost=13) as experiment:
        assert arms_of(experiment.next(9)) == [0, 1, 2, 0]
        assert experiment.next(arm="large") == ()
        assert arms_of(experiment.next(3, arm="local")) == [2]  # what is left is 1
        assert experiment.next(arm="local") == ()
    with begin(path.with_name("other"), max_cost=4) as experiment:
        assert experiment.next(arm="small") == ()
        assert experiment.status()["ended"] is None  # the policy's arm costs 3
    said = spoken(capsys, "next", path.with_name("other"), "--arm", "small")
    assert said == "nothing to pull: a pull of small would go beyond max_cost 4\n"
    assert spoken(capsys, "next", path.with_name("other")) == "pull 1: large\n"


def test_pulls_that_were_withdrawn_do_not_count(path):
    with begin(path, max_pulls=4) as experiment:
        pulls = experiment.next(9)
        assert len(pulls) == 4
        experiment.release(pulls[0].number, pulls[1].number)
        assert experiment.status()["ended"] is None
        assert len(experiment.next(9)) == 2
        experiment.record(None, 1, pull=pulls[0].number)  # comes after all: it is paid for, and counts
        assert experiment.status()["ended"]["reason"] == "max_pulls"
        answer_all(experiment)
        assert experiment.status()["recorded"] == 5
    with begin(path.with_name("money"), max_cost=9) as experiment:
        pulls = experiment.next(9)
        experiment.release(pulls[1].number)
        assert arms_of(experiment.next(9)) == [1]


@pytest.mark.parametrize("source", ["observed", "gaps"])
def test_costs_that_are_not_known_may_exceed_the_limit_by_what_is_out(path, source):
    with begin(path, costs=None, cost_source=source, max_cost=10) as experiment:
        assert len(experiment.next(6)) == 6
        answer_all(experiment, cost=1.5)
        assert (experiment.status()["spent"], experiment.status()["ended"]) == (9.0, None)
        assert len(experiment.next(4)) == 4
        answer_all(experiment, cost=0.25)  # ten of it is reached, and nothing more is handed out
        assert (experiment.status()["spent"], experiment.next()) == (10.0, ())
        assert experiment.status()["ended"]["reason"] == "max_cost"


def test_several_processes_share_a_limit(path):
    with begin(path, max_pulls=5) as first, LiveExperiment.open(path) as second:
        handed = [len(one.next(2)) for one in (first, second, first, second)]
    assert handed == [2, 2, 1, 0]


def test_what_is_out_may_still_settle_the_answer(path, capsys):
    with begin(path, costs=[1, 1, 1], delta=0.2, max_pulls=60) as experiment:
        experiment.next(60)
        assert experiment.status()["ended"]["reason"] == "max_pulls"
        answer_all(experiment)
        status = experiment.status()
        assert (experiment.answer, status["ended"]) == ("large", None)
        assert "ENDED" not in to_words(status)
        assert not experiment.end()
    said = spoken(capsys, "stop", path)
    assert said == f"{path}: nothing to end: the experiment has stopped with the answer large\n"
    assert json.loads(spoken(capsys, "next", path, "--json")) == {
        "pulls": [],
        "stopped": True,
        "answer": "large",
        "ended": None,
        "limit": None,
    }


def test_the_status_says_which_limit_is_met_and_what_is_not_excluded(path, capsys):
    with begin(path, max_cost=30.5, max_pulls=100) as experiment:
        status = experiment.status()
        assert (status["limits"], status["ended"]) == ({"max_cost": 30.5, "max_pulls": 100}, None)
        while experiment.next():
            answer_all(experiment)
        status, page = experiment.status(), experiment_page(experiment)
        last = max(row["recorded"] for row in experiment.export())
    assert status["ended"] == {"reason": "max_cost", "time": last}
    assert status["not_excluded"] == ["large", "small", "local"]
    words = to_words(status)
    assert "\nlimits: max_cost 30.5, max_pulls 100\nENDED: max_cost 30.5 leaves no room" in words
    assert "\nnot excluded: large; small; local\n" in words
    assert "Ended before there was an answer; not excluded: large; small; local." in page
    assert "max_cost 30.5 leaves no room for the next pull" in page
    assert " ended<" in page or ", ended" in page
    said = spoken(capsys, "next", path)
    assert said == (
        "nothing to pull: the experiment has ended, max_cost 30.5 leaves no room for the next pull; "
        "not excluded: large; small; local (guaranteed for "
        "independent Bernoulli rewards: wrong with probability at most 0.05)\n"
    )
    told = json.loads(spoken(capsys, "next", path, "--json"))
    assert told == {"pulls": [], "stopped": False, "answer": None, "ended": status["ended"], "limit": "max_cost"}
    assert spoken(capsys, "list", path.parent).splitlines()[1].endswith("ended")
    spoken(capsys, "status", path, "--watch")  # ends, since nothing will change


def test_an_answer_that_is_excluded_is_not_named(path):
    with begin(path, costs=[1, 1, 1], policy="uniform", max_pulls=54) as experiment:
        while experiment.next():
            out = [row for row in experiment.export() if row["position"] is None]
            for row in out:
                experiment.record(None, int(row["arm"] != 2), pull=row["pull"])
        status = experiment.status()
    assert (status["not_excluded"], status["stopped"]) == (["large", "small"], None)
    assert "not excluded: large; small\n" in to_words(status)


def test_a_limit_below_the_first_cost(path):
    with begin(path, max_cost=2) as experiment:
        assert experiment.next() == ()
        assert experiment.status()["ended"] == {"reason": "max_cost", "time": None}
        assert len(experiment.next(5, arm="local")) == 2


def test_the_limits_are_part_of_what_was_started(path):
    begin(path, max_cost=13).close()
    again = {"max_cost": 13.0, **ASKED}
    LiveExperiment.open_or_start(path, "best-arm", "bernoulli", **again).close()
    with pytest.raises(InputError, match=r"another experiment is in it: its max cost is 13\.0, not 14\.0"):
        LiveExperiment.open_or_start(path, "best-arm", "bernoulli", **again | {"max_cost": 14})


def test_an_end_by_hand_survives(path, capsys):
    with begin(path) as experiment:
        pulls = experiment.next(4)
        assert experiment.end()
        assert experiment.next() == experiment.next(arm="local") == ()
        assert not experiment.end()
        moment = experiment.status()["ended"]["time"]
        experiment.backup(path.with_name("copy"))
    for file in (path, path.with_name("copy")):
        with LiveExperiment.open(file) as experiment:
            assert experiment.status()["ended"] == {"reason": "by hand", "time": moment}
            assert experiment.next(3) == ()
            experiment.record(None, 1, pull=pulls[0].number)
            experiment.release(pulls[1].number)
            assert experiment.verify() == []
        said = spoken(capsys, "stop", file)
        assert said.startswith(f"{file}: had already ended, by hand, 20")
        assert (
            "outcomes of pulls already handed out are still accepted; not excluded: large; small; local (guar" in said
        )


def test_the_verb_says_what_is_left(path, capsys):
    begin(path).close()
    said = spoken(capsys, "stop", path)
    assert said.startswith(f"{path}: ended by hand, 20")
    assert said.count("\n") == 1
    assert "UTC; not excluded: large; small; local (guaranteed for independent Bernoulli rewards: wrong with" in said
    assert spoken(capsys, "next", path).startswith("nothing to pull: the experiment has ended, by hand, 20")
    assert "\nENDED: by hand, 20" in spoken(capsys, "status", path)


def test_what_is_not_guaranteed_is_not_said_to_be(path, capsys):
    begin(path, threshold="customary", unproven=True).close()
    assert "(NOT GUARANTEED" in spoken(capsys, "stop", path)


def test_an_answer_may_be_declared_after_the_end_by_hand(path):
    with begin(path, costs=[1, 1, 1], delta=0.2) as experiment:
        experiment.next(60)
        experiment.end()
        answer_all(experiment)
        status = experiment.status()
        assert (experiment.answer, status["ended"]["reason"]) == ("large", "by hand")
        assert experiment.verify() == []
    assert "STOPPED: large" in to_words(status)
    assert "ENDED" not in to_words(status)


def test_another_process_learns_of_the_end(path):
    with begin(path) as first, LiveExperiment.open(path) as second:
        assert len(second.next()) == 1
        first.end()
        assert second.next() == ()
        assert not second.end()


@pytest.mark.parametrize("name", sorted(file.name for file in KEPT.iterdir() if file.suffix == ".caet"))
def test_files_of_an_earlier_version_have_no_limits_and_can_be_ended(name, path):
    shutil.copyfile(KEPT / name, path)
    with LiveExperiment.open(path) as experiment:
        status = experiment.status()
        assert (status["limits"], status["ended"]) == ({"max_cost": None, "max_pulls": None}, None)
        assert experiment.end() == (status["stopped"] is None)
    with LiveExperiment.open(path) as experiment:
        assert experiment.next() == ()
        assert experiment.verify() == []


def test_a_file_that_was_never_ended_has_no_such_table(path):
    begin(path, max_cost=5).close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'ended'").fetchone() == (0,)
    connection.close()


# More money


def test_a_limit_that_is_raised_goes_on_where_it_was(path, capsys):
    """The pulls are those of an experiment that had the larger limit from the start; every process learns of it."""
    with begin(path, max_cost=13) as experiment, begin(path.with_name("large.caet"), max_cost=40) as large:
        assert len(experiment.next(9)) == 4
        with LiveExperiment.open(path) as other:
            other.extend(max_cost=40)
        assert experiment.status()["limits"] == {"max_cost": 40.0, "max_pulls": None}
        assert experiment.status()["ended"] is None
        experiment.next(90)
        large.next(4)
        large.next(90)
        assert [row["arm"] for row in experiment.export()] == [row["arm"] for row in large.export()]
        answer_all(experiment)
        assert experiment.status()["spent"] <= 40.0
        assert experiment.verify() == []
    out = spoken(capsys, "extend", path, "--budget", "50", "--max-pulls", "200")
    assert "limits: max_cost 50, max_pulls 200; " in out
    assert "limits: max_cost 50, max_pulls 200" in spoken(capsys, "status", path)


def test_it_is_known_by_its_first_limit_and_by_the_last(path):
    with begin(path, max_cost=13) as experiment:
        experiment.extend(max_cost=20)
        experiment.extend(max_cost=30)
    for limit in (13, 30):
        LiveExperiment.open_or_start(path, "best-arm", "bernoulli", **ASKED, max_cost=limit).close()
    with pytest.raises(InputError, match=r"its max cost is 30.0, not 20.0; experiment extend raises it"):
        LiveExperiment.open_or_start(path, "best-arm", "bernoulli", **ASKED, max_cost=20)


def test_a_copy_keeps_the_raised_limit(path):
    with begin(path, max_cost=13) as experiment:
        experiment.extend(max_pulls=3)
        experiment.backup(path.with_name("copy.caet"))
    with LiveExperiment.open(path.with_name("copy.caet")) as copy:
        assert len(copy.next(9)) == 3


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "nothing to extend: give max_cost or max_pulls"),
        ({"max_cost": 12}, "max_cost is 13: extend raises a limit, got 12"),
        ({"max_cost": -1}, "max_cost must be positive"),
        ({"max_cost": float("nan")}, "max_cost must be"),
        ({"max_cost": float("inf")}, "max_cost must be"),
        ({"max_pulls": 0}, "max_pulls must be"),
        ({"max_pulls": 2.5}, "max_pulls must be"),
        ({"max_pulls": 10**30}, "max_pulls must be at most"),
    ],
)
def test_limits_that_are_none_change_nothing(path, asked, words):
    with begin(path, max_cost=13) as experiment:
        with pytest.raises(InputError, match=words):
            experiment.extend(**asked)
        assert experiment.status()["limits"] == {"max_cost": 13.0, "max_pulls": None}


def test_what_has_ended_for_good_is_not_extended(path):
    with begin(path, max_cost=13) as experiment:
        experiment.end()
        with pytest.raises(InputError, match="nothing to extend: the experiment was ended by hand, for good"):
            experiment.extend(max_cost=20)
    with begin(path.with_name("stopped.caet")) as experiment:
        experiment.record_counts([(0, 0, 100), (1, 100, 100), (2, 0, 100)])
        words = "nothing to extend: the experiment has stopped with the answer small"
        with pytest.raises(InputError, match=words):
            experiment.extend(max_cost=20)


def test_a_limit_where_there_was_none_must_leave_room(path):
    """It would end the experiment at once, and limits are only raised."""
    with begin(path, max_pulls=4) as experiment:
        experiment.next(4)
        with pytest.raises(
            InputError, match="max_cost 1 leaves no room for the next pull, and there was no such limit"
        ):
            experiment.extend(max_cost=1)
        assert experiment.status()["limits"] == {"max_cost": None, "max_pulls": 4}
        experiment.extend(max_cost=1000)
        assert experiment.next() == ()


def test_what_was_lost_leaves_no_room_either(path):
    with begin(path) as experiment:
        experiment.release(experiment.next()[0].number, cost=20)
        with pytest.raises(InputError, match="max_cost 20 leaves no room for the next pull"):
            experiment.extend(max_cost=20)
        experiment.extend(max_cost=40)
        assert len(experiment.next()) == 1


def test_extend_says_whether_pulls_can_be_handed_out(path, capsys):
    with begin(path, max_pulls=4) as experiment:
        experiment.next(4)
    out = spoken(capsys, "extend", path, "--budget", "1000")
    assert "; 4 pulls, 0 spent so far; still no pull can be handed out: max_pulls 4 leaves no room" in out
    assert out.endswith("; raise max_pulls\n")
    assert spoken(capsys, "extend", path, "--max-pulls", "5").endswith(
        "4 pulls, 0 spent so far; pulls can be handed out\n"
    )


@pytest.mark.parametrize("cell", ["'x'", "-1.0", "1e999", "x'00'"])
def test_a_raised_limit_that_was_changed_is_told(path, cell):
    with begin(path, max_cost=13) as experiment:
        experiment.extend(max_cost=20)
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE raised SET max_cost = {cell}")
    db.close()
    with pytest.raises(InputError, match="max_cost"):
        LiveExperiment.open(path)
