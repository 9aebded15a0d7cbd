"""The native solver: ground truth to 1e-12, hostile instances, structure, warm starts, and its two ways of running."""

from importlib import import_module
from math import exp, log

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inverse_gaussian import InverseGaussian
from problems import FAMILIES, REFERENCES, TASKS, random_instance

from caet_opt import BanditModel, Gaussian, Profile, SolverError, certify, characteristic_time, parse_task
from caet_opt.kernels import factor, records
from caet_opt.kernels.compile import announce_compiling, fingerprint
from caet_opt.kernels.elimination_order import pack_shape, plan_elimination
from caet_opt.kernels.instance import unpack_shape
from caet_opt.kernels.interpret import interpret
from caet_opt.kernels.native import KERNEL, compiled_kernel, interpreted_kernel, kernel_for
from caet_opt.solving.backends.clarabel import Clarabel
from caet_opt.solving.backends.ipopt import Ipopt
from caet_opt.solving.problem import ask, lay_out
from cases.instances import adversarial_instance, bits_of, hostile_instance


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Everything here runs on the compiled kernel unless it says otherwise."""
    return compiled_kernel()


@pytest.mark.parametrize("problem", REFERENCES, ids=lambda problem: problem.name)
def test_ground_truth_to_twelve_digits(problem):
    result = characteristic_time(problem.model, problem.task, solver="native", tolerance=1e-12)
    assert result.value == pytest.approx(problem.characteristic_time, rel=1e-12)
    assert result.gap <= 1e-12


def test_hostile_instances_are_certified_or_refused():
    refused = []
    for index in range(2000):
        model, task = hostile_instance(np.random.default_rng([7, index]))
        try:
            result = characteristic_time(model, task, solver="native")
        except SolverError:
            refused.append(index)
            continue
        again = certify(model, result.statements, result.effort, result.multipliers)
        assert again.gap <= 1e-9, index
        assert again.value == pytest.approx(result.value, rel=1e-12), index
    assert refused == []


@pytest.mark.parametrize("instances", [40, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", TASKS)
def test_native_and_ipopt_lie_in_each_others_interval(task, instances):
    if not Ipopt.is_installed():
        pytest.skip(f"needs {Ipopt.needs()}")
    rng = np.random.default_rng([3, TASKS.index(task)])
    for index in range(instances):
        family = FAMILIES[index % len(FAMILIES)]
        model, posed = random_instance(rng, family, task, int(rng.integers(2, 13)))
        native = characteristic_time(model, posed, solver="native")
        polished = characteristic_time(model, posed, solver="ipopt")
        assert native.lower <= polished.upper
        assert native.lower <= polished.value <= native.upper * (1 + 1e-13)
        if native.value == 0:
            continue
        question = ask(model, posed)
        own = Ipopt().answer(question, Profile("ipopt"), None).point
        interval = certify(model, native.statements, own.effort, own.weights)
        assert interval.lower <= native.value <= interval.upper * (1 + 1e-13)


@pytest.mark.parametrize(("make_instance", "instances"), [(hostile_instance, 40), (adversarial_instance, 400)])
def test_interpreted_and_compiled_end_in_the_same_bits(make_instance, instances, compiled):
    for index in range(instances):
        model, task = make_instance(np.random.default_rng([11, index]))
        interpreted = interpreted_kernel(type(model.family))
        assert bits_of(interpreted, model, task) == bits_of(compiled, model, task), index


@pytest.mark.parametrize(
    ("means", "costs"),
    [([1e-300, 2e-300], [1.0, 1.0]), ([1e150, -1e150], [1e-200, 1e200]), ([1.0, 1.0 + 2.0**-52], [1e-240, 1e240])],
)
def test_numbers_beyond_double_precision_are_infinite_or_none_either_way(means, costs, compiled):
    model, task = BanditModel("gaussian", means, costs), parse_task("best-arm")
    assert bits_of(interpreted_kernel(Gaussian), model, task) == bits_of(compiled, model, task)


def test_interpreted_functions_return_what_the_processor_does():
    def zero(x: float) -> float:
        return 1.0 / log(x)

    def large(x: float) -> float:
        return exp(x) - exp(2.0 * x)

    functions = interpret((zero, large), Gaussian)
    assert (functions["zero"](0.0), functions["zero"](1.0)) == (0.0, np.inf)
    assert np.isnan(functions["zero"](-1.0))
    assert np.isnan(functions["large"](800.0))
    assert type(functions["zero"](2.0)) is float


@given(
    st.integers(0, 2**32 - 1), st.sampled_from(FAMILIES), st.sampled_from(TASKS), st.floats(-4, -1), st.integers(2, 12)
)
def test_warm_equals_cold(seed, family, task, size, arms):
    rng = np.random.default_rng(seed)
    model, posed = random_instance(rng, family, task, arms)
    gap = np.min(np.diff(np.sort(model.means)))
    space = model.family.mean_space
    means = np.clip(model.means + 10.0**size * gap * rng.uniform(-1, 1, arms), min(model.means), max(model.means))
    assert all(mean in space for mean in means.tolist())
    costs = np.array(model.costs) * (1 + 10.0**size * rng.uniform(-1, 1, arms))
    nudged = BanditModel(model.family, means.tolist(), costs.tolist())
    previous = characteristic_time(model, posed, solver="native")
    warm = characteristic_time(nudged, posed, solver="native", warm_start=previous)
    cold = characteristic_time(nudged, posed, solver="native")
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    np.testing.assert_allclose(warm.cost_proportions, cold.cost_proportions, atol=1e-4)


def test_an_answer_that_still_holds_costs_no_iteration():
    problem = REFERENCES[0]
    first = characteristic_time(problem.model, problem.task)
    again = characteristic_time(problem.model, problem.task, warm_start=first)
    assert (first.iterations > 0, again.iterations) == (True, 0)
    costs = [cost * (1 + 1e-12 * arm) for arm, cost in enumerate(problem.model.costs)]
    nearby = BanditModel(problem.model.family, problem.model.means, costs)
    assert characteristic_time(nearby, problem.task, warm_start=first).iterations == 0


def test_warm_start_from_another_task_is_ignored():
    model = BanditModel(Gaussian(), [3.0, 2.0, 1.0], [1.0, 2.0, 3.0])
    other = characteristic_time(model, "best-arm")
    assert characteristic_time(model, "ranking", warm_start=other).gap < 1e-12


GRAPHS = {
    "path": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "star": [(2, 0), (2, 1), (2, 3), (2, 4)],
    "forest": [(0, 1), (2, 3), (3, 4)],
    "bipartite": [(a, b) for a in (0, 1) for b in (2, 3, 4)],
    "complete": [(a, b) for a in range(5) for b in range(a + 1, 5)],
    "two edges between two arms": [(0, 1), (1, 0), (1, 2), (2, 3), (2, 3), (3, 4)],
    "cycle with a tail": [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_factorisation_solves_the_system(name):
    edges, n = GRAPHS[name], 5
    rng = np.random.default_rng(2)
    plan = plan_elimination(n, tuple(edges))
    work = records.make_work(n, len(edges), plan.cores.size, plan.parts, False, 0)
    data = records.Data(0, np.ones((3, n)), np.array(edges).T.copy())
    share = rng.uniform(0.05, 0.95, len(edges))
    work.rows[records.SHARE, : len(edges)], work.rows[records.OTHER, : len(edges)] = share, 1 - share
    work.rows[records.STIFF, : len(edges)] = 10.0 ** rng.uniform(-3, 3, len(edges))
    work.rows[records.BEND, : len(edges)] = rng.uniform(0, 1, len(edges))
    work.arms[records.BASE], work.arms[records.RHS] = rng.uniform(0.5, 2, n), rng.normal(size=n)
    matrix = np.diag(work.arms[records.BASE])
    for e, (a, b) in enumerate(edges):
        p, v = np.zeros(n), np.zeros(n)
        p[a], p[b], v[a], v[b] = share[e], 1 - share[e], 1, -1
        matrix += work.rows[records.STIFF, e] * np.outer(p, p) + work.rows[records.BEND, e] * np.outer(v, v)
    assert factor.factorise(data, plan, work)
    factor.back_solve(plan, work)
    np.testing.assert_allclose(matrix @ work.arms[records.DY], work.arms[records.RHS], atol=1e-9)


def test_the_plan_follows_the_graph():
    assert all(plan_elimination(5, tuple(GRAPHS[name])).cores.size == 0 for name in ("path", "star", "forest"))
    assert plan_elimination(5, tuple(GRAPHS["forest"])).parts == 2
    bipartite = plan_elimination(5, tuple(GRAPHS["bipartite"]))
    assert (bipartite.cores.tolist(), bipartite.spokes.tolist()) == ([0, 1], [2, 3, 4])
    tail = plan_elimination(5, tuple(GRAPHS["cycle with a tail"]))
    assert tail.trees[records.ORDER, : tail.peeled].tolist() == [4, 3]


def test_elimination_is_exact_for_a_stiff_edge():
    """A leaf tied to its parent by an all but rigid edge: the textbook formula would lose every digit."""
    plan = plan_elimination(2, ((0, 1),))
    work = records.make_work(2, 1, 0, 1, False, 0)
    data = records.Data(0, np.ones((3, 2)), np.array([[0], [1]]))
    work.rows[records.SHARE, 0] = work.rows[records.OTHER, 0] = 0.5
    work.rows[records.STIFF, 0], work.rows[records.BEND, 0] = 1e20, 0.0
    work.arms[records.BASE] = 1.0
    factor.factorise(data, plan, work)
    assert work.arms[records.PIVOT, 1] == pytest.approx(2.0, rel=1e-15)


def test_a_users_family_runs_interpreted(compiled):
    assert kernel_for(InverseGaussian, 10**6) is not compiled
    model = BanditModel(InverseGaussian(), [1.0, 1.5, 2.5, 0.7], [1.0, 2.0, 0.5, 3.0])
    native = characteristic_time(model, "ranking", solver="native")
    conic = characteristic_time(model, "ranking", solver="clarabel")
    assert native.value == pytest.approx(conic.value, rel=1e-10)


def test_fallback_is_visible():
    problem = REFERENCES[0]
    hopeless = Profile("native", max_iterations=1, fallback="clarabel")
    assert characteristic_time(problem.model, problem.task, solver=hopeless).solver == "clarabel"
    with pytest.raises(SolverError, match="native"):
        characteristic_time(problem.model, problem.task, solver=Profile("native", max_iterations=1))


def test_fallback_after_a_failure(monkeypatch):
    def fail(self, problem, profile, start=None):
        raise SolverError("nothing")

    monkeypatch.setattr(Clarabel, "solve", fail)
    problem = REFERENCES[0]
    rescued = characteristic_time(problem.model, problem.task, solver=Profile("clarabel", fallback="native"))
    assert rescued.solver == "native"
    assert rescued.gap < 1e-12
    with pytest.raises(SolverError, match="clarabel"):
        characteristic_time(problem.model, problem.task, solver="clarabel")


def test_the_cache_key_covers_the_whole_kernel():
    mark = fingerprint(KERNEL)
    assert mark != fingerprint(KERNEL[:-1]) != fingerprint(KERNEL[:-2])
    assert mark in compiled_kernel()["solve_instance"].py_func.__qualname__


@pytest.mark.parametrize("task", ["ranking", "best-arm"])
def test_large_problems(task):
    rng = np.random.default_rng(1)
    steps = rng.uniform(0.5, 1.5, 20_000)
    means = 0.1 + 0.8 * np.cumsum(steps) / np.sum(steps)
    for family in ("gaussian", "bernoulli"):
        from caet_opt import parse_family

        model = BanditModel(parse_family(family), means.tolist(), rng.uniform(0.5, 2, means.size).tolist())
        assert characteristic_time(model, task, solver="native").gap <= 1e-9


@pytest.mark.parametrize("means", [[0.0, 0.5, 0.7], [1.0, 0.5, 0.7], [0.0, 0.5, 0.5]])
def test_an_arm_that_any_effort_settles_is_left_out(means):
    """The free arm is at the end of the mean space: the pair with it constrains nothing."""
    model = BanditModel("bernoulli", means, [0.0, 1.0, 2.0])
    task = parse_task("comparisons:0-1" if means[1] == means[2] else "comparisons:0-1,1-2")
    result, other = characteristic_time(model, task), characteristic_time(model, task, solver="clarabel")
    assert result.value == pytest.approx(other.value, rel=1e-8)
    assert result.multipliers[0] == 0.0


def test_compiling_is_announced_only_when_something_is_compiled(capsys, tmp_path, monkeypatch):
    (tmp_path / "doubling.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    double = import_module("doubling").double
    for expected in ("caet-opt: compiling a test, once ...\n", ""):  # the second time from the cache on disk
        compiled_now = numba.njit(cache=True)(double)
        with announce_compiling("a test"):
            assert compiled_now(2) == 4
        assert sum(compiled_now.stats.cache_misses.values()) == (expected != "")
        assert capsys.readouterr().err == expected


@pytest.mark.parametrize("task", TASKS)
def test_a_packed_layout_and_plan_are_unpacked_as_they_were(task):
    for arms in (2, 5, 9):
        rng = np.random.default_rng([TASKS.index(task), arms])
        model, drawn = random_instance(rng, "gaussian", task, max(arms, 3) if task == "top-arms" else arms)
        found = lay_out((ask(model, drawn).columns, Gaussian, model.costly))
        if found is not None:
            for before, after in zip(
                found, unpack_shape(pack_shape(*found), np.zeros((records.COLUMN_ROWS, 0))), strict=True
            ):
                assert all(np.array_equal(*both) for both in zip(before, after, strict=True))
                assert all(np.shape(old) == np.shape(new) for old, new in zip(before, after, strict=True))
