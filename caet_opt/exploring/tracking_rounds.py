"""Rounds of a policy that solves for its target, in the subset of Python that numba compiles."""

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import pairs_hold, write_pairs
from caet_opt.exploring.kept_targets import (
    CENTRE,
    DECIDED,
    DUE,
    GROWTH,
    HIGH,
    LOW,
    PAID,
    SOLVED,
    Kept,
    batch_end,
    is_inside,
    is_single,
    renew,
)
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
    REST_OF_REWARD,
    REWARD,
    SPENT,
    STOPPED,
    TARGET,
    Conditions,
    Streams,
    View,
    absorb,
    evidence_between,
    exceeds,
    give_back,
    pair_evidence,
    short_pair,
    total_count,
    update_costs,
    weigh_pairs,
    weight_of,
)
from caet_opt.solving.native.instance import Layout, Workspace, make_workspace, solve_in_workspace
from caet_opt.solving.native.interior import CERTIFIED
from caet_opt.solving.native.records import ModelNumbers, Plan

#: Arms among which the one that lags most is looked for at once.
BLOCK = 64

#: Leaves more room than rounding takes in evidence that grows with the counts.
MARGIN = 1.0 - 1e-9


class Tally(NamedTuple):
    """What was observed and decided so far.

    arms : as in `View`, with the costs of the last solve
    pairs : of the answer
    kept : the last solve, whose effort and weights the next one starts from
    """

    arms: Array
    pairs: Integers
    kept: Kept


def track(
    setting: Conditions,
    shape: int,
    members: Integers,
    layout: Layout,
    plan: Plan,
    streams: Streams,
    tally: Tally,
    warm: bool,
    rounds: int,
) -> tuple[int, int]:
    """Pull and observe for up to ``rounds`` rounds, and decide on the target where that is due; returns why it ended
    and how many rounds it did.

    A round in which a pair ties, the pattern of free arms changes, or which is not solved, is undone; whoever takes
    over does it again. A pair that was short of its threshold stays so until one of its arms is pulled, as thresholds
    do not fall with the rounds: while there is such a pair, no other is looked at, and that one only once its counts
    have outgrown what the box allows (`watch`).
    """
    arms, pairs, kept = tally.arms, tally.pairs, tally.kept
    lazy, single, cumulated = setting.gap > 0.0, is_single(setting), setting.tracking == CUMULATED
    own = Layout(layout.labels.copy(), layout.ends, layout.edge_pairs, layout.anchors.copy(), pairs)
    scratch = Scratch(
        make_workspace(own, plan), kept.effort.copy(), kept.weights.copy(), costly_sides(arms, pairs), pairs.copy()
    )
    view, patience = View(setting, arms, pairs, np.empty(pairs.shape[1]), shape, members), np.full(arms.shape[1], inf)
    weigh_pairs(view, -1)
    short, now = max(short_pair(view), 0), total_count(arms)  # none may be short in the middle of a batch
    watch(view, kept, patience, short)
    due, latest = kept.numbers[DUE], GROWTH * kept.numbers[SOLVED]
    following = most_behind(arms)
    for done in range(rounds):
        arm = following if cumulated else next_arm(setting, arms, now)
        if streams.cursor[arm] >= streams.rewards.shape[1]:
            return REFILL, done
        reward, rest, spent = arms[REWARD, arm], arms[REST_OF_REWARD, arm], arms[SPENT, arm]
        absorb(streams, arms, arm)
        now += 1.0
        decided, looked, fresh = now >= due, arm if single else -1, False
        if decided and lazy and now < latest and is_inside(setting, arms, kept, looked):
            kept.numbers[DECIDED], kept.numbers[DUE] = now, batch_end(setting, now)
            due = kept.numbers[DUE]
        elif decided:
            held = pairs_hold(arms[MEAN], pairs, looked)
            if not (held or rewrite_pairs(view, own, scratch)) or not same_costs(setting, arms, pairs, scratch, held):
                give_back(streams, arms, arm, reward, rest, spent)
                return restore_pairs(pairs, scratch, held), done
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
            effort, weights = scratch.effort, scratch.weights
            status, _, lower, upper = solve_in_workspace(
                given,
                own,
                plan,
                effort,
                weights,
                warm and held,
                setting.tolerance,
                setting.target,
                setting.limit,
                scratch.workspace,
            )
            if status != CERTIFIED or upper - lower > setting.tolerance * upper or not 0.0 < total_effort(effort) < inf:
                give_back(streams, arms, arm, reward, rest, spent)
                return restore_pairs(pairs, scratch, held), done
            warm = True
            keep_solution(arms, kept, effort, weights)
            retarget(setting, pairs, arms, effort, now)
            renew(setting, arms, pairs, kept, now)
            due, latest = kept.numbers[DUE], GROWTH * kept.numbers[SOLVED]
            if not held:
                short, fresh = 0, True
            if lazy or fresh:
                for a in range(arms.shape[1]):
                    patience[a] = inf
                watch(view, kept, patience, short)
        following = add_target(arms)
        if decided and (fresh or arms[COUNT, arm] > patience[arm] or not single):
            patience[pairs[0, short]], patience[pairs[1, short]] = inf, inf
            short = next_short(view, short, now)
            if short < 0:
                return STOPPED, done + 1
            watch(view, kept, patience, short)
    return LIMIT, rounds


