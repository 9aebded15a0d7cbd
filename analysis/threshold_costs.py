"""What certainty costs: python analysis/threshold_costs.py [--quick] [--runs N] [--figure results/threshold-costs]

Mean cost, its ratio to the lower bound and the error rate on models of every family, for four rules:

- ``old default``: the mixture threshold over all K (K - 1) / 2 pairs with the paper's share for free arms;
- ``paper share``: the e-process with the paper's share;
- ``new default``: the e-process with the share ``auto``;
- ``customary``: the customary threshold, which is not proven, also with ``auto``.

Then the limits for the new default at delta = 0.05, how well its cost is predicted, and whether its mean cost falls as
delta grows on every model of the catalogue with a free arm. ``--figure`` draws cost over lower bound against
log(1/delta), as PNG and PDF. Status 1 where a limit is not met.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import log, nan
from pathlib import Path
from statistics import median
from typing import Any

from threshold_study import MODELS, models_with_free_arm, models_without_free_arm

from caet_opt.bandits.families import Gaussian
from caet_opt.bandits.modelfile import ModelFile, read_model
from caet_opt.common.numbers import round_down, round_up, table
from caet_opt.exploring.settings import Parameters
from caet_opt.presenting.figures.sheet import draw_legend, make_panels, save, spread
from caet_opt.presenting.figures.style import LEVEL, draw_mean, require_matplotlib, styled, write_decades
from caet_opt.simulating.runs import Experiment, run_many
from caet_opt.simulating.summary import Summary, summarise

DELTAS = (0.2, 0.05, 0.01, 1e-4)

#: Models of the table, by their names in `threshold_study`, and those of the quick version.
NAMES = (
    "paper-instance-1",
    "gaussian top 2",
    "gaussian-variances",
    "ranking-free-arms",
    "bernoulli ranking",
    "bernoulli control",
    "exponential best",
    "gamma-shape",
    "regret-gamma",
    "geometric",
    "control-at-a-cost",
    "regret-poisson",
)
QUICK = ("paper-instance-1", "bernoulli control", "exponential best", "regret-poisson")

#: At this delta the new default costs at most so much of the old one: Gaussian models, other ones, and those named.
LIMIT_DELTA, GAUSSIAN_LIMIT, OTHER_LIMIT, LIMITS = 0.05, 0.5, 0.35, {"regret-poisson": 0.2}

#: And at most so many times the cost of the customary threshold.
CUSTOMARY_LIMIT = 1.6

#: A model on which a run takes some seconds, and the part of the runs that are made on it: every cost is about as small
#: as what counts as zero, so the pattern of free arms changes in most rounds.
SLOW, SLOW_PART = ("regret-bernoulli",), 10


def old_default(model: ModelFile, delta: float) -> Parameters:
    """The mixture over all pairs, which is the one over R pairs at risk at ``delta R / (K (K - 1) / 2)``.

    The share of free arms and the cost that counts as zero are those of delta itself.
    """
    arms = len(model.model.means)
    paper = Parameters(delta=delta, zero_cost_share="paper")
    level = paper.log_inv_delta + log(arms * (arms - 1) / 2 / model.task.statements_at_risk(arms))
    gamma0 = paper.gamma0 * (level / paper.log_inv_delta) ** paper.r_prime
    return Parameters(log_inv_delta=level, threshold="mixture", zero_cost_share=paper.free_share, gamma0=gamma0)


RULES: dict[str, Callable[[ModelFile, float], Parameters]] = {
    "old default": old_default,
    "paper share": lambda model, delta: Parameters(delta=delta, zero_cost_share="paper"),
    "new default": lambda model, delta: Parameters(delta=delta),
    "customary": lambda model, delta: Parameters(delta=delta, threshold="customary"),
}

#: Summaries by model, delta and rule.
Found = dict[tuple[str, float, str], Summary]


def simulate(model: ModelFile, parameters: Parameters, runs: int, seed: int) -> Summary:
    """So many runs of a model."""
    experiment = Experiment(model.model, model.task, parameters)
    return summarise(experiment, run_many(experiment, runs, seed))


def lower_bound(found: Found, name: str, delta: float) -> float:
    """``T* kl(delta, 1 - delta)``; that of the old default would be of its scaled delta."""
    return found[name, delta, "new default"].lower_bound or nan


def measure(models: Mapping[str, ModelFile], rules: Iterable[str], runs: int, seed: int) -> Found:
    """Every model at every delta with every rule."""
    return {
        (name, delta, rule): simulate(
            model, RULES[rule](model, delta), max(2, runs // SLOW_PART) if name in SLOW else runs, seed
        )
        for name, model in models.items()
        for delta in DELTAS
        for rule in rules
    }


def span(summary: Summary) -> tuple[float, float]:
    """The 95 % interval of the mean cost."""
    return summary.cost_ci or (summary.mean_cost, summary.mean_cost)


def cost_table(found: Found, names: Iterable[str]) -> str:
    """Mean cost, its ratio to the lower bound and the error rate of every rule."""
    rows = []
    for name in names:
        for delta in DELTAS:
            bound, row = lower_bound(found, name, delta), [name, f"{delta:g}"]
            for rule in RULES:
                summary = found[name, delta, rule]
                row += [f"{summary.mean_cost:.4g}", f"{summary.mean_cost / bound:.2f}", f"{summary.error_rate:.3f}"]
            rows.append([*row[:2], round_down(bound, 4), *row[2:]])
    headers = [word for rule in RULES for word in (rule, "ratio", "errors")]
    return table(["model", "delta", "lower bound", *headers], rows)


def limit_table(found: Found, models: Mapping[str, ModelFile]) -> tuple[str, bool]:
    """The new default over the old one and over the customary threshold, and whether all limits are met."""
    rows, all_met = [], True
    for name, model in models.items():
        old, new, customary = (
            found[name, LIMIT_DELTA, rule].mean_cost for rule in ("old default", "new default", "customary")
        )
        limit = LIMITS.get(name, GAUSSIAN_LIMIT if isinstance(model.model.family, Gaussian) else OTHER_LIMIT)
        met = new <= limit * old and new <= CUSTOMARY_LIMIT * customary
        all_met &= met
        ratios = [f"{new / old:.3f}", f"{limit:g}", f"{new / customary:.3f}", f"{CUSTOMARY_LIMIT:g}"]
        rows.append([name, *ratios, "yes" if met else "NO"])
    return table(["model", "new/old", "at most", "new/customary", "at most", "met"], rows), all_met


def growth_table(found: Found, names: Iterable[str]) -> tuple[str, bool]:
    """Mean costs of the new default with their 95 % intervals, and whether none is above all of the next smaller delta.

    A larger delta asks for less, so its interval must not lie wholly above that of a smaller one.
    """
    rows, none_rises = [], True
    for name in names:
        summaries = [found[name, delta, "new default"] for delta in DELTAS]
        falls = all(span(larger)[0] <= span(smaller)[1] for larger, smaller in pairwise(summaries))
        none_rises &= falls
        cells = [f"{each.mean_cost:.4g} +- {round_up(span(each)[1] - each.mean_cost, 2)}" for each in summaries]
        rows.append([name, str(summaries[0].runs), *cells, "yes" if falls else "NO"])
    return table(["model", "runs", *(f"{delta:g}" for delta in DELTAS), "falls as delta grows"], rows), none_rises


def prediction_table(found: Found, names: Iterable[str]) -> str:
    """The predicted cost of the new default over its mean cost, by delta, and the median and the ends of all."""
    summaries = {name: [found[name, delta, "new default"] for delta in DELTAS] for name in names}
    ratios = {
        name: [(each.predicted_cost or nan) / each.mean_cost for each in by_delta]
        for name, by_delta in summaries.items()
    }
    rows = [[name, *(f"{ratio:.2f}" for ratio in row)] for name, row in ratios.items()]
    columns = list(zip(*ratios.values(), strict=True))
    for word, value in (("least", min), ("median", median), ("largest", max)):
        rows.append([word, *(f"{value(column):.2f}" for column in columns)])
    return table(["model", *(f"{delta:g}" for delta in DELTAS)], rows)


@styled
def draw(found: Found, names: Sequence[str]) -> Any:
    """A panel per model: cost over lower bound against log(1/delta), a curve per rule."""
    canvas, panels = make_panels(spread(len(names), 4))
    for axis, name in zip((axis for row in panels for axis in row), names, strict=True):
        for which, rule in enumerate(RULES):
            draw_rule(axis, found, name, rule, which)
        axis.set_yscale("log")
        write_decades(axis, "y")
        axis.set_title(name)
    for axis in panels[-1]:
        axis.set_xlabel(LEVEL)
    for row in panels:
        row[0].set_ylabel("cost over lower bound")
    draw_legend(canvas, [rf"mean of {found[names[0], DELTAS[0], 'customary'].runs} runs and $95\%$ band"])
    return canvas


def draw_rule(axis: Any, found: Found, name: str, rule: str, which: int) -> None:
    """The curve of a rule on a model, with its 95 % band."""
    points = []
    for delta in DELTAS:
        summary, bound = found[name, delta, rule], lower_bound(found, name, delta)
        points.append((-log(delta), *(cost / bound for cost in (summary.mean_cost, *span(summary)))))
    level, mean, low, high = zip(*points, strict=True)
    draw_mean(axis, level, mean, low, high, which, label=rule)


def catalogue_with_free_arm() -> dict[str, ModelFile]:
    """The models of the catalogue that have a free arm."""
    entries = {path.stem: read_model(path) for path in sorted(MODELS.glob("*.toml"))}
    return {name: entry for name, entry in entries.items() if 0 in entry.model.costs}


def main() -> int:
    """Measure, print the tables, draw."""
    parser = argparse.ArgumentParser(description="Mean costs of the thresholds against the lower bound.")
    parser.add_argument("--quick", action="store_true", help="four models and few runs, under a minute")
    parser.add_argument("--runs", type=int, metavar="N", help="per model, delta and rule (100, quick 20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--figure", type=Path, metavar="PATH", help="draw PATH.png and PATH.pdf")
    arguments = parser.parse_args()
    if arguments.figure is not None:
        require_matplotlib()
        arguments.figure.parent.mkdir(parents=True, exist_ok=True)
    runs = arguments.runs or (20 if arguments.quick else 100)
    everything = models_without_free_arm() | models_with_free_arm()
    models = {name: everything[name] for name in (QUICK if arguments.quick else NAMES)}
    found = measure(models, RULES, runs, arguments.seed)
    print(cost_table(found, models), flush=True)
    limits, met = limit_table(found, models)
    print(f"\nat delta = {LIMIT_DELTA:g}:\n{limits}", flush=True)
    print(f"\npredicted over simulated cost of the new default:\n{prediction_table(found, models)}", flush=True)
    if arguments.figure is not None:
        for file in save(draw(found, tuple(models)), arguments.figure):
            print(f"wrote {file}")
    free = {name: model for name, model in catalogue_with_free_arm().items() if name in models or not arguments.quick}
    missing = {name: model for name, model in free.items() if name not in models}
    found |= measure(missing, ["new default"], runs, arguments.seed)
    growth, falls = growth_table(found, free)
    print(f"\nmean cost of the new default by delta:\n{growth}")
    return 0 if met and falls else 1


if __name__ == "__main__":
    raise SystemExit(main())
