"""CAET as an object that asks for an arm and is told what came of it."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from math import isclose, isfinite, nan
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from caet_opt.bandits.families import Family, parse_family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.files import write_whole
from caet_opt.bandits.model import BanditModel, check_costs
from caet_opt.bandits.tasks import Pair, Task, parse_task
from caet_opt.errors import InputError, SolverError, unknown_name
from caet_opt.exploring import rules
from caet_opt.exploring.kernel import pair_evidence
from caet_opt.exploring.saving import OWN, Saved, read_saved, to_text
from caet_opt.exploring.settings import ABSENT, CostSource, Parameters
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping import threshold_of
from caet_opt.exploring.stopping.base import PairState
from caet_opt.solving.characteristic import can_start, characteristic_time
from caet_opt.solving.native.compiled import FAMILY_CODES, compiled_kernel, foreign_kernel, loaded_kernel, rebind
from caet_opt.solving.profiles import find_profile
from caet_opt.solving.result import CharacteristicTime

#: Gap to which the target of a round is solved.
TARGET_TOLERANCE = 1e-8

#: No confidence, to be replaced by one of the two.
UNTOLD = {"delta": ABSENT, "log_inv_delta": ABSENT}


@dataclass(frozen=True)
class Diagnostics:
    """What CAET thinks of a state; nothing in it is needed to go on.

    Attributes
    ----------
    answer, pairs : what the empirical means say, and the pairs that this answer asserts
    evidence, thresholds : of each of these pairs
    costs : the costs that the target was computed for, negligible ones at zero
    target, projected : u_alpha, and its projection that forces exploration

    Examples
    --------
    >>> caet = Caet.start("best-arm", "gaussian", arms=2, delta=0.05, costs=[1, 2])
    >>> caet.observe(0, 1.5)
    >>> caet.observe(1, 0.5)
    >>> caet.diagnostics.pairs, caet.diagnostics.evidence, caet.diagnostics.settled
    (((0, 1),), array([0.25]), False)
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


class Now(NamedTuple):
    """Where the algorithm is. It is replaced as a whole, so that an error leaves nothing half done.

    Attributes
    ----------
    state : what was observed
    last : the last solution, from which the next solve starts
    target, diagnostics : of this state, as far as they are computed
    """

    state: State
    last: CharacteristicTime | None = None
    target: Array | None = None
    diagnostics: Diagnostics | None = None


