"""What a policy must supply, and what every policy is told of its experiment."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from math import fsum, inf, nan
from typing import Any, ClassVar, NamedTuple

import numpy as np

from caet_opt.bandits.families import Bounded, Family
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.limits import Limit
from caet_opt.bandits.tasks import Pair, Statement, Task
from caet_opt.bandits.tasks.base import Form
from caet_opt.bandits.tasks.pairs import REST
from caet_opt.bandits.tasks.statements import encode
from caet_opt.errors import InputError
from caet_opt.exploring import compiling
from caet_opt.exploring.counted import Counted, extra_rows, read_histograms, write_histograms
from caet_opt.exploring.following import choose_answer
from caet_opt.exploring.saving import TARGET_KEYS, Followed, Target
from caet_opt.exploring.settings import COST_SOURCES, Parameters
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping import Betting, EProcess, Threshold
from caet_opt.exploring.stopping.base import PairState
from caet_opt.exploring.stopping.e_process import foreign_martingales, largest_exceeded, prior_scales
from caet_opt.kernels import e_values, ledger, statement_evidence
from caet_opt.kernels.compile import Kernel, list_functions
from caet_opt.kernels.e_values import told_apart
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.interpret import Interpreted, interpret
from caet_opt.kernels.ledger import NO_STREAMS, Seen, View
from caet_opt.kernels.native import KERNEL, interpreted_kernel
from caet_opt.kernels.records import COLUMN_ROWS, PIECE
from caet_opt.kernels.several import choice_is_due
from caet_opt.kernels.statement_columns import TWO_MINIMA
from caet_opt.kernels.statement_evidence import boundary_point
from caet_opt.kernels.term import pair_term
from caet_opt.kernels.thresholds import E_PROCESS
from caet_opt.solving.backends.native import target_of
from caet_opt.solving.profiles import Profile
from caet_opt.solving.result import CharacteristicTime

#: Gap to which the target of a round is solved.
TARGET_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Diagnostics:
    """What a policy thinks of a state; nothing in it is needed to go on.

    Attributes
    ----------
    answer, statements : what the empirical means say, and what this answer asserts
    evidence, thresholds : of each of these statements
    costs : the costs that decisions were made with, negligible ones at zero
    target, projected : u_alpha, and its projection that forces exploration; None for a policy that solves for no target

    Examples
    --------
    >>> caet = Caet.start("best-arm", "gaussian", arms=2, delta=0.05, costs=[1, 2])
    >>> caet.observe(0, 1.5)
    >>> caet.observe(1, 0.5)
    >>> print(*caet.diagnostics.statements, caet.diagnostics.evidence, caet.diagnostics.settled)
    0 > 1 [0.25] False
    """

    answer: Hashable
    statements: tuple[Statement, ...]
    evidence: Array
    thresholds: Array
    costs: Array
    target: Array | None = None
    projected: Array | None = None

    @property
    def settled(self) -> bool:
        """Whether the evidence of every statement exceeds its threshold."""
        return len(self.statements) > 0 and bool(np.all(self.evidence > self.thresholds))


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
    tie_order : the arms in the order in which the first of equal ones is taken; by number unless it is given
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
    tie_order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.tie_order:
            object.__setattr__(self, "tie_order", tuple(range(self.arms)))
        self.check_statements()

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The limits that targets meet."""
        return self.parameters.share_limits

    @cached_property
    def prior_scales(self) -> Array:
        """How many times rho the prior of each arm is worth."""
        return prior_scales(self.known_costs, self.arms, self.parameters.free_share)

    @cached_property
    def dispersions(self) -> Array:
        """Of each arm."""
        return self.family.dispersions(self.arms)

    @cached_property
    def has_known_formula(self) -> bool:
        """Whether compiled code knows the formula of the threshold, whatever numbers are in it."""
        known = {(kind.value, kind.needed) for kind in (Threshold, EProcess, Betting)}
        return (type(self.threshold).value, type(self.threshold).needed) in known

    @cached_property
    def is_shipped(self) -> bool:
        """Whether compiled code knows the family and the threshold."""
        return self.code >= 0 and self.has_known_formula

    def costs(self, state: State, means: Array) -> Array:
        """The costs that enter decisions: known ones as they are, estimated ones without the negligible."""
        if self.known_costs is not None:
            return self.known_costs
        estimate = state.mean_costs()
        if self.parameters.cost_source == "gaps":
            estimate = means - np.min(means) if self.task.lower_is_better else np.max(means) - means
        return np.where(estimate > self.parameters.negligible_cost, estimate, 0.0)

    @cached_property
    def form(self) -> Form | None:
        """The task in compiled code, as rounds have it; None for one that it does not know."""
        form = self.task.compiled_form(self.arms)
        return form and form._replace(numbers=without_rests(form.numbers))

    def is_stated(self, statements: Sequence[Statement]) -> bool:
        """Whether a view of some statements of the task has their margins: where any statement of the task is more than
        the order of two arms, or no formula in two means says what the order is worth."""
        if isinstance(self.family, Bounded):
            return True
        numbered = (*self.task.numbered_statements(), *statements)
        return not all(statement.is_plain for statement in numbered)

    def some_statements(self) -> tuple[Statement, ...]:
        """Of the answer for equal means, or of the first answer if none is for those."""
        try:
            return self.task.statements([0.0] * self.arms)
        except InputError:
            answers = self.task.list_answers(self.arms)
            if answers is None:
                raise
            return self.task.answer_statements(next(iter(answers)), self.arms)

    def check_statements(self) -> None:
        """Raise `InputError` for a task whose statements make no sense for the family, or have no formula there."""
        self.task.check_family(self.family)
        for statement in self.task.numbered_statements():
            if self.code < 0 and len(statement.arms) == 2 and not statement.is_plain:
                raise InputError(
                    f"task {str(self.task)!r}: margins and ratios are for the shipped families, not for "
                    f"{self.family.name}; levels are for every family"
                )

    @cached_property
    def code(self) -> int:
        """The family in compiled code; -1 for one that it does not know."""
        return FAMILY_CODES.get(type(self.family), -1)

    def pair_evidence(self, wa: float, wb: float, x: float, y: float) -> float:
        """``Z_ab = w_a d(x, m) + w_b d(y, m)``, m the mean of both weighted by pulls over dispersion, as in a round."""
        term = pair_term if self.code >= 0 else interpreted_kernel(type(self.family)).parts["pair_term"]
        return float(term(self.code, wa, wb, x, y, 0.0, 0.0, False, False)[0])

    def sides_of(self, state: State, means: Array, statement: Statement) -> tuple[PairState | None, PairState | None]:
        """The two arms of a statement."""
        winner, loser = (
            None
            if arm is None
            else PairState(
                state.counts[arm], float(means[arm]), float(self.dispersions[arm]), float(self.prior_scales[arm])
            )
            for arm in statement[:2]
        )
        return winner, loser

    def statement_rule(self, name: str, winner: PairState | None, loser: PairState | None, *numbers: float) -> float:
        """A function of `caet_opt.kernels.statement_evidence` for two sides and what follows them there, as in a
        round."""
        weights = (0.0 if arm is None else np.float64(arm.pulls) / arm.dispersion for arm in (winner, loser))
        means = (np.float64(0.0 if arm is None else arm.mean) for arm in (winner, loser))
        space = self.family.mean_space
        ends = () if name == boundary_point.__name__ else (float(space.low), float(space.high))
        found = interpret_evidence(type(self.family))[name](self.code, *ends, *weights, *means, *numbers)
        return float(found)

    def counted(self, state: State) -> Counted | None:
        """What the histograms of a state say; None where means and counts say all."""
        if not isinstance(self.family, Bounded):
            return None
        return Counted(self.family, state.counts, state.means(), state.histograms)

    def evidence(self, state: State, statements: Sequence[Statement | Pair], means: Array) -> Array:
        """Z of each statement; a pair (a, b) is the statement that a beats b."""
        return np.array([self.evidence_of(state, Statement(*statement), means) for statement in statements])

    def evidence_of(self, state: State, statement: Statement, means: Array) -> float:
        """The same of one statement."""
        if (counted := self.counted(state)) is not None:
            return counted.evidence(statement)
        winner, loser = self.sides_of(state, means, statement)
        if statement.is_plain and winner is not None and loser is not None:
            with np.errstate(over="ignore"):  # as in compiled code: evidence that is not a number stops no run
                wa, wb = (float(np.float64(arm.pulls) / arm.dispersion) for arm in (winner, loser))
            return self.pair_evidence(wa, wb, winner.mean, loser.mean)
        return self.statement_rule("statement_evidence", winner, loser, *numbers_of(statement))

    def needed(self, state: State, statements: Sequence[Statement | Pair], means: Array, evidence: Array) -> Array:
        """What the evidence of each statement must exceed: itself, where it would not with rounding counted against
        it."""
        weighed = zip(statements, evidence.tolist(), strict=True)
        return np.array([self.needed_by(state, Statement(*statement), means, found) for statement, found in weighed])

    def needed_by(self, state: State, statement: Statement, means: Array, evidence: float) -> float:
        """The same of one statement; of rewards in a range ``level + Z - log E``, log E taken at one point."""
        if (counted := self.counted(state)) is not None:
            lead = counted.lead(statement, self.threshold.level)
            if lead > 0.0 and not counted.exceeds(statement, self.threshold.level):
                return evidence
            return evidence - lead if lead < inf else self.threshold.level
        sides = self.sides_of(state, means, statement)
        numbers = () if statement.is_plain else numbers_of(statement)[:3]
        return self.needed_of(evidence, state.round, *sides, *numbers)

    def weigh(self, state: State, statements: Sequence[Statement | Pair]) -> list[tuple[float, float]]:
        """Evidence and what it must exceed, as people read them: of the e-process log E and log(R / delta)."""
        means, rule = state.means(), self.threshold
        evidence = self.evidence(state, statements, means)
        if not isinstance(rule, EProcess):
            return list(zip(evidence.tolist(), self.needed(state, statements, means, evidence).tolist(), strict=True))
        weighed, level, counted = [], rule.level, self.counted(state)
        for statement, found in zip(statements, evidence.tolist(), strict=True):
            if counted is not None:
                exceeds = partial(counted.exceeds, Statement(*statement))
                weighed.append((largest_exceeded(exceeds, level, found), level))
                continue
            winner, loser = self.sides_of(state, means, Statement(*statement))
            margin, rest, ratio, _ = numbers_of(Statement(*statement))
            x = self.point_of(winner, loser, margin, rest, ratio)
            weighed.append((rule.log_e_value(self.family, found, winner, loser, margin, ratio, x), level))
        return weighed

    def point_of(
        self, winner: PairState | None, loser: PairState | None, margin: float, rest: float, ratio: float
    ) -> float:
        """The winner's mean at the minimum that is the evidence, where it is needed."""
        if margin == 0.0 or winner is None or loser is None:
            return nan
        return self.statement_rule("boundary_point", winner, loser, margin, rest, ratio)

    def needed_of(
        self,
        evidence: float,
        now: float,
        winner: PairState | None,
        loser: PairState | None,
        margin: float = 0.0,
        rest: float = 0.0,
        ratio: float = 1.0,
    ) -> float:
        """What the evidence of ``winner > ratio loser + margin`` must exceed, given the double that the margin is and
        its rest."""
        is_pair = winner is not None and loser is not None and margin == 0.0 and ratio == 1.0
        if not is_pair and not evidence > self.threshold.level:
            return self.threshold.level
        more = () if is_pair else (margin, ratio, self.point_of(winner, loser, margin, rest, ratio))
        needed = self.threshold.needed(self.family, evidence, now, winner, loser, *more)
        if self.threshold.code == E_PROCESS or not evidence > needed:  # the e-process has counted rounding
            return needed
        if is_pair and winner is not None and loser is not None:
            weights = winner.pulls / winner.dispersion, loser.pulls / loser.dispersion
            found = self.pair_evidence(*weights, *told_apart(self.code, winner.mean, loser.mean))
        else:
            found = self.statement_rule("certain_evidence", winner, loser, margin, rest, ratio)
        return needed if found > needed else evidence

    def setting(self, *, tracking: int, blind: bool = False, given: Array | None = None) -> ledger.Conditions:
        """What compiled code needs to know: how targets are tracked, whether every cost counts as one, and a target."""
        threshold, parameters, space = self.threshold, self.parameters, self.family.mean_space
        numbers = np.zeros((4, self.arms))
        numbers[ledger.DISPERSION] = self.dispersions
        numbers[ledger.PRIOR] = threshold.slope * self.prior_scales / self.dispersions
        numbers[ledger.GIVEN] = 0.0 if given is None else given
        return ledger.Conditions(
            family=self.code,
            error=float(self.family.divergence_error),
            low=float(space.low),
            high=float(space.high),
            numbers=numbers,
            cost_source=ledger.UNIT if blind else COST_SOURCES.index(parameters.cost_source),
            zero_cost_share=parameters.free_share,
            negligible_cost=parameters.negligible_cost,
            tracking=tracking,
            threshold=threshold.code,
            level=threshold.level,
            slope=threshold.slope,
            tolerance=TARGET_TOLERANCE,
            target=target_of(TARGET_TOLERANCE),
            limit=self.profile.max_iterations,
            native=self.profile.backend == "native",
            seed=self.seed,
            gap=parameters.solve_gap,
            batch=parameters.batch_rule[0],
            growth=parameters.batch_rule[1],
            lower_is_better=self.task.lower_is_better,
            limited=parameters.limits is not None,
            several=self.task.several_right,
        )


