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

from allegiance import AffinityScorer, affinity, trust
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
    result = trust(X, labels)
    page = page_of(result, X)
    counts = {name: int((result.verdict == name).sum()) for name in ("supported", "contested", "contradicted")}
    assert min(counts.values()) > 0
    low, high = result.expected_right_interval
    said = f"Expected right: {100 * result.expected_right:.0f} % ({100 * low:.0f} to {100 * high:.0f}) of 200 labels. "
    assert said + ", ".join(f"{number} {name}" for name, number in counts.items()) + "." in page.text
    for name in range(3):
        inside = labels == name
        numbers = [(result.verdict[inside] == verdict).sum() for verdict in counts]
        assert (
            f"{name} {inside.sum()} {100 * result.trust[inside].mean():.0f} % {' '.join(map(str, numbers))}"
            in page.text
        )
    names = page.data["page-data"]["names"]
    above = np.array(page.data["page-data"]["above"])
    for step in (0, 31, 50, 77, 100):
        expected = [((result.trust > step / 100) & (labels == int(name))).sum() for name in names[:-1]]
        assert above[:, step].tolist() == expected


def test_clusters_with_the_most_trouble_come_first(rng):
    X, labels = three_clusters(150, rng)
    result = trust(X, labels)
    order = sorted(range(3), key=lambda name: result.trust[labels == name].mean())
    page = page_of(result, X)
    assert page.data["page-data"]["names"] == [*map(str, order), "noise"]
    worst = result.trust[labels == order[0]]
    said = f"Cluster {order[0]} is in the most trouble: {100 * worst.mean():.0f} % of its {worst.size} labels"
    assert said in page.text


def test_without_calibration_the_page_speaks_of_own_affinity(rng):
    X, labels = three_clusters(100, rng)
    result = affinity(X, labels)
    page = page_of(result, X)
    assert f"100 labels: {(result.verdict == 'supported').sum()} supported" in page.text
    assert "Expected right" not in page.text
    assert "mean own affinity" in page.text
    assert "trust(X, labels) finds it" in page.text
    assert page.data["page-data"]["quantity"] == "own affinity"
    above = np.array(page.data["page-data"]["above"]).sum(axis=0)
    assert above[40] == (result.own_affinity > 0.4).sum()


def test_noise_is_counted_apart(rng):
    X, labels = three_clusters(100, rng)
    labels[:30] = -1
    result = trust(X, labels)
    page = page_of(result, X)
    assert "of 70 labels" in page.text
    assert "30 points of noise, in no cluster (30% of all)" in page.text
    assert sum(page.data["page-data"]["sizes"]) == 70
    assert page.data["page-data"]["counts"][3] == 30
    assert "crosses are noise" in page.text
    assert "crosses" not in page_of(trust(X[30:], labels[30:])).text


def test_says_why_trust_may_be_wrong_and_what_is_unlike_its_cluster(rng):
    X, labels = three_clusters(150, rng)
    shuffled = trust(X, rng.permutation(labels))
    assert shuffled.calibration_note in page_of(shuffled).text
    # Shares of members come in steps of one member: it takes a hundred of them to be below 0.01.
    X, labels = three_clusters(600, rng)
    result = AffinityScorer(calibration=20).fit(X, labels).affinity(np.vstack([X, X[:4] + 100.0]))
    page = page_of(result)
    assert (result.typicality[-4:] < 0.01).all()
    assert f"{(result.typicality < 0.01).sum()} points unlike anything in their cluster" in page.text
    assert "stable and wrong" in page.text
    assert "stable: one cluster gives more than half" in page.text


def test_says_how_it_was_computed(rng):
    X, labels = three_clusters(40, rng)
    result = affinity(X, labels, influence="within", eps=0.04, random_state=12345)
    text = page_of(result, X).text
    for fact in (result.how.influence, "box", "0.04", "12345", "numpy " + np.__version__, "allegiance"):
        assert fact in text


