"""Which process hands out a pull, and whether it still runs: so that what a killed one has left can be withdrawn."""

import os
import sys
import time
from collections.abc import Callable
from platform import node
from secrets import token_hex
from typing import TypeVar

from caet_opt.errors import BusyError

Result = TypeVar("Result")

#: Drawn anew by each process: another one may have had its number before.
TOKEN = token_hex(4)

#: Seconds after which a pull of another machine, where nobody can see whether its process runs, counts as left.
ABANDONED = 86400.0

#: How often a file that is locked is tried, each time for the experiment's ``wait`` seconds.
TRIES = 6


def this_run() -> str:
    """Machine, process and its token."""
    return f"{node()} {os.getpid()} {TOKEN}"


def is_gone(run: str, handed_out: float, is_here: bool = False) -> bool:
    """Whether a pull's process has ended, as far as one can see from here, or, in this process, its sample; where one
    cannot see it, whether the pull is too old."""
    machine, _, process = run.rpartition(" ")[0].rpartition(" ")
    if machine != node() or not process.isdecimal():
        return time.time() - handed_out > ABANDONED
    if int(process) == os.getpid():
        return not is_here
    if sys.platform == "win32":  # there a signal ends it
        return time.time() - handed_out > ABANDONED
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # it is another user's
        pass
    return False


def insist(call: Callable[[], Result]) -> Result:
    """Do it, again where another process has locked the file for long."""
    for _ in range(TRIES - 1):
        try:
            return call()
        except BusyError:
            continue
    return call()
