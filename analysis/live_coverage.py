"""Coverage of the intervals of live experiments: python analysis/live_coverage.py [--runs N] [--looks N] [--family F]

For every family, so many simulated experiments on three arms, two of them close, or hostile, for rewards in a range: a
rare jackpot, a point, values between levels. After every outcome it is looked whether the intervals of all means
contain the means, and those of all differences the differences. An experiment counts as covered if they do at every
look; the level of the intervals is 95 %. The policy chases the closest pair (top-two), and no experiment is ended by
its stopping rule, so that there are more looks than anyone would have. Exit status 1 where fewer are covered than the
level says.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from caet_opt import BanditModel
from caet_opt.common.numbers import table
from caet_opt.exploring.explorer import Explorer
from caet_opt.live.intervals import Intervals
from caet_opt.simulating.pool import cores

#: Families with the means of three arms.
MEANS: dict[str, tuple[float, ...]] = {
    "gaussian": (0.3, 0.2, 0.0),
    "bernoulli": (0.6, 0.55, 0.2),
    "poisson": (2.0, 1.8, 0.5),
    "exponential": (1.3, 1.0, 0.5),
    "gamma:2.5": (1.3, 1.0, 0.5),
    "geometric": (1.5, 1.2, 0.4),
}

#: Ranges with the values of three arms and their probabilities: scores; a jackpot of 1, a point, two values, all of
#: mean 0.1; latencies cut at the limit.
RANGES: dict[str, tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]] = {
    "bounded:0,1,4": (
        (0, 0.25, 0.5, 0.75, 1),
        ((0.01, 0.02, 0.12, 0.55, 0.3), (0.02, 0.04, 0.18, 0.52, 0.24), (0.2, 0.2, 0.2, 0.2, 0.2)),
    ),
    "bounded:0,1": ((0, 0.08, 0.1, 0.28, 1), ((0.9, 0, 0, 0, 0.1), (0, 0, 1, 0, 0), (0, 0.9, 0, 0.1, 0))),
    "bounded:0,30": (
        (0.3, 1.1, 2.7, 7.9, 30),
        ((0.3, 0.3, 0.25, 0.1, 0.05), (0.35, 0.3, 0.2, 0.1, 0.05), (0, 0.2, 0.8, 0, 0)),
    ),
}

MODELS = {family: BanditModel(family, means, costs=[1, 1, 1]) for family, means in MEANS.items()} | {
    family: BanditModel(family, levels=levels, probabilities=rows, costs=[1, 1, 1])
    for family, (levels, rows) in RANGES.items()
}

PAIRS = ((0, 1), (0, 2), (1, 2))
LEVEL, RUNS, LOOKS = 0.95, 2000, 100


def is_covered(family: str, looks: int, run: int) -> tuple[bool, bool]:
    """Whether all means, and all differences, of one experiment are in their intervals at every look."""
    model, rng = MODELS[family], np.random.default_rng([run, 17])
    means = model.means
    explorer = Explorer.start("best-arm", family, arms=3, costs=[1, 1, 1], delta=0.05, policy="top-two", seed=run)
    missed_mean = missed_difference = False
    for _ in range(looks):
        arm = explorer.next_arm()
        explorer.observe(arm, float(model.sample(rng, arm)))
        intervals = Intervals(explorer.setup, explorer.state, LEVEL)
        missed_mean = missed_mean or intervals.excludes_mean(arm, means[arm])
        missed_difference = missed_difference or any(
            intervals.excludes_difference(a, b, means[a] - means[b]) for a, b in PAIRS if arm in (a, b)
        )
    return not missed_mean, not missed_difference


def measure(family: str, runs: int, looks: int, workers: int) -> tuple[float, float]:
    """The shares of experiments in which all means, and all differences, were covered at every look."""
    with ProcessPoolExecutor(workers) as pool:
        found = list(pool.map(partial(is_covered, family, looks), range(runs), chunksize=max(1, runs // (8 * workers))))
    shares = np.mean(np.array(found), axis=0).tolist()
    return shares[0], shares[1]


def main() -> int:
    """Measure every family, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"experiments per family ({RUNS})")
    parser.add_argument("--looks", type=int, default=LOOKS, help=f"outcomes of each ({LOOKS})")
    parser.add_argument("--workers", type=int, default=cores(), help="processes (one per core)")
    parser.add_argument("--family", choices=MODELS, help="only this one")
    arguments = parser.parse_args()
    rows, worst = [], 1.0
    for family in [arguments.family] if arguments.family else MODELS:
        shares = measure(family, arguments.runs, arguments.looks, arguments.workers)
        rows.append([family, str(arguments.runs), *(f"{100 * share:.2f} %" for share in shares)])
        worst = min(worst, *shares)
    print(table(("family", "experiments", "all means, at every look", "all differences, at every look"), rows))
    return int(worst < LEVEL)


if __name__ == "__main__":
    sys.exit(main())