class Scratch(NamedTuple):
    """What a decision works in: the solver's arrays, effort and weights before they are certified, which side of each
    pair costs something, and the pairs before they were rewritten."""

    workspace: Workspace
    effort: Array
    weights: Array
    costly: Array
    before: Integers


def costly_sides(arms: Array, pairs: Integers) -> Array:
    """One for each arm of a pair that costs something, else zero."""
    sides = np.zeros(pairs.shape)
    for p in range(pairs.shape[1]):
        for side in range(2):
            sides[side, p] = arms[COST, pairs[side, p]] > 0.0
    return sides


def rewrite_pairs(view: View, own: Layout, scratch: Scratch) -> bool:
    """Put the arms of the present answer into the layout, which is that of every answer of most tasks; False for other
    tasks and where two arms of a pair tie."""
    pairs, means = view.pairs, view.arms[MEAN]
    for p in range(pairs.shape[1]):
        scratch.before[0, p], scratch.before[1, p] = pairs[0, p], pairs[1, p]
    if view.shape < 0:
        return False
    write_pairs(view.shape, view.members, means, pairs)
    for e in range(own.ends.shape[1]):
        for side in range(2):
            own.labels[own.ends[side, e]] = pairs[side, own.edge_pairs[e]]
    for k in range(own.anchors.shape[1]):
        p = own.anchors[2, k]
        side = 0 if scratch.costly[0, p] > 0.0 else 1
        own.labels[own.anchors[0, k]], own.anchors[1, k] = pairs[side, p], pairs[1 - side, p]
    for e in range(own.ends.shape[1]):
        for side in range(2):
            if own.labels[own.ends[side, e]] != pairs[side, own.edge_pairs[e]]:
                return False
    for k in range(own.anchors.shape[1]):
        p = own.anchors[2, k]
        if own.labels[own.anchors[0, k]] != pairs[0 if scratch.costly[0, p] > 0.0 else 1, p]:
            return False
    return pairs_hold(means, pairs, -1)


def restore_pairs(pairs: Integers, scratch: Scratch, held: bool) -> int:
    """The pairs of the last solve again, for a round that is left to the object."""
    if not held:
        for p in range(pairs.shape[1]):
            pairs[0, p], pairs[1, p] = scratch.before[0, p], scratch.before[1, p]
    return CHANGED


def same_costs(setting: Conditions, arms: Array, pairs: Integers, scratch: Scratch, held: bool) -> bool:
    """Fill in the costs of this round; whether the same sides of the pairs are free."""
    estimated = setting.cost_source == OBSERVED or setting.cost_source == GAPS
    if setting.cost_source == OBSERVED:
        for a in range(arms.shape[1]):
            update_costs(setting, arms, a)
    elif setting.cost_source == GAPS:
        update_costs(setting, arms, 0)
    if held and not estimated:
        return True
    for p in range(pairs.shape[1]):
        for side in range(2):
            if (arms[COST, pairs[side, p]] > 0.0) != (scratch.costly[side, p] > 0.0):
                return False
    return True


def keep_solution(arms: Array, kept: Kept, effort: Array, weights: Array) -> None:
    """Take over what was certified, with the means and costs that it is for."""
    for a in range(effort.size):  # a copy of a slice costs a small problem as much as a round's sums
        kept.effort[a], kept.box[PAID, a], kept.box[CENTRE, a] = effort[a], arms[COST, a], arms[MEAN, a]
    for p in range(weights.size):
        kept.weights[p] = weights[p]


def watch(view: View, kept: Kept, patience: Array, short: int) -> None:
    """Let the evidence of the short pair be looked at only once a count of its arms exceeds ``patience``.

    Z_ab is homogeneous in the counts, does not fall in them, and is largest at the corner (high_a, low_b) of the box:
    while both counts are at most k times the present ones, it is at most k times what it would be there, and a pair
    with evidence up to the level is short. Without a box it is looked at whenever one of its arms is pulled.
    """
    setting, arms, box = view.setting, view.arms, kept.box
    a, b, factor = view.pairs[0, short], view.pairs[1, short], 0.0
    if setting.gap > 0.0 and box[HIGH, a] > box[LOW, b]:
        wa, wb = weight_of(setting, arms, a), weight_of(setting, arms, b)
        corner = pair_evidence(setting.family, wa, wb, box[HIGH, a], box[LOW, b])
        if corner < setting.level:
            factor = MARGIN * setting.level / corner
    patience[a], patience[b] = factor * arms[COUNT, a], factor * arms[COUNT, b]


