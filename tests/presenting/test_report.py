"""``caet-opt report``: the page holds the store's numbers, takes no title for a tag, and refuses what is no results."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec
from math import exp, isnan, log
from pathlib import Path

import pytest
from commands import expect_refusal
from report_pages import EVIL, make_results

from caet_opt import summarise_results
from caet_opt.cli import main
from caet_opt.presenting.report import page, render
from caet_opt.presenting.report import page_data as results_module
from caet_opt.presenting.report.findings import say_model
from caet_opt.presenting.report.page_data import collect_data, label_models, number_repeats, read_results, write_level
from caet_opt.simulating.studies import store as store_module
from caet_opt.version import __version__

pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: studies)")
pytest.importorskip("jinja2", reason="Jinja2 is not installed (extra: report)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def html(folder):
    return page.report_page(folder)


class Reader(HTMLParser):
    """The tags of a page, its texts by tag, and the data in it."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts = [], {}
        self.feed(html)
        self.data = json.loads(next(text for text in self.texts["script"] if text.startswith('{"models"')))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags and data.strip():
            self.texts.setdefault(self.tags[-1][0], []).append(data)


def same(found, expected):
    """Whether a value of the page is the store's, a missing one being nothing."""
    missing = expected is None or (isinstance(expected, float) and isnan(expected))
    return found in (None, "") if missing else found == expected


def test_the_charts_have_the_numbers_of_the_store(folder):
    data = collect_data(read_results(folder))
    summary = {row["cell"]: row for row in summarise_results(folder).to_dict("records")}
    assert {cell["id"] for cell in data["cells"]} == set(summary)
    for cell in data["cells"]:
        row = summary[cell["id"]]
        drawn = {
            "log_inv_delta": cell["level"],
            "runs": cell["runs"],
            "lower_bound": cell["lower"],
            "upper_bound": cell["upper"],
            "predicted_cost": cell["predicted"],
            "mean_samples": cell["samples"],
            "proportions": cell["proportions"],
            **dict(zip(("mean_cost", "cost_low", "cost_high"), cell["cost"], strict=True)),
            **dict(zip(("ratio", "ratio_low", "ratio_high"), cell["ratio"], strict=True)),
            **dict(zip(("error_rate", "error_low", "error_high"), cell["error"], strict=True)),
        }
        assert all(same(value, row[name]) for name, value in drawn.items())
        rounds = cell["rounds"] or [None] * 5
        assert all(same(rounds[at], row[f"rounds_{q}"]) for at, q in enumerate((5, 25, 50, 75, 95)))


def test_the_files_have_every_column_in_full(folder):
    data = collect_data(read_results(folder))
    text = data["files"]["cells"] + "".join(cell["csv"] for cell in data["cells"])
    rows = list(csv.DictReader(io.StringIO(text)))
    summary = summarise_results(folder)
    assert list(rows[0]) == list(summary.columns)
    for row, expected in zip(rows, summary.set_index("cell").loc[[row["cell"] for row in rows]].iloc, strict=True):
        for name, value in expected.items():
            if isinstance(value, list):
                assert json.loads(row[name]) == value
            elif isinstance(value, float):
                assert row[name] == "" if isnan(value) else float(row[name]) == value
            else:
                assert row[name] == ("" if value is None else str(value))


def test_series_differ_in_delta_only(folder):
    results = read_results(folder)
    assert results.parameters == {"threshold": ["customary", "deviational"]}
    assert [(series.model, series.note) for series in results.series] == [
        (model, note) for model in (0, 1) for note in ("customary", "deviational")
    ]
    levels = [row["log_inv_delta"] for row in results.rows]
    assert levels == [1.0, 3.0] * 4


def test_policies_are_series_with_a_filter_and_names(folder, monkeypatch):
    """Cells that differ in their threshold, taken for cells that differ in their policy."""
    policies = {"customary": "caet", "deviational": "top-two"}
    summary = summarise_results(folder)
    summary = summary.assign(
        policy=summary["threshold"].map(policies), threshold="customary", theta=None, constant=None
    )
    monkeypatch.setattr(results_module, "summarise_results", lambda folder: summary)
    results = read_results(folder)
    assert results.parameters == {"policy": ["caet", "top-two"]}
    assert [(series.model, series.note) for series in results.series] == [
        (model, note) for model in (0, 1) for note in ("caet", "top-two")
    ]
    read = Reader(page.report_page(folder))
    boxes = [attrs["value"] for _, attrs in read.tags if attrs.get("name") == "parameter-policy"]
    assert boxes == ["caet", "top-two"]
    assert "caet, top-two" in read.texts["dd"]
    assert "free-model, top-two" in read.texts["th"]
    assert [series["label"] for series in read.data["series"][2:]] == ["free-model, caet", "free-model, top-two"]


