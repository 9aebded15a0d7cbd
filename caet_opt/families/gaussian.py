"""Gaussian rewards with known variances."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.errors import InputError
from caet_opt.families.base import Family, MeanSpace, positive_numbers
from caet_opt.families.numerics import Array


class Gaussian(Family):
    """``d(x, y) = (x - y)^2 / (2 variance)``; one variance for all arms, or one per arm."""

    name = "gaussian"
    mean_space = MeanSpace(-np.inf, np.inf)

    def __init__(self, variance: float | Sequence[float] = 1.0) -> None:
        values = [variance] if isinstance(variance, int | float) else list(variance)
        self.variances = tuple(positive_numbers(",".join(repr(float(v)) for v in values), "variances"))

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
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
        if len(self.variances) == 1:
            return np.full(arms, self.variances[0])
        if len(self.variances) != arms:
            raise InputError(f"{len(self.variances)} variances for {arms} arms; give one, or one per arm")
        return np.array(self.variances)

    @classmethod
    def parse(cls, argument: str | None) -> "Gaussian":
        return cls() if argument is None else cls(positive_numbers(argument, "variances"))

    def __str__(self) -> str:
        if self.variances == (1.0,):
            return self.name
        return f"{self.name}:{','.join(format(v, '.17g') for v in self.variances)}"

    def __repr__(self) -> str:
        return f"Gaussian({self.variances[0] if len(self.variances) == 1 else list(self.variances)})"
