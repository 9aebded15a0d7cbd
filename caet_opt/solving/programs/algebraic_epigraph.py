"""The epigraph program of one instance in Pyomo, in the paper's notation and units, for people to extend and solve."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.base.var import IndexedVar
from pyomo.core.expr.visitor import identify_mutable_parameters, identify_variables, replace_expressions
from pyomo.repn import generate_standard_repn

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.errors import InputError, SolverError
from caet_opt.solving.problem import Problem, Question
from caet_opt.solving.programs.algebraic import AlgebraicProgram, store
from caet_opt.solving.programs.cache import cached_program
from caet_opt.solving.programs.cuts import Cuts
from caet_opt.solving.programs.scaling import Units, dual_point, units
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

#: Variables of the dual of a margin's inner problem, as `caet_opt.solving.programs.algebraic` has them.
HIDDEN = ("link", "left", "fail")


class Effort(IndexedVar):  # type: ignore[misc]  # Pyomo has no types
    """w: the effort of every arm that costs something, found by the arm's name or number."""

    def __init__(self, bandit: BanditModel, *arguments: Any, **options: Any) -> None:
        self._bandit = bandit
        super().__init__(*arguments, **options)

    def __getitem__(self, arm: Any) -> Any:
        known = isinstance(arm, str | int | np.integer)
        return super().__getitem__(self._bandit.arms[costly_arm(self._bandit, arm)] if known else arm)


