"""k-means with Bregman divergences."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from allegiance.clusterers import BregmanKMeans
from allegiance.influence import KL, Bregman, Within
from reference.divergences import DIVERGENCES

SQUARES = Bregman(lambda Y: (Y * Y).sum(axis=1), lambda Y: 2 * Y, lambda G: G / 2)


def topics(rng, n=300, k=4, d=20, length=200):
    shares = rng.dirichlet(np.full(d, 0.5), k)
    truth = rng.integers(k, size=n)
    return np.stack([rng.multinomial(length, shares[label]) for label in truth]), truth


def test_squares_equal_kmeans_from_the_same_centres(rng):
    X, _ = make_blobs(400, 5, centers=6, cluster_std=3.0, random_state=0)
    init = X[:6]
    weights = rng.uniform(0.5, 2.0, 400)
    theirs = KMeans(6, init=init, n_init=1, tol=0).fit(X, sample_weight=weights)
    ours = BregmanKMeans(6, influence=SQUARES, init=init, tol=0.0).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)
    np.testing.assert_allclose(ours.inertia_, theirs.inertia_)
    np.testing.assert_allclose(ours.score(X), theirs.score(X))
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X) ** 2)


def test_kl_recovers_topics(rng):
    X, truth = topics(rng)
    model = BregmanKMeans(4, influence=KL(smoothing=0.5), random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.98
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.cluster_centers_[0], X[model.labels_ == 0].mean(axis=0))


@pytest.mark.parametrize("name", DIVERGENCES)
def test_inertia_falls(rng, name):
    X = rng.uniform(0.05, 0.95, (200, 4))
    inertia = []
    for steps in range(1, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = BregmanKMeans(5, influence=name, init=X[:5], max_iter=steps, tol=0.0).fit(X)
        inertia.append(model.inertia_)
    assert (np.diff(inertia) <= 1e-12).all()
    assert inertia[-1] < inertia[0]
    away = DIVERGENCES[name].between(X, model.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, away.argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, away.min(axis=1).sum())


@pytest.mark.parametrize("influence", ["kl", SQUARES])
def test_weights_are_repetitions(rng, influence):
    X, _ = topics(rng, n=80)
    X = X + rng.uniform(0.1, 0.9, X.shape)
    weights = rng.integers(0, 4, 80)
    model = BregmanKMeans(4, influence=influence, random_state=3)
    weighted = clone(model).fit(X, sample_weight=weights)
    shuffled = rng.permutation(weights.sum())
    repeated = clone(model).fit(np.repeat(X, weights, axis=0)[shuffled])
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    np.testing.assert_allclose(weighted.inertia_, repeated.inertia_)


def test_empty_clusters_are_filled(rng):
    X = rng.uniform(1.0, 2.0, (50, 2))
    init = np.vstack([X[:2], np.full((2, 2), 1000.0)])
    model = BregmanKMeans(4, influence="kl", init=init).fit(X)
    assert set(model.labels_) == {0, 1, 2, 3}


def test_duplicates_leave_clusters_empty():
    X = np.repeat([[1.0, 2.0], [3.0, 1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="only 2 of n_clusters=3"):
        model = BregmanKMeans(3, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)


def test_more_starts_are_never_worse(rng):
    X, _ = topics(rng, k=8)
    once = BregmanKMeans(8, influence=KL(smoothing=0.5), n_init=1, random_state=0).fit(X)
    often = BregmanKMeans(8, influence=KL(smoothing=0.5), n_init=6, random_state=0).fit(X)
    assert often.inertia_ <= once.inertia_


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"influence": "manhattan"}, "influence must be one of"),
        ({"influence": "rbf"}, "influence of BregmanKMeans must be"),
        ({"influence": Within()}, "influence of BregmanKMeans must be"),
        ({"influence": "kl"}, "row 0, column 1 is 0"),
        ({"influence__smoothing": -1.0}, "smoothing of KL must be in"),
        ({"init": "random"}, "init must be"),
        ({"init": np.ones((2, 2))}, "init has 2 centers but n_clusters is 3"),
        ({"n_clusters": 0}, "n_clusters must be at least 1"),
        ({"n_clusters": 9}, "n_samples=4 must be at least n_clusters=9"),
    ],
)
def test_bad_parameters(changes, match):
    X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]])
    model = BregmanKMeans(3, influence=KL(smoothing=1.0)).set_params(**changes)
    with pytest.raises(ValueError, match=match):
        model.fit(X)


def test_no_weight_at_all():
    with pytest.raises(ValueError, match="zero"):
        BregmanKMeans(1).fit([[1.0], [2.0]], sample_weight=[0.0, 0.0])
