"""The command line: one module per command, which is imported only when it is asked for.

A command is a module of this package with ``DESCRIPTION``, ``EXAMPLES``, ``add_arguments(parser)`` and
``run(arguments) -> exit status``. It joins by its entry in `COMMANDS`.
"""

import argparse
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from caet_opt.cli.arguments import INTERRUPTED, HelpFormatter
from caet_opt.common.files import escape_controls, noting_inputs
from caet_opt.errors import CaetError, InputError, SolverError, unknown_name
from caet_opt.version import __version__

#: What each command is for, in the order of the help.
COMMANDS = {
    "solve": "compute the characteristic time T* of one model, certified",
    "check": "check a certificate of proven digits",
    "table": "list T*, proportions and bounds of many models, for the screen, a paper or a program",
    "curve": "draw T*, cost shares omega* and pull shares u* while a mean, cost, margin or level varies",
    "verify": "test closed forms, or your own formula, against every solver and proven digits",
    "thresholds": "compare stopping thresholds on a model: which are proven, and what each would cost",
    "plan": "estimate what an experiment will cost, and what a budget can settle",
    "simulate": "run CAET or other policies on a model many times: cost, samples, errors",
    "sweep": "simulate a grid of models, deltas and settings, here or on a cluster",
    "experiment": "run a live experiment: which arm to pull next, where it stands, when to stop",
    "report": "make one HTML page from a folder of results",
    "compare": "solve models with several solvers, and compare answers and times",
    "models": "list the models that come with caet-opt",
    "reproduce": "draw the paper's Figure 1 and three more figures",
}

STATUS_HELP = """\
exit status: 0 success; 1 no certified answer, solvers disagree, a formula fails, a
certificate is rejected, or the output cannot be written; 2 wrong input or usage; 70 a
defect in caet-opt: please report it (CAET_OPT_DEBUG=1 shows the traceback); 130
interrupted"""

#: What looks like a negative number or a list of them, and is no option.
NEGATIVE_NUMBER = re.compile(r"-(\d|\.\d|inf\b|nan\b)", re.IGNORECASE)

OUTPUT_CLOSED, DEFECT = 141, 70

#: The variable of the environment that has tracebacks shown, and how much is quoted of an unforeseen error.
DEBUG, MESSAGE_LENGTH = "CAET_OPT_DEBUG", 300


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `InputError` where argparse would print its usage and leave; if an option with
    several values may have taken FILE for one of them, it says so."""

    def error(self, message: str) -> NoReturn:
        greedy = any(action.nargs == "+" and action.option_strings for action in self._actions)
        hint = "; put FILE first" if greedy and "required: FILE" in message else ""
        raise InputError(message + hint)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help, and fail where it cannot be printed, which argparse would keep to itself."""
        print(message, end="", file=file or sys.stderr)


class Version(argparse.Action):
    """Print the version and leave; who provides Ipopt is looked up only when this is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from caet_opt.solving.ipopt_provider import ipopt_provider

        print(f"caet-opt {__version__} ({ipopt_provider() or 'no Ipopt'})")
        parser.exit()


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit status; errors become one line on stderr."""
    if not prepare_streams():
        complain("error: cannot write the output (standard output is closed)")
        return 1
    try:
        with noting_inputs():
            status = run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except CaetError as error:
        complain(f"error: {error}")
        return 1 if isinstance(error, SolverError) else 2
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        abandon_stdout()
        return OUTPUT_CLOSED
    except OSError as error:
        return report_refusal(error)
    except Exception as error:  # noqa: BLE001 - the one place where what no command foresaw becomes one line
        return report_defect(error)
    return status


def prepare_streams() -> bool:
    """Make the standard streams usable; whether there is one for the output.

    The number of a closed stream would go to the next file that is opened, and what is printed into that file.
    """
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:  # it was closed when Python started
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for text in (sys.stdout, sys.stderr):
        if isinstance(text, io.TextIOWrapper):
            text.reconfigure(errors="backslashreplace")
    return sys.stdout is not None


