"""The threshold that most published experiments use."""

from caet_opt.bandits.families import Family
from caet_opt.exploring.stopping.base import Threshold
from caet_opt.kernels.thresholds import CUSTOMARY


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
