"""What is refused before a task spends money: what could not end, scores and prices that could not count."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inspect_ai.model import get_model_info
from inspect_ai.util import display_type

from caet_opt.adaptors.inspect_scores import choose_scorer, no_price
from caet_opt.common.numbers import write_count
from caet_opt.errors import InputError

if TYPE_CHECKING:
    from inspect_ai.log import EvalScorer, EvalSpec


def check_run(task: "EvalSpec", arms: int, tasks: int, is_first: bool) -> None:
    """`InputError` where the run of a task could not end, with what would be right. What inspect tries again in an
    eval set are only tasks that failed, so only its first run must have all, and tasks may be left to begin later."""
    in_set = task.eval_set_id is not None
    if tasks < arms and (is_first or not in_set):
        raise InputError(
            f"this run has {write_count(tasks, 'task')}, but the experiment has {arms} arms; run all in one "
            f"{'eval_set' if in_set else 'eval'}"
        )
    needed = min(arms, tasks) if in_set else tasks
    if (task.config.max_tasks or 1) < needed:
        shown = "; display='conversation' runs one at a time" if display_type() == "conversation" else ""
        raise InputError(f"samples wait for one another: run all tasks at once, eval(..., max_tasks={needed}){shown}")
    if task.config.log_samples is False:
        raise InputError("without a log of samples, inspect does not ask which ones to run; leave log_samples as it is")


def check_scorer(task: "EvalSpec", scorer: str | None, is_read: bool) -> str:
    """The scorer whose score is the reward; `InputError` where a task has none, several or not the one that is named;
    or where its scores are to be numbers, which are read as they are, and its metrics say that they are several."""
    known = dict(zip(name_scorers(task.scorers or ()), task.scorers or (), strict=True))
    name = choose_scorer(known, scorer)
    if name is None:
        raise InputError(f"task {task.task} has no scorer, and scores are the rewards; give it one")
    metrics = known[name].metrics or ()
    several = [one for one in ([metrics] if isinstance(metrics, dict) else metrics) if isinstance(one, dict)]
    if several and is_read:
        raise InputError(
            f"scorer {name} gives several numbers, {', '.join(several[0])}: say what they are worth with "
            "Evaluation(..., reward=...)"
        )
    return name


def name_scorers(scorers: "Sequence[EvalScorer]") -> list[str]:
    """Names of scorers as inspect has them in its scores: without their package, and numbered where they are alike."""
    names = list[str]()
    for one in scorers:
        base = one.name.rpartition("/")[2]
        number = sum(name.removeprefix(base).isdecimal() or name == base for name in names if name.startswith(base))
        names.append(f"{base}{number or ''}")
    return names


def check_epochs(epochs: int, shared: bool) -> None:
    """`InputError` where answers to one question would count as answers to several."""
    if shared and epochs > 1:
        raise InputError(
            f"{epochs} epochs put each question {epochs} times to its model, and answers to one question are not "
            "independent; leave epochs at 1, or do not share items"
        )


def check_prices(task: "EvalSpec") -> None:
    """`InputError` for a model whose price inspect does not know: the one of the task, those of its roles, and those
    that its scorers are told to ask."""
    for model in name_models(task):
        if (known := get_model_info(model)) is None or known.cost is None:
            raise no_price(model)


def name_models(task: "EvalSpec") -> Iterator[str]:
    """Every model that a task names."""
    yield task.model
    for role in (task.model_roles or {}).values():
        yield from (one.model for one in (role if isinstance(role, list) else [role]))
    for one in task.scorers or ():
        yield from find_models(one.options)


def find_models(told: Any, is_model: bool = False) -> Iterator[str]:
    """The models in what a scorer is told: in ``model``, itself or several, and in scorers that it is made of."""
    if isinstance(told, str) and is_model:
        yield told
    elif isinstance(told, Mapping):
        for name, value in told.items():
            yield from find_models(value, name == "model")
    elif isinstance(told, list):
        for value in told:
            yield from find_models(value, is_model)
