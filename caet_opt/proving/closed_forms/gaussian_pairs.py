"""Two costly Gaussian arms that are compared with each other, and one, both or none of them with free arms.

An arm of variance V and cost c is a unit-variance arm of cost C = c V and effort v = w / V. At distance h from each
other, less the margin, and g_1, g_2 from their nearest free arms or levels, with ``x = 1 / v``,

    T* = min C_1 / x_1 + C_2 / x_2   subject to   x_1 <= g_1^2 / 2,   x_2 <= g_2^2 / 2,   x_1 + x_2 <= h^2 / 2,

without the first two constraints where there is no free arm: `EnclosedPair` has both, `ThreeArmRanking` one of them and
`TwoGaussianArms` none. The solutions are derived on the page docs/mathematics/closed_forms.md.
"""

import numpy as np
import sympy

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Comparisons, Statement, Task
from caet_opt.common.exact import exact
from caet_opt.proving.closed_forms.base import ClosedForm, Match
from caet_opt.proving.closed_forms.compared import ComparedPairs
from caet_opt.proving.closed_forms.drawing import (
    arrange,
    draw_costs,
    draw_variances,
    gaussian_family,
    magnitude,
    small_deviation,
    spread,
)

c_1, c_2, c_3, V_1, V_2, V_3 = sympy.symbols("c_1 c_2 c_3 V_1 V_2 V_3", positive=True)
g, g_1, g_2, h = sympy.symbols("g g_1 g_2 h", positive=True)
D_2, D_3, V = sympy.symbols("Delta_2 Delta_3 V", positive=True)

GOLDEN = (3 + sympy.sqrt(5)) / 2

C_1, C_2 = c_1 * V_1, c_2 * V_2
root_1, root_2, root_3 = sympy.sqrt(C_1), sympy.sqrt(C_2), sympy.sqrt(c_3 * V_3)
share = root_1 / (root_1 + root_2)

#: When all branches of `EnclosedPair` but the last one hold.
ENCLOSED = (sympy.Le(g_1**2 + g_2**2, h**2), sympy.Lt(g_1**2, share * h**2), sympy.Lt(g_2**2, (1 - share) * h**2))


def branches(conditions: tuple[sympy.Basic, ...], *expressions: sympy.Expr) -> sympy.Expr:
    """The expression of the first condition that holds, else the last one."""
    return sympy.Piecewise(*zip(expressions, (*conditions, sympy.true), strict=True))


def arm_numbers(compared: ComparedPairs, *arms: int) -> tuple[object, ...]:
    """Costs, then variances, of these arms."""
    return tuple(column[arm] for column in (compared.costs, compared.dispersions) for arm in arms)


class TwoGaussianArms(ClosedForm):
    """``T* = 2 (sqrt(c_1 V_1) + sqrt(c_2 V_2))^2 / g^2``."""

    name = "two-gaussian-arms"
    title = "Two costly Gaussian arms"
    source = "derived here"
    domain = (
        "two Gaussian arms of any variances and positive costs that are compared only with each other, "
        "g beyond the margin if there is one"
    )
    symbols = (c_1, c_2, V_1, V_2, g)
    formula = 2 * (root_1 + root_2) ** 2 / g**2
    efforts = (2 * V_1 * (root_1 + root_2) / (root_1 * g**2), 2 * V_2 * (root_1 + root_2) / (root_2 * g**2))

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.gaussian_pair is None or compared.anchors:
            return None
        a, b = compared.gaussian_pair
        return Match((a, b), (*arm_numbers(compared, a, b), compared.gaps[0]))

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        base = magnitude(rng, -3, 3) * float(rng.integers(-1, 2))
        means = [base, base + magnitude(rng, -6, 6) * max(1.0, abs(base))]
        if rng.random() < 0.3:
            margin = exact(magnitude(rng, -3, 3) * float(rng.choice([-1.0, 1.0])))
            model = BanditModel(gaussian_family(draw_variances(rng, 2)), means, draw_costs(rng, 2))
            winner = int(rng.integers(2))
            return model, Comparisons([Statement(winner, 1 - winner, margin)])
        return arrange(rng, means, draw_costs(rng, 2), draw_variances(rng, 2), [(0, 1)])


