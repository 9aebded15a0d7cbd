"""T*, omega* and u* along a swept mean or cost, with the closed form, the switches of binding pairs and the ties."""

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any

from caet_opt.presenting.curves import Curve, CurvePoint
from caet_opt.presenting.figures import style
from caet_opt.presenting.figures.sheet import draw_legend, make_panels
from caet_opt.solving.result import CharacteristicTime, headline, statement_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Markers along a line, and points at which the closed form is marked.
MARKS, FORMS = 12, 25

#: T* is drawn in the logarithm when its largest value is so many times its smallest one.
LOGARITHMIC = 30.0


@style.styled
def curve_figure(curve: Curve, title: str | None = None, width: style.Width | None = None) -> "Figure":
    """T* above, the cost proportions and the sampling proportions below it, over the swept value.

    Parameters
    ----------
    curve
        What `trace_curve` found.
    title
        Of the figure; the task, the family and the number of arms unless given.
    width
        ``"column"`` or ``"page"`` of a paper in two columns; the page, or what the user's style says, unless given.

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> figure = curve_figure(trace_curve(model, "ranking", "mean:2", 0, 2.5, points=11), width="column")
    >>> float(figure.get_figwidth()), len(figure.axes)
    (3.25, 3)
    """
    canvas: Figure
    canvas, panels = make_panels([1, 1, 1] if style.is_narrow(width) else [1, 2], width, height=1.6)
    axes = times, costs, pulls = [axis for row in panels for axis in row]
    draw_times(times, curve)
    draw_shares(costs, curve, lambda result: result.cost_proportions.tolist())
    draw_shares(pulls, curve, lambda result: result.sampling_proportions.tolist())
    for axis in axes:
        for switch in curve.switches:
            axis.axvline(switch.value, **style.LOWER, label="binding statements change")
        for tie in curve.ties:
            axis.axvline(tie, **style.UPPER, label=f"tie, ${style.TIME}$ infinite")
        if curve.logarithmic:
            axis.set_xscale("log")
            style.write_decades(axis, "x")
    times.set_ylabel(style.say_scale(times, f"${style.TIME}$"))
    costs.set_ylabel(r"cost proportions $\omega^{\star}$")
    pulls.set_ylabel(r"sampling proportions $u^{\star}$")
    for axis in panels[-1]:
        swept = f"{curve.sweep.kind} of arm {style.literal(curve.model.arms[curve.sweep.arm])}"
        axis.set_xlabel(style.say_scale(axis, swept, "x"))
    canvas.suptitle(style.literal(title or headline(curve.model, curve.task)), wrap=True)
    draw_legend(canvas)
    label_regions(times, curve)
    return canvas


def draw_times(axis: Any, curve: Curve) -> None:
    """T* as a line, and marks where a closed form gives it."""
    values = [point.result.value for point in curve.points if point.result is not None]
    for stretch in curve.stretches():
        axis.plot(*line(stretch, lambda result: result.value), color="black", label=f"${style.TIME}$, solved")
    grid = [point for point in curve.points if point.closed_form is not None and point.kind == "grid"]
    for name in dict.fromkeys(str(point.closed_form) for point in grid):
        points = [(point.value, point.closed_form_time) for point in grid if point.closed_form == name]
        shown = points[:: max(1, len(points) // FORMS)]
        axis.plot(*zip(*shown, strict=True), **style.FORM, label=f"${style.TIME}$, closed form {style.literal(name)}")
    if min(values) > 0 and max(values) > LOGARITHMIC * min(values):
        axis.set_yscale("log")


def draw_shares(axis: Any, curve: Curve, shares: Callable[[CharacteristicTime], Sequence[float]]) -> None:
    """The share of each arm as a line, told apart by its dashes and markers too."""
    spacing = max(1, len(curve.points) // MARKS)
    for arm, name in enumerate(curve.model.arms):
        look = style.find_look(arm) | ({} if arm < style.LOOKS else {"markerfacecolor": "white"})
        every = (2 * arm % spacing, spacing)
        for stretch in curve.stretches():
            points = line(stretch, lambda result, arm=arm: shares(result)[arm])  # type: ignore[misc]
            axis.plot(*points, **look, markevery=every, label=f"arm {style.literal(name)}", gid=f"curve {arm}")
    axis.set_ylim(-0.03, 1.03)


def line(
    stretch: Sequence[CurvePoint], quantity: Callable[[CharacteristicTime], float]
) -> tuple[list[float], list[float]]:
    """Values and a quantity of the points of a stretch."""
    solved = [(point.value, point.result) for point in stretch if point.result is not None]
    return [value for value, _ in solved], [quantity(result) for _, result in solved]


def label_regions(axis: Any, curve: Curve) -> None:
    """The binding pairs above each region between two switches, where there is room for all of them."""
    labels = region_labels(curve, axis.get_xscale() == "log")
    above = {"transform": axis.get_xaxis_transform(), "ha": "center", "va": "bottom", "fontsize": "small"}
    texts = [axis.text(value, 1.02, style.literal(text), **above) for value, text in labels]
    axis.figure.draw_without_rendering()  # only then is it known how wide the panel is
    frame = axis.get_window_extent()
    places = [text.get_window_extent() for text in texts]
    ends = [frame.x0, *(end for place in places for end in (place.x0, place.x1)), frame.x1]
    if any(one > other for one, other in pairwise(ends)):
        for text in texts:
            text.remove()


def region_labels(curve: Curve, logarithmic: bool) -> list[tuple[float, str]]:
    """The centre of each region, and the binding statements there."""
    names, scale, unscale = curve.model.arms, log if logarithmic else float, exp if logarithmic else float
    solved = [(scale(point.value), point.result) for point in curve.points if point.result is not None]
    labels: list[tuple[float, str]] = []
    for statements, run in groupby(solved, lambda entry: entry[1].binding_statements):
        places = [place for place, _ in run]
        text = ", ".join(statement_names(statements, names))
        if len(places) > 2:
            text = text if labels else f"binding: {text or 'none'}"
            labels.append((unscale((places[0] + places[-1]) / 2), text))
    return labels
