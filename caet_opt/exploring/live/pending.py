"""Which arms to hand out while outcomes of other pulls are still awaited."""

from collections.abc import Sequence

import numpy as np

from caet_opt.exploring import rules
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.policies.base import Now, Policy
from caet_opt.exploring.policies.tracking import TrackingPolicy
from caet_opt.exploring.state import State, add_to


def arms_with_pending(explorer: Explorer, pending: Sequence[int], pulls: int = 1) -> list[int]:
    """The arms of so many pulls, given those of the pulls that are out, in the order in which they were handed out.

    The policy decides from a state in which everything that is out has come back as expected: each such pull with the
    arm's present mean reward and mean cost, the oldest first, and then each pull that is handed out here. So the means
    stay as they are and the counts grow, and whatever a rule compares (lags behind a target, evidence, bounds, laps,
    draws by the round, whose turn it is) takes the pulls that are out into account. Where nothing is out, the first arm
    is `Explorer.next_arm`.

    While some arm has no outcome there are no means to pretend with: the arm with the fewest pulls, those that are out
    among them, is next, the lowest number first.
    """
    now, chosen = explorer.now, list[int]()
    if min(now.state.counts) == 0:
        counts = [count + pending.count(arm) for arm, count in enumerate(now.state.counts)]
        for _ in range(pulls):
            chosen.append(counts.index(min(counts)))
            counts[chosen[-1]] += 1
        return chosen
    now = explorer.policy.prepare(now)
    for arm in pending:
        now = pretend(explorer.policy, now, arm)
    for _ in range(pulls):
        now = explorer.policy.prepare(now)
        chosen.append(explorer.policy.next_arm(now))
        now = pretend(explorer.policy, now, chosen[-1])
    return chosen


def pretend(policy: Policy, now: Now, arm: int) -> Now:
    """Where the experiment would be after an outcome of an arm as expected."""
    state = now.state
    absorbed = expect(state, arm)
    if not isinstance(policy, TrackingPolicy):
        return policy.advance(now, absorbed, arm)
    now = policy.diagnose(now)
    target = now.target  # that of the means, which stay as they are
    assert target is not None
    step = rules.project(target, rules.exploration_floor(policy.setup.arms, absorbed.round))
    return Now(absorbed.remember(tuple((np.array(state.memory) + step).tolist())), now.last, target, kept=now.kept)


def expect(state: State, arm: int) -> State:
    """The sums with one more outcome of an arm, at its mean reward and mean cost."""
    count = state.counts[arm]
    cost = state.cost_sums[arm] / count
    return State(
        state.round + 1,
        tuple(pulled + (other == arm) for other, pulled in enumerate(state.counts)),
        add_to(state.reward_sums, arm, state.reward_sums[arm] / count),
        add_to(state.cost_sums, arm, cost),
        state.memory,
        state.total_cost + cost,
    )
