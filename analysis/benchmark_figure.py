"""The figure of the solver benchmark: time against the number of arms, log-log, one panel per family and task."""

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from caet_opt.errors import missing_extra


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
    "CVXPY DPP": ("#3f8fd2", "s", "--"),
    "CVXPY rebuilt": ("#8cc3ea", "P", ":"),
    "cyipopt warm": ("#e8846b", "<", "--"),
    "cyipopt cold": ("#c0392b", ">", "-"),
    "Pyomo bridge": ("#8e2f5c", "X", ":"),
    "SLSQP scaled": ("#2e8b57", "*", "-"),
}


def require_matplotlib(parser: argparse.ArgumentParser) -> None:
    """Leave with a clear message, before any work is done, where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        parser.error(str(missing_extra("the figure needs matplotlib", "plot")))


def draw(rows: Sequence[Timed], stem: Path) -> None:
    """Draw the rows and write the figure as PNG and PDF."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    families, tasks = (list(dict.fromkeys(names)) for names in zip(*((r.family, r.task) for r in rows), strict=True))
    figure, axes = pyplot.subplots(
        len(families), len(tasks), figsize=(10.5, 7.4), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for i, family in enumerate(families):
        for j, task in enumerate(tasks):
            panel(axes[i, j], [row for row in rows if (row.family, row.task) == (family, task)])
            axes[i, j].set_title(f"{family}, {task}", fontsize=11)
    for axis in axes[-1]:
        axis.set_xlabel("arms K")
    for axis in axes[:, 0]:
        axis.set_ylabel("median time of a re-solve (s)")
    lines = {line.get_label(): line for axis in axes.flat for line in axis.get_lines() if line.get_label()[0] != "_"}
    handles = [lines[name] for name in STYLES if name in lines]
    title = "hollow: no certified gap of 1e-9"
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, title=title)
    for suffix in (".png", ".pdf"):
        figure.savefig(stem.with_suffix(suffix), dpi=160)
    pyplot.close(figure)


def panel(axis: Any, rows: Sequence[Timed]) -> None:
    """One panel: a line per contestant, hollow where the answer is not certified."""
    for solver, (colour, marker, line) in STYLES.items():
        points = [row for row in rows if row.solver == solver]
        if not points:
            continue
        arms, seconds = [row.arms for row in points], [row.seconds for row in points]
        axis.plot(arms, seconds, color=colour, marker=marker, linestyle=line, linewidth=1.4, markersize=5, label=solver)
        hollow = [row for row in points if row.status != "certified"]
        axis.plot(
            [row.arms for row in hollow],
            [row.seconds for row in hollow],
            color=colour,
            marker=marker,
            linestyle="none",
            markersize=5,
            markerfacecolor="white",
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_minor_formatter("")
    axis.grid(True, which="major", color="0.9", linewidth=0.6)
