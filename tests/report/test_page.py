"""The page as text: what is in it, what is not, and which numbers it shows."""

import base64
import html as html_module
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
from allegiance.drivers import Finding, drivers
from allegiance.report import render_report

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
#: Elements that have no end tag.
VOID = {"meta", "img", "input", "br", "wbr", "link"}


class Page(HTMLParser):
    """A page taken apart as a browser would: tags with their attributes, texts, and data blocks."""

    def __init__(self, html):
        super().__init__()
        self.html = html
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


@pytest.fixture(scope="module")
def scene():
    """Three clusters that overlap, their trust, and the page of it."""
    X, labels = three_clusters(300, np.random.default_rng(0))
    result = trust(X, labels, n_resamples=10)
    return X, labels, result, page_of(result, X, feature_names=["east", "north", "up", "nothing"])


def test_loads_nothing_and_forbids_the_browser_to(rng):
    X, labels = three_clusters(60, rng)
    page = page_of(affinity(X, labels, random_state=0), X, images=rng.random((60, 5, 4)))
    loading = {"src", "srcset", "href", "action", "poster", "data", "xlink:href", "background"}
    assert [(tag, attrs) for tag, attrs in page.tags if loading & attrs.keys()] == []
    assert [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "base")] == []
    assert not re.search(r"url\(|@import", "".join(page.styles))
    own = page.scripts[-1]
    assert "window.allegianceReport" in own
    assert not re.search(r"https?://|XMLHttpRequest|WebSocket|\bimport\b|innerHTML|eval\(", own)
    (policy,) = [attrs["content"] for _, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    (nonce,) = re.findall(r"^'nonce-([0-9a-f]{32})'$", rules["script-src"])
    assert {attrs["nonce"] for tag, attrs in page.tags if tag == "script" and "type" not in attrs} == {nonce}


def test_numbers_on_the_page_are_those_of_the_result_worst_clusters_first(scene):
    _, labels, result, page = scene
    counts = {name: int((result.verdict == name).sum()) for name in ("firm", "borderline", "doubtful")}
    assert min(counts.values()) > 0
    low, high = result.replication_interval
    assert f"{100 * result.replication:.0f}% of 300 labels would hold up on a fresh sample" in page.text
    assert f"{100 * low:.0f}-{100 * high:.0f}%" in page.text
    assert ", ".join(f"{number} {name}" for name, number in counts.items()) in page.text
    order = sorted(range(3), key=lambda name: result.trust[labels == name].mean())
    assert page.data["page-data"]["labels"] == [*map(str, order), "-1"]
    worst = result.trust[labels == order[0]]
    message = f"{100 * worst.mean():.0f}% of its {worst.size} labels would hold up; most often confused with"
    assert re.search(rf"Check this cluster first: {order[0]}\b[^(]*\({message}", page.text)
    levels, sums = (np.array(page.data["page-data"][key]) for key in ("levels", "sums"))
    for place, name in enumerate(order):
        own, verdicts = result.trust[labels == name], result.verdict[labels == name]
        numbers = " ".join(str((verdicts == verdict).sum()) for verdict in counts)
        share = f"{100 * own.size / 300:.0f}%"
        assert re.search(rf" {own.size} {share} {100 * own.mean():.0f}% (\d+-\d+% )?{numbers}", page.text)
        for step in (0, 31, 50, 77, 100):
            above = own[own > step / 100]
            assert levels[place, step + 1 :].sum() == above.size
            np.testing.assert_allclose(sums[place, step + 1 :].sum(), above.sum(), atol=1e-3)


def test_without_calibration_the_page_speaks_of_own_affinity(rng):
    X, labels = three_clusters(100, rng)
    result = affinity(X, labels)
    page = page_of(result, X)
    assert "100 labels scored by affinity alone" in page.text
    assert "would hold up on" not in page.text
    data = page.data["page-data"]
    assert (data["quantity"], data["sums"]) == ("own affinity", None)
    assert np.array(data["levels"])[:, 41:].sum() == (result.own_affinity > 0.4).sum()


def test_noise_is_counted_apart(rng):
    X, labels = three_clusters(100, rng)
    labels[:30] = -1
    page = page_of(trust(X, labels, n_resamples=2), X)
    data = page.data["page-data"]
    assert "of 70 labels" in page.text
    assert "30 noise points (30%)" in page.text
    assert (np.sum(data["levels"]), data["counts"][3]) == (70, 30)
    assert "crosses are noise" in page.text
    assert "crosses" not in page_of(affinity(X[30:], labels[30:])).text


def test_says_why_trust_may_be_wrong_and_what_is_unlike_its_cluster(rng):
    X, labels = three_clusters(150, rng)
    shuffled = trust(X, rng.permutation(labels), n_resamples=5)
    text = page_of(shuffled).text
    summary = shuffled.summary()
    assert summary.problems
    assert [text.count(sentence) for sentence in (summary.note, *summary.problems)] == [1] * (1 + len(summary.problems))
    # Shares of members come in steps of one member: it takes a hundred of them to be below 0.01.
    X, labels = three_clusters(600, rng)
    result = AffinityScorer(calibration=2).fit(X, labels).affinity(np.vstack([X, X[:4] + 100.0]))
    page = page_of(result)
    assert (result.typicality[-4:] < 0.01).all()
    assert f"{(result.typicality < 0.01).sum()} outliers: less typical than 99% of their cluster" in page.text
    assert "A label that holds up is not always right" in page.text


def test_says_how_it_was_computed(rng):
    result = affinity(*three_clusters(40, rng), influence="within", eps=0.04, random_state=12345)
    text, influence = page_of(result).text, result.summary().measurement.influence
    for fact in (influence, "box", "0.04", "12345", f"numpy {np.__version__}", "allegiance"):
        assert fact in text


@pytest.mark.slow
def test_hundred_thousand_points_are_all_there_and_stay_small(random_result, rng):
    result = random_result(100_000, 50, 0.03, label=rng.integers(-1, 50, size=100_000))
    html = render_report(result, rng.normal(size=(100_000, 8)))
    assert len(html.encode()) < 22e6
    page = Page(html)
    assert "The page contains all 100,000 points." in page.text
    assert np.sum(page.data["page-data"]["levels"]) == 100_000 - (result.label == -1).sum()


@pytest.mark.slow
def test_more_points_with_long_ids_texts_and_images_stay_small(random_result, rng):
    n = 150_000
    index = pd.Index([f"{i:0100d}" for i in range(n, 0, -1)])
    result = random_result(n, 60, 50.0, frame=pd.DataFrame(index=index))
    assert (result.verdict != "firm").all()
    images = np.broadcast_to(rng.integers(256, size=(90, 80, 3), dtype=np.uint8), (n, 90, 80, 3))
    html = render_report(result, rng.normal(size=(n, 3)), images=images, texts=["word " * 100] * n)
    assert len(html.encode()) < 36e6
    page = Page(html)
    assert re.search(r"those to review first and a sample, together 70,\d{3} of 150,000 labels that are not", page.text)
    assert re.search(r"It has images of \d{3} points", page.text)
    assert re.search(r"It has texts of \d,\d{3} points", page.text)


@pytest.mark.parametrize("where", ["title", "label", "feature", "id", "index name"])
def test_hostile_names_stay_text(where, rng, scene):
    X, labels = three_clusters(60, rng)
    names = [HOSTILE if where == "label" else "zero", "one", "two"]
    frame = pd.DataFrame(X, columns=[HOSTILE if where == "feature" else "p", "q", "r", "s"])
    frame.index = [f"{HOSTILE if where == 'id' else 'row'} {i}" for i in range(60)]
    frame.index.name = HOSTILE if where == "index name" else "key"
    result = affinity(frame, np.array(names)[labels], random_state=0)
    html = render_report(result, frame, title=HOSTILE if where == "title" else None)
    page = Page(html)
    active, expected = ([tag for tag, _ in one.tags if tag in ("script", "img")] for one in (page, scene[3]))
    assert active == expected
    assert "<script>alert" not in html
    assert HOSTILE in json.dumps(page.data) + page.text


SLOW_CONTAINERS = [pytest.param(kind, marks=pytest.mark.slow) for kind in (sp.csr_matrix, pd.DataFrame)]


@pytest.mark.parametrize("container", [sp.csr_array, pl.DataFrame, *SLOW_CONTAINERS])
def test_any_kind_of_data_gives_the_same_features_and_counts(container, rng):
    X, labels = three_clusters(50, rng)
    X[np.abs(X) < 0.5] = 0
    expected = page_of(affinity(X, labels, random_state=0), X).data["page-data"]
    other = container(X)
    if isinstance(other, pd.DataFrame):
        other.columns = [f"c{i}" for i in range(4)]
    got = page_of(affinity(other, labels, random_state=0), other, feature_names=["x0", "x1", "x2", "x3"])
    for key in ("levels", "table", "labels", "counts", "clusters"):
        assert got.data["page-data"][key] == expected[key]


@pytest.mark.parametrize(
    ("affinities", "label", "says"),
    [
        ([[1.0]], [0], "There is only one cluster, and one cluster always replicates."),
        ([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0]], [0, 1], "2 firm, 0 borderline, 0 doubtful"),
        ([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]], [0, 2], "0 firm, 2 borderline, 0 doubtful"),
        ([[0.8, 0.1, 0.1], [0.3, 0.3, 0.4]], [0, -1], "1 noise point (50%)"),
        ([[0.8, 0.2]], [-1], "There are no labels: all points are noise."),
        ([[0.2, 0.7, 0.1]], [0], "23% of its 1 label would hold up; most often confused with 1)."),
        ([[0.0, 0.7, 0.3]], [0], "0 firm, 0 borderline, 1 doubtful"),
    ],
    ids=["one cluster", "firm", "borderline", "noise", "only noise", "doubtful", "nothing"],
)
def test_small_and_extreme_results(affinities, label, says, make_result):
    X = np.arange(3.0 * len(label)).reshape(-1, 3) if len(label) > 1 else None
    page = page_of(make_result(affinities, label), X)
    assert says in page.text
    assert not re.search(r"\bnan\b", page.text.lower())


