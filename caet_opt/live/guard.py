"""What is asked of a file before it is trusted: its tables by their text, so many steps of reading, and cells that are
what they should be. What a damaged or a hostile file holds is then data, and never a program."""

import sqlite3
from collections.abc import Sequence
from functools import cache
from math import isfinite
from typing import Any

from caet_opt.common.checks import is_whole

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


class Steps:
    """Ends a statement that would go on for ever, as trees of pages do that point to themselves."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self._left, self._allowed, self._changes = connection, 0, 0, 0
        self.allow(0)
        connection.set_progress_handler(self._count, STRIDE)

    def allow(self, size: int) -> None:
        """Begin to count again, for a file of so many bytes."""
        self._allowed = (STEPS + STEPS_PER_BYTE * size) // STRIDE
        self._left = self._allowed

    def _count(self) -> int:
        """Whether it is enough; who changes something gets on."""
        changes = self._connection.total_changes
        self._left = self._allowed if changes != self._changes else self._left - 1
        self._changes = changes
        return int(self._left < 0)


def restrict(connection: sqlite3.Connection) -> Steps:
    """Have a connection trust nothing in the file."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return Steps(connection)


@cache
def schema_of(statements: Sequence[str]) -> frozenset[tuple[Any, ...]]:
    """What SQLite keeps of tables and indices that these statements make."""
    connection = sqlite3.connect(":memory:")
    try:
        for statement in statements:
            connection.execute(statement)
        return frozenset(read_schema(connection, 100))
    finally:
        connection.close()


def read_schema(connection: sqlite3.Connection, most: int) -> list[tuple[Any, ...]]:
    """The first entries of the schema: kind, name, table, text."""
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT ?", (most,)).fetchall()


def check_schema(connection: sqlite3.Connection, known: Sequence[Sequence[str]]) -> None:
    """Raise `DamagedError` unless the tables are those of a known list of statements, to the letter.

    A view, a trigger, a generated column or an index on an expression would be run by the queries that follow.
    """
    schemas = [schema_of(tuple(statements)) for statements in known]
    try:
        found = read_schema(connection, 1 + max(map(len, schemas)))
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF == sqlite3.SQLITE_ERROR:
            raise DamagedError(str(error)) from error  # a schema that cannot be read is no fault of the query
        raise
    if not any(len(found) == len(schema) and frozenset(found) == schema for schema in schemas):
        raise DamagedError("its tables are not those that caet-opt makes")


def check_whole(value: Any, what: str, least: int = 0, most: int = LARGEST) -> int:
    """A whole number of a cell, or `DamagedError`."""
    if not is_whole(value, least, most):
        raise DamagedError(f"{what} is {show(value)}, no whole number from {least} to {most}")
    return int(value)


def check_number(value: Any, what: str) -> float:
    """A finite number of a cell, or `DamagedError`."""
    if not isinstance(value, float) or not isfinite(value):
        raise DamagedError(f"{what} is {show(value)}, no finite number")
    return value


def check_moment(value: Any, what: str) -> float:
    """A moment of a cell, or `DamagedError`."""
    if not EARLIEST <= check_number(value, what) < LATEST:
        raise DamagedError(f"{what} is {value:g}, no moment in seconds since 1970")
    return float(value)


def check_text(value: Any, what: str) -> str:
    """A text of a cell, or `DamagedError`."""
    if not isinstance(value, str):
        raise DamagedError(f"{what} is {show(value)}, no text")
    return value


def show(value: Any) -> str:
    """A cell in an error, cut short."""
    text = repr(value[:40] if isinstance(value, str | bytes) else value)
    return text if len(text) <= 40 else f"{text[:37]}..."
