"""The characteristic-time problem in the rational numbers that the model was given."""

from fractions import Fraction
from typing import NamedTuple

from caet_opt.bandits.families import Family, Gaussian, Poisson
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Statement, Task
from caet_opt.errors import InputError
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.margin_term import margin_bends
from caet_opt.solving.levels import asked_level
from caet_opt.solving.problem import ask, check_formula, check_no_ties, statement_numbers, too_close

#: The means of winner and loser at a point of a statement's boundary; None for a side that is no arm.
Point = tuple[Fraction | None, Fraction | None]


class Column(NamedTuple):
    """A term that a statement has, by the mean x of its winner at which it is least.

    Attributes
    ----------
    statement : its position
    arms : the arms that pay for it
    fixed : x where no effort changes it: levels, free arms, and where one point alone contradicts the statement
    low, high : else, the range of x in which it is searched, for margins of families other than the Gaussian; a
        statement whose term may have two minima has two such columns
    """

    statement: int
    arms: tuple[int, ...]
    fixed: Fraction | None = None
    low: Fraction | None = None
    high: Fraction | None = None


class ExactProblem(NamedTuple):
    """``T* = inf c . w  subject to  f_e(w) >= 1`` for every statement; all numbers by arm, in the model's units."""

    family: Family
    means: tuple[Fraction, ...]
    costs: tuple[Fraction, ...]
    dispersions: tuple[Fraction, ...]
    statements: tuple[Statement, ...]

    def costly_arms(self, statement: Statement) -> tuple[int, ...]:
        """The arms of a statement that cost something."""
        return tuple(arm for arm in statement.arms if self.costs[arm] > 0)

    def columns(self, model: BanditModel) -> tuple[Column, ...]:
        """What constrains: nothing where both sides are free, or a level is at infinite divergence or no mean.

        A law whose mean is an end of the mean space is a single point, at infinite divergence from every other law.
        """
        found: list[Column] = []
        for index, statement in enumerate(self.statements):
            costly = self.costly_arms(statement)
            if len(costly) == 2:
                found += self._edges(index, statement, model)
            elif costly:
                level = asked_level(statement, costly[0], self.means.__getitem__)
                if self.family.mean_space.low < level < self.family.mean_space.high:
                    winner = level if costly[0] == statement.winner else self._mean(statement.winner)
                    found.append(Column(index, costly, winner))
        return tuple(found)

    def _edges(self, index: int, statement: Statement, model: BanditModel) -> list[Column]:
        arms = statement.arms
        if statement.margin == 0 or isinstance(self.family, Gaussian):
            return [Column(index, arms)]
        low, high = self.point_range(statement)
        if low == high:
            away = tuple(
                arm for arm, mean in zip(arms, self.point(statement, low), strict=True) if mean != self.means[arm]
            )
            return [Column(index, away, low)]
        numbers = statement_numbers(model, statement)[:6]
        first, second = map(Fraction, margin_bends(FAMILY_CODES[type(self.family)], *numbers))
        pieces = [(low, low + first * (high - low)), (low + second * (high - low), high)]
        return [Column(index, arms, None, *piece) for piece in pieces if piece[0] < piece[1]]

    def _mean(self, arm: int | None) -> Fraction:
        return Fraction(0) if arm is None else self.means[arm]

    def point_range(self, statement: Statement) -> tuple[Fraction, Fraction]:
        """Where x may be with a margin e: between mu_b + e and mu_a, and such that x and x - e are means."""
        winner, loser, margin, _ = statement
        low, high = self._mean(loser) + margin, self._mean(winner)
        space = self.family.mean_space
        return max(low, Fraction(space.low)), high if space.high == float("inf") else min(high, 1 + margin)

    def point(self, statement: Statement, x: Fraction) -> Point:
        """The means of both sides where that of the winner is x and the two sides are equal."""
        loser = (x - statement.margin) / statement.ratio
        return None if statement.winner is None else x, None if statement.loser is None else loser

    def seen_loser(self, statement: Statement) -> tuple[Fraction, Fraction]:
        """Mean and effort of the loser as the winner sees it: ``r mu_b + e``, and by what its effort is multiplied.

        ``d(y, z)`` is that of ``y + e`` and ``z + e`` for Gaussian means, of ``r y`` and ``r z`` for exponential and
        gamma ones, and for Poisson ones it is that divided by r.
        """
        factor = 1 / statement.ratio if isinstance(self.family, Poisson) else Fraction(1)
        return statement.ratio * self._mean(statement.loser) + statement.margin, factor

    def weighted_point(self, statement: Statement, effort: tuple[Fraction, ...]) -> Fraction:
        """x where the loser as the winner sees it is another law of the family: the mean weighted by effort over
        dispersion."""
        a, b = statement.arms
        seen, factor = self.seen_loser(statement)
        va, vb = effort[a] / self.dispersions[a], factor * effort[b] / self.dispersions[b]
        return (va * self.means[a] + vb * seen) / (va + vb)


def pose_exactly(model: BanditModel, task: Task) -> ExactProblem:
    """The problem of a model and a task; `TieError` when doubles cannot tell the two sides of a statement apart."""
    if task.several_right:
        raise InputError(
            f"task {str(task)!r} may have several right answers, and digits can be proven for one; state each "
            "answer as a task of its own, for example comparisons:0-1-0.05,0-2-0.05"
        )
    if model.distributions is not None:
        raise InputError(
            f"rewards of family {model.family} have no proven digits or certificate files; T* is certified without them"
        )
    question = ask(model, task)
    means, statements = model.exact_means, question.statements
    for statement in statements:
        check_formula(model, statement)
        if statement.ratio != 1 and type(model.family) not in FAMILY_CODES:
            raise InputError(f"{statement.write(model.arms)!r}: ratios are not proven for family {model.family.name!r}")
        if statement.is_plain:
            a, b = statement.arms
            if model.means[a] == model.means[b] and means[a] != means[b]:
                raise too_close(model, a, b, "where the search for T* starts")
    check_no_ties(model, task, tuple(statement for statement in statements if not statement.is_plain))
    return ExactProblem(model.family, means, model.exact_costs, model.exact_dispersions, statements)
