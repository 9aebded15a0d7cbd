"""T*, omega* and u* along a path in which one mean, one cost, or the margin, ratio or level of the task is swept.

Where the task's answer changes there is a tie. Where a statement starts or ceases to bind there is a switch: its slack
``f_e(w*) - 1`` and its share ``q_e / T*`` trade places, one is positive and the other zero on either side, and the sign
of their difference tells the sides apart.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import inf, isfinite, nextafter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from caet_opt.bandits.limits import Limit, read_limits
from caet_opt.bandits.model import GAPS, BanditModel
from caet_opt.bandits.tasks import Task, pose_task
from caet_opt.bandits.tasks.statements import Statement, judge
from caet_opt.common.checks import check_whole
from caet_opt.common.exact import brief, exact, read_whole
from caet_opt.common.files import escape_controls
from caet_opt.errors import CaetError, InputError, TieError, unknown_name
from caet_opt.proving.closed_forms import applicable
from caet_opt.solving.backends import BACKENDS
from caet_opt.solving.certificate import statement_terms
from caet_opt.solving.characteristic import characteristic_time, solver_for
from caet_opt.solving.problem import ask
from caet_opt.solving.profiles import Profile, find_profile
from caet_opt.solving.result import CharacteristicTime

if TYPE_CHECKING:
    import pandas as pd

#: What can be swept, as it is written.
KINDS = {
    "mean": "mean:ARM",
    "cost": "cost:ARM",
    "margin": "margin",
    "ratio": "ratio",
    "level": "level",
    "limit": "limit:N",
}

#: What each arm has of its own; the others are the task's.
BY_ARM = ("mean", "cost")

#: A statement but for its numbers: winner and loser.
Side = tuple[int | None, int | None]

#: Width of the last bracket, relative to its ends or to the first one.
LOCATED = 1e-12


class Sweep(NamedTuple):
    """What is swept: the mean or cost of one arm, the margin, ratio or level of the task, or the share of a limit.

    >>> from caet_opt.presenting.curves import Sweep
    >>> model, task = Sweep("mean", 2).at(BanditModel("gaussian", [3, 4, 2], costs="gaps"), BestArm(), 1.5)
    >>> model.costs
    (1.0, 0.0, 2.5)
    """

    kind: str
    arm: int | None = None
    limits: tuple[Limit, ...] = ()
    place: int | None = None

    def limits_at(self, value: float) -> tuple[Limit, ...]:
        """The limits with this value, where it is the share of one."""
        if self.place is None:
            return self.limits
        return tuple(
            limit.with_share(value) if place == self.place else limit for place, limit in enumerate(self.limits)
        )

    def at(self, model: BanditModel, task: Task, value: float) -> tuple[BanditModel, Task]:
        """The model and the task with this value; costs that are gaps follow a mean, and are frozen around a cost."""
        if self.place is not None:
            return model, task
        if self.arm is None:
            change = {"margin": task.with_margin, "ratio": task.with_ratio, "level": task.with_level}[self.kind]
            return model, change(value)
        means, costs = list(model.means), list(model.costs)
        (means if self.kind == "mean" else costs)[self.arm] = value
        follows = self.kind == "mean" and model.cost_rule == GAPS
        if model.distributions is not None and self.kind != "mean":
            return model.with_numbers(costs=costs), task
        return model.with_numbers(means=means, costs=GAPS if follows else costs), task

    def describe(self, names: Sequence[str]) -> str:
        """What is swept, in words."""
        if self.place is not None:
            arms, sign = self.limits[self.place].write(names).rpartition(self.limits[self.place].relation)[:2]
            return f"s in {arms}{sign}s"
        return self.kind if self.arm is None else f"{self.kind} of arm {names[self.arm]}"

    def write(self, statement: Statement, value: float, names: Sequence[str]) -> str:
        """A statement at a value by the names of its arms, with the word in place of a number that is swept.

        >>> from fractions import Fraction
        >>> Sweep("margin").write(Statement(1, 0, Fraction("0.02")), 0.02, ["a", "b"])
        'b > a + margin'
        >>> Sweep("ratio").write(Statement(1, 0, ratio=Fraction("1.1")), 1.1, ["a", "b"])
        'b > ratio * a'
        """
        shown = tuple(map(escape_controls, names))
        winner, loser = statement[:2]
        if self.kind == "level" and winner is not None:
            return f"{shown[winner]} > level"
        if self.kind == "level" and loser is not None:
            return f"{shown[loser]} < level"
        if self.kind == "margin" and value != 0 and abs(statement.margin) == abs(exact(value)):
            sign = "+" if statement.margin == exact(value) else "-"
            return f"{Statement(winner, loser).write(shown)} {sign} margin"
        if self.kind == "ratio" and winner is not None and loser is not None and value != 1:
            if statement.ratio == exact(value):
                return f"{shown[winner]} > ratio * {shown[loser]}"
            if statement.ratio == 1 / exact(value):
                return f"ratio * {shown[winner]} > {shown[loser]}"
        return statement.write(shown)

    def __str__(self) -> str:
        number = self.arm if self.place is None else self.place
        return self.kind if number is None else f"{self.kind}:{number}"


class Switch(NamedTuple):
    """Where a statement starts or ceases to bind as the value grows.

    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> curve = trace_curve(model, "ranking", "mean:2", 0, 2.5, points=11)
    >>> [(round(switch.value, 6), str(switch.statement), switch.starts) for switch in curve.switches]
    [(1.381966, '1 > 0', False)]
    """

    value: float
    statement: Statement
    starts: bool


@dataclass(frozen=True)
class CurvePoint:
    """One model of the path.

    Attributes
    ----------
    value : of what is swept
    result : the certified answer; None where there is none, for the reason in `error`
    closed_form, closed_form_time : the most special closed form that applies, and its T*
    kind : ``grid``, or ``switch`` for a point that was added where the binding statements change

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> curve = trace_curve(model, "ranking", "mean:2", 0, 2.5, points=11)
    >>> point = curve.points[0]
    >>> point.value, f"{point.result.value:.6f}", point.closed_form
    (0.0, '3.000000', 'three-arm-ranking-gaps')
    """

    value: float
    result: CharacteristicTime | None = None
    closed_form: str | None = None
    closed_form_time: float | None = None
    error: CaetError | None = None
    kind: Literal["grid", "switch"] = "grid"


@dataclass(frozen=True)
class Curve:
    """A traced path.

    Attributes
    ----------
    points : in the order of their values, those at switches included
    switches : where statements start or cease to bind
    ties : where the answer of the task changes, so that T* is infinite
    logarithmic : whether the values are even in the logarithm

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> curve = trace_curve(model, "ranking", "mean:2", 0, 2.5, points=11)
    >>> curve.to_frame()[["mean", "characteristic_time", "binding_statements"]].round(4).head(2)
       mean  characteristic_time binding_statements
    0  0.00               3.0000       1 > 0, 0 > 2
    1  0.25               3.1429       1 > 0, 0 > 2
    """

    model: BanditModel
    task: Task
    sweep: Sweep
    points: tuple[CurvePoint, ...]
    switches: tuple[Switch, ...]
    ties: tuple[float, ...]
    logarithmic: bool = False

    def stretches(self) -> list[list[CurvePoint]]:
        """Points that a line may connect: no tie and no model without an answer lies between them."""
        found: list[list[CurvePoint]] = [[]]
        for point in self.points:
            stretch = found[-1]
            tied = bool(stretch) and any(stretch[-1].value < tie <= point.value for tie in self.ties)
            if point.result is None or tied:
                found.append([])
            if point.result is not None:
                found[-1].append(point)
        return [stretch for stretch in found if stretch]

    def answers(self) -> list[tuple[float, float, str]]:
        """The answers of the task along the path, in words, each with its first and last point, or the tie between."""
        solved = [point for point in self.points if point.result is not None]
        asked = sorted([*solved, *self._between_ties(solved)], key=lambda point: point.value)
        start, *others = ((point.value, self._answer_at(point)) for point in asked)
        found = [(*start, start[0])]
        for value, answer in others:
            first, known, last = found[-1]
            if answer == known:
                found[-1] = (first, known, value)
                continue
            tie = next((tie for tie in self.ties if last < tie <= value), None)
            found[-1] = (first, known, last if tie is None else tie)
            found.append((value if tie is None else tie, answer, value))
        return [(first, last, answer) for first, answer, last in found]

    def _between_ties(self, solved: Sequence[CurvePoint]) -> Iterator[CurvePoint]:
        """A point between two ties where there is no other."""
        for low, high in pairwise(self.ties):
            middle = low + (high - low) / 2
            alone = not any(low < point.value < high for point in solved)
            if alone and not is_tied(*self.sweep.at(self.model, self.task, middle)):
                yield CurvePoint(middle)

    def _answer_at(self, point: CurvePoint) -> str:
        """In words, of several right answers the easiest, with the arms alone: the tolerance may be what is swept."""
        model, task = self.sweep.at(self.model, self.task, point.value)
        task = pose_task(model, task)
        if task.several_right and point.result is not None:
            return task.write_answer(point.result.answer, model.arms).removesuffix(task.answer_note)
        return task.write_answer(task.answer(model.exact_means), model.arms)

    def binding(self, point: CurvePoint) -> list[str]:
        """The binding statements of a point with an answer, with the word in place of a number that is swept."""
        bound = () if point.result is None else point.result.binding_statements
        return [self.sweep.write(statement, point.value, self.model.arms) for statement in bound]

    def name(self, switch: Switch) -> str:
        """The statement of a switch, in the same way."""
        return self.sweep.write(switch.statement, switch.value, self.model.arms)

    def rows(self) -> list[dict[str, Any]]:
        """The points as flat rows, with a column per arm for omega* and for u*; what is missing is None."""
        return [self.row(point) for point in self.points]

    def prices(self, point: CurvePoint) -> list[tuple[Limit, float | None]]:
        """The limits as they were given, each with dT* / dshare at a point, or None where there is no answer."""
        found = () if point.result is None else point.result.limits
        return [(limit, found[place].price if found else None) for place, limit in enumerate(self.sweep.limits)]

    def row(self, point: CurvePoint) -> dict[str, Any]:
        """A point as a flat row."""
        arms = self.model.arms
        answer = {} if point.result is None else point.result.to_record()
        nothing: list[Any] = [None] * len(arms)
        binding = answer.get("binding_statements")
        return {
            self.sweep.kind: point.value,
            **{name: answer.get(name) for name in ("characteristic_time", "lower", "upper")},
            "closed_form": point.closed_form,
            "closed_form_time": point.closed_form_time,
            **{f"omega[{arm}]": x for arm, x in zip(arms, answer.get("cost_proportions", nothing), strict=True)},
            **{f"u[{arm}]": x for arm, x in zip(arms, answer.get("sampling_proportions", nothing), strict=True)},
            "binding_statements": None if binding is None else ", ".join(map(escape_controls, binding)),
            **{f"price[{limit.write(arms)}]": price for limit, price in self.prices(point)},
            "kind": point.kind,
            "error": None if point.error is None else str(point.error),
        }

    def to_frame(self) -> "pd.DataFrame":
        """The rows as a frame."""
        import pandas as pd

        return pd.DataFrame(self.rows())


def trace_curve(
    model: BanditModel,
    task: Task | str,
    sweep: str,
    start: float,
    stop: float,
    points: int = 101,
    *,
    logarithmic: bool = False,
    solver: str | Path | Profile | None = None,
    limits: Sequence[Limit | str] | Limit | str = (),
    progress: Callable[[], None] = lambda: None,
) -> Curve:
    """T*, omega* and u* while one mean or cost, or the task's margin, ratio or level, runs from ``start`` to ``stop``.

    A model without an answer, as at a tie, gives a point with an error. Where the binding statements change between two
    points of the grid, the change is located by bisection and added to the points.

    Parameters
    ----------
    model, task
        The model to start from; the task may be given in the grammar.
    sweep
        ``mean:ARM`` or ``cost:ARM``, the arm by number or name; ``margin`` of ``control`` or ``comparisons``, where
        ``control:ARM-0.02`` has the margin -0.02; their ``ratio``; ``level`` of ``above``; ``limit:0``, the share of
        the first limit.
    points
        Number of points, evenly spaced, or evenly on a log scale.
    solver
        A backend, a profile, or the path of one.
    limits
        As for `characteristic_time`; with limits, no closed form is compared.
    progress
        Called after every point of the grid.

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> curve = trace_curve(model, "ranking", "mean:2", 0, 2.5, points=11)
    >>> len(curve.points), curve.points[-1].value, f"{curve.points[-1].result.value:.6f}"
    (12, 2.5, '39.595918')
    >>> model = BanditModel("bernoulli", [0.8, 0.83], costs=[1, 2], arms=["old", "new"])
    >>> curve = trace_curve(model, "control:old", "margin", -0.05, 0.05, points=11)
    >>> curve.answers()
    [(-0.05, 0.03, 'new'), (0.03, 0.05, 'none')]
    """
    task = pose_task(model, task)
    asked = read_limits(limits, model.arms)
    profile = find_profile(solver_for(solver, asked))
    BACKENDS[profile.backend].require()
    tracer = Tracer(model, task, parse_sweep(sweep, model, asked), profile)
    if tracer.sweep.arm is None and tracer.sweep.place is None:
        ratio = tracer.sweep.kind == "ratio"
        _, swept = tracer.sweep.at(model, task, 2.0 if ratio else 0.0)  # what no task has is no error of each point
        if ratio:
            swept.check_family(model.family)
    grid = make_grid(start, stop, points, logarithmic)
    found: list[CurvePoint] = []
    for value in grid:
        found.append(tracer.point(value, found[-1].result if found else None))
        progress()
    if all(point.result is None for point in found):
        raise InputError(f"no model of the sweep has a T*; at {grid[0]:g}: {found[0].error}")
    ties = sorted({*tracer.ties(found), *(point.value for point in found if isinstance(point.error, TieError))})
    switches = sorted(tracer.switches(found))
    found += [tracer.point(value, kind="switch") for value in sorted({switch.value for switch in switches} - {*grid})]
    found.sort(key=lambda point: point.value)
    return Curve(model, task, tracer.sweep, tuple(found), tuple(switches), tuple(ties), logarithmic)


def parse_sweep(text: str, model: BanditModel, limits: tuple[Limit, ...] = ()) -> Sweep:
    """``mean:ARM`` or ``cost:ARM``, the arm by name or number, ``margin``, ``ratio``, ``level``, ``limit:N``."""
    kind, colon, arm = text.partition(":")
    if kind not in KINDS:
        raise InputError(f"{unknown_name('sweep', kind, KINDS)} (write {', '.join(KINDS.values())})")
    if kind == "limit":
        place = read_whole(arm)
        if place is None or place >= len(limits):
            known = ", ".join(f"limit:{n} is {limit.write(model.arms)}" for n, limit in enumerate(limits))
            raise InputError(f"sweep {brief(text)!r} names no limit; {known or 'there are no limits'}")
        return Sweep(kind, limits=limits, place=place)
    if kind not in BY_ARM:
        if colon:
            raise InputError(f"sweep {brief(text)!r}: the {kind} belongs to the task, not to an arm; write {kind}")
        return Sweep(kind, limits=limits)
    if not colon or not arm:
        raise InputError(f"sweep {text!r} names no arm; write {kind}:0, or the arm's name")
    if arm in model.arms:
        return Sweep(kind, model.arms.index(arm), limits)
    number = read_whole(arm)
    if number is not None and number < len(model.arms):
        return Sweep(kind, number, limits)
    raise InputError(f"sweep {brief(text)!r}: {unknown_name('arm', arm, model.arms)}")


def make_grid(start: float, stop: float, points: int, logarithmic: bool) -> list[float]:
    """Values from start to stop, both included; even ones are the doubles nearest to the decimals that they are, so
    that a sweep over 0.8 meets a mean of 0.8."""
    check_whole(points, "points", 1)
    if points < 2:
        raise InputError("a sweep needs at least 2 points, got 1")
    if not (isfinite(start) and isfinite(stop) and start < stop):
        raise InputError(f"a sweep runs from a number to a larger one, got {start:g} to {stop:g}")
    if logarithmic and start <= 0:
        raise InputError(f"a logarithmic sweep starts above zero, got {start:g}")
    if logarithmic:
        return [float(value) for value in np.geomspace(start, stop, points)]
    first, last = exact(start), exact(stop)
    return [float(first + (last - first) * step / (points - 1)) for step in range(points)]


class Tracer(NamedTuple):
    """Solves models of a path."""

    model: BanditModel
    task: Task
    sweep: Sweep
    profile: Profile

    def solve(self, value: float, previous: CharacteristicTime | None = None) -> CharacteristicTime:
        """The answer at a value, from the previous one where that helps."""
        model, task = self.sweep.at(self.model, self.task, value)
        limits = self.sweep.limits_at(value)
        return characteristic_time(model, task, solver=self.profile, warm_start=previous, limits=limits)

    def point(
        self, value: float, previous: CharacteristicTime | None = None, kind: Literal["grid", "switch"] = "grid"
    ) -> CurvePoint:
        """The point at a value, with the closed form that applies; an error is a point too."""
        try:
            result = self.solve(value, previous)
        except CaetError as error:
            return CurvePoint(value, error=error, kind=kind)
        form = None if result.limits else next(iter(applicable(result.model, result.task)), None)
        if form is None:
            return CurvePoint(value, result, kind=kind)
        return CurvePoint(value, result, form.name, form.characteristic_time(result.model, result.task), kind=kind)

    def ties(self, points: Sequence[CurvePoint]) -> Iterator[float]:
        """Where the answer changes between two points of the grid, as often as it does; of several right answers
        another one may become the easiest, which is no tie."""
        if self.task.several_right:
            return

        def sides_at(value: float) -> list[Side]:
            return list_sides(ask(*self.sweep.at(self.model, self.task, value)).statements)

        for one, other in pairwise(points):
            low, high = self.beside(one, inf), self.beside(other, -inf)
            if low is not None and high is not None:
                yield from find_changes(low, high, sides_at)

    def beside(self, point: CurvePoint, side: float) -> float | None:
        """The value of a point with an answer, or of a tie the next value on a side; None where that has none, too."""
        if point.result is not None:
            return point.value
        near = nextafter(point.value, side)
        tied = not isinstance(point.error, TieError) or is_tied(*self.sweep.at(self.model, self.task, near))
        return None if tied else near

    def switches(self, points: Sequence[CurvePoint]) -> Iterator[Switch]:
        """Where statements start or cease to bind between two points with the same answer and free arms."""
        for low, high, at_low, at_high in neighbours(points):
            low_free, high_free = ([cost == 0 for cost in one.model.costs] for one in (at_low, at_high))
            if list_sides(at_low.statements) == list_sides(at_high.statements) and low_free == high_free:
                before, after = (set(map(one.statements.index, one.binding_statements)) for one in (at_low, at_high))
                for number in sorted(before ^ after):
                    yield self.locate(low, high, number, at_low, number in after)

    def locate(self, low: float, high: float, number: int, at_low: CharacteristicTime, starts: bool) -> Switch:
        """Where the side of the statement of this number is no longer that of ``low``."""
        side = is_slack(at_low, number)
        value = bisect(low, high, lambda value: is_slack(self.solve(value), number) == side)
        model, task = self.sweep.at(self.model, self.task, value)
        statements = (self.solve(value) if task.several_right else ask(model, task)).statements
        return Switch(value, statements[number], starts)


def list_sides(statements: Sequence[Statement]) -> list[Side]:
    """Statements but for their numbers, which tell the answers of one task apart."""
    return [statement[:2] for statement in statements]


def is_tied(model: BanditModel, task: Task) -> bool:
    """Whether the means leave open whether some statement of their answer holds."""
    return any(judge(statement, model.exact_means) == 0 for statement in ask(model, task).statements)


def find_changes(low: float, high: float, sides_at: Callable[[float], list[Side]]) -> Iterator[float]:
    """Where the sides change between two values, which they do not do to and fro."""
    before, last = sides_at(low), sides_at(high)
    while before != last:
        low = bisect(low, high, partial(is_same, sides_at, before))
        yield low
        before = sides_at(low)


def is_same(sides_at: Callable[[float], list[Side]], sides: list[Side], value: float) -> bool:
    """Whether the sides at a value are these."""
    return sides_at(value) == sides


def neighbours(points: Sequence[CurvePoint]) -> Iterator[tuple[float, float, CharacteristicTime, CharacteristicTime]]:
    """Values and answers of points that follow each other and have answers."""
    for one, other in pairwise(points):
        if one.result is not None and other.result is not None:
            yield one.value, other.value, one.result, other.result


def bisect(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """Where a condition that holds at ``low`` and not at ``high`` changes; the side where it does not hold."""
    width = high - low
    while high - low > LOCATED * max(abs(low), abs(high), width):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def is_slack(result: CharacteristicTime, number: int) -> bool:
    """Whether the slack of the statement of this number, ``f_e(w*) - 1``, exceeds its share ``q_e / T*``."""
    term = statement_terms(result.model, [result.statements[number]], result.effort)[0]
    carried = result.columns.sum_by_statement(result.multipliers)[number]
    share = carried / result.value if result.value > 0 else 0.0
    return bool(term - 1.0 > share)


def largest_deviation(curve: Curve) -> float | None:
    """Largest relative deviation of T* from the closed form; None where none applies."""
    deviations = [
        abs(point.result.value - point.closed_form_time) / point.closed_form_time
        for point in curve.points
        if point.result is not None and point.closed_form_time
    ]
    return max(deviations, default=None)
