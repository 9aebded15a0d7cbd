"""The regret of explore then commit, and its asymptote ``sum_a gap_a / d(mu_a, mu_best) log T``."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from typing import Any

import numpy as np

from caet_opt.bandits.families import Bernoulli, Gaussian
from caet_opt.bandits.model import BanditModel
from caet_opt.common.numbers import table as aligned
from caet_opt.presenting.figures import style
from caet_opt.presenting.figures.kinds import Effort, Figure, write_ends
from caet_opt.presenting.figures.sheet import draw_legend, make_panels
from caet_opt.simulating.regret import explore_then_commit

INSTANCES = {
    "bernoulli (0.5, 0.45, 0.43, 0.4)": BanditModel(Bernoulli(), (0.5, 0.45, 0.43, 0.4), "gaps"),
    "gaussian (1, 0.8, 0.5, 0)": BanditModel(Gaussian(), (1.0, 0.8, 0.5, 0.0), "gaps"),
}

#: Significant digits of the ends of an interval.
DIGITS = 4

HORIZONS = (10**5, 10**7, 10**9)

#: gamma0 lies below the gaps that matter: with 0.1, arms 0.05 below the best one would be pulled as if they were free.
THRESHOLD, GAMMA0 = "customary", 0.01

NOTES = (
    r"$\delta = 1/T$",
    rf"{THRESHOLD} threshold $\log((1 + \log t)/\delta)$, not proven",
    rf"gaps estimated, $\gamma_0 = {GAMMA0:g}$",
    r"thin lines: the asymptotes $\sum_a \Delta_a / d(\mu_a, \mu^{\star}) \log T$",
    "markers: median commitment",
)


@dataclass(frozen=True)
class Row:
    """The mean regret at one round with its 95 % interval, and how the runs of that curve committed."""

    instance: str
    horizon: int
    runs: int
    round: int
    mean_regret: float
    regret_low: float
    regret_high: float
    asymptote: float
    committed: int
    wrong: int
    median_commitment_time: float


def measure_point(name: str, horizon: int, runs: int, effort: Effort) -> list[Row]:
    """The curve of an instance up to a horizon, a row per recorded round; the work of a run grows like log T."""
    found = explore_then_commit(
        INSTANCES[name],
        horizon,
        runs,
        effort.seed,
        workers=effort.workers,
        progress=partial(effort.progress, log(horizon)),
        threshold=THRESHOLD,
        gamma0=GAMMA0,
    )
    times = found.commitment_times[found.commitment_times > 0]
    median = float(np.median(times)) if len(times) else float("nan")
    tail = (found.asymptote, found.committed, found.wrong, median)
    columns = (values.tolist() for values in (found.times, found.mean_regret, *found.ci))
    return [
        Row(name, found.horizon, runs, int(time), mean, low, high, *tail)
        for time, mean, low, high in zip(*columns, strict=True)
    ]


def table(rows: Sequence[Row]) -> str:
    """One line per instance and horizon: the regret at the horizon, and the commitment."""
    headers = ["instance", "T", "runs", "committed", "wrong", "commitment", "R(T)", "95 % interval"]
    headers += ["asymptote", "ratio"]
    return aligned(headers, [cells(row) for row in rows if row.round == row.horizon])


def cells(row: Row) -> list[str]:
    """One line of the table; the commitment time is the median."""
    interval = write_ends(row.regret_low, row.regret_high, DIGITS)
    counts = [f"{row.horizon:.0e}", str(row.runs), str(row.committed), str(row.wrong)]
    ratio = f"{row.mean_regret / row.asymptote:.3f}"
    commitment = f"{row.median_commitment_time:.0f}"
    return [row.instance, *counts, commitment, f"{row.mean_regret:.1f}", interval, f"{row.asymptote:.1f}", ratio]


@style.styled
def draw(rows: Sequence[Row], width: style.Width | None = None) -> Any:
    """R(t) against t, one panel per instance, one curve per horizon, each with its asymptote and commitment."""
    names = list(dict.fromkeys(row.instance for row in rows))
    horizons = list(dict.fromkeys(row.horizon for row in rows))
    canvas, panels = make_panels([1] * len(names) if style.is_narrow(width) else [len(names)], width)
    for axis, name in zip((axis for row in panels for axis in row), names, strict=True):
        for which, horizon in enumerate(horizons):
            draw_regret(axis, [row for row in rows if (row.instance, row.horizon) == (name, horizon)], which)
        axis.set_title(name)
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
    for axis in panels[-1]:
        axis.set_xlabel(style.say_scale(axis, "round $t$", "x"))
    for row in panels:
        row[0].set_ylabel("regret $R(t)$")
    draw_legend(canvas, NOTES)
    return canvas


def draw_regret(axis: Any, rows: Sequence[Row], which: int) -> None:
    """One horizon's curve."""
    look = style.find_look(which)
    x, mean = [row.round for row in rows], [row.mean_regret for row in rows]
    band = [row.regret_low for row in rows], [row.regret_high for row in rows]
    axis.axhline(rows[0].asymptote, color=look["color"], linestyle=look["linestyle"], linewidth=0.6)
    time = rows[0].median_commitment_time
    where = [float(np.interp(np.log(time), np.log(x), mean))] if np.isfinite(time) else []
    axis.plot([time] if where else [], where, **look | {"linestyle": "none"})
    exponent = f"{np.log10(rows[0].horizon):.3g}"
    style.draw_mean(axis, x, mean, *band, which, markevery=(len(x), 1), label=f"$T = 10^{{{exponent}}}$")


FIGURE = Figure(
    title="regret of explore then commit against its asymptote",
    row=Row,
    instances=dict.fromkeys(INSTANCES, (HORIZONS, HORIZONS)),
    runs=(40, 1000),
    work=log,
    measure_point=measure_point,
    table=table,
    draw=draw,
)
