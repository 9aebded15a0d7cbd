"""Programs in people's hands: solved from outside, extended, and read back with what they prove."""

from pathlib import Path

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest

from caet_opt import BanditModel, CharacteristicTime, InputError, SolverError, characteristic_time, epigraph, read_model
from caet_opt.solving.ipopt_provider import ipopt_module

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted(path.stem for path in (ROOT / "models").glob("*.toml"))

#: A free arm, a cone of each kind, a margin with an inner dual, levels, variances of their own, nothing to pay.
#: `analysis/epigraphs.py` has all models in both languages.
FEW = (
    "paper-instance-1",
    "bernoulli-two-arms",
    "non-inferior-model",
    "on-time",
    "gaussian-variances",
    "free-of-charge",
)

FOUR = BanditModel("bernoulli", [0.5, 0.45, 0.43, 0.4])
COSTS = BanditModel("gaussian", [1.5, 1, 0.5], costs=[1, 0.1, 0.01])

needs_ipopt = pytest.mark.skipif(ipopt_module() is None, reason="needs Ipopt as a library")


def clarabel(program, *added, **options):
    """The program's problem with constraints added, solved by CVXPY itself."""
    problem = cp.Problem(program.problem.objective, [*program.problem.constraints, *added])
    problem.solve(solver=cp.CLARABEL, **options)
    return problem


def check(result, model, task):
    expected = characteristic_time(model, task)
    assert isinstance(result, CharacteristicTime)
    assert result.gap <= 1e-8
    assert result.lower <= expected.upper
    assert expected.lower <= result.upper


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_solved_by_cvxpy_and_read_back(name):
    entry = read_model(name)
    if entry.task.several_right:
        with pytest.raises(InputError, match="has a program for each right answer, not one"):
            epigraph(entry.model, entry.task)
        return
    program = epigraph(entry.model, entry.task)
    rate = program.problem.solve(solver=cp.CLARABEL)
    result = program.read()
    check(result, entry.model, entry.task)
    assert rate == pytest.approx(result.information_rate, abs=1e-6)  # tolerances of solvers are absolute
    if program.statements:
        assert sum(np.sum(one.dual_value) for one in program.statements.values()) == pytest.approx(1, rel=1e-3)


@needs_ipopt
@pytest.mark.parametrize("name", FEW)
def test_models_are_solved_by_pyomo_and_read_back(name):
    entry = read_model(name)
    program = epigraph(entry.model, entry.task, "pyomo")
    program.solve()
    check(program.read(), entry.model, entry.task)


def test_it_is_printed_in_the_notation_of_the_paper():
    entry = read_model("paper-instance-1")
    texts = {str(epigraph(entry.model, entry.task, language)) for language in ("cvxpy", "pyomo")}
    (text,) = texts
    assert len(text.splitlines()) <= 15
    assert "w_0 + 2 w_2 = 1" in text
    assert "(0 > 2)" in text


def test_both_languages_have_the_same_names():
    entry = read_model("clinical-trial")
    conic, algebraic = (epigraph(entry.model, entry.task, language) for language in ("cvxpy", "pyomo"))
    assert list(conic.statements) == list(algebraic.statements)
    assert "antiviral > placebo" in conic.statements
    assert algebraic.effort["generic"] is algebraic.effort[2]
    assert isinstance(algebraic, pyo.ConcreteModel)
    for program in (conic, algebraic):
        for arm in ("placebo", 0):
            with pytest.raises(InputError, match=r"arm 0 \(placebo\) is free"):
                program.effort[arm]
        with pytest.raises(InputError, match="unknown arm 'placbo'; did you mean 'placebo'"):
            program.effort["placbo"]
    with pytest.raises(InputError, match="unknown language 'ampl'"):
        epigraph(entry.model, entry.task, "ampl")


# what was added

ADDED = {
    "half to the leader": (FOUR, 1019.37157322741, lambda w: w[0] == 0.5 * cp.sum(w)),
    "the other way round": (FOUR, 1019.37157322741, lambda w: 0.5 * cp.sum(w) == w["0"]),
    "at most": (FOUR, 1042.73091857524, lambda w: w["1"] <= 0.3),
    "all at once": (COSTS, 17.6047181223688, lambda w: w <= [0.5, 100, 1000]),
    "at least": (COSTS, 17.6047181223688, lambda w: 0.1 * w[1] + 0.01 * w[2] >= 0.5),
}


@pytest.mark.parametrize("name", ADDED)
def test_linear_constraints_are_certified(name):
    model, expected, add = ADDED[name]
    program = epigraph(model, "best-arm")
    found = program.read(clarabel(program, add(program.effort)))
    assert found.gap <= 1e-10
    assert found.lower - 1e-11 <= expected <= found.upper + 1e-11
    assert "with added constraints" in str(found)
    program.effort.value = found.effort / found.value
    assert np.all(add(program.effort).violation() <= 1e-14)


