"""The certificate: bounds on T* from any effort and any weights, in the subset of Python that numba compiles.

It sees a model, its pairs, a point and weights, and knows no solver. Errors are counted in units of 2^-53 as in
`caet_opt.bandits.families.numerics`; D is the family's `divergence_error`.
"""

from math import inf, isfinite

from caet_opt.bandits.families.numerics import UNIT, Array, Integers
from caet_opt.bandits.tasks.pairs import MARGIN, RATIO, RATIO_REST, REST
from caet_opt.kernels.bounded_term import (
    HIGHEST,
    HIGHEST_REST,
    LOWER_END,
    LOWEST,
    LOWEST_REST,
    RANGE,
    UPPER_END,
    bet_value,
    bounded_gap,
    bounded_proof,
    find_bet,
    rate_bounds,
    row_of,
)
from caet_opt.kernels.margin_floor import is_resolved, margin_error, margin_floor, statement_error
from caet_opt.kernels.margin_term import (
    HOLDS,
    margin_bends,
    margin_term,
    rounding_blur,
    seen_loser,
    seen_winner,
    statement_side,
    statement_term,
)
from caet_opt.kernels.records import PIECE, ModelNumbers
from caet_opt.kernels.term import BOUNDED, GAUSSIAN, HUGE, TINY, means_differ, pair_term

#: A mean of a family that has a smallest one is zero or has all its digits.
NORMAL = 2.3e-308

#: A load in units of the arm's cost, and a cost, are at least these, so that a term that underflows does not count.
LEAST_LOAD, LEAST_COST = 1e-50, 1e-250

#: Rounding in the bounds beyond D, in units of 2^-53, and with dispersions; see docs/mathematics/certificate.md.
UPPER_ERROR, UPPER_DISPERSED, LOWER_ERROR, LOWER_DISPERSED = 13.0, 6.0, 7.0, 2.0

#: What an effort over a ratio adds: its ratio to the other one is within 6 instead of 4.
RATIO_ERROR = 2.0

#: Where the mean that a free side asks of the other arm lies: in the mean space, outside it or at an end at infinite
#: divergence, so that any effort settles the statement, or UNSEEN, rounding hiding which.
SEEN, OUTSIDE, UNSEEN = range(3)


def certify_pairs(
    given: ModelNumbers, pairs: Integers, margins: Array, effort: Array, weights: Array, load: Array
) -> tuple[float, float, float]:
    """T* at this effort, and bounds that T* lies between, from an effort per arm and a weight per column.

    The columns are those of `caet_opt.kernels.statement_columns`; `certify_statements` is for those with margins. With
    ``m_e`` the weighted mean of a pair's arms, or the mean of its free arm,

        sum(q) / max_a [ sum_{e at a} q_e d(mu_a, m_e) / c_a ]  <=  T*  <=  c . w / min_e f_e(w).

    A pair whose arms are both free, or whose free arm is at an end of the mean space and at infinite divergence,
    constrains nothing. Numbers that are negative, not finite or near the ends of double precision prove nothing.

    The bounds are widened by D + 13 and by D + 7 and the pairs at an arm, with dispersions by 6 and 2 more, which
    docs/mathematics/certificate.md proves to be what rounding can change.

    ``load`` has two rows of length K to work in.
    """
    means, rests, costs, phi = given.means, given.rests, given.costs, given.dispersions
    if not is_usable(given, pairs, effort, weights):
        return inf, 0.0, inf
    if margins.shape[1] > 0:
        return certify_statements(given, pairs, margins, effort, weights, load)
    dispersed = 0.0
    for a in range(means.size):
        load[0, a], load[1, a] = 0.0, 0.0
        if phi[a] != 1.0:
            dispersed = 1.0
    least, mass, lost, constraining = inf, 0.0, 0.0, False
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if costs[a] == 0.0 and costs[b] == 0.0:
            continue
        free_a, free_b = costs[a] == 0.0, costs[b] == 0.0
        va, vb = effort[a] / phi[a], effort[b] / phi[b]
        _, da, db, ua, ub = pair_term(given.family, va, vb, means[a], means[b], rests[a], rests[b], free_a, free_b)
        if not (free_a or free_b):
            small = min(ua, ub)
            if not small * abs(means[a] - means[b]) >= TINY or not small >= TINY:
                return inf, 0.0, inf
        da, db = da / phi[a], db / phi[b]
        free = means[a] if free_a else means[b]
        if da + db == inf and ua * ub == 0.0 and (free == given.low or free == given.high):
            continue
        if not (means_differ(means[a], means[b], rests[a], rests[b]) and isfinite(da + db)):
            return inf, 0.0, inf
        if (costs[a] > 0.0 and not da >= TINY) or (costs[b] > 0.0 and not db >= TINY):
            return inf, 0.0, inf
        constraining = True
        least = min(least, effort[a] * da + effort[b] * db)
        term = weights[p] - lost
        total = mass + term
        lost, mass = (total - mass) - term, total
        load[0, a] += weights[p] * da
        load[0, b] += weights[p] * db
        load[1, a] += 1.0
        load[1, b] += 1.0
    if not constraining:
        return 0.0, 0.0, 0.0
    return conclude(given, effort, load, least, least, mass, given.error, dispersed)


