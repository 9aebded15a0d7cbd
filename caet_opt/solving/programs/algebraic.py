"""The epigraph program in Pyomo, and the bridge that hands a Pyomo model to Ipopt with exact derivatives."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
import sympy
from pyomo.core.expr.sympy_tools import sympyify_expression
from pyomo.core.expr.visitor import identify_mutable_parameters, identify_variables, replace_expressions

from caet_opt.bandits.families import Bernoulli, Poisson
from caet_opt.bandits.families.numerics import Array
from caet_opt.solving.problem import Indices, Problem, Shape
from caet_opt.solving.programs.cuts import FIRST_FACTORS, Cuts
from caet_opt.solving.programs.scaling import (
    INFINITE,
    IpoptProgram,
    Units,
    centred_pairs,
    dual_point,
    scaled_rows,
    units,
)


def algebraic_model(shape: Shape) -> Any:
    """The Pyomo model of a shape. With ``w = weight * x``, ``W = w_a + w_b`` and ``m = (w_a mu_a + w_b mu_b) / W``,

        max t  s.t.  t <= rate_a x_a + rate_b x_b - W d(m, centre)   for each pair,
                     t <= `add_duals` or `add_cuts`                  for each margin,
                     t <= rate x_a                                   for each anchor,     share . x = 1,
                     row . x <= 0  or  = 0                           for each limit,

    where the rates are the divergences from the centre. All numbers are mutable parameters.
    """
    model = pyo.ConcreteModel()
    model.arms = pyo.RangeSet(0, shape.arms - 1)
    model.pairs = pyo.Set(initialize=shape.pairs)
    model.margins = pyo.Set(initialize=shape.margins)
    model.anchors = pyo.RangeSet(0, len(shape.anchored) - 1)
    model.x = pyo.Var(model.arms, initialize=1.0)
    model.t = pyo.Var(initialize=1.0)
    model.share = pyo.Param(model.arms, mutable=True, initialize=0.5)
    add_parameters(model, "pairs", "mean_head", "mean_tail", "weight_head", "weight_tail")
    add_parameters(model, "pairs", "rate_head", "rate_tail", "centre")
    model.rate = pyo.Param(model.anchors, mutable=True, initialize=1.0)

    def pair_rule(m: Any, e: int) -> Any:
        a, b = shape.edges[e]
        wa, wb = m.weight_head[e] * m.x[a], m.weight_tail[e] * m.x[b]
        total = wa + wb
        mean = (wa * m.mean_head[e] + wb * m.mean_tail[e]) / total
        loss = total * shape.family.algebraic_divergence(mean, m.centre[e], pyo.log)
        return m.rate_head[e] * m.x[a] + m.rate_tail[e] * m.x[b] - loss - m.t >= 0

    def anchor_rule(m: Any, i: int) -> Any:
        return m.rate[i] * m.x[shape.anchored[i]] - m.t >= 0

    model.pair = pyo.Constraint(model.pairs, rule=pair_rule)
    if shape.margins:
        (add_duals if has_duals(shape) else add_cuts)(model, shape)
    model.anchor = pyo.Constraint(model.anchors, rule=anchor_rule)
    model.budget = pyo.Constraint(expr=sum(model.share[a] * model.x[a] for a in model.arms) == 1)
    if shape.limits:
        add_limits(model, shape)
    model.information = pyo.Objective(expr=model.t, sense=pyo.maximize)
    return model


def add_limits(model: Any, shape: Shape) -> None:
    """``row . x <= 0``, or ``= 0``, for each limit."""
    model.limits = pyo.RangeSet(0, len(shape.limits) - 1)
    model.row = pyo.Param(model.limits, model.arms, mutable=True, initialize=0.25)

    def limit_rule(m: Any, i: int) -> Any:
        line = sum(m.row[i, a] * m.x[a] for a in m.arms)
        return line == 0 if shape.limits[i] else line <= 0

    model.limit = pyo.Constraint(model.limits, rule=limit_rule)


def add_parameters(model: Any, index: str, *names: str) -> None:
    """Mutable parameters over an index."""
    for name in names:
        setattr(model, name, pyo.Param(getattr(model, index), mutable=True, initialize=0.25))


def has_duals(shape: Shape) -> bool:
    """Whether the margins of a shape are written by the dual of their inner problem."""
    return shape.family in (Bernoulli, Poisson)


def add_duals(model: Any, shape: Shape) -> None:
    """The term of a margin as a maximum over ``L, A, G >= 0``, with ``kl(x, y) = x log(x / y) - x + y``:

        Poisson     L gap - mu_a kl(w_a, w_a + L) - mu_b kl(w_b, G),      G + L = w_b
        Bernoulli   L gap - mu_a kl(w_a, A + L) - (1 - mu_a) kl(w_a, A) - mu_b kl(w_b, G) - (1 - mu_b) kl(w_b, G + L)

    These variables are measured in their values at the first guess.
    """
    add_parameters(model, "margins", "gap", "success_head", "success_tail", "failure_head", "failure_tail")
    add_parameters(model, "margins", "weight_a", "weight_b", "link_unit", "fail_unit", "left_unit")
    model.link, model.left = (pyo.Var(model.margins, initialize=1.0) for _ in range(2))
    is_poisson = shape.family is Poisson
    if not is_poisson:
        model.fail = pyo.Var(model.margins, initialize=1.0)

    def dual_rule(m: Any, e: int) -> Any:
        a, b = shape.edges[e]
        wa, wb, link, left = m.weight_a[e] * m.x[a], m.weight_b[e] * m.x[b], m.link_unit[e] * m.link[e], left_of(m, e)
        fail = wa if is_poisson else m.fail_unit[e] * m.fail[e]
        loss = m.success_head[e] * entropy(wa, fail + link) + m.success_tail[e] * entropy(wb, left)
        if not is_poisson:
            loss += m.failure_head[e] * entropy(wa, fail) + m.failure_tail[e] * entropy(wb, left + link)
        return m.gap[e] * link - loss - m.t >= 0

    def balance_rule(m: Any, e: int) -> Any:
        return left_of(m, e) + m.link_unit[e] * m.link[e] - m.weight_b[e] * m.x[shape.edges[e][1]] == 0

    def left_of(m: Any, e: int) -> Any:
        return m.left_unit[e] * m.left[e]

    model.inner = pyo.Constraint(model.margins, rule=dual_rule)
    if is_poisson:
        model.balance = pyo.Constraint(model.margins, rule=balance_rule)


def entropy(x: Any, y: Any) -> Any:
    """``kl(x, y) = x log(x / y) - x + y``."""
    return x * pyo.log(x / y) - x + y


def add_cuts(model: Any, shape: Shape) -> None:
    """``t <= cut_head x_a + cut_tail x_b`` for each of the `Cuts` of a margin."""
    model.cuts = pyo.RangeSet(0, len(FIRST_FACTORS) - 1)
    for name in ("cut_head", "cut_tail"):
        setattr(model, name, pyo.Param(model.margins, model.cuts, mutable=True, initialize=1.0))

    def cut_rule(m: Any, e: int, k: int) -> Any:
        a, b = shape.edges[e]
        return m.cut_head[e, k] * m.x[a] + m.cut_tail[e, k] * m.x[b] - m.t >= 0

    model.cut = pyo.Constraint(model.margins, model.cuts, rule=cut_rule)


class AlgebraicProgram(IpoptProgram):
    """A Pyomo model with the callbacks that Ipopt wants, its parameters updated in place."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.model = model = algebraic_model(shape)
        hidden = [getattr(model, name, {}) for name in ("link", "left", "fail")]
        self._list = [*model.x.values(), *(one for group in hidden for one in group.values()), model.t]
        self.variables = len(self._list)

    @cached_property
    def blocks(self) -> dict[str, "Block"]:
        """The constraints by kind, compiled when they are first asked for."""
        column = {id(variable): i for i, variable in enumerate(self._list)}
        found: dict[str, Block] = {}
        row = 0
        for name in ("pair", "inner", "cut", "balance", "anchor", "budget", "limit"):
            block = list(getattr(self.model, name, {}).values())
            if block:
                found[name] = Block(block, column, row)
                row += len(block)
        return found

    def update(self, problem: Problem, scale: Units | None = None) -> Units:
        """Set the mutable parameters to an instance; returns the units in which it is solved, those of its first guess
        unless others are given."""
        model, scale = self.model, scale or units(problem)
        self.problem, self.unit = problem, scale.effort / scale.information
        pairs = centred_pairs(problem, scale)
        for name, sides in (("mean", pairs.means), ("weight", pairs.units), ("rate", pairs.rates)):
            for side, values in zip(("head", "tail"), sides, strict=True):
                store(getattr(model, f"{name}_{side}"), values)
        store(model.centre, pairs.centre)
        store(model.share, scale.shares)
        if self.shape.limits:
            store(model.row, scaled_rows(problem, scale).ravel())
        store(model.rate, problem.rates * self.unit[problem.anchored])
        if self.shape.margins and has_duals(self.shape):
            self._update_duals(problem)
        elif self.shape.margins:
            self.cuts = Cuts(problem, scale)
            self._show_cuts()
        for block in vars(self).get("blocks", {}).values():
            block.read_parameters()
        return scale

    def _update_duals(self, problem: Problem) -> None:
        edges, unit, model = list(self.shape.margins), self.unit, self.model
        heads, tails = problem.heads[edges], problem.tails[edges]
        link, fail, left = self.duals = dual_point(problem, unit)
        failures = (1.0 - problem.means) - problem.rests
        for parameter, values in (
            (model.gap, -problem.differences[edges]),
            (model.success_head, problem.means[heads]),
            (model.success_tail, problem.means[tails]),
            (model.failure_head, failures[heads]),
            (model.failure_tail, failures[tails]),
            (model.weight_a, unit[heads]),
            (model.weight_b, unit[tails]),
            (model.link_unit, link),
            (model.fail_unit, fail),
            (model.left_unit, left),
        ):
            store(parameter, values)

    def _show_cuts(self) -> None:
        """Hand the present cuts to the program."""
        for parameter, rates in zip((self.model.cut_head, self.model.cut_tail), self.cuts.rates, strict=True):
            store(parameter, rates.ravel())

    def tighten(self, z: Array) -> bool:
        if "cut" not in self.blocks:
            return False
        found = self.cuts.tighten(z[: self.shape.arms], float(z[-1]))
        self._show_cuts()
        self.blocks["cut"].read_parameters()
        return found

    def limits(self) -> tuple[Array, Array]:
        least = np.concatenate([block.least for block in self.blocks.values()])
        return least, np.concatenate([block.most for block in self.blocks.values()])

    def weights(self, multipliers: Array) -> Array:
        found = np.zeros(len(self.shape.edges) + len(self.shape.anchored))
        by_name = {name: np.maximum(-multipliers[block.rows], 0.0) for name, block in self.blocks.items()}
        edges = {"pair": self.shape.pairs, "inner": self.shape.margins, "cut": self.shape.margins}
        for name, places in edges.items():
            if name in by_name:
                found[list(places)] = by_name[name].reshape(len(places), -1).sum(axis=1)
        found[len(self.shape.edges) :] = by_name.get("anchor", ())
        return found

    def row_multipliers(self, multipliers: Array) -> Array:
        return multipliers[self.blocks["limit"].rows] if self.shape.limits else np.zeros(0)

    def warm_start(self, x: Array, t: float, weights: Array) -> tuple[Array, Array] | None:
        """As there; those of the duals follow from x. Linear cuts start anew."""
        if "cut" in self.blocks:
            return None
        rows = {name: np.zeros(len(block.rows)) for name, block in self.blocks.items()}
        rows["budget"][:] = t
        rows["anchor"] = -weights[len(self.shape.edges) :]
        rows["pair"], hidden = -weights[list(self.shape.pairs)], np.zeros(0)
        if "inner" in rows:
            edges = list(self.shape.margins)
            rows["inner"] = -weights[edges]
            link, fail, left = dual_point(self.problem, self.unit * x)
            tails = self.problem.tails[edges]
            # the derivative of the term in G, which the equation G + L = w_b holds back
            rows["balance"] = weights[edges] * self.problem.means[tails] * (self.unit[tails] * x[tails] / left - 1.0)
            shares = [
                now / unit for now, unit in zip((link, left, fail), np.take(self.duals, (0, 2, 1), 0), strict=True)
            ]
            hidden = np.concatenate(shares[: 2 if "balance" in self.blocks else 3])
        return np.concatenate([x, hidden, [t]]), np.concatenate([rows[name] for name in self.blocks])

    def constraints(self, z: Array) -> Array:
        return np.concatenate([block.values(z) for block in self.blocks.values()])

    def jacobian(self, z: Array) -> Array:
        return np.concatenate([block.gradients(z) for block in self.blocks.values()])

    def hessian(self, z: Array, multipliers: Array, objective_factor: float) -> Array:
        return np.concatenate([block.hessians(z, multipliers) for block in self.blocks.values()])

    def jacobianstructure(self) -> tuple[Indices, Indices]:
        return stack([block.jacobian_structure for block in self.blocks.values()])

    def hessianstructure(self) -> tuple[Indices, Indices]:
        return stack([block.hessian_structure for block in self.blocks.values()])


