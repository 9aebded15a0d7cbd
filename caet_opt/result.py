"""A characteristic time with its certificate."""

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Literal

import numpy as np

from caet_opt.certificate import pair_terms
from caet_opt.errors import InputError
from caet_opt.families.numerics import Array, Mask
from caet_opt.model import BanditModel
from caet_opt.sensitivity import cost_sensitivities, mean_sensitivities
from caet_opt.tasks import Pair, Task

#: A pair is binding when its term exceeds the smallest one by no more than this, relatively.
BINDING_SLACK = 1e-7


@dataclass(frozen=True, eq=False)
class CharacteristicTime:
    """T* of a model and a task, certified: ``lower <= T* <= upper``.

    Attributes
    ----------
    value : T* at the returned proportions; the true T* lies in [lower, upper]
    gap : relative width of the certified interval
    effort : w*, pulls per unit of information, scaled so that the binding pair terms are one and c . w = value
    pairs, multipliers : every needed pair and its share of T*; the multipliers sum to `value`
    solver, iterations, seconds : who computed it
    solver_gap : the gap of the solver's own point, before it was polished
    """

    model: BanditModel
    task: Task
    value: float
    lower: float
    upper: float
    gap: float
    effort: Array
    pairs: tuple[Pair, ...]
    multipliers: Array
    solver: str
    iterations: int
    seconds: float
    solver_gap: float

    @property
    def information_rate(self) -> float:
        """``1 / T*``, the optimum of the epigraph program; infinite when T* is zero."""
        return 1.0 / self.value if self.value > 0 else float("inf")

    @property
    def cost_proportions(self) -> Array:
        """omega*: the share of the cost that goes to each arm; all zero when T* is zero."""
        return normalised(self.effort * np.array(self.model.costs))

    @property
    def sampling_proportions(self) -> Array:
        """u*: the share of the pulls of costly arms that goes to each arm; all zero when T* is zero."""
        return normalised(np.where(np.array(self.model.costs) > 0, self.effort, 0.0))

    @cached_property
    def _binding(self) -> Mask:
        """Which pairs hold with equality at the optimum."""
        if self.value == 0:
            return np.zeros(len(self.pairs), dtype=bool)
        close = pair_terms(self.model, self.pairs, self.effort) <= 1.0 + BINDING_SLACK
        return np.asarray(close | (self.multipliers > BINDING_SLACK * self.value))

    @property
    def binding_pairs(self) -> tuple[Pair, ...]:
        """The pairs that decide T*."""
        return tuple(pair for pair, binds in zip(self.pairs, self._binding.tolist(), strict=True) if binds)

    @property
    def pair_weights(self) -> Array:
        """The multipliers of the binding pairs, as weights that sum to one."""
        return normalised(self.multipliers[self._binding])

    @cached_property
    def cost_sensitivities(self) -> Array:
        """dT*/dc_a; for a free arm the derivative to the right, infinite at a binding pair."""
        return cost_sensitivities(self.model, self.pairs, self.effort, set(self.binding_pairs))

    @cached_property
    def mean_sensitivities(self) -> Array:
        """dT*/dmu_a at fixed costs."""
        return mean_sensitivities(self.model, self.pairs, self.effort, self.multipliers)

    def lower_bound(self, delta: float, form: Literal["kl", "log"] = "kl") -> float:
        """Least expected cost of any delta-PAC strategy.

        ``kl``: ``T* kl(delta, 1 - delta)``; ``log``: the weaker ``T* log(1 / (2.4 delta))``, zero where negative.
        """
        if not 0 < delta < 1:
            raise InputError(f"delta must lie strictly between 0 and 1, got {delta:g}")
        if form == "kl":
            return self.value * (1 - 2 * delta) * (log(1 - delta) - log(delta))
        if form == "log":
            return self.value * max(0.0, -log(2.4 * delta))
        raise InputError(f"form of the lower bound must be 'kl' or 'log', got {form!r}")


def normalised(amounts: Array) -> Array:
    """Amounts as proportions; zeros stay zeros."""
    total = np.sum(amounts)
    return amounts / total if total > 0 else amounts
