"""A bandit model: a reward family, the arms' means, and what a pull of each arm costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import isfinite
from numbers import Rational
from os import PathLike
from typing import Any, NamedTuple, TypeVar

import numpy as np

from caet_opt.bandits.arm_names import read_arm_names as read_arm_names
from caet_opt.bandits.distributions import Distributions, read_distributions, read_samples
from caet_opt.bandits.families import Bounded, Family, parse_family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.samples import Given, gather_samples
from caet_opt.common.checks import is_real, show_value
from caet_opt.common.exact import Number, exact
from caet_opt.errors import InputError

#: The cost rule of regret minimisation: each arm costs its distance to the best mean.
GAPS = "gaps"

Real = TypeVar("Real", float, Fraction)


class Arrays(NamedTuple):
    """A model's numbers by arm; the means are ``means + rests``, a rest being what rounding to a double took away.

    >>> BanditModel("gaussian", [3, 4, 2], costs="gaps").arrays.costs
    array([1., 0., 2.])
    """

    means: Array
    rests: Array
    costs: Array
    dispersions: Array


@dataclass(frozen=True)
class BanditModel:
    """Arms with means in a one-parameter exponential family and non-negative costs, validated on construction.

    Solvers see ``means`` and ``costs`` as doubles. The model also keeps the numbers as you gave them, and answers are
    about these: whole numbers, ``Decimal`` and ``Fraction`` are exact. A float stands for the double that it is in a
    certified interval, and for its shortest decimal in proven digits. Models are equal if the given numbers are.

    Parameters
    ----------
    family
        The reward family, or its name in the grammar; with a variance per arm, as many variances as means.
    means
        The mean of each arm: at least two, or one if the task is about levels.
    costs
        The cost of each arm, zero allowed, or ``"gaps"`` for the distance to the best mean; by default all are 1.
    arms
        Names of the arms; by default their numbers.
    lower_is_better
        Whether an arm is better if its mean is lower; tasks given as text, and gaps, follow this.
    levels, probabilities
        For rewards in a range, instead of means: the levels, and for each arm the probability of each level.

    Examples
    --------
    >>> model = BanditModel("bernoulli", means=[0.5, 0.3], costs="gaps", arms=["old", "new"])
    >>> model.costs
    (0.0, 0.2)
    >>> model.arms
    ('old', 'new')
    >>> BanditModel("bounded:0,1", levels=[0, 0.5, 1], probabilities=[[0.1, 0.2, 0.7], [0.2, 0.3, 0.5]]).means
    (0.8, 0.65)
    """

    family: Family
    means: tuple[float, ...]
    costs: tuple[float, ...]
    arms: tuple[str, ...] = ()
    cost_rule: str | None = field(default=None, init=False)
    lower_is_better: bool = False
    given_means: tuple[Number, ...] = field(default=(), init=False, repr=False, compare=False)
    given_costs: tuple[Number, ...] | None = field(default=None, init=False, repr=False, compare=False)
    distributions: Distributions | None = field(default=None, init=False, repr=False, hash=False)

    def __init__(
        self,
        family: Family | str,
        means: Sequence[Number] | Distributions | None = None,
        costs: Sequence[Number] | str | None = None,
        arms: Iterable[str] | None = None,
        *,
        lower_is_better: bool = False,
        levels: Sequence[Number] | None = None,
        probabilities: Sequence[Sequence[Number]] | None = None,
    ) -> None:
        family = read_family(family)
        found = find_distributions(family, means, levels, probabilities)
        means = means if found is None else found.means()
        given_means, means = read_numbers(means, "means")
        if len(means) < 1:
            raise InputError("a bandit model needs at least one arm, got 0 means")
        family.check_means(means)
        family.dispersions(len(means))
        costs = [1] * len(means) if costs is None else costs
        rule = costs if isinstance(costs, str) else None
        given_costs, costs = (None, ()) if rule is not None else read_numbers(costs, "costs")
        names = read_arm_names(arms, len(means))
        if not isinstance(lower_is_better, bool):
            raise InputError(f"'lower_is_better' must be true or false, got {lower_is_better!r}")
        vars(self).update(family=family, means=means, costs=costs, arms=names, cost_rule=rule)  # the record is frozen
        vars(self).update(lower_is_better=lower_is_better)
        vars(self).update(given_means=given_means, given_costs=given_costs, distributions=found)
        if rule not in (None, GAPS):
            raise InputError(f"costs must be a list of numbers or {GAPS!r}, got {rule!r}")
        if rule == GAPS:
            vars(self).update(costs=tuple(map(float, gaps(self._meant, lower_is_better))))
        if found is None:  # distances from the ends are exact where there are distributions
            check_ends(family, means, self.mean_rests)
        check_costs(self.costs, len(means))

    @classmethod
    def from_samples(
        cls,
        family: Family | str,
        samples: Given,
        costs: Sequence[Number] | str | None = None,
        arms: Iterable[str] | None = None,
        *,
        lower_is_better: bool = False,
    ) -> "BanditModel":
        """The model whose arms have the empirical distributions of samples, such as those of a pilot: a list of rewards
        for each arm, lists by the names of the arms, a data frame with a column for each arm, or with the columns arm
        and reward, or the path of a CSV file with these two.

        >>> BanditModel.from_samples("bounded:0,1", [[0.2, 0.7, 0.9], [0.1, 0.5]], costs=[1, 2]).means
        (0.6, 0.3)
        >>> BanditModel.from_samples("bounded:0,1", {"old": [0.2, 0.7, 0.9], "new": [0.1, 0.5]}).arms
        ('old', 'new')
        """
        family = read_family(family)
        if not isinstance(family, Bounded):
            raise InputError(f"samples are for rewards in a range, family bounded:LO,HI, not {family}")
        found = gather_samples(samples, arms)
        known = read_samples(family, found.rewards, found.names, found.places)
        return cls(family, known, costs, found.names, lower_is_better=lower_is_better)

    @cached_property
    def distribution_table(self) -> Array:
        """The distributions as the kernel reads them; empty if means determine them."""
        known, family = self.distributions, self.family
        return known.table(family) if known is not None and isinstance(family, Bounded) else np.zeros(0)

    @property
    def dispersions(self) -> Array:
        """Dispersion of each arm: the family's variances, or the inverse of its shape."""
        return self.family.dispersions(len(self.means))

    @property
    def _meant(self) -> Sequence[Any]:
        """The means that an interval is about: floats where all are doubles, else fractions."""
        if not self.mean_rests.any():
            return self.means
        return [Fraction(m) if isinstance(m, float) else exact(m) for m in self.given_means]

    @cached_property
    def costly(self) -> tuple[bool, ...]:
        """Which arms cost something."""
        return tuple(cost > 0 for cost in self.costs)

    @cached_property
    def kernel_numbers(self) -> Array:
        """The numbers that solvers see, made once: the rows are those of `Arrays`. For compiled code alone, which is
        made for arrays that can be written to, and does not write to these; anyone else has `numbers`."""
        return np.array([self.means, self.mean_rests, self.costs, self.dispersions])

    @cached_property
    def numbers(self) -> Array:
        """The same, read-only: a model does not change."""
        return read_only(self.kernel_numbers.view())

    @cached_property
    def arrays(self) -> Arrays:
        """The rows of `numbers` by name."""
        return Arrays(*self.numbers)

    @cached_property
    def mean_rests(self) -> Array:
        """The rounding error of each mean as a double; zero for floats."""
        rests = [rest(given, mean) for given, mean in zip(self.given_means, self.means, strict=True)]
        return read_only(np.array(rests))

    @cached_property
    def exact_means(self) -> tuple[Fraction, ...]:
        """The means as they were given."""
        return tuple(map(exact, self.given_means))

    @cached_property
    def exact_costs(self) -> tuple[Fraction, ...]:
        """The costs as they were given, or the exact gaps of the exact means."""
        if self.given_costs is None:
            return gaps(self.exact_means, self.lower_is_better)
        return tuple(map(exact, self.given_costs))

    @cached_property
    def exact_dispersions(self) -> tuple[Fraction, ...]:
        """The dispersions as the family was given them."""
        return self.family.exact_dispersions(len(self.means))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BanditModel):
            return NotImplemented
        return (
            (self.family, self.means, self.costs, self.arms, self.cost_rule)
            == (other.family, other.means, other.costs, other.arms, other.cost_rule)
            and self.lower_is_better == other.lower_is_better
            and (self.distributions or ())[:2] == (other.distributions or ())[:2]  # whatever the size of a sample
            and self.exact_means == other.exact_means
            and self.exact_costs == other.exact_costs
        )

    def with_numbers(
        self, *, means: Sequence[Number] | None = None, costs: Sequence[Number] | str | None = None
    ) -> "BanditModel":
        """The same model with other means or costs; gaps follow the means unless costs are given.

        >>> BanditModel("gaussian", [3, 4, 2], costs="gaps").with_numbers(means=[3, 4, 1]).costs
        (1.0, 0.0, 3.0)
        """
        if means is not None and self.distributions is not None:
            raise InputError(
                f"the arms of family {self.family} have distributions; their means alone cannot be changed"
            )
        kept = self.given_means if self.distributions is None else self.distributions
        costs = (self.cost_rule or self.given_costs) if costs is None else costs
        given = kept if means is None else means
        return BanditModel(self.family, given, costs, self.arms, lower_is_better=self.lower_is_better)

    def sample(self, rng: np.random.Generator, arm: int, size: int | None = None) -> Any:
        """Draw rewards of one arm."""
        if self.distributions is not None:
            return self.distributions.draw(rng, arm, size)
        return self.family.sample(rng, self.means[arm], self.dispersions[arm], size)


