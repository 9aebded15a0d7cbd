"""Bounds on T* that hold for any effort and any weights of statements, whoever computed them.

This module sees the model, the statements, a point and weights. It knows neither the solver nor the reduced problem;
the arithmetic and its proof are in `caet_opt.kernels.certify`.
"""

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import UNIT, Array, Integers
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.kernels.family_codes import model_numbers
from caet_opt.kernels.native import interpreted_kernel, present_kernel
from caet_opt.kernels.statement_columns import Columns, list_columns
from caet_opt.solving.levels import tell_levels
from caet_opt.solving.rows import Row, check_rows, doubles, meant_costs, meet_rows, reduced_costs

#: What rounding an effort that meets rows to doubles adds to the upper bound, in units of 2^-53.
ROUNDED_EFFORT = 4.0


class Certificate(NamedTuple):
    """``lower <= T* <= upper``; ``value`` is the upper bound before the allowance for rounding.

    All three are zero when nothing constrains an arm that costs something, so that T* is zero.

    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> result = characteristic_time(model, "ranking")
    >>> certificate = certify(model, result.statements, result.effort, result.multipliers)
    >>> certificate.lower <= 2 * (3 + 2 * 2**0.5) <= certificate.upper
    True
    """

    value: float
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """Relative width of the certified interval; one when there is no upper bound, or none that is positive."""
        if 0.0 < self.upper < inf:
            return (self.upper - self.lower) / self.upper
        return 0.0 if self == NOTHING_TO_PAY else 1.0


#: The certificate of T* = 0.
NOTHING_TO_PAY = Certificate(0.0, 0.0, 0.0)


@np.errstate(all="ignore")
def certify(
    model: BanditModel,
    statements: Sequence[Statement | Pair],
    effort: Array,
    weights: Array,
    rows: Sequence[Row] = (),
    prices: Array | Sequence[float] = (),
) -> Certificate:
    """Certify T* from an effort per arm and a weight per statement, both non-negative.

    A pair (a, b) is the statement that a beats b. A statement that enters twice (`caet_opt.kernels.statement_columns`)
    has two weights. With ``m_e`` the weighted mean of a pair's arms, or the mean of its free arm,

        sum(q) / max_a [ sum_{e at a} q_e d(mu_a, m_e) / c_a ]  <=  T*  <=  c . w / min_e f_e(w),

    widened by what rounding can change; docs/mathematics/certificate.md has the proof. The interval
    holds for the numbers that the model was given: decimals and fractions exactly, floats as the doubles that they
    are. If efforts are limited by rows of G, ``G w <= 0`` or ``= 0``, there is a price for each: see
    `certify_rows`.

    >>> model = BanditModel("gaussian", [1, 0], costs=[1, 1])
    >>> value, lower, upper = certify(model, [(0, 1)], effort=[2, 3], weights=[1])
    >>> round(lower, 6), round(upper, 6)
    (5.555556, 8.333333)
    """
    arms, effort, weights = len(model.means), np.asarray(effort, dtype=float), np.asarray(weights, dtype=float)
    found = columns_of(model, statements)
    size = len(found.owners)
    if effort.shape != (arms,) or weights.shape != (size,):
        raise ValueError(f"{arms} efforts and {size} weights are needed, got {effort.shape} and {weights.shape}")
    prices = np.asarray(prices, dtype=float)
    if prices.shape != (len(rows),):
        raise ValueError(f"{len(rows)} prices are needed, one for each row, got {prices.shape}")
    check_rows(model, rows)
    bound = partial(certify_rows, rows=rows, prices=prices) if rows else certify_columns
    certificate = bound(model, found, effort, weights)
    if certificate.upper < inf or found.is_plain:
        return certificate
    told, kept = told_columns(model, found)
    if told is None:
        return certificate if kept.size or rows else NOTHING_TO_PAY
    return bound(model, told, effort, weights[kept])


def told_columns(model: BanditModel, columns: Columns) -> tuple[Columns | None, Integers]:
    """The columns with free sides as levels, and without those that constrain nothing (`tell_levels`), and which of the
    columns they are: where rounding hides what a free mean and a margin add up to. None where that changes nothing, or
    where no column is left."""
    told = tell_levels(model, columns.statements)
    kept = tuple(statement for statement in told if statement is not None)
    if kept in (columns.statements, ()):
        return None, np.arange(len(columns.owners) if kept else 0)
    found = list_columns(kept, type(model.family))
    numbers = [index for index, statement in enumerate(told) if statement is not None]
    first = np.searchsorted(columns.owners, numbers)  # of the columns of each statement, which stand together
    second = np.append(False, found.owners[1:] == found.owners[:-1])
    return found, first[found.owners] + second


