"""The epigraph program in CVXPY: second-order cones for Gaussian arms, exponential cones for the others.

Margins of Poisson and Bernoulli arms have cones by the dual of their inner problem; those of exponential, gamma and
geometric arms have linear cuts.
"""

from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array

from caet_opt.bandits.families import Bernoulli, Poisson
from caet_opt.bandits.families.base import relative_entropies
from caet_opt.bandits.families.numerics import Array
from caet_opt.solving.problem import Problem, Shape
from caet_opt.solving.programs.cuts import FIRST_FACTORS, Cuts
from caet_opt.solving.programs.scaling import Units, centred_pairs, dual_point, scaled_rows, units


class ConicProgram:
    """``max t`` subject to, with ``w = unit * x``, ``W = w_a + w_b`` and any centre between the two means,

        t <= w_a d(mu_a, centre) + w_b d(mu_b, centre) - v_e,      v_e >= W d(s / W, centre)     for each pair
        t <= `DualCones` or `LinearCuts`                                                        for each margin
        t <= w_a d(mu_a, mu_b)                                                                  for each anchor
        sum of cost shares = 1,     G w <= 0  or  = 0  for each limit,     x >= 0.

    Means and costs enter through parameters only, so that a new instance of the shape is an update (DPP).
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.x = cp.Variable(shape.arms, nonneg=True)
        self.t = cp.Variable()
        self.shares = cp.Parameter(shape.arms, nonneg=True)
        self.parts = list_parts(shape, self.x, self.t)
        constraints = [self.shares @ self.x == 1, *(one for _, part in self.parts for one in part.constraints)]
        if shape.anchored:
            self.anchor_rates = cp.Parameter(len(shape.anchored), nonneg=True)
            self.anchors = self.t <= cp.multiply(self.anchor_rates, self.x[list(shape.anchored)])
            constraints.append(self.anchors)
        if shape.limits:
            self.rows = cp.Parameter((len(shape.limits), shape.arms))
            self.most = [
                row == 0 if equal else row <= 0 for row, equal in zip(self.rows @ self.x, shape.limits, strict=True)
            ]
            constraints += self.most
        self.problem = cp.Problem(cp.Maximize(self.t), constraints)

    def update(self, problem: Problem) -> Units:
        """Set the parameters to an instance; returns the units in which it is solved."""
        scale = units(problem)
        self.shares.value = scale.shares
        for _, part in self.parts:
            part.update(problem, scale)
        if problem.shape.anchored:
            self.anchor_rates.value = problem.rates * (scale.effort / scale.information)[problem.anchored]
        if problem.shape.limits:
            self.rows.value = scaled_rows(problem, scale)
        return scale

    def tighten(self) -> bool:
        """Add linear cuts where the present point needs them; whether it did."""
        return any(part.tighten(self.x.value, float(self.t.value)) for _, part in self.parts)

    def multipliers(self) -> Array:
        """The dual values of the terms: edges, then anchors."""
        found = np.zeros(len(self.shape.edges))
        for edges, part in self.parts:
            found[edges] = part.multipliers()
        return np.append(found, np.atleast_1d(self.anchors.dual_value) if self.shape.anchored else [])

    def row_multipliers(self) -> Array:
        """The dual values of the limits."""
        return np.array([float(row.dual_value) for row in self.most]) if self.shape.limits else np.zeros(0)


class Part:
    """Edges of one kind: their terms, their constraints, those that bound t, and what an instance changes in them."""

    terms: Any
    constraints: list[Any]
    bounds: Any

    @property
    def cones(self) -> list[Any]:
        """The constraints that define the terms, beside those that bound t by them."""
        return [constraint for constraint in self.constraints if constraint is not self.bounds]

    def update(self, problem: Problem, scale: Units) -> None:
        """Set the parameters to an instance."""
        raise NotImplementedError

    def tighten(self, x: Array, t: float) -> bool:
        """Add linear cuts at a point, if there are any; whether the point violates one."""
        return False

    def multipliers(self) -> Array:
        """The dual value of each edge."""
        return np.atleast_1d(self.bounds.dual_value)


class PairCones(Part):
    """``t <= rate_a x_a + rate_b x_b - v`` with ``v >= W d(s / W, centre)`` by the family's cones."""

    def __init__(self, shape: Shape, x: Any, t: Any) -> None:
        head, tail = (selection(shape, shape.pairs, side) @ x for side in range(2))
        self.rates = tuple(cp.Parameter(len(shape.pairs), nonneg=True) for _ in range(2))
        probe = np.array([0.5])
        self.forms = [
            (cp.Parameter(len(shape.pairs)), cp.Parameter(len(shape.pairs)))
            for _ in shape.family.conic_coefficients(probe, probe)
        ]
        loss = cp.Variable(len(shape.pairs))
        self.terms = cp.multiply(self.rates[0], head) + cp.multiply(self.rates[1], tail) - loss
        self.bounds = t <= self.terms
        forms = [cp.multiply(a, head) + cp.multiply(b, tail) for a, b in self.forms]
        self.constraints = [self.bounds, *shape.family.conic_constraints(loss, *forms)]

    def update(self, problem: Problem, scale: Units) -> None:
        means, unit, rates, centre = centred_pairs(problem, scale)
        for side in range(2):
            self.rates[side].value = rates[side]
            coefficients = problem.family.conic_coefficients(means[side], centre)
            for form, coefficient in zip(self.forms, coefficients, strict=True):
                form[side].value = np.asarray(coefficient, dtype=float) * unit[side]


