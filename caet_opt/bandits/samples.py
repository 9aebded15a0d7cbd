"""Samples of rewards, as of a pilot, in a CSV file with the columns arm and reward, or an exported experiment."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from caet_opt.bandits.distributions import samples_by_arm
from caet_opt.bandits.model import read_arm_names
from caet_opt.common.exact import brief, read_decimal
from caet_opt.common.files import read_text
from caet_opt.common.rows import is_exported, list_exported, read_rows
from caet_opt.errors import InputError

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
    names = None if names is None else read_arm_names(names, len(names))
    try:
        return samples_by_arm(list_rewards(read_text(path), str(path)), names)
    except InputError as error:
        told = str(error)
        raise InputError(told if told.startswith(str(path)) else f"{path}: {told}") from error


def list_rewards(text: str, what: str) -> list[tuple[str, Decimal]]:
    """Arm and reward of each row below a header."""
    header, rows = read_rows(text, what)
    for name in COLUMNS:
        if header.count(name) != 1:
            raise InputError(f"the CSV needs a header with the columns arm and reward, each once, got {header}")
    found = []
    for place, told in list_exported(rows) if is_exported(header) else rows:
        arm, reward = (told.get(name, "") for name in COLUMNS)
        try:
            found.append((arm, read_decimal(reward)))
        except ValueError as error:
            raise InputError(f"{place}: reward must be a number, got {brief(reward)!r}: {error}") from None
        if not arm:
            raise InputError(f"{place}: no arm is named")
    return found
