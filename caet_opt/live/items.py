"""Which item, such as a question, a pull was put to, and in which run: kept in the file of the experiment, so that who
goes on after a restart, or at the same time, puts none of them twice."""

import sqlite3
from typing import Any

from caet_opt.live.database import ITEMS, check_moment, check_text, check_whole, has

#: A pull whose item is in use.
IN_USE = "(waiting = 1 OR position IS NOT NULL)"


def use(db: sqlite3.Connection, item: str, pull: int, run: str) -> None:
    """That a pull was handed out for an item."""
    if not has(db, "items"):
        db.execute(ITEMS)
    db.execute("INSERT INTO items (item, pull, run) VALUES (?, ?, ?)", (item, pull, run))


def is_used(db: sqlite3.Connection, item: str, arm: int | None) -> bool:
    """Whether a pull of this arm, or of any arm, that is out or has its outcome was put to an item."""
    query = (
        "SELECT 1 FROM items JOIN pulls ON number = items.pull LEFT JOIN outcomes ON outcomes.pull = number "
        f"WHERE item = ? AND {IN_USE} AND arm = coalesce(?, arm)"
    )
    return has(db, "items") and db.execute(query, (item, arm)).fetchone() is not None


def list_items(db: sqlite3.Connection, arms: int) -> list[dict[str, Any]]:
    """Every item with its pull, in the order in which these were handed out."""
    query = (
        f"SELECT number, item, arm, run, waiting, handed_out, {IN_USE} FROM items JOIN pulls ON number = items.pull "
        "LEFT JOIN outcomes ON outcomes.pull = number ORDER BY number"
    )
    return [
        {
            "item": check_text(item, f"the item of pull {number}"),
            "pull": check_whole(number, "the pull of an item", least=1),
            "arm": check_whole(arm, f"the arm of pull {number}", most=arms - 1),
            "run": check_text(run, f"the run of pull {number}"),
            "out": waiting == 1,
            "handed_out": check_moment(handed_out, f"pull {number}"),
            "in_use": bool(in_use),
        }
        for number, item, arm, run, waiting, handed_out, in_use in (db.execute(query) if has(db, "items") else ())
    ]
