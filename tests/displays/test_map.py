"""Maps of points, and fields: their grid against the scorer, their artists, their errors."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError

from allegiance import AffinityScorer, affinity, trust
from allegiance.displays import AffinityFieldDisplay, AffinityMapDisplay


def largest(scorer, places):
    return scorer.affinity(places).affinity.max(axis=1)


@pytest.mark.parametrize("influence", ["within", "rbf"])
def test_grid_holds_the_scorers_own_values(blobs, influence):
    scorer = AffinityScorer(influence=influence).fit(*blobs)
    display = AffinityFieldDisplay(scorer, blobs[0], resolution=12).plot()
    frame = display.frame()
    places = frame[["x", "y"]].to_numpy()
    np.testing.assert_array_equal(frame["affinity"], largest(scorer, places))
    one = AffinityFieldDisplay(scorer, blobs[0], which=2, resolution=12).plot()
    np.testing.assert_array_equal(one.frame()["affinity_2"], scorer.affinity(places).affinity[:, 2])
    assert "cluster 2" in one.ax_.get_title()
    assert len(frame) == 144
    assert (display.sites_ is None) == (influence == "rbf")
    assert len(display.labels_) == 4
    reach = 0.1 * np.ptp(blobs[0], axis=0)
    assert (places > blobs[0].min(axis=0) - reach).all()
    assert (places < blobs[0].max(axis=0) + reach).all()


def test_a_calibrated_scorer_shows_trust(blobs):
    X, y = blobs
    calibrated = AffinityScorer(calibration=5).fit(X, y)
    labels = y.copy()
    labels[:20], labels[20:25] = (y[:20] + 1) % 4, -1
    display = AffinityFieldDisplay(calibrated, X, labels=labels, resolution=8).plot()
    frame = display.frame()
    np.testing.assert_array_equal(frame["trust"], calibrated.affinity(frame[["x", "y"]].to_numpy()).trust)
    assert display.colorbar_.ax.get_ylabel() == "trust"
    # The trust of a point is that of its label, which may be another one than the scorer would give.
    value, own = display.value, calibrated.affinity(X).trust
    assert (value[:20] < own[:20]).all()
    assert np.isnan(value[20:25]).all()
    np.testing.assert_array_equal(value[25:], own[25:])


@pytest.mark.parametrize("features", [(0, 3), None], ids=["slice", "principal"])
def test_slices_are_scored_in_the_whole_space(features):
    X, y = make_blobs(200, n_features=4, centers=6, center_box=(2, 9), cluster_std=0.6, random_state=2)
    scorer = AffinityScorer(random_state=0).fit(X, y)
    display = AffinityFieldDisplay(scorer, X, resolution=6, features=features).plot()
    frame = display.frame()
    uv = frame[["x", "y"]].to_numpy()
    if features:
        places = np.tile(X.mean(axis=0), (36, 1))
        places[:, [0, 3]] = uv
    else:
        axes = np.linalg.svd(X - X.mean(axis=0))[2][:2]
        position = display.position
        axes *= np.sign((((X - X.mean(axis=0)) @ axes.T) * position).sum(axis=0))[:, None]
        places = X.mean(axis=0) + uv @ axes
    np.testing.assert_allclose(frame["affinity"], largest(scorer, places), atol=1e-9)
    assert "points projected" in display.ax_.get_title()


@pytest.mark.parametrize("kind", ["contour", "heat"])
def test_artists(scorer, blobs, kind):
    X, y = blobs
    display = AffinityFieldDisplay(scorer, X, labels=y, resolution=40).plot(kind=kind)
    assert len(display.borders_) == 3
    np.testing.assert_array_equal(display.sites_.get_offsets(), scorer.cluster_centers_)
    assert [len(artist.get_offsets()) for artist in display.points_] == np.bincount(y).tolist()
    assert [label.get_text() for label in display.labels_] == ["0", "1", "2", "3"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("feature 0", "feature 1")


def test_lines_run_where_they_should(scorer, blobs):
    display = AffinityFieldDisplay(scorer, blobs[0], resolution=150).plot()
    half = np.vstack([path.vertices for path in display.threshold_.get_paths()])
    assert len(half) > 50
    np.testing.assert_allclose(largest(scorer, half), 0.5, atol=0.01)
    border = np.vstack([path.vertices for line in display.borders_ for path in line.get_paths()])
    nearest = np.sort(np.linalg.norm(border[:, None] - scorer.cluster_centers_, axis=2), axis=1)
    assert (nearest[:, 1] - nearest[:, 0]).max() < 2 * (np.ptp(blobs[0], axis=0) / 100).max()


def test_lower_affinity_is_brighter_in_the_heat_map(scorer, blobs):
    image = AffinityFieldDisplay(scorer, blobs[0], resolution=10).plot(kind="heat").field_
    assert (np.diff(image.cmap(image.norm(np.array([0.4, 0.6, 0.8, 1.0])))[:, 0]) < 0).all()


def test_draws_on_the_users_axes_and_only_what_is_asked_for(scorer, blobs):
    figure, axes = plt.subplots(1, 2)
    display = AffinityFieldDisplay(scorer, blobs[0], resolution=10).plot(ax=axes[0], show_points=False)
    assert display.points_ == []
    assert display.plot(ax=axes[1], kind="heat") is display
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]


def test_field_ends_where_the_divergence_does():
    X = np.random.default_rng(0).gamma(0.6, 2.0, (60, 3)) + 0.01
    scorer = AffinityScorer(influence="kl").fit(X, np.arange(60) % 4)
    field = AffinityFieldDisplay(scorer, X, resolution=20).plot().field
    assert np.isnan(field).any()
    assert np.isfinite(field).any()


def test_features_by_name():
    data = load_iris(as_frame=True).data
    scorer = AffinityScorer(KMeans(3, n_init=1, random_state=0), random_state=0).fit(data)
    display = AffinityFieldDisplay(scorer, data, features=("petal length (cm)", 3), resolution=5).plot()
    assert display.ax_.get_xlabel() == "petal length (cm)"


def test_a_map_of_a_result(blobs):
    X, y = blobs
    result = trust(X, np.where(np.arange(160) < 5, -1, y), n_resamples=3)
    display = AffinityMapDisplay(result, X).plot()
    frame = display.frame()
    np.testing.assert_array_equal(frame["trust"], result.trust)
    assert [len(artist.get_offsets()) for artist in display.points_][-1] == 5
    # Two columns, such as a UMAP embedding, are drawn as they are; principal axes of three turn the data.
    np.testing.assert_allclose(frame[["x", "y"]], X)
    flat = np.column_stack([X, np.zeros(160)])
    turned = affinity(flat, y, influence="euclidean").plot.map(flat).position
    np.testing.assert_allclose(np.linalg.norm(turned - turned[0], axis=1), np.linalg.norm(X - X[0], axis=1))
    np.testing.assert_array_equal(result.plot.map(which=2).frame()["affinity_2"], result.affinity[:, 2])


def test_outliers_do_not_set_the_view(rng):
    X = np.vstack([rng.normal(size=(200, 2)), [[1e3, 0.0]]])
    display = affinity(X, np.arange(201) % 2).plot.map(X)
    assert np.ptp(display.ax_.get_xlim()) < 20
    assert "1 point outside the view" in display.ax_.get_title()


def test_units_do_not_change_the_map_where_closeness_ignores_them(rng):
    codes = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 5.0 * codes[:, None]
    maps = [affinity(Y, codes).plot.map(Y).frame()[["x", "y"]].abs() for Y in (X, X * [1.0, 1e3, 1e-3, 1.0])]
    np.testing.assert_allclose(maps[0], maps[1], rtol=1e-6)


def test_a_map_of_the_largest_affinities_only(blobs):
    X, y = blobs
    whole, part = affinity(X, y), affinity(X, y, top=2)
    stored = np.isin(2, y) & (part.clusters == 2).any(axis=1)
    value = AffinityMapDisplay(part, X, which=2).value
    np.testing.assert_array_equal(value[stored], whole.affinity[stored, 2])
    assert np.isnan(value[~stored]).all()


@pytest.mark.parametrize(
    ("k", "d", "style"),
    [(3, 2, "dark_background"), pytest.param(30, 2, "default", marks=pytest.mark.slow), (5, 6, "default")],
)
def test_texts_do_not_overlap_and_can_be_read(texts_in_order, k, d, style):
    X, y = make_blobs(600, n_features=d, centers=k, random_state=1)
    scorer = AffinityScorer(eps=0.2, random_state=0).fit(X, y)
    with plt.style.context(style):
        display = AffinityFieldDisplay(scorer, X, resolution=20).plot()
        texts_in_order(display.figure_)
        page = np.array(to_rgb(display.ax_.get_facecolor())).mean()
        for text in display.figure_.findobj(Text):
            if text.get_text():
                assert abs(np.array(to_rgb(text.get_color())).mean() - page) > 0.4


def FROM(scorer, X, kind="contour", ax=None, **settings):
    return AffinityFieldDisplay(scorer, X, **settings).plot(ax=ax, kind=kind)


OF = AffinityMapDisplay


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda s, X, y: FROM(KMeans(2), X), TypeError, "KMeans"),
        (lambda s, X, y: FROM(affinity(X, y), X), TypeError, "AffinityResult"),
        (lambda s, X, y: FROM(clone(s), X), NotFittedError, "fit"),
        (lambda s, X, y: FROM(AffinityScorer().fit(X[:, :1], y), X[:, :1]), ValueError, "two features"),
        (lambda s, X, y: FROM(s, X[:, :1]), ValueError, "2 features"),
        (lambda s, X, y: FROM(s, X, which="stable"), ValueError, r"label of a cluster \(0, 1, 2, 3\)"),
        (lambda s, X, y: FROM(s, X, which="trust"), ValueError, "calibration"),
        (lambda s, X, y: FROM(s, X, labels=y[:3]), ValueError, "labels"),
        (lambda s, X, y: FROM(s, X, features=(0, 0)), ValueError, "features"),
        (lambda s, X, y: FROM(s, X, kind="line", resolution=5), ValueError, "kind"),
        (lambda s, X, y: FROM(s, X, resolution=5, ax=plt.subplots(1, 2)[1]), TypeError, "ax must"),
        (lambda s, X, y: FROM(s, X, resolution=1), ValueError, "resolution"),
        (lambda s, X, y: FROM(AffinityScorer(influence="precomputed").fit(X @ X.T, y), X), ValueError, "precomputed"),
        (lambda s, X, y: OF(affinity(X, y), X[:3]), ValueError, "X has 3 rows"),
        (lambda s, X, y: OF(affinity(X, y), X[:, :1]), ValueError, "two columns"),
    ],
)
def test_mistakes_are_named(scorer, blobs, call, error, says):
    with pytest.raises(error, match=says):
        call(scorer, *blobs)
