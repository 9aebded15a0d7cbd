"""``caet-opt reproduce``: the paper's figure and two more, as PNG, PDF, CSV and a table."""

import argparse
from dataclasses import asdict
from typing import Any

from caet_opt.cli.arguments import count, seed, worker_count
from caet_opt.cli.output import csv_text, list_entries, make_folder, output_file
from caet_opt.errors import InputError, unknown_name
from caet_opt.presenting.figures import FIGURES
from caet_opt.presenting.figures.style import Effort, require_matplotlib, save
from caet_opt.presenting.progress import Bar
from caet_opt.simulating.pool import cores

DESCRIPTION = """\
Simulate what a figure shows and write it as PNG, PDF and CSV, with the table on the
terminal. Quick by default, a minute or two; --full has the paper's quality and takes
much longer. Rows are written as they are measured, so that an interrupted run keeps
what it has."""

EXAMPLES = f"""\
figures:
{list_entries({name: figure.title for name, figure in FIGURES.items()})}

examples:
  caet-opt reproduce figure-1
  caet-opt reproduce figure-1 --full --out results/full
  caet-opt reproduce regret --runs 200 --seed 7 --workers 2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("figure", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument("--full", action="store_true", help="the paper's quality: finer, and many more runs")
    parser.add_argument("--out", default="results", metavar="FOLDER", help="where the files go (results)")
    parser.add_argument("--runs", type=count, metavar="N", help="runs per point, instead of the setting's own")
    parser.add_argument("--seed", type=seed, default=1, metavar="S", help="seed of the simulation (1)")
    parser.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can fail, simulate, write, print."""
    if arguments.figure not in FIGURES:
        raise InputError(unknown_name("figure", arguments.figure, FIGURES))
    require_matplotlib()
    stem = make_folder(arguments.out, "--out") / arguments.figure
    figure = FIGURES[arguments.figure]
    effort = Effort(arguments.full, arguments.runs, arguments.seed, arguments.workers or cores())
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
            print(f"{figure.title}, seed {effort.seed}\n\n{figure.table(rows)}\n")
    files = [data, *save(figure.draw(rows), stem)]
    print(f"written: {', '.join(map(str, files))}")
    return 0
