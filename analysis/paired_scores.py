"""Which of two models is better: the same questions put to both, or questions of its own to each.

python analysis/paired_scores.py [--runs N]. A score is the share of L - 1 thresholds that a normal variable is above;
the variables of two models have means 0.842 and 0.643, and are correlated. With L = 2 scores are right or wrong, of
shares 0.80 and 0.74; with more levels they are graded. Unit prices, delta = 0.05. Paired, differences are rewards of
bounded:-1,1 and ``above:0`` is asked; unpaired, ``best-arm`` of bernoulli or bounded:0,1. ``T*`` and ``cost`` are
ratios, paired over unpaired, with a 95 % interval: below 1 pairing is cheaper.

"decided / difference" is another way to pair, over this one: a question decides for the better model with
probability abs(d), ``above:0.5`` is asked of those that decide, and all that were asked are paid. Errors at the end:
two models that are alike but for 1e-6, at delta = 0.3, up to 2000 questions.
"""

import argparse
from itertools import pairwise

import numpy as np
from scipy.stats import multivariate_normal, norm

from caet_opt import BanditModel, characteristic_time, simulate
from caet_opt.bandits.paired import TASK
from caet_opt.common.numbers import table
from caet_opt.simulating.summary import Summary, tail_probability

SHARES, LEVELS, CORRELATIONS = (0.80, 0.74), (2, 3, 5, 11), (0.0, 0.3, 0.6, 0.8, 0.95)


def joint(levels: int, correlation: float) -> np.ndarray:
    """The probability of every two scores, rows by the first model's."""
    cuts = [-9.0, *np.linspace(-1, 1, levels + 1)[1:-1], 9.0]
    ends = [[cut - mean for cut in cuts] for mean in norm.ppf(SHARES)]
    normal = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    rows, columns = list(pairwise(ends[0])), list(pairwise(ends[1]))
    cells = [[normal.cdf((right, high), lower_limit=(left, low)) for low, high in columns] for left, right in rows]
    return np.asarray(np.array(cells) / np.sum(cells))


def differences(cells: np.ndarray) -> np.ndarray:
    """The probability of each difference of two scores, from -1 to 1, in millionths."""
    size = len(cells)
    chances = np.array([np.trace(cells, offset=-k) for k in range(-size + 1, size)]).round(6)
    return np.asarray(chances / chances.sum())


def pair_model(chances: np.ndarray) -> BanditModel:
    """Differences as rewards, each on a level of its own; a question costs 2."""
    steps = len(chances) - 1
    levels = np.linspace(-1, 1, steps + 1).round(12).tolist()
    return BanditModel(f"bounded:-1,1,{steps}", levels=levels, probabilities=[chances.tolist()], costs=[2])


def decided_model(chances: np.ndarray) -> tuple[BanditModel, float]:
    """Questions that decide, at what a decision costs on average; and the share of questions that do."""
    sizes = np.linspace(-1, 1, len(chances))
    share = float(chances @ np.abs(sizes))
    return BanditModel("bernoulli", [float(chances @ sizes.clip(0)) / share], [2 / share]), share


def apart_model(cells: np.ndarray) -> BanditModel:
    """Each model by itself, unit prices."""
    masses = [cells.sum(axis=1), cells.sum(axis=0)]
    if len(cells) == 2:
        return BanditModel("bernoulli", [float(mass[1]) for mass in masses])
    levels, steps = np.linspace(0, 1, len(cells)).round(12).tolist(), len(cells) - 1
    return BanditModel(f"bounded:0,1,{steps}", levels=levels, probabilities=[mass.tolist() for mass in masses])


def compare(cells: np.ndarray, correlation: float, apart: BanditModel, alone: Summary) -> list[str]:
    """A row: what the scores are, ratios of T* and of costs with their intervals, rates of errors."""
    chances = differences(cells)
    pair, (decided, share) = pair_model(chances), decided_model(chances)
    ideal = characteristic_time(pair, TASK).value / characteristic_time(apart, "best-arm").value
    pairs = simulate(pair, TASK, delta=0.05, runs=alone.runs, seed=2)
    draws = simulate(decided, "above:0.5", delta=0.05, runs=alone.runs, seed=2)
    made = draws.records["rounds"].to_numpy()
    paid = 2.0 * (made + np.random.default_rng(3).negative_binomial(made, share))  # questions, each put to both
    cost = pairs.records["cost"].to_numpy()
    return [
        "right or wrong" if len(cells) == 2 else f"{len(cells)} levels",
        f"{correlation:g}",
        f"{score_correlation(cells):.2f}",
        f"{ideal:.2f}",
        interval(cost, alone.records["cost"].to_numpy()),
        f"{pairs.mean_cost:.0f}",
        f"{alone.mean_cost:.0f}",
        f"{pairs.error_rate:.3f}",
        f"{alone.error_rate:.3f}",
        interval(paid, cost),
    ]


def score_correlation(cells: np.ndarray) -> float:
    """The correlation of the two scores."""
    values = np.linspace(0, 1, len(cells))
    means = cells.sum(axis=1) @ values, cells.sum(axis=0) @ values
    spreads = [np.sqrt(cells.sum(axis=axis) @ values**2 - mean**2) for axis, mean in zip((1, 0), means, strict=True)]
    return float((values @ cells @ values - means[0] * means[1]) / (spreads[0] * spreads[1]))


def interval(above: np.ndarray, below: np.ndarray) -> str:
    """The ratio of two means with its 95 % interval (delta method)."""
    ratio = float(np.mean(above) / np.mean(below))
    parts = [float(np.var(one, ddof=1) / (len(one) * np.mean(one) ** 2)) for one in (above, below)]
    half = 1.96 * ratio * float(np.sqrt(sum(parts)))
    return f"{ratio:.2f} [{ratio - half:.2f}, {ratio + half:.2f}]"


def near_tie(levels: int) -> np.ndarray:
    """Differences of two models that are alike, correlated by 0.6, and the first better by 1e-6."""
    chances = differences(joint(levels, 0.6))
    chances = np.asarray((chances + chances[::-1]) / 2)
    chances[[0, -1]] += [-5e-7, 5e-7]
    return chances


def main() -> None:
    """Print the table, and errors where there is hardly a difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    header = ["scores", "latent", "correlation", "T*", "cost, paired / unpaired", "paired", "unpaired"]
    header += ["errors", "unpaired", "decided / difference"]
    rows = []
    for levels in LEVELS:
        apart = apart_model(joint(levels, 0.0))
        alone = simulate(apart, "best-arm", delta=0.05, runs=runs, seed=1)
        rows += [compare(joint(levels, correlation), correlation, apart, alone) for correlation in CORRELATIONS]
    print(table(header, rows))
    for levels in LEVELS:
        hard = simulate(pair_model(near_tie(levels)), TASK, delta=0.3, runs=runs, seed=4, max_pulls=2000)
        errors = round(hard.error_rate * runs)
        chance = tail_probability(errors, runs, 0.3)
        print(
            f"nearly equal models, {levels} levels, delta = 0.3: {errors} errors in {runs} paired runs "
            f"(as many at 0.3: {chance:.3g})"
        )


if __name__ == "__main__":
    main()
