"""Labels sorted by trust, band by band."""

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import make_blobs

from allegiance import AffinityScorer, affinity, trust
from allegiance.displays import AffinityProfileDisplay


def scored(kind, rng):
    X = rng.normal(size=(300, 2))
    labels = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
    labels[rng.choice(300, 30, replace=False)] = 1
    labels[:20] = -1
    return trust(X, labels, n_resamples=5) if kind == "trust" else affinity(X, labels)


@pytest.fixture(params=["trust", "own_affinity"])
def result(request, rng):
    return scored(request.param, rng)


def test_bands_are_sorted_and_complete(result):
    display = AffinityProfileDisplay.from_result(result)
    assert display.ranked_by == ("trust" if result.calibrated else "own_affinity")
    assert display.clusters.tolist() == [0, 1, 2, 3]
    assert display.noise == 20
    for i, (values, verdicts, rows) in enumerate(zip(display.values, display.verdicts, display.rows, strict=True)):
        supported = verdicts == "supported"
        assert (np.diff(supported.astype(int)) <= 0).all()
        for part in (supported, ~supported):
            assert (np.diff(values[part]) <= 0).all()
        np.testing.assert_array_equal(values, result.ranking[rows])
        np.testing.assert_array_equal(verdicts, result.verdict[rows])
        np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(result.label == i))


def test_frame(result):
    display = AffinityProfileDisplay.from_result(result)
    frame = display.frame()
    assert list(frame.columns) == ["cluster", "rank", "row", display.ranked_by, "verdict"]
    assert len(frame) == 280
    np.testing.assert_array_equal(frame["verdict"], result.verdict[frame["row"]])
    np.testing.assert_array_equal(frame[display.ranked_by], result.ranking[frame["row"]])
    assert isinstance(display.frame(like=pl.DataFrame()), pl.DataFrame)


@pytest.mark.parametrize("bands", ["size", "equal"])
def test_bands_are_drawn_where_they_say(result, bands):
    display = AffinityProfileDisplay.from_result(result, bands=bands)
    sizes = [[int((v == "supported").sum()), int((v != "supported").sum())] for v in display.verdicts]
    drawn = [count for pair in sizes for count in pair if count]
    spans = [np.ptp(np.vstack([path.vertices for path in band.get_paths()])[:, 1]) for band in display.bands_]
    hatched = [bool(band.get_hatch()) for band in display.bands_]
    assert hatched == [place == 1 for pair in sizes for place, count in enumerate(pair) if count]
    if bands == "size":
        np.testing.assert_allclose(np.array(spans) / sum(spans), np.array(drawn) / 280, atol=1e-9)
    else:
        first = sizes[0]
        np.testing.assert_allclose(spans[0] / (spans[0] + spans[1]), first[0] / sum(first), atol=1e-9)


def test_says_what_it_shows(rng):
    display = AffinityProfileDisplay.from_result(scored("trust", rng))
    assert "sorted by trust" in display.ax_.get_title()
    assert "hatched: not supported; 20 noise points left out" in display.ax_.get_title()
    assert display.threshold_.get_xdata()[0] == 0.5
    plain = AffinityProfileDisplay.from_result(scored("own_affinity", rng))
    assert "sorted by own affinity" in plain.ax_.get_title()
    assert plain.ax_.get_xlabel().startswith("own affinity")
    assert plain.threshold_ is None


def test_shares_beside_the_bands(result):
    texts = [label.get_text() for label in AffinityProfileDisplay.from_result(result).labels_]
    for i in range(4):
        rows = result.label == i
        assert texts[i] == f"{rows.sum()} points, {(result.verdict[rows] != 'supported').mean():.0%} hatched"


def test_a_hundred_thousand_points_are_few_corners(rng):
    X = rng.normal(size=(100_000, 2))
    display = AffinityProfileDisplay.from_result(affinity(X, rng.integers(0, 3, 100_000), eps=0.1))
    assert sum(len(path.vertices) for band in display.bands_ for path in band.get_paths()) < 20_000
    assert len(display.frame()) == 100_000


def test_clusters_without_points_and_single_points():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
    scorer = AffinityScorer(centers=[[0, 0], [5, 5], [9, 0]]).fit(X)
    texts = [label.get_text() for label in AffinityProfileDisplay.from_result(scorer.affinity(X)).labels_]
    assert texts == ["2 points, 0% hatched", "1 point, 0% hatched", "no points"]


def test_a_result_of_the_largest_affinities_only(rng):
    X, y = make_blobs(90, centers=4, random_state=0)
    whole, part = (AffinityProfileDisplay.from_result(affinity(X, y, **kw)) for kw in ({}, {"top": 2}))
    assert whole.frame().equals(part.frame())


@pytest.mark.parametrize("k", [1, 5, 30])
def test_texts_do_not_overlap(texts_in_order, k):
    X, y = make_blobs(3000, centers=k, random_state=0)
    texts_in_order(AffinityProfileDisplay.from_result(affinity(X, y)).figure_)


def test_not_a_result():
    with pytest.raises(TypeError, match=r"needs an AffinityResult, got ndarray: call trust\(X, labels\)"):
        AffinityProfileDisplay.from_result(np.zeros(3))
