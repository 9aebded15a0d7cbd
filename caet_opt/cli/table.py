"""``caet-opt table``: the characteristic times of many models, as a table for people, papers or machines."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from caet_opt.cli.arguments import INTERRUPTED, count, worker_count
from caet_opt.cli.models import read_list
from caet_opt.cli.output import Write, output_file
from caet_opt.errors import InputError, unknown_name
from caet_opt.presenting.progress import Bar
from caet_opt.presenting.tables import results
from caet_opt.presenting.tables.api import make_request, sources
from caet_opt.presenting.tables.columns import PROVEN, columns, conventions, usual_names
from caet_opt.presenting.tables.formats import FOR_PEOPLE, FORMATS
from caet_opt.presenting.tables.layout import ERROR, Column, Table, choose_columns
from caet_opt.presenting.tables.rows import KIND, SOLVER_FAILED, Interrupted, Request, Source, compute
from caet_opt.simulating.pool import cores
from caet_opt.simulating.studies.results import summarise_results
from caet_opt.solving.numbers import MOST_DIGITS

DESCRIPTION = """\
Solve every model and print one table: a row per model and, where asked for, per solver
and per delta. Every printed digit of T* is certified. A model that cannot be read or
solved keeps its row, with the error in place of numbers, and costs no other row. The
status is then 1 if a solver failed on a valid model, else 2. Ctrl-C prints what is
finished."""


def column_list() -> str:
    """The columns with their explanations, for the help."""
    return "\n".join(f"  {column.name:<23} {column.explanation}" for column in columns())


EXAMPLES = f"""\
columns (CSV and JSON have all of them unless told otherwise, as raw values, and always
the error; headings such as T* and u* are names too):
{column_list()}

formats:
  terminal, markdown     for people, with the conventions below the table
  latex                  a document with booktabs and siunitx that compiles as it is
  latex-fragment         the table alone, for \\input
  csv, json              raw values in full precision, vectors as JSON lists; JSON has
                         the conventions too

examples:
  caet-opt table models/
  caet-opt table models/ --delta 0.1,0.01 --format markdown
  caet-opt table models/paper-*.toml --columns 'model,T*,lower,upper,u*' --significant 8
  caet-opt table models/ --format latex --output table.tex
  caet-opt table models/top-arms.toml --solvers native clarabel --format json
  caet-opt table results/study --format latex
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "models", nargs="+", metavar="MODELS", help="model files, folders of them, or one folder of results"
    )
    rows = parser.add_argument_group("rows")
    rows.add_argument("--delta", nargs="+", metavar="D", help="a row with the lower bound for each, as 0.1,0.01")
    rows.add_argument("--solvers", nargs="+", metavar="S", help="a row for each backend or profile (native)")
    rows.add_argument("--digits", type=count, metavar="N", help="prove so many digits of T*, with exact inputs")
    rows.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")
    what = parser.add_argument_group("what to print")
    what.add_argument("--columns", nargs="+", metavar="C", help="columns, as 'model,T*,u*' (see below)")
    what.add_argument("--significant", type=count, metavar="N", help="at most so many digits of T* (15)")
    what.add_argument("--format", default="terminal", metavar="F", help="see below (terminal)")
    what.add_argument("--output", metavar="FILE", help="write the table to this file")


def run(arguments: argparse.Namespace) -> int:
    """Check everything, solve, print, and return the exit status."""
    if arguments.format not in FORMATS:
        raise InputError(unknown_name("format", arguments.format, FORMATS))
    if any(is_results(Path(word)) for word in arguments.models):
        return print_results(arguments)
    chosen = requested_columns(arguments)

    models = sources(arguments.models)
    names = [column.name for column in chosen]
    request = make_request(arguments.solvers or ["native"], read_deltas(arguments.delta), names, arguments.digits)
    write = requested_file(arguments)
    rows, finished = finished_rows(models, request, arguments.workers)
    notes = () if finished == len(models) else (f"Interrupted: {finished} of {len(models)} models are finished.",)
    table = Table(chosen, rows, conventions(names, arguments.digits is not None), caption(rows), notes)
    text = FORMATS[arguments.format](table)
    if write is not None and (rows or not notes):
        write(text)
    if write is None and (rows or not notes):
        print(text, end="")
    elif rows:
        print(f"written: {arguments.output}")
    return INTERRUPTED if notes else status(rows)


