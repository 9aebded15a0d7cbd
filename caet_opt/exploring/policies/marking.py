"""Policies that decide on one arm or two at a time, and remember which."""

from caet_opt.bandits.tasks import BestArm, TopArms
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.kernels.choosing import least_pulled, next_marked
from caet_opt.kernels.ledger import Seen


class Marking(IndexPolicy):
    """Its `learn` marks in the row MEMORY who is pulled next, the least mark first, and nobody once it has stopped."""

    covered = (BestArm, TopArms)
    may_starve = True

    @staticmethod
    def choose(view: Seen) -> int:
        """The marked arm; once it has stopped, the least pulled, for whoever goes on."""
        marked = next_marked(view.arms)
        return marked if marked >= 0 else least_pulled(view.arms)

    @staticmethod
    def ended(view: Seen) -> bool:
        """Whether nobody is to be pulled."""
        return next_marked(view.arms) < 0
