"""Newton's method on the binding statements and limits: the last digits of an answer, whoever computed the first."""

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

#: A reduced cost that is no larger part of the cost than this is taken for zero.
NO_COST = 1e-6

#: The least part of the cost of an arm that counts as curvature.
LEAST_CURVE = 1e-8


def polish(problem: Problem, point: Point) -> Iterator[Point]:
    """Refine a point; every iterate is yielded for the caller to certify.

    With ``y = log w``, ``F_e = log f_e`` and multipliers z, the binding terms B satisfy

        c_a w_a = sum_{e in B} z_e p_ea        and        F_e = 0  for e in B,

    p_ea being arm a's share of f_e. Each step solves the linearised system, then drops terms whose multiplier
    became negative and adds those of `needed_terms`. With limits, `LimitSystem` has their part.
    """
    y, z = scale_to_feasible(problem, point)
    limits = LimitSystem(problem, point, y) if problem.shape.limits else None
    logs, shares, _ = log_terms(problem, np.exp(y))
    binding = z / np.sum(problem.costs * np.exp(y)) > logs
    for _ in range(MAX_STEPS):
        unpaying = set() if limits is None else limits.unpaying()
        needed = binding | needed_terms(problem, binding, logs, unpaying)
        costs = problem.costs if limits is None else limits.reduced()
        z = np.where(needed & ~binding, unpaid(problem, costs, np.exp(y), np.where(binding, z, 0.0), shares), z)
        try:
            y, z = newton_step(problem, y, z, needed, limits)
        except np.linalg.LinAlgError:
            return
        if not (np.all(np.isfinite(y)) and np.all(np.abs(y) < 600)):
            return
        if limits is None:
            yield Point(np.exp(y), np.maximum(z, 0.0))
        else:
            yield Point(np.exp(y) * limits.used, np.maximum(z, 0.0), limits.prices)
            limits.choose_binding(y)
        logs, shares, _ = log_terms(problem, np.exp(y))
        binding = needed & (z > 0)


class LimitSystem:
    """The part of limits in the Newton steps: with prices nu of the rows of G that bind,

        (c + G' nu)_a w_a = sum_{e in B} z_e p_ea        and        sum_a G_ia w_a = 0  for those rows.

    Rows are scaled so that prices are shares of the cost. An arm of no statement that costs more than it is used, in
    proportion, is dropped.

    Attributes
    ----------
    rows, nu : G and the prices in this scale
    binding : which rows hold with equality
    used : 1 for each arm, 0 where it is dropped
    """

    def __init__(self, problem: Problem, point: Point, y: Array) -> None:
        self.problem = problem
        self.sizes = np.max(np.abs(problem.rows) / problem.costs, axis=1)
        self.sizes[self.sizes == 0.0] = 1.0
        self.rows, self.nu = problem.rows / self.sizes[:, None], point.prices * self.sizes
        self.equal = np.array(problem.shape.limits)
        effort = np.exp(y)
        spent = problem.costs * effort
        idle = ~problem.stated & (spent / np.sum(spent) < self.reduced() / problem.costs)
        self.used = np.where(idle, 0.0, 1.0)
        slacks = -(self.rows @ (effort * self.used)) / np.sum(spent)
        self.binding: Mask = self.equal | (self.nu > slacks)

    @property
    def prices(self) -> Array:
        """The prices in the problem's scale."""
        held = np.where(self.equal, self.nu, np.maximum(self.nu, 0.0))
        return np.asarray(np.where(self.binding, held, 0.0) / self.sizes)

    def reduced(self) -> Array:
        """The reduced costs ``c + G' nu``."""
        return np.asarray(self.problem.costs + self.rows.T @ self.nu)

    def unpaying(self) -> set[int]:
        """Arms whose reduced cost is zero: limits pay for them, so that none of their statements has to bind."""
        return set(np.flatnonzero(self.reduced() <= NO_COST * self.problem.costs).tolist())

    def choose_binding(self, y: Array) -> None:
        """Drop rows with negative prices and add violated ones."""
        effort = np.exp(y) * self.used
        excess = self.rows @ effort / np.sum(self.problem.costs * effort)
        self.binding = self.equal | (self.binding & (self.nu > 0.0)) | (~self.binding & (excess > 1e-13))
        self.nu = np.where(self.binding, self.nu, 0.0)


def needed_terms(problem: Problem, binding: Mask, logs: Array, unpaying: set[int]) -> Mask:
    """Terms that have to be binding beside these: violated ones, and the least one of an arm that has none.

    An arm of no binding term would be paid for nothing, but for arms that limits pay for.
    """
    needed = logs < -1e-12
    ends = [{a, b} for a, b in problem.shape.edges] + [{a} for a in problem.shape.anchored]
    covered = unpaying.union(*(ends[term] for term in np.flatnonzero(binding | needed).tolist()))
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


