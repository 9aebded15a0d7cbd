"""Figure 1 of the paper: CAET's cost against the lower and the upper bound as delta goes to zero.

The text calls the instances Bernoulli, with means that no Bernoulli has; they are unit-variance Gaussian. The public
README of the authors' code names other means for the first graph, over a narrower range of delta: a third instance,
taken for Gaussian too, so that the three compare, though a Bernoulli could have its means.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from caet_opt.bandits.families import Gaussian
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Ranking
from caet_opt.common.numbers import round_down, round_up, to_digits
from caet_opt.common.numbers import table as aligned
from caet_opt.exploring.settings import Parameters
from caet_opt.presenting.figures import style
from caet_opt.presenting.figures.kinds import Effort, Figure, write_ends
from caet_opt.presenting.figures.sheet import draw_legend, make_panels
from caet_opt.simulating.runs import Experiment, RunRecord, run_many
from caet_opt.simulating.summary import ends, summarise
from caet_opt.solving.result import bound_per_time

#: The paper's settings.
SETTINGS: dict[str, Any] = {"threshold": "deviational", "theta": 1.2, "constant": 1.0, "tracking": "c"}
SETTINGS |= {"r": 0.4, "r_prime": 0.1, "gamma0": 0.1, "zero_cost_share": "paper"}

#: Significant digits of costs in the table.
DIGITS = 5

#: log(1/delta): quick, and with the paper's quality.
QUICK = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
FULL = (2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 250.0, 300.0, 400.0, 500.0)

#: The same of the instance in the authors' README, within the range that it names.
README = (30.0, 50.0, 70.0, 100.0), (30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)

#: The means of the instances, and their levels; the costs are the gaps to the best arm.
INSTANCES = {(3.0, 4.0, 2.0): (QUICK, FULL), (1.4, 0.8, 0.3): (QUICK, FULL), (0.5, 0.9, 0.2): README}

NOTES = (
    "Gaussian rewards of variance 1",
    "ranking",
    "gaps as costs",
    rf"deviational threshold, $\theta = {SETTINGS['theta']:g}$, $C = {SETTINGS['constant']:g}$",
)


@dataclass(frozen=True)
class Row:
    """The mean cost of an instance at one delta, with its 95 % interval and the bounds."""

    instance: str
    log_inv_delta: float
    runs: int
    unfinished: int
    mean_cost: float
    cost_low: float
    cost_high: float
    mean_samples: float
    error_rate: float
    characteristic_time: float
    lower_bound: float
    upper_bound: float

    def per_log(self, name: str) -> float:
        """A field over log(1/delta)."""
        return float(getattr(self, name)) / self.log_inv_delta


def run_ranking(model: BanditModel, level: float, runs: int, effort: Effort) -> tuple[Experiment, list[RunRecord]]:
    """Runs of the ranking task with the paper's settings at ``level = log(1/delta)``, every level from the same streams
    of rewards; the work of a run grows like the level."""
    experiment = Experiment(model, Ranking(), Parameters(log_inv_delta=level, **SETTINGS))
    return experiment, run_many(experiment, runs, effort.seed, effort.workers, lambda _: effort.progress(level))


def measure_point(means: tuple[float, ...], log_inv_delta: float, runs: int, effort: Effort) -> list[Row]:
    """One instance at one delta."""
    summary = summarise(*run_ranking(BanditModel(Gaussian(), means, "gaps"), log_inv_delta, runs, effort))
    found: dict[str, Any] = {**ends("cost", summary.cost_ci)}
    found |= {field.name: getattr(summary, field.name) for field in fields(Row)[2:] if field.name not in found}
    return [Row(f"({', '.join(f'{mean:g}' for mean in means)})", log_inv_delta, **found)]


def table(rows: Sequence[Row]) -> str:
    """One line per instance and delta; L is log(1/delta)."""
    headers = ["means", "L", "runs", "unfinished", "mean cost", "95 % interval"]
    headers += ["cost/L", "lower/L", "upper/L", "error"]
    return aligned(headers, [cells(row) for row in rows])


def cells(row: Row) -> list[str]:
    """One line of the table."""
    bounds = [round_down(row.per_log("lower_bound"), DIGITS), round_up(row.per_log("upper_bound"), DIGITS)]
    ratios = [to_digits(row.per_log("mean_cost"), DIGITS), *bounds]
    interval = write_ends(row.cost_low, row.cost_high, DIGITS)
    counts = [f"{row.log_inv_delta:g}", str(row.runs), str(row.unfinished)]
    return [row.instance, *counts, to_digits(row.mean_cost, DIGITS), interval, *ratios, f"{row.error_rate:.3g}"]


@style.styled
def draw(rows: Sequence[Row], width: style.Width | None = None) -> Any:
    """The cost, and the cost over log(1/delta), with both bounds: a column of panels per instance, or a row of them
    where the figure is narrow."""
    names = list(dict.fromkeys(row.instance for row in rows))
    narrow = style.is_narrow(width)
    canvas, panels = make_panels([2] * len(names) if narrow else [len(names)] * 2, width)
    for which, name in enumerate(names):
        points = [row for row in rows if row.instance == name]
        pair = panels[which] if narrow else [panels[0][which], panels[1][which]]
        for axis, per_log in zip(pair, (False, True), strict=True):
            draw_costs(axis, points, per_log)
            if narrow or which == 0:
                axis.set_ylabel(f"cost / {style.LEVEL}" if per_log else style.say_scale(axis, "cost at stopping"))
        pair[0].set_title(f"means {name}")
        pair[1].set_title(f"${style.TIME} = {points[0].characteristic_time:.3f}$")
    for axis in panels[-1]:
        axis.set_xlabel(style.say_scale(axis, style.LEVEL, "x"))
    draw_legend(canvas, NOTES)
    return canvas


def draw_costs(axis: Any, rows: Sequence[Row], per_log: bool) -> None:
    """Cost and both bounds against log(1/delta), or all of them over log(1/delta), where the upper one is level."""
    x, time = [row.log_inv_delta for row in rows], rows[0].characteristic_time
    mean, low, high = (
        [row.per_log(name) if per_log else getattr(row, name) for row in rows]
        for name in ("mean_cost", "cost_low", "cost_high")
    )
    levels = style.fine_levels(x)
    lower = [time * bound_per_time(level) / (level if per_log else 1.0) for level in levels]
    upper = [SETTINGS["theta"] * time * (1.0 if per_log else level) for level in levels]
    axis.plot(
        levels, lower, label=r"lower bound $T^{\star}\,\mathrm{kl}(\delta, 1 - \delta)$", **style.find_theory("lower")
    )
    axis.plot(
        levels, upper, label=r"asymptotic upper bound $\theta T^{\star}\,\log(1/\delta)$", **style.find_theory("upper")
    )
    style.draw_mean(axis, x, mean, low, high, 0, label=r"CAET, mean and $95\%$ band")
    style.scale_levels(axis, x)
    if per_log:
        axis.set_ylim(0, min(3.2 * time, 1.2 * max(mean + upper)))
    elif axis.get_xscale() == "log":
        axis.set_yscale("log")


FIGURE = Figure(
    title="CAET's cost against the lower and the upper bound (Figure 1)",
    row=Row,
    instances=INSTANCES,
    runs=(40, 1000),
    work=float,
    measure_point=measure_point,
    table=table,
    draw=draw,
)
