"""A task given by its answers, each a list of ordered pairs, checked against Definition 1."""

from collections.abc import Hashable, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, permutations
from typing import cast

from caet_opt.errors import InputError
from caet_opt.tasks.base import Pair, Task, check_arms_exist, descending

#: Largest number of compared arms for which every order is enumerated (8! = 40320 orders).
ENUMERATION_LIMIT = 8


class Custom(Task):
    """Answers as lists of ordered pairs; every order of the arms must satisfy exactly one of them.

    That no two answers overlap is checked for any number of arms: two sets of pairs can hold together unless
    their union has a cycle. That every order is covered is checked by enumeration up to `ENUMERATION_LIMIT`
    compared arms, and beyond that for the means at hand.
    """

    name = "custom"

    def __init__(self, answers: Sequence[Sequence[Pair]]) -> None:
        self.answers = tuple(tuple(dict.fromkeys(map(read_pair, answer))) for answer in answers)
        if not self.answers:
            raise InputError("a custom task needs its answers, each a list of pairs such as [[0, 1], [0, 2]]")
        self.compared = tuple(sorted({arm for answer in self.answers for pair in answer for arm in pair}))
        self._check_answers_hold()
        self._check_disjoint()
        if len(self.compared) <= ENUMERATION_LIMIT:
            self._check_covering()

    def _check_answers_hold(self) -> None:
        for index, answer in enumerate(self.answers):
            if not answer and len(self.answers) > 1:
                raise InputError(f"answer {index} of the custom task lists no pair, so it overlaps every other")
            if linear_order(answer) is None:
                raise InputError(f"answer {index} of the custom task contradicts itself: its pairs form a cycle")

    def _check_disjoint(self) -> None:
        for (i, first), (j, second) in combinations(enumerate(self.answers), 2):
            order = linear_order(first + second)
            if order is not None:
                order += tuple(arm for arm in self.compared if arm not in order)
                raise InputError(
                    f"not a pairwise exploration task: the order {show(order)} is covered by answers {i} and {j}"
                )

    def _check_covering(self) -> None:
        for order in permutations(self.compared):
            if self._find(order) is None:
                raise InputError(f"not a pairwise exploration task: no answer covers the order {show(order)}")

    def _find(self, order: Sequence[int]) -> int | None:
        rank = {arm: position for position, arm in enumerate(order)}
        for index, answer in enumerate(self.answers):
            if all(rank[a] < rank[b] for a, b in answer):
                return index
        return None

    def check(self, arms: int) -> None:
        super().check(arms)
        check_arms_exist(self.compared, arms, self.name)

    def answer(self, means: Sequence[float]) -> int:
        order = descending(means)
        index = self._find(order)
        if index is None:
            raise InputError(f"not a pairwise exploration task: no answer covers the order {show(order)}")
        return index

    def answer_pairs(self, answer: Hashable, arms: int) -> tuple[Pair, ...]:
        return self.answers[cast(int, answer)]

    @classmethod
    def parse(cls, argument: str | None) -> "Custom":
        raise InputError("a custom task is given in a TOML file by its answers: answers = [[[0, 1]], [[1, 0]]]")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Custom) and self.answers == other.answers

    def __hash__(self) -> int:
        return hash(self.answers)


def read_pair(pair: object) -> Pair:
    """Check that a pair is two different arm numbers."""
    if (
        not isinstance(pair, list | tuple)
        or len(pair) != 2
        or not all(isinstance(arm, int) and not isinstance(arm, bool) and arm >= 0 for arm in pair)
        or pair[0] == pair[1]
    ):
        raise InputError(f"a pair is two different arms counted from 0, for example [0, 1]; got {pair!r}")
    return pair[0], pair[1]


def linear_order(pairs: Iterable[Pair]) -> tuple[int, ...] | None:
    """An order of the arms in which every pair (a, b) has a before b, or None when the pairs form a cycle."""
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for a, b in pairs:
        sorter.add(b, a)
    try:
        return tuple(sorter.static_order())
    except CycleError:
        return None


def show(order: Sequence[int]) -> str:
    """An order as people write it: 2 > 0 > 1."""
    return " > ".join(map(str, order))
