"""The epigraph program as a nonlinear program with analytic sparse derivatives, in the form that Ipopt calls."""

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.solving.problem import Indices, Problem, Shape
from caet_opt.solving.programs.scaling import IpoptProgram, Units, units


class NonlinearProgram(IpoptProgram):
    """``min -t`` over ``(x, t)`` subject to ``f_e(unit * x) - t >= 0`` for each pair and ``shares . x = 1``.

    The gradient of an edge's term in w is ``(d(mu_a, m), d(mu_b, m))`` and its Hessian ``-k v v'`` with
    ``v = (w_b, -w_a)`` and ``k = gap^2 / (V(m) (w_a + w_b)^3)``: three numbers per edge. The sparsity is fixed by
    the shape; `update` changes the numbers.
    """

    def __init__(self, shape: Shape) -> None:
        self.heads = np.array([a for a, _ in shape.edges], dtype=np.intp)
        self.tails = np.array([b for _, b in shape.edges], dtype=np.intp)
        self.anchored = np.array(shape.anchored, dtype=np.intp)
        edges, anchors, n = len(shape.edges), len(shape.anchored), shape.arms
        self.variables, self.terms = n + 1, edges + anchors
        edge, anchor, every = np.arange(edges), edges + np.arange(anchors), np.arange(self.terms)
        self._jacobian_structure = (
            np.concatenate([edge, edge, anchor, every, np.full(n, self.terms)]),
            np.concatenate([self.heads, self.tails, self.anchored, np.full(self.terms, n), np.arange(n)]),
        )
        low, high = np.minimum(self.heads, self.tails), np.maximum(self.heads, self.tails)
        self._hessian_structure = (
            np.concatenate([self.heads, self.tails, high]),
            np.concatenate([self.heads, self.tails, low]),
        )

    def update(self, problem: Problem) -> Units:
        """Set the numbers to an instance; returns the units in which it is solved."""
        self.instance, self.scale = problem, units(problem)
        return self.scale

    def constraints(self, z: Array) -> Array:
        terms = self.instance.terms(self.scale.effort * z[:-1]) / self.scale.information
        return np.append(terms - z[-1], self.scale.shares @ z[:-1])

    def jacobian(self, z: Array) -> Array:
        _, da, db = self.instance.term_gradients(self.scale.effort * z[:-1])
        unit = self.scale.effort / self.scale.information
        anchors = self.instance.rates * unit[self.anchored]
        return np.concatenate(
            [da * unit[self.heads], db * unit[self.tails], anchors, -np.ones(self.terms), self.scale.shares]
        )

    def hessian(self, z: Array, multipliers: Array, objective_factor: float) -> Array:
        unit, w = self.scale.effort, self.scale.effort * z[:-1]
        wa, wb = w[self.heads], w[self.tails]
        m, _, _ = self.instance.term_gradients(w)
        total = wa + wb
        k = (self.instance.differences / total) ** 2 / (self.instance.family.unit_variance(m) * total)
        k = multipliers[: len(self.heads)] * k / self.scale.information
        ua, ub = unit[self.heads], unit[self.tails]
        return np.concatenate([-k * (wb * ua) ** 2, -k * (wa * ub) ** 2, k * wa * wb * ua * ub])

    def jacobianstructure(self) -> tuple[Indices, Indices]:
        return self._jacobian_structure

    def hessianstructure(self) -> tuple[Indices, Indices]:
        return self._hessian_structure
