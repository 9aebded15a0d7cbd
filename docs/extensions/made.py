"""Parts of pages that are made of the library at build time: commands, settings, policies, public names, rooms, and
the files that a call passes through."""

import argparse
import re
import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from sphinx.application import Sphinx

import caet_opt
from caet_opt import POLICIES
from caet_opt.cli import COMMANDS, build_parser, load_command
from caet_opt.exploring.settings import SETTINGS
from cases.calls import follow, purpose, room_of
from cases.public import all_handed_out

#: ``<!-- made: NAME -->`` in Markdown, ``.. made: NAME`` in reStructuredText; a word may follow the name.
PLACE = re.compile(r"^(?:<!-- made: (.+?) -->|\.\. made: (.+))$", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill the places of every page before it is read."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Put what is made in its places."""
    source[0] = PLACE.sub(lambda found: make(found[1] or found[2]), source[0])


def make(words: str) -> str:
    """What a place asks for."""
    name, _, word = words.partition(" ")
    makers: dict[str, Callable[[str], str]] = {
        "commands": lambda _: "\n".join(map(describe_command, COMMANDS)),
        "settings": lambda _: list_settings(),
        "policies": lambda _: list_policies(),
        "names": list_names,
        "rooms": lambda _: list_rooms(),
        "call": list_stations,
    }
    return makers[name](word)


def describe_command(name: str) -> str:
    """A command: what it is for, its usage, its arguments and its examples."""
    parser, module = find_parser(build_parser(name), name), load_command(name)
    head = [
        f"## {name}",
        plain(f"{COMMANDS[name][:1].upper()}{COMMANDS[name][1:]}."),
        plain(parser.description),
        fence(usage(parser)),
    ]
    return "\n\n".join([*head, list_arguments(parser), *describe_verbs(parser), fence(module.EXAMPLES), ""])


def find_parser(parser: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    """The parser of a subcommand."""
    return subparsers(parser)[name]


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the subcommands, by name."""
    return next((dict(act.choices) for act in parser._actions if isinstance(act, argparse._SubParsersAction)), {})


def describe_verbs(parser: argparse.ArgumentParser) -> list[str]:
    """The subcommands of a command, one after the other."""
    lines = []
    for name, verb in subparsers(parser).items():
        lines += [f"### {parser.prog.split()[-1]} {name}", fence(usage(verb)), list_arguments(verb)]
    return lines


def usage(parser: argparse.ArgumentParser) -> str:
    """The usage without its heading."""
    return re.sub(r"\x1b\[\d*m", "", parser.format_usage()).removeprefix("usage: ").rstrip()


def list_arguments(parser: argparse.ArgumentParser) -> str:
    """The arguments as a list of definitions, without those that every command has."""
    lines = []
    for group in parser._action_groups:
        for action in group._group_actions:
            if action.help not in (None, argparse.SUPPRESS) and not isinstance(action, argparse._HelpAction):
                lines += [name_argument(action), f": {plain(write_help(parser, action))}", ""]
    return "\n".join(lines)


def name_argument(action: argparse.Action) -> str:
    """An argument as it is typed."""
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(f"`{flag}{value}`" for flag in action.option_strings)


def write_help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The help of an argument, filled as argparse fills it."""
    return str(parser._get_formatter()._expand_help(action))


def list_settings() -> str:
    """The settings of an experiment, as a table."""
    rows = [
        f"| `{setting.name}` | {setting.kind} | {'' if setting.default is None else f'`{setting.default}`'} "
        f"| {'a list makes a grid' if setting.grid else 'one value' if setting.grid is False else 'none'} "
        f"| {plain(setting.help)} |"
        for setting in SETTINGS
    ]
    return "\n".join(["| name | kind | default | in a study | what it is |", "|---|---|---|---|---|", *rows])


def list_policies() -> str:
    """The policies, as a table."""
    rows = [
        f"| `{name}` | {plain(policy.about)} "
        f"| {', '.join(task.name for task in policy.covered) if policy.covered else 'all'} |"
        for name, policy in POLICIES.items()
    ]
    return "\n".join(["| policy | which arm is next | tasks |", "|---|---|---|", *rows])


def list_names(room: str) -> str:
    """Directives for every public name of a room, as the stub of the package lists them, and for what they hand out."""
    stub = files("caet_opt").joinpath("__init__.pyi").read_text(encoding="utf-8")
    names = re.findall(rf"^from \.{room}\b\S* import (\w+) as \w+$", stub, re.MULTILINE)
    named = [document(f"caet_opt.{name}", getattr(caet_opt, name)) for name in names]
    others = [kind for kind in all_handed_out() if kind.__name__ not in caet_opt.__all__]
    mine = [kind for kind in others if kind.__module__.split(".")[1] == room]
    return "\n\n".join([*named, *(document(f"{kind.__module__}.{kind.__name__}", kind) for kind in mine)])


def document(path: str, value: object) -> str:
    """The directive for a name; what a class has from another public class stands there."""
    if isinstance(value, type):
        inherits = any(base.__name__ in caet_opt.__all__ for base in value.__mro__[1:])
        return f".. autoclass:: {path}" + ("" if inherits else "\n   :members:")
    return f".. autofunction:: {path}" if callable(value) else f".. autodata:: {path}\n   :no-value:"


def list_rooms() -> str:
    """The rooms of the library, from the lowest layer to the highest, as rows of a table."""
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    rooms = [layer.removeprefix("caet_opt.") for layer in reversed(contract["layers"]) if "|" not in layer]
    return "\n".join(f"| `caet_opt/{room}` | {plain(purpose(f'{room}/__init__.py'))} |" for room in rooms)


def list_stations(path: str) -> str:
    """The files that a call passes through, as a table with the functions in the order in which they are entered."""
    found = follow(path).functions()
    rooms = dict.fromkeys(map(room_of, found))
    functions = sum(map(len, found.values()))
    rows, last = ["| room | file | what it is for, and its functions as they are entered |", "|---|---|---|"], ""
    for file, names in found.items():
        room, _, inside = file.partition("/")
        calls = ", ".join(f"`{name.replace('<locals>.', '')}`" for name in names)
        rows.append(f"| {'' if room == last else f'**{room}**'} | `{inside}` | {plain(purpose(file))}<br>{calls} |")
        last = room
    return f"{functions} functions in {len(found)} files of {len(rooms)} rooms:\n\n" + "\n".join(rows)


def fence(text: str) -> str:
    """A block as it is."""
    return f"```text\n{text.strip()}\n```"


def plain(text: str | None) -> str:
    """A text in which no sign is markup."""
    return re.sub(r"([\\`*_<>|#$\[\]{}])", r"\\\1", " ".join((text or "").split()))
