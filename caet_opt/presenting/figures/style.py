"""What a figure supplies, and how all of them look: readable in print, and without colour."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caet_opt.bandits.files import write_whole
from caet_opt.errors import InputError, missing_extra
from caet_opt.simulating.studies.study import Study

if TYPE_CHECKING:
    import pandas as pd

#: The palette of Okabe and Ito, which colour-blind readers tell apart, without its yellow, too pale on white.
COLOURS = ("black", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", "--", "-.", ":")

#: Colour, marker and line of the first, second, ... curve; no two have marker and line in common, as nine markers and
#: four lines have no common divisor, so that they are distinct without colour too.
CURVES = tuple(
    (COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)], DASHES[at % len(DASHES)])
    for at in range(len(MARKERS) * len(DASHES))
)

#: Lines that theory draws: the lower bound, or a limit, and the upper bound.
LOWER = {"color": "0.25", "linestyle": "--", "linewidth": 1.3}
UPPER = {"color": "0.25", "linestyle": ":", "linewidth": 1.8}

#: Levels that span more than this factor are drawn on a logarithmic axis.
SPAN = 20.0

#: Opacity of a confidence band.
BAND = 0.2

SUFFIXES = (".png", ".pdf")


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
    table, draw : rows as an aligned table, and as a matplotlib figure
    """

    title: str
    row: type
    instances: Mapping[Any, tuple[Sequence[float], Sequence[float]]]
    runs: tuple[int, int]
    work: Callable[[float], float]
    measure_point: Callable[[Any, Any, int, Effort], Iterable[Any]]
    table: Callable[[Sequence[Any]], str]
    draw: Callable[[Sequence[Any]], Any]

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
    table, draw : `caet_opt.summarise_results` as a table, and as a matplotlib figure
    """

    title: str
    make_study: Callable[[Effort], Study]
    table: Callable[["pd.DataFrame"], str]
    draw: Callable[["pd.DataFrame"], Any]


def require_matplotlib() -> None:
    """Raise `MissingExtraError` where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise missing_extra("figures need matplotlib", "plot")


def make_panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """An empty figure and its grid of axes, those of a column over the same range."""
    require_matplotlib()
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=size, layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False, sharex="col")
    for axis in axes.flat:
        axis.grid(True, which="major", color="0.9", linewidth=0.6)
        axis.tick_params(labelsize=9)
    return canvas, axes


def draw_curve(
    axis: Any,
    x: Sequence[float],
    mean: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    which: int,
    opacity: float = BAND,
    **how: Any,
) -> None:
    """A mean with its confidence band, in the style of the curve number ``which``."""
    colour, marker, line = CURVES[which % len(CURVES)]
    style = {"color": colour, "marker": marker, "linestyle": line, "linewidth": 1.4, "markersize": 4.5, **how}
    axis.plot(x, mean, **style)
    axis.fill_between(x, low, high, color=colour, alpha=opacity, linewidth=0)


def scale_levels(axis: Any, levels: Sequence[float]) -> None:
    """Scale the axis of log(1/delta): logarithmic where the levels span decades."""
    if max(levels) > SPAN * min(levels):
        axis.set_xscale("log")
        write_decades(axis.xaxis)


def write_decades(axis: Any) -> None:
    """Write 1, 2 and 5 of every decade of a logarithmic axis out."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def draw_legend(canvas: Any, axes: Sequence[Any], columns: int, title: str) -> None:
    """One legend below all panels, each label once, theory first and the curves as numbered, with a title that states
    the setting."""

    def number(line: Any) -> int:
        look = line.get_color(), line.get_marker(), line.get_linestyle()
        return CURVES.index(look) if look in CURVES else -1

    lines = {line.get_label(): line for axis in axes for line in axis.get_lines() if line.get_label()[0] != "_"}
    canvas.legend(
        handles=sorted(lines.values(), key=number),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=9,
        title=title,
    ).get_title().set_fontsize(9)


def save(canvas: Any, stem: Path) -> list[Path]:
    """Write the figure as PNG and PDF; returns the files."""
    files = [stem.parent / f"{stem.name}{suffix}" for suffix in SUFFIXES]
    for file in files:
        sink = BytesIO()
        canvas.savefig(sink, dpi=160, format=file.suffix.removeprefix("."))
        try:
            write_whole(file, sink.getvalue())
        except OSError as error:
            raise InputError(f"{file}: cannot be written ({error.strerror})") from error
    return files