def test_string_labels_and_empty_clusters(make_result):
    page = page_of(make_result([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]], ["a", "a"], ["a", "b", "c"]))
    assert page.data["page-data"]["labels"] == ["a", "b", "c", "-1"]
    assert np.sum(page.data["page-data"]["levels"], axis=1).tolist() == [2, 0, 0]
    assert "b 0 0% - 0 0 0 -" in page.text


def test_a_result_of_the_largest_affinities_only(rng):
    X, labels = three_clusters(80, rng)
    whole, part = (affinity(X, labels, top=top, random_state=0) for top in (None, 2))
    expected = page_of(whole, X).data["page-data"]["levels"]
    for rows in (None, X):
        assert page_of(part, rows).data["page-data"]["levels"] == expected


def test_images_and_texts_beyond_the_budget_are_left_out_and_said_so(make_result, rng, monkeypatch):
    monkeypatch.setattr("allegiance.report._points.IMAGE_BUDGET", 4_000)
    monkeypatch.setattr("allegiance.report._points.TEXT_BUDGET", 200)
    result = make_result(rng.dirichlet(np.ones(3), 40))
    texts = [f"document {row}" for row in range(40)]
    page = page_of(result, images=rng.random((40, 8, 8)), texts=texts)
    data = page.data["page-data"]
    order = result.review(40).index.to_numpy()[::-1]
    for kind, budget in (("images", 4_000), ("texts", 200)):
        entries = data[kind]
        assert 5 < len(entries) < 40
        assert sum(map(len, entries.values())) <= budget
        assert f"It has {kind} of {len(entries)} points" in page.text
        # The most typical members, and the least trusted labels.
        assert {str(card["typical"][0]) for card in data["clusters"]} <= set(entries)
        assert {"39", "38", "37"} <= set(entries)
    assert all(text == texts[order[int(point)]] for point, text in data["texts"].items())


