"""The term of a statement ``a > ratio b + margin``, in the subset of Python that numba compiles.

    f(w) = min over x of w_a d(mu_a, x) + w_b d(mu_b, (x - margin) / ratio)

Order, Gaussian margins, ratios and levels are `pair_term` at another mean or effort. What is left are margins of the
other families: with e the margin, F(x) the sum above and y = x - e,

    F' = -w_a h_a / V(x) + w_b h_b / V(y),    h_a = mu_a - x,  h_b = y - mu_b,

so that F falls where ``R = (h_b / V(y)) / (h_a / V(x))`` is below w_a / w_b, and rises where it is above. R rises all
the way for Bernoulli and Poisson, and for exponential and geometric with e <= 0; with e > 0 it may rise, fall and rise
again, and then F may have two minima (docs/mathematics/margins.md). Newton's method finds ``log R = log(w_a / w_b)`` in
the log of the odds of x between its ends, where log R is all but a straight line at both of them.

A mean is x + rest_x, the rest being what rounding to a double took away; so are margin and ratio.
"""

from math import exp, inf, log, nan, sqrt

from caet_opt.bandits.families.numerics import UNIT
from caet_opt.kernels.term import (
    BERNOULLI,
    EXPONENTIAL,
    GAUSSIAN,
    GEOMETRIC,
    POISSON,
    pair_term,
    step_divergence,
    variance,
)

#: What the means say of a statement; HIDDEN: the difference is not more than what rounding may have changed.
FAILS, TIE, HOLDS, HIDDEN = -1, 0, 1, 2

#: The share of its range from which on a point is at the end, and its odds.
LEAST_SHARE, MOST_ODDS = 1e-300, 1e300

#: Odds that are as good as 0 beside a mean that is an end of the mean space, and no product with them underflows.
NEAR = 1e-40

#: Where an end is the least point, f does not depend on one of the efforts, until that is so small that it does: the
#: curvature is then that at these odds beside the end, which a solver needs to know (`interior.bend_at_end`).
BESIDE = 1e-8

#: Newton's method is quadratic: the step after one of this size is below the last digit. It takes 3 to 7.
LAST_STEP, MOST_STEPS = 3e-8, 200

#: A curvature beyond this, at the brink of a second minimum, is of no use to a solver.
MOST_CURVE = 1e6

#: 2^27 + 1, which splits a double in two halves whose products are exact.
SPLITTER = 134217729.0

#: Golden section, and how many points are tried before it.
GOLDEN, TRIED = 0.6180339887498949, 24

#: h_a, h_b, x, y, 1 - x, 1 - y; and gap, width of the range of x, foot, head, 1 - mu_a, 1 - mu_b: see `margin_frame`.
Six = tuple[float, float, float, float, float, float]


def two_sum(x: float, y: float) -> tuple[float, float]:
    """``x + y`` as a double, and exactly what rounding took away."""
    total = x + y
    seen = total - x
    return total, (x - (total - seen)) + (y - seen)


def two_product(x: float, y: float) -> tuple[float, float]:
    """``x y`` as a double, and exactly what rounding took away, for numbers far from the ends of double precision."""
    product = x * y
    a, b = SPLITTER * x, SPLITTER * y
    x_high, y_high = a - (a - x), b - (b - y)
    x_low, y_low = x - x_high, y - y_high
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def precise_sum(x: float, y: float, rest_x: float, rest_y: float) -> tuple[float, float]:
    """The sum of x + rest_x and y + rest_y as a double and a rest, within 3 if it is at least |rest_x| + |rest_y|."""
    total, lost = two_sum(x, y)
    return two_sum(total, lost + (rest_x + rest_y))


def seen_loser(
    y: float, rest_y: float, margin: float, rest_margin: float, ratio: float, rest_ratio: float
) -> tuple[float, float]:
    """``ratio loser + margin``, what the winner has to exceed, as a double and a rest."""
    if ratio == 1.0 and rest_ratio == 0.0:
        if margin == 0.0 and rest_margin == 0.0:
            return y, rest_y
        return precise_sum(y, margin, rest_y, rest_margin)
    scaled, lost = two_product(ratio, y)
    return precise_sum(scaled, margin, lost + (ratio * rest_y + rest_ratio * y), rest_margin)


