"""Thresholds that depend on the round alone: the customary one, the paper's two, and the constant of its proof."""

from dataclasses import dataclass
from functools import cache, cached_property
from math import log, sqrt
from typing import Any

import numpy as np

from caet_opt.bandits.families import Bernoulli, Family
from caet_opt.common.checks import is_number, show_value
from caet_opt.errors import InputError
from caet_opt.exploring.stopping.base import Threshold
from caet_opt.kernels.thresholds import CUSTOMARY, POWER

CERTIFIED = "certified"

#: Terms of the series that are summed one by one; an integral bounds the rest.
SUMMED_TERMS = 10_000

#: log C is found to this accuracy and the series kept below delta by this relative margin, against rounding.
ACCURACY = 1e-9


class Customary(Threshold):
    """``beta = log((1 + log t) / delta)``: errors are rare in practice, and no proof is known."""

    name = "customary"
    about = "log((1 + log t) / delta); not proven"
    code = CUSTOMARY
    reason = "not proven for any family"

    @property
    def level(self) -> float:
        return float(self.log_inv_delta)

    def guarantees(self, family: Family) -> bool:
        return False

    def describe(self) -> str:
        return f"log((1 + log t) / delta), log(1/delta) = {self.log_inv_delta:g}"


class Informational(Threshold):
    """``beta = log(2 t R / delta)`` for R pairs at risk, proven for Bernoulli rewards.

    A given wrongly ordered pair ever exceeds ``log(2 t / x)`` with probability at most x: take ``x = delta / R``. The
    paper's ``log(2 t K (K - 1) / delta)`` is a union over twice the pairs of any task.
    """

    name = "informational"
    about = "log(2 t R / delta); proven for bernoulli"
    code = POWER
    slope = 1.0
    reason = "proven for bernoulli"

    @property
    def level(self) -> float:
        return log(2.0 * self.pairs) + self.log_inv_delta

    def guarantees(self, family: Family) -> bool:
        return isinstance(family, Bernoulli)

    def describe(self) -> str:
        return f"log(2 t R / delta), R = {self.pairs}, log(1/delta) = {self.log_inv_delta:g}"


@dataclass(frozen=True)
class Deviational(Threshold):
    """``beta = log(C t^theta / delta)``, theta > 1.

    Proven for every one-parameter exponential family when C is at least `certified_log_constant`, which
    ``constant="certified"`` takes. The C of order one that experiments use is far below it, and not proven.

    The paper's proof bounds the deviation of all K arms together. Applied to the two arms of each of the R pairs at
    risk, with delta / R, it covers every wrong answer as well, so the smaller of the two constants is proven.
    """

    name = "deviational"
    about = "log(C t^theta / delta); proven only with --constant certified"
    code = POWER
    options = ("theta", "constant")
    variants = ({}, {"constant": CERTIFIED})

    theta: float = 1.2  # of the paper's experiments
    constant: float | str = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.theta) and self.theta > 1):
            raise InputError(
                f"theta of the deviational threshold must be a number above 1, got {show_value(self.theta)}"
            )
        constant: Any = self.constant
        if constant != CERTIFIED and not (is_number(constant) and constant > 0):
            raise InputError(
                f"constant of the deviational threshold must be a positive number or {CERTIFIED!r}, "
                f"got {show_value(self.constant)}"
            )

    @cached_property
    def certified_log_constant(self) -> float:
        """log of the smallest C for which the threshold is proven."""
        theta, level, union = float(self.theta), float(self.log_inv_delta), log(self.pairs)
        of_pairs = union + certified_log_constant(2, theta, level + union)
        return min(of_pairs, certified_log_constant(int(self.arms), theta, level))

    @cached_property
    def log_constant(self) -> float:
        """log C."""
        return self.certified_log_constant if isinstance(self.constant, str) else log(self.constant)

    @property
    def level(self) -> float:
        return self.log_constant + self.log_inv_delta

    @property
    def slope(self) -> float:
        return float(self.theta)

    @property
    def proven(self) -> bool:
        """Whether C is large enough for the proof."""
        return self.log_constant >= self.certified_log_constant

    @property
    def reason(self) -> str:
        if self.proven:
            return "proven for every one-parameter exponential family"
        return f"not proven: the proof needs a constant of at least e^{self.certified_log_constant:.1f}"

    def guarantees(self, family: Family) -> bool:
        return self.proven

    def describe(self) -> str:
        constant = f"e^{self.log_constant:.6g} ({CERTIFIED})" if self.constant == CERTIFIED else f"{self.constant:g}"
        return f"log(C t^theta / delta), C = {constant}, theta = {self.theta:g}, log(1/delta) = {self.log_inv_delta:g}"


