"""The affinity map: its grid against the scorer, its artists, its errors."""

import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from allegiance import AffinityScorer, affinity
from allegiance.displays import AffinityMapDisplay


def test_grid_holds_the_scorers_own_values(scorer, blobs):
    frame = AffinityMapDisplay.from_estimator(scorer, blobs[0], resolution=12).frame()
    places = frame[["x", "y"]].to_numpy()
    np.testing.assert_array_equal(frame["confidence"], scorer.affinity(places).affinity.max(axis=1))
    assert len(frame) == 144
    low, high = blobs[0].min(axis=0), blobs[0].max(axis=0)
    reach = 0.1 * (high - low)
    assert (places > low - reach).all()
    assert (places < high + reach).all()


def test_affinity_to_one_cluster(scorer, blobs):
    display = AffinityMapDisplay.from_estimator(scorer, blobs[0], which=2, resolution=8)
    frame = display.frame()
    expected = scorer.affinity(frame[["x", "y"]].to_numpy()).affinity[:, 2]
    np.testing.assert_array_equal(frame["affinity_2"], expected)
    assert "cluster 2" in display.ax_.get_title()


@pytest.mark.parametrize("which", [None, "trust"])
def test_a_calibrated_scorer_shows_trust(calibrated, blobs, which):
    display = AffinityMapDisplay.from_estimator(calibrated, blobs[0], which=which, resolution=8)
    frame = display.frame()
    np.testing.assert_array_equal(frame["trust"], calibrated.affinity(frame[["x", "y"]].to_numpy()).trust)
    assert display.ax_.get_title().startswith("Trust at every place")
    assert display.colorbar_.ax.get_ylabel() == "trust"
    plain = AffinityMapDisplay.from_estimator(calibrated, blobs[0], which="confidence", resolution=8)
    assert "confidence" in plain.frame().columns


def test_trust_of_points_is_that_of_their_labels(calibrated, blobs):
    X, y = blobs
    labels = y.copy()
    labels[:20], labels[20:25] = (y[:20] + 1) % 4, -1
    display = AffinityMapDisplay.from_estimator(calibrated, X, labels=labels, projection=X)
    value = display.frame()["trust"].to_numpy()
    own = calibrated.affinity(X).trust
    assert (value[:20] < own[:20]).all()
    assert np.isnan(value[20:25]).all()
    np.testing.assert_array_equal(value[25:], own[25:])


@pytest.mark.parametrize("choice", [{"features": (0, 3)}, {"projection": "pca"}], ids=str)
def test_slices_are_scored_in_the_whole_space(scorer_4d, choice):
    X, scorer = scorer_4d
    display = AffinityMapDisplay.from_estimator(scorer, X, resolution=6, **choice)
    frame = display.frame()
    uv = frame[["x", "y"]].to_numpy()
    if "features" in choice:
        places = np.tile(X.mean(axis=0), (36, 1))
        places[:, [0, 3]] = uv
    else:
        axes = np.linalg.svd(X - X.mean(axis=0))[2][:2]
        seen = display.frame(points=True)[["x", "y"]].to_numpy()
        axes *= np.sign((((X - X.mean(axis=0)) @ axes.T) * seen).sum(axis=0))[:, None]
        places = X.mean(axis=0) + uv @ axes
    np.testing.assert_allclose(frame["confidence"], scorer.affinity(places).affinity.max(axis=1), atol=1e-9)
    assert "points projected" in display.ax_.get_title()


