"""The term of rewards in a range, without a model, in the subset of Python that numba compiles.

In units of the range an arm has values at distances u >= 0 from an end, with masses p. To move its mean to the distance
t from this end, which is h nearer, takes

    D(t) = max over 0 <= l <= 1 / t of  psi(l),     psi(l) = E log(1 + l (u - t)) = l h - E phi(l (u - t)),

phi(z) = z - log(1 + z), for a statement "a > b + e" from the lower end for a and from the upper end for b:
``f = min over x of w_a D_a(x - low) + w_b D_b(high - (x - e))``.

Any bet l gives a line below D, ``D(t') >= psi(l) - l (t' - t)``: with ``s = 1 + l (t' - t)``, ``1 + l (u - t)`` is
``s (1 + (l / s) (u - t'))``, where l / s is a bet at t', and ``log s <= s - 1``. Where both bets weigh the same,
``w_a l_a = w_b l_b``, the lines of the two arms add up to a constant, which is below f whatever x is. Any distribution
of the mean lies above D. docs/mathematics/bounded.md has both bounds with their rounding.
"""

from math import exp, inf, log, log1p, sqrt

from caet_opt.bandits.families.numerics import UNIT, Array
from caet_opt.bandits.families.scalar import kl_div
from caet_opt.kernels.margin_term import seen_loser

#: What the row of an arm begins with: how many values it has, the distances of its mean from both ends, variance, the
#: ends and their distance as they were given, the means of the inverse distances of its values from both ends, and what
#: rounding took from the ends. Then come the distances of the values from the lower end, from the upper one, and their
#: masses.
POINTS, LOW_MEAN, HIGH_MEAN, SPREAD, LOWEST, HIGHEST, RANGE, LOW_INVERSE, HIGH_INVERSE = range(9)
LOWEST_REST, HIGHEST_REST, HEAD = range(9, 12)

#: The two ends.
LOWER_END, UPPER_END = 0, 1

#: Steps at most of the bet and of the point; which step is the last one, of a bet in parts of it, and which difference
#: of the logarithms of weights is none; the largest log-odds of a point.
BET_STEPS, POINT_STEPS, LAST_BET, LAST_POINT, LAST_LEAN, FARTHEST = 200, 200, 1e-14, 1e-14, 1e-15, 690.0

#: A bet stays below its limit by so much: rounding must not take it beyond.
INSIDE = 1.0 - 32.0 * UNIT

#: From this part of a rate on, what a poorly known slope may add to it is looked at again.
POOR = 1e-12

#: Beyond this ``l h`` the logarithms are added up as they are.
DIRECT = 0.5


def row_of(table: Array, base: int, arm: int) -> int:
    """Where the row of an arm begins, in a table whose width is at ``base``."""
    return base + 1 + arm * int(table[base])


def bounded_gap(
    table: Array, start: int, x: float, y: float, rest_x: float, rest_y: float, margin: float, rest: float
) -> tuple[float, float]:
    """``mu_a - mu_b - e`` and e in units of the range, for means x + rest_x and y + rest_y."""
    foot, lost = seen_loser(y, rest_y, margin, rest, 1.0, 0.0)
    return ((x - foot) + (rest_x - lost)) / table[start + RANGE], (margin + rest) / table[start + RANGE]


def find_bet(table: Array, start: int, side: int, t: float, h: float, guess: float) -> tuple[float, float]:
    """The best bet at the distance t from an end, h before the mean, and its derivative ``|dl / dt|``.

    It is the limit 1 / t where ``t E 1 / u <= 1``, as for a point mass, else the root of ``E d / (1 + l d)``, which is
    ``h - l E d^2 / (1 + l d)``, with d = u - t: Newton's method on ``(1 - l t)`` times that, which has no pole, inside
    a bracket.
    """
    n = int(table[start + POINTS])
    values, masses = start + HEAD + side * n, start + HEAD + 2 * n
    most = INSIDE / t
    if n == 1 or table[start + LOW_INVERSE + side] * t <= 1.0:
        return most, 1.0 / (t * t)
    low, high = 0.0, most
    bet = guess if 0.0 < guess < most else min(h / (table[start + SPREAD] + h * h), 0.5 * most)
    for _ in range(BET_STEPS):
        plain, square, slope = 0.0, 0.0, 0.0
        for k in range(n):
            u, mass = table[values + k], table[masses + k]
            d = u - t
            g = 1.0 + bet * d
            part = mass * d / g
            plain += part
            square += part * d
            slope += part * u / g
        rest = plain if bet * h > DIRECT else h - bet * square
        if rest > 0.0:
            low = bet
        else:
            high = bet
        step = rest * (1.0 - bet * t) / slope if slope > 0.0 else inf
        if abs(step) <= LAST_BET * bet:
            break
        new = bet + step if low < bet + step < high else 0.5 * (low + high)
        if rest > 0.0 and step > bet and high == most:  # the root may be any number of powers of two away
            new = max(new, sqrt(bet) * sqrt(high))
        if new == bet:
            break
        bet = new
    once, twice = 0.0, 0.0
    for k in range(n):
        d = table[values + k] - t
        g = 1.0 + bet * d
        once += table[masses + k] / (g * g)
        twice += table[masses + k] * d * d / (g * g)
    return bet, once / twice


