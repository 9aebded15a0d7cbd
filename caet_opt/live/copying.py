"""A database copied by who must not leave anything beside it: its file and its log, as both were at one moment.

SQLite lets nobody read a log without an index beside the file, which belongs to who made it and locks others out. So
the copy is made without SQLite, and proves itself: with d the file, w the log and h the head of the log,

    read d, read w, look at h, read d again;   both d are the same, and h is that of w.

Then the log was not begun anew while it was read, and nothing came into the file from before until after that: all
that is in the file was in the log before, or is in both. What was added to the log meanwhile is a part of w or not,
and SQLite leaves out a last change that is not whole. Otherwise the copy is made again.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from shutil import copyfile

#: Bytes that are compared at once, and those of the head of a log, in which a log that is begun anew has other numbers.
PIECE, HEAD = 2**20, 32

#: Seconds between two attempts.
PAUSE = 0.01


def copy_at_one_moment(file: Path, copy: Path, wait: float) -> bool:
    """Copy a database and its log; whether that was possible within so many seconds, at the first attempt or later."""
    deadline = time.monotonic() + wait
    while not is_copied(file, copy):
        if time.monotonic() >= deadline:
            return False
        time.sleep(PAUSE)
    return True


def is_copied(file: Path, copy: Path) -> bool:
    """Copy both, and say whether the copy is what was there at one moment."""
    log, copy_of_log = beside(file), beside(copy)
    copy_of_log.unlink(missing_ok=True)
    copyfile(file, copy)
    with suppress(FileNotFoundError):  # all of it is in the file
        copyfile(log, copy_of_log)
    return head(log) == head(copy_of_log) and all(one == other for one, other in zip_longest(read(file), read(copy)))


def beside(file: Path) -> Path:
    """The log of a database."""
    return Path(f"{file}-wal")


def head(log: Path) -> bytes:
    """The head of a log; nothing where there is none."""
    try:
        with log.open("rb") as source:
            return source.read(HEAD)
    except FileNotFoundError:
        return b""


def read(file: Path) -> Iterator[bytes]:
    """A file in pieces."""
    with file.open("rb") as source:
        while piece := source.read(PIECE):
            yield piece
