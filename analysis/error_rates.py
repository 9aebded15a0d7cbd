"""Error rates of every proven threshold: python analysis/error_rates.py [--runs N] [--seed S] [--workers N]

At delta = 0.1, on an instance of each family and of each task. A threshold is proven when it says so for the family;
the deviational one takes its certified constant. Exit status 1 when a rate is not consistent with delta.
"""

import argparse
import os
import sys
from collections.abc import Iterator

from caet_opt.bandits.families import parse_family
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Custom, Task, parse_task
from caet_opt.errors import SolverError
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.simulating.runs import Experiment, run_many
from caet_opt.simulating.summary import summarise
from caet_opt.solving.numbers import table

DELTA = 0.1

#: An instance of each family, and of each task.
INSTANCES: tuple[tuple[str, list[float], list[float], Task], ...] = (
    ("gaussian", [1.0, 0.4, 0.0], [1.0, 2.0, 1.0], parse_task("best-arm")),
    ("gaussian:0.5,1,2", [1.0, 0.0, -1.0], [1.0, 0.0, 1.0], parse_task("ranking")),
    ("bernoulli", [0.8, 0.5, 0.2], [1.0, 1.0, 1.0], parse_task("best-arm")),
    ("poisson", [3.0, 1.5, 0.5], [1.0, 2.0, 0.0], parse_task("control:2")),
    ("exponential", [4.0, 1.5, 0.5], [1.0, 1.0, 1.0], parse_task("top-arms:1")),
    ("gamma:2", [3.0, 1.5, 0.7, 0.3], [1.0, 1.0, 1.0, 1.0], parse_task("groups:0,1/2,3")),
    ("geometric", [4.0, 1.0, 0.2], [1.0, 0.5, 1.0], parse_task("comparisons:0-1,1-2")),
    ("gaussian", [1.0, 0.0, -0.5], [1.0, 1.0, 1.0], Custom([[(0, 1)], [(1, 0)]])),
)


def experiments() -> Iterator[Experiment]:
    """Every instance with every threshold that is proven for its family."""
    for family, means, costs, task in INSTANCES:
        model = BanditModel(parse_family(family), means, costs)
        for name in THRESHOLDS:
            constant = "certified" if name == "deviational" else None
            parameters = Parameters(delta=DELTA, threshold=name, constant=constant)
            experiment = Experiment(model, task, parameters)
            if experiment.rule.guarantees(model.family):
                yield experiment


def main() -> int:
    """Run every experiment and print the table."""
    parser = argparse.ArgumentParser(description="Error rates of the proven thresholds.")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    rows, consistent = [], True
    for experiment in experiments():
        try:
            found = summarise(experiment, run_many(experiment, arguments.runs, arguments.seed, arguments.workers))
        except SolverError as error:
            rows.append(
                [
                    str(experiment.model.family),
                    str(experiment.task),
                    experiment.rule.name,
                    f"failed: {error}",
                ]
            )
            consistent = False
            continue
        consistent &= found.consistent
        low, high = found.error_ci
        rows.append(
            [
                str(experiment.model.family),
                str(experiment.task),
                experiment.rule.name,
                str(found.runs),
                str(found.unfinished),
                f"{found.error_rate:.4f}",
                f"[{low:.4f}, {high:.4f}]",
                f"{found.mean_samples:.0f}",
                "yes" if found.consistent else "NO",
            ]
        )
    headers = ["family", "task", "threshold", "runs", "unfinished", "error rate", "95 %", "samples", "consistent"]
    print(table(headers, rows, left=(0, 1, 2)))
    return 0 if consistent else 1


if __name__ == "__main__":
    sys.exit(main())
