"""The manifest of a folder of results: JSON that is checked before anything reads it, sealed against damage."""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from caet_opt.bandits.tasks.statements import Statement
from caet_opt.common.checks import is_number, is_whole
from caet_opt.common.files import parse_json
from caet_opt.errors import InputError
from caet_opt.exploring.earlier import defaults_of, say_unknown
from caet_opt.exploring.settings import RECORDED
from caet_opt.exploring.state import LARGEST_COUNT
from caet_opt.simulating.studies.cells import identify

#: The formats that are read, of which the last is written.
FORMATS = (4,)
FORMAT = FORMATS[-1]

#: What stands in place of the seal while the seal, a hash of all bytes, is computed.
SEAL, UNSEALED = "sha256", "0" * 64

Record = dict[str, Any]


class Kind(NamedTuple):
    """What a value may be, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]

    def or_nothing(self) -> "Kind":
        """This kind, or null."""
        return Kind(f"{self.words} or null", lambda value: value is None or self.holds(value))


def list_of(words: str, holds: Callable[[Any], bool]) -> Kind:
    """A list whose entries all pass a test."""
    return Kind(words, lambda value: isinstance(value, list) and all(map(holds, value)))


TEXT = Kind("a text", lambda value: isinstance(value, str))
TEXTS = list_of("a list of texts", TEXT.holds)
NUMBER, NUMBERS = Kind("a finite number", is_number), list_of("a list of finite numbers", is_number)
AMOUNT = Kind("a finite number, zero or more", lambda value: is_number(value) and value >= 0)
AMOUNTS = list_of("a list of finite numbers, zero or more", AMOUNT.holds)
COUNT = Kind("a whole number, zero or more", lambda value: is_whole(value, 0, LARGEST_COUNT))  # one that a double holds
SEED = Kind(COUNT.words, is_whole)
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
TABLE = Kind("a table", lambda value: isinstance(value, dict))
VERSIONS = Kind("a table of texts", lambda value: isinstance(value, dict) and all(map(TEXT.holds, value.values())))
ROWS = list_of("a list of tables", TABLE.holds)
PAIRS = list_of(
    "a list of pairs of arms", lambda pair: isinstance(pair, list) and len(pair) == 2 and all(map(COUNT.holds, pair))
)

MANIFEST_KINDS = {"study": TABLE, "seed": SEED, "versions": VERSIONS, "platform": TEXT, "cells": ROWS, "failures": ROWS}

FAILURE_KINDS = {"cell": TEXT, "seed": SEED, "first": COUNT, "runs": COUNT, "error": TEXT}

SETTING_KINDS = {
    "number": AMOUNT,
    "count": COUNT,
    "word": TEXT,
    "number or word": Kind("a number or a text", lambda value: TEXT.holds(value) or AMOUNT.holds(value)),
}

#: What the manifest holds of a setting: null only where something else decides.
RECORDED_KINDS = {
    setting.name: SETTING_KINDS[setting.kind].or_nothing() if setting.default is None else SETTING_KINDS[setting.kind]
    for setting in RECORDED
}

#: What every cell has besides its settings; one of an earlier version lacks those that there were not.
CELL_KINDS = {
    **dict.fromkeys(("id", "model", "task", "family"), TEXT),
    "title": TEXT.or_nothing(),
    "formula": TEXT,
    "arms": TEXTS,
    "means": NUMBERS,
    **dict.fromkeys(("arm_costs", "cost_proportions", "sampling_proportions"), AMOUNTS),
    "model_table": TABLE,
    **dict.fromkeys(("delta", "log_inv_delta"), AMOUNT),
    "runs": COUNT,
    "seed": SEED,
    "guaranteed": FLAG,
    **dict.fromkeys(("characteristic_time", "lower", "upper", "gap"), AMOUNT),
    **dict.fromkeys(("lower_bound", "upper_bound", "predicted_cost"), AMOUNT.or_nothing()),
    "binding_statements": TEXTS,
}

#: Keys of a cell with an entry for every arm.
BY_ARM = ("means", "arm_costs", "cost_proportions", "sampling_proportions")


def seal(manifest: Mapping[str, Any]) -> bytes:
    """The file of a manifest."""
    content = json.dumps({SEAL: UNSEALED, **manifest}, indent=1, allow_nan=False).encode()
    return content.replace(UNSEALED.encode(), sha256(content).hexdigest().encode(), 1)


def unseal(content: bytes) -> Record:
    """The manifest that a file holds, or `InputError`."""
    try:
        found = parse_json(content)
    except ValueError as error:
        raise InputError(f"damaged ({error}); move it away, and the sweep writes it anew") from error
    if not isinstance(found, dict) or found.get("format") not in FORMATS:
        newer = isinstance(found, dict) and COUNT.holds(found.get("format")) and found["format"] > FORMAT
        way = "made by a newer caet-opt: update caet-opt" if newer else "name another folder"
        raise InputError(f"not a manifest of format {FORMAT}; {way}")
    seal = str(found.pop(SEAL, ""))
    if sha256(content.replace(seal.encode(), UNSEALED.encode(), 1)).hexdigest() != seal:
        raise InputError("damaged (not what was written); move it away, and the sweep writes it anew")
    check_manifest(found)
    return found


def check_manifest(manifest: Any) -> None:
    """Raise `InputError` unless a manifest has every key, each of its kind, and its cells are what their hashes say."""
    check_keys(manifest, MANIFEST_KINDS, "the manifest")
    check_keys(manifest["study"], {"name": TEXT}, "its study")
    if not isinstance(manifest["study"].get("title", ""), str):
        raise InputError("'title' of its study must be a text")
    for number, failure in enumerate(manifest["failures"]):
        check_keys(failure, FAILURE_KINDS, f"failure {number}")
    for number, cell in enumerate(manifest["cells"]):
        name_pairs(cell, f"cell {number}")
        check_keys(cell, CELL_KINDS, f"cell {number}")
        check_keys(cell, {name: kind for name, kind in RECORDED_KINDS.items() if name in cell}, f"cell {number}")
        check_arms(cell, f"cell {number}")
        if cell["id"] not in (identify(cell), identify(cell, earlier=True)):
            unknown = [name for name in cell if name not in CELL_KINDS and name not in RECORDED_KINDS]
            if unknown:  # settings that this version has not
                told = say_unknown("setting", unknown, manifest["versions"].get("caet_opt", "?"))
                raise InputError(f"cell {number}: {told}")
            raise InputError(f"cell {number} is not the one that its id, {cell['id']!r}, stands for")
    if len({cell["id"] for cell in manifest["cells"]}) < len(manifest["cells"]):
        raise InputError("a cell is listed twice")


def complete(manifest: Record) -> Record:
    """A manifest whose cells have every setting: one that a cell lacks was not known to the version that wrote it."""
    first = defaults_of("")
    usual = {name: first[name] for name in RECORDED_KINDS}
    return manifest | {"cells": [usual | cell for cell in manifest["cells"]]}


def check_keys(record: Mapping[str, Any], kinds: Mapping[str, Kind], what: str) -> None:
    """Raise `InputError` unless a table has the keys, each of its kind."""
    for key, kind in kinds.items():
        if key not in record:
            raise InputError(f"{what} lacks {key!r}")
        if not kind.holds(record[key]):
            raise InputError(f"{key!r} of {what} must be {kind.words}")


def name_pairs(cell: Record, what: str) -> None:
    """Put texts in place of the pairs of arms that versions before 0.3 wrote; `InputError` where they are none."""
    if "binding_pairs" not in cell:
        return
    check_keys(cell, {"binding_pairs": PAIRS, "arms": TEXTS}, what)
    pairs, arms = cell.pop("binding_pairs"), cell["arms"]
    if any(arm >= len(arms) for pair in pairs for arm in pair):
        raise InputError(f"'binding_pairs' of {what} must be of its {len(arms)} arms")
    cell["binding_statements"] = [Statement(a, b).write(tuple(arms)) for a, b in pairs]


def check_arms(cell: Mapping[str, Any], what: str) -> None:
    """Raise `InputError` unless every list has an entry per arm."""
    arms = len(cell["arms"])
    for key in BY_ARM:
        if len(cell[key]) != arms:
            raise InputError(f"{key!r} of {what} must have an entry for each of its {arms} arms")
