"""Sorted confidences, band by band."""

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import make_blobs

from allegiance import AffinityScorer, affinity
from allegiance.displays import AffinityProfileDisplay


@pytest.fixture
def result(rng):
    X = rng.normal(size=(300, 2))
    labels = np.where(np.arange(300) < 20, -1, (X[:, 0] > 0) * 2 + (X[:, 1] > 0))
    return affinity(X, labels)


def test_bands_are_sorted_and_complete(result):
    display = AffinityProfileDisplay.from_result(result)
    assert display.clusters.tolist() == ["0", "1", "2", "3", "noise"]
    for i, (values, rows) in enumerate(zip(display.confidences, display.rows, strict=True)):
        assert (np.diff(values) <= 0).all()
        np.testing.assert_array_equal(values, result.confidence[rows])
        np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(result.label == (i if i < 4 else -1)))


def test_frame(result):
    frame = AffinityProfileDisplay.from_result(result).frame()
    assert len(frame) == 300
    np.testing.assert_array_equal(frame["stable"], result.stable[frame["row"]])
    np.testing.assert_array_equal(frame["confidence"], result.confidence[frame["row"]])
    assert isinstance(AffinityProfileDisplay.from_result(result).frame(like=pl.DataFrame()), pl.DataFrame)


@pytest.mark.parametrize("bands", ["size", "equal"])
def test_bands_are_drawn_where_they_say(result, bands):
    display = AffinityProfileDisplay.from_result(result, bands=bands)
    hatched = [band for band in display.bands_ if band.get_hatch()]
    plain = [band for band in display.bands_ if not band.get_hatch()]
    corners = [np.vstack([path.vertices for path in band.get_paths()]) for band in hatched]
    assert all(corner[:, 0].max() <= 0.5 for corner in corners)
    assert all(np.vstack([path.vertices for path in band.get_paths()])[:, 0].max() > 0.5 for band in plain)
    spans = [np.ptp(np.vstack([path.vertices for path in band.get_paths()])[:, 1]) for band in display.bands_]
    sizes = [[int((v > 0.5).sum()), int((v <= 0.5).sum())] for v in display.confidences]
    drawn = [count for pair in sizes for count in pair if count]
    if bands == "size":
        np.testing.assert_allclose(np.array(spans) / sum(spans), np.array(drawn) / 300, atol=1e-9)
    else:
        first = sizes[0]
        np.testing.assert_allclose(spans[0] / (spans[0] + spans[1]), first[0] / sum(first), atol=1e-9)
    assert display.threshold_.get_xdata()[0] == 0.5


def test_shares_beside_the_bands(result):
    texts = [label.get_text() for label in AffinityProfileDisplay.from_result(result).labels_]
    for i in range(4):
        rows = result.label == i
        assert texts[i] == f"{rows.sum()} points, {(~result.stable[rows]).mean():.0%} unstable"


def test_a_hundred_thousand_points_are_few_corners(rng):
    X = rng.normal(size=(100_000, 2))
    display = AffinityProfileDisplay.from_result(affinity(X, rng.integers(0, 3, 100_000), eps=0.1, random_state=0))
    assert sum(len(path.vertices) for band in display.bands_ for path in band.get_paths()) < 20_000
    assert len(display.frame()) == 100_000


def test_clusters_without_points_and_single_points():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
    scorer = AffinityScorer(centers=[[0, 0], [5, 5], [9, 0]]).fit(X)
    texts = [label.get_text() for label in AffinityProfileDisplay.from_result(scorer.affinity(X)).labels_]
    assert texts == ["2 points, 0% unstable", "1 point, 0% unstable", "no points"]


@pytest.mark.parametrize("k", [1, 5, 30])
def test_texts_do_not_overlap(texts_in_order, k):
    X, y = make_blobs(3000, centers=k, random_state=0)
    texts_in_order(AffinityProfileDisplay.from_result(affinity(X, y)).figure_)


def test_not_a_result():
    with pytest.raises(TypeError, match=r"needs an AffinityResult, got ndarray: call affinity\(X, labels\)"):
        AffinityProfileDisplay.from_result(np.zeros(3))
