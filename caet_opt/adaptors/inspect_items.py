"""Which question a sample is: by what it asks, as the numbers that inspect gives change when samples are shuffled."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai.model import ChatMessageBase
from pydantic import BaseModel

from caet_opt.errors import InputError

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample


def name_item(sample: "Sample", item: "Callable[[Sample], Any] | None" = None) -> str:
    """A hash of what a sample asks, whatever its id: input, target, metadata, files, set-up script and sandbox; or of
    what ``item`` says of it.

    Choices count in any order, and then the target does not, which is the letter of one of them: so choices that are
    shuffled anew are the same question. Local files count by their content, wherever they are.
    """
    return sha256(json.dumps(list_asked(sample) if item is None else ask_item(sample, item)).encode()).hexdigest()


def list_asked(sample: "Sample") -> list[Any]:
    """What a sample asks, as JSON has it."""
    choices = None if sample.choices is None else sorted(sample.choices)
    asked = [sample.input, choices, sample.target if choices is None else None, sample.metadata or {}]
    given = {name: read_text_or_file(value) for name, value in (sample.files or {}).items()}
    sandbox = sample.sandbox and [sample.sandbox.type, read_text_or_file(sample.sandbox.config)]
    return [plain(one) for one in (*asked, given, read_text_or_file(sample.setup or ""), sandbox)]


def ask_item(sample: "Sample", item: "Callable[[Sample], Any]") -> list[Any]:
    """What the user's function says of a sample, as JSON has it; `InputError` where it fails or says nothing."""
    try:
        found = item(sample)
    except Exception as error:
        raise InputError(f"item=... fails for sample {sample.id}: {type(error).__name__}: {error}") from error
    if found is None:
        raise InputError(
            f"item=... returns None for sample {sample.id}; return what tells questions apart, such as sample.id"
        )
    return ["item", plain(found)]


def plain(value: Any) -> Any:
    """A value as JSON has it, which is the same in every process: without the ids that inspect draws for messages, and
    with the content of images and other media that are local files."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(plain(one)) for one in value)
    if isinstance(value, BaseModel):
        return plain(list_parts(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if hasattr(value, "tolist") and not isinstance(value, type):  # repr leaves out the middle of a large array
        listed = value.tolist()
        return repr(value) if isinstance(listed, type(value)) else plain(listed)
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text  # an address is another one in each process


def list_parts(value: BaseModel) -> dict[str, Any]:
    """The fields of a model: of a message without its id; the medium of a content, ``image`` of an image, as read."""
    parts = {name: getattr(value, name) for name in type(value).model_fields} | (value.model_extra or {})
    if isinstance(value, ChatMessageBase):
        del parts["id"]
    medium = parts.get("type")
    if medium in ("image", "audio", "video", "document") and medium in parts:
        parts[medium] = read_text_or_file(parts[medium])
    return parts


def read_text_or_file(given: Any) -> Any:
    """Hashes of the local file, or of all files in the folder, that a text is the path of; anything else itself."""
    if not isinstance(given, str):
        return given
    path = Path(os.path.abspath(given.removeprefix("file://")))
    if os.path.isfile(path):
        return ["file", read_hash(path)]
    if not given or not os.path.isdir(path):
        return given
    return ["folder", {one.relative_to(path).as_posix(): read_hash(one) for one in path.rglob("*") if one.is_file()}]


def read_hash(path: Path) -> str:
    """The hash of a file; it is read once, as many samples, and every arm, may have the same one."""
    found = path.stat()
    return hash_file(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4096)
def hash_file(path: Path, changed: int, size: int) -> str:
    """The hash of a file that was changed then, and has this size."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
