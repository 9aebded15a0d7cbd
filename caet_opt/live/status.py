"""Where a live experiment stands, and the way there: records from which its words, JSON and page are made."""

import sqlite3
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from math import floor, fsum, inf, isfinite, log10, nextafter
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.limits import write_limits
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks.statements import Statement, judge
from caet_opt.common.checks import is_number, show_value
from caet_opt.common.files import escape_controls
from caet_opt.errors import InputError, SolverError
from caet_opt.exploring.counted import seen_means
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.policies.base import Setup, state_of
from caet_opt.exploring.state import State
from caet_opt.kernels.ledger import absorb
from caet_opt.kernels.native import without_compiling
from caet_opt.live import contents
from caet_opt.live.arm_names import name_answer
from caet_opt.live.contents import Facts, Stop
from caet_opt.live.intervals import Intervals
from caet_opt.live.level_arms import suggest_tolerance
from caet_opt.live.replay import allowance, choose_arms, ends_by_evidence, limits_now
from caet_opt.live.settled import find_open_again, list_settled, recall_settled
from caet_opt.live.watch import report_spread
from caet_opt.solving.characteristic import characteristic_time, solve_question
from caet_opt.solving.limits import arms_of
from caet_opt.solving.problem import ask_answer

#: The probability with which intervals hold, at every look.
LEVEL = 0.95

#: More pairs are not shown, nor more pulls that are out; those with the least margin, and the oldest, are.
MOST_PAIRS, MOST_OUT = 50, 100

#: Moments of a history, and pairs in it, unless others are asked for.
POINTS, PAIRS_OF_HISTORY = 200, 8

#: Why an experiment has ended, where it is no limit.
BY_HAND = "by hand"

Record = dict[str, Any]


def report_status(db: sqlite3.Connection, explorer: Explorer, stop: Stop | None, facts: Facts, level: float) -> Record:
    """The record: what was asked, every arm, every pair of the answer, what was spent and will be, and how it ended."""
    if not (is_number(level) and 0.0 < level < 1.0):
        raise InputError(f"level must lie strictly between 0 and 1, as 0.95, got {show_value(level)}")
    state, parameters, threshold, names = explorer.state, explorer.parameters, explorer.threshold, facts.names
    out = contents.list_pulls(db, explorer.arms, only_waiting=True)
    intervals = Intervals(explorer.setup, state, level) if explorer.family.has_martingale() else None
    weighed = weigh_answer(explorer, stop)
    watch = report_spread(db, explorer.family, explorer.arms)
    worth = {
        "guaranteed": facts.guaranteed and not watch["alarm"],
        "refuted": watch["alarm"],
        "assumes": explorer.family.describe_assumption(),
        "log_inv_delta": parameters.log_inv_delta,
    }
    summary = summarise(db, explorer, stop, names, weighed)
    ahead = None if stop or summary["answer"] is None else look_ahead(explorer, weighed, names)
    return {
        "policy": parameters.policy,
        "cost_source": parameters.cost_source,
        "costs": None if explorer.known_costs is None else explorer.known_costs.tolist(),
        "limits": limits_now(db, explorer).ends,
        **list_share_limits(explorer, names),
        "delta": parameters.delta,
        "threshold": threshold.name,
        "formula": threshold.describe(),
        "fractions": parameters.fractions,
        "reason": threshold.reason,
        "started": facts.started,
        **worth,
        "watch": watch,
        **summary,
        "out": [
            {"pull": row["pull"], "arm": row["arm"], "name": names[row["arm"]], "handed_out": row["handed_out"]}
            for row in out[:MOST_OUT]
        ],
        "level": level,
        "arms": list_arms(db, state, names, [row["arm"] for row in out], intervals),
        "pairs": list_pairs(weighed[:MOST_PAIRS], state, names, intervals),
        "pairs_left_out": max(0, len(weighed) - MOST_PAIRS),
        **list_not_excluded(db, explorer, names),
        "counted": sum(last - first + 1 for first, last in contents.read_batches(db).items()),
        "ahead": ahead,
        "good_enough": ahead and suggest_tolerance(explorer, weighed[0].statement.arms, ahead["cost"], names),
        "stopped": stop
        and {
            "answer": summary["answer"],
            "arms": stop.answer,
            **worth,
            "outcome": stop.position,
            "time": stop.stopped,
            "cost": stop.cost,
            "late": state.round - stop.position,
        },
    }