def test_an_embedding_with_texts_or_images_is_described_by_them_and_not_by_its_numbers(scene):
    X, labels, result, _ = scene
    texts = [f"the {('river', 'mountain', 'desert')[label]} number {row % 7}" for row, label in enumerate(labels)]
    page = page_of(result, X, texts=texts)
    data = page.data["page-data"]
    names = dict(zip(data["labels"], data["clusterNames"], strict=False))
    assert names == {"0": "river", "1": "mountain", "2": "desert"}
    assert "x0" not in page.text.replace("x0 x1 x2 x3", "")  # The menu of colors has the columns.
    assert not data["hasEvidence"]
    assert set(page_of(result, X, texts=[""] * 300).data["page-data"]["clusterNames"]) == {""}
    page = page_of(result, X, images=np.zeros((300, 2, 2)))
    assert ("most typical" in page.text, "Columns by cluster" in page.text) == (True, False)
    assert "Columns by cluster" in page_of(result, X, texts=texts, feature_names=list("abcd")).text


def test_clusters_are_described_by_features_rivals_and_members(scene):
    X, labels, result, page = scene
    data, order = page.data["page-data"], result.review(300).index.to_numpy()[::-1]
    for name, card in zip(data["labels"], data["clusters"], strict=False):
        own = int(name)
        column, level, inside, outside, difference = card["traits"][0]
        assert (data["table"][column]["name"], level) == (["east", "north", "up"][own], -1)
        np.testing.assert_allclose(inside, X[labels == own, own].mean(), rtol=1e-4)
        np.testing.assert_allclose(outside, X[labels != own, own].mean(), rtol=1e-4, atol=1e-6)
        assert difference > 1
        doubtful = (labels == own) & (result.verdict != "firm")
        assert sum(data["rivals"][data["labels"].index(name)]) == doubtful.sum()
        assert set(labels[order[card["typical"]]]) == {own}
        assert result.typicality[order[card["typical"][0]]] == result.typicality[labels == own].max()


