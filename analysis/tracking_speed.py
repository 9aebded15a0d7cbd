"""Rounds per second of CAET: python analysis/tracking_speed.py [--quick] [--family bounded]

One core. First compiled rounds in the thick of an experiment, with a solve in every round (exact) and with targets that
are kept while they are certified (lazy), beside a bare compiled loop that only takes the next reward from a
buffer, tracks a fixed target and updates the evidence of two pairs. Then where the time of a round goes, whole runs to
the round in which they stop, with two thresholds, and every solver on the same trajectory, as well as rounds that are
interpreted. With --family bounded: rewards in a range, counted on 5 levels and on 21, exact and lazy, in the thick of
an experiment and in whole runs.
"""

import argparse
import sys
from math import log, sqrt
from time import process_time
from typing import Any

import numba
import numpy as np
from scipy.stats import binom

from caet_opt.bandits.families import Bounded, parse_family
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.model import BanditModel
from caet_opt.common.numbers import table
from caet_opt.exploring.counted import Histograms, count_rewards
from caet_opt.exploring.explorer import Caet
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.state import State
from caet_opt.simulating.runs import compile_run, run
from caet_opt.simulating.streams import BLOCK, ArmStreams
from cases.runs import without_compiled

#: So large that no run stops: every round is timed in the thick of the experiment.
LOG_INV_DELTA = 1e6

#: The evidence of neighbours when the clock starts.
EVIDENCE = 75.0

#: Arms, and rounds of a timed stretch with exact targets.
SIZES = ((3, 20_000), (10, 5_000), (50, 1_000), (200, 200), (1000, 50))

#: Rounds of a stretch with targets that are kept: entering compiled code takes milliseconds where arms are many.
LAZY_ROUNDS = 400_000

#: Rewards in a range, on 5 levels and on 21.
RANGES = ("bounded:0,1,4", "bounded:0,1")

#: Family, means and task of the whole runs, which take some ten thousand rounds.
WHOLE_RUNS = (
    ("gaussian", [0.1, 0.05, 0.0], "ranking"),
    ("bernoulli", [0.52, 0.5, 0.45], "best-arm"),
    ("poisson", [5.1, 5.0, 4.8, 4.7], "best-arm"),
    ("exponential", [1.03, 1.0, 0.9], "best-arm"),
    ("geometric", [2.1, 2.0, 1.8], "best-arm"),
    ("gaussian", [0.5 - 0.05 * arm for arm in range(10)], "top-arms:3"),
)


def make_model(family: str, arms: int) -> BanditModel:
    """Equally spaced arms with unit costs."""
    if family.startswith(Bounded.name):
        return make_scores(family, np.linspace(0.9, 0.1, arms))
    means = np.arange(arms, 0, -1.0) if family == "gaussian" else np.linspace(0.9, 0.1, arms)
    return BanditModel(parse_family(family), means.tolist(), [1.0] * arms)


def make_scores(family: str, means: Array) -> BanditModel:
    """Arms with unit costs, whose rewards are shares of yes among as many answers as the range has steps."""
    steps = Bounded.parse(family.partition(":")[2]).steps
    levels, masses = range(steps + 1), [binom.pmf(np.arange(steps + 1), steps, mean) for mean in means]
    return BanditModel(
        family, levels=[level / steps for level in levels], probabilities=masses, costs=[1.0] * len(means)
    )


def draw_sums(model: BanditModel, pulls: int, nothing: Histograms) -> tuple[Array, Histograms]:
    """Sums of rewards after so many pulls of each arm, and histograms where the family needs them."""
    rng, arms, means = np.random.default_rng(1), len(model.means), np.array(model.means)
    if isinstance(model.family, Bounded):
        rewards: Array = np.array([model.sample(rng, arm, pulls) for arm in range(arms)])
        seen = [(arm, float(reward)) for arm in range(arms) for reward in rewards[arm]]
        return np.add.reduce(rewards, axis=1), count_rewards(model.family, nothing, seen)
    if model.family.name == "gaussian":
        return rng.normal(pulls * means, sqrt(pulls)), nothing
    return rng.binomial(pulls, means).astype(float), nothing


def prepare(family: str, task: str, arms: int, **settings: Any) -> tuple[Caet, ArmStreams]:
    """CAET where neighbours have the evidence that is asked for, after as many pulls of each arm."""
    model = make_model(family, arms)
    gap, spread = model.means[0] - model.means[1], 1.0 if family == "gaussian" else 0.25
    pulls = int(4 * EVIDENCE * spread / gap**2)
    threshold = "e-process" if isinstance(model.family, Bounded) else "customary"
    parameters = Parameters(log_inv_delta=LOG_INV_DELTA, threshold=threshold, **settings)
    caet = Caet(task, model.family, arms, parameters, model.costs)
    sums, histograms = draw_sums(model, pulls, caet.state.histograms)
    rounds, same = pulls * arms, (float(pulls),) * arms
    memory = ((rounds + 1) / arms,) * arms
    state = State(rounds, (pulls,) * arms, tuple(sums.tolist()), same, memory, float(rounds), (0.0,) * arms, histograms)
    caet.continue_from(state)
    return caet, ArmStreams(model, np.random.SeedSequence(1))


