"""The covariance inside clusters, which every table has."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.covariance import OAS, LedoitWolf

from allegiance import affinity
from allegiance.influence import LinearEmbedding, Within
from allegiance.influence._euclidean import MOST_CORRELATED, scatter_sums, unit_of

N, K = 240, 4
CODES = np.arange(N) % K


def within_covariance(X, codes, centers, shrinkage):
    """The covariance that a fit finds, whose units come from a bound on the residuals."""
    rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    reach = np.maximum(rows.max(axis=0) - centers.min(axis=0), centers.max(axis=0) - rows.min(axis=0))
    unit = unit_of(reach)
    return scatter_sums(X, codes, centers, unit).covariance(centers, shrinkage, unit)


@pytest.fixture
def table(rng):
    """Points of four clusters with correlated columns; there are few enough clusters that the axes are their own."""
    mixing = np.eye(5) + 0.3 * rng.normal(size=(5, 5))
    return rng.normal(size=(N, 5)) @ mixing + 3 * rng.normal(size=(K, 5))[CODES]


def means(X, codes=CODES):
    X = X.toarray() if sp.issparse(X) else X
    return np.array([X[codes == i].mean(axis=0) for i in range(codes.max() + 1)], dtype=np.float64)


def within(X, codes=CODES, **settings):
    return affinity(X, codes, influence=Within(**settings))


@pytest.mark.parametrize(("shrinkage", "estimator"), [("ledoit-wolf", LedoitWolf), ("oas", OAS)])
def test_the_covariance_is_scikit_learns(table, shrinkage, estimator):
    codes = np.arange(N) % 4 - 1
    centers = means(table, codes)
    residuals = (table - centers[codes])[codes >= 0]
    scale = np.sqrt((residuals**2).mean(axis=0))
    expected = estimator(assume_centered=True).fit(residuals / scale).covariance_ * np.outer(scale, scale)
    np.testing.assert_allclose(within_covariance(table, codes, centers, shrinkage).matrix, expected)


@pytest.mark.parametrize("wide", [False, True])
def test_units_do_not_matter(table, wide):
    X = np.hstack([table] * 400) if wide else table
    unit = 10.0 ** np.random.default_rng(1).integers(-200, 150, size=X.shape[1])
    plain, scaled = within(X), within(X * unit)
    np.testing.assert_allclose(scaled.affinity, plain.affinity, atol=1e-3)
    np.testing.assert_allclose(scaled.residual, plain.residual, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_the_smallest_and_largest_numbers(table, size):
    np.testing.assert_allclose(within(size * table).affinity, within(table).affinity, atol=1e-3)
    assert np.isfinite(within(1e-310 * table).affinity).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("wide", [False, True])
def test_columns_constant_up_to_rounding_tell_nothing(table, rng, dtype, wide):
    """Even if their last bits are those of the cluster."""
    X = np.hstack([table] * 400) if wide else table
    last_bit = 1e6 * (1 + np.finfo(dtype).eps * (CODES[:, None] % 2 + rng.integers(0, 2, size=(N, 1))))
    constant = np.column_stack([last_bit, np.full(N, 0.1), np.zeros(N)])
    found = within(np.hstack([X, constant]).astype(dtype))
    np.testing.assert_allclose(found.affinity, within(X.astype(dtype)).affinity, atol=0.05)


def test_columns_of_tiny_variance_are_columns_like_others(table, rng):
    """An embedding with columns of variance 1e-16: noise that counts as noise of variance one does."""
    noise = rng.normal(size=(N, 3))
    tiny, plain = within(np.hstack([table, 1e-8 * noise])), within(np.hstack([table, noise]))
    np.testing.assert_allclose(tiny.affinity, plain.affinity, atol=0.01)


def test_columns_that_vary_only_between_clusters(table):
    """They count with their variance over all points, so that nothing is infinitely important."""
    for column in (CODES, 0.1 * CODES, CODES * (1 + np.finfo(float).eps * (np.arange(N) % 3))):
        X = np.column_stack([table, column])
        covariance = within_covariance(X, CODES, means(X), "oas")
        np.testing.assert_allclose(covariance.matrix[5, 5], np.var(column), rtol=1e-6)
        np.testing.assert_allclose(covariance.matrix[5, :5], 0.0)


def test_dependent_columns_count_once(table):
    """Sums and copies of columns add no direction; only the shrinkage is a little different."""
    X = np.column_stack([table, table, table @ [1.0, 2.0, -1.0, 0.5, 0.0]])
    many = np.tile(X, (40, 1)), np.tile(CODES, 40)
    np.testing.assert_allclose(within(*many).affinity[:N], within(table).affinity, atol=0.05)


@pytest.mark.parametrize("shrinkage", ["ledoit-wolf", "oas"])
@pytest.mark.parametrize(("n", "d"), [(20, 100), (5, 40), (20, 1500)])
def test_more_columns_than_rows(rng, n, d, shrinkage):
    codes = np.arange(n) % K
    result = within(rng.normal(size=(n, d)) + 5 * rng.normal(size=(K, d))[codes], codes, shrinkage=shrinkage)
    np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0)
    assert np.isfinite(result.residual).all()
    assert (result.owner == codes).all()


def test_clusters_of_one_point(table):
    codes = np.concatenate([[4, 5, 6], CODES[3:]])
    assert np.isfinite(within(table, codes).affinity).all()
    assert np.isfinite(within(table[:6], [0, 1, 2, 3, 4, 4]).affinity).all()


@pytest.mark.parametrize("columns", [2, 1500])
def test_within_needs_variation(rng, columns):
    X = rng.normal(size=(4, columns))
    with pytest.raises(ValueError, match="within"):
        within_covariance(X, np.arange(4), X, "oas")
    with pytest.raises(ValueError, match="within"):
        within(np.repeat(X, 3, axis=0) * (1 + 1e-16), np.repeat(np.arange(4), 3))


def wide_table(rng, d=MOST_CORRELATED + 1):
    X = sp.csr_array(np.where(rng.random((N, d)) < 0.02, rng.random((N, d)), 0.0))
    codes = CODES - (np.arange(N) % 7 == 0)
    return X, codes, means(X, codes)


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csr_matrix, lambda X: X.toarray()])
def test_wide_tables_use_the_variances_of_columns(rng, layout):
    X, codes, centers = wide_table(rng)
    covariance = within_covariance(layout(X), codes, centers, "oas")
    residuals = (X.toarray() - centers[codes])[codes >= 0]
    variances = (residuals**2).mean(axis=0)
    varies = variances > 0
    assert covariance.correlation is None
    np.testing.assert_allclose(covariance.scale[varies], np.sqrt(variances[varies]), rtol=1e-12)
    assert (covariance.scale > 0).all()


def test_wide_distances_are_those_of_standardised_columns(rng):
    X, codes, centers = wide_table(rng)
    scale = within_covariance(X, codes, centers, "oas").scale
    embedding = LinearEmbedding.of_sites(centers, whitening=1.0 / scale)
    located = embedding.locate(X)
    away = (located.position[:, None] - embedding.positions) / embedding.unit
    expected = (((X.toarray()[:, None] - centers) / scale) ** 2).sum(axis=2)
    np.testing.assert_allclose((away**2).sum(axis=2) + located.residual[:, None] ** 2, expected, rtol=1e-9)
    apart = np.linalg.norm(embedding.differences(0), axis=1) / embedding.unit
    np.testing.assert_allclose(apart, np.linalg.norm((centers - centers[0]) / scale, axis=1), rtol=1e-9)


def test_entries_stored_twice_are_added(rng):
    X, codes, centers = wide_table(rng)
    indptr = 2 * X.indptr
    twice = sp.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), indptr), shape=X.shape)
    expected, found = (within_covariance(rows, codes, centers, "oas").scale for rows in (X, twice))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    sites = LinearEmbedding.of_sites(centers, whitening=1.0 / expected)
    np.testing.assert_allclose(sites.locate(twice).residual, sites.locate(X).residual, rtol=1e-9)


@pytest.mark.parametrize("columns", [3, MOST_CORRELATED + 1])
@pytest.mark.parametrize("sparse", [False, True])
def test_sums_of_parts_merge(rng, columns, sparse):
    X, codes, centers = wide_table(rng)
    X, centers = X[:, :columns], centers[:, :columns]
    rows = X if sparse else X.toarray()
    unit = unit_of(np.abs(X.toarray()).max(axis=0))
    whole = scatter_sums(rows, codes, centers, unit)
    parts = [scatter_sums(rows[part], codes[part], centers, unit) for part in (slice(0, 90), slice(90, N))]
    merged = parts[0].plus(parts[1])
    for mine, theirs in zip(merged, whole, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_sparse_and_dense_wide_tables_agree(rng):
    X, codes, _ = wide_table(rng)
    np.testing.assert_allclose(within(X, codes).affinity, within(X.toarray(), codes).affinity, atol=0.01)