def seen_winner(
    x: float, rest_x: float, margin: float, rest_margin: float, ratio: float, rest_ratio: float
) -> tuple[float, float]:
    """``(winner - margin) / ratio``, what the loser has to stay below, as a double and a rest."""
    above, rest = precise_sum(x, -margin, rest_x, -rest_margin)
    if ratio == 1.0 and rest_ratio == 0.0:
        return above, rest
    quotient = above / ratio
    product, lost = two_product(quotient, ratio)
    return two_sum(quotient, (((above - product) - lost) + (rest - quotient * rest_ratio)) / ratio)


def statement_gap(
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
    ratio: float,
    rest_ratio: float,
) -> tuple[float, float]:
    """``winner - ratio loser - margin``, and a bound, times 2^53, on what rounding of the rests may have changed.

    A gap larger than that is within 5, with a ratio within 8. It is `means_differ` for statements.
    """
    seen, rest = seen_loser(y, rest_y, margin, rest_margin, ratio, rest_ratio)
    return (x - seen) + (rest_x - rest), rounding_blur(x, y, rest_x, rest_y, margin, rest_margin, ratio, rest_ratio)


def rounding_blur(
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
    ratio: float,
    rest_ratio: float,
) -> float:
    """A bound, times 2^53, on what rounding of the rests may change in a sum of the numbers of a statement.

    Without rests and ratio sums of two are exact; else a rest is added to what rounding took from the sum before.
    """
    if ratio == 1.0 and rest_ratio == 0.0:
        if rest_x == 0.0 and rest_y == 0.0 and rest_margin == 0.0:
            return 0.0
        if margin == 0.0 and rest_margin == 0.0:
            return abs(rest_x) + abs(rest_y)
    scaled = abs(ratio * rest_y) + abs(rest_ratio * y)
    return abs(rest_x) + scaled + abs(rest_margin) + UNIT * (abs(ratio * y) + abs(margin))


def statement_side(
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
    ratio: float,
    rest_ratio: float,
) -> int:
    """Whether a statement HOLDS or FAILS strictly, is a TIE, or HIDDEN by rounding.

    A tie of decimals that are no doubles, 0.3 against 0.2 + 0.1, is HIDDEN: rests are rounded, too. It takes exact
    numbers to tell (`caet_opt.bandits.tasks.statements`).
    """
    gap, blur = statement_gap(x, y, rest_x, rest_y, margin, rest_margin, ratio, rest_ratio)
    if gap == 0.0:
        return TIE
    if not abs(gap) > blur:
        return HIDDEN
    return HOLDS if gap > 0.0 else FAILS


def statement_term(
    family: int,
    low: float,
    high: float,
    wa: float,
    wb: float,
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
    ratio: float,
    rest_ratio: float,
    free_a: bool,
    free_b: bool,
) -> tuple[bool, float, float, float, float]:
    """Whether a statement has a term, its f, its rates d_a and d_b, and its curvature in log coordinates, at least 0.

    ``low`` and ``high`` are the ends of the mean space, efforts are over dispersion. Without a term f is infinite and
    the rest is zero: any effort settles a statement with two free sides, or with one at or beyond an end of the mean
    space at infinite divergence, or one that no two means in the space contradict. The statement has to hold. A margin
    of two costly arms with a ratio, or a ratio of a family that has none, is nan.
    """
    if free_a and free_b:
        return False, inf, 0.0, 0.0, 0.0
    if free_a or free_b:
        return level_term(
            family, low, high, wa, wb, x, y, rest_x, rest_y, margin, rest_margin, ratio, rest_ratio, free_a
        )
    shifted, scaled = margin != 0.0 or rest_margin != 0.0, ratio != 1.0 or rest_ratio != 0.0
    if shifted and family != GAUSSIAN:
        if scaled or family < 0:
            return True, nan, nan, nan, nan
        return whole_margin_term(family, wa, wb, x, y, rest_x, rest_y, margin, rest_margin)
    seen, rest, effort = y, rest_y, wb
    if scaled:
        if shifted or family not in (POISSON, EXPONENTIAL):
            return True, nan, nan, nan, nan
        effort = wb / ratio if family == POISSON else wb
    if shifted or scaled:
        seen, rest = seen_loser(y, rest_y, margin, rest_margin, ratio, rest_ratio)
    f, da, db, ua, ub = pair_term(family, wa, effort, x, seen, rest_x, rest, False, False)
    middle = ((seen - x) + (rest - rest_x)) * ua * ub
    m = ua * x + ub * seen
    bent = middle * middle * (wa + effort) / (variance(family, m) * f) - (wa * da / f) * (effort * db / f)
    if scaled and family == POISSON:
        db = db / ratio
    return True, f, da, db, max(bent, 0.0)


