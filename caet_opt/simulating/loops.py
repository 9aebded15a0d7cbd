"""Two loops, one trajectory: a run in Python with any policy and solver, and in compiled code."""

from functools import cache
from typing import Any

from caet_opt.bandits.families import martingales
from caet_opt.bandits.tasks import pairs as task_pairs
from caet_opt.errors import InputError
from caet_opt.exploring import kept_targets, tally, tracking_rounds
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.policies.base import Now
from caet_opt.exploring.policies.index import IndexPolicy, compiled_play
from caet_opt.exploring.policies.tracking import TrackingPolicy
from caet_opt.exploring.stopping import e_values, kernels
from caet_opt.simulating.streams import ArmStreams
from caet_opt.solving.native.compiled import (
    Compiled,
    announce_compiling,
    compile_functions,
    compiled_kernel,
    list_functions,
)
from caet_opt.solving.native.elimination import lay_out
from caet_opt.solving.programs.cache import cached_program

#: The functions of the compiled loop of a policy that solves, callees first.
LOOP = list_functions(kernels, martingales, e_values, tally, task_pairs, kept_targets, tracking_rounds)


#: Functions that meet no NaN, so that LLVM may find a maximum by vector instructions.
FINITE = frozenset({tracking_rounds.add_target.__name__})


@cache
def compiled_loop() -> Compiled:
    """The loop's functions, compiled on first use and kept on disk."""
    return compile_functions(LOOP, compiled_kernel(), finite=FINITE)


def compile_solver(explorer: Explorer) -> None:
    """Have the native solver compiled before the first solve: interpreted, it takes another way to the same optimum and
    ends some ulps away, so that a run would depend on what its process did before."""
    if isinstance(explorer.policy, TrackingPolicy) and explorer.profile.backend == "native" and explorer.is_shipped:
        compiled_kernel()


def run_reference(explorer: Explorer, streams: ArmStreams, rounds: int) -> bool:
    """Up to ``rounds`` rounds in Python, the target by the solver that the object was given; True when it stopped."""
    compile_solver(explorer)
    end = explorer.state.round + rounds
    while explorer.state.round < end:
        if explorer.stopped:
            return True
        for arm in explorer.next_arms(min(explorer.batch_left, end - explorer.state.round)):
            explorer.observe(arm, *streams.draw(arm))
    return explorer.stopped


def run_compiled(explorer: Explorer, streams: ArmStreams, rounds: int) -> bool:
    """Up to ``rounds`` rounds, compiled as far as compiled code knows what to do; True when it stopped."""
    if not explorer.is_shipped:
        raise InputError(
            f"the compiled loop knows the shipped families only, not {explorer.family}; use the reference loop"
        )
    compile_solver(explorer)
    end, stopped = explorer.state.round + rounds, explorer.stopped
    while explorer.state.round < end and not stopped:
        reason = run_stretch(explorer, streams, end - explorer.state.round)
        stopped = reason == tally.STOPPED
        if reason == tally.CHANGED:
            arm = explorer.next_arm()
            explorer.observe(arm, *streams.draw(arm))
            stopped = explorer.stopped
    return stopped


def run_stretch(explorer: Explorer, streams: ArmStreams, rounds: int) -> int:
    """Compiled rounds from the present state; returns why they ended, CHANGED when the next is for the object to do."""
    policy = explorer.policy
    if isinstance(policy, TrackingPolicy):
        reason, now = track_stretch(policy, explorer.now, streams, rounds)
    else:
        assert isinstance(policy, IndexPolicy)
        reason, now = play_stretch(policy, explorer.now, streams, rounds)
    explorer.go_on(now)
    if reason == tally.REFILL:
        streams.refill_used()
    return reason


def track_stretch(policy: TrackingPolicy, now: Now, streams: ArmStreams, rounds: int) -> tuple[int, Now]:
    """Rounds of a policy that solves, as long as the answer and the free arms stay the same."""
    pattern = policy.pattern(now)
    shape = None if pattern is None else cached_program("native layout", pattern, lay_out)
    if pattern is None or shape is None:
        return tally.CHANGED, now
    now = policy.prepare(now)
    found, warm = policy.load(now)
    track = compiled_loop()["track"]
    reason, done = call(track, policy.setting, *policy.setup.shape, *shape, streams.buffers, found, warm, rounds)
    return reason, policy.store(now, found, done) if done > 0 else now


def play_stretch(policy: IndexPolicy, now: Now, streams: ArmStreams, rounds: int) -> tuple[int, Now]:
    """Rounds of a policy that solves nothing."""
    view = policy.load(now)
    reason, done = call(compiled_play(type(policy)), view, streams.buffers, rounds)
    return reason, policy.store(now, view, reason, done)


def call(function: Any, *arguments: Any) -> tuple[int, int]:
    """Call a loop, whose last argument is the number of rounds; the first time it is compiled, which is said."""
    if not function.signatures:
        with announce_compiling("the simulation"):
            function(*arguments[:-1], 0)
    reason, done = function(*arguments)
    return int(reason), int(done)
