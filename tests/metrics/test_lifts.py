"""Lifts of clusters against explicit feature vectors, and the pool of clusters."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from allegiance.influence import Kernel
from allegiance.metrics import Pool, lift_clusters, one_hot, separate_noise


@pytest.fixture
def pooled(rng):
    X = rng.normal(size=(300, 2))
    return X, Pool.of([one_hot(rng.integers(0, 3, 300)), one_hot(rng.integers(0, 4, 300))])


def test_lifts_are_unit_vectors_with_the_right_angles(pooled):
    X, pool = pooled
    # Rows of V are points of a space in which their products are the kernel.
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.5))
    V = vectors * np.sqrt(np.maximum(values, 0))
    expected = pool.columns.toarray().T @ V
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)

    with_points = np.empty((300, 7))
    lifts = lift_clusters(X, pool.columns, Kernel("rbf", gamma=0.5), 0, threads=2, with_points=with_points)

    np.testing.assert_allclose(lifts.gram, expected @ expected.T, atol=1e-12)
    np.testing.assert_allclose(with_points, V @ expected.T, atol=1e-7)
    np.testing.assert_allclose(lifts.with_rows(X), with_points, atol=1e-13)
    apart = np.linalg.norm(expected[:, None] - expected, axis=2)
    np.testing.assert_allclose(lifts.distances(), apart, atol=1e-7)
    assert (np.diagonal(lifts.distances()) == 0).all()


@pytest.mark.parametrize("approximation", [None, "fourier"])
def test_a_row_alone_has_the_same_bits_as_among_others(pooled, approximation):
    X, pool = pooled
    lifts = lift_clusters(X, pool.columns, Kernel("rbf", gamma=0.5, approximation=approximation), 0, threads=1)
    together = lifts.with_rows(X)
    alone = np.vstack([lifts.with_rows(X[i : i + 1]) for i in (0, 130, 299)])
    np.testing.assert_array_equal(alone, together[[0, 130, 299]])


def test_features_give_unit_vectors_too(pooled):
    X, pool = pooled
    with_points = np.empty((300, 7))
    kernel = Kernel("rbf", gamma=0.5, approximation="fourier")
    lifts = lift_clusters(X, pool.columns, kernel, 0, 2, with_points)
    np.testing.assert_allclose(np.diagonal(lifts.gram), 1.0, atol=1e-12)
    assert np.abs(with_points).max() <= 1 + 1e-12
    np.testing.assert_allclose(with_points, lifts.with_rows(X), atol=1e-13)


def test_the_pool_holds_equal_clusters_once():
    pool = Pool.of([one_hot(np.array(codes)) for codes in ([0, 0, 1, 2], [1, 1, 0, 0], [2, 0, 1, -1])])
    assert pool.columns.toarray().T.tolist() == [
        [1, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
        [0, 0, 1, 1],
        [0, 1, 0, 0],
        [1, 0, 0, 0],
    ]
    assert [numbers.tolist() for numbers in pool.numbers] == [[0, 1, 2], [3, 0], [4, 1, 5]]
    assert [masses.tolist() for masses in pool.masses] == [[2, 1, 1], [2, 2], [1, 1, 1]]


def test_noise_is_separated_into_new_clusters():
    assert separate_noise(np.array([0, -1, 1, -1])).tolist() == [0, 2, 1, 3]
    assert separate_noise(np.array([1, 0])).tolist() == [1, 0]
