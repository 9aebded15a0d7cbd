"""Policies side by side on the same draws, so that their costs can be subtracted run by run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from caet_opt.bandits.limits import number_limits
from caet_opt.bandits.model import BanditModel, check_model
from caet_opt.bandits.tasks import Task
from caet_opt.common.numbers import digits_beside, in_full, round_down, table, to_digits, write_interval
from caet_opt.errors import InputError
from caet_opt.exploring.policies import list_policies
from caet_opt.exploring.settings import RUNS, SEED, Parameters
from caet_opt.simulating.mean_intervals import cost_columns, mean_interval
from caet_opt.simulating.runs import Experiment, Interrupted, RunRecord, prepare, run_many, start_explorer
from caet_opt.simulating.summary import (
    Summary,
    bound_lines,
    conditions,
    ends,
    name_tracking,
    summarise,
    threshold_lines,
)

if TYPE_CHECKING:
    import pandas as pd

#: Stands for every policy that covers the task.
ALL = "all"

#: Is told the policy and the run, of every run as it finishes.
Progress = Callable[[str, RunRecord], None]

#: Significant digits of an estimated cost.
DIGITS = 5

HEADINGS = (
    *("policy", "mean cost", "95 % interval", "over bound", "difference", "95 % interval", "samples"),
    *("error rate", "stopped", "per round"),
)


def compare_policies(
    model: BanditModel,
    task: Task | str,
    policies: str | Sequence[str],
    *,
    delta: float | None = None,
    log_inv_delta: float | None = None,
    runs: int = RUNS,
    seed: int = SEED,
    workers: int = 1,
    progress: Progress | None = None,
    **settings: Any,
) -> "pd.DataFrame":
    """Run several policies on the same draws: the n-th reward of an arm in run i is the same whatever the policy.

    Parameters
    ----------
    model, task
        The true model, and the task, by name or as an object.
    policies
        Names in `caet_opt.POLICIES`, as a list or separated by commas, or "all" for every policy that covers the task.
    delta, log_inv_delta
        The largest error probability allowed, or log(1/delta) if it is very small.
    runs, seed
        How many runs of each policy, and the seed of all; run i depends only on the policy, the seed and i.
    workers, progress
        Number of processes, which changes only the time; a function called with the policy and each finished run.
    settings
        By their names in `caet_opt.exploring.settings.Parameters`: threshold, tracking and so on.

    Returns
    -------
    A row per policy, in the order given. ``policy`` and ``runs``; ``mean_cost``, ``cost_low``, ``cost_high`` with a
    95 % interval, and ``cost_at_least``, as in `Summary`; ``cost_10``, ``cost_50``, ``cost_90``, quantiles
    of the cost; ``ratio``, mean cost over the lower bound; ``difference``,
    the mean over the runs of cost minus the cost of the first policy in the same run, with ``difference_low``,
    ``difference_high``, all zero for the first policy; ``mean_samples``; ``error_rate``, ``error_low``, ``error_high``,
    ``unfinished``, ``guaranteed``, ``assumes`` and ``consistent`` as in `Summary`; ``microseconds_per_round``, of all
    workers together; ``threshold``. Fewer than 10 runs have no interval of a cost, and a difference has none if one
    of its costs has none. A run that did not stop counts with what it cost so far. Costs and samples are then lower
    estimates; a difference is too small by the missing costs of its own policy, and too large by those of the
    first.

    Ctrl-C raises `ComparisonInterrupted` with the finished runs.

    Examples
    --------
    >>> model = BanditModel("gaussian", [1.5, 1, 0.5], costs=[1, 0.1, 0.01])
    >>> frame = compare_policies(model, "ranking", ["caet", "uniform"], delta=0.1, runs=20, seed=1)
    >>> frame[["policy", "mean_cost", "difference", "difference_low"]].round(1)
        policy  mean_cost  difference  difference_low
    0     caet       64.6         0.0             0.0
    1  uniform      115.2        50.5            25.6
    """
    confidence = {"delta": delta, "log_inv_delta": log_inv_delta}
    experiments = make_experiments(model, task, policies, confidence, settings)
    return run_policies(experiments, runs, seed, workers, progress).to_frame()


@dataclass(frozen=True)
class PolicyComparison:
    """What the same draws say of several policies, each compared to the first; prints as a table.

    >>> from caet_opt.simulating.comparison import PolicyComparison
    >>> model = BanditModel("gaussian", [2, 0], costs=[1, 1])
    >>> both = [simulate(model, "best-arm", policy=name, delta=0.1, runs=3) for name in ("caet", "uniform")]
    >>> PolicyComparison(tuple(both)).difference(both[1])
    (0.0, None)
    """

    summaries: tuple[Summary, ...]

    @property
    def runs(self) -> int:
        """How many runs all policies have together."""
        return sum(summary.runs for summary in self.summaries)

    def difference(self, summary: Summary) -> tuple[float | None, tuple[float, float] | None]:
        """The mean over the runs of cost less the cost of the first policy, as `mean_difference` has it."""
        both = summary, self.summaries[0]
        costs, first = ({run.index: run.cost for run in one.run_records} for one in both)
        return mean_difference(costs, first, open_ended=any(one.open_ended for one in both))

    def to_frame(self) -> "pd.DataFrame":
        """A row per policy, as `compare_policies` has them."""
        import pandas as pd

        return pd.DataFrame([self.row(summary) for summary in self.summaries])

    def row(self, summary: Summary) -> dict[str, Any]:
        """What is said of a policy, by column."""
        difference, interval = self.difference(summary)
        return {
            "policy": summary.policy,
            "runs": summary.runs,
            "mean_cost": summary.mean_cost,
            **ends("cost", summary.cost_ci),
            "cost_at_least": summary.cost_at_least,
            **cost_columns(summary.quantiles),
            "ratio": nan if summary.ratio is None else summary.ratio,
            "difference": nan if difference is None else difference,
            **ends("difference", interval),
            "mean_samples": summary.mean_samples,
            "error_rate": summary.error_rate,
            **ends("error", summary.error_ci),
            "unfinished": summary.unfinished,
            "guaranteed": summary.guaranteed,
            "assumes": summary.assumes,
            "consistent": summary.consistent,
            "microseconds_per_round": summary.microseconds_per_round,
            "threshold": summary.threshold,
        }

    def to_records(self) -> list[dict[str, Any]]:
        """The objects of ``simulate --json``: those of one policy each, and ``difference`` with ``difference_ci``."""
        names = ("difference", "difference_ci")
        found = zip(self.summaries, map(self.difference, self.summaries), strict=True)
        return [summary.to_record() | dict(zip(names, values, strict=True)) for summary, values in found]

    def __str__(self) -> str:
        """What was run, a line per policy, and what is to be said of them."""
        if not self.summaries:
            return "no run is finished"
        first = self.summaries[0].experiment
        rows = [self.cells(summary) for summary in self.summaries]
        head = [self._what_was_run(), *threshold_lines(first), "", *bound_lines(first), ""]
        notes = self._notes()
        return "\n".join([*head, table(HEADINGS, rows), *([""] if notes else []), *notes])

    def cells(self, summary: Summary) -> list[str]:
        """A policy for people, under the headings."""
        difference, interval = self.difference(summary)
        time = summary.microseconds_per_round
        first = summary is self.summaries[0]
        return [
            summary.policy,
            write_mean(summary, summary.mean_cost, summary.cost_ci),
            f">= {summary.least_text()}" if summary.cost_ci is None else write_ends(summary.cost_ci),
            "-" if summary.ratio is None else write_mean(summary, summary.ratio),
            "-" if first or difference is None else write_beside(difference, interval),
            write_ends(None if first else interval),
            write_mean(summary, summary.mean_samples),
            f"{summary.error_rate:.4g}",
            f"{summary.runs - summary.unfinished}/{summary.runs}",
            "-" if time is None else f"{float(f'{time:.3g}'):.10g} us",
        ]

    def _what_was_run(self) -> str:
        experiments = [summary.experiment for summary in self.summaries]
        fewest, most = (function(summary.runs for summary in self.summaries) for function in (min, max))
        runs = f"{'up to ' if fewest < most else ''}{most} run{'s'[: most != 1]} each"
        tracking = ""
        if any(one.policy.tracks for one in experiments):
            tracking = f", {name_tracking(experiments[0])} for policies that track"
        number = f"{len(experiments)} polic{'y' if len(experiments) == 1 else 'ies'}"
        return f"{number} on the same draws{tracking}, {conditions(experiments, runs, self.summaries[0].seed)}"

    def _notes(self) -> list[str]:
        """What a difference is, and which numbers are not what they seem."""
        first, *others = self.summaries
        notes = [f"difference: cost minus the cost of {first.policy} in the same run, on average"] if others else []
        if others and any(summary.unfinished for summary in self.summaries):
            notes += [
                "unfinished runs of a policy make its difference too small, those of "
                f"{first.policy} make every difference too large, by what they would still have cost"
            ]
        reasons: dict[str, list[str]] = {}
        for summary in self.summaries:
            if summary.cost_ci is None:
                reasons.setdefault(summary.no_interval_text(), []).append(summary.policy)
        notes += [f"{reason}: {', '.join(policies)}" for reason, policies in reasons.items()]
        for summary in self.summaries:
            notes += [f"{summary.policy}: {summary.unfinished_text()}"] if summary.unfinished else []
            notes += [] if summary.consistent else [f"{summary.policy}: error rate {summary.error_text()}"]
        return notes


def mean_difference(
    costs: Mapping[int, float], first: Mapping[int, float], *, open_ended: bool = False
) -> tuple[float | None, tuple[float, float] | None]:
    """The mean of costs by run less those of the first policy, of every run that both have, from the same draws, and
    its 95 % interval; no mean where no run is shared, no interval of few, or where one of the two costs is
    ``open_ended`` and has none.

    >>> mean_difference({0: 5.0, 1: 7.0, 2: 9.0}, {1: 6.0, 2: 6.0, 3: 1.0})
    (2.0, None)
    """
    differences = np.array([cost - first[run] for run, cost in costs.items() if run in first])
    if not len(differences):
        return None, None
    return float(differences.mean()), None if open_ended else mean_interval(differences)


class ComparisonInterrupted(Interrupted):
    """Ctrl-C during a comparison; ``comparison`` holds the finished runs of every policy that was reached.

    >>> from caet_opt.simulating.comparison import ComparisonInterrupted
    >>> model = BanditModel("gaussian", [2, 0], costs=[1, 1])
    >>> def press(policy, record):  # as Ctrl-C does
    ...     if policy == "uniform":
    ...         raise KeyboardInterrupt
    >>> try:
    ...     compare_policies(model, "best-arm", ["caet", "uniform", "ctas"], delta=0.1, runs=3, progress=press)
    ... except ComparisonInterrupted as stop:
    ...     print(stop.comparison.to_frame()[["policy", "runs"]])
        policy  runs
    0     caet     3
    1  uniform     1
    """

    def __init__(self, records: Sequence[RunRecord], comparison: PolicyComparison) -> None:
        super().__init__(records)
        self.comparison = comparison


def write_ends(interval: tuple[float, float] | None) -> str:
    """An interval as text, rounded outward."""
    return "-" if interval is None else in_full(write_interval(*interval, DIGITS))


def write_beside(mean: float, interval: tuple[float, float] | None) -> str:
    """A mean to as many digits as its interval has."""
    return in_full(to_digits(mean, digits_beside(mean, interval, DIGITS)))


def write_mean(summary: Summary, mean: float, interval: tuple[float, float] | None = None) -> str:
    """A mean over the runs of a policy; rounded down where unfinished runs make it a lower estimate."""
    return f">= {in_full(round_down(mean, DIGITS))}" if summary.lower_estimate else write_beside(mean, interval)


def make_experiments(
    model: BanditModel,
    task: Task | str,
    policies: str | Sequence[str],
    confidence: Mapping[str, float | None],
    settings: Mapping[str, Any],
) -> list[Experiment]:
    """An experiment per policy; whatever is wrong with one of them is an error now."""
    if "policy" in settings:
        raise InputError("give the policies as a list, not also as the setting policy")
    check_model(model)
    settings = number_limits(settings, model.arms)
    experiments = [
        Experiment(model, task, Parameters.read(confidence, {**settings, "policy": name}))  # type: ignore[arg-type]
        for name in name_policies(policies, model, task)
    ]
    for experiment in experiments:
        _ = experiment.optimum  # a tie is an error before the first run
        start_explorer(experiment, 0)
    return experiments


def name_policies(policies: str | Sequence[str], model: BanditModel, task: Task | str) -> list[str]:
    """The names that are given, each once; for "all" those of the policies that cover the task and the family."""
    if policies == ALL:
        return list_policies(task, model.family)
    names = [name.strip() for name in policies.split(",")] if isinstance(policies, str) else list(policies)
    if not names:
        raise InputError(f"no policy is named; give names such as caet, or {ALL!r}")
    if ALL in names:
        raise InputError(f"policy {ALL!r} stands for every policy that covers the task; give it alone")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"policy {name!r} is named twice")
    return names


def run_policies(
    experiments: Sequence[Experiment], runs: int, seed: int, workers: int = 1, progress: Progress | None = None
) -> PolicyComparison:
    """Runs 0 to ``runs - 1`` of one policy after the other; all are compiled before the first is timed."""
    for experiment in experiments:
        prepare(experiment)
    found: list[Summary] = []
    try:
        for experiment in experiments:
            tell = None if progress is None else partial(progress, experiment.parameters.policy)
            started = perf_counter()
            records = run_many(experiment, runs, seed, workers, tell)
            found.append(summarise(experiment, records, perf_counter() - started, seed=seed))
    except KeyboardInterrupt as interrupt:
        part = interrupt.records if isinstance(interrupt, Interrupted) else []
        if part:
            found.append(summarise(experiment, part, perf_counter() - started, seed=seed))
        raise ComparisonInterrupted(part, PolicyComparison(tuple(found))) from interrupt
    return PolicyComparison(tuple(found))
