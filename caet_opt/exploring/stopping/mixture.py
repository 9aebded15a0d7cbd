"""The threshold from mixture martingales: Kaufmann and Koolen, JMLR 22 (246), 2021."""

from dataclasses import dataclass
from functools import cache, cached_property
from math import exp, log, pi, sqrt
from typing import Any

from caet_opt.bandits.families import Family, Gaussian
from caet_opt.bandits.families.scalar import kl_div
from caet_opt.errors import InputError
from caet_opt.exploring.stopping.base import Threshold
from caet_opt.kernels.thresholds import GAUSSIAN_MIXTURE, MIXTURE

#: The largest ratio between the ends of a slice of pulls; it also makes the 3 in ``3 log(1 + log N)``, twice itself.
LARGEST_RATIO = 1.5


@dataclass(frozen=True)
class Mixture(Threshold):
    """``beta = 3 log(1 + log N_a) + 3 log(1 + log N_b) + 2 C_exp(log(R / delta) / 2)``, R pairs at risk.

    For Gaussian rewards of known variances the sharper
    ``beta = 2 log(4 + log N_a) + 2 log(4 + log N_b) + 2 C_G(log(R / delta) / 2)``.

    For one pair of arms, with probability 1 - delta / R, the sum ``N_a d(muhat_a, mu_a) + N_b d(muhat_b, mu_b)``
    stays below beta at all rounds, whatever the sampling rule. The evidence of the pair is

        Z_ab = min over x_a <= x_b of  N_a d(muhat_a, x_a) + N_b d(muhat_b, x_b)    where muhat_a >= muhat_b,

    and when the truth inverts the pair, mu_a <= mu_b, the point (mu_a, mu_b) is one of those (x_a, x_b), so Z_ab is
    at most that sum. Every wrong answer asserts one of at most R such pairs, so the union bound covers them all.
    """

    name = "mixture"
    about = "the threshold of Kaufmann and Koolen 2021; proven for every family"

    gaussian: bool = False

    @property
    def code(self) -> int:
        return GAUSSIAN_MIXTURE if self.gaussian else MIXTURE

    @cached_property
    def level(self) -> float:
        share = (self.log_inv_delta + log(self.pairs)) / 2.0
        return 2.0 * (gaussian_deviation(share) if self.gaussian else general_deviation(share))

    @property
    def reason(self) -> str:
        return "proven for gaussian" if self.gaussian else "proven for every one-parameter exponential family"

    def guarantees(self, family: Family) -> bool:
        return isinstance(family, Gaussian) or not self.gaussian

    def describe(self) -> str:
        if self.gaussian:
            return f"2 log(4 + log N_a) + 2 log(4 + log N_b) + {self.level:.6g}"
        return f"3 log(1 + log N_a) + 3 log(1 + log N_b) + {self.level:.6g}"

    @classmethod
    def traits(cls, family: Family) -> dict[str, Any]:
        return {"gaussian": isinstance(family, Gaussian)}


def h_inverse(x: float) -> float:
    """The u >= 1 with ``u - log u = x``, for x >= 1.

    Newton on v = u - 1, where ``v - log(1 + v) = x - 1`` is convex: from above it descends to the root.
    """
    if not x >= 1.0:
        raise InputError(f"u - log(u) is at least 1, so it has no inverse at {x}")
    excess = x - 1.0
    v = excess + log(1.0 + excess + sqrt(2.0 * excess))
    while v > 0.0:
        lower = v - (kl_div(1.0, 1.0 + v, v, v / (2.0 + v)) - excess) * (1.0 + v) / v
        if not lower < v:
            break
        v = lower
    return 1.0 + v


def h_tilde(x: float, ratio: float = LARGEST_RATIO) -> float:
    """``min over y in (1, ratio] of y (x - log log y)``, concave in x.

    The minimiser is ``y = exp(1 / h^-1(x))`` where that is at most the ratio, which is x >= h(1 / log ratio).
    """
    corner = 1.0 / log(ratio)
    if x >= corner - log(corner):
        u = h_inverse(x)
        return exp(1.0 / u) * u
    return ratio * (x - log(log(ratio)))


@cache
def general_deviation(x: float) -> float:
    """``C_exp(x) = 2 h_tilde((h^-1(1 + x) + log(2 zeta(2))) / 2)``, for any one-parameter exponential family."""
    return 2.0 * h_tilde((h_inverse(1.0 + x) + log(pi * pi / 3.0)) / 2.0)


@cache
def gaussian_deviation(x: float) -> float:
    """``C_G(x) = min over 1/2 < lambda < 1 of (g(lambda) + x) / lambda``, for Gaussian rewards of known variance.

    ``g(lambda) = 2 lambda - 2 lambda log(4 lambda) + log zeta(2 lambda) - log(1 - lambda) / 2`` is convex, so the ratio
    has one minimum; any lambda gives a proven threshold. With ``lambda = 1 - exp(-s) / 2`` it lies at moderate s.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def bound(s: float) -> float:
        lam = 1.0 - 0.5 * exp(-s)
        g = 2.0 * lam - 2.0 * lam * log(4.0 * lam) + log(zeta(2.0 * lam)) + 0.5 * (s + log(2.0))
        return float((g + x) / lam)

    best = minimize_scalar(bound, bounds=(0.0, 10.0 + log(1.0 + x)), method="bounded", options={"xatol": 1e-9})
    return float(best.fun)
