"""The study file: models, deltas and parameters in TOML, whose product is the grid of cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from math import log, prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from caet_opt.bandits.modelfile import model_paths
from caet_opt.common.checks import check_whole, is_number, show_value
from caet_opt.common.files import read_toml
from caet_opt.errors import InputError, unknown_name
from caet_opt.exploring.earlier import DROPPED
from caet_opt.exploring.policies import POLICIES
from caet_opt.exploring.settings import RUNS, SEED, SETTINGS

#: Settings whose value may be a list; the grid is the product of these, of the models and of the deltas.
GRID = {setting.name: setting for setting in SETTINGS if setting.grid}

#: Settings that are the same for every cell.
FIXED = {setting.name: setting for setting in SETTINGS if setting.grid is False}

RANGE_KEYS, SPACINGS = ("from", "to", "points", "spacing"), ("linear", "log")

#: In place of policies: those that cover the task of each model.
ALL = "all"

#: The most that a study may have: cells, each of which is solved before the first run, files, and runs of a block.
MOST_CELLS, MOST_BLOCKS, MOST_IN_BLOCK = 100_000, 1_000_000, 1_000_000

#: Keys that are whole numbers, with what they are unless given, the least and the most that they may be.
COUNTS: dict[str, tuple[Any, int, int | None]] = {
    "runs": (RUNS, 1, MOST_BLOCKS * MOST_IN_BLOCK),
    "seed": (SEED, 0, None),
    "block": (None, 1, MOST_IN_BLOCK),
}

KEYS = ("title", "models", "task", "deltas", "log_inv_deltas", *GRID, *FIXED, *COUNTS)

#: Blocks that a cell's runs make unless told otherwise, and the fewest and most runs of such a block.
BLOCKS, SMALLEST_BLOCK, LARGEST_BLOCK = 40, 20, 1000


@dataclass(frozen=True)
class Study:
    """What is to be run.

    Attributes
    ----------
    name, title : of the file, and what it says
    models : model files, in order
    levels : log(1/delta), in order
    grid : the values of each setting of the grid that is given
    task, fixed : the same for every cell, the task and other settings that are given
    runs, seed, block : runs of a cell, their seed, and how many of them make a block
    table : the file as it is written
    """

    name: str
    title: str | None
    models: tuple[Path, ...]
    levels: tuple[float, ...]
    grid: Mapping[str, tuple[Any, ...]]
    task: str | None
    fixed: Mapping[str, Any]
    runs: int
    seed: int
    block: int
    table: Mapping[str, Any]


def read_study(path: str | Path) -> Study:
    """Read a study file; every error is an `InputError` that begins with the path."""
    if not isinstance(path, str | PathLike):
        raise InputError(f"a study is a TOML file; give its path, got {show_value(path)}")
    table = read_toml(path)
    try:
        return from_table(table, Path(path))
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(f"{path}: ") else f"{path}: {message}") from error


def from_table(table: Mapping[str, Any], path: Path) -> Study:
    """A study from the table that TOML holds; models are looked for from the folder of the file."""
    for key in table:
        if key not in KEYS and key not in DROPPED:
            raise InputError(unknown_name("key", key, KEYS))
    for key in ("title", "task"):
        if not isinstance(table.get(key, ""), str):
            raise InputError(f"{key} must be a string, got {table[key]!r}")
    for key in FIXED:
        if key in table:
            FIXED[key].check(table[key])
    for key in COUNTS:
        if key in table:
            check_whole(table[key], key, *COUNTS[key][1:])
    runs, seed, block = (table.get(name, usual) for name, (usual, _, _) in COUNTS.items())
    study = Study(
        name=path.stem,
        title=table.get("title"),
        models=read_paths(table, path.parent),
        levels=read_levels(table),
        grid={key: read_values(key, table[key]) for key in GRID if key in table},
        task=table.get("task"),
        fixed={key: table[key] for key in FIXED if key in table},
        runs=runs,
        seed=seed,
        block=block or min(LARGEST_BLOCK, max(SMALLEST_BLOCK, -(-runs // BLOCKS))),
        table=table,
    )
    check_size(study)
    return study


def check_size(study: Study) -> None:
    """Raise `InputError` when a study has more cells or blocks than can be kept."""
    choices = prod(len(POLICIES if values == (ALL,) else values) for values in study.grid.values())
    cells = len(study.models) * len(study.levels) * choices
    if cells > MOST_CELLS:
        raise InputError(f"the grid has {cells} cells, more than {MOST_CELLS}; split it into several studies")
    blocks = cells * -(-study.runs // study.block)
    if blocks > MOST_BLOCKS:
        raise InputError(
            f"{study.runs} runs of {cells} cells in blocks of {study.block} make {blocks} files, more than "
            f"{MOST_BLOCKS}; use larger blocks or fewer runs"
        )


def read_paths(table: Mapping[str, Any], folder: Path) -> tuple[Path, ...]:
    """The model files: named, in a folder that is named, or matching a pattern; each once."""
    words = table.get("models")
    if words is None:
        raise InputError("the key 'models' is missing; write models = [\"../models/paper-*.toml\"]")
    words = [words] if isinstance(words, str) else words
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise InputError(f"models must be a list of files and patterns, not empty, got {table['models']!r}")
    return tuple(dict.fromkeys(path for word in words for path in find_models(word, folder)))


def find_models(word: str, folder: Path) -> Sequence[Path]:
    """The files that a word of the study means."""
    if not has_magic(word):
        return model_paths(word, folder)
    found = sorted(glob(word, root_dir=folder, recursive=True))
    if not found:
        raise InputError(f"no model matches {word!r} in {folder}")
    return [folder / name for name in found]


def read_levels(table: Mapping[str, Any]) -> tuple[float, ...]:
    """log(1/delta) of every delta, in order."""
    if ("deltas" in table) == ("log_inv_deltas" in table):
        raise InputError(
            "give either deltas = [0.1, 0.01], or log_inv_deltas = [2, 5] or {from = 2, to = 50, points = 5}"
        )
    key = "deltas" if "deltas" in table else "log_inv_deltas"
    if key == "log_inv_deltas" and isinstance(table[key], dict):
        levels = read_range(table[key])
    else:
        levels = [read_level(key, value) for value in read_values(key, table[key])]
    if len(set(levels)) < len(levels):
        raise InputError("a delta is listed twice")
    return tuple(levels)


def read_range(table: Mapping[str, Any]) -> list[float]:
    """Points from one level to another, evenly or, with spacing = "log", by a constant factor."""
    for key in table:
        if key not in RANGE_KEYS:
            raise InputError(unknown_name("key of log_inv_deltas", key, RANGE_KEYS))
    for key in RANGE_KEYS[:3]:
        if key not in table:
            raise InputError(f"log_inv_deltas needs {key!r}: write {{from = 2, to = 50, points = 5}}")
    check_whole(table["points"], "points of log_inv_deltas", 1, MOST_CELLS)
    low, high = (read_level("log_inv_deltas", table[key]) for key in ("from", "to"))
    if low > high or (low == high) != (table["points"] == 1):
        raise InputError(f"log_inv_deltas cannot go from {low:g} to {high:g} in {table['points']} points")
    spacing = table.get("spacing", SPACINGS[0])
    if spacing not in SPACINGS:
        raise InputError(unknown_name("spacing", str(spacing), SPACINGS))
    space = np.geomspace if spacing == "log" else np.linspace
    return [float(level) for level in space(low, high, table["points"])]


def read_values(key: str, value: Any) -> tuple[Any, ...]:
    """The values of a key of the grid: those of a list, or one; none twice."""
    values = tuple(value) if isinstance(value, list) else (value,)
    if not values:
        raise InputError(f"{key} is an empty list, and so is the grid; give one value or more")
    for each in values:
        if key in GRID:
            GRID[key].check(each)
        else:
            read_level(key, each)
    if len(set(values)) < len(values):
        raise InputError(f"{key} lists a value twice")
    if key == "policy" and ALL in values and len(values) > 1:
        raise InputError(f'policy lists "{ALL}" beside others; write policy = "{ALL}", or name those that you want')
    return values


def read_level(key: str, value: Any) -> float:
    """log(1/delta) from a value of the key deltas or log_inv_deltas."""
    if not is_number(value):
        raise InputError(f"{key} must be numbers, got {value!r}")
    if key == "deltas":
        if not 0 < value < 1:
            raise InputError(f"deltas must lie strictly between 0 and 1, got {value:g}")
        return -log(value)
    if value <= 0:
        raise InputError(f"log_inv_deltas must be positive, got {value:g}")
    return float(value)
