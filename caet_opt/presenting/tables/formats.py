"""A table in every format: for terminals, Markdown, CSV, JSON and (in `latex`) LaTeX."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import wrap
from types import SimpleNamespace
from typing import Any

from caet_opt.common.files import escape_controls
from caet_opt.common.numbers import table as aligned
from caet_opt.common.rows import csv_cell
from caet_opt.presenting.tables.latex import latex_document, latex_fragment
from caet_opt.presenting.tables.layout import ERROR, Cell, Row, Table, Vector, error_text, leading_cells

MISSING = "-"

#: The end of a line, of which each part ends one.
LINE_END = "\r\n"

#: Columns of the terminal that a remark may take.
REMARK_WIDTH = 100


def terminal(table: Table) -> str:
    """Aligned columns, then the conventions and the notes."""
    left = [index for index, column in enumerate(table.columns) if not column.numeric]
    lines = [
        aligned([column.heading for column in table.columns], [text_cells(table, row) for row in table.rows], left)
    ]
    told = [line for remark in remarks(table) for line in wrap(remark, REMARK_WIDTH, subsequent_indent="  ")]
    return "\n".join([*told_caption(table), *lines, *([""] if told else []), *told]) + "\n"


def told_caption(table: Table) -> list[str]:
    """The caption above a table, where somebody wrote one for it."""
    return [escape_controls(table.caption), ""] if table.captioned else []


def text_cells(table: Table, row: Row) -> list[str]:
    """The cells of a row; those of a failed one end in its error."""
    if row.get(ERROR) is None:
        return [cell_text(column.cell(row)) for column in table.columns]
    lead = leading_cells(table, row)
    return [*map(cell_text, lead), escape_controls(error_text(row, lead))]


def markdown(table: Table) -> str:
    """A pipe table, then the conventions and the notes as a list."""
    heads = [markdown_text(column.heading) for column in table.columns]
    rules = ["---:" if column.numeric else "---" for column in table.columns]
    rows = [[markdown_text(text) for text in text_cells(table, row)] for row in table.rows]
    filled = [cells + [""] * (len(heads) - len(cells)) for cells in rows]  # after the error of a failed one
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, rules, *filled])
    notes = [f"- {markdown_text(remark)}" for remark in remarks(table)]
    return "\n".join([*map(markdown_text, told_caption(table)), text, *([""] if notes else []), *notes]) + "\n"


def csv_text(rows: Sequence[Row], columns: Iterable[str] | None = None) -> str:
    """Rows as CSV with a header, the columns those of the first row unless given; lists as JSON, nothing for None."""
    names = list(rows[0] if columns is None else columns)
    return csv_lines([names, *([row.get(name) for name in names] for row in rows)])


def csv_lines(lines: Iterable[Iterable[Any]]) -> str:
    """Lines of CSV: numbers in full, lists as JSON, nothing for None, and no text that a spreadsheet would run."""
    written: list[str] = []
    # The writer puts a cell in quotes that has a part of the end of a line in it, and a reader ends a line at either
    # part: both are told to the writer, and one is kept.
    sink = SimpleNamespace(write=lambda line: written.append(line.removesuffix(LINE_END) + "\n"))
    csv.writer(sink, lineterminator=LINE_END).writerows([csv_cell(value) for value in line] for line in lines)
    return "".join(written)


def json_text(table: Table) -> str:
    """One object: conventions, rows of raw values with null for a missing one, and notes."""
    names = machine_names(table)
    rows = [{name: row.get(name) for name in names} for row in table.rows]
    conventions = {name: statement.text for name, statement in table.conventions.items()}
    record = {"conventions": conventions, "rows": rows, "notes": list(table.notes)}
    return json.dumps(record, allow_nan=False) + "\n"


def remarks(table: Table) -> list[str]:
    """The conventions and the notes as text."""
    return [*(statement.text for statement in table.conventions.values()), *map(escape_controls, table.notes)]


def machine_names(table: Table) -> list[str]:
    """Names of the columns, the error last."""
    return [*(column.name for column in table.columns if column.name != ERROR), ERROR]


def cell_text(cell: Cell) -> str:
    """A cell as text; numbers by arm in the order of the arms, or each after its arm's name."""
    if cell is None:
        return MISSING
    if not isinstance(cell, Vector):
        return escape_controls(cell)
    if cell.labels is None:
        return f"({', '.join(cell.numbers)})"
    named = zip(cell.labels, cell.numbers, strict=True)
    return ", ".join(f"{escape_controls(name)} {number}" for name, number in named)


def markdown_text(text: str) -> str:
    """Text that means itself in a cell of a Markdown table."""
    return "".join(f"\\{character}" if character in "\\`*_|<[" else character for character in escape_controls(text))


#: Formats by name, in the order of the help.
FORMATS: Mapping[str, Callable[[Table], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "csv": lambda table: csv_text(table.rows, machine_names(table)),
    "json": json_text,
    "latex": latex_document,
    "latex-fragment": latex_fragment,
}

#: Formats that people read; the others carry raw values.
FOR_PEOPLE = frozenset(FORMATS) - {"csv", "json"}
