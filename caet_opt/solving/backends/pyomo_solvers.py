"""The algebraic program by any solver that Pyomo finds, as the executables of Ipopt and Bonmin."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common import Executable
from pyomo.common.log import LoggingIntercept

from caet_opt.bandits.families.numerics import Array
from caet_opt.errors import InputError, SolverError
from caet_opt.solving.backends.base import Answer, Point
from caet_opt.solving.problem import Problem
from caet_opt.solving.programs.algebraic import AlgebraicProgram
from caet_opt.solving.programs.cuts import MOST_ROUNDS
from caet_opt.solving.programs.scaling import Units, price_rows

#: Executables for nonlinear programs that are looked for where another one is not found.
EXECUTABLES = (
    "baron",
    "bonmin",
    "conopt",
    "couenne",
    "gams",
    "ipopt",
    "knitroampl",
    "minos",
    "pounce",
    "scip",
    "snopt",
)


def run_pyomo(
    program: AlgebraicProgram, problem: Problem, scale: Units, solver: str, options: Mapping[str, Any]
) -> Answer:
    """Solve a program in scaled variables, again for as long as its linear cuts are not tight."""
    model, rounds, open_cuts = program.model, 0, True
    variables = list(model.component_data_objects(pyo.Var))
    variables.sort(key=lambda variable: variable is model.t)  # t is the last one there
    if not hasattr(model, "dual"):
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    for variable in variables:
        variable.setlb(0.0)
        variable.set_value(1.0)
    while open_cuts and rounds < MOST_ROUNDS:
        status = run_solver(model, solver, options)
        z = np.array([variable.value for variable in variables], dtype=float)
        rounds, open_cuts = rounds + 1, program.tighten(z)
    effort = scale.effort * np.maximum(z[: program.shape.arms], 0.0)
    reason = status if rounds == 1 else f"{status}, {rounds} rounds of cuts"
    found = multipliers(program)
    weights = program.weights(found)
    prices = price_rows(problem, scale, program.row_multipliers(found), float(z[-1] * np.sum(weights)))
    return Answer(Point(effort, weights, prices), 0, reason)


def run_solver(model: Any, solver: str, options: Mapping[str, Any]) -> str:
    """Let Pyomo solve a model; returns the status, or raises `SolverError` where there is no point."""
    optimiser = find_solver(solver)
    for key, value in options.items():
        optimiser.options[key] = value
    model.dual.clear()
    with LoggingIntercept(StringIO(), "pyomo"):
        try:
            results = optimiser.solve(model, load_solutions=False)
            found = len(results.solution) > 0
            if found:
                model.solutions.load_from(results)
        except Exception as error:  # whatever a solver's interface raises
            raise SolverError(f"{solver} returned no point ({' '.join(str(error).split())})") from error
    status = str(results.solver.termination_condition)
    if not found or any(one.value is None for one in model.component_data_objects(pyo.Var)):
        raise SolverError(f"{solver} stopped with status {status!r} and returned no point")
    return status


def find_solver(name: str) -> Any:
    """Pyomo's interface to a solver; `InputError`, which names some that it finds, where it finds none."""
    with LoggingIntercept(StringIO(), "pyomo"):
        optimiser = pyo.SolverFactory(name)
        known = optimiser is not None and optimiser.available(exception_flag=False)
    if not known:
        found = [other for other in EXECUTABLES if Executable(other).available()]
        others = f"it finds {', '.join(found)}" if found else "and no other one, either, on the PATH"
        raise InputError(f"Pyomo finds no solver {name!r}; {others}; without 'solver' Ipopt is used as a library")
    return optimiser


def multipliers(program: AlgebraicProgram) -> Array:
    """The multiplier of each constraint, with Ipopt's signs: those of bounds on t are negative."""
    found = np.zeros(sum(len(block.rows) for block in program.blocks.values()))
    for name, block in program.blocks.items():
        found[block.rows] = [program.model.dual.get(one, 0.0) for one in getattr(program.model, name).values()]
    bounds = [block.rows for name, block in program.blocks.items() if name not in ("budget", "balance", "limit")]
    return -found if np.sum(found[np.concatenate(bounds)]) > 0 else found
