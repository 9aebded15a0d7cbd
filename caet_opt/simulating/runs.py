"""Many simulated runs of CAET on a known model, and what they say about its cost and its errors."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property
from math import e, isfinite, sqrt
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import bdtrc, betaincinv, stdtrit

from caet_opt.bandits.families import Gaussian
from caet_opt.bandits.model import BanditModel, gaps
from caet_opt.bandits.tasks import BestArm, Task
from caet_opt.errors import InputError, SolverError, unknown_name
from caet_opt.exploring.parameters import Parameters
from caet_opt.exploring.policies.caet import Caet
from caet_opt.exploring.stopping import Deviational, Threshold, make_threshold
from caet_opt.simulating.loops import run_compiled, run_reference
from caet_opt.simulating.pool import check_count, check_workers, run_jobs
from caet_opt.simulating.streams import COST_DISTRIBUTIONS, ArmStreams
from caet_opt.solving.backends import BACKENDS
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.native.compiled import FAMILY_CODES, compiled_kernel
from caet_opt.solving.profiles import Profile, find_profile
from caet_opt.solving.result import CharacteristicTime

LOOPS = ("compiled", "reference")

#: The most rounds of a run, whose counts are exact as doubles, and the most runs that are kept in memory.
MOST_ROUNDS, MOST_RUNS = 10**15, 10**8

#: The largest cost of a pull: sums of so many, and their squares, stay in double precision.
LARGEST_COST = 1e100

#: The largest theta for which the paper's upper bound is proven.
LARGEST_THETA = e / 2

#: Confidence of the intervals, and significance of the test whether the error rate exceeds delta.
CONFIDENCE, SIGNIFICANCE = 0.95, 0.01


@dataclass(frozen=True)
class Experiment:
    """A model to be found out about by simulated runs of CAET; checked on construction.

    Attributes
    ----------
    model, task : the truth, and what is asked about it
    parameters : confidence, exponents, tracking rule and where costs come from
    threshold, theta, constant : see `caet_opt.exploring.stopping.make_threshold`
    max_rounds : a run that has not stopped by then is unfinished
    solver, loop : the backend of every round's target; the compiled loop is the native one on a shipped family, so
        that any other solver or family runs in the reference loop
    cost_distribution : of the observed costs, with the model's costs as means: "constant", "exponential", "uniform"
        on [0, 2 c], or "bernoulli" (0 or 1)
    """

    model: BanditModel
    task: Task
    parameters: Parameters
    threshold: str = "deviational"
    theta: float | None = None
    constant: float | str | None = None
    max_rounds: int = 10_000_000
    solver: str | Profile = "native"
    loop: Literal["compiled", "reference"] = "compiled"
    cost_distribution: str = "constant"

    def __post_init__(self) -> None:
        self.task.check(len(self.model.means))
        check_count(self.max_rounds, "max_rounds", MOST_ROUNDS)
        if self.loop not in LOOPS:
            raise InputError(unknown_name("loop", str(self.loop), LOOPS))
        self._check_theta(self.rule)
        self._check_costs()
        self.model.family.check_drawing(self.model.means)
        BACKENDS[self.profile.backend].require()

    def _check_theta(self, rule: Threshold) -> None:
        if isinstance(rule, Deviational) and rule.theta > LARGEST_THETA and not self.parameters.outside_theory:
            raise InputError(
                f"theta = {rule.theta:g} is outside (1, e/2], where the upper bound holds; outside_theory allows it"
            )

    def _check_costs(self) -> None:
        source, distribution = self.parameters.costs, self.cost_distribution
        if distribution not in COST_DISTRIBUTIONS:
            raise InputError(unknown_name("cost distribution", str(distribution), COST_DISTRIBUTIONS))
        if distribution != "constant" and source != "observed":
            raise InputError(f"{distribution} costs must be observed; costs from {source!r} are constant")
        if distribution == "bernoulli" and max(self.model.costs) > 1:
            raise InputError(f"bernoulli costs are 0 or 1, with mean at most 1, got {max(self.model.costs):g}")
        rule, given = self.model.cost_rule, self.model.costs
        if source == "gaps" and rule != "gaps" and given != gaps(self.model.means):
            raise InputError("gaps as the source of costs need a model whose costs are 'gaps'")
        if max(self.model.costs) > LARGEST_COST:
            raise InputError(
                f"costs up to {LARGEST_COST:g} can be added up, got {max(self.model.costs):g}; rescale the costs"
            )

    @cached_property
    def rule(self) -> Threshold:
        """The threshold itself."""
        model, level = self.model, self.parameters.log_inv_delta
        return make_threshold(
            self.threshold, model.family, len(model.means), level, theta=self.theta, constant=self.constant
        )

    @cached_property
    def profile(self) -> Profile:
        """The profile of the solver."""
        return find_profile(self.solver)

    @property
    def compiled(self) -> bool:
        """Whether runs use the compiled loop."""
        return self.loop == "compiled" and self.native

    @property
    def native(self) -> bool:
        """Whether the compiled native solver finds every round's target, in whichever loop."""
        return self.profile.backend == "native" and type(self.model.family) in FAMILY_CODES

    @cached_property
    def optimum(self) -> CharacteristicTime:
        """T* of the model; `TieError` where it is infinite, `InputError` where the upper bound is no double."""
        found = characteristic_time(self.model, self.task)
        if not isfinite(self.theta_of_bound * found.value * self.parameters.log_inv_delta):
            raise InputError(
                f"T* = {found.value:g} times log(1/delta) = {self.parameters.log_inv_delta:g} is outside double "
                f"precision; rescale the costs"
            )
        return found

    @property
    def theta_of_bound(self) -> float:
        """theta of the asymptotic upper bound: one unless the threshold is deviational."""
        return float(self.rule.theta) if isinstance(self.rule, Deviational) else 1.0

    @property
    def lower_bound(self) -> float:
        """``T* kl(delta, 1 - delta)``, zero from delta = 1/2 on."""
        return self.optimum.lower_bound(log_inv_delta=self.parameters.log_inv_delta)

    @property
    def upper_bound(self) -> float:
        """``theta T* log(1/delta)``, the asymptotic upper bound; theta is one unless the threshold is deviational."""
        return self.theta_of_bound * self.optimum.value * self.parameters.log_inv_delta