def requested_file(arguments: argparse.Namespace) -> Write | None:
    """What writes the file that is asked for, if one is."""
    return None if arguments.output is None else output_file(arguments.output, "--output")


def is_results(path: Path) -> bool:
    """Whether a path is a folder of results rather than models."""
    return (path / "manifest.json").exists()


def print_results(arguments: argparse.Namespace) -> int:
    """The same for a study's results: a row per cell."""
    if len(arguments.models) > 1:
        raise InputError("a table of results is of one folder, with no models beside it")
    for name in ("delta", "solvers", "digits", "workers"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name} is for models; results have been computed")
    known = results.columns(arguments.significant or MOST_DIGITS)
    write = requested_file(arguments)
    summary = summarise_results(arguments.models[0])
    rows = results.rows(summary)
    names = read_names(arguments.columns)
    if names is None:
        people = arguments.format in FOR_PEOPLE
        names = results.usual_names(summary) if people else [column.name for column in known]
    chosen = choose_columns(names, known)
    shown = [column.name for column in chosen]
    about = results.conventions(shown), results.caption(rows), results.notes(summary)
    text = FORMATS[arguments.format](Table(chosen, rows, *about))
    if write is not None:
        write(text)
    print(text if write is None else f"written: {arguments.output}\n", end="")
    return 0


def read_names(words: list[str] | None) -> list[str] | None:
    """Names of columns, separated by commas or spaces; None where none are asked for."""
    if words is None:
        return None
    names = [word.strip() for word in ",".join(words).split(",")]
    return [name for name in names if name]


def requested_columns(arguments: argparse.Namespace) -> tuple[Column, ...]:
    """The columns that are asked for, or the usual ones for people, or all for machines."""
    known = columns(arguments.significant or MOST_DIGITS)
    names = read_names(arguments.columns)
    if names is not None:
        return choose_columns(names, known)
    if arguments.format in FOR_PEOPLE:
        counts = len(arguments.delta or ()), len(arguments.solvers or ())
        return choose_columns(usual_names(*counts, proven=arguments.digits is not None), known)
    absent = PROVEN if arguments.digits is None else ()
    return tuple(column for column in known if column.name not in absent)


def read_deltas(words: list[str] | None) -> list[float]:
    """The deltas, separated by commas or spaces."""
    deltas = [] if words is None else [float(delta) for delta in read_list(words, "delta")]
    for delta in deltas:
        if not 0 < delta < 1:
            raise InputError(f"--delta must lie strictly between 0 and 1, got {delta:g}")
    return deltas


def finished_rows(
    models: "Sequence[Source]", request: "Request", workers: int | None
) -> tuple[list[dict[str, Any]], int]:
    """The rows, and of how many models they are: fewer than all after Ctrl-C, which is said on stderr."""
    with Bar(len(models), "models") as bar:
        try:
            return compute(models, request, workers or cores(), bar.step), len(models)
        except Interrupted as interrupt:
            rows, finished = interrupt.rows, interrupt.models
    print(f"caet-opt: interrupted, {finished} of {len(models)} models are finished", file=sys.stderr)
    return rows, finished


def caption(rows: Sequence[dict[str, Any]]) -> str:
    """What the table shows."""
    models = len({row["model"] for row in rows})
    return f"Characteristic times of {models} bandit model{'s'[: models != 1]}."


def status(rows: Sequence[dict[str, Any]]) -> int:
    """1 when a solver failed on a valid model, which bad input elsewhere does not excuse; else 2 for bad input."""
    kinds = {row[KIND] for row in rows if row.get(ERROR) is not None}
    return 1 if SOLVER_FAILED in kinds else 2 if kinds else 0
