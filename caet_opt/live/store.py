"""The file of a live experiment: an SQLite database in which every pull and every outcome is a row.

A change is one transaction, on disk (write-ahead log, ``synchronous=FULL``) before the caller hears of it; who is
killed, or meets a full disk, leaves the last whole transaction. Writers wait for each other, in turn. Readers see one
moment, and who has not made the file, or cannot change it, reads a copy. The log is merged into the file whenever an
experiment is closed, and at times while it is open. What is at the path is looked at before and after each change: one
that would go where nobody finds it is refused.
"""

import json
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partialmethod
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from threading import Lock, RLock, Timer
from weakref import WeakSet

from caet_opt.common.checks import is_number, show_value
from caet_opt.common.files import BESIDE, UNFINISHED
from caet_opt.common.files import DATABASE as MAGIC
from caet_opt.errors import BusyError, InputError
from caet_opt.exploring.explorer import Explorer
from caet_opt.live import database
from caet_opt.live.copying import beside, copy_at_one_moment
from caet_opt.live.database import DamagedError, Place, Seen, Steps
from caet_opt.live.turn import LOOK, Turn
from caet_opt.version import __version__

#: Which files are ours, as application_id says, and the version of its tables.
APPLICATION, SCHEMA_VERSION = b"caet", 1

#: Where the header of an SQLite file has user_version and application_id, and how long it is.
VERSION_AT, APPLICATION_AT, HEADER = slice(60, 64), slice(68, 72), 100

#: Seconds that a command waits for another one that writes, unless told otherwise, and at most.
WAIT, LONGEST_WAIT = 10.0, 1e6

#: Seconds from a change to the merge of the log into the file, and for how many who closes it waits for others.
MERGE_EVERY, MERGE_WAIT = 0.2, 0.1

#: What is to be done about a damaged file.
RESTORE = "restore it from a copy that caet-opt experiment backup made"


