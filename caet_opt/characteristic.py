"""Model and task in, certified characteristic time out."""

from pathlib import Path
from time import perf_counter

import numpy as np

from caet_opt.backends import BACKENDS, DEFAULT_SOLVER, Answer, Point
from caet_opt.certificate import Certificate, certify
from caet_opt.errors import InputError, SolverError
from caet_opt.families.numerics import Array
from caet_opt.model import BanditModel
from caet_opt.polish import polish
from caet_opt.problem import Problem, pose
from caet_opt.profiles import Profile, find_profile
from caet_opt.result import CharacteristicTime
from caet_opt.tasks import Pair, Task, parse_task

#: Polishing goes on to this gap even when the tolerance is met: proportions converge like the root of the gap.
POLISHED_GAP = 1e-13

#: A pair is binding when its term exceeds the smallest one by no more than this, relatively.
BINDING_SLACK = 1e-7


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
        What to solve; the task may be given in the grammar, for example ``"top-arms:2"``.
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
    tolerance = Profile(profile.backend, tolerance).tolerance if tolerance is not None else profile.tolerance
    backend = BACKENDS[profile.backend]
    backend.require()
    problem = pose(model, task)
    pairs = task.pairs(model.means)
    if not problem.pairs:
        return nothing_to_pay(model, task, pairs, profile.backend, perf_counter() - started)
    try:
        answer = backend().solve(problem, profile, starting_point(problem, warm_start))
    except SolverError as error:
        raise SolverError(f"solver {profile.backend!r} failed: {error}; {advice(profile.backend)}") from error
    effort, weights, certificate, solver_gap = refine(model, pairs, problem, answer)
    if certificate.gap > tolerance:
        raise SolverError(
            f"solver {profile.backend!r} reached a certified gap of {certificate.gap:.1e}, above the tolerance "
            f"{tolerance:.1e} (status: {answer.status}); {advice(profile.backend)}",
            certificate.gap,
        )
    scale = certificate.value / float(np.array(model.costs) @ effort)
    binding = binding_pairs(model, pairs, certificate, weights)
    return CharacteristicTime(
        model=model,
        task=task,
        value=certificate.value,
        lower=certificate.lower,
        upper=certificate.upper,
        gap=certificate.gap,
        effort=effort * scale,
        pairs=pairs,
        multipliers=weights * (certificate.value / np.sum(weights)),
        binding_pairs=tuple(pair for pair, binds in zip(pairs, binding, strict=True) if binds),
        pair_weights=weights[binding] / np.sum(weights[binding]),
        solver=profile.backend,
        iterations=answer.iterations,
        seconds=perf_counter() - started,
        solver_gap=solver_gap,
    )


def refine(
    model: BanditModel, pairs: tuple[Pair, ...], problem: Problem, answer: Answer
) -> tuple[Array, Array, Certificate, float]:
    """Certify the answer, polish it, and keep the best effort and the best weights that were seen."""
    effort, weights = in_model(model, pairs, problem, answer.point)
    best = certify(model, pairs, effort, weights)
    solver_gap = best.gap
    for point in polish(problem, answer.point):
        new_effort, new_weights = in_model(model, pairs, problem, point)
        new = certify(model, pairs, new_effort, new_weights)
        if not new.gap < best.gap:
            if best.gap < POLISHED_GAP:
                break
            continue
        effort, weights, best = new_effort, new_weights, new
        if best.gap < POLISHED_GAP / 10:
            break
    return effort, weights, best, solver_gap


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


def binding_pairs(model: BanditModel, pairs: tuple[Pair, ...], certificate: Certificate, weights: Array) -> Array:
    """Which pairs hold with equality at the optimum."""
    costly = np.array([model.costs[a] > 0 or model.costs[b] > 0 for a, b in pairs])
    least = np.min(certificate.terms[costly])
    close = costly & (certificate.terms <= least * (1.0 + BINDING_SLACK))
    return np.asarray(close | (weights > BINDING_SLACK * np.sum(weights)))


def nothing_to_pay(
    model: BanditModel, task: Task, pairs: tuple[Pair, ...], solver: str, seconds: float
) -> CharacteristicTime:
    """T* = 0: no pair constrains a costly arm."""
    return CharacteristicTime(
        model=model,
        task=task,
        value=0.0,
        lower=0.0,
        upper=0.0,
        gap=0.0,
        effort=np.zeros(len(model.means)),
        pairs=pairs,
        multipliers=np.zeros(len(pairs)),
        binding_pairs=(),
        pair_weights=np.zeros(0),
        solver=solver,
        iterations=0,
        seconds=seconds,
        solver_gap=0.0,
    )


def advice(solver: str) -> str:
    """What to try when a solver did not deliver."""
    others = [name for name in BACKENDS if name != solver]
    return f"try another solver ({', '.join(others)}) or a larger tolerance"


__all__ = ["InputError", "characteristic_time"]
