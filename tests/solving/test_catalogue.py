"""The catalogue in models/ and the profiles in solvers/."""

import json
from pathlib import Path
from shutil import which

import cvxpy
import numpy as np
import pytest
from commands import run_command

from caet_opt import InputError, characteristic_time, read_model, write_model
from caet_opt.bandits.families import FAMILIES
from caet_opt.bandits.tasks import TASKS
from caet_opt.simulating.studies.study import read_study
from caet_opt.solving.backends import BACKENDS
from caet_opt.solving.profiles import find_profile, read_profile

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "models").glob("*.toml"))
PROFILES = sorted((ROOT / "solvers").glob("*.toml"))

each_model = pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)


def test_the_catalogue_covers_every_family_and_task():
    entries = [read_model(path) for path in MODELS]
    assert len(entries) >= 18
    assert {entry.model.family.name for entry in entries} == set(FAMILIES)
    assert {entry.task.name for entry in entries} == set(TASKS)


def test_the_instances_of_the_paper_and_of_its_authors_code_are_there():
    means = {read_model(path).model.means for path in MODELS if path.stem.startswith("paper-")}
    assert means == {(3.0, 4.0, 2.0), (1.4, 0.8, 0.3), (0.5, 0.9, 0.2)}


@each_model
def test_a_model_says_what_it_is_and_where_it_comes_from(path):
    entry = read_model(path)
    assert entry.title
    assert entry.source


@each_model
def test_a_model_written_and_read_back_is_equal(path, tmp_path):
    write_model(tmp_path / path.name, read_model(path))
    assert read_model(tmp_path / path.name) == read_model(path)


@each_model
def test_a_model_meets_what_it_expects(path):
    entry = read_model(path)
    result = characteristic_time(entry.model, entry.task, limits=entry.limits)
    assert result.gap <= 1e-9
    if entry.characteristic_time is not None:
        assert result.value == pytest.approx(entry.characteristic_time, rel=1e-9, abs=0)
    if entry.sampling_proportions is not None:
        np.testing.assert_allclose(result.sampling_proportions, entry.sampling_proportions, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["on-time", "cheapest-good-model", "dose-finding"])
def test_a_level_needs_no_second_arm(name):
    """T* = sum of c_a / d(mu_a, level) over the arms that the answer speaks of."""
    entry = read_model(name)
    model, (level,) = entry.model, {abs(statement.margin) for statement in entry.task.statements(entry.model.means)}
    asked = entry.task.support(model.means)
    terms = [model.costs[arm] / model.family.divergence(model.means[arm], float(level)) for arm in asked]
    assert entry.characteristic_time == pytest.approx(sum(terms), rel=1e-12)


def test_there_is_a_profile_per_backend_and_each_is_of_another_solver():
    labels = [read_profile(path).label for path in PROFILES]
    assert {label.partition(":")[0] for label in labels} == set(BACKENDS)
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_works(path):
    profile = read_profile(path)
    assert profile != find_profile(profile.label)
    if not BACKENDS[profile.backend].is_installed():
        pytest.skip(f"{profile.backend} is not installed")
    has = {"cvxpy": lambda name: name in cvxpy.installed_solvers(), "pyomo": which}
    if profile.solver is not None and not has[profile.backend](profile.solver):
        pytest.skip(f"{profile.solver} is not installed")
    entry = read_model(ROOT / "models" / "garivier-kaufmann-1.toml")
    result = characteristic_time(entry.model, entry.task, solver=path)
    assert result.solver == profile.label
    assert result.value == pytest.approx(entry.characteristic_time, rel=1e-9)


@pytest.mark.parametrize("word", ["paper-instance-1", "paper-instance-1.toml"])
def test_a_model_is_found_by_its_name_wherever_one_is(word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_model(word) == read_model(ROOT / "models" / "paper-instance-1.toml")


def test_what_is_here_goes_before_what_is_shipped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine = (ROOT / "models" / "top-arms.toml").read_text()
    (tmp_path / "paper-instance-1.toml").write_text(mine)
    assert read_model("paper-instance-1.toml") == read_model("top-arms")
    assert read_model("paper-instance-1") != read_model("top-arms")
    (tmp_path / "paper-instance-1").write_text(mine)
    assert read_model("paper-instance-1") == read_model("top-arms")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("paper-instance-11", "no such file, and no such model in the catalogue; did you mean 'paper-instance-1'?"),
        ("qqq", "no such file, and no such model in the catalogue; caet-opt models lists the catalogue"),
        ("mine/paper-instance-1", "mine/paper-instance-1: no such file"),
        ("qqq.toml", "qqq.toml: no such file"),
    ],
)
def test_what_is_neither_here_nor_shipped_is_refused(word, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refusal:
        read_model(word)
    assert message in str(refusal.value)


def test_a_shipped_profile_is_found_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_profile("clarabel.toml") == read_profile(ROOT / "solvers" / "clarabel.toml") != find_profile("clarabel")


def test_a_study_takes_models_by_name(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "study.toml").write_text('models = ["paper-instance-1", "top-arms"]\ndeltas = [0.1]\n')
    assert [path.name for path in read_study(tmp_path / "study.toml").models] == [
        "paper-instance-1.toml",
        "top-arms.toml",
    ]


def test_the_command_lists_every_model(capsys):
    lines = run_command(capsys, "models").splitlines()
    assert [line.split()[0] for line in lines[1 : len(MODELS) + 1]] == [path.stem for path in MODELS]
    listed = json.loads(run_command(capsys, "models", "--json"))
    assert [one["name"] for one in listed] == [path.stem for path in MODELS]
    assert all(read_model(one["file"]).title == one["title"] for one in listed)
    assert run_command(capsys, "table", "top-arms", "--columns", "model,T*").splitlines()[1].startswith("top-arms ")
