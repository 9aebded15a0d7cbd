"""What an experiment will cost, before it begins: quantiles by simulation, and what a budget can settle."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from math import inf, isfinite, log
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.limits import Limit
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task, pose_task
from caet_opt.common.checks import is_number, show_value
from caet_opt.common.numbers import (
    in_full,
    round_down,
    round_ends,
    table,
    to_digits,
    write_count,
    write_given,
    write_interval,
    write_level,
    write_money,
)
from caet_opt.errors import CaetError, InputError
from caet_opt.exploring.settings import SEED, refuse_limits
from caet_opt.simulating.comparison import Progress, make_experiments, run_policies
from caet_opt.simulating.mean_intervals import find_quantiles
from caet_opt.simulating.pilots import Pilot, resample_pilot
from caet_opt.simulating.runs import Experiment, run_many
from caet_opt.simulating.summary import Summary, error_interval, threshold_lines
from caet_opt.solving.characteristic import characteristic_time

#: Runs of a plan unless told: a probability is then within 3 points.
PLAN_RUNS = 1000

#: The share of runs that a budget is to be enough for, where the smallest difference is asked for.
SURE = 0.9

#: How near the cost of the smallest difference is to the budget, and how many models are tried to get there.
NEARNESS, TRIES = 0.02, 8

#: The most pulls that are simulated for one of these models, unless the plan's own runs are a fourth of it or more.
MOST_PULLS, MOST_TIMES = 10**7, 4.0

#: How many times their distance two arms are moved apart, where nothing else ends that.
FARTHEST = 100.0

#: Significant digits of simulated costs.
DIGITS = 4

#: The settings of a plan whose defaults are its own: with lazy targets its many runs take a fraction of the time.
DEFAULTS = {"solve": "lazy"}

#: How likely it is said to be what has at least this probability.
LIKELY = {0.95: "very likely", 0.8: "likely", 0.5: "more likely than not"}

#: An interval of a probability that is wider than this, and has 1/2 in it, is of too few runs.
WIDE = 0.2

#: Why no smallest difference is known.
NOT_FOUND = f"not found: of {TRIES} differences that were tried, none is settled within the budget"
INTERRUPTED = "not computed: interrupted"

#: The 90 % quantile of the cost of an experiment; None where too many runs are unfinished.
Simulate = Callable[[Experiment], float | None]


class Difference(NamedTuple):
    """The smallest difference that is settled within the budget in 90 % of runs.

    Attributes
    ----------
    leader, rival : the arms of the nearest pair; the rival's mean is moved
    present : how far they are apart in the model
    smallest : the least distance found at which the 90 % quantile of the cost is at most the budget; None where even
        the farthest is not enough at which they are still the nearest pair
    cost : that quantile at ``smallest``, by simulation
    """

    leader: int
    rival: int
    present: float
    smallest: float | None
    cost: float | None


@dataclass(frozen=True)
class PolicyPlan:
    """What one policy will cost.

    Attributes
    ----------
    quantiles : of the cost, by their probabilities as text; None where too many runs are unfinished
    within_budget, within_budget_ci : the share of runs that stop with a cost of at most the budget, and its 95 %
        Clopper-Pearson interval; None without a budget
    mean_calls : mean number of pulls of each arm
    threshold, predicted_cost, mean_cost, cost_ci, unfinished, guaranteed : as in `Summary`
    """

    policy: str
    threshold: str
    predicted_cost: float | None
    mean_cost: float
    cost_ci: tuple[float, float] | None
    quantiles: dict[str, float | None]
    within_budget: float | None
    within_budget_ci: tuple[float, float] | None
    mean_calls: tuple[float, ...]
    unfinished: int
    guaranteed: bool


@dataclass(frozen=True)
class Plan:
    """What an experiment will cost; for the cheapest of the policies, by their mean costs, unless it says otherwise.

    Attributes
    ----------
    characteristic_time, lower_bound : T*, and T* kl(delta, 1 - delta), which no strategy undercuts on average; None for
        a task that may have several right answers
    policies : each policy, in the order given
    difference : the smallest difference that the budget settles; None without a budget, and where none is known
    why_unknown : why none is known

    Examples
    --------
    >>> model = BanditModel("bernoulli", [0.5, 0.3], costs=[1, 2])
    >>> found = plan(model, "best-arm", delta=0.05, budget=400, runs=100)
    >>> found.quantiles
    {'0.1': 95.0, '0.5': 220.0, '0.9': 658.0}
    >>> found.within_budget
    0.77
    """

    experiment: Experiment = field(repr=False)
    budget: float | None
    runs: int
    seed: int
    policies: tuple[PolicyPlan, ...]
    difference: Difference | None
    why_unknown: str = ""

    @property
    def cheapest(self) -> PolicyPlan:
        """The policy with the least mean cost; one with unfinished runs, whose mean is too small, comes last."""
        return min(self.policies, key=lambda one: (one.unfinished > 0, one.mean_cost))

    @cached_property
    def pilot(self) -> Pilot | None:
        """How far the samples may be trusted of which the model is made; None for other models."""
        return resample_pilot(self.experiment.optimum, self.seed)

    @property
    def characteristic_time(self) -> float:
        """T*."""
        return self.experiment.optimum.value

    @property
    def lower_bound(self) -> float | None:
        """``T* kl(delta, 1 - delta)``; None for a task that may have several right answers."""
        return self.experiment.lower_bound

    @property
    def predicted_cost(self) -> float | None:
        """``T* beta(tau)`` at this delta, with the means taken as known; None if it cannot be computed."""
        return self.cheapest.predicted_cost

    @property
    def quantiles(self) -> dict[str, float | None]:
        """10, 50 and 90 % quantiles of the cost."""
        return self.cheapest.quantiles

    @property
    def within_budget(self) -> float | None:
        """The share of runs that stop within the budget; None without one."""
        return self.cheapest.within_budget

    def to_record(self) -> dict[str, Any]:
        """The object of ``plan --json``."""
        parameters, model = self.experiment.parameters, self.experiment.model
        return {
            "task": str(self.experiment.task),
            "family": str(model.family),
            "names": list(model.arms),
            "means": list(model.means),
            "costs": list(model.costs),
            "delta": parameters.delta,
            "log_inv_delta": parameters.log_inv_delta,
            "characteristic_time": self.characteristic_time,
            "lower_bound": self.lower_bound,
            **asdict(self.cheapest),
            "budget": self.budget,
            "runs": self.runs,
            "seed": self.seed,
            "smallest_difference": None if self.difference is None else self.difference._asdict(),
            "pilot": None if self.pilot is None else self.pilot.to_record(),
            "policies": [asdict(one) for one in self.policies],
        }

    def __str__(self) -> str:
        """What it will cost, as people read it."""
        best, level = self.cheapest, self.experiment.parameters.log_inv_delta
        lines = [
            f"{write_count(self.runs, 'simulated run')}, {write_level(level)}, seed {self.seed}",
            *threshold_lines(self.experiment),
            "",
            self._tabulate_arms(),
            "",
            f"{'T*':<16} {in_full(f'{self.characteristic_time:.9g}')}",
        ]
        if self.lower_bound is not None:
            bound = in_full(round_down(self.lower_bound, DIGITS))
            scope = self.experiment.model.family.bound_scope
            lines += [f"{'lower bound':<16} {bound}  rounded down; no strategy{scope} costs less on average"]
        else:
            lines += [f"{'lower bound':<16} known only as delta tends to 0, because several answers may be right"]
        if len(self.policies) > 1:
            lines += ["", self._compare(), "", f"{'cheapest':<16} {best.policy}, by its mean cost"]
        if best.predicted_cost is not None:
            told = "T* beta(tau) at this delta, with the means taken as known"
            lines += [f"{'predicted':<16} {in_full(to_digits(best.predicted_cost, DIGITS))}  {told}"]
        lines += [*self._cost_lines(best), *self._budget_lines(best), *self._unfinished_lines()]
        lines += ["", *self._verdict(best), *([] if self.pilot is None else self.pilot.lines())]
        return "\n".join(lines)

    def _tabulate_arms(self) -> str:
        """What every arm is taken for."""
        model = self.experiment.model
        arms = zip(model.arms, model.means, model.costs, strict=True)
        return table(
            ["arm", "mean", "cost"], [[arm, f"{mean:.6g}", write_given(cost)] for arm, mean, cost in arms], (0,)
        )

    def _compare(self) -> str:
        """A line per policy."""
        names = list(self.policies[0].quantiles)
        heads = ["policy", "mean cost", *(write_share(name) for name in names), "within budget", "guaranteed"]
        rows = [
            [
                *(one.policy, in_full(to_digits(one.mean_cost, DIGITS))),
                *(write_quantile(value) for value in one.quantiles.values()),
                "-" if one.within_budget is None else write_share(one.within_budget),
                "yes" if one.guaranteed else "no",
            ]
            for one in self.policies
        ]
        return table(heads, rows)

    def _cost_lines(self, best: PolicyPlan) -> list[str]:
        """Mean, quantiles and calls of a policy."""
        parts = [f"{write_share(name)}: {write_quantile(value)}" for name, value in best.quantiles.items()]
        spread = "" if best.cost_ci is None else f", 95 % in {in_full(write_interval(*best.cost_ci, DIGITS))}"
        arms = self.experiment.model.arms
        pulls = zip(arms, best.mean_calls, strict=True)
        calls = [f"{arm}: {in_full(to_digits(count, DIGITS))}" for arm, count in pulls]
        return [
            f"{'mean cost':<16} {in_full(to_digits(best.mean_cost, DIGITS))}{spread}",
            f"{'cost quantiles':<16} {', '.join(parts)}",
            f"{'pulls per arm':<16} {', '.join(calls)} on average",
        ]

    def _budget_lines(self, best: PolicyPlan) -> list[str]:
        """The chance to be done within the budget, and what it would settle."""
        if self.budget is None or best.within_budget is None or best.within_budget_ci is None:
            return []
        lower, upper = best.within_budget_ci
        low, high = round_ends(100 * lower, 100 * upper, 3)
        share = f"{write_share(best.within_budget)} of runs at {write_money(self.budget)}"
        lines = [f"{'within budget':<16} {share}, 95 % in [{low} %, {high} %]"]
        found = self.difference
        if found is None:
            return [*lines, f"{'difference':<16} {self.why_unknown}"]
        arms = self.experiment.model.arms
        pair = f"{arms[found.rival]} and {arms[found.leader]}"
        if found.smallest is None:
            told = f"no difference between {pair} alone is settled within the budget in {write_share(SURE)} of runs"
        else:
            told = f"{found.smallest:.3g} between {pair} is settled within the budget in {write_share(SURE)} of runs"
        return [*lines, f"{'difference':<16} {told}; here it is {found.present:.3g}"]

    def _verdict(self, best: PolicyPlan) -> list[str]:
        """What to expect, what T* means for the budget, and whether the budget is likely to be enough."""
        trials, mean, surely = sum(best.mean_calls), best.mean_cost, best.quantiles[f"{SURE:g}"]
        paid = "" if set(self.experiment.model.costs) == {1.0} else f" at a cost of {in_full(to_digits(mean, DIGITS))}"
        told = "or more, as some runs had not stopped" if best.unfinished else "on average"
        most = "" if surely is None else f"; nine in ten such experiments cost at most {write_quantile(surely)}"
        step = in_full(to_digits(log(10) * self.characteristic_time, 3))
        bound = "" if self.lower_bound is None else in_full(round_down(self.lower_bound, DIGITS))
        least = f"at least {bound} on average, and " if bound else ""
        lines = [
            f"If the arms are as above, expect about {write_given(round(trials), DIGITS)} trials{paid} {told}{most}.",
            f"Any method as sure{self.experiment.model.family.bound_scope} needs {least}about {step} more (T* log 10) "
            "for each further factor of ten in delta.",
        ]
        return [*lines, *self._judge_budget(best)]

    def _judge_budget(self, best: PolicyPlan) -> list[str]:
        """Whether the budget is likely to be enough, as far as the interval of its share says so."""
        if self.budget is None or best.within_budget is None or best.within_budget_ci is None:
            return []
        budget = f"budget of {write_money(self.budget)}"
        if best.unfinished:
            return [f"Whether the {budget} is enough is not known: {self._count_unfinished(best)}."]
        done, (low, high) = f"{100 * best.within_budget:.0f} % of runs were done", best.within_budget_ci
        if low < 0.5 < high:
            if high - low > WIDE:
                few = f"{write_count(self.runs, 'run')} {'is' if self.runs == 1 else 'are'} too few"
                return [f"{few} to tell whether the {budget} is enough: {done}."]
            return [f"The {budget} is about as likely to be enough as not: {done}{self._say_allowance(best)}."]
        likely = next(words for least, words in LIKELY.items() if max(low, 1.0 - high) >= least)
        doubt = ", if the pilot is right" if self.pilot is not None and self.pilot.is_small else ""
        verdict = "to be enough" if low >= 0.5 else "too small"
        return [f"The {budget} is {likely} {verdict}{doubt}: {done}{self._say_allowance(best)}."]

    def _say_allowance(self, best: PolicyPlan) -> str:
        """What to allow where the budget is too small for nine of ten runs."""
        surely = best.quantiles[f"{SURE:g}"]
        enough = surely is None or self.budget is None or surely <= self.budget
        return "" if enough else f"; to finish in nine of ten, allow {write_quantile(surely)}"

    def _count_unfinished(self, one: PolicyPlan) -> str:
        """How many runs of a policy had not stopped."""
        return f"{one.unfinished} of {write_count(self.runs, 'run')} had not stopped"

    def _unfinished_lines(self) -> list[str]:
        """Which policies had not stopped, and what that means."""
        return [
            f"{one.policy}: {self._count_unfinished(one)} after "
            f"{write_count(self.experiment.parameters.max_rounds, 'round')}; its mean cost is a lower estimate"
            for one in self.policies
            if one.unfinished
        ]


class PlanInterrupted(KeyboardInterrupt):
    """Ctrl-C during the search for the smallest difference; ``plan`` is the plan without it."""

    def __init__(self, plan: Plan) -> None:
        super().__init__("the smallest difference is not computed")
        self.plan = plan


def plan(
    model: BanditModel,
    task: Task | str,
    *,
    delta: float | None = None,
    log_inv_delta: float | None = None,
    budget: float | None = None,
    policies: str | Sequence[str] = "caet",
    runs: int = PLAN_RUNS,
    seed: int = SEED,
    workers: int = 1,
    progress: Progress | None = None,
    **settings: Any,
) -> Plan:
    """What an experiment on such a model will cost, and how likely it is to finish within a budget.

    Parameters
    ----------
    model, task
        A guess of the arms, and the task.
    delta, log_inv_delta
        The largest error probability allowed, or log(1/delta) if it is very small.
    budget
        The most you want to spend; adds the chance that it is enough, and the smallest difference that it settles.
    policies
        Names in `caet_opt.POLICIES`, as a list or separated by commas; the plan is for the cheapest.
    runs, seed, workers, progress
        As in `compare_policies`: the policies see the same draws.
    settings
        By their names in `caet_opt.exploring.settings.Parameters`; targets are lazy by default.

    Ctrl-C raises `ComparisonInterrupted` with the finished runs, or `PlanInterrupted` with the plan if all that is
    missing is the smallest difference.

    Examples
    --------
    >>> found = plan(BanditModel("gaussian", [3, 4, 2], costs="gaps"), "ranking", delta=0.05, runs=20, seed=1)
    >>> round(found.lower_bound, 2), found.quantiles["0.5"] > found.lower_bound
    (30.89, True)
    """
    if budget is not None and not (is_number(budget) and budget > 0):
        raise InputError(f"budget must be a positive number, got {show_value(budget)}")
    refuse_limits(settings, "a plan has a budget")
    task = pose_task(model, task)
    confidence = {"delta": delta, "log_inv_delta": log_inv_delta}
    experiments = make_experiments(model, task, policies, confidence, {**DEFAULTS, **settings})
    comparison = run_policies(experiments, runs, seed, workers, progress)
    found = Plan(
        experiment=experiments[0],
        budget=budget,
        runs=runs,
        seed=seed,
        policies=tuple(describe_policy(summary, budget) for summary in comparison.summaries),
        difference=None,
    )
    if budget is None:
        return found
    chosen = next(one for one in experiments if one.parameters.policy == found.cheapest.policy)

    def simulate(moved: Experiment) -> float | None:
        tell = None if progress is None else partial(progress, "smallest difference")
        records = run_many(moved, runs, seed, workers, tell)
        costs, stopped = (np.array([getattr(run, name) for run in records]) for name in ("cost", "stopped"))
        return find_quantiles(costs, stopped)[f"{SURE:g}"]

    if why := why_not_searched(chosen, found.cheapest, budget, runs):
        return replace(found, why_unknown=why)
    try:
        difference = smallest_difference(chosen, budget, found.quantiles[f"{SURE:g}"], simulate)
    except KeyboardInterrupt as interrupt:
        raise PlanInterrupted(replace(found, why_unknown=INTERRUPTED)) from interrupt
    return replace(found, difference=difference, why_unknown="" if difference else NOT_FOUND)


def describe_policy(summary: Summary, budget: float | None) -> PolicyPlan:
    """What the runs of a policy say of its cost."""
    within = interval = None
    if budget is not None:
        enough = sum(run.stopped and run.cost <= budget for run in summary.run_records)
        within, interval = enough / summary.runs, error_interval(enough, enough, summary.runs)
    return PolicyPlan(
        policy=summary.policy,
        threshold=summary.threshold,
        predicted_cost=summary.predicted_cost,
        mean_cost=summary.mean_cost,
        cost_ci=summary.cost_ci,
        quantiles=summary.quantiles,
        within_budget=within,
        within_budget_ci=interval,
        mean_calls=tuple(np.mean([run.counts for run in summary.run_records], axis=0).tolist()),
        unfinished=summary.unfinished,
        guaranteed=summary.guaranteed,
    )


def why_not_searched(experiment: Experiment, found: PolicyPlan, budget: float, runs: int) -> str:
    """Why the smallest difference is not looked for; empty where it is."""
    model, cost = experiment.model, found.quantiles[f"{SURE:g}"]
    if model.distributions or not all(statement.is_plain for statement in experiment.optimum.statements):
        tolerant = "a tolerance" if experiment.task.several_right else "levels, margins and ratios"
        kind = "distributions" if model.distributions else tolerant
        return f"not computed: with {kind}, no rival's mean can be moved by itself"
    if not costly_pairs(experiment):
        return "not computed: all arms that are compared are free"
    pulls = runs * sum(found.mean_calls)
    if cost is not None and pulls * budget > max(MOST_PULLS, MOST_TIMES * pulls) * cost:
        return "not computed: the budget is so large that this would take too long; give a smaller one, or fewer runs"
    return ""


def smallest_difference(
    experiment: Experiment, budget: float, cost: float | None, simulate: Simulate
) -> Difference | None:
    """Move the rival of the nearest pair until the 90 % quantile of the cost, which is ``cost`` now, is the budget.

    The quantile is nearly a multiple of T*, so a distance is solved for with ``T*(d) = T*(d_0) budget / cost(d_0)``;
    there it is simulated, with the same draws, which gives the next multiple, until it is at most the budget and within
    2 % of it. Distances lie between the largest that failed and the smallest that was enough. Costs may move in steps:
    it is enough if these two are within 1 %. None if nothing is found that is enough.
    """
    rival = find_rival(experiment)
    told, apart = (rival.leader, rival.number, rival.present), rival.present
    failed, high, enough = 0.0, rival.farthest, None
    for left in reversed(range(TRIES + 1)):
        if cost is not None and cost <= budget:
            enough, high, near = Difference(*told, apart, cost), apart, cost >= (1.0 - NEARNESS) * budget
        else:
            failed, near = apart, False
        if enough is None and failed >= high:
            return Difference(*told, None, None)
        if left == 0 or near or (enough is not None and high - failed <= 0.5 * NEARNESS * high):
            break
        scaled = rival.find_distance(rival.time_at(apart) * (1.0 - 0.5 * NEARNESS) * budget / (cost or inf))
        apart = scaled if failed < scaled < high else high if enough is None else 0.5 * (failed + high)
        cost = simulate(replace(experiment, model=rival.move(apart)))
    return enough


class Rival(NamedTuple):
    """The lower arm of the nearest pair, which can be moved.

    model, task : of the experiment
    leader, number : the arms of the pair
    limits : of the experiment
    present, farthest : their distance, and the largest at which no other pair is nearer, within the means of the family
    """

    model: BanditModel
    task: Task
    leader: int
    number: int
    present: float
    farthest: float
    limits: tuple[Limit, ...] = ()

    def move(self, distance: float) -> BanditModel:
        """The model with the rival so far below the leader."""
        model = self.model
        means = list(model.given_means)
        means[self.number] = model.means[self.leader] - distance
        costs, lower = model.cost_rule or model.given_costs, model.lower_is_better
        return BanditModel(model.family, means, costs, model.arms, lower_is_better=lower)

    def time_at(self, distance: float) -> float:
        """T* with the rival so far below the leader; infinite where doubles cannot tell them apart."""
        try:
            return characteristic_time(self.move(distance), self.task, limits=self.limits).value
        except CaetError:
            return inf

    def find_distance(self, time: float) -> float:
        """The distance at which T* is ``time``, by bisection: T* falls as the rival moves away."""
        low, high = 0.0, self.farthest
        while high - low > 1e-4 * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.time_at(middle) > time else (low, middle)
        return high


def costly_pairs(experiment: Experiment) -> list[tuple[float, int, int]]:
    """The pairs that are needed and cost something, as distance, upper and lower arm, the nearest first."""
    means, costs = experiment.model.means, experiment.model.costs
    return sorted((means[a] - means[b], a, b) for a, b in experiment.task.pairs(means) if costs[a] > 0 or costs[b] > 0)


def find_rival(experiment: Experiment) -> Rival:
    """The nearest of the needed pairs that cost something, and how far its lower arm can be moved away.

    It moves towards the arms below it: as long as pairs with these are not nearer than its own, or half as near as they
    were if they are free.
    """
    model, means = experiment.model, experiment.model.means
    (present, leader, number), *others = costly_pairs(experiment)
    lowest = model.family.mean_space[0]
    ends = [0.99 * (means[leader] - lowest) if isfinite(lowest) else inf]
    ends += [0.5 * (gap + present) if a == number else gap for gap, a, b in others if b != number]
    free = set(experiment.task.pairs(means)) - {(a, b) for _, a, b in costly_pairs(experiment)}
    ends += [present + 0.5 * (means[number] - means[b]) for a, b in free if a == number]
    farthest = max(present, FARTHEST * present if min(ends) == inf else min(ends))
    return Rival(model, experiment.task, leader, number, present, farthest, experiment.parameters.share_limits)


def write_share(probability: str | float) -> str:
    """A probability in percent."""
    return f"{100 * float(probability):.4g} %"


def write_quantile(value: float | None) -> str:
    """A quantile; a dash where unfinished runs hide it."""
    return "-" if value is None else in_full(to_digits(value, DIGITS))
