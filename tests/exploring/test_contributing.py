"""The policy of CONTRIBUTING.md is one, compiled or not, from a file or typed in; and what it names is there."""

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from caet_opt import POLICIES, BanditModel, Explorer, InputError, simulate
from caet_opt.exploring import compiling
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.runs import Experiment, run_number
from cases.runs import difference, draw_case, without_compiled

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MODEL = BanditModel("gaussian", [2.0, 1.0, 0.0], [1.0, 0.5, 2.0])


def read_policy():
    """The source of the policy, with the line that registers it."""
    (source,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (line,) = re.findall(r"^    (POLICIES\[.*)$", TEXT, re.MULTILINE)
    return source, line


def import_source(source, folder, monkeypatch):
    """The module of a file with this text."""
    path = folder / "contributed_policy.py"
    path.write_text(source, encoding="utf-8")
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def name(tmp_path, monkeypatch):
    """The policy's name, as long as it is registered."""
    source, line = read_policy()
    module = import_source(source, tmp_path, monkeypatch)
    before = dict(POLICIES)
    exec(line, {"POLICIES": POLICIES, **vars(module)})
    (added,) = set(POLICIES) - set(before)
    yield added
    del POLICIES[added]


def test_the_policy_is_short():
    source, _ = read_policy()
    assert len([row for row in source.splitlines() if row.strip()]) <= 20
    assert len(TEXT.splitlines()) <= 140


def test_compiled_and_interpreted_it_goes_the_same_way(name):
    for number in range(40):
        case = draw_case(number, policy=name)
        assert difference(case) is None, str(case)


def test_it_chooses_the_less_pulled_arm_of_the_weakest_pair(name):
    explorer = Explorer.start("best-arm", "gaussian", arms=3, delta=0.05, costs=[1, 1, 1], policy=name)
    for arm, reward in ((0, 1.0), (1, 0.9), (2, -3.0), (0, 1.0)):
        explorer.observe(arm, reward)
    assert explorer.next_arm() == 1


def test_it_is_simulated(name):
    asked = {"policy": name, "delta": 0.05, "runs": 20, "seed": 1}
    found = [simulate(MODEL, "best-arm", workers=workers, **asked) for workers in (1, 2)]
    assert (POLICIES[name], False) in compiling._loaded
    experiment = Experiment(MODEL, "best-arm", Parameters(delta=0.05, policy=name))
    with without_compiled():
        interpreted = [run_number(experiment, 1, index).cost for index in range(20)]
    assert [summary.records["cost"].tolist() for summary in found] == [interpreted] * 2
    assert found[0].error_rate <= 0.05
    other = simulate(MODEL, "best-arm", policy="uniform", delta=0.05, runs=20, seed=1)
    assert found[0].mean_cost != other.mean_cost


def test_it_is_gone_afterwards():
    with pytest.raises(InputError, match="unknown policy 'even-pairs'"):
        simulate(MODEL, "best-arm", policy="even-pairs", delta=0.05, runs=1)


def test_a_policy_may_be_typed_into_an_interpreter():
    source, line = read_policy()
    more = "from caet_opt import *\nmodel = BanditModel('gaussian', [2, 1, 0], costs=[1, 0.5, 2])\n"
    asked = "experiment = Experiment(model, 'best-arm', Parameters(delta=0.05, policy='even-pairs'))\n"
    interpreted = "print(run_once(experiment, np.random.SeedSequence(0, spawn_key=(0,)), 0).cost)\n"
    compiled = "print(run_many(experiment, 1, 0)[0].cost)\n"
    more += "import numpy as np\nfrom caet_opt.exploring.settings import Parameters\n"
    more += "from caet_opt.simulating.runs import Experiment, run_many, run_once\n"
    typed = f"{source}\n{more}{line}\n{asked}{interpreted}{compiled}"
    run = subprocess.run([sys.executable, "-"], input=typed, capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    one, two = map(float, run.stdout.split())
    assert one == two > 0


class Inheriting(POLICIES["thompson-top-two"]):
    """A policy whose functions, and what they call, are in another file."""

    name = "inheriting"


def test_a_policy_may_inherit_from_one_of_another_file(monkeypatch):
    monkeypatch.setitem(POLICIES, Inheriting.name, Inheriting)
    model, counts = BanditModel("bernoulli", [0.7, 0.5, 0.2], [1, 1, 1]), []
    for policy in ("thompson-top-two", "inheriting"):
        summary = simulate(model, "best-arm", policy=policy, delta=0.05, runs=5, seed=3)
        counts.append(np.array(summary.records["rounds"]).tolist())
    assert counts[0] == counts[1]


def test_a_helper_may_not_have_the_name_of_what_policies_share(tmp_path, monkeypatch):
    source, _ = read_policy()
    module = import_source(f"{source}\n\ndef absorb(view):\n    return 0\n", tmp_path, monkeypatch)
    with pytest.raises(InputError, match="'even-pairs': its file has a function 'absorb'"):
        compiling.compiled_play(module.EvenPairs)


def test_every_file_that_is_named_is_there():
    named = set(re.findall(r"`([\w/.]+\.py|[\w/]+/)`", TEXT))
    places = (ROOT, ROOT / "caet_opt", ROOT / "caet_opt/exploring/policies", ROOT / "caet_opt/bandits/families")
    assert len(named) > 20
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def test_every_name_that_is_named_is_there():
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "caet_opt").rglob("*.py"))
    for word in set(re.findall(r"`(\w+)`", TEXT)) - {"caet_opt", "tests", "__pycache__"}:
        assert re.search(rf"\b(def|class) {word}\b|^ *{word}\b.*[:=]", code, re.MULTILINE), word
