"""Compiling by numba's public functions alone: slower than by `units`, with the same bits, for any release of numba."""

from collections.abc import Callable
from typing import Any

import numba

from caet_opt.kernels.careful_cache import keep_on_disk

#: How every function is compiled: indices and divisions as numpy has them, and other threads run meanwhile.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


def compile_part(function: Callable[..., Any], inlined: bool, counted: bool, finite: bool) -> Any:
    """A function for compiled code to call, which LLVM inlines if told to, else where it pays.

    ``finite`` says that it meets no NaN. Numba counts who holds arrays in any case, ``counted`` or not.
    """
    fast = {"nnan", "nsz"} if finite else False
    return numba.njit(forceinline=inlined, fastmath=fast, **OPTIONS)(function)


def compile_unit(function: Callable[..., Any], cached: bool, counted: bool) -> Any:
    """A function for Python to call, compiled when it is first called, and kept on disk."""
    unit = numba.njit(**OPTIONS)(function)
    if cached:
        keep_on_disk(unit)
    return unit
