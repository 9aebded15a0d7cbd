"""Compiling by numba's public functions alone: slower than by `units`, with the same bits, for any release of numba."""

from collections.abc import Callable
from typing import Any

import numba
from numba.core import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from caet_opt.kernels.careful_cache import keep_on_disk

# mypy: disable-error-code="misc, untyped-decorator"
# numba has no types

#: How every function is compiled: indices and divisions as numpy has them, and other threads run meanwhile.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


@intrinsic
def as_one_row(typing: Any, arms: Any) -> Any:
    """`caet_opt.kernels.counting.as_one_row` of a contiguous array."""
    line = types.Array(arms.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        given = make_array(signature.args[0])(context, builder, values[0])
        found = make_array(line)(context, builder)
        own = {"meminfo": given.meminfo, "parent": given.parent, "itemsize": given.itemsize}
        populate_array(found, data=given.data, shape=[given.nitems], strides=[given.itemsize], **own)
        return impl_ret_borrowed(context, builder, line, found._getvalue())

    return line(arms), generate


#: What compiled code has in place of functions of the same names.
BUILT_IN = {"as_one_row": as_one_row}


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
