"""``caet-opt simulate``: many runs of one policy or several on a known model, against the bounds on their cost."""

import argparse
import sys
from collections.abc import Sequence

from caet_opt.cli.arguments import INTERRUPTED, add_confidence, add_settings, count, read_confidence, seed, worker_count
from caet_opt.cli.models import GRAMMAR, add_model_arguments, find_model, heading
from caet_opt.cli.output import csv_text, list_entries, output_file, show
from caet_opt.exploring.policies import POLICIES
from caet_opt.exploring.settings import RUNS, SEED, SIMULATED
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.presenting.progress import Bar
from caet_opt.simulating.comparison import ComparisonInterrupted, PolicyComparison, make_experiments, run_policies
from caet_opt.simulating.pool import cores
from caet_opt.simulating.runs import Experiment, RunRecord, prepare

DESCRIPTION = """\
Run CAET, or another policy, on a model many times. A run stops when the evidence for
every statement of the answer exceeds the threshold, unless the policy has its own rule.
Prints the mean cost with its confidence interval, the lower bound T* kl(delta, 1 - delta),
the number of samples and the error rate. Where possible it also prints the cost predicted
at this delta and, for policies that approach it, the asymptotic upper bound
theta T* log(1/delta). Several policies run on the same draws, and a table shows the paired
difference to the first. Run i depends only on the policy, the seed and i, not on the
number of workers. Ctrl-C prints the results so far."""


#: What the help says of each policy: its rule, and its tasks where these are not all.
RULES = {
    name: policy.about + (f"; {', '.join(task.name for task in policy.covered)} only" if policy.covered else "")
    for name, policy in POLICIES.items()
}

EXAMPLES = f"""\
{GRAMMAR}
policies:
{list_entries(RULES)}

thresholds:
{list_entries({name: threshold.about for name, threshold in THRESHOLDS.items()})}

examples:
  caet-opt simulate models/paper-instance-1.toml --delta 0.05
  caet-opt simulate models/paper-instance-1.toml --log-inv-delta 100 --threshold deviational --theta 1.2
  caet-opt simulate models/paper-instance-1.toml --delta 0.05 --policy caet,track-and-stop,uniform
  caet-opt simulate models/garivier-kaufmann-1.toml --delta 0.1 --policy all --csv runs.csv
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
    help_of_policy = "sampling rule (caet); several separated by commas; or all, every policy that covers the task"
    how.add_argument("--policy", default="caet", metavar="P,P,...", help=help_of_policy)
    add_settings(parser, how, OTHER_SETTINGS)
    what = parser.add_argument_group("what to print")
    what.add_argument(
        "--json", action="store_true", help="one JSON object instead of text; a list for several policies"
    )
    what.add_argument("--csv", metavar="FILE", help="also write one row per run to this file")


#: Settings that have one value; the policy may have several, and limits are the model's.
OTHER_SETTINGS = tuple(setting for setting in SIMULATED if setting.name not in ("policy", "limits"))


def run(arguments: argparse.Namespace) -> int:
    """Check everything, run, print, and return the exit status."""
    confidence = read_confidence(arguments)
    entry = find_model(arguments)
    words = {setting.name: getattr(arguments, setting.name) for setting in OTHER_SETTINGS}
    given = {name: value for name, value in words.items() if value is not None} | {"limits": entry.limits or None}
    experiments = make_experiments(entry.model, entry.task, arguments.policy, confidence, given)
    for experiment in experiments:  # T* is finite and the loop compiled from here on: no notice of it meets the bar
        prepare(experiment)
    write = output_file(arguments.csv, "--csv")
    comparison, interrupted = collect_runs(experiments, arguments)
    if interrupted:
        asked = arguments.runs * len(experiments)
        print(f"caet-opt: interrupted, {comparison.runs} of {asked} runs are finished", file=sys.stderr)
    if comparison.summaries:
        several = len(experiments) > 1
        write(write_rows(comparison, len(entry.model.means), several))
        shown = comparison if several else comparison.summaries[0]
        record = comparison.to_records if several else comparison.summaries[0].to_record
        show(arguments.json, record, lambda: "\n".join([*heading(entry), str(shown)]))
    return INTERRUPTED if interrupted else 0


def collect_runs(experiments: Sequence[Experiment], arguments: argparse.Namespace) -> tuple[PolicyComparison, bool]:
    """What the finished runs of every policy say, and whether they were interrupted."""
    asked = arguments.runs, arguments.seed, arguments.workers or cores()
    with Bar(arguments.runs * len(experiments), "runs") as bar:

        def tell(policy: str, record: RunRecord) -> None:
            bar.step(note=policy if len(experiments) > 1 else "")

        try:
            return run_policies(experiments, *asked, progress=tell), False
        except ComparisonInterrupted as interrupt:
            return interrupt.comparison, True


def write_rows(comparison: PolicyComparison, arms: int, several: bool) -> str:
    """One row per run, its policy first where there are several; ``correct`` is empty for an unfinished one."""
    plain = RunRecord._fields.index("counts")
    columns = [*RunRecord._fields[:plain], *(f"count_{a}" for a in range(arms))]
    rows = [
        {"policy": summary.policy, **dict(zip(columns, [*run[:plain], *run.counts], strict=True))}
        for summary in comparison.summaries
        for run in summary.run_records
    ]
    return csv_text(rows, ["policy", *columns] if several else columns)
