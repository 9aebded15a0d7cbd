"""The report in a real browser: it loads in silence, filters change it, and what it saves is what is stored."""

import json
from math import isnan

import pytest
from report_pages import EVIL, make_results

from caet_opt import summarise_results
from caet_opt.cli import main

pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: studies)")
pytest.importorskip("jinja2", reason="Jinja2 is not installed (extra: report)")
Browser = pytest.importorskip("browsers", reason="selenium is not installed").Browser


def show_panel(browser, selector):
    """Scroll to a chart that has no name, and wait until it is drawn."""
    browser.script("document.querySelector(arguments[0]).scrollIntoView()", selector)
    browser.wait(lambda: browser.script("Boolean(document.querySelector(arguments[0]).data)", selector))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    base = tmp_path_factory.mktemp("report")
    folder, place = make_results(base), base / "report.html"
    assert main(["report", str(folder), "-o", str(place)]) == 0
    found = Browser(folder, place, tmp_path_factory.mktemp("profile"), ["ratio-chart"])
    yield found
    found.driver.quit()


def test_it_loads_in_silence_and_asks_nobody(browser):
    browser.open()
    for panel in ("cost", "errors", "proportions", "stopping"):
        show_panel(browser, f".panels[data-panel={panel}] figure:last-child .chart")
    assert browser.script("document.querySelector('.panels[data-panel=stopping] .chart').getAttribute('role')") == "img"
    places = browser.script("[...document.querySelectorAll('.chart path')].map((path) => path.getAttribute('d'))")
    assert len(places) > 100
    assert not [place for place in places if "NaN" in place or "undefined" in place or "Infinity" in place]
    assert browser.driver.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.driver.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert browser.address in asked
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_logarithmic_axis_says_so(browser):
    browser.open()
    words = (
        "[...document.querySelectorAll('.panels[data-panel={}] figure:last-child text')].map((one) => one.textContent)"
    )
    for panel, label in (("errors", "error rate, logarithmic"), ("stopping", "rounds")):
        show_panel(browser, f".panels[data-panel={panel}] figure:last-child .chart")
        assert label in browser.script(words.format(panel))
    browser.click("#scale input[value=log]")
    show_panel(browser, ".panels[data-panel=cost] figure:last-child .chart")
    assert {"mean cost, logarithmic", "log(1/δ), logarithmic"} <= set(browser.script(words.format("cost")))


def test_titles_stay_text(browser):
    browser.open()
    assert browser.driver.title == EVIL
    assert browser.find(".panels figcaption").text.startswith(EVIL)
    assert browser.script("document.querySelectorAll('img').length") == 0


def test_a_box_changes_charts_and_tables(browser):
    browser.open()
    assert (browser.traces(), len(browser.rows())) == (4, 8)
    browser.click("input[name=model][value='0']")
    assert (browser.traces(), len(browser.rows())) == (2, 4)
    assert browser.find("#shown").text == "1 of 2"
    assert not browser.find(".panels[data-panel=cost] figure").is_displayed()
    assert browser.script("document.querySelectorAll('#models [data-model]:not([hidden])').length") == 1
    browser.click("input[name=parameter-threshold][value=customary]")
    assert (browser.traces(), len(browser.rows())) == (1, 2)
    browser.click("#none")
    assert browser.rows() == []
    assert not browser.find("#ratio-chart").is_displayed()


def test_a_model_has_one_colour_and_a_threshold_one_line_on_every_chart(browser):
    browser.open()
    curves = (
        "document.querySelector(arguments[0]).data.filter((trace) => trace.mode === 'lines+markers')"
        ".map((trace) => [trace.line.color, trace.line.dash])"
    )
    first, second, third, fourth = browser.script(curves, "#ratio-chart")
    assert first[0] == second[0] != third[0] == fourth[0]
    assert first[1] == third[1] == "solid" != second[1] == fourth[1]
    for at, own in enumerate([[first, second], [third, fourth]], start=1):
        chart = f".panels[data-panel=cost] figure:nth-child({at}) .chart"
        show_panel(browser, chart)
        assert browser.script(curves, chart) == own
    keys = browser.script(
        "[...document.querySelectorAll('#filter .keys path')].map((path) => path.getAttribute('fill'))"
    )
    assert keys[:2] == [first[0], third[0]]


def test_a_search_changes_charts_and_tables(browser):
    browser.open()
    browser.find("#search").send_keys("RANKING bern")
    assert (browser.traces(), len(browser.rows())) == (2, 4)
    assert [label.text for label in browser.find_all("#filter li label") if label.text] == [
        "free-model",
        "customary",
        "deviational",
    ]


