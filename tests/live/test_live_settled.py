"""What was settled is kept with the outcome that settled it, and what speaks against it later is told."""

import json
import sqlite3
from contextlib import closing

import pytest

from caet_opt import InputError, LiveExperiment
from caet_opt.cli import main
from caet_opt.exploring import explorer
from caet_opt.live import status_text
from caet_opt.presenting.report import experiment_page


def start(path, task="control:old", **more):
    return LiveExperiment.start(path / "shop.caet", task, "bernoulli", arms=["old", "b", "c"], delta=0.1, **more)


def count(experiment, **arms):
    experiment.record_counts([(name, *numbers) for name, numbers in arms.items()])


def doubts(experiment):
    return [(one["statement"], one["contradicted"], one["reversed"]) for one in experiment.status()["open_again"]]


@pytest.fixture
def settled(tmp_path):
    """An experiment in which b > old is settled by outcome 210, and c is open."""
    with start(tmp_path) as experiment:
        count(experiment, old=(40, 100), b=(65, 100), c=(4, 10))
        assert experiment.status()["settled"] == ["b > old"]
        yield experiment


def test_what_is_settled_is_kept_with_its_outcome_whatever_comes_later(settled):
    at = settled.status()["settled_at"]
    assert [(one["statement"], one["outcome"]) for one in at] == [("b > old", 210)]
    assert doubts(settled) == []
    count(settled, b=(30, 60))
    assert doubts(settled) == [("b > old", False, False)]
    words = str(settled)
    assert "OPEN AGAIN: rewards recorded since leave in doubt b > old, settled at outcome 210, 20" in words
    assert "SETTLED" not in words
    assert status_text.DOUBT in words
    count(settled, b=(0, 160))
    assert doubts(settled) == [("b > old", True, False)]
    assert "WARNING: rewards recorded since contradict b > old, settled at outcome 210" in str(settled)
    count(settled, b=(0, 500))
    assert doubts(settled) == [("b > old", True, True)]
    assert "WARNING: rewards recorded since settle the opposite of b > old" in str(settled)
    assert "settle the opposite of b &gt; old" in experiment_page(settled)
    found = settled.status()
    assert found["settled_at"][0] == at[0]
    assert [(one["statement"], one["outcome"]) for one in found["settled_at"]] == [("b > old", 210), ("old > b", 930)]
    assert settled.verify() == []
    count(settled, b=(9000, 9000))
    assert doubts(settled) == [("old > b", True, True)]  # b > old is settled anew


def test_an_answer_that_later_outcomes_contradict_is_told(tmp_path):
    with start(tmp_path, "best-arm") as experiment:
        count(experiment, old=(1, 100), b=(90, 100), c=(1, 100))
        stop = experiment.status()["stopped"]
        assert (stop["answer"], doubts(experiment)) == ("b", [])
        count(experiment, old=(400, 400))
        assert doubts(experiment) == [("b > old", False, False)]
        count(experiment, old=(2000, 2000))
        assert doubts(experiment) == [("b > old", True, False)]
        assert f"contradict b > old, settled at outcome {stop['outcome']}, " in str(experiment)
        assert experiment.status()["stopped"]["answer"] == "b"
        assert experiment.verify() == []


def test_single_outcomes_are_looked_at_one_by_one(tmp_path):
    """One of many outcomes that are recorded at once settles a statement, and is told, though the last ones undo it."""
    with start(tmp_path, "above:0.5", policy="uniform") as experiment:
        told = [{"pull": pull.number, "arm": None, "reward": int(pull.number <= 60)} for pull in experiment.next(150)]
        experiment.record_many([{"pull": one["pull"], "reward": one["reward"]} for one in told])
        found = experiment.status()
        assert found["stopped"] is not None or found["settled_at"]
        assert {one["statement"] for one in found["open_again"]} >= {"old > 0.5", "b > 0.5", "c > 0.5"}
        assert all(one["outcome"] <= 60 for one in found["settled_at"] if one["statement"].endswith("> 0.5"))
        assert experiment.verify() == []


