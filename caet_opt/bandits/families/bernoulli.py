"""Bernoulli rewards."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.bandits.families.base import Family, MeanSpace
from caet_opt.bandits.families.martingales import bernoulli_log_martingale, bernoulli_log_martingale_floor
from caet_opt.bandits.families.numerics import Array, kl_div, slope


class Bernoulli(Family):
    """``d(x, y) = x log(x / y) + (1 - x) log((1 - x) / (1 - y))``.

    >>> print(round(Bernoulli().divergence(0.5, 0.25), 6))
    0.143841
    """

    name = "bernoulli"
    mean_space = MeanSpace(0.0, 1.0, low_included=True, high_included=True)
    counts = True

    divergence_error = 32.0

    log_martingale = staticmethod(bernoulli_log_martingale)
    log_martingale_floor = staticmethod(bernoulli_log_martingale_floor)

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
        failures, others = 1.0 - x, 1.0 - y
        return kl_div(x, y, difference, slope(difference, x + y)) + kl_div(
            failures, others, -difference, slope(-difference, failures + others)
        )

    @classmethod
    def mixture_divergence(
        cls, x: Any, other: Any, share: Any, other_share: Any, rest: Any = 0.0, other_rest: Any = 0.0
    ) -> Any:
        """``kl_div(x, m) + kl_div(1 - x, 1 - m)``, with 1 - m mixed from 1 - x and 1 - other; within 32.

        The first is Poisson's, within 26. In the second, ``1 - x`` with its rest is within X = 2, ``1 - m`` within
        Y = 5, ``m - x`` within H = 5, and s within S = 11.4 (s > 0) or 9.6: 26.6 and 25.6 in the series, 30.8 and 20.3
        elsewhere. Their sum adds 1.
        """
        step = other_share * ((other - x) + (other_rest - rest))
        middle = share * x + other_share * other
        failures = (1.0 - x) - rest
        others = share * failures + other_share * ((1.0 - other) - other_rest)
        return kl_div(x, middle, step, slope(step, x + middle)) + kl_div(
            failures, others, -step, slope(-step, failures + others)
        )

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
