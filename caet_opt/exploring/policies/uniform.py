"""Round robin."""

from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.kernels.choosing import least_pulled
from caet_opt.kernels.ledger import Seen


class Uniform(IndexPolicy):
    """Every arm in turn: the least pulled, the lowest number first. Its pulls tend to 1 / K."""

    name = "uniform"
    about = "round robin"

    @staticmethod
    def choose(view: Seen) -> int:
        """The arm with the fewest pulls."""
        return least_pulled(view.arms)
