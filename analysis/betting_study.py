"""Stopping by betting on rewards in a range: priors over bets, error rates at ties, costs, coverage of intervals.

    python analysis/betting_study.py priors | errors | costs | coverage  [--runs N]

Two arms are pulled in turn, with a look after every two pulls. `errors`: pairs of equal means up to 1e-6, how often
"a > b" is declared at delta = 0.3 and 0.05 within a horizon, by betting (counted where the capital at the common mean
exceeds 1 / delta, which is at least as often as E does), and by the widespread rule: Gaussian evidence with plug-in
variances against log((1 + log t) / delta). `costs`: pulls until E > 1 / delta at delta = 0.05, beside the e-process of
Bernoulli rewards on fractions, over T* kl(delta, 1 - delta) of the scores.
"""

import argparse
from collections.abc import Callable, Iterator
from math import log
from types import FunctionType
from typing import Any

import numba
import numpy as np

from caet_opt import BanditModel, characteristic_time
from caet_opt.bandits.families.martingales import bernoulli_log_martingale
from caet_opt.bandits.families.numerics import Array
from caet_opt.kernels import betting

# mypy: disable-error-code="misc, untyped-decorator, no-any-return"
# numba has no types

Draw = Callable[[Any], Array]

STEPS = 20
HORIZON = 4000

SHARES = 2.0 ** -(0.25 + 0.5 * np.arange(24))  # down to 2^-11.75, a gap of a few thousandths of a deviation

#: Bets and their weights by name, beside the bet of nothing, which has NOTHING of the weight: it is the floor only.
NOTHING = 0.02
PRIORS = {
    "18 equal": (SHARES[:18], np.ones(18)),
    "12 equal": (SHARES[:12], np.ones(12)),
    "6 by 2, equal": (2.0 ** -(0.5 + np.arange(6)), np.ones(6)),
    "24 by 0.9^j": (SHARES, 0.9 ** np.arange(24)),
    "24 by 0.8^j": (SHARES, 0.8 ** np.arange(24)),
    "24 by 1/(j+4)^2": (SHARES, 1.0 / (np.arange(24) + 4.0) ** 2),
    "24 by sqrt(min(b, .2))": (SHARES, np.minimum(SHARES, 0.2) ** 0.5),
}
CHOSEN = "24 by sqrt(min(b, .2))"

SCORES = [0, 0.25, 0.5, 0.75, 1]
SCORED: dict[str, tuple[list[float], ...]] = {  # four pairs of score distributions
    "five levels": (SCORES, [0.01, 0.02, 0.12, 0.55, 0.30], [0.02, 0.04, 0.18, 0.52, 0.24]),
    "mostly good": (SCORES, [0.00, 0.01, 0.04, 0.25, 0.70], [0.01, 0.02, 0.07, 0.35, 0.55]),
    "yes or no": ([0, 1], [0.3, 0.7], [0.42, 0.58]),
    "narrow": ([0.33, 0.47, 0.52, 0.61], [0.1, 0.2, 0.3, 0.4], [0.3, 0.3, 0.2, 0.2]),
}


def prior(name: str) -> tuple[Array, Array]:
    """Bets with the one of nothing first, and logarithms of their weights, which sum to one."""
    bets, weights = PRIORS[name]
    weights = np.concatenate([[NOTHING], (1.0 - NOTHING) * weights / weights.sum()])
    return np.concatenate([[0.0], bets]), np.log(weights)


