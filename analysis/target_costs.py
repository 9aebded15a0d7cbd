"""What lazy targets and batches cost: python analysis/target_costs.py [--quick]

Mean costs on the same draws, run by run: with targets that are kept while they are certified, beside a solve in every
round, on six models; and with pulls that are handed out in batches, beside one by one, on three models.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.modelfile import read_model
from caet_opt.common.checks import cores
from caet_opt.common.numbers import table, write_interval
from caet_opt.simulating.mean_intervals import mean_band
from caet_opt.simulating.summary import Summary, simulate

#: Models of which lazy targets are tried, the first three of which batches are tried, too.
MODELS = (
    "paper-instance-1",
    "bernoulli-costs",
    "clinical-trial",
    "gaussian-variances",
    "regret-poisson",
    "ranking-free-arms",
)

BATCHES: tuple[float | str, ...] = (1, 10, 100, 1000, "growing:0.1", "growing:0.5")


def run_model(name: str, runs: int, **settings: Any) -> Summary:
    """Runs of CAET on a model of the catalogue."""
    entry = read_model(f"models/{name}.toml")
    assert isinstance(entry.model, BanditModel)
    return simulate(entry.model, entry.task, runs=runs, seed=1, workers=cores(), **settings)


def costs_of(summary: Summary) -> Array:
    """The costs of the runs, in their order."""
    return np.array([record.cost for record in summary.run_records])


def compare(base: Summary, other: Summary) -> list[str]:
    """The mean cost, how much more than the base it is in per cent with its 95 % interval, run by run, and errors."""
    ratios = 100 * (costs_of(other) - costs_of(base)) / base.mean_cost
    low, high = mean_band(ratios)
    spread = f"{ratios.mean():+.2f} {write_interval(float(low), float(high), 3)}"
    return [f"{other.mean_cost:.6g}", spread, f"{other.error_rate:.4f}"]


def lazy_rows(names: Sequence[str], runs: int) -> list[list[str]]:
    """Lazy targets beside exact ones."""
    rows = []
    for name in names:
        for delta in (0.05, 1e-4):
            base = run_model(name, runs, delta=delta)
            rows.append([name, f"{delta:g}", "exact", f"{base.mean_cost:.6g}", "-", f"{base.error_rate:.4f}"])
            rows[-1] += [f"{base.mean_solves / base.mean_samples:.3f}", f"{base.widest_gap:.2g}"]
            for solve in ("lazy", "lazy:0.3", "lazy:1"):
                found = run_model(name, runs, delta=delta, solve=solve)
                share = f"{found.mean_solves / found.mean_samples:.3f}"
                rows.append([name, f"{delta:g}", solve, *compare(base, found), share, f"{found.widest_gap:.2g}"])
    return rows


def batch_rows(names: Sequence[str], runs: int) -> list[list[str]]:
    """Batches beside single pulls."""
    rows = []
    for name in names:
        base = run_model(name, runs, delta=0.05)
        for batch in BATCHES:
            found = run_model(name, runs, delta=0.05, batch=batch)
            pulls = [f"{found.mean_samples:.6g}", f"{found.mean_solves:.4g}"]
            rows.append([name, str(batch), *compare(base, found), *pulls])
    return rows


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="What lazy targets and batches cost.")
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    runs = 100 if parser.parse_args().quick else 400
    headers = ["model", "delta", "targets", "mean cost", "more than exact, %", "errors", "solves per round"]
    print(table([*headers, "largest gap"], lazy_rows(MODELS, runs), left=(0, 2)), flush=True)
    headers = ["model", "batch", "mean cost", "more than one by one, %", "errors", "samples", "targets"]
    print()
    print(table(headers, batch_rows(MODELS[:3], runs), left=(0, 1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
