"""`caet-opt verify`: right formulas hold, planted errors are caught, users' files are read with clear complaints."""

import json
import shlex
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
import sympy
from commands import expect_refusal

from caet_opt import BanditModel, Custom, Gaussian, InputError, Ranking, SolverError, verify_formula
from caet_opt.cli import main
from caet_opt.cli.verify import write_command
from caet_opt.proving import verification
from caet_opt.proving.closed_forms import CLOSED_FORMS
from caet_opt.proving.closed_forms.gaussian_pairs import D_2, D_3, GOLDEN, ThreeArmGaps, ThreeArmRanking, g
from caet_opt.proving.verification import judges, make_plan, verify, wrap_closed_form
from caet_opt.proving.verification.formula import draw_many
from caet_opt.simulating.pool import is_portable, run_jobs
from caet_opt.solving.backends.clarabel import Clarabel

NATIVE = make_plan(["native"], 0, 50, 0)
PAPER = BanditModel(Gaussian(), [3, 4, 2], "gaps")
QUICK = ["--slow", "0", "--proven", "0", "--workers", "1"]

USER = """
from caet_opt import BanditModel, BestArm, Gaussian

def characteristic_time(model, task):
    gap = model.means[0] - model.means[1]
    return {factor} * 2 * (model.costs[0] ** 0.5 + model.costs[1] ** 0.5) ** 2 / gap**2

def draw(rng):
    return BanditModel(Gaussian(), rng.normal(size=2), 10 ** rng.uniform(-3, 3, 2)), BestArm()
"""


def judged(verification):
    return {entry.judge: entry for entry in verification.judged}


def planted(form, formula):
    """A closed form with another formula."""
    return type("Planted", (form,), {"formula": formula})()


@pytest.fixture
def user(tmp_path):
    def write(text):
        path = tmp_path / "my_formula.py"
        path.write_text(text)
        return str(path)

    return write


def run(capsys, *argv):
    status = main(["verify", *argv])
    out, err = capsys.readouterr()
    return status, out, err


# right formulas hold


def test_every_form_holds_with_every_solver(capsys):
    status, out, err = run(capsys, "--instances", "12", "--slow", "1", "--proven", "0")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert "native on every instance; clarabel" in lines[0]
    assert [line.split()[0] for line in lines[4:]] == list(CLOSED_FORMS)
    assert all(line.endswith("holds") for line in lines[4:])


def test_proven_digits_of_the_papers_example():
    def time(model, task):
        return 6 + 4 * mpmath.sqrt(2)

    verification = verify_formula(time, [(PAPER, "ranking")], solvers=["native"])
    assert verification.holds
    assert judged(verification)["50 digits"].worst_error < 1e-50


def test_proven_digits_of_a_closed_form():
    (verification,) = verify(
        [wrap_closed_form(CLOSED_FORMS["two-arms-one-free"], 10, 0)], make_plan(["native"], 0, 40, 10)
    )
    assert verification.holds
    entry = judged(verification)["40 digits"]
    assert entry.instances > entry.unsolved
    assert entry.worst_error < 1e-40


def test_the_number_of_workers_changes_nothing():
    formulas = [wrap_closed_form(CLOSED_FORMS[name], 40, 3) for name in ("two-gaussian-arms", "three-arm-ranking")]
    assert verify(formulas, NATIVE) == verify(formulas, NATIVE, partial(run_jobs, workers=2))


def test_the_order_of_the_instances_changes_nothing(solver):
    def backwards(do, shared, jobs):
        return verification.run_here(do, shared, jobs[::-1])

    formulas, plan = [wrap_closed_form(CLOSED_FORMS["three-arm-ranking-gaps"], 16, 0)], make_plan([solver], 16, 50, 0)
    assert verify(formulas, plan) == verify(formulas, plan, backwards)


def test_formulas_can_be_sent_to_a_spawned_process():
    assert is_portable([wrap_closed_form(form, 1, 0) for form in CLOSED_FORMS.values()])


# without ball arithmetic


