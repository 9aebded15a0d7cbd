"""Clarabel, an interior-point solver for conic programs, through CVXPY."""

import warnings

import numpy as np

from caet_opt.backends.base import Answer, Backend, Point
from caet_opt.errors import InputError, SolverError
from caet_opt.problem import Problem
from caet_opt.profiles import Profile
from caet_opt.programs.cache import cached_program

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

        from caet_opt.programs.conic import ConicProgram

        program = cached_program(self.name, problem.shape, ConicProgram)
        scale = program.update(problem)
        options = {
            **TOLERANCES,
            "max_iter": profile.max_iterations,
            "accept_unknown": True,
            **profile.options,
        }
        if profile.time_limit is not None:
            options["time_limit"] = profile.time_limit
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            try:
                program.problem.solve(solver=cp.CLARABEL, **options)
            except TypeError as error:
                raise InputError(f"an option of the profile is not right: {error}") from error
            except cp.SolverError as error:
                raise SolverError(f"Clarabel returned no point ({error})") from error
        status = program.problem.status
        if status not in WITH_POINT or program.x.value is None:
            raise SolverError(f"Clarabel stopped with status {status!r} and returned no point")
        effort = scale.effort * np.maximum(program.x.value, 0.0)
        weights = np.maximum(program.multipliers(), 0.0)
        return Answer(Point(effort, weights), int(program.problem.solver_stats.num_iters), str(status))