def test_nearest_members_of_points_to_review_are_on_the_page(scene):
    _, labels, result, page = scene
    near, order = page.data["page-data"]["near"], result.review(300).index.to_numpy()[::-1]
    doubtful = np.flatnonzero(result.verdict != "firm")
    assert {int(order[int(place)]) for place in near} == set(doubtful.tolist())
    for place, (own, other) in near.items():
        row = order[int(place)]
        assert set(labels[order[own]]) == {labels[row]}
        assert set(labels[order[other]]) == {result.rival[row]}
        assert row not in order[own]


@pytest.mark.parametrize("kind", ["far cluster", "categories"])
def test_the_first_axes_show_the_clusters(kind, rng):
    if kind == "far cluster":  # It lies on the edge, so that the other clusters keep their room.
        X, labels = three_clusters(400, rng)
        labels[:6] = 3
        X[:6, 0] += 1000.0
    else:  # Discriminant axes have one place for each category.
        labels = rng.integers(3, size=400)
        X = np.column_stack([np.eye(3)[labels] + rng.normal(scale=1e-3, size=(400, 3)), rng.normal(size=(400, 5))])
    axes = page_of(affinity(X, labels, influence="within", random_state=0), X).data["page-data"]["axes"]
    names = ["discriminant axes", "principal components"]
    assert [one["name"] for one in axes] == (names if kind == "far cluster" else names[::-1])
    if kind == "far cluster":
        spread = (X[6:] / X[6:].std(axis=0)).std(axis=0).max()
        assert all(high - low < 30 * spread for low, high in axes[0]["limits"])


def test_own_coordinates_and_row_numbers(rng):
    X, labels = three_clusters(50, rng)
    result = affinity(X, labels, random_state=0)
    page = page_of(result, X, map=rng.random((50, 2)), row_numbers=np.arange(50) + 7)
    assert "Map: x and y." in page.text
    names = [axes["name"] for axes in page.data["page-data"]["axes"]]
    assert names == ["x, y", "discriminant axes", "principal components"]
    assert sorted(base64.b64decode(page.data["page-data"]["columns"]["row"]["data"])) == list(range(7, 57))


def test_writes_a_whole_file_or_names_the_folder_that_is_missing(make_result, tmp_path):
    result = make_result([[0.8, 0.2], [0.4, 0.6]])
    path = tmp_path / "report.html"
    path.write_text("old")
    assert result.report(str(path), title="New lone \ud800 surrogate") == path
    assert Page(path.read_text(encoding="utf-8")).text.startswith("New lone ? surrogate")
    assert os.listdir(tmp_path) == ["report.html"]
    with pytest.raises(FileNotFoundError, match=r"folder .* does not exist"):
        result.report(tmp_path / "missing" / "report.html", X="not looked at")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        result.report(tmp_path)


