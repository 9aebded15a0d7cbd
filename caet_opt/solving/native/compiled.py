"""The kernel compiled by numba, or interpreted where compiling is not worth the wait."""

import gc
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from math import inf
from types import FunctionType, ModuleType
from typing import Any, get_args

import numpy as np

from caet_opt.bandits.families import Bernoulli, Exponential, Family, Gamma, Gaussian, Geometric, Poisson, scalar
from caet_opt.bandits.model import Arrays, BanditModel
from caet_opt.solving.native import bounds, divergences, factor, instance, interior, records, terms
from caet_opt.solving.native.elimination import columns, integers, pack_shape, plan_elimination

Kernel = dict[str, Callable[..., Any]]
Sources = tuple[Callable[..., Any], ...]


class Compiled(dict[str, Callable[..., Any]]):
    """Compiled functions by name, those that Python asks for, and as parts of each other all of them.

    A function is compiled with all that it calls when it is first called, or found on disk.
    """

    def __init__(self, parts: dict[str, Any]) -> None:
        super().__init__()
        self.parts = parts

    def __missing__(self, name: str) -> Any:
        from caet_opt.solving.native.units import compile_unit

        part = self.parts[name]
        cached = os.path.isfile(part.py_func.__code__.co_filename)
        self[name] = compile_unit(part.py_func, cached, part.targetoptions["_nrt"])
        return self[name]


def list_functions(*modules: ModuleType) -> Sources:
    """Every function of the modules, each one after those that it calls."""
    functions = {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    }
    listed: dict[str, FunctionType] = {}

    def add(name: str) -> None:
        for used in functions[name].__code__.co_names:
            if used in functions and used not in listed:
                add(used)
        listed[name] = functions[name]

    for name in functions:
        add(name)
    return tuple(listed.values())


#: Every function of the kernel, callees first.
KERNEL = list_functions(scalar, divergences, records, terms, factor, interior, bounds, instance)

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

_spent = 0.0
_compiled: Compiled | None = None
_interpreting: ContextVar[bool] = ContextVar("interpreting", default=False)


def kernel_for(family: type[Family], edges: int) -> Kernel:
    """The compiled kernel where it is at hand or worth the wait, else the interpreted one."""
    global _spent
    if family in FAMILY_CODES and _compiled is None and not _interpreting.get():
        _spent += SECONDS_PER_EDGE * max(edges, 4)
        if _spent >= INTERPRETED_BUDGET:
            return compiled_kernel()
    return present_kernel(family)


def present_kernel(family: type[Family]) -> Kernel:
    """The compiled kernel if this process has it, else the interpreted one: for what is not worth compiling."""
    if family not in FAMILY_CODES:
        return foreign_kernel(family)
    return loaded_kernel() or {function.__name__: function for function in KERNEL}


@contextmanager
def interpreted() -> Iterator[None]:
    """Solve one problem at a time without compiled code: the same digits in every process, and nobody who holds a lock
    waits for a compiler."""
    before = _interpreting.set(True)
    try:
        yield
    finally:
        _interpreting.reset(before)


def loaded_kernel() -> Kernel | None:
    """The compiled kernel if this process has it, and is to use it."""
    return None if _interpreting.get() else _compiled


def kernel_for_many(family: type[Family], edges: int, problems: int) -> Kernel | None:
    """The compiled kernel where it is at hand, or worth the wait for so many problems by themselves."""
    if family not in FAMILY_CODES:
        return None
    seconds = SECONDS_PER_EDGE * max(edges, 4) * problems
    return compiled_kernel() if seconds >= INTERPRETED_BUDGET else _compiled


def compiled_kernel() -> Compiled:
    """The kernel for the shipped families: from numba's cache on disk, or compiled now, which is said once."""
    global _compiled
    if _compiled is None:
        with announce_compiling("the native solver"):
            functions = compile_functions(KERNEL)
            exercise(functions)
            _compiled = functions
    return _compiled


@contextmanager
def announce_compiling(what: str) -> Iterator[None]:
    """Say that something is being compiled, at the first function that numba's cache on disk does not have.

    Numba makes millions of objects that stay; looking for garbage among them would take a tenth of the time.
    """
    from numba.core import event

    class Notice(event.Listener):  # type: ignore[misc]  # numba has no types
        told = False

        def on_start(self, event: Any) -> None:
            if not self.told:
                print(f"caet-opt: compiling {what}, once ...", file=sys.stderr)
            self.told = True

        def on_end(self, event: Any) -> None:
            """The notice is not taken back."""

    collecting = gc.isenabled()
    gc.disable()
    try:
        with event.install_listener("numba:compile", Notice()):
            yield
    finally:
        if collecting:
            gc.enable()


