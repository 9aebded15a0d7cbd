"""Primal-dual interior point in log-effort, in the subset of Python that numba compiles.

Connected components of the graph share nothing, so each has its own barrier parameter and its own steps; they are
iterated side by side, and a component that is certified rests.
"""

from math import exp, inf, isfinite

from caet_opt.families.numerics import Array
from caet_opt.native.factor import back_solve, factorise
from caet_opt.native.records import (
    AHEAD,
    AIM,
    BASE,
    BEND,
    BEST_LOWER,
    BEST_UPPER,
    BEST_Y,
    BEST_Z,
    COST,
    COUNT,
    CURVE,
    DEAREST,
    DS,
    DUAL,
    DY,
    DZ,
    EFFORT,
    IDLE,
    LEAST,
    LEVEL,
    LOAD,
    LOWER,
    OTHER,
    PRIMAL,
    PRODUCT,
    RHS,
    SHARE,
    STIFF,
    UPPER,
    Data,
    Plan,
    S,
    Work,
    Y,
    Z,
    make_work,
)
from caet_opt.native.terms import bound, evaluate

#: Why the iteration stopped.
CERTIFIED, STALLED, LIMIT = range(3)

#: Slacks below this are rounding noise of a logarithm of order one.
LEAST_SLACK = 1e-17

#: Iterations without progress of the certificate after which a component is given up.
PATIENCE = 40.0


def minimise(
    data: Data, plan: Plan, y: Array, z: Array, warm: bool, target: float, limit: int
) -> tuple[int, int, float, float]:
    """Solve from log-effort y and multipliers z, both overwritten with the best certified point.

    Returns why it stopped, the iterations, and the certified bounds. A warm start whose point is already
    certified to ``target`` costs one evaluation and no iteration.
    """
    work = make_work(y.size, data.ends.shape[1], plan.cores.size, plan.parts)
    return iterate(data, plan, y, z, warm, target, limit, work)


def iterate(
    data: Data, plan: Plan, y: Array, z: Array, warm: bool, target: float, limit: int, work: Work
) -> tuple[int, int, float, float]:
    """`minimise` in given room."""
    work.arms[Y] = y
    work.rows[Z] = z
    for k in range(plan.parts):
        work.parts[BEST_LOWER, k], work.parts[BEST_UPPER, k], work.parts[IDLE, k] = 0.0, inf, 0.0
    if not evaluate(data, work):
        return STALLED, 0, 0.0, inf
    if not warm:
        first_multipliers(data, work)
    status, step = LIMIT, 0
    while True:
        bound(data, plan, work)
        if keep_best(data, plan, work, target):
            status = CERTIFIED
            break
        if all_resting(plan, work, target):
            status = STALLED
            break
        if step == limit:
            break
        if step == 0:
            first_slacks(plan, work, warm)
        if not newton(data, plan, work, target):
            status = STALLED
            break
        step += 1
    y[:] = work.arms[BEST_Y]
    z[:] = work.rows[BEST_Z]
    below, above = 0.0, 0.0
    for k in range(plan.parts):
        below += work.parts[BEST_LOWER, k]
        above += work.parts[BEST_UPPER, k]
    return status, step, below, above


def keep_best(data: Data, plan: Plan, work: Work, target: float) -> bool:
    """Keep each component's best point, scaled to be feasible on both sides; True when all is certified."""
    edges, parts, level = data.ends.shape[1], work.parts, work.rows[LEVEL]
    below, above = 0.0, 0.0
    for k in range(plan.parts):
        new = parts[UPPER, k] - parts[LOWER, k]
        old = parts[BEST_UPPER, k] - parts[BEST_LOWER, k]
        parts[IDLE, k] = 0.0 if new < 0.9 * old else parts[IDLE, k] + 1.0
        parts[AHEAD, k] = 0.0
        if new < old and parts[DEAREST, k] > 0.0:
            parts[AHEAD, k] = 1.0
            parts[BEST_LOWER, k], parts[BEST_UPPER, k] = parts[LOWER, k], parts[UPPER, k]
        below += parts[BEST_LOWER, k]
        above += parts[BEST_UPPER, k]
    for r in range(level.size):
        k = plan.part[r]
        if parts[AHEAD, k] > 0.0:
            work.rows[BEST_Z, r] = work.rows[Z, r] * exp(-level[r]) / parts[DEAREST, k]
            if r >= edges:
                work.arms[BEST_Y, r - edges] = work.arms[Y, r - edges] - parts[LEAST, k]
    return above - below <= target * above


