import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from allegiance import AffinityScorer
from allegiance.fitting import period_of
from allegiance.results import DOUBTFUL, FINE, N_UNLIKE, POINTS, UNLIKE, Moments, is_unlike, unlike_rate


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)) + 3.0 * rng.integers(3, size=(900, 1))
    scorer = AffinityScorer(KMeans(3, n_init=2, random_state=0), calibration=5, n_jobs=1, influence="euclidean").fit(X)
    return scorer, np.vstack([X, [[40.0, 0.0, 0.0]]])


def test_moments_are_those_of_numpy():
    rng = np.random.default_rng(1)
    X, groups = 1e6 + rng.normal(size=(200, 4)), rng.integers(5, size=200)
    moments = Moments.of(X, groups, 6)
    for group in range(5):
        np.testing.assert_allclose(moments.mean[group], X[groups == group].mean(axis=0), rtol=1e-14)
        np.testing.assert_allclose(moments.variance[group], X[groups == group].var(axis=0, ddof=1), rtol=1e-9)
    assert moments.count[5].tolist() == [0.0] * 4


def test_moments_leave_out_what_is_missing():
    X = np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, 7.0]])
    moments = Moments.of(X, np.zeros(3, dtype=int), 1)
    assert moments.count.tolist() == [[2.0, 2.0]]
    assert moments.mean.tolist() == [[2.0, 6.0]]
    assert moments.squares.tolist() == [[2.0, 2.0]]


def test_moments_of_sparse_rows_are_those_of_dense_ones():
    rng = np.random.default_rng(2)
    X, groups = rng.normal(size=(80, 5)) * (rng.random((80, 5)) < 0.3), rng.integers(3, size=80)
    for one, other in zip(
        Moments.of(X, groups, 3).arrays(), Moments.of(sp.csr_array(X), groups, 3).arrays(), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_moments_add_up_and_can_be_taken_together():
    rng = np.random.default_rng(3)
    X, groups = rng.normal(size=(300, 2)), rng.integers(6, size=300)
    whole = Moments.of(X, groups, 6)
    pieces = Moments.of(X[:100], groups[:100], 6).plus(Moments.of(X[100:], groups[100:], 6))
    for one, other in zip(whole.arrays(), pieces.arrays(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    chosen = np.isin(groups, [0, 1])
    np.testing.assert_allclose(whole.take((FINE, DOUBTFUL)).mean[0], X[chosen].mean(axis=0))
    np.testing.assert_allclose(whole.overall().variance[0], X.var(axis=0, ddof=1))


def test_a_period_read_in_pieces_is_that_read_at_once(scored):
    scorer, X = scored
    whole = period_of(scorer.fitted_, X)
    pieces = period_of(scorer.fitted_, X[:100])
    for start, stop in ((100, 101), (101, 777), (777, len(X))):
        pieces = pieces.plus(period_of(scorer.fitted_, X[start:stop], start))
    assert np.array_equal(whole.counts, pieces.counts)
    np.testing.assert_allclose(whole.trust, pieces.trust, rtol=1e-12)
    for one, other in ((whole.rows, pieces.rows), (whole.values, pieces.values), (whole.unlike, pieces.unlike)):
        assert np.array_equal(one.numbers, other.numbers)
        assert np.array_equal(one.rows, other.rows)
        assert np.array_equal(one.codes, other.codes)


def test_counts_are_those_of_the_scores(scored):
    scorer, X = scored
    result, period = scorer.affinity(X), period_of(scorer.fitted_, X)
    assert period.counts[:, POINTS].sum() == len(X)
    for column, verdict in ((1, "contested"), (2, "contradicted")):
        assert period.counts[:, column].sum() == (result.verdict == verdict).sum()
    assert period.counts[:, N_UNLIKE].sum() == (result.typicality < 0.01).sum()
    np.testing.assert_allclose(period.trust[:, 0].sum(), result.trust.sum())
    groups = period.moments.count[:, 0].reshape(-1, 3)
    assert np.array_equal(groups.sum(axis=1), period.counts[:, POINTS])
    assert np.array_equal(groups[:, UNLIKE], period.counts[:, N_UNLIKE])


def test_small_clusters_call_unlike_what_lies_beyond_every_member():
    X = np.vstack([np.random.default_rng(0).normal(size=(20, 2)), np.random.default_rng(1).normal(size=(20, 2)) + 30.0])
    scorer = AffinityScorer(calibration=5, n_jobs=1, influence="euclidean").fit(X, np.repeat([0, 1], 20))
    result = scorer.affinity(np.array([[9.0, -9.0], [0.0, 0.0]]))
    assert result.typicality[0] > 0.01
    assert is_unlike(result).tolist() == [True, False]
    assert unlike_rate(np.array([20, 99, 999, 0])).tolist() == [1 / 21, 1 / 100, 9 / 1000, 0.0]
