"""Primal-dual interior point in log-effort, in the subset of Python that numba compiles.

Connected components of the graph share nothing, so each has its own barrier parameter and its own steps; they are
iterated side by side, and a component that is certified rests.
"""

from math import exp, inf, isfinite
from typing import NamedTuple

import numpy as np

from caet_opt.families.numerics import Array
from caet_opt.native.elimination import Plan
from caet_opt.native.factor import Factor, back_solve, factorise, make_factor
from caet_opt.native.terms import Data, Terms, bounds, evaluate, make_terms

#: Why the iteration stopped.
CERTIFIED, STALLED, LIMIT = 0, 1, 2

#: Slacks below this are rounding noise of a logarithm of order one.
LEAST_SLACK = 1e-17

#: Iterations without progress of the certificate after which a component is given up.
PATIENCE = 40


class State(NamedTuple):
    """Rows are edges, then anchors. Iterates y, s, z; directions; and per component what controls its steps."""

    y: Array
    s: Array
    z: Array
    dy: Array
    ds: Array
    dz: Array
    aim: Array
    rhs: Array
    best_y: Array
    best_z: Array
    lower: Array
    upper: Array
    best_lower: Array
    best_upper: Array
    idle: Array
    product: Array
    pairs: Array
    primal: Array
    dual: Array
    ahead: Array


def make_state(arms: int, edges: int, components: int) -> State:
    """Room for the iterates."""
    n, rows, k = arms, edges + arms, components
    return State(
        np.zeros(n), np.ones(rows), np.zeros(rows), np.zeros(n), np.zeros(rows), np.zeros(rows), np.zeros(rows),
        np.zeros(n), np.zeros(n), np.zeros(rows), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k),
        np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k),
    )  # fmt: skip


def row_component(data: Data, plan: Plan, row: int) -> int:
    """The component of an edge or an anchor."""
    edges = data.heads.size
    return int(plan.component[data.heads[row] if row < edges else row - edges])


def minimise(
    data: Data, plan: Plan, y: Array, z: Array, warm: bool, target: float, limit: int
) -> tuple[int, int, float, float]:
    """Solve from log-effort y and multipliers z, both overwritten with the best certified point.

    Returns why it stopped, the iterations, and the certified bounds. A warm start whose point is already
    certified to ``target`` costs one evaluation and no iteration.
    """
    arms, edges, parts = data.means.size, data.heads.size, plan.components
    at, factor = make_terms(arms, edges, parts), make_factor(arms, edges, plan.cores.size)
    return iterate(data, plan, y, z, warm, target, limit, at, factor, make_state(arms, edges, parts))


def iterate(
    data: Data, plan: Plan, y: Array, z: Array, warm: bool, target: float, limit: int,
    at: Terms, factor: Factor, state: State,
) -> tuple[int, int, float, float]:  # fmt: skip
    """`minimise` in given room."""
    state.y[:] = y
    state.z[:] = z
    if not evaluate(data, state.y, at):
        return STALLED, 0, 0.0, inf
    if not warm:
        first_multipliers(data, at, state.z)
    for k in range(plan.components):
        state.best_lower[k], state.best_upper[k], state.idle[k] = 0.0, inf, 0.0
    status, step = LIMIT, 0
    while True:
        bounds(data, plan, at, state.z, state.lower, state.upper)
        if keep_best(data, plan, at, state, target):
            status = CERTIFIED
            break
        if all_resting(plan, state, target):
            status = STALLED
            break
        if step == limit:
            break
        if step == 0:
            first_slacks(data, plan, at, state, warm)
        if not newton(data, plan, at, factor, state, target):
            status = STALLED
            break
        step += 1
    y[:] = state.best_y
    z[:] = state.best_z
    below, above = 0.0, 0.0
    for k in range(plan.components):
        below += state.best_lower[k]
        above += state.best_upper[k]
    return status, step, below, above


