"""Files: written whole or not at all, TOML and JSON read with errors to act on, and names that tell files apart
and do no harm where they are printed."""

import json
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import Any, NoReturn

from caet_opt.errors import InputError

#: How the name of a file ends that is not finished.
UNFINISHED = ".part"


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file in one step: whoever looks, and whenever this process or the machine stops, finds the old file or
    the new one. `OSError` leaves the old one, and nothing beside it.

    A link stays one, and its target is written; the permissions of an old file stay as they are.
    """
    place = Path(os.path.realpath(path))
    part = place.with_name(f".caet-opt-{token_hex(8)}{UNFINISHED}")
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as sink:
            sink.write(data)
            sink.flush()
            os.fsync(sink.fileno())
        if place.exists():
            part.chmod(S_IMODE(place.stat().st_mode))
        os.replace(part, place)
    finally:
        part.unlink(missing_ok=True)


def read_text(path: str | Path) -> str:
    """The text of a file; a missing or unreadable one is an `InputError`."""
    try:
        return Path(path).read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error


def parse_json(content: str | bytes) -> Any:
    """What a JSON text holds; `ValueError` also for NaN and infinities, and for brackets nested without end."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no number of JSON")

    try:
        return json.loads(content, parse_constant=refuse)
    except RecursionError as error:
        raise ValueError(str(error)) from error


def read_toml(path: str | Path, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Read a TOML file; a missing, unreadable or broken one is an `InputError` with the line.

    ``parse_float`` says what becomes of a number with a point or an exponent.
    """
    text = read_text(path)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except (ValueError, RecursionError) as error:  # a number of 5000 digits, brackets nested without end
        raise InputError(f"{path}: not valid TOML: {error}") from error


def escape_controls(text: str) -> str:
    """Text in one line, with control characters written out."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in " ".join(text.splitlines())
    )


def shortest_names(whole: Sequence[str], short: Sequence[str]) -> list[str]:
    """The short name of each file where that tells it from the others, or else its whole name.

    >>> shortest_names(["a/x.toml", "b/x.toml", "b/y.toml"], ["x", "x", "y"])
    ['a/x.toml', 'b/x.toml', 'y']
    """
    seen = Counter(short)
    return [name if seen[name] == 1 else full for name, full in zip(short, whole, strict=True)]
