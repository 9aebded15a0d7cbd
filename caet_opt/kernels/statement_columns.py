"""Statements as the columns that compiled code solves for and certifies."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from caet_opt.bandits.families import Bounded, Exponential, Family, Gamma, Geometric
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.statements import Statement, encode
from caet_opt.kernels.records import COLUMN_ROWS

#: Families whose terms may have two minima where the margin of two arms is positive.
TWO_MINIMA = (Exponential, Gamma, Geometric)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of some statements: one each, or two, one for each piece of the range that may have a minimum.

    The certificate may use a statement with two minima twice, each time with a point and a weight of its own.

    Attributes
    ----------
    pairs : winner and loser of each column, -1 for none
    margins : the rows of `caet_opt.bandits.tasks.pairs`, and PIECE: which piece of
        `caet_opt.kernels.margin_term.margin_bends` a column is, 0 or 1; no columns where all statements are plain and
        their terms have a formula in the means
    owners : the statement of each column
    """

    statements: tuple[Statement, ...]
    pairs: Integers
    margins: Array
    owners: Integers

    @cached_property
    def is_plain(self) -> bool:
        """Whether every statement is the order of two arms."""
        return not self.margins.size

    @cached_property
    def flat_margins(self) -> Array:
        """The margins, one row after the other."""
        return self.margins.ravel()

    def sum_by_statement(self, amounts: Array) -> Array:
        """Amounts by column, summed for each statement."""
        if len(self.statements) == len(self.owners):
            return amounts
        return np.asarray(np.bincount(self.owners, amounts, len(self.statements)), dtype=float)

    def least_by_statement(self, amounts: Array) -> Array:
        """Amounts by column, the smallest for each statement."""
        least = np.full(len(self.statements), np.inf)
        np.minimum.at(least, self.owners, amounts)
        return least


@lru_cache(maxsize=1024)
def list_columns(statements: tuple[Statement, ...], family: type[Family]) -> Columns:
    """The columns of statements about means of a family.

    >>> from fractions import Fraction
    >>> from caet_opt.bandits.families import Exponential
    >>> from caet_opt.kernels.records import PIECE
    >>> statements = Statement(0, 1), Statement(1, 2, Fraction(1, 2))
    >>> found = list_columns(statements, Exponential)
    >>> found.pairs.tolist(), found.margins[PIECE].tolist(), found.owners.tolist()
    ([[0, 1, 1], [1, 2, 2]], [0.0, 0.0, 1.0], [0, 1, 1])
    """
    pairs, margins = encode(statements)
    owners = np.arange(len(statements))
    if family is not Bounded and all(statement.is_plain for statement in statements):
        return Columns(statements, pairs, np.zeros((COLUMN_ROWS, 0)), owners)
    twice = [len(statement.arms) == 2 and statement.margin > 0 for statement in statements]
    owners = np.repeat(owners, [1 + (two and issubclass(family, TWO_MINIMA)) for two in twice])
    pieces = np.append(False, owners[1:] == owners[:-1])
    return Columns(statements, pairs[:, owners].copy(), np.vstack([margins[:, owners], pieces]), owners)
