"""Newton's method on the binding statements: the last digits of an answer, whoever computed the first ones."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from caet_opt.bandits.families.numerics import Array, Mask
from caet_opt.kernels.margin_term import MOST_CURVE
from caet_opt.solving.backends.base import Point
from caet_opt.solving.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csc_array

#: Newton steps at most; a binding set that is right needs three or four.
MAX_STEPS = 30


def polish(problem: Problem, point: Point) -> Iterator[Point]:
    """Refine a point; every iterate is yielded for the caller to certify.

    With ``y = log w``, ``F_e = log f_e`` and multipliers z, the binding terms B satisfy

        c_a w_a = sum_{e in B} z_e p_ea        and        F_e = 0  for e in B,

    p_ea being arm a's share of f_e. Each step solves the linearised system, then drops terms whose multiplier
    became negative and adds those of `needed_terms`.
    """
    y, z = scale_to_feasible(problem, point)
    logs, shares, _ = log_terms(problem, np.exp(y))
    binding = z / np.sum(problem.costs * np.exp(y)) > logs
    for _ in range(MAX_STEPS):
        needed = binding | needed_terms(problem, binding, logs)
        z = np.where(needed & ~binding, unpaid(problem, np.exp(y), np.where(binding, z, 0.0), shares), z)
        try:
            y, z = newton_step(problem, y, z, needed)
        except np.linalg.LinAlgError:
            return
        if not (np.all(np.isfinite(y)) and np.all(np.abs(y) < 600)):
            return
        yield Point(np.exp(y), np.maximum(z, 0.0))
        logs, shares, _ = log_terms(problem, np.exp(y))
        binding = needed & (z > 0)


def needed_terms(problem: Problem, binding: Mask, logs: Array) -> Mask:
    """Terms that have to be binding beside these: violated ones, and the least one of an arm that has none.

    An arm of no binding term would be paid for nothing.
    """
    needed = logs < -1e-12
    ends = [{a, b} for a, b in problem.shape.edges] + [{a} for a in problem.shape.anchored]
    covered = set().union(*(ends[term] for term in np.flatnonzero(binding | needed).tolist()))
    for term in np.argsort(logs).tolist():
        if not ends[term] <= covered:
            needed[term] = True
            covered |= ends[term]
    return needed


def scale_to_feasible(problem: Problem, point: Point) -> tuple[Array, Array]:
    """Log-effort with ``min_e f_e = 1`` and multipliers that sum to the cost ``c . w``."""
    effort = np.maximum(point.effort, 1e-12 * problem.first_guess())
    effort = effort / np.min(problem.terms(effort))
    weights = np.maximum(point.weights, 0.0)
    spent = np.sum(problem.costs * effort)
    mass = np.sum(weights)
    return np.log(effort), weights * (spent / mass) if mass > 0 else np.full(len(weights), spent / len(weights))


def log_terms(problem: Problem, effort: Array) -> tuple[Array, Array, Array]:
    """``log f_e`` of every term, and each edge's share ``p_a`` and curvature h.

    In ``y = log w`` the gradient of log f_e is ``(p_a, 1 - p_a)`` and its Hessian ``-h (1, -1)(1, -1)'`` with
    ``h = bend / f_e - p_a p_b``, which with a margin may be negative.
    """
    found = problem.edge_terms(effort)
    share_a = effort[problem.heads] * found.head_rates / found.values
    share_b = effort[problem.tails] * found.tail_rates / found.values
    h = np.minimum(found.bends / found.values, MOST_CURVE) - share_a * share_b
    anchors = np.log(effort[problem.anchored] * problem.rates)
    return np.concatenate([np.log(found.values), anchors]), share_a, h


def unpaid(problem: Problem, effort: Array, z: Array, shares: Array) -> Array:
    """For each term, what its arms cost beyond what multipliers account for: ``sum over its arms of c w - sum z p``.

    It is the multiplier of a term that alone has its arms. With one of zero a step would see no curvature of it.
    """
    edges, heads, tails = len(problem.shape.edges), problem.heads, problem.tails
    left = problem.costs * effort
    np.subtract.at(left, heads, z[:edges] * shares)
    np.subtract.at(left, tails, z[:edges] * (1.0 - shares))
    np.subtract.at(left, problem.anchored, z[edges:])
    left = np.maximum(left, 0.0)
    return np.concatenate([left[heads] + left[tails], left[problem.anchored]])


def newton_step(problem: Problem, y: Array, z: Array, binding: Mask) -> tuple[Array, Array]:
    """One step on ``[H, -P'; P, 0] [dy; dz] = [P'z - c w; -F]`` over the binding terms."""
    from scipy.sparse import coo_array, csc_array, diags_array

    n, edges = problem.shape.arms, len(problem.shape.edges)
    effort = np.exp(y)
    logs, share, h = log_terms(problem, effort)
    z = np.where(binding, np.maximum(z, 0.0), 0.0)
    heads, tails = problem.heads, problem.tails
    curvature = z[:edges] * h
    spent = problem.costs * effort
    places = (np.concatenate([heads, tails, heads, tails]), np.concatenate([heads, tails, tails, heads]))
    entries = np.concatenate([curvature, curvature, -curvature, -curvature])
    hessian = diags_array(spent) + coo_array((entries, places), shape=(n, n))
    rows = np.concatenate([np.arange(edges), np.arange(edges), edges + np.arange(len(problem.anchored))])
    columns = np.concatenate([heads, tails, problem.anchored])
    values = np.concatenate([share, 1.0 - share, np.ones(len(problem.anchored))])
    jacobian = csc_array(coo_array((values, (rows, columns)), shape=(len(z), n)).tocsr()[binding])
    residual = jacobian.T @ z[binding] - spent
    dy, dz = solve_saddle(csc_array(hessian), jacobian, residual, -logs[binding])
    z = z.copy()
    z[binding] += dz
    # Far from the solution a full step can leave the region where the logarithms mean anything.
    return y + dy * min(1.0, 2.0 / max(np.max(np.abs(dy)), 1e-300)), z


def solve_saddle(H: "csc_array", P: "csc_array", top: Array, bottom: Array) -> tuple[Array, Array]:
    """Solve ``[H, -P'; -P, -R] [dy; dz] = [top; -bottom]``, R a vanishing proximal term.

    H is positive definite but for margins, with which that is so where P dy = 0.
    """
    from scipy.sparse import block_array, diags_array
    from scipy.sparse.linalg import splu

    scale = 1.0 / np.sqrt(np.abs(H.diagonal()))
    D = diags_array(scale)
    scaled = P @ D
    proximal = diags_array(np.full(P.shape[0], 1e-13 * max(1.0, abs(scaled).max() ** 2 if P.shape[0] else 1.0)))
    system = block_array([[D @ H @ D, -scaled.T], [-scaled, -proximal]], format="csc")
    try:
        solution = splu(system).solve(np.concatenate([scale * top, -bottom]))
    except RuntimeError as error:  # so it says that a factor is singular, as entries that are not finite make it
        raise np.linalg.LinAlgError(str(error)) from error
    return scale * solution[: H.shape[0]], solution[H.shape[0] :]
