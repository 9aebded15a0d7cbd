"""How near the predicted cost is: python analysis/prediction_study.py [--runs N] [--workers N]

The mean cost of CAET with default settings over what `caet_opt.exploring.prediction` predicts, with C-tracking (c) and
with D-tracking (d), on models of every kind at delta = 0.05 and 0.01, each with its 95 % interval. The last lines are
the ranges that are printed beside every prediction, `MEASURED`; status 1 where what is found lies outside of them.

Why they differ: the prediction follows means that are known, on which every pair's evidence grows evenly. Evidence of
runs fluctuates by about ``sqrt(2 beta)``. A pair by itself crosses the threshold about when its mean does (0.9 to 1.05
times: two arms, and one pair of paper-instance-1). Of several that bind, or nearly do, the one that chance favours
least decides, and runs cost more. The column ``oracle`` is of a policy that knows the true target, so what
exceeds one there is nothing that has to be learnt; CAET costs less than it where pulls can go to the pair that lags,
and D-tracking sends them there sooner. Free arms and K = 6 matter by their pairs: in a ranking with free arms each
costly arm has a pair of its own that binds, and its pulls help no other.
"""

import argparse
import sys
from itertools import product
from math import ceil, floor

from threshold_study import from_catalogue, pose

from caet_opt.bandits.modelfile import ModelFile
from caet_opt.common.numbers import table
from caet_opt.exploring.prediction import MEASURED, rule_of, say_measured
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.pool import cores
from caet_opt.simulating.runs import Experiment, run_many
from caet_opt.simulating.summary import Summary, summarise

DELTAS = (0.05, 0.01)

#: Policy and tracking of the columns.
RULES = (("caet", "c"), ("caet", "d"), ("oracle", "d"))


def study_models() -> dict[str, ModelFile]:
    """Models of the catalogue, and ones with six arms, some of them free."""
    return {
        **from_catalogue("gaussian-two-arms", "paper-instance-1", "gaussian-variances", "bernoulli-costs"),
        **from_catalogue("exponential-ranking", "gamma-shape", "top-arms", "control-at-a-cost", "regret-poisson"),
        **from_catalogue("ranking-free-arms", "judge-scores", "star-ratings", "request-latencies"),
        "paper-instance-1, one pair": pose("gaussian", [3, 4, 2], [1, 0, 2], "comparisons:0-2"),
        "exponential best": pose("exponential", [1, 1.8, 3], [2, 1, 1], "best-arm"),
        "exponential best of 6": pose("exponential", [3, 2, 1.8, 1.5, 1.2, 1], [1, 2, 1, 1, 3, 1], "best-arm"),
        "exponential best, 3 of 6 free": pose(
            "exponential", [3, 1.8, 1.6, 1.4, 1.2, 1], [0, 2, 1, 0, 0, 1], "best-arm"
        ),
        "bernoulli best, 3 of 6 free": pose(
            "bernoulli", [0.7, 0.5, 0.45, 0.4, 0.3, 0.2], [0, 2, 1, 0, 0, 1], "best-arm"
        ),
        "gaussian ranking, 3 of 6 free": pose("gaussian", [3, 2.2, 1.5, 0.9, 0.2, -0.5], [0, 1, 0, 2, 0, 1], "ranking"),
        "exponential ranking, 3 of 6 free": pose("exponential", [9, 5, 3, 1.8, 1, 0.6], [0, 1, 0, 2, 0, 1], "ranking"),
    }


def measure(model: ModelFile, delta: float, policy: str, tracking: str, runs: int, workers: int) -> Summary:
    """Runs of a policy on a model."""
    settings = Parameters.read({"delta": delta}, {"policy": policy, "tracking": tracking})
    experiment = Experiment(model.model, model.task, settings)
    return summarise(experiment, run_many(experiment, runs, 1, workers))


def show(summary: Summary, predicted: float) -> str:
    """The mean over the prediction, and its interval."""
    low, high = summary.cost_ci or (float("nan"), float("nan"))
    return f"{summary.mean_cost / predicted:.2f} [{low / predicted:.2f}, {high / predicted:.2f}]"


def main() -> int:
    """Measure, print, and compare with the ranges that are printed beside predictions."""
    parser = argparse.ArgumentParser(description="Mean cost of CAET over its prediction.")
    parser.add_argument("--runs", type=int, default=400, help="per model, delta and rule (400)")
    parser.add_argument("--workers", type=int, default=cores(), help="processes (one per core)")
    arguments = parser.parse_args()
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {rule: [] for rule in MEASURED}
    for (name, model), delta in product(study_models().items(), DELTAS):
        found = [measure(model, delta, *rule, arguments.runs, arguments.workers) for rule in RULES]
        predicted = found[0].predicted_cost
        assert predicted is not None
        for summary in found:
            ratios[rule_of(summary.experiment.parameters)].append(summary.mean_cost / predicted)
        binding = len(found[0].experiment.optimum.binding_statements)
        rows.append([name, f"{delta:g}", str(binding), f"{predicted:.4g}", *(show(one, predicted) for one in found)])
        print(f"{len(rows)} of {len(DELTAS) * len(study_models())}", file=sys.stderr, flush=True)
    print(table(["model", "delta", "binding pairs", "predicted", "C-tracking", "D-tracking", "oracle"], rows))
    inside = True
    for rule, values in ratios.items():
        low, high = floor(100 * min(values)) / 100, ceil(100 * max(values)) / 100
        least, most = MEASURED[rule]
        inside &= least <= low and high <= most
        print(f"{rule}: mean cost {low:.2f} to {high:.2f} times the prediction; {say_measured(rule)} is printed")
    return 0 if inside else 1


if __name__ == "__main__":
    raise SystemExit(main())
