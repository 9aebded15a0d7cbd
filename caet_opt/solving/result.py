"""A characteristic time with its certificate."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from html import escape
from math import exp, expm1, isfinite, log, log1p
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from caet_opt.bandits.families.numerics import UNIT, Array, Mask
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.common.checks import is_number, is_truth, show_value
from caet_opt.common.files import escape_controls
from caet_opt.common.numbers import (
    format_certified,
    html_table,
    proportion,
    round_down,
    table,
    to_digits,
    write_count,
    write_gap,
    write_given,
)
from caet_opt.errors import InputError
from caet_opt.kernels.statement_columns import Columns
from caet_opt.solving.certificate import column_terms
from caet_opt.solving.limits import LimitPrice, find_leader, limited_sensitivities
from caet_opt.solving.sensitivity import cost_sensitivities, total_mean_sensitivities

if TYPE_CHECKING:
    import pandas as pd

    from caet_opt.solving.problem import Question
    from caet_opt.solving.profiles import Profile

    Solver = Callable[[Question, Profile, "CharacteristicTime | None"], "CharacteristicTime"]

#: A statement is binding when its term exceeds the smallest one by no more than this, relatively.
BINDING_SLACK = 1e-7

#: So many units of rounding a lower bound is stepped down, and as many for each part of its cancellation.
ROUNDED = 20 * UNIT

#: The forms of the lower bound on the expected cost.
BoundForm = Literal["kl", "log"]


class AnswerTime(NamedTuple):
    """T* of one of several right answers, certified; one that is certainly not the easiest has a lower bound alone, and
    T* is nan."""

    answer: Hashable
    value: float
    lower: float
    upper: float


@dataclass(eq=False)  # not frozen: that would take longer to make than solving for three arms does
class CharacteristicTime:
    """T* of a model and a task, certified: ``lower <= T* <= upper``.

    Attributes
    ----------
    value : T* at the returned proportions; the true T* lies in [lower, upper]
    gap : relative width of the certified interval
    effort : w*, pulls per unit of information, scaled so that the binding terms are one and c . w = value
    statements : the statements that the answer makes
    multipliers : the share of T* of each statement; they sum to `value`; a statement that enters the certificate twice
        (see `columns`) has two
    solver, iterations, seconds : the solver, its iterations and its time
    solver_gap : the gap of the solver's own point, before it was polished
    limits : the limits, with their shares and prices at the optimum
    chosen, times : if several answers may be right, the easiest one, to which all but ``lower`` belongs,
        and what is known about each; see `answer` and `answers`

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> result = characteristic_time(model, "ranking")
    >>> f"{result.value:.6f}", tuple(map(str, result.binding_statements)), f"{result.lower_bound(delta=0.01):.4f}"
    ('11.656854', ('0 > 2',), '52.4933')
    >>> result.mean_sensitivities.round(4)
    array([-28.1421,   8.2426,  19.8995])
    """

    model: BanditModel
    task: Task
    value: float
    lower: float
    upper: float
    gap: float
    effort: Array
    columns: Columns
    multipliers: Array
    solver: str
    iterations: int
    seconds: float
    solver_gap: float
    limits: tuple[LimitPrice, ...] = ()
    chosen: Hashable = None
    times: tuple[AnswerTime, ...] = ()

    @property
    def answer(self) -> Hashable:
        """The answer to which T* belongs: the right one, or the easiest of several."""
        if self.times:
            return self.chosen
        return self.task.answer(self.model.means if self.columns.is_plain else self.model.exact_means)

    @property
    def answers(self) -> "pd.DataFrame":
        """The right answers, one for most tasks, the easiest first: answer, T*, lower and upper. One whose lower bound
        shows that it is not the easiest has that bound alone: T* is nan, and upper infinite.

        >>> model = BanditModel("bernoulli", [0.4, 0.5, 0.6, 0.7, 0.8], costs=[1] * 5)
        >>> characteristic_time(model, "best-arm~0.15").answers.round(6)
           answer          T*       lower       upper
        0       4   30.431804   30.431804   30.431804
        1       3  593.706318  593.706318  593.706318
        """
        import pandas as pd

        times = self.times or (AnswerTime(self.answer, self.value, self.lower, self.upper),)
        return pd.DataFrame(times, columns=["answer", "T*", "lower", "upper"])

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements that the answer makes."""
        return self.columns.statements

    @property
    def leader(self) -> int | None:
        """The arm that the answer names as the best one, if a limit is about it."""
        return find_leader([limit.limit for limit in self.limits], self.task, self.model.means)

    @property
    def information_rate(self) -> float:
        """``1 / T*``, the optimum of the epigraph program; infinite when T* is zero."""
        return 1.0 / self.value if self.value > 0 else float("inf")

    @property
    def cost_proportions(self) -> Array:
        """omega*: the share of the cost that goes to each arm; all zero when T* is zero."""
        return normalise(self.effort * np.array(self.model.costs))

    @property
    def sampling_proportions(self) -> Array:
        """u*: the share of the pulls of costly arms that goes to each arm; all zero when T* is zero."""
        return normalise(np.where(np.array(self.model.costs) > 0, self.effort, 0.0))

    @cached_property
    def _binding(self) -> Mask:
        """Which statements hold with equality at the optimum."""
        columns = self.columns
        if self.value == 0:
            return np.zeros(len(columns.statements), dtype=bool)
        terms = columns.least_by_statement(column_terms(self.model, columns, self.effort))
        carried = columns.sum_by_statement(self.multipliers)
        return np.asarray((terms <= 1.0 + BINDING_SLACK) | (carried > BINDING_SLACK * self.value))

    @property
    def binding_statements(self) -> tuple[Statement, ...]:
        """The statements that decide T*."""
        return tuple(each for each, binds in zip(self.statements, self._binding.tolist(), strict=True) if binds)

    @property
    def statement_weights(self) -> Array:
        """The multipliers of the binding statements, as weights that sum to one."""
        return normalise(self.columns.sum_by_statement(self.multipliers)[self._binding])

    @cached_property
    def cost_sensitivities(self) -> Array:
        """dT*/dc_a; for a free arm the derivative to the right, infinite at a binding statement, but for one whose
        rewards do not vary. Under limits, which a free arm that begins to cost would enter, it is nan there. Where
        several answers are right, it is that of `answer` alone, even if another one would become the easiest."""
        found = cost_sensitivities(self.model, self.statements, self.effort, set(self.binding_statements))
        return limited_sensitivities(self.model, found, self.limits, self.leader) if self.limits else found

    @cached_property
    def mean_sensitivities(self) -> Array:
        """dT*/dmu_a; costs that are gaps follow the means, costs that were given stay as they are."""
        return total_mean_sensitivities(
            self.model, self.columns, self.effort, self.multipliers, self.cost_sensitivities
        )

    def lower_bound(
        self, delta: float | None = None, form: BoundForm = "kl", *, log_inv_delta: float | None = None
    ) -> float:
        """Least expected cost of any delta-PAC strategy, from the certified lower end of T*; see `bound_per_time`.

        A delta too small for a double is given by ``log_inv_delta = log(1 / delta)``.
        """
        if self.task.several_right:
            raise InputError(
                f"task {str(self.task)!r} may have several right answers, for which there is no lower bound at a given "
                "delta: T* log(1/delta) is one as delta tends to 0"
            )
        level = read_level(delta, log_inv_delta)
        bound = self.lower * bound_per_time(level, form)
        if not isfinite(bound):
            raise InputError(
                f"T* = {self.value:g} times log(1/delta) = {level:g} is outside double precision; rescale the costs"
            )
        return bound

    def to_record(self) -> dict[str, Any]:
        """The answer as plain values, as in JSON, tables and manifests."""
        return {
            "task": str(self.task),
            "family": str(self.model.family),
            "names": list(self.model.arms),
            "means": list(self.model.means),
            "costs": list(self.model.costs),
            **({"distributions": known.to_records()} if (known := self.model.distributions) else {}),
            "characteristic_time": self.value,
            "lower": self.lower,
            "upper": self.upper,
            "gap": self.gap,
            "cost_proportions": self.cost_proportions.tolist(),
            "sampling_proportions": self.sampling_proportions.tolist(),
            "statements": [statement.write(self.model.arms) for statement in self.statements],
            "binding_statements": [statement.write(self.model.arms) for statement in self.binding_statements],
            "statement_weights": self.statement_weights.tolist(),
            "solver": self.solver,
            "iterations": self.iterations,
            "seconds": self.seconds,
            **({"limits": [limit.to_record(self.model.arms) for limit in self.limits]} if self.limits else {}),
            **(self._several() if self.task.several_right else {}),
        }

    def _several(self) -> dict[str, Any]:
        """What a record says in addition where several answers may be right; what JSON has no number for is None."""
        names = self.model.arms
        return {
            "answer": self.task.write_answer(self.answer, names),
            "answers": [
                {
                    "answer": self.task.write_answer(time.answer, names),
                    "characteristic_time": time.value if isfinite(time.value) else None,
                    "lower": time.lower,
                    "upper": time.upper if isfinite(time.upper) else None,
                }
                for time in self.times
            ],
            "lower_bound": None,
        }

    def __str__(self) -> str:
        arms = table(ARM_HEADERS, arm_rows(self))
        about = [*answer_lines(self), binding_line(self), *limit_lines(self), certified_line(self), solver_line(self)]
        return "\n".join([headline(self.model, self.task), "", arms, "", *about])

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        lines = [*answer_lines(self), certified_line(self), binding_line(self), *limit_lines(self), solver_line(self)]
        about = map(escape, lines)
        return f"<p>{escape(headline(self.model, self.task))}</p>{html_table(ARM_HEADERS, arm_rows(self))}" + "".join(
            f"<p>{line}</p>" for line in about
        )


