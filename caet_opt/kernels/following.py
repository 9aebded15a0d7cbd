"""A box that follows the means, in the subset of Python that numba compiles.

Where costs are known a mean that leaves its interval (`caet_opt.kernels.boxes`) need not cost a solve. The box is moved
to the present means, efforts are raised where some ``f_e(w; low_a, high_b) < 1``, and weights lowered where the sum at
an arm exceeds c_a (`mend`). Either changes what is short by itself, not all by the worst of them, and neither spoils
what holds elsewhere. Then ``c . w / sum(q)`` is 1 + gap by the certificate of the box, and the new effort is the target
while the gap is at most GAP. In early rounds most outcomes move a mean out of any box: a ranking of 200 arms takes a
twentieth of the solves.

Levels, margins and ratios change nothing in that: their terms do not fall either when an effort grows, are concave and
homogeneous of degree one, and have the same corners. A statement without a term at its corner has none in the box, and
a weight without a point at its corner proves nothing and is given up until the next solve.
"""

from math import inf

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import MARGIN, RATIO, RATIO_REST, surplus
from caet_opt.bandits.tasks.pairs import REST as MARGIN_REST
from caet_opt.kernels.boxes import HIGH, LOAD, LOW, ROUNDING, Aim, can_follow, gap_here, place_mean, rates_at
from caet_opt.kernels.certify import is_free, mean_of
from caet_opt.kernels.ledger import COST, DISPERSION, MEAN, Conditions
from caet_opt.kernels.margin_term import statement_term
from caet_opt.kernels.records import PIECE
from caet_opt.kernels.term import pair_term

#: A statement whose f_e has fallen from one to less than this is solved for: there is nothing to follow.
LEAST_LEVEL = 1e-3


def follow_means(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim) -> float:
    """Make the box around the present means, as wide as it was, and `mend` effort and weights for it; returns its gap,
    infinite where it proves nothing, there was no box, or boxes are made by solves alone: `can_follow`.

    An interval that ends where the mean space does has lost a part, and stays while its mean is in it. Limits would not
    be met by an effort that is raised: effort and weights stay then, for as long as the gap around them allows.
    """
    box = aim.box
    if not can_follow(setting):
        return inf
    for a in range(arms.shape[1]):
        if not box[LOW, a] <= box[HIGH, a]:
            return inf
        whole = setting.low < box[LOW, a] and box[HIGH, a] < setting.high
        if whole or not box[LOW, a] <= arms[MEAN, a] <= box[HIGH, a]:
            place_mean(setting, arms, box, a, 0.5 * (box[HIGH, a] - box[LOW, a]))
    if setting.limited:
        return gap_here(setting, arms, pairs, margins, aim, 0.0)
    return mend(setting, arms, pairs, margins, aim)


def mend(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim) -> float:
    """Raise efforts and lower weights as little as makes both prove something of the whole box, each statement and each
    arm for itself; returns the gap, infinite where they prove nothing.

    Afterwards ``f_e(w; low_a, high_b) >= 1`` for every statement, and ``sum_{e at a} q_e d(wide_a, x_e) <= c_a`` for
    every costly arm: more effort lowers no f_e, and smaller weights raise no sum.
    """
    box, effort, weights = aim.box, aim.effort, aim.weights
    for a in range(arms.shape[1]):
        box[LOAD, a] = 0.0
    if margins.shape[1] > 0:
        if not lift_statements(setting, arms, pairs, margins, aim):
            return inf
        load_points(setting, arms, pairs, margins, aim)
    else:
        if not lift_pairs(setting, arms, pairs, aim):
            return inf
        load_pairs(setting, arms, pairs, aim)
    outlay, mass = 0.0, 0.0
    for a in range(arms.shape[1]):
        if arms[COST, a] > 0.0:
            outlay += arms[COST, a] * effort[a]
            if not box[LOAD, a] < inf:  # nor where it is not a number
                return inf
            box[LOAD, a] = min(arms[COST, a] / box[LOAD, a], 1.0) if box[LOAD, a] > 0.0 else 1.0
        else:
            box[LOAD, a] = 1.0
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if margins.shape[1] > 0:
            weights[p] *= min(box[LOAD, a] if a >= 0 else 1.0, box[LOAD, b] if b >= 0 else 1.0)
            mass += 0.0 if is_free(arms[COST], a) and is_free(arms[COST], b) else weights[p]
            continue
        weights[p] *= min(box[LOAD, a], box[LOAD, b])
        if arms[COST, a] > 0.0 or arms[COST, b] > 0.0:
            mass += weights[p]
    gap = outlay / mass - 1.0 + ROUNDING if mass > 0.0 else inf
    return gap if gap > 0.0 else inf  # what is not a number proves nothing


