"""Thresholds against 40-digit arithmetic, the certified constant, the guarantees, and a run without stopping."""

import math
import pickle
from dataclasses import FrozenInstanceError
from functools import cache
from itertools import pairwise

import mpmath
import numba
import numpy as np
import pytest
from inverse_gaussian import InverseGaussian
from scipy.special import lambertw

from caet_opt.bandits.families import Bernoulli, Exponential, Gamma, Gaussian, Geometric, Poisson
from caet_opt.errors import InputError
from caet_opt.exploring.stopping import THRESHOLDS, Mixture, make_threshold
from caet_opt.exploring.stopping.by_round import certified_log_constant, log_integral, log_term, peak
from caet_opt.exploring.stopping.mixture import gaussian_deviation, general_deviation, h_inverse, h_tilde
from caet_opt.kernels.thresholds import threshold_value

FAMILIES = [Gaussian(), Gaussian([1.0, 4.0, 2.0]), Bernoulli(), Poisson(), Exponential(), Gamma(2.5), Geometric()]
FAMILIES.append(InverseGaussian())

#: log(1/delta) from a delta close to one to a delta that no double can tell from zero.
LEVELS = [1e-3, math.log(10.0), 50.0, 500.0, 5000.0]

#: Those that are a formula of the round and the counts alone.
ALL = [(name, {}) for name in THRESHOLDS if name != "e-process"]
CERTIFIED = ("deviational", {"constant": "certified"})
ALL += [CERTIFIED, ("deviational", {"theta": 2.5, "constant": 7.0})]


#: log of the smallest constant that is proven for three arms and any task at log(1/delta) = 3.
LEAST = certified_log_constant(2, 1.2, 3.0 + math.log(3)) + math.log(3)


def threshold_at(name, family, arms, level, **options):
    """The threshold at log(1/delta) = level."""
    return make_threshold(name, family, arms, log_inv_delta=level, **options)


def h_inverse_digits(x):
    """h^-1 in 40 digits, through the lower branch of Lambert's function."""
    with mpmath.workdps(40):
        return -mpmath.lambertw(-mpmath.exp(-mpmath.mpf(x)), -1).real


def general_deviation_digits(x):
    """C_exp in 40 digits, with h_tilde as the minimum that it is."""
    with mpmath.workdps(40):
        x = (h_inverse_digits(1 + mpmath.mpf(x)) + mpmath.log(2 * mpmath.zeta(2))) / 2
        slope = lambda y: x - mpmath.log(mpmath.log(y)) - 1 / mpmath.log(y)  # noqa: E731
        end = mpmath.mpf(3) / 2
        y = end
        if slope(end) > 0:
            y = mpmath.findroot(slope, (mpmath.exp(1 / (x + 2 * mpmath.log(x + 3))), end), solver="anderson")
        return 2 * y * (x - mpmath.log(mpmath.log(y)))


@cache
def zeta_of_twice(lam):
    with mpmath.workdps(20):
        return float(mpmath.zeta(2 * mpmath.mpf(lam)))


def gaussian_deviation_grid(x):
    """C_G as the least of many ratios."""
    lam = 1.0 - 0.5 * np.exp(-np.linspace(1e-3, 12.0, 1001))
    zeta = np.array([zeta_of_twice(value) for value in lam])
    g = 2 * lam - 2 * lam * np.log(4 * lam) + np.log(zeta) - 0.5 * np.log(1 - lam)
    return float(np.min((g + x) / lam))


def test_registry_is_in_order():
    assert list(THRESHOLDS) == ["e-process", "mixture", "informational", "deviational", "customary"]
    assert all(threshold_at(name, Gaussian(), 3, 2.0).name == name for name in THRESHOLDS)


@pytest.mark.parametrize("x", [1.0 + 1e-10, 1.0 + 1e-6, 1.01, 1.5, 2.0, 5.0, 40.0, 700.0, 800.0, 1e4])
def test_h_inverse_has_twelve_digits(x):
    u = h_inverse(x)
    assert float(abs(u - h_inverse_digits(x)) / u) < 1e-12
    assert u - math.log(u) == pytest.approx(x, rel=1e-12)


