"""CAET as an object that asks for an arm and is told what came of it."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite

import numpy as np

from caet_opt.characteristic import characteristic_time, starts
from caet_opt.errors import InputError
from caet_opt.families import Family
from caet_opt.families.numerics import Array
from caet_opt.model import BanditModel, check_costs
from caet_opt.profiles import Profile, find_profile
from caet_opt.result import CharacteristicTime
from caet_opt.tasks import Pair, Task
from caet_opt.thresholds import Threshold
from caet_opt.tracking import rules
from caet_opt.tracking.parameters import Parameters
from caet_opt.tracking.state import State

#: Gap to which the target of a round is solved.
TARGET_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Diagnostics:
    """What CAET thinks of a state; nothing in it is needed to go on.

    Attributes
    ----------
    answer, pairs : what the empirical means say, and the pairs that this answer asserts
    evidence, thresholds : of each of these pairs
    costs : the costs that the target was computed for, negligible ones at zero
    target, projected : u_alpha, and its projection that forces exploration
    """

    answer: Hashable
    pairs: tuple[Pair, ...]
    evidence: Array
    thresholds: Array
    costs: Array
    target: Array
    projected: Array

    @property
    def settled(self) -> bool:
        """Whether the evidence of every pair exceeds its threshold."""
        return len(self.pairs) > 0 and bool(np.all(self.evidence > self.thresholds))


class Caet:
    """The algorithm on a real or a simulated experiment: `next_arm`, pull it, `observe`, until `stopped`.

    Parameters
    ----------
    task, family, arms
        What is to be found out, about how many arms, and the family of their rewards.
    parameters
        Confidence, exponents, tracking rule and where costs come from.
    threshold
        The evidence that a pair needs; see `caet_opt.thresholds.make_threshold`.
    costs
        The costs of the arms, when they are known.
    solver
        The backend that computes every round's target.
    state
        Where to go on from; by default the beginning.
    """

    def __init__(
        self,
        task: Task,
        family: Family,
        arms: int,
        parameters: Parameters,
        threshold: Threshold,
        *,
        costs: Sequence[float] | None = None,
        solver: str | Profile = "native",
        state: State | None = None,
    ) -> None:
        task.check(arms)
        family.dispersions(arms)
        if (costs is None) == (parameters.costs == "known"):
            raise InputError("give the costs of the arms exactly when they are known")
        if costs is not None:
            check_costs(costs, arms)
        if state is not None and len(state.counts) != arms:
            raise InputError(f"the saved state has {len(state.counts)} arms, not {arms}")
        self.task, self.family, self.arms = task, family, arms
        self.parameters, self.threshold = parameters, threshold
        self.known_costs = None if costs is None else np.array(costs, dtype=float)
        self.profile = replace(find_profile(solver), tolerance=TARGET_TOLERANCE)
        self._previous: CharacteristicTime | None = None
        self.state = state if state is not None else self._begin()

    def _begin(self) -> State:
        """The state before the first round, in which the target is uniform."""
        nothing = (0.0,) * self.arms
        return State(0, (0,) * self.arms, nothing, nothing, (1.0 / self.arms,) * self.arms, 0.0)

    @property
    def stopped(self) -> bool:
        """Whether every needed pair is settled."""
        return self._explored and self.diagnostics.settled

    @property
    def answer(self) -> Hashable:
        """The answer that the empirical means support now; final once `stopped`."""
        return self.diagnostics.answer

    @property
    def _explored(self) -> bool:
        return min(self.state.counts) > 0

    @property
    def diagnostics(self) -> Diagnostics:
        """What the present state says, once every arm was observed."""
        if not self._explored:
            raise InputError("every arm must be observed once before there is an answer")
        return self._diagnose

    @property
    def tracking_error(self) -> float:
        """Largest distance of a count from the cumulated target."""
        return float(np.max(np.abs(np.array(self.state.counts) - np.array(self.state.cumulated_target))))

    @cached_property
    def _diagnose(self) -> Diagnostics:
        state, means = self.state, self.state.means()
        answer = self.task.answer(means.tolist())
        pairs = self.task.answer_pairs(answer, self.arms)
        costs = self._costs(means)
        target = self._target(pairs, means, costs)
        return Diagnostics(
            answer=answer,
            pairs=pairs,
            evidence=self._evidence(pairs, means),
            thresholds=np.array(
                [self.threshold.value(state.round, state.counts[a], state.counts[b]) for a, b in pairs]
            ),
            costs=costs,
            target=target,
            projected=rules.project(target, rules.exploration_floor(self.arms, state.round)),
        )

    def next_arm(self) -> int:
        """The arm to pull now; a function of the state alone."""
        counts = np.array(self.state.counts, dtype=float)
        if self.parameters.tracking == "c" or not self._explored:
            return rules.next_by_cumulated_target(np.array(self.state.cumulated_target), counts)
        return rules.next_by_present_target(self._diagnose.target, counts, self.state.round)

    def observe(self, arm: int, reward: float, cost: float | None = None) -> None:
        """Take in what a pull of an arm brought; with observed costs also what it cost."""
        if not 0 <= arm < self.arms:
            raise InputError(f"arm {arm} does not exist; arms are 0 to {self.arms - 1}")
        if not isfinite(reward):
            raise InputError(f"reward {reward!r} is not a finite number")
        paid = self._paid(arm, cost)
        state = self.state
        absorbed = State(
            state.round + 1,
            tuple(count + (other == arm) for other, count in enumerate(state.counts)),
            added(state.reward_sums, arm, float(reward)),
            added(state.cost_sums, arm, paid),
            state.cumulated_target,
            state.total_cost + paid,
        )
        self.continue_from(absorbed, complete=False)

    def continue_from(self, state: State, complete: bool = True) -> None:
        """Go on from a state; an incomplete one has yet to add its own round's target to the cumulated one."""
        self.state = state
        self.__dict__.pop("_diagnose", None)
        if not complete:
            uniform = np.full(self.arms, 1.0 / self.arms)
            step = self._diagnose.projected if self._explored else uniform
            cumulated = (np.array(state.cumulated_target) + step).tolist()
            self.state = replace(state, cumulated_target=tuple(cumulated))

    def pattern(self) -> tuple[type[Family], tuple[Pair, ...], tuple[bool, ...]] | None:
        """Family, pairs and costly arms of the present target; None where a rule other than the solver sets it."""
        if not self._explored:
            return None
        means, now = self.state.means(), self._diagnose
        if any(means[a] == means[b] for a, b in now.pairs):
            return None
        return type(self.family), now.pairs, tuple((now.costs > 0).tolist())

    def last_solution(self) -> tuple[Array, Array] | None:
        """Effort and multipliers of the last solve, if it was for the present pairs and costly arms."""
        last, now = self._previous, self._diagnose
        if last is None or not starts(last, now.pairs, now.costs.tolist()):
            return None
        return last.effort, last.multipliers

    def _paid(self, arm: int, cost: float | None) -> float:
        if self.parameters.costs == "observed":
            if cost is None or not isfinite(cost) or cost < 0:
                raise InputError(f"observed costs need a cost of zero or more with every reward, got {cost!r}")
            return float(cost)
        if self.known_costs is not None:
            return float(self.known_costs[arm])
        return 0.0 if cost is None else float(cost)

    def _costs(self, means: Array) -> Array:
        """The costs that enter the target: known ones as they are, estimated ones without the negligible."""
        if self.known_costs is not None:
            return self.known_costs
        estimate = self.state.mean_costs() if self.parameters.costs == "observed" else np.max(means) - means
        return rules.drop_negligible_costs(estimate, self.parameters.negligible_cost)

    def _target(self, pairs: tuple[Pair, ...], means: Array, costs: Array) -> Array:
        """``u_alpha`` of the empirical model, by an exact solve; see `caet_opt.tracking.rules`."""
        if any(means[a] == means[b] for a, b in pairs):
            return rules.tied_target(pairs, means, costs)
        model = BanditModel(self.family, means.tolist(), costs.tolist())
        found = characteristic_time(model, self.task, solver=self.profile, warm_start=self._previous)
        self._previous = found
        support = sorted({arm for pair in pairs for arm in pair})
        return rules.shared_target(found.sampling_proportions, costs, support, self.parameters.zero_cost_share)

    def _evidence(self, pairs: tuple[Pair, ...], means: Array) -> Array:
        """``Z_ab = N_a d(mu_a, m) + N_b d(mu_b, m)``, m the pooled mean weighted by pulls over dispersion."""
        a = np.array([pair[0] for pair in pairs], dtype=np.intp)
        b = np.array([pair[1] for pair in pairs], dtype=np.intp)
        weight = np.array(self.state.counts) / self.family.dispersions(self.arms)
        share_a, share_b = weight[a] / (weight[a] + weight[b]), weight[b] / (weight[a] + weight[b])
        mixture = self.family.mixture_divergence
        da, db = mixture(means[a], means[b], share_a, share_b), mixture(means[b], means[a], share_b, share_a)
        return np.asarray(weight[a] * da + weight[b] * db, dtype=float)


def added(values: tuple[float, ...], arm: int, amount: float) -> tuple[float, ...]:
    """The values with an amount added to one arm's."""
    return (*values[:arm], values[arm] + amount, *values[arm + 1 :])
