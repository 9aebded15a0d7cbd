"""``caet-opt simulate``: many runs of CAET on a known model, against the bounds on its cost."""

import argparse
import json
import sys
from math import isfinite, log
from time import perf_counter
from typing import TYPE_CHECKING, Any

from caet_opt.cli.arguments import number, seed, whole, worker_count
from caet_opt.cli.models import GRAMMAR, add_model_arguments, headline, requested_model
from caet_opt.cli.output import csv_text, output_file
from caet_opt.errors import InputError, unknown_name
from caet_opt.presenting.progress import Bar
from caet_opt.simulating.pool import cores
from caet_opt.solving.numbers import certified, significant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caet_opt.bandits.modelfile import ModelFile
    from caet_opt.exploring.parameters import CostSource, Parameters
    from caet_opt.simulating.runs import Experiment, RunRecord, Summary

SUMMARY = "runs of the CAET algorithm on a model: cost, samples and errors against the bounds"

DESCRIPTION = """\
Run CAET on a model many times: every round's target is solved exactly, and a run
stops when every needed pair has more evidence than the threshold. Prints the mean
cost with its confidence interval between the lower bound T* kl(delta, 1 - delta) and
the asymptotic upper bound theta T* log(1/delta), samples, and the error rate. Run i
depends on the seed and on i only, not on the number of workers. Ctrl-C prints what is
finished."""

EXAMPLES = f"""\
{GRAMMAR}
thresholds:
  mixture        Kaufmann and Koolen 2021; proven for every family (default)
  informational  log(2 t K (K - 1) / delta); proven for bernoulli
  deviational    log(C t^theta / delta); proven only with --constant certified
  customary      log((1 + log t) / delta); not proven

examples:
  caet-opt simulate models/paper-instance-1.toml --delta 0.05
  caet-opt simulate models/paper-instance-1.toml --log-inv-delta 100 --threshold deviational --theta 1.2
  caet-opt simulate --family bernoulli --means 0.8,0.5 --costs 1,2 --task best-arm --delta 0.1 --json
  caet-opt simulate models/wireless-channels.toml --delta 0.1 --runs 20 --csv runs.csv
  caet-opt simulate models/paper-instance-1.toml --delta 0.1 --runs 2 --solver clarabel
"""

POLICIES = ("caet",)
DEFAULT_THRESHOLD = "mixture"
INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add_model_arguments(parser)
    runs = parser.add_argument_group("the runs")
    runs.add_argument("--delta", type=number, metavar="D", help="error probability that is allowed")
    runs.add_argument("--log-inv-delta", type=number, metavar="L", help="or log(1/delta), for a very small one")
    runs.add_argument("--runs", type=whole, default=100, metavar="N", help="number of runs (100)")
    runs.add_argument("--seed", type=seed, default=0, metavar="S", help="seed of all runs (0)")
    runs.add_argument("--max-rounds", type=whole, metavar="N", help="a longer run is unfinished (10000000)")
    runs.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")
    add_policy_arguments(parser.add_argument_group("the algorithm"))
    what = parser.add_argument_group("what to print")
    what.add_argument("--json", action="store_true", help="one JSON object instead of text")
    what.add_argument("--csv", metavar="FILE", help="also write one row per run to this file")


def add_policy_arguments(how: "argparse._ArgumentGroup") -> None:
    """Declare the arguments that say what is run."""
    how.add_argument("--policy", default=POLICIES[0], metavar="P", help="caet, the only one")
    how.add_argument("--threshold", default=DEFAULT_THRESHOLD, metavar="T", help="see below (mixture)")
    how.add_argument("--theta", type=number, metavar="X", help="of the deviational threshold (1.2)")
    how.add_argument("--constant", metavar="C", help="C of the deviational threshold: a number (1), or certified")
    how.add_argument("--tracking", metavar="c|d", help="track the cumulated targets (c) or the present one (d)")
    how.add_argument("--r", type=number, metavar="X", help="free arms share 1 - log(1/delta)^-r (0.4)")
    how.add_argument("--r-prime", type=number, metavar="X", help="see --gamma0 (0.1)")
    how.add_argument(
        "--gamma0", type=number, metavar="X", help="estimated costs up to gamma0 log(1/delta)^-r' are zero (0.1)"
    )
    how.add_argument("--outside-theory", action="store_true", help="allow theta, r, r' outside the theory's ranges")
    how.add_argument(
        "--cost-source",
        metavar="S",
        help="known, observed, or gaps (the default exactly if the model's costs are gaps)",
    )
    how.add_argument(
        "--cost-distribution",
        default="constant",
        metavar="D",
        help="of observed costs: constant, exponential, uniform or bernoulli, the model's costs being the means",
    )
    how.add_argument("--solver", metavar="NAME|PROFILE.toml", help="a backend or a profile; native unless given")
    how.add_argument("--loop", metavar="L", help="compiled (native solver only) or reference")


