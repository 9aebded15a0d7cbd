"""The database in a file, as SQLite has it: its tables, which file it is, what it holds, its copies, what it refuses.

Before a file is trusted its tables are compared by their text, reading it must end, and cells must be what they should
be: what a damaged or a hostile file holds is then data, and never a program.
"""

import errno
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import cache
from math import isfinite
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from caet_opt.common.checks import is_whole
from caet_opt.errors import InputError

#: These texts are what the schema of a file is compared with: a later version adds texts of its own, and keeps these.
TABLES = """
CREATE TABLE experiment (  -- what was started: one row, never changed; saved is the experiment before the first pull
    id INTEGER PRIMARY KEY CHECK (id = 1), started REAL NOT NULL, version TEXT NOT NULL, names TEXT NOT NULL,
    guaranteed INTEGER NOT NULL, saved TEXT NOT NULL);
CREATE TABLE pulls (  -- handed out, in this order; waiting for its outcome or not
    number INTEGER PRIMARY KEY, arm INTEGER NOT NULL, handed_out REAL NOT NULL, withdrawn REAL,
    waiting INTEGER NOT NULL DEFAULT 1);
CREATE INDEX waiting ON pulls (number, arm) WHERE waiting = 1;
CREATE TABLE outcomes (  -- in the order in which they were recorded
    position INTEGER PRIMARY KEY, pull INTEGER NOT NULL UNIQUE REFERENCES pulls (number), reward REAL NOT NULL,
    cost REAL NOT NULL, recorded REAL NOT NULL);
CREATE TABLE stop (  -- one row, once the answer is declared, by the outcome at this position
    id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL REFERENCES outcomes (position),
    stopped REAL NOT NULL, answer TEXT NOT NULL, cost REAL NOT NULL);
CREATE TABLE checkpoint (  -- one row: the experiment after the outcome at this position
    id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, saved TEXT NOT NULL);
"""

#: Which file this is; files of 0.2.0 are given it with the first change.
IDENTITY = """CREATE TABLE identity (  -- one row, drawn at random when the file was made; a backup has another
    id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL)"""

#: That it was ended by hand: made when that is done, in a file that has an identity by then.
ENDED = """CREATE TABLE ended (  -- one row, once it was ended by hand: when
    id INTEGER PRIMARY KEY CHECK (id = 1), moment REAL NOT NULL)"""

#: Outcomes that came as counts: made when the first of them come, in a file that has an identity by then.
BATCHES = """CREATE TABLE batches (  -- outcomes in an order that nobody knows, from one to another
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL)"""

#: Limits that were raised: made when the first is, likewise.
RAISED = """CREATE TABLE raised (  -- limits in place of those before, the last ones in force; NULL where there is none
    id INTEGER PRIMARY KEY, moment REAL NOT NULL, max_cost REAL, max_pulls INTEGER)"""

#: What was settled, by which outcome: made when the first statement is, likewise.
SETTLED = """CREATE TABLE settled (  -- statements that were settled, each by the outcome at this position
    id INTEGER PRIMARY KEY, statement TEXT NOT NULL, position INTEGER NOT NULL)"""

#: Which item, such as a question, a pull was put to, and in which run: made with the first of them, likewise.
ITEMS = """CREATE TABLE items (  -- an item is in use by a pull that is out or has its outcome
    item TEXT NOT NULL, pull INTEGER NOT NULL REFERENCES pulls (number), run TEXT NOT NULL,
    PRIMARY KEY (item, pull)) WITHOUT ROWID"""

#: What pulls cost that were withdrawn: made with the first of them, likewise.
LOST = """CREATE TABLE lost (  -- money that was spent on a pull without an outcome
    pull INTEGER PRIMARY KEY REFERENCES pulls (number), cost REAL NOT NULL)"""

STATEMENTS = tuple(TABLES.split(";\n")[:-1])
#: The first files of 0.2.0 have the columns of the index in another order.
FIRST = tuple(one.replace("pulls (number, arm) WHERE", "pulls (arm, number) WHERE") for one in STATEMENTS)
LATER = (ENDED, BATCHES, RAISED, SETTLED, ITEMS, LOST)

#: What SQLite says, by the lowest byte of its code, of a file that is not as it was written, in words.
DAMAGE = {
    **dict.fromkeys((sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_TOOBIG), "{error}"),
    **dict.fromkeys((sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH), "{error}"),
    sqlite3.SQLITE_INTERRUPT: "reading it does not end",
}

