"""The e-process of statements: margins, ratios and levels, by exact minima on grids, at their ends, and by errors."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_martingales import exact
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from caet_opt.bandits.families import Bernoulli, Exponential, Family, Gaussian, Geometric, Poisson, martingales
from caet_opt.exploring.stopping import make_threshold
from caet_opt.exploring.stopping.base import PairState
from caet_opt.exploring.stopping.e_process import rule_of
from caet_opt.kernels import e_values
from caet_opt.kernels.compile import compile_functions, list_functions
from caet_opt.kernels.e_values import (
    BLUR,
    KEPT,
    Side,
    is_kept,
    log_martingale,
    needed_by,
    needed_evidence,
    told_apart_by,
)
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.native import compiled_kernel
from caet_opt.kernels.term import BERNOULLI, EXPONENTIAL, GAUSSIAN, GEOMETRIC, POISSON, pair_term
from cases.margins import IN_TURN, ONE_IN_TEN, SAMPLING, UNLUCKY, count_errors, list_cases

FAMILIES = [Gaussian(), Bernoulli(), Poisson(), Exponential(), Geometric()]
NOBODY = Side(0.0, 0.0, 0.0)

#: Pairs as (family, weight, mean, weight, mean), and what they needed at the level 6 before there were statements.
RECORDED = {
    (GAUSSIAN, 90.0, 1.2, 70.0, 0.5): 7.909772440841918,
    (GAUSSIAN, 1e9, 1e13 + 0.05, 1e9, 1e13): 251100.9464148673,
    (BERNOULLI, 200.0, 0.6, 150.0, 0.4): 7.949291777987799,
    (BERNOULLI, 30.0, 1.0, 400.0, 0.5): 14.501826928858662,
    (POISSON, 90.0, 3.0, 900.0, 2.0): 9.306384175272452,
    (POISSON, 40.0, 1.0, 40.0, 0.0): 15.254385593636343,
    (EXPONENTIAL, 80.0, 2.0, 100.0, 1.0): 8.029661971064693,
    (EXPONENTIAL, 5.0, 9.0, 2000.0, 1.0): 16.39921470677519,
    (GEOMETRIC, 120.0, 2.0, 120.0, 0.8): 8.320360410728838,
    (GEOMETRIC, 20.0, 4.0, 700.0, 1.0): 10.69522304336253,
}


class OwnPoisson(Poisson):
    """A user's family that happens to be Poisson's, which compiled code does not know."""


class OwnExponential(Exponential):
    """A user's family whose martingale falls to nothing at 0."""


def ends_of(family):
    space = family.mean_space
    return FAMILY_CODES[type(family)], float(space.low), float(space.high)


def least_evidence(family, winner, loser, margin):
    """Z of ``winner > loser + margin`` and the winner's mean there, by brute force; zero where it does not hold."""
    if not winner.mean > loser.mean + margin:
        return 0.0, math.nan
    _, low, high = ends_of(family)
    ends = max(low, low + margin, loser.mean + margin), min(high, high + margin, winner.mean)

    def total(x):
        """``w_a d(m_a, x) + w_b d(m_b, x - margin)``, infinite where rounding leaves the mean space."""
        points = (winner, x), (loser, x - margin)
        if not all(low < point < high or point == arm.mean for arm, point in points):
            return math.inf
        return sum(arm.weight * float(family.unit_divergence(arm.mean, x, x - arm.mean)) for arm, x in points)

    if ends[0] == ends[1]:  # both the end of all means and an empirical mean
        return total(ends[0]), ends[0]
    grid = np.linspace(*ends, 60)
    place = int(np.argmin([total(x) for x in grid.tolist()]))
    bounds = grid[max(place - 1, 0)], grid[min(place + 1, 59)]
    found = minimize_scalar(total, bounds=bounds, method="bounded", options={"xatol": 1e-9 * (ends[1] - ends[0])})
    return float(found.fun), float(found.x)


def draw_statement(family, rng, most=1e4):
    """Two arms of very unequal counts and a margin of either sign, by which the first is ahead."""
    high = 0.97 if isinstance(family, Bernoulli) else 6.0
    low = 0.02
    while True:
        one, other = rng.uniform(low, high, 2).tolist()
        margin = float(rng.uniform(-0.6, 0.6) * high)
        if one > other + margin + 0.05 * high and (not isinstance(family, Bernoulli) or abs(margin) < 0.9):
            weights = 10 ** rng.uniform(0, math.log10(most), 2)
            return Side(float(weights[0]), one, 8.0), Side(float(weights[1]), other, 8.0), margin


