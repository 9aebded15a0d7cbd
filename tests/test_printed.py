"""Every bound that is printed is rounded outward: by what the source says, for any numbers, and command by command."""

import ast
import json
import re
import shutil
import subprocess
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, log
from pathlib import Path

import pytest
from commands import run_command
from hypothesis import given
from hypothesis import strategies as st

import caet_opt
from caet_opt import LiveExperiment
from caet_opt.cli import main
from caet_opt.common.numbers import (
    DOUBLE_DIGITS,
    digits_beside,
    recover_delta,
    round_down,
    round_outward,
    round_up,
    to_digits,
    typed_delta,
    write_interval,
)
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.stopping.base import say_delta
from caet_opt.presenting.report.experiment import experiment_page

LIBRARY = Path(caet_opt.__file__).parent

#: Names with one of these words in them are names of bounds.
WORDS = {"lower", "upper", "low", "high", "bound", "bounds", "ends", "ci", "gap", "least"}

#: Functions that round to nearest, and makers of columns that do.
ROUNDING = {"to_digits", "format", "proportion", "round", "write", "write_cost", "show", "column", "estimate"}
ROUNDING |= {"number_column"}

#: What is no bound, or exact: inputs that an error repeats, the ends of a family's means, and a default in a help text.
ALLOWED = {
    ("bandits/families/base.py", "self.low"),
    ("bandits/families/base.py", "self.high"),
    ("bandits/tasks/base.py", "float(low)"),
    ("bandits/tasks/base.py", "float(high)"),
    ("exploring/settings.py", "LAZY_GAP"),
    ("exploring/settings.py", "LEAST_SHARE"),
    ("simulating/studies/study.py", "low"),
    ("simulating/studies/study.py", "high"),
}


def names_in(node):
    """The names, attributes and texts of an expression, as ``low`` and ``cost_low`` in ``row["cost_low"] - low``."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def is_bound(node):
    """Whether an expression is about a bound."""
    return any(WORDS & set(name.lower().split("_")) for name in names_in(node))


def rounded_to_nearest(tree):
    """Expressions that are about a bound and formatted to some digits, whatever side that is on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None and is_bound(node.value):
            yield ast.unparse(node.value)
        if isinstance(node, ast.Call) and node.args:
            function = getattr(node.func, "id", getattr(node.func, "attr", ""))
            shown = node.args if function in ("format", "show") else node.args[:1]
            values = [
                value for value in shown if not isinstance(value, ast.Lambda)
            ]  # cli.output.show prints what it is told
            if function in ROUNDING and any(map(is_bound, values)):
                yield ast.unparse(node)


