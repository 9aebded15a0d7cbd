"""Distributions of rewards in a range: levels with probabilities, or samples."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor, fsum, inf, log10
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.families.bounded import Bounded
from caet_opt.bandits.families.numerics import Array
from caet_opt.common.checks import is_real, is_truth, show_value
from caet_opt.common.exact import exact, fits_double
from caet_opt.errors import InputError, list_words

#: Probabilities may miss one by this much, as typed decimals do, and are taken in proportion.
NEAR_ONE = Fraction(1, 10**9)


#: A value is an end of its range, or this part of the range away from it, so that inverse distances are doubles.
NEAREST = Fraction(1, 10**200)


class OutsideError(InputError):
    """A number is outside the range of a family."""


class Distributions(NamedTuple):
    """The values of each arm, in order, with their probabilities, as exact numbers: a float means its shortest decimal.

    ``sampled`` has the size of each arm's sample, and is None where probabilities were given.
    """

    values: tuple[tuple[Fraction, ...], ...]
    probabilities: tuple[tuple[Fraction, ...], ...]
    sampled: tuple[int, ...] | None = None

    def means(self) -> tuple[Fraction, ...]:
        """The exact mean of each arm."""
        pairs = zip(self.values, self.probabilities, strict=True)
        return tuple(sum((v * p for v, p in zip(*pair, strict=True)), Fraction(0)) for pair in pairs)

    def to_records(self) -> list[dict[str, Any]]:
        """Each arm's levels and probabilities as plain values; of a sample also how many rewards it has."""
        sizes = self.sampled or (None,) * len(self.values)
        return [
            {"levels": [*map(float, values)], "probabilities": [*map(float, masses)]}
            | ({} if size is None else {"rewards": size})
            for values, masses, size in zip(self.values, self.probabilities, sizes, strict=True)
        ]

    def table(self, family: Bounded) -> Array:
        """The table of `caet_opt.kernels.bounded_term`: its width, and a row of doubles for each arm."""
        low, high = family.ends
        span, rows = high - low, list[list[float]]()
        for values, masses, mean in zip(self.values, self.probabilities, self.means(), strict=True):
            variance = sum((p * (v - mean) ** 2 for v, p in zip(values, masses, strict=True)), Fraction(0))
            below, above = [(v - low) / span for v in values], [(high - v) / span for v in values]
            head: list[Fraction | int] = [
                len(values),
                (mean - low) / span,
                (high - mean) / span,
                variance / span**2,
                low,
                high,
                span,
            ]
            inverses = [mean_inverse(distances, masses) for distances in (below, above)]
            numbers = map(float, (*below, *above, *masses))
            rows.append([*(float(number) for number in head), *inverses, *family.end_rests, *numbers])
        width = max(map(len, rows))
        return np.array([width, *(number for row in rows for number in row + [0.0] * (width - len(row)))], dtype=float)

    def split(self, family: Bounded) -> list[list[float]]:
        """The probabilities with which each arm's rewards count on the levels of a family: what lies between two levels
        counts in proportion on both."""
        levels, found = family.exact_levels, list[list[float]]()
        for values, masses in zip(self.values, self.probabilities, strict=True):
            shares = [Fraction(0)] * len(levels)
            for value, mass in zip(values, masses, strict=True):
                k = min(bisect_right(levels, value), len(levels) - 1)
                part = (value - levels[k - 1]) / (levels[k] - levels[k - 1])
                shares[k - 1] += mass * (1 - part)
                shares[k] += mass * part
            found.append([float(share) for share in shares])
        return found

    def draw(self, rng: np.random.Generator, arm: int, size: int | None = None) -> Any:
        """Rewards of one arm."""
        values = np.array([float(value) for value in self.values[arm]])
        masses = np.array([float(mass) for mass in self.probabilities[arm]])
        return values[rng.choice(len(values), size=size, p=masses / masses.sum())]


def mean_inverse(distances: Sequence[Fraction], masses: Sequence[Fraction]) -> float:
    """The mean of 1 / u over a distribution of distances, in doubles: as fractions, whose denominators have little in
    common, thousands take seconds."""
    if min(distances) == 0:
        return inf
    return fsum(mass / distance for distance, mass in zip(distances, masses, strict=True))


def read_distributions(family: Bounded, levels: Any, probabilities: Any) -> Distributions:
    """Distributions on levels that all arms share; `InputError` for what is none."""
    if levels is None or probabilities is None:
        missing = "levels" if levels is None else "probabilities"
        raise InputError(f"a model of family {family} needs levels and probabilities, or samples; {missing} is missing")
    values = [read_value(family, level, "a level") for level in read_list(levels, "levels")]
    if not values:
        raise InputError("levels are empty; give those that rewards have, as [0, 0.5, 1]")
    if sorted(set(values)) != values:
        raise InputError("levels must be in order, each above the one before")
    arms = read_list(probabilities, "probabilities")
    rows = [read_list(row, f"probabilities of arm {arm}") for arm, row in enumerate(arms)]
    found = []
    for arm, row in enumerate(rows):
        if len(row) != len(values):
            raise InputError(
                f"arm {arm} has {len(row)} probabilities for {len(values)} levels; give one for each level"
            )
        masses = [read_number(mass, f"probability of arm {arm}") for mass in row]
        if min(masses) < 0:
            raise InputError(f"a probability of arm {arm} is negative: {float(min(masses)):g}")
        total = sum(masses, Fraction(0))
        if abs(total - 1) > NEAR_ONE:
            raise InputError(f"the probabilities of arm {arm} sum to {float(total):.10g}, not to 1")
        found.append([(v, mass / total) for v, mass in zip(values, masses, strict=True) if mass > 0])
    return collect(found)


