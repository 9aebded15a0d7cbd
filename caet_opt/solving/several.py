"""T* where several answers may be right: the least over all of them (docs/mathematics/several_answers.md)."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import inf, nan
from time import perf_counter
from typing import TYPE_CHECKING

from caet_opt.bandits.limits import Limit
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.common.numbers import write_gap
from caet_opt.errors import CaetError, InputError, SolverError, TieError
from caet_opt.kernels.statement_columns import list_columns
from caet_opt.solving.backends import backends_for
from caet_opt.solving.problem import Question, ask, ask_answer
from caet_opt.solving.profiles import Profile
from caet_opt.solving.result import AnswerTime, CharacteristicTime

if TYPE_CHECKING:
    from caet_opt.solving.result import Solver

#: More right answers than these are refused.
MOST_RIGHT = 1000

#: Up to so many are solved for at once; of more, those first whose lower bound is least.
FEW = 8

#: By so many times the tolerance a statement is relaxed that holds by less than doubles tell.
RELAXED = Fraction(1, 10**6)

#: More than the rounding of a sum of positive numbers takes from it.
ROUNDED = 1.0 - 1e-12


def list_right(model: BanditModel, task: Task) -> list[Hashable]:
    """The right answers; `InputError` where they are too many, `TieError` where none is."""
    ask(model, task)  # does the task make sense for the model?
    found = list(islice(task.right_answers(model.exact_means), MOST_RIGHT + 1))
    if len(found) > MOST_RIGHT:
        raise InputError(
            f"task {str(task)!r} has more than {MOST_RIGHT} right answers at these means, and each has a T*; use a "
            "smaller tolerance, or fewer arms"
        )
    if not found:
        raise TieError(f"task {str(task)!r} has no answer that is right at these means")
    return found


def solve_several(
    model: BanditModel,
    task: Task,
    profile: Profile,
    solve: "Solver",
    previous: CharacteristicTime | None = None,
    limits: tuple[Limit, ...] = (),
) -> CharacteristicTime:
    """``T* = min over the right answers i of T*_i``, between the least of their lower and of their upper ends.

    An answer whose lower bound exceeds the upper end of another is not solved for; that bound is one without limits,
    which T* under limits is not below.
    """
    started = perf_counter()
    answers = list_right(model, task)
    _ = ask_answer(model, task, answers[0], limits).rows  # do the limits make sense for the model?
    floors: dict[Hashable, float] = dict.fromkeys(answers, 0.0)
    if len(answers) > FEW:
        known: dict[Statement, float] = {}
        floors = {one: find_floor(model, task, one, profile, solve, known) for one in answers}
    best: CharacteristicTime | None = None
    times: list[AnswerTime] = []
    for answer in sorted(answers, key=floors.__getitem__):
        floor = floors[answer]
        if best is None or floor <= best.upper:
            start = previous if previous is not None and previous.answer == answer else None
            try:
                found = solve(ask_answer(model, task, answer, limits), profile, start)
            except CaetError:
                floor = max(floor, find_floor(model, task, answer, profile, solve, {}))
                if best is None and len(answers) == 1:
                    raise
            else:
                times.append(AnswerTime(answer, found.value, found.lower, found.upper))
                best = found if best is None or found.upper < best.upper else best
                continue
        times.append(AnswerTime(answer, nan, floor, inf))
    return conclude(task, profile, best, times, started)


def conclude(
    task: Task, profile: Profile, best: CharacteristicTime | None, times: Sequence[AnswerTime], started: float
) -> CharacteristicTime:
    """The answer with the least upper end, certified against all others; `SolverError` where it cannot be."""
    lower = min(time.lower for time in times)
    if best is None:
        raise SolverError(f"none of the {len(times)} right answers of task {str(task)!r} could be certified")
    gap = (best.upper - lower) / best.upper if best.upper > 0 else 0.0
    if not gap <= profile.tolerance:
        open_ = next(time for time in times if time.lower == lower)
        shown = task.write_answer(open_.answer, best.model.arms)
        raise SolverError(
            f"the answer {shown!r} could not be certified, and may be easier than others: a gap of {write_gap(gap)}, "
            f"above the tolerance {profile.tolerance:.1e}; try another solver "
            f"({', '.join(backends_for(best.model, [price.limit for price in best.limits], but=profile.label))})",
            gap,
        )
    order = sorted(times, key=lambda time: (time.upper, time.lower))
    chosen = next(time.answer for time in times if time.upper == best.upper)
    seconds = perf_counter() - started
    return replace(best, task=task, lower=lower, gap=gap, seconds=seconds, chosen=chosen, times=tuple(order))


def find_floor(
    model: BanditModel, task: Task, answer: Hashable, profile: Profile, solve: "Solver", known: dict[Statement, float]
) -> float:
    """A lower bound of T*_i: the sum over statements of the answer that have no arm in common of T* of each alone.

    Efforts for statements about different arms are paid for separately. Taken greedily, the largest first.
    """
    statements = task.answer_statements(answer, len(model.means))
    for statement in statements:
        if statement not in known:
            known[statement] = time_alone(model, task, statement, profile, solve)
    used: set[int] = set()
    total = 0.0
    for statement in sorted(statements, key=known.__getitem__, reverse=True):
        if used.isdisjoint(statement.arms):
            used.update(statement.arms)
            total += known[statement]
    return total * ROUNDED


def time_alone(model: BanditModel, task: Task, statement: Statement, profile: Profile, solve: "Solver") -> float:
    """The lower end of T* of one statement, or of a weaker one that follows from it: ``a > b - e'`` with e' > e."""
    for stated in (statement, statement._replace(margin=statement.margin - RELAXED * abs(statement.margin))):
        columns = list_columns((stated,), type(model.family))
        try:
            return solve(Question(model, task, columns), profile, None).lower
        except CaetError:
            continue
    return 0.0
