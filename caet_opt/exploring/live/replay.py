"""From rows to a state: how an outcome is taken in, when it is over, and whether a file says what its rows say."""

import sqlite3
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import isclose
from typing import NamedTuple

from caet_opt.errors import SolverError
from caet_opt.exploring.explorer import Explorer, fewest_first
from caet_opt.exploring.live import rows
from caet_opt.exploring.live.rows import Outcome
from caet_opt.exploring.live.watch import least_outcomes
from caet_opt.exploring.policies.base import Now
from caet_opt.exploring.policies.tracking import TrackingPolicy
from caet_opt.exploring.saving import from_text
from caet_opt.exploring.state import ROUNDING, State
from caet_opt.solving.native.compiled import interpreted


class Replay(NamedTuple):
    """Where the rows lead: the experiment, and if it stopped, by which outcome, with which answer and at which cost;
    and where it had ended first, which is where versions up to 0.2.0 stopped."""

    explorer: Explorer
    stop: tuple[int, Hashable, float] | None
    ended: tuple[int, Hashable, float] | None


def take_in(explorer: Explorer, arm: int, reward: float, cost: float | None) -> None:
    """Advance an experiment by an outcome; `InputError` leaves it as it was.

    An outcome is never refused because a target cannot be solved for: the sums take it in, and the target of this round
    counts as uniform, as it does before every arm has an outcome.
    """
    with interpreted():
        try:
            explorer.observe(arm, reward, cost)
        except SolverError:
            absorbed = explorer.absorb(arm, reward, cost)
            share = 1.0 / explorer.arms
            uniform = absorbed.remember(tuple(part + share for part in absorbed.memory))
            explorer.go_on(Now(uniform, explorer.now.last))


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


def may_declare(explorer: Explorer) -> bool:
    """Whether it has ended, and every arm has as many outcomes as it takes to watch their spread.

    To stop later than one might, where the threshold is still exceeded, keeps the error probability below delta.
    """
    return min(explorer.state.counts) >= least_outcomes(explorer.family) and has_ended(explorer)


def choose_arms(explorer: Explorer, pulls: int, out: Sequence[int]) -> list[int]:
    """The arms of the next pulls: as the policy has them, but where an answer only waits for second outcomes of some
    arms, which the policy may never ask for, those with the fewest outcomes and pulls that are out."""
    if min(explorer.state.counts) < least_outcomes(explorer.family) and has_ended(explorer):
        return fewest_first(explorer.state.counts, pulls, out)
    return explorer.next_arms(pulls, out)


def replay(saved: str, outcomes: Iterable[Outcome], progress: Callable[[], None] | None = None) -> Replay:
    """The experiment after all outcomes, from what was started."""
    explorer, stop, ended = Explorer.from_saved(from_text(saved)), None, None
    for outcome in outcomes:
        cost = None if explorer.known_costs is not None else outcome.cost
        take_in(explorer, outcome.arm, outcome.reward, cost)
        if stop is None and has_ended(explorer):
            here = outcome.position, explorer.answer, explorer.state.total_cost
            ended = ended or here
            stop = here if may_declare(explorer) else None
        if progress is not None:
            progress()
    return Replay(explorer, stop, ended)


def find_differences(db: sqlite3.Connection, progress: Callable[[], None] | None = None) -> list[str]:
    """What a file says that its rows do not: nothing, unless it was damaged or changed by hand."""
    found = replay(rows.read_facts(db).saved, rows.read_outcomes(db), progress)
    differences = compare_states(found.explorer.state, from_text(rows.read_checkpoint(db)).state)
    if rows.checkpoint_position(db) != found.explorer.state.round:
        differences.append(f"the checkpoint is of outcome {rows.checkpoint_position(db)}")
    stop = rows.read_stop(db)
    stored = None if stop is None else (stop.position, stop.answer, stop.cost)
    if stored not in (found.stop, found.ended):
        differences.append(f"stopped by outcome, with answer and cost: {stored} stored, {found.stop} from the rows")
    if wrong := rows.count_wrong_marks(db):
        differences.append(f"{wrong} pulls are marked as out and are not, or the other way round")
    return differences


def compare_states(state: State, stored: State) -> list[str]:
    """Sums and counts to the last bit; the memory of a policy within what another machine may round otherwise."""
    parts = ("round", "counts", "reward_sums", "cost_sums", "total_cost")
    different = [name for name in parts if getattr(state, name) != getattr(stored, name)]
    for one, other in zip(state.memory, stored.memory, strict=True):
        if not isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING) and "memory" not in different:
            different.append("memory")
    return [f"{name}: {getattr(stored, name)} stored, {getattr(state, name)} from the rows" for name in different]
