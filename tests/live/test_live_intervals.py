"""Confidence sequences: against a search by brute force, the stopping rule, and simulated experiments."""

from math import inf, isclose, log

import numpy as np
import pytest
from commands import run_script
from inverse_gaussian import InverseGaussian

from caet_opt import Explorer
from caet_opt.exploring.stopping.e_process import EProcess
from caet_opt.live.intervals import OTHER_SIDE, Intervals

#: Families with the means of three arms.
MODELS = {
    "gaussian": (0.3, 0.2, 0.0),
    "bernoulli": (0.6, 0.55, 0.2),
    "poisson": (2.0, 1.8, 0.5),
    "exponential": (1.3, 1.0, 0.5),
    "gamma:2.5": (1.3, 1.0, 0.5),
    "geometric": (1.5, 1.2, 0.4),
}


def observe(family, outcomes, seed=0, means=None, **settings):
    """An experiment on three arms after so many outcomes, in turn."""
    explorer = Explorer.start(
        "best-arm", family, arms=3, costs=[1, 1, 1], delta=0.05, **{"policy": "uniform", **settings}
    )
    rng = np.random.default_rng(seed)
    means = means or MODELS[family]
    for turn in range(outcomes):
        arm = turn % 3
        explorer.observe(arm, float(explorer.family.sample(rng, means[arm], explorer.setup.dispersions[arm])))
    return explorer


@pytest.mark.parametrize("outcomes", [3, 12, 150])
@pytest.mark.parametrize("family", MODELS)
def test_an_interval_ends_where_the_martingale_reaches_the_level(family, outcomes):
    """Its ends are excluded, and a little inside nothing is; both contain what was seen."""
    explorer = observe(family, outcomes)
    intervals, means = Intervals(explorer.setup, explorer.state, 0.95), explorer.state.means()
    space = explorer.family.mean_space
    for arm in range(3):
        low, high = intervals.mean(arm)
        assert low <= means[arm] <= high
        for end, outer in ((low, space.low), (high, space.high)):
            if end == outer:
                continue
            assert intervals.excludes_mean(arm, end)
            assert not intervals.excludes_mean(arm, end + 1e-6 * (means[arm] - end))
    for a, b in ((0, 1), (2, 0)):
        low, high = intervals.difference(a, b)
        seen = means[a] - means[b]
        assert low <= seen <= high
        for end in (low, high):
            if end in (-inf, inf) or abs(end) == space.high - space.low:
                continue
            assert intervals.excludes_difference(a, b, end)
            assert not intervals.excludes_difference(a, b, end + 2e-3 * (seen - end))


@pytest.mark.parametrize("family", MODELS)
def test_a_bound_of_a_difference_is_about_the_best_one(family):
    """The minimum over x of the product, found on a grid: at D a little larger it is below the level."""
    explorer = observe(family, 150)
    intervals = Intervals(explorer.setup, explorer.state, 0.95)
    low, _ = intervals.difference(0, 2)
    found = intervals.martingales
    one, other = found.means[0], found.means[2]
    space, level = explorer.family.mean_space, log(6 / 0.05)

    def least(difference):
        left = max(space.low, space.low - difference, other - 3.0)
        right = min(space.high, space.high - difference, one - difference + 3.0)
        grid = left + (right - left) * np.concatenate([np.logspace(-40, -3, 200), np.linspace(1e-3, 1, 3000)[1:-1]])
        return min(
            found.log_martingale(0, x + difference, True)
            + np.logaddexp(
                np.log(1 - OTHER_SIDE) + found.log_martingale(2, x, False),
                np.log(OTHER_SIDE) + found.log_martingale(2, x, True),
            )
            for x in grid.tolist()
            if space.low < x + difference < space.high
        )

    seen = one - other
    assert least(low) >= level
    assert least(low + 0.02 * (seen - low)) < level


def test_zero_is_excluded_as_the_stopping_rule_does():
    """At the level of the stopping rule, log(R / delta), the lower end is above zero once a pair is settled."""
    explorer = observe("gaussian", 90, means=(2.0, 0.0, 0.5))
    threshold = explorer.threshold
    assert isinstance(threshold, EProcess)
    found = explorer.diagnostics
    assert found.settled
    level = 1.0 - 6.0 / np.exp(threshold.level + np.log(1 - OTHER_SIDE))  # so that K (K - 1) / alpha = R / delta
    intervals = Intervals(explorer.setup, explorer.state, level)
    assert all(intervals.difference(a, b)[0] > 0 for a, b, *_ in found.statements)


def test_without_an_outcome_nothing_is_known():
    explorer = observe("gaussian", 2)
    intervals = Intervals(explorer.setup, explorer.state, 0.95)
    assert intervals.mean(2) == (-inf, inf)
    assert intervals.difference(0, 2) == (-inf, inf)
    assert not intervals.excludes_mean(2, 1e9)
    assert not intervals.excludes_difference(0, 2, 1e9)
    bernoulli = observe("bernoulli", 2)
    assert Intervals(bernoulli.setup, bernoulli.state, 0.95).difference(0, 2) == (-1, 1)


def test_means_at_the_ends_of_their_space():
    explorer = observe("bernoulli", 60, means=(1.0, 0.0, 0.5))
    intervals = Intervals(explorer.setup, explorer.state, 0.95)
    (low, one), (zero, high) = intervals.mean(0), intervals.mean(1)
    assert (one, zero) == (1.0, 0.0)
    assert isclose(low, 1 - high, rel_tol=1e-6)
    assert 0.4 < intervals.difference(0, 1)[0] < 1
    assert intervals.difference(0, 1)[1] == 1


def test_a_higher_level_and_fewer_outcomes_make_it_wider():
    few, many = observe("poisson", 30), observe("poisson", 300)
    narrow = Intervals(many.setup, many.state, 0.9).mean(0)
    wide = Intervals(many.setup, many.state, 0.999).mean(0)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    early = Intervals(few.setup, few.state, 0.9).mean(0)
    assert narrow[1] - narrow[0] < early[1] - early[0]


def test_a_family_of_ones_own_with_martingales_has_them():
    """Through the same door as the stopping rule."""

    class Own(InverseGaussian):
        @staticmethod
        def log_martingale(weight, mean, rho, x, above):
            return -1.0

    explorer = Explorer.start("best-arm", Own(), arms=2, costs=[1, 1], delta=0.05, policy="uniform")
    explorer.observe(0, 1.0)
    explorer.observe(1, 2.0)
    assert Intervals(explorer.setup, explorer.state, 0.95).mean(0) == (0.0, inf)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bernoulli", "exponential"])
def test_the_intervals_hold_at_every_look(family):
    """A small part of ``analysis/live_coverage.py``: 40 experiments, and 95 % of them would be 38."""
    asked = ("--runs", 40, "--looks", 60, "--family", family, "--workers", 1)
    _, (*_, (told, runs, *shares)) = run_script("live_coverage.py", *asked)
    assert (told, runs, len(shares)) == (family, "40", 2)
    assert all(float(share.removesuffix(" %")) >= 90 for share in shares)
