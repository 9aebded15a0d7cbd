"""Many simulated runs of CAET on a known model; what they say is in `caet_opt.simulating.summary`."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import e, isfinite
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.families import Gaussian
from caet_opt.bandits.model import BanditModel, gaps
from caet_opt.bandits.tasks import BestArm, Task, pose_task
from caet_opt.bandits.tasks.statements import judge
from caet_opt.common.checks import check_whole
from caet_opt.errors import InputError, SolverError, unknown_name
from caet_opt.exploring.compiling import compile_rounds
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.following import MOST_LISTED
from caet_opt.exploring.policies import Policy, find_policy
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.prediction import Prediction, predict
from caet_opt.exploring.settings import CostSource, Parameters
from caet_opt.exploring.stopping import Betting, Deviational, Threshold, threshold_of
from caet_opt.kernels import ledger
from caet_opt.kernels.e_values import BLUR
from caet_opt.simulating.pool import check_workers, run_jobs
from caet_opt.simulating.streams import COST_DISTRIBUTIONS, ArmStreams
from caet_opt.solving.backends import BACKENDS
from caet_opt.solving.characteristic import characteristic_time, profile_of_rounds
from caet_opt.solving.profiles import Profile
from caet_opt.solving.result import CharacteristicTime

#: The most rounds of a run, whose counts are exact as doubles, and the most runs that are kept in memory.
MOST_ROUNDS, MOST_RUNS = 10**15, 10**8

#: The largest cost of a pull: sums of so many, and their squares, stay in double precision.
LARGEST_COST = 1e100

#: Up to which theta, and below which r and r_prime, the paper's asymptotic upper bound is proven.
LARGEST_THETA, THEORY_R, THEORY_R_PRIME = e / 2, 1 / 2, 1 / 8


@dataclass(frozen=True)
class Experiment:
    """A model, a question about it and settings, for simulated runs; checked on construction.

    Attributes
    ----------
    model, task : the truth, and what is asked about it; the task may be given by its name
    parameters : the confidence and every setting; costs come from the gaps where the model's are gaps, unless told

    Examples
    --------
    >>> from caet_opt.exploring.settings import Parameters
    >>> from caet_opt.simulating.runs import Experiment
    >>> experiment = Experiment(BanditModel("gaussian", [2, 0], costs=[1, 1]), "best-arm", Parameters(delta=0.05))
    >>> round(experiment.optimum.value, 6), round(experiment.lower_bound, 6)
    (2.0, 5.29999)
    """

    model: BanditModel
    task: Task
    parameters: Parameters

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", pose_task(self.model, self.task))
        if self.parameters.cost_source is None:
            source: CostSource = "gaps" if self.model.cost_rule == "gaps" else "known"
            object.__setattr__(self, "parameters", replace(self.parameters, cost_source=source))
        if self.task.needs_costs and self.parameters.cost_source != "known":
            raise InputError(
                f"task {str(self.task)!r} needs costs that are known beforehand, not {self.parameters.cost_source} ones"
            )
        self.policy.check(self.task)
        self.policy.check_limits(self.parameters, self.model.family)
        object.__setattr__(self, "parameters", replace(self.parameters, threshold=self.rule.name))
        check_whole(self.parameters.max_rounds, "max_rounds", 1, MOST_ROUNDS)
        self._check_costs()
        self.model.family.check_drawing(self.model.means)
        self._check_resolution()
        BACKENDS[self.profile.backend].require()

    def change(self, **settings: Any) -> "Experiment":
        """The same with other settings."""
        return replace(self, parameters=replace(self.parameters, **settings))

    def _check_resolution(self) -> None:
        """Raise `InputError` for a statement whose two sides are nearer than twice what rounding may move empirical
        means by: the evidence that is left of such a difference (`told_apart`) is a quarter or less, and nothing in the
        end."""
        model = self.model
        for statement in self.task.statements(self._judged_means):
            sides = [0 if arm is None else self._judged_means[arm] for arm in statement[:2]]
            sizes = [float(part) for part in (sides[0], statement.ratio * sides[1], statement.margin)]
            if statement.is_plain:
                told, apart = "the means of arms {} and {} differ by".format(*statement.arms), abs(sizes[0] - sizes[1])
            else:
                told = f"the two sides of {statement.write(model.arms)!r} differ by"
                apart = float(abs(sides[0] - statement.ratio * sides[1] - statement.margin))
            blur = BLUR * sum(map(abs, sizes))
            if 0.0 < apart <= 2.0 * blur:
                raise InputError(
                    f"{told} {apart:.2g}, and rounding may move means near {sizes[0]:g} by {0.5 * blur:.2g}: "
                    "rewards do not tell these arms apart; subtract a constant from all means"
                )

    def _check_costs(self) -> None:
        source, distribution = self.parameters.cost_source, self.parameters.cost_distribution
        if distribution not in COST_DISTRIBUTIONS:
            raise InputError(unknown_name("cost distribution", str(distribution), COST_DISTRIBUTIONS))
        if distribution != "constant" and source != "observed":
            raise InputError(f"{distribution} costs must be observed; costs from {source!r} are constant")
        if distribution == "bernoulli" and max(self.model.costs) > 1:
            raise InputError(f"bernoulli costs are 0 or 1, with mean at most 1, got {max(self.model.costs):g}")
        rule, given = self.model.cost_rule, self.model.costs
        if source == "gaps" and rule != "gaps" and given != gaps(self.model.means, self.model.lower_is_better):
            raise InputError("gaps as the source of costs need a model whose costs are 'gaps'")
        if max(self.model.costs) > LARGEST_COST:
            raise InputError(
                f"costs must be at most {LARGEST_COST:g}, got {max(self.model.costs):g}; rescale the costs"
            )

    @cached_property
    def rule(self) -> Threshold:
        """The threshold itself."""
        return threshold_of(self.parameters, self.model.family, len(self.model.means), self.task)

    @property
    def policy(self) -> type[Policy]:
        """The sampling rule."""
        return find_policy(self.parameters.policy)

    @cached_property
    def profile(self) -> Profile:
        """The profile of the solver."""
        return profile_of_rounds(self.parameters.solver, self.parameters.share_limits)

    @property
    def solves(self) -> bool:
        """Whether the policy solves for its target in every round, by the solver of the parameters."""
        return not issubclass(self.policy, IndexPolicy)

    @cached_property
    def optimum(self) -> CharacteristicTime:
        """T* of the model; `TieError` where it is infinite, `InputError` where the upper bound is no double."""
        found = characteristic_time(self.model, self.task, limits=self.parameters.share_limits)
        if not isfinite(self.theta_of_bound * found.value * self.parameters.log_inv_delta):
            raise InputError(
                f"T* = {found.value:g} times log(1/delta) = {self.parameters.log_inv_delta:g} is outside double "
                f"precision; rescale the costs"
            )
        return found

    @cached_property
    def right_answer(self) -> Hashable:
        """The answer at the true means."""
        return self.task.answer(self._judged_means)

    def is_right(self, answer: Hashable) -> bool:
        """Whether an answer is the right one, or one of several: all that it asserts holds."""
        if not self.task.several_right:
            return bool(answer == self.right_answer)
        asserted = self.task.answer_statements(answer, len(self.model.means))
        return all(judge(statement, self._judged_means) > 0 for statement in asserted)

    @cached_property
    def _judged_means(self) -> Sequence[Any]:
        """The means, where there are levels, margins or ratios as they were given: 0.3 is not less than 0.2 + 0.1."""
        plain = all(statement.is_plain for statement in self.task.numbered_statements())
        return self.model.means if plain else self.model.exact_means

    @property
    def theta_of_bound(self) -> float:
        """theta of the asymptotic upper bound: one unless the threshold is deviational."""
        return float(self.rule.theta) if isinstance(self.rule, Deviational) else 1.0

    @property
    def lower_bound(self) -> float | None:
        """``T* kl(delta, 1 - delta)``, zero from delta = 1/2 on; None for a task that may have several right answers,
        for which there is no bound at a given delta."""
        if self.task.several_right:
            return None
        return self.optimum.lower_bound(log_inv_delta=self.parameters.log_inv_delta)

    @property
    def is_in_theory(self) -> bool:
        """Whether ``theta <= e/2``, ``r < 1/2`` and ``r_prime < 1/8``, where the asymptotic upper bound is proven.

        For D-tracking it is not where costs are gaps and several arms are best: which of them is free never settles;
        nor under limits, as the optimal effort need not be unique (docs/mathematics/limits.md). Nor where more answers
        are right than are looked through for the easiest, nor for rewards in a range.
        """
        r, r_prime, means = self.parameters.r, self.parameters.r_prime, self.model.means
        best = min(means) if self.model.lower_is_better else max(means)
        if self.parameters.tracking == "d" and self.parameters.cost_source == "gaps" and means.count(best) > 1:
            return False
        if self.parameters.tracking == "d" and self.parameters.limits is not None:
            return False
        if self.task.several_right and len(self.optimum.times) > MOST_LISTED:
            return False
        if isinstance(self.rule, Betting):  # finitely many bets lose some hundredths of the evidence
            return False
        return self.theta_of_bound <= LARGEST_THETA and r < THEORY_R and r_prime < THEORY_R_PRIME

    @property
    def why_no_bound(self) -> str:
        """What is missing for the asymptotic upper bound, where it is not proven."""
        if isinstance(self.rule, Betting):
            return "for rewards in a range, finitely many bets come close to T* log(1/delta) but do not reach it"
        return "the proof needs theta <= e/2, r < 1/2, r_prime < 1/8 and, if costs are gaps, one best arm"

    @property
    def upper_bound(self) -> float | None:
        """``theta T* log(1/delta)``, the asymptotic upper bound of an optimal policy, and None for one that is not and
        outside the theory; see `theta_of_bound`."""
        bound = self.theta_of_bound * self.optimum.value * self.parameters.log_inv_delta
        return bound if self.policy.optimal and self.is_in_theory else None

    @cached_property
    def prediction(self) -> Prediction | None:
        """When a run is expected to stop and what it will have cost; None where that leaves double precision, for a
        policy whose pulls are not at u_alpha, and for batches, which end later than the evidence is there."""
        predictable = self.policy.predictable and self.parameters.batch == 1
        return predict(self.optimum, self.rule, self.parameters) if predictable else None

    @property
    def predicted_cost(self) -> float | None:
        """``T* beta(tau)`` at this delta, counted in pulls: see `caet_opt.exploring.prediction.predict`."""
        return None if self.prediction is None else self.prediction.cost


class RunRecord(NamedTuple):
    """One run; ``correct`` is None when it did not stop, and ``answer`` is then what the means said last.

    ``solves`` is how many targets were solved for, and ``widest_gap`` the largest certified gap of one that was
    tracked, `Explorer.widest_gap`. ``answers_left`` is how many answers were not excluded when a limit ended the run;
    None for other runs, where answers are too many to be listed, and in studies, which have no limits.

    >>> from caet_opt.exploring.settings import Parameters
    >>> from caet_opt.simulating.runs import Experiment, run_many
    >>> experiment = Experiment(BanditModel("gaussian", [2, 0], costs=[1, 1]), "best-arm", Parameters(delta=0.05))
    >>> (record,) = run_many(experiment, runs=1, seed=1)
    >>> record.correct, record.rounds, record.cost
    (True, 8, 8.0)
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    stopped: bool
    correct: bool | None
    answer: str
    rounds: int
    cost: float
    solves: int
    widest_gap: float
    counts: tuple[int, ...]
    answers_left: int | None = None


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during many runs; ``records`` holds those that were finished, in the order of their index.

    >>> from caet_opt.exploring.settings import Parameters
    >>> from caet_opt.simulating.runs import Experiment, Interrupted, run_many
    >>> experiment = Experiment(BanditModel("gaussian", [2, 0], costs=[1, 1]), "best-arm", Parameters(delta=0.05))
    >>> def press(record):  # as Ctrl-C does
    ...     raise KeyboardInterrupt
    >>> try:
    ...     run_many(experiment, runs=3, seed=1, progress=press)
    ... except Interrupted as stop:
    ...     print([record.rounds for record in stop.records])
    [8]
    """

    def __init__(self, records: Sequence[RunRecord]) -> None:
        super().__init__(f"{len(records)} runs are finished")
        self.records = sorted(records)


def run(explorer: Explorer, streams: ArmStreams, rounds: int) -> bool:
    """Up to ``rounds`` rounds; True when it stopped. Compiled code is used if it is at hand, with the same bits.

    `SolverError`, which says the round, leaves the explorer where it was; the outcomes of the streams are used up.
    """
    if explorer.stopped:
        return True
    policy, view = explorer.policy, explorer.policy.copy_view(explorer.view)
    play, left, again = policy.find_play(), rounds, False
    while True:
        reason, done = play(view, streams.buffers, left, again)
        left, again = left - done, False
        if reason in (ledger.STOPPED, ledger.LIMIT):
            explorer.view = view
            return bool(reason == ledger.STOPPED)
        if reason == ledger.REFILL:
            streams.refill_used()
        elif reason == ledger.NEED_CHOICE:
            arm = policy.choose_here(view)
            ledger.absorb(view.setting, view.arms, view.clock, arm, *streams.draw(arm))
            left, again = left - 1, True
        else:
            try:
                view, again = policy.supply(view, reason), True
            except SolverError as error:
                raise SolverError(f"round {int(view.clock[ledger.ROUND])}: {error}", error.gap) from error


def run_in_batches(explorer: Explorer, streams: ArmStreams, rounds: int) -> bool:
    """The same, with the batches of a policy that has no target to share them out by; it may stop where one ends, and
    ends before a pull beyond a limit of the explorer."""
    end = explorer.state.round + rounds
    while explorer.state.round < end:
        if explorer.stopped:
            return True
        for arm in explorer.next_arms(min(explorer.batch_left, end - explorer.state.round)):
            if explorer.allowance().take(arm) is not None:
                return False
            reward, cost = streams.draw(arm)
            explorer.observe(arm, reward, cost if explorer.known_costs is None else None)
    return explorer.stopped


def run_within_limits(explorer: Explorer, streams: ArmStreams, rounds: int) -> bool:
    """The same as `run`, until the next pull would go beyond a limit of the explorer.

    Compiled rounds know of no limits. They are played in stretches that cannot go beyond one whichever arms are pulled,
    and one by one, each looked at before it is played, where there is no such stretch.
    """
    parameters = explorer.parameters
    if parameters.max_cost is None:
        return run(explorer, streams, min(rounds, parameters.max_pulls or rounds))
    end = explorer.state.round + rounds
    while (left := end - explorer.state.round) > 0 and not explorer.stopped and explorer.limit is None:
        many, largest = streams.bound_costs()
        if largest > 0:  # one less than fit, since sums of costs are rounded
            many = int(min(many, (parameters.max_cost - explorer.state.total_cost) / largest - 1.0))
        if parameters.max_pulls is not None:
            many = min(many, parameters.max_pulls - explorer.state.round)
        run(explorer, streams, min(left, max(1, many)))
    return explorer.stopped


def compile_run(explorer: Explorer) -> None:
    """Have the rounds of an experiment compiled, where compiled code knows its family and its threshold."""
    compile_rounds(explorer.policy, explorer.view)


def run_once(experiment: Experiment, seed: np.random.SeedSequence, index: int) -> RunRecord:
    """One run; a function of the experiment and of the seed's entropy and spawn key."""
    model, parameters = experiment.model, experiment.parameters
    fresh = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)  # a used one would spawn other children
    streams = ArmStreams(model, fresh, parameters.cost_distribution)
    own = fresh.spawn(1)[0]
    word = own.generate_state(1, np.uint64)[0]
    order = np.random.default_rng(own.spawn(1)[0]).permutation(len(model.means)).tolist()
    explorer = start_explorer(experiment, int(word >> np.uint64(1)), order)  # 63 bits for what the policy draws
    compile_run(explorer)  # nothing where it is done, as in a process that was forked after it
    try:
        in_batches = not experiment.solves and parameters.batch_rule != (1.0, 0.0)
        stopped = (run_in_batches if in_batches else run_within_limits)(explorer, streams, parameters.max_rounds)
    except SolverError as error:
        raise SolverError(f"run {index}, {error}", error.gap) from error
    explored = min(explorer.state.counts) > 0
    limited = not stopped and explorer.state.round < parameters.max_rounds
    left = explorer.not_excluded.answers if limited else None
    return RunRecord(
        index=index,
        stopped=stopped,
        correct=experiment.is_right(explorer.answer) if stopped else None,
        answer=str(explorer.answer) if explored else "",
        rounds=explorer.state.round,
        cost=explorer.state.total_cost,
        solves=explorer.solves,
        widest_gap=explorer.widest_gap,
        counts=explorer.state.counts,
        answers_left=None if left is None else len(left),
    )


