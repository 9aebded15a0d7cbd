"""From a model and a task to a theorem: T* between two rational bounds, as many digits as are asked for."""

from collections.abc import Iterable
from fractions import Fraction
from time import perf_counter

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.bandits.tasks.constraints import plain_pairs
from caet_opt.common.checks import is_whole
from caet_opt.common.numbers import magnitude, write_gap
from caet_opt.errors import InputError, SolverError
from caet_opt.proving import require_flint
from caet_opt.proving.balls import Ball, ball, divergence, midpoint_fraction, working_precision
from caet_opt.proving.problem import ExactProblem, pose_exactly
from caet_opt.proving.refine import Refinement, refine
from caet_opt.proving.result import ProvenTime
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.problem import read_task
from caet_opt.solving.result import CharacteristicTime

#: Largest number of digits.
MOST_DIGITS = 1000

#: Working precision in bits, and of one attempt after the other: by what it is multiplied, the barrier from which the
#: refinement starts, and whether it takes bold steps.
BITS_PER_DIGIT, EXTRA_BITS = 7, 250
ATTEMPTS = ((1, 1e-10, True), (1, 1e-6, False), (2, 1e-2, True), (4, 1e-4, False), (8, 1e-2, False))

#: Certified gap of a double's answer that is good enough to start from.
ROUGH = 0.5

#: Digits beyond those asked for: of the refined optimum, of the safety margin, and of the rounded effort and weights.
REFINED, MARGIN, ROUNDED = 5, 6, 9


def proven_time(
    model: BanditModel, task: Task | str, digits: int = 50, *, start: CharacteristicTime | None = None
) -> ProvenTime:
    """T* of the numbers that the model was given, proven to a relative ``10^-digits``.

    The double's answer is refined in high precision and rounded to rational points, from which both bounds follow by
    ball arithmetic. Numbers mean what `caet_opt.common.exact.exact` says: decimals, fractions and whole numbers
    themselves, floats their shortest decimal.

    Parameters
    ----------
    model, task
        What to solve; the task may be given in the grammar. A family of one's own needs `algebraic_divergence`
        and `unit_variance` in plain arithmetic.
    digits
        From 1 to 1000.
    start
        The double's answer, where there is one already.

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
    task = read_task(task, model.arms)
    problem = pose_exactly(model, task)
    found = characteristic_time(model, task, tolerance=ROUGH) if start is None else start
    if plain_pairs(found.statements) != problem.pairs or len(found.effort) != len(problem.means):
        raise InputError("start is the answer to another problem; leave it out, or give the answer to this one")
    lower, upper, effort, weights = prove(problem, found, digits)
    midpoints = tuple(problem.midpoint(pair, effort) for pair in problem.pairs)
    seconds = perf_counter() - started
    return ProvenTime(model, task, digits, lower, upper, effort, problem.pairs, weights, midpoints, seconds)


def check_digits(digits: int) -> None:
    """Raise `InputError` for a number of digits that is not offered, `MissingExtraError` without ball arithmetic."""
    require_flint()
    if not is_whole(digits, 1, MOST_DIGITS):
        raise InputError(f"digits must be a whole number from 1 to {MOST_DIGITS}, got {digits!r}")


Proof = tuple[Fraction, Fraction, tuple[Fraction, ...], tuple[Fraction, ...]]


def prove(problem: ExactProblem, start: CharacteristicTime, digits: int) -> Proof:
    """Lower and upper bound, effort and weights, at the first precision that does."""
    if not any(problem.constrains(pair) for pair in problem.pairs):
        zero = Fraction(0)
        return zero, zero, (zero,) * len(problem.means), (zero,) * len(problem.pairs)
    gap = float("inf")
    for factor, barrier, bold in ATTEMPTS:
        with working_precision(factor * (BITS_PER_DIGIT * digits + EXTRA_BITS)):
            try:
                refined = refine(
                    problem, start.effort.tolist(), start.multipliers.tolist(), digits + REFINED, barrier, bold
                )
                return bounds(problem, refined, digits)
            except SolverError as error:
                gap = min(gap, error.gap)
    reached = f"the refinement reached a relative gap of {write_gap(gap)}"
    raise SolverError(f"{digits} digits could not be proven: {reached}", gap)


def bounds(problem: ExactProblem, refined: Refinement, digits: int) -> Proof:
    """Round the optimum to rational points that are feasible beyond doubt; `SolverError` when balls are too wide."""
    margin = Fraction(1, 10 ** (digits + MARGIN))
    effort = tuple(
        round_up(refined.effort[arm] * (1 + margin), digits + ROUNDED) if arm in refined.effort else Fraction(0)
        for arm in range(len(problem.means))
    )
    rates = {index: pair_rates(problem, index, effort) for index in refined.weights}
    for index, rate in rates.items():
        if not sum(ball(effort[arm]) * d for arm, d in rate.items()) >= 1:
            raise SolverError(f"the term of pair {problem.pairs[index]} is not certainly 1 or more", refined.gap)
    upper = sum((cost * w for cost, w in zip(problem.costs, effort, strict=True)), Fraction(0))
    weights = feasible_weights(problem, refined, rates, margin, upper / 10 ** (digits + ROUNDED))
    lower = sum(weights, Fraction(0))
    if (upper - lower) * 10**digits > upper:
        raise SolverError("the bounds are too far apart", float((upper - lower) / upper))
    return lower, upper, effort, weights


def pair_rates(problem: ExactProblem, index: int, effort: tuple[Fraction, ...]) -> dict[int, Ball]:
    """``d(mu_a, m_e) / phi_a`` of the costly arms of a pair."""
    pair = problem.pairs[index]
    m = problem.midpoint(pair, effort)
    assert m is not None
    return {
        arm: divergence(problem.family, ball(problem.means[arm]), ball(m)) / ball(problem.dispersions[arm])
        for arm in problem.costly_arms(pair)
    }


def feasible_weights(
    problem: ExactProblem, refined: Refinement, rates: dict[int, dict[int, Ball]], margin: Fraction, unit: Fraction
) -> tuple[Fraction, ...]:
    """The weights scaled and rounded down until ``sum_e q_e d(mu_a, m_e) / phi_a <= c_a`` is certain at every arm."""
    largest = max(load / ball(problem.costs[arm]) for arm, load in loads(refined.weights.items(), rates).items())
    shrink = (1 - margin) / midpoint_fraction(largest)
    step = Fraction(10) ** magnitude(unit)
    weights = {index: weight * shrink // step * step for index, weight in refined.weights.items()}
    for arm, load in loads(weights.items(), rates).items():
        if not load <= ball(problem.costs[arm]):
            raise SolverError(f"the weights at arm {arm} do not certainly stay within its cost", refined.gap)
    return tuple(weights.get(index, Fraction(0)) for index in range(len(problem.pairs)))


def loads(weights: Iterable[tuple[int, Fraction]], rates: dict[int, dict[int, Ball]]) -> dict[int, Ball]:
    """``sum over pairs e at arm a of q_e d(mu_a, m_e) / phi_a`` by arm."""
    found: dict[int, Ball] = {}
    for index, weight in weights:
        for arm, rate in rates[index].items():
            found[arm] = found.get(arm, 0) + ball(weight) * rate
    return found


def round_up(value: Fraction, digits: int) -> Fraction:
    """A positive number rounded up to so many significant digits."""
    step = Fraction(10) ** (magnitude(value) - digits + 1)
    return -(-value // step) * step
