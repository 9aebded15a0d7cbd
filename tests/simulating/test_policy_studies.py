"""Policies as part of a study's grid, from the study file to the page."""

import json
import re

import pytest
from commands import expect_refusal, run_command
from study_files import contents, run_sweep, write_study

from caet_opt import load_results, run_study, summarise_results
from caet_opt.exploring.policies import list_policies
from caet_opt.simulating.studies.cells import make_cells
from caet_opt.simulating.studies.store import Store
from caet_opt.simulating.studies.study import read_study
from caet_opt.simulating.studies.sweep import expected_rounds, seconds_per_run

pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: studies)")

#: CAET can be predicted, the others cannot; the last one covers only the first of the models.
THREE, CHOOSY = ["caet", "uniform", "equal-spending"], "kl-lucb"


def cells_of(folder, **changes):
    """The cells of a small study at one delta, some keys changed."""
    return make_cells(read_study(write_study(folder, **{"log_inv_deltas": 1, **changes})))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder of a study of three policies, which is beside it."""
    folder = tmp_path_factory.mktemp("policies")
    return run_study(write_study(folder, policy=THREE), folder / "results")


@pytest.mark.parametrize("word", ["all", ["all"]], ids=str)
def test_all_are_those_that_cover_the_task_of_each_model(tmp_path, word):
    found = {}
    for cell in cells_of(tmp_path, policy=word):
        found.setdefault(cell.model, []).append(cell.setting["policy"])
    assert found == {"easy-model": list_policies("best-arm"), "free-model": list_policies("ranking")}
    assert CHOOSY in found["easy-model"]
    assert CHOOSY not in found["free-model"]


def test_all_go_by_the_task_of_the_study(tmp_path):
    cells = cells_of(tmp_path, policy="all", task="best-arm")
    assert len(cells) == 2 * len(list_policies("best-arm"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"policy": ["caet", CHOOSY]},
            "cell free-model, log(1/delta) = 1, policy = kl-lucb, threshold = customary: policy 'kl-lucb' covers "
            "best-arm and top-arms, not ranking",
        ),
        ({"policy": ["caet", "unifrom"]}, "policy = unifrom, threshold = customary: unknown policy 'unifrom'; did you"),
        ({"policy": ["all", "caet"]}, 'policy lists "all" beside others; write policy = "all", or name those'),
        ({"policy": ["caet", "caet"]}, "policy lists a value twice"),
        ({"policy": 3}, "policy must be a string, got 3"),
        (
            {"policy": "all", "log_inv_deltas": {"from": 1, "to": 9, "points": 5000}},
            "the grid has 150000 cells, more than 100000",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_policy_that_cannot_be_run_is_refused(tmp_path, capsys, changes, message):
    study = write_study(tmp_path, **{"log_inv_deltas": 1, **changes})
    expect_refusal(capsys, "sweep", study, "--out", tmp_path / "out", words=message)
    assert not (tmp_path / "out").exists()


def test_kinds_of_tracking_are_for_those_that_track(tmp_path):
    cells = cells_of(tmp_path, models="easy-model.toml", policy=["caet", "uniform"], tracking=["d", "c"])
    found = [(cell.setting["policy"], cell.setting["tracking"]) for cell in cells]
    assert found == [("caet", "d"), ("caet", "c"), ("uniform", "d")]


def test_rounds_are_expected_of_policies_that_have_no_prediction(tmp_path):
    caet, uniform, _ = cells_of(tmp_path, models="easy-model.toml", policy=THREE)
    assert uniform.experiment.predicted_cost is None
    assert expected_rounds(uniform.experiment) == expected_rounds(caet.experiment) == caet.experiment.prediction.rounds
    assert expected_rounds(uniform.experiment.change(max_rounds=3)) == 3


def test_policies_are_timed_apart(tmp_path, monkeypatch):
    timed = []

    def time_trial(experiment):
        timed.append(experiment.parameters.policy)
        return float(len(timed)), 0.0

    monkeypatch.setattr("caet_opt.simulating.studies.sweep.time_trial", time_trial)
    cells = cells_of(tmp_path, models="easy-model.toml", policy=THREE, log_inv_deltas=[1, 2])
    seconds = seconds_per_run(cells)
    assert timed == THREE
    assert [seconds[cell.id] for cell in cells] == [1.0, 2.0, 3.0] * 2


def test_what_cannot_be_predicted_is_missing_everywhere(results, capsys, tmp_path):
    records = Store(results).read_manifest()["cells"]
    told = {record["policy"]: record["predicted_cost"] is not None for record in records}
    assert told == {"caet": True, "uniform": False, "equal-spending": False}
    summary = summarise_results(results).set_index("policy")
    assert summary["predicted_cost"].notna().to_dict() == told
    lines = run_command(capsys, "table", results, "--columns", "policy,predicted_cost").splitlines()[1:]
    assert [line.split()[1] == "-" for line in lines if line.startswith("uniform")] == [True] * 4
    assert run_command(capsys, "table", results, "--format", "latex").count("equal-spending") == 4
    page = tmp_path / "page.html"
    run_command(capsys, "report", results, "-o", page)
    data = json.loads(re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", page.read_text(), re.DOTALL)[1])
    assert sum(cell["predicted"] is None for cell in data["cells"]) == 8


def test_other_policies_are_added_to_what_is_there(results, tmp_path, capsys):
    before = contents(results)
    study = write_study(tmp_path, policy=["uniform", "top-two"])
    found, _ = run_sweep(capsys, study, results)
    assert (found["cells"], found["blocks"]) == (8, 20)
    assert before.items() < contents(results).items()
    assert set(load_results(results)["policy"]) == {*THREE, "top-two"}
