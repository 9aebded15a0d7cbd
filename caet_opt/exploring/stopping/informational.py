"""The paper's informational threshold."""

from math import log

from caet_opt.bandits.families import Bernoulli, Family
from caet_opt.exploring.stopping.base import Threshold
from caet_opt.exploring.stopping.kernels import POWER


class Informational(Threshold):
    """``beta = log(2 t K (K - 1) / delta)``, proven for Bernoulli rewards.

    A given wrongly ordered pair ever exceeds it with probability at most ``delta / (K (K - 1))``, and there are at
    most K (K - 1) / 2 such pairs.
    """

    name = "informational"
    code = POWER
    slope = 1.0
    reason = "proven for bernoulli"

    @property
    def level(self) -> float:
        return log(2.0 * self.arms * (self.arms - 1)) + self.log_inv_delta

    def guarantees(self, family: Family) -> bool:
        return isinstance(family, Bernoulli)

    def describe(self) -> str:
        return f"log(2 t K (K - 1) / delta), K = {self.arms}, log(1/delta) = {self.log_inv_delta:g}"