def level_term(
    family: int,
    low: float,
    high: float,
    wa: float,
    wb: float,
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
    ratio: float,
    rest_ratio: float,
    free_a: bool,
) -> tuple[bool, float, float, float, float]:
    """`statement_term` of a costly arm and a free one: ``w d(mu, point)``, the point being what the free one says."""
    if free_a:
        point, rest = seen_winner(x, rest_x, margin, rest_margin, ratio, rest_ratio)
        f, _, rate, _, _ = pair_term(family, 0.0, wb, point, y, rest, rest_y, True, False)
    else:
        point, rest = seen_loser(y, rest_y, margin, rest_margin, ratio, rest_ratio)
        f, rate, _, _, _ = pair_term(family, wa, 0.0, x, point, rest_x, rest, False, True)
    if not low <= point <= high or rate == inf:
        return False, inf, 0.0, 0.0, 0.0
    return True, f, 0.0 if free_a else rate, rate if free_a else 0.0, 0.0


def whole_margin_term(
    family: int,
    wa: float,
    wb: float,
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
) -> tuple[bool, float, float, float, float]:
    """`statement_term` of two costly arms and a margin: the least of `margin_term` over the pieces of its range."""
    width = margin_frame(family, x, y, rest_x, rest_y, margin, rest_margin)[1]
    if not width >= 0.0:
        return False, inf, 0.0, 0.0, 0.0
    first, second = margin_bends(family, x, y, rest_x, rest_y, margin, rest_margin)
    f, da, db, curve, _ = margin_term(family, wa, wb, x, y, rest_x, rest_y, margin, rest_margin, 0.0, first)
    if second < 1.0:
        f2, da2, db2, curve2, _ = margin_term(family, wa, wb, x, y, rest_x, rest_y, margin, rest_margin, second, 1.0)
        if f2 < f:
            return True, f2, da2, db2, curve2
    return True, f, da, db, curve


def margin_frame(
    family: int, x: float, y: float, rest_x: float, rest_y: float, margin: float, rest_margin: float
) -> Six:
    """Gap ``mu_a - mu_b - e``; width of the range of the point; foot ``mu_b + e``; head ``1 - mu_a + e``; 1 - mu_a,
    1 - mu_b.

    The winner's point runs from mu_b + e, or from 0 where the foot is negative, to mu_a, or to 1 + e where the head is.
    Where there is no upper end of the means, head, 1 - mu_a and 1 - mu_b are infinite. The width is negative where no
    two means in the space contradict the statement, and zero where one pair of means does.
    """
    foot, rest = precise_sum(y, margin, rest_y, rest_margin)
    gap = (x - foot) + (rest_x - rest)
    if family != BERNOULLI:
        return gap, gap if foot >= 0.0 else x, foot, inf, inf, inf
    from_x, lost = two_sum(1.0, -x)
    head = precise_sum(from_x, margin, lost - rest_x, rest_margin)[0]
    fail_x, fail_y = (1.0 - x) - rest_x, (1.0 - y) - rest_y
    if foot >= 0.0:
        return gap, gap if head >= 0.0 else fail_y, foot, head, fail_x, fail_y
    if head >= 0.0:
        return gap, x, foot, head, fail_x, fail_y
    width = precise_sum(1.0, margin, 0.0, rest_margin)[0]
    return gap, width if width > 0.0 else -1.0, foot, head, fail_x, fail_y


