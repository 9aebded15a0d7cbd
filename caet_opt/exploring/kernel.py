"""Rounds of CAET while its answer does not change, in the subset of Python that numba compiles."""

from math import inf, sqrt
from typing import NamedTuple

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.exploring.stopping.e_values import Side, needed_evidence
from caet_opt.exploring.stopping.kernels import E_PROCESS, threshold_value
from caet_opt.solving.native.divergences import mixture_divergence
from caet_opt.solving.native.instance import Layout, make_workspace, solve_in_workspace
from caet_opt.solving.native.interior import CERTIFIED
from caet_opt.solving.native.records import ModelNumbers, Plan

#: Why a stretch of rounds ended: the answer is settled, the pattern of pairs or of free arms would change in the next
#: round, an arm's stream is used up, or the given number of rounds is over.
STOPPED, CHANGED, REFILL, LIMIT = range(4)

#: Where costs come from.
KNOWN, OBSERVED, GAPS = range(3)


class Setting(NamedTuple):
    """What stays the same in a run: family, costs, the parameters of the sampling rule and of the threshold.

    ``numbers`` has a row for each of the names below, in one array since each array that a call hands over costs time.
    """

    family: int
    error: float
    low: float
    high: float
    numbers: Array
    cost_source: int
    zero_cost_share: float
    negligible_cost: float
    cumulate: bool
    threshold: int
    level: float
    slope: float
    tolerance: float
    target: float
    limit: int


#: Rows of Setting.numbers: what rounding took from the means, dispersions, known costs, and what each prior is worth.
REST, DISPERSION, KNOWN_COST, PRIOR = range(4)


class Streams(NamedTuple):
    """What each arm will bring: rewards and costs in the order of its pulls, and how many were used."""

    rewards: Array
    spending: Array
    cursor: Integers


class Tally(NamedTuple):
    """What was observed and decided so far; rows of ``arms`` are named below, ``total`` holds the cost paid."""

    arms: Array
    effort: Array
    weights: Array
    total: Array


#: Rows of Tally.arms.
COUNT, REWARD, SPENT, CUMULATED, TARGET, PROJECTED, MEAN, COST = range(8)


def track(
    setting: Setting, layout: Layout, plan: Plan, costly: Array, streams: Streams, tally: Tally, warm: bool, rounds: int
) -> tuple[int, int]:
    """Pull, observe, solve and project for up to ``rounds`` rounds; returns why it ended and how many it did.

    A round in which the pattern changes, or which is not solved, is undone; whoever takes over does it again.
    """
    arms = tally.arms
    workspace = make_workspace(layout, plan)
    effort, weights = tally.effort.copy(), tally.weights.copy()
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
        absorb(streams, tally, arm)
        if not same_pattern(setting, layout, costly, arms):
            give_back(streams, tally, arm, spent, reward, total)
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
            give_back(streams, tally, arm, spent, reward, total)
            return CHANGED, done
        warm = True
        for a in range(effort.size):  # a copy of a slice costs a small problem as much as a round's sums
            tally.effort[a] = effort[a]
        for p in range(weights.size):
            tally.weights[p] = weights[p]
        retarget(setting, layout, tally)
        if is_settled(setting, layout.pairs, arms):
            return STOPPED, done + 1
    return LIMIT, rounds


def total_count(arms: Array) -> float:
    """The round: the number of observations."""
    total = 0.0
    for a in range(arms.shape[1]):
        total += arms[COUNT, a]
    return total


def total_effort(effort: Array) -> float:
    """The effort on all arms; what is not a positive number is nothing to take shares of."""
    total = 0.0
    for a in range(effort.size):
        total += effort[a]
    return total


def next_arm(setting: Setting, arms: Array) -> int:
    """C- or D-tracking; see `caet_opt.exploring.rules`."""
    best, lag = 0, -1.0e300
    if setting.cumulate:
        for a in range(arms.shape[1]):
            if arms[CUMULATED, a] - arms[COUNT, a] > lag:
                best, lag = a, arms[CUMULATED, a] - arms[COUNT, a]
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


def absorb(streams: Streams, tally: Tally, arm: int) -> None:
    """Take the arm's next reward and cost into the tally."""
    arms, position = tally.arms, streams.cursor[arm]
    streams.cursor[arm] += 1
    paid = streams.spending[arm, position]
    arms[COUNT, arm] += 1.0
    arms[REWARD, arm] += streams.rewards[arm, position]
    arms[SPENT, arm] += paid
    tally.total[0] += paid
    arms[MEAN, arm] = arms[REWARD, arm] / arms[COUNT, arm]