#: Headings of the lines of arms.
ARM_HEADERS = ("arm", "mean", "cost", "cost proportion", "sampling proportion")


def headline(model: BanditModel, task: Task) -> str:
    """Task, family and size of a model in one line."""
    question = task.question(model.arms)
    asked = str(task) if question is None else f"{task} ({question})"
    return f"task {asked}, family {model.family}, {write_count(len(model.means), 'arm')}"


def arm_rows(result: CharacteristicTime) -> list[list[str]]:
    """Cells of one line per arm."""
    model = result.model
    shares = zip(result.cost_proportions.tolist(), result.sampling_proportions.tolist(), strict=True)
    return [
        [name, f"{mean:.10g}", write_given(cost), *map(proportion, both)]
        for name, mean, cost, both in zip(model.arms, model.means, model.costs, shares, strict=True)
    ]


#: So many of several right answers are shown beside the easiest.
MOST_SHOWN = 3


def answer_lines(result: CharacteristicTime) -> list[str]:
    """Where several answers may be right, the easiest, and T* of the next ones."""
    if not result.task.several_right:
        return []
    write = partial(result.task.write_answer, names=tuple(map(escape_controls, result.model.arms)))
    easiest, *others = result.times
    lines = [f"easiest right answer: {write(easiest.answer)}"]
    for time in others[:MOST_SHOWN]:
        told = f"T* = {to_digits(time.value, 6)}" if isfinite(time.upper) else f"T* >= {round_down(time.lower, 6)}"
        lines.append(f"also right: {write(time.answer)}, {told}")
    if len(others) > MOST_SHOWN:
        lines.append(f"also right: {len(others) - MOST_SHOWN} more answers")
    return lines


