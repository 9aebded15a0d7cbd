r"""A table in LaTeX with booktabs and siunitx: a document that compiles as it is, or a fragment for ``\input``."""

from collections.abc import Sequence
from typing import NamedTuple

from caet_opt.presenting.tables.layout import ERROR, Cell, Column, Number, Row, Table, Vector, error_text, leading_cells
from caet_opt.presenting.tables.tex_text import tex

#: Longer tables may break across pages.
LONGEST_FLOAT = 40

#: Words or numbers by arm that are longer than this many characters are set in several lines.
WIDEST_TEXT = 40

#: Width of a character and of the space around a column, in em.
CHARACTER, SPACE = 0.48, 1.25

#: Margin, width of A4 upright and turned, and an em of ten points, in mm.
MARGIN, PORTRAIT, LANDSCAPE, EM = 20.0, 210.0, 297.0, 3.515


class Shape(NamedTuple):
    """How a column is set: its letter in the preamble, and its width in em."""

    letter: str
    width: float


def latex_document(table: Table) -> str:
    """A document of one table, on paper that is wide enough for it."""
    width = EM * sum(shape.width for shape in shapes(table)) + 2 * MARGIN
    wide = f"paperwidth={max(width, LANDSCAPE):.0f}mm, paperheight={PORTRAIT:.0f}mm"
    paper = "a4paper" if width <= PORTRAIT else wide
    return "\n".join(
        [
            r"\documentclass{article}",
            rf"\usepackage[{paper}, margin={MARGIN:.0f}mm]{{geometry}}",
            *(rf"\usepackage{{{package}}}" for package in packages(table)),
            r"\begin{document}",
            body(table),
            r"\end{document}",
            "",
        ]
    )


def latex_fragment(table: Table) -> str:
    r"""The table alone, for ``\input`` in a document that loads the packages named in its first line."""
    return f"% needs \\usepackage{{{','.join(packages(table))}}}\n{body(table)}\n"


def packages(table: Table) -> list[str]:
    """What the table needs of LaTeX."""
    return ["booktabs", "siunitx", *(["longtable"] if is_long(table) else [])]


def is_long(table: Table) -> bool:
    """Whether the table may have to break across pages."""
    return len(table.rows) > LONGEST_FLOAT


def body(table: Table) -> str:
    """The table with its caption and its remarks."""
    forms = shapes(table)
    preamble = "".join(shape.letter for shape in forms)
    heads = [(column.latex or tex(column.heading), column.numeric) for column in table.columns]
    head = " & ".join(f"{{{text}}}" if numeric else text for text, numeric in heads) + r" \\"  # shielded from siunitx
    rows = [latex_row(table, row, forms) for row in table.rows]
    return (long_table if is_long(table) else float_table)(table, preamble, head, rows)


def float_table(table: Table, preamble: str, head: str, rows: Sequence[str]) -> str:
    """A table that floats."""
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            r"\centering",
            rf"{caption(table)}\medskip",
            rf"\begin{{tabular}}{{{preamble}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            *remarks(table, r"\par\medskip"),
            r"\end{table}",
        ]
    )


def long_table(table: Table, preamble: str, head: str, rows: Sequence[str]) -> str:
    """A table that breaks across pages, its head repeated."""
    repeated = [r"\toprule", head, r"\midrule"]
    return "\n".join(
        [
            "% run LaTeX until it no longer says that table widths have changed",
            rf"\begin{{longtable}}{{{preamble}}}",
            rf"{caption(table)}\\[\medskipamount]",
            *repeated,
            r"\endfirsthead",
            *repeated,
            r"\endhead",
            r"\bottomrule",
            r"\endfoot",
            *rows,
            r"\end{longtable}",
            *remarks(table, r"\noindent"),
        ]
    )


def caption(table: Table) -> str:
    """The caption with its label; one that somebody wrote for this table is LaTeX already."""
    words = table.caption if table.captioned else tex(table.caption)
    return rf"\caption{{{words}}}" + (rf"\label{{{table.label}}}" if table.label else "")


def remarks(table: Table, before: str) -> list[str]:
    """The conventions and the notes as sentences in small print, where there are any."""
    sentences = "\n".join([*table.conventions.values(), *map(tex, table.notes)])
    return [before, rf"\parbox{{\linewidth}}{{\footnotesize {sentences}}}"] if sentences else []


