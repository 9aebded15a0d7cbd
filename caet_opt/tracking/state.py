"""What CAET knows: an immutable record that saves to JSON and comes back the same."""

import json
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

import numpy as np

from caet_opt.errors import InputError
from caet_opt.families.numerics import Array


@dataclass(frozen=True)
class State:
    """Sums of what was observed, and the cumulated target that tracking follows.

    Attributes
    ----------
    round : number of observations so far
    counts : pulls of each arm
    reward_sums, cost_sums : of each arm
    cumulated_target : sum of the projected targets of rounds 0 to `round`
    total_cost : everything paid
    """

    round: int
    counts: tuple[int, ...]
    reward_sums: tuple[float, ...]
    cost_sums: tuple[float, ...]
    cumulated_target: tuple[float, ...]
    total_cost: float

    def means(self) -> Array:
        """Empirical means; NaN for an arm that was never pulled."""
        return averages(self.reward_sums, self.counts)

    def mean_costs(self) -> Array:
        """Mean observed costs; NaN for an arm that was never pulled."""
        return averages(self.cost_sums, self.counts)

    def to_json(self) -> str:
        """The state as JSON; numbers keep every digit."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "State":
        """The state back from JSON; `InputError` when it is not one."""
        try:
            record = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"not a saved state: {error}") from error
        names = {entry.name for entry in fields(cls)}
        if not isinstance(record, dict) or set(record) != names:
            raise InputError(f"a saved state has the keys {', '.join(sorted(names))}")
        parts: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
        state = cls(**parts)
        state.check()
        return state

    def check(self) -> None:
        """Raise `InputError` unless the parts fit together."""
        parts: list[tuple[Any, ...]] = [self.counts, self.reward_sums, self.cost_sums, self.cumulated_target]
        if len({len(part) for part in parts}) != 1:
            raise InputError("a saved state needs one count, reward sum, cost sum and target for every arm")
        if sum(self.counts) != self.round or min(self.counts) < 0:
            raise InputError(f"a saved state at round {self.round} needs counts that sum to it, got {self.counts}")
        if not all(isinstance(value, int | float) and isfinite(value) for part in parts for value in part):
            raise InputError("a saved state holds finite numbers only")


def averages(sums: tuple[float, ...], counts: tuple[int, ...]) -> Array:
    """Sums over counts, NaN where nothing was counted."""
    return np.array([total / count if count else np.nan for total, count in zip(sums, counts, strict=True)])