def boundary_grid(family, winner, loser, margin, points):
    """Points (x, y) with x = y + margin: between the means, beyond them, and close to the ends of all means."""
    _, low, high = ends_of(family)
    first, second, last = loser.mean + min(margin, 0.0), winner.mean - max(margin, 0.0), high - abs(margin)
    beyond = (second - first) * np.geomspace(1e-3, 30.0, points)
    near = (last if last < math.inf else 1.0) * np.geomspace(1e-9, 0.4, points)
    far = last - near if last < math.inf else np.geomspace(0.5, 50.0 if isinstance(family, Poisson) else 1e9, points)
    t = np.concatenate([low + near, first - beyond, np.linspace(first, second, 3 * points), second + beyond, far])
    t = t[(t > low) & (t < last)]
    return np.stack([t + max(margin, 0.0), t + max(-margin, 0.0)], axis=1).tolist()


def exact_product(family, winner, loser, margin, x, y):
    """log of the product on the boundary in 30 digits, with the mixture of exponential losers for a positive margin."""
    up, down = (float(exact(family, *arm, at, side)) for arm, at, side in ((winner, x, True), (loser, y, False)))
    if isinstance(family, Exponential) and margin > 0:
        down = float(np.logaddexp(math.log(KEPT), math.log(1 - KEPT) + down))
    return up + down


def log_e_value(family, winner, loser, margin, ratio=1.0):
    """log E as people read it, of sides with rho = 8, from evidence that is more than enough where there is a ratio."""
    rule = make_threshold("e-process", family.name, 2, delta=0.05)
    arms = [None if side is NOBODY else PairState(side.weight, side.mean, 1.0) for side in (winner, loser)]
    evidence, x = (
        least_evidence(family, winner, loser, margin) if ratio == 1.0 and None not in arms else (1e4, math.nan)
    )
    return rule.log_e_value(family, evidence, *arms, margin, ratio, x)


@pytest.mark.parametrize("case", RECORDED, ids=str)
def test_a_pair_needs_what_it_needed(case):
    """Recorded before: a few units in the last place are for the logarithms of another C library."""
    family, weight, mean, other, loser = case
    ends = ends_of(FAMILIES[family])[1:]
    evidence = pair_term(family, weight, other, mean, loser, 0.0, 0.0, False, False)[0]
    arguments = family, *ends, 6.0, evidence, Side(weight, mean, 8.0), Side(other, loser, 8.0)
    assert needed_evidence(*arguments, True) == pytest.approx(RECORDED[case], rel=1e-15)
    assert needed_by(*arguments, 0.0, 1.0, math.nan, True) == needed_evidence(*arguments, True)


@pytest.mark.parametrize("family", FAMILIES[1:], ids=str)
def test_nothing_is_found_to_hold_that_an_exact_minimum_contradicts(family):
    """log E is below the product of the exact martingales at every point of a grid; where it is large, not by much."""
    rng, signs, lost = np.random.default_rng(6), set(), []
    for _ in range(14):
        winner, loser, margin = draw_statement(family, rng, most=300)
        found = log_e_value(family, winner, loser, margin)
        grid = boundary_grid(family, winner, loser, margin, 12)
        products = [exact_product(family, winner, loser, margin, x, y) for x, y in grid]
        assert found < min(products)
        if min(products) > 2.0:
            signs.add(margin > 0)
            lost.append(min(products) - found)
    assert signs == {True, False}
    assert np.median(lost) < 1.5


@pytest.mark.parametrize("family", FAMILIES[1:], ids=str)
def test_what_is_covered_is_above_the_level_on_a_grid(family):
    """Both ways, against what is computed at each point: little is lost by laying intervals."""
    rng, (code, low, high), judged = np.random.default_rng(3), ends_of(family), 0
    for _ in range(25):
        winner, loser, margin = draw_statement(family, rng)
        least = min(
            e_values.at_boundary(code, low, high, winner, margin, min(x, y), True)
            + e_values.at_boundary(code, low, high, loser, margin, min(x, y), False)
            for x, y in boundary_grid(family, winner, loser, margin, 400)
        )
        if least < 0.5:
            continue
        for level, verdict in ((least + 1e-6, False), (least - 0.05 - 1e-3 * abs(least), True)):
            need = needed_by(code, low, high, level, 1e6, winner, loser, margin, 1.0, math.nan, True)
            assert (need < 1e6) == verdict
        judged += 1
    assert judged > 5


