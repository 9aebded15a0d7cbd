"""Derivatives of T* with respect to costs and means, read off the optimum."""

from collections.abc import Sequence
from math import inf, nan

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import GAPS, BanditModel
from caet_opt.bandits.tasks import Pair
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.native import interpreted_kernel


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
    phi, free = model.dispersions, model.costs[other] == 0
    low, high, w_other = -700.0, 700.0, effort[other] / phi[other]
    for _ in range(80):
        middle = 0.5 * (low + high)
        term = term_of(model, (arm, other), np.exp(middle), w_other, (False, free))[0]
        low, high = (middle, high) if term < 1 else (low, middle)
    return float(phi[arm] * np.exp(high)) if high > -690 else 0.0


def term_of(model: BanditModel, pair: Pair, wa: float, wb: float, free: tuple[bool, bool]) -> tuple[float, ...]:
    """`pair_term` of two arms of a model: their efforts over dispersions, and which of them count as free."""
    (a, b), means, rests, family = pair, model.means, model.mean_rests, type(model.family)
    kernel, code = interpreted_kernel(family), FAMILY_CODES.get(family, -1)
    found: tuple[float, ...] = kernel["pair_term"](code, wa, wb, means[a], means[b], rests[a], rests[b], *free)
    return found


def mean_sensitivities(model: BanditModel, pairs: Sequence[Pair], effort: Array, multipliers: Array) -> Array:
    """``dT*/dmu_a = -sum_e z_e df_e/dmu_a`` at fixed costs, for ``min_e f_e = 1`` and multipliers that sum to T*.

    With natural parameter theta and m the common mean, ``df_e/dmu_a = w_a (theta(mu_a) - theta(m))``; for a free
    arm b it is ``w_a (mu_b - mu_a) / V(mu_b)``.
    """
    means, costs, theta = model.means, model.costs, model.family.natural_parameter
    w, result = effort / model.dispersions, np.zeros(len(means))
    with np.errstate(divide="ignore"):
        for (a, b), z in zip(pairs, multipliers, strict=True):
            if z == 0.0:
                continue
            *_, ua, ub = term_of(model, (a, b), w[a], w[b], (costs[a] == 0, costs[b] == 0))
            m = ua * means[a] + ub * means[b]
            for arm, other in ((a, b), (b, a)):
                if costs[arm] > 0:
                    result[arm] -= z * w[arm] * (theta(means[arm]) - theta(m))
                else:
                    result[arm] -= z * w[other] * (m - means[other]) / model.family.unit_variance(m)
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
