"""What a policy must supply, and what every policy is told of its experiment."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from caet_opt.bandits.families import Family
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks import Pair, Task
from caet_opt.errors import InputError
from caet_opt.exploring import rules, tally
from caet_opt.exploring.kept_targets import Kept
from caet_opt.exploring.settings import COST_SOURCES, Parameters
from caet_opt.exploring.state import State, add_up
from caet_opt.exploring.stopping import Threshold
from caet_opt.exploring.stopping.base import PairState
from caet_opt.exploring.stopping.e_values import told_apart
from caet_opt.exploring.stopping.kernels import E_PROCESS
from caet_opt.solving.backends.native import target_of
from caet_opt.solving.native.compiled import FAMILY_CODES, foreign_kernel, rebind
from caet_opt.solving.profiles import Profile
from caet_opt.solving.result import CharacteristicTime

#: Gap to which the target of a round is solved.
TARGET_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Diagnostics:
    """What a policy thinks of a state; nothing in it is needed to go on.

    Attributes
    ----------
    answer, pairs : what the empirical means say, and the pairs that this answer asserts
    evidence, thresholds : of each of these pairs
    costs : the costs that decisions were made with, negligible ones at zero
    target, projected : u_alpha, and its projection that forces exploration; None for a policy that solves for no target

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
    target: Array | None = None
    projected: Array | None = None

    @property
    def settled(self) -> bool:
        """Whether the evidence of every pair exceeds its threshold."""
        return len(self.pairs) > 0 and bool(np.all(self.evidence > self.thresholds))


class Now(NamedTuple):
    """Where an experiment is. It is replaced as a whole, so that an error leaves nothing half done.

    Attributes
    ----------
    state : what was observed
    last : the last solution, from which the next solve starts
    target, view, diagnostics : of this state, as far as they are computed
    kept : what is kept of the last solve by a policy that solves

    Examples
    --------
    >>> explorer = Explorer.start("best-arm", "gaussian", arms=2, delta=0.05, costs=[1, 2])
    >>> isinstance(explorer.now, Now), explorer.now.state.counts
    (True, (0, 0))
    """

    state: State
    last: CharacteristicTime | None = None
    target: Array | None = None
    view: tally.View | None = None
    diagnostics: Diagnostics | None = None
    kept: Kept | None = None


