"""``caet-opt sweep``: a study on this machine or on a Dask cluster, into a folder that loses nothing."""

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from time import perf_counter
from typing import Any

from caet_opt.cli.arguments import INTERRUPTED, explain, worker_count
from caet_opt.cli.output import add_width, list_entries, make_folder, say, show
from caet_opt.common.numbers import are_typed, duration, in_full, table, write_level
from caet_opt.errors import InputError
from caet_opt.exploring.prediction import rule_of, say_measured
from caet_opt.exploring.settings import RUNS, SEED
from caet_opt.presenting.figures.sheet import save
from caet_opt.presenting.figures.study import study_figure
from caet_opt.presenting.figures.style import require_matplotlib
from caet_opt.presenting.progress import Bar, clock
from caet_opt.simulating.pool import cores
from caet_opt.simulating.studies.blocks import Block, run_locally
from caet_opt.simulating.studies.cells import Cell, find_varying, make_cells
from caet_opt.simulating.studies.cluster import ClusterError, connect, run_on_cluster
from caet_opt.simulating.studies.store import Store, StoreError, require_pyarrow
from caet_opt.simulating.studies.study import FIXED, GRID, Study, read_study
from caet_opt.simulating.studies.sweep import Engine, Progress, expected_rounds, plan, seconds_per_run, sweep

DESCRIPTION = """\
Run a study: every model at every delta with every combination of settings (a cell), in
blocks of runs that are stored as they finish. To resume after any interruption, run the
same command again: it computes only what is missing. A changed study adds cells and keeps
the others. Run i of a cell equals run i of caet-opt simulate with the same seed. A block
that fails three times is reported, and the exit status is 1."""

EXAMPLES = f"""\
a study:
  title = "Two instances"
  models = ["../models/paper-*.toml"]     # files, folders, patterns; relative to this file
  log_inv_deltas = {{from = 1, to = 100, points = 7, spacing = "log"}}
                                          # or a list, or deltas = [0.1, 0.01]
  threshold = ["deviational", "mixture"]  # a setting: one value, or a list
  policy = ["caet", "uniform"]            # or "all": every policy that covers the task
  theta = 1.2
  runs = 1000                             # runs of every cell ({RUNS})
  seed = 1                                # seed of every cell ({SEED})
  block = 50                              # runs stored together
  task = "best-arm"                       # instead of the models' own

settings that take one value or a list; the grid has every combination:
{list_entries({name: explain(setting) for name, setting in GRID.items()})}

settings that take one value:
{list_entries({name: explain(setting) for name, setting in FIXED.items()})}

examples:
  caet-opt sweep study.toml --dry-run
  caet-opt sweep study.toml
  caet-opt sweep study.toml --out results/second --workers 2 --figures
  caet-opt sweep study.toml --scheduler tcp://localhost:8786
  caet-opt table results/study
  caet-opt report results/study -o report.html
"""


