"""The e-process: what is covered, by grids; compiled and interpreted alike; families with and without martingales."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from inverse_gaussian import InverseGaussian

from caet_opt.bandits.families import Bernoulli, Exponential, Gaussian, Geometric, Poisson, martingales
from caet_opt.errors import InputError
from caet_opt.exploring.explorer import Caet
from caet_opt.exploring.stopping import EProcess, make_threshold
from caet_opt.exploring.stopping.base import PairState
from caet_opt.exploring.stopping.e_process import prior_scales, rule_of
from caet_opt.kernels import e_values
from caet_opt.kernels.compile import compile_functions, list_functions
from caet_opt.kernels.e_values import Side, is_covered, log_martingale, needed_evidence
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.native import compiled_kernel
from caet_opt.kernels.term import mixture_divergence

FAMILIES = [Gaussian(), Bernoulli(), Poisson(), Exponential(), Geometric()]


class OwnPoisson(Poisson):
    """A user's family that happens to be Poisson's, which compiled code does not know."""


def evidence_of(family, winner, loser):
    """Z_ab of two sides."""
    code, total = FAMILY_CODES[type(family)], winner.weight + loser.weight
    shares = winner.weight / total, loser.weight / total
    return winner.weight * mixture_divergence(code, winner.mean, loser.mean, *shares, 0.0, 0.0) + (
        loser.weight * mixture_divergence(code, loser.mean, winner.mean, *reversed(shares), 0.0, 0.0)
    )


def need(family, level, winner, loser):
    space = family.mean_space
    code = FAMILY_CODES[type(family)]
    return needed_evidence(code, space.low, space.high, level, evidence_of(family, winner, loser), winner, loser, True)


def draw_sides(family, rng, most=1e4):
    """Two arms with very unequal counts, the first the better one."""
    high = 0.95 if isinstance(family, Bernoulli) else 10.0
    means = np.sort(rng.uniform(0.05, high, 2))[::-1]
    return tuple(Side(float(10 ** rng.uniform(0, math.log10(most))), float(mean), 8.0) for mean in means)


def least_on_grid(family, winner, loser):
    """The least of ``log M_a + log M_b`` on a fine grid that reaches far beyond both means."""
    code, gap = FAMILY_CODES[type(family)], winner.mean - loser.mean
    inside = np.linspace(loser.mean, winner.mean, 1500)
    beyond = gap * np.geomspace(1e-3, 30.0, 500)
    grid = np.concatenate([loser.mean - beyond, inside, winner.mean + beyond])
    space = family.mean_space
    grid = grid[(grid > space.low) & (grid < space.high)]
    return min(log_martingale(code, winner, x, True) + log_martingale(code, loser, x, False) for x in grid.tolist())


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_what_is_covered_is_above_the_level_on_a_grid(family):
    """Both ways: nothing is covered that the grid contradicts, and what the grid has to spare is covered."""
    rng, code, space = np.random.default_rng(3), FAMILY_CODES[type(family)], family.mean_space
    verdicts = []
    for _ in range(30):
        winner, loser = draw_sides(family, rng)
        least = least_on_grid(family, winner, loser)
        if least < 0.5:  # no level is so low
            continue
        x = (winner.weight * winner.mean + loser.weight * loser.mean) / (winner.weight + loser.weight)
        both = log_martingale(code, winner, x, True), log_martingale(code, loser, x, False)
        for level, verdict in ((least + 1e-6, False), (least - 0.05 - 1e-3 * abs(least), True)):
            assert is_covered(code, space.low, space.high, level, winner, loser, 0.0, x, *both) == verdict
            verdicts.append(verdict)
    assert set(verdicts) == {True, False}


def test_the_minimum_may_lie_beyond_the_means():
    """One pull of the better arm, ten thousand of the other: the pooled mean would declare it, all of them do not."""
    winner, loser, family = Side(1.0, 4.0, 8.0), Side(1e4, 0.0, 8.0), Gaussian()
    at_pooled = sum(log_martingale(0, side, 0.0004, above) for side, above in ((winner, True), (loser, False)))
    least = least_on_grid(family, winner, loser)
    assert least < at_pooled - 0.5
    level = 0.5 * (least + at_pooled)
    assert need(family, level, winner, loser) == evidence_of(family, winner, loser)


@given(st.sampled_from(FAMILIES), st.integers(0, 10**6), st.floats(0.1, 30.0))
@settings(max_examples=60, deadline=None)
def test_an_e_value_is_below_its_evidence(family, seed, level):
    """``log E_ab <= Z_ab``: nothing is declared with evidence below the level."""
    winner, loser = draw_sides(family, np.random.default_rng(seed))
    evidence = evidence_of(family, winner, loser)
    assume(math.isfinite(evidence))
    assert need(family, level, winner, loser) >= min(level, evidence)


def test_compiled_and_interpreted_agree_to_the_last_bit():
    compiled = compile_functions(list_functions(martingales, e_values), compiled_kernel())["needed_evidence"]
    rng, covered = np.random.default_rng(8), 0
    for family in FAMILIES:
        code, space = FAMILY_CODES[type(family)], family.mean_space
        for _ in range(60):
            winner, loser = draw_sides(family, rng, most=300)
            evidence = evidence_of(family, winner, loser)
            arguments = (code, space.low, space.high, rng.uniform(0.2, 0.9) * evidence, evidence, winner, loser, True)
            assert compiled(*arguments) == needed_evidence(*arguments)
            covered += needed_evidence(*arguments) < evidence
    assert 30 < covered < 270


def test_a_family_of_ones_own_decides_alike():
    rng, ours = np.random.default_rng(2), rule_of(OwnPoisson)
    for _ in range(40):
        winner, loser = draw_sides(Poisson(), rng, most=100)
        evidence = evidence_of(Poisson(), winner, loser)
        arguments = (0.0, math.inf, 0.5 * evidence, evidence, winner, loser)
        plain = needed_evidence(FAMILY_CODES[Poisson], *arguments, True)
        assert ours(-1, *arguments, 0.0, 1.0, math.nan, True) == plain


def test_a_family_without_martingale_takes_the_mixture():
    caet = Caet.start("best-arm", InverseGaussian(), arms=2, delta=0.1, costs=[1, 1])
    assert caet.threshold.name == caet.parameters.threshold == "mixture"
    with pytest.raises(
        InputError, match="log_martingale, which family 'inverse-gaussian' does not have; use 'mixture'"
    ):
        Caet.start("best-arm", InverseGaussian(), arms=2, delta=0.1, costs=[1, 1], threshold="e-process")
    assert Caet.start("best-arm", OwnPoisson(), arms=2, delta=0.1, costs=[1, 1]).threshold.name == "e-process"


def test_needed_divides_by_dispersion():
    """A Gaussian arm of variance 4 with 400 pulls is one of variance 1 with 100 pulls, for a prior worth a fourth."""
    wide, narrow = (make_threshold("e-process", "gaussian", 2, delta=0.1, rho=rho) for rho in (8.0, 2.0))
    sides = [PairState(400, mean, 4.0) for mean in (1.0, 0.5)], [PairState(100, mean, 1.0) for mean in (1.0, 0.5)]
    found = [
        threshold.needed(Gaussian(), 6.25, 800, *pair) for threshold, pair in zip((wide, narrow), sides, strict=True)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_value_is_what_is_needed_for_many_pulls():
    threshold = make_threshold("e-process", "gaussian", 3, task="best-arm", delta=0.05)
    assert isinstance(threshold, EProcess)
    assert threshold.level == pytest.approx(math.log(2 / 0.05))
    arms = PairState(1e6, 0.02, 1.0), PairState(1e6, 0.0, 1.0)
    assert threshold.needed(Gaussian(), 100.0, 2e6, *arms) == pytest.approx(threshold.value(2e6, 1e6, 1e6), abs=1e-3)


def test_the_prior_of_a_free_arm_is_worth_more_where_it_is_known_to_be_free():
    np.testing.assert_allclose(prior_scales(np.array([0.0, 120.0, 80.0]), 3, 0.9), [18.0, 1.0, 1.0])
    np.testing.assert_allclose(prior_scales(np.array([0.0, 0.0, 80.0]), 3, 0.5), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(prior_scales(None, 3, 0.9), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(prior_scales(np.zeros(2), 2, 0.9), [1.0, 1.0])
    np.testing.assert_allclose(prior_scales(np.array([0.0, 1.0]), 2, 1.0), [1000.0, 1.0])
    known = Caet.start("best-arm", "bernoulli", arms=3, delta=0.05, costs=[0, 1, 1])
    observed = Caet.start("best-arm", "bernoulli", arms=3, delta=0.05, cost_source="observed")
    assert (known.setup.prior_scales[0], observed.setup.prior_scales[0]) == (pytest.approx(18.0), 1.0)


def test_a_larger_prior_needs_less_of_an_arm_with_many_pulls():
    threshold = make_threshold("e-process", "gaussian", 2, delta=0.05)
    many, few = PairState(30_000, 0.2, 1.0), PairState(1000, 0.0, 1.0)
    plain = threshold.needed(Gaussian(), 19.35, 31_000, many, few)
    assert threshold.needed(Gaussian(), 19.35, 31_000, many._replace(scale=30.0), few) < plain - 1.5


@pytest.mark.parametrize("rho", [0.0, -1.0, math.nan, math.inf, "8", True])
def test_rho_must_be_positive(rho):
    with pytest.raises(InputError, match="rho of the e-process threshold must be a positive number"):
        make_threshold("e-process", "gaussian", 3, delta=0.05, rho=rho)


@pytest.mark.parametrize("delta", [0.3, 0.5])
def test_tied_arms_are_declared_in_less_than_delta_of_the_runs(delta):
    """Looking after every pull of two equal Poisson arms, in both directions, each with R = 1: together below delta."""
    compiled = compile_functions(list_functions(martingales, e_values), compiled_kernel())["needed_evidence"]
    rng, level, crossed, runs = np.random.default_rng(4), math.log(2 / delta), 0, 150
    for _ in range(runs):
        sums = np.cumsum(rng.poisson(2.0, size=(2, 150)), axis=1)
        for n in range(1, 150):
            means = sums[:, n] / (n + 1.0)
            a = int(means[1] > means[0])
            winner, loser = Side(n + 1.0, float(means[a]), 8.0), Side(n + 1.0, float(means[1 - a]), 8.0)
            evidence = evidence_of(Poisson(), winner, loser)
            if evidence > level and evidence > compiled(2, 0.0, math.inf, level, evidence, winner, loser, True):
                crossed += 1
                break
    assert 0 < crossed < delta * runs
