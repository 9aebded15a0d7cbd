"""Answers that are good enough: python analysis/several_answers.py [pays] [proportions] [ties] [errors] [speed]

What a tolerance saves, and that runs which have one behave. All parts by default:

    pays         T* against the tolerance, of the easiest answer, of the leader, and of plain best arm
    proportions  where following the leader costs 15 % more: shares of the pulls in which runs end, and their answers
    ties         arms that are exactly tied, a tolerance of half a standard deviation: mean cost over T* log(1/delta)
    errors       an arm exactly at the margin, every family: how often a wrong answer is declared
    speed        rounds per second with a tolerance beside the same task without

Exit status 1 when an error rate is not consistent with delta, or a run with tied arms does not stop.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from time import process_time

import numpy as np

from caet_opt.bandits.model import BanditModel
from caet_opt.common.numbers import table, write_interval
from caet_opt.errors import TieError
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.runs import Experiment, compile_run, run, run_many, start_explorer
from caet_opt.simulating.streams import ArmStreams
from caet_opt.simulating.summary import SIGNIFICANCE, error_interval, tail_probability
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.result import CharacteristicTime

#: Where the easiest answer is not the leader: it is dear to pull, and nearly as good as the next.
DEAR_LEADER = BanditModel("gaussian", [0.5, 0.499, 0.49, 0.49, 0.49, 0.49], costs=[10, 1, 1, 1, 1, 1])

#: Levels log(1/delta) of delta = 1e-10 and 1e-40, and of 1e-200 and 1e-1000, as means have to tell answers apart first.
LEVELS, LATE = (23.02585092994046, 92.10340371976184), (460.51701859880916, 2302.585092994046)

#: Means that are tied, their family, and half a standard deviation.
TIED = (("gaussian", 0.0, "0.5"), ("bernoulli", 0.5, "0.25"))

#: Family, best mean, tolerance: the other means are less by exactly that.
MARGINS = (
    ("gaussian", "1", "0.5"),
    ("gaussian:4", "1", "1"),
    ("bernoulli", "0.8", "0.3"),
    ("bernoulli", "0.99", "0.05"),
    ("poisson", "3", "1"),
    ("exponential", "2", "1"),
    ("gamma:2", "2", "0.7"),
    ("geometric", "3", "1.5"),
)


def leader_time(found: CharacteristicTime) -> float:
    """T* of the answer with the best mean."""
    leader = found.task.answer(found.model.exact_means)
    return next(time.value for time in found.times if time.answer == leader)


def show_what_pays(runs: int, seed: int) -> bool:
    """T* against the tolerance."""
    models = {
        "dear leader": DEAR_LEADER,
        "two tied": BanditModel("bernoulli", [0.5, 0.5], costs=[1, 1]),
        "nearly tied": BanditModel("bernoulli", [0.5, 0.49, 0.3], costs=[3, 1, 1]),
    }
    rows = []
    for name, model in models.items():
        try:
            plain = f"{characteristic_time(model, 'best-arm').value:.6g}"
        except TieError:
            plain = "infinite"
        for tolerance in ("0.005", "0.01", "0.02", "0.05", "0.1"):
            found = characteristic_time(model, f"best-arm~{tolerance}")
            leader = leader_time(found)
            cells = [f"{found.value:.6g}", str(found.answer), f"{leader:.6g}", f"{leader / found.value:.3f}", plain]
            rows.append([name, tolerance, str(len(found.times)), *cells])
    print(table(["model", "tolerance", "right", "T*", "answer", "of the leader", "ratio", "best arm"], rows, left=(0,)))
    return True


def show_proportions(runs: int, seed: int) -> bool:
    """Shares of the pulls in which runs end, beside those that are best for answer 1 and for the leader."""
    task = "best-arm~0.1"
    found = characteristic_time(DEAR_LEADER, task)
    leader = characteristic_time(
        DEAR_LEADER, ",".join(f"0-{arm}-0.1" for arm in range(1, 6)).join(["comparisons:", ""])
    )
    rows = [
        ["answer 1", "", "", "", *(f"{share:.3f}" for share in found.sampling_proportions)],
        ["leader", "", "", "", *(f"{share:.3f}" for share in leader.sampling_proportions)],
    ]
    for level in (*LEVELS, *LATE):
        many = max(1, runs // 5) if level == LATE[-1] else runs
        experiment = Experiment(DEAR_LEADER, task, Parameters(log_inv_delta=level, solve="lazy"))  # type: ignore[arg-type]
        records = run_many(experiment, many, seed)
        shares = np.mean([np.array(record.counts) / record.rounds for record in records], axis=0)
        answers = Counter(record.answer for record in records)
        ratio = np.mean([record.cost for record in records]) / (found.value * level)
        told = ", ".join(f"{answer}: {many}" for answer, many in sorted(answers.items()))
        cells = [str(many), f"{ratio:.3f}", told, *(f"{share:.3f}" for share in shares)]
        rows.append([f"log(1/delta) = {level:.4g}", *cells])
    print(table(["", "runs", "cost over T* log", "answers", *(f"u[{arm}]" for arm in range(6))], rows, left=(0, 3)))
    return True


def show_ties(runs: int, seed: int) -> bool:
    """Mean cost over T* log(1/delta) of arms that are tied."""
    rows, stopped = [], True
    for family, mean, tolerance in TIED:
        for arms in (2, 3, 10):
            model, task = BanditModel(family, [mean] * arms, costs=[1] * arms), f"best-arm~{tolerance}"
            time = characteristic_time(model, task).value
            cells = []
            for level in (2.995732273553991, *LEVELS):
                parameters = Parameters(log_inv_delta=level, solve="lazy")
                records = run_many(Experiment(model, task, parameters), runs, seed)  # type: ignore[arg-type]
                stopped = stopped and all(record.stopped for record in records)
                cells.append(f"{np.mean([record.cost for record in records]) / (time * level):.3f}")
            rows.append([family, str(arms), tolerance, f"{time:.6g}", str(runs), *cells])
    print(table(["family", "tied", "tolerance", "T*", "runs", "0.05", "1e-10", "1e-40"], rows, left=(0,)))
    print("every run stopped" if stopped else "SOME RUNS DID NOT STOP")
    return stopped


def show_errors(runs: int, seed: int) -> bool:
    """How often the declared answer is wrong by the tolerance or more; delta = 0.3."""
    rows, delta, fine = [], 0.3, True
    for family, best, tolerance in MARGINS:
        low = f"{float(best) - float(tolerance):.10g}"
        for policy, many in (("caet", runs), ("uniform", max(1, runs // 10))):
            model = BanditModel(family, [float(best), float(low), float(low)], costs=[5, 1, 1])
            parameters = Parameters(delta=delta, policy=policy, max_rounds=20_000, solve="lazy")
            experiment = Experiment(model, f"best-arm~{tolerance}", parameters)  # type: ignore[arg-type]
            records = run_many(experiment, many, seed)
            errors = sum(record.correct is False for record in records)
            chance = tail_probability(errors, many, delta)
            fine = fine and chance > SIGNIFICANCE / (2 * len(MARGINS))
            interval = write_interval(*error_interval(errors, errors, many), 4)
            late = sum(not record.stopped for record in records)
            cells = [str(many), f"{errors / many:.4f}", interval, f"{chance:.3g}", str(late)]
            rows.append([family, f"{best}, {low}, {low}", tolerance, policy, *cells])
    headers = ["family", "means", "tolerance", "policy", "runs", "error rate", "95 %", "p-value", "unfinished"]
    print(table(headers, rows, left=(0, 1, 3)))
    return fine


def measure_rate(model: BanditModel, task: str, rounds: int, solve: str) -> float:
    """Rounds per second of CAET in the thick of an experiment that does not end, the best of five stretches."""
    parameters = Parameters(log_inv_delta=1e9, solve=solve)
    explorer = start_explorer(Experiment(model, task, parameters), 1)  # type: ignore[arg-type]
    streams = ArmStreams(model, np.random.SeedSequence(1))
    compile_run(explorer)
    run(explorer, streams, max(10_000, rounds))
    rates = []
    for _ in range(5):
        started = process_time()
        assert not run(explorer, streams, rounds)
        rates.append(rounds / (process_time() - started))
    return max(rates)


def show_speed(runs: int, seed: int) -> bool:
    """Rounds per second with a tolerance of one and a half gaps, and those of whole runs, beside the same without."""
    rows = []
    for family in ("gaussian", "bernoulli"):
        for arms, rounds in ((3, 20_000), (10, 5_000), (50, 1_000)):
            means = np.round(np.linspace(0.6, 0.3, arms), 4)
            model, gap = BanditModel(family, means.tolist(), costs=[1] * arms), float(means[0] - means[1])
            for solve, many in (("exact", rounds), ("lazy", 400_000)):
                with_it = measure_rate(model, f"best-arm~{1.5 * gap:.4g}", many, solve)
                without = measure_rate(model, "best-arm", many, solve)
                rates = [f"{with_it:,.0f}", f"{without:,.0f}", f"{without / with_it:.2f}"]
                rows.append([family, str(arms), solve, *rates])
    print(table(["family", "K", "targets", "with tolerance", "without", "times slower"], rows, left=(0, 2)))
    return True


PARTS: dict[str, tuple[Callable[[int, int], bool], int]] = {
    "pays": (show_what_pays, 1),
    "proportions": (show_proportions, 100),
    "ties": (show_ties, 200),
    "errors": (show_errors, 5000),
    "speed": (show_speed, 1),
}


def main() -> int:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description="Answers that are good enough.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which tables (all)")
    parser.add_argument("--runs", type=int, help="of each row, in place of the number that each table has")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    fine = True
    for name in arguments.parts or PARTS:
        show, runs = PARTS[name]
        print(f"\n{name}\n")
        fine = show(arguments.runs or runs, arguments.seed) and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
