"""Policies that pull a leader or its challenger, told apart by confidence bounds."""

from math import inf

import numpy as np

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks import BestArm, TopArms
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.kernels.choosing import least_pulled, next_marked
from caet_opt.kernels.confidence import bound_level, confidence_bound, is_bound_above, levels_are_equal
from caet_opt.kernels.ledger import COUNT, MEMORY, ORDER, PROJECTED, ROUND, Seen, short_pair


class Marking(IndexPolicy):
    """Its `learn` marks in the row MEMORY who is pulled next, the least mark first, and nobody once it has stopped."""

    covered = (BestArm, TopArms)
    may_starve = True
    by_means = True

    @staticmethod
    def choose(view: Seen) -> int:
        """The marked arm; once it has stopped, the least pulled, for whoever goes on."""
        marked = next_marked(view.arms)
        return marked if marked >= 0 else least_pulled(view.arms)

    @staticmethod
    def ended(view: Seen) -> bool:
        """Whether nobody is to be pulled."""
        return next_marked(view.arms) < 0


class KlLucb(Marking):
    """Pulls the weakest leader and its strongest challenger, both, and stops when their bounds do not overlap.

    Leaders are the empirically best arm or arms; l is the leader with the least LCB, u the other arm with the largest
    UCB, and the rule stops when ``LCB_l >= UCB_u``. Bounds are those of `kl-racing`, and as there the evidence of every
    pair has to exceed its threshold as well, which makes what is proven of it hold here: where bounds are apart and a
    pair is short of it, its two arms are pulled. MEMORY says who is first (1) and second (2); nobody once it has
    stopped.
    Source: Kaufmann and Kalyanakrishnan, COLT 2013.
    """

    name = "kl-lucb"
    about = "pulls the leader and its closest challenger (Kaufmann, Kalyanakrishnan 2013)"

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """After both pulls, find the next two, unless it is over."""
        arms, setting = view.arms, view.setting
        arms[MEMORY, arm] = 0.0
        if next_marked(arms) >= 0:
            return
        for a in range(arms.shape[1]):
            arms[PROJECTED, a] = 0.0
        for p in range(view.pairs.shape[1]):  # a one for every leader
            arms[PROJECTED, view.pairs[0, p]] = 1.0
        now, equal, level = view.clock[ROUND], levels_are_equal(setting), 0.0
        leader, rival, lowest, highest = 0, 0, inf, -inf
        for place in range(arms.shape[1]):
            a = int(arms[ORDER, place])
            level = level if place > 0 and equal else bound_level(setting, arms, now, a)
            if arms[PROJECTED, a] > 0.0:
                bound = confidence_bound(setting, arms, a, level, False)
                if bound < lowest:
                    leader, lowest = a, bound
            elif highest == -inf or is_bound_above(setting, arms, a, level, True, highest):
                rival, highest = a, confidence_bound(setting, arms, a, level, True)
        if lowest >= highest:
            short = short_pair(view)
            if short < 0:
                return
            leader, rival = view.pairs[0, short], view.pairs[1, short]
        arms[MEMORY, leader], arms[MEMORY, rival] = 1.0, 2.0


class Ugape(Marking):
    """Pulls the less pulled of the arm that is surely good and its rival, and stops when no rival is left.

        B_a = (m-th largest UCB of the others) - LCB_a      an upper bound on what choosing a may lose

    J holds the m arms with the least B, l its arm with the least LCB, u the other arm with the largest UCB; of the two
    the less pulled is next, and the rule stops when B <= 0 for all of J. Bounds are those of `kl-racing`, and as there
    the evidence of every pair has to exceed its threshold as well, which makes what is proven of it hold here: where
    B <= 0 and a pair is short of it, l and u are its arms. MEMORY marks who is next; nobody once it has stopped.
    Source: Gabillon, Ghavamzadeh and Lazaric, NIPS 2012, with the bounds of the family.
    """

    name = "ugape"
    about = "pulls the surest arm or its closest rival, whichever has fewer pulls (Gabillon et al. 2012)"

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """Find the next arm, unless it is over."""
        arms, setting, pairs, others = view.arms, view.setting, view.pairs, 1
        while others < pairs.shape[1] and pairs[0, others] == pairs[0, 0]:
            others += 1
        size = pairs.shape[1] // others  # m: the pairs are those of each of m arms with each of the others
        now, equal, level = view.clock[ROUND], levels_are_equal(setting), 0.0
        upper, holder = np.full(size + 1, -inf), np.zeros(size + 1, dtype=np.int64)
        for place in range(arms.shape[1]):
            a = int(arms[ORDER, place])
            arms[MEMORY, a] = 0.0
            level = level if place > 0 and equal else bound_level(setting, arms, now, a)
            if upper[size] == -inf or is_bound_above(setting, arms, a, level, True, upper[size]):
                insert(upper, holder, confidence_bound(setting, arms, a, level, True), a)
        for place in range(size):
            arms[MEMORY, holder[place]] = 1.0
        gain, chosen = np.full(size, -inf), np.zeros(size, dtype=np.int64)
        for place in range(arms.shape[1]):  # gain is -B
            a = int(arms[ORDER, place])
            rival = upper[size] if arms[MEMORY, a] > 0.0 else upper[size - 1]
            level = level if equal else bound_level(setting, arms, now, a)
            if gain[size - 1] == -inf or is_bound_above(setting, arms, a, level, False, rival + gain[size - 1]):
                insert(gain, chosen, confidence_bound(setting, arms, a, level, False) - rival, a)
        mark_next(view, holder, chosen, gain[size - 1] >= 0.0)


def insert(values: Array, names: Integers, value: float, name: int) -> None:
    """Put a value and its name into lists that are in falling order, from which the last ones fall out."""
    at = values.size
    while at > 0 and value > values[at - 1]:
        at -= 1
    for later in range(values.size - 1, at, -1):
        values[later], names[later] = values[later - 1], names[later - 1]
    if at < values.size:
        values[at], names[at] = value, name


def mark_next(view: Seen, holder: Integers, chosen: Integers, sure: bool) -> None:
    """Mark the less pulled of the arm of J with the least LCB and the strongest other arm; nobody when it is over."""
    arms, now = view.arms, view.clock[ROUND]
    for a in range(arms.shape[1]):
        arms[MEMORY, a] = 0.0
    for place in range(chosen.size):
        arms[MEMORY, chosen[place]] = 1.0
    rival = holder[0]
    for place in range(holder.size - 1, -1, -1):
        if arms[MEMORY, holder[place]] == 0.0:
            rival = holder[place]
    surest, lowest = chosen[0], inf
    for place in range(chosen.size):
        arms[MEMORY, chosen[place]] = 0.0
        if chosen.size > 1:
            level = bound_level(view.setting, arms, now, chosen[place])
            bound = confidence_bound(view.setting, arms, chosen[place], level, False)
            if bound < lowest:
                surest, lowest = chosen[place], bound
    if sure:
        short = short_pair(view)
        if short < 0:
            return
        surest, rival = view.pairs[0, short], view.pairs[1, short]
    arms[MEMORY, surest if arms[COUNT, surest] <= arms[COUNT, rival] else rival] = 1.0
