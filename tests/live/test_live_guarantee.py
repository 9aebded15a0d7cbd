"""Pulls that are out, outcomes in any order, late and never: what makes the guarantee hold is exact, and can fail."""

from itertools import product
from math import isclose

import pytest
from commands import run_script

from caet_opt import Explorer
from caet_opt.live.replay import absorb_outcome

MEANS, OTHERS, PULLS, WORKERS = (0.6, 0.3), (0.75, 0.2), 7, 3


def chance(mean, outcome):
    return mean if outcome else 1.0 - mean


def patient(out, recorded):
    """Who comes back next may depend on all that was recorded, not on what it brings."""
    return out[(sum(reward for _, reward in recorded) + len(recorded)) % len(out)]


def eager(out, recorded, outcomes):
    """Successes come back first."""
    return max(out, key=lambda pull: outcomes[pull])


def run_once(policy, outcomes, come_back):
    """The recorded arms and outcomes, and the arms that were handed out, where pull i brings outcomes[i].

    Every fourth pull is lost. Who looks stops after the third success, or when nobody is out.
    """
    explorer = Explorer.start("best-arm", "bernoulli", arms=2, costs=[1, 2], delta=0.05, policy=policy, seed=3)
    arms, out, pending, recorded = [], [], {}, []
    while sum(reward for _, reward in recorded) < 3:
        while len(out) < WORKERS and len(arms) < PULLS:
            (arm,) = explorer.next_arms(1, list(pending.values()))
            pull = len(arms)
            pending[pull] = arm
            arms.append(arm)
            if pull % 4 != 3:
                out.append(pull)
        if not out:
            break
        pull = come_back(out, recorded)
        out.remove(pull)
        arm = pending.pop(pull)
        recorded.append((arm, outcomes[pull]))
        absorb_outcome(explorer, arm, outcomes[pull], None)
    return recorded, arms


def expected_ratio(policy, informative):
    """The expectation, over every sequence of outcomes, of the likelihood ratio of other means when one stops."""
    total = 0.0
    for outcomes in product((0, 1), repeat=PULLS):

        def come_back(out, recorded, outcomes=outcomes):
            return eager(out, recorded, outcomes) if informative else patient(out, recorded)

        recorded, arms = run_once(policy, outcomes, come_back)
        weight = 0.5 ** (PULLS - len(arms))  # pulls that were never handed out bring either
        for pull, arm in enumerate(arms):
            weight *= chance(MEANS[arm], outcomes[pull])
        for arm, reward in recorded:
            weight *= chance(OTHERS[arm], reward) / chance(MEANS[arm], reward)
        total += weight
    return total


@pytest.mark.parametrize("policy", ["caet", "top-two", "chernoff-racing"])
def test_a_likelihood_ratio_has_expectation_one_whatever_is_out_late_or_lost(policy):
    """So has its average over a prior, the martingale of the stopping rule: the proof needs nothing else."""
    assert isclose(expected_ratio(policy, informative=False), 1.0, rel_tol=1e-12)


def test_delays_that_depend_on_the_outcome_break_it():
    """What the documentation warns of: no stopping rule repairs a biased sample."""
    assert abs(expected_ratio("top-two", informative=True) - 1.0) > 0.01


@pytest.mark.slow
def test_eight_workers_err_no_more_often_than_delta():
    """A small part of ``analysis/live_errors.py``."""
    status, (*_, row) = run_script("live_errors.py", "--runs", 15, "--policy", "top-two", "--workers", 1)
    policy, runs, stopped, _, _, chance = row
    assert (status, policy, runs) == (0, "top-two", "15")
    assert int(stopped) >= 12
    assert float(chance) > 0.01
