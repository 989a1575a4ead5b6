"""Fitting: sums that do not depend on chunks or order, weights, pipelines, and fits that fail."""

from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator

from allegiance import AffinityScorer, Calibration, affinity, trust
from allegiance._core.arithmetic import MAX_PRODUCT_ROWS, ExactProducts, ExactSums
from allegiance.io import fit_stream


@pytest.mark.parametrize("sparse", [False, True])
def test_sums_are_exact_in_any_order_and_chunks(rng, sparse):
    X = rng.normal(size=(500, 3)) * 10.0 ** rng.integers(-9, 9, (500, 1))
    X[rng.random(X.shape) < 0.3] = 0.0
    codes = rng.integers(-1, 4, 500)
    exact = [[float(sum(map(Fraction, X[codes == i, j]))) for j in range(3)] for i in range(4)]
    for _ in range(3):
        order, cuts = rng.permutation(500), np.sort(rng.integers(0, 500, 5))
        chunks = zip(np.split(X[order], cuts), np.split(codes[order], cuts), strict=True)
        parts = [ExactSums.of(sp.csr_array(rows) if sparse else rows, own, 4) for rows, own in chunks]
        np.testing.assert_array_equal(reduce(ExactSums.merge, parts).values, exact)


def test_products_are_the_same_in_any_order_and_chunks(rng):
    scale = np.array([1e-9, 1.0, 1e3, 1e12])
    X = rng.normal(size=(2 * MAX_PRODUCT_ROWS + 7, 4)) * scale
    sums = [ExactProducts.empty(np.abs(X).max(axis=0)) for _ in range(10)]
    for rows in np.split(X, [MAX_PRODUCT_ROWS, 2 * MAX_PRODUCT_ROWS]):
        sums[0].add_blocks([rows])
    expected = sums[0].values
    np.testing.assert_allclose(expected / np.outer(scale, scale), (X / scale).T @ (X / scale), atol=1e-6)
    for part, rows in zip(sums[1:], np.array_split(rng.permutation(X), 9), strict=True):
        part.add_blocks(np.array_split(rows, 2))
    np.testing.assert_array_equal(reduce(ExactProducts.merge, sums[1:]).values, expected)


