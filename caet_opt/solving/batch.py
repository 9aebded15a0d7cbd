"""Characteristic times of many models of one family, task and number of arms, compiled over the rows."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.bandits.families import Bounded, Family
from caet_opt.bandits.families.numerics import Array, Integers, Mask
from caet_opt.bandits.limits import Limit
from caet_opt.bandits.model import GAPS, Arrays, BanditModel, check_unmasked, read_family
from caet_opt.bandits.tasks import Task
from caet_opt.bandits.tasks.pairs import LISTED, STARS
from caet_opt.bandits.tasks.statements import judge
from caet_opt.common.checks import check_workers
from caet_opt.errors import CaetError, InputError
from caet_opt.kernels.compile import announce_compiling
from caet_opt.kernels.family_codes import family_numbers
from caet_opt.kernels.instance import Rows
from caet_opt.kernels.native import kernel_for, loaded_kernel
from caet_opt.kernels.statement_columns import Columns
from caet_opt.solving.asked import recall
from caet_opt.solving.backends.native import target_of
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.problem import lay_out, read_task
from caet_opt.solving.profiles import Profile, find_profile
from caet_opt.solving.programs.cache import cached_program
from caet_opt.solving.result import normalise

if TYPE_CHECKING:
    import pandas as pd

#: Rows of one compiled call: a millisecond or more, so that threads end together and Ctrl-C is heard.
BLOCK = 256

#: The largest whole number up to which doubles have all of them.
WHOLE = 2**53


@dataclass(frozen=True, eq=False)
class CharacteristicTimes:
    """T* of many models, by row, each certified: ``lower <= T* <= upper``; nan where a row was refused.

    Attributes
    ----------
    family, task, means, costs : what was solved; the costs are those of each row
    value, lower, upper, gap : of each row, as in `CharacteristicTime`
    sampling_proportions, cost_proportions : u* and omega*, a row each
    reasons : why a row was refused, by its number; rows with an answer have none

    Examples
    --------
    >>> many = characteristic_times("gaussian", [[3, 4, 2], [1, 1, 0]], "gaps", "ranking")
    >>> len(many), many.upper - many.lower < 1e-9 * many.upper
    (2, array([ True, False]))
    >>> many.to_frame()[["characteristic_time", "u[0]"]].round(4)
       characteristic_time    u[0]
    0              11.6569  0.5858
    1                  NaN     NaN
    """

    family: Family
    task: Task
    means: Array
    costs: Array
    value: Array
    lower: Array
    upper: Array
    gap: Array
    sampling_proportions: Array
    cost_proportions: Array
    reasons: dict[int, str]

    def __len__(self) -> int:
        return len(self.value)

    def to_frame(self) -> "pd.DataFrame":
        """A row per model: T* and its interval, a column per arm for omega* and for u*, and why it was refused."""
        import pandas as pd

        columns: dict[str, Any] = {"characteristic_time": self.value}
        columns |= {name: getattr(self, name) for name in ("lower", "upper", "gap")}
        for name, shares in (("omega", self.cost_proportions), ("u", self.sampling_proportions)):
            columns |= {f"{name}[{arm}]": shares[:, arm] for arm in range(shares.shape[1])}
        return pd.DataFrame(columns | {"error": [self.reasons.get(row) for row in range(len(self))]})


def characteristic_times(
    family: Family | str,
    means: ArrayLike,
    costs: ArrayLike,
    task: Task | str,
    *,
    workers: int = 1,
    tolerance: float | None = None,
    limits: Sequence[Limit | str] = (),
) -> CharacteristicTimes:
    """T* of each row of means, by the native solver; certified by the rules of `characteristic_time`, or refused.

    A row that compiled code does not certify is tried again by `characteristic_time`; if that refuses it, its error is
    the reason: a tie, numbers that make no model, a gap above the tolerance.

    Parameters
    ----------
    family, task
        The family and the task of all rows, as objects or in the grammar.
    means
        An array of N rows of K means, taken as doubles.
    costs
        An array of N rows of K costs, or K costs for all rows, or ``"gaps"`` for the distances to a row's best mean.
    workers
        Number of threads; the answers do not depend on it.
    tolerance
        Largest accepted relative gap; by default 1e-9.
    limits
        Not supported, as the native solver takes no limits; use `characteristic_time`.

    Raises
    ------
    InputError
        No row can have an answer: shapes that do not match, an unknown family, a task for more arms.

    Examples
    --------
    >>> many = characteristic_times("gaussian", [[3, 4, 2], [1, 0, 3], [1, 1, 0]], "gaps", "ranking")
    >>> many.value.round(6), many.sampling_proportions[0].round(6)
    (array([11.656854, 19.797959,       nan]), array([0.585786, 0.      , 0.414214]))
    >>> many.reasons[2].partition(" in a pair")[0]
    'arms 0 and 1 have equal means (1)'
    """
    if limits:
        raise InputError(
            "characteristic_times takes no limits; solve models with limits one by one, with characteristic_time"
        )
    family, task = read_family(family), read_task(task)
    if isinstance(family, Bounded):
        raise InputError(
            f"characteristic_times takes means, and family {family} needs distributions; use characteristic_time"
        )
    check_workers(workers)
    profile = find_profile("native")
    profile = profile if tolerance is None else replace(profile, tolerance=tolerance)
    means = read_array(means, "means")
    if means.ndim != 2 or means.shape[0] < 1 or means.shape[1] < 2:
        raise InputError(f"means must be an array of N rows of K means, K at least 2, got shape {means.shape}")
    task.check(means.shape[1])
    task.check_family(family)
    family.dispersions(means.shape[1])
    rule = costs if isinstance(costs, str) else None
    costs = read_costs(costs, means)
    order = np.tile(np.arange(means.shape[1]), (len(means), 1))
    rows = Rows(means, costs, order, np.full((len(means), 3), np.nan), np.full(means.shape, np.nan))
    solve_together(family, tell_costs(task, costs, rule), rows, profile, workers)
    reasons = solve_singly(family, task, rows, rule, profile)
    value, lower, upper = np.ascontiguousarray(rows.certified.T)
    gap = (upper - lower) / np.where(upper > 0, upper, 1.0)
    sampling, spending = normalise(rows.effort * (costs > 0)), normalise(rows.effort * costs)
    return CharacteristicTimes(family, task, means, costs, value, lower, upper, gap, sampling, spending, reasons)


def read_array(values: Any, what: str) -> Array:
    """A new array of doubles from an array of real numbers."""
    check_unmasked(values, what)
    try:
        given = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise InputError(f"{what} must be an array of numbers with rows of equal length") from None
    if given.dtype.kind not in "fiu":
        raise InputError(f"{what} must be an array of floats or whole numbers, got one of {given.dtype}")
    if given.dtype.kind != "f" and np.any((given > WHOLE) | (given < -WHOLE)):
        raise InputError(f"{what} must fit double precision, got a whole number beyond 2^53")
    return np.array(given, dtype=float, order="C")


def read_costs(values: Any, means: Array) -> Array:
    """The costs of each row."""
    if isinstance(values, str):
        if values != GAPS:
            raise InputError(f"costs must be an array of numbers or {GAPS!r}, got {values!r}")
        with np.errstate(all="ignore"):  # a row without gaps is refused by itself
            return np.asarray(np.max(means, axis=1, keepdims=True) - means)
    costs = read_array(values, "costs")
    if costs.shape not in (means.shape, means.shape[1:]):
        raise InputError(f"costs of shape {costs.shape} for means of shape {means.shape}; give one per mean or per arm")
    return np.array(np.broadcast_to(costs, means.shape), order="C")


def tell_costs(task: Task, costs: Array, rule: str | None) -> Task:
    """The task for the costs that all rows share; one that has to know them, and is not told, has no answer."""
    if not task.needs_costs:
        return task
    if rule is not None:
        raise InputError(f"task {str(task)!r} needs costs that are known; give one cost per arm instead of {rule!r}")
    return task.for_costs(costs[0].tolist()) if np.array_equal(costs, np.tile(costs[0], (len(costs), 1))) else task


def solve_singly(family: Family, task: Task, rows: Rows, rule: str | None, profile: Profile) -> dict[int, str]:
    """Try the rows that have no answer by `characteristic_time`; returns why those that still have none do not."""
    reasons = {}
    for row in np.flatnonzero(np.isnan(rows.certified[:, 0])).tolist():
        try:
            model = BanditModel(family, rows.means[row].tolist(), rule or rows.costs[row].tolist())
            found = characteristic_time(model, task, solver=profile)
        except CaetError as error:
            reasons[row] = str(error)
        else:
            rows.certified[row], rows.effort[row] = (found.value, found.lower, found.upper), found.effort
    return reasons


def solve_together(family: Family, task: Task, rows: Rows, profile: Profile, workers: int) -> None:
    """Certify rows, those of one pattern together; what cannot be done so is left as it is, as several right answers
    are."""
    if task.several_right:
        return
    arms = rows.means.shape[1]
    nothing = np.zeros(arms)
    kind = family_numbers(type(family), Arrays(nothing, nothing, nothing, family.dispersions(arms)))
    limits = profile.tolerance, target_of(profile.tolerance), profile.max_iterations
    jobs: list[tuple[Any, ...]] = [
        (kind, rows, part[first : first + BLOCK], *shape, *limits)
        for columns, chosen in sort_rows(family, task, rows, np.flatnonzero(is_admissible(family, rows)))
        for costly, part in split_rows(rows, chosen)
        if (shape := cached_program("native layout", (columns, type(family), costly), lay_out)) is not None
        for first in range(0, len(part), BLOCK)
    ]
    if not jobs:
        return
    solve_rows = find_loop(type(family), task.count_statements(arms), jobs)
    if workers == 1:
        for job in jobs:
            solve_rows(*job)
    else:
        pool = ThreadPoolExecutor(workers)
        try:
            for done in [pool.submit(solve_rows, *job) for job in jobs]:
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)  # an interrupt does not wait for what has not begun


def find_loop(family: type[Family], pairs: int, jobs: Sequence[tuple[Any, ...]]) -> Any:
    """The loop over rows, compiled where that is at hand or worth the wait for so many of them, else interpreted."""
    kernel = kernel_for(family, pairs, sum(len(job[2]) for job in jobs))
    loop: Any = kernel["solve_rows"]
    if kernel is loaded_kernel() and not loop.signatures:
        kind, rows, chosen, *rest = jobs[0]
        with announce_compiling("the loop over many problems"):
            loop(kind, rows, chosen[:0], *rest)
    return loop


def is_admissible(family: Family, rows: Rows) -> Mask:
    """Which rows are models: finite means of the family, and finite costs of zero or more."""
    low, high, low_included, high_included = family.mean_space
    means, costs = rows.means, rows.costs
    above = means >= low if low_included else means > low
    below = means <= high if high_included else means < high
    return np.asarray(np.all(above & below & np.isfinite(means) & (costs >= 0) & (costs < np.inf), axis=1))


def sort_rows(family: Family, task: Task, rows: Rows, chosen: Integers) -> Iterator[tuple[Columns, Integers]]:
    """The columns of the chosen rows, with the rows that share them.

    T* does not depend on how arms are numbered, nor on which arm of a pair is called the better. So the arms of a row
    are put in an order, which is left in ``rows.order``, in which all answers of a shipped task have the same pairs:
    from the best to the worst, in each group, or, for a list of comparisons, as they are.
    """
    arms = rows.means.shape[1]
    shape = None if task.needs_costs else task.compiled_shape(arms)
    if shape is None:
        yield from group_rows(family, task, rows, chosen)
        return
    for part in interchangeable_arms(*shape, arms):
        rows.order[:, part] = part[np.argsort(-rows.means[:, part], axis=1, kind="stable")]
    yield recall(task).find_columns(range(arms, 0, -1), type(family)), chosen


def interchangeable_arms(shape: int, members: Integers, arms: int) -> Iterator[Integers]:
    """Sets of arms among which a task of this shape, as in `caet_opt.bandits.tasks.pairs`, asks for an order alone."""
    if shape == STARS:
        start = 0
        while start < members.size:
            end = start + 1 + int(members[start])
            yield np.sort(members[start + 1 : end])
            start = end
    elif shape != LISTED:
        yield np.arange(arms)


def group_rows(family: Family, task: Task, rows: Rows, chosen: Integers) -> Iterator[tuple[Columns, Integers]]:
    """The rows by the columns of the answers that the task itself gives; a row for which it has no answer, or which is
    a tie to within rounding, is in no group."""
    groups: dict[Columns, list[int]] = {}
    asked = recall(task)
    for row in chosen.tolist():
        means = rows.means[row].tolist()
        with suppress(CaetError):
            clear = asked.clear_columns(means, type(family))
            found = clear or asked.find_columns(means, type(family))
            if clear or found.is_plain or all(judge(statement, means) > 0 for statement in found.statements):
                groups.setdefault(found, []).append(row)
    for columns, members in groups.items():
        yield columns, np.array(members, dtype=np.int64)


def split_rows(rows: Rows, chosen: Integers) -> Iterator[tuple[tuple[bool, ...], Integers]]:
    """The rows by which places of their order are taken by arms that cost something."""
    if not chosen.size:
        return
    costly = np.take_along_axis(rows.costs[chosen], rows.order[chosen], axis=1) > 0
    if np.array_equal(costly, np.broadcast_to(costly[0], costly.shape)):
        yield tuple(costly[0].tolist()), chosen
        return
    _, first, inverse, counts = np.unique(
        np.packbits(costly, axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    parts = np.split(chosen[np.argsort(inverse.ravel(), kind="stable")], np.cumsum(counts)[:-1])
    for index, part in zip(first, parts, strict=True):
        yield tuple(costly[index].tolist()), part
