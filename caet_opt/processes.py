"""What everything that runs in worker processes shares."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from caet_opt.errors import InputError


def check_count(value: int, what: str) -> None:
    """Raise `InputError` unless the value is a positive whole number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{what} must be a positive whole number, got {value!r}")


@contextmanager
def quiet_fork() -> Iterator[None]:
    """No warning that a process with threads forks: those of the linear algebra are idle, and it looks after them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield
