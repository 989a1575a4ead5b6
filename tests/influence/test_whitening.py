"""Mahalanobis distance as Euclidean distance after a linear map."""

import numpy as np
import pytest

from allegiance.influence import LinearEmbedding, PowerDiagram
from allegiance.influence._euclidean import ScaledCovariance, whitening_of


def a_covariance(rng, d):
    root = rng.normal(size=(d, d))
    return root @ root.T + 0.1 * np.eye(d)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_whitening_is_the_inverse_root(rng, d):
    covariance = a_covariance(rng, d)
    whitening = whitening_of(covariance, d)
    np.testing.assert_allclose(whitening, whitening.T)
    np.testing.assert_allclose(whitening @ covariance @ whitening, np.eye(d), atol=1e-8)


def test_differences_of_mahalanobis_distances_are_kept(rng):
    covariance = a_covariance(rng, 6)
    sites, X = rng.normal(size=(3, 6)), rng.normal(size=(10, 6))
    diagram = PowerDiagram(LinearEmbedding.of_sites(sites, whitening=whitening_of(covariance, 6)))
    located = diagram.locate(X)
    away = X[:, None] - sites
    expected = np.einsum("nki,ij,nkj->nk", away, np.linalg.inv(covariance), away)
    for code in range(3):
        found = diagram.divergences(located, np.full(10, code))
        np.testing.assert_allclose(found, expected[:, code], rtol=1e-8)


@pytest.mark.parametrize(
    ("matrix", "says"),
    [(np.ones((2, 2)), "positive definite"), (np.eye(3), "shape"), ([[1, 2], [0, 1]], "symmetric"),
     (-np.eye(2), "positive definite"), ([[np.inf, 0], [0, 1]], "finite")],
)  # fmt: skip
def test_bad_covariances(matrix, says):
    with pytest.raises(ValueError, match=f"covariance.*{says}"):
        whitening_of(matrix, 2)


def test_a_scaled_covariance_whitens_as_its_matrix_does(rng):
    covariance = ScaledCovariance(np.array([0.5, 1.0, 20.0]), a_covariance(rng, 3))
    np.testing.assert_array_equal(whitening_of(covariance, 3), whitening_of(covariance.matrix, 3))


def test_without_correlations_columns_are_divided_by_their_scale():
    covariance = ScaledCovariance(np.array([1e-250, 3.0, 1e250]), None)
    np.testing.assert_allclose(covariance.whitening, [1e250, 1 / 3, 1e-250])
    np.testing.assert_allclose(ScaledCovariance(np.array([2.0, 3.0]), None).matrix, np.diag([4.0, 9.0]))


def test_units_too_far_apart_for_a_matrix(rng):
    """In their own units the columns have this correlation, whatever the units are."""
    correlation, scale = a_covariance(rng, 4), np.array([1e-200, 1e-8, 1.0, 1e150])
    whitening = ScaledCovariance(scale, correlation).whitening
    x = rng.normal(size=(6, 4))
    distances = ((x * scale) @ whitening) ** 2
    expected = np.einsum("ni,ij,nj->n", x, np.linalg.inv(correlation), x)
    np.testing.assert_allclose(distances.sum(axis=1), expected, rtol=1e-9)


def test_directions_without_variance_get_a_small_one(rng):
    """Everything else counts as if they were not there."""
    x = rng.normal(size=(5, 2))
    correlation = np.array([[1.0, 0.3, 0.3], [0.3, 1.0, 1.0], [0.3, 1.0, 1.0]])
    whitening = ScaledCovariance(np.ones(3), correlation).whitening
    white = np.column_stack([x, x[:, 1]]) @ whitening
    expected = np.einsum("ni,ij,nj->n", x, np.linalg.inv(correlation[:2, :2]), x)
    np.testing.assert_allclose((white**2).sum(axis=1), expected, rtol=1e-6)
    assert np.abs(whitening).max() <= 1e4
