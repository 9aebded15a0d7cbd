"""How a policy that solves responds to an outcome, in the subset of Python that numba compiles.

In every round, or with ``solve = "lazy"`` where the last solution is no longer certified to be near the best
(`caet_opt.kernels.boxes`), the target is decided on: u_alpha of the empirical model. These are the rules,
those of the paper and those for what it leaves out.

1. First rounds: while some arm has no outcome the target is uniform, so every arm is pulled once.
2. Ties: when the empirical means of a needed pair are equal, or a statement with a level or margin does not hold by
   more than rounding, T* is infinite and only such statements matter. The target is uniform on their costly arms, or
   on all their arms when none of them costs anything; under limits it is the nearest one that meets them.
3. Boundary: a costly arm whose needed pairs all have infinite divergence (a free Bernoulli arm at an empirical mean
   of 0, say) needs no effort; it has u* = 0 and is pulled by forced exploration only.
4. Free arms: they share ``alpha``, and the costly arms ``1 - alpha``. With no free arm in the support the target is
   u*; with no effort to spend on costly arms it is uniform on the free arms of the support.
5. A changed answer changes the pairs and with them the target, from that round on; the cumulated target stays.
"""

from math import inf, sqrt
from typing import NamedTuple

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import holds_clearly
from caet_opt.kernels.boxes import (
    CENTRE,
    DECIDED,
    DUE,
    ENDED,
    FOLLOWING,
    HIGH,
    LOW,
    PAID,
    PATIENCE,
    SHORT,
    SOLVED,
    SOLVES,
    TIED,
    WIDEST,
    Aim,
    clear_box,
    fit_box,
    is_inside,
)
from caet_opt.kernels.certify import is_free, mean_of
from caet_opt.kernels.counting import as_one_row
from caet_opt.kernels.following import follow_means
from caet_opt.kernels.instance import Layout, Workspace, solve_in_workspace
from caet_opt.kernels.interior import CERTIFIED
from caet_opt.kernels.ledger import (
    ANSWERED,
    ARM_ROWS,
    COST,
    COUNT,
    CUMULATED,
    DISPERSION,
    DONE,
    GAPS,
    MEAN,
    MEMORY,
    MONEY,
    NEED_ANSWER,
    NEED_LAYOUT,
    NEED_SOLUTION,
    OBSERVED,
    ORDER,
    PROJECTED,
    REST,
    ROUND,
    TARGET,
    Conditions,
    answer_holds,
    blur_of,
    column_exceeds,
    counted_lead,
    evidence_at,
    evidence_of,
    has_histograms,
    short_pair,
    update_costs,
    weigh_pairs,
    write_answer,
)
from caet_opt.kernels.lines import lay_lines, line_gap
from caet_opt.kernels.records import COLUMN_ROWS, ModelNumbers, Plan

#: Leaves more room than rounding takes in evidence that grows with the counts.
MARGIN = 1.0 - 1e-9


class Space(NamedTuple):
    """What a solve works in: how the statements sit in the problem, the solver's arrays, effort and weights before they
    are certified, and, between solves, those of the last solution; and which side of each column the layout takes for
    costly (one, zero, or -1 where there is no layout)."""

    layout: Layout
    plan: Plan
    workspace: Workspace
    effort: Array
    weights: Array
    costly: Array


class Pursuit(NamedTuple):
    """What a policy that solves sees: a `View` with where it aims, and the space that its solver works in."""

    setting: Conditions
    arms: Array
    clock: Array
    pairs: Integers
    margins: Array
    evidence: Array
    shape: int
    members: Integers
    numbers: Array
    aim: Aim
    space: Space


def batch_end(setting: Conditions, now: float) -> float:
    """The round in which the pulls that are handed out in this one have all been answered."""
    return now + max(setting.batch, float(int(setting.growth * now)))


def is_near_best(view: Pursuit, moved: int) -> bool:
    """Whether the last solution is certified to be near the best at what is known now, where the mean of an arm has
    moved, or all for arm -1: the means are in the box, or the lines say so."""
    setting, aim = view.setting, view.aim
    if not has_histograms(setting):
        return is_inside(setting, view.arms, aim, moved)
    gap = line_gap(setting, view.arms, view.pairs, view.margins, aim, moved)
    if gap <= setting.gap and answer_holds(view, view.arms[MEAN], moved):
        aim.numbers[WIDEST] = max(aim.numbers[WIDEST], gap)
        return True
    return False


