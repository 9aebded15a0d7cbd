"""Policies that pull an arm of the pair whose evidence is least, by one rule or another."""

from math import inf

import numpy as np

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.kernels.choosing import free_turn, named_arms, share_of_first, weakest_pair
from caet_opt.kernels.draws import posterior_mean, uniform
from caet_opt.kernels.ledger import (
    COST,
    COUNT,
    MEAN,
    PROJECTED,
    ROUND,
    Seen,
    answer_holds,
    evidence_between,
    evidence_of,
    is_stated,
    weight_of,
    write_answer,
)

#: Draws of posterior means begin here, in steps of 64 indices; those before are for the coin and for ties.
TIES = 16


class BestChallenger(IndexPolicy):
    """The pair with the least Z, then its arm with the larger divergence per cost, ``d(mu_a, m) / c_a``.

    That is the arm whose next pull adds most evidence to the pair per unit of cost. Free arms take the zero-cost share
    of the pulls, and of a pair with a free arm the costly one is pulled. For two arms its pulls tend to those at which
    both divergences per cost are equal; there is no proof that it is optimal.
    Source: Garivier and Kaufmann, COLT 2016, for best arm; here for the pairs of any task.
    """

    name = "best-challenger"
    about = (
        "takes the comparison with the least evidence; pulls the arm that adds most per cost (Garivier, Kaufmann 2016)"
    )
    may_starve = True

    @staticmethod
    def choose(view: Seen) -> int:
        """A free arm when it is their turn, else the better arm of the weakest pair that costs something."""
        arms, free = view.arms, free_turn(view, -1)
        if free >= 0:
            return free
        pair = weakest_pair(view, False, True)
        a, b = named_arms(view.pairs, pair)
        if a == b or arms[COST, a] == 0.0 or arms[COST, b] == 0.0:
            return b if arms[COST, a] == 0.0 else a
        share = share_of_first(view, pair)
        first, second = share / (arms[COST, a] * arms[COUNT, a]), (1.0 - share) / (arms[COST, b] * arms[COUNT, b])
        return a if first > second or (first == second and arms[COUNT, a] <= arms[COUNT, b]) else b


class TopTwo(IndexPolicy):
    """The pair (a, b) of the answer with the least ``Z_ab + log N_b``, then one of its arms by a fair coin.

    b is the challenger, and the logarithm of its count explores ("TCI"). For best arm a is the empirically best arm,
    half of the pulls go to it, and the pulls tend to the best proportions of which that is true. Costs play no part.
    Source: Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022 (EB-TCI), for best arm; here for the pairs of any task.
    """

    name = "top-two"
    about = "takes the least certain comparison; pulls one of its two arms at random (Jourdan et al. 2022)"

    @staticmethod
    def choose(view: Seen) -> int:
        """One of the two arms of the weakest pair."""
        a, b = named_arms(view.pairs, weakest_pair(view, True, False))
        return a if uniform(view.setting.seed, int(view.clock[ROUND]), 0) < 0.5 else b


class TopTwoIds(IndexPolicy):
    """The pair of `top-two`, then its arm a with probability proportional to ``p_a / c_a``, p_a its share in Z.

        p_a = N_a d(mu_a, m) / Z_ab,     p_b = 1 - p_a

    At the optimum ``c_a w_a = sum over pairs e at a of z_e p_ea``: each pair carries a cost z_e and splits it by the
    shares, which is what these probabilities do. Free arms take the zero-cost share of the pulls, and of a pair with a
    free arm the costly one is pulled. Its pulls tend to u*.
    Source: Qin and You (dual-directed design, information-directed selection), here with costs, for any task's pairs.
    """

    name = "top-two-ids"
    about = "like top-two, but chooses the arm by its optimal share of the cost (Qin, You)"
    optimal = True

    @staticmethod
    def choose(view: Seen) -> int:
        """A free arm when it is their turn, else an arm of the weakest pair that costs something."""
        free = free_turn(view, -1)
        if free >= 0:
            return free
        pair = weakest_pair(view, True, True)
        a, b = named_arms(view.pairs, pair)
        ca, cb = view.arms[COST, a], view.arms[COST, b]
        if a == b or ca == 0.0 or cb == 0.0:
            return b if ca == 0.0 else a
        share = share_of_first(view, pair)
        first, second = share / ca, (1.0 - share) / cb
        return a if uniform(view.setting.seed, int(view.clock[ROUND]), 0) * (first + second) < first else b


