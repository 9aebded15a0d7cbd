"""Names of arms as they are given."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any
from unicodedata import category

from caet_opt.common.checks import show_value
from caet_opt.errors import InputError


def read_arm_names(names: Iterable[str] | None, arms: int | None = None) -> tuple[str, ...]:
    """The names of so many arms, of as many as are named if None, or their numbers where no names are given."""
    if names is None:
        return tuple(map(str, range(arms or 0)))
    listed = list_names(names)
    if arms is not None and len(listed) != arms:
        raise InputError(f"{len(listed)} arm names for {arms} means; give one name per arm")
    if len(set(listed)) != len(listed):
        raise InputError("arm names must differ from each other")
    return listed


def list_names(names: Any) -> tuple[str, ...]:
    """The texts of a list, an array, or an index of a data frame; `InputError` for anything else."""
    is_listed = isinstance(names, Iterable) and not isinstance(names, str | bytes | Mapping | Set)
    listed = list(names) if is_listed else []
    if not is_listed or not all(isinstance(name, str) and name for name in listed):
        raise InputError(f"arm names must be a list of non-empty strings, got {show_value(names)}")
    return tuple(map(str, listed))


def refuse_controls(names: Sequence[str]) -> None:
    """Raise `InputError` for a name with a control character, which nobody sees: it would make another arm."""
    for name in names:
        if (found := next((one for one in name if category(one) == "Cc"), None)) is not None:
            raise InputError(f"the name of an arm has the control character {found!r}: {show_value(name)}; remove it")