def list_share_limits(explorer: Explorer, names: Sequence[str]) -> Record:
    """The limits on shares, and the present share of the arms of each; nothing without limits."""
    limits, state, costs = explorer.parameters.share_limits, explorer.state, explorer.known_costs
    if not limits or costs is None:
        return {}
    leader = explorer.task.leader(explorer.answer) if min(state.counts) else None
    shares: list[float | None] = []
    for limit in limits:
        amounts = [
            n * (cost if limit.kind == "cost" else cost > 0) for n, cost in zip(state.counts, costs, strict=True)
        ]
        arms, total = arms_of(limit, leader), float(fsum(amounts))
        shares.append(fsum(amounts[arm] for arm in arms) / total if arms and total > 0 else None)
    return {"share_limits": write_limits(limits, names), "shares": shares}


def list_not_excluded(db: sqlite3.Connection, explorer: Explorer, names: Sequence[str]) -> Record:
    """The answers that are left, in words, None where they are too many to be listed; the pairs that are sure; and what
    was settled at any time, with the outcome that did it."""
    left = explorer.not_excluded
    answers = None if left.answers is None else [name_answer(explorer.task, one, names) for one in left.answers]
    shown = tuple(map(escape_controls, names))
    return {
        "not_excluded": answers,
        "established": [statement.write(shown) for statement in drop_weaker(left.established)],
        "settled": [statement.write(shown) for statement in list_settled(explorer)],
        "settled_at": [
            {"statement": statement.write(shown), "outcome": position, "time": contents.time_of(db, position)}
            for statement, position in recall_settled(db, explorer).items()
        ],
    }


def drop_weaker(established: Sequence[Statement]) -> list[Statement]:
    """Statements without those that follow from another one: of the same two arms, with a smaller margin."""
    most = dict[tuple[int | None, int | None, Fraction], Fraction]()
    for winner, loser, margin, ratio in established:
        key = winner, loser, ratio
        most[key] = max(margin, most.get(key, margin))
    return [one for one in established if one.margin == most[one.winner, one.loser, one.ratio]]


def summarise(
    db: sqlite3.Connection,
    explorer: Explorer,
    stop: Stop | None,
    names: Sequence[str],
    weighed: list["Weighed"] | None = None,
) -> Record:
    """What was done and spent, and the answer, whose statements may be weighed already."""
    handed, withdrawn = contents.count_pulls(db)
    lost = fsum(cost for _, cost in contents.read_lost(db, explorer.arms))
    answer = find_answer(explorer, stop)
    weighed = (weigh_answer(explorer, stop) if weighed is None else weighed) if stop else []
    missing = [one.statement for one in weighed if not one.evidence > one.needed]
    return {
        "task": str(explorer.task),
        "question": explorer.task.question(names),
        "family": str(explorer.family),
        "handed_out": handed,
        "recorded": explorer.state.round,
        "withdrawn": withdrawn,
        "waiting": handed - explorer.state.round - withdrawn,
        "spent": explorer.state.total_cost + lost,
        "lost": lost,
        "answer": None if answer is None else name_answer(explorer.task, answer, names),
        "asserts": None if answer is None else list_levels(explorer, answer, names),
        "stopped": stop is not None,
        "ended": find_end(db, explorer, stop),
        "costs_ignored": find_ignored_costs(explorer, names),
        "costs_missing": find_missing_costs(explorer, names),
        "open_again": find_open_again(db, explorer, stop, names, missing, ends_by_evidence(explorer)),
    }


