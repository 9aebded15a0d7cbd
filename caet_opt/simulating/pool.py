"""What everything that runs in worker processes shares."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from errno import EAGAIN, EMFILE, ENOMEM
from multiprocessing import active_children, get_context
from typing import Any

from caet_opt.errors import InputError, SolverError


def check_count(value: int, what: str, most: int | None = None) -> None:
    """Raise `InputError` unless the value is a positive whole number, of at most ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{what} must be a positive whole number, got {value!r}")
    if most is not None and value > most:
        raise InputError(f"{what} must be at most {most}, got {value if value < 10**30 else 'a number beyond 10^30'}")


#: More processes than this on a core are slower to start than what they are for takes.
MOST_PER_CORE = 32


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(workers: int) -> None:
    """Raise `InputError` unless the number of processes is a positive one that this machine can make use of."""
    check_count(workers, "workers")
    most = MOST_PER_CORE * cores()
    if workers > most:
        raise InputError(f"workers must be at most {most} on {cores()} cores, got {workers}; one per core is enough")


@contextmanager
def quiet_fork() -> Iterator[None]:
    """No warning that a process with threads forks: those of the linear algebra are idle, and it looks after them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


@contextmanager
def worker_pool(workers: int, begin: Callable[..., None], *arguments: Any) -> Iterator[ProcessPoolExecutor]:
    """Processes that each call ``begin(*arguments)`` first, forked where that is safe; left early, they are ended."""
    check_workers(workers)
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    before = set(active_children())
    pool = ProcessPoolExecutor(workers, context, begin, arguments)
    try:
        yield pool
    except BrokenProcessPool as error:
        raise SolverError("a worker process was ended from outside; use one worker") from error
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - before:
            process.terminate()
        if isinstance(error, OSError) and error.errno in (EAGAIN, ENOMEM, EMFILE):
            raise SolverError(f"a worker process cannot be started ({error.strerror}); use fewer workers") from error
        raise
    finally:
        pool.shutdown()
