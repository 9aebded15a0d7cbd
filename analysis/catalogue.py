"""The T* table of every model in a folder: python analysis/catalogue.py [FOLDER] [--solver NAME|PROFILE.toml]

Exit status 1 when a model cannot be solved or its T* is not the expected one; every other row is still shown.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from caet_opt.backends import DEFAULT_SOLVER
from caet_opt.characteristic import characteristic_time
from caet_opt.cli.formatting import certified, relative_deviation, table
from caet_opt.errors import CaetError
from caet_opt.modelfile import ModelFile, read_model
from caet_opt.result import CharacteristicTime

MODELS = Path(__file__).resolve().parent.parent / "models"

#: Largest relative deviation from an expected T*.
AGREEMENT = 1e-9

HEADERS = ["model", "family", "task", "K", "T*", "gap", "expected", "deviation", "solver", "ms"]


@dataclass(frozen=True)
class Row:
    """One model's line of the table, and what is wrong with it, if anything."""

    cells: list[str]
    complaint: str | None = None


def main(argv: Sequence[str] | None = None) -> int:
    """Solve every model of the folder and print the table."""
    parser = argparse.ArgumentParser(description="The T* table of every model in a folder.")
    parser.add_argument("folder", nargs="?", type=Path, default=MODELS, metavar="FOLDER")
    parser.add_argument("--solver", default=DEFAULT_SOLVER, metavar="NAME|PROFILE.toml")
    arguments = parser.parse_args(argv)
    paths = sorted(arguments.folder.glob("*.toml"))
    if not paths:
        parser.error(f"no model file (*.toml) in {arguments.folder}")
    rows = [row_of(path, arguments.solver) for path in with_progress(paths)]
    print(table(HEADERS, [row.cells for row in rows], left=(0, 1, 2, 8)))
    complaints = [row.complaint for row in rows if row.complaint]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def row_of(path: Path, solver: str) -> Row:
    """Solve one model; an error becomes its row."""
    try:
        entry = read_model(path)
        result = characteristic_time(entry.model, entry.task, solver=solver)
    except CaetError as error:
        return Row([path.stem, "failed", *[""] * (len(HEADERS) - 2)], f"{path.stem} failed: {error}")
    return solved_row(path.stem, entry, result)


def solved_row(name: str, entry: ModelFile, result: CharacteristicTime) -> Row:
    """The line of a solved model, with its deviation from the expected T*."""
    value, _ = certified(result.value, result.lower, result.upper, result.gap)
    cells = [name, str(entry.model.family), str(entry.task), str(len(entry.model.means)), value]
    cells += [f"{result.gap:.0e}"]
    expected, complaint = entry.characteristic_time, None
    if expected is None:
        cells += ["", ""]
    else:
        deviation = relative_deviation(result.value, expected)
        cells += [f"{expected:.12g}", f"{deviation:.0e}"]
        if not deviation <= AGREEMENT:
            complaint = f"{name}: T* = {result.value!r}, expected {expected!r}"
    return Row([*cells, result.solver, f"{1e3 * result.seconds:.1f}"], complaint)


def with_progress(paths: Sequence[Path]) -> Iterator[Path]:
    """The paths, with a counter on stderr when that is a terminal."""
    shown = sys.stderr.isatty()
    for index, path in enumerate(paths, start=1):
        if shown:
            print(f"\r\033[K{index}/{len(paths)} {path.stem}", end="", file=sys.stderr, flush=True)
        yield path
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
