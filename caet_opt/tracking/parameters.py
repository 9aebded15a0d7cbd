"""The parameters of CAET and the ranges under which its theory holds."""

from dataclasses import dataclass
from math import exp, isfinite, log
from typing import Literal

from caet_opt.errors import InputError

#: Where the costs that enter the target come from.
CostSource = Literal["known", "observed", "gaps"]

TRACKING = ("c", "d")
COST_SOURCES = ("known", "observed", "gaps")


@dataclass(frozen=True)
class Parameters:
    """What CAET is told besides the task and the family.

    Attributes
    ----------
    log_inv_delta : log(1 / delta), so that delta may be as small as one likes
    r : exponent of the share of the free arms, ``alpha = 1 - log(1/delta)^-r``; theory: 0 < r < 1/2
    r_prime, gamma0 : estimated costs up to ``gamma0 log(1/delta)^-r_prime`` count as zero; theory: 0 < r_prime < 1/8
    tracking : "c" tracks the cumulated targets, "d" the present one
    costs : "known" constants, "observed" with each reward, or "gaps" to the empirically best arm
    outside_theory : run although r or r_prime leaves its range
    """

    log_inv_delta: float
    r: float = 0.4
    r_prime: float = 0.1
    gamma0: float = 0.1
    tracking: Literal["c", "d"] = "c"
    costs: CostSource = "known"
    outside_theory: bool = False

    def __post_init__(self) -> None:
        if not (isfinite(self.log_inv_delta) and self.log_inv_delta > 0):
            raise InputError(f"log(1/delta) must be positive and finite, got {self.log_inv_delta!r}")
        if not (isfinite(self.gamma0) and self.gamma0 > 0):
            raise InputError(f"gamma0 must be positive, got {self.gamma0!r}")
        if self.tracking not in TRACKING:
            raise InputError(f"tracking must be 'c' or 'd', got {self.tracking!r}")
        if self.costs not in COST_SOURCES:
            raise InputError(f"costs must be one of {', '.join(COST_SOURCES)}, got {self.costs!r}")
        for name, value, limit in (("r", self.r, 0.5), ("r_prime", self.r_prime, 0.125)):
            if not (isfinite(value) and value > 0):
                raise InputError(f"{name} must be positive, got {value!r}")
            if value >= limit and not self.outside_theory:
                raise InputError(
                    f"{name} = {value:g} is outside (0, {limit:g}), where the theory holds; outside_theory allows it"
                )

    @property
    def delta(self) -> float:
        """The error probability; zero when it is too small for a double."""
        return exp(-self.log_inv_delta)

    @property
    def zero_cost_share(self) -> float:
        """``alpha = 1 - log(1/delta)^-r``, the share of the free arms; zero where that is negative, above 1/e."""
        return max(0.0, 1.0 - exp(-self.r * log(self.log_inv_delta)))

    @property
    def negligible_cost(self) -> float:
        """``gamma0 log(1/delta)^-r_prime``: an estimated cost up to this counts as zero."""
        return self.gamma0 * exp(-self.r_prime * log(self.log_inv_delta))
