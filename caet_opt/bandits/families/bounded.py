"""Rewards in a range, of any distribution: scores, stars, shares, latencies with a time limit."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.bandits.families.base import Family, MeanSpace, read_decimals
from caet_opt.bandits.families.numerics import UNIT, Array
from caet_opt.common.checks import show_value
from caet_opt.common.exact import brief, exact, fits_double, read_decimal
from caet_opt.errors import InputError

#: An average of rewards may be beyond the range by this part of its larger end: each reward is rounded, and so are the
#: sum and the quotient (docs/mathematics/e_process.md).
AVERAGED = 8.0 * UNIT

#: Equal steps between the levels on which rewards are counted, unless another number is asked for, and at most.
DEFAULT_STEPS, MOST_STEPS = 20, 1000


class Bounded(Family):
    """``D(x) = max over 0 <= l <= 1 / (high - x) of E log(1 - l (X - x))``, KL_inf of Honda and Takemura, to a mean x
    above that of a reward X in [low, high]; below it by mirror.

    It is the least divergence from the distribution of X to one in the range of mean x, so that T* and what follows
    from it hold for all distributions in the range. A mean alone does not determine it: a model of this family has
    levels and probabilities, or samples. While an experiment runs, rewards are counted on ``steps + 1`` equally spaced
    levels, or on levels that are listed from the low end to the high one; a reward between two levels counts in part on
    each.

    >>> Bounded(0, 30), Bounded(0, 1, steps=4).levels
    (Bounded(0, 30), array([0.  , 0.25, 0.5 , 0.75, 1.  ]))
    >>> parse_family("bounded:1/2/3/5").levels
    array([1., 2., 3., 5.])
    """

    name = "bounded"
    mean_space = MeanSpace(-np.inf, np.inf)  # of the class; a family has its own
    divergence_error = 8.0

    def __init__(
        self,
        low: float | Decimal,
        high: float | Decimal,
        steps: int = DEFAULT_STEPS,
        *,
        levels: Sequence[float | Decimal] = (),
    ) -> None:
        for end, what in ((low, "low end"), (high, "high end")):
            if isinstance(end, bool) or not isinstance(end, int | float | Decimal) or not fits_double(end):
                raise InputError(
                    f"the {what} of a range must be a finite number that fits double precision, got {show_value(end)}"
                )
        if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
            raise InputError(f"the steps of a range must be a whole number from 1 to {MOST_STEPS}, got {steps!r}")
        self.ends, self.steps = (exact(low), exact(high)), steps
        if not (self.ends[0] < self.ends[1] and max(map(abs, self.ends)) <= 1e100):
            raise InputError(f"a range needs a low end below its high end, each up to 1e100, got {low} and {high}")
        if float(self.ends[1] - self.ends[0]) < max(1e-12 * max(map(abs, map(float, self.ends))), 1e-100):
            raise InputError(f"the range from {low} to {high} is too narrow for double precision; use differences")
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise InputError(f"levels of a range must be a list of numbers, got {show_value(levels)}")
        levels = tuple(levels)
        self.listed = read_levels(levels, *self.ends) if levels else ()
        self._text = ("/" if levels else ",").join(f"{Decimal(str(number)):f}" for number in levels or (low, high))
        vars(self)["mean_space"] = MeanSpace(float(self.ends[0]), float(self.ends[1]), True, True)

    @classmethod
    def parse(cls, argument: str | None) -> "Bounded":
        if argument is None:
            raise InputError("family 'bounded' needs its range, bounded:LO,HI or bounded:LO,HI,STEPS, as bounded:0,1")
        if "/" in argument:
            try:
                listed = [read_decimal(part.strip(" ")) for part in argument.split("/")]
            except ValueError as error:
                raise InputError(
                    f"listed levels of family 'bounded' must be numbers separated by slashes, LO/LEVEL/HI, got "
                    f"{brief(argument)!r}: {error}"
                ) from None
            return cls(listed[0], listed[-1], levels=listed)
        numbers = read_decimals(argument, "the range of family 'bounded'")
        if len(numbers) not in (2, 3) or (len(numbers) == 3 and numbers[2] % 1 != 0):
            raise InputError(
                "family 'bounded' has the form bounded:LO,HI or bounded:LO,HI,STEPS, or with listed levels "
                f"bounded:LO/LEVEL/HI, got {argument!r}"
            )
        return cls(numbers[0], numbers[1], int(numbers[2]) if len(numbers) == 3 else DEFAULT_STEPS)

    @cached_property
    def exact_levels(self) -> tuple[Fraction, ...]:
        """The levels on which rewards are counted, as exact numbers."""
        if self.listed:
            return self.listed
        low, high = self.ends
        return tuple(low + (high - low) * k / self.steps for k in range(self.steps + 1))

    @cached_property
    def end_rests(self) -> tuple[float, float]:
        """What rounding to a double took from the ends."""
        low, high = self.ends
        return float(low - Fraction(float(low))), float(high - Fraction(float(high)))

    @property
    def exact_ends(self) -> tuple[Fraction, Fraction]:
        return self.ends

    def has_average(self, mean: float) -> bool:
        low, high = self.mean_space.low, self.mean_space.high
        blur = AVERAGED * max(abs(low), abs(high))
        return low - blur <= mean <= high + blur

    @property
    def levels(self) -> Array:
        """The levels on which rewards are counted."""
        return np.array(list(map(float, self.exact_levels)))

    @cached_property
    def places(self) -> tuple[float, ...]:
        """The levels in units of the range."""
        low, high = self.ends
        return tuple(float((level - low) / (high - low)) for level in self.exact_levels)

    @classmethod
    def has_martingale(cls) -> bool:
        """Capital from betting is one, `caet_opt.kernels.betting`, though no function of the mean."""
        return True

    def describe_assumption(self) -> str:
        return f"independent rewards in {self.mean_space} of any distribution"

    @property
    def bound_scope(self) -> str:
        return f" with this guarantee for all distributions in {self.mean_space}"

    def __str__(self) -> str:
        return f"{self.name}:{self._text}" + ("" if self.steps == DEFAULT_STEPS else f",{self.steps}")

    def __repr__(self) -> str:
        if self.listed:
            levels = self._text.split("/")
            return f"{type(self).__name__}({levels[0]}, {levels[-1]}, levels=[{', '.join(levels)}])"
        steps = "" if self.steps == DEFAULT_STEPS else f", steps={self.steps}"
        return f"{type(self).__name__}({self._text.replace(',', ', ')}{steps})"

    def sample(
        self, rng: np.random.Generator, mean: float | Array, dispersion: float | Array = 1.0, size: int | None = None
    ) -> NoReturn:
        raise InputError(f"rewards of family {self} are drawn from a distribution, which a mean alone does not give")

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> NoReturn:
        raise InputError(NO_FORMULA)

    @staticmethod
    def unit_variance(mean: Any) -> Any:
        """Unknown from the mean: not a number."""
        return np.full(np.shape(mean), np.nan)[()]

    @staticmethod
    def natural_parameter(mean: Any) -> NoReturn:
        raise InputError(NO_FORMULA)

    @staticmethod
    def conic_coefficients(mean: Array, centre: Array) -> Sequence[ArrayLike]:
        raise InputError(NO_FORMULA)

    @staticmethod
    def conic_constraints(bound: Any, *forms: Any) -> list[Any]:
        raise InputError(NO_FORMULA)

    @staticmethod
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> NoReturn:
        raise InputError(NO_FORMULA)


def read_levels(levels: Sequence[float | Decimal], low: Fraction, high: Fraction) -> tuple[Fraction, ...]:
    """Listed levels as exact numbers; `InputError` unless they ascend from the low end to the high one."""
    for level in levels:
        if not isinstance(level, int | float | Decimal) or not fits_double(level):
            raise InputError(
                f"levels of a range must be finite numbers that fit double precision, got {show_value(level)}"
            )
    found = tuple(map(exact, levels))
    ascending = all(one < other for one, other in pairwise(found))
    if not ascending or (found[0], found[-1]) != (low, high) or len(found) > MOST_STEPS + 1:
        raise InputError(
            f"listed levels must ascend from the low end of the range to its high end, {MOST_STEPS + 1} at most, got "
            + ", ".join(f"{float(level):g}" for level in found[:10])
        )
    return found


#: What is said where a formula in means is asked for.
NO_FORMULA = (
    "rewards in a range have no formula in their means alone; T* is certified by the solvers native, ipopt and clarabel"
)