class Caet:
    """The algorithm on a real or a simulated experiment: `next_arm`, pull it, `observe`, until `stopped`.

    Begin with `Caet.start`, which is told everything by name, or go on with `Caet.resume`. The threshold is made from
    the family, the number of arms and the confidence given, so that it cannot be another experiment's.

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
    ) -> None:
        self.task = parse_task(task) if isinstance(task, str) else task
        self.family = parse_family(family) if isinstance(family, str) else family
        self.arms = arms
        self.threshold = threshold_of(parameters, self.family, arms, self.task)
        self.family.dispersions(arms)
        source = source_of_costs(parameters.cost_source, costs)
        self.parameters = replace(parameters, cost_source=source, threshold=self.threshold.name)
        if costs is not None:
            check_costs(costs, arms)
        self.known_costs = None if costs is None else np.array(costs, dtype=float)
        self.prior_scales = rules.prior_scales(self.known_costs, arms, parameters.free_share)
        self.profile = replace(find_profile(parameters.solver), tolerance=TARGET_TOLERANCE)
        self._now = Now(self._begin())

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
        **settings: Any,
    ) -> Self:
        """A new experiment.

        Parameters
        ----------
        task, family
            What is to be found out, and the family of the rewards, each by its name in the grammar or as an object.
        arms
            How many arms there are.
        delta, log_inv_delta
            The error probability that is allowed, or log(1/delta) for a very small one.
        costs
            The costs of the arms; else ``cost_source="observed"``, with each reward, or ``"gaps"`` to the best arm.
        settings
            By their names in `caet_opt.exploring.settings.Parameters`: threshold, tracking, solver and so on.

        Examples
        --------
        >>> caet = Caet.start("best-arm", "bernoulli", arms=3, delta=0.05, costs=[1, 1, 2])
        >>> caet.next_arm()
        0
        """
        confidence = {"delta": delta, "log_inv_delta": log_inv_delta}
        return cls(task, family, arms, Parameters.read(confidence, settings, simulated=False), costs)

    def save(self, path: str | Path) -> None:
        """Write the whole experiment to one JSON file, in one step; `OSError` leaves an old file as it was."""
        now = self._now
        costs = None if self.known_costs is None else tuple(self.known_costs.tolist())
        compiled = loaded_kernel() is not None
        saved = Saved(
            *(self.task, self.family, self.arms, self.parameters, costs, self.threshold.describe(), compiled),
            *(now.state, now.target, now.last),
        )
        write_whole(path, to_text(saved))

    @classmethod
    def resume(cls, path: str | Path, **expected: Any) -> Self:
        """Go on with a saved experiment as the object that saved it would.

        With the native solver it does so to the last bit; solvers that keep a state of their own may end some ulps
        away. Whatever else is given (task, family, arms, delta, costs or a setting) must agree with the file.
        """
        saved = read_saved(path)
        try:
            caet = cls(saved.task, saved.family, saved.arms, saved.parameters, saved.costs)
            if caet.threshold.describe() != saved.formula:
                raise InputError(f"its threshold is {saved.formula}, not {caet.threshold.describe()}")
            caet.continue_from(saved.state)
            caet._check_expected(expected)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        if saved.compiled and caet.profile.backend == "native" and type(caet.family) in FAMILY_CODES:
            compiled_kernel()  # interpreted, the solver would end some ulps away
        caet._now = Now(saved.state, saved.last, saved.target)
        return caet

    def _check_expected(self, expected: Mapping[str, Any]) -> None:
        """Raise `InputError` for the first expected value that is not this experiment's."""
        found = {setting.name: getattr(self.parameters, setting.name) for setting in OWN}
        found |= {"task": self.task, "family": self.family, "arms": self.arms}
        found |= {"costs": None if self.known_costs is None else tuple(self.known_costs.tolist())}
        found |= {"delta": self.parameters.delta, "log_inv_delta": self.parameters.log_inv_delta}
        for name, value in expected.items():
            if name not in found:
                raise InputError(unknown_name("setting", name, found))
            if not self._agrees(name, value, found[name]):
                raise InputError(f"the saved experiment has {name} = {found[name]}, not {value}")

    def _agrees(self, name: str, value: Any, found: Any) -> bool:
        """Whether an expected value, as it may be given to `start`, is the one that was found."""
        if name in ("delta", "log_inv_delta"):
            return replace(self.parameters, **{**UNTOLD, name: value}) == self.parameters
        if name in ("task", "family") and isinstance(value, str):
            value = parse_task(value) if name == "task" else parse_family(value)
        return bool((tuple(value) if isinstance(value, list) else value) == found)

    def _begin(self) -> State:
        """The state before the first round, in which the target is uniform."""
        nothing = (0.0,) * self.arms
        return State(0, (0,) * self.arms, nothing, nothing, (1.0 / self.arms,) * self.arms, 0.0)

    @property
    def state(self) -> State:
        """What was observed, and what tracking follows."""
        return self._now.state

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
        self._now = self._diagnose(self._now)
        assert self._now.diagnostics is not None
        return self._now.diagnostics

    @property
    def tracking_error(self) -> float:
        """Largest distance of a count from the cumulated target."""
        return float(np.max(np.abs(np.array(self.state.counts) - np.array(self.state.cumulated_target))))

    def _diagnose(self, now: Now) -> Now:
        """The same with diagnostics, and with the solution that they took; nothing of the object changes."""
        if now.diagnostics is not None:
            return now
        state, means = now.state, now.state.means()
        answer = self.task.answer(means.tolist())
        pairs = self.task.answer_pairs(answer, self.arms)
        costs = self._costs(state, means)
        known = now.target is not None
        target, solution = (now.target, now.last) if known else self._target(pairs, means, costs, now.last)
        assert target is not None
        evidence = self._evidence(state, pairs, means)
        diagnostics = Diagnostics(
            answer=answer,
            pairs=pairs,
            evidence=evidence,
            thresholds=self._needed(state, pairs, means, evidence),
            costs=costs,
            target=target,
            projected=rules.project(target, rules.exploration_floor(self.arms, state.round)),
        )
        return Now(state, solution, target, diagnostics)

    def next_arm(self) -> int:
        """The arm to pull now; a function of the state alone."""
        counts = np.array(self.state.counts, dtype=float)
        if self.parameters.tracking == "c" or not self._explored:
            return rules.next_by_cumulated_target(np.array(self.state.cumulated_target), counts)
        return rules.next_by_present_target(self._present_target(), counts, self.state.round)

    def _present_target(self) -> Array:
        """The target of this state, which a compiled round leaves without the rest of its diagnostics."""
        return self.diagnostics.target if self._now.target is None else self._now.target

    def observe(self, arm: int, reward: float, cost: float | None = None) -> None:
        """Take in what a pull of an arm brought; with observed costs also what it cost.

        All or nothing: after an error the object is as it was before.
        """
        arm = read_arm(arm, self.arms)
        reward = read_finite(reward, f"reward of arm {arm}")
        self.family.check_reward(reward)
        self._now = self._track(self._absorb(arm, reward, self._cost_of_pull(arm, cost)))

    def _absorb(self, arm: int, reward: float, paid: float) -> State:
        """The state with an observation that leaves every sum finite and the arm's mean in the family."""
        state = self.state
        total, cost_sums = state.total_cost + paid, add_to(state.cost_sums, arm, paid)
        if not isfinite(total):
            raise InputError(f"cost {paid:g} takes the total cost out of double precision; rescale the costs")
        absorbed = State(
            state.round + 1,
            tuple(count + (other == arm) for other, count in enumerate(state.counts)),
            add_to(state.reward_sums, arm, reward),
            cost_sums,
            state.cumulated_target,
            total,
        )
        self._check_mean(absorbed, arm)
        return absorbed

    def _track(self, absorbed: State) -> Now:
        """The state with its own round's target added to the cumulated one, and what is known of it."""
        now = Now(absorbed, self._now.last)
        step = np.full(self.arms, 1.0 / self.arms)
        if min(absorbed.counts) > 0:
            now = self._diagnose(now)
            assert now.diagnostics is not None
            step = now.diagnostics.projected
        cumulated = (np.array(absorbed.cumulated_target) + step).tolist()
        return now._replace(state=replace(absorbed, cumulated_target=tuple(cumulated)))

    def continue_from(self, state: State) -> None:
        """Go on from a state, forgetting this one; `InputError` when it is none of this experiment."""
        state.check()
        if len(state.counts) != self.arms:
            raise InputError(f"the saved state has {len(state.counts)} arms, not {self.arms}")
        for arm, count in enumerate(state.counts):
            if count:
                self._check_mean(state, arm)
        self._now = Now(state)

    def go_on(self, state: State, target: Array, effort: Array, multipliers: Array) -> None:
        """Go on from where compiled rounds have led: a state, its target, and the solution of its round.

        The next solve starts from that solution, as it does where the object has solved every round by itself. From
        another start it would end some ulps away, and of two arms that tie the other would be pulled first.
        """
        last = self._now.last
        assert last is not None  # the rounds began with a target that was solved for
        value = float(np.sum(multipliers))
        self._now = Now(state, replace(last, value=value, effort=effort, multipliers=multipliers), target)

    def _check_mean(self, state: State, arm: int) -> None:
        mean = state.reward_sums[arm] / state.counts[arm]
        if mean not in self.family.mean_space:
            raise InputError(
                f"the rewards of arm {arm} would have mean {mean:g}, outside the {self.family.name} family, "
                f"whose means lie in {self.family.mean_space}"
            )

    def pattern(self) -> tuple[type[Family], tuple[Pair, ...], tuple[bool, ...]] | None:
        """Family, pairs and costly arms of the present target; None where a rule other than the solver sets it."""
        if not self._explored:
            return None
        means, now = self.state.means(), self.diagnostics
        if any(means[a] == means[b] for a, b in now.pairs):
            return None
        return type(self.family), now.pairs, tuple((now.costs > 0).tolist())

    def last_solution(self) -> tuple[Array, Array] | None:
        """Effort and multipliers of the last solve, if it was for the present pairs and costly arms."""
        now, last = self.diagnostics, self._now.last
        if last is None or not can_start(last, now.pairs, now.costs.tolist()):
            return None
        return last.effort, last.multipliers

    def _cost_of_pull(self, arm: int, cost: float | None) -> float:
        """What a pull cost: the known cost of the arm, or what was observed, zero or more."""
        if cost is not None and (cost := read_finite(cost, f"cost of arm {arm}")) < 0:
            raise InputError(f"cost of arm {arm} must be zero or more, got {cost:g}")
        if self.known_costs is not None:
            return float(self.known_costs[arm])
        if cost is None and self.parameters.cost_source == "observed":
            raise InputError("observed costs need a cost of zero or more with every reward, got None")
        return 0.0 if cost is None else cost

    def _costs(self, state: State, means: Array) -> Array:
        """The costs that enter the target: known ones as they are, estimated ones without the negligible."""
        if self.known_costs is not None:
            return self.known_costs
        estimate = state.mean_costs() if self.parameters.cost_source == "observed" else np.max(means) - means
        return rules.drop_negligible_costs(estimate, self.parameters.negligible_cost)

    def _target(
        self, pairs: tuple[Pair, ...], means: Array, costs: Array, last: CharacteristicTime | None
    ) -> tuple[Array, CharacteristicTime | None]:
        """``u_alpha`` of the empirical model, by an exact solve, with the solution; see `caet_opt.exploring.rules`."""
        if any(means[a] == means[b] for a, b in pairs):
            return rules.tied_target(pairs, means, costs), last
        model = BanditModel(self.family, means.tolist(), costs.tolist())
        found = characteristic_time(model, self.task, solver=self.profile, warm_start=last)
        support = sorted({arm for pair in pairs for arm in pair})
        proportions = rules.proportions(found.effort, costs)
        target = rules.shared_target(proportions, costs, support, self.parameters.free_share)
        if not isclose(np.sum(target), 1.0, rel_tol=1e-9):
            raise SolverError("the effort of a round is outside double precision; rescale the means or the variances")
        return target, found

    def _evidence(self, state: State, pairs: tuple[Pair, ...], means: Array) -> Array:
        """Z_ab of each pair, by `kernel.pair_evidence`, so that both loops stop in the same round."""
        code, evidence = evidence_of(type(self.family))
        with np.errstate(over="ignore"):  # as in compiled code: evidence that is not a number stops no run
            weight = (np.array(state.counts) / self.family.dispersions(self.arms)).tolist()
        mean = means.tolist()
        return np.array([evidence(code, weight[a], weight[b], mean[a], mean[b]) for a, b in pairs])

    def _needed(self, state: State, pairs: tuple[Pair, ...], means: Array, evidence: Array) -> Array:
        """What the evidence of each pair must exceed."""
        known = means.tolist(), self.family.dispersions(self.arms).tolist(), self.prior_scales.tolist()
        arms = list(map(PairState, state.counts, *known))
        return np.array(
            [
                self.threshold.needed(self.family, found, state.round, arms[a], arms[b])
                for (a, b), found in zip(pairs, evidence.tolist(), strict=True)
            ]
        )


