"""Chromium for the tests of pages; a module that imports this is skipped where there is none."""

import csv
import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not (CHROMIUM and DRIVER):
    pytest.skip(
        "Chromium and its driver are not installed (Debian: chromium, chromium-driver)", allow_module_level=True
    )

OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)

#: Seconds that a chart or a file may take on a busy machine.
PATIENCE = 30


class Browser:
    """Chromium with the page open."""

    def __init__(self, folder, place, profile, charts):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for option in [*OPTIONS.split(), f"--user-data-dir={profile}"]:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.folder, self.address, self.saved, self.charts = folder, place.as_uri(), profile / "saved", charts
        self.driver.get("about:blank")
        self.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.saved))
        self.driver.get_log("performance")

    def command(self, name, **parameters):
        """A command of the browser's own protocol."""
        return self.driver.execute_cdp_cmd(name, parameters)

    def script(self, text, *arguments):
        """What a piece of JavaScript returns."""
        return self.driver.execute_script(f"return {text}", *arguments)

    def open(self, width=1400, scheme="light"):
        """The page afresh, at a width and in a colour scheme, its charts drawn."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        self.driver.get(self.address)
        for chart in self.charts:
            self.show(chart)

    def show(self, chart):
        """Scroll to a chart and wait until it is drawn."""
        self.script("document.getElementById(arguments[0]).scrollIntoView()", chart)
        self.wait(lambda: self.script("Boolean(document.getElementById(arguments[0]).data)", chart))

    def wait(self, condition):
        """Wait until something holds, and have it."""
        return WebDriverWait(self.driver, PATIENCE).until(lambda _: condition())

    def find(self, selector):
        """The first element of a CSS selector."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        """All elements of a CSS selector."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def click(self, selector):
        """Scroll to an element and click on it."""
        found = self.find(selector)
        self.script("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()

    def traces(self, chart="ratio-chart"):
        """How many series with markers a chart draws."""
        return self.script(
            "document.getElementById(arguments[0]).data"
            ".filter((trace) => (trace.mode ?? '').includes('markers')).length",
            chart,
        )

    def rows(self):
        """The cells whose row is to be seen in the table of costs."""
        return self.script(
            "[...document.querySelector('#numbers table').querySelectorAll('[data-cell]:not([hidden])')]"
            ".map((row) => row.dataset.cell)"
        )

    def download(self, button, name):
        """The rows of the file that a button saves."""
        shutil.rmtree(self.saved, ignore_errors=True)
        self.click(button)
        file = self.saved / name
        self.wait(file.exists)
        with file.open(encoding="utf-8", newline="") as source:
            return list(csv.DictReader(source))
