"""The database in a file, as SQLite has it: which file it is, what it holds, its log, its copies, what it refuses."""

import errno
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from caet_opt.errors import InputError
from caet_opt.live.guard import DamagedError, check_whole

#: Which file this is; files of 0.2.0 are given it with the first change.
IDENTITY = """CREATE TABLE identity (  -- one row, drawn at random when the file was made; a backup has another
    id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL)"""

#: What SQLite says, by the lowest byte of its code, of a file that is not as it was written.
DAMAGE = (
    *(sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_FORMAT),
    *(sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH),
)

#: What it says of what it is not allowed, as an error of the system and in words.
REFUSALS = {
    sqlite3.SQLITE_FULL: (errno.ENOSPC, "no space left; nothing of this command is in it"),
    sqlite3.SQLITE_IOERR: (errno.EIO, "the system cannot read or write it ({error}); nothing of this command is in it"),
    sqlite3.SQLITE_READONLY: (errno.EACCES, "read-only: it can be looked at, not changed"),
    sqlite3.SQLITE_PERM: (errno.EACCES, "no permission to open it"),
    sqlite3.SQLITE_CANTOPEN: (errno.EACCES, "cannot be opened ({error})"),
}


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


def look(connection: sqlite3.Connection) -> Seen:
    """What is in the file now; `DamagedError` where numbers are none."""
    has_identity = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'identity'").fetchone()
    identity = connection.execute("SELECT value FROM identity").fetchone() if has_identity else (None,)
    if identity is None or not isinstance(identity[0], str | None):
        raise DamagedError("its identity is missing")
    ends = []
    for column, table in (("number", "pulls"), ("position", "outcomes")):
        for end in ("min", "max"):  # each by itself: of both at once SQLite reads every row
            (found,) = connection.execute(f"SELECT {end}({column}) FROM {table}").fetchone()
            ends.append(0 if found is None else check_whole(found, f"{end}({column}) of {table}", least=1))
    return Seen(identity[0], ends[1], ends[3])


def copy_pages(source: sqlite3.Connection, part: Path, named: str | Path) -> None:
    """Copy a database as a transaction sees it into a new file, whole, with an identity of its own."""
    try:
        target = sqlite3.connect(part, isolation_level=None)
        try:
            source.backup(target)
            (found,) = target.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise DamagedError(found)
            target.execute("BEGIN")
            identify(target)
            target.execute("COMMIT")
        finally:
            target.close()
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


def log_of(path: Path) -> Path:
    """The write-ahead log of a file."""
    return Path(f"{path}-wal")


def index_of(path: Path) -> Path:
    """The index of that log, which is made and removed with it."""
    return Path(f"{path}-shm")


def file_size(path: Path) -> int:
    """Its bytes; none where there is no file."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
