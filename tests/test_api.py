"""The public names: where they come from, what importing them takes, and that the types they hand out are public."""

import inspect
import re
import subprocess
import sys
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import get_args, get_type_hints

import pandas as pd
import pytest
from matplotlib.figure import Figure

import caet_opt
from caet_opt import CaetError

#: Modules that only extras bring.
EXTRAS = [
    *("cyipopt", "casadi", "flint", "matplotlib", "pyarrow", "filelock", "jinja2", "dask", "distributed"),
]

HEAVY = ["numpy", "scipy", "pandas", "numba", "cvxpy", "pyomo", "sympy", "mpmath", *EXTRAS]


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_dir_lists_each_public_name_once_and_nothing_else():
    assert dir(caet_opt) == caet_opt.__all__ == sorted(set(caet_opt.__all__))
    assert not [name for name in caet_opt.__all__ if name.startswith("_")]
    assert not hasattr(caet_opt, "no_such_name")


def test_a_star_import_needs_no_extra():
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n"
        "from caet_opt import *\n"
        "import caet_opt\n"
        "assert all(globals()[name] is getattr(caet_opt, name) for name in caet_opt.__all__)\n"
        "print(len(caet_opt.__all__), closed_forms.__name__)"
    )
    assert run_python(code) == f"{len(caet_opt.__all__)} caet_opt.proving.closed_forms\n"


@pytest.mark.parametrize("code", ["import caet_opt", "from caet_opt.cli import main; main(['--help'])"])
def test_importing_and_help_are_quick_and_import_nothing_heavy(code):
    """Quick is counted in processor time, which other work on the machine does not add to."""
    told = "import sys, time; print([name for name in {} if name in sys.modules]); print(time.process_time())"

    def seconds():
        heavy, spent = run_python(f"{code}; {told.format(HEAVY)}").splitlines()[-2:]
        assert heavy == "[]"
        return float(spent)

    assert min(seconds() for _ in range(3)) < 0.5


def public_objects():
    """Every public name with what it stands for; those of `closed_forms` are reached through it."""
    named = {name: getattr(caet_opt, name) for name in caet_opt.__all__}
    forms = caet_opt.closed_forms
    return named | {f"closed_forms.{name}": getattr(forms, name) for name in forms.__all__}


def resolved(thing):
    """The annotations of a function or a class, those that only type checkers import among them."""
    return get_type_hints(thing, vars(sys.modules[thing.__module__]) | {"pd": pd, "Figure": Figure})


def own_classes(hint):
    """The classes of this library that an annotation is made of."""
    if isinstance(hint, list):  # the arguments of a callable
        return {found for part in hint for found in own_classes(part)}
    inner = {found for part in get_args(hint) for found in own_classes(part)}
    return inner | (
        {hint} if getattr(hint, "__module__", "").startswith("caet_opt") and inspect.isclass(hint) else set()
    )


def handed_out(thing):
    """Types that a public function takes or returns; fields of a public class, and what its public methods return."""
    if inspect.isfunction(thing):
        return own_classes(list(resolved(thing).values()))
    if not inspect.isclass(thing):
        return set()
    found = own_classes([hint for name, hint in resolved(thing).items() if not name.startswith("_")])
    for name in dir(thing):
        member = inspect.getattr_static(thing, name)
        if isinstance(member, property | cached_property | classmethod | staticmethod):
            member = getattr(member, "fget", None) or getattr(member, "func", None) or member.__func__
        if not name.startswith("_") and inspect.isfunction(member) and member.__module__.startswith("caet_opt"):
            found |= own_classes(resolved(member).get("return"))
    return found


@pytest.mark.parametrize("name", public_objects())
def test_every_type_that_is_handed_out_is_public(name):
    known = [thing for thing in public_objects().values() if inspect.isclass(thing)]
    assert {found.__qualname__ for found in handed_out(public_objects()[name]) if found not in known} == set()


def test_the_walk_finds_types_wherever_they_are():
    assert handed_out(caet_opt.compare_solvers) >= {caet_opt.BanditModel, caet_opt.Task, caet_opt.Profile}
    assert caet_opt.Parameters in handed_out(caet_opt.Experiment)  # a field
    assert caet_opt.CharacteristicTime in handed_out(caet_opt.Experiment)  # a cached property


def test_what_the_library_raises_on_purpose_has_one_base():
    """Two kinds never leave the library: damage is told as `InputError`, and the checker stands alone."""
    for module in walk_packages(caet_opt.__path__, "caet_opt."):
        with suppress(ImportError):  # an extra that is not installed
            import_module(module.name)
    classes, foreign = [Exception], set()
    while classes:
        below = classes.pop().__subclasses__()
        classes += below
        own = [one for one in below if one.__module__.startswith("caet_opt.")]
        foreign |= {one.__name__ for one in own if not issubclass(one, CaetError)}
    assert foreign <= {"DamagedError", "Rejected"}


def test_scripts_of_analysis_are_no_library_of_the_tests():
    """What both need is in cases/; a test of a script runs it."""
    tests = Path(__file__).parent
    scripts = {path.stem for path in (tests.parent / "analysis").glob("*.py")}
    imported = {
        (path.name, name.split(".")[0])
        for path in tests.rglob("*.py")
        for name in re.findall(r"^\s*(?:from|import) ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(scripts) > 20
    assert ("whole_runs.py", "cases") in imported
    assert {pair for pair in imported if pair[1] in scripts | {"analysis"}} == set()
