"""Files that people keep: whatever an earlier version wrote is read, says the same, and can be gone on with."""

import json
import shutil
import sqlite3
from pathlib import Path

import kept_files
import pytest

from caet_opt import Caet, InputError, LiveExperiment, load_results, run_study, summarise_results, write_report
from caet_opt.cli import main
from caet_opt.exploring import earlier, settings
from caet_opt.exploring.saving import FORMAT, from_text
from caet_opt.exploring.stopping import THRESHOLDS, by_round, e_process
from caet_opt.simulating.studies import store as store_module
from caet_opt.simulating.studies.cells import digest
from caet_opt.simulating.studies.manifest import seal, unseal
from caet_opt.simulating.studies.store import Store
from caet_opt.version import __version__, has_equal_results, order
from cases.runs import without_compiled

KEPT = Path(__file__).parent / "kept"

EXPECTED = {
    f"{folder.name}/{name}": entry
    for folder in sorted(KEPT.iterdir())
    if folder.is_dir()
    for name, entry in json.loads((folder / "expected.json").read_text()).items()
}

#: What sums of two versions may differ by, relatively.
ROUNDING = 1e-12


def kept_as(kind):
    """The files of a kind."""
    return [name for name in EXPECTED if name.split("/")[1] == kind]


def asked_of(name):
    """What the experiment in a file was started with; names of earlier formats have a word more."""
    stem = Path(name).stem
    return kept_files.EXPERIMENTS[stem if stem in kept_files.EXPERIMENTS else stem.partition("-")[2]]


def near(value):
    """A number, or None, up to rounding."""
    return None if value is None else pytest.approx(value, rel=ROUNDING, abs=0)


def test_nothing_is_kept_that_is_not_read():
    files = {str(path.relative_to(KEPT)) for path in KEPT.rglob("*") if path.is_file()}
    studies = {name for name in files if "/study/" in name}
    told = {"README.md", *(name for name in files if name.endswith("/expected.json"))}
    assert files - studies - told == {name for name in EXPECTED if "/study/" not in name}
    assert len(files) > 100


@pytest.mark.parametrize("name", kept_as("live"))
def test_a_live_experiment_says_what_it_said_and_goes_on(name, tmp_path):
    expected, path = EXPECTED[name], tmp_path / "kept.caet"
    shutil.copyfile(KEPT / name, path)
    with LiveExperiment.open(path) as experiment:
        status = experiment.status()
        assert experiment.verify() == []
    for key in ("guaranteed", "handed_out", "recorded", "withdrawn", "waiting", "answer"):
        assert status[key] == expected[key]
    assert status["spent"] == near(expected["spent"])
    assert (status["stopped"] and status["stopped"]["outcome"]) == expected["stopped"]
    arms = [[arm["name"], arm["pulls"], arm["mean"]] for arm in status["arms"]]
    assert arms == [[name, pulls, near(mean)] for name, pulls, mean in expected["arms"]]
    go_on_live(path, name, expected)


def go_on_live(path, name, expected):
    """Four more pulls, or none where it has stopped, and one that was out."""
    _, family, _, _, settings = asked_of(name)
    with LiveExperiment.open(path) as experiment:
        pulls = experiment.next(4)
        assert len(pulls) == (0 if expected["stopped"] else 4)
        out = [row for row in experiment.export() if row["position"] is None and row["withdrawn"] is None]
        for row in (*out[:1], *out[-3:]):
            cost = kept_files.cost_of(settings, row["arm"], 0)
            experiment.record(None, kept_files.reward_of(family, row["arm"], 0), cost, pull=row["pull"])
        assert experiment.status()["recorded"] == expected["recorded"] + len((*out[:1], *out[-3:]))
        assert experiment.verify() == []
        with experiment._store.reading() as db:
            assert json.loads(db.execute("SELECT saved FROM checkpoint").fetchone()[0])["format"] == FORMAT or not out


@pytest.mark.parametrize("name", [*kept_as("saved"), *kept_as("saved-compiled")])
def test_a_saved_explorer_goes_on_as_it_would_have(name):
    expected, (_, family, _, _, settings) = EXPECTED[name], asked_of(name)
    check_explorer(Caet.resume(KEPT / name), expected, family, settings)
    with without_compiled():
        check_explorer(Caet.resume(KEPT / name), expected, family, settings)