def resting(work: Work, k: int, target: float) -> bool:
    """Whether a component is certified, or was given up."""
    best = work.parts[BEST_UPPER, k]
    return bool(best - work.parts[BEST_LOWER, k] <= 0.5 * target * best or work.parts[IDLE, k] > PATIENCE)


def all_resting(plan: Plan, work: Work, target: float) -> bool:
    """Whether no component is worth another iteration."""
    for k in range(plan.parts):
        if not resting(work, k, target):
            return False
    return True


def first_multipliers(data: Data, work: Work) -> None:
    """Each arm hands its cost to its pairs, in proportion to how close to binding they are."""
    edges, weight, level, z = data.ends.shape[1], work.arms[LOAD], work.rows[LEVEL], work.rows[Z]
    for a in range(weight.size):
        weight[a] = exp(-level[edges + a])
    for e in range(edges):
        weight[data.ends[0, e]] += exp(-level[e])
        weight[data.ends[1, e]] += exp(-level[e])
    for a in range(weight.size):
        weight[a] = data.arms[COST, a] * work.arms[EFFORT, a] / weight[a]
        z[edges + a] = weight[a] * exp(-level[edges + a])
    for e in range(edges):
        z[e] = (weight[data.ends[0, e]] + weight[data.ends[1, e]]) * exp(-level[e])


def first_slacks(plan: Plan, work: Work, warm: bool) -> None:
    """Slacks and multipliers away from zero."""
    level, s, z = work.rows[LEVEL], work.rows[S], work.rows[Z]
    for r in range(level.size):
        if level[r] < inf:
            s[r] = max(level[r], 1e-3 if warm else 0.3)
            z[r] = max(z[r], 1e-6 * work.parts[UPPER, plan.part[r]])


def newton(data: Data, plan: Plan, work: Work, target: float) -> bool:
    """One predictor-corrector step; False when the linear algebra or the terms break down."""
    level, s, z, aim = work.rows[LEVEL], work.rows[S], work.rows[Z], work.rows[AIM]
    ds, dz, parts = work.rows[DS], work.rows[DZ], work.parts
    for k in range(plan.parts):
        parts[PRODUCT, k], parts[COUNT, k], parts[AHEAD, k] = 0.0, 0.0, 0.0
    for r in range(level.size):
        if level[r] < inf:
            parts[PRODUCT, plan.part[r]] += s[r] * z[r]
            parts[COUNT, plan.part[r]] += 1.0
            aim[r] = 0.0
    assemble(data, work)
    if not factorise(data, plan, work):
        return False
    direction(data, plan, work)
    longest_steps(plan, work)
    for r in range(level.size):
        if level[r] < inf:
            k = plan.part[r]
            parts[AHEAD, k] += (s[r] + parts[PRIMAL, k] * ds[r]) * (z[r] + parts[DUAL, k] * dz[r])
    for r in range(level.size):
        if level[r] < inf:
            k = plan.part[r]
            centring = (parts[AHEAD, k] / parts[PRODUCT, k]) ** 3
            aim[r] = centring * parts[PRODUCT, k] / parts[COUNT, k] - ds[r] * dz[r]
    direction(data, plan, work)
    longest_steps(plan, work)
    shorten_steps(data, plan, work, target)
    move(data, plan, work)
    return evaluate(data, work)


def move(data: Data, plan: Plan, work: Work) -> None:
    """Take the step."""
    edges, level, parts = data.ends.shape[1], work.rows[LEVEL], work.parts
    s, z = work.rows[S], work.rows[Z]
    for r in range(level.size):
        k = plan.part[r]
        if level[r] < inf:
            s[r] = max(s[r] + parts[PRIMAL, k] * work.rows[DS, r], LEAST_SLACK)
            z[r] = max(z[r] + parts[DUAL, k] * work.rows[DZ, r], 1e-30 * parts[UPPER, k])
        if r >= edges:
            work.arms[Y, r - edges] += parts[PRIMAL, k] * work.arms[DY, r - edges]


