import numpy as np
import pytest

from quality._case import Case
from quality._clusterers import CLUSTERERS, k_means
from quality._resampling import bootstrap_stability, item_consensus, matched


@pytest.fixture
def bridged(rng):
    """Two clusters, and ten points half way between them."""
    ends = np.repeat([[0.0, 0.0], [12.0, 0.0]], 40, axis=0)
    return np.vstack([ends + rng.normal(size=(80, 2)), [6.0, 0.0] + 0.3 * rng.normal(size=(10, 2))])


def test_matched_renames_to_most_agreement():
    found = np.array([2, 2, 2, 0, 0, 1])
    wanted = np.array([0, 0, 1, 1, 1, 2])
    np.testing.assert_array_equal(matched(found, wanted), [0, 0, 0, 1, 1, 2])


def test_matched_leaves_unknown_labels_out():
    np.testing.assert_array_equal(matched(np.array([1, 1, -1, 0]), np.array([0, 0, 0, 1])), [0, 0, -1, 1])


@pytest.mark.parametrize("clusterer", CLUSTERERS)
@pytest.mark.parametrize("score", [bootstrap_stability, item_consensus])
def test_points_between_clusters_are_less_steady(bridged, score, clusterer):
    trust = score(Case(bridged, 2, 0, CLUSTERERS[clusterer]))
    assert trust.shape == (90,)
    assert np.all((trust >= 0.0) & (trust <= 1.0 + 1e-6))
    assert trust[:80].mean() > trust[80:].mean()


def test_far_clusters_never_change(rng):
    X = np.repeat([[0.0, 0.0], [100.0, 0.0]], 20, axis=0) + rng.normal(size=(40, 2))
    case = Case(X, 2, 0, k_means)
    np.testing.assert_array_equal(bootstrap_stability(case), 1.0)
    np.testing.assert_allclose(item_consensus(case), 1.0)
