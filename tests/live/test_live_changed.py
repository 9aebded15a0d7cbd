"""A live file that was changed by hand: nothing that can be computed is believed, and `verify` compares all of it."""

import json
import shutil
import sqlite3

import pytest

from caet_opt import InputError, LiveExperiment
from caet_opt.cli import main


def make_stopped(path):
    """Stopped, with one pull out, one withdrawn, one withdrawn whose outcome came after all, and one outcome late."""
    asked = {"arms": ["large", "small"], "costs": [3, 1], "delta": 0.2}
    with LiveExperiment.start(path, "best-arm", "bernoulli", **asked) as experiment:
        out = experiment.next(4)
        experiment.release(out[0].number, out[1].number)
        experiment.record(None, int(out[1].arm == 0), pull=out[1].number)
        while not experiment.stopped:
            (pull,) = experiment.next()
            experiment.record(None, int(pull.arm == 0), pull=pull.number)
        experiment.record(None, int(out[2].arm == 0), pull=out[2].number)
        assert experiment.status()["waiting"] == experiment.status()["withdrawn"] == 1
        assert experiment.verify() == []


def make_running(path):
    """Without a guarantee, with costs that are observed, a policy that draws, and the last pull out."""
    asked = {"arms": 3, "cost_source": "observed", "delta": 0.001, "threshold": "customary", "policy": "top-two"}
    with LiveExperiment.start(path, "best-arm", "bernoulli", unproven=True, seed=4, **asked) as experiment:
        for number in range(1, 13):
            (pull,) = experiment.next()
            experiment.record(None, number % 2, 0.5 + pull.arm, pull=pull.number)
        experiment.next()
        assert experiment.verify() == []


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """One of each, to be copied."""
    folder = tmp_path_factory.mktemp("originals")
    make_stopped(folder / "stopped")
    make_running(folder / "running")
    return folder


def change(path, statement):
    """Change a file as people do who have a shell."""
    connection = sqlite3.connect(path)
    assert connection.execute(statement).rowcount > 0
    connection.commit()
    connection.close()


def put(table, way, value):
    """A statement that sets something in the JSON of a table."""
    return f"UPDATE {table} SET saved = json_set(saved, '$.{way}', json('{json.dumps(value)}'))"


