"""How long a target is kept, in the subset of Python that numba compiles.

A solve leaves an effort w and a weight q_e for each pair. With ``solve = "lazy"`` they are kept as long as every mean
stays in an interval ``[low_a, high_a]`` around its value at the solve, and every cost that is estimated in
``[cheap_a, dear_a]``: a box, so that a round compares one mean with two numbers.

**The certificate.** ``f_e(w) = min_x w_a d(mu_a, x) + w_b d(mu_b, x)`` of a pair (a, b) with ``mu_a > mu_b`` does not
fall when mu_a rises: at the best x for the larger mean each term is at least as large as for the smaller one, or x is
above mu_a, and then x = mu_a is better. Likewise when mu_b falls. T* is the least cost of an effort with f_e >= 1 for
all pairs, so that for all means and costs in the box, and with any points x_e,

    c . w / min_e f_e(w)  <=  dear . w / min_e f_e(w; low_a, high_b)
    T*  >=  sum(q) / max_a [ sum_{e at a} q_e d(wide_a, x_e) / cheap_a ],   wide = (high_a, low_b) of pair e = (a, b).

x_e is the mean of both weighted by w, or that of the free arm. The first over the second is 1 + gap: whatever the means
in the box, tracking w costs at most so many times the best. For Gaussian pairs it is about
``((1 + r) / (1 - r))^2`` where means may move by a part r of a pair's gap, however unequal efforts are.

A statement with a level, margin or ratio has the same corners: f does not fall when mu_a rises or mu_b falls, by the
same argument with ``(x - margin) / ratio`` in place of the second x, and any point where the statement is false serves
for the lower bound.

**Limits.** With limits ``G w <= 0`` and prices nu, T* is at least what it is without them for costs ``c + G' nu``
(docs/mathematics/limits.md): these are cheap_a. The effort meets the limits whatever the means, as costs are known and
the answer is one in the whole box; raised it may not. So a box that follows the means keeps effort and weights.

**How large.** Each mean may move by `SIZE` standard deviations of it, or by fewer, the same number for all arms, where
the gap would exceed GAP, or `ROOM` of it for a box that can follow the means: what a kept target misses is small beside
what is not known of the means. A run that goes on k times as long has means sqrt(k) times as still: it solves about
equally often per doubling.

**Why optimality is kept.** The efforts with ``c . w <= (1 + g) T* min_e f_e(w)`` are a convex cone, since each f_e is
concave and homogeneous. What C-tracking follows is a mean of targets. Every arm is pulled again and again, so that
means converge, their standard deviations tend to 0, boxes shrink to points, what happens to a box between two solves
happens ever nearer to one point, and the gaps of boxes tend to 0. From some
round on every target is in the cone of the true means for a g as small as one likes, hence their mean is, too, and the
cost over log(1/delta) tends to the same limit as with a solve in every round. Targets are solved for anew at the latest
when the rounds have grown by `GROWTH`, so that forced exploration falls as it should.
"""

from math import inf, nan, sqrt
from typing import NamedTuple

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import MARGIN, RATIO, RATIO_REST, surplus
from caet_opt.bandits.tasks.pairs import REST as MARGIN_REST
from caet_opt.kernels.certify import is_free, mean_of
from caet_opt.kernels.ledger import COST, COUNT, DISPERSION, GAPS, MEAN, OBSERVED, SPENT, Conditions, has_histograms
from caet_opt.kernels.margin_term import margin_bends, margin_term, statement_term
from caet_opt.kernels.records import PIECE
from caet_opt.kernels.term import GAUSSIAN, pair_term, variance

#: Entries of Aim.numbers: how many solves there were, the largest gap of a target that was tracked, the round of the
#: last solve, the last round in which the target was decided on, and the one in which it will be next; whether that
#: target is one for ties, or there is none; the arm that lags most behind the cumulated target; a pair that is short of
#: its threshold, or -1 where all are to be looked at; and the round in which none was short.
SOLVES, WIDEST, SOLVED, DECIDED, DUE, TIED, FOLLOWING, SHORT, ENDED = range(AIM_NUMBERS := 9)

#: Rows of Aim.box: the ends of each mean's interval and of each cost's, the means and costs of the solve, loads to work
#: with, and the count up to which an outcome of an arm leaves the short pair short; with limits the reduced costs
#: ``c + G' nu`` of the solve; and those that are intervals.
LOW, HIGH, CHEAP, DEAR, CENTRE, PAID, LOAD, PATIENCE, REDUCED = range(BOX_ROWS := 9)
INTERVALS = [LOW, HIGH, CHEAP, DEAR]

