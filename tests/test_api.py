"""The public names: what importing them takes, that types they hand out can be imported, and that all are explained."""

import re
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import caet_opt
from caet_opt import CaetError
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.runs import Experiment
from cases.public import all_handed_out, handed_out

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


@pytest.mark.parametrize(
    ("code", "most"), [("import caet_opt", 60), ("from caet_opt.cli import main; main(['--help'])", 250)]
)
def test_importing_and_help_import_little_and_nothing_heavy(code, most):
    """Modules beyond those of a bare interpreter: 28 and 154 today. Seconds are printed by `analysis/first_wait.py`."""
    told = f"import sys; print([name for name in {HEAVY} if name in sys.modules]); print(len(sys.modules))"
    heavy, modules = run_python(f"{code}; {told}").splitlines()[-2:]
    assert heavy == "[]"
    assert int(modules) - int(run_python("import sys; print(len(sys.modules))")) < most


@pytest.mark.parametrize("kind", all_handed_out(), ids=lambda kind: kind.__name__)
def test_every_type_that_is_handed_out_can_be_imported_from_its_room(kind):
    """And explains itself there; what has a name at the top level is the same thing."""
    assert not kind.__name__.startswith("_")
    assert getattr(import_module(kind.__module__), kind.__name__) is kind
    assert kind.__doc__
    assert getattr(caet_opt, kind.__name__, kind) is kind


def test_the_reference_has_every_public_name():
    """Its parts are made of the names of a room each."""
    root = Path(__file__).parents[1]
    parts = re.findall(r"^\.\. made: names (\w+)$", (root / "docs/reference/python.rst").read_text(), re.MULTILINE)
    rooms = re.findall(r"^from \.(\w+)", (root / "caet_opt/__init__.pyi").read_text(), re.MULTILINE)
    assert sorted(parts) == sorted(set(rooms))


def test_the_walk_finds_types_wherever_they_are():
    assert handed_out(caet_opt.compare_solvers) >= {caet_opt.BanditModel, caet_opt.Task, caet_opt.Profile}
    assert Parameters in handed_out(Experiment)  # a field
    assert caet_opt.CharacteristicTime in handed_out(Experiment)  # a cached property


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
