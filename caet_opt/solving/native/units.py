"""One unit of machine code for a function that Python calls and all that it calls.

Numba gives every function a library of its own: optimised, made machine code and wrapped for Python, with a copy of
what it calls, although one function in forty is ever called from Python. Here a function that compiled code calls is a
part: its intermediate code is kept as it is. A function that Python calls is a unit: it takes in its parts, which then
belong to it alone, so that LLVM inlines where it pays, and all are optimised and made machine code once.
"""

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from multiprocessing import parent_process
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering
from numba.core.types.misc import unliteral

# mypy: disable-error-code="misc"
# numba has no types

#: How every function is compiled: indices and divisions as numpy has them, and other threads run meanwhile.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}


def compile_part(function: Callable[..., Any], inlined: bool, counted: bool, finite: bool) -> Any:
    """A function for compiled code to call, inlined by numba, or by LLVM where it pays; Python cannot call it.

    ``counted`` says whether numba counts who holds its arrays, ``finite`` whether it meets no NaN.
    """
    options = {"nopython": True, "no_cpython_wrapper": True, "_nrt": counted, **OPTIONS}
    options |= {"inline": "always" if inlined else "never", "fastmath": {"nnan", "nsz"} if finite else False}
    return Part(function, targetoptions=options, pipeline_class=PartCompiler)


def compile_unit(function: Callable[..., Any], cached: bool, counted: bool) -> Any:
    """A function for Python to call, compiled when it is first called, and kept on disk with all its parts."""
    unit = numba.njit(pipeline_class=UnitCompiler, _nrt=counted, **OPTIONS)(function)
    if cached:
        keep_on_disk(unit)
    return unit


def keep_on_disk(unit: Any) -> None:
    """Have numba look for a unit on disk, and keep it there, where it finds a folder for it."""
    try:
        unit._cache = CarefulCache(unit.py_func)
    except RuntimeError as error:  # numba has tried every folder that it knows
        beside = os.path.join(os.path.dirname(unit.py_func.__code__.co_filename), "__pycache__")
        tell_of_cache(numba.config.CACHE_DIR or beside, f"no file can be written there ({type(error).__name__})")


#: Whether this process has said that numba's cache cannot be used.
_told = False


def tell_of_cache(folder: str, why: str) -> None:
    """Say once, and not in every worker process, that something is compiled which numba's cache should have."""
    global _told
    if not _told and parent_process() is None:
        print(f"caet-opt: numba's cache in {folder}: {why}; compiled without it", file=sys.stderr)
    _told = True


class DamagedError(Exception):
    """A file of the cache is not as it was written."""


class SealedFile(IndexDataCacheFile):
    """Numba's files on disk, each with the SHA-256 of its bytes before them: numba itself runs whatever it finds."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
        content = BytesIO()
        yield content
        with super()._open_for_write(filepath) as sink:
            sink.write(sha256(content.getvalue()).digest() + content.getvalue())

    def _read(self, path: str) -> BytesIO:
        """What was written; `DamagedError` for anything else."""
        with open(path, "rb") as source:
            seal, content = source.read(sha256().digest_size), source.read()
        if sha256(content).digest() != seal:
            raise DamagedError(os.path.basename(path))
        return BytesIO(content)

    def _load_index(self) -> dict[Any, str]:
        try:
            source = self._read(self._index_path)
        except FileNotFoundError:
            return {}
        if pickle.load(source) != self._version:
            return {}
        stamp, overloads = pickle.load(source)
        return dict(overloads) if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.load(self._read(self._data_path(name)))


class CarefulCache(FunctionCache):
    """Numba's cache of a function: what cannot be read is compiled, what cannot be written is compiled each time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = SealedFile(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except DamagedError as error:
            tell_of_cache(self._cache_path, f"{error} is damaged")
            with self._given_up():
                self.flush()  # an index that can be read, for what is saved after it
        except OSError as error:
            self._give_up(error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with self._given_up():
            super().save_overload(sig, data)

    @contextmanager
    def _given_up(self) -> Iterator[None]:
        """What the system refuses is no longer tried."""
        try:
            yield
        except (OSError, DamagedError) as error:  # damaged by another process since it was read
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        tell_of_cache(self._cache_path, getattr(error, "strerror", None) or f"{error} is damaged")
        self.disable()


class Part(CPUDispatcher):
    """A function that is compiled once for any number or truth value, where numba compiles it for each constant."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(unliteral, args)), {key: unliteral(kws[key]) for key in kws})


class QuickFlags(Flags):
    """Numba's flags, which are a key in every look-up of a function's type: compared by what is set.

    Numba compares all fifty options, set or not, which is a tenth of the time to compile.
    """

    def __hash__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuickFlags) and bool(self._values == other._values)


class PartLibrary(JITCodeLibrary):
    """Intermediate code of a part and of what it calls; no machine code."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class UnitLibrary(JITCodeLibrary):
    """Machine code of a function and of what it calls, which nothing else calls."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "linkonce_odr":
                function.linkage = "internal"
        super()._optimize_final_module()


@register_pass(mutates_CFG=False, analysis_only=False)
class OfferPart(LoweringPass):
    """Tell numba that compiled code can call a part, as it does itself for what has machine code."""

    _name = "caet_opt_offer_part"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        key = list[None]().remove  # numba wants a built-in like no other; this one raises whatever it is called with
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = state.cr._replace(cfunc=key)
        return True


class UnitCompiler(CompilerBase):
    """Numba's compiler for a unit."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = QuickFlags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = UnitLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class PartCompiler(UnitCompiler):
    """Numba's compiler for a part."""

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.flags.no_compile = True
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        passes = DefaultPassBuilder.define_nopython_pipeline(state)
        passes.add_pass_after(OfferPart, NativeLowering)
        passes.finalize()
        return [passes]
