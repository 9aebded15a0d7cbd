"""Studies, cells, blocks, the store and its results."""

import csv
import io
import json
import random
from dataclasses import dataclass
from math import isnan, log, nan
from shutil import copytree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_files import contents, write_study

from caet_opt import InputError, __version__, load_results, read_model, summarise_results, write_model
from caet_opt.cli import main
from caet_opt.exploring.stopping import THRESHOLDS, Customary
from caet_opt.simulating.runs import RunRecord, run_many
from caet_opt.simulating.studies import store as store_module
from caet_opt.simulating.studies.blocks import Block, Outcome, gaps_between, is_stored, missing_blocks, run_locally
from caet_opt.simulating.studies.cells import make_cells
from caet_opt.simulating.studies.manifest import check_manifest, seal
from caet_opt.simulating.studies.store import Store
from caet_opt.simulating.studies.study import read_study
from caet_opt.simulating.studies.sweep import Progress, expected_rounds, seconds_per_run, sweep
from caet_opt.simulating.summary import summarise

pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: studies)")


def cells_of(folder, **changes):
    """The cells of a small study, some keys changed."""
    return make_cells(read_study(write_study(folder, **changes)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small study with its results."""
    folder = tmp_path_factory.mktemp("made")
    study = read_study(write_study(folder))
    sweep(study, make_cells(study), Store(folder / "results"), lambda jobs: run_locally(jobs, 1), Progress())
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """The results of a small study, to do anything with; the study is beside them."""
    copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "results"


# studies and cells


def test_the_task_of_a_study_is_enough_for_a_file_without_one(tmp_path):
    (tmp_path / "mine.toml").write_text('family = "bernoulli"\nmeans = [0.5, 0.3]\n')
    (cell,) = cells_of(tmp_path, models=["mine.toml"], task="best-arm", deltas=[0.1], log_inv_deltas=None)
    assert str(cell.entry.task) == "best-arm"


MINE = {"models": ["mine.toml"], "deltas": [0.1], "log_inv_deltas": None, "threshold": "e-process"}
RANGE = 'family = "bounded:0,1"\ncosts = [1, 2]\ntask = "best-arm"\n'
MEANS = 'family = "bernoulli"\nmeans = [0.5, 0.3, 0.2]\ntask = "best-arm"\n'


@pytest.mark.parametrize(
    "models",
    [
        [
            RANGE + "levels = [0, 0.5, 0.8, 1]\nprobabilities = [[0.5, 0, 0, 0.5], [0.2, 0, 0, 0.8]]\n",
            RANGE + "levels = [0, 0.5, 0.8, 1]\nprobabilities = [[0, 1, 0, 0], [0, 0, 1, 0]]\n",
        ],
        [MEANS, MEANS + "lower_is_better = true\n", MEANS + 'limits = ["cost:0<=0.1"]\n'],
    ],
    ids=["rewards", "questions"],
)
def test_runs_of_another_model_with_the_same_means_are_not_taken(models, tmp_path):
    found = set()
    for text in models:
        (tmp_path / "mine.toml").write_text(text)
        (cell,) = cells_of(tmp_path, **MINE)
        found.add(cell.id)
    assert len(found) == len(models)


def test_cells_of_earlier_versions_left_that_out_of_their_ids(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["cells"][0]["model_table"]["lower_is_better"] = True
    check_manifest(manifest)
    manifest["cells"][0]["model_table"]["answers"] = []
    with pytest.raises(InputError, match="is not the one that its id"):
        check_manifest(manifest)


def test_a_study_takes_samples_whose_shares_have_no_finite_decimal(tmp_path):
    (tmp_path / "pilot.csv").write_text("arm,reward\na,1\na,0\na,0\nb,1\nb,1\nb,0\n")
    (tmp_path / "mine.toml").write_text('family = "bounded:0,1"\nsamples = "pilot.csv"\ntask = "best-arm"\n')
    (cell,) = cells_of(tmp_path, **MINE)
    assert cell.model_table["probabilities"] == [[2 / 3, 1 / 3], [1 / 3, 2 / 3]]
    write_model(tmp_path / "copy.toml", cell.entry)
    again = read_model(tmp_path / "copy.toml").model
    assert again.means == cell.entry.model.means
    assert again.distribution_table.tolist() == cell.entry.model.distribution_table.tolist()


@pytest.mark.parametrize(
    ("given", "levels"),
    [
        ({"log_inv_deltas": 5}, [5]),
        ({"log_inv_deltas": {"from": 1, "to": 9, "points": 5}}, [1, 3, 5, 7, 9]),
        ({"log_inv_deltas": {"from": 1, "to": 100, "points": 3, "spacing": "log"}}, [1, 10, 100]),
        ({"log_inv_deltas": {"from": 4, "to": 4, "points": 1}}, [4]),
        ({"log_inv_deltas": None, "deltas": [0.1, 0.01]}, [-log(0.1), -log(0.01)]),
    ],
)
def test_levels(tmp_path, given, levels):
    assert read_study(write_study(tmp_path, **given)).levels == pytest.approx(levels, rel=1e-14)


def test_the_grid_is_the_product(tmp_path):
    cells = cells_of(
        tmp_path, r=[0.3, 0.4], tracking=["c", "d"], threshold=["mixture", "deviational"], theta=[1.1, 1.2]
    )
    settings = [cell.setting for cell in cells if cell.model == "easy-model"]
    assert len(settings) == 2 * 2 * 2 * 3  # levels, r, tracking, and mixture or deviational with one theta or the other
    assert len({cell.id for cell in cells}) == len(cells) == 2 * len(settings)
    assert {(s["threshold"], s["theta"], s["constant"]) for s in settings} == {
        ("mixture", None, None),
        ("deviational", 1.1, 1.0),
        ("deviational", 1.2, 1.0),
    }


def test_a_cell_is_known_by_what_it_computes(tmp_path):
    first = cells_of(tmp_path, models="easy-model.toml", log_inv_deltas=1)[0]
    (tmp_path / "other.toml").write_text((tmp_path / "easy-model.toml").read_text().replace("Easy", "Other"))
    renamed = cells_of(tmp_path, models="other.toml", log_inv_deltas=1.0, runs=7, block=3)[0]
    assert (renamed.id, renamed.model, renamed.entry.title) == (first.id, "other", "Other")
    changes = [
        {"log_inv_deltas": 2},
        {"seed": 1},
        {"threshold": "mixture"},
        {"r": 0.3},
        {"r_prime": 0.05},
        {"gamma0": 0.2},
        {"tracking": "c"},
        {"cost_source": "observed"},
        {"cost_source": "observed", "cost_distribution": "exponential"},
        {"max_rounds": 99},
        {"task": "ranking"},
    ]
    found = {
        cells_of(tmp_path, **{"models": "easy-model.toml", "log_inv_deltas": 1} | change)[0].id for change in changes
    }
    assert len(found | {first.id}) == len(changes) + 1


def test_an_option_goes_with_whatever_threshold_declares_it(tmp_path, monkeypatch):
    @dataclass(frozen=True)
    class Steep(Customary):
        name = "steep"
        options = ("theta",)
        theta: float = 2.0

    monkeypatch.setitem(THRESHOLDS, "steep", Steep)
    cells = cells_of(tmp_path, log_inv_deltas=1, threshold=["mixture", "steep"], theta=[3, 4])
    assert {(cell.setting["threshold"], cell.setting["theta"]) for cell in cells} == {
        ("mixture", None),
        ("steep", 3.0),
        ("steep", 4.0),
    }
    with pytest.raises(InputError, match="takes no theta"):
        cells_of(tmp_path, threshold=["mixture", "customary"], theta=2)


def test_equal_names_in_two_folders_are_told_apart(tmp_path):
    study = write_study(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "free-model.toml").rename(tmp_path / "sub" / "easy-model.toml")
    text = (tmp_path / "study.toml").read_text().replace("*-model.toml", "**/easy-model.toml")
    (tmp_path / "study.toml").write_text(text)
    names = {cell.model for cell in make_cells(read_study(study))}
    assert names == {str(tmp_path / "easy-model"), str(tmp_path / "sub" / "easy-model")}


@pytest.mark.parametrize(("runs", "block"), [(1, 20), (100, 20), (1000, 25), (10**6, 1000)])
def test_blocks_are_of_a_sensible_size(tmp_path, runs, block):
    assert read_study(write_study(tmp_path, runs=runs, block=None)).block == block


def test_settings_that_are_no_more_are_passed_over(tmp_path):
    """A study that somebody keeps may name them."""
    assert read_study(write_study(tmp_path, outside_theory=True, loop="compiled", r=0.7)).grid["r"] == (0.7,)


def test_expected_rounds_are_about_right(tmp_path):
    for cell in cells_of(tmp_path, log_inv_deltas=[2, 8], threshold="mixture"):
        rounds = np.mean([record.rounds for record in run_many(cell.experiment, 20, 1)])
        assert expected_rounds(cell.experiment) == pytest.approx(rounds, rel=0.5)
        assert expected_rounds(cell.experiment.change(max_rounds=9)) == 9


def test_seconds_grow_with_the_rounds(tmp_path):
    quick, slow = cells_of(tmp_path, models="free-model.toml", log_inv_deltas=[1, 100])
    seconds = seconds_per_run([quick, slow])
    assert 0 < seconds[quick.id] < seconds[slow.id]


# blocks


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=8), st.integers(1, 70), st.integers(1, 30))
def test_missing_blocks_complete_a_cell(stored, runs, size):
    class Asked:
        id, seed = "cell", 3

    Asked.runs = runs
    blocks = [Block("cell", 3, first, number) for first, number in stored]
    missing = list(missing_blocks(Asked, blocks, size))
    have = {run for block in blocks for run in range(block.first, block.first + block.runs)}
    added = [run for block in missing for run in range(block.first, block.first + block.runs)]
    assert sorted(added) == sorted(set(range(runs)) - have)
    assert all(block.first // size == (block.first + block.runs - 1) // size for block in missing)
    assert list(gaps_between(blocks + missing, runs)) == []
    assert all(is_stored(block, blocks + missing) for block in missing)
    assert not any(is_stored(block, blocks) for block in missing)


def test_an_error_of_one_block_is_no_error_of_another(tmp_path):
    study = read_study(write_study(tmp_path, runs=5))
    progress = Progress()

    def engine(jobs):
        yield Outcome(jobs[0].block, None, "SolverError: no")
        yield from run_locally(jobs[1:], 1)

    store = Store(tmp_path / "out")
    sweep(study, make_cells(study), store, engine, progress)
    assert (progress.blocks_stored, len(progress.failures)) == (3, 1)
    assert store.read_manifest()["failures"] == progress.failures
    again = Progress()
    sweep(study, make_cells(study), store, lambda jobs: run_locally(jobs, 1), again)
    assert (again.blocks, again.blocks_stored, again.runs_stored) == (1, 1, 20)
    assert store.read_manifest()["failures"] == []


# files

RECORDS = [
    RunRecord(5, True, True, "(0, 1)", 7, 0.1 + 0.2, 6, 1e-8, (3, 4)),
    RunRecord(6, True, False, "héllo\0", 9, 5e-324, 0, 0.0, (9, 0)),
    RunRecord(7, False, None, "", 10**12, 1e308, 10**11, 0.25, (10**12, 0)),
]
BLOCK = Block("cell", 1, 5, 3)


def test_a_block_comes_back_as_it_was(tmp_path):
    content = store_module.block_bytes(BLOCK, RECORDS)
    path = tmp_path / store_module.file_name(BLOCK, content)
    path.write_bytes(content)
    block, version, table = store_module.read_block(path)
    assert (block, version) == (BLOCK, __version__)
    assert [RunRecord(*row.values()) for row in table.to_pylist()] == [
        record._replace(counts=list(record.counts)) for record in RECORDS
    ]


def test_no_damage_goes_unnoticed(tmp_path):
    whole, generator = store_module.block_bytes(BLOCK, RECORDS), random.Random(4)
    path = tmp_path / store_module.file_name(BLOCK, whole)
    for _ in range(300):
        harmed = bytearray(whole)
        harmed[generator.randrange(len(whole))] ^= 1 << generator.randrange(8)
        path.write_bytes(harmed[: generator.choice([len(whole), generator.randrange(len(whole))])])
        with pytest.raises(store_module.DamagedError):
            store_module.read_block(path)
    other = tmp_path / path.name.replace(BLOCK.name, BLOCK._replace(first=6).name)
    other.write_bytes(whole)
    with pytest.raises(store_module.DamagedError, match="does not hold what it says"):
        store_module.read_block(other)


def flipped(content, generator):
    """Bytes with one bit changed."""
    harmed = bytearray(content)
    harmed[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
    return bytes(harmed)


@pytest.mark.parametrize("bits", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_every_flipped_bit_of_a_store_is_noticed(folder, capsys, bits):
    """Half of them in the files of blocks and half in the manifest, each by itself; readers refuse, in one line."""
    generator, store = random.Random(7), Store(folder)
    files = sorted((folder / "blocks").iterdir())
    for number in range(bits):
        path = generator.choice(files) if number < bits // 2 else folder / "manifest.json"
        whole = path.read_bytes()
        path.write_bytes(flipped(whole, generator))
        with pytest.raises(InputError) as caught:
            (load_results, summarise_results)[number % 2](folder)
        assert path.name in str(caught.value)
        if path in files:
            assert store.take_stock().damaged == [path]
        if number % (bits // 4) == 0:
            for argv in (["table", str(folder)], ["report", str(folder), "-o", str(folder / "page.html")]):
                assert main(argv) == 2
                assert len(capsys.readouterr().err.splitlines()) == 1
        path.write_bytes(whole)
    assert len(load_results(folder)) == 96


def test_flipped_bits_are_computed_again(folder, tmp_path):
    generator, before = random.Random(8), contents(folder)
    for path in (folder / "blocks").iterdir():
        path.write_bytes(flipped(path.read_bytes(), generator))
    progress, study = Progress(), read_study(str(tmp_path / "study.toml"))
    sweep(study, make_cells(study), Store(folder), lambda jobs: run_locally(jobs, 1), progress)
    assert (progress.damaged, progress.blocks_stored) == (20, 20)
    assert contents(folder) == before


def rewritten(folder, version, cell, monkeypatch):
    """Have a cell's blocks written by another version."""
    store = Store(folder)
    for path, found in list(store.read_blocks()):
        if found.block.cell == cell:
            path.unlink()
            with monkeypatch.context() as patch:
                patch.setattr(store_module, "__version__", version)
                rows = [tuple(row.values()) for row in found.table.to_pylist()]
                store.write_block(found.block, [RunRecord(*row) for row in rows])


def test_blocks_of_another_version_are_told_and_not_mixed(folder, tmp_path, capsys, monkeypatch):
    study = read_study(str(tmp_path / "study.toml"))
    cells = make_cells(study)
    assert set(load_results(folder)["version"]) == {__version__}
    rewritten(folder, "0.0.1", cells[0].id, monkeypatch)
    assert load_results(folder).groupby("version", observed=True).size().to_dict() == {"0.0.1": 24, __version__: 72}
    assert main(["table", str(folder)]) == 0
    assert (
        f"The runs were made by caet-opt 0.0.1, {__version__}; this is caet-opt {__version__}."
        in capsys.readouterr().out
    )
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    assert "Runs of other versions: caet-opt 0.0.1" in (tmp_path / "page.html").read_text()
    before = contents(folder), (folder / "manifest.json").read_bytes()
    with pytest.raises(InputError, match=r"runs of caet-opt 0\.0\.1, .*; they can be read and reported, but"):
        sweep(study, cells, Store(folder), lambda jobs: run_locally(jobs, 1), Progress())
    assert (contents(folder), (folder / "manifest.json").read_bytes()) == before
    sweep(study, cells[1:], Store(folder), lambda jobs: run_locally(jobs, 1), Progress())  # cells of this version only


def test_versions_are_not_mixed_within_a_cell(folder, tmp_path, capsys, monkeypatch):
    study = read_study(str(tmp_path / "study.toml"))
    cells = make_cells(study)
    whole = contents(folder)
    rewritten(folder, "0.0.1", cells[0].id, monkeypatch)
    for name in set(whole) - set(contents(folder)):
        (folder / "blocks" / name).write_bytes(whole[name])
    message = f"are of caet-opt 0.0.1 and {__version__}, which differ; sweep the study in another folder"
    with pytest.raises(InputError, match=message):
        load_results(folder)
    assert main(["table", str(folder)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


#: Values that are no such thing, whatever a key stands for.
ODD = (None, True, -1, 0.5, "text", [], ["text"], [1, [2]], {}, {"a": []}, 10**400)


def manifests_of_wrong_content(manifest):
    """Manifests with a key missing or of another kind: of the manifest, of a cell, of a failure."""
    failure = {"cell": "x", "seed": 0, "first": 0, "runs": 1, "error": "no"}
    manifest = {**manifest, "failures": [failure]}
    for key, value in manifest.items():
        yield {name: one for name, one in manifest.items() if name != key}
        yield from ({**manifest, key: odd} for odd in ODD if type(odd) is not type(value))
    for part in ("cells", "failures"):
        first, *others = manifest[part]
        yield from ({**manifest, part: [odd, *others]} for odd in ODD)
        for key, value in first.items():
            yield {**manifest, part: [{name: one for name, one in first.items() if name != key}, *others]}
            odds = [
                odd
                for odd in ODD
                if type(odd) is not type(value)
                and not (key in ("title", "predicted_cost", "lower_bound", "upper_bound") and odd is None)
            ]
            yield from ({**manifest, part: [{**first, key: odd}, *others]} for odd in odds)
    cell, *others = manifest["cells"]
    for change in ({"means": [1.0]}, {"means": [1.0, 2.0]}, {"binding_statements": [[0, 7]]}, {"log_inv_delta": 5.0}):
        yield {**manifest, "cells": [{**cell, **change}, *others]}
    yield {**manifest, "cells": [cell, cell]}
    for name in ("name", "title"):
        yield {**manifest, "study": {**manifest["study"], name: 3}}


def test_a_manifest_of_wrong_content_is_one_line(folder, capsys):
    """Valid JSON, sealed as a manifest is: nothing but its content can be told wrong."""
    path, whole = folder / "manifest.json", Store(folder).read_manifest()
    commands = (["table", str(folder)], ["report", str(folder), "-o", str(folder / "page.html")])
    for number, wrong in enumerate(manifests_of_wrong_content(whole)):
        path.write_bytes(seal(wrong))
        with pytest.raises(InputError) as caught:
            load_results(folder)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        if number % 20 == 0:
            for argv in commands:
                assert main(argv) == 2
                err = capsys.readouterr().err
                assert message in err
                assert len(err.splitlines()) == 1


def test_a_missing_extra_is_named(capsys, monkeypatch, folder, tmp_path):
    monkeypatch.setattr(store_module, "find_spec", lambda name: None)
    for argv in (["sweep", str(tmp_path / "study.toml")], ["table", str(folder)]):
        assert main(argv) == 2
        assert "pip install 'caet-opt[studies]', or in a clone: pip install '.[studies]'" in capsys.readouterr().err


# results


def test_the_manifest_says_what_was_run(folder, tmp_path):
    manifest = Store(folder).read_manifest()
    assert manifest["format"] == 4
    assert manifest["study"]["log_inv_deltas"] == [1, 3]
    assert set(manifest["versions"]) == {"caet_opt", "python", "numpy", "numba", "pyarrow"}
    cells = make_cells(read_study(str(tmp_path / "study.toml")))
    assert [record["id"] for record in manifest["cells"]] == [cell.id for cell in cells]
    record, optimum = manifest["cells"][2], cells[2].experiment.optimum
    assert (record["model"], record["title"], record["arms"]) == ("free-model", None, ["a", "b", "c"])
    assert record["model_table"]["means"] == [9, 1, 4]
    assert record["characteristic_time"] == optimum.value
    assert record["sampling_proportions"] == optimum.sampling_proportions.tolist()
    assert record["lower_bound"] == cells[2].experiment.lower_bound
    assert record["predicted_cost"] == cells[2].experiment.predicted_cost > record["lower_bound"]


def test_the_frame_is_tidy(folder):
    frame = load_results(folder)
    assert len(frame) == 96
    assert "counts" not in frame
    assert {str(frame[name].dtype) for name in ("cell", "model", "task", "threshold", "answer")} == {"category"}
    assert str(frame["correct"].dtype) == "boolean"
    assert frame["theta"].isna().all()
    assert frame["title"].isna().sum() == 48
    assert frame["run"].tolist() == 4 * list(range(24))
    assert list(map(len, load_results(folder, counts=True)["counts"])) == 48 * [2] + 48 * [3]


def test_the_summary_is_that_of_simulate(folder, tmp_path):
    cells = make_cells(read_study(str(tmp_path / "study.toml")))
    summary = summarise_results(folder)
    assert summary["cell"].tolist() == [cell.id for cell in cells]
    for row, cell in zip(summary.itertuples(), cells, strict=True):
        records = run_many(cell.experiment, 24, 0)
        expected = summarise(cell.experiment, records)
        assert (row.runs, row.asked, row.unfinished) == (24, 24, 0)
        assert (row.mean_cost, row.mean_samples) == pytest.approx(
            (expected.mean_cost, expected.mean_samples), rel=1e-14
        )
        assert (row.cost_low, row.cost_high) == pytest.approx(expected.cost_ci, rel=1e-12)
        assert (row.error_rate, row.consistent) == (expected.error_rate, expected.consistent)
        assert (row.error_low, row.error_high) == expected.error_ci
        assert row.ratio == row.mean_cost / expected.lower_bound
        assert row.rounds_50 == np.median([record.rounds for record in records])
        costly = np.array([record.counts for record in records]) * (np.array(cell.entry.model.costs) > 0)
        assert row.proportions == pytest.approx((costly / costly.sum(axis=1, keepdims=True)).mean(axis=0), rel=1e-12)


def test_unfinished_runs_count(tmp_path):
    study = read_study(write_study(tmp_path, max_rounds=6, models="easy-model.toml", log_inv_deltas=40))
    sweep(study, make_cells(study), Store(tmp_path / "out"), lambda jobs: run_locally(jobs, 1), Progress())
    (row,) = summarise_results(tmp_path / "out").itertuples()
    assert (row.runs, row.unfinished, row.error_rate, row.error_high) == (24, 24, 0, 1)
    assert load_results(tmp_path / "out")["correct"].isna().all()


def test_blocks_that_overlap_count_once(folder):
    before = load_results(folder)
    cell = before["cell"].cat.categories[0]
    rows = before[before["cell"] == cell].iloc[3:9]
    records = [
        RunRecord(r.run, r.stopped, r.correct, r.answer, r.rounds, r.cost, r.solves, r.widest_gap, (r.rounds, 0))
        for r in rows.itertuples()
    ]
    Store(folder).write_block(Block(cell, 0, 3, 6), records)
    assert load_results(folder).equals(before)


def test_cells_without_runs(folder, capsys):
    cell = summarise_results(folder)["cell"][0]
    for path in list((folder / "blocks").iterdir()):
        if store_module.read_block(path).block.cell == cell:
            path.unlink()
    first, *others = summarise_results(folder).to_dict("records")
    assert (first["runs"], first["asked"]) == (0, 24)
    assert isnan(first["mean_cost"])
    assert [other["runs"] for other in others] == [24, 24, 24]
    assert main(["table", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "24 runs are missing; run the same sweep again to compute them." in out
    assert out.splitlines()[1].split()[:6] == ["easy-model", "1", "0", "-", "-", "-"]


@pytest.mark.parametrize("name", ["terminal", "markdown", "latex", "latex-fragment"])
def test_results_as_a_table_for_people(folder, capsys, name):
    assert main(["table", str(folder), "--format", name]) == 0
    out = capsys.readouterr().out
    assert out.count("free-model") == 2
    narrow = name.startswith("latex")  # a page has no room for all columns, nor for what is said of them
    assert out.count("redicted") == (0 if narrow else 2)  # the column, and what it means
    assert ("Clopper" in out) != narrow


def test_results_as_a_table_for_machines(folder, capsys):
    summary = summarise_results(folder)
    assert main(["table", str(folder), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    for name in ("mean_cost", "predicted_cost"):
        assert [float(row[name]) for row in rows] == summary[name].tolist()
    assert [json.loads(row["error_interval"]) for row in rows] == summary[["error_low", "error_high"]].values.tolist()
    assert main(["table", str(folder), "--format", "json", "--columns", "model,ratio,u*"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["ratio"] for row in found["rows"]] == summary["ratio"].tolist()
    assert list(found["rows"][0]) == ["model", "ratio", "sampling_proportions", "error"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("{folder} --delta 0.1", "--delta is for models; these results are already computed"),
        ("{folder} --solvers clarabel", "--solvers is for models"),
        ("{folder} {folder}", "give one folder of results"),
        ("{folder} --columns model,rato", "unknown column 'rato'; did you mean 'ratio'?"),
        ("{folder}/blocks", "no model file"),
    ],
)
def test_a_bad_table_of_results(folder, capsys, words, message):
    assert main(["table", *words.format(folder=folder).split()]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_results(tmp_path):
    for function in (load_results, summarise_results):
        with pytest.raises(InputError, match="no results here"):
            function(tmp_path)


def test_a_figure_has_a_panel_per_model_and_the_bounds(folder):
    pytest.importorskip("matplotlib")
    from caet_opt.presenting.figures.study import study_figure

    summary = summarise_results(folder)
    canvas = study_figure(summary)
    assert [axis.get_title() for axis in canvas.axes] == ["easy-model", "free-model"]
    for axis, model in zip(canvas.axes, ("easy-model", "free-model"), strict=True):
        rows = summary[summary["model"] == model]
        lines = {line.get_label(): line.get_ydata() for line in axis.get_lines()}
        assert set(lines) == {"CAET", "lower bound", "upper bound, asymptotic"}
        assert list(lines["CAET"]) == (rows["mean_cost"] / rows["log_inv_delta"]).tolist()
    summary["runs"], summary["mean_cost"] = 0, nan
    with pytest.raises(InputError, match="there is no run to draw"):
        study_figure(summary)
