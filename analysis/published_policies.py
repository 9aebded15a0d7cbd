"""Policies against what was published of them: python analysis/published_policies.py [--runs N] [--workers N]

Mean draws of four rules at delta = 0.1 with the customary threshold on a Bernoulli instance (Garivier and Kaufmann,
COLT 2016), the proportions of CTAS and of a cost-blind rule on a Gaussian instance with costs (Kanarios, Zhang and
Ying 2024), and what every policy costs there as delta falls, beside what it tends to.
"""

import argparse
import os
import sys
from typing import Any

import numpy as np

from caet_opt.bandits.families import Bernoulli, Gaussian
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import BestArm
from caet_opt.common.numbers import table, write_interval
from caet_opt.simulating.comparison import compare_policies
from caet_opt.simulating.summary import Summary, simulate
from caet_opt.solving.certificate import statement_terms
from caet_opt.solving.characteristic import characteristic_time

#: The instances, and the mean draws that were published for the first.
DRAWS = BanditModel(Bernoulli(), [0.5, 0.45, 0.43, 0.4], [1.0] * 4)
PUBLISHED = {"track-and-stop": 4052, "chernoff-racing": 4516, "kl-lucb": 8437, "kl-racing": 9590}
COSTS = BanditModel(Gaussian(), [1.5, 1.0, 0.5], [1.0, 0.1, 0.01])
PROPORTIONS = {"ctas": (0.23, 0.72, 0.05), "track-and-stop": (0.46, 0.46, 0.08)}

#: Those whose cost is compared, at these log(1/delta).
COMPARED = ("caet", "ctas", "top-two-ids", "oracle", "track-and-stop", "uniform")
LEVELS = (3.0, 14.0, 100.0, 1000.0)


def mean_draws(runs: int, workers: int) -> str:
    """A row per published number."""
    rows = []
    for policy, published in PUBLISHED.items():
        shared: Any = {"runs": runs, "seed": 1, "workers": workers}
        found = simulate(DRAWS, BestArm(), delta=0.1, policy=policy, threshold="customary", tracking="d", **shared)
        interval = "-" if found.cost_ci is None else write_interval(*found.cost_ci, 4)
        off = f"{found.mean_samples / published - 1:+.1%}"
        rows.append([policy, str(published), f"{found.mean_samples:.0f}", interval, off, f"{found.error_rate:.4f}"])
    return table(["policy", "published", "mean draws", "95 %", "off by", "errors"], rows, left=(0,))


def mean_proportions(found: Summary) -> Array:
    """The mean over runs of each arm's share of the pulls."""
    counts = np.array([record.counts for record in found.run_records], dtype=float)
    return np.asarray((counts / counts.sum(axis=1, keepdims=True)).mean(axis=0))


def show_shares(shares: Array) -> str:
    """Shares as a row has them."""
    return f"({', '.join(f'{share:.3f}' for share in shares)})"


def proportions(runs: int, workers: int) -> str:
    """A row per published proportion, from runs to log(1/delta) = 1000."""
    rows = []
    for policy, published in PROPORTIONS.items():
        found = simulate(COSTS, BestArm(), log_inv_delta=1000.0, runs=runs, seed=1, workers=workers, policy=policy)
        rows.append([policy, show_shares(np.array(published)), show_shares(mean_proportions(found))])
    return table(["policy", "published near", "found"], rows, left=(0, 1, 2))


def limit_of(policy: str) -> float:
    """Cost over T* log(1/delta) as delta tends to 0: ``c . u / min over pairs of f_e(u)`` at what the pulls tend to."""
    blind = BanditModel(COSTS.family, COSTS.means, [1.0] * len(COSTS.means))
    optimum = characteristic_time(COSTS, BestArm())
    shares = {
        "uniform": np.full(len(COSTS.means), 1.0 / len(COSTS.means)),
        "track-and-stop": characteristic_time(blind, BestArm()).sampling_proportions,
    }.get(policy, optimum.sampling_proportions)
    evidence = float(np.min(statement_terms(blind, BestArm().pairs(COSTS.means), shares)))
    return float(np.dot(COSTS.costs, shares)) / evidence / optimum.value


def costs(runs: int, workers: int) -> str:
    """Cost over the lower bound of every policy at every level, and the paired difference to the first."""
    rows = [[policy, f"{limit_of(policy):.4f}"] for policy in COMPARED]
    for level in LEVELS:
        size = max(2, runs // 3 if level < LEVELS[-1] else runs // 30)
        found = compare_policies(COSTS, BestArm(), COMPARED, log_inv_delta=level, runs=size, seed=1, workers=workers)
        columns = (found[name].tolist() for name in ("ratio", "difference", "difference_low", "difference_high"))
        for row, ratio, difference, low, high in zip(rows, *columns, strict=True):
            row.append(f"{ratio:.3f}  {difference:+.1f} {write_interval(low, high, 3)}")
    headers = ["policy", "tends to", *(f"over the bound at log(1/delta) = {level:g}, difference" for level in LEVELS)]
    return table(headers, rows, left=(0,))


def main() -> int:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description="Policies against what was published of them.")
    parser.add_argument("--runs", type=int, default=3000, help="of the first table (3000), 1/3 or 1/30 of it in others")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    runs, workers = arguments.runs, arguments.workers
    print(mean_draws(runs, workers), proportions(max(2, runs // 30), workers), sep="\n\n", flush=True)
    print(f"\n{costs(runs, workers)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
