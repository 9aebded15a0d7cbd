"""Paired items: the same question is put to two models, and what counts is the difference of their scores.

With scores from 0 to 1 a difference d is in [-1, 1]. An item **decides** with probability abs(d), by a draw of its own,
and then for the model with the better score; with right-or-wrong scores it decides where one model is right and the
other wrong. Items that decide are Bernoulli, of mean

    p = E[d+] / E[abs(d)],     p > 1/2  where  E[d] > 0,

so that ``above:0.5`` says who wins: arms are pairs of models, and a decision costs price / E[abs(d)] on average.
``docs/paired.md`` says when this is cheaper than asking each model its own questions, and has the proof.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caet_opt.bandits.model import BanditModel
from caet_opt.errors import InputError, unknown_name

#: The question that decided items answer.
TASK = "above:0.5"


@dataclass(frozen=True)
class Paired:
    """Pairs of models as arms: see `paired`.

    Attributes
    ----------
    pairs : tuple of pairs of str
        The two models of each arm; the arm's reward is 1 where the first is better.
    costs : tuple of float
        What an item costs: the sum of both prices.
    differences : tuple of arrays
        Score of the first model less that of the second, for each item.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = Paired((("large", "small"),), (3.0,), (np.array([1.0, 0.0, 0.5, -1.0]),))
    >>> pairs.arms, pairs.model.means
    (['large over small'], (0.6,))
    """

    pairs: tuple[tuple[str, str], ...]
    costs: tuple[float, ...]
    differences: tuple[NDArray[np.float64], ...]

    @property
    def arms(self) -> list[str]:
        """The name of each arm."""
        return [f"{first} over {second}" for first, second in self.pairs]

    @property
    def model(self) -> BanditModel:
        """What the table says of decided items, for `characteristic_time`, `simulate` and `plan` with ``above:0.5``."""
        for name, differences in zip(self.arms, self.differences, strict=True):
            if not np.any(differences):
                raise InputError(f"{name}: the two have the same score on every item")
        sizes = [float(np.mean(np.abs(one))) for one in self.differences]
        means = [float(np.mean(one.clip(0))) / size for one, size in zip(self.differences, sizes, strict=True)]
        return BanditModel("bernoulli", means, [c / s for c, s in zip(self.costs, sizes, strict=True)], self.arms)


def paired(
    table: Mapping[str, Sequence[float]], costs: Sequence[float] | None = None, *, against: str | None = None
) -> Paired:
    """Pairs of models from a table of scores, items by models: a data frame, or a list for each model.

    Parameters
    ----------
    table
        The scores of each model, from 0 to 1, of the same items in the same order.
    costs
        What an answer of each model costs; by default 1.
    against
        Compare with this model alone; by default every two models are compared.

    Examples
    --------
    >>> table = {"large": [1, 1, 0, 1, 1, 1], "small": [1, 0, 0, 1, 0, 1], "tiny": [0, 1, 0, 1, 0, 0]}
    >>> pairs = paired(table, costs=[3, 1, 0.5], against="small")
    >>> pairs.arms, pairs.costs
    (['large over small', 'tiny over small'], (4.0, 1.5))
    >>> pairs.model.means, pairs.model.costs
    ((1.0, 0.3333333333333333), (12.0, 3.0))
    """
    names = [str(name) for name in table]
    scores = {name: read_scores(table[key], name) for name, key in zip(names, table, strict=True)}
    if len(names) < 2 or len({len(column) for column in scores.values()}) != 1 or not len(scores[names[0]]):
        raise InputError("a table needs two models or more, with a score of each for every item")
    if against is not None and against not in names:
        raise InputError(unknown_name("model", against, names))
    prices = dict(zip(names, read_prices(costs, len(names)), strict=True))
    chosen = list(combinations(names, 2)) if against is None else [(one, against) for one in names]
    pairs = tuple((first, second) for first, second in chosen if first != second)
    return Paired(
        pairs,
        tuple(prices[first] + prices[second] for first, second in pairs),
        tuple(scores[first] - scores[second] for first, second in pairs),
    )


def decide(difference: float, draw: float) -> int | None:
    """1 if an item decides for the first model, 0 for the second, None where it does not decide.

    ``draw`` is uniform in [0, 1) and independent of everything; right-or-wrong scores do not need it.

    >>> decide(1, 0.9), decide(-0.5, 0.3), decide(-0.5, 0.7), decide(0, 0)
    (1, 0, None, None)
    """
    if not -1 <= difference <= 1:
        raise InputError(f"a difference of scores from 0 to 1 is in [-1, 1], got {difference!r}")
    return int(difference > 0) if draw < abs(difference) else None


def read_scores(column: Any, name: str) -> NDArray[np.float64]:
    """The scores of a model, or `InputError`."""
    try:
        scores = np.asarray(column, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores of {name!r} must be numbers: {error}") from None
    if scores.ndim != 1 or not np.all((scores >= 0) & (scores <= 1)):
        raise InputError(f"scores of {name!r} must be numbers from 0 to 1, one for each item")
    return scores


def read_prices(costs: Sequence[float] | None, models: int) -> list[float]:
    """The price of each model, or `InputError`."""
    prices = [1.0] * models if costs is None else [float(cost) for cost in costs]
    if len(prices) != models or not all(0 <= price < float("inf") for price in prices):
        raise InputError(f"costs must be {models} numbers, zero or more, got {costs!r}")
    return prices
