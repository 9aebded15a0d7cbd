"""What a backend must supply: from a problem to an effort and pair weights, with no promise about either.

And the profile with which it is asked: how exactly, and for how long.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from importlib.util import find_spec
from sys import float_info
from typing import Any, ClassVar, NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.errors import InputError, MissingExtraError, missing_extra, unknown_name
from caet_opt.solving.problem import Problem, Question

#: Certified relative gap that every answer meets unless another tolerance is asked for.
DEFAULT_TOLERANCE = 1e-9

#: Iterations are counted in 32 bits by some solvers, and none that converges needs nearly so many.
MOST_ITERATIONS = 10**9


@dataclass(frozen=True)
class Profile:
    """A backend with its tolerance, limits and options.

    Attributes
    ----------
    backend : name of the backend
    tolerance : largest certified relative gap that is accepted
    max_iterations : limit on the solver's iterations
    time_limit : limit on the solver's time in seconds; none by default
    fallback : backend to try when this one has no certified answer; none by default
    options : the solver's own options, passed on as they are
    """

    backend: str
    tolerance: float = DEFAULT_TOLERANCE
    max_iterations: int = 500
    time_limit: float | None = None
    fallback: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (self.backend, *([] if self.fallback is None else [self.fallback])):
            if not isinstance(name, str) or name not in BACKENDS:
                raise InputError(unknown_name("solver", str(name), BACKENDS))
        check_positive(self.tolerance, "tolerance")
        if self.tolerance >= 1:
            raise InputError(f"tolerance is a relative gap below 1, got {self.tolerance:g}")
        limit: Any = self.max_iterations
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InputError(f"max_iterations must be a positive whole number, got {limit!r}")
        if limit > MOST_ITERATIONS:
            raise InputError(f"max_iterations must be at most {MOST_ITERATIONS}, got {limit}")
        if self.time_limit is not None:
            check_positive(self.time_limit, "time_limit")
        if not isinstance(self.options, dict):
            raise InputError(f"options must be a table of the solver's own options, got {self.options!r}")
        if self.options and not BACKENDS[self.backend].takes_options:
            raise InputError(f"solver {self.backend!r} has no options of its own, got {next(iter(self.options))!r}")


def check_positive(value: Any, what: str) -> None:
    """Raise `InputError` unless the value is a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= float_info.max:
        raise InputError(f"{what} must be a positive number, got {value!r}")


class Point(NamedTuple):
    """An effort per arm and a non-negative weight per pair, in any scale: those of the problem, or of the model."""

    effort: Array
    weights: Array


class Answer(NamedTuple):
    """A solver's point and why it stopped, which says nothing about how good the point is.

    ``certificate`` is None unless compiled code certified in the same call, by the same `certify_pairs` as for every
    other solver. Such a point is scaled already: the effort costs T*, and the weights sum to it.
    """

    point: Point
    iterations: int
    status: str
    certificate: tuple[float, float, float] | None = None


def point_in_model(question: Question, point: Point) -> Point:
    """A problem's point as effort per arm and weight per pair of the model."""
    problem = question.problem
    effort = np.zeros(len(question.model.means))
    effort[problem.labels] = point.effort * problem.dispersions
    weight = dict(zip(problem.pairs, point.weights, strict=True))
    return Point(effort, np.array([weight.get(pair, 0.0) for pair in question.pairs]))


def point_in_problem(question: Question, point: Point) -> Point:
    """A model's point as effort per arm and weight per term of the problem."""
    problem = question.problem
    weight = dict(zip(question.pairs, point.weights, strict=True))
    effort = point.effort[problem.labels] / problem.dispersions
    return Point(effort, np.array([weight[pair] for pair in problem.pairs]))


class Backend(ABC):
    """A solver for the characteristic-time problem. It raises `SolverError` when it has no point to offer."""

    name: ClassVar[str]
    #: Module that must be importable, and the extra that installs it.
    requires: ClassVar[str]
    extra: ClassVar[str | None] = None
    #: Whether the solver has options of its own that a profile may set.
    takes_options: ClassVar[bool] = True
    #: Whether Newton's method on the binding pairs is worth its time after it.
    polish: ClassVar[bool] = True

    @abstractmethod
    def solve(self, problem: Problem, profile: Profile, start: Point | None = None) -> Answer:
        """Solve the problem, from ``start`` if the solver can use one."""

    @np.errstate(all="ignore")
    def answer(self, question: Question, profile: Profile, start: Point | None) -> Answer:
        """Answer a question, from a starting point if there is one; both points are in the model's terms.

        Overflow on a solver's way raises no warning: the certificate judges what came of it.
        """
        if not question.problem.pairs:
            nothing = Point(np.zeros(len(question.model.means)), np.zeros(len(question.pairs)))
            return Answer(nothing, 0, "nothing to pay")
        own = None if start is None else point_in_problem(question, start)
        if own is not None and not np.sum(own.weights) > 0:
            own = None
        found = self.solve(question.problem, profile, own)
        return found._replace(point=point_in_model(question, found.point))

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the solver can be imported."""
        return find_spec(cls.requires) is not None

    @classmethod
    def require(cls) -> None:
        """Raise `MissingExtraError` unless the solver is installed."""
        if cls.is_installed():
            return
        need = f"solver {cls.name!r} needs {cls.needs()}"
        if cls.extra is not None:
            raise missing_extra(need, cls.extra)
        raise MissingExtraError(f"{need}; install it with: pip install '{cls.requires}'")

    @classmethod
    def needs(cls) -> str:
        """What must be installed, for people."""
        return f"the module {cls.requires!r}"

    @classmethod
    def provider(cls) -> str | None:
        """Who provides the solver, where there is more than one who can; None elsewhere."""
        return None


#: Backends by name, the default first; `caet_opt.solving.backends` lists them.
BACKENDS: dict[str, type[Backend]] = {}
