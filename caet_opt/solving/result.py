"""A characteristic time with its certificate."""

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, isfinite, log, log1p
from typing import Literal, get_args

import numpy as np

from caet_opt.bandits.families.numerics import Array, Mask
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair, Task
from caet_opt.errors import InputError
from caet_opt.solving.certificate import pair_terms
from caet_opt.solving.sensitivity import cost_sensitivities, mean_sensitivities

#: A pair is binding when its term exceeds the smallest one by no more than this, relatively.
BINDING_SLACK = 1e-7

#: The forms of the lower bound on the expected cost.
BoundForm = Literal["kl", "log"]


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

    def lower_bound(
        self, delta: float | None = None, form: BoundForm = "kl", *, log_inv_delta: float | None = None
    ) -> float:
        """Least expected cost of any delta-PAC strategy, from the certified lower end of T*; see `bound_per_time`.

        A delta too small for a double is given by ``log_inv_delta = log(1 / delta)``.
        """
        return self.lower * bound_per_time(read_level(delta, log_inv_delta), form)


def read_level(delta: float | None, log_inv_delta: float | None) -> float:
    """``log(1 / delta)`` of whichever of the two was given."""
    if delta is not None and log_inv_delta is None:
        if not 0 < delta < 1:
            raise InputError(f"delta must lie strictly between 0 and 1, got {delta:g}")
        return -log(delta)
    if log_inv_delta is not None and delta is None:
        if not (isfinite(log_inv_delta) and log_inv_delta > 0):
            raise InputError(f"log(1/delta) must be positive and finite, got {log_inv_delta:g}")
        return log_inv_delta
    raise InputError("give either delta or log_inv_delta")


def bound_per_time(log_inv_delta: float, form: BoundForm = "kl") -> float:
    """What the expected cost of any delta-PAC strategy is at least, per unit of T*, given ``log(1 / delta)``.

    ``kl``: ``kl(delta, 1 - delta) = (1 - 2 delta) log((1 - delta) / delta)``; ``log``: the weaker
    ``log(1 / (2.4 delta))``. The theorem is about delta below 1/2: kl is symmetric, but a strategy that may err half
    of the time can guess for nothing, so that the bound is zero from there on.
    """
    if form not in get_args(BoundForm):
        raise InputError(f"form of the lower bound must be 'kl' or 'log', got {form!r}")
    if log_inv_delta <= log(2):
        return 0.0
    if form == "log":
        return max(0.0, log_inv_delta - log(2.4))
    return -expm1(log(2) - log_inv_delta) * (log_inv_delta + log1p(-exp(-log_inv_delta)))


def normalised(amounts: Array) -> Array:
    """Amounts as proportions; zeros stay zeros."""
    total = np.sum(amounts)
    return amounts / total if total > 0 else amounts
