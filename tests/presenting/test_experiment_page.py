"""The page of a live experiment: its words and tables, and its charts in a real browser."""

import json
import random

import pytest
from report_pages import EVIL

from caet_opt import LiveExperiment
from caet_opt.cli import main
from caet_opt.presenting.report import experiment_page
from caet_opt.presenting.report.experiment import write_experiment_page

pytest.importorskip("jinja2", reason="Jinja2 is not installed (extra: report)")

CHARTS = ("evidence-chart", "estimates-chart", "spending-chart")
NAME = EVIL.replace("\n", " ")
SHOP = ["old", "b", "c"]


def run_experiment(folder, pulls=60, **changes):
    """An experiment after so many pulls, one of whose arms has a name that would like to be more than text."""
    asked = {"arms": [NAME, "small", "local"], "costs": [3, 5, 1], "delta": 0.05, "policy": "top-two", **changes}
    experiment, rng = LiveExperiment.start(folder / "trial.caet", "best-arm", "bernoulli", **asked), random.Random(1)
    for _ in range(pulls):
        for pull in experiment.next():
            experiment.record(pull.arm, int(rng.random() < (0.9, 0.4, 0.2)[pull.arm]), pull=pull.number)
    return experiment


def data_of(page):
    """What the page's script reads."""
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


def test_the_words_and_the_data_are_those_of_the_status(tmp_path):
    experiment = run_experiment(tmp_path, delta=1e-9)
    experiment.next(2, arm="small")
    page, status = experiment_page(experiment), experiment.status()
    assert "<title>trial.caet</title>" in page
    assert "Leading: " in page
    assert page.count("<td>") >= 5 * (3 + 2)
    assert "61</th>" in page  # the first pull that is out
    assert "62</th>" in page
    data = data_of(page)
    assert [series["note"] for series in data["series"]] == [
        *(arm["name"] for arm in status["arms"]),
        *(pair["name"] for pair in status["pairs"]),
    ]
    last = data["moments"][-1]
    assert (last["outcome"], last["cost"]) == (60, status["spent"])
    assert data["stop"] is None
    assert NAME not in page


def test_what_is_settled_stands_first(tmp_path):
    with LiveExperiment.start(tmp_path / "shop.caet", "control:old", "bernoulli", delta=0.05, arms=SHOP) as experiment:
        assert 'id="settled"' not in experiment_page(experiment)
        experiment.record_counts([("old", 90, 1000), ("b", 150, 1000), ("c", 95, 1000)])
        page = experiment_page(experiment)
    assert page.index("Settled: b &gt; old; act on it now") < page.index("Leading: ")


def test_an_experiment_without_outcomes_has_a_page(tmp_path):
    page = experiment_page(run_experiment(tmp_path, pulls=0), "Mine & yours")
    assert "No answer yet" in page
    assert "<title>Mine &amp; yours</title>" in page
    assert data_of(page)["moments"] == []


def test_what_is_not_guaranteed_is_said_first(tmp_path):
    page = experiment_page(run_experiment(tmp_path, pulls=3, threshold="customary", unproven=True))
    assert "not proven to keep the error probability at or below" in page


def test_rewards_that_spread_more_than_assumed_are_warned_of_first(tmp_path):
    asked = {"arms": ["old", "new"], "costs": [1, 1], "delta": 0.05}
    with LiveExperiment.start(tmp_path / "trial.caet", "best-arm", "gaussian:1", **asked) as experiment:
        page = experiment_page(experiment)
        assert "guaranteed for independent Gaussian rewards of variance 1: wrong with probability at most 0.05" in page
        assert 'id="alarm"' not in page
        for pull, reward in zip(experiment.next(4), (0.0, 31.0, 33.0, 0.0), strict=True):
            experiment.record(pull.arm, reward, pull=pull.number)
        page = experiment_page(experiment)
    assert "Warning: the rewards spread more than independent Gaussian rewards of variance 1, so the guarantee" in page
    assert "(so far 544.5 in one arm)" in page
    assert "guaranteed for" not in page
    assert page.index('id="alarm"') < page.index('id="answer"')


def test_the_command_and_the_function_write_the_same_page(tmp_path, capsys):
    experiment = run_experiment(tmp_path)
    write_experiment_page(experiment, tmp_path / "one.html")
    assert main(["experiment", "report", str(tmp_path / "trial.caet"), "-o", str(tmp_path / "two.html")]) == 0
    assert "two.html: " in capsys.readouterr().out
    assert (tmp_path / "one.html").read_text() == (tmp_path / "two.html").read_text()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium with the page of an experiment that has stopped."""
    browsers = pytest.importorskip("browsers", reason="selenium is not installed")
    folder = tmp_path_factory.mktemp("experiment")
    experiment = run_experiment(folder, pulls=400)
    assert experiment.stopped
    write_experiment_page(experiment, folder / "page.html")
    found = browsers.Browser(folder, folder / "page.html", tmp_path_factory.mktemp("profile"), CHARTS)
    found.status = experiment.status()
    yield found
    found.driver.quit()


def test_it_loads_in_silence_and_asks_nobody(browser):
    browser.open()
    assert browser.driver.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.driver.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert browser.find("#answer").text == f"Stopped with the answer {NAME}."
    assert browser.script("document.querySelectorAll('img').length") == 0


def test_charts_show_what_the_status_says(browser):
    browser.open()
    stop, pairs = browser.status["stopped"], browser.status["pairs"]
    traces = browser.script("document.getElementById('evidence-chart').data.map((one) => [one.mode, one.y.at(-1)])")
    solid = [last for mode, last in traces[::3] if mode == "lines"]
    dashed = [last for mode, last in traces[2::3] if mode == "lines"]
    assert solid == [pair["evidence"] for pair in pairs]
    assert dashed == [pair["threshold"] for pair in pairs]
    assert browser.script("document.getElementById('evidence-chart').layout.shapes[0].x0") == stop["outcome"]
    spent = browser.script("document.getElementById('spending-chart').data.map((one) => one.y.at(-1))")[::2]
    assert spent == [arm["spent"] for arm in browser.status["arms"]]
    browser.click("#against input[value=cost]")
    assert browser.script("document.getElementById('evidence-chart').layout.shapes[0].x0") == stop["cost"]


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_at_any_width(browser, width, scheme):
    browser.open(width, scheme)
    assert browser.script("document.documentElement.scrollWidth <= window.innerWidth")
    drawn = browser.script("getComputedStyle(document.querySelector('#evidence-chart .main-svg')).backgroundColor")
    assert drawn == browser.script("getComputedStyle(document.body).backgroundColor")


def test_paper_has_every_chart(browser):
    browser.open(scheme="dark")
    browser.script(
        "window.addEventListener('beforeprint', () => { window.printed = [...document.querySelectorAll('.chart')]"
        ".map((chart) => [chart.layout.paper_bgcolor, chart.layout.width <= 680]); })"
    )
    assert browser.command("Page.printToPDF", printBackground=True)["data"]
    assert browser.script("window.printed") == [["#ffffff", True]] * 3