def list_levels(explorer: Explorer, answer: Hashable, names: Sequence[str]) -> list[str] | None:
    """What an answer asserts, where some of it is about one arm and a level; None otherwise."""
    stated = explorer.task.answer_statements(answer, explorer.arms)
    shown = tuple(map(escape_controls, names))
    return [one.write(shown) for one in stated] if any(len(one.arms) == 1 for one in stated) else None


def find_ignored_costs(explorer: Explorer, names: Sequence[str]) -> Record | None:
    """The arms whose observed costs are positive and count as zero, since their means are at most ``up_to``, and a
    ``gamma0`` with which they would count; None where there is no such arm."""
    limit = explorer.parameters.negligible_cost
    found = {name: mean for name, mean in zip(names, explorer.state.mean_costs(), strict=True) if 0 < mean <= limit}
    if not found or explorer.parameters.cost_source != "observed":
        return None
    tenth = 10.0 ** floor(log10(min(found.values())) - 1)
    return {"arms": list(found), "up_to": limit, "gamma0": tenth}


def find_missing_costs(explorer: Explorer, names: Sequence[str]) -> Record | None:
    """Where costs are observed, the arms without one so far, and those of which every cost is zero: both count as free;
    None where there are no such arms."""
    seen = list(zip(names, explorer.state.counts, explorer.state.cost_sums, strict=True))
    none, zero = ([name for name, count, spent in seen if bool(count) == some and spent == 0] for some in (False, True))
    return {"none": none, "zero": zero} if explorer.parameters.cost_source == "observed" and none + zero else None


def find_end(db: sqlite3.Connection, explorer: Explorer, stop: Stop | None) -> Record | None:
    """Why nothing is handed out any more, but for a declared answer: it was ended by hand, at this time, or the next
    pull would go beyond a limit, since the last pull or outcome. None where pulls are handed out."""
    if (moment := contents.read_end(db)) is not None:
        return {"reason": BY_HAND, "time": moment}
    if stop is not None or not any(limits_now(db, explorer).ends.values()):
        return None
    out = contents.waiting_arms(db, explorer.arms)
    with without_compiling():
        (arm,) = choose_arms(explorer, 1, out)
    limit = allowance(db, explorer, out).take(arm)
    return None if limit is None else {"reason": limit, "time": contents.last_change(db)}


def find_answer(explorer: Explorer, stop: Stop | None) -> Hashable | None:
    """The declared answer, or the leading one once every arm has an outcome."""
    if stop is not None:
        return stop.answer
    return explorer.policy.read_answer(explorer.view) if min(explorer.state.counts) else None


class Weighed(NamedTuple):
    """A statement with its evidence and what that must exceed."""

    statement: Statement
    evidence: float
    needed: float


def weigh_answer(explorer: Explorer, stop: Stop | None) -> list[Weighed]:
    """The statements of the answer, declared or leading, the one that has least evidence to spare first."""
    answer = find_answer(explorer, stop)
    stated = () if answer is None else explorer.task.answer_statements(answer, explorer.arms)
    return sorted(weigh_statements(explorer.setup, explorer.state, stated), key=lambda one: one.evidence - one.needed)


def weigh_statements(setup: Setup, state: State, stated: tuple[Statement, ...]) -> list[Weighed]:
    """Statements with their evidence, as people read it, and what it must exceed; zero where the means speak against
    one."""
    means = state.means().tolist()
    agreeing = tuple(statement for statement in stated if judge(statement, means) > 0)
    found = dict(zip(agreeing, setup.weigh(state, agreeing), strict=True))
    return [Weighed(statement, *found.get(statement, (0.0, setup.threshold.level))) for statement in stated]


