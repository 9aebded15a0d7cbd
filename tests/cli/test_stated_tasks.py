"""Levels, margins, ratios and the lower mean on the command line: what is asked by flags or in a file, and shown."""

import json
from pathlib import Path

import pytest
from commands import run_command

from caet_opt import BanditModel, characteristic_table, characteristic_time
from caet_opt.bandits.tasks import parse_task
from caet_opt.cli.verify import write_command

ROOT = Path(__file__).resolve().parents[2]

#: Flags, T* as it was derived elsewhere, and what the answer states.
KNOWN = [
    (
        "--family bernoulli --means .2,.45,.7 --costs 1,2,.5 --arms a,b,c --task above:0.5",
        410.59657735948,
        ["a < 0.5", "b < 0.5", "c > 0.5"],
    ),
    (
        "--family bernoulli --means .80,.86 --costs .006,.03 --arms small,large --task control:large-0.1",
        9.7500401845439,
        ["small > large - 0.1"],
    ),
    (
        "--family exponential --means 2,1.2,.7 --costs 1,1,3 --task control:1+0.1",
        63.054247495882,
        ["0 > 1 + 0.1", "1 > 2 - 0.1"],
    ),
    (
        "--family poisson --means 7,5,4 --costs 1,2,1 --task control:0-1.5",
        277.17345972143,
        ["0 > 1 + 1.5", "0 > 2 + 1.5"],
    ),
]


@pytest.mark.parametrize(("flags", "time", "statements"), KNOWN, ids=[row[0].rpartition(" ")[2] for row in KNOWN])
def test_known_times_by_flags(capsys, flags, time, statements):
    record = json.loads(run_command(capsys, "solve", *flags.split(), "--json"))
    assert record["characteristic_time"] == pytest.approx(time, rel=1e-12)
    assert record["statements"] == record["binding_statements"] == statements
    assert len(record["statement_weights"]) == len(statements)
    arms = len(record["means"])
    assert len(record["sampling_proportions"]) == len(record["cost_proportions"]) == arms  # a level has no share
    text = run_command(capsys, "solve", *flags.split())
    assert all(f"{statement} (weight " in text for statement in statements)


def test_lower_is_better_turns_the_means_around(capsys):
    """Gaussian means with the opposite sign: the same T* for every task."""
    for task in ("best-arm", "ranking", "control:0+0.3", "comparisons:0-1-2,1-2+0.5", "top-arms:1"):
        flags = ["--family", "gaussian", "--costs", "1,2,3", "--task", task, "--json"]
        lower = json.loads(run_command(capsys, "solve", "--means", "3,4,2", "--lower-is-better", *flags))
        higher = json.loads(run_command(capsys, "solve", "--means", "-3,-4,-2", *flags))
        assert lower["characteristic_time"] == pytest.approx(higher["characteristic_time"], rel=1e-12)
        assert lower["task"] == f"{task} (lower is better)"
    gaps = ["--family", "gaussian", "--costs", "gaps", "--task", "best-arm", "--json"]
    assert json.loads(run_command(capsys, "solve", "--means", "3,4,2", "--lower-is-better", *gaps))["costs"] == [
        1,
        2,
        0,
    ]


def test_a_level_where_lower_is_better(capsys):
    flags = ["--family", "exponential", "--means", "20,40", "--arms", "new", "old", "--lower-is-better"]
    text = run_command(capsys, "solve", *flags, "--task", "above:30")
    assert "new < 30.0 (weight " in text
    assert "old > 30.0 (weight " in text


def test_the_task_of_a_file_is_replaced_in_its_own_words(capsys):
    model = ROOT / "models" / "latency-by-ratio.toml"
    assert "expected 1200.8" in run_command(capsys, "solve", model, "--task", "control:none*1.2")  # it is the file's
    text = run_command(capsys, "solve", model, "--task", "control:on disk+5")
    assert "task control:2+5 (lower is better)" in text
    assert "on disk > in memory + 5 (weight " in text
    assert "expected" not in text


def test_tables_name_tasks_and_statements(capsys, tmp_path):
    names = ["on-time", "dose-finding", "latency-by-ratio", "non-inferior-model"]
    chosen = ["--columns", "model,task,binding_statements,u*"]
    text = run_command(capsys, "table", *names, *chosen)
    for words in ("above 0.9", "cheapest above 0.3", "below none / 1.2", "above large - 0.02"):
        assert words in text
    assert "none > 1.2 * in memory, 1.2 * on disk > none, 1.2 * remote > none" in text
    assert "10 mg < 0.3, 25 mg < 0.3, 50 mg > 0.3" in text
    assert "10 mg $<$ 0.3" in run_command(capsys, "table", *names, *chosen, "--format", "latex")
    assert r"10 mg \< 0.3" in run_command(capsys, "table", *names, *chosen, "--format", "markdown")
    rows = json.loads(run_command(capsys, "table", *names, *chosen, "--format", "json"))["rows"]
    assert rows[1]["binding_statements"] == ["10 mg < 0.3", "25 mg < 0.3", "50 mg > 0.3"]
    assert [len(row["sampling_proportions"]) for row in rows] == [4, 5, 4, 3]


def test_blind_to_costs_the_question_stays_the_same():
    """For unit costs arm 0 would be the cheapest, and its statement the only one."""
    model = BanditModel("gaussian", [3, 2, 4], costs=[5, 1, 2])
    (row,) = characteristic_table([(model, "cheapest:control:1+0.5")]).to_dict("records")
    asked = [parse_task("comparisons:2-1+0.5"), parse_task("cheapest:control:1+0.5")]
    assert row["characteristic_time"] == pytest.approx(characteristic_time(model, asked[0]).value, rel=1e-9)
    assert characteristic_time(model, asked[1]).statements == characteristic_time(model, asked[0]).statements
    blind = characteristic_time(BanditModel("gaussian", [3, 2, 4]), asked[0]).sampling_proportions
    assert row["cost_blind_proportions"] == pytest.approx(blind.tolist(), abs=1e-7)
    assert row["cost_blind_ratio"] > 1.01


def test_a_pair_of_model_and_task_in_a_table_is_told_which_mean_is_better():
    model = BanditModel("exponential", [20, 40], arms=["new", "old"], lower_is_better=True)
    (row,) = characteristic_table([(model, "best-arm")]).to_dict("records")
    assert row["task"] == "best-arm (lower is better)"
    assert row["binding_statements"] == ["old > new"]


def test_a_failed_instance_is_shown_as_a_command_that_solves_it(capsys):
    model = BanditModel("exponential", [2, 3], costs=[1, 2], lower_is_better=True)
    task = parse_task("control:0*1.2", lower_is_better=True)
    line = write_command(model, task)
    assert line.endswith("--task 'control:0*1.2' --lower-is-better")
    argv = [word.strip("'") for word in line.split()[1:]]
    record = json.loads(run_command(capsys, *argv, "--json"))
    assert record["characteristic_time"] == pytest.approx(characteristic_time(model, task).value, rel=1e-12)
    assert record["task"] == str(task)
