"""From rows to a state: how an outcome is taken in, when it is over, and whether a file says what its rows say."""

import json
import sqlite3
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from math import fsum, isclose
from typing import Any, NamedTuple

from caet_opt.errors import CaetError, InputError, SolverError
from caet_opt.exploring.counted import count_rewards
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.limits import Allowance
from caet_opt.exploring.policies.base import state_of
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.policies.tracking import TrackingPolicy
from caet_opt.exploring.saving import OWN, Saved, Target, from_text
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.state import ROUNDING, State
from caet_opt.kernels.ledger import CUMULATED, add
from caet_opt.live import contents
from caet_opt.live.contents import Outcome
from caet_opt.live.database import DamagedError
from caet_opt.live.settled import key_of, list_settled
from caet_opt.live.watch import least_outcomes
from caet_opt.version import order

#: The version since which an answer waits for two outcomes of every arm where their spread is watched.
TWO_OUTCOMES_SINCE = "0.3.0"

#: The version since which a file keeps what was settled.
SETTLED_SINCE = "0.6.0"

#: What is the same in every version, with the sums of rewards, its sums up to so much relatively: versions add in
#: different ways.
SUMS, SUMMED = ("round", "counts", "cost_sums", "total_cost"), 1e-9

#: What is solved for, which may differ by so much on another machine: to a gap of 1e-8, which leaves some 1e-4 open.
SOLVED = dict.fromkeys(("target", "kept", "solution"), 1e-3)


class Replay(NamedTuple):
    """Where the rows lead: the experiment, and if it stopped, by which outcome, with which answer and at which cost;
    and where it had ended first, which is where versions up to 0.2.0 stopped."""

    explorer: Explorer
    stop: tuple[int, Hashable, float] | None
    ended: tuple[int, Hashable, float] | None


def absorb_outcome(explorer: Explorer, arm: int, reward: float, cost: float | None, *, is_new: bool = False) -> None:
    """Advance an experiment by an outcome, a new one or one that is replayed; `InputError` leaves it as it was.

    An outcome is never refused because a target cannot be solved for: the sums take it in, and the target of this round
    counts as uniform, as it does before every arm has an outcome.
    """
    absorbed, policy = explorer.absorb(arm, reward, cost, is_new=is_new), explorer.policy
    try:
        view = policy.take_note(absorbed)
    except (SolverError, InputError):  # the outcome is one of the family, so that it is the target that fails
        if not isinstance(policy, TrackingPolicy):
            raise
        view = policy.take_note_unsolved(explorer.absorb(arm, reward, cost, is_new=is_new))
    explorer.view = view


def absorb_batch(explorer: Explorer, outcomes: Sequence[Outcome]) -> None:
    """Advance an experiment by outcomes in an order that nobody knows: by their sums, and then the policy looks once.

    A policy that adds up its targets counts these pulls, which it did not ask for, as what it wanted. The proof that
    the guarantee stays is in ``docs/mathematics/live.md``.
    """
    state, policy = explorer.state, explorer.policy
    counts, costs = list(state.counts), list(state.cost_sums)
    sums, rests = list(state.reward_sums), list(state.reward_rests)
    own = isinstance(policy, TrackingPolicy) and policy.tracking == CUMULATED
    memory = list(state.memory)
    for outcome in outcomes:
        counts[outcome.arm] += 1
        counted = explorer.family.count_reward(outcome.reward)
        sums[outcome.arm], rests[outcome.arm] = add(sums[outcome.arm], rests[outcome.arm], counted)
        costs[outcome.arm] += outcome.cost
        memory[outcome.arm] += own
    rewards = [(outcome.arm, outcome.reward) for outcome in outcomes]
    histograms = count_rewards(explorer.family, state.histograms, rewards)
    later = State(
        sum(counts), tuple(counts), tuple(sums), tuple(costs), tuple(memory), fsum(costs), tuple(rests), histograms
    )
    try:
        explorer.continue_from(later)
    except SolverError:  # as for one outcome: it is taken in, and the target counts as uniform
        for outcome in outcomes:
            absorb_outcome(explorer, outcome.arm, outcome.reward, outcome.cost)