@given(st.sampled_from(FAMILIES), st.integers(0, 10**6), st.floats(0.1, 30.0))
@settings(max_examples=60, deadline=None)
def test_an_e_value_is_below_its_evidence(family, seed, level):
    winner, loser, margin = draw_statement(family, np.random.default_rng(seed))
    evidence, x = least_evidence(family, winner, loser, margin)
    assume(math.isfinite(evidence))
    need = needed_by(*ends_of(family), level, evidence, winner, loser, margin, 1.0, x, True)
    assert need >= min(level, evidence) - 1e-6


def test_a_gaussian_margin_is_a_shift():
    winner, loser = Side(40.0, 1.7, 8.0), Side(30.0, 0.4, 8.0)
    for margin in (0.25, -0.5):
        shifted = Side(loser.weight, loser.mean + margin, loser.rho)
        evidence = pair_term(GAUSSIAN, 40.0, 30.0, winner.mean, shifted.mean, 0.0, 0.0, False, False)[0]
        pair = needed_evidence(GAUSSIAN, -math.inf, math.inf, 3.0, evidence, winner, shifted, True)
        arguments = GAUSSIAN, -math.inf, math.inf, 3.0, evidence, winner, loser, margin, 1.0, math.nan, True
        assert needed_by(*arguments) == pytest.approx(pair, rel=1e-12)
        assert needed_by(*arguments) < evidence


@pytest.mark.parametrize("family", [Poisson(), Exponential()], ids=str)
@pytest.mark.parametrize("ratio", [1.25, 0.6])
def test_a_ratio_is_a_minimum_along_its_ray(family, ratio):
    winner, loser = Side(60.0, 3.0, 8.0), Side(45.0, 1.1, 8.0)
    code = FAMILY_CODES[type(family)]
    found = log_e_value(family, winner, loser, 0.0, ratio)
    grid = np.geomspace(0.05, 20.0, 4000).tolist()
    least = min(log_martingale(code, winner, ratio * y, True) + log_martingale(code, loser, y, False) for y in grid)
    assert least - 0.05 < found < least + 1e-6
    assert found > 3.0


def test_other_families_have_no_ratios():
    for family in (Gaussian(), Bernoulli(), Geometric()):
        arguments = *ends_of(family), 1.0, 1e4, Side(1e3, 0.9, 8.0), Side(1e3, 0.1, 8.0), 0.0, 1.5, math.nan, True
        assert needed_by(*arguments) == 1e4


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_level_is_one_martingale(family):
    code, low, high = ends_of(family)
    arm = Side(50.0, 0.6, 8.0)
    for sides, margin, place, above in (((arm, NOBODY), 0.3, 0.3, True), ((NOBODY, arm), -0.9, 0.9, False)):
        log_m = log_martingale(code, arm, place, above)
        for level, verdict in ((log_m - 1e-6, True), (log_m + 1e-6, False)):
            need = needed_by(code, low, high, level, 40.0, *sides, margin, 1.0, math.nan, True)
            assert (need < 40.0) == verdict
            assert need == pytest.approx(level + 40.0 - log_m, rel=1e-9)
    for sides, margin in (((arm, NOBODY), 0.7), ((NOBODY, arm), -0.5)):  # the mean is on the other side
        assert needed_by(code, low, high, 0.1, 40.0, *sides, margin, 1.0, math.nan, True) == 40.0


def test_levels_and_margins_beyond_the_ends_are_true_or_false():
    """All means are above 0 or at it, where no reward is positive; so are statements that hold for all means."""
    arm, certain = Side(50.0, 0.6, 8.0), math.inf
    for sides, margin, verdict in (
        ((arm, NOBODY), -0.2, True),
        ((arm, NOBODY), 0.0, True),
        ((arm, NOBODY), 1.0, False),
        ((NOBODY, arm), -1.0, True),
        ((NOBODY, arm), -1.5, True),
        ((NOBODY, arm), 0.0, False),
        ((arm, Side(50.0, 0.1, 8.0)), 1.0, False),
        ((arm, Side(50.0, 0.1, 8.0)), -1.0, True),
    ):
        assert (certain > needed_by(BERNOULLI, 0.0, 1.0, 5.0, certain, *sides, margin, 1.0, math.nan, True)) == verdict
    nothing = Side(50.0, 0.0, 8.0)
    assert needed_by(BERNOULLI, 0.0, 1.0, 5.0, 9.0, nothing, NOBODY, 0.0, 1.0, math.nan, True) == 9.0