class ThompsonTopTwo(IndexPolicy):
    """The answer of one draw from the posterior, its pair with the least Z, and one of the two arms by a fair coin.

    Z of a pair that the empirical means contradict is zero, and among several such pairs each is as likely. The priors
    are in `caet_opt.kernels.draws.posterior_mean`. For best arm half of the pulls go to the best arm, and the pulls
    tend to the best proportions of which that is true. Costs play no part.
    Source: Shang, de Heide, Kaufmann, Menard and Valko 2020 (T3C), for best arm; here for the pairs of any task.
    """

    name = "thompson-top-two"
    about = "like top-two, but for the answer to means drawn from the posterior (T3C: Shang et al. 2020)"
    shipped_only = True
    by_means = True

    @staticmethod
    def choose(view: Seen) -> int:
        """The arm for the answer of the draw; a task that compiled code does not know is left to the object."""
        draw_means(view)
        if answer_holds(view, view.arms[PROJECTED], -1):  # the draw says what the empirical means say
            return choose_from(view, view.pairs, view.evidence)
        if view.shape < 0:
            return -1
        pairs, margins = view.pairs.copy(), view.margins.copy()
        write_answer(view, view.arms[PROJECTED], pairs, margins)
        return choose_from(view, pairs, weigh_drawn(view, pairs, margins))

    def choose_here(self, view: Seen) -> int:
        draw_means(view)
        found = self.columns(view.arms[PROJECTED])
        return choose_from(view, found.pairs, weigh_drawn(view, *found))


def draw_means(view: Seen) -> None:
    """One draw of every arm's mean, in the row PROJECTED."""
    arms, setting = view.arms, view.setting
    now = int(view.clock[ROUND])
    for a in range(arms.shape[1]):
        weight = weight_of(setting, arms, a)
        arms[PROJECTED, a] = posterior_mean(setting.family, weight, arms[MEAN, a], setting.seed, now, TIES + a)


def weigh_drawn(view: Seen, pairs: Integers, margins: Array) -> Array:
    """Z of each statement of the draw's answer, zero where the empirical means contradict it."""
    evidence = np.zeros(pairs.shape[1])
    for p in range(pairs.shape[1]):
        if is_stated(view):
            evidence[p] = evidence_of(view.setting, view.arms, pairs, margins, p)
        elif view.arms[MEAN, pairs[0, p]] > view.arms[MEAN, pairs[1, p]]:
            a, b = pairs[0, p], pairs[1, p]
            evidence[p] = evidence_between(view.setting, view.arms, a, b, view.arms[MEAN, a], view.arms[MEAN, b])
    return evidence


def choose_from(view: Seen, pairs: Integers, evidence: Array) -> int:
    """One arm of the statement with the least Z, one of those at random if there are several."""
    seed, now = view.setting.seed, int(view.clock[ROUND])
    ties, chosen, least = 0, 0, inf
    for p in range(evidence.size):
        if is_stated(view) and evidence[p] == inf:  # of no arm, or a second piece
            continue
        if evidence[p] < least:
            ties, chosen, least = 1, p, evidence[p]
        elif evidence[p] == least:
            ties += 1
            if uniform(seed, now, min(ties, 64 * TIES - 1)) * ties < 1.0:  # of n ties the last with probability 1 / n
                chosen = p
    a, b = named_arms(pairs, chosen)
    return a if uniform(seed, now, 0) < 0.5 else b
