"""Numbers on the command line: what argparse is told to make of a word."""

import argparse

from caet_opt.errors import InputError
from caet_opt.simulating.pool import check_workers

#: More of anything that is counted is a slip of the keyboard: it would neither end nor fit in memory.
MOST = 10**9

#: Exit status of a command that Ctrl-C has ended.
INTERRUPTED = 130


def number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {shortened(text)!r}") from None


def whole(text: str) -> int:
    """A whole number, not too large to be meant; whether it may be negative is for the command to say."""
    try:
        found = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {shortened(text)!r}") from None
    if abs(found) > MOST:
        raise argparse.ArgumentTypeError(f"must be at most {MOST}, got {shortened(text)}")
    return found


def count(text: str) -> int:
    """A positive whole number."""
    try:
        found = int(text)
    except ValueError:
        found = 0
    if found < 1:
        raise argparse.ArgumentTypeError(f"must be a positive whole number, got {shortened(text)!r}")
    return whole(text)


def seed(text: str) -> int:
    """A seed: a whole number, zero or more, as large as one likes."""
    try:
        found = int(text)
    except ValueError:
        found = -1
    if found < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number, zero or more, got {shortened(text)!r}")
    return found


def worker_count(text: str) -> int:
    """A number of processes that this machine can make use of."""
    found = count(text)
    try:
        check_workers(found)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("workers ")) from None
    return found


def shortened(text: str, most: int = 40) -> str:
    """A word as an error shows it."""
    text = text.strip()
    return text if len(text) <= most else f"{text[:most]}..."
