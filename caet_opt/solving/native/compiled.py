"""The kernel compiled by numba, or interpreted where compiling is not worth the wait: with the same bits."""

import gc
import marshal
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from math import exp, inf, log, log1p, nan, sqrt
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
        part = self.parts[name]
        cached = os.path.isfile(part.py_func.__code__.co_filename)
        self[name] = find_compiler().compile_unit(part.py_func, cached, is_counted(part))
        return self[name]


#: The releases of numba whose compiler `units` builds on; any other compiles by its public functions, slower.
UNIT_RELEASES = ("0.68.",)


@cache
def find_compiler() -> ModuleType:
    """The module that compiles, for the release of numba that is here."""
    import numba

    from caet_opt.solving.native import plain

    if not numba.__version__.startswith(UNIT_RELEASES):
        return plain
    from caet_opt.solving.native import units

    return units


def is_counted(part: Any) -> bool:
    """Whether numba counts who holds the arrays of a function."""
    return bool(part.targetoptions.get("_nrt", True))


def list_functions(*modules: ModuleType) -> Sources:
    """Every function of the modules, each one after those that it calls."""
    functions: dict[str, FunctionType] = {}
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                check_alone(value, functions.get(name))
                functions[name] = value
    listed: dict[str, FunctionType] = {}

    def add(name: str) -> None:
        for used in functions[name].__code__.co_names:
            if used in functions and used not in listed:
                add(used)
        listed[name] = functions[name]

    for name in functions:
        add(name)
    return tuple(listed.values())


def check_alone(function: Callable[..., Any], other: Callable[..., Any] | None) -> None:
    """Raise `ValueError` for two functions of one name: compiled functions call each other by their names."""
    if other is not None and other.__code__ is not function.__code__:
        raise ValueError(
            f"{function.__module__} and {other.__module__} both have a function {function.__name__!r}, and compiled "
            "functions call each other by name; name one of them otherwise"
        )


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

#: Nothing that stands in place of a function.
NO_FORMULAS: Mapping[str, Any] = {}

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
    compile_part = find_compiler().compile_part
    parts = dict(known.parts) if known is not None else {}
    mark = fingerprint((*(part.py_func for part in parts.values()), *sources), inlined | finite)
    for source in sources:
        copy = rebind(source, parts)
        copy.__qualname__ += f"_{mark}"
        counted = owns_arrays(source, parts)
        name = source.__name__
        check_alone(source, parts[name].py_func if name in parts else None)
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
    return not (ours and numbers) or "np" in names or any(map(is_counted, called))


def fingerprint(sources: Sources, inlined: frozenset[str] = frozenset()) -> str:
    """A name for this version of all the functions, of their constants and of how they are compiled: numba's cache
    would notice a change in a function, not in its callees, nor in whether indices are checked."""
    ways = [find_compiler().__name__, "sealed", "nogil", "nrt", os.environ.get("NUMBA_BOUNDSCHECK", "")]
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
def interpreted_kernel(family: type[Family]) -> "Interpreted":
    """The kernel as it is, on a shipped family or on a user's own."""
    return interpret(KERNEL, family)


def interpret(sources: Sources, family: type[Family], formulas: Mapping[str, Any] = NO_FORMULAS) -> "Interpreted":
    """The functions as they are, calling each other, callees first, with the formulas of a family and those given."""
    functions: Kernel = {**IEEE, **({} if family in FAMILY_CODES else foreign_formulas(family)), **formulas}
    for source in sources:
        if source.__name__ not in functions:
            functions[source.__name__] = rebind(source, functions)
    return Interpreted(functions)


class Interpreted(dict[str, Callable[..., Any]]):
    """Interpreted functions by name, those that Python asks for, and as parts of each other all of them."""

    def __init__(self, parts: Kernel) -> None:
        super().__init__()
        self.parts = parts

    def __missing__(self, name: str) -> Any:
        part = self.parts[name]

        def call(*arguments: Any) -> Any:
            with np.errstate(all="ignore"):  # numpy would warn of what compiled code does without a word
                found = part(*arguments)
            return tuple(map(as_python, found)) if type(found) is tuple else as_python(found)

        self[name] = call
        return call


def as_python(value: Any) -> Any:
    """A number as compiled code returns it; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def foreign_formulas(family: type[Family]) -> Kernel:
    """What stands in `divergences` for the shipped families, of a user's own."""

    def mixture_divergence(
        code: int, x: float, other: float, share: float, other_share: float, rest: float, other_rest: float
    ) -> float:
        return np.float64(family.mixture_divergence(x, other, share, other_share, rest, other_rest))

    def variance(code: int, mean: float) -> float:
        return np.float64(family.unit_variance(mean))

    return {"mixture_divergence": mixture_divergence, "variance": variance}


def ieee(function: Callable[[float], float], at_zero: float) -> Callable[[float], float]:
    """A function of the mathematical library that returns what compiled code does where Python raises an error."""

    def evaluate(x: float) -> float:
        try:
            return np.float64(function(x))
        except OverflowError:
            return np.float64(inf)
        except ValueError:
            return np.float64(at_zero if x == 0.0 else nan)

    return evaluate


#: What interpreted code calls in place of Python's own. They are the same functions of the C library, whose last bits
#: numpy's have not, but return numpy's numbers, so that a division by zero further on is infinite as in compiled code.
IEEE: Kernel = {
    "log": ieee(log, -inf),
    "exp": ieee(exp, nan),
    "sqrt": ieee(sqrt, nan),
    "log1p": ieee(lambda x: log1p(x) if x != -1.0 else -inf, nan),
    "float": np.float64,
}


def rebind(source: Callable[..., Any], functions: Kernel) -> FunctionType:
    """A copy of a function that calls the given ones instead of those of its module."""
    assert isinstance(source, FunctionType)
    copy = FunctionType(source.__code__, {**source.__globals__, **functions}, source.__name__)
    copy.__module__, copy.__qualname__ = source.__module__, source.__qualname__
    return copy