def margin_point(mean_y: float, frame: Six, share: float, other: float) -> Six:
    """h_a, h_b, x, y, 1 - x and 1 - y of the point at a share of its range, sums of numbers of one sign all of them.

    ``share`` is from the loser's end and ``other = 1 - share`` from the winner's.
    """
    _, width, foot, head, fail_x, _ = frame
    from_foot, from_head = share * width, other * width
    step_a = from_head if head >= 0.0 else from_head - head
    step_b = from_foot if foot >= 0.0 else from_foot - foot
    point = foot + from_foot if foot >= 0.0 else from_foot
    fails = head + from_head if head >= 0.0 else from_head
    return step_a, step_b, point, mean_y + step_b, fail_x + step_a, fails


def odds_of(share: float) -> float:
    """``share / (1 - share)``, between 1e-300 and 1e300."""
    if share >= 1.0:
        return MOST_ODDS
    return min(max(share / (1.0 - share), LEAST_SHARE), MOST_ODDS)


def shares_of(odds: float) -> tuple[float, float]:
    """A share and its complement: the smaller one a quotient, the larger one its complement, so that both belong to
    one point."""
    small = min(odds, 1.0) / (1.0 + odds) if odds <= 1.0 else 1.0 / (1.0 + odds)
    return (small, 1.0 - small) if odds <= 1.0 else (1.0 - small, small)


def lean(family: int, at: Six) -> float:
    """``R = (h_b / V(y)) / (h_a / V(x))`` at a point."""
    step_a, step_b, point, other, fails, other_fails = at
    quotient = step_b / step_a * (point / other)
    if family == POISSON:
        return quotient
    if family == BERNOULLI:
        return quotient * (fails / other_fails)
    if family == EXPONENTIAL:
        return quotient * (point / other)
    return quotient * ((1.0 + point) / (1.0 + other))


def lean_slope(family: int, margin: float, frame: Six, at: Six, share: float, other: float) -> float:
    """Derivative of log R in the log of the odds: ``(gap / (h_a h_b) - e T) width share (1 - share)``.

    T is 1 / (x y) for Poisson, twice that for exponential, with 1 / ((1 - x)(1 - y)) added for Bernoulli and
    1 / ((1 + x)(1 + y)) for geometric.
    """
    step_a, step_b, point, second, fails, second_fails = at
    near, far = share * frame[1], other * frame[1]
    drift = (near / point) * (far / second)
    if family == BERNOULLI:
        drift += (near / fails) * (far / second_fails)
    elif family == EXPONENTIAL:
        drift += drift
    elif family == GEOMETRIC:
        drift += (near / (1.0 + point)) * (far / (1.0 + second))
    return ((near / step_b) * (far / step_a) * frame[0] - margin * drift) / frame[1]


def margin_term(
    family: int,
    wa: float,
    wb: float,
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
    first: float,
    last: float,
) -> tuple[float, float, float, float, float]:
    """``f = w_a d(mu_a, x) + w_b d(mu_b, x - e)`` least over a piece, its rates, its curvature, and the odds of x.

    The piece is from a first to a last share of the range of x, 0 and 1 being its ends (`margin_frame`), and R has to
    rise on it: (0, 1), or (0, r) and (s, 1) with the r and s of `margin_bends`. The curvature is
    ``(w_a d_a')^2 / (F'' f) - p_a p_b``, cut at 0, and 0 where the least value is at an end of the piece, where the
    term is linear in w; but see `BESIDE`.
    """
    x, y, margin = float(x), float(y), float(margin)
    frame = margin_frame(family, x, y, rest_x, rest_y, margin, rest_margin)
    odds, slope = find_odds(family, wa, wb, y, margin, frame, first, last)
    share, other = shares_of(odds)
    at = margin_point(y, frame, share, other)
    da, db = margin_divergences(family, x, y, frame, at)
    f = wa * da + wb * db
    curve = 0.0
    if odds == 0.0 or odds == inf:
        share, other = shares_of(BESIDE if odds == 0.0 else 1.0 / BESIDE)
        at = margin_point(y, frame, share, other)
        slope = lean_slope(family, margin, frame, at, share, other)
    if slope > 0.0:
        step_a, _, point, _, fails, _ = at
        bent = wa * step_a * (share * frame[1] / point) * other / (slope * f)
        if family == BERNOULLI:
            bent /= fails
        elif family == EXPONENTIAL:
            bent /= point
        elif family == GEOMETRIC:
            bent /= 1.0 + point
        bent -= (wa * da / f) * (wb * db / f)
        curve = min(bent, MOST_CURVE) if bent > 0.0 else 0.0
    return f, da, db, curve, odds


