"""TopAffinityResult: everything AffinityResult says, but for the smaller affinities."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from allegiance import AffinityScorer, affinity
from allegiance.engines import Auto

SHARED = (
    "label",
    "verdict",
    "rival",
    "own_affinity",
    "typicality",
    "closeness",
    "noise",
    "owner",
    "runner_up",
    "confidence",
    "margin",
    "score",
    "stable",
    "decided",
    "empty_cell",
    "residual",
)


def blobs(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    X, labels = make_blobs(n, n_features=d, centers=k, cluster_std=4.0, center_box=(-6, 6), random_state=2)
    return X, labels


def both(top: int, k: int = 7, d: int = 5, **settings: Any) -> tuple[Any, Any]:
    X, labels = blobs(90, d, k)
    return affinity(X, labels, **{"influence": "euclidean"} | settings), affinity(
        X, labels, top=top, **{"influence": "euclidean"} | settings
    )


@pytest.mark.parametrize("top", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("settings", [{}, {"engine": "hit-and-run"}, {"d": 2}, {"k": 1}])
def test_all_that_follows_from_two_clusters_is_the_same(top, settings):
    full, short = both(top, **settings)
    for name in (*SHARED, "engine", "worst_error"):
        np.testing.assert_array_equal(getattr(full, name), getattr(short, name), err_msg=name)
    np.testing.assert_array_equal(full.least_trusted(5), short.least_trusted(5))
    assert len(short) == full.n_points
    assert short.n_clusters == full.n_clusters


@pytest.mark.parametrize("top", [1, 3, 50])
def test_affinities_are_the_largest_in_descending_order(top):
    full, short = both(top)
    m = min(top, 7)
    assert short.affinity.shape == short.clusters.shape == short.standard_error.shape == (90, m)
    order = np.argsort(-full.affinity, axis=1, kind="stable")[:, :m]
    np.testing.assert_array_equal(short.affinity, np.take_along_axis(full.affinity, order, axis=1))
    np.testing.assert_array_equal(short.standard_error, np.take_along_axis(full.standard_error, order, axis=1))
    np.testing.assert_array_equal(short.clusters, full.classes[order])


def test_coinciding_clusters_share_and_keep_their_order():
    centers = [[0.0, 0.0], [4.0, 0.0], [0.0, 0.0]]
    result = affinity([[0.1, 0.0], [3.9, 0.0]], centers=centers, top=2, influence="euclidean")
    np.testing.assert_array_equal(result.clusters[0], [0, 2])
    np.testing.assert_allclose(result.affinity[0, 0], result.affinity[0, 1])


def test_frame_has_a_pair_of_columns_for_each_rank():
    X, labels = blobs(20, 3, 5)
    frame = pd.DataFrame(X, index=np.arange(20) + 100)
    found = affinity(frame, np.array(list("abcde"))[labels], top=2, influence="euclidean").frame(details=True)
    assert list(found.columns[-4:]) == ["cluster_1", "affinity_1", "cluster_2", "affinity_2"]
    assert list(found.index) == list(frame.index)
    assert (found["cluster_1"] == found["owner"]).all()
    assert (found["cluster_2"] == found["runner_up"]).all()


def test_summary_is_that_of_the_full_result():
    full, short = both(2)

    def but_time(text: str) -> str:
        return re.sub(r"\d+\.\d+ s$", "", text, flags=re.MULTILINE)

    assert but_time(repr(full)) == but_time(repr(short))
    assert "<table>" in short._repr_html_()


@pytest.mark.parametrize(("top", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("3", TypeError)])
def test_bad_top(top, error):
    X, labels = blobs(20, 2, 3)
    scorer = AffinityScorer(influence="euclidean").fit(X, labels)
    for call in (lambda: scorer.affinity(X, top=top), lambda: affinity(X, labels, top=top, influence="euclidean")):
        with pytest.raises(error, match="top must be"):
            call()


def test_parts_of_many_rows_make_one_result(monkeypatch):
    X, labels = blobs(90, 5, 7)
    scorer = AffinityScorer(eps=0.01, engine=Auto(max_samples=3000), influence="euclidean").fit(X, labels)
    with pytest.warns(UserWarning, match=r"of 90 points") as whole:
        one = scorer.affinity(X, top=2)
    monkeypatch.setattr("allegiance.fitting._fitted._PART", 32)
    with pytest.warns(UserWarning, match=r"of 90 points") as parts:
        other = scorer.affinity(X, top=2)
    assert len(parts) == len(whole) == 1
    for name in (*SHARED, "clusters", "affinity", "standard_error"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_many_clusters_in_many_dimensions(rng):
    """A thousand clusters in 50 dimensions: every point gets an answer within its interval."""
    centers = rng.normal(size=(1000, 50))
    X = centers[:4] + 0.5 * rng.normal(size=(4, 50))
    result = affinity(X, centers=centers, top=3, eps=0.1, engine=Auto(max_samples=200_000), influence="euclidean")
    assert result.affinity.shape == (4, 3)
    assert 1.96 * result.worst_error.max() <= 0.1
    assert (np.diff(result.affinity, axis=1) <= 0).all()
    assert (result.owner == np.arange(4)).all()


def test_memory_goes_with_top_and_not_with_k(rng):
    import tracemalloc

    centers = rng.normal(size=(200, 1)).cumsum(axis=0)
    X = rng.uniform(centers.min(), centers.max(), (100_000, 1))
    scorer = AffinityScorer(centers=centers, n_jobs=1, influence="euclidean").fit(X[:100])
    scorer.affinity(X[:10], top=2)
    tracemalloc.start()
    result = scorer.affinity(X, top=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.affinity.shape == (100_000, 2)
    assert peak < X.shape[0] * 200 * 8, "one of the two matrices (n, k) that a full result holds"
