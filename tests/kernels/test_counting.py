"""Rewards in a range as a run counts them: the split between levels, and the terms of what was counted."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caet_opt import BanditModel
from caet_opt.bandits.families import Bounded, parse_family
from caet_opt.bandits.tasks import Statement
from caet_opt.exploring.counted import Counted, count_rewards, empirical
from caet_opt.kernels.bounded_term import HIGH_MEAN, LOW_MEAN, SPREAD, row_of
from caet_opt.kernels.counting import counted_term, place_error
from caet_opt.solving.certificate import statement_terms

LISTED = parse_family("bounded:0/0.3/0.5/1")
RANGES = [Bounded(0, 1), Bounded(0, 1, steps=1), LISTED, Bounded(-10, 30), Bounded(1000, 1001, steps=3)]


def count(family, *rewards):
    """The histograms of each arm's rewards."""
    empty = tuple((0.0,) * len(family.places) for _ in rewards)
    return count_rewards(family, empty, [(arm, one) for arm, own in enumerate(rewards) for one in own])


def test_a_reward_between_levels_counts_in_proportion():
    assert count(LISTED, [0.35])[0] == pytest.approx((0.0, 0.75, 0.25, 0.0), abs=1e-14)
    assert count(LISTED, [0.9], [0.1]) == (
        pytest.approx((0.0, 0.0, 0.2, 0.8), abs=1e-14),
        pytest.approx((2 / 3, 1 / 3, 0.0, 0.0), abs=1e-14),
    )


@pytest.mark.parametrize("family", RANGES, ids=str)
def test_a_reward_on_a_level_counts_there_alone(family):
    """Or beside it by what rounding may do to it, so that no level far away from it has a trace of it."""
    for place, level in enumerate(family.levels.tolist()):
        alone = tuple(float(k == place) for k in range(len(family.places)))
        for reward in (level, np.nextafter(level, -np.inf), np.nextafter(level, np.inf)):
            if reward in family.mean_space:
                assert count(family, [float(reward)]) == (alone,)


def test_a_reward_that_is_off_a_level_by_more_than_rounding_counts_on_both():
    off = 1e-12
    assert count(LISTED, [0.3 + off])[0][1:3] == pytest.approx((1.0, off / 0.2), rel=1e-3)
    assert 0.0 < count(LISTED, [0.3 - off])[0][0] == pytest.approx(off / 0.3, rel=1e-3)


@given(st.sampled_from(RANGES), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_counting_keeps_the_number_and_the_mean(family, places):
    low, high = map(float, family.ends)
    rewards = [min(max(low + place * (high - low), low), high) for place in places]
    (histogram,) = count(family, rewards)
    assert min(histogram) >= 0.0
    assert sum(histogram) == pytest.approx(len(rewards), rel=1e-12)
    assert np.dot(histogram, family.levels) / len(rewards) == pytest.approx(np.mean(rewards), rel=1e-12, abs=1e-12)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_what_is_read_of_a_histogram_is_its_mean_and_variance(rewards):
    histograms = count(LISTED, rewards)
    seen = Counted(LISTED, [len(rewards)], np.array([np.mean(rewards)]), histograms)
    start, masses = row_of(seen.table, seen.base, 0), np.array(histograms[0]) / len(rewards)
    mean = masses @ LISTED.levels
    assert seen.table[start + LOW_MEAN] == pytest.approx(mean, abs=1e-12)
    assert seen.table[start + HIGH_MEAN] == pytest.approx(1 - mean, abs=1e-12)
    assert seen.table[start + SPREAD] == pytest.approx(masses @ (LISTED.levels - mean) ** 2, abs=1e-12)
    assert 0.0 < place_error(seen.table, start) < 1e-14


STATEMENTS = [
    Statement(0, 1),
    Statement(0, 1, Fraction("0.1")),
    Statement(0, 1, Fraction("-0.2")),
    Statement(0, None, Fraction("0.4")),
    Statement(None, 1, Fraction("-0.6")),
]


@settings(max_examples=60)
@given(
    st.sampled_from([Bounded(0, 1), LISTED]),
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8),
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8),
    st.sampled_from(STATEMENTS),
    st.floats(0.05, 20.0),
)
def test_the_term_of_histograms_is_the_certified_one_of_their_distributions(family, first, second, statement, ratio):
    histograms = count(family, first, second)
    model = BanditModel(family, empirical(family, histograms))
    means, effort = np.array(model.means), np.array([1.0, ratio])
    x, y = (0.0 if arm is None else means[arm] for arm in statement[:2])
    sides = [-1 if arm is None else arm for arm in statement[:2]]
    seen, margin = Counted(family, [len(first), len(second)], means, histograms), float(statement.margin)
    with np.errstate(all="ignore"):  # as where rounds are interpreted
        f, da, db = counted_term(seen.table, seen.base, *sides, x, y, margin, *effort.tolist())
    if x - y - margin > 1e-6:
        assert f == pytest.approx(statement_terms(model, [statement], effort)[0], rel=1e-9)
        assert da + ratio * db == pytest.approx(f, rel=1e-9)
    elif x - y - margin < 0:
        assert (f, da, db) == (0.0, 0.0, 0.0)


def test_what_no_means_contradict_has_all_evidence():
    seen = Counted(LISTED, [1, 1], np.array([0.5, 0.5]), count(LISTED, [0.5], [0.5]))
    assert seen.evidence(Statement(0, 1, Fraction("-1.5"))) == np.inf
    assert seen.evidence(Statement(0, None, Fraction(-1))) == np.inf
    assert 0.0 < seen.evidence(Statement(0, 1, Fraction("-0.5"))) < np.inf