def compile_functions(
    sources: Sources,
    known: Compiled | None = None,
    inlined: frozenset[str] = frozenset(),
    finite: frozenset[str] = frozenset(),
) -> Compiled:
    """The functions under numba, calling each other and the known ones; callees come first. They let other threads run.

    LLVM inlines where it pays; numba itself what is ``inlined``, wherever it is called, before it knows any types.
    Those that are ``finite`` meet no NaN.
    Numba keeps on disk what comes from a file: what was typed into an interpreter is compiled in each process.
    """
    from caet_opt.solving.native.units import compile_part

    parts = dict(known.parts) if known is not None else {}
    mark = fingerprint((*(part.py_func for part in parts.values()), *sources), inlined | finite)
    for source in sources:
        copy = rebind(source, parts)
        copy.__qualname__ += f"_{mark}"
        counted = owns_arrays(source, parts)
        name = source.__name__
        parts[name] = compile_part(copy, name in inlined, counted, name in finite)
    return Compiled(parts)


def owns_arrays(source: Callable[..., Any], known: dict[str, Any]) -> bool:
    """Whether a function may make or return arrays, or calls one that may: then numba has to count who holds them.

    It counts in every function unless told not to, by locked instructions, which takes longer than solving for three
    arms. Functions of ours that return numbers and do not name numpy only read and write arrays of their callers, which
    hold them meanwhile. One that makes an array all the same does not compile.
    """
    assert isinstance(source, FunctionType)
    names, found = source.__code__.co_names, source.__annotations__.get("return", Any)
    numbers = all(kind in (None, bool, int, float) for kind in get_args(found) or (found,))
    ours = str(source.__module__).partition(".")[0] == __name__.partition(".")[0]
    called = (known[name] for name in names if name in known)
    return not (ours and numbers) or "np" in names or any(other.targetoptions["_nrt"] for other in called)


def fingerprint(sources: Sources, inlined: frozenset[str] = frozenset()) -> str:
    """A name for this version of all the functions, of their constants and of how they are compiled: numba's cache
    would notice a change in a function, not in its callees, nor in whether indices are checked."""
    ways = ["units", "sealed", "nogil", "nrt", os.environ.get("NUMBA_BOUNDSCHECK", "")]
    digest = sha256(" ".join([*sorted(inlined), *ways]).encode())
    for function in sources:
        assert isinstance(function, FunctionType)
        used = [function.__globals__.get(name) for name in function.__code__.co_names]
        digest.update(marshal.dumps(function.__code__, 2))
        digest.update(repr([value for value in used if isinstance(value, int | float)]).encode())
    return digest.hexdigest()[:12]


def exercise(functions: Kernel) -> None:
    """Solve for two arms: numba compiles a function when it is first called."""
    pair = integers([[0], [1]])
    layout = instance.Layout(integers([0, 1]), pair, integers([0]), columns([], 3), pair)
    given = records.ModelNumbers(0, 0.0, -inf, inf, np.array([1.0, 0.0]), np.zeros(2), np.ones(2), np.ones(2))
    packed = pack_shape(layout, plan_elimination(2, ((0, 1),)))
    functions["solve_instance"](np.array(given[4:]), packed, *given[:4], np.ones(2), np.ones(1), False, 1e-9, 1e-9, 50)


def model_numbers(model: BanditModel) -> records.ModelNumbers:
    """A model as the kernel reads it."""
    return family_numbers(type(model.family), Arrays(*model.kernel_numbers))


def family_numbers(family: type[Family], arrays: Arrays) -> records.ModelNumbers:
    """Numbers by arm with what the kernel needs to know of their family."""
    return records.ModelNumbers(*family_facts(family), *arrays)


def family_facts(family: type[Family]) -> tuple[int, float, float, float]:
    """What the kernel needs to know of a family: its code, the error of its divergences, the ends of its means."""
    low, high, *_ = family.mean_space
    return FAMILY_CODES.get(family, -1), float(family.divergence_error), float(low), float(high)


@cache
def foreign_kernel(family: type[Family]) -> Kernel:
    """The interpreted kernel on a user's own family."""

    def mixture_divergence(
        code: int, x: float, other: float, share: float, other_share: float, rest: float, other_rest: float
    ) -> float:
        return float(family.mixture_divergence(x, other, share, other_share, rest, other_rest))

    def variance(code: int, mean: float) -> float:
        return float(family.unit_variance(mean))

    functions: Kernel = {"mixture_divergence": mixture_divergence, "variance": variance}
    for source in KERNEL:
        if source.__name__ not in functions:
            functions[source.__name__] = rebind(source, functions)
    return functions


def rebind(source: Callable[..., Any], functions: Kernel) -> FunctionType:
    """A copy of a function that calls the given ones instead of those of its module."""
    assert isinstance(source, FunctionType)
    copy = FunctionType(source.__code__, {**source.__globals__, **functions}, source.__name__)
    copy.__module__, copy.__qualname__ = source.__module__, source.__qualname__
    return copy
