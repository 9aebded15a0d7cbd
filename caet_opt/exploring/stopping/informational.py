"""The paper's informational threshold."""

from math import log

from caet_opt.bandits.families import Bernoulli, Family
from caet_opt.exploring.stopping.base import Threshold
from caet_opt.kernels.thresholds import POWER


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
