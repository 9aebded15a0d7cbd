"""Which answers are left, and the e-process as people read it."""

import numpy as np
import pytest
from commands import run_script
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from caet_opt import BestArm, Custom, Explorer, Gaussian, parse_task
from caet_opt.bandits.tasks import Statement
from caet_opt.exploring.exclusion import MOST_ANSWERS
from caet_opt.exploring.stopping.base import PairState
from caet_opt.exploring.stopping.e_process import EProcess
from caet_opt.kernels.e_values import Side, log_martingale
from caet_opt.kernels.term import pair_term

TASKS = ("best-arm", "ranking", "top-arms:2", "groups:0,1/2,3", "control:1", "comparisons:0-1,1-2,0-2")


@pytest.mark.parametrize("task", TASKS)
@given(means=st.lists(st.integers(0, 9), min_size=4, max_size=4, unique=True))
def test_every_answer_is_listed_once(task, means):
    answers = list(parse_task(task).list_answers(4))
    assert len(set(answers)) == len(answers)
    assert parse_task(task).answer(means) in answers


def test_answers_that_no_means_have_are_not_listed():
    assert len(list(parse_task("comparisons:0-1,1-2,0-2").list_answers(3))) == 6  # of eight, without the two cycles


def explored(task, rewards, rounds, **settings):
    arms = len(rewards)
    explorer = Explorer.start(task, "gaussian", arms=arms, delta=0.05, policy="uniform", **settings)
    for _ in range(rounds):
        arm = explorer.next_arm()
        explorer.observe(arm, rewards[arm])
    return explorer


def test_an_answer_is_left_until_the_reverse_of_one_of_its_pairs_is_sure():
    begun = explored("best-arm", [1.0, 0.9, -1.5], 2)
    assert begun.not_excluded == ((0, 1, 2), ())  # an arm without an outcome is nobody's reverse
    later = explored("best-arm", [1.0, 0.9, -1.5], 30)
    assert later.not_excluded == ((0, 1), (Statement(0, 2), Statement(1, 2)))
    ended = explored("best-arm", [1.0, 0.0, -1.5], 150)
    assert ended.stopped
    assert ended.not_excluded.answers == (0,)


def test_tasks_with_many_answers_say_which_pairs_are_sure():
    found = explored("ranking", [float(arm) for arm in range(8)], 80).not_excluded
    assert found.answers is None
    assert Statement(7, 0) in found.established
    custom = Custom([[(0, 1)], [(1, 0)]])
    assert explored(custom, [3.0, 0.0], 20).not_excluded.answers == (0,)
    assert MOST_ANSWERS < 40320


@pytest.mark.parametrize("task", ["best-arm", "ranking"])
def test_of_many_arms_the_pairs_of_the_leading_answer_are_judged(task):
    arms = 150  # 11175 pairs
    found = explored(task, [*(0.0 for _ in range(arms - 1)), 9.0], 4 * arms).not_excluded
    assert (found.answers is None) == (task == "ranking")
    assert {Statement(arms - 1, arm) for arm in range(arms - 1)} >= {*found.established} != set()
    if task == "best-arm":
        assert found.answers == (arms - 1,)


class Untold(BestArm):
    """A task of one's own that does not list its answers."""

    def list_answers(self, arms):
        return None


def test_a_task_need_not_list_its_answers():
    found = explored(Untold(), [3.0, 0.0], 20).not_excluded
    assert found == (None, (Statement(0, 1),))


def test_fewer_pairs_than_those_at_risk_count():
    """A ranking of four has six pairs at risk, and an answer of it three."""
    explorer = explored("ranking", [0.6, 0.0, 5.0, -5.0], 4)
    while Statement(0, 1) not in explorer.not_excluded.established:
        explorer.observe(explorer.next_arm(), [0.6, 0.0, 5.0, -5.0][explorer.next_arm()])
    ((evidence, needed),) = explorer.setup.weigh(explorer.state, ((0, 1),))
    assert np.log(3 / 0.05) < evidence < needed == pytest.approx(np.log(6 / 0.05))


@given(
    st.floats(0.1, 3.0), st.integers(2, 400), st.integers(2, 400), st.floats(0.5, 20.0), st.sampled_from([0.2, 1e-3])
)
def test_log_e_is_the_least_product_of_both_martingales(gap, first, second, rho, delta):
    rule, family = EProcess(2, 1, -np.log(delta), rho), Gaussian()
    winner, loser = PairState(first, gap, 1.0), PairState(second, 0.0, 1.0)
    evidence = pair_term(0, first, second, gap, 0.0, 0.0, 0.0, False, False)[0]
    found = rule.log_e_value(family, evidence, winner, loser)

    def both(x):
        return log_martingale(0, Side(first, gap, rho), x, True) + log_martingale(0, Side(second, 0.0, rho), x, False)

    least = minimize_scalar(both, bounds=(-2.0 * gap, 3.0 * gap), method="bounded").fun
    assert found <= least + 1e-6
    if least > 0.5:  # below, where nothing is decided, the rule for stopping gives up somewhat earlier
        assert found == pytest.approx(least, abs=0.05 + 2e-3 * evidence)
    assert (found > rule.level) == (evidence > rule.needed(family, evidence, 1.0, winner, loser))


@pytest.mark.slow
def test_a_right_answer_is_excluded_no_more_often_than_delta():
    status, lines = run_script("exclusion_coverage.py", "--runs", 20, "--rounds", 60)
    assert status == 0
    assert len(lines) == 60 + 2
