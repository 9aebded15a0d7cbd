"""A characteristic time between proven bounds."""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Statement, Task
from caet_opt.common.numbers import round_down, round_up
from caet_opt.proving.problem import Point


@dataclass(frozen=True, eq=False)
class ProvenTime:
    """T* of the numbers that a model was given: ``lower <= T* <= upper`` is a theorem, by ball arithmetic.

    Attributes
    ----------
    digits : what was asked for: ``(upper - lower) / upper <= 10^-digits``
    lower, upper : the bounds, exact: ``lower = sum(weights)`` and ``upper = sum_a c_a effort_a``
    effort : w by arm, with ``f_e(w) >= 1`` for every statement e
    statements, weights, points : what the answer asserts and, by statement, weights q and as many points lambda, each
        of which has the means of winner and loser where the statement is false (None for a side that is no arm), with
        ``sum over points at a of q d(mu_a, lambda_a) <= c_a`` for every costly arm a; a statement that constrains
        nothing has none
    seconds : time of the double's answer, its refinement and the proof

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> proven = proven_time(model, "ranking", digits=20)
    >>> proven.bounds
    ('11.656854249492380195206', '11.656854249492380195207')
    """

    model: BanditModel
    task: Task
    digits: int
    lower: Fraction
    upper: Fraction
    effort: tuple[Fraction, ...]
    statements: tuple[Statement, ...]
    weights: tuple[tuple[Fraction, ...], ...]
    points: tuple[tuple[Point, ...], ...]
    seconds: float

    @property
    def value(self) -> str:
        """T* to at least ``digits`` significant digits, all proven: every number between the bounds rounds to it."""
        return common_rounding(self.lower, self.upper, self.digits)

    @property
    def gap(self) -> Fraction:
        """Relative width of the proven interval."""
        return (self.upper - self.lower) / self.upper if self.upper else Fraction(0)

    @property
    def bounds(self) -> tuple[str, str]:
        """The bounds as decimals, rounded outwards to three digits more than were asked for."""
        return round_outward(self.lower, self.upper, self.digits)

    @property
    def cost_proportions(self) -> tuple[Fraction, ...]:
        """omega: the share of the cost that goes to each arm. At these shares T* is attained up to the proven gap;
        their own digits are refined, not proven."""
        return shares([cost * w for cost, w in zip(self.model.exact_costs, self.effort, strict=True)])

    @property
    def sampling_proportions(self) -> tuple[Fraction, ...]:
        """u: the share of the pulls of costly arms that goes to each arm; refined, not proven."""
        return shares(list(self.effort))


def shares(amounts: list[Fraction]) -> tuple[Fraction, ...]:
    """Amounts as proportions; zeros stay zeros."""
    total = sum(amounts)
    return tuple(amount / total if total else Fraction(0) for amount in amounts)


def round_outward(lower: Fraction, upper: Fraction, digits: int) -> tuple[str, str]:
    """Bounds that agree to so many digits as decimals of three digits more, rounded away from each other."""
    return round_down(lower, digits + 3), round_up(upper, digits + 3)


def common_rounding(lower: Fraction, upper: Fraction, digits: int) -> str:
    """The number to which every number of an interval rounds, to ``digits`` significant digits or a few more.

    A few more where the interval straddles a midpoint: 22.5 +- 1e-9 is neither 22 nor 23, but it is 22.5.

    >>> common_rounding(Fraction("22.499999999"), Fraction("22.500000001"), 2)
    '22.5'
    """
    for precision in range(digits, digits + 4):
        text = round_digits(upper, precision)
        if round_digits(lower, precision) == text:
            return text
    raise ArithmeticError(f"the interval is too wide for {digits} digits")


def round_digits(value: Fraction, digits: int) -> str:
    """A rational number to so many significant digits, trailing zeros kept.

    >>> round_digits(Fraction(2, 3), 4), round_digits(Fraction(45, 2), 5)
    ('0.6667', '22.500')
    """
    if not value:
        return "0"
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    padded = quotient.quantize(Decimal(1).scaleb(quotient.adjusted() - digits + 1), context=context)
    return f"{padded:f}" if -4 <= padded.adjusted() < digits else f"{padded:e}"
