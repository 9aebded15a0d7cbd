"""Confidence bounds of a mean against a bisection of the textbook divergence."""

from math import inf, isclose, log1p

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import rel_entr

from caet_opt import Explorer
from caet_opt.kernels import ledger
from caet_opt.kernels.confidence import bound_level, confidence_bound


def log_ratio(x, y):
    """log(x / y), with the digits of x - y where they are close."""
    return np.log1p((x - y) / y) if abs(x - y) < 0.1 * y else np.log(x / y)


#: Family, its dispersion, its divergence as textbooks write it, and the ends of its means.
FAMILIES = {
    "gaussian": (1.0, lambda x, y: (x - y) ** 2 / 2, -inf, inf),
    "gaussian:4": (4.0, lambda x, y: (x - y) ** 2 / 2, -inf, inf),
    "bernoulli": (1.0, lambda x, y: rel_entr(x, y) + rel_entr(1 - x, 1 - y), 0.0, 1.0),
    "poisson": (1.0, lambda x, y: rel_entr(x, y) + y - x, 0.0, inf),
    "exponential": (1.0, lambda x, y: x / y - 1 - np.log(x / y), 1e-300, inf),
    "gamma:2.5": (0.4, lambda x, y: x / y - 1 - np.log(x / y), 1e-300, inf),
    "geometric": (1.0, lambda x, y: rel_entr(x, y) - (1 + x) * log_ratio(1 + x, 1 + y), 0.0, inf),
}


def seen(family, mean, pulls, **settings):
    """The conditions of an experiment, and rows in which its first arm has this mean."""
    explorer = Explorer.start("best-arm", family, arms=2, delta=0.1, costs=[1, 1], policy="uniform", **settings)
    arms = np.ones((8, 2))
    arms[ledger.COUNT, 0], arms[ledger.MEAN, 0] = pulls, mean
    return explorer.policy.setting, arms


def bisected(family, mean, target, above):
    """Where the divergence from a mean reaches a target, on one side."""
    _, divergence, low, high = FAMILIES[family]
    outer, step = high if above else low, 1.0
    if outer == mean:
        return mean
    while abs(outer) == inf:  # a point beyond the bound
        step *= 2.0
        point = mean + step if above else mean - step
        outer = point if divergence(mean, point) > target else outer
    if not divergence(mean, outer) > target:
        return outer
    return brentq(lambda q: divergence(mean, q) - target, mean, outer, xtol=1e-300, rtol=1e-15, maxiter=5000)


@pytest.mark.parametrize("above", [True, False], ids=["above", "below"])
@pytest.mark.parametrize("family", FAMILIES)
@given(share=st.floats(0.0, 1.0), scale=st.floats(-3.0, 3.0), pulls=st.integers(1, 10**6), size=st.floats(-6.0, 2.5))
@example(share=0.0, scale=0.0, pulls=1, size=0.0)
@example(share=1.0, scale=0.0, pulls=1, size=0.0)
@example(share=1.0, scale=0.0, pulls=10, size=2.5)
@example(share=0.0, scale=0.0, pulls=10**6, size=-6.0)
@example(share=5e-324, scale=0.0, pulls=4, size=0.0)
def test_a_bound_is_where_the_divergence_reaches_the_level(family, above, share, scale, pulls, size):
    dispersion, _, low, high = FAMILIES[family]
    mean = share if high == 1.0 else share * 10.0**scale - (5.0 if low == -inf else 0.0)
    if mean < 1e-100 and family in ("exponential", "gamma:2.5"):
        mean = 10.0**scale
    level = 10.0**size
    setting, arms = seen(family, mean, pulls)
    found = confidence_bound(setting, arms, 0, level, above)
    expected = bisected(family, mean, level * dispersion / pulls, above)
    assert isclose(found, expected, rel_tol=1e-8, abs_tol=1e-8 * abs(mean) + 1e-12)
    assert (found >= mean) if above else (found <= mean)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_huge_level_bounds_nothing(family):
    """The bounds are the ends of the mean space as far as doubles go, and neither is out of it or no number."""
    _, _, low, high = FAMILIES[family]
    setting, arms = seen(family, 0.5, 1)
    lower = confidence_bound(setting, arms, 0, 1e6, False)
    upper = confidence_bound(setting, arms, 0, 1e6, True)
    assert low <= lower < 0.5 < upper <= high
    if low > -inf:
        assert lower < 1e-5
    assert upper > (1.0 - 1e-11 if high == 1.0 else 1000.0)


@pytest.mark.parametrize(
    ("family", "mean"), [("bernoulli", 0.0), ("bernoulli", 1.0), ("poisson", 0.0), ("geometric", 0.0)]
)
def test_a_mean_on_the_boundary_is_its_own_bound(family, mean):
    setting, arms = seen(family, mean, 20)
    assert confidence_bound(setting, arms, 0, 3.0, mean == 1.0) == mean
    inner = confidence_bound(setting, arms, 0, 3.0, mean == 0.0)
    assert inner != mean
    closed = {"bernoulli": -np.expm1(-0.15), "poisson": 0.15, "geometric": np.expm1(0.15)}[family]
    assert isclose(inner, abs(mean - closed), rel_tol=1e-9)


@pytest.mark.parametrize("threshold", ["mixture", "informational", "deviational", "customary"])
def test_the_level_is_the_threshold_of_two_arms_with_these_pulls(threshold):
    explorer = Explorer.start(
        "ranking", "gaussian", arms=4, delta=0.1, costs=[1] * 4, policy="uniform", threshold=threshold
    )
    arms = np.full((8, 4), 7.0)
    arms[ledger.COUNT] = (20, 30, 40, 50)
    found = bound_level(explorer.policy.setting, arms, 140.0, 1)
    assert found == explorer.threshold.value(140, 30, 30)


def test_the_level_of_the_e_process_is_that_of_many_pulls():
    explorer = Explorer.start("ranking", "gaussian:4", arms=4, delta=0.1, costs=[1] * 4, policy="uniform", rho=2.0)
    arms = np.full((8, 4), 7.0)
    for pulls, extra in ((1000.0, log1p(1000.0 / 2.0) - 2.0 * np.log(2.0)), (1.0, 0.0)):
        arms[ledger.COUNT, 1] = pulls
        level = bound_level(explorer.policy.setting, arms, 140.0, 1)
        assert isclose(level, np.log(explorer.threshold.pairs / 0.1) + extra, rel_tol=1e-12)
