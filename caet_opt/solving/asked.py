"""Tasks that were asked lately, and what is known of each: whom it suits, its answers, their columns.

A task of ours does not change, so that most of a question is a look at what was found before. Tasks of users, who may
know better, are asked each time.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from caet_opt.bandits.families import Family
from caet_opt.bandits.model import GAPS, BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.bandits.tasks.pairs import CHEAPEST, MARGIN, RATIO, STATED, surplus
from caet_opt.errors import InputError
from caet_opt.kernels.statement_columns import Columns, list_columns

#: So many tasks, and answers of each, are kept.
MOST_KEPT = 256

#: Beyond so many units of rounding (`surplus`) doubles tell what exact numbers would.
CLEAR = 2.0

#: Statements of which the signs say the answer: whether only those up to the first that holds count, and of each its
#: winner and loser, -1 for none, its margin and its ratio.
Listed = tuple[bool, list[tuple[int, int, float, float]]]

#: What stands for statements that have not been listed.
UNLISTED: Listed = (False, [])

Key = TypeVar("Key")
Value = TypeVar("Value")


class Asked:
    """What is known of a task; nothing is kept for one that is not ours.

    Attributes
    ----------
    columns : those of an answer
    by_signs : those of the answer where the statements of `Task.compiled_form` hold and fail like this
    listed : these statements, by the number of arms
    suited : numbers of arms and families for which the task has been checked, and the mean space that was seen
    told : the task for given costs
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.ours = type(task).__module__.startswith("caet_opt.") and type(task).statements is Task.statements
        self.columns: dict[Any, Columns] = {}
        self.by_signs: dict[Any, Columns] = {}
        self.listed: dict[int, Listed | None] = {}
        self.suited: dict[Any, Any] = {}
        self.told: dict[Any, Task] = {}

    def check(self, model: BanditModel) -> None:
        """Raise `InputError` where the task makes no sense for the model."""
        family = model.family
        key = len(model.means), type(family)
        if self.suited.get(key) is family.mean_space:
            return
        self.task.check(len(model.means))
        self.task.check_family(family)
        if self.ours:
            self.suited[key] = family.mean_space

    def for_costs(self, model: BanditModel) -> "Asked":
        """The task, which depends on costs, for those of a model."""
        if model.cost_rule == GAPS:
            told = f"task {str(self.task)!r} needs costs that are known; give one cost per arm instead of {GAPS!r}"
            raise InputError(told)
        given = model.given_costs or ()
        key = given, tuple(map(type, given))  # 0.1 and the decimal of that double are equal, and mean two numbers
        task = self.told.get(key)
        if task is None:
            task = keep(self.told, key, self.task.for_costs(model.exact_costs), self.ours)
        return recall(task)

    def find_columns(self, means: Sequence[Any], family: type[Family]) -> Columns:
        """The columns of the answer for these means."""
        if not self.ours:
            return list_columns(self.task.statements(means), family)
        answer = self.task.answer(means)
        key = answer, len(means), family
        found = self.columns.get(key)
        if found is None:
            found = list_columns(self.task.answer_statements(answer, len(means)), family)
            keep(self.columns, key, found)
        return found

    def columns_at(self, model: BanditModel) -> tuple[Columns, bool]:
        """The columns of the answer for a model, and whether doubles tell that each statement holds, or is a pair.

        Answers with margins, levels or ratios are those of the exact means, since what is typed as 0.3 is not less than
        0.2 + 0.1; the order of two doubles is what it is. They are looked for where doubles leave it open.
        """
        means, family = model.means, type(model.family)
        if self.listed.get(len(means), UNLISTED) is not None:  # they are, or it is not known
            clear = self.clear_columns(means, family)
            if clear is not None:
                return clear, True
        found = self.find_columns(means, family)
        return (found, True) if found.is_plain else (self.find_columns(model.exact_means, family), False)

    def clear_columns(self, means: Sequence[float], family: type[Family]) -> Columns | None:
        """The columns of the answer for these means; None where doubles leave it open, or the task does not list
        statements of which the signs say it."""
        signs = self.signs(means) if self.lists_signs(len(means)) else None
        if signs is None:
            return None
        key = signs, len(means), family
        return self.by_signs.get(key) or keep(self.by_signs, key, self.find_columns(means, family))

    def lists_signs(self, arms: int) -> bool:
        """Whether the signs of some statements say the answer for so many arms."""
        if arms not in self.listed:
            keep(self.listed, arms, list_signs(self.task, arms) if self.ours else None)
        return self.listed[arms] is not None

    def signs(self, means: Sequence[float]) -> tuple[bool, ...] | None:
        """Which of the listed statements hold; None where doubles leave it open.

        What holds or fails by more than `CLEAR` at doubles does so at the numbers that they are the nearest to.
        """
        listed = self.listed[len(means)]
        assert listed is not None
        until_first, statements = listed
        padded, signs = (*means, 0.0), []
        for a, b, margin, ratio in statements:
            beyond = surplus(padded[a], padded[b], margin, ratio)
            if not abs(beyond) > CLEAR:
                return None
            signs.append(beyond > 0.0)
            if until_first and beyond > 0.0:
                break
        return tuple(signs)


def list_signs(task: Task, arms: int) -> Listed | None:
    """The statements of which the signs say the answer, where a task has such."""
    form = task.compiled_form(arms)
    if form is None or form.shape not in (STATED, CHEAPEST):
        return None
    sides, numbers = form.members.reshape(-1, 2).T.tolist(), form.numbers[[MARGIN, RATIO]].tolist()
    return form.shape == CHEAPEST, list(zip(*sides, *numbers, strict=True))


def keep(kept: dict[Key, Value], key: Key, value: Value, is_kept: bool = True) -> Value:
    """Keep a value, and forget the others where they are many."""
    if is_kept:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[key] = value
    return value


#: What is known of each task that was asked lately, by the task's id.
_asked: dict[int, Asked] = {}


def recall(task: Task) -> Asked:
    """What is known of a task."""
    known = _asked.get(id(task))
    if known is None or known.task is not task:
        known = keep(_asked, id(task), Asked(task))
    return known
