"""Samples of rewards, such as those of a pilot, in a CSV file with the columns arm and reward."""

import csv
from collections.abc import Sequence
from decimal import Decimal
from io import StringIO
from pathlib import Path

from caet_opt.bandits.distributions import samples_by_arm
from caet_opt.common.exact import brief, read_decimal
from caet_opt.common.files import read_text
from caet_opt.errors import InputError

#: What a spreadsheet may put before the first cell: the mark of UTF-8.
MARK = "\ufeff"

#: The columns that are read; others are left alone.
COLUMNS = ("arm", "reward")


def read_sample_file(
    path: str | Path, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], list[list[Decimal]]]:
    """Names of the arms, in the order in which they appear or of ``names``, and the sample of each; every error is an
    `InputError` that begins with the path.

    >>> from pathlib import Path
    >>> from caet_opt.bandits.samples import read_sample_file
    >>> _ = Path("pilot.csv").write_text("arm,reward\\nold,0.5\\nnew,0.7\\nold,0.25\\n")
    >>> read_sample_file("pilot.csv")
    (('old', 'new'), [[Decimal('0.5'), Decimal('0.25')], [Decimal('0.7')]])
    """
    try:
        rows = [row for row in csv.reader(StringIO(read_text(path).removeprefix(MARK), newline="")) if row]
        return samples_by_arm(read_rows(rows), names)
    except csv.Error as error:
        raise InputError(f"{path}: not CSV: {error}") from error
    except InputError as error:
        told = str(error)
        raise InputError(told if told.startswith(str(path)) else f"{path}: {told}") from error


def read_rows(rows: Sequence[Sequence[str]]) -> list[tuple[str, Decimal]]:
    """Arm and reward of each row below a header."""
    header = [name.strip() for name in rows[0]] if rows else []
    for name in COLUMNS:
        if header.count(name) != 1:
            raise InputError(f"the CSV needs a header with the columns arm and reward, each once, got {header}")
    places = [header.index(name) for name in COLUMNS]
    found = []
    for line, row in enumerate(rows[1:], start=1):
        if len(row) != len(header):
            raise InputError(f"row {line}: {len(row)} cells, but the header has {len(header)}")
        arm, reward = (row[place].strip() for place in places)
        try:
            found.append((arm, read_decimal(reward)))
        except ValueError as error:
            raise InputError(f"row {line}: reward must be a number, got {brief(reward)!r}: {error}") from None
        if not arm:
            raise InputError(f"row {line}: no arm is named")
    return found
