"""How long a target is kept where rewards are in a range, in the subset of Python that numba compiles.

A box of means (`caet_opt.kernels.boxes`) proves nothing of histograms. What a solve leaves for each statement
"a > b + e" is a point x and a bet of each arm with ``w_a l_a = w_b l_b``: two lines, which stay below D whatever is
observed later, so that their sum bounds f from below at every x, and rates at x that bound the weights' loads. An
outcome changes the histogram of one arm; with bets and points as they are, its lines and rates are evaluated anew, and

    c . w / min_e f_e(w)  <=  (1 + gap) T*,      1 + gap = c . w / min_e (lines of e) * max_a (load_a / c_a) / sum(q)

by the certificate at the present histograms (docs/mathematics/bounded.md). A statement with a free arm, or about a
level, has the exact rate there instead. The target is kept while the gap is at most GAP.
"""

from math import inf, isnan

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import MARGIN
from caet_opt.kernels.bounded_term import (
    FARTHEST,
    HIGH_MEAN,
    LOW_MEAN,
    LOWER_END,
    UPPER_END,
    bet_value,
    bounded_frame,
    bounded_gap,
    bounded_place,
    find_bounded,
    rate_bounds,
    row_of,
)
from caet_opt.kernels.boxes import (
    BET_A,
    BET_B,
    FLOOR_A,
    FLOOR_B,
    LOAD,
    PAID,
    PLACE_A,
    PLACE_B,
    RATE_A,
    RATE_B,
    REDUCED,
    ROUNDING,
    Aim,
    clear_box,
)
from caet_opt.kernels.certify import is_free, mean_of
from caet_opt.kernels.counting import as_one_row, counted_term
from caet_opt.kernels.ledger import COST, MEAN, Conditions, table_base, update_costs


def lay_lines(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim) -> float:
    """Points and bets of every statement for the effort of a solve; returns their gap, zero where that is more than is
    allowed and they are given up."""
    table, base, lines = as_one_row(arms), table_base(arms), aim.box
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        for row in (BET_A, BET_B, PLACE_A, PLACE_B):
            lines[row, p] = 0.0
        if is_free(arms[COST], a) or is_free(arms[COST], b):
            continue
        first, second, wa, wb = row_of(table, base, a), row_of(table, base, b), aim.effort[a], aim.effort[b]
        gap, shift = bounded_gap(table, first, arms[MEAN, a], arms[MEAN, b], 0.0, 0.0, margins[MARGIN, p], 0.0)
        at_end = table[first + LOW_MEAN] == 0.0 or table[second + HIGH_MEAN] == 0.0 or not 1.0 + shift > 0.0
        if at_end or not (gap > 0.0 and wa > 0.0 and wb > 0.0):
            continue
        odds, bet_a, bet_b, _, _ = find_bounded(table, first, second, wa, wb, gap, shift)
        if abs(odds) == FARTHEST:
            continue
        t, _, r, _, _ = bounded_place(bounded_frame(table, first, second, gap, shift), odds)
        weight = min(wa * bet_a, wb * bet_b)
        lines[BET_A, p], lines[BET_B, p] = weight / wa, weight / wb
        lines[PLACE_A, p], lines[PLACE_B, p] = t, r
    found = line_gap(setting, arms, pairs, margins, aim, -1)
    if found <= setting.gap:
        return found
    clear_box(setting, aim)
    return 0.0


def line_gap(setting: Conditions, arms: Array, pairs: Integers, margins: Array, aim: Aim, moved: int) -> float:
    """The gap of the last solution at the present histograms, of which that of an arm has changed, or all for arm -1;
    infinite where nothing is proven."""
    box, lines, effort = aim.box, aim.box, aim.effort
    for a in range(arms.shape[1]):
        update_costs(setting, arms, a)
        box[LOAD, a] = 0.0
    for a in range(arms.shape[1]):
        if (arms[COST, a] > 0.0) != (box[PAID, a] > 0.0):
            return inf
    least, mass = inf, 0.0
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        free_a, free_b = is_free(arms[COST], a), is_free(arms[COST], b)
        if free_a and free_b:
            continue
        if isnan(lines[BET_A, p]):
            return inf
        if moved < 0 or a == moved or b == moved:
            refresh_lines(arms, pairs, margins, aim, p, moved)
        f = (0.0 if free_a else effort[a] * lines[FLOOR_A, p]) + (0.0 if free_b else effort[b] * lines[FLOOR_B, p])
        if not f > 0.0:
            return inf
        least = min(least, f)
        weight = aim.weights[p]
        if weight > 0.0 and f < inf:
            mass += weight
            if not free_a:
                box[LOAD, a] += weight * lines[RATE_A, p]
            if not free_b:
                box[LOAD, b] += weight * lines[RATE_B, p]
    outlay, dearest = 0.0, 0.0
    for a in range(arms.shape[1]):
        if arms[COST, a] > 0.0:
            outlay += arms[COST, a] * effort[a]
            dearest = max(dearest, box[LOAD, a] / (box[REDUCED, a] if setting.limited else arms[COST, a]))
    if not (mass > 0.0 and dearest < inf):
        return inf
    gap = outlay / mass * dearest / least - 1.0 + ROUNDING
    return gap if gap > 0.0 else inf  # what is not a number proves nothing


def refresh_lines(arms: Array, pairs: Integers, margins: Array, aim: Aim, p: int, moved: int) -> None:
    """Lines and rates of a statement at the present histograms; -1 in place of a line that proves nothing."""
    table, base, lines, a, b = as_one_row(arms), table_base(arms), aim.box, pairs[0, p], pairs[1, p]
    if lines[BET_A, p] > 0.0:
        if moved < 0 or moved == a:
            lines[FLOOR_A, p], lines[RATE_A, p] = side_line(
                table, row_of(table, base, a), LOWER_END, LOW_MEAN, lines[PLACE_A, p], lines[BET_A, p]
            )
        if moved < 0 or moved == b:
            lines[FLOOR_B, p], lines[RATE_B, p] = side_line(
                table, row_of(table, base, b), UPPER_END, HIGH_MEAN, lines[PLACE_B, p], lines[BET_B, p]
            )
        return
    x, y, margin = mean_of(arms[MEAN], a), mean_of(arms[MEAN], b), margins[MARGIN, p]
    wa, wb = mean_of(aim.effort, a), mean_of(aim.effort, b)
    if is_free(arms[COST], b):
        f, da, db = counted_term(table, base, a, -1, x, 0.0, y + margin, wa, 0.0)
    elif is_free(arms[COST], a):
        f, da, db = counted_term(table, base, -1, b, 0.0, y, margin - x, 0.0, wb)
    else:
        f, da, db = counted_term(table, base, a, b, x, y, margin, wa, wb)
    settled = f == inf  # no means contradict it: any effort will do
    lines[RATE_A, p], lines[RATE_B, p] = da, db
    lines[FLOOR_A, p], lines[FLOOR_B, p] = (inf, inf) if settled else (da, db)


def side_line(table: Array, start: int, side: int, mean: int, t: float, bet: float) -> tuple[float, float]:
    """What D at the distance t from an end is at least, by the line of a bet, and at most; ``mean`` is where the row
    has the mean's distance from that end."""
    h = table[start + mean] - t
    if not h > 0.0:
        return -1.0, inf
    return bet_value(table, start, side, t, h, bet), rate_bounds(table, start, side, t, h, bet, 0.0, 0.0)[1]
