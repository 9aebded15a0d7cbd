"""The epigraph program of one instance in CVXPY, in the paper's notation and units, for people to extend and solve."""

from typing import Any

import cvxpy as cp
import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.errors import InputError, SolverError
from caet_opt.solving.problem import Question
from caet_opt.solving.programs.conic import LinearCuts, Part, list_parts
from caet_opt.solving.programs.scaling import units
from caet_opt.solving.programs.text import show_program
from caet_opt.solving.reading import (
    RATE_ADDED,
    READ_TOLERANCE,
    Added,
    ExtendedTime,
    Solved,
    costly_arm,
    linear_row,
    read_nothing,
    read_solved,
    terms_by_text,
    touch_optimum,
)
from caet_opt.solving.result import CharacteristicTime
from caet_opt.solving.rows import Row

#: Statuses of CVXPY that come with a point.
WITH_POINT = ("optimal", "optimal_inaccurate", "user_limit")


class Effort(cp.Variable):  # type: ignore[misc]  # CVXPY has no types
    """w: the effort of every arm of a model, found by the arm's number or its name, ``effort["placebo"]``.

    A free arm is pulled at will and not counted: its entry is 0, and cannot be asked for by itself.
    """

    def __init__(self, model: BanditModel) -> None:
        self._model = model
        super().__init__(len(model.means), name="w")

    def __getitem__(self, arm: Any) -> Any:
        return super().__getitem__(costly_arm(self._model, arm) if isinstance(arm, str | int | np.integer) else arm)


