"""T*, omega* and u* along a swept mean or cost, with the closed form, the switches of binding pairs and the ties."""

from collections.abc import Callable, Sequence
from itertools import groupby
from textwrap import fill
from typing import Any

from caet_opt.curves import Curve, Point
from caet_opt.figures.style import CURVES, LOWER, UPPER, panels, shared_legend
from caet_opt.result import CharacteristicTime

#: Markers along a line, points at which the closed form is marked, regions that are labelled with their binding pairs.
MARKS, FORMS, REGIONS = 12, 25, 4

#: T* is drawn in the logarithm when its largest value is so many times its smallest one.
LOGARITHMIC = 30.0

#: Longest label of a region and longest line of the title, in characters.
LABEL, TITLE = 34, 70


def draw(curve: Curve, title: str, logarithmic: bool = False) -> Any:
    """Three panels over the swept value: T*, the cost proportions, and the sampling proportions."""
    canvas, axes = panels(3, 1, (6.6, 8.2))
    times, costs, pulls = axes[:, 0]
    draw_times(times, curve)
    draw_shares(costs, curve, lambda result: result.cost_proportions.tolist())
    draw_shares(pulls, curve, lambda result: result.sampling_proportions.tolist())
    for axis in (times, costs, pulls):
        mark_places(axis, curve)
    labelled = label_regions(times, curve)
    times.set_title(fill(title, TITLE), fontsize=11, pad=22 if labelled else 8)
    times.set_ylabel("T*")
    costs.set_ylabel("cost proportions omega*")
    pulls.set_ylabel("sampling proportions u*")
    pulls.set_xlabel(f"{curve.sweep.kind} of arm {curve.model.arms[curve.sweep.arm]}")
    if logarithmic:
        pulls.set_xscale("log")
    canvas.align_ylabels()
    shared_legend(canvas, [times, costs, pulls], 3, "")
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


def by_form(curve: Curve) -> dict[str, list[Point]]:
    """The points of the grid that each closed form applies to."""
    found: dict[str, list[Point]] = {}
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


def line(stretch: Sequence[Point], quantity: Callable[[CharacteristicTime], float]) -> tuple[list[float], list[float]]:
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
    names = curve.model.arms
    solved = [(point.value, point.result.binding_pairs) for point in curve.points if point.result is not None]
    regions = [(pairs, [value for value, _ in run]) for pairs, run in groupby(solved, lambda entry: entry[1])]
    regions = [(pairs, values) for pairs, values in regions if len(values) > 2]
    texts = [", ".join(f"{names[a]} > {names[b]}" for a, b in pairs) for pairs, _ in regions]
    if len(regions) > REGIONS or any(len(text) > LABEL for text in texts):
        return False
    for (_, values), text in zip(regions, texts, strict=True):
        axis.text(
            (values[0] + values[-1]) / 2,
            1.02,
            f"binding: {text}" if text else "nothing binds",
            transform=axis.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=8,
        )
    return True
