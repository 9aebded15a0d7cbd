"""A run: rounds of a policy over streams of outcomes."""

from caet_opt.errors import SolverError
from caet_opt.exploring.compiling import compile_rounds
from caet_opt.exploring.explorer import Explorer
from caet_opt.kernels import ledger
from caet_opt.simulating.streams import ArmStreams


def run(explorer: Explorer, streams: ArmStreams, rounds: int) -> bool:
    """Up to ``rounds`` rounds; True when it stopped. Compiled code is used if it is at hand, with the same bits.

    `SolverError`, which says the round, leaves the explorer where it was; the outcomes of the streams are used up.
    """
    if explorer.stopped:
        return True
    policy, view = explorer.policy, explorer.policy.copy_view(explorer.view)
    play, left, again = policy.find_play(), rounds, False
    while True:
        reason, done = play(view, streams.buffers, left, again)
        left, again = left - done, False
        if reason in (ledger.STOPPED, ledger.LIMIT):
            explorer.view = view
            return bool(reason == ledger.STOPPED)
        if reason == ledger.REFILL:
            streams.refill_used()
        elif reason == ledger.NEED_CHOICE:
            arm = policy.choose_here(view)
            ledger.absorb(view.arms, view.clock, arm, *streams.draw(arm))
            left, again = left - 1, True
        else:
            try:
                view, again = policy.supply(view, reason), True
            except SolverError as error:
                raise SolverError(f"round {int(view.clock[ledger.ROUND])}: {error}", error.gap) from error


def run_in_batches(explorer: Explorer, streams: ArmStreams, rounds: int) -> bool:
    """The same, with the batches of a policy that has no target to share them out by; it may stop where one ends."""
    end = explorer.state.round + rounds
    while explorer.state.round < end:
        if explorer.stopped:
            return True
        for arm in explorer.next_arms(min(explorer.batch_left, end - explorer.state.round)):
            explorer.observe(arm, *streams.draw(arm))
    return explorer.stopped


def compile_run(explorer: Explorer) -> None:
    """Have the rounds of an experiment compiled, where compiled code knows its family and its threshold."""
    compile_rounds(explorer.policy, explorer.view)