def conclude(
    given: ModelNumbers,
    effort: Array,
    load: Array,
    least: float,
    floor: float,
    mass: float,
    error: float,
    dispersed: float,
) -> tuple[float, float, float]:
    """Value and bounds from the smallest term, what it is at least, the sum of the weights, and the loads of the arms,
    divergences being within ``error``."""
    spent, lost, dearest, most = 0.0, 0.0, 0.0, 0.0
    for a in range(effort.size):
        if given.costs[a] > 0.0:
            term = given.costs[a] * effort[a] - lost
            total = spent + term
            lost, spent = (total - spent) - term, total
            dearest = max(dearest, load[0, a] / given.costs[a])
            most = max(most, load[1, a])
    value, lower, upper = inf, 0.0, inf
    if floor >= TINY and spent >= TINY:
        value = spent / least
        upper = spent / floor * (1.0 + (error + UPPER_ERROR + UPPER_DISPERSED * dispersed) * UNIT)
    if dearest >= LEAST_LOAD:
        margin = (error + most + LOWER_ERROR + LOWER_DISPERSED * dispersed) * UNIT
        lower = min(mass / dearest * (1.0 - margin), value)
    return value, lower, upper


def certify_statements(
    given: ModelNumbers, pairs: Integers, margins: Array, effort: Array, weights: Array, load: Array
) -> tuple[float, float, float]:
    """`certify_pairs` where some columns have margins, ratios or levels.

    The lower bound has for each column the rates at its point, where the statement is false. The upper one divides by
    what the terms are at least, which for a margin is proven by `margin_floor`.
    """
    costs, phi, dispersed, error = given.costs, given.dispersions, 0.0, given.error
    for a in range(effort.size):
        load[0, a], load[1, a] = 0.0, 0.0
        if phi[a] != 1.0:
            dispersed = 1.0
    least, floor, mass, lost, constraining = inf, inf, 0.0, 0.0, False
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if is_free(costs, a) and is_free(costs, b):
            continue
        if not has_digits(margins[MARGIN, p]) or not has_digits(margins[RATIO, p]):
            return inf, 0.0, inf
        if column_side(given, pairs, margins, p) != HOLDS:
            return inf, 0.0, inf
        seen, f, proven, da, db, own_error = column_rates(given, pairs, margins, effort, p)
        if seen == OUTSIDE:
            continue
        if seen != SEEN or not (isfinite(da + db) and f >= 0.0):
            return inf, 0.0, inf
        constraining = True
        error, least, floor = max(error, own_error), min(least, f), min(floor, proven, f)
        term = weights[p] - lost
        total = mass + term
        lost, mass = (total - mass) - term, total
        if a >= 0:
            load[0, a] += weights[p] * da
            load[1, a] += 1.0
        if b >= 0:
            load[0, b] += weights[p] * db
            load[1, b] += 1.0
    if not constraining:
        return 0.0, 0.0, 0.0
    return conclude(given, effort, load, least, floor, mass, error, dispersed)


