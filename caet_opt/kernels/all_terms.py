"""All terms of a problem, and what they prove, in the subset of Python that numba compiles.

The problem is ``min sum_a c_a w_a`` subject to ``f_e(w) >= 1`` for edges e and ``w_a r_a >= 1`` for anchored arms.
With ``y = log w`` and ``F = log f`` it is convex: ``min sum_a c_a exp(y_a)`` subject to ``F_e(y) >= 0``, and every
number in it is of order one. Row e of the gradient of F is the pair of shares ``(p_a, p_b)``, ``p_a + p_b = 1``,
and its Hessian is ``-h_e (1, -1)(1, -1)'``. With margins F is not always concave in y, and h, which is then negative,
is cut at zero; f stays concave in w.
"""

from math import exp, inf, isfinite, log

from caet_opt.kernels.bounded_term import bounded_gap, bounded_term, row_of
from caet_opt.kernels.margin_term import MOST_CURVE, beyond_end, margin_term, statement_term

# fmt: off
# isort: off
from caet_opt.kernels.records import (
    Data, Plan, Work,
    Y, EFFORT, LOAD, MEAN, COST, RATE, REST,  # rows of arms
    LEVEL, INVERSE, Z, WEIGHT, SHARE, OTHER, CURVE, PLAIN_ROWS,  # of edges and anchors
    EDGE_MARGIN, EDGE_REST, EDGE_RATIO, EDGE_RATIO_REST, FIRST, LAST, BEYOND, LEAN,  # of edges
    LEAST, DEAREST, LOWER, UPPER,  # of components
)
# isort: on
# fmt: on
from caet_opt.kernels.term import BOUNDED, GAUSSIAN, pair_term, variance

#: Log-efforts are at most so far below the largest one, so that no effort underflows. With a negative margin an end of
#: the mean space can settle a statement all but alone, and the effort of one arm be any small part of the other's.
DEEPEST = 650.0

#: A change of a log-effort over which a curvature can be told.
LEAST_MOVE = 1e-7

#: The part of a curvature that is remembered at the next point.
REMEMBERED = 0.5


def evaluate(data: Data, work: Work) -> bool:
    """Fill in effort, levels, shares and curvatures at the log-effort; False when a term over- or underflows.

    The level of an arm without anchor is infinite, and so is that of an edge without term.
    """
    given, arms, rows = data.arms, work.arms, work.rows
    edges, stated = data.ends.shape[1], rows.shape[0] > PLAIN_ROWS
    if stated:
        lift_efforts(work)
    for a in range(given.shape[1]):
        arms[EFFORT, a] = exp(arms[Y, a])
        rows[LEVEL, edges + a], rows[INVERSE, edges + a] = inf, 0.0
        if given[RATE, a] > 0.0:
            rows[LEVEL, edges + a] = arms[Y, a] + log(given[RATE, a])
            rows[INVERSE, edges + a] = exp(-rows[LEVEL, edges + a])
    if stated:
        return fill_statements(data, work)
    for e in range(edges):
        a, b = data.ends[0, e], data.ends[1, e]
        wa, wb = arms[EFFORT, a], arms[EFFORT, b]
        mean_a, mean_b, rest_a, rest_b = given[MEAN, a], given[MEAN, b], given[REST, a], given[REST, b]
        f, da, db, ua, ub = pair_term(data.family, wa, wb, mean_a, mean_b, rest_a, rest_b, False, False)
        if not (f > 0.0 and isfinite(f)):
            return False
        rows[LEVEL, e], rows[INVERSE, e] = log(f), 1.0 / f
        rows[SHARE, e], rows[OTHER, e] = wa * da / f, wb * db / f
        middle = ((mean_b - mean_a) + (rest_b - rest_a)) * ua * ub
        m = ua * mean_a + ub * mean_b
        bent = middle * middle * (wa + wb) / (variance(data.family, m) * f) - rows[SHARE, e] * rows[OTHER, e]
        rows[CURVE, e] = max(bent, 0.0)
    return True


def lift_efforts(work: Work) -> None:
    """Keep log-efforts within `DEEPEST` of the largest one."""
    arms, most = work.arms, -inf
    for a in range(arms.shape[1]):
        most = max(most, arms[Y, a])
    for a in range(arms.shape[1]):
        arms[Y, a] = max(arms[Y, a], most - DEEPEST)


def fill_statements(data: Data, work: Work) -> bool:
    """Levels, shares and curvatures of edges of which some have margins or ratios; False when a term over- or
    underflows."""
    arms, rows = work.arms, work.rows
    for e in range(data.ends.shape[1]):
        if rows[FIRST, e] > rows[LAST, e]:
            rows[LEVEL, e], rows[INVERSE, e], rows[Z, e] = inf, 0.0, 0.0
            rows[SHARE, e], rows[OTHER, e], rows[CURVE, e], rows[BEYOND, e] = 0.0, 0.0, 0.0, -1.0
            continue
        wa, wb = arms[EFFORT, data.ends[0, e]], arms[EFFORT, data.ends[1, e]]
        f, da, db, curve = edge_term(data, work, e, wa, wb)
        if not (f > 0.0 and isfinite(f)):
            return False
        rows[LEVEL, e], rows[INVERSE, e], rows[CURVE, e] = log(f), 1.0 / f, curve
        rows[SHARE, e], rows[OTHER, e] = wa * da / f, wb * db / f
    return True


