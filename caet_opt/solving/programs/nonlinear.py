"""The epigraph program as a nonlinear program with analytic sparse derivatives, in the form that Ipopt calls."""

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.solving.problem import EdgeTerms, Indices, Problem, Shape
from caet_opt.solving.programs.scaling import INFINITE, IpoptProgram, Units, scaled_rows, units


class NonlinearProgram(IpoptProgram):
    """``min -t`` over ``(x, t)`` subject to ``f_e(unit * x) - t >= 0`` for each term, ``shares . x = 1``, and limits.

    The gradient of an edge's term in w is ``(d(mu_a, x), d(mu_b, y))`` at the means where it is least, and its Hessian
    ``-bend v v'`` with ``v = (1 / w_a, -1 / w_b)``: three numbers per edge. A statement whose term may have two minima
    is two edges. The sparsity is fixed by the shape; `update` changes the numbers.
    """

    def __init__(self, shape: Shape) -> None:
        self.heads = np.array([a for a, _ in shape.edges], dtype=np.intp)
        self.tails = np.array([b for _, b in shape.edges], dtype=np.intp)
        self.anchored = np.array(shape.anchored, dtype=np.intp)
        edges, anchors, n = len(shape.edges), len(shape.anchored), shape.arms
        self.variables, self.terms = n + 1, edges + anchors
        edge, anchor, every = np.arange(edges), edges + np.arange(anchors), np.arange(self.terms)
        self.equal = np.array(shape.limits, dtype=bool)
        lines = 1 + len(shape.limits)  # the budget, then the limits
        self._jacobian_structure = (
            np.concatenate([edge, edge, anchor, every, np.repeat(self.terms + np.arange(lines), n)]),
            np.concatenate(
                [self.heads, self.tails, self.anchored, np.full(self.terms, n), np.tile(np.arange(n), lines)]
            ),
        )
        low, high = np.minimum(self.heads, self.tails), np.maximum(self.heads, self.tails)
        self._hessian_structure = (
            np.concatenate([self.heads, self.tails, high]),
            np.concatenate([self.heads, self.tails, low]),
        )

    def update(self, problem: Problem) -> Units:
        """Set the numbers to an instance; returns the units in which it is solved."""
        self.instance, self.scale, self.point = problem, units(problem), np.zeros(0)
        self.rows = scaled_rows(problem, self.scale)
        return self.scale

    def limits(self) -> tuple[Array, Array]:
        none, most = np.where(self.equal, 0.0, -INFINITE), np.zeros(self.equal.size)
        every = np.full(self.terms, INFINITE)
        return np.concatenate([np.zeros(self.terms), [1.0], none]), np.concatenate([every, [1.0], most])

    def weights(self, multipliers: Array) -> Array:
        return np.asarray(np.maximum(-multipliers[: self.terms], 0.0))

    def row_multipliers(self, multipliers: Array) -> Array:
        return multipliers[self.terms + 1 :]

    def edge_terms(self, z: Array) -> EdgeTerms:
        """The terms of the edges at a point, found once for all the functions that Ipopt asks for there."""
        if not np.array_equal(z, self.point):
            self.point, self.found = z.copy(), self.instance.edge_terms(self.scale.effort * z[:-1])
        return self.found

    def constraints(self, z: Array) -> Array:
        unit, x = self.scale.effort / self.scale.information, z[:-1]
        edges = self.edge_terms(z).values / self.scale.information
        anchors = self.instance.rates * unit[self.anchored] * x[self.anchored]
        return np.concatenate([edges - z[-1], anchors - z[-1], [self.scale.shares @ x], self.rows @ x])

    def jacobian(self, z: Array) -> Array:
        found, unit = self.edge_terms(z), self.scale.effort / self.scale.information
        heads, tails = found.head_rates * unit[self.heads], found.tail_rates * unit[self.tails]
        anchors = self.instance.rates * unit[self.anchored]
        return np.concatenate([heads, tails, anchors, -np.ones(self.terms), self.scale.shares, self.rows.ravel()])

    def hessian(self, z: Array, multipliers: Array, objective_factor: float) -> Array:
        bends = multipliers[: len(self.heads)] * self.edge_terms(z).bends / self.scale.information
        xa, xb = z[self.heads], z[self.tails]
        return np.concatenate([-bends / xa**2, -bends / xb**2, bends / xa / xb])

    def jacobianstructure(self) -> tuple[Indices, Indices]:
        return self._jacobian_structure

    def hessianstructure(self) -> tuple[Indices, Indices]:
        return self._hessian_structure
