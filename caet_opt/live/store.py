"""The file of a live experiment: an SQLite database in which every pull and every outcome is a row.

A change is one transaction, on disk (write-ahead log, ``synchronous=FULL``) before the caller hears of it; who is
killed, or meets a full disk, leaves the last whole transaction. Writers wait for each other, in turn. Readers see one
moment. The log is merged into the file whenever an experiment is closed, and at times while it is open. What is at the
path is looked at before and after each change: one that would go where nobody finds it is refused.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from shutil import copyfile
from tempfile import TemporaryDirectory
from threading import Lock, RLock, Timer
from weakref import WeakSet

from caet_opt.common.checks import is_number
from caet_opt.common.files import DATABASE as MAGIC
from caet_opt.common.files import UNFINISHED
from caet_opt.errors import BusyError, InputError
from caet_opt.live.database import (
    DAMAGE,
    IDENTITY,
    REFUSALS,
    Place,
    Seen,
    begins,
    copy_pages,
    file_size,
    identify,
    index_of,
    log_of,
    look,
    merge,
    publish,
    refusal,
)
from caet_opt.live.guard import DamagedError, Steps, check_schema, restrict
from caet_opt.live.turn import LOOK, Turn
from caet_opt.version import __version__

#: Which files are ours (the word "caet" in four bytes), and the version of the tables below.
APPLICATION, SCHEMA_VERSION = 0x63616574, 1

#: Where the header of an SQLite file has user_version and application_id, and how long it is.
VERSION_AT, APPLICATION_AT, HEADER = 60, 68, 100

#: Seconds that a command waits for another one that writes, unless told otherwise, and at most.
WAIT, LONGEST_WAIT = 10.0, 1e6

#: Seconds between two merges of the log into the file, and for how many who closes it waits for others to let it.
MERGE_EVERY, MERGE_WAIT = 0.2, 0.1

#: What is to be done about a damaged file.
RESTORE = "restore it from a copy that caet-opt experiment backup made"

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

STATEMENTS = tuple(TABLES.split(";\n")[:-1])
#: The first files of 0.2.0 have the columns of the index in another order.
FIRST = tuple(one.replace("pulls (number, arm) WHERE", "pulls (arm, number) WHERE") for one in STATEMENTS)
KNOWN_SCHEMAS = ((*STATEMENTS, IDENTITY), STATEMENTS, (*FIRST, IDENTITY), FIRST)


class Store:
    """The database of one file. A connection is opened when it is needed, in each process its own."""

    def __init__(self, path: str | Path, wait: float = WAIT) -> None:
        if not is_number(wait) or not 0 <= wait <= LONGEST_WAIT:
            raise InputError(f"wait must be seconds, from 0 to {LONGEST_WAIT:g}, got {wait!r}")
        self.path, self.wait, self.header = Path(path), wait, b""
        # SQLite keeps the log beside the file itself, whatever symbolic links lead to it
        self._named, self._file = self.path.absolute(), Path(os.path.realpath(path))
        self._turn = Turn(self._file)
        self._process, self._lock, self._gate = 0, RLock(), Lock()
        self._connection: sqlite3.Connection | None = None
        self._copy: TemporaryDirectory[str] | None = None
        self._place: Place | None = None
        self._log: Place | None = None
        self._seen: Seen | None = None
        self._steps: Steps | None = None
        self._timer: Timer | None = None

    @classmethod
    def create(cls, path: str | Path, saved: str, names: str, guaranteed: bool, wait: float = WAIT) -> "Store":
        """A new file, whole or not there; `InputError` where there is one already."""
        store = cls(path, wait)
        taken = InputError(
            f"{path}: there is a file already; name one that does not exist, or, to go on with the experiment in it, "
            "--if-missing (in Python LiveExperiment.open_or_start, or open)"
        )
        if is_filled(store.path):
            raise taken
        with store._plain_errors():
            connection = store._connect("rwc")
            try:
                connection.execute("BEGIN EXCLUSIVE")
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise taken  # another process was quicker
                for statement in STATEMENTS:
                    connection.execute(statement)
                row = (time.time(), __version__, names, guaranteed, saved)
                connection.execute("INSERT INTO experiment VALUES (1, ?, ?, ?, ?, ?)", row)
                connection.execute("INSERT INTO checkpoint VALUES (1, 0, ?)", (saved,))
                identify(connection)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                connection.execute("COMMIT")
            finally:
                connection.close()
        return store

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One moment of the file; whoever writes meanwhile is not seen."""
        with self._transaction(writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A change of the file: all of it is on disk when this ends, or, after an error, nothing."""
        if not can_write(self._file):
            check_file(self.path)
            number, words = REFUSALS[sqlite3.SQLITE_READONLY]
            raise OSError(number, words, str(self.path))
        with self._transaction(writes=True) as connection:
            yield connection

    def backup(self, path: str | Path) -> None:
        """Copy the file as it is at one moment, with what is in the log, to a path where there is none: whole or not
        at all. Others may write meanwhile. The copy is another file, with an identity of its own."""
        if os.path.lexists(path):
            raise InputError(f"{path}: there is a file already; name one that does not exist")
        place = Path(os.path.realpath(path))
        part = place.with_name(f".caet-opt-{token_hex(8)}{UNFINISHED}")
        try:
            with self.reading() as source:
                copy_pages(source, part, path)
            publish(part, place)
        except OSError as error:
            if error.filename == str(self.path):
                raise
            raise InputError(f"{path}: cannot be written ({error.strerror or error}); name a file that can") from error
        finally:
            for name in (part, Path(f"{part}-wal"), Path(f"{part}-shm"), Path(f"{part}-journal")):
                name.unlink(missing_ok=True)

    @contextmanager
    def _transaction(self, writes: bool) -> Iterator[sqlite3.Connection]:
        with self._alone(), self._plain_errors():
            connection = self._begin(writes)
            try:
                self._check_place(writes, "nothing of this command is in it")
                self._check_rows(connection)
                if writes and self._seen is not None and self._seen.identity is None:
                    identify(connection)
                yield connection
                last = look(connection) if writes else self._seen
                connection.execute("COMMIT")
                self._seen = last
            except BaseException:
                with suppress(sqlite3.Error):  # after some errors SQLite has done it by itself
                    connection.execute("ROLLBACK")
                raise
            if writes:
                self._check_place(writes, "whether this command is in it cannot be said: see status")
                self._merge_at_times(connection)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """This object for one thread at a time, in turn: who waits for it holds the gate, as `Turn` has it."""
        if self._process not in (0, os.getpid()):
            self._lock, self._gate = RLock(), Lock()  # what a fork has copied may be held by a thread that it has not
        deadline = time.monotonic() + self.wait
        if not self._gate.acquire(timeout=self.wait):
            raise self._busy("thread")
        try:
            if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
                raise self._busy("thread")
        finally:
            self._gate.release()
        try:
            yield
        finally:
            self._lock.release()

    def _busy(self, who: str) -> BusyError:
        return BusyError(
            f"{self.path}: another {who} has kept it locked for {self.wait:g} s; try again, or wait longer (--wait)"
        )

    def _begin(self, writes: bool) -> sqlite3.Connection:
        """A transaction, in turn where it writes, that reads nothing from memory: the file may have been replaced."""
        connection = self._open()
        connection.execute("PRAGMA shrink_memory")
        if self._steps is not None:
            self._steps.allow(file_size(self._file) + file_size(log_of(self._file)))
        if writes:
            self._wait_in_turn(connection)
        else:
            connection.execute("BEGIN")
        return connection

    def _wait_in_turn(self, connection: sqlite3.Connection) -> None:
        """Begin to write as soon as nobody else does."""
        deadline = time.monotonic() + self.wait
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            if not self._turn.is_wanted() and begins(connection):
                return
            with self._turn.taken(deadline) as mine:
                while not (mine and begins(connection)):
                    if not mine or time.monotonic() >= deadline:
                        raise self._busy("process")
                    time.sleep(LOOK)
        finally:
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * self.wait)}")

    def _check_place(self, writes: bool, so: str) -> None:
        """Raise `InputError` unless what is open is what others find under this name, and under no other."""
        if self._place is None:
            return  # what is open is a copy
        try:
            found = self._named.stat()
        except OSError:
            raise InputError(f"{self.path}: was removed while it was open; {so}") from None
        if Place(found.st_dev, found.st_ino) != self._place:
            raise InputError(f"{self.path}: was replaced by another file while it was open; {so}; open it again")
        if writes and found.st_nlink > 1:
            raise self._linked(so)
        if self._is_cut_off():
            raise InputError(f"{self.path}: another process has removed the log that is open; {so}; try again")

    def _linked(self, so: str) -> InputError:
        return InputError(
            f"{self.path}: has another name, a hard link, and under each name another log; {so}; remove one name "
            "(caet-opt experiment backup makes a copy)"
        )

    def _is_cut_off(self) -> bool:
        """Whether the log that is open is not the one that others find.

        The locks of SQLite are those of a process, and end when any handle of the file is closed in it, such as that of
        a plain copy. Then another process takes itself for the last one, and removes the log, after merging it.
        """
        return self._log is not None and Place.of(index_of(self._file)) != self._log

    def _check_rows(self, connection: sqlite3.Connection) -> None:
        """Raise `InputError` where the file is another one than before, or an older copy of it."""
        before, found = self._seen, look(connection)
        if before is not None:
            if before.identity not in (None, found.identity):
                raise InputError(f"{self.path}: was replaced by another experiment, or a copy; open it again")
            if found.pulls < before.pulls or found.outcomes < before.outcomes:
                raise InputError(
                    f"{self.path}: has {found.pulls} pulls and {found.outcomes} outcomes, and had {before.pulls} and "
                    f"{before.outcomes}: an older copy was put in its place; open it again"
                )
        self._seen = found

    def _merge_at_times(self, connection: sqlite3.Connection) -> None:
        """Merge the log into the file, now, or soon if that was just done: it takes longer than a change."""
        if abs(time.time() - self._file.stat().st_mtime) >= MERGE_EVERY:
            merge(connection)
        elif self._timer is None or not self._timer.is_alive():
            self._timer = Timer(MERGE_EVERY, self._merge)
            self._timer.daemon = True
            self._timer.start()

    def _merge(self) -> None:
        """Merge what a quick succession of changes has left in the log."""
        with self._lock:
            if self._connection is not None and self._log is not None and not self._is_cut_off():
                merge(self._connection)

    def close(self) -> None:
        """Merge the log and close the connection of this process; the next use opens another."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                if self._timer is not None:
                    self._timer.cancel()
                if self._log is not None and not self._is_cut_off() and Place.of(self._named) == self._place:
                    merge(self._connection, MERGE_WAIT)
                self._connection.close()
                self._turn.tidy()
            if self._copy is not None:
                self._copy.cleanup()
            self._connection = self._copy = self._steps = self._place = self._log = None

    def _open(self) -> sqlite3.Connection:
        """The connection of this process: what a fork has copied is another's."""
        if self._copy is not None or (self._process == os.getpid() and self._is_cut_off()):
            self.close()  # what was copied may have changed; what was cut off is merged
        if self._connection is None or self._process != os.getpid():
            with OPENING:
                check_file(self.path)
                self.header, self._place, self._log = read_header(self.path), Place.of(self._named), None
                if any(other.has_open(self._place) and other._file != self._file for other in STORES):
                    raise self._linked("it is open under the other")
                self._connection = self._connect_to_work() if can_write(self._file) else self._connect_to_look()
                self._process = os.getpid()
                STORES.add(self)
        return self._connection

    def _connect(self, mode: str, path: Path | None = None) -> sqlite3.Connection:
        address = f"{(path or self._file).as_uri()}?mode={mode}"
        connection = sqlite3.connect(
            address, uri=True, timeout=self.wait, isolation_level=None, check_same_thread=False
        )
        try:
            self._steps = restrict(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            if mode != "rwc":
                check_schema(connection, KNOWN_SCHEMAS)
            if mode == "rw":
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("SELECT 1 FROM experiment")  # the log is open from here on
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_to_work(self) -> sqlite3.Connection:
        """To a file that can be written, of which it is known which log is open."""
        connection = self._connect("rw")
        self._log = Place.of(index_of(self._file))
        return connection

    def _connect_to_look(self) -> sqlite3.Connection:
        """To a file that must not be written. SQLite reads a log only with an index of it beside the file; where it
        cannot make one, what is read is a copy."""
        try:
            return self._connect("ro")
        except sqlite3.OperationalError:
            self._copy, self._place = TemporaryDirectory(prefix="caet-opt-"), None
            copy = Path(self._copy.name) / "experiment"
            copyfile(self._file, copy)
            with suppress(FileNotFoundError):
                copyfile(log_of(self._file), log_of(copy))
            return self._connect("rw", copy)

    def has_open(self, place: Place | None) -> bool:
        """Whether this process has a file open here."""
        return (
            place is not None and self._connection is not None and self._process == os.getpid() and self._place == place
        )

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """What SQLite says as an `OSError` with the name of the file, or an `InputError`."""
        try:
            yield
        except DamagedError as error:
            raise InputError(f"{self.path}: damaged ({error}); {RESTORE}") from error
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code is None and isinstance(error, sqlite3.OperationalError):
                raise InputError(f"{self.path}: damaged (a text is not UTF-8); {RESTORE}") from error
            if code is None:
                raise
            if code & 0xFF in DAMAGE:
                raise InputError(f"{self.path}: damaged ({error}); {RESTORE}") from error
            if code & 0xFF == sqlite3.SQLITE_INTERRUPT:
                raise InputError(f"{self.path}: damaged (reading it does not end); {RESTORE}") from error
            if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise self._busy("process" if code & 0xFF == sqlite3.SQLITE_BUSY else "thread") from error
            raise refusal(error, self.path) from error


#: The stores of this process, and the lock under which a file is opened. SQLite's locks end when any handle of the file
#: is closed in this process: while one of these has it open, nothing else here may open it.
STORES: WeakSet[Store] = WeakSet()
OPENING = RLock()


def can_write(path: Path) -> bool:
    """Whether a file can be changed, which takes a log beside it."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def is_filled(path: Path) -> bool:
    """Whether there is a file with something in it; what a killed `create` leaves is an empty database."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is no file; name one that does not exist")
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
        with OPENING:
            found = path.stat()
            if stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode):
                raise InputError(f"{path}: not an experiment; caet-opt experiment start makes one")
            for store in STORES:
                if store.has_open(Place(found.st_dev, found.st_ino)):
                    return store.header
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