@pytest.fixture(scope="module")
def customers():
    """A result, the scaled matrix it came from, and the table as its owner knows it."""
    rng, n = np.random.default_rng(0), 300
    labels = np.arange(n) % 3
    table = pd.DataFrame(
        {
            "customer": [f"C-{i:04d}" for i in range(n)],
            "revenue": rng.normal(1200, 150, n) + 900 * (labels == 1),
            "contract": np.where(rng.random(n) < np.array([0.9, 0.2, 0.2])[labels], "monthly", "two years"),
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n) + 900 * (labels == 2), "D"),
            "remark": [f"remark {i}" for i in range(n)],
        }
    )
    days = (table["joined"] - table["joined"].min()).dt.days
    X = np.column_stack([table["revenue"], table["contract"] == "monthly", days]).astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return trust(X, labels, n_resamples=5), X, table


def test_clusters_are_described_in_the_units_of_the_table(customers):
    result, X, table = customers
    page = page_of(result, X, data=table, ids="customer")
    data = page.data["page-data"]
    columns = [column["name"] for column in data["table"]]
    assert columns == ["revenue", "contract", "joined", "remark"]
    assert data["idNames"] == ["customer"]
    cards = dict(zip(data["labels"], data["clusters"], strict=False))
    names = dict(zip(data["labels"], data["clusterNames"], strict=False))
    column, _, inside, outside, _ = cards["1"]["traits"][0]
    assert columns[column] == "revenue"
    np.testing.assert_allclose(inside, table["revenue"][result.label == 1].mean(), rtol=1e-5)
    np.testing.assert_allclose(outside, table["revenue"][result.label != 1].mean(), rtol=1e-5)
    assert "high revenue" in names["1"]
    assert "early joined" in names["0"]
    assert "late joined" in names["2"]
    contract = data["table"][1]
    assert contract["levels"] == ["monthly", "two years"]
    share = (table["contract"][result.label == 0] == "monthly").mean()
    np.testing.assert_allclose(contract["means"][data["labels"].index("0")][0], share, rtol=1e-5)
    assert f"1 · {names['1']}" in page.text


def test_columns_that_were_not_clustered_do_not_describe_clusters(customers, rng):
    result, X, table = customers
    table = table.assign(segment=100.0 * result.label + rng.normal(size=300))
    data = page_of(result, X, data=table, describe_by=["revenue", "contract", "joined"]).data["page-data"]
    columns = [column["name"] for column in data["table"]]
    names = {columns[trait[0]] for card in data["clusters"] for trait in card["traits"]}
    assert names == {"revenue", "contract", "joined"}
    assert "means" not in data["table"][columns.index("segment")]


def cells(page, table):
    """Return the texts of the rows of a table of the page."""
    html = re.search(rf'<table id="{table}".*?</table>', page.html, re.DOTALL)[0]
    texts = [re.sub(r"<[^>]*>", " ", row).split() for row in re.findall(r"<tr.*?</tr>", html, re.DOTALL)]
    return [row for row in texts if row]


def test_the_first_screen_has_tiles_problems_drivers_and_provenance(customers):
    result, X, table = customers
    actual = drivers(result, table[["revenue", "contract", "joined"]], scale=True)
    page = page_of(
        result, X, data=table, ids="customer", drivers=actual,
        notes=["Line 7 is a total.", Finding("sentinel", ("revenue",), "Is -999 a number?", "--missing -999")],
        provenance={"columns used": "3 of 5: revenue, contract, joined"},
    )  # fmt: skip
    assert "<code>--missing -999</code>" in page.html
    low, high = result.replication_interval
    tile = f"{100 * result.replication:.0f}% 90% prediction interval: {100 * low:.0f}-{100 * high:.0f}%"
    places = [tile, "Doubtful labels", "Columns used 3 of 5", "Line 7 is a total."]
    places += [flag.text for flag in actual.flags]
    places += ["would hold up on a fresh sample (90%"]
    places += [f"{name} {share:.0%}" for name, share in actual.shares.items()]
    places += [actual.rule.splitlines()[0].replace("->", "→"), "Clusters, lowest replication first"]
    places += ["Review list", "Provenance"]
    order = [page.text.index(text) for text in places]
    assert order == sorted(order)
    assert "Drivers" not in page_of(result, X, data=table, drivers=False).text
    # The columns of an array have no names, but those of the table do.
    unnamed = page_of(affinity(X, result.label), X, data=table, ids="customer").text
    assert ("revenue" in unnamed.partition("Strongest: ")[2][:40], "x0" in unnamed) == (True, False)


