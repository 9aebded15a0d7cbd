"""The rows of a live experiment, inside a transaction of its `Store`."""

import json
import sqlite3
import time
from collections.abc import Hashable, Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple

from caet_opt.errors import InputError
from caet_opt.exploring.settings import brief


class Facts(NamedTuple):
    """What was started: names of the arms, whether delta is guaranteed, when, and the experiment before any pull."""

    names: tuple[str, ...]
    guaranteed: bool
    started: float
    saved: str


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
    names, guaranteed, started, saved = db.execute(
        "SELECT names, guaranteed, started, saved FROM experiment"
    ).fetchone()
    return Facts(tuple(json.loads(names)), bool(guaranteed), started, saved)


def checkpoint_position(db: sqlite3.Connection) -> int:
    """How many outcomes the checkpoint has taken in."""
    return int(db.execute("SELECT position FROM checkpoint").fetchone()[0])


def read_checkpoint(db: sqlite3.Connection) -> str:
    """The experiment after them."""
    return str(db.execute("SELECT saved FROM checkpoint").fetchone()[0])


def keep_checkpoint(db: sqlite3.Connection, position: int, saved: str) -> None:
    """Replace it."""
    db.execute("UPDATE checkpoint SET position = ?, saved = ?", (position, saved))


def hand_out(db: sqlite3.Connection, arm: int) -> int:
    """A new pull, and its number."""
    return insert(db, "pulls (arm, handed_out)", (arm, time.time()))


def record(db: sqlite3.Connection, pull: int, reward: float, cost: float) -> int:
    """The outcome of a pull, and its position."""
    position = insert(db, "outcomes (pull, reward, cost, recorded)", (pull, reward, cost, time.time()))
    db.execute("UPDATE pulls SET waiting = 0 WHERE number = ?", (pull,))
    return position


def withdraw(db: sqlite3.Connection, pull: int) -> bool:
    """Withdraw a pull, and say whether it was out."""
    change = "UPDATE pulls SET waiting = 0, withdrawn = ? WHERE number = ? AND waiting = 1"
    return db.execute(change, (time.time(), pull)).rowcount == 1


def declare(db: sqlite3.Connection, position: int, answer: Hashable, cost: float) -> None:
    """The answer, by the outcome at this position."""
    insert(db, "stop (position, stopped, answer, cost)", (position, time.time(), answer_text(answer), cost))


def insert(db: sqlite3.Connection, where: str, row: Sequence[Any]) -> int:
    """Add a row, and return its number."""
    return int(db.execute(f"INSERT INTO {where} VALUES ({', '.join('?' * len(row))})", row).lastrowid or 0)


def count_waiting(db: sqlite3.Connection, arms: int) -> list[int]:
    """How many pulls of each arm are out."""
    found = dict(db.execute("SELECT arm, count(*) FROM pulls INDEXED BY waiting WHERE waiting = 1 GROUP BY arm"))
    return [found.get(arm, 0) for arm in range(arms)]


def waiting_arms(db: sqlite3.Connection) -> list[int]:
    """The arms of the pulls that are out, in the order in which they were handed out."""
    return [
        int(arm) for (arm,) in db.execute("SELECT arm FROM pulls INDEXED BY waiting WHERE waiting = 1 ORDER BY number")
    ]


def oldest_waiting(db: sqlite3.Connection, arm: int) -> int | None:
    """The number of the pull of an arm that has been out for longest."""
    query = "SELECT min(number) FROM pulls INDEXED BY waiting WHERE waiting = 1 AND arm = ?"
    found = db.execute(query, (arm,)).fetchone()[0]
    return None if found is None else int(found)


def look_up(db: sqlite3.Connection, number: Any) -> tuple[int, int]:
    """The number and the arm of a pull that was handed out, or `InputError`."""
    whole = isinstance(number, Integral) and not isinstance(number, bool) and 0 < int(number) < 2**63
    found = db.execute("SELECT number, arm FROM pulls WHERE number = ?", (int(number),)).fetchone() if whole else None
    if found is None:
        raise InputError(f"pull {brief(number)} was not handed out")
    return int(found[0]), int(found[1])


def is_recorded(db: sqlite3.Connection, pull: int) -> bool:
    """Whether a pull has an outcome."""
    return db.execute("SELECT 1 FROM outcomes WHERE pull = ?", (pull,)).fetchone() is not None