#: Rows of Aim.box after those, not by arm but by statement, where targets of rewards in a range are kept: a bet of each
#: arm, zero where there are none and not a number where nothing is known; the points' distances from the ends; what
#: lines say of D there at least; what it is at most. See `caet_opt.kernels.lines`. An array of their own would be
#: handed on in every call, and a round take some hundredths longer, for all families.
BET_A, BET_B, PLACE_A, PLACE_B, FLOOR_A, FLOOR_B, RATE_A, RATE_B = range(BOX_ROWS, LINED_ROWS := BOX_ROWS + 8)

#: A target is solved for anew once the rounds have grown by this factor.
GROWTH = 1.1

#: More than rounding takes from a gap: sums and quotients of positive numbers, and divergences within some 1e-14.
ROUNDING = 1e-10

#: The largest size of a box, in standard deviations of the means.
SIZE = 0.2

#: The part of the gap that a box that can follow the means may use when it is made; the rest is for following them.
ROOM = 0.7

#: How often the size of a box is tried, a gap that uses enough of what is allowed, and the largest change of a size.
TRIES, ENOUGH, LEAP = 6, 0.8, 16.0


class Aim(NamedTuple):
    """Where a policy that solves aims: effort per arm and weight per pair of the last solution, the pairs that it is
    for, the box, and the numbers above.

    >>> caet = Caet.start("best-arm", "gaussian", arms=2, delta=0.05, costs=[1, 2], solve="lazy")
    >>> caet.observe(0, 1.5)
    >>> caet.observe(1, 0.5)
    >>> isinstance(caet.view.aim, Aim), caet.solves, caet.widest_gap < 1
    (True, 1, True)
    """

    effort: Array
    weights: Array
    solved: Integers
    box: Array
    numbers: Array


def clear_box(setting: Conditions, aim: Aim) -> None:
    """No box: nothing is known of other means."""
    for a in range(aim.box.shape[1]):
        aim.box[LOW, a], aim.box[HIGH, a] = inf, -inf
    if has_histograms(setting) and aim.box.shape[0] > BOX_ROWS:
        for p in range(aim.box.shape[1]):
            aim.box[BET_A, p] = nan


def is_inside(setting: Conditions, arms: Array, aim: Aim, arm: int) -> bool:
    """Whether the mean of an arm is in the box, and its mean cost if that is observed; of every arm for arm -1."""
    box = aim.box
    for a in range(arms.shape[1]) if arm < 0 else range(arm, arm + 1):
        if not box[LOW, a] <= arms[MEAN, a] <= box[HIGH, a]:
            return False
        if setting.cost_source == OBSERVED and not box[CHEAP, a] <= arms[SPENT, a] / arms[COUNT, a] <= box[DEAR, a]:
            return False
    return True


def fit_box(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim) -> float:
    """Make the box as large as the gap admits, up to `SIZE`; returns its gap, zero if there is no box.

    The gap is about proportional to the size, and convex in it where it counts: a size that is too large by some factor
    is made smaller by it.
    """
    follows = can_follow(setting)
    allowed, best, gap_of_best = setting.gap * (ROOM if follows else 1.0), 0.0, 0.0
    size = min(first_size(setting, arms, pairs, margins, allowed), SIZE)
    for _ in range(TRIES):
        gap = box_gap(setting, arms, pairs, margins, aim, size)
        if gap <= allowed:
            best, gap_of_best = size, gap
            if gap >= ENOUGH * allowed or size == SIZE:
                return gap
            size = min(size * min(0.95 * allowed / gap, LEAP), SIZE)
        elif best > 0.0:
            break
        else:
            size *= max(0.95 * allowed / gap, 1.0 / LEAP)
    if best > 0.0:
        box_gap(setting, arms, pairs, margins, aim, best)
    else:
        clear_box(setting, aim)
    return gap_of_best


def deviation(setting: Conditions, arms: Array, arm: int) -> float:
    """The standard deviation of an empirical mean."""
    return sqrt(variance(setting.family, arms[MEAN, arm]) * setting.numbers[DISPERSION, arm] / arms[COUNT, arm])


