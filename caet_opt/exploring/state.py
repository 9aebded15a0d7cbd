"""What an experiment knows: an immutable record."""

from dataclasses import dataclass, fields
from math import isclose
from typing import Any

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.common.checks import is_number, is_whole
from caet_opt.errors import InputError

#: Parts that have an entry for every arm.
VECTORS = ("counts", "reward_sums", "cost_sums", "memory", "reward_rests")

#: Parts that a saved state may do without: 0.2.0 had no rests, as its sums of rewards were plain ones, and histograms
#: are for rewards in a range.
RESTS, HISTOGRAMS = "reward_rests", "histograms"

#: Counts are exact as doubles up to here.
LARGEST_COUNT = 2**53

#: What rounding takes from a sum is below this part of it.
LARGEST_REST = 2.0**-50

#: What the sums of a long run may be off by, relatively.
ROUNDING = 1e-6


@dataclass(frozen=True)
class State:
    """Sums of what was observed, and what the policy remembers.

    Attributes
    ----------
    round : number of observations so far
    counts : pulls of each arm
    reward_sums, cost_sums : of each arm
    memory : what the policy keeps of each arm; one that tracks, the sum of the projected targets of rounds 0 to `round`
    total_cost : everything paid, the sum of cost_sums
    reward_rests : what rounding took from the sums of rewards, see `caet_opt.kernels.ledger.add`
    histograms : for rewards in a range, how many of each arm's were counted on each level; else nothing

    Examples
    --------
    >>> caet = Caet.start("best-arm", "gaussian", arms=2, delta=0.05, costs=[1, 2])
    >>> caet.observe(0, 1.5)
    >>> caet.state.round, caet.state.counts, caet.state.total_cost
    (1, (1, 0), 1.0)
    """

    round: int
    counts: tuple[int, ...]
    reward_sums: tuple[float, ...]
    cost_sums: tuple[float, ...]
    memory: tuple[float, ...]
    total_cost: float
    reward_rests: tuple[float, ...]
    histograms: tuple[tuple[float, ...], ...] = ()

    def to_record(self) -> dict[str, Any]:
        """What files have of a state: every part, and histograms where there are some."""
        return {name: part for name, part in vars(self).items() if name != HISTOGRAMS or part}

    def means(self) -> Array:
        """Empirical means; NaN for an arm that was never pulled."""
        return averages(self.reward_sums, self.counts)

    def mean_costs(self) -> Array:
        """Mean observed costs; NaN for an arm that was never pulled."""
        return averages(self.cost_sums, self.counts)

    @classmethod
    def from_record(cls, record: Any) -> "State":
        """The state back from what `dataclasses.asdict` and JSON made of it; `InputError` when it is not one."""
        names = {entry.name for entry in fields(cls)}
        if not isinstance(record, dict) or not names - {RESTS, HISTOGRAMS} <= set(record) <= names:
            raise InputError(f"a saved state has the keys {', '.join(sorted(names))}")
        for name in set(VECTORS) & set(record):
            if not isinstance(record[name], list) or not record[name]:
                raise InputError(f"{name} of a saved state must be a list with a number for every arm")
        parts: dict[str, Any] = {RESTS: [0.0] * len(record["counts"]), HISTOGRAMS: [], **record}
        parts = {name: tuple(part) if name in VECTORS else part for name, part in parts.items()}
        if not isinstance(parts[HISTOGRAMS], list) or not all(isinstance(one, list) for one in parts[HISTOGRAMS]):
            raise InputError("histograms of a saved state must be a list of counts for every arm")
        parts[HISTOGRAMS] = tuple(map(tuple, parts[HISTOGRAMS]))
        cls(**parts).check()
        for name, part in parts.items():
            if name not in ("round", "counts", HISTOGRAMS):
                parts[name] = tuple(map(float, part)) if name in VECTORS else float(part)
        return cls(**parts)

    def check(self) -> None:
        """Raise `InputError` unless every part is of its kind and the parts fit together."""
        lengths = {len(getattr(self, name)) for name in VECTORS}
        if len(lengths) != 1 or lengths == {0}:
            raise InputError("a saved state needs one count, reward sum, cost sum and memory for every arm")
        if not all(is_whole(count, 0, LARGEST_COUNT) for count in (self.round, *self.counts)):
            raise InputError("round and counts of a saved state must be whole numbers, zero or more")
        if sum(self.counts) != self.round:
            raise InputError(f"a saved state at round {self.round} needs counts that sum to it, got {self.counts}")
        sums = (*self.reward_sums, *self.reward_rests, *self.cost_sums)
        if not all(map(is_number, (*sums, *self.memory, self.total_cost))):
            raise InputError("a saved state holds finite numbers only")
        for total, rest in zip(self.reward_sums, self.reward_rests, strict=True):
            if abs(rest) > LARGEST_REST * abs(total):
                raise InputError(f"what rounding took from a sum of {total:g} cannot be {rest:g}")
        if min((*self.cost_sums, *self.memory)) < 0:
            raise InputError("costs and memory of a saved state must be zero or more")
        paid = sum(self.cost_sums)
        if not isclose(self.total_cost, paid, rel_tol=ROUNDING, abs_tol=0.0):
            raise InputError(
                f"total_cost of a saved state at round {self.round} must be {paid:g}, got {self.total_cost:g}"
            )


def averages(sums: tuple[float, ...], counts: tuple[int, ...]) -> Array:
    """Sums over counts, NaN where nothing was counted."""
    return np.array([total / count if count else np.nan for total, count in zip(sums, counts, strict=True)])
