"""Programs are built once per shape, their derivatives are right, and they read like the paper."""

import numpy as np
import pytest
from inverse_gaussian import InverseGaussian
from problems import FAMILIES, TASKS, random_instance, stated_instance

import caet_opt
from caet_opt import BanditModel, Bernoulli, Gaussian, SolverError, characteristic_time, parse_task
from caet_opt.solving.problem import pose
from caet_opt.solving.programs.cache import clear_programs, program_counts
from caet_opt.solving.programs.cuts import FIRST_FACTORS, Cuts
from caet_opt.solving.programs.nonlinear import NonlinearProgram
from caet_opt.solving.programs.scaling import units


def test_new_means_and_costs_never_rebuild(solver):
    clear_programs()
    for means, costs in (
        ([3, 4, 2], [1, 2, 3]),
        ([0.1, 0.5, 0.9], [5, 1, 1]),
        ([9, -1, 2], [1e-3, 1, 1e3]),
    ):
        characteristic_time(BanditModel(Gaussian(), means, costs), "ranking", solver=solver)
    assert program_counts(solver) == (1, 3)


def test_relabelled_arms_share_a_program(solver):
    clear_programs()
    for means in ([0.9, 0.5, 0.1], [0.1, 0.5, 0.9], [0.5, 0.9, 0.1]):
        characteristic_time(BanditModel(Bernoulli(), means, "gaps"), "ranking", solver=solver)
        characteristic_time(BanditModel(Bernoulli(), means, [1, 1, 1]), "best-arm", solver=solver)
    assert program_counts(solver) == (2, 6)


def test_another_shape_is_another_program(solver):
    clear_programs()
    model = BanditModel(Gaussian(), [3, 2, 1], [1, 1, 1])
    characteristic_time(model, "ranking", solver=solver)
    characteristic_time(BanditModel(Gaussian(), [3, 2, 1], [1, 1, 0]), "ranking", solver=solver)
    characteristic_time(BanditModel(Bernoulli(), [0.3, 0.2, 0.1], [1, 1, 1]), "ranking", solver=solver)
    assert program_counts(solver) == (3, 3)


@pytest.mark.parametrize("kind", ["nonlinear", "algebraic"])
@pytest.mark.parametrize("family", [*FAMILIES, "inverse-gaussian"])
def test_derivatives_match_finite_differences(kind, family):
    rng = np.random.default_rng(5)
    name = "exponential" if family == "inverse-gaussian" else family
    model, task = random_instance(rng, name, "ranking", 6)
    if family == "inverse-gaussian":
        model = BanditModel(InverseGaussian(), model.means, model.costs)
    problem = pose(model, task)
    if kind == "algebraic":
        pytest.importorskip("pyomo")
        from caet_opt.solving.programs.algebraic import AlgebraicProgram

        program = AlgebraicProgram(problem.shape)
    else:
        program = NonlinearProgram(problem.shape)
    check_derivatives(program, problem, rng)