def test_exponential_rewards_with_a_positive_margin_have_power():
    """Without the mixture log E would be -565 at a mean of 1e-300."""
    arms = Side(300.0, 2.0, 8.0), Side(300.0, 1.0, 8.0)
    assert log_martingale(EXPONENTIAL, arms[0], 0.5, True) + log_martingale(EXPONENTIAL, arms[1], 1e-300, False) < -500
    assert 6.0 < log_e_value(Exponential(), *arms, 0.5) < least_evidence(Exponential(), *arms, 0.5)[0] < 8.7


@pytest.mark.parametrize(
    ("family", "means", "margin"),
    [
        (Bernoulli(), (0.3, 0.01), 0.1),
        (Bernoulli(), (0.99, 0.7), 0.1),
        (Bernoulli(), (0.95, 0.96), -0.1),
        (Bernoulli(), (0.04, 0.05), -0.1),
        (Poisson(), (2.0, 0.01), 0.5),
        (Poisson(), (1.0, 1.2), -0.6),
        (Exponential(), (2.0, 0.1), 0.5),
        (Exponential(), (1.0, 1.2), -0.6),
        (Geometric(), (2.0, 0.01), 0.5),
        (Geometric(), (1.0, 1.2), -0.6),
    ],
    ids=str,
)
def test_no_end_takes_the_power(family, means, margin):
    """log E is as far below the evidence as it is at the minimum of the evidence, whatever happens at the ends."""
    winner, loser = (Side(300.0, mean, 8.0) for mean in means)
    code, low, high = ends_of(family)
    evidence, x = least_evidence(family, winner, loser, margin)
    inside = evidence - (needed_by(code, low, high, 0.0, evidence, winner, loser, margin, 1.0, x, False) - 0.0)
    found = log_e_value(family, winner, loser, margin)
    assert inside - 0.02 * evidence - 0.5 < found <= inside + 1e-6
    assert found > 0.4 * evidence


@pytest.mark.parametrize(
    ("family", "means", "margin"),
    [
        (Bernoulli(), (1.0, 0.0), 0.2),
        (Bernoulli(), (1.0, 0.0), -0.2),
        (Bernoulli(), (1.0, 1.0), -0.1),
        (Bernoulli(), (0.0, 0.0), -0.1),
        (Poisson(), (2.0, 0.0), 0.5),
        (Poisson(), (0.0, 0.0), -0.5),
        (Geometric(), (2.0, 0.0), 0.5),
        (Geometric(), (0.0, 0.2), -0.9),
    ],
    ids=str,
)
def test_empirical_means_at_an_end(family, means, margin):
    winner, loser = (Side(100.0, mean, 8.0) for mean in means)
    found = log_e_value(family, winner, loser, margin)
    grid = boundary_grid(family, winner, loser, margin, 12)
    least = min(exact_product(family, winner, loser, margin, x, y) for x, y in grid)
    assert 3.0 < least - 1.6 < found < least < least_evidence(family, winner, loser, margin)[0]


def test_near_an_end_the_least_value_over_all_means_is_the_better_bound():
    """Three of 300 rewards of the loser were not zero, so that the minimum is near 0, where the bound of M is poor."""
    winner, loser = Side(30.0, 2.0, 8.0), Side(300.0, 0.01, 8.0)
    grid = np.geomspace(1e-6, 1.0, 60).tolist()
    least = min(exact_product(Geometric(), winner, loser, 0.5, y + 0.5, y) for y in grid)
    assert least - 1.5 < log_e_value(Geometric(), winner, loser, 0.5) < least


def test_the_mixture_is_for_exponential_losers_with_a_positive_margin():
    arm = Side(30.0, 0.5, 8.0)
    kept = {
        (type(family).__name__, margin > 0, above)
        for family in FAMILIES
        for margin in (0.1, -0.1)
        for above in (True, False)
        if is_kept(*ends_of(family), arm, margin, above)
    }
    assert kept == {("Exponential", True, False)}


def test_a_statement_on_the_wrong_side_has_no_evidence():
    for family in FAMILIES:
        arguments = *ends_of(family), 0.5, 50.0, Side(500.0, 0.3, 8.0), Side(500.0, 0.5, 8.0), -0.1, 1.0, 0.35, True
        assert needed_by(*arguments) >= 50.0


