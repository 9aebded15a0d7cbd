"""Bounds on T* that hold for any effort and any pair weights, whoever computed them.

This module sees the model, the pairs, a point and weights. It knows neither the solver nor the reduced problem.
"""

from collections.abc import Sequence
from math import inf, isfinite
from sys import float_info
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caet_opt.families.numerics import Array, Mask
from caet_opt.model import BanditModel
from caet_opt.tasks import Pair

Indices = NDArray[np.intp]

#: Allowance for rounding in the evaluation of a bound, in units of the last place, plus one per summed term.
ROUNDING_ULPS = 16


class Certificate(NamedTuple):
    """``lower <= T* <= upper``; ``value`` is the upper bound before the allowance for rounding."""

    value: float
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """Relative width of the certified interval; one when there is no upper bound."""
        if not isfinite(self.upper):
            return 1.0
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0


def certify(model: BanditModel, pairs: Sequence[Pair], effort: Array, weights: Array) -> Certificate:
    """Certify T* from an effort per arm and a weight per pair, both non-negative.

    With ``m_e`` the weighted mean of a pair's arms, or the mean of its free arm,

        sum(q) / max_a [ sum_{e at a} q_e d(mu_a, m_e) / c_a ]  <=  T*  <=  c . w / min_e f_e(w).

    A pair whose term is infinite, or whose arms are both free, constrains nothing. Numbers that are negative or not
    finite prove nothing, nor does an effort that leaves a pair without information.
    """
    if not (usable(effort) and usable(weights)):
        return Certificate(inf, 0.0, inf)
    costs = np.array(model.costs)
    a, b = ends(pairs)
    da, db = divergences(model, a, b, effort)
    terms = information(effort[a], da, costs[a] > 0) + information(effort[b], db, costs[b] > 0)
    constraining = ((costs[a] > 0) | (costs[b] > 0)) & np.isfinite(terms)
    if not constraining.any():
        return Certificate(0.0, 0.0, 0.0)
    weights = np.where(constraining, weights, 0.0)
    load = np.zeros(len(costs))
    np.add.at(load, a, weights * np.where((costs[a] > 0) & (weights > 0), da, 0.0))
    np.add.at(load, b, weights * np.where((costs[b] > 0) & (weights > 0), db, 0.0))
    dearest = np.max(load[costs > 0] / costs[costs > 0])
    least = float(np.min(terms[constraining]))
    upper = float(costs @ effort) / least if least > 0 else inf
    return widened(upper, float(np.sum(weights) / dearest) if dearest > 0 else 0.0, len(costs))


def usable(amounts: Array) -> bool:
    """Whether all the numbers are finite and none is negative."""
    return bool(np.all(np.isfinite(amounts)) and np.all(amounts >= 0))


def pair_terms(model: BanditModel, pairs: Sequence[Pair], effort: Array) -> Array:
    """f_e(w) of every pair: infinite when both arms are free or when any positive effort settles the pair."""
    costs = np.array(model.costs)
    a, b = ends(pairs)
    da, db = divergences(model, a, b, effort)
    terms = information(effort[a], da, costs[a] > 0) + information(effort[b], db, costs[b] > 0)
    return np.where((costs[a] > 0) | (costs[b] > 0), terms, np.inf)


def allowance(arms: int) -> float:
    """Relative allowance for rounding in the evaluation of a bound over this many arms."""
    return (ROUNDING_ULPS + 2 * arms) * float_info.epsilon


def widened(upper: float, lower: float, arms: int) -> Certificate:
    """Bounds as computed, moved outwards by the allowance for rounding."""
    margin = allowance(arms)
    return Certificate(upper, min(lower * (1.0 - margin), upper), upper * (1.0 + margin))


def ends(pairs: Sequence[Pair]) -> tuple[Indices, Indices]:
    """First and second arm of each pair."""
    array = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def divergences(model: BanditModel, a: Indices, b: Indices, effort: Array) -> tuple[Array, Array]:
    """``d(mu_a, m_e)`` and ``d(mu_b, m_e)`` of each pair, m_e the common mean or that of the free arm."""
    costs, means, phi = np.array(model.costs), np.array(model.means), model.dispersions
    share_a, share_b = shares(effort[a] / phi[a], effort[b] / phi[b], costs[a] > 0, costs[b] > 0)
    da = model.family.mixture_divergence(means[a], means[b], share_a, share_b) / phi[a]
    db = model.family.mixture_divergence(means[b], means[a], share_b, share_a) / phi[b]
    return da, db


def shares(wa: Array, wb: Array, costly_a: Mask, costly_b: Mask) -> tuple[Array, Array]:
    """Weights of the two arms in their common mean; a free arm, which can be pulled without end, takes all."""
    total = np.where(wa + wb > 0, wa + wb, 1.0)
    share_a = np.where(~costly_b, 0.0, np.where(~costly_a, 1.0, wa / total))
    share_b = np.where(~costly_b, 1.0, np.where(~costly_a, 0.0, wb / total))
    return share_a, share_b


def information(effort: Array, divergence: Array, costly: Mask) -> Array:
    """``w d`` of a costly arm; infinite for an infinite d whatever the effort, and nothing from a free arm."""
    finite = np.isfinite(divergence)
    return np.where(costly, np.where(finite, effort * np.where(finite, divergence, 0.0), np.inf), 0.0)