class RoundColumns(NamedTuple):
    """Statements as a view has them, see `ledger.View`."""

    pairs: Integers
    margins: Array


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
    by_means : whether it has formulas in means alone, such as confidence bounds, which rewards in a range do not have
    takes_limits : whether its pulls tend to shares that meet limits
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
    by_means: ClassVar[bool] = False
    takes_limits: ClassVar[bool] = False
    may_starve: ClassVar[bool] = False

    #: The functions with which `rounds.play` is compiled.
    own: ClassVar[tuple[str, ...]] = ("choose", "respond", "ended")

    #: How targets are tracked, and whether every cost counts as one, in what compiled code is told.
    tracking: int = ledger.CUMULATED
    blind: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def choose(view: Seen) -> int:
        """The arm to pull, a function of the view alone; -1 leaves it to `choose_here`."""

    @staticmethod
    @abstractmethod
    def respond(view: Seen, arm: int, waiting: bool) -> int:
        """Take note of an outcome of an arm, ``waiting`` while some arm has none; what is needed, or `ledger.DONE`."""

    @staticmethod
    @abstractmethod
    def ended(view: Seen) -> bool:
        """Whether the answer is final; every arm has an outcome."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.check(setup.task)
        self.check_limits(setup.parameters, setup.family)
        if not self.fits(setup.family) and setup.code < 0:
            raise InputError(f"policy {self.name!r} knows the shipped families only, not {setup.family}; use 'top-two'")
        if not self.fits(setup.family):
            raise InputError(
                f"policy {self.name!r} goes by formulas in means, which rewards in a range do not have; use 'caet', "
                "'top-two-ids' or another that goes by statements"
            )
        self.setting = self.make_setting()
        self.functions = interpret_play(type(self), type(setup.family))
        if not setup.has_known_formula:
            self.functions = interpret(compiling.list_play(type(self)), type(setup.family), foreign_threshold(setup))

    def make_setting(self) -> ledger.Conditions:
        """What stays the same in a run."""
        return self.setup.setting(tracking=self.tracking, blind=self.blind)

    @classmethod
    def covers(cls, task: Task) -> bool:
        """Whether the rule is defined for a task."""
        return cls.covered is None or isinstance(task, cls.covered)

    @classmethod
    def fits(cls, family: Family) -> bool:
        """Whether there are the formulas of a family that the rule needs."""
        if cls.by_means and isinstance(family, Bounded):
            return False
        return type(family) in FAMILY_CODES or not cls.shipped_only

    @classmethod
    def check(cls, task: Task) -> None:
        """Raise `InputError` for a task that the rule is not defined for."""
        if not cls.covers(task):
            tasks = " and ".join(kind.name for kind in cls.covered or ())
            raise InputError(f"policy {cls.name!r} covers {tasks}, not {task}; 'caet' covers every task")

    @classmethod
    def check_limits(cls, parameters: Parameters, family: Family) -> None:
        """Raise `InputError` for limits that the rule does not meet, or that costs that are estimated may change, and
        for rewards in a range, of which few outcomes leave the programs under limits without a certificate."""
        if parameters.limits is not None and isinstance(family, Bounded):
            raise InputError(f"limits are not for runs with {family} rewards; T* takes them: caet-opt solve --limit")
        if parameters.limits is not None and not cls.takes_limits:
            raise InputError(f"policy {cls.name!r} cannot keep to limits; use 'caet'")
        if parameters.limits is not None and parameters.cost_source not in (None, "known"):
            raise InputError(f"limits need costs that are known beforehand, not {parameters.cost_source} ones")

    def begin(self) -> Seen:
        """Before the first round, with nothing to remember."""
        setup = self.setup
        arms = np.zeros((ledger.ARM_ROWS + extra_rows(setup.family), setup.arms))
        if isinstance(setup.family, Bounded):
            write_histograms(setup.family, arms)
        if self.blind or setup.known_costs is not None:
            arms[ledger.COST] = 1.0 if self.blind else setup.known_costs
        arms[ledger.ORDER], arms[ledger.PLACE] = setup.tie_order, np.argsort(setup.tie_order)
        return self.make_view(arms, np.zeros(ledger.CLOCK_ENTRIES), self.columns_of(setup.some_statements()))

    def make_view(self, arms: Array, clock: Array, columns: "RoundColumns") -> Seen:
        """What the policy sees, with arrays of its own."""
        form = self.setup.form or Form(-1, np.zeros(0, dtype=np.int64))
        parts: Any = (self.setting, arms, clock, *columns, np.zeros(columns.pairs.shape[1]), *form)
        return View(*parts)

    def columns(self, means: Array) -> "RoundColumns":
        """The columns of the answer for some means, as the task says it."""
        return self.columns_of(self.setup.task.statements(means.tolist()))

    def columns_of(self, statements: tuple[Statement, ...]) -> "RoundColumns":
        """Statements as the columns of a view: as many as the compiled form of the task has, which do not depend on the
        answer, and where there may be two minima as many again, for the second pieces."""
        form, family = self.setup.form, type(self.setup.family)
        many = len(statements) if form is None or not form.numbers.shape[1] else form.numbers.shape[1]
        if not self.setup.is_stated(statements):
            return RoundColumns(encode(statements)[0], np.zeros((COLUMN_ROWS, 0)))
        reverses = not self.setup.task.several_right  # may be asserted as well, unless the others that may are listed
        twice = issubclass(family, TWO_MINIMA) and any(
            len(one.arms) == 2 and (one.margin > 0 or (reverses and one.margin != 0))
            for one in (*self.setup.task.numbered_statements(), *statements)
        )
        pairs, margins = encode(statements, many * (1 + twice))
        margins = without_rests(margins)
        for p in range(many if twice else 0):
            ledger.write_second(pairs, margins, p, many + p)
        return RoundColumns(pairs, np.vstack([margins, np.repeat([0.0, 1.0], [many, many * twice])]))

    def copy_view(self, view: Seen) -> Seen:
        """A view that can be changed without changing this one."""
        own = {name: getattr(view, name).copy() for name in ("arms", "clock", "pairs", "margins", "evidence")}
        return view._replace(**own)

    def restore(self, state: State, saved: Target) -> Seen:
        """The view of a state, from its sums and from what was saved of its target."""
        view = self.begin()
        arms = view.arms
        arms[ledger.COUNT], arms[ledger.REWARD], arms[ledger.SPENT] = state.counts, state.reward_sums, state.cost_sums
        arms[ledger.REST_OF_REWARD], arms[ledger.MEMORY] = state.reward_rests, state.memory
        seen = arms[ledger.COUNT] > 0
        arms[ledger.MEAN, seen] = state.means()[seen]
        if isinstance(self.setup.family, Bounded):
            write_histograms(self.setup.family, arms, state.histograms)
        view.clock[ledger.ROUND] = state.round
        if not np.all(seen):
            return view
        if saved.followed is None or not self.setup.task.several_right:
            return self.prepare(self.ask(view), saved)
        view.clock[ledger.CHOSEN], view.clock[ledger.LOOKED] = saved.followed.chosen, saved.followed.looked
        return self.prepare(self.follow(view, self.setup.task.answer_of(saved.followed.pairs, self.setup.arms)), saved)

    def prepare(self, view: Seen, saved: Target) -> Seen:
        """The view with all that follows from its sums; every arm has an outcome."""
        return view

    def save_target(self, view: Seen) -> dict[str, Any]:
        """What is to be saved of the target of a policy that has one, by `saving.TARGET_KEYS`."""
        return dict.fromkeys(TARGET_KEYS)

    def save_followed(self, view: Seen) -> dict[str, Any]:
        """Where several answers may be right, the one that is followed, or declared, and since when."""
        if not self.setup.task.several_right or not np.all(view.arms[ledger.COUNT] > 0):
            return {}
        pairs = [[None if arm < 0 else arm for arm in pair] for pair in followed_pairs(view)]
        followed = Followed((), view.clock[ledger.CHOSEN], view.clock[ledger.LOOKED])
        return {"followed": followed._asdict() | {"pairs": pairs}}

    def check_state(self, state: State) -> None:
        """Raise `InputError` for a state that this policy cannot have led to, as far as it can tell."""
        state.check()

    def take_note(self, view: Seen) -> Seen:
        """Respond to the outcome that the view has absorbed last, with whatever is needed for it; the view changes.

        Compiled code is used where it is at hand; the bits are the same.
        """
        run = self.find_play()
        while True:
            reason, _ = run(view, NO_STREAMS, 0, True)
            if reason in (ledger.LIMIT, ledger.STOPPED):
                return view
            view = self.supply(view, reason)

    def find_play(self) -> Callable[..., Any]:
        """`rounds.play` with this policy's functions: compiled, if it is at hand, or interpreted."""
        return compiling.loaded_play(self) or self.functions["play"]

    def supply(self, view: Seen, need: int) -> Seen:
        """What a response needs of Python: here the answer of a task that compiled code does not know, or which of
        several right ones is followed."""
        assert need == ledger.NEED_ANSWER
        if not choice_is_due(view):
            return self.ask(view)
        view.clock[ledger.CHOSEN] = view.clock[ledger.ROUND]
        answer = choose_answer(self, view)
        return view if answer == self.followed(view) else self.change_answer(view, answer)

    def change_answer(self, view: Seen, answer: Hashable) -> Seen:
        """Follow another answer from now on."""
        return self.follow(view, answer)

    def followed(self, view: Seen) -> Hashable:
        """Of several right answers the one whose statements the view has."""
        return self.setup.task.answer_of(followed_pairs(view), self.setup.arms)

    def follow(self, view: Seen, answer: Hashable) -> Seen:
        """The view with the statements of an answer."""
        return self.put_columns(view, self.columns_of(self.setup.task.answer_statements(answer, self.setup.arms)))

    def ask(self, view: Seen, means: Array | None = None) -> Seen:
        """The view with the statements of the answer for its means, or for others, as the task says it."""
        return self.put_columns(view, self.columns(view.arms[ledger.MEAN] if means is None else means))

    def put_columns(self, view: Seen, found: "RoundColumns") -> Seen:
        """The view with other statements."""
        view.clock[ledger.ANSWERED] = view.clock[ledger.ROUND]
        return view._replace(**found._asdict(), evidence=np.zeros(found.pairs.shape[1]))

    def next_arm(self, view: Seen) -> int:
        """The arm to pull, a function of the view alone; every arm has an outcome."""
        arm = int(self.functions["choose"](view))
        return arm if arm >= 0 else self.choose_here(view)

    def choose_here(self, view: Seen) -> int:
        """The arm where `choose` leaves it to Python."""
        raise NotImplementedError

    def next_arms(self, view: Seen, pulls: int, pending: Sequence[int]) -> list[int]:
        """Arms for several pulls at once, given those of pulls that are not answered yet, the oldest first."""
        view, chosen = self.copy_view(view), list[int]()
        for arm in pending:
            view = self.pretend(view, arm)
        for _ in range(pulls):
            chosen.append(self.next_arm(view))
            view = self.pretend(view, chosen[-1])
        return chosen

    @abstractmethod
    def pretend(self, view: Seen, arm: int) -> Seen:
        """The view as if a pull of an arm had been answered; it changes."""

    def answer(self, state: State) -> Hashable:
        """What the observations say."""
        return self.setup.task.answer(state.means().tolist())

    def read_answer(self, view: Seen) -> Hashable:
        """The same of a view, which has the one that is followed, or was declared, where several may be right."""
        return self.followed(view) if self.setup.task.several_right else self.answer(state_of(view))

    def diagnose(self, view: Seen, **more: Any) -> Diagnostics:
        """What the present state says, with what the policy adds to it."""
        setup, state = self.setup, state_of(view)
        means, answer = state.means(), self.read_answer(view)
        statements = setup.task.answer_statements(answer, setup.arms)
        evidence = setup.evidence(state, statements, means)
        needed = setup.needed(state, statements, means, evidence)
        return Diagnostics(answer, statements, evidence, needed, **{"costs": setup.costs(state, means), **more})


