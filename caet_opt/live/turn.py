"""Waiting in turn for a file that one writes at a time.

    take the turn, wait for the file, leave the turn, write

Who has written and wants to write again first needs the turn, which the one who waits holds: so that one is next, and
of those who wait for the turn, each is as likely as the others to get it. Without this the lock of a process that
pauses for microseconds between two transactions is never found free by one that looks every few milliseconds.

The turn is an advisory lock of the system on a file beside the experiment, which the system takes back from who is
killed. It is there only while somebody waits, and whoever closes the experiment removes what a killed process left.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import uniform

if sys.platform != "win32":
    import fcntl

#: How long, in seconds, who has the turn sleeps between two looks at the file, and who has not, at the turn, at random
#: so that nobody always comes at the wrong moment.
LOOK, LOOKS = 0.0005, (0.001, 0.004)


class Turn:
    """The turn of a file; its path exists while somebody waits, or after one who waited was killed."""

    def __init__(self, file: Path) -> None:
        self.path = file.with_name(f"{file.name}-turn")

    @contextmanager
    def taken(self, deadline: float) -> Iterator[bool]:
        """Hold the turn, or say that a moment of `time.monotonic` has passed before it came."""
        lock = self._open()
        while lock is not None and not self._get(lock):
            os.close(lock)
            if time.monotonic() >= deadline:
                yield False
                return
            time.sleep(uniform(*LOOKS))
            lock = self._open()
        try:
            yield True
        finally:
            if lock is not None:
                release(lock)

    def tidy(self) -> None:
        """Remove the file of the turn, if nobody holds it."""
        if not self.path.exists():
            return
        with suppress(OSError):
            lock = os.open(self.path, os.O_RDONLY)
            try:
                if self._get(lock):
                    self.path.unlink()
            finally:
                release(lock)

    def _open(self) -> int | None:
        """The file of the turn, made if need be; None where that is not possible: then nobody waits in turn."""
        if sys.platform == "win32":
            return None
        try:
            return os.open(self.path, os.O_RDONLY | os.O_CREAT, 0o666)
        except OSError:
            return None

    def _get(self, lock: int) -> bool:
        """Whether the turn was free; a file that another process has removed meanwhile is no turn."""
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(lock), self.path.stat())
        except OSError:
            return False


def release(lock: int) -> None:
    """Give the turn up, also where a fork has a copy of it."""
    with suppress(OSError):  # a file system that has no such locks
        fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)
