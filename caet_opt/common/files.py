"""Files: written whole or not at all, and never in place of what must not be lost; TOML and JSON read with errors to
act on; and names that tell files apart and do no harm where they are printed."""

import json
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import Any, NoReturn

from caet_opt.errors import InputError

#: How the name of a file ends that is not finished.
UNFINISHED = ".part"

#: The first bytes of every SQLite file, and how the names of those end that belong to it.
DATABASE, BESIDE = b"SQLite format 3\x00", ("-wal", "-shm", "-journal")

#: What Windows and spreadsheets put before a text: the mark of UTF-8.
MARK = "\ufeff"

#: Bytes of a text file at most, and of a TOML file, which takes a second per megabyte or two: a larger one is none of
#: ours, or never ends, as /dev/zero.
MOST_TEXT, MOST_TOML = 256_000_000, 32_000_000

#: Device and inode of each file that was read since `noting_inputs` began; None where nobody wants to know.
_inputs: ContextVar[set[tuple[int, int]] | None] = ContextVar("inputs", default=None)


@contextmanager
def noting_inputs() -> Iterator[None]:
    """Note what is read here: `write_whole` does not write over it."""
    before = _inputs.set(set())
    try:
        yield
    finally:
        _inputs.reset(before)


def note_input(path: str | Path) -> None:
    """Note that a file is read, where that is wanted; one that is not there will be missed by who reads it."""
    noted = _inputs.get()
    if noted is not None and os.path.exists(path):
        status = os.stat(path)
        noted.add((status.st_dev, status.st_ino))


def check_replaceable(path: str | Path) -> None:
    """Raise `InputError` for a file that must not be written over: one that was noted as read, by whatever link or
    path it is reached, or a database, as live experiments are, which is never written as a whole."""
    place = os.path.realpath(path)
    if not os.path.isfile(place):
        return
    status = os.stat(place)
    if (status.st_dev, status.st_ino) in (_inputs.get() or ()):
        raise InputError(f"{path}: is an input of this command and would be overwritten; name another file")
    for suffix in ("", *BESIDE):
        if place.endswith(suffix) and is_database(place.removesuffix(suffix)):
            what = f"{'belongs to' if suffix else 'is'} a database, as live experiments are"
            raise InputError(f"{path}: {what}, and would be lost; name another file")


def is_database(path: str | Path) -> bool:
    """Whether a file is an SQLite database."""
    try:
        with open(path, "rb") as source:
            return source.read(len(DATABASE)) == DATABASE
    except OSError:  # one that cannot be read may not be ours, and is the affair of who writes it
        return False


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file in one step: whoever looks, and whenever this process or the machine stops, finds the old file or
    the new one. `OSError` leaves the old one, and nothing beside it; so does `InputError`, for an old one that must
    not be written over (`check_replaceable`).

    A link stays one, and its target is written; the permissions of an old file stay as they are. What is no file but
    takes bytes, as a pipe or a device does, is written to as it is.
    """
    check_replaceable(path)
    given, place = Path(path), Path(os.path.realpath(path))
    if given.exists() and not given.is_file() and not given.is_dir():  # of /dev/fd/N, realpath names no file
        with open(given, "wb") as sink:
            sink.write(encode(path, content) if isinstance(content, str) else content)
        return
    part = place.with_name(f".caet-opt-{token_hex(8)}{UNFINISHED}")
    data = encode(path, content) if isinstance(content, str) else content
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


def encode(path: str | Path, text: str) -> bytes:
    """A text as UTF-8; `InputError` for one that is none, as the bytes of another encoding on a command line are."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{path}: cannot hold {error.object[error.start]!r}, which is not text") from None


def read_text(path: str | Path, most: int = MOST_TEXT) -> str:
    """The text of a file, without the mark of UTF-8; a missing, unreadable or endless one is an `InputError`."""
    if "\0" in str(path):
        raise InputError(f"{path}: no file has such a name")
    note_input(path)
    try:
        with open(path, "rb") as source:
            content = source.read(most + 1)
        if len(content) > most:
            raise InputError(f"{path}: has more than {most // 10**6} MB; name a smaller file")
        return content.decode("utf-8").removeprefix(MARK)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error


def parse_json(content: str | bytes) -> Any:
    """What a JSON text holds; `ValueError` also for NaN and infinities, and for brackets nested without end."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        return json.loads(content, parse_constant=refuse)
    except RecursionError as error:
        raise ValueError(str(error)) from error


def read_toml(path: str | Path, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Read a TOML file; a missing, unreadable or broken one is an `InputError` with the line.

    ``parse_float`` says what becomes of a number with a point or an exponent.
    """
    text = read_text(path, MOST_TOML)
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
