"""Ipopt through its C interface, from the shared library that casadi's wheel carries.

cyipopt has no wheels for Python 3.14 and later, and building it takes a compiler and Ipopt's headers. casadi's wheel is
one for all versions of Python and holds the same Ipopt with MUMPS. `Problem` stands in for ``cyipopt.Problem`` as far
as this library uses that; casadi itself is not imported. The types are those of Ipopt's ``IpStdCInterface.h``.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL, CFUNCTYPE, c_bool, c_char_p, c_double, c_int, c_void_p
from functools import cache
from threading import current_thread, main_thread
from typing import Any
from weakref import finalize

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.errors import MissingExtraError
from caet_opt.solving.ipopt_provider import casadi_library

# Arguments: n, x, new_x, then the function's own, then the user's data; a pointer arrives as an address, or None.
POINT = (c_int, c_void_p, c_bool)
PLACES_AND_VALUES = (c_int, c_void_p, c_void_p, c_void_p)
VALUE = CFUNCTYPE(c_bool, *POINT, c_void_p, c_void_p)
CONSTRAINTS = CFUNCTYPE(c_bool, *POINT, c_int, c_void_p, c_void_p)
JACOBIAN = CFUNCTYPE(c_bool, *POINT, c_int, *PLACES_AND_VALUES, c_void_p)
HESSIAN = CFUNCTYPE(c_bool, *POINT, c_double, c_int, c_void_p, c_bool, *PLACES_AND_VALUES, c_void_p)
INTERMEDIATE = CFUNCTYPE(c_bool, c_int, c_int, *[c_double] * 8, c_int, c_void_p)

LARGEST_INT = 2**31 - 1

Failures = list[BaseException]


class Problem:
    """A nonlinear program with the interface of ``cyipopt.Problem``: bounds, options, then `solve`."""

    def __init__(self, n: int, m: int, problem_obj: Any, lb: Array, ub: Array, cl: Array, cu: Array) -> None:
        self._sizes = (n, m)
        self._failures: Failures = []
        # Ipopt keeps the addresses of the callbacks, which therefore live as long as this object.
        *functions, self._intermediate = self._callbacks = callbacks(problem_obj, self._failures)
        self._library = ipopt_library()
        bounds = [np.ascontiguousarray(bound, dtype=float) for bound in (lb, ub, cl, cu)]
        lower, upper, least, most = (bound.ctypes.data for bound in bounds)
        entries = [len(rows) for rows, _ in (problem_obj.jacobianstructure(), problem_obj.hessianstructure())]
        self._problem = c_void_p(
            self._library.CreateIpoptProblem(n, lower, upper, m, least, most, *entries, 0, *functions)
        )
        if not self._problem:
            raise ValueError("Ipopt refused the sizes or the bounds of the program")
        finalize(self, self._library.FreeIpoptProblem, self._problem)
        self._library.SetIntermediateCallback(self._problem, self._intermediate)

    def add_option(self, key: str, value: str | float | int) -> None:
        """Set an option; `TypeError` where Ipopt does not know the name or the value, as in cyipopt."""
        name, taken = key.encode(), False
        if isinstance(value, str):
            taken = self._library.AddIpoptStrOption(self._problem, name, value.encode())
        elif isinstance(value, float):
            taken = self._library.AddIpoptNumOption(self._problem, name, value)
        elif isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INT:
            taken = self._library.AddIpoptIntOption(self._problem, name, value)
        if not taken:
            raise TypeError(f"Ipopt does not take the option {key} = {value!r}")

    def solve(
        self, x: Array, lagrange: Array | None = None, zl: Array | None = None, zu: Array | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """The last point, and a dictionary of Ipopt's status, objective, constraints and multipliers.

        An exception of a callback, or Ctrl-C, ends Ipopt and is raised here.
        """
        n, m = self._sizes
        point, constraints, objective = copy_array(n, x), np.zeros(m), np.zeros(1)
        multipliers = {"mult_g": copy_array(m, lagrange), "mult_x_L": copy_array(n, zl), "mult_x_U": copy_array(n, zu)}
        outputs = [array.ctypes.data for array in (point, constraints, objective, *multipliers.values())]
        self._failures.clear()
        with keep_interrupt(self._failures):
            status = self._library.IpoptSolve(self._problem, *outputs, None)
        if self._failures:
            raise self._failures[0]
        return point, {"status": status, "x": point, "g": constraints, "obj_val": float(objective[0]), **multipliers}


def callbacks(program: Any, failures: Failures) -> list[Any]:
    """The program's functions for Ipopt, in the order of ``CreateIpoptProblem``, then the one for each iteration."""

    def objective(n: int, x: int, new: bool, value: int, _: int) -> None:
        numbers(value, 1)[:] = program.objective(numbers(x, n).copy())

    def constraints(n: int, x: int, new: bool, m: int, values: int, _: int) -> None:
        numbers(values, m)[:] = program.constraints(numbers(x, n).copy())

    def gradient(n: int, x: int, new: bool, values: int, _: int) -> None:
        numbers(values, n)[:] = program.gradient(numbers(x, n).copy())

    def jacobian(n: int, x: int, new: bool, m: int, size: int, rows: int, columns: int, values: int, _: int) -> None:
        if rows:
            write_places(program.jacobianstructure(), size, rows, columns)
        else:
            numbers(values, size)[:] = program.jacobian(numbers(x, n).copy())

    def hessian(n: int, x: int, new: bool, factor: float, m: int, multipliers: int, *rest: Any) -> None:
        _, size, rows, columns, values, _ = rest
        if rows:
            write_places(program.hessianstructure(), size, rows, columns)
        else:
            numbers(values, size)[:] = program.hessian(numbers(x, n).copy(), numbers(multipliers, m).copy(), factor)

    def intermediate(*progress: Any) -> bool:
        return bool(program.intermediate(*progress[:-1]))

    kinds = (VALUE, CONSTRAINTS, VALUE, JACOBIAN, HESSIAN, INTERMEDIATE)
    functions: list[Callable[..., bool | None]] = [objective, constraints, gradient, jacobian, hessian, intermediate]
    return [kind(guard(function, failures)) for kind, function in zip(kinds, functions, strict=True)]


