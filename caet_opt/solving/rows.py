"""Linear constraints on the effort beside the statements, ``G w <= 0`` or ``= 0``, in exact numbers.

Shares are homogeneous: that an arm has at most 0.3 of the money is ``c_0 w_0 - 0.3 c . w <= 0``. A constraint
``a . w <= b`` on efforts that cost one together is the row ``a - b c``.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from numbers import Rational
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel, gaps
from caet_opt.common.exact import Number, exact
from caet_opt.errors import InputError

#: An effort below this, and not zero, has not all its digits.
LEAST_EFFORT = 1e-290

ZERO = Fraction(0)


class Row(NamedTuple):
    """``coefficients . w <= 0``, or ``= 0`` where ``equal``, for an effort per arm of the model."""

    coefficients: tuple[Fraction, ...]
    equal: bool = False


def meant(number: Number) -> Fraction:
    """The number that a certified interval is about: a float is the double that it is."""
    return exact(number) if isinstance(number, Decimal | Rational) else Fraction(float(number))


def meant_costs(model: BanditModel) -> tuple[Fraction, ...]:
    """The costs that a certified interval is about."""
    if model.given_costs is None:
        return gaps(tuple(map(meant, model.given_means)), model.lower_is_better)
    return tuple(map(meant, model.given_costs))


def check_rows(model: BanditModel, rows: Sequence[Row]) -> None:
    """Raise `InputError` for a row of another length, or with a coefficient for an arm that costs nothing."""
    for row in rows:
        if len(row.coefficients) != len(model.costs):
            raise InputError(f"a row of {len(row.coefficients)} coefficients for {len(model.costs)} arms")
        for arm, (coefficient, cost) in enumerate(zip(row.coefficients, model.costs, strict=True)):
            if coefficient != 0 and cost == 0:
                raise InputError(f"a row has a coefficient for arm {arm}, which costs nothing, so has no effort")


def meet_rows(rows: Sequence[Row], effort: Array) -> tuple[Fraction, ...] | None:
    """Efforts near the given ones that meet the rows exactly; None where this finds none.

    The rows that are equations, and those that are violated, are made equations on as many arms as there are of them,
    those on which least has to change, in proportion.
    """
    if not (np.all(np.isfinite(effort)) and np.all(effort >= 0.0)):
        return None
    given = tuple(map(Fraction, effort.tolist()))
    held = [row.equal for row in rows]
    for _ in range(len(rows) + 1):
        found = solve_equations([row for row, holds in zip(rows, held, strict=True) if holds], given)
        if min(found) < 0:
            return None
        broken = [not holds and dot(row.coefficients, found) > 0 for row, holds in zip(rows, held, strict=True)]
        if not any(broken):
            return found
        held = [holds or breaks for holds, breaks in zip(held, broken, strict=True)]
    return None


def solve_equations(rows: Sequence[Row], given: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """``w`` with ``G w = 0`` that differs from the given one at one arm per row: Gauss and Jordan, the pivot of a row
    being the arm with the largest part in it."""
    arms = [arm for arm, amount in enumerate(given) if amount > 0]
    reduced: dict[int, tuple[dict[int, Fraction], Fraction]] = {}
    for row in rows:
        line, left = {arm: row.coefficients[arm] for arm in arms}, dot(row.coefficients, given)
        for pivot, (other, excess) in reduced.items():
            line, left = subtract(line, other, line[pivot]), left - line[pivot] * excess
        size, pivot = max(((abs(line[arm]) * given[arm], arm) for arm in arms), default=(ZERO, -1))
        if size == 0:
            continue
        scale = line[pivot]
        line, left = {arm: value / scale for arm, value in line.items()}, left / scale
        for place, (other, excess) in reduced.items():
            reduced[place] = subtract(other, line, other[pivot]), excess - other[pivot] * left
        reduced[pivot] = line, left
    return tuple(amount - reduced[arm][1] if arm in reduced else amount for arm, amount in enumerate(given))


def subtract(line: dict[int, Fraction], other: dict[int, Fraction], factor: Fraction) -> dict[int, Fraction]:
    """A line less a multiple of another one."""
    return {arm: value - factor * other[arm] for arm, value in line.items()} if factor != 0 else line


def dot(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    """The inner product."""
    return sum((x * y for x, y in zip(first, second, strict=True) if x != 0 and y != 0), ZERO)


def reduced_costs(
    costs: Sequence[Fraction], rows: Sequence[Row], prices: Sequence[float], loaded: Sequence[bool]
) -> Array | None:
    """``c + G' nu`` in doubles that are not larger, of the arms that are loaded, and the costs of the others.

    Prices of rows that are no equations are taken for 0 where they are negative. Where an arm that is not loaded had a
    negative reduced cost, all prices are made smaller by one factor, until it has none; None where one that is loaded
    has none that is positive.
    """
    nu = [Fraction(price if row.equal else max(price, 0.0)) for row, price in zip(rows, prices, strict=True)]
    added = [
        sum((x * row.coefficients[arm] for x, row in zip(nu, rows, strict=True)), ZERO) for arm in range(len(costs))
    ]
    share = min(
        (-cost / more for cost, more, used in zip(costs, added, loaded, strict=True) if not used and cost + more < 0),
        default=Fraction(1),
    )
    found = np.array([round_down(cost) for cost in costs])
    for arm, used in enumerate(loaded):
        if used and costs[arm] > 0:
            found[arm] = round_down(costs[arm] + share * added[arm])
            if not found[arm] > 0.0:
                return None
    return found


def round_rows(rows: Sequence[Row]) -> Array:
    """The coefficients in doubles, a line per row."""
    return np.array([list(map(float, row.coefficients)) for row in rows])


def round_down(number: Fraction) -> float:
    """The largest double that is not larger, or one before it; minus infinity where there is none."""
    try:
        double = float(number)
    except OverflowError:
        return -inf
    return double if Fraction(double) <= number else nextafter(double, -inf)


def doubles(effort: Sequence[Fraction]) -> Array | None:
    """Efforts rounded to doubles, each within 2^-53 of itself; None where one is too near to the ends."""
    try:
        found = [float(amount) for amount in effort]
    except OverflowError:
        return None
    if any(amount != 0 and not double >= LEAST_EFFORT for amount, double in zip(effort, found, strict=True)):
        return None
    return np.array(found)
