"""One-sided martingales against 30-digit integrals: lower bounds, expectation one, monotone, and their ends."""

import math

import mpmath
import numpy as np
import pytest
from exact_martingales import exact
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from caet_opt.bandits.families import Bernoulli, Exponential, Gaussian, Geometric, Poisson
from caet_opt.bandits.families.martingales import ALLOWANCE, FAR
from caet_opt.bandits.families.scalar import log_factorial_rest, log_normal_tail

FAMILIES = [Gaussian(), Bernoulli(), Poisson(), Exponential(), Geometric()]


def draw_case(family, rng):
    """Observations, a prior's worth, and a mean to speak against."""
    n, rho = int(10 ** rng.uniform(0, 2.5)), 10 ** rng.uniform(-0.5, 1.7)
    mean = rng.uniform(0.02, 0.98) if isinstance(family, Bernoulli) else 10 ** rng.uniform(-1, 1)
    found = float(np.mean(family.sample(rng, mean, size=n)))
    odds = mean / (1 - mean) * math.exp(rng.normal(0, 0.5)) if isinstance(family, Bernoulli) else 0.0
    x = odds / (1 + odds) if isinstance(family, Bernoulli) else mean * math.exp(rng.normal(0, 0.3))
    return n, found, rho, x


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_is_a_lower_bound_of_the_exact_martingale(family):
    rng = np.random.default_rng(5)
    lost = []
    for _ in range(150):
        n, mean, rho, x = draw_case(family, rng)
        for above in (True, False):
            lost.append(float(exact(family, n, mean, rho, x, above)) - family.log_martingale(n, mean, rho, x, above))
    assert min(lost) > 0.5 * ALLOWANCE
    if isinstance(family, Gaussian):
        assert max(lost) < 2 * ALLOWANCE
    else:
        assert np.median(lost) < 0.5


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_little_is_lost_where_one_stops(family):
    """At two standard deviations from the mean, with a prior worth 8 of 200 observations."""
    mean = 0.55 if isinstance(family, Bernoulli) else 3.0
    step = 2.0 * math.sqrt(float(family.unit_variance(mean)) / 200)
    for x, above in ((mean - step, True), (mean + step, False)):
        lost = float(exact(family, 200, mean, 8.0, x, above)) - family.log_martingale(200, mean, 8.0, x, above)
        assert 0.0 < lost < 0.25


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("above", [True, False])
def test_expectation_under_the_mean_is_one(family, above):
    """At a fixed time, by 4000 draws of the exact martingale; its lower bound has a smaller expectation."""
    rng, n, rho = np.random.default_rng(11), 12, 4.0
    x = 0.3 if isinstance(family, Bernoulli) else 2.0
    means = np.mean([family.sample(rng, x, size=4000) for _ in range(n)], axis=0).round(9)
    values, counts = np.unique(means, return_counts=True)
    if len(values) > 500:  # continuous rewards: fewer of the slow integrals
        values, counts = means[:500], np.ones(500)
    found = np.array([float(mpmath.exp(exact(family, n, float(mean), rho, x, above))) for mean in values])
    bounds = np.exp([family.log_martingale(n, float(mean), rho, x, above) for mean in values])
    mean = np.average(found, weights=counts)
    error = math.sqrt(np.average((found - mean) ** 2, weights=counts) / counts.sum())
    assert abs(mean - 1.0) < 4 * error
    assert np.average(bounds, weights=counts) <= mean


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_falls_and_rises_over_the_whole_range(family):
    """The exact martingale, on a grid that reaches the boundary, for few and many observations and extreme means."""
    grid = np.linspace(0.004, 0.996, 25) if isinstance(family, Bernoulli) else np.geomspace(0.01, 60.0, 25)
    means = (0.0, 0.35, 1.0) if isinstance(family, Bernoulli) else (0.2, 3.0)
    means += (0.0,) if family.mean_space.low_included else ()
    for n, rho in ((1, 1.0), (3, 32.0), (100, 8.0)):
        for mean in means:
            falling = [exact(family, n, mean, rho, x, True) for x in grid]
            rising = [exact(family, n, mean, rho, x, False) for x in grid]
            assert all(np.diff(np.array(falling, dtype=float)) <= 1e-12)
            assert all(np.diff(np.array(rising, dtype=float)) >= -1e-12)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_nothing_is_below_the_floor(family):
    ends = (1e-3, 1 - 1e-3) if isinstance(family, Bernoulli) else (1e-4, 1e3)
    for n, mean in ((1, 0.5), (40, 0.25)):
        above, below = (family.log_martingale_floor(n, mean, 8.0, side) for side in (True, False))
        assert -FAR <= above <= exact(family, n, mean, 8.0, ends[1], True)
        assert -FAR <= below <= exact(family, n, mean, 8.0, ends[0], False)
        if above > -FAR and isinstance(family, Bernoulli | Geometric):
            assert exact(family, n, mean, 8.0, ends[1], True) < above + 3.0


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_without_observations_it_is_one(family):
    for x in (0.2, 0.7):
        for above in (True, False):
            assert -1.2 < family.log_martingale(0, 0.5, 8.0, x, above) <= 0.0


@given(st.floats(-60.0, 60.0))
@settings(max_examples=300, deadline=None)
def test_normal_tail(y):
    assert abs(log_normal_tail(y) - (0.5 * y * y + float(log_ndtr(y)))) < 3e-9 + 1e-15 * y * y


def test_normal_tail_at_infinity():
    assert (log_normal_tail(math.inf), log_normal_tail(-math.inf)) == (math.inf, -math.inf)


@given(st.floats(0.0, 1e8))
@settings(max_examples=300, deadline=None)
def test_log_factorial_rest(z):
    with mpmath.workdps(40):
        power = z * mpmath.log(z) if z else 0
        assert abs(log_factorial_rest(z) - (mpmath.loggamma(mpmath.mpf(z) + 1) - power + z)) < 1e-11


@given(
    st.sampled_from(FAMILIES),
    st.floats(0.5, 1e7),
    st.floats(0.001, 0.999),
    st.floats(0.01, 1e3),
    st.floats(0.001, 0.999),
    st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_is_below_the_likelihood_ratio_at_the_mean(family, n, mean, rho, x, above):
    """An average is below the largest: ``log M(x) <= n d(mean, x)``."""
    divergence = float(family.unit_divergence(mean, x, x - mean))
    assert family.log_martingale(n, mean, rho, x, above) <= n * divergence * (1 + 1e-12) + 1e-9
