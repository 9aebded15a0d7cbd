"""What the default costs, and where it goes: python analysis/default_costs.py [--losses] [--runs N] [--workers N]

Mean cost over the bound T* kl(delta, 1 - delta) at delta = 0.05 on twelve models, of the default before 0.4.0,
C-tracking, and of the present one, on the same draws, with the ratio of the two.

With --losses, for 2 to 50 arms, the same of policies that each know or do one thing more or less, targets being lazy:

    threshold     the e-process where every mean is known and every pull at its share, by computation: the floor
    oracle        pulls follow the best shares of the true model
    unforced      the default without forced exploration, which may starve an arm: nothing is proven of it
    halved        with half the forced exploration, which the proof allows as well
    default       the default
    C-tracking    the sum of all targets in place of the present one
    first pulls   what one pull of every arm costs

and on models with free arms the cost by the share of the pulls that they get.
"""

import argparse
import sys
from collections.abc import Iterable
from math import nan, sqrt
from typing import Any

import numpy as np
from threshold_study import from_catalogue, pose

from caet_opt import POLICIES
from caet_opt.bandits.modelfile import ModelFile
from caet_opt.common.numbers import table
from caet_opt.exploring.policies.caet import CostAware
from caet_opt.exploring.settings import Parameters
from caet_opt.kernels.aiming import most_behind
from caet_opt.kernels.ledger import COUNT, ROUND, TARGET
from caet_opt.simulating.pool import cores
from caet_opt.simulating.runs import Experiment, run_many
from caet_opt.simulating.summary import Summary, summarise

DELTA = 0.05

#: The default before 0.4.0.
BEFORE = {"tracking": "c"}

#: Shares of the free arms.
SHARES = (0.5, 0.75, 0.9, 0.95, 0.98)


class Unforced(CostAware):
    """The default without forced exploration."""

    name = "unforced"

    @staticmethod
    def choose(view: Any) -> int:
        """The arm that lags most behind the present target."""
        return most_behind(view.arms, TARGET, view.clock[ROUND])


class Halved(CostAware):
    """The default with half the forced exploration."""

    name = "halved"

    @staticmethod
    def choose(view: Any) -> int:
        """An arm with fewer than ``(sqrt(t) - K) / 2`` pulls, else the one that lags most behind the present target."""
        least = most_behind(view.arms, TARGET, 0.0)
        if view.arms[COUNT, least] < 0.5 * (sqrt(view.clock[ROUND]) - view.arms.shape[1]):
            return least
        return most_behind(view.arms, TARGET, view.clock[ROUND])


def twelve_models() -> dict[str, ModelFile]:
    """Two to twenty arms, with and without free ones."""
    return {
        "bernoulli best of 5": pose("bernoulli", [0.3, 0.21, 0.2, 0.19, 0.18], [1] * 5, "best-arm"),
        "gaussian best of 20": gaussian_best(20, 0.5),
        "bernoulli ranking of 4": pose("bernoulli", [0.8, 0.6, 0.5, 0.25], [2, 1, 1, 3], "ranking"),
        **from_catalogue("exponential-ranking", "paper-instance-1"),
        "poisson best of 3, gaps": pose("poisson", [7, 5, 4], "gaps", "best-arm"),
        **from_catalogue("bernoulli-five-arms", "bernoulli-costs", "top-arms", "multi-bandit", "control-at-a-cost"),
        **from_catalogue("wireless-channels"),
    }


def gaussian_best(arms: int, rival: float) -> ModelFile:
    """The best of some Gaussian arms at unit costs: mean 1, then a rival, then means evenly down to 0."""
    means = [1.0, *np.linspace(rival, 0, arms - 1).round(4).tolist()]
    return pose("gaussian", means, [1] * arms, "best-arm")


