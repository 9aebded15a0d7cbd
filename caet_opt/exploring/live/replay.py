"""From rows to a state: how an outcome is taken in, when it is over, and whether a file says what its rows say."""

import json
import sqlite3
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import isclose
from typing import NamedTuple

from caet_opt.errors import InputError, SolverError
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.live import rows
from caet_opt.exploring.live.rows import Outcome
from caet_opt.exploring.policies.tracking import TrackingPolicy
from caet_opt.exploring.saving import from_text
from caet_opt.exploring.state import RESTS, ROUNDING, State
from caet_opt.solving.native.compiled import interpreted


class Replay(NamedTuple):
    """Where the rows lead: the experiment, and if it stopped, by which outcome, with which answer and at which cost."""

    explorer: Explorer
    stop: tuple[int, Hashable, float] | None


def take_in(explorer: Explorer, arm: int, reward: float, cost: float | None) -> None:
    """Advance an experiment by an outcome; `InputError` leaves it as it was.

    An outcome is never refused because a target cannot be solved for: the sums take it in, and the target of this round
    counts as uniform, as it does before every arm has an outcome.
    """
    absorbed, policy = explorer.absorb(arm, reward, cost), explorer.policy
    with interpreted():
        try:
            now = policy.advance(explorer.now, absorbed, arm)
        except (SolverError, InputError):  # the outcome is one of the family, so that it is the target that fails
            if not isinstance(policy, TrackingPolicy):
                raise
            now = policy.advance_unsolved(explorer.now, absorbed)
    explorer.go_on(now)


def has_ended(explorer: Explorer) -> bool:
    """Whether the policy says so, or every pair of its answer has more evidence than its threshold.

    A rule of the policy's own (an elimination, bounds) uses the same threshold for the same pairs at risk, so one union
    bound covers both, and the error probability of stopping by whichever is first is at most delta. The second one ends
    an elimination in laps whose survivors never have equal counts, because some outcomes stay out.
    """
    if min(explorer.state.counts) == 0:
        return False
    if explorer.policy.weigh(explorer.state).settled:
        return True
    return not isinstance(explorer.policy, TrackingPolicy) and explorer.stopped


def replay(saved: str, outcomes: Iterable[Outcome], progress: Callable[[], None] | None = None) -> Replay:
    """The experiment after all outcomes, from what was started."""
    explorer, stop = Explorer.from_saved(from_text(saved)), None
    for outcome in outcomes:
        cost = None if explorer.known_costs is not None else outcome.cost
        take_in(explorer, outcome.arm, outcome.reward, cost)
        if stop is None and has_ended(explorer):
            stop = outcome.position, explorer.answer, explorer.state.total_cost
        if progress is not None:
            progress()
    return Replay(explorer, stop)


def find_differences(db: sqlite3.Connection, progress: Callable[[], None] | None = None) -> list[str]:
    """What a file says that its rows do not: nothing, unless it was damaged or changed by hand."""
    saved = rows.read_facts(db).saved
    found = replay(saved, rows.read_outcomes(db), progress)
    arms = found.explorer.arms
    sizes = None if RESTS in json.loads(saved)["state"] else sizes_of(rows.read_outcomes(db), arms)
    differences = compare_states(found.explorer.state, from_text(rows.read_checkpoint(db)).state, sizes)
    if rows.checkpoint_position(db) != found.explorer.state.round:
        differences.append(f"the checkpoint is of outcome {rows.checkpoint_position(db)}")
    stop = rows.read_stop(db)
    stored = None if stop is None else (stop.position, stop.answer, stop.cost)
    if not same_stop(stored, found.stop, plain=sizes is not None):
        differences.append(f"stopped by outcome, with answer and cost: {stored} stored, {found.stop} from the rows")
    if wrong := rows.count_wrong_marks(db):
        differences.append(f"{wrong} pulls are marked as out and are not, or the other way round")
    return differences


def sizes_of(outcomes: Iterable[Outcome], arms: int) -> list[float]:
    """The sum of |reward| of each arm."""
    sizes = [0.0] * arms
    for outcome in outcomes:
        sizes[outcome.arm] += abs(outcome.reward)
    return sizes


def same_stop(
    stored: tuple[int, Hashable, float] | None, found: tuple[int, Hashable, float] | None, plain: bool
) -> bool:
    """Whether two stops are the same; costs that were summed plainly within what rounding takes from them."""
    if stored is None or found is None or not plain:
        return stored == found
    return stored[:2] == found[:2] and isclose(stored[2], found[2], rel_tol=2.0**-52 * found[0], abs_tol=0.0)


def compare_states(state: State, stored: State, sizes: Sequence[float] | None = None) -> list[str]:
    """Sums and counts to the last bit; the memory of a policy within what another machine may round otherwise.

    ``sizes`` are for a file that 0.2.0 began, which summed plainly: the sum of |reward| of each arm. n additions are
    then within ``n u`` of it, u = 2^-53, and so is the sum of all costs.
    """
    parts = ("round", "counts", "cost_sums") + (() if sizes else ("reward_sums", RESTS, "total_cost"))
    different = [name for name in parts if getattr(state, name) != getattr(stored, name)]
    if sizes:
        allowed = [2.0**-52 * count * size for count, size in zip(state.counts, sizes, strict=True)]
        if any(
            abs(one - other) > most
            for one, other, most in zip(state.reward_sums, stored.reward_sums, allowed, strict=True)
        ):
            different.append("reward_sums")
        if not isclose(state.total_cost, stored.total_cost, rel_tol=2.0**-52 * state.round, abs_tol=0.0):
            different.append("total_cost")
    for one, other in zip(state.memory, stored.memory, strict=True):
        if not isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING) and "memory" not in different:
            different.append("memory")
    return [f"{name}: {getattr(stored, name)} stored, {getattr(state, name)} from the rows" for name in different]
