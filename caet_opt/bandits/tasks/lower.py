"""Tasks in which the lower mean is the better one: latencies, costs, defects."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from caet_opt.bandits.tasks.base import Form, Pair, Task
from caet_opt.bandits.tasks.pairs import COMPLETE, LISTED, MARGIN, MARGIN_ROWS, MIRRORED, REST
from caet_opt.bandits.tasks.statements import Mirrored, Statement, mirror
from caet_opt.common.exact import Number
from caet_opt.errors import InputError

#: What follows a task in the grammar.
SUFFIX = "(lower is better)"


class LowerIsBetter(Task):
    """A task in which an arm is better if its mean is lower; what an answer asserts of the means is turned around.

    "Better by 0.02" is ``a < b - 0.02``, "better by a factor 1.1" is ``1.1 a < b``, and ``above:LEVEL``, better than
    the level, is below it.

    >>> task = parse_task("control:0+0.5", lower_is_better=True)
    >>> task, task.answer([3, 4, 2])
    (<task control:0+0.5 (lower is better)>, (2,))
    >>> print(*task.statements([3, 4, 2]), sep=", ")
    1 > 0 - 0.5, 0 > 2 + 0.5
    """

    lower_is_better = True

    def __init__(self, task: Task) -> None:
        if task.name == "custom" or task.lower_is_better:
            raise InputError(f"task {str(task)!r} already says which means are larger")
        self.task = task
        sign = task.answer_sign and task.answer_sign.replace(">", "<")
        vars(self).update(name=task.name, needs_costs=task.needs_costs, answer_sign=sign)  # of the class elsewhere
        vars(self).update(several_right=task.several_right, answer_note=task.answer_note, tolerance=task.tolerance)

    def answer(self, means: Sequence[Any]) -> Hashable:
        return self.task.answer(Mirrored(-mean for mean in means))

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        return tuple(map(mirror, self.task.answer_statements(answer, arms)))

    def leader(self, answer: Hashable) -> int | None:
        return self.task.leader(answer)

    def right_answers(self, means: Sequence[Any]) -> Iterable[Hashable]:
        return self.task.right_answers(Mirrored(-mean for mean in means))

    def answer_of(self, pairs: Sequence[Pair], arms: int) -> Hashable:
        return self.task.answer_of([(winner, loser) for loser, winner in pairs], arms)

    def list_answers(self, arms: int) -> Iterable[Hashable] | None:
        return self.task.list_answers(arms)

    def check(self, arms: int) -> None:
        self.task.check(arms)

    def numbered_statements(self) -> Iterable[Statement]:
        return map(mirror, self.task.numbered_statements())

    def for_costs(self, costs: Sequence[Any]) -> Self:
        return type(self)(self.task.for_costs(costs))

    def with_margin(self, margin: Number) -> Self:
        return type(self)(self.task.with_margin(margin))

    def with_ratio(self, ratio: Number) -> Self:
        return type(self)(self.task.with_ratio(ratio))

    def with_level(self, level: Number) -> Self:
        return type(self)(self.task.with_level(level))

    def count_statements(self, arms: int) -> int:
        return self.task.count_statements(arms)

    def statements_at_risk(self, arms: int) -> int:
        return self.task.statements_at_risk(arms)

    def compiled_form(self, arms: int) -> Form | None:
        form = self.task.compiled_form(arms)
        if form is None or form.shape <= LISTED or form.shape == COMPLETE:
            return form and form._replace(shape=form.shape + MIRRORED)
        pairs, numbers = form.members.reshape(-1, 2), form.numbers.copy()
        levels = np.any(pairs < 0, axis=1)
        for row in (MARGIN, REST, MARGIN_ROWS + MARGIN, MARGIN_ROWS + REST):
            numbers[row, levels] *= -1.0
        return Form(form.shape, pairs[:, ::-1].ravel(), numbers)

    def describe(self, names: Sequence[str] = (), lower: bool = True) -> str:
        return self.task.describe(names, lower)

    @classmethod
    def parse(cls, argument: str | None) -> "LowerIsBetter":
        raise InputError(f"write {SUFFIX} after a task")

    def __str__(self) -> str:
        return f"{self.task} {SUFFIX}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerIsBetter) and self.task == other.task

    def __hash__(self) -> int:
        return hash((LowerIsBetter, self.task))
