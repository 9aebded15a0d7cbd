"""The order of all arms."""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import cast

import numpy as np

from caet_opt.bandits.families.numerics import Integers
from caet_opt.bandits.tasks.base import Pair, PlainTask, sort_arms
from caet_opt.bandits.tasks.pairs import CHAIN


class Ranking(PlainTask):
    """The complete order: each arm beats the next one. Every wrong order inverts some adjacent pair.

    >>> Ranking().answer([3, 4, 2]), Ranking().pairs([3, 4, 2])
    ((1, 0, 2), ((1, 0), (0, 2)))
    """

    name = "ranking"

    def answer(self, means: Sequence[float]) -> tuple[int, ...]:
        return sort_arms(means)

    def answer_pairs(self, answer: Hashable, arms: int) -> tuple[Pair, ...]:
        order = cast(tuple[int, ...], answer)
        return tuple(pairwise(order))

    def compiled_shape(self, arms: int) -> tuple[int, Integers]:
        return CHAIN, np.array([], dtype=np.int64)
