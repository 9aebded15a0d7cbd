"""rho of the e-process and the least share of free arms: python analysis/threshold_study.py [--quick] [--runs N]

Two questions, each by simulation on models of every family with delta = 0.2, 0.05 and 0.001:

- which floor ``zero_cost_share = auto`` should have (`LEAST_SHARE`), on the models with a free arm;
- what the prior of each mean should be worth (`DEFAULT_RHO` of the e-process), with the floor that was chosen, since a
  starved free arm makes long runs, which favour a large rho.

A row is a model at a delta, and a cell the mean cost of a value over that of the best value of its row. The choice is
the value of the least geometric mean: what is paid more than need be, on average over models and deltas. The largest
cell is printed too; by it 16 and 8 are close, and 16 pays more than 1.6 times the customary cost on one model.
Every value has the same seeds. With rho alone changed the same rewards are seen in the same order until one stops,
so the ratios of the second table are far more precise than the costs.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.modelfile import ModelFile, read_model
from caet_opt.bandits.tasks import parse_task
from caet_opt.common.numbers import table
from caet_opt.exploring.settings import LEAST_SHARE, Parameters
from caet_opt.exploring.stopping.e_process import DEFAULT_RHO
from caet_opt.simulating.runs import Experiment, run_many
from caet_opt.simulating.summary import summarise

#: The catalogue of models.
MODELS = Path(__file__).parent.parent / "models"

DELTAS = (0.2, 0.05, 0.001)
RHOS = (2.0, 4.0, 8.0, 16.0, 32.0)

#: Floors of the share of free arms; with 0 it is the paper's.
FLOORS = (0.0, 0.5, 0.6, 0.75, 0.9, 0.95)

#: The model on which a run takes longest, and the part of the runs that are made on it.
SLOWEST, SLOWEST_PART = "three-arms-second-branch", 4


def pose(family: str, means: Sequence[float], costs: Sequence[float] | str, task: str) -> ModelFile:
    """A model that is not in the catalogue."""
    return ModelFile(BanditModel(family, means, costs), parse_task(task))


def from_catalogue(*names: str) -> dict[str, ModelFile]:
    """Models of the catalogue by their names."""
    return {name: read_model(MODELS / f"{name}.toml") for name in names}


def models_without_free_arm() -> dict[str, ModelFile]:
    """Every arm costs something."""
    return {
        "gaussian top 2": pose("gaussian", [1.2, 1, 0.5, 0.3, 0], [1, 2, 1, 0.5, 1], "top-arms:2"),
        "bernoulli ranking": pose("bernoulli", [0.7, 0.55, 0.35, 0.2], [1, 3, 1, 2], "ranking"),
        "exponential best": pose("exponential", [1, 1.8, 3], [2, 1, 1], "best-arm"),
        **from_catalogue("gaussian-two-arms", "gaussian-variances", "bernoulli-two-arms", "control-at-a-cost"),
        **from_catalogue("exponential-ranking", "gamma-shape", "geometric"),
    }


def models_with_free_arm() -> dict[str, ModelFile]:
    """The best arm, a control or several arms cost nothing."""
    return {
        **from_catalogue("paper-instance-1", "regret-poisson", "regret-gamma", "ranking-free-arms"),
        **from_catalogue("three-arms-second-branch"),
        "bernoulli control": pose("bernoulli", [0.3, 0.6, 0.5, 0.15], [0, 2, 1, 1], "control:0"),
        "exponential regret": pose("exponential", [3, 2, 1], "gaps", "best-arm"),
        "geometric control": pose("geometric", [1.5, 3, 0.7], [0, 1, 2], "control:0"),
    }


@cache
def mean_cost(model: ModelFile, parameters: Parameters, runs: int, seed: int) -> float:
    """Mean cost at stopping, simulated once."""
    experiment = Experiment(model.model, model.task, parameters)
    return summarise(experiment, run_many(experiment, runs, seed)).mean_cost


def with_floor(delta: float, floor: float) -> float | str:
    """The setting that gives free arms the paper's share, but at least the floor."""
    paper = Parameters(delta=delta, zero_cost_share="paper").free_share
    return floor if floor > paper else "paper"


def regrets(
    models: Mapping[str, ModelFile], settings: Mapping[float, Mapping[float, Mapping[str, Any]]], runs: int, seed: int
) -> Iterator[tuple[str, float, float, list[float]]]:
    """Model, delta, least mean cost, and the mean cost of every value over it; settings by delta and value."""
    for name, model in models.items():
        for delta, values in settings.items():
            parameters = [Parameters(delta=delta, **setting) for setting in values.values()]
            costs = [
                mean_cost(model, each, runs // SLOWEST_PART if name == SLOWEST else runs, seed) for each in parameters
            ]
            yield name, delta, min(costs), [cost / min(costs) for cost in costs]


def choose(rows: Sequence[Sequence[float]]) -> tuple[int, list[float], list[float]]:
    """The column that the rule of this study chooses, the geometric means and the largest cells of all columns."""
    columns = list(zip(*rows, strict=True))
    means = [exp(sum(map(log, column)) / len(column)) for column in columns]
    worst = [max(column) for column in columns]
    return min(range(len(columns)), key=lambda column: means[column]), means, worst


def answer(
    title: str,
    models: Mapping[str, ModelFile],
    settings: Mapping[float, Mapping[float, Mapping[str, Any]]],
    runs: int,
    seed: int,
) -> float:
    """Print the table of a question; returns the value that is chosen."""
    values = list(next(iter(settings.values())))
    found = list(regrets(models, settings, runs, seed))
    chosen, means, worst = choose([cells for *_, cells in found])

    def line(name: str, delta: str, cost: str, cells: Sequence[float]) -> list[str]:
        return [name, delta, cost, *(f"{cell:.3f}" for cell in cells)]

    rows = [line(name, f"{delta:g}", f"{cost:.4g}", cells) for name, delta, cost, cells in found]
    rows += [line("geometric mean", "", "", means), line("worst", "", "", worst)]
    headers = ["model", "delta", "least cost", *(f"{value:g}" if value else "paper" for value in values)]
    print(
        f"{title}: mean cost over the least of the row\n\n{table(headers, rows)}\n\nchosen: {values[chosen]:g}\n",
        flush=True,
    )
    return values[chosen]


def main() -> int:
    """Print both tables with the choices, and what the library has."""
    parser = argparse.ArgumentParser(description="rho of the e-process and the least share of free arms.")
    parser.add_argument("--quick", action="store_true", help="few runs, in about a minute")
    parser.add_argument("--runs", type=int, metavar="N", help="per model, delta and value, 4 or more (120, quick 8)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    runs, free = arguments.runs or (8 if arguments.quick else 120), models_with_free_arm()
    shares = {delta: {floor: {"zero_cost_share": with_floor(delta, floor)} for floor in FLOORS} for delta in DELTAS}
    share = answer("least share of the free arms", free, shares, runs, arguments.seed)
    priors = {
        delta: {rho: {"rho": rho, "zero_cost_share": with_floor(delta, share)} for rho in RHOS} for delta in DELTAS
    }
    answer("rho", models_without_free_arm() | free, priors, runs, arguments.seed)
    print(f"the library has rho = {DEFAULT_RHO:g} and at least {LEAST_SHARE:g} for the free arms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
