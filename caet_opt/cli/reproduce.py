"""``caet-opt reproduce``: the paper's figure and two more, as PNG, PDF, CSV and a table."""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from caet_opt.bandits.files import write_whole
from caet_opt.cli.arguments import count, seed, worker_count
from caet_opt.cli.output import csv_text
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

EXAMPLES = """\
figures:
  figure-1     cost at stopping against the lower and the upper bound, both instances
  proportions  shares of the pulls against u* and, for free arms, one over their number
  regret       explore then commit with delta = 1/T against its asymptote

examples:
  caet-opt reproduce figure-1
  caet-opt reproduce figure-1 --full --out results/full
  caet-opt reproduce regret --runs 200 --seed 7 --workers 2
"""

#: Figures by name; the measuring behind them is imported only when one is asked for.
NAMES = ("figure-1", "proportions", "regret")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("figure", metavar="FIGURE", help=", ".join(NAMES))
    parser.add_argument("--full", action="store_true", help="the paper's quality: finer, and many more runs")
    parser.add_argument("--out", default="results", metavar="FOLDER", help="where the files go (results)")
    parser.add_argument("--runs", type=count, metavar="N", help="runs per point, instead of the setting's own")
    parser.add_argument("--seed", type=seed, default=1, metavar="S", help="seed of the simulation (1)")
    parser.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can fail, simulate, write, print."""
    if arguments.figure not in NAMES:
        raise InputError(unknown_name("figure", arguments.figure, NAMES))

    require_matplotlib()
    stem = writable_folder(arguments.out) / arguments.figure

    figure = FIGURES[arguments.figure]
    effort = Effort(arguments.full, arguments.runs, arguments.seed, arguments.workers or cores())
    plan = figure.plan(effort)
    data = stem.with_suffix(".csv")
    rows: list[Any] = []
    try:
        with Bar(len(plan), "runs", sum(plan)) as bar:
            measured = figure.measure(effort._replace(progress=bar.step))
            for row in keep_rows(measured, figure.columns, data):
                rows.append(row)
    finally:
        if rows:
            print(f"{figure.title}, seed {effort.seed}\n\n{figure.table(rows)}\n")
    files = [data, *save(figure.draw(rows), stem)]
    print(f"written: {', '.join(map(str, files))}")
    return 0


def writable_folder(path: str) -> Path:
    """The folder, made if need be; `InputError` when no file can be written in it."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise InputError(f"--out {path}: cannot be written ({error.strerror}); name a folder that can") from error


def keep_rows(rows: Iterable[Any], columns: Iterable[str], path: Path) -> Iterator[Any]:
    """The rows, each in the file before it is passed on; the file is whole at any time."""
    written: list[dict[str, Any]] = []
    for row in rows:
        written.append(asdict(row))
        try:
            write_whole(path, csv_text(written, columns))
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error
        yield row