def check_model(model: Any) -> None:
    """Raise `InputError` for anything that is no `BanditModel`, and say how to come by one."""
    if isinstance(model, BanditModel):
        return
    hint = ""
    if isinstance(model, str | PathLike):
        hint = f"; read_model({str(model)!r}).model is that of a file or of the catalogue"
    elif isinstance(getattr(model, "model", None), BanditModel):
        hint = f"; give the model of this {type(model).__name__}, .model"
    raise InputError(f"model must be a BanditModel, got {show_value(model)}{hint}")


def find_distributions(family: Family, means: Any, levels: Any, probabilities: Any) -> Distributions | None:
    """The distributions that a model is given, None where its means say all; `InputError` for anything else."""
    if not isinstance(family, Bounded):
        if levels is not None or probabilities is not None or isinstance(means, Distributions):
            raise InputError(f"levels and probabilities are for rewards in a range, family bounded:LO,HI, not {family}")
        if means is None:
            raise InputError(f"a model of family {family} needs means, as means = [3, 4, 2]")
        return None
    if isinstance(means, Distributions):
        return means
    if means is not None:
        raise InputError(
            f"means do not say what rewards of family {family} are; give levels and probabilities, or samples, "
            "in a model file, as judge-scores has them"
        )
    return read_distributions(family, levels, probabilities)


