"""How functions are compiled: what makes numba compile them again, and what it keeps on disk."""

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from caet_opt.bandits.families import Gaussian
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.kernels import instance, interior, records
from caet_opt.kernels.compile import compile_functions, find_compiler, is_counted, owns_arrays
from caet_opt.kernels.native import compiled_kernel
from caet_opt.kernels.statement_columns import list_columns
from caet_opt.solving.backends.native import pack_pattern

by_units = pytest.mark.skipif(
    find_compiler().__name__.endswith("plain"), reason="this numba compiles by its public functions, not in units"
)


def inner(x: float) -> float:
    return x + 1.0


def outer(x: float) -> float:
    return 2.0 * inner(x)


def made(source):
    """A function that was typed, not read from a file."""
    names = {}
    exec(source, names)
    return names["inner"]


def compiled(function):
    return compile_functions((outer,), compile_functions((function,)))["outer"]


def test_a_change_in_what_is_called_changes_the_name_in_the_cache():
    """Numba would find the old code of ``outer``, which has the old callee in it."""
    other = made("def inner(x):\n    return x + 3.0\n")
    names = [compiled(function).py_func.__qualname__ for function in (inner, other, inner)]
    assert names[0] == names[2] != names[1]
    assert (compiled(inner)(1.0), compiled(other)(1.0)) == (4.0, 8.0)


def test_what_comes_from_a_file_is_kept_on_disk_and_what_was_typed_is_not():
    typed = made("def inner(x):\n    return x - 1.0\n")
    known = compile_functions((typed,))
    assert compile_functions((inner,))["inner"].stats.cache_path is not None
    assert known["inner"].stats.cache_path is None
    assert known["inner"](1.0) == 0.0


def both(x: float) -> float:
    return shifted(x, 1) + shifted(x, 2)


def shifted(x: float, shift: int) -> float:
    return x + shift


@by_units
def test_constants_are_no_reason_to_compile_a_function_again(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # what an earlier run has compiled has no signatures
    functions = compile_functions((shifted, both))
    assert functions["both"](1.0) == 5.0
    assert len(functions.parts["shifted"].signatures) == 1
    assert functions["shifted"](1.0, 1) == 2.0


def asks(x: float) -> bool:
    return x > 0.0


def never(x: float) -> bool:
    return False


def halved(x: float) -> float:
    return x / 2.0 + min(x, 8.0)


def through(x: float) -> float:
    return halved(x) + 1.0


def branching(x: float) -> float:
    if asks(x):
        return halved(x) + min(x, 7.0)
    return through(x)


def test_a_function_compiled_in_place_of_another_may_leave_branches_that_are_never_taken():
    """What is called there and elsewhere, too, has to be linked all the same."""
    sources = (asks, halved, through, branching)
    plainly = compile_functions(sources, inlined=frozenset({"asks"}))["branching"]
    without = compile_functions(sources, inlined=frozenset({"asks"}), instead={"asks": never})["branching"]
    assert (plainly(4.0), without(4.0)) == (branching(4.0), through(4.0)) == (10.0, 7.0)
    assert plainly.py_func.__qualname__ != without.py_func.__qualname__


@by_units
def test_python_cannot_call_a_part():
    parts = compile_functions((inner,)).parts
    with pytest.raises(ValueError, match="not in list"):
        parts["inner"](1.0)


def counted(name):
    """Whether numba counts who holds the arrays of a function of the kernel."""
    return is_counted(compiled_kernel().parts[name])


@by_units
def test_arrays_are_counted_where_they_are_made_and_nowhere_else():
    """A function that returns an array, or a view of one, gives its caller a share in it; so both have to count."""
    assert all(map(counted, ("make_work", "make_workspace", "unpack_shape", "solve_instance")))
    assert not any(map(counted, ("minimise", "solve_in_workspace", "certify_pairs", "mixture_divergence")))


def test_what_others_wrote_is_counted():
    """A policy of a user's own may make arrays in ways that its names do not show."""
    assert owns_arrays(inner, {})
    assert not owns_arrays(interior.move, {})
    assert owns_arrays(instance.make_workspace, {})
    assert owns_arrays(records.make_work, {})


def test_a_caller_of_what_makes_arrays_is_counted():
    assert owns_arrays(interior.largest_part, {}) is False
    known = {"minimise": compile_functions((inner,)).parts["inner"]}
    assert is_counted(known["minimise"])
    assert owns_arrays(instance.solve_in_workspace, known)


def test_no_array_is_lost_and_none_is_freed_twice():
    """As many arrays are freed as were made by a call that makes all its arrays itself."""
    numbers = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    pattern = pack_pattern((list_columns((Statement(0, 1),), Gaussian), Gaussian, (True, True)))
    solve = compiled_kernel()["solve_instance"]
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for _ in range(10):
            assert solve(numbers, *pattern, np.zeros(2), np.zeros(1), False, 1e-9, 1e-13, 50)[2] > 0
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
