"""What a closed form is: a SymPy formula for T* and for the effort of each arm, where they hold, and their numbers to
any number of digits: exact inputs, and a working precision that grows until the digits stand still."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import sympy
from mpmath import inf, log, mp, mpf

from caet_opt.bandits.families import Family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.errors import InputError, SolverError
from caet_opt.proving.closed_forms.compared import ComparedPairs, compare
from caet_opt.solving.problem import read_task
from caet_opt.solving.result import normalise

#: More digits than a double has, so that the rounding to a double is the only error.
DOUBLE_DIGITS = 20

#: d(x, y) of the model's family at unit dispersion, in formulas that hold for any family.
divergence = sympy.Function("d")

#: The index of formulas that sum over the costly arms, and the number of these.
index = sympy.Symbol("a", integer=True, nonnegative=True)
count = sympy.Symbol("n", integer=True, positive=True)

#: How often the working precision may be doubled.
DOUBLINGS = 8


class Match(NamedTuple):
    """How a closed form reads a model: the arms that it pays for, and the values of its symbols."""

    arms: tuple[int, ...]
    values: tuple[Any, ...]


class ClosedForm(ABC):
    """A formula for T* and for the optimal effort w*, which ``c . w* = T*`` scales.

    Attributes
    ----------
    name, title : in kebab-case, and in words
    source : where the formula comes from
    domain : the models and tasks for which it holds, in words
    symbols, formula : the arguments of the formula, and T* as a SymPy expression in them
    efforts : w* of the matched arms, in their order; or of the arm with number `index`
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    domain: ClassVar[str]
    symbols: ClassVar[tuple[Any, ...]]
    formula: ClassVar[Any]
    efforts: ClassVar[Any]

    @abstractmethod
    def match(self, compared: ComparedPairs) -> Match | None:
        """The values of the symbols, or None where the formula does not hold."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        """A random instance from anywhere in the domain."""

    def applies(self, model: BanditModel, task: Task | str) -> bool:
        """Whether the formula holds for this model and task; it does not where T* is infinite."""
        compared = compare(model, read_task(task, model), exact=False)
        return compared is not None and self.match(compared) is not None

    def characteristic_time(self, model: BanditModel, task: Task | str) -> float:
        """T* of the model's doubles, rounded once."""
        (value,) = self.evaluate(model, task, DOUBLE_DIGITS, self.time, exact=False)
        return float(value)

    def decimal_time(self, model: BanditModel, task: Task | str, digits: int = 50, *, exact: bool = True) -> Decimal:
        """T* to so many digits, of the numbers as they were given, or of the doubles that stand for them."""
        (value,) = self.evaluate(model, task, digits, self.time, exact)
        return as_decimal(value, digits)

    def effort(self, model: BanditModel, task: Task | str) -> Array:
        """w* of every arm of the model, scaled so that c . w* = T*; zero for arms that are free or not compared."""
        match = self.require_match(model, task, exact=False)
        effort = np.zeros(len(model.means))
        effort[list(match.arms)] = [
            float(value) for value in self.evaluate(model, task, DOUBLE_DIGITS, self.effort_of, exact=False)
        ]
        return effort

    def sampling_proportions(self, model: BanditModel, task: Task | str) -> Array:
        """u*: the share of the pulls of costly arms that goes to each arm; all zero when T* is zero."""
        return normalise(self.effort(model, task))

    def require_match(self, model: BanditModel, task: Task | str, exact: bool) -> Match:
        """How the form reads the model; `InputError` where it does not apply."""
        compared = compare(model, read_task(task, model), exact)
        match = None if compared is None else self.match(compared)
        if match is None:
            raise InputError(f"closed form {self.name!r} does not apply to this model; it holds for {self.domain}")
        return match

    def evaluate(
        self,
        model: BanditModel,
        task: Task | str,
        digits: int,
        function: Callable[[Match, type[Family]], Sequence[Any]],
        exact: bool,
    ) -> list[Any]:
        """Numbers of the form to so many digits."""
        match, family = self.require_match(model, task, exact), type(model.family)
        return compute_to(digits, lambda: function(match, family))

    def time(self, match: Match, family: type[Family]) -> Sequence[Any]:
        """T* at the working precision, as a sequence of one number."""
        return [self._compile(family)[0](*as_mpf(match.values))]

    def effort_of(self, match: Match, family: type[Family]) -> Sequence[Any]:
        """w* of each matched arm at the working precision."""
        values, effort = as_mpf(match.values), self._compile(family)[1]
        if isinstance(self.efforts, tuple):
            return list(effort(0, *values))
        return [effort(position, *values) for position in range(len(match.arms))]

    @classmethod
    @cache
    def _compile(cls, family: type[Family]) -> tuple[Any, Any]:
        """The formulas of T* and of the efforts as functions of multiple-precision numbers."""
        modules = [{"d": unit_divergence(family)}, "mpmath"]
        efforts = sympy.lambdify((index, *cls.symbols), cls.efforts, modules)
        return sympy.lambdify(cls.symbols, cls.formula, modules), efforts

    def __repr__(self) -> str:
        return f"<closed form {self.name}>"


def compute_to(digits: int, compute: Callable[[], Sequence[Any]]) -> list[Any]:
    """Numbers to so many significant digits: computed again at twice the precision until they agree.

    Where the working precision is too low to tell two inputs apart, a division by zero counts as no numbers at all.
    """
    precision, values = 0, list[Any]()
    for doubling in range(DOUBLINGS + 1):
        precision = (digits + 10) * 2**doubling
        with mp.workdps(precision):
            before = values
            try:
                values = list(compute())
            except ZeroDivisionError:
                values = []
            unit = mpf(10) ** -(digits + 2)
            if len(before) == len(values) > 0 and all(
                abs(old - new) <= unit * abs(new) for old, new in zip(before, values, strict=True)
            ):
                return values
    raise SolverError(f"the closed form does not settle at {precision} digits; its inputs are too extreme")


def as_mpf(value: Any) -> Any:
    """A fraction, or a sequence of them, at the present working precision; whole numbers stay as they are."""
    if isinstance(value, tuple):
        return tuple(map(as_mpf, value))
    return mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def as_fraction(value: Any) -> Fraction:
    """The exact value of a binary floating-point number of any precision."""
    sign, mantissa, exponent, _ = value._mpf_
    number = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -number if sign else number


def as_decimal(value: Any, digits: int) -> Decimal:
    """The number to so many significant decimal digits."""
    exact = as_fraction(value)
    return Context(prec=digits).divide(Decimal(exact.numerator), Decimal(exact.denominator))


def unit_divergence(family: type[Family]) -> Callable[[Any, Any], Any]:
    """d(x, y) of the family at unit dispersion and at the working precision; infinite for y on the boundary."""
    low, high = family.mean_space.low, family.mean_space.high

    def divergence(x: Any, y: Any) -> Any:
        return family.algebraic_divergence(x, y, log_or_zero) if low < y < high else inf

    return divergence


def log_or_zero(x: Any) -> Any:
    """log(x), and zero at zero, because divergences contain ``x log(x)`` only."""
    return log(x) if x else mpf(0)
