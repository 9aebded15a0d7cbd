"""Every reference problem by every backend, and the properties that T* must have."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inverse_gaussian import InverseGaussian
from problems import FAMILIES, REFERENCES, STATED_REFERENCES, TASKS, random_instance, stated_instance

from caet_opt import (
    BanditModel,
    Bernoulli,
    Comparisons,
    Gamma,
    Gaussian,
    Poisson,
    Profile,
    TieError,
    characteristic_time,
    parse_family,
)
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.solving.backends import installed_backends

instances = st.builds(
    lambda seed, family, task, arms: random_instance(np.random.default_rng(seed), family, task, arms),
    st.integers(0, 2**32 - 1),
    st.sampled_from(FAMILIES),
    st.sampled_from(TASKS),
    st.integers(2, 8),
)


@pytest.mark.parametrize("problem", [*REFERENCES, *STATED_REFERENCES], ids=lambda problem: problem.name)
def test_reference_problem(problem, solver):
    result = characteristic_time(problem.model, problem.task, solver=solver)
    assert result.value == pytest.approx(problem.characteristic_time, rel=1e-9)
    assert result.gap < 1e-9
    assert result.lower <= result.value <= result.upper
    np.testing.assert_allclose(result.sampling_proportions, problem.sampling_proportions, atol=1e-6)
    assert result.cost_proportions.sum() == pytest.approx(1.0)
    assert result.statement_weights.sum() == pytest.approx(1.0)
    assert result.solver == solver


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("task", TASKS)
def test_all_backends_agree(family, task):
    rng = np.random.default_rng([FAMILIES.index(family), TASKS.index(task)])
    for arms in (2, 5, 12):
        model, posed = random_instance(rng, family, task, arms)
        results = [characteristic_time(model, posed, solver=name) for name in installed_backends()]
        assert max(result.lower for result in results) <= min(result.upper for result in results)
        for result in results[1:]:
            np.testing.assert_allclose(result.cost_proportions, results[0].cost_proportions, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(8))
def test_all_backends_agree_on_statements(family, seed):
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    for arms in (2, 6):
        model, task = stated_instance(rng, family, arms)
        results = [characteristic_time(model, task, solver=name) for name in installed_backends()]
        assert max(result.lower for result in results) <= min(result.upper for result in results)
        for result in results[1:]:
            np.testing.assert_allclose(result.cost_proportions, results[0].cost_proportions, atol=1e-6)


def test_a_kink_has_two_points_by_every_solver(solver):
    """Where a term has two minima at the optimum, one point proves 1.7305 at most."""
    result = characteristic_time(BanditModel("exponential", [5, 0.03], [3.455, 1]), "control:1+1", solver=solver)
    assert result.lower > 1.82261998
    assert result.multipliers == pytest.approx([1.48099974, 0.34162024], rel=1e-6)
    assert [str(statement) for statement in result.binding_statements] == ["0 > 1 + 1"]


def test_an_effort_that_all_but_vanishes(solver):
    """The end of the mean space settles the statement all but alone: an arm of cost 100 is hardly pulled."""
    result = characteristic_time(BanditModel("bernoulli", [0.95, 0.96], [1, 100]), "control:1-0.1", solver=solver)
    assert result.value == pytest.approx(59.85693768550, rel=1e-10)
    assert 0 < result.sampling_proportions[1] < 1e-13


@pytest.mark.parametrize(
    ("family", "means", "task"),
    [
        ("bernoulli", [1, 0, 0.4], "control:1+0.3"),
        ("bernoulli", [1, 0, 0.4], "control:1-0.3"),
        ("poisson", [7, 0, 4], "control:1+0.9"),
        ("geometric", [7, 0, 4], "control:1+0.9"),
    ],
)
def test_margins_of_means_at_an_end_of_the_family(family, means, task, solver):
    model = BanditModel(family, means, [1, 2, 1])
    result = characteristic_time(model, task, solver=solver)
    assert result.value == pytest.approx(characteristic_time(model, task).value, rel=1e-9)
    assert result.gap < 1e-12


def test_a_margin_that_costs_nothing_to_settle(solver):
    """The free arm says that the other is above -0.1, which every mean is."""
    result = characteristic_time(BanditModel("bernoulli", [0.2, 0.7], [1, 0]), "control:1-0.8", solver=solver)
    assert result.value == 0.0


def test_a_family_that_is_not_shipped(solver):
    model = BanditModel(InverseGaussian(), [1.0, 1.5, 2.5, 0.7], [1.0, 2.0, 0.5, 0.0])
    result = characteristic_time(model, "ranking", solver=solver)
    assert result.gap < 1e-12
    # Arm 3 is free, so arm 0 must pay 1 / d(1, 0.7) alone; the pair (2, 1) shares between two costly arms.
    assert result.value >= 1.0 / InverseGaussian().divergence(1.0, 0.7) * (1 - 1e-12)


@given(instances, st.randoms(use_true_random=False))
def test_relabelling_arms_relabels_the_answer(instance, random):
    model, task = instance
    new = list(range(len(model.means)))
    random.shuffle(new)
    old = np.argsort(new)
    pairs = task.pairs(model.means)
    # The same pairs in new labels, as a comparison task of its own.
    moved = BanditModel(Gaussian(), np.array(model.means)[old], np.array(model.costs)[old])
    here = BanditModel(Gaussian(), model.means, model.costs)
    first = characteristic_time(here, Comparisons(pairs))
    second = characteristic_time(moved, Comparisons([(new[a], new[b]) for a, b in pairs]))
    assert second.value == pytest.approx(first.value, rel=1e-9)
    np.testing.assert_allclose(second.cost_proportions[new], first.cost_proportions, atol=1e-6)


@given(instances, st.floats(1e-3, 1e3))
def test_time_is_proportional_to_costs(instance, factor):
    model, task = instance
    dearer = BanditModel(model.family, model.means, [factor * cost for cost in model.costs])
    first, second = characteristic_time(model, task), characteristic_time(dearer, task)
    assert second.value == pytest.approx(factor * first.value, rel=1e-9)
    np.testing.assert_allclose(second.cost_proportions, first.cost_proportions, atol=1e-6)


@given(instances, st.floats(-5, 5), st.floats(0.1, 10))
def test_gaussian_shift_and_scale(instance, shift, scale):
    model, task = instance
    here = BanditModel(Gaussian(), model.means, model.costs)
    there = BanditModel(Gaussian(scale**2), [shift + scale * mean for mean in model.means], model.costs)
    assert characteristic_time(there, task).value == pytest.approx(characteristic_time(here, task).value, rel=1e-9)


def test_gamma_is_exponential_at_a_discount():
    means, costs = [1.0, 2.0, 3.0], [1.0, 0.5, 2.0]
    exponential = characteristic_time(BanditModel(parse_family("exponential"), means, costs), "ranking")
    gamma = characteristic_time(BanditModel(Gamma(4.0), means, costs), "ranking")
    assert gamma.value == pytest.approx(exponential.value / 4, rel=1e-9)
    np.testing.assert_allclose(gamma.sampling_proportions, exponential.sampling_proportions, atol=1e-9)


def test_a_variance_per_arm_is_a_cost():
    per_arm = BanditModel(Gaussian([1.0, 4.0]), [1.0, 0.0], [1.0, 1.0])
    plain = BanditModel(Gaussian(), [1.0, 0.0], [1.0, 4.0])
    first, second = characteristic_time(per_arm, "best-arm"), characteristic_time(plain, "best-arm")
    assert first.value == pytest.approx(18.0, rel=1e-12)
    assert second.value == pytest.approx(18.0, rel=1e-12)
    np.testing.assert_allclose(first.cost_proportions, second.cost_proportions, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(FAMILIES))
def test_adding_a_pair_never_lowers_the_time(seed, family):
    rng = np.random.default_rng(seed)
    model, task = random_instance(rng, family, "comparisons", 6)
    pairs = list(task.pairs(model.means))
    fewer = characteristic_time(model, Comparisons(pairs[:-1])).lower if len(pairs) > 1 else 0.0
    assert characteristic_time(model, task).upper >= fewer


@given(instances)
def test_zero_cost_is_the_limit_of_small_cost(instance):
    model, task = instance
    if not task.support(model.means):
        return
    free = characteristic_time(model, task).value
    tiny = [cost if cost > 0 else 1e-12 for cost in model.costs]
    nearly = characteristic_time(BanditModel(model.family, model.means, tiny), task, solver="ipopt").value
    # T* is monotone in the costs and moves by the root of a small cost: 1e-6 times the scale of the problem.
    assert nearly >= free * (1 - 1e-9)
    assert nearly <= free + 1e-4 * max(free, 1.0)


@given(instances)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_sensitivities_match_finite_differences(instance):
    model, task = instance
    result = characteristic_time(model, task)
    if result.value == 0:
        return
    scale = result.value / min(gap(model.means), 1.0)
    for arm in range(len(model.means)):
        if model.costs[arm] > 0:
            up, down = (moved(model, arm, cost=model.costs[arm] * f) for f in (1.001, 0.999))
            slope = (characteristic_time(up, task).value - characteristic_time(down, task).value) / (
                0.002 * model.costs[arm]
            )
            assert result.cost_sensitivities[arm] * model.costs[arm] == pytest.approx(
                slope * model.costs[arm], abs=1e-3 * result.value
            )
        step = 1e-4 * gap(model.means)
        up, down = (moved(model, arm, mean=model.means[arm] + s) for s in (step, -step))
        if min(up.family.mean_space.low, 0) <= down.means[arm] <= up.means[arm] <= model.family.mean_space.high:
            slope = (characteristic_time(up, task).value - characteristic_time(down, task).value) / (2 * step)
            assert result.mean_sensitivities[arm] == pytest.approx(slope, abs=2e-3 * scale)


def gap(means):
    ordered = np.sort(means)
    return float(np.min(np.diff(ordered)))


def moved(model, arm, mean=None, cost=None):
    means, costs = list(model.means), list(model.costs)
    means[arm] = means[arm] if mean is None else mean
    costs[arm] = costs[arm] if cost is None else cost
    return BanditModel(model.family, means, costs)


@pytest.mark.parametrize("task", ["ranking", "best-arm", "top-arms:2", "control:2", "comparisons:0-2"])
@pytest.mark.parametrize(
    ("family", "means"),
    [
        (Gaussian(), [3.0, 4.0, 2.0]),
        (Gaussian(), [3.0, 4.0, 0.5]),
        (Gaussian([1, 3, 2, 1]), [0.1, 0.9, 2.0, 1.4]),
        (Bernoulli(), [0.4, 0.9, 0.2]),
        (Poisson(), [5.0, 1.0, 2.5, 2.0]),
    ],
)
def test_costs_that_are_gaps_move_with_the_means(family, means, task):
    slopes = []
    for arm, mean in enumerate(means):
        times = [
            characteristic_time(BanditModel(family, [*means[:arm], mean + s, *means[arm + 1 :]], "gaps"), task).value
            for s in (1e-5, -1e-5)
        ]
        slopes.append((times[0] - times[1]) / 2e-5)
    result = characteristic_time(BanditModel(family, means, "gaps"), task)
    assert result.mean_sensitivities == pytest.approx(slopes, rel=1e-5, abs=1e-6 * result.value)


def test_the_slope_of_the_paper_s_first_instance():
    # T* = 2 / (sqrt(D3) - sqrt(D2))^2 for the gaps D2 = 1 and D3 = 2 of arms 0 and 2.
    root = np.sqrt(2) - 1
    gaps = characteristic_time(BanditModel(Gaussian(), [3, 4, 2], "gaps"), "ranking").mean_sensitivities
    assert gaps == pytest.approx([-2 / root**3, 2 / root**3 * (1 - 1 / np.sqrt(2)), np.sqrt(2) / root**3], rel=1e-9)
    fixed = characteristic_time(BanditModel(Gaussian(), [3, 4, 2], [1, 0, 2]), "ranking").mean_sensitivities
    assert fixed == pytest.approx([-4 / root**2, 0, 4 / root**2], rel=1e-9)  # T* is inverse to the squared gap of one


def test_several_best_arms_have_no_slope():
    slopes = characteristic_time(BanditModel(Gaussian(), [2, 2, 1], "gaps"), "comparisons:0-2").mean_sensitivities
    assert np.isnan(slopes[:2]).all()
    assert np.isfinite(slopes[2])


def test_cost_sensitivity_of_a_free_arm():
    # Ranking 0 > 1 > 2 with arm 0 free and its pair slack: a small cost of arm 0 is paid for its least effort.
    model = BanditModel(Gaussian(), [5.0, 1.0, 0.0], [0.0, 1.0, 1.0])
    result = characteristic_time(model, "ranking")
    assert result.binding_statements == (Statement(1, 2),)
    dearer = characteristic_time(moved(model, 0, cost=1e-4), "ranking")
    assert result.cost_sensitivities[0] == pytest.approx((dearer.value - result.value) / 1e-4, rel=1e-3)
    binding = characteristic_time(BanditModel(Gaussian(), [1.0, 0.0], [0.0, 1.0]), "best-arm")
    assert binding.cost_sensitivities[0] == np.inf


def test_a_free_pair_contributes_nothing(solver):
    model = BanditModel(Gaussian(), [3.0, 2.9, 1.0], [0.0, 0.0, 2.0])
    result = characteristic_time(model, "ranking", solver=solver)
    assert result.value == pytest.approx(2.0 / (1.9**2 / 2), rel=1e-12)
    assert result.binding_statements == (Statement(1, 2),)


def test_all_support_free_costs_nothing(solver):
    model = BanditModel(Gaussian(), [3.0, 2.0, 1.0], [0.0, 0.0, 5.0])
    result = characteristic_time(model, "comparisons:0-1", solver=solver)
    assert (result.value, result.lower, result.upper, result.gap) == (0.0, 0.0, 0.0, 0.0)
    assert result.cost_proportions.tolist() == [0.0, 0.0, 0.0]
    assert result.sampling_proportions.tolist() == [0.0, 0.0, 0.0]
    assert result.lower_bound(0.1) == 0.0


def test_an_arm_outside_the_support_gets_nothing(solver):
    model = BanditModel(Bernoulli(), [0.5, 0.4, 0.1], [1.0, 1.0, 1.0])
    result = characteristic_time(model, "comparisons:0-1", solver=solver)
    assert result.cost_proportions[2] == result.sampling_proportions[2] == 0.0


@pytest.mark.parametrize("family", [Bernoulli(), Poisson()], ids=str)
def test_a_free_arm_at_the_boundary_settles_its_pairs(family, solver):
    """d(x, 0) is infinite: one positive reward proves the order, at a cost that log(1/delta) outgrows."""
    with_free = BanditModel(family, [0.5, 0.0, 0.3], [1.0, 0.0, 2.0])
    without = BanditModel(family, [0.5, 0.3], [1.0, 2.0])
    result = characteristic_time(with_free, "ranking", solver=solver)
    assert result.value == pytest.approx(characteristic_time(without, "ranking").value, rel=1e-10)
    alone = characteristic_time(BanditModel(family, [0.5, 0.0], [1.0, 0.0]), "ranking", solver=solver)
    assert alone.value == 0.0


@pytest.mark.parametrize(
    ("family", "means"),
    [(Bernoulli(), [1.0, 0.4, 0.0]), (Poisson(), [2.0, 1.0, 0.0]), (parse_family("geometric"), [2.0, 1.0, 0.0])],
    ids=["bernoulli", "poisson", "geometric"],
)
def test_costly_arms_at_the_boundary(family, means, solver):
    result = characteristic_time(BanditModel(family, means, [1.0, 2.0, 3.0]), "ranking", solver=solver)
    assert result.gap < 1e-9


def test_ties_name_the_arms():
    model = BanditModel(Gaussian(), [1.0, 0.5, 0.5], [1, 1, 1], arms=["new", "old", "placebo"])
    with pytest.raises(TieError, match=r"arms 1 \(old\) and 2 \(placebo\)"):
        characteristic_time(model, "ranking")
    assert characteristic_time(model, "best-arm").value > 0


@given(instances)
def test_warm_start_equals_cold(instance):
    model, task = instance
    nudged = BanditModel(model.family, model.means, [1.01 * cost + 0.001 * (cost > 0) for cost in model.costs])
    previous = characteristic_time(model, task, solver="ipopt")
    warm = characteristic_time(nudged, task, solver="ipopt", warm_start=previous)
    cold = characteristic_time(nudged, task, solver="ipopt")
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    np.testing.assert_allclose(warm.cost_proportions, cold.cost_proportions, atol=1e-6)


def test_lower_bound_forms():
    result = characteristic_time(BanditModel(Gaussian(), [0.5, 0.0], [1, 4]), "best-arm")
    assert result.lower_bound(0.01) == pytest.approx(72 * 0.98 * np.log(99), rel=1e-12)
    assert result.lower_bound(0.01, "log") == pytest.approx(72 * np.log(1 / 0.024), rel=1e-12)
    assert result.lower_bound(0.5, "log") == 0.0
    for delta in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="delta"):
            result.lower_bound(delta)


def test_there_is_no_lower_bound_from_half_on():
    result = characteristic_time(BanditModel(Gaussian(), [0.5, 0.0], [1, 4]), "best-arm")
    for delta in (0.5, 0.6, 0.99):  # kl(delta, 1 - delta) is symmetric, the theorem is not
        assert result.lower_bound(delta) == result.lower_bound(delta, "log") == 0.0
    assert 0 < result.lower_bound(0.499) < 72 * 1e-4
    assert result.lower_bound(0.4) == pytest.approx(72 * 0.2 * np.log(1.5), rel=1e-12)


def test_lower_bound_of_a_delta_below_double_precision():
    result = characteristic_time(BanditModel(Gaussian(), [0.5, 0.0], [1, 4]), "best-arm")
    assert result.lower_bound(log_inv_delta=5000.0) == pytest.approx(72 * 5000.0, rel=1e-12)
    assert result.lower_bound(log_inv_delta=np.log(100)) == pytest.approx(result.lower_bound(0.01), rel=1e-12)
    for wrong in ({}, {"delta": 0.1, "log_inv_delta": 2.0}, {"log_inv_delta": -1.0}, {"log_inv_delta": np.inf}):
        with pytest.raises(ValueError, match="delta"):
            result.lower_bound(**wrong)


def test_the_lower_bound_is_one_at_any_tolerance():
    model = BanditModel(Bernoulli(), [0.5, 0.45, 0.43, 0.4], [1, 1, 1, 2])
    loose = characteristic_time(model, "best-arm", tolerance=0.5, solver=Profile("native", max_iterations=1))
    assert loose.lower_bound(0.01) <= characteristic_time(model, "best-arm").upper * 0.98 * np.log(99)
