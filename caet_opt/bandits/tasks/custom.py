"""A task given by its answers, each a list of statements, checked against Definition 1."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import permutations
from math import factorial
from typing import Any, NoReturn, cast

import numpy as np

from caet_opt.bandits.tasks.base import MOST_STATEMENTS, Pair, Task, check_arms_exist, sort_arms
from caet_opt.bandits.tasks.constraints import can_hold, linear_order, plain_pairs, show
from caet_opt.bandits.tasks.items import Item, read_item, write_item
from caet_opt.bandits.tasks.statements import Statement, judge
from caet_opt.errors import InputError

#: Largest number of compared arms for which every order is enumerated (8! = 40320 orders).
ENUMERATION_LIMIT = 8

#: Largest number of pairs in the unions of answers that are searched for a cycle (about a second).
MOST_SEARCHED = 200_000

#: Largest number of orders times answers of which the pairs at risk are counted (about a second).
MOST_JUDGED = 50_000


class Custom(Task):
    """Answers as lists of statements; any means without ties must satisfy exactly one answer.

    A statement is a pair, ``(0, 1)`` for "0 beats 1", or a text: ``"0 > 1 + 0.02"``, ``"2 > 0.8"``, ``"2 < 0.8"``. A
    whole number after the sign is an arm; the level 1 is written ``1.0``.

    If all statements are pairs, of up to `ENUMERATION_LIMIT` arms, every order is tried. Otherwise it is still checked
    that no two answers overlap: two can hold together unless the margins around a cycle of their statements add up to
    zero or more. That some answer covers the case is then checked for the given means.

    Parameters
    ----------
    answers
        A list of statements for each answer.
    names
        Names of the arms, which texts may use.
    lower_is_better
        Whether the first arm of a pair is the one with the lower mean; texts are not affected.

    Examples
    --------
    >>> Custom([[(0, 1)], [(1, 0)]]).pairs([3, 4, 2])
    ((1, 0),)
    >>> print(*Custom([["0 > 1 + 0.5"], ["1 > 0 - 0.5"]]).statements([3, 4]))
    1 > 0 - 0.5
    """

    name = "custom"

    def __init__(
        self, answers: Sequence[Sequence[Item]], names: Sequence[str] = (), *, lower_is_better: bool = False
    ) -> None:
        listed = sum(map(len, answers))
        if listed > MOST_STATEMENTS:
            raise InputError(
                f"the answers of the custom task list {listed} pairs; up to {MOST_STATEMENTS} are checked in "
                "reasonable time"
            )
        self.stated = tuple(
            tuple(dict.fromkeys(read_item(item, names, lower_is_better) for item in answer)) for answer in answers
        )
        #: The same as pairs and texts, which say it of themselves, without names, whichever mean is better.
        self.answers = tuple(tuple(map(write_item, answer)) for answer in self.stated)
        if not self.answers:
            raise InputError("a custom task needs its answers, each a list of pairs such as [[0, 1], [0, 2]]")
        everything = [statement for answer in self.stated for statement in answer]
        self.compared = tuple(sorted({arm for statement in everything for arm in statement.arms}))
        if not self.compared:
            raise InputError("the answers of the custom task compare no arms; give pairs such as [[0, 1]]")
        self.is_plain = all(statement.is_plain for statement in everything)
        self._check_answers_hold()
        if self.is_plain and len(self.compared) <= ENUMERATION_LIMIT:
            self._check_every_order()
        else:
            self._check_disjoint()

    def _check_answers_hold(self) -> None:
        for index, answer in enumerate(self.stated):
            if not answer and len(self.answers) > 1:
                raise InputError(f"answer {index} of the custom task lists no pair, so it overlaps every other")
            if not can_hold(answer):
                cycle = "its pairs form a cycle" if self.is_plain else "no means satisfy all of its statements"
                raise InputError(f"answer {index} of the custom task contradicts itself: {cycle}")

    def _check_every_order(self) -> None:
        """Sets of orders are whole numbers with a bit for each order; an answer's are those in which its pairs hold."""
        orders, ahead = list_orders(len(self.compared))
        position = {arm: place for place, arm in enumerate(self.compared)}
        everything = (1 << len(orders)) - 1
        held: list[int] = []
        covered = 0
        for answer in self.stated:
            holding = everything
            for a, b in plain_pairs(answer):
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
        """Answers of which one has a statement and the other its reverse are told apart at once; the others need a
        search for a cycle, and too many of these are refused."""
        searched = 0
        for i, j in self._not_opposed():
            both = self.stated[i] + self.stated[j]
            searched += len(both) * (1 if self.is_plain else len(self.compared))
            if searched > MOST_SEARCHED:
                raise InputError(
                    "the custom task is too large to be checked: too many of its answers have no pair of arms that "
                    "they order differently; give fewer answers, or list such pairs"
                )
            order = linear_order(plain_pairs(both)) if self.is_plain else None
            if not self.is_plain and can_hold(both):
                raise InputError(f"not an exploration task: answers {i} and {j} can be right for the same means")
            if order is not None:
                self._refuse_overlap(order + tuple(arm for arm in self.compared if arm not in order), i, j)

    def _not_opposed(self) -> Iterator[tuple[int, int]]:
        """The pairs of answers, neither of which has the reverse of a statement of the other."""
        having: defaultdict[Statement, int] = defaultdict(int)  # the answers that have a statement, as bits
        for index, answer in enumerate(self.stated):
            for statement in answer:
                having[statement] |= 1 << index
        everything = (1 << len(self.answers)) - 1
        for index, answer in enumerate(self.stated):
            opposed = 0
            for statement in answer:
                opposed |= having.get(statement.reverse, 0)
            rest = (everything & ~opposed) >> (index + 1)
            while rest:
                yield index, index + 1 + lowest(rest)
                rest &= rest - 1

    def count_statements(self, arms: int) -> int:
        return max(map(len, self.answers))

    def statements_at_risk(self, arms: int) -> int:
        """The most over all orders of the compared arms of the fewest pairs that suffice (`fewest_hits`).

        Where that is too much work, or there are margins, the number of statements up to reversal: a truth inverts one
        direction.
        """
        return self._pairs_at_risk

    @cached_property
    def distinct_statements(self) -> int:
        """How many statements there are up to reversal."""
        return len({frozenset((statement, statement.reverse)) for answer in self.stated for statement in answer})

    @cached_property
    def _pairs_at_risk(self) -> int:
        bound = self.distinct_statements
        if not self.is_plain or factorial(min(len(self.compared), 20)) * len(self.answers) > MOST_JUDGED:
            return bound
        found, asserted = 1, list(map(plain_pairs, self.stated))
        for order in permutations(self.compared):
            rank = {arm: place for place, arm in enumerate(order)}
            inverted = (frozenset((a, b) for a, b in answer if rank[a] > rank[b]) for answer in asserted)
            found = max(found, fewest_hits([pairs for pairs in inverted if pairs], bound))
        return min(found, bound)

    def check(self, arms: int) -> None:
        super().check(arms)
        check_arms_exist(self.compared, arms, self.name)

    def answer(self, means: Sequence[Any]) -> int:
        if not self.is_plain:
            return self._judge_answers(means)
        order = sort_arms(means)
        rank = {arm: position for position, arm in enumerate(order)}
        for index, answer in enumerate(self.stated):
            if all(rank[a] < rank[b] for a, b in plain_pairs(answer)):
                return index
        raise InputError(f"not a pairwise exploration task: no answer covers the order {show(order)}")

    def _judge_answers(self, means: Sequence[Any]) -> int:
        """The first answer that holds but for ties: with a tie, the next to it may be right as well."""
        for index, answer in enumerate(self.stated):
            if all(judge(statement, means) >= 0 for statement in answer):
                return index
        shown = ", ".join(f"{float(mean):g}" for mean in means[:10]) + ", ..." * (len(means) > 10)
        raise InputError(f"not an exploration task: no answer covers the means {shown}")

    def list_answers(self, arms: int) -> Iterable[Hashable]:
        return range(len(self.answers))

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        return self.stated[cast(int, answer)]

    def numbered_statements(self) -> Iterable[Statement]:
        return (statement for answer in self.stated for statement in answer if not statement.is_plain)

    @classmethod
    def parse(cls, argument: str | None) -> "Custom":
        raise InputError("a custom task is given in a TOML file by its answers: answers = [[[0, 1]], [[1, 0]]]")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Custom) and self.stated == other.stated

    def __hash__(self) -> int:
        return hash(self.stated)


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