def source_of_costs(source: CostSource | None, costs: Sequence[float] | None) -> CostSource:
    """Where the costs come from: known exactly when they are given."""
    if (costs is None) == (source in (None, "known")):
        raise InputError(
            "give the costs of the arms exactly when they are known, as costs=[1, 1, 2]; else say where they come "
            "from, as cost_source='observed' or 'gaps'"
        )
    return "known" if costs is not None else source or "known"


@cache
def evidence_of(family: type[Family]) -> tuple[int, Callable[..., float]]:
    """The family's code, and `pair_evidence` with its divergence."""
    if family in FAMILY_CODES:
        return FAMILY_CODES[family], pair_evidence
    return -1, rebind(pair_evidence, foreign_kernel(family))


def read_arm(arm: Any, arms: int) -> int:
    """The number of an arm, or `InputError`."""
    number = int(arm) if isinstance(arm, Integral) and not isinstance(arm, bool) else -1
    if not 0 <= number < arms:
        raise InputError(f"arm {arm!r} does not exist; arms are 0 to {arms - 1}")
    return number


def read_finite(value: Any, what: str) -> float:
    """A finite number as a double, or `InputError`; a truth value counts as 0 or 1."""
    try:
        number = float(value) if isinstance(value, Real | Decimal | np.bool_) else nan
    except OverflowError:
        number = nan
    if not isfinite(number):
        raise InputError(f"{what} must be a finite number, got {value!r}")
    return number


def add_to(values: tuple[float, ...], arm: int, amount: float) -> tuple[float, ...]:
    """The values with an amount added to one arm's."""
    return (*values[:arm], values[arm] + amount, *values[arm + 1 :])