class ThreeArmRanking(ClosedForm):
    """``T* = 2 (sqrt(C_2) + sqrt(C_3))^2 / h^2`` or ``2 C_2 / g^2 + 2 C_3 / (h^2 - g^2)`` with ``C = c V``."""

    name = "three-arm-ranking"
    title = "Three Gaussian arms in a path, one end of it free, any costs (0, c_2, c_3)"
    source = "derived here"
    domain = (
        "two costly Gaussian arms of any variances that are compared with each other, and one of them with free arms"
    )
    one_pair_binds = (sympy.Le(h**2 * root_2, g**2 * (root_2 + root_3)),)
    symbols = (c_2, c_3, V_2, V_3, g, h)
    formula = branches(
        one_pair_binds, 2 * (root_2 + root_3) ** 2 / h**2, 2 * c_2 * V_2 / g**2 + 2 * c_3 * V_3 / (h**2 - g**2)
    )
    efforts = (
        branches(one_pair_binds, 2 * V_2 * (root_2 + root_3) / (root_2 * h**2), 2 * V_2 / g**2),
        branches(one_pair_binds, 2 * V_3 * (root_2 + root_3) / (root_3 * h**2), 2 * V_3 / (h**2 - g**2)),
    )

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.gaussian_pair is None or len(compared.anchors) != 1:
            return None
        (middle,) = compared.anchors
        (end,) = set(compared.gaussian_pair) - {middle}
        distances = (compared.nearest_distance(middle), compared.gaps[0])
        return Match((middle, end), (*arm_numbers(compared, middle, end), *distances))

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        costs, variances = draw_costs(rng, 2), draw_variances(rng, 3)
        near = magnitude(rng, -3, 3)
        if rng.random() < 0.1:  # exactly on the boundary: h = k g and sqrt(C_3 / C_2) = k^2 - 1
            k, near = float(rng.integers(2, 9)), 2.0 ** float(rng.integers(-9, 10))
            costs, variances, far = [1.0, (k * k - 1.0) ** 2], [1.0] * 3, k * near
        else:
            root = float(np.sqrt(1.0 + np.sqrt(costs[1] * variances[2] / (costs[0] * variances[1]))))
            far = near * spread(rng, root, 5)
        sides = rng.choice([-1.0, 1.0], 2)
        if sides[0] == sides[1] and near == far:
            return self.draw(rng)
        shift = near * rng.uniform(-1, 1) if rng.random() < 0.3 else 0.0
        means = [shift + float(sides[0]) * near, shift, shift + float(sides[1]) * far]
        return arrange(rng, means, [0.0, *costs], variances, [(0, 1), (1, 2)])


