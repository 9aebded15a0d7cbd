"""Settings are declared once: a new one is a field of `Parameters`, and every door knows it."""

import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from caet_opt import InputError, simulate
from caet_opt.cli import main
from caet_opt.exploring.settings import SETTINGS, SIMULATED, Parameters
from caet_opt.simulating.regret import explore_then_commit

#: A process in which one declaration is added to the source, and which then looks for it at every door.
TOY = r"""
import sys, types
from importlib.util import find_spec
from pathlib import Path

folder = Path(sys.argv[1])
spec = find_spec("caet_opt.exploring.settings")
source = Path(spec.origin).read_text()
toy = '    toy: float = declare(2.5, "toy", "what is played with", symbol="T", latex=r"$\\tau$")\n'
assert source.count("    tracking: ") == 1
module = types.ModuleType(spec.name)
sys.modules[spec.name] = module
exec(compile(source.replace("    tracking: ", toy + "    tracking: "), spec.origin, "exec"), module.__dict__)

from study_files import write_study
from caet_opt.cli import main
from caet_opt.cli.simulate import add_arguments
from caet_opt.presenting.report.page import report_page
from caet_opt.presenting.tables.result_columns import columns
from caet_opt.simulating.studies.store import Store
from caet_opt import Caet, load_results, summarise_results

import argparse
parser = argparse.ArgumentParser()
add_arguments(parser)
assert parser.parse_args(["--toy", "3", "--delta", "0.1"]).toy == 3.0
assert "what is played with (2.5)" in parser.format_help()

caet = Caet.start("best-arm", "gaussian", arms=2, delta=0.1, costs=[1, 1], toy=7)
caet.save(folder / "experiment.json")
assert Caet.resume(folder / "experiment.json").parameters.toy == 7

study = write_study(folder, toy=[1, 2], log_inv_deltas=[1], runs=2, block=2)
assert main(["sweep", study, "--out", str(folder / "results"), "--workers", "1"]) == 0
cells = Store(folder / "results").read_manifest()["cells"]
assert sorted(cell["toy"] for cell in cells) == [1.0, 1.0, 2.0, 2.0]
assert set(load_results(folder / "results")["toy"]) == {1.0, 2.0}
assert set(summarise_results(folder / "results")["toy"]) == {1.0, 2.0}

(column,) = [column for column in columns() if column.name == "toy"]
assert (column.heading, column.explanation, column.latex) == ("toy", "what is played with", r"$\tau$")
assert main(["table", str(folder / "results"), "--format", "latex"]) == 0

page = report_page(folder / "results")
assert "<legend>T, by " in page and 'name="parameter-toy"' in page
print("every door knows it")
"""


def test_one_declaration_reaches_every_door(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", TOY, str(tmp_path)], capture_output=True, text=True, check=False, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("every door knows it\n")
    assert r"$\tau$" in done.stdout


def environment():
    """Of a process that finds this library and the helpers of the tests."""
    here = Path(__file__).parents[1]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(here.parent), str(here)])}


def test_every_setting_has_a_flag_with_its_default(capsys):
    assert main(["simulate", "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for setting in SIMULATED:
        assert setting.flag in printed
        assert f"({setting.default})" in printed or setting.default in (None, False)


def test_no_door_has_a_default_of_its_own():
    names = {setting.name for setting in SETTINGS}
    for function in (simulate, explore_then_commit):
        assert not names & set(signature(function).parameters)
    assert Parameters(delta=0.1).threshold is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"r": "0.4"}, "r must be a number, got '0.4'"),
        ({"r": float("inf")}, "r must be a number, got inf"),
        ({"max_rounds": 2.5}, "max_rounds must be a positive whole number, got 2.5"),
        ({"max_rounds": True}, "max_rounds must be a positive whole number"),
        ({"constant": []}, "constant must be a number or a string"),
        ({"threshold": 3}, "threshold must be a string, got 3"),
        ({"zero_cost_share": "papers"}, "did you mean 'paper'"),
        ({"zero_cost_share": 1.0}, "strictly between 0 and 1, got 1$"),
        ({"zero_cost_share": float("nan")}, "zero_cost_share must be a number or a string"),
        ({"tracking": "e"}, "unknown tracking 'e'; known: c, d"),
        ({"policy": 3}, "policy must be a string, got 3"),
    ],
)
def test_a_value_of_another_kind_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        Parameters(delta=0.1, **given)


def test_both_confidences_are_one():
    assert Parameters(delta=0.05) == Parameters(log_inv_delta=Parameters(delta=0.05).log_inv_delta)
    assert Parameters(log_inv_delta=800).delta == 0.0
