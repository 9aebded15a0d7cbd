"""Geometric rewards: failures before the first success, 0, 1, 2, ..., with mean (1 - p) / p."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.bandits.families.base import Family, MeanSpace
from caet_opt.bandits.families.martingales import geometric_log_martingale, geometric_log_martingale_floor
from caet_opt.bandits.families.numerics import Array, kl_div, slope


class Geometric(Family):
    """``d(x, y) = x log(x / y) - (1 + x) log((1 + x) / (1 + y))``.

    >>> print(round(Geometric().divergence(2.0, 1.0), 6))
    0.169899
    """

    name = "geometric"
    mean_space = MeanSpace(0.0, np.inf, low_included=True)
    counts = True

    divergence_error = 42.0

    log_martingale = staticmethod(geometric_log_martingale)
    log_martingale_floor = staticmethod(geometric_log_martingale_floor)

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
        """``kl_div(1, (1 + x) / (1 + y)) + kl_div(x, y (1 + x) / (1 + y))``: 1 + x times the Bernoulli divergence of
        the success probabilities, a sum without cancellation. In a mixture it is within 42.

        1 + x is within 2 and 1 + y within 5. First: X = 0, Y = 8, H = 11, S = 12: 34 and 33.6 in the series, 35.2 and
        30.8 elsewhere. Second: X = 1, Y = 9 (y / (1 + y) is within 5), H = 11, S = 14: 37.2, 37.5, 40.6 and 33. The sum
        adds 1.
        """
        trials_x, trials_y = 1.0 + x, 1.0 + y
        step = difference / trials_y
        return kl_div(1.0, trials_x / trials_y, -step, slope(-difference, trials_x + trials_y)) + kl_div(
            x, y * trials_x / trials_y, step, slope(difference, x * trials_y + y * trials_x)
        )

    @staticmethod
    def unit_variance(mean: Any) -> Any:
        return mean * (1.0 + mean)

    @staticmethod
    def natural_parameter(mean: Any) -> Any:
        return np.log(mean) - np.log1p(mean)

    @staticmethod
    def conic_coefficients(mean: Array, centre: Array) -> Sequence[ArrayLike]:
        success = 1.0 / (1.0 + centre)
        return mean, (1.0 + mean) * centre * success, np.ones_like(mean), (1.0 + mean) * success

    @staticmethod
    def conic_constraints(bound: Any, *forms: Any) -> list[Any]:
        import cvxpy as cp

        failures, expected_failures, successes, expected_successes = forms
        return [cp.kl_div(failures, expected_failures) + cp.kl_div(successes, expected_successes) <= bound]

    @staticmethod
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> Any:
        return x * log(x / y) - (1 + x) * log((1 + x) / (1 + y))

    def sample(
        self,
        rng: np.random.Generator,
        mean: float | Array,
        dispersion: float | Array = 1.0,
        size: int | None = None,
    ) -> Any:
        return np.asarray(rng.geometric(1.0 / (1.0 + np.asarray(mean)), size) - 1.0, dtype=float)[()]

    largest_drawn = 1e16  # numpy draws them as 64-bit integers, and cuts off what is larger
