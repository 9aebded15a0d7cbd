"""Whether intervals of mean costs hold: python analysis/interval_coverage.py [--pool N] [--samples N] [--workers N]

For each case a pool of runs is simulated once, whose mean is taken for the truth. Then n of its runs are drawn, with
replacement, again and again, and it is counted how often the 95 % interval of n runs contains that mean: Student's, and
the one of `caet_opt.simulating.mean_intervals`, with its mean width over that of Student's, and how often the
mean is at least what `mean_at_least` says. Of fewer than 10 runs there is an exact bound only.

The last cases have rare runs that decide the mean: a racing policy that has dropped the best of three arms has to tell
two close ones apart. No interval holds there, as none of n runs shows them, so that `simulate` prints none for policies
that may do this (in brackets: what the interval would hold). The bound does. Then the same for runs that are cut off,
against the mean of whole runs. Status 1 where something that `simulate` prints holds in fewer than 95 % of the samples.
"""

import argparse
import sys
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit
from threshold_study import from_catalogue, pose

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.modelfile import ModelFile
from caet_opt.common.numbers import table
from caet_opt.exploring.policies import POLICIES
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.mean_intervals import CONFIDENCE, FEWEST, mean_at_least, mean_band
from caet_opt.simulating.pool import cores
from caet_opt.simulating.runs import Experiment, run_many

#: Runs of a sample, and the least share of samples in which what is printed has to hold.
SIZES, LEAST = (5, 10, 30, 100), 0.95

#: Samples for the bound, which is computed one by one.
FEW = 1000

#: Where runs are cut off in the last case: about two in three of them.
CUT = 300


class Case(NamedTuple):
    """A model, a policy and a delta."""

    model: ModelFile
    policy: str = "caet"
    delta: float = 0.05
    cut: int | None = None


def list_cases() -> dict[str, Case]:
    """Five models with CAET, racing on two of the catalogue, racing with rare runs, and runs that are cut off."""
    names = ("paper-instance-1", "gaussian-two-arms", "exponential-ranking", "top-arms", "regret-poisson")
    racing = from_catalogue("bernoulli-costs", "wireless-channels")
    close = pose("bernoulli", [0.6, 0.5, 0.49], [1, 1, 1], "best-arm")
    entries = from_catalogue(*names)
    return {
        **{name: Case(entry) for name, entry in entries.items()},
        **{f"{name}, racing": Case(entry, "chernoff-racing") for name, entry in racing.items()},
        "two close arms": Case(close, "caet", 0.2),
        "two close arms, racing": Case(close, "chernoff-racing", 0.2),
        "paper-instance-1, cut off": Case(entries["paper-instance-1"], cut=CUT),
    }


def simulate_costs(case: Case, runs: int, workers: int, most: int) -> Array:
    """The costs of so many runs of a case."""
    given = {"policy": case.policy, "solve": "lazy", "max_rounds": most}
    experiment = Experiment(case.model.model, case.model.task, Parameters.read({"delta": case.delta}, given))
    return np.array([record.cost for record in run_many(experiment, runs, 1, workers)])


def student(samples: Array) -> tuple[Array, Array]:
    """Student's 95 % interval for the mean of every column."""
    runs = len(samples)
    half = stdtrit(runs - 1, 0.5 * (1.0 + CONFIDENCE)) * np.std(samples, axis=0, ddof=1) / runs**0.5
    return samples.mean(axis=0) - half, samples.mean(axis=0) + half


def cover(band: tuple[Array, Array], truth: float) -> float:
    """The share of intervals that contain the truth."""
    return float(np.mean((band[0] <= truth) & (truth <= band[1])))


def measure(name: str, case: Case, costs: Array, truth: float, samples: int) -> tuple[list[list[str]], float]:
    """A row per size of sample, and the least share in which something that is printed holds."""
    rng, rows, worst = np.random.default_rng(1), [], 1.0
    for size in SIZES:
        drawn = costs[rng.integers(len(costs), size=(size, samples))]
        old, new = student(drawn), mean_band(drawn)
        share, bound = cover(new, truth), float(np.mean([mean_at_least(one) <= truth for one in drawn.T[:FEW]]))
        printed = size >= FEWEST and case.cut is None and not POLICIES[case.policy].may_starve
        worst = min(worst, bound, share if printed else 1.0)
        cell = "none" if size < FEWEST else f"{share:.1%}" if printed else f"({share:.1%})"
        width = "-" if size < FEWEST else f"{np.mean(new[1] - new[0]) / np.mean(old[1] - old[0]):.2f}"
        rows.append([name, f"{truth:.5g}", str(size), f"{cover(old, truth):.1%}", cell, width, f"{bound:.1%}"])
    return rows, worst


def main() -> int:
    """Simulate, draw, print, and return the exit status."""
    parser = argparse.ArgumentParser(description="Coverage of the intervals of mean costs.")
    parser.add_argument("--pool", type=int, default=5000, help="runs of each case (5000)")
    parser.add_argument("--samples", type=int, default=20_000, help="samples of each size (20000)")
    parser.add_argument("--workers", type=int, default=cores(), help="processes (one per core)")
    arguments = parser.parse_args()
    rows, worst = [], 1.0
    for name, case in list_cases().items():
        whole = simulate_costs(case, arguments.pool, arguments.workers, 10**5)
        costs = whole if case.cut is None else simulate_costs(case, arguments.pool, arguments.workers, case.cut)
        found, least = measure(name, case, costs, float(whole.mean()), arguments.samples)
        rows += found
        worst = min(worst, least)
        print(f"{name}: {len(whole)} runs", file=sys.stderr, flush=True)
    print(table(["case", "mean", "runs", "Student", "interval", "its width", "at least"], rows))
    print(f"what is printed holds in {worst:.1%} of the samples or more; {LEAST:.0%} are asked for")
    return 0 if worst >= LEAST else 1


if __name__ == "__main__":
    raise SystemExit(main())