def find_odds(
    family: int, wa: float, wb: float, y: float, margin: float, frame: Six, first: float, last: float
) -> tuple[float, float]:
    """Odds of the point of a piece at which F is least, and the slope of log R there; a slope of 0 at an end.

    Steps that leave the bracket are replaced by its middle. An end of the range at which the mean itself is an end of
    the mean space may be the least point, since d' does not vanish there: the odds are then 0 or infinite.
    """
    low, high = odds_of(first), odds_of(last)
    heavier = float(wb) / wa
    at_zero, at_one = first == 0.0 and y == 0.0 <= frame[2], last == 1.0 and frame[4] == 0.0 <= frame[3]
    if not frame[1] > 0.0 or not low < high:
        return 0.0 if at_zero else low, 0.0
    if (first > 0.0 or at_zero) and not pull(family, heavier, y, frame, max(low, NEAR) if at_zero else low) < 1.0:
        return 0.0 if at_zero else low, 0.0
    if (last < 1.0 or at_one) and not pull(family, heavier, y, frame, min(high, 1.0 / NEAR) if at_one else high) > 1.0:
        return inf if at_one else high, 0.0
    odds = min(max(wa / float(wb), low), high)
    slope = 0.0
    for _ in range(MOST_STEPS):
        share, other = shares_of(odds)
        at = margin_point(y, frame, share, other)
        level = log(lean(family, at) * heavier)
        slope = lean_slope(family, margin, frame, at, share, other)
        step = -level / slope if slope > 0.0 else inf
        if abs(step) <= LAST_STEP:
            return min(max(odds * (1.0 + step), low), high), slope
        if level > 0.0:
            high = odds
        else:
            low = odds
        odds *= exp(step)
        if not low < odds < high:
            odds = sqrt(low) * sqrt(high)
            if not low < odds < high:
                break
    return odds, slope


def pull(family: int, heavier: float, y: float, frame: Six, odds: float) -> float:
    """``R w_b / w_a`` at given odds: F falls where it is below one and rises where it is above."""
    share, other = shares_of(odds)
    return lean(family, margin_point(y, frame, share, other)) * heavier


def beyond_end(
    family: int,
    wa: float,
    wb: float,
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
    odds: float,
) -> float:
    """How far log(w_b / w_a) is beyond where the least point leaves an end of the mean space; -1 if it is at none.

    There f does not depend on one of the efforts, and has no curvature. From that distance on it has that of `BESIDE`.
    """
    if odds != 0.0 and odds != inf:
        return -1.0
    frame = margin_frame(family, float(x), float(y), rest_x, rest_y, float(margin), rest_margin)
    distance = abs(log(pull(family, float(wb) / wa, float(y), frame, NEAR if odds == 0.0 else 1.0 / NEAR)))
    return distance if 0.0 <= distance < inf else 0.0


def margin_divergences(family: int, x: float, y: float, frame: Six, at: Six) -> tuple[float, float]:
    """d(mu_a, .) and d(mu_b, .) at a point."""
    step_a, step_b, point, second, fails, second_fails = at
    da = step_divergence(family, x, point, -step_a, frame[4], fails)
    return da, step_divergence(family, y, second, step_b, frame[5], second_fails)