def test_what_is_missing_or_failed_is_said(html):
    texts = Reader(html).texts
    assert "2 models, 8 cells, 91 runs of 96 runs asked for (94.8 %)" in texts["p"]
    assert "The sweep is not finished: 5 runs asked for, not stored yet." in texts["p"]
    assert "1 block of runs given up after repeated errors: 5 runs in all." in texts["p"]
    assert f"ValueError: {EVIL}" in texts["td"]
    assert any("had not stopped in the rounds allowed" in text for text in texts["p"])


def test_other_versions_and_too_many_errors_are_said(folder, monkeypatch):
    results = read_results(folder)
    rows = [{**row, "version": "0.0.1", "consistent": at > 0} for at, row in enumerate(results.rows)]
    monkeypatch.setattr(page, "read_results", lambda folder: replace(results, rows=rows))
    texts = Reader(page.report_page(folder)).texts
    assert f"Runs of other versions: caet-opt 0.0.1; this page is by {__version__}." in texts["p"]
    assert "Significantly more errors than δ allows: 1 cell." in texts["p"]
    assert "Cells with too many errors: 1" in texts["summary"]


def test_a_whole_sweep_has_no_failures(tmp_path):
    texts = Reader(page.report_page(make_results(tmp_path, damage=False, max_rounds=10_000_000))).texts
    assert "96 runs, all that were asked for" in texts["span"]
    assert "None: every run that was asked for is here, and every run stopped." in texts["p"]


def test_findings_come_first_and_settings_last(html):
    sections = [attrs["id"] for name, attrs in Reader(html).tags if name == "section"]
    assert (sections[0], sections[-1]) == ("findings", "run")


def row(policy, threshold, ratio, half=0.1, level=2.0, proven=True, consistent=True, **more):
    """A cell of a model with a lower bound of 10, known by its policy and its threshold."""
    found = {"policy": policy, "threshold": threshold, "delta": 0.1, "log_inv_delta": level, "guaranteed": proven}
    found |= {"family": "gaussian"}
    cost = {"mean_cost": 10 * ratio, "cost_low": 10 * (ratio - half), "cost_high": 10 * (ratio + half)}
    ratios = {"ratio": ratio, "ratio_low": ratio - half, "ratio_high": ratio + half}
    named = {"cell": f"{policy} {threshold} {level}", "seed": 1, "unfinished": 0}
    return found | cost | ratios | named | {"runs": 5, "consistent": consistent} | more


def run_costs(rows, runs=12):
    """Costs of runs that vary widely, and from cell to cell by little besides the difference of their means."""
    common = [4.0 * (run - (runs - 1) / 2) for run in range(runs)]
    own = [0.5 * (-1) ** run for run in range(runs)]
    return {
        row["cell"]: {run: row["mean_cost"] + common[run] + at * own[run] for run in range(runs)}
        for at, row in enumerate(rows)
    }


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [row("caet", "e-process", 1.5)],
            "At log(1/δ) = 2, caet with the e-process threshold costs 1.500 times the lower bound (95 % in [1.400, "
            "1.600]); its threshold is proven for independent Gaussian rewards of "
            "variance 1; error rates are consistent with δ in 1 cell.",
        ),
        (
            [row("caet", "mixture", 2.0), row("top-two", "mixture", 1.5), row("top-two", "mixture", 9.0, level=1.0)],
            "At log(1/δ) = 2, top-two with the mixture threshold costs least, 1.500 times the lower bound (95 % in "
            "[1.400, 1.600]); in the same runs caet with the mixture threshold costs 5.000 more (95 % in [4.622, "
            "5.378]); its threshold is proven for independent Gaussian rewards of "
            "variance 1; error rates are consistent with δ in all 3 cells.",
        ),
        (
            [row("caet", "customary", 1.5, proven=False), row("caet", "mixture", 1.51, consistent=False)],
            "At log(1/δ) = 2, caet with the customary threshold costs least, 1.500 times the lower bound (95 % in "
            "[1.400, 1.600]); in the same runs caet with the mixture threshold costs 0.100 more (95 % in [-0.278, "
            "0.478]); its threshold is not proven for independent Gaussian rewards of "
            "variance 1; the cheapest that is proven is caet with the mixture "
            "threshold, which costs 1.510 times the lower bound (95 % in [1.410, 1.610]); significantly more errors "
            "than δ allows in 1 of 2 cells.",
        ),
    ],
)
def test_a_finding_says_what_costs_least_and_what_it_is_worth(rows, sentence):
    assert say_model(rows, run_costs(rows)) == sentence