def keep_mended(view: Pursuit) -> bool:
    """Aim at the effort that follows from the last one for the present means, if that is certified to be near the best;
    without a box otherwise."""
    setting, arms, pairs, aim, now = view.setting, view.arms, view.pairs, view.aim, view.clock[ROUND]
    gap = follow_means(setting, arms, pairs, view.margins, aim)
    if gap > setting.gap:
        clear_box(setting, aim)
        return False
    aim.numbers[DECIDED], aim.numbers[DUE] = now, batch_end(setting, now)
    aim.numbers[WIDEST] = max(aim.numbers[WIDEST], gap)
    share_out(pairs, arms[COST], aim.effort, setting.zero_cost_share, arms[TARGET])
    project_into(arms[TARGET], exploration_floor(arms.shape[1], aim.numbers[SOLVED]), arms[PROJECTED])
    if aim.numbers[SHORT] >= 0.0:
        watch(setting, arms, pairs, view.margins, aim.box, int(aim.numbers[SHORT]))
    return True


def decide(view: Pursuit, moved: int) -> int:
    """A new target for the present means, or what is needed for it; the mean of an arm has moved, or all for arm -1."""
    setting, arms, pairs, aim = view.setting, view.arms, view.pairs, view.aim
    asked = view.clock[ANSWERED] == view.clock[ROUND]
    tied = aim.numbers[TIED] > 0.0
    held = answer_holds(view, arms[MEAN], -1 if asked or tied else moved)
    if not held and not asked:
        if view.shape < 0:
            return NEED_ANSWER
        write_answer(view, arms[MEAN], pairs, view.margins)
    if not held or asked:
        look_anew(aim)
    estimated = setting.cost_source == OBSERVED or setting.cost_source == GAPS
    if estimated:
        for a in range(arms.shape[1] if setting.cost_source == OBSERVED else 1):  # gaps are updated all at once
            update_costs(setting, arms, a)
    if not held and not answer_holds(view, arms[MEAN], -1):
        aim_at_ties(setting, arms, pairs, view.margins, aim, view.clock[ROUND])
        return NEED_SOLUTION if setting.limited else DONE  # of limits, which are met outside
    if not setting.native:
        return NEED_SOLUTION
    same = held and not (asked or tied or estimated)
    layout, costly = view.space.layout, view.space.costly
    if not (same and costly[0, 0] >= 0.0) and not fit_layout(arms, pairs, view.margins, layout, costly):
        return NEED_LAYOUT
    return solve_here(view)


def solve_here(view: Pursuit) -> int:
    """Solve for the present means in the layout at hand, and aim at the solution.

    The last solution is where a solve starts from that is of the same pairs, and has effort on every arm of them that
    costs something now.
    """
    setting, arms, pairs, aim = view.setting, view.arms, view.pairs, view.aim
    layout, plan, workspace, effort, weights, _ = view.space
    some = layout.labels.size > 0
    for a in range(effort.size):
        effort[a] = aim.effort[a] if some else 0.0
    for p in range(weights.size):
        weights[p] = aim.weights[p] if some else 0.0
    if some:
        warm, total = True, 0.0
        phi = setting.numbers[DISPERSION]
        if has_histograms(setting):
            phi = as_one_row(arms)[ARM_ROWS * arms.shape[1] :]
        for p in range(pairs.shape[1]):
            for side in range(2):
                arm = pairs[side, p]
                known = aim.solved[side, p] == arm and (is_free(arms[COST], arm) or aim.effort[arm] > 0.0)
                warm = warm and known
        given = ModelNumbers(
            setting.family, setting.error, setting.low, setting.high, arms[MEAN], setting.numbers[REST], arms[COST], phi
        )
        status, _, lower, upper = solve_in_workspace(
            given, layout, plan, effort, weights, warm, setting.tolerance, setting.target, setting.limit, workspace
        )
        for a in range(effort.size):
            total += effort[a]  # what is not a positive number is nothing to take shares of
        if status != CERTIFIED or upper - lower > setting.tolerance * upper or not 0.0 < total < inf:
            return NEED_SOLUTION
    adopt(view)
    return DONE