@pytest.fixture
def no_flint(monkeypatch):
    """As if python-flint were not installed."""
    monkeypatch.setattr("caet_opt.proving.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "flint", None)


def test_without_flint_the_proven_digits_are_left_out(no_flint, capsys):
    status, out, err = run(capsys, "two-gaussian-arms", "--instances", "2", "--slow", "0", "--workers", "1")
    assert (status, err) == (0, "")
    assert "left out: proven digits need the module 'flint'; install it with: pip install 'caet-opt[proofs]', or" in out
    assert "50 digits" not in out
    assert verify_formula(lambda model, task: 6 + 4 * 2**0.5, [(PAPER, "ranking")], solvers=["native"]).holds


def test_without_flint_proven_digits_that_were_asked_for_are_refused(no_flint, capsys):
    status, out, err = run(capsys, "two-gaussian-arms", "--proven", "2")
    assert (status, out) == (2, "")
    assert err.startswith("caet-opt: error: proven digits need the module 'flint'")


def test_the_heading_names_only_columns_that_there_are(user, capsys):
    status, out, _ = run(capsys, "--formula", user(USER.format(factor=1)), "--instances", "2", "--slow", "0")
    assert status == 0
    assert "digits" not in out


# planted errors are caught

(first, condition), (second, _) = ThreeArmGaps.formula.args
(general_first, general_condition), (general_second, _) = ThreeArmRanking.formula.args


@pytest.mark.parametrize("factor", [0.99, 0.9999, 1.0001, 1.01])
def test_branch_condition_of_gaps_off_by_a_little(factor):
    formula = sympy.Piecewise((first, sympy.Le(D_3, factor * GOLDEN * D_2)), (second, True))
    (verification,) = verify([wrap_closed_form(planted(ThreeArmGaps, formula), 200, 0)], NATIVE)
    assert not verification.holds
    assert judged(verification)["native"].failures > 0


@pytest.mark.parametrize("factor", [1 - sympy.Rational(1, 10**8), 1 + sympy.Rational(1, 10**8)])
def test_branch_condition_off_by_so_little_that_only_proven_digits_show_it(factor):
    formula = sympy.Piecewise((first, sympy.Le(D_3, factor * GOLDEN * D_2)), (second, True))
    formulas = [wrap_closed_form(planted(ThreeArmGaps, formula), 100, 0)]
    (verification,) = verify(formulas, make_plan(["native"], 0, 50, None))
    assert judged(verification)["native"].failures == 0
    assert judged(verification)["50 digits"].failures > 0


@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_branch_condition_of_any_costs_off_by_a_little(factor):
    wrong = general_condition.subs(g, factor * g)
    formula = sympy.Piecewise((general_first, wrong), (general_second, True))
    (verification,) = verify([wrap_closed_form(planted(ThreeArmRanking, formula), 200, 0)], NATIVE)
    assert not verification.holds


@pytest.mark.parametrize("form", CLOSED_FORMS.values(), ids=CLOSED_FORMS)
def test_a_relative_error_of_1e_10(form):
    def time(model, task):
        return Fraction(form.decimal_time(model, task, 40)) * (1 + Fraction(1, 10**10))

    instances = draw_many(form.draw, 10, 0)
    verification = verify_formula(time, instances, solvers=["native"], proven=0)
    assert judged(verification)["native"].failures > 5


def test_an_error_that_only_proven_digits_show():
    def time(model, task):
        return (6 + 4 * mpmath.sqrt(2)) * (1 + mpmath.mpf(10) ** -40)

    verification = verify_formula(time, [(PAPER, Ranking())], solvers=["native"])
    assert judged(verification)["native"].failures == 0
    assert judged(verification)["50 digits"].failures == 1
    assert verification.failure.error == pytest.approx(1e-40)


def test_wrong_proportions():
    def time(model, task):
        return 6 + 4 * 2**0.5

    def proportions(model, task):
        return [0.585, 0.0, 0.415]

    verification = verify_formula(
        time, [(PAPER, "ranking")], sampling_proportions=proportions, solvers=["native"], proven=0
    )
    assert judged(verification)["u*"].failures == 1
    assert verification.failure.judge == "u*"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), mpmath.inf, sympy.oo, 0, 12, sympy.Integer(11)])
def test_wrong_numbers_of_any_kind(value):
    verification = verify_formula(lambda model, task: value, [(PAPER, "ranking")], solvers=["native"], proven=0)
    assert not verification.holds


