"""``caet-opt compare``: models by solvers, each answer certified and each re-solve timed."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from caet_opt.cli.arguments import count
from caet_opt.cli.output import csv_text, output_file
from caet_opt.presenting.numbers import certified, duration, table
from caet_opt.presenting.progress import Bar

if TYPE_CHECKING:
    from caet_opt.bandits.modelfile import ModelFile
    from caet_opt.solving.compare import Measurement
    from caet_opt.solving.profiles import Profile

SUMMARY = "several models by several solvers: certified answers and times"

DESCRIPTION = """\
Solve every model with every solver: T*, its certified gap, the gap of the solver's
own point, iterations, and the median time of a re-solve with its ratio to the
fastest solver of the model. A solver that fails keeps its row."""

EXAMPLES = """\
examples:
  caet-opt compare models/
  caet-opt compare models/paper-instance-1.toml --solvers native ipopt --repeat 20
  caet-opt compare models/ --solvers solvers/*.toml --csv comparison.csv
  caet-opt compare models/top-arms.toml models/multi-bandit.toml --json
"""

HEADERS = ["model", "solver", "T*", "gap", "own gap", "iterations", "time", "ratio"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("models", nargs="+", metavar="MODELS", help="model files, or folders of model files")
    parser.add_argument(
        "--solvers", nargs="+", metavar="S", help="backends or profiles (TOML); by default every installed backend"
    )
    parser.add_argument("--repeat", type=count, default=5, metavar="N", help="timed re-solves (5); the median counts")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--csv", metavar="FILE", help="also write every row to this file")


def run(arguments: argparse.Namespace) -> int:
    """Read everything, then measure; the status is 1 when a row failed or certified intervals exclude each other."""
    models, solvers = read_models(arguments.models), read_solvers(arguments.solvers)
    write = None if arguments.csv is None else output_file(arguments.csv, "--csv")
    groups = list(measured(models, solvers, arguments.repeat))
    rows = [row for group in groups for row in group]
    if write is not None:
        write(csv_text([asdict(row) for row in rows]))
    apart = disagreements(groups)
    if arguments.json:
        record = {"repeat": arguments.repeat, "rows": [asdict(row) for row in rows], "disagreements": apart}
        print(json.dumps(record, allow_nan=False))
    else:
        print(describe(rows, apart))
    return 1 if apart or any(row.error for row in rows) else 0


def read_models(words: Sequence[str]) -> "dict[str, ModelFile]":
    """The models of the files and folders, by their shortest distinct names."""
    from caet_opt.bandits.modelfile import model_paths, read_model

    paths = list(dict.fromkeys(path for word in words for path in model_paths(Path(word))))
    stems = [path.stem for path in paths]
    return {path.stem if stems.count(path.stem) == 1 else str(path): read_model(path) for path in paths}


def read_solvers(words: Sequence[str] | None) -> "dict[str, Profile]":
    """The profiles of the names and paths, by these; an uninstalled solver that was named is an error."""
    from caet_opt.solving.backends import BACKENDS, installed_backends
    from caet_opt.solving.profiles import find_profile

    profiles = {word: find_profile(word) for word in words or installed_backends()}
    for profile in profiles.values():
        BACKENDS[profile.backend].require()
    names = [Path(word).name for word in profiles]
    return {
        Path(word).name if names.count(Path(word).name) == 1 else word: profile for word, profile in profiles.items()
    }


def measured(
    models: "Mapping[str, ModelFile]", solvers: "Mapping[str, Profile]", repeat: int
) -> "Iterator[list[Measurement]]":
    """The measurements of one model after the other."""
    from caet_opt.solving.compare import compare_solvers, prepare

    prepare(solvers)
    with Bar(len(models), "models") as bar:
        for name, entry in models.items():
            yield compare_solvers(name, entry, solvers, repeat)
            bar.step(note=name)


def disagreements(groups: "Sequence[Sequence[Measurement]]") -> list[str]:
    """The models whose certified intervals have no point in common."""
    from caet_opt.solving.compare import agree

    return [rows[0].model for rows in groups if not agree(rows)]


def describe(rows: "Sequence[Measurement]", apart: Sequence[str]) -> str:
    """The table, and below it what went wrong."""
    lines = [table(HEADERS, [cells(row) for row in rows], left=(0, 1))]
    notes = [f"{row.model} by {row.solver} failed: {row.error}" for row in rows if row.error]
    notes += [f"{name}: the certified intervals do NOT all overlap, at least one of them is wrong" for name in apart]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def cells(row: "Measurement") -> list[str]:
    """One line of the table."""
    if row.characteristic_time is None or row.lower is None or row.upper is None or row.gap is None:
        return [row.model, row.solver, "failed", *[""] * (len(HEADERS) - 3)]
    value, _ = certified(row.characteristic_time, row.lower, row.upper, row.gap)
    return [
        row.model,
        row.solver if row.answered_by in (None, Path(row.solver).stem) else f"{row.solver} ({row.answered_by})",
        value,
        f"{row.gap:.1e}",
        shown(row.solver_gap, ".1e"),
        str(row.iterations),
        shown(row.seconds),
        shown(row.ratio, ".3g"),
    ]


def shown(value: float | None, form: str | None = None) -> str:
    """A number in a format, or a duration; nothing for no number."""
    if value is None:
        return ""
    return duration(value) if form is None else format(value, form)
