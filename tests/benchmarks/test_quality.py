"""Labeled datasets, and the scores that are compared on them."""

from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics import roc_auc_score

from quality._case import RUNS, Case
from quality._clusterers import CLUSTERERS, Clustering, k_means
from quality._datasets import MOST_COLUMNS, MOST_ROWS, all_sets, blobs
from quality._misassigned import by_majority, by_matching, measures
from quality._resampling import bootstrap_agreement, bootstrap_stability, item_consensus, matched, prediction_strength
from quality._scores import SCORES, all_scores, whitened


def set_named(name, folder=None):
    return next(data for data in all_sets(folder) if data.name == name)


def means_of(sample):
    return np.stack([sample.X[sample.classes == c].mean(axis=0) for c in range(sample.classes.max() + 1)])


@pytest.mark.parametrize("name", ["iris", "digits", "moons", "clusters-10"])
def test_a_seed_is_a_draw(name):
    data = set_named(name)
    first, again, other = data.draw(0), data.draw(0), data.draw(1)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert len(first.X) == len(first.classes) <= MOST_ROWS
    assert first.X.shape[1] <= MOST_COLUMNS


def test_blobs_are_as_far_apart_as_asked():
    near, far = blobs(0, separation=2.0), blobs(0, separation=20.0)
    assert pdist(means_of(near)).min() == pytest.approx(2.0, abs=0.4)
    assert pdist(means_of(far)).min() == pytest.approx(20.0, abs=0.4)


@pytest.mark.parametrize("common", [True, False])
def test_stretch_is_the_longest_axis_over_the_shortest(common):
    sample = blobs(0, stretch=4.0, common=common, separation=50.0)
    covariances = [np.cov(sample.X[sample.classes == c].T) for c in range(4)]
    for covariance in covariances:
        values = np.linalg.eigvalsh(covariance)
        assert np.sqrt(values[-1] / values[0]) == pytest.approx(4.0, rel=0.25)
    alike = np.linalg.norm(covariances[0] - covariances[1]) / np.linalg.norm(covariances[0])
    assert (alike < 0.4) == common


@pytest.mark.parametrize("header", ["", "height,width,kind\n"])
def test_a_folder_of_tables_is_read(tmp_path, rng, header):
    X = rng.normal(size=(30, 2))
    rows = "".join(f"{a},{b},{'red' if i % 3 else 'blue'}\n" for i, (a, b) in enumerate(X))
    (tmp_path / "flowers.csv").write_text(header + rows)
    sample = set_named("flowers", tmp_path).draw(0)
    assert sample.X.shape == (24, 2)
    assert set(sample.classes) == {0, 1}


def test_majority_marks_the_minority_of_each_cluster():
    labels = np.array([0, 0, 0, 1, 1, 1])
    classes = np.array([1, 1, 0, 1, 1, 0])
    # Both clusters have the same majority: by majority one class may rule twice, by matching it may not.
    np.testing.assert_array_equal(by_majority(labels, classes), [0, 0, 1, 0, 0, 1])
    assert by_matching(labels, classes).sum() == 3


def test_a_cluster_without_a_class_is_misassigned_under_the_matching():
    labels = np.array([0, 0, 0, 1, 1, 2])
    classes = np.array([0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(by_matching(labels, classes), [0, 0, 0, 0, 0, 1])
    assert not by_majority(labels, classes).any()


@pytest.mark.parametrize("seed", range(5))
def test_matching_is_the_best_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    labels, classes = rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    best = min((np.array(names)[labels] != classes).sum() for names in permutations(range(4)))
    assert by_matching(labels, classes).sum() == best
    assert by_majority(labels, classes).sum() <= best


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


def test_a_clustering_without_mistakes_has_nothing_to_find(rng):
    wrong = np.zeros(40, dtype=bool)
    assert np.isnan(measures(rng.random(40), wrong, wrong)["auroc"])