def margin_bends(
    family: int, x: float, y: float, rest_x: float, rest_y: float, margin: float, rest_margin: float
) -> tuple[float, float]:
    """Shares r <= s of the range such that R rises up to r, falls up to s, and rises from there; 1 and 1 if it rises.

    Whatever the efforts, the least value of F is then in (0, r) or in (s, 1), each with one minimum at most. R falls
    where ``e h_a h_b T > gap``, T as in `lean_slope`. For exponential that is a quadratic in the share; for geometric
    the left side is a sum of two such quotients, whose maxima are known, and has its own between them.
    """
    if not margin > 0.0 or family not in (EXPONENTIAL, GEOMETRIC):
        return 1.0, 1.0
    x, y, margin = float(x), float(y), float(margin)
    frame = margin_frame(family, x, y, rest_x, rest_y, margin, rest_margin)
    gap, foot = frame[0], frame[2]
    if family == EXPONENTIAL:
        half = 0.5 * margin - y
        root = half * half - (gap + 2.0 * margin) * y * foot / gap
        if not (half > 0.0 and root > 0.0):
            return 1.0, 1.0
        far = half + sqrt(root)
        return y * foot / (gap * far), far / (gap + 2.0 * margin)
    near, far = fall_odds(x, y, margin, foot, 0.0), fall_odds(x, y, margin, foot, 1.0)
    if not margin * (half_fall(y, frame, near, 0.0) + half_fall(y, frame, far, 1.0)) > gap:
        return 1.0, 1.0
    top = steepest_fall(y, margin, frame, max(near, 1e-12 * far), far)
    if not fall(y, margin, frame, top) > 0.0:
        return 1.0, 1.0
    first = shares_of(level_fall(y, margin, frame, top, LEAST_SHARE))[0]
    return first, shares_of(level_fall(y, margin, frame, top, MOST_ODDS))[0]


def half_fall(y: float, frame: Six, odds: float, trials: float) -> float:
    """``h_a h_b / ((trials + x) (trials + y))`` at given odds, half of ``h_a h_b T``: that with 0 is both halves for
    exponential, those with 0 and with 1 are the two for geometric."""
    share, other = shares_of(odds)
    step_a, step_b, point, second, _, _ = margin_point(y, frame, share, other)
    if trials + second == 0.0:
        return step_a / point
    return step_a / (trials + point) * (step_b / (trials + second))


def fall_odds(x: float, y: float, margin: float, foot: float, trials: float) -> float:
    """The odds at which `half_fall` is largest: the root of its denominator at the loser's end over the winner's."""
    return sqrt((trials + y) * (trials + foot) / ((trials + x - margin) * (trials + x)))


def fall(y: float, margin: float, frame: Six, odds: float) -> float:
    """``e h_a h_b T - gap`` for geometric, which is positive where R falls."""
    return margin * (half_fall(y, frame, odds, 0.0) + half_fall(y, frame, odds, 1.0)) - frame[0]


def steepest_fall(y: float, margin: float, frame: Six, near: float, far: float) -> float:
    """Odds between two at which `fall` is largest: the best of some, and golden section around it."""
    factor = exp(log(far / near) / TRIED)
    best, most, odds = near, -inf, near
    for _ in range(TRIED + 1):
        found = fall(y, margin, frame, odds)
        if found > most:
            best, most = odds, found
        odds *= factor
    low, high = log(best / factor), log(best * factor)
    for _ in range(40):
        left, right = exp(high - GOLDEN * (high - low)), exp(low + GOLDEN * (high - low))
        if fall(y, margin, frame, left) > fall(y, margin, frame, right):
            high = low + GOLDEN * (high - low)
        else:
            low = high - GOLDEN * (high - low)
    middle = exp(0.5 * (low + high))
    return middle if fall(y, margin, frame, middle) > most else best


def level_fall(y: float, margin: float, frame: Six, top: float, end: float) -> float:
    """Odds between those where R falls and an end of the range at which it begins or ends to fall."""
    inside, outside = top, end
    for _ in range(80):
        middle = sqrt(inside) * sqrt(outside)
        if fall(y, margin, frame, middle) > 0.0:
            inside = middle
        else:
            outside = middle
    return inside


def margin_split(
    family: int,
    wa: float,
    wb: float,
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
    first: float,
    second: float,
) -> float:
    """The share at which F has its maximum between two minima, given `margin_bends`; nan where there is one minimum."""
    x, y, margin = float(x), float(y), float(margin)
    frame = margin_frame(family, x, y, rest_x, rest_y, margin, rest_margin)
    heavier = float(wb) / wa
    low, high = odds_of(first), odds_of(second)
    if not (second < 1.0 and pull(family, heavier, y, frame, low) > 1.0 > pull(family, heavier, y, frame, high)):
        return nan
    for _ in range(80):
        middle = sqrt(low) * sqrt(high)
        if pull(family, heavier, y, frame, middle) > 1.0:
            low = middle
        else:
            high = middle
    return shares_of(low)[0]
