"""``caet-opt curve``: T* and the optimal proportions while a mean, a cost, or a number of the task is swept."""

import argparse
import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from caet_opt.bandits.limits import write_limits
from caet_opt.bandits.modelfile import ModelFile
from caet_opt.cli.arguments import count, number
from caet_opt.cli.models import GRAMMAR, add_model_arguments, find_model, heading
from caet_opt.cli.output import add_width, csv_text, make_folder, output_file, say
from caet_opt.common.files import escape_controls
from caet_opt.common.numbers import digits_rooted, format_certified, in_full, proportion, table, write_given
from caet_opt.errors import InputError, SolverError
from caet_opt.presenting.curves import KINDS, Curve, CurvePoint, largest_deviation, trace_curve
from caet_opt.presenting.figures.curve import PANELS, curve_figure
from caet_opt.presenting.figures.sheet import SUFFIXES, save
from caet_opt.presenting.figures.style import require_matplotlib
from caet_opt.presenting.progress import Bar

DESCRIPTION = """\
Solve a model again and again while one quantity runs over a range: a mean, a cost, the
margin, ratio or level of the task, or the share of a limit. Draw T*, the cost proportions
and the sampling proportions, with a closed form where one applies and a line where the
binding statements change. If costs are gaps, they follow a swept mean; if a cost is
swept, the others stay fixed. control:ARM-0.02 has the margin -0.02; limit:0 is the first
limit. Where a model has no T*, as at a tie, the curve has a gap."""

EXAMPLES = f"""\
{GRAMMAR}
examples:
  caet-opt curve models/paper-instance-1.toml --sweep mean:2 --from 0 --to 2.5
  caet-opt curve paper-instance-1 --sweep mean:2 --from 0 --to 2.5 --only time --no-title --width column
  caet-opt curve models/wireless-channels.toml --sweep "cost:2.4 GHz" --from 1 --to 1000 --log
  caet-opt curve --family bernoulli --means 0.5,0.4,0.3 --costs 1,1,2 --task best-arm \\
      --sweep mean:1 --from 0.1 --to 0.9 --points 41 --json
  caet-opt curve models/non-inferior-model.toml --sweep margin --from -0.1 --to 0.1
  caet-opt curve models/dose-finding.toml --sweep level --from 0.1 --to 0.5
  caet-opt curve models/placebo-trial.toml --sweep limit:0 --from 0 --to 0.5 --points 26
"""

