"""From a model's numbers to its certified answer in one compiled call, in the subset of Python that numba compiles."""

from math import exp, inf, isfinite, log, sqrt
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.kernels.certify import certify_pairs
from caet_opt.kernels.interior import minimise
from caet_opt.kernels.records import COST, MEAN, RATE, REST, Data, ModelNumbers, Plan, Work, make_work
from caet_opt.kernels.term import means_differ, pair_term, variance

#: The instance needs the general path: a tie, a number outside double precision, or an infinite divergence.
IRREGULAR = 3


class Layout(NamedTuple):
    """How the problem of a shape sits in a model: which arms, edges, anchors and pairs are which.

    labels : the model's arm behind each arm of the problem
    ends : the two arms of each edge, in the problem's labels
    edge_pairs : the model's pair behind each edge
    anchors : columns (arm, free arm of the model, pair) of each pair of a costly and a free arm
    pairs : the model's pairs
    """

    labels: Integers
    ends: Integers
    edge_pairs: Integers
    anchors: Integers
    pairs: Integers


def unpack_shape(packed: Integers) -> tuple[Layout, Plan]:
    """The layout and the plan that `caet_opt.kernels.elimination_order.pack_shape` has packed."""
    layout = Layout(
        packed[packed[0] : packed[1]],
        packed[packed[1] : packed[2]].reshape((2, -1)),
        packed[packed[2] : packed[3]],
        packed[packed[3] : packed[4]].reshape((3, -1)),
        packed[packed[4] : packed[5]].reshape((2, -1)),
    )
    plan = Plan(
        packed[13],
        packed[packed[5] : packed[6]].reshape((3, -1)),
        packed[packed[6] : packed[7]],
        packed[packed[7] : packed[8]],
        packed[packed[8] : packed[9]].reshape((2, -1)),
        packed[packed[9] : packed[10]],
        packed[packed[10] : packed[11]].reshape((3, -1)),
        packed[14],
        packed[packed[11] : packed[12]],
    )
    return layout, plan


def solve_instance(
    numbers: Array,
    packed: Integers,
    family: int,
    error: float,
    low: float,
    high: float,
    effort: Array,
    weights: Array,
    warm: bool,
    tolerance: float,
    target: float,
    limit: int,
) -> tuple[int, int, float, float, float]:
    """Solve for effort per arm and weight per pair, both in place; returns status, iterations, and T* as the
    certificate, `certify_pairs`, has it: at this effort, from below and from above.

    ``numbers`` has the rows of `caet_opt.bandits.model.Arrays`. Layout and plan come packed, and nothing in a record:
    handing over two dozen arrays and fields from Python takes as long as solving for three arms.
    """
    given = ModelNumbers(family, error, low, high, numbers[0], numbers[1], numbers[2], numbers[3])
    layout, plan = unpack_shape(packed)
    if is_tied(given, layout.pairs):
        return IRREGULAR, 0, inf, 0.0, inf
    workspace = make_workspace(layout, plan)
    status, steps, _, _ = solve_in_workspace(
        given, layout, plan, effort, weights, warm, tolerance, target, limit, workspace
    )
    if status == IRREGULAR:
        return status, steps, inf, 0.0, inf
    value, lower, upper = certify_pairs(given, layout.pairs, effort, weights, np.zeros((2, effort.size)))
    return status, steps, value, lower, upper


def is_tied(given: ModelNumbers, pairs: Integers) -> bool:
    """Whether the means of some pair differ by nothing, or by no more than rounding took from them."""
    means, rests = given.means, given.rests
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if not means_differ(means[a], means[b], rests[a], rests[b]):
            return True
    return False


class Workspace(NamedTuple):
    """Arrays that `solve_in_workspace` writes to: the instance, the nearest free arms' pairs, the iterate, the rest."""

    arms: Array
    nearest: Integers
    y: Array
    z: Array
    work: Work


def make_workspace(layout: Layout, plan: Plan) -> Workspace:
    """A workspace for instances of a layout."""
    n, edges = layout.labels.size, layout.ends.shape[1]
    work = make_work(n, edges, plan.cores.size, plan.parts)
    return Workspace(np.zeros((4, n)), np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(edges + n), work)


