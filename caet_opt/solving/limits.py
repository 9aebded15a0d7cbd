"""Limits on shares as rows of linear constraints, and which of them cannot be met."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.limits import LEADER, Limit
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.common.exact import Number
from caet_opt.common.numbers import in_full
from caet_opt.errors import InputError, SolverError
from caet_opt.solving.feasible import largest_least
from caet_opt.solving.rows import Row, meant, meant_costs, round_rows

Rows = tuple[Row, ...]

#: By how much shares of pulls that are no target of a solve may miss a limit, by rounding.
MISSED = 1e-9


class LimitPrice(NamedTuple):
    """A limit at the optimum: the share that its arms have there, and what its own share is worth.

    ``price`` is dT* / dshare, the multiplier of the limit: with one point (0.01) more, T* changes by about
    ``0.01 price``. It is zero where the limit does not bind. ``multiplier`` is nu of the certificate.
    """

    limit: Limit
    share: float
    price: float
    multiplier: float

    def to_record(self, arms: Sequence[str]) -> dict[str, Any]:
        """As plain values."""
        return {"limit": self.limit.write(arms), "share": self.share, "price": self.price}

    def describe(self, arms: Sequence[str]) -> str:
        """What one point more of the share would do."""
        text, point = f"limit {self.limit.write(arms)}: share {self.share:.6g}", 0.01 * abs(self.price)
        if self.price == 0:
            return f"{text}, does not bind"
        change = "save" if self.price < 0 else "cost"
        return f"{text}, binds; one percentage point more would {change} {in_full(f'{point:.3g}')}"


def find_leader(limits: Sequence[Limit], task: Task, means: Sequence[Any]) -> int | None:
    """The arm that the answer for these means names as the best one, where a limit is about it."""
    return task.leader(task.answer(means)) if any(limit.arms is None for limit in limits) else None


def limit_rows(limits: Sequence[Limit], model: BanditModel, task: Task, leader: int | None) -> Rows:
    """The row of each limit, for an effort per arm of the model; `InputError` where a limit makes no sense for it.

    A share of the money is ``sum_{a in A} c_a w_a <= s c . w``, one of the pulls ``sum_{a in A} w_a <= s sum w`` over
    the arms that cost something; ``>=`` is the same with other signs.
    """
    if leader is None and any(limit.arms is None for limit in limits):
        raise InputError(f"task {str(task)!r} has no {LEADER}, the best arm; limit arms by their numbers or names")
    for limit in limits:
        check_arms(limit, model.costs, model.arms, leader)
    return build_rows(tuple(limits), meant_costs(model), leader)


def check_beforehand(limits: Sequence[Limit], costs: Sequence[float], task: Task) -> None:
    """Raise `InputError` for limits that make no sense for arms of these costs, whatever their means will be."""
    if limits and task.several_right:
        raise InputError(
            f"task {str(task)!r} may have several right answers, and limits cannot be kept then; leave out the limits "
            "or the tolerance"
        )
    leaders = range(len(costs)) if any(limit.arms is None for limit in limits) else [None]
    if leaders != [None] and task.leader(0) is None:
        raise InputError(f"task {str(task)!r} has no {LEADER}, the best arm; limit arms by their numbers or names")
    names = tuple(map(str, range(len(costs))))
    for leader in leaders:
        for limit in limits:
            check_arms(limit, costs, names, leader)
        try:
            check_limits(limits, build_rows(tuple(limits), tuple(map(Fraction, costs)), leader), costs, names, ())
        except InputError as error:
            raise InputError(str(error) if leader is None else f"where arm {leader} leads, {error}") from error


def check_arms(limit: Limit, costs: Sequence[float], names: Sequence[str], leader: int | None) -> None:
    """Raise `InputError` for an arm that the model does not have, or whose pulls do not count."""
    for arm in arms_of(limit, leader):
        if not 0 <= arm < len(costs):
            raise InputError(f"limit '{limit}' names arm {arm}, but the model has arms 0 to {len(costs) - 1}")
        if limit.kind == "pulls" and not costs[arm] > 0:
            raise InputError(
                f"limit '{limit.write(names)}': arm {names[arm]} is free, and shares of pulls count only "
                "arms that cost something; limit other arms"
            )


def arms_of(limit: Limit, leader: int | None) -> tuple[int, ...]:
    """The arms that a limit is about."""
    if limit.arms is not None:
        return limit.arms
    return () if leader is None else (leader,)


@lru_cache(maxsize=256)
def build_rows(limits: tuple[Limit, ...], costs: tuple[Fraction, ...], leader: int | None) -> Rows:
    """The row of each limit, given the costs and the arm that leads."""
    rows = []
    for limit in limits:
        arms, sign = set(arms_of(limit, leader)), -1 if limit.relation == ">=" else 1
        units = costs if limit.kind == "cost" else [Fraction(cost > 0) for cost in costs]
        parts = [sign * unit * ((arm in arms) - limit.share) for arm, unit in enumerate(units)]
        rows.append(Row(tuple(parts), limit.relation == "="))
    return tuple(rows)


@lru_cache(maxsize=1024)
def nearest_shares(rows: Rows, wanted: tuple[float, ...]) -> tuple[float, ...]:
    """The shares of pulls that meet rows and are nearest to given ones:

        min |u - wanted|^2   s.t.   G u <= 0 or = 0,   sum_a u_a = 1,   u >= 0;

    `SolverError` where they are not found.
    """
    from scipy.optimize import LinearConstraint, minimize

    lines, given = round_rows(rows), np.array(wanted)
    size = np.abs(lines).max(axis=1, keepdims=True)
    lines /= np.where(size > 0.0, size, 1.0)
    equal = np.array([row.equal for row in rows])
    whole = list_independent(np.vstack([np.ones_like(given), lines[equal]]))
    meets = [LinearConstraint(whole, np.eye(1, len(whole))[0], np.eye(1, len(whole))[0])]
    if not equal.all():
        meets.append(LinearConstraint(lines[~equal], -np.inf, 0.0))
    found = minimize(
        lambda u: np.sum((u - given) ** 2),
        given,
        jac=lambda u: 2.0 * (u - given),
        bounds=[(0.0, 1.0)] * len(wanted),
        constraints=meets,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    shares = np.maximum(found.x, 0.0) / np.sum(np.maximum(found.x, 0.0))
    missed = float(np.max(np.where(equal, np.abs(lines @ shares), lines @ shares)))
    if not missed <= MISSED:
        raise SolverError(f"no shares of pulls within the limits were found: the nearest miss one by {missed:.1g}")
    return tuple(shares.tolist())


def list_independent(lines: Array) -> Array:
    """The lines of a matrix of which none is a combination of those before it."""
    kept: list[Array] = []
    for line in lines:
        if np.linalg.matrix_rank(np.array([*kept, line]), tol=MISSED) > len(kept):
            kept.append(line)
    return np.array(kept)


def check_limits(
    limits: Sequence[Limit], rows: Rows, given: Sequence[Number], names: Sequence[str], needed: Sequence[int]
) -> None:
    """Raise `InputError` for limits that no efforts meet, or that leave nothing to an arm that has to be pulled."""
    costs = tuple(map(meant, given))
    least = remember_least(rows, costs, tuple(sorted(needed)))
    if least is not None and (least > 0 or not needed):
        return

    def name(fails: Callable[[Rows], bool]) -> str:
        return " and ".join(f"'{limits[place].write(names)}'" for place in culprits(rows, fails))

    if least is None:
        which = name(lambda some: remember_least(some, costs, ()) is None)
        raise InputError(f"limits cannot be met{' together' * (' and ' in which)}: {which}; change or leave out one")
    arm = next(arm for arm in needed if remember_least(rows, costs, (arm,)) == 0)
    which = name(lambda some: remember_least(some, costs, (arm,)) == 0)
    raise InputError(
        f"limits leave nothing for arm {names[arm]}, which the task needs, so T* is infinite: {which}; change or "
        "leave out one"
    )


#: `largest_least` with a memory.
remember_least = lru_cache(maxsize=1024)(largest_least)


def culprits(rows: Rows, fails: Callable[[Rows], bool]) -> list[int]:
    """The places of rows that fail together, none of which can be left out."""
    kept = list(range(len(rows)))
    for place in range(len(rows)):
        fewer = [other for other in kept if other != place]
        if fails(tuple(rows[other] for other in fewer)):
            kept = fewer
    return kept


def price_limits(
    limits: Sequence[Limit], model: BanditModel, leader: int | None, effort: Array, prices: Array
) -> tuple[LimitPrice, ...]:
    """What each limit is worth at an optimal effort that costs T*.

    By the envelope theorem, as the share s of a limit enters its row as ``-s`` times all money or pulls,
    ``dT* / ds = -nu`` times these, and ``+nu`` where the relation is ``>=``.
    """
    found = []
    costs = np.array(model.costs)
    for limit, price in zip(limits, cancel(limits, prices), strict=True):
        amounts = effort * costs if limit.kind == "cost" else np.where(costs > 0, effort, 0.0)
        total, arms = float(np.sum(amounts)), list(arms_of(limit, leader))
        worth = price * total * (1.0 if limit.relation == ">=" else -1.0)
        share = float(np.sum(amounts[arms])) / total if total > 0 else 0.0
        found.append(LimitPrice(limit, share, worth if worth != 0 else 0.0, price))
    return tuple(found)


def limited_sensitivities(model: BanditModel, effort: Array, limits: Sequence[LimitPrice], leader: int | None) -> Array:
    """dT*/dc_a under limits: ``w_a (1 + nu ((a in A) - s))`` with a limit ``cost:A<=s``, as costs are in its row."""
    factors = np.ones(len(effort))
    for limit, _, _, nu in limits:
        if limit.kind == "cost":
            sign = -1.0 if limit.relation == ">=" else 1.0
            among = np.isin(np.arange(len(effort)), arms_of(limit, leader))
            factors += sign * nu * (among - float(limit.share))
    return np.where(np.array(model.costs) > 0, effort * factors, np.nan)


def cancel(limits: Sequence[Limit], prices: Array) -> list[float]:
    """Prices, of which an upper and a lower limit of the same share have no more than one: both could be raised."""
    left: list[float] = prices.tolist()
    for place, limit in enumerate(limits):
        for other in range(place):
            opposite = {limit.relation, limits[other].relation} == {"<=", ">="}
            if opposite and limits[other] == replace(limit, relation=limits[other].relation):
                common = min(left[place], left[other])
                left[place], left[other] = left[place] - common, left[other] - common
    return left
