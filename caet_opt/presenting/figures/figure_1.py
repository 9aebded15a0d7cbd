"""Figure 1 of the paper: CAET's cost against the lower and the upper bound as delta goes to zero.

The text calls the instances Bernoulli, with means that no Bernoulli has; they are unit-variance Gaussian.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import nan
from typing import Any

from caet_opt.bandits.families import Gaussian
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Ranking
from caet_opt.exploring.settings import Parameters
from caet_opt.presenting.figures.style import LOWER, UPPER, Effort, Figure, curve, panels, shared_legend
from caet_opt.simulating.runs import Experiment, run_many
from caet_opt.simulating.summary import summarise
from caet_opt.solving.numbers import table as aligned

#: The means of the two instances; the costs are the gaps to the best arm.
INSTANCES = ((3.0, 4.0, 2.0), (1.4, 0.8, 0.3))

THETA, CONSTANT = 1.2, 1.0
EXPONENT, COST_EXPONENT, GAMMA0 = 0.4, 0.1, 0.1

#: log(1/delta): quick, and with the paper's quality.
QUICK = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
FULL = (2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 250.0, 300.0, 400.0, 500.0)

QUICK_RUNS, FULL_RUNS = 40, 1000

SETTING = "Gaussian rewards of variance 1, ranking, gaps as costs; deviational threshold, theta = 1.2, C = 1"


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


def plan(effort: Effort) -> list[float]:
    """The expected work of every run, which grows like log(1/delta)."""
    levels = FULL if effort.full else QUICK
    return [level for level in levels for _ in range(len(INSTANCES) * effort.runs_or(QUICK_RUNS, FULL_RUNS))]


def measure(effort: Effort) -> Iterator[Row]:
    """Every instance at every delta, from the same streams of rewards."""
    runs = effort.runs_or(QUICK_RUNS, FULL_RUNS)
    for means in INSTANCES:
        for log_inv_delta in FULL if effort.full else QUICK:
            yield measured(means, log_inv_delta, runs, effort)


def measured(means: tuple[float, ...], log_inv_delta: float, runs: int, effort: Effort) -> Row:
    """One instance at one delta."""
    experiment = Experiment(
        BanditModel(Gaussian(), means, "gaps"),
        Ranking(),
        Parameters(
            log_inv_delta=log_inv_delta,
            r=EXPONENT,
            r_prime=COST_EXPONENT,
            gamma0=GAMMA0,
            zero_cost_share="paper",
            threshold="deviational",
            theta=THETA,
            constant=CONSTANT,
        ),
    )
    summary = summarise(
        experiment, run_many(experiment, runs, effort.seed, effort.workers, lambda _: effort.progress(log_inv_delta))
    )
    return Row(
        instance_name(means),
        log_inv_delta,
        summary.runs,
        summary.unfinished,
        summary.mean_cost,
        *(summary.cost_ci or (nan, nan)),
        summary.mean_samples,
        summary.error_rate,
        summary.characteristic_time,
        summary.lower_bound,
        summary.upper_bound,
    )


def instance_name(means: Sequence[float]) -> str:
    """The means as people write them."""
    return f"({', '.join(f'{mean:g}' for mean in means)})"


def table(rows: Sequence[Row]) -> str:
    """One line per instance and delta; L is log(1/delta)."""
    headers = [
        "means",
        "L",
        "runs",
        "unfinished",
        "mean cost",
        "95 % interval",
        "cost/L",
        "lower/L",
        "upper/L",
        "error",
    ]
    return aligned(headers, [cells(row) for row in rows])


def cells(row: Row) -> list[str]:
    """One line of the table."""
    ratios = [f"{row.per_log(name):.3f}" for name in ("mean_cost", "lower_bound", "upper_bound")]
    interval = f"[{row.cost_low:.1f}, {row.cost_high:.1f}]"
    counts = [f"{row.log_inv_delta:g}", str(row.runs), str(row.unfinished)]
    return [row.instance, *counts, f"{row.mean_cost:.1f}", interval, *ratios, f"{row.error_rate:.3g}"]


def draw(rows: Sequence[Row]) -> Any:
    """Above the cost, below the cost over log(1/delta), with both bounds; one column per instance."""
    names = list(dict.fromkeys(row.instance for row in rows))
    canvas, axes = panels(2, len(names), (4.6 * len(names), 6.6))
    for column, name in enumerate(names):
        points = [row for row in rows if row.instance == name]
        cost_panel(axes[0, column], points)
        ratio_panel(axes[1, column], points)
        axes[0, column].set_title(f"means {name},  T* = {points[0].characteristic_time:.3f}", fontsize=11)
        axes[1, column].set_xlabel("log(1/delta)")
    axes[0, 0].set_ylabel("cost at stopping")
    axes[1, 0].set_ylabel("cost / log(1/delta)")
    shared_legend(canvas, list(axes.flat), 3, SETTING)
    return canvas


def cost_panel(axis: Any, rows: Sequence[Row]) -> None:
    """Cost and bounds against log(1/delta), both axes logarithmic."""
    x = [row.log_inv_delta for row in rows]
    bounds(axis, x, [row.lower_bound for row in rows], [row.upper_bound for row in rows])
    band = [row.cost_low for row in rows], [row.cost_high for row in rows]
    curve(axis, x, [row.mean_cost for row in rows], *band, 0, label="CAET, mean and 95 % band")
    axis.set_xscale("log")
    axis.set_yscale("log")


def ratio_panel(axis: Any, rows: Sequence[Row]) -> None:
    """The same over log(1/delta), where the two bounds are level and the distance to them shows."""
    x = [row.log_inv_delta for row in rows]
    bounds(axis, x, *([row.per_log(name) for row in rows] for name in ("lower_bound", "upper_bound")))
    mean, low, high = ([row.per_log(name) for row in rows] for name in ("mean_cost", "cost_low", "cost_high"))
    curve(axis, x, mean, low, high, 0, label="CAET, mean and 95 % band")
    axis.set_xscale("log")
    axis.set_ylim(0, 3.2 * rows[0].characteristic_time)


def bounds(axis: Any, x: Sequence[float], lower: Sequence[float], upper: Sequence[float]) -> None:
    """The two lines of the theory."""
    axis.plot(x, lower, label="lower bound T* kl(delta, 1 - delta)", **LOWER)
    axis.plot(x, upper, label="asymptotic upper bound theta T* log(1/delta)", **UPPER)


FIGURE = Figure(
    "CAET's cost against the lower and the upper bound (Figure 1)",
    tuple(field.name for field in fields(Row)),
    plan,
    measure,
    table,
    draw,
)
