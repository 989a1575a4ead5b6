"""A report inside a notebook."""

import html
import re

import numpy as np
import pytest

from allegiance import affinity
from allegiance.report import InlinePage

X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 0.4]])


@pytest.fixture(scope="module")
def page():
    return affinity(X, [0, 1, 2, 0]).report(title='Four "points"')


def test_without_a_path_the_report_is_shown(page, tmp_path):
    shown = page._repr_html_()
    frame = re.fullmatch(r'<iframe srcdoc="([^"]*)"[^>]*></iframe>', shown)
    assert html.unescape(frame[1]) == page.html
    assert page.html.startswith("<!doctype html>")
    # The page must not reach the notebook that it is shown in.
    assert 'sandbox="allow-scripts allow-downloads allow-popups"' in shown
    assert page.save(tmp_path / "a.html").read_text(encoding="utf-8") == page.html


def test_with_a_path_there_is_a_file(tmp_path):
    path = affinity(X, [0, 1, 2, 0]).report(tmp_path / "b.html")
    assert path == tmp_path / "b.html"
    assert path.exists()


def test_says_what_it_is_where_there_is_no_notebook(page):
    assert re.match(r'Four "points": a page of \d\.\d MB', repr(page))


def test_a_served_page_is_framed(tmp_path):
    page = InlinePage(url="http://localhost:5006/?a=1&b=2")
    assert 'src="http://localhost:5006/?a=1&amp;b=2"' in page._repr_html_()
    assert "open http://localhost:5006" in repr(page)
    with pytest.raises(ValueError, match="nothing to save"):
        page.save(tmp_path / "c.html")
    with pytest.raises(ValueError, match="html or url"):
        InlinePage()
