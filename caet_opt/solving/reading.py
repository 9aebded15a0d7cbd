"""What a program that people extended and solved proves about T*, whoever solved it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.common.numbers import format_certified, write_gap
from caet_opt.errors import InputError, SolverError, unknown_name
from caet_opt.solving.backends.base import Answer, Point, point_in_problem
from caet_opt.solving.certificate import statement_terms
from caet_opt.solving.characteristic import accept, certify_point, polish_point, solve_question, solver_for
from caet_opt.solving.problem import Question, name_arm
from caet_opt.solving.profiles import find_profile
from caet_opt.solving.programs.cuts import Cuts
from caet_opt.solving.programs.text import write
from caet_opt.solving.result import CharacteristicTime, headline, normalise
from caet_opt.solving.rows import Row, doubles, meant_costs, meet_rows

#: Largest relative gap of a program that is read back as it was.
READ_TOLERANCE = 1e-8


#: Why a constraint on the rate is refused: T* is then not what its effort says.
RATE_ADDED = "constraints are to be added to the effort"


class Solved(NamedTuple):
    """What a solver left in a program: effort per arm of the model, weight per column, multiplier per limit; who it
    was, and why it ended."""

    effort: Array
    weights: Array
    multipliers: tuple[float, ...]
    solver: str
    status: str
    iterations: int = 0


class Added(NamedTuple):
    """What was added to a program.

    rows, multipliers : ``a . w <= b``, or ``= b``, as rows ``a - b c`` with the solver's multiplier of each, 0 where it
        has none
    violation : the largest violation, at the solver's point, of added constraints that are not linear in w
    others : how many of these there are
    """

    rows: tuple[Row, ...] = ()
    multipliers: tuple[float, ...] = ()
    violation: float = 0.0
    others: int = 0


@dataclass(frozen=True, eq=False)
class ExtendedTime:
    """T* of a model and a task under constraints that were added to its epigraph: ``lower <= T* <= upper``.

    Any effort that meets the constraints bounds T* from above, and the weights of the statements with the prices of the
    linear constraints bound it from below (docs/mathematics/limits.md). Constraints that are not linear in the effort
    have no price: the lower bound holds without them, all the more with them.

    Attributes
    ----------
    value : T* at the solver's effort; its upper bound before the allowance for rounding
    lower, upper, gap : the interval, and its relative width
    effort : pulls per unit of information, scaled so that the binding terms are one and c . w = value
    prices : of each linear constraint that was added: with ``nu`` the prices and G the rows, costs c + G' nu without
        the constraints have the lower bound
    violation : by how much the solver's effort violates added constraints that are not linear, at most: the upper bound
        is for constraints that are wider by this; 0 where all are linear, which are met exactly
    solver : who solved it
    """

    model: BanditModel
    task: Task
    value: float
    lower: float
    upper: float
    effort: Array
    prices: Array
    violation: float
    solver: str

    @property
    def gap(self) -> float:
        """Relative width of the interval."""
        return (self.upper - self.lower) / self.upper

    @property
    def cost_proportions(self) -> Array:
        """The share of the cost that goes to each arm."""
        return normalise(self.effort * np.array(self.model.costs))

    @property
    def sampling_proportions(self) -> Array:
        """The share of the pulls of costly arms that goes to each arm."""
        return normalise(self.effort)

    def __str__(self) -> str:
        value, interval = format_certified(self.value, self.lower, self.upper, self.gap)
        lines = [
            f"{headline(self.model, self.task)}, with added constraints",
            f"T* = {value}  in {interval}, relative gap {write_gap(self.gap)}",
        ]
        if self.violation > 0:
            lines.append(
                f"the effort violates an added constraint by {self.violation:.1e}: so much for the upper bound"
            )
        return "\n".join(lines)


def read_solved(
    question: Question, solved: Solved, added: Added, tolerance: float
) -> CharacteristicTime | ExtendedTime:
    """The certified T* where nothing was added, else what is proven of it; polished where that helps."""
    whole = extend(question, added.rows)
    effort = np.where(np.isfinite(solved.effort), np.maximum(solved.effort, 0.0), 0.0)
    point = best_point(whole, effort, np.nan_to_num(solved.weights), [*solved.multipliers, *added.multipliers])
    if not added.rows and not added.others:
        answer = Answer(point, solved.iterations, solved.status)
        return accept(question, answer, True, solved.solver, tolerance, perf_counter())
    return bound_extended(whole, point, solved.solver, added)


def read_nothing(question: Question) -> CharacteristicTime:
    """T* = 0: no statement constrains an arm that costs something, whatever was added."""
    nothing = Point(np.zeros(len(question.model.means)), np.zeros(len(question.columns.owners)))
    return accept(question, Answer(nothing, 0, "nothing to pay"), True, "none", READ_TOLERANCE, perf_counter())


def extend(question: Question, rows: tuple[Row, ...]) -> Question:
    """A question with rows beside those of its limits."""
    if not rows:
        return question
    whole = Question(question.model, question.task, question.columns, limits=question.limits)
    vars(whole)["rows"] = (*question.rows, *rows)
    return whole


@np.errstate(all="ignore")
def best_point(question: Question, effort: Array, weights: Array, multipliers: Sequence[float]) -> Point:
    """An effort with the weights and prices that prove most: the solver's, or with rows those of `best_prices`.

    The multipliers of a maximum of t are q of the statements and eta of the rows, and by homogeneity the budget is
    worth ``sum(q) t`` with the rows in the form G w <= 0, so that the prices are ``eta / (sum(q) t)``.
    """
    model, rows, weights = question.model, question.rows, np.maximum(weights, 0.0)
    mass = float(np.sum(weights))
    rate = float(np.min(statement_terms(model, question.statements, effort)) / np.sum(np.array(model.costs) * effort))
    offers = [Point(effort, weights, np.nan_to_num(np.array(multipliers, dtype=float) / (mass * rate)))]
    if rows or not mass > 0:
        offers.append(Point(effort, *best_prices(question, effort, rows)))
    return max(offers, key=lambda offer: certify_point(question, offer).lower)


def bound_extended(question: Question, point: Point, solver: str, added: Added) -> ExtendedTime:
    """Bounds on T* under added constraints, of which linear ones are rows of the question.

    Newton's method knows of these alone: with others, the point stays the solver's. T* with constraints is at least T*
    without those that were added.
    """
    model, spent, own = question.model, 0.0, certify_point(question, point)
    point, (value, lower, upper) = (point, own) if added.others else polish_point(question, point, own)
    met = meet_rows(question.rows, point.effort)
    used = None if met is None else doubles(met)
    if used is not None:
        spent = float(np.sum(np.array(model.costs) * used))
    if used is None or not 0 < upper < np.inf or not spent > 0:
        raise SolverError(f"the effort that solver {solver!r} found does not meet the added constraints")
    lower = max(lower, solve_plainly(Question(model, question.task, question.columns, limits=question.limits)).lower)
    prices = point.prices[len(point.prices) - len(added.rows) :]
    effort = used * (value / spent)
    return ExtendedTime(model, question.task, value, lower, upper, effort, prices, added.violation, solver)


def solve_plainly(question: Question) -> CharacteristicTime:
    """The certified answer to a question by the default solver."""
    return solve_question(question, find_profile(solver_for(None, question.limits)))


def best_prices(question: Question, effort: Array, rows: Sequence[Row]) -> tuple[Array, Array]:
    """The weights q >= 0 and prices nu that give the largest lower bound with the points of an effort, by a linear
    program: ``max sum(q)  s.t.  sum_{e at a} q_e d(mu_a, m_e) <= (c + G' nu)_a`` for every costly arm a.

    With each line times ``w_a`` all of its numbers are of order one.
    """
    from scipy.optimize import linprog

    model, posed = question.model, question.problem
    costs = np.array(model.costs)
    spent = float(np.sum(costs * effort))
    own = np.maximum(effort, 1e-12 * spent / np.where(costs > 0, costs, np.inf))
    inner = own[posed.labels] / posed.dispersions
    edges, terms = posed.edge_terms(inner), posed.terms(inner)
    shares = np.zeros((len(costs), len(terms)))
    place = np.arange(len(edges.values))
    shares[posed.labels[posed.heads], place] = inner[posed.heads] * edges.head_rates / np.min(terms)
    shares[posed.labels[posed.tails], place] += inner[posed.tails] * edges.tail_rates / np.min(terms)
    anchors = np.arange(len(posed.anchored))
    shares[posed.labels[posed.anchored], len(place) + anchors] = terms[len(place) :] / np.min(terms)
    pulls = np.array([row.coefficients for row in rows], dtype=float).reshape(len(rows), len(own)) * own
    signs = [(None if row.equal else 0.0, None) for row in rows]
    costly = np.flatnonzero(costs > 0)
    found = linprog(
        -np.concatenate([np.ones(len(terms)), np.zeros(len(rows))]),
        A_ub=np.hstack([shares, -pulls.T / spent])[costly],
        b_ub=(costs * own / spent)[costly],
        bounds=[(0.0, None)] * len(terms) + signs,
    )
    weights, prices = np.zeros(len(question.columns.owners)), np.zeros(len(rows))
    if found.x is not None:
        weights[posed.columns] = np.maximum(found.x[: len(terms)], 0.0)
        prices = found.x[len(terms) :]
    return weights, prices


def touch_optimum(question: Question, cuts: Cuts) -> None:
    """Let linear cuts touch their terms at the optimal effort of the program to which nothing was added."""
    found = solve_plainly(question)
    cuts.touch_all(point_in_problem(question, Point(found.effort, found.multipliers)).effort)


def terms_by_text(question: Question) -> dict[str, list[int]]:
    """The terms of the problem that each statement has, by its text, in the order of the statements."""
    found: dict[str, list[int]] = {}
    for statement in question.statements:
        own = [term for term, one in enumerate(question.problem.statements) if one == statement]
        if own:
            found[write(question.model, statement)] = own
    return found


def linear_row(model: BanditModel, coefficients: Sequence[float], constant: float, equal: bool) -> Row:
    """``a . w + k <= 0`` for efforts with ``c . w = 1``, as the row ``a + k c``; free arms have no effort."""
    paid = zip(coefficients, meant_costs(model), strict=True)
    return Row(tuple(Fraction(a) + Fraction(constant) * cost if cost > 0 else Fraction(0) for a, cost in paid), equal)


def costly_arm(model: BanditModel, arm: "str | int | np.integer[Any]") -> int:
    """The number of an arm that was given by number or name; `InputError` for one that has no effort."""
    if isinstance(arm, str) and arm not in model.arms:
        raise InputError(unknown_name("arm", arm, model.arms))
    number = model.arms.index(arm) if isinstance(arm, str) else int(arm)
    if -len(model.arms) <= number < len(model.arms) and not model.costly[number]:
        named = name_arm(model, number % len(model.arms))
        raise InputError(f"arm {named} is free: it is pulled at will, and has no effort in the program")
    return number
