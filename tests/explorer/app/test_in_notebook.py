"""The explorer in the cell of a notebook of the same machine."""

import http.server
import threading

import numpy as np
import pytest

from allegiance import trust
from browsing.browser import browser  # noqa: F401


@pytest.fixture
def explorer(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [3, 0], [0, 3]], 20, axis=0)
    result = trust(X, np.repeat(["a", "b", "c"], 20), n_resamples=3)
    with result.explore(X, decisions=tmp_path / "decisions.jsonl", open_browser=False) as running:
        yield running


def test_a_notebook_shows_it(explorer, browser, tmp_path):  # noqa: F811
    """A stand-in for the notebook: a page of another port of this machine."""
    (tmp_path / "notebook.html").write_text(f"<!doctype html>{explorer._repr_html_()}", encoding="utf-8")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=tmp_path)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.driver.get(f"http://localhost:{server.server_port}/notebook.html")
        browser.driver.switch_to.frame(0)
        try:
            browser.wait("return document.documentElement.dataset.ready === 'true'")
        finally:
            browser.driver.switch_to.default_content()
            server.shutdown()


def test_a_closed_one_says_so(explorer):
    explorer.close()
    assert "closed" in explorer._repr_html_()
    assert "<iframe" not in explorer._repr_html_()