class Store:
    """The database of one file. A connection is opened when it is needed, in each process its own."""

    def __init__(self, path: str | Path, wait: float = WAIT) -> None:
        if not is_number(wait) or not 0 <= wait <= LONGEST_WAIT:
            raise InputError(f"wait must be seconds, from 0 to {LONGEST_WAIT:g}, got {show_value(wait)}")
        self.path, self.wait, self.header = Path(path), wait, b""
        # SQLite keeps the log beside the file itself, whatever symbolic links lead to it
        self._named, self._file = self.path.absolute(), Path(os.path.realpath(path))
        self._log, self._index = beside(self._file), Path(f"{self._file}-shm")
        self._turn = Turn(self._file)
        self._process, self._lock, self._gate = 0, RLock(), Lock()
        self._connection: sqlite3.Connection | None = None
        self._copy: TemporaryDirectory[str] | None = None
        self._place: Place | None = None
        self._index_place: Place | None = None
        self._seen = Seen(None, 0, 0)
        #: How many outcomes the file had when the last transaction began.
        self.outcomes = 0
        self._steps: Steps | None = None
        self._timer: Timer | None = None

    @classmethod
    def create(cls, path: str | Path, explorer: Explorer, names: Sequence[str], wait: float = WAIT) -> "Store":
        """A new file with what is started, whole or not there; `InputError` where there is one already."""
        store, saved = cls(path, wait), explorer.to_text()
        taken = InputError(
            f"{path}: there is a file already; choose another name, or continue the experiment in it with --if-missing "
            "(in Python LiveExperiment.open_or_start, or open)"
        )
        if is_filled(store.path):
            raise taken
        check_folder(path)
        with store._plain_errors(), closing(database.connect(store._file, "rwc", wait)[0]) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise taken  # another process was quicker
            for statement in database.STATEMENTS:
                connection.execute(statement)
            guaranteed = explorer.threshold.guarantees(explorer.family)
            row = (time.time(), __version__, json.dumps(names), guaranteed, saved)
            connection.execute("INSERT INTO experiment VALUES (1, ?, ?, ?, ?, ?)", row)
            connection.execute("INSERT INTO checkpoint VALUES (1, 0, ?)", (saved,))
            database.identify(connection)
            connection.execute(f"PRAGMA application_id = {int.from_bytes(APPLICATION, 'big')}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
        return store

    def backup(self, path: str | Path) -> None:
        """Copy the file as it is at one moment, with what is in the log, to a path where there is none: whole or not
        at all. Others may write meanwhile. The copy is another file, with an identity of its own."""
        if os.path.lexists(path):
            raise InputError(f"{path}: there is a file already; name one that does not exist")
        check_folder(path)
        place = Path(os.path.realpath(path))
        part = place.with_name(f".caet-opt-{token_hex(8)}{UNFINISHED}")
        try:
            with self.reading() as source:
                database.copy_pages(source, part, path)
            database.publish(part, place)
        except OSError as error:
            if error.filename == str(self.path):
                raise
            raise InputError(f"{path}: cannot be written ({error.strerror or error}); name a file that can") from error
        finally:
            for ending in ("", "-wal", "-shm", "-journal"):
                Path(f"{part}{ending}").unlink(missing_ok=True)

    @contextmanager
    def _transaction(self, writes: bool) -> Iterator[sqlite3.Connection]:
        if writes:
            self._check_writable()
        with self._alone(), self._plain_errors():
            connection = self._begin(writes)
            try:
                self._check_place(writes, "nothing of this command is in it")
                self._seen = database.look(connection, self._seen, self.path)
                self.outcomes = self._seen.outcomes
                if writes and self._seen.identity is None:
                    database.identify(connection)
                yield connection
                last = database.look(connection, self._seen, self.path) if writes else self._seen
                connection.execute("COMMIT")
                self._seen = last
            except BaseException:
                with suppress(sqlite3.Error):  # after some errors SQLite has done it by itself
                    connection.execute("ROLLBACK")
                raise
            if writes:
                self._check_place(writes, "it is not known whether this command took effect: see status")
                if self._timer is None or not self._timer.is_alive():  # it takes longer than a change: soon
                    self._timer = Timer(MERGE_EVERY, self._merge)
                    self._timer.daemon = True
                    self._timer.start()

    #: One moment of the file; whoever writes meanwhile is not seen.
    reading = partialmethod(_transaction, writes=False)
    #: A change of the file: all of it is on disk when this ends, or, after an error, nothing.
    writing = partialmethod(_transaction, writes=True)

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

    def _check_writable(self) -> None:
        """Raise `OSError` for a file that cannot be changed, or whose log cannot."""
        if can_write(self._file):
            return
        check_file(self.path)
        number, words = database.REFUSALS[sqlite3.SQLITE_READONLY]
        others = [one.name for one in (self._log, self._index) if is_locked(one)]
        if others and may_write(self._file):
            words = (
                f"{' and '.join(others)} beside it cannot be written; have whoever made that close the experiment, or "
                "go on with a copy that experiment backup makes"
            )
        raise OSError(number, words, str(self.path))

    def _busy(self, who: str) -> BusyError:
        return BusyError(
            f"{self.path}: another {who} has kept it locked for {self.wait:g} s; try again, or wait longer (--wait)"
        )

    def _begin(self, writes: bool) -> sqlite3.Connection:
        """A transaction, in turn where it writes, that reads nothing from memory: the file may have been replaced."""
        connection = self._open(writes)
        connection.execute("PRAGMA shrink_memory")
        if self._steps is not None:
            self._steps.left = None
        if not writes:
            connection.execute("BEGIN")
            return connection
        deadline = time.monotonic() + self.wait
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            if not self._turn.path.exists() and database.begins(connection):
                return connection
            with self._turn.taken(deadline) as mine:
                while not (mine and database.begins(connection)):
                    if not mine or time.monotonic() >= deadline:
                        raise self._busy("process")
                    time.sleep(LOOK)
            return connection
        finally:
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * self.wait)}")

    def _check_place(self, writes: bool, effect: str) -> None:
        """Raise `InputError` unless what is open is what others find under this name, and under no other."""
        if self._place is None:
            return  # what is open is a copy
        try:
            found = self._named.stat()
        except OSError:
            raise InputError(f"{self.path}: was removed while it was open; {effect}") from None
        if Place(found.st_dev, found.st_ino) != self._place:
            raise InputError(f"{self.path}: was replaced by another file while it was open; {effect}; open it again")
        if writes and found.st_nlink > 1:
            raise self._linked(effect)
        if self._is_cut_off():
            raise InputError(f"{self.path}: another process has removed the log that is open; {effect}; try again")

    def _linked(self, effect: str) -> InputError:
        return InputError(
            f"{self.path}: has a second name, a hard link, and each name has its own log; {effect}; remove one name "
            "(caet-opt experiment backup makes a copy)"
        )

    def _is_cut_off(self) -> bool:
        """Whether the log that is open is not the one that others find.

        The locks of SQLite are those of a process, and end when any handle of the file is closed in it, such as that of
        a plain copy. Then another process takes itself for the last one, and removes the log, after merging it.
        """
        return self._index_place is not None and Place.of(self._index) != self._index_place

    def _merge(self) -> None:
        """Merge what a quick succession of changes has left in the log."""
        with self._lock:
            if self._connection is not None and self._index_place is not None and not self._is_cut_off():
                database.merge(self._connection)

    def close(self) -> None:
        """Merge the log and close the connection of this process; the next use opens another."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                if self._timer is not None:
                    self._timer.cancel()
                is_ours = self._index_place is not None and not self._is_cut_off()
                if is_ours and Place.of(self._named) == self._place:
                    database.merge(self._connection, MERGE_WAIT)
                self._connection.close()
                if self._copy is None:
                    self._turn.tidy()
            if self._copy is not None:
                self._copy.cleanup()
            self._connection = self._copy = self._steps = self._place = self._index_place = None

    def _open(self, writes: bool = True) -> sqlite3.Connection:
        """The connection of this process: what a fork has copied is another's."""
        if self._copy is not None or (self._process == os.getpid() and self._is_cut_off()):
            self.close()  # what was copied may have changed; what was cut off is merged
        if self._connection is None or self._process != os.getpid():
            with OPENING:
                check_file(self.path)
                self.header, self._place, self._index_place = read_header(self.path), Place.of(self._named), None
                others = [other for other in STORES if other.has_open(self._place)]
                if any(other._file != self._file for other in others):
                    raise self._linked("it is open under the other")
                if writes or others or (is_own(self._file) and can_write(self._file)):
                    self._connection, self._steps = database.connect(self._file, "rw", self.wait)
                    self._index_place = Place.of(self._index)
                else:
                    self._connection, self._steps = self._connect_to_copy()
                self._process = os.getpid()
                STORES.add(self)
        return self._connection

    def _connect_to_copy(self) -> tuple[sqlite3.Connection, Steps]:
        """To what is in the file now, for who must leave nothing beside it; where nothing else here has it open."""
        self._copy, self._place = TemporaryDirectory(prefix="caet-opt-"), None
        copy = Path(self._copy.name) / "experiment"
        if not copy_at_one_moment(self._file, copy, self.wait):
            raise self._busy("process")
        return database.connect(copy, "rw", self.wait)

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
            damage = None if code is None else database.DAMAGE.get(code & 0xFF)
            if code is None and isinstance(error, sqlite3.OperationalError):
                damage = "a text is not UTF-8"
            if damage is not None:
                raise InputError(f"{self.path}: damaged ({damage.format(error=error)}); {RESTORE}") from error
            if code is None:
                raise
            if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise self._busy("process" if code & 0xFF == sqlite3.SQLITE_BUSY else "thread") from error
            raise database.refusal(error, self.path) from error


