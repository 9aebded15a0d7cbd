"""Policies that solve for their target and track it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import fsum, isclose
from typing import ClassVar

import numpy as np

from caet_opt.bandits.families import Family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair
from caet_opt.errors import InputError, SolverError
from caet_opt.exploring import kept_targets, rules, tally, tracking_rounds
from caet_opt.exploring.policies.base import Diagnostics, Now, Policy, Setup, as_columns
from caet_opt.exploring.state import ROUNDING, State
from caet_opt.solving.characteristic import can_start, characteristic_time
from caet_opt.solving.native.compiled import FAMILY_CODES, Kernel, foreign_kernel, list_functions, rebind


class TrackingPolicy(Policy):
    """Solves for u_alpha of the empirical model, and pulls the arm that lags most behind it.

    In every round, or with ``solve = "lazy"`` where the last solution is no longer certified to be near the best:
    `caet_opt.exploring.kept_targets`.

    Attributes
    ----------
    blind : whether every cost counts as one in the solve
    by_money : whether shares of the money are tracked instead of those of the pulls
    """

    blind: ClassVar[bool] = False
    by_money: ClassVar[bool] = False
    tracks = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        cumulate = setup.parameters.tracking == "c"
        tracking = tally.MONEY if self.by_money else tally.CUMULATED if cumulate else tally.PRESENT
        self.setting = setup.setting(tracking=tracking, blind=self.blind)
        self.boxes = boxes_of(type(setup.family))

    def begin(self) -> Now:
        """Before the first round, in which the target is uniform."""
        now = super().begin()
        return now._replace(state=now.state.remember((1.0 / self.setup.arms,) * self.setup.arms))

    def check_state(self, state: State) -> None:
        super().check_state(state)
        found = fsum(state.memory)
        if not isclose(found, state.round + 1.0, rel_tol=ROUNDING, abs_tol=0.0):
            raise InputError(
                f"the sum of memory, the cumulated target, of a saved state at round {state.round} must be "
                f"{state.round + 1:g}, got {found:g}"
            )

    def advance(self, now: Now, absorbed: State, arm: int) -> Now:
        """The state with its own round's target added to the cumulated one, and what is known of it."""
        step = np.full(self.setup.arms, 1.0 / self.setup.arms)
        now = Now(absorbed, now.last, now.target, kept=now.kept)
        if min(absorbed.counts) > 0:
            now = self.diagnose(self.decide(now))
            step = np.asarray(diagnostics_of(now).projected)
        return self._cumulate(now, step)

    def advance_unsolved(self, now: Now, absorbed: State) -> Now:
        """The same where no target can be solved for: it counts as uniform, until the next one is due."""
        uniform = np.full(self.setup.arms, 1.0 / self.setup.arms)
        now = Now(absorbed, now.last, kept=now.kept)
        means = absorbed.means()
        return self._cumulate(self._settle_for(now, uniform, means, self._costs(absorbed, means)), uniform)

    def _cumulate(self, now: Now, step: Array) -> Now:
        """The state with a step added to the cumulated target."""
        return now._replace(state=now.state.remember(tuple((np.array(now.state.memory) + step).tolist())))

    def _settle_for(self, now: Now, target: Array, means: Array, costs: Array) -> Now:
        """A target that no solve has given: nothing of it is known at other means."""
        numbers = np.zeros(5) if now.kept is None else now.kept.numbers.copy()
        box = np.zeros((kept_targets.BOX_ROWS, self.setup.arms))
        box[kept_targets.CENTRE], box[kept_targets.PAID] = means, costs
        kept = kept_targets.Kept(np.zeros(0), np.zeros(0), box, numbers)
        kept_targets.clear_box(kept)
        numbers[[kept_targets.SOLVED, kept_targets.DECIDED]] = now.state.round
        numbers[kept_targets.DUE] = kept_targets.batch_end(self.setting, float(now.state.round))
        return now._replace(target=target, kept=kept)

    def decide(self, now: Now) -> Now:
        """The state with the target of the round before if that is kept, else without one."""
        kept, round_ = now.kept, float(now.state.round)
        if kept is None or now.target is None:
            return now._replace(target=None)
        if round_ < kept.numbers[kept_targets.DUE]:
            return now
        lazy = self.setting.gap > 0 and round_ < kept_targets.GROWTH * kept.numbers[kept_targets.SOLVED]
        if lazy and kept_targets.is_inside(self.setting, self.setup.rows(now.state), kept, -1):
            numbers = kept.numbers.copy()
            numbers[kept_targets.DECIDED] = round_
            numbers[kept_targets.DUE] = kept_targets.batch_end(self.setting, round_)
            return now._replace(kept=kept._replace(numbers=numbers))
        return now._replace(target=None)

    def prepare(self, now: Now) -> Now:
        return self.diagnose(now)

    def next_arm(self, now: Now) -> int:
        return self.next_arms(now, 1, ())[0]

    def next_arms(self, now: Now, pulls: int, pending: Sequence[int]) -> list[int]:
        """Each pull counts as done and adds the target once more, as those that are pending do."""
        now = self.diagnose(now)
        found, kept, chosen = diagnostics_of(now), kept_of(now), list[int]()
        arms = self.setup.rows(now.state)
        arms[tally.TARGET], arms[tally.COST] = now.target, kept.box[kept_targets.PAID]
        for done in range(len(pending) + pulls):
            known = done < len(pending)
            arm = (
                pending[done] if known else tracking_rounds.next_arm(self.setting, arms, now.state.round + float(done))
            )
            chosen.append(arm)
            arms[tally.COUNT, arm] += 1.0
            arms[tally.MEMORY] += found.projected
        return chosen[len(pending) :]

    def has_ended(self, now: Now) -> bool:
        """Only where a batch has ended."""
        now = self.diagnose(now)
        return bool(kept_of(now).numbers[kept_targets.DECIDED] == now.state.round and diagnostics_of(now).settled)

    def diagnose(self, now: Now) -> Now:
        """The same with diagnostics, and with the solution that they took."""
        if now.diagnostics is not None:
            return now
        state, means = now.state, now.state.means()
        pairs, costs = self.setup.task.pairs(means.tolist()), self._costs(state, means)
        if now.target is None:
            now = self._retarget(now, pairs, means, costs)
        assert now.target is not None
        floor = rules.exploration_floor(self.setup.arms, kept_of(now).numbers[kept_targets.SOLVED])
        projected = rules.project(now.target, floor)
        return now._replace(diagnostics=self.weigh(state, costs=costs, target=now.target, projected=projected))

    def _costs(self, state: State, means: Array) -> Array:
        """The costs that the target is solved for."""
        return np.ones(self.setup.arms) if self.blind else self.setup.costs(state, means)

    @np.errstate(all="ignore")  # as in compiled code: a gap that is not a number proves nothing
    def _retarget(self, now: Now, pairs: tuple[Pair, ...], means: Array, costs: Array) -> Now:
        """``u_alpha`` of the empirical model, by an exact solve, with the solution; see `caet_opt.exploring.rules`."""
        setup, round_ = self.setup, float(now.state.round)
        if is_tied(pairs, means):
            return self._settle_for(now, rules.tied_target(pairs, means, costs), means, costs)
        numbers = np.zeros(5) if now.kept is None else now.kept.numbers.copy()
        box = np.zeros((kept_targets.BOX_ROWS, setup.arms))
        box[kept_targets.CENTRE], box[kept_targets.PAID] = means, costs
        model = BanditModel(setup.family, means.tolist(), costs.tolist())
        found = characteristic_time(model, setup.task, solver=setup.profile, warm_start=now.last)
        target = rules.target_of(found, setup.parameters.free_share)
        if not isclose(np.sum(target), 1.0, rel_tol=1e-9):
            raise SolverError("the effort of a round is outside double precision; rescale the means or the variances")
        kept = kept_targets.Kept(found.effort, found.multipliers, box, numbers)
        arms = setup.rows(now.state)
        arms[tally.COST] = costs
        self.boxes["renew"](self.setting, arms, as_columns(pairs), kept, round_)
        return now._replace(target=target, last=found, kept=kept)

    def pattern(self, now: Now) -> tuple[type[Family], tuple[Pair, ...], tuple[bool, ...]] | None:
        """Family, pairs and costly arms of the present target; None where a rule other than the solver sets it."""
        if not min(now.state.counts) > 0:
            return None
        now = self.diagnose(now)
        kept, last = kept_of(now), now.last
        if last is None or kept.effort.size == 0:
            return None
        return type(self.setup.family), last.pairs, tuple((kept.box[kept_targets.PAID] > 0).tolist())

    def load(self, now: Now) -> tuple[tracking_rounds.Tally, bool]:
        """The state as compiled code keeps it, with the last solution if the next solve can start from it."""
        now = self.diagnose(now)
        found, last, kept, state = diagnostics_of(now), now.last, kept_of(now), now.state
        assert last is not None
        kept = kept_targets.Kept(*(part.copy() for part in kept))
        arms = self.setup.rows(state)
        arms[tally.TARGET], arms[tally.PROJECTED] = now.target, found.projected
        arms[tally.COST] = kept.box[kept_targets.PAID]
        warm = can_start(last, last.pairs, arms[tally.COST].tolist())
        return tracking_rounds.Tally(arms, as_columns(last.pairs), kept), warm

    def store(self, now: Now, found: tracking_rounds.Tally, done: int) -> Now:
        """Where so many compiled rounds have led: a state, its target, and the solution that it is from.

        The next solve starts from that solution, as it does where the object has solved every round by itself. From
        another start it would end some ulps away, and of two arms that tie the other would be pulled first.
        """
        assert now.last is not None  # the rounds began with a target that was solved for
        kept, solution = found.kept, now.last
        if kept.numbers[kept_targets.SOLVES] > kept_of(now).numbers[kept_targets.SOLVES]:
            costs = kept.box[kept_targets.PAID].tolist()
            solution = replace(
                now.last,
                model=BanditModel(self.setup.family, kept.box[kept_targets.CENTRE].tolist(), costs),
                value=float(np.sum(kept.weights)),
                effort=kept.effort,
                pairs=tuple((int(a), int(b)) for a, b in found.pairs.T),
                multipliers=kept.weights,
            )
        state = self.setup.state_after(now.state, found.arms, done)
        return Now(state, solution, found.arms[tally.TARGET].copy(), kept=kept)


def diagnostics_of(now: Now) -> Diagnostics:
    """The diagnostics, once computed."""
    assert now.diagnostics is not None
    return now.diagnostics


def is_tied(pairs: tuple[Pair, ...], means: Array) -> bool:
    """Whether the means of some pair are equal."""
    return any(means[a] == means[b] for a, b in pairs)


def kept_of(now: Now) -> kept_targets.Kept:
    """What is kept of the last solve, once there was one."""
    assert now.kept is not None
    return now.kept


@cache
def boxes_of(family: type[Family]) -> Kernel:
    """The functions of `kept_targets` with the formulas of a family."""
    sources = list_functions(kept_targets)
    if family in FAMILY_CODES:
        return {source.__name__: source for source in sources}
    functions = dict(foreign_kernel(family))
    for source in sources:
        functions[source.__name__] = rebind(source, functions)
    return functions
