"""An experiment as an object that asks for an arm and is told what came of it, whichever policy decides."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from math import isfinite, nan, ulp
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np

from caet_opt.bandits.families import Bounded, Family, parse_family
from caet_opt.bandits.families.bounded import NO_FORMULA
from caet_opt.bandits.model import check_costs, check_unmasked, read_only
from caet_opt.bandits.tasks import Task, parse_task
from caet_opt.common.checks import check_whole, is_whole, show_value
from caet_opt.common.files import read_text, write_whole
from caet_opt.errors import InputError
from caet_opt.exploring.counted import check_histograms
from caet_opt.exploring.exclusion import NotExcluded, find_not_excluded
from caet_opt.exploring.limits import Allowance, Limit
from caet_opt.exploring.policies import find_policy
from caet_opt.exploring.policies.base import TARGET_TOLERANCE, Diagnostics, Setup, state_of
from caet_opt.exploring.saving import Saved, Target, from_text, write_question
from caet_opt.exploring.settings import LARGEST_BATCH, LARGEST_SEED, Parameters
from caet_opt.exploring.state import ROUNDING, State
from caet_opt.exploring.stopping import EProcess, threshold_of
from caet_opt.kernels.aiming import Pursuit
from caet_opt.kernels.boxes import SOLVES, WIDEST
from caet_opt.kernels.e_values import BLUR
from caet_opt.kernels.ledger import COUNT, MEAN, SPENT, Seen, absorb
from caet_opt.solving.backends import BACKENDS
from caet_opt.solving.characteristic import profile_of_rounds
from caet_opt.solving.limits import check_beforehand
from caet_opt.solving.result import CharacteristicTime

#: The largest reward, in size, and the largest cost: sums of a hundred million are finite doubles.
LARGEST_AMOUNT = 1e300


class Explorer:
    """A policy in a real or a simulated experiment: ask `next_arm`, pull it, `observe` the reward, until `stopped`.

    Begin with `Explorer.start`, or continue a saved experiment with `Explorer.resume`. The policy is CAET
    unless you name another; `Caet` is the same class. The threshold follows from the family, the number of arms and the
    confidence.

    >>> caet = Caet.start("best-arm", "bernoulli", arms=2, delta=0.05, costs=[1, 2])
    >>> while not caet.stopped:
    ...     arm = caet.next_arm()
    ...     caet.observe(arm, [1, 0][arm])  # what the experiment said
    >>> caet.answer, caet.state.counts
    (0, (7, 5))
    """

    def __init__(
        self,
        task: Task | str,
        family: Family | str,
        arms: int,
        parameters: Parameters,
        costs: Sequence[float] | None = None,
        *,
        seed: int = 0,
        truth: CharacteristicTime | None = None,
        tie_order: Sequence[int] = (),
    ) -> None:
        task = parse_task(task) if isinstance(task, str) else task
        family = parse_family(family) if isinstance(family, str) else family
        family = family.with_fractions() if parameters.fractions else family
        threshold = threshold_of(parameters, family, arms, task)
        if parameters.fractions and threshold.name != EProcess.name:
            raise InputError(
                f"with fractions the threshold must be {EProcess.name!r}, which is proven for them, not "
                f"{threshold.name!r}"
            )
        family.dispersions(arms)
        source = parameters.cost_source or "known"
        if costs is not None and source != "known":
            raise InputError(f"costs are given, but cost_source is {source!r}; give one of the two")
        if costs is None and parameters.cost_source == "known":
            raise InputError("cost_source is 'known' but no costs are given; give both, or neither if each cost is 1")
        if task.needs_costs and costs is None:
            raise InputError(f"task {str(task)!r} needs costs that are known beforehand; give one cost per arm")
        costs = [1.0] * arms if costs is None and source == "known" else costs
        parameters = replace(parameters, cost_source=source, threshold=threshold.name)
        if costs is not None:
            check_unmasked(costs, "costs")
            if len(costs) != arms:
                raise InputError(f"{len(costs)} costs for {arms} arms; give one cost per arm, or cost_source gaps")
            check_costs(costs, arms)
        if task.needs_costs and costs is not None:
            task = task.for_costs(costs)
        known = None if costs is None else read_only(np.array(costs, dtype=float))
        limits = parameters.share_limits
        if limits and known is not None:
            check_beforehand(limits, known.tolist(), task)
        profile = replace(profile_of_rounds(parameters.solver, limits), tolerance=TARGET_TOLERANCE)
        if isinstance(family, Bounded) and not BACKENDS[profile.backend].takes_distributions:
            raise InputError(NO_FORMULA)  # here, and not after the first outcomes
        self.task, self.family, self.arms, self.parameters = task, family, arms, parameters
        self.threshold, self.known_costs, self.profile = threshold, known, profile
        seed = check_whole(seed, "seed", 0, LARGEST_SEED)
        self.setup = Setup(task, family, arms, parameters, threshold, known, profile, seed, truth, tuple(tie_order))
        self.policy = find_policy(parameters.policy)(self.setup)
        #: What the policy sees: an outcome leads to another view, here and where rounds are played.
        self.view = self.policy.begin()

    @classmethod
    def start(
        cls,
        task: Task | str,
        family: Family | str,
        *,
        arms: int,
        delta: float | None = None,
        log_inv_delta: float | None = None,
        costs: Sequence[float] | None = None,
        policy: str = "caet",
        seed: int = 0,
        **settings: Any,
    ) -> Self:
        """A new experiment.

        Parameters
        ----------
        task, family
            What to find out, and the family of the rewards, each by its name in the grammar or as an object. A
            Gaussian family without a variance, ``"gaussian"``, has variance 1, on which the guarantee depends.
        arms
            The number of arms.
        delta, log_inv_delta
            The largest error probability allowed, or log(1/delta) if it is very small.
        costs
            The costs of the arms, by default 1 each. If they are not known, leave them out and give
            ``cost_source="observed"``, for a cost with each reward, or ``"gaps"`` to the best arm.
        policy, seed
            The sampling rule, by its name in `POLICIES`, and the seed of its random choices, if it makes any.
        settings
            By their names in `caet_opt.exploring.settings.Parameters`: threshold, tracking, solver and so on.

        Examples
        --------
        >>> caet = Caet.start("best-arm", "bernoulli", arms=3, delta=0.05, costs=[1, 1, 2])
        >>> caet.next_arm()
        0
        """
        if isinstance(arms, list | tuple):
            raise InputError(f"arms must be the number of arms, got {show_value(arms)}; LiveExperiment takes names")
        confidence = {"delta": delta, "log_inv_delta": log_inv_delta}
        parameters = Parameters.read(confidence, {"policy": policy, **settings}, simulated=False)
        explorer = cls(task, family, arms, parameters, costs, seed=seed)
        if costs is not None and max(costs) > LARGEST_AMOUNT:
            raise InputError(f"costs must be at most {LARGEST_AMOUNT:g}, got {max(costs):g}; rescale the costs")
        return explorer

    def save(self, path: str | Path) -> None:
        """Write the whole experiment to one JSON file, in one step; `OSError` leaves an old file as it was, and so does
        `InputError`, for one that is a live experiment."""
        try:
            write_whole(path, self.to_text(indent=1))
        except OSError as error:  # which has the name of a file that was to be moved there
            raise OSError(error.errno, error.strerror, str(path)) from error

    def to_text(self, indent: int | None = None) -> str:
        """The whole experiment as JSON: the question, what was observed, and the target; without an indent it is quick
        to make."""
        policy, view = self.policy, self.view
        record = {**self._question, "state": state_of(view).to_record(), **policy.save_target(view)}
        record |= policy.save_followed(view)
        return json.dumps(record, indent=indent, allow_nan=False, default=np.ndarray.tolist) + "\n"

    @cached_property
    def _question(self) -> dict[str, Any]:
        """What a file says of the question; made once, since a live experiment is saved with every outcome."""
        known, setup = self.known_costs, self.setup
        return write_question(self.task, self.family, self.arms, self.parameters, known, setup.seed, self.threshold)

    @classmethod
    def resume(cls, path: str | Path) -> Self:
        """Go on with a saved experiment as the object that saved it would: to the last bit with the native solver, up
        to some ulps with a solver that keeps a state of its own."""
        text = read_text(path)
        try:
            return cls.from_saved(from_text(text))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def from_saved(cls, saved: Saved) -> Self:
        """The experiment that was saved; `InputError` where its parts do not fit together."""
        explorer = cls(saved.task, saved.family, saved.arms, saved.parameters, saved.costs, seed=saved.seed)
        values = saved.threshold_values
        if values is not None and not np.allclose(explorer.threshold.samples, values, rtol=ROUNDING, atol=0.0):
            words = explorer.threshold.describe()
            raise InputError(f"its threshold is {saved.formula}, whose values are not those of {words}")
        explorer.continue_from(saved.state, saved.aim)
        return explorer

    @property
    def state(self) -> State:
        """What was observed, and what the policy remembers."""
        return state_of(self.view)

    @property
    def stopped(self) -> bool:
        """Whether the answer is final: every needed pair is settled, unless the policy has its own stopping rule. A
        policy that solves for its target checks this at the end of a batch."""
        return self.explored and bool(self.policy.functions["ended"](self.view))

    @property
    def solves(self) -> int:
        """How many targets were solved for since the start or the last resumed state."""
        return int(self.view.aim.numbers[SOLVES]) if isinstance(self.view, Pursuit) else 0

    @property
    def widest_gap(self) -> float:
        """The largest certified gap of a target that was tracked: how much more it costs than the best target, relative
        to the best, at the means of any round that used it. Zero for a policy that does not solve."""
        return float(self.view.aim.numbers[WIDEST]) if isinstance(self.view, Pursuit) else 0.0

    @property
    def answer(self) -> Hashable:
        """The answer that the observations support now; final once `stopped`. If several may be right, the one that
        is followed, or that was settled."""
        self._check_explored()
        return self.policy.read_answer(self.view)

    @property
    def not_excluded(self) -> NotExcluded:
        """The answers that the observations leave open; see `caet_opt.exploring.exclusion`."""
        return find_not_excluded(self.setup, self.state)

    def allowance(self, out: Sequence[int] = ()) -> Allowance:
        """What the limits ``max_cost`` and ``max_pulls`` still allow, given the arms of the pulls that are out."""
        return Allowance(self.parameters, self.known_costs, self.state, out)

    @property
    def limit(self) -> Limit | None:
        """The limit that the next pull would exceed, or None. Like `stopped`, it is for the caller to look at.

        >>> explorer = Explorer.start("best-arm", "bernoulli", arms=2, delta=0.05, costs=[1, 2], max_cost=2.5)
        >>> explorer.observe(explorer.next_arm(), 1)
        >>> explorer.limit
        'max_cost'
        """
        return self.allowance().take(self.next_arm())

    @property
    def explored(self) -> bool:
        """Whether every arm has an outcome."""
        return bool(np.all(self.view.arms[COUNT] > 0))

    def _check_explored(self) -> None:
        if not self.explored:
            raise InputError("every arm must be observed once before there is an answer")

    @property
    def diagnostics(self) -> Diagnostics:
        """What the present state says, once every arm was observed."""
        self._check_explored()
        return self.policy.diagnose(self.view)

    def next_arm(self) -> int:
        """The arm to pull now, which depends only on the state; an arm without an observation, if there is one."""
        if not self.explored:
            return self.least_pulled(1, ())[0]
        return self.policy.next_arm(self.view)

    def next_arms(self, pulls: int | None = None, pending: Sequence[int] | None = None) -> list[int]:
        """The arms for several pulls that are handed out at once, before the first of their outcomes is known.

        They depend on the state only, like `next_arm`, which is the first of them. A policy with a target shares the
        pulls out by it. Others count each pull as if it had brought what its arm has brought on average, so that means
        stay as they are and counts grow. While some arm has no observation, the arms with the fewest pulls come first.

        Parameters
        ----------
        pulls
            How many, by default the rest of the batch that the setting ``batch`` says.
        pending
            The arms of pulls that were handed out before and are not answered yet, the oldest first; by default none.

        Examples
        --------
        >>> caet = Caet.start("best-arm", "bernoulli", arms=3, delta=0.05, costs=[1, 1, 2])
        >>> caet.next_arms(5), caet.next_arms(2, pending=[0])
        ([0, 1, 2, 0, 1], [1, 2])
        """
        pulls = self.batch_left if pulls is None else check_whole(pulls, "pulls", 1, LARGEST_BATCH)
        pending = [] if pending is None else [read_arm(arm, self.arms) for arm in pending]
        if self.explored:
            return self.policy.next_arms(self.view, pulls, pending)
        return self.least_pulled(pulls, pending)

    def least_pulled(self, pulls: int, pending: Sequence[int]) -> list[int]:
        """The arms of these pulls: each time the arm with the fewest so far, observed, pending or among these."""
        order, chosen = self.setup.tie_order, list[int]()
        counts = [count + pending.count(arm) for arm, count in enumerate(self.state.counts)]
        for _ in range(pulls):
            chosen.append(min(order, key=counts.__getitem__))
            counts[chosen[-1]] += 1
        return chosen

    @property
    def batch_left(self) -> int:
        """How many pulls are left of the present batch: one each until every arm has an observation."""
        if not self.explored:
            return 1
        size, ratio = self.parameters.batch_rule
        end, done = self.arms, self.state.round
        if ratio == 0:
            return int(size) - (done - end) % int(size)
        while end <= done:
            end += max(1, int(ratio * end))
        return end - done

    def observe(self, arm: int, reward: float, cost: float | None = None) -> None:
        """Record the reward of a pull of an arm, and with observed costs what it cost.

        All or nothing: after an error the object is as it was before. Where costs are known, any other is refused.
        """
        absorbed = self.absorb(arm, reward, cost)
        if cost is not None and self.known_costs is not None and float(cost) != (known := float(self.known_costs[arm])):
            raise InputError(f"the cost of arm {arm} is known to be {known:g}, got {show_value(cost)}; leave it out")
        self.view = self.policy.take_note(absorbed)

    def absorb(self, arm: int, reward: float, cost: float | None = None, *, is_new: bool = True) -> Seen:
        """A view with an observation in its sums, before the policy has responded to it; nothing changes here.

        `InputError` unless every sum stays finite and the arm's mean in the family. A new observation, unlike one that
        is replayed, is also refused if it is too large to be added up, or hidden by rounding (`_check_apart`).
        """
        arm, counted, paid = self.read_outcome(arm, reward, cost, is_new=is_new)
        view = self.policy.copy_view(self.view)
        with np.errstate(over="ignore", invalid="ignore"):
            absorb(view.setting, view.arms, view.clock, arm, counted, paid)
            total = float(np.sum(view.arms[SPENT]))
        if not isfinite(total):
            raise InputError(f"cost {paid:g} takes the total cost out of double precision; rescale the costs")
        if not self.family.has_average(mean := float(view.arms[MEAN, arm])):
            raise self._outside(mean, arm)
        if is_new and view.arms[COUNT, arm] == 1:
            self._check_apart(arm, view)
        return view

    def read_outcome(self, arm: int, reward: float, cost: float | None, *, is_new: bool) -> tuple[int, float, float]:
        """The arm of an observation, its reward as sums take it in, and what was paid; `InputError` as for `absorb`."""
        arm = read_arm(arm, self.arms)
        reward = read_finite(reward, f"reward of arm {arm}")
        counted = self.family.count_reward(reward)
        told = 0.0 if cost is None else read_finite(cost, f"cost of arm {arm}")
        if told < 0:
            raise InputError(f"cost of arm {arm} must be zero or more, got {told:g}")
        if self.known_costs is None and cost is None and self.parameters.cost_source == "observed":
            raise InputError("observed costs need a cost of zero or more with every reward, got None")
        for amount, what in ((reward, "reward"), (told, "cost")):
            if is_new and abs(amount) > LARGEST_AMOUNT:
                raise InputError(
                    f"{what} {amount:g} is too large to be added up, which can be done up to {LARGEST_AMOUNT:g} in "
                    f"size; rescale the {what}s"
                )
        return arm, counted, told if self.known_costs is None else float(self.known_costs[arm])

    def _check_apart(self, arm: int, absorbed: Seen) -> None:
        """Raise `InputError` for the first observation of an arm whose mean and another's are hidden by rounding.

        Rounding hides means that are nearer than twice what it may have moved them by (`told_apart`), if not even a
        standard deviation of a reward is more than that: nothing could be declared of such a pair, however long it went
        on. Where a standard deviation is more, any difference of interest shows in time; where the means are farther
        apart, they are told apart.
        """
        means = np.where(absorbed.arms[COUNT] > 0, absorbed.arms[MEAN], np.nan)
        blur = BLUR * (abs(means[arm]) + np.abs(means))
        with np.errstate(all="ignore"):  # a variance beyond double precision is infinite, and large enough
            deviations = np.sqrt(self.family.unit_variance(means) * self.setup.dispersions)
        deviations = np.minimum(deviations, deviations[arm])
        hidden = (abs(means - means[arm]) <= 2.0 * blur) & (deviations > 0.0) & (deviations < 2.0 * blur)
        hidden[arm] = False
        for other in np.flatnonzero(hidden).tolist():
            raise InputError(
                f"the rewards of arms {arm} and {other} are near {means[arm]:g}, where doubles are "
                f"{ulp(means[arm]):.2g} apart, and their standard deviation is {deviations[other]:.2g}: rounding "
                "hides their difference; subtract a constant from all rewards, or give another variance"
            )

    def continue_from(self, state: State, target: Target | None = None) -> None:
        """Continue from a state and forget the present one; `InputError` if it is not a state of this experiment."""
        self.policy.check_state(state)
        if len(state.counts) != self.arms:
            raise InputError(f"the saved state has {len(state.counts)} arms, not {self.arms}")
        check_histograms(self.family, state.histograms, state.counts, state.reward_sums)
        for arm, count in enumerate(state.counts):
            if count and not self.family.has_average(mean := state.reward_sums[arm] / count):
                raise self._outside(mean, arm)
        self.view = self.policy.restore(state, target or Target())

    def _outside(self, mean: float, arm: int) -> InputError:
        return InputError(
            f"the rewards of arm {arm} would have mean {mean:g}, outside the {self.family.name} family, "
            f"whose means lie in {self.family.mean_space}"
        )


def read_arm(arm: Any, arms: int) -> int:
    """The number of an arm, or `InputError`."""
    if not is_whole(arm, 0, arms - 1):
        raise InputError(f"arm {show_value(arm)} does not exist; arms are 0 to {arms - 1}")
    return int(arm)


def read_finite(value: Any, what: str) -> float:
    """A finite number as a double, or `InputError`; a truth value counts as 0 or 1."""
    try:
        number = float(value) if isinstance(value, Real | Decimal | np.bool_) else nan
    except OverflowError:
        number = nan
    if not isfinite(number):
        raise InputError(f"{what} must be a finite number, got {show_value(value)}")
    return number


#: The paper's name for it, since its policy is the default.
Caet = Explorer
