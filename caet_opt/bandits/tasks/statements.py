"""What an answer asserts: statements about one arm and a level, or about two arms with a margin or a ratio."""

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import MARGIN, MARGIN_ROWS, RATIO, surplus
from caet_opt.common.exact import Number, decimal_text, exact, fits_double
from caet_opt.errors import InputError

ZERO, ONE = Fraction(0), Fraction(1)

#: Margin and ratio of a plain statement.
PLAIN = (ZERO, ONE)


class Statement(NamedTuple):
    """``winner > ratio * loser + margin`` for the means of two arms.

    None stands for an arm of mean 0 that costs nothing and is never pulled, so levels are margins:

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
        return self[2:] == PLAIN and self.winner is not None and self.loser is not None

    @property
    def reverse(self) -> "Statement":
        """What holds if this does not, up to the boundary: ``loser > (winner - margin) / ratio``."""
        if self[2:] == PLAIN:
            return Statement(self.loser, self.winner)
        return Statement(self.loser, self.winner, -self.margin / self.ratio, 1 / self.ratio)

    def write(self, names: tuple[str, ...] = ()) -> str:
        """As a person would write it, arms by name or by number: ``b > a + 0.02``, ``c < 0.8``, ``b > 1.1 * a``."""
        winner, loser = (str(arm) if arm is None or not names else names[arm] for arm in (self.winner, self.loser))
        if self.loser is None:
            return f"{winner} > {level_text(self.margin)}"
        if self.winner is None:
            return f"{loser} < {level_text(-self.margin / self.ratio)}"
        margin = self.margin
        if self.ratio != 1:
            own, inverse = number_text(self.ratio), number_text(1 / self.ratio)
            if ("/" in inverse, len(inverse)) < ("/" in own, len(own)):
                winner, margin = f"{inverse} * {winner}", margin / self.ratio
            else:
                loser = f"{own} * {loser}"
        if margin == 0:
            return f"{winner} > {loser}"
        return f"{winner} > {loser} {'+' if margin > 0 else '-'} {number_text(abs(margin))}"

    def __str__(self) -> str:
        return self.write()


def mirror(statement: Statement) -> Statement:
    """The same where the lower mean is the better one: "better by 0.02" is ``loser > winner + 0.02``, "better by a
    factor 1.1" is ``loser > 1.1 winner``, and "better than a level" is below it.

    >>> from fractions import Fraction
    >>> print(mirror(Statement(1, 0, Fraction("0.02"))), "|", mirror(Statement(2, None, Fraction("0.8"))))
    0 > 1 + 0.02 | 2 < 0.8
    """
    margin = statement.margin if len(statement.arms) == 2 else -statement.margin
    return Statement(statement.loser, statement.winner, margin, statement.ratio)


class Mirrored(tuple[Any, ...]):
    """Means with the opposite sign, so that the lower ones are the better; `judge` judges by `mirror` then."""

    __slots__ = ()


def read_number(value: Number, what: str) -> Fraction:
    """A level, margin or ratio as it was given; `InputError` unless it is a decimal that a double can hold."""
    if isinstance(value, bool) or not isinstance(value, Rational | Decimal | float):
        raise InputError(f"{what} must be a number, got {value!r}")
    if not fits_double(value):
        raise InputError(f"{what} must be a finite number that fits double precision")
    number = exact(value)
    if "/" in decimal_text(number):
        raise InputError(f"{what} must have a finite decimal, got {number}")
    return {ZERO: ZERO, ONE: ONE}.get(number, number)  # the ones that are compared by identity first


def number_text(value: Fraction) -> str:
    """A number of a statement in full, with a power of ten where it is long without.

    >>> number_text(Fraction("0.02")), number_text(Fraction("1e-30"))
    ('0.02', '1E-30')
    """
    text = decimal_text(value)
    return str(Decimal(text).normalize(Context(prec=len(text)))) if len(text) > 20 and "/" not in text else text


def level_text(level: Fraction) -> str:
    """A level, with a point if it is whole, as it is no arm."""
    text = number_text(level)
    return f"{text}.0" if text.lstrip("-").isdigit() else text


def above(arm: int, level: Fraction) -> Statement:
    """``arm > level``."""
    return Statement(arm, None, level)


def below(arm: int, level: Fraction) -> Statement:
    """``arm < level``."""
    return Statement(None, arm, -level)


def judge(statement: Statement, means: Sequence[Any]) -> int:
    """1 where a statement holds, -1 where its reverse does, 0 where neither: a tie.

    Whole numbers, decimals and fractions are judged exactly. Floats are judged as compiled code does it, by `surplus`:
    what rounding can bring about is a tie.

    >>> from fractions import Fraction
    >>> tenth = Statement(0, 1, Fraction(1, 10))
    >>> judge(tenth, [0.3, 0.2]), judge(tenth, [Fraction(3, 10), Fraction(2, 10)]), judge(tenth, [0.31, 0.2])
    (0, 0, 1)
    """
    winner, loser, margin, ratio = statement
    if winner is not None and loser is not None and (margin, ratio) == PLAIN:
        x, y = means[winner], means[loser]
        return int(x > y) - int(x < y)
    mirrored = isinstance(means, Mirrored)
    if mirrored:
        winner, loser, margin, ratio = mirror(statement)
    x, y = (0 if arm is None else -means[arm] if mirrored else means[arm] for arm in (winner, loser))
    if isinstance(x, Rational | Decimal) and isinstance(y, Rational | Decimal):
        x, y = exact(x), ratio * exact(y) + margin
        return int(x > y) - int(x < y)
    beyond = surplus(float(x), float(y), float(margin), float(ratio))
    return int(beyond > 1.0) - int(beyond < -1.0)


def encode(statements: Sequence[Statement], columns: int | None = None) -> tuple[Integers, Array]:
    """Statements as compiled code has them, a column each: winner and loser, -1 for none; margin, its rest, ratio, its
    rest.

    A number is the sum of a double and its rest, which is what rounding took away. With ``columns`` more than
    statements, what is left says ``0 > 0 - 1``, which holds.

    >>> from fractions import Fraction
    >>> pairs, margins = encode([Statement(1, 0), Statement(2, None, Fraction("0.5"))], columns=3)
    >>> pairs.tolist(), margins.tolist()
    ([[1, 2, -1], [0, -1, -1]], [[0.0, 0.5, -1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    """
    size = len(statements) if columns is None else columns
    pairs = np.full((2, size), -1, dtype=np.int64)
    margins = np.zeros((MARGIN_ROWS, size))
    margins[MARGIN, len(statements) :] = -1.0
    margins[RATIO] = 1.0
    for p, statement in enumerate(statements):
        pairs[:, p] = [-1 if arm is None else arm for arm in statement[:2]]
        if statement[2:] != PLAIN:
            for row, number in ((MARGIN, statement.margin), (RATIO, statement.ratio)):
                margins[row, p], margins[row + 1, p] = float(number), float(number - Fraction(float(number)))
    return pairs, margins