def compiled_rate(family: str, task: str, arms: int, rounds: int, stretches: int, solve: str) -> tuple[float, float]:
    """Rounds per second of the best of some stretches in compiled code, and solves per round of all."""
    caet, streams = prepare(family, task, arms, solve=solve)
    compile_run(caet)
    run(caet, streams, rounds)
    rates, before = [], caet.solves
    for _ in range(stretches):
        started = process_time()
        run(caet, streams, rounds)
        rates.append(rounds / (process_time() - started))
    return max(rates), (caet.solves - before) / (stretches * rounds)


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def play_bare(rounds: int, target: Array, rewards: Array, cursor: Integers, arms: Array) -> int:
    """Take the next reward, update sums and two pairs, track a fixed target; rows: pulls, sums, means, memory."""
    short, block = 0, rewards.shape[1]
    for now in range(rounds):
        best, lag = 0, -1e300
        for a in range(target.size):
            arms[3, a] += target[a]
            if arms[3, a] - arms[0, a] > lag:
                best, lag = a, arms[3, a] - arms[0, a]
        arms[0, best] += 1.0
        arms[1, best] += rewards[best, cursor[best]]
        cursor[best] = (cursor[best] + 1) % block
        arms[2, best] = arms[1, best] / arms[0, best]
        for other in (best - 1, best + 1):
            if 0 <= other < target.size:
                gap = arms[2, best] - arms[2, other]
                evidence = 0.5 * gap * gap * arms[0, best] * arms[0, other] / (arms[0, best] + arms[0, other])
                short += evidence < 1e6 + log(now + 1.0)
    return short


def bare_rate(arms: int, rounds: int) -> float:
    """Rounds per second of the bare loop, the best of some stretches."""
    rng = np.random.default_rng(1)
    given = np.full(arms, 1.0 / arms), rng.normal(size=(arms, BLOCK)), np.zeros(arms, dtype=np.int64)
    rows = np.ones((4, arms))
    play_bare(10, *given, rows)
    rates = []
    for _ in range(7):
        started = process_time()
        play_bare(rounds, *given, rows)
        rates.append(rounds / (process_time() - started))
    return max(rates)


def compare_targets(scale: int) -> list[list[str]]:
    """Rounds per second with exact and with lazy targets, beside the bare loop."""
    rows = []
    for family in ("gaussian", "bernoulli"):
        for task in ("ranking", "best-arm"):
            for arms, rounds in SIZES:
                exact, _ = compiled_rate(family, task, arms, rounds * scale, 5, "exact")
                lazy, solves = compiled_rate(family, task, arms, LAZY_ROUNDS * scale, 5, "lazy")
                bare = bare_rate(arms, 100 * rounds)
                rates = [
                    f"{exact:,.0f}",
                    f"{lazy:,.0f}",
                    f"{lazy / exact:.1f}",
                    f"{1 / solves:,.0f}" if solves else "-",
                ]
                rows.append([family, task, str(arms), *rates, f"{bare:,.0f}", f"{bare / lazy:.1f}"])
    return rows


def split_round(scale: int) -> list[list[str]]:
    """Nanoseconds of a round by what they are for.

    Drawing is timed by itself; sums and tracking are what is left of a lazy round without it and its solves, a solve is
    what an exact round takes more, and the threshold what a round of a whole run with the e-process takes more.
    """
    rows = []
    for family in ("gaussian", "bernoulli"):
        for arms, rounds in SIZES[:4]:
            model, rng = make_model(family, arms), np.random.default_rng(1)
            started = process_time()
            for _ in range(20):
                model.sample(rng, 0, BLOCK)
            draw = (process_time() - started) / (20 * BLOCK)
            exact, _ = compiled_rate(family, "ranking", arms, rounds * scale, 5, "exact")
            lazy, solves = compiled_rate(family, "ranking", arms, LAZY_ROUNDS * scale, 5, "lazy")
            solve = (1 / exact - 1 / lazy) / (1 - solves)
            track = 1 / lazy - draw - solves * solve
            parts = [draw, track, solve, solves * solve, 1 / exact, 1 / lazy]
            rows.append([family, str(arms), *(f"{1e9 * part:,.0f}" for part in parts), f"{1 / lazy / draw:.1f}"])
    return rows


