"""The cost of a study's cells over log(1/delta) or the lower bound, with the bounds, for print: a panel per model."""

from math import ceil
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from caet_opt.errors import InputError
from caet_opt.presenting.figures.style import (
    BAND,
    LOWER,
    UPPER,
    draw_curve,
    draw_legend,
    make_panels,
    scale_levels,
    write_decades,
)
from caet_opt.simulating.studies.cells import find_varying

if TYPE_CHECKING:
    import pandas as pd

#: Panels in a row, and their size in inches.
ACROSS, WIDE, HIGH = 3, 4.2, 3.3

#: Inches of the legend: the height of a line, and the width of a mark with its space and of a letter.
LINE, MARK, LETTER = 0.19, 0.6, 0.075

LEGEND = """mean and 95 % band; bounds: T* kl(delta, 1 - delta),
and of CAET as delta tends to 0, theta T* log(1/delta)"""

#: How the columns of bounds are drawn.
BOUNDS: dict[str, dict[str, Any]] = {
    "lower_bound": {"label": "lower bound", **LOWER},
    "upper_bound": {"label": "upper bound, asymptotic", **UPPER},
}

#: What the cost may be divided by, with the words for it.
DIVISORS = {"log_inv_delta": "log(1/delta)", "lower_bound": "lower bound"}

#: Means of a model that span more than this factor are drawn on a logarithmic axis, and so are ratios.
SPAN = 8.0


def draw(summary: "pd.DataFrame", over: str = "log_inv_delta") -> Any:
    """Mean cost over one of `DIVISORS` with its 95 % band, and both bounds, from `caet_opt.summarise_results`."""
    cells = summary[summary["runs"] > 0]
    if cells.empty:
        raise InputError("there is no run to draw")
    if set(cells["policy"]) == {"caet"}:
        cells = cells.assign(policy="CAET")
    models = list(dict.fromkeys(cells["model"]))
    across = min(ACROSS, len(models))
    down = ceil(len(models) / across)
    differing = find_varying(cells.to_dict("records"), itemgetter("model"))
    cells = cells.assign(curve=[curve_name(row, differing) for _, row in cells.iterrows()])
    names = list(dict.fromkeys(cells["curve"]))
    labels = [*names, *(style["label"] for style in BOUNDS.values())]
    columns = max(1, int(WIDE * across / (MARK + LETTER * max(map(len, labels)))))
    legend = LINE * (ceil(len(labels) / columns) + 2)
    canvas, axes = make_panels(down, across, (WIDE * across, HIGH * down + legend))
    for axis, model in zip(axes.flat, models, strict=False):
        draw_model(axis, cells[cells["model"] == model], names, over)
        axis.set_title(model, fontsize=10)
    for axis in axes.flat[len(models) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel(f"cost / {DIVISORS[over]}")
    for axis in axes.flat[max(0, len(models) - across) : len(models)]:  # the lowest of each column
        axis.set_xlabel("log(1/delta)")
        axis.tick_params(labelbottom=True)
    draw_legend(canvas, list(axes.flat), columns, LEGEND)
    return canvas


def draw_model(axis: Any, cells: "pd.DataFrame", names: list[str], over: str) -> None:
    """One model: a curve per setting, and the bounds."""
    cells = cells.sort_values("log_inv_delta")
    for _, rows in cells.groupby(["task", "theta"], dropna=False):
        rows = rows.drop_duplicates("log_inv_delta")
        for column, style in BOUNDS.items():
            axis.plot(rows["log_inv_delta"], divide(rows, column, over), **style)
    opacity = min(BAND, 1.2 / len(names))  # bands of many curves would hide each other
    for which, name in enumerate(names):
        rows = cells[cells["curve"] == name]
        mean, low, high = (divide(rows, column, over) for column in ("mean_cost", "cost_low", "cost_high"))
        if len(rows):
            draw_curve(axis, rows["log_inv_delta"].tolist(), mean, low, high, which, opacity, label=name)
    scale_levels(axis, cells["log_inv_delta"].tolist())
    means = [mean for mean in divide(cells, "mean_cost", over) if mean > 0]
    if means and (over == "lower_bound" or max(means) > SPAN * min(means)):
        axis.set_yscale("log")
        write_decades(axis.yaxis)
    else:
        axis.set_ylim(bottom=0)


def divide(rows: "pd.DataFrame", column: str, over: str) -> list[float]:
    """A column over another one, missing where that is zero, as the lower bound is from delta = 1/2 on."""
    divisor = rows[over].astype(float)
    return (rows[column].astype(float) / divisor.where(divisor > 0)).tolist()


def curve_name(row: "pd.Series[Any]", differing: list[str]) -> str:
    """The policy, and the values of the other attributes in which curves differ, as a legend has them."""
    values = {name: row[name] for name in differing if row[name] is not None and row[name] == row[name]}
    texts = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in values.items()}
    texts.pop("policy", None)
    return ", ".join(
        [row["policy"], *(text if name == "threshold" else f"{name} = {text}" for name, text in texts.items())]
    )
