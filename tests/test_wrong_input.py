"""What Python is given that is none of what a function takes: one line that says what would be right."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from commands import expect_refusal, run_command

from caet_opt import (
    BanditModel,
    InputError,
    TieError,
    characteristic_table,
    characteristic_time,
    paired,
    read_model,
    run_study,
    simulate,
)
from caet_opt.common.shipped import shipped_names
from caet_opt.solving.result import bound_per_time

MODEL = BanditModel("bernoulli", [0.5, 0.4])
RESULT = characteristic_time(MODEL, "best-arm")
NEEDS_TASK = r"a model needs its task: give \(model, task\), a ModelFile or a path, got BanditModel"
OF_NAME = r"must be a BanditModel, got 'paper-instance-1'; read_model\('paper-instance-1'\)\.model is"
NAMED = {"a, x": [1, 0], "b": [1, 1]}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: characteristic_time("paper-instance-1", "ranking"), OF_NAME),
        (lambda: simulate("paper-instance-1", "ranking", delta=0.1), OF_NAME),
        (lambda: characteristic_time(read_model("paper-instance-1"), "ranking"), "give the model of this ModelFile"),
        (lambda: RESULT.lower_bound(delta="0.05"), "must be a number strictly between 0 and 1, got '0.05'"),
        (lambda: RESULT.lower_bound(delta=True), "must be a number strictly between 0 and 1, got True"),
        (lambda: RESULT.lower_bound(log_inv_delta="3"), "must be positive and finite, got '3'"),
        (lambda: characteristic_table(MODEL), NEEDS_TASK),
        (lambda: characteristic_table([MODEL]), NEEDS_TASK),
        (lambda: characteristic_table({"x": MODEL}), NEEDS_TASK),
        (lambda: characteristic_table(3), "a ModelFile or a path, got 3"),
        (lambda: characteristic_table((MODEL, "best-arm"), deltas="0.1"), "delta must be a number .*, got '0.1'"),
        (lambda: run_study({"models": []}), "a study is a TOML file; give its path, got {'models'"),
        (lambda: simulate(MODEL, "best-arm", delta=0.1, runs=5.0), "must be a positive whole number, got 5.0"),
        (lambda: simulate(MODEL, "best-arm", delta=0.1, policy="caet,uniform"), "; compare_policies takes several"),
        (lambda: characteristic_time(MODEL, "best-arm~2"), "'best-arm~2': tolerance 2 is as large as the difference"),
        (lambda: characteristic_time(MODEL, "comparisons:0-1+0.6~0.5"), "margin -1.1 is as large as the difference"),
        (lambda: characteristic_time(MODEL, "top-arms:2"), "top-arms:2 needs more than 2 arms, got 2; M must be 1"),
        (lambda: paired({"a": [50, 60], "b": [1, 1]}), "'a' must be numbers from 0 to 1, got 50; divide"),
        (lambda: paired({"a": ["0.25", "1"], "b": [1, 1]}), "'a' must be numbers, got '0.25'"),
        (lambda: paired({"a": 5, "b": [1, 1]}), "'a' must be a list of numbers, got 5"),
        (lambda: paired({"a": np.array([1j, 1]), "b": [1, 1]}), "'a' must be numbers, got np.complex128"),
        (lambda: paired({"a, x": [1, 0], "b": [np.nan, 1]}), "1 of 2 items lack a score, first item: 0, model 'b'; "),
        (lambda: paired(NAMED, against="q"), "unknown model 'q'; known: 'a, x', b"),
        (lambda: paired(NAMED, {"a": 1}), "by its name, 'a, x', b, got costs of a"),
        (lambda: BanditModel("bernoulli", np.zeros((50, 50))), "means must be numbers, got array"),
        (lambda: BanditModel("bernoulli", np.array([0.5, 0.4 + 0j])), "means must be numbers, got np.complex128"),
    ],
)
def test_one_line_says_what_would_be_right(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_one_delta_is_a_number_or_a_list():
    told = [characteristic_table((MODEL, "best-arm"), deltas=deltas).lower_bound[0] for deltas in (0.1, [0.1])]
    assert told[0] == told[1] == RESULT.lower_bound(0.1)
    assert RESULT.lower_bound(Decimal("0.1")) == RESULT.lower_bound(Fraction(1, 10)) == told[0]


@pytest.mark.parametrize(
    ("costs", "words"),
    [([1e300, 1e-300], r"the costs 1e\+300 of arm 0 and 1e-300 of arm 1 are too far apart"), ([1, 1], None)],
)
def test_costs_are_blamed_where_they_are_at_fault(costs, words):
    if words is None:
        model, words = BanditModel("gaussian", [1e-200, 2e-200], costs), "the divergence between arms 1 and 0"
    else:
        model = MODEL.with_numbers(costs=costs)
    with pytest.raises(InputError, match=words):
        characteristic_time(model, "best-arm")


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("best-arm", "as best-arm~0.02"),
        ("comparisons:0-1", "as comparisons:0-1~0.02"),
        ("control:0", "separate them or drop the pair"),
    ],
)
@pytest.mark.parametrize("lower_is_better", [False, True])
def test_a_tie_ends_by_a_tolerance(task, words, lower_is_better):
    tied = BanditModel("bernoulli", [0.5, 0.5], lower_is_better=lower_is_better)
    with pytest.raises(TieError, match=words):
        characteristic_time(tied, task)


def test_a_lower_bound_is_one_to_the_last_bit():
    """In 50 digits, for the delta and the T* that a double is; near 1/2, where the bound is zero, as well."""
    rng = np.random.default_rng(1)
    deltas = [
        *rng.uniform(0, 0.5, 500),
        *10.0 ** rng.uniform(-300, -1, 500),
        *(0.5 - 10.0 ** rng.uniform(-16, -1, 500)),
    ]
    with mpmath.workdps(50):
        for delta, lower in zip(deltas, rng.uniform(1, 1000, len(deltas)), strict=True):
            level, exact, time = -float(np.log(delta)), mpmath.mpf(float(delta)), mpmath.mpf(lower)
            kl = time * (1 - 2 * exact) * mpmath.log((1 - exact) / exact)
            assert lower * bound_per_time(level) <= kl
            assert lower * bound_per_time(level, "log") <= max(0, -time * mpmath.log(mpmath.mpf("2.4") * exact))
            if delta < 0.3:
                assert lower * bound_per_time(level) >= (1 - mpmath.mpf("1e-14")) * kl


def test_a_mark_of_utf_8_is_no_part_of_a_file(tmp_path, capsys):
    text = 'family = "bernoulli"\nmeans = [0.5, 0.4]\ntask = "best-arm"\n'
    (tmp_path / "model.toml").write_text(text, encoding="utf-8-sig")
    (tmp_path / "solver.toml").write_text('backend = "native"\n', encoding="utf-8-sig")
    (tmp_path / "study.toml").write_text('models = ["model.toml"]\ndeltas = 0.1\nruns = 1\n', encoding="utf-8-sig")
    assert "T* = " in run_command(capsys, "solve", tmp_path / "model.toml", "--solver", tmp_path / "solver.toml")
    run_command(capsys, "sweep", tmp_path / "study.toml", "--dry-run")


@pytest.mark.parametrize(
    ("given", "warned"),
    [("197.65", False), ("198", False), ("200", True), ("19.77", True), ("197.6", False), ("197.7561", True)],
)
def test_an_expected_time_that_is_none_is_warned_of(given, warned, tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text(
        f'family = "bernoulli"\nmeans = [0.5, 0.4]\ntask = "best-arm"\ncharacteristic_time = {given}\n',
        encoding="utf-8",
    )
    words = "WARNING: the expected characteristic_time is outside the certified interval of T*; correct it"
    assert (words in run_command(capsys, "solve", path)) == warned


@pytest.mark.parametrize("name", shipped_names("models"))
def test_models_of_the_catalogue_have_the_time_that_they_say(name, capsys):
    assert "WARNING" not in run_command(capsys, "solve", name)


@pytest.mark.parametrize("command", [[], ["plan"], ["models"]])
def test_help_that_cannot_be_written_is_an_error(command):
    with open("/dev/full", "wb") as full:
        argv = [sys.executable, "-m", "caet_opt", *command, "--help"]
        found = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 1
    assert found.stderr == "caet-opt: error: cannot write the output (No space left on device)\n"


def test_control_characters_are_refused_where_names_come_in(capsys):
    argv = ["solve", "--family", "bernoulli", "--means", "0.5,0.4", "--task", "best-arm", "--arms", "a,b\x7f"]
    expect_refusal(capsys, *argv, words="the name of an arm has the control character '\\x7f': 'b\\x7f'; remove it")
