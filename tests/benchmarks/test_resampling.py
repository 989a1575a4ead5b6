import numpy as np
import pytest

from quality._case import RUNS, Case
from quality._clusterers import Clustering, k_means
from quality._resampling import (
    bootstrap_agreement,
    bootstrap_stability,
    item_consensus,
    matched,
    prediction_strength,
)

ALL = (bootstrap_agreement, bootstrap_stability, item_consensus, prediction_strength)


class Arbitrary:
    """A clusterer whose clusters have nothing to do with the data, and which remembers whom it labeled."""

    def __init__(self, n: int, k: int) -> None:
        self.rng = np.random.default_rng(7)
        self.k = k
        self.labels = self.rng.integers(0, k, n)
        self.predicted = []

    def __call__(self, X, k, seed):
        labels = self.labels if len(X) == self.labels.size and seed == 0 else self.rng.integers(0, k, len(X))
        return Clustering(labels, self._predict, None)

    def _predict(self, rows):
        found = self.rng.integers(-1, self.k, len(rows))
        self.predicted.append((rows[:, 0].astype(int), found))
        return found


@pytest.fixture
def arbitrary():
    """Points that are their own row numbers."""
    clusterer = Arbitrary(30, 3)
    return Case(np.arange(30.0)[:, None], 3, 0, clusterer), clusterer


def test_matched_renames_to_most_agreement():
    found = np.array([2, 2, 2, 0, 0, 1])
    wanted = np.array([0, 0, 1, 1, 1, 2])
    np.testing.assert_array_equal(matched(found, wanted), [0, 0, 0, 1, 1, 2])


@pytest.mark.parametrize("score", ALL)
def test_far_clusters_never_change(rng, score):
    X = np.repeat([[0.0, 0.0], [100.0, 0.0]], 20, axis=0) + rng.normal(size=(40, 2))
    np.testing.assert_allclose(score(Case(X, 2, 0, k_means)), 1.0)


def test_stability_is_the_overlap_of_sets(arbitrary):
    case, clusterer = arbitrary
    found = bootstrap_stability(case)
    assert len(clusterer.predicted) == RUNS
    for i in (0, 11, 29):
        mine = set(np.flatnonzero(case.labels == case.labels[i]))
        others = [set(rows[labels == labels[i]]) for rows, labels in clusterer.predicted]
        assert found[i] == pytest.approx(np.mean([len(mine & new) / len(mine | new) for new in others]))


def test_prediction_strength_is_the_share_of_companions_that_stay(arbitrary):
    case, clusterer = arbitrary
    found = prediction_strength(case)
    assert len(clusterer.predicted) == RUNS
    for i in (0, 11, 29):
        shares = []
        for rows, labels in clusterer.predicted:
            if i not in rows:
                continue
            mine = labels[rows == i][0]
            stays = [
                new == mine for j, new in zip(rows, labels, strict=True) if j != i and case.labels[j] == case.labels[i]
            ]
            shares.append(np.mean(stays))
        assert len(shares) == RUNS // 2
        assert found[i] == pytest.approx(np.mean(shares))
