"""Divergences against 60-digit arithmetic, boundaries, moments of samples, and a family that is not shipped."""

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inverse_gaussian import InverseGaussian

from caet_opt import (
    Bernoulli,
    Exponential,
    Gamma,
    Gaussian,
    Geometric,
    InputError,
    Poisson,
    parse_family,
)
from caet_opt.bandits.families.numerics import EVEN, ODD, UNIT, horner, kl_div, slope
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.term import mixture_divergence

mpmath.mp.dps = 60


def textbook(family, x, y):
    """The divergence as the textbooks write it, in 60 digits, of the two given doubles."""
    x, y, log = mpmath.mpf(x), mpmath.mpf(y), mpmath.log
    return {
        "gaussian": lambda: (x - y) ** 2 / 2,
        "bernoulli": lambda: x * log(x / y) + (1 - x) * log((1 - x) / (1 - y)),
        "poisson": lambda: x * log(x / y) - x + y,
        "exponential": lambda: x / y - 1 - log(x / y),
        "geometric": lambda: x * log(x / y) - (1 + x) * log((1 + x) / (1 + y)),
    }[family]()


@pytest.mark.parametrize("family", [Gaussian(), Bernoulli(), Poisson(), Exponential(), Geometric()], ids=str)
@pytest.mark.parametrize("relative_gap", [1e-9, 1e-6, 1e-3, 0.1, 0.49, 0.51, 0.9])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("x", [1e-9, 0.003, 0.2, 0.52])
def test_divergence_keeps_twelve_digits(family, relative_gap, sign, x):
    y = x * (1 + sign * relative_gap)
    expected = textbook(family.name, x, y)
    assert float(abs(family.divergence(x, y) - expected) / expected) < 1e-12


SHIPPED = [Gaussian(), Bernoulli(), Poisson(), Exponential(), Gamma(2.5), Geometric()]


@pytest.mark.parametrize("family", SHIPPED, ids=str)
def test_mixture_divergence_is_within_its_proven_error_in_both_versions(family):
    rng = np.random.default_rng(5)
    for _ in range(600):
        x, other, small = random_mixture(rng, family)
        for share, other_share in ((small, 1.0 - small), (1.0 - small, small), (0.0, 1.0)):
            exact_share = (
                mpmath.mpf(small) if other_share == small else 1 - mpmath.mpf(small) if share else mpmath.mpf(1)
            )
            m = mpmath.mpf(x) + exact_share * (mpmath.mpf(other) - mpmath.mpf(x))
            expected = textbook(family.name.replace("gamma", "exponential"), mpmath.mpf(x), m)
            compiled = mixture_divergence(FAMILY_CODES[type(family)], x, other, share, other_share, 0.0, 0.0)
            for value in (family.mixture_divergence(x, other, share, other_share), compiled):
                assert float(abs(value - expected) / expected) <= family.divergence_error * UNIT


@pytest.mark.parametrize("family", SHIPPED, ids=str)
def test_both_versions_have_the_same_limits(family):
    low, high = family.mean_space.low, family.mean_space.high
    ends = [end for end in (low, high) if end in family.mean_space]
    means = [*ends, 0.25, 0.75]
    for x, other in ((x, other) for x in means for other in means):
        for share, other_share in ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)):
            expected = family.mixture_divergence(x, other, share, other_share)
            found = mixture_divergence(FAMILY_CODES[type(family)], x, other, share, other_share, 0.0, 0.0)
            assert found == pytest.approx(float(expected), rel=1e-14, abs=0.0)


def random_mixture(rng, family):
    """Two means from nearly equal to far apart, and the smaller share."""
    x = 10.0 ** rng.uniform(-9, 0) if family.name == "bernoulli" else 10.0 ** rng.uniform(-9, 9)
    other = x * np.exp(rng.choice([-1, 1]) * 10.0 ** rng.uniform(-9, 1.2))
    if family.name == "bernoulli":
        x, other = (min(mean, 1.0 - 1e-12) for mean in (x, other))
        x, other = (1.0 - x, 1.0 - other) if rng.random() < 0.5 else (x, other)
    return (x, other if other != x else x * (1 - 1e-9), 10.0 ** rng.uniform(-9, np.log10(0.5)))


@pytest.mark.parametrize("family", SHIPPED, ids=str)
def test_decimals_are_taken_as_they_were_typed(family):
    x, other = Decimal("0.3000000000000001"), Decimal("0.3000000000007")
    rests = [float(Fraction(mean) - Fraction(float(mean))) for mean in (x, other)]
    expected = textbook(family.name.replace("gamma", "exponential"), mpmath.mpf(str(x)), mpmath.mpf(str(other)))
    code = FAMILY_CODES[type(family)]
    for value in (
        family.mixture_divergence(float(x), float(other), 0.0, 1.0, *rests),
        mixture_divergence(code, float(x), float(other), 0.0, 1.0, *rests),
    ):
        assert float(abs(value - expected) / expected) <= family.divergence_error * UNIT


