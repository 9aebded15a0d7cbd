"""Bernoulli rewards."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.families.base import Family, MeanSpace
from caet_opt.families.numerics import Array, kl_div


class Bernoulli(Family):
    """``d(x, y) = x log(x / y) + (1 - x) log((1 - x) / (1 - y))``."""

    name = "bernoulli"
    mean_space = MeanSpace(0.0, 1.0, low_included=True, high_included=True)
    counts = True

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
        return kl_div(x, y, difference) + kl_div(1.0 - x, 1.0 - y, -difference)

    @classmethod
    def mixture_divergence(cls, x: Any, other: Any, share: Any, other_share: Any) -> Any:
        step = other_share * (other - x)
        failures = share * (1.0 - x) + other_share * (1.0 - other)
        return kl_div(x, share * x + other_share * other, step) + kl_div(1.0 - x, failures, -step)

    @staticmethod
    def unit_variance(mean: Any) -> Any:
        return mean * (1.0 - mean)

    @staticmethod
    def natural_parameter(mean: Any) -> Any:
        return np.log(mean) - np.log1p(-mean)

    @staticmethod
    def conic_coefficients(mean: Array, centre: Array) -> Sequence[ArrayLike]:
        return mean, centre, 1.0 - mean, 1.0 - centre

    @staticmethod
    def conic_constraints(bound: Any, *forms: Any) -> list[Any]:
        import cvxpy as cp

        successes, expected_successes, failures, expected_failures = forms
        return [cp.kl_div(successes, expected_successes) + cp.kl_div(failures, expected_failures) <= bound]

    @staticmethod
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> Any:
        return x * log(x / y) + (1 - x) * log((1 - x) / (1 - y))

    def sample(
        self,
        rng: np.random.Generator,
        mean: float | Array,
        dispersion: float | Array = 1.0,
        size: int | None = None,
    ) -> Any:
        return np.asarray(rng.random(size if size is not None else np.shape(mean)) < mean, dtype=float)[()]
