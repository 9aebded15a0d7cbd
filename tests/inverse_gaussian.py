"""A family that the library does not ship, written as a user would write it."""

import numpy as np

from caet_opt import Family, MeanSpace


class InverseGaussian(Family):
    """``d(x, y) = (x - y)^2 / (2 x y^2)``."""

    name = "inverse-gaussian"
    mean_space = MeanSpace(0.0, np.inf)

    @staticmethod
    def unit_divergence(x, y, difference):
        return difference * difference / (2.0 * x * y * y)

    @staticmethod
    def unit_variance(mean):
        return mean * mean * mean

    @staticmethod
    def natural_parameter(mean):
        return -0.5 / (mean * mean)

    @staticmethod
    def conic_coefficients(mean, centre):
        return (mean - centre) / centre, mean

    @staticmethod
    def conic_constraints(bound, *forms):
        import cvxpy as cp

        deviation, total = forms
        return [cp.SOC(bound + total, cp.vstack([np.sqrt(2.0) * deviation, bound - total]))]

    @staticmethod
    def algebraic_divergence(x, y, log):
        return (x - y) ** 2 / (2 * x * y**2)

    def sample(self, rng, mean, dispersion=1.0, size=None):
        return rng.wald(mean, 1.0 / dispersion, size)
