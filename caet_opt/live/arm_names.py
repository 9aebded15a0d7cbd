"""Names of arms, and answers about them."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from caet_opt.bandits.model import read_arm_names
from caet_opt.bandits.tasks import BestArm, Cheapest, Comparisons, Control, Custom, Groups, Task, Tolerant
from caet_opt.bandits.tasks.base import MOST_STATEMENTS, NONE
from caet_opt.bandits.tasks.lower import LowerIsBetter
from caet_opt.common.checks import is_whole, show_value
from caet_opt.errors import InputError

#: More arms than this have more pairs to compare than any task is solved for.
MOST_ARMS = MOST_STATEMENTS + 1
#: The longest name that is one.
LONGEST_NAME = 10_000


def name_arms(arms: Any) -> tuple[str, ...]:
    """The names that are given, or numbers for a number of arms; a name that is a number would be another arm's."""
    if is_whole(arms):
        if int(arms) > MOST_ARMS:
            raise InputError(f"arms must be at most {MOST_ARMS}, got {show_value(int(arms))}")
        return read_arm_names(None, int(arms))
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise InputError(f"arms must be a list of names, as ['large', 'small'], or their number, got {arms!r}")
    names = read_arm_names(arms)
    for number, name in enumerate(names):
        if len(name) > LONGEST_NAME:
            raise InputError(f"the name of arm {number} has {len(name)} characters; at most {LONGEST_NAME} are allowed")
        if name.strip() != name or not name.isprintable() or (name.isdecimal() and name != str(number)):
            raise InputError(
                f"arm {number} cannot be called {name!r}: a name is one line without spaces around it, not a number"
            )
    return names


def name_answer(task: Task, answer: Hashable, names: Sequence[str]) -> str:
    """An answer in words; of a control all that it asserts, which says of every arm on which side it is."""
    if isinstance(task.task if isinstance(task, LowerIsBetter) else task, Control):
        return ", ".join(statement.write(tuple(names)) for statement in task.answer_statements(answer, len(names)))
    return task.write_answer(answer, names)


def is_answer(task: Task, answer: Hashable, arms: int) -> bool:
    """Whether something, a number or numbers in brackets, has the form of an answer of a task."""
    task = task.task if isinstance(task, LowerIsBetter) else task
    task = task.task if isinstance(task, Tolerant) else task
    if isinstance(task, Cheapest) and answer == NONE:
        return True
    if isinstance(task, BestArm | Custom | Cheapest):
        return isinstance(answer, int) and answer < (len(task.answers) if isinstance(task, Custom) else arms)
    if not isinstance(answer, tuple):
        return False
    if isinstance(task, Comparisons):
        orders = ((pair, pair[::-1]) for pair in task.compared)
        return len(answer) == len(task.compared) and all(
            pair in both for pair, both in zip(answer, orders, strict=True)
        )
    if isinstance(task, Groups) and len(answer) != len(task.groups):
        return False
    return all(isinstance(arm, int) and arm < arms for arm in answer) and len(set(answer)) == len(answer)
