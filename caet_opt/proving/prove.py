"""From a model and a task to a theorem: T* between two rational bounds, as many digits as are asked for."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from time import perf_counter
from typing import Any, NamedTuple

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.common.checks import is_whole
from caet_opt.common.numbers import magnitude, write_gap
from caet_opt.errors import InputError, SolverError
from caet_opt.proving import require_flint
from caet_opt.proving.balls import Ball, ball, midpoint_fraction, working_precision
from caet_opt.proving.floor import Boundary, is_one_or_more
from caet_opt.proving.problem import Column, ExactProblem, Point, pose_exactly
from caet_opt.proving.refine import Refinement, refine
from caet_opt.proving.result import ProvenTime
from caet_opt.proving.terms import Searched, build_term, rates
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.problem import read_task
from caet_opt.solving.result import CharacteristicTime

#: Largest number of digits.
MOST_DIGITS = 1000

#: Working precision in bits, and of one attempt after the other: by what it is multiplied, the barrier from which the
#: refinement starts, whether it takes bold steps, and with true curvatures, be they negative.
BITS_PER_DIGIT, EXTRA_BITS = 7, 250
ATTEMPTS = (
    (1, 1e-10, True, True),
    (1, 1e-6, False, True),
    (2, 1e-2, True, False),
    (4, 1e-4, False, True),
    (8, 1e-2, False, False),
)

#: Certified gap of a double's answer that is good enough to start from.
ROUGH = 0.5

#: Digits beyond those asked for: of the refined optimum, of the safety margin, and of the rounded effort and weights.
REFINED, MARGIN, ROUNDED = 5, 6, 9


def proven_time(
    model: BanditModel, task: Task | str, digits: int = 50, *, start: CharacteristicTime | None = None
) -> ProvenTime:
    """T* for the given numbers, proven to a relative ``10^-digits``.

    The answer in double precision is refined in high precision and rounded to rational points; both bounds follow from
    these by ball arithmetic. Decimals, fractions and whole numbers are exact; a float stands for its shortest
    decimal.

    Parameters
    ----------
    model, task
        What to solve; the task may be given in the grammar. A family of your own needs `algebraic_divergence`
        and `unit_variance` in plain arithmetic.
    digits
        From 1 to 1000.
    start
        The answer in double precision, if you have it already.

    Raises
    ------
    InputError
        The model or the task is not valid, or too close to a tie for double precision, where the search starts.
    SolverError
        The digits could not be proven; it carries the gap that was reached.

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> print(proven_time(model, "ranking", digits=30).value)
    11.6568542494923801952067548968
    """
    started = perf_counter()
    check_digits(digits)
    task = read_task(task, model)
    problem = pose_exactly(model, task)
    found = characteristic_time(model, task, tolerance=ROUGH) if start is None else start
    if found.statements != problem.statements or len(found.effort) != len(problem.means):
        raise InputError("start is the answer to another problem; leave it out, or give the answer to this one")
    lower, upper, effort, weights, points = prove(problem, problem.columns(model), found, digits)
    seconds = perf_counter() - started
    return ProvenTime(model, found.task, digits, lower, upper, effort, problem.statements, weights, points, seconds)


def check_digits(digits: int) -> None:
    """Raise `InputError` for a number of digits that is not offered, `MissingExtraError` without ball arithmetic."""
    require_flint()
    if not is_whole(digits, 1, MOST_DIGITS):
        raise InputError(f"digits must be a whole number from 1 to {MOST_DIGITS}, got {digits!r}")


class Proof(NamedTuple):
    """Lower and upper bound, effort by arm, and by statement the weights and the points that go with them."""

    lower: Fraction
    upper: Fraction
    effort: tuple[Fraction, ...]
    weights: tuple[tuple[Fraction, ...], ...]
    points: tuple[tuple[Point, ...], ...]


def prove(problem: ExactProblem, columns: Sequence[Column], start: CharacteristicTime, digits: int) -> Proof:
    """The proof at the first precision that does."""
    if not columns:
        nothing: tuple[tuple[Any, ...], ...] = ((),) * len(problem.statements)
        return Proof(Fraction(0), Fraction(0), (Fraction(0),) * len(problem.means), nothing, nothing)
    gap, weights = float("inf"), starting_weights(columns, start)
    for factor, barrier, bold, true in ATTEMPTS:
        with working_precision(factor * (BITS_PER_DIGIT * digits + EXTRA_BITS)):
            try:
                refined = refine(
                    problem, columns, start.effort.tolist(), weights, digits + REFINED, barrier, bold, true
                )
                return bounds(problem, columns, refined, digits)
            except SolverError as error:
                gap = min(gap, error.gap)
    reached = f"the refinement reached a relative gap of {write_gap(gap)}"
    raise SolverError(f"{digits} digits could not be proven: {reached}", gap)


def starting_weights(columns: Sequence[Column], start: CharacteristicTime) -> list[float]:
    """The multiplier of each column in the double's answer, which has one or two for a statement as well."""
    listed: dict[int, list[float]] = {}
    for owner, weight in zip(start.columns.owners.tolist(), start.multipliers.tolist(), strict=True):
        listed.setdefault(owner, []).append(weight)
    owners = [column.statement for column in columns]
    times = Counter(owners)
    return [listed[owner].pop(0) if times[owner] > 1 else sum(listed[owner]) for owner in owners]