def list_arms(
    db: sqlite3.Connection, state: State, names: Sequence[str], out: Sequence[int], intervals: Intervals | None
) -> list[Record]:
    """Every arm: pulls, those that are out, estimates, the interval of its mean, what it cost."""
    found = contents.read_lost(db, len(names))
    lost = [fsum(cost for of, cost in found if of == arm) for arm in range(len(names))]
    return [
        {
            "arm": arm,
            "name": name,
            "pulls": count,
            "out": out.count(arm),
            "mean": state.reward_sums[arm] / count if count else None,
            **ends(intervals.mean(arm) if intervals else None),
            "spent": state.cost_sums[arm] + lost[arm],
        }
        for arm, (name, count) in enumerate(zip(names, state.counts, strict=True))
    ]


def list_pairs(
    weighed: Sequence[Weighed], state: State, names: Sequence[str], intervals: Intervals | None
) -> list[Record]:
    """Every statement of the answer: its evidence, what it must exceed, and the difference that it is about.

    ``difference`` is ``mean of the winner - mean of the loser``, whatever the margin or ratio, and for a level the mean
    less the level, or the level less the mean; with its interval.
    """
    means, shown = state.means().tolist(), tuple(map(escape_controls, names))
    return [
        {
            "pair": [statement.winner, statement.loser],
            "name": statement.write(shown),
            "evidence": finite(evidence),
            "threshold": finite(needed),
            "share": min(1.0, max(0.0, evidence / needed)) if needed > 0 else float(evidence > needed),
            "settled": evidence > needed,
            "difference": difference_of(statement, means),
            **ends(difference_interval(statement, intervals) if intervals else None),
        }
        for statement, evidence, needed in weighed
    ]


def difference_of(statement: Statement, means: Sequence[float]) -> float:
    """``winner - loser``; of a level, ``arm > level``, the mean less the level, and of ``level > arm`` the reverse."""
    if statement.winner is not None and statement.loser is not None:
        return means[statement.winner] - means[statement.loser]
    (arm,) = statement.arms
    return (means[arm] if statement.loser is None else -means[arm]) - float(statement.margin)


def difference_interval(statement: Statement, intervals: Intervals) -> tuple[float, float]:
    """The interval of `difference_of`."""
    if statement.winner is not None and statement.loser is not None:
        return intervals.difference(statement.winner, statement.loser)
    (arm,), margin = statement.arms, float(statement.margin)
    low, high = intervals.mean(arm)
    low, high = (low, high) if statement.loser is None else (-high, -low)
    return (low, high) if margin == 0 else (nextafter(low - margin, -inf), nextafter(high - margin, inf))


def ends(interval: tuple[float, float] | None) -> Record:
    """An interval as JSON has it: None where it has no end."""
    low, high = interval or (-np.inf, np.inf)
    return {"low": finite(low), "high": finite(high)}


def finite(value: float) -> float | None:
    """A number as JSON has it: None where it is infinite, or none."""
    return value if isfinite(value) else None


def look_ahead(explorer: Explorer, weighed: Sequence[Weighed], names: Sequence[str]) -> Record:
    """What it will probably still cost: T* at the present means and costs, times the evidence that is missing.

    A unit of cost, spent at the best proportions, brings every pair 1 / T* of evidence or more; the pair that misses
    most has to be waited for. ``reason`` says why there is no cost, which is None then, or why it is zero.
    """
    missing = max(0.0, *(needed - evidence for _, evidence, needed in weighed))
    time, reason = solve_ahead(explorer, weighed, names)
    cost = None if time is None else finite(time * missing)
    if cost is None and reason is None:
        reason = "the missing evidence, or its cost, is outside double precision"
    return {"characteristic_time": time, "missing": finite(missing), "cost": cost, "reason": reason}


