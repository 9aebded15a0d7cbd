"""A task given by its answers, each a list of ordered pairs, checked against Definition 1."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import permutations
from math import factorial
from typing import NoReturn, cast

import numpy as np

from caet_opt.bandits.tasks.base import MOST_STATEMENTS, Pair, Task, check_arms_exist, sort_arms
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.common.checks import is_whole
from caet_opt.errors import InputError

#: Largest number of compared arms for which every order is enumerated (8! = 40320 orders).
ENUMERATION_LIMIT = 8

#: Largest number of pairs in the unions of answers that are searched for a cycle (about a second).
MOST_SEARCHED = 200_000

#: Largest number of orders times answers of which the pairs at risk are counted (about a second).
MOST_JUDGED = 50_000


class Custom(Task):
    """Answers as lists of ordered pairs; every order of the arms must satisfy exactly one of them.

    Up to `ENUMERATION_LIMIT` compared arms this is checked by enumeration. Beyond, that no two answers overlap is
    checked all the same: two sets of pairs can hold together unless their union has a cycle. That every order is
    covered is then checked for the means at hand.

    >>> Custom([[(0, 1)], [(1, 0)]]).pairs([3, 4, 2])
    ((1, 0),)
    """

    name = "custom"

    def __init__(self, answers: Sequence[Sequence[Pair]]) -> None:
        listed = sum(map(len, answers))
        if listed > MOST_STATEMENTS:
            raise InputError(
                f"the answers of the custom task list {listed} pairs; up to {MOST_STATEMENTS} are checked in "
                "reasonable time"
            )
        self.answers = tuple(tuple(dict.fromkeys(map(read_pair, answer))) for answer in answers)
        if not self.answers:
            raise InputError("a custom task needs its answers, each a list of pairs such as [[0, 1], [0, 2]]")
        self.compared = tuple(sorted({arm for answer in self.answers for pair in answer for arm in pair}))
        if not self.compared:
            raise InputError("the answers of the custom task compare no arms; give pairs such as [[0, 1]]")
        self._check_answers_hold()
        if len(self.compared) <= ENUMERATION_LIMIT:
            self._check_every_order()
        else:
            self._check_disjoint()

    def _check_answers_hold(self) -> None:
        for index, answer in enumerate(self.answers):
            if not answer and len(self.answers) > 1:
                raise InputError(f"answer {index} of the custom task lists no pair, so it overlaps every other")
            if linear_order(answer) is None:
                raise InputError(f"answer {index} of the custom task contradicts itself: its pairs form a cycle")

    def _check_every_order(self) -> None:
        """Sets of orders are whole numbers with a bit for each order; an answer's are those in which its pairs hold."""
        orders, ahead = list_orders(len(self.compared))
        position = {arm: place for place, arm in enumerate(self.compared)}
        everything = (1 << len(orders)) - 1
        held: list[int] = []
        covered = 0
        for answer in self.answers:
            holding = everything
            for a, b in answer:
                holding &= ahead[position[a], position[b]]
            if both := holding & covered:
                i = next(index for index, earlier in enumerate(held) if earlier & holding)
                self._refuse_overlap(self._name_arms(orders[lowest(held[i] & both)]), i, len(held))
            held.append(holding)
            covered |= holding
        if covered != everything:
            order = self._name_arms(orders[lowest(everything & ~covered)])
            raise InputError(f"not a pairwise exploration task: no answer covers the order {show(order)}")

    def _name_arms(self, order: Sequence[int]) -> tuple[int, ...]:
        """An order of places as one of the compared arms."""
        return tuple(self.compared[place] for place in order)

    def _refuse_overlap(self, order: Sequence[int], i: int, j: int) -> NoReturn:
        raise InputError(f"not a pairwise exploration task: the order {show(order)} is covered by answers {i} and {j}")

    def _check_disjoint(self) -> None:
        """Answers of which one has a pair (a, b) and the other (b, a) are told apart at once; the others need a
        search for a cycle, and too many of these are refused."""
        searched = 0
        for i, j in self._not_opposed():
            searched += len(self.answers[i]) + len(self.answers[j])
            if searched > MOST_SEARCHED:
                raise InputError(
                    "the custom task is too large to be checked: too many of its answers have no pair of arms that "
                    "they order differently; give fewer answers, or list such pairs"
                )
            order = linear_order(self.answers[i] + self.answers[j])
            if order is not None:
                self._refuse_overlap(order + tuple(arm for arm in self.compared if arm not in order), i, j)

    def _not_opposed(self) -> Iterator[tuple[int, int]]:
        """The pairs of answers, neither of which has the reverse of a pair of the other."""
        having: defaultdict[Pair, int] = defaultdict(int)  # the answers that have a pair, as bits
        for index, answer in enumerate(self.answers):
            for pair in answer:
                having[pair] |= 1 << index
        everything = (1 << len(self.answers)) - 1
        for index, answer in enumerate(self.answers):
            opposed = 0
            for a, b in answer:
                opposed |= having.get((b, a), 0)
            rest = (everything & ~opposed) >> (index + 1)
            while rest:
                yield index, index + 1 + lowest(rest)
                rest &= rest - 1

    def count_statements(self, arms: int) -> int:
        return max(map(len, self.answers))

    def statements_at_risk(self, arms: int) -> int:
        """The most over all orders of the compared arms of the fewest pairs that suffice (`fewest_hits`).

        Where that is too much work, the number of two arms that some answer compares: a truth inverts one direction.
        """
        return self._pairs_at_risk

    @cached_property
    def _pairs_at_risk(self) -> int:
        bound = len({frozenset(pair) for answer in self.answers for pair in answer})
        if factorial(min(len(self.compared), 20)) * len(self.answers) > MOST_JUDGED:
            return bound
        found = 1
        for order in permutations(self.compared):
            rank = {arm: place for place, arm in enumerate(order)}
            inverted = (frozenset((a, b) for a, b in answer if rank[a] > rank[b]) for answer in self.answers)
            found = max(found, fewest_hits([pairs for pairs in inverted if pairs], bound))
        return min(found, bound)

    def check(self, arms: int) -> None:
        super().check(arms)
        check_arms_exist(self.compared, arms, self.name)

    def answer(self, means: Sequence[float]) -> int:
        order = sort_arms(means)
        rank = {arm: position for position, arm in enumerate(order)}
        for index, answer in enumerate(self.answers):
            if all(rank[a] < rank[b] for a, b in answer):
                return index
        raise InputError(f"not a pairwise exploration task: no answer covers the order {show(order)}")

    def list_answers(self, arms: int) -> Iterable[Hashable]:
        return range(len(self.answers))

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        return tuple(Statement(a, b) for a, b in self.answers[cast(int, answer)])

    @classmethod
    def parse(cls, argument: str | None) -> "Custom":
        raise InputError("a custom task is given in a TOML file by its answers: answers = [[[0, 1]], [[1, 0]]]")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Custom) and self.answers == other.answers

    def __hash__(self) -> int:
        return hash(self.answers)


