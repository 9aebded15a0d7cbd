"""The native solver: interior point in log-effort, written for this problem."""

from contextlib import nullcontext

import numpy as np

from caet_opt.bandits.families.numerics import Integers
from caet_opt.errors import SolverError
from caet_opt.solving.backends.base import Answer, Backend, Point
from caet_opt.solving.certificate import Certificate
from caet_opt.solving.native.compiled import (
    FAMILY_CODES,
    announce_compiling,
    family_facts,
    kernel_for,
    loaded_kernel,
    present_kernel,
)
from caet_opt.solving.native.elimination import Pattern, build_plan, integers, lay_out, pack_shape
from caet_opt.solving.native.instance import IRREGULAR
from caet_opt.solving.native.interior import CERTIFIED, LIMIT, STALLED
from caet_opt.solving.native.records import Data
from caet_opt.solving.problem import Problem, Question
from caet_opt.solving.profiles import Profile
from caet_opt.solving.programs.cache import cached_program

#: Statuses in words.
STATUS = {CERTIFIED: "certified", STALLED: "no further progress", LIMIT: "iteration limit"}

#: The gap at which the iteration ends at once; what the tolerance asks for is enough when progress ends. Who asks for
#: no more than a loose tolerance is in a hurry: for them it ends sooner.
TARGET, LOOSE, LOOSE_TARGET = 1e-13, 1e-8, 1e-10


def target_of(tolerance: float) -> float:
    """The gap at which the iteration ends at once."""
    return min(TARGET, tolerance) if tolerance < LOOSE else LOOSE_TARGET


class Native(Backend):
    """The kernel of `caet_opt.solving.native`, interpreted for a small one-off problem, compiled for more."""

    name = "native"
    requires = "numba"
    takes_options = False
    polish = False

    def answer(self, question: Question, profile: Profile, start: Point | None) -> Answer:
        """Solve by one call of compiled code where it is loaded or worth the wait, else as every backend does."""
        if loaded_kernel() is None:
            kernel_for(type(question.model.family), len(question.pairs))
        found = solve_compiled(question, profile, start)
        return super().answer(question, profile, start) if found is None else found

    def solve(self, problem: Problem, profile: Profile, start: Point | None = None) -> Answer:
        plan = cached_program(self.name, problem.shape, build_plan)
        edges = len(problem.shape.edges)
        kernel = present_kernel(problem.shape.family)
        data = instance_data(problem)
        y, z = np.zeros(problem.shape.arms), np.zeros(edges + problem.shape.arms)
        kernel["first_guess"](data, y)
        if start is not None:
            y, z[:edges] = np.log(start.effort), start.weights[:edges]
            z[edges + problem.anchored] = start.weights[edges:]
        work = kernel["make_work"](y.size, edges, plan.cores.size, plan.parts)
        tolerance = profile.tolerance
        with announce_compiling("the general solver") if kernel is loaded_kernel() else nullcontext():
            status, steps, _, upper = kernel["minimise"](
                data, plan, y, z, start is not None, tolerance, target_of(tolerance), profile.max_iterations, work
            )
        if not np.isfinite(upper):
            raise SolverError("a pair term left double precision")
        weights = np.concatenate([z[:edges], z[edges + problem.anchored]])
        return Answer(Point(np.exp(y), weights), int(steps), STATUS[int(status)])


def solve_compiled(question: Question, profile: Profile, start: Point | None) -> Answer | None:
    """The answer by one call of compiled code; None while nothing is compiled, for a user's own family, and for ties
    and infinite divergences."""
    model, pairs = question.model, question.pairs
    kernel = loaded_kernel()
    if kernel is None:
        return None
    pattern = cached_program("native call", (type(model.family), pairs, model.costly), pack_pattern)
    if pattern is None:
        return None
    effort, weights = np.zeros(len(model.means)), np.zeros(len(pairs))
    if start is not None:
        if start.effort.shape != effort.shape or start.weights.shape != weights.shape:
            raise ValueError(
                f"a start of {start.effort.shape} efforts and {start.weights.shape} weights is for another problem"
            )
        effort, weights = start.effort.copy(), start.weights.copy()
    tolerance = profile.tolerance
    target = target_of(tolerance)
    status, steps, value, lower, upper = kernel["solve_instance"](
        model.kernel_numbers, *pattern, effort, weights, start is not None, tolerance, target, profile.max_iterations
    )
    if status == IRREGULAR:
        return None
    return Answer(Point(effort, weights), steps, STATUS[status], Certificate(value, lower, upper))


def pack_pattern(pattern: Pattern) -> tuple[Integers, int, float, float, float] | None:
    """What `solve_instance` takes beside the numbers, the same for all models of a pattern; None where none will do."""
    family, found = pattern[0], lay_out(pattern) if pattern[0] in FAMILY_CODES else None
    return None if found is None else (pack_shape(*found), *family_facts(family))


def instance_data(problem: Problem) -> Data:
    """A problem as the kernel reads it."""
    rates = np.zeros(problem.shape.arms)
    rates[problem.anchored] = problem.rates
    ends = integers([problem.heads, problem.tails])
    arms = np.array([problem.means, problem.costs, rates, problem.rests])
    return Data(FAMILY_CODES.get(problem.shape.family, -1), arms, ends)
