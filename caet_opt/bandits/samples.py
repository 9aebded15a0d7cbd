"""Samples of rewards, as of a pilot: lists, a data frame, or a CSV file with the columns arm and reward."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from caet_opt.bandits.arm_names import read_arm_names, refuse_controls
from caet_opt.bandits.distributions import read_list, samples_by_arm
from caet_opt.common.checks import show_value
from caet_opt.common.exact import brief, read_decimal
from caet_opt.common.files import read_text
from caet_opt.common.rows import is_exported, list_exported, read_rows
from caet_opt.errors import InputError, list_words

#: The columns that are read; others are left alone.
COLUMNS = ("arm", "reward")

#: What samples may be given as: by place, by name, a data frame, or the path of a CSV file.
Given = Sequence[Sequence[Any]] | Mapping[str, Sequence[Any]] | str | PathLike[str]


class Samples(NamedTuple):
    """Names of the arms, if there are any, the rewards of each, and where each reward was read, if in a file."""

    names: tuple[str, ...] | None
    rewards: list[list[Any]]
    places: list[list[str]] | None = None


def gather_samples(given: Any, names: Iterable[str] | None = None) -> Samples:
    """The samples of arms, in the order of ``names`` where these are given; `InputError` for what is none."""
    told = None if names is None else read_arm_names(names)
    if isinstance(given, str | PathLike):
        return read_sample_file(given, told)
    if set(COLUMNS) <= set(getattr(given, "columns", ())):
        arms, rewards = (list(given[name]) for name in COLUMNS)
        return Samples(*samples_by_arm(list(zip(map(name_key, arms), rewards, strict=True)), told))
    if hasattr(given, "keys"):
        keys = list(given.keys())
        called = list(map(name_key, keys))
        if twice := [name for name in called if called.count(name) > 1]:
            raise InputError(f"two samples are of arm {twice[0]!r}; give each arm one")
        return take_by_name({name: read_sample(given[key], name) for name, key in zip(called, keys, strict=True)}, told)
    if not hasattr(given, "__iter__") or isinstance(given, bytes):
        raise InputError(
            "samples must be a list of rewards for each arm, lists by the names of the arms, a data frame, or the path "
            f"of a CSV file, got {show_value(given)}"
        )
    listed = list(given)
    numbered: Iterable[str | int] = told if told is not None and len(told) == len(listed) else range(len(listed))
    return Samples(told, [read_sample(sample, arm) for arm, sample in zip(numbered, listed, strict=True)])


def name_key(key: Any) -> str:
    """The name of an arm that a table has; `InputError` where there is none, or one that nobody could read."""
    name = str(key)
    if key is None or name in ("", "nan", "NaT", "<NA>"):
        raise InputError(f"a sample has no arm, but {show_value(key)}; name one, or remove it")
    refuse_controls([name])
    return name


def read_sample(sample: Any, arm: str | int) -> list[Any]:
    """The rewards of one arm."""
    return read_list(sample, f"the sample of arm {arm}")


def take_by_name(samples: Mapping[str, list[Any]], names: tuple[str, ...] | None) -> Samples:
    """Samples that have names, in their order or that of ``names``."""
    told = tuple(samples) if names is None else names
    if set(told) != set(samples):
        raise InputError(f"samples are those of {list_words(samples)}, and arms are {list_words(told)}; name the same")
    return Samples(told, [samples[name] for name in told])


def read_sample_file(path: str | PathLike[str], names: Sequence[str] | None = None) -> Samples:
    """Names of the arms, in the order in which they appear or of ``names``, the sample of each, and the file and line
    of each reward; every error is an `InputError` that begins with the path.

    >>> from pathlib import Path
    >>> from caet_opt.bandits.samples import read_sample_file
    >>> _ = Path("pilot.csv").write_text("arm,reward\\nold,0.5\\nnew,0.7\\nold,0.25\\n")
    >>> read_sample_file("pilot.csv")[:2]
    (('old', 'new'), [[Decimal('0.5'), Decimal('0.25')], [Decimal('0.7')]])
    """
    try:
        found, told = samples_by_arm(list_rewards(read_text(Path(path)), str(path)), names)
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(str(path)) else f"{path}: {message}") from error
    rewards, places = ([[one[part] for one in sample] for sample in told] for part in (0, 1))
    return Samples(found, rewards, places)


def list_rewards(text: str, what: str) -> list[tuple[str, tuple[Decimal, str]]]:
    """Arm, reward and place of each row below a header."""
    header, rows = read_rows(text, what)
    for name in COLUMNS:
        if header.count(name) != 1:
            raise InputError(f"the CSV needs a header with the columns arm and reward, each once, got {header}")
    found = []
    for place, told in list_exported(rows) if is_exported(header) else rows:
        arm, reward = (told.get(name) for name in COLUMNS)
        if arm is None:
            raise InputError(f"{place}: no arm is named")
        try:
            refuse_controls([arm])
            found.append((arm, (read_reward(reward), place)))
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
    return found


def read_reward(text: str | None) -> Decimal:
    """The number that a cell has."""
    if text is None:
        raise InputError("the reward is blank; give a number, or remove the row")
    try:
        return read_decimal(text)
    except ValueError as error:
        raise InputError(f"reward must be a number, got {brief(text)!r}: {error}") from None
