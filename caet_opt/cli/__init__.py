"""The command line: one module per command, none of which imports a solver before it needs one.

A command is a module with ``SUMMARY``, ``DESCRIPTION``, ``EXAMPLES``, ``add_arguments(parser)`` and
``run(arguments) -> exit status``. It joins by its entry in `COMMANDS`.
"""

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from caet_opt import __version__
from caet_opt.cli import check, compare, curve, report, reproduce, simulate, solve, sweep, table, verify
from caet_opt.cli.simulate import INTERRUPTED
from caet_opt.errors import CaetError, InputError, SolverError, unknown_name

#: Commands by name, in the order of the help.
COMMANDS: dict[str, ModuleType] = {
    "solve": solve,
    "check": check,
    "table": table,
    "curve": curve,
    "verify": verify,
    "simulate": simulate,
    "sweep": sweep,
    "report": report,
    "compare": compare,
    "reproduce": reproduce,
}

STATUS_HELP = (
    "exit status: 0 done; 1 no certified answer, solvers disagree, a formula fails, or a certificate is rejected; "
    "2 the input or the usage is wrong; 130 interrupted"
)

#: What looks like a negative number or a list of them, and is no option.
NEGATIVE_NUMBER = re.compile(r"-(\d|\.\d|inf\b|nan\b)", re.IGNORECASE)

OUTPUT_CLOSED = 141


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `InputError` where argparse would print its usage and leave."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message)


class Version(argparse.Action):
    """Print the version and leave; who provides Ipopt is looked up only when this is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from caet_opt.ipopt_provider import ipopt_provider

        print(f"caet-opt {__version__} ({ipopt_provider() or 'no Ipopt'})")
        parser.exit()


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit status; errors become one line on stderr."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
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
        abandon_stdout()
        complain(f"error: cannot write the output ({error.strerror})")
        return 1
    return status


def run(argv: list[str]) -> int:
    """Parse the arguments and run the command that they name."""
    parser = build_parser()
    check_command(argv)
    try:
        arguments, extra = parser.parse_known_args(shield_negative_numbers(argv))
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    check_nothing_left(extra, getattr(arguments, "parser", parser))
    if arguments.command is None:
        raise InputError(f"no command given; use one of: {', '.join(COMMANDS)} (see caet-opt --help)")
    return int(COMMANDS[arguments.command].run(arguments))


def build_parser() -> Parser:
    """The parser of the program with one sub-parser per command."""
    parser = Parser(
        prog="caet-opt",
        description="Certified characteristic times for cost-aware pairwise pure exploration in bandits.",
        epilog=STATUS_HELP,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=Version, help="show the version, and who provides Ipopt")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.DESCRIPTION,
            epilog=f"{module.EXAMPLES}\n{STATUS_HELP}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(command)
        command.set_defaults(parser=command)
    return parser


def check_command(argv: list[str]) -> None:
    """Raise `InputError` when the first word is no command."""
    word = next((word for word in argv if not word.startswith("-")), None)
    if word is not None and word not in COMMANDS:
        raise InputError(unknown_name("command", word, COMMANDS))


def check_nothing_left(extra: list[str], parser: argparse.ArgumentParser) -> None:
    """Raise `InputError` for arguments that the parser did not understand."""
    unknown = next((word for word in extra if word.startswith("-")), None)
    if unknown is not None:
        known = re.findall(r"--[a-z-]+", parser.format_usage())  # in colour from Python 3.14 on
        raise InputError(unknown_name("option", unknown.partition("=")[0], ["--help", *known]))
    if extra:
        raise InputError(f"unexpected argument {extra[0].strip()!r}; see {parser.prog} --help")


def shield_negative_numbers(argv: list[str]) -> list[str]:
    """Put a space before words such as ``-1,2``, which argparse would take for options."""
    return [f" {word}" if NEGATIVE_NUMBER.match(word) else word for word in argv]


def complain(message: str) -> None:
    """Print one line on stderr."""
    print(f"caet-opt: {' '.join(message.splitlines())}", file=sys.stderr)


def abandon_stdout() -> None:
    """Send what is still buffered for stdout nowhere, so that leaving raises no second error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = ["COMMANDS", "main"]
