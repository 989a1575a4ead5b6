"""Approximate lifting maps."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels

from allegiance.domains import BoxDomain
from allegiance.engines import Scene, Settings, measure, select_engine
from allegiance.influence import PowerDiagram
from allegiance.influence._feature_maps import FeatureEmbedding, feature_map
from allegiance.influence._kernel_means import KernelEmbedding

PAIRS = [
    ("fourier", "rbf"),
    ("nystroem", "rbf"),
    ("nystroem", "linear"),
    ("nystroem", "polynomial"),
    ("nystroem", "laplacian"),
    ("nystroem", "cosine"),
    ("nystroem", laplacian_kernel),
    ("hash", "linear"),
    ("hash", "polynomial"),
]


@pytest.fixture
def data(rng):
    codes = rng.integers(-1, 3, 400)
    X = rng.normal(size=(400, 5)) + 1.5 * rng.normal(size=(4, 5))[codes]
    return X, codes


def approximate(X, codes, approximation, kernel, n_components, seed=0):
    transformer = feature_map(approximation, kernel, None, n_components, seed, X)
    return FeatureEmbedding.of_clusters(X, codes, 3, transformer)


def site_distances(embedding):
    positions = embedding.positions / embedding.unit
    return ((positions[:, None] - positions) ** 2).sum(axis=2)


@pytest.mark.parametrize(("approximation", "kernel"), PAIRS)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_approaches_the_kernel(data, approximation, kernel, layout):
    """Kernel values of the features, and distances between the means, come close."""
    X, codes = data
    rows = layout(X)
    exact = KernelEmbedding.of_clusters(rows, codes, 3, kernel)
    embedding = approximate(rows, codes, approximation, kernel, 4000 if approximation != "nystroem" else 200)
    features = embedding.transformer.transform(rows)
    K = pairwise_kernels(X, metric=kernel, **exact.means.kernel.params) if isinstance(kernel, str) else kernel(X, X)
    features = features.toarray() if sp.issparse(features) else features
    assert np.abs(features @ features.T - K).mean() < 0.1 * np.abs(K).mean()
    expected = site_distances(exact)
    assert np.abs(site_distances(embedding) - expected).max() < 0.15 * expected.max()


def box_affinities(embedding, X):
    diagram = PowerDiagram(embedding)
    position = diagram.locate(X).position
    points = np.vstack([position, diagram.positions])
    scene = Scene(diagram, BoxDomain(points.min(axis=0), points.max(axis=0), 0.1))
    return measure(select_engine(scene, Settings(), "exact"), scene, position, Settings()).affinity


@pytest.mark.parametrize("approximation", ["fourier", "nystroem"])
def test_error_falls_as_components_grow(data, approximation):
    """Averaged over seeds, the mean error of the affinities falls by more than a third for 8 times as many."""
    X, codes = data
    exact = box_affinities(KernelEmbedding.of_clusters(X, codes, 3, "rbf"), X)
    errors = [
        np.mean(
            [
                np.abs(box_affinities(approximate(X, codes, approximation, "rbf", size, seed), X) - exact).mean()
                for seed in range(3)
            ]
        )
        for size in (20, 160)
    ]
    assert errors[1] < 0.67 * errors[0]


def test_all_rows_as_landmarks_are_exact(data):
    X, codes = data[0][:200], data[1][:200]
    exact = KernelEmbedding.of_clusters(X, codes, 3, "rbf")
    for kernel in ("rbf", lambda A, B: pairwise_kernels(A, B, metric="rbf", **exact.means.kernel.params)):
        embedding = approximate(X, codes, "nystroem", kernel, 10_000)
        np.testing.assert_allclose(site_distances(embedding), site_distances(exact), atol=1e-9)
        np.testing.assert_allclose(embedding.locate(X).off_span, exact.locate(X).off_span, atol=1e-4)


@pytest.mark.parametrize(("approximation", "kernel"), PAIRS)
def test_a_row_does_not_depend_on_the_others(data, approximation, kernel):
    X, codes = data
    embedding = approximate(X, codes, approximation, kernel, 200)
    position = embedding.locate(X).position
    for rows in (slice(0, 1), slice(7, 11), slice(300, 400)):
        np.testing.assert_allclose(embedding.locate(X[rows]).position, position[rows], atol=1e-10)
    np.testing.assert_allclose(embedding.locate(X, threads=2).position, position, atol=1e-10)


def test_the_seed_decides(data):
    X, codes = data
    for approximation, kernel in (("fourier", "rbf"), ("nystroem", "rbf"), ("hash", "polynomial")):
        first, same, other = (
            approximate(X, codes, approximation, kernel, 50, seed).positions for seed in (2**60, 2**60, 1)
        )
        np.testing.assert_array_equal(first, same)
        assert not np.allclose(first, other)


def test_is_an_embedding(data):
    X, codes = data
    embedding = approximate(X.astype(np.float32), codes, "fourier", "rbf", 100)
    np.testing.assert_allclose(embedding.differences(1), embedding.positions - embedding.positions[1], atol=1e-12)
    features = embedding.transformer.transform(X.astype(np.float32).astype(float))
    means = np.array([features[codes == i].mean(axis=0) for i in range(3)])
    located = embedding.locate(X.astype(np.float32))
    reduced = ((located.position[:, None] - embedding.positions) ** 2).sum(axis=2) / embedding.unit**2
    full = ((features[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_allclose(reduced + located.off_span[:, None] ** 2, full, atol=1e-12)


@pytest.mark.parametrize(
    ("approximation", "kernel", "message"),
    [
        ("sobol", "rbf", "kernel_approximation must be one of"),
        ("fourier", "laplacian", "needs kernel=rbf"),
        ("fourier", laplacian_kernel, "needs kernel=rbf"),
        ("hash", "rbf", "needs kernel=linear or polynomial"),
        ("nystroem", "precomputed", "needs the data"),
        ("nystroem", "sigmoid", "kernel must be one of"),
    ],
)
def test_what_does_not_make_sense(data, approximation, kernel, message):
    with pytest.raises(ValueError, match=message):
        feature_map(approximation, kernel, None, 10, 0, data[0])


def test_memory(rng):
    """The features of all rows would take 160 MB."""
    X, codes = rng.normal(size=(20_000, 5)), np.arange(20_000) % 3
    tracemalloc.start()
    try:
        approximate(X, codes, "fourier", "rbf", 1000).locate(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6
