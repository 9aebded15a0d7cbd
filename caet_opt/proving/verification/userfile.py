"""A user's formula in a Python file."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from caet_opt.errors import InputError
from caet_opt.proving.verification.formula import Formula, call, draw_many, wrap_function
from caet_opt.solving.characteristic import characteristic_time


def read_formula(path: str | Path, instances: int, seed: int) -> Formula:
    """The formula of a file that defines ``characteristic_time(model, task)`` and ``draw(rng)`` or ``INSTANCES``.

    ``sampling_proportions(model, task)`` is verified too where it is defined. Every instance of a list is used.
    """
    module = load_module(Path(path))
    try:
        function = find_function(module, "characteristic_time")
        if hasattr(module, "INSTANCES"):
            drawn = read_instances(module.INSTANCES)
        else:
            draw = find_function(module, "draw", "draw(rng), or a list INSTANCES, of a pair (model, task)")
            drawn = list(draw_many(lambda rng: call(draw, rng), instances, seed))
        proportions = find_function(module, "sampling_proportions") if hasattr(module, "sampling_proportions") else None
        return wrap_function(Path(path).stem, function, drawn, proportions)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def load_module(path: Path) -> ModuleType:
    """Run the file as a module; whatever is wrong with it is an `InputError` of one line."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file; its name must end in .py")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"{path}: line {error.lineno} is not valid Python: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise InputError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from error
    return module


def find_function(module: ModuleType, name: str, usage: str | None = None) -> Any:
    """A function of the file; the solver of the same name, imported with everything else, is none."""
    function = getattr(module, name, None)
    if not callable(function) or function is characteristic_time:
        raise InputError(f"the file must define {usage or f'the function {name}(model, task)'}")
    return function


def read_instances(instances: Any) -> list[Any]:
    """The listed instances; what is in them is checked with the formula."""
    if not isinstance(instances, list | tuple):
        raise InputError(f"INSTANCES must be a list of pairs (model, task), got {instances!r}")
    return list(instances)
