"""The terms of statements in high precision, with what the interior-point method needs of them.

With ``v`` the effort at dispersion one and ``f = v_a d(mu_a, x) + v_b d(mu_b, y)`` at the x that makes it least, log f
has the gradient ``p = (v_a d(mu_a, x) / f, v_b d(mu_b, y) / f)`` in log v, the arms' shares, and its Hessian is
``-h (1, -1)(1, -1)'``. Nothing here is rounded outwards or relied upon.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from caet_opt.bandits.families import Family
from caet_opt.errors import SolverError
from caet_opt.proving.balls import Ball, arb, ball, divergence, precision_bits, variance, variance_slope
from caet_opt.proving.problem import Column, ExactProblem

#: Newton's method takes 3 to 10 steps, and a few more where it has to halve its bracket.
MOST_STEPS = 400


class Value(NamedTuple):
    """A term: f, log f, each arm's share in f, and h, the curvature of log f along (1, -1)."""

    term: Ball
    logarithm: Ball
    shares: tuple[Ball, ...]
    curvature: Ball


@dataclass
class Linear:
    """``f = v rate``: a level, a free arm, or a single point that contradicts a statement."""

    arms: tuple[int, ...]
    rate: Ball

    def evaluate(self, effort: list[Ball]) -> Value:
        """The term with its derivatives."""
        term = self.rate * effort[self.arms[0]]
        return Value(term.mid(), term.log().mid(), (arb(1),), arb(0))


@dataclass
class Weighted:
    """``f = v_a d(mu_a, x) + v_b d(m_b, x)``, x the weighted mean; m_b and v_b as the winner sees them."""

    family: Family
    arms: tuple[int, ...]
    means: tuple[Ball, Ball]
    difference: Ball
    factor: Ball

    def evaluate(self, effort: list[Ball]) -> Value:
        """The term with its derivatives, ``h = (mu_a - m_b)^2 u_a^2 u_b^2 W / (V(x) f) - p_a p_b``."""
        a, b = self.arms
        va, vb = effort[a], self.factor * effort[b]
        total = va + vb
        ua, ub = va / total, vb / total
        x = self.means[0] + ub * self.difference
        part_a = va * divergence(self.family, self.means[0], x)
        part_b = vb * divergence(self.family, self.means[1], x)
        term = part_a + part_b
        pa, pb = part_a / term, part_b / term
        bend = (self.difference * ua * ub) ** 2 * total / (variance(self.family, x) * term)
        return Value(term.mid(), term.log().mid(), (pa.mid(), pb.mid()), (bend - pa * pb).mid())


