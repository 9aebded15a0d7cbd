"""Outcomes of pulls: one on the command line, or many as CSV."""

import csv
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from caet_opt.errors import InputError
from caet_opt.exploring.live.experiment import COLUMNS
from caet_opt.presenting.tables.formats import plain_text


def read_outcomes(words: Sequence[str], pull: int | None, cost: float | None) -> list[dict[str, Any]]:
    """The outcome of the command line, ARM and REWARD or REWARD alone, or those of standard input."""
    if not words and pull is None and cost is None:
        return read_csv(sys.stdin)
    if len(words) != 2 and not (len(words) == 1 and pull is not None):
        raise InputError("give ARM and REWARD, or REWARD with --pull, or many outcomes as CSV on standard input")
    arm, reward = words if len(words) == 2 else (None, words[0])
    return [{"pull": pull, "arm": arm, "reward": read_number(reward, "REWARD"), "cost": cost}]


def read_csv(source: Any) -> list[dict[str, Any]]:
    """Outcomes as CSV with a header."""
    if source.isatty():
        raise InputError("give ARM and REWARD, or many outcomes as CSV on standard input")
    try:
        reader = csv.DictReader(source, restkey="")
        header = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = header
        if not set(header) <= set(COLUMNS) or "reward" not in header or not {"pull", "arm"} & set(header):
            raise InputError(f"the CSV needs a header with reward, pull or arm, and cost if observed, got {header}")
        return [read_row(row, line) for line, row in enumerate(reader, start=1)]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"standard input is not CSV: {error}") from error


def read_row(row: Mapping[str, Any], line: int) -> dict[str, Any]:
    """An outcome from a row of text; an empty cell says nothing."""
    if "" in row:
        raise InputError(f"outcome {line}: more cells than the header has")
    told: dict[str, Any] = {name: text.strip() for name, text in row.items() if text is not None and text.strip()}
    if "arm" in told:
        told["arm"] = plain_text(told["arm"])
    for name in ("reward", "cost"):
        if name in told:
            told[name] = read_number(told[name], f"outcome {line}: {name}")
    if "pull" in told:
        if not told["pull"].isdecimal():
            raise InputError(f"outcome {line}: pull must be a whole number, got {told['pull']!r}")
        told["pull"] = int(told["pull"])
    return told


def read_number(text: str, what: str) -> float:
    """A number, or `InputError`."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{what} must be a number, got {text.strip()!r}") from None