class ThreeArmGaps(ClosedForm):
    """``T* = 2 / (sqrt(Delta_3) - sqrt(Delta_2))^2`` up to ``Delta_3 / Delta_2 = 2.618``, rational beyond."""

    name = "three-arm-ranking-gaps"
    title = "Ranking of three Gaussian arms with gaps as costs"
    source = "the paper's proposition on three-armed ranking with gap costs"
    domain = (
        "three Gaussian arms of common variance that cost their gaps to the best one, each compared with its neighbour"
    )
    symbols = (D_2, D_3, V)
    one_pair_binds = (sympy.Le(D_3, GOLDEN * D_2),)
    formula = branches(
        one_pair_binds, 2 * V / (sympy.sqrt(D_3) - sympy.sqrt(D_2)) ** 2, 2 * V * (D_3 - D_2) / (D_2 * (D_3 - 2 * D_2))
    )
    one_pair = 2 * V * (sympy.sqrt(D_2) + sympy.sqrt(D_3)) / (D_3 - D_2) ** 2
    efforts = (
        branches(one_pair_binds, one_pair / sympy.sqrt(D_2), 2 * V / D_2**2),
        branches(one_pair_binds, one_pair / sympy.sqrt(D_3), 2 * V / (D_3 * (D_3 - 2 * D_2))),
    )

    def match(self, compared: ComparedPairs) -> Match | None:
        general = ThreeArmRanking().match(compared)
        if general is None or not (compared.gap_costs and compared.is_plain):
            return None
        (middle, end), free = general.arms, compared.anchoring
        variances, means = compared.dispersions, compared.means
        if len(free) != 1 or not means[middle] > means[end] or variances[middle] != variances[end]:
            return None
        best = free[0].level
        return Match((middle, end), (best - means[middle], best - means[end], variances[middle]))

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        second = int(magnitude(rng, 1, 10))
        third = second
        while third <= second:  # whole numbers, times a power of two, so that the gaps are exact in double precision
            if rng.random() < 0.5:
                third = round(second * float(GOLDEN) * (1.0 + small_deviation(rng)))
            else:
                third = second + int(magnitude(rng, 0, 13))
        unit, best = 2.0 ** float(rng.integers(-30, 31)), int(rng.integers(0, 2)) * int(magnitude(rng, 0, 12))
        means = [unit * best, unit * (best - second), unit * (best - third)]
        variance = 1.0 if rng.random() < 0.5 else magnitude(rng, -3, 3)
        model, task = arrange(rng, means, [0.0] * 3, [variance] * 3, [(0, 1), (1, 2)])
        return BanditModel(model.family, model.means, "gaps"), task


class EnclosedPair(ClosedForm):
    """``T* = C_1 / x_1 + C_2 / x_2`` with ``C = c V`` and the ``x`` of the branch that holds."""

    name = "enclosed-pair"
    title = "Ranking of four Gaussian arms whose best and worst arms are free"
    source = "derived here"
    domain = "two costly Gaussian arms of any variances that are compared with each other and each with free arms"
    symbols = (c_1, c_2, V_1, V_2, g_1, g_2, h)
    formula = branches(
        ENCLOSED,
        2 * C_1 / g_1**2 + 2 * C_2 / g_2**2,
        2 * C_1 / g_1**2 + 2 * C_2 / (h**2 - g_1**2),
        2 * C_1 / (h**2 - g_2**2) + 2 * C_2 / g_2**2,
        2 * (root_1 + root_2) ** 2 / h**2,
    )
    efforts = (
        branches(ENCLOSED, 2 * V_1 / g_1**2, 2 * V_1 / g_1**2, 2 * V_1 / (h**2 - g_2**2), 2 * V_1 / (share * h**2)),
        branches(
            ENCLOSED, 2 * V_2 / g_2**2, 2 * V_2 / (h**2 - g_1**2), 2 * V_2 / g_2**2, 2 * V_2 / ((1 - share) * h**2)
        ),
    )

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.gaussian_pair is None or len(compared.anchors) != 2:
            return None
        a, b = compared.gaussian_pair
        distances = (compared.nearest_distance(a), compared.nearest_distance(b), compared.gaps[0])
        return Match((a, b), (*arm_numbers(compared, a, b), *distances))

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        costs, variances, far = draw_costs(rng, 2), draw_variances(rng, 4), magnitude(rng, -3, 3)
        roots = np.sqrt([costs[0] * variances[1], costs[1] * variances[2]])
        share = float(roots[0] / roots.sum())
        first = far * float(np.sqrt(spread(rng, share, 6)))
        if first < far and rng.random() < 0.4:  # near the boundary of the branch in which both anchors bind
            second = float(np.sqrt((far * far - first * first) * (1.0 + small_deviation(rng))))
        else:
            second = far * float(np.sqrt(spread(rng, 1.0 - share, 6)))
        if not 1e-7 * far < min(first, second):
            return self.draw(rng)
        side = float(rng.choice([-1.0, 1.0]))
        means = [side * mean for mean in (first, 0.0, -far, -far - second)]
        return arrange(rng, means, [0.0, *costs, 0.0], variances, [(0, 1), (1, 2), (2, 3)])
