"""The file of a live experiment: an SQLite database in which every pull and every outcome is a row.

A change is one transaction, on disk (write-ahead log, ``synchronous=FULL``) before the caller hears of it; who is
killed, or meets a full disk, leaves the last whole transaction. Writers wait for each other. Readers see one moment.
"""

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from threading import RLock

from caet_opt.bandits.files import DATABASE as MAGIC
from caet_opt.errors import InputError
from caet_opt.version import __version__

#: Which files are ours (the word "caet" in four bytes), and the version of the tables below.
APPLICATION, SCHEMA_VERSION = 0x63616574, 1

#: Where the header of an SQLite file has user_version and application_id, and how long it is.
VERSION_AT, APPLICATION_AT, HEADER = 60, 68, 100

#: Seconds that a command waits for another one that writes.
WAIT = 10.0

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

#: What SQLite says, by the lowest byte of its code, as an error of the system and in words.
REFUSALS = {
    sqlite3.SQLITE_BUSY: (
        errno.ETIMEDOUT,
        "another process has kept it locked for {wait:g} s; try again, or wait longer",
    ),
    sqlite3.SQLITE_LOCKED: (errno.ETIMEDOUT, "another thread has kept it locked for {wait:g} s; try again"),
    sqlite3.SQLITE_FULL: (errno.ENOSPC, "no space left; nothing of this command is in it"),
    sqlite3.SQLITE_IOERR: (errno.EIO, "the system cannot read or write it ({error}); nothing of this command is in it"),
    sqlite3.SQLITE_READONLY: (errno.EACCES, "read-only: it can be looked at, not changed"),
    sqlite3.SQLITE_PERM: (errno.EACCES, "no permission to open it"),
    sqlite3.SQLITE_CANTOPEN: (errno.EACCES, "cannot be opened ({error})"),
}


class Store:
    """The database of one file. A connection is opened when it is needed, in each process its own."""

    def __init__(self, path: str | Path, wait: float = WAIT) -> None:
        self.path, self.wait = Path(path), wait
        self._connection: sqlite3.Connection | None = None
        self._copy: TemporaryDirectory[str] | None = None
        self._process, self._lock = 0, RLock()

    @classmethod
    def create(cls, path: str | Path, saved: str, names: str, guaranteed: bool, wait: float = WAIT) -> "Store":
        """A new file, whole or not there; `InputError` where there is one already."""
        store, taken = cls(path, wait), InputError(f"{path}: there is a file already; name one that does not exist")
        if is_filled(store.path):
            raise taken
        with store._plain_errors():
            connection = store._connect("rwc")
            try:
                connection.execute("BEGIN EXCLUSIVE")
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise taken  # another process was quicker
                for statement in TABLES.split(";\n")[:-1]:
                    connection.execute(statement)
                row = (time.time(), __version__, names, guaranteed, saved)
                connection.execute("INSERT INTO experiment VALUES (1, ?, ?, ?, ?, ?)", row)
                connection.execute("INSERT INTO checkpoint VALUES (1, 0, ?)", (saved,))
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                connection.execute("COMMIT")
            finally:
                connection.close()
        return store

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One moment of the file; whoever writes meanwhile is not seen."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A change of the file: all of it is on disk when this ends, or, after an error, nothing."""
        if not can_write(self.path):
            check_file(self.path)
            number, words = REFUSALS[sqlite3.SQLITE_READONLY]
            raise OSError(number, words, str(self.path))
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock, self._plain_errors():
            connection = self._open()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # after some errors SQLite has done it by itself
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the connection of this process; the next use opens another."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            if self._copy is not None:
                self._copy.cleanup()
            self._connection = self._copy = None

    def _open(self) -> sqlite3.Connection:
        """The connection of this process: what a fork has copied is another's."""
        if self._copy is not None:
            self.close()  # what was copied may have changed
        if self._connection is None or self._process != os.getpid():
            check_file(self.path)
            self._connection = self._connect("rw") if can_write(self.path) else self._connect_to_look()
            self._process = os.getpid()
        return self._connection

    def _connect(self, mode: str, path: Path | None = None) -> sqlite3.Connection:
        address = f"{(path or self.path).absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(
            address, uri=True, timeout=self.wait, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            if mode == "rw":
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_to_look(self) -> sqlite3.Connection:
        """To a file that must not be written. SQLite reads a log only with an index of it beside the file; where it
        cannot make one, what is read is a copy."""
        connection = self._connect("ro")
        try:
            connection.execute("SELECT count(*) FROM experiment")
        except sqlite3.OperationalError:
            connection.close()
            self._copy = TemporaryDirectory(prefix="caet-opt-")
            copy = Path(self._copy.name) / "experiment"
            copyfile(self.path, copy)
            with suppress(FileNotFoundError):
                copyfile(f"{self.path}-wal", f"{copy}-wal")
            connection = self._connect("rw", copy)
        return connection

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """What SQLite says as an `OSError` with the name of the file, or an `InputError`."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise InputError(f"{self.path}: damaged ({error}); restore it from a copy") from error
            if code not in REFUSALS:
                raise
            number, words = REFUSALS[code]
            raise OSError(number, words.format(wait=self.wait, error=error), str(self.path)) from error


def can_write(path: Path) -> bool:
    """Whether a file can be changed, which takes a log beside it."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def is_filled(path: Path) -> bool:
    """Whether there is a file with something in it; what a killed `create` leaves is an empty database."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if not path.exists() or path.stat().st_size == 0:
        return False
    return not is_empty_database(path)


def is_empty_database(path: Path) -> bool:
    """Whether a file is an SQLite database without tables."""
    if read_header(path)[: len(MAGIC)] != MAGIC:
        return False
    with suppress(sqlite3.Error):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        finally:
            connection.close()
    return False


def read_header(path: Path) -> bytes:
    """The first bytes of a file; a missing or unreadable one is an `InputError`."""
    try:
        with path.open("rb") as source:
            return source.read(HEADER)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; caet-opt experiment start makes one") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def is_experiment(header: bytes) -> bool:
    """Whether the first bytes of a file are those of an experiment."""
    return header.startswith(MAGIC) and number_at(header, APPLICATION_AT) == APPLICATION


def number_at(header: bytes, place: int) -> int:
    """Four bytes of a header."""
    return int.from_bytes(header[place : place + 4], "big")


def check_file(path: Path) -> None:
    """Raise `InputError` unless a file is an experiment of a version that is known here."""
    header = read_header(path)
    if not is_experiment(header):
        raise InputError(f"{path}: not an experiment; caet-opt experiment start makes one")
    version = number_at(header, VERSION_AT)
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path}: made by a newer caet-opt (schema {version}, known here up to {SCHEMA_VERSION}); update caet-opt"
        )
