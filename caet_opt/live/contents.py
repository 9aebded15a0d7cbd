"""What the file of a live experiment holds, read and changed inside a transaction of its `Store`; a cell that is not
what it should be is a `DamagedError`."""

import json
import sqlite3
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from caet_opt.bandits.tasks.base import NONE
from caet_opt.common.checks import is_whole, show_value
from caet_opt.common.files import parse_json
from caet_opt.errors import InputError
from caet_opt.exploring.explorer import LARGEST_AMOUNT
from caet_opt.exploring.saving import Saved
from caet_opt.live.arm_names import is_answer, name_arms
from caet_opt.live.database import (
    BATCHES,
    ENDED,
    LOST,
    RAISED,
    SETTLED,
    DamagedError,
    check_moment,
    check_number,
    check_text,
    check_whole,
    has,
    show,
)


class Facts(NamedTuple):
    """What was started: names of the arms, whether delta is guaranteed, when, the experiment before any pull, and by
    which version of caet-opt."""

    names: tuple[str, ...]
    guaranteed: bool
    started: float
    saved: str
    version: str


class Outcome(NamedTuple):
    """An outcome in the order of recording, with the arm of its pull."""

    position: int
    arm: int
    reward: float
    cost: float


class Stop(NamedTuple):
    """The declared answer: by which outcome, when, and what was spent by then."""

    position: int
    stopped: float
    answer: Hashable
    cost: float


def read_facts(db: sqlite3.Connection) -> Facts:
    """What was started."""
    names, guaranteed, started, *texts = read_row(db, "names, guaranteed, started, saved, version", "experiment")
    try:
        listed = parse_json(check_text(names, "names"))
        told = name_arms(listed if isinstance(listed, list) else None)
    except ValueError as error:
        raise DamagedError(f"names of the arms: {error}") from error
    known = bool(check_whole(guaranteed, "guaranteed", most=1))
    saved, version = map(check_text, texts, ("what was started", "its version"))
    return Facts(told, known, check_moment(started, "the start"), saved, version)


def read_row(db: sqlite3.Connection, columns: str, table: str) -> tuple[Any, ...]:
    """The one row of a table."""
    found = db.execute(f"SELECT {columns} FROM {table}").fetchone()
    if found is None:
        raise DamagedError(f"the row of {table} is missing")
    return tuple(found)


def checkpoint_position(db: sqlite3.Connection) -> int:
    """How many outcomes the checkpoint has taken in."""
    return check_whole(read_row(db, "position", "checkpoint")[0], "position of the checkpoint")


def read_checkpoint(db: sqlite3.Connection) -> str:
    """The experiment after them."""
    return check_text(read_row(db, "saved", "checkpoint")[0], "the checkpoint")


def keep_checkpoint(db: sqlite3.Connection, position: int, saved: str) -> None:
    """Replace it."""
    db.execute("UPDATE checkpoint SET position = ?, saved = ?", (position, saved))


def hand_out(db: sqlite3.Connection, arm: int) -> int:
    """A new pull, and its number."""
    return int(db.execute("INSERT INTO pulls (arm, handed_out) VALUES (?, ?)", (arm, time.time())).lastrowid or 0)


def record(db: sqlite3.Connection, pull: int, reward: float, cost: float) -> int:
    """The outcome of a pull, and its position."""
    db.execute("UPDATE pulls SET waiting = 0 WHERE number = ?", (pull,))
    change = "INSERT INTO outcomes (pull, reward, cost, recorded) VALUES (?, ?, ?, ?)"
    return int(db.execute(change, (pull, reward, cost, time.time())).lastrowid or 0)


def record_batch(db: sqlite3.Connection, outcomes: Sequence[tuple[int, float, float]]) -> list["Outcome"]:
    """Arms, rewards and costs of pulls that nobody handed out, in an order that means nothing, as rows of their own."""
    if not has(db, "batches"):
        db.execute(BATCHES)
    pull, position, now = *(1 + (last or 0) for last in last_rows(db)), time.time()
    found = [Outcome(position + place, *one) for place, one in enumerate(outcomes)]
    pulls = ((pull + place, one.arm, now) for place, one in enumerate(found))
    db.executemany("INSERT INTO pulls (number, arm, handed_out, waiting) VALUES (?, ?, ?, 0)", pulls)
    rows = ((one.position, pull + place, one.reward, one.cost, now) for place, one in enumerate(found))
    db.executemany("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?)", rows)
    db.execute("INSERT INTO batches VALUES (?, ?)", (found[0].position, found[-1].position))
    return found