def bet_value(table: Array, start: int, side: int, t: float, h: float, bet: float) -> float:
    """psi(l)."""
    n = int(table[start + POINTS])
    values, masses = start + HEAD + side * n, start + HEAD + 2 * n
    lost, gained = 0.0, 0.0
    for k in range(n):
        z = bet * (h if n == 1 else table[values + k] - t)
        if bet * h > DIRECT:
            gained += table[masses + k] * log1p(z)
        else:
            lost += table[masses + k] * kl_div(1.0, 1.0 + z, z, z / (2.0 + z))
    return gained if bet * h > DIRECT else bet * h - lost


def bet_bounds(
    table: Array, start: int, side: int, t: float, h: float, bet: float, blur: float, loose: float
) -> tuple[float, float, float, float, float]:
    """psi(l), what rounding can change of it, its derivative, what rounding can change of that, and minus the second
    derivative. The point is within ``blur`` of the distance t, beside 12 units, and the mean within ``loose`` of h,
    beside 16.

    A value is within 1 unit of its distance u, so that d = u - t is within ``u + 12 t + |d|`` units and the blur; phi
    and the logarithm change by the largest ``|z / (1 + z)|`` on the way times what z does, and are within 16 units of
    their own; a sum of n parts adds n. Nothing is proven where 1 + z may be zero.
    """
    n = int(table[start + POINTS])
    values, masses = start + HEAD + side * n, start + HEAD + 2 * n
    total, size, moved = 0.0, 0.0, 0.0
    square, shifted, curve, plain, plain_size, plain_moved = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    direct = bet * h > DIRECT
    for k in range(n):
        u, mass = table[values + k], table[masses + k]
        d = h if n == 1 else u - t
        z = bet * d
        g = 1.0 + z
        off = UNIT * (u + 12.0 * t + 3.0 * abs(d)) + blur
        lost = bet * off
        least = g - lost  # of what 1 + z may be
        if not least > 0.0:
            return -inf, inf, 0.0, inf, 0.0
        part = mass * (log1p(z) if direct else kl_div(1.0, g, z, z / (2.0 + z)))
        total += part
        size += abs(part)
        # where logarithms are added up as they are, one changes by what 1 + z does
        moved += mass * lost * (1.0 if direct else abs(z) + lost) / least
        square += mass * d * d / g
        shifted += mass * (abs(d) + off) * (2.0 + abs(z) + lost) / (least * least) * off
        curve += mass * d * d / (g * g)
        plain += mass * d / g
        plain_size += mass * abs(d) / g
        plain_moved += mass * off / (g * least)
    own = UNIT * (n + 20.0)
    value = total if direct else bet * h - total
    error = own * size + moved + (0.0 if direct else bet * (16.0 * UNIT * h + loose))
    if direct:
        return value, error, plain, own * plain_size + plain_moved, curve
    return value, error, h - bet * square, 16.0 * UNIT * h + loose + bet * (own * square + shifted), curve


def excess(slope: float, room: float) -> float:
    """What a bet that may still grow by ``room`` can bring at this slope: nothing where that is not positive."""
    return slope * room if slope > 0.0 else 0.0


def room_below(
    table: Array,
    start: int,
    side: int,
    t: float,
    h: float,
    bet: float,
    blur: float,
    loose: float,
    reach: float,
) -> float:
    """How far below a bet the best one is at most: psi' is positive, in spite of rounding, at a bet ``reach`` below it;
    all of the bet where that cannot be told."""
    if not 0.0 < reach < bet:
        return bet
    _, _, rest, rest_error, _ = bet_bounds(table, start, side, t, h, bet - reach, blur, loose)
    return reach * (1.0 + 4.0 * UNIT) + UNIT * bet if rest - rest_error > 0.0 else bet


