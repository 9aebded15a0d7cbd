"""What commands print, draw and write; a file is found to be possible before the work, and written as a whole after
it."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from textwrap import TextWrapper
from typing import Any

from caet_opt.common.exact import brief
from caet_opt.common.files import check_replaceable, escape_controls, write_whole
from caet_opt.errors import InputError
from caet_opt.presenting.tables.formats import csv_text as csv_text
from caet_opt.simulating.studies import check_no_result

#: Characters of a line of the help.
HELP_WIDTH = 90

#: Takes the text of a file.
Write = Callable[[str], None]


def show(as_json: bool, record: Callable[[], Any], text: Callable[[], str]) -> None:
    """Print an answer: the record as one JSON object without NaN or infinity, or the text."""
    if as_json:
        print(json.dumps(record(), allow_nan=False))
    else:
        say(text())


def say(text: str, *, to_stderr: bool = False) -> None:
    """Print lines for people; whatever is in names and files, a terminal gets no other control characters."""
    lines = "\n".join(map(escape_controls, text.split("\n")))
    print(lines, file=sys.stderr if to_stderr else sys.stdout, flush=to_stderr)


def list_entries(entries: Mapping[str, str]) -> str:
    """Names with what is to be said of each, for the help, aligned."""
    width = max(map(len, entries))
    wrapper = TextWrapper(HELP_WIDTH, subsequent_indent=" " * (width + 4), break_on_hyphens=False)
    return "\n".join(wrapper.fill(f"  {name:<{width}}  {text}") for name, text in entries.items())


def add_width(group: argparse._ActionsContainer) -> None:
    """Declare --width, of figures."""
    from caet_opt.presenting.figures.style import WIDTHS  # other commands need not wait for the figures

    def width_name(text: str) -> str:
        if text not in WIDTHS:
            raise argparse.ArgumentTypeError(f"must be {' or '.join(WIDTHS)}, got {brief(text)!r}")
        return text

    widths = ", ".join(f"{name} {inches:g} in" for name, inches in WIDTHS.items())
    help_text = f"width of the figure: {widths} (page, or the width in a matplotlibrc file)"
    group.add_argument("--width", type=width_name, metavar="|".join(WIDTHS), help=help_text)


def output_file(path: str | Path | None, option: str) -> Write:
    """A function that writes the text of the file, after a check that this is possible; without a path it does nothing.

    Until it is called the file stays as it was, and it does when writing fails, or when it is what the command reads,
    a live experiment, or a file of a study's results. ``option`` is what an error names.
    """
    if path is None:
        return lambda text: None
    try:
        check_writable(Path(path), f"{option} {path}")
    except OSError as error:
        raise write_error(path, option, error) from error

    def write(text: str) -> None:
        try:
            deliver(Path(path), text, f"{option} {path}")
        except BrokenPipeError:  # the reader of a pipe has enough
            raise
        except OSError as error:
            raise write_error(path, option, error) from error

    return write


def make_folder(path: str | Path, option: str, told: Path | None = None) -> Path:
    """The folder, made if need be; `InputError`, about what the option was told, when no file can be written in it."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise write_error(told or path, option, error, "folder") from error


def write_error(path: str | Path, option: str, error: OSError, kind: str = "file") -> InputError:
    """The system's reason why a file cannot be written."""
    return InputError(f"{option} {path}: cannot be written ({error.strerror or error}); name a {kind} that can")


def check_writable(path: Path, what: str) -> None:
    """Raise `InputError` for a folder or a file that must not be lost, and `OSError` where no file can be written;
    nothing is left behind."""
    if path.is_dir() or not path.name:
        raise InputError(f"{what}: is a folder; name a file")
    check_kept(path, what)
    if path.exists():
        if not os.access(path, os.W_OK):
            raise PermissionError(None, "Permission denied")
        if not path.is_file():
            return
    with TemporaryFile(dir=Path(os.path.realpath(path)).parent):
        return


def check_kept(path: Path, what: str) -> None:
    """Raise `InputError` for what the command has read, a live experiment, or a file of a study's results."""
    try:
        check_replaceable(path)
        check_no_result(path)
    except InputError as error:
        raise InputError(f"{what}: {str(error).removeprefix(f'{path}: ')}") from error


def deliver(path: Path, text: str, what: str) -> None:
    """Write the text: as `write_whole` does, or after what was printed if the path is that of stdout.

    What is no text, such as the bytes of a file's name in another encoding, is escaped as on a terminal.
    """
    check_kept(path, what)  # it may have been read since the place was found to be possible
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    is_stdout = False
    with suppress(OSError):
        is_stdout = os.path.samestat(path.stat(), os.fstat(1))
    if is_stdout:  # /dev/stdout, say: moving a file there would lose the rest
        sys.stdout.write(text)
    else:
        write_whole(path, text)
