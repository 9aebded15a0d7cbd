"""The way of a live experiment: what every pair and every arm looked like, at some of its outcomes."""

import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np

from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.policies.base import state_of
from caet_opt.exploring.state import State
from caet_opt.kernels.ledger import absorb
from caet_opt.live import rows
from caet_opt.live.intervals import Intervals
from caet_opt.live.rows import Outcome
from caet_opt.live.status import Record, ends, find_answer, finite, weigh_pairs

#: Moments of a history, and pairs in it, unless others are asked for.
POINTS, MOST_PAIRS = 200, 8


def trace(db: sqlite3.Connection, explorer: Explorer, level: float, points: int) -> Record:
    """The history: at each moment the outcomes and the money so far, and lists by pair and by arm.

    The pairs are those of the answer that is declared, or leads now; of more than `MOST_PAIRS` those with least margin.
    What a pair must exceed, and its evidence, are None while some arm has no outcome.
    """
    setup, outcomes = explorer.setup, list(rows.read_outcomes(db))
    answer = find_answer(explorer, rows.read_stop(db))
    pairs = () if answer is None else explorer.task.answer_pairs(answer, explorer.arms)
    weighed = sorted(weigh_pairs(setup, explorer.state, pairs), key=lambda one: one.evidence - one.needed)
    pairs = tuple(one.pair for one in weighed[:MOST_PAIRS])
    moments = []
    for state in replay_sums(outcomes, explorer, choose_moments(len(outcomes), points)):
        complete = min(state.counts) > 0
        intervals = Intervals(setup, state, level) if explorer.family.has_martingale() else None
        found = weigh_pairs(setup, state, pairs) if complete else []
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
    return {"pairs": [list(pair) for pair in pairs], "moments": moments}


def choose_moments(outcomes: int, points: int) -> list[int]:
    """Numbers of outcomes at equal distances, the first and the last among them; all of them where that is enough."""
    if outcomes <= points:
        return list(range(1, outcomes + 1))
    return sorted({round(place) for place in np.linspace(1, outcomes, points).tolist()})


def replay_sums(outcomes: Sequence[Outcome], explorer: Explorer, moments: Sequence[int]) -> Iterator[State]:
    """The sums after so many outcomes, for each of the moments."""
    view, wanted = explorer.policy.begin(), set(moments)
    for number, (_, arm, reward, cost) in enumerate(outcomes, start=1):
        absorb(view.arms, view.clock, arm, explorer.family.count_reward(reward), cost)
        if number in wanted:
            yield state_of(view)
