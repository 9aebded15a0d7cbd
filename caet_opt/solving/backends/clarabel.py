"""Clarabel, an interior-point solver for conic programs, through CVXPY."""

import warnings
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from caet_opt.errors import InputError, SolverError, unknown_name
from caet_opt.solving.backends.base import Answer, Backend, Point
from caet_opt.solving.problem import Problem
from caet_opt.solving.profiles import Profile
from caet_opt.solving.programs.cache import cached_program

#: Statuses of CVXPY that come with a point.
WITH_POINT = ("optimal", "optimal_inaccurate", "user_limit")

#: Tighter than Clarabel's defaults; what it cannot reach, the certificate will tell.
TOLERANCES = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


class Clarabel(Backend):
    """The conic program, updated through its parameters and solved by Clarabel."""

    name = "clarabel"
    requires = "clarabel"

    def solve(self, problem: Problem, profile: Profile, start: Point | None = None) -> Answer:
        from caet_opt.solving.programs.conic import ConicProgram
        from caet_opt.solving.programs.cuts import MOST_ROUNDS
        from caet_opt.solving.programs.scaling import price_rows

        program = cached_program(self.name, problem.shape, ConicProgram)
        scale = program.update(problem)
        options = self.options(profile)
        started, iterations, rounds, open_cuts = perf_counter(), 0, 0, True
        while open_cuts and rounds < MOST_ROUNDS:
            if profile.time_limit is not None:
                left = profile.time_limit - (perf_counter() - started)
                if rounds and left <= 0:
                    break
                options["time_limit"] = float(left)
            status = run_solver(program.problem, options)
            iterations += int(program.problem.solver_stats.num_iters or 0)
            weights = np.maximum(program.multipliers(), 0.0)
            budget = float(program.t.value) * float(np.sum(weights))
            prices = price_rows(problem, scale, program.row_multipliers(), budget)
            point = Point(scale.effort * np.maximum(program.x.value, 0.0), weights, prices)
            rounds, open_cuts = rounds + 1, program.tighten()
        return Answer(point, iterations, status if rounds == 1 else f"{status}, {rounds} rounds of cuts")

    def options(self, profile: Profile) -> dict[str, Any]:
        """What CVXPY is told: the solver, and its options."""
        if profile.options:
            check_options(profile.options)
        own = {"max_iter": profile.max_iterations, "accept_unknown": True}
        return {"solver": "CLARABEL", **TOLERANCES, **own, **profile.options}


def run_solver(problem: Any, options: Mapping[str, Any]) -> str:
    """Solve a CVXPY problem as it is; returns the status, or raises `SolverError` where there is no point."""
    import cvxpy as cp

    name = options["solver"]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        try:
            # warm, CVXPY would scale an instance as it scaled the one before: answers would depend on the order
            problem.solve(warm_start=False, **options)
        except TypeError as error:
            raise InputError(f"{name} does not take the options of the profile ({error})") from error
        except (cp.SolverError, ValueError, ArithmeticError) as error:  # or numbers that left double precision
            raise SolverError(f"{name} returned no point ({error})") from error
    if problem.status not in WITH_POINT or any(variable.value is None for variable in problem.variables()):
        raise SolverError(f"{name} stopped with status {problem.status!r} and returned no point")
    return str(problem.status)


def check_options(options: Mapping[str, Any]) -> None:
    """Raise `InputError` for what Clarabel does not know or does not take; CVXPY's own options are not Clarabel's."""
    import clarabel
    from scipy.sparse import csc_array

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    known = [name for name in dir(settings) if not callable(getattr(settings, name)) and not name.startswith("_")]
    for key, value in options.items():
        if key not in known:
            raise InputError(f"Clarabel: {unknown_name('option', key, known)}")
        try:
            setattr(settings, key, value)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"Clarabel does not take the option {key} = {value!r} ({error})") from error
    settings.verbose = False
    nothing = csc_array((1, 1))
    try:
        clarabel.DefaultSolver(nothing, np.zeros(1), nothing, np.zeros(1), [clarabel.ZeroConeT(1)], settings)
    except Exception as error:  # Clarabel raises no narrower one
        raise InputError(f"Clarabel does not take the options of the profile: {error}") from error