class ConicEpigraph:
    """``max t  s.t.  t <= f_e(w)  for every statement,  c . w = 1,  w >= 0`` as a CVXPY problem.

    Tolerances of conic solvers are absolute, 1e-8 say, and t is 1 / T*: where T* is large, their own t has few digits.
    Costs in larger units make T* smaller. `read` certifies all digits either way, or refuses.

    Attributes
    ----------
    problem : the CVXPY problem; ``cp.Problem(problem.objective, problem.constraints + [...])`` extends it
    effort : the variable w, an entry for each arm, also by name: ``effort["placebo"]``; 0 for free arms
    rate : the variable t; at the optimum it is 1 / T*
    statements : the constraint of each statement by its text, ``statements["0 > 2"]``; its dual value is the
        statement's weight. Statements that constrain nothing have none: ``print`` says which they are, and why
    limits : the constraint of each limit by its text

    Examples
    --------
    >>> program = epigraph(BanditModel("gaussian", [3, 4, 2], costs="gaps"), "ranking")
    >>> rate = program.problem.solve(solver="CLARABEL")
    >>> f"{program.read().value:.6f}", list(program.statements)
    ('11.656854', ['1 > 0', '0 > 2'])
    """

    def __init__(self, question: Question) -> None:
        self._question, model, posed = question, question.model, question.problem
        self.effort, self.rate = Effort(model), cp.Variable(name="t")
        costly, free = (np.flatnonzero(np.array(model.costly) == paid).tolist() for paid in (True, False))
        constraints = (
            [np.array(model.costs)[costly] @ self.effort[costly] == 1, self.effort[costly] >= 0] if costly else []
        )
        constraints += [self.effort[free] == 0] if free else []
        self.limits = {
            limit.write(model.arms): row_constraint(row, self.effort)
            for limit, row in zip(question.limits, question.rows, strict=True)
        }
        constraints += list(self.limits.values())
        self.statements: dict[str, Any] = {}
        self._parts: list[tuple[list[int], Part]] = []
        if posed.statements:
            constraints = [*self._bounds(), *constraints]
        self.problem = cp.Problem(cp.Maximize(self.rate), constraints)

    def _bounds(self) -> list[Any]:
        """The constraints of the statements, which from then on are known by their texts, and the cones of the terms.

        The cones are those of the scaled program, whose variables are w and t in units of a first guess.
        """
        posed = self._question.problem
        scale = units(posed)
        spent = float(np.sum(posed.costs * scale.effort))
        unit, self._information = scale.effort * posed.dispersions / spent, scale.information / spent
        x = cp.multiply(1.0 / unit, self.effort[posed.labels.tolist()])
        self._x, self._parts = x, list_parts(posed.shape, x, self.rate / self._information)
        terms: list[Any] = [None] * len(posed.statements)
        for edges, part in self._parts:
            part.update(posed, scale)
            if isinstance(part, LinearCuts):
                touch_optimum(self._question, part.cuts)
                part.show()
            for row, edge in enumerate(edges):
                terms[edge] = part.terms[row]
        anchors = posed.rates * (scale.effort / scale.information)[posed.anchored]
        for row, (arm, rate) in enumerate(zip(posed.anchored.tolist(), anchors.tolist(), strict=True)):
            terms[len(posed.shape.edges) + row] = rate * x[arm]
        self._terms = terms_by_text(self._question)
        self.statements = {
            name: labelled(self.rate <= self._information * join([terms[term] for term in own]), name)
            for name, own in self._terms.items()
        }
        return [*self.statements.values(), *(cone for _, part in self._parts for cone in part.cones)]

    def __str__(self) -> str:
        question = self._question
        return show_program(question.model, question.task, question.limits).rstrip()

    def tighten(self) -> bool:
        """Add linear cuts where the present effort needs them; True where it did: then the problem is solved anew.

        Margins of exponential, gamma and geometric arms have no cone: their terms are the least of some linear cuts,
        which touch them at the optimal effort: only added constraints need more. Always False for other programs.
        """
        if self.statements and self.effort.value is None:
            raise SolverError("there is no solution at which cuts could be added; solve the problem first")
        return any(part.tighten(self._x.value, float(self.rate.value) / self._information) for _, part in self._parts)

    def read(self, problem: Any = None, *, tolerance: float = READ_TOLERANCE) -> CharacteristicTime | ExtendedTime:
        """What the solved problem proves about T*, whoever solved it.

        Parameters
        ----------
        problem
            The problem that was solved: by default `problem`, else one with constraints added to it.
        tolerance
            Largest accepted relative gap where nothing was added.

        Raises
        ------
        InputError
            The problem is another one: it lacks a constraint, or has another objective.
        SolverError
            It has no point, or nothing was added and the certified gap, also after Newton's method on the binding
            statements, exceeds the tolerance.
        """
        if not self.statements:
            return read_nothing(self._question)
        solved = self.problem if problem is None else problem
        self._check_own(solved)
        self._check_solved(solved)
        limits = tuple(float(np.sum(0.0 if one.dual_value is None else one.dual_value)) for one in self.limits.values())
        told = who(solved), str(solved.status), iterations(solved)
        found = Solved(self.effort.value, self._weights(), limits, *told)
        return read_solved(self._question, found, self._added(solved), tolerance)

    def _check_own(self, problem: Any) -> None:
        """Raise `InputError` unless a problem is this one with constraints added."""
        present = {id(constraint) for constraint in problem.constraints}
        missing = [one for one in self.problem.constraints if id(one) not in present]
        if missing:
            names = [name for name, constraint in self.statements.items() if constraint is missing[0]]
            raise InputError(f"the problem lacks the constraint {names[0] if names else str(missing[0])!r}")
        if type(problem.objective) is not cp.Maximize or problem.objective.args[0] is not self.rate:
            raise InputError(f"the problem has another objective, {problem.objective}, where 'maximize t' is needed")

    def _check_solved(self, problem: Any) -> None:
        status = None if problem is None else problem.status
        if status not in WITH_POINT or self.effort.value is None:
            raise SolverError(f"there is no solution to read: the status of the problem is {status!r}")

    def _weights(self) -> Array:
        """The weight of each column of the model, from the dual values of its cuts or its one bound."""
        posed, weights = self._question.problem, np.zeros(len(self._question.columns.owners))
        for name, own in self._terms.items():
            duals = self.statements[name].dual_value
            if duals is not None:
                weights[posed.columns[own]] = np.maximum(np.reshape(duals, (len(own), -1)), 0.0).sum(axis=1)
        return weights

    def _added(self, problem: Any) -> Added:
        """The constraints of a problem that are not in this one."""
        own = {id(constraint) for constraint in self.problem.constraints}
        rows: list[Row] = []
        multipliers: list[float] = []
        violations: list[float] = []
        for constraint in problem.constraints:
            if id(constraint) in own:
                continue
            if any(variable is self.rate for variable in constraint.variables()):
                raise InputError(f"{RATE_ADDED}, and {str(constraint)!r} is about the rate")
            found = self._linear(constraint)
            if found is None:
                violations.append(float(np.max(constraint.violation())))
            else:
                rows += found
                dual = np.zeros(len(found)) if constraint.dual_value is None else np.ravel(constraint.dual_value, "F")
                multipliers += dual.tolist()
        return Added(tuple(rows), tuple(multipliers), max([0.0, *violations]), len(violations))

    def _linear(self, constraint: Any) -> list[Row] | None:
        """The rows of a constraint that is linear in the effort and has nothing else in it; None for others."""
        kinds = {cp.constraints.Inequality: False, cp.constraints.NonPos: False}
        kinds |= {cp.constraints.Equality: True, cp.constraints.Zero: True}
        variables = constraint.variables()
        if type(constraint) not in kinds or any(variable is not self.effort for variable in variables):
            return None
        if not constraint.expr.is_affine():
            return None
        at, expression = self.effort.value, constraint.expr
        slopes = expression.grad.get(self.effort) if variables else None
        size = expression.size
        slopes = np.zeros((at.size, size)) if slopes is None else np.reshape(dense(slopes), (at.size, size))
        self.effort.value = np.zeros_like(at)
        try:
            constants = np.ravel(expression.value, "F")
        finally:
            self.effort.value = at
        model = self._question.model
        return [
            linear_row(model, slopes[:, row].tolist(), float(constants[row]), kinds[type(constraint)])
            for row in range(size)
        ]


def dense(matrix: Any) -> Array:
    """A matrix, sparse or not, as an array."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)


def row_constraint(row: Row, effort: Any) -> Any:
    """``coefficients . w <= 0``, or ``= 0``."""
    form = np.array(row.coefficients, dtype=float) @ effort
    return form == 0 if row.equal else form <= 0


def join(terms: list[Any]) -> Any:
    """The terms of one statement: one expression, which has as many entries as it has cuts."""
    return terms[0] if len(terms) == 1 else cp.hstack([cp.vec(term, "F") for term in terms])


def labelled(constraint: Any, name: str) -> Any:
    """A constraint that is printed with its name, where CVXPY can do that (from 1.7 on)."""
    return constraint.set_label(name) if hasattr(constraint, "set_label") else constraint


def who(problem: Any) -> str:
    """The solver of a problem."""
    return str(problem.solver_stats.solver_name)


def iterations(problem: Any) -> int:
    """How many iterations the solver says it took."""
    return int(problem.solver_stats.num_iters or 0)