class AlgebraicEpigraph(pyo.ConcreteModel):  # type: ignore[misc]
    """``max t  s.t.  t <= f_e(w)  for every statement,  c . w = 1,  w >= 0`` as a Pyomo model, which it is itself.

    Attributes
    ----------
    effort : the variables w by the arms' names or numbers; free arms have none
    rate : the variable t; at the optimum it is 1 / T*
    statements : the constraint of each statement by its text, ``statements["0 > 2"]``, with a number behind it where a
        statement has several; statements that constrain nothing have none: ``print`` says which they are, and why
    limits : the constraint of each limit by its text
    budget : the constraint c . w = 1
    objective : maximise the rate
    dual : the suffix in which solvers leave multipliers

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> model = BanditModel("gaussian", [1.5, 1, 0.5], costs=[1, 0.1, 0.01])
    >>> program = epigraph(model, "best-arm", "pyomo")
    >>> program.own = pyo.Constraint(expr=program.effort[0] <= 0.5)
    >>> [pyo.value(constraint.body) >= 0 for constraint in program.statements.values()]
    [True, True]
    """

    def __init__(self, question: Question) -> None:
        super().__init__(name="epigraph")
        self._question, bandit, posed = question, question.model, question.problem
        start, rate = start_point(question)
        costs = {bandit.arms[arm]: bandit.costs[arm] for arm in np.flatnonzero(bandit.costly).tolist()}
        self.arms = pyo.Set(initialize=list(costs))
        self.effort = Effort(bandit, self.arms, within=pyo.NonNegativeReals, initialize=start)
        self.rate = pyo.Var(initialize=rate)
        self.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        self._cuts: Cuts | None = None
        bounds = dict(self._bounds(posed)) if posed.statements else {}
        self._columns = {name: column for name, (column, _) in bounds.items()}
        self.statements = pyo.Constraint(list(bounds), rule=lambda m, name: bounds[name][1])
        if costs:
            self.budget = pyo.Constraint(expr=sum(costs[arm] * self.effort[arm] for arm in self.arms) == 1)
        rows = dict(zip([limit.write(bandit.arms) for limit in question.limits], question.rows, strict=True))
        self.limits = pyo.Constraint(list(rows), rule=lambda m, name: row_constraint(rows[name], bandit, m.effort))
        self.objective = pyo.Objective(expr=self.rate, sense=pyo.maximize)

    def __str__(self) -> str:
        question = self._question
        return show_program(question.model, question.task, question.limits).rstrip()

    def _bounds(self, posed: Problem, cuts: Cuts | None = None) -> Iterator[tuple[str, tuple[int, Any]]]:
        """The name of each constraint on t, its column, and itself: that of the scaled program, with the numbers of
        the model, w and t in place of its parameters and variables."""
        program: AlgebraicProgram = cached_program("epigraph", posed.shape, AlgebraicProgram)
        self._cuts = set_instance(program, self._question, cuts)
        scaled, names = program.model, [self._question.model.arms[label] for label in posed.labels.tolist()]
        known = {id(scaled.x[arm]): self.effort[name] for arm, name in enumerate(names)} | {id(scaled.t): self.rate}
        texts = {term: text for text, terms in terms_by_text(self._question).items() for term in terms}
        for kind in HIDDEN:
            if hasattr(scaled, kind):
                own = pyo.Var(
                    [texts[edge] for edge in posed.shape.margins], within=pyo.NonNegativeReals, initialize=1.0
                )
                setattr(self, kind, own)
                known |= {id(getattr(scaled, kind)[edge]): own[texts[edge]] for edge in posed.shape.margins}
        if hasattr(scaled, "balance"):
            self.balance = pyo.Constraint([texts[edge] for edge in posed.shape.margins])
            for edge in posed.shape.margins:
                self.balance[texts[edge]] = translate(scaled.balance[edge].body, known) == 0
        found: dict[str, int] = {}
        for term, body in sorted(bodies(scaled, len(posed.shape.edges)), key=lambda one: list(texts).index(one[0])):
            found[texts[term]] = count = found.get(texts[term], 0) + 1
            name = texts[term] if count == 1 else f"{texts[term]} ({count})"
            yield name, (int(posed.columns[term]), translate(body, known) >= 0)

    @property
    def has_cuts(self) -> bool:
        """Whether some terms are the least of linear cuts."""
        return self._cuts is not None

    def tighten(self) -> bool:
        """Add linear cuts where the present effort needs them; True where it did: then the model is solved anew.

        Margins of exponential, gamma and geometric arms have no formula: their terms are the least of some linear cuts,
        which touch them at the optimal effort: only added constraints need more. Always False for other programs.
        """
        if self._cuts is None:
            return False
        posed = self._question.problem
        at = self._values()[posed.labels] / posed.dispersions
        scale, spent = self._cuts.scale, float(np.sum(posed.costs * at))
        whole = float(np.sum(posed.costs * scale.effort)) / spent
        found = self._cuts.tighten(whole * at / scale.effort, whole * pyo.value(self.rate) / scale.information)
        for name, (_, bound) in self._bounds(posed, self._cuts):
            self.statements[name].set_value(bound)
        return found

    def solve(self, **options: Any) -> None:
        """Solve with the Ipopt that is installed as a library, which needs no executable; its options may be given.

        Values and multipliers are left in the model, as solvers of Pyomo leave them, added constraints included.
        """
        from caet_opt.solving.programs.bridge import solve_model

        if self.statements:
            self._check_own()
            solve_model(self, self.rate, options)

    def read(self, results: Any = None, *, tolerance: float = READ_TOLERANCE) -> CharacteristicTime | ExtendedTime:
        """What the solved model proves about T*, whoever solved it.

        Constraints that were added to the model are those of it that are not this program's own, and changed bounds
        and fixed values of `effort`.

        Parameters
        ----------
        results
            What Pyomo's solver returned, for its name; the solution is read from the model.
        tolerance
            Largest accepted relative gap where nothing was added.

        Raises
        ------
        InputError
            The model is another program: it lacks a constraint, or has another objective.
        SolverError
            It has no point, or nothing was added and the certified gap, also after Newton's method on the binding
            statements, exceeds the tolerance.
        """
        if not self.statements:
            return read_nothing(self._question)
        self._check_own()
        duals = {name: float(self.dual.get(one, 0.0)) for name, one in self.statements.items()}
        sign = 1.0 if sum(duals.values()) > 0 else -1.0  # minimising -t has the other one
        weights = np.zeros(len(self._question.columns.owners))
        for name, dual in duals.items():
            weights[self._columns[name]] += max(sign * dual, 0.0)
        limits = tuple(-sign * float(self.dual.get(one, 0.0)) for one in self.limits.values())
        solved = Solved(self._values(), weights, limits, *who(results))
        return read_solved(self._question, solved, self._added(-sign), tolerance)

    def _values(self) -> Array:
        """The effort of every arm of the model."""
        found, model = np.zeros(len(self._question.model.means)), self._question.model
        for name, variable in self.effort.items():
            if variable.value is None:
                raise SolverError(f"there is no solution to read: the effort of arm {name!r} has no value")
            found[model.arms.index(name)] = variable.value
        return found

    def _own(self) -> list[Any]:
        """The constraints of the program as it was made."""
        kinds = [
            self.statements,
            self.limits,
            *(getattr(self, name) for name in ("balance", "budget") if hasattr(self, name)),
        ]
        return [constraint for kind in kinds for constraint in kind.values()]

    def _check_own(self) -> None:
        """Raise `InputError` unless the model is the program with constraints added."""
        for constraint in self._own():
            if not constraint.active:
                raise InputError(f"the model lacks the constraint {constraint.name!r}, which is not active")
        goals = list(self.component_data_objects(pyo.Objective, active=True))
        is_own = [goal is self.objective for goal in goals] == [True] and goals[0].sense == pyo.maximize
        if not is_own or goals[0].expr is not self.rate:
            raise InputError("the model has another objective, where 'objective' alone, maximise the rate, is needed")
        if self.rate.fixed or self.rate.has_lb() or self.rate.has_ub():
            raise InputError(f"{RATE_ADDED}, and the rate is fixed or has bounds")
        for kind in (pyo.SOSConstraint, pyo.LogicalConstraint):
            if any(True for _ in self.component_data_objects(kind, active=True)):
                raise InputError(f"a {kind.__name__} was added, which is not understood here; write it as a Constraint")

    def _added(self, sign: float) -> Added:
        """What was added to the program; ``sign`` is that of the multiplier of a binding upper bound."""
        own, rows, multipliers, violations = set(map(id, self._own())), [], [], []
        inner = {id(self.rate)} | {id(one) for kind in HIDDEN for one in getattr(self, kind, {}).values()}
        for constraint in self.component_data_objects(pyo.Constraint, active=True):
            if id(constraint) in own:
                continue
            for variable in identify_variables(constraint.body, include_fixed=False):
                if id(variable) in inner:
                    raise InputError(f"{RATE_ADDED}, and {constraint.name!r} is about {variable.name!r}")
            form, ends = self._linear(constraint.body), (constraint.lb, constraint.ub)
            if form is None:
                body = float(pyo.value(constraint.body))
                violations += [ends[0] - body] if ends[0] is not None else []
                violations += [body - ends[1]] if ends[1] is not None else []
                continue
            found = list(self._rows(*form, *ends))
            rows += [row for _, row in found]
            multipliers += [sign * side * float(self.dual.get(constraint, 0.0)) for side, _ in found]
        for arm, variable in self.effort.items():
            ends = (variable.value, variable.value) if variable.fixed else (variable.lb or None, variable.ub)
            found = list(self._rows({arm: 1.0}, 0.0, *ends))
            rows, multipliers = rows + [row for _, row in found], multipliers + [0.0] * len(found)
        return Added(tuple(rows), tuple(multipliers), max([0.0, *violations]), len(violations))

    def _linear(self, body: Any) -> tuple[dict[str, float], float] | None:
        """Coefficients by arm and constant of a form that is linear in the effort and has nothing else in it."""
        names = {id(variable): name for name, variable in self.effort.items()}
        form = generate_standard_repn(body, compute_values=True)
        if not form.is_linear() or any(id(variable) not in names for variable in form.linear_vars):
            return None
        parts = zip(form.linear_vars, form.linear_coefs, strict=True)
        return {names[id(variable)]: float(part) for variable, part in parts}, float(form.constant)

    def _rows(
        self, parts: Mapping[str, float], constant: float, low: float | None, high: float | None
    ) -> Iterator[tuple[float, Any]]:
        """The rows of ``low <= parts . w + constant <= high``, each with the sign of its multiplier."""
        model = self._question.model
        full = [parts.get(name, 0.0) for name in model.arms]
        if low is not None and low == high:
            yield 1.0, linear_row(model, full, constant - low, True)
            return
        if high is not None:
            yield 1.0, linear_row(model, full, constant - high, False)
        if low is not None:
            yield -1.0, linear_row(model, [-part for part in full], low - constant, False)