def rate_bounds(
    table: Array, start: int, side: int, t: float, h: float, bet: float, blur: float, loose: float
) -> tuple[float, float]:
    """D(t) from below and from above.

    Below is psi(l). Above, psi being concave, ``psi(l) + psi'(l) (l* - l)`` for the best bet l* in [0, 1 / t]: so l is
    moved until psi' is negative in spite of rounding. Where an end has little mass, psi' is known poorly, and l* has to
    be shown to be near.
    """
    limit, nearest = INSIDE / (t + blur), t * INSIDE - blur
    most, bet = 1.0 / nearest if nearest > 0.0 else inf, min(bet, limit)
    value, error, rest, rest_error, curve = bet_bounds(table, start, side, t, h, bet, blur, loose)
    below = value - error
    above = value + error + max(0.0, rest_error - rest) * bet + excess(rest + rest_error, most - bet)
    for _ in range(3):
        if rest + rest_error <= 0.0 or not curve > 0.0:
            break
        bet = min(bet + 2.0 * (rest + rest_error) / curve, limit)
        value, error, rest, rest_error, curve = bet_bounds(table, start, side, t, h, bet, blur, loose)
        over = value + error + max(0.0, rest_error - rest) * bet + excess(rest + rest_error, most - bet)
        above = min(above, over)
    if (rest_error - rest) * bet > POOR * above and curve > 0.0:
        reach = 4.0 * (rest_error + abs(rest)) / curve
        room = room_below(table, start, side, t, h, bet, blur, loose, reach)
        above = min(above, value + error + (rest_error - rest) * room + excess(rest + rest_error, most - bet))
    return below, above * (1.0 + 4.0 * UNIT)


def bounded_frame(
    table: Array, first: int, second: int, gap: float, shift: float
) -> tuple[float, float, float, float, float]:
    """Between what the point x of "a > b + e" lies: its distance from the lower end at least, that of x - e from the
    mean of b, those of x from the mean of a and of x - e from the upper end, and the width of the range.

    x is above the mean of b plus e and above the lower end, below the mean of a and below the upper end plus e.
    """
    under, over = table[second + LOW_MEAN] + shift, table[first + HIGH_MEAN] + shift
    if shift == 0.0 or (under >= 0.0 and over >= 0.0):
        return under, 0.0, 0.0, over, gap
    if under >= 0.0:
        return under, 0.0, -over, 0.0, table[second + HIGH_MEAN]
    if over >= 0.0:
        return 0.0, -under, 0.0, over, table[first + LOW_MEAN]
    return 0.0, -under, -over, 0.0, 1.0 + shift


def bounded_place(
    frame: tuple[float, float, float, float, float], odds: float
) -> tuple[float, float, float, float, float]:
    """Distances of the point at these log-odds: from the lower end and before the mean of a, from the upper end and
    beyond the mean of b; and ``dx / d odds``."""
    under, beyond, before, over, width = frame
    small = exp(-abs(odds))
    share, other = (1.0, small) if odds > 0.0 else (small, 1.0)
    i, j = width * share / (1.0 + small), width * other / (1.0 + small)
    return under + i, before + j, over + j, beyond + i, width * small / ((1.0 + small) * (1.0 + small))


def find_bounded(
    table: Array, first: int, second: int, wa: float, wb: float, gap: float, shift: float
) -> tuple[float, float, float, float, float]:
    """Log-odds of the point x at which the term is least, the bets there, and their derivatives.

    There ``w_a l_a = w_b l_b``, or x is at an end of its range, where D has a kink: Newton's method on the logarithm of
    the quotient, which grows in x.
    """
    frame = bounded_frame(table, first, second, gap, shift)
    low, high = -FARTHEST, FARTHEST
    spread_a, spread_b = table[first + SPREAD] + 1e-6 * gap * gap, table[second + SPREAD] + 1e-6 * gap * gap
    odds = min(max(log(wa / spread_a) - log(wb / spread_b), -30.0), 30.0)
    bet_a, bet_b, bend_a, bend_b = 0.0, 0.0, 0.0, 0.0
    for _ in range(POINT_STEPS):
        t, ha, r, hb, pace = bounded_place(frame, odds)
        bet_a, bend_a = find_bet(table, first, LOWER_END, t, ha, bet_a)
        bet_b, bend_b = find_bet(table, second, UPPER_END, r, hb, bet_b)
        lean = log(wb / wa) + log(bet_b) - log(bet_a)
        if lean > 0.0:
            high = odds
        else:
            low = odds
        if odds == low == FARTHEST or odds == high == -FARTHEST:
            break
        slope = (bend_b / bet_b + bend_a / bet_a) * pace
        step = -lean / slope if 0.0 < slope < inf else (2.0 * FARTHEST if lean < 0.0 else -2.0 * FARTHEST)
        if abs(step) <= LAST_POINT or abs(lean) <= LAST_LEAN:
            break
        new = odds + step
        if not low < new < high:
            end = FARTHEST if lean < 0.0 else -FARTHEST
            open_end = (high == FARTHEST) if lean < 0.0 else (low == -FARTHEST)
            new = end if open_end and abs(odds) < FARTHEST else 0.5 * (low + high)
        if new == odds:
            break
        odds = new
    return odds, bet_a, bet_b, bend_a, bend_b