def test_h_inverse_agrees_with_scipy_and_ends_at_one():
    assert h_inverse(1.0) == 1.0
    for x in (1.2, 3.0, 30.0, 600.0):
        assert h_inverse(x) == pytest.approx(-lambertw(-math.exp(-x), -1).real, rel=1e-12)
    with pytest.raises(InputError, match="at least 1"):
        h_inverse(0.99)


def test_h_tilde_is_the_minimum_and_continuous():
    y = 1.0 + np.geomspace(1e-7, 0.5, 400_001)
    for x in (0.5, 1.0, 1.5, 1.6, 2.0, 3.5, 10.0, 200.0):
        assert h_tilde(x) == pytest.approx(np.min(y * (x - np.log(np.log(y)))), rel=1e-8)
    corner = 1.0 / math.log(1.5)
    corner -= math.log(corner)
    assert h_tilde(corner - 1e-9) == pytest.approx(h_tilde(corner + 1e-9), abs=1e-8)


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0, 2.5, 10.0, 250.0, 5000.0])
def test_general_deviation_has_ten_digits(x):
    assert general_deviation(x) == pytest.approx(float(general_deviation_digits(x)), rel=1e-10)


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0, 2.5, 10.0, 250.0, 5000.0])
def test_gaussian_deviation_is_the_least_ratio(x):
    least = gaussian_deviation_grid(x)
    assert gaussian_deviation(x) <= least * (1 + 1e-12)
    assert gaussian_deviation(x) == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize("arms", [2, 3, 10])
@pytest.mark.parametrize("level", LEVELS)
def test_values_are_the_formulas(arms, level):
    t, n_a, n_b = 1234, 500, 7
    pairs = sum(1 for a in range(arms) for b in range(a))
    x = (level + math.log(pairs)) / 2

    def value(name, family, **options):
        return threshold_at(name, family, arms, level, **options).value(t, n_a, n_b)

    assert value("informational", Bernoulli()) == pytest.approx(math.log(2 * t * pairs) + level)
    assert value("customary", Poisson()) == pytest.approx(math.log(1 + math.log(t)) + level)
    assert value("deviational", Poisson()) == pytest.approx(1.2 * math.log(t) + level)
    assert value("deviational", Poisson(), theta=1.5, constant=9) == pytest.approx(math.log(9 * t**1.5) + level)
    inner = math.log((1 + math.log(n_a)) * (1 + math.log(n_b)))
    assert value("mixture", Poisson()) == pytest.approx(3 * inner + 2 * float(general_deviation_digits(x)), rel=1e-10)
    inner = math.log((4 + math.log(n_a)) * (4 + math.log(n_b)))
    assert value("mixture", Gaussian(2.0)) == pytest.approx(2 * inner + 2 * gaussian_deviation_grid(x), rel=1e-5)


