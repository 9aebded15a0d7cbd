"""``caet-opt experiment``: the verbs, what they print, and how they refuse."""

import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from commands import expect_refusal, read_json, run_command, said

from caet_opt import LiveExperiment
from caet_opt.cli import experiment as command
from caet_opt.cli import main
from caet_opt.errors import InputError

START = ["--task", "best-arm", "--family", "bernoulli", "--delta", "0.05"]
ARMS = ["--arms", "large,small,local", "--costs", "3,5,1"]


@pytest.fixture
def file(tmp_path):
    """A new experiment, of which three pulls are out."""
    path = tmp_path / "trial.caet"
    names = ["large", "small", "local"]
    with LiveExperiment.start(path, "best-arm", "bernoulli", arms=names, costs=[3, 5, 1], delta=0.05) as experiment:
        experiment.next(3)
    return path


def verb(capsys, *argv, status=0):
    return run_command(capsys, "experiment", *argv, status=status)


def feed(monkeypatch, text):
    """Have a text on standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def contents(path):
    """Everything in the tables."""
    connection = sqlite3.connect(path)
    found = list(connection.iterdump())
    connection.close()
    return found


def test_a_budget_is_the_most_that_it_may_cost(tmp_path, capsys):
    asked = ["--task", "best-arm~0.05", "--family", "bounded:0,1", "--arms", "a,b", "--costs", "1,3", "--delta", "0.05"]
    verb(capsys, "start", tmp_path / "few.caet", *asked, "--budget", "4")
    assert "limits: max_cost 4\n" in verb(capsys, "status", tmp_path / "few.caet")
    said = main(["experiment", "next", str(tmp_path / "few.caet"), "--pulls", "3"])
    out, err = capsys.readouterr()
    assert (said, out, err) == (0, "pull 1: a\npull 2: b\n", "caet-opt: 2 of 3: max_cost 4 leaves no room for more\n")


def test_the_limit_on_the_cost_is_given_by_one_of_its_names(file, tmp_path, capsys):
    words = "give --max-cost or --budget, not both: they are two names of one limit"
    both = ["--budget", "3", "--max-cost", "5"]
    expect_refusal(capsys, "experiment", "start", tmp_path / "few.caet", *START, *ARMS, *both, words=words)
    expect_refusal(capsys, "experiment", "extend", file, *both, words=words)
    assert not (tmp_path / "few.caet").exists()


def test_arms_without_an_observed_cost_are_named(tmp_path, capsys):
    path = tmp_path / "calls.caet"
    said = verb(capsys, "start", path, *START, "--arms", "a,b,c", "--cost-source", "observed")
    assert "costs are observed: record what each pull cost with its outcome, by --cost or in a column cost" in said
    assert "\ncosts: none observed yet of a, b, c\n" in verb(capsys, "status", path)
    verb(capsys, "next", path, "--pulls", "3")
    words = "that of arm 'a' is missing; give what the pull cost (--cost, or a column cost), and 0 only if it was free"
    expect_refusal(capsys, "experiment", "record", path, "a", "1", words=words)
    verb(capsys, "record", path, "a", "1", "--cost", "2")
    verb(capsys, "record", path, "b", "1", "--cost", "0")
    told = "none observed yet of c; zero with every outcome of b, which is right only if that is free"
    assert f"\ncosts: {told}\n" in verb(capsys, "status", path)
    assert read_json(verb(capsys, "status", path, "--json"))["costs_missing"] == {"none": ["c"], "zero": ["b"]}
    verb(capsys, "record", path, "c", "1", "--cost", "1")
    verb(capsys, "next", path, "--arm", "b")
    verb(capsys, "record", path, "b", "1", "--cost", "1")
    assert "costs:" not in verb(capsys, "status", path)


def test_a_wrong_number_is_told_as_it_was_typed(tmp_path, file, capsys):
    argv = ["start", tmp_path / "x.caet", *START, *ARMS]
    expect_refusal(capsys, "experiment", *argv, "--max-cost", "0", words="--max-cost must be positive, got 0\n")
    expect_refusal(
        capsys, "experiment", "extend", file, "--max-cost", "-2", words="--max-cost must be positive, got -2\n"
    )
    expect_refusal(capsys, "experiment", "status", file, "--level", "1", words="as 0.95, got 1\n")


@pytest.mark.parametrize("verb", command.VERBS)
def test_help_has_examples_and_short_lines_and_everyday_options_first(verb, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["experiment", verb, "--help"]) == 0
    text = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, text.splitlines())) <= 120
    assert f"  caet-opt experiment {verb} " in text
    if verb == "start":
        titles = [
            "options:",
            "--task T ",
            "--delta D ",
            "what it costs:",
            "--budget X ",
            "the algorithm:",
            "for experts:",
        ]
        places = [text.index(f"\n{title}" if title.endswith(":") else f"\n  {title}") for title in titles]
        assert places == sorted(places)
        assert text.index("\n  --rho X") > places[-1]


def test_a_closed_or_unreadable_standard_input_is_refused_in_one_line(file, tmp_path):
    code = "import sys; from caet_opt.cli import main; sys.exit(main(sys.argv[1:]))"
    (tmp_path / "empty").touch()
    for how, words in (("<&-", "which is closed"), (f"0>{tmp_path}/empty", "standard input cannot be read (Bad file")):
        line = f'"{sys.executable}" -c "{code}" experiment record "{file}" {how}'
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr
        assert done.stderr.startswith("caet-opt: error: ")
        assert done.stderr.count("\n") == 1


def test_a_whole_experiment(tmp_path, capsys, monkeypatch):
    path = tmp_path / "trial.caet"
    said = verb(capsys, "start", path, *START, "--arms", "large", "small", "--costs", "3,5", "--policy", "uniform")
    assert "guaranteed for independent Bernoulli rewards: wrong with probability at most 0.05" in said
    assert verb(capsys, "next", path, "--pulls", "2") == "pull 1: large\npull 2: small\n"
    assert verb(capsys, "record", path, "large", "1") == "recorded: 1\n"
    assert verb(capsys, "record", path, "0", "--pull", "2") == "recorded: 1\n"
    assert "leading: large" in verb(capsys, "status", path)
    while not (found := read_json(verb(capsys, "next", path, "--pulls", "4", "--json")))["stopped"]:
        assert found["answer"] is None
        rows = [f"{pull['number']},{pull['name']},{1 - pull['arm']}" for pull in found["pulls"]]
        feed(monkeypatch, "\n".join(["pull,arm,reward", *rows]))
        said = verb(capsys, "record", path)
    assert said == "recorded: 4; the experiment has stopped with the answer large\n"
    assert found == {"pulls": [], "stopped": True, "answer": "large", "ended": None, "limit": None}
    assert verb(capsys, "next", path) == "nothing to pull: the experiment has stopped with the answer large\n"
    said = verb(capsys, "status", path)
    assert "STOPPED: large, at outcome" in said
    assert said.count("guaranteed for independent Bernoulli rewards: wrong with probability at most 0.05") == 2
    assert "verified, its state follows from its" in verb(capsys, "status", path, "--verify")


def test_the_status_for_machines_is_that_of_python(file, capsys):
    verb(capsys, "record", file, "large", "1")
    status = read_json(verb(capsys, "status", file, "--json", "--level", "0.9"))
    assert status == json.loads(json.dumps(LiveExperiment.open(file).status(0.9)))
    assert (status["level"], status["recorded"], status["waiting"]) == (0.9, 1, 2)


def test_arms_by_name_and_by_number(file, capsys):
    verb(capsys, "record", file, "1", "1")
    verb(capsys, "record", file, "local", "0")
    assert verb(capsys, "next", file, "--arm", "2") == "pull 4: local\n"
    rows = list(csv.DictReader(io.StringIO(verb(capsys, "export", file, "--csv"))))
    assert [(row["pull"], row["name"], row["reward"]) for row in rows] == [
        ("1", "large", ""),
        ("2", "small", "1.0"),
        ("3", "local", "0.0"),
        ("4", "local", ""),
    ]


def test_names_of_arms_in_a_task(tmp_path, capsys):
    for task, expected in (("control:local", "control:2"), ("comparisons:large-local,1-2", "comparisons:0-2,1-2")):
        path = tmp_path / f"{expected[:7]}.caet"
        verb(capsys, "start", path, *START[2:], *ARMS, "--task", task)
        assert read_json(verb(capsys, "status", path, "--json"))["task"] == expected


def test_arms_can_be_counted(tmp_path, capsys):
    verb(capsys, "start", tmp_path / "a", *START, "--arms", "2", "--costs", "1,2")
    assert verb(capsys, "next", tmp_path / "a", "--pulls", "2") == "pull 1: 0\npull 2: 1\n"


def test_observed_costs(tmp_path, capsys, monkeypatch):
    path = tmp_path / "trial.caet"
    verb(capsys, "start", path, *START, "--arms", "a,b", "--cost-source", "observed")
    verb(capsys, "next", path, "--pulls", "2")
    verb(capsys, "record", path, "a", "1", "--cost", "2.5")
    feed(monkeypatch, "arm,reward,cost\nb,0,0.5\n")
    verb(capsys, "record", path)
    assert read_json(verb(capsys, "status", path, "--json"))["spent"] == 3


@pytest.mark.parametrize(
    ("costs", "ignored"),
    [((0.002, 0.0005), ["a", "b"]), ((0.002, 0.5), ["a"]), ((0.002, 0), ["a"]), ((0.5, 0.5), []), ((0, 0), [])],
)
def test_prices_that_count_as_nothing_are_said(tmp_path, capsys, costs, ignored):
    """Dollars of a call, with the gamma0 that suits costs around one: which arms, and what to start with instead."""
    path = tmp_path / "trial.caet"
    main(["experiment", "start", str(path), *START, "--arms", "a,b", "--cost-source", "observed"])
    main(["experiment", "next", str(path), "--pulls", "2"])
    for arm, cost in zip("ab", costs, strict=True):
        main(["experiment", "record", str(path), arm, "1", "--cost", str(cost)])
    warned = said(capsys.readouterr().err)
    text = verb(capsys, "status", path)
    found = read_json(verb(capsys, "status", path, "--json"))["costs_ignored"]
    if not ignored:
        assert (found, warned) == (None, [])
        assert "WARNING" not in text
        return
    assert found["arms"] == ignored
    assert found["up_to"] == pytest.approx(0.0896, abs=1e-4)
    line = f"the policy treats the costs of {', '.join(ignored)} as zero"
    assert line in warned[-1]
    assert warned[-1].endswith(f"start a new experiment with --gamma0 {found['gamma0']:g}")
    assert f"WARNING: {line}" in text


def test_the_gamma0_that_is_suggested_has_costs_weighed(tmp_path):
    told = {"arms": 2, "cost_source": "observed", "delta": 0.05}
    for gamma0, ignored in ((0.1, True), (1e-5, False)):
        path = tmp_path / f"{gamma0}.caet"
        with LiveExperiment.start(path, "best-arm", "bernoulli", **told, gamma0=gamma0) as experiment:
            for pull, cost in zip(experiment.next(2), (0.0004, 0.02), strict=True):
                experiment.record(pull.arm, 1, cost, pull=pull.number)
            found = experiment.summary()["costs_ignored"]
            assert (found is not None) == ignored
            assert found is None or found["gamma0"] == pytest.approx(1e-5)


def test_a_pull_is_withdrawn(file, capsys):
    assert verb(capsys, "release", file, "1", "3") == "withdrawn: 2\n"
    assert "0 outcomes, 1 pull out, 2 withdrawn" in verb(capsys, "status", file)


def test_a_folder_is_listed(file, capsys):
    (file.parent / "notes.txt").write_text("none")
    said = verb(capsys, "list", file.parent)
    assert said.splitlines()[1].split() == ["trial.caet", "best-arm", "0", "3", "0", "-", "running"]
    assert [record["file"] for record in read_json(verb(capsys, "list", file.parent, "--json"))] == ["trial.caet"]
    assert verb(capsys, "list", file.parent.parent / file.parent.name / "..").endswith("no experiment\n")


def test_a_leading_answer_is_not_listed_as_the_answer(file, capsys):
    with LiveExperiment.open(file) as experiment:
        for row in experiment.export():
            experiment.record(None, int(row["arm"] == 0), pull=row["pull"])
    assert f" leading: {experiment.status()['answer']}  running" in verb(capsys, "list", file.parent)


def test_an_export_goes_to_a_file(file, capsys):
    out = file.parent / "pulls.csv"
    verb(capsys, "export", file, "--csv", out)
    assert out.read_text() == verb(capsys, "export", file)


def test_a_copy_is_made_once(file, capsys):
    copy = file.with_name("copy.caet")
    assert verb(capsys, "backup", file, copy) == f"{copy}: a copy of {file}\n"
    assert verb(capsys, "status", copy, "--json").replace("copy.caet", "trial.caet") == verb(
        capsys, "status", file, "--json"
    )
    expect_refusal(capsys, "experiment", "backup", file, copy, words="there is a file already")


def test_an_experiment_is_started_if_it_is_missing(tmp_path, capsys):
    path = tmp_path / "trial.caet"
    assert f"{path}: started; " in verb(capsys, "start", path, *START, *ARMS, "--if-missing")
    assert f"{path}: continued, with 0 outcomes so far; " in verb(capsys, "start", path, *START, *ARMS, "--if-missing")
    words = "another experiment is in it: its list of costs is 3, 5, 1, not 3, 5, 2"
    argv = [*START, *ARMS[:2], "--costs", "3,5,2", "--if-missing"]
    expect_refusal(capsys, "experiment", "start", path, *argv, words=words)
    expect_refusal(capsys, "experiment", "start", path, *START, *ARMS, words="continue the experiment in it with --if-")


def test_names_that_spreadsheets_would_run_are_texts_and_come_back(tmp_path, capsys, monkeypatch):
    path, names = tmp_path / "trial.caet", ["=1+1", "'=1+1", "@sum(a1)", "-2", "-x", "'tis", "a,b"]
    LiveExperiment.start(path, "best-arm", "bernoulli", arms=names, costs=[1] * 7, delta=0.05).close()
    verb(capsys, "next", path, "--pulls", "7")
    rows = list(csv.DictReader(io.StringIO(verb(capsys, "export", path))))
    cells = [row["name"] for row in rows]
    assert cells == ["'=1+1", "''=1+1", "'@sum(a1)", "-2", "'-x", "'tis", "a,b"]
    told = io.StringIO()
    csv.writer(told).writerows([("arm", "reward"), *((cell, 1) for cell in cells)])
    feed(monkeypatch, told.getvalue())
    assert verb(capsys, "record", path) == "recorded: 7\n"
    assert [row["reward"] for row in csv.DictReader(io.StringIO(verb(capsys, "export", path)))] == ["1.0"] * 7


def test_names_of_files_reach_no_terminal_as_they_are(tmp_path, capsys):
    folder = tmp_path / "a"
    folder.mkdir()
    path = folder / "x\x1b[2J\ny\u202e.caet"
    LiveExperiment.start(path, "best-arm", "bernoulli", arms=2, costs=[1, 2], delta=0.05).close()
    said = verb(capsys, "list", folder)
    assert said.splitlines()[1].startswith(r"x\x1b[2J y\u202e.caet")
    err = expect_refusal(capsys, "experiment", "next", f"{path}x")
    assert r"x\x1b[2J y\u202e.caetx: no such file" in err


def test_a_watch_says_which_pulls_it_waits_for_after_the_end(file, capsys, monkeypatch):
    live = LiveExperiment.open(file)
    live.end()

    def others(_):
        (row, *_) = live.status()["out"]
        live.record(None, 1, pull=row["pull"])

    monkeypatch.setattr(command.time, "sleep", others)
    looks = verb(capsys, "status", file, "--watch").split("best-arm of ")[1:]
    ends = [look.split("\n")[-2 - (number < 3) :][0] for number, look in enumerate(looks)]
    assert ends[0] == "waiting for pulls 1, 2, 3: record or release them, or press Ctrl-C"
    assert ends[2] == "waiting for pull 3: record or release them, or press Ctrl-C"
    assert "waiting" not in looks[3]
    assert len(looks) == 4


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("start {}2 TASK --arms a,b", "{}2 has the change"),
        ("next {}", "{} has the change"),
        ("record {} large 1", "{} has the change"),
        ("record {} --counts small,1,20", "{} has the change"),
        ("release {} 1", "{} has the change"),
        ("extend {} --max-cost 100", "{} has the change"),
        ("stop {}", "{} has the change"),
        ("backup {} {}3", "{}3 is made"),
        ("status {}", ""),
        ("list .", ""),
    ],
)
def test_a_change_is_told_though_the_output_cannot_be_written(file, capsys, monkeypatch, words, what):
    argv = [word.replace("{}", str(file)) for word in words.replace("TASK", " ".join(START)).split()]
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["experiment", *argv]) == 1
    done = what.replace("{}", str(file))
    hint = f"; {done}, so do not repeat the command; see caet-opt experiment status {done.split()[0]}" if what else ""
    assert said(capsys.readouterr().err) == [
        f"caet-opt: error: cannot write the output (No space left on device){hint}"
    ]


def test_the_limit_that_leaves_no_room_is_told(file, tmp_path, capsys):
    path = tmp_path / "few.caet"
    verb(capsys, "start", path, *START, "--arms", "a,b", "--max-pulls", "4", "--budget", "100")
    found = read_json(verb(capsys, "next", path, "--pulls", "2", "--json"))
    assert (len(found["pulls"]), found["ended"], found["limit"]) == (2, None, None)
    assert main(["experiment", "next", str(path), "--pulls", "9", "--json"]) == 0
    out, err = capsys.readouterr()
    assert (len(read_json(out)["pulls"]), read_json(out)["limit"]) == (2, "max_pulls")
    assert err == "caet-opt: 2 of 9: max_pulls 4 leaves no room for more\n"


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (["--budget", "8"], "max_cost 8: one pull of each arm costs 9, and there is no answer before every arm has an"),
        (["--max-pulls", "2"], "max_pulls 2: fewer pulls than arms, and there is no answer before every arm has an"),
        (["--budget", "9", "--max-pulls", "3"], ""),
    ],
)
def test_a_limit_that_leaves_out_an_arm_is_told(tmp_path, capsys, limit, words):
    assert main(["experiment", "start", str(tmp_path / "few.caet"), *START, *ARMS, *limit]) == 0
    lines = said(capsys.readouterr().err)
    assert len(lines) == bool(words)
    assert all(line.startswith(f"caet-opt: warning: {words}") for line in lines)


@pytest.mark.parametrize("arms", [["old, new york ,b"], ["old,", "new york", ",b"], ["old", "new york", "b"]])
def test_the_arms_are_told_in_their_order_with_their_costs(tmp_path, capsys, arms):
    costs = ["--costs", "1,0.25", "1000000"]
    lines = verb(capsys, "start", tmp_path / "x.caet", *START, "--arms", *arms, *costs).splitlines()
    assert lines[0] == "arms: old (1), new york (0.25), b (1000000)"
    assert lines[-1].startswith(f"{tmp_path / 'x.caet'}: started; ")
    lines = verb(capsys, "start", tmp_path / "y.caet", *START, "--arms", "60", "--cost-source", "gaps").splitlines()
    assert lines[0] == f"arms: {', '.join(map(str, range(50)))} and 10 more"


@pytest.mark.parametrize(
    ("task", "arms", "answer"),
    [
        ("above:0.5", "a,b,c", "none (a < 0.5, b < 0.5, c < 0.5)"),
        ("above:0.5 (lower is better)", "a,b", "a, b (a < 0.5, b < 0.5)"),
        ("above:0.5", "one", "none (one < 0.5)"),
        ("best-arm", "a,b", None),
    ],
)
def test_an_answer_about_a_level_says_what_it_asserts(tmp_path, capsys, task, arms, answer):
    path, names = tmp_path / "x.caet", arms.split(",")
    lower = ["--lower-is-better"] if "lower" in task else []
    verb(capsys, "start", path, *START[2:], "--task", task.split()[0], "--arms", arms, *lower)
    few = [word for name in names for word in ("--counts", f"{name},{3 * (name == 'b' and answer is None)},4")]
    verb(capsys, "record", path, *few)
    plain = answer.partition(" (")[0] if answer else "b"
    assert f"\nleading: {answer or 'b'}\n" in verb(capsys, "status", path)
    many = [word for name in names for word in ("--counts", f"{name},{90 * (name == 'b' and answer is None)},90")]
    stopped = f"the experiment has stopped with the answer {answer or 'b'}\n"
    assert verb(capsys, "record", path, *many).partition("; ")[2].startswith(stopped)
    assert verb(capsys, "next", path) == f"nothing to pull: {stopped}"
    assert stopped in verb(capsys, "stop", path)
    assert f"STOPPED: {answer or 'b'}, at outcome" in verb(capsys, "status", path)
    found = read_json(verb(capsys, "status", path, "--json"))
    assert found["answer"] == found["stopped"]["answer"] == plain
    asserted = answer and answer.partition(" (")[2].rstrip(")").split(", ")
    assert found["asserts"] == asserted


def test_pulls_that_are_out_have_the_names_of_their_arms(file):
    with LiveExperiment.open(file) as experiment:
        assert [row["name"] for row in experiment.status()["out"]] == ["large", "small", "local"]


def test_a_reward_above_the_range_may_have_been_cut_off(tmp_path, capsys):
    path = tmp_path / "i.caet"
    verb(capsys, "start", path, *START[:2], "--family", "bounded:0,30", "--delta", "0.1", "--arms", "a,b")
    verb(capsys, "next", path)
    words = "; if it was cut off at the limit, record 30\n"
    expect_refusal(capsys, "experiment", "record", path, "a", "31", words=words)
    assert "cut off" not in expect_refusal(capsys, "experiment", "record", path, "a", "-1")


def test_what_is_no_outcome_in_python_is_refused_in_one_line(file):
    calls = {
        "outcome 1: an outcome must be a dict, as {'arm': 'large', 'reward': 1}, got 1": [1, 2],
        "an outcome must be a dict, as {'arm': 'large', 'reward': 1}, got 'arm'; give a data frame as": ["arm"],
        "outcomes must be a list, got 7": 7,
        "the reward of pull 1 (arm 'large') must be a finite number, got nan": [{"pull": 1, "reward": float("nan")}],
    }
    with LiveExperiment.open(file) as experiment:
        for words, told in calls.items():
            with pytest.raises(InputError, match=re.escape(words)):
                experiment.record_many(told)
        with pytest.raises(InputError, match="an outcome must be a dict"):
            experiment.record_assigned([1])


def test_a_cost_below_zero_names_its_arm(tmp_path):
    asked = {"arms": ["a", "b"], "delta": 0.1, "cost_source": "observed"}
    with LiveExperiment.start(tmp_path / "c.caet", "best-arm", "bernoulli", **asked) as experiment:
        experiment.next()
        with pytest.raises(InputError, match=r"^the cost of arm 'a' must be zero or more, got -1$"):
            experiment.record("a", 1, cost=-1)


def test_a_watch_ends_when_the_experiment_does(file, capsys, monkeypatch):
    """Between two looks others go on."""
    live = LiveExperiment.open(file)
    for number in (1, 2, 3):
        live.record(None, 1 if number == 1 else 0, pull=number)

    def others(_):
        for pull in live.next(8):
            live.record(pull.arm, 1 if pull.arm == 0 else 0, pull=pull.number)

    monkeypatch.setattr(command.time, "sleep", others)
    looks = verb(capsys, "status", file, "--watch").split("best-arm of ")[1:]
    assert len(looks) > 2
    assert all("leading: large" in look for look in looks[:-1])
    assert "STOPPED: large" in looks[-1]


def test_a_file_that_was_changed_fails_its_check(file, capsys):
    verb(capsys, "record", file, "large", "1")
    connection = sqlite3.connect(file)
    connection.execute("UPDATE outcomes SET reward = 0")
    connection.commit()
    connection.close()
    assert "differs: reward_sums" in verb(capsys, "status", file, "--verify", status=1)


#: Words after ``experiment`` (the file in braces), what is on standard input, and a part of the message.
BAD = [
    ("", None, "no verb given; use one of: start, next"),
    ("nxt {}", None, "invalid choice: 'nxt'"),
    ("next", None, "required: FILE"),
    ("next {}x", None, "no such file; caet-opt experiment start makes one"),
    ("next {} --pulls 0", None, "must be a positive whole number, got '0'"),
    ("next {} --pulls 1000000", None, "pulls must be at most 10000, got 1000000; hand out up to 10000 at a time"),
    ("next {} --arm huge", None, "unknown arm 'huge'"),
    ("next {} --wait -1", None, "--wait must be a number of seconds"),
    ("record {} lrge 1", None, "unknown arm 'lrge'; did you mean 'large'?"),
    ("record {} 3 1", None, "unknown arm '3'"),
    ("record {} large 2", None, "reward 2 is outside the bernoulli family"),
    ("record {} large 0.5", None, "start with family bounded:0,1, or with fractions (--fractions)"),
    ("record {} large nan", None, "REWARD must be a number, got 'nan'"),
    ("record {} large 1_0", None, "REWARD must be a number, got '1_0': numbers are written as 12.5 or 1e-3"),
    ("record {} large 1e-400", None, "got '1e-400': it is too close to zero for double precision"),
    ("record {} large 1e400", None, "got '1e400': it is too large for double precision"),
    ("record {} large \u0661", None, "REWARD must be a number, got '\u0661'"),
    ("record {} large 0x1", None, "REWARD must be a number, got '0x1'"),
    ("record {} large infinity", None, "REWARD must be a number, got 'infinity'"),
    ("record {} \u0660 1", None, "unknown arm '\u0660'"),
    ("record {} " + "9" * 5000 + " 1", None, "unknown arm '9999"),
    ("next {} --arm " + "9" * 5000, None, "unknown arm '9999"),
    ("release {} " + "9" * 5000, None, "must be a positive whole number"),
    ("record {}", "pull,reward\n" + "9" * 5000 + ",1\n", "line 2: pull must be a whole number, got '9999"),
    ("record {}", "pull,reward\n\u0661,1\n", "line 2: pull must be a whole number, got '\u0661'"),
    ("record {}", "arm,reward\nlarge,1_0\n", "line 2: reward must be a number, got '1_0'"),
    ("record {}", "arm,reward\nlarge,1e-400\n", "line 2: reward must be a number, got '1e-400'"),
    ("record {}", "arm,reward,reward\nlarge,0,1\n", "the CSV has the column reward twice"),
    ("record {}", "arm,pull,reward\nlarge,1\n", "line 2: 2 cells, but the header has 3"),
    ("record {} large yes", None, "REWARD must be a number, got 'yes'"),
    ("record {} large", None, "give ARM and REWARD"),
    ("record {} large 1 1", None, "give ARM and REWARD"),
    ("record {} large 1 --cost 3", None, "the cost of arm 'large' is known to be 3; leave it out"),
    ("record {} large 1 --pull 9", None, "pull 9 was not handed out"),
    ("record {} large 1 --pull 2", None, "pull 2 is of arm 'small', not 'large'"),
    ("record {}", "pull,reward\n1,1\n1,0\n", "line 3: the outcome of pull 1 is recorded already"),
    ("record {}", "arm,reward\nlarge,1\nlarge,1\n", "line 3: no pull of arm 'large' is out"),
    ("record {}", "arm,reward\nlarge,\n", "standard input: line 2: the reward is blank; give a number"),
    ("record {}", "arm,reward\nlarge,1\nlarge,\n", "standard input: line 3: the reward is blank; give a number"),
    ("record {}", "arm,reward\n", "there are no rows below the header; nothing was recorded"),
    ("record {}", "arm,reward\nlarge,one\n", "line 2: reward must be a number, got 'one'"),
    ("record {}", "pull,reward\nfirst,1\n", "line 2: pull must be a whole number, got 'first'"),
    ("record {}", "pull,reward\n1,1,1\n", "line 2: 3 cells, but the header has 2"),
    ("record {}", "large,1\n", "the CSV needs a header with reward"),
    ("record {}", "", "the CSV needs a header with reward"),
    ("stop {}x", None, "no such file; caet-opt experiment start makes one"),
    ("stop", None, "required: FILE"),
    ("stop {} 1", None, "unexpected argument '1'"),
    ("stop {} --wait -1", None, "--wait must be a number of seconds"),
    ("start {}x TASK ARMS --max-cost 0", None, "--max-cost must be positive, got 0"),
    ("start {}x TASK ARMS --max-cost -3", None, "--max-cost must be positive, got -3"),
    ("start {}x TASK ARMS --max-cost much", None, "argument --max-cost: must be a number, got 'much'"),
    ("start {}x TASK ARMS --max-cost 1e400", None, "it is too large for double precision"),
    ("start {}x TASK ARMS --max-pulls 0", None, "--max-pulls must be a positive whole number, got 0"),
    ("start {}x TASK ARMS --max-pulls 2.5", None, "argument --max-pulls: must be a whole number, got '2.5'"),
    ("start {}x TASK ARMS --max-pulls 9999999999", None, "argument --max-pulls: must be at most 1000000000"),
    ("release {} 7", None, "pull 7 was not handed out"),
    ("release {} 1 1", None, "pull 1 is not out"),
    ("release {} one", None, "must be a positive whole number"),
    ("status {} --level 2", None, "level must lie strictly between 0 and 1"),
    ("status {} --json --watch", None, "not allowed with argument"),
    ("list {}", None, "no such folder"),
    ("export {} --csv {}/x.csv", None, "cannot be written"),
    ("report {} -o /", None, "is a folder; name a file"),
    ("report {} --title=", None, "--title is empty"),
    ("start {} TASK ARMS", None, "there is a file already"),
    ("start {}y TASK ARMS --cost-source observed", None, "give --costs or --cost-source observed, not both"),
    ("start {}y TASK --arms a,b --cost-source known", None, "--cost-source known needs --costs"),
    (
        "start {}y TASK --arms a,b --costs 1,2,3",
        None,
        "3 costs for 2 arms; give one cost per arm, or --cost-source gaps\n",
    ),
    ("start {}y TASK --arms a,b --costs 1,x", None, "--costs must be numbers"),
    ("start {}y TASK --arms a,a --costs 1,2", None, "arm names must differ"),
    ("start {}y TASK --arms 1,0 --costs 1,2", None, "cannot be called '1'"),
    ("start {}y TASK --arms 1 --costs 1", None, "needs at least two arms, got 1"),
    ("start {}y TASK ARMS --policy oracle", None, "for simulations only"),
    ("start {}y TASK ARMS --policy cat", None, "unknown policy 'cat'"),
    ("start {}y TASK ARMS --threshold customary", None, "does not guarantee delta here"),
    ("start {}y TASK ARMS --delta 2", None, "--delta must lie strictly between 0 and 1"),
    ("start {}y TASK ARMS --task groups:0", None, "every group needs at least two arms"),
    ("start {}y/z TASK ARMS", None, "trial.caety/z: no such folder: "),
    ("backup {} {}y/z", None, "trial.caety/z: no such folder: "),
    ("start --arms a,b {}y TASK", None, "required: FILE; put FILE first"),
    ("start --arms a,b {}y", None, "required: FILE, --task, --family; put FILE first"),
    ("start {}y TASK --arms a,b plain", None, "--arms must be names separated by commas, or one per word, not both"),
    (
        "start {}y TASK ARMS --budget 0.5",
        None,
        "--max-cost 0.5 does not pay for a single pull: the cheapest arm, 'local', costs 1\n",
    ),
    ("start {}y ARMS", None, "required: --task"),
]


@pytest.mark.parametrize(("words", "source", "message"), BAD)
def test_bad_input_is_one_line_and_changes_nothing(file, capsys, monkeypatch, words, source, message):
    feed(monkeypatch, source or "")
    before = contents(file)
    words = words.replace("TASK", " ".join(START)).replace("ARMS", " ".join(ARMS))
    argv = [word.replace("{}", str(file)) for word in words.split()]
    expect_refusal(capsys, "experiment", *argv, words=message)
    assert contents(file) == before
    assert {path.name for path in file.parent.iterdir()} == {"trial.caet"}


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffarm,reward\nlarge,1\n",
        "arm,reward\r\nlarge,1\r\n\r\n",
        "arm, reward\nlarge, 1.0\n",
        'reward,arm\n"1","large"',
    ],
    ids=["a mark before it", "lines as Windows ends them", "spaces around cells", "quoted"],
)
def test_csv_as_spreadsheets_and_people_write_it(file, capsys, monkeypatch, text):
    feed(monkeypatch, text)
    assert verb(capsys, "record", file) == "recorded: 1\n"


def test_more_arms_than_any_task_is_solved_for_are_refused_at_once(tmp_path, capsys):
    for many in (250_002, 10**8, 10**17):
        words = ["start", tmp_path / "x.caet", *START, "--arms", many, "--costs", "1,2"]
        expect_refusal(capsys, "experiment", *words, words=f"arms must be at most 250001, got {many}")
    with pytest.raises(InputError, match="arms must be at most 250001, got a number beyond"):
        LiveExperiment.start(tmp_path / "x.caet", "best-arm", "bernoulli", arms=10**5000, delta=0.1)


def test_costs_that_are_not_given_are_one_each(tmp_path, capsys):
    path = tmp_path / "x.caet"
    assert "each pull costs 1" in verb(capsys, "start", path, *START, "--arms", "a,b")
    found = read_json(verb(capsys, "status", path, "--json"))
    assert (found["costs"], found["cost_source"]) == ([1.0, 1.0], "known")
    verb(capsys, "next", path)
    verb(capsys, "record", path, "a", "1")
    assert read_json(verb(capsys, "status", path, "--json"))["spent"] == 1.0
    assert "costs 1" not in verb(capsys, "start", tmp_path / "y.caet", *START, *ARMS)


def test_numbers_of_thousands_of_digits_are_refused_in_python(file):
    huge = 10**5000
    with LiveExperiment.open(file) as experiment:
        for call in (
            lambda: experiment.next(huge),
            lambda: experiment.next(arm=huge),
            lambda: experiment.record(huge, 1),
            lambda: experiment.record(0, huge),
            lambda: experiment.record(0, 1, pull=huge),
            lambda: experiment.release(huge),
        ):
            with pytest.raises(InputError):
                call()


def test_a_page_of_a_file_whose_name_is_no_text(file, tmp_path, capsys):
    odd = Path(os.fsdecode(bytes(tmp_path) + b"/\xff.caet"))
    file.rename(odd)
    verb(capsys, "report", odd, "-o", tmp_path / "page.html")
    assert "\\udcff.caet" in (tmp_path / "page.html").read_text(encoding="utf-8")


def spoil(path, how):
    """Make a file one that is refused."""
    data = bytearray(path.read_bytes())
    if how == "newer":
        data[60:64] = (7).to_bytes(4, "big")
    elif how == "foreign":
        data[68:72] = bytes(4)
    elif how == "cut":
        del data[5000:]
    else:
        data = bytearray(b"pull,arm\n")
    path.write_bytes(data)


@pytest.mark.parametrize("argv", [("next",), ("record", "large", "1"), ("release", "1"), ("status",), ("export",)])
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("newer", "made by a newer caet-opt (schema 7, known here up to 1); update caet-opt"),
        ("foreign", "not an experiment"),
        ("cut", "damaged"),
        ("text", "not an experiment"),
    ],
)
def test_a_file_that_is_none_is_refused(file, capsys, argv, how, message):
    spoil(file, how)
    before = file.read_bytes()
    expect_refusal(capsys, "experiment", argv[0], file, *argv[1:], words=message)
    assert file.read_bytes() == before


def test_a_lock_is_waited_for_and_then_told(file, capsys):
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    expect_refusal(capsys, "experiment", "next", file, "--wait", "0.05", words="has kept it locked for 0.05 s")
    holder.execute("ROLLBACK")
    holder.close()