@dataclass
class Searched:
    """``f = min over x of v_a d(mu_a, x) + v_b d(mu_b, x - e)`` for a margin e and x in a range.

    The least x is found by Newton's method in the logarithm t of the odds of x between the ends of the range, from
    where it was found last: log of the quotient of the two slopes is all but a straight line in t.
    """

    family: Family
    arms: tuple[int, ...]
    means: tuple[Fraction, Fraction]
    margin: Fraction
    low: Fraction
    high: Fraction
    odds: Ball = field(default_factory=lambda: arb(0))

    def evaluate(self, effort: list[Ball]) -> Value:
        """The term with its derivatives, ``h = (v_a d_a')^2 / (F'' f) - p_a p_b``, and 0 at an end of the range."""
        va, vb = (effort[arm] for arm in self.arms)
        end = self.find(va, vb)
        if end is not None:
            part_a, part_b = (
                va * divergence_to(self.family, self.means[0], end),
                vb * divergence_to(self.family, self.means[1], end - self.margin),
            )
        else:
            place = self._place(self.odds)
            part_a, part_b = (
                v * divergence(self.family, ball(mean), point)
                for v, mean, point in zip((va, vb), self.means, place.points, strict=True)
            )
        term = part_a + part_b
        pa, pb = part_a / term, part_b / term
        curvature = arb(0)
        if end is None:
            (slope, bend), (_, other) = self._derivatives(place)
            curvature = (va * slope) ** 2 / ((va * bend + vb * other) * term) - pa * pb
        return Value(term.mid(), term.log().mid(), (pa.mid(), pb.mid()), curvature.mid())

    def find(self, va: Ball, vb: Ball) -> Fraction | None:
        """Set the log odds of x at which the term is least, or return the end of the range at which it is."""
        for end, sign in ((self.low, 1), (self.high, -1)):
            if sign * self._end_slope(end, va, vb) >= 0:
                return end
        t, low, high = self.odds, arb("-inf"), arb("inf")
        enough = arb(2) ** (-precision_bits() // 2)
        for _ in range(MOST_STEPS):
            place = self._place(t)
            (slope_a, bend_a), (slope_b, bend_b) = self._derivatives(place)
            lean = (-(vb * slope_b) / (va * slope_a)).log().mid()
            steep = ((bend_b / slope_b - bend_a / slope_a) * place.width).mid()
            if lean > 0:
                high = t
            else:
                low = t
            step = (-lean / steep).mid() if steep > 0 else arb("nan")
            t = (t + step).mid() if low < t + step < high else between(low, high, t)
            if abs(step) < enough:
                self.odds = t
                return None
        raise SolverError("the least value of a margin's term was not found")

    def _end_slope(self, end: Fraction, va: Ball, vb: Ball) -> Ball:
        """F' at an end of the range."""
        points = zip(self.means, (end, end - self.margin), strict=True)
        slope, other = (slope_at(self.family, mean, point) for mean, point in points)
        return va * slope + vb * other

    def _place(self, t: Ball) -> "Place":
        """The point at given log odds. Distances from the nearer end are sums of numbers of one sign."""
        width, odds = ball(self.high - self.low), t.exp()
        share, other = odds / (1 + odds), 1 / (1 + odds)
        shifts, steps = (Fraction(0), self.margin), []
        points = [
            (ball(self.low - e) + width * share if t < 0 else ball(self.high - e) - width * other).mid() for e in shifts
        ]
        for mean, e in zip(self.means, shifts, strict=True):
            step = ball(self.low - e - mean) + width * share if t < 0 else ball(self.high - e - mean) - width * other
            steps.append(step.mid())
        return Place(points, steps, (width * share * other).mid())

    def _derivatives(self, place: "Place") -> list[tuple[Ball, Ball]]:
        """d' and d'' of both arms: ``d' = (x - mu) / V``, ``d'' = 1 / V - (x - mu) V' / V^2``."""
        found = []
        for point, step in zip(place.points, place.steps, strict=True):
            spread = variance(self.family, point)
            slope = step / spread
            found.append((slope, (1 - slope * variance_slope(self.family, point)) / spread))
        return found


class Place(NamedTuple):
    """x and x - e, their distances from the means of the arms, and the derivative of x in the log odds."""

    points: list[Ball]
    steps: list[Ball]
    width: Ball


def divergence_to(family: Family, mean: Fraction, point: Fraction) -> Ball:
    """d(mean, point), infinite at an end of the mean space that the mean is not at."""
    if mean == point:
        return arb(0)
    if point in (family.mean_space.low, family.mean_space.high):
        return arb("inf")
    return divergence(family, ball(mean), ball(point))


Term = Linear | Weighted | Searched


def build_term(problem: ExactProblem, column: Column, number: dict[int, int]) -> Term:
    """The term of a column, its arms by other numbers."""
    statement = problem.statements[column.statement]
    family, arms = problem.family, tuple(number[arm] for arm in column.arms)
    if column.fixed is not None:
        return Linear(
            arms, rates(problem, column, column.fixed)[column.arms[0]] * ball(problem.dispersions[column.arms[0]])
        )
    mean, other = (problem.means[arm] for arm in column.arms)
    if column.low is not None and column.high is not None:
        return Searched(family, arms, (mean, other), statement.margin, column.low, column.high)
    seen, factor = problem.seen_loser(statement)
    return Weighted(family, arms, (ball(mean), ball(seen)), ball(seen - mean), ball(factor))


def rates(problem: ExactProblem, column: Column, x: Fraction) -> dict[int, Ball]:
    """``d(mu_a, lambda_a) / phi_a`` of the arms of a column at the point of its boundary that has x for the winner."""
    statement = problem.statements[column.statement]
    points = {
        arm: point for arm, point in zip(statement[:2], problem.point(statement, x), strict=True) if point is not None
    }
    return {
        arm: divergence_to(problem.family, problem.means[arm], points[arm]) / ball(problem.dispersions[arm])
        for arm in column.arms
    }


def slope_at(family: Family, mean: Fraction, point: Fraction) -> Ball:
    """d'(mean, .) at a point, ``(point - mean) / V(point)``: at an end of the mean space infinite, or ``1 / V'`` if the
    mean is there, too."""
    spread = variance(family, ball(point))
    if point != mean:
        return arb("inf" if point > mean else "-inf") if spread.is_zero() else ball(point - mean) / spread
    return 1 / variance_slope(family, ball(point)) if spread.is_zero() else arb(0)


def between(low: Ball, high: Ball, t: Ball) -> Ball:
    """A number between two, one of which may be infinite: then twice as far from zero, and at least 1."""
    if low.is_finite() and high.is_finite():
        return ((low + high) / 2).mid()
    return min(2 * t, t - 1) if high.is_finite() else max(2 * t, t + 1)
