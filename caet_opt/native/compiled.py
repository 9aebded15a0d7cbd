"""The kernel compiled by numba, or interpreted where compiling is not worth the wait."""

import marshal
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from threading import Timer
from types import FunctionType
from typing import Any

import numpy as np

from caet_opt.families import Bernoulli, Exponential, Family, Gamma, Gaussian, Geometric, Poisson
from caet_opt.native import divergences, factor, instance, interior, records, terms
from caet_opt.native.elimination import columns, integers, plan_elimination

#: Every function of the kernel, callees first.
KERNEL: tuple[Callable[..., Any], ...] = (
    divergences.kl_div,
    divergences.mixture_divergence,
    divergences.variance,
    records.make_work,
    terms.evaluate,
    terms.bound,
    factor.fill_core,
    factor.eliminate_spoke,
    factor.cholesky,
    factor.factorise,
    factor.substitute,
    factor.back_solve,
    interior.keep_best,
    interior.resting,
    interior.all_resting,
    interior.first_multipliers,
    interior.first_slacks,
    interior.warm_slacks,
    interior.assemble,
    interior.direction,
    interior.longest_steps,
    interior.shorten_steps,
    interior.back_to_best,
    interior.repair,
    interior.settle,
    interior.predict,
    interior.move,
    interior.newton,
    interior.iterate,
    interior.minimise,
    instance.fill,
    instance.first_guess,
    instance.certify_pairs,
    instance.rescale,
    instance.solve_instance,
)


#: Codes of the families that the compiled kernel knows; any other is interpreted.
FAMILY_CODES: dict[type[Family], int] = {
    Gaussian: divergences.GAUSSIAN,
    Bernoulli: divergences.BERNOULLI,
    Poisson: divergences.POISSON,
    Exponential: divergences.EXPONENTIAL,
    Gamma: divergences.EXPONENTIAL,
    Geometric: divergences.GEOMETRIC,
}

#: Seconds of interpreted solving in a process after which compiling is worth it, and what an edge takes.
INTERPRETED_BUDGET, SECONDS_PER_EDGE = 2.0, 5e-4

Kernel = dict[str, Callable[..., Any]]

_spent = 0.0
_compiled: Kernel | None = None


def kernel_for(family: type[Family], edges: int) -> Kernel:
    """The compiled kernel where it is at hand or worth the wait, else the interpreted one."""
    global _spent
    if family not in FAMILY_CODES:
        return foreign_kernel(family)
    if _compiled is None:
        _spent += SECONDS_PER_EDGE * max(edges, 4)
        if _spent < INTERPRETED_BUDGET:
            return {function.__name__: function for function in KERNEL}
    return compiled_kernel()


def loaded_kernel() -> Kernel | None:
    """The compiled kernel if this process has it."""
    return _compiled


def compiled_kernel() -> Kernel:
    """The kernel for the shipped families: from numba's cache on disk, or compiled now, which is said once."""
    global _compiled
    if _compiled is None:
        notice = Timer(2.0, lambda: print("caet-opt: compiling the native solver, once ...", file=sys.stderr))
        notice.daemon = True
        notice.start()
        try:
            _compiled = compile_kernel()
        finally:
            notice.cancel()
    return _compiled


def compile_kernel() -> Kernel:
    """Compile every function of the kernel by solving a small instance."""
    import numba

    functions: Kernel = {}
    for source in KERNEL:
        copy = rebound(source, functions)
        copy.__qualname__ += f"_{fingerprint()}"
        functions[source.__name__] = numba.njit(cache=True, error_model="numpy")(copy)
    exercise(functions["solve_instance"])
    return functions


def fingerprint() -> str:
    """A name for this version of the whole kernel: numba's cache would notice a change in a function, not in its
    callees."""
    return sha256(b"".join(marshal.dumps(source.__code__, 2) for source in KERNEL)).hexdigest()[:12]


def exercise(solve_instance: Callable[..., Any]) -> None:
    """Solve two arms, so that everything is compiled."""
    pair = integers([[0], [1]])
    layout = instance.Layout(integers([0, 1]), pair, integers([0]), columns([], 3), pair)
    ones = np.ones(2)
    plan = plan_elimination(2, ((0, 1),))
    solve_instance(0, np.array([1.0, 0.0]), ones, ones, layout, plan, np.ones(2), np.ones(1), False, 1e-9, 1e-9, 50)


@cache
def foreign_kernel(family: type[Family]) -> Kernel:
    """The interpreted kernel on a user's own family."""

    def mixture_divergence(code: int, x: float, other: float, share: float, other_share: float) -> float:
        return float(family.mixture_divergence(x, other, share, other_share))

    def variance(code: int, mean: float) -> float:
        return float(family.unit_variance(mean))

    functions: Kernel = {"mixture_divergence": mixture_divergence, "variance": variance}
    for source in KERNEL:
        if source.__name__ not in functions:
            functions[source.__name__] = rebound(source, functions)
    return functions


def rebound(source: Callable[..., Any], functions: Kernel) -> FunctionType:
    """A copy of a function that calls the given ones instead of those of its module."""
    assert isinstance(source, FunctionType)
    copy = FunctionType(source.__code__, {**source.__globals__, **functions}, source.__name__)
    copy.__module__, copy.__qualname__ = source.__module__, source.__qualname__
    return copy
