"""The rules of CAET's sampling, those of the paper and those for what the paper leaves out, in one place.

1. First rounds: while some arm has no observation the target is uniform, so every arm is pulled once, in order.
2. Ties: when the empirical means of a needed pair are equal, T* is infinite and only such pairs matter. The target
   is uniform on their costly arms, or on all their arms when none of them costs anything.
3. Boundary: a costly arm whose needed pairs all have infinite divergence (a free Bernoulli arm at an empirical mean
   of 0, say) needs no effort; it has u* = 0 and is pulled by forced exploration only.
4. Free arms: they share ``alpha``, and the costly arms ``1 - alpha``. With no free arm in the support the target is
   u*; with no effort to spend on costly arms it is uniform on the free arms of the support.
5. A changed answer changes the pairs and with them the target, from that round on; the cumulated target stays.
"""

from collections.abc import Sequence

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.tasks import Pair
from caet_opt.exploring.tracking_rounds import project_into
from caet_opt.solving.result import CharacteristicTime


def drop_negligible_costs(costs: Array, negligible: float) -> Array:
    """D_delta: costs up to the threshold become zero."""
    return np.where(costs > negligible, costs, 0.0)


def tied_target(pairs: Sequence[Pair], means: Array, costs: Array) -> Array:
    """Uniform on the costly arms of tied pairs, or on all their arms when none is costly (rule 2)."""
    tied = sorted({arm for a, b in pairs if means[a] == means[b] for arm in (a, b)})
    costly = [arm for arm in tied if costs[arm] > 0]
    target = np.zeros(len(means))
    target[costly or tied] = 1.0 / len(costly or tied)
    return target


def proportions(effort: Array, costs: Array) -> Array:
    """u*: the shares of the costly arms in their effort; zeros where there is none.

    The sum is taken from the first arm to the last, as the compiled loop takes it, where numpy sums in pairs.
    """
    spent = np.where(costs > 0, effort, 0.0)
    total = float(np.add.accumulate(spent)[-1])
    return spent / total if total > 0 else spent


def shared_target(proportions: Array, costs: Array, support: Sequence[int], alpha: float) -> Array:
    """``u_alpha``: alpha spread over the free arms of the support, (1 - alpha) u* on the costly ones (rule 4)."""
    free = [arm for arm in support if costs[arm] == 0]
    if not free:
        return proportions
    target = np.zeros(len(costs))
    if not np.any(proportions > 0):
        target[free] = 1.0 / len(free)
        return target
    target[free] = alpha / len(free)
    return target + (1.0 - alpha) * proportions


def target_of(found: CharacteristicTime, alpha: float) -> Array:
    """``u_alpha`` of a solved model, for the costs that it was solved with."""
    costs = np.array(found.model.costs)
    support = sorted({arm for pair in found.pairs for arm in pair})
    return shared_target(proportions(found.effort, costs), costs, support, alpha)


def prior_scales(costs: Array | None, arms: int, alpha: float) -> Array:
    """How many times rho the prior of each arm is worth in the e-process, fixed before the first pull.

    An arm that is known to be free will have about ``alpha / (1 - alpha) (costly arms) / (free arms)`` times the pulls
    of a costly one (1 - alpha at least 0.001), and its prior is worth so many times as much, or as much if that is less
    than one. Where costs are not known beforehand all priors are worth the same.
    """
    free = np.zeros(arms, dtype=bool) if costs is None else costs == 0
    factor = alpha / max(1.0 - alpha, 1e-3) * np.sum(~free) / max(1, int(np.sum(free)))
    return np.where(free, max(1.0, float(factor)), 1.0)


def exploration_floor(arms: int, round_: int) -> float:
    """``epsilon_t = (K^2 + t)^(-1/2) / 2``."""
    return float(0.5 / np.sqrt(arms * arms + round_))


def mean_exploration_floor(arms: int, rounds: float) -> float:
    """The mean of the floors of so many rounds, ``(1/t) integral of epsilon_s over s = 1 / (K + sqrt(K^2 + t))``."""
    return float(1.0 / (arms + np.sqrt(arms * arms + rounds)))


def project(target: Array, floor: float) -> Array:
    """L-infinity projection on ``{u : u_a >= floor, sum u = 1}``: `caet_opt.exploring.tracking_rounds.project_into`."""
    projected = np.empty_like(target)
    project_into(target, floor, projected)
    return projected