@dataclass(frozen=True)
class Setup:
    """What a policy is told of its experiment.

    Attributes
    ----------
    task, family, arms, parameters, threshold : what is asked, and how
    known_costs : None where costs are estimated
    profile : of the solver
    seed : of the policy's own draws
    truth : the true model, solved, which only an oracle is told
    """

    task: Task
    family: Family
    arms: int
    parameters: Parameters
    threshold: Threshold
    known_costs: Array | None
    profile: Profile
    seed: int = 0
    truth: CharacteristicTime | None = field(default=None, repr=False)

    @cached_property
    def prior_scales(self) -> Array:
        """How many times rho the prior of each arm is worth."""
        return rules.prior_scales(self.known_costs, self.arms, self.parameters.free_share)

    @cached_property
    def dispersions(self) -> Array:
        """Of each arm."""
        return self.family.dispersions(self.arms)

    @property
    def is_shipped(self) -> bool:
        """Whether compiled code knows the family."""
        return type(self.family) in FAMILY_CODES

    @cached_property
    def shape(self) -> tuple[int, Integers]:
        """The shape of the task's pairs and its members, for compiled code; -1 for one that it does not know."""
        return self.task.compiled_shape(self.arms) or (-1, np.zeros(0, dtype=np.int64))

    def costs(self, state: State, means: Array) -> Array:
        """The costs that enter decisions: known ones as they are, estimated ones without the negligible."""
        if self.known_costs is not None:
            return self.known_costs
        estimate = state.mean_costs() if self.parameters.cost_source == "observed" else np.max(means) - means
        return rules.drop_negligible_costs(estimate, self.parameters.negligible_cost)

    def evidence(self, state: State, pairs: tuple[Pair, ...], means: Array) -> Array:
        """Z_ab of each pair, by `tally.pair_evidence`, so that both loops stop in the same round."""
        code, evidence = evidence_of(type(self.family))
        with np.errstate(over="ignore"):  # as in compiled code: evidence that is not a number stops no run
            weight = (np.array(state.counts) / self.dispersions).tolist()
        mean = means.tolist()
        return np.array([evidence(code, weight[a], weight[b], mean[a], mean[b]) for a, b in pairs])

    def needed(self, state: State, pairs: tuple[Pair, ...], means: Array, evidence: Array) -> Array:
        """What the evidence of each pair must exceed: itself, where it would not with rounding counted against it."""
        known = means.tolist(), self.dispersions.tolist(), self.prior_scales.tolist()
        arms = list(map(PairState, state.counts, *known))
        needed = [
            self.threshold.needed(self.family, found, state.round, arms[a], arms[b])
            for (a, b), found in zip(pairs, evidence.tolist(), strict=True)
        ]
        if self.threshold.code != E_PROCESS:  # which has counted it
            code, weigh = evidence_of(type(self.family))
            for at, ((a, b), found) in enumerate(zip(pairs, evidence.tolist(), strict=True)):
                if found > needed[at]:
                    wa, wb = (arms[arm].pulls / arms[arm].dispersion for arm in (a, b))
                    apart = told_apart(code, arms[a].mean, arms[b].mean)
                    needed[at] = needed[at] if weigh(code, wa, wb, *apart) > needed[at] else found
        return np.array(needed)

    def setting(self, *, tracking: int, blind: bool = False, given: Array | None = None) -> tally.Conditions:
        """What compiled code needs to know: how targets are tracked, whether every cost counts as one, and a target."""
        threshold, parameters, space = self.threshold, self.parameters, self.family.mean_space
        numbers = np.zeros((4, self.arms))
        numbers[tally.DISPERSION] = self.dispersions
        numbers[tally.PRIOR] = threshold.slope * self.prior_scales / self.dispersions
        numbers[tally.GIVEN] = 0.0 if given is None else given
        return tally.Conditions(
            family=FAMILY_CODES.get(type(self.family), -1),
            error=float(self.family.divergence_error),
            low=float(space.low),
            high=float(space.high),
            numbers=numbers,
            cost_source=tally.UNIT if blind else COST_SOURCES.index(parameters.cost_source),
            zero_cost_share=parameters.free_share,
            negligible_cost=parameters.negligible_cost,
            tracking=tracking,
            threshold=threshold.code,
            level=threshold.level,
            slope=threshold.slope,
            tolerance=TARGET_TOLERANCE,
            target=target_of(TARGET_TOLERANCE),
            limit=self.profile.max_iterations,
            seed=self.seed,
            gap=parameters.solve_gap,
            batch=parameters.batch_rule[0],
            growth=parameters.batch_rule[1],
        )

    def rows(self, state: State) -> Array:
        """The state as compiled code keeps it, with means; costs that are known are filled in."""
        arms = np.zeros((tally.ARM_ROWS, self.arms))
        arms[tally.COUNT], arms[tally.REWARD], arms[tally.SPENT] = state.counts, state.reward_sums, state.cost_sums
        arms[tally.REST_OF_REWARD], arms[tally.MEMORY], arms[tally.MEAN] = (
            state.reward_rests,
            state.memory,
            state.means(),
        )
        return arms

    def state_after(self, state: State, arms: Array, done: int) -> State:
        """The state that so many rounds in compiled code have led to."""
        costs = tuple(arms[tally.SPENT].tolist())
        return State(
            state.round + done,
            tuple(int(count) for count in arms[tally.COUNT]),
            tuple(arms[tally.REWARD].tolist()),
            costs,
            tuple(arms[tally.MEMORY].tolist()),
            add_up(costs),
            tuple(arms[tally.REST_OF_REWARD].tolist()),
        )


