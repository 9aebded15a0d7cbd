"""Statements as people list them in the answers of a task of their own: pairs, and texts such as "0 > 1 + 0.02"."""

from collections.abc import Sequence
from fractions import Fraction

from caet_opt.bandits.tasks.arm_names import find_arms, split_margin
from caet_opt.bandits.tasks.statements import ZERO, Statement, above, below, read_number
from caet_opt.common.checks import is_whole
from caet_opt.common.exact import brief, read_decimal
from caet_opt.errors import InputError

Item = tuple[int, int] | str

EXAMPLES = "[0, 1], '0 > 1 + 0.02', '2 > 0.8' or '2 < 0.8'"


def read_item(item: object, names: Sequence[str] = (), lower_is_better: bool = False) -> Statement:
    """The statement that a pair or a text is; the better arm is the first of a pair.

    >>> print(read_item((0, 1)), "|", read_item("b < a - 0.5", ["a", "b"]), "|", read_item("1 < 2.0"))
    0 > 1 | 0 > 1 + 0.5 | 1 < 2.0
    """
    if isinstance(item, str):
        return read_text(item, {name: arm for arm, name in enumerate(names)})
    if not isinstance(item, list | tuple) or len(item) != 2 or not all(map(is_whole, item)) or item[0] == item[1]:
        raise InputError(f"a pair is two different arms counted from 0, for example [0, 1]; got {item!r}")
    a, b = map(int, item)
    return Statement(b, a) if lower_is_better else Statement(a, b)


def write_item(statement: Statement) -> Item:
    """The pair or text that is read as a statement, arms by number."""
    winner, loser, *_ = statement
    return (winner, loser) if winner is not None and loser is not None and statement.is_plain else str(statement)


def read_text(text: str, numbers: dict[str, int]) -> Statement:
    """The statement that a text spells: an arm, a sign, and an arm, one with a margin, or a level."""
    found = []
    for place, sign in enumerate(text):
        if sign in "<>":
            arms = find_arms(text[:place].strip(), numbers)
            sides = read_side(text[place + 1 :].strip(), numbers)
            found += [compare(arm, sign, *side) for arm in arms for side in sides if arm != side[0]]
    found = list(dict.fromkeys(found))
    if len(found) > 1:
        shown = " and as ".join(
            repr(statement.write(tuple(f'"{name}"' for name in numbers))) for statement in found[:2]
        )
        raise InputError(f"{brief(text)!r} can be read as {shown}; write names in quotes")
    if not found:
        arms_shown = f"; arms: {brief(', '.join(numbers), 80)}" if numbers else ""
        raise InputError(f"a statement is written as {EXAMPLES}; got {brief(text)!r}{arms_shown}")
    return found[0]


def read_side(word: str, numbers: dict[str, int]) -> list[tuple[int | None, Fraction]]:
    """What a word after the sign may mean: an arm, an arm and a margin, or a level; a whole number is an arm."""
    if arms := find_arms(word, numbers):
        return [(arm, ZERO) for arm in arms]
    found: list[tuple[int | None, Fraction]] = []
    for before, sign, number in split_margin(word):
        if sign != "*":
            margin = read_number(read_decimal(number), "the margin")
            found += [(arm, margin if sign == "+" else -margin) for arm in find_arms(before, numbers)]
    try:
        return [*found, (None, read_number(read_decimal(word), "the level"))]
    except InputError:
        raise
    except ValueError:  # no number
        return found


def compare(arm: int, sign: str, other: int | None, number: Fraction) -> Statement:
    """``arm > other + number`` or ``arm < other + number``, of which no other arm leaves a level."""
    if other is None:
        return above(arm, number) if sign == ">" else below(arm, number)
    return Statement(arm, other, number) if sign == ">" else Statement(other, arm, -number)
