"""Policies that drop arms one after the other until one is left: the best arm."""

from collections.abc import Hashable

import numpy as np

from caet_opt.bandits.tasks import BestArm
from caet_opt.errors import InputError
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.state import State
from caet_opt.kernels.choosing import count_survivors
from caet_opt.kernels.ledger import Seen, update_costs


class Elimination(IndexPolicy):
    """Drops an arm b once the evidence that a survivor beats it exceeds the threshold, and ends with one survivor.

    An arm that was dropped has a one in the row MEMORY. The answer is wrong only if the best arm was dropped, which
    takes a pair (b, best) that wrongly exceeds the threshold: the K - 1 pairs at risk of the task. So what is proven of
    a threshold is proven here, too.
    """

    covered = (BestArm,)
    may_starve = True

    @staticmethod
    def ended(view: Seen) -> bool:
        """Whether one arm is left."""
        return count_survivors(view.arms) == 1

    @staticmethod
    def refresh(view: Seen, arm: int) -> bool:
        """The costs; pairs and their evidence are those of the survivors, which the rule looks at when it drops."""
        update_costs(view.setting, view.arms, arm)
        return True

    def check_state(self, state: State) -> None:
        super().check_state(state)
        if not set(state.memory) <= {0.0, 1.0} or 0.0 not in state.memory:
            raise InputError(
                f"memory of a saved state of {self.name!r} has a 1 for every arm that was dropped and a 0 for one or "
                f"more others, got {state.memory}"
            )

    def answer(self, state: State) -> Hashable:
        """The best of the survivors."""
        kept = np.where(np.array(state.memory) > 0, -np.inf, state.means())
        return self.setup.task.answer(kept.tolist())
