"""``caet-opt models``: the catalogue by name. And the model that a command is about: a name, a file, or flags."""

import argparse
import re
from collections.abc import Iterable
from decimal import Decimal
from textwrap import fill
from typing import Any

from caet_opt.bandits.arm_names import refuse_controls
from caet_opt.bandits.families import FAMILIES, parse_family
from caet_opt.bandits.limits import read_limits, write_limits
from caet_opt.bandits.model import GAPS, BanditModel
from caet_opt.bandits.modelfile import ModelFile, read_model
from caet_opt.bandits.tasks import TASKS, Custom, pose_task
from caet_opt.cli.arguments import plain_text
from caet_opt.cli.output import show
from caet_opt.common.exact import brief, read_decimal
from caet_opt.common.files import escape_controls
from caet_opt.common.numbers import table
from caet_opt.common.shipped import shipped_folder, shipped_names
from caet_opt.errors import InputError
from caet_opt.solving.result import headline

DESCRIPTION = """\
List the models that come with caet-opt. Every command takes them by name, from any
folder. Give your own model files by path."""

EXAMPLES = """\
examples:
  caet-opt models
  caet-opt solve paper-instance-1
  caet-opt table paper-instance-1 paper-instance-2 mine.toml
"""

#: How names are written that have parameters; any other stands alone.
FORMS = {
    "gaussian": "gaussian | gaussian:VAR | gaussian:VAR,VAR,...",
    "gamma": "gamma:SHAPE",
    "bounded": "bounded:LO,HI | bounded:LO,HI,STEPS | bounded:LO/LEVEL/.../HI",
    "top-arms": "top-arms:M",
    "groups": "groups:0,1/2,3,4",
    "control": "control:ARM | control:ARM+0.02 | control:ARM-0.02 | control:ARM*1.1",
    "comparisons": "comparisons:0-1,2-3 | comparisons:0-1+0.02",
    "above": "above:LEVEL",
    "cheapest": "cheapest:above:LEVEL | cheapest:control:ARM-0.02",
}


def write_choices(what: str, names: Iterable[str], note: str = "") -> str:
    """A line of the grammar: everything that can be written, in lines of the help."""
    text = " | ".join(FORMS.get(name, name) for name in names)
    return fill(text + note, 84, initial_indent=f"  {what:<8}", subsequent_indent=" " * 10, break_on_hyphens=False)


#: Families and tasks as the command line and TOML files write them; a custom task can only be given in a file.
GRAMMAR = f"""\
grammar:
{write_choices("family", FAMILIES)}
{write_choices("task", [name for name in TASKS if name != Custom.name], "  (ARM: by number, from 0, or by name)")}
          best-arm~0.05 accepts any arm within 0.05 of the best; top-arms, groups,
          ranking and comparisons take ~0.05 in the same way
  limit   cost:ARM,..<=SHARE | pulls:ARM,..>=SHARE | pulls:leader=SHARE  (<=, >= or =)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("--json", action="store_true", help="a list of JSON objects instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Read the catalogue and print it."""
    entries = {name: read_model(shipped_folder("models") / f"{name}.toml") for name in shipped_names("models")}
    records = [as_object(*entry) for entry in entries.items()]
    rows = [[one["name"], str(len(one["means"])), one["family"], one["task"], one["title"] or ""] for one in records]
    text = table(["name", "K", "family", "task", "title"], rows, left=(0, 2, 3, 4))
    show(arguments.json, lambda: records, lambda: f"{text}\n\n{shipped_folder('models')}")
    return 0


def as_object(name: str, entry: ModelFile) -> dict[str, Any]:
    """A model of the catalogue as a JSON object; its costs are null where they are gaps."""
    return {
        "name": name,
        "title": entry.title,
        "source": entry.source,
        "family": str(entry.model.family),
        "task": str(entry.task),
        "means": list(entry.model.means),
        "costs": None if entry.model.cost_rule == GAPS else list(entry.model.costs),
        **({"limits": write_limits(entry.limits, entry.model.arms)} if entry.limits else {}),
        "characteristic_time": entry.characteristic_time,
        "file": str(shipped_folder("models") / f"{name}.toml"),
    }


#: Flags that make up a model, beside --costs; --task may also replace the task of a file.
MODEL_FLAGS = ("family", "means", "task")


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that describe the model."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a model file, or a name that caet-opt models lists")
    model = parser.add_argument_group("the model, without a file")
    model.add_argument("--family", metavar="F", help="reward family, for example gaussian or bounded:0,1")
    model.add_argument("--means", nargs="+", metavar="M", help="means, as 3,4,2 or 3 4 2")
    told = (
        "CSV file of observed rewards, with the columns arm and reward, instead of means (family bounded:LO,HI only); "
        "simulated rewards are drawn from them"
    )
    model.add_argument("--samples", metavar="CSV", help=told)
    told = "cost of a pull of each arm, as 1,1,2, or the word gaps (default: 1 each)"
    model.add_argument("--costs", nargs="+", metavar="C", help=told)
    model.add_argument("--task", metavar="T", help="task, for example ranking or top-arms:2")
    told = "names of the arms, in the order of --costs (0, 1, ... or, with --samples, as they first occur there)"
    model.add_argument("--arms", type=plain_text, nargs="+", metavar="NAME", help=told)
    add_direction(model)
    add_limit(model)


