"""Families and models as numbers that compiled code reads, and the formulas of a family that has no code."""

import numpy as np

from caet_opt.bandits.families import Bernoulli, Bounded, Exponential, Family, Gamma, Gaussian, Geometric, Poisson
from caet_opt.bandits.model import Arrays, BanditModel
from caet_opt.kernels import term
from caet_opt.kernels.compile import Kernel
from caet_opt.kernels.records import ModelNumbers

#: Codes of the families that the compiled kernel knows; any other is interpreted.
FAMILY_CODES: dict[type[Family], int] = {
    Gaussian: term.GAUSSIAN,
    Bernoulli: term.BERNOULLI,
    Poisson: term.POISSON,
    Exponential: term.EXPONENTIAL,
    Gamma: term.EXPONENTIAL,
    Geometric: term.GEOMETRIC,
    Bounded: term.BOUNDED,
}


def model_numbers(model: BanditModel) -> ModelNumbers:
    """A model as the kernel reads it."""
    arrays = Arrays(*model.kernel_numbers)
    if model.distributions is not None:
        arrays = arrays._replace(dispersions=np.append(arrays.dispersions, model.distribution_table))
    return family_numbers(type(model.family), arrays)


def family_numbers(family: type[Family], arrays: Arrays) -> ModelNumbers:
    """Numbers by arm with what the kernel needs to know of their family."""
    return ModelNumbers(*family_facts(family), *arrays)


def family_facts(family: type[Family]) -> tuple[int, float, float, float]:
    """What the kernel needs to know of a family: its code, the error of its divergences, the ends of its means."""
    low, high, *_ = family.mean_space
    return FAMILY_CODES.get(family, -1), float(family.divergence_error), float(low), float(high)


def foreign_formulas(family: type[Family]) -> Kernel:
    """What stands in `term` for the shipped families, of a user's own."""

    def mixture_divergence(
        code: int, x: float, other: float, share: float, other_share: float, rest: float, other_rest: float
    ) -> float:
        return np.float64(family.mixture_divergence(x, other, share, other_share, rest, other_rest))

    def variance(code: int, mean: float) -> float:
        return np.float64(family.unit_variance(mean))

    return {"mixture_divergence": mixture_divergence, "variance": variance}
