"""A proven lower bound of the term of a margin, in the subset of Python that numba compiles.

Errors are counted in units of 2^-53 as in `caet_opt.bandits.families.numerics`; docs/mathematics/margins.md has the
proofs. The upper bound of T* divides by the least value of ``F = w_a d(mu_a, x) + w_b d(mu_b, x - e)`` over all x. A
minimum that was found does not show that it is the least: here it is enclosed between a point where F certainly falls
and one where it certainly rises, and where there may be another minimum the rest of the range is covered by intervals.
"""

from math import inf, sqrt

from caet_opt.bandits.families.numerics import UNIT
from caet_opt.kernels.margin_term import (
    HOLDS,
    LEAST_SHARE,
    MOST_ODDS,
    NEAR,
    Six,
    fall_odds,
    find_odds,
    half_fall,
    lean,
    margin_bends,
    margin_divergences,
    margin_frame,
    margin_point,
    odds_of,
    pull,
    rounding_blur,
    shares_of,
    statement_side,
)
from caet_opt.kernels.term import BERNOULLI, EXPONENTIAL, GEOMETRIC, HUGE, POISSON, TINY

#: More than the error of any quotient of slopes, lengths and efforts below, which are within 80.
SLACK = 128.0 * UNIT

#: Distances, and means, that have all their digits.
SHORTEST = 1e-305

#: A minimum is enclosed at odds this factor apart, or a power of it: what is lost is of the order of its square.
APART = 2.0**-30

#: The cover tries so many intervals at most, none whose odds differ by less than a factor 1 + THINNEST, and is content
#: with this much less than the minimum.
MOST_INTERVALS, THINNEST, FLAT = 2000, 1e-6, 1e-14


def margin_error(family: int) -> float:
    """Bound on the relative error of the rates d_a and d_b of `margin_term`, in units of 2^-53.

    It is proven in docs/mathematics/margins.md where `is_resolved` holds, for rates that are 0 or at least TINY.
    """
    if family == BERNOULLI:
        return 42.0
    if family == POISSON:
        return 39.0
    return 49.0 if family == EXPONENTIAL else 60.0


def statement_error(margin: float, rest_margin: float, ratio: float, rest_ratio: float) -> float:
    """What a statement that is a pair at another mean, or a level, adds to a family's `divergence_error`."""
    if ratio != 1.0 or rest_ratio != 0.0:
        return 16.0
    return 6.0 if margin != 0.0 or rest_margin != 0.0 else 0.0


def is_resolved(
    family: int,
    x: float,
    y: float,
    rest_x: float,
    rest_y: float,
    margin: float,
    rest_margin: float,
    odds: float,
) -> bool:
    """Whether the statement holds, and what rounding may change does not matter to the point at given odds.

    Rounding of typed decimals may change a small part of the gap, of the width, and of every number that is a sum with
    foot or head; and means and distances are far from the ends of double precision, or zero.
    """
    if statement_side(x, y, rest_x, rest_y, margin, rest_margin, 1.0, 0.0) != HOLDS:
        return False
    frame = margin_frame(family, x, y, rest_x, rest_y, margin, rest_margin)
    share, other = shares_of(odds)
    width = frame[1]
    if not (is_zero_or_ordinary(x, x) and is_zero_or_ordinary(y, y) and is_zero_or_ordinary(width, width)):
        return False
    if width > 0.0 and not (is_zero_or_ordinary(share, share * width) and is_zero_or_ordinary(other, other * width)):
        return False
    blur = 4.0 * rounding_blur(x, y, rest_x, rest_y, margin, rest_margin, 1.0, 0.0)
    if blur == 0.0:
        return True
    step_a, step_b, point, _, _, fails = margin_point(y, frame, share, other)
    return (
        (point if frame[2] >= 0.0 else step_b) >= blur
        and (fails if frame[3] >= 0.0 else step_a) >= blur + 4.0 * UNIT
        and (width >= blur or frame[2] >= 0.0 or frame[3] >= 0.0)
    )


