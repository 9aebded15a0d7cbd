"""How far a pilot may be trusted: T* of resamples of it."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from caet_opt.bandits.distributions import Distributions
from caet_opt.bandits.model import BanditModel
from caet_opt.common.numbers import in_full, to_digits, write_count
from caet_opt.errors import CaetError
from caet_opt.simulating.mean_intervals import find_quantiles
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.result import CharacteristicTime

#: How many times a pilot is resampled; fewer times if it has so many values that these would be more values in all.
RESAMPLES, FEWEST_RESAMPLES, MOST_VALUES = 100, 20, 60_000

#: A pilot is small if an arm has fewer rewards than the first, resamples have another answer more often than the
#: second, or T* of one in ten is above, or below, its own by more than the last factor.
FEWEST, OTHERS, FACTOR = 10, 0.05, 2.0


@dataclass(frozen=True)
class Pilot:
    """What resamples of a pilot (a bootstrap) say of T*: each has as many rewards of each arm, drawn from the pilot's.

    Attributes
    ----------
    sizes : how many rewards the pilot has of each arm
    time : T* of the pilot
    times : 10, 50 and 90 % quantiles of T* of the resamples, by their probabilities as text; None is infinite, a tie
    resamples : how many there are
    others : the share of resamples that have another answer than the pilot, or none
    """

    sizes: tuple[int, ...]
    time: float
    times: dict[str, float | None]
    resamples: int
    others: float

    @property
    def is_small(self) -> bool:
        """Whether a plan from this pilot may be far off."""
        least, most = self.times["0.1"], self.times["0.9"]
        steady = least is not None and most is not None and self.time / FACTOR <= least and most <= FACTOR * self.time
        return min(self.sizes) < FEWEST or self.others > OTHERS or not steady

    def to_record(self) -> dict[str, Any]:
        """Its entry in the object of ``plan --json``."""
        return {
            "sizes": list(self.sizes),
            "resamples": self.resamples,
            "times": self.times,
            "other_answers": self.others,
            "small": self.is_small,
        }

    def lines(self) -> list[str]:
        """What to make of the pilot, for people."""
        least, most = min(self.sizes), max(self.sizes)
        sizes = "" if least == most else f"{least} to "
        ends = [
            "infinity" if end is None else in_full(to_digits(end, 3)) for end in (self.times["0.1"], self.times["0.9"])
        ]
        told = (
            f"The pilot has {sizes}{write_count(most, 'reward')} of each arm. Of {self.resamples} resamples, "
            f"eight in ten have T* from {ends[0]} to {ends[1]} (the pilot: {in_full(to_digits(self.time, 3))}), and "
            f"{100 * self.others:.0f} % have another answer or none."
        )
        if not self.is_small:
            return [told]
        why = "its resamples differ widely in their T* or their answers, so the real cost may be far from this plan"
        if least < FEWEST:
            why = f"an arm has fewer than {FEWEST} rewards, and the resamples may not show how wrong this plan is"
        return [told, f"Warning: the pilot is too small: {why}. Collect more rewards before you rely on it."]


def resample_pilot(optimum: CharacteristicTime, seed: int) -> Pilot | None:
    """What resamples of a model's samples say of its T*; None for a model that is not made of samples."""
    model = optimum.model
    if model.distributions is None or model.distributions.sampled is None:
        return None
    rng = np.random.default_rng(seed)
    right = {one.answer for one in optimum.times} or {optimum.answer}
    limits = [price.limit for price in optimum.limits]
    values = sum(map(len, model.distributions.values))
    resamples = max(FEWEST_RESAMPLES, min(RESAMPLES, MOST_VALUES // values))
    times, others = [], 0
    for _ in range(resamples):
        try:
            found = characteristic_time(resample(model, model.distributions, rng), optimum.task, limits=limits)
            times.append(found.value)
            others += found.answer not in right
        except CaetError:  # a tie, which has no answer
            times.append(inf)
            others += 1
    quantiles = find_quantiles(np.array(times), np.isfinite(times))
    return Pilot(model.distributions.sampled, optimum.value, quantiles, resamples, others / resamples)


def resample(model: BanditModel, known: Distributions, rng: np.random.Generator) -> BanditModel:
    """The model of as many rewards of each arm, drawn from its samples."""
    values, shares = [], []
    for arm, size in enumerate(known.sampled or ()):
        masses = np.array([float(mass) for mass in known.probabilities[arm]])
        counts = rng.multinomial(size, masses / masses.sum()).tolist()
        drawn = [(value, count) for value, count in zip(known.values[arm], counts, strict=True) if count]
        values.append(tuple(value for value, _ in drawn))
        shares.append(tuple(Fraction(count, size) for _, count in drawn))
    costs = model.cost_rule or model.given_costs
    found = Distributions(tuple(values), tuple(shares), known.sampled)
    return BanditModel(model.family, found, costs, model.arms, lower_is_better=model.lower_is_better)