def adopt(view: Pursuit) -> None:
    """Aim at the effort in the space, which is certified for the present means and costs, with its weights."""
    setting, arms, pairs, aim, now = view.setting, view.arms, view.pairs, view.aim, view.clock[ROUND]
    for a in range(aim.effort.size):  # a copy of a slice costs a small problem as much as a round's sums
        aim.effort[a] = view.space.effort[a]
        aim.box[PAID, a], aim.box[CENTRE, a] = arms[COST, a], arms[MEAN, a]
    for p in range(aim.weights.size):
        aim.weights[p] = view.space.weights[p]
        aim.solved[0, p], aim.solved[1, p] = pairs[0, p], pairs[1, p]
    share_out(pairs, arms[COST], aim.effort, setting.zero_cost_share, arms[TARGET])
    project_into(arms[TARGET], exploration_floor(arms.shape[1], now), arms[PROJECTED])
    aim.numbers[SOLVES] += 1.0
    aim.numbers[SOLVED], aim.numbers[TIED] = now, 0.0
    gap = 0.0
    if setting.gap > 0.0 and has_histograms(setting):
        gap = lay_lines(setting, arms, pairs, view.margins, aim)
    elif setting.gap > 0.0:
        gap = fit_box(setting, arms, pairs, view.margins, aim)
    aim.numbers[DECIDED], aim.numbers[DUE] = now, batch_end(setting, now)
    aim.numbers[WIDEST] = max(aim.numbers[WIDEST], setting.tolerance, gap)
    if setting.gap > 0.0 and aim.numbers[SHORT] >= 0.0 and not has_histograms(setting):
        for a in range(arms.shape[1]):
            aim.box[PATIENCE, a] = inf
        watch(setting, arms, pairs, view.margins, aim.box, int(aim.numbers[SHORT]))


def aim_at_ties(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim, now: float) -> None:
    """Uniform on the costly arms of tied statements, or on all their arms when none is costly (rule 2)."""
    target, costly, tied = arms[TARGET], 0.0, 0.0
    for a in range(arms.shape[1]):
        target[a] = 0.0
        aim.box[PAID, a], aim.box[CENTRE, a] = arms[COST, a], arms[MEAN, a]
    for p in range(pairs.shape[1]):
        if is_tie(setting, arms[MEAN], pairs, margins, p):
            for side in range(2):
                if pairs[side, p] >= 0:
                    target[pairs[side, p]] = 1.0
    for a in range(arms.shape[1]):
        if target[a] > 0.0:
            tied += 1.0
            costly += 1.0 if arms[COST, a] > 0.0 else 0.0
    for a in range(arms.shape[1]):
        if target[a] > 0.0:
            target[a] = 1.0 / tied if costly == 0.0 else (1.0 / costly if arms[COST, a] > 0.0 else 0.0)
    project_into(target, exploration_floor(arms.shape[1], now), arms[PROJECTED])
    settle_for(setting, aim, now)


def is_tie(setting: Conditions, means: Array, pairs: Integers, margins: Array, p: int) -> bool:
    """Whether the means leave open whether a statement of their answer holds."""
    if margins.shape[1] > 0:
        return not holds_clearly(means, pairs, margins, p, blur_of(setting))
    return bool(means[pairs[0, p]] == means[pairs[1, p]])


def settle_for(setting: Conditions, aim: Aim, now: float) -> None:
    """Keep a target that no solve has given, until the next is due: nothing of it is known at other means."""
    clear_box(setting, aim)
    aim.numbers[TIED], aim.numbers[SOLVED], aim.numbers[DECIDED] = 1.0, now, now
    aim.numbers[DUE] = batch_end(setting, now)


def begin_here(view: Pursuit) -> None:
    """What follows from a view that was put together from its parts: who is next, and whether every pair is settled."""
    aim, now = view.aim, view.clock[ROUND]
    aim.numbers[FOLLOWING] = most_behind(view.arms, MEMORY, 1.0)
    project_into(view.arms[TARGET], exploration_floor(view.arms.shape[1], aim.numbers[SOLVED]), view.arms[PROJECTED])
    if aim.numbers[DECIDED] == now:
        look(view)