def has_ended(explorer: Explorer) -> bool:
    """Whether the policy says so, or every pair of its answer has more evidence than its threshold.

    A rule of the policy's own (an elimination, bounds) uses the same threshold for the same pairs at risk, so one union
    bound covers both, and the error probability of stopping by whichever is first is at most delta. The second one ends
    an elimination in laps whose survivors never have equal counts, because some outcomes stay out.
    """
    if ends_by_evidence(explorer) and explorer.parameters.batch == 1:
        return explorer.stopped
    return explorer.stopped or (explorer.explored and explorer.diagnostics.settled)


def ends_by_evidence(explorer: Explorer) -> bool:
    """Whether the policy has no stopping rule of its own."""
    return type(explorer.policy).ended in (TrackingPolicy.ended, IndexPolicy.ended)


def may_declare(explorer: Explorer) -> bool:
    """Whether it has ended, and every arm has as many outcomes as it takes to watch their spread.

    To stop later than one might, where the threshold is still exceeded, keeps the error probability below delta.
    """
    return has_ended(explorer) and min(explorer.state.counts) >= least_outcomes(explorer.family)


def choose_arms(explorer: Explorer, pulls: int, out: Sequence[int]) -> list[int]:
    """The arms of the next pulls: as the policy has them, but where an answer only waits for second outcomes of some
    arms, which the policy may never ask for, those with the fewest outcomes and pulls that are out."""
    if min(explorer.state.counts) < least_outcomes(explorer.family) and has_ended(explorer):
        return explorer.least_pulled(pulls, out)
    return explorer.next_arms(pulls, out)


def limits_now(db: sqlite3.Connection, explorer: Explorer) -> Parameters:
    """The parameters of an experiment, with the limits that were raised since its start."""
    raised = contents.read_raised(db)
    try:
        return replace(explorer.parameters, **raised) if raised else explorer.parameters
    except InputError as error:
        raise DamagedError(str(error)) from error


def allowance(
    db: sqlite3.Connection, explorer: Explorer, out: Sequence[int], limits: Parameters | None = None
) -> Allowance:
    """What the limits, by default those in force, leave now beside the pulls that are out, given by their arms."""
    lost = [cost for _, cost in contents.read_lost(db, explorer.arms)]
    return Allowance(limits or limits_now(db, explorer), explorer.known_costs, explorer.state, out, lost)


def in_batches(outcomes: Iterable[Outcome], batches: Mapping[int, int]) -> Iterator[list[Outcome]]:
    """The outcomes one by one, those of a batch together."""
    batch, until = list[Outcome](), 0
    for outcome in outcomes:
        batch.append(outcome)
        until = batches.get(outcome.position, until)
        if outcome.position >= until:
            yield batch
            batch = []


def replay(
    explorer: Explorer,
    outcomes: Iterable[Outcome],
    batches: Mapping[int, int],
    progress: Callable[[], None] | None = None,
    settled: dict[str, int] | None = None,
) -> Replay:
    """The experiment after all outcomes, from what was started; an outcome that is none is an `InputError`. What is
    settled on the way is put down in ``settled``, where that is wanted."""
    stop = ended = None
    ends = set(batches.values())
    for batch in in_batches(outcomes, batches):
        outcome = batch[-1]
        cost = None if explorer.known_costs is not None else outcome.cost
        try:
            if outcome.position in ends:
                absorb_batch(explorer, batch)
            else:
                absorb_outcome(explorer, outcome.arm, outcome.reward, cost)
        except InputError as error:
            raise InputError(f"outcome {outcome.position} cannot be taken in: {error}") from error
        if stop is None and has_ended(explorer):
            here = outcome.position, explorer.answer, explorer.state.total_cost
            ended = ended or here
            stop = here if may_declare(explorer) else None
        if settled is not None:
            for statement in list_settled(explorer):
                settled.setdefault(key_of(statement), outcome.position)
        if progress is not None:
            for _ in batch:
                progress()
    return Replay(explorer, stop, ended)


