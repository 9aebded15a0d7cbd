"""Bandit models as TOML files: what to solve, where it comes from, and the answer where one is known."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

from caet_opt.bandits.arm_names import refuse_controls
from caet_opt.bandits.families import parse_family
from caet_opt.bandits.limits import Limit, read_limits
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Custom, LowerIsBetter, Task, custom_part, parse_task, pose_task, read_custom
from caet_opt.common.checks import show_value
from caet_opt.common.exact import Number, decimal_text, exact, read_toml_number
from caet_opt.common.files import read_toml, write_whole
from caet_opt.common.shipped import find_shipped, shipped_names
from caet_opt.errors import InputError, unknown_name

#: Required keys, each with what one would write.
REQUIRED = {
    "family": 'family = "gaussian"',
    "means": "means = [3, 4, 2]",
    "task": 'task = "ranking" in the file, answers = [[[0, 1]], [[1, 0]]] for a custom task, or give --task, which '
    "solve, plan, simulate and others have",
}

#: Digits of probabilities that have no finite decimal.
SHARES = Context(prec=40)

#: Every key of a model file, in the order in which they are written.
KEYS = (
    *("title", "source", "family", "means", "levels", "probabilities", "samples", "costs", "arms"),
    *("lower_is_better", "task", "answers", "limits"),
    *("characteristic_time", "sampling_proportions"),
)


#: What stands in place of means for rewards in a range.
IN_RANGE = ("levels", "probabilities", "samples")


@dataclass(frozen=True)
class ModelFile:
    """A model and its task, with title, source and expected answer.

    Attributes
    ----------
    title, source : what it is and where it comes from
    limits : limits on shares of the money and of the pulls; the expected answer is the one with these limits
    characteristic_time, sampling_proportions : the expected answer, where one is known

    Examples
    --------
    >>> entry = ModelFile(BanditModel("poisson", [3, 1], costs=[1, 2]), BestArm(), title="Two counters")
    >>> entry.task, entry.title
    (<task best-arm>, 'Two counters')
    """

    model: BanditModel
    task: Task
    title: str | None = None
    source: str | None = None
    characteristic_time: float | None = None
    sampling_proportions: tuple[float, ...] | None = None
    limits: tuple[Limit, ...] = ()

    def __post_init__(self) -> None:
        arms = len(self.model.means)
        object.__setattr__(self, "task", pose_task(self.model, self.task))
        object.__setattr__(self, "limits", read_limits(self.limits, self.model.arms))
        if self.characteristic_time is not None:
            (time,) = read_amounts([self.characteristic_time], "characteristic_time")
            object.__setattr__(self, "characteristic_time", time)
        if self.sampling_proportions is not None:
            proportions = read_amounts(self.sampling_proportions, "sampling_proportions")
            if len(proportions) != arms:
                raise InputError(f"{len(proportions)} sampling_proportions for {arms} means; give one per arm")
            object.__setattr__(self, "sampling_proportions", proportions)


def read_model(path: str | Path, task: str | None = None) -> ModelFile:
    """Read a model file, or a model of the catalogue by name, with its decimals as typed; every error is an
    `InputError` that begins with the path. A task beside it is for a file without one, and leaves any other as it is.

    >>> entry = read_model("models/paper-instance-1.toml")
    >>> entry.model.means, entry.task, entry.characteristic_time
    ((3.0, 4.0, 2.0), <task ranking>, 11.656854249492381)
    >>> read_model("paper-instance-1") == entry
    True
    """
    file = find_model_file(path)
    table = read_toml(file, read_toml_number)
    try:
        return from_table(table, file.parent, task)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def write_model(path: str | Path, modelfile: ModelFile) -> None:
    """Write a model file; `read_model` reads it back as an equal one, but for probabilities without a finite decimal,
    such as those of 60 samples, of which it has 40 digits.

    >>> entry = ModelFile(BanditModel("poisson", [3, 1], costs=[1, 2]), BestArm(), title="Two counters")
    >>> write_model("counters.toml", entry)
    >>> read_model("counters.toml") == entry
    True
    """
    import tomli_w

    try:
        write_whole(path, tomli_w.dumps(to_table(modelfile)))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


def find_model_file(word: str | Path, folder: Path = Path()) -> Path:
    """The path that a word means, seen from a folder, or the file of a model of the catalogue; `InputError` where it is
    neither, and does not end as files do."""
    path = find_shipped(word, "models", folder)
    if path.suffix == ".toml" or path.exists() or len(Path(word).parts) > 1:
        return path
    near = get_close_matches(str(word), shipped_names("models"), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "caet-opt models lists the catalogue"
    raise InputError(f"{word}: no such file, and no such model in the catalogue; {hint}")


def model_paths(word: str | Path, folder: Path = Path()) -> list[Path]:
    """A file itself, or that of a model of the catalogue, or the model files of a folder."""
    path = find_model_file(word, folder)
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.toml"))
    if not found:
        raise InputError(f"{path}: no model file (*.toml) in this folder")
    return found


def from_table(table: Mapping[str, Any], folder: Path = Path(), task: str | None = None) -> ModelFile:
    """A model file from the table that TOML holds; a file of samples is seen from its folder. ``task`` is for a table
    without one, whose expected answer is then not known to be of this task."""
    for key in table:
        if key not in KEYS:
            raise InputError(unknown_name("key", key, KEYS))
    lacking = task is not None and "task" not in table and "answers" not in table
    in_range = any(key in table for key in IN_RANGE)
    for key, example in REQUIRED.items():
        replaced = (key == "task" and ("answers" in table or lacking)) or (key == "means" and in_range)
        if key not in table and not replaced:
            raise InputError(f"the key {key!r} is missing; write {example}")
    model = read_bandit(table, folder)
    return ModelFile(
        model=model,
        task=pose_task(model, task) if lacking and task is not None else read_task(table, model),
        title=optional(table, "title", str),
        source=optional(table, "source", str),
        characteristic_time=None if lacking else table.get("characteristic_time"),
        sampling_proportions=None if lacking else table.get("sampling_proportions"),
        limits=read_limits(list_limits(table.get("limits", [])), model.arms, kept=True),
    )


def list_limits(limits: Any) -> Any:
    """The texts of a list, or of tables ``[[limits]]`` with a key ``limit`` each."""
    if not isinstance(limits, list):
        return limits
    for entry in limits:
        if isinstance(entry, dict) and set(entry) != {"limit"}:
            raise InputError(f"a table of limits has one key, as limit = 'pulls:0>=0.1', got {', '.join(entry)}")
    return [entry["limit"] if isinstance(entry, dict) else entry for entry in limits]


def read_bandit(table: Mapping[str, Any], folder: Path) -> BanditModel:
    """The model of a table: by means, by levels and probabilities, or by a file of samples."""
    family, arms, costs = parse_family(table["family"]), optional(table, "arms", list), table.get("costs")
    refuse_controls([name for name in arms or () if isinstance(name, str)])
    lower = table.get("lower_is_better", False)
    costs = costs if costs is None or isinstance(costs, str) else check_numbers(costs, "costs")
    if (file := optional(table, "samples", str)) is not None:
        if given := [key for key in ("means", "levels", "probabilities") if key in table]:
            raise InputError(f"samples and {given[0]} are given; give one of them")
        return BanditModel.from_samples(family, folder / file, costs, arms, lower_is_better=lower)
    means = check_numbers(table["means"], "means") if "means" in table else None
    levels, rows = table.get("levels"), table.get("probabilities")
    levels = None if levels is None else check_numbers(levels, "levels")
    if rows is not None:
        if not isinstance(rows, list):
            raise InputError(f"probabilities must be a list of numbers for each arm, got {show_value(rows)}")
        rows = [check_numbers(row, f"probabilities of arm {arm}") for arm, row in enumerate(rows)]
    return BanditModel(family, means, costs, arms, lower_is_better=lower, levels=levels, probabilities=rows)


def to_table(modelfile: ModelFile) -> dict[str, Any]:
    """The table that `from_table` reads back; a task or family outside the grammar is an `InputError`."""
    model, task = modelfile.model, modelfile.task
    numbered = model.arms == tuple(map(str, range(len(model.means))))
    custom = custom_part(task)
    table = {
        "title": modelfile.title,
        "source": modelfile.source,
        "family": str(parse_family(str(model.family))),
        **distribution_table(model),
        "costs": model.cost_rule if model.given_costs is None else as_typed(model.given_costs, "costs"),
        "arms": None if numbered else list(model.arms),
        "lower_is_better": model.lower_is_better or None,
        "task": str(task) if custom else write_task(task, model),
        "answers": write_answers(custom, model) if custom else None,
        "limits": list(map(str, modelfile.limits)) or None,
        "characteristic_time": modelfile.characteristic_time,
        "sampling_proportions": modelfile.sampling_proportions and list(modelfile.sampling_proportions),
    }
    return {key: value for key, value in table.items() if value is not None}


def distribution_table(model: BanditModel) -> dict[str, Any]:
    """The means of a model, or levels and probabilities, a level being every value of some arm."""
    known = model.distributions
    if known is None:
        return {"means": as_typed(model.given_means, "means")}
    levels = sorted({value for values in known.values for value in values})
    masses = [dict(zip(*arm, strict=True)) for arm in zip(known.values, known.probabilities, strict=True)]
    rows = [[write_share(mass.get(level, Fraction(0))) for level in levels] for mass in masses]
    return {"levels": as_typed(levels, "levels"), "probabilities": rows}


def write_share(mass: Fraction) -> Decimal:
    """A probability as a decimal: one without a finite decimal, as 1/60, to 40 digits; they are read in proportion."""
    text = decimal_text(mass)
    return Decimal(text) if "/" not in text else SHARES.divide(Decimal(mass.numerator), Decimal(mass.denominator))


def write_task(task: Task, model: BanditModel) -> str:
    """The task as `read_task` reads it from the file of a model."""
    inner = task.task if isinstance(task, LowerIsBetter) else task
    text = str(parse_task(str(inner)))
    if pose_task(model, read_task({"task": text}, model)) != task:
        raise InputError(f"task {text!r} would be read as another task, because an arm has that name; rename the arm")
    return text


def write_answers(task: Custom, model: BanditModel) -> list[list[Any]]:
    """The answers as `read_task` reads them from the file of a model: pairs with the better arm first, and texts."""
    turn = -1 if model.lower_is_better else 1
    return [[item if isinstance(item, str) else list(item[::turn]) for item in answer] for answer in task.answers]


def read_task(table: Mapping[str, Any], model: BanditModel) -> Task:
    """The task in the grammar, or a custom one given by its answers."""
    if "answers" not in table:
        return parse_task(table["task"], model.arms, kept=True, lower_is_better=model.lower_is_better)
    answers = table["answers"]
    if not isinstance(answers, list) or not all(isinstance(answer, list) for answer in answers):
        raise InputError(f"answers must be lists of pairs such as [[[0, 1]], [[1, 0]]], got {answers!r}")
    told = table.get("task", Custom.name)
    return read_custom(told, answers, model.arms, lower_is_better=model.lower_is_better)


def optional(table: Mapping[str, Any], key: str, kind: type) -> Any:
    """The value of an optional key, checked for its type."""
    value = table.get(key)
    if value is not None and not isinstance(value, kind):
        expected = "a string" if kind is str else "a list of strings"
        raise InputError(f"{key} must be {expected}, got {value!r}")
    return value


def as_typed(numbers: Sequence[Number], what: str) -> list[int | float | Decimal]:
    """Numbers that TOML writes with every digit; a fraction without a finite decimal is an `InputError`."""
    found: list[int | float | Decimal] = []
    for number in numbers:
        if not isinstance(number, int | float | Decimal):
            text = decimal_text(exact(number))
            if "/" in text:
                raise InputError(f"{what}: {text} has no finite decimal, and a model file holds decimals")
            number = Decimal(text)
        found.append(number)
    return found


def check_numbers(values: Any, what: str) -> list[Number]:
    """Raise `InputError` unless the value is a list of numbers that a double can hold."""
    if not isinstance(values, list | tuple):
        raise InputError(f"{what} must be a list of numbers, got {show_value(values)}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise InputError(f"{what} must be numbers, got {value!r}")
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            raise InputError(f"{what} holds a whole number that is too large")
    return list(values)


def read_amounts(values: Any, what: str) -> tuple[float, ...]:
    """Expected numbers as floats, each of them finite and not negative."""
    amounts = tuple(float(value) for value in check_numbers(values, what))
    for amount in amounts:
        if not isfinite(amount) or amount < 0:
            raise InputError(f"{what} must be finite and not negative, got {amount:g}")
    return amounts