def latex_row(table: Table, row: Row, forms: Sequence[Shape]) -> str:
    """One line of the table; the error of a failed one runs over the columns that it lacks."""
    if row.get(ERROR) is None:
        return " & ".join(latex_cell(column.cell(row), column) for column in table.columns) + r" \\"
    lead = leading_cells(table, row)
    left, span = len(lead), len(table.columns) - len(lead)
    width = sum(shape.width for shape in forms[left:]) - SPACE
    error = rf"\multicolumn{{{span}}}{{p{{{width:.1f}em}}}}{{\raggedright\emph{{{tex(error_text(row, lead))}}}}}"
    shown = [latex_cell(cell, column) for cell, column in zip(lead, table.columns, strict=False)]
    return " & ".join([*shown, error]) + r" \\"


def latex_cell(cell: Cell, column: Column) -> str:
    """A cell; words in a column of numbers are shielded from siunitx, and arms are not parted from their numbers."""
    if cell is None:
        return "{---}" if column.numeric else "---"
    if isinstance(cell, Vector):
        numbers = [latex_number(number) for number in cell.numbers]
        if cell.labels is None:
            return f"({', '.join(numbers)})"
        return ", ".join(f"{tex(name)}~{number}" for name, number in zip(cell.labels, numbers, strict=True))
    if isinstance(cell, Number):
        return siunitx(cell) if column.numeric else latex_number(cell)
    return f"{{{tex(cell)}}}" if column.numeric else tex(cell)


def latex_number(number: Number) -> str:
    """A number among words."""
    return rf"\num{{{siunitx(number)}}}" if "e" in number else str(number)


def siunitx(number: Number) -> str:
    """A number as siunitx reads it: ``1e-09`` as ``1e-9``."""
    mantissa, _, exponent = number.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def shapes(table: Table) -> list[Shape]:
    """How each column is set, by the cells of the rows that did not fail."""
    rows = [row for row in table.rows if row.get(ERROR) is None]
    return [shape_of(column, [column.cell(row) for row in rows]) for column in table.columns]


def shape_of(column: Column, cells: Sequence[Cell]) -> Shape:
    """Numbers at their decimal points, long words in several lines, short ones in one."""
    if column.numeric:
        form, characters = number_format([cell for cell in cells if isinstance(cell, Number)])
        return Shape(f"S[table-format={form}]", max(characters, len(column.heading)) * CHARACTER + SPACE)
    characters = max([len(column.heading), *(longest_run(cell) for cell in cells if cell is not None)])
    if characters <= WIDEST_TEXT:
        return Shape("l", characters * CHARACTER + SPACE)
    width = WIDEST_TEXT * CHARACTER
    return Shape(rf">{{\raggedright\arraybackslash}}p{{{width:.1f}em}}", width + SPACE)


def longest_run(cell: Cell) -> int:
    """Characters of a cell."""
    if not isinstance(cell, Vector):
        return len(cell or "")
    return sum(len(number) + 2 for number in cell.numbers) + sum(len(name) + 1 for name in cell.labels or ())


def number_format(numbers: Sequence[Number]) -> tuple[str, int]:
    """The ``table-format`` of a column, and about how many characters wide it is.

    >>> number_format([Number("11.657"), Number("972.5")]), number_format([Number("1.3e-14"), Number("2e-9")])
    (('3.3', 8), ('1.1e-2', 9))
    """
    parts = [siunitx(number).partition("e") for number in numbers]
    whole = max((len(mantissa.partition(".")[0]) for mantissa, _, _ in parts), default=1)
    decimals = max((len(mantissa.partition(".")[2]) for mantissa, _, _ in parts), default=0)
    exponents = [exponent for _, _, exponent in parts if exponent]
    form = f"{whole}.{decimals}" if decimals else str(whole)
    width = whole + decimals + 1 + (whole + decimals) // 5
    if not exponents:
        return form, width
    digits, sign = max(len(exponent.lstrip("-")) for exponent in exponents), "-" * any("-" in e for e in exponents)
    return f"{form}e{sign}{digits}", width + digits + 4
