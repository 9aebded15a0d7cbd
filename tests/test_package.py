"""The package as it is published: built, looked into, installed in an environment of its own, and used away from here.

The environment has the wheel alone; the dependencies are those of this one, seen through a ``.pth`` file, in which the
clone does not appear, and the wheel's metadata is checked against them.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from email import message_from_bytes
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from study_files import write_study

import caet_opt
from caet_opt.cli import main

pytest.importorskip("hatchling", reason="hatchling is not installed (extra: dev)")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

pytestmark = pytest.mark.slow


def build(what, source, folder):
    """The sdist or the wheel of a source tree."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", what, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (found,) = folder.glob("*.tar.gz" if what == "sdist" else "*.whl")
    return found


def files_of(folder):
    """The files of a folder of the repository, without what Python leaves there."""
    found = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    return {str(path) for path in found if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """Built from the sdist, as whoever installs that does."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return build("wheel", next(folder.iterdir()), folder)


@pytest.fixture(scope="module")
def metadata(wheel):
    with ZipFile(wheel) as archive:
        return message_from_bytes(archive.read(f"caet_opt-{caet_opt.__version__}.dist-info/METADATA"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder of programs of an environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--disable-pip-version-check", str(wheel)], check=True)
    (own,) = folder.glob("lib/*/site-packages")
    (own / "dependencies.pth").write_text("\n".join({sysconfig.get_path(name) for name in ("purelib", "platlib")}))
    return folder / "bin"


@pytest.fixture
def run(installed, tmp_path):
    """Runs a program of that environment in an empty folder; what it prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(program, *arguments):
        command = [str(installed / program), *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_wheel_has_the_library_the_models_and_the_solver_profiles(wheel):
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    shipped = {f"caet_opt/{name}" for kind in ("models", "solvers") for name in files_of(kind)}
    assert names == files_of("caet_opt") | shipped
    assert {"caet_opt/py.typed", "caet_opt/models/paper-instance-1.toml", "caet_opt/solvers/ipopt.toml"} <= names


def test_the_sdist_has_what_the_tests_need(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    files = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "Makefile"}
    assert files <= names
    for folder in ("caet_opt", "models", "solvers", "cases", "analysis", "tests"):
        assert files_of(folder) <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".venv", "results"))]


def test_the_metadata_say_what_pyproject_says(metadata):
    assert (metadata["Name"], metadata["Version"]) == ("caet-opt", caet_opt.__version__)
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# caet-opt")
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])


def test_what_the_core_requires_is_installed_here(metadata):
    required = [Requirement(text) for text in metadata.get_all("Requires-Dist")]
    core = [one for one in required if one.marker is None or one.marker.evaluate({"extra": ""})]
    assert len(core) == len(PROJECT["dependencies"])
    for one in core:
        assert one.specifier.contains(version(one.name), prereleases=True), one


def test_one_version_is_told_everywhere():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {caet_opt.__version__}\n" in citation
    assert f"\n## {caet_opt.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_installed_package_is_not_the_clone(run, installed):
    place = Path(run("python", "-c", "import caet_opt; print(caet_opt.__file__)").strip())
    assert place.is_relative_to(installed.parent)
    assert run("caet-opt", "--version").startswith(f"caet-opt {caet_opt.__version__} ")


def test_models_and_profiles_are_found_by_name(run, installed):
    listed = run("caet-opt", "models")
    assert str(installed.parent) in listed
    assert all(Path(name).stem in listed for name in files_of("models") if name.endswith(".toml"))
    assert "T* = 11.656854249492" in run("caet-opt", "solve", "paper-instance-1")
    assert "solver clarabel" in run("caet-opt", "solve", "paper-instance-1", "--solver", "clarabel.toml")


def test_it_simulates(run):
    """In the interpreted loop: compiling the other one takes a minute, and is no different when installed."""
    setting = ("--delta", "0.3", "--threshold", "customary", "--solver", "clarabel", "--runs", "1")
    assert "errors" in run("caet-opt", "simulate", "paper-instance-1", *setting)


def test_it_makes_a_page(run, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    study = write_study(tmp_path, models=["paper-instance-1"], log_inv_deltas=[1], runs=4)
    assert main(["sweep", study, "--out", str(tmp_path / "results"), "--workers", "1"]) == 0
    capsys.readouterr()
    run("caet-opt", "report", "results", "-o", "page.html")
    assert "<title>" in (tmp_path / "page.html").read_text()
