"""The catalogue in models/ and the profiles in solvers/."""

from pathlib import Path

import numpy as np
import pytest

from caet_opt import FAMILIES, Profile, characteristic_time, read_model, read_profile, write_model
from caet_opt.bandits.tasks import TASKS
from caet_opt.solving.backends import BACKENDS, installed_backends

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
    result = characteristic_time(entry.model, entry.task)
    assert result.gap <= 1e-9
    if entry.characteristic_time is not None:
        assert result.value == pytest.approx(entry.characteristic_time, rel=1e-9, abs=0)
    if entry.sampling_proportions is not None:
        np.testing.assert_allclose(result.sampling_proportions, entry.sampling_proportions, rtol=0, atol=1e-6)


def test_there_is_one_profile_per_backend():
    assert sorted(read_profile(path).backend for path in PROFILES) == sorted(BACKENDS)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_works(path):
    profile = read_profile(path)
    assert profile != Profile(profile.backend)
    if profile.backend not in installed_backends():
        pytest.skip(f"{profile.backend} is not installed")
    entry = read_model(ROOT / "models" / "garivier-kaufmann-1.toml")
    result = characteristic_time(entry.model, entry.task, solver=path)
    assert result.solver == profile.backend
    assert result.value == pytest.approx(entry.characteristic_time, rel=1e-9)