def keep_best(data: Data, plan: Plan, at: Terms, state: State, target: float) -> bool:
    """Keep each component's best point, scaled to be feasible on both sides; True when all is certified."""
    edges = data.heads.size
    below, above = 0.0, 0.0
    for k in range(plan.components):
        new = state.upper[k] - state.lower[k]
        old = state.best_upper[k] - state.best_lower[k]
        better = new < old and at.dearest[k] > 0.0
        state.idle[k] = 0.0 if new < 0.9 * old else state.idle[k] + 1.0
        state.ahead[k] = 1.0 if better else 0.0
        if better:
            state.best_lower[k], state.best_upper[k] = state.lower[k], state.upper[k]
        below += state.best_lower[k]
        above += state.best_upper[k]
    for a in range(data.means.size):
        k = plan.component[a]
        if state.ahead[k] > 0.0:
            state.best_y[a] = state.y[a] - at.least[k]
            state.best_z[edges + a] = 0.0
            if data.rates[a] > 0.0:
                state.best_z[edges + a] = state.z[edges + a] * exp(-at.level[edges + a]) / at.dearest[k]
    for e in range(edges):
        k = plan.component[data.heads[e]]
        if state.ahead[k] > 0.0:
            state.best_z[e] = state.z[e] * exp(-at.level[e]) / at.dearest[k]
    return above - below <= target * above


def resting(state: State, k: int, target: float) -> bool:
    """Whether a component is certified, or was given up."""
    certified = state.best_upper[k] - state.best_lower[k] <= 0.5 * target * state.best_upper[k]
    return bool(certified or state.idle[k] > PATIENCE)


def all_resting(plan: Plan, state: State, target: float) -> bool:
    """Whether no component is worth another iteration."""
    for k in range(plan.components):
        if not resting(state, k, target):
            return False
    return True


def first_multipliers(data: Data, at: Terms, z: Array) -> None:
    """Each arm hands its cost to its pairs, in proportion to how close to binding they are."""
    edges, weight = data.heads.size, at.load
    weight[:] = 0.0
    for e in range(edges):
        nearness = exp(-at.level[e])
        weight[data.heads[e]] += nearness
        weight[data.tails[e]] += nearness
    for a in range(data.means.size):
        anchor = exp(-at.level[edges + a])
        weight[a] = data.costs[a] * at.effort[a] / (weight[a] + anchor)
        z[edges + a] = weight[a] * anchor
    for e in range(edges):
        z[e] = (weight[data.heads[e]] + weight[data.tails[e]]) * exp(-at.level[e])


def first_slacks(data: Data, plan: Plan, at: Terms, state: State, warm: bool) -> None:
    """Slacks and multipliers away from zero."""
    for r in range(state.s.size):
        if at.level[r] < inf:
            k = row_component(data, plan, r)
            state.s[r] = max(at.level[r], 1e-3 if warm else 0.3)
            state.z[r] = max(state.z[r], 1e-6 * state.upper[k])


def newton(data: Data, plan: Plan, at: Terms, factor: Factor, state: State, target: float) -> bool:
    """One predictor-corrector step; False when the linear algebra or the terms break down."""
    rows, parts = state.s.size, plan.components
    s, z = state.s, state.z
    for k in range(parts):
        state.product[k], state.pairs[k], state.ahead[k] = 0.0, 0.0, 0.0
    for r in range(rows):
        if at.level[r] < inf:
            k = row_component(data, plan, r)
            state.pairs[k] += 1.0
            state.product[k] += s[r] * z[r]
            state.aim[r] = 0.0
    assemble(data, at, factor, state)
    if not factorise(data, plan, at, factor):
        return False
    direction(data, plan, at, factor, state)
    longest_steps(data, plan, at, state)
    for r in range(rows):
        if at.level[r] < inf:
            k = row_component(data, plan, r)
            state.ahead[k] += (s[r] + state.primal[k] * state.ds[r]) * (z[r] + state.dual[k] * state.dz[r])
    for r in range(rows):
        if at.level[r] < inf:
            k = row_component(data, plan, r)
            centring = (state.ahead[k] / state.product[k]) ** 3
            state.aim[r] = centring * state.product[k] / state.pairs[k] - state.ds[r] * state.dz[r]
    direction(data, plan, at, factor, state)
    longest_steps(data, plan, at, state)
    shorten_steps(plan, state, target)
    for a in range(data.means.size):
        state.y[a] += state.primal[plan.component[a]] * state.dy[a]
    for r in range(rows):
        if at.level[r] < inf:
            k = row_component(data, plan, r)
            s[r] = max(s[r] + state.primal[k] * state.ds[r], LEAST_SLACK)
            z[r] = max(z[r] + state.dual[k] * state.dz[r], 1e-30 * state.upper[k])
    return evaluate(data, state.y, at)


