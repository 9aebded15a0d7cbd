"""Programs are kept by shape: built once, then only updated. How often each happened can be read."""

from collections import Counter
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

#: Programs kept; the least recently used one goes first.
CAPACITY = 256

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class ProgramCounts(NamedTuple):
    """How often a backend's programs were built, and how often solved."""

    builds: int
    solves: int


_builds: Counter[str] = Counter()
_solves: dict[str, int] = {}


def cached_program(backend: str, shape: K, build: Callable[[K], T]) -> T:
    """The backend's program for a shape, built now if there is none."""
    return _programs(backend, shape, build)  # type: ignore[return-value]  # it is what was built


@lru_cache(maxsize=CAPACITY)
def _programs(backend: str, shape: Hashable, build: Callable[[Any], object]) -> object:
    """A program, built and counted."""
    program = build(shape)
    _builds[backend] += 1
    return program


def count_solve(backend: str) -> None:
    """Note that a program of the backend was solved."""
    _solves[backend] = _solves.get(backend, 0) + 1


def program_counts(backend: str) -> ProgramCounts:
    """Builds and solves of a backend since the start, or since `clear_programs`."""
    return ProgramCounts(_builds[backend], _solves.get(backend, 0))


def clear_programs() -> None:
    """Forget every program and reset the counts."""
    _programs.cache_clear()
    _builds.clear()
    _solves.clear()
