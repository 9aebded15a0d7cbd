"""Two arms that are compared with each other and with nothing else.

Both costly, Gaussian. An arm of variance V and cost c is a unit-variance arm of cost C = c V and effort v = w / V.
With gap g, the program is ``min C_1 v_1 + C_2 v_2`` subject to ``(g^2 / 2) v_1 v_2 / (v_1 + v_2) >= 1``, that is
``1 / v_1 + 1 / v_2 <= g^2 / 2``. The bound is attained, and the Lagrange conditions ``C_i v_i^2 = constant`` give

    v_i = (2 / g^2) (sqrt(C_1) + sqrt(C_2)) / sqrt(C_i),    T* = (2 / g^2) (sqrt(C_1) + sqrt(C_2))^2.

One of them free, any family. The only constraint is ``w d(mu, nu) / phi >= 1`` for the costly arm of mean mu and
dispersion phi and the free arm of mean nu, so that ``w = phi / d(mu, nu)`` and ``T* = c w``.
"""

import numpy as np
import sympy

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import BestArm, Task
from caet_opt.proving.closed_forms.base import ClosedForm, Match, divergence
from caet_opt.proving.closed_forms.compared import ComparedPairs
from caet_opt.proving.closed_forms.drawing import (
    arrange,
    draw_costs,
    draw_family,
    draw_means,
    draw_variances,
    magnitude,
)

c, mu, nu, phi = sympy.symbols("c mu nu phi")
c_1, c_2, V_1, V_2, g = sympy.symbols("c_1 c_2 V_1 V_2 g", positive=True)
root_1, root_2 = sympy.sqrt(c_1 * V_1), sympy.sqrt(c_2 * V_2)


class TwoGaussianArms(ClosedForm):
    """``T* = 2 (sqrt(c_1 V_1) + sqrt(c_2 V_2))^2 / g^2``."""

    name = "two-gaussian-arms"
    title = "Two costly Gaussian arms"
    source = "derived here"
    domain = "two Gaussian arms of any variances and positive costs that are compared only with each other"
    symbols = (c_1, c_2, V_1, V_2, g)
    formula = 2 * (root_1 + root_2) ** 2 / g**2
    efforts = (2 * V_1 * (root_1 + root_2) / (root_1 * g**2), 2 * V_2 * (root_1 + root_2) / (root_2 * g**2))

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.gaussian_pair is None or compared.anchors:
            return None
        (a, b), costs, variances = compared.gaussian_pair, compared.costs, compared.dispersions
        return Match((a, b), (costs[a], costs[b], variances[a], variances[b], compared.distance(a, b)))

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        base = magnitude(rng, -3, 3) * float(rng.integers(-1, 2))
        means = [base, base + magnitude(rng, -6, 6) * max(1.0, abs(base))]
        return arrange(rng, means, draw_costs(rng, 2), draw_variances(rng, 2), [(0, 1)])


class TwoArmsOneFree(ClosedForm):
    """``T* = c phi / d(mu, nu)``; zero where the divergence is infinite."""

    name = "two-arms-one-free"
    title = "A costly arm and a free one"
    source = "derived here"
    domain = "a costly arm that is compared with one free arm, any family"
    symbols = (c, phi, mu, nu)
    formula = c * phi / divergence(mu, nu)
    efforts = (phi / divergence(mu, nu),)

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.edges or len(compared.anchors) != 1 or len(compared.anchoring) != 1:
            return None
        (arm,), (free,) = compared.anchors, compared.anchoring
        return Match(
            (arm,), (compared.costs[arm], compared.dispersions[arm], compared.means[arm], compared.means[free])
        )

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        family = draw_family(rng, 2)
        costs = [*draw_costs(rng, 1), 0.0]
        means, order = draw_means(rng, family, 2), rng.permutation(2)
        return BanditModel(family, means, [costs[arm] for arm in order]), BestArm()