def test_an_outcome_does_not_go_through_all_answers(tmp_path, monkeypatch):
    """There are 2^9 of them; what is settled is what they give, which is for who looks."""
    arms = ["old", *"bcdefghij"]
    with LiveExperiment.start(tmp_path / "ten.caet", "control:old", "bernoulli", arms=arms, delta=0.1) as experiment:
        with monkeypatch.context() as patched:
            patched.setattr(explorer, "find_not_excluded", lambda *_: pytest.fail("all answers were gone through"))
            experiment.record_counts([(arm, 10 * place, 90) for place, arm in enumerate(arms)])
            experiment.record_many([{"arm": pull.arm, "reward": 1} for pull in experiment.next(3)])
            assert experiment.verify() == []
        status = experiment.status()
        assert 3 <= len(status["settled"]) <= 9
        assert status["settled"] == status["established"]


def test_record_says_it_at_once(settled, capsys):
    file = str(settled._store.path)
    assert main(["experiment", "record", file, "--counts", "b,0,120"]) == 0
    assert (
        "caet-opt: WARNING: rewards recorded since contradict b > old, settled at outcome 210"
        in capsys.readouterr().err
    )
    assert main(["experiment", "status", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["open_again"][0]["contradicted"]


def test_without_a_guarantee_none_is_claimed(tmp_path):
    with start(tmp_path, threshold="customary", unproven=True) as experiment:
        count(experiment, old=(10, 100), b=(65, 100), c=(4, 10))
        count(experiment, b=(0, 900))
        words = str(experiment)
    assert "WARNING: rewards recorded since" in words
    assert status_text.DOUBT not in words


def test_a_file_that_did_not_keep_it_is_read_and_continued(settled, tmp_path):
    """As files of before 0.6.0 are: what is settled now is kept from the next outcome on."""
    settled.close()
    with closing(sqlite3.connect(tmp_path / "shop.caet")) as db:
        db.execute("DROP TABLE settled")
        db.execute("UPDATE experiment SET version = '0.5.0', saved = replace(saved, '\"0.6.0\"', '\"0.5.0\"')")
        db.commit()
    with LiveExperiment.open(tmp_path / "shop.caet") as again:
        found = again.status()
        assert (found["settled"], found["settled_at"], found["open_again"]) == (["b > old"], [], [])
        assert again.verify() == []
        count(again, c=(1, 1))
        assert [one["outcome"] for one in again.status()["settled_at"]] == [211]
        assert again.verify() == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE settled SET position = 209", "settled: "),
        ("DELETE FROM settled", "settled: "),
    ],
)
def test_verify_compares_it_with_the_rows(settled, tmp_path, change, told):
    settled.close()
    with closing(sqlite3.connect(tmp_path / "shop.caet")) as db:
        db.execute(change)
        db.commit()
    with LiveExperiment.open(tmp_path / "shop.caet") as again:
        assert [difference[: len(told)] for difference in again.verify()] == [told]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE settled SET position = 1000",
        "UPDATE settled SET statement = 7",
        "UPDATE settled SET statement = '1 2 0 1'",
        "UPDATE outcomes SET recorded = 'x' WHERE position = 210",
        "INSERT INTO settled (statement, position) SELECT statement, position FROM settled",
    ],
)
def test_a_damaged_table_is_refused_in_one_line(settled, tmp_path, change):
    settled.close()
    with closing(sqlite3.connect(tmp_path / "shop.caet")) as db:
        db.execute(change)
        db.commit()
    with pytest.raises(InputError, match="damaged"), LiveExperiment.open(tmp_path / "shop.caet") as again:
        again.status()


def test_the_arms_of_the_task_are_named_wherever_it_is_told(settled, tmp_path, capsys):
    settled.close()
    assert "control:0 (better than old)" in experiment_page(settled)
    assert main(["experiment", "list", str(tmp_path)]) == 0
    assert "control:0 (better than old)" in capsys.readouterr().out
