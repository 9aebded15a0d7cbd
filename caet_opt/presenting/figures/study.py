"""The cost of a study's cells over log(1/delta) or the lower bound, with the bounds, for print: a panel per model."""

from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from caet_opt.errors import InputError
from caet_opt.presenting.figures import style
from caet_opt.presenting.figures.sheet import draw_legend, make_panels, spread
from caet_opt.simulating.studies.cells import find_varying
from caet_opt.simulating.studies.stored_runs import summarise_results
from caet_opt.solving.result import bound_per_time

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Panels in a row, at most: of a column, of a page with few models, and with more than these.
NARROW, ACROSS, MANY = 2, 3, 6

NOTES = (
    r"mean and $95\%$ band",
    r"lower bound $T^{\star}\,\mathrm{kl}(\delta, 1 - \delta)$",
    r"upper bound of optimal policies as $\delta$ tends to 0, $\theta T^{\star}\,\log(1/\delta)$",
)

#: What the cost may be divided by, with the words for it.
Divisor = Literal["log_inv_delta", "lower_bound"]
DIVISORS: dict[Divisor, str] = {"log_inv_delta": style.LEVEL, "lower_bound": "lower bound"}

#: Means of a model that span more than this factor are drawn on a logarithmic axis, and so are ratios.
SPAN = 8.0


@style.styled
def study_figure(
    results: "pd.DataFrame | str | Path", over: Divisor = "log_inv_delta", width: style.Width | None = None
) -> "Figure":
    """The mean cost of a study's cells with its 95 % band, and both bounds: a panel per model.

    Parameters
    ----------
    results
        A folder of results, or what `summarise_results` found there.
    over
        What the cost is divided by: ``"log_inv_delta"`` or ``"lower_bound"``.
    width
        ``"column"`` or ``"page"`` of a paper in two columns; by default the page, or what the user's style says.

    Examples
    --------
    >>> figure = study_figure("results/study", over="lower_bound")  # the folder of `run_study`
    >>> figure.savefig("cost.pdf")
    """
    summary = summarise_results(results) if isinstance(results, str | Path) else results
    cells = summary[summary["runs"] > 0]
    if cells.empty:
        raise InputError("there is no run to draw")
    if set(cells["policy"]) == {"caet"}:
        cells = cells.assign(policy="CAET")
    models = list(dict.fromkeys(cells["model"]))
    differing = find_varying(cells.to_dict("records"), itemgetter("model"))
    cells = cells.assign(curve=[curve_name(row, differing) for _, row in cells.iterrows()])
    most = NARROW if style.is_narrow(width) else ACROSS + (len(models) > MANY and len(models) % ACROSS > 0)
    canvas: Figure
    canvas, panels = make_panels(spread(len(models), most), width)
    axes = [axis for row in panels for axis in row]
    for axis, model in zip(axes, models, strict=True):
        draw_model(axis, cells[cells["model"] == model], list(dict.fromkeys(cells["curve"])), over)
    alike = len({axis.get_yscale() for axis in axes}) == 1  # then the axis says it, and else the title of each panel
    for axis, model in zip(axes, models, strict=True):
        axis.set_title(style.literal(model) if alike else style.say_scale(axis, style.literal(model)))
    for row in panels:
        label = f"cost / {DIVISORS[over]}"
        row[0].set_ylabel(style.say_scale(row[0], label) if alike else label)
    for axis in panels[-1]:
        axis.set_xlabel(style.say_scale(axis, style.LEVEL, "x"))
    draw_legend(canvas, NOTES)
    return canvas


def draw_model(axis: Any, cells: "pd.DataFrame", names: list[str], over: Divisor) -> None:
    """One model: a curve per setting, and the bounds."""
    cells = cells.sort_values("log_inv_delta")
    for _, rows in cells.groupby(["task", "theta"], dropna=False):
        draw_bounds(axis, rows, over)
    opacity = min(style.BAND, 1.2 / len(names))  # bands of many curves would hide each other
    for which, name in enumerate(names):
        rows = cells[cells["curve"] == name]
        mean, low, high = (divide(rows, column, over) for column in ("mean_cost", "cost_low", "cost_high"))
        if len(rows):
            levels, label = rows["log_inv_delta"].tolist(), style.literal(name)
            style.draw_mean(axis, levels, mean, low, high, which, opacity, label=label)
    style.scale_levels(axis, cells["log_inv_delta"].tolist())
    means = [mean for mean in divide(cells, "mean_cost", over) if mean > 0]
    if means and (over == "lower_bound" or max(means) > SPAN * min(means)):
        axis.set_yscale("log")
        style.write_decades(axis, "y")
    else:
        axis.set_ylim(bottom=0)


def draw_bounds(axis: Any, rows: "pd.DataFrame", over: Divisor) -> None:
    """T* kl(delta, 1 - delta) and theta T* log(1/delta) over the divisor, on a grid of levels of their own; neither
    where the divisor is zero, as the lower bound is from delta = 1/2 on, or there is none, as for a task that may have
    several right answers."""
    has_lower = bool(rows["lower_bound"].notna().all())
    if over == "lower_bound" and not has_lower:
        return
    levels = style.fine_levels(rows["log_inv_delta"].tolist())
    time = float(rows["characteristic_time"].iloc[0])
    lower = {level: time * bound_per_time(level) for level in levels}
    divisor = {level: level if over == "log_inv_delta" else lower[level] for level in levels}
    drawn = [level for level in levels if divisor[level] > 0]
    if has_lower:
        bounds = [lower[level] / divisor[level] for level in drawn]
        axis.plot(drawn, bounds, label="lower bound", **style.find_theory("lower"))
    slopes = (rows["upper_bound"].astype(float) / rows["log_inv_delta"]).dropna()
    for slope in slopes[:1]:
        upper = [slope * level / divisor[level] for level in drawn]
        axis.plot(drawn, upper, label="upper bound, asymptotic", **style.find_theory("upper"))


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
