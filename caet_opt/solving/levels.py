"""Statements with a free side as what they are: the other arm is held against a level, told exactly."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks.statements import Statement, above, below, judge
from caet_opt.common.exact import exact
from caet_opt.errors import InputError
from caet_opt.kernels.family_codes import model_numbers
from caet_opt.kernels.native import interpreted_kernel
from caet_opt.kernels.statement_columns import list_columns


def meant_mean(model: BanditModel, arm: int) -> Fraction:
    """The mean that an interval is about: the double that a float is, and any other number itself."""
    given = model.given_means[arm]
    return Fraction(given) if isinstance(given, float) else exact(given)


def asked_level(statement: Statement, arm: int, mean_of: Callable[[int], Fraction]) -> Fraction:
    """The mean that an arm of a statement is held against, given the mean of the other side."""
    winner, loser, margin, ratio = statement
    if arm == winner:
        return (0 if loser is None else ratio * mean_of(loser)) + margin
    return ((0 if winner is None else mean_of(winner)) - margin) / ratio


def meant_level(model: BanditModel, statement: Statement, arm: int) -> Fraction:
    """`asked_level` for the means that an interval is about."""
    return asked_level(statement, arm, lambda other: meant_mean(model, other))


def constrains(model: BanditModel, statement: Statement) -> bool:
    """Whether a statement can bind. A level at infinite divergence (a free Bernoulli arm of mean 0, say) or outside the
    mean space is told from the arm's mean by any positive effort."""
    costly = [arm for arm in statement.arms if model.costly[arm]]
    if len(costly) != 1:
        return len(costly) == 2
    low, high, *_ = model.family.mean_space
    level = meant_level(model, statement, costly[0])
    if low < level < high:
        return True
    return low <= level <= high and bool(np.isfinite(level_divergence(model, statement, costly[0])))


def level_divergence(model: BanditModel, statement: Statement, arm: int) -> float:
    """d(mu_a, level) of the costly arm of a statement whose other side is free."""
    level = meant_level(model, statement, arm)
    try:
        point = float(level)
    except OverflowError as error:
        told = statement.write(model.arms)
        raise InputError(f"'{told}' is about a level outside double precision; rescale the means") from error
    if model.distributions is not None:
        family, stated = type(model.family), list_columns((statement,), type(model.family))
        level_rate = interpreted_kernel(family)["level_rate"]
        return float(level_rate(model_numbers(model), stated.pairs, stated.margins, 0, arm)[1])
    numbers = np.array([model.means[arm], point, 0.0, 1.0, model.mean_rests[arm], level - Fraction(point)], dtype=float)
    with np.errstate(all="ignore"):  # infinite at an end of the mean space
        return float(model.family.mixture_divergence(*numbers))


def tell_levels(model: BanditModel, statements: Sequence[Statement]) -> list[Statement | None]:
    """The statements, with a free side replaced by the level that it is, and None for those that hold and constrain
    nothing.

    A sum of a free mean and a margin that rounding leaves at the end of the mean space, or all but there, is then a
    number with all its digits.
    """
    found: list[Statement | None] = []
    means = [meant_mean(model, arm) for arm in range(len(model.means))]
    for statement in statements:
        costly = [arm for arm in statement.arms if model.costly[arm]]
        if not constrains(model, statement) and judge(statement, means) > 0:
            found.append(None)
        elif len(costly) == 1 and len(statement.arms) == 2:
            level = meant_level(model, statement, costly[0])
            found.append(above(costly[0], level) if costly[0] == statement.winner else below(costly[0], level))
        else:
            found.append(statement)
    return found