class RunRecord(NamedTuple):
    """One run; ``correct`` is None when it did not stop, and ``answer`` is then what the means said last."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    stopped: bool
    correct: bool | None
    answer: str
    rounds: int
    cost: float
    counts: tuple[int, ...]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during many runs; ``records`` holds those that were finished, in the order of their index."""

    def __init__(self, records: Sequence[RunRecord]) -> None:
        super().__init__(f"{len(records)} runs are finished")
        self.records = sorted(records)


def run_once(experiment: Experiment, seed: np.random.SeedSequence, index: int) -> RunRecord:
    """One run; a function of the experiment and of the seed's entropy and spawn key."""
    model, parameters = experiment.model, experiment.parameters
    caet = Caet(
        experiment.task,
        model.family,
        len(model.means),
        parameters,
        experiment.rule,
        costs=model.costs if parameters.costs == "known" else None,
        solver=experiment.profile,
    )
    fresh = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)  # a used one would spawn other children
    streams = ArmStreams(model, fresh, experiment.cost_distribution)
    try:
        stopped = (run_compiled if experiment.compiled else run_reference)(caet, streams, experiment.max_rounds)
    except SolverError as error:
        raise SolverError(f"run {index}, round {caet.state.round + 1}: {error}", error.gap) from error
    explored = min(caet.state.counts) > 0
    return RunRecord(
        index=index,
        stopped=stopped,
        correct=caet.answer == experiment.task.answer(model.means) if stopped else None,
        answer=str(caet.answer) if explored else "",
        rounds=caet.state.round,
        cost=caet.state.total_cost,
        counts=caet.state.counts,
    )


def run_many(
    experiment: Experiment,
    runs: int,
    seed: int,
    workers: int = 1,
    progress: Callable[[RunRecord], None] | None = None,
) -> list[RunRecord]:
    """Runs 0 to ``runs - 1`` in this order, run i from ``SeedSequence(seed, spawn_key=(i,))``.

    The result does not depend on the number of worker processes. ``progress`` is told of every run as it finishes.
    Ctrl-C raises `Interrupted` with the finished runs.
    """
    check_count(runs, "runs", MOST_RUNS)
    check_workers(workers)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be a whole number, zero or more, got {seed!r}")
    records: list[RunRecord] = []
    try:
        prepare(experiment)
        with closing(run_jobs(run_numbered, (experiment, seed), range(runs), workers)) as finished:
            for record in finished:
                records.append(record)
                if progress is not None:
                    progress(record)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(records) from interrupt
    return sorted(records)


def prepare(experiment: Experiment) -> None:
    """Have the loop and the solver compiled, so that workers find them so and no run is timed with it."""
    if experiment.compiled:
        compile_loop()
    elif experiment.native:
        compiled_kernel()


