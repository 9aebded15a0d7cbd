"""Paired items: the same question is put to two models, and what counts is the difference of their scores.

    E[d] > 0  where the first model is better,

and with scores from 0 to 1 a difference d is in [-1, 1]: a reward in a range, of any distribution. Arms are pairs of
models, an item costs the sum of both prices, and ``above:0`` says who wins. ``docs/paired.md`` says when this is
cheaper than asking each model its own questions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caet_opt.bandits.model import BanditModel
from caet_opt.common.checks import is_number, kind_of, show_value
from caet_opt.errors import InputError, list_words, unknown_name

#: The question that differences answer.
TASK = "above:0"

#: Finer scores are counted on the levels of twentieths: more levels take longer, and save one pull in a hundred.
MOST_GRADES = 20

#: Decimals of a difference: what subtracting two scores rounds off is put back, so that 0.7 - 0.6 is 0.1.
DECIMALS = 15


@dataclass(frozen=True)
class Paired:
    """Pairs of models as arms: see `paired`.

    Attributes
    ----------
    pairs : tuple of pairs of str
        The two models of each arm; the arm's mean is above 0 where the first is better.
    costs : tuple of float
        What an item costs: the sum of both prices.
    differences : tuple of arrays
        Score of the first model less that of the second, for each item: the arm's rewards.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = Paired((("large", "small"),), (3.0,), (np.array([1.0, 0.0, 0.5, -1.0]),))
    >>> pairs.arms, pairs.family, pairs.model.means
    (['large over small'], 'bounded:-1,1,4', (0.125,))
    """

    pairs: tuple[tuple[str, str], ...]
    costs: tuple[float, ...]
    differences: tuple[NDArray[np.float64], ...]

    @property
    def arms(self) -> list[str]:
        """The name of each arm."""
        return [f"{first} over {second}" for first, second in self.pairs]

    @property
    def family(self) -> str:
        """Rewards from -1 to 1, counted on the levels that differences have, or on twentieths if these are finer."""
        seen = np.unique(np.concatenate(self.differences))
        fits = (g for g in range(1, MOST_GRADES) if np.allclose(seen * g, np.rint(seen * g), rtol=0, atol=1e-9))
        return f"bounded:-1,1,{2 * next(fits, MOST_GRADES)}"

    @property
    def model(self) -> BanditModel:
        """What the table says of differences, for `characteristic_time`, `simulate` and `plan` with ``above:0``."""
        samples = [differences.tolist() for differences in self.differences]
        return BanditModel.from_samples(self.family, samples, self.costs, self.arms)


def paired(
    table: Mapping[str, Sequence[float]],
    costs: Sequence[float] | Mapping[str, float] | None = None,
    *,
    against: str | int | None = None,
) -> Paired:
    """Pairs of models from a table of scores, items by models: a data frame, or a list or Series for each model.

    Parameters
    ----------
    table
        The scores of each model, from 0 to 1, of the same items: in the same order, or as Series whose index names the
        items, in any order. An item that lacks a score is an error; drop it first, as ``table.dropna()`` does. A row
        is a question: answers to one question in several epochs are not independent, so put their mean in its row, and
        not a row for each.
    costs
        What an answer of each model costs, in the order of the table or by name; by default 1.
    against
        Compare with this model alone, by its name or by its place, from 0; by default every two models are compared.

    Examples
    --------
    >>> table = {"large": [1, 1, 0, 1, 1, 1], "small": [1, 0, 0, 1, 0, 1], "tiny": [0, 1, 0, 1, 0, 0]}
    >>> pairs = paired(table, costs=[3, 1, 0.5], against="small")
    >>> pairs.arms, pairs.costs
    (['large over small', 'tiny over small'], (4.0, 1.5))
    >>> pairs.model.means, pairs.model.costs
    ((0.3333333333333333, -0.16666666666666666), (4.0, 1.5))
    """
    if not hasattr(table, "keys"):
        raise InputError(f"scores must be a data frame, or a list for each model by name, got {type(table).__name__}")
    names = [str(name) for name in table]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"models need names of their own, and {twice[0]!r} is that of {names.count(twice[0])}")
    columns, items = align_items({name: table[key] for name, key in zip(names, table, strict=True)})
    scores = {name: read_scores(column, name) for name, column in columns.items()}
    if len(names) < 2 or len({len(column) for column in scores.values()}) != 1 or not len(scores[names[0]]):
        raise InputError("a table needs two models or more, with a score of each for every item")
    check_complete(scores, items)
    prices = dict(zip(names, read_prices(costs, names), strict=True))
    one_of_them = None if against is None else find_name(against, names)
    chosen = list(combinations(names, 2)) if one_of_them is None else [(one, one_of_them) for one in names]
    pairs = tuple((first, second) for first, second in chosen if first != second)
    return Paired(
        pairs,
        tuple(prices[first] + prices[second] for first, second in pairs),
        tuple((scores[first] - scores[second]).round(DECIMALS) for first, second in pairs),
    )


def align_items(columns: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[Any] | None]:
    """The columns with the same item in the same place, and the items where Series name them."""
    series = [name for name, column in columns.items() if is_series(column)]
    if not series:
        return columns, None
    if len(series) < len(columns):
        other = next(name for name in columns if name not in series)
        raise InputError(
            f"scores of {series[0]!r} are a Series, whose index names the items, and those of {other!r} are none; give "
            "all as Series, or all as lists in the same order"
        )
    first, *others = (columns[name].index for name in series)
    if all(first.equals(index) for index in others):
        return columns, list(first)
    for name in series:
        if (again := columns[name].index.duplicated()).any():
            item = next(iter(columns[name].index[again]))
            raise InputError(f"scores of {name!r} have the item {item!r} twice; give each item one score of each model")
    for index in others:
        first = first.union(index, sort=False)
    return {name: columns[name].reindex(first) for name in series}, list(first)


def is_series(column: Any) -> bool:
    """Whether a column is a Series of pandas, whose index names the items."""
    return hasattr(column, "reindex")


def check_complete(scores: Mapping[str, NDArray[np.float64]], items: Sequence[Any] | None) -> None:
    """Raise `InputError` where an item has no score of some model: such items are dropped by who asks, not here."""
    lacking = {name: np.isnan(column) for name, column in scores.items()}
    missing = np.flatnonzero(np.any(list(lacking.values()), axis=0))
    if not len(missing):
        return
    at = int(missing[0])
    item = at if items is None else items[at]
    name = next(name for name, nothing in lacking.items() if nothing[at])
    raise InputError(
        f"{len(missing)} of {len(lacking[name])} items lack a score, first item: {show_value(item)}, model {name!r}; "
        "scores are numbers from 0 to 1: drop these items for all models, as table.dropna() does in a data frame"
    )


def find_name(against: str | int, names: Sequence[str]) -> str:
    """The model of this name, or in this place."""
    if isinstance(against, int) and not isinstance(against, bool) and str(against) not in names:
        if not 0 <= against < len(names):
            raise InputError(f"against must be a model's name, or its place from 0 to {len(names) - 1}, got {against}")
        return names[against]
    if str(against) not in names:
        raise InputError(unknown_name("model", str(against), names))
    return str(against)


def read_scores(column: Any, name: str) -> NDArray[np.float64]:
    """The scores of a model, nan where there is none, or `InputError`."""
    if isinstance(column, str | bytes) or not hasattr(column, "__iter__"):
        raise InputError(f"scores of {name!r} must be a list of numbers, got {show_value(column)}")
    for score in column:
        if isinstance(score, str | bytes) or kind_of(score) == "c":
            raise InputError(f"scores of {name!r} must be numbers, got {show_value(score)}")
    try:
        if is_series(column):  # whose missing scores may be no floats
            column = column.to_numpy(dtype=float, na_value=np.nan)
        scores = np.asarray(column, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores of {name!r} must be numbers: {error}") from None
    if scores.ndim != 1:
        raise InputError(f"scores of {name!r} must be a list, one for each item, got an array of shape {scores.shape}")
    beyond = scores[(scores < 0) | (scores > 1)]
    if beyond.size:
        raise InputError(
            f"scores of {name!r} must be numbers from 0 to 1, got {show_value(float(beyond[0]))}; divide scores of "
            "another scale"
        )
    return scores


def read_prices(costs: Sequence[float] | Mapping[str, float] | None, names: Sequence[str]) -> list[float]:
    """The price of each model, or `InputError`."""
    if costs is None:
        return [1.0] * len(names)
    if not isinstance(costs, Iterable):
        raise InputError(f"costs must be {len(names)} numbers, one for each model, got {show_value(costs)}")
    listed: list[Any] = list(costs.values() if isinstance(costs, Mapping) else costs)
    if hasattr(costs, "keys"):  # a mapping, or a Series, whose index may be no more than places
        named = dict(zip(map(str, costs.keys()), listed, strict=True))
        if set(named) == set(names):
            listed = [named[name] for name in names]
        elif list(named) != [str(place) for place in range(len(names))]:
            told = f"one for each model by its name, {list_words(names)}"
            raise InputError(f"costs must be {len(names)} numbers, {told}, got costs of {list_words(named)}")
    if len(listed) != len(names) or not all(is_number(cost) and 0 <= cost < float("inf") for cost in listed):
        raise InputError(f"costs must be {len(names)} numbers, zero or more, in the order of the models, got {costs!r}")
    return [float(cost) for cost in listed]
