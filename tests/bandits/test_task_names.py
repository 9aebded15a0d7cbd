"""Arms by name in the grammar of tasks, whatever is in the names, at every door that knows them."""

from itertools import pairwise

import pytest
from call_counts import count_calls
from commands import expect_refusal, read_json, run_command

from caet_opt import BanditModel, Caet, LiveExperiment, characteristic_time, parse_task, simulate
from caet_opt.bandits.modelfile import ModelFile, read_model, write_model
from caet_opt.errors import InputError

MODELS = ["gpt-4-mini", "local", "gpt-4"]
CUTS = ["a", "a-b", "b-c", "c"]


@pytest.mark.parametrize(
    ("text", "names", "task"),
    [
        ("control:local", MODELS, "control:1"),
        ("control: local ", MODELS, "control:1"),
        ("control:gpt-4", MODELS, "control:2"),
        ("control:'gpt-4'", MODELS, "control:2"),
        ("control:2", MODELS, "control:2"),
        ("comparisons:gpt-4-mini-local", MODELS, "comparisons:0-1"),
        ("comparisons:gpt-4-gpt-4-mini,local-gpt-4", MODELS, "comparisons:2-0,1-2"),
        ("comparisons:0-local, 2-1", MODELS, "comparisons:0-1,2-1"),
        ("groups:local,gpt-4", MODELS, "groups:1,2"),
        ("groups:a,b,c/d,e", ["a,b", "c", "d", "e"], "groups:0,1/2,3"),
        ("groups:a/b,c", ["a/b", "c"], "groups:0,1"),
        ("control:2.4 GHz", ["2.4 GHz", "5 GHz"], "control:0"),
        ('comparisons:"a"-"b-c"', CUTS, "comparisons:0-2"),
        ('comparisons:a-b-"c"', CUTS, "comparisons:1-3"),
        ("control:10", ["10", "20"], "control:0"),
        ('control:"1"', ["1", "0"], "control:0"),
        ("top-arms:2", MODELS, "top-arms:2"),
        ("ranking", MODELS, "ranking"),
    ],
)
def test_names_are_read(text, names, task):
    assert parse_task(text, names) == parse_task(task)


@pytest.mark.parametrize(
    ("text", "names", "words"),
    [
        ("control:lcal", MODELS, "unknown arm 'lcal'; did you mean 'local'?"),
        ("groups:local,gpt", MODELS, "unknown arm 'gpt'; did you mean 'gpt-4'?"),
        ("groups:local,,gpt-4", MODELS, "unknown arm ''"),
        ("comparisons:gpt-4-lcal", MODELS, "write each pair as A-B, got 'gpt-4-lcal'; arms: gpt-4-mini, local, gpt-4"),
        ("comparisons:local", MODELS, "write each pair as A-B, got 'local'"),
        ("comparisons:local-gpt-4,", MODELS, "write each pair as A-B, got ''"),
        ("comparisons:a-b-c", CUTS, 'can be read as comparisons:"a"-"b-c" and as comparisons:"a-b"-"c"; write one'),
        ("control:1", ["1", "0"], 'can be read as control:"1" and as control:"0"'),
        ("control:" + "9" * 5000, MODELS, "unknown arm '9999"),
        ("comparisons:local-local", MODELS, "compares arm 1 with itself"),
    ],
)
def test_what_is_no_arm_or_two_is_said(text, names, words):
    with pytest.raises(InputError) as refusal:
        parse_task(text, names)
    assert words in str(refusal.value)


def test_ten_times_as_many_pairs_or_hyphens_take_ten_times_the_calls():
    def chain(arms):
        names = [f"arm-{arm}" for arm in range(arms)]
        task = parse_task("comparisons:" + ",".join(f"{a}-{b}" for a, b in pairwise(names)), names)
        assert task.compared[-1] == (arms - 2, arms - 1)

    def hyphens(length):
        with pytest.raises(InputError):
            parse_task("comparisons:" + "-" * length + "x", ["-", "--", "---"])

    for read in (chain, hyphens):
        (_, few), (_, many) = count_calls(read, 100), count_calls(read, 1000)
        assert many < 12 * few


def test_every_python_door_knows_the_names():
    model = BanditModel("gaussian", [3, 4, 2], costs=[1, 1, 2], arms=MODELS)
    for names, numbers in (("control:local", "control:1"), ("comparisons:gpt-4-gpt-4-mini", "comparisons:2-0")):
        assert characteristic_time(model, names).value == characteristic_time(model, numbers).value
    told, same = (
        simulate(model, task, delta=0.1, runs=2, workers=1, max_rounds=50) for task in ("control:local", "control:1")
    )
    assert told.records.equals(same.records)
    with LiveExperiment.start("x.caet", "control:local", "gaussian:1", arms=MODELS, delta=0.1) as experiment:
        assert experiment.status()["task"] == "control:1"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_command_knows_the_names(tmp_path, capsys):
    text = 'family = "gaussian"\nmeans = [3, 4, 2]\narms = ["gpt-4-mini", "local", "gpt-4"]\ntask = "{}"\n'
    (tmp_path / "m.toml").write_text(text.format("control:local"))
    (tmp_path / "n.toml").write_text(text.format("control:1"))
    assert read_model("m.toml") == read_model("n.toml")
    flags = ["--family", "gaussian", "--means", "3,4,2", "--arms", *MODELS]
    for argv in (["m.toml"], ["n.toml", "--task", "control:local"], [*flags, "--task", "control:local"]):
        assert read_json(run_command(capsys, "solve", *argv, "--json"))["task"] == "control:1"
    quick = ["--delta", "0.1", "--runs", "1", "--max-rounds", "20", "--workers", "1"]
    assert "control:1" in run_command(capsys, "simulate", *flags, "--task", "control:local", *quick)
    assert "control:1" in run_command(capsys, "thresholds", "n.toml", "--task", "control:local", "--delta", "0.1")
    start = ["experiment", "start", "x.caet", "--family", "bernoulli", "--arms", *MODELS, "--delta", "0.1"]
    run_command(capsys, *start, "--task", "comparisons:gpt-4-gpt-4-mini")
    assert read_json(run_command(capsys, "experiment", "status", "x.caet", "--json"))["task"] == "comparisons:2-0"
    expect_refusal(capsys, "solve", "m.toml", "--task", "control:lcal", words="did you mean 'local'?")


def test_a_model_whose_names_are_other_numbers_is_written_and_read_as_ever():
    entry = ModelFile(BanditModel("gaussian", [3, 4, 2], arms=["1", "2", "0"]), parse_task("comparisons:0-1"))
    write_model("m.toml", entry)
    assert read_model("m.toml") == entry


def test_an_explorer_has_no_names():
    with pytest.raises(InputError, match="arms are numbers counted from 0, got 'local'"):
        Caet.start("control:local", "gaussian", arms=3, delta=0.1)