def run(arguments: argparse.Namespace) -> int:
    """Check everything, run, print, and return the exit status."""
    check_numbers(arguments)
    entry = requested_model(arguments)
    experiment = requested_experiment(entry, arguments)
    write = None if arguments.csv is None else output_file(arguments.csv, "--csv")
    records, seconds, interrupted = finished_runs(experiment, arguments)
    if write is not None and records:
        write(csv_of_runs(records, len(entry.model.means)))
    if interrupted:
        print(f"caet-opt: interrupted, {len(records)} of {arguments.runs} runs are finished", file=sys.stderr)
    if records:
        show(entry, experiment, records, seconds, arguments)
    return INTERRUPTED if interrupted else 0


def show(
    entry: "ModelFile",
    experiment: "Experiment",
    records: "Sequence[RunRecord]",
    seconds: float,
    arguments: argparse.Namespace,
) -> None:
    """Print the summary of the runs."""
    from caet_opt.simulating.runs import summarise

    summary = summarise(experiment, records, seconds)
    if arguments.json:
        print(json.dumps(as_object(summary, arguments), allow_nan=False))
    else:
        print(describe(entry, experiment, summary, arguments))


def check_numbers(arguments: argparse.Namespace) -> None:
    """Raise `InputError` for what can be told wrong without the model."""
    if (arguments.delta is None) == (arguments.log_inv_delta is None):
        raise InputError("give either --delta, as 0.05, or --log-inv-delta, as 3")
    if arguments.delta is not None and not 0 < arguments.delta < 1:
        raise InputError(f"--delta must lie strictly between 0 and 1, got {arguments.delta:g}")
    level = arguments.log_inv_delta
    if level is not None and not (isfinite(level) and level > 0):
        raise InputError(f"--log-inv-delta must be positive and finite, got {level:g}")
    for name in ("runs", "max_rounds"):
        given = getattr(arguments, name)
        if given is not None and given < 1:
            raise InputError(f"--{name.replace('_', '-')} must be a positive whole number, got {given}")
    if arguments.policy not in POLICIES:
        raise InputError(unknown_name("policy", arguments.policy, POLICIES))


def requested_experiment(entry: "ModelFile", arguments: argparse.Namespace) -> "Experiment":
    """The experiment of the arguments, with T* known to be finite and the loop compiled."""
    from caet_opt.simulating.runs import Experiment, prepare

    names = ("max_rounds", "solver", "loop")
    experiment = Experiment(
        entry.model,
        entry.task,
        requested_parameters(entry, arguments),
        threshold=arguments.threshold,
        theta=arguments.theta,
        constant=read_constant(arguments.constant),
        cost_distribution=arguments.cost_distribution,
        **{name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None},
    )
    if arguments.loop == "compiled" and not experiment.compiled:
        raise InputError("--loop compiled runs on the native solver; leave out --solver, or use --loop reference")
    _ = experiment.optimum  # a tie is an error before the first run
    prepare(experiment)
    return experiment


def requested_parameters(entry: "ModelFile", arguments: argparse.Namespace) -> "Parameters":
    """The parameters of the algorithm; what is not given stays at its default."""
    from caet_opt.exploring.parameters import Parameters

    default: CostSource = "gaps" if entry.model.cost_rule == "gaps" else "known"
    given = {name: getattr(arguments, name) for name in ("r", "r_prime", "gamma0", "tracking")}
    return Parameters(
        -log(arguments.delta) if arguments.log_inv_delta is None else arguments.log_inv_delta,
        costs=default if arguments.cost_source is None else arguments.cost_source,
        outside_theory=arguments.outside_theory,
        **{name: value for name, value in given.items() if value is not None},
    )


def finished_runs(experiment: "Experiment", arguments: argparse.Namespace) -> "tuple[list[RunRecord], float, bool]":
    """The finished runs, the seconds they took, and whether they were interrupted."""
    from caet_opt.simulating import runs as simulation

    workers = cores() if arguments.workers is None else arguments.workers
    start = perf_counter()
    with Bar(arguments.runs, "runs") as bar:
        try:
            records = simulation.run_many(
                experiment, arguments.runs, arguments.seed, workers, progress=lambda record: bar.step()
            )
        except simulation.Interrupted as interrupt:
            return interrupt.records, perf_counter() - start, True
    return records, perf_counter() - start, False


def csv_of_runs(records: "Sequence[RunRecord]", arms: int) -> str:
    """One row per run; ``correct`` is empty for an unfinished one."""
    columns = ["index", "stopped", "correct", "answer", "rounds", "cost", *(f"count_{a}" for a in range(arms))]
    return csv_text([dict(zip(columns, [*run[:-1], *run.counts], strict=True)) for run in records], columns)