def has_digits(number: float) -> bool:
    """Whether a margin or ratio is zero, or as far from the ends of double precision as means have to be."""
    return number == 0.0 or NORMAL <= abs(number) <= HUGE


def is_free(costs: Array, arm: int) -> bool:
    """Whether a side costs nothing, as a side that is no arm does."""
    return arm < 0 or costs[arm] == 0.0


def mean_of(values: Array, arm: int) -> float:
    """The mean of a side, or its rest: 0 where it is no arm."""
    return values[arm] if arm >= 0 else 0.0


def column_side(given: ModelNumbers, pairs: Integers, margins: Array, p: int) -> int:
    """What the means say of a column: `statement_side`."""
    a, b = pairs[0, p], pairs[1, p]
    return statement_side(
        mean_of(given.means, a),
        mean_of(given.means, b),
        mean_of(given.rests, a),
        mean_of(given.rests, b),
        margins[MARGIN, p],
        margins[REST, p],
        margins[RATIO, p],
        margins[RATIO_REST, p],
    )


def column_piece(given: ModelNumbers, pairs: Integers, margins: Array, p: int) -> tuple[float, float]:
    """First and last share of the piece of the range that a column of two arms has; the last is first for none."""
    one_minimum = given.family < 0 or given.family == GAUSSIAN or given.family == BOUNDED
    if one_minimum or not margins[MARGIN, p] > 0.0 or margins[RATIO, p] != 1.0:
        return 0.0, 1.0
    a, b, means, rests = pairs[0, p], pairs[1, p], given.means, given.rests
    margin, rest = margins[MARGIN, p], margins[REST, p]
    first, second = margin_bends(given.family, means[a], means[b], rests[a], rests[b], margin, rest)
    if margins[PIECE, p] == 0.0:
        return 0.0, first
    return (second, 1.0) if second < 1.0 else (1.0, 0.0)


def level_rate(given: ModelNumbers, pairs: Integers, margins: Array, p: int, arm: int) -> tuple[int, float]:
    """Whether the mean that the free side of a column asks of its arm is SEEN, and the divergence from it, over no
    dispersion."""
    a, b = pairs[0, p], pairs[1, p]
    x, y, rest_x, rest_y = (
        mean_of(given.means, a),
        mean_of(given.means, b),
        mean_of(given.rests, a),
        mean_of(given.rests, b),
    )
    margin, rest, ratio, rest_ratio = margins[MARGIN, p], margins[REST, p], margins[RATIO, p], margins[RATIO_REST, p]
    blur = 4.0 * rounding_blur(x, y, rest_x, rest_y, margin, rest, ratio, rest_ratio)
    if arm == a:
        point, lost = seen_loser(y, rest_y, margin, rest, ratio, rest_ratio)
        mean, own = x, rest_x
    else:
        point, lost = seen_winner(x, rest_x, margin, rest, ratio, rest_ratio)
        mean, own, blur = y, rest_y, blur / ratio
    if ratio == 1.0 and rest_ratio == 0.0 and (a < 0 or b < 0 or margin == 0.0):
        blur = 0.0  # the number is what was given
    low, high, rest_low, rest_high = given.low, given.high, 0.0, 0.0
    if given.family == BOUNDED:
        start = row_of(given.dispersions, given.means.size, arm)
        table = given.dispersions
        low, high, rest_low, rest_high = (
            table[start + LOWEST],
            table[start + HIGHEST],
            table[start + LOWEST_REST],
            table[start + HIGHEST_REST],
        )
    above, under = (point - low) + (lost - rest_low), (high - point) + (rest_high - lost)
    if min(above, under) < -blur:
        return OUTSIDE, inf
    if min(above, under) < blur:
        return UNSEEN, inf
    if given.family == BOUNDED:
        side, inside = (LOWER_END, above) if arm == a else (UPPER_END, under)
        if inside == 0.0:
            return OUTSIDE, inf
        return SEEN, level_bounds(given, arm, side, inside, abs((mean - point) + (own - lost)))[0]
    rate = pair_term(given.family, 1.0, 0.0, mean, point, own, lost, False, True)[1]
    return OUTSIDE if rate == inf and min(above, under) == 0.0 else SEEN, rate


