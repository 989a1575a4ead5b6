"""LiftEMD and Rand distance against their definitions, as metrics, and at size."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics import rand_score
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from allegiance.influence import Kernel
from allegiance.metrics import Pool, lift_bandwidth, lift_clusters, lift_emd, one_hot, rand_distance, transport_cost

#: Distances are roots of differences of numbers of size 1.
ROUNDING = 1e-7


def by_definition(K, a, b):
    """LiftEMD of memberships a (n, k) and b (n, l) from the matrix of kernel values, as a linear program."""
    norms = np.sqrt(np.outer(np.diagonal(a.T @ K @ a), np.diagonal(b.T @ K @ b)))
    cost = np.sqrt(np.maximum(2 - 2 * (a.T @ K @ b) / norms, 0))
    moves_out = [(np.arange(cost.size) // cost.shape[1] == i).astype(float) for i in range(cost.shape[0])]
    moves_in = [(np.arange(cost.size) % cost.shape[1] == j).astype(float) for j in range(cost.shape[1])]
    masses = np.concatenate([a.sum(axis=0), b.sum(axis=0)]) / len(K)
    return linprog(cost.ravel(), A_eq=np.array(moves_out + moves_in), b_eq=masses).fun


def memberships(labels):
    return (np.asarray(labels)[:, None] == np.unique(labels)).astype(float)


def rbf(bandwidth):
    return Kernel("rbf", gamma=0.5 / bandwidth**2)


@pytest.fixture
def data(rng):
    return rng.normal(size=(60, 3)), rng.integers(0, 4, 60), rng.integers(0, 3, 60)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(
    ("kernel", "values"),
    [
        (rbf(0.3), partial(rbf_kernel, gamma=0.5 / 0.3**2)),
        (rbf(1.0), partial(rbf_kernel, gamma=0.5)),
        (rbf(5.0), partial(rbf_kernel, gamma=0.02)),
        (Kernel("laplacian", gamma=0.4), partial(laplacian_kernel, gamma=0.4)),
        (partial(laplacian_kernel, gamma=0.4), partial(laplacian_kernel, gamma=0.4)),
    ],
    ids=["narrow", "rbf", "wide", "laplacian", "function"],
)
def test_equals_its_definition(data, rng, kernel, values, soft):
    X, a, b = data
    b = rng.dirichlet([0.5, 0.5, 0.5], 60) if soft else memberships(b)
    assert lift_emd(X, a, b, kernel=kernel) == pytest.approx(by_definition(values(X), memberships(a), b), abs=1e-9)


def test_memberships_of_one_are_labels(data):
    X, a, b = data
    assert lift_emd(X, memberships(a), b) == lift_emd(X, a, b)
    assert lift_emd(X, memberships(a), a) == 0.0


def test_the_bandwidth_is_the_lift_bandwidth(data):
    X, a, b = data
    distances = [np.linalg.norm(X[i] - X[j]) for i in range(60) for j in range(i)]
    assert lift_bandwidth(X, "euclidean") == pytest.approx(np.median(distances), rel=1e-12)
    assert lift_emd(X, a, b) == pytest.approx(lift_emd(X, a, b, kernel=rbf(np.median(distances))), abs=1e-12)


def test_moving_or_scaling_the_data_changes_nothing(data):
    X, a, b = data
    assert lift_emd(1000.0 * X + 1e6, a, b) == pytest.approx(lift_emd(X, a, b), abs=1e-7)


def test_the_median_of_many_rows_comes_from_a_sample_and_of_copies_from_the_others(rng):
    X = rng.normal(size=(5000, 2))
    distance = lift_bandwidth(X, "euclidean")
    assert distance == lift_bandwidth(X, "euclidean")
    assert distance == pytest.approx(2 * np.sqrt(np.log(2)), rel=0.03)  # of two standard normal points in the plane
    copies = np.zeros((10, 1))
    assert lift_bandwidth(copies, "euclidean") == 1.0
    copies[0] = 3.0
    assert lift_bandwidth(copies, "euclidean") == 3.0


@st.composite
def points_and_partitions(draw):
    n = draw(st.integers(2, 12))
    grid = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=n, max_size=n, unique=True))
    partitions = (draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) for _ in range(3))
    return np.array(grid, dtype=float), *map(np.array, partitions)


def same_partition(a, b):
    return ((a[:, None] == a) == (b[:, None] == b)).all()


@pytest.mark.parametrize("approximation", [None, "fourier"])
@settings(max_examples=30)
@given(case=points_and_partitions())
def test_is_a_metric_on_partitions_of_distinct_points(approximation, case):
    X, a, b, c = case

    def distance(one, other):
        return lift_emd(X, one, other, kernel=Kernel("rbf", approximation=approximation), n_jobs=1)

    ab, ba, bc, ac = distance(a, b), distance(b, a), distance(b, c), distance(a, c)
    largest = np.sqrt(2) if approximation is None else 2.0  # features may have negative inner products
    assert 0 <= ab <= largest * (1 + 1e-9)
    assert ab == pytest.approx(ba, abs=ROUNDING)
    assert ac <= ab + bc + ROUNDING
    assert distance(a, 3 - a) == 0.0
    assert (ab == 0) == same_partition(a, b)
    if not same_partition(a, b):
        assert ab > 1e-4


def test_exchanged_copies_of_a_row_are_the_one_thing_it_cannot_see():
    X = np.array([[0.0], [0.0], [5.0]])
    assert lift_emd(X, [0, 1, 1], [1, 0, 1], kernel=rbf(2.0)) == pytest.approx(0.0, abs=ROUNDING)
    assert lift_emd(X, [0, 0, 1], [0, 1, 2], kernel=rbf(2.0)) == pytest.approx(0.0, abs=ROUNDING)


def test_splitting_a_soft_cluster_in_proportion_changes_nothing(data, rng):
    X, *_ = data
    soft = rng.dirichlet([1.0, 1.0], 60)
    split = np.column_stack([0.3 * soft[:, 0], 0.7 * soft[:, 0], soft[:, 1]])
    assert lift_emd(X, soft, split) == pytest.approx(0.0, abs=ROUNDING)


def test_points_of_noise_are_clusters_of_their_own(data):
    X, a, b = data
    noisy, separate = a.copy(), a.copy()
    noisy[:5], separate[:5] = -1, np.arange(100, 105)
    assert lift_emd(X, noisy, b) == pytest.approx(lift_emd(X, separate, b), abs=1e-12)
    assert lift_emd(X, noisy, separate) == 0.0
    assert lift_emd(X, noisy, a) > 0.01


def test_sparse_rows_and_single_precision_give_the_same(data):
    X, a, b = data
    X = np.where(np.abs(X) > 1, X, 0).astype(np.float32)
    assert lift_emd(sp.csr_array(X), a, b) == pytest.approx(lift_emd(X.astype(float), a, b), abs=1e-9)
    assert lift_emd(X, a, b) == pytest.approx(lift_emd(X.astype(float), a, b), abs=1e-9)


@pytest.mark.parametrize("approximation", [RBFSampler, Nystroem])
def test_features_come_to_the_exact_kernel(rng, approximation):
    X = rng.normal(size=(400, 3))
    a, b = (X[:, 0] > 0).astype(int), (X[:, 1] > 0.5).astype(int)
    exact = lift_emd(X, a, b, kernel=Kernel("rbf", gamma=0.3))
    maps = [approximation(gamma=0.3, n_components=size, random_state=0) for size in (4, 400)]
    errors = [abs(lift_emd(X, a, b, kernel=Kernel("rbf", approximation=features)) - exact) for features in maps]
    assert errors[1] < min(errors[0], 0.05)


def test_optimal_transport_on_a_line_is_the_area_between_the_distribution_functions(rng):
    x, source, target = np.sort(rng.random(20)), rng.random(20), rng.random(20)
    source, target = source / source.sum(), target / target.sum()
    area = np.abs(np.cumsum(source - target))[:-1] @ np.diff(x)
    assert transport_cost(np.abs(x[:, None] - x), source, target) == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels_a": [0, 1]}, "labels_a"),
        ({"labels_b": [[1.0]] * 5}, "labels_b has 5 rows but X has 60"),
        ({"labels_b": [[0.5, 0.6]] * 60}, "labels_b must hold memberships"),
        ({"labels_b": [[-0.5, 1.5]] * 60}, "labels_b must hold memberships"),
        ({"labels_b": [[np.nan, 1.0]] * 60}, "labels_b contains NaN"),
        ({"labels_b": [0.5] * 60}, "labels_b cannot be used: labels must be discrete"),
        ({"labels_b": [-1] * 60}, "labels_b cannot be used.*no cluster"),
        ({"X": [[np.nan, 1.0]] * 60}, "NaN"),
        ({"X": np.zeros(60)}, "X must have rows and columns"),
        ({"X": np.full((60, 2), 1e300) * np.arange(60)[:, None]}, "X is too large"),
        ({"kernel": "cosine"}, "kernel must be one of 'rbf', 'laplacian'"),
        ({"kernel": lambda A, B: -rbf_kernel(A, B)}, "positive"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "not finite"),
        ({"kernel": "precomputed"}, "kernel must be one of 'rbf', 'laplacian'"),
        ({"kernel": Kernel("rbf", approximation="some")}, "approximation of Kernel must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
)
def test_bad_input_is_named(data, change, message):
    X, a, b = data
    with pytest.raises(ValueError, match=message):
        lift_emd(**{"X": X, "labels_a": a, "labels_b": b} | change)


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


labelings = st.integers(2, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(3)])
)


def by_counting(a, b):
    pairs = list(combinations(range(len(a)), 2))
    return sum((a[i] == a[j]) != (b[i] == b[j]) for i, j in pairs) / len(pairs)


@given(labelings)
def test_counts_pairs_and_is_a_metric(case):
    a, b, c = case
    assert rand_distance(a, b) == by_counting(a, b)
    assert rand_distance(a, b) == rand_distance(b, a)
    assert rand_distance(a, c) <= rand_distance(a, b) + rand_distance(b, c) + 1e-12
    assert rand_distance(a, [4 - label for label in a]) == 0
    together = np.array(a)[:, None] == a
    assert (rand_distance(a, b) == 0) == (together == (np.array(b)[:, None] == b)).all()


def test_is_one_minus_the_rand_index_of_scikit_learn(rng):
    a, b = rng.integers(0, 7, 3000), rng.integers(0, 5, 3000)
    assert rand_distance(a, b) == pytest.approx(1 - rand_score(a, b), abs=1e-14)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([0], [5], 0),
        ([0, 0, 0], [0, 1, 2], 1),
        (["x", "x", "y"], [2, 2, 7], 0),
        ([0, 0, -1, -1], [0, 0, 1, 2], 0),
        ([0, 0, -1, -1], [0, 0, 1, 1], 1 / 6),
    ],
    ids=["one point", "the largest", "names", "noise as single points", "noise as no cluster"],
)
def test_values_of_the_rand_distance(a, b, expected):
    assert rand_distance(a, b) == pytest.approx(expected, abs=1e-15)


def test_many_labels_need_no_table_of_all_pairs_of_labels():
    n = 1_000_000  # a dense table would need 10^12 numbers
    everyone_alone, in_pairs = np.arange(n), np.arange(n) // 2
    assert rand_distance(everyone_alone, in_pairs) == 1 / (n - 1)


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        ([0, 1], [0, 1, 2], ValueError, "labels_b cannot be used: labels has 3 entries"),
        ([[0, 1]], [0], ValueError, "labels_a cannot be used"),
        ([0.5, 1], [0, 1], ValueError, "labels_a cannot be used"),
        (3, [0, 1], TypeError, "labels_a must be one label per point"),
        ([], [], ValueError, "labels_a cannot be used"),
    ],
    ids=["lengths", "shape", "fractions", "number", "empty"],
)
def test_bad_labels_are_named(a, b, error, message):
    with pytest.raises(error, match=message):
        rand_distance(a, b)
