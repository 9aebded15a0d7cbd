"""How the shares of the pulls converge as delta goes to zero.

N_a(tau) / ((1 - alpha) tau)  ->  u*_a        a costly arm,
N_a(tau) / tau                ->  1 / |N|     a free arm, N the free arms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.families import Gaussian
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Ranking
from caet_opt.exploring.settings import Parameters
from caet_opt.presenting.figures.style import CURVES, Effort, Figure, curve, panels, shared_legend
from caet_opt.simulating.regret import half_width
from caet_opt.simulating.runs import Experiment, RunRecord, run_many
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.numbers import table as aligned


class Instance(NamedTuple):
    """A model with its name."""

    name: str
    model: BanditModel


INSTANCES = (
    Instance("means (3, 4, 2), gaps as costs", BanditModel(Gaussian(), (3.0, 4.0, 2.0), "gaps")),
    Instance(
        "means (4, 3, 1.5, 0), costs (0, 1, 0, 1)",
        BanditModel(Gaussian(), (4.0, 3.0, 1.5, 0.0), (0.0, 1.0, 0.0, 1.0)),
    ),
)

#: log(1/delta): quick, and with the paper's quality.
QUICK = (5.0, 20.0, 50.0, 100.0, 200.0, 500.0)
FULL = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)

QUICK_RUNS, FULL_RUNS = 30, 400

SETTING = "ranking, Gaussian rewards of variance 1; deviational threshold, theta = 1.2, C = 1; r = 0.4"


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


def plan(effort: Effort) -> list[float]:
    """The expected work of every run, which grows like log(1/delta)."""
    levels = FULL if effort.full else QUICK
    return [level for level in levels for _ in range(len(INSTANCES) * effort.runs_or(QUICK_RUNS, FULL_RUNS))]


def measure(effort: Effort) -> Iterator[Row]:
    """Every arm of every instance at every delta."""
    runs = effort.runs_or(QUICK_RUNS, FULL_RUNS)
    for instance in INSTANCES:
        for log_inv_delta in FULL if effort.full else QUICK:
            yield from measured(instance, log_inv_delta, runs, effort)


def measured(instance: Instance, log_inv_delta: float, runs: int, effort: Effort) -> list[Row]:
    """One instance at one delta, a row per arm."""
    parameters = Parameters(log_inv_delta=log_inv_delta, threshold="deviational", zero_cost_share="paper")
    experiment = Experiment(instance.model, Ranking(), parameters)
    records = run_many(experiment, runs, effort.seed, effort.workers, lambda _: effort.progress(log_inv_delta))
    unfinished = sum(not record.stopped for record in records)
    shares = scaled_shares(records, instance.model, parameters.free_share)
    mean, half = np.mean(shares, axis=0), half_width(shares)
    limit = limits(instance.model)
    target = np.where(is_free(instance.model), parameters.free_share, 1.0) * limit
    kinds = np.where(is_free(instance.model), "free", "costly")
    columns = (kinds.tolist(), *(values.tolist() for values in (mean, mean - half, mean + half, limit, target)))
    return [
        Row(instance.name, log_inv_delta, runs, unfinished, arm, *values)
        for arm, values in enumerate(zip(*columns, strict=True))
    ]


def is_free(model: BanditModel) -> Any:
    """Which arms cost nothing."""
    return np.array(model.costs) == 0


def scaled_shares(records: Sequence[RunRecord], model: BanditModel, alpha: float) -> Array:
    """``N_a / tau`` of the free arms and ``N_a / ((1 - alpha) tau)`` of the costly ones; one row per run."""
    counts = np.array([record.counts for record in records], dtype=float)
    shares = counts / np.sum(counts, axis=1, keepdims=True)
    return np.asarray(np.where(is_free(model), shares, shares / (1.0 - alpha)))


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
    interval = f"[{row.share_low:.4f}, {row.share_high:.4f}]"
    return [row.instance, *counts, f"{row.share:.4f}", interval, f"{row.target:.4f}", f"{row.limit:.4f}"]


def draw(rows: Sequence[Row]) -> Any:
    """Costly arms above, free arms below; one column per instance."""
    names = list(dict.fromkeys(row.instance for row in rows))
    canvas, axes = panels(2, len(names), (4.6 * len(names), 6.6))
    for column, name in enumerate(names):
        for line, kind in enumerate(("costly", "free")):
            share_panel(axes[line, column], [row for row in rows if (row.instance, row.kind) == (name, kind)])
        axes[0, column].set_title(name, fontsize=11)
        axes[1, column].set_xlabel("log(1/delta)")
    axes[0, 0].set_ylabel("costly arms:  N_a / ((1 - alpha) tau)")
    axes[1, 0].set_ylabel("free arms:  N_a / tau")
    theory = "thin lines: the limits u*_a and 1/|N|; grey dots: the target alpha/|N| of the free arms"
    shared_legend(canvas, list(axes.flat), 4, f"{SETTING}\n{theory}")
    return canvas


def share_panel(axis: Any, rows: Sequence[Row]) -> None:
    """The shares of some arms against log(1/delta), each with its limit."""
    for arm in sorted({row.arm for row in rows}):
        points = [row for row in rows if row.arm == arm]
        x = [row.log_inv_delta for row in points]
        band = [row.share_low for row in points], [row.share_high for row in points]
        curve(axis, x, [row.share for row in points], *band, arm, label=f"arm {arm}")
        axis.axhline(points[0].limit, color=CURVES[arm % len(CURVES)][0], linewidth=0.9)
        if points[0].kind == "free":
            axis.plot(x, [row.target for row in points], color="0.5", linestyle=":", linewidth=1.8)
    axis.set_xscale("log")
    axis.set_ylim(0, 1.08 * max(max(row.limit, row.share) for row in rows))


FIGURE = Figure(
    "shares of the pulls against their limits",
    tuple(field.name for field in fields(Row)),
    plan,
    measure,
    table,
    draw,
)