@pytest.mark.parametrize("kind", ["contour", "heat"])
def test_artists(scorer, blobs, kind):
    X, y = blobs
    display = AffinityMapDisplay.from_estimator(scorer, X, labels=y, kind=kind, resolution=40)
    assert display.ax_.figure is display.figure_
    assert len(display.cells_.get_paths()) == 4
    np.testing.assert_array_equal(display.sites_.get_offsets(), scorer.cluster_centers_)
    assert [len(drawn.get_offsets()) for drawn in display.points_] == np.bincount(y).tolist()
    assert [label.get_text() for label in display.labels_] == ["0", "1", "2", "3"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("feature 0", "feature 1")


def test_line_at_one_half_runs_where_confidence_is_one_half(scorer, blobs):
    display = AffinityMapDisplay.from_estimator(scorer, blobs[0], resolution=150)
    line = np.vstack([path.vertices for path in display.threshold_.get_paths()])
    assert len(line) > 50
    np.testing.assert_allclose(scorer.affinity(line).affinity.max(axis=1), 0.5, atol=0.01)


def test_lower_affinity_is_brighter_in_the_heat_map(scorer, blobs):
    image = AffinityMapDisplay.from_estimator(scorer, blobs[0], kind="heat", resolution=10).field_
    brightness = image.cmap(image.norm(np.array([0.4, 0.6, 0.8, 1.0])))[:, 0]
    assert (np.diff(brightness) < 0).all()


def test_nothing_but_the_field_if_asked_for(scorer, blobs):
    kw = {"show_cells": False, "show_points": False, "show_labels": False}
    display = AffinityMapDisplay.from_estimator(scorer, blobs[0], resolution=10, **kw)
    assert display.cells_ is None
    assert display.sites_ is None
    assert display.points_ == []
    assert display.labels_ == []


def test_draws_on_the_users_axes_again_and_again(scorer, blobs):
    figure, axes = plt.subplots(1, 2)
    display = AffinityMapDisplay.from_estimator(scorer, blobs[0], resolution=10, ax=axes[0])
    assert display.plot(ax=axes[1], kind="heat") is display
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]


def test_kernel_has_a_field_but_no_cells(blobs):
    X, y = blobs
    scorer = AffinityScorer(influence="rbf").fit(X, y)
    display = AffinityMapDisplay.from_estimator(scorer, X, resolution=8)
    frame = display.frame()
    np.testing.assert_array_equal(
        frame["confidence"], scorer.affinity(frame[["x", "y"]].to_numpy()).affinity.max(axis=1)
    )
    assert display.cells_ is None
    assert len(display.labels_) == 4


def test_field_ends_where_the_divergence_does():
    X = np.random.default_rng(0).gamma(0.6, 2.0, (60, 3)) + 0.01
    scorer = AffinityScorer(influence="kl").fit(X, np.arange(60) % 4)
    field = AffinityMapDisplay.from_estimator(scorer, X, projection="pca", resolution=20).field
    assert np.isnan(field).any()
    assert np.isfinite(field).any()


def test_noise_is_drawn_apart(blobs):
    X, y = blobs
    labels = np.where(np.arange(160) < 5, -1, y)
    scorer = AffinityScorer().fit(X, labels)
    display = AffinityMapDisplay.from_estimator(scorer, X, labels=labels, resolution=8)
    assert [len(drawn.get_offsets()) for drawn in display.points_][-1] == 5


def test_own_coordinates_have_no_field(scorer_4d, rng):
    X, scorer = scorer_4d
    places = rng.normal(size=(200, 2))
    display = AffinityMapDisplay.from_estimator(scorer, X, projection=places)
    frame = display.frame()
    np.testing.assert_array_equal(frame[["x", "y"]], places)
    np.testing.assert_array_equal(frame["confidence"], scorer.affinity(X).affinity.max(axis=1))
    assert "no field" in display.ax_.get_title()
    with pytest.raises(ValueError, match=r"projection must be .*\(200, 2\)"):
        AffinityMapDisplay.from_estimator(scorer, X, projection=places[:5])
    with pytest.raises(ValueError, match="choose a plane"):
        AffinityMapDisplay.from_estimator(scorer, X, projection=places, features=(0, 1))