def is_zero_or_ordinary(part: float, size: float) -> bool:
    """Whether a number is zero as a part of it is, or far from the ends of double precision."""
    return part == 0.0 or SHORTEST <= size <= HUGE


def margin_floor(
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
) -> float:
    """A lower bound of ``w_a d(mu_a, x) + w_b d(mu_b, x - e)`` over a piece of the range of x, rounding included.

    It is 0 where nothing is proven, infinite where no two means contradict the statement, and usually within 1e-14 of
    the least value. The piece is from a first to a last share, as for `margin_term`; 0 and 1 is all of it. Efforts are
    taken as they are given.
    """
    x, y, margin = float(x), float(y), float(margin)
    frame = margin_frame(family, x, y, rest_x, rest_y, margin, rest_margin)
    if frame[1] == -1.0:
        return inf
    low, high = piece_odds(first, last)
    bend, second = margin_bends(family, x, y, rest_x, rest_y, margin, rest_margin)
    floor, end_low, end_high = inf, low, low
    if first <= bend:
        floor, end_low, end_high = enclose(family, wa, wb, x, y, margin, frame, first, min(bend, last))
    next_low, next_high = high, high
    if second < last:
        other, next_low, next_high = enclose(family, wa, wb, x, y, margin, frame, max(second, first), last)
        floor = min(floor, other)
    if not is_resolved(family, x, y, rest_x, rest_y, margin, rest_margin, end_low):
        return 0.0
    if not is_resolved(family, x, y, rest_x, rest_y, margin, rest_margin, next_high if second < last else end_high):
        return 0.0
    if not surely_rises(family, x, y, margin, frame):
        floor = min(floor, floor_at(family, wa, wb, x, y, frame, low, low))
        floor = min(floor, floor_at(family, wa, wb, x, y, frame, high, high))
        floor = cover(family, wa, wb, x, y, margin, frame, low, end_low, floor)
        floor = cover(family, wa, wb, x, y, margin, frame, end_high, next_low, floor)
        floor = cover(family, wa, wb, x, y, margin, frame, next_high, high, floor)
    return floor if 0.0 < floor < inf else 0.0


def surely_rises(family: int, x: float, y: float, margin: float, frame: Six) -> bool:
    """Whether R certainly rises on the whole range: ``e h_a h_b T < gap``, each half of T where it is largest."""
    if margin <= 0.0 or family in (BERNOULLI, POISSON):
        return True
    near = half_fall(y, frame, fall_odds(x, y, margin, frame[2], 0.0), 0.0)
    if family == EXPONENTIAL:
        return bool(2.0 * margin * near * (1.0 + SLACK) < frame[0])
    far = half_fall(y, frame, fall_odds(x, y, margin, frame[2], 1.0), 1.0)
    return bool(margin * (near + far) * (1.0 + SLACK) < frame[0])


def piece_odds(first: float, last: float) -> tuple[float, float]:
    """Odds between which a piece lies for certain."""
    low = 0.0 if first <= LEAST_SHARE else odds_of(first) * (1.0 - SLACK)
    return low, inf if last >= 1.0 else odds_of(last) * (1.0 + SLACK)


def floor_at(family: int, wa: float, wb: float, x: float, y: float, frame: Six, odds: float, far: float) -> float:
    """``w_a d(mu_a, .) + w_b d(mu_b, .)``, less what rounding may have added, with the first rate at ``far`` odds.

    As d_a falls along the range and d_b rises, it bounds F between the odds and those farther on.
    """
    share, other = shares_of(odds)
    at = margin_point(y, frame, share, other)
    da, db = margin_divergences(family, x, y, frame, at)
    if far != odds:
        share, other = shares_of(far)
        da = margin_divergences(family, x, y, frame, margin_point(y, frame, share, other))[0]
    total = (wa * da if da >= TINY else 0.0) + (wb * db if db >= TINY else 0.0)
    return total * (1.0 - (margin_error(family) + 4.0) * UNIT)


