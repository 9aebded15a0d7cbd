"""Tasks about the order of the means alone: best arm, the m best arms, ranking, groups."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations, pairwise, permutations, product
from typing import Any, cast

import numpy as np

from caet_opt.bandits.tasks.base import LOWER, Form, Task, check_arms_exist, read_arm, sort_arms
from caet_opt.bandits.tasks.pairs import BIPARTITE, CHAIN, STARS
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.common.exact import brief, read_whole
from caet_opt.common.numbers import write_count
from caet_opt.errors import InputError


class BestArm(Task):
    """Which arm has the largest mean: it beats every other arm.

    >>> BestArm().answer([3, 4, 2]), BestArm().pairs([3, 4, 2])
    (1, ((1, 0), (1, 2)))
    """

    name = "best-arm"
    answer_sign = ", "

    def answer(self, means: Sequence[Any]) -> int:
        return max(range(len(means)), key=means.__getitem__)

    def leader(self, answer: Hashable) -> int:
        return cast(int, answer)

    def list_answers(self, arms: int) -> Iterable[Hashable]:
        return range(arms)

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        best = cast(int, answer)
        return tuple(Statement(best, arm) for arm in range(arms) if arm != best)

    def statements_at_risk(self, arms: int) -> int:
        """K - 1: a wrong answer i asserts (i, best)."""
        return arms - 1

    def compiled_form(self, arms: int) -> Form:
        return Form(STARS, np.array([arms, *range(arms)], dtype=np.int64))

    def describe(self, names: Sequence[str] = (), lower: bool = False) -> str:
        return "lowest arm" if lower else "best arm"


class TopArms(Task):
    """Which m arms have the largest means: each of them beats each of the others.

    >>> TopArms(2).pairs([3, 4, 2])
    ((0, 2), (1, 2))
    """

    name = "top-arms"
    answer_sign = ", "

    def __init__(self, size: int) -> None:
        if size < 1:
            raise InputError(f"top-arms:M needs M at least 1, got {size}")
        self.size = size

    def check(self, arms: int) -> None:
        if arms > 1 and self.size >= arms:
            most = "1" if arms == 2 else f"from 1 to {arms - 1}"
            told = f"top-arms:{self.size} needs more than {write_count(self.size, 'arm')}, got {arms}"
            raise InputError(f"{told}; M must be {most}")
        super().check(arms)

    def count_statements(self, arms: int) -> int:
        return self.size * (arms - self.size)

    def statements_at_risk(self, arms: int) -> int:
        """K - 1: from the best arm down, some arm of a wrong set directly follows one that is not in the set."""
        return arms - 1

    def answer(self, means: Sequence[Any]) -> tuple[int, ...]:
        return tuple(sorted(sort_arms(means)[: self.size]))

    def list_answers(self, arms: int) -> Iterable[Hashable]:
        return combinations(range(arms), self.size)

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        top = cast(tuple[int, ...], answer)
        others = sorted(set(range(arms)) - set(top))
        return tuple(Statement(good, bad) for good in top for bad in others)

    def compiled_form(self, arms: int) -> Form:
        return Form(BIPARTITE, np.array([self.size], dtype=np.int64))

    def describe(self, names: Sequence[str] = (), lower: bool = False) -> str:
        return f"best {self.size} arms" + LOWER * lower

    @classmethod
    def parse(cls, argument: str | None) -> "TopArms":
        size = read_whole((argument or "").strip())
        if size is None:
            raise InputError(f"task 'top-arms' needs a whole number: top-arms:M, got {brief(argument or '')!r}")
        return cls(size)

    def __str__(self) -> str:
        return f"{self.name}:{self.size}"


class Ranking(Task):
    """The complete order: each arm beats the next one. Every wrong order inverts some adjacent pair.

    >>> Ranking().answer([3, 4, 2]), Ranking().pairs([3, 4, 2])
    ((1, 0, 2), ((1, 0), (0, 2)))
    """

    name = "ranking"
    answer_sign = " > "

    def answer(self, means: Sequence[Any]) -> tuple[int, ...]:
        return sort_arms(means)

    def list_answers(self, arms: int) -> Iterable[Hashable]:
        return permutations(range(arms))

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        order = cast(tuple[int, ...], answer)
        return tuple(Statement(better, worse) for better, worse in pairwise(order))

    def compiled_form(self, arms: int) -> Form:
        return Form(CHAIN, np.array([], dtype=np.int64))


class Groups(Task):
    """In each of several disjoint groups, which arm has the largest mean: it beats the rest of its group.

    >>> Groups([[0, 1], [2, 3]]).pairs([3, 4, 2, 1])
    ((1, 0), (2, 3))
    """

    name = "groups"
    answer_sign = ", "
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

    def answer(self, means: Sequence[Any]) -> tuple[int, ...]:
        return tuple(min(group, key=lambda arm: (-means[arm], arm)) for group in self.groups)

    def list_answers(self, arms: int) -> Iterable[Hashable]:
        return product(*self.groups)

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        winners = cast(tuple[int, ...], answer)
        return tuple(
            Statement(best, arm)
            for best, group in zip(winners, self.groups, strict=True)
            for arm in group
            if arm != best
        )

    def statements_at_risk(self, arms: int) -> int:
        """Sum of (size - 1): a wrong answer asserts (i, best) in one of the groups."""
        return sum(len(group) - 1 for group in self.groups)

    def compiled_form(self, arms: int) -> Form:
        return Form(STARS, np.array([entry for group in self.groups for entry in (len(group), *group)], dtype=np.int64))

    def describe(self, names: Sequence[str] = (), lower: bool = False) -> str:
        return f"best of {len(self.groups)} groups" + LOWER * lower

    @classmethod
    def parse(cls, argument: str | None) -> "Groups":
        if not argument:
            raise InputError("task 'groups' needs its groups, for example groups:0,1/2,3,4")
        text = f"{cls.name}:{argument}"
        return cls([[read_arm(arm, text) for arm in group.split(",")] for group in argument.split("/")])

    def __str__(self) -> str:
        return f"{self.name}:{'/'.join(','.join(map(str, group)) for group in self.groups)}"
