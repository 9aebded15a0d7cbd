"""Rows of CSV files: cells that no spreadsheet takes for a formula, and one reader for whatever comes as rows."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from caet_opt.common.exact import read_whole
from caet_opt.common.files import MARK
from caet_opt.errors import InputError

#: A text that a spreadsheet would run, with the apostrophes that have been put before it; and one that is a number.
FORMULA = re.compile("'*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)

#: The columns that ``experiment export`` writes, a row for each pull, with or without an outcome; and those by which
#: such a file is known, of which some columns may have been removed.
EXPORTED = ("pull", "arm", "name", "handed_out", "withdrawn", "position", "reward", "cost", "recorded")
ITS_OWN = frozenset(("arm", "name", "reward"))

#: Columns that hold names of arms, and those that are known whatever capitals their names have.
NAMES = ("arm", "name")
KNOWN = frozenset(("pull", "arm", "reward", "cost", "successes", "trials"))

#: A line of its own after the last one: it is part of that where a quote is open.
END = "end"

#: What other programs put between columns.
SEPARATORS = {";": "semicolons", "\t": "tabs"}

#: Where a row is, in words, and its cells by column, without empty ones.
Row = tuple[str, dict[str, str]]


def csv_cell(value: Any) -> Any:
    """A value as CSV has it. A text that spreadsheets take for a formula gets an apostrophe, by which they take it for
    a text; one that begins with apostrophes before such a text gets one more, so that `plain_text` finds each again.

    >>> csv_cell("=1+1"), csv_cell("'=1+1"), csv_cell("a=1"), csv_cell(-1.5), csv_cell([1, 2])
    ("'=1+1", "''=1+1", 'a=1', -1.5, '[1, 2]')
    """
    if isinstance(value, list | tuple):
        return json.dumps(value)
    if isinstance(value, str) and FORMULA.match(value) and not NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def plain_text(cell: str) -> str:
    """The text of a cell that `csv_cell` wrote.

    >>> plain_text("'=1+1"), plain_text("''=1+1"), plain_text("'tis"), plain_text("-1")
    ('=1+1', "'=1+1", "'tis", '-1')
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def read_rows(text: str, what: str) -> tuple[list[str], Iterator[Row]]:
    """The header of a CSV text, without spaces around its names, and its rows, each with its place, the line on which
    it begins; `InputError` where it is no CSV, or where a row has not as many cells as the header.

    >>> header, rows = read_rows("Arm, reward\\n'=a+b,1\\n", "pilot.csv")
    >>> header, list(rows)
    (['arm', 'reward'], [('pilot.csv: line 2', {'arm': '=a+b', 'reward': '1'})])
    """
    lines = split_lines(text.removeprefix(MARK), what)
    header = read_header(lines[0][1], what) if lines else []
    return header, (read_cells(header, cells, f"{what}: line {line}") for line, cells in lines[1:])


def split_lines(text: str, what: str) -> list[tuple[int, list[str]]]:
    """The cells of each row that is not empty, with the line on which it begins."""
    found, begun = [], 1
    rows = csv.reader(StringIO(f"{text}\n{END}", newline=""))
    try:
        for row in rows:
            found.append((begun, row))
            begun = rows.line_num + 1
    except csv.Error as error:
        raise InputError(f"{what}: line {begun}: not CSV: {error}; is a quote not closed?") from error
    line, last = found.pop()
    if last != [END]:
        raise InputError(f'{what}: line {line}: a quote (") is not closed')
    return [(line, row) for line, row in found if row]


def read_header(cells: Sequence[str], what: str) -> list[str]:
    """The names of the columns without spaces around them; known ones in small letters, unless two would
    be the same."""
    header = [name.strip() for name in cells]
    for separator, name in SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise InputError(f"{what}: columns are separated by {name}; separate them by commas")
    small = [name.lower() for name in header]
    return [
        other if other in KNOWN and small.count(other) == 1 else name for name, other in zip(header, small, strict=True)
    ]


def read_cells(header: Sequence[str], cells: Sequence[str], place: str) -> Row:
    """The cells of a row by column."""
    if len(cells) != len(header):
        hint = "; is a quote not closed?" if any("\n" in cell for cell in cells) else ""
        raise InputError(f"{place}: {len(cells)} cells, but the header has {len(header)}{hint}")
    told = {name: text.strip() for name, text in zip(header, cells, strict=True) if text.strip()}
    return place, told | {name: plain_text(told[name]) for name in NAMES if name in told}


def is_exported(header: Sequence[str]) -> bool:
    """Whether the columns are those of an exported experiment."""
    return ITS_OWN <= frozenset(header) <= frozenset(EXPORTED) and len(set(header)) == len(header)


def list_exported(rows: Iterator[Row]) -> list[Row]:
    """The outcomes of an exported experiment, with the name of the arm in place of its number: pulls without an outcome
    are left out, and so are columns that are not of it. `InputError` where numbers and names of arms do not go
    together: such a name is somebody else's."""
    found, names = [], dict[str, str]()
    for place, told in rows:
        if "reward" not in told:
            continue
        number, name = told.get("arm", ""), told.get("name", "")
        if read_whole(number) is None or names.setdefault(number, name) != name:
            raise InputError(
                f"{place}: the columns are those of an exported experiment, but arm {number!r} is not the number of "
                f"{name!r}; call the column name otherwise, or leave it out, if it has no names of arms"
            )
        found.append((place, {"arm": name} | {key: told[key] for key in ("reward", "cost") if key in told}))
    return found