def first_size(setting: Conditions, arms: Array, pairs: Integers, margins: Array, allowed: float) -> float:
    """In standard deviations, by ``gap = 4 (r_a + r_b) / (mu_a - mu_b)`` of the pair for which that is largest."""
    steepest = 0.0
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if margins.shape[1] > 0:
            margin, ratio = margins[MARGIN, p], margins[RATIO, p]
            spread = deviation(setting, arms, a) if a >= 0 else 0.0
            spread += ratio * deviation(setting, arms, b) if b >= 0 else 0.0
            steepest = max(
                steepest, 4.0 * spread / ((mean_of(arms[MEAN], a) - ratio * mean_of(arms[MEAN], b)) - margin)
            )
            continue
        spread = deviation(setting, arms, a) + deviation(setting, arms, b)
        steepest = max(steepest, 4.0 * spread / (arms[MEAN, a] - arms[MEAN, b]))
    return allowed / steepest if steepest > 0.0 else 1.0


def box_gap(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim, size: float) -> float:
    """Make a box of a size, in standard deviations; returns its gap, infinite where it proves nothing."""
    for a in range(arms.shape[1]):
        place_mean(setting, arms, aim.box, a, size * deviation(setting, arms, a))
    return gap_here(setting, arms, pairs, margins, aim, size)


def gap_here(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim, size: float) -> float:
    """The gap of a box whose means have their intervals; those of costs that are estimated are made by the size."""
    box, effort, phi = aim.box, aim.effort, setting.numbers[DISPERSION]
    for a in range(arms.shape[1]):
        box[LOAD, a] = 0.0
    if not place_costs(setting, arms, box, size):
        return inf
    least, mass = inf, 0.0
    if margins.shape[1] > 0:
        least, mass = weigh_corners(setting, arms, pairs, margins, aim)
    for p in range(pairs.shape[1] if margins.shape[1] == 0 else 0):
        a, b = pairs[0, p], pairs[1, p]
        if not box[LOW, a] > box[HIGH, b]:
            return inf
        free_a, free_b = arms[COST, a] == 0.0, arms[COST, b] == 0.0
        if free_a and free_b:
            continue
        wa, wb = effort[a] / phi[a], effort[b] / phi[b]
        level = pair_term(setting.family, wa, wb, box[LOW, a], box[HIGH, b], 0.0, 0.0, free_a, free_b)[0]
        if not level > 0.0:  # no effort, or no number where a divergence is infinite
            return inf
        least = min(least, level)
        weight = aim.weights[p]
        if weight > 0.0:
            _, da, db, _, _ = pair_term(setting.family, wa, wb, box[HIGH, a], box[LOW, b], 0.0, 0.0, free_a, free_b)
            mass += weight
            box[LOAD, a] += weight * da / phi[a]
            box[LOAD, b] += weight * db / phi[b]
    if not mass > 0.0:
        return inf
    outlay, dearest = 0.0, 0.0
    for a in range(arms.shape[1]):
        if arms[COST, a] > 0.0:
            outlay += box[DEAR, a] * effort[a]
            if not box[LOAD, a] / box[CHEAP, a] <= dearest:
                dearest = box[LOAD, a] / box[CHEAP, a]
    gap = outlay / mass * dearest / least - 1.0 + ROUNDING
    return gap if gap > 0.0 else inf  # what is not a number proves nothing


def weigh_corners(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim) -> tuple[float, float]:
    """Of statements with levels, margins or ratios: the least term at the corners (low_a, high_b), and the sum of the
    weights, whose loads at the corners (high_a, low_b) are added up in the box; zero weight where nothing is proven.

    A term that there is at no mean of the box constrains nothing, and a weight without a point is left out.
    """
    box, effort, phi, costs = aim.box, aim.effort, setting.numbers[DISPERSION], arms[COST]
    least, mass = inf, 0.0
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        free_a, free_b = is_free(costs, a), is_free(costs, b)
        margin, rest, ratio, rest_ratio = (
            margins[MARGIN, p],
            margins[MARGIN_REST, p],
            margins[RATIO, p],
            margins[RATIO_REST, p],
        )
        x, y = mean_of(box[LOW], a), mean_of(box[HIGH], b)
        if not surplus(x, y, margin, ratio) > 2.0:
            return inf, 0.0
        if free_a and free_b:
            continue
        wa, wb = effort[a] / phi[a] if a >= 0 else 0.0, effort[b] / phi[b] if b >= 0 else 0.0
        if not ((free_a or wa > 0.0) and (free_b or wb > 0.0)):
            return inf, 0.0
        if margins[PIECE, p] == 0.0:
            has_term, level, _, _, _ = statement_term(
                setting.family,
                setting.low,
                setting.high,
                wa,
                wb,
                x,
                y,
                0.0,
                0.0,
                margin,
                rest,
                ratio,
                rest_ratio,
                free_a,
                free_b,
            )
            if has_term:
                if not level > 0.0:  # no number, where a divergence is infinite
                    return inf, 0.0
                least = min(least, level)
        if aim.weights[p] > 0.0:
            x, y = mean_of(box[HIGH], a), mean_of(box[LOW], b)
            has_point, da, db = rates_at(
                setting, wa, wb, x, y, margin, rest, ratio, rest_ratio, margins[PIECE, p], free_a, free_b
            )
            if has_point:
                mass += aim.weights[p]
                if a >= 0:
                    box[LOAD, a] += aim.weights[p] * da / phi[a]
                if b >= 0:
                    box[LOAD, b] += aim.weights[p] * db / phi[b]
    return least, mass