@cache
def certified_log_constant(arms: int, theta: float, log_inv_delta: float) -> float:
    """log of the smallest C for which the series of the paper's proof sums to at most delta:

        sum over t of  e^(K+1) (beta^2 log t / K)^K e^-beta  <=  delta,      beta = log C + theta log t + log(1/delta).

    It is looked for where ``C >= 1`` and ``log(C / delta) >= 2 K``. There the sum falls as C grows, so every larger C
    is certified too, and beta is above the K + 1 from which on the deviation inequality under the series holds.
    """
    low = max(0.0, 2.0 * arms - log_inv_delta)
    if excess(low, arms, theta, log_inv_delta) <= 0.0:
        return low
    high = low + 1.0
    while excess(high, arms, theta, log_inv_delta) > 0.0:
        low, high = high, 2.0 * high
    while high - low > ACCURACY:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle, arms, theta, log_inv_delta) > 0.0 else (low, middle)
    return high


def excess(log_constant: float, arms: int, theta: float, log_inv_delta: float) -> float:
    """log of the proof's series over delta, bounded from above; certified where it is at most zero.

    With e^-beta = delta / (C t^theta) this is ``K + 1 - K log K - log C + log(sum of (beta^2 log t)^K t^-theta)``.
    """
    from scipy.special import logsumexp

    offset = log_constant + log_inv_delta
    logs = np.log(np.arange(2, SUMMED_TERMS + 1))
    summed = logsumexp(log_term(logs, offset, arms, theta))
    start = log(SUMMED_TERMS)  # beyond it terms rise and then fall in t: no more than their integral and their largest
    largest = log_term(max(start, peak(offset, arms, theta)), offset, arms, theta)
    series = np.logaddexp(summed, np.logaddexp(log_integral(start, offset, arms, theta), largest))
    return float(arms + 1 - arms * log(arms) - log_constant + series) + ACCURACY


def log_term(log_t: Any, offset: float, arms: int, theta: float) -> Any:
    """log of ``(beta^2 log t)^K t^-theta`` with ``beta = offset + theta log t``."""
    return arms * (2.0 * np.log(offset + theta * log_t) + np.log(log_t)) - theta * log_t


def peak(offset: float, arms: int, theta: float) -> float:
    """Where the term is largest: at log t = l, ``theta^2 l^2 + theta (offset - 3 K) l = K offset``."""
    lead = 3.0 * arms - offset
    return (lead + sqrt(lead * lead + 4.0 * arms * offset)) / (2.0 * theta)


def log_integral(start: float, offset: float, arms: int, theta: float) -> float:
    """log of the integral of ``(offset + theta l)^(2K) l^K e^(-(theta - 1) l)`` over l > start.

    By the binomial theorem it is a sum of incomplete gamma functions, all positive; one that underflows is
    replaced by the smallest number, which is larger.
    """
    from scipy.special import gammaincc, gammaln, logsumexp

    power = 2 * arms
    j = np.arange(power + 1)
    binomial = gammaln(power + 1) - gammaln(j + 1) - gammaln(power - j + 1)
    shape = arms + j + 1
    upper = np.log(np.maximum(gammaincc(shape, (theta - 1.0) * start), np.finfo(float).tiny))
    gamma = gammaln(shape) + upper - shape * log(theta - 1.0)
    return float(logsumexp(binomial + (power - j) * log(offset) + j * log(theta) + gamma))
