"""Who provides Ipopt, and the stand-in for cyipopt that calls Ipopt's C interface.

The stand-in is tested with the library inside casadi where that is installed, else with the one inside cyipopt's
wheels, which has the same C interface: so `make test` covers it on every Python, without the 277 MB of casadi where the
extra ``ipopt`` does not bring it.
"""

import signal
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import process_time

import numpy as np
import pytest

from caet_opt import BanditModel, Gaussian, Profile, SolverError, characteristic_time, read_model
from caet_opt.cli import main
from caet_opt.solving.backends import casadi_ipopt, ipopt
from caet_opt.solving.backends.casadi_ipopt import Problem, keep_interrupt
from caet_opt.solving.ipopt_provider import casadi_library, module_folder
from caet_opt.solving.programs.nonlinear import NonlinearProgram

MODELS = sorted((Path(__file__).resolve().parents[2] / "models").glob("*.toml"))
TWO = ["solve", "--family", "gaussian", "--means", "1,0", "--costs", "1,1", "--task", "best-arm"]
MODEL = BanditModel(Gaussian(), [3.0, 4.0, 2.0], [1.0, 2.0, 1.0])


def wheels_library():
    """Ipopt's library of cyipopt's wheels, which lies beside the package on Linux and inside it on macOS."""
    folder = module_folder("cyipopt")
    if folder is None:
        return None
    import_module("cyipopt")  # loads what the library links to
    places = folder.parent / "cyipopt_wheels.libs", folder / ".dylibs"
    return next((path for place in places for path in sorted(place.glob("libipopt*"))), None)


@cache
def by_cyipopt(path, solver):
    """Iterations of a cold and of a warm start, and T*, by cyipopt itself."""
    return solved_twice(path, solver)


def solved_twice(path, solver):
    entry = read_model(path)
    cold = characteristic_time(entry.model, entry.task, solver=solver)
    warm = characteristic_time(entry.model, entry.task, solver=solver, warm_start=cold)
    return cold.iterations, warm.iterations, cold.value


@pytest.fixture
def stand_in(monkeypatch):
    """Every solve by the stand-in."""
    path = casadi_library() or wheels_library()
    if path is None:
        pytest.skip("no shared library of Ipopt in casadi or in cyipopt's wheels (extra: ipopt)")
    use_library(monkeypatch, path)


@pytest.fixture(params=["cyipopt", "stand-in"])
def provider(request):
    """Every solve by cyipopt, then by the stand-in."""
    if request.param == "stand-in":
        request.getfixturevalue("stand_in")
    else:
        pytest.importorskip("cyipopt", reason="the extra ipopt brings no cyipopt from Python 3.14 on")


def use_library(monkeypatch, path):
    monkeypatch.setattr(casadi_ipopt, "ipopt_library", cache(casadi_ipopt.ipopt_library.__wrapped__))
    monkeypatch.setattr(casadi_ipopt, "casadi_library", lambda: path)
    monkeypatch.setattr(ipopt, "ipopt_module", lambda: "casadi")
    assert ipopt.ipopt_problem_class() is Problem


# the stand-in


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("solver", ["ipopt", "pyomo"])
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_stand_in_certifies_every_model(path, solver, monkeypatch):
    entry = read_model(path)
    if solver == "pyomo" and entry.model.distributions is not None:
        pytest.skip("rewards in a range have no formula for Pyomo")
    cold, warm, value = solved_twice(path, solver)
    native = characteristic_time(entry.model, entry.task)
    assert native.lower <= value * (1 + 1e-13)
    assert value <= native.upper * (1 + 1e-13)
    assert warm < cold or native.value == 0
    if module_folder("cyipopt") is not None:
        monkeypatch.undo()
        assert (cold, warm) == by_cyipopt(path, solver)[:2]


@pytest.mark.usefixtures("stand_in")
def test_multipliers_of_the_bounds_are_taken_and_given():
    """``min x + y`` on ``x >= 1, y >= 2``: the multipliers of the lower bounds are one."""
    solver = Problem(2, 1, Line(), np.array([1.0, 2.0]), np.full(2, 1e20), np.zeros(1), np.full(1, 1e20))
    for key, value in {**ipopt.OPTIONS, **ipopt.WARM_OPTIONS}.items():
        solver.add_option(key, value)
    point, info = solver.solve(np.array([1.5, 2.5]))
    assert point == pytest.approx([1, 2], abs=1e-8)
    assert info["mult_x_L"] == pytest.approx([1, 1], abs=1e-6)
    assert (info["obj_val"], info["g"][0]) == (pytest.approx(3), pytest.approx(3))
    before = Line.iterations
    solver.solve(point, lagrange=info["mult_g"], zl=info["mult_x_L"], zu=info["mult_x_U"])
    assert Line.iterations < before
    with pytest.raises(ValueError, match="Ipopt expects 2 numbers"):
        solver.solve(np.ones(3))


class Line:
    """``min x + y`` with the constraint ``x + y >= 0``, and no curvature: an empty Hessian."""

    iterations = 0

    def objective(self, z):
        return z[0] + z[1]

    def gradient(self, z):
        return np.ones(2)

    def constraints(self, z):
        return np.array([z[0] + z[1]])

    def jacobian(self, z):
        return np.ones(2)

    def hessian(self, z, multipliers, factor):
        return np.zeros(0)

    def jacobianstructure(self):
        return np.zeros(2, dtype=np.intp), np.arange(2)

    def hessianstructure(self):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)

    def intermediate(self, mode, iteration, *progress):
        Line.iterations = iteration
        assert len(progress) == 9
        return True


