"""``caet-opt plan``: what an experiment will cost, and what a budget can settle, before it begins."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from caet_opt.bandits.modelfile import ModelFile
from caet_opt.cli.arguments import (
    INTERRUPTED,
    add_confidence,
    add_settings,
    count,
    number,
    read_confidence,
    seed,
    worker_count,
)
from caet_opt.cli.models import GRAMMAR, add_model_arguments, find_model, heading
from caet_opt.cli.output import add_width, make_folder, say, show
from caet_opt.exploring.settings import LIMITS, SEED, SIMULATED
from caet_opt.presenting.figures.style import require_matplotlib
from caet_opt.presenting.progress import Bar
from caet_opt.simulating.comparison import name_policies
from caet_opt.simulating.plans import DEFAULTS, PLAN_RUNS, Plan, PlanInterrupted, plan
from caet_opt.simulating.pool import cores
from caet_opt.simulating.runs import RunRecord

DESCRIPTION = """\
Plan an experiment, given a guess of the arms' means. Prints T*, the lower bound (no
strategy costs less on average), the predicted cost and, from simulated runs, the 10, 50
and 90 % quantiles of the cost and the pulls of each arm. If you name several policies,
these are for the cheapest. With --budget, also prints the chance of finishing within the
budget, and the smallest difference between the nearest pair of arms that the budget
settles in 90 % of runs. Ctrl-C during the search for this difference prints the rest.
This is a power analysis for experiments that adapt."""

EXAMPLES = f"""\
{GRAMMAR}
examples:
  caet-opt plan models/paper-instance-1.toml --delta 0.05
  caet-opt plan --family bernoulli --means 0.30,0.25 --task best-arm --delta 0.05 --budget 3000
  caet-opt plan models/clinical-trial.toml --delta 0.05 --policy caet,top-two,uniform --json
  caet-opt plan models/bernoulli-costs.toml --delta 0.05 --figure results/plan
"""

#: Levels of the figure, log(1/delta), as multiples of the one that is asked for.
LEVELS = (0.5, 0.75, 1.0, 1.5, 2.0)

#: Settings that have one value, with the defaults of a plan; the policy may have several, and the limit is the budget.
OTHER_SETTINGS = tuple(
    replace(setting, default=DEFAULTS.get(setting.name, setting.default))
    for setting in SIMULATED
    if setting.name not in ("policy", "limits", *LIMITS)
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add_model_arguments(parser)
    runs = parser.add_argument_group("the plan")
    add_confidence(runs)
    runs.add_argument("--budget", type=number, metavar="B", help="the most you want to spend")
    runs.add_argument("--policy", default="caet", metavar="P,P,...", help="policies to choose from, or all (caet)")
    runs.add_argument("--runs", type=count, default=PLAN_RUNS, metavar="N", help=f"simulated runs ({PLAN_RUNS})")
    runs.add_argument("--seed", type=seed, default=SEED, metavar="S", help=f"seed of all runs ({SEED})")
    runs.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")
    how = parser.add_argument_group("the algorithm")
    add_settings(parser, how, OTHER_SETTINGS)
    what = parser.add_argument_group("what to print")
    what.add_argument("--json", action="store_true", help="one JSON object instead of text")
    what.add_argument("--figure", metavar="STEM", help="also draw cost quantiles against delta: STEM.png and STEM.pdf")
    add_width(what)


def run(arguments: argparse.Namespace) -> int:
    """Check everything, simulate, print, and return the exit status."""
    confidence = read_confidence(arguments)
    entry = find_model(arguments)
    if arguments.figure is not None:
        require_matplotlib()
        make_folder(Path(arguments.figure).parent, "--figure")
    try:
        found, interrupted = make_plan(entry, arguments, confidence, arguments.budget), False
    except PlanInterrupted as interrupt:
        found, interrupted = interrupt.plan, True
        print("caet-opt: interrupted, the smallest difference is not computed", file=sys.stderr)
    show(arguments.json, found.to_record, lambda: "\n".join([*heading(entry), str(found)]))
    if interrupted:
        return INTERRUPTED
    if arguments.figure is not None:
        say(f"written: {', '.join(map(str, draw(entry, found, arguments)))}", to_stderr=arguments.json)
    return 0


def make_plan(
    entry: ModelFile, arguments: argparse.Namespace, confidence: dict[str, float | None], budget: float | None
) -> Plan:
    """The plan, with a bar of the runs of every policy."""
    words = {setting.name: getattr(arguments, setting.name) for setting in OTHER_SETTINGS}
    settings: dict[str, Any] = {name: value for name, value in words.items() if value is not None}
    settings["limits"] = entry.limits or None
    policies = name_policies(arguments.policy, entry.model, entry.task)
    with Bar(arguments.runs * len(policies), "runs") as bar:

        def tell(what: str, record: RunRecord) -> None:
            if bar.done == bar.total:  # how many models are tried for the smallest difference is not known before
                bar.expect(bar.total + arguments.runs)
            bar.step(note=what)

        return plan(
            entry.model,
            entry.task,
            **confidence,
            budget=budget,
            policies=policies,
            runs=arguments.runs,
            seed=arguments.seed,
            workers=arguments.workers or cores(),
            progress=tell,
            **settings,
        )


def draw(entry: ModelFile, found: Plan, arguments: argparse.Namespace) -> list[Path]:
    """Plan at other levels as well, for the policy that was found cheapest, and draw."""
    from caet_opt.presenting.figures.plan import plan_figure
    from caet_opt.presenting.figures.sheet import save

    arguments.policy = found.cheapest.policy
    level = found.experiment.parameters.log_inv_delta
    others = [
        found if factor == 1.0 else make_plan(entry, arguments, {"log_inv_delta": factor * level}, None)
        for factor in LEVELS
    ]
    return save(plan_figure(others, arguments.width), Path(arguments.figure))
