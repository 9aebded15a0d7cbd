"""Bounds on T* that hold for any effort and any pair weights, whoever computed them.

This module sees the model, the pairs, a point and weights. It knows neither the solver nor the reduced problem; the
arithmetic and its proof are in `caet_opt.kernels.certify`.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import UNIT, Array, Integers
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair
from caet_opt.kernels.elimination_order import columns
from caet_opt.kernels.family_codes import model_numbers
from caet_opt.kernels.native import interpreted_kernel, present_kernel


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
        if 0.0 < self.upper < inf:
            return (self.upper - self.lower) / self.upper
        return 0.0 if self == NOTHING_TO_PAY else 1.0


#: The certificate of T* = 0.
NOTHING_TO_PAY = Certificate(0.0, 0.0, 0.0)


@np.errstate(all="ignore")
def certify(model: BanditModel, pairs: Sequence[Pair], effort: Array, weights: Array) -> Certificate:
    """Certify T* from an effort per arm and a weight per pair, both non-negative.

    With ``m_e`` the weighted mean of a pair's arms, or the mean of its free arm,

        sum(q) / max_a [ sum_{e at a} q_e d(mu_a, m_e) / c_a ]  <=  T*  <=  c . w / min_e f_e(w),

    widened by what rounding can change; docs/mathematics/certificate.md has the proof. The interval
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
        model_numbers(model), pair_columns(tuple(pairs)), effort, weights, np.zeros((2, arms))
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
    terms = np.zeros(len(pairs))
    fill = interpreted_kernel(type(model.family))["fill_terms"]
    fill(model_numbers(model), pair_columns(tuple(pairs)), effort, terms)
    return terms