def give_back(streams: Streams, tally: Tally, arm: int, spent: float, reward: float, total: float) -> None:
    """Undo `absorb`, given the sums before it."""
    streams.cursor[arm] -= 1
    tally.arms[COUNT, arm] -= 1.0
    tally.arms[SPENT, arm], tally.arms[REWARD, arm], tally.total[0] = spent, reward, total


def same_pattern(setting: Setting, layout: Layout, costly: Array, arms: Array) -> bool:
    """Whether every pair still holds strictly and the same arms are free; fills in the costs."""
    for p in range(layout.pairs.shape[1]):
        if not arms[MEAN, layout.pairs[0, p]] > arms[MEAN, layout.pairs[1, p]]:
            return False
    best = arms[MEAN, 0]
    for a in range(arms.shape[1]):
        best = max(best, arms[MEAN, a])
    for a in range(arms.shape[1]):
        if setting.cost_source == KNOWN:
            arms[COST, a] = setting.numbers[KNOWN_COST, a]
        else:
            cost = arms[SPENT, a] / arms[COUNT, a] if setting.cost_source == OBSERVED else best - arms[MEAN, a]
            arms[COST, a] = cost if cost > setting.negligible_cost else 0.0
        if (arms[COST, a] > 0.0) != (costly[a] > 0.0):
            return False
    return True


def retarget(setting: Setting, layout: Layout, tally: Tally) -> None:
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
        arms[CUMULATED, a] += arms[PROJECTED, a]


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


def is_settled(setting: Setting, pairs: Integers, arms: Array) -> bool:
    """Whether the evidence of every pair exceeds its threshold.

    For the e-process the pair with the least evidence is looked at first, and intervals are laid only when every pair
    passes at its pooled mean: the answer is the same, and most rounds evaluate one pair's martingales once.
    """
    now = int(total_count(arms))
    weakest, least = 0, inf
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        evidence = pair_evidence(
            setting.family,
            arms[COUNT, a] / setting.numbers[DISPERSION, a],
            arms[COUNT, b] / setting.numbers[DISPERSION, b],
            arms[MEAN, a],
            arms[MEAN, b],
        )
        if setting.threshold == E_PROCESS:
            need = setting.level
        else:
            pulls_a, pulls_b = int(arms[COUNT, a]), int(arms[COUNT, b])
            need = threshold_value(setting.threshold, now, pulls_a, pulls_b, setting.level, setting.slope)
        if not evidence > need:
            return False
        if evidence < least:
            weakest, least = p, evidence
    if setting.threshold != E_PROCESS:
        return True
    for everywhere in (False, True):
        if not has_e_value(setting, pairs, arms, weakest, everywhere):
            return False
        for p in range(pairs.shape[1]):
            if p != weakest and not has_e_value(setting, pairs, arms, p, everywhere):
                return False
    return True


def pair_evidence(family: int, wa: float, wb: float, x: float, y: float) -> float:
    """``Z_ab = w_a d(x, m) + w_b d(y, m)``, m the mean of both weighted by pulls over dispersion."""
    ua, ub = wa / (wa + wb), wb / (wa + wb)
    da = mixture_divergence(family, x, y, ua, ub, 0.0, 0.0)
    db = mixture_divergence(family, y, x, ub, ua, 0.0, 0.0)
    return wa * da + wb * db


def has_e_value(setting: Setting, pairs: Integers, arms: Array, p: int, everywhere: bool) -> bool:
    """Whether a pair's e-value exceeds its bound, at the pooled mean or everywhere."""
    a, b = pairs[0, p], pairs[1, p]
    wa, wb = arms[COUNT, a] / setting.numbers[DISPERSION, a], arms[COUNT, b] / setting.numbers[DISPERSION, b]
    evidence = pair_evidence(setting.family, wa, wb, arms[MEAN, a], arms[MEAN, b])
    winner = Side(wa, arms[MEAN, a], setting.numbers[PRIOR, a])
    loser = Side(wb, arms[MEAN, b], setting.numbers[PRIOR, b])
    return evidence > needed_evidence(
        setting.family, setting.low, setting.high, setting.level, evidence, winner, loser, everywhere
    )
