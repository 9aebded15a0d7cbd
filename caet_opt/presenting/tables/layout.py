"""What a table is, whoever computed it: columns, rows of raw values, and the conventions behind them.

A row holds raw values under the names of the columns, and what went wrong, if anything, under ``error``. A column
turns a row into a cell for people; machine formats take the raw value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple

from caet_opt.errors import InputError, unknown_name

Row = Mapping[str, Any]

#: The entry of a row that says what went wrong.
ERROR = "error"


class Number(str):
    """A number as it is to be printed, such as ``11.657`` or ``1.3e-14``."""


class Vector(NamedTuple):
    """Numbers by arm; without labels, in the order of the arms."""

    numbers: tuple[Number, ...]
    labels: tuple[str, ...] | None = None


#: Words, a number, numbers by arm, or nothing.
Cell = str | Number | Vector | None

#: A raw value that is there, with its row, as a cell.
Writer = Callable[[Any, Row], Cell]


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name : of the raw value, in rows, CSV and JSON
    heading : for people
    explanation : in one line
    write : a value of it for people; by default as it is
    latex : the heading in LaTeX, where that differs
    numeric : whether its cells are numbers, to be aligned at the decimal point
    """

    name: str
    heading: str
    explanation: str
    write: Writer = lambda value, row: str(value)
    latex: str | None = None
    numeric: bool = False

    def cell(self, row: Row) -> Cell:
        """What a row has in this column, for people; None where that is missing."""
        return None if row.get(self.name) is None else self.write(row[self.name], row)


#: LaTeX that is written otherwise in text.
SPOKEN = {
    "$": "",
    r"^\star": "*",
    r" \cdot ": ".",
    r"\ge": ">=",
    r"\sigma": "s",
    r"\mathrm{kl}": "kl",
    r"\mathrm{KL}_{\inf}": "KL_inf",
    "--": "-",
}


class Statement(str):
    """Something that a reader must know, in LaTeX."""

    @property
    def text(self) -> str:
        r"""The same for people.

        >>> Statement(r"$T^\star \ge c \cdot w$ in 95\,\% of the runs").text
        'T* >= c.w in 95 % of the runs'
        """
        text = str(self)
        for latex, spoken in SPOKEN.items():
            text = text.replace(latex, spoken)
        return text.replace(r"\,\%", " %").replace("\\", "")


@dataclass(frozen=True)
class Table:
    """Columns and rows, with what a reader must know.

    Attributes
    ----------
    conventions : statements by name
    caption : what the table shows
    captioned : whether text has the caption, too, and LaTeX as LaTeX, since somebody wrote it for this table
    label : by which LaTeX refers to it
    notes : what happened on the way, such as an interruption
    """

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    conventions: Mapping[str, Statement] = field(default_factory=dict)
    caption: str = ""
    notes: tuple[str, ...] = ()
    captioned: bool = False
    label: str = ""


def choose_columns(names: Sequence[str], known: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of these names or headings, in this order; an unknown or repeated one is an `InputError`."""
    by_name = {column.heading: column for column in known} | {column.name: column for column in known}
    for name in names:
        if name not in by_name:
            raise InputError(unknown_name("column", name, [column.name for column in known]))
    chosen = tuple(by_name[name] for name in names)
    if not chosen:
        raise InputError(f"no column is chosen; known: {', '.join(column.name for column in known)}")
    if len(set(chosen)) < len(chosen):
        twice = next(column.name for column in chosen if chosen.count(column) > 1)
        raise InputError(f"column {twice!r} is chosen twice")
    return chosen


def leading_cells(table: Table, row: Row) -> list[Cell]:
    """The cells of a failed row up to the first one that is missing; at least one column is left for its error."""
    cells = (column.cell(row) for column in table.columns[:-1])
    return list(takewhile(lambda cell: cell is not None, cells))


def error_text(row: Row, lead: Sequence[Cell]) -> str:
    """What stands in place of the numbers of a failed row; with the model's name where no cell says it."""
    name = row.get("model")
    return f"error: {row[ERROR]}" if lead or name is None else f"error: {name}: {row[ERROR]}"
