"""What the limits of an experiment, on its cost and on its pulls, leave for the next pull."""

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Literal

from caet_opt.common.exact import exact
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.state import State

#: A limit, by the name of its setting.
Limit = Literal["max_cost", "max_pulls"]


class Allowance:
    """Asked for one pull after the other, says which of them are within

        recorded + out + 1 <= max_pulls,    paid + known costs of the pulls that are out + cost of the pull <= max_cost.

    where ``paid`` includes what is ``lost``, spent on pulls without an outcome. Known costs and the limit are the
    decimals that they were given as: three pulls at 0.1 are within 0.3. Where costs are known only afterwards the pulls
    that are out count as nothing, and a pull is within as long as less than max_cost is paid: the cost may exceed the
    limit by that of the pulls that were out then.

    >>> from caet_opt.exploring.limits import Allowance
    >>> explorer = Explorer.start("best-arm", "bernoulli", arms=2, delta=0.05, costs=[0.1, 0.2], max_cost=0.4)
    >>> allowance = Allowance(explorer.parameters, [0.1, 0.2], explorer.state)
    >>> [allowance.take(arm) for arm in (0, 1, 1, 0, 0)]
    [None, None, 'max_cost', None, 'max_cost']
    """

    def __init__(
        self,
        parameters: Parameters,
        known_costs: Iterable[float] | None,
        state: State,
        out: Sequence[int] = (),
        lost: Sequence[float] = (),
    ) -> None:
        self._max_pulls, limit = parameters.max_pulls, parameters.max_cost
        self._pulls, self._reached = state.round + len(out), False
        self._max_cost = self._costs = None
        if limit is None:
            return
        if known_costs is None:
            self._reached = state.total_cost + fsum(lost) >= limit
            return
        self._max_cost, self._costs = exact(limit), [exact(cost) for cost in known_costs]
        counts = [count + out.count(arm) for arm, count in enumerate(state.counts)]
        self._paid = sum(
            (count * cost for count, cost in zip(counts, self._costs, strict=True)), sum(map(exact, lost), exact(0))
        )

    def take(self, arm: int) -> Limit | None:
        """Count a pull of an arm that is within the limits, or say which one it is not within."""
        if self._max_pulls is not None and self._pulls >= self._max_pulls:
            return "max_pulls"
        if self._reached:
            return "max_cost"
        if self._max_cost is not None and self._costs is not None:
            if self._paid + self._costs[arm] > self._max_cost:
                return "max_cost"
            self._paid += self._costs[arm]
        self._pulls += 1
        return None
