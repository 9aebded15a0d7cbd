"""The cost of a study's cells over log(1/delta), between the bounds, for print: a panel per model."""

from math import ceil
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from caet_opt.errors import InputError
from caet_opt.presenting.figures.style import LOWER, UPPER, draw_curve, draw_legend, make_panels
from caet_opt.simulating.studies.cells import find_varying

if TYPE_CHECKING:
    import pandas as pd

#: Panels in a row, and their size in inches.
ACROSS, WIDE, HIGH = 3, 4.2, 3.3

LEGEND = "mean and 95 % band; bounds are T* kl(delta, 1 - delta) and theta T*"


def draw(summary: "pd.DataFrame") -> Any:
    """Mean cost over log(1/delta) with its 95 % band, and both bounds, from `caet_opt.summarise_results`."""
    cells = summary[summary["runs"] > 0]
    if cells.empty:
        raise InputError("there is no run to draw")
    models = list(dict.fromkeys(cells["model"]))
    across = min(ACROSS, len(models))
    down = ceil(len(models) / across)
    canvas, axes = make_panels(down, across, (WIDE * across, HIGH * down + 0.8))
    differing = find_varying(cells.to_dict("records"), itemgetter("model"))
    names = list(dict.fromkeys(curve_name(row, differing) for _, row in cells.iterrows()))
    for axis, model in zip(axes.flat, models, strict=False):
        draw_model(axis, cells[cells["model"] == model], differing, names)
        axis.set_title(model, fontsize=10)
    for axis in axes.flat[len(models) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel("cost / log(1/delta)")
    for axis in axes.flat[max(0, len(models) - across) : len(models)]:  # the lowest of each column
        axis.set_xlabel("log(1/delta)")
        axis.tick_params(labelbottom=True)
    draw_legend(canvas, list(axes.flat), min(across, 2), LEGEND)
    return canvas


def draw_model(axis: Any, cells: "pd.DataFrame", differing: list[str], names: list[str]) -> None:
    """One model: a curve per setting, and the bounds."""
    from matplotlib.ticker import LogLocator, NullFormatter

    for name in names:
        rows = cells[[curve_name(row, differing) == name for _, row in cells.iterrows()]].sort_values("log_inv_delta")
        if rows.empty:
            continue
        level = rows["log_inv_delta"]
        mean, low, high = ((rows[column] / level).tolist() for column in ("mean_cost", "cost_low", "cost_high"))
        draw_curve(axis, level.tolist(), mean, low, high, names.index(name), label=f"CAET, {name}" if name else "CAET")
        axis.plot(level, rows["lower_bound"] / level, label="lower bound", **LOWER)
        axis.plot(level, rows["upper_bound"] / level, label="upper bound, asymptotic", **UPPER)
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_ylim(bottom=0)


def curve_name(row: "pd.Series[Any]", differing: list[str]) -> str:
    """The values of the attributes in which curves differ, where there are any, as a legend has them."""
    values = {name: row[name] for name in differing if row[name] is not None and row[name] == row[name]}
    texts = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in values.items()}
    return ", ".join(text if name == "threshold" else f"{name} = {text}" for name, text in texts.items())
