"""The certificate: bounds on T* from any effort and any weights, in the subset of Python that numba compiles.

It sees a model, its pairs, a point and weights, and knows no solver. Errors are counted in units of 2^-53 as in
`caet_opt.bandits.families.numerics`; D is the family's `divergence_error`.
"""

from math import inf, isfinite

from caet_opt.bandits.families.numerics import UNIT, Array, Integers
from caet_opt.kernels.records import ModelNumbers
from caet_opt.kernels.term import pair_term

#: Differences and shares of at least TINY, and means up to HUGE, are far enough from the ends of double precision for
#: every intermediate result. A mean of a family that has a smallest one is zero or has all its digits.
TINY, HUGE, NORMAL = 1e-290, 1e150, 2.3e-308

#: A load in units of the arm's cost, and a cost, are at least these, so that a term that underflows does not count.
LEAST_LOAD, LEAST_COST = 1e-50, 1e-250

#: Rounding in the bounds beyond D, in units of 2^-53, and with dispersions; see docs/mathematics/certificate.md.
UPPER_ERROR, UPPER_DISPERSED, LOWER_ERROR, LOWER_DISPERSED = 13.0, 6.0, 7.0, 2.0


def certify_pairs(
    given: ModelNumbers, pairs: Integers, effort: Array, weights: Array, load: Array
) -> tuple[float, float, float]:
    """T* at this effort, and bounds that T* lies between, from an effort per arm and a weight per pair.

    With ``m_e`` the weighted mean of a pair's arms, or the mean of its free arm,

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
    spent, lost, dearest, most = 0.0, 0.0, 0.0, 0.0
    for a in range(means.size):
        if costs[a] > 0.0:
            term = costs[a] * effort[a] - lost
            total = spent + term
            lost, spent = (total - spent) - term, total
            dearest = max(dearest, load[0, a] / costs[a])
            most = max(most, load[1, a])
    value, lower, upper = inf, 0.0, inf
    if least >= TINY and spent >= TINY:
        value = spent / least
        upper = value * (1.0 + (given.error + UPPER_ERROR + UPPER_DISPERSED * dispersed) * UNIT)
    if dearest >= LEAST_LOAD:
        margin = (given.error + most + LOWER_ERROR + LOWER_DISPERSED * dispersed) * UNIT
        lower = min(mass / dearest * (1.0 - margin), value)
    return value, lower, upper


def fill_terms(given: ModelNumbers, pairs: Integers, effort: Array, terms: Array) -> None:
    """f_e(w) of every pair, infinite where both arms are free or any positive effort settles the pair."""
    means, rests, costs, phi = given.means, given.rests, given.costs, given.dispersions
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        free_a, free_b = costs[a] == 0.0, costs[b] == 0.0
        terms[p] = inf
        if not (free_a and free_b):
            va, vb = effort[a] / phi[a], effort[b] / phi[b]
            term, da, db, _, _ = pair_term(given.family, va, vb, means[a], means[b], rests[a], rests[b], free_a, free_b)
            if isfinite(da + db):
                terms[p] = term


def means_differ(x: float, y: float, rest_x: float, rest_y: float) -> bool:
    """Whether two doubles differ, and two means by more than rounding took away: then their difference is within 3.

    Far apart, ``y - x`` and the sum are within 1 each. Within a factor of two, ``y - x`` is exact, the rests and
    their difference are within 1, which is at most 2 in the sum, itself within 1.
    """
    return x != y and abs((y - x) + (rest_y - rest_x)) > abs(rest_x) + abs(rest_y)


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
            size = abs(given.means[pairs[side, p]])
            if not (size == 0.0 or ((size >= NORMAL or given.low == -inf) and size <= HUGE)):
                return False
    return True