def bounded_end(table: Array, first: int, second: int, gap: float, shift: float) -> tuple[float, float, float]:
    """The rate of the other arm where all of a is at the lower end, or all of b at the upper one, which cannot move
    further: D at the distance ``1 + e`` from its own end, and what it is at least and at most."""
    start, side = (second, UPPER_END) if table[first + LOW_MEAN] == 0.0 else (first, LOWER_END)
    t, blur = 1.0 + shift, 4.0 * UNIT * (1.0 + abs(shift))
    bet, _ = find_bet(table, start, side, t, gap, 0.0)
    low, high = rate_bounds(table, start, side, t, gap, bet, blur, blur)
    return bet_value(table, start, side, t, gap, bet), low, high


def bounded_term(
    table: Array, first: int, second: int, wa: float, wb: float, gap: float, shift: float
) -> tuple[float, float, float, float, float]:
    """f of "a > b + e", its rates D_a and D_b, its bend ``(w_a l_a)^2 / F''``, F the function whose minimum is f, and
    how far log(w_a / w_b) is beyond where x leaves an end of its range, -1 where it is at none.

    D of a point mass has a kink at its mean: there x stays, and f does not depend on one of the efforts. The bend is
    that of the other side of the kink.
    """
    if table[first + LOW_MEAN] == 0.0 or table[second + HIGH_MEAN] == 0.0:
        low, _, _ = bounded_end(table, first, second, gap, shift)
        da, db = (0.0, low) if table[first + LOW_MEAN] == 0.0 else (low, 0.0)
        return wa * da + wb * db, da, db, 0.0, -1.0
    odds, bet_a, bet_b, bend_a, bend_b = find_bounded(table, first, second, wa, wb, gap, shift)
    t, ha, r, hb, _ = bounded_place(bounded_frame(table, first, second, gap, shift), odds)
    da = bet_value(table, first, LOWER_END, t, ha, bet_a)
    db = bet_value(table, second, UPPER_END, r, hb, bet_b)
    bend = (wa * bet_a) * (wb * bet_b) / (wa * bend_a + wb * bend_b)
    beyond = -1.0 if abs(odds) < FARTHEST else abs(log(wb / wa) + log(bet_b) - log(bet_a))
    return wa * da + wb * db, da, db, bend, beyond


def bounded_proof(
    table: Array, first: int, second: int, wa: float, wb: float, gap: float, shift: float
) -> tuple[float, float, float, float]:
    """f of "a > b + e", what it is at least, and what the rates at its point are at most."""
    if table[first + LOW_MEAN] == 0.0 or table[second + HIGH_MEAN] == 0.0:
        rate, low, high = bounded_end(table, first, second, gap, shift)
        if table[first + LOW_MEAN] == 0.0:
            return wb * rate, wb * low, 0.0, high
        return wa * rate, wa * low, high, 0.0
    odds, bet_a, bet_b, _, _ = find_bounded(table, first, second, wa, wb, gap, shift)
    frame = bounded_frame(table, first, second, gap, shift)
    _, beyond, before, _, _ = frame
    t, ha, r, hb, _ = bounded_place(frame, odds)
    loose = 0.0 if shift == 0.0 else 4.0 * UNIT * (1.0 + abs(shift))
    under, over = table[second + LOW_MEAN] + shift, table[first + HIGH_MEAN] + shift
    # where both distances begin at an end, the point is that of the smaller one, and the larger is 1 + e less that
    ends = under <= -loose and over <= -loose
    blur_a = loose if under > -loose or (ends and t >= r) else 0.0
    blur_b = loose if over > -loose or (ends and t < r) else 0.0
    weight = min(wa * bet_a, wb * bet_b)
    line_a, line_b = min(weight / wa, INSIDE / (t + blur_a)), min(weight / wb, INSIDE / (r + blur_b))
    value_a, error_a, _, _, _ = bet_bounds(table, first, LOWER_END, t, ha, line_a, blur_a, loose)
    value_b, error_b, _, _, _ = bet_bounds(table, second, UPPER_END, r, hb, line_b, blur_b, loose)
    f = wa * value_a + wb * value_b
    # the slopes of the lines differ by rounding, and by no more than that over the range of x
    floor = f - (wa * error_a + wb * error_b) - (abs(wa * line_a - wb * line_b) + 8.0 * UNIT * weight) * gap
    _, da = rate_bounds(table, first, LOWER_END, t, ha, bet_a, blur_a, loose)
    _, db = rate_bounds(table, second, UPPER_END, r, hb, bet_b, blur_b, loose)
    # at an end of the range of x that is the mean of an arm, the point is that mean, and the arm need not move
    if odds == FARTHEST and before == 0.0:
        da = 0.0
    if odds == -FARTHEST and beyond == 0.0:
        db = 0.0
    return f, floor * (1.0 - 4.0 * UNIT), da, db
