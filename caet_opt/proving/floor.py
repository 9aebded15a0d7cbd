"""That the term of a margin is 1 or more, by balls.

``F(x) = v_a d(mu_a, x) + v_b d(mu_b, x - e)`` is to be at least 1 on the whole range of x (`ExactProblem.point_range`),
wherever its minima are. For Bernoulli and Poisson F is convex, and lies above its tangent at any point. For the others
the range is divided until in each part F is convex, or rises, or falls, or is more than 1 because the parts of the two
arms are: d(mu_a, x) falls along the range and d(mu_b, x - e) rises.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from caet_opt.bandits.families import Bernoulli, Family, Geometric, Poisson
from caet_opt.proving.balls import Ball, arb, ball
from caet_opt.proving.terms import divergence_to, slope_at

#: Parts into which a range is divided, at most. Around ten are usual, some hundred at extreme efforts.
MOST_PARTS = 4000


#: A formula of a mean and of a ball of points.
Formula = Callable[[Ball, Ball], Ball]


class Boundary(NamedTuple):
    """The function F: efforts at dispersion one and means of both arms, the margin, and the range of x."""

    family: Family
    efforts: tuple[Fraction, Fraction]
    means: tuple[Fraction, Fraction]
    margin: Fraction
    low: Fraction
    high: Fraction

    def value(self, x: Fraction, other: Fraction | None = None) -> Ball:
        """F(x), or with the loser at the other x."""
        points = x, (x if other is None else other) - self.margin
        parts = zip(self.efforts, self.means, points, strict=True)
        return sum((ball(v) * divergence_to(self.family, mean, point) for v, mean, point in parts), arb(0))

    def slope(self, x: Fraction) -> Ball:
        """F'(x)."""
        parts = zip(self.efforts, self.means, (x, x - self.margin), strict=True)
        return sum((ball(v) * slope_at(self.family, mean, point) for v, mean, point in parts), arb(0))

    def slopes(self, first: Fraction, last: Fraction) -> Ball:
        """A ball with F' between two x."""
        return self._sum(first, last, geometric_slope, exponential_slope)

    def bends(self, first: Fraction, last: Fraction) -> Ball:
        """A ball with F'' between two x; zero where it is not negative anyway."""
        if isinstance(self.family, Bernoulli | Poisson):
            return arb(0)
        return self._sum(first, last, geometric_bend, exponential_bend)

    def _sum(self, first: Fraction, last: Fraction, geometric: Formula, exponential: Formula) -> Ball:
        formula = geometric if isinstance(self.family, Geometric) else exponential
        total = arb(0)
        for v, mean, shift in zip(self.efforts, self.means, (Fraction(0), self.margin), strict=True):
            total += ball(v) * formula(ball(mean), ball(first - shift).union(ball(last - shift)))
        return total


def exponential_slope(mean: Ball, x: Ball) -> Ball:
    return (x - mean) / x**2


def exponential_bend(mean: Ball, x: Ball) -> Ball:
    return (2 * mean - x) / x**3


def geometric_slope(mean: Ball, x: Ball) -> Ball:
    return (1 + mean) / (1 + x) - (mean / x if mean > 0 else arb(0))


def geometric_bend(mean: Ball, x: Ball) -> Ball:
    return (mean / x**2 if mean > 0 else arb(0)) - (1 + mean) / (1 + x) ** 2


def is_one_or_more(boundary: Boundary, points: Sequence[Fraction]) -> bool:
    """Whether F is certainly 1 or more on its range; it is least at one of the points, or nearly so."""
    waiting, parts = [(boundary.low, boundary.high)], 0
    while waiting:
        first, last = waiting.pop()
        parts += 1
        if is_high(boundary, first, last, points):
            continue
        if parts + len(waiting) > MOST_PARTS or isinstance(boundary.family, Bernoulli | Poisson):
            return False
        middle = (first + last) / 2
        waiting += [(first, middle), (middle, last)]
    return True


def is_high(boundary: Boundary, first: Fraction, last: Fraction, points: Sequence[Fraction]) -> bool:
    """Whether F is certainly 1 or more between two x."""
    if boundary.value(last, first) >= 1:
        return True
    if boundary.bends(first, last) >= 0:
        nearest = min(points, key=lambda point: max(first - point, point - last))
        touch = min(max(nearest, first), last)
        value, slope = boundary.value(touch), boundary.slope(touch)
        return all(value + slope * ball(x - touch) >= 1 for x in (first, last))
    slopes = boundary.slopes(first, last)
    return bool(slopes >= 0 and boundary.value(first) >= 1) or bool(slopes <= 0 and boundary.value(last) >= 1)
