"""Outcomes of pulls: one on the command line, or many as CSV."""

import csv
import sys
from collections.abc import Sequence
from io import StringIO
from typing import Any

from caet_opt.cli.arguments import unshield
from caet_opt.common.exact import brief, read_double, read_whole
from caet_opt.common.files import MOST_TEXT
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


def read_csv(source: Any) -> list[dict[str, Any]]:
    """Outcomes as CSV with a header, whose columns are those of outcomes, each once."""
    if source.isatty():
        raise InputError("give ARM and REWARD, or many outcomes as CSV on standard input")
    try:
        text = source.read(MOST_TEXT + 1)
        if len(text) > MOST_TEXT:
            raise InputError(f"standard input has more than {MOST_TEXT // 10**6} MB; record fewer outcomes at once")
        rows = [row for row in csv.reader(StringIO(text.removeprefix(MARK), newline="")) if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"standard input is not CSV: {error}") from error
    header = [name.strip() for name in rows[0]] if rows else []
    if not set(header) <= set(COLUMNS) or "reward" not in header or not {"pull", "arm"} & set(header):
        raise InputError(f"the CSV needs a header with reward, pull or arm, and cost if observed, got {header}")
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"the CSV has the column {twice[0]} twice; leave one of them")
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
