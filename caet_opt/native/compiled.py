"""The kernel compiled by numba, or interpreted where compiling is not worth the wait."""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from caet_opt.native import divergences, factor, interior, records, terms

#: Every function of the kernel, callees first.
KERNEL: tuple[Callable[..., Any], ...] = (
    divergences.kl_div,
    divergences.divergence,
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
    interior.assemble,
    interior.direction,
    interior.longest_steps,
    interior.shorten_steps,
    interior.move,
    interior.newton,
    interior.iterate,
    interior.minimise,
)


@cache
def compiled_kernel() -> dict[str, Callable[..., Any]]:
    """The kernel for the shipped families, compiled on first call and kept on disk."""
    import numba

    functions: dict[str, Callable[..., Any]] = {}
    for source in KERNEL:
        assert isinstance(source, FunctionType)
        copy = FunctionType(source.__code__, {**source.__globals__, **functions}, source.__name__)
        copy.__module__, copy.__qualname__ = source.__module__, source.__qualname__
        functions[source.__name__] = numba.njit(cache=True, error_model="numpy")(copy)
    return functions
