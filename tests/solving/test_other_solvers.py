"""Solvers that a profile names: certified like all others, or refused like all others."""

import os

import numpy as np
import pytest
from problems import random_instance

from caet_opt import InputError, Profile, SolverError, characteristic_time, read_model
from caet_opt.cli import main
from caet_opt.solving.profiles import find_profile


def test_what_scs_finds_is_certified_or_refused():
    """SCS calls points optimal that are far off; cut short, they are further off."""
    model, task = random_instance(np.random.default_rng(0), "bernoulli", "ranking", 8)
    with pytest.raises(SolverError, match="solver 'cvxpy:SCS' reached a certified gap of") as caught:
        characteristic_time(model, task, solver=Profile("cvxpy", solver="SCS", options={"max_iters": 300}))
    assert caught.value.gap > 1e-9
    entry = read_model("paper-instance-1")
    assert characteristic_time(entry.model, entry.task, solver="cvxpy:SCS").gap < 1e-9
    rescued = Profile("cvxpy", solver="SCS", fallback="native", options={"max_iters": 300})
    assert characteristic_time(model, task, solver=rescued).solver == "native"


def test_an_executable_that_pyomo_finds(pounce, monkeypatch):
    monkeypatch.setenv("PATH", f"{pounce.parent}{os.pathsep}{os.environ['PATH']}")
    entry = read_model("non-inferior-model")
    result = characteristic_time(entry.model, entry.task, solver="pyomo:pounce")
    assert result.solver == "pyomo:pounce"
    assert result.value == pytest.approx(entry.characteristic_time, rel=1e-9)
    assert result.solver_gap < 1e-6
    tight = characteristic_time(entry.model, entry.task, solver="pyomo:pounce", limits="cost:0<=0.4")
    assert tight.value == pytest.approx(characteristic_time(entry.model, entry.task, limits="cost:0<=0.4").value)


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        ("cvxpy:NOSUCH", "CVXPY has no solver 'NOSUCH' installed; it has CLARABEL"),
        ("pyomo:nosuch", "Pyomo finds no solver 'nosuch'; "),
        ("cvxpy", "backend 'cvxpy' needs the key 'solver'"),
        ("native:x", "backend 'native' has one solver, its own"),
        ("cvxpy:a/b", "solver must be a name such as 'ECOS'"),
        (Profile("cvxpy", solver="SCS", options={"nope": 1}), "SCS does not take the options of the profile"),
    ],
)
def test_a_solver_that_is_not_there_is_told_in_one_line(solver, words):
    entry = read_model("paper-instance-1")
    with pytest.raises(InputError) as caught:
        characteristic_time(entry.model, entry.task, solver=solver)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [{"max_iterations": 7}, {"time_limit": 1.0}],
)
def test_limits_that_would_not_be_passed_on_are_refused(settings):
    with pytest.raises(InputError, match="not passed on to 'SCS'; give its own in 'options'"):
        Profile("cvxpy", solver="SCS", **settings)


def test_a_fallback_needs_no_further_name():
    with pytest.raises(InputError, match="fallback must be a backend that needs no further name, got 'cvxpy'"):
        Profile("native", fallback="cvxpy")


def test_a_label_names_its_profile(tmp_path, capsys):
    assert find_profile(find_profile("cvxpy:SCS").label) == Profile("cvxpy", solver="SCS")
    path = tmp_path / "p.toml"
    path.write_text('backend = "cvxpy"\nsolver = "Scs"\n')
    assert main(["solve", "paper-instance-1", "--solver", str(path)]) == 0
    assert "solver cvxpy:Scs, " in capsys.readouterr().out
    assert main(["compare", "paper-instance-1", "--solvers", "native", str(path), "--repeat", "1"]) == 0