class Policy(ABC):
    """A sampling rule: which arm to pull next, and for some rules when to stop. A new policy is one subclass.

    Most policies subclass `caet_opt.exploring.policies.index.IndexPolicy`, which asks for one function.

    Attributes
    ----------
    name, about : in the grammar, and a line for lists of policies
    covered : the tasks that the rule is defined for, by their classes; None for all
    predictable : whether pulls tend to u_alpha from the start, so that a cost at finite delta can be predicted
    optimal : whether its cost tends to ``theta T* log(1/delta)`` as delta tends to 0, theta that of the threshold
    tracks : whether a target is tracked, by the setting ``tracking``
    needs_truth : whether it has to know the true model
    shipped_only : whether it has formulas for the shipped families alone
    may_starve : whether it can leave an arm without pulls for ever, dropped or never again of interest: then rare runs
        in which that is the right arm may take any time, and decide the expected cost without being seen in most
        simulations

    Examples
    --------
    >>> POLICIES["kl-lucb"].covers(parse_task("best-arm")), POLICIES["kl-lucb"].covers(parse_task("ranking"))
    (True, False)
    """

    name: ClassVar[str]
    about: ClassVar[str]
    covered: ClassVar[tuple[type[Task], ...] | None] = None
    predictable: ClassVar[bool] = False
    optimal: ClassVar[bool] = False
    tracks: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False
    shipped_only: ClassVar[bool] = False
    may_starve: ClassVar[bool] = False

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.check(setup.task)

    @classmethod
    def covers(cls, task: Task) -> bool:
        """Whether the rule is defined for a task."""
        return cls.covered is None or isinstance(task, cls.covered)

    @classmethod
    def check(cls, task: Task) -> None:
        """Raise `InputError` for a task that the rule is not defined for."""
        if not cls.covers(task):
            tasks = " and ".join(kind.name for kind in cls.covered or ())
            raise InputError(f"policy {cls.name!r} covers {tasks}, not {task}; 'caet' covers every task")

    def begin(self) -> Now:
        """Before the first round, with nothing to remember."""
        nothing = (0.0,) * self.setup.arms
        return Now(State(0, (0,) * self.setup.arms, nothing, nothing, nothing, 0.0))

    def check_state(self, state: State) -> None:
        """Raise `InputError` for a state that this policy cannot have led to, as far as it can tell."""
        state.check()

    @abstractmethod
    def advance(self, now: Now, absorbed: State, arm: int) -> Now:
        """Where the experiment is after an observation of an arm, given the state with it."""

    def prepare(self, now: Now) -> Now:
        """The same with what the decisions about this state need, so that it is computed once."""
        return now

    @abstractmethod
    def next_arm(self, now: Now) -> int:
        """The arm to pull, a function of the state alone; every arm has an observation."""

    @abstractmethod
    def next_arms(self, now: Now, pulls: int, pending: Sequence[int]) -> list[int]:
        """Arms for so many pulls at once, given those of pulls that are not answered yet, the oldest first."""

    @abstractmethod
    def has_ended(self, now: Now) -> bool:
        """Whether the answer is final; every arm has an observation."""

    def answer(self, state: State) -> Hashable:
        """What the observations say."""
        return self.setup.task.answer(state.means().tolist())

    def diagnose(self, now: Now) -> Now:
        """The same with diagnostics."""
        if now.diagnostics is not None:
            return now
        return now._replace(diagnostics=self.weigh(now.state))

    def weigh(self, state: State, **more: Any) -> Diagnostics:
        """The diagnostics of a state, with what the policy adds to them."""
        setup, means = self.setup, state.means()
        answer = self.answer(state)
        pairs = setup.task.answer_pairs(answer, setup.arms)
        evidence = setup.evidence(state, pairs, means)
        needed = setup.needed(state, pairs, means, evidence)
        return Diagnostics(answer, pairs, evidence, needed, **{"costs": setup.costs(state, means), **more})


def as_columns(pairs: Sequence[Pair]) -> Integers:
    """Pairs as compiled code has them."""
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy()


@cache
def evidence_of(family: type[Family]) -> tuple[int, Callable[..., float]]:
    """The family's code, and `pair_evidence` with its divergence."""
    if family in FAMILY_CODES:
        return FAMILY_CODES[family], tally.pair_evidence
    return -1, rebind(tally.pair_evidence, foreign_kernel(family))