def test_the_heat_map_has_means_and_shares_in_the_order_of_the_drivers(customers):
    result, X, table = customers
    table = table.assign(built=1990 + result.label, share=np.where(result.label == 0, 0.05, 0.5))
    page = page_of(result, X, data=table, ids="customer")
    order = [int(label) for label in page.data["page-data"]["labels"][:3]]
    rows = {row[0]: row for row in cells(page, "heat")}
    assert rows["built"][-3:] == [str(1990 + label) for label in order]  # Years have no separators.
    assert rows["revenue"][-3:] == [f"{table['revenue'][result.label == label].mean():,.0f}" for label in order]
    assert rows["share"][-3:] == ["0.050" if label == 0 else "0.500" for label in order], "as many decimals in a row"
    assert rows["joined"][-3:] == [str(table["joined"][result.label == label].mean().date()) for label in order]
    shares = [(table["contract"][result.label == label] == "monthly").mean() for label in order]
    contract = rows["contract:"]
    assert contract[-3:] == [f"{share if contract[1] == 'monthly' else 1 - share:.0%}" for share in shares]


def test_rivals_are_a_matrix_or_for_many_clusters_a_list(scene, random_result):
    _, labels, result, page = scene
    order = [int(label) for label in page.data["page-data"]["labels"][:3]]
    rows = cells(page, "rivals")[1:]
    for label, row in zip(order, rows, strict=True):
        weak = (labels == label) & (result.verdict != "firm")
        counts = [int((result.rival[weak] == rival).sum()) for rival in order]
        shown = [str(count) for count in counts if count]
        assert (row[0], row[len(row) - len(shown) :]) == (str(label), shown)
    many = cells(page_of(random_result(500, 30)), "rivals")[1:]
    assert len(many) == 15
    assert [int(row[-1]) for row in many] == sorted((int(row[-1]) for row in many), reverse=True)


def test_exports_say_what_they_contain(customers, monkeypatch):
    result, X, table = customers
    assert "The exported table has all 300 rows." in page_of(result, X, data=table).text
    table = table.assign(remark=[f"{i} " + "word " * 300 for i in range(300)])
    assert "all 300 rows; texts are cut at 1,000 characters." in page_of(result, X, data=table).text
    for name in ("POINTS", "LISTED", "DOUBTFUL", "FIRM", "NOISE"):
        monkeypatch.setattr(f"allegiance.report._points.MAX_{name}", 20)
    text = page_of(result, X, data=table).text
    assert re.search(r"has the \d+ rows on this page, a sample of 300; texts are cut at", text)


def test_names_can_be_given_and_labels_that_are_words_keep_theirs(customers):
    result, X, table = customers
    data = page_of(result, X, data=table, names={0: "month to month"}).data["page-data"]
    assert data["clusterNames"][data["labels"].index("0")] == "month to month"
    with pytest.raises(ValueError, match="names has '7', which is not a label"):
        render_report(result, names={7: "x"})
    words = affinity(X, np.array(["a", "b", "c"])[result.label])
    assert set(page_of(words, X, data=table).data["page-data"]["clusterNames"]) == {""}


def test_a_page_inside_a_notebook(rng, tmp_path):
    X, labels = three_clusters(30, rng)
    page = affinity(X, labels, random_state=0).report(title='Thirty "points"')
    markup = page._repr_html_()
    frame = re.fullmatch(r'<iframe srcdoc="([^"]*)"[^>]*></iframe>', markup)
    assert html_module.unescape(frame[1]) == page.html
    # The page must not reach the notebook that it is shown in.
    assert 'sandbox="allow-scripts allow-downloads allow-popups"' in markup
    assert page.save(tmp_path / "a.html").read_text(encoding="utf-8") == page.html
    assert re.match(r'Thirty "points": a page of \d\.\d MB', repr(page))