#: Of the table on the terminal: lines, about; significant digits of T* and decimals of proportions, at most.
LINES, DIGITS, DECIMALS = 9, 8, 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add_model_arguments(parser)
    path = parser.add_argument_group("the path")
    path.add_argument("--sweep", metavar="|".join(KINDS.values()), help="what to sweep; ARM is a number or a name")
    path.add_argument("--from", type=number, dest="start", metavar="A", help="first value")
    path.add_argument("--to", type=number, dest="stop", metavar="B", help="last value")
    path.add_argument("--points", type=count, default=101, metavar="N", help="number of points (101)")
    path.add_argument("--log", action="store_true", help="space the points evenly on a log scale")
    path.add_argument("--solver", metavar="NAME|PROFILE.toml", help="a backend, or a profile from solvers/ (native)")
    what = parser.add_argument_group("what to write")
    what.add_argument("--output", metavar="STEM", help="write STEM.png, STEM.pdf and STEM.csv (results/curve)")
    add_width(what)
    what.add_argument("--no-title", action="store_true", help="draw no title, for a figure with a caption")
    what.add_argument("--only", choices=PANELS, metavar="|".join(PANELS), help="draw one panel only; time is T*")
    what.add_argument("--no-figure", action="store_true", help="write only the CSV file")
    what.add_argument("--json", action="store_true", help="one JSON object instead of files and text")


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can fail, trace, write, print; status 1 when a solver failed somewhere."""
    for name, option in (("sweep", "--sweep"), ("start", "--from"), ("stop", "--to")):
        if getattr(arguments, name) is None:
            raise InputError(f"missing {option}; as in --sweep mean:2 --from 0 --to 2.5")
    if arguments.json and (arguments.output is not None or arguments.no_figure):
        raise InputError("--json writes no files; leave out --output and --no-figure, or --json")
    if arguments.json:
        curve = trace(find_model(arguments), arguments)
        print(json.dumps(as_object(curve), allow_nan=False))
    else:
        curve = write_curve(arguments)
    return 1 if any(isinstance(point.error, SolverError) for point in curve.points) else 0


def write_curve(arguments: argparse.Namespace) -> Curve:
    """Trace the curve, write its files, and print its summary."""
    if not arguments.no_figure:
        require_matplotlib()
    entry, stem = find_model(arguments), Path(arguments.output or "results/curve")
    if not stem.name or stem.is_dir():
        raise InputError(f"--output {stem}: is a folder; name what the files begin with, as {stem / 'curve'}")
    make_folder(stem.parent, "--output", stem)
    data = stem.with_name(f"{stem.name}.csv")
    write = output_file(data, "--output")
    for suffix in () if arguments.no_figure else SUFFIXES:
        output_file(f"{stem}{suffix}", "--output")
    curve = trace(entry, arguments)
    write(csv_text(curve.rows()))
    files = [data]
    if not arguments.no_figure:
        title = "" if arguments.no_title else heading(entry)[0]
        files += save(curve_figure(curve, title, arguments.width, arguments.only), stem)
    say(f"{say_curve(curve, entry)}\nwritten: {', '.join(map(str, files))}")
    return curve


def trace(entry: ModelFile, arguments: argparse.Namespace) -> Curve:
    """The curve of the arguments."""
    path = arguments.sweep, arguments.start, arguments.stop, arguments.points
    asked = {"logarithmic": arguments.log, "solver": arguments.solver, "limits": entry.limits}
    with Bar(arguments.points, "points") as bar:
        return trace_curve(entry.model, entry.task, *path, **asked, progress=bar.step)


def as_object(curve: Curve) -> dict[str, Any]:
    """The curve as one JSON object."""
    return {
        "task": str(curve.task),
        "family": str(curve.model.family),
        "sweep": str(curve.sweep),
        "arms": list(curve.model.arms),
        **({"limits": write_limits(curve.sweep.limits, curve.model.arms)} if curve.sweep.limits else {}),
        "points": curve.rows(),
        "switches": [
            {"value": switch.value, "statement": curve.name(switch), "starts": switch.starts}
            for switch in curve.switches
        ],
        "ties": list(curve.ties),
        "answers": [{"from": first, "to": last, "answer": answer} for first, last, answer in curve.answers()],
    }


def say_curve(curve: Curve, entry: ModelFile) -> str:
    """Some points, the switches, the ties, the answers, the gaps, and the agreement with a closed form."""
    lines = [*heading(entry), "", tabulate(curve), "", say_closed_forms(curve), *say_switches(curve)]
    missing = {point.value for point in curve.points if point.result is None}
    ties = [tie for tie in curve.ties if tie not in missing]
    lines += [f"at {curve.sweep.kind} {write_given(tie, 6)} there is a tie: T* is infinite" for tie in ties]
    if len(answers := curve.answers()) > 1:
        where = curve.sweep.kind
        lines += [
            f"answer for {where} {write_given(first, 6)} to {write_given(last, 6)}: {escape_controls(said)}"
            for first, last, said in answers
        ]
    return "\n".join([*lines, *say_gaps(curve)])


def tabulate(curve: Curve) -> str:
    """About `LINES` points of the grid, and all that were added at switches; shares in the order of the arms."""
    grid = [point.value for point in curve.points if point.kind == "grid"]
    shown = {grid[round(line * (len(grid) - 1) / (LINES - 1))] for line in range(LINES)}
    rows = [
        write_cells(point, curve.binding(point))
        for point in curve.points
        if point.kind == "switch" or point.value in shown
    ]
    return table([curve.sweep.kind, "T*", "omega*", "u*", "binding"], rows, left=(2, 3, 4))


def write_cells(point: CurvePoint, binding: Sequence[str]) -> list[str]:
    """One line of the table; a model without an answer has its error there."""
    value = write_given(point.value, 7)
    if point.result is None:
        return [value, f"no T*: {point.error}"]
    result = point.result
    time, _ = format_certified(result.value, result.lower, result.upper, result.gap, most=DIGITS)
    decimals = digits_rooted(result.gap, DECIMALS)
    shares = [
        f"({', '.join(proportion(share, decimals) for share in vector.tolist())})"
        for vector in (result.cost_proportions, result.sampling_proportions)
    ]
    return [value, in_full(time), *shares, ", ".join(binding) or "none"]


def say_closed_forms(curve: Curve) -> str:
    """Which closed forms apply, and how far T* is from them."""
    names = list(dict.fromkeys(point.closed_form for point in curve.points if point.closed_form is not None))
    deviation = largest_deviation(curve)
    if not names or deviation is None:
        return "no closed form applies"
    applied = sum(point.closed_form is not None for point in curve.points)
    where = "every point" if applied == len(curve.points) else f"{applied} of {len(curve.points)} points"
    return f"closed form {', '.join(names)} at {where}, largest relative deviation {deviation:.1e}"


def say_switches(curve: Curve) -> list[str]:
    """Where statements start or cease to bind."""
    begins = "at {} {} the statement {} {} to bind".format
    return [
        begins(
            curve.sweep.kind, write_given(switch.value, 6), curve.name(switch), "starts" if switch.starts else "ceases"
        )
        for switch in curve.switches
    ]


def say_gaps(curve: Curve) -> list[str]:
    """The stretches of models without an answer, each with the first reason."""
    lines = []
    for missing, run in groupby(curve.points, lambda point: point.result is None):
        points = list(run)
        if missing:
            first, last = (write_given(point.value, 7) for point in (points[0], points[-1]))
            ends = f"at {first}" if len(points) == 1 else f"from {first} to {last} ({len(points)} points)"
            lines.append(f"no T* {ends}: {points[0].error}")
    return lines
