"""The span of the sites."""

import numpy as np
import pytest
import scipy.sparse as sp

from allegiance import affinity
from allegiance.influence import AffineFunctions, LinearEmbedding, PowerDiagram, Reduction


@pytest.mark.parametrize(("k", "d", "rank"), [(3, 10, 2), (10, 3, 3), (4, 4, 3), (1, 5, 0), (2, 1, 1)])
def test_rank(rng, k, d, rank):
    assert Reduction.of_sites(rng.normal(size=(k, d))).dim == rank


def test_rank_of_dependent_sites(rng):
    plane = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 7)) + 100.0
    assert Reduction.of_sites(plane).dim == 2
    assert Reduction.of_sites(plane, keep_axes=True).dim == 7


def test_the_users_axes_are_kept(rng):
    sites = rng.normal(size=(5, 3))
    reduction = Reduction.of_sites(sites)
    X = rng.normal(size=(10, 3))
    difference = reduction.locate(X).position - reduction.locate(np.zeros((1, 3))).position
    np.testing.assert_allclose(difference, X * reduction.factor * reduction.rescale)
    assert (reduction.locate(X).residual == 0).all()


def test_differences_of_distances_are_kept(rng):
    """|x - c_i|² - |x - c_j|² is the same before and after, and Pythagoras gives the rest."""
    sites, X = rng.normal(size=(4, 30)), rng.normal(size=(20, 30))
    diagram = PowerDiagram(LinearEmbedding.of_sites(sites))
    located = diagram.locate(X)
    unit = diagram.embedding.unit
    full = ((X[:, None] - sites) ** 2).sum(axis=2)
    reduced = ((located.position[:, None] - diagram.positions) ** 2).sum(axis=2) / unit**2
    np.testing.assert_allclose(full, reduced + located.residual[:, None] ** 2, rtol=1e-10)


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csr_matrix])
def test_sparse_rows(rng, layout):
    X = sp.random(40, 60, density=0.1, random_state=1, format="csr")
    sites = rng.normal(size=(5, 60))
    diagram = PowerDiagram(LinearEmbedding.of_sites(sites))
    dense, sparse = diagram.locate(X.toarray()), diagram.locate(layout(X))
    np.testing.assert_allclose(sparse.position, dense.position, atol=1e-12)
    np.testing.assert_allclose(sparse.residual, dense.residual, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1.0, 1e20, 1e150])
def test_extreme_scales(rng, scale):
    """Scaling by a power of two changes nothing at all; by other factors, rounding only."""
    X, centers = rng.normal(size=(20, 6)), rng.normal(size=(4, 6))
    plain = affinity(X, centers=centers, influence="euclidean")
    scaled = affinity(scale * X, centers=scale * centers, influence="euclidean")
    np.testing.assert_allclose(scaled.affinity, plain.affinity, atol=1e-9)
    power = 2.0 ** np.round(np.log2(scale))
    np.testing.assert_array_equal(
        affinity(power * X, centers=power * centers, influence="euclidean").affinity, plain.affinity
    )


def test_far_positions_keep_their_direction(rng):
    diagram = PowerDiagram(LinearEmbedding.of_sites(rng.normal(size=(4, 3))))
    direction = np.array([[1.0, -2.0, 0.5]])
    near, far = diagram.locate(1e9 * direction).position, diagram.locate(1e300 * direction).position
    np.testing.assert_allclose(near / np.abs(near).max(), far / np.abs(far).max(), atol=1e-6)
    assert np.isfinite(far).all()


@pytest.mark.parametrize("site", range(4))
def test_bisectors_are_differences_of_functions(rng, site):
    diagram = PowerDiagram(LinearEmbedding.of_sites(rng.normal(size=(4, 9))))
    normals, offsets = diagram.bisectors(site)
    a, b = diagram.functions
    np.testing.assert_allclose(2 * normals, a - a[site], atol=1e-12)
    np.testing.assert_allclose(2 * offsets, b - b[site], atol=1e-12)


def test_clearance_is_the_difference_at_home(rng):
    diagram = PowerDiagram(LinearEmbedding.of_sites(rng.normal(size=(4, 3))))
    position = rng.normal(size=(6, 3))
    a, b = diagram.functions
    query_a, query_b = diagram.query_functions(position)
    expected = (b - position @ a.T) - (query_b - (position * query_a).sum(axis=1))[:, None]
    np.testing.assert_allclose(diagram.clearance(AffineFunctions(query_a, query_b), position), expected, atol=1e-12)


def filled(rng, offset):
    """Return sites, and rows around them, whose columns are all far from zero."""
    return rng.normal(size=(3, 8)) + offset, rng.normal(size=(20, 8)) + offset


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_off_span_of_sparse_rows_far_from_the_origin(rng, offset):
    """The distance from a plane, by least squares on differences taken first."""
    sites, X = filled(rng, offset)
    found = LinearEmbedding.of_sites(sites).locate(sp.csr_array(X)).residual
    plane, away = (sites[1:] - sites[0]).T, (X - sites[0]).T
    expected = np.linalg.norm(away - plane @ np.linalg.lstsq(plane, away, rcond=None)[0], axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_off_span_where_few_columns_are_far_from_the_origin(rng):
    sites, X = filled(rng, 0.0)
    X[np.abs(X) < 0.7] = 0.0
    sites[:, 0] += 1e8
    X[:, 0] += 1e8
    embedding = LinearEmbedding.of_sites(sites)
    expected, found = embedding.locate(X), embedding.locate(sp.csr_array(X))
    np.testing.assert_allclose(found.residual, expected.residual, rtol=1e-6)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_sparse_rows_of_extreme_size(rng, size):
    sites, X = filled(rng, 0.0)
    plain = LinearEmbedding.of_sites(sites).locate(sp.csr_array(X)).residual
    scaled = LinearEmbedding.of_sites(size * sites).locate(sp.csr_array(size * X)).residual
    np.testing.assert_allclose(scaled / size, plain, rtol=1e-9)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_off_span_of_rows_that_overflow(rng, layout):
    sites, X = filled(rng, 0.0)
    embedding = LinearEmbedding.of_sites(sites)
    np.testing.assert_allclose(
        embedding.locate(layout(1e250 * X)).residual / 1e250, embedding.locate(layout(1e100 * X)).residual / 1e100
    )


def test_far_rows_lie_in_the_direction_from_the_sites():
    """Not from the origin: the origin itself can be far."""
    sites = np.array([[1e10, 1.0], [1e10, -1.0], [1e10 + 1.0, 0.0]])
    position = LinearEmbedding.of_sites(sites).locate(np.array([[0.0, 0.0], [1e10, 1e10]])).position
    direction = position / np.abs(position).max(axis=1, keepdims=True)
    np.testing.assert_allclose(direction, [[-1.0, 0.0], [0.0, 1.0]], atol=1e-6)
