"""T*, omega* and u* along a swept number, with the closed form, the switches of binding statements and the ties."""

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any, Literal

from caet_opt.errors import InputError, unknown_name
from caet_opt.presenting.curves import Curve, CurvePoint, list_sides
from caet_opt.presenting.figures import style
from caet_opt.presenting.figures.sheet import draw_legend, make_panels
from caet_opt.solving.result import CharacteristicTime, headline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The panels of the figure, by name.
Panel = Literal["time", "cost", "sampling"]

#: Markers along a line, and points at which the closed form is marked.
MARKS, FORMS = 12, 25

#: T* is drawn in the logarithm when its largest value is so many times its smallest one.
LOGARITHMIC = 30.0


@style.styled
def curve_figure(
    curve: Curve, title: str | None = None, width: style.Width | None = None, only: Panel | None = None
) -> "Figure":
    """T* above, the cost proportions and the sampling proportions below it, over the swept value.

    Parameters
    ----------
    curve
        What `trace_curve` found.
    title
        Title of the figure; by default the task, the family and the number of arms; no title if empty.
    width
        ``"column"`` or ``"page"`` of a paper in two columns; by default the page, or what the user's style says.
    only
        ``"time"``, ``"cost"`` or ``"sampling"``: T*, the cost or the sampling proportions alone.

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> curve = trace_curve(model, "ranking", "mean:2", 0, 2.5, points=11)
    >>> figure = curve_figure(curve, width="column")
    >>> float(figure.get_figwidth()), len(figure.axes)
    (3.25, 3)
    >>> len(curve_figure(curve, title="", width="column", only="time").axes)
    1
    """
    if only is not None and only not in PANELS:
        raise InputError(unknown_name("panel", only, PANELS))
    shown = list(PANELS) if only is None else [only]
    canvas: Figure
    canvas, rows = make_panels([1] * len(shown) if only or style.is_narrow(width) else [1, 2], width, height=1.6)
    panels = dict(zip(shown, (axis for row in rows for axis in row), strict=True))
    for name, axis in panels.items():
        PANELS[name](axis, curve)
        draw_changes(axis, curve)
    for axis in rows[-1]:
        axis.set_xlabel(style.say_scale(axis, style.literal(curve.sweep.describe(curve.model.arms)), "x"))
    if title != "":
        canvas.suptitle(style.literal(title or headline(curve.model, curve.task)), wrap=True)
    draw_legend(canvas)
    if "time" in panels:
        label_regions(panels["time"], curve)
    return canvas


def draw_changes(axis: Any, curve: Curve) -> None:
    """A line where the binding statements change, and one where a tie is."""
    for switch in curve.switches:
        axis.axvline(switch.value, **style.find_theory("lower"), label="binding statements change")
    for tie in curve.ties:
        axis.axvline(tie, **style.find_theory("upper"), label=f"tie, ${style.TIME}$ infinite")
    if curve.logarithmic:
        axis.set_xscale("log")
        style.write_decades(axis, "x")


def draw_times(axis: Any, curve: Curve) -> None:
    """T* as a line, and marks where a closed form gives it."""
    values = [point.result.value for point in curve.points if point.result is not None]
    solid, form = style.find_theory("solid"), style.find_theory("form")
    for stretch in curve.stretches():
        axis.plot(*line(stretch, lambda result: result.value), **solid, label=f"${style.TIME}$, solved")
    grid = [point for point in curve.points if point.closed_form is not None and point.kind == "grid"]
    for name in dict.fromkeys(str(point.closed_form) for point in grid):
        points = [(point.value, point.closed_form_time) for point in grid if point.closed_form == name]
        shown = points[:: max(1, len(points) // FORMS)]
        axis.plot(*zip(*shown, strict=True), **form, label=f"${style.TIME}$, closed form {style.literal(name)}")
    if min(values) > 0 and max(values) > LOGARITHMIC * min(values):
        axis.set_yscale("log")
    axis.set_ylabel(style.say_scale(axis, f"${style.TIME}$"))


def draw_costs(axis: Any, curve: Curve) -> None:
    """The share of the cost that goes to each arm."""
    draw_shares(axis, curve, lambda result: result.cost_proportions.tolist())
    axis.set_ylabel(r"cost proportions $\omega^{\star}$")


def draw_pulls(axis: Any, curve: Curve) -> None:
    """The share of the pulls that each arm has."""
    draw_shares(axis, curve, lambda result: result.sampling_proportions.tolist())
    axis.set_ylabel(r"sampling proportions $u^{\star}$")


def draw_shares(axis: Any, curve: Curve, shares: Callable[[CharacteristicTime], Sequence[float]]) -> None:
    """The share of each arm as a line, told apart by its dashes and markers too."""
    spacing = max(1, len(curve.points) // MARKS)
    for arm, name in enumerate(curve.model.arms):
        look = style.find_look(arm) | ({} if arm < style.LOOKS else {"markerfacecolor": style.paper_colour()})
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
    """The binding statements above each region between two switches, where there is room for all of them."""
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
    scale, unscale = log if logarithmic else float, exp if logarithmic else float
    solved = [
        (point, list_sides(point.result.binding_statements)) for point in curve.points if point.result is not None
    ]
    labels: list[tuple[float, str]] = []
    for _, run in groupby(solved, lambda entry: entry[1]):
        points = [point for point, _ in run]
        places = [scale(point.value) for point in points]
        text = ", ".join(curve.binding(max(points, key=lambda point: abs(point.value))))
        if len(places) > 2:
            text = text if labels else f"binding: {text or 'none'}"
            labels.append((unscale((places[0] + places[-1]) / 2), text))
    return labels


#: What draws each panel, by its name.
PANELS: dict[Panel, Callable[[Any, Curve], None]] = {"time": draw_times, "cost": draw_costs, "sampling": draw_pulls}
