"""How functions are compiled: what makes numba compile them again, and what it keeps on disk."""

import pytest

from caet_opt.solving.native.compiled import compile_functions


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


def test_constants_are_no_reason_to_compile_a_function_again():
    functions = compile_functions((shifted, both))
    assert functions["both"](1.0) == 5.0
    assert len(functions.parts["shifted"].signatures) == 1
    assert functions["shifted"](1.0, 1) == 2.0


def test_python_cannot_call_a_part():
    parts = compile_functions((inner,)).parts
    with pytest.raises(ValueError, match="not in list"):
        parts["inner"](1.0)
