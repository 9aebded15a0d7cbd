"""What the kernel works on. Related vectors are rows of one matrix, which keeps compiled signatures short."""

from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import MARGIN_ROWS


class ModelNumbers(NamedTuple):
    """A model, by arm.

    family : code of the family
    error : bound on the relative error of its divergences, in units of 2^-53
    low, high : the ends of its mean space
    means, rests : the means are their sums; a rest is what rounding to a double took away
    costs, dispersions : as they are; for rewards in a range, behind the dispersions, a table of their distributions:
        its width, and the row of `caet_opt.kernels.bounded_term` for each arm
    """

    family: int
    error: float
    low: float
    high: float
    means: Array
    rests: Array
    costs: Array
    dispersions: Array


class Data(NamedTuple):
    """An instance.

    family : code of the family
    arms : rows MEAN, COST, RATE (of the anchor, zero for none) and REST (of the mean), a column per arm
    ends : the two arms of each edge, a column per edge
    """

    family: int
    arms: Array
    ends: Integers


class Plan(NamedTuple):
    """The order in which arms are eliminated, decided by the graph of pairs alone.

    peeled : how many arms are peeled off one by one, each with at most one neighbour left
    trees : rows ORDER (the peeled arms), PARENT and PARENT_EDGE (-1 for the last arm of a tree) by arm
    spokes : an independent set of what remains, eliminated together; for a bipartite graph its larger side
    spoke_start, spoke_links : each spoke's columns of (edge, position in the core)
    cores : the arms left for a dense factorisation
    core_links : columns (edge, position of its first arm, of its second) inside the core
    parts : how many connected components there are; they share nothing but the sum of their times
    part : the component of each row, edges then arms
    """

    peeled: int
    trees: Integers
    spokes: Integers
    spoke_start: Integers
    spoke_links: Integers
    cores: Integers
    core_links: Integers
    parts: int
    part: Integers


class Work(NamedTuple):
    """Arrays that an iteration works in: rows per arm, per edge or anchor ("row"), and per component ("part")."""

    arms: Array
    rows: Array
    parts: Array
    dense: Array
    inner: Array


#: Rows of Data.arms and of Plan.trees.
MEAN, COST, RATE, REST = range(4)
ORDER, PARENT, PARENT_EDGE = range(3)

#: Row of the margins of columns after those of `caet_opt.bandits.tasks.pairs`: which piece a column is, 0 or 1; and how
#: many rows there are.
PIECE, COLUMN_ROWS = MARGIN_ROWS, MARGIN_ROWS + 1

#: Rows of Work.arms: log-effort y, effort w, load sum_e z_e p_ea, matrix diagonal, pivots, direction, right-hand side.
Y, EFFORT, LOAD, BASE, PIVOT, DY, RHS, BEST_Y = range(8)

#: Rows of Work.rows: F = log f, 1 / f, slack, multiplier, their directions, target of s z, the best z, q = z / f, and,
#: for edges only, the shares p_a and p_b, the curvature h, and the matrix: z / s, z h, and the factor's off-diagonal.
LEVEL, INVERSE, S, Z, DS, DZ, AIM, BEST_Z, WEIGHT, SHARE, OTHER, CURVE, STIFF, BEND, LINK, PLAIN_ROWS = range(16)

#: Rows of Work.rows after those, for edges only, where some are not plain: what `caet_opt.bandits.tasks.pairs` has of a
#: statement, and the ends of the piece of the range of its point that an edge has; without a term the last one is
#: before the first. Then how far the efforts are beyond those at which the point leaves an end of the mean space
#: (`caet_opt.kernels.margin_term.beyond_end`), below zero where it is at none. Last of all the lean y_a - y_b at which
#: an edge was evaluated last, nan where it is not remembered (`caet_opt.kernels.all_terms.seen_curve`). An array of
#: their own would slow down small problems: each is handed on in a dozen numbers.
EDGE_MARGIN, EDGE_REST, EDGE_RATIO, EDGE_RATIO_REST, FIRST, LAST, BEYOND, LEAN, STATED_ROWS = range(
    PLAIN_ROWS, PLAIN_ROWS + 9
)

#: Rows of Work.parts: extremes left by the bounds, the bounds, the best of them, iterations without progress, sum of
#: s z, number of rows, step lengths, scratch, and whether a component rests.
LEAST, DEAREST, LOWER, UPPER, BEST_LOWER, BEST_UPPER, IDLE, PRODUCT, COUNT, PRIMAL, DUAL, AHEAD, RESTS = range(13)


def make_work(arms: int, edges: int, cores: int, parts: int, stated: bool, table: int) -> Work:
    """The arrays for a problem of this size, all of whose statements are plain, or not, with a table of distributions
    of this size, behind the inner numbers of the core."""
    by_row = np.ones((STATED_ROWS if stated else PLAIN_ROWS, edges + arms))
    by_arm, by_part = np.zeros((8, arms)), np.zeros((13, parts))
    return Work(by_arm, by_row, by_part, np.zeros((cores, cores)), np.zeros(cores + table))
