"""Rounds of a policy that solves nothing, in the subset of Python that numba compiles, and what such policies share.

`play` is compiled once for each policy, with its `choose`, `learn`, `ended` and `refresh`
(`caet_opt.exploring.policies.index`).
"""

from math import inf, log
from typing import TYPE_CHECKING

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import pairs_hold, write_pairs
from caet_opt.exploring.tally import (
    CHANGED,
    COST,
    COUNT,
    LIMIT,
    MEAN,
    MEMORY,
    NEEDED,
    PROJECTED,
    REFILL,
    REST_OF_REWARD,
    REWARD,
    SPENT,
    STOPPED,
    Streams,
    View,
    absorb,
    evidence_between,
    exceeds,
    give_back,
    update_costs,
    weigh_pairs,
    weight_of,
)
from caet_opt.solving.native.divergences import mixture_divergence

if TYPE_CHECKING:  # what `play` is compiled with, for each policy its own

    def choose(view: View) -> int: ...
    def learn(view: View, arm: int) -> None: ...
    def ended(view: View) -> bool: ...
    def refresh(view: View, arm: int) -> bool: ...


def play(view: View, streams: Streams, rounds: int) -> tuple[int, int]:
    """Choose, pull, observe for up to ``rounds`` rounds; returns why it ended and how many it did.

    While some arm has no observation, the first such arm is pulled. A task that compiled code does not know has shape
    -1: its first rounds, and a round in which its answer may change, are left to the object.
    """
    arms = view.arms
    unseen = first_unseen(arms)
    for done in range(rounds):
        arm = choose(view) if unseen < 0 else unseen
        if arm < 0 or (unseen >= 0 and view.shape < 0):
            return CHANGED, done
        if streams.cursor[arm] >= streams.rewards.shape[1]:
            return REFILL, done
        reward, rest, spent = arms[REWARD, arm], arms[REST_OF_REWARD, arm], arms[SPENT, arm]
        absorb(streams, arms, arm)
        if unseen >= 0:
            unseen = first_unseen(arms)
            if unseen >= 0:
                continue
            survey(view)
        elif not refresh(view, arm):
            give_back(streams, arms, arm, reward, rest, spent)
            return CHANGED, done
        learn(view, arm)
        if ended(view):
            return STOPPED, done + 1
    return LIMIT, rounds


def first_unseen(arms: Array) -> int:
    """The first arm without an observation, or -1."""
    for a in range(arms.shape[1]):
        if arms[COUNT, a] == 0.0:
            return a
    return -1


def refresh_pairs(view: View, arm: int) -> bool:
    """Costs, pairs and evidence after an observation of an arm; False where the object has to find the answer."""
    update_costs(view.setting, view.arms, arm)
    if pairs_hold(view.arms[MEAN], view.pairs, arm):
        weigh_pairs(view, arm)
        return True
    if view.shape < 0:
        return False
    write_pairs(view.shape, view.members, view.arms[MEAN], view.pairs)
    weigh_pairs(view, -1)
    return True


def survey(view: View) -> None:
    """Costs, pairs and evidence once every arm has an observation."""
    for a in range(view.arms.shape[1]):
        update_costs(view.setting, view.arms, a)
        view.arms[NEEDED, a] = 0.0
    write_pairs(view.shape, view.members, view.arms[MEAN], view.pairs)
    mark_needed(view)
    weigh_pairs(view, -1)


def mark_needed(view: View) -> None:
    """Which arms are in some pair; the same for every answer of the tasks that compiled code knows."""
    for p in range(view.pairs.shape[1]):
        view.arms[NEEDED, view.pairs[0, p]] = 1.0
        view.arms[NEEDED, view.pairs[1, p]] = 1.0


def least_pulled(arms: Array) -> int:
    """The arm with the fewest pulls, the lowest number first."""
    least = 0
    for a in range(arms.shape[1]):
        if arms[COUNT, a] < arms[COUNT, least]:
            least = a
    return least


def free_turn(view: View, dropped: int) -> int:
    """The least pulled free arm when free arms have less than the zero-cost share of the pulls, else -1.

    Where a rule divides by costs, free arms take this share and the rule decides among the costly ones. Only arms that
    are in some pair count, and with ``dropped`` a row of the view, only those whose entry there is zero, so that an arm
    that was dropped is not made up for.
    """
    arms, idle, free, costly = view.arms, -1, 0.0, 0.0
    for a in range(arms.shape[1]):
        if arms[NEEDED, a] == 0.0 or (dropped >= 0 and arms[dropped, a] > 0.0):
            continue
        if arms[COST, a] > 0.0:
            costly += arms[COUNT, a]
        else:
            free += arms[COUNT, a]
            if idle < 0 or arms[COUNT, a] < arms[COUNT, idle]:
                idle = a
    if idle >= 0 and (costly == 0.0 or free < view.setting.zero_cost_share * (free + costly)):
        return idle
    return -1


