"""T*, omega* and u* along a path of models in which one mean or one cost is swept."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair, Task, parse_task
from caet_opt.errors import CaetError, InputError, TieError
from caet_opt.presenting.sweeps import Sweep, make_grid, parse_sweep
from caet_opt.presenting.switches import Switch, bisect, find_switches
from caet_opt.solving.backends import BACKENDS, DEFAULT_SOLVER
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.profiles import Profile, find_profile
from caet_opt.solving.result import CharacteristicTime

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Point:
    """One model of the path.

    Attributes
    ----------
    value : of the swept mean or cost
    result : the certified answer; None where there is none, for the reason in `error`
    closed_form, closed_form_time : the most special closed form that applies, and its T*
    kind : ``grid``, or ``switch`` for a point that was added where the binding pairs change
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
    switches : where pairs start or cease to bind
    ties : where the answer of the task changes, so that T* is infinite
    """

    model: BanditModel
    task: Task
    sweep: Sweep
    points: tuple[Point, ...]
    switches: tuple[Switch, ...]
    ties: tuple[float, ...]

    def stretches(self) -> list[list[Point]]:
        """Points that a line may connect: no tie and no model without an answer lies between them."""
        found: list[list[Point]] = [[]]
        for point in self.points:
            stretch = found[-1]
            tied = bool(stretch) and any(stretch[-1].value < tie <= point.value for tie in self.ties)
            if point.result is None or tied:
                found.append([])
            if point.result is not None:
                found[-1].append(point)
        return [stretch for stretch in found if stretch]

    def rows(self) -> list[dict[str, Any]]:
        """The points as flat rows, with a column per arm for omega* and for u*; what is missing is None."""
        return [flat_row(self, point) for point in self.points]

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
    solver: str | Path | Profile = DEFAULT_SOLVER,
    progress: Callable[[], None] = lambda: None,
) -> Curve:
    """T*, omega* and u* while one mean or cost runs from ``start`` to ``stop``.

    Parameters
    ----------
    model, task
        The model to start from; the task may be given in the grammar.
    sweep
        ``mean:ARM`` or ``cost:ARM``, the arm by number or name.
    points
        Points of the grid, evenly spaced, or evenly in the logarithm.
    solver
        A backend, a profile, or the path of one.
    progress
        Called for every point of the grid that is done.

    Models without an answer, as at a tie, are points with an error. Where the binding pairs change between two points
    of the grid, the switch is located by bisection and joins the points.
    """
    task = parse_task(task) if isinstance(task, str) else task
    task.check(len(model.means))
    profile = find_profile(solver)
    BACKENDS[profile.backend].require()
    tracer = Tracer(model, task, parse_sweep(sweep, model), profile)
    grid = make_grid(start, stop, points, logarithmic)
    found: list[Point] = []
    for value in grid:
        found.append(tracer.point(value, found[-1].result if found else None))
        progress()
    if all(point.result is None for point in found):
        raise InputError(f"no model of the sweep has a T*; at {grid[0]:g}: {found[0].error}")
    ties = sorted({*tracer.ties(found), *(point.value for point in found if isinstance(point.error, TieError))})
    switches = sorted(tracer.switches(found))
    found += [tracer.point(value, kind="switch") for value in sorted({switch.value for switch in switches} - {*grid})]
    found.sort(key=lambda point: point.value)
    return Curve(model, task, tracer.sweep, tuple(found), tuple(switches), tuple(ties))


class Tracer(NamedTuple):
    """Solves models of a path."""

    model: BanditModel
    task: Task
    sweep: Sweep
    profile: Profile

    def solve(self, value: float, previous: CharacteristicTime | None = None) -> CharacteristicTime:
        """The answer at a value, from the previous one where that helps."""
        model = self.sweep.at(self.model, value)
        return characteristic_time(model, self.task, solver=self.profile, warm_start=previous)

    def point(
        self, value: float, previous: CharacteristicTime | None = None, kind: Literal["grid", "switch"] = "grid"
    ) -> Point:
        """The point at a value, with the closed form that applies; an error is a point too."""
        from caet_opt.proving.closed_forms import applicable

        try:
            result = self.solve(value, previous)
        except CaetError as error:
            return Point(value, error=error, kind=kind)
        form = next(iter(applicable(result.model, self.task)), None)
        if form is None:
            return Point(value, result, kind=kind)
        return Point(value, result, form.name, form.characteristic_time(result.model, self.task), kind=kind)

    def pairs(self, value: float) -> tuple[Pair, ...]:
        """The pairs that the task needs at a value."""
        return self.task.pairs(self.sweep.at(self.model, value).means)

    def ties(self, points: Sequence[Point]) -> Iterator[float]:
        """Where the needed pairs change between two points of the grid that have an answer."""
        for low, high, at_low, at_high in neighbours(points):
            if at_low.pairs != at_high.pairs:
                yield bisect(low, high, lambda value, pairs=at_low.pairs: self.pairs(value) == pairs)  # type: ignore[misc]

    def switches(self, points: Sequence[Point]) -> Iterator[Switch]:
        """Where pairs start or cease to bind between two points of the grid."""
        for low, high, at_low, at_high in neighbours(points):
            yield from find_switches(low, high, at_low, at_high, self.solve)


def neighbours(points: Sequence[Point]) -> Iterator[tuple[float, float, CharacteristicTime, CharacteristicTime]]:
    """Values and answers of points that follow each other and have answers."""
    for one, other in pairwise(points):
        if one.result is not None and other.result is not None:
            yield one.value, other.value, one.result, other.result


def flat_row(curve: Curve, point: Point) -> dict[str, Any]:
    """A point as a flat row."""
    result, arms = point.result, curve.model.arms
    nothing: list[Any] = [None] * len(arms)
    shares = nothing if result is None else result.cost_proportions.tolist()
    pulls = nothing if result is None else result.sampling_proportions.tolist()
    return {
        curve.sweep.kind: point.value,
        "characteristic_time": None if result is None else result.value,
        "lower": None if result is None else result.lower,
        "upper": None if result is None else result.upper,
        "closed_form": point.closed_form,
        "closed_form_time": point.closed_form_time,
        **{f"omega[{name}]": share for name, share in zip(arms, shares, strict=True)},
        **{f"u[{name}]": share for name, share in zip(arms, pulls, strict=True)},
        "binding_pairs": None
        if result is None
        else ", ".join(f"{arms[a]} > {arms[b]}" for a, b in result.binding_pairs),
        "kind": point.kind,
        "error": None if point.error is None else str(point.error),
    }


def largest_deviation(curve: Curve) -> float | None:
    """Largest relative deviation of T* from the closed form; None where none applies."""
    deviations = [
        abs(point.result.value - point.closed_form_time) / point.closed_form_time
        for point in curve.points
        if point.result is not None and point.closed_form_time
    ]
    return max(deviations, default=None)
