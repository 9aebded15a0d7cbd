"""Tasks: what is to be found out about the arms, each answer a set of ordered pairs."""

from caet_opt.bandits.registry import Registry
from caet_opt.bandits.tasks.base import Pair, Task
from caet_opt.bandits.tasks.best_arm import BestArm, TopArms
from caet_opt.bandits.tasks.comparisons import Comparisons, Control
from caet_opt.bandits.tasks.custom import Custom
from caet_opt.bandits.tasks.groups import Groups
from caet_opt.bandits.tasks.ranking import Ranking

TASKS: Registry[type[Task]] = Registry(
    """Tasks by their name in the grammar.

    >>> list(TASKS)
    ['best-arm', 'ranking', 'top-arms', 'groups', 'control', 'comparisons', 'custom']
    >>> TASKS["top-arms"].parse("2") == TopArms(2)
    True
    """,
    *(BestArm, Ranking, TopArms, Groups, Control, Comparisons, Custom),
)


def parse_task(text: str) -> Task:
    """Read ``name`` or ``name:parameters``, for example ``ranking`` or ``groups:0,1/2,3,4``.

    >>> parse_task("groups:0,1/2,3,4")
    <task groups:0,1/2,3,4>
    """
    task, argument = TASKS.split("task", text, "'ranking' or 'top-arms:2'")
    return task.parse(argument)


__all__ = [
    "TASKS",
    "BestArm",
    "Comparisons",
    "Control",
    "Custom",
    "Groups",
    "Pair",
    "Ranking",
    "Task",
    "TopArms",
    "parse_task",
]