@pytest.mark.parametrize("kind", ["nonlinear", "algebraic"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(6))
def test_derivatives_with_statements_match_finite_differences(kind, family, seed):
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    problem = pose(*stated_instance(rng, family, 5, spread=1.0))
    if kind == "algebraic":
        pytest.importorskip("pyomo")
        from caet_opt.solving.programs.algebraic import AlgebraicProgram

        check_derivatives(AlgebraicProgram(problem.shape), problem, rng)
    else:
        check_derivatives(NonlinearProgram(problem.shape), problem, rng)


def check_derivatives(program, problem, rng):
    """Jacobian and Hessian of a program against differences of its constraints and Jacobian."""
    program.update(problem)
    z = rng.uniform(0.7, 1.4, program.variables)
    multipliers = rng.uniform(-1.0, 1.0, len(program.limits()[0]))
    jacobian = dense(program.jacobianstructure(), program.jacobian(z), (len(multipliers), len(z)))
    lower = dense(program.hessianstructure(), program.hessian(z, multipliers, 1.0), (len(z), len(z)))
    hessian = lower + np.tril(lower, -1).T
    for i in range(len(z)):
        step = np.zeros(len(z))
        step[i] = 1e-6
        slope = (program.constraints(z + step) - program.constraints(z - step)) / 2e-6
        np.testing.assert_allclose(jacobian[:, i], slope, rtol=1e-5, atol=1e-6)
        ahead = dense(program.jacobianstructure(), program.jacobian(z + step), jacobian.shape)
        behind = dense(program.jacobianstructure(), program.jacobian(z - step), jacobian.shape)
        np.testing.assert_allclose(hessian[i], multipliers @ (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-5)


def test_new_means_margins_and_costs_never_rebuild(solver):
    for family in ("bernoulli", "poisson", "exponential", "geometric"):
        clear_programs()
        for means, costs, margin in (
            ([0.3, 0.4], [1, 2], 0.2),
            ([0.8, 0.5], [3, 1e-2], 0.1),
            ([0.1, 0.2], [1, 1], 0.4),
        ):
            model = BanditModel(family, means, costs)
            characteristic_time(model, f"control:1-{margin}", solver=solver)
        assert program_counts(solver) == (1, 3)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
@pytest.mark.parametrize("margin", ["+0.1", "-0.1"])
def test_the_dual_of_a_margin_is_its_term(family, margin):
    """At the first guess, in which its variables are measured, there is no gap."""
    pytest.importorskip("pyomo")
    from caet_opt.solving.programs.algebraic import AlgebraicProgram

    problem = pose(BanditModel(family, [0.8, 0.45, 0.3], [1, 2, 3]), parse_task(f"control:1{margin}"))
    program = AlgebraicProgram(problem.shape)
    scale = program.update(problem)
    found = program.constraints(np.ones(program.variables))[program.blocks["inner"].rows]
    terms = problem.terms(scale.effort)[: len(problem.shape.margins)]
    np.testing.assert_allclose(found, terms / scale.information - 1.0, atol=1e-11)


def test_cuts_are_above_the_term_and_touch_it():
    problem = pose(BanditModel("exponential", [5, 0.03], [3.455, 1]), parse_task("control:1+1"))
    scale = units(problem)
    cuts, rng = Cuts(problem, scale), np.random.default_rng(3)
    assert cuts.rates.shape == (2, 2, len(FIRST_FACTORS))  # a statement with two minima, so two edges
    for _ in range(100):
        x = 10.0 ** rng.uniform(-6, 6, 2)
        terms = problem.terms(scale.effort * x) / scale.information
        levels = cuts.rates[0] * x[problem.heads, None] + cuts.rates[1] * x[problem.tails, None]
        assert np.all(levels.min(axis=1) >= terms * (1 - 1e-12))
        assert not cuts.tighten(x, float(np.min(terms)))
        assert cuts.tighten(x, 2 * float(np.max(terms)))
        levels = cuts.rates[0] * x[problem.heads, None] + cuts.rates[1] * x[problem.tails, None]
        np.testing.assert_allclose(levels.min(axis=1), terms, rtol=1e-12)


def test_too_few_rounds_of_cuts_are_refused(monkeypatch):
    model = BanditModel("geometric", [7, 5, 4], [1, 2, 1])
    monkeypatch.setattr("caet_opt.solving.programs.cuts.MOST_ROUNDS", 2)
    monkeypatch.setattr("caet_opt.solving.characteristic.polish", lambda problem, point: iter(()))
    with pytest.raises(SolverError, match=r"status: optimal, 2 rounds of cuts"):
        characteristic_time(model, "control:1+0.9", solver="clarabel")


def dense(structure, values, shape):
    matrix = np.zeros(shape)
    np.add.at(matrix, structure, values)
    return matrix


@pytest.mark.parametrize("task", TASKS)
def test_programs_agree_on_the_terms(task):
    """The Pyomo expressions and the analytic terms are the same functions."""
    from caet_opt.solving.programs.algebraic import AlgebraicProgram

    rng = np.random.default_rng(8)
    for family in FAMILIES:
        problem = pose(*random_instance(rng, family, task, 7))
        if not problem.statements:
            continue
        z = rng.uniform(0.5, 2.0, problem.shape.arms + 1)
        first, second = NonlinearProgram(problem.shape), AlgebraicProgram(problem.shape)
        first.update(problem)
        second.update(problem)
        np.testing.assert_allclose(first.constraints(z), second.constraints(z), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["ProgramCounts", "clear_programs", "program_counts"])
def test_the_counts_of_programs_are_no_public_names(name):
    assert name not in caet_opt.__all__
    assert not hasattr(caet_opt, name)
