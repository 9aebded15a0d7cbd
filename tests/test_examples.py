"""Every public name has an example in its docstring, which `help` shows, and which is true."""

import pydoc
import shutil
from doctest import DocTestFinder, DocTestRunner
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import caet_opt
from caet_opt.cli import main

ROOT = Path(__file__).parents[1]

#: What the examples of a name need beyond the core, and the name whose examples leave what they read.
STUDY = ("pyarrow", "filelock")
NEEDS = {
    **dict.fromkeys(["ProvenTime", "check_certificate", "proven_time"], ("flint",)),
    **dict.fromkeys(["load_results", "run_study", "summarise_results"], STUDY),
    "curve_figure": ("matplotlib",),
    "study_figure": (*STUDY, "matplotlib"),
    "write_experiment_page": ("jinja2",),
    "write_report": (*STUDY, "jinja2"),
}
AFTER = dict.fromkeys(["load_results", "study_figure", "summarise_results", "write_report"], "run_study")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where examples run: the models and solvers of the repository are there."""
    place = tmp_path_factory.mktemp("examples")
    for name in ("models", "solvers"):
        shutil.copytree(ROOT / name, place / name)
    return place


def public_names():
    """What an example may use without importing it."""
    return {name: getattr(caet_opt, name) for name in caet_opt.__all__}


def examples(name):
    """The examples of a public name and of its methods."""
    return DocTestFinder().find(getattr(caet_opt, name), name, globs=public_names())


def private_examples(path):
    """The examples in a file of the library that are not of a public name, by the name that they are of."""
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    names = public_names()
    tests = DocTestFinder().find(module, "module", extraglobs=names)
    named = [(test.name.removeprefix("module.").split(".")[0], test) for test in tests if test.examples]
    return [(name, test) for name, test in named if name not in names]


def run(tests):
    """What is said of examples that are not true."""
    runner, told = DocTestRunner(verbose=False), []
    for test in tests:
        runner.run(test, out=told.append)
    return "".join(told)


@pytest.mark.parametrize("name", caet_opt.__all__)
def test_the_examples_of_a_public_name(name, folder, monkeypatch, capfd):
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module, reason=f"{module} is not installed")
    assert ">>> " in (getattr(caet_opt, name).__doc__ or ""), f"the docstring of {name} has no example"
    assert ">>> " in pydoc.render_doc(getattr(caet_opt, name))
    monkeypatch.chdir(folder)
    if name == "check_certificate":
        assert main(["solve", "models/paper-instance-1.toml", "--digits", "20", "--certificate", "cert.json"]) == 0
    if name in AFTER:
        run(examples(AFTER[name]))
    assert run(examples(name)) == ""


def test_the_examples_of_all_other_docstrings(folder, monkeypatch):
    """Those that need an extra that is not installed are left out."""
    paths = [path for path in (ROOT / "caet_opt").rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    found = [pair for path in paths for pair in private_examples(path)]
    assert len(found) > 10
    monkeypatch.chdir(folder)
    assert run(test for name, test in found if all(map(find_spec, NEEDS.get(name, ())))) == ""


def test_an_example_that_is_not_true_is_found(monkeypatch):
    monkeypatch.setattr(caet_opt.parse_family, "__doc__", ">>> parse_family('poisson')\nGaussian()\n")
    assert "Expected:\n    Gaussian()" in run(examples("parse_family"))