def solve_in_workspace(
    given: ModelNumbers,
    layout: Layout,
    plan: Plan,
    effort: Array,
    weights: Array,
    warm: bool,
    tolerance: float,
    target: float,
    limit: int,
    workspace: Workspace,
) -> tuple[int, int, float, float]:
    """Solve without allocating, for means that differ; returns status, iterations, and the solver's own bounds.

    The effort costs the upper one and the weights sum to it. These bounds are no certificate: `certify_pairs` gives it.
    """
    n, edges = layout.labels.size, layout.ends.shape[1]
    arms, nearest, y, z = workspace.arms, workspace.nearest, workspace.y, workspace.z
    data = Data(given.family, arms, layout.ends)
    fill(data, given, layout, nearest)
    if not warm and not first_guess(data, y):
        return IRREGULAR, 0, 0.0, inf
    if warm:
        for a in range(n):
            label = layout.labels[a]
            y[a] = log(effort[label] / given.dispersions[label])
            z[edges + a] = weights[nearest[a]] if arms[RATE, a] > 0.0 else 0.0
        for e in range(edges):
            z[e] = weights[layout.edge_pairs[e]]
    status, steps, lower, upper = minimise(data, plan, y, z, warm, tolerance, target, limit, workspace.work)
    if not isfinite(upper):
        return IRREGULAR, steps, 0.0, inf
    for a in range(effort.size):
        effort[a] = 0.0
    for p in range(weights.size):
        weights[p] = 0.0
    for a in range(n):
        label = layout.labels[a]
        effort[label] = exp(y[a]) * given.dispersions[label]
        if arms[RATE, a] > 0.0:
            weights[nearest[a]] = z[edges + a]
    for e in range(edges):
        weights[layout.edge_pairs[e]] = z[e]
    rescale(given.costs, effort, weights, upper)
    return status, steps, lower, upper


def rescale(costs: Array, effort: Array, weights: Array, value: float) -> None:
    """Scale the effort to cost ``value`` and the weights to sum to it; nothing stays nothing."""
    spent, mass = 0.0, 0.0
    for a in range(effort.size):
        spent += costs[a] * effort[a]
    for p in range(weights.size):
        mass += weights[p]
    for a in range(effort.size):
        effort[a] *= value / spent if spent > 0.0 else 0.0
    for p in range(weights.size):
        weights[p] *= value / mass if mass > 0.0 else 0.0


def fill(data: Data, given: ModelNumbers, layout: Layout, nearest: Integers) -> None:
    """Means, unit-dispersion costs and anchor rates of the problem's arms; the pair of the nearest free arm."""
    arms = data.arms
    for a in range(layout.labels.size):
        label = layout.labels[a]
        arms[MEAN, a], arms[REST, a] = given.means[label], given.rests[label]
        arms[COST, a] = given.costs[label] * given.dispersions[label]
        arms[RATE, a] = 0.0
    for k in range(layout.anchors.shape[1]):
        a, free = layout.anchors[0, k], layout.anchors[1, k]
        rate = pair_term(
            data.family, 1.0, 0.0, arms[MEAN, a], given.means[free], arms[REST, a], given.rests[free], False, True
        )[1]
        if rate < inf and (arms[RATE, a] == 0.0 or rate < arms[RATE, a]):
            arms[RATE, a] = rate
            nearest[a] = layout.anchors[2, k]


def first_guess(data: Data, y: Array) -> bool:
    """Log of an effort that satisfies each pair by itself; False when a number is not representable.

    A pair alone has ``w_a = (2 V / gap^2) (1 + sqrt(c_b / c_a))`` with the divergences replaced by parabolas.
    """
    arms = data.arms
    for a in range(y.size):
        y[a] = 1.0 / arms[RATE, a] if arms[RATE, a] > 0.0 else 0.0
    for e in range(data.ends.shape[1]):
        a, b = data.ends[0, e], data.ends[1, e]
        gap = (arms[MEAN, b] - arms[MEAN, a]) + (arms[REST, b] - arms[REST, a])
        ratio = sqrt(arms[COST, b] / arms[COST, a])
        scale = 2.0 * variance(data.family, 0.5 * (arms[MEAN, a] + arms[MEAN, b])) / (gap * gap)
        y[a] = max(y[a], scale * (1.0 + ratio))
        y[b] = max(y[b], scale * (1.0 + 1.0 / ratio))
    for a in range(y.size):
        spent = arms[COST, a] * y[a]
        if not (y[a] > 0.0 and isfinite(y[a]) and spent > 0.0 and isfinite(spent)):
            return False
        y[a] = log(y[a])
    return True


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
        if is_tied(given, layout.pairs):
            continue
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