@cache
def compile_loop() -> None:
    """Compile the loop by a short run, once in a process and in those that it forks."""
    model = BanditModel(Gaussian(), [1.0, 0.0], [1.0, 1.0])
    short = Experiment(model, BestArm(), Parameters(2.0), threshold="customary", max_rounds=20)
    run_once(short, np.random.SeedSequence(0), 0)


def run_number(experiment: Experiment, seed: int, index: int) -> RunRecord:
    """The run with this index of those that belong to a seed."""
    return run_once(experiment, np.random.SeedSequence(seed, spawn_key=(index,)), index)


def run_numbered(shared: tuple[Experiment, int], index: int) -> RunRecord:
    """The run with this index, for `run_jobs`."""
    return run_number(*shared, index)


@dataclass(frozen=True)
class Summary:
    """What many runs say; every run counts, finished or not.

    Attributes
    ----------
    runs, unfinished : all of them, and those that had not stopped by the last round allowed
    mean_cost, cost_ci : mean cost and its 95 % t-interval; with unfinished runs a lower estimate
    mean_samples : mean number of rounds, likewise
    error_rate : runs that stopped with a wrong answer over all runs
    error_ci : its 95 % Clopper-Pearson interval, whose upper end counts every unfinished run as an error
    consistent : whether so many errors are not significantly (1 %, one-sided, exact) more than delta allows
    characteristic_time, lower_bound, upper_bound : T*, T* kl(delta, 1 - delta), theta T* log(1/delta)
    rounds_per_second : of all workers together; None when no time was given
    guaranteed, threshold : whether the threshold is proven for this family, and its formula
    """

    runs: int
    unfinished: int
    mean_cost: float
    cost_ci: tuple[float, float] | None
    mean_samples: float
    error_rate: float
    error_ci: tuple[float, float]
    consistent: bool
    characteristic_time: float
    lower_bound: float
    upper_bound: float
    rounds_per_second: float | None
    guaranteed: bool
    threshold: str

    @property
    def lower_estimate(self) -> bool:
        """Whether unfinished runs make the mean cost and the mean number of samples too small."""
        return self.unfinished > 0


def summarise(experiment: Experiment, records: Sequence[RunRecord], seconds: float | None = None) -> Summary:
    """Means, intervals and bounds of the runs; ``seconds`` is the time that they took together."""
    if not records:
        raise InputError("there is no run to summarise")
    runs, unfinished = len(records), sum(not record.stopped for record in records)
    errors = sum(record.correct is False for record in records)
    costs = np.array([record.cost for record in records])
    rounds = sum(record.rounds for record in records)
    return Summary(
        runs=runs,
        unfinished=unfinished,
        mean_cost=float(costs.mean()),
        cost_ci=mean_interval(costs),
        mean_samples=rounds / runs,
        error_rate=errors / runs,
        error_ci=error_interval(errors, errors + unfinished, runs),
        consistent=at_least(errors, runs, experiment.parameters.delta) >= SIGNIFICANCE,
        characteristic_time=experiment.optimum.value,
        lower_bound=experiment.lower_bound,
        upper_bound=experiment.upper_bound,
        rounds_per_second=rounds / seconds if seconds else None,
        guaranteed=experiment.rule.guarantees(experiment.model.family),
        threshold=experiment.rule.describe(),
    )


def mean_interval(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[float, float] | None:
    """``mean -+ t_(n-1) s / sqrt(n)``; None for a single value."""
    if len(values) < 2:
        return None
    quantile = float(stdtrit(len(values) - 1, 0.5 * (1.0 + CONFIDENCE)))
    centre, half = float(values.mean()), quantile * float(values.std(ddof=1)) / sqrt(len(values))
    return centre - half, centre + half


def error_interval(fewest: int, most: int, runs: int) -> tuple[float, float]:
    """Clopper-Pearson: the alpha/2 quantile of Beta(k, n - k + 1) at the fewest, 1 - alpha/2 of Beta(k + 1, n - k) at
    the most errors that there can have been."""
    tail = 0.5 * (1.0 - CONFIDENCE)
    lower = 0.0 if fewest == 0 else float(betaincinv(fewest, runs - fewest + 1, tail))
    upper = 1.0 if most == runs else float(betaincinv(most + 1, runs - most, 1.0 - tail))
    return lower, upper


def at_least(errors: int, runs: int, delta: float) -> float:
    """P(X >= errors) for X binomial(runs, delta)."""
    return 1.0 if errors == 0 else float(bdtrc(errors - 1, runs, delta))
