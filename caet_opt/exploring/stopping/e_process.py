"""The threshold from one-sided mixture martingales: an e-process for every pair, and for every other statement."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf, log, log1p, nan, nextafter
from typing import Any, ClassVar

import numpy as np

from caet_opt.bandits.families import Family
from caet_opt.bandits.families.numerics import Array
from caet_opt.common.checks import is_number, show_value
from caet_opt.errors import InputError
from caet_opt.exploring.stopping.base import PairState, Threshold
from caet_opt.kernels import e_values
from caet_opt.kernels.compile import Kernel, list_functions
from caet_opt.kernels.e_values import Side
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.interpret import interpret
from caet_opt.kernels.thresholds import E_PROCESS

#: What the prior of each mean is worth in observations; chosen by ``analysis/threshold_study.py``.
DEFAULT_RHO = 8.0

#: The least and the largest log E_ab that are told, and how exactly.
LEAST, LARGEST, RESOLUTION = -50.0, 1e300, 5e-4


@dataclass(frozen=True)
class EProcess(Threshold):
    """``log E_ab > log(R / delta)``, where ``E_ab = min over x of M_a(x) M_b(x)``.

    M_a(x) is the likelihood of arm a's rewards, averaged over a prior for its mean that has its mode at x, is worth
    rho observations and cut to means above x, over their likelihood at x; M_b(x) likewise with means below x
    (`caet_opt.bandits.families.martingales`). Whatever the sampling rule and whenever one stops, the error probability
    is at most delta; the proof is in ``docs/mathematics/e_process.md``. A lower bound of M only delays stopping.

    As ``Z_ab > beta`` it has ``beta = log(R / delta) + (Z_ab - log E_ab)``. For many pulls, up to terms that vanish,
    ``beta = log(R / delta) + log(1 + N_a / rho) / 2 + log(1 + N_b / rho) / 2 - 2 log 2``.

    A statement ``a > ratio b + margin`` has ``E = min over x of M_a(x) M_b((x - margin) / ratio)``; ``a > level`` has
    M_a(level) alone, ``b < level`` M_b(level) (`caet_opt.kernels.e_values`).
    """

    name = "e-process"
    about = "log E_ab > log(R / delta), E_ab from one-sided martingales; proven for every shipped family"
    code = E_PROCESS
    options: ClassVar[tuple[str, ...]] = ("rho",)

    rho: float = DEFAULT_RHO

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.rho) and self.rho > 0):
            raise InputError(f"rho of the e-process threshold must be a positive number, got {show_value(self.rho)}")

    @property
    def level(self) -> float:
        return log(self.pairs) + self.log_inv_delta

    @property
    def slope(self) -> float:
        return float(self.rho)

    @property
    def reason(self) -> str:
        return "proven, however often you look"

    def guarantees(self, family: Family) -> bool:
        return family.has_martingale()

    def describe(self) -> str:
        return f"log E_ab > log({self.pairs} / delta) = {self.level:.6g}, rho = {self.rho:g}"

    def value(self, t: float, n_a: float, n_b: float) -> float:
        """beta for many pulls; `needed` has it for given means."""
        return self.level + 0.5 * (log1p(n_a / self.rho) + log1p(n_b / self.rho)) - 2.0 * log(2.0)

    def needed(
        self,
        family: Family,
        evidence: float,
        t: float,
        winner: PairState | None,
        loser: PairState | None,
        margin: float = 0.0,
        ratio: float = 1.0,
        x: float = nan,
    ) -> float:
        """What the evidence of ``winner > ratio loser + margin`` must exceed; an arm that is None has mean 0.

        x is the winner's mean at the minimum that is the evidence, as `e_values.needed_by` has it; a pair needs none.
        """
        return self.needed_at(self.level, family, evidence, winner, loser, margin, ratio, x)

    def needed_at(
        self,
        level: float,
        family: Family,
        evidence: float,
        winner: PairState | None,
        loser: PairState | None,
        margin: float = 0.0,
        ratio: float = 1.0,
        x: float = nan,
    ) -> float:
        """What the evidence of a statement must exceed for log E to exceed a level."""
        space, code = family.mean_space, FAMILY_CODES.get(type(family), -1)
        sides = (self.side_of(winner), self.side_of(loser))
        return float(
            rule_of(type(family))(code, space.low, space.high, level, evidence, *sides, margin, ratio, x, True)
        )

    def side_of(self, arm: PairState | None) -> Side:
        """An arm as the rule reads it."""
        if arm is None:
            return Side(0.0, 0.0, 0.0)
        return Side(arm.pulls / arm.dispersion, arm.mean, self.rho * arm.scale / arm.dispersion)

    def log_e_value(
        self,
        family: Family,
        evidence: float,
        winner: PairState | None,
        loser: PairState | None,
        margin: float = 0.0,
        ratio: float = 1.0,
        x: float = nan,
    ) -> float:
        """log E from below."""

        def exceeds(height: float) -> bool:
            return evidence > self.needed_at(height, family, evidence, winner, loser, margin, ratio, x)

        return largest_exceeded(exceeds, self.level, evidence)

    @classmethod
    def traits(cls, family: Family) -> dict[str, Any]:
        if not family.has_martingale():
            raise InputError(
                f"threshold 'e-process' needs log_martingale, which family {family.name!r} does not have; use 'mixture'"
            )
        return {}


@dataclass(frozen=True)
class Betting(EProcess):
    """``log E > log(R / delta)`` for rewards in a range: ``E = min over x of M_a(x) M_b(x - margin)``, M the capital of
    fixed bets against each mean (`caet_opt.kernels.betting`).

    Whatever the distributions in the range, the sampling rule and the moment at which one stops, the error probability
    is at most delta: docs/mathematics/bounded.md. Finitely many bets are not asymptotically optimal: as delta falls,
    the cost is within some hundredths of the best.
    """

    options: ClassVar[tuple[str, ...]] = ()

    def describe(self) -> str:
        return f"log E > log({self.pairs} / delta) = {self.level:.6g}, by betting on each mean"

    def value(self, t: float, n_a: float, n_b: float) -> float:
        """The level; what capital misses of the evidence depends on the rewards."""
        return self.level

    def needed(self, *state: Any, **more: Any) -> float:
        """Pulls and means do not say: `caet_opt.exploring.counted.Counted` has what does."""
        raise NotImplementedError


def largest_exceeded(exceeds: Callable[[float], bool], level: float, evidence: float) -> float:
    """log E from below: the largest number that it is found to exceed by the rule for stopping, by bisection."""
    settled = exceeds(level)
    low, high = (level, min(evidence, LARGEST)) if settled else (LEAST, level)
    while high - low > RESOLUTION * max(1.0, low):  # of a large one as a part, since doubles are far apart there
        middle = 0.5 * (low + high)
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return max(low, nextafter(level, inf)) if settled else low


@cache
def rule_of(family: type[Family]) -> Callable[..., Any]:
    """`e_values.needed_by` with the martingales of the family."""
    if family in FAMILY_CODES:
        return e_values.needed_by
    return interpret(list_functions(e_values), family, foreign_martingales(family))["needed_by"]


def foreign_martingales(family: type[Family]) -> Kernel:
    """The martingales of a user's own family, by the names in `e_values`."""

    def log_martingale(code: int, arm: Side, x: float, above: bool) -> float:
        return float(family.log_martingale(arm.weight, arm.mean, arm.rho, x, above))

    def log_martingale_floor(code: int, arm: Side, above: bool) -> float:
        return float(family.log_martingale_floor(arm.weight, arm.mean, arm.rho, above))

    return {"log_martingale": log_martingale, "log_martingale_floor": log_martingale_floor}


def prior_scales(costs: Array | None, arms: int, alpha: float) -> Array:
    """How many times rho the prior of each arm is worth in the e-process, fixed before the first pull.

    An arm that is known to be free will have about ``alpha / (1 - alpha) (costly arms) / (free arms)`` times the pulls
    of a costly one (1 - alpha at least 0.001), and its prior is worth so many times as much, or as much if that is less
    than one. Where costs are not known beforehand all priors are worth the same.
    """
    free = np.zeros(arms, dtype=bool) if costs is None else costs == 0
    factor = alpha / max(1.0 - alpha, 1e-3) * np.sum(~free) / max(1, int(np.sum(free)))
    return np.where(free, max(1.0, float(factor)), 1.0)
