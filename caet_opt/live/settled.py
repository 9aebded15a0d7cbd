"""What was settled, and by which outcome: kept, since it stays as sure as it was whatever comes later.

The e-process of a false statement ever exceeds its threshold with probability delta / R at most, so at its first
crossing as well as at any other: with probability 1 - delta none of the statements that were ever settled is wrong. (At
an exact tie neither of its two statements counts as wrong: see docs/mathematics/live.md.)
Outcomes that speak against one afterwards take nothing from that, as long as rewards are as assumed. They may not be:
that is why they are told.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from caet_opt.bandits.tasks import Above, Comparisons, Control
from caet_opt.bandits.tasks.lower import LowerIsBetter
from caet_opt.bandits.tasks.statements import Statement, judge
from caet_opt.common.files import escape_controls
from caet_opt.exploring.exclusion import list_established
from caet_opt.exploring.explorer import Explorer
from caet_opt.live import contents
from caet_opt.live.contents import Stop
from caet_opt.live.database import DamagedError, show


def list_stated(explorer: Explorer) -> tuple[Statement, ...]:
    """The statements of the present answer, where every answer asserts each of the same statements or its reverse;
    nothing for other tasks, or while some arm has no outcome.

    Where they are as said, a false statement that is established is the reverse of one that the right answer asserts:
    `find_not_excluded` counts it. Of other tasks none is listed: there an answer may leave open what is established.
    """
    task = explorer.task.task if isinstance(explorer.task, LowerIsBetter) else explorer.task
    if not isinstance(task, Control | Comparisons | Above) or not min(explorer.state.counts):
        return ()
    return explorer.task.answer_statements(explorer.answer, explorer.arms)


def list_settled(explorer: Explorer) -> tuple[Statement, ...]:
    """The established statements that are right together with probability 1 - delta, at all moments together: those of
    `Explorer.not_excluded`, which goes through all answers, too many for every outcome."""
    stated = list_stated(explorer)
    return list_established(explorer.setup, explorer.state, list(stated)) if stated else ()


def key_of(statement: Statement) -> str:
    """A statement in the file: winner, loser, margin and ratio, as ``1 0 1/50 1``, with a dash for no arm."""
    return " ".join("-" if part is None else str(part) for part in statement)


def keep_settled(db: sqlite3.Connection, explorer: Explorer, position: int) -> None:
    """Keep what is settled by the outcome at this position and was not before."""
    if keys := list(map(key_of, list_settled(explorer))):
        known = {key for key, _ in contents.read_settled(db)}
        contents.settle(db, [key for key in keys if key not in known], position)


def recall_settled(db: sqlite3.Connection, explorer: Explorer) -> dict[Statement, int]:
    """Every statement that was ever settled, with the position of the outcome that did it."""
    either = {key_of(side): side for one in list_stated(explorer) for side in (one, one.reverse)}
    found = dict[Statement, int]()
    for key, position in contents.read_settled(db):
        if key not in either or either[key] in found:
            raise DamagedError(f"{show(key)} is not a statement of {explorer.task}, or is settled twice")
        found[either[key]] = position
    return found


def find_open_again(
    db: sqlite3.Connection,
    explorer: Explorer,
    stop: Stop | None,
    names: Sequence[str],
    missing: Sequence[Statement],
    by_evidence: bool,
) -> list[dict[str, Any]]:
    """What was settled and is not now, in words, with the outcome that settled it: whether the means now contradict it,
    and whether what contradicts it is settled.

    ``missing`` are the statements of the declared answer that would not be settled now. Where a policy ends by a rule
    of its own and not by the evidence, they need not have been settled at the stop, and count if the means contradict
    them.
    """
    now, means = frozenset(list_settled(explorer)), explorer.state.means().tolist()
    once = {one: at for one, at in recall_settled(db, explorer).items() if one not in now}
    if stop is not None and explorer.state.round > stop.position:
        late = (one for one in missing if by_evidence or judge(one, means) < 0)
        once |= {one: stop.position for one in late if one not in once}
    return [
        {
            "statement": statement.write(tuple(map(escape_controls, names))),
            "outcome": position,
            "time": contents.time_of(db, position),
            "contradicted": judge(statement, means) < 0,
            "reversed": statement.reverse in now,
        }
        for statement, position in once.items()
    ]