def lift_pairs(setting: Conditions, arms: Array, pairs: Integers, aim: Aim) -> bool:
    """`lift_pair` for each pair that is short at its corner; False where a pair does not hold there, or all but so."""
    box, effort, phi = aim.box, aim.effort, setting.numbers[DISPERSION]
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if not box[LOW, a] > box[HIGH, b]:
            return False
        free_a, free_b = arms[COST, a] == 0.0, arms[COST, b] == 0.0
        if not (free_a and free_b):
            wa, wb = effort[a] / phi[a], effort[b] / phi[b]
            level = pair_term(setting.family, wa, wb, box[LOW, a], box[HIGH, b], 0.0, 0.0, free_a, free_b)[0]
            if not level > LEAST_LEVEL:
                return False
            if level < 1.0:
                lift_pair(setting, arms, aim, a, b)
    return True


def lift_pair(setting: Conditions, arms: Array, aim: Aim, a: int, b: int) -> None:
    """Raise the effort on a pair to ``f_e(w; low_a, high_b) = 1``, or so little more that rounding does not matter.

    First by the shortest step in log-effort that would do if log f_e were linear there: along its gradient, the shares
    ``w_a d_a / f_e`` and ``w_b d_b / f_e``. An arm of which there is plenty in the pair hardly takes part: the best one
    would be raised for each of its rivals. Then on both by the same factor, as f_e is homogeneous.
    """
    effort, phi, x, y = aim.effort, setting.numbers[DISPERSION], aim.box[LOW, a], aim.box[HIGH, b]
    free_a, free_b = arms[COST, a] == 0.0, arms[COST, b] == 0.0
    wa, wb = effort[a] / phi[a], effort[b] / phi[b]
    level, da, db, _, _ = pair_term(setting.family, wa, wb, x, y, 0.0, 0.0, free_a, free_b)
    share_a, share_b = wa * da / level, wb * db / level
    step = (1.0 - level) / (level * (share_a * share_a + share_b * share_b))
    wa, wb = wa * (1.0 + step * share_a), wb * (1.0 + step * share_b)
    level = pair_term(setting.family, wa, wb, x, y, 0.0, 0.0, free_a, free_b)[0]
    factor = max((1.0 + ROUNDING) / level, 1.0)
    effort[a], effort[b] = factor * wa * phi[a], factor * wb * phi[b]


def load_pairs(setting: Conditions, arms: Array, pairs: Integers, aim: Aim) -> None:
    """Add up the loads of the pairs' weights at the corners (high_a, low_b), by arm, in the box."""
    box, effort, weights, phi = aim.box, aim.effort, aim.weights, setting.numbers[DISPERSION]
    for p in range(pairs.shape[1]):
        a, b, free_a, free_b = pairs[0, p], pairs[1, p], arms[COST, pairs[0, p]] == 0.0, arms[COST, pairs[1, p]] == 0.0
        if weights[p] > 0.0 and not (free_a and free_b):
            wa, wb = effort[a] / phi[a], effort[b] / phi[b]
            _, da, db, _, _ = pair_term(setting.family, wa, wb, box[HIGH, a], box[LOW, b], 0.0, 0.0, free_a, free_b)
            box[LOAD, a] += weights[p] * da / phi[a]
            box[LOAD, b] += weights[p] * db / phi[b]