def assemble(data: Data, at: Terms, factor: Factor, state: State) -> None:
    """``diag(c w) + sum_e z_e h_e (1, -1)(1, -1)' + (z_e / s_e) p_e p_e'``."""
    edges = data.heads.size
    for a in range(data.means.size):
        factor.base[a] = data.costs[a] * at.effort[a]
        if at.level[edges + a] < inf:
            factor.base[a] += state.z[edges + a] / state.s[edges + a]
    for e in range(edges):
        factor.stiff[e] = state.z[e] / state.s[e]
        factor.bend[e] = state.z[e] * at.curve[e]


def direction(data: Data, plan: Plan, at: Terms, factor: Factor, state: State) -> None:
    """Solve for dy, ds, dz, with complementarity products aimed at ``aim``.

    ``H dy - P' dz = P'z - c w``,  ``P dy - ds = s - F``,  ``z ds + s dz = aim - s z``.
    """
    edges, rhs = data.heads.size, state.rhs
    for a in range(rhs.size):
        rhs[a] = -data.costs[a] * at.effort[a]
        r = edges + a
        if at.level[r] < inf:
            rhs[a] += push(at.level[r], state.s[r], state.z[r], state.aim[r])
    for e in range(edges):
        force = push(at.level[e], state.s[e], state.z[e], state.aim[e])
        rhs[data.heads[e]] += at.share[e] * force
        rhs[data.tails[e]] += at.other[e] * force
    back_solve(plan, factor, rhs, state.dy)
    for e in range(edges):
        moved = at.share[e] * state.dy[data.heads[e]] + at.other[e] * state.dy[data.tails[e]]
        finish(at.level[e], state, e, moved)
    for a in range(rhs.size):
        if at.level[edges + a] < inf:
            finish(at.level[edges + a], state, edges + a, state.dy[a])


def push(level: float, s: float, z: float, aim: float) -> float:
    """What a row contributes to the right-hand side: ``z + dz`` for a step that leaves y where it is."""
    return (aim - z * (level - s)) / s


def finish(level: float, state: State, r: int, moved: float) -> None:
    """Slack and multiplier directions of a row whose level moves by ``moved``."""
    state.ds[r] = moved + level - state.s[r]
    state.dz[r] = (state.aim[r] - state.z[r] * (state.s[r] + state.ds[r])) / state.s[r]


def longest_steps(data: Data, plan: Plan, at: Terms, state: State) -> None:
    """Largest primal and dual steps of each component that keep its slacks and multipliers non-negative."""
    for k in range(plan.components):
        state.primal[k], state.dual[k] = 1.0, 1.0
    for r in range(state.s.size):
        if at.level[r] < inf:
            k = row_component(data, plan, r)
            if state.ds[r] < 0.0:
                state.primal[k] = min(state.primal[k], -state.s[r] / state.ds[r])
            if state.dz[r] < 0.0:
                state.dual[k] = min(state.dual[k], -state.z[r] / state.dz[r])


def shorten_steps(plan: Plan, state: State, target: float) -> None:
    """Stay inside the boundary, move no log-effort by more than three, and let finished components rest."""
    for k in range(plan.components):
        state.primal[k] = min(1.0, 0.99 * state.primal[k])
        state.dual[k] = min(1.0, 0.99 * state.dual[k])
        if resting(state, k, target):
            state.primal[k], state.dual[k] = 0.0, 0.0
    for a in range(state.dy.size):
        k = plan.component[a]
        reach = abs(state.dy[a])
        if not isfinite(reach):
            state.primal[k], state.dual[k], state.dy[a] = 0.0, 0.0, 0.0
            state.idle[k] = PATIENCE + 1.0
        elif state.primal[k] * reach > 3.0:
            state.primal[k] = 3.0 / reach
