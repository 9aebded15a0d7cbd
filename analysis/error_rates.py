"""Error rates of every proven threshold: python analysis/error_rates.py [--hard] [--runs N] [--seed S] [--workers N]

At delta = 0.1, on an instance of each family and of each task. A threshold is proven when it says so for the family;
the deviational one takes its certified constant. Exit status 1 when a rate is not consistent with delta.

With ``--hard`` where errors are likeliest: two arms whose means are a thousandth of a standard deviation apart, pulled
in turn, which is what CAET tends to on them, at delta = 0.3 and 0.5, for every family, with the customary threshold
beside the proven ones. The rounds' own test looks at every round whether to stop, up to `MOST_ROUNDS`; a run
that has not stopped by then is no error. All thresholds and deltas see the same rewards. ``used`` is the error rate
over delta, ``p-value`` that of the exact binomial test against more errors than delta allows.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from caet_opt.bandits.families import parse_family
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import BestArm, Custom, Task, parse_task
from caet_opt.common.numbers import table, write_interval
from caet_opt.errors import SolverError
from caet_opt.exploring.compiling import compiled_shared
from caet_opt.exploring.explorer import Caet
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.kernels.compile import compile_functions
from caet_opt.kernels.ledger import ARM_ROWS, COUNT, MEAN, REWARD, ROUND, View, short_pair, weigh_pairs
from caet_opt.kernels.records import COLUMN_ROWS
from caet_opt.simulating.runs import Experiment, run_many
from caet_opt.simulating.summary import SIGNIFICANCE, error_interval, summarise, tail_probability

DELTA = 0.1

#: Families with two nearly tied means, the levels at which they are looked at, and the rounds of a run.
HARD: tuple[tuple[str, list[float]], ...] = (
    ("gaussian", [0.001, 0.0]),
    ("gaussian:0.5,2", [0.001, 0.0]),
    ("bernoulli", [0.5005, 0.5]),
    ("poisson", [2.0014, 2.0]),
    ("exponential", [1.001, 1.0]),
    ("gamma:2.5", [1.0006, 1.0]),
    ("geometric", [1.0014, 1.0]),
)
HARD_DELTAS, MOST_ROUNDS = (0.3, 0.5), 4000

#: Runs whose rewards are in memory at a time.
CHUNK = 500

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


def cross(ahead: View, behind: View, first: Array, second: Array, ends: Integers) -> None:
    """Put the signed round at which each run stops into ``ends``: minus for arm 1, zero where it does not stop.

    Of the two views of the same arms one has the pair of arm 0 before arm 1, the other the reverse; a row of ``first``
    and ``second`` has the rewards of a run.
    """
    state = ahead.arms
    for run in range(first.shape[0]):
        state[:] = 0.0
        ends[run] = 0
        for t in range(2 * first.shape[1]):
            arm = t % 2
            state[COUNT, arm] += 1.0
            ahead.clock[ROUND] = t + 1.0
            state[REWARD, arm] += first[run, t // 2] if arm == 0 else second[run, t // 2]
            state[MEAN, arm] = state[REWARD, arm] / state[COUNT, arm]
            if t == 0 or state[MEAN, 0] == state[MEAN, 1]:
                continue
            view = ahead if state[MEAN, 0] > state[MEAN, 1] else behind
            weigh_pairs(view, -1)
            if short_pair(view) < 0:
                ends[run] = t + 1 if state[MEAN, 0] > state[MEAN, 1] else -(t + 1)
                break


def hard_rules(model: BanditModel) -> Iterator[Caet]:
    """Every threshold that is proven for the family, and the customary one, at both deltas."""
    for delta in HARD_DELTAS:
        for name in THRESHOLDS:
            constant = "certified" if name == "deviational" else None
            parameters = Parameters(delta=delta, threshold=name, constant=constant)
            caet = Caet(BestArm(), model.family, 2, parameters, model.costs)
            if caet.threshold.guarantees(model.family) or name == "customary":
                yield caet


def draw_rewards(model: BanditModel, rng: np.random.Generator, arm: int, runs: int) -> Array:
    """Rewards of an arm in so many runs, one run in a row."""
    dispersion = float(model.family.dispersions(2)[arm])
    size = runs * (MOST_ROUNDS // 2)
    rewards = model.family.sample(rng, float(model.means[arm]), dispersion, size)
    return np.asarray(rewards, dtype=float).reshape(runs, -1)


def stopping_rounds(model: BanditModel, rules: list[Caet], runs: int, rng: np.random.Generator) -> list[Integers]:
    """What `cross` finds for each rule, all of them on the same rewards."""
    search: Any = compile_functions((cross,), compiled_shared(False))["cross"]
    arms, clock = np.zeros((ARM_ROWS, 2)), np.zeros(3)
    evidence, nobody, nothing = np.zeros(1), np.zeros(0, dtype=np.int64), np.zeros((COLUMN_ROWS, 0))
    pairs = [np.array([[winner], [1 - winner]]) for winner in (0, 1)]
    ends = [np.zeros(runs, dtype=np.int64) for _ in rules]
    for start in range(0, runs, CHUNK):
        part = slice(start, min(start + CHUNK, runs))
        first, second = (draw_rewards(model, rng, arm, part.stop - start) for arm in (0, 1))
        for rule, found in zip(rules, ends, strict=True):
            setting = rule.setup.setting(tracking=0)
            views = (View(setting, arms, clock, pair, nothing, evidence, -1, nobody, nothing) for pair in pairs)
            search(*views, first, second, found[part])
    return ends


def hard_table(runs: int, seed: int) -> bool:
    """Print the error rates of the hard cases; whether those of the proven thresholds are consistent with delta."""
    rows, consistent = [], True
    for number, (family, means) in enumerate(HARD):
        model = BanditModel(family, means, [1.0, 1.0])
        rules = list(hard_rules(model))
        for rule, ends in zip(
            rules, stopping_rounds(model, rules, runs, np.random.default_rng([seed, number])), strict=True
        ):
            errors, delta = int((ends < 0).sum()), rule.parameters.delta
            chance, (low, high) = tail_probability(errors, runs, delta), error_interval(errors, errors, runs)
            proven, kept = rule.threshold.guarantees(model.family), chance >= SIGNIFICANCE
            consistent &= kept or not proven
            rate = errors / runs
            cells = [f"{rate:.4f}", write_interval(low, high, 4), f"{rate / delta:.1%}", f"{chance:.3g}"]
            stopped = f"{(ends != 0).mean():.4f}"
            name = rule.threshold.name if proven else f"{rule.threshold.name} (not proven)"
            rows.append([family, f"{delta:g}", name, str(runs), stopped, *cells, "yes" if kept else "NO"])
    headers = ["family", "delta", "threshold", "runs", "stopped", "error rate", "95 %", "used", "p-value", "consistent"]
    print(table(headers, rows, left=(0, 2)))
    return consistent


def main() -> int:
    """Run every experiment and print the table."""
    parser = argparse.ArgumentParser(description="Error rates of the proven thresholds.")
    parser.add_argument("--hard", action="store_true", help="two nearly tied arms, delta = 0.3 and 0.5")
    parser.add_argument("--runs", type=int, help="per row of the table (1000, hard 10000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    if arguments.hard:
        return 0 if hard_table(arguments.runs or 10_000, arguments.seed) else 1
    runs, rows, consistent = arguments.runs or 1000, [], True
    for experiment in experiments():
        try:
            found = summarise(experiment, run_many(experiment, runs, arguments.seed, arguments.workers))
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
                write_interval(low, high, 4),
                f"{found.mean_samples:.0f}",
                "yes" if found.consistent else "NO",
            ]
        )
    headers = ["family", "task", "threshold", "runs", "unfinished", "error rate", "95 %", "samples", "consistent"]
    print(table(headers, rows, left=(0, 1, 2)))
    return 0 if consistent else 1


if __name__ == "__main__":
    sys.exit(main())
