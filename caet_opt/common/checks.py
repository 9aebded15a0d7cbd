"""What a value given by a user must be: one line says what is wrong and what would be right."""

import os
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Integral, Real
from typing import Any

from caet_opt.common.exact import brief
from caet_opt.errors import InputError

#: How much of what is no number an error shows.
LONGEST = 80

#: More workers than this on a core are slower to start than what they are for takes.
MOST_PER_CORE = 32


def is_whole(value: Any, least: int = 0, most: int | None = None) -> bool:
    """Whether a value is a whole number, no truth value, from ``least`` on and up to ``most``."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and least <= int(value) and (most is None or int(value) <= most)


def is_number(value: Any) -> bool:
    """Whether a value is a real number that a double holds, and no truth value."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # a whole number of more digits than a double holds
        return False


def is_truth(value: Any) -> bool:
    """Whether a value is a truth value, of Python or of an array."""
    return isinstance(value, bool) or kind_of(value) == "b"


def is_real(value: Any) -> bool:
    """Whether a value can be taken for a real number: it is no text, no truth value and no complex number."""
    return hasattr(value, "__float__") and not isinstance(value, bool | str) and kind_of(value) not in ("b", "c")


def kind_of(value: Any) -> str | None:
    """The kind of number that an array holds, or a number that comes from one, as numpy has it."""
    return getattr(getattr(value, "dtype", None), "kind", None)


def check_whole(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """The value as a whole number from ``least`` on and up to ``most``, or `InputError`."""
    if not is_whole(value, least):
        words = {0: "whole number, zero or more", 1: "positive whole number"}
        shown = repr(float(value)) if isinstance(value, float) else show_value(value)
        raise InputError(f"{what} must be a {words.get(least, f'whole number, {least} or more')}, got {shown}")
    if most is not None and int(value) > most:
        raise InputError(f"{what} must be at most {most}, got {show_value(value)}")
    return int(value)


def show_value(value: Any) -> str:
    """A value as an error shows it: whole numbers as whole, which floats are on the command line; decimals as typed;
    what is no number in one short line.

    >>> show_value(0.0), show_value(-1.5), show_value("0.0"), show_value(Decimal("0.50")), show_value(Fraction(1, 3))
    ('0', '-1.5', "'0.0'", '0.50', '1/3')
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        value = int(value)
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number beyond 10^30"
    if isinstance(value, Decimal | Fraction):
        return brief(str(value))
    if isinstance(value, float):
        return float.__repr__(value).removesuffix(".0")
    return repr(value) if isinstance(value, str) else brief(" ".join(repr(value).split()), LONGEST)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(workers: int) -> None:
    """Raise `InputError` unless the number of workers is a positive one that this machine can make use of."""
    check_whole(workers, "workers", 1)
    most = MOST_PER_CORE * cores()
    if workers > most:
        raise InputError(f"workers must be at most {most} on {cores()} cores, got {workers}; one per core is enough")
