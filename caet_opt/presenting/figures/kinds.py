"""What a figure of ``caet-opt reproduce`` supplies: what to simulate, its table and its drawing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from caet_opt.common.numbers import write_interval
from caet_opt.simulating.studies.study import Study

if TYPE_CHECKING:
    import pandas as pd


class Effort(NamedTuple):
    """How much to simulate: the quick setting or the full one, and what replaces its number of runs.

    ``progress`` is called with the work of every run that is finished.
    """

    full: bool = False
    runs: int | None = None
    seed: int = 1
    workers: int = 1
    progress: Callable[[float], None] = lambda work: None


@dataclass(frozen=True)
class Figure:
    """A study that ends in a figure: simulated runs of every instance at every level.

    Attributes
    ----------
    title : what it shows, in one line
    row : the class of its rows, a dataclass whose fields are the columns of the CSV file
    instances : the models in any form, each with its levels, log(1/delta) or horizons, quick and full
    runs : of an instance at a level, with the quick and with the full setting
    work : expected of a run at a level, in any unit
    measure_point : the rows of an instance at a level, from so many runs
    table, draw : rows as an aligned table, and as a matplotlib figure of a width of `WIDTHS`
    """

    title: str
    row: type
    instances: Mapping[Any, tuple[Sequence[float], Sequence[float]]]
    runs: tuple[int, int]
    work: Callable[[float], float]
    measure_point: Callable[[Any, Any, int, Effort], Iterable[Any]]
    table: Callable[[Sequence[Any]], str]
    draw: Callable[..., Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the CSV file."""
        return tuple(field.name for field in fields(self.row))

    def choose_runs(self, effort: Effort) -> int:
        """Runs of an instance at a level: the number asked for, or the setting's own."""
        return self.runs[effort.full] if effort.runs is None else effort.runs

    def list_points(self, effort: Effort) -> list[tuple[Any, float]]:
        """Every instance at every level of its own."""
        return [(instance, level) for instance, levels in self.instances.items() for level in levels[effort.full]]

    def plan(self, effort: Effort) -> list[float]:
        """The expected work of every run."""
        return [self.work(level) for _, level in self.list_points(effort) for _ in range(self.choose_runs(effort))]

    def measure(self, effort: Effort) -> Iterator[Any]:
        """The rows of every instance at every level, one after the other."""
        for instance, level in self.list_points(effort):
            yield from self.measure_point(instance, level, self.choose_runs(effort), effort)


@dataclass(frozen=True)
class StudyFigure:
    """A figure of a study, which is run and kept as ``caet-opt sweep`` does it.

    Attributes
    ----------
    title : what it shows, in one line
    make_study : the study of so much effort
    table, draw : `caet_opt.summarise_results` as a table, and as a matplotlib figure of a width of `WIDTHS`
    """

    title: str
    make_study: Callable[[Effort], Study]
    table: Callable[["pd.DataFrame"], str]
    draw: Callable[..., Any]


def write_ends(low: float, high: float, digits: int) -> str:
    """An interval, rounded outward, a dash where there is none."""
    return "-" if isnan(low) else write_interval(low, high, digits)
