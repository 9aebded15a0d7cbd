"""``caet-opt sweep``: a study on this machine or on a Dask cluster, into a folder that loses nothing."""

import argparse
import json
import sys
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from caet_opt.cli.arguments import worker_count
from caet_opt.cli.reproduce import writable_folder
from caet_opt.cli.simulate import INTERRUPTED
from caet_opt.cli.study_bar import StudyBar
from caet_opt.cli.study_plan import print_plan
from caet_opt.errors import InputError
from caet_opt.presenting.numbers import duration
from caet_opt.simulating.pool import cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caet_opt.simulating.studies.cells import Cell
    from caet_opt.simulating.studies.store import Store
    from caet_opt.simulating.studies.study import Study
    from caet_opt.simulating.studies.sweep import Engine, Progress

SUMMARY = "a grid of models, deltas and parameters, thousands of runs, here or on a cluster"

DESCRIPTION = """\
Run a study: every model at every delta with every choice of parameters, in blocks of
runs that are kept as they finish. The same command goes on where the last one ended,
however that ended, and computes only what is missing; a changed study adds cells and
keeps the others. Run i of a cell is run i of caet-opt simulate with the same seed,
whatever computed it. A block that fails three times is reported, and the status is 1."""

EXAMPLES = """\
a study:
  title = "Two instances"
  models = ["../models/paper-*.toml"]     # files, folders and patterns, from this file
  log_inv_deltas = {from = 1, to = 100, points = 7, spacing = "log"}
                                          # or a list, or deltas = [0.1, 0.01]
  threshold = ["deviational", "mixture"]  # one value or a list, as are theta, constant,
  theta = 1.2                             # r, r_prime, gamma0, tracking and cost_source;
                                          # the grid is their product
  runs = 1000                             # of every cell (100)
  seed = 1                                # of every cell (0)
  block = 50                              # runs that are kept together
  also: task, cost_distribution, max_rounds, outside_theory (as in simulate --help)

examples:
  caet-opt sweep study.toml --dry-run
  caet-opt sweep study.toml
  caet-opt sweep study.toml --out results/second --workers 2 --figures
  caet-opt sweep study.toml --scheduler tcp://localhost:8786
  caet-opt table results/study
  caet-opt report results/study -o report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("study", metavar="STUDY.toml", help="the study file, see below")
    parser.add_argument("--out", metavar="FOLDER", help="where the results go (results/ and the study's name)")
    parser.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler instead, as tcp://HOST:PORT")
    parser.add_argument("--dry-run", action="store_true", help="print the cells and an estimated time, run nothing")
    parser.add_argument("--figures", action="store_true", help="also draw cost and bounds, as PNG and PDF")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Check everything, run what is missing, and say what became of it."""
    from caet_opt.presenting.figures.style import require_matplotlib
    from caet_opt.simulating.studies.cells import make_cells
    from caet_opt.simulating.studies.parquet import require_pyarrow
    from caet_opt.simulating.studies.store import Store
    from caet_opt.simulating.studies.study import read_study

    if arguments.scheduler is not None and arguments.workers is not None:
        raise InputError("give --workers, processes of this machine, or --scheduler, not both")
    require_pyarrow()
    if arguments.figures:
        require_matplotlib()
    study = read_study(arguments.study)
    cells = make_cells(study)
    folder = arguments.out or f"results/{study.name}"
    if arguments.dry_run:
        print_plan(study, cells, Store(folder), arguments)
        return 0
    engine = requested_engine(arguments)
    return swept(study, cells, Store(writable_folder(folder)), engine, arguments)


def requested_engine(arguments: argparse.Namespace) -> "Engine":
    """What runs the blocks: the cluster, found to be there, or processes of this machine."""
    from caet_opt.simulating.studies.cluster import connect, run_on_cluster
    from caet_opt.simulating.studies.local import run_locally

    if arguments.scheduler is not None:
        return partial(run_on_cluster, client=connect(arguments.scheduler))
    return partial(run_locally, workers=arguments.workers or cores())


def swept(
    study: "Study", cells: "Sequence[Cell]", store: "Store", engine: "Engine", arguments: argparse.Namespace
) -> int:
    """Run what is missing; the exit status."""
    from caet_opt.simulating.studies.cluster import ClusterError
    from caet_opt.simulating.studies.store import StoreError
    from caet_opt.simulating.studies.sweep import Progress, sweep

    progress, start = Progress(), perf_counter()
    ended, status = "", 0
    bar = StudyBar(progress, cells)
    progress.tell = bar.tell
    with bar:
        try:
            sweep(study, cells, store, engine, progress)
        except KeyboardInterrupt:
            ended, status = "interrupted", INTERRUPTED
        except (StoreError, ClusterError) as error:
            ended, status = f"error: {error}", 1
    for failure in progress.failures:
        print(f"caet-opt: given up: {failure_line(failure, bar.names)}", file=sys.stderr)
    if ended:
        print(f"caet-opt: {ended}; {stored_line(store, progress)}, and the same command goes on", file=sys.stderr)
        return status
    show(study, store, progress, len(cells), perf_counter() - start, arguments)
    return 1 if progress.failures else 0


def stored_line(store: "Store", progress: "Progress") -> str:
    """How many blocks the folder has: the end may have come between a block's file and its being counted."""
    names = store.names()
    stored = sum(job.block.name in names for job in progress.jobs)
    return f"{stored} of {progress.blocks} blocks are stored"


def failure_line(failure: dict[str, Any], names: dict[str, str]) -> str:
    """A block that was given up."""
    first, last = failure["first"], failure["first"] + failure["runs"] - 1
    error = " ".join(failure["error"].split())
    return f"{names[failure['cell']]}, seed {failure['seed']}, runs {first} to {last}: {error}"


def show(
    study: "Study", store: "Store", progress: "Progress", cells: int, seconds: float, arguments: argparse.Namespace
) -> None:
    """Print what is stored and what this sweep did for it."""
    figures = drawn(store) if arguments.figures else []
    if arguments.json:
        record = {
            "study": study.name,
            "folder": str(store.folder),
            "cells": cells,
            "runs": progress.runs,
            "runs_stored": progress.runs_stored,
            "blocks": progress.blocks,
            "blocks_stored": progress.blocks_stored,
            "damaged": progress.damaged,
            "outdated": progress.outdated,
            "failures": progress.failures,
            "seconds": seconds,
            "figures": figures,
        }
        print(json.dumps(record, allow_nan=False))
        return
    print(f"{store.folder}: {progress.runs_stored} of {progress.runs} runs of {cells} cells are stored")
    damage = f", {progress.damaged} damaged files among them" if progress.damaged else ""
    damage += f", {progress.outdated} files of another version among them" if progress.outdated else ""
    done = (
        f"{progress.blocks_stored} blocks computed in {duration(seconds)}" if progress.blocks else "nothing was missing"
    )
    print(f"{done}{damage}")
    for line in figures:
        print(f"written: {line}")
    print(f"next: caet-opt table {store.folder}, caet-opt report {store.folder} -o report.html")


def drawn(store: "Store") -> list[str]:
    """The figures of the results, in their folder."""
    from caet_opt.presenting.figures.study import draw
    from caet_opt.presenting.figures.style import save
    from caet_opt.simulating.studies.results import summarise_results

    return [str(file) for file in save(draw(summarise_results(store.folder)), store.folder / "cost")]