def last_rows(db: sqlite3.Connection) -> tuple[int | None, int | None]:
    """The number of the last pull, and the position of the last outcome."""
    pull, position = db.execute(
        "SELECT (SELECT max(number) FROM pulls), (SELECT max(position) FROM outcomes)"
    ).fetchone()
    return pull, position


def read_batches(db: sqlite3.Connection) -> dict[int, int]:
    """Where outcomes that are looked at as a whole begin, and where each of these batches ends."""
    found, last, end = dict[int, int](), 0, last_position(db)
    for first, until in db.execute("SELECT first, last FROM batches ORDER BY first") if has(db, "batches") else ():
        first = check_whole(first, "the first outcome of a batch", least=last + 1, most=end)
        last = check_whole(until, f"the last outcome of the batch from {first}", least=first, most=end)
        found[first] = last
    return found


def withdraw(db: sqlite3.Connection, pull: int) -> bool:
    """Withdraw a pull, and say whether it was out."""
    change = "UPDATE pulls SET waiting = 0, withdrawn = ? WHERE number = ? AND waiting = 1"
    return db.execute(change, (time.time(), pull)).rowcount == 1


def lose(db: sqlite3.Connection, pull: int, cost: float) -> None:
    """That this was spent on a pull which brings no outcome."""
    if not has(db, "lost"):
        db.execute(LOST)
    db.execute("INSERT OR REPLACE INTO lost VALUES (?, ?)", (pull, cost))


def read_lost(db: sqlite3.Connection, arms: int) -> list[tuple[int, float]]:
    """Arms and costs of what was spent without an outcome; an outcome that came after all has a cost of its own."""
    found = list[tuple[int, float]]()
    query = (
        "SELECT number, arm, lost.cost FROM lost CROSS JOIN pulls ON number = lost.pull LEFT JOIN outcomes ON "
        "outcomes.pull = number WHERE position IS NULL ORDER BY lost.pull"  # CROSS: those alone, not every pull
    )
    for number, arm, cost in db.execute(query) if has(db, "lost") else ():
        cost = check_number(cost, f"what pull {number} cost")
        if not 0 <= cost <= LARGEST_AMOUNT:
            raise DamagedError(f"what pull {number} cost is {cost:g}, not a number from 0 to {LARGEST_AMOUNT:g}")
        found.append((check_whole(arm, f"the arm of pull {number}", most=arms - 1), cost))
    return found


def declare(db: sqlite3.Connection, position: int, answer: Hashable, cost: float) -> None:
    """The answer, by the outcome at this position."""
    row = position, time.time(), json.dumps(answer), cost
    db.execute("INSERT INTO stop (position, stopped, answer, cost) VALUES (?, ?, ?, ?)", row)


def end(db: sqlite3.Connection) -> None:
    """That it was ended by hand, now."""
    db.execute(ENDED)
    db.execute("INSERT INTO ended VALUES (1, ?)", (time.time(),))


def read_end(db: sqlite3.Connection) -> float | None:
    """When it was ended by hand, if it was."""
    return check_moment(read_row(db, "moment", "ended")[0], "the end by hand") if has(db, "ended") else None


def raise_limits(db: sqlite3.Connection, limits: Mapping[str, float | None]) -> None:
    """Limits in place of those before, by name."""
    if not has(db, "raised"):
        db.execute(RAISED)
    values = time.time(), limits["max_cost"], limits["max_pulls"]
    db.execute("INSERT INTO raised (moment, max_cost, max_pulls) VALUES (?, ?, ?)", values)


def read_raised(db: sqlite3.Connection) -> dict[str, Any]:
    """The limits in force, where they are not those of the start."""
    query = "SELECT moment, max_cost, max_pulls FROM raised ORDER BY id DESC LIMIT 1"
    if not has(db, "raised") or (found := db.execute(query).fetchone()) is None:
        return {}
    check_moment(found[0], "the moment at which limits were raised")
    cost = None if found[1] is None else check_number(found[1], "max_cost")
    return {"max_cost": cost, "max_pulls": None if found[2] is None else check_whole(found[2], "max_pulls", least=1)}


