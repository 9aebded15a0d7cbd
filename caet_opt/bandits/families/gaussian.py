"""Gaussian rewards with known variances."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.bandits.families.base import Family, MeanSpace, positive_numbers, read_decimals
from caet_opt.bandits.families.martingales import gaussian_log_martingale, gaussian_log_martingale_floor
from caet_opt.bandits.families.numerics import Array
from caet_opt.common.exact import Number, decimal_text, exact
from caet_opt.errors import InputError

#: More variances than these are not written one by one in a sentence.
MOST_WRITTEN = 6


class Gaussian(Family):
    """``d(x, y) = (x - y)^2 / (2 variance)``; one variance for all arms, or one per arm; 1 by default.

    >>> print(Gaussian().divergence(3.0, 1.0))
    2.0
    >>> BanditModel(Gaussian([1, 4]), [2, 1], costs=[1, 1]).dispersions
    array([1., 4.])
    """

    name = "gaussian"
    mean_space = MeanSpace(-np.inf, np.inf)

    def __init__(self, variance: Number | Sequence[Number] | None = None) -> None:
        self._stated = variance is not None  # no part of equality: a Gaussian() is a Gaussian(1)
        given = 1.0 if variance is None else variance
        self._given = tuple(given) if isinstance(given, Iterable) else (given,)
        self.variances = positive_numbers(self._given, "variances")

    divergence_error = 11.0

    log_martingale = staticmethod(gaussian_log_martingale)
    log_martingale_floor = staticmethod(gaussian_log_martingale_floor)

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
        """``(y - x)^2 / 2``. In a mixture it is within 11: twice the 5 of ``m - x``, and 1."""
        return 0.5 * difference * difference

    @staticmethod
    def unit_variance(mean: Any) -> Any:
        return 0.0 * mean + 1.0

    @staticmethod
    def natural_parameter(mean: Any) -> Any:
        return mean

    @staticmethod
    def conic_coefficients(mean: Array, centre: Array) -> Sequence[ArrayLike]:
        return mean - centre, np.ones_like(mean)

    @staticmethod
    def conic_constraints(bound: Any, *forms: Any) -> list[Any]:
        import cvxpy as cp

        deviation, total = forms
        return [cp.SOC(bound + total, cp.vstack([np.sqrt(2.0) * deviation, bound - total]))]

    @staticmethod
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> Any:
        return (x - y) ** 2 / 2

    def sample(
        self, rng: np.random.Generator, mean: float | Array, dispersion: float | Array = 1.0, size: int | None = None
    ) -> Any:
        return rng.normal(mean, np.sqrt(dispersion), size)

    def dispersions(self, arms: int) -> Array:
        self._check_count(arms)
        return np.array(self.variances) if len(self.variances) > 1 else np.full(arms, self.variances[0])

    @cached_property
    def _exact_variances(self) -> tuple[Fraction, ...]:
        """The variances as they were given."""
        return tuple(map(exact, self._given))

    def exact_dispersions(self, arms: int) -> tuple[Fraction, ...]:
        self._check_count(arms)
        return self._exact_variances if len(self._given) > 1 else self._exact_variances * arms

    def describe_assumption(self) -> str:
        """With the variances, up to `MOST_WRITTEN` of them one by one.

        >>> Gaussian().describe_assumption(), Gaussian([1, 4]).describe_assumption()
        ('independent Gaussian rewards of variance 1', 'independent Gaussian rewards of variances 1 and 4 by arm')
        """
        rewards = super().describe_assumption()
        if len(set(self._exact_variances)) == 1:
            return f"{rewards} of variance {decimal_text(self._exact_variances[0])}"
        if len(self._given) > MOST_WRITTEN:
            ends = map(decimal_text, (min(self._exact_variances), max(self._exact_variances)))
            return f"{rewards} of variances from {' to '.join(ends)} by arm"
        *others, last = map(decimal_text, self._exact_variances)
        return f"{rewards} of variances {', '.join(others)} and {last} by arm"

    def unstated(self) -> str | None:
        if self._stated:
            return None
        return (
            "family 'gaussian' needs its variance here, since the guarantee holds for no larger one: gaussian:VAR, "
            "for example gaussian:4, or one per arm, gaussian:1,4; gaussian:1 where it is known to be 1"
        )

    def _check_count(self, arms: int) -> None:
        if len(self.variances) not in (1, arms):
            raise InputError(f"{len(self.variances)} variances for {arms} arms; give one, or one per arm")

    @classmethod
    def parse(cls, argument: str | None) -> "Gaussian":
        return cls() if argument is None else cls(read_decimals(argument, "variances"))

    @cached_property
    def _text(self) -> str:
        return ",".join(map(decimal_text, self._exact_variances))

    def __str__(self) -> str:
        return self.name if self._text == "1" else f"{self.name}:{self._text}"

    def __repr__(self) -> str:
        return f"Gaussian({self.variances[0] if len(self.variances) == 1 else list(self.variances)})"
