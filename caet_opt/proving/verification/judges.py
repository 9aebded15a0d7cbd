"""One instance of a formula, compared with each solver's certified interval and with the proven one."""

import sys
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from math import isfinite
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.common.numbers import round_up
from caet_opt.errors import InputError, SolverError
from caet_opt.proving.verification.formula import Formula, Value
from caet_opt.solving.certificate import certify
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.result import CharacteristicTime

#: Digits at which a formula is compared with certified intervals of double precision.
DOUBLE_CHECK_DIGITS = 30

#: Relative excess of what the formula's proportions cost over T*, up to which they count as optimal.
LARGEST_EXCESS = 1e-12

#: As a number of instances: all of them.
EVERY = sys.maxsize

#: The judge of the formula's proportions.
PROPORTIONS = "u*"


@dataclass(frozen=True)
class Plan:
    """By whom a formula is judged, and on how many of its instances.

    Attributes
    ----------
    limits : for each solver, how many instances it judges, from the first one on
    digits, proven : the proven digits, and how many instances are judged by them
    """

    limits: dict[str, int]
    digits: int
    proven: int

    @property
    def proof(self) -> str:
        """The name of the judge in high precision."""
        return f"{self.digits} digits"


class Verdict(NamedTuple):
    """One judge on one instance.

    Attributes
    ----------
    error : relative deviation of the formula, from T* as the judge found it, or from the far end of a proven interval
    holds : whether the interval contains the formula's value, or the proportions are optimal
    refusal : why there is no verdict, where there is none
    finding : what was compared, for people
    proof : whether the interval is a proven one
    """

    judge: str
    error: float
    holds: bool
    refusal: str | None = None
    finding: str = ""
    proof: bool = False


class CheckedInstance(NamedTuple):
    """The verdicts on one instance, and how far the solver's proportions are from the formula's."""

    position: int
    verdicts: tuple[Verdict, ...]
    deviation: float


def check(formula: Formula, position: int, plan: Plan) -> CheckedInstance:
    """The verdict of every judge that the plan names for the instance at this position."""
    model, task = formula.instances[position]
    try:
        value = formula.value(model, task, DOUBLE_CHECK_DIGITS, False)
        verdicts, deviation = [], 0.0
        for solver, limit in plan.limits.items():
            if position < limit:
                verdict, result = judge_by_solver(solver, model, task, value)
                verdicts.append(verdict)
                if result is not None and formula.proportions is not None and len(verdicts) == 1:
                    shares = formula.proportions(model, task)
                    verdicts.append(judge_by_cost(model, result, shares, value))
                    deviation = float(np.max(np.abs(shares - result.sampling_proportions)))
        if position < plan.proven:
            verdicts += judge_by_proof(formula, model, task, plan)
    except InputError as error:
        raise InputError(f"{formula.name}, instance {position}: {error}") from error
    return CheckedInstance(position, tuple(verdicts), deviation)


def judge_by_solver(
    solver: str, model: BanditModel, task: Task, value: Value
) -> tuple[Verdict, CharacteristicTime | None]:
    """Compare with a solver's certified interval; a solver without one gives no verdict."""
    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # a solver may come back with effort zero
            result = characteristic_time(model, task, solver=solver)
    except SolverError as error:
        return Verdict(solver, 0.0, True, refusal=str(error)), None
    if not isfinite(result.upper):
        return Verdict(solver, 0.0, True, refusal=f"the interval [{result.lower}, {result.upper}] says nothing"), None
    lower, upper = Fraction(result.lower), Fraction(result.upper)
    finding = f"{show(value)}, certified [{result.lower!r}, {result.upper!r}]"
    deviation = deviation_from(value, Fraction(result.value))
    return Verdict(solver, deviation, is_inside(value, lower, upper), finding=finding), result


def judge_by_cost(model: BanditModel, result: CharacteristicTime, shares: Array, value: Value) -> Verdict:
    """Compare what the formula's proportions cost, ``c . u / min_e f_e(u)``, with T*."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = certify(model, result.statements, shares, np.zeros(len(result.multipliers))).value
    excess = max(0.0, -1.0 + cost / as_float(value.number)) if value.number else cost
    return Verdict(PROPORTIONS, excess, excess <= LARGEST_EXCESS, finding=f"{show(value)}, u* costs {cost!r}")


def judge_by_proof(formula: Formula, model: BanditModel, task: Task, plan: Plan) -> list[Verdict]:
    """Compare with the proven interval of T*; no verdict on a formula in double precision."""
    from caet_opt.proving.prove import proven_time

    value = formula.value(model, task, plan.digits, True)
    if value.double:
        return []
    try:
        proven = proven_time(model, task, plan.digits)
    except SolverError as error:
        return [Verdict(plan.proof, 0.0, True, refusal=str(error))]
    deviation = max(deviation_from(value, proven.lower), deviation_from(value, proven.upper))
    finding = f"{show(value, plan.digits)}, proven to within {round_up(proven.upper - proven.lower, 2)}"
    return [Verdict(plan.proof, deviation, is_inside(value, proven.lower, proven.upper), finding=finding, proof=True)]


def is_inside(value: Value, lower: Fraction, upper: Fraction) -> bool:
    """Whether an interval contains the value, up to the value's own rounding."""
    if value.number is None:
        return False
    slack = value.rounding * abs(value.number)
    return lower - slack <= value.number <= upper + slack


def deviation_from(value: Value, time: Fraction) -> float:
    """``|formula - T*| / T*``; infinite for a formula that is not finite, or not zero where T* is."""
    if value.number is None or (time == 0 and value.number != 0):
        return float("inf")
    return as_float(abs(value.number - time) / time) if time else 0.0


def as_float(number: Fraction) -> float:
    """The nearest double; infinite beyond the largest."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else -float("inf")


def show(value: Value, digits: int = 17) -> str:
    """The formula's value for people."""
    if value.number is None:
        return "formula not a finite number"
    number = Context(prec=digits).divide(Decimal(value.number.numerator), Decimal(value.number.denominator))
    return f"formula {number}"
