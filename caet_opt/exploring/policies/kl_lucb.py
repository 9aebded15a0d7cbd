"""Lower and upper confidence bounds."""

from math import inf

from caet_opt.exploring.policies.marking import Marking
from caet_opt.kernels.choosing import clear_mark, mark_leaders
from caet_opt.kernels.confidence import bound_level, confidence_bound, levels_are_equal, reaches
from caet_opt.kernels.ledger import MEMORY, PROJECTED, Seen, short_pair, total_count


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
    about = "leader and challenger by confidence bounds (Kaufmann, Kalyanakrishnan 2013)"

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """After both pulls, find the next two, unless it is over."""
        arms, setting = view.arms, view.setting
        if clear_mark(arms, arm):
            return
        mark_leaders(view)
        now, equal, level = total_count(arms), levels_are_equal(setting), 0.0
        leader, rival, lowest, highest = 0, 0, inf, -inf
        for a in range(arms.shape[1]):
            level = level if a > 0 and equal else bound_level(setting, arms, now, a)
            if arms[PROJECTED, a] > 0.0:
                bound = confidence_bound(setting, arms, a, level, False)
                if bound < lowest:
                    leader, lowest = a, bound
            elif highest == -inf or reaches(setting, arms, a, level, highest):
                rival, highest = a, confidence_bound(setting, arms, a, level, True)
        if lowest >= highest:
            short = short_pair(view)
            if short < 0:
                return
            leader, rival = view.pairs[0, short], view.pairs[1, short]
        arms[MEMORY, leader], arms[MEMORY, rival] = 1.0, 2.0
