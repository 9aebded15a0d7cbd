"""Policies that solve nothing: one function of what is known says which arm is next."""

from typing import TYPE_CHECKING

from caet_opt.exploring.policies.base import Policy
from caet_opt.exploring.saving import Target
from caet_opt.kernels import ledger
from caet_opt.kernels.choosing import mark_needed, refresh_pairs, survey
from caet_opt.kernels.ledger import ANSWERED, DONE, NEED_ANSWER, ROUND, Seen, short_pair, weigh_pairs
from caet_opt.kernels.several import choice_is_due, find_settled, look_is_due

if TYPE_CHECKING:  # what `respond` is compiled with, for each policy its own

    def learn(view: Seen, arm: int) -> None: ...
    def refresh(view: Seen, arm: int) -> bool: ...


class IndexPolicy(Policy):
    """A policy given by one function of what is known, `choose`.

    A policy may remember a number for each arm, in the row MEMORY, which `learn` changes after each observation, and
    may have its own stopping rule, `ended`. The three are static methods in the subset of Python that numba compiles.
    They give the same results interpreted and compiled, and are called
    once every arm has an observation. CONTRIBUTING.md has an example.

    >>> issubclass(POLICIES["top-two"], IndexPolicy), issubclass(POLICIES["caet"], IndexPolicy)
    (True, False)
    """

    own = ("choose", "learn", "ended", "refresh", "respond")

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """Change what the policy remembers, after an observation of an arm."""

    @staticmethod
    def ended(view: Seen) -> bool:
        """Whether the answer is final: the evidence of every statement exceeds its threshold."""
        return short_pair(view) < 0

    @staticmethod
    def refresh(view: Seen, arm: int) -> bool:
        """Costs, statements and evidence after an observation of an arm; False where Python has to find the answer."""
        return refresh_pairs(view, arm)

    @staticmethod
    def respond(view: Seen, arm: int, waiting: bool) -> int:
        """Refresh what is seen, and learn from it."""
        if waiting:
            return DONE
        if choice_is_due(view):
            return NEED_ANSWER
        answered = view.clock[ANSWERED]
        is_new = answered == 0.0 or answered == view.clock[ROUND]
        if not (survey(view) if is_new else refresh(view, arm)):
            return NEED_ANSWER
        if look_is_due(view) and short_pair(view) >= 0 and find_settled(view):
            mark_needed(view)
            weigh_pairs(view, -1)
        learn(view, arm)
        return DONE

    def prepare(self, view: Seen, saved: Target) -> Seen:
        self.functions["survey"](view)
        return view

    def pretend(self, view: Seen, arm: int) -> Seen:
        """Count the pull as if its reward were the mean reward of its arm."""
        count = view.arms[ledger.COUNT, arm]
        brought, cost = view.arms[ledger.REWARD, arm] / count, view.arms[ledger.SPENT, arm] / count
        ledger.absorb(view.setting, view.arms, view.clock, arm, brought, cost)
        return self.take_note(view)
