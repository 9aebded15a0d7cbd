"""``caet-opt reproduce``: the paper's figure and three more, as PNG, PDF, CSV and a table."""

import argparse
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from caet_opt.cli.arguments import count, seed, worker_count
from caet_opt.cli.output import add_width, csv_text, list_entries, make_folder, output_file, say
from caet_opt.cli.sweep import run_missing
from caet_opt.errors import InputError, unknown_name
from caet_opt.presenting.figures import FIGURES, Effort, Figure, StudyFigure, require_matplotlib
from caet_opt.presenting.figures.sheet import save
from caet_opt.presenting.figures.style import Width
from caet_opt.presenting.progress import Bar
from caet_opt.presenting.tables import result_columns as results
from caet_opt.simulating.pool import cores
from caet_opt.simulating.studies.blocks import run_locally
from caet_opt.simulating.studies.cells import make_cells
from caet_opt.simulating.studies.store import Store, require_pyarrow
from caet_opt.simulating.studies.stored_runs import summarise_results

DESCRIPTION = """\
Simulate what a figure shows, write it as PNG, PDF and CSV, and print the table. By
default this takes a minute or two; --full has the paper's quality and takes much longer.
Rows are written as they are measured, so an interrupted run keeps what it has. policies
is a study: run the same command again to resume it."""

EXAMPLES = f"""\
figures:
{list_entries({name: figure.title for name, figure in FIGURES.items()})}

examples:
  caet-opt reproduce figure-1 --width column
  caet-opt reproduce figure-1 --full --out results/full
  caet-opt reproduce regret --runs 200 --seed 7 --workers 2
  caet-opt reproduce policies
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("figure", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument("--full", action="store_true", help="the paper's quality: a finer grid and many more runs")
    parser.add_argument("--out", default="results", metavar="FOLDER", help="where the files go (results)")
    parser.add_argument("--runs", type=count, metavar="N", help="runs per point, instead of the figure's own number")
    parser.add_argument("--seed", type=seed, default=1, metavar="S", help="seed of the simulation (1)")
    parser.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")
    add_width(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can fail, simulate, write, print; the exit status."""
    if arguments.figure not in FIGURES:
        raise InputError(unknown_name("figure", arguments.figure, FIGURES))
    figure = FIGURES[arguments.figure]
    require_matplotlib()
    if isinstance(figure, StudyFigure):
        require_pyarrow()
    stem = make_folder(arguments.out, "--out") / arguments.figure
    effort = Effort(arguments.full, arguments.runs, arguments.seed, arguments.workers or cores())
    if isinstance(figure, StudyFigure):
        return run_study(figure, effort, stem, arguments.width)
    return run_figure(figure, effort, stem, arguments.width)


def run_figure(figure: Figure, effort: Effort, stem: Path, width: Width | None) -> int:
    """Simulate one point after the other."""
    plan = figure.plan(effort)
    data = stem.with_suffix(".csv")
    write = output_file(data, "--out")
    rows: list[Any] = []
    try:
        with Bar(len(plan), "runs", sum(plan)) as bar:
            for row in figure.measure(effort._replace(progress=bar.step)):
                write(csv_text([*map(asdict, rows), asdict(row)], figure.columns))
                rows.append(row)
    finally:
        if rows:
            say(f"{figure.title}, seed {effort.seed}\n\n{figure.table(rows)}\n")
    files = [data, *save(figure.draw(rows, width=width), stem)]
    say(f"written: {', '.join(map(str, files))}")
    return 0


def run_study(figure: StudyFigure, effort: Effort, stem: Path, width: Width | None) -> int:
    """Sweep what is missing into a folder, and show the cells that were asked for, whatever else is there."""
    data, study = stem.with_suffix(".csv"), figure.make_study(effort)
    write = output_file(data, "--out")
    cells, store = make_cells(study), Store(make_folder(stem, "--out"))
    progress, ended = run_missing(study, cells, store, partial(run_locally, workers=effort.workers))
    if ended is not None:
        return ended
    summary = summarise_results(store.folder)
    summary = summary[summary["cell"].isin([cell.id for cell in cells])]
    if not summary["runs"].any():
        return 1
    write(csv_text(results.rows(summary), [column.name for column in results.columns()]))
    say(f"{figure.title}, seed {effort.seed}\n\n{figure.table(summary)}\n")
    files = [data, *save(figure.draw(summary, width=width), stem)]
    say(f"written: {', '.join(map(str, files))}\nevery delta: caet-opt table {store.folder}")
    return 1 if progress.failures else 0
