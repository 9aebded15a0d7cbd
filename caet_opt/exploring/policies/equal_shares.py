"""The same number of pulls for every arm, or the same money."""

from math import inf

from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.kernels.choosing import free_turn, least_pulled
from caet_opt.kernels.ledger import COST, COUNT, Seen


class Uniform(IndexPolicy):
    """Every arm in turn: the least pulled, the lowest number first. Its pulls tend to 1 / K."""

    name = "uniform"
    about = "round robin"

    @staticmethod
    def choose(view: Seen) -> int:
        """The arm with the fewest pulls."""
        return least_pulled(view.arms)


class EqualSpending(IndexPolicy):
    """The costly arm with the least ``c_a N_a``, while free arms take the zero-cost share of the pulls.

    Its pulls of costly arms tend to shares proportional to 1 / c_a.
    """

    name = "equal-spending"
    about = "the costly arm that least was spent on; free arms take the zero-cost share"

    @staticmethod
    def choose(view: Seen) -> int:
        """A free arm when it is their turn, else the costly one with the least ``c_a N_a``."""
        arms, best, least = view.arms, free_turn(view, -1), inf
        if best >= 0:
            return best
        for a in range(arms.shape[1]):
            if arms[COST, a] > 0.0 and arms[COST, a] * arms[COUNT, a] < least:
                best, least = a, arms[COST, a] * arms[COUNT, a]
        return best
