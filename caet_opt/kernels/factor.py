"""Factorisation of the Newton matrix along an elimination plan, in the subset of Python that numba compiles.

The matrix is ``diag(base) + sum_e stiff_e p_e p_e' + bend_e (1, -1)(1, -1)'``.
"""

from math import sqrt

from caet_opt.bandits.families.numerics import Array

# fmt: off
# isort: off
from caet_opt.kernels.records import (
    Data, Plan, Work,
    ORDER, PARENT, PARENT_EDGE,  # rows of trees
    BASE, PIVOT, DY, RHS,  # of arms
    SHARE, OTHER, STIFF, BEND, LINK,  # of edges
)
# isort: on
# fmt: on


def factorise(data: Data, plan: Plan, work: Work) -> bool:
    """Factorise the matrix; False when it is not positive definite.

    Eliminating arm a with pivot d through edge e to b leaves on b
    ``(stiff p_b^2 + bend) - (stiff p_a p_b - bend)^2 / (d + stiff p_a^2 + bend)``, which is
    ``(d (stiff p_b^2 + bend) + stiff bend) / (d + stiff p_a^2 + bend)`` because ``p_a + p_b = 1``: a quotient of
    sums of positive numbers, exact to rounding however stiff the edge.
    """
    arms, rows = work.arms, work.rows
    for a in range(arms.shape[1]):
        arms[PIVOT, a] = arms[BASE, a]
    for i in range(plan.peeled):
        a = plan.trees[ORDER, i]
        e = plan.trees[PARENT_EDGE, a]
        if e < 0:
            continue
        pa, pb = rows[SHARE, e], rows[OTHER, e]
        if data.ends[0, e] != a:
            pa, pb = pb, pa
        d = arms[PIVOT, a]
        arms[PIVOT, a] = d + rows[STIFF, e] * pa * pa + rows[BEND, e]
        rows[LINK, e] = (rows[STIFF, e] * pa * pb - rows[BEND, e]) / arms[PIVOT, a]
        arms[PIVOT, plan.trees[PARENT, a]] += (
            d * (rows[STIFF, e] * pb * pb + rows[BEND, e]) + rows[STIFF, e] * rows[BEND, e]
        ) / arms[PIVOT, a]
    if plan.cores.size == 0:
        return True
    fill_core(plan, work)
    for k in range(plan.spokes.size):
        eliminate_spoke(data, plan, work, k)
    return cholesky(work.dense)


def fill_core(plan: Plan, work: Work) -> None:
    """The dense block before the spokes are eliminated."""
    arms, rows = work.arms, work.rows
    dense = work.dense
    for i in range(plan.cores.size):
        for j in range(i):
            dense[i, j] = 0.0
        dense[i, i] = arms[PIVOT, plan.cores[i]]
    for k in range(plan.core_links.shape[1]):
        e, i, j = plan.core_links[0, k], plan.core_links[1, k], plan.core_links[2, k]
        stiff, bend = rows[STIFF, e], rows[BEND, e]
        dense[i, i] += stiff * rows[SHARE, e] * rows[SHARE, e] + bend
        dense[j, j] += stiff * rows[OTHER, e] * rows[OTHER, e] + bend
        dense[max(i, j), min(i, j)] += stiff * rows[SHARE, e] * rows[OTHER, e] - bend


def eliminate_spoke(data: Data, plan: Plan, work: Work, spoke: int) -> None:
    """Eliminate an arm whose neighbours all lie in the core, its diagonal part again without subtraction."""
    arms, rows = work.arms, work.rows
    dense = work.dense
    a = plan.spokes[spoke]
    first, last = plan.spoke_start[spoke], plan.spoke_start[spoke + 1]
    own = arms[PIVOT, a]
    whole = own
    for k in range(first, last):
        e = plan.spoke_links[0, k]
        pa = rows[SHARE, e] if data.ends[0, e] == a else rows[OTHER, e]
        whole += rows[STIFF, e] * pa * pa + rows[BEND, e]
    arms[PIVOT, a] = whole
    for k in range(first, last):
        e, i = plan.spoke_links[0, k], plan.spoke_links[1, k]
        pa, pb = rows[SHARE, e], rows[OTHER, e]
        if data.ends[0, e] != a:
            pa, pb = pb, pa
        rest = max(whole - (rows[STIFF, e] * pa * pa + rows[BEND, e]), own)
        dense[i, i] += (rest * (rows[STIFF, e] * pb * pb + rows[BEND, e]) + rows[STIFF, e] * rows[BEND, e]) / whole
        rows[LINK, e] = (rows[STIFF, e] * pa * pb - rows[BEND, e]) / whole
    for k in range(first, last):
        i, scaled = plan.spoke_links[1, k], rows[LINK, plan.spoke_links[0, k]] * whole
        for k2 in range(first, k):
            j = plan.spoke_links[1, k2]
            dense[max(i, j), min(i, j)] -= scaled * rows[LINK, plan.spoke_links[0, k2]]


def cholesky(A: Array) -> bool:
    """Factorise a positive definite matrix, given by its lower triangle, in place."""
    n = A.shape[0]
    for j in range(n):
        whole = A[j, j]
        if not whole > 0.0:
            return False
        for k in range(j):
            A[j, j] -= A[j, k] * A[j, k]
        # A pivot that is all rounding belongs to a direction that the data do not determine.
        A[j, j] = sqrt(max(A[j, j], 1e-15 * whole))
        for i in range(j + 1, n):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
    return True


def back_solve(plan: Plan, work: Work) -> None:
    """Solve for the direction: forward through leaves and spokes, the dense core, and back."""
    arms, rows = work.arms, work.rows
    inner = work.inner
    for a in range(arms.shape[1]):
        arms[DY, a] = arms[RHS, a]
    for i in range(plan.peeled):
        a = plan.trees[ORDER, i]
        e = plan.trees[PARENT_EDGE, a]
        if e >= 0:
            arms[DY, plan.trees[PARENT, a]] -= rows[LINK, e] * arms[DY, a]
    for k in range(plan.cores.size):
        inner[k] = arms[DY, plan.cores[k]]
    for k in range(plan.spokes.size):
        for j in range(plan.spoke_start[k], plan.spoke_start[k + 1]):
            inner[plan.spoke_links[1, j]] -= rows[LINK, plan.spoke_links[0, j]] * arms[DY, plan.spokes[k]]
    if work.dense.shape[0] > 0:
        substitute(work.dense, inner)
    for k in range(plan.cores.size):
        arms[DY, plan.cores[k]] = inner[k]
    for k in range(plan.spokes.size):
        a = plan.spokes[k]
        arms[DY, a] /= arms[PIVOT, a]
        for j in range(plan.spoke_start[k], plan.spoke_start[k + 1]):
            arms[DY, a] -= rows[LINK, plan.spoke_links[0, j]] * inner[plan.spoke_links[1, j]]
    for i in range(plan.peeled - 1, -1, -1):
        a = plan.trees[ORDER, i]
        e = plan.trees[PARENT_EDGE, a]
        arms[DY, a] /= arms[PIVOT, a]
        if e >= 0:
            arms[DY, a] -= rows[LINK, e] * arms[DY, plan.trees[PARENT, a]]


def substitute(L: Array, b: Array) -> None:
    """Solve ``L L' x = b`` in place."""
    n = L.shape[0]
    for i in range(n):
        for k in range(i):
            b[i] -= L[i, k] * b[k]
        b[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        b[i] /= L[i, i]
        for k in range(i):
            b[k] -= L[i, k] * b[i]
