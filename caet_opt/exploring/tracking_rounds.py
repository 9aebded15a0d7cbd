"""Rounds of a policy that solves for its target while the answer stays, in the subset of Python that numba compiles."""

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.exploring.tally import (
    CHANGED,
    COST,
    COUNT,
    CUMULATED,
    DISPERSION,
    GAPS,
    LIMIT,
    MEAN,
    MEMORY,
    MONEY,
    OBSERVED,
    PROJECTED,
    REFILL,
    REST,
    REWARD,
    SPENT,
    STOPPED,
    TARGET,
    Conditions,
    Streams,
    View,
    absorb,
    give_back,
    is_settled,
    total_count,
    weigh_pairs,
)
from caet_opt.solving.native.instance import Layout, make_workspace, solve_in_workspace
from caet_opt.solving.native.interior import CERTIFIED
from caet_opt.solving.native.records import ModelNumbers, Plan


class Tally(NamedTuple):
    """What was observed and decided so far: ``arms`` as in `View`, the last solution, and the cost paid."""

    arms: Array
    effort: Array
    weights: Array
    total: Array


def track(
    setting: Conditions,
    layout: Layout,
    plan: Plan,
    costly: Array,
    streams: Streams,
    tally: Tally,
    warm: bool,
    rounds: int,
) -> tuple[int, int]:
    """Pull, observe, solve and project for up to ``rounds`` rounds; returns why it ended and how many it did.

    A round in which the pattern changes, or which is not solved, is undone; whoever takes over does it again.
    """
    arms = tally.arms
    workspace = make_workspace(layout, plan)
    effort, weights = tally.effort.copy(), tally.weights.copy()
    view = View(setting, arms, layout.pairs, np.empty(layout.pairs.shape[1]), -1, layout.pairs[0])
    weigh_pairs(view, -1)
    given = ModelNumbers(
        setting.family,
        setting.error,
        setting.low,
        setting.high,
        arms[MEAN],
        setting.numbers[REST],
        arms[COST],
        setting.numbers[DISPERSION],
    )
    for done in range(rounds):
        arm = next_arm(setting, arms)
        if streams.cursor[arm] >= streams.rewards.shape[1]:
            return REFILL, done
        spent, reward, total = arms[SPENT, arm], arms[REWARD, arm], tally.total[0]
        absorb(streams, arms, tally.total, arm)
        if not same_pattern(setting, layout, costly, arms):
            give_back(streams, arms, tally.total, arm, spent, reward, total)
            return CHANGED, done
        status, _, lower, upper = solve_in_workspace(
            given,
            layout,
            plan,
            effort,
            weights,
            warm,
            setting.tolerance,
            setting.target,
            setting.limit,
            workspace,
        )
        if status != CERTIFIED or upper - lower > setting.tolerance * upper or not 0.0 < total_effort(effort) < inf:
            give_back(streams, arms, tally.total, arm, spent, reward, total)
            return CHANGED, done
        warm = True
        for a in range(effort.size):  # a copy of a slice costs a small problem as much as a round's sums
            tally.effort[a] = effort[a]
        for p in range(weights.size):
            tally.weights[p] = weights[p]
        retarget(setting, layout, tally)
        weigh_pairs(view, arm)
        if is_settled(view):
            return STOPPED, done + 1
    return LIMIT, rounds


def total_effort(effort: Array) -> float:
    """The effort on all arms; what is not a positive number is nothing to take shares of."""
    total = 0.0
    for a in range(effort.size):
        total += effort[a]
    return total


def next_arm(setting: Conditions, arms: Array) -> int:
    """The arm that lags most, the lowest number first.

    C-tracking: behind the cumulated target. D-tracking: behind the present one, after arms with fewer than
    ``sqrt(t) - K / 2`` pulls. By money: see `next_by_money`.
    """
    best, lag = 0, -1.0e300
    if setting.tracking == MONEY:
        return next_by_money(setting, arms)
    if setting.tracking == CUMULATED:
        for a in range(arms.shape[1]):
            if arms[MEMORY, a] - arms[COUNT, a] > lag:
                best, lag = a, arms[MEMORY, a] - arms[COUNT, a]
        return best
    now = total_count(arms)
    for a in range(arms.shape[1]):
        if arms[COUNT, a] < arms[COUNT, best]:
            best = a
    if arms[COUNT, best] < sqrt(now) - 0.5 * arms.shape[1]:
        return best
    for a in range(arms.shape[1]):
        if now * arms[TARGET, a] - arms[COUNT, a] > lag:
            best, lag = a, now * arms[TARGET, a] - arms[COUNT, a]
    return best


