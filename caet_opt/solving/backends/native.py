"""The native solver: interior point in log-effort, written for this problem."""

import numpy as np

from caet_opt.bandits.families.numerics import Integers
from caet_opt.bandits.model import BanditModel
from caet_opt.errors import SolverError
from caet_opt.kernels.elimination_order import pack_shape
from caet_opt.kernels.family_codes import family_facts
from caet_opt.kernels.instance import IRREGULAR
from caet_opt.kernels.interior import CERTIFIED, LIMIT, STALLED
from caet_opt.kernels.native import kernel_for
from caet_opt.kernels.statement_columns import Columns
from caet_opt.solving.backends.base import Answer, Backend, Point
from caet_opt.solving.certificate import NOTHING_TO_PAY, Certificate, told_columns
from caet_opt.solving.problem import Pattern, Question, check_no_ties, lay_out
from caet_opt.solving.profiles import Profile
from caet_opt.solving.programs.cache import cached_program

#: Statuses in words.
STATUS = {CERTIFIED: "certified", STALLED: "no further progress", LIMIT: "iteration limit"}

#: The gap at which the iteration ends at once; what the tolerance asks for is enough when progress ends. Who asks for
#: no more than a loose tolerance is in a hurry: for them it ends sooner.
TARGET, LOOSE, LOOSE_TARGET = 1e-13, 1e-8, 1e-10


#: A statement about rewards in a range takes interpreted code as long as one more plain one for each so many values.
VALUES_LIKE_AN_EDGE = 3


def target_of(tolerance: float) -> float:
    """The gap at which the iteration ends at once."""
    return min(TARGET, tolerance) if tolerance < LOOSE else LOOSE_TARGET


class Native(Backend):
    """The kernel of `caet_opt.kernels.native`, interpreted for a small one-off problem, compiled for more."""

    name = "native"
    requires = "numba"
    takes_options = False
    takes_limits = False
    polish = False

    def answer(self, question: Question, profile: Profile, start: Point | None) -> Answer:
        """Solve by one call of the kernel, which certifies as well.

        Where it cannot, there is a reason: a tie or a number outside double precision, which posing the problem names,
        or an arm whose every statement is settled by any positive effort, without which it is solved again, as it is
        where rounding hides what a free mean and a margin add up to.
        """
        model, columns = question.model, question.columns
        if not (question.is_clear or columns.is_plain):
            check_no_ties(model, question.task, question.statements)
        found = solve_columns(model, columns, profile, start)
        if start is not None and found is not None and found.status != STATUS[CERTIFIED]:
            found = solve_columns(model, columns, profile, None)  # what it started from led nowhere
        if found is not None:
            return found
        nothing = Point(np.zeros(len(model.means)), np.zeros(len(columns.owners)))
        if not question.problem.statements:
            return Answer(nothing, 0, "nothing to pay", None if columns.is_plain else NOTHING_TO_PAY)
        told, kept = told_columns(model, columns)
        if told is None:
            raise SolverError("a term left double precision")
        rest = None if start is None else Point(start.effort, start.weights[kept])
        found = solve_columns(model, told, profile, rest if rest is not None and np.sum(rest.weights) > 0 else None)
        if found is None:
            raise SolverError("a term left double precision")
        nothing.weights[kept] = found.point.weights
        point = Point(found.point.effort, nothing.weights)
        return found._replace(point=point, certificate=None if columns.is_plain else found.certificate)


def solve_columns(model: BanditModel, columns: Columns, profile: Profile, start: Point | None) -> Answer | None:
    """The certified answer by one call of the kernel; None where two means tie, or numbers are not representable."""
    family = type(model.family)
    pattern = cached_program("native call", (columns, family, model.costly), pack_pattern)
    if pattern is None:
        return None
    effort, weights = np.zeros(len(model.means)), np.zeros(len(columns.owners))
    if start is not None:
        if start.effort.shape != effort.shape or start.weights.shape != weights.shape:
            raise ValueError(
                f"a start of {start.effort.shape} efforts and {start.weights.shape} weights is for another problem"
            )
        effort, weights = start.effort.copy(), start.weights.copy()
    tolerance = profile.tolerance
    target = target_of(tolerance)
    numbers, edges = model.kernel_numbers, len(columns.owners)
    if columns.margins.size:
        numbers = np.concatenate((numbers.ravel(), columns.flat_margins)).reshape(1, -1)
    if model.distributions is not None:
        numbers = np.append(numbers, model.distribution_table).reshape(1, -1)
        edges *= 1 + max(map(len, model.distributions.values)) // VALUES_LIKE_AN_EDGE
    status, steps, value, lower, upper = kernel_for(family, edges)["solve_instance"](
        numbers, *pattern, effort, weights, start is not None, tolerance, target, profile.max_iterations
    )
    if status == IRREGULAR:
        return None
    return Answer(Point(effort, weights), steps, STATUS[status], Certificate(value, lower, upper))


def pack_pattern(pattern: Pattern) -> tuple[Integers, int, float, float, float] | None:
    """What `solve_instance` takes beside the numbers, the same for all models of a pattern; None where none will do."""
    found = lay_out(pattern)
    return None if found is None else (pack_shape(*found), *family_facts(pattern[1]))
