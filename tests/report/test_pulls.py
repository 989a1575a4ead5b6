import numpy as np
import pytest
import scipy.sparse as sp

from allegiance.report import _centers, cluster_centers
from allegiance.report._pulls import pulling_features


def pulls_of(result, X):
    centers = cluster_centers(X, result.codes, result.n_clusters)
    return pulling_features(result, X, centers, np.arange(result.n_points))


def slow_pulls(result, X):
    """Follow the definition, one point and one feature at a time."""
    centers = {name: X[result.label == name].mean(axis=0) for name in result.classes}
    members = np.isin(result.label, result.classes)
    residual = np.array([row - centers[name] for row, name in zip(X[members], result.label[members], strict=True)])
    spread = np.sqrt((residual**2).mean(axis=0))
    found = []
    for i in range(result.n_points):
        home = result.label[i] if result.label[i] in centers else result.owner[i]
        rival = result.owner[i] if result.owner[i] != home else result.runner_up[i]
        moved = (X[i] - centers[home]) / spread
        pull = moved * (centers[rival] - centers[home]) / spread
        order = [j for j in np.argsort(-pull, kind="stable") if pull[j] > 0][:3]
        found.append([(j, moved[j]) for j in order])
    return found


@pytest.fixture
def scene(random_result, rng):
    label = rng.integers(-1, 4, size=120)
    return random_result(120, 4, label=label), rng.normal(size=(120, 7)) + label[:, None] * rng.normal(size=7)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("block", [30, 4_000_000])
def test_agrees_with_the_definition(container, block, scene, monkeypatch):
    monkeypatch.setattr(_centers, "_BLOCK", block)
    result, X = scene
    pulls = pulls_of(result, container(X))
    for i, expected in enumerate(slow_pulls(result, X)):
        assert [j for j in pulls.feature[i] if j >= 0] == [j for j, _ in expected]
        np.testing.assert_allclose(pulls.deviation[i][: len(expected)], [moved for _, moved in expected], rtol=1e-9)


def test_the_unit_of_a_feature_does_not_matter(scene):
    result, X = scene
    scaled = pulls_of(result, X * 10.0 ** np.array([-150, 200, 0, 3, -3, 307, 1]))
    pulls = pulls_of(result, X)
    assert (scaled.feature == pulls.feature).all()
    np.testing.assert_allclose(scaled.deviation, pulls.deviation, rtol=1e-6)


def test_constant_features_are_never_named(make_result):
    affinity = [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.4, 0.6]]
    X = np.array([[0.1, 5.0, 0.0], [0.1, 5.0, 1.0], [0.3, 5.0, 8.0], [0.3, 5.0, 9.0]])
    pulls = pulls_of(make_result(affinity), X)
    assert set(pulls.feature.ravel()) <= {-1, 2}


def test_fewer_features_than_places_and_one_cluster(make_result):
    pulls = pulls_of(make_result([[1.0], [1.0]]), np.array([[0.0], [1.0]]))
    assert (pulls.feature == -1).all()
    assert (pulls.deviation == 0).all()
