"""k-means on a stream in which doubtful points wait."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from allegiance import AffinityScorer, IncrementalKMeans
from allegiance.applications import _incremental
from allegiance.applications._incremental import ClusterSums

TRIANGLE = np.array([[0.0, 0.0], [12.0, 0.0], [6.0, 10.0]])
BETWEEN = TRIANGLE.mean(axis=0)


def three_blobs(n=240):
    return make_blobs(n, centers=TRIANGLE, random_state=0)


def started(X, **settings):
    """A model of three clusters that has seen one batch."""
    return IncrementalKMeans(3, random_state=0, **settings).partial_fit(X)


def stability(centers, X, rows):
    return AffinityScorer(centers=centers, influence="euclidean").fit(X).affinity(rows)


def fed(model, X, cuts):
    for batch in np.split(X, cuts):
        model.partial_fit(batch)
    return model


def in_batches_of(size, n=240):
    return np.arange(size, n, size)


def apart_from(centers, others):
    """Return the largest distance of a center from the nearest of the others."""
    return pairwise_distances(centers, others).min(axis=1).max()


STATE = ("cluster_centers_", "counts_", "pending_")
COUNTERS = ("inertia_", "n_batches_", "n_samples_seen_", "n_births_", "n_forced_")


def assert_same_state(a, b):
    for name in STATE:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in COUNTERS:
        assert getattr(a, name) == getattr(b, name), name


class TestAnyBatchSplit:
    """A stream ends near the centroids of k-means on all of it, however it was cut."""

    @pytest.mark.parametrize(
        ("n", "size", "settings", "apart", "agree"),
        [
            (240, 100, {}, 0.05, 0.97),
            (240, 8, {}, 0.05, 0.97),
            (120, 1, {"init_size": 30}, 0.3, 0.95),
        ],
    )
    @pytest.mark.parametrize("order", ["shuffled", "sorted"])
    def test_blobs(self, n, size, settings, apart, agree, order):
        X, labels = three_blobs(n)
        if order == "sorted":
            X = X[np.argsort(labels, kind="stable")]
        theirs = KMeans(3, n_init=10, random_state=0).fit(X)
        model = fed(IncrementalKMeans(3, random_state=0, **settings), X, in_batches_of(size, n)).finalize()
        assert model.n_batches_ == -(-n // size)
        assert apart_from(model.cluster_centers_, theirs.cluster_centers_) < apart
        assert adjusted_rand_score(theirs.labels_, model.predict(X)) > agree

    @given(cuts=st.sets(st.integers(1, 239), max_size=4).map(sorted))
    @settings(max_examples=15)
    def test_any_cut(self, cuts):
        X, _ = three_blobs()
        theirs = KMeans(3, n_init=10, random_state=0).fit(X)
        model = fed(IncrementalKMeans(3, random_state=0), X, np.array(cuts, dtype=int)).finalize()
        assert model.counts_.sum() == 240
        assert apart_from(model.cluster_centers_, theirs.cluster_centers_) < 0.05

    def test_more_dimensions_than_clusters(self):
        X, truth = make_blobs(600, n_features=30, centers=6, cluster_std=2.0, random_state=1)
        model = fed(IncrementalKMeans(6, random_state=0), X, in_batches_of(90, 600)).finalize()
        assert adjusted_rand_score(truth, model.predict(X)) == 1.0
        means = np.array([X[truth == i].mean(axis=0) for i in range(6)])
        match = pairwise_distances(means, model.cluster_centers_).argmin(axis=1)
        np.testing.assert_allclose(model.cluster_centers_[match], means)
        assert model.inertia_ == pytest.approx(((X - means[truth]) ** 2).sum())


class TestWaiting:
    def test_a_point_between_three_blobs_waits_until_finalised(self):
        X, _ = three_blobs()
        model = started(X[:120]).partial_fit([BETWEEN])
        for batch in np.array_split(X[120:], 5):
            model.partial_fit(batch)
            assert (model.pending_ == BETWEEN).all(axis=1).any()
        assert model.counts_.sum() + model.pending_.shape[0] == model.n_samples_seen_ == 241
        model.finalize()
        assert model.pending_.shape == (0, 2)
        assert model.counts_.sum() == 241
        model.partial_fit([BETWEEN])  # the stream may go on
        np.testing.assert_array_equal(model.pending_, [BETWEEN])

    def test_those_that_wait_are_those_that_are_not_stable(self):
        X, _ = make_blobs(400, centers=TRIANGLE / 3, random_state=2)
        model = started(X)
        result = stability(model.cluster_centers_, X, X)
        waiting = (X[:, None] == model.pending_).all(axis=2).any(axis=1)
        # Those absorbed last moved the centroids a little, so that only clear cases must agree.
        assert waiting[result.affinity.max(axis=1) < 0.45].all()
        assert not waiting[
            (result.affinity.max(axis=1) > 0.55) & (result.frame(details=True)["owner"] == result.label)
        ].any()
        assert 10 < waiting.sum() < 200

    def test_centroids_are_the_means_of_what_was_folded(self):
        X, labels = three_blobs()
        X = np.vstack([X, [BETWEEN]])
        model = started(X)
        np.testing.assert_array_equal(model.pending_, [BETWEEN])
        means = np.array([X[:-1][labels == i].mean(axis=0) for i in range(3)])
        match = pairwise_distances(means, model.cluster_centers_).argmin(axis=1)
        np.testing.assert_allclose(model.cluster_centers_[match], means)
        np.testing.assert_array_equal(model.counts_[match], np.bincount(labels))
        assert model.inertia_ == pytest.approx(((X[:-1] - means[labels]) ** 2).sum())

    def test_one_may_become_stable_later(self):
        # Points around 11 draw the centroid at 10 away, and the point between falls to the one at 0.
        around = np.linspace(-3.0, 3.0, 20)[:, None]
        model = IncrementalKMeans(2, init_size=40, random_state=0).partial_fit(np.vstack([around, around + 10]))
        model.partial_fit([[5.0]])
        np.testing.assert_array_equal(model.pending_, [[5.0]])
        model.partial_fit(around[5:15] + 11)
        assert model.pending_.shape[0] == 0
        assert model.n_births_ == 0
        assert sorted(model.counts_) == [21, 30]

    def test_a_far_point_waits_though_it_is_stable(self):
        X, _ = three_blobs()
        far = np.array([[60.0, 0.0]])
        model = started(X).partial_fit(far)
        assert stability(model.cluster_centers_, np.vstack([X, far]), far).stable.all()
        np.testing.assert_array_equal(model.pending_, far)
        bound = started(X, max_pending=1).partial_fit(np.vstack([far, BETWEEN]))
        np.testing.assert_array_equal(bound.pending_, far)
        assert bound.n_forced_ == 1


class TestStart:
    def test_waits_for_enough_rows(self):
        X, _ = three_blobs()
        model = IncrementalKMeans(3, init_size=50, random_state=0)
        for i in range(49):
            model.partial_fit(X[i : i + 1])
        np.testing.assert_array_equal(model.pending_, X[:49])
        with pytest.raises(NotFittedError):
            model.predict(X)
        model.partial_fit(X[49:50])
        assert model.cluster_centers_.shape == (3, 2)

    def test_finalize_with_too_few_distinct_rows_loses_nothing(self):
        rows = [[0.0], [0.0], [1.0], [1.0]]
        model = started(rows, init_size=3)
        fresh = IncrementalKMeans(3)
        for call in (model.finalize, lambda: fresh.fit(rows)):
            with pytest.raises(ValueError, match="n_clusters=3"):
                call()
        assert not hasattr(fresh, "pending_")
        np.testing.assert_array_equal(model.pending_, rows)
        model.partial_fit([[5.0]]).finalize()
        assert sorted(model.cluster_centers_[:, 0]) == [0.0, 1.0, 5.0]
        assert sorted(model.counts_) == [1, 2, 2]
        with pytest.raises(NotFittedError, match="partial_fit"):
            IncrementalKMeans(3).finalize()


class TestBirth:
    def test_a_blob_that_comes_late_gets_a_cluster(self):
        X, labels = three_blobs()
        early, late = X[labels < 2], X[labels == 2]
        model = started(early)
        assert model.n_births_ == 0
        assert apart_from(TRIANGLE[2:], model.cluster_centers_) > 5
        model.partial_fit(late).finalize()
        assert model.n_births_ >= 1
        assert apart_from(TRIANGLE, model.cluster_centers_) < 0.5
        assert model.counts_.tolist() == [80, 80, 80]

    def test_a_cluster_given_up_leaves_its_points_to_the_nearest(self, rng):
        clusters = ClusterSums(np.array([[0.0], [1.0], [50.0]]), np.array([30, 10, 40]), 7.0)
        moved = clusters.move_cluster(np.full((5, 1), 20.0), rng)
        assert sorted(moved.centers[:, 0]) == [0.25, 20.0, 50.0]
        assert sorted(moved.counts) == [0, 40, 40]
        # Merging 30 points at 0 and 10 at 1 costs 30 * 10 / 40.
        assert moved.inertia == pytest.approx(7.0 + 7.5)

    def test_stays_if_the_objective_would_not_fall(self, rng):
        clusters = ClusterSums(np.array([[0.0], [10.0]]), np.array([30, 10]), 7.0)
        assert clusters.move_cluster(np.array([[20.0]]), rng) is None
        assert clusters.move_cluster(np.array([[0.0]]), rng) is None
        assert clusters.move_cluster(np.empty((0, 1)), rng) is None
        assert ClusterSums(np.zeros((1, 1)), np.ones(1, dtype=int), 0.0).move_cluster(np.ones((3, 1)), rng) is None

    @given(seed=st.integers(0, 10_000), k=st.integers(2, 6))
    @settings(max_examples=40)
    def test_the_objective_always_falls(self, seed, k):
        rng = np.random.default_rng(seed)
        clusters = ClusterSums(rng.normal(size=(k, 2)), rng.integers(0, 5, size=k), 1.0)
        rows = rng.normal(size=(12, 2)) * 2
        moved = clusters.move_cluster(rows, rng)
        if moved is not None:
            assert moved.objective(rows) < clusters.objective(rows)
            assert moved.counts.sum() == clusters.counts.sum()
            total = clusters.counts @ clusters.centers
            np.testing.assert_allclose(moved.counts @ moved.centers, total, atol=1e-9)


class TestBound:
    def test_the_surest_of_the_doubtful_go_first(self):
        X, _ = three_blobs()
        towards = np.linspace(0.0, 0.05, 6)[:, None]
        doubtful = BETWEEN + towards * (TRIANGLE[0] - BETWEEN)
        free = started(X).partial_fit(doubtful)
        assert (free.pending_.shape[0], free.n_forced_) == (6, 0)
        bound = started(X, max_pending=4).partial_fit(doubtful)
        assert (bound.pending_.shape[0], bound.n_forced_) == (4, 2)
        confidence = stability(free.cluster_centers_, X, doubtful).affinity.max(axis=1)
        np.testing.assert_array_equal(bound.pending_, doubtful[np.sort(np.argsort(confidence)[:4])])
        assert bound.counts_.sum() == free.counts_.sum() + 2

    @pytest.mark.parametrize("size", [300, 20])
    def test_holds_after_every_batch(self, size):
        X, _ = make_blobs(300, n_features=6, centers=5, cluster_std=4.0, random_state=3)
        model = IncrementalKMeans(5, init_size=20, max_pending=15, random_state=0)
        for batch in np.split(X, in_batches_of(size, 300)):
            model.partial_fit(batch)
            assert model.pending_.shape[0] <= 15
        assert model.n_forced_ > 0
        assert model.counts_.sum() + model.pending_.shape[0] == 300


class TestSavedAndResumed:
    @pytest.mark.parametrize(("cut", "random_state"), [(1, 3), (2, None), (5, None)])
    def test_identical_from_there_on(self, cut, random_state):
        X, _ = make_blobs(300, n_features=4, centers=5, cluster_std=3.0, random_state=4)
        batches = np.array_split(X, 7)
        model = IncrementalKMeans(5, init_size=60, random_state=random_state)
        for batch in batches[:cut]:
            model.partial_fit(batch)
        resumed = pickle.loads(pickle.dumps(model))
        for batch in batches[cut:]:
            assert_same_state(resumed.partial_fit(batch), model.partial_fit(batch))
        assert_same_state(model.finalize(), resumed.finalize())

    def test_state_holds_no_rows_but_those_that_wait_and_span_the_box(self):
        X, _ = make_blobs(3000, n_features=10, centers=4, random_state=5)
        model = fed(IncrementalKMeans(4, random_state=0), X, in_batches_of(500, 3000))
        rows = model.pending_.shape[0] + 2 * 3 + 4
        assert len(pickle.dumps(model)) < min(8 * 10 * rows + 8000, X.nbytes / 10)

    def test_one_row_at_a_time_is_measured_rarely(self, monkeypatch):
        X, _ = three_blobs(400)
        model = started(X[:300])
        built, fit = [], _incremental.fit_to_centers

        def counted(*arguments):
            built.append(arguments)
            return fit(*arguments)

        monkeypatch.setattr(_incremental, "fit_to_centers", counted)
        fed(model, X[300:], np.arange(1, 100))
        assert len(built) < 20


class TestFit:
    def test_is_one_batch_and_finalize(self):
        X, _ = make_blobs(300, centers=4, cluster_std=2.0, random_state=6)
        model = IncrementalKMeans(4, random_state=0).fit(X)
        stream = IncrementalKMeans(4, random_state=0).partial_fit(X).finalize()
        assert_same_state(model, stream)
        np.testing.assert_array_equal(model.labels_, stream.predict(X))
        assert not hasattr(stream, "labels_")
        assert_same_state(stream.partial_fit(X + 100.0).fit(X), model)

    def test_sparse_batches_change_nothing(self, rng):
        X = rng.poisson(0.5, size=(200, 8)).astype(float)
        dense = fed(IncrementalKMeans(3, random_state=0), X, [60, 130])
        sparse = IncrementalKMeans(3, random_state=0)
        for batch in np.split(X, [60, 130]):
            sparse.partial_fit(sp.csr_array(batch))
        assert_same_state(dense, sparse)


class TestBadInput:
    @pytest.mark.parametrize(
        "batch",
        [np.ones(2), np.empty((0, 2)), [[1, np.nan]], [[1, np.inf]], [["a", "b"]], [[1e200, 0]], None, np.ones((3, 5))],
        ids=["1-D", "no rows", "NaN", "inf", "text", "too large", "None", "too wide"],
    )
    def test_a_bad_batch_leaves_the_stream_as_it_was(self, batch):
        X, _ = three_blobs()
        model = started(X)
        before = pickle.loads(pickle.dumps(model))
        with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
            model.partial_fit(batch)
        assert_same_state(model, before)

    def test_a_failure_in_the_middle_leaves_the_stream_as_it_was(self, monkeypatch):
        X, _ = three_blobs()
        model = started(X[:100])
        before = pickle.loads(pickle.dumps(model))

        def fail(*_args):
            raise MemoryError

        monkeypatch.setattr(_incremental, "stability", fail)
        with pytest.raises(MemoryError):
            model.partial_fit(X[100:])
        monkeypatch.undo()
        assert_same_state(model, before)
        assert_same_state(model.partial_fit(X[100:]), before.partial_fit(X[100:]))

    def test_other_number_of_clusters_in_mid_stream(self):
        X, _ = three_blobs()
        model = started(X).set_params(n_clusters=4)
        with pytest.raises(ValueError, match="n_clusters=4"):
            model.partial_fit(X)
        assert model.fit(X).counts_.size == 4
