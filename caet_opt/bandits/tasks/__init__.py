"""Tasks: what is to be found out about the arms, each answer a set of statements about their means."""

import re
from collections.abc import Sequence
from contextlib import suppress

from caet_opt.bandits.model import BanditModel, check_model
from caet_opt.bandits.tasks.arm_names import NUMBER
from caet_opt.bandits.tasks.base import Pair, Task
from caet_opt.bandits.tasks.custom import Custom
from caet_opt.bandits.tasks.items import Item
from caet_opt.bandits.tasks.lower import SUFFIX, LowerIsBetter
from caet_opt.bandits.tasks.shipped import BestArm, Groups, Ranking, TopArms
from caet_opt.bandits.tasks.stated import Above, Cheapest, Comparisons, Control
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.bandits.tasks.tolerant import Tolerant, custom_part, tolerate
from caet_opt.common.exact import brief, read_decimal
from caet_opt.common.registry import Registry
from caet_opt.errors import InputError

TASKS: Registry[type[Task]] = Registry(
    """Tasks by their name in the grammar.

    >>> from caet_opt.bandits.tasks import TASKS
    >>> list(TASKS)
    ['best-arm', 'ranking', 'top-arms', 'groups', 'control', 'comparisons', 'above', 'cheapest', 'custom']
    >>> TASKS["top-arms"].parse("2") == TopArms(2)
    True
    """,
    *(BestArm, Ranking, TopArms, Groups, Control, Comparisons, Above, Cheapest, Custom),
)

#: An answer that is right up to a number, with which a task may end, once.
TOLERANCE = re.compile(rf"(.*)~\s*({NUMBER})\s*", re.DOTALL)


def parse_task(text: str, names: Sequence[str] = (), *, kept: bool = False, lower_is_better: bool = False) -> Task:
    """Read ``name`` or ``name:parameters``, for example ``ranking`` or ``groups:0,1/2,3,4``.

    Parameters
    ----------
    text
        The task in the grammar.
    names
        Names of the arms, which the text may use, in quotes or not; without them, arms are given by number only.
    kept
        Whether the text is from a file, where digits always mean the number of an arm.
    lower_is_better
        Whether an arm is better if its mean is lower; ``(lower is better)`` at the end of the text means the same.

    Examples
    --------
    >>> parse_task("groups:0,1/2,3,4")
    <task groups:0,1/2,3,4>
    >>> parse_task("comparisons:gpt-4-local", ["gpt-4", "local"])
    <task comparisons:0-1>
    >>> parse_task("cheapest:control:gpt-4-0.02", ["gpt-4", "local"])
    <task cheapest:control:0-0.02>
    >>> parse_task("above:0.3", lower_is_better=True)
    <task above:0.3 (lower is better)>
    >>> parse_task("best-arm~0.05").statements_at_risk(4)
    3
    """
    if isinstance(text, str) and text.rstrip().endswith(SUFFIX):
        text, lower_is_better = text.rstrip().removesuffix(SUFFIX), True
    found = TOLERANCE.fullmatch(text) if isinstance(text, str) else None
    if found is None and isinstance(text, str) and text.partition("~")[0].strip() in TASKS and "~" in text:
        raise InputError(f"task {brief(text)!r}: a tolerance is a number without sign, for example best-arm~0.05")
    task = read_tolerant(text, found[1], found[2], names, kept) if found else read_plain(text, names, kept)
    return LowerIsBetter(task) if lower_is_better else task


def read_plain(text: str, names: Sequence[str], kept: bool) -> Task:
    """A task without a tolerance."""
    kind, argument = TASKS.split("task", text, "'ranking' or 'top-arms:2'")
    return kind.read(argument, names, kept)


def read_tolerant(text: str, before: str, number: str, names: Sequence[str], kept: bool) -> Task:
    """A task whose text ends as one with a tolerance does, which may also be the end of an arm's name."""
    whole: Task | None = None
    with suppress(InputError):  # what is wrong is said of the other reading
        whole = read_plain(text, names, kept)
    try:
        task = read_plain(before, names, kept)
    except InputError:
        if whole is not None:
            return whole
        if TOLERANCE.fullmatch(before):
            raise InputError(f"task {brief(text)!r}: a tolerance (~) ends the whole task, once") from None
        raise
    if whole is not None:
        raise InputError(
            f"task {brief(text)!r} can be read as {str(whole)!r}, by the name of an arm, and as '{task}~{number}'; "
            "write names in quotes"
        )
    return tolerate(task, read_decimal(number))


def read_custom(
    text: str, answers: Sequence[Sequence[Item]], names: Sequence[str] = (), *, lower_is_better: bool = False
) -> Task:
    """A task of one's own, ``custom`` or ``custom~0.05``, given by its answers.

    >>> read_custom("custom~0.5", [[(0, 1)], [(1, 0)]])
    <task custom~0.5>
    """
    found = TOLERANCE.fullmatch(text) if isinstance(text, str) else None
    if (found[1].strip() if found else text) != Custom.name:
        raise InputError(f"give answers (a custom task) or task = {text!r}, not both")
    task = Custom(answers, names, lower_is_better=lower_is_better)
    return tolerate(task, read_decimal(found[2])) if found else task


def pose_task(model: BanditModel, task: Task | str) -> Task:
    """A task, or one in the grammar, for a model: told the costs if it needs them, and checked against the model's
    number of arms, family, and whether the lower mean is better.

    >>> model = BanditModel("bernoulli", [0.7, 0.8], costs=[1, 2], arms=["small", "large"])
    >>> pose_task(model, "cheapest:control:large-0.15").answer(model.exact_means)
    0
    """
    check_model(model)
    if isinstance(task, str):
        task = parse_task(task, model.arms, lower_is_better=model.lower_is_better)
    task.check(len(model.means))
    task.check_family(model.family)
    check_direction(model, task)
    if not task.needs_costs:
        return task
    if model.cost_rule is not None:
        raise InputError(f"task {str(task)!r} needs known costs, and gaps depend on the means; give one cost per arm")
    return task.for_costs(model.exact_costs)


def check_direction(model: BanditModel, task: Task) -> None:
    """Raise `InputError` where only one of the two says that the lower mean is better; answers of one's own say
    themselves which mean is above which."""
    if task.lower_is_better != model.lower_is_better and custom_part(task) is None:
        said = "says" if model.lower_is_better else "does not say"
        raise InputError(
            f"the model {said} that lower means are better, but the task is {task}; make both say the same"
        )


__all__ = [
    "TASKS",
    "Above",
    "BestArm",
    "Cheapest",
    "Comparisons",
    "Control",
    "Custom",
    "Groups",
    "LowerIsBetter",
    "Pair",
    "Ranking",
    "Statement",
    "Task",
    "Tolerant",
    "TopArms",
    "custom_part",
    "parse_task",
    "pose_task",
    "read_custom",
    "tolerate",
]