def unpaid(problem: Problem, costs: Array, effort: Array, z: Array, shares: Array) -> Array:
    """For each term, what its arms cost beyond what multipliers account for: ``sum over its arms of c w - sum z p``.

    It is the multiplier of a term that alone has its arms. With one of zero a step would see no curvature of it.
    """
    edges, heads, tails = len(problem.shape.edges), problem.heads, problem.tails
    left = costs * effort
    np.subtract.at(left, heads, z[:edges] * shares)
    np.subtract.at(left, tails, z[:edges] * (1.0 - shares))
    np.subtract.at(left, problem.anchored, z[edges:])
    left = np.maximum(left, 0.0)
    return np.concatenate([left[heads] + left[tails], left[problem.anchored]])


def newton_step(
    problem: Problem, y: Array, z: Array, binding: Mask, limits: LimitSystem | None = None
) -> tuple[Array, Array]:
    """One step on ``[H, -P'; P, 0] [dy; dz] = [P'z - c w; -F]`` over the binding terms.

    A limit that binds is one more line of P, its price one more multiplier: ``-G_ia w_a`` for each arm, of which the
    sum is zero. The prices of limits are changed in place.
    """
    from scipy.sparse import coo_array, csc_array, diags_array, vstack

    n, edges = problem.shape.arms, len(problem.shape.edges)
    effort = np.exp(y)
    logs, share, h = log_terms(problem, effort)
    z = np.where(binding, np.maximum(z, 0.0), 0.0)
    heads, tails = problem.heads, problem.tails
    curvature = z[:edges] * h
    spent = problem.costs * effort
    places = (np.concatenate([heads, tails, heads, tails]), np.concatenate([heads, tails, tails, heads]))
    entries = np.concatenate([curvature, curvature, -curvature, -curvature])
    curve = spent if limits is None else np.maximum(limits.reduced() * effort, LEAST_CURVE * spent)
    hessian = diags_array(curve) + coo_array((entries, places), shape=(n, n))
    rows = np.concatenate([np.arange(edges), np.arange(edges), edges + np.arange(len(problem.anchored))])
    columns = np.concatenate([heads, tails, problem.anchored])
    values = np.concatenate([share, 1.0 - share, np.ones(len(problem.anchored))])
    jacobian = csc_array(coo_array((values, (rows, columns)), shape=(len(z), n)).tocsr()[binding])
    known, short, total = z[binding], -logs[binding], np.sum(spent)
    if limits is not None:
        lines = -limits.rows[limits.binding] * (effort * limits.used / total)
        jacobian = csc_array(vstack([jacobian, csc_array(lines)]))
        known = np.append(known, limits.nu[limits.binding] * total)
        short = np.append(short, -np.sum(lines, axis=1))
    residual = jacobian.T @ known - spent
    if limits is not None:
        residual *= limits.used
    scale = 1.0 / np.sqrt(np.abs(hessian.diagonal() if limits is None else np.maximum(hessian.diagonal(), spent)))
    dy, dz = solve_saddle(csc_array(hessian), jacobian, residual, short, scale)
    z = z.copy()
    z[binding] += dz[: np.count_nonzero(binding)]
    if limits is not None:
        limits.nu[limits.binding] += dz[np.count_nonzero(binding) :] / total
    # Far from the solution a full step can leave the region where the logarithms mean anything.
    return y + dy * min(1.0, 2.0 / max(np.max(np.abs(dy)), 1e-300)), z


def solve_saddle(H: "csc_array", P: "csc_array", top: Array, bottom: Array, scale: Array) -> tuple[Array, Array]:
    """Solve ``[H, -P'; -P, -R] [dy; dz] = [top; -bottom]``, R a vanishing proximal term, in units of y of this scale.

    H is positive definite but for margins, with which that is so where P dy = 0.
    """
    from scipy.sparse import block_array, diags_array
    from scipy.sparse.linalg import splu

    D = diags_array(scale)
    scaled = P @ D
    proximal = diags_array(np.full(P.shape[0], 1e-13 * max(1.0, abs(scaled).max() ** 2 if P.shape[0] else 1.0)))
    system = block_array([[D @ H @ D, -scaled.T], [-scaled, -proximal]], format="csc")
    try:
        solution = splu(system).solve(np.concatenate([scale * top, -bottom]))
    except RuntimeError as error:  # so it says that a factor is singular, as entries that are not finite make it
        raise np.linalg.LinAlgError(str(error)) from error
    return scale * solution[: H.shape[0]], solution[H.shape[0] :]
