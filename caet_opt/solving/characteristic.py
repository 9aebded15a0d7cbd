"""Model and task in, certified characteristic time out."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from caet_opt.bandits.limits import Limit, read_limits
from caet_opt.bandits.model import Arrays, BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.common.numbers import write_gap
from caet_opt.errors import InputError, SolverError
from caet_opt.kernels.native import present_kernel
from caet_opt.kernels.statement_columns import Columns
from caet_opt.solving.backends import BACKENDS, DEFAULT_SOLVER, Answer, Point, backends_for
from caet_opt.solving.backends.base import point_in_model, point_in_problem
from caet_opt.solving.certificate import Certificate, certify_columns, certify_rows, narrowest_gap
from caet_opt.solving.limits import price_limits
from caet_opt.solving.polish import polish
from caet_opt.solving.problem import Question, ask, read_task
from caet_opt.solving.profiles import Profile, find_profile, named_profile
from caet_opt.solving.programs.cache import count_solve
from caet_opt.solving.rebalance import rebalance
from caet_opt.solving.result import CharacteristicTime
from caet_opt.solving.several import solve_several

#: Polishing goes on to this gap even when the tolerance is met: proportions converge like the root of the gap.
POLISHED_GAP = 1e-13

#: What is not looked at: reading nothing would take a part of a small problem's time that can be measured.
NO_LIMITS: tuple[Limit, ...] = ()


def characteristic_time(
    model: BanditModel,
    task: Task | str,
    *,
    solver: str | Path | Profile | None = None,
    tolerance: float | None = None,
    warm_start: CharacteristicTime | None = None,
    limits: Sequence[Limit | str] | Limit | str = NO_LIMITS,
) -> CharacteristicTime:
    """Solve ``1 / T* = max t  s.t.  t <= f_e(w),  sum_a c_a w_a = 1,  w >= 0`` and certify the answer.

    Parameters
    ----------
    model, task
        What to solve; the task may be given in the grammar, for example ``"top-arms:2"``. The certified interval
        holds for the numbers that you gave the model: ``int``, ``Decimal`` and ``Fraction`` are exact,
        and a float stands for the double that it is, not for the decimal that was typed.
    solver
        A backend's name, a profile, or the path of a TOML profile; by default native, and with limits clarabel.
    tolerance
        Largest accepted relative gap; by default the profile's, 1e-9.
    warm_start
        An earlier result for the same statements, from which a solver may start.
    limits
        Limits on shares of the money or of the pulls, in the grammar: ``"cost:0,1<=0.3"``,
        ``"pulls:leader=0.5"``. T* is then the least cost of efforts that meet them.

    Raises
    ------
    InputError
        The model or the task is not valid, or a statement is a tie.
    SolverError
        The certified gap exceeds the tolerance.

    Examples
    --------
    With a tolerance several answers may be right, and T* is that of the easiest, ``result.answer``:

    >>> tied = BanditModel("gaussian", [0.5, 0.5, 0], costs=[2, 1, 1])
    >>> result = characteristic_time(tied, "best-arm~0.2")
    >>> result.answer, round(result.value, 4)
    (1, 295.6458)

    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> result = characteristic_time(model, "ranking")
    >>> f"{result.value:.9f}", result.sampling_proportions.round(6)
    ('11.656854249', array([0.585786, 0.      , 0.414214]))
    """
    started = perf_counter()
    task = read_task(task, model)
    asked = () if limits is NO_LIMITS else read_limits(limits, model.arms)
    default = solver is None and not asked
    profile = named_profile(DEFAULT_SOLVER) if default else find_profile(solver_for(solver, asked))
    if tolerance is not None and tolerance != profile.tolerance:
        profile = replace(profile, tolerance=tolerance)
    if task.several_right:
        return solve_several(model, task, profile, solve_question, warm_start, asked)
    return solve_question(ask(model, task, asked), profile, warm_start, started)


def profile_of_rounds(solver: str | Path | Profile, limits: Sequence[Limit]) -> Profile:
    """The profile of a solver; where there are limits, the default solver is the first one that takes them."""
    return find_profile(solver_for(None if solver == DEFAULT_SOLVER else solver, limits))


def solver_for(solver: str | Path | Profile | None, limits: Sequence[Limit]) -> str | Path | Profile:
    """The solver that is asked for, or else the default one, of those that take limits where there are some."""
    if solver is not None:
        return solver
    return next(name for name, backend in BACKENDS.items() if backend.takes_limits) if limits else DEFAULT_SOLVER


def solve_question(
    question: Question, profile: Profile, previous: CharacteristicTime | None = None, started: float | None = None
) -> CharacteristicTime:
    """The certified answer to a question, by the solver of a profile or the one it falls back on."""
    started = perf_counter() if started is None else started
    try:
        return find(question, profile, previous, started)
    except SolverError:
        if profile.fallback is None:
            raise
        other = replace(find_profile(profile.fallback), tolerance=profile.tolerance)
        return solve_question(question, other, None, started)


def find(
    question: Question, profile: Profile, previous: CharacteristicTime | None, started: float
) -> CharacteristicTime:
    """The backend's answer, polished where that helps, and certified to the profile's tolerance or a `SolverError`."""
    model, columns = question.model, question.columns
    backend = BACKENDS[profile.backend]
    if question.limits and not backend.takes_limits:
        able = ", ".join(backends_for(model, question.limits))
        raise InputError(f"solver {profile.backend!r} takes no limits; leave it out, or name one of {able}")
    start = None
    if previous is not None and can_start(previous, columns, model.costs):
        start = Point(previous.effort, previous.multipliers)
    try:
        answer = backend().answer(question, profile, start)
    except SolverError as error:
        told = advice(profile.label, question)
        raise SolverError(f"solver {profile.label!r} failed: {error}; {told}") from error
    result = accept(question, answer, backend.polish, profile.label, profile.tolerance, started)
    count_solve(profile.backend)
    return result


def accept(
    question: Question, answer: Answer, polished: bool, solver: str, tolerance: float, started: float
) -> CharacteristicTime:
    """A solver's answer, polished where that helps, and certified to the tolerance or a `SolverError`."""
    model, columns = question.model, question.columns
    if answer.certificate is not None:
        point, own = answer.point, answer.certificate
        best = own
    else:
        own = certify_point(question, answer.point)
        point, best = polish_point(question, answer.point, own) if polished else (answer.point, own)
    gap = best.gap
    if not (gap <= tolerance or question.limits):
        point, best = rebalance(model, columns, point, best, tolerance)
        gap = best.gap
    if not gap <= tolerance:
        raise SolverError(
            f"solver {solver!r} reached a certified gap of {write_gap(gap)}, above the tolerance "
            f"{tolerance:.1e} (status: {answer.status}); {advice(solver, question)}",
            gap,
        )
    if point is not answer.point or answer.certificate is None:
        scale = present_kernel(type(model.family))["rescale"]
        scale(Arrays(*model.kernel_numbers).costs, point.effort, point.weights, best.value)
    (effort, weights, prices), seconds, own_gap = point, perf_counter() - started, gap if own is best else own.gap
    result = CharacteristicTime(
        model, question.task, *best, gap, effort, columns, weights, solver, answer.iterations, seconds, own_gap
    )
    if question.limits:
        result.limits = price_limits(question.limits, model, question.leader, effort, prices)
    return result


