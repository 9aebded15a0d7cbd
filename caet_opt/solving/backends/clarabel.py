"""Clarabel, an interior-point solver for conic programs, through CVXPY."""

import warnings
from collections.abc import Mapping
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
        import cvxpy as cp

        from caet_opt.solving.programs.conic import ConicProgram

        program = cached_program(self.name, problem.shape, ConicProgram)
        scale = program.update(problem)
        options = {**TOLERANCES, "max_iter": profile.max_iterations, "accept_unknown": True, **profile.options}
        if profile.options:
            check_options(profile.options)
        if profile.time_limit is not None:
            options["time_limit"] = float(profile.time_limit)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            try:
                # warm, CVXPY would scale an instance as it scaled the one before: answers would depend on the order
                program.problem.solve(solver=cp.CLARABEL, warm_start=False, **options)
            except (cp.SolverError, ValueError, ArithmeticError) as error:  # or numbers that left double precision
                raise SolverError(f"Clarabel returned no point ({error})") from error
        status = program.problem.status
        if status not in WITH_POINT or program.x.value is None:
            raise SolverError(f"Clarabel stopped with status {status!r} and returned no point")
        effort = scale.effort * np.maximum(program.x.value, 0.0)
        weights = np.maximum(program.multipliers(), 0.0)
        return Answer(Point(effort, weights), int(program.problem.solver_stats.num_iters), str(status))


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
