"""What a reward family must supply. A new family is one subclass of `Family`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from sys import float_info
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from caet_opt.bandits.families.martingales import FAR
from caet_opt.bandits.families.numerics import Array
from caet_opt.common.exact import brief, exact, read_decimal
from caet_opt.errors import InputError

#: Families whose name is a person's.
NAMED_AFTER = {"gaussian": "Gaussian", "bernoulli": "Bernoulli", "poisson": "Poisson"}


class MeanSpace(NamedTuple):
    """The interval of admissible means, with its ends included or not.

    >>> print(Bernoulli.mean_space)
    [0, 1]
    >>> 1.5 in Bernoulli.mean_space
    False
    """

    low: float
    high: float
    low_included: bool = False
    high_included: bool = False

    def __contains__(self, mean: object) -> bool:
        if not isinstance(mean, int | float):
            return False
        above = mean >= self.low if self.low_included else mean > self.low
        return above and (mean <= self.high if self.high_included else mean < self.high)

    def __str__(self) -> str:
        left, right = "[" if self.low_included else "(", "]" if self.high_included else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"


class Family(ABC):
    """A one-parameter exponential family, described by its mean.

    A subclass defines five elementwise formulas of the family with unit dispersion, and how to draw
    from it. Compiled code has its own scalar version of the shipped families' divergences
    (`caet_opt.kernels.term`); tests compare the two. Dispersion (a Gaussian's
    variance, the inverse of a gamma's shape) divides the divergence: an arm of dispersion phi is an arm of unit
    dispersion whose effort counts 1/phi, and every solver treats it so.

    >>> family = parse_family("gaussian:4")
    >>> isinstance(family, Family), family.unit_divergence(3.0, 1.0, -2.0), family.dispersions(2)
    (True, 2.0, array([4., 4.]))
    """

    name: ClassVar[str]
    mean_space: ClassVar[MeanSpace]
    counts: ClassVar[bool] = False  # whether rewards are whole numbers
    has_ratios: ClassVar[bool] = False  # whether statements of the form a > r b have a term of the same form as a > b

    #: Bound on the relative error of `mixture_divergence`, in units of 2^-53, by which certified intervals are widened.
    #: That of a shipped family is proven in docs/mathematics/certificate.md; for your own, state one, or trust 64.
    divergence_error: ClassVar[float] = 64.0

    @staticmethod
    @abstractmethod
    def unit_divergence(x: Any, y: Any, difference: Any) -> Any:
        """Kullback-Leibler divergence d(x, y) between means x and y, given ``difference = y - x``."""

    @staticmethod
    @abstractmethod
    def unit_variance(mean: Any) -> Any:
        """Variance function V(mean)."""

    @staticmethod
    @abstractmethod
    def natural_parameter(mean: Any) -> Any:
        """Natural parameter theta(mean), so that the derivative of d(x, y) in x is theta(x) - theta(y)."""

    @staticmethod
    @abstractmethod
    def conic_coefficients(mean: Array, centre: Array) -> Sequence[ArrayLike]:
        """Per unit of an arm's effort, its part in each linear form that `conic_constraints` takes."""

    @staticmethod
    @abstractmethod
    def conic_constraints(bound: Any, *forms: Any) -> list[Any]:
        """CVXPY constraints, elementwise: ``bound >= W d(s / W, centre)`` for total effort W and weighted sum s.

        Each of the ``forms`` is the sum over a pair's arms of effort times `conic_coefficients`. The pair term is
        then ``w_a d(mu_a, centre) + w_b d(mu_b, centre) - W d(s / W, centre)`` for any centre between the means.
        """

    @staticmethod
    @abstractmethod
    def algebraic_divergence(x: Any, y: Any, log: Callable[[Any], Any]) -> Any:
        """d(x, y) written with ``log`` and arithmetic only, for an algebraic modelling language and for proven digits.

        Numbers in the formula are taken as they are: write ``1 / 3`` of an argument as ``x / 3``, not ``0.333 * x``.
        """

    @abstractmethod
    def sample(
        self, rng: np.random.Generator, mean: float | Array, dispersion: float | Array = 1.0, size: int | None = None
    ) -> Any:
        """Draw rewards with the given mean and dispersion."""

    @classmethod
    def mixture_divergence(
        cls, x: Any, other: Any, share: Any, other_share: Any, rest: Any = 0.0, other_rest: Any = 0.0
    ) -> Any:
        """d(x, m) for the mixture ``m = share x + other_share other``, the shares summing to one.

        The means are ``x + rest`` and ``other + other_rest``, a rest being what rounding to a double took away. It
        matters to ``m - x`` only, unless the family has an upper boundary: such a family overrides this, as m alone
        does not say how far from the boundary m is.
        """
        difference = other_share * ((other - x) + (other_rest - rest))
        return cls.unit_divergence(x, share * x + other_share * other, difference)

    @property
    def exact_ends(self) -> tuple[Fraction | float, Fraction | float]:
        """The ends of the mean space as they were given."""
        return self.mean_space.low, self.mean_space.high

    def has_average(self, mean: float) -> bool:
        """Whether rewards of this family can have this average, up to rounding."""
        return mean in self.mean_space

    @staticmethod
    def log_martingale(weight: float, mean: float, rho: float, x: float, above: bool) -> float:
        """log M(x) for the e-process threshold, or a lower bound; see `caet_opt.bandits.families.martingales`.

        An arm of unit dispersion with ``weight`` observations of this mean; a prior worth ``rho`` observations, cut to
        means above x, or else below. With ``above`` M must fall in x, else rise. A family without it takes the mixture
        threshold.
        """
        raise NotImplementedError

    @staticmethod
    def log_martingale_floor(weight: float, mean: float, rho: float, above: bool) -> float:
        """A lower bound of log M(x) over all means x that a double holds."""
        return -FAR

    @classmethod
    def has_martingale(cls) -> bool:
        """Whether the family supplies `log_martingale`."""
        return cls.log_martingale is not Family.log_martingale

    def dispersions(self, arms: int) -> Array:
        """Dispersion of each of ``arms`` arms; one unless the family has a dispersion parameter."""
        return np.ones(arms)

    def exact_dispersions(self, arms: int) -> tuple[Fraction, ...]:
        """The dispersions as rational numbers; a family that keeps the numbers it was given overrides this."""
        return tuple(exact(dispersion) for dispersion in self.dispersions(arms).tolist())

    def divergence(self, x: ArrayLike, y: ArrayLike) -> Any:
        """d(x, y) for this family's dispersion; with one dispersion per arm, x and y run over the arms."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        dispersion = self.dispersions(x.size if x.ndim else 1)
        return self.unit_divergence(x, y, y - x) / (dispersion if x.ndim else dispersion[0])

    def describe_assumption(self) -> str:
        """What a guarantee assumes about the rewards, for printing after "guaranteed for".

        >>> parse_family("poisson").describe_assumption(), parse_family("gamma:2.5").describe_assumption()
        ('independent Poisson rewards', 'independent gamma rewards of shape 2.5')
        """
        return f"independent {NAMED_AFTER.get(self.name, self.name)} rewards"

    @property
    def bound_scope(self) -> str:
        """For which arms a strategy must be right so that the lower bound holds for it, where that is not the family's
        own parameter alone; printed after "any strategy"."""
        return ""

    def with_fractions(self) -> "Family":
        """The family for rewards anywhere in its range, if its e-process is valid for them."""
        raise InputError(
            f"fractions are for the bernoulli family, whose rewards are 0 or 1 without them; not for {self.name!r}"
        )

    def unstated(self) -> str | None:
        """The error message if a parameter that a guarantee depends on was not given; None otherwise."""
        return None

    def check_means(self, means: Sequence[float]) -> None:
        """Raise `InputError` unless every mean is finite and admissible."""
        for arm, mean in enumerate(means):
            if not np.isfinite(mean):
                raise InputError(f"mean {mean} of arm {arm} is not a finite number")
            if mean not in self.mean_space:
                raise InputError(
                    f"mean {mean:g} of arm {arm} is outside the {self.name} family, "
                    f"whose means lie in {self.mean_space}"
                )

    @classmethod
    def parse(cls, argument: str | None) -> "Family":
        """Build the family from what follows the colon in ``name:argument``."""
        if argument is not None:
            raise InputError(f"family {cls.name!r} takes no parameter, got {argument!r}")
        return cls()

    def __str__(self) -> str:
        """The family in the grammar of the command line and of TOML files."""
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))

    #: The largest mean, in size, with which rewards are drawn: sums of many, and their squares, are finite doubles.
    largest_drawn: ClassVar[float] = 1e100

    def check_drawing(self, means: Sequence[float]) -> None:
        """Raise `InputError` unless rewards with these means can be drawn."""
        for arm, mean in enumerate(means):
            if abs(mean) > self.largest_drawn:
                raise InputError(
                    f"mean {mean:g} of arm {arm} is too large to draw {self.name} rewards, "
                    f"whose means can be up to {self.largest_drawn:g}; rescale the means"
                )

    #: A reward of zero where zero is no mean stands for one that is too small for a double, and counts as this, the
    #: least number that has all its digits: a mean of such rewards is a mean of the family.
    least_counted: ClassVar[float] = float_info.min

    def count_reward(self, reward: float) -> float:
        """A reward as sums take it in: itself, or `least_counted` where that is more and zero is no mean.

        `InputError` unless an arm can yield it: a number from the least to the largest mean, both included, and a whole
        one where the family counts.
        """
        low, high = self.mean_space.low, self.mean_space.high
        if not low <= reward <= high or (self.counts and reward % 1.0 != 0.0):
            kind = "whole numbers" if self.counts else "numbers"
            span = MeanSpace(low, high, low_included=True, high_included=high < np.inf)
            raise InputError(f"reward {reward:g} is outside the {self.name} family, whose rewards are {kind} in {span}")
        return max(reward, self.least_counted) if low == 0.0 and not self.mean_space.low_included else reward


def relative_entropies(bound: Any, *forms: Any) -> list[Any]:
    """`Family.conic_constraints` for a divergence that is a sum of ``x log(x / y) - x + y``; the forms are x, y, ..."""
    import cvxpy as cp

    return [sum(map(cp.kl_div, forms[::2], forms[1::2])) <= bound]


def read_decimals(text: str, what: str) -> list[Decimal]:
    """Read ``"1,2.5"`` as the decimals that it spells."""
    try:
        return [read_decimal(part.strip(" ")) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"{what} must be numbers separated by commas, got {brief(text)!r}: {error}") from None


def positive_numbers(values: Iterable[Any], what: str) -> tuple[float, ...]:
    """Numbers as floats, each of them positive and finite."""
    try:
        numbers = tuple(map(float, values))
    except OverflowError:
        raise InputError(f"{what} must fit double precision") from None
    except ValueError:  # a signalling NaN
        raise InputError(f"{what} must be numbers") from None
    for number in numbers:
        if not (np.isfinite(number) and number > 0):
            raise InputError(f"{what} must be positive and finite, got {number:g}")
    return numbers