def hostile(rng: np.random.Generator, runs: int, horizon: int) -> Iterator[tuple[str, tuple[Array, Array], float]]:
    """Names and draws of ten pairs whose means differ by at most 1e-6."""

    def two_point(low: float, high: float, p: float) -> Draw:
        return lambda size: np.where(rng.random(size) < p, high, low)

    def cut(size: Any) -> Array:
        return np.minimum(rng.lognormal(0.5, 1.0, size), 30.0) / 30.0

    known = np.minimum(np.random.default_rng(0).lognormal(0.5, 1.0, 4_000_000), 30.0).mean() / 30.0

    def point(mean: float) -> Draw:
        return lambda size: np.full(size, mean)

    def levels(masses: list[float]) -> Draw:
        return lambda size: rng.choice(SCORES, size, p=masses)

    pairs = {
        "point .5, jackpot 1 w.p. .5 ": (point(0.5), two_point(0.0, 1.0, 0.5)),
        "rare jackpot .01, point .01": (two_point(0.0, 1.0, 0.01), point(0.01)),
        "point .01, rare jackpot .01": (point(0.01), two_point(0.0, 1.0, 0.01)),
        ".45 w.p. .909091 or 1, point .5": (two_point(0.45, 1.0, 1 / 11), point(0.5)),
        "point .5, .45 w.p. .909091 or 1": (point(0.5), two_point(0.45, 1.0, 1 / 11)),
        "Beta(.2, .8), Beta(2, 8)": (lambda s: rng.beta(0.2, 0.8, s), lambda s: rng.beta(2, 8, s)),
        "Beta(2, 8), Beta(.2, .8)": (lambda s: rng.beta(2, 8, s), lambda s: rng.beta(0.2, 0.8, s)),
        "lognormal cut, point": (cut, point(known)),
        "point, lognormal cut": (point(known), cut),
        "five levels, between levels .6325": (levels([0.1, 0.1, 0.2, 0.37, 0.23]), point(0.6325)),
    }
    for name, (first, second) in pairs.items():
        yield name, (first((runs, horizon)), second((runs, horizon))), known


@numba.njit
def split(reward: float, counts: Array) -> None:
    """Count a reward on the levels around it, in proportion."""
    steps = counts.size - 1
    place = min(int(reward * steps), steps - 1)
    part = reward * steps - place
    counts[place] += 1.0 - part
    counts[place + 1] += part


log_capital = numba.njit(betting.log_capital)


@numba.njit
def factors(bets: Array, steps: int, x: float) -> Array:
    """log(1 - b + b v / x) by bet and level."""
    found = np.zeros((bets.size, steps + 1))
    for j in range(bets.size):
        for k in range(steps + 1):
            found[j, k] = np.log1p(bets[j] * (k / steps / x - 1.0))
    return found


@numba.njit
def add(total: Array, table: Array, reward: float) -> None:
    """Take a reward into the logarithms of the capital of each bet."""
    steps = table.shape[1] - 1
    place = min(int(reward * steps), steps - 1)
    part = reward * steps - place
    for j in range(total.size):
        total[j] += (1.0 - part) * table[j, place] + part * table[j, place + 1]


@numba.njit
def pooled(total: Array, weights: Array) -> float:
    """log of the average capital."""
    most = -np.inf
    for j in range(total.size):
        most = max(most, total[j] + weights[j])
    found = 0.0
    for j in range(total.size):
        found += np.exp(total[j] + weights[j] - most)
    return most + np.log(found)


@numba.njit
def tie_runs(first: Array, second: Array, mean: float, bets: Array, weights: Array, levels: Array) -> Array:
    """For each run and level, whether capital at the common mean, and the widespread rule, ever exceed it."""
    runs, horizon = first.shape
    found = np.zeros((2, levels.size))
    up, down = factors(bets, 20, mean), factors(bets, 20, 1.0 - mean)
    for run in range(runs):
        a, b = weights * 0.0, weights * 0.0
        s = np.zeros(4)
        best, rule = -np.inf, np.zeros(levels.size)
        for t in range(horizon):
            x, y = first[run, t], second[run, t]
            add(a, up, x)
            add(b, down, 1.0 - y)
            s[0] += x
            s[1] += x * x
            s[2] += y
            s[3] += y * y
            best = max(best, pooled(a, weights) + pooled(b, weights))
            n = t + 1.0
            if t > 0:
                gap = (s[0] - s[2]) / n
                spread = max(s[1] / n - (s[0] / n) ** 2, 0.0) + max(s[3] / n - (s[2] / n) ** 2, 0.0)
                if gap > 0.0:
                    z = n * gap * gap / (2.0 * max(spread, 1e-12))
                    for i in range(levels.size):
                        if z > np.log(1.0 + np.log(2.0 * n)) + levels[i]:
                            rule[i] = 1.0
        for i in range(levels.size):
            found[0, i] += best > levels[i]
            found[1, i] += rule[i]
    return found / runs


