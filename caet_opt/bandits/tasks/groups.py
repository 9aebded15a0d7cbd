"""The best arm of every group (multi-bandit best arm identification)."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import cast

import numpy as np

from caet_opt.bandits.families.numerics import Integers
from caet_opt.bandits.tasks.base import Pair, Task, check_arms_exist, read_arm
from caet_opt.bandits.tasks.pairs import STARS
from caet_opt.errors import InputError


class Groups(Task):
    """In each of several disjoint groups, which arm has the largest mean: it beats the rest of its group.

    >>> Groups([[0, 1], [2, 3]]).pairs([3, 4, 2, 1])
    ((1, 0), (2, 3))
    """

    name = "groups"
    between_arms = (",/",)

    def __init__(self, groups: Sequence[Sequence[int]]) -> None:
        self.groups = tuple(tuple(group) for group in groups)
        members = [arm for group in self.groups for arm in group]
        if not members or any(len(group) < 2 for group in self.groups):
            raise InputError(f"task {str(self)!r}: every group needs at least two arms")
        for arm, times in Counter(members).items():
            if times > 1:
                raise InputError(f"task {str(self)!r}: arm {arm} occurs twice; groups must be disjoint")

    def check(self, arms: int) -> None:
        super().check(arms)
        check_arms_exist([arm for group in self.groups for arm in group], arms, str(self))

    def answer(self, means: Sequence[float]) -> tuple[int, ...]:
        return tuple(min(group, key=lambda arm: (-means[arm], arm)) for group in self.groups)

    def answer_pairs(self, answer: Hashable, arms: int) -> tuple[Pair, ...]:
        winners = cast(tuple[int, ...], answer)
        return tuple(
            (best, arm) for best, group in zip(winners, self.groups, strict=True) for arm in group if arm != best
        )

    def pairs_at_risk(self, arms: int) -> int:
        """Sum of (size - 1): a wrong answer asserts (i, best) in one of the groups."""
        return sum(len(group) - 1 for group in self.groups)

    def compiled_shape(self, arms: int) -> tuple[int, Integers]:
        return STARS, np.array([entry for group in self.groups for entry in (len(group), *group)], dtype=np.int64)

    @classmethod
    def parse(cls, argument: str | None) -> "Groups":
        if not argument:
            raise InputError("task 'groups' needs its groups, for example groups:0,1/2,3,4")
        text = f"{cls.name}:{argument}"
        return cls([[read_arm(arm, text) for arm in group.split(",")] for group in argument.split("/")])

    def __str__(self) -> str:
        return f"{self.name}:{'/'.join(','.join(map(str, group)) for group in self.groups)}"