#: What is said of a sweep as JSON, of all that its progress knows.
REPORTED = ("runs", "runs_stored", "blocks", "blocks_stored", "damaged", "failures")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("study", metavar="STUDY.toml", help="the study file (see below)")
    parser.add_argument("--out", metavar="FOLDER", help="where the results go (results/NAME-OF-STUDY)")
    parser.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on this Dask scheduler, as tcp://HOST:PORT")
    parser.add_argument("--dry-run", action="store_true", help="print the cells and the estimated time; run nothing")
    parser.add_argument("--figures", action="store_true", help="also draw cost and bounds, as PNG and PDF")
    add_width(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Check everything, run what is missing, and say what became of it."""
    if arguments.scheduler is not None and arguments.workers is not None:
        raise InputError("give --workers, for this machine, or --scheduler, not both")
    require_pyarrow()
    if arguments.figures:
        require_matplotlib()
    study = read_study(arguments.study)
    cells = make_cells(study)
    folder = arguments.out or f"results/{study.name}"
    if arguments.dry_run:
        show_plan(study, cells, Store(folder), arguments)
        return 0
    if arguments.scheduler is not None:
        engine = partial(run_on_cluster, client=connect(arguments.scheduler))
    else:
        engine = partial(run_locally, workers=arguments.workers or cores())
    store, start = Store(make_folder(folder, "--out")), perf_counter()
    progress, ended = run_missing(study, cells, store, engine)
    if ended is not None:
        return ended
    record: dict[str, Any] = {"study": study.name, "folder": str(store.folder), "cells": len(cells)}
    record |= {name: getattr(progress, name) for name in REPORTED} | {"seconds": perf_counter() - start}
    canvas = study_figure(store.folder, width=arguments.width) if arguments.figures else None
    record["figures"] = [] if canvas is None else [str(file) for file in save(canvas, store.folder / "cost")]
    show(arguments.json, lambda: record, lambda: say_stored(record))
    return 1 if progress.failures else 0


def run_missing(study: Study, cells: Sequence[Cell], store: Store, engine: Engine) -> tuple[Progress, int | None]:
    """Run what is missing behind a bar, and say on stderr what went wrong; what was done, and the exit status if
    something ended it early."""
    progress, ended, status = Progress(), "", None
    names = name_cells(cells)
    with Bar(0, "blocks") as bar:
        progress.tell = follow(progress, names, bar)
        try:
            sweep(study, cells, store, engine, progress)
        except KeyboardInterrupt:
            ended, status = "interrupted", INTERRUPTED
        except (StoreError, ClusterError) as error:
            ended, status = f"error: {error}", 1
    for failure in progress.failures:
        first, why = failure["first"], " ".join(failure["error"].split())
        which = f"{names[failure['cell']]}, seed {failure['seed']}, runs {first} to {first + failure['runs'] - 1}"
        say(f"caet-opt: gave up on {which}: {why}", to_stderr=True)
    if ended:  # the end may have come between a block's file and its being counted
        files = store.names()
        stored = f"{sum(job.block.name in files for job in progress.jobs)} of {progress.blocks} blocks are stored"
        say(f"caet-opt: {ended}; {stored}; run the same command to resume", to_stderr=True)
    return progress, status


def say_stored(done: Mapping[str, Any]) -> str:
    """What is stored, and what this sweep did for it."""
    folder, work = done["folder"], "nothing was missing"
    if done["blocks"]:
        work = f"{done['blocks_stored']} blocks computed in {duration(done['seconds'])}"
    work += f", {done['damaged']} damaged files among them" if done["damaged"] else ""
    lines = [f"{folder}: {done['runs_stored']} of {done['runs']} runs of {done['cells']} cells are stored", work]
    lines += [f"written: {file}" for file in done["figures"]]
    return "\n".join([*lines, f"next: caet-opt table {folder}, caet-opt report {folder} -o report.html"])


def name_cells(cells: Sequence[Cell]) -> dict[str, str]:
    """The cells as people name them: model, delta, and the parameters in which some of them differ."""
    rows = [{"model": cell.model, "task": str(cell.entry.task), **cell.setting} for cell in cells]
    varied, names = find_varying(rows, itemgetter("model")), {}
    for cell in cells:
        level = write_level(cell.setting["log_inv_delta"])
        words = [f"{name} = {write_parameter(cell.setting[name])}" for name in varied]
        names[cell.id] = ", ".join([cell.model, level, *words])
    return names


def follow(progress: Progress, names: dict[str, str], bar: Bar) -> Callable[[Block | None], None]:
    """What tells the bar of every block that is stored or given up; of none when the work begins."""
    done: Counter[str] = Counter()
    of_cell: Counter[str] = Counter()

    def tell(block: Block | None) -> None:
        if block is None:
            of_cell.update(job.block.cell for job in progress.jobs)
            bar.expect(progress.blocks, sum(work_of(job.block) for job in progress.jobs))
            return
        done[block.cell] += 1
        bar.step(work_of(block), f"{done[block.cell]}/{of_cell[block.cell]} of {names[block.cell]}")

    def work_of(block: Block) -> float:
        return block.runs * progress.rounds[block.cell]

    return tell


def show_plan(study: Study, cells: Sequence[Cell], store: Store, arguments: argparse.Namespace) -> None:
    """Print the cells, the runs and the time that they may take; write nothing."""
    progress, stock = Progress(), store.take_stock()
    stock.check_versions(store.folder, cells)
    plan(progress, study, cells, stock.whole)
    per_run = seconds_per_run(cells)
    total = sum(job.block.runs * per_run[job.block.cell] for job in progress.jobs)
    workers = arguments.workers or cores()
    rows = [
        {"cell": cell.id, "model": cell.model, "delta": cell.experiment.parameters.delta}
        | {**cell.setting, "rounds": expected_rounds(cell.experiment)}
        | {"predicted_cost": cell.experiment.predicted_cost, "seconds": cell.runs * per_run[cell.id]}
        for cell in cells
    ]
    predicted = {rule_of(cell.experiment.parameters) for cell in cells if cell.experiment.predicted_cost is not None}
    near = f"in tests of this prediction, mean costs were {say_measured(*predicted)} the" if predicted else ""
    nearness = f"{near} predicted cost\n" if near else ""
    summary = {"runs": progress.runs, "runs_stored": progress.runs_stored, "blocks": progress.blocks}
    shared = "" if arguments.scheduler else f", {clock(total / workers)} with {workers} workers"
    show(
        arguments.json,
        lambda: {"cells": rows, **summary, "core_seconds": total, "workers": workers},
        lambda: (
            f"{tabulate(rows, [cell.runs for cell in cells])}\n\n{nearness}{len(cells)} cells, {progress.runs} runs, "
            f"{progress.runs_stored} of them stored in {store.folder}\n{progress.blocks} blocks to compute, about "
            f"{clock(total)} on one core{shared}; nothing was run"
        ),
    )


def tabulate(rows: Sequence[dict[str, Any]], runs: Sequence[int]) -> str:
    """The cells with those parameters in which they differ."""
    shown, hidden = ("delta", "log_inv_delta")[:: 1 if are_typed(row["log_inv_delta"] for row in rows) else -1]
    usual = ("model", shown, "threshold")
    names = [name for name in rows[0] if name in usual or len({row[name] for row in rows}) > 1]
    names = [name for name in names if name not in ("cell", hidden, "rounds", "predicted_cost", "seconds")]
    heads = [name.replace("log_inv_delta", "log(1/delta)") for name in names]
    heads += ["runs", "rounds each", "predicted cost", "time"]
    cells = [
        [
            *(write_parameter(row[name]) for name in names),
            *(str(number), f"{row['rounds']:.3g}", write_parameter(row["predicted_cost"]), clock(row["seconds"])),
        ]
        for row, number in zip(rows, runs, strict=True)
    ]
    left = [index for index, name in enumerate(names) if isinstance(rows[0][name], str)]
    return table(heads, cells, left)


def write_parameter(value: Any) -> str:
    """A parameter as text."""
    return "-" if value is None else value if isinstance(value, str) else in_full(f"{value:.6g}")