# with either


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize(
    "option", ["tolerence = 1e-9", 'tol = "small"', "max_iter = 2.5", "max_iter = 10000000000", "sb = true"]
)
def test_an_option_that_ipopt_does_not_take_is_one_line(option, tmp_path, capfd):
    profile = tmp_path / "profile.toml"
    profile.write_text(f'backend = "ipopt"\n[options]\n{option}\n')
    assert main([*TWO, "--solver", str(profile)]) == 2
    key, _, value = option.replace('"', "'").replace("true", "True").replace("1e-9", "1e-09").partition(" = ")
    assert capfd.readouterr().err == (f"caet-opt: error: Ipopt does not take the option {key} = {value}\n")


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize("name", ["objective", "gradient", "constraints", "jacobian", "hessian", "intermediate"])
def test_an_exception_of_a_formula_is_a_solver_error(name, monkeypatch, capfd):
    def fail(self, *arguments):
        raise ZeroDivisionError("one over nothing")

    monkeypatch.setattr(NonlinearProgram, name, fail)
    with pytest.raises(SolverError, match="stopped by a formula: ZeroDivisionError: one over nothing") as caught:
        characteristic_time(MODEL, "ranking", solver="ipopt")
    assert isinstance(caught.value.__cause__.__cause__ or caught.value.__cause__, ZeroDivisionError)
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("provider")
def test_no_usable_point_says_why(monkeypatch):
    objective = NonlinearProgram.objective

    def long_objective(self, *arguments):
        """The objective, after processor time that no clock is too coarse to see."""
        end = process_time() + 0.05
        while process_time() < end:
            pass
        return objective(self, *arguments)

    monkeypatch.setattr(NonlinearProgram, "objective", long_objective)
    with pytest.raises(SolverError, match="no usable point: processor time limit"):
        characteristic_time(MODEL, "ranking", solver=Profile("ipopt", options={"max_cpu_time": 1e-9}))


# Ctrl-C in the stand-in


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("name", ["objective", "jacobian", "intermediate"])
def test_an_interrupt_ends_ipopt_and_is_raised(name, monkeypatch, capfd):
    original = getattr(NonlinearProgram, name)

    def interrupted(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        return original(self, *arguments)

    monkeypatch.setattr(NonlinearProgram, name, interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        characteristic_time(MODEL, "ranking", solver="ipopt")
    assert signal.getsignal(signal.SIGINT) is before
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_between_callbacks_is_kept():
    failures = []
    with keep_interrupt(failures):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert [type(failure) for failure in failures] == [KeyboardInterrupt]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("stand_in")
def test_the_stand_in_solves_in_threads():
    expected, values = characteristic_time(MODEL, "ranking", solver="ipopt").value, []

    def solve():
        model = BanditModel(Gaussian(), [3.0, 4.0, 2.0], [1.0, 2.0, 1.0])
        values.append(characteristic_time(model, "ranking", solver="ipopt").value)

    thread = Thread(target=solve)
    thread.start()
    thread.join()
    assert values == [expected]


# who provides it


def told(tmp_path, *, cyipopt=False, library=None, header=False):
    """What ``caet-opt --version`` says beside packages that must not be imported."""
    for name, wanted in (("cyipopt", cyipopt), ("casadi", library is not None)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise AssertionError('imported')\n" if wanted else "")
    if library:
        (tmp_path / "casadi" / library).touch()
    if header:
        place = tmp_path / "casadi" / "include" / "coin-or"
        place.mkdir(parents=True)
        (place / "IpoptConfig.h").write_text('#define IPOPT_VERSION_MAJOR 3\n#define IPOPT_VERSION "3.14.99"\n')
    hidden = [name for name, wanted in (("cyipopt", cyipopt), ("casadi", library is not None)) if not wanted]
    code = (
        f"import sys, importlib.metadata as m; sys.path.insert(0, {str(tmp_path)!r})\n"
        f"sys.modules.update(dict.fromkeys({hidden}))\n"
        "def nothing(name): raise m.PackageNotFoundError(name)\n"
        "m.version = lambda name: '9.9' if name in ('cyipopt', 'casadi') else nothing(name)\n"
        "from caet_opt.cli import main; sys.exit(main(['--version']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.partition("(")[2].removesuffix(")\n")


@pytest.mark.parametrize("library", ["libipopt.so", "libipopt.so.3", "libipopt.3.dylib", "libipopt-3.dll"])
def test_casadi_is_named_on_every_platform(tmp_path, library):
    assert told(tmp_path, library=library, header=True) == "Ipopt 3.14.99 by casadi 9.9"


def test_a_version_that_no_file_tells_is_left_out(tmp_path):
    assert told(tmp_path, library="libipopt.so") == "Ipopt by casadi 9.9"


def test_cyipopt_goes_before_casadi(tmp_path):
    assert told(tmp_path, cyipopt=True, library="libipopt.so", header=True) == "Ipopt by cyipopt 9.9"


@pytest.mark.parametrize("library", [None, ""])
def test_no_ipopt_without_either_or_in_a_casadi_that_leaves_it_out(tmp_path, library):
    assert told(tmp_path, library=library) == "no Ipopt"


def test_a_cyipopt_that_cannot_be_imported_is_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "cyipopt.py").write_text("raise ImportError('libipopt.so.3: no such file')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cyipopt", raising=False)
    assert main([*TWO, "--solver", "ipopt"]) == 2
    message = "cyipopt is installed and cannot be imported: libipopt.so.3: no such file"
    assert capsys.readouterr().err == f"caet-opt: error: {message}\n"


def test_a_library_that_cannot_be_loaded_is_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "libipopt.so").write_text("no library")
    use_library(monkeypatch, tmp_path / "libipopt.so")
    assert main([*TWO, "--solver", "ipopt"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("caet-opt: error: the Ipopt inside casadi cannot be loaded: ")
    assert err.count("\n") == 1