def binding_line(result: CharacteristicTime) -> str:
    """The statements that decide T*, with their weights."""
    if not result.binding_statements:
        return "binding statements: none, no statement constrains an arm that costs something"
    names = statement_names(result.binding_statements, result.model.arms)
    weights = map(proportion, result.statement_weights.tolist())
    return "binding statements: " + ", ".join(f"{name} (weight {w})" for name, w in zip(names, weights, strict=True))


def limit_lines(result: CharacteristicTime) -> list[str]:
    """The limits, each with what one point more of its share would do."""
    names = tuple(map(escape_controls, result.model.arms))
    return [limit.describe(names) for limit in result.limits]


def statement_names(statements: Iterable[Statement], arms: Sequence[str]) -> list[str]:
    """Statements by the names of their arms, for a page or a terminal."""
    names = tuple(map(escape_controls, arms))
    return [statement.write(names) for statement in statements]


def certified_line(result: CharacteristicTime) -> str:
    """T* as the digits that double precision certifies."""
    value, interval = format_certified(result.value, result.lower, result.upper, result.gap)
    return f"T* = {value}  in {interval}, relative gap {write_gap(result.gap)}"


def solver_line(result: CharacteristicTime) -> str:
    """Who solved it in how long."""
    return f"solver {result.solver}, {result.iterations} iterations, {1e3 * result.seconds:.1f} ms"


