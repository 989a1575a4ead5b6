"""Approximate lifting maps."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels

from allegiance import Fourier, Hashing, Kernel, Nystroem
from allegiance.engines import Settings, measure
from allegiance.influence import FeatureEmbedding, KernelEmbedding, PowerDiagram
from scenes import measurer, tessellate

PAIRS = [
    (Fourier, "rbf"),
    (Nystroem, "rbf"),
    (Nystroem, "linear"),
    (Nystroem, "polynomial"),
    (Nystroem, "laplacian"),
    (Nystroem, "cosine"),
    (Nystroem, laplacian_kernel),
    (Hashing, "linear"),
    (Hashing, "polynomial"),
]


@pytest.fixture
def data(rng):
    codes = rng.integers(-1, 3, 400)
    X = rng.normal(size=(400, 5)) + 1.5 * rng.normal(size=(4, 5))[codes]
    return X, codes


def approximate(X, codes, approximation, kernel, n_components, seed=0):
    transformer = approximation(n_components).fit(Kernel(kernel).settle(X), seed, X)
    return FeatureEmbedding.of_clusters(X, codes, 3, transformer)


def exact_embedding(X, codes, kernel):
    return KernelEmbedding.fit_locate(X, codes, 3, Kernel(kernel).settle(X))[0]


def site_distances(embedding):
    positions = embedding.positions / embedding.unit
    return ((positions[:, None] - positions) ** 2).sum(axis=2)


@pytest.mark.parametrize(("approximation", "kernel"), PAIRS)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_approaches_the_kernel(data, approximation, kernel, layout):
    """Kernel values of the features, and distances between the means, come close."""
    X, codes = data
    rows = layout(X)
    exact = exact_embedding(rows, codes, kernel)
    embedding = approximate(rows, codes, approximation, kernel, 4000 if approximation is not Nystroem else 200)
    features = embedding.transformer.transform(rows)
    K = pairwise_kernels(X, metric=kernel, **exact.means.kernel.params) if isinstance(kernel, str) else kernel(X, X)
    features = features.toarray() if sp.issparse(features) else features
    assert np.abs(features @ features.T - K).mean() < 0.1 * np.abs(K).mean()
    expected = site_distances(exact)
    assert np.abs(site_distances(embedding) - expected).max() < 0.15 * expected.max()


def box_affinities(embedding, X):
    diagram = PowerDiagram(embedding)
    position = diagram.locate(X).position
    tessellation = tessellate(diagram, position)
    return measure(measurer(tessellation, "exact"), tessellation, position, Settings()).affinity


@pytest.mark.parametrize("approximation", [Fourier, Nystroem])
def test_error_falls_as_components_grow(data, approximation):
    """Averaged over seeds, the mean error of the affinities falls by more than a third for 8 times as many."""
    X, codes = data
    exact = box_affinities(exact_embedding(X, codes, "rbf"), X)
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
    exact = exact_embedding(X, codes, "rbf")
    for kernel in ("rbf", lambda A, B: pairwise_kernels(A, B, metric="rbf", **exact.means.kernel.params)):
        embedding = approximate(X, codes, Nystroem, kernel, 10_000)
        np.testing.assert_allclose(site_distances(embedding), site_distances(exact), atol=1e-9)
        np.testing.assert_allclose(embedding.locate(X).residual, exact.locate(X).residual, atol=1e-4)


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
    for approximation, kernel in ((Fourier, "rbf"), (Nystroem, "rbf"), (Hashing, "polynomial")):
        first, same, other = (
            approximate(X, codes, approximation, kernel, 50, seed).positions for seed in (2**60, 2**60, 1)
        )
        np.testing.assert_array_equal(first, same)
        assert not np.allclose(first, other)


def test_is_an_embedding(data):
    X, codes = data
    embedding = approximate(X.astype(np.float32), codes, Fourier, "rbf", 100)
    np.testing.assert_allclose(embedding.differences(1), embedding.positions - embedding.positions[1], atol=1e-12)
    features = embedding.transformer.transform(X.astype(np.float32).astype(float))
    means = np.array([features[codes == i].mean(axis=0) for i in range(3)])
    located = embedding.locate(X.astype(np.float32))
    reduced = ((located.position[:, None] - embedding.positions) ** 2).sum(axis=2) / embedding.unit**2
    full = ((features[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_allclose(reduced + located.residual[:, None] ** 2, full, atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "approximation", "kind", "message"),
    [
        ("rbf", "nystroem", TypeError, r"approximation of Kernel must be Nystroem\(\), .*got 'nystroem'"),
        ("rbf", Nystroem, TypeError, "approximation of Kernel must be"),
        ("laplacian", Fourier(), ValueError, r"Fourier needs Kernel\('rbf'\), got 'laplacian'"),
        (laplacian_kernel, Fourier(), ValueError, r"Fourier needs Kernel\('rbf'\)"),
        ("rbf", Hashing(), ValueError, r"Hashing needs Kernel\('linear'\) or Kernel\('polynomial'\)"),
        ("precomputed", Nystroem(), ValueError, "approximation needs the data"),
        ("sigmoid", Nystroem(), ValueError, "kernel must be one of"),
        ("rbf", Nystroem(0), ValueError, "n_components of Nystroem must be at least 1, got 0"),
        ("rbf", Fourier(10.5), TypeError, "n_components of Fourier must be an integer"),
        ("linear", Hashing(None), TypeError, "n_components of Hashing must be an integer"),
    ],
)
def test_what_does_not_make_sense(kernel, approximation, kind, message):
    with pytest.raises(kind, match=message):
        Kernel(kernel, approximation=approximation).check()


def test_memory(rng):
    """The features of all rows would take 160 MB."""
    X, codes = rng.normal(size=(20_000, 5)), np.arange(20_000) % 3
    tracemalloc.start()
    try:
        approximate(X, codes, Fourier, "rbf", 1000).locate(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6
