"""Tasks: what is to be found out about the arms, each answer a set of ordered pairs."""

from collections.abc import Sequence

from caet_opt.bandits.tasks.arm_names import number_arms
from caet_opt.bandits.tasks.base import Pair, Task
from caet_opt.bandits.tasks.custom import Custom
from caet_opt.bandits.tasks.shipped import BestArm, Comparisons, Control, Groups, Ranking, TopArms
from caet_opt.common.registry import Registry

TASKS: Registry[type[Task]] = Registry(
    """Tasks by their name in the grammar.

    >>> from caet_opt.bandits.tasks import TASKS
    >>> list(TASKS)
    ['best-arm', 'ranking', 'top-arms', 'groups', 'control', 'comparisons', 'custom']
    >>> TASKS["top-arms"].parse("2") == TopArms(2)
    True
    """,
    *(BestArm, Ranking, TopArms, Groups, Control, Comparisons, Custom),
)


def parse_task(text: str, names: Sequence[str] = (), *, kept: bool = False) -> Task:
    """Read ``name`` or ``name:parameters``, for example ``ranking`` or ``groups:0,1/2,3,4``.

    Parameters
    ----------
    text
        In the grammar.
    names
        Of the arms, by which they can be given, too, in quotes or not; without, by number only.
    kept
        Whether the text is from a file, where digits mean the number of an arm, whatever arms are called.

    Examples
    --------
    >>> parse_task("groups:0,1/2,3,4")
    <task groups:0,1/2,3,4>
    >>> parse_task("comparisons:gpt-4-local", ["gpt-4", "local"])
    <task comparisons:0-1>
    """
    task, argument = TASKS.split("task", text, "'ranking' or 'top-arms:2'")
    if argument and names and task.between_arms:
        argument = number_arms(task.name, argument, names, task.between_arms, kept)
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
