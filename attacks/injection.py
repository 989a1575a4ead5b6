"""Pages with data that would run as code, from disk or served, opened in a browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from allegiance import trust

from ._common import Attack, Tally

#: Each sets a mark, opens a window or sends a request if it runs.
_PAYLOADS = (
    "<script>{mark}</script>",
    "</script><script>{mark}</script>",
    "</style><script>{mark}</script>",
    "<!--<script>{mark}</script>-->",
    "--><script>{mark}</script>",
    "<img src=x onerror={mark}>",
    "<svg onload={mark}>",
    '"><svg onload={mark}>',
    "'><iframe srcdoc='<script>parent.{mark}</script>'>",
    "<a href=javascript:{mark} id=lure>click</a>",
    "<style>@import 'http://attacker.invalid/{n}.css'</style>",
    "<link rel=stylesheet href=http://attacker.invalid/{n}.css>",
    "<img src=http://attacker.invalid/{n}.png>",
    "<base href=http://attacker.invalid/>",
    "<meta http-equiv=refresh content='0;url=http://attacker.invalid/'>",
    "${{{mark}}}",
    "{{{{ {mark} }}}}",
    "{{% raw %}}{mark}{{% endraw %}}",
    "$$\\href{{javascript:{mark}}}{{x}}$$",
    "@{{safe}}<img src=x onerror={mark}>",
    "\\u003cscript>{mark}\\u003c/script>",
    "&lt;script&gt;{mark}&lt;/script&gt;",
    "<math><mtext></form><form><mglyph><style></math><img src onerror={mark}>",
    "__proto__",
    "constructor",
    "\u202e<script>{mark}</script>",
    "x\u2028{mark}\u2029",
    "*/{mark}/*",
    "`{mark}`",
    "'+{mark}+'",
)
#: How many of them one page holds: as many as it has clusters and features.
_PER_PAGE = 3
#: The places where data appears on a page.
_PLACES = ("labels", "features", "ids", "texts", "title", "index", "columns", "values", "names")
_PORTS = ("http://", "https://", "ws://", "wss://", "ftp://")


def make(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Write reports with payloads, open them in Chromium and trigger everything: no script runs, no request leaves."""
    tally = Tally()
    browser, reason = start_browser()
    if browser is None:
        tally.skipped = reason
        return tally
    try:
        groups = [_PAYLOADS[start : start + _PER_PAGE] for start in range(0, len(_PAYLOADS), _PER_PAGE)]
        pages = [(payloads, place) for payloads in groups for place in _PLACES]
        for number in rng.permutation(len(pages))[: -(-attempts // _PER_PAGE)].tolist():
            payloads, place = pages[number]
            with _page(payloads, place, number, folder) as address:
                problem = open_and_touch(browser, address)
            if problem:
                tally.broken.append(f"one of {payloads!r} in {place}: {problem}")
            else:
                tally.held[f"in {place}"] += len(payloads)
    finally:
        browser.quit()
    return tally


def start_browser() -> tuple[Any, str | None]:
    """Return a headless browser, or None and the reason."""
    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if program is None or driver is None:
        return None, "no Chromium here"
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1366,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "ignore")
    return webdriver.Chrome(options=options, service=Service(driver)), None


@contextmanager
def _page(payloads: tuple[str, ...], place: str, number: int, folder: Path) -> Iterator[str]:
    """Write a page with the payloads in one place, or serve it, and yield its address."""
    texts = [payload.format(mark=f"(window.hacked={number},alert({number}))", n=number) for payload in payloads]
    n = 45
    labels: Any = np.arange(n) % 3
    values = np.random.default_rng(0).normal(size=(n, 3)) + 3 * np.eye(3)[labels]
    X = pd.DataFrame(values, columns=["a", "b", "c"])
    repeated = [f"{texts[i % 3]}{i}" for i in range(n)]
    settings: dict[str, Any] = {}
    if place == "labels":
        labels = np.array(texts)[labels]
    elif place == "features":
        X.columns = texts
    elif place in ("ids", "texts"):
        settings[place] = repeated
    elif place == "title":
        settings["title"] = " ".join(texts)
    elif place == "columns":
        settings["data"] = pd.DataFrame(dict.fromkeys(texts, X["a"]))
    elif place == "values":
        settings["data"] = pd.DataFrame({"category": np.array(texts)[labels], "text": repeated})
    elif place == "names":
        settings["names"] = dict(enumerate(texts))
    else:
        X.index = repeated
    result = trust(X, labels, n_resamples=2, eps=0.2)
    if number % 2:
        with result.serve(X, log=folder / f"log-{number}.jsonl", open_browser=False, **settings) as review:
            yield review.url
    else:
        path = folder / f"report-{number}.html"
        result.report(path, X, **settings)
        yield path.as_uri()


#: Hovers over, clicks and opens every element of a page.
_TOUCH = """
for (const element of document.querySelectorAll("*")) {
    for (const kind of ["mouseover", "mouseenter", "focus", "pointermove"])
        element.dispatchEvent(new Event(kind, {bubbles: false}));
    if (element.tagName === "DETAILS") element.open = true;
}
for (const element of document.querySelectorAll("button, summary, [id=lure]")) if (!element.download) element.click();
"""


def open_and_touch(browser: Any, address: str) -> str | None:
    """Open a page and trigger every element; return the effect of the payload, None if there is none."""
    from selenium.common.exceptions import UnexpectedAlertPresentException, WebDriverException
    from selenium.webdriver.support.wait import WebDriverWait

    for log in ("browser", "performance"):  # reading a log empties it
        browser.get_log(log)
    try:
        browser.get(address)
        WebDriverWait(browser, 60, poll_frequency=0.05).until(
            lambda driver: driver.execute_script("return document.documentElement.dataset.ready === 'true'")
        )
        browser.execute_script(_TOUCH)
        browser.execute_async_script("setTimeout(arguments[0], 50)")
        if browser.execute_script("return window.hacked !== undefined"):
            return "a script of the data ran"
        if browser.execute_script("return document.getElementById('lure') !== null"):
            return "markup of the data became part of the page"
    except UnexpectedAlertPresentException:
        return "a script of the data opened a window"
    except WebDriverException as error:
        return f"the page did not open: {str(error)[:200]}"
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if url.startswith(_PORTS) and urlsplit(url).netloc != urlsplit(address).netloc:
                return f"it called {url}"
    return None


ATTACKS = {
    "injection": Attack(
        "injection into pages",
        "No script, style or address of the data is run or called; every page opens.",
        full=len(_PAYLOADS) * len(_PLACES),
        short=6,
        make=make,
    ),
}