class DualCones(Part):
    """The term of a margin e as a maximum, jointly concave in efforts and multipliers, with relative entropies kl:

        Poisson     max over L >= 0 of        L gap - mu_a kl(w_a, w_a + L) - mu_b kl(w_b, w_b - L)
        Bernoulli   max over L, A, B >= 0 of  L gap - mu_a kl(w_a, A + L) - (1 - mu_a) kl(w_a, A)
                                                    - mu_b kl(w_b, B - L) - (1 - mu_b) kl(w_b, B)

    where gap is mu_a - mu_b - e; docs/mathematics/programs.md derives it.
    """

    def __init__(self, shape: Shape, x: Any, t: Any) -> None:
        size = len(shape.margins)
        head, tail = (selection(shape, shape.margins, side) @ x for side in range(2))
        link, loss = cp.Variable(size, nonneg=True), cp.Variable(size)
        self.gain, self.most = cp.Parameter(size, nonneg=True), cp.Parameter(size, nonneg=True)
        self.weights, self.links, self.fails = (
            tuple(cp.Parameter(size, nonneg=True) for _ in range(2)) for _ in range(3)
        )
        sides, forms = [head, tail], []
        if shape.family is Bernoulli:
            sides = [cp.Variable(size, nonneg=True), cp.Variable(size, nonneg=True)]
            for fails, effort, side in zip(self.fails, (head, tail), sides, strict=True):
                forms += [cp.multiply(fails, effort), cp.multiply(fails, side)]
        for sign, weights, links, effort, side in zip(
            (1, -1), self.weights, self.links, (head, tail), sides, strict=True
        ):
            forms += [cp.multiply(weights, effort), cp.multiply(weights, side) + sign * cp.multiply(links, link)]
        self.terms = cp.multiply(self.gain, link) - loss
        self.bounds = t <= self.terms
        # that B >= L, or w_b >= L, is in the entropies only where mu_b is not 0
        domain = sides[1] >= cp.multiply(self.most, link)
        self.constraints = [self.bounds, domain, *relative_entropies(loss, *forms)]

    def update(self, problem: Problem, scale: Units) -> None:
        edges = list(problem.shape.margins)
        unit = scale.effort / scale.information
        links, _, _ = dual_point(problem, unit)
        self.gain.value = -problem.differences[edges] * links
        self.most.value = links / unit[problem.tails[edges]]
        for side, arms in enumerate((problem.heads[edges], problem.tails[edges])):
            means, rests = problem.means[arms], problem.rests[arms]
            self.weights[side].value, self.links[side].value = means * unit[arms], means * links
            self.fails[side].value = np.maximum((1.0 - means) - rests, 0.0) * unit[arms]


class LinearCuts(Part):
    """``t <= w_a d(mu_a, x) + w_b d(mu_b, x - e)`` at the points x of `Cuts`."""

    def __init__(self, shape: Shape, x: Any, t: Any) -> None:
        self.shape = (len(shape.margins), len(FIRST_FACTORS))
        self.rates = [cp.Parameter(self.shape, nonneg=True) for _ in range(2)]
        ones = np.ones((1, self.shape[1]))
        sides = [
            cp.reshape(selection(shape, shape.margins, side) @ x, (self.shape[0], 1), "C") @ ones for side in (0, 1)
        ]
        self.terms = cp.multiply(self.rates[0], sides[0]) + cp.multiply(self.rates[1], sides[1])
        self.bounds = t <= self.terms
        self.constraints = [self.bounds]

    def update(self, problem: Problem, scale: Units) -> None:
        self.cuts = Cuts(problem, scale)
        self.show()

    def show(self) -> None:
        """Hand the present cuts to the program."""
        for parameter, rates in zip(self.rates, self.cuts.rates, strict=True):
            parameter.value = rates

    def tighten(self, x: Array, t: float) -> bool:
        found = self.cuts.tighten(x, t)
        self.show()
        return found

    def multipliers(self) -> Array:
        return np.asarray(np.sum(np.maximum(self.bounds.dual_value, 0.0), axis=1))


def list_parts(shape: Shape, x: Any, t: Any) -> list[tuple[list[int], Part]]:
    """The edges of each kind, and their part of a program in x and t."""
    parts: list[tuple[list[int], Part]] = []
    if shape.pairs:
        parts.append((list(shape.pairs), PairCones(shape, x, t)))
    if shape.margins:
        kind = DualCones if shape.family in (Bernoulli, Poisson) else LinearCuts
        parts.append((list(shape.margins), kind(shape, x, t)))
    return parts


def selection(shape: Shape, edges: tuple[int, ...], side: int) -> csr_array:
    """The sparse matrix that picks one arm of each of these edges."""
    columns = [shape.edges[edge][side] for edge in edges]
    ones = np.ones(len(columns))
    return csr_array((ones, (np.arange(len(columns)), columns)), shape=(len(columns), shape.arms))