#: Each by itself is told by verify, or refused when the file is opened, in one line.
NOTICED = {
    "stopped": [
        "UPDATE experiment SET guaranteed = 0",
        "UPDATE experiment SET version = '0.0.1'",
        """UPDATE experiment SET names = '["large"]'""",
        """UPDATE experiment SET names = '["large", "large"]'""",
        """UPDATE experiment SET names = '["large", "small", "local"]'""",
        put("experiment", "log_inv_delta", 9.0),
        put("experiment", "costs", [3.0, 2.0]),
        put("experiment", "costs", None),
        put("experiment", "task", "ranking"),
        put("experiment", "family", "poisson"),
        put("experiment", "arms", 3),
        put("experiment", "seed", 5),
        put("experiment", "settings.tracking", "c"),
        put("experiment", "settings.rho", 9.0),
        put("experiment", "settings.max_cost", 9.0),
        put("experiment", "settings.max_pulls", 0),
        put("experiment", "settings.threshold", "mixture"),
        put("experiment", "threshold_values[0]", 1.0),
        put("experiment", "state.round", 1),
        put("experiment", "state.memory", [1.0, 0.0]),
        put("experiment", "format", "caet-opt experiment 99"),
        "UPDATE experiment SET saved = 'nothing'",
        "UPDATE experiment SET saved = (SELECT saved FROM checkpoint)",
        put("checkpoint", "log_inv_delta", 9.0),
        put("checkpoint", "costs", [3.0, 2.0]),
        put("checkpoint", "task", "ranking"),
        put("checkpoint", "family", "poisson"),
        put("checkpoint", "arms", 3),
        put("checkpoint", "seed", 5),
        put("checkpoint", "settings.tracking", "c"),
        put("checkpoint", "settings.policy", "uniform"),
        put("checkpoint", "settings.rho", 9.0),
        put("checkpoint", "settings.max_cost", 9.0),
        put("checkpoint", "settings.max_pulls", 9),
        put("checkpoint", "formula", "in other words"),
        put("checkpoint", "threshold_values[0]", 1.0),
        put("checkpoint", "compiled", True),
        put("checkpoint", "state.round", 1),
        put("checkpoint", "state.counts", [4, 4]),
        put("checkpoint", "state.reward_sums[0]", 0.0),
        put("checkpoint", "state.memory", [1.0, 1.0]),
        put("checkpoint", "target", [0.9, 0.1]),
        put("checkpoint", "target", None),
        put("checkpoint", "kept.solves", 1),
        put("checkpoint", "kept.numbers", [1, 1, 1, 1, 1]),
        put("checkpoint", "kept.means[0]", 0.5),
        put("checkpoint", "solution.effort[0]", 7.0),
        put("checkpoint", "solution.value", 7.0),
        "UPDATE checkpoint SET position = position - 1",
        "UPDATE checkpoint SET saved = (SELECT saved FROM experiment)",
        "UPDATE checkpoint SET saved = 'nothing'",
        "UPDATE pulls SET arm = 1 - arm WHERE number = 5",
        "UPDATE pulls SET arm = 2 WHERE number = 4",
        "UPDATE pulls SET arm = -1 WHERE number = 1",
        "UPDATE pulls SET arm = 'large' WHERE number = 1",
        "UPDATE pulls SET number = 1000 WHERE number = 4",
        "UPDATE pulls SET waiting = 0 WHERE number = 4",
        "UPDATE pulls SET waiting = 1 WHERE number = 1",
        "UPDATE pulls SET waiting = 1 WHERE number = 5",
        "UPDATE pulls SET waiting = 2 WHERE number = 4",
        "UPDATE pulls SET withdrawn = 1.0 WHERE number = 4",
        "UPDATE pulls SET withdrawn = NULL WHERE number = 1",
        "DELETE FROM pulls WHERE number = 1",
        "DELETE FROM pulls WHERE number = 5",
        "INSERT INTO pulls (number, arm, handed_out) VALUES (1000, 0, 1.0)",
        "UPDATE outcomes SET reward = 1 - reward WHERE position = 2",
        "UPDATE outcomes SET reward = 7 WHERE position = 2",
        "UPDATE outcomes SET reward = 'high' WHERE position = 2",
        "UPDATE outcomes SET cost = 7 WHERE position = 2",
        "UPDATE outcomes SET cost = -1 WHERE position = 2",
        "UPDATE outcomes SET pull = 4 WHERE position = 1",
        "UPDATE outcomes SET pull = 1000 WHERE position = 3",
        "UPDATE outcomes SET position = 1000 WHERE position = 2",
        "UPDATE outcomes SET position = 0 WHERE position = 1",
        "DELETE FROM outcomes WHERE position = 1",
        "DELETE FROM outcomes WHERE position = (SELECT max(position) FROM outcomes)",
        "INSERT INTO outcomes SELECT max(position) + 1, 4, 1, 1, 1 FROM outcomes",
        "UPDATE stop SET position = position - 1",
        "UPDATE stop SET position = position + 1",
        "UPDATE stop SET position = 1000",
        "UPDATE stop SET answer = '1'",
        "UPDATE stop SET cost = cost + 1",
        "UPDATE stop SET stopped = 1.0",
        "DELETE FROM stop",
    ],
    "running": [
        "UPDATE experiment SET guaranteed = 1",
        "UPDATE experiment SET guaranteed = 7",
        put("checkpoint", "state.cost_sums[1]", 0.25),
        put("checkpoint", "state.total_cost", 0.25),
        put("checkpoint", "seed", 5),
        "UPDATE outcomes SET cost = 7 WHERE position = 2",
        "UPDATE outcomes SET cost = -1 WHERE position = 2",
        "INSERT INTO stop VALUES (1, 12, 1e10, '0', 20)",
    ],
}