def read_level(delta: float | None, log_inv_delta: float | None) -> float:
    """``log(1 / delta)`` of whichever of the two was given."""
    if delta is not None and log_inv_delta is None:
        if not isinstance(delta, Real | Decimal) or is_truth(delta):
            raise InputError(f"delta must be a number strictly between 0 and 1, got {show_value(delta)}")
        if not 0 < delta < 1:
            raise InputError(f"delta must lie strictly between 0 and 1, got {show_value(delta)}")
        return -log(delta)
    if log_inv_delta is not None and delta is None:
        if not is_number(log_inv_delta) or log_inv_delta <= 0:
            raise InputError(f"log(1/delta) must be positive and finite, got {show_value(log_inv_delta)}")
        return float(log_inv_delta)
    raise InputError("give either delta or log_inv_delta")


def bound_per_time(log_inv_delta: float, form: BoundForm = "kl") -> float:
    """What the expected cost of any delta-PAC strategy is at least, per unit of T*, given ``log(1 / delta)``.

    ``kl``: ``kl(delta, 1 - delta) = (1 - 2 delta) log((1 - delta) / delta)``; ``log``: the weaker
    ``log(1 / (2.4 delta))``. The theorem is about delta below 1/2: kl is symmetric, but a strategy that may err half
    of the time can guess for nothing, so that the bound is zero from there on.

    What is returned is not above the exact number, nor is its product with T* as a double. Rounding moves
    L = log(1/delta) by up to 3 units u = 2^-53 of it. A factor that is zero at L0 is then off by 3 u L / (L - L0)
    relatively, and the few functions and the products add up to 20 u; twice that for both factors is stepped down.
    """
    if form not in get_args(BoundForm):
        raise InputError(f"form of the lower bound must be 'kl' or 'log', got {form!r}")
    if log_inv_delta <= log(2):
        return 0.0
    if form == "log":
        return step_down(log_inv_delta - log(2.4), log_inv_delta)
    factor = -expm1(log(2) - log_inv_delta)
    return step_down(factor * (log_inv_delta + log1p(-exp(-log_inv_delta))), log_inv_delta, log_inv_delta - log(2))


def step_down(bound: float, level: float, distance: float | None = None) -> float:
    """A bound less what rounding can have added, at ``level`` and at this distance from its zero; at least 0."""
    distance = bound if distance is None else distance
    return max(0.0, bound * (1.0 - ROUNDED * (1.0 + level / distance))) if distance > 0 else 0.0


def normalise(amounts: Array) -> Array:
    """Amounts, or rows of them, as proportions; zeros stay zeros."""
    total = np.sum(amounts, axis=-1, keepdims=True)
    return np.asarray(amounts / np.where(total > 0, total, 1.0))
