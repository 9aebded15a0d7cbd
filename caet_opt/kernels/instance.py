"""From a model's numbers to its certified answer in one compiled call, in the subset of Python that numba compiles."""

from math import exp, inf, isfinite, log, nan, sqrt
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import MARGIN_ROWS
from caet_opt.kernels.bounded_term import RANGE, SPREAD, row_of
from caet_opt.kernels.certify import OUTSIDE, SEEN, certify_pairs, column_piece, column_side, level_rate
from caet_opt.kernels.interior import minimise
from caet_opt.kernels.margin_term import HOLDS, seen_loser, seen_winner

# fmt: off
# isort: off
from caet_opt.kernels.records import (
    Data, ModelNumbers, Plan, Work, make_work,
    COST, MEAN, RATE, REST,  # rows of arms
    EDGE_MARGIN, EDGE_REST, EDGE_RATIO, EDGE_RATIO_REST, FIRST, LAST, LEAN, PLAIN_ROWS,  # of edges
    COLUMN_ROWS,
)
# isort: on
# fmt: on
from caet_opt.kernels.term import BERNOULLI, BOUNDED, GAUSSIAN, means_differ, pair_term, variance

#: The instance needs the general path: a tie, a number outside double precision, or an infinite divergence.
IRREGULAR = 3


#: An arm that a statement needs no effort of is guessed to need this part of what it would with the other's variance.
LEAST_SPREAD = 1e-3


class Layout(NamedTuple):
    """How the problem of a shape sits in a model: which arms, edges, anchors and columns are which.

    labels : the model's arm behind each arm of the problem
    ends : the two arms of each edge, in the problem's labels
    edge_pairs : the column behind each edge
    anchors : columns (arm, free arm of the model, column) of each column of a costly and a free arm, -1 being none
    pairs, margins : the columns of `caet_opt.kernels.statement_columns`
    """

    labels: Integers
    ends: Integers
    edge_pairs: Integers
    anchors: Integers
    pairs: Integers
    margins: Array