#: What cannot be noticed: nothing in the file follows from it, or all that does was changed, too.
UNNOTICED = {
    "stopped": [
        "UPDATE experiment SET started = started + 7",  # clocks are put right, so that times prove nothing
        "UPDATE pulls SET handed_out = handed_out + 7",
        "UPDATE pulls SET withdrawn = withdrawn + 7 WHERE number = 1",
        "UPDATE outcomes SET recorded = recorded - 7",
        "UPDATE stop SET stopped = stopped + 7",
        """UPDATE experiment SET names = '["small", "large"]'""",
        "UPDATE pulls SET withdrawn = 1.0 WHERE number = 5",  # as if its outcome had come after all
        "UPDATE pulls SET withdrawn = NULL WHERE number = 2",  # as if it had not been withdrawn before
        "UPDATE pulls SET arm = 1 - arm WHERE number = 4",  # which is out: as if the other had been asked for
        put("experiment", "formula", "in other words"),  # for people; nothing is read from it
        put("checkpoint", "version", "0.0.1"),  # another version's, of which nothing is used
        "UPDATE identity SET value = lower(hex(randomblob(16)))",  # as a backup has another
    ],
    "running": [
        "DELETE FROM pulls WHERE number = 13",  # the last one, out: as if it had not been handed out
        "UPDATE pulls SET arm = (arm + 1) % 3 WHERE number = 13",
    ],
}

CASES = [(which, statement) for which, statements in NOTICED.items() for statement in statements]
SILENT = [(which, statement) for which, statements in UNNOTICED.items() for statement in statements]


def find_out(path):
    """What is said of a file: differences, or why it cannot be opened."""
    try:
        with LiveExperiment.open(path) as experiment:
            return experiment.verify()
    except InputError as error:
        return [str(error)]


@pytest.mark.parametrize(("which", "statement"), CASES)
def test_a_change_by_hand_is_told_or_refused(originals, tmp_path, which, statement):
    shutil.copyfile(originals / which, tmp_path / "trial.caet")
    change(tmp_path / "trial.caet", statement)
    found = find_out(tmp_path / "trial.caet")
    assert found
    assert all("\n" not in line for line in found)


@pytest.mark.parametrize(("which", "statement"), SILENT)
def test_what_nothing_follows_from_cannot_be_noticed(originals, tmp_path, which, statement):
    shutil.copyfile(originals / which, tmp_path / "trial.caet")
    change(tmp_path / "trial.caet", statement)
    assert find_out(tmp_path / "trial.caet") == []


def test_every_table_and_column_is_among_them(originals):
    """Each column that there is, by a statement that changes it."""
    connection = sqlite3.connect(originals / "stopped")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {
        (table, name)
        for table in tables
        for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")
        if name != "id"  # which is 1, says the table
    }
    connection.close()
    changed = {(words[1], words[3]) for _, statement in CASES + SILENT if (words := statement.split())[0] == "UPDATE"}
    assert columns <= changed
    assert len(CASES) > 30


def test_a_guarantee_is_never_read_from_the_file(originals, tmp_path, capsys):
    path = tmp_path / "trial.caet"
    shutil.copyfile(originals / "running", path)
    change(path, "UPDATE experiment SET guaranteed = 1")
    with LiveExperiment.open(path) as experiment:
        assert experiment.status()["guaranteed"] is False
    assert main(["experiment", "status", str(path)]) == 0
    assert "NOT GUARANTEED" in capsys.readouterr().out
    assert main(["experiment", "status", str(path), "--verify"]) == 1
    assert "guaranteed: True stored, and threshold 'customary' is not proven" in capsys.readouterr().out


def test_another_delta_in_the_checkpoint_is_refused(originals, tmp_path, capsys):
    path = tmp_path / "trial.caet"
    shutil.copyfile(originals / "running", path)
    change(path, put("checkpoint", "log_inv_delta", 30.0))
    for argv in (["status"], ["status", "--verify"], ["next"]):
        assert main(["experiment", argv[0], str(path), *argv[1:]]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{path}: changed by hand: it was started with log_inv_delta = 6.9" in line


def test_a_consistent_change_is_another_experiment(originals, tmp_path):
    """Without a secret nobody can tell: everything that follows from another reward was changed, too."""
    path = tmp_path / "trial.caet"
    shutil.copyfile(originals / "running", path)
    change(path, "UPDATE outcomes SET reward = 1 - reward WHERE position = 2")
    change(path, "UPDATE checkpoint SET saved = 'nothing'")
    with LiveExperiment.open(path) as experiment:
        experiment.next()  # keeps a checkpoint of the changed rows
        assert experiment.verify() == []
