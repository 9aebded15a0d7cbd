"""Bounds on T* that hold for any effort and any pair weights, whoever computed them.

This module sees the model, the pairs, a point and weights. It knows neither the solver nor the reduced problem; the
arithmetic and its proof are in `caet_opt.solving.native.bounds`.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caet_opt.bandits.families.numerics import UNIT, Array, Mask
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair
from caet_opt.solving.native.compiled import given_model, present_kernel
from caet_opt.solving.native.elimination import columns
from caet_opt.solving.native.records import Integers

Indices = NDArray[np.intp]


class Certificate(NamedTuple):
    """``lower <= T* <= upper``; ``value`` is the upper bound before the allowance for rounding.

    All three are zero when nothing constrains an arm that costs something, so that T* is zero.

    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> result = characteristic_time(model, "ranking")
    >>> certificate = certify(model, result.pairs, result.effort, result.multipliers)
    >>> certificate.lower <= 2 * (3 + 2 * 2**0.5) <= certificate.upper
    True
    """

    value: float
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """Relative width of the certified interval; one when there is no upper bound, or none that is positive."""
        if self == NOTHING_TO_PAY:
            return 0.0
        return (self.upper - self.lower) / self.upper if self.upper > 0 and isfinite(self.upper) else 1.0


#: The certificate of T* = 0.
NOTHING_TO_PAY = Certificate(0.0, 0.0, 0.0)


@np.errstate(all="ignore")
def certify(model: BanditModel, pairs: Sequence[Pair], effort: Array, weights: Array) -> Certificate:
    """Certify T* from an effort per arm and a weight per pair, both non-negative.

    With ``m_e`` the weighted mean of a pair's arms, or the mean of its free arm,

        sum(q) / max_a [ sum_{e at a} q_e d(mu_a, m_e) / c_a ]  <=  T*  <=  c . w / min_e f_e(w),

    widened by what rounding can change; see `caet_opt.solving.native.bounds.certify_pairs` for the proof. The interval
    is for the numbers that the model was given: decimals and fractions as they are, floats as the doubles that they
    are.

    >>> model = BanditModel("gaussian", [1, 0], costs=[1, 1])
    >>> value, lower, upper = certify(model, pairs=[(0, 1)], effort=[2, 3], weights=[1])
    >>> round(lower, 6), round(upper, 6)
    (5.555556, 8.333333)
    """
    arms, effort, weights = len(model.means), np.asarray(effort, dtype=float), np.asarray(weights, dtype=float)
    if effort.shape != (arms,) or weights.shape != (len(pairs),):
        raise ValueError(f"{arms} efforts and {len(pairs)} weights are needed, got {effort.shape} and {weights.shape}")
    kernel = present_kernel(type(model.family))
    found = kernel["certify_pairs"](
        given_model(model), pair_columns(tuple(pairs)), effort, weights, np.zeros((2, arms))
    )
    return Certificate(*map(float, found))


@lru_cache(maxsize=256)
def pair_columns(pairs: tuple[Pair, ...]) -> Integers:
    """Pairs as the kernel reads them."""
    return columns(pairs, 2)


def narrowest_gap(model: BanditModel, pairs: Sequence[Pair]) -> float:
    """The gap that rounding alone leaves, roughly."""
    most = int(np.max(np.bincount(np.ravel(pairs))))
    return 2.0 * (model.family.divergence_error + most + 20.0) * UNIT


def pair_terms(model: BanditModel, pairs: Sequence[Pair], effort: Array) -> Array:
    """f_e(w) of every pair: infinite when both arms are free or when any positive effort settles the pair."""
    costs, means, phi = np.array(model.costs), np.array(model.means), model.dispersions
    rests = model.mean_rests
    ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    a, b = ends[:, 0], ends[:, 1]
    share_a, share_b = shares(effort[a] / phi[a], effort[b] / phi[b], costs[a] > 0, costs[b] > 0)
    mixture = model.family.mixture_divergence
    da = mixture(means[a], means[b], share_a, share_b, rests[a], rests[b]) / phi[a]
    db = mixture(means[b], means[a], share_b, share_a, rests[b], rests[a]) / phi[b]
    terms = information(effort[a], da, costs[a] > 0) + information(effort[b], db, costs[b] > 0)
    return np.where((costs[a] > 0) | (costs[b] > 0), terms, np.inf)


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
