"""Poisson rewards."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.bandits.families.base import Family, MeanSpace
from caet_opt.bandits.families.martingales import poisson_log_martingale, poisson_log_martingale_floor
from caet_opt.bandits.families.numerics import Array, kl_div, slope


class Poisson(Family):
    """``d(x, y) = x log(x / y) - x + y``.

    >>> print(round(Poisson().divergence(2.0, 1.0), 6))
    0.386294
    """

    name = "poisson"
    mean_space = MeanSpace(0.0, np.inf, low_included=True)
    counts = True

    divergence_error = 26.0

    log_martingale = staticmethod(poisson_log_martingale)
    log_martingale_floor = staticmethod(poisson_log_martingale_floor)

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
        """``kl_div(x, y)``. In a mixture it is within 26: X = 1, Y = 4, H = 5, and s is within S = 10.4 (s > 0) or 8.6,
        so that the series is within 24.9 and 23.5, the direct form within 25.4 and 18.1."""
        return kl_div(x, y, difference, slope(difference, x + y))

    @staticmethod
    def unit_variance(mean: Any) -> Any:
        return mean

    @staticmethod
    def natural_parameter(mean: Any) -> Any:
        return np.log(mean)

    @staticmethod
    def conic_coefficients(mean: Array, centre: Array) -> Sequence[ArrayLike]:
        return mean, centre

    @staticmethod
    def conic_constraints(bound: Any, *forms: Any) -> list[Any]:
        import cvxpy as cp

        events, expected_events = forms
        return [cp.kl_div(events, expected_events) <= bound]

    @staticmethod
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> Any:
        return x * log(x / y) - x + y

    def sample(
        self,
        rng: np.random.Generator,
        mean: float | Array,
        dispersion: float | Array = 1.0,
        size: int | None = None,
    ) -> Any:
        return np.asarray(rng.poisson(mean, size), dtype=np.float64)[()]

    largest_drawn = 1e18  # numpy draws them as 64-bit integers
