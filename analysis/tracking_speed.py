"""Rounds per second of CAET with an exact solve in every round: python analysis/tracking_speed.py [--quick]

One core. The compiled loop on rankings of K Gaussian arms with unit costs, and at K = 3 the reference loop on the
cached CVXPY program, both in this run, on the same trajectory. Then whole runs with the e-process threshold to the
round in which they stop, and the same rounds with the mixture threshold, which has not stopped by then.
"""

import argparse
import sys
from dataclasses import replace
from time import perf_counter

import numpy as np

from caet_opt.bandits.families import Gaussian, parse_family
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Ranking
from caet_opt.exploring.explorer import Caet
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.loops import run_compiled, run_reference
from caet_opt.simulating.streams import ArmStreams
from caet_opt.solving.numbers import table

#: So large that no run stops: every round is timed in the thick of the experiment.
LOG_INV_DELTA = 1e6

#: Family, means and task of the whole runs, which take some ten thousand rounds.
WHOLE_RUNS = (
    ("gaussian", [0.1, 0.05, 0.0], "ranking"),
    ("bernoulli", [0.52, 0.5, 0.45], "best-arm"),
    ("poisson", [5.1, 5.0, 4.8, 4.7], "best-arm"),
    ("exponential", [1.03, 1.0, 0.9], "best-arm"),
    ("geometric", [2.1, 2.0, 1.8], "best-arm"),
    ("gaussian", [0.5 - 0.05 * arm for arm in range(10)], "top-arms:3"),
)


def prepare(arms: int, solver: str = "native") -> tuple[Caet, ArmStreams]:
    """CAET on a ranking of equally spaced arms, past its first thousand rounds per arm."""
    model = BanditModel(Gaussian(), np.arange(arms, 0, -1.0).tolist(), [1.0] * arms)
    parameters = Parameters(log_inv_delta=LOG_INV_DELTA, threshold="customary")
    streams = ArmStreams(model, np.random.SeedSequence(1))
    warm_up = Caet(Ranking(), model.family, arms, parameters, model.costs)
    run_compiled(warm_up, streams, 300 * arms)
    algorithm = Caet(Ranking(), model.family, arms, replace(parameters, solver=solver), model.costs)
    algorithm.continue_from(warm_up.state)
    return algorithm, streams


def compiled_rate(arms: int, rounds: int) -> float:
    """Median rounds per second of five stretches in compiled code."""
    algorithm, streams = prepare(arms)
    rates = []
    for _ in range(5):
        started = perf_counter()
        run_compiled(algorithm, streams, rounds)
        rates.append(rounds / (perf_counter() - started))
    return float(np.median(rates))


def reference_rate(solver: str, rounds: int) -> float:
    """Rounds per second of the Python loop at K = 3 on the cached program of a backend."""
    algorithm, streams = prepare(3, solver)
    run_reference(algorithm, streams, 5)
    started = perf_counter()
    run_reference(algorithm, streams, rounds)
    return rounds / (perf_counter() - started)


def whole_run(model: BanditModel, task: str, threshold: str, seed: int, rounds: int) -> tuple[int, float]:
    """The rounds of a run up to a limit, and its seconds."""
    parameters = Parameters(delta=0.05, threshold=threshold)
    algorithm = Caet(task, model.family, len(model.means), parameters, model.costs)
    streams = ArmStreams(model, np.random.SeedSequence(seed))
    started = perf_counter()
    run_compiled(algorithm, streams, rounds)
    return algorithm.state.round, perf_counter() - started


def compare_thresholds(scale: int) -> list[list[str]]:
    """Microseconds per round of both thresholds on the same rounds, the median over runs, interleaved."""
    rows = []
    for family, means, task in WHOLE_RUNS:
        model = BanditModel(parse_family(family), means, [1.0] * len(means))
        times = np.empty((5 * scale, 2))
        for seed in range(len(times)):
            rounds, slow = whole_run(model, task, "e-process", seed, 10**7)
            _, fast = whole_run(model, task, "mixture", seed, rounds)
            times[seed] = 1e6 * slow / rounds, 1e6 * fast / rounds
        slow, fast = np.median(times, axis=0)
        rates = [f"{1e6 / slow:,.0f}", f"{1e6 / fast:,.0f}", f"{np.median(times[:, 0] / times[:, 1]):.2f}"]
        rows.append([family, task, str(len(means)), *rates])
    return rows


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Rounds per second of CAET, exact solves.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    scale = 1 if parser.parse_args().quick else 10
    rows, rates = [], {}
    for arms, rounds in ((3, 20_000), (10, 5_000), (50, 1_000), (200, 200)):
        rates[arms] = compiled_rate(arms, rounds * scale)
        rows.append(["compiled, native", str(arms), f"{rates[arms]:,.0f}", "1"])
    for solver in ("native", "clarabel", "ipopt", "pyomo"):
        rate = reference_rate(solver, 60 * scale)
        name = "CVXPY and Clarabel" if solver == "clarabel" else solver
        rows.append([f"Python, {name}", "3", f"{rate:,.0f}", f"{rates[3] / rate:,.0f}"])
    print(table(["loop and solver", "K", "rounds per second", "compiled is faster by"], rows, left=(0,)))
    headers = ["family", "task", "K", "e-process, rounds per second", "mixture", "a round costs"]
    print()
    print(table(headers, compare_thresholds(scale), left=(0, 1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
