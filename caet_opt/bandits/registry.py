"""What the grammar and the options can name: families, tasks, thresholds, solvers."""

from inspect import cleandoc
from typing import Protocol, TypeVar


class Named(Protocol):
    """What has a name."""

    name: str


Entry = TypeVar("Entry", bound=Named)


class Registry(dict[str, Entry]):
    """Entries by their names, in order of preference, with a docstring of its own, which `help` shows."""

    def __init__(self, doc: str, *entries: Entry) -> None:
        super().__init__((entry.name, entry) for entry in entries)
        self.__doc__ = cleandoc(doc)