def errors(runs: int) -> None:
    """Error rates at ties."""
    rng, levels = np.random.default_rng(7), np.log([1 / 0.3, 1 / 0.05])
    bets, weights = prior(CHOSEN)
    print(f"declared 'a > b' at equal means within {HORIZON} pulls of each arm, {runs} runs")
    print(f"{'pair':36} betting .3   .05     widespread .3   .05")
    for name, (first, second), _ in hostile(rng, runs, HORIZON):
        mean = {"lognormal cut, point": second, "point, lognormal cut": first}.get(name)
        common = float(mean[0, 0]) if mean is not None else MEANS[name]
        found = tie_runs(first, second, common, bets, weights, levels)
        print(f"{name:36} {found[0, 0]:10.4f} {found[0, 1]:6.4f} {found[1, 0]:14.4f} {found[1, 1]:8.4f}", flush=True)


MEANS = {
    "point .5, jackpot 1 w.p. .5 ": 0.5,
    "rare jackpot .01, point .01": 0.01,
    "point .01, rare jackpot .01": 0.01,
    ".45 w.p. .909091 or 1, point .5": 0.5,
    "point .5, .45 w.p. .909091 or 1": 0.5,
    "Beta(.2, .8), Beta(2, 8)": 0.2,
    "Beta(2, 8), Beta(.2, .8)": 0.2,
    "five levels, between levels .6325": 0.6325,
}


@numba.njit
def capital_of(counts: Array, others: Array, bets: Array, weights: Array, x: float) -> float:
    """log M_a(x) M_b(x) without allowance; levels are equally spaced, others from the upper end."""
    steps = counts.size - 1
    up, down = factors(bets, steps, x), factors(bets, steps, 1.0 - x)
    a, b = np.zeros(bets.size), np.zeros(bets.size)
    for j in range(bets.size):
        for k in range(steps + 1):
            a[j] += counts[k] * up[j, k]
            b[j] += others[k] * down[j, k]
    return pooled(a, weights) + pooled(b, weights)


def stop_betting(first: Array, second: Array, bets: Array, weights: Array, level: float) -> int:
    """Pulls until log E > level."""
    counts, others, values = np.zeros(STEPS + 1), np.zeros(STEPS + 1), np.arange(STEPS + 1) / STEPS
    point = 0.5 * (first.mean() + second.mean())
    for t in range(first.size):
        split(first[t], counts)
        split(1.0 - second[t], others)
        if t % 4 or capital_of(counts, others, bets, weights, point) <= level:  # every fourth look: a little late
            continue
        if exceeds(values, counts, values, others, bets, weights, 0.0, level):
            return 2 * (t + 1)
    return 2 * first.size


def rebound() -> Any:
    """`capital_exceeds` compiled, calling the compiled `log_capital`."""
    source = betting.capital_exceeds
    return numba.njit(FunctionType(source.__code__, {**source.__globals__, "log_capital": log_capital}))


exceeds = rebound()


def stop_bernoulli(first: Array, second: Array, level: float, rho: float = 8.0) -> int:
    """Pulls until the Bernoulli e-process of the fractions exceeds the level, on a grid of x: at least as early."""
    grid = np.linspace(0.02, 0.98, 49)
    a, b = np.cumsum(first), np.cumsum(second)
    for t in range(19, first.size, 20):
        n, x, y = t + 1.0, a[t] / (t + 1.0), b[t] / (t + 1.0)
        if x > y:
            at = [
                bernoulli_log_martingale(n, x, rho, p, True) + bernoulli_log_martingale(n, y, rho, p, False)
                for p in grid[(grid > y - 0.05) & (grid < x + 0.05)]
            ]
            if min(at) > level:
                return 2 * (t + 1)
    return 2 * first.size


