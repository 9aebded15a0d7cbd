"""Betting on rewards in a range: python analysis/betting_study.py STUDY [--runs N] [--seed S]

``errors``: ten pairs of distributions whose means are 1e-6 apart; how often `simulate` declares the worse arm to be the
best one, arms in turn, a look at every round up to 4000. Beside it, on the same draws, the widespread rule: Gaussian
evidence with the variances of the sample against log((1 + log t) / delta), from 10 pulls of each arm on. Exit status 1
where betting errs significantly more often than delta.

``costs``: what CAET spends at delta = 0.05 on four pairs of score distributions, counted as rewards in a range and
taken for Bernoulli ones (``fractions``), on the same draws, over the lower bound T* kl(delta, 1 - delta) of the scores.
``kept`` is the part of the best rate of evidence that the bets have, on levels of 20 steps, for delta towards 0.

``coverage``: the pairs of ``errors``, 500 looks; experiments in which the 95 % intervals of both means, and that of
the difference, hold at every look. A difference is counted as excluded where the capital at the true means reaches the
level, which its interval needs at every x: that is at least as often. `Intervals` is asked at the looks where something
is excluded first, and at the last. Exit status 1 where less than the level are covered.

``priors``: mean pulls until E > 20 by prior over bets, arms in turn, for the pairs of ``costs`` and for small gaps.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import log, sqrt
from typing import Any
from unittest.mock import patch

import numba
import numpy as np
from scipy.stats import beta, norm

from caet_opt import BanditModel, simulate
from caet_opt.bandits.distributions import collect
from caet_opt.bandits.families import Bounded
from caet_opt.bandits.families.numerics import Array
from caet_opt.common.numbers import table, write_interval
from caet_opt.exploring import counted
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.state import State
from caet_opt.kernels import betting, counting, ledger
from caet_opt.kernels.betting import capital_exceeds, log_capital
from caet_opt.kernels.bounded_term import LOWER_END, UPPER_END, row_of
from caet_opt.kernels.compile import Compiled, compile_functions, list_functions
from caet_opt.kernels.counting import count_reward
from caet_opt.kernels.native import compiled_kernel
from caet_opt.live.intervals import OTHER_SIDE, Intervals
from caet_opt.simulating.mean_intervals import mean_interval
from caet_opt.simulating.runs import compile_run, run
from caet_opt.simulating.streams import BLOCK, ArmStreams
from caet_opt.simulating.summary import SIGNIFICANCE, error_interval, tail_probability

Masses = dict[Fraction, Fraction]

#: By how much the first arm of a hostile pair is better, and of how many values a continuous distribution is made.
GAP, QUANTILES = Fraction(1, 10**6), 400

#: Rounds of a run of `errors`, its levels, and the pulls of each arm from which on the widespread rule looks.
HORIZON, DELTAS, BURN_IN = 4000, (0.3, 0.05), 10

#: Looks of `coverage`, the level of its intervals, and experiments in which `Intervals` is asked.
LOOKS, LEVEL, ASKED = 500, 0.95, 20

#: The delta of `costs` and `priors`.
DELTA = 0.05

SCORES = (0, 0.25, 0.5, 0.75, 1)
GOOD = (0.01, 0.02, 0.12, 0.55, 0.30)

#: Values and their probabilities for the better and the worse arm.
SCORED: dict[str, tuple[Sequence[float], Sequence[float], Sequence[float]]] = {
    "five levels": (SCORES, GOOD, (0.02, 0.04, 0.18, 0.52, 0.24)),
    "mostly good": (SCORES, (0.00, 0.01, 0.04, 0.25, 0.70), (0.01, 0.02, 0.07, 0.35, 0.55)),
    "yes or no": ((0, 1), (0.3, 0.7), (0.42, 0.58)),
    "narrow": ((0.33, 0.47, 0.52, 0.61), (0.1, 0.2, 0.3, 0.4), (0.3, 0.3, 0.2, 0.2)),
}

#: The same with gaps of a tenth, a thirtieth and a hundredth of a standard deviation, and pulls of each arm at most.
CLOSE: dict[str, tuple[Sequence[float], Sequence[float], Sequence[float]]] = {
    "gap 0.1 sd": (SCORES, GOOD, (0.01, 0.02, 0.1576, 0.55, 0.2624)),
    "gap 0.03 sd": (SCORES, GOOD, (0.01, 0.02, 0.1313, 0.55, 0.2887)),
    "gap 0.01 sd": (SCORES, GOOD, (0.01, 0.02, 0.1238, 0.55, 0.2962)),
}
MOST_PULLS = 1_000_000

#: Priors over bets: how many, the first, the factor between two, the bet up to which weights grow with its square root,
#: and the weight of no bet.
PRIORS: dict[str, tuple[int, float, float, float, float]] = {
    "24 by sqrt(min(b, .2))": (24, 2**-0.25, 2**-0.5, 0.2, 0.02),
    "24 by sqrt(b)": (24, 2**-0.25, 2**-0.5, 1.0, 0.02),
    "24 equal": (24, 2**-0.25, 2**-0.5, 1e-9, 0.02),
    "18 equal": (18, 2**-0.25, 2**-0.5, 1e-9, 0.02),
    "12 equal": (12, 2**-0.25, 2**-0.5, 1e-9, 0.02),
    "12 by 2, sqrt(min(b, .2))": (12, 2**-0.25, 0.5, 0.2, 0.02),
    "6 by 2, equal": (6, 2**-0.5, 0.5, 1e-9, 0.02),
    "the first with no bet .2": (24, 2**-0.25, 2**-0.5, 0.2, 0.2),
    "the first from b = .97 on": (24, 0.97, 2**-0.5, 0.2, 0.02),
}


def mean_of(masses: Masses) -> Fraction:
    """The mean of a distribution."""
    return sum((value * mass for value, mass in masses.items()), Fraction(0))


def aim(masses: Masses, mean: Fraction) -> Masses:
    """A distribution with another mean: a point elsewhere, or mass moved between the lowest and the highest value."""
    if len(masses) == 1:
        return {mean: Fraction(1)}
    low, high = min(masses), max(masses)
    moved = (mean - mean_of(masses)) / (high - low)
    return {**masses, low: masses[low] - moved, high: masses[high] + moved}


def by_quantiles(quantile: Callable[[Array], Any]) -> Masses:
    """A continuous distribution as equal masses at its quantiles, rounded to a millionth."""
    found: Masses = {}
    for value in quantile((np.arange(QUANTILES) + 0.5) / QUANTILES):
        place = Fraction(round(1e6 * float(value)), 10**6)
        found[place] = found.get(place, Fraction(0)) + Fraction(1, QUANTILES)
    return found


def hostile_pairs() -> Iterator[tuple[str, BanditModel]]:
    """Ten models of two arms, of which the first is better by `GAP`."""
    point = {Fraction(1, 2): Fraction(1)}
    coin = {Fraction(0): Fraction(1, 2), Fraction(1): Fraction(1, 2)}
    jackpot = {Fraction(0): Fraction(99, 100), Fraction(1): Fraction(1, 100)}
    skewed = {Fraction(45, 100): Fraction(10, 11), Fraction(1): Fraction(1, 11)}
    scores = dict(zip(map(Fraction, SCORES), (Fraction(n, 100) for n in (10, 10, 20, 37, 23)), strict=True))
    spiked, bulging = (by_quantiles(beta(*shape).ppf) for shape in ((0.2, 0.8), (2, 8)))
    cut = by_quantiles(lambda share: np.minimum(np.exp(0.5 + norm.ppf(share)), 30.0))
    pairs = {
        "0 or 1 evenly; 1 w.p. 1/11, else .45": (coin, skewed),
        "point; 1 w.p. .01, else 0": (point, jackpot),
        "1 w.p. .01, else 0; point": (jackpot, aim(point, mean_of(jackpot))),
        "point; 1 w.p. 1/11, else .45": (point, skewed),
        "1 w.p. 1/11, else .45; point": (skewed, point),
        "Beta(.2, .8); Beta(2, 8)": (spiked, bulging),
        "Beta(2, 8); Beta(.2, .8)": (bulging, spiked),
        "lognormal cut at 30; point": (cut, aim(point, mean_of(cut))),
        "point; lognormal cut at 30": (point, cut),
        "point between levels; five scores": (point, scores),
    }
    for name, (first, second) in pairs.items():
        arms = [sorted(masses.items()) for masses in (aim(first, mean_of(second) + GAP), second)]
        yield name, BanditModel("bounded:0,30" if "30" in name else "bounded:0,1", collect(arms), costs=[1, 1])


def scored_model(name: str) -> BanditModel:
    """The model of a pair of score distributions, with unit costs."""
    levels, *rows = (SCORED | CLOSE)[name]
    return BanditModel("bounded:0,1", levels=levels, probabilities=rows, costs=[1, 1])


def draws_of(model: BanditModel, seed: int, number: int) -> Array:
    """The first rewards of each arm in a run of `simulate` with this number."""
    streams = ArmStreams(model, np.random.SeedSequence(seed, spawn_key=(number,)))
    return streams.buffers.rewards


@numba.njit  # type: ignore[untyped-decorator]
def widespread(first: Array, second: Array, horizon: int, log_inv_delta: float) -> bool:
    """Whether the widespread rule, arms in turn, declares the second arm to be the better one."""
    sums, squares, pulls = np.zeros(2), np.zeros(2), np.zeros(2)
    for t in range(horizon):
        arm, reward = t % 2, first[t // 2] if t % 2 == 0 else second[t // 2]
        sums[arm] += reward
        squares[arm] += reward * reward
        pulls[arm] += 1.0
        if pulls[1] < BURN_IN:
            continue
        means = sums / pulls
        errors = np.maximum(squares / pulls - means * means, 1e-12) / pulls
        if (means[0] - means[1]) ** 2 / (2.0 * errors.sum()) > np.log(1.0 + np.log(t + 1.0)) + log_inv_delta:
            return bool(means[1] > means[0])
    return False


def errors(runs: int, seed: int) -> int:
    """Print error rates; the exit status."""
    rows, kept = [], True
    for name, model in hostile_pairs():
        cells = []
        for delta in DELTAS:
            asked: dict[str, Any] = {"delta": delta, "policy": "uniform", "max_pulls": HORIZON}
            wrong = round(runs * simulate(model, "best-arm", runs=runs, seed=seed, **asked).error_rate)
            chance = tail_probability(wrong, runs, delta)
            kept &= chance >= SIGNIFICANCE
            cells += [f"{wrong / runs:.4f}", write_interval(*error_interval(wrong, wrong, runs), 4), f"{chance:.2g}"]
        found = np.zeros((runs, len(DELTAS)))
        for number in range(runs):
            rewards = draws_of(model, seed, number)
            found[number] = [widespread(*rewards, HORIZON, log(1 / delta)) for delta in DELTAS]
        rows.append([name, *cells, *(f"{rate:.4f}" for rate in found.mean(axis=0))])
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print(f"the worse of two arms declared, means 1e-6 apart, in turn, up to {HORIZON} pulls, {runs} runs, seed {seed}")
    one = ["95 %", "p-value"]
    print(table(["pair", "betting .3", *one, "betting .05", *one, "widespread .3", "widespread .05"], rows))
    return 0 if kept else 1


def spent(model: BanditModel, family: str, fractions: bool, seed: int, number: int) -> float:
    """What CAET spends on the draws of a run of `simulate`, for a family."""
    parameters = Parameters(delta=DELTA, fractions=fractions)
    explorer = Explorer("best-arm", family, len(model.means), parameters, model.costs)
    compile_run(explorer)
    stopped = run(explorer, ArmStreams(model, np.random.SeedSequence(seed, spawn_key=(number,))), 10**7)
    assert stopped
    return explorer.state.total_cost


def share_kept(model: BanditModel, shares: Sequence[float], value: float) -> float:
    """What the bets make, at the best shares and on split rewards, of the best rate of evidence, 1 / T*."""
    family, given = model.family, model.distributions
    assert isinstance(family, Bounded)
    assert given is not None
    levels = np.array([float(level) for level in family.exact_levels])
    x = np.linspace(model.means[1], model.means[0], 4001)[1:-1, None, None]
    rate = np.zeros(len(x))
    for share, masses, u, t in zip(shares, given.split(family), (levels, 1.0 - levels), (x, 1.0 - x), strict=True):
        growth = np.log1p(counted.BETS[:, None] * (u / t - 1.0)) @ np.array(masses)
        rate += share * np.maximum(growth.max(axis=1), 0.0)
    return float(rate.min() * value)


def costs(runs: int, seed: int) -> int:
    """Print mean costs over the lower bound."""
    rows = []
    for name in SCORED:
        model = scored_model(name)
        ours = simulate(model, "best-arm", delta=DELTA, runs=runs, seed=seed)
        bound, best = ours.lower_bound, ours.experiment.optimum
        assert bound is not None
        assert ours.cost_ci is not None, "some runs did not stop"
        others = np.array([spent(model, "bernoulli", True, seed, number) for number in range(runs)])
        interval = mean_interval(others)
        assert interval is not None
        row = [name, f"{bound:.1f}", f"{ours.mean_cost:.1f}", write_interval(*ours.cost_ci, 4)]
        row += [f"{ours.mean_cost / bound:.2f}", f"{others.mean():.1f}", write_interval(*interval, 4)]
        row += [f"{others.mean() / bound:.2f}", f"{others.mean() / ours.mean_cost:.2f}", f"{ours.error_rate:.3f}"]
        rows.append([*row, f"{share_kept(model, best.sampling_proportions.tolist(), best.value):.4f}"])
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print(f"mean cost of CAET, best-arm, unit costs, delta = {DELTA}, {runs} runs, seed {seed}")
    headers = ["scores", "lower bound", "betting", "95 %", "/ bound", "fractions", "95 %", "/ bound", "/ betting"]
    print(table([*headers, "errors, betting", "kept"], rows))
    return 0


def new_table(family: Bounded) -> tuple[Array, int]:
    """The table of two arms' histograms, with nothing counted, and where it begins."""
    arms = np.zeros((ledger.ARM_ROWS + counted.extra_rows(family), 2))
    counted.write_histograms(family, arms)
    return arms.reshape(-1), ledger.table_base(arms)


