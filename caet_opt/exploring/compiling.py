"""`rounds.play` of each policy, compiled on first use and kept on disk."""

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from caet_opt.bandits.families import Bounded, martingales
from caet_opt.bandits.tasks import pairs as task_pairs
from caet_opt.errors import InputError
from caet_opt.kernels import (
    aiming,
    answer_choice,
    betting,
    boxes,
    choosing,
    confidence,
    counting,
    draws,
    e_values,
    following,
    ledger,
    lines,
    rounds,
    several,
    statement_evidence,
    thresholds,
)
from caet_opt.kernels.compile import (
    NOTHING_ELSE,
    Compiled,
    Sources,
    announce_compiling,
    compile_functions,
    list_functions,
)
from caet_opt.kernels.ledger import NO_STREAMS, Seen
from caet_opt.kernels.native import KERNEL, compiled_kernel

if TYPE_CHECKING:
    from caet_opt.exploring.policies.base import Policy

#: What every policy can call, callees first.
SHARED = list_functions(
    *(thresholds, martingales, e_values, statement_evidence, counting, betting, ledger, confidence, task_pairs, draws),
    *(boxes, lines, following, aiming, choosing, several, answer_choice),
)

#: Functions that meet no NaN, so that LLVM may find a maximum by vector instructions.
FINITE = frozenset({aiming.add_target.__name__, aiming.most_behind.__name__})

#: What is inlined into `play`: a call hands over every array of a view, which costs more than most of these do.
INLINED = frozenset({"choose", "learn", "ended", "refresh", "respond"}) | {
    function.__name__
    for function in (
        *(ledger.absorb, ledger.has_histograms, ledger.update_costs, ledger.weight_of, ledger.evidence_between),
        *(ledger.weigh_pairs, ledger.short_pair, ledger.is_stated, ledger.answer_holds, ledger.column_exceeds),
        *(ledger.evidence_at, ledger.evidence_of, aiming.set_patience, confidence.is_bound_above),
        *(choosing.refresh_pairs, choosing.free_turn, choosing.weakest_pair),
        *(choosing.share_of_first, task_pairs.pairs_hold),
        *(aiming.decide, aiming.keep_mended, aiming.solve_here, aiming.adopt),
    )
}

#: Where the classes are that policies derive from, whose functions call what is listed above.
ABSTRACT = {f"caet_opt.exploring.policies.{name}" for name in ("base", "index", "tracking")}

#: What rounds of families that need sums alone are compiled with in place of another function.
SUMS_ALONE = {ledger.has_histograms.__name__: ledger.has_sums_alone}

#: The loops that this process has, of policies with and without histograms.
_loaded: dict[tuple[type["Policy"], bool], Any] = {}


def list_play(policy: type["Policy"]) -> Sources:
    """All that `rounds.play` of a policy calls, callees first, and it itself."""
    return (*KERNEL, *SHARED, *own_functions(policy), rounds.first_unseen, rounds.play)


def own_functions(policy: type["Policy"]) -> Sources:
    """The functions of a policy, after those of the modules that they are from, callees first."""
    own = tuple(getattr(policy, name) for name in policy.own)
    modules = dict.fromkeys(function.__module__ for function in own if function.__module__ not in ABSTRACT)
    helpers = list_functions(*(sys.modules[module] for module in modules))
    for taken in {helper.__name__ for helper in helpers} & {function.__name__ for function in (*KERNEL, *SHARED)}:
        raise InputError(
            f"policy {policy.name!r}: its file has a function {taken!r}, a name that shared code has too; rename it"
        )
    return (*helpers, *own)


def compiled_play(policy: type["Policy"], counted: bool = False) -> Any:
    """`rounds.play` with the functions of a policy, compiled when it is first called and kept on disk: for rewards in a
    range, which are ``counted`` in histograms, or for the other families."""
    if (policy, counted) not in _loaded:
        own: Sources = (*own_functions(policy), rounds.first_unseen, rounds.play)
        _loaded[policy, counted] = compile_functions(own, compiled_shared(counted), INLINED)["play"]
    return _loaded[policy, counted]


def loaded_play(policy: "Policy") -> Any:
    """`compiled_play` for a policy and its family, if this process has it and has compiled it; else None."""
    found = _loaded.get((type(policy), is_counted(policy))) if policy.setup.is_shipped else None
    return found if found is not None and found.overloads else None


def is_counted(policy: "Policy") -> bool:
    """Whether the rewards of a policy's family are counted in histograms."""
    return isinstance(policy.setup.family, Bounded)


@cache
def compiled_shared(counted: bool) -> Compiled:
    """What every policy can call, compiled when it is first called: for rewards that are ``counted`` in histograms, or
    for those that need sums alone."""
    instead = NOTHING_ELSE if counted else SUMS_ALONE
    return compile_functions(SHARED, compiled_kernel(), INLINED, FINITE, instead)


def compile_rounds(policy: "Policy", view: Seen) -> None:
    """Have the rounds of a policy compiled, where compiled code knows its family and its threshold; it is said."""
    if policy.setup.is_shipped:
        function = compiled_play(type(policy), is_counted(policy))
        if not function.overloads:
            with announce_compiling("the simulation"):
                function(view, NO_STREAMS, 0, False)
