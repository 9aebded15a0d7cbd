"""Factorisation of the Newton matrix along an elimination plan, in the subset of Python that numba compiles."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from caet_opt.families.numerics import Array
from caet_opt.native.elimination import Plan
from caet_opt.native.terms import Data, Terms


class Factor(NamedTuple):
    """Numbers of the matrix ``diag(base) + sum_e stiff_e p_e p_e' + bend_e (1, -1)(1, -1)'`` and of its factors."""

    base: Array
    stiff: Array
    bend: Array
    pivot: Array
    link: Array
    dense: Array
    inner: Array


def make_factor(arms: int, edges: int, cores: int) -> Factor:
    """Room for the matrix and its factors."""
    return Factor(
        np.zeros(arms), np.zeros(edges), np.zeros(edges), np.zeros(arms), np.zeros(edges),
        np.zeros((cores, cores)), np.zeros(cores),
    )  # fmt: skip


def factorise(data: Data, plan: Plan, at: Terms, factor: Factor) -> bool:
    """Factorise the matrix whose numbers are in ``factor``; False when it is not positive definite.

    Eliminating arm a with pivot d through edge e to b leaves on b
    ``(stiff p_b^2 + bend) - (stiff p_a p_b - bend)^2 / (d + stiff p_a^2 + bend)``, which is
    ``(d (stiff p_b^2 + bend) + stiff bend) / (d + stiff p_a^2 + bend)`` because ``p_a + p_b = 1``: a quotient of
    sums of positive numbers, exact to rounding however stiff the edge.
    """
    stiff, bend, pivot = factor.stiff, factor.bend, factor.pivot
    pivot[:] = factor.base
    for i in range(plan.leaves.size):
        a = plan.leaves[i]
        e = plan.parent_edge[a]
        if e < 0:
            continue
        pa, pb = at.share[e], at.other[e]
        if data.heads[e] != a:
            pa, pb = pb, pa
        d = pivot[a]
        across = stiff[e] * pb * pb + bend[e]
        pivot[a] = d + stiff[e] * pa * pa + bend[e]
        factor.link[e] = (stiff[e] * pa * pb - bend[e]) / pivot[a]
        pivot[plan.parent[a]] += (d * across + stiff[e] * bend[e]) / pivot[a]
    if plan.cores.size == 0:
        return True
    fill_core(plan, at, factor)
    for k in range(plan.spokes.size):
        eliminate_spoke(data, plan, at, factor, k)
    return cholesky(factor.dense)


def fill_core(plan: Plan, at: Terms, factor: Factor) -> None:
    """The dense block before the spokes are eliminated."""
    dense = factor.dense
    dense[:, :] = 0.0
    for i in range(plan.cores.size):
        dense[i, i] = factor.pivot[plan.cores[i]]
    for k in range(plan.core_edges.size):
        e, i, j = plan.core_edges[k], plan.core_heads[k], plan.core_tails[k]
        stiff, bend = factor.stiff[e], factor.bend[e]
        dense[i, i] += stiff * at.share[e] * at.share[e] + bend
        dense[j, j] += stiff * at.other[e] * at.other[e] + bend
        cross = stiff * at.share[e] * at.other[e] - bend
        dense[i, j] += cross
        dense[j, i] += cross


def eliminate_spoke(data: Data, plan: Plan, at: Terms, factor: Factor, spoke: int) -> None:
    """Eliminate an arm whose neighbours all lie in the core, its diagonal part again without subtraction."""
    a = plan.spokes[spoke]
    first, last = plan.spoke_start[spoke], plan.spoke_start[spoke + 1]
    own = factor.pivot[a]
    whole = own
    for k in range(first, last):
        e = plan.spoke_edges[k]
        pa = at.share[e] if data.heads[e] == a else at.other[e]
        whole += factor.stiff[e] * pa * pa + factor.bend[e]
    factor.pivot[a] = whole
    for k in range(first, last):
        e, i = plan.spoke_edges[k], plan.spoke_cores[k]
        pa, pb = at.share[e], at.other[e]
        if data.heads[e] != a:
            pa, pb = pb, pa
        stiff, bend = factor.stiff[e], factor.bend[e]
        rest = max(whole - (stiff * pa * pa + bend), own)
        factor.dense[i, i] += (rest * (stiff * pb * pb + bend) + stiff * bend) / whole
        factor.link[e] = (stiff * pa * pb - bend) / whole
    for k in range(first, last):
        i, scaled = plan.spoke_cores[k], factor.link[plan.spoke_edges[k]] * whole
        for j in range(first, k):
            product = scaled * factor.link[plan.spoke_edges[j]]
            factor.dense[i, plan.spoke_cores[j]] -= product
            factor.dense[plan.spoke_cores[j], i] -= product


def cholesky(A: Array) -> bool:
    """Factorise a positive definite matrix in place into its lower triangle."""
    n = A.shape[0]
    for j in range(n):
        whole = A[j, j]
        if not whole > 0.0:
            return False
        pivot = whole - np.dot(A[j, :j], A[j, :j])
        # A pivot that is all rounding belongs to a direction that the data do not determine.
        A[j, j] = sqrt(max(pivot, 1e-15 * whole))
        for i in range(j + 1, n):
            A[i, j] = (A[i, j] - np.dot(A[i, :j], A[j, :j])) / A[j, j]
    return True


def back_solve(plan: Plan, factor: Factor, rhs: Array, x: Array) -> None:
    """Solve with the factors: forward through leaves and spokes, the dense core, and back."""
    link, inner = factor.link, factor.inner
    x[:] = rhs
    for i in range(plan.leaves.size):
        a = plan.leaves[i]
        e = plan.parent_edge[a]
        if e >= 0:
            x[plan.parent[a]] -= link[e] * x[a]
    for k in range(plan.cores.size):
        inner[k] = x[plan.cores[k]]
    for k in range(plan.spokes.size):
        for j in range(plan.spoke_start[k], plan.spoke_start[k + 1]):
            inner[plan.spoke_cores[j]] -= link[plan.spoke_edges[j]] * x[plan.spokes[k]]
    substitute(factor.dense, inner)
    for k in range(plan.cores.size):
        x[plan.cores[k]] = inner[k]
    for k in range(plan.spokes.size):
        value = x[plan.spokes[k]] / factor.pivot[plan.spokes[k]]
        for j in range(plan.spoke_start[k], plan.spoke_start[k + 1]):
            value -= link[plan.spoke_edges[j]] * inner[plan.spoke_cores[j]]
        x[plan.spokes[k]] = value
    for i in range(plan.leaves.size - 1, -1, -1):
        a = plan.leaves[i]
        e = plan.parent_edge[a]
        x[a] /= factor.pivot[a]
        if e >= 0:
            x[a] -= link[e] * x[plan.parent[a]]


def substitute(L: Array, b: Array) -> None:
    """Solve ``L L' x = b`` in place."""
    n = b.size
    for i in range(n):
        b[i] = (b[i] - np.dot(L[i, :i], b[:i])) / L[i, i]
    for i in range(n - 1, -1, -1):
        b[i] /= L[i, i]
        b[:i] -= L[i, :i] * b[i]
