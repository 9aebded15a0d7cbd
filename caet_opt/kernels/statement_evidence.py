"""The evidence of a statement from pulls and empirical means, in the subset of Python that numba compiles.

    Z = min over x of w_a d(m_a, x) + w_b d(m_b, (x - margin) / ratio)    of ``a > ratio b + margin``,  w = N / phi,

which is its term, `caet_opt.kernels.margin_term`, with pulls in place of efforts. A side that is no arm has weight 0
and mean 0.
"""

from math import inf, nan

from caet_opt.kernels.e_values import scaled_side, told_apart, told_apart_by
from caet_opt.kernels.margin_term import (
    margin_bends,
    margin_frame,
    margin_point,
    margin_term,
    shares_of,
    statement_gap,
    statement_term,
)
from caet_opt.kernels.term import GAUSSIAN, pair_term


def statement_evidence(
    family: int,
    low: float,
    high: float,
    wa: float,
    wb: float,
    x: float,
    y: float,
    margin: float,
    rest: float,
    ratio: float,
    rest_ratio: float,
) -> float:
    """Z of a statement: zero where the means do not have it, infinite where no means contradict it."""
    if wa == 0.0 and wb == 0.0:
        return inf
    if not statement_gap(x, y, 0.0, 0.0, margin, rest, ratio, rest_ratio)[0] > 0.0:
        return 0.0
    return statement_term(
        family, low, high, wa, wb, x, y, 0.0, 0.0, margin, rest, ratio, rest_ratio, wa == 0.0, wb == 0.0
    )[1]


def certain_evidence(
    family: int,
    low: float,
    high: float,
    wa: float,
    wb: float,
    x: float,
    y: float,
    margin: float,
    rest: float,
    ratio: float,
) -> float:
    """Z of a statement with what rounding may have done to the means counted against it; see `told_apart`."""
    if wb == 0.0:
        x, margin = told_apart(family, x, margin)
        return statement_evidence(family, low, high, wa, 0.0, x, 0.0, margin, 0.0, 1.0, 0.0)
    if wa == 0.0:
        level, y = told_apart(family, -margin / ratio, y)
        return statement_evidence(family, low, high, 0.0, wb, 0.0, y, -level, 0.0, 1.0, 0.0)
    if ratio != 1.0:
        weight, mean, _ = scaled_side(family, wb, y, 0.0, ratio)
        x, y = told_apart(family, x, mean)
        return pair_term(family, wa, weight, x, y, 0.0, 0.0, False, False)[0] if x > y else 0.0
    x, y, offset = told_apart_by(family, x, y, margin)
    return statement_evidence(
        family, low, high, wa, wb, x, min(y, high), offset, rest if offset == margin else 0.0, 1.0, 0.0
    )


def boundary_point(
    family: int, wa: float, wb: float, x: float, y: float, margin: float, rest: float, ratio: float
) -> float:
    """The winner's mean where the evidence of a margin of two arms is least; nan where `needed_by` needs none."""
    if wa == 0.0 or wb == 0.0 or margin == 0.0 or ratio != 1.0 or family == GAUSSIAN or family < 0:
        return nan
    first, second = margin_bends(family, x, y, 0.0, 0.0, margin, rest)
    f, _, _, _, odds = margin_term(family, wa, wb, x, y, 0.0, 0.0, margin, rest, 0.0, first)
    if second < 1.0:
        other, _, _, _, far = margin_term(family, wa, wb, x, y, 0.0, 0.0, margin, rest, second, 1.0)
        if other < f:
            odds = far
    share, complement = shares_of(odds)
    return margin_point(y, margin_frame(family, x, y, 0.0, 0.0, margin, rest), share, complement)[2]
