"""Many problems of one pattern in one compiled call, in the subset of Python that numba compiles."""

from math import isfinite
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.solving.native.bounds import certify_pairs
from caet_opt.solving.native.instance import IRREGULAR, Layout, make_workspace, solve_in_workspace
from caet_opt.solving.native.records import ModelNumbers, Plan


class Rows(NamedTuple):
    """Problems by row, and what is found of them.

    means, costs : the arms' numbers
    order : the arm in each place of the layout
    certified : value, lower and upper of T*, by `certify_pairs`
    effort : by arm
    """

    means: Array
    costs: Array
    order: Integers
    certified: Array
    effort: Array


def solve_rows(
    kind: ModelNumbers,
    rows: Rows,
    chosen: Integers,
    layout: Layout,
    plan: Plan,
    tolerance: float,
    target: float,
    limit: int,
) -> None:
    """Solve the chosen rows; what is not certified to the tolerance is left as it was.

    ``kind`` has the family, and the dispersions by arm. Means are doubles as they are given: they have no rests. Every
    row starts cold, so that its answer does not depend on its neighbours.
    """
    arms = kind.means.size
    means, costs, dispersions = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    given = ModelNumbers(kind.family, kind.error, kind.low, kind.high, means, np.zeros(arms), costs, dispersions)
    workspace = make_workspace(layout, plan)
    effort, weights, load = np.zeros(arms), np.zeros(layout.pairs.shape[1]), np.zeros((2, arms))
    for row in chosen:
        for place in range(arms):
            arm = rows.order[row, place]
            means[place], costs[place] = rows.means[row, arm], rows.costs[row, arm]
            dispersions[place] = kind.dispersions[arm]
        status, _, _, _ = solve_in_workspace(
            given, layout, plan, effort, weights, False, tolerance, target, limit, workspace
        )
        if status == IRREGULAR:
            continue
        value, lower, upper = certify_pairs(given, layout.pairs, effort, weights, load)
        if upper > 0.0 and isfinite(upper) and (upper - lower) / upper <= tolerance:
            rows.certified[row, 0], rows.certified[row, 1], rows.certified[row, 2] = value, lower, upper
            for place in range(arms):
                rows.effort[row, rows.order[row, place]] = effort[place]
