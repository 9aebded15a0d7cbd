"""Items of pulls and money that brought no outcome: kept in the file, for every process, and absent in older files."""

import sqlite3
from contextlib import closing

import pytest

from caet_opt import InputError, LiveExperiment
from caet_opt.cli import main
from caet_opt.live import contents

TOLD = {"arms": ["a", "b"], "cost_source": "observed", "delta": 0.05}


def start(path, **settings):
    return LiveExperiment.start(path, "best-arm", "bernoulli", **(TOLD | settings))


def ask(experiment, *items, **options):
    return experiment.next_item(lambda arm: items, "here", **options)


def test_an_item_is_used_once_also_by_others_and_after_a_restart(tmp_path):
    with start(tmp_path / "a.caet") as one, LiveExperiment.open(tmp_path / "a.caet") as other:
        first = ask(one, "q1", "q2")
        second = ask(other, "q1", "q2")
        assert (first.pull.number, second.pull.number, second.used) == (1, 2, ("q1",))
        one.record(None, 1, 0.5, pull=1)
    with LiveExperiment.open(tmp_path / "a.caet") as again:
        assert ask(again, "q1", "q2") == (None, 0, None, None, ("q1", "q2"), False)
        assert ask(again, "q1", "q2", "q3").pull.number == 3
        assert [(row["item"], row["arm"], row["out"]) for row in again.items()] == [
            ("q1", 0, False),
            ("q2", 1, True),
            ("q3", 0, True),
        ]
        assert again.verify() == []


def test_a_withdrawn_pull_gives_its_item_back(tmp_path):
    with start(tmp_path / "a.caet") as experiment:
        ask(experiment, "q1")
        experiment.release(1)
        assert ask(experiment, "q1").pull.number == 2
        experiment.release(2)
        experiment.record(None, 1, 0.5, pull=1)  # it came after all
        assert ask(experiment, "q1").used == ("q1",)


def test_shared_items_are_used_once_by_each_arm(tmp_path):
    with start(tmp_path / "a.caet") as experiment:
        pulls = [ask(experiment, "q1", shared=True).pull.arm for _ in range(2)]
        assert sorted(pulls) == [0, 1]
        assert ask(experiment, "q1", shared=True).used == ("q1",)


def test_it_says_why_nothing_is_handed_out(tmp_path):
    with start(tmp_path / "a.caet", max_pulls=1) as experiment:
        ask(experiment, "q1")
        assert ask(experiment, "q2") == ("ended: max_pulls", None, None, None, (), True)
        experiment.end()
        assert ask(experiment, "q2") == ("ended: by hand", None, None, None, (), False)


@pytest.mark.parametrize("known", [True, False])
def test_what_is_lost_is_spent(tmp_path, known):
    costs = {"costs": [0.1, 0.1], "cost_source": "known"} if known else {}
    with start(tmp_path / "a.caet", max_cost=0.3, **costs) as experiment:
        for _ in range(3):
            (pull,) = experiment.next()
            experiment.release(pull.number, cost=0.1)
        assert experiment.next() == ()
        status = experiment.status()
        assert status["spent"] == status["lost"] == sum(arm["spent"] for arm in status["arms"]) == pytest.approx(0.3)
        assert status["ended"]["reason"] == "max_cost"
        assert "spent 0.3, of which 0.3 on pulls without an outcome" in str(experiment).replace("0.30", "0.3")
        experiment.record(None, 1, None if known else 0.2, pull=1)  # it came after all, at its own cost
        assert experiment.status()["lost"] == pytest.approx(0.2)
        assert experiment.verify() == []
    for wrong in (-1, float("nan"), float("inf"), 1e308, "1", True):
        with pytest.raises(InputError, match="must be a number from 0"):
            experiment.release(1, cost=wrong)


def test_what_is_lost_is_found_without_a_look_at_every_pull(tmp_path):
    with start(tmp_path / "a.caet", costs=[1, 1], cost_source="known") as experiment:
        experiment.release(experiment.next()[0].number, cost=1)
        experiment.record_counts([("a", 10_000, 20_000), ("b", 10_000, 20_000)])
    steps = []
    with closing(sqlite3.connect(tmp_path / "a.caet")) as db:
        db.set_progress_handler(lambda: steps.append(1), 100)
        assert contents.read_lost(db, 2) == [(0, 1.0)]
    assert len(steps) < 100


def test_a_file_has_these_tables_only_once_they_are_needed(tmp_path):
    def tables():
        with closing(sqlite3.connect(tmp_path / "a.caet")) as db:
            return {name for (name,) in db.execute("SELECT name FROM sqlite_master")} & {"items", "lost"}

    with start(tmp_path / "a.caet") as experiment:
        pulls = experiment.next(2)
        experiment.release(pulls[0].number)
    assert tables() == set()
    with LiveExperiment.open(tmp_path / "a.caet") as experiment:
        assert experiment.items() == []
        ask(experiment, "q1")
        experiment.release(pulls[1].number, cost=1)
    assert tables() == {"items", "lost"}
    with LiveExperiment.open(tmp_path / "a.caet") as experiment:
        assert (len(experiment.items()), experiment.status()["lost"]) == (1, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE lost SET cost = -1", "what pull 1 cost is -1, not a number from 0"),
        ("UPDATE lost SET cost = 1e308", "what pull 1 cost is 1e\\+308, not a number from 0"),
        ("UPDATE lost SET cost = 'much'", "not a finite number"),
        ("UPDATE items SET run = x'00'", "not a text"),
        ("CREATE INDEX more ON items (run)", "its tables are not those"),
        ("ALTER TABLE lost ADD COLUMN more", "its tables are not those"),
    ],
)
def test_damage(tmp_path, change, words):
    with start(tmp_path / "a.caet") as experiment:
        ask(experiment, "q1")
        experiment.release(1, cost=1)
    with closing(sqlite3.connect(tmp_path / "a.caet")) as db:
        db.execute(change)
        db.commit()

    def look():
        with LiveExperiment.open(tmp_path / "a.caet") as experiment:
            experiment.status(), experiment.items()

    with pytest.raises(InputError, match=words):
        look()


def test_rows_of_no_pull_are_found(tmp_path):
    with start(tmp_path / "a.caet") as experiment:
        ask(experiment, "q1")
        experiment.release(1, cost=1)
    with closing(sqlite3.connect(tmp_path / "a.caet")) as db:
        db.execute("UPDATE items SET pull = 7")
        db.execute("UPDATE lost SET pull = 7")
        db.commit()
    with LiveExperiment.open(tmp_path / "a.caet") as experiment:
        assert experiment.verify() == [
            f"1 {table} are of pulls that were not handed out" for table in ("items", "lost")
        ]


def test_the_command_line_says_what_a_withdrawn_pull_cost(tmp_path, capsys):
    start(tmp_path / "a.caet").close()
    assert main(["experiment", "next", str(tmp_path / "a.caet")]) == 0
    assert main(["experiment", "release", str(tmp_path / "a.caet"), "1", "--cost", "2.5"]) == 0
    with LiveExperiment.open(tmp_path / "a.caet") as experiment:
        assert (experiment.status()["lost"], experiment.status()["withdrawn"]) == (2.5, 1)
    assert main(["experiment", "release", str(tmp_path / "a.caet"), "1", "--cost", "-1"]) == 2
    assert "must be a number from 0 to 1e+300, got -1" in capsys.readouterr().err
