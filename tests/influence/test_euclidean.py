"""Distances and their span: Euclidean, within the clusters' covariance, Mahalanobis, cosine."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.covariance import LedoitWolf
from sklearn.preprocessing import normalize

from allegiance import AffinityScorer, affinity, trust
from allegiance.influence import AffineFunctions, Cosine, LinearEmbedding, Mahalanobis, PowerDiagram, Within

N, K = 240, 4
CODES = np.arange(N) % K
#: More columns than have their correlations used.
WIDE = 1025


class TestSpan:
    @pytest.mark.parametrize(("k", "d", "rank"), [(3, 10, 2), (10, 3, 3), (4, 4, 3), (1, 5, 0), (2, 1, 1)])
    def test_rank(self, rng, k, d, rank):
        assert LinearEmbedding.of_sites(rng.normal(size=(k, d))).dim == rank

    def test_rank_of_dependent_sites(self, rng):
        plane = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 7)) + 100.0
        assert LinearEmbedding.of_sites(plane).dim == 2
        assert LinearEmbedding.of_sites(plane, keep_axes=True).dim == 7

    def test_the_users_axes_are_kept(self, rng):
        embedding, X = LinearEmbedding.of_sites(rng.normal(size=(5, 3))), rng.normal(size=(10, 3))
        difference = embedding.locate(X).position - embedding.locate(np.zeros((1, 3))).position
        np.testing.assert_allclose(difference, X * embedding.unit)
        assert (embedding.locate(X).residual == 0).all()

    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csr_matrix])
    @pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
    def test_differences_of_distances_are_kept(self, rng, layout, offset):
        """|x - c_i|² - |x - c_j|² is the same before and after, and Pythagoras gives the rest."""
        sites, X = rng.normal(size=(4, 30)) + offset, rng.normal(size=(20, 30)) + offset
        embedding = LinearEmbedding.of_sites(sites)
        located = embedding.locate(layout(X))
        full = ((X[:, None] - sites) ** 2).sum(axis=2)
        reduced = ((located.position[:, None] - embedding.positions) ** 2).sum(axis=2) / embedding.unit**2
        np.testing.assert_allclose(reduced + located.residual[:, None] ** 2, full, rtol=1e-10 if offset < 1e8 else 1e-6)

    def test_few_columns_of_sparse_rows_are_far_from_the_origin(self, rng):
        sites, X = rng.normal(size=(3, 8)), rng.normal(size=(20, 8))
        X[np.abs(X) < 0.7] = 0.0
        sites[:, 0] += 1e8
        X[:, 0] += 1e8
        embedding = LinearEmbedding.of_sites(sites)
        expected, actual = embedding.locate(X), embedding.locate(sp.csr_array(X))
        np.testing.assert_allclose(actual.residual, expected.residual, rtol=1e-6)

    def test_entries_stored_twice_are_added(self, rng):
        X = sp.random(40, 60, density=0.1, random_state=1, format="csr")
        twice = sp.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
        embedding = LinearEmbedding.of_sites(rng.normal(size=(5, 60)))
        np.testing.assert_allclose(embedding.locate(twice).residual, embedding.locate(X).residual, rtol=1e-9)

    def test_far_positions_keep_their_direction_from_the_sites(self, rng):
        """Not from the origin: the origin itself can be far."""
        embedding, direction = LinearEmbedding.of_sites(rng.normal(size=(4, 3))), np.array([[1.0, -2.0, 0.5]])
        near, far = (embedding.locate(size * direction).position for size in (1e9, 1e70))
        np.testing.assert_allclose(near / np.abs(near).max(), far / np.abs(far).max(), atol=1e-6)
        sites = np.array([[1e10, 1.0], [1e10, -1.0], [1e10 + 1.0, 0.0]])
        position = LinearEmbedding.of_sites(sites).locate(np.array([[0.0, 0.0], [1e10, 1e10]])).position
        direction = position / np.abs(position).max(axis=1, keepdims=True)
        np.testing.assert_allclose(direction, [[-1.0, 0.0], [0.0, 1.0]], atol=1e-6)

    def test_bisectors_and_clearance_are_differences_of_functions(self, rng):
        diagram = PowerDiagram(LinearEmbedding.of_sites(rng.normal(size=(4, 9))))
        a, b = diagram.functions
        for site in range(4):
            normals, offsets = diagram.bisectors(site)
            np.testing.assert_allclose(2 * normals, a - a[site], atol=1e-12)
            np.testing.assert_allclose(2 * offsets, b - b[site], atol=1e-12)
        position = rng.normal(size=(6, 3))
        query_a, query_b = diagram.query_functions(position)
        expected = (b - position @ a.T) - (query_b - (position * query_a).sum(axis=1))[:, None]
        np.testing.assert_allclose(diagram.clearance(AffineFunctions(query_a, query_b), position), expected, atol=1e-12)


@pytest.fixture
def table(rng):
    """Points of four clusters with correlated columns; there are few enough clusters that the axes are their own."""
    mixing = np.eye(5) + 0.3 * rng.normal(size=(5, 5))
    return rng.normal(size=(N, 5)) @ mixing + 3 * rng.normal(size=(K, 5))[CODES]


def within(X, codes=CODES):
    return affinity(X, codes, influence=Within())


def covariance(X, codes=CODES):
    """The covariance (d, d) by which a fit whitens, or variances (d,)."""
    whitening = AffinityScorer(influence=Within()).fit(X, codes).fitted_.diagram.embedding.whitening
    return whitening**-2 if whitening.ndim == 1 else np.linalg.inv(whitening @ whitening.T)


def wide_table(rng):
    X = sp.csr_array(np.where(rng.random((N, WIDE)) < 0.02, rng.random((N, WIDE)), 0.0))
    return X, CODES - (np.arange(N) % 7 == 0)


class TestWithin:
    def test_the_covariance_is_scikit_learns(self, table):
        codes = np.arange(N) % 4 - 1
        centers = np.array([table[codes == i].mean(axis=0) for i in range(3)])
        residuals = (table - centers[codes])[codes >= 0]
        scale = np.sqrt((residuals**2).mean(axis=0))
        expected = LedoitWolf(assume_centered=True).fit(residuals / scale).covariance_ * np.outer(scale, scale)
        np.testing.assert_allclose(covariance(table, codes), expected)

    def test_many_columns_in_any_row_order(self, rng):
        """Above 128 columns the map is triangular and residuals are in single precision, where that is safe."""
        X = rng.normal(size=(N, 150)) @ rng.normal(size=(150, 150)) + 5.0 * rng.normal(size=(K, 150))[CODES]
        centers = np.array([X[i == CODES].mean(axis=0) for i in range(K)])
        scale = np.sqrt(((X - centers[CODES]) ** 2).mean(axis=0))
        fitted = LedoitWolf(assume_centered=True).fit((X - centers[CODES]) / scale).covariance_
        white = np.linalg.inv(np.linalg.cholesky(fitted * np.outer(scale, scale))).T
        np.testing.assert_allclose(covariance(X), fitted * np.outer(scale, scale), rtol=1e-4, atol=1e-4)
        axes = np.linalg.qr(((centers - centers.mean(axis=0)) @ white)[:-1].T)[0]
        rows = np.vstack([X, centers])
        away = (rows - centers.mean(axis=0)) @ white
        expected = np.linalg.norm(away - away @ axes @ axes.T, axis=1)
        order = rng.permutation(N)
        scorers = [
            AffinityScorer(influence="within", random_state=0).fit(X[o], CODES[o]) for o in (np.arange(N), order)
        ]
        results = [scorer.affinity(rows) for scorer in scorers]
        residual = results[0].frame(details=True)["residual"]
        np.testing.assert_allclose(residual, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(results[1].frame(details=True)["residual"], residual)
        np.testing.assert_array_equal(results[1].affinity, results[0].affinity)
        np.testing.assert_array_equal(scorers[0].affinity(rows[7:9]).affinity, results[0].affinity[7:9])

    @pytest.mark.parametrize("wide", [False, True])
    def test_units_do_not_matter(self, table, wide):
        X = np.hstack([table] * 400) if wide else table
        unit = 10.0 ** np.random.default_rng(1).integers(-60, 60, size=X.shape[1])
        plain, scaled = within(X), within(X * unit)
        np.testing.assert_allclose(scaled.affinity, plain.affinity, atol=1e-3)
        ours, theirs = (result.frame(details=True)["residual"] for result in (scaled, plain))
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("wide", [False, True])
    def test_columns_constant_up_to_rounding_tell_nothing(self, table, rng, dtype, wide):
        """Even if their last bits are those of the cluster."""
        X = np.hstack([table] * 400) if wide else table
        last_bit = 1e6 * (1 + np.finfo(dtype).eps * (CODES[:, None] % 2 + rng.integers(0, 2, size=(N, 1))))
        constant = np.column_stack([last_bit, np.full(N, 0.1), np.zeros(N)])
        actual = within(np.hstack([X, constant]).astype(dtype))
        np.testing.assert_allclose(actual.affinity, within(X.astype(dtype)).affinity, atol=0.05)

    def test_columns_of_tiny_variance_are_columns_like_others(self, table, rng):
        noise = rng.normal(size=(N, 3))
        tiny, plain = within(np.hstack([table, 1e-8 * noise])), within(np.hstack([table, noise]))
        np.testing.assert_allclose(tiny.affinity, plain.affinity, atol=0.01)

    def test_columns_that_vary_only_between_clusters(self, table):
        """They count with their variance over all points, so that nothing is infinitely important."""
        for column in (CODES, 0.1 * CODES, CODES * (1 + np.finfo(float).eps * (np.arange(N) % 3))):
            actual = covariance(np.column_stack([table, column]))
            np.testing.assert_allclose(actual[5, 5], np.var(column), rtol=1e-6)
            np.testing.assert_allclose(actual[5, :5], 0.0, atol=1e-9)

    def test_rounded_centers_do_not_make_a_column_vary(self, table):
        """Once a category that decides the clusters outweighed all numbers if the centers of k-means were passed."""
        X = np.column_stack([table, 0.1 * (CODES % 2)])
        means = np.array([X[code == CODES].mean(axis=0) for code in range(K)])
        rounded = means * (1 + 20 * np.finfo(float).eps * (np.arange(K)[:, None] % 3))
        actual = affinity(X, CODES, centers=rounded, influence="within", random_state=0)
        np.testing.assert_allclose(actual.affinity, within(X).affinity, atol=1e-9)

    def test_dependent_columns_count_once(self, table):
        """Sums and copies of columns add no direction; only the shrinkage is a little different."""
        X = np.column_stack([table, table, table @ [1.0, 2.0, -1.0, 0.5, 0.0]])
        many = np.tile(X, (40, 1)), np.tile(CODES, 40)
        np.testing.assert_allclose(within(*many).affinity[:N], within(table).affinity, atol=0.05)

    @pytest.mark.parametrize(("n", "d"), [(20, 100), (5, 40), (20, 1500)])
    def test_more_columns_than_rows(self, rng, n, d):
        codes = np.arange(n) % K
        result = within(rng.normal(size=(n, d)) + 5 * rng.normal(size=(K, d))[codes], codes)
        np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0)
        assert np.isfinite(result.frame(details=True)["residual"]).all()
        assert (result.frame(details=True)["owner"] == codes).all()

    def test_clusters_of_one_point(self, table):
        assert np.isfinite(within(table, np.concatenate([[4, 5, 6], CODES[3:]])).affinity).all()
        assert np.isfinite(within(table[:6], [0, 1, 2, 3, 4, 4]).affinity).all()

    def test_wide_tables_need_variation_too(self, rng):
        X = rng.normal(size=(4, 1500))
        with pytest.raises(ValueError, match="within"):
            within(np.repeat(X, 3, axis=0) * (1 + 1e-16), np.repeat(np.arange(4), 3))

    @pytest.mark.parametrize("layout", [sp.csr_array, sp.csr_matrix, lambda X: X.toarray()])
    def test_wide_tables_use_the_variances_of_columns(self, rng, layout):
        X, codes = wide_table(rng)
        centers = np.array([X.toarray()[codes == i].mean(axis=0) for i in range(K)])
        residuals = (X.toarray() - centers[codes])[codes >= 0]
        variances = (residuals**2).mean(axis=0)
        own = covariance(layout(X), codes)
        np.testing.assert_allclose(own[variances > 0], variances[variances > 0], rtol=1e-9)
        scored, dense = within(layout(X), codes), within(X.toarray(), codes)
        np.testing.assert_allclose(scored.affinity, dense.affinity, atol=0.01)


class TestMahalanobis:
    @pytest.mark.parametrize("d", [1, 2, 6])
    def test_distances(self, rng, d):
        root = rng.normal(size=(d, d))
        matrix = root @ root.T + 0.1 * np.eye(d)
        sites, X = rng.normal(size=(3, d)), rng.normal(size=(10, d))
        result = affinity(X, [0] * 10, centers=sites[:1], influence=Mahalanobis(matrix))
        away = X - sites[0]
        np.testing.assert_allclose(
            result.frame(details=True)["distance"],
            np.sqrt(np.einsum("ni,ij,nj->n", away, np.linalg.inv(matrix), away)),
            rtol=1e-8,
        )

    @pytest.mark.parametrize(
        ("matrix", "says"),
        [(np.ones((2, 2)), "positive definite"), (np.eye(3), "shape"), ([[1, 2], [0, 1]], "symmetric"),
         (-np.eye(2), "positive definite"), ([[np.inf, 0], [0, 1]], "finite")],
    )  # fmt: skip
    def test_bad_covariances(self, matrix, says):
        with pytest.raises(ValueError, match=f"covariance.*{says}"):
            affinity([[0.0, 1.0], [1.0, 0.0]], [0, 1], influence=Mahalanobis(matrix))


RNG = np.random.default_rng(3)
DIRECTIONS = RNG.normal(size=(4, 6))
LABELS = np.repeat(np.arange(4), 40)
X = (DIRECTIONS[LABELS] + 0.6 * RNG.normal(size=(160, 6))) * RNG.lognormal(size=(160, 1))


class TestCosine:
    def test_is_euclidean_distance_of_normalised_rows(self):
        cosine = affinity(X, LABELS, influence="cosine")
        euclidean = affinity(normalize(X), LABELS, influence="euclidean")
        np.testing.assert_allclose(cosine.affinity, euclidean.affinity, atol=1e-12)
        np.testing.assert_allclose(
            cosine.frame(details=True)["closeness"], euclidean.frame(details=True)["closeness"], atol=1e-12
        )

    def test_lengths_of_rows_and_centers_do_not_count(self):
        # Powers of two, which round nothing.
        factors = 2.0 ** np.random.default_rng(0).integers(-200, 200, size=(160, 1))
        plain, scaled = (affinity(rows, LABELS, influence="cosine").affinity for rows in (X, X * factors))
        np.testing.assert_array_equal(scaled, plain)
        one, other = (
            affinity(X, centers=DIRECTIONS * factors, influence="cosine") for factors in (1, [[1], [2], [4], [8]])
        )
        np.testing.assert_array_equal(one.affinity, other.affinity)

    def test_sparse_rows_score_as_dense_ones(self):
        rows = np.where(RNG.random((160, 30)) < 0.2, RNG.random((160, 30)), 0.0)
        rows[:, :6] += np.maximum(X, 0)
        rows[7] = 0.0
        dense, sparse = (affinity(data, LABELS, influence="cosine") for data in (rows, sp.csr_matrix(rows)))
        np.testing.assert_allclose(dense.affinity, sparse.affinity, atol=1e-9)
        np.testing.assert_allclose(
            dense.frame(details=True)["closeness"], sparse.frame(details=True)["closeness"], atol=1e-7
        )

    def test_a_row_of_zeros_stays_at_the_origin(self):
        rows = X.copy()
        rows[5] = 0.0
        scorer = AffinityScorer(influence="cosine").fit(X, LABELS)
        actual = scorer.affinity(rows)
        np.testing.assert_allclose(
            actual.frame(details=True)["distance"][5], np.linalg.norm(scorer.cluster_centers_, axis=1).min(), atol=1e-12
        )
        assert np.isfinite(actual.affinity).all()

    def test_single_precision_stays_so_and_rows_do_not_depend_on_each_other(self):
        rows = X.astype(np.float32)
        assert Cosine().prepare(rows).dtype == Cosine().prepare(sp.csr_matrix(rows)).dtype == np.float32
        scorer = AffinityScorer(influence=Cosine()).fit(rows, LABELS)
        assert (scorer.transform(rows)[100:103] == scorer.transform(rows[100:103])).all()

    def test_trust_finds_labels_that_were_swapped(self):
        wrong = np.zeros(160, dtype=bool)
        wrong[[3, 50, 90, 130]] = True
        result = trust(X, np.where(wrong, (LABELS + 1) % 4, LABELS), influence="cosine")
        assert result.trust[wrong].max() < np.median(result.trust[~wrong])
        assert (result.rival[wrong] == LABELS[wrong]).all()