@pytest.mark.parametrize("influence", ["within", "euclidean"])
@pytest.mark.parametrize("kind", ["labels", "centers", "weights"])
def test_streams_and_permutations_give_the_same_bits(tmp_path, rng, influence, kind):
    centers = 2.0 * rng.normal(size=(4, 3))
    labels = rng.integers(0, 4, 900)
    frame = pd.DataFrame(centers[labels] + rng.normal(size=(900, 3)), columns=list("abc"))
    frame.assign(y=labels).to_parquet(tmp_path / "rows.parquet", index=False)
    # A known clusterer, since the search for a stand-in takes most of the time; more rows than calibration uses.
    calibration = Calibration(2, clusterer=KMeans(4, n_init=1, random_state=0), rows_per_subsample=100)
    settings: dict[str, Any] = {"influence": influence, "calibration": calibration, "engine": "shared", "eps": 0.2}
    settings |= {} if kind == "labels" else {"centers": centers}
    settings |= {"weights": "size"} if kind == "weights" else {}
    y = labels if kind == "labels" else None
    expected = AffinityScorer(**settings).fit(frame, y).affinity(frame[:200])
    order = rng.permutation(900)
    permuted = AffinityScorer(**settings).fit(frame.iloc[order], None if y is None else y[order])
    column = "y" if kind == "labels" else None
    streamed = fit_stream(
        tmp_path / "rows.parquet", AffinityScorer(**settings), columns=list("abc"), labels=column, batch_rows=211
    )
    for scorer in (permuted, streamed):
        result = scorer.affinity(frame[:200])
        for name in ("affinity", "trust", "typicality", "priority"):
            np.testing.assert_array_equal(getattr(result, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("influence", ["euclidean", pytest.param("cosine", marks=pytest.mark.slow)])
def test_members_and_trust_follow_the_labels_that_weights_move(rng, influence):
    centers = np.array([[5.0, 1.0], [8.0, 1.0], [5.0, 4.0]])
    X = rng.normal(size=(300, 2)) + centers[np.arange(300) % 3]
    weights = [4.0, 0.0, 0.0] if influence == "euclidean" else [0.05, 0.0, 0.0]
    settings: dict[str, Any] = {"centers": centers, "weights": weights, "influence": influence}
    known: dict[str, Any] = {"n_resamples": 4, "clusterer": KMeans(3, n_init=1, random_state=0)}
    alone = AffinityScorer(calibration=Calibration(**known), **settings).fit_affinity(X)
    assert (alone.label != AffinityScorer(centers=centers, influence=influence).fit_predict(X)).any()
    for other in (trust(X, alone.label, **known, **settings), trust(X, **known, **settings)):
        for name in ("label", "trust", "typicality"):
            np.testing.assert_array_equal(getattr(other, name), getattr(alone, name), err_msg=name)


def test_a_point_far_outside_a_small_cluster_is_atypical():
    X, labels = make_blobs(141, 4, centers=3, random_state=0)
    scorer = AffinityScorer().fit(X, labels)
    outside = scorer.affinity(X[:1] * 100.0)
    assert outside.typicality[0] < 1e-4
    assert outside.review(1)["reason"].tolist() == ["atypical for its cluster"]
    # The farthest member counts itself, and lies beyond the second farthest; a step further out changes little.
    for cluster, size in enumerate(np.bincount(labels)):
        members = X[labels == cluster]
        scores = scorer.affinity(members).frame(details=True).sort_values("distance", ascending=False)
        first, second = scores["distance"].iloc[:2]
        expected = 2.0 * (second / first) ** 2 / (1.0 + size)
        np.testing.assert_allclose(scores["typicality"].iloc[0], expected)
        center = scorer.cluster_centers_[cluster]
        beyond = center + 1.001 * (members[scores.index[:1]] - center)
        expected = min(expected, 1.0 / (1.0 + size)) / 1.001**2
        np.testing.assert_allclose(scorer.affinity(beyond).typicality, expected, rtol=1e-6)


def test_an_outlier_among_the_members_of_a_small_cluster_is_atypical():
    X, labels = make_blobs(141, 4, centers=3, random_state=0)
    assert affinity(X, labels).typicality.min() > 0.01
    X[0] *= 100.0
    result = affinity(X, labels)
    assert result.typicality[0] < 1e-4
    assert (result.typicality[1:] > 0.01).all()


def test_a_predicted_cluster_without_members_is_noise():
    X, labels = make_blobs(90, 2, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    clusterer = FrozenEstimator(KMeans(3, n_init=1, random_state=0).fit(X))
    absent = clusterer.predict([[0.0, 20.0]])[0]
    scorer = AffinityScorer(clusterer, influence="euclidean").fit(X[labels < 2])
    assert absent not in scorer.classes_
    assert scorer.predict([[0.0, 20.0], [0.0, 0.0]]).tolist() == [-1, clusterer.predict([[0.0, 0.0]])[0]]
    assert scorer.affinity([[0.0, 20.0]]).label.tolist() == [-1]


@pytest.mark.parametrize(
    ("bad", "error"), [({"X": [[np.nan]]}, ValueError), ({"X": np.ones((5, 2)), "y": [1, 2]}, ValueError)]
)
@pytest.mark.parametrize("method", ["fit", "fit_affinity"])
def test_a_refused_fit_keeps_the_previous_one(method, bad, error):
    X, labels = make_blobs(60, 2, centers=3, random_state=0)
    scorer = AffinityScorer(calibration=2).fit(X, labels)
    expected = scorer.affinity(X).trust
    with pytest.raises(error):
        getattr(scorer, method)(**bad)
    np.testing.assert_array_equal(scorer.affinity(X).trust, expected)
    assert scorer.n_features_in_ == 2
    np.testing.assert_array_equal(scorer.labels_, labels)
