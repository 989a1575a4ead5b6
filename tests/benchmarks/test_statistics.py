import numpy as np
import pytest
from scipy import stats

from quality._statistics import cliques, critical_difference, friedman_p_value, interval, rank_scores, tally

# Critical values of the two-tailed Nemenyi test at 5 %: Demsar, JMLR 7 (2006), table 5(a).
NEMENYI = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}


@pytest.mark.parametrize("n_scores", NEMENYI)
def test_critical_difference_is_that_of_the_table(n_scores):
    expected = NEMENYI[n_scores] * np.sqrt(n_scores * (n_scores + 1) / (6 * 14))
    assert critical_difference(n_scores, 14) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("tied", [False, True])
def test_friedman_is_that_of_scipy(rng, tied):
    values = rng.integers(0, 4, (12, 5)).astype(float) if tied else rng.normal(size=(12, 5))
    ranks = stats.rankdata(values, axis=1)
    assert friedman_p_value(ranks) == pytest.approx(stats.friedmanchisquare(*values.T).pvalue)


def test_nothing_speaks_against_equal_scores():
    assert friedman_p_value(np.full((6, 3), 2.0)) == 1.0


def test_more_is_better_and_equals_share_their_rank():
    ranking = rank_scores(np.array([[0.9, 0.5, 0.5], [0.8, 0.7, 0.6]]))
    np.testing.assert_allclose(ranking.mean_ranks, [1.0, 2.25, 2.75])
    assert ranking.n_sets == 2


def test_cliques_are_the_longest_stretches():
    assert cliques(np.array([1.0, 2.0, 3.5, 9.0]), 1.6) == [(1.0, 2.0), (2.0, 3.5)]
    assert cliques(np.array([3.0, 1.0, 2.0]), 5.0) == [(1.0, 3.0)]
    assert cliques(np.array([1.0, 3.0, 5.0]), 1.0) == []


def test_interval_is_that_of_students_t(rng):
    values = rng.normal(size=10)
    mean, half = interval(values)
    low, high = stats.t.interval(0.95, 9, loc=values.mean(), scale=stats.sem(values))
    assert (mean - half, mean + half) == pytest.approx((low, high))
    assert np.isnan(interval([0.3])[1])


def test_tally_counts_what_is_clear():
    clear = np.array([0.10, 0.11, 0.09])
    found = tally([clear, -clear, -clear, np.array([0.2, -0.2, 0.1]), np.zeros(3)])
    assert found[:3] == (1, 2, 2)
    assert found.mean_difference == pytest.approx((0.1 - 0.1 - 0.1 + 0.1 / 3) / 5)
