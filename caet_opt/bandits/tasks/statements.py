"""What an answer asserts: statements about one arm and a level, or about two arms with a margin or a ratio."""

from fractions import Fraction
from typing import NamedTuple

from caet_opt.common.exact import decimal_text

ZERO, ONE = Fraction(0), Fraction(1)


class Statement(NamedTuple):
    """``winner > ratio * loser + margin`` for the means of two arms.

    An arm that is None has mean 0, costs nothing and is never pulled, so that levels are margins:

        a > level    is    Statement(a, None, level)
        a < level    is    Statement(None, a, -level)

    The numbers are exact: 0.3 against 0.2 + 0.1 is a tie. At least one of the two is an arm, and the ratio is positive.

    >>> from fractions import Fraction
    >>> print(Statement(1, 0, Fraction("0.02")), "|", Statement(2, None, Fraction("0.8")))
    1 > 0 + 0.02 | 2 > 0.8
    >>> print(Statement(1, 0, Fraction("0.02")).reverse)
    0 > 1 - 0.02
    """

    winner: int | None
    loser: int | None
    margin: Fraction = ZERO
    ratio: Fraction = ONE

    @property
    def arms(self) -> tuple[int, ...]:
        """The arms that it is about, the winner first."""
        return tuple(arm for arm in (self.winner, self.loser) if arm is not None)

    @property
    def is_plain(self) -> bool:
        """Whether it is the order of two arms: no level, no margin, no ratio."""
        return self.winner is not None and self.loser is not None and self.margin == 0 and self.ratio == 1

    @property
    def reverse(self) -> "Statement":
        """What holds where it does not, up to the boundary: ``loser > (winner - margin) / ratio``."""
        return Statement(self.loser, self.winner, -self.margin / self.ratio, 1 / self.ratio)

    def write(self, names: tuple[str, ...] = ()) -> str:
        """As a person would write it, arms by name or by number: ``b > a + 0.02``, ``c < 0.8``, ``b > 1.1 a``."""
        winner, loser = (str(arm) if arm is None or not names else names[arm] for arm in (self.winner, self.loser))
        if self.loser is None:
            return f"{winner} > {decimal_text(self.margin)}"
        if self.winner is None:
            return f"{loser} < {decimal_text(-self.margin / self.ratio)}"
        if self.ratio != 1:
            inverse = 1 / self.ratio
            if len(decimal_text(inverse)) < len(decimal_text(self.ratio)):
                winner = f"{decimal_text(inverse)} {winner}"
            else:
                loser = f"{decimal_text(self.ratio)} {loser}"
        if self.margin == 0:
            return f"{winner} > {loser}"
        return f"{winner} > {loser} {'+' if self.margin > 0 else '-'} {decimal_text(abs(self.margin))}"

    def __str__(self) -> str:
        return self.write()


def above(arm: int, level: Fraction) -> Statement:
    """``arm > level``."""
    return Statement(arm, None, level)


def below(arm: int, level: Fraction) -> Statement:
    """``arm < level``."""
    return Statement(None, arm, -level)
