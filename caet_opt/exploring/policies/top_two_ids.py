"""The top-two rule that splits the cost of a pair as the optimum does."""

from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.kernels.choosing import free_turn, share_of_first, weakest_pair
from caet_opt.kernels.draws import uniform
from caet_opt.kernels.ledger import COST, Seen, total_count


class TopTwoIds(IndexPolicy):
    """The pair of `top-two`, then its arm a with probability proportional to ``p_a / c_a``, p_a its share in Z.

        p_a = N_a d(mu_a, m) / Z_ab,     p_b = 1 - p_a

    At the optimum ``c_a w_a = sum over pairs e at a of z_e p_ea``: each pair carries a cost z_e and splits it by the
    shares, which is what these probabilities do. Free arms take the zero-cost share of the pulls, and of a pair with a
    free arm the costly one is pulled. Its pulls tend to u*.
    Source: Qin and You (dual-directed design, information-directed selection), here with costs, for any task's pairs.
    """

    name = "top-two-ids"
    about = "the same pair, its cost split by the shares p (Qin, You)"
    optimal = True

    @staticmethod
    def choose(view: Seen) -> int:
        """A free arm when it is their turn, else an arm of the weakest pair that costs something."""
        free = free_turn(view, -1)
        if free >= 0:
            return free
        pair = weakest_pair(view, True, True)
        a, b = int(view.pairs[0, pair]), int(view.pairs[1, pair])
        ca, cb = view.arms[COST, a], view.arms[COST, b]
        if ca == 0.0 or cb == 0.0:
            return b if ca == 0.0 else a
        share = share_of_first(view, a, b)
        first, second = share / ca, (1.0 - share) / cb
        return a if uniform(view.setting.seed, int(total_count(view.arms)), 0) * (first + second) < first else b