def begin(start: Saved, names: Sequence[str]) -> Explorer:
    """What was started, before any pull, of as many arms as there are names; `InputError` where it is not."""
    explorer = Explorer.from_saved(start)
    if explorer.state != state_of(explorer.policy.begin()) or start.aim != Target():
        raise InputError("what was started has outcomes already; restore the file from a copy")
    if len(names) != explorer.arms or len(set(names)) != explorer.arms:
        raise InputError(f"its {explorer.arms} arms need a name each, got {', '.join(map(repr, names))}")
    return explorer


def load(db: sqlite3.Connection, start: Saved) -> tuple[Explorer, bool]:
    """The experiment after all outcomes, from what was started, and whether it was made from the rows.

    A checkpoint saves the time of a replay. One that another version wrote, that cannot be read or that has not all
    outcomes is made anew from the rows. One that asks something else than what was started is an `InputError`: there is
    no telling which of the two was changed.
    """
    kept = None
    with suppress(CaetError):  # `find_differences` says why
        kept = from_text(contents.read_checkpoint(db))
    if kept is not None:
        check_question(start, kept)
        if kept.is_current and kept.state.round == contents.checkpoint_position(db) == contents.last_position(db):
            with suppress(InputError):
                return Explorer.from_saved(kept), False
    rows = contents.read_outcomes(db, start.arms), contents.read_batches(db)
    return replay(Explorer.from_saved(start), *rows).explorer, True


def check_question(start: Saved, kept: Saved) -> None:
    """Raise `InputError` unless a checkpoint asks what was started, in the same way."""
    for name in ("task", "family", "arms", "costs", "seed", "log_inv_delta", *(setting.name for setting in OWN)):
        asked, found = (getattr(one, name, getattr(one.parameters, name, None)) for one in (start, kept))
        if found != asked:
            raise InputError(
                f"changed by hand: it was started with {name} = {asked}, and its checkpoint has {found}; restore it "
                "from a copy"
            )


def find_differences(db: sqlite3.Connection, progress: Callable[[], None] | None = None) -> list[str]:
    """What a file says that does not follow from what was started and from its rows: nothing, unless it was damaged or
    changed by hand."""
    facts = contents.read_facts(db)
    start = from_text(facts.saved)
    explorer = begin(start, facts.names)
    differences, rule = list[str](), explorer.threshold
    if facts.guaranteed != rule.guarantees(explorer.family):
        differences.append(f"guaranteed: {facts.guaranteed} stored, and threshold {rule.name!r} is {rule.reason}")
    if facts.version != start.version:
        differences.append(f"version: {facts.version} stored, and caet-opt {start.version} wrote what was started")
    differences += [*contents.find_wrong_rows(db, explorer.arms), *find_wrong_costs(db, explorer)]
    rows, settled = (contents.read_outcomes(db, start.arms), contents.read_batches(db)), dict[str, int]()
    try:
        found = replay(explorer, *rows, progress, settled)
    except InputError as error:
        return [*differences, str(error)]
    differences += [*compare_checkpoint(db, found.explorer), *compare_stop(db, start, found, facts.version)]
    return differences + compare_settled(db, settled, facts.version)


def find_wrong_costs(db: sqlite3.Connection, explorer: Explorer) -> list[str]:
    """Outcomes that did not cost what is known of their arms."""
    if explorer.known_costs is None:
        return []
    costs = explorer.known_costs.tolist()
    wrong = [one for one in contents.read_outcomes(db, explorer.arms) if one.cost != costs[one.arm]]
    if not wrong:
        return []
    first = f"the first is outcome {wrong[0].position}, {wrong[0].cost} instead of {costs[wrong[0].arm]}"
    return [f"{len(wrong)} outcomes do not have the known costs of their arms; {first}"]


