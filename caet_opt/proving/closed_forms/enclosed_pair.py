"""Two costly Gaussian arms that are compared with each other, and each of them with free arms.

In unit-variance terms, costs C = c V and efforts v = w / V, let h be the distance of the two arms and g_1, g_2 those
to their nearest free arms. With ``x = 1 / v`` the program is

    min C_1 / x_1 + C_2 / x_2   subject to   x_1 <= g_1^2 / 2,   x_2 <= g_2^2 / 2,   x_1 + x_2 <= h^2 / 2,

which is convex with an objective that decreases in both variables.
If ``g_1^2 + g_2^2 <= h^2``, the third constraint follows from the others, which both bind:

    T* = 2 C_1 / g_1^2 + 2 C_2 / g_2^2.

Otherwise the third one binds, and on its segment the objective is least at
``x_1 = r h^2 / 2`` with ``r = sqrt(C_1) / (sqrt(C_1) + sqrt(C_2))``, the solution for two arms, or at the end of the
segment that is nearest to it. With ``x_1 = g_1^2 / 2`` if ``g_1^2 < r h^2``, and with ``x_2 = g_2^2 / 2`` if
``g_2^2 < (1 - r) h^2`` (never both, as the first case excludes that),

    T* = 2 C_1 / g_1^2 + 2 C_2 / (h^2 - g_1^2),   T* = 2 C_1 / (h^2 - g_2^2) + 2 C_2 / g_2^2,

and else ``T* = (2 / h^2) (sqrt(C_1) + sqrt(C_2))^2``. Without the free arms of arm 2 this is the path of three arms.
"""

import numpy as np
import sympy

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.proving.closed_forms.base import ClosedForm, Match
from caet_opt.proving.closed_forms.compared import ComparedPairs
from caet_opt.proving.closed_forms.drawing import (
    arrange,
    draw_costs,
    draw_variances,
    magnitude,
    small_deviation,
    spread,
)

c_1, c_2, V_1, V_2, g_1, g_2, h = sympy.symbols("c_1 c_2 V_1 V_2 g_1 g_2 h", positive=True)


C_1, C_2 = c_1 * V_1, c_2 * V_2
share = sympy.sqrt(C_1) / (sympy.sqrt(C_1) + sympy.sqrt(C_2))

#: When each branch holds, the first one of those whose condition is met.
CASES = (
    sympy.Le(g_1**2 + g_2**2, h**2),
    sympy.Lt(g_1**2, share * h**2),
    sympy.Lt(g_2**2, (1 - share) * h**2),
    sympy.true,
)


def branches(*expressions: sympy.Expr) -> sympy.Expr:
    """One expression per case."""
    return sympy.Piecewise(*zip(expressions, CASES, strict=True))


class EnclosedPair(ClosedForm):
    """``T* = C_1 / x_1 + C_2 / x_2`` with ``C = c V`` and the ``x`` of the branch that holds."""

    name = "enclosed-pair"
    title = "Ranking of four Gaussian arms whose best and worst arms are free"
    source = "derived here"
    domain = "two costly Gaussian arms of any variances that are compared with each other and each with free arms"
    symbols = (c_1, c_2, V_1, V_2, g_1, g_2, h)
    formula = branches(
        2 * C_1 / g_1**2 + 2 * C_2 / g_2**2,
        2 * C_1 / g_1**2 + 2 * C_2 / (h**2 - g_1**2),
        2 * C_1 / (h**2 - g_2**2) + 2 * C_2 / g_2**2,
        2 * (sympy.sqrt(C_1) + sympy.sqrt(C_2)) ** 2 / h**2,
    )
    efforts = (
        branches(2 * V_1 / g_1**2, 2 * V_1 / g_1**2, 2 * V_1 / (h**2 - g_2**2), 2 * V_1 / (share * h**2)),
        branches(2 * V_2 / g_2**2, 2 * V_2 / (h**2 - g_1**2), 2 * V_2 / g_2**2, 2 * V_2 / ((1 - share) * h**2)),
    )

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.gaussian_pair is None or len(compared.anchors) != 2:
            return None
        (a, b), costs, variances = compared.gaussian_pair, compared.costs, compared.dispersions
        near = (compared.nearest_distance(a), compared.nearest_distance(b))
        return Match((a, b), (costs[a], costs[b], variances[a], variances[b], *near, compared.distance(a, b)))

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