def as_object(summary: "Summary", arguments: argparse.Namespace) -> dict[str, Any]:
    """The summary with the keys of the public contract, and after them what else is worth knowing."""
    return {
        "runs": summary.runs,
        "mean_cost": summary.mean_cost,
        "cost_ci": summary.cost_ci,
        "mean_samples": summary.mean_samples,
        "error_rate": summary.error_rate,
        "unfinished": summary.unfinished,
        "characteristic_time": summary.characteristic_time,
        "lower_bound": summary.lower_bound,
        "upper_bound": summary.upper_bound,
        "rounds_per_second": summary.rounds_per_second,
        "policy": arguments.policy,
        "threshold": arguments.threshold,
        "seed": arguments.seed,
        "error_ci": summary.error_ci,
        "guaranteed": summary.guaranteed,
    }


def describe(entry: "ModelFile", experiment: "Experiment", summary: "Summary", arguments: argparse.Namespace) -> str:
    """The summary as people read it."""
    return "\n".join(
        [
            *([entry.title] if entry.title else []),
            headline(entry),
            what_is_run(experiment, summary, arguments),
            threshold_line(experiment, summary),
            "",
            *cost_lines(experiment, summary),
            *error_lines(experiment, summary),
            *speed_line(summary),
        ]
    )


def what_is_run(experiment: "Experiment", summary: "Summary", arguments: argparse.Namespace) -> str:
    """Policy, runs, confidence, costs and solver in one line."""
    parameters = experiment.parameters
    costs = {"known": "known costs", "gaps": "the gaps to the best arm as costs"}.get(
        parameters.costs, f"observed costs ({experiment.cost_distribution})"
    )
    loop = "compiled" if experiment.compiled else "reference"
    return (
        f"policy {arguments.policy} with {parameters.tracking.upper()}-tracking, {costs}; "
        f"{summary.runs} run{'s'[: summary.runs != 1]}, seed {arguments.seed}, {confidence(arguments)}; "
        f"solver {experiment.profile.backend}, {loop} loop"
    )


def confidence(arguments: argparse.Namespace) -> str:
    """The error probability as it was given."""
    if arguments.delta is not None:
        return f"delta = {arguments.delta:g}"
    return f"log(1/delta) = {arguments.log_inv_delta:g}"


def threshold_line(experiment: "Experiment", summary: "Summary") -> str:
    """The formula of the threshold, and whether it guarantees the error probability here."""
    verdict = "guaranteed" if summary.guaranteed else "NOT guaranteed"
    reason = experiment.rule.reason
    return (
        f"threshold {experiment.threshold}: {summary.threshold}\n"
        f"error probability at most delta: {verdict} for {experiment.model.family} ({reason})"
    )


def cost_lines(experiment: "Experiment", summary: "Summary") -> list[str]:
    """Mean cost, bounds and samples; the costs also over log(1/delta)."""
    level, optimum = experiment.parameters.log_inv_delta, experiment.optimum
    value, _ = certified(optimum.value, optimum.lower, optimum.upper, optimum.gap)
    lowest = "at least " if summary.lower_estimate else ""
    spread = "" if summary.cost_ci is None else "  95 % in [{:.6g}, {:.6g}]".format(*summary.cost_ci)

    def line(name: str, cost: float, note: str) -> str:
        return (
            f"{name:<12} {lowest if name == 'mean cost' else ''}{cost:.6g}, over log(1/delta) {cost / level:.6g}{note}"
        )

    return [
        f"{'T*':<12} {value}",
        line(
            "lower bound",
            summary.lower_bound,
            f"  T* kl(delta, 1 - delta){', zero from delta = 1/2 on' * (level <= log(2))}",
        ),
        line("mean cost", summary.mean_cost, spread),
        line("upper bound", summary.upper_bound, "  theta T* log(1/delta), as delta tends to 0"),
        f"{'samples':<12} {lowest}{summary.mean_samples:.6g} on average",
    ]


def error_lines(experiment: "Experiment", summary: "Summary") -> list[str]:
    """The error rate with its interval, and the unfinished runs."""
    low, high = summary.error_ci
    verdict = "consistent with delta" if summary.consistent else "significantly ABOVE delta"
    lines = [f"{'errors':<12} {summary.error_rate:.4g}, 95 % in [{low:.4g}, {high:.4g}], {verdict}"]
    if summary.unfinished:
        lines += [
            f"{'unfinished':<12} {summary.unfinished} of {summary.runs} runs had not stopped after "
            f"{experiment.max_rounds} rounds; they count, so mean cost and samples are lower estimates"
        ]
    else:
        lines += [f"{'unfinished':<12} 0"]
    return lines


def speed_line(summary: "Summary") -> list[str]:
    """Rounds per second, where they were timed."""
    if summary.rounds_per_second is None:
        return []
    return [f"{'speed':<12} {significant(summary.rounds_per_second, 3)} rounds per second"]


def read_constant(text: str | None) -> float | str | None:
    """The constant of the deviational threshold: a number, or ``certified``."""
    if text is None or text == "certified":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--constant must be a positive number or 'certified', got {text!r}") from None
