"""What a figure supplies, and how all of them look: readable in print, and without colour."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from caet_opt.bandits.files import write_whole
from caet_opt.errors import InputError, missing_extra

#: Colour, marker and line of the first, second, ... curve; distinct without colour too.
CURVES = (
    ("black", "o", "-"),
    ("#0b4f9e", "s", "--"),
    ("#c0392b", "^", "-."),
    ("#2e8b57", "D", ":"),
)

#: Lines that theory draws: the lower bound, or a limit, and the upper bound.
LOWER = {"color": "0.25", "linestyle": "--", "linewidth": 1.3}
UPPER = {"color": "0.25", "linestyle": ":", "linewidth": 1.8}

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

    def runs_or(self, quick: int, full: int) -> int:
        """The number of runs: the one asked for, or the setting's own."""
        return self.runs if self.runs is not None else full if self.full else quick


@dataclass(frozen=True)
class Figure:
    """A study that ends in a figure; its rows are dataclasses whose fields are the columns of the CSV file.

    Attributes
    ----------
    title : what it shows, in one line
    columns : of the CSV file
    plan : the expected work of every run, in any unit
    measure : the rows, one after the other
    table : rows as an aligned table
    draw : rows as a matplotlib figure
    """

    title: str
    columns: tuple[str, ...]
    plan: Callable[[Effort], list[float]]
    measure: Callable[[Effort], Iterator[Any]]
    table: Callable[[Sequence[Any]], str]
    draw: Callable[[Sequence[Any]], Any]


def require_matplotlib() -> None:
    """Raise `MissingExtraError` where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise missing_extra("figures need matplotlib", "plot")


def panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """An empty figure and its grid of axes, those of a column over the same range."""
    require_matplotlib()
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=size, layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False, sharex="col")
    for axis in axes.flat:
        axis.grid(True, which="major", color="0.9", linewidth=0.6)
        axis.tick_params(labelsize=9)
    return canvas, axes


def curve(
    axis: Any,
    x: Sequence[float],
    mean: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    which: int,
    **how: Any,
) -> None:
    """A mean with its confidence band, in the style of the curve number ``which``."""
    colour, marker, line = CURVES[which % len(CURVES)]
    style = {"color": colour, "marker": marker, "linestyle": line, "linewidth": 1.4, "markersize": 4.5, **how}
    axis.plot(x, mean, **style)
    axis.fill_between(x, low, high, color=colour, alpha=BAND, linewidth=0)


def shared_legend(canvas: Any, axes: Sequence[Any], columns: int, title: str) -> None:
    """One legend below all panels, each label once and in order, with a title that states the setting."""
    lines = {line.get_label(): line for axis in axes for line in axis.get_lines() if line.get_label()[0] != "_"}
    canvas.legend(
        handles=[lines[label] for label in sorted(lines)],
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