def fit_layout(arms: Array, pairs: Integers, margins: Array, layout: Layout, costly: Array) -> bool:
    """Put the arms of the present answer into the layout, which is that of every answer of most tasks; False where
    other sides of the pairs are free, or its arms stand otherwise."""
    if costly.shape[1] != pairs.shape[1]:
        return False
    for p in range(pairs.shape[1]):
        for side in range(2):
            if costly[side, p] != (0.0 if is_free(arms[COST], pairs[side, p]) else 1.0):
                return False
    for e in range(layout.ends.shape[1]):
        for side in range(2):
            layout.labels[layout.ends[side, e]] = pairs[side, layout.edge_pairs[e]]
    for k in range(layout.anchors.shape[1]):
        p = layout.anchors[2, k]
        side = 0 if costly[0, p] > 0.0 else 1
        layout.labels[layout.anchors[0, k]], layout.anchors[1, k] = pairs[side, p], pairs[1 - side, p]
    for e in range(layout.ends.shape[1]):
        for side in range(2):
            if layout.labels[layout.ends[side, e]] != pairs[side, layout.edge_pairs[e]]:
                return False
    for k in range(layout.anchors.shape[1]):
        p = layout.anchors[2, k]
        if layout.labels[layout.anchors[0, k]] != pairs[0 if costly[0, p] > 0.0 else 1, p]:
            return False
    for p in range(pairs.shape[1]):
        layout.pairs[0, p], layout.pairs[1, p] = pairs[0, p], pairs[1, p]
    for p in range(layout.margins.shape[1]):
        for row in range(COLUMN_ROWS):
            layout.margins[row, p] = margins[row, p]
    return True


def forget_target(setting: Conditions, aim: Aim) -> None:
    """Another answer is followed: nothing is known of its target, and all of its statements are looked at."""
    clear_box(setting, aim)
    look_anew(aim)
    aim.numbers[TIED], aim.numbers[SOLVED] = 1.0, 0.0


def look_anew(aim: Aim) -> None:
    """Whichever arm is pulled next, all pairs are looked at: they are others, or were all settled."""
    aim.numbers[SHORT] = -1.0
    for a in range(aim.effort.size):
        aim.box[PATIENCE, a] = -1.0


def look(view: Pursuit) -> None:
    """Find a pair that is short of its threshold, the last one if it still is, or note that none is."""
    setting, arms, aim, now, short = view.setting, view.arms, view.aim, view.clock[ROUND], int(view.aim.numbers[SHORT])
    if short < 0:
        short = 0
        for arm in range(arms.shape[1]):
            aim.box[PATIENCE, arm] = inf
    set_patience(aim.box, arms, view.pairs, short, inf)
    # what is known of rewards in a range tells faster by betting than by its evidence
    evidence = inf if has_histograms(setting) else evidence_of(setting, arms, view.pairs, view.margins, short)
    if evidence > setting.level and column_exceeds(view, short, evidence, False):
        weigh_pairs(view, -1)
        short = short_pair(view)
    if short < 0:
        look_anew(aim)
        aim.numbers[ENDED] = now
    else:
        watch(setting, arms, view.pairs, view.margins, aim.box, short)
        aim.numbers[SHORT] = short


def watch(setting: Conditions, arms: Array, pairs: Integers, margins: Array, box: Array, short: int) -> None:
    """Let the evidence of the short pair be looked at only once a count of its arms exceeds its patience.

    Z_ab is homogeneous in the counts, does not fall in them, and is largest at the corner (high_a, low_b) of the box:
    while both counts are at most k times the present ones, it is at most k times what it would be there, and a pair
    with evidence up to the level is short. Without a box it is looked at whenever one of its arms is pulled. Of rewards
    in a range log E is at most what one point of the boundary says, and an outcome adds at most so much to that: each
    arm may use up half of what is missing.
    """
    if has_histograms(setting):
        lead, growth_a, growth_b = counted_lead(setting, arms, pairs, margins, short)
        for side in range(2):
            arm, growth = pairs[side, short], growth_a if side == 0 else growth_b
            if arm >= 0:
                box[PATIENCE, arm] = arms[COUNT, arm] + outcomes_left(-lead, growth)
        return
    a, b, factor = pairs[0, short], pairs[1, short], 0.0
    x, y = mean_of(box[HIGH], a), mean_of(box[LOW], b)
    if setting.gap > 0.0 and (x > y if margins.shape[1] == 0 else box[LOW, max(a, b)] <= box[HIGH, max(a, b)]):
        corner = evidence_at(setting, arms, pairs, margins, short, x, y)
        if corner < setting.level:
            factor = MARGIN * setting.level / corner if corner > 0.0 else inf
    set_patience(box, arms, pairs, short, factor)


def outcomes_left(missing: float, growth: float) -> float:
    """How many outcomes use up half of what is missing at most, if each adds this much."""
    if not (missing > 0.0 and growth < inf):
        return 0.0
    return 0.5 * MARGIN * missing / growth if growth > 0.0 else inf


