"""Model and task in, certified characteristic time out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair, Task, parse_task
from caet_opt.errors import SolverError
from caet_opt.solving.backends import BACKENDS, DEFAULT_SOLVER, Answer, Point
from caet_opt.solving.backends.native import TARGET
from caet_opt.solving.certificate import NOTHING_TO_PAY, Certificate, certify, narrowest_gap
from caet_opt.solving.native.instance import rescale
from caet_opt.solving.native.quick import solve_quickly
from caet_opt.solving.problem import Problem, pose
from caet_opt.solving.profiles import Profile, find_profile
from caet_opt.solving.programs.cache import count_solve
from caet_opt.solving.result import CharacteristicTime

#: Polishing goes on to this gap even when the tolerance is met: proportions converge like the root of the gap.
POLISHED_GAP = 1e-13


def characteristic_time(
    model: BanditModel,
    task: Task | str,
    *,
    solver: str | Path | Profile = DEFAULT_SOLVER,
    tolerance: float | None = None,
    warm_start: CharacteristicTime | None = None,
) -> CharacteristicTime:
    """Solve ``1 / T* = max t  s.t.  t <= f_e(w),  sum_a c_a w_a = 1,  w >= 0`` and certify the answer.

    Parameters
    ----------
    model, task
        What to solve; the task may be given in the grammar, for example ``"top-arms:2"``. The certified interval
        holds for the numbers that the model was given: ``int``, ``Decimal`` and ``Fraction`` mean themselves,
        a float means the double that it is, not the decimal that it was typed as.
    solver
        A backend's name, a profile, or the path of a TOML profile.
    tolerance
        Largest accepted relative gap; by default the profile's, 1e-9.
    warm_start
        An earlier result for the same pairs, from which solvers that can do so start.

    Raises
    ------
    InputError
        The model or the task is not valid, or two arms of a needed pair are tied.
    SolverError
        The certified gap exceeds the tolerance.
    """
    started = perf_counter()
    task = parse_task(task) if isinstance(task, str) else task
    profile = find_profile(solver)
    if tolerance is not None and tolerance != profile.tolerance:
        profile = replace(profile, tolerance=tolerance)
    task.check(len(model.means))
    pairs = task.pairs(model.means)
    try:
        found = find(model, task, pairs, profile, warm_start)
    except SolverError:
        if profile.fallback is None:
            raise
        return characteristic_time(model, task, solver=profile.fallback, tolerance=profile.tolerance)
    count_solve(profile.backend)
    return assemble(model, task, pairs, found, profile.backend, perf_counter() - started)


class Found(NamedTuple):
    """A point in the model's terms, scaled to cost T*, with its certificate, and how it was found."""

    effort: Array
    weights: Array
    certificate: Certificate
    solver_gap: float
    iterations: int
    status: str


def find(
    model: BanditModel, task: Task, pairs: tuple[Pair, ...], profile: Profile, previous: CharacteristicTime | None
) -> Found:
    """The backend's answer, certified to the profile's tolerance or a `SolverError`."""
    found = quickly(model, pairs, profile, previous) if profile.backend == "native" else None
    if found is None:
        found = generally(model, task, pairs, profile, previous)
    gap = found.certificate.gap
    if not gap <= profile.tolerance:
        raise SolverError(
            f"solver {profile.backend!r} reached a certified gap of {gap:.1e}, above the tolerance "
            f"{profile.tolerance:.1e} (status: {found.status}); {advice(profile.backend)}",
            gap,
        )
    return found


def quickly(
    model: BanditModel, pairs: tuple[Pair, ...], profile: Profile, previous: CharacteristicTime | None
) -> Found | None:
    """By one call of the compiled native solver, where that is possible."""
    usable = previous is not None and starts(previous, pairs, model.costs)
    start = (previous.effort, previous.multipliers) if previous is not None and usable else None
    answer = solve_quickly(
        model, pairs, profile.tolerance, min(TARGET, profile.tolerance), profile.max_iterations, start
    )
    if answer is None:
        return None
    certificate = Certificate(answer.value, answer.lower, answer.upper)
    return Found(answer.effort, answer.weights, certificate, certificate.gap, answer.iterations, "native")


