"""What a person does with the explorer, in Chromium."""

import time

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from browsing.browser import Browser

PATIENCE = 30
#: Where on the screen the frame of the map begins, and its size.
FRAME = """
    const view = Bokeh.index.find_one(window.allegianceExplorer.map.plot);
    const canvas = view.canvas_view.el.getBoundingClientRect();
    const box = view.frame.bbox;
    return [canvas.left + box.left, canvas.top + box.top, box.width, box.height];
"""
TEXTS = "return Array.from(document.querySelectorAll(arguments[0]), (e) => e.textContent.replace(/\\s+/g, ' ').trim())"


class ExplorerBrowser(Browser):
    """A browser with one tab of an explorer."""

    def open(self, url, theme="light"):
        """Open an explorer and wait until its map is drawn."""
        super().open(url, theme)
        self.until(lambda: self.drawn() > 0, "the map is drawn")

    def drawn(self):
        """Return how often the map was drawn."""
        return int(self.run("return document.getElementById('map')?.dataset.drawn ?? 0"))

    def redrawn_after(self, act):
        """Do something that draws the map anew, and wait for it."""
        before = self.drawn()
        act()
        self.until(lambda: self.drawn() > before, "the map is drawn anew")

    def until(self, condition, what, seconds=PATIENCE):
        WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: condition(), f"waited for: {what}")

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        """Return the texts of elements, whole, however they are cut on the screen."""
        return self.run(TEXTS, selector)

    def text(self, selector):
        return next(iter(self.texts(selector)), "")

    def click(self, selector):
        """Click an element, once more if a message replaced it in the meantime."""
        for attempt in range(3):
            try:
                element = self.find(selector)
                self.run("arguments[0].scrollIntoView({ block: 'center' })", element)
                element.click()
                return
            except (StaleElementReferenceException, NoSuchElementException):
                if attempt == 2:
                    raise

    def write(self, selector, text):
        """Replace what stands in a field."""
        self.find(selector).clear()
        self.find(selector).send_keys(text)

    def choose(self, selector, value):
        script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change', { bubbles: true }))"
        self.run(script, self.find(selector), value)

    def press(self, *keys):
        """Press keys with the focus nowhere in particular."""
        self.run("document.activeElement?.blur()")
        super().press(*keys)

    def row(self):
        """Return the row of the point that is looked at."""
        return self.run("return Number(document.getElementById('point')?.dataset.row ?? -1)")

    def place(self, x, y):
        """Return where in the window a place of the map is, given by shares of its width and height."""
        self.run("document.getElementById('map').scrollIntoView({ block: 'center' })")
        left, top, width, height = self.run(FRAME)
        return round(left + x * width), round(top + y * height)

    def place_of(self, row, explorer):
        """Return where in the window a point of the map is."""
        projection = explorer._commands._maps[self.run("return document.getElementById('map-choice').value")]
        left, right, bottom, top, *_ = self.run("return window.allegianceExplorer.map.window")
        return self.place((projection.x[row] - left) / (right - left), (top - projection.y[row]) / (top - bottom))

    def drag_map(self, first, last):
        """Drag over the map, between places given by shares of its width and height."""
        self.drag(self.place(*first), self.place(*last))

    def lasso_map(self, *places):
        """Draw a line along places of the map, given by shares of its width and height, and back to the first."""
        points = [self.place(*at) for at in (*places, places[0])]
        actions = ActionChains(self.driver, duration=30)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(*points[0])
        pointer.pointer_down()
        for point in points[1:]:
            pointer.move_to_location(*point)
        pointer.pointer_up()
        actions.perform()

    def use_tool(self, kind):
        """Make dragging do what a tool of the map does."""
        tools = "window.allegianceExplorer.map.plot.toolbar.tools"
        self.run(f"for (const tool of {tools}) tool.active = tool.type === arguments[0]", kind)

    def wheel(self, x, y, turns):
        """Turn the wheel over a place of the map; upwards zooms in."""
        left, top = self.place(x, y)
        for _ in range(turns):
            actions = ActionChains(self.driver)
            actions.w3c_actions.wheel_action.scroll(left, top, 0, -200)
            actions.perform()
            time.sleep(0.02)