def has_costly(view: View, p: int) -> bool:
    """Whether an arm of a pair costs anything."""
    return bool(view.arms[COST, view.pairs[0, p]] > 0.0 or view.arms[COST, view.pairs[1, p]] > 0.0)


def weakest_pair(view: View, penalties: bool, costly: bool) -> int:
    """The pair with the least evidence, plus ``log N_b`` with penalties; only pairs with a costly arm if asked."""
    best, least = 0, inf
    for p in range(view.evidence.size):
        if costly and not has_costly(view, p):
            continue
        index = view.evidence[p]
        if penalties:
            index += log(view.arms[COUNT, view.pairs[1, p]])
        if index < least:
            best, least = p, index
    return best


def share_of_first(view: View, a: int, b: int) -> float:
    """``p_a = N_a d(mu_a, m) / Z_ab``, the share of the first arm in the evidence of a pair; a half where Z is zero."""
    setting, arms = view.setting, view.arms
    wa, wb = weight_of(setting, arms, a), weight_of(setting, arms, b)
    ua, ub = wa / (wa + wb), wb / (wa + wb)
    first = wa * mixture_divergence(setting.family, arms[MEAN, a], arms[MEAN, b], ua, ub, 0.0, 0.0)
    second = wb * mixture_divergence(setting.family, arms[MEAN, b], arms[MEAN, a], ub, ua, 0.0, 0.0)
    return first / (first + second) if first + second > 0.0 else 0.5


def is_beaten(view: View, now: float, a: int, b: int) -> bool:
    """Whether the evidence that a beats b exceeds the threshold."""
    setting, arms = view.setting, view.arms
    evidence = evidence_between(setting, arms, a, b)
    return evidence > setting.level and exceeds(setting, arms, now, a, b, evidence, True)


def count_survivors(arms: Array) -> int:
    """How many arms were not dropped."""
    survivors = 0
    for a in range(arms.shape[1]):
        survivors += arms[MEMORY, a] == 0.0
    return survivors


def best_survivor(arms: Array) -> int:
    """The survivor with the largest mean, the lowest number first."""
    best = -1
    for a in range(arms.shape[1]):
        if arms[MEMORY, a] == 0.0 and (best < 0 or arms[MEAN, a] > arms[MEAN, best]):
            best = a
    return best


def worst_survivor(arms: Array) -> int:
    """The survivor with the least mean, the highest number first."""
    worst = -1
    for a in range(arms.shape[1]):
        if arms[MEMORY, a] == 0.0 and (worst < 0 or arms[MEAN, a] <= arms[MEAN, worst]):
            worst = a
    return worst


def next_survivor(arms: Array) -> int:
    """The survivor with the fewest pulls, the lowest number first."""
    least = -1
    for a in range(arms.shape[1]):
        if arms[MEMORY, a] == 0.0 and (least < 0 or arms[COUNT, a] < arms[COUNT, least]):
            least = a
    return least


def lap_is_over(arms: Array) -> bool:
    """Whether every survivor has the same number of pulls."""
    least, most = inf, 0.0
    for a in range(arms.shape[1]):
        if arms[MEMORY, a] == 0.0:
            least, most = min(least, arms[COUNT, a]), max(most, arms[COUNT, a])
    return least == most


def next_marked(arms: Array) -> int:
    """The arm with the least mark in the row MEMORY, or -1."""
    marked = -1
    for a in range(arms.shape[1]):
        if arms[MEMORY, a] > 0.0 and (marked < 0 or arms[MEMORY, a] < arms[MEMORY, marked]):
            marked = a
    return marked


def clear_mark(arms: Array, arm: int) -> bool:
    """Take the mark off an arm; whether another has one."""
    arms[MEMORY, arm] = 0.0
    return next_marked(arms) >= 0


def mark_leaders(view: View) -> None:
    """A one in the row PROJECTED for every arm that the answer says is among the best, else a zero."""
    for a in range(view.arms.shape[1]):
        view.arms[PROJECTED, a] = 0.0
    for p in range(view.pairs.shape[1]):
        view.arms[PROJECTED, view.pairs[0, p]] = 1.0


def count_leaders(pairs: Integers) -> int:
    """m, from the pairs of each of m arms with each of the others, one good arm after the other."""
    others = 1
    while others < pairs.shape[1] and pairs[0, others] == pairs[0, 0]:
        others += 1
    return int(pairs.shape[1] // others)
