import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from quality._case import Case
from quality._clusterers import CLUSTERERS, k_means
from quality._scores import SCORES, all_scores, whitened

OTHER_LIBRARIES = {"fuzzy membership": "skfuzzy", "hdbscan": "hdbscan", "cake": "cake_ensemble"}


@pytest.fixture(scope="module")
def scene():
    """Three clusters in a plane, and a few points along the border between two of them, which are marked."""
    rng = np.random.default_rng(20130528)
    corners = np.array([[0.0, 0.0], [8.0, 0.0], [4.0, 7.0]])
    border = np.column_stack([rng.normal(4.0, 0.2, 8), np.linspace(-6.0, 1.0, 8)])
    X = np.vstack([corners.repeat(60, axis=0) + rng.normal(size=(180, 2)), border])
    return Case(X, 3, 0, k_means), np.arange(188) >= 180


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.filterwarnings("ignore")
def test_a_score_trusts_the_border_least(scene, name):
    if name in OTHER_LIBRARIES:
        pytest.importorskip(OTHER_LIBRARIES[name])
    case, border = scene
    trust = SCORES[name](case)
    assert trust.shape == (188,)
    # Stability has few values near a border that every run draws alike.
    steady = name in ("bootstrap agreement", "bootstrap stability", "prediction strength", "item consensus")
    assert roc_auc_score(border, -trust) > (0.6 if steady else 0.9)


def test_whitening_gives_unit_covariance_within_clusters(rng):
    X = np.repeat([[0.0, 0.0, 0.0], [50.0, 0.0, 0.0]], 2000, axis=0) + rng.normal(size=(4000, 3)) * [2.0, 1.0, 0.5]
    case = Case(X, 2, 0, k_means)
    mapped = whitened(case)
    spread = np.cov(np.vstack([mapped[case.labels == c] - mapped[case.labels == c].mean(axis=0) for c in (0, 1)]).T)
    np.testing.assert_allclose(spread, np.eye(3), atol=0.06)


@pytest.mark.parametrize("clusterer", CLUSTERERS)
def test_every_score_is_computed_for_every_clusterer(rng, clusterer):
    for library in OTHER_LIBRARIES.values():
        pytest.importorskip(library)
    X = np.repeat([[0.0, 0.0], [5.0, 0.0]], 25, axis=0) + rng.normal(size=(50, 2))
    shared = {"cake": np.zeros(50)}  # its own test takes seconds
    assert set(all_scores(Case(X, 2, 0, CLUSTERERS[clusterer], shared))) == set(SCORES)