def starts(previous: CharacteristicTime, pairs: tuple[Pair, ...], costs: Sequence[float]) -> bool:
    """Whether an earlier answer is for as many arms and the same pairs, with effort on every arm of them that costs
    something now."""
    if previous.value == 0 or previous.pairs != pairs or previous.effort.size != len(costs):
        return False
    effort = previous.effort.tolist()
    return all(effort[arm] > 0 or costs[arm] == 0 for pair in pairs for arm in pair)


@np.errstate(all="ignore")
def generally(
    model: BanditModel,
    task: Task,
    pairs: tuple[Pair, ...],
    profile: Profile,
    previous: CharacteristicTime | None,
) -> Found:
    """By the backend's program, polished.

    Solvers may leave double precision on their way, as compiled code does without a word: what came of it is certified
    or refused.
    """
    backend = BACKENDS[profile.backend]
    backend.require()
    problem = pose(model, task)
    if not problem.pairs:
        return Found(np.zeros(len(model.means)), np.zeros(len(pairs)), NOTHING_TO_PAY, 0.0, 0, "nothing to pay")
    try:
        answer = backend().solve(problem, profile, starting_point(problem, previous))
    except SolverError as error:
        raise SolverError(f"solver {profile.backend!r} failed: {error}; {advice(profile.backend)}") from error
    return refine(model, pairs, problem, answer)


def assemble(
    model: BanditModel, task: Task, pairs: tuple[Pair, ...], found: Found, solver: str, seconds: float
) -> CharacteristicTime:
    """The result of what was found."""
    value, lower, upper = found.certificate
    return CharacteristicTime(
        model=model,
        task=task,
        value=value,
        lower=lower,
        upper=upper,
        gap=found.certificate.gap,
        effort=found.effort,
        pairs=pairs,
        multipliers=found.weights,
        solver=solver,
        iterations=found.iterations,
        seconds=seconds,
        solver_gap=found.solver_gap,
    )


def refine(model: BanditModel, pairs: tuple[Pair, ...], problem: Problem, answer: Answer) -> Found:
    """Certify the answer, polish it, and keep the best point that was seen."""
    effort, weights = in_model(model, pairs, problem, answer.point)
    best = certify(model, pairs, effort, weights)
    solver_gap, enough = best.gap, POLISHED_GAP + 2 * narrowest_gap(model, pairs)
    for point in polished(problem, answer.point) if best.gap > enough else ():
        new_effort, new_weights = in_model(model, pairs, problem, point)
        new = certify(model, pairs, new_effort, new_weights)
        if new.gap < best.gap:
            effort, weights, best = new_effort, new_weights, new
        if best.gap < enough:
            break
    rescale(np.array(model.costs), effort, weights, best.value)
    return Found(effort, weights, best, solver_gap, answer.iterations, answer.status)


def polished(problem: Problem, point: Point) -> Iterator[Point]:
    """Newton's method on the binding pairs, whose sparse algebra is imported only when it is needed."""
    from caet_opt.solving.polish import polish

    return polish(problem, point)


def in_model(model: BanditModel, pairs: tuple[Pair, ...], problem: Problem, point: Point) -> tuple[Array, Array]:
    """A problem's point as effort per arm and weight per pair of the model."""
    effort = np.zeros(len(model.means))
    effort[problem.labels] = point.effort * problem.dispersions
    weight = dict(zip(problem.pairs, point.weights, strict=True))
    return effort, np.array([weight.get(pair, 0.0) for pair in pairs])


def starting_point(problem: Problem, previous: CharacteristicTime | None) -> Point | None:
    """The earlier result in the problem's labels; None when it was for other pairs or other free arms."""
    if previous is None or previous.value == 0:
        return None
    weight = dict(zip(previous.pairs, previous.multipliers, strict=True))
    if len(previous.model.means) <= max(problem.labels) or not set(problem.pairs) <= set(weight):
        return None
    effort = previous.effort[problem.labels] / problem.dispersions
    weights = np.array([weight[pair] for pair in problem.pairs])
    return Point(effort, weights) if np.all(effort > 0) and np.sum(weights) > 0 else None


def advice(solver: str) -> str:
    """What to try when a solver did not deliver."""
    others = [name for name in BACKENDS if name != solver]
    return f"try another solver ({', '.join(others)}) or a larger tolerance"