def test_compiled_and_interpreted_agree_to_the_last_bit():
    compiled = compile_functions(list_functions(martingales, e_values), compiled_kernel())["needed_by"]
    rng, held, judged = np.random.default_rng(8), 0, 0
    for family in FAMILIES:
        for _ in range(40):
            winner, loser, margin = draw_statement(family, rng, most=300)
            evidence, x = least_evidence(family, winner, loser, margin)
            for sides, offset, ratio, at in (
                ((winner, loser), margin, 1.0, x),
                ((winner, loser), margin, 1.0, math.nan),
                ((winner, NOBODY), 0.7 * winner.mean, 1.0, math.nan),
                ((NOBODY, loser), -1.2 * loser.mean, 1.0, math.nan),
                ((winner, loser), 0.0, 0.7 * winner.mean / loser.mean, math.nan),
            ):
                level = float(rng.uniform(0.2, 0.9) * evidence)
                arguments = (*ends_of(family), level, evidence, *sides, offset, ratio, at, True)
                assert compiled(*arguments) == needed_by(*arguments)
                judged, held = judged + 1, held + (needed_by(*arguments) < evidence)
    assert 0.1 < held / judged < 0.9


@pytest.mark.parametrize("own", [OwnPoisson, OwnExponential])
def test_a_family_of_ones_own_decides_alike(own):
    rng, ours, shipped = np.random.default_rng(2), rule_of(own), own.__bases__[0]()
    held = []
    for _ in range(40):
        winner, loser, margin = draw_statement(shipped, rng, most=100)
        evidence, x = least_evidence(shipped, winner, loser, margin)
        arguments = (0.0, math.inf, 0.5 * evidence, evidence, winner, loser, margin, 1.0, x, True)
        needed = needed_by(FAMILY_CODES[type(shipped)], *arguments)
        assert ours(-1, *arguments) == needed
        held.append(needed < evidence)
    assert {True, False} == set(held)


@pytest.mark.parametrize("margin", [-0.1, -0.2, -0.3, -0.4])
def test_a_search_ends_where_no_number_is_left(margin):
    """Each step to the end is passed, and the value at the end itself is not enough."""
    end = 1.0 + margin

    class Falling(Bernoulli):
        log_martingale_floor = staticmethod(Family.log_martingale_floor)

        @staticmethod
        def log_martingale(weight, mean, rho, x, above):
            return 2.0 if x < end or not above else -9.0

    arguments = 0.0, 1.0, 3.0, 1e4, Side(20.0, 0.9, 8.0), Side(20.0, 0.2, 8.0), margin, 1.0, math.nan, True
    assert rule_of(Falling)(-1, *arguments) == 1e4


@given(st.floats(1.0, 1e300), st.integers(0, 40), st.floats(-2.0, 2.0), st.sampled_from([GAUSSIAN, EXPONENTIAL]))
def test_what_rounding_may_have_moved_counts_against_a_statement(mean, steps, part, family):
    """Means a few doubles beyond the margin: what is left of the difference is at most the rest after the blur."""
    margin = part * mean
    other = mean - margin
    assume(0.0 < other < math.inf)
    high = mean
    for _ in range(steps):
        high = math.nextafter(high, math.inf)
    moved = told_apart_by(family, high, other, margin)
    sizes = sum(abs(Fraction(number)) for number in (high, other, margin))
    left = Fraction(high) - Fraction(other) - Fraction(margin) - Fraction(BLUR) * sizes
    distance = Fraction(moved[0]) - Fraction(moved[1]) - Fraction(moved[2])
    assert distance <= max(left, 0) + Fraction(2.0**-53) * 2 * abs(Fraction(high) - Fraction(other))


def test_rounding_is_no_evidence():
    """After 1e9 pulls the difference of a few doubles would be enough."""
    for family, weight in ((GAUSSIAN, 1e9), (EXPONENTIAL, 1e38)):
        low = -math.inf if family == GAUSSIAN else 0.0
        for apart, verdict in ((3, False), (200, True)):
            winner = Side(weight, 3e13 + apart * 2.0**-8, 8.0)
            for loser, margin in ((Side(weight, 1e13, 8.0), 2e13), (NOBODY, 3e13)):
                need = needed_by(family, low, math.inf, 5.0, 1e6, winner, loser, margin, 1.0, math.nan, True)
                assert (need < 1e6) == verdict


def test_the_margin_is_a_boundary_of_errors():
    """At the margin itself errors are at most delta: all cases and sampling rules, looking at every round, and none is
    so rare that the test says nothing. By chance it fails once in 10^6."""
    cases, runs, delta = list(list_cases()), 200, 0.3
    most = int(binom.isf(1e-6 / (len(SAMPLING) * len(cases)), runs, delta))
    assert most < 0.55 * runs
    errors = {
        (case, sampling): count_errors(case, sampling, delta, runs, 300, (5, number, sampling))
        for number, case in enumerate(cases)
        for sampling in (IN_TURN, UNLUCKY, ONE_IN_TEN)
    }
    assert max(errors.values()) <= most
    assert sum(errors.values()) > 0.03 * runs * len(errors)
