"""One unit of machine code for a function that Python calls and all that it calls.

Numba gives every function a library of its own: optimised, made machine code and wrapped for Python, with a copy of
what it calls, although one function in forty is ever called from Python. Here a function that compiled code calls is a
part: its intermediate code is kept as it is. A function that Python calls is a unit: it takes in its parts, which then
belong to it alone, so that LLVM inlines where it pays, and all are optimised and made machine code once.
"""

from collections.abc import Callable
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering
from numba.core.types.misc import unliteral

from caet_opt.kernels.careful_cache import keep_on_disk
from caet_opt.kernels.plain import BUILT_IN as BUILT_IN
from caet_opt.kernels.plain import OPTIONS as PLAIN

# mypy: disable-error-code="misc"
# numba has no types

#: How every function is compiled: as by `plain`, without a wrapper for C.
OPTIONS: dict[str, Any] = {**PLAIN, "no_cfunc_wrapper": True}


def compile_part(function: Callable[..., Any], inlined: bool, counted: bool, finite: bool) -> Any:
    """A function for compiled code to call, which LLVM inlines if told to, else where it pays; Python cannot call it.

    ``counted`` says whether numba counts who holds its arrays, ``finite`` whether it meets no NaN.
    """
    options = {"nopython": True, "no_cpython_wrapper": True, "_nrt": counted, **OPTIONS}
    options |= {"forceinline": inlined, "fastmath": {"nnan", "nsz"} if finite else False}
    return Part(function, targetoptions=options, pipeline_class=PartCompiler)


def compile_unit(function: Callable[..., Any], cached: bool, counted: bool) -> Any:
    """A function for Python to call, compiled when it is first called, and kept on disk with all its parts."""
    unit = numba.njit(pipeline_class=UnitCompiler, _nrt=counted, **OPTIONS)(function)
    if cached:
        keep_on_disk(unit)
    return unit


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
    """Intermediate code of a part; no machine code. What it calls is linked once, by the unit, not by each caller."""

    def finalize(self) -> None:
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalized = True


class UnitLibrary(JITCodeLibrary):
    """Machine code of a function and of all that it calls, which nothing else calls."""

    def finalize(self) -> None:
        self._linking_libraries = callers_first(self)
        super().finalize()

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "linkonce_odr":
                function.linkage = "internal"
        super()._optimize_final_module()


def callers_first(unit: UnitLibrary) -> list[JITCodeLibrary]:
    """All that a unit and its parts call, each after whatever calls it: of what nothing has called so far, LLVM links
    nothing, and a call in a branch that is never taken is gone by then."""
    callees_first: dict[JITCodeLibrary, None] = {}

    def visit(library: JITCodeLibrary) -> None:
        for called in library._linking_libraries if library is unit or isinstance(library, PartLibrary) else ():
            if called not in callees_first:
                visit(called)
        callees_first[library] = None

    visit(unit)
    return list(callees_first)[-2::-1]


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
