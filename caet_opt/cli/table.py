"""``caet-opt table``: the characteristic times of many models, as a table for people, papers or machines."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from caet_opt.cli.arguments import INTERRUPTED, check_delta, count, plain_text, worker_count
from caet_opt.cli.models import read_list
from caet_opt.cli.output import list_entries, output_file
from caet_opt.common.files import note_input
from caet_opt.common.numbers import MOST_DIGITS
from caet_opt.errors import InputError, unknown_name
from caet_opt.presenting.progress import Bar
from caet_opt.presenting.tables import result_columns as results
from caet_opt.presenting.tables.api import make_request, sources
from caet_opt.presenting.tables.formats import FOR_PEOPLE, FORMATS
from caet_opt.presenting.tables.layout import ERROR, Column, Table, choose_columns
from caet_opt.presenting.tables.time_columns import HALF, PAPER_DIGITS, PROVEN, columns, conventions, usual_names
from caet_opt.presenting.tables.time_rows import (
    BAD_INPUT,
    KIND,
    NOT_PROVEN,
    SOLVER_FAILED,
    Interrupted,
    Source,
    compute,
)
from caet_opt.simulating.pool import cores
from caet_opt.simulating.studies.stored_runs import summarise_results
from caet_opt.solving.backends import DEFAULT_SOLVER

DESCRIPTION = """\
Solve every model and print one table, with a row for each model and, if you ask, for each
solver and delta. Every printed digit of T* is certified. A model that cannot be read or
solved keeps its row, with the error in place of numbers; the exit status is then 1 if a
solver failed on a valid model, else 2. --output writes no file if a model is invalid.
Ctrl-C prints the rows so far."""

EXAMPLES = f"""\
columns (by name, or by heading such as T* and u*; CSV and JSON have raw values, of all
columns unless you choose some, and always the error):
{list_entries({column.name: column.explanation for column in columns()})}

formats:
  terminal, markdown     for people, with the conventions below the table
  latex                  a complete document, which uses booktabs and siunitx
  latex-fragment         only the table, for \\input
  csv, json              raw values in full precision, vectors as JSON lists; JSON has
                         the conventions too

examples:
  caet-opt table models/
  caet-opt table models/ --delta 0.1,0.01 --format markdown
  caet-opt table models/paper-*.toml --columns 'model,T*,lower,upper,u*' --significant 8
  caet-opt table models/ --format latex --output table.tex
  caet-opt table models/paper-*.toml --format latex-fragment --caption "Times of the paper" --label tab:times
  caet-opt table models/top-arms.toml --solvers native clarabel --format json
  caet-opt table results/study --format latex