@pytest.mark.parametrize(("name", "options"), ALL)
@pytest.mark.parametrize("family", [Gaussian(), Bernoulli()], ids=str)
def test_increasing_in_round_and_confidence_and_arms(name, options, family):
    rounds = [2, 3, 10, 100, 10**4, 10**8]
    for arms in (2, 3, 8):
        for level in LEVELS:
            threshold = threshold_at(name, family, arms, level, **options)
            values = [threshold.value(t, t // 2, t - t // 2) for t in rounds]
            assert all(low < high for low, high in pairwise(values))
            assert values[0] > level
            assert threshold.value(100, 30, 70) == threshold.value(100, 70, 30)
        increments = [threshold_at(name, family, arms, level, **options).value(50, 20, 30) for level in LEVELS]
        assert all(low < high for low, high in pairwise(increments))
    if name in ("mixture", "informational"):
        by_arms = [threshold_at(name, family, arms, 3.0).value(50, 20, 30) for arms in (2, 3, 8)]
        assert by_arms[0] < by_arms[1] < by_arms[2]


@pytest.mark.parametrize(("name", "options"), ALL)
def test_leading_term_is_log_inv_delta(name, options):
    value = threshold_at(name, Poisson(), 3, 1e5, **options).value(1000, 300, 300)
    assert 1.0 < value / 1e5 < 1.002


def test_union_is_over_unordered_pairs():
    assert Mixture(5, 10, 3.0).level == pytest.approx(Mixture(2, 1, 3.0 + math.log(10)).level, rel=1e-14)
    informational = threshold_at("informational", Bernoulli(), 5, 3.0)
    assert informational.value(1, 1, 1) == pytest.approx(math.log(20) + 3.0, rel=1e-14)


def test_a_task_counts_its_pairs_at_risk():
    """Best arm of five: 4 instead of 10, in every threshold that takes a union."""
    for name, options in (("e-process", {}), ("mixture", {}), ("informational", {}), CERTIFIED):
        any_task = threshold_at(name, Bernoulli(), 5, 3.0, **options)
        best_arm = threshold_at(name, Bernoulli(), 5, 3.0, task="best-arm", **options)
        assert (any_task.pairs, best_arm.pairs) == (10, 4)
        assert best_arm.level < any_task.level
    customary = [threshold_at("customary", Bernoulli(), 5, 3.0, task=task) for task in (None, "best-arm")]
    assert customary[0].level == customary[1].level


def test_the_certified_constant_is_that_of_pairs_where_they_are_fewer_arms():
    for arms, level in ((2, 3.0), (5, 3.0), (20, 50.0)):
        found = threshold_at("deviational", Poisson(), arms, level, constant="certified")
        union = math.log(found.pairs)
        of_pairs = certified_log_constant(2, 1.2, level + union) + union
        assert found.log_constant == min(of_pairs, certified_log_constant(arms, 1.2, level))


@pytest.mark.parametrize(("arms", "figure", "digit"), [(2, 22.6, 0.05), (3, 34.0, 0.5), (5, 59.0, 0.5)])
def test_certified_constant_of_the_reading_notes(arms, figure, digit):
    assert certified_log_constant(arms, 1.2, math.log(20)) == pytest.approx(figure, abs=digit)


def series_over_delta(log_constant, arms, theta, level, extra):
    """The proof's series over delta: terms below 1000 one by one, the rest by quadrature, then ``extra`` peaks."""
    K, L = arms, level + log_constant

    def log_term(log_t):
        return K + 1 - log_constant + K * mpmath.log((L + theta * log_t) ** 2 * log_t / K) - theta * log_t

    head = mpmath.fsum(mpmath.exp(log_term(mpmath.log(t))) for t in range(2, 1000))
    start = mpmath.log(1000)
    marks = [start + step for step in (0, 3, 10, 30, 100, 300, 1000, 3000)]
    tail = mpmath.quad(lambda log_t: mpmath.exp(log_term(log_t) + log_t), marks)
    peak = max(mpmath.exp(log_term(start + mpmath.mpf(step) / 10)) for step in range(600))
    return head + tail + extra * peak


@pytest.mark.parametrize("theta", [1.2, 2.0])
@pytest.mark.parametrize("level", [math.log(20), 500.0])
@pytest.mark.parametrize("arms", [2, 5, 20])
def test_certified_constant_is_the_smallest(arms, level, theta):
    """A sum of terms that rise and then fall is within one peak of its integral, on either side."""
    log_constant = certified_log_constant(arms, theta, level)
    assert series_over_delta(log_constant + 2e-3, arms, theta, level, extra=1) <= 1
    assert series_over_delta(log_constant - 2e-3, arms, theta, level, extra=-1) > 1


@pytest.mark.parametrize(("offset", "arms", "theta"), [(37.0, 3, 1.2), (10.0, 2, 4.0), (400.0, 200, 1.05)])
def test_tail_of_the_series(offset, arms, theta):
    top = peak(offset, arms, theta)
    assert log_term(top, offset, arms, theta) > max(log_term(top * (1 + np.array([-1e-3, 1e-3])), offset, arms, theta))
    with mpmath.workdps(30):
        marks = [9 + step for step in (0, 1, 5, 20, 100, 500, 2500, 10_000, 40_000)]
        integrand = lambda x: (offset + theta * x) ** (2 * arms) * x**arms * mpmath.exp((1 - theta) * x)  # noqa: E731
        expected = float(mpmath.log(mpmath.quad(integrand, marks)))
    assert log_integral(9.0, offset, arms, theta) == pytest.approx(expected, abs=1e-9)


def test_certified_constant_moves_as_the_proof_says():
    by_level = [certified_log_constant(3, 1.2, level) for level in (3.0, 30.0, 500.0, 5000.0)]
    assert all(low < high for low, high in pairwise(by_level))
    assert by_level[-1] - by_level[0] < 6 * math.log(5000 / 3.0)
    by_theta = [certified_log_constant(3, theta, 3.0) for theta in (1.0001, 1.01, 1.2, 2.0, 5.0)]
    assert all(low > high for low, high in pairwise(by_theta))
    assert certified_log_constant(3, 500.0, 3.0) == 3.0
    assert certified_log_constant(3, 500.0, 500.0) == 0.0
    assert 3000 < certified_log_constant(200, 1.2, 3.0) < 5000


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_guarantees(family):
    def guarantees(name, **options):
        return threshold_at(name, family, 3, 3.0, **options).guarantees(family)

    assert guarantees("mixture")
    if family.has_martingale():
        assert guarantees("e-process")
    assert guarantees("informational") == (family == Bernoulli())
    assert guarantees("deviational", constant="certified")
    assert guarantees("deviational", constant=math.exp(LEAST + 0.01))
    assert not guarantees("deviational", constant=math.exp(LEAST - 0.01))
    assert not guarantees("deviational")
    assert not guarantees("customary")


def test_gaussian_mixture_is_sharper_and_for_gaussians_only():
    sharp, general = threshold_at("mixture", Gaussian(), 3, 3.0), threshold_at("mixture", Bernoulli(), 3, 3.0)
    assert not sharp.guarantees(Bernoulli())
    assert general.guarantees(Gaussian())
    assert all(sharp.value(2 * n, n, n) < general.value(2 * n, n, n) for n in (1, 10, 10**6))


def test_what_is_printed():
    assert threshold_at("mixture", Gaussian(), 3, 3.0).reason == "proven for gaussian"
    assert threshold_at("informational", Gaussian(), 3, 3.0).reason == "proven for bernoulli"
    assert "every one-parameter" in threshold_at("mixture", Poisson(), 3, 3.0).reason
    assert "every one-parameter" in threshold_at("deviational", Poisson(), 3, 3.0, constant="certified").reason
    assert f"e^{LEAST:.1f}" in threshold_at("deviational", Poisson(), 3, 3.0).reason
    assert "not proven" in threshold_at("customary", Poisson(), 3, 3.0).reason
    assert "theta = 1.3" in threshold_at("deviational", Poisson(), 3, 3.0, theta=1.3).describe()
    assert "certified" in threshold_at("deviational", Poisson(), 3, 3.0, constant="certified").describe()
    assert str(threshold_at("customary", Poisson(), 3, 3.0)) == "customary"


@pytest.mark.parametrize(
    ("name", "arms", "level", "options", "message"),
    [
        ("mixtur", 3, 3.0, {}, "did you mean 'mixture'"),
        ("chernoff", 3, 3.0, {}, "known: customary, deviational, e-process, informational, mixture"),
        (["mixture"], 3, 3.0, {}, "unknown threshold"),
        ("informational", 3, 3.0, {"theta": 1.2}, "'informational' takes no theta"),
        ("mixture", 3, 3.0, {"constant": 1.0}, "takes no constant"),
        ("customary", 3, 3.0, {"constant": "certified"}, "takes no constant"),
        ("deviational", 3, 3.0, {"theta": 1.0}, "theta .* above 1, got 1$"),
        ("deviational", 3, 3.0, {"theta": math.inf}, "theta"),
        ("deviational", 3, 3.0, {"theta": "1.2"}, "theta"),
        ("deviational", 3, 3.0, {"constant": 0.0}, "positive number or 'certified', got 0$"),
        ("deviational", 3, 3.0, {"constant": math.nan}, "constant"),
        ("deviational", 3, 3.0, {"constant": "proven"}, "'certified', got 'proven'"),
        ("deviational", 3, 3.0, {"constant": True}, "constant"),
        ("mixture", 0, 3.0, {}, "1 or more, got 0"),
        ("mixture", 2.5, 3.0, {}, "1 or more, got 2.5"),
        ("mixture", 3, 0.0, {}, "log_inv_delta .*0 < delta < 1"),
        ("mixture", 3, -1.0, {}, "log_inv_delta"),
        ("mixture", 3, math.inf, {}, "log_inv_delta"),
    ],
)
def test_bad_input(name, arms, level, options, message):
    with pytest.raises(InputError, match=message):
        threshold_at(name, Gaussian(), arms, level, **options)


def test_immutable_comparable_and_picklable():
    threshold = threshold_at("mixture", Gaussian(), 3, 3.0)
    with pytest.raises(FrozenInstanceError):
        threshold.log_inv_delta = 1.0
    assert threshold == threshold_at("mixture", Gaussian(), 3, 3.0) == pickle.loads(pickle.dumps(threshold))
    assert threshold != threshold_at("mixture", Bernoulli(), 3, 3.0)


def test_unpulled_arms_count_as_pulled_once():
    for name, options in ALL:
        threshold = threshold_at(name, Poisson(), 2, 3.0, **options)
        assert threshold.value(0, 0, 0) == threshold.value(1, 1, 1)


def test_compiled_value_is_the_interpreted_one():
    compiled = numba.njit(error_model="numpy")(threshold_value)
    for name, options in ALL:
        for family in (Gaussian(), Bernoulli()):
            threshold = threshold_at(name, family, 4, 500.0, **options)
            for t, n_a, n_b in [(0, 0, 0), (1, 1, 0), (2, 1, 1), (77, 5, 60), (10**7, 10**6, 3), (2**40, 2**39, 2**30)]:
                fast = compiled(threshold.code, t, n_a, n_b, threshold.level, threshold.slope)
                assert fast == pytest.approx(threshold.value(t, n_a, n_b), rel=1e-15)


def test_equal_gaussian_arms_stay_below_the_mixture_threshold():
    """Under equal means both orders are wrong; the pair may exceed beta in less than a share delta of the runs."""
    runs, rounds, delta = 400, 2000, 0.1
    rewards = np.random.default_rng(20240521).normal(size=(runs, rounds))
    first = np.arange(rounds) % 2 == 0
    n_a, n_b = np.cumsum(first), np.cumsum(~first)
    gap = np.cumsum(rewards * first, axis=1)[:, 1:] / n_a[1:] - np.cumsum(rewards * ~first, axis=1)[:, 1:] / n_b[1:]
    evidence = 0.5 * gap**2 * n_a[1:] * n_b[1:] / (n_a[1:] + n_b[1:])
    threshold = threshold_at("mixture", Gaussian(), 2, math.log(1 / delta))
    beta = np.array([threshold.value(t, n_a[t - 1], n_b[t - 1]) for t in range(2, rounds + 1)])
    assert np.mean(np.any(evidence > beta, axis=1)) < delta
    assert np.mean(np.any(evidence > math.log(1 / delta), axis=1)) > delta  # a threshold fixed in time would fail