def whole_run(model: BanditModel, task: str, seed: int, rounds: int, **settings: Any) -> tuple[int, float]:
    """The rounds of a run up to a limit, and its seconds."""
    parameters = Parameters(delta=0.05, **settings)
    algorithm = Caet(task, model.family, len(model.means), parameters, model.costs)
    streams = ArmStreams(model, np.random.SeedSequence(seed))
    compile_run(algorithm)
    started = process_time()
    run(algorithm, streams, rounds)
    return algorithm.state.round, process_time() - started


def compare_thresholds(scale: int) -> list[list[str]]:
    """Nanoseconds per round of whole runs, and of the same rounds with a threshold out of reach, interleaved."""
    rows = []
    for family, means, task in WHOLE_RUNS:
        model = BanditModel(parse_family(family), means, [1.0] * len(means))
        for solve in ("exact", "lazy"):
            times = np.empty((5 * scale, 2))
            for seed in range(len(times)):
                rounds, slow = whole_run(model, task, seed, 10**7, solve=solve, threshold="e-process")
                _, fast = whole_run(model, task, seed, rounds, solve=solve, threshold="mixture")
                times[seed] = 1e9 * slow / rounds, 1e9 * fast / rounds
            slow, fast = np.median(times, axis=0)
            ratio = np.median(times[:, 0] / times[:, 1])
            rows.append([family, task, str(len(means)), solve, f"{slow:,.0f}", f"{fast:,.0f}", f"{ratio:.2f}"])
    return rows


def solver_rate(solver: str, rounds: int) -> float:
    """Rounds per second at K = 3 on the cached program of a backend, compiled if that is at hand."""
    caet, streams = prepare("gaussian", "ranking", 3, solver=solver)
    run(caet, streams, 5)
    started = process_time()
    run(caet, streams, rounds)
    return rounds / (process_time() - started)


def compare_solvers(scale: int) -> list[list[str]]:
    """Rounds per second with each solver and without compiled code, and how much faster the native one is compiled."""
    compiled, _ = compiled_rate("gaussian", "ranking", 3, 20_000 * scale, 5, "exact")
    rows = [["native", f"{compiled:,.0f}", "1"]]
    with without_compiled():
        interpreted = solver_rate("native", 60 * scale)
    rows.append(["native, interpreted", f"{interpreted:,.0f}", f"{compiled / interpreted:,.0f}"])
    for solver in ("clarabel", "ipopt", "pyomo"):
        rate = solver_rate(solver, 60 * scale)
        name = "CVXPY and Clarabel" if solver == "clarabel" else solver
        rows.append([name, f"{rate:,.0f}", f"{compiled / rate:,.0f}"])
    return rows


def compare_levels(scale: int) -> list[list[str]]:
    """Rounds per second for rewards in a range, with exact and with lazy targets, and in whole runs of best-arm."""
    rows = []
    for family in RANGES:
        for arms, rounds in SIZES[:2]:
            model, found = make_scores(family, np.linspace(0.53, 0.47, arms)), []
            for solve, many in (("exact", rounds), ("lazy", 10 * rounds)):
                rate, solves = compiled_rate(family, "best-arm", arms, many * scale, 3, solve)
                whole = [whole_run(model, "best-arm", seed, 10**7, solve=solve) for seed in range(2 * scale)]
                pulls, seconds = (sum(part) for part in zip(*whole, strict=True))
                found += [f"{rate:,.0f}", f"{1 / solves:,.0f}" if solves else "-", f"{pulls / seconds:,.0f}"]
            rows.append([family, str(arms), *found, f"{pulls / len(whole):,.0f}"])
    return rows


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Rounds per second of CAET.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--family", choices=[Bounded.name], help="rewards in a range alone")
    arguments = parser.parse_args()
    scale = 1 if arguments.quick else 5
    if arguments.family:
        headers = ["family", "K", "exact, rounds per second", "rounds per solve", "whole runs", "lazy"]
        print(table([*headers, "rounds per solve", "whole runs", "rounds of a run"], compare_levels(scale)))
        return 0
    headers = ["family", "task", "K", "exact, rounds per second", "lazy", "lazy / exact", "rounds per solve"]
    print(table([*headers, "bare loop", "bare / lazy"], compare_targets(scale), left=(0, 1)), flush=True)
    headers = ["family", "K", "draw", "sums, tracking", "a solve", "solves, lazy", "exact round", "lazy round"]
    print("\nnanoseconds, ranking")
    print(table([*headers, "lazy / draw"], split_round(scale), left=(0,)), flush=True)
    print("\nwhole runs, nanoseconds per round")
    headers = ["family", "task", "K", "targets", "e-process", "mixture", "a round costs"]
    print(table(headers, compare_thresholds(scale), left=(0, 1, 3)), flush=True)
    print("\nranking of 3 arms, exact targets")
    print(table(["solver", "rounds per second", "native is faster by"], compare_solvers(scale), left=(0,)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