def add_limit(group: argparse._ActionsContainer) -> None:
    """Declare --limit."""
    told = "limit on a share of the cost or of the pulls, as cost:0,1<=0.3 or pulls:leader=0.5; may be repeated"
    group.add_argument("--limit", action="append", metavar="L", help=told)


def add_direction(group: argparse._ActionsContainer) -> None:
    """Declare --lower-is-better."""
    told = "the lower the mean, the better the arm, as for latencies"
    group.add_argument("--lower-is-better", action="store_true", help=told)


def find_model(arguments: argparse.Namespace) -> ModelFile:
    """The model of the file or of the flags."""
    if arguments.model is None:
        return read_flags(arguments)
    flags = ("family", "means", "samples", "costs", "arms", "lower_is_better")
    given = [f"--{name.replace('_', '-')}" for name in flags if getattr(arguments, name)]
    if given:
        raise InputError(
            f"give a model file or {', '.join(given)}, not both; only --task and --limit can be given with a file"
        )
    entry = read_model(arguments.model, arguments.task)
    task = entry.task if arguments.task is None else pose_task(entry.model, arguments.task)
    limits = entry.limits if arguments.limit is None else read_limits(arguments.limit, entry.model.arms)
    if (task, limits) == (entry.task, entry.limits):
        return entry
    return ModelFile(entry.model, task, entry.title, entry.source, limits=limits)


def read_flags(arguments: argparse.Namespace) -> ModelFile:
    """The model that the flags describe."""
    in_range = arguments.samples is not None
    if in_range and arguments.means is not None:
        raise InputError("give --samples or --means, not both")
    needed = ("family", "task") if in_range else MODEL_FLAGS
    missing = [f"--{name}" for name in needed if getattr(arguments, name) is None]
    if len(missing) == len(MODEL_FLAGS):
        raise InputError(
            "no model given; name a MODEL.toml or one of caet-opt models, or give --family, --means and --task, and "
            "--costs unless all are 1"
        )
    if missing:
        what = "--samples" if in_range else "--means"
        raise InputError(f"missing {', '.join(missing)}; a model without a file needs --family, {what} and --task")

    words = arguments.costs
    costs = GAPS if words == [GAPS] else None if words is None else read_list(words, "costs", f" or {GAPS!r}")
    arms = None if arguments.arms is None else read_names(arguments.arms)
    refuse_controls(arms or ())
    family, lower = parse_family(arguments.family), arguments.lower_is_better
    if in_range:
        model = BanditModel.from_samples(family, arguments.samples, costs, arms, lower_is_better=lower)
    else:
        model = BanditModel(family, read_list(arguments.means, "means"), costs, arms, lower_is_better=lower)
    return ModelFile(model, pose_task(model, arguments.task), limits=read_limits(arguments.limit or (), model.arms))


def refuse_limits(entry: ModelFile, what: str) -> None:
    """Raise `InputError` for a model with limits where they would mean nothing."""
    if entry.limits:
        raise InputError(f"{what} without limits; leave out {', '.join(write_limits(entry.limits, entry.model.arms))}")


def heading(entry: ModelFile) -> list[str]:
    """What stands above an answer: the title, if there is one; and task, family and size of the model."""
    limits = map(escape_controls, write_limits(entry.limits, entry.model.arms))
    return [
        *([escape_controls(entry.title)] if entry.title else []),
        headline(entry.model, entry.task),
        *([f"limits {', '.join(limits)}"] if entry.limits else []),
    ]


def read_list(words: list[str], what: str, alternative: str = "") -> list[Decimal]:
    """Numbers separated by commas, by spaces, or by both, as the decimals that they spell."""
    text = " ".join(words).strip()
    if not text:
        raise InputError(f"--{what} is empty; give numbers such as 3,4,2{alternative}")
    numbers = []
    for item in re.split(r"\s*,\s*|\s+", text):
        try:
            numbers.append(read_decimal(item))
        except ValueError as error:
            told = f"--{what} must be numbers such as 3,4,2{alternative}, got {brief(item)!r}"
            raise InputError(f"{told}: {error}") from None
    return numbers


def read_names(words: list[str]) -> list[str]:
    """Names separated by commas, or else one per word."""
    text = " ".join(words)
    return [name.strip() for name in text.split(",")] if "," in text else words
