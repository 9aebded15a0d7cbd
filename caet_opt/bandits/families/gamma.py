"""Gamma rewards of known shape, and the exponential, which is the gamma of shape one."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.bandits.families.base import Family, MeanSpace, positive_numbers, read_decimals, relative_entropies
from caet_opt.bandits.families.martingales import exponential_log_martingale, exponential_log_martingale_floor
from caet_opt.bandits.families.numerics import Array, kl_div, slope
from caet_opt.common.exact import Number, decimal_text, exact
from caet_opt.errors import InputError


class Exponential(Family):
    """``d(x, y) = x / y - 1 - log(x / y)``.

    >>> print(round(Exponential().divergence(2.0, 1.0), 6))
    0.306853
    """

    name = "exponential"
    mean_space = MeanSpace(0.0, np.inf)
    has_ratios = True
    divergence_error = 31.0
    log_martingale = staticmethod(exponential_log_martingale)
    log_martingale_floor = staticmethod(exponential_log_martingale_floor)
    conic_constraints = staticmethod(relative_entropies)

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
        """``kl_div(1, x / y)``."""
        return kl_div(1.0, x / y, -difference / y, slope(-difference, x + y))

    @staticmethod
    def unit_variance(mean: Any) -> Any:
        return mean * mean

    @staticmethod
    def natural_parameter(mean: Any) -> Any:
        return -1.0 / mean

    @staticmethod
    def conic_coefficients(mean: Array, centre: Array) -> Sequence[ArrayLike]:
        return np.ones_like(mean), mean / centre

    @staticmethod
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> Any:
        return x / y - 1 - log(x / y)

    def sample(
        self, rng: np.random.Generator, mean: float | Array, dispersion: float | Array = 1.0, size: int | None = None
    ) -> Any:
        shape = 1.0 / np.asarray(dispersion, dtype=float)
        return rng.gamma(shape, np.asarray(mean, dtype=float) / shape, size)

    #: The least mean and shape whose rewards do not underflow to zero; of shape 0.05, one in 10^16 does.
    smallest_drawn, smallest_shape = 1e-290, 0.05

    def check_drawing(self, means: Sequence[float]) -> None:
        super().check_drawing(means)
        if min(means) < self.smallest_drawn:
            raise InputError(
                f"mean {min(means):g} is too small to draw {self.name} rewards, whose means can be as small as "
                f"{self.smallest_drawn:g}; rescale the means"
            )
        shape = 1.0 / self.dispersions(1)[0]
        if shape < self.smallest_shape:
            raise InputError(f"{self.name} rewards can be drawn for shapes from {self.smallest_shape:g}, got {shape:g}")


class Gamma(Exponential):
    """``d(x, y) = shape (x / y - 1 - log(x / y))``: the exponential with dispersion 1 / shape.

    >>> BanditModel(Gamma(2.5), [2, 1], costs=[1, 1]).dispersions
    array([0.4, 0.4])
    """

    name = "gamma"

    def __init__(self, shape: Number) -> None:
        self._given = shape
        (self.shape,) = positive_numbers([shape], "the shape of a gamma family")
        positive_numbers([1.0 / self.shape], "the inverse of the shape of a gamma family")

    def dispersions(self, arms: int) -> Array:
        return np.full(arms, 1.0 / self.shape)

    def exact_dispersions(self, arms: int) -> tuple[Fraction, ...]:
        return (1 / exact(self._given),) * arms

    def describe_assumption(self) -> str:
        return f"{super().describe_assumption()} of shape {self._text}"

    @classmethod
    def parse(cls, argument: str | None) -> "Gamma":
        if argument is None:
            raise InputError("family 'gamma' needs its shape: gamma:SHAPE, for example gamma:2.5")
        numbers = read_decimals(argument, "the shape of a gamma family")
        if len(numbers) != 1:
            raise InputError(f"family 'gamma' takes one shape, got {argument!r}")
        return cls(numbers[0])

    @cached_property
    def _text(self) -> str:
        return decimal_text(exact(self._given))

    def __str__(self) -> str:
        return f"{self.name}:{self._text}"

    def __repr__(self) -> str:
        return f"Gamma({self.shape})"