def settle(db: sqlite3.Connection, statements: Sequence[str], position: int) -> None:
    """That these statements are settled, by the outcome at this position."""
    if statements and not has(db, "settled"):
        db.execute(SETTLED)
    rows = ((statement, position) for statement in statements)
    db.executemany("INSERT INTO settled (statement, position) VALUES (?, ?)", rows)


def read_settled(db: sqlite3.Connection) -> list[tuple[str, int]]:
    """What was settled, in this order, each with the position of its outcome."""
    found, last = list[tuple[str, int]](), last_position(db)
    query = "SELECT statement, position FROM settled ORDER BY id"
    for statement, position in db.execute(query) if has(db, "settled") else ():
        at = check_whole(position, "position of what is settled", least=1, most=last)
        found.append((check_text(statement, "what is settled"), at))
    return found


def waiting_arms(db: sqlite3.Connection, arms: int) -> list[int]:
    """The arms of the pulls that are out, in the order in which they were handed out."""
    query = "SELECT number, arm FROM pulls INDEXED BY waiting WHERE waiting = 1 ORDER BY number"
    return [check_whole(arm, f"the arm of pull {number}", most=arms - 1) for number, arm in db.execute(query)]


def oldest_waiting(db: sqlite3.Connection, arm: int) -> int | None:
    """The number of the pull of an arm that has been out for longest."""
    query = "SELECT min(number) FROM pulls INDEXED BY waiting WHERE waiting = 1 AND arm = ?"
    found = db.execute(query, (arm,)).fetchone()[0]
    return None if found is None else int(found)


def look_up(db: sqlite3.Connection, number: Any, arms: int) -> tuple[int, int, bool]:
    """The number and the arm of a pull that was handed out, and whether it has an outcome; or `InputError`."""
    query = "SELECT number, arm, position FROM pulls LEFT JOIN outcomes ON pull = number WHERE number = ?"
    found = db.execute(query, (int(number),)).fetchone() if is_whole(number, 1, 2**63 - 1) else None
    if found is None:
        raise InputError(f"pull {show_value(number)} was not handed out")
    return int(found[0]), check_whole(found[1], f"the arm of pull {number}", most=arms - 1), found[2] is not None


def read_stop(db: sqlite3.Connection, start: Saved) -> Stop | None:
    """The declared answer, if there is one; `DamagedError` where it is none of what was started."""
    found = db.execute("SELECT position, stopped, answer, cost FROM stop").fetchone()
    if found is None:
        return None
    position, moment = check_whole(found[0], "position of the stop", least=1), check_moment(found[1], "the stop")
    answer = read_answer(check_text(found[2], "the answer"))
    if not is_answer(start.task, answer, start.arms):
        raise DamagedError(f"{show(answer)} is not an answer of {start.task}")
    return Stop(position, moment, answer, check_number(found[3], "cost"))


def read_outcomes(db: sqlite3.Connection, arms: int) -> Iterator[Outcome]:
    """Every outcome, in the order in which they were recorded."""
    query = "SELECT position, arm, reward, cost FROM outcomes JOIN pulls ON number = pull ORDER BY position"
    last = 0
    for position, arm, reward, cost in db.execute(query):
        last = check_whole(position, "the next position", least=last + 1)
        arm = check_whole(arm, f"the arm of outcome {last}", most=arms - 1)
        yield Outcome(last, arm, *check_outcome(reward, cost, last))


def check_outcome(reward: Any, cost: Any, position: int) -> tuple[float, float]:
    """The reward and the cost at a position."""
    return check_number(reward, f"reward {position}"), check_number(cost, f"cost {position}")