def test_no_bound_is_formatted_but_by_the_one_rounding():
    found = {
        (path.relative_to(LIBRARY).as_posix(), text)
        for path in LIBRARY.rglob("*.py")
        if path.name != "numbers.py"
        for text in rounded_to_nearest(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == ALLOWED


@pytest.mark.parametrize(
    "line",
    [
        'f"[{row.cost_low:.1f}, {row.cost_high:.1f}]"',
        'f"{result.gap:.1e}"',
        "to_digits(least_bound, 4)",
        """to_digits(row["cost_low"], 3)""",
        '"[{:.6g}, {:.6g}]".format(*self.cost_ci)',
        'f"{cost / lower_bound:.3f}"',
        "to_digits(row[f'{key}_low'], 3)",
        'column("lower_bound")',
        'estimate("upper_bound", "upper bound", "theta T* log(1/delta)")',
    ],
)
def test_such_a_format_would_be_found(line):
    assert list(rounded_to_nearest(ast.parse(line)))


def test_no_script_of_a_page_rounds_a_bound_to_nearest():
    scripts = {path.name: path.read_text(encoding="utf-8") for path in (LIBRARY / "presenting/report").glob("*.js")}
    shown = {name: re.findall(r"number\(([^()]*)", text) for name, text in scripts.items()}
    assert sum(map(len, shown.values())) > 20
    bounds = re.compile(r"\.(lower|upper|low|high)\b|\b(cost|ratio|error)\[[12]\]|\bvalues\[")
    assert [(name, text) for name, texts in shown.items() for text in texts if bounds.search(text)] == []


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_scripts_round_bounds_outward():
    text = (LIBRARY / "presenting/report/marks.js").read_text(encoding="utf-8")
    functions = [re.search(rf"^function {name}\(.*?^}}", text, re.M | re.S)[0] for name in ("number", "rounded")]
    values = [30.8906064, 1.0, 9.99996, 1234567.8, 1.23456e-9, 99999.5, 0.1, 2.00001, 5e-324, 123456.0]
    program = "\n".join(
        [*functions, f"console.log(JSON.stringify({values}.map((v) => [rounded(v, false), rounded(v, true)])))"]
    )
    found = json.loads(subprocess.run(["node", "-e", program], capture_output=True, check=True, text=True).stdout)
    for value, (low, high) in zip(values, found, strict=True):
        assert float(low) <= value <= float(high)
        assert [float(low), float(high)] == pytest.approx([value, value], rel=1e-4)


# for any numbers

NUMBERS = st.floats(allow_nan=False)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def read_end(text):
    """A printed end as what it says, exactly."""
    return float(text) if text in ("inf", "-inf") else Fraction(text)


def read_interval(text):
    """The ends of a printed interval."""
    return [read_end(end) for end in re.fullmatch(r"\[(.*), (.*)\]", text).groups()]


def assert_outward(text, low, high):
    """What is printed has the interval in it, and is not a point if that is not."""
    shown, exact = read_interval(text), [Fraction(repr(float(end))) if isfinite(end) else end for end in (low, high)]
    assert shown[0] <= exact[0]
    assert exact[1] <= shown[1]
    assert low == high or shown[0] < shown[1]


@given(NUMBERS, NUMBERS, st.integers(1, DOUBLE_DIGITS))
def test_any_interval_is_printed_outward_and_shows_its_width(one, other, digits):
    low, high = sorted((one, other))
    text = write_interval(low, high, digits)
    assert_outward(text, low, high)
    if isfinite(high - low) and high - low > 1e-300:
        shown = read_interval(text)
        ulps = Fraction(abs(low) + abs(high)) * Fraction(1, 10**15)
        assert shown[1] - shown[0] <= Fraction(1025, 1000) * (Fraction(high) - Fraction(low)) + ulps


@given(FINITE, st.integers(1, DOUBLE_DIGITS))
def test_a_bound_of_one_side_is_rounded_to_that_side(value, digits):
    exact, low, high = Fraction(repr(value)), Fraction(round_down(value, digits)), Fraction(round_up(value, digits))
    assert low <= exact <= high
    assert high - low <= abs(exact) * Fraction(10) ** (1 - digits)
    if Decimal(repr(value)) == Decimal(f"{value:.{digits - 1}e}"):  # no more digits than are shown
        assert low == exact == high


@given(FINITE, FINITE, st.integers(1, DOUBLE_DIGITS))
def test_certified_ends_are_rounded_outward_from_the_last_bit_on(one, other, digits):
    low, high = sorted((one, other))
    shown = [Fraction(end) for end in round_outward(low, high, digits)]
    assert shown[0] <= Fraction(low)
    assert Fraction(high) <= shown[1]


@given(st.fractions(), st.integers(1, 60))
def test_proven_bounds_are_rounded_by_the_same_function(value, digits):
    assert Fraction(round_down(value, digits)) <= value <= Fraction(round_up(value, digits))


@given(FINITE, st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_an_estimate_is_printed_inside_its_interval(mean, left, right):
    low, high = mean - left, mean + right
    shown = Fraction(to_digits(mean, digits_beside(mean, (low, high), 4)))
    ends = read_interval(write_interval(low, high, 4))
    assert ends[0] <= shown <= ends[1]


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1234563.8319, 1234569.9681, "[1234563.83, 1234569.97]"),
        (4.12335, 4.12335, "[4.123, 4.124]"),
        (-3.59001, 3.79001, "[-3.591, 3.791]"),
        (-5.00001, -4.99999, "[-5.0000100, -4.9999899]"),
        (0.0, 0.16843, "[0, 0.1685]"),
        (None, 2.00001, "[-inf, 2.001]"),
        (-1e-9, None, "[-1.000e-09, inf]"),
        (1e-10, 5.4321, "[1.000e-10, 5.433]"),
        (-inf, inf, "[-inf, inf]"),
        (99999.96, 100000.04, "[99999.9600, 100000.0401]"),
    ],
)
def test_intervals_as_people_read_them(low, high, text):
    shown = write_interval(low, high, 4)
    if text.startswith(("[-5", "[99")):  # how many digits show the width is a matter of taste, the side is not
        assert_outward(shown, low, high)
    else:
        assert shown == text


# command by command

