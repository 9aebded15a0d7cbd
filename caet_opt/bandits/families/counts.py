"""Rewards that count: Bernoulli, Poisson, and geometric ones."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.bandits.families import martingales
from caet_opt.bandits.families.base import Family, MeanSpace, relative_entropies
from caet_opt.bandits.families.numerics import Array, kl_div, slope
from caet_opt.errors import InputError


class Bernoulli(Family):
    """``d(x, y) = x log(x / y) + (1 - x) log((1 - x) / (1 - y))``.

    With ``fractions``, rewards are any numbers v in [0, 1], such as scores, and the e-process stays valid. Its
    factor at a mean p of the prior and a mean x of the boundary is ``(p / x)^v ((1 - p) / (1 - x))^(1 - v)``, convex in
    v, hence at most the chord ``v p / x + (1 - v) (1 - p) / (1 - x)``. The expectation of the chord for rewards of mean
    m, whatever their distribution, is ``1 + (m - x) (p - x) / (x (1 - x))``: at most 1 where m and p are not on the
    same side of x, as they are not under the hypothesis. So products of such factors are supermartingales, and so are
    their averages over p. T* and what follows from it remain those of rewards 0 and 1 with these means, which for
    scores that spread less is more than would be needed.

    >>> print(round(Bernoulli().divergence(0.5, 0.25), 6))
    0.143841
    >>> Bernoulli().with_fractions().count_reward(0.7)
    0.7
    """

    name = "bernoulli"
    mean_space = MeanSpace(0.0, 1.0, low_included=True, high_included=True)
    counts = True
    fractions: bool = False
    divergence_error = 32.0
    log_martingale = staticmethod(martingales.bernoulli_log_martingale)
    log_martingale_floor = staticmethod(martingales.bernoulli_log_martingale_floor)
    conic_constraints = staticmethod(relative_entropies)

    def with_fractions(self) -> "Bernoulli":
        taking = Bernoulli()
        taking.counts, taking.fractions = False, True  # type: ignore[misc]  # of this one alone
        return taking

    def count_reward(self, reward: float) -> float:
        if not self.fractions and 0.0 < reward < 1.0:
            raise InputError(
                f"reward {reward:g} is outside the bernoulli family, whose rewards are 0 and 1; to take any number "
                "between them, start with family bounded:0,1, or with fractions (--fractions)"
            )
        return super().count_reward(reward)

    def describe_assumption(self) -> str:
        return "independent rewards in [0, 1] of any distribution" if self.fractions else super().describe_assumption()

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
        """``kl_div(x, m) + kl_div(1 - x, 1 - m)``, with 1 - m mixed from 1 - x and 1 - other."""
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
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> Any:
        return x * log(x / y) + (1 - x) * log((1 - x) / (1 - y))

    def sample(
        self, rng: np.random.Generator, mean: float | Array, dispersion: float | Array = 1.0, size: int | None = None
    ) -> Any:
        return np.asarray(rng.random(size if size is not None else np.shape(mean)) < mean, dtype=float)[()]


class Poisson(Family):
    """``d(x, y) = x log(x / y) - x + y``.

    >>> print(round(Poisson().divergence(2.0, 1.0), 6))
    0.386294
    """

    name = "poisson"
    mean_space = MeanSpace(0.0, np.inf, low_included=True)
    counts = True
    has_ratios = True
    largest_drawn = 1e18  # numpy draws them as 64-bit integers
    divergence_error = 26.0
    log_martingale = staticmethod(martingales.poisson_log_martingale)
    log_martingale_floor = staticmethod(martingales.poisson_log_martingale_floor)
    conic_constraints = staticmethod(relative_entropies)

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
        """``kl_div(x, y)``."""
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
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> Any:
        return x * log(x / y) - x + y

    def sample(
        self, rng: np.random.Generator, mean: float | Array, dispersion: float | Array = 1.0, size: int | None = None
    ) -> Any:
        return np.asarray(rng.poisson(mean, size), dtype=np.float64)[()]


class Geometric(Family):
    """``d(x, y) = x log(x / y) - (1 + x) log((1 + x) / (1 + y))``.

    Failures before the first success, 0, 1, 2, ..., with mean (1 - p) / p.

    >>> print(round(Geometric().divergence(2.0, 1.0), 6))
    0.169899
    """

    name = "geometric"
    mean_space = MeanSpace(0.0, np.inf, low_included=True)
    counts = True
    largest_drawn = 1e16  # numpy draws them as 64-bit integers, and cuts off what is larger
    divergence_error = 42.0
    log_martingale = staticmethod(martingales.geometric_log_martingale)
    log_martingale_floor = staticmethod(martingales.geometric_log_martingale_floor)
    conic_constraints = staticmethod(relative_entropies)

    @staticmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
        """``kl_div(1, (1 + x) / (1 + y)) + kl_div(x, y (1 + x) / (1 + y))``: 1 + x times the Bernoulli divergence of
        the success probabilities, a sum without cancellation."""
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
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> Any:
        return x * log(x / y) - (1 + x) * log((1 + x) / (1 + y))

    def sample(
        self, rng: np.random.Generator, mean: float | Array, dispersion: float | Array = 1.0, size: int | None = None
    ) -> Any:
        return np.asarray(rng.geometric(1.0 / (1.0 + np.asarray(mean)), size) - 1.0, dtype=float)[()]
