"""The native solver and the certificate, compiled where that is worth the wait, else interpreted: the same bits."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from math import inf

import numpy as np

from caet_opt.bandits.families import Family, scalar
from caet_opt.kernels import (
    all_terms,
    bounded_term,
    certify,
    factor,
    instance,
    interior,
    margin_floor,
    margin_term,
    records,
    term,
)
from caet_opt.kernels.compile import Compiled, Kernel, announce_compiling, compile_functions, list_functions
from caet_opt.kernels.elimination_order import columns, integers, pack_shape, plan_elimination
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.interpret import Interpreted, interpret

#: Every function of the kernel, callees first.
KERNEL = list_functions(
    scalar, term, margin_term, bounded_term, margin_floor, records, all_terms, factor, interior, certify, instance
)

#: Seconds of interpreted solving in a process after which compiling is worth it, and what an edge takes.
INTERPRETED_BUDGET, SECONDS_PER_EDGE = 2.0, 5e-4

_spent = 0.0
_compiled: Compiled | None = None
_may_compile: ContextVar[bool] = ContextVar("may_compile", default=True)


def kernel_for(family: type[Family], edges: int, problems: int = 1) -> Kernel:
    """The kernel for problems of so many pairs: compiled where that is at hand or worth the wait, else interpreted.

    Which of the two it is shows in the time alone: they end in the same bits.
    """
    if _compiled is not None and family in FAMILY_CODES:
        return _compiled
    return compiled_kernel() if is_worth_compiling(family, edges, problems) else interpreted_kernel(family)


def is_worth_compiling(family: type[Family], edges: int, problems: int = 1) -> bool:
    """Whether code is to be compiled for problems of so many pairs, and all that this process has solved before."""
    global _spent
    if family not in FAMILY_CODES or not _may_compile.get():
        return False
    if _compiled is None:
        _spent += SECONDS_PER_EDGE * max(edges, 4) * problems
    return _compiled is not None or _spent >= INTERPRETED_BUDGET


@contextmanager
def without_compiling() -> Iterator[None]:
    """Use compiled code only if it is at hand: nobody who holds a lock waits for a compiler."""
    before = _may_compile.set(False)
    try:
        yield
    finally:
        _may_compile.reset(before)


def present_kernel(family: type[Family]) -> Kernel:
    """The compiled kernel if this process has it, else the interpreted one: for what is not worth compiling."""
    if family in FAMILY_CODES and _compiled is not None:
        return _compiled
    return interpreted_kernel(family)


def loaded_kernel() -> Kernel | None:
    """The compiled kernel if this process has it."""
    return _compiled


def compiled_kernel() -> Compiled:
    """The kernel for the shipped families: from numba's cache on disk, or compiled now, which is said once."""
    global _compiled
    if _compiled is None:
        with announce_compiling("the native solver"):
            functions = compile_functions(KERNEL)
            exercise(functions)
            _compiled = functions
    return _compiled


def exercise(functions: Kernel) -> None:
    """Solve for two arms: numba compiles a function when it is first called."""
    pair = integers([[0], [1]])
    layout = instance.Layout(
        integers([0, 1]), pair, integers([0]), columns([], 3), pair, np.zeros((records.COLUMN_ROWS, 0))
    )
    given = records.ModelNumbers(0, 0.0, -inf, inf, np.array([1.0, 0.0]), np.zeros(2), np.ones(2), np.ones(2))
    packed = pack_shape(layout, plan_elimination(2, ((0, 1),)))
    functions["solve_instance"](np.array(given[4:]), packed, *given[:4], np.ones(2), np.ones(1), False, 1e-9, 1e-9, 50)


@cache
def interpreted_kernel(family: type[Family]) -> Interpreted:
    """The kernel as it is, on a shipped family or on a user's own."""
    return interpret(KERNEL, family)
