"""The page as text: what is in it, what is not, and which numbers it shows."""

import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from allegiance import affinity
from allegiance.report import render_report, write_report

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
#: Elements that have no end tag.
VOID = {"meta", "img", "input", "br", "link"}


class Page(HTMLParser):
    """A page taken apart as a browser would: tags with their attributes, texts, and data blocks."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts, self.data, self.scripts, self.styles = [], [], {}, [], []
        self._open = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tag, attrs = self._open[-1] if self._open else ("", {})
        if tag == "script" and attrs.get("type") == "application/json":
            self.data[attrs["id"]] = json.loads(data)
        elif tag == "script":
            self.scripts.append(data)
        elif tag == "style":
            self.styles.append(data)
        else:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def page_of(result, X=None, **settings):
    return Page(render_report(result, X, **settings))


def three_clusters(n, rng):
    labels = rng.integers(3, size=n)
    return rng.normal(size=(n, 4)) + 2.5 * np.eye(3, 4)[labels], labels


def test_loads_nothing_from_anywhere(rng):
    X, labels = three_clusters(60, rng)
    page = page_of(affinity(X, labels, random_state=0), X, images=rng.random((60, 5, 4)))
    loading = {"src", "srcset", "href", "action", "poster", "data", "xlink:href", "background"}
    assert [(tag, attrs) for tag, attrs in page.tags if loading & attrs.keys()] == []
    assert [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "base")] == []
    assert not re.search(r"url\(|@import", "".join(page.styles))
    *_, theme, table, counts, linking = page.scripts
    own = theme + table + counts + linking
    assert "allegianceReport" in own
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest|WebSocket|\bimport\b|innerHTML|eval\(", own)


def test_forbids_the_browser_to_load_anything(rng):
    X, labels = three_clusters(30, rng)
    page = page_of(affinity(X, labels, random_state=0))
    (policy,) = [attrs["content"] for _, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    (nonce,) = re.findall(r"^'nonce-([0-9a-f]{32})'$", rules["script-src"])
    running = [attrs for tag, attrs in page.tags if tag == "script" and "type" not in attrs]
    assert running
    assert {attrs["nonce"] for attrs in running} == {nonce}


def test_numbers_on_the_page_are_those_of_the_result(rng):
    X, labels = three_clusters(200, rng)
    result = affinity(X, labels, random_state=0)
    page = page_of(result, X)
    stable = int(result.stable.sum())
    assert 0 < stable < 200
    assert f"{stable} of 200 points ({stable / 200:.1%}) are stable" in page.text
    assert f"{200 - stable} of 200 points ({1 - stable / 200:.1%}) at or below, {stable} above" in page.text
    for name in range(3):
        inside = labels == name
        assert f"{name} {inside.sum()} {result.stable[inside].mean():.1%}" in page.text
    counts = np.array(page.data["page-data"]["above"])
    for step in (0, 31, 50, 77, 100):
        expected = [((result.confidence > step / 100) & (labels == name)).sum() for name in range(3)]
        assert counts[:, step].tolist() == expected


def test_says_how_it_was_computed(rng):
    X, labels = three_clusters(40, rng)
    result = affinity(X, labels, divergence="within", eps=0.04, random_state=12345)
    text = page_of(result, X).text
    for fact in (result.how.influence, "box", "0.04", "12345", "numpy " + np.__version__, "allegiance"):
        assert fact in text


def test_hundred_thousand_points_stay_small(random_result, rng):
    result = random_result(100_000, 50, 0.03, label=rng.integers(50, size=100_000))
    review = int((~result.stable).sum())
    assert 10_000 < review < 50_000
    html = render_report(result, rng.normal(size=(100_000, 8)))
    assert len(html.encode()) < 25e6
    page = Page(html)
    assert f"all {review:,} points to review and a random sample of 10,000 of {100_000 - review:,} stable" in page.text
    assert sum(page.data["page-data"]["sizes"]) == 100_000


def test_hundred_thousand_points_with_long_ids_and_images_stay_small(random_result, rng):
    index = pd.Index([f"{i:0100d}" for i in range(100_000, 0, -1)])
    result = random_result(100_000, 60, 50.0, frame=pd.DataFrame(index=index))
    assert not result.stable.any()
    noise = rng.integers(256, size=(40, 90, 80, 3), dtype=np.uint8)
    images = np.broadcast_to(noise[0], (100_000, 90, 80, 3))
    html = render_report(result, rng.normal(size=(100_000, 3)), images=images)
    assert len(html.encode()) < 25e6
    assert "the 50,000 least confident of 100,000 points to review." in Page(html).text


@pytest.mark.parametrize("where", ["title", "label", "feature", "id", "index name"])
def test_hostile_names_stay_text(where, rng):
    X, labels = three_clusters(60, rng)
    names = [HOSTILE if where == "label" else "zero", "one", "two"]
    frame = pd.DataFrame(X, columns=[HOSTILE if where == "feature" else "p", "q", "r", "s"])
    frame.index = [f"{HOSTILE if where == 'id' else 'row'} {i}" for i in range(60)]
    frame.index.name = HOSTILE if where == "index name" else "key"
    plain = page_of(affinity(X, labels, random_state=0), X)
    result = affinity(frame, np.array(names)[labels], random_state=0)
    html = render_report(result, frame, title=HOSTILE if where == "title" else None)
    page = Page(html)
    assert [tag for tag, _ in page.tags if tag in ("script", "img")] == [
        tag for tag, _ in plain.tags if tag in ("script", "img")
    ]
    assert "<script>alert" not in html
    everything = json.dumps(page.data) + page.text
    assert HOSTILE in everything


def test_shows_ids_of_a_pandas_index(rng):
    X, labels = three_clusters(30, rng)
    frame = pd.DataFrame(X, columns=list("abcd"), index=pd.Index([f"p{i}" for i in range(30)], name="patient"))
    result = affinity(frame, labels, random_state=0)
    page = page_of(result, frame)
    by_confidence = np.argsort(-result.confidence, kind="stable")
    assert page.data["page-data"]["ids"] == [f"p{i}" for i in by_confidence]
    assert "patient" in page.text


@pytest.mark.parametrize("kind", ["array", "polars", "range index"])
def test_rows_without_names_have_numbers_only(kind, rng):
    X, labels = three_clusters(30, rng)
    X = {"array": X, "polars": pl.DataFrame(X), "range index": pd.DataFrame(X, columns=list("abcd"))}[kind]
    assert page_of(affinity(X, labels, random_state=0), X).data["page-data"]["ids"] is None


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, pl.DataFrame, pd.DataFrame])
def test_any_kind_of_data_gives_the_same_features_and_counts(container, rng):
    X, labels = three_clusters(50, rng)
    X[np.abs(X) < 0.5] = 0
    expected = page_of(affinity(X, labels, random_state=0), X).data["page-data"]
    other = container(X)
    if isinstance(other, pd.DataFrame):
        other.columns = [f"c{i}" for i in range(4)]
    got = page_of(affinity(other, labels, random_state=0), other, feature_names=["x0", "x1", "x2", "x3"])
    for key in ("above", "sizes", "features", "names"):
        assert got.data["page-data"][key] == expected[key]


@pytest.mark.parametrize(
    ("affinities", "label", "says"),
    [
        ([[1.0]], [0], "1 of 1 point (100.0%) is stable"),
        ([[1.0], [1.0]], [0, 0], "With one cluster every point is stable by definition"),
        ([[0.7, 0.3], [0.5, 0.5]], [0, 1], "With two clusters every point off the exact middle is stable"),
        ([[0.8, 0.1, 0.1], [0.1, 0.6, 0.3]], [0, 1], "No point needs a review; the least certain one has a confidence"),
        ([[0.4, 0.3, 0.3], [0.3, 0.3, 0.4]], [0, 2], "0 of 2 points (0.0%) are stable"),
        (
            [[0.8, 0.1, 0.1], [0.3, 0.3, 0.4]],
            [0, -1],
            "1 point should be reviewed in noise, where 2 is the usual rival",
        ),
        ([[0.4, 0.3, 0.3]], [0], "1 point should be reviewed in cluster 0, where 1 is the usual rival"),
    ],
    ids=["one point", "one cluster", "two clusters", "all stable", "all unstable", "noise", "one unstable point"],
)
@pytest.mark.parametrize("with_data", [False, True])
def test_small_and_extreme_results(affinities, label, says, with_data, make_result):
    X = np.arange(3.0 * len(label)).reshape(-1, 3) if with_data else None
    page = page_of(make_result(affinities, label), X)
    assert says in page.text
    assert "nan" not in page.text.lower()


def test_string_labels_and_empty_clusters(make_result):
    page = page_of(make_result([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]], ["a", "a"], ["a", "b", "c"]))
    assert page.data["page-data"]["names"] == ["a", "b", "c"]
    assert page.data["page-data"]["sizes"] == [2, 0, 0]
    assert "b 0 - - - -" in page.text


def test_a_result_of_the_largest_affinities_only(rng):
    X, labels = three_clusters(80, rng)
    whole = page_of(affinity(X, labels, random_state=0), X).data["page-data"]
    for settings in ({}, {"X": X}):
        part = page_of(affinity(X, labels, top=2, random_state=0), **settings).data["page-data"]
        assert part["above"] == whole["above"]


def test_images_beyond_the_budget_are_left_out_and_said_so(make_result, rng, monkeypatch):
    monkeypatch.setattr("allegiance.report._pictures.BUDGET", 2_000)
    result = make_result(rng.dirichlet(np.ones(3), 40))
    page = page_of(result, images=rng.random((40, 8, 8)))
    pictures = page.data["page-data"]["pictures"]
    assert 0 < len(pictures) < 40
    assert sum(map(len, pictures)) <= 2_000
    assert f"Images are kept for the {len(pictures)} least confident" in page.text


def test_writes_a_whole_file_and_returns_its_path(make_result, tmp_path):
    result = make_result([[0.8, 0.2], [0.4, 0.6]])
    path = tmp_path / "report.html"
    path.write_text("old")
    assert result.report(str(path), title="New") == path
    assert Page(path.read_text(encoding="utf-8")).text.startswith("New")
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_failed_write_leaves_the_old_file(make_result, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(self, target):
        raise OSError("disk gone")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk gone"):
        write_report(make_result([[0.8, 0.2]]), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_writes_through_a_link(make_result, tmp_path):
    target = tmp_path / "there.html"
    target.write_text("old")
    (tmp_path / "here.html").symlink_to(target)
    write_report(make_result([[0.8, 0.2]]), tmp_path / "here.html")
    assert (tmp_path / "here.html").is_symlink()
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_names_a_missing_folder_before_doing_the_work(make_result, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder .* does not exist"):
        write_report(make_result([[0.8, 0.2]]), tmp_path / "missing" / "report.html", X="not looked at")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_report(make_result([[0.8, 0.2]]), tmp_path)


def test_names_that_are_no_valid_unicode_can_be_written(make_result, tmp_path):
    path = write_report(make_result([[0.8, 0.2]]), tmp_path / "report.html", title="lone \ud800 surrogate")
    assert "lone ? surrogate" in path.read_text(encoding="utf-8")