def solve_ahead(
    explorer: Explorer, weighed: Sequence[Weighed], names: Sequence[str]
) -> tuple[float | None, str | None]:
    """T* at the present means and costs, or None; and why it is None, or zero."""
    setup, means = explorer.setup, explorer.state.means()
    costs, needed = setup.costs(explorer.state, means).tolist(), {arm for one in weighed for arm in one.statement.arms}
    if all(costs[arm] == 0 for arm in needed):
        known = "" if setup.known_costs is not None else " as far as costs are estimated"
        return 0.0, f"every arm that the answer needs is free{known}"
    try:
        lower = setup.task.lower_is_better
        seen = seen_means(setup.family, means, explorer.state.histograms)
        model = BanditModel(setup.family, seen, costs, names, lower_is_better=lower)
        time = time_of_answer(explorer, model)
    except (InputError, SolverError) as error:  # a tie, no certificate, or nothing that doubles hold
        return None, str(error).partition(";")[0]  # without its advice, which is for who chooses the means
    if time > 0:
        return time, None
    space = setup.family.mean_space
    ends = [arm for arm in sorted(needed) if costs[arm] == 0 and model.means[arm] in (space.low, space.high)]
    told = " and ".join(f"the free arm {names[arm]} has the mean {model.means[arm]:g}" for arm in ends)
    return 0.0, f"{told}, the end of the range of {setup.family.name} means"


def time_of_answer(explorer: Explorer, model: BanditModel) -> float:
    """T* of a model, of several right answers that of the one that is followed."""
    task, profile = explorer.task, explorer.setup.profile
    if not task.several_right:
        return characteristic_time(model, task, solver=profile, limits=explorer.setup.limits).value
    return solve_question(ask_answer(model, task, explorer.policy.read_answer(explorer.view)), profile).value


def list_moments(
    db: sqlite3.Connection, explorer: Explorer, stop: Stop | None, names: Sequence[str], level: float, points: int
) -> Record:
    """The history: at each moment the outcomes and the money so far, and lists by pair and by arm.

    The pairs are those of the answer that is declared, or leads now; of many those with least margin. What a pair must
    exceed, and its evidence, are None while some arm has no outcome.
    """
    setup = explorer.setup
    stated = tuple(one.statement for one in weigh_answer(explorer, stop)[:PAIRS_OF_HISTORY])
    moments = []
    for state in replay_sums(db, explorer, points):
        complete = min(state.counts) > 0
        intervals = Intervals(setup, state, level) if explorer.family.has_martingale() else None
        found = weigh_statements(setup, state, stated) if complete else []
        moments.append(
            {
                "outcome": state.round,
                "cost": state.total_cost,
                "evidence": [finite(one.evidence) for one in found] if complete else None,
                "needed": [finite(one.needed) for one in found] if complete else None,
                "spent": list(state.cost_sums),
                "means": [finite(mean) for mean in state.means().tolist()],
                "intervals": [ends(intervals.mean(arm) if intervals else None) for arm in range(explorer.arms)],
            }
        )
    shown = tuple(map(escape_controls, names))
    pairs = [[statement.winner, statement.loser] for statement in stated]
    return {"pairs": pairs, "names": [statement.write(shown) for statement in stated], "moments": moments}


def replay_sums(db: sqlite3.Connection, explorer: Explorer, points: int) -> Iterator[State]:
    """The sums at ``points`` moments at most, at equal distances, the first and the last outcome among them."""
    outcomes, view = list(contents.read_outcomes(db, explorer.arms)), explorer.policy.begin()
    total, batches = len(outcomes), list(contents.read_batches(db).items())
    wanted = set(np.linspace(1, total, min(points, total)).round().astype(int).tolist())
    for first, last in batches:  # inside a batch no order is known
        inside = wanted & set(range(first, last))
        wanted = (wanted - inside) | ({last} if inside else set())
    for number, (_, arm, reward, cost) in enumerate(outcomes, start=1):
        absorb(view.setting, view.arms, view.clock, arm, explorer.family.count_reward(reward), cost)
        if number in wanted:
            yield state_of(view)
