"""Any Pyomo model that maximises a variable, handed to the Ipopt that is installed as a library."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from caet_opt.bandits.families.numerics import Array
from caet_opt.errors import InputError
from caet_opt.solving.backends.ipopt import Ipopt, run_once
from caet_opt.solving.problem import Indices
from caet_opt.solving.profiles import Profile
from caet_opt.solving.programs.algebraic import Block, stack
from caet_opt.solving.programs.scaling import INFINITE, IpoptProgram


def solve_model(model: Any, maximised: Any, options: Mapping[str, Any]) -> None:
    """Maximise a variable of a model subject to its active constraints; leaves values, and multipliers in its ``dual``.

    They have the signs that Pyomo's solvers give them: an upper bound that binds has a positive one.
    """
    Ipopt.require()
    program = ModelProgram(model, maximised)
    start = np.array([0.0 if one.value is None else one.value for one in program.list], dtype=float)
    z, multipliers, _ = run_once(program, start, None, Profile("ipopt", options=dict(options)), None)
    for variable, value in zip(program.list, z.tolist(), strict=True):
        if not variable.fixed:
            variable.set_value(value, skip_validation=True)
    for constraint, multiplier in zip(program.rows, multipliers.tolist(), strict=True):
        model.dual[constraint] = multiplier


class ModelProgram(IpoptProgram):
    """The active constraints of a model, each differentiated and compiled by itself, and the variable to maximise,
    which comes last."""

    def __init__(self, model: Any, maximised: Any) -> None:
        found = list(model.component_data_objects(pyo.Var))
        self.list = [*(variable for variable in found if variable is not maximised), maximised]
        if any(not variable.is_continuous() for variable in self.list):
            raise InputError("Ipopt is for continuous variables; solve the model with another solver of Pyomo's")
        self.variables = len(self.list)
        column = {id(variable): place for place, variable in enumerate(self.list)}
        self.rows = list(model.component_data_objects(pyo.Constraint, active=True))
        self.blocks = [Block([constraint], column, row) for row, constraint in enumerate(self.rows)]

    def bounds(self) -> tuple[Array, Array]:
        ends = [(one.value, one.value) if one.fixed else (one.lb, one.ub) for one in self.list]
        low = [-INFINITE if least is None else least for least, _ in ends]
        return np.array(low, dtype=float), np.array(
            [INFINITE if most is None else most for _, most in ends], dtype=float
        )

    def limits(self) -> tuple[Array, Array]:
        return tuple(np.concatenate([getattr(one, end) for one in self.blocks]) for end in ("least", "most"))  # type: ignore[return-value]

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