def draw_pairs(name: str, runs: int, rng: np.random.Generator, horizon: int) -> Iterator[tuple[Array, Array]]:
    """Rewards of both arms of a pair of score distributions."""
    levels, first, second = SCORED[name]
    for _ in range(runs):
        yield rng.choice(levels, horizon, p=first).astype(float), rng.choice(levels, horizon, p=second).astype(float)


def show(pulls: list[int]) -> str:
    """Mean with its 95 % interval."""
    return f"{np.mean(pulls):8.1f} +- {1.96 * np.std(pulls) / np.sqrt(len(pulls)):6.1f}"


def priors(runs: int) -> None:
    """Mean pulls by prior."""
    print(f"mean pulls until E > 1 / delta, delta = 0.05, {runs} runs")
    for name in SCORED:
        for key in PRIORS:
            rng = np.random.default_rng(3)
            found = [stop_betting(*pair, *prior(key), log(20)) for pair in draw_pairs(name, runs, rng, 6000)]
            print(f"{name:12} {key:14} {show(found)}", flush=True)


def costs(runs: int) -> None:
    """Betting and Bernoulli on fractions, over the lower bound."""
    print(f"mean pulls, delta = 0.05, unit costs, in turn, {runs} runs; in brackets over T* kl(delta, 1 - delta)")
    for name, (levels, *rows) in SCORED.items():
        model = BanditModel("bounded:0,1", levels=levels, probabilities=rows)
        bound = characteristic_time(model, "best-arm").lower_bound(delta=0.05)
        rng = np.random.default_rng(4)
        pairs = list(draw_pairs(name, runs, rng, 12000))
        ours = [stop_betting(*pair, *prior(CHOSEN), log(20)) for pair in pairs]
        theirs = [stop_bernoulli(*pair, log(20)) for pair in pairs]
        told = [f"{show(found)} ({np.mean(found) / bound:.2f})" for found in (ours, theirs)]
        print(f"{name:12} betting {told[0]}   bernoulli {told[1]}   bound {bound:.1f}", flush=True)


def coverage(runs: int) -> None:
    """How many of the experiments have the mean in its interval at every look."""
    bets, weights = prior(CHOSEN)
    rng = np.random.default_rng(5)
    level = np.array([log(2 / 0.05)])
    print(f"95 % intervals of a mean that hold at every look up to {HORIZON} outcomes, {runs} experiments")
    for name, (first, second), _ in hostile(rng, runs, HORIZON):
        mean = {"lognormal cut, point": second, "point, lognormal cut": first}.get(name)
        common = float(mean[0, 0]) if mean is not None else MEANS[name]
        missed = [one_sided(draws, common, bets, weights, level[0]) for draws in (first, second)]
        print(f"{name:36} {1 - missed[0]:.4f} {1 - missed[1]:.4f}", flush=True)


@numba.njit
def one_sided(draws: Array, mean: float, bets: Array, weights: Array, level: float) -> float:
    """How often capital against the true mean, from either side, ever reaches the level."""
    up, down = factors(bets, 20, mean), factors(bets, 20, 1.0 - mean)
    missed = 0
    for run in range(draws.shape[0]):
        a, b = weights * 0.0, weights * 0.0
        for t in range(draws.shape[1]):
            add(a, up, draws[run, t])
            add(b, down, 1.0 - draws[run, t])
            if max(pooled(a, weights), pooled(b, weights)) >= level:
                missed += 1
                break
    return missed / draws.shape[0]


def main() -> None:
    """Run the study that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=["priors", "errors", "costs", "coverage"])
    parser.add_argument("--runs", type=int, default=100)
    arguments = parser.parse_args()
    {"priors": priors, "errors": errors, "costs": costs, "coverage": coverage}[arguments.study](arguments.runs)


if __name__ == "__main__":
    main()
