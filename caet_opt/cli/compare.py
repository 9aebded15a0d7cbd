"""``caet-opt compare``: models by solvers, each answer certified and each re-solve timed."""

import argparse
from collections.abc import Mapping, Sequence

from caet_opt.bandits.modelfile import model_paths, read_model
from caet_opt.cli.arguments import count
from caet_opt.cli.output import csv_text, output_file, show
from caet_opt.common.files import shortest_names
from caet_opt.common.numbers import table
from caet_opt.presenting.progress import Bar
from caet_opt.solving.compare import REPEAT, Comparison, measure, name_solvers, prepare, those_able

DESCRIPTION = """\
Solve every model with every solver. Prints T*, its certified gap, the gap of the
solver's own point, the iterations, and the median time of a re-solve with its ratio to
the fastest solver for that model. A solver that fails keeps its row."""

EXAMPLES = """\
examples:
  caet-opt compare models/
  caet-opt compare models/paper-instance-1.toml --solvers native ipopt --repeat 20
  caet-opt compare models/ --solvers solvers/*.toml --csv comparison.csv
  caet-opt compare models/top-arms.toml models/multi-bandit.toml --json
"""

#: What is shown of each solver of a model.
HEADINGS = ("solver", "T*", "gap", "own gap", "iterations", "time", "ratio")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("models", nargs="+", metavar="MODELS", help="model files, or folders of model files")
    parser.add_argument("--solvers", nargs="+", metavar="S", help="backends or profiles (every installed backend)")
    parser.add_argument(
        "--repeat", type=count, metavar="N", default=REPEAT, help=f"number of timed re-solves ({REPEAT})"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--csv", metavar="FILE", help="also write every row to this file")


def run(arguments: argparse.Namespace) -> int:
    """Read everything, then measure; the status is 1 when a row failed or certified intervals exclude each other."""
    paths = list(dict.fromkeys(path for word in arguments.models for path in model_paths(word)))
    names = shortest_names([str(path) for path in paths], [path.stem for path in paths])
    models = {name: read_model(path) for name, path in zip(names, paths, strict=True)}
    solvers = name_solvers(None if arguments.solvers is None else list(dict.fromkeys(arguments.solvers)))
    write = output_file(arguments.csv, "--csv")
    prepare(solvers)
    found = dict[str, Comparison]()
    with Bar(len(models), "models") as bar:
        for name, entry in models.items():  # one that cannot be solved fails by every solver
            able = those_able(solvers, entry.model, entry.limits) if arguments.solvers is None else solvers
            found[name] = measure(entry.model, entry.task, able, arguments.repeat, entry.limits)
            bar.step(note=name)
    rows = [{"model": name, **row} for name, comparison in found.items() for row in comparison.rows()]
    write(csv_text(rows))
    apart = [name for name, comparison in found.items() if comparison.disagree]
    record = {"repeat": arguments.repeat, "rows": rows, "disagreements": apart}
    show(arguments.json, lambda: record, lambda: tabulate_all(found, apart))
    return 1 if apart or any(row["error"] for row in rows) else 0


def tabulate_all(found: Mapping[str, Comparison], apart: Sequence[str]) -> str:
    """The table, and below it who provided a solver that more than one can provide, and what went wrong."""
    rows = [[name, *line] for name, comparison in found.items() for line in comparison.lines(HEADINGS)]
    measured = [(name, one) for name, comparison in found.items() for one in comparison.measurements]
    providers: dict[str, dict[str, None]] = {}
    for _, one in measured:
        if one.provider is not None and one.result is not None:
            providers.setdefault(one.provider, {})[one.result.solver] = None
    notes = [f"{', '.join(names)}: {provider}" for provider, names in providers.items()]
    notes += [f"{name} by {one.solver} failed: {one.error}" for name, one in measured if one.error is not None]
    notes += [f"{name}: the certified intervals do NOT all overlap, at least one of them is wrong" for name in apart]
    return "\n".join([table(["model", *HEADINGS], rows, left=(0, 1)), *([""] if notes else []), *notes])