#: What it says of what it is not allowed, as an error of the system and in words.
REFUSALS = {
    sqlite3.SQLITE_FULL: (errno.ENOSPC, "no space left; nothing of this command is in it"),
    sqlite3.SQLITE_IOERR: (errno.EIO, "the system cannot read or write it ({error}); nothing of this command is in it"),
    sqlite3.SQLITE_READONLY: (errno.EACCES, "read-only: it can be looked at, not changed"),
    sqlite3.SQLITE_PERM: (errno.EACCES, "no permission to open it"),
    sqlite3.SQLITE_CANTOPEN: (errno.EACCES, "cannot be opened ({error})"),
}

#: The least and the largest number of a pull and of an outcome, and the query for them, each by itself: of both at once
#: SQLite reads every row.
ENDS = [
    f"{end}({row}) FROM {table}"
    for row, table in (("number", "pulls"), ("position", "outcomes"))
    for end in ("min", "max")
]
LOOK = f"SELECT {', '.join(f'(SELECT {end})' for end in ENDS)}"

#: The longest text or the longest row, in bytes: some thousand times the checkpoint of a hundred arms.
LONGEST = 2**28

#: Steps of SQLite's machine between two counts; how many a transaction may take without a change, and how many more for
#: each byte of the file. Reading every row of a file takes about two for each byte.
STRIDE, STEPS, STEPS_PER_BYTE = 10_000, 2_000_000, 20

#: The largest number of a pull or an outcome, which a double holds.
LARGEST = 2**53

#: Moments from the year 1 to 9999, in seconds since 1970.
EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_800.0


class DamagedError(Exception):
    """What a file holds is not what was written; told to the user as an `InputError` with the name of the file."""


class Place(NamedTuple):
    """Which file is at a path."""

    device: int
    number: int

    @classmethod
    def of(cls, path: str | Path) -> "Place | None":
        """None where there is none."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        return cls(found.st_dev, found.st_ino)


class Seen(NamedTuple):
    """What a file had, of which nothing goes away: its identity, and the last pull and outcome."""

    identity: str | None
    pulls: int
    outcomes: int


class Steps:
    """Ends a statement that would go on for ever, as trees of pages do that point to themselves."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._changes, self._files = connection, 0, (path, Path(f"{path}-wal"))
        #: Counts that are left; None where it is to begin again.
        self.left: int | None = None
        connection.set_progress_handler(self._count, STRIDE)

    def _count(self) -> int:
        """Whether it is enough for a file and its log, if there is one; who changes something gets on."""
        changes = self._connection.total_changes
        if self.left is None or changes != self._changes:
            size = 0
            for file in self._files:
                with suppress(OSError):
                    size += file.stat().st_size
            self.left = (STEPS + STEPS_PER_BYTE * size) // STRIDE
        self.left, self._changes = self.left - 1, changes
        return int(self.left < 0)


def connect(path: Path, mode: str, wait: float) -> tuple[sqlite3.Connection, Steps]:
    """A connection that trusts nothing in the file: to make it ("rwc"), or to work on it ("rw")."""
    address = f"{path.as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None, check_same_thread=False)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        for setting in ("trusted_schema = OFF", "cell_size_check = ON", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {setting}")
        steps = Steps(connection, path)
        if mode != "rwc":
            check_schema(connection)
        if mode == "rw":
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("SELECT 1 FROM experiment")  # the log is open from here on
    except BaseException:
        connection.close()
        raise
    return connection, steps


def check_schema(connection: sqlite3.Connection) -> None:
    """Raise `DamagedError` unless the tables are those that some version makes (`is_known`), to the letter.

    A view, a trigger, a generated column or an index on an expression would be run by the queries that follow.
    """
    whole = schema_of((*STATEMENTS, IDENTITY, *LATER))
    try:
        found = read_schema(connection, 1 + len(whole))
    except UnicodeDecodeError as error:  # SQLite quotes in its message what is wrong with the schema
        raise DamagedError("its tables are not UTF-8") from error
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF == sqlite3.SQLITE_ERROR:
            raise DamagedError(str(error)) from error  # a schema that cannot be read is no fault of the query
        raise
    if len(set(found)) != len(found) or not any(is_known(frozenset(found), tables) for tables in (STATEMENTS, FIRST)):
        raise DamagedError("its tables are not those that caet-opt makes")


def is_known(found: frozenset[tuple[Any, ...]], tables: Sequence[str]) -> bool:
    """Whether a schema is that of these tables, and of some of `LATER` where there is an identity."""
    more = found - schema_of(tables)
    later = frozenset(entry for one in LATER for entry in schema_of((one,)))
    return schema_of(tables) <= found and (not more or schema_of((IDENTITY,)) <= more <= schema_of((IDENTITY,)) | later)


