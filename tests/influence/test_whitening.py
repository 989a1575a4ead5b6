"""Mahalanobis distance as Euclidean distance after a linear map."""

import numpy as np
import pytest
from sklearn.covariance import LedoitWolf

from allegiance.influence import LinearEmbedding, PowerDiagram
from allegiance.influence._whitening import whitening_of, within_covariance


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


def test_within_covariance_is_scikit_learns(rng):
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    codes = np.arange(60) % 4 - 1
    centers = np.array([X[codes == i].mean(axis=0) for i in range(3)])
    residuals = (X - centers[codes])[codes >= 0]
    scale = np.sqrt((residuals**2).mean(axis=0))
    expected = LedoitWolf(assume_centered=True).fit(residuals / scale).covariance_ * np.outer(scale, scale)
    np.testing.assert_allclose(within_covariance(X, codes, centers, "ledoit-wolf"), expected)
    assert not np.allclose(within_covariance(X, codes, centers, "oas"), expected)


def test_columns_that_vary_only_between_clusters(rng):
    """They keep their variance over all points, so that nothing is infinitely important."""
    codes = np.arange(40) % 2
    X = np.column_stack([rng.normal(size=40), codes, np.ones(40)])
    centers = np.array([X[codes == i].mean(axis=0) for i in range(2)])
    covariance = within_covariance(X, codes, centers, "oas")
    assert (np.diag(covariance) > 0).all()
    assert np.isfinite(whitening_of(covariance, 3)).all()


def test_within_needs_variation(rng):
    X = rng.normal(size=(4, 2))
    with pytest.raises(ValueError, match="within"):
        within_covariance(X, np.arange(4), X, "oas")