#: Whose bounds are cut in the midst of their digits.
MODEL = ["--family", "gaussian", "--means", "3,4.0123,2", "--costs", "1,0.37,2", "--task", "ranking"]


def printed(capsys, *words):
    """What a command prints, and the object that it prints as JSON."""
    return run_command(capsys, *words), json.loads(run_command(capsys, *words, "--json"))


@pytest.mark.parametrize("delta", ["0.1", "0.05", "0.0137", "1e-7"])
def test_solve_prints_bounds_outward(capsys, delta):
    text, record = printed(capsys, "solve", *MODEL, "--delta", delta)
    assert_outward(re.search(r"in (\[.*?\]), relative gap", text)[1], record["lower"], record["upper"])
    kl, weaker = re.search(r"at least (\S+) \(kl form\), (\S+) \(log form\)", text).groups()
    assert read_end(kl) <= Fraction(record["lower_bound"]["kl"])
    assert read_end(weaker) <= Fraction(record["lower_bound"]["log"])
    assert Fraction(re.search(r"relative gap (\S+)", text)[1]) >= Fraction(repr(record["gap"]))
    assert record["lower_bound"]["delta"] == float(delta)
    assert f"any {float(delta)}-PAC" in text


@pytest.mark.parametrize("delta", ["0.1", "0.05", "0.2"])
def test_simulate_prints_bounds_outward(capsys, delta):
    text, record = printed(capsys, "simulate", *MODEL, "--delta", delta, "--runs", "15", "--workers", "1")
    level = Fraction(-log(float(delta)))
    for name, side in (("lower", -1), ("upper", 1)):
        shown, over = re.search(rf"^{name} bound +(\S+), over log\(1/delta\) (\S+) ", text, re.M).groups()
        exact = Fraction(repr(record[f"{name}_bound"]))
        assert side * Fraction(shown) >= side * exact
        assert side * Fraction(over) >= side * Fraction(record[f"{name}_bound"]) / level
    assert_outward(re.search(r"^errors .*?(\[.*?\])", text, re.M)[1], *record["error_ci"])
    if record["cost_ci"] is not None:
        assert_outward(re.search(r"^mean cost .*?(\[.*?\])", text, re.M)[1], *record["cost_ci"])
    assert Fraction(re.search(r"largest gap (\S+)", text)[1]) >= Fraction(repr(record["widest_gap"]))
    assert f"delta = {delta};" in text


def test_what_unfinished_runs_cost_is_rounded_down(capsys):
    words = ["simulate", *MODEL, "--delta", "0.01", "--runs", "7", "--max-rounds", "11", "--workers", "1"]
    text, record = printed(capsys, *words)
    assert record["unfinished"] == 7
    shown, over = re.search(r"^mean cost +at least (\S+), over log\(1/delta\) at least (\S+)", text, re.M).groups()
    assert Fraction(shown) <= Fraction(repr(record["mean_cost"]))
    assert Fraction(over) <= Fraction(record["mean_cost"]) / Fraction(-log(0.01))
    several, records = printed(capsys, *words, "--policy", "caet,uniform")
    for line, one in zip(re.findall(r"^(?:caet|uniform) +>= (\S+)", several, re.M), records, strict=True):
        assert Fraction(line) <= Fraction(repr(one["mean_cost"]))


def test_comparisons_print_intervals_outward(capsys):
    words = ["simulate", *MODEL, "--delta", "0.1", "--runs", "15", "--policy", "caet,uniform,track-and-stop"]
    text, records = printed(capsys, *words, "--workers", "1")
    rows = [line for line in text.splitlines() if line.startswith(("caet ", "uniform ", "track-and-stop "))]
    for line, record in zip(rows, records, strict=True):
        wanted = [record["cost_ci"], record["difference_ci"] if record["policy"] != "caet" else None]
        intervals = re.findall(r"\[.*?\]", line)
        for shown, ends in zip(intervals, [ends for ends in wanted if ends is not None], strict=True):
            assert_outward(shown, *ends)
    assert [record["upper_bound"] is None for record in records] == [False, True, True]


def test_a_lower_bound_says_that_its_digits_are_cut(capsys, tmp_path):
    """Of every command that prints one."""
    asked = (*MODEL, "--delta", "0.05")
    for words, line in (
        (("solve", *asked), "expected cost of any"),
        (("thresholds", *asked), "lower bound"),
        (("plan", *asked, "--runs", "2"), "lower bound"),
        (("simulate", *asked, "--runs", "2"), "lower bound"),
    ):
        (found,) = [said for said in run_command(capsys, *words).splitlines() if said.startswith(line)]
        assert "rounded down" in found
    entry = tmp_path / "two.toml"
    entry.write_text('family = "bernoulli"\nmeans = [0.5, 0.3]\ntask = "best-arm"\n')
    assert "It is rounded down to the digits shown." in " ".join(
        run_command(capsys, "table", entry, "--delta", "0.05").split()
    )


