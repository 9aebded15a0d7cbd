"""What a backend must supply: from a problem to an effort and weights of statements, with no promise about either."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import ClassVar, NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.limits import Limit
from caet_opt.bandits.model import BanditModel
from caet_opt.errors import MissingExtraError, missing_extra
from caet_opt.solving.certificate import Certificate
from caet_opt.solving.problem import Problem, Question
from caet_opt.solving.profiles import Profile

#: Without limits.
NO_PRICES = np.zeros(0)


class Point(NamedTuple):
    """An effort per arm and a non-negative weight per term, in any scale: those of the problem, or of the model, whose
    terms are the columns of its statements; and the price of each limit, ``c + G' nu`` being the reduced costs."""

    effort: Array
    weights: Array
    prices: Array = NO_PRICES


class Answer(NamedTuple):
    """A solver's point and why it stopped, which says nothing about how good the point is.

    ``certificate`` is None unless compiled code certified in the same call, by the same `certify_pairs` as for every
    other solver. Such a point is scaled already: the effort costs T*, and the weights sum to it.
    """

    point: Point
    iterations: int
    status: str
    certificate: Certificate | None = None


def point_in_model(question: Question, point: Point) -> Point:
    """A problem's point as effort per arm and weight per column of the model."""
    problem = question.problem
    effort = np.zeros(len(question.model.means))
    effort[problem.labels] = point.effort * problem.dispersions
    weights = np.zeros(len(question.columns.owners))
    weights[problem.columns] = point.weights
    return Point(effort, weights, point.prices)


def point_in_problem(question: Question, point: Point) -> Point:
    """A model's point as effort per arm and weight per term of the problem."""
    problem = question.problem
    return Point(point.effort[problem.labels] / problem.dispersions, point.weights[problem.columns], point.prices)


class Backend:
    """A solver for the characteristic-time problem. It raises `SolverError` when it has no point to offer."""

    name: ClassVar[str]
    #: Module that must be importable, and the extra that installs it.
    requires: ClassVar[str]
    extra: ClassVar[str | None] = None
    #: Whether a profile names a solver beside the backend: "none", "any" or, where it has to, "one".
    solvers: ClassVar[str] = "none"
    #: Whether the solver has options of its own that a profile may set.
    takes_options: ClassVar[bool] = True
    #: Whether it takes limits.
    takes_limits: ClassVar[bool] = True
    #: Whether it takes rewards in a range, which have no formula in their means.
    takes_distributions: ClassVar[bool] = True
    #: Whether Newton's method on the binding pairs is worth its time after it.
    polish: ClassVar[bool] = True

    @classmethod
    def takes(cls, model: BanditModel, limits: Sequence[Limit]) -> bool:
        """Whether it takes a model under these limits."""
        return (cls.takes_limits or not limits) and (cls.takes_distributions or model.distributions is None)

    def solve(self, problem: Problem, profile: Profile, start: Point | None = None) -> Answer:
        """Solve the problem, from ``start`` if the solver can use one; a backend has this or its own `answer`."""
        raise NotImplementedError

    @np.errstate(all="ignore")
    def answer(self, question: Question, profile: Profile, start: Point | None) -> Answer:
        """Answer a question, from a starting point if there is one; both points are in the model's terms.

        Overflow on a solver's way raises no warning: the certificate judges what came of it.
        """
        self.require()
        if not question.problem.statements:
            sizes = len(question.model.means), len(question.columns.owners), len(question.limits)
            return Answer(Point(*map(np.zeros, sizes)), 0, "nothing to pay")
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