def unpack_shape(packed: Integers, margins: Array) -> tuple[Layout, Plan]:
    """The layout and the plan that `caet_opt.kernels.elimination_order.pack_shape` has packed, with their margins."""
    layout = Layout(
        packed[packed[0] : packed[1]],
        packed[packed[1] : packed[2]].reshape((2, -1)),
        packed[packed[2] : packed[3]],
        packed[packed[3] : packed[4]].reshape((3, -1)),
        packed[packed[4] : packed[5]].reshape((2, -1)),
        margins,
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
    """Solve for effort per arm and weight per column, both in place; returns status, iterations, and T* as the
    certificate, `certify_pairs`, has it: at this effort, from below and from above.

    ``numbers`` has, one after the other, the rows of `caet_opt.bandits.model.Arrays`, those of the margins of the
    columns, where there are some, and the table of distributions, for rewards in a range, whatever shape it has. Layout
    and plan come packed, and nothing in a record: handing over two dozen arrays and fields from Python takes as long as
    solving for three arms.
    """
    flat, n = numbers.ravel(), effort.size
    phi, end = flat[3 * n : 4 * n], flat.size
    if family == BOUNDED:
        end = 4 * n + COLUMN_ROWS * weights.size
        phi = np.concatenate((phi, flat[end:]))
    given = ModelNumbers(family, error, low, high, flat[:n], flat[n : 2 * n], flat[2 * n : 3 * n], phi)
    layout, plan = unpack_shape(packed, flat[4 * n : end].reshape((COLUMN_ROWS, -1)))
    if is_tied(given, layout):
        return IRREGULAR, 0, inf, 0.0, inf
    workspace = make_workspace(layout, plan, phi.size - n)
    status, steps, _, _ = solve_in_workspace(
        given, layout, plan, effort, weights, warm, tolerance, target, limit, workspace
    )
    if status == IRREGULAR:
        return status, steps, inf, 0.0, inf
    value, lower, upper = certify_pairs(given, layout.pairs, layout.margins, effort, weights, np.zeros((2, n)))
    return status, steps, value, lower, upper


def is_tied(given: ModelNumbers, layout: Layout) -> bool:
    """Whether some statement does not hold strictly, or by no more than rounding took from its numbers."""
    pairs, stated = layout.pairs, layout.margins.shape[1] > 0
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if stated:
            if column_side(given, pairs, layout.margins, p) != HOLDS:
                return True
        elif not means_differ(given.means[a], given.means[b], given.rests[a], given.rests[b]):
            return True
    return False


class Workspace(NamedTuple):
    """Arrays that `solve_in_workspace` writes to: the instance, the nearest free arms' columns, the iterate, the
    rest."""

    arms: Array
    nearest: Integers
    y: Array
    z: Array
    work: Work


def make_workspace(layout: Layout, plan: Plan, table: int) -> Workspace:
    """A workspace for instances of a layout, with a table of distributions of this size at most."""
    n, edges = layout.labels.size, layout.ends.shape[1]
    work = make_work(n, edges, plan.cores.size, plan.parts, layout.margins.shape[1] > 0, table)
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
    n, edges, stated = layout.labels.size, layout.ends.shape[1], layout.margins.shape[1] > 0
    arms, nearest, y, z = workspace.arms, workspace.nearest, workspace.y, workspace.z
    data = Data(given.family, arms, layout.ends)
    if given.family == BOUNDED:
        fill_table(given, layout, workspace.work)
    if stated:
        for e in range(edges):
            fill_margin(given, layout, e, workspace.work)
    if not fill(data, given, layout, nearest):
        return IRREGULAR, 0, 0.0, inf
    if not warm and not first_guess(data, y, workspace.work):
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


def fill(data: Data, given: ModelNumbers, layout: Layout, nearest: Integers) -> bool:
    """Means, unit-dispersion costs and anchor rates of the problem's arms, and the column of the nearest free
    arm; False where rounding hides whether a level is in the mean space."""
    arms = data.arms
    for a in range(layout.labels.size):
        label = layout.labels[a]
        arms[MEAN, a], arms[REST, a] = given.means[label], given.rests[label]
        arms[COST, a] = given.costs[label] * given.dispersions[label]
        arms[RATE, a] = 0.0
    stated = layout.margins.shape[1] > 0
    for k in range(layout.anchors.shape[1]):
        a, free = layout.anchors[0, k], layout.anchors[1, k]
        if stated:
            seen, rate = level_rate(given, layout.pairs, layout.margins, layout.anchors[2, k], layout.labels[a])
            if seen == OUTSIDE:
                continue
            if seen != SEEN:
                return False
        else:
            rate = pair_term(
                data.family, 1.0, 0.0, arms[MEAN, a], given.means[free], arms[REST, a], given.rests[free], False, True
            )[1]
        if rate < inf and (arms[RATE, a] == 0.0 or rate < arms[RATE, a]):
            arms[RATE, a] = rate
            nearest[a] = layout.anchors[2, k]
    return True


def fill_table(given: ModelNumbers, layout: Layout, work: Work) -> None:
    """The rows of the problem's arms in the table of distributions."""
    source, table, base = given.dispersions, work.inner, work.dense.shape[0]
    table[base] = source[given.means.size]
    for a in range(layout.labels.size):
        start, end = row_of(source, given.means.size, layout.labels[a]), row_of(table, base, a)
        for k in range(int(table[base])):
            table[end + k] = source[start + k]


def fill_margin(given: ModelNumbers, layout: Layout, e: int, work: Work) -> None:
    """Margin and ratio of an edge, and the piece of the range of its point that is its own."""
    p, rows = layout.edge_pairs[e], work.rows
    for row in range(MARGIN_ROWS):
        rows[EDGE_MARGIN + row, e] = layout.margins[row, p]
    rows[FIRST, e], rows[LAST, e] = column_piece(given, layout.pairs, layout.margins, p)
    rows[LEAN, e] = inf if given.family == BOUNDED else nan


def first_guess(data: Data, y: Array, work: Work) -> bool:
    """Log of an effort that satisfies each statement by itself; False when a number is not representable.

    A pair alone has ``w_a = (2 V / gap^2) (1 + sqrt(c_b / c_a))`` with the divergences replaced by parabolas.
    """
    arms, stated = data.arms, work.rows.shape[0] > PLAIN_ROWS
    for a in range(y.size):
        y[a] = 1.0 / arms[RATE, a] if arms[RATE, a] > 0.0 else 0.0
    for e in range(data.ends.shape[1]):
        a, b = data.ends[0, e], data.ends[1, e]
        if stated:
            guess_a, guess_b = guess_statement(data, work, e)
            y[a], y[b] = max(y[a], guess_a), max(y[b], guess_b)
            continue
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


def guess_statement(data: Data, work: Work, e: int) -> tuple[float, float]:
    """Efforts of the two arms that satisfy a statement by itself, with the divergences replaced by parabolas.

    ``w_a = (2 / gap^2) sqrt(V_a / c_a) S`` and ``w_b = (2 / gap^2) r sqrt(V_b / c_b) S`` with
    ``S = sqrt(c_a V_a) + r sqrt(c_b V_b)``, r the ratio, and V halfway to the mean that the other arm asks for.
    """
    arms, rows, a, b = data.arms, work.rows, data.ends[0, e], data.ends[1, e]
    x, y, rest_x, rest_y = arms[MEAN, a], arms[MEAN, b], arms[REST, a], arms[REST, b]
    margin, rest = rows[EDGE_MARGIN, e], rows[EDGE_REST, e]
    ratio, rest_ratio = rows[EDGE_RATIO, e], rows[EDGE_RATIO_REST, e]
    foot, foot_rest = seen_loser(y, rest_y, margin, rest, ratio, rest_ratio)
    head = seen_winner(x, rest_x, margin, rest, ratio, rest_ratio)[0]
    gap = (x - foot) + (rest_x - foot_rest)
    if data.family == BOUNDED:
        return guess_bounded(data, work, a, b, gap)
    if data.family != GAUSSIAN:
        foot = max(foot, 0.0)
    if data.family == BERNOULLI:
        head = min(head, 1.0)
    spread_a = sqrt(variance(data.family, 0.5 * (x + foot)))
    spread_b = ratio * sqrt(variance(data.family, 0.5 * (y + head)))
    if spread_a == 0.0 or spread_b == 0.0:  # at an end of the means one arm settles the statement alone
        spread_a, spread_b = max(spread_a, LEAST_SPREAD * spread_b), max(spread_b, LEAST_SPREAD * spread_a)
    root_a, root_b = sqrt(arms[COST, a]), sqrt(arms[COST, b])
    scale = 2.0 * (root_a * spread_a + root_b * spread_b) / (gap * gap)
    return scale * spread_a / root_a, scale * spread_b / root_b


def guess_bounded(data: Data, work: Work, a: int, b: int, gap: float) -> tuple[float, float]:
    """`guess_statement` for rewards in a range: V is the variance about the point halfway between."""
    arms, table, base = data.arms, work.inner, work.dense.shape[0]
    first, second = row_of(table, base, a), row_of(table, base, b)
    part = gap / table[first + RANGE]
    spread_a = sqrt(table[first + SPREAD] + 0.25 * part * part)
    spread_b = sqrt(table[second + SPREAD] + 0.25 * part * part)
    root_a, root_b = sqrt(arms[COST, a]), sqrt(arms[COST, b])
    scale = 2.0 * (root_a * spread_a + root_b * spread_b) / (part * part)
    return scale * spread_a / root_a, scale * spread_b / root_b


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
    workspace = make_workspace(layout, plan, 0)
    effort, weights, load = np.zeros(arms), np.zeros(layout.pairs.shape[1]), np.zeros((2, arms))
    for row in chosen:
        for place in range(arms):
            arm = rows.order[row, place]
            means[place], costs[place] = rows.means[row, arm], rows.costs[row, arm]
            dispersions[place] = kind.dispersions[arm]
        if is_tied(given, layout):
            continue
        status, _, _, _ = solve_in_workspace(
            given, layout, plan, effort, weights, False, tolerance, target, limit, workspace
        )
        if status == IRREGULAR:
            continue
        value, lower, upper = certify_pairs(given, layout.pairs, layout.margins, effort, weights, load)
        if upper > 0.0 and isfinite(upper) and (upper - lower) / upper <= tolerance:
            rows.certified[row, 0], rows.certified[row, 1], rows.certified[row, 2] = value, lower, upper
            for place in range(arms):
                rows.effort[row, rows.order[row, place]] = effort[place]