def report_refusal(error: OSError) -> int:
    """Say what the system refused: a file, or, where none is named, the output, with the notes of the error."""
    if error.filename is not None:
        complain(f"error: {error.filename}: {error.strerror}")
        return 2
    abandon_stdout()
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    complain(f"error: cannot write the output ({error.strerror or error}){notes}")
    return 1


def report_defect(error: Exception) -> int:
    """Say that the program has a defect; the traceback is for those who look for it."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    kind, message = type(error).__name__, " ".join(str(error).split())
    complain(
        f"internal error: {kind}{': ' if message else ''}{message[:MESSAGE_LENGTH]}; this is a defect of caet-opt: "
        f"please report it with the command, and with the traceback that {DEBUG}=1 shows"
    )
    return DEFECT


def run(argv: list[str]) -> int:
    """Parse the arguments and run the command that they name."""
    word = next((word for word in argv if not word.startswith("-")), None)
    if word is not None and word not in COMMANDS:
        raise InputError(unknown_name("command", word, COMMANDS))
    parser = build_parser(word)
    try:
        arguments, extra = parser.parse_known_args(shield_negative_numbers(argv))
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    check_nothing_left(extra, getattr(arguments, "parser", parser))
    if arguments.command is None:
        raise InputError(f"no command given; use one of: {', '.join(COMMANDS)} (see caet-opt --help)")
    try:
        return int(load_command(arguments.command).run(arguments))
    except CaetError as error:
        error.args = (name_flags(str(error), arguments.parser), *error.args[1:])
        raise


def name_flags(message: str, parser: argparse.ArgumentParser) -> str:
    """An error of the library as the command line says it: ``--max-rounds`` where Python has the name max_rounds."""
    for flag in sorted(set(re.findall(r"--[a-z0-9-]+", parser.format_usage())), key=len, reverse=True):
        name = flag.removeprefix("--").replace("-", "_")
        if "_" in name:  # a word alone may be one of the sentence, and is not looked for in names of files
            message = re.sub(rf"(?<![\w/.'\"-]){name}(?![\w/.'\"-])", flag, message)
    return message


def load_command(name: str) -> ModuleType:
    """The module of a command."""
    return import_module(f"caet_opt.cli.{name}")


def build_parser(command: str | None) -> Parser:
    """The parser of the program, which knows every command by name and the arguments of the one that is asked for."""
    parser = Parser(
        prog="caet-opt",
        description="Decide which of several options is best when every trial costs something.",
        epilog=STATUS_HELP,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=Version, help="show the version and which package provides Ipopt")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        one = commands.add_parser(name, help=summary, allow_abbrev=False)
        if name == command:
            module = load_command(name)
            one.description, one.epilog = module.DESCRIPTION, f"{module.EXAMPLES}\n{STATUS_HELP}"
            one.formatter_class = HelpFormatter
            module.add_arguments(one)
            one.set_defaults(parser=one)
    return parser


def check_nothing_left(extra: list[str], parser: argparse.ArgumentParser) -> None:
    """Raise `InputError` for arguments that the parser did not understand."""
    unknown = next((word for word in extra if word.startswith("-")), None)
    if unknown is not None:
        known = re.findall(r"--[a-z0-9-]+", parser.format_usage())  # in colour from Python 3.14 on
        raise InputError(unknown_name("option", unknown.partition("=")[0], ["--help", *known]))
    if extra:
        raise InputError(f"unexpected argument {extra[0].strip()!r}; see {parser.prog} --help")


def shield_negative_numbers(argv: list[str]) -> list[str]:
    """Put a space before words such as ``-1,2``, which argparse would take for options."""
    return [f" {word}" if NEGATIVE_NUMBER.match(word) else word for word in argv]


def complain(message: str) -> None:
    """Print one line on stderr; where that cannot be written either, the status has to do."""
    with suppress(OSError):
        print(f"caet-opt: {escape_controls(message)}", file=sys.stderr, flush=True)


def abandon_stdout() -> None:
    """Send what is still buffered for stdout nowhere, so that leaving raises no second error."""
    with suppress(OSError):  # what is not a file has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = ["COMMANDS", "main"]
