"""Mutated commands and files: whatever comes in, one line and a status come out, and never a traceback.

Every case is a valid command that a seeded random generator has spoilt: words and numbers on the command line, or one
of the files that it reads. Nothing is said about what the commands answer, only about how they fail.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from study_files import write_study

from caet_opt import LiveExperiment, cli
from caet_opt.cli import main

pytestmark = pytest.mark.filterwarnings("error", "ignore::DeprecationWarning")

#: Cases of each kind; CAET_OPT_FUZZ=10 has ten times as many.
WORDS, NUMBERS, MODELS, PROFILES, STUDIES, CERTIFICATES, RESULTS = (
    int(os.environ.get("CAET_OPT_FUZZ", "1")) * cases for cases in (160, 150, 90, 60, 60, 60, 40)
)

#: What takes the place of a number or a word on the command line.
ODD_WORDS = (
    *("nan", "inf", "-inf", "-1", "0", "1e400", "1e-400", "1e308", "-1e308", "1e-308", "4e-324", "9" * 40, "9" * 5000),
    *("", " ", ",", "1,,2", "\u0661\u0662", "\u00bd", "sNaN", "1_0", "0x10", "1e", "--", "-", "gaps", "a b", "\udc80"),
    *("infinity", "100000000", "1" + "0" * 17, "\udcff", "\ufeff", "/dev/zero", "/dev/full", "/dev/null", "a-b-c", "'"),
    *("0.5,0.5", "1e-90", "1e90", "true", "None", "=", "/", "0/0", "0-0", "[1]", "{}", "*", "?", "\x1b[31m", "\n"),
)

#: What takes the place of a value in a TOML file.
ODD_VALUES = (
    *("nan", "inf", "-inf", "-1", "0", "0.0", "1e400", "1e-400", "1e308", "4e-324", "9" * 30, "9" * 400, "9" * 5000),
    *('""', '"x"', '"native"', '"ranking"', '"\\u0000"', '"1"', "''", "[]", "[[]]", "{}", "{a = 1}", "true", "false"),
    *("1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "[nan]", '["a"]', "[1, [2]]", "[true]", "[{}]", "[1979-05-27]"),
    *("[1e308, -1e308]", "[1e-320, 2e-320]", "[1, 1]", "[0, 0, 0]", "[1e-90, 2e-90, 3e-90]", "[1e90, 2e90, 3e90]"),
    *("", "=", "[", '"', "\u0661", "1_0", "0x_", "[[[0, 1]], [[1, 0]]]", "[[[0, 0]]]", "[[[0, 1]]]", "[[0, 1]]"),
)

#: What takes the place of a value in JSON.
ODD_JSON = (
    *(None, True, False, 0, -1, 1.5, float("nan"), float("inf"), 10**400, "", "x", "nan", "1e400", "1/0", "1e99999999"),
    *([], [[]], {}, {"a": 1}, [None], ["1", "2"], "9" * 5000, "\u0661", "sNaN", "1_0", "-1", "0", [[0, 1]], "ranking"),
)

MODEL = """\
title = "Three"
family = "gaussian"
means = [3, 4.5, 2]
costs = [1, 0, 2]
task = "ranking"
arms = ["a", "b", "c"]
"""
CUSTOM = """\
family = "bernoulli"
means = [0.5, 0.25]
costs = "gaps"
answers = [[[0, 1]], [[1, 0]]]
characteristic_time = 3.5
"""
PROFILE = 'backend = "clarabel"\ntolerance = 1e-9\nmax_iterations = 50\ntime_limit = 9.0\nfallback = "native"\n'
OPTIONS = "[options]\ntol_gap_abs = 1e-9\nmax_step_fraction = 0.9\nverbose = false\nequilibrate_max_iter = 5\n"
IPOPT = 'backend = "ipopt"\nmax_iterations = 50\n[options]\ntol = 1e-9\nmu_strategy = "adaptive"\nmax_soc = 2\n'
FORMULA = """
from caet_opt import BanditModel, Gaussian
INSTANCES = [(BanditModel(Gaussian(), [0, g], [1, 1]), "best-arm") for g in (1, 2)]
def characteristic_time(model, task):
    return 8 / (model.means[0] - model.means[1]) ** 2