def test_the_polynomial_is_within_what_the_proofs_take_it_for():
    for q in np.linspace(1e-9, 0.36, 4000):
        s = mpmath.sqrt(mpmath.mpf(q))
        exactly = (mpmath.atanh(s) / s - 1) / q
        assert (
            abs(
                horner([*map(mpmath.mpf, EVEN)], mpmath.mpf(q) ** 2)
                + q * horner([*map(mpmath.mpf, ODD)], mpmath.mpf(q) ** 2)
                - exactly
            )
            <= 1.1 * UNIT * exactly
        )
        rounded = horner(EVEN, q * q) + q * horner(ODD, q * q)
        assert abs(rounded - exactly) <= 4 * UNIT * exactly


@pytest.mark.parametrize("family", [Gaussian(), Poisson(), Exponential(), Geometric()], ids=str)
@pytest.mark.parametrize("x", [3.0, 4e4, 1e9])
def test_divergence_keeps_twelve_digits_at_large_means(family, x):
    for y in (x * (1 + 1e-6), x * 0.7, x * 50):
        expected = textbook(family.name, x, y)
        assert float(abs(family.divergence(x, y) - expected) / expected) < 1e-12


def test_divergence_at_the_boundary():
    assert Bernoulli().divergence(0.0, 0.3) == pytest.approx(-np.log(0.7), rel=1e-15)
    assert Bernoulli().divergence(1.0, 0.3) == pytest.approx(-np.log(0.3), rel=1e-15)
    assert Bernoulli().divergence(0.3, 0.0) == np.inf
    assert Bernoulli().divergence(0.3, 1.0) == np.inf
    assert Bernoulli().divergence(0.0, 1.0) == np.inf
    assert Bernoulli().divergence(0.0, 0.0) == Bernoulli().divergence(1.0, 1.0) == 0.0
    assert Poisson().divergence(0.0, 2.0) == 2.0
    assert Poisson().divergence(2.0, 0.0) == np.inf
    assert Poisson().divergence(0.0, 0.0) == 0.0
    assert Geometric().divergence(0.0, 2.0) == pytest.approx(np.log(3.0), rel=1e-15)
    assert Geometric().divergence(2.0, 0.0) == np.inf


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
def test_kl_div_is_positive_away_from_equality(x, y):
    value = kl_div(x, y, y - x, slope(y - x, x + y))
    assert value >= 0
    assert (value > 0) == (x != y) or abs(y / x - 1) < 1e-100 or (value == 0.0 and min(x, y) < 1e-290)


@pytest.mark.parametrize(
    "family", [Gaussian(), Bernoulli(), Poisson(), Exponential(), Geometric(), InverseGaussian()], ids=str
)
def test_variance_and_natural_parameter_are_derivatives_of_the_divergence(family):
    x, y, step = 0.4, 0.55, 1e-5
    slope = (family.divergence(x + step, y) - family.divergence(x - step, y)) / (2 * step)
    assert slope == pytest.approx(family.natural_parameter(x) - family.natural_parameter(y), rel=1e-7)
    slope = (family.divergence(x, y + step) - family.divergence(x, y - step)) / (2 * step)
    assert slope == pytest.approx((y - x) / family.unit_variance(y), rel=1e-7)


@pytest.mark.parametrize(
    "family",
    [Gaussian(2.5), Bernoulli(), Poisson(), Exponential(), Gamma(3.0), Geometric(), InverseGaussian()],
    ids=str,
)
def test_samples_have_the_stated_mean_and_variance(family):
    mean, draws = 0.7, 200_000
    dispersion = family.dispersions(1)[0]
    rewards = family.sample(np.random.default_rng(1), mean, dispersion, draws)
    variance = dispersion * family.unit_variance(mean)
    assert rewards.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / draws))
    assert rewards.var() == pytest.approx(variance, rel=0.05)


def test_dispersion_divides_the_divergence():
    assert Gaussian(4.0).divergence(0.0, 1.0) == 0.125
    assert Gaussian([1.0, 4.0]).divergence([0.0, 0.0], [1.0, 1.0]).tolist() == [0.5, 0.125]
    assert Gamma(3.0).divergence(1.0, 2.0) == pytest.approx(3.0 * Exponential().divergence(1.0, 2.0))


@pytest.mark.parametrize(
    "text",
    ["gaussian", "gaussian:2", "gaussian:1,4,0.25", "bernoulli", "poisson", "exponential", "gamma:2.5", "geometric"],
)
def test_grammar_round_trip(text):
    assert str(parse_family(text)) == text
    assert parse_family(str(parse_family(text))) == parse_family(text)


@pytest.mark.parametrize(
    "text", ["gauss", "gaussian:", "gaussian:0", "gaussian:-1", "gaussian:nan", "gamma", "gamma:1,2", "bernoulli:1", ""]
)
def test_bad_grammar(text):
    with pytest.raises(InputError):
        parse_family(text)
