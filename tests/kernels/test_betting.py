"""Capital from betting on rewards in a range: what is proven of it."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt.kernels.betting import capital_exceeds, least_mean, log_capital

BETS = np.concatenate([[0.0], 2.0 ** -(0.25 + 0.5 * np.arange(24))])
WEIGHTS = np.log(np.full(BETS.size, 1.0 / BETS.size))
LEVELS = np.arange(21) / 20
SHARES = st.floats(0.01, 0.99)


def count(rewards):
    """Rewards on the levels, those between two in proportion."""
    counts = np.zeros(LEVELS.size)
    for reward in rewards:
        place = min(int(reward * 20), 19)
        counts[place] += 1 - (reward * 20 - place)
        counts[place + 1] += reward * 20 - place
    return counts


@given(SHARES, SHARES, SHARES, SHARES)
def test_capital_after_one_reward_has_an_expectation_of_at_most_one(first, second, share, x):
    """On distributions of two values whose mean is at most x, split between levels."""
    mean = share * first + (1 - share) * second
    if mean > x:
        return
    after = [exp(log_capital(LEVELS, count([value]), BETS, WEIGHTS, x)) for value in (first, second)]
    assert share * after[0] + (1 - share) * after[1] <= 1 + 1e-12


@given(st.lists(st.floats(0.0, 1.0), max_size=12), SHARES, SHARES)
def test_capital_falls_in_the_mean_that_it_bets_against(rewards, x, y):
    counts = count(rewards)
    low, high = sorted((x, y))
    first, second = (log_capital(LEVELS, counts, BETS, WEIGHTS, point) for point in (low, high))
    assert first >= second - 1e-9 * (1 + abs(second))
    assert second >= WEIGHTS[0] - 1e-9


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30), st.floats(0.1, 0.9))
def test_a_reward_between_levels_brings_no_more_than_itself(rewards, x):
    own = log_capital(np.array(rewards), np.ones(len(rewards)), BETS, WEIGHTS, x)
    assert log_capital(LEVELS, count(rewards), BETS, WEIGHTS, x) <= own + 1e-9 * (1 + abs(own))


def test_two_levels_are_a_product_by_hand():
    bets, weights = np.array([0.0, 0.5]), np.log([0.5, 0.5])
    found = log_capital(np.array([0.0, 1.0]), np.array([2.0, 3.0]), bets, weights, 0.4)
    assert found == pytest.approx(log(0.5 + 0.5 * 0.5**2 * (0.5 + 0.5 / 0.4) ** 3), abs=1e-10)


@pytest.mark.parametrize("shift", [0.0, 0.05, -0.1])
@pytest.mark.parametrize("means", [(0.8, 0.6), (0.7, 0.65), (0.5, 0.6)])
def test_what_is_proven_of_the_boundary_holds_on_a_fine_grid(means, shift):
    rng = np.random.default_rng(1)
    first, second = (np.clip(rng.normal(mean, 0.15, 300), 0, 1) for mean in means)
    counts, others = count(first), count(1 - second)
    grid = np.linspace(max(0.0, shift), min(1.0, 1.0 + shift), 401)[1:-1]
    least = min(
        log_capital(LEVELS, counts, BETS, WEIGHTS, x) + log_capital(LEVELS, others, BETS, WEIGHTS, 1 - (x - shift))
        for x in grid
    )
    asked = LEVELS, counts, LEVELS, others, BETS, WEIGHTS, shift
    assert not capital_exceeds(*asked, least + 1e-9)
    if least > 1.0:
        assert capital_exceeds(*asked, least - 0.1)


def test_the_interval_of_a_mean_has_it():
    rewards = np.random.default_rng(2).beta(5, 2, 500)
    counts, others, level = count(rewards), count(1 - rewards), log(40)
    low = least_mean(LEVELS, counts, BETS, WEIGHTS, level)
    high = 1 - least_mean(LEVELS, others, BETS, WEIGHTS, level)
    assert low < 5 / 7 < high
    assert high - low < 0.12
    assert log_capital(LEVELS, counts, BETS, WEIGHTS, low) >= level
