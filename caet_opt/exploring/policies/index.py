"""Policies that solve nothing: one function of what is known says which arm is next."""

import sys
from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from caet_opt.bandits.families import Family, martingales
from caet_opt.bandits.tasks import pairs as task_pairs
from caet_opt.errors import InputError
from caet_opt.exploring import bounds, draws, index_rounds, kept_targets, tally, tracking_rounds
from caet_opt.exploring.index_rounds import mark_needed, refresh_pairs
from caet_opt.exploring.policies.base import Now, Policy, Setup, as_columns
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping import e_values, kernels
from caet_opt.exploring.stopping.e_process import foreign_martingales
from caet_opt.exploring.tally import View, is_settled
from caet_opt.solving.native.compiled import (
    FAMILY_CODES,
    KERNEL,
    Compiled,
    Kernel,
    Sources,
    compile_functions,
    compiled_kernel,
    foreign_kernel,
    list_functions,
    rebind,
)

#: The functions of a policy with which `index_rounds.play` is compiled.
OWN = ("choose", "learn", "ended", "refresh")

#: What every policy can call, callees first.
SHARED = list_functions(
    *(kernels, martingales, e_values, tally, bounds, task_pairs, draws, kept_targets, tracking_rounds, index_rounds)
)

#: What is inlined into `play`: a call hands over every array of a view, which costs more than most of these do.
INLINED = frozenset(OWN) | {
    function.__name__
    for function in (
        *(tally.absorb, tally.update_costs, tally.pair_evidence, tally.weight_of, tally.evidence_between),
        *(tally.weigh_pairs, tally.total_count, tally.short_pair, tally.is_settled, bounds.reaches, bounds.clears),
        *(index_rounds.refresh_pairs, index_rounds.free_turn, index_rounds.weakest_pair, index_rounds.has_costly),
        *(index_rounds.share_of_first, task_pairs.pairs_hold),
    )
}