def set_patience(box: Array, arms: Array, pairs: Integers, p: int, factor: float) -> None:
    """The count beyond which an outcome of an arm of a statement is looked at: so many times the present one."""
    for side in range(2):
        arm = pairs[side, p]
        if arm >= 0:
            box[PATIENCE, arm] = factor * arms[COUNT, arm]


def add_target(arms: Array) -> int:
    """Add the projected target to the cumulated one; returns the arm that then lags most behind.

    The largest lag is found by vector instructions, for which `compiling.FINITE` says that nothing here is NaN.
    """
    memory, target, count = arms[MEMORY], arms[PROJECTED], arms[COUNT]
    most = -inf
    for a in range(memory.size):
        memory[a] += target[a]
        most = max(most, memory[a] - count[a])
    return behind_by(arms, MEMORY, 1.0, most)


def most_behind(arms: Array, row: int, factor: float) -> int:
    """The arm with the largest ``factor x_a - N_a``, x a row of the arms; as `add_target` finds it."""
    planned, count = arms[row], arms[COUNT]
    most = -inf
    for a in range(planned.size):
        most = max(most, factor * planned[a] - count[a])
    return behind_by(arms, row, factor, most)


def behind_by(arms: Array, row: int, factor: float, lag: float) -> int:
    """The first arm, as ties are broken, that lags so much behind a row."""
    for place in range(arms.shape[1]):
        a = int(arms[ORDER, place])
        if factor * arms[row, a] - arms[COUNT, a] == lag:
            return a
    return 0


def next_arm(setting: Conditions, arms: Array, now: float) -> int:
    """The arm that lags most; of equal ones the first in the row ORDER.

    C-tracking: behind the cumulated target. D-tracking: behind the present one, ``t u_a - N_a``, after arms with fewer
    than ``sqrt(t) - K / 2`` pulls (docs/mathematics/d_tracking.md). By money: see `next_by_money`.
    """
    if setting.tracking == MONEY:
        return next_by_money(setting, arms, now)
    if setting.tracking == CUMULATED:
        return most_behind(arms, MEMORY, 1.0)
    least = most_behind(arms, TARGET, 0.0)
    if arms[COUNT, least] < sqrt(now) - 0.5 * arms.shape[1]:
        return least
    return most_behind(arms, TARGET, now)


def next_by_money(setting: Conditions, arms: Array, now: float) -> int:
    """The least pulled arm below sqrt(t) pulls, else the one whose share of the money lags most behind its share in
    the target: the largest ``c_a u_a / sum(c u) - c_a N_a / sum(c N)`` over costly arms, while free arms of the target
    take the zero-cost share of the pulls."""
    least, spent, planned = int(arms[ORDER, 0]), 0.0, 0.0
    idle, free_pulls = -1, 0.0
    for place in range(arms.shape[1]):
        a = int(arms[ORDER, place])
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
    for place in range(arms.shape[1]):
        a = int(arms[ORDER, place])
        behind = arms[COST, a] * (arms[TARGET, a] / planned - arms[COUNT, a] / spent)
        if arms[COST, a] > 0.0 and behind > lag:
            best, lag = a, behind
    return best


def share_out(pairs: Integers, costs: Array, effort: Array, alpha: float, target: Array) -> None:
    """``u_alpha``: alpha spread over the free arms of the pairs, 1 - alpha by effort over the costly ones (rule 4)."""
    for a in range(costs.size):
        target[a] = 0.0
    for p in range(pairs.shape[1]):
        for side in range(2):
            if pairs[side, p] >= 0 and costs[pairs[side, p]] == 0.0:
                target[pairs[side, p]] = 1.0
    free, costly = 0.0, 0.0
    for a in range(costs.size):
        free += target[a]
        if costs[a] > 0.0:
            costly += effort[a]
    alpha = 1.0 if not costly > 0.0 else (alpha if free > 0.0 else 0.0)
    for a in range(costs.size):
        if costs[a] > 0.0:
            target[a] = (1.0 - alpha) * (effort[a] / costly) if costly > 0.0 else 0.0
        elif target[a] > 0.0:
            target[a] = alpha / free


def exploration_floor(arms: int, now: float) -> float:
    """``epsilon_t = (K^2 + t)^(-1/2) / 2``."""
    return 0.5 / sqrt(arms * arms + now)


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
