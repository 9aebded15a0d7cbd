"""Ipopt, an interior-point solver for nonlinear programs, through cyipopt or the library inside casadi.

It is asked directly, or with a Pyomo model: Pyomo's own Ipopt interfaces need the ``ipopt`` executable or a compiled
AMPL library, neither of which pip installs.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import CDLL
from time import perf_counter
from typing import Any

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.errors import CaetError, InputError, MissingExtraError, SolverError
from caet_opt.solving.backends import casadi_ipopt
from caet_opt.solving.backends.base import Answer, Backend, Point
from caet_opt.solving.ipopt_provider import ipopt_module, ipopt_provider
from caet_opt.solving.problem import Problem, Shape
from caet_opt.solving.profiles import Profile
from caet_opt.solving.programs.cache import cached_program
from caet_opt.solving.programs.cuts import MOST_ROUNDS
from caet_opt.solving.programs.nonlinear import NonlinearProgram
from caet_opt.solving.programs.scaling import IpoptProgram, Units, price_rows

#: Ipopt relaxes bounds by 1e-8 unless told not to, which alone moves T* in the eighth digit.
OPTIONS = {
    "print_level": 0,
    "sb": "yes",
    "bound_relax_factor": 0.0,
    "tol": 1e-11,
    "acceptable_tol": 1e-9,
    "mu_strategy": "adaptive",
}

#: A warm start keeps the point and the multipliers where they are.
WARM_OPTIONS = {
    "warm_start_init_point": "yes",
    "warm_start_bound_push": 1e-12,
    "warm_start_bound_frac": 1e-12,
    "warm_start_mult_bound_push": 1e-12,
    "mu_strategy": "monotone",
    "mu_init": 1e-9,
}

#: Codes of Ipopt that come with a point worth certifying.
WITH_POINT = {
    0: "solved",
    1: "solved to acceptable level",
    3: "search direction too small",
    -1: "iteration limit",
    -3: "error in step computation",
    -5: "time limit",
}

#: Codes of Ipopt that come with nothing.
WITHOUT_POINT = {
    2: "infeasible problem detected",
    4: "diverging iterates",
    5: "stopped by the user",
    6: "feasible point found",
    -2: "restoration failed",
    -4: "processor time limit",
    -10: "not enough degrees of freedom",
    -11: "invalid problem definition",
    -12: "invalid option",
    -13: "invalid number detected",
    -100: "unrecoverable exception",
    -101: "exception from outside Ipopt",
    -102: "insufficient memory",
    -199: "internal error",
}


class Ipopt(Backend):
    """The nonlinear program with its analytic derivatives, solved by Ipopt."""

    name = "ipopt"
    requires = "cyipopt"
    extra = "ipopt"

    @classmethod
    def is_installed(cls) -> bool:
        return ipopt_module() is not None

    @classmethod
    def needs(cls) -> str:
        return "Ipopt, by the module 'cyipopt' or inside 'casadi'"

    @classmethod
    def provider(cls) -> str | None:
        return ipopt_provider()

    def solve(self, problem: Problem, profile: Profile, start: Point | None = None) -> Answer:
        program = cached_program(self.name, problem.shape, self.build_program)
        return run_ipopt(program, problem, program.update(problem), profile, start)

    @staticmethod
    def build_program(shape: Shape) -> Any:
        """The program of a shape, with the callbacks that Ipopt wants."""
        return NonlinearProgram(shape)


class Pyomo(Ipopt):
    """The algebraic program, its mutable parameters updated in place: differentiated symbolically and solved by Ipopt,
    or written out for a solver that Pyomo finds."""

    name = "pyomo"
    solvers = "any"
    takes_distributions = False

    def solve(self, problem: Problem, profile: Profile, start: Point | None = None) -> Answer:
        if profile.solver is None:
            return super().solve(problem, profile, start)
        from caet_opt.solving.backends.pyomo_solvers import run_pyomo

        program = cached_program(self.name, problem.shape, self.build_program)
        return run_pyomo(program, problem, program.update(problem), profile.solver, profile.options)

    @staticmethod
    def build_program(shape: Shape) -> Any:
        from caet_opt.solving.programs.algebraic import AlgebraicProgram  # Pyomo takes half a second to import

        return AlgebraicProgram(shape)


def ipopt_problem_class() -> type[Any]:
    """``cyipopt.Problem`` where cyipopt is installed, else the stand-in for it with casadi's Ipopt."""
    if ipopt_module() == "casadi":
        return casadi_ipopt.Problem
    try:
        import cyipopt
    except ImportError as error:
        raise MissingExtraError(f"cyipopt is installed and cannot be imported: {error}") from error
    problem_class: type[Any] = cyipopt.Problem
    return problem_class