def test_hundred_thousand_points_stay_small(random_result, rng):
    label = rng.integers(-1, 50, size=100_000)
    affinities = rng.dirichlet(np.full(50, 0.03), 100_000)
    label[:60_000] = affinities[:60_000].argmax(axis=1)
    result = random_result(100_000, 50, 0.03, label=label)
    counts = {name: int((result.verdict == name).sum()) for name in ("supported", "contested", "contradicted")}
    doubtful = counts["contested"] + counts["contradicted"]
    noise = int(result.noise.sum())
    html = render_report(result, rng.normal(size=(100_000, 8)))
    assert len(html.encode()) < 25e6
    page = Page(html)
    assert f"the 50,000 least trusted of {doubtful:,} labels that are not supported" in page.text
    assert f"all {noise} noise points" in page.text
    assert sum(page.data["page-data"]["sizes"]) == 100_000 - noise


def test_hundred_thousand_points_with_long_ids_and_images_stay_small(random_result, rng):
    index = pd.Index([f"{i:0100d}" for i in range(100_000, 0, -1)])
    result = random_result(100_000, 60, 50.0, frame=pd.DataFrame(index=index))
    assert (result.verdict != "supported").all()
    noise = rng.integers(256, size=(40, 90, 80, 3), dtype=np.uint8)
    images = np.broadcast_to(noise[0], (100_000, 90, 80, 3))
    html = render_report(result, rng.normal(size=(100_000, 3)), images=images)
    assert len(html.encode()) < 25e6
    assert "the 50,000 least trusted of 100,000 labels that are not supported." in Page(html).text


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
    most_trusted_first = np.argsort(-result.own_affinity, kind="stable")
    assert page.data["page-data"]["ids"] == [f"p{i}" for i in most_trusted_first]
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
    for key in ("above", "sizes", "features", "names", "counts"):
        assert got.data["page-data"][key] == expected[key]


@pytest.mark.parametrize(
    ("affinities", "label", "says"),
    [
        ([[1.0]], [0], "With one cluster there is no rival: this says nothing about the clustering."),
        ([[0.7, 0.3], [0.5, 0.5]], [0, 1], "two clusters are found again whatever the data"),
        ([[0.8, 0.1, 0.1], [0.1, 0.6, 0.3]], [0, 1], "No label needs a review."),
        ([[0.4, 0.3, 0.3], [0.3, 0.3, 0.4]], [0, 2], "0 supported, 2 contested, 0 contradicted."),
        ([[0.8, 0.1, 0.1], [0.3, 0.3, 0.4]], [0, -1], "1 point of noise, in no cluster"),
        ([[0.8, 0.2]], [-1], "No point has a label: all are noise."),
        ([[0.2, 0.7, 0.1]], [0], "23 % of its 1 label can be expected to be right, and 1 is its usual rival."),
        ([[0.0, 0.7, 0.3]], [0], "0 supported, 0 contested, 1 contradicted."),
    ],
    ids=["one cluster", "two clusters", "supported", "contested", "noise", "only noise", "contradicted", "nothing"],
)
@pytest.mark.parametrize("with_data", [False, True])
def test_small_and_extreme_results(affinities, label, says, with_data, make_result):
    X = np.arange(3.0 * len(label)).reshape(-1, 3) if with_data else None
    page = page_of(make_result(affinities, label), X)
    assert says in page.text
    assert "nan" not in page.text.lower()


def test_string_labels_and_empty_clusters(make_result):
    page = page_of(make_result([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]], ["a", "a"], ["a", "b", "c"]))
    assert page.data["page-data"]["names"] == ["a", "b", "c", "noise"]
    assert page.data["page-data"]["sizes"] == [2, 0, 0]
    assert "b 0 - 0 0 0 - -" in page.text


def test_a_result_of_the_largest_affinities_only(rng):
    X, labels = three_clusters(80, rng)
    whole = page_of(affinity(X, labels, random_state=0), X).data["page-data"]
    for settings in ({}, {"X": X}):
        part = page_of(affinity(X, labels, top=2, random_state=0), **settings).data["page-data"]
        assert part["above"] == whole["above"]


def test_images_beyond_the_budget_are_left_out_and_said_so(make_result, rng, monkeypatch):
    monkeypatch.setattr("allegiance.report._build.IMAGE_BUDGET", 2_000)
    result = make_result(rng.dirichlet(np.ones(3), 40))
    page = page_of(result, images=rng.random((40, 8, 8)))
    pictures = page.data["page-data"]["pictures"]
    assert 0 < len(pictures) < 40
    assert sum(map(len, pictures)) <= 2_000
    assert f"Images are kept for the {len(pictures)} least trusted" in page.text


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