def list_pulls(db: sqlite3.Connection, arms: int, *, only_waiting: bool = False) -> list[dict[str, Any]]:
    """Every pull with its outcome, in the order in which they were handed out; None for what is not there."""
    index, condition = ("INDEXED BY waiting", "WHERE waiting = 1") if only_waiting else ("", "")
    query = (
        "SELECT number, arm, handed_out, withdrawn, position, reward, cost, recorded "
        f"FROM pulls {index} LEFT JOIN outcomes ON pull = number {condition} ORDER BY number"
    )
    found, last = [], 0
    for number, arm, handed_out, withdrawn, position, reward, cost, recorded in db.execute(query):
        last = check_whole(number, "the next pull", least=last + 1)
        pull = {
            "pull": number,
            "arm": check_whole(arm, f"the arm of pull {number}", most=arms - 1),
            "handed_out": check_moment(handed_out, f"pull {number}"),
            "withdrawn": None if withdrawn is None else check_moment(withdrawn, f"the end of pull {number}"),
            **dict.fromkeys(("position", "reward", "cost", "recorded")),
        }
        if position is not None:
            reward, cost = check_outcome(reward, cost, check_whole(position, "position", least=1))
            moment = check_moment(recorded, f"outcome {position}")
            pull |= {"position": position, "reward": reward, "cost": cost, "recorded": moment}
        found.append(pull)
    return found


def count_pulls(db: sqlite3.Connection) -> tuple[int, int]:
    """How many pulls were handed out, and how many of them withdrawn and without an outcome."""
    handed = db.execute("SELECT max(number) FROM pulls").fetchone()[0] or 0
    waiting = db.execute("SELECT count(*) FROM pulls INDEXED BY waiting WHERE waiting = 1").fetchone()[0]
    return int(handed), int(handed - waiting - last_position(db))


def last_position(db: sqlite3.Connection) -> int:
    """The position of the last outcome, which is how many there are; 0 before the first."""
    return int(db.execute("SELECT max(position) FROM outcomes").fetchone()[0] or 0)


def time_of(db: sqlite3.Connection, position: int) -> float:
    """When an outcome was recorded."""
    found = db.execute("SELECT recorded FROM outcomes WHERE position = ?", (position,)).fetchone()
    return check_moment(None if found is None else found[0], f"outcome {position}")


def last_change(db: sqlite3.Connection) -> float | None:
    """When the last pull was handed out or the last outcome recorded, whichever is later; None before the first."""
    found = [
        check_moment(at, f"the last of {table}")
        for table, moment, number in (("pulls", "handed_out", "number"), ("outcomes", "recorded", "position"))
        for (at,) in db.execute(f"SELECT {moment} FROM {table} ORDER BY {number} DESC LIMIT 1")
    ]
    return max(found, default=None)


def find_wrong_rows(db: sqlite3.Connection, arms: int) -> list[str]:
    """Rows that no command writes: numbers of pulls and positions of outcomes other than 1, 2, 3 and so on, outcomes of
    no pull, pulls of arms other than 0 to arms - 1, and pulls that are wrongly marked as out or not."""
    found = []
    for table, column in (("pulls", "number"), ("outcomes", "position")):
        count, first, last = db.execute(f"SELECT count(*), min({column}), max({column}) FROM {table}").fetchone()
        if count and (first, last) != (1, count):
            found.append(f"{count} {table} are numbered from {first} to {last}")
    kept = [(table, f"{table} are of pulls that were not handed out") for table in ("items", "lost") if has(db, table)]
    for rows, words in (
        *((f"{table} WHERE pull NOT IN (SELECT number FROM pulls)", words) for table, words in kept),
        ("outcomes WHERE pull NOT IN (SELECT number FROM pulls)", "outcomes are of pulls that were not handed out"),
        (
            f"pulls WHERE typeof(arm) != 'integer' OR arm NOT BETWEEN 0 AND {arms - 1}",
            "pulls are of arms that do not exist",
        ),
        (
            "pulls LEFT JOIN outcomes ON pull = number WHERE waiting != (pull IS NULL AND withdrawn IS NULL)",
            "pulls are marked as out and are not, or the other way round",
        ),
    ):
        if count := db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0]:
            found.append(f"{count} {words}")
    return found


def read_answer(text: str) -> Hashable:
    """An answer back from the file: a number, numbers in brackets, or the word for no arm."""

    def freeze(part: Any) -> Hashable:
        if isinstance(part, list):
            return tuple(map(freeze, part))
        return NONE if part == NONE else check_whole(part, "a part of the answer")

    try:
        return freeze(parse_json(text))
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"the answer: {error}") from error
