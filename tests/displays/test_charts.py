"""Labels sorted by trust, labels against rivals, the curve of a parameter; and pictures as methods of a result."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import AffinityScorer, affinity, stability_curve, trust
from allegiance.applications import StabilityCurve
from allegiance.displays import (
    AffinityFieldDisplay,
    AffinityMapDisplay,
    AffinityProfileDisplay,
    FlowDisplay,
    GalleryDisplay,
    StabilityCurveDisplay,
)


@pytest.fixture(params=["trust", "own_affinity"])
def result(request, rng):
    X = rng.normal(size=(300, 2))
    labels = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
    labels[rng.choice(300, 30, replace=False)] = 1
    labels[:20] = -1
    return trust(X, labels, n_resamples=5) if request.param == "trust" else affinity(X, labels)


def test_bands_are_sorted_and_complete(result, request):
    display = AffinityProfileDisplay(result).plot()
    assert display.ranking_name == request.node.callspec.params["result"]
    ranking = getattr(result, display.ranking_name)
    assert len(display.rows) == 4
    for i, rows in enumerate(display.rows):
        values = ranking[rows]
        firm = values >= 0.8
        assert (np.diff(firm.astype(int)) <= 0).all()
        for part in (firm, ~firm):
            assert (np.diff(values[part]) <= 0).all()
        np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(result.label == i))
    assert (display.threshold_ is None) == (display.ranking_name != "trust")
    assert "20 noise points" in display.ax_.get_title()
    for i, label in enumerate(display.labels_[:4]):
        doubtful = ranking[result.label == i] < 0.8
        assert f"{doubtful.size} points, {doubtful.mean():.0%}" in label.get_text()
    frame = display.frame()
    assert list(frame.columns) == ["cluster", "rank", "row", display.ranking_name, "verdict"]
    np.testing.assert_array_equal(frame["cluster"], result.label[frame["row"]])
    np.testing.assert_array_equal(frame[display.ranking_name], ranking[frame["row"]])
    if display.ranking_name == "trust":
        np.testing.assert_array_equal(frame["verdict"], result.verdict[frame["row"]])


def test_bands_are_as_high_as_clusters_are_large_or_all_alike_if_names_would_not_fit(result):
    sizes = np.array([(result.label == name).sum() for name in range(4)])
    ranking = getattr(result, AffinityProfileDisplay(result).ranking_name)
    verdicts = [ranking[result.label == name] >= 0.8 for name in range(4)]
    counts = np.array([count for one in verdicts for count in (one.sum(), (~one).sum())])
    for inches in (9.0, 1.0):
        _, ax = plt.subplots(figsize=(6, inches))
        bands = AffinityProfileDisplay(result).plot(ax=ax).bands_
        spans = [np.ptp(np.vstack([path.vertices for path in band.get_paths()])[:, 1]) for band in bands]
        assert [bool(band.get_hatch()) for band in bands] == [i % 2 == 1 for i in range(8) if counts[i]]
        whole = sizes if inches > 5 else np.full(4, sizes.sum() / 4)
        expected = counts / np.repeat(sizes, 2) * np.repeat(whole, 2)
        np.testing.assert_allclose(np.array(spans) / sum(spans), expected[counts > 0] / expected.sum(), atol=1e-9)


def test_a_hundred_thousand_points_are_few_corners(rng):
    X = rng.normal(size=(100_000, 2))
    display = AffinityProfileDisplay(affinity(X, rng.integers(0, 3, 100_000), eps=0.1)).plot()
    assert sum(len(path.vertices) for band in display.bands_ for path in band.get_paths()) < 20_000


def test_clusters_without_points_and_single_points():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
    scorer = AffinityScorer(centers=[[0, 0], [5, 5], [9, 0]]).fit(X)
    texts = [label.get_text() for label in AffinityProfileDisplay(scorer.affinity(X)).plot().labels_]
    assert texts == ["2 points, 0% hatched", "1 point, 0% hatched", "no points"]


@pytest.mark.parametrize("k", [1, 5, pytest.param(30, marks=pytest.mark.slow)])
def test_texts_do_not_overlap(texts_in_order, k):
    X, y = make_blobs(3000, centers=k, random_state=0)
    whole, part = (AffinityProfileDisplay(affinity(X, y, top=top)).plot() for top in (None, 2))
    texts_in_order(whole.figure_)
    assert whole.frame().equals(part.frame())


def test_a_result_draws_its_own_pictures(blobs):
    result = trust(*blobs, n_resamples=3)
    assert isinstance(result.plot(), AffinityProfileDisplay)
    np.testing.assert_array_equal(result.plot().frame()["row"], result.plot.profile().frame()["row"])
    assert isinstance(result.plot.flow(), FlowDisplay)
    assert isinstance(result.plot.gallery(blobs[0], image_shape=(1, 2), n=2), GalleryDisplay)
    assert "plot.map(X)" in repr(result.plot)


@pytest.mark.slow
def test_names_of_clusters_are_shown_in_every_picture(blobs, texts_in_order):
    X, y = blobs
    result = affinity(X, np.where(np.arange(160) < 30, (y + 1) % 4, y))
    names = {0: "low revenue", 3: "high revenue, fibre"}
    scorer = AffinityScorer().fit(X, y)
    pictures = [
        result.plot(names=names),
        result.plot.flow(which="all", names=names),
        result.plot.map(X, names=names),
        result.plot.gallery(X, image_shape=(1, 2), n=2, per_cluster=True, names=names),
        AffinityFieldDisplay(scorer, X, resolution=9, names=names).plot(),
    ]
    for display in pictures:
        texts = [" ".join(text.get_text().split()) for text in display.figure_.findobj(Text)]
        assert {"0 · low revenue", "1", "3 · high revenue, fibre"} <= set(texts), type(display)
        texts_in_order(display.figure_)
    assert result.plot(names=names).frame().equals(result.plot().frame())
    with pytest.raises(ValueError, match="'7', which is not a label"):
        result.plot(names={7: "none"})


def test_matplotlib_is_needed_to_draw_only(monkeypatch):
    result = affinity([[0.0], [1.0], [9.0]], [0, 0, 1])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"allegiance\[plot\]"):
        AffinityProfileDisplay(result).plot()


@pytest.fixture(params=["trust", "affinity"])
def confused(request, rng):
    X = rng.normal(size=(400, 3))
    # Five parts that do not follow the nearest mean everywhere.
    labels = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-1.0, -0.3, 0.3, 1.0])
    labels[:30] = -1
    return trust(X, labels, n_resamples=5) if request.param == "trust" else affinity(X, labels)


@pytest.mark.parametrize("which", ["weak", "all"])
def test_counts_of_a_flow(confused, which):
    expected = np.zeros((6, 5), dtype=int)
    ranking = getattr(confused, FlowDisplay(confused).ranking_name)
    for row in range(len(confused)):
        if which == "weak" and ranking[row] >= 0.8 and confused.label[row] >= 0:
            continue
        label = confused.label[row]
        ranked = np.argsort(-confused.affinity[row], kind="stable")
        rival = ranked[0] if confused.classes[ranked[0]] != label else ranked[1]
        expected[label if label >= 0 else 5, rival] += 1
    display = FlowDisplay(confused, which=which).plot()
    np.testing.assert_array_equal(display.counts, expected)
    assert display.frame()["label"].unique().tolist() == ["0", "1", "2", "3", "4", "noise"]
    assert (np.diag(display.counts[:5]) == 0).all()
    np.testing.assert_array_equal(display.points, np.bincount(confused.label % 6, minlength=6))
    title = " ".join(display.ax_.get_title().split())
    assert (f"{expected[:5].sum()} of 370" if which == "weak" else "370 labels") in title
    assert "30 noise points" in title
    frame = display.frame()
    assert len(frame) == 6 * 5 - 5
    assert frame["points"].sum() == expected.sum()
    np.testing.assert_allclose(frame["share"], frame["points"] / np.repeat(display.points, [4, 4, 4, 4, 4, 5]))


def test_numbers_in_the_squares(confused):
    display = FlowDisplay(confused, which="all").plot()
    assert len(display.texts_) == np.count_nonzero(display.counts)
    for text in display.texts_:
        column, row = (int(value) for value in text.get_position())
        assert text.get_text() == str(display.counts[row, column])


def test_large_counts_are_shortened_and_none_are_named():
    display = FlowDisplay(affinity([[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]], [0, 0, 1, 1]))
    assert display.counts.sum() == 0
    assert [text.get_text() for text in display.plot().texts_] == ["no such points"]
    display.counts = np.array([[0, 123_456], [9_999, 0]])
    assert [text.get_text() for text in display.plot().texts_] == ["123k", "9999"]


@pytest.mark.parametrize(("k", "names"), [(2, "long"), (8, "long"), pytest.param(30, "short", marks=pytest.mark.slow)])
def test_texts_of_a_flow_do_not_overlap(texts_in_order, rng, k, names):
    X = rng.normal(size=(60 * k, 2))
    labels = rng.permutation(np.arange(60 * k) % k)
    labels = np.array([f"a long name of {i}" if names == "long" else f"c{i}" for i in labels])
    texts_in_order(FlowDisplay(affinity(X, labels, eps=0.2), which="all").plot().figure_)


def test_mistakes(confused):
    with pytest.raises(ValueError, match="which must be one of"):
        FlowDisplay(confused, which="unstable")
    with pytest.raises(ValueError, match="at least two clusters"):
        FlowDisplay(affinity(np.zeros((3, 2)) + np.arange(3)[:, None], [0, 0, 0]))
    for display in (FlowDisplay, AffinityProfileDisplay, AffinityMapDisplay):
        with pytest.raises(TypeError, match="AffinityResult"):
            display("confused")


def test_draws_the_numbers_of_the_curve(blobs):
    curve = stability_curve(blobs[0], KMeans(n_init=2), range(2, 7), n_references=2, n_resamples=5)
    _, ax = plt.subplots()
    display = curve.plot(ax=ax)
    assert isinstance(display, StabilityCurveDisplay)
    assert display.ax_ is ax
    columns = list(curve._columns().values())
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack(columns[:2]))
    assert display.suggestion_.get_xydata()[0, 0] == 4
    assert len(display.reference_) == 2
    np.testing.assert_array_equal(display.frame()["above_chance"], columns[1])
    assert display.frame()["suggested"].sum() == 1


def test_a_curve_over_another_parameter_without_a_suggestion():
    flat = StabilityCurve(
        np.array([0.1, 0.3, 1.0]), np.arange(3), np.full((3, 4), 0.4), np.full((2, 3), 0.4), "resolution"
    )
    display = flat.plot()
    assert display.suggestion_ is None
    assert display.ax_.get_xlabel() == "resolution"
    assert not display.frame()["suggested"].any()
