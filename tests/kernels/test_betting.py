"""Capital from betting on rewards in a range: what is proven of it."""

from fractions import Fraction
from functools import cache
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from caet_opt.bandits.families import Bounded, parse_family
from caet_opt.bandits.tasks import Statement
from caet_opt.exploring import counted as outside
from caet_opt.exploring.counted import BETS, WEIGHTS, Counted, count_rewards
from caet_opt.kernels import betting
from caet_opt.kernels.betting import log_capital
from caet_opt.kernels.bounded_term import LOWER_END, UPPER_END, row_of

SHARES = st.floats(0.01, 0.99)
REWARDS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)
FAMILIES = {text: parse_family(text) for text in ("bounded:0,1", "bounded:0,1,1", "bounded:0/0.3/0.5/1")}
KINDS = st.sampled_from(list(FAMILIES.values()))


def counted(family, *rewards):
    """The histograms of the arms' rewards."""
    empty = tuple((0.0,) * len(family.places) for _ in rewards)
    histograms = count_rewards(family, empty, [(arm, one) for arm, own in enumerate(rewards) for one in own])
    means = np.array([np.mean(own) if own else np.nan for own in map(list, rewards)])
    return Counted(family, [len(own) for own in rewards], means, histograms)


def capital(seen, arm, t, side=LOWER_END):
    """`log_capital` of an arm of some histograms."""
    return log_capital(seen.table, row_of(seen.table, seen.base, arm), side, seen.weights[arm], t)


def quick_capital(seen, arm, t, side=LOWER_END):
    """The same for all bets at once, as outside of rounds."""
    return outside.log_capital(seen.table, row_of(seen.table, seen.base, arm), side, seen.weights[arm], t)


def exact_capital(rewards, t):
    """log M of rewards as they are, on no levels."""
    values = np.log(WEIGHTS) + np.log1p(BETS[:, None] * (np.array(rewards) / t - 1.0)).sum(axis=1)
    return float(np.logaddexp.reduce([*values, log(betting.NOTHING)]))


def test_the_weights_of_the_bets_sum_to_one():
    assert betting.NOTHING + WEIGHTS.sum() == pytest.approx(1.0, abs=1e-14)
    assert 0 < BETS[-1] < BETS[0] < 1
    assert BETS.size == betting.BETS


@given(KINDS, SHARES, SHARES, SHARES, SHARES)
def test_capital_after_one_reward_has_an_expectation_of_at_most_one(family, first, second, share, x):
    """On distributions of two values whose mean is at most x, split between levels; and from the other end."""
    mean = share * first + (1 - share) * second
    assume(mean != x)
    t, side = (x, LOWER_END) if mean < x else (1 - x, UPPER_END)
    after = [exp(capital(counted(family, [value]), 0, t, side)) for value in (first, second)]
    assert share * after[0] + (1 - share) * after[1] <= 1 + 1e-12


@given(KINDS, REWARDS, SHARES, SHARES)
def test_capital_falls_in_the_mean_that_it_bets_against(family, rewards, x, y):
    seen = counted(family, rewards)
    low, high = sorted((x, y))
    first, second = (capital(seen, 0, point) for point in (low, high))
    assert first >= second - 1e-9 * (1 + abs(second))
    assert second >= betting.LEAST_CAPITAL - betting.BLURRED
    assert capital(seen, 0, 0.0) == inf


@given(KINDS, REWARDS, st.floats(0.1, 0.9))
def test_a_reward_between_levels_brings_no_more_than_itself(family, rewards, x):
    seen = counted(family, rewards)
    for own, side in ((rewards, LOWER_END), ([1 - reward for reward in rewards], UPPER_END)):
        assert capital(seen, 0, x, side) <= exact_capital(own, x) + 1e-12


@given(st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0]), min_size=1, max_size=12), st.floats(0.1, 0.9))
def test_a_reward_on_a_level_brings_what_it_brings(rewards, x):
    seen = counted(FAMILIES["bounded:0/0.3/0.5/1"], rewards)
    assert capital(seen, 0, x) == pytest.approx(exact_capital(rewards, x), abs=1e-9)


def test_two_levels_are_a_product_by_hand():
    """Three ones and two zeros, against a mean of 0.4."""
    total, bet = 0.02, 2**-0.25
    scale = 0.98 / sum(sqrt(min(2 ** -(0.25 + 0.5 * j), 0.2)) for j in range(24))
    for _ in range(24):
        total += scale * sqrt(min(bet, 0.2)) * (1 - bet) ** 2 * (1 - bet + bet / 0.4) ** 3
        bet *= 2**-0.5
    seen = counted(FAMILIES["bounded:0,1,1"], [1, 0, 1, 0, 1])
    assert capital(seen, 0, 0.4) == pytest.approx(log(total), abs=1e-10)
    assert capital(seen, 0, 0.4) < log(total)  # rounding counts against it


