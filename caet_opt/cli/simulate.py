"""``caet-opt simulate``: many runs of CAET on a known model, against the bounds on its cost."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from caet_opt.bandits.modelfile import ModelFile
from caet_opt.cli.arguments import (
    INTERRUPTED,
    add_confidence,
    count,
    explain,
    number,
    read_confidence,
    seed,
    whole,
    worker_count,
)
from caet_opt.cli.models import GRAMMAR, add_model_arguments, find_model, heading
from caet_opt.cli.output import csv_text, list_entries, output_file, show
from caet_opt.errors import InputError
from caet_opt.exploring.settings import RUNS, SEED, SETTINGS, Parameters, Setting
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.presenting.progress import Bar
from caet_opt.simulating.pool import cores
from caet_opt.simulating.runs import Experiment, Interrupted, RunRecord, prepare, run_many
from caet_opt.simulating.summary import summarise

DESCRIPTION = """\
Run CAET on a model many times: every round's target is solved exactly, and a run
stops when every needed pair has more evidence than the threshold. Prints the mean
cost with its confidence interval between the lower bound T* kl(delta, 1 - delta) and
the asymptotic upper bound theta T* log(1/delta), beside the cost that is predicted at
this delta, samples, and the error rate. Run i
depends on the seed and on i only, not on the number of workers. Ctrl-C prints what is
finished."""

EXAMPLES = f"""\
{GRAMMAR}
thresholds:
{list_entries({name: threshold.about for name, threshold in THRESHOLDS.items()})}

examples:
  caet-opt simulate models/paper-instance-1.toml --delta 0.05
  caet-opt simulate models/paper-instance-1.toml --log-inv-delta 100 --threshold deviational --theta 1.2
  caet-opt simulate --family bernoulli --means 0.8,0.5 --costs 1,2 --task best-arm --delta 0.1 --json
  caet-opt simulate models/wireless-channels.toml --delta 0.1 --runs 20 --csv runs.csv
  caet-opt simulate models/paper-instance-1.toml --delta 0.1 --runs 2 --solver clarabel
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add_model_arguments(parser)
    runs = parser.add_argument_group("the runs")
    add_confidence(runs)
    runs.add_argument("--runs", type=count, default=RUNS, metavar="N", help=f"number of runs ({RUNS})")
    runs.add_argument("--seed", type=seed, default=SEED, metavar="S", help=f"seed of all runs ({SEED})")
    runs.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")
    how = parser.add_argument_group("the algorithm")
    for setting in SETTINGS:
        add_setting(how, setting)
    what = parser.add_argument_group("what to print")
    what.add_argument("--json", action="store_true", help="one JSON object instead of text")
    what.add_argument("--csv", metavar="FILE", help="also write one row per run to this file")


def add_setting(group: argparse._ArgumentGroup, setting: Setting) -> None:
    """Declare the flag of a setting; what is not given stays at its default, wherever that is declared."""
    if setting.kind == "flag":
        group.add_argument(setting.flag, action="store_true", default=None, help=explain(setting))
    else:
        choices = (*setting.choices, *("X" for _ in setting.choices[:1] if "number" in setting.kind))
        metavar = "|".join(choices) or {"number": "X", "count": "N"}.get(setting.kind, setting.name[0].upper())
        group.add_argument(setting.flag, type=READERS[setting.kind], metavar=metavar, help=explain(setting))


def number_or_word(text: str) -> float | str:
    """A number, or any other word."""
    try:
        return float(text)
    except ValueError:
        return text


#: What becomes of a word on the command line, by the kind of its setting.
READERS: dict[str, Callable[[str], Any]] = {
    "number": number,
    "count": whole,
    "word": str,
    "number or word": number_or_word,
}


def run(arguments: argparse.Namespace) -> int:
    """Check everything, run, print, and return the exit status."""
    confidence = read_confidence(arguments)
    entry = find_model(arguments)
    experiment = make_experiment(entry, arguments, confidence)
    write = output_file(arguments.csv, "--csv")
    records, seconds, interrupted = collect_runs(experiment, arguments)
    if interrupted:
        print(f"caet-opt: interrupted, {len(records)} of {arguments.runs} runs are finished", file=sys.stderr)
    if records:
        write(write_rows(records, len(entry.model.means)))
        summary = summarise(experiment, records, seconds, seed=arguments.seed)
        show(arguments.json, summary.to_record, lambda: "\n".join([*heading(entry), str(summary)]))
    return INTERRUPTED if interrupted else 0


def make_experiment(
    entry: ModelFile, arguments: argparse.Namespace, confidence: Mapping[str, float | None]
) -> Experiment:
    """The experiment of the arguments, with T* known to be finite and the loop compiled."""
    words = {setting.name: getattr(arguments, setting.name) for setting in SETTINGS}
    given = {name: value for name, value in words.items() if value is not None}
    experiment = Experiment(entry.model, entry.task, Parameters.read(confidence, given))
    if arguments.loop == "compiled" and not experiment.compiled:
        raise InputError("--loop compiled runs on the native solver; leave out --solver, or use --loop reference")
    _ = experiment.optimum  # a tie is an error before the first run
    prepare(experiment)
    return experiment


def collect_runs(experiment: Experiment, arguments: argparse.Namespace) -> tuple[list[RunRecord], float, bool]:
    """The finished runs, the seconds they took, and whether they were interrupted."""
    start = perf_counter()
    with Bar(arguments.runs, "runs") as bar:
        asked = arguments.runs, arguments.seed, arguments.workers or cores()
        try:
            records, interrupted = run_many(experiment, *asked, progress=lambda record: bar.step()), False
        except Interrupted as interrupt:
            records, interrupted = interrupt.records, True
    return records, perf_counter() - start, interrupted


def write_rows(records: Sequence[RunRecord], arms: int) -> str:
    """One row per run; ``correct`` is empty for an unfinished one."""
    columns = ["index", "stopped", "correct", "answer", "rounds", "cost", *(f"count_{a}" for a in range(arms))]
    return csv_text([dict(zip(columns, [*run[:-1], *run.counts], strict=True)) for run in records], columns)
