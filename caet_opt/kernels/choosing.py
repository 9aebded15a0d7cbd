"""What policies that solve nothing share, in the subset of Python that numba compiles.

Of arms that are equal the first in the row ORDER is taken.
"""

from math import inf, log, sqrt

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import MARGIN, RATIO, RATIO_REST
from caet_opt.bandits.tasks.pairs import REST as MARGIN_REST
from caet_opt.kernels.ledger import (
    ANSWERED,
    COST,
    COUNT,
    MEAN,
    MEMORY,
    NEEDED,
    ORDER,
    PLACE,
    ROUND,
    Seen,
    answer_holds,
    counted_rates,
    evidence_between,
    exceeds,
    has_histograms,
    is_stated,
    update_costs,
    weigh_pairs,
    weight_of,
    write_answer,
)
from caet_opt.kernels.margin_term import statement_term
from caet_opt.kernels.term import pair_term


def refresh_pairs(view: Seen, arm: int) -> bool:
    """Costs, statements and evidence after an outcome of an arm; False where the answer has to be found in Python."""
    update_costs(view.setting, view.arms, arm)
    if answer_holds(view, view.arms[MEAN], arm):
        weigh_pairs(view, arm)
        return True
    if view.shape < 0:
        return False
    write_answer(view, view.arms[MEAN], view.pairs, view.margins)
    if is_stated(view):  # the answers of other tasks have the same arms
        mark_needed(view)
    weigh_pairs(view, -1)
    return True


def survey(view: Seen) -> bool:
    """Costs, statements and evidence once every arm has an outcome; False where Python has to find the answer."""
    for a in range(view.arms.shape[1]):
        update_costs(view.setting, view.arms, a)
    if view.clock[ANSWERED] != view.clock[ROUND]:
        if view.shape < 0:
            return False
        write_answer(view, view.arms[MEAN], view.pairs, view.margins)
        view.clock[ANSWERED] = view.clock[ROUND]
    mark_needed(view)
    weigh_pairs(view, -1)
    return True


def mark_needed(view: Seen) -> None:
    """Note which arms are in some statement."""
    for a in range(view.arms.shape[1]):
        view.arms[NEEDED, a] = 0.0
    for p in range(view.pairs.shape[1]):
        for side in range(2):
            if view.pairs[side, p] >= 0:
                view.arms[NEEDED, view.pairs[side, p]] = 1.0


def named_arms(pairs: Integers, p: int) -> tuple[int, int]:
    """Winner and loser of a statement; where one of them is a level, the other twice."""
    a, b = int(pairs[0, p]), int(pairs[1, p])
    return (a if a >= 0 else b), (b if b >= 0 else a)


def least_pulled(arms: Array) -> int:
    """The arm with the fewest pulls."""
    least = int(arms[ORDER, 0])
    for place in range(arms.shape[1]):
        a = int(arms[ORDER, place])
        if arms[COUNT, a] < arms[COUNT, least]:
            least = a
    return least


def free_turn(view: Seen, dropped: int) -> int:
    """The least pulled free arm when free arms have less than the zero-cost share of the pulls, else -1.

    Where a rule divides by costs, free arms take this share and the rule decides among the costly ones. Only arms that
    are in some statement count, and with ``dropped`` a row of the view, only those whose entry there is zero, so that
    an arm that was dropped is not made up for.
    """
    arms, idle, free, costly = view.arms, -1, 0.0, 0.0
    for place in range(arms.shape[1]):
        a = int(arms[ORDER, place])
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


def least_spent(view: Seen, root: bool, dropped: int) -> int:
    """A free arm when it is their turn, else the costly one with the least ``c_a N_a``, or ``sqrt(c_a) N_a``; only arms
    that were not dropped, as `free_turn` has it."""
    arms, best, least = view.arms, free_turn(view, dropped), inf
    if best >= 0:
        return best
    for place in range(arms.shape[1]):
        a = int(arms[ORDER, place])
        index = (sqrt(arms[COST, a]) if root else arms[COST, a]) * arms[COUNT, a]
        if arms[COST, a] > 0.0 and not (dropped >= 0 and arms[dropped, a] > 0.0) and index < least:
            best, least = a, index
    return best