#: The stores of this process, and the lock under which a file is opened. SQLite's locks end when any handle of the file
#: is closed in this process: while one of these has it open, nothing else here may open it.
STORES: WeakSet[Store] = WeakSet()
OPENING = RLock()


def check_folder(path: str | Path) -> None:
    """Raise `InputError` for a file in a folder that is not there."""
    if not Path(os.path.realpath(path)).parent.is_dir():
        raise InputError(f"{path}: no such folder: {Path(path).parent}")


def can_write(path: Path) -> bool:
    """Whether a file can be changed, which takes a log beside it, and what is there of it."""
    return may_write(path) and not any(is_locked(Path(f"{path}{ending}")) for ending in BESIDE)


def may_write(path: Path) -> bool:
    """Whether a file can be written, and others be made beside it."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def is_locked(path: Path) -> bool:
    """Whether a file is there and cannot be written; it may go away at any time."""
    place = Place.of(path)
    return place is not None and not os.access(path, os.W_OK) and Place.of(path) == place


def is_own(path: Path) -> bool:
    """Whether a file belongs to this user: what anybody else makes beside it, its owner may not be able to write."""
    return sys.platform == "win32" or path.stat().st_uid == os.geteuid()


def is_filled(path: Path) -> bool:
    """Whether there is a file with something in it; what a killed `create` leaves is an empty database."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a file; name one that does not exist")
    if not path.exists() or path.stat().st_size == 0:
        return False
    if not read_header(path).startswith(MAGIC):
        return True
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"  # which leaves nothing beside it
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(sqlite3.connect(address, uri=True)) as found:
        return bool(found.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    return True


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
    return header.startswith(MAGIC) and header[APPLICATION_AT] == APPLICATION


def check_file(path: Path) -> None:
    """Raise `InputError` unless a file is an experiment of a version that is known here."""
    header = read_header(path)
    if not is_experiment(header):
        raise InputError(f"{path}: not an experiment; caet-opt experiment start makes one")
    version = int.from_bytes(header[VERSION_AT], "big")
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path}: made by a newer caet-opt (schema {version}, known here up to {SCHEMA_VERSION}); update caet-opt"
        )