def bounds(problem: ExactProblem, columns: Sequence[Column], refined: Refinement, digits: int) -> Proof:
    """Round the optimum to rational points that are feasible beyond doubt; `SolverError` when balls are too wide."""
    margin = Fraction(1, 10 ** (digits + MARGIN))
    effort = tuple(
        round_up(refined.effort[arm] * (1 + margin), digits + ROUNDED) if arm in refined.effort else Fraction(0)
        for arm in range(len(problem.means))
    )
    places = [find_point(problem, column, effort, digits + ROUNDED) for column in columns]
    found = [rates(problem, column, x) for column, x in zip(columns, places, strict=True)]
    check_terms(problem, columns, places, effort, refined.gap)
    upper = sum((cost * w for cost, w in zip(problem.costs, effort, strict=True)), Fraction(0))
    weights = feasible_weights(problem, refined, found, margin, upper / 10 ** (digits + ROUNDED))
    lower = sum(weights, Fraction(0))
    if (upper - lower) * 10**digits > upper:
        raise SolverError("the bounds are too far apart", float((upper - lower) / upper))
    return Proof(lower, upper, effort, *by_statement(problem, columns, places, weights))


def find_point(problem: ExactProblem, column: Column, effort: tuple[Fraction, ...], digits: int) -> Fraction:
    """x at which the term of a column is least; one that is searched is rounded, by its distance to the nearer end."""
    if column.fixed is not None:
        return column.fixed
    if column.low is None or column.high is None:
        return problem.weighted_point(problem.statements[column.statement], effort)
    term = build_term(problem, column, {arm: arm for arm in column.arms})
    assert isinstance(term, Searched)
    end = term.find(*(ball(effort[arm] / problem.dispersions[arm]) for arm in column.arms))
    if end is not None:
        return end
    share = midpoint_fraction(1 / (1 + abs(term.odds).exp())) * (column.high - column.low)
    return column.low + round_up(share, digits) if term.odds < 0 else column.high - round_up(share, digits)


def check_terms(
    problem: ExactProblem, columns: Sequence[Column], places: list[Fraction], effort: tuple[Fraction, ...], gap: float
) -> None:
    """Raise `SolverError` unless the term of every statement is certainly 1 or more."""
    for column, x in zip(columns, places, strict=True):
        statement = problem.statements[column.statement]
        if column.low is None:
            enough = sum(ball(effort[arm]) * rate for arm, rate in rates(problem, column, x).items()) >= 1
        else:
            a, b = column.arms
            efforts = effort[a] / problem.dispersions[a], effort[b] / problem.dispersions[b]
            means, ends = (problem.means[a], problem.means[b]), problem.point_range(statement)
            points = [other for one, other in zip(columns, places, strict=True) if one.statement == column.statement]
            enough = is_one_or_more(Boundary(problem.family, efforts, means, statement.margin, *ends), points)
        if not enough:
            raise SolverError(f"the term of {statement} is not certainly 1 or more", gap)


def feasible_weights(
    problem: ExactProblem, refined: Refinement, found: list[dict[int, Ball]], margin: Fraction, unit: Fraction
) -> list[Fraction]:
    """The weights scaled and rounded down until ``sum_e q_e d(mu_a, lambda_e) / phi_a <= c_a`` is certain for all a."""
    largest = max(load / ball(problem.costs[arm]) for arm, load in loads(refined.weights, found).items())
    shrink = (1 - margin) / midpoint_fraction(largest)
    step = Fraction(10) ** magnitude(unit)
    weights = [weight * shrink // step * step for weight in refined.weights]
    for arm, load in loads(weights, found).items():
        if not load <= ball(problem.costs[arm]):
            raise SolverError(f"the weights at arm {arm} do not certainly stay within its cost", refined.gap)
    return weights


def loads(weights: Iterable[Fraction], found: list[dict[int, Ball]]) -> dict[int, Ball]:
    """``sum over columns e at arm a of q_e d(mu_a, lambda_e) / phi_a`` by arm."""
    total: dict[int, Ball] = {}
    for weight, by_arm in zip(weights, found, strict=True):
        for arm, rate in by_arm.items():
            total[arm] = total.get(arm, 0) + ball(weight) * rate
    return total


def by_statement(
    problem: ExactProblem, columns: Sequence[Column], places: list[Fraction], weights: list[Fraction]
) -> tuple[tuple[tuple[Fraction, ...], ...], tuple[tuple[Point, ...], ...]]:
    """Weights and points of each statement; of two points one without a weight is left out."""
    listed: list[list[tuple[Fraction, Point]]] = [[] for _ in problem.statements]
    for column, x, weight in zip(columns, places, weights, strict=True):
        listed[column.statement].append((weight, problem.point(problem.statements[column.statement], x)))
    kept = [[item for item in items if item[0] > 0] or items[:1] for items in listed]
    return tuple(tuple(w for w, _ in items) for items in kept), tuple(tuple(p for _, p in items) for items in kept)


def round_up(value: Fraction, digits: int) -> Fraction:
    """A positive number rounded up to so many significant digits."""
    step = Fraction(10) ** (magnitude(value) - digits + 1)
    return -(-value // step) * step
