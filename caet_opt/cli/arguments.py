"""Numbers on the command line: what argparse is told to make of a word."""

import argparse
import re
from collections.abc import Callable, Iterable
from math import inf
from shutil import get_terminal_size
from typing import Any

from caet_opt.common.exact import brief, read_double
from caet_opt.errors import InputError
from caet_opt.exploring.settings import Setting
from caet_opt.simulating.pool import check_workers

#: More of anything that is counted is a slip of the keyboard: it would neither end nor fit in memory.
MOST = 10**9

#: Characters of a line of the help at most, however wide the terminal is.
MOST_WIDTH = 110

#: Exit status of a command that Ctrl-C has ended.
INTERRUPTED = 130


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help whose lines people can read on a wide terminal, too."""

    def __init__(self, prog: str, **settings: Any) -> None:
        width = min(get_terminal_size().columns - 2, MOST_WIDTH)
        super().__init__(prog, **{"width": width} | settings)


def number(text: str) -> float:
    """A number."""
    try:
        return read_double(unshield(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be a number, got {brief(unshield(text))!r}: {error}") from None


def plain_text(word: str) -> str:
    """A word that files can hold: bytes in another encoding than the terminal's are no text."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"must be text, got {brief(word)!r}") from None
    return word


def unshield(text: str) -> str:
    """A word without the space that `caet_opt.cli.shield_negative_numbers` has put before it."""
    return text[1:] if text.startswith(" -") else text


def whole(text: str, kind: str = "a whole number", least: float = -inf, most: float = MOST) -> int:
    """A whole number, not too large to be meant; whether it may be negative is for the command to say."""
    digits = unshield(text)
    found = None if re.fullmatch("-?[0-9]{1,4000}", digits) is None else int(digits)
    if found is None or found < least:
        raise argparse.ArgumentTypeError(f"must be {kind}, got {brief(unshield(text))!r}")
    if abs(found) > most:
        raise argparse.ArgumentTypeError(f"must be at most {most}, got {brief(unshield(text))}")
    return found


def count(text: str) -> int:
    """A positive whole number."""
    return whole(text, "a positive whole number", least=1)


def seed(text: str) -> int:
    """A seed: a whole number, zero or more, as large as one likes."""
    return whole(text, "a whole number, zero or more", least=0, most=inf)


def worker_count(text: str) -> int:
    """A number of processes that this machine can make use of."""
    found = count(text)
    try:
        check_workers(found)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("workers ")) from None
    return found


def check_delta(delta: float) -> None:
    """Raise `InputError` for a delta outside (0, 1)."""
    if not 0 < delta < 1:
        raise InputError(f"--delta must lie strictly between 0 and 1, got {delta:g}")


def add_confidence(
    group: argparse._ActionsContainer, purpose: str = "largest error probability allowed, as 0.05"
) -> None:
    """Declare --delta and --log-inv-delta."""
    group.add_argument("--delta", type=number, metavar="D", help=purpose)
    group.add_argument(
        "--log-inv-delta", type=number, metavar="L", help="log(1/delta) instead of delta, if delta is very small"
    )


def read_confidence(arguments: argparse.Namespace) -> dict[str, float | None]:
    """The one of the two that is given, and None for the other."""
    if (arguments.delta is None) == (arguments.log_inv_delta is None):
        raise InputError("give either --delta, as 0.05, or --log-inv-delta, as 3")
    if arguments.delta is not None:
        check_delta(arguments.delta)
    return {"delta": arguments.delta, "log_inv_delta": arguments.log_inv_delta}


def explain(setting: Setting) -> str:
    """What the help says of a setting of an experiment, with its default where it has one."""
    return setting.help + ("" if setting.default is None else f" ({setting.default})")


def add_settings(parser: argparse.ArgumentParser, group: argparse._ArgumentGroup, settings: Iterable[Setting]) -> None:
    """Declare the flags of settings, in this group or in one for experts after it."""
    experts = parser.add_argument_group("for experts")
    for setting in settings:
        add_setting(experts if setting.expert else group, setting)


def add_setting(group: argparse._ArgumentGroup, setting: Setting) -> None:
    """Declare the flag of a setting; what is not given stays at its default, wherever that is declared."""
    if setting.kind == "switch":
        group.add_argument(setting.flag, action="store_true", default=None, help=setting.help)
        return
    choices = (*setting.choices, *("X" for _ in setting.choices[:1] if "number" in setting.kind))
    letter = {"number": "X", "count": "N"}.get(setting.kind, setting.name[0].upper())
    metavar = setting.form or "|".join(choices) or letter
    group.add_argument(setting.flag, type=READERS[setting.kind], metavar=metavar, help=explain(setting))


def number_or_word(text: str) -> float | str:
    """A number, or any other word."""
    try:
        return read_double(unshield(text))
    except ValueError:
        return text


#: What becomes of a word on the command line, by the kind of its setting.
READERS: dict[str, Callable[[str], Any]] = {
    "number": number,
    "count": whole,
    "word": str,
    "number or word": number_or_word,
}
