"""Weights of clusters from their definitions."""

import numpy as np
import pytest

from allegiance.influence._weights import cluster_weights

CODES = np.array([0, 0, 0, 1, 1, 2, -1])
SPREAD = np.array([1.0, 2.0, 3.0, 8.0, 8.0, 4.0, 100.0])


def weights(kind, query_weight=None, scale=1.0, dim=2):
    return cluster_weights(kind, query_weight, scale, CODES, SPREAD, dim, 3)


def test_size():
    found = weights("size")
    np.testing.assert_allclose(found.sites, np.array([3, 2, 1]) / 6)
    assert found.query == pytest.approx(1 / 6), "the paper's 1/n"


@pytest.mark.parametrize("dim", [2, 4, 400])
def test_density(dim):
    found = weights("density", dim=dim)
    logarithm = np.log([3, 2, 1]) - dim / 2 * np.log([2.0, 8.0, 4.0])
    expected = np.exp(logarithm - logarithm.max())
    np.testing.assert_allclose(found.sites, expected / expected.sum(), rtol=1e-12)
    assert found.sites.sum() == pytest.approx(1.0)


def test_auto_scale_is_the_mean_spread_without_noise():
    mean = SPREAD[:-1].mean()
    found, plain = weights("size", scale="auto"), weights("size")
    np.testing.assert_allclose(found.sites, plain.sites * mean)
    assert found.query == pytest.approx(plain.query * mean)


def test_arrays_and_query_weight():
    found = weights([1.0, 5.0, 0.0], query_weight=2.0, scale=0.5)
    np.testing.assert_allclose(found.sites, [0.5, 2.5, 0.0])
    assert found.query == 1.0
    assert weights([1.0, 5.0, 0.0]).query == pytest.approx(1.0), "the average over the six points"


def test_a_cluster_without_spread_has_a_finite_density():
    found = cluster_weights("density", None, 1.0, np.array([0, 1, 1]), np.array([0.0, 1.0, 1.0]), 2, 2)
    assert np.isfinite(found.sites).all()
    none = cluster_weights("density", None, 1.0, np.array([0, 1, 1]), np.zeros(3), 2, 2)
    np.testing.assert_allclose(none.sites, [1 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("bad", "says"), [([1.0, 2.0], "3 clusters"), ([1, 2, np.inf], "finite"), ([1, 2, np.nan], "NaN")]
)
def test_bad_arrays(bad, says):
    with pytest.raises(ValueError, match=f"weights.*{says}"):
        weights(bad)
