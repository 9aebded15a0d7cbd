"""A sheet of panels with one legend below them: made, filled to its width, and written as files."""

from collections.abc import Sequence
from io import BytesIO
from math import ceil, lcm
from pathlib import Path
from typing import Any

from caet_opt.common.files import write_whole
from caet_opt.errors import InputError
from caet_opt.presenting.figures.style import Width, find_width

SUFFIXES = (".png", ".pdf")

#: Height of a panel as a part of its width, and the least and the largest in inches.
RATIO, LEAST, LARGEST = 0.8, 1.35, 2.1

#: How much of the width a line of notes may fill.
FULL = 0.96


def make_panels(rows: Sequence[int], width: Width | None = None, height: float | None = None) -> tuple[Any, list[Any]]:
    """An empty figure, and its axes by row: so many panels in each row, which all are as wide as the sheet."""
    from caet_opt.presenting.figures.canvas import Sheet

    wide = find_width(width)
    tall = height or min(LARGEST, max(LEAST, RATIO * wide / max(rows)))
    canvas = Sheet(figsize=(wide, tall * len(rows)), layout="constrained")
    columns = lcm(*rows)
    grid = canvas.add_gridspec(len(rows), columns)
    return canvas, [
        [canvas.add_subplot(grid[row, slice(at * columns // many, (at + 1) * columns // many)]) for at in range(many)]
        for row, many in enumerate(rows)
    ]


def spread(panels: int, most: int) -> list[int]:
    """Panels by row, at most so many in one, as even as can be and without a hole.

    >>> spread(5, 3), spread(8, 4), spread(10, 4)
    ([3, 2], [4, 4], [4, 3, 3])
    """
    rows = ceil(panels / most)
    each, more = divmod(panels, rows)
    return [each + (row < more) for row in range(rows)]


def draw_legend(canvas: Any, notes: Sequence[str] = ()) -> None:
    """One legend below all panels, in as many columns as fit, each label once, theory first and the curves as numbered;
    above it the notes, which state the setting. The sheet grows by its height."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer: Any = FigureCanvasAgg(canvas).get_renderer()  # type: ignore[no-untyped-call]
    handles = list_handles(canvas)
    title = "\n".join(fill_lines(canvas, notes, renderer)) or None
    for rows in range(1, len(handles) + 1):
        columns = ceil(len(handles) / rows)
        legend = canvas.legend(handles=handles, loc="outside lower center", ncols=columns, title=title)
        extent = legend.get_window_extent(renderer)
        if extent.width <= canvas.bbox.width or columns == 1:
            break
        legend.remove()
    canvas.set_figheight(canvas.get_figheight() + extent.height / canvas.dpi)


def list_handles(canvas: Any) -> list[Any]:
    """The lines that have a label, each label once."""

    def number(line: Any) -> int:
        return int(line.get_gid().removeprefix("curve ")) if line.get_gid() else -1

    lines = [line for axis in canvas.axes for line in axis.get_lines() if not line.get_label().startswith("_")]
    found = {line.get_label(): line for line in sorted(lines, key=number)}
    return list(found.values())


def fill_lines(canvas: Any, notes: Sequence[str], renderer: Any) -> list[str]:
    """The notes, as many in a line of the legend's title as its width allows."""
    from matplotlib import rcParams

    lines: list[str] = []
    for note in notes:
        longer = f"{lines[-1]}; {note}" if lines else note
        text = canvas.text(0, 0, longer, fontsize=rcParams["legend.title_fontsize"])
        if lines and text.get_window_extent(renderer).width <= FULL * canvas.bbox.width:
            lines[-1] = longer
        else:
            lines.append(note)
        text.remove()
    return lines


def save(canvas: Any, stem: Path) -> list[Path]:
    """Write the figure as PNG and PDF; returns the files."""
    files = [stem.parent / f"{stem.name}{suffix}" for suffix in SUFFIXES]
    for file in files:
        sink = BytesIO()
        canvas.savefig(sink, format=file.suffix.removeprefix("."))
        try:
            write_whole(file, sink.getvalue())
        except OSError as error:
            raise InputError(f"{file}: cannot be written ({error.strerror})") from error
    return files
