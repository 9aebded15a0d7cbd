"""Racing with confidence bounds."""

from caet_opt.exploring.policies.elimination import Elimination
from caet_opt.kernels.choosing import best_survivor, is_beaten, lap_is_over, next_survivor, worst_survivor
from caet_opt.kernels.confidence import bound_level, confidence_bound
from caet_opt.kernels.ledger import MEMORY, Seen, total_count


class KlRacing(Elimination):
    """All survivors in turn; after each lap the worst is dropped when its upper bound is below the best lower bound.

        LCB_a, UCB_a : the least and the largest q with  N_a d(mu_a, q) <= beta_a

    with beta_a the threshold of two arms with N_a pulls each (`caet_opt.kernels.confidence.bound_level`). Where bounds
    at the same beta do not overlap, Z exceeds beta: one of the two terms of Z does, whichever side of a bound m is on.
    For thresholds that depend on the pair Z has to exceed its threshold as well, so that what is proven of it holds.
    Source: Kaufmann and Kalyanakrishnan, COLT 2013.
    """

    name = "kl-racing"
    about = "survivors in turn; drops the worst by bounds (Kaufmann, Kalyanakrishnan 2013)"

    @staticmethod
    def choose(view: Seen) -> int:
        """The next survivor of the lap."""
        return next_survivor(view.arms)

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """Drop the worst survivor at the end of a lap if its bounds and the evidence say so."""
        arms, setting = view.arms, view.setting
        best, worst = best_survivor(arms), worst_survivor(arms)
        if best == worst or not lap_is_over(arms):
            return
        now = total_count(arms)
        highest = confidence_bound(setting, arms, worst, bound_level(setting, arms, now, worst), True)
        lowest = confidence_bound(setting, arms, best, bound_level(setting, arms, now, best), False)
        if highest < lowest and is_beaten(view, now, best, worst):
            arms[MEMORY, worst] = 1.0