def collect(arms: Sequence[Sequence[tuple[Fraction, Fraction]]], sizes: tuple[int, ...] | None = None) -> Distributions:
    """Distributions from the pairs of a value and its probability of each arm."""
    values = tuple(tuple(value for value, _ in arm) for arm in arms)
    return Distributions(values, tuple(tuple(mass for _, mass in arm) for arm in arms), sizes)


def read_samples(
    family: Bounded,
    samples: Sequence[Sequence[Any]],
    names: Sequence[str] | None = None,
    places: Sequence[Sequence[str]] | None = None,
) -> Distributions:
    """The empirical distributions of samples, by arm: their own values, each with its share. Errors name the place of a
    reward where there is one."""
    called = names if names is not None and len(names) == len(samples) else range(len(samples))
    found, sizes = [], []
    for number, (arm, sample) in enumerate(zip(called, samples, strict=True)):
        if not sample:
            raise InputError(f"the sample of arm {arm} is empty; give at least one reward of each arm")
        counts = Counter[Fraction]()
        for at, reward in enumerate(sample):
            try:
                counts[read_value(family, as_number(reward), f"a reward of arm {arm}")] += 1
            except InputError as error:
                hint = advise_range(family, samples) if isinstance(error, OutsideError) else ""
                raise InputError(f"{f'{places[number][at]}: ' if places else ''}{error}{hint}") from None
        found.append([(value, Fraction(counts[value], len(sample))) for value in sorted(counts)])
        sizes.append(len(sample))
    return collect(found, tuple(sizes))


def as_number(reward: Any) -> Any:
    """A reward, of which a truth value is 0 or 1."""
    return int(reward) if is_truth(reward) and not getattr(reward, "shape", ()) else reward


def advise_range(family: Bounded, samples: Sequence[Sequence[Any]]) -> str:
    """What to do where rewards have another scale than a range; nothing where they are beyond it by less than a tenth,
    as a slip is, or are no numbers."""
    rewards = [as_number(reward) for sample in samples for reward in sample]
    if not all(is_real(reward) and fits_double(reward) for reward in rewards):
        return ""
    low, high = map(float, family.ends)
    least, most = float(min(rewards)), float(max(rewards))
    if max(low - least, most - high) <= (high - low) / 10:
        return ""
    ends = [-round_end(-least) if least < low else low, round_end(most) if most > high else high]
    told = ",".join(f"{Decimal(repr(end)).normalize():f}" for end in ends)
    return f"; use a range that has all rewards, such as bounded:{told}, or divide them"


def round_end(end: float) -> float:
    """The least of 1, 2, 5, 10, 20, 50 and so on that is not below a positive number; no negative number is above 0.

    >>> round_end(87.0), round_end(0.3), round_end(100.0), round_end(-3.0)
    (100.0, 0.5, 100.0, 0.0)
    """
    if end <= 0:
        return 0.0
    power = floor(log10(end))
    return next(float(f"{step}e{power}") for step in (1, 2, 5, 10, 20) if end <= float(f"{step}e{power}"))


def read_list(values: Any, what: str) -> list[Any]:
    """A list, or `InputError`."""
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__iter__"):
        raise InputError(f"{what} must be a list of numbers, got {show_value(values)}")
    return list(values)


def read_number(value: Any, what: str) -> Fraction:
    """The exact number that was given, or `InputError`."""
    if not is_real(value):
        raise InputError(f"{what} must be a number, got {show_value(value)}")
    if not fits_double(value):
        raise InputError(f"{what} must be a finite number that fits double precision, got {show_value(value)}")
    return exact(value)


def read_value(family: Bounded, value: Any, what: str) -> Fraction:
    """A number in the range of a family, or `InputError`."""
    number = read_number(value, what)
    if not family.ends[0] <= number <= family.ends[1]:
        raise OutsideError(f"{what} is {show_value(value)}, outside {family.mean_space}, the range of family {family}")
    if any(0 < abs(number - end) < NEAREST * (family.ends[1] - family.ends[0]) for end in family.ends):
        raise InputError(
            f"{what} is {show_value(value)}, too close to an end of the range of family {family}; round it"
        )
    return number


def samples_by_arm(rows: Sequence[tuple[str, Any]], names: Sequence[str] | None) -> tuple[tuple[str, ...], list[Any]]:
    """Names of the arms and their samples, from rows of an arm and a reward: in the order of ``names``, or of first
    appearance; `InputError` for an arm that is none of them, or has no row."""
    found: dict[str, list[Any]] = {name: [] for name in names or ()}
    for arm, reward in rows:
        if names is not None and arm not in found:
            raise InputError(f"samples of an unknown arm {arm!r}; the arms are {list_words(names)}")
        found.setdefault(arm, []).append(reward)
    if not found:
        raise InputError("there is no reward; give a row of an arm and a reward for each")
    for name, sample in found.items():
        if not sample:
            raise InputError(f"the sample of arm {name!r} is empty; give at least one reward of each arm")
    return tuple(found), list(found.values())
