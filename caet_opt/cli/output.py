"""Output files that are whole or not there: written beside their place and moved, and tried before the work."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from caet_opt.errors import InputError


@contextmanager
def output_file(path: str | Path, option: str) -> Iterator[Callable[[str], None]]:
    """A function that writes the text of the file, which is found to be possible before it is called.

    Without a call the file stays as it was. ``option`` is what an error is to name.
    """
    place = Path(path)
    part = place.with_name(f"{place.name}.part") if place.name else place
    if place.exists() and not place.is_file() and not place.is_dir():  # a device or a pipe has no place to move to
        part = place
    try:
        if place.is_dir() or not place.name:
            raise InputError(f"{option} {path}: is a folder; name a file")
        sink = part.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"{option} {path}: cannot be written ({error.strerror}); name a file that can") from error
    written = False

    def write(text: str) -> None:
        nonlocal written
        sink.write(text)
        sink.flush()
        written = True

    try:
        with sink:
            yield write
        if written and part != place:
            os.replace(part, place)
    finally:
        if part != place:
            part.unlink(missing_ok=True)