@pytest.mark.parametrize("value", [11.656854249492381, np.float64(11.656854249492381), 6 + 4 * sympy.sqrt(2)])
def test_right_numbers_of_any_kind(value):
    assert verify_formula(lambda model, task: value, [(PAPER, "ranking")], solvers=["native"], proven=1).holds


# solvers that have no answer


def test_a_solver_without_an_answer_is_counted(monkeypatch, capsys):
    def refuse(*_):
        raise SolverError("no point")

    monkeypatch.setattr(Clarabel, "solve", refuse)
    status, out, _ = run(capsys, "two-gaussian-arms", "--instances", "3", "--solvers", "native", "clarabel", *QUICK[2:])
    assert status == 0
    assert "(3 unsolved)" in out
    status, out, _ = run(capsys, "two-gaussian-arms", "--instances", "3", "--solvers", "clarabel", *QUICK[2:])
    assert status == 1
    assert "nothing is verified" in out


def test_an_interval_that_is_not_finite_is_no_answer(monkeypatch):
    solved = judges.characteristic_time
    monkeypatch.setattr(
        judges, "characteristic_time", lambda *given, **how: replace(solved(*given, **how), upper=float("nan"))
    )
    verification = verify_formula(lambda model, task: 11.65, [(PAPER, "ranking")], solvers=["native"], proven=0)
    assert verification.judged[0].unsolved == 1
    assert not verification.holds


def test_a_proof_vindicates_a_formula_against_a_wrong_interval(monkeypatch, capsys):
    solved = judges.characteristic_time

    def lowered(*given, **how):
        result = solved(*given, **how)
        return replace(result, lower=0.9 * result.lower, upper=0.99 * result.upper)

    monkeypatch.setattr(judges, "characteristic_time", lowered)
    status, out, _ = run(capsys, "two-gaussian-arms", "--instances", "3", "--slow", "0", "--workers", "1")
    assert status == 1
    assert out.endswith("the proven digits agree with the formula here, so suspect the solver\n")


def test_interrupted(monkeypatch, capsys):
    done = []

    def interrupted(*arguments):
        done.append(arguments)
        if len(done) > 5:
            raise KeyboardInterrupt
        return judges.check(*arguments)

    monkeypatch.setattr(verification, "check", interrupted)
    status, out, err = run(capsys, "two-gaussian-arms", "three-arm-ranking", "--instances", "9", *QUICK)
    assert status == 130
    assert err == "caet-opt: interrupted, 5 of 18 instances are checked\n"
    assert out.splitlines()[-1].split()[:2] == ["two-gaussian-arms", "5"]


# a user's file


def test_a_users_formula_holds(user, capsys):
    status, out, err = run(capsys, "--formula", user(USER.format(factor=1)), "--instances", "30", *QUICK)
    assert (status, err) == (0, "")
    assert out.splitlines()[-1].split()[:2] == ["my_formula", "30"]


def test_a_users_formula_fails_and_its_worst_instance_can_be_solved(user, capsys):
    status, out, _ = run(capsys, "--formula", user(USER.format(factor=1.0000000001)), "--instances", "30", *QUICK)
    assert status == 1
    assert "my_formula FAILS (30 by native)" in out
    words = shlex.split(out.splitlines()[-1])
    assert words[:2] == ["caet-opt", "solve"]
    assert main(words[1:]) == 0


def test_json(user, capsys):
    text = USER.format(factor=1).replace("return 1 *", "return float('nan') *")
    status, out, _ = run(capsys, "--formula", user(text), "--instances", "2", "--json", *QUICK)
    assert status == 1
    (entry,) = json.loads(out, parse_constant=pytest.fail)["formulas"]
    assert entry["name"] == "my_formula"
    assert not entry["holds"]
    assert entry["failure"]["error"] is None
    assert entry["failure"]["instance"].startswith("caet-opt solve --family gaussian --means ")