def followed_pairs(view: Seen) -> list[Pair]:
    """Winner and loser of each statement of a view, -1 for none."""
    pairs = view.pairs.T.tolist()
    if ledger.is_stated(view):
        pairs = [pair for pair, piece in zip(pairs, view.margins[PIECE].tolist(), strict=True) if not piece]
    return [(winner, loser) for winner, loser in pairs if max(winner, loser) >= 0]


def state_of(view: Seen) -> State:
    """What was observed, and what the policy remembers."""
    rows = ledger.REWARD, ledger.SPENT, ledger.MEMORY, ledger.REST_OF_REWARD
    rewards, costs, memory, rests = (tuple(view.arms[row].tolist()) for row in rows)
    counts = tuple(map(int, view.arms[ledger.COUNT].tolist()))
    try:
        total = fsum(costs)
    except OverflowError:
        total = inf
    histograms = read_histograms(view.arms)
    return State(int(view.clock[ledger.ROUND]), counts, rewards, costs, memory, total, rests, histograms)


def without_rests(margins: Array) -> Array:
    """Margins and ratios as rounds have them: doubles.

    What rounding took from a margin is less than what it takes from an empirical mean, against which the rules for
    stopping are safe, and would hide whether a mean and a margin meet exactly, at an end of the mean space.
    """
    margins = margins.copy()
    margins[REST::2] = 0.0
    return margins


