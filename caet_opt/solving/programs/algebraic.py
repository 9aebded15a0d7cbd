"""The epigraph program in Pyomo, and the bridge that hands a Pyomo model to Ipopt with exact derivatives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
import sympy
from pyomo.core.expr.sympy_tools import sympyify_expression
from pyomo.core.expr.visitor import identify_mutable_parameters, identify_variables, replace_expressions

from caet_opt.bandits.families.numerics import Array
from caet_opt.solving.problem import Indices, Problem, Shape
from caet_opt.solving.programs.scaling import IpoptProgram, Units, centred_rates, centres, units


def algebraic_model(shape: Shape) -> Any:
    """The Pyomo model of a shape. With ``w = weight * x``, ``W = w_a + w_b`` and ``m = (w_a mu_a + w_b mu_b) / W``,

        max t  s.t.  t <= rate_a x_a + rate_b x_b - W d(m, centre)   for each edge,
                     t <= rate x_a                                   for each anchor,     share . x = 1,

    where the rates are the divergences from the centre. All numbers are mutable parameters.
    """
    model = pyo.ConcreteModel()
    model.arms = pyo.RangeSet(0, shape.arms - 1)
    model.edges = pyo.RangeSet(0, len(shape.edges) - 1)
    model.anchors = pyo.RangeSet(0, len(shape.anchored) - 1)
    model.x = pyo.Var(model.arms, initialize=1.0)
    model.t = pyo.Var(initialize=1.0)
    for name in ("mean", "weight", "share"):
        setattr(model, name, pyo.Param(model.arms, mutable=True, initialize=0.5))
    for name in ("centre", "rate_head", "rate_tail"):
        setattr(model, name, pyo.Param(model.edges, mutable=True, initialize=0.25))
    model.rate = pyo.Param(model.anchors, mutable=True, initialize=1.0)

    def edge_rule(m: Any, e: int) -> Any:
        a, b = shape.edges[e]
        wa, wb = m.weight[a] * m.x[a], m.weight[b] * m.x[b]
        total = wa + wb
        mean = (wa * m.mean[a] + wb * m.mean[b]) / total
        loss = total * shape.family.algebraic_divergence(mean, m.centre[e], pyo.log)
        return m.rate_head[e] * m.x[a] + m.rate_tail[e] * m.x[b] - loss - m.t >= 0

    def anchor_rule(m: Any, i: int) -> Any:
        return m.rate[i] * m.x[shape.anchored[i]] - m.t >= 0

    model.edge = pyo.Constraint(model.edges, rule=edge_rule)
    model.anchor = pyo.Constraint(model.anchors, rule=anchor_rule)
    model.budget = pyo.Constraint(expr=sum(model.share[a] * model.x[a] for a in model.arms) == 1)
    model.information = pyo.Objective(expr=model.t, sense=pyo.maximize)
    return model


class AlgebraicProgram(IpoptProgram):
    """A Pyomo model with the callbacks that Ipopt wants, its parameters updated in place."""

    def __init__(self, shape: Shape) -> None:
        self.model = model = algebraic_model(shape)
        variables = [*model.x.values(), model.t]
        column = {id(variable): i for i, variable in enumerate(variables)}
        blocks = [list(model.edge.values()), list(model.anchor.values()), [model.budget]]
        self.blocks, row = [], 0
        for block in filter(None, blocks):
            self.blocks.append(Block(block, column, row))
            row += len(block)

    def update(self, problem: Problem) -> Units:
        """Set the mutable parameters to an instance; returns the units in which it is solved."""
        scale = units(problem)
        head, tail = centred_rates(problem, scale)
        unit = scale.effort / scale.information
        for parameter, values in (
            (self.model.mean, problem.means),
            (self.model.weight, unit),
            (self.model.share, scale.shares),
            (self.model.centre, centres(problem)),
            (self.model.rate_head, head),
            (self.model.rate_tail, tail),
            (self.model.rate, problem.rates * unit[problem.anchored]),
        ):
            parameter.store_values(dict(enumerate(values.tolist())))
        for block in self.blocks:
            block.read_parameters()
        return scale

    def constraints(self, z: Array) -> Array:
        return np.concatenate([block.values(z) for block in self.blocks])

    def jacobian(self, z: Array) -> Array:
        return np.concatenate([block.gradients(z) for block in self.blocks])

    def hessian(self, z: Array, multipliers: Array, objective_factor: float) -> Array:
        return np.concatenate([block.hessians(z, multipliers) for block in self.blocks])

    def jacobianstructure(self) -> tuple[Indices, Indices]:
        return stack([block.jacobian_structure for block in self.blocks])

    def hessianstructure(self) -> tuple[Indices, Indices]:
        return stack([block.hessian_structure for block in self.blocks])


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