def certify_columns(
    model: BanditModel,
    columns: Columns,
    effort: Array,
    weights: Array,
    costs: Array | None = None,
    load: Array | None = None,
) -> Certificate:
    """`certify` for the columns of statements, and other costs than the model's, if they are given.

    The loads of the arms, ``sum of q_e d(mu_a, m_e)``, are left in the first row of ``load``, which has two.
    """
    kernel, numbers = present_kernel(type(model.family)), model_numbers(model)
    load = np.zeros((2, len(model.means))) if load is None else load
    if costs is not None:
        numbers = numbers._replace(costs=costs)
    found = kernel["certify_pairs"](numbers, columns.pairs, columns.margins, effort, weights, load)
    return Certificate(*map(float, found))


def certify_rows(
    model: BanditModel, columns: Columns, effort: Array, weights: Array, rows: Sequence[Row], prices: Array
) -> Certificate:
    """Certify ``T* = min c . w  s.t.  f_e(w) >= 1,  G w <= 0`` (or ``= 0``) from a point and a price for each row:

        sum(q) / max_a [ sum_{e at a} q_e d(mu_a, m_e) / (c + G' nu)_a ]  <=  T*  <=  c . w / min_e f_e(w),

    the lower bound for nu >= 0, of any sign where a row is an equation, the upper one for w with G w <= 0. For every
    such w, ``(c + G' nu) . w <= c . w``: no T* with these limits is less than the one of costs ``c + G' nu`` without
    them, which `certify_columns` bounds. An arm that has no weight needs ``(c + G' nu)_a >= 0`` alone.

    Nothing is rounded in the way to the two calls: ``c + G' nu`` is exact, then rounded down, which lowers that T*, and
    the effort is replaced by one near to it with ``G w <= 0`` in rational numbers. Rounded to doubles, each of its
    parts changes by 1, so cost and terms change by 1 each: the upper bound is widened by 4 for the two, their quotient
    and the widening (docs/mathematics/limits.md).

    >>> from fractions import Fraction
    >>> half = Row((Fraction(1, 2), Fraction(-1, 2)), equal=True)
    >>> model = BanditModel("gaussian", [1, 0], costs=[1, 4])
    >>> value, lower, upper = certify(model, [(0, 1)], [4, 4], [1], [half], [3])
    >>> round(lower, 9), round(upper, 9)
    (20.0, 20.0)
    """
    loaded = np.zeros(len(model.means) + 1, dtype=bool)
    loaded[columns.pairs[:, weights > 0.0].ravel()] = True
    lower, value, upper = 0.0, inf, inf
    if np.all(np.isfinite(prices)):
        costs = reduced_costs(meant_costs(model), rows, prices.tolist(), loaded[:-1].tolist())
        if costs is not None:
            lower = certify_columns(model, columns, effort, weights, costs).lower
    point = meet_rows(rows, effort)
    rounded = None if point is None else doubles(point)
    if rounded is not None:
        value, _, upper = certify_columns(model, columns, rounded, weights)
        upper *= 1.0 + ROUNDED_EFFORT * UNIT
    return Certificate(value, min(lower, value), upper)


def columns_of(model: BanditModel, statements: Sequence[Statement | Pair]) -> Columns:
    """The columns of statements, of which plain ones may be pairs."""
    return list_columns(tuple(Statement(*statement) for statement in statements), type(model.family))


def narrowest_gap(model: BanditModel, columns: Columns) -> float:
    """The gap that rounding alone leaves, roughly."""
    most = int(np.max(np.bincount(1 + np.ravel(columns.pairs))[1:]))
    return 2.0 * (model.family.divergence_error + most + 20.0) * UNIT


def statement_terms(model: BanditModel, statements: Sequence[Statement | Pair], effort: Array) -> Array:
    """f_e(w) of every statement: infinite when both arms are free or when any positive effort settles it."""
    found = columns_of(model, statements)
    return found.least_by_statement(column_terms(model, found, effort))


def column_terms(model: BanditModel, columns: Columns, effort: Array) -> Array:
    """The terms of columns."""
    terms = np.zeros(len(columns.owners))
    fill = interpreted_kernel(type(model.family))["fill_terms"]
    fill(model_numbers(model), columns.pairs, columns.margins, effort, terms)
    return terms