def check_explorer(explorer, expected, family, settings):
    """The state, and the arms that are pulled next."""
    state = explorer.state
    assert (state.round, list(state.counts)) == (expected["round"], expected["counts"])
    assert list(state.reward_sums) == [near(total) for total in expected["reward_sums"]]
    assert state.total_cost == near(expected["total_cost"])
    assert (explorer.stopped, repr(explorer.answer)) == (expected["stopped"], expected["answer"])
    assert [kept_files.go_on(explorer, family, settings) for _ in range(20)] == expected["next"]


@pytest.mark.parametrize("name", kept_as("certificates"))
def test_a_certificate_is_accepted(name, capsys):
    assert main(["check", str(KEPT / name)]) == 0
    assert capsys.readouterr().err == ""


@pytest.fixture
def study(tmp_path):
    """A copy of the study of 0.2.0, whose default was C-tracking."""
    shutil.copytree(KEPT / "0.2.0" / "study", tmp_path / "study")
    asked = tmp_path / "study" / "study.toml"
    asked.write_text(f'tracking = "c"\n{asked.read_text()}')
    return tmp_path / "study"


def test_a_study_is_read_summarised_and_reported(study, tmp_path, capsys):
    (expected,) = (EXPECTED[name] for name in kept_as("study"))
    runs = load_results(study / "outcome")
    assert (len(runs), int(runs["cell"].nunique()), int(runs["rounds"].sum())) == (
        *(expected["runs"], expected["cells"]),
        expected["rounds"],
    )
    assert float(runs["cost"].sum()) == near(expected["cost"])
    assert set(runs["version"]) == {"0.2.0"}
    assert int(summarise_results(study / "outcome")["runs"].sum()) == expected["runs"]
    write_report(study / "outcome", tmp_path / "page.html")
    assert "Kept" in (tmp_path / "page.html").read_text()
    assert main(["table", str(study / "outcome")]) == 0
    assert capsys.readouterr().err == ""


def contents(folder):
    """Every file, but for what says who has the lock."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "sweep" not in path.name}


@pytest.mark.parametrize("how", ["sweep", "dry run", "Python"])
def test_a_study_of_a_version_with_other_runs_is_kept_and_not_gone_on_with(study, how, monkeypatch, capsys):
    before = contents(study)
    monkeypatch.setattr(store_module, "__version__", "0.5.0")
    argv = ["sweep", str(study / "study.toml"), "--out", str(study / "outcome"), "--workers", "1"]
    message = f"{study / 'outcome'}: has runs of caet-opt 0.2.0, which differ from those of 0.5.0; "
    if how == "Python":
        with pytest.raises(InputError, match="name another folder"):
            run_study(study / "study.toml", study / "outcome")
    else:
        assert main([*argv, "--dry-run"] if how == "dry run" else argv) == 2
        line = capsys.readouterr().err.splitlines()[-1]  # the first time, compiling is announced before it
        assert message in line
    assert contents(study) == before


def test_versions_whose_runs_are_the_same():
    assert has_equal_results("0.2.0", "0.2.0")
    assert has_equal_results("0.5.0", "0.5.1")
    assert not has_equal_results("0.3.0", "0.5.0")
    assert not has_equal_results("0.1.0", "0.2.0")
    assert not has_equal_results("0.9.0", "0.5.0")
    assert not has_equal_results("unknown", "0.5.0")
    assert order("0.10.0") > order("0.9")


def test_a_study_of_a_version_with_the_same_runs_is_gone_on_with(study, monkeypatch):
    """Its runs count, and a cell may have runs of both."""
    monkeypatch.setattr(store_module, "has_equal_results", lambda *versions: True)
    monkeypatch.setattr("caet_opt.simulating.studies.stored_runs.has_equal_results", lambda *versions: True)
    text = (study / "study.toml").read_text()
    (study / "study.toml").write_text(text.replace("runs = 20", "runs = 21"))
    monkeypatch.setattr(store_module, "__version__", "0.2.1")
    run_study(study / "study.toml", study / "outcome")
    runs = load_results(study / "outcome")
    assert len(runs) == EXPECTED["0.2.0/study/outcome"]["runs"] * 21 / 20
    assert set(runs["version"]) == {"0.2.1"}


def changed_manifest(study, change):
    """Have the manifest's cells changed, each with the id that it then has, and files with them."""
    store = Store(study / "outcome")
    manifest = unseal((study / "outcome" / "manifest.json").read_bytes())
    for cell in manifest["cells"]:
        change(cell)
    store.write_manifest(manifest)
    return manifest


