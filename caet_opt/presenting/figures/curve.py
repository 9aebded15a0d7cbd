"""T*, omega* and u* along a swept mean or cost, with the closed form, the switches of binding pairs and the ties."""

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from math import exp, log
from textwrap import fill
from typing import Any

from caet_opt.presenting.curves import Curve, CurvePoint
from caet_opt.presenting.figures.style import CURVES, LOWER, UPPER, draw_legend, make_panels
from caet_opt.solving.numbers import pair_names
from caet_opt.solving.result import CharacteristicTime

#: Markers along a line, and points at which the closed form is marked.
MARKS, FORMS = 12, 25

#: T* is drawn in the logarithm when its largest value is so many times its smallest one.
LOGARITHMIC = 30.0

#: Width of a character of a label as a share of the axis, and characters in a line of the title.
WIDTH, TITLE = 0.0115, 70


def draw(curve: Curve, title: str, logarithmic: bool = False) -> Any:
    """Three panels over the swept value: T*, the cost proportions, and the sampling proportions."""
    canvas, axes = make_panels(3, 1, (6.6, 8.2))
    times, costs, pulls = axes[:, 0]
    draw_times(times, curve)
    draw_shares(costs, curve, lambda result: result.cost_proportions.tolist())
    draw_shares(pulls, curve, lambda result: result.sampling_proportions.tolist())
    for axis in (times, costs, pulls):
        mark_places(axis, curve)
    if logarithmic:
        pulls.set_xscale("log")
    labelled = label_regions(times, curve)
    times.set_title(fill(title, TITLE), fontsize=11, pad=22 if labelled else 8)
    times.set_ylabel("T*")
    costs.set_ylabel("cost proportions omega*")
    pulls.set_ylabel("sampling proportions u*")
    pulls.set_xlabel(f"{curve.sweep.kind} of arm {curve.model.arms[curve.sweep.arm]}")
    canvas.align_ylabels()
    draw_legend(canvas, [times, costs, pulls], 3, "")
    return canvas


def draw_times(axis: Any, curve: Curve) -> None:
    """T* as a line, and marks where a closed form gives it."""
    values = [point.result.value for point in curve.points if point.result is not None]
    for stretch in curve.stretches():
        axis.plot(*line(stretch, lambda result: result.value), color="black", linewidth=1.4, label="T*, solved")
    for name, points in by_form(curve).items():
        shown = points[:: max(1, len(points) // FORMS)]
        axis.plot(
            [point.value for point in shown],
            [point.closed_form_time for point in shown],
            linestyle="none",
            marker="o",
            markersize=6,
            markerfacecolor="none",
            color=CURVES[2][0],
            label=f"T*, closed form {name}",
        )
    if min(values) > 0 and max(values) > LOGARITHMIC * min(values):
        axis.set_yscale("log")


def by_form(curve: Curve) -> dict[str, list[CurvePoint]]:
    """The points of the grid that each closed form applies to."""
    found: dict[str, list[CurvePoint]] = {}
    for point in curve.points:
        if point.closed_form is not None and point.kind == "grid":
            found.setdefault(point.closed_form, []).append(point)
    return found


def draw_shares(axis: Any, curve: Curve, shares: Callable[[CharacteristicTime], Sequence[float]]) -> None:
    """The share of each arm as a line, told apart by its dashes and markers too."""
    spacing = max(1, len(curve.points) // MARKS)
    for arm, name in enumerate(curve.model.arms):
        colour, marker, dashes = CURVES[arm % len(CURVES)]
        face = colour if arm < len(CURVES) else "white"
        for stretch in curve.stretches():
            style = {"color": colour, "linestyle": dashes, "linewidth": 1.4, "marker": marker, "markersize": 4.5}
            every = (2 * arm % spacing, spacing)
            points = line(stretch, lambda result, arm=arm: shares(result)[arm])  # type: ignore[misc]
            axis.plot(*points, **style, markevery=every, markerfacecolor=face, label=f"arm {name}")
    axis.set_ylim(-0.03, 1.03)


def line(
    stretch: Sequence[CurvePoint], quantity: Callable[[CharacteristicTime], float]
) -> tuple[list[float], list[float]]:
    """Values and a quantity of the points of a stretch."""
    solved = [(point.value, point.result) for point in stretch if point.result is not None]
    return [value for value, _ in solved], [quantity(result) for _, result in solved]


def mark_places(axis: Any, curve: Curve) -> None:
    """Vertical lines where binding pairs change, and where a tie makes T* infinite."""
    for switch in curve.switches:
        axis.axvline(switch.value, **LOWER, label="binding pairs change")
    for tie in curve.ties:
        axis.axvline(tie, **UPPER, label="tie, T* infinite")


def label_regions(axis: Any, curve: Curve) -> bool:
    """The binding pairs above each region between two switches; false where there is no room for them."""
    labels = region_labels(curve, axis.get_xscale() == "log")
    reach = [(centre - WIDTH * len(text) / 2, centre + WIDTH * len(text) / 2) for centre, _, text in labels]
    edges = [(-1.0, 0.0), *reach, (1.0, 2.0)]
    if any(one[1] > other[0] for one, other in pairwise(edges)):
        return False
    for _, value, text in labels:
        axis.text(value, 1.02, text, transform=axis.get_xaxis_transform(), ha="center", va="bottom", fontsize=8)
    return True


def region_labels(curve: Curve, logarithmic: bool) -> list[tuple[float, float, str]]:
    """Centre of each region as a share of the axis and as a value, and the binding pairs there."""
    names, scale, unscale = curve.model.arms, log if logarithmic else float, exp if logarithmic else float
    solved = [(scale(point.value), point.result) for point in curve.points if point.result is not None]
    first, last = scale(curve.points[0].value), scale(curve.points[-1].value)
    labels: list[tuple[float, float, str]] = []
    for pairs, run in groupby(solved, lambda entry: entry[1].binding_pairs):
        places = [place for place, _ in run]
        centre = (places[0] + places[-1]) / 2
        text = ", ".join(pair_names(pairs, names))
        if len(places) > 2:
            text = text if labels else f"binding: {text or 'none'}"
            labels.append(((centre - first) / (last - first), unscale(centre), text))
    return labels