def test_a_list_of_instances_is_used_entirely(user, capsys):
    text = "from caet_opt import BanditModel, Gaussian\nMODEL = BanditModel(Gaussian(), [3, 4, 2], 'gaps')\n"
    text += "INSTANCES = [(MODEL, 'ranking')] * 3\n"
    text += "def characteristic_time(model, task):\n    return 6 + 4 * 2 ** 0.5\n"
    text += "def sampling_proportions(model, task):\n    return [2 - 2**0.5, 0, 2**0.5 - 1]\n"
    status, out, _ = run(capsys, "--formula", user(text), "--instances", "1", *QUICK)
    assert status == 0
    assert out.splitlines()[-1].split()[:2] == ["my_formula", "3"]


DRAW = "from caet_opt import *\ndef draw(rng):\n    return BanditModel(Gaussian(), [1, 0], [1, 1]), 'ranking'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def characteristic_time(model, task)\n", "line 1 is not valid Python: expected ':'"),
        ("import caet_optt\n", "cannot be loaded: ModuleNotFoundError: No module named 'caet_optt'"),
        ("raise SystemExit(3)\n", "cannot be loaded: SystemExit: 3"),
        (DRAW, "the file must define the function characteristic_time(model, task)"),
        ("def characteristic_time(model, task): return 1.0\n", "the file must define draw(rng), or a list INSTANCES"),
        ("def characteristic_time(model, task): return 1.0\nINSTANCES = 3\n", "INSTANCES must be a list of pairs"),
        ("def characteristic_time(model, task): return 1.0\nINSTANCES = []\n", "there is no instance"),
        ("def characteristic_time(model, task): return 1.0\nINSTANCES = [3]\n", "instance 0 must be a pair"),
        (
            "def characteristic_time(model, task): return 1.0\ndef draw(rng): return 1 / 0\n",
            "draw failed: ZeroDivision",
        ),
        (
            DRAW + "def characteristic_time(model, task): return 1 / 0\n",
            "instance 0: characteristic_time failed: ZeroDiv",
        ),
        (DRAW + "def characteristic_time(model): return 1.0\n", "characteristic_time failed: TypeError"),
        (DRAW + "def characteristic_time(model, task): return None\n", "must return a number, got None"),
        (DRAW.replace("[1, 0]", "[1, 1]") + "def characteristic_time(model, task): return 1.0\n", "equal means"),
        (DRAW.replace("ranking", "rankin") + "def characteristic_time(model, task): return 1.0\n", "'ranking'?"),
        (
            DRAW
            + "def characteristic_time(model, task): return 8.0\ndef sampling_proportions(model, task): return 1\n",
            "sampling_proportions must return one number, zero or more, per arm, got 1",
        ),
    ],
)
def test_mistakes_in_a_users_file(user, capsys, text, message):
    path = user(text)
    status, out, err = run(capsys, "--formula", path, *QUICK)
    assert (status, out) == (2, "")
    assert message in err
    assert "my_formula" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["two-arm"], "unknown closed form 'two-arm'"),
        (["--formula", "nowhere.py"], "nowhere.py: no such file"),
        (["two-gaussian-arms", "--formula", "f.py"], "names of closed forms or --formula FILE.py, not both"),
        (["--instances", "0"], "--instances must be 1 or more, got 0"),
        (["--slow", "-1"], "--slow must be 0 or more, got -1"),
        (["--digits", "0"], "--digits must be 1 or more, got 0"),
        (["--seed", "x"], "must be a whole number, zero or more, got 'x'"),
        (["--solvers", "mosek"], "unknown solver 'mosek'"),
    ],
)
def test_wrong_arguments(capsys, argv, message):
    expect_refusal(capsys, "verify", *argv, words=message)


def test_wrong_numbers_in_python():
    with pytest.raises(InputError, match="proven must be a whole number, zero or more, got -1"):
        verify_formula(lambda model, task: 1.0, [(PAPER, "ranking")], proven=-1)


def test_the_list_of_forms(capsys):
    status, out, _ = run(capsys, "--list")
    assert status == 0
    assert all(f"{form.name}: {form.title}" in out for form in CLOSED_FORMS.values())
    status, out, _ = run(capsys, "decoupled", "--list", "--json")
    assert [entry["name"] for entry in json.loads(out)] == ["decoupled"]


def test_an_instance_of_a_custom_task_is_shown_as_a_model_file():
    text = write_command(PAPER, Custom([[(0, 1)], [(1, 0)]]))
    assert 'family = "gaussian"' in text
    assert "answers = " in text
