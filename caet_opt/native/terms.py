"""Pair terms, their derivatives and the certificate, in the subset of Python that numba compiles.

The problem is ``min sum_a c_a w_a`` subject to ``f_e(w) >= 1`` for edges e and ``w_a r_a >= 1`` for anchored arms.
With ``y = log w`` and ``F = log f`` it is convex: ``min sum_a c_a exp(y_a)`` subject to ``F_e(y) >= 0``, and every
number in it is of order one. Row e of the gradient of F is the pair of shares ``(p_a, p_b)``, ``p_a + p_b = 1``,
and its Hessian is ``-h_e (1, -1)(1, -1)'``.
"""

from math import exp, inf, isfinite, log
from typing import NamedTuple

import numpy as np

from caet_opt.families.numerics import Array
from caet_opt.native.divergences import divergence, variance
from caet_opt.native.elimination import Integers, Plan


class Data(NamedTuple):
    """An instance: the family's code, then per arm its mean, cost and anchor rate (zero for none), and the edges."""

    family: int
    means: Array
    costs: Array
    rates: Array
    heads: Integers
    tails: Integers


class Terms(NamedTuple):
    """What is known at a point: effort, ``F`` of edges then of anchors, shares ``p_a, p_b``, curvature h per edge.

    ``load``, ``least`` and ``dearest`` are left behind by `bounds`.
    """

    effort: Array
    level: Array
    share: Array
    other: Array
    curve: Array
    load: Array
    least: Array
    dearest: Array


def make_terms(arms: int, edges: int, components: int) -> Terms:
    """Room for the terms of a problem."""
    return Terms(
        np.zeros(arms), np.zeros(edges + arms), np.zeros(edges), np.zeros(edges), np.zeros(edges), np.zeros(arms),
        np.zeros(components), np.zeros(components),
    )  # fmt: skip


def evaluate(data: Data, y: Array, at: Terms) -> bool:
    """Fill in the terms at log-effort y; False when a term over- or underflows."""
    means, edges = data.means, data.heads.size
    for a in range(means.size):
        at.effort[a] = exp(y[a])
        at.level[edges + a] = y[a] + log(data.rates[a]) if data.rates[a] > 0.0 else inf
    for e in range(edges):
        a, b = data.heads[e], data.tails[e]
        wa, wb = at.effort[a], at.effort[b]
        total = wa + wb
        ua, ub = wa / total, wb / total
        gap = means[b] - means[a]
        m = ua * means[a] + ub * means[b]
        ia = wa * divergence(data.family, means[a], m, ub * gap)
        ib = wb * divergence(data.family, means[b], m, -ua * gap)
        f = ia + ib
        if not (f > 0.0 and isfinite(f)):
            return False
        at.level[e] = log(f)
        at.share[e] = ia / f
        at.other[e] = ib / f
        middle = gap * ua * ub
        curve = middle * middle * total / (variance(data.family, m) * f) - at.share[e] * at.other[e]
        at.curve[e] = max(curve, 0.0)
    return True


def bounds(data: Data, plan: Plan, at: Terms, z: Array, lower: Array, upper: Array) -> float:
    """Certified ``lower <= T* <= upper`` of each component, from any point and any z >= 0; the relative gap of all.

    For pair weights ``q = z / f``: ``upper = c.w / min f`` and
    ``lower = sum(q) / max_a (sum_{e at a} q_e d(mu_a, m_e) / c_a)``, where ``q_e d(mu_a, m_e) = z_e p_ea / w_a``.
    Leaves the load ``sum_{e at a} z_e p_ea`` of each arm and the extremes of each component behind.
    """
    edges, load, least, dearest = data.heads.size, at.load, at.least, at.dearest
    for k in range(plan.components):
        least[k], dearest[k], lower[k], upper[k] = inf, 0.0, 0.0, 0.0
    for a in range(load.size):
        load[a] = 0.0
    for e in range(edges):
        k = plan.component[data.heads[e]]
        least[k] = min(least[k], at.level[e])
        lower[k] += z[e] * exp(-at.level[e])
        load[data.heads[e]] += z[e] * at.share[e]
        load[data.tails[e]] += z[e] * at.other[e]
    for a in range(load.size):
        k = plan.component[a]
        if data.rates[a] > 0.0:
            least[k] = min(least[k], at.level[edges + a])
            lower[k] += z[edges + a] * exp(-at.level[edges + a])
            load[a] += z[edges + a]
        cost = data.costs[a] * at.effort[a]
        upper[k] += cost
        dearest[k] = max(dearest[k], load[a] / cost)
    below, above = 0.0, 0.0
    for k in range(plan.components):
        lower[k] = lower[k] / dearest[k] if dearest[k] > 0.0 else 0.0
        upper[k] *= exp(-least[k])
        below += lower[k]
        above += upper[k]
    return (above - below) / above
