"""Factorisation of the Newton matrix along an elimination plan, in the subset of Python that numba compiles.

The matrix is ``diag(base) + sum_e stiff_e p_e p_e' + bend_e (1, -1)(1, -1)'``.
"""

from math import sqrt

from caet_opt.families.numerics import Array
from caet_opt.native.records import (
    BASE,
    BEND,
    DY,
    LINK,
    ORDER,
    OTHER,
    PARENT,
    PARENT_EDGE,
    PIVOT,
    RHS,
    SHARE,
    STIFF,
    Data,
    Plan,
    Work,
)


def factorise(data: Data, plan: Plan, work: Work) -> bool:
    """Factorise the matrix; False when it is not positive definite.

    Eliminating arm a with pivot d through edge e to b leaves on b
    ``(stiff p_b^2 + bend) - (stiff p_a p_b - bend)^2 / (d + stiff p_a^2 + bend)``, which is
    ``(d (stiff p_b^2 + bend) + stiff bend) / (d + stiff p_a^2 + bend)`` because ``p_a + p_b = 1``: a quotient of
    sums of positive numbers, exact to rounding however stiff the edge.
    """
    base, pivot = work.arms[BASE], work.arms[PIVOT]
    stiff, bend, link = work.rows[STIFF], work.rows[BEND], work.rows[LINK]
    share, other = work.rows[SHARE], work.rows[OTHER]
    for a in range(base.size):
        pivot[a] = base[a]
    for i in range(plan.peeled):
        a = plan.trees[ORDER, i]
        e = plan.trees[PARENT_EDGE, a]
        if e < 0:
            continue
        pa, pb = share[e], other[e]
        if data.ends[0, e] != a:
            pa, pb = pb, pa
        d = pivot[a]
        pivot[a] = d + stiff[e] * pa * pa + bend[e]
        link[e] = (stiff[e] * pa * pb - bend[e]) / pivot[a]
        pivot[plan.trees[PARENT, a]] += (d * (stiff[e] * pb * pb + bend[e]) + stiff[e] * bend[e]) / pivot[a]
    if plan.cores.size == 0:
        return True
    fill_core(plan, work)
    for k in range(plan.spokes.size):
        eliminate_spoke(data, plan, work, k)
    return cholesky(work.dense)


def fill_core(plan: Plan, work: Work) -> None:
    """The dense block before the spokes are eliminated."""
    dense, pivot, share, other = work.dense, work.arms[PIVOT], work.rows[SHARE], work.rows[OTHER]
    for i in range(plan.cores.size):
        for j in range(i):
            dense[i, j] = 0.0
        dense[i, i] = pivot[plan.cores[i]]
    for k in range(plan.core_links.shape[1]):
        e, i, j = plan.core_links[0, k], plan.core_links[1, k], plan.core_links[2, k]
        stiff, bend = work.rows[STIFF, e], work.rows[BEND, e]
        dense[i, i] += stiff * share[e] * share[e] + bend
        dense[j, j] += stiff * other[e] * other[e] + bend
        dense[max(i, j), min(i, j)] += stiff * share[e] * other[e] - bend


def eliminate_spoke(data: Data, plan: Plan, work: Work, spoke: int) -> None:
    """Eliminate an arm whose neighbours all lie in the core, its diagonal part again without subtraction."""
    stiff, bend, link = work.rows[STIFF], work.rows[BEND], work.rows[LINK]
    share, other, dense = work.rows[SHARE], work.rows[OTHER], work.dense
    a = plan.spokes[spoke]
    first, last = plan.spoke_start[spoke], plan.spoke_start[spoke + 1]
    own = work.arms[PIVOT, a]
    whole = own
    for k in range(first, last):
        e = plan.spoke_links[0, k]
        pa = share[e] if data.ends[0, e] == a else other[e]
        whole += stiff[e] * pa * pa + bend[e]
    work.arms[PIVOT, a] = whole
    for k in range(first, last):
        e, i = plan.spoke_links[0, k], plan.spoke_links[1, k]
        pa, pb = share[e], other[e]
        if data.ends[0, e] != a:
            pa, pb = pb, pa
        rest = max(whole - (stiff[e] * pa * pa + bend[e]), own)
        dense[i, i] += (rest * (stiff[e] * pb * pb + bend[e]) + stiff[e] * bend[e]) / whole
        link[e] = (stiff[e] * pa * pb - bend[e]) / whole
    for k in range(first, last):
        i, scaled = plan.spoke_links[1, k], link[plan.spoke_links[0, k]] * whole
        for l in range(first, k):
            j = plan.spoke_links[1, l]
            dense[max(i, j), min(i, j)] -= scaled * link[plan.spoke_links[0, l]]


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
    x, rhs, pivot, link, inner = work.arms[DY], work.arms[RHS], work.arms[PIVOT], work.rows[LINK], work.inner
    for a in range(x.size):
        x[a] = rhs[a]
    for i in range(plan.peeled):
        a = plan.trees[ORDER, i]
        e = plan.trees[PARENT_EDGE, a]
        if e >= 0:
            x[plan.trees[PARENT, a]] -= link[e] * x[a]
    for k in range(plan.cores.size):
        inner[k] = x[plan.cores[k]]
    for k in range(plan.spokes.size):
        for j in range(plan.spoke_start[k], plan.spoke_start[k + 1]):
            inner[plan.spoke_links[1, j]] -= link[plan.spoke_links[0, j]] * x[plan.spokes[k]]
    substitute(work.dense, inner)
    for k in range(plan.cores.size):
        x[plan.cores[k]] = inner[k]
    for k in range(plan.spokes.size):
        a = plan.spokes[k]
        x[a] /= pivot[a]
        for j in range(plan.spoke_start[k], plan.spoke_start[k + 1]):
            x[a] -= link[plan.spoke_links[0, j]] * inner[plan.spoke_links[1, j]]
    for i in range(plan.peeled - 1, -1, -1):
        a = plan.trees[ORDER, i]
        e = plan.trees[PARENT_EDGE, a]
        x[a] /= pivot[a]
        if e >= 0:
            x[a] -= link[e] * x[plan.trees[PARENT, a]]


def substitute(L: Array, b: Array) -> None:
    """Solve ``L L' x = b`` in place."""
    n = b.size
    for i in range(n):
        for k in range(i):
            b[i] -= L[i, k] * b[k]
        b[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        b[i] /= L[i, i]
        for k in range(i):
            b[k] -= L[i, k] * b[i]