"""

#: How many rows without numbers are named on stderr.
MOST_SAID = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "models",
        nargs="+",
        metavar="MODELS",
        help="model files, folders of model files or names that caet-opt models lists; or one folder of results",
    )
    rows = parser.add_argument_group("rows")
    rows.add_argument(
        "--delta", nargs="+", metavar="D", help="add a row with the lower bound for each delta, as 0.1,0.01"
    )
    rows.add_argument(
        "--limit",
        action="append",
        metavar="L",
        help="replace every model's limits, as pulls:leader=0.5; may be repeated",
    )
    rows.add_argument("--solvers", nargs="+", metavar="S", help=f"a row for each backend or profile ({DEFAULT_SOLVER})")
    rows.add_argument("--digits", type=count, metavar="N", help="prove this many digits of T*, from exact inputs")
    rows.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")
    what = parser.add_argument_group("what to print")
    what.add_argument("--columns", nargs="+", metavar="C", help="columns to print, as 'model,T*,u*' (see below)")
    digits = f"most digits of any number (T* {MOST_DIGITS}, in LaTeX {PAPER_DIGITS}; others fewer)"
    what.add_argument("--significant", type=count, metavar="N", help=digits)
    what.add_argument(
        "--caption", type=plain_text, metavar="TEXT", help="caption of the table; for LaTeX, written in LaTeX"
    )
    what.add_argument("--label", metavar="KEY", help="LaTeX label of the table, as tab:times")
    what.add_argument("--no-notes", action="store_true", help="leave out what is said below the table")
    what.add_argument("--format", default="terminal", metavar="F", help="output format (terminal; see below)")
    what.add_argument("--output", metavar="FILE", help="write the table to this file")


def run(arguments: argparse.Namespace) -> int:
    """Check everything, solve, print, and return the exit status."""
    if arguments.format not in FORMATS:
        raise InputError(unknown_name("format", arguments.format, FORMATS))
    check_caption(arguments)
    of_results = any((Path(word) / "manifest.json").exists() for word in arguments.models)
    models = [] if of_results else sources(arguments.models)
    for model in models:
        if isinstance(model.where, Path):
            note_input(model.where)  # worker processes read it
    write = output_file(arguments.output, "--output")
    table, status = tabulate_results(arguments) if of_results else tabulate_models(arguments, models)
    if arguments.output is not None:
        check_rows(table.rows, arguments.output)
    if table.rows or status != INTERRUPTED:
        if arguments.caption is not None:
            table = replace(table, caption=arguments.caption, captioned=True)
        if arguments.no_notes:
            table = replace(table, conventions={}, notes=())
        text = FORMATS[arguments.format](replace(table, label=arguments.label or ""))
        write(text)
        print(text if arguments.output is None else f"written: {arguments.output}\n", end="")
    return status


def check_caption(arguments: argparse.Namespace) -> None:
    """Raise `InputError` for a caption or a label that the format has no place for, or LaTeX no use of."""
    if arguments.caption is not None and arguments.format not in FOR_PEOPLE:
        raise InputError(f"--caption is for tables that people read: {', '.join(sorted(FOR_PEOPLE))}")
    if arguments.label is None:
        return
    if not arguments.format.startswith("latex"):
        raise InputError("--label is for --format latex and latex-fragment")
    if not re.fullmatch(r"[A-Za-z0-9:._/+-]+", arguments.label):
        raise InputError(f"--label must be letters, digits and any of : . _ / + -, got {arguments.label!r}")


def check_rows(rows: Sequence[Mapping[str, Any]], output: str) -> None:
    """Raise `InputError` where a row of a file would have an error in place of numbers because its model is wrong.

    What a solver could not certify is a finding: it keeps its row in the file, and is said on stderr.
    """
    failed = [row for row in rows if row.get(ERROR) is not None]
    if not failed:
        return
    said = [f"{row.get('file', row['model'])}: {' '.join(row[ERROR].split())}" for row in failed[:MOST_SAID]]
    reasons = "; ".join(said) + (f"; and {len(failed) - MOST_SAID} more" if len(failed) > MOST_SAID else "")
    if any(row[KIND] == BAD_INPUT for row in failed):
        raise InputError(f"--output {output}: not written, because {reasons}")
    print(f"caet-opt: these rows of {output} have no numbers: {reasons}", file=sys.stderr)


def tabulate_models(arguments: argparse.Namespace, models: Sequence[Source]) -> tuple[Table, int]:
    """The table of models that are solved now, and the exit status."""
    chosen = choose_for_models(arguments)
    names = [column.name for column in chosen]
    deltas = [float(delta) for delta in read_list(arguments.delta, "delta")] if arguments.delta is not None else []
    for delta in deltas:
        check_delta(delta)
    request = make_request(arguments.solvers or [DEFAULT_SOLVER], deltas, names, arguments.digits)
    request = replace(request, limits=None if arguments.limit is None else tuple(arguments.limit))
    with Bar(len(models), "models") as bar:
        try:
            rows, finished = compute(models, request, arguments.workers or cores(), bar.step), len(models)
        except Interrupted as interrupt:
            rows, finished = interrupt.rows, interrupt.models
    if finished < len(models):
        print(f"caet-opt: interrupted, {finished} of {len(models)} models are finished", file=sys.stderr)
    notes: tuple[str, ...] = (
        () if finished == len(models) else (f"Interrupted: {finished} of {len(models)} models are finished.",)
    )
    unproven = note_unproven(rows)
    if arguments.format == "csv" or arguments.no_notes:  # then the table has no place for them
        for note in unproven:
            print(f"caet-opt: {note}", file=sys.stderr)
    count = len({row["model"] for row in rows})
    caption = f"Characteristic times of {count} bandit model{'s'[: count != 1]}."
    table = Table(chosen, rows, conventions(names, rows, arguments.digits is not None), caption, notes + unproven)
    kinds = {row[KIND] for row in rows if row.get(ERROR) is not None}
    # a solver that failed on a valid model is not excused by bad input elsewhere
    return table, INTERRUPTED if finished < len(models) else 1 if SOLVER_FAILED in kinds else 2 if kinds else 0


def note_unproven(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Which rows have certified digits where proven ones were asked for, and why."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.get(NOT_PROVEN) is not None:
            found.setdefault(row[NOT_PROVEN], {})[row["model"]] = None
    return tuple(f"Not proven, but certified: {', '.join(names)}; {reason}." for reason, names in found.items())


def tabulate_results(arguments: argparse.Namespace) -> tuple[Table, int]:
    """The same for a study's results: a row per cell."""
    if len(arguments.models) > 1:
        raise InputError("give one folder of results, and no models beside it")
    for name in ("delta", "limit", "solvers", "digits", "workers"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name} is for models; these results are already computed")
    paper = arguments.format.startswith("latex")
    known = results.columns(arguments.significant, **({"estimated": results.IN_PAPER} if paper else {}))
    summary = summarise_results(arguments.models[0])
    rows = results.rows(summary)
    names = read_names(arguments.columns)
    if names is None:
        people = arguments.format in FOR_PEOPLE
        names = results.usual_names(summary, paper) if people else [column.name for column in known]
    chosen = choose_columns(names, known)
    shown = [column.name for column in chosen]
    return Table(
        chosen, rows, results.conventions(shown, rows), results.caption(rows), results.notes(summary, shown)
    ), 0


def read_names(words: list[str] | None) -> list[str] | None:
    """Names of columns, separated by commas or spaces; None where none are asked for."""
    return None if words is None else [name for word in words for part in word.split(",") if (name := part.strip())]


def choose_for_models(arguments: argparse.Namespace) -> tuple[Column, ...]:
    """The columns that are asked for, or the usual ones for people, or all for machines."""
    paper = arguments.format.startswith("latex")
    known = columns(arguments.significant, **({"of_times": PAPER_DIGITS} if paper else {}))
    names = read_names(arguments.columns)
    if names is not None:
        return choose_columns(names, known)
    if arguments.format in FOR_PEOPLE:
        counts = len(arguments.delta or ()), len(arguments.solvers or ())
        return choose_columns(usual_names(*counts, arguments.digits is not None, paper), known)
    absent = (HALF, *(PROVEN if arguments.digits is None else ()))
    return tuple(column for column in known if column.name not in absent)
