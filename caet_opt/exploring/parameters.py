"""The parameters of CAET and the ranges under which its theory holds."""

from dataclasses import dataclass
from math import exp, inf, isfinite, log
from sys import float_info
from typing import Literal

from caet_opt.errors import InputError
from caet_opt.exploring.stopping.base import is_number_above

#: Where the costs that enter the target come from.
CostSource = Literal["known", "observed", "gaps"]

TRACKING = ("c", "d")
COST_SOURCES = ("known", "observed", "gaps")

#: log(1/delta) for which delta is below one as a double, and a bound that grows with it is finite.
SMALLEST_LEVEL, LARGEST_LEVEL = 1e-15, 1e100

#: exp of more overflows.
LARGEST_EXPONENT = log(float_info.max)


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
        if not is_number_above(0.0, self.log_inv_delta):
            raise InputError(f"log(1/delta) must be positive and finite, got {self.log_inv_delta!r}")
        if not SMALLEST_LEVEL <= self.log_inv_delta <= LARGEST_LEVEL:
            raise InputError(
                f"log(1/delta) must lie in [{SMALLEST_LEVEL:g}, {LARGEST_LEVEL:g}], where delta is below 1 and bounds "
                f"are finite in double precision, got {self.log_inv_delta!r}"
            )
        if not is_number_above(0.0, self.gamma0):
            raise InputError(f"gamma0 must be positive, got {self.gamma0!r}")
        if self.tracking not in TRACKING:
            raise InputError(f"tracking must be 'c' or 'd', got {self.tracking!r}")
        if self.costs not in COST_SOURCES:
            raise InputError(f"costs must be one of {', '.join(COST_SOURCES)}, got {self.costs!r}")
        for name, value, limit in (("r", self.r, 0.5), ("r_prime", self.r_prime, 0.125)):
            if not is_number_above(0.0, value):
                raise InputError(f"{name} must be positive, got {value!r}")
            if value >= limit and not self.outside_theory:
                raise InputError(
                    f"{name} = {value:g} is outside (0, {limit:g}), where the theory holds; outside_theory allows it"
                )
        if not isfinite(self.negligible_cost):
            raise InputError(
                f"gamma0 log(1/delta)^-r_prime must fit double precision; r_prime = {self.r_prime:g} is too large"
            )

    @property
    def delta(self) -> float:
        """The error probability; zero when it is too small for a double."""
        return exp(-self.log_inv_delta)

    @property
    def zero_cost_share(self) -> float:
        """``alpha = 1 - log(1/delta)^-r``, the share of the free arms; zero where that is negative, above 1/e."""
        return 1.0 - exp(-self.r * log(self.log_inv_delta)) if self.log_inv_delta > 1.0 else 0.0

    @property
    def negligible_cost(self) -> float:
        """``gamma0 log(1/delta)^-r_prime``: an estimated cost up to this counts as zero."""
        exponent = -self.r_prime * log(self.log_inv_delta)
        return self.gamma0 * exp(exponent) if exponent < LARGEST_EXPONENT else inf
