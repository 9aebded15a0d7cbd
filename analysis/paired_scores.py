"""Which of two models is better: the same questions put to both, or questions of its own to each.

python analysis/paired_scores.py [--runs N]. Scores are right or wrong, with shares 0.80 and 0.74, and go together by a
normal copula: a question is right where a normal variable, common to both models in part, is below a quantile. Unit
prices, delta = 0.05. ``T*`` is the ratio of characteristic times, and "cost" that of mean costs, paired over
unpaired, with a 95 % interval; below 1 pairing is cheaper. A paired run asks as many questions as it needs for the
decided ones, which are drawn with it. Errors at the end: models that differ by 1e-6, at delta = 0.3, to 2000 outcomes.
"""

import argparse

import numpy as np
from scipy.stats import multivariate_normal, norm

from caet_opt import BanditModel, characteristic_time, simulate
from caet_opt.bandits.paired import TASK
from caet_opt.common.numbers import table
from caet_opt.simulating.summary import tail_probability

SHARES, CORRELATIONS = (0.80, 0.74), (0.0, 0.3, 0.6, 0.8, 0.95)


def decided(shares: tuple[float, float], correlation: float) -> tuple[float, float]:
    """The probabilities that only the first model is right, and that only the second is."""
    quantiles = norm.ppf(shares)
    both = float(multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(quantiles))
    return shares[0] - both, shares[1] - both


def compare(correlation: float, runs: int) -> list[str]:
    """A row: shares, ratio of T*, ratio of costs with its interval, rates of errors."""
    first, second = decided(SHARES, correlation)
    price, mean = 2 / (first + second), first / (first + second)
    apart, pair = BanditModel("bernoulli", SHARES), BanditModel("bernoulli", [mean], [price])
    ideal = characteristic_time(pair, TASK).value / characteristic_time(apart, "best-arm").value
    alone = simulate(apart, "best-arm", delta=0.05, runs=runs, seed=1)
    pairs = simulate(pair, TASK, delta=0.05, runs=runs, seed=2)
    rng = np.random.default_rng(3)
    outcomes = pairs.records["rounds"].to_numpy()
    paid = 2.0 * (outcomes + rng.negative_binomial(outcomes, first + second))  # questions, each put to both
    ratio, spread = ratio_interval(paid, alone.records["cost"].to_numpy())
    return [
        f"{correlation:g}",
        f"{first + second:.3f}",
        f"{ideal:.2f}",
        f"{ratio:.2f} [{ratio - spread:.2f}, {ratio + spread:.2f}]",
        f"{np.mean(paid):.0f}",
        f"{alone.mean_cost:.0f}",
        f"{pairs.error_rate:.3f}",
        f"{alone.error_rate:.3f}",
    ]


def ratio_interval(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """The ratio of two means, and half the width of its 95 % interval (delta method)."""
    ratio = float(np.mean(above) / np.mean(below))
    parts = [float(np.var(one, ddof=1) / (len(one) * np.mean(one) ** 2)) for one in (above, below)]
    return ratio, 1.96 * ratio * float(np.sqrt(sum(parts)))


def main() -> None:
    """Print the table, and errors where there is hardly a difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    header = ["correlation", "decided", "T*", "cost, paired / unpaired", "paired", "unpaired", "errors", "unpaired"]
    print(table(header, [compare(correlation, runs) for correlation in CORRELATIONS]))
    near = BanditModel("bernoulli", [0.5 + 1e-6], [1])
    hard = simulate(near, TASK, delta=0.3, runs=runs, seed=4, max_pulls=2000)
    errors = round(hard.error_rate * runs)
    chance = tail_probability(errors, runs, 0.3)
    print(f"nearly equal models, delta = 0.3: {errors} errors in {runs} paired runs (as many at 0.3: {chance:.3g})")


if __name__ == "__main__":
    main()