def assemble(data: Data, work: Work) -> None:
    """``diag(c w) + sum_e z_e h_e (1, -1)(1, -1)' + (z_e / s_e) p_e p_e'``."""
    edges, level, s, z = data.ends.shape[1], work.rows[LEVEL], work.rows[S], work.rows[Z]
    for a in range(data.arms.shape[1]):
        work.arms[BASE, a] = data.arms[COST, a] * work.arms[EFFORT, a]
        if level[edges + a] < inf:
            work.arms[BASE, a] += z[edges + a] / s[edges + a]
    for e in range(edges):
        work.rows[STIFF, e] = z[e] / s[e]
        work.rows[BEND, e] = z[e] * work.rows[CURVE, e]


def direction(data: Data, plan: Plan, work: Work) -> None:
    """Solve for dy, ds, dz, with complementarity products aimed at ``aim``.

    ``H dy - P' dz = P'z - c w``,  ``P dy - ds = s - F``,  ``z ds + s dz = aim - s z``.
    """
    edges, rhs, dy = data.ends.shape[1], work.arms[RHS], work.arms[DY]
    level, s, z, aim = work.rows[LEVEL], work.rows[S], work.rows[Z], work.rows[AIM]
    share, other = work.rows[SHARE], work.rows[OTHER]
    for a in range(rhs.size):
        rhs[a] = -data.arms[COST, a] * work.arms[EFFORT, a]
    for r in range(level.size):
        if level[r] < inf:
            force = (aim[r] - z[r] * (level[r] - s[r])) / s[r]
            if r < edges:
                rhs[data.ends[0, r]] += share[r] * force
                rhs[data.ends[1, r]] += other[r] * force
            else:
                rhs[r - edges] += force
    back_solve(plan, work)
    for r in range(level.size):
        if level[r] < inf:
            if r < edges:
                moved = share[r] * dy[data.ends[0, r]] + other[r] * dy[data.ends[1, r]]
            else:
                moved = dy[r - edges]
            work.rows[DS, r] = moved + level[r] - s[r]
            work.rows[DZ, r] = (aim[r] - z[r] * (moved + level[r])) / s[r]


def longest_steps(plan: Plan, work: Work) -> None:
    """Largest primal and dual steps of each component that keep its slacks and multipliers non-negative."""
    primal, dual, level = work.parts[PRIMAL], work.parts[DUAL], work.rows[LEVEL]
    s, z, ds, dz = work.rows[S], work.rows[Z], work.rows[DS], work.rows[DZ]
    for k in range(plan.parts):
        primal[k], dual[k] = 1.0, 1.0
    for r in range(level.size):
        if level[r] < inf:
            k = plan.part[r]
            if ds[r] < 0.0:
                primal[k] = min(primal[k], -s[r] / ds[r])
            if dz[r] < 0.0:
                dual[k] = min(dual[k], -z[r] / dz[r])


def shorten_steps(data: Data, plan: Plan, work: Work, target: float) -> None:
    """Stay inside the boundary, move no log-effort by more than three, and let finished components rest."""
    primal, dual, dy, edges = work.parts[PRIMAL], work.parts[DUAL], work.arms[DY], data.ends.shape[1]
    for k in range(plan.parts):
        primal[k] = min(1.0, 0.99 * primal[k])
        dual[k] = min(1.0, 0.99 * dual[k])
        if resting(work, k, target):
            primal[k], dual[k] = 0.0, 0.0
    for a in range(dy.size):
        k = plan.part[edges + a]
        if not isfinite(dy[a]):
            primal[k], dual[k], dy[a] = 0.0, 0.0, 0.0
            work.parts[IDLE, k] = PATIENCE + 1.0
        elif primal[k] * abs(dy[a]) > 3.0:
            primal[k] = 3.0 / abs(dy[a])
