import numpy as np
import scipy.sparse as sp

from allegiance.report import cluster_centers, cluster_traits


def test_agrees_with_the_definition(rng):
    codes = rng.integers(-1, 4, size=200)
    X = rng.normal(size=(200, 12)) + codes[:, None] * rng.normal(size=12)
    inside = codes >= 0
    means = np.array([X[codes == c].mean(axis=0) for c in range(4)])
    spread = np.sqrt(((X[inside] - means[codes[inside]]) ** 2).mean(axis=0))
    for data in (X, sp.csr_array(X)):
        traits = cluster_traits(cluster_centers(data, codes, 4))
        for c in range(4):
            rest = X[inside & (codes != c)].mean(axis=0)
            difference = (means[c] - rest) / spread
            strongest = np.argsort(-np.abs(difference))[:8]
            assert traits.feature[c].tolist() == strongest.tolist()
            np.testing.assert_allclose(traits.inside[c], means[c][strongest], rtol=1e-9)
            np.testing.assert_allclose(traits.outside[c], rest[strongest], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(traits.difference[c], difference[strongest], rtol=1e-9)


def test_nothing_is_said_of_one_cluster_an_empty_one_or_constant_features():
    alone = cluster_traits(cluster_centers(np.eye(3), np.zeros(3, dtype=int), 1))
    assert (alone.feature == -1).all()
    X = np.array([[1.0, 5.0], [2.0, 5.0], [8.0, 5.0]])
    traits = cluster_traits(cluster_centers(X, np.array([0, 0, 2]), 3))
    assert traits.feature.tolist() == [[0, -1], [-1, -1], [0, -1]]