def numbers_of(statement: Statement) -> list[float]:
    """Margin and ratio of a statement, with their rests, as rounds have them."""
    found: list[float] = without_rests(encode([statement])[1])[:, 0].tolist()
    return found


@cache
def interpret_play(policy: type[Policy], family: type[Family]) -> Interpreted:
    """`rounds.play` of a policy and all that it calls, as it is, on a family, for thresholds of known formulas."""
    formulas = {} if family in FAMILY_CODES else foreign_martingales(family)
    return interpret(compiling.list_play(policy), family, formulas)


@cache
def interpret_evidence(family: type[Family]) -> Interpreted:
    """The functions of `caet_opt.kernels.statement_evidence`, as they are, on a family."""
    return interpret((*KERNEL, *list_functions(e_values, statement_evidence)), family)


def foreign_threshold(setup: Setup) -> Kernel:
    """What stands in `ledger` and `confidence` for the shipped thresholds, of a user's own."""
    dispersions, scales = setup.dispersions.tolist(), setup.prior_scales.tolist()

    def side_of(arms: Array, arm: int) -> PairState:
        return PairState(float(arms[ledger.COUNT, arm]), float(arms[ledger.MEAN, arm]), dispersions[arm], scales[arm])

    def exceeds(
        setting: ledger.Conditions, arms: Array, now: float, a: int, b: int, evidence: float, everywhere: bool
    ) -> bool:
        needed = setup.needed_of(float(evidence), float(now), side_of(arms, a), side_of(arms, b))
        return bool(evidence > needed)

    def statement_exceeds(
        setting: ledger.Conditions,
        arms: Array,
        now: float,
        pairs: Integers,
        margins: Array,
        p: int,
        evidence: float,
        everywhere: bool,
    ) -> bool:
        winner, loser = (None if arm < 0 else side_of(arms, arm) for arm in pairs[:, p].tolist())
        if winner is None and loser is None:
            return True
        return bool(evidence > setup.needed_of(float(evidence), float(now), winner, loser, *margins[:3, p].tolist()))

    def bound_level(setting: ledger.Conditions, arms: Array, now: float, arm: int) -> float:
        pulls = float(arms[ledger.COUNT, arm])
        return np.float64(setup.threshold.value(float(now), pulls, pulls))

    def levels_are_equal(setting: ledger.Conditions) -> bool:
        return False

    return {
        "exceeds": exceeds,
        "statement_exceeds": statement_exceeds,
        "bound_level": bound_level,
        "levels_are_equal": levels_are_equal,
    }