@given(KINDS, REWARDS, SHARES, st.sampled_from([LOWER_END, UPPER_END]))
def test_all_bets_at_once_have_the_same_capital(family, rewards, t, side):
    seen = counted(family, rewards)
    assert quick_capital(seen, 0, t, side) == pytest.approx(capital(seen, 0, t, side), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("above", [True, False])
def test_the_range_is_a_scale_of_capital(above):
    rewards = [0.1, 0.5, 0.6, 0.95, 0.3]
    unit, wide = counted(Bounded(0, 1), rewards), counted(Bounded(-10, 30), [40 * one - 10 for one in rewards])
    found, known = wide.log_martingale(0, 40 * 0.45 - 10, above), unit.log_martingale(0, 0.45, above)
    assert found == pytest.approx(known, abs=1e-9)


def draw(mean, many, seed):
    return np.clip(np.random.default_rng(seed).normal(mean, 0.15, many), 0, 1).tolist()


def least_on_grid(seen, shift, points=401):
    """log E of "0 > 1 + shift", on a fine grid of its boundary."""
    grid = np.linspace(max(0.0, shift), min(1.0, 1.0 + shift), points)[1:-1]
    return min(quick_capital(seen, 0, x) + quick_capital(seen, 1, 1 - (x - shift), UPPER_END) for x in grid)


@cache
def compared(means, shift):
    """Histograms of two arms, and log E of "0 > 1 + shift" on a fine grid."""
    seen = counted(Bounded(0, 1), draw(means[0], 300, 1), draw(means[1], 300, 2))
    return seen, least_on_grid(seen, shift)


SHIFTS, MEANS = (0.0, 0.05, -0.1), ((0.8, 0.6), (0.7, 0.65), (0.5, 0.6))


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("means", MEANS)
def test_what_is_proven_of_the_boundary_holds_on_a_fine_grid(means, shift):
    seen, least = compared(means, shift)
    statement = Statement(0, 1, Fraction(str(shift)))
    assert not seen.exceeds(statement, least + 1e-9)
    if least > 1.0:
        assert seen.exceeds(statement, least - 0.1)
        assert seen.lead(statement, least) >= -1e-9  # one point of the boundary says at most more


def test_so_it_is_tried_on_statements_that_are_won_and_others():
    won = [compared(means, shift)[1] > 1.0 for means in MEANS for shift in SHIFTS]
    assert 3 <= sum(won) < len(won)


@settings(max_examples=40)
@given(REWARDS, REWARDS)
def test_no_more_is_proven_than_holds_on_the_grid(first, second):
    seen = counted(Bounded(0, 1), first * 20, second * 20)
    least = least_on_grid(seen, 0.0, 101)
    assert not seen.exceeds(Statement(0, 1), least + 1e-9)
    level = max(least - max(0.1, 0.01 * least), betting.LEAST_CAPITAL)
    assert seen.means[0] - seen.means[1] < 0.02 or least < 1.0 or seen.exceeds(Statement(0, 1), level)


def test_a_level_has_the_capital_of_one_arm():
    seen = counted(Bounded(0, 10), [8, 9, 10, 7] * 10)
    worth = seen.log_martingale(0, 5.0, True)
    assert worth > 3
    assert seen.exceeds(Statement(0, None, Fraction(5)), worth - 1e-6)
    assert not seen.exceeds(Statement(0, None, Fraction(5)), worth + 1e-6)
    assert not seen.exceeds(Statement(None, 0, Fraction(-5)), 0.0)
    worth = seen.log_martingale(0, 9.8, False)
    assert worth > 3
    assert seen.exceeds(Statement(None, 0, Fraction("-9.8")), worth - 1e-6)
    assert not seen.exceeds(Statement(None, 0, Fraction("-9.8")), worth + 1e-6)


def test_a_margin_that_the_range_implies_is_settled():
    """A mean is above another's less more than the range, whatever they are."""
    seen = counted(Bounded(0, 1), [0.2], [0.9])
    assert seen.exceeds(Statement(0, 1, Fraction("-1.5")), 1e9)
    assert not seen.exceeds(Statement(0, 1, Fraction("-0.5")), 0.0)


def test_the_bound_of_a_mean_is_where_the_capital_reaches_the_level():
    rewards = np.random.default_rng(2).beta(5, 2, 500).tolist()
    seen, level = counted(Bounded(0, 1), rewards), log(40)
    low, high = (seen.bound(0, level, below) for below in (True, False))
    assert low < 5 / 7 < high
    assert high - low < 0.12
    for end, above in ((low, True), (high, False)):
        step = 1e-6 if above else -1e-6
        assert seen.log_martingale(0, end, above) >= level > seen.log_martingale(0, end + step, above)