def certify_point(question: Question, point: Point) -> Certificate:
    """The certificate of a point of the model."""
    model, columns, (effort, weights, prices) = question.model, question.columns, point
    if not question.rows or not question.problem.statements:
        return certify_columns(model, columns, effort, weights)
    return certify_rows(model, columns, effort, weights, question.rows, prices)


def can_start(previous: CharacteristicTime, columns: Columns, costs: Sequence[float]) -> bool:
    """Whether a solve can start from an earlier answer: one for as many arms and the same statements, with effort on
    every arm of them that costs something now."""
    known = previous.columns is columns or previous.statements == columns.statements
    if previous.value == 0 or not known or previous.effort.size != len(costs):
        return False
    if len(previous.columns.owners) != len(columns.owners):
        return False
    effort = previous.effort.tolist()
    return all(effort[arm] > 0 or costs[arm] == 0 for arm in set(columns.pairs.ravel().tolist()) - {-1})


@np.errstate(all="ignore")
def polish_point(question: Question, point: Point, own: Certificate) -> tuple[Point, Certificate]:
    """The best point that Newton's method on the binding pairs passes, and its certificate."""
    best, enough = own, POLISHED_GAP + 2 * narrowest_gap(question.model, question.columns)
    if own.gap <= enough:
        return point, own
    for refined in polish(question.problem, point_in_problem(question, point)):
        new = point_in_model(question, refined)
        found = certify_point(question, new)
        if found.gap < best.gap:
            point, best = new, found
        if best.gap < enough:
            break
    return point, best


def advice(solver: str, question: Question) -> str:
    """What to try when a solver did not deliver."""
    others = backends_for(question.model, question.limits, but=solver)
    return f"try another solver ({', '.join(others)}) or a larger tolerance"
