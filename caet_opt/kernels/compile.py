"""Functions in the subset of Python that numba compiles: found in their modules, compiled together, kept on disk."""

import gc
import marshal
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from types import FunctionType, ModuleType
from typing import Any, get_args

Kernel = dict[str, Callable[..., Any]]


Sources = tuple[Callable[..., Any], ...]

#: Every function is compiled as it is.
NOTHING_ELSE: Mapping[str, Callable[..., Any]] = {}


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

    from caet_opt.kernels import plain

    if not numba.__version__.startswith(UNIT_RELEASES):
        return plain
    from caet_opt.kernels import units

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
            "functions call each other by name; rename one of them"
        )


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
    instead: Mapping[str, Callable[..., Any]] = NOTHING_ELSE,
) -> Compiled:
    """The functions under numba, calling each other and the known ones; callees come first. They let other threads run.

    In place of a function another one may be compiled: ``instead`` has it by the name of the first.

    LLVM inlines where it pays, and what is ``inlined`` wherever it is called. (Numba could inline, too: it copies the
    callee with every block, which takes a sixth of the time to compile a run.) Those that are ``finite`` meet no NaN.
    Numba keeps on disk what comes from a file: what was typed into an interpreter is compiled in each process.
    """
    compile_part, built_in = find_compiler().compile_part, find_compiler().BUILT_IN
    parts = dict(known.parts) if known is not None else {}
    named = {source.__name__: instead.get(source.__name__, source) for source in sources}
    mark = fingerprint((*(part.py_func for part in parts.values()), *named.values()), inlined | finite)
    for name, source in named.items():
        if name in built_in:
            continue
        copy = rebind(source, {**parts, **built_in})
        copy.__qualname__ += f"_{mark}"
        counted = owns_arrays(source, parts)
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
    ways = [find_compiler().__name__, "forceinline", "sealed", "nogil", "nrt", os.environ.get("NUMBA_BOUNDSCHECK", "")]
    digest = sha256(" ".join([*sorted(inlined), *ways]).encode())
    for function in sources:
        assert isinstance(function, FunctionType)
        used = [function.__globals__.get(name) for name in function.__code__.co_names]
        digest.update(marshal.dumps(function.__code__, 2))
        digest.update(repr([value for value in used if isinstance(value, int | float)]).encode())
    return digest.hexdigest()[:12]


def rebind(source: Callable[..., Any], functions: Kernel) -> FunctionType:
    """A copy of a function that calls the given ones instead of those of its module."""
    assert isinstance(source, FunctionType)
    copy = FunctionType(source.__code__, {**source.__globals__, **functions}, source.__name__)
    copy.__module__, copy.__qualname__ = source.__module__, source.__qualname__
    return copy
