"""The epigraph program in CVXPY: second-order cones for Gaussian arms, exponential cones for the others."""

from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array

from caet_opt.bandits.families.numerics import Array
from caet_opt.solving.problem import Problem, Shape
from caet_opt.solving.programs.scaling import Units, centred_rates, centres, units


class ConicProgram:
    """``max t`` subject to, with ``w = unit * x``, ``W = w_a + w_b`` and any centre between the two means,

        t <= w_a d(mu_a, centre) + w_b d(mu_b, centre) - v_e,      v_e >= W d(s / W, centre)     for each edge
        t <= w_a d(mu_a, mu_b)                                                                  for each anchor
        sum of cost shares = 1,     x >= 0.

    Means and costs enter through parameters only, so that a new instance of the shape is an update (DPP).
    """

    def __init__(self, shape: Shape) -> None:
        edges, anchors = len(shape.edges), len(shape.anchored)
        self.x = cp.Variable(shape.arms, nonneg=True)
        self.t = cp.Variable()
        self.shares = cp.Parameter(shape.arms, nonneg=True)
        self.pair_constraints: list[Any] = []
        constraints: list[Any] = [self.shares @ self.x == 1]
        if edges:
            self.forms: list[tuple[Any, Any]] = []
            self.rates = (cp.Parameter(edges, nonneg=True), cp.Parameter(edges, nonneg=True))
            head, tail = selection(shape, 0) @ self.x, selection(shape, 1) @ self.x
            bound = cp.Variable(edges)
            gain = cp.multiply(self.rates[0], head) + cp.multiply(self.rates[1], tail)
            self.pair_constraints.append(self.t <= gain - bound)
            constraints += shape.family.conic_constraints(bound, *self._linear_forms(shape, head, tail))
        if anchors:
            self.anchor_rates = cp.Parameter(anchors, nonneg=True)
            self.pair_constraints.append(self.t <= cp.multiply(self.anchor_rates, self.x[list(shape.anchored)]))
        self.problem = cp.Problem(cp.Maximize(self.t), constraints + self.pair_constraints)

    def _linear_forms(self, shape: Shape, head: Any, tail: Any) -> list[Any]:
        """The family's linear forms of the two efforts of each edge, with parameters for coefficients."""
        probe = np.array([0.5])
        for _ in shape.family.conic_coefficients(probe, probe):
            self.forms.append((cp.Parameter(len(shape.edges)), cp.Parameter(len(shape.edges))))
        return [cp.multiply(a, head) + cp.multiply(b, tail) for a, b in self.forms]

    def update(self, problem: Problem) -> Units:
        """Set the parameters to an instance; returns the units in which it is solved."""
        scale = units(problem)
        self.shares.value = scale.shares
        unit = scale.effort / scale.information
        if problem.shape.edges:
            for parameter, rates in zip(self.rates, centred_rates(problem, scale), strict=True):
                parameter.value = rates
            for side, arms in enumerate((problem.heads, problem.tails)):
                coefficients = problem.family.conic_coefficients(problem.means[arms], centres(problem))
                for pair, coefficient in zip(self.forms, coefficients, strict=True):
                    pair[side].value = coefficient * unit[arms]
        if problem.shape.anchored:
            self.anchor_rates.value = problem.rates * unit[problem.anchored]
        return scale

    def multipliers(self) -> Array:
        """The dual values of the pair constraints: edges, then anchors."""
        return np.concatenate([np.atleast_1d(constraint.dual_value) for constraint in self.pair_constraints])


def selection(shape: Shape, side: int) -> csr_array:
    """The sparse matrix that picks one arm of every edge."""
    columns = [edge[side] for edge in shape.edges]
    ones = np.ones(len(columns))
    return csr_array((ones, (np.arange(len(columns)), columns)), shape=(len(columns), shape.arms))
