"""Programs are built once per shape, their derivatives are right, and they read like the paper."""

import numpy as np
import pytest
from inverse_gaussian import InverseGaussian
from problems import FAMILIES, TASKS, random_instance

import caet_opt
from caet_opt import BanditModel, Bernoulli, Gaussian, characteristic_time
from caet_opt.solving.problem import pose
from caet_opt.solving.programs.cache import clear_programs, program_counts
from caet_opt.solving.programs.nonlinear import NonlinearProgram


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
    program.update(problem)
    z = rng.uniform(0.5, 2.0, problem.shape.arms + 1)
    multipliers = rng.uniform(-1.0, 1.0, len(problem.statements) + 1)
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
