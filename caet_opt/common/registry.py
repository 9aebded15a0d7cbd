"""What the grammar and the options can name: families, tasks, thresholds, solvers."""

from inspect import cleandoc
from typing import Protocol, TypeVar

from caet_opt.errors import InputError, unknown_name


class Named(Protocol):
    """What has a name."""

    name: str


Entry = TypeVar("Entry", bound=Named)


class Registry(dict[str, Entry]):
    """Entries by their names, in order of preference, with a docstring of its own, which `help` shows."""

    def __init__(self, doc: str, *entries: Entry) -> None:
        super().__init__((entry.name, entry) for entry in entries)
        self.__doc__ = cleandoc(doc)

    def split(self, what: str, text: str, examples: str) -> tuple[Entry, str | None]:
        """The entry that ``name`` or ``name:argument`` names, and the argument if there is a colon."""
        if not isinstance(text, str):
            raise InputError(f"{what} must be a string such as {examples}, got {text!r}")
        name, colon, argument = text.strip().partition(":")
        if name not in self:
            raise InputError(unknown_name(what, name, self))
        return self[name], argument if colon else None