def first_missed(
    histograms: Array, base: int, rewards: Array, places: Array, looks: int, level: float, joint: float, other: float
) -> tuple[int, int]:
    """The looks at which a true mean, and the true difference, are first excluded; 0 for never.

    ``places`` has the distances of the true means from both ends; arms are pulled in turn.
    """
    found, capital = [0, 0], np.zeros((2, 2))
    for t in range(looks):
        arm, pulls = t % 2, t // 2 + 1.0
        count_reward(histograms, base, arm, rewards[arm, t // 2])
        for side in (LOWER_END, UPPER_END):
            start = row_of(histograms, base, arm)
            capital[side, arm] = log_capital(histograms, start, side, pulls, places[side, arm])
        if found[0] == 0 and capital[:, arm].max() >= level:
            found[0] = t + 1
        if t > 0 and found[1] == 0:
            for b in range(2):
                both = np.logaddexp(capital[UPPER_END, b] + log(1.0 - other), capital[LOWER_END, b] + log(other))
                if capital[LOWER_END, 1 - b] + both >= joint:
                    found[1] = t + 1
    return found[0], found[1]


def intervals_at(model: BanditModel, rewards: Array, look: int) -> Intervals:
    """The intervals of an experiment at a look."""
    explorer = Explorer("best-arm", model.family, 2, Parameters(delta=DELTA, policy="uniform"), model.costs)
    seen = [(t % 2, float(rewards[t % 2, t // 2])) for t in range(look)]
    sums = tuple(sum(reward for arm, reward in seen if arm == one) for one in range(2))
    pulls = (look - look // 2, look // 2)
    paid = (float(pulls[0]), float(pulls[1]))
    histograms = counted.count_rewards(model.family, explorer.state.histograms, seen)
    return Intervals(explorer.setup, State(look, pulls, sums, paid, paid, float(look), (0.0, 0.0), histograms), LEVEL)


def check_looks(model: BanditModel, rewards: Array, missed: tuple[int, int]) -> None:
    """Raise `AssertionError` where `Intervals` does not say what was counted."""
    for look in {LOOKS, *missed} - {0, 1}:
        found, arm = intervals_at(model, rewards, look), (look - 1) % 2
        outside = found.excludes_mean(arm, model.means[arm])
        assert outside or look != missed[0]
        assert outside <= (0 < missed[0] <= look)
        assert found.excludes_difference(0, 1, model.means[0] - model.means[1]) <= (0 < missed[1] <= look)


def coverage(runs: int, seed: int) -> int:
    """Print the shares of covered experiments; the exit status."""
    rows, worst, compiled = [], 1.0, compile_with({}, first_missed)
    levels = log(2 * 2 / (1.0 - LEVEL)), log(2 / (1.0 - LEVEL)), OTHER_SIDE
    for name, model in hostile_pairs():
        assert isinstance(model.family, Bounded)
        missed, (low, high) = np.zeros((runs, 2)), map(float, model.family.ends)
        places = np.array([np.array(model.means) - low, high - np.array(model.means)]) / (high - low)
        asked = 0
        for number in range(runs):
            rewards = draws_of(model, seed, number)
            missed[number] = found = compiled(*new_table(model.family), rewards, places, LOOKS, *levels)
            if asked < ASKED and (max(found) > 1 or number >= runs - ASKED):
                check_looks(model, rewards, found)
                asked += 1
        shares = 1.0 - (missed > 0).mean(axis=0)
        worst = min(worst, *shares)
        rows.append([name, *(f"{100 * share:.2f} %" for share in shares), str(asked)])
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print(f"95 % intervals at every look, arms in turn, {LOOKS} looks, {runs} experiments, seed {seed}")
    print(table(["pair", "both means", "the difference, at least", "experiments asked"], rows))
    return int(worst < LEVEL)


def constants_of(bets: int, first: float, pace: float, even: float, nothing: float) -> dict[str, Any]:
    """The constants of `betting` for a prior."""
    total = sum(sqrt(min(first * pace**j, even)) for j in range(bets))
    named = {"BETS": bets, "FIRST_BET": first, "PACE": pace, "EVEN": even, "NOTHING": nothing}
    return named | {"SCALE": (1.0 - nothing) / total, "LEAST_CAPITAL": log(nothing), "MOST_ODDS": first / (1.0 - first)}


def compile_with(constants: dict[str, Any], function: Callable[..., Any]) -> Any:
    """A function compiled with those that count and bet, these with other constants."""
    with patch.multiple(betting, **constants) if constants else patch.dict({}):
        sources = (*list_functions(counting, betting), function)
        found: Compiled = compile_functions(sources, compiled_kernel())
    return found[function.__name__]


def stop_in_turn(histograms: Array, base: int, first: Array, second: Array, level: float) -> int:
    """Pulls until log E of "the first arm is better" exceeds a level, looked at with every pair of pulls, and from 400
    on with every two-hundredth part more; twice as many as there are where it does not."""
    look, x, y = 1, 0.0, 0.0
    for t in range(first.size):
        count_reward(histograms, base, 0, first[t])
        count_reward(histograms, base, 1, second[t])
        x, y, n = x + first[t], y + second[t], t + 1.0
        if t + 1 >= look:
            if capital_exceeds(histograms, base, 0, 1, x / n, y / n, 0.0, n, n, level):
                return 2 * (t + 1)
            look = t + 2 + t // 200
    return 4 * first.size


def pulls_by_prior(name: str, runs: int, seed: int, stops: Sequence[Any]) -> Array:
    """Pulls of each run by prior, all on the same draws."""
    model, found = scored_model(name), np.zeros((runs, len(stops)))
    assert isinstance(model.family, Bounded)
    most = MOST_PULLS if name in CLOSE else 10_000
    for number in range(runs):
        rng = np.random.default_rng([seed, number])
        rewards = [model.sample(rng, arm, most) for arm in range(2)]
        found[number] = [stop(*new_table(model.family), *rewards, log(1 / DELTA)) for stop in stops]
    return found


def priors(runs: int, seed: int) -> int:
    """Print mean pulls by prior."""
    chosen = constants_of(*next(iter(PRIORS.values())))
    assert chosen == {name: getattr(betting, name) for name in chosen}, "the first prior is not that of experiments"
    stops = [compile_with(constants_of(*prior), stop_in_turn) for prior in PRIORS.values()]
    columns = []
    for name in (*SCORED, *CLOSE):
        found = pulls_by_prior(name, runs, seed, stops)
        errors = 1.96 * (found - found[:, :1]).std(axis=0) / sqrt(runs)
        means = found.mean(axis=0)
        first = f"{means[0]:.0f} +- {1.96 * found[:, 0].std() / sqrt(runs):.0f}"
        rest = [f"{m / means[0] - 1:+.1%} +- {e / means[0]:.1%}" for m, e in zip(means[1:], errors[1:], strict=True)]
        columns.append([first, *rest])
        print(name, columns[-1], file=sys.stderr, flush=True)
    print(f"mean pulls until E > {1 / DELTA:g}, arms in turn, {runs} runs, seed {seed}; below the first row over it")
    rows = [[name, *cells] for name, *cells in zip(PRIORS, *columns, strict=True)]
    print(table(["prior", *SCORED, *CLOSE], rows))
    return 0


def main() -> int:
    """Run the study that is asked for; the exit status."""
    studies = {"errors": (errors, 3000), "costs": (costs, 400), "coverage": (coverage, 2000), "priors": (priors, 200)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=studies)
    parser.add_argument("--runs", type=int, help="3000 for errors, 400 for costs, 2000 for coverage, 200 for priors")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    study, runs = studies[arguments.study]
    assert HORIZON // 2 <= BLOCK
    return study(arguments.runs or runs, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