def test_the_cost_can_be_shown_over_the_level_or_on_logarithmic_axes(browser):
    browser.open()
    first = "document.querySelector('.panels[data-panel=cost] .chart')"
    browser.script(f"{first}.scrollIntoView()")
    browser.wait(lambda: browser.script(f"Boolean({first}.data)"))
    last = f"{first}.data.at(-1)"
    costs, levels = browser.script(f"{last}.y"), browser.script(f"{last}.x")
    browser.click("#scale input[value=rate]")
    assert browser.script(f"{last}.y") == [cost / level for cost, level in zip(costs, levels, strict=True)]
    browser.click("#scale input[value=log]")
    assert browser.script(f"{last}.y") == costs
    assert browser.script(f"[{first}.layout.xaxis.type, {first}.layout.yaxis.type]") == ["log", "log"]


def test_a_chart_answers_the_pointer(browser):
    browser.open()
    at = browser.script(
        "(({x, y, width, height}) => [x + width / 2, y + height / 2])"
        "(document.querySelector('#ratio-chart .points path').getBoundingClientRect())"
    )
    browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
    texts = "document.querySelector('#ratio-chart .tip:not([hidden])')?.textContent ?? ''"
    browser.wait(lambda: "times the lower bound" in browser.script(texts))
    assert EVIL[:50] in browser.script(texts)


def test_what_is_saved_is_what_is_stored(browser):
    browser.open()
    saved = {row["cell"]: row for row in browser.download("#download-cells", "cells.csv")}
    summary = summarise_results(browser.folder).set_index("cell")
    assert set(saved) == set(summary.index)
    for cell, expected in zip(summary.index, summary.iloc, strict=True):
        for name, value in expected.items():
            if isinstance(value, float):
                assert saved[cell][name] == "" if isnan(value) else float(saved[cell][name]) == value
            else:
                text = json.dumps(value) if isinstance(value, list) else "" if value is None else str(value)
                assert saved[cell][name] == text


def test_only_what_is_shown_is_saved(browser):
    browser.open()
    browser.click("input[name=model][value='0']")
    assert [row["cell"] for row in browser.download("#download-cells", "cells.csv")] == browser.rows()
    assert [row["model"] for row in browser.download("#download-models", "models.csv")] == ["free-model"]


@pytest.mark.parametrize("width", [390, 820, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_at_any_width(browser, width, scheme):
    browser.open(width, scheme)
    show_panel(browser, ".panels[data-panel=errors] .chart")
    assert browser.script("document.documentElement.scrollWidth <= window.innerWidth")
    ground = browser.script("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 20, 25)"}[scheme]
    drawn = browser.script("getComputedStyle(document.querySelector('#ratio-chart .main-svg')).backgroundColor")
    assert drawn == ground


def test_a_wide_table_scrolls_in_itself_with_its_first_column_fixed(browser):
    browser.open(390)
    table = browser.find("#numbers .scroll")
    assert browser.script("arguments[0].scrollWidth > arguments[0].clientWidth + 100", table)
    browser.script("arguments[0].scrollTo(200, 0)", table)
    left = "arguments[0].getBoundingClientRect().left"
    for cell in ("#numbers thead th", "#numbers tbody th"):
        assert browser.script(left, browser.find(cell)) == pytest.approx(browser.script(left, table), abs=1)


def test_charts_follow_the_width_of_the_window(browser):
    browser.open(1400)
    width = "document.querySelector('#ratio-chart svg').clientWidth"
    before = browser.script(width)
    browser.command("Emulation.setDeviceMetricsOverride", width=820, height=900, deviceScaleFactor=1, mobile=False)
    browser.wait(lambda: browser.script(width) != before)
    assert browser.script(width) <= 820


def test_paper_is_light_and_has_every_chart(browser):
    browser.open(scheme="dark")
    browser.script("window.printed = null")
    browser.script(
        "window.addEventListener('beforeprint', () => { window.printed = [...document.querySelectorAll('.chart')]"
        ".map((chart) => [chart.layout.paper_bgcolor, chart.layout.width <= 680]); })"
    )
    assert browser.command("Page.printToPDF", printBackground=True)["data"]
    assert browser.script("window.printed") == [["#ffffff", True]] * 9
    assert browser.script("document.getElementById('ratio-chart').layout.paper_bgcolor") == "#0f1419"