"""

FLAGS = "--family {} --means {} --costs {} --task {}"
THREE = FLAGS.format("gaussian:1,2,3", "3,4.5,2", "1,0,2", "ranking")

#: Commands to spoil, and words that are put behind what was spoilt so that no case takes long; {name} is a file.
COMMANDS = [
    (f"solve {THREE} --delta 0.1 --tolerance 1e-9 --json", ""),
    (f"solve {FLAGS.format('bernoulli', '0.5 0.25 0.125', '1 1 2', 'best-arm')} --arms a,b,c --show-program", ""),
    (f"solve {FLAGS.format('gamma:2.5', '1,2,3', 'gaps', 'top-arms:2')} --solver clarabel --delta 0.01", ""),
    (f"solve {FLAGS.format('poisson', '1,2,3', '1,1,1', 'control:1')} --cross-check", ""),
    (f"solve {FLAGS.format('geometric', '1,2,3,4', '1,1,1,2', 'groups:0,1/2,3')} --digits 15", ""),
    (f"solve {FLAGS.format('exponential', '1,2,3,4', '1,1,1,2', 'comparisons:0-1,2-3')} --solver ipopt", ""),
    ("solve {model} --task best-arm --solver {profile} --certificate {out}", "--digits 12"),
    (f"solve {FLAGS.format('exponential', '1,2,3', '1,1,2', 'control:b+0.25')} --arms a,b,c --lower-is-better", ""),
    (f"solve {FLAGS.format('poisson', '1,2,3', '1,1,2', 'comparisons:0-1*1.5,1-2-0.5')} --json", ""),
    (f"solve {FLAGS.format('bernoulli', '0.5,0.25,0.75', '1,1,2', 'cheapest:above:0.6')} --show-program", ""),
    (
        f"curve {FLAGS.format('geometric', '1,2,3', '1,1,2', 'control:0-0.5')} --sweep margin --from -1 --to 1 --json",
        "--points 3",
    ),
    (
        f"curve {FLAGS.format('gamma:2', '1,2,3', '1,1,2', 'above:2')} --sweep level --from 0.5 --to 2.5 --json",
        "--points 3",
    ),
    ("check {certificate} --json", ""),
    ("table {model} {custom} --delta 0.1,0.01 --solvers native --columns model,T*,u* --significant 5", "--workers 1"),
    ("table {model} --format latex --output {out} --digits 12", "--workers 1"),
    ("curve {model} --sweep mean:2 --from 0 --to 2.5 --json --log", "--points 3"),
    (f"curve {THREE} --sweep cost:0 --from 1 --to 2 --output {{out}} --solver native", "--points 3 --no-figure"),
    ("verify --list --json", "--instances 1 --slow 0 --proven 0 --workers 1 --solvers native"),
    ("verify two-arms --slow 1 --seed 3 --digits 12 --proven 1", "--instances 2 --workers 1 --solvers native"),
    ("verify --formula {formula} --digits 12", "--workers 1 --solvers native"),
    (
        f"simulate {THREE} --delta 0.1 --seed 3 --threshold deviational --theta 1.2 --constant 2 --csv {{out}}",
        "--runs 1 --max-rounds 40 --workers 1",
    ),
    (
        "simulate {model} --log-inv-delta 3 --r 0.3 --r-prime 0.1 --gamma0 0.1 --tracking d --json",
        "--runs 1 --max-rounds 40 --workers 1",
    ),
    (
        "simulate {custom} --delta 0.1 --cost-source observed --cost-distribution uniform",
        "--runs 1 --max-rounds 40 --workers 1",
    ),
    (
        f"simulate {THREE} --delta 0.1 --policy uniform,caet,top-two --csv {{out}} --json",
        "--runs 1 --max-rounds 40 --workers 1",
    ),
    ("sweep {study} --out {folder} --workers 1 --json", "--dry-run"),
    ("report {results} --title Fuzz --output {out}", ""),
    ("table {results} --columns model,runs --format csv --significant 4", ""),
    ("experiment start {new} --task best-arm --family bernoulli --arms a,b,c --costs 1,1,2 --delta 0.1", ""),
    ("experiment start {new} --task control:a-b --family gaussian:2 --arms a-b,b --delta 0.1 --cost-source gaps", ""),
    ("experiment next {live} --pulls 2 --json", ""),
    ("experiment next {live} --arm a --wait 1", ""),
    ("experiment record {live} a 1 --pull 1 --wait 1", ""),
    ("experiment release {live} 2 3", ""),
    ("experiment status {live} --level 0.9 --json", ""),
    ("experiment list {folder} --json", ""),
    ("experiment export {live} --csv {out}", ""),
    ("experiment report {live} --title Fuzz --output {out}", ""),
    (f"thresholds {THREE} --delta 0.1 --json", ""),
    ("thresholds {custom} --task best-arm --log-inv-delta 3", ""),
    ("compare {model} {custom} --solvers native {profile} --csv {out}", "--repeat 1"),
    ("reproduce figure-1 --seed 1 --runs 1 --workers 1 --out {folder}", "--nothing"),
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A spoilt command may write a file of any name to where it is, and read what is on standard input."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", StringIO("arm,reward\n"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that the commands name, all of them good."""
    folder = tmp_path_factory.mktemp("fuzz")
    texts = {"model": MODEL, "custom": CUSTOM, "profile": PROFILE + OPTIONS, "formula": FORMULA}
    paths = {name: folder / f"{name}.{'py' if name == 'formula' else 'toml'}" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    paths["study"] = Path(write_study(folder, runs=4, block=2, max_rounds=40))
    paths["results"], paths["certificate"] = folder / "results", folder / "certificate.json"
    assert main(["sweep", str(paths["study"]), "--out", str(paths["results"]), "--workers", "1"]) == 0
    made = ["solve", str(paths["model"]), "--digits", "15", "--certificate", str(paths["certificate"])]
    assert main(made) == 0
    paths["live"] = folder / "live.caet"
    with LiveExperiment.start(paths["live"], "best-arm", "bernoulli", arms=["a", "b", "c"], delta=0.1) as experiment:
        experiment.next(6)
    paths |= {"out": folder / "out", "new": folder / "new.caet", "folder": folder}
    return {name: str(path) for name, path in paths.items()}


def filled(line, files, **others):
    """The words of a command with paths in place of names."""
    paths = files | {name: str(path) for name, path in others.items()}
    return [paths.get(word[1:-1], word) if word.startswith("{") else word for word in line.split()]


def check_end(argv, capsys):
    """Run a command; it must end as commands end."""
    status = main(argv)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert status in (0, 1, 2, 130), f"{argv}\n{err}"
    assert "Traceback" not in out + err
    assert all(line.startswith("caet-opt: ") for line in lines), f"{argv}\n{err}"
    reasons = [line for line in lines if not line.startswith("caet-opt: gave up on ")]
    if status == 0:
        assert lines == [], argv
    elif status == 1:  # a table may have said what failed
        assert reasons != [] or out, argv
        assert len(reasons) <= 1, f"{argv}\n{err}"
    else:  # likewise, and what a table says may be in a file
        assert len(reasons) == 1 or (not reasons and argv[0] == "table" and out), f"{argv}\n{err}"


def spoil_words(argv, dice):
    """A word dropped, doubled, moved, replaced or added, or a number in one replaced; never the command's name."""
    words = list(argv)
    place = dice.randrange(1, len(words))
    kind = dice.randrange(8)
    if kind == 0:
        del words[place]
    elif kind == 1:
        words.insert(place, words[place])
    elif kind == 2:
        other = dice.randrange(1, len(words))
        words[place], words[other] = words[other], words[place]
    elif kind == 3:
        words.insert(place, dice.choice(ODD_WORDS))
    elif kind == 4:
        words[place] = dice.choice(ODD_WORDS)
    else:
        numbered = [index for index, word in enumerate(words) if re.search(r"\d", word) and "/tmp" not in word]
        place = dice.choice(numbered or [place])
        found = list(re.finditer(r"\d[\d.]*(e-?\d+)?", words[place]))
        span = dice.choice(found).span() if found else (0, len(words[place]))
        words[place] = words[place][: span[0]] + dice.choice(ODD_WORDS) + words[place][span[1] :]
    return words


def spoil_toml(text, dice):
    """The bytes of a TOML file with a value of another kind, a line dropped or doubled, or damage."""
    lines = text.splitlines()
    place = dice.choice([index for index, line in enumerate(lines) if " = " in line])
    kind = dice.randrange(10)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(place, lines[place])
    elif kind == 2:
        return spoil_bytes(text.encode(), dice)
    else:
        key = lines[place].partition(" = ")[0]
        lines[place] = f"{key} = {dice.choice(ODD_VALUES)}"
    return "\n".join(lines).encode()


def spoil_bytes(data, dice):
    """Data cut short, with a byte changed, or with bytes put in that are no text."""
    place = dice.randrange(len(data)) if data else 0
    kind = dice.randrange(4)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes([dice.randrange(256)]) + data[place + 1 :]
    return data[:place] + dice.choice([b"\xff\xfe", b"\x00", b"\xe9", b"\xef\xbb\xbf", b"\r", b"}"]) + data[place:]


def spoil_json(text, dice):
    """The bytes of a JSON file with an entry replaced or dropped, or damage."""
    if dice.randrange(5) == 0:
        return spoil_bytes(text.encode(), dice)
    document = json.loads(text)
    holder = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = dice.choice(keys)
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or dice.randrange(3) == 0:
            break
        holder = inner
    if dice.randrange(5) == 0:
        del holder[key]
    else:
        holder[key] = dice.choice(ODD_JSON)
    return json.dumps(document).encode()


@pytest.mark.parametrize("number", range(WORDS))
def test_spoilt_words(number, files, capsys):
    dice = random.Random(f"words {number}")
    line, behind = COMMANDS[number % len(COMMANDS)]
    words = filled(line, files)
    for _ in range(dice.choice([1, 1, 2, 3])):
        words = spoil_words(words, dice)
    check_end([*words, *filled(behind, files)], capsys)


#: Sizes from the least to the largest doubles, for numbers that are valid and hard.
EXTREMES = ("0", "4e-324", "1e-300", "1e-155", "1e-90", "1e-12", "0.5", "1", "2", "1e10", "1e90", "1e154", "1e300")
NEAR = ("1", "1.0000000000000002", "0.9999999999999999", "0.99999999999999999999", "1e-17", "0.5000000000000001")
EXTREME_FAMILIES = (
    *("gaussian", "bernoulli", "poisson", "exponential", "geometric"),
    *("gaussian:1e300", "gaussian:4e-324", "gamma:1e300", "gamma:1e-300"),
)
EXTREME_COMMANDS = (
    *("solve {} --delta 0.1", "solve {} --json", "solve {} --solver clarabel", "solve {} --solver ipopt"),
    *("solve {} --digits 12", "solve {} --cross-check", "curve {} --sweep mean:0 --from 0 --to 1 --points 3 --json"),
    *("solve {} --solver pyomo", "simulate {} --delta 0.1 --runs 1 --max-rounds 40 --workers 1"),
    "thresholds {} --delta 0.1",
    "simulate {} --log-inv-delta 1e5 --runs 1 --max-rounds 40 --workers 1 --cost-source observed",
    "curve {} --sweep cost:0 --from 1e-300 --to 1e300 --log --points 3 --json",
)


@pytest.mark.parametrize("number", range(NUMBERS))
def test_extreme_numbers(number, capsys):
    dice = random.Random(f"number {number}")
    arms = dice.choice([2, 3, 4])
    variances = f"gaussian:{','.join(dice.choices(EXTREMES[1:], k=arms))}"
    family = dice.choice([*EXTREME_FAMILIES, variances])
    means = dice.choices(dice.choice([EXTREMES, NEAR, [*EXTREMES, *NEAR]]), k=arms)
    costs = dice.choices(EXTREMES, k=arms) if dice.randrange(3) else ["gaps"]
    task = dice.choice(["best-arm", "ranking", "top-arms:1", "control:0", "comparisons:0-1"])
    flags = FLAGS.format(family, ",".join(means), ",".join(costs), task)
    check_end(EXTREME_COMMANDS[number % len(EXTREME_COMMANDS)].format(flags).split(), capsys)


STATED_COMMANDS = (
    *("solve {}", "solve {} --json", "solve {} --show-program", "solve {} --lower-is-better --tolerance 1e-6"),
    *(
        "curve {} --sweep margin --from -0.5 --to 1 --points 3 --json",
        "curve {} --sweep level --from 0 --to 1 --points 3 --json",
    ),
)


@pytest.mark.parametrize("number", range(NUMBERS))
def test_extreme_levels_margins_and_ratios(number, capsys):
    dice = random.Random(f"statement {number}")
    arms = dice.choice([2, 3])
    numbers = dice.choice([EXTREMES, NEAR, [*EXTREMES, *NEAR]])
    means = dice.choices(numbers, k=arms)
    costs = dice.choices(EXTREMES, k=arms) if dice.randrange(3) else ["gaps"] if dice.randrange(2) else ["1"] * arms
    form = dice.choice(
        ["above:{}", "control:0{}{}", "comparisons:0-1{}{}", "cheapest:above:{}", "cheapest:control:0{}{}"]
    )
    given = dice.choice(numbers).lstrip("-")
    task = form.format(given) if "above" in form else form.format(dice.choice("+-*"), given)
    flags = FLAGS.format(dice.choice(EXTREME_FAMILIES), ",".join(means), ",".join(costs), task)
    check_end(dice.choice(STATED_COMMANDS).format(flags).split(), capsys)


MODEL_COMMANDS = (
    *(
        "solve {spoilt}",
        "solve {spoilt} --delta 0.1 --json",
        "solve {spoilt} --digits 12",
        "solve {spoilt} --cross-check",
    ),
    *("table {spoilt} {model} --workers 1", "curve {spoilt} --sweep mean:0 --from 0 --to 1 --points 3 --json"),
    *(
        "compare {spoilt} --solvers native --repeat 1",
        "solve {spoilt} --solver clarabel",
        "solve {spoilt} --show-program",
    ),
    "simulate {spoilt} --delta 0.1 --runs 1 --max-rounds 40 --workers 1",
)


@pytest.mark.parametrize("number", range(MODELS))
def test_spoilt_models(number, files, tmp_path, capsys):
    dice = random.Random(f"model {number}")
    spoilt = tmp_path / "spoilt.toml"
    spoilt.write_bytes(spoil_toml(dice.choice([MODEL, MODEL, CUSTOM]), dice))
    check_end(filled(MODEL_COMMANDS[number % len(MODEL_COMMANDS)], files, spoilt=spoilt), capsys)


@pytest.mark.parametrize("number", range(PROFILES))
def test_spoilt_profiles(number, files, tmp_path, capsys):
    dice = random.Random(f"profile {number}")
    spoilt = tmp_path / "spoilt.toml"
    spoilt.write_bytes(spoil_toml(dice.choice([PROFILE, PROFILE + OPTIONS, PROFILE + OPTIONS, IPOPT]), dice))
    check_end(filled("solve {model} --solver {spoilt}", files, spoilt=spoilt), capsys)


@pytest.mark.parametrize("number", range(STUDIES))
def test_spoilt_studies(number, files, tmp_path, capsys):
    dice = random.Random(f"study {number}")
    write_study(tmp_path, runs=4, block=2, max_rounds=40, theta=None, seed=1, title="A study", tracking="c", r=0.4)
    spoilt = tmp_path / "study.toml"
    spoilt.write_bytes(spoil_toml(spoilt.read_text(), dice))
    check_end(filled("sweep {spoilt} --dry-run --out {place}", files, spoilt=spoilt, place=tmp_path / "out"), capsys)


@pytest.mark.parametrize("number", range(CERTIFICATES))
def test_spoilt_certificates(number, files, tmp_path, capsys):
    dice = random.Random(f"certificate {number}")
    spoilt = tmp_path / "spoilt.json"
    spoilt.write_bytes(spoil_json(Path(files["certificate"]).read_text(), dice))
    check_end(["check", str(spoilt), *(["--json"] if dice.randrange(2) else [])], capsys)


@pytest.mark.parametrize("number", range(RESULTS))
def test_spoilt_results(number, files, tmp_path, capsys):
    dice = random.Random(f"results {number}")
    folder = tmp_path / "results"
    shutil.copytree(files["results"], folder)
    manifest = folder / "manifest.json"
    blocks = sorted((folder / "blocks").iterdir())
    kind = dice.randrange(6)
    if kind < 3:
        manifest.write_bytes(spoil_json(manifest.read_text(), dice))
    elif kind == 3:
        path = dice.choice(blocks)
        path.write_bytes(spoil_bytes(path.read_bytes(), dice))
    elif kind == 4:
        path = dice.choice(blocks)
        path.unlink()
        path.mkdir()
    else:
        shutil.rmtree(folder / "blocks")
    command = ("table {spoilt}", "table {spoilt} --format json", "report {spoilt} -o {out}")[number % 3]
    check_end(filled(command, files, spoilt=folder), capsys)


BODIES = (
    *("return 'x'", "return None", "return float('nan')", "return 1j", "return -1", "return 10**400", "return [1]"),
    *("raise ValueError", "raise MemoryError", "raise KeyError('a')", "raise RecursionError", "return f()", "return x"),
    *("import sys; sys.exit(3)", "raise KeyboardInterrupt", "raise SystemExit('bye')", "raise StopIteration"),
)
FILES = (
    *("def (", "\x00", "import nowhere_at_all", "raise SystemExit(3)", "1/0", "INSTANCES = 3", "INSTANCES = [3]"),
    *("characteristic_time = 3\nINSTANCES = []", "def characteristic_time(model, task): return 1\ndraw = 3", ""),
    *("def characteristic_time(model, task): return 1\ndef draw(rng): return 3", "exit()", "raise KeyboardInterrupt"),
    *("def characteristic_time(model, task): return 1\ndef draw(rng): raise ValueError('no')", "x = '" + "\u00e9'"),
    FORMULA + "def sampling_proportions(model, task): return 'x'",
    FORMULA + "def sampling_proportions(model, task): return [float('nan'), 1]",
    FORMULA + "def sampling_proportions(model, task): raise SystemExit",
    FORMULA.replace("(model, task):", "(model):"),
    FORMULA.replace('"best-arm"', '"worst-arm"'),
    FORMULA.replace("(1, 2)", "(0, 0)"),
    FORMULA.replace("(1, 2)", "(1e200, 2)"),
    FORMULA + "def f(): return f()",
)


@pytest.mark.parametrize("text", [*FILES, *(FORMULA.replace("return 8 / (", f"{body}\n    (") for body in BODIES)])
def test_spoilt_formulas(text, tmp_path, capsys):
    path = tmp_path / "formula.py"
    path.write_text(text)
    argv = ["verify", "--formula", str(path), "--digits", "12", "--workers", "1", "--solvers", "native"]
    check_end([*argv, "--instances", "2"], capsys)


def test_a_planted_defect_is_one_line_and_status_70(capsys, monkeypatch):
    def broken(arguments):
        raise ZeroDivisionError("a\nplanted defect")

    monkeypatch.setattr(cli.solve, "run", broken)
    monkeypatch.delenv("CAET_OPT_DEBUG", raising=False)
    assert main(["solve"]) == 70
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("caet-opt: internal error: ZeroDivisionError: a planted defect; this is a defect of caet-opt")
    assert "CAET_OPT_DEBUG=1" in err
    monkeypatch.setenv("CAET_OPT_DEBUG", "1")
    assert main(["solve"]) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_exhaustion_is_one_line_too(error, capsys, monkeypatch):
    def broken(arguments):
        raise error

    monkeypatch.setattr(cli.solve, "run", broken)
    assert main(["solve"]) == 70
    assert capsys.readouterr().err.startswith(f"caet-opt: internal error: {error.__name__}; this is a defect")


#: A good command of every kind that is quick, for the real program.
REAL = [
    f"solve {THREE}",
    "check {certificate}",
    "table {model} --workers 1",
    "curve {model} --sweep mean:2 --from 0 --to 1 --points 2 --json",
    "simulate {model} --delta 0.1 --runs 1 --max-rounds 20 --workers 1",
    "report {results} -o {out}",
    "--help",
]


@pytest.mark.parametrize("line", REAL)
def test_a_closed_standard_output_is_said(line, files):
    done = shell(line, files, ">&-")
    assert done.returncode == 1
    assert done.stderr == "caet-opt: error: cannot write the output (standard output is closed)\n"


@pytest.mark.parametrize(
    ("line", "status"),
    [(REAL[0], 0), (REAL[4], 0), (f"solve {THREE} --delta 7", 2), ("solve", 2), ("nonsense", 2)],
)
def test_a_closed_standard_error_changes_nothing_else(line, status, files):
    done = shell(line, files, "2>&-")
    assert done.returncode == status
    assert ("caet-opt: " in done.stdout) is False
    assert (done.stdout != "") is (status == 0)


def shell(line, files, redirection):
    """The real program with a stream closed."""
    words = [sys.executable, "-m", "caet_opt", *filled(line, files)]
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", *words], capture_output=True, text=True, check=False
    )
