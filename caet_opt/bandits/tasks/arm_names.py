"""Arms by name in the grammar of tasks: ``control:local`` is ``control:2`` where arm 2 is called local.

A name may hold what stands between arms, as the hyphens in ``comparisons:gpt-4-local`` do. Every way to cut an argument
into arms is a reading. Two readings that mean different arms are an error that shows both, as they can be written:
names may stand in quotes.

The last arm in turn may have a margin or ratio after it, as in ``control:gpt-4-0.02``. If all of a word is the name of
an arm, it is that arm, as in ``control:gpt-4``; else it is cut at a sign before a final number.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from caet_opt.common.exact import brief, read_whole
from caet_opt.errors import InputError, unknown_name

QUOTES = "\"'"

#: A number without a sign, and signs that may stand before it: a margin that is added or subtracted, a ratio.
NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
SIGNS = "+-*"

#: Characters that a margin may have.
LONGEST_NUMBER = 100

#: Characters that an arm may have beside its name or its digits: quotes, and spaces around it.
MARGIN = 20


class Reading(NamedTuple):
    """An argument with numbers of arms in it, and with their names in quotes."""

    numbers: str
    names: str


class Split(NamedTuple):
    """A word cut before a sign and a final number."""

    before: str
    sign: str
    number: str


class Way(NamedTuple):
    """An arm at some place of an argument with its margin, where it ends, and which way goes on from there."""

    arm: int
    margin: str
    end: int
    following: int


def number_arms(
    task: str,
    argument: str,
    names: Sequence[str],
    between: Sequence[str],
    kept: bool,
    margins: bool = False,
    *,
    what: str = "task",
) -> str:
    """The argument of a task with numbers in place of names; an error calls it ``what``.

    ``between`` says what may stand after each arm, in turn, as characters; the argument may end where the turn does.
    Digits that are the name of one arm and the number of another are both, but in a file that was ``kept``: there they
    are the number, which is what earlier versions read. With ``margins`` the last arm in turn may have one.
    """
    numbered = all(name == str(number) for number, name in enumerate(names))
    if numbered or (kept and set(argument) <= set("0123456789 ").union(*between)):
        return argument
    if kept and margins and argument.strip() not in names and is_numbered(argument, between):
        return argument
    found = list_readings(argument, names, between, margins)
    if len(found) == 1:
        return found[0].numbers
    text = f"{task}:{argument}"
    if found:
        first, second = (f"{task}:{reading.names}" for reading in found)
        raise InputError(f"{what} {text!r} can be read as {first} and as {second}; write one of these")
    parts = argument.translate(dict.fromkeys(map(ord, between[-1]), "\n")).split("\n")
    wrong = next((part.strip() for part in parts if not list_readings(part.strip(), names, between, margins)), argument)
    if len(between) == 1:
        wrong = split_margin(wrong)[0].before if margins and split_margin(wrong) else wrong
        raise InputError(f"{what} {brief(text)!r}: {unknown_name('arm', wrong, names)}")
    raise InputError(f"task {brief(text)!r}: write each pair as A-B, got {brief(wrong)!r}; arms: {', '.join(names)}")


def is_numbered(argument: str, between: Sequence[str]) -> bool:
    """Whether an argument has numbers of arms alone, and margins."""
    arms = "".join(rf"\s*[0-9]+\s*[{re.escape(separators)}]" for separators in between[:-1]) + r"\s*[0-9]+\s*"
    item = rf"{arms}(?:[{re.escape(SIGNS)}]\s*{NUMBER}\s*)?"
    return re.fullmatch(rf"{item}(?:[{between[-1]}]{item})*" if between[-1] else item, argument) is not None


def list_readings(argument: str, names: Sequence[str], between: Sequence[str], margins: bool) -> list[Reading]:
    """The readings, at most two, from the last arm to the first: what can follow a place is found once."""
    numbers = {name: number for number, name in enumerate(names)}
    longest = max(map(len, names)) + MARGIN
    starts = [place + 1 for place, sign in enumerate(argument) if sign in "".join(between)]
    ways: dict[tuple[int, int], list[Way]] = {}
    for start in [*reversed(starts), 0]:
        for turn, separators in enumerate(between):
            found = []
            last = margins and turn == len(between) - 1
            for end in ends_of(argument, start, separators, longest + last * LONGEST_NUMBER):
                ended = end == len(argument) and turn == len(between) - 1
                after = range(1 if ended else len(ways.get((end + 1, (turn + 1) % len(between)), ())))
                word = argument[start:end].strip() if after else ""
                arms = [(arm, "") for arm in find_arms(word, numbers)]
                if last and not any(arm < len(names) for arm, _ in arms):
                    arms += find_margins(word, numbers)
                found += [Way(arm, margin, end, which) for arm, margin in arms for which in after]
            ways[start, turn] = found[:2]
    return [follow(argument, names, ways, len(between), which) for which in range(len(ways[0, 0]))]


def follow(
    argument: str, names: Sequence[str], ways: dict[tuple[int, int], list[Way]], turns: int, which: int
) -> Reading:
    """The reading that begins with the first arm's way of this number."""
    start, turn = 0, 0
    parts: list[tuple[str, str]] = []
    while start <= len(argument) and (start, turn) in ways:
        arm, margin, end, following = ways[start, turn][which]
        sign = margin + argument[end : end + 1]
        parts.append((f"{arm}{sign}", (f'"{names[arm]}"' if arm < len(names) else str(arm)) + sign))
        start, turn, which = end + 1, (turn + 1) % turns, following
    numbers, shown = ("".join(part) for part in zip(*parts, strict=True))
    return Reading(numbers, shown)


def ends_of(argument: str, start: int, separators: str, longest: int) -> Iterator[int]:
    """Where an arm that begins somewhere may end: before a separator, or where the argument does."""
    for place in range(start + 1, min(len(argument), start + longest)):
        if argument[place] in separators:
            yield place
    if start < len(argument) <= start + longest:
        yield len(argument)


def find_arms(word: str, numbers: dict[str, int]) -> list[int]:
    """The arms that a word may mean: the one of this name, in quotes or not, and the one of this number."""
    quoted = word[1:-1] if len(word) > 2 and word[0] == word[-1] and word[0] in QUOTES else None
    found = [numbers[name] for name in (word, quoted) if name in numbers]
    number = read_whole(word)
    if number is not None and (number < len(numbers) or not found):
        found.append(number)
    return list(dict.fromkeys(found))


def find_margins(word: str, numbers: dict[str, int]) -> list[tuple[int, str]]:
    """The arms that a word may mean with the margins after them."""
    splits = split_margin(word)
    return [(arm, split.sign + split.number) for split in splits for arm in find_arms(split.before, numbers)]


def split_margin(word: str) -> list[Split]:
    """Every way to cut a word before a sign and a final number.

    >>> [tuple(split) for split in split_margin("gpt-4-1e-3")]
    [('gpt-4', '-', '1e-3'), ('gpt-4-1e', '-', '3')]
    """
    places = [place for place in range(1, len(word)) if word[place] in SIGNS]
    cuts = [
        (word[:place].strip(), word[place], word[place + 1 :].strip()) for place in places[-2:]
    ]  # a number has one sign at most
    return [Split(*cut) for cut in cuts if cut[0] and re.fullmatch(NUMBER, cut[2])]