def row_constraint(row: Row, bandit: BanditModel, effort: Any) -> Any:
    """``coefficients . w <= 0``, or ``= 0``."""
    form = sum(float(part) * effort[arm] for arm, part in enumerate(row.coefficients) if bandit.costly[arm])
    return form == 0 if row.equal else form <= 0


def start_point(question: Question) -> tuple[dict[str, float], float]:
    """A first guess of efforts that cost one together, by the arms' names, and of the rate."""
    posed, arms = question.problem, question.model.arms
    start = {arm: 0.0 for arm, costly in zip(arms, question.model.costly, strict=True) if costly}
    if not posed.statements:
        return start, 1.0
    guess = posed.first_guess()
    guess = guess / float(np.sum(posed.costs * guess))
    natural = (guess * posed.dispersions).tolist()
    start |= {arms[label]: amount for label, amount in zip(posed.labels.tolist(), natural, strict=True)}
    return start, float(np.min(posed.terms(guess)))


def set_instance(program: AlgebraicProgram, question: Question, cuts: Cuts | None = None) -> Cuts | None:
    """Set the parameters of a scaled program to a problem without any scale, so that x is the model's effort.

    What belongs to margins is measured at the first guess all the same. Returns the linear cuts, where there are any.
    """
    posed = question.problem
    program.update(posed, Units(1.0 / posed.dispersions, 1.0, posed.costs))
    model, guess = program.model, posed.first_guess()
    if hasattr(model, "link"):
        at = dual_point(posed, guess / float(np.sum(posed.costs * guess)))
        for parameter, values in zip((model.link_unit, model.fail_unit, model.left_unit), at, strict=True):
            store(parameter, values)
    if not hasattr(model, "cut"):
        return None
    if cuts is None:
        cuts = Cuts(posed, units(posed))
        touch_optimum(question, cuts)
    unit = posed.dispersions * cuts.scale.effort / cuts.scale.information
    for parameter, rates, arms in zip(
        (model.cut_head, model.cut_tail), cuts.rates, (cuts.heads, cuts.tails), strict=True
    ):
        store(parameter, (rates / unit[arms, None]).ravel())
    return cuts


def bodies(scaled: Any, edges: int) -> Iterator[tuple[int, Any]]:
    """The term and the body, ``term - t``, of each constraint on t of a scaled program."""
    for kind in ("pair", "inner", "cut"):
        for index, constraint in getattr(scaled, kind, {}).items():
            yield index[0] if kind == "cut" else index, constraint.body
    for index, constraint in scaled.anchor.items():
        yield edges + index, constraint.body


def translate(body: Any, known: Mapping[int, Any]) -> Any:
    """An expression with other variables, and the present values of its parameters."""
    values = {id(parameter): parameter.value for parameter in identify_mutable_parameters(body)}
    return replace_expressions(body, {**known, **values})


def who(results: Any) -> tuple[str, str]:
    """The solver, and why it ended, as far as Pyomo's results tell."""
    if results is None:
        return "pyomo", "not told"
    name, status = results.solver.name, results.solver.termination_condition
    return str(name) if isinstance(name, str) else "pyomo", str(status)