def level_bounds(given: ModelNumbers, arm: int, side: int, inside: float, before: float) -> tuple[float, float, float]:
    """The rate of an arm of rewards in a range to a level at these distances from an end and from its mean, and what it
    is at least and at most, the distances being within 4 units."""
    table, start = given.dispersions, row_of(given.dispersions, given.means.size, arm)
    t, h = inside / table[start + RANGE], before / table[start + RANGE]
    bet, _ = find_bet(table, start, side, t, h, 0.0)
    below, above = rate_bounds(table, start, side, t, h, bet, 8.0 * UNIT * t, 8.0 * UNIT * h)
    return bet_value(table, start, side, t, h, bet), below, above


def bounded_level(
    given: ModelNumbers, pairs: Integers, margins: Array, p: int, arm: int, effort: float
) -> tuple[int, float, float, float, float, float]:
    """`column_rates` for rewards in a range where one side is free."""
    a, b, low = pairs[0, p], pairs[1, p], 0.0
    x, y, rest_x, rest_y = (
        mean_of(given.means, a),
        mean_of(given.means, b),
        mean_of(given.rests, a),
        mean_of(given.rests, b),
    )
    start = row_of(given.dispersions, given.means.size, arm)
    if arm == a:
        point, lost = seen_loser(y, rest_y, margins[MARGIN, p], margins[REST, p], 1.0, 0.0)
        table = given.dispersions
        inside = (point - table[start + LOWEST]) + (lost - table[start + LOWEST_REST])
        before = (x - point) + (rest_x - lost)
    else:
        point, lost = seen_winner(x, rest_x, margins[MARGIN, p], margins[REST, p], 1.0, 0.0)
        table = given.dispersions
        inside = (table[start + HIGHEST] - point) + (table[start + HIGHEST_REST] - lost)
        before = (point - y) + (lost - rest_y)
    rate, low, high = level_bounds(given, arm, LOWER_END if arm == a else UPPER_END, inside, before)
    seen = SEEN if low > 0.0 and rate >= TINY else UNSEEN
    return seen, effort * rate, effort * low, high if arm == a else 0.0, high if arm == b else 0.0, given.error