def test_policies_are_compared_run_by_run():
    """The intervals of all three overlap; the differences in the same runs tell two of them apart."""
    rows = [row("caet", "mixture", 1.5, half=0.5), row("top-two", "mixture", 1.51, half=0.5)]
    rows += [row("uniform", "mixture", 1.7, half=0.5)]
    found = say_model(rows, run_costs(rows))
    assert "in the same runs top-two with the mixture threshold costs 0.100 more" in found
    assert "1 of 2 others may cost as little, by the 95 % intervals of such differences" in found
    assert "overlap" not in found


def test_cells_that_differ_in_another_setting_are_told_apart():
    rows = [row("caet", "mixture", 1.5, apart="solve exact"), row("caet", "customary", 1.6, apart="solve lazy")]
    found = say_model(rows, run_costs(rows))
    assert "caet with the mixture threshold (solve exact) costs least" in found
    assert "in the same runs caet with the customary threshold (solve lazy) costs 1.000 more" in found


@pytest.mark.parametrize("change", [{"seed": 2}, {"unfinished": 1}])
def test_runs_of_other_draws_or_without_an_end_are_not_compared(change):
    rows = [row("caet", "mixture", 1.5), row("top-two", "mixture", 2.0, **change)]
    assert "same runs" not in say_model(rows, run_costs(rows))


@pytest.mark.parametrize(
    ("delta", "level", "text"),
    [
        (0.05, -log(0.05), "δ = 0.05"),
        (1e-6, -log(1e-6), "δ = 1e-6"),
        (exp(-3.0), 3.0, "log(1/δ) = 3"),
        (exp(-100.0), 100.0, "log(1/δ) = 100"),
    ],
)
def test_delta_is_shown_as_it_was_typed(delta, level, text):
    assert write_level({"delta": delta, "log_inv_delta": level}) == text


def test_colour_means_the_model_or_the_policy_and_dash_the_threshold(folder):
    results = read_results(folder)
    assert results.looks == {"model": "colour", "threshold": "dash"}
    assert [(mark["colour"], mark["dash"]) for mark in results.marks] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    settings = [{"policy": policy, "threshold": "mixture"} for policy in ("caet", "uniform")] * 2
    series = [replace(one, settings=setting) for one, setting in zip(results.series, settings, strict=True)]
    results = replace(results, series=series)
    assert results.looks == {"model": "symbol", "policy": "colour", "threshold": "dash"}
    assert [(mark["colour"], mark["symbol"]) for mark in results.marks] == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_the_filter_says_what_looks_mean(html):
    legends = Reader(html).texts["legend"]
    assert legends[:2] == ["Models, by colour", "threshold, by line"]


def test_free_arms_have_a_share_of_the_pulls(folder):
    cells = [cell for cell in collect_data(read_results(folder))["cells"] if cell["pulls"] and len(cell["pulls"]) == 3]
    for cell in cells:
        assert sum(cell["pulls"]) == pytest.approx(1)
        assert cell["pulls"][0] > 0 == cell["proportions"][0]
    assert cells


def test_text_of_the_study_stays_text(html):
    read = Reader(html)
    assert [attrs.get("type") for name, attrs in read.tags if name == "script"] == ["application/json", None]
    assert not [name for name, _ in read.tags if name in ("img", "b", "iframe")]
    assert read.texts["h1"] == [EVIL]
    assert read.data["models"][0]["label"] == EVIL
    assert read.data["models"][0]["arms"] == [EVIL, "plain"]
    assert f"Arms of {EVIL}" in [attrs.get("aria-label") for _, attrs in read.tags]
    assert any(EVIL.lower() in (attrs.get("data-search") or "") for _, attrs in read.tags)
    assert f"binding statements: {EVIL} > plain" in read.texts["p"]
    assert html.count("</script") == 2  # ours: no text ends the data or a script early
    assert not {name for _, attrs in read.tags for name in attrs if name.startswith("on")}


