"""Chromium without a window, and what a reader does with a page.

Screenshots go to the folder named by ``ALLEGIANCE_SCREENSHOTS``, by default ``out/screenshots``.
"""

import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM, CHROMEDRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
SCREENSHOTS = Path(os.environ.get("ALLEGIANCE_SCREENSHOTS") or Path(__file__).parents[2] / "out" / "screenshots")
FRAMES = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"


class Browser:
    """Chromium, and where it puts what it downloads."""

    def __init__(self, downloads):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1366,1000"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.downloads = Path(downloads)
        self.driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
        self.driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(self.downloads)}
        )

    def open(self, path, theme="light"):
        """Open a page that says when it is ready: ``data-ready`` of the root element."""
        self.set_theme(theme)
        for log in ("browser", "performance"):  # Reading a log empties it.
            self.driver.get_log(log)
        self.driver.get(path.as_uri() if isinstance(path, Path) else path)
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.settle()

    def settle(self):
        """Wait until what was asked for is drawn."""
        self.driver.execute_async_script(FRAMES)

    def wait(self, script):
        WebDriverWait(self.driver, 30, poll_frequency=0.05).until(lambda driver: driver.execute_script(script))

    def set_theme(self, theme):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def set_width(self, width, height=1000):
        """Give the page a width that a window need not be able to have; None for that of the window."""
        if width is None:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        else:
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).text

    def click(self, selector):
        self.find(selector).click()

    def choose(self, selector, value):
        element = self.find(selector)
        element.click()  # Some lists are filled when they get the focus.
        Select(element).select_by_value(value)
        self.settle()

    def press(self, *keys):
        """Press keys wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()
        self.settle()

    def drag(self, *places):
        """Drag the mouse along places of the window."""
        actions = ActionChains(self.driver, duration=30)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(*places[0])
        pointer.pointer_down()
        for place in places[1:]:
            pointer.move_to_location(*place)
        pointer.pointer_up()
        actions.perform()
        self.settle()

    def everywhere(self, selector):
        """Return the texts of elements, those in the shadow trees of figures included."""
        return self.run(
            """
            const roots = [document];
            for (const root of roots)
                for (const {shadowRoot} of root.querySelectorAll("*")) if (shadowRoot) roots.push(shadowRoot);
            return roots.flatMap((root) => Array.from(root.querySelectorAll(arguments[0]), e => e.textContent.trim()));
            """,
            selector,
        )

    def point_at(self, place, press=False):
        """Move the mouse to a place of the window, and click if ``press``."""
        actions = ActionChains(self.driver, duration=30)
        actions.w3c_actions.pointer_action.move_to_location(place[0] - 3, place[1])
        actions.w3c_actions.pointer_action.move_to_location(*place)
        if press:
            actions.w3c_actions.pointer_action.click()
        actions.perform()
        self.settle()

    def downloaded(self, name):
        """Return the bytes of a file once it is there, and remove it."""
        path = self.downloads / name
        until = time.monotonic() + 20
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.05)
        content = path.read_bytes()
        path.unlink()
        return content

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        self.set_width(*size)
        self.settle()
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))
        self.set_width(None)

    def console_errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def requests(self):
        """Return the addresses asked for since the page was opened, except those that hold their content."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests of a run; they are skipped where there is none."""
    if CHROMIUM is None or CHROMEDRIVER is None:
        pytest.skip("needs Chromium: install the packages chromium and chromium-driver")
    with tempfile.TemporaryDirectory() as downloads:
        started = Browser(downloads)
        try:
            yield started
        finally:
            started.driver.quit()
