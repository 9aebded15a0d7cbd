"""Derivatives of T* with respect to costs and means, read off the optimum."""

from collections.abc import Sequence
from math import inf, nan

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import GAPS, BanditModel
from caet_opt.bandits.tasks import Pair


def cost_sensitivities(model: BanditModel, pairs: Sequence[Pair], effort: Array, binding: set[Pair]) -> Array:
    """``dT*/dc_a = w_a``, for the effort scaled to ``min_e f_e = 1``.

    For a free arm it is the derivative to the right: the least effort with which its pairs would still hold. That
    is infinite when one of them is binding, where T* grows like the square root of the cost.
    """
    result = np.array(effort)
    for arm in np.flatnonzero(np.array(model.costs) == 0).tolist():
        result[arm] = max((least_effort(model, pair, arm, effort, binding) for pair in pairs), default=0.0)
    return result


def least_effort(model: BanditModel, pair: Pair, arm: int, effort: Array, binding: set[Pair]) -> float:
    """The effort of a free arm at which ``f_e = 1`` for a pair it occurs in, the other arm's effort given."""
    if arm not in pair:
        return 0.0
    if pair in binding:
        return inf
    other = pair[1] if arm == pair[0] else pair[0]
    phi = model.dispersions
    x, y = model.means[arm], model.means[other]
    if model.costs[other] == 0:
        return float(phi[arm] / model.family.unit_divergence(x, y, y - x))
    low, high, w_other = -700.0, 700.0, effort[other] / phi[other]
    for _ in range(80):
        middle = 0.5 * (low + high)
        w = np.exp(middle)
        share, rest = w / (w + w_other), w_other / (w + w_other)
        mixture = model.family.mixture_divergence
        term = w * mixture(x, y, share, rest) + w_other * mixture(y, x, rest, share)
        low, high = (middle, high) if term < 1 else (low, middle)
    return float(phi[arm] * np.exp(high)) if high > -690 else 0.0


def mean_sensitivities(model: BanditModel, pairs: Sequence[Pair], effort: Array, multipliers: Array) -> Array:
    """``dT*/dmu_a = -sum_e z_e df_e/dmu_a`` at fixed costs, for ``min_e f_e = 1`` and multipliers that sum to T*.

    With natural parameter theta and m the common mean, ``df_e/dmu_a = w_a (theta(mu_a) - theta(m))``; for a free
    arm b it is ``w_a (mu_b - mu_a) / V(mu_b)``.
    """
    phi, theta = model.dispersions, model.family.natural_parameter
    result = np.zeros(len(model.means))
    with np.errstate(divide="ignore"):
        for (a, b), z in zip(pairs, multipliers, strict=True):
            if z == 0.0:
                continue
            if model.costs[a] == 0 or model.costs[b] == 0:
                costly, free = (a, b) if model.costs[a] > 0 else (b, a)
                w, x, y = effort[costly] / phi[costly], model.means[costly], model.means[free]
                result[costly] -= z * w * (theta(x) - theta(y))
                result[free] -= z * w * (y - x) / model.family.unit_variance(y)
                continue
            wa, wb = effort[a] / phi[a], effort[b] / phi[b]
            m = (wa * model.means[a] + wb * model.means[b]) / (wa + wb)
            result[a] -= z * wa * (theta(model.means[a]) - theta(m))
            result[b] -= z * wb * (theta(model.means[b]) - theta(m))
    return result


def total_mean_sensitivities(
    model: BanditModel, pairs: Sequence[Pair], effort: Array, multipliers: Array, by_cost: Array
) -> Array:
    """dT*/dmu_a with everything that moves with the mean, ``by_cost`` being dT*/dc.

    Costs that were given stay. Costs that are gaps, ``c_b = max mu - mu_b``, follow: an arm's own cost falls as its
    mean rises, and every other cost rises with the mean of the best arm, which itself stays free:

        dT*/dmu_a = (dT*/dmu_a at fixed costs) - dT*/dc_a                            a is not the best arm
        dT*/dmu_a = (dT*/dmu_a at fixed costs) + sum over the others b of dT*/dc_b   a is the best arm

    Where several arms are best, T* has a kink in each of their means: as one rises the others begin to cost. The
    derivative is nan there.
    """
    partial = mean_sensitivities(model, pairs, effort, multipliers)
    if model.cost_rule != GAPS:
        return partial
    best = np.array(model.costs) == 0
    others = np.sum(by_cost[~best]) if np.sum(best) == 1 else nan
    return np.where(best, partial + others, partial - by_cost)