class IndexPolicy(Policy):
    """A rule that is one function of what is known, `choose`.

    A rule may remember something by arm, in the row MEMORY, which `learn` changes after each observation, and have a
    stopping rule of its own, `ended`. The three are static methods in the subset of Python that numba compiles: the
    object calls them as they are, and the compiled loop compiles them, so that both go the same way. They are called
    once every arm has an observation. CONTRIBUTING.md has a whole policy.

    >>> issubclass(POLICIES["top-two"], IndexPolicy), issubclass(POLICIES["caet"], IndexPolicy)
    (True, False)
    """

    @staticmethod
    @abstractmethod
    def choose(view: View) -> int:
        """The arm to pull, a function of the view alone; -1 leaves it to `choose_here`."""

    @staticmethod
    def learn(view: View, arm: int) -> None:
        """Change what the policy remembers, after an observation of an arm."""

    @staticmethod
    def ended(view: View) -> bool:
        """Whether the answer is final: the evidence of every pair exceeds its threshold."""
        return is_settled(view)

    @staticmethod
    def refresh(view: View, arm: int) -> bool:
        """Costs, pairs and evidence after an observation of an arm; False where the object has to find the answer."""
        return refresh_pairs(view, arm)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if self.shipped_only and not setup.is_shipped:
            raise InputError(f"policy {self.name!r} knows the shipped families only, not {setup.family}; use 'top-two'")
        self.setting = setup.setting(tracking=tally.CUMULATED)
        self.functions = interpreted(type(self), type(setup.family))

    @np.errstate(all="ignore")  # as in compiled code: evidence that is not a number stops no run
    def advance(self, now: Now, absorbed: State, arm: int) -> Now:
        if not min(absorbed.counts) > 0:
            return Now(absorbed)
        view = self.look(absorbed)
        self.functions["learn"](view, arm)
        return Now(absorbed.remember(tuple(view.arms[tally.MEMORY].tolist())), view=view)

    def prepare(self, now: Now) -> Now:
        return now if now.view is not None else now._replace(view=self.look(now.state))

    @np.errstate(all="ignore")
    def next_arm(self, now: Now) -> int:
        arm = int(self.functions["choose"](self.view_of(now)))
        return arm if arm >= 0 else self.choose_here(now)

    @np.errstate(all="ignore")
    def next_arms(self, now: Now, pulls: int, pending: Sequence[int]) -> list[int]:
        """Each pull, and each that is pending, counts as if it had brought what its arm has brought on average."""
        chosen: list[int] = []
        for arm in pending:
            now = self.pretend(now, arm)
        for _ in range(pulls):
            chosen.append(self.next_arm(now))
            now = self.pretend(now, chosen[-1])
        return chosen

    def pretend(self, now: Now, arm: int) -> Now:
        """Where the experiment would be after a pull of an arm that brings its mean and costs its mean cost."""
        state = now.state
        return self.advance(now, state.absorb(arm, float(state.means()[arm]), float(state.mean_costs()[arm])), arm)

    def choose_here(self, now: Now) -> int:
        """The arm where `choose` leaves it to the object."""
        raise NotImplementedError

    @np.errstate(all="ignore")
    def has_ended(self, now: Now) -> bool:
        return bool(self.functions["ended"](self.view_of(now)))

    def view_of(self, now: Now) -> View:
        """What the policy sees."""
        return now.view or self.look(now.state)

    def look(self, state: State) -> View:
        """What the policy sees of a state; every arm has an observation."""
        setup, means = self.setup, state.means()
        arms = setup.rows(state)
        arms[tally.COST] = setup.costs(state, means)
        pairs = setup.task.pairs(means.tolist())
        view = View(
            self.setting,
            arms,
            as_columns(pairs),
            setup.evidence(state, pairs, means),
            *self.setup.shape,
        )
        mark_needed(view)
        return view

    def load(self, now: Now) -> View:
        """The view as compiled code begins with it; before every arm has an observation, with any pairs."""
        if min(now.state.counts) > 0:
            return self.view_of(now)
        setup = self.setup
        arms = setup.rows(now.state)
        arms[tally.COST] = 0.0 if setup.known_costs is None else setup.known_costs
        pairs = setup.task.pairs([0.0] * setup.arms)
        return View(self.setting, arms, as_columns(pairs), np.zeros(len(pairs)), *self.setup.shape)

    def store(self, now: Now, view: View, reason: int, done: int) -> Now:
        """Where so many compiled rounds have led; the view is not that of the state if a round was undone."""
        if done == 0:
            return Now(now.state)
        state = self.setup.state_after(now.state, view.arms, done)
        return Now(state, view=view if reason != tally.CHANGED and min(state.counts) > 0 else None)


def own_functions(policy: type[IndexPolicy]) -> Sources:
    """The functions of a policy, after those of the modules that they are from, callees first."""
    own = tuple(getattr(policy, name) for name in OWN)
    modules = dict.fromkeys(function.__module__ for function in own if function.__module__ != __name__)
    helpers = list_functions(*(sys.modules[module] for module in modules))
    for taken in {helper.__name__ for helper in helpers} & {function.__name__ for function in (*KERNEL, *SHARED)}:
        raise InputError(
            f"policy {policy.name!r}: its file has a function {taken!r}, as what policies share has; name it otherwise"
        )
    return (*helpers, *own)


@cache
def interpreted(policy: type[IndexPolicy], family: type[Family]) -> Kernel:
    """The functions of a policy as they are, or with the formulas of a user's own family."""
    if family in FAMILY_CODES:
        return {name: getattr(policy, name) for name in OWN}
    functions: Kernel = {**foreign_kernel(family), **foreign_martingales(family)}
    for source in (*SHARED, *own_functions(policy)):
        if source.__name__ not in functions or source.__name__ in OWN:
            functions[source.__name__] = rebind(source, functions)
    return functions


@cache
def compiled_shared() -> Compiled:
    """What every policy can call, compiled when it is first called."""
    return compile_functions(
        tuple(source for source in SHARED if source.__name__ != "play"), compiled_kernel(), INLINED
    )


@cache
def compiled_play(policy: type[IndexPolicy]) -> Any:
    """`index_rounds.play` with the functions of a policy, compiled when it is first called and kept on disk."""
    return compile_functions((*own_functions(policy), index_rounds.play), compiled_shared(), INLINED)["play"]