@pytest.mark.parametrize("delta", ["0.1", "0.05", "0.0137"])
def test_thresholds_prints_the_lower_bound_down(capsys, delta):
    text, record = printed(capsys, "thresholds", *MODEL, "--delta", delta)
    assert Fraction(re.search(r"costs less than (\S+) on average", text)[1]) <= Fraction(record["lower_bound"])
    assert record["delta"] == float(delta)


@pytest.mark.parametrize("digits", [None, 3, 5])
def test_tables_print_bounds_outward(capsys, tmp_path, digits):
    names = ["paper-instance-1", "bernoulli-costs", "regret-poisson", "geometric", "exponential-ranking"]
    words = ["table", *names, "--delta", "0.05", "--columns", "model,lower,upper,gap,bound"]
    rows = json.loads(run_command(capsys, *words, "--format", "json"))["rows"]
    text = run_command(capsys, *words, *([] if digits is None else ["--significant", digits]))
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines()[1 : len(rows) + 1]}
    for row in rows:
        low, high, gap, bound = map(Fraction, lines[row["model"]])
        assert low <= Fraction(row["lower"]) <= Fraction(row["upper"]) <= high
        assert gap >= Fraction(repr(row["gap"]))
        assert bound <= Fraction(repr(row["lower_bound"]))


REWARDS = {
    "gaussian:1": [(1234567.0, 1234566.9), (1234566.2, 1234567.7)],
    "gaussian:0.0001": [(1234567.0, 1234566.99), (1234567.001, 1234566.992)],
    "bernoulli": [(1, 0), (1, 0), (1, 1)],
    "poisson": [(3, 0), (7, 1)],
    "exponential": [(0.1, 12345.678), (0.3, 9876.5)],
}


@pytest.mark.parametrize("family", REWARDS)
def test_live_experiments_print_intervals_outward(tmp_path, family):
    asked = {"arms": ["a", "b"], "costs": [1, 2], "delta": 1e-9}
    with LiveExperiment.start(tmp_path / "t.caet", "best-arm", family, **asked) as experiment:
        for pair in REWARDS[family]:
            for arm, reward in enumerate(pair):
                experiment.next(1, arm=arm)
                experiment.record(arm, reward)
        status, text, page = experiment.status(), str(experiment), experiment_page(experiment)
    assert status["delta"] == 1e-9
    assert "at most 1e-9" in text
    records = [*status["arms"], *status["pairs"]]
    shown = re.findall(r"^(?:[ab] |a > b|b > a).*?(\[.*?\])", text, re.M)
    on_page = re.findall(r"<td>(\[.*?\])</td>", page)
    for found in (shown, [*on_page[len(status["pairs"]) :], *on_page[: len(status["pairs"])]]):
        for interval, record in zip(found, records, strict=True):
            low, high = (
                -inf if record["low"] is None else record["low"],
                inf if record["high"] is None else record["high"],
            )
            assert_outward(interval, low, high)


@pytest.mark.parametrize("delta", [0.05, 0.012345, 0.00098765432, 1e-9])
def test_a_guarantee_is_not_rounded_down(delta):
    assert Fraction(say_delta(-log(delta))) == Fraction(repr(delta))
    assert Fraction(say_delta(2.34567)) >= Fraction(Parameters(log_inv_delta=2.34567).delta)
    assert say_delta(1234.56789) == "exp(-1234.56)"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of deltas and policies, of which one has an upper bound."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: studies)")
    pytest.importorskip("jinja2", reason="Jinja2 is not installed (extra: report)")
    folder = tmp_path_factory.mktemp("study")
    model = 'family = "gaussian"\nmeans = [3, 4.0123, 2]\ncosts = [1, 0.37, 2]\ntask = "ranking"\n'
    (folder / "m.toml").write_text(model)
    (folder / "study.toml").write_text(
        'models = ["m.toml"]\ndeltas = [0.1, 0.05]\npolicy = ["caet", "uniform"]\nruns = 20\nseed = 1\n'
    )
    assert main(["sweep", str(folder / "study.toml"), "--out", str(folder / "out"), "--workers", "1"]) == 0
    return folder / "out"