class WatchedProgram:
    """A program whose first exception is kept, and which from then on returns zeros, until Ipopt ends.

    An exception must not cross Ipopt: cyipopt drops those of the Hessian, and those of the Jacobian leave it with
    memory that nobody has written, which now and then is a segmentation fault, as what is not a number is. It is raised
    once Ipopt has ended.
    ``sizes`` says how many numbers a function has.
    """

    def __init__(self, program: Any, sizes: Mapping[str, int]) -> None:
        self._program, self._sizes = program, sizes
        self.failure: BaseException | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self._program, name)

        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BaseException as failure:
                self.failure = self.failure or failure
                if name not in self._sizes:
                    raise
                return np.zeros(self._sizes[name]) if name != "objective" else 0.0

        return call

    def intermediate(self, *progress: Any) -> bool:
        """Called by Ipopt after each iteration; False ends it."""
        try:
            return self.failure is None and bool(self._program.intermediate(*progress))
        except BaseException as failure:  # noqa: BLE001  # raised once Ipopt has ended
            self.failure = failure
            return False


def run_ipopt(program: IpoptProgram, problem: Problem, scale: Units, profile: Profile, start: Point | None) -> Answer:
    """Solve a program in scaled variables ``(x, ..., t)``, again for as long as its linear cuts are not tight."""
    started, rounds, iterations, open_cuts = perf_counter(), 0, 0, True
    z, multipliers = initial_point(program, problem, scale, start)
    while open_cuts and rounds < MOST_ROUNDS:
        left = None if profile.time_limit is None else profile.time_limit - (perf_counter() - started)
        if rounds and left is not None and left <= 0:
            break
        z, found, status = run_once(program, z, multipliers, profile, left)
        rounds, iterations, open_cuts = rounds + 1, iterations + program.iterations, program.tighten(z)
    effort = scale.effort * np.maximum(z[: problem.shape.arms], 0.0)
    reason = WITH_POINT[status] if rounds == 1 else f"{WITH_POINT[status]}, {rounds} rounds of cuts"
    weights = program.weights(found)
    prices = price_rows(problem, scale, program.row_multipliers(found), float(z[-1] * np.sum(weights)))
    return Answer(Point(effort, weights, prices), iterations, reason)


def run_once(
    program: IpoptProgram, z: Array, multipliers: Array | None, profile: Profile, time_limit: float | None
) -> tuple[Array, Array, int]:
    """Ipopt's point, multipliers and status, from a point, and from multipliers where that is warm."""
    (least, most), (low, high) = program.limits(), program.bounds()
    size = z.size
    derivatives = {name: len(getattr(program, f"{name}structure")()[0]) for name in ("jacobian", "hessian")}
    watched = WatchedProgram(program, {"objective": 1, "gradient": size, "constraints": least.size, **derivatives})
    solver = ipopt_problem_class()(n=size, m=least.size, problem_obj=watched, lb=low, ub=high, cl=least, cu=most)
    warm = {} if multipliers is None else WARM_OPTIONS
    options = {**OPTIONS, **warm, "max_iter": profile.max_iterations, **profile.options}
    if time_limit is not None:
        options["max_wall_time"] = time_limit
    with silence_stdout():
        for key, value in options.items():
            try:
                solver.add_option(key, value)
            except (TypeError, ValueError, OverflowError) as error:
                raise InputError(f"Ipopt does not take the option {key} = {value!r}") from error
    program.iterations = 0
    try:
        z, info = solver.solve(z) if multipliers is None else solver.solve(z, lagrange=multipliers)
        if watched.failure is not None:
            raise watched.failure
    except CaetError:
        raise
    except Exception as error:  # whatever the family's formulas raise
        raise SolverError(f"Ipopt was stopped by a formula: {type(error).__name__}: {error}") from error
    status = int(info["status"])
    if status not in WITH_POINT or not np.all(np.isfinite(z)):
        reason = (WITH_POINT | WITHOUT_POINT).get(status, f"status {status}")
        raise SolverError(f"Ipopt returned no usable point: {reason}")
    return z, np.asarray(info["mult_g"]), status


@contextmanager
def silence_stdout() -> Iterator[None]:
    """Drop what a C library prints on standard output, as Ipopt does about an option that it refuses."""
    if os.name != "posix":
        yield
        return
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def initial_point(
    program: IpoptProgram, problem: Problem, scale: Units, start: Point | None
) -> tuple[Array, Array | None]:
    """Scaled variables and constraint multipliers: the units themselves and none, or a previous answer."""
    if start is None or problem.shape.limits:  # a point that meets the limits, and prices, are not at hand
        return np.ones(program.variables), None
    x = start.effort / scale.effort
    x = x / (scale.shares @ x)
    t = float(np.min(problem.terms(scale.effort * x))) / scale.information
    warm = program.warm_start(x, t, start.weights / np.sum(start.weights))
    return (np.ones(program.variables), None) if warm is None else warm
