"""A formula to be verified: a function of a model and a task, and the instances on which it must hold.

It is a closed form, a user's function, or one in a user's file.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import sympy
from mpmath import isfinite as is_finite_mpf
from mpmath import mp, mpf

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.errors import CaetError, InputError
from caet_opt.proving.closed_forms import ClosedForm
from caet_opt.proving.closed_forms.base import as_fraction
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.problem import read_task
from caet_opt.solving.result import normalise

Instance = tuple[BanditModel, Task]

#: Relative error that a formula in double precision may have from its own rounding.
DOUBLE_ROUNDING = Fraction(1, 10**12)

#: Digits beyond those in question, at which a formula in higher precision is evaluated.
GUARD_DIGITS = 10


@dataclass(frozen=True)
class Value:
    """What a formula says: a number, None where it is not finite, and the relative rounding to allow for.

    ``double`` tells whether it is known in double precision only.
    """

    number: Fraction | None
    rounding: Fraction
    double: bool


@dataclass(frozen=True)
class Formula:
    """A formula with its instances.

    Attributes
    ----------
    value : T* of a model, a task and so many digits, of the numbers as given if the last argument is true, else of
        the doubles that stand for them
    proportions : u* of a model and a task, where the formula states it
    """

    name: str
    instances: tuple[Instance, ...]
    value: Callable[[BanditModel, Task, int, bool], Value]
    proportions: Callable[[BanditModel, Task], Array] | None = None


def wrap_closed_form(form: ClosedForm, instances: int, seed: int) -> Formula:
    """A closed form on random instances; instance i depends on the seed and on i only."""
    value = partial(value_of_form, form)
    return Formula(form.name, draw_many(form.draw, instances, seed), value, form.sampling_proportions)


def value_of_form(form: ClosedForm, model: BanditModel, task: Task, digits: int, exact: bool) -> Value:
    """What a closed form says; a function of a module, so that a spawned process can be sent it."""
    number = form.decimal_time(model, task, digits + GUARD_DIGITS, exact=exact)
    return Value(Fraction(number), rounding_at(digits), double=False)


def wrap_function(
    name: str,
    function: Callable[[BanditModel, Task], Any],
    instances: Iterable[Instance],
    proportions: Callable[[BanditModel, Task], Any] | None = None,
) -> Formula:
    """A user's function, called at a working precision of mpmath that suits the digits in question."""

    def value(model: BanditModel, task: Task, digits: int, exact: bool) -> Value:
        if not exact:  # the same model given by its doubles, which are then its exact numbers
            means, costs = list(map(Fraction, model.means)), list(map(Fraction, model.costs))
            model = BanditModel(model.family, means, costs, model.arms)
        with mp.workdps(digits + GUARD_DIGITS):
            return read_value(call(function, model, task), digits)

    def shares(model: BanditModel, task: Task) -> Array:
        return read_proportions(call(proportions, model, task), len(model.means))

    checked = tuple(check_instance(instance, position) for position, instance in enumerate(instances))
    if not checked:
        raise InputError(f"{name}: there is no instance to verify the formula on")
    return Formula(name, checked, value, None if proportions is None else shares)


def draw_many(draw: Callable[[np.random.Generator], Instance], instances: int, seed: int) -> tuple[Instance, ...]:
    """So many random instances, each from its own stream of random numbers."""
    return tuple(
        draw(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(position,))))
        for position in range(instances)
    )


def call(function: Callable[..., Any] | None, *arguments: Any) -> Any:
    """The result of a user's function; an error in it is an `InputError` that names it."""
    assert function is not None
    try:
        return function(*arguments)
    except CaetError:
        raise
    except (Exception, SystemExit) as error:
        name = getattr(function, "__name__", "the function")
        raise InputError(f"{name} failed: {type(error).__name__}: {error}") from error


def check_instance(instance: Any, position: int) -> Instance:
    """A model and a task, the latter perhaps in the grammar."""
    if not isinstance(instance, tuple | list) or len(instance) != 2 or not isinstance(instance[0], BanditModel):
        raise InputError(f"instance {position} must be a pair (BanditModel, task), got {instance!r}")
    model, task = instance
    if not isinstance(task, Task | str):
        raise InputError(f"the task of instance {position} must be a task such as Ranking() or 'ranking', got {task!r}")
    task = read_task(task, model)
    task.check(len(model.means))
    return model, task


def read_value(result: Any, digits: int) -> Value:
    """A number that a function returned: double precision for a float, so many digits for one of mpmath or SymPy."""
    double = isinstance(result, float | np.floating)
    return Value(
        as_exact(float(result) if double else result), DOUBLE_ROUNDING if double else rounding_at(digits), double
    )


def as_exact(number: Any) -> Fraction | None:
    """The rational number that a number of any kind is; None where it is not finite or not real."""
    if isinstance(number, sympy.Expr) and number.is_number:
        number = number.evalf(mp.dps)
        return as_fraction(mpf(str(number))) if number.is_Float or number.is_Rational else None
    if isinstance(number, mpf):
        return as_fraction(number) if is_finite_mpf(number) else None
    try:
        return Fraction(number)
    except (OverflowError, ValueError):  # infinite, or not a number
        return None
    except TypeError:
        raise InputError(f"characteristic_time must return a number, got {number!r}") from None


def read_proportions(shares: Any, arms: int) -> Array:
    """Proportions that a function returned."""
    try:
        proportions = np.array(shares, dtype=float)
    except (TypeError, ValueError):
        proportions = np.zeros(0)
    if proportions.shape != (arms,) or not np.all(np.isfinite(proportions)) or np.any(proportions < 0):
        raise InputError(f"sampling_proportions must return one number, zero or more, per arm, got {shares!r}")
    return normalise(proportions)


def rounding_at(digits: int) -> Fraction:
    """Relative rounding of a number that is evaluated with guard digits."""
    return Fraction(1, 10 ** (digits + GUARD_DIGITS - 2))


def read_formula(path: str | Path, instances: int, seed: int) -> Formula:
    """The formula of a file that defines ``characteristic_time(model, task)`` and ``draw(rng)`` or ``INSTANCES``.

    ``sampling_proportions(model, task)`` is verified too where it is defined. Every instance of a list is used.
    """
    module = load_module(Path(path))
    try:
        function = find_function(module, "characteristic_time")
        if hasattr(module, "INSTANCES"):
            drawn = module.INSTANCES
            if not isinstance(drawn, list | tuple):
                raise InputError(f"INSTANCES must be a list of pairs (model, task), got {drawn!r}")
        else:
            draw = find_function(module, "draw", "draw(rng), or a list INSTANCES, of a pair (model, task)")
            drawn = draw_many(lambda rng: call(draw, rng), instances, seed)
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
    """A function of the file; the library's own `characteristic_time`, which a file may import, does not count."""
    function = getattr(module, name, None)
    if not callable(function) or function is characteristic_time:
        raise InputError(f"the file must define {usage or f'the function {name}(model, task)'}")
    return function
