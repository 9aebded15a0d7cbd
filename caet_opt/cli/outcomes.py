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


Counts = list[tuple[str, int, int]]
Outcomes = list[dict[str, Any]]


#: Columns of a file of what was assigned elsewhere: counts, or outcomes.
ASSIGNED_COLUMNS = (("arm", "successes", "trials"), ("arm", "reward", "cost"), ("arm", "reward"))


def read_assigned(words: Sequence[str], others: Any) -> tuple[Counts, Outcomes]:
    """Arms with their successes and trials, and single outcomes: each word is a count, or the name of a CSV file."""
    if others.outcome or others.pull is not None or others.cost is not None:
        raise InputError("--counts cannot be combined with ARM, REWARD, --pull or --cost; leave these out")
    counts, outcomes = Counts(), Outcomes()
    for word in words:
        parts = [part.strip() for part in word.rsplit(",", 2)]
        numbers = [read_whole(part) for part in parts[1:]]
        if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
            counts.append((parts[0], numbers[0], numbers[1]))
        elif len(parts) > 1:
            raise InputError(f"--counts must be ARM,SUCCESSES,TRIALS, as a,90,1000, got {brief(word)!r}")
        else:
            read_file(word, counts, outcomes)
    return counts, outcomes


def read_file(path: str, counts: Counts, outcomes: Outcomes) -> None:
    """Add the rows of a CSV file of counts, or of outcomes."""
    header, *rows = list_rows(read_text(path), path) or [[]]
    known = next((columns for columns in ASSIGNED_COLUMNS if set(columns) <= set(header)), None)
    if known is None or ";" in header[0]:
        commas = ", separated by commas" if header and ";" in header[0] else ""
        raise InputError(
            f"{path}: the CSV needs a header with arm, successes and trials, or with arm and reward, and cost if "
            f"observed{commas}, got {header}"
        )
    if sorted(header) != sorted(known):
        more = next(name for name in header if name not in known or header.count(name) > 1)
        raise InputError(f"{path}: remove the column {brief(more)!r}; {', '.join(known)} are all that is recorded")
    if not rows:
        raise InputError(f"{path}: there are no rows below the header")
    if "reward" in known:
        outcomes += [read_row(header, row, f"{path}: row {line}") for line, row in enumerate(rows, start=1)]
        return
    for line, row in enumerate(rows, start=1):
        told = read_cells(header, row, f"{path}: row {line}")
        numbers = [read_whole(told.get(name, "")) for name in ("successes", "trials")]
        if numbers[0] is None or numbers[1] is None:
            raise InputError(f"{path}: row {line}: successes and trials must be whole numbers, got {row}")
        counts.append((told.get("arm", ""), numbers[0], numbers[1]))


def list_rows(text: str, what: str) -> list[list[str]]:
    """The rows of a CSV text, the header without spaces around its names."""
    try:
        rows = [row for row in csv.reader(StringIO(text.removeprefix(MARK), newline="")) if row]
    except csv.Error as error:
        raise InputError(f"{what} is not CSV: {error}") from error
    return [[name.strip() for name in rows[0]], *rows[1:]] if rows else []


def read_csv(source: Any) -> list[dict[str, Any]]:
    """Outcomes as CSV with a header, whose columns are those of outcomes, each once."""
    if source is None or source.isatty():
        closed = ", which is closed" if source is None else ""
        raise InputError(f"give ARM and REWARD, or many outcomes as CSV on standard input{closed}")
    try:
        text = source.read(MOST_TEXT + 1)
    except OSError as error:
        raise InputError(f"standard input cannot be read ({error.strerror or error})") from error
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
    return [read_row(header, row, f"outcome {line}") for line, row in enumerate(rows[1:], start=1)]


def read_cells(header: Sequence[str], row: Sequence[str], what: str) -> dict[str, str]:
    """The cells of a row by the names of the header, without empty ones."""
    if len(row) != len(header):
        raise InputError(f"{what}: {len(row)} cells, but the header has {len(header)}")
    told = {name: text.strip() for name, text in zip(header, row, strict=True) if text.strip()}
    return told | {"arm": plain_text(told["arm"])} if "arm" in told else told


def read_row(header: Sequence[str], row: Sequence[str], what: str) -> dict[str, Any]:
    """An outcome from a row of text; an empty cell says nothing."""
    told: dict[str, Any] = read_cells(header, row, what)
    for name in ("reward", "cost"):
        if name in told:
            told[name] = read_number(told[name], f"{what}: {name}")
    if "pull" in told:
        number = read_whole(told["pull"])
        if number is None:
            raise InputError(f"{what}: pull must be a whole number, got {brief(told['pull'])!r}")
        told["pull"] = number
    return told


def read_number(text: str, what: str) -> float:
    """A number, or `InputError`."""
    try:
        return read_double(text)
    except ValueError as error:
        raise InputError(f"{what} must be a number, got {brief(text)!r}: {error}") from None