def rates_at(
    setting: Conditions,
    wa: float,
    wb: float,
    x: float,
    y: float,
    margin: float,
    rest: float,
    ratio: float,
    rest_ratio: float,
    piece: float,
    free_a: bool,
    free_b: bool,
) -> tuple[bool, float, float]:
    """Whether a column has a point at these means, and the divergences of its arms there."""
    family = setting.family
    if free_a or free_b or margin == 0.0 or family == GAUSSIAN or family < 0:
        has_term, _, da, db, _ = statement_term(
            family,
            setting.low,
            setting.high,
            wa,
            wb,
            x,
            y,
            0.0,
            0.0,
            margin,
            rest,
            ratio,
            rest_ratio,
            free_a,
            free_b,
        )
        return has_term and piece == 0.0, da, db
    first, second = margin_bends(family, x, y, 0.0, 0.0, margin, rest)
    if piece > 0.0 and not second < 1.0:
        return False, 0.0, 0.0
    low, high = (0.0, first) if piece == 0.0 else (second, 1.0)
    _, da, db, _, _ = margin_term(family, wa, wb, x, y, 0.0, 0.0, margin, rest, low, high)
    return True, da, db


def can_follow(setting: Conditions) -> bool:
    """Whether a box can follow the means (`caet_opt.kernels.following`): costs are known, or count as one, and means
    say all."""
    return setting.cost_source != OBSERVED and setting.cost_source != GAPS and not has_histograms(setting)


def place_mean(setting: Conditions, arms: Array, box: Array, arm: int, radius: float) -> None:
    """The interval of one mean, inside the mean space."""
    box[LOW, arm] = max(arms[MEAN, arm] - radius, setting.low)
    box[HIGH, arm] = min(arms[MEAN, arm] + radius, setting.high)


def place_costs(setting: Conditions, arms: Array, box: Array, size: float) -> bool:
    """Each cost's interval; False where it is not certain which arms are free.

    An observed cost may change by as many parts of itself as it would in standard deviations if it were exponential.
    Costs that are gaps follow from the intervals of the means, while one arm is certainly the best.
    """
    for a in range(arms.shape[1]):
        box[CHEAP, a] = box[DEAR, a] = arms[COST, a]
        if setting.limited:
            box[CHEAP, a] = box[REDUCED, a]
    if setting.cost_source == OBSERVED:
        for a in range(arms.shape[1]):
            part = size / sqrt(arms[COUNT, a])
            box[CHEAP, a] *= 1.0 - part
            box[DEAR, a] *= 1.0 + part
            if arms[COST, a] == 0.0:
                box[DEAR, a] = setting.negligible_cost
            elif not box[CHEAP, a] > setting.negligible_cost:
                return False
    elif setting.cost_source == GAPS:
        best, below = 0, setting.lower_is_better
        for a in range(arms.shape[1]):
            if arms[MEAN, a] < arms[MEAN, best] if below else arms[MEAN, a] > arms[MEAN, best]:
                best = a
        for a in range(arms.shape[1]):
            if a == best:
                continue
            cheap, dear = box[LOW, best] - box[HIGH, a], box[HIGH, best] - box[LOW, a]
            if below:
                cheap, dear = box[LOW, a] - box[HIGH, best], box[HIGH, a] - box[LOW, best]
            if not cheap > 0.0 or (arms[COST, a] == 0.0 and not dear <= setting.negligible_cost):
                return False
            if arms[COST, a] > 0.0:
                box[CHEAP, a], box[DEAR, a] = cheap, dear
                if not cheap > setting.negligible_cost:
                    return False
    return True
