"""What the manifest of a folder of results holds; a file that holds anything else is damaged."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

Check = Callable[[Any], bool]


def is_text(value: Any) -> bool:
    """A string."""
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """A finite number that a double can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return isfinite(value)
    except OverflowError:
        return False


def is_count(value: Any) -> bool:
    """A whole number, zero or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_flag(value: Any) -> bool:
    """True or false."""
    return isinstance(value, bool)


def is_table(value: Any) -> bool:
    """A table of anything."""
    return isinstance(value, dict)


def maybe(check: Check) -> Check:
    """Something or nothing."""
    return lambda value: value is None or check(value)


def listed(check: Check) -> Check:
    """A list of such things."""
    return lambda value: isinstance(value, list) and all(map(check, value))


def is_pair(value: Any) -> bool:
    """Two arms."""
    return listed(is_count)(value) and len(value) == 2


#: The keys of the manifest, of a cell in it, and of a block that was given up, each with what it must be.
MANIFEST: Mapping[str, Check] = {
    "study": is_table,
    "seed": is_count,
    "versions": is_table,
    "platform": is_text,
    "cells": listed(is_table),
    "failures": listed(is_table),
}
CELL: Mapping[str, Check] = {
    **dict.fromkeys(("id", "model", "task", "family", "threshold", "tracking", "costs", "cost_distribution"), is_text),
    "title": maybe(is_text),
    "formula": is_text,
    "model_table": is_table,
    **dict.fromkeys(("delta", "log_inv_delta", "r", "r_prime", "gamma0"), is_number),
    "theta": maybe(is_number),
    "constant": lambda value: value is None or is_text(value) or is_number(value),
    **dict.fromkeys(("max_rounds", "seed", "runs"), is_count),
    "guaranteed": is_flag,
    **dict.fromkeys(("characteristic_time", "lower", "upper", "gap", "lower_bound", "upper_bound"), is_number),
    "arms": listed(is_text),
    **dict.fromkeys(("means", "arm_costs", "cost_proportions", "sampling_proportions"), listed(is_number)),
    "binding_pairs": listed(is_pair),
}
FAILURE: Mapping[str, Check] = {
    **dict.fromkeys(("cell", "error"), is_text),
    **dict.fromkeys(("seed", "first", "runs"), is_count),
}

#: Lists of a cell with an entry by arm.
BY_ARM = ("means", "arm_costs", "cost_proportions", "sampling_proportions")


def damage(manifest: Mapping[str, Any]) -> str | None:
    """What is wrong with a manifest, or nothing."""
    found = misfit(manifest, MANIFEST, "")
    if found is not None:
        return found
    for number, cell in enumerate(manifest["cells"]):
        found = misfit(cell, CELL, f"cell {number}: ") or arms_missing(cell, f"cell {number}: ")
        if found is not None:
            return found
    for number, failure in enumerate(manifest["failures"]):
        found = misfit(failure, FAILURE, f"failure {number}: ")
        if found is not None:
            return found
    ids = [cell["id"] for cell in manifest["cells"]]
    return None if len(set(ids)) == len(ids) else "a cell occurs twice"


def misfit(table: Mapping[str, Any], checks: Mapping[str, Check], where: str) -> str | None:
    """The first key that is missing or holds what it must not."""
    wrong = next((key for key, check in checks.items() if key not in table or not check(table[key])), None)
    return None if wrong is None else f"{where}{wrong!r} is {'not right' if wrong in table else 'missing'}"


def arms_missing(cell: Mapping[str, Any], where: str) -> str | None:
    """Whether a list has not one entry by arm, or a pair names an arm that there is not."""
    arms = len(cell["arms"])
    if any(len(cell[name]) != arms for name in BY_ARM):
        return f"{where}not one number per arm"
    if any(arm >= arms for pair in cell["binding_pairs"] for arm in pair):
        return f"{where}a pair of arms that there are not"
    return None