def most_behind(arms: Array) -> int:
    """The arm that lags most behind the cumulated target, the lowest number first."""
    best, lag = 0, -1.0e300
    for a in range(arms.shape[1]):
        if arms[MEMORY, a] - arms[COUNT, a] > lag:
            best, lag = a, arms[MEMORY, a] - arms[COUNT, a]
    return best


def add_target(arms: Array) -> int:
    """Add the projected target to the cumulated one; returns the arm that then lags most behind, the lowest first.

    The largest lag of each block of arms is found by vector instructions, for which `loops.FINITE` says that nothing
    here is NaN; the arm is then looked for in one block.
    """
    memory, target, count = arms[MEMORY], arms[PROJECTED], arms[COUNT]
    best, first = -inf, 0
    for start in range(0, memory.size, BLOCK):
        lag = -inf
        for a in range(start, min(start + BLOCK, memory.size)):
            memory[a] += target[a]
            lag = max(lag, memory[a] - count[a])
        if lag > best:
            best, first = lag, start
    for a in range(first, memory.size):
        if memory[a] - count[a] == best:
            return a
    return first


def total_effort(effort: Array) -> float:
    """The effort on all arms; what is not a positive number is nothing to take shares of."""
    total = 0.0
    for a in range(effort.size):
        total += effort[a]
    return total


def next_arm(setting: Conditions, arms: Array, now: float) -> int:
    """The arm that lags most, the lowest number first.

    C-tracking: behind the cumulated target. D-tracking: behind the present one, after arms with fewer than
    ``sqrt(t) - K / 2`` pulls. By money: see `next_by_money`.
    """
    if setting.tracking == MONEY:
        return next_by_money(setting, arms, now)
    if setting.tracking == CUMULATED:
        return most_behind(arms)
    best, lag = 0, -1.0e300
    for a in range(arms.shape[1]):
        if arms[COUNT, a] < arms[COUNT, best]:
            best = a
    if arms[COUNT, best] < sqrt(now) - 0.5 * arms.shape[1]:
        return best
    for a in range(arms.shape[1]):
        if now * arms[TARGET, a] - arms[COUNT, a] > lag:
            best, lag = a, now * arms[TARGET, a] - arms[COUNT, a]
    return best


def next_by_money(setting: Conditions, arms: Array, now: float) -> int:
    """The least pulled arm below sqrt(t) pulls, else the one whose share of the money lags most behind its share in
    the target: the largest ``c_a u_a / sum(c u) - c_a N_a / sum(c N)`` over costly arms, while free arms of the target
    take the zero-cost share of the pulls."""
    least, spent, planned = 0, 0.0, 0.0
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


def next_short(view: View, short: int, now: float) -> int:
    """A pair whose evidence does not exceed its threshold, this one if it is one, or -1."""
    a, b = view.pairs[0, short], view.pairs[1, short]
    evidence = evidence_between(view.setting, view.arms, a, b)
    if not evidence > view.setting.level or not exceeds(view.setting, view.arms, now, a, b, evidence, False):
        return short
    weigh_pairs(view, -1)
    return short_pair(view)


def retarget(setting: Conditions, pairs: Integers, arms: Array, effort: Array, now: float) -> None:
    """u_alpha of an effort, and its projection."""
    for a in range(arms.shape[1]):
        arms[TARGET, a] = 0.0
    for p in range(pairs.shape[1]):
        for side in range(2):
            a = pairs[side, p]
            if arms[COST, a] == 0.0:
                arms[TARGET, a] = 1.0
    free, costly = 0.0, 0.0
    for a in range(arms.shape[1]):
        free += arms[TARGET, a]
        if arms[COST, a] > 0.0:
            costly += effort[a]
    alpha = setting.zero_cost_share if free > 0.0 else 0.0
    for a in range(arms.shape[1]):
        if arms[COST, a] > 0.0:
            arms[TARGET, a] = (1.0 - alpha) * (effort[a] / costly)
        elif arms[TARGET, a] > 0.0:
            arms[TARGET, a] = alpha / free
    project_into(arms[TARGET], 0.5 / sqrt(arms.shape[1] * arms.shape[1] + now), arms[PROJECTED])


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