PYOMO_ADDED = {
    "a constraint": lambda m: setattr(m, "own", pyo.Constraint(expr=m.effort[1] <= 0.3)),
    "the other way round": lambda m: setattr(m, "own", pyo.Constraint(expr=-m.effort["1"] >= -0.3)),
    "in a block": lambda m: (
        setattr(m, "more", pyo.Block()),
        setattr(m.more, "own", pyo.Constraint(expr=(0.1, m.effort[1], 0.3))),
    ),
    "a bound": lambda m: m.effort[1].setub(0.3),
    "a value": lambda m: m.effort[1].fix(0.3),
}


@needs_ipopt
@pytest.mark.parametrize("name", PYOMO_ADDED)
def test_whatever_limits_a_pyomo_model_counts(name):
    program = epigraph(FOUR, "best-arm", "pyomo")
    PYOMO_ADDED[name](program)
    program.solve()
    found = program.read()
    assert found.gap <= 1e-10
    assert found.lower - 1e-11 <= 1042.73091857524 <= found.upper + 1e-11
    assert found.cost_proportions[1] == pytest.approx(0.3, rel=1e-12)


@needs_ipopt
def test_what_is_not_linear_has_an_upper_bound_and_that_of_the_program_below():
    program = epigraph(FOUR, "best-arm")
    slack = cp.Variable()  # one of one's own
    conic = program.read(clarabel(program, cp.norm(program.effort[1]) <= slack, slack <= 0.3))
    model = epigraph(FOUR, "best-arm", "pyomo")
    model.own = pyo.Constraint(expr=model.effort[1] ** 2 <= 0.09)
    model.solve()
    for found in (conic, model.read()):
        assert found.lower <= 989.792140262026 * (1 + 1e-12)
        assert found.lower == pytest.approx(989.792140262026)
        assert found.upper == pytest.approx(1042.73091857524, rel=1e-3)
        assert found.upper * (1 + found.violation) >= 1042.73
        assert found.violation < 1e-6


def test_limits_are_constraints_of_the_program():
    program = epigraph(FOUR, "best-arm", limits=["pulls:leader=0.5"])
    assert "(pulls:leader=0.5)" in str(program)
    program.problem.solve(solver=cp.CLARABEL)
    found = program.read()
    assert found.lower - 1e-11 <= 1019.37157322741 <= found.upper + 1e-11
    assert found.limits[0].share == pytest.approx(0.5)


MARGIN = BanditModel("exponential", [2, 1.2, 0.7], costs=[1, 1, 3])


@needs_ipopt
def test_terms_without_a_cone_are_cuts_that_touch_at_the_optimum():
    """Added constraints need more of them: `tighten` says so."""
    program, model = (epigraph(MARGIN, "control:1+0.1", language) for language in ("cvxpy", "pyomo"))
    assert program.problem.solve(solver=cp.CLARABEL) == pytest.approx(1 / 63.054247495882, rel=1e-6)
    check(program.read(), MARGIN, "control:1+0.1")
    model.effort[0].setub(0.2)
    gaps = []
    while not gaps or (model.tighten() and len(gaps) < 30):
        limited = clarabel(program, program.effort[0] <= 0.2)
        model.solve()
        gaps.append(model.read().gap)
        program.tighten()
    first, second = program.read(limited), model.read()
    assert gaps[-1] < 1e-8
    assert first.lower <= second.upper
    assert second.lower <= first.upper


# what is refused


def test_another_problem_is_refused():
    program = epigraph(FOUR, "best-arm")
    with pytest.raises(SolverError, match="no solution to read: the status of the problem is None"):
        program.read()
    with pytest.raises(SolverError, match="'infeasible'"):
        program.read(clarabel(program, program.effort[0] >= 2))
    kept = [one for one in program.problem.constraints if one is not program.statements["0 > 2"]]
    with pytest.raises(InputError, match="lacks the constraint '0 > 2'"):
        program.read(cp.Problem(program.problem.objective, kept))
    with pytest.raises(InputError, match="another objective"):
        program.read(cp.Problem(cp.Maximize(2 * program.rate), program.problem.constraints))
    with pytest.raises(InputError, match="is about the rate"):
        program.read(clarabel(program, program.rate <= 1e-4))
    program.problem.solve(solver=cp.CLARABEL)
    with pytest.raises(SolverError, match="certified gap") as caught:
        program.read(tolerance=1e-18)
    assert 0 < caught.value.gap < 1e-12


def test_another_model_is_refused():
    def refuse(change, words):
        program = epigraph(FOUR, "best-arm", "pyomo")
        change(program)
        with pytest.raises(InputError, match=words):
            program.read()

    refuse(lambda m: m.statements["0 > 2"].deactivate(), "lacks the constraint .*0 > 2")
    refuse(lambda m: (m.objective.deactivate(), setattr(m, "o", pyo.Objective(expr=m.effort[0]))), "another objective")
    refuse(lambda m: m.rate.setub(1e-4), "the rate is fixed or has bounds")
    refuse(lambda m: setattr(m, "own", pyo.Constraint(expr=m.rate <= 1e-4)), "'own' is about 'rate'")
    refuse(lambda m: setattr(m, "own", pyo.SOSConstraint(var=m.effort, sos=1)), "SOSConstraint")


@needs_ipopt
def test_a_point_without_multipliers_will_do():
    program = epigraph(FOUR, "best-arm", "pyomo")
    program.solve()
    program.dual.clear()
    check(program.read(), FOUR, "best-arm")
