"""Errors where means are large: python analysis/large_means.py [--runs N] [--rounds N] [--policy P]

Two Gaussian arms of variance 1 whose means are 10^6 / 3 to 10^14 / 3 and differ by little, costs 1 and 5, a look at
every round, up to a million rounds: how many runs stopped, and how many of all were wrong, beside delta. A row says so
where such means are refused: rounding hides their difference (`caet_opt.kernels.e_values.told_apart`).
"""

import argparse
import sys
from typing import Any

import numpy as np

from caet_opt import BanditModel, InputError, simulate
from caet_opt.common.numbers import table

DELTA = 0.01

#: Of the means; the first takes half a million rounds to be found.
DIFFERENCES = (0.02, 0.05, 0.25)

#: Means are a third of these powers of ten: sums of numbers with few digits would be exact.
POWERS = range(6, 15)


def count(mean: float, difference: float, runs: int, rounds: int, policy: str) -> list[str]:
    """A row: mean and difference, how many runs stopped, mean rounds, how many were wrong, and their share."""
    model = BanditModel("gaussian", [mean + difference, mean], costs=[1, 5])
    fields = [f"{mean:.3g}", f"{difference:g}"]
    try:
        solve: dict[str, Any] = {"solve": "lazy"} if policy in ("caet", "ctas", "track-and-stop") else {}
        found = simulate(model, "best-arm", policy=policy, delta=DELTA, runs=runs, seed=1, max_rounds=rounds, **solve)
    except InputError as error:
        print(f"{mean:.3g}, {difference:g}: {error}", file=sys.stderr)
        return [*fields, "refused", "", "", ""]
    records = found.records
    wrong = int(np.sum(records["correct"].eq(False)))
    mean_rounds = f"{records['rounds'].mean():,.0f}"
    return [*fields, f"{int(records['stopped'].sum())} of {runs}", mean_rounds, str(wrong), f"{wrong / runs:.3f}"]


def main() -> int:
    """Print the table; status 1 where errors are significantly above delta."""
    parser = argparse.ArgumentParser(description="Errors where means are large.")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--policy", default="equal-spending")
    given = parser.parse_args()
    rows = [
        count(10.0**power / 3.0, difference, given.runs, given.rounds, given.policy)
        for difference in DIFFERENCES
        for power in POWERS
    ]
    print(f"policy {given.policy}, delta = {DELTA:g}, up to {given.rounds:,} rounds")
    print(table(["mean", "difference", "stopped", "rounds", "wrong", "error rate"], rows, left=(2,)))
    worst = max((int(row[4]) for row in rows if row[4]), default=0)
    return int(worst > DELTA * given.runs + 4.0 * np.sqrt(DELTA * given.runs))


if __name__ == "__main__":
    sys.exit(main())
