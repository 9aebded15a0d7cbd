"""Outcomes of pulls: one on the command line, or many as CSV."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from caet_opt.cli.arguments import unshield
from caet_opt.common.exact import brief, read_double, read_whole
from caet_opt.common.files import MOST_TEXT, read_text
from caet_opt.common.rows import Row, is_exported, list_exported, read_rows
from caet_opt.errors import InputError
from caet_opt.live.outcomes import COLUMNS


def read_outcomes(words: Sequence[str], pull: int | None, cost: float | None) -> list[dict[str, Any]]:
    """The outcome of the command line, ARM and REWARD or REWARD alone, or those of standard input."""
    if not words and pull is None and cost is None:
        return read_csv(sys.stdin)
    if len(words) != 2 and not (len(words) == 1 and pull is not None):
        raise InputError("give ARM and REWARD, or REWARD with --pull, or many outcomes as CSV on standard input")
    arm, reward = words if len(words) == 2 else (None, words[0])
    return [{"pull": pull, "arm": arm, "reward": read_number(unshield(reward), "REWARD"), "cost": cost}]


class Placed(dict[str, Any]):
    """An outcome that says where it was read."""

    def __init__(self, parts: Any, place: str) -> None:
        super().__init__(parts)
        self.place = place


#: What is said of a word that is none.
COUNT = "--counts must be ARM,SUCCESSES,TRIALS, as a,90,1000"

Counts = list[tuple[str, int, int]]
Outcomes = list[dict[str, Any]]


#: Columns of a file of what was assigned elsewhere: counts, or outcomes.
ASSIGNED_COLUMNS = (("arm", "successes", "trials"), ("arm", "reward", "cost"), ("arm", "reward"))


def read_assigned(words: Sequence[str], others: Any) -> tuple[Counts, Outcomes, list[Placed]]:
    """Arms with their successes and trials, single outcomes, and those of exported experiments: each word is a count,
    or the name of a CSV file."""
    if others.outcome or others.pull is not None or others.cost is not None:
        raise InputError("--counts cannot be combined with ARM, REWARD, --pull or --cost; leave these out")
    counts, outcomes, exported = Counts(), Outcomes(), list[Placed]()
    for word in words:
        parts = [part.strip() for part in word.rsplit(",", 2)]
        numbers = [read_whole(part) for part in parts[1:]]
        if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
            counts.append((parts[0], numbers[0], numbers[1]))
        elif len(parts) > 1:
            raise InputError(f"{COUNT}, got {brief(word)!r}; successes and trials are whole numbers, 0 or more")
        elif not os.path.exists(word):
            raise InputError(f"{word}: no such file; {COUNT}, or a CSV file")
        else:
            read_file(word, counts, outcomes, exported)
    return counts, outcomes, exported


def check_names(counts: Counts, names: Sequence[str]) -> None:
    """Raise `InputError` for a count of four values, of which the first two would be the name of an arm."""
    for arm, successes, trials in counts:
        if "," in arm and arm not in names:
            raise InputError(f"{COUNT}, three values, got {brief(f'{arm},{successes},{trials}')!r}")


def read_file(path: str, counts: Counts, outcomes: Outcomes, exported: list[Placed]) -> None:
    """Add the rows of a CSV file of counts, of outcomes, or of an exported experiment."""
    header, rows = read_rows(read_text(path), path)
    if is_exported(header):
        found = list_exported(rows)
        if not found:
            raise InputError(f"{path}: no pull in it has an outcome")
        exported += map(read_row, found)
        return
    known = next((columns for columns in ASSIGNED_COLUMNS if set(columns) <= set(header)), None)
    if known is None:
        raise InputError(
            f"{path}: the CSV needs a header with arm, successes and trials, or with arm and reward, and cost if "
            f"observed, got {header}"
        )
    if sorted(header) != sorted(known):
        more = next(name for name in header if name not in known or header.count(name) > 1)
        raise InputError(f"{path}: remove the column {brief(more)!r}; {', '.join(known)} are all that is recorded")
    below = list(rows)
    if not below:
        raise InputError(f"{path}: there are no rows below the header")
    if "reward" in known:
        outcomes += map(read_row, below)
        return
    for place, told in below:
        numbers = [read_whole(told.get(name, "")) for name in ("successes", "trials")]
        if numbers[0] is None or numbers[1] is None:
            raise InputError(f"{place}: successes and trials must be whole numbers, got {list(told.values())}")
        counts.append((told.get("arm", ""), numbers[0], numbers[1]))


def leave_out_known(outcomes: list[Placed], names: Sequence[str], costs: Sequence[float] | None) -> list[Placed]:
    """Exported outcomes without the costs that are known to be the same, of which an exported file has a column."""
    if costs is None:
        return outcomes
    known = dict(zip(names, costs, strict=True))
    return [
        Placed({part: told for part, told in one.items() if part != "cost" or told != known.get(one["arm"])}, one.place)
        for one in outcomes
    ]


def read_csv(source: Any) -> list[dict[str, Any]]:
    """Outcomes as CSV with a header, whose columns are those of outcomes, each once, or of an exported experiment: of
    that the rewards that were put in since, of pulls that had no outcome."""
    if source is None or source.isatty():
        closed = ", which is closed" if source is None else ""
        raise InputError(f"give ARM and REWARD, or many outcomes as CSV on standard input{closed}")
    try:
        text = source.read(MOST_TEXT + 1)
    except OSError as error:
        raise InputError(f"standard input cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"standard input: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    if len(text) > MOST_TEXT:
        raise InputError(f"standard input has more than {MOST_TEXT // 10**6} MB; record fewer outcomes at once")
    header, rows = read_rows(text, "standard input")
    if is_exported(header) and {"pull", "position"} <= set(header):
        new = [(place, told) for place, told in rows if "reward" in told and "position" not in told]
        if not new:
            raise InputError(
                "every reward of the exported file is recorded already; put in those of pulls without an outcome, or "
                "record the outcomes in another experiment by --counts"
            )
        return [read_row((place, {name: told[name] for name in COLUMNS if name in told})) for place, told in new]
    if not set(header) <= set(COLUMNS) or "reward" not in header or not {"pull", "arm"} & set(header):
        raise InputError(f"the CSV needs a header with reward, pull or arm, and cost if observed, got {header}")
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"the CSV has the column {twice[0]} twice; remove one of them")
    if not (below := list(rows)):
        raise InputError("there are no rows below the header; nothing was recorded")
    return [read_row(row) for row in below]


@contextmanager
def naming_lines(outcomes: Sequence[dict[str, Any]]) -> Iterator[None]:
    """Errors about one of the outcomes, by its number, name the place where it was read."""
    try:
        yield
    except InputError as error:
        found = re.match(r"outcome (\d+)(?=: )", str(error))
        one = outcomes[int(found[1]) - 1] if found is not None and int(found[1]) <= len(outcomes) else None
        if found is not None and isinstance(one, Placed):
            error.args = (one.place + str(error)[found.end() :], *error.args[1:])
        raise


def read_row(row: Row) -> Placed:
    """An outcome from a row of text; an empty cell says nothing."""
    what, told = row[0], Placed(row[1], row[0])
    if "reward" not in told:
        raise InputError(f"{what}: the reward is blank; give a number, or remove the row")
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
