"""Unified gap-based exploration."""

from math import inf

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.tasks import BestArm, TopArms
from caet_opt.exploring.bounds import bound_level, confidence_bound
from caet_opt.exploring.index_rounds import count_leaders, least_pulled, next_marked
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.tally import COUNT, MEMORY, View, short_pair, total_count


class Ugape(IndexPolicy):
    """Pulls the less pulled of the arm that is surely good and its rival, and stops when no rival is left.

        B_a = (m-th largest UCB of the others) - LCB_a      an upper bound on what choosing a may lose

    J holds the m arms with the least B, l its arm with the least LCB, u the other arm with the largest UCB; of the two
    the less pulled is next, and the rule stops when B <= 0 for all of J. Bounds are those of `kl-racing`, and as there
    the evidence of every pair has to exceed its threshold as well, which makes what is proven of it hold here: where
    B <= 0 and a pair is short of it, l and u are its arms. MEMORY marks who is next; nobody once it has stopped.
    Source: Gabillon, Ghavamzadeh and Lazaric, NIPS 2012, with the bounds of the family.
    """

    name = "ugape"
    about = "the less pulled of the surest arm and its rival (Gabillon et al. 2012)"
    covered = (BestArm, TopArms)

    @staticmethod
    def choose(view: View) -> int:
        """The marked arm; once it has stopped, the least pulled, for whoever goes on."""
        marked = next_marked(view.arms)
        return marked if marked >= 0 else least_pulled(view.arms)

    @staticmethod
    def learn(view: View, arm: int) -> None:
        """Find the next arm, unless it is over."""
        arms, setting, size = view.arms, view.setting, count_leaders(view.pairs)
        now, number = total_count(arms), arms.shape[1]
        lower, upper, loss = np.empty(number), np.empty(number), np.empty(number)
        for a in range(number):
            arms[MEMORY, a] = 0.0
            level = bound_level(setting, arms, now, a)
            lower[a] = confidence_bound(setting, arms, a, level, False)
            upper[a] = confidence_bound(setting, arms, a, level, True)
        largest = list_largest(upper, size + 1)
        for a in range(number):
            loss[a] = (largest[size] if upper[a] >= largest[size - 1] else largest[size - 1]) - lower[a]
        limit = -list_largest(-loss, size)[size - 1]
        surest, rival, ties = -1, -1, size - count_below(loss, limit)
        for a in range(number):
            if loss[a] < limit or (loss[a] == limit and ties > 0):
                ties -= loss[a] == limit
                if surest < 0 or lower[a] < lower[surest]:
                    surest = a
            elif rival < 0 or upper[a] > upper[rival]:
                rival = a
        if limit <= 0.0:
            short = short_pair(view)
            if short < 0:
                return
            surest, rival = view.pairs[0, short], view.pairs[1, short]
        arms[MEMORY, surest if arms[COUNT, surest] <= arms[COUNT, rival] else rival] = 1.0

    @staticmethod
    def ended(view: View) -> bool:
        """Whether nobody is to be pulled."""
        return next_marked(view.arms) < 0


def count_below(values: Array, limit: float) -> int:
    """How many values are below a limit."""
    below = 0
    for value in values:
        below += value < limit
    return below


def list_largest(values: Array, size: int) -> Array:
    """The largest values, in falling order."""
    found = np.full(size, -inf)
    for value in values:
        at = size
        while at > 0 and value > found[at - 1]:
            at -= 1
        for later in range(size - 1, at, -1):
            found[later] = found[later - 1]
        if at < size:
            found[at] = value
    return found
