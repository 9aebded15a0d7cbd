"""What ``experiment export`` writes is read by every command that takes rows."""

import csv
import io
import sys

import pytest
from commands import expect_refusal, read_json, run_command

from caet_opt import LiveExperiment
from caet_opt.bandits.samples import read_sample_file
from caet_opt.common.rows import EXPORTED, csv_cell, is_exported

#: Commas, quotes, what a spreadsheet would run, apostrophes before it and elsewhere, and a number.
NAMES = ["a,b", 'say "x"', "=1+1", "'=1+1", "'tis", "@sum(a1)", "6"]


def begin(path, family="bounded:0,1", **more):
    return LiveExperiment.start(path, "best-arm", family, arms=NAMES, delta=1e-6, **more)


def verb(capsys, *argv):
    return run_command(capsys, "experiment", *argv)


def outcomes(path):
    with LiveExperiment.open(path) as experiment:
        return [(row["name"], row["reward"], row["cost"]) for row in experiment.export() if row["position"] is not None]


@pytest.fixture
def exported(tmp_path, capsys):
    """A file with outcomes of every arm, a pull that is out, and one that was withdrawn."""
    path, out = tmp_path / "one.caet", tmp_path / "one.csv"
    with begin(path) as experiment:
        for arm in range(7):
            (pull,) = experiment.next(arm=arm)
            experiment.record(arm, arm / 8, pull=pull.number)
        left = experiment.next(2)
        experiment.release(left[1].number)
    verb(capsys, "export", path, "--csv", out)
    return path, out


def test_another_experiment_records_them(exported, tmp_path, capsys):
    path, out = exported
    begin(tmp_path / "two.caet").close()
    assert verb(capsys, "record", tmp_path / "two.caet", "--counts", out).startswith("recorded: 7\n")
    assert outcomes(tmp_path / "two.caet") == outcomes(path)
    begin(tmp_path / "dear.caet", costs=[2] * 7).close()
    words = "the cost of arm 'a,b' is known to be 2; leave it out"
    expect_refusal(capsys, "experiment", "record", tmp_path / "dear.caet", "--counts", out, words=words)


def test_observed_costs_come_along(tmp_path, capsys):
    for name in ("one", "two"):
        begin(tmp_path / f"{name}.caet", cost_source="observed").close()
    with LiveExperiment.open(tmp_path / "one.caet") as experiment:
        experiment.record_assigned([{"arm": name, "reward": 0.3, "cost": 0.125} for name in NAMES])
    verb(capsys, "export", tmp_path / "one.caet", "--csv", tmp_path / "one.csv")
    verb(capsys, "record", tmp_path / "two.caet", "--counts", tmp_path / "one.csv")
    assert outcomes(tmp_path / "two.caet") == outcomes(tmp_path / "one.caet") == [(name, 0.3, 0.125) for name in NAMES]


def test_they_are_samples(exported, tmp_path, capsys):
    names, samples, _ = read_sample_file(exported[1])
    assert list(names) == NAMES
    assert [list(map(float, sample)) for sample in samples] == [[arm / 8] for arm in range(7)]
    argv = ["solve", "--samples", exported[1], "--family", "bounded:0,1", "--task", "best-arm", "--json"]
    assert read_json(run_command(capsys, *argv))["means"] == [arm / 8 for arm in range(7)]


def test_rewards_that_were_put_in_are_recorded_and_no_other_one(exported, tmp_path, capsys, monkeypatch):
    """As in a spreadsheet, in the rows of pulls that are out or were withdrawn."""
    path, out = exported
    before = outcomes(path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(out.read_text()))
    expect_refusal(capsys, "experiment", "record", path, words="every reward of the exported file is recorded already")
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    for row in rows:
        row["reward"] = row["reward"] or "1"
    told = io.StringIO()
    writer = csv.DictWriter(told, EXPORTED)
    writer.writeheader()
    writer.writerows(rows)
    monkeypatch.setattr(sys, "stdin", io.StringIO(told.getvalue()))
    assert verb(capsys, "record", path).startswith("recorded: 2\n")
    assert outcomes(path) == [*before, *((NAMES[int(row["arm"])], 1.0, 1.0) for row in rows[7:])]


def test_a_file_without_outcomes_is_refused(tmp_path, capsys):
    begin(tmp_path / "one.caet").close()
    verb(capsys, "export", tmp_path / "one.caet", "--csv", tmp_path / "one.csv")
    argv = ["experiment", "record", tmp_path / "one.caet", "--counts", tmp_path / "one.csv"]
    expect_refusal(capsys, *argv, words="one.csv: no pull in it has an outcome")


def test_columns_that_are_not_exported_ones_mean_what_they_did(tmp_path):
    """Somebody's name beside an arm is no name of an arm."""
    assert not is_exported(["arm", "reward", "name", "city"])
    assert not is_exported(["arm", "arm", "name", "reward"])
    file = tmp_path / "pilot.csv"
    file.write_text(f"arm,reward,name,city\n{csv_cell('=a')},0.5,ann,here\nb,1,bob,there\n", encoding="utf-8")
    assert read_sample_file(file)[0] == ("=a", "b")


@pytest.mark.parametrize("arms", [("A", "B"), ("0", "0")])
def test_names_that_are_not_those_of_arms_are_no_arms(arms, tmp_path, capsys):
    """With no other column they look like an exported experiment, which has the number of each arm beside its name."""
    file = tmp_path / "pilot.csv"
    file.write_text(
        "arm,name,reward\n" + "".join(f"{arms[k % 2]},{'ann' if k < 2 else 'bob'},0.{k}\n" for k in range(4))
    )
    argv = ["solve", "--samples", file, "--family", "bounded:0,1", "--task", "best-arm"]
    words = "the columns are those of an exported experiment, but arm"
    expect_refusal(capsys, *argv, words=words)
    begin(tmp_path / "one.caet").close()
    expect_refusal(capsys, "experiment", "record", tmp_path / "one.caet", "--counts", file, words=words)
