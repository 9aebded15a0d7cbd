r"""A table in LaTeX with booktabs and siunitx: a document that compiles as it is, or a fragment for ``\input``.

A table that is wider than a column of ``article`` in two columns is as wide as the text around it, whatever that is,
and its words are set in several lines. One that cannot be so narrow runs over both columns (``table*``, which is
``table`` where there is one).
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from caet_opt.presenting.tables.layout import ERROR, Cell, Column, Number, Row, Table, Vector, error_text, leading_cells
from caet_opt.presenting.tables.tex_text import tex

#: Longer tables may break across pages: with its remarks, one of so many rows fills a page of ``article``.
LONGEST_FLOAT = 30

#: Words of at most so many characters stand in one line, whatever the table's width.
SHORT = 12

#: Words or numbers by arm that are longer than this many characters are set in several lines, whatever the room.
WIDEST_TEXT = 40

#: Width of a character and of the space around a column, in em of small print.
CHARACTER, SPACE = 0.5, 0.87

#: Widths of text of ``article`` at ten points, in em of small print: a column of two, and the only one.
NARROW, WIDE = 24.8, 37.2

#: Margin, height of a turned page and its least width, and an em of small print, in mm.
MARGIN, HEIGHT, LANDSCAPE, EM = 20.0, 210.0, 297.0, 3.26


#: What makes a table small, inside a group.
SMALL = r"\small\setlength{\tabcolsep}{4pt}"

#: One column of text, which longtable needs, and what was there before.
ONE_COLUMN = (
    r"\makeatletter\if@twocolumn\onecolumn\let\columnsbefore\twocolumn\else\let\columnsbefore\relax\fi\makeatother"
)
AS_BEFORE = r"\par\columnsbefore"

#: Words in several lines, whose first word may be hyphenated too.
LINES = r">{\raggedright\arraybackslash\hspace{0pt}"


class Shape(NamedTuple):
    """How a column is set: its letter in the preamble, its width in em, and the least that it can do with."""

    letter: str
    width: float
    least: float


def latex_document(table: Table) -> str:
    """A document of one table, which only a table that does not fit the usual page has on a wider one."""
    paper = []
    if not is_fitting(table):
        width = max(EM * sum(shape.width for shape in shapes(table)) + 2 * MARGIN, LANDSCAPE)
        size = f"paperwidth={width:.0f}mm, paperheight={HEIGHT:.0f}mm, margin={MARGIN:.0f}mm"
        paper = [rf"\usepackage[{size}]{{geometry}}"]
    return "\n".join(
        [
            r"\documentclass{article}",
            *paper,
            *(rf"\usepackage{{{package}}}" for package in packages(table)),
            r"\begin{document}",
            body(table),
            r"\end{document}",
            "",
        ]
    )


def latex_fragment(table: Table) -> str:
    r"""The table alone, for ``\input`` in a document that loads the packages named in its first line."""
    wide = "" if is_fitting(table) else "% wider than the text of article: --columns would choose fewer columns\n"
    return f"% needs \\usepackage{{{','.join(packages(table))}}}\n{wide}{body(table)}\n"


def packages(table: Table) -> list[str]:
    """What the table needs of LaTeX."""
    more = ["longtable"] if is_long(table) else ["tabularx"] if is_flexible(table) else []
    return ["booktabs", "siunitx", *more]


def is_long(table: Table) -> bool:
    """Whether the table may have to break across pages."""
    return len(table.rows) > LONGEST_FLOAT


def is_fitting(table: Table) -> bool:
    """Whether the table can be as narrow as the text of ``article`` in one column."""
    return sum(shape.least for shape in shapes(table)) <= WIDE


def is_flexible(table: Table) -> bool:
    """Whether the table is as wide as the text around it; where an error runs over several columns it cannot be."""
    failed = any(row.get(ERROR) is not None for row in table.rows)
    natural = sum(shape.width for shape in shapes(table))
    return natural > NARROW and is_fitting(table) and not is_long(table) and not failed


def body(table: Table) -> str:
    """The table with its caption and its remarks."""
    forms = shapes(table)
    if is_flexible(table):
        forms = flexible_shapes(forms)
    elif is_fitting(table) and sum(shape.width for shape in forms) > WIDE:
        forms = fixed_shapes(forms)
    preamble = f"@{{}}{''.join(shape.letter for shape in forms)}@{{}}"
    heads = [(column.latex or tex(column.heading), column.numeric) for column in table.columns]
    head = " & ".join(f"{{{text}}}" if numeric else text for text, numeric in heads) + r" \\"  # shielded from siunitx
    rows = [latex_row(table, row, forms) for row in table.rows]
    return (long_table if is_long(table) else float_table)(table, preamble, head, rows)


def float_table(table: Table, preamble: str, head: str, rows: Sequence[str]) -> str:
    """A table that floats."""
    kind, width = ("tabularx", r"{\linewidth}") if is_flexible(table) else ("tabular", "")
    float_kind = "table" if sum(shape.least for shape in shapes(table)) <= NARROW else "table*"
    return "\n".join(
        [
            rf"\begin{{{float_kind}}}[htbp]",
            r"\centering",
            rf"{caption(table)}\medskip",
            SMALL,
            rf"\begin{{{kind}}}{width}{{{preamble}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            rf"\end{{{kind}}}",
            *remarks(table, r"\par\medskip"),
            rf"\end{{{float_kind}}}",
        ]
    )


def long_table(table: Table, preamble: str, head: str, rows: Sequence[str]) -> str:
    """A table that breaks across pages, its head repeated; on pages of its own in a paper of two columns."""
    repeated = [r"\toprule", head, r"\midrule"]
    return "\n".join(
        [
            "% run LaTeX until it no longer says that widths have changed",
            ONE_COLUMN,
            rf"\begingroup{SMALL}",
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
            r"\endgroup",
            *remarks(table, r"\noindent"),
            AS_BEFORE,
        ]
    )


def caption(table: Table) -> str:
    """The caption with its label; one that somebody wrote for this table is LaTeX already."""
    words = table.caption if table.captioned else tex(table.caption)
    return rf"\caption{{{words}}}" + (rf"\label{{{table.label}}}" if table.label else "")


def remarks(table: Table, before: str) -> list[str]:
    """The conventions and the notes as sentences in small print, where there are any."""
    sentences = "\n".join([*table.conventions.values(), *map(tex, table.notes)])
    return [before, rf"\parbox{{\linewidth}}{{\footnotesize\raggedright {sentences}}}"] if sentences else []


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
    """How each column is set where there is room, by the cells of the rows that did not fail."""
    rows = [row for row in table.rows if row.get(ERROR) is None]
    return [shape_of(column, [column.cell(row) for row in rows]) for column in table.columns]


def shape_of(column: Column, cells: Sequence[Cell]) -> Shape:
    """Numbers at their decimal points; words in one line, which may become several where there are many."""
    if column.numeric:
        form, characters = number_format([cell for cell in cells if isinstance(cell, Number)])
        width = max(characters, heading_length(column)) * CHARACTER + SPACE
        return Shape(f"S[table-format={form}]", width, width)
    there = [cell for cell in cells if cell is not None]
    characters = max([heading_length(column), *map(longest_run, there)])
    words = characters if characters <= SHORT else max([heading_length(column), *map(longest_word, there)])
    width, least = min(characters, WIDEST_TEXT) * CHARACTER, words * CHARACTER
    letter = "l" if characters <= WIDEST_TEXT else rf"{LINES}}}p{{{width:.1f}em}}"
    return Shape(letter, max(width, least) + SPACE, least + SPACE)


def heading_length(column: Column) -> int:
    r"""Characters of a heading as it is set: one for a command such as ``\delta``, three for ``\log``."""
    if column.latex is None:
        return len(column.heading)
    return len(re.sub(r"[${}^_]", "", re.sub(r"\\([a-z]+|,)", "x", column.latex.replace(r"\log", "log"))))


def flexible_shapes(forms: Sequence[Shape]) -> list[Shape]:
    """Columns of a table as wide as the text: those of words share it as they would share the narrowest."""
    widths = [width - SPACE for width, shape in zip(shared_widths(forms, NARROW), forms, strict=True) if is_soft(shape)]
    shares = iter([width * len(widths) / sum(widths) for width in widths])
    return [
        shape._replace(letter=rf"{LINES}\hsize={next(shares):.2f}\hsize}}X") if is_soft(shape) else shape
        for shape in forms
    ]


def fixed_shapes(forms: Sequence[Shape]) -> list[Shape]:
    """The same for the text of ``article`` in one column, with widths in em."""
    return [
        Shape(rf"{LINES}}}p{{{width - SPACE:.1f}em}}", width, width) if is_soft(shape) else shape
        for width, shape in zip(shared_widths(forms, WIDE), forms, strict=True)
    ]


def shared_widths(forms: Sequence[Shape], width: float) -> list[float]:
    """Widths of columns that together are so wide: the least of each, and what is left by what each would like."""
    left = max(width - sum(shape.least for shape in forms), 0.0)
    wanted = sum(shape.width - shape.least for shape in forms) or 1.0
    return [shape.least + left * (shape.width - shape.least) / wanted for shape in forms]


def is_soft(shape: Shape) -> bool:
    """Whether a column may be narrower than it would like."""
    return shape.least < shape.width


def longest_run(cell: Cell) -> int:
    """Characters of a cell."""
    if not isinstance(cell, Vector):
        return len(cell or "")
    return sum(len(number) + 2 for number in cell.numbers) + sum(len(name) + 1 for name in cell.labels or ())


def longest_word(cell: Cell) -> int:
    """Characters of a cell that cannot be parted: a word up to a hyphen, or an arm with its number."""
    if isinstance(cell, Vector):
        names = cell.labels or ("",) * len(cell.numbers)
        return max((len(name) + len(number) + 2 for name, number in zip(names, cell.numbers, strict=True)), default=0)
    return max(map(len, re.split(r"(?<=-)| ", cell or "")))


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
