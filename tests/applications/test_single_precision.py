"""Data in single precision: no warning, and the same clusters as in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from allegiance import (
    ActiveKMeans,
    ConsensusClustering,
    IncrementalKMeans,
    compare_clusterings,
    stability_curve,
    validate_consensus,
)
from allegiance.metrics import lift_emd

X, LABELS = make_blobs(300, 6, centers=4, cluster_std=0.7, random_state=3)
SINGLE = X.astype(np.float32)


@pytest.mark.parametrize(
    "estimator", [ActiveKMeans, IncrementalKMeans, ConsensusClustering], ids=lambda cls: cls.__name__
)
def test_clusters_are_the_same(estimator):
    found = [estimator(n_clusters=4, random_state=0).fit(data).labels_ for data in (X, SINGLE)]
    assert adjusted_rand_score(*found) == 1.0


def test_distances_are_nearly_the_same():
    other = np.roll(LABELS, 5)
    assert lift_emd(SINGLE, LABELS, other) == pytest.approx(lift_emd(X, LABELS, other), abs=1e-6)


def test_comparisons_are_nearly_the_same():
    candidates = {"k-means": KMeans(4, n_init=1, random_state=0), "truth": LABELS}
    double, single = (compare_clusterings(data, candidates).trust for data in (X, SINGLE))
    np.testing.assert_allclose(single, double, atol=1e-4)
    assert (validate_consensus(SINGLE, [LABELS], LABELS).gain == 0).all()


def test_curve_is_the_same():
    clusterer = KMeans(n_init=2, random_state=0)
    found = [stability_curve(data, clusterer, (3, 4, 5), n_references=3).suggestion for data in (X, SINGLE)]
    assert found == [4, 4]
