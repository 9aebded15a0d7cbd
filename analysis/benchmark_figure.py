"""The figure of the solver benchmark: time against the number of arms, log-log, one panel per family and task."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from caet_opt.presenting.figures.sheet import draw_legend, make_panels, save
from caet_opt.presenting.figures.style import styled


class Timed(Protocol):
    """What the figure needs of a row."""

    @property
    def family(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def arms(self) -> int: ...
    @property
    def solver(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def seconds(self) -> float | None: ...


#: Colour, marker and line of each contestant: native black, conic blue, Ipopt red; distinct without colour too.
STYLES = {
    "native, compiled": ("black", "o", "-"),
    "native, gap 1e-9": ("black", "s", ":"),
    "native, warm": ("0.45", "v", "-"),
    "native, Python call": ("0.45", "^", "--"),
    "Clarabel API": ("#0b4f9e", "D", "-"),
    "CVXPY DPP": ("#3f8fd2", "h", "--"),
    "CVXPY rebuilt": ("#8cc3ea", "P", ":"),
    "cyipopt warm": ("#e8846b", "<", "--"),
    "cyipopt cold": ("#c0392b", ">", "-"),
    "Pyomo bridge": ("#8e2f5c", "X", ":"),
    "SLSQP scaled": ("#2e8b57", "*", "-"),
}


def write_figure(rows: Sequence[Timed], stem: Path) -> list[Path]:
    """Draw the rows and write the figure as PNG and PDF."""
    return save(draw(rows), stem)


@styled
def draw(rows: Sequence[Timed]) -> Any:
    """A row of panels per family and a column per task, all over the same ranges."""
    families, tasks = (list(dict.fromkeys(names)) for names in zip(*((r.family, r.task) for r in rows), strict=True))
    canvas, panels = make_panels([len(tasks)] * len(families))
    for line, family in zip(panels, families, strict=True):
        for axis, task in zip(line, tasks, strict=True):
            axis.sharex(panels[0][0])
            axis.sharey(panels[0][0])
            panel(axis, [row for row in rows if (row.family, row.task) == (family, task)])
            axis.set_title(f"{family}, {task}")
        line[0].set_ylabel("re-solve, median (s)")
    for axis in panels[-1]:
        axis.set_xlabel("arms $K$")
    draw_legend(canvas, [r"hollow: no certified gap of $10^{-9}$"])
    return canvas


def panel(axis: Any, rows: Sequence[Timed]) -> None:
    """One panel: a line per contestant, hollow where the answer is not certified."""
    for which, (solver, (colour, marker, line)) in enumerate(STYLES.items()):
        points = [row for row in rows if row.solver == solver]
        hollow = [row for row in points if row.status != "certified"]
        if points:
            look = {"color": colour, "marker": marker}
            axis.plot(*times(points), **look, linestyle=line, label=solver, gid=f"curve {which}")
            axis.plot(*times(hollow), **look, linestyle="none", markerfacecolor="white")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(sorted({row.arms for row in rows}))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter("")


def times(rows: Sequence[Timed]) -> tuple[list[int], list[float | None]]:
    """Arms and seconds."""
    return [row.arms for row in rows], [row.seconds for row in rows]
