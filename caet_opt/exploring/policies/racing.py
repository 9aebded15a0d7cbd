"""Policies that drop arms one after the other until one is left: the best arm."""

from collections.abc import Hashable

import numpy as np

from caet_opt.bandits.tasks import BestArm
from caet_opt.errors import InputError
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.state import State
from caet_opt.kernels.choosing import find_survivor, is_beaten, least_spent, race_ends
from caet_opt.kernels.confidence import bound_level, confidence_bound
from caet_opt.kernels.ledger import COUNT, MEAN, MEMORY, ROUND, Seen, update_costs


class Elimination(IndexPolicy):
    """Drops an arm b once the evidence that a survivor beats it exceeds the threshold, and ends with one survivor.

    An arm that was dropped has a one in the row MEMORY. The answer is wrong only if the best arm was dropped, which
    takes a pair (b, best) that wrongly exceeds the threshold: the K - 1 pairs at risk of the task. So what is proven of
    a threshold is proven here, too.
    """

    covered = (BestArm,)
    may_starve = True
    by_means = True

    @staticmethod
    def choose(view: Seen) -> int:
        """The next survivor of the lap: the one with the fewest pulls."""
        return find_survivor(view.arms, COUNT, 1.0)

    @staticmethod
    def ended(view: Seen) -> bool:
        """Whether one arm is left."""
        survivors = 0
        for a in range(view.arms.shape[1]):
            survivors += view.arms[MEMORY, a] == 0.0
        return survivors == 1

    @staticmethod
    def refresh(view: Seen, arm: int) -> bool:
        """The costs; pairs and their evidence are those of the survivors, which the rule looks at when it drops."""
        update_costs(view.setting, view.arms, arm)
        return True

    def check_state(self, state: State) -> None:
        super().check_state(state)
        if not set(state.memory) <= {0.0, 1.0} or 0.0 not in state.memory:
            raise InputError(
                f"memory of a saved state of {self.name!r} has a 1 for every arm that was dropped and a 0 for one or "
                f"more others, got {state.memory}"
            )

    def answer(self, state: State) -> Hashable:
        """The best of the survivors."""
        kept = np.where(np.array(state.memory) > 0, -np.inf, state.means())
        return self.setup.task.answer(kept.tolist())


class ChernoffOverlap(Elimination):
    """Among surviving arms the one with the least ``sqrt(c_a) N_a``; b is dropped when Z of (best, b) exceeds the
    threshold.

    Free survivors take the zero-cost share of the pulls. While several arms survive, their pulls are proportional to
    ``1 / sqrt(c_a)``. Source: Kanarios, Zhang and Ying 2024 (CO).
    """

    name = "chernoff-overlap"
    about = "pulls cheap arms more often, and drops arms that lose (CO: Kanarios, Zhang, Ying 2024)"

    @staticmethod
    def choose(view: Seen) -> int:
        """A free survivor when it is their turn, else the costly one with the least ``sqrt(c_a) N_a``."""
        return least_spent(view, True, MEMORY)

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """Drop every survivor that the best one beats."""
        arms, best = view.arms, find_survivor(view.arms, MEAN, -1.0)
        for b in range(arms.shape[1]):
            if b != best and arms[MEMORY, b] == 0.0 and is_beaten(view, best, b):
                arms[MEMORY, b] = 1.0


class ChernoffRacing(Elimination):
    """All survivors in turn; after each lap the worst is dropped when Z of (best, worst) exceeds the threshold.

    While several arms survive, each has the same number of pulls. Source: Garivier and Kaufmann, COLT 2016.
    """

    name = "chernoff-racing"
    about = "pulls arms in turn; drops the worst when the evidence against it suffices (Garivier, Kaufmann 2016)"

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """Drop the worst survivor at the end of a lap if the best one beats it."""
        best, worst = race_ends(view.arms)
        if best != worst and is_beaten(view, best, worst):
            view.arms[MEMORY, worst] = 1.0


class KlRacing(Elimination):
    """All survivors in turn; after each lap the worst is dropped when its upper bound is below the best lower bound.

        LCB_a, UCB_a : the least and the largest q with  N_a d(mu_a, q) <= beta_a

    with beta_a the threshold of two arms with N_a pulls each (`caet_opt.kernels.confidence.bound_level`). Where bounds
    at the same beta do not overlap, Z exceeds beta: one of the two terms of Z does, whichever side of a bound m is on.
    For thresholds that depend on the pair Z has to exceed its threshold as well, so that what is proven of it holds.
    Source: Kaufmann and Kalyanakrishnan, COLT 2013.
    """

    name = "kl-racing"
    about = "pulls arms in turn; drops the worst when its upper bound is too low (Kaufmann, Kalyanakrishnan 2013)"

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """Drop the worst survivor at the end of a lap if its bounds and the evidence say so."""
        arms, setting, now = view.arms, view.setting, view.clock[ROUND]
        best, worst = race_ends(arms)
        if best == worst:
            return
        highest = confidence_bound(setting, arms, worst, bound_level(setting, arms, now, worst), True)
        lowest = confidence_bound(setting, arms, best, bound_level(setting, arms, now, best), False)
        if highest < lowest and is_beaten(view, best, worst):
            arms[MEMORY, worst] = 1.0