def read_pair(pair: object) -> Pair:
    """Check that a pair is two different arm numbers."""
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(map(is_whole, pair)) or pair[0] == pair[1]:
        raise InputError(f"a pair is two different arms counted from 0, for example [0, 1]; got {pair!r}")
    return pair[0], pair[1]


def fewest_hits(sets: Sequence[frozenset[Pair]], limit: int) -> int:
    """The size of the smallest set of pairs that meets every one of these sets, or the limit if that is smaller.

    One of the pairs of the smallest set is in it: try each, and go on with the sets that are not met.
    """
    if not sets or limit <= 0:
        return 0
    best = limit
    for pair in min(sets, key=len):
        rest = [pairs for pairs in sets if pair not in pairs]
        best = min(best, 1 + fewest_hits(rest, best - 1))
    return best


@cache
def list_orders(arms: int) -> tuple[list[tuple[int, ...]], dict[Pair, int]]:
    """All orders of so many arms, and for each two arms (a, b) the orders in which a is ahead of b, as bits."""
    orders = list(permutations(range(arms)))
    ranks = np.argsort(np.array(orders, dtype=np.int8), axis=1)

    def bits(a: int, b: int) -> int:
        return int.from_bytes(np.packbits(ranks[:, a] < ranks[:, b], bitorder="little").tobytes(), "little")

    return orders, {(a, b): bits(a, b) for a, b in permutations(range(arms), 2)}


def lowest(bits: int) -> int:
    """The place of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


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