def test_the_page_of_a_study_prints_bounds_outward(study):
    from caet_opt import summarise_results
    from caet_opt.presenting.report.page import report_page
    from caet_opt.presenting.report.page_data import collect_data, read_results

    html = report_page(study)
    rows = {row["cell"]: row for row in summarise_results(study).to_dict("records")}
    for cell in collect_data(read_results(study))["cells"]:
        row, texts = rows[cell["id"]], cell["texts"]
        told = {name: (row[f"{name}_low"], row[f"{name}_high"]) for name in ("cost", "ratio", "error")}
        for name, (low, high) in told.items():
            assert (texts[name] is None) == (low != low)
            if texts[name] is not None:
                assert_outward(texts[name], low, high)
        assert Fraction(texts["lower"]) <= Fraction(repr(row["lower_bound"]))
        assert (cell["upper"] is None) == (texts["upper"] is None) == (row["policy"] == "uniform")
        if texts["upper"] is not None:
            assert Fraction(texts["upper"]) >= Fraction(repr(row["upper_bound"]))
        costs, errors = re.findall(rf'<tr data-cell="{cell["id"]}">(.*?)</tr>', html, re.S)
        _, _, interval, lower, upper, *_ = re.findall(r"<td>(.*?)</td>", costs)[1:]
        if interval != "-":
            assert_outward(interval, *told["cost"])
        assert Fraction(lower) <= Fraction(repr(row["lower_bound"]))
        assert (upper == "-") == (row["policy"] == "uniform")
        assert upper == "-" or Fraction(upper) >= Fraction(repr(row["upper_bound"]))
        assert_outward(re.search(r"\[.*?\]", errors)[0], *told["error"])
    certified = re.search(r"certified in (\[.*?\])", html)[1]
    assert_outward(certified, *(next(iter(rows.values()))[name] for name in ("lower", "upper")))


def test_the_table_of_a_study_prints_bounds_outward(study, capsys):
    names = "cell,delta,upper_bound,bound,cost_interval,ratio_interval,error_interval"
    rows = json.loads(run_command(capsys, "table", study, "--columns", names, "--format", "json"))["rows"]
    text = run_command(capsys, "table", study, "--columns", names)
    lines = {line.split()[0]: line for line in text.splitlines() if line}
    for row in rows:
        _, delta, upper, lower, *_ = lines[row["cell"]].split()
        assert float(delta) == row["delta"]
        assert (upper == "-") == (row["upper_bound"] is None)
        assert upper == "-" or Fraction(upper) >= Fraction(repr(row["upper_bound"]))
        assert Fraction(lower) <= Fraction(repr(row["lower_bound"]))
        told = [row[f"{name}_interval"] for name in ("cost", "ratio", "error")]
        intervals = re.findall(r"\[.*?\]", lines[row["cell"]])
        for shown, ends in zip(intervals, [ends for ends in told if ends is not None], strict=True):
            assert_outward(shown, *ends)


# delta, as it was given


@given(st.floats(1e-300, 1.0, exclude_max=True, exclude_min=True))
def test_delta_is_kept_as_it_was_given(delta):
    if -log(delta) < 1e-15:
        return
    assert Parameters(delta=delta).delta == delta


@given(st.integers(1, 10**8 - 1), st.integers(8, 200))
def test_a_typed_delta_is_found_from_its_logarithm(digits, places):
    delta = float(f"{digits}e-{places}")
    assert recover_delta(-log(delta)) == delta
    assert float(typed_delta(-log(delta))) == delta
    assert Parameters(log_inv_delta=-log(delta)).delta == delta


def test_a_study_with_deltas_shows_deltas(study, capsys):
    for words in (["table", study], ["sweep", study.parent / "study.toml", "--out", study, "--dry-run"]):
        text = run_command(capsys, *words)
        assert "2.30259" not in text
        assert re.search(r"^m +0\.1 ", text, re.M)
    from caet_opt import load_results, summarise_results
    from caet_opt.presenting.report.page import report_page

    page = re.sub(r"<script.*?</script>", "", report_page(study), flags=re.S)
    assert "2.30259" not in page
    assert "<td>0.1</td>" in page
    assert set(summarise_results(study)["delta"]) == set(load_results(study)["delta"]) == {0.1, 0.05}
    manifest = json.loads((study / "manifest.json").read_text())
    assert {cell["delta"] for cell in manifest["cells"]} == {0.1, 0.05}