def store(parameter: Any, values: Array) -> None:
    """Set a mutable parameter to values in the order of its index."""
    parameter.store_values(dict(zip(parameter.keys(), values.tolist(), strict=True)))


class Block:
    """Constraints that are one formula in different variables and parameters.

    The formula is differentiated symbolically and compiled once, from the first constraint, and evaluated for all
    of them together.
    """

    def __init__(self, constraints: Sequence[Any], column: dict[int, int], first_row: int) -> None:
        bodies = [constraint.body for constraint in constraints]
        variables = [list(identify_variables(body)) for body in bodies]
        self.parameters = [list(identify_mutable_parameters(body)) for body in bodies]
        self.columns = np.array([[column[id(v)] for v in row] for row in variables], dtype=np.intp).T
        self.rows = first_row + np.arange(len(bodies))
        self.least = np.array([-INFINITE if one.lb is None else one.lb for one in constraints], dtype=float)
        self.most = np.array([INFINITE if one.ub is None else one.ub for one in constraints], dtype=float)
        self._compile(bodies[0], variables[0], self.parameters[0])
        self.read_parameters()

    def _compile(self, body: Any, variables: list[Any], parameters: list[Any]) -> None:
        # Pyomo's translation folds an indexed parameter into its value, so variables stand in for parameters.
        stand_ins = pyo.VarList()
        stand_ins.construct()
        substitution = {id(parameter): stand_ins.add() for parameter in parameters}
        objects, formula = sympyify_expression(replace_expressions(body, substitution))
        symbols = [objects.getSympySymbol(v) for v in variables]
        arguments = symbols + [objects.getSympySymbol(substitution[id(p)]) for p in parameters]
        gradient = [sympy.diff(formula, s) for s in symbols]
        second = {(i, j): sympy.diff(gradient[i], symbols[j]) for i in range(len(symbols)) for j in range(i + 1)}
        self.second = [place for place, entry in second.items() if entry != 0]
        self._value = compile_expressions(arguments, [formula])
        self._gradient = compile_expressions(arguments, gradient)
        self._second = compile_expressions(arguments, [second[place] for place in self.second])

    def read_parameters(self) -> None:
        """Take over the present values of the mutable parameters."""
        values = [[parameter.value for parameter in row] for row in self.parameters]
        self._numbers = list(np.array(values, dtype=float).T)

    def _evaluate(self, function: Callable[..., Any], z: Array) -> list[Array]:
        arguments = [*(z[column] for column in self.columns), *self._numbers]
        return [np.broadcast_to(entry, self.rows.shape) for entry in function(*arguments)]

    def values(self, z: Array) -> Array:
        return np.asarray(self._evaluate(self._value, z)[0])

    def gradients(self, z: Array) -> Array:
        return np.concatenate(self._evaluate(self._gradient, z))

    def hessians(self, z: Array, multipliers: Array) -> Array:
        if not self.second:
            return np.zeros(0)
        return np.concatenate([multipliers[self.rows] * entry for entry in self._evaluate(self._second, z)])

    @property
    def jacobian_structure(self) -> tuple[Indices, Indices]:
        return np.tile(self.rows, len(self.columns)), self.columns.ravel()

    @property
    def hessian_structure(self) -> tuple[Indices, Indices]:
        """Lower triangle; the order of two variables in the formula need not be that of their columns."""
        pairs = [(self.columns[i], self.columns[j]) for i, j in self.second]
        return stack([(np.maximum(a, b), np.minimum(a, b)) for a, b in pairs])


def compile_expressions(arguments: list[Any], expressions: list[Any]) -> Callable[..., Any]:
    """A NumPy function that evaluates the expressions, common parts once."""
    function: Callable[..., Any] = sympy.lambdify(arguments, expressions, modules="numpy", cse=True)
    return function


def stack(structures: Sequence[tuple[Indices, Indices]]) -> tuple[Indices, Indices]:
    """Join sparsity structures one after the other."""
    empty = np.zeros(0, dtype=np.intp)
    return (
        np.concatenate([empty, *(rows for rows, _ in structures)]),
        np.concatenate([empty, *(columns for _, columns in structures)]),
    )
