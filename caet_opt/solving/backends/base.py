"""What a backend must supply: from a problem to an effort and pair weights, with no promise about either."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from caet_opt.bandits.families.numerics import Array
from caet_opt.errors import MissingExtraError, missing_extra
from caet_opt.solving.problem import Problem
from caet_opt.solving.profiles import Profile


class Point(NamedTuple):
    """An effort per arm of the problem and a non-negative weight per pair term, in any scale."""

    effort: Array
    weights: Array


class Answer(NamedTuple):
    """What a solver came back with; why it stopped is not yet what it is worth."""

    point: Point
    iterations: int
    status: str


class Backend(ABC):
    """A solver for the characteristic-time problem. It raises `SolverError` when it has no point to offer."""

    name: ClassVar[str]
    #: Module that must be importable, and the extra that installs it.
    requires: ClassVar[str]
    extra: ClassVar[str | None] = None
    #: Whether the solver has options of its own that a profile may set.
    takes_options: ClassVar[bool] = True

    @abstractmethod
    def solve(self, problem: Problem, profile: Profile, start: Point | None = None) -> Answer:
        """Solve the problem, from ``start`` if the solver can use one."""

    @classmethod
    def installed(cls) -> bool:
        """Whether the solver can be imported."""
        from importlib.util import find_spec

        return find_spec(cls.requires) is not None

    @classmethod
    def require(cls) -> None:
        """Raise `MissingExtraError` unless the solver is installed."""
        if not cls.installed():
            need = f"solver {cls.name!r} needs the module {cls.requires!r}"
            if cls.extra is not None:
                raise missing_extra(need, cls.extra)
            raise MissingExtraError(f"{need}; install it with: pip install {cls.requires}")