def lift_statements(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim) -> bool:
    """`lift_statement` for each statement that is short at its corner; False where one does not hold there by more than
    rounding, or all but so. The first of two columns is about the whole range of its point."""
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        x, y = mean_of(aim.box[LOW], a), mean_of(aim.box[HIGH], b)
        if not surplus(x, y, margins[MARGIN, p], margins[RATIO, p]) > 2.0:
            return False
        free_a, free_b = is_free(arms[COST], a), is_free(arms[COST], b)
        if (free_a and free_b) or margins[PIECE, p] > 0.0:
            continue
        wa, wb = scaled_effort(setting, aim, a), scaled_effort(setting, aim, b)
        if not ((free_a or wa > 0.0) and (free_b or wb > 0.0)):
            return False
        has_term, level, da, db = corner_term(setting, arms, pairs, margins, p, wa, wb, x, y)
        if has_term and not level > LEAST_LEVEL:  # nor where it is not a number
            return False
        if has_term and level < 1.0:
            lift_statement(setting, arms, pairs, margins, aim, p, level, da, db)
    return True


def lift_statement(
    setting: Conditions,
    arms: Array,
    pairs: Integers,
    margins: Array,
    aim: Aim,
    p: int,
    level: float,
    da: float,
    db: float,
) -> None:
    """`lift_pair` for a statement, given its term and its rates at its corner; a free side takes no part."""
    a, b, effort, phi = pairs[0, p], pairs[1, p], aim.effort, setting.numbers[DISPERSION]
    wa, wb = scaled_effort(setting, aim, a), scaled_effort(setting, aim, b)
    share_a, share_b = wa * da / level, wb * db / level
    step = (1.0 - level) / (level * (share_a * share_a + share_b * share_b))
    wa, wb = wa * (1.0 + step * share_a), wb * (1.0 + step * share_b)
    x, y = mean_of(aim.box[LOW], a), mean_of(aim.box[HIGH], b)
    level = corner_term(setting, arms, pairs, margins, p, wa, wb, x, y)[1]
    factor = max((1.0 + ROUNDING) / level, 1.0)
    if not is_free(arms[COST], a):
        effort[a] = factor * wa * phi[a]
    if not is_free(arms[COST], b):
        effort[b] = factor * wb * phi[b]


def scaled_effort(setting: Conditions, aim: Aim, arm: int) -> float:
    """Effort over dispersion, none on a side that is no arm."""
    return aim.effort[arm] / setting.numbers[DISPERSION, arm] if arm >= 0 else 0.0


def corner_term(
    setting: Conditions,
    arms: Array,
    pairs: Integers,
    margins: Array,
    p: int,
    wa: float,
    wb: float,
    x: float,
    y: float,
) -> tuple[bool, float, float, float]:
    """Whether a statement has a term at given means, the term, and its rates."""
    has_term, level, da, db, _ = statement_term(
        setting.family,
        setting.low,
        setting.high,
        wa,
        wb,
        x,
        y,
        0.0,
        0.0,
        margins[MARGIN, p],
        margins[MARGIN_REST, p],
        margins[RATIO, p],
        margins[RATIO_REST, p],
        is_free(arms[COST], pairs[0, p]),
        is_free(arms[COST], pairs[1, p]),
    )
    return has_term, level, da, db


def load_points(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim) -> None:
    """`load_pairs` for statements; a weight without a point is given up."""
    box, weights, phi = aim.box, aim.weights, setting.numbers[DISPERSION]
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        free_a, free_b = is_free(arms[COST], a), is_free(arms[COST], b)
        if not weights[p] > 0.0 or (free_a and free_b):
            continue
        has_point, da, db = rates_at(
            setting,
            scaled_effort(setting, aim, a),
            scaled_effort(setting, aim, b),
            mean_of(box[HIGH], a),
            mean_of(box[LOW], b),
            margins[MARGIN, p],
            margins[MARGIN_REST, p],
            margins[RATIO, p],
            margins[RATIO_REST, p],
            margins[PIECE, p],
            free_a,
            free_b,
        )
        if not has_point:
            weights[p] = 0.0
            continue
        if a >= 0:
            box[LOAD, a] += weights[p] * da / phi[a]
        if b >= 0:
            box[LOAD, b] += weights[p] * db / phi[b]