def weakest_pair(view: Seen, penalties: bool, costly: bool) -> int:
    """The statement with the least evidence, plus ``log N_b`` with penalties, b its loser, or its arm where that is a
    level; only statements with a costly arm if asked.

    Of equal ones the one whose loser comes first, then whose winner does.
    """
    arms, pairs, best, least = view.arms, view.pairs, 0, inf
    for p in range(view.evidence.size):
        a, b = pairs[0, p], pairs[1, p]
        if is_stated(view):
            if view.evidence[p] == inf:  # of no arm, or a second piece
                continue
            a, b = named_arms(pairs, p)
        if costly and not (arms[COST, a] > 0.0 or arms[COST, b] > 0.0):
            continue
        index = view.evidence[p]
        if penalties:
            index += log(arms[COUNT, b])
        if index < least or (index == least and comes_before(arms, pairs, p, best)):
            best, least = p, index
    return best


def comes_before(arms: Array, pairs: Integers, p: int, q: int) -> bool:
    """Whether the loser of pair p comes before that of pair q, or, if that is the same arm, its winner does."""
    one, other = place_of(arms, pairs[1, p]), place_of(arms, pairs[1, q])
    if one != other:
        return one < other
    return place_of(arms, pairs[0, p]) < place_of(arms, pairs[0, q])


def place_of(arms: Array, arm: int) -> float:
    """The place of an arm where ties are broken, before all others for one that is none."""
    return float(arms[PLACE, arm]) if arm >= 0 else -1.0


def share_of_first(view: Seen, p: int) -> float:
    """``p_a = N_a d(mu_a, m) / Z_ab``, the share of the winner in a statement's evidence; a half where Z is zero."""
    setting, arms = view.setting, view.arms
    a, b = named_arms(view.pairs, p)
    wa, wb = weight_of(setting, arms, a), weight_of(setting, arms, b)
    if is_stated(view):
        if not 0.0 < view.evidence[p] < inf:
            return 0.5
        if has_histograms(setting):
            _, da, db = counted_rates(arms, view.pairs, view.margins, p)
            return wa * da / (wa * da + wb * db)
        _, _, da, db, _ = statement_term(
            setting.family,
            setting.low,
            setting.high,
            wa,
            wb,
            arms[MEAN, a],
            arms[MEAN, b],
            0.0,
            0.0,
            view.margins[MARGIN, p],
            view.margins[MARGIN_REST, p],
            view.margins[RATIO, p],
            view.margins[RATIO_REST, p],
            False,
            False,
        )
    else:
        _, da, db, _, _ = pair_term(setting.family, wa, wb, arms[MEAN, a], arms[MEAN, b], 0.0, 0.0, False, False)
    first, second = wa * da, wb * db
    return first / (first + second) if first + second > 0.0 else 0.5


def is_beaten(view: Seen, a: int, b: int) -> bool:
    """Whether the evidence that a beats b exceeds the threshold."""
    setting, arms = view.setting, view.arms
    evidence = evidence_between(setting, arms, a, b, arms[MEAN, a], arms[MEAN, b])
    return evidence > setting.level and exceeds(setting, arms, view.clock[ROUND], a, b, evidence, True)


def find_survivor(arms: Array, row: int, sign: float) -> int:
    """The survivor with the least entry of a row, times a sign."""
    found = -1
    for place in range(arms.shape[1]):
        a = int(arms[ORDER, place])
        if arms[MEMORY, a] == 0.0 and (found < 0 or sign * arms[row, a] < sign * arms[row, found]):
            found = a
    return found


def race_ends(arms: Array) -> tuple[int, int]:
    """Where a lap is over, every survivor having as many pulls, the best and the worst one, else twice the same.

    The best is the first of those with the largest mean, the worst the last of those with the least.
    """
    best, worst = find_survivor(arms, MEAN, -1.0), -1
    for place in range(arms.shape[1]):
        a = int(arms[ORDER, place])
        if arms[MEMORY, a] == 0.0:
            if arms[COUNT, a] != arms[COUNT, best]:
                return best, best
            if worst < 0 or arms[MEAN, a] <= arms[MEAN, worst]:
                worst = a
    return best, worst


def next_marked(arms: Array) -> int:
    """The arm with the least mark in the row MEMORY, or -1."""
    marked = -1
    for a in range(arms.shape[1]):
        if arms[MEMORY, a] > 0.0 and (marked < 0 or arms[MEMORY, a] < arms[MEMORY, marked]):
            marked = a
    return marked