def column_rates(
    given: ModelNumbers, pairs: Integers, margins: Array, effort: Array, p: int
) -> tuple[int, float, float, float, float, float]:
    """Whether a column has a term that is SEEN, the term, what it is at least, its rates, and D for them.

    What a term is at least is without the allowance of `conclude`. The second piece of a range is in that of the first.
    """
    a, b, means, rests, phi = pairs[0, p], pairs[1, p], given.means, given.rests, given.dispersions
    margin, rest, ratio, rest_ratio = margins[MARGIN, p], margins[REST, p], margins[RATIO, p], margins[RATIO_REST, p]
    plain = margin == 0.0 and ratio == 1.0 and rest_ratio == 0.0
    if is_free(given.costs, a) or is_free(given.costs, b):
        arm = b if is_free(given.costs, a) else a
        error = given.error
        if a >= 0 and b >= 0:
            error += statement_error(margin, rest, ratio, rest_ratio)
        seen, rate = level_rate(given, pairs, margins, p, arm)
        if given.family == BOUNDED and seen == SEEN:
            return bounded_level(given, pairs, margins, p, arm, effort[arm])
        if margins[PIECE, p] > 0.0:
            seen = OUTSIDE
        rate /= phi[arm]
        if seen == SEEN and not rate >= TINY:
            seen = UNSEEN
        f = effort[arm] * rate
        return seen, f, f, rate if arm == a else 0.0, rate if arm == b else 0.0, error
    wa, wb = effort[a] / phi[a], effort[b] / phi[b]
    small, gap = min(wa, wb) / (wa + wb), abs(means[a] - means[b])
    if given.family == BOUNDED:
        if not small >= TINY or ratio != 1.0 or rest_ratio != 0.0:
            return UNSEEN, inf, 0.0, 0.0, 0.0, 0.0
        own, other = row_of(phi, means.size, a), row_of(phi, means.size, b)
        gap, shift = bounded_gap(phi, own, means[a], means[b], rests[a], rests[b], margin, rest)
        if not 1.0 + shift > 0.0:
            return OUTSIDE, inf, inf, 0.0, 0.0, 0.0
        f, proven, da, db = bounded_proof(phi, own, other, wa, wb, gap, shift)
        return SEEN if proven > 0.0 else UNSEEN, f, proven, da, db, given.error
    if plain or given.family <= GAUSSIAN or ratio != 1.0 or rest_ratio != 0.0:
        if not plain:
            foot, lost = seen_loser(means[b], rests[b], margin, rest, ratio, rest_ratio)
            gap = abs((means[a] - foot) + (rests[a] - lost))
        pair_error = statement_error(margin, rest, ratio, rest_ratio)
        pair_error += RATIO_ERROR if ratio != 1.0 else 0.0
        _, f, da, db, _ = statement_term(
            given.family,
            given.low,
            given.high,
            wa,
            wb,
            means[a],
            means[b],
            rests[a],
            rests[b],
            margin,
            rest,
            ratio,
            rest_ratio,
            False,
            False,
        )
        da, db = da / phi[a], db / phi[b]
        seen = SEEN if small * gap >= TINY and small >= TINY and da >= TINY and db >= TINY else UNSEEN
        f = effort[a] * da + effort[b] * db
        return seen, f, f, da, db, given.error + pair_error
    if not small >= TINY:
        return UNSEEN, inf, 0.0, 0.0, 0.0, 0.0
    first, last = column_piece(given, pairs, margins, p)
    if first > last:
        return OUTSIDE, inf, inf, 0.0, 0.0, 0.0
    f, da, db, _, odds = margin_term(
        given.family, wa, wb, means[a], means[b], rests[a], rests[b], margin, rest, first, last
    )
    proven = inf
    if margins[PIECE, p] == 0.0:
        proven = margin_floor(given.family, wa, wb, means[a], means[b], rests[a], rests[b], margin, rest, 0.0, 1.0)
    known = is_resolved(given.family, means[a], means[b], rests[a], rests[b], margin, rest, odds)
    tiny = 0.0 < da < TINY or 0.0 < db < TINY
    return (
        SEEN if known and not tiny else UNSEEN,
        f,
        proven,
        da / phi[a],
        db / phi[b],
        margin_error(given.family),
    )


def fill_terms(given: ModelNumbers, pairs: Integers, margins: Array, effort: Array, terms: Array) -> None:
    """f_e(w) of every column, infinite where both arms are free or any positive effort settles the statement."""
    means, rests, costs, phi = given.means, given.rests, given.costs, given.dispersions
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if margins.shape[1] > 0:
            terms[p] = inf
            if not (is_free(costs, a) and is_free(costs, b)):
                seen, f, _, _, _, _ = column_rates(given, pairs, margins, effort, p)
                if seen == SEEN:
                    terms[p] = f
            continue
        free_a, free_b = costs[a] == 0.0, costs[b] == 0.0
        terms[p] = inf
        if not (free_a and free_b):
            va, vb = effort[a] / phi[a], effort[b] / phi[b]
            term, da, db, _, _ = pair_term(given.family, va, vb, means[a], means[b], rests[a], rests[b], free_a, free_b)
            if isfinite(da + db):
                terms[p] = term


def is_usable(given: ModelNumbers, pairs: Integers, effort: Array, weights: Array) -> bool:
    """Whether all the numbers are finite, none is negative, and none is near the ends of double precision."""
    for p in range(weights.size):
        if not 0.0 <= weights[p] < inf:
            return False
    for a in range(effort.size):
        if not 0.0 <= effort[a] < inf or 0.0 < given.costs[a] < LEAST_COST:
            return False
    for p in range(pairs.shape[1]):
        for side in range(2):
            size = abs(mean_of(given.means, pairs[side, p]))
            if not (size == 0.0 or ((size >= NORMAL or given.low == -inf) and size <= HUGE)):
                return False
    return True
