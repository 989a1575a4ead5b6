import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from allegiance.report import _projection
from allegiance.report._inputs import check_features
from allegiance.report._quantity import quantity_of


def project(result, features):
    return _projection.project(result, features, quantity_of(result))


def test_two_directions_of_a_plane_keep_all_distances(random_result, rng):
    basis = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    X = rng.normal(size=(50, 2)) @ basis.T + 3
    projection = project(random_result(50, 3), check_features(X, None, 50))
    np.testing.assert_allclose(pdist(np.column_stack([projection.x, projection.y])), pdist(X))
    assert projection.x.var() >= projection.y.var()


@pytest.mark.parametrize("shape", [(40, 5), (30, 1500), (2, 3), (3, 1200)])
def test_sparse_data_lie_where_dense_data_do(shape, random_result, rng):
    X = rng.normal(size=shape) * (rng.random(shape) < 0.3)
    result = random_result(shape[0], 3)
    dense, sparse = (project(result, check_features(values, None, shape[0])) for values in (X, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.x, dense.x, atol=1e-8)


def test_large_sparse_data_are_not_made_dense(random_result, rng, monkeypatch):
    monkeypatch.setattr("allegiance.report._projection._SMALL", 10)
    X = sp.csr_array(np.where(rng.random((60, 1200)) < 0.02, rng.random((60, 1200)), 0.0) + np.eye(60, 1200) * 5)
    monkeypatch.setattr("allegiance.report._projection.dense", lambda X: pytest.fail("made dense"))
    projection = project(random_result(60, 3), check_features(sp.csr_array(X), None, 60))
    values = X.toarray() - X.toarray().mean(axis=0)
    np.testing.assert_allclose(np.linalg.norm(projection.x), np.linalg.svd(values)[1][0], rtol=1e-6)


def test_two_features_are_shown_as_they_are(random_result, rng):
    X = rng.normal(size=(20, 2))
    projection = project(random_result(20, 3), check_features(X, ["width", "height"], 20))
    assert (projection.x_label, projection.y_label) == ("width", "height")
    np.testing.assert_array_equal(np.column_stack([projection.x, projection.y]), X)


def test_one_feature_is_shown_against_trust(random_result, rng):
    X = rng.normal(size=(20, 1))
    result = random_result(20, 3, label=np.arange(20) % 4 - 1)
    projection = project(result, check_features(X, None, 20))
    np.testing.assert_array_equal(projection.y, np.where(result.noise, 0.0, result.trust.clip(max=1.0)))
    assert projection.y_label == "trust"
    plain = random_result(20, 3, calibrated=False)
    assert project(plain, check_features(X, None, 20)).y_label == "own affinity"


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_affinities_stand_in_for_the_features(k, random_result):
    projection = project(random_result(30, k), None)
    assert np.isfinite([projection.x, projection.y]).all()
    assert "affinit" in projection.description


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e300])
def test_coordinates_are_finite(scale, random_result, rng):
    X = rng.normal(size=(30, 4)) * scale
    projection = project(random_result(30, 3), check_features(X, None, 30))
    assert np.isfinite([projection.x, projection.y]).all()
