"""The term of a pair, and all terms of a problem with what they prove, in the subset of Python that numba compiles.

The formulas of the shipped families and the bounds of their errors are those of `caet_opt.bandits.families`; tests
compare the two.

The problem is ``min sum_a c_a w_a`` subject to ``f_e(w) >= 1`` for edges e and ``w_a r_a >= 1`` for anchored arms.
With ``y = log w`` and ``F = log f`` it is convex: ``min sum_a c_a exp(y_a)`` subject to ``F_e(y) >= 0``, and every
number in it is of order one. Row e of the gradient of F is the pair of shares ``(p_a, p_b)``, ``p_a + p_b = 1``,
and its Hessian is ``-h_e (1, -1)(1, -1)'``.
"""

from math import exp, inf, isfinite, log

from caet_opt.bandits.families.scalar import kl_div

# fmt: off
# isort: off
from caet_opt.kernels.records import (
    Data, Plan, Work,
    Y, EFFORT, LOAD, MEAN, COST, RATE, REST,  # rows of arms
    LEVEL, INVERSE, Z, WEIGHT, SHARE, OTHER, CURVE,  # of edges and anchors
    LEAST, DEAREST, LOWER, UPPER,  # of components
)
# isort: on
# fmt: on

GAUSSIAN, BERNOULLI, POISSON, EXPONENTIAL, GEOMETRIC = range(5)


def means_differ(x: float, y: float, rest_x: float, rest_y: float) -> bool:
    """Whether two doubles differ, and two means by more than rounding took away: then their difference is within 3.

    Far apart, ``y - x`` and the sum are within 1 each. Within a factor of two, ``y - x`` is exact, the rests and
    their difference are within 1, which is at most 2 in the sum, itself within 1.
    """
    return x != y and abs((y - x) + (rest_y - rest_x)) > abs(rest_x) + abs(rest_y)


def pair_shares(wa: float, wb: float, free_a: bool, free_b: bool) -> tuple[float, float]:
    """Shares u_a and u_b of two means in the point between them, ``m = u_a x + u_b y``: by effort over dispersion.

    A free arm can be pulled without end, so m is its mean. The smaller share is a quotient and the larger one its
    complement, so that both belong to one point: `caet_opt.kernels.certify` counts on that. As a part of `pair_term`
    it would make exact rounds a fifth slower.
    """
    if free_a:
        return 1.0, 0.0
    if free_b:
        return 0.0, 1.0
    small = min(wa, wb) / (wa + wb)
    if wa < wb:
        return small, 1.0 - small
    return 1.0 - small, small


def pair_term(
    family: int, wa: float, wb: float, x: float, y: float, rest_x: float, rest_y: float, free_a: bool, free_b: bool
) -> tuple[float, float, float, float, float]:
    """``f = w_a d(x, m) + w_b d(y, m)`` of a pair, d(x, m) and d(y, m), which are its rates, and the shares of m.

    The means are x + rest_x and y + rest_y, efforts are over dispersion. At the mean of a free arm m its own
    divergence is zero, so that ``f = w_a d(x, y)`` where the other one is free. Of two free arms there is no term.
    """
    ua, ub = pair_shares(wa, wb, free_a, free_b)
    da = mixture_divergence(family, x, y, ua, ub, rest_x, rest_y)
    db = mixture_divergence(family, y, x, ub, ua, rest_y, rest_x)
    return wa * da + wb * db, da, db, ua, ub


def mixture_divergence(
    family: int, x: float, other: float, share: float, other_share: float, rest: float, other_rest: float
) -> float:
    """d(x, m) of a shipped family with unit dispersion, for the mixture ``m = share x + other_share other``.

    The means are x + rest and other + other_rest; see `caet_opt.bandits.families.base.Family.mixture_divergence`.
    """
    h = other_share * ((other - x) + (other_rest - rest))
    if family == GAUSSIAN:
        return 0.5 * h * h
    if h == 0.0:
        return 0.0
    y = share * x + other_share * other
    if family == BERNOULLI:
        failures = (1.0 - x) - rest
        others = share * failures + other_share * ((1.0 - other) - other_rest)
        return step_divergence(family, x, y, h, failures, others)
    return step_divergence(family, x, y, h, 1.0, 1.0)


def step_divergence(family: int, x: float, y: float, h: float, failures: float, others: float) -> float:
    """d(x, y) of a shipped family but Gaussian, with unit dispersion, given ``h = y - x``; and for Bernoulli, which has
    an upper end, ``failures = 1 - x`` and ``others = 1 - y``."""
    if h == 0.0:
        return 0.0
    if family == POISSON:
        return kl_div(x, y, h, h / (x + y))
    if family == BERNOULLI:
        return kl_div(x, y, h, h / (x + y)) + kl_div(failures, others, -h, -h / (failures + others))
    if family == EXPONENTIAL:
        return kl_div(1.0, x / y, -h / y, -h / (x + y))
    trials_x, trials_y = 1.0 + x, 1.0 + y
    step = h / trials_y
    return kl_div(1.0, trials_x / trials_y, -step, -h / (trials_x + trials_y)) + kl_div(
        x, y * trials_x / trials_y, step, h / (x * trials_y + y * trials_x)
    )


def variance(family: int, m: float) -> float:
    """V(m) of a shipped family with unit dispersion."""
    if family == GAUSSIAN:
        return 1.0
    if family == BERNOULLI:
        return m * (1.0 - m)
    if family == POISSON:
        return m
    if family == EXPONENTIAL:
        return m * m
    return m * (1.0 + m)


def evaluate(data: Data, work: Work) -> bool:
    """Fill in effort, levels, shares and curvatures at the log-effort; False when a term over- or underflows.

    The level of an arm without anchor is infinite.
    """
    given, arms, rows = data.arms, work.arms, work.rows
    edges = data.ends.shape[1]
    for a in range(given.shape[1]):
        arms[EFFORT, a] = exp(arms[Y, a])
        rows[LEVEL, edges + a], rows[INVERSE, edges + a] = inf, 0.0
        if given[RATE, a] > 0.0:
            rows[LEVEL, edges + a] = arms[Y, a] + log(given[RATE, a])
            rows[INVERSE, edges + a] = exp(-rows[LEVEL, edges + a])
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
