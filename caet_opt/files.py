"""Files that are whole or not there: written beside their place and moved into it."""

import os
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE

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