def next_by_money(setting: Conditions, arms: Array) -> int:
    """The least pulled arm below sqrt(t) pulls, else the one whose share of the money lags most behind its share in
    the target: the largest ``c_a u_a / sum(c u) - c_a N_a / sum(c N)`` over costly arms, while free arms of the target
    take the zero-cost share of the pulls."""
    now, least, spent, planned = total_count(arms), 0, 0.0, 0.0
    idle, free_pulls = -1, 0.0
    for a in range(arms.shape[1]):
        if arms[COUNT, a] < arms[COUNT, least]:
            least = a
        spent += arms[COST, a] * arms[COUNT, a]
        planned += arms[COST, a] * arms[TARGET, a]
        if arms[COST, a] == 0.0 and arms[TARGET, a] > 0.0:
            free_pulls += arms[COUNT, a]
            if idle < 0 or arms[COUNT, a] < arms[COUNT, idle]:
                idle = a
    if arms[COUNT, least] < sqrt(now):
        return least
    if idle >= 0 and (free_pulls < setting.zero_cost_share * now or not planned > 0.0):
        return idle
    best, lag = 0, -1.0e300
    for a in range(arms.shape[1]):
        behind = arms[COST, a] * (arms[TARGET, a] / planned - arms[COUNT, a] / spent)
        if arms[COST, a] > 0.0 and behind > lag:
            best, lag = a, behind
    return best


def same_pattern(setting: Conditions, layout: Layout, costly: Array, arms: Array) -> bool:
    """Whether every pair still holds strictly and the same arms are free; fills in the costs."""
    for p in range(layout.pairs.shape[1]):
        if not arms[MEAN, layout.pairs[0, p]] > arms[MEAN, layout.pairs[1, p]]:
            return False
    best = arms[MEAN, 0]
    for a in range(arms.shape[1]):
        best = max(best, arms[MEAN, a])
    for a in range(arms.shape[1]):
        if setting.cost_source == OBSERVED or setting.cost_source == GAPS:
            cost = arms[SPENT, a] / arms[COUNT, a] if setting.cost_source == OBSERVED else best - arms[MEAN, a]
            arms[COST, a] = cost if cost > setting.negligible_cost else 0.0
        if (arms[COST, a] > 0.0) != (costly[a] > 0.0):
            return False
    return True


def retarget(setting: Conditions, layout: Layout, tally: Tally) -> None:
    """u_alpha of the present effort, its projection, and the cumulated target."""
    arms = tally.arms
    for a in range(arms.shape[1]):
        arms[TARGET, a] = 0.0
    for p in range(layout.pairs.shape[1]):
        for side in range(2):
            a = layout.pairs[side, p]
            if arms[COST, a] == 0.0:
                arms[TARGET, a] = 1.0
    free, effort = 0.0, 0.0
    for a in range(arms.shape[1]):
        free += arms[TARGET, a]
        if arms[COST, a] > 0.0:
            effort += tally.effort[a]
    alpha = setting.zero_cost_share if free > 0.0 else 0.0
    for a in range(arms.shape[1]):
        if arms[COST, a] > 0.0:
            arms[TARGET, a] = (1.0 - alpha) * (tally.effort[a] / effort)
        elif arms[TARGET, a] > 0.0:
            arms[TARGET, a] = alpha / free
    project_into(arms[TARGET], 0.5 / sqrt(arms.shape[1] * arms.shape[1] + total_count(arms)), arms[PROJECTED])
    for a in range(arms.shape[1]):
        arms[MEMORY, a] += arms[PROJECTED, a]


def project_into(target: Array, floor: float, projected: Array) -> None:
    """``max(u - s, floor)`` with s so that it sums to one.

    With the entries that stay above the floor known, ``s = (their sum + (others) floor - 1) / (their number)``; a
    larger s leaves fewer of them, so that s only grows and is found after at most K rounds.
    """
    arms, shift = target.size, 0.0
    for _ in range(arms):
        total, above = 0.0, 0
        for a in range(arms):
            if target[a] - shift > floor:
                total += target[a]
                above += 1
        found = (total + (arms - above) * floor - 1.0) / above
        if found <= shift:
            break
        shift = found
    for a in range(arms):
        projected[a] = max(target[a] - shift, floor)
