"""Tasks with a tolerance, ``best-arm~0.05``: an answer is right up to so much, and several may be right at once."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product, takewhile
from typing import Any, cast

import numpy as np

from caet_opt.bandits.tasks.base import LOWER, Form, Pair, Task, check_size, sort_arms
from caet_opt.bandits.tasks.constraints import can_hold
from caet_opt.bandits.tasks.custom import Custom
from caet_opt.bandits.tasks.pairs import COMPLETE, EITHER
from caet_opt.bandits.tasks.shipped import BestArm, Groups, Ranking, TopArms
from caet_opt.bandits.tasks.stated import Comparisons, list_form
from caet_opt.bandits.tasks.statements import Statement, encode, judge, number_text, read_number
from caet_opt.common.exact import Number
from caet_opt.errors import InputError

#: The tasks that can have a tolerance, and what an answer of them with one says after its arms.
NOTES: dict[type[Task], str] = {
    BestArm: "within {} of the best",
    TopArms: "each within {} of every other",
    Groups: "each within {} of the best of its group",
    Ranking: "each within {} of all that follow",
    Comparisons: "",
    Custom: "",
}


class Tolerant(Task):
    """A task whose answers assert the same with a tolerance e subtracted: ``a > b - e`` in place of ``a > b``.

    An answer is right where all of that holds. The answer without tolerance is, and others may be: `right_answers`. A
    ranking asserts the order of all pairs, not only of adjacent ones, of which the tolerances would add up.

    >>> task = parse_task("best-arm~0.5")
    >>> print(*task.statements([3, 4, 2]), sep=", ")
    1 > 0 - 0.5, 1 > 2 - 0.5
    >>> list(task.right_answers([3.7, 4, 2])), list(parse_task("ranking~0.5").right_answers([3.7, 4, 2]))
    ([1, 0], [(1, 0, 2), (0, 1, 2)])
    """

    several_right = True

    def __init__(self, task: Task, tolerance: Number) -> None:
        if type(task) not in NOTES:
            known = ", ".join(kind.name for kind in NOTES)
            raise InputError(f"task {str(task)!r} has one right answer; a tolerance (~) is for {known}")
        self.task, self.tolerance = task, read_number(tolerance, f"task '{task}~': the tolerance")
        if self.tolerance <= 0:
            raise InputError(f"task '{task}~': the tolerance must be above 0, got {number_text(self.tolerance)}")
        if any(statement.ratio != 1 for statement in task.numbered_statements()):
            raise InputError(f"task {str(task)!r} has a ratio, so it cannot have a tolerance")
        note = NOTES[type(task)].format(number_text(self.tolerance))
        # of the class elsewhere
        vars(self).update(name=task.name, answer_sign=task.answer_sign, answer_note=note and f" ({note})")

    def answer(self, means: Sequence[Any]) -> Hashable:
        """The answer without tolerance, which is one of the right ones."""
        return self.task.answer(means)

    def right_answers(self, means: Sequence[Any]) -> Iterator[Hashable]:
        """From the one without tolerance on; one by one, as there may be very many."""
        task, arms = self.task, len(means)
        if isinstance(task, BestArm):
            yield from self._winners(range(arms), means)
        elif isinstance(task, Groups):
            yield from product(*(self._winners(group, means) for group in task.groups))
        elif isinstance(task, TopArms):
            yield from self._right_sets(task.size, means)
        elif isinstance(task, Ranking):
            yield from self._right_orders(means)
        elif isinstance(task, Comparisons):
            yield from product(*(self._directions(one, means) for one in task.stated))
        else:
            stated = ((one, self.answer_statements(one, arms)) for one in task.list_answers(arms) or ())
            yield from (one for one, statements in stated if all(judge(each, means) > 0 for each in statements))

    def _is_within(self, arm: int, best: int, means: Sequence[Any]) -> bool:
        """Whether ``arm > best - e``."""
        return arm == best or judge(Statement(arm, best, -self.tolerance), means) > 0

    def _winners(self, group: Sequence[int], means: Sequence[Any]) -> list[int]:
        """The arms of a group that are within the tolerance of its best, the best first."""
        arms = sorted(group)
        order = [arms[place] for place in sort_arms([means[arm] for arm in arms])]
        return [arm for arm in order if self._is_within(arm, order[0], means)]

    def _right_sets(self, size: int, means: Sequence[Any]) -> Iterator[tuple[int, ...]]:
        """Sets by the best arm that is not among them: all arms before it are, and others that are within the tolerance
        of it."""
        order = sort_arms(means)
        for place in range(size, -1, -1):
            best, rest = order[place], order[place + 1 :]
            near = [arm for arm in rest if self._is_within(arm, best, means)]
            for chosen in combinations(near, size - place):
                yield tuple(sorted((*order[:place], *chosen)))

    def _right_orders(self, means: Sequence[Any]) -> Iterator[tuple[int, ...]]:
        """The next arm of an order is any within the tolerance of the best that is left, so that each beginning has an
        end."""
        waiting: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), sort_arms(means))]
        while waiting:
            first, rest = waiting.pop()
            if not rest:
                yield first
                continue
            near = takewhile(lambda arm, best=rest[0]: self._is_within(arm, best, means), rest)  # type: ignore[misc]
            further = [((*first, arm), tuple(other for other in rest if other != arm)) for arm in near]
            waiting.extend(reversed(further))

    def _directions(self, statement: Statement, means: Sequence[Any]) -> list[Pair]:
        """Which of the two sides of a comparison may be said to win, the one without tolerance first."""
        pair = cast(Pair, statement[:2])
        ways = [(pair, statement), (pair[::-1], statement.reverse)]
        ways = ways if judge(statement, means) >= 0 else ways[::-1]
        return [winners for winners, one in ways if judge(self.relax(one), means) > 0]

    def relax(self, statement: Statement) -> Statement:
        """The statement with the tolerance subtracted."""
        return statement._replace(margin=statement.margin - self.tolerance)

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        if isinstance(self.task, Ranking):
            order = cast(tuple[int, ...], answer)
            return tuple(Statement(better, worse, -self.tolerance) for better, worse in combinations(order, 2))
        return tuple(map(self.relax, self.task.answer_statements(answer, arms)))

    def answer_of(self, pairs: Sequence[Pair], arms: int) -> Hashable:
        """The answer whose statements have these winners and losers, in their order."""
        if isinstance(self.task, Comparisons):
            return tuple(pairs)
        if isinstance(self.task, Custom):
            return super().answer_of(pairs, arms)
        wins = [0] * arms  # of an order of the arms that has these pairs
        for winner, _ in pairs:
            wins[winner] += 1
        return self.task.answer(wins)

    def list_answers(self, arms: int) -> Iterable[Hashable] | None:
        if isinstance(self.task, Comparisons):
            either = product(*((pair, pair[::-1]) for pair in self.task.compared))
            return (answer for answer in either if can_hold(self.answer_statements(answer, arms)))
        return self.task.list_answers(arms)

    def check(self, arms: int) -> None:
        self.task.check(arms)
        check_size(self.count_statements(arms))

    def numbered_statements(self) -> Iterable[Statement]:
        if isinstance(self.task, Comparisons):
            return tuple(self.relax(side) for one in self.task.stated for side in (one, one.reverse))
        if isinstance(self.task, Custom):
            return tuple(self.relax(one) for answer in self.task.stated for one in answer)
        return (Statement(0, 1, -self.tolerance),)

    def with_margin(self, margin: Number) -> Task:
        """The same task with another tolerance."""
        return tolerate(self.task, margin)

    def count_statements(self, arms: int) -> int:
        return arms * (arms - 1) // 2 if isinstance(self.task, Ranking) else self.task.count_statements(arms)

    def statements_at_risk(self, arms: int) -> int:
        """For best arm, groups and comparisons as many as without tolerance: a wrong answer asserts ``i > best - e``,
        or the wrong one of two statements, of which at most one is false.

        M (K - M) for the M best arms: of a wrong set the worst arm and the best that is not in it are such a statement,
        the first is not among the best M, and the second is. Else the statements up to reversal: K (K - 1) / 2 for a
        ranking, and those that a task of one's own lists.
        """
        if isinstance(self.task, TopArms):
            return self.count_statements(arms)
        if isinstance(self.task, Custom):
            return self.task.distinct_statements
        return self.task.statements_at_risk(arms)

    def compiled_form(self, arms: int) -> Form | None:
        if isinstance(self.task, Comparisons):
            either = list_form(EITHER, self.task.stated)
            _, relaxed = encode([self.relax(one) for one in self.task.stated])
            _, reverses = encode([self.relax(one.reverse) for one in self.task.stated])
            return either._replace(numbers=np.vstack((relaxed, reverses)))
        form = self.task.compiled_form(arms)
        if form is None:
            return None
        _, margins = encode([Statement(0, 1, -self.tolerance)] * self.count_statements(arms))
        shape = COMPLETE if isinstance(self.task, Ranking) else form.shape
        return Form(shape, form.members, np.vstack((margins, margins)))

    def compiled_shape(self, arms: int) -> None:
        return None

    def describe(self, names: Sequence[str] = (), lower: bool = False) -> str:
        return f"{self.task.describe(names)} within {number_text(self.tolerance)}" + LOWER * lower

    @classmethod
    def parse(cls, argument: str | None) -> "Tolerant":
        raise InputError("write ~NUMBER after a task")

    def __str__(self) -> str:
        return f"{self.task}~{number_text(self.tolerance)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tolerant) and (self.task, self.tolerance) == (other.task, other.tolerance)

    def __hash__(self) -> int:
        return hash((Tolerant, self.task, self.tolerance))


def tolerate(task: Task, tolerance: Number) -> Task:
    """The task with a tolerance, itself if that is zero."""
    return (
        task if Fraction(read_number(tolerance, f"task '{task}~': the tolerance")) == 0 else Tolerant(task, tolerance)
    )


def custom_part(task: Task) -> Custom | None:
    """The task of one's own that a task is, with a tolerance or without; None for others."""
    inner = task.task if isinstance(task, Tolerant) else task
    return inner if isinstance(inner, Custom) else None
