"""Runs of CAET under limits: python analysis/limit_runs.py [--runs N] [--levels L,L,...] [--seed S]

For some models and limits: the share of the limited arms where runs stop, against the limit; the cost over
``T* log(1/delta)``, T* that under the limits, as delta gets small; how often a run is wrong at delta = 0.2; and rounds
per second where each round solves the cached program by CVXPY and Clarabel, exact and lazy, beside the native solver
without limits.
"""

import argparse
from math import log

import numpy as np

from caet_opt import BanditModel, simulate
from caet_opt.bandits.limits import Limit, parse_limit
from caet_opt.simulating.summary import Summary

#: Models of best-arm tasks, by name, with a limit each.
CASES = {
    "Bernoulli (.7, .5, .4), unit costs": (BanditModel("bernoulli", [0.7, 0.5, 0.4]), "pulls:leader=0.6"),
    "Gaussian (1.5, 1, .5), costs 1, .1, .01": (
        BanditModel("gaussian", [1.5, 1, 0.5], costs=[1, 0.1, 0.01]),
        "cost:0<=0.5",
    ),
    "Bernoulli placebo .3, .5, .6, costs 1, 2, 4": (
        BanditModel("bernoulli", [0.3, 0.5, 0.6], costs=[1, 2, 4]),
        "pulls:0>=0.25",
    ),
}


def shares_of(summary: Summary, limit: Limit, model: BanditModel) -> np.ndarray:
    """The share of the limited arms in each run, in what the limit is about."""
    arms = [int(np.argmax(model.means))] if limit.arms is None else list(limit.arms)
    counts = np.array([run.counts for run in summary.run_records], dtype=float)
    amounts = counts * np.array(model.costs) if limit.kind == "cost" else counts
    return np.asarray(np.sum(amounts[:, arms], axis=1) / np.sum(amounts, axis=1))


def main() -> None:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description="Runs of CAET under limits.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--levels", default="3,30,300", help="log(1/delta)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name, (model, text) in CASES.items():
        limit = parse_limit(text)
        asked = {"limits": [text], "seed": arguments.seed, "solve": "lazy:0.5"}
        print(f"\n{name}, best-arm, {text}")
        for level in map(float, arguments.levels.split(",")):
            found = simulate(model, "best-arm", log_inv_delta=level, runs=arguments.runs, **asked)
            shares, paid = shares_of(found, limit, model), found.mean_cost / (found.characteristic_time * level)
            print(
                f"  log(1/delta) {level:g}: share at stopping {np.mean(shares):.4f} "
                f"({np.min(shares):.4f} to {np.max(shares):.4f}), cost over T* log(1/delta) {paid:.3f}, "
                f"{found.mean_samples:.0f} rounds, {found.mean_solves:.0f} solves",
                flush=True,
            )
        wrong = simulate(model, "best-arm", delta=0.2, runs=5 * arguments.runs, **asked)
        print(f"  delta 0.2: {wrong.error_text()}", flush=True)
    model, text = CASES["Bernoulli (.7, .5, .4), unit costs"]
    print("\nrounds per second, Bernoulli (.7, .5, .4), delta 0.01")
    for words, settings in (
        (f"{text}, exact, CVXPY and Clarabel", {"limits": [text]}),
        (f"{text}, lazy, CVXPY and Clarabel", {"limits": [text], "solve": "lazy"}),
        ("no limits, exact, CVXPY and Clarabel", {"solver": "clarabel"}),
        ("no limits, exact, native", {}),
    ):
        simulate(model, "best-arm", delta=0.1, runs=1, seed=0, **settings)
        found = simulate(model, "best-arm", log_inv_delta=-log(0.01), runs=8, seed=arguments.seed, **settings)
        print(f"  {words:<48}{found.rounds_per_second:10.0f}", flush=True)


if __name__ == "__main__":
    main()