def edge_term(data: Data, work: Work, e: int, wa: float, wb: float) -> tuple[float, float, float, float]:
    """f, its rates and its curvature of an edge, the least over its piece; whether that is at an end is noted."""
    given, rows = data.arms, work.rows
    a, b = data.ends[0, e], data.ends[1, e]
    x, y, rest_x, rest_y = given[MEAN, a], given[MEAN, b], given[REST, a], given[REST, b]
    margin, rest = rows[EDGE_MARGIN, e], rows[EDGE_REST, e]
    ratio, rest_ratio = rows[EDGE_RATIO, e], rows[EDGE_RATIO_REST, e]
    if data.family == BOUNDED:
        table, base = work.inner, work.dense.shape[0]
        first, second = row_of(table, base, a), row_of(table, base, b)
        gap, shift = bounded_gap(table, first, x, y, rest_x, rest_y, margin, rest)
        f, da, db, bend, rows[BEYOND, e] = bounded_term(table, first, second, wa, wb, gap, shift)
        curve, seen = bend / f - (wa * da / f) * (wb * db / f), seen_curve(work, e, wa, wb, wa * da / f)
        return f, da, db, min(max(curve, seen if rows[BEYOND, e] < 0.0 else 0.0), MOST_CURVE)
    if margin != 0.0 and data.family > GAUSSIAN and ratio == 1.0 and rest_ratio == 0.0:
        first, last = rows[FIRST, e], rows[LAST, e]
        f, da, db, curve, odds = margin_term(data.family, wa, wb, x, y, rest_x, rest_y, margin, rest, first, last)
        rows[BEYOND, e] = beyond_end(data.family, wa, wb, x, y, rest_x, rest_y, margin, rest, odds)
        seen = seen_curve(work, e, wa, wb, wa * da / f)
        return f, da, db, min(max(curve, seen), MOST_CURVE) if rows[BEYOND, e] < 0.0 else curve
    rows[BEYOND, e] = -1.0
    _, f, da, db, curve = statement_term(
        data.family, -inf, inf, wa, wb, x, y, rest_x, rest_y, margin, rest, ratio, rest_ratio, False, False
    )
    return f, da, db, curve


def seen_curve(work: Work, e: int, wa: float, wb: float, share: float) -> float:
    """The curvature that an edge has had on average since it was evaluated last: the share p_a fell by so much while
    the lean, y_a - y_b, rose; at least half of what it was taken for last, and zero the first time.

    The curvature of rewards in a range jumps where a bet reaches its limit, and that of a margin is a peak where the
    least point all but has two places; steps that see one side only go to and fro. For a margin it is zero until
    `remember_curves`.
    """
    rows = work.rows
    if rows[LEAN, e] != rows[LEAN, e]:
        return 0.0
    lean = log(wa / wb)
    moved, fell = lean - rows[LEAN, e], rows[SHARE, e] - share
    rows[LEAN, e] = lean
    if not abs(moved) < inf:
        return 0.0
    seen: float = REMEMBERED * rows[CURVE, e]
    return max(fell / moved, seen) if abs(moved) > LEAST_MOVE else seen


def remember_curves(work: Work) -> None:
    """From now on edges go by `seen_curve`."""
    rows = work.rows
    if rows.shape[0] > PLAIN_ROWS:
        for e in range(rows.shape[1]):
            if rows[LEAN, e] != rows[LEAN, e]:
                rows[LEAN, e] = inf


def bound(data: Data, plan: Plan, work: Work) -> None:
    """Certified ``lower <= T* <= upper`` of each component, from any point and any z >= 0.

    For pair weights ``q = z / f``: ``upper = c.w / min f`` and
    ``lower = sum(q) / max_a (sum_{e at a} q_e d(mu_a, m_e) / c_a)``, where ``q_e d(mu_a, m_e) = z_e p_ea / w_a``.
    Leaves log of min f and that maximum behind, by which the point would have to be scaled.
    """
    given, arms, rows, parts = data.arms, work.arms, work.rows, work.parts
    edges = data.ends.shape[1]
    for k in range(plan.parts):
        parts[LEAST, k], parts[DEAREST, k], parts[LOWER, k], parts[UPPER, k] = inf, 0.0, 0.0, 0.0
    for a in range(arms.shape[1]):
        arms[LOAD, a] = 0.0
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            k = plan.part[r]
            parts[LEAST, k] = min(parts[LEAST, k], rows[LEVEL, r])
            rows[WEIGHT, r] = rows[Z, r] * rows[INVERSE, r]
            parts[LOWER, k] += rows[WEIGHT, r]
            if r < edges:
                arms[LOAD, data.ends[0, r]] += rows[Z, r] * rows[SHARE, r]
                arms[LOAD, data.ends[1, r]] += rows[Z, r] * rows[OTHER, r]
            else:
                arms[LOAD, r - edges] += rows[Z, r]
    for a in range(arms.shape[1]):
        k = plan.part[edges + a]
        spent = given[COST, a] * arms[EFFORT, a]
        parts[UPPER, k] += spent
        parts[DEAREST, k] = max(parts[DEAREST, k], arms[LOAD, a] / spent)
    for k in range(plan.parts):
        parts[LOWER, k] = parts[LOWER, k] / parts[DEAREST, k] if parts[DEAREST, k] > 0.0 else 0.0
        parts[UPPER, k] *= exp(-parts[LEAST, k])
