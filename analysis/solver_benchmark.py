"""How fast each solver is, at a stated accuracy: python analysis/solver_benchmark.py [--quick] [--out results/]

Every contestant re-solves the same instances on one thread; the times are medians over interleaved rounds, so that
ratios of one run mean something on a busy machine. Every answer is certified afterwards, outside the clock, without
being polished, and its T* compared with native's. Prints a table, what it shows, and where the microseconds of the
public call go; writes solver_benchmark.csv, .png and .pdf. The status is "certified" for a gap of at most 1e-9,
"uncertified" for a T* that is right to 1e-6 all the same, "failed" for anything else, and "skipped" for what would take
too long.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["RAYON_NUM_THREADS"] = "1"

from benchmark_figure import write_figure
from benchmark_report import (
    DPP,
    FAMILIES,
    GROWTH,
    GROWTH_GAP,
    GROWTH_SIZES,
    GROWTH_TASKS,
    NATIVE,
    SIZES,
    TASKS,
    Row,
    describe,
    summary,
    write_csv,
)
from contestants import CONTESTANTS, TIME_LIMIT, Entry, Instance, make_instance, native_compiled
from single_call import lines

from caet_opt import CaetError, certify, characteristic_time
from caet_opt.common.numbers import duration, relative_deviation
from caet_opt.presenting.figures.style import require_matplotlib
from caet_opt.solving.backends.base import point_in_model
from caet_opt.solving.problem import ask

#: SLSQP factorises a dense matrix in every iteration; CVXPY's DPP makes a table of pairs by pairs; Ipopt went
#: on far beyond its time limit on top-arms with 47500 pairs.
LARGEST_SLSQP, MANY_PAIRS, IPOPTS = 50, 10_000, ("cyipopt warm", "cyipopt cold", "Pyomo bridge")

#: Rounds over all contestants; the largest gap of a certified answer, and the largest deviation of an uncertified one.
ROUNDS, CERTIFIED_GAP, LARGEST_DEVIATION = 5, 1e-9, 1e-6


@dataclass
class Racer:
    """A contestant during the race: its entry, what it returned last, its times, and how long its start took."""

    solver: str
    entry: Entry
    outcome: Any
    start_seconds: float
    times: list[float] = field(default_factory=list)
    error: str | None = None


class Forecast:
    """What a contestant will take, from what it took on the next smaller instance."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str, str], tuple[int, float, float]] = {}

    def note(self, row: Row, start_seconds: float) -> None:
        """Remember a time."""
        if row.seconds is not None:
            self._last[row.family, row.task, row.solver] = (row.pairs, row.seconds, start_seconds)

    def reason_to_skip(self, row: Row) -> str | None:
        """Why a contestant should not run, if it should not."""
        if row.solver == "SLSQP scaled" and row.arms > LARGEST_SLSQP:
            return f"dense, only up to K = {LARGEST_SLSQP}"
        if row.solver == DPP and row.pairs > MANY_PAIRS:
            return f"CVXPY's table of parameters would not fit the memory, only up to {MANY_PAIRS} pairs"
        if row.solver in IPOPTS and row.pairs > MANY_PAIRS:
            return "tried apart: 18 s a warm solve (gaussian), unfinished after about 4 minutes (bernoulli)"
        if (row.family, row.task, row.solver) not in self._last:
            return None
        pairs, seconds, start = self._last[row.family, row.task, row.solver]
        growth = row.pairs / pairs
        expected, first = seconds * growth**1.2, start * growth
        if expected > TIME_LIMIT:
            return f"a solve would take about {duration(expected)}"
        return f"building would take about {duration(first)}" if first > 2 * TIME_LIMIT else None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print the table and the summary, write the files."""
    parser = argparse.ArgumentParser(description="The solver benchmark.")
    parser.add_argument("--quick", action="store_true", help="up to 50 arms, fewer repeats, about a minute")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="FOLDER", help="for CSV and figure")
    arguments = parser.parse_args(argv)
    require_matplotlib()
    warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # the certificate tells
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {arguments.out}: cannot be made ({error.strerror})")
    sizes = [arms for arms in SIZES if not arguments.quick or arms <= 50]
    rows = list(shoot_out(sizes, 0.15 if arguments.quick else 0.4))
    if not arguments.quick:
        rows += list(growth())
    print(describe(rows))
    write_csv(arguments.out / "solver_benchmark.csv", rows)
    write_figure([row for row in rows if row.seconds is not None], arguments.out / "solver_benchmark")
    print("\nWhat it shows\n" + "\n".join(summary(rows, sizes)))
    print("\nWhere the microseconds of the public call go\n" + "\n".join(lines()))
    return 0


# measuring


def shoot_out(sizes: Sequence[int], budget: float) -> Iterator[Row]:
    """Every contestant on every instance; each gets so many seconds, and at least one solve."""
    progress("compiling")
    start(NATIVE, native_compiled, make_instance("gaussian", "ranking", 3))
    forecast = Forecast()
    for family in FAMILIES:
        for task in TASKS:
            for arms in sizes:
                progress(f"{family} {task} K = {arms}")
                yield from race(family, task, make_instance(family, task, arms), forecast, budget)
    progress("")


def race(family: str, task: str, instance: Instance, forecast: Forecast, budget: float) -> list[Row]:
    """Start every contestant, run the rounds, certify the answers."""
    blank = Row(family, task, len(instance.model.means), len(instance.problem.statements), "", "")
    rows: dict[str, Row] = {}
    racers: list[Racer] = []
    for solver, prepare in CONTESTANTS.items():
        row = rows[solver] = replace(blank, solver=solver)
        reason = forecast.reason_to_skip(row)
        if reason is not None:
            rows[solver] = replace(row, status="skipped", note=reason)
            continue
        try:
            racers.append(start(solver, prepare, instance))
        except (CaetError, MemoryError) as error:
            rows[solver] = replace(row, status="failed", note=str(error))
    run_rounds(racers, budget)
    for racer in racers:
        row = rows[racer.solver] = finish(rows[racer.solver], racer)
        forecast.note(row, racer.start_seconds)
    return with_ratios(list(rows.values()))


def start(solver: str, prepare: Callable[[Instance], Entry], instance: Instance) -> Racer:
    """Build what is built once, and solve once outside the clock."""
    started = perf_counter()
    entry = prepare(instance)
    outcome = entry.call()
    return Racer(solver, entry, outcome, perf_counter() - started)


def run_rounds(racers: Sequence[Racer], budget: float) -> None:
    """Time the racers in turns; who needs more than the whole budget for one call has one turn."""
    for turn in range(ROUNDS):
        for racer in racers:
            if turn == 0 or (racer.error is None and racer.times[0] * racer.entry.solves < budget):
                try:
                    take_turn(racer, budget / ROUNDS)
                except CaetError as error:
                    racer.error = str(error)


def take_turn(racer: Racer, seconds: float) -> None:
    """Call until the time is up, at least once."""
    end = perf_counter() + seconds
    while True:
        started = perf_counter()
        racer.outcome = racer.entry.call()
        now = perf_counter()
        racer.times.append((now - started) / racer.entry.solves)
        if now >= end:
            return


def finish(row: Row, racer: Racer) -> Row:
    """The median time, and what the last answer is worth."""
    if racer.error is not None:
        return replace(row, status="failed", note=racer.error)
    row = replace(row, seconds=median(racer.times), bytes=racer.entry.bytes, note=racer.entry.remark(racer.outcome))
    try:
        point = racer.entry.point(racer.outcome)
    except CaetError as error:
        return replace(row, status="failed", note=str(error))
    model, task = racer.entry.instance.model, racer.entry.instance.task
    question = ask(model, task)
    effort, weights, _ = point_in_model(question, point)
    found = certify(model, question.statements, effort, weights)
    deviation = relative_deviation(found.value, characteristic_time(model, task).value)
    if found.gap <= CERTIFIED_GAP:
        status = "certified"
    else:
        status = "uncertified" if deviation <= LARGEST_DEVIATION else "failed"
    return replace(row, gap=found.gap, deviation=deviation, status=status)


def with_ratios(rows: Sequence[Row]) -> list[Row]:
    """Each time in relation to native's."""
    native = next((row.seconds for row in rows if row.solver == NATIVE), None)
    return [row if row.seconds is None or native is None else replace(row, ratio=row.seconds / native) for row in rows]


def growth() -> Iterator[Row]:
    """Native alone on many arms; the sizes of one family and task take turns."""
    for family in FAMILIES:
        for task in GROWTH_TASKS:
            progress(f"growth, {family} {task}")
            instances = [make_instance(family, task, arms) for arms in GROWTH_SIZES]
            racers = [start(GROWTH, partial(native_compiled, gap=GROWTH_GAP), instance) for instance in instances]
            run_rounds(racers, 2.0)
            for racer, instance in zip(racers, instances, strict=True):
                arms, pairs = len(instance.model.means), len(instance.problem.statements)
                yield finish(Row(family, task, arms, pairs, GROWTH, ""), racer)
    progress("")


def progress(text: str) -> None:
    """Where the benchmark is, on stderr when that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
