"""The span of cluster means in the feature space of a kernel, exact and approximated."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel

from allegiance import AffinityScorer
from allegiance.influence import Kernel, KernelEmbedding

PARAMS = {
    "rbf": {"gamma": 0.2},
    "polynomial": {"gamma": 0.3, "degree": 2, "coef0": 0.5},
    "laplacian": {"gamma": 0.1},
}
NAMES = list(PARAMS)


@pytest.fixture
def data(rng):
    """Rows of four clusters and noise, and rows that are new."""
    X, new = rng.normal(size=(300, 6)) + 1.0, rng.normal(size=(150, 6)) + 1.0
    codes = rng.integers(-1, 4, 300)
    X += codes[:, None] * np.linspace(-1, 1, 6)
    return X, codes, new


def squared_distances(K, codes, K_new, own):
    """|φ(x) - mean_i|² (m, k) from the matrix of kernel values, by the definition."""
    members = [np.flatnonzero(codes == i) for i in range(codes.max() + 1)]
    inner = np.column_stack([K_new[:, rows].mean(axis=1) for rows in members])
    norms = np.array([K[np.ix_(rows, rows)].mean() for rows in members])
    return own[:, None] - 2.0 * inner + norms


def fit_locate(X, codes, k, kernel, params=None, threads=1):
    """Embed the means of k clusters, and locate the rows."""
    kernel = Kernel(kernel, **(params or {}))
    kernel.check()
    return KernelEmbedding.fit_locate(X, codes, k, kernel.with_data(X), threads)


def embedded(X, codes, k, kernel, params=None):
    return fit_locate(X, codes, k, kernel, params)[0]


def reduced_distances(embedding, located):
    return ((located.position[:, None] - embedding.positions) ** 2).sum(axis=2) / embedding.unit**2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_distances_are_those_in_feature_space(data, name, layout):
    X, codes, new = data
    embedding = embedded(layout(X), codes, 4, name, PARAMS[name])
    located = embedding.locate(layout(new))
    K, K_new = (pairwise_kernels(rows, X, metric=name, **PARAMS[name]) for rows in (X, new))
    own = np.diagonal(pairwise_kernels(new, metric=name, **PARAMS[name]))
    full, reduced = squared_distances(K, codes, K_new, own), reduced_distances(embedding, located)
    scale = np.abs(K).max()
    np.testing.assert_allclose(reduced - reduced[:, :1], full - full[:, :1], atol=1e-13 * scale)
    np.testing.assert_allclose(reduced + located.residual[:, None] ** 2, full, atol=1e-13 * scale)


@pytest.mark.parametrize("name", NAMES)
def test_precomputed_is_the_named_kernel(data, name):
    X, codes, new = data
    named, located = fit_locate(X, codes, 4, name, PARAMS[name])
    K = pairwise_kernels(X, metric=name, **PARAMS[name])
    given, own = fit_locate(K, codes, 4, "precomputed")
    scale = np.sqrt(np.abs(K).max())
    np.testing.assert_allclose(given.positions, named.positions, atol=1e-12 * scale)
    # Of training rows the norm is known, of others a lower bound.
    np.testing.assert_allclose(own.residual**2, located.residual**2, atol=1e-12 * scale**2)
    K_new = pairwise_kernels(new, X, metric=name, **PARAMS[name])
    ours, theirs = given.locate(K_new), named.locate(new)
    np.testing.assert_allclose(ours.position, theirs.position, atol=1e-11 * scale)
    assert (ours.residual <= theirs.residual + 1e-6 * scale).all()
    np.testing.assert_allclose(given.locate(sp.csr_array(K_new)).position, ours.position)


def test_a_function(data):
    X, codes, new = data

    def kernel(A, B, width):
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / width)

    ours = embedded(X, codes, 4, partial(kernel, width=5.0))
    named = embedded(X, codes, 4, "rbf", {"gamma": 0.2})
    np.testing.assert_allclose(ours.locate(new).position, named.locate(new).position, atol=1e-13)
    np.testing.assert_allclose(ours.locate(new).residual, named.locate(new).residual, atol=1e-13)


@pytest.mark.parametrize(("k", "offset"), [(1, 0.0), (2, 0.0), (4, 0.0), (4, 1e6)])
def test_numbering_and_order_of_rows_do_not_turn_the_axes(data, rng, k, offset):
    X, codes, new = data
    X, new, codes = X + offset, new + offset, np.where(codes < k, codes, -1)
    embedding = embedded(X, codes, k, "rbf")
    assert embedding.positions.shape == (k, k - 1)
    turned = rng.permutation(k)[::-1]
    renumbered = embedded(X, np.where(codes >= 0, turned[codes], -1), k, "rbf")
    np.testing.assert_array_equal(renumbered.positions[turned], embedding.positions)
    np.testing.assert_array_equal(renumbered.locate(new).position, embedding.locate(new).position)
    order = rng.permutation(len(X))
    shuffled = embedded(X[order], codes[order], k, "rbf")
    np.testing.assert_allclose(shuffled.positions, embedding.positions, atol=1e-12 * (1 + offset))


def test_moving_and_scaling_the_data_changes_nothing(data):
    X, codes, new = data
    for name in ("rbf", "laplacian"):
        plain = embedded(X, codes, 4, name).locate(new)
        moved = embedded(1024 * (X + 1e3), codes, 4, name).locate(1024 * (new + 1e3))
        np.testing.assert_allclose(moved.position, plain.position, atol=1e-10)


def test_a_default_gamma_is_one_over_the_number_of_columns_on_standardised_data(data):
    X = (data[0] - data[0].mean(axis=0)) / data[0].std(axis=0)
    for name in ("rbf", "polynomial", "laplacian"):
        for rows in (X, sp.csr_array(X)):
            assert Kernel(name).with_data(rows).params["gamma"] == pytest.approx(1 / 6)


def test_float32_rows(data):
    X, codes, new = (part.astype(np.float32) if part.dtype.kind == "f" else part for part in data)
    single = embedded(X, codes, 4, "rbf").locate(new)
    double = embedded(X.astype(float), codes, 4, "rbf").locate(new.astype(float))
    np.testing.assert_array_equal(single.position, double.position)
    K = rbf_kernel(X)
    assert embedded(K, codes, 4, "precomputed").positions.shape == (4, 3)


def test_absurdly_far_rows_stay_finite(data):
    X, codes, _ = data
    embedding = embedded(X, codes, 4, "polynomial", {"gamma": 1.0, "degree": 1, "coef0": 0.0})
    near, far = (embedding.locate(scale * np.ones((1, 6))).position for scale in (1e10, 1e60))
    np.testing.assert_allclose(near, far, rtol=1e-6)
    assert (np.abs(far) <= 1e8 * np.abs(embedding.positions).max()).all()


@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        ("rbf", {"degree": 1.0}, "takes gamma"),
        ("rbf", {"gamma": 0.0}, "positive number"),
        ("rbf", {"gamma": "scale"}, "positive number"),
        ("polynomial", {"degree": 1.5}, "positive integer"),
        ("polynomial", {"coef0": -1.0}, "zero or more"),
        (rbf_kernel, {"gamma": 1.0}, "takes no parameters"),
        ("precomputed", None, "square"),
        ("polynomial", {"gamma": 1e60, "degree": 6}, "not finite"),
        (lambda A, B: np.ones(3), None, "one value for each pair"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), None, "not finite"),
        (lambda A, B: -(A @ B.T), None, "positive semidefinite"),
        (lambda A, B: np.exp(A[:, :1] - B[:, 0]), None, "symmetric"),
    ],
)
def test_bad_kernels(data, kernel, params, message):
    X, codes, _ = data
    with pytest.raises(ValueError, match=message):
        embedded(X, codes, 4, kernel, params)


def test_new_rows_of_a_kernel_matrix_have_the_training_rows_as_columns(data):
    X, codes, new = data
    with pytest.raises(ValueError, match="300 training rows"):
        embedded(rbf_kernel(X), codes, 4, "precomputed").locate(new)


#: The approximations with a name, and a kernel of each with its parameters.
APPROXIMATIONS = {
    "fourier": ("rbf", {"gamma": 0.2}),
    "nystroem": ("laplacian", {"gamma": 0.1}),
    "hashing": ("polynomial", PARAMS["polynomial"]),
}


def features(X, codes, kernel, seed=0):
    return AffinityScorer(influence=kernel, random_state=seed).fit(X, codes).fitted_.diagram.embedding


def site_distances(embedding):
    positions = embedding.positions / embedding.unit
    return ((positions[:, None] - positions) ** 2).sum(axis=2)


@pytest.mark.parametrize("name", APPROXIMATIONS)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_named_approximations_approach_the_kernel(data, name, layout):
    """Kernel values of the features come within 5 % of the largest, distances of the means within 15 %."""
    X, codes, _ = data
    kernel, params = APPROXIMATIONS[name]
    embedding = features(layout(X), codes, Kernel(kernel, **params, approximation=name))
    actual = embedding.transformer.transform(layout(X))
    actual = actual.toarray() if sp.issparse(actual) else actual
    K = pairwise_kernels(X, metric=kernel, **params)
    assert np.abs(actual @ actual.T - K).mean() < 0.05 * np.abs(K).max()
    expected = site_distances(embedded(X, codes, 4, kernel, params))
    assert np.abs(site_distances(embedding) - expected).max() < 0.15 * expected.max()


def test_all_rows_as_landmarks_are_exact(data):
    X, codes, _ = data
    exact = embedded(X, codes, 4, "rbf", {"gamma": 0.2})
    embedding = features(X, codes, Kernel("rbf", approximation=Nystroem(gamma=0.2, n_components=300)))
    np.testing.assert_allclose(site_distances(embedding), site_distances(exact), atol=1e-9)
    np.testing.assert_allclose(embedding.locate(X).residual, exact.locate(X).residual, atol=1e-4)


def test_a_transformer_of_the_user_keeps_its_own_seed_and_is_left_alone(data):
    X, codes, _ = data
    transformer = RBFSampler(gamma=0.2, n_components=50, random_state=3)
    scores = [
        AffinityScorer(influence=Kernel("rbf", approximation=transformer), random_state=seed).fit_transform(X, codes)
        for seed in (0, 1)
    ]
    np.testing.assert_array_equal(*scores)
    assert not hasattr(transformer, "random_weights_")


@pytest.mark.parametrize(
    ("kernel", "settings", "kind", "message"),
    [
        ("rbf", {"approximation": "linear"}, ValueError, "approximation of Kernel must be one of 'fourier'"),
        ("rbf", {"approximation": Nystroem}, TypeError, "approximation of Kernel must be"),
        ("laplacian", {"approximation": "fourier"}, ValueError, r"needs Kernel\('rbf'\), got 'laplacian'"),
        (laplacian_kernel, {"approximation": "nystroem"}, ValueError, "approximation='nystroem' needs"),
        ("rbf", {"approximation": "hashing"}, ValueError, r"needs Kernel\('polynomial'\)"),
        ("precomputed", {"approximation": "nystroem"}, ValueError, "approximation needs the data"),
        ("rbf", {"approximation": RBFSampler(), "gamma": 1.0}, ValueError, "gamma and a transformer"),
    ],
)
def test_approximations_that_do_not_make_sense(kernel, settings, kind, message):
    with pytest.raises(kind, match=message):
        Kernel(kernel, **settings).check()
