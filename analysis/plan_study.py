"""Plans against what then happens: python analysis/plan_study.py [--runs N] [--workers N]

Six models at delta = 0.05: the quantiles of the cost and the chance to be done within a budget that `plan` says, over
those of other runs, with exact targets and other seeds; and how many of these are done within the budgets that the
plan calls enough for 50 and 90 % of runs. The last column is the time that the plan took, in seconds.
"""

import argparse
import sys
from time import perf_counter

import numpy as np
from threshold_study import from_catalogue

from caet_opt import plan, simulate
from caet_opt.common.numbers import table
from caet_opt.simulating.mean_intervals import find_quantiles
from caet_opt.simulating.pool import cores

DELTA = 0.05

MODELS = (
    "paper-instance-1",
    "bernoulli-costs",
    "exponential-ranking",
    "top-arms",
    "control-at-a-cost",
    "regret-poisson",
)


def known(quantiles: dict[str, float | None]) -> dict[str, float]:
    """Quantiles that finished runs have, which is all of them here."""
    return {level: cost for level, cost in quantiles.items() if cost is not None}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Plans against what then happens.")
    parser.add_argument("--runs", type=int, default=2000, help="of each model, beside those of the plan (2000)")
    parser.add_argument("--workers", type=int, default=cores(), help="processes (one per core)")
    arguments = parser.parse_args()
    rows = []
    for name, entry in from_catalogue(*MODELS).items():
        asked = {"delta": DELTA, "workers": arguments.workers}
        start = perf_counter()
        planned = known(plan(entry.model, entry.task, seed=1, **asked).quantiles)
        seconds = perf_counter() - start
        records = simulate(entry.model, entry.task, runs=arguments.runs, seed=2, **asked).records
        costs, stopped = records["cost"].to_numpy(), records["stopped"].to_numpy()
        found = known(find_quantiles(costs, stopped))
        ratios = [f"{planned[level] / found[level]:.3f}" for level in found]
        done = [f"{np.mean(stopped & (costs <= planned[level])):.3f}" for level in ("0.5", "0.9")]
        rows.append([name, *ratios, *done, f"{seconds:.1f}"])
    print(table(["model", "10 %", "50 %", "90 %", "done by 50 %", "by 90 %", "seconds"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
