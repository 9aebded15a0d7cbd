"""Policies that solve for their target in every round and track it."""

from dataclasses import replace
from math import fsum, isclose
from typing import ClassVar

import numpy as np

from caet_opt.bandits.families import Family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair
from caet_opt.errors import InputError, SolverError
from caet_opt.exploring import rules, tally, tracking_rounds
from caet_opt.exploring.policies.base import Diagnostics, Now, Policy, Setup
from caet_opt.exploring.state import ROUNDING, State
from caet_opt.solving.characteristic import can_start, characteristic_time
from caet_opt.solving.result import CharacteristicTime


class TrackingPolicy(Policy):
    """Solves for u_alpha of the empirical model in every round, and pulls the arm that lags most behind it.

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
        now = Now(absorbed, now.last)
        step = np.full(self.setup.arms, 1.0 / self.setup.arms)
        if min(absorbed.counts) > 0:
            now = self.diagnose(now)
            step = np.asarray(diagnostics_of(now).projected)
        cumulated = (np.array(absorbed.memory) + step).tolist()
        return now._replace(state=absorbed.remember(tuple(cumulated)))

    def prepare(self, now: Now) -> Now:
        return self.diagnose(now)

    def next_arm(self, now: Now) -> int:
        arms = self.setup.rows(now.state)
        found = diagnostics_of(self.diagnose(now))
        arms[tally.TARGET], arms[tally.COST] = found.target, found.costs
        return tracking_rounds.next_arm(self.setting, arms)

    def has_ended(self, now: Now) -> bool:
        return diagnostics_of(self.diagnose(now)).settled

    def diagnose(self, now: Now) -> Now:
        """The same with diagnostics, and with the solution that they took."""
        if now.diagnostics is not None:
            return now
        state, means = now.state, now.state.means()
        pairs = self.setup.task.pairs(means.tolist())
        costs, known = self._costs(state, means), now.target is not None
        target, solution = (now.target, now.last) if known else self._target(pairs, means, costs, now.last)
        assert target is not None
        projected = rules.project(target, rules.exploration_floor(self.setup.arms, state.round))
        found = self.weigh(state, costs=costs, target=target, projected=projected)
        return Now(state, solution, target, None, found)

    def _costs(self, state: State, means: Array) -> Array:
        """The costs that the target is solved for."""
        return np.ones(self.setup.arms) if self.blind else self.setup.costs(state, means)

    def _target(
        self, pairs: tuple[Pair, ...], means: Array, costs: Array, last: CharacteristicTime | None
    ) -> tuple[Array, CharacteristicTime | None]:
        """``u_alpha`` of the empirical model, by an exact solve, with the solution; see `caet_opt.exploring.rules`."""
        setup = self.setup
        if any(means[a] == means[b] for a, b in pairs):
            return rules.tied_target(pairs, means, costs), last
        model = BanditModel(setup.family, means.tolist(), costs.tolist())
        found = characteristic_time(model, setup.task, solver=setup.profile, warm_start=last)
        target = rules.target_of(found, setup.parameters.free_share)
        if not isclose(np.sum(target), 1.0, rel_tol=1e-9):
            raise SolverError("the effort of a round is outside double precision; rescale the means or the variances")
        return target, found

    def pattern(self, now: Now) -> tuple[type[Family], tuple[Pair, ...], tuple[bool, ...]] | None:
        """Family, pairs and costly arms of the present target; None where a rule other than the solver sets it."""
        if not min(now.state.counts) > 0:
            return None
        means, found = now.state.means(), diagnostics_of(self.diagnose(now))
        if any(means[a] == means[b] for a, b in found.pairs):
            return None
        return type(self.setup.family), found.pairs, tuple((found.costs > 0).tolist())

    def load(self, now: Now) -> tuple[tracking_rounds.Tally, bool]:
        """The state as compiled code keeps it, with the last solution if the next solve can start from it."""
        found, last, state = diagnostics_of(self.diagnose(now)), now.last, now.state
        arms = self.setup.rows(state)
        arms[tally.TARGET], arms[tally.COST] = found.target, found.costs
        total = np.array([state.total_cost])
        if last is None or not can_start(last, found.pairs, found.costs.tolist()):
            empty = np.zeros(self.setup.arms), np.zeros(len(found.pairs))
            return tracking_rounds.Tally(arms, *empty, total), False
        return tracking_rounds.Tally(arms, last.effort.copy(), last.multipliers.copy(), total), True

    def store(self, now: Now, found: tracking_rounds.Tally, done: int) -> Now:
        """Where so many compiled rounds have led: a state, its target, and the solution of its round.

        The next solve starts from that solution, as it does where the object has solved every round by itself. From
        another start it would end some ulps away, and of two arms that tie the other would be pulled first.
        """
        assert now.last is not None  # the rounds began with a target that was solved for
        value = float(np.sum(found.weights))
        solution = replace(now.last, value=value, effort=found.effort, multipliers=found.weights)
        state = self.setup.state_after(now.state, found.arms, found.total, done)
        return Now(state, solution, found.arms[tally.TARGET].copy())


def diagnostics_of(now: Now) -> Diagnostics:
    """The diagnostics, once computed."""
    assert now.diagnostics is not None
    return now.diagnostics
