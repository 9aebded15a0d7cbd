"""Reading TOML with errors that people can act on."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from caet_opt.errors import InputError


def read_toml(path: str | Path, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Read a TOML file; a missing, unreadable or broken one is an `InputError` with the line.

    ``parse_float`` says what becomes of a number with a point or an exponent.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
        return tomllib.loads(text, parse_float=parse_float)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error
    except (ValueError, RecursionError) as error:  # a number of 5000 digits, brackets nested without end
        raise InputError(f"{path}: not valid TOML: {error}") from error