def compare_checkpoint(db: sqlite3.Connection, explorer: Explorer) -> list[str]:
    """What the checkpoint says that the rows do not; of another version's, what does not depend on the version."""
    differences, text = list[str](), contents.read_checkpoint(db)
    if contents.checkpoint_position(db) != explorer.state.round:
        differences.append(f"the checkpoint is of outcome {contents.checkpoint_position(db)}")
    try:
        kept = from_text(text)
    except CaetError as error:
        return [*differences, f"the checkpoint cannot be read ({error}); all is taken from the rows"]
    if not kept.is_current:
        differences += compare_states(explorer.state, kept.state, dict.fromkeys(SUMS, SUMMED))
        return differences + compare_rewards(db, explorer.state, kept.state)
    exact = {part.name: 0.0 for part in fields(State)}
    differences += compare_states(explorer.state, kept.state, exact | {"memory": ROUNDING})
    stored, found = json.loads(text), json.loads(explorer.to_text())
    for name in sorted(found.keys() - {"state"}):
        if not is_alike(stored[name], found[name], SOLVED.get(name, ROUNDING)):
            differences.append(f"{name} of the checkpoint is not what the rows give")
    return differences


def compare_states(state: State, stored: State, parts: Mapping[str, float]) -> list[str]:
    """Parts of a state that are stored otherwise than the rows give, their numbers up to a rounding each."""
    given = [(name, getattr(stored, name), getattr(state, name), rounding) for name, rounding in parts.items()]
    differing = [(name, kept, found) for name, kept, found, rounding in given if not is_alike(kept, found, rounding)]
    return [f"{name}: {kept} stored, {found} from the rows" for name, kept, found in differing]


def compare_rewards(db: sqlite3.Connection, state: State, stored: State) -> list[str]:
    """Sums of rewards that another version added up, in another way: n additions, however they are done, are within
    ``n u`` of the sum of |reward|, u = 2^-53."""
    sizes = [0.0] * len(state.counts)
    for outcome in contents.read_outcomes(db, len(sizes)):
        sizes[outcome.arm] += abs(outcome.reward)
    given = zip(state.reward_sums, stored.reward_sums, state.counts, sizes, strict=True)
    if all(abs(one - other) <= 2.0**-52 * count * size for one, other, count, size in given):
        return []
    return [f"reward_sums: {stored.reward_sums} stored, {state.reward_sums} from the rows"]


def is_alike(one: Any, other: Any, rounding: float = ROUNDING) -> bool:
    """Whether two values as JSON has them are the same, their numbers up to rounding."""
    if isinstance(one, Sequence) and not isinstance(one, str) and isinstance(other, type(one)):
        return len(one) == len(other) and all(map(is_alike, one, other, [rounding] * len(one)))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_alike(one[key], other[key], rounding) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=rounding, abs_tol=rounding)
    return bool(one == other)


def compare_stop(db: sqlite3.Connection, start: Saved, found: Replay, version: str) -> list[str]:
    """The declared answer: by which outcome, with which cost, and not before that outcome."""
    stop = contents.read_stop(db, start)
    stored = None if stop is None else (stop.position, stop.answer, stop.cost)
    earlier = order(version) < order(TWO_OUTCOMES_SINCE) and is_alike(stored, found.ended, SUMMED)
    if not earlier and not is_alike(stored, found.stop, SUMMED):
        return [f"stopped by outcome, with answer and cost: {stored} stored, {found.stop} from the rows"]
    if stop is not None and (recorded := contents.time_of(db, stop.position)) > stop.stopped:
        return [f"stopped at {stop.stopped}, before outcome {stop.position} was recorded at {recorded}"]
    return []


def compare_settled(db: sqlite3.Connection, found: Mapping[str, int], version: str) -> list[str]:
    """What was settled, and by which outcome; a file of a version that did not keep it may have it later, or not."""
    stored = contents.read_settled(db)
    if order(version) >= order(SETTLED_SINCE):
        return [] if sorted(stored) == sorted(found.items()) else [f"settled: {stored} stored, {found} from the rows"]
    early = [key for key, position in stored if position < found.get(key, position + 1)]
    return [f"settled: {', '.join(early)} stored, and not from the rows by that outcome"] if early else []
