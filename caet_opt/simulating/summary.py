"""`simulate`, and what many runs say about the cost of a policy and its errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import log, nan
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from caet_opt.bandits.families.numerics import Array, Mask
from caet_opt.bandits.limits import number_limits
from caet_opt.bandits.model import BanditModel, check_model
from caet_opt.bandits.tasks import Task
from caet_opt.common import numbers
from caet_opt.common.files import escape_controls
from caet_opt.errors import InputError
from caet_opt.exploring.policies import Policy
from caet_opt.exploring.prediction import rule_of, say_how_near
from caet_opt.exploring.settings import RUNS, SEED, Parameters
from caet_opt.exploring.stopping.base import say_worth
from caet_opt.simulating.mean_intervals import CONFIDENCE, FEWEST, find_quantiles, mean_at_least, mean_interval
from caet_opt.simulating.runs import Experiment, RunRecord, prepare, run_many

if TYPE_CHECKING:
    import pandas as pd

#: Significance of the test whether the error rate exceeds delta.
SIGNIFICANCE = 0.01

#: Why a policy has no interval.
MAY_STARVE = "the policy may, rarely, neglect the right arm and then run for any length of time"

#: Significant digits of costs and samples, and of error rates.
DIGITS, RATE_DIGITS = 6, 4


def simulate(
    model: BanditModel,
    task: Task | str,
    *,
    delta: float | None = None,
    log_inv_delta: float | None = None,
    runs: int = RUNS,
    seed: int = SEED,
    workers: int = 1,
    progress: Callable[[RunRecord], None] | None = None,
    **settings: Any,
) -> "Summary":
    """Run a policy on a known model many times.

    Parameters
    ----------
    model, task
        The true model, and the task, by name or as an object.
    delta, log_inv_delta
        The largest error probability allowed, or log(1/delta) if it is very small.
    runs, seed
        How many runs, and the seed of all; run i depends only on the seed and i.
    workers, progress
        Number of processes, which changes only the time; a function called with each finished run.
    settings
        By their names in `caet_opt.exploring.settings.Parameters`: policy, threshold, tracking and so on.

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> summary = simulate(model, "ranking", delta=0.05, runs=20, seed=1)
    >>> summary.error_rate, round(summary.mean_cost, 2), round(summary.lower_bound, 2)
    (0.0, 67.4, 30.89)
    """
    confidence = {"delta": delta, "log_inv_delta": log_inv_delta}
    check_model(model)
    parameters = Parameters.read(confidence, number_limits(settings, model.arms))
    experiment = Experiment(model, task, parameters)  # type: ignore[arg-type]
    _ = experiment.optimum  # a tie is an error before the first run
    prepare(experiment)
    started = perf_counter()
    records = run_many(experiment, runs, seed, workers, progress)
    return summarise(experiment, records, perf_counter() - started, seed=seed)


@dataclass(frozen=True)
class Summary:
    """What many runs say; every run counts, finished or not.

    Attributes
    ----------
    runs, unfinished : all of them, and those that had not stopped by the last round allowed
    limited, answers_left : of these the runs that a limit ended, ``max_cost`` or ``max_pulls``, and how many answers
        were not excluded then, on average; None without such runs, and where answers are too many to be listed
    mean_cost, cost_ci : mean cost and the 95 % interval of `mean_intervals.mean_band`; with unfinished runs the mean is
        of what they have cost so far. There is no interval then, nor of fewer than 10 runs, nor for a policy that may
        starve an arm
    cost_at_least : what the expected cost is at least, with a confidence of 95 %, whatever its distribution; unfinished
        runs may be among them
    quantiles : 10, 50 and 90 % quantiles of the cost, by their shares as text; None where unfinished runs hide it
    mean_samples : mean number of rounds, likewise
    mean_solves, widest_gap : mean number of targets that were solved for, and the largest certified gap of one that was
        tracked; zero for a policy that solves nothing
    error_rate : runs that stopped with a wrong answer over all runs
    error_ci : its 95 % Clopper-Pearson interval, whose upper end counts every unfinished run as an error
    characteristic_time, lower_bound : T*, T* kl(delta, 1 - delta), None for a task that may have several right answers
    upper_bound : theta T* log(1/delta), which bounds the cost of an optimal policy as delta tends to 0; None for
        others, and outside the ranges in which that is proven
    predicted_cost : T* beta(tau) at this delta, by counting pulls; see `Prediction`; None beyond double precision, and
        for a policy that is not predictable
    rounds_per_second : of all workers together; None when no time was given
    policy, threshold, seed : of the runs; no seed where it was not told
    guaranteed, assumes : whether the threshold is proven, and for which rewards
    consistent : whether so many errors are not significantly (1 %, one-sided, exact) more than delta allows

    Examples
    --------
    >>> model = BanditModel("gaussian", [2, 0], costs=[1, 1])
    >>> summary = simulate(model, "best-arm", delta=0.05, runs=20, seed=1)
    >>> summary.records[["run", "correct", "rounds"]].head(2)
       run  correct  rounds
    0    0     True       8
    1    1     True      16
    """

    runs: int
    mean_cost: float
    cost_ci: tuple[float, float] | None
    cost_at_least: float
    quantiles: dict[str, float | None]
    mean_samples: float
    error_rate: float
    unfinished: int
    limited: int
    answers_left: float | None
    characteristic_time: float
    lower_bound: float | None
    upper_bound: float | None
    predicted_cost: float | None
    rounds_per_second: float | None
    policy: str
    threshold: str
    seed: int | None
    error_ci: tuple[float, float]
    guaranteed: bool
    assumes: str
    mean_solves: float
    widest_gap: float
    consistent: bool = field(metadata={"told": False})
    experiment: Experiment = field(repr=False, metadata={"told": False})
    run_records: tuple[RunRecord, ...] = field(repr=False, metadata={"told": False})

    @property
    def lower_estimate(self) -> bool:
        """Whether unfinished runs make the mean cost and the mean number of samples too small."""
        return self.unfinished > 0

    @property
    def open_ended(self) -> bool:
        """Whether runs cannot say what the expected cost is at most: some are unfinished, or rare ones may take any
        time."""
        return self.lower_estimate or self.experiment.policy.may_starve

    @property
    def ratio(self) -> float | None:
        """Mean cost over the lower bound; None where that is zero, or there is none."""
        return self.mean_cost / self.lower_bound if self.lower_bound else None

    @property
    def microseconds_per_round(self) -> float | None:
        """Of all workers together; None when no time was given."""
        return None if self.rounds_per_second is None else 1e6 / self.rounds_per_second

    @property
    def records(self) -> "pd.DataFrame":
        """A row per run: run, stopped, correct (missing when it did not stop), answer, rounds, cost, solves, widest_gap
        and counts."""
        import pandas as pd

        columns = ["run", *RunRecord._fields[1:-1]]
        return pd.DataFrame([run[:-1] for run in self.run_records], columns=columns).astype({"correct": "boolean"})

    def to_record(self) -> dict[str, Any]:
        """The fields of ``simulate --json``."""
        entries = type(self).__dataclass_fields__.values()
        return {entry.name: getattr(self, entry.name) for entry in entries if entry.metadata.get("told", True)}

    def __str__(self) -> str:
        """What was run, and what came of it, as people read it."""
        head = [self._what_was_run(), *threshold_lines(self.experiment)]
        errors = [f"{'errors':<12} {self.error_text()}", f"{'unfinished':<12} {self.unfinished_text() or 0}"]
        lines = [*head, "", *self._cost_lines(), *errors]
        if self.rounds_per_second is not None:
            lines += [f"{'speed':<12} {float(f'{self.rounds_per_second:.3g}'):.10g} rounds per second"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        import pandas as pd

        shown = {"delta": self.experiment.parameters.delta, **self.to_record()}
        html: str = pd.Series(shown).to_frame().to_html(header=False)
        return html

    def _what_was_run(self) -> str:
        experiment, runs = self.experiment, f"{self.runs} run{'s'[: self.runs != 1]}"
        tracking = f" with {name_tracking(experiment)}" if experiment.policy.tracks else ""
        return f"policy {self.policy}{tracking}, {conditions([experiment], runs, self.seed)}"

    def _cost_lines(self) -> list[str]:
        """Mean cost, bounds and samples; the costs also over log(1/delta)."""
        level = self.experiment.parameters.log_inv_delta
        spread = f"  expected at least {self.least_text()} (95 %): {self.no_interval_text()}"
        if self.cost_ci is not None:
            spread = f"  95 % in {numbers.in_full(numbers.write_interval(*self.cost_ci, DIGITS))}"
        lines = bound_lines(self.experiment)
        if self.predicted_cost is not None:
            found = say_how_near(self.experiment.task, rule_of(self.experiment.parameters))
            lines += [cost_line("predicted", self.predicted_cost, level, f"  T* beta(tau) at this delta; {found}")]
        digits = numbers.digits_beside(self.mean_cost, self.cost_ci, DIGITS)
        lines += [cost_line("mean cost", self.mean_cost, level, spread, partial(self.write_estimate, digits=digits))]
        lines += [f"{'quantiles':<12} {write_quantiles(self.quantiles)} (cost of a run)"]
        if self.upper_bound is not None:
            told = "  theta T* log(1/delta), as delta tends to 0"
            lines += [cost_line("upper bound", self.upper_bound, level, told, partial(write_bound, numbers.round_up))]
        elif self.experiment.policy.optimal:
            lines += [f"upper bound  not proven: {self.experiment.why_no_bound}"]
        lines += [f"{'samples':<12} {self.write_estimate(self.mean_samples)} on average"]
        if self.mean_solves > 0:
            gap = numbers.write_gap(self.widest_gap)
            lines += [f"{'targets':<12} {self.mean_solves:.{DIGITS}g} solves on average, largest gap {gap}"]
        return lines

    def write_estimate(self, mean: float | Fraction, digits: int = DIGITS) -> str:
        """A mean over all runs; rounded down where unfinished ones make it a lower estimate."""
        return f"at least {write_bound(numbers.round_down, mean)}" if self.lower_estimate else write_cost(mean, digits)

    def least_text(self) -> str:
        """What the expected cost is at least."""
        return numbers.in_full(numbers.round_down(self.cost_at_least, DIGITS))

    def no_interval_text(self) -> str:
        """Why there is no interval."""
        if self.unfinished:
            return "no upper end while runs are unfinished"
        return f"no upper end, as {MAY_STARVE}" if self.open_ended else f"no interval for fewer than {FEWEST} runs"

    def error_text(self) -> str:
        """The error rate with its interval, and whether that is too much."""
        verdict = "consistent with delta" if self.consistent else "significantly ABOVE delta"
        interval = numbers.write_interval(*self.error_ci, RATE_DIGITS)
        return f"{self.error_rate:.{RATE_DIGITS}g}, 95 % in {interval}, {verdict}"

    def unfinished_text(self) -> str:
        """How many runs are unfinished, if any, and what that means."""
        if not self.unfinished:
            return ""
        parameters, why = self.experiment.parameters, ""
        if self.unfinished > self.limited:
            why = f" after {parameters.max_rounds} rounds"
        if self.limited:
            told = " or ".join(f"{name} {value:.15g}" for name, value in parameters.ends.items() if value is not None)
            left = "" if self.answers_left is None else f", with {self.answers_left:.3g} answers left on average"
            why += f"; {told} ended {self.limited} of them{left}"
        return (
            f"{self.unfinished} of {self.runs} runs had not stopped{why}; "
            "they are counted as far as they went, so mean cost and samples are lower estimates"
        )


def name_tracking(experiment: Experiment) -> str:
    """C-tracking or D-tracking."""
    return f"{experiment.parameters.tracking.upper()}-tracking"


def conditions(experiments: Sequence[Experiment], runs: str, seed: int | None) -> str:
    """Costs, runs, confidence and solver, of experiments that differ in their policy alone."""
    parameters = experiments[0].parameters
    costs = {"known": "known costs", "gaps": "costs are the gaps to the best arm"}.get(
        str(parameters.cost_source), f"observed costs ({parameters.cost_distribution})"
    )
    confidence = numbers.write_level(parameters.log_inv_delta)
    told = runs if seed is None else f"{runs}, seed {seed}"
    targets = "" if parameters.solve == "exact" else f" ({parameters.solve})"
    solver = f"; solver {experiments[0].profile.label}{targets}" if any(one.solves for one in experiments) else ""
    batch = "" if parameters.batch == 1 else f"; batch {parameters.batch}"
    return f"{costs}; {told}, {confidence}{solver}{batch}"


def threshold_lines(experiment: Experiment) -> list[str]:
    """The formula of the threshold, whether it guarantees the error probability, and for which rewards; and where
    rewards are drawn from samples, that they are."""
    rule, family, level = experiment.rule, experiment.model.family, experiment.parameters.log_inv_delta
    worth = say_worth(rule.guarantees(family), family.describe_assumption(), level)
    return [f"threshold {rule.name}: {rule.describe()}", f"{worth} ({rule.reason})", *sample_lines(experiment.model)]


def sample_lines(model: BanditModel) -> list[str]:
    """That rewards are drawn from the samples of a pilot, where they are."""
    sizes = None if model.distributions is None else model.distributions.sampled
    if sizes is None:
        return []
    many = str(sizes[0]) if len(set(sizes)) == 1 else f"{min(sizes)} to {max(sizes)}"
    return [f"a bootstrap of a pilot: rewards are drawn from its samples, {many} per arm, as if no others existed"]


def bound_lines(experiment: Experiment) -> list[str]:
    """T*, and what no policy costs less than, where that is known at this delta."""
    level, bound = experiment.parameters.log_inv_delta, experiment.lower_bound
    time = f"{'T*':<12} {write_cost(experiment.optimum.value, 9)}"
    if bound is None:
        easiest = experiment.task.write_answer(experiment.optimum.answer, experiment.model.arms)
        return [f"{time}  of the easiest right answer: {escape_controls(easiest)}"]
    digits = ", zero for delta of 1/2 or more" if level <= log(2) else ", rounded down"
    scope = experiment.model.family.bound_scope
    told = f"  T* kl(delta, 1 - delta){f', for strategies{scope}' if scope else ''}{digits}"
    lowest = cost_line("lower bound", bound, level, told, partial(write_bound, numbers.round_down))
    return [time, lowest]


def write_cost(cost: float | Fraction, digits: int = DIGITS) -> str:
    """A number that bounds nothing."""
    return numbers.in_full(f"{float(cost):.{digits}g}")


def write_quantiles(quantiles: Mapping[str, float | None]) -> str:
    """Quantiles of the cost, a dash where unfinished runs hide one."""
    return ", ".join(
        f"{100 * float(share):g} %: {'-' if cost is None else write_cost(cost)}" for share, cost in quantiles.items()
    )


def write_bound(rounded: Callable[[float | Fraction, int], str], bound: float | Fraction) -> str:
    """A bound, rounded to its own side."""
    return numbers.in_full(numbers.without_zeros(rounded(bound, DIGITS)))


def cost_line(
    name: str, cost: float, level: float, note: str, write: Callable[[float | Fraction], str] = write_cost
) -> str:
    """A cost, also over log(1/delta), with what is to be said of it."""
    return f"{name:<12} {write(cost)}, over log(1/delta) {write(Fraction(cost) / Fraction(level))}{note}"


def summarise(
    experiment: Experiment, records: Sequence[RunRecord], seconds: float | None = None, *, seed: int | None = None
) -> Summary:
    """Means, intervals and bounds of the runs; ``seconds`` is the time that they took together.

    >>> from caet_opt.exploring.settings import Parameters
    >>> from caet_opt.simulating.runs import Experiment, run_many
    >>> from caet_opt.simulating.summary import summarise
    >>> experiment = Experiment(BanditModel("gaussian", [2, 0], costs=[1, 1]), "best-arm", Parameters(delta=0.05))
    >>> summarise(experiment, run_many(experiment, runs=20, seed=1)).mean_samples
    12.0
    """
    if not records:
        raise InputError("there is no run to summarise")
    costs, rounds = np.array([record.cost for record in records]), np.array([record.rounds for record in records])
    stopped = np.array([record.stopped for record in records])
    errors = sum(record.correct is False for record in records)
    parameters = experiment.parameters
    limited = ~stopped & (rounds < parameters.max_rounds) & any(parameters.ends.values())
    left = [record.answers_left for record in records if record.answers_left is not None]
    return Summary(
        **measure_runs(costs, rounds, stopped, errors, experiment.parameters.delta, experiment.policy),
        limited=int(limited.sum()),
        answers_left=float(np.mean(left)) if left else None,
        mean_solves=float(np.mean([record.solves for record in records])),
        widest_gap=max(record.widest_gap for record in records),
        characteristic_time=experiment.optimum.value,
        lower_bound=experiment.lower_bound,
        upper_bound=experiment.upper_bound,
        predicted_cost=experiment.predicted_cost,
        rounds_per_second=int(rounds.sum()) / seconds if seconds else None,
        policy=experiment.parameters.policy,
        threshold=experiment.rule.name,
        seed=seed,
        guaranteed=experiment.rule.guarantees(experiment.model.family),
        assumes=experiment.model.family.describe_assumption(),
        experiment=experiment,
        run_records=tuple(records),
    )


def measure_runs(
    costs: Array, rounds: Array, stopped: Mask, errors: int, delta: float, policy: type[Policy]
) -> dict[str, Any]:
    """What `Summary` and a row of results say of runs with these costs and rounds, by the names of `Summary`."""
    runs, unfinished = len(costs), int(np.sum(~stopped))
    return {
        "runs": runs,
        "unfinished": unfinished,
        "mean_cost": float(costs.mean()),
        "cost_ci": None if unfinished or policy.may_starve else mean_interval(costs),
        "cost_at_least": mean_at_least(costs),
        "quantiles": find_quantiles(costs, stopped),
        "mean_samples": float(rounds.mean()),
        "error_rate": errors / runs,
        "error_ci": error_interval(errors, errors + unfinished, runs),
        "consistent": tail_probability(errors, runs, delta) >= SIGNIFICANCE,
    }


def ends(name: str, interval: tuple[float, float] | None) -> dict[str, float]:
    """The columns of an interval."""
    low, high = interval or (nan, nan)
    return {f"{name}_low": low, f"{name}_high": high}


def error_interval(fewest: int, most: int, runs: int) -> tuple[float, float]:
    """Clopper-Pearson: the alpha/2 quantile of Beta(k, n - k + 1) at the fewest, 1 - alpha/2 of Beta(k + 1, n - k) at
    the most errors that there can have been."""
    from scipy.special import betaincinv

    tail = 0.5 * (1.0 - CONFIDENCE)
    lower = 0.0 if fewest == 0 else float(betaincinv(fewest, runs - fewest + 1, tail))
    upper = 1.0 if most == runs else float(betaincinv(most + 1, runs - most, 1.0 - tail))
    return lower, upper


def tail_probability(errors: int, runs: int, delta: float) -> float:
    """P(X >= errors) for X binomial(runs, delta)."""
    from scipy.special import bdtrc

    return 1.0 if errors == 0 else float(bdtrc(errors - 1, runs, delta))