def steepness(family: int, step: float, point: float, fails: float) -> float:
    """``step / V(point)``."""
    if family == BERNOULLI:
        return step / point / fails
    if family == POISSON:
        return step / point
    return step / point / (point if family == EXPONENTIAL else 1.0 + point)


def slope_bounds(
    family: int, wa: float, wb: float, y: float, margin: float, frame: Six, low: float, high: float
) -> tuple[float, float, float]:
    """Bounds of F' between two odds, and the length between them.

    ``w_a h_a / V(x)`` falls in x. For Bernoulli and Poisson ``w_b h_b / V(y)`` rises, by convexity of d. For the others
    h_b and V(y) rise, unless mu_b = 0, where ``h_b / V(y) = 1 / (1 + y)`` falls; `drifts` may say more.
    """
    share, other = shares_of(low)
    at = margin_point(y, frame, share, other)
    share, other = shares_of(high)
    far = margin_point(y, frame, share, other)
    length = (high - low) / (1.0 + low) / (1.0 + high) if high < inf else 1.0 / (1.0 + low)
    length *= frame[1] * (1.0 + SLACK)
    down, far_down = wa * steepness(family, at[0], at[2], at[4]), wa * steepness(family, far[0], far[2], far[4])
    if family in (BERNOULLI, POISSON):
        up, far_up = steepness(family, at[1], at[3], at[5]), steepness(family, far[1], far[3], far[5])
    elif y == 0.0:
        up, far_up = 1.0 / (1.0 + far[3]), 1.0 / (1.0 + at[3])
    else:
        up, far_up = steepness(family, at[1], far[3], 1.0), steepness(family, far[1], at[3], 1.0)
    least = wb * up * (1.0 - SLACK) - down * (1.0 + SLACK)
    most = wb * far_up * (1.0 + SLACK) - far_down * (1.0 - SLACK)
    if margin > 0.0 and at[1] > 0.0 and far[0] > 0.0 and family in (EXPONENTIAL, GEOMETRIC):
        start = lean(family, at) * (float(wb) / wa)
        fewer, more = drifts(family, margin, frame, at, far, length)
        lowest, highest = start * fewer * (1.0 - SLACK) - 1.0, start * more * (1.0 + SLACK) - 1.0
        lowest *= down * (1.0 + SLACK) if lowest < 0.0 else far_down * (1.0 - SLACK)
        highest *= down * (1.0 + SLACK) if highest > 0.0 else far_down * (1.0 - SLACK)
        least = lowest if lowest > least else least
        most = highest if highest < most else most
    return least, most, length


def drifts(family: int, margin: float, frame: Six, at: Six, far: Six, length: float) -> tuple[float, float]:
    """Bounds of R between two points over R at the first, for a positive margin; 0 and infinite if they are far apart.

    They are ``1 + length D`` and ``exp(length D)`` for bounds D of the derivative of log R, at most 0 the first and at
    least 0 the second. That derivative is ``gap / (h_a h_b) - e T``, T as in `lean_slope`.
    """
    twice = 2.0 if family == EXPONENTIAL else 1.0
    most_t, least_t = twice / at[2] / at[3], twice / far[2] / far[3]
    if family == GEOMETRIC:
        most_t += 1.0 / (1.0 + at[2]) / (1.0 + at[3])
        least_t += 1.0 / (1.0 + far[2]) / (1.0 + far[3])
    fewer = frame[0] / at[0] / far[1] * (1.0 - SLACK) - margin * most_t * (1.0 + SLACK)
    more = frame[0] / far[0] / at[1] * (1.0 + SLACK) - margin * least_t * (1.0 - SLACK)
    fewer, more = length * min(fewer, 0.0), length * max(more, 0.0)
    return max(1.0 + fewer, 0.0), 1.0 + more + more * more if more < 1.0 else inf