def read_stop(db: sqlite3.Connection) -> Stop | None:
    """The declared answer, if there is one."""
    found = db.execute("SELECT position, stopped, answer, cost FROM stop").fetchone()
    return None if found is None else Stop(found[0], found[1], read_answer(found[2]), found[3])


def read_outcomes(db: sqlite3.Connection) -> Iterator[Outcome]:
    """Every outcome, in the order in which they were recorded."""
    query = "SELECT position, arm, reward, cost FROM outcomes JOIN pulls ON number = pull ORDER BY position"
    return map(Outcome._make, db.execute(query))


def list_pulls(db: sqlite3.Connection, *, only_waiting: bool = False) -> list[dict[str, Any]]:
    """Every pull with its outcome, in the order in which they were handed out; None for what is not there."""
    names = ("pull", "arm", "handed_out", "withdrawn", "position", "reward", "cost", "recorded")
    index, condition = ("INDEXED BY waiting", "WHERE waiting = 1") if only_waiting else ("", "")
    query = (
        "SELECT number, arm, handed_out, withdrawn, position, reward, cost, recorded "
        f"FROM pulls {index} LEFT JOIN outcomes ON pull = number {condition} ORDER BY number"
    )
    return [dict(zip(names, row, strict=True)) for row in db.execute(query)]


def count_pulls(db: sqlite3.Connection) -> tuple[int, int]:
    """How many pulls were handed out, and how many of them withdrawn and without an outcome."""
    handed = db.execute("SELECT max(number) FROM pulls").fetchone()[0] or 0
    waiting = db.execute("SELECT count(*) FROM pulls INDEXED BY waiting WHERE waiting = 1").fetchone()[0]
    return int(handed), int(handed - waiting - last_position(db))


def count_wrong_marks(db: sqlite3.Connection) -> int:
    """How many pulls are marked as out and are not, or the other way round."""
    query = (
        "SELECT count(*) FROM pulls LEFT JOIN outcomes ON pull = number "
        "WHERE waiting != (pull IS NULL AND withdrawn IS NULL)"
    )
    return int(db.execute(query).fetchone()[0])


def read_version(db: sqlite3.Connection) -> str:
    """The version of caet-opt that started it."""
    return str(db.execute("SELECT version FROM experiment").fetchone()[0])


def last_position(db: sqlite3.Connection) -> int:
    """The position of the last outcome, which is how many there are; 0 before the first."""
    return int(db.execute("SELECT max(position) FROM outcomes").fetchone()[0] or 0)


def time_of(db: sqlite3.Connection, position: int) -> float:
    """When an outcome was recorded."""
    return float(db.execute("SELECT recorded FROM outcomes WHERE position = ?", (position,)).fetchone()[0])


def find_gaps(db: sqlite3.Connection) -> list[str]:
    """Numbers of pulls and positions of outcomes that are not 1, 2, 3 and so on, and outcomes of no pull."""
    found = []
    for table, column, words in (("pulls", "number", "pulls"), ("outcomes", "position", "outcomes")):
        count, first, last = db.execute(f"SELECT count(*), min({column}), max({column}) FROM {table}").fetchone()
        if count and (first, last) != (1, count):
            found.append(f"{count} {words} are numbered from {first} to {last}")
    if lost := db.execute("SELECT count(*) FROM outcomes WHERE pull NOT IN (SELECT number FROM pulls)").fetchone()[0]:
        found.append(f"{lost} outcomes are of pulls that were not handed out")
    return found


def count_foreign_arms(db: sqlite3.Connection, arms: int) -> int:
    """How many pulls are of arms other than 0 to arms - 1."""
    query = "SELECT count(*) FROM pulls WHERE typeof(arm) != 'integer' OR arm NOT BETWEEN 0 AND ?"
    return int(db.execute(query, (arms - 1,)).fetchone()[0])


def answer_text(answer: Hashable) -> str:
    """An answer as the file has it."""
    return json.dumps(answer)


def read_answer(text: str) -> Hashable:
    """An answer back from the file."""

    def freeze(part: Any) -> Hashable:
        return tuple(map(freeze, part)) if isinstance(part, list) else part

    return freeze(json.loads(text))