@cache
def schema_of(statements: Sequence[str]) -> frozenset[tuple[Any, ...]]:
    """What SQLite keeps of tables and indices that these statements make."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        return frozenset(read_schema(connection, 100))


def read_schema(connection: sqlite3.Connection, most: int) -> list[tuple[Any, ...]]:
    """The first entries of the schema: kind, name, table, text."""
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT ?", (most,)).fetchall()


def refusal(error: sqlite3.DatabaseError, path: str | Path) -> Exception:
    """What SQLite is not allowed, as the system's error with the name of the file; else its own error."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code not in REFUSALS:
        return error
    number, words = REFUSALS[code]
    return OSError(number, words.format(error=error), str(path))


def begins(connection: sqlite3.Connection) -> bool:
    """Begin to write, unless another one does."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def merge(connection: sqlite3.Connection, wait: float = 0.0) -> None:
    """Merge the log into the file as far as nobody still reads from it, and with some patience cut it off."""
    with suppress(sqlite3.Error):  # what was changed is on disk in the log, and merged by the next one
        if wait:
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * wait)}")
        connection.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if wait else 'PASSIVE'})")


def identify(connection: sqlite3.Connection) -> None:
    """Give a file an identity of its own."""
    connection.execute("DROP TABLE IF EXISTS identity")
    connection.execute(IDENTITY)
    connection.execute("INSERT INTO identity VALUES (1, ?)", (token_hex(16),))


def look(connection: sqlite3.Connection, before: Seen, path: Path) -> Seen:
    """What is in the file now; `DamagedError` where numbers are none, `InputError` for another file than before, or an
    older copy of it."""
    try:
        identity = connection.execute("SELECT value FROM identity").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        identity = (None,)  # there is no such table
    if identity is None or not isinstance(identity[0], str | None):
        raise DamagedError("its identity is missing")
    found = zip(connection.execute(LOOK).fetchone(), ENDS, strict=True)
    ends = [0 if end is None else check_whole(end, what.replace("FROM", "of"), least=1) for end, what in found]
    now = Seen(identity[0], ends[1], ends[3])
    if before.identity not in (None, now.identity):
        raise InputError(f"{path}: was replaced by another experiment, or a copy; open it again")
    if now.pulls < before.pulls or now.outcomes < before.outcomes:
        raise InputError(
            f"{path}: has {now.pulls} pulls and {now.outcomes} outcomes, but had {before.pulls} and "
            f"{before.outcomes}: an older copy was put in its place; open it again"
        )
    return now


def has(connection: sqlite3.Connection, table: str) -> bool:
    """Whether there is a table of this name, which not all files have."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def copy_pages(source: sqlite3.Connection, part: Path, named: str | Path) -> None:
    """Copy a database as a transaction sees it into a new file, whole, with an identity of its own."""
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as target:
            source.backup(target)
            (found,) = target.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise DamagedError(found)
            target.execute("BEGIN")
            identify(target)
            target.execute("COMMIT")
    except sqlite3.OperationalError as error:
        raise refusal(error, named) from error


def publish(part: Path, place: Path) -> None:
    """Give a finished file its name, unless there is one by now."""
    with part.open("rb+") as written:
        os.fsync(written.fileno())
    try:
        os.link(part, place)
    except FileExistsError:
        raise InputError(f"{place}: there is a file already; name one that does not exist") from None
    except OSError:  # a file system without hard links
        part.rename(place)


def check_whole(value: Any, what: str, least: int = 0, most: int = LARGEST) -> int:
    """A whole number of a cell, or `DamagedError`."""
    if not is_whole(value, least, most):
        raise DamagedError(f"{what} is {show(value)}, not a whole number from {least} to {most}")
    return int(value)


def check_number(value: Any, what: str) -> float:
    """A finite number of a cell, or `DamagedError`."""
    if not isinstance(value, float) or not isfinite(value):
        raise DamagedError(f"{what} is {show(value)}, not a finite number")
    return value


def check_moment(value: Any, what: str) -> float:
    """A moment of a cell, or `DamagedError`."""
    if not EARLIEST <= check_number(value, what) < LATEST:
        raise DamagedError(f"{what} is {value:g}, not a time in seconds since 1970")
    return float(value)


def check_text(value: Any, what: str) -> str:
    """A text of a cell, or `DamagedError`."""
    if not isinstance(value, str):
        raise DamagedError(f"{what} is {show(value)}, not a text")
    return value


def show(value: Any) -> str:
    """A cell in an error, cut short."""
    text = repr(value[:40] if isinstance(value, str | bytes) else value)
    return text if len(text) <= 40 else f"{text[:37]}..."
