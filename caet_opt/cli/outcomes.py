"""Outcomes of pulls: one on the command line, or many as CSV."""

import csv
import sys
from collections.abc import Sequence
from io import StringIO
from typing import Any

from caet_opt.cli.arguments import unshield
from caet_opt.common.exact import brief, read_double, read_whole
from caet_opt.common.files import MOST_TEXT, read_text
from caet_opt.errors import InputError
from caet_opt.live.experiment import COLUMNS
from caet_opt.presenting.tables.formats import plain_text

#: What a spreadsheet may put before the first cell: the mark of UTF-8.
MARK = "\ufeff"


def read_outcomes(words: Sequence[str], pull: int | None, cost: float | None) -> list[dict[str, Any]]:
    """The outcome of the command line, ARM and REWARD or REWARD alone, or those of standard input."""
    if not words and pull is None and cost is None:
        return read_csv(sys.stdin)
    if len(words) != 2 and not (len(words) == 1 and pull is not None):
        raise InputError("give ARM and REWARD, or REWARD with --pull, or many outcomes as CSV on standard input")
    arm, reward = words if len(words) == 2 else (None, words[0])
    return [{"pull": pull, "arm": arm, "reward": read_number(unshield(reward), "REWARD"), "cost": cost}]


def read_counts(words: Sequence[str], others: Any) -> list[tuple[str, int, int]]:
    """Arms with their successes and trials: each word is one, or the name of a CSV file of them or of outcomes."""
    if others.outcome or others.pull is not None or others.cost is not None:
        raise InputError("--counts cannot be combined with ARM, REWARD, --pull or --cost; leave these out")
    found: list[tuple[str, int, int]] = []
    for word in words:
        parts = [part.strip() for part in word.rsplit(",", 2)]
        numbers = [read_whole(part) for part in parts[1:]]
        if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
            found.append((parts[0], numbers[0], numbers[1]))
        elif len(parts) > 1:
            raise InputError(f"--counts must be ARM,SUCCESSES,TRIALS, as a,90,1000, got {brief(word)!r}")
        else:
            found += count_rows(word)
    return found


def count_rows(path: str) -> list[tuple[str, int, int]]:
    """Counts from the rows of a CSV file; a row with a reward is one trial."""
    header, *rows = list_rows(read_text(path), path) or [[]]
    if sorted(header) not in (["arm", "successes", "trials"], ["arm", "reward"]):
        raise InputError(
            f"{path}: the CSV needs a header with arm, successes and trials, or arm and reward, got {header}"
        )
    found = []
    for line, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InputError(f"{path}: row {line}: {len(row)} cells, but the header has {len(header)}")
        cells = {name: text.strip() for name, text in zip(header, row, strict=True)}
        told = {"successes": cells["reward"], "trials": "1"} if "reward" in cells else cells
        numbers = [read_whole(told[name]) for name in ("successes", "trials")]
        if numbers[0] is None or numbers[1] is None:
            raise InputError(
                f"{path}: row {line}: counts and rewards must be whole numbers, got {row}; a graded outcome is "
                "recorded for a pull that next handed out"
            )
        found.append((plain_text(cells["arm"]), numbers[0], numbers[1]))
    return found


def list_rows(text: str, what: str) -> list[list[str]]:
    """The rows of a CSV text, the header without spaces around its names."""
    try:
        rows = [row for row in csv.reader(StringIO(text.removeprefix(MARK), newline="")) if row]
    except csv.Error as error:
        raise InputError(f"{what} is not CSV: {error}") from error
    return [[name.strip() for name in rows[0]], *rows[1:]] if rows else []


def read_csv(source: Any) -> list[dict[str, Any]]:
    """Outcomes as CSV with a header, whose columns are those of outcomes, each once."""
    if source.isatty():
        raise InputError("give ARM and REWARD, or many outcomes as CSV on standard input")
    try:
        text = source.read(MOST_TEXT + 1)
    except UnicodeDecodeError as error:
        raise InputError(f"standard input is not CSV: {error}") from error
    if len(text) > MOST_TEXT:
        raise InputError(f"standard input has more than {MOST_TEXT // 10**6} MB; record fewer outcomes at once")
    rows = list_rows(text, "standard input")
    header = rows[0] if rows else []
    if not set(header) <= set(COLUMNS) or "reward" not in header or not {"pull", "arm"} & set(header):
        raise InputError(f"the CSV needs a header with reward, pull or arm, and cost if observed, got {header}")
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"the CSV has the column {twice[0]} twice; remove one of them")
    return [read_row(header, row, line) for line, row in enumerate(rows[1:], start=1)]


def read_row(header: Sequence[str], row: Sequence[str], line: int) -> dict[str, Any]:
    """An outcome from a row of text; an empty cell says nothing."""
    if len(row) != len(header):
        raise InputError(f"outcome {line}: {len(row)} cells, but the header has {len(header)}")
    told: dict[str, Any] = {name: text.strip() for name, text in zip(header, row, strict=True) if text.strip()}
    if "arm" in told:
        told["arm"] = plain_text(told["arm"])
    for name in ("reward", "cost"):
        if name in told:
            told[name] = read_number(told[name], f"outcome {line}: {name}")
    if "pull" in told:
        number = read_whole(told["pull"])
        if number is None:
            raise InputError(f"outcome {line}: pull must be a whole number, got {brief(told['pull'])!r}")
        told["pull"] = number
    return told


def read_number(text: str, what: str) -> float:
    """A number, or `InputError`."""
    try:
        return read_double(text)
    except ValueError as error:
        raise InputError(f"{what} must be a number, got {brief(text)!r}: {error}") from None