def test_umap_is_asked_for_coordinates(scorer_4d, monkeypatch):
    X, scorer = scorer_4d
    seeds = []

    class UMAP:
        def __init__(self, n_components, random_state):
            seeds.append((n_components, random_state))

        def fit_transform(self, rows):
            return rows[:, :2].astype(np.float32)

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=UMAP))
    display = AffinityMapDisplay.from_estimator(scorer, X, projection="umap", random_state=3)
    assert seeds == [(2, 3)]
    assert display.field is None
    assert display.ax_.get_xlabel() == "UMAP 1"
    np.testing.assert_allclose(display.frame()[["x", "y"]], X[:, :2], rtol=1e-6)


def test_umap_missing_says_what_to_install(scorer_4d, monkeypatch):
    X, scorer = scorer_4d
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match="pip install umap-learn"):
        AffinityMapDisplay.from_estimator(scorer, X, projection="umap")


def test_frames_in_and_out():
    data = load_iris(as_frame=True).data
    scorer = AffinityScorer(KMeans(3, n_init=1, random_state=0), random_state=0).fit(data)
    display = AffinityMapDisplay.from_estimator(scorer, data, features=("petal length (cm)", 3), resolution=5)
    assert display.ax_.get_xlabel() == "petal length (cm)"
    frame = display.frame(like=pl.DataFrame({"a": [1]}))
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["x", "y", "confidence"]


def test_mistakes(scorer, blobs):
    X, y = blobs
    with pytest.raises(TypeError, match=r"got KMeans: wrap a clusterer as AffinityScorer\(clusterer\)\.fit\(X\)"):
        AffinityMapDisplay.from_estimator(KMeans(2), X)
    with pytest.raises(TypeError, match="not its result"):
        AffinityMapDisplay.from_estimator(affinity(X, y), X)
    with pytest.raises(NotFittedError):
        AffinityMapDisplay.from_estimator(clone(scorer), X)
    with pytest.raises(ValueError, match="fitted on one feature"):
        AffinityMapDisplay.from_estimator(AffinityScorer().fit(X[:, :1], y), X[:, :1])
    with pytest.raises(ValueError, match="2 features as input"):
        AffinityMapDisplay.from_estimator(scorer, X[:, :1])
    with pytest.raises(ValueError, match="Expected 2D array"):
        AffinityMapDisplay.from_estimator(scorer, X[:, 0])
    known = r"which must be 'trust', 'confidence' or the label of a cluster \(0, 1, 2, 3\)"
    with pytest.raises(ValueError, match=known):
        AffinityMapDisplay.from_estimator(scorer, X, which="stable")
    with pytest.raises(ValueError, match="trust needs calibration"):
        AffinityMapDisplay.from_estimator(scorer, X, which="trust")
    with pytest.raises(ValueError, match="labels must hold one label for each of the 160 rows"):
        AffinityMapDisplay.from_estimator(scorer, X, labels=y[:3])
    with pytest.raises(ValueError, match="kind must be one of 'contour', 'heat'"):
        AffinityMapDisplay.from_estimator(scorer, X, kind="line", resolution=5)
    with pytest.raises(TypeError, match="ax must be matplotlib axes, got ndarray"):
        AffinityMapDisplay.from_estimator(scorer, X, resolution=5, ax=plt.subplots(1, 2)[1])
    with pytest.raises(ValueError, match="view must be"):
        AffinityMapDisplay.from_estimator(scorer, X, view=((1, 0), (0, 1)))
    with pytest.raises(ValueError, match="resolution must be at least 2"):
        AffinityMapDisplay.from_estimator(scorer, X, resolution=1)
    positive = AffinityScorer(influence="kl").fit(X, y)
    with pytest.raises(ValueError, match="outside the domain of the divergence"):
        AffinityMapDisplay.from_estimator(positive, X, view=((-9, -8), (1, 2)), resolution=5)
    gram = AffinityScorer(influence="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="precomputed"):
        AffinityMapDisplay.from_estimator(gram, X @ X.T)