def start_explorer(experiment: Experiment, seed: int, tie_order: Sequence[int] = ()) -> Explorer:
    """The policy before its first round, told what it may know; the seed is that of its own draws.

    Which of several equal arms goes first is drawn for each run: models are usually written with the best arm first,
    and what a policy costs is not to depend on how they are written.
    """
    model, parameters = experiment.model, experiment.parameters
    costs = model.costs if parameters.cost_source == "known" else None
    truth = experiment.optimum if experiment.policy.needs_truth else None
    arms = len(model.means)
    return Explorer(experiment.task, model.family, arms, parameters, costs, seed=seed, truth=truth, tie_order=tie_order)


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

    >>> from caet_opt.exploring.settings import Parameters
    >>> from caet_opt.simulating.runs import Experiment, run_many
    >>> experiment = Experiment(BanditModel("gaussian", [2, 0], costs=[1, 1]), "best-arm", Parameters(delta=0.05))
    >>> [record.rounds for record in run_many(experiment, runs=3, seed=1)]
    [8, 16, 16]
    """
    check_whole(runs, "runs", 1, MOST_RUNS)
    check_workers(workers)
    check_whole(seed, "seed")
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
    """Have its rounds compiled, so that workers find them so and no run is timed with it."""
    compile_run(start_explorer(experiment, 0))


@cache
def compile_loop(policy: str = "caet") -> None:
    """Compile the rounds of a policy, once in a process and in those that it forks."""
    model = BanditModel(Gaussian(), [1.0, 0.0], [1.0, 1.0])
    prepare(Experiment(model, BestArm(), Parameters(delta=0.1, policy=policy)))


def run_number(experiment: Experiment, seed: int, index: int) -> RunRecord:
    """The run with this index of those that belong to a seed."""
    return run_once(experiment, np.random.SeedSequence(seed, spawn_key=(index,)), index)


def run_numbered(shared: tuple[Experiment, int], index: int) -> RunRecord:
    """The run with this index, for `run_jobs`."""
    return run_number(*shared, index)