def guard(function: Callable[..., bool | None], failures: Failures) -> Callable[..., bool]:
    """The function as a callback: ctypes would only print its exception, so the first is kept and False ends Ipopt."""

    def call(*arguments: Any) -> bool:
        if failures:
            return False
        try:
            return function(*arguments) is not False
        except BaseException as failure:  # noqa: BLE001  # raised again by `Problem.solve`
            failures.append(failure)
            return False

    return call


@contextmanager
def keep_interrupt(failures: Failures) -> Iterator[None]:
    """Keep what Ctrl-C raises: Python raises it at the first instruction of a callback, before any ``try`` there."""
    previous = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(previous):
        yield
        return
    handle = guard(previous, failures)
    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def numbers(address: int, size: int, kind: Any = c_double) -> Array:
    """The C array at an address, as a view; an empty one may have no address."""
    return np.frombuffer((kind * size).from_address(address), dtype=kind) if size else np.zeros(0)


def write_places(structure: tuple[Any, Any], size: int, rows: int, columns: int) -> None:
    """Tell Ipopt the rows and columns of a sparse matrix."""
    for address, places in zip((rows, columns), structure, strict=True):
        numbers(address, size, c_int)[:] = places


def copy_array(size: int, values: Array | None) -> Array:
    """A copy that Ipopt may write to, zeros without values; into another size it would write past the end."""
    array = np.zeros(size) if values is None else np.array(values, dtype=float)
    if array.shape != (size,):
        raise ValueError(f"Ipopt expects {size} numbers, got an array of shape {array.shape}")
    return array


@cache
def ipopt_library() -> CDLL:
    """The shared library with the signatures of its C interface."""
    try:
        library = CDLL(str(casadi_library()))
    except OSError as error:
        raise MissingExtraError(f"the Ipopt inside casadi cannot be loaded: {error}") from error
    bounds, functions = (c_int, c_void_p, c_void_p), (VALUE, CONSTRAINTS, VALUE, JACOBIAN, HESSIAN)
    library.CreateIpoptProblem.argtypes = [*bounds, *bounds, c_int, c_int, c_int, *functions]
    library.CreateIpoptProblem.restype = c_void_p
    library.FreeIpoptProblem.argtypes, library.FreeIpoptProblem.restype = [c_void_p], None
    for kind, value in (("Str", c_char_p), ("Num", c_double), ("Int", c_int)):
        add = getattr(library, f"AddIpopt{kind}Option")
        add.argtypes, add.restype = [c_void_p, c_char_p, value], c_bool
    library.SetIntermediateCallback.argtypes = [c_void_p, INTERMEDIATE]
    library.SetIntermediateCallback.restype = c_bool
    library.IpoptSolve.argtypes, library.IpoptSolve.restype = [c_void_p] * 8, c_int
    return library
