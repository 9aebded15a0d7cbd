"""The top-two rule with a fair coin."""

from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.kernels.choosing import weakest_pair
from caet_opt.kernels.draws import uniform
from caet_opt.kernels.ledger import Seen, total_count


class TopTwo(IndexPolicy):
    """The pair (a, b) of the answer with the least ``Z_ab + log N_b``, then one of its arms by a fair coin.

    b is the challenger, and the logarithm of its count explores ("TCI"). For best arm a is the empirically best arm,
    half of the pulls go to it, and the pulls tend to the best proportions of which that is true. Costs play no part.
    Source: Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022 (EB-TCI), for best arm; here for the pairs of any task.
    """

    name = "top-two"
    about = "an arm of the pair with least Z + log N, by a fair coin (Jourdan et al. 2022)"

    @staticmethod
    def choose(view: Seen) -> int:
        """One of the two arms of the weakest pair."""
        pair = weakest_pair(view, True, False)
        side = 0 if uniform(view.setting.seed, int(total_count(view.arms)), 0) < 0.5 else 1
        return int(view.pairs[side, pair])
