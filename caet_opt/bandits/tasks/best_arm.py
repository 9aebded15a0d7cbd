"""Best arm, and the m best arms."""

from collections.abc import Hashable, Sequence
from typing import cast

import numpy as np

from caet_opt.bandits.families.numerics import Integers
from caet_opt.bandits.tasks.base import Pair, PlainTask, Task, sort_arms
from caet_opt.bandits.tasks.pairs import BIPARTITE, STARS
from caet_opt.common.exact import brief, read_whole
from caet_opt.errors import InputError


class BestArm(PlainTask):
    """Which arm has the largest mean: it beats every other arm.

    >>> BestArm().answer([3, 4, 2]), BestArm().pairs([3, 4, 2])
    (1, ((1, 0), (1, 2)))
    """

    name = "best-arm"

    def answer(self, means: Sequence[float]) -> int:
        return max(range(len(means)), key=means.__getitem__)

    def answer_pairs(self, answer: Hashable, arms: int) -> tuple[Pair, ...]:
        best = cast(int, answer)
        return tuple((best, arm) for arm in range(arms) if arm != best)

    def pairs_at_risk(self, arms: int) -> int:
        """K - 1: a wrong answer i asserts (i, best)."""
        return arms - 1

    def compiled_shape(self, arms: int) -> tuple[int, Integers]:
        return STARS, np.array([arms, *range(arms)], dtype=np.int64)


class TopArms(Task):
    """Which m arms have the largest means: each of them beats each of the others.

    >>> TopArms(2).pairs([3, 4, 2])
    ((0, 2), (1, 2))
    """

    name = "top-arms"

    def __init__(self, size: int) -> None:
        if size < 1:
            raise InputError(f"top-arms:M needs M at least 1, got {size}")
        self.size = size

    def check(self, arms: int) -> None:
        if arms > 1 and self.size >= arms:
            raise InputError(f"top-arms:{self.size} needs M between 1 and {arms - 1} for {arms} arms")
        super().check(arms)

    def count_pairs(self, arms: int) -> int:
        return self.size * (arms - self.size)

    def pairs_at_risk(self, arms: int) -> int:
        """K - 1: from the best arm down, some arm of a wrong set directly follows one that is not in the set."""
        return arms - 1

    def answer(self, means: Sequence[float]) -> tuple[int, ...]:
        return tuple(sorted(sort_arms(means)[: self.size]))

    def answer_pairs(self, answer: Hashable, arms: int) -> tuple[Pair, ...]:
        top = cast(tuple[int, ...], answer)
        others = sorted(set(range(arms)) - set(top))
        return tuple((good, bad) for good in top for bad in others)

    def compiled_shape(self, arms: int) -> tuple[int, Integers]:
        return BIPARTITE, np.array([self.size], dtype=np.int64)

    @classmethod
    def parse(cls, argument: str | None) -> "TopArms":
        size = read_whole((argument or "").strip())
        if size is None:
            raise InputError(f"task 'top-arms' needs a whole number: top-arms:M, got {brief(argument or '')!r}")
        return cls(size)

    def __str__(self) -> str:
        return f"{self.name}:{self.size}"
