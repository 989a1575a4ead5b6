"""Chromium without a window, and what a person does with the explorer."""

import os
import shutil
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM, CHROMEDRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
SCREENSHOTS = Path(os.environ.get("ALLEGIANCE_SCREENSHOTS") or Path(__file__).parents[2] / "out" / "screenshots")
PATIENCE = 30
#: Where on the screen the frame of the map begins and ends.
FRAME = """
    const { plot } = window.allegianceExplorer.map;
    const view = Bokeh.index.find_one(plot) ?? Object.values(Bokeh.index)[0];
    const canvas = view.canvas_view.el.getBoundingClientRect();
    const box = view.frame.bbox;
    return [canvas.left + box.left, canvas.top + box.top, box.width, box.height];
"""


class Browser:
    """One browser, with a tab."""

    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        flags = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader")
        for argument in (*flags, "--window-size=1400,1300"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))

    def open(self, url):
        """Open an explorer and wait until its map is drawn."""
        self.driver.get(url)
        self.until(lambda: self.drawn() > 0, "the map is drawn")

    def quit(self):
        self.driver.quit()

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def drawn(self):
        """Return how often the map was drawn."""
        return int(self.run("return document.getElementById('map')?.dataset.drawn ?? 0"))

    def until(self, condition, what, seconds=PATIENCE):
        WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: condition(), f"waited for: {what}")

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        """Return the text of an element, whole, however it is cut on the screen; empty if it is not there."""
        script = "return document.querySelector(arguments[0])?.textContent.replace(/\\s+/g, ' ').trim() ?? ''"
        return self.run(script, selector)

    def texts(self, selector):
        return self.run(
            "return Array.from(document.querySelectorAll(arguments[0]), (e) => e.textContent.trim())", selector
        )

    def click(self, selector):
        element = self.find(selector)
        self.run("arguments[0].scrollIntoView({ block: 'center' })", element)
        element.click()

    def press(self, key):
        """Press a key with the focus nowhere in particular."""
        self.run("document.activeElement?.blur()")
        ActionChains(self.driver).send_keys(key).perform()

    def choose(self, selector, value):
        script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change', { bubbles: true }))"
        self.run(script, self.find(selector), value)

    def redrawn_after(self, act):
        """Do something that draws the map anew, and wait for it."""
        before = self.drawn()
        act()
        self.until(lambda: self.drawn() > before, "the map is drawn anew")

    def row(self):
        """Return the row of the point that is looked at."""
        return self.run("return Number(document.getElementById('point')?.dataset.row ?? -1)")

    def place(self, x, y):
        """Return where on the screen a place of the map is, given by shares of its width and height."""
        self.run("document.getElementById('map').scrollIntoView({ block: 'center' })")
        left, top, width, height = self.run(FRAME)
        return round(left + x * width), round(top + y * height)

    def move_to(self, x, y):
        actions = ActionChains(self.driver)
        actions.w3c_actions.pointer_action.move_to_location(*self.place(x, y))
        actions.perform()

    def drag(self, *places):
        """Drag over the map, from place to place."""
        points = [self.place(x, y) for x, y in places]
        actions = ActionChains(self.driver, duration=30)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(*points[0])
        pointer.pointer_down()
        for point in points[1:]:
            pointer.move_to_location(*point)
        pointer.pointer_up()
        actions.perform()

    def place_of(self, row, explorer):
        """Return where on the map a point lies, as shares of its width and height."""
        projection = explorer._commands._maps[self.run("return document.getElementById('map-choice').value")]
        left, right, bottom, top, *_ = self.run("return window.allegianceExplorer.map.window")
        return (projection.x[row] - left) / (right - left), (top - projection.y[row]) / (top - bottom)

    def errors(self):
        """Return what the browser complained about."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def screenshot(self, name, width=1400, height=1300, dark=False):
        """Keep a picture of the page as it looks on a screen of a size and theme."""
        self.driver.set_window_size(width, height)
        scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        time.sleep(0.6)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))
