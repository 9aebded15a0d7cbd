"""The top-two rule whose first of two is drawn from the posterior."""

from math import inf

import numpy as np

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import write_pairs
from caet_opt.exploring.policies.base import as_columns
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.kernels.draws import posterior_mean, uniform
from caet_opt.kernels.ledger import MEAN, PROJECTED, Seen, evidence_between, total_count, weight_of

#: Draws of posterior means begin here, in steps of 64 indices; those before are for the coin and for ties.
TIES = 16


class ThompsonTopTwo(IndexPolicy):
    """The answer of one draw from the posterior, its pair with the least Z, and one of the two arms by a fair coin.

    Z of a pair that the empirical means contradict is zero, and among several such pairs each is as likely. The priors
    are in `caet_opt.kernels.draws.posterior_mean`. For best arm half of the pulls go to the best arm, and the pulls
    tend to the best proportions of which that is true. Costs play no part.
    Source: Shang, de Heide, Kaufmann, Menard and Valko 2020 (T3C), for best arm; here for the pairs of any task.
    """

    name = "thompson-top-two"
    about = "an arm of the weakest pair of a posterior draw's answer (T3C, Shang et al. 2020)"
    shipped_only = True

    @staticmethod
    def choose(view: Seen) -> int:
        """The arm for the answer of the draw; a task that compiled code does not know is left to the object."""
        draw_means(view)
        if drawn_pairs_hold(view):
            return choose_from(view, view.pairs, view.evidence)
        if view.shape < 0:
            return -1
        pairs = view.pairs.copy()
        write_pairs(view.shape, view.members, view.arms[PROJECTED], pairs)
        return choose_from(view, pairs, weigh_drawn(view, pairs))

    def choose_here(self, view: Seen) -> int:
        draw_means(view)
        pairs = as_columns(self.setup.task.pairs(view.arms[PROJECTED].tolist()))
        return choose_from(view, pairs, weigh_drawn(view, pairs))


def draw_means(view: Seen) -> None:
    """One draw of every arm's mean, in the row PROJECTED."""
    arms, setting = view.arms, view.setting
    now = int(total_count(arms))
    for a in range(arms.shape[1]):
        weight = weight_of(setting, arms, a)
        arms[PROJECTED, a] = posterior_mean(setting.family, weight, arms[MEAN, a], setting.seed, now, TIES + a)


def drawn_pairs_hold(view: Seen) -> bool:
    """Whether the draw says the same answer as the empirical means: all of its pairs hold."""
    for p in range(view.pairs.shape[1]):
        if not view.arms[PROJECTED, view.pairs[0, p]] > view.arms[PROJECTED, view.pairs[1, p]]:
            return False
    return True


def weigh_drawn(view: Seen, pairs: Integers) -> Array:
    """Z of each pair of the draw's answer, zero where the empirical means contradict it."""
    evidence = np.zeros(pairs.shape[1])
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if view.arms[MEAN, a] > view.arms[MEAN, b]:
            evidence[p] = evidence_between(view.setting, view.arms, a, b)
    return evidence


def choose_from(view: Seen, pairs: Integers, evidence: Array) -> int:
    """One arm of the pair with the least Z, one of those at random if there are several."""
    seed, now = view.setting.seed, int(total_count(view.arms))
    ties, chosen, least = 0, 0, inf
    for p in range(evidence.size):
        if evidence[p] < least:
            ties, chosen, least = 1, p, evidence[p]
        elif evidence[p] == least:
            ties += 1
            if (
                uniform(seed, now, min(ties, 64 * TIES - 1)) * ties < 1.0
            ):  # the last of n ties is taken with probability 1 / n
                chosen = p
    return int(pairs[0 if uniform(seed, now, 0) < 0.5 else 1, chosen])
