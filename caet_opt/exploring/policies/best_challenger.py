"""The best challenger."""

from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.kernels.choosing import free_turn, share_of_first, weakest_pair
from caet_opt.kernels.ledger import COST, COUNT, Seen


class BestChallenger(IndexPolicy):
    """The pair with the least Z, then its arm with the larger divergence per cost, ``d(mu_a, m) / c_a``.

    That is the arm whose next pull adds most evidence to the pair per unit of cost. Free arms take the zero-cost share
    of the pulls, and of a pair with a free arm the costly one is pulled. For two arms its pulls tend to those at which
    both divergences per cost are equal; there is no proof that it is optimal.
    Source: Garivier and Kaufmann, COLT 2016, for best arm; here for the pairs of any task.
    """

    name = "best-challenger"
    about = "of the weakest pair the arm with more divergence per cost (Garivier, Kaufmann 2016)"
    may_starve = True

    @staticmethod
    def choose(view: Seen) -> int:
        """A free arm when it is their turn, else the better arm of the weakest pair that costs something."""
        arms, free = view.arms, free_turn(view, -1)
        if free >= 0:
            return free
        pair = weakest_pair(view, False, True)
        a, b = int(view.pairs[0, pair]), int(view.pairs[1, pair])
        if arms[COST, a] == 0.0 or arms[COST, b] == 0.0:
            return b if arms[COST, a] == 0.0 else a
        share = share_of_first(view, a, b)
        first, second = share / (arms[COST, a] * arms[COUNT, a]), (1.0 - share) / (arms[COST, b] * arms[COUNT, b])
        return a if first > second or (first == second and arms[COUNT, a] <= arms[COUNT, b]) else b
