"""How many workers a user may ask for, processes or threads."""

import os

from caet_opt.common.checks import check_whole
from caet_opt.errors import InputError

#: More workers than this on a core are slower to start than what they are for takes.
MOST_PER_CORE = 32


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(workers: int) -> None:
    """Raise `InputError` unless the number of workers is a positive one that this machine can make use of."""
    check_whole(workers, "workers", 1)
    most = MOST_PER_CORE * cores()
    if workers > most:
        raise InputError(f"workers must be at most {most} on {cores()} cores, got {workers}; one per core is enough")
