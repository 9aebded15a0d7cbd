"""Two loops, one trajectory: a run of CAET in Python with any solver, and in compiled code with the native one."""

from functools import cache
from typing import Any

import numpy as np

from caet_opt.bandits.families import martingales
from caet_opt.errors import InputError
from caet_opt.exploring import kernel
from caet_opt.exploring.policies.caet import TARGET_TOLERANCE, Caet
from caet_opt.exploring.settings import COST_SOURCES
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping import e_values, kernels
from caet_opt.simulating.streams import ArmStreams
from caet_opt.solving.backends.native import TARGET as SOLVE_TARGET
from caet_opt.solving.native.compiled import (
    FAMILY_CODES,
    Kernel,
    announce_compiling,
    compile_functions,
    compiled_kernel,
    list_functions,
)
from caet_opt.solving.native.elimination import lay_out
from caet_opt.solving.programs.cache import cached_program

#: The functions of the compiled loop, callees first.
LOOP = list_functions(kernels, martingales, e_values, kernel)


@cache
def compiled_loop() -> Kernel:
    """The loop's functions, compiled on first use and kept on disk."""
    return compile_functions(LOOP, compiled_kernel())


def compile_solver(caet: Caet) -> None:
    """Have the native solver compiled before the first solve: interpreted, it takes another way to the same optimum and
    ends some ulps away, so that a run would depend on what its process did before."""
    if caet.profile.backend == "native" and type(caet.family) in FAMILY_CODES:
        compiled_kernel()


def run_reference(caet: Caet, streams: ArmStreams, rounds: int) -> bool:
    """Up to ``rounds`` rounds in Python, the target by the solver that the object was given; True when it stopped."""
    compile_solver(caet)
    for _ in range(rounds):
        if caet.stopped:
            return True
        arm = caet.next_arm()
        caet.observe(arm, *streams.draw(arm))
    return caet.stopped


def run_compiled(caet: Caet, streams: ArmStreams, rounds: int) -> bool:
    """Up to ``rounds`` rounds, compiled as long as the answer and the free arms stay the same; True when it stopped."""
    compile_solver(caet)
    setting = loop_setting(caet)
    end = caet.state.round + rounds
    while caet.state.round < end and not caet.stopped:
        if not run_stretch(caet, streams, setting, end - caet.state.round):
            arm = caet.next_arm()
            caet.observe(arm, *streams.draw(arm))
    return caet.stopped


def run_stretch(caet: Caet, streams: ArmStreams, setting: kernel.Setting, rounds: int) -> bool:
    """Compiled rounds from the present state; False when the next round is for the object to do."""
    pattern = caet.pattern()
    shape = None if pattern is None else cached_program("native layout", pattern, lay_out)
    if pattern is None or shape is None:
        return False
    layout, plan = shape
    costly = np.array(pattern[2], dtype=float)
    tally, warm = load(caet, layout.pairs.shape[1])
    track: Any = compiled_loop()["track"]
    arguments = (setting, layout, plan, costly, streams.buffers, tally, warm)
    if not track.signatures:
        with announce_compiling("the simulation"):
            track(*arguments, 0)
    reason, done = track(*arguments, rounds)
    if done > 0:
        store(caet, tally, done)
    if reason == kernel.REFILL:
        streams.refill_used()
    return bool(reason != kernel.CHANGED)


def loop_setting(caet: Caet) -> kernel.Setting:
    """What the compiled loop needs to know of the object."""
    parameters, threshold = caet.parameters, caet.threshold
    if type(caet.family) not in FAMILY_CODES:
        raise InputError(
            f"the compiled loop knows the shipped families only, not {caet.family}; use the reference loop"
        )
    numbers, dispersions = np.zeros((4, caet.arms)), caet.family.dispersions(caet.arms)
    numbers[kernel.DISPERSION], numbers[kernel.PRIOR] = dispersions, threshold.slope * caet.prior_scales / dispersions
    if caet.known_costs is not None:
        numbers[kernel.KNOWN_COST] = caet.known_costs
    return kernel.Setting(
        family=FAMILY_CODES[type(caet.family)],
        error=float(caet.family.divergence_error),
        low=float(caet.family.mean_space.low),
        high=float(caet.family.mean_space.high),
        numbers=numbers,
        cost_source=COST_SOURCES.index(parameters.cost_source),
        zero_cost_share=parameters.free_share,
        negligible_cost=parameters.negligible_cost,
        cumulate=parameters.tracking == "c",
        threshold=threshold.code,
        level=threshold.level,
        slope=threshold.slope,
        tolerance=TARGET_TOLERANCE,
        target=SOLVE_TARGET,
        limit=caet.profile.max_iterations,
    )


def load(caet: Caet, pairs: int) -> tuple[kernel.Tally, bool]:
    """The object's state as the compiled loop keeps it, with the last solution to start from if there is one."""
    state = caet.state
    arms = np.zeros((8, caet.arms))
    arms[kernel.COUNT], arms[kernel.REWARD], arms[kernel.SPENT] = state.counts, state.reward_sums, state.cost_sums
    arms[kernel.CUMULATED], arms[kernel.MEAN] = state.cumulated_target, state.means()
    arms[kernel.TARGET] = caet.diagnostics.target
    start = caet.last_solution()
    effort, weights = (np.zeros(caet.arms), np.zeros(pairs)) if start is None else (start[0].copy(), start[1].copy())
    return kernel.Tally(arms, effort, weights, np.array([state.total_cost])), start is not None


def store(caet: Caet, tally: kernel.Tally, done: int) -> None:
    """Put the compiled loop's tally back, after so many rounds."""
    rows = tally.arms
    state = State(
        caet.state.round + done,
        tuple(int(count) for count in rows[kernel.COUNT]),
        tuple(rows[kernel.REWARD].tolist()),
        tuple(rows[kernel.SPENT].tolist()),
        tuple(rows[kernel.CUMULATED].tolist()),
        float(tally.total[0]),
    )
    caet.go_on(state, rows[kernel.TARGET].copy(), tally.effort, tally.weights)