def read_only(array: Array) -> Array:
    """An array, which nobody can write to from now on."""
    array.flags.writeable = False
    return array


def read_family(family: Family | str) -> Family:
    """A family, or one in the grammar."""
    family = parse_family(family) if isinstance(family, str) else family
    if not isinstance(family, Family):
        raise InputError(f"family must be a Family such as Gaussian(), got {family!r}")
    return family


def gaps(means: Sequence[Real], lower_is_better: bool = False) -> tuple[Real, ...]:
    """Distance of each mean to the best one, which is the largest, or the smallest."""
    best = min(means) if lower_is_better else max(means)
    return tuple(mean - best if lower_is_better else best - mean for mean in means)


def rest(given: Number, double: float) -> float:
    """What is left of a number that was given after rounding it to a double."""
    if isinstance(given, float) or not isinstance(given, Decimal | Rational) or given == double:
        return 0.0
    return float(exact(given) - Fraction(double))


def check_ends(family: Family, means: Sequence[float], rests: Array) -> None:
    """Raise `InputError` for a mean that is an end of the mean space only after rounding."""
    ends = (family.mean_space.low, family.mean_space.high)
    for arm, mean in enumerate(means):
        if mean in ends and rests[arm] != 0:
            raise InputError(
                f"the mean of arm {arm} is not {mean:g}, an end of the {family.name} family, but rounds to it in "
                "double precision; move it away from the end"
            )


def read_numbers(values: Any, what: str) -> tuple[tuple[Number, ...], tuple[float, ...]]:
    """Check a sequence of real numbers and return it as it was given and as floats."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"{what} must be a list of numbers, got {show_value(values)}")
    check_unmasked(values, what)
    given = tuple(values)
    numbers = []
    for value in given:
        if not is_real(value):
            raise InputError(f"{what} must be numbers, got {show_value(value)}")
        try:
            number = float(value)
        except OverflowError:
            raise InputError(f"{what} must fit double precision, got a number of {len(str(value))} digits") from None
        except (TypeError, ValueError):  # a row of an array, a signalling NaN
            raise InputError(f"{what} must be numbers, got {show_value(value)}") from None
        if number == 0 and value != 0:
            raise InputError(f"{what} must be zero or fit double precision, got {value}; rescale the numbers")
        numbers.append(number)
    return given, tuple(numbers)


def check_unmasked(values: Any, what: str) -> None:
    """Raise `InputError` for an array of which some numbers are masked: what is behind the mask is not meant."""
    if np.ma.is_masked(values):
        masked = int(np.ma.getmaskarray(values).sum())
        raise InputError(f"{what} must be numbers, got {masked} masked; leave these arms out")


def check_costs(costs: Sequence[float], arms: int) -> None:
    """Raise `InputError` unless there is one finite non-negative cost per arm."""
    if len(costs) != arms:
        raise InputError(f"{len(costs)} costs for {arms} means; give one cost per arm, or {GAPS!r}")
    for arm, cost in enumerate(costs):
        if not isfinite(cost):
            raise InputError(f"cost {cost} of arm {arm} is not a finite number")
        if cost < 0:
            raise InputError(f"cost {cost:g} of arm {arm} is negative; costs are zero or more")