def ladder() -> dict[str, ModelFile]:
    """2 to 50 arms with a rival at half the mean of the best, and 10 and 20 arms at even distances."""
    found = {f"{arms} arms": gaussian_best(arms, 0.5) for arms in (2, 3, 5, 10, 20, 50)}
    return found | {f"{arms} arms, even": gaussian_best(arms, 1 - 1 / (arms - 1)) for arms in (10, 20)}


def measure(model: ModelFile, runs: int, workers: int, **settings: Any) -> Summary:
    """Runs with some settings, all on the same draws."""
    experiment = Experiment(model.model, model.task, Parameters(delta=DELTA, **settings))
    return summarise(experiment, run_many(experiment, runs, 1, workers))


def over_bound(summary: Summary) -> float:
    """Mean cost over the bound."""
    return float(summary.mean_cost / (summary.experiment.lower_bound or nan))


def ratio_of(one: Summary, other: Summary) -> tuple[float, float]:
    """Ratio of two mean costs on the same draws, and the half width of its 95 % interval by the delta method."""
    x, y = (summary.records["cost"].to_numpy() for summary in (one, other))
    ratio = float(np.mean(x) / np.mean(y))
    return ratio, float(1.96 * np.std(x - ratio * y, ddof=1) / np.mean(y) / sqrt(x.size))


def show_defaults(runs: int, workers: int) -> None:
    """The default before and now."""
    rows = []
    for name, model in twelve_models().items():
        before, now = measure(model, runs, workers, **BEFORE), measure(model, runs, workers)
        ratio, half = ratio_of(now, before)
        free = sum(cost == 0 for cost in model.model.costs)
        errors = [f"{100 * summary.error_rate:.1f} %" for summary in (before, now)]
        figures = f"{over_bound(before):.2f}", f"{over_bound(now):.2f}", f"{ratio:.3f} +- {half:.3f}"
        rows.append([name, str(len(model.model.means)), str(free), *figures, *errors])
        print(f"{len(rows)} of 12", file=sys.stderr, flush=True)
    headers = ["model", "K", "free", "before", "now", "now / before", "errors before", "now"]
    print(table(headers, rows))


def show_losses(runs: int, workers: int) -> None:
    """Where the cost goes."""
    rows = []
    for name, model in ladder().items():
        rules: Iterable[dict[str, Any]] = (
            *({"policy": policy} for policy in ("oracle", "unforced", "halved", "caet")),
            {"tracking": "c"},
        )
        found = [measure(model, runs, workers, solve="lazy", **rule) for rule in rules]
        bound = found[0].experiment.lower_bound or nan
        predicted = found[-1].predicted_cost
        assert predicted is not None
        figures = [predicted / bound, *map(over_bound, found), sum(model.model.costs) / bound]
        rows.append([name, *(f"{figure:.2f}" for figure in figures)])
        print(f"{len(rows)} of {len(ladder())}", file=sys.stderr, flush=True)
    print(table(["arms", "threshold", "oracle", "unforced", "halved", "default", "C-tracking", "first pulls"], rows))
    rows = []
    free = from_catalogue("paper-instance-1", "regret-poisson", "ranking-free-arms", "regret-gamma", "clinical-trial")
    for name, model in free.items():
        found = [measure(model, runs, workers, solve="lazy", zero_cost_share=share) for share in SHARES]
        found.append(measure(model, runs, workers, solve="lazy"))
        rows.append([name, *(f"{over_bound(one):.2f}" for one in found)])
    print(table(["free arms get", *(f"{share:g}" for share in SHARES), "default"], rows))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What the default costs, and where it goes.")
    parser.add_argument("--losses", action="store_true", help="where the cost goes, in place of the twelve models")
    parser.add_argument("--runs", type=int, default=1000, help="per model and rule (1000)")
    parser.add_argument("--workers", type=int, default=cores(), help="processes (one per core)")
    arguments = parser.parse_args()
    for policy in (Unforced, Halved):
        POLICIES[policy.name] = policy
    (show_losses if arguments.losses else show_defaults)(arguments.runs, arguments.workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