def floor_between(
    family: int,
    wa: float,
    wb: float,
    x: float,
    y: float,
    margin: float,
    frame: Six,
    low: float,
    odds: float,
    high: float,
) -> float:
    """A lower bound of F between two odds: the value in between less the slopes, or by `floor_at` the farther ends."""
    least, most, length = slope_bounds(family, wa, wb, y, margin, frame, low, high)
    crude = floor_at(family, wa, wb, x, y, frame, low, high)
    steepest = most if most > -least else -least
    if not abs(steepest) < inf:
        return crude
    bound = floor_at(family, wa, wb, x, y, frame, odds, odds) - length * abs(steepest)
    return bound if bound > crude else crude


def enclose(
    family: int,
    wa: float,
    wb: float,
    x: float,
    y: float,
    margin: float,
    frame: Six,
    first: float,
    last: float,
) -> tuple[float, float, float]:
    """A lower bound of F around its minimum on a piece, and odds before which it falls and after which it rises.

    Both are certain where R rises on the piece, that is for Bernoulli and Poisson and for margins up to 0. Where an end
    of the piece comes first, it is the end.
    """
    odds, _ = find_odds(family, wa, wb, y, margin, frame, first, last)
    heavier = float(wb) / wa
    start, stop = piece_odds(first, last)
    inside, apart = odds, APART
    if not 0.0 < odds < inf:
        inside = NEAR if odds == 0.0 else 1.0 / NEAR
    low = max(inside / (1.0 + apart), start)
    while low > start and not pull(family, heavier, y, frame, low) < 1.0 - SLACK:
        apart *= 8.0
        low = inside / (1.0 + apart) if inside / (1.0 + apart) > max(start, LEAST_SHARE) else start
    apart = APART
    high = min(inside * (1.0 + apart), stop)
    while high < stop and not pull(family, heavier, y, frame, high) > 1.0 + SLACK:
        apart *= 8.0
        high = inside * (1.0 + apart) if inside * (1.0 + apart) < min(stop, MOST_ODDS) else stop
    return floor_between(family, wa, wb, x, y, margin, frame, low, odds, high), low, high


def cover(
    family: int,
    wa: float,
    wb: float,
    x: float,
    y: float,
    margin: float,
    frame: Six,
    start: float,
    stop: float,
    floor: float,
) -> float:
    """A bound, at most ``floor``, of F between two odds, for exponential and geometric with a positive margin.

    From left to right, each interval so short that one of these holds: F falls on all of it, or rises (as F' is
    continuous, no minimum is where two such intervals meet), or is at least ``floor``, all but 1e-14 of it. The next
    one is tried at three times the length, in logarithms.
    """
    low, high, enough = start, stop, floor * (1.0 - FLAT)
    for _ in range(MOST_INTERVALS):
        if not low < stop:
            return floor
        least, most, _ = slope_bounds(family, wa, wb, y, margin, frame, low, high)
        passed = least > 0.0 or most < 0.0
        if not passed:
            bound = floor_between(family, wa, wb, x, y, margin, frame, low, low, high)
            passed = bound >= enough or high <= low * (1.0 + THINNEST) or high <= LEAST_SHARE
            if passed:
                floor = min(floor, bound)
        if passed:
            longer = high / low if low > 0.0 else inf
            low, high = high, min(high * longer * longer * longer, stop)
        else:
            high = middle_odds(low, high)
    return min(floor, floor_at(family, wa, wb, x, y, frame, low, stop))


def middle_odds(low: float, high: float) -> float:
    """Odds between two, in the middle by their size."""
    if high > 1.0 and low < 1e-3:
        return max(1e-3, 2.0 * low)
    if low == 0.0:
        return high * 1e-3 if high > 1e3 * LEAST_SHARE else LEAST_SHARE
    if high > 4.0 * low:
        return sqrt(low) * sqrt(min(high, MOST_ODDS))
    return 0.5 * (low + high)