def identify_by(cell, names):
    """The id of a cell as a version with these settings makes it."""
    truth = [cell[name] for name in ("family", "means", "arm_costs", "task")]
    return digest([[*truth, cell["model_table"].get("answers")], {name: cell[name] for name in names if name in cell}])


SETTING = ("log_inv_delta", *(setting.name for setting in settings.RECORDED), "seed")


def test_a_setting_that_a_manifest_lacks_means_what_it_meant(study, tmp_path):
    """As if `tracking` had come after 0.2.0; read as it is, written back as it was."""

    def forget(cell):
        del cell["tracking"]
        cell["id"] = identify_by(cell, SETTING)

    stored = changed_manifest(study, forget)
    store = Store(study / "outcome")
    assert {cell["tracking"] for cell in store.read_manifest()["cells"]} == {"c"}
    assert store.read_stored_manifest()["cells"] == stored["cells"]
    assert len(summarise_results(study / "outcome")) == len(stored["cells"])


def test_a_setting_that_is_not_known_is_named(study):
    def add(cell):
        cell["zeal"] = 3
        cell["id"] = identify_by(cell, (*SETTING, "zeal"))

    changed_manifest(study, add)
    with pytest.raises(InputError, match=r"cell 0: setting 'zeal' is not known to caet-opt .*; caet-opt 0\.2\.0 wrote"):
        load_results(study / "outcome")


def test_a_dropped_setting_is_passed_over(study, monkeypatch):
    def add(cell):
        cell["zeal"] = 3
        cell["id"] = identify_by(cell, (*SETTING, "zeal"))

    changed_manifest(study, add)
    monkeypatch.setattr("caet_opt.simulating.studies.cells.DROPPED", ("zeal",))
    assert len(Store(study / "outcome").read_manifest()["cells"]) > 1


def test_a_manifest_of_a_newer_format_says_so(study):
    path = study / "outcome" / "manifest.json"
    path.write_bytes(seal(unseal(path.read_bytes()) | {"format": 5}))
    with pytest.raises(InputError, match="made by a newer caet-opt"):
        load_results(study / "outcome")


