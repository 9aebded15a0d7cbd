"""Pair terms, their derivatives and the certificate, in the subset of Python that numba compiles.

The problem is ``min sum_a c_a w_a`` subject to ``f_e(w) >= 1`` for edges e and ``w_a r_a >= 1`` for anchored arms.
With ``y = log w`` and ``F = log f`` it is convex: ``min sum_a c_a exp(y_a)`` subject to ``F_e(y) >= 0``, and every
number in it is of order one. Row e of the gradient of F is the pair of shares ``(p_a, p_b)``, ``p_a + p_b = 1``,
and its Hessian is ``-h_e (1, -1)(1, -1)'``.
"""

from math import exp, inf, isfinite, log

from caet_opt.native.divergences import divergence, variance
from caet_opt.native.records import (
    COST,
    CURVE,
    DEAREST,
    EFFORT,
    LEAST,
    LEVEL,
    LOAD,
    LOWER,
    MEAN,
    OTHER,
    RATE,
    SHARE,
    UPPER,
    Data,
    Plan,
    Work,
    Y,
    Z,
)


def evaluate(data: Data, work: Work) -> bool:
    """Fill in effort, levels, shares and curvatures at the log-effort; False when a term over- or underflows.

    The level of an arm without anchor is infinite.
    """
    means, rates, edges = data.arms[MEAN], data.arms[RATE], data.ends.shape[1]
    y, w, level = work.arms[Y], work.arms[EFFORT], work.rows[LEVEL]
    share, other, curve = work.rows[SHARE], work.rows[OTHER], work.rows[CURVE]
    for a in range(means.size):
        w[a] = exp(y[a])
        level[edges + a] = y[a] + log(rates[a]) if rates[a] > 0.0 else inf
    for e in range(edges):
        a, b = data.ends[0, e], data.ends[1, e]
        total = w[a] + w[b]
        ua, ub = w[a] / total, w[b] / total
        gap = means[b] - means[a]
        m = ua * means[a] + ub * means[b]
        ia = w[a] * divergence(data.family, means[a], m, ub * gap)
        ib = w[b] * divergence(data.family, means[b], m, -ua * gap)
        f = ia + ib
        if not (f > 0.0 and isfinite(f)):
            return False
        level[e] = log(f)
        share[e] = ia / f
        other[e] = ib / f
        middle = gap * ua * ub
        bent = middle * middle * total / (variance(data.family, m) * f) - share[e] * other[e]
        curve[e] = max(bent, 0.0)
    return True


def bound(data: Data, plan: Plan, work: Work) -> None:
    """Certified ``lower <= T* <= upper`` of each component, from any point and any z >= 0.

    For pair weights ``q = z / f``: ``upper = c.w / min f`` and
    ``lower = sum(q) / max_a (sum_{e at a} q_e d(mu_a, m_e) / c_a)``, where ``q_e d(mu_a, m_e) = z_e p_ea / w_a``.
    Leaves log of min f and that maximum behind, by which the point would have to be scaled.
    """
    costs, edges = data.arms[COST], data.ends.shape[1]
    w, load = work.arms[EFFORT], work.arms[LOAD]
    level, z, share, other = work.rows[LEVEL], work.rows[Z], work.rows[SHARE], work.rows[OTHER]
    least, dearest, lower, upper = work.parts[LEAST], work.parts[DEAREST], work.parts[LOWER], work.parts[UPPER]
    for k in range(plan.parts):
        least[k], dearest[k], lower[k], upper[k] = inf, 0.0, 0.0, 0.0
    for a in range(load.size):
        load[a] = 0.0
    for r in range(level.size):
        if level[r] < inf:
            k = plan.part[r]
            least[k] = min(least[k], level[r])
            lower[k] += z[r] * exp(-level[r])
            if r < edges:
                load[data.ends[0, r]] += z[r] * share[r]
                load[data.ends[1, r]] += z[r] * other[r]
            else:
                load[r - edges] += z[r]
    for a in range(load.size):
        k = plan.part[edges + a]
        spent = costs[a] * w[a]
        upper[k] += spent
        dearest[k] = max(dearest[k], load[a] / spent)
    for k in range(plan.parts):
        lower[k] = lower[k] / dearest[k] if dearest[k] > 0.0 else 0.0
        upper[k] *= exp(-least[k])
