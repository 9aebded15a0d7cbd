"""The bounds bracket T* whatever the effort and the weights, and a wrong answer is not certified."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import FAMILIES, REFERENCES, TASKS, random_instance

from caet_opt import (
    BanditModel,
    Bernoulli,
    Gaussian,
    InputError,
    Profile,
    SolverError,
    TieError,
    certify,
    characteristic_time,
    parse_family,
    proven_time,
)
from caet_opt.kernels.native import compiled_kernel
from caet_opt.solving.backends import Answer, Point
from caet_opt.solving.backends.clarabel import Clarabel
from caet_opt.solving.backends.native import solve_columns
from caet_opt.solving.certificate import Certificate, statement_terms


@given(st.integers(0, 2**32 - 1), st.sampled_from(REFERENCES), st.floats(-12, 12))
def test_bounds_bracket_the_truth_for_random_points(seed, problem, spread):
    rng = np.random.default_rng(seed)
    pairs = problem.task.pairs(problem.model.means)
    effort = 10.0 ** rng.uniform(-abs(spread), abs(spread), len(problem.model.means))
    weights = rng.exponential(size=len(pairs)) * (rng.random(len(pairs)) < 0.7)
    found = certify(problem.model, pairs, effort, weights)
    assert found.lower <= problem.characteristic_time * (1 + 1e-12)
    assert found.upper >= problem.characteristic_time * (1 - 1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("task", TASKS)
def test_bounds_bracket_every_kind_of_problem(family, task):
    rng = np.random.default_rng(11)
    model, task = random_instance(rng, family, task, 6)
    result = characteristic_time(model, task)
    for _ in range(20):
        effort = rng.exponential(size=6)
        weights = rng.exponential(size=len(result.statements))
        found = certify(model, result.statements, effort, weights)
        assert found.lower <= result.upper
        assert found.upper >= result.lower


def test_the_optimum_is_certified_from_the_result_alone():
    problem = REFERENCES[0]
    result = characteristic_time(problem.model, problem.task)
    again = certify(problem.model, result.statements, result.effort, result.multipliers)
    assert again.gap < 1e-12
    assert again.value == pytest.approx(result.value, rel=1e-14)


def test_an_infinite_term_constrains_nothing():
    model = BanditModel(Bernoulli(), [0.5, 0.0, 0.3], [1.0, 0.0, 1.0])
    found = certify(model, [(0, 1), (0, 2)], np.array([10.0, 0.0, 10.0]), np.array([5.0, 1.0]))
    assert np.isinf(statement_terms(model, [(0, 1)], np.array([10.0, 0.0, 10.0]))[0])
    assert 0 < found.lower <= found.upper < np.inf


def test_a_solver_that_is_wrong_is_refused_with_its_gap(monkeypatch):
    def lie(self, problem, profile, start=None):
        arms, terms = problem.shape.arms, len(problem.statements)
        return Answer(Point(np.ones(arms), np.ones(terms)), 1, "optimal")

    monkeypatch.setattr(Clarabel, "solve", lie)
    monkeypatch.setattr("caet_opt.solving.characteristic.polish", lambda problem, point: iter(()))
    problem = REFERENCES[0]
    with pytest.raises(SolverError, match=r"certified gap of 0\.\d+, above the tolerance 1.0e-09") as refused:
        characteristic_time(problem.model, problem.task, solver="clarabel")
    assert 0.01 < refused.value.gap < 1


def test_a_rough_answer_is_polished(monkeypatch):
    problem = REFERENCES[1]
    exact = characteristic_time(problem.model, problem.task)

    def rough(self, posed, profile, start=None):
        effort = exact.effort[posed.labels] * np.linspace(0.9, 1.1, posed.shape.arms)
        return Answer(Point(effort, np.ones(len(posed.statements))), 1, "optimal")

    monkeypatch.setattr(Clarabel, "solve", rough)
    result = characteristic_time(problem.model, problem.task, solver="clarabel")
    assert result.solver_gap > 1e-3
    assert result.gap < 1e-12


def test_a_part_that_hardly_counts_is_polished_too(monkeypatch):
    """A solver sees nothing of a part that costs 2e-6 of the whole; its arms have a binding statement all the same."""
    model = BanditModel("poisson", [3.591, 4.794, 6.475, 7.067], [2.4e-4, 7.6e-4, 1.6, 130])
    task = "comparisons:0-1+0.01,1-2-0.01,2-3+0.01"
    exact = characteristic_time(model, task)

    def rough(self, posed, profile, start=None):
        effort = exact.effort * [7.5, 9.75, 0.998, 1.0]
        return Answer(Point(effort[posed.labels], np.array([3e-7, 2e-7, 1.0])), 1, "optimal")

    monkeypatch.setattr(Clarabel, "solve", rough)
    result = characteristic_time(model, task, solver="clarabel")
    assert result.gap < 1e-12
    np.testing.assert_allclose(result.effort, exact.effort, rtol=1e-6)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_numbers_that_are_negative_or_not_finite_prove_nothing(bad):
    model, pairs = BanditModel(Bernoulli(), [0.5, 0.4, 0.3], [1, 1, 1]), ((0, 1), (0, 2))
    for effort, weights in (([1.0, 1.0, bad], [1.0, 1.0]), ([1.0, 1.0, 1.0], [1.0, bad])):
        found = certify(model, pairs, np.array(effort), np.array(weights))
        assert (found.lower, found.upper, found.gap) == (0.0, np.inf, 1.0)


@pytest.mark.parametrize("solver", ["native", "clarabel"])
@pytest.mark.parametrize(
    ("family", "means", "costs", "time"),
    [
        ("exponential", [34.6171875, 22.9375], [1, 24576], "335007.76328150172"),
        ("exponential", [10.5, 6.75], [1, 128], None),
        ("gaussian", [Decimal("1.1"), Decimal("1.1000001")], [1, 1], "8e14"),
        ("bernoulli", [Decimal("0.9999999999999"), Decimal("0.9999999999998")], [1, 3], None),
        ("poisson", [Decimal("0.1"), Decimal("0.10000003")], [Decimal("0.7"), Decimal("0.1")], None),
        ("gamma:0.3", [Decimal("0.1"), Decimal("0.7"), Decimal("0.10003")], "gaps", None),
        ("gaussian:0.1,0.3", [Decimal("0.1"), Decimal("0.7")], [Decimal("0.1"), 3], None),
    ],
)
def test_intervals_hold_for_the_numbers_that_were_given(family, means, costs, time, solver):
    model = BanditModel(parse_family(family), [Fraction(m) if isinstance(m, float) else m for m in means], costs)
    result = characteristic_time(model, "best-arm", solver=solver)
    proven = proven_time(model, "best-arm", digits=30)
    assert Fraction(result.lower) <= proven.upper
    assert proven.lower <= Fraction(result.upper)
    assert result.gap < 1e-13
    assert time is None or abs(proven.upper / Fraction(time) - 1) < Fraction(1, 10**15)


def test_decimals_that_doubles_hardly_tell_apart_are_refused():
    near = [
        Decimal("0.3"),
        Decimal("0.3000000000000000001"),
        Decimal("0.3000000000000000166"),
        Decimal("0.3000000000000000167"),
    ]
    for pair in ((0, 1), (2, 3)):
        model = BanditModel(Bernoulli(), [near[arm] for arm in pair], [1, 1])
        with pytest.raises(TieError, match="but not in double precision, or hardly"):
            characteristic_time(model, "best-arm")


def test_a_mean_that_rounding_moves_to_the_end_of_the_family_is_refused():
    with pytest.raises(InputError, match="is not 1, an end of the bernoulli family, but rounds to it"):
        BanditModel(Bernoulli(), [Decimal("0.99999999999999999999"), Decimal("0.5")], [1, 1])
    assert BanditModel(Bernoulli(), [Decimal("1.0"), Decimal("0.5")], [1, 1]).means == (1.0, 0.5)


def test_an_overflow_is_not_taken_for_an_infinite_divergence():
    model = BanditModel(Gaussian(), [1e170, 0.0, 1.0], [1.0, 1.0, 1.0])
    found = certify(model, [(0, 1), (2, 1)], np.array([1e-300, 1.0, 1.0]), np.ones(2))
    assert (found.lower, found.upper, found.gap) == (0.0, np.inf, 1.0)


def test_an_upper_bound_that_is_not_positive_proves_nothing():
    assert Certificate(-7.2e233, -7.2e233, -7.2e233).gap == 1.0
    assert Certificate(0.0, -1.0, 0.0).gap == 1.0
    assert Certificate(0.0, 0.0, 0.0).gap == 0.0


def test_a_start_for_other_numbers_of_arms_or_pairs_is_no_start():
    family = Bernoulli()
    small = characteristic_time(BanditModel(family, [0.5, 0.4, 0.3], [1, 1, 1]), "comparisons:0-1")
    model = BanditModel(family, [0.5, 0.4, 0.3, 0.2, 0.1], [1, 1, 1, 1, 1])
    cold = characteristic_time(model, "comparisons:0-1")
    compiled_kernel()
    for solver in ("native", "clarabel"):
        warm = characteristic_time(model, "comparisons:0-1", solver=solver, warm_start=small)
        assert warm.lower <= cold.upper
        assert cold.lower <= warm.upper
        assert len(warm.effort) == 5
    with pytest.raises(ValueError, match="for another problem"):
        solve_columns(model, cold.columns, Profile("native"), Point(small.effort, small.multipliers))


def test_no_effort_is_no_upper_bound():
    model, pairs = BanditModel(Bernoulli(), [0.5, 0.4, 0.3], [1, 1, 1]), ((0, 1), (0, 2))
    found = certify(model, pairs, np.zeros(3), np.ones(2))
    assert (found.upper, found.gap) == (np.inf, 1.0)