def test_a_block_with_other_columns_is_of_another_version_and_not_damaged(study):
    """Of a version that has no `solves`, and one column more: what is known is read, and nothing is deleted."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    before = load_results(study / "outcome")
    for path, (block, _, table) in list(Store(study / "outcome").read_blocks()):
        other = table.drop_columns("solves").append_column("warmth", pa.array([0.5] * table.num_rows))
        label = json.dumps({**block._asdict(), "caet_opt": "0.9.0"})
        sink = pa.BufferOutputStream()
        pq.write_table(other.replace_schema_metadata({store_module.METADATA: label}), sink)
        path.unlink()
        (path.parent / store_module.file_name(block, bytes(sink.getvalue()))).write_bytes(sink.getvalue())
    found, files = load_results(study / "outcome"), contents(study)
    assert list(found["rounds"]) == list(before["rounds"])
    assert found["solves"].isna().all()
    stock = Store(study / "outcome").take_stock()
    assert stock.damaged == []
    assert set().union(*stock.outdated.values()) == {"0.9.0"}
    with pytest.raises(InputError, match=r"has runs of caet-opt 0\.9\.0"):
        run_study(study / "study.toml", study / "outcome")
    assert contents(study) == files


# Settings and thresholds of saved experiments


@pytest.fixture
def record():
    """A saved experiment of 0.2.0."""
    return json.loads((KEPT / "0.2.0" / "saved" / "caet-exact.json").read_text())


def resumed(record, tmp_path):
    """The explorer that a record gives."""
    (tmp_path / "changed.json").write_text(json.dumps(record))
    return Caet.resume(tmp_path / "changed.json")


#: All that 0.2.0 had.
KEPT_SETTINGS = (
    *("policy", "threshold", "rho", "theta", "constant", "zero_cost_share", "r", "r_prime", "gamma0", "tracking"),
    *("solve", "batch", "cost_source", "cost_distribution", "max_rounds", "outside_theory", "solver", "loop"),
)

#: What it did not have, and what everything was as if it had been.
NEW_SETTINGS = {"max_cost": None, "max_pulls": None, "limits": None, "fractions": False}


def test_the_last_line_of_every_default_is_the_present_one():
    """A default that changes is a line in `earlier`."""
    present = {setting.name: setting.default for setting in settings.SETTINGS}
    found = earlier.defaults_of(__version__)
    assert {name: found[name] for name in present} == present
    assert set(earlier.since(earlier.DEFAULTS, "0.2.0")) == set(KEPT_SETTINGS)


def test_the_last_line_of_every_meaning_is_the_present_one():
    present = {
        ("rho", None): e_process.DEFAULT_RHO,
        ("theta", None): THRESHOLDS["deviational"].theta,
        ("constant", None): THRESHOLDS["deviational"].constant,
        ("solve", "lazy"): f"lazy:{settings.LAZY_GAP:g}",
        ("batch", "growing"): f"growing:{settings.BATCH_RATIO:g}",
    }
    assert earlier.since(earlier.MEANINGS, __version__) == present
    assert by_round.Deviational is THRESHOLDS["deviational"]


@pytest.mark.parametrize("setting", [setting.name for setting in settings.SETTINGS if setting.owner != "simulation"])
def test_a_missing_setting_is_its_default(record, setting, tmp_path):
    value = NEW_SETTINGS[setting] if setting in NEW_SETTINGS else record["settings"].pop(setting)
    if setting in ("threshold", "cost_source"):  # resolved when an experiment is started
        value = {"threshold": "e-process", "cost_source": "known"}[setting]
    assert getattr(resumed(record, tmp_path).parameters, setting) == value


def test_a_missing_setting_is_the_default_of_the_version_that_wrote_it(record, tmp_path, monkeypatch):
    """As if a later version tracked otherwise by default."""
    monkeypatch.setitem(earlier.DEFAULTS, "0.9.0", {"tracking": "d"})
    assert earlier.defaults_of("0.2.0")["tracking"] == "c"
    del record["settings"]["tracking"]
    assert resumed(record, tmp_path).parameters.tracking == "c"
    assert resumed(record | {"version": "0.9.1"}, tmp_path).parameters.tracking == "d"


@pytest.mark.parametrize(
    ("setting", "word", "meaning"),
    [("rho", None, 8.0), ("solve", "lazy", "lazy:0.1"), ("batch", "growing", "growing:0.1")],
)
def test_a_word_whose_meaning_has_changed_means_what_it_meant(record, setting, word, meaning, tmp_path, monkeypatch):
    record["settings"][setting] = word
    assert getattr(resumed(record, tmp_path).parameters, setting) == word
    monkeypatch.setattr(earlier, "__version__", "0.9.0")
    monkeypatch.setitem(earlier.MEANINGS, "0.9.0", {(setting, word): "something else"})
    assert getattr(resumed(record, tmp_path).parameters, setting) == meaning
    assert resumed(record, tmp_path).parameters.theta is None  # no option of the e-process


def test_a_setting_of_a_newer_version_is_named(record, tmp_path):
    record["settings"]["zeal"] = 3
    with pytest.raises(InputError, match=r"setting 'zeal' is not known to caet-opt .*; caet-opt 0\.9\.0 wrote it"):
        resumed(record | {"version": "0.9.0"}, tmp_path)


def test_a_setting_that_was_dropped_is_passed_over(record, tmp_path, monkeypatch):
    record["settings"]["zeal"] = 3
    monkeypatch.setattr(earlier, "DROPPED", (*earlier.DROPPED, "zeal"))
    assert resumed(record, tmp_path).state.round == 60


@pytest.mark.parametrize("told", [False, True])
def test_what_was_allowed_outside_the_theory_goes_on(record, tmp_path, told):
    record["settings"] |= {"outside_theory": told, "r": 0.7 if told else 0.4}
    assert resumed(record, tmp_path).parameters.r == record["settings"]["r"]


def test_a_key_of_a_newer_version_is_named(record, tmp_path):
    with pytest.raises(InputError, match=r"key 'mood' is not known to caet-opt .*; caet-opt 0\.9\.0 wrote it"):
        resumed(record | {"mood": 1, "version": "0.9.0"}, tmp_path)
    with pytest.raises(InputError, match=r"made by a newer caet-opt \(caet-opt experiment 99, known here up to"):
        resumed(record | {"format": "caet-opt experiment 99"}, tmp_path)


def test_a_threshold_is_compared_by_what_it_computes(record, tmp_path):
    assert resumed(record | {"formula": "evidence above log(R / delta)"}, tmp_path).state.round == 60
    caet = resumed(record, tmp_path)
    caet.save(tmp_path / "new.json")
    new = json.loads((tmp_path / "new.json").read_text())
    assert resumed(new | {"formula": "evidence above log(R / delta)"}, tmp_path).state == caet.state
    nearly = [value * (1 + 1e-12) for value in new["threshold_values"]]
    assert resumed(new | {"threshold_values": nearly}, tmp_path).state == caet.state
    for change in ({"log_inv_delta": 3.0}, {"settings": new["settings"] | {"rho": 9}}, {"threshold_values": [1, 2, 3]}):
        with pytest.raises(InputError, match="its threshold is"):
            resumed(new | change, tmp_path)


# Live files that were changed, as a later version or a fault of the disk might leave them


@pytest.fixture
def live(tmp_path):
    """A copy of a live experiment of 0.2.0."""
    shutil.copyfile(KEPT / "0.2.0" / "live" / "caet-exact.caet", tmp_path / "kept.caet")
    return tmp_path / "kept.caet"


def edit(path, tables, change):
    """Have the saved texts in some tables changed."""
    connection = sqlite3.connect(path)
    for table in tables:
        (text,) = connection.execute(f"SELECT saved FROM {table}").fetchone()
        connection.execute(f"UPDATE {table} SET saved = ?", (change(text),))
    connection.commit()
    connection.close()


def in_json(change):
    """A change of a table, as one of its text."""

    def change_text(text):
        found = json.loads(text)
        change(found)
        return json.dumps(found)

    return change_text


BOTH = ("experiment", "checkpoint")


@pytest.mark.parametrize(
    ("tables", "change", "verified"),
    [
        (BOTH, in_json(lambda saved: saved["settings"].pop("tracking")), True),
        (("checkpoint",), in_json(lambda saved: saved["settings"].pop("tracking")), True),
        (BOTH, in_json(lambda saved: saved.update(formula="in other words")), True),
        (("checkpoint",), in_json(lambda saved: saved["state"].update(memory=[1, 1, 39])), True),
        (("checkpoint",), in_json(lambda saved: saved.update(format="caet-opt experiment 99")), False),
        (("checkpoint",), in_json(lambda saved: saved.update(kept=None)), False),
        (("checkpoint",), in_json(lambda saved: saved.update(state={})), False),
        (("checkpoint",), lambda text: text[:-100], False),
        (("checkpoint",), lambda text: "", False),
    ],
)
def test_a_checkpoint_is_made_anew_from_the_rows(live, tables, change, verified):
    with LiveExperiment.open(live) as experiment:
        before = experiment.status()
    edit(live, tables, change)
    with LiveExperiment.open(live) as experiment:
        assert experiment.status() == before
        assert (experiment.verify() == []) is verified
        (pull,) = experiment.next()  # which keeps it
        assert experiment.verify() == []
        experiment.record(pull.arm, 1, pull=pull.number)
        assert experiment.verify() == []
    with sqlite3.connect(live) as connection:
        (text,) = connection.execute("SELECT saved FROM checkpoint").fetchone()
    assert from_text(text).is_current


def test_an_unknown_setting_of_a_live_experiment_is_named(live, capsys):
    edit(live, BOTH, in_json(lambda saved: saved["settings"].update(zeal=3)))
    assert main(["experiment", "status", str(live)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{live}: setting 'zeal' is not known to caet-opt {__version__}; caet-opt 0.2.0 wrote it" in line
