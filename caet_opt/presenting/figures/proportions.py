"""How the shares of the pulls converge as delta goes to zero.

N_a(tau) / ((1 - alpha) tau)  ->  u*_a        a costly arm,
N_a(tau) / tau                ->  1 / |N|     a free arm, N the free arms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caet_opt.bandits.families import Gaussian
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Ranking
from caet_opt.common.numbers import table as aligned
from caet_opt.exploring.settings import Parameters
from caet_opt.presenting.figures import style
from caet_opt.presenting.figures.figure_1 import NOTES as SETTING
from caet_opt.presenting.figures.figure_1 import SETTINGS, run_ranking
from caet_opt.presenting.figures.kinds import Effort, Figure, write_ends
from caet_opt.presenting.figures.sheet import draw_legend, make_panels
from caet_opt.simulating.mean_intervals import mean_band
from caet_opt.solving.characteristic import characteristic_time

#: Models by name.
INSTANCES = {
    "means (3, 4, 2), gaps as costs": BanditModel(Gaussian(), (3.0, 4.0, 2.0), "gaps"),
    "means (4, 3, 1.5, 0), costs (0, 1, 0, 1)": BanditModel(Gaussian(), (4.0, 3.0, 1.5, 0.0), (0.0, 1.0, 0.0, 1.0)),
}

#: Significant digits of the ends of an interval.
DIGITS = 4

#: log(1/delta): quick, and with the paper's quality.
QUICK = (5.0, 20.0, 50.0, 100.0, 200.0, 500.0)
FULL = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)

NOTES = (
    *(note for note in SETTING if note != "gaps as costs"),
    rf"$r = {SETTINGS['r']:g}$",
    r"thin lines: the limits $u^{\star}_a$ and $1/|N|$",
)


@dataclass(frozen=True)
class Row:
    """The share of one arm at one delta with its 95 % interval, the limit, and the target that delta itself sets."""

    instance: str
    log_inv_delta: float
    runs: int
    unfinished: int
    arm: int
    kind: str
    share: float
    share_low: float
    share_high: float
    limit: float
    target: float


def measure_point(name: str, log_inv_delta: float, runs: int, effort: Effort) -> list[Row]:
    """One instance at one delta, a row per arm."""
    model = INSTANCES[name]
    experiment, records = run_ranking(model, log_inv_delta, runs, effort)
    alpha = experiment.parameters.free_share
    unfinished = sum(not record.stopped for record in records)
    counts = np.array([record.counts for record in records], dtype=float)
    shares = counts / np.sum(counts, axis=1, keepdims=True) / np.where(is_free(model), 1.0, 1.0 - alpha)
    mean, (low, high) = np.mean(shares, axis=0), mean_band(shares)
    limit = limits(model)
    target = np.where(is_free(model), alpha, 1.0) * limit
    kinds = np.where(is_free(model), "free", "costly")
    columns = (kinds.tolist(), *(values.tolist() for values in (mean, low, high, limit, target)))
    return [
        Row(name, log_inv_delta, runs, unfinished, arm, *values)
        for arm, values in enumerate(zip(*columns, strict=True))
    ]


def is_free(model: BanditModel) -> Any:
    """Which arms cost nothing."""
    return np.array(model.costs) == 0


def limits(model: BanditModel) -> Array:
    """u* of the costly arms, and one over their number for the free ones."""
    free = is_free(model)
    optimal = characteristic_time(model, Ranking()).sampling_proportions
    return np.asarray(np.where(free, 1.0 / max(1, int(np.sum(free))), optimal))


def table(rows: Sequence[Row]) -> str:
    """One line per instance, delta and arm; L is log(1/delta)."""
    headers = ["instance", "L", "runs", "unfinished", "arm", "kind", "share", "95 % interval", "target", "limit"]
    return aligned(headers, [cells(row) for row in rows])


def cells(row: Row) -> list[str]:
    """One line of the table."""
    counts = [f"{row.log_inv_delta:g}", str(row.runs), str(row.unfinished), str(row.arm), row.kind]
    interval = write_ends(row.share_low, row.share_high, DIGITS)
    return [row.instance, *counts, f"{row.share:.4f}", interval, f"{row.target:.4f}", f"{row.limit:.4f}"]


@style.styled
def draw(rows: Sequence[Row], width: style.Width | None = None) -> Any:
    """Costly arms above, free arms below; one column per instance."""
    names = list(dict.fromkeys(row.instance for row in rows))
    canvas, panels = make_panels([len(names)] * 2, width)
    for column, name in enumerate(names):
        for line, kind in enumerate(("costly", "free")):
            draw_shares(panels[line][column], [row for row in rows if (row.instance, row.kind) == (name, kind)])
        panels[0][column].set_title(name.replace("), ", "),\n") if style.is_narrow(width) else name)
        panels[1][column].set_xlabel(style.say_scale(panels[1][column], style.LEVEL, "x"))
    panels[0][0].set_ylabel(r"costly: $N_a / ((1 - \alpha)\tau)$")
    panels[1][0].set_ylabel(r"free: $N_a / \tau$")
    draw_legend(canvas, NOTES)
    return canvas


def draw_shares(axis: Any, rows: Sequence[Row]) -> None:
    """The shares of some arms against log(1/delta), each with its limit, and the target of free arms."""
    levels = style.fine_levels([row.log_inv_delta for row in rows])
    for arm in sorted({row.arm for row in rows}):
        points = [row for row in rows if row.arm == arm]
        x, limit = [row.log_inv_delta for row in points], points[0].limit
        band = [row.share_low for row in points], [row.share_high for row in points]
        axis.axhline(limit, color=style.find_look(arm)["color"], linewidth=0.6)
        if points[0].kind == "free":
            targets = [limit * Parameters(log_inv_delta=level, **SETTINGS).free_share for level in levels]
            axis.plot(levels, targets, label=r"target $\alpha/|N|$ of the free arms", **style.find_theory("upper"))
        style.draw_mean(axis, x, [row.share for row in points], *band, arm, label=f"arm {arm}")
    style.scale_levels(axis, [row.log_inv_delta for row in rows])
    axis.set_ylim(0, 1.08 * max(max(row.limit, row.share) for row in rows))


FIGURE = Figure(
    title="shares of the pulls against their limits",
    row=Row,
    instances=dict.fromkeys(INSTANCES, (QUICK, FULL)),
    runs=(30, 400),
    work=float,
    measure_point=measure_point,
    table=table,
    draw=draw,
)
