"""A whole experiment as JSON, and back: what is asked, the settings, what was observed, where the next solve starts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.families import Family, parse_family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.tasks import Pair, Task, custom_part, parse_task, read_custom
from caet_opt.common.checks import check_whole, is_number, is_whole
from caet_opt.common.files import parse_json
from caet_opt.errors import InputError
from caet_opt.exploring.earlier import complete_settings, say_unknown
from caet_opt.exploring.settings import SETTINGS, Parameters
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping.base import PROBES, Threshold
from caet_opt.kernels.boxes import INTERVALS
from caet_opt.solving.profiles import Profile
from caet_opt.version import __version__

#: What begins the format of every saved experiment, and the number of the present one: it changes where a reader of the
#: number before would misunderstand, or where a checkpoint of before is better made anew from its rows.
NAME, NUMBER = "caet-opt experiment", 5
FORMAT = f"{NAME} {NUMBER}"

#: The settings that belong to an experiment, simulated or not.
OWN = tuple(setting for setting in SETTINGS if setting.owner != "simulation")

TARGET_KEYS = ("target", "kept", "solution")
KEYS = (
    *("format", "version", "task", "answers", "family", "arms", "log_inv_delta", "settings", "costs", "seed"),
    *("formula", "threshold_values", "state", *TARGET_KEYS, "followed"),
)

#: Keys that files of the present format may do without: where one answer is right, nobody chooses which to follow.
OPTIONAL = ("followed",)

#: The formats that are read, with the keys that each does without.
FORMATS = {
    f"{NAME} 2": ("threshold_values", "kept"),
    f"{NAME} 3": ("threshold_values",),
    f"{NAME} 4": (),
    FORMAT: (),
}

#: Numbers of what is kept, by name; formats before 4 have them in this order in a list.
NUMBERS = ("solves", "widest_gap", "solved", "decided", "due")
KEPT_KEYS = ("tied", *NUMBERS, "means", "costs", "intervals")

#: What is kept beside these for rewards in a range, whose targets are kept by lines: `caet_opt.kernels.lines`.
LINES = "lines"


class Kept(NamedTuple):
    """How long a target is kept: whether it is one for ties, `NUMBERS`, the means and costs that it was made for, and
    the intervals in which it is kept, if there are any, or the lines by which it is."""

    tied: bool
    numbers: tuple[float, ...]
    means: Array
    costs: Array
    intervals: Array | None
    lines: Array | None = None


class Solution(NamedTuple):
    """What a solve that starts from a solution needs of it; its pairs are winner and loser of each column of a view,
    of which one that is no arm is -1, and in files null."""

    value: float
    pairs: tuple[Pair, ...]
    effort: Array
    multipliers: Array


class Followed(NamedTuple):
    """Of several right answers the one that is followed, by winner and loser of each of its statements, -1 for none and
    in files null; the rounds in which it was chosen, and in which others were last looked at."""

    pairs: tuple[Pair, ...]
    chosen: float
    looked: float


class Target(NamedTuple):
    """The target of a state, how long it is kept, and the last solution, each if there is one; and which of several
    right answers is followed."""

    target: Array | None = None
    kept: Kept | None = None
    solution: Solution | None = None
    followed: Followed | None = None


@dataclass(frozen=True)
class Saved:
    """What a file of an experiment holds.

    Attributes
    ----------
    task, family, arms, parameters, costs, seed : what was started
    formula : of the threshold, in words, for people
    threshold_values : `Threshold.samples`, by which thresholds are compared; None in formats that do not have them
    state, aim : where it is, and the target of a policy that solves for one
    version, format : that wrote it
    """

    task: Task
    family: Family
    arms: int
    parameters: Parameters
    costs: tuple[float, ...] | None
    seed: int
    formula: str
    state: State
    aim: Target
    threshold_values: tuple[float, ...] | None = None
    version: str = __version__
    format: str = FORMAT

    @property
    def is_current(self) -> bool:
        """Whether this version wrote it, so that the same observations lead to it to the last bit."""
        return (self.version, self.format) == (__version__, FORMAT)


def write_question(
    task: Task, family: Family, arms: int, parameters: Parameters, costs: Array | None, seed: int, threshold: Threshold
) -> dict[str, Any]:
    """What a file says of the question, which stays as it is; `InputError` for a task or a family that has no text."""
    if parse_family(str(family)) != family:
        raise InputError(f"family {family} cannot be saved: it cannot be made again from its name")
    settings, custom = {setting.name: getattr(parameters, setting.name) for setting in OWN}, custom_part(task)
    if isinstance(parameters.solver, Profile):
        settings["solver"] = asdict(parameters.solver)
    return {
        "format": FORMAT,
        "version": __version__,
        "task": str(parse_task(str(task))) if custom is None else str(task),
        "answers": None if custom is None else custom.answers,
        "family": str(family),
        "arms": arms,
        "log_inv_delta": parameters.log_inv_delta,
        "settings": settings,
        "costs": costs,
        "seed": seed,
        "formula": threshold.describe(),
        "threshold_values": threshold.samples,
    }


def from_text(text: str) -> Saved:
    """The experiment that a text holds, or `InputError`."""
    record = read_record(text)
    family, parameters = parse_family(record["family"]), read_parameters(record)
    arms = check_whole(record["arms"], "arms", 1)
    task = read_task(record)
    task.check(arms)
    target, solution, costs, values = (record[key] for key in ("target", "solution", "costs", "threshold_values"))
    last = None if solution is None else read_solution(solution, arms)
    if (target is None) != (record["kept"] is None):
        raise InputError("a saved experiment has a target exactly if 'kept' says how long it is kept")
    return Saved(
        task=task,
        family=family,
        arms=arms,
        parameters=parameters,
        costs=None if costs is None else tuple(read_numbers(costs, "costs", arms).tolist()),
        seed=record["seed"],
        formula=str(record["formula"]),
        state=State.from_record(record["state"]),
        aim=Target(
            None if target is None else read_numbers(target, "target", arms),
            None if record["kept"] is None else read_kept(record["kept"], last, arms),
            last,
            None if record["followed"] is None else read_followed(record["followed"], arms),
        ),
        threshold_values=None if values is None else tuple(read_numbers(values, "values", len(PROBES), -inf).tolist()),
        version=record["version"],
        format=record["format"],
    )


def read_record(text: str) -> dict[str, Any]:
    """The table that a text holds, with every key: those that its format does without are null."""
    try:
        record = parse_json(text)
    except ValueError as error:
        raise InputError(f"not a saved experiment: {error}") from error
    kind = record.get("format") if isinstance(record, dict) else None
    if not isinstance(kind, str) or kind not in FORMATS:
        name, _, number = str(kind).rpartition(" ")
        if name == NAME and number.isdecimal() and int(number) > NUMBER:
            raise InputError(f"made by a newer caet-opt ({kind}, known here up to {NUMBER}); update caet-opt")
        raise InputError(f"not a saved experiment, whose 'format' is {FORMAT!r}")
    if not isinstance(record.get("version"), str):
        raise InputError("'version' of a saved experiment must be a text, as '0.2.0'")
    if missing := [key for key in KEYS if key not in (*record, *FORMATS[kind], *OPTIONAL)]:
        raise InputError(f"a saved experiment has the keys {', '.join(KEYS)}, but {', '.join(missing)} is missing")
    record = record if kind == FORMAT else read_earlier(record)
    if unknown := [key for key in record if key not in KEYS]:
        raise InputError(say_unknown("key", unknown, record["version"]))
    return {**dict.fromkeys(KEYS), **record}


def read_earlier(record: dict[str, Any]) -> dict[str, Any]:
    """A table of a format before the present one, as this one has it."""
    # "compiled" means nothing any more
    record = {key: part for key, part in record.items() if key != "compiled"}
    if "kept" in FORMATS[record["format"]]:
        record["target"] = None  # how long it is kept is not known: it is solved for anew
    if isinstance(record.get("kept"), dict) and isinstance(record["kept"].get("numbers"), list):
        numbers = read_numbers(record["kept"].pop("numbers"), "'numbers'", len(NUMBERS)).tolist()
        record["kept"] |= dict(zip(NUMBERS, numbers, strict=True))
    if isinstance(record.get("solution"), dict):
        record["solution"] = {key: part for key, part in record["solution"].items() if key not in ("means", "costs")}
    return record


def check_keys(record: Any, keys: tuple[str, ...], what: str) -> None:
    """Raise `InputError` unless a table has exactly these keys."""
    if not isinstance(record, dict) or set(record) != set(keys):
        raise InputError(f"{what} has the keys {', '.join(keys)}")


def read_task(record: Mapping[str, Any]) -> Task:
    """The task in the grammar, or the one with these answers."""
    if record["answers"] is None:
        return parse_task(record["task"])
    if not isinstance(record["answers"], list) or not all(isinstance(answer, list) for answer in record["answers"]):
        raise InputError("answers must be lists of pairs such as [[[0, 1]], [[1, 0]]]")
    return read_custom(record["task"], record["answers"])


def read_parameters(record: Mapping[str, Any]) -> Parameters:
    """The confidence and the settings; one that is missing means what it meant to the version that wrote the file."""
    if not isinstance(record["settings"], dict):
        raise InputError("'settings' of a saved experiment must be a table")
    settings = complete_settings(record["settings"], record["version"], [setting.name for setting in OWN])
    if isinstance(settings["solver"], dict):
        try:
            settings["solver"] = Profile(**settings["solver"])
        except TypeError as error:
            raise InputError(f"solver must be a name or a profile: {error}") from error
    return Parameters(log_inv_delta=record["log_inv_delta"], **settings)


def read_numbers(values: Any, what: str, length: int, least: float = 0.0) -> Array:
    """A list of finite numbers of this length, zero or more unless told otherwise."""
    if not isinstance(values, list) or len(values) != length or not all(map(is_number, values)) or min(values) < least:
        more = ", zero or more" if least == 0 else ""
        raise InputError(f"{what} must be a list of {length} numbers{more}, got {values!r}")
    return np.array(values, dtype=float)


def read_kept(record: Any, solution: Solution | None, arms: int) -> Kept:
    """How long the target is kept."""
    lines = record.get(LINES) if isinstance(record, dict) else None
    check_keys(record, KEPT_KEYS if lines is None else (*KEPT_KEYS, LINES), "'kept' of a saved experiment")
    tied, intervals = record["tied"], record["intervals"]
    if not isinstance(tied, bool) or (solution is None and not tied):
        raise InputError("'tied' of a saved experiment must be true or false, and true without a solution")
    if intervals is not None and (not isinstance(intervals, list) or len(intervals) != len(INTERVALS)):
        raise InputError(f"'intervals' of a saved experiment must be null or {len(INTERVALS)} lists")
    return Kept(
        tied,
        tuple(read_numbers([record[name] for name in NUMBERS], "numbers of 'kept'", len(NUMBERS)).tolist()),
        read_numbers(record["means"], "'means'", arms, -inf),
        read_numbers(record["costs"], "'costs'", arms),
        None if intervals is None else np.array([read_numbers(ends, "'intervals'", arms, -inf) for ends in intervals]),
        None if lines is None else read_lines(lines),
    )


def read_lines(lines: Any) -> Array:
    """Bets and points of the statements, as many of each."""
    if not isinstance(lines, list) or len(lines) != 4 or not all(isinstance(row, list) for row in lines):
        raise InputError("'lines' of a saved experiment must be four lists")
    return np.array([read_numbers(row, "'lines'", len(lines[0])) for row in lines])


def read_solution(record: Any, arms: int) -> Solution:
    """The last solution."""
    check_keys(record, Solution._fields, "'solution' of a saved experiment")
    pairs, value = record["pairs"], record["value"]
    if not isinstance(pairs, list) or not pairs or not all(is_pair(pair, arms) for pair in pairs):
        raise InputError(f"'pairs' of a solution must be a list of pairs of the {arms} arms, got {pairs!r}")
    if not is_number(value):
        raise InputError(f"'value' of a solution must be a number, got {value!r}")
    return Solution(
        float(value),
        tuple((as_arm(pair[0]), as_arm(pair[1])) for pair in pairs),
        read_numbers(record["effort"], "effort", arms),
        read_numbers(record["multipliers"], "multipliers", len(pairs)),
    )


def read_followed(record: Any, arms: int) -> Followed:
    """The answer that is followed."""
    check_keys(record, Followed._fields, "'followed' of a saved experiment")
    pairs = record["pairs"]
    if not isinstance(pairs, list) or not pairs or not all(is_pair(pair, arms) for pair in pairs):
        raise InputError(f"'pairs' of 'followed' must be a list of pairs of the {arms} arms, got {pairs!r}")
    chosen, looked = read_numbers([record["chosen"], record["looked"]], "numbers of 'followed'", 2).tolist()
    return Followed(tuple((as_arm(pair[0]), as_arm(pair[1])) for pair in pairs), chosen, looked)


def is_pair(pair: Any, arms: int) -> bool:
    """Whether a value is a list of two different arms, or of one or none and null."""
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    return all(arm is None or is_whole(arm, 0, arms - 1) for arm in pair) and (pair[0] != pair[1] or pair[0] is None)


def as_arm(arm: int | None) -> int:
    """An arm as compiled code has it."""
    return -1 if arm is None else arm