def test_a_title_of_ones_own(folder):
    texts = Reader(page.report_page(folder, f"Mine & {EVIL}")).texts
    assert texts["title"] == texts["h1"] == [f"Mine & {EVIL}"]


def test_nothing_is_asked_of_a_network(html):
    tags = Reader(html).tags
    assert not [attrs for _, attrs in tags if "src" in attrs or re.match("https?:|//", attrs.get("href") or "")]
    policy = next(attrs["content"] for _, attrs in tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")


def test_cards_show_certified_digits(html):
    texts = Reader(html).texts["p"]
    assert sum(text.startswith("T* = 2.00000000000") for text in texts) == 1
    intervals = [re.findall(r"[\d.]+", text) for text in texts if text.startswith("certified in [")]
    gaps = [float(text.split()[-1]) for text in texts if text.startswith("relative gap ")]
    assert len(intervals) == len(gaps) == 2
    for (low, high), gap in zip(intervals, gaps, strict=True):  # what is printed is about as wide as the gap says
        assert float(high) - float(low) <= 10 * gap * float(high)


def test_models_are_told_apart():
    records = [{"title": title, "model": model} for title, model in (("T", "a"), ("T", "b"), (None, "c"), (None, "c"))]
    assert label_models(records) == ["T (a)", "T (b)", "c #1", "c #2"]
    assert number_repeats(["a", "b"]) == ["a", "b"]


def test_the_command_says_what_it_wrote(folder, tmp_path, capsys):
    place = tmp_path / "report.html"
    assert main(["report", str(folder), "-o", str(place), "--title", "Mine"]) == 0
    assert re.fullmatch(rf"{place}: \d\.\d MB; open it in a browser\n", capsys.readouterr().out)
    assert Reader(place.read_text(encoding="utf-8")).texts["h1"] == ["Mine"]


def no_manifest(folder):
    (folder / "manifest.json").unlink()


def torn_manifest(folder):
    (folder / "manifest.json").write_text('{"format": 2, "cells": [')


def other_format(folder):
    (folder / "manifest.json").write_text('{"format": 0}')


def torn_block(folder):
    block = next((folder / "blocks").iterdir())
    block.write_bytes(block.read_bytes()[:-20])


def no_blocks(folder):
    for block in (folder / "blocks").iterdir():
        block.unlink()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (no_manifest, "no results here"),
        (torn_manifest, "damaged"),
        (other_format, "not a manifest of format 4"),
        (torn_block, "computes it again"),
        (no_blocks, "no run is stored yet"),
    ],
)
def test_a_spoilt_folder_is_refused_and_the_old_page_stays(tmp_path, capsys, spoil, words):
    folder = make_results(tmp_path, damage=False, runs=5, threshold="customary")
    capsys.readouterr()
    spoil(folder)
    place = tmp_path / "report.html"
    place.write_text("old")
    assert words in expect_refusal(capsys, "report", folder, "-o", place)
    assert place.read_text() == "old"
    assert not list(tmp_path.glob("*.part"))


def test_a_place_that_cannot_be_written_is_noticed_first(tmp_path, capsys):
    assert "name a file" in expect_refusal(capsys, "report", tmp_path / "nowhere", "-o", tmp_path)
    assert "cannot be written" in expect_refusal(capsys, "report", tmp_path, "-o", tmp_path / "no" / "report.html")


def test_other_bad_usage(folder, capsys):
    assert "--title is empty" in expect_refusal(capsys, "report", folder, "--title", " ")
    assert "FOLDER" in expect_refusal(capsys, "report")


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [(render, "jinja2", "report"), (store_module, "pyarrow", "studies")],
)
def test_a_missing_extra_is_named(folder, tmp_path, capsys, monkeypatch, module, package, extra):
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == package else find_spec(name))
    said = expect_refusal(capsys, "report", folder, "-o", tmp_path / "report.html")
    assert f"need {package}" in said
    assert f"pip install 'caet-opt[{extra}]'" in said
    assert list(Path(tmp_path).iterdir()) == []
