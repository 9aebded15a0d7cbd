"""Which question a sample is: by what it asks, as the numbers that inspect gives change when samples are shuffled."""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from caet_opt.errors import InputError

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample


def name_item(sample: "Sample", item: "Callable[[Sample], Any] | None" = None) -> str:
    """A hash of what a sample asks, whatever its id: input, target, metadata, files and set-up script; or of what
    ``item`` says of it.

    Choices count in any order, and then the target does not, which is the letter of one of them: so choices that are
    shuffled anew are the same question.
    """
    if item is None:
        choices = None if sample.choices is None else sorted(sample.choices)
        target = sample.target if choices is None else None
        asked: Any = [sample.input, choices, target, sample.metadata or {}, sample.files or {}, sample.setup or ""]
    else:
        try:
            asked = ["item", item(sample)]
        except Exception as error:
            raise InputError(f"item=... fails for sample {sample.id}: {type(error).__name__}: {error}") from error
    return sha256(json.dumps(plain(asked)).encode()).hexdigest()


def plain(value: Any) -> Any:
    """A value as JSON has it, which is the same in every process: without the ids that inspect draws for messages."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(plain(one)) for one in value)
    if hasattr(value, "model_dump"):
        return plain({name: part for name, part in value.model_dump().items() if name != "id"})
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text  # an address is another one in each process
