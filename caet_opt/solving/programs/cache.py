"""Programs are kept by shape: built once, then only updated. How often each happened can be read."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

#: Programs kept; the least recently used one goes first.
CAPACITY = 256

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class ProgramCounts(NamedTuple):
    """How often a backend's programs were built, and how often solved."""

    builds: int
    solves: int


_programs: OrderedDict[tuple[str, Hashable], object] = OrderedDict()
_builds: Counter[str] = Counter()
_solves: Counter[str] = Counter()


def cached_program(backend: str, shape: K, build: Callable[[K], T]) -> T:
    """The backend's program for a shape, built now if there is none."""
    key = (backend, shape)
    program = _programs.get(key)
    if program is None:
        program = _programs[key] = build(shape)
        _builds[backend] += 1
        if len(_programs) > CAPACITY:
            _programs.popitem(last=False)
    _programs.move_to_end(key)
    return program  # type: ignore[return-value]  # the key's backend decides the type


def count_solve(backend: str) -> None:
    """Note that a program of the backend was solved."""
    _solves[backend] += 1


def program_counts(backend: str) -> ProgramCounts:
    """Builds and solves of a backend since the start, or since `clear_programs`."""
    return ProgramCounts(_builds[backend], _solves[backend])


def clear_programs() -> None:
    """Forget every program and reset the counts."""
    _programs.clear()
    _builds.clear()
    _solves.clear()
