"""Against scipy, published figures, and each other where one test takes over from another."""

import numpy as np
import pytest
from scipy import stats

from allegiance.applications import _period_tests as tests


@pytest.mark.parametrize("cases", [((3, 9), (40, 50)), ((0, 5), (100, 30)), ((50, 20), (90, 80)), ((7, 7), (10, 10))])
def test_shares_are_compared_by_the_exact_test(cases):
    (x1, x2), (n1, n2) = cases
    found = tests.shares_differ(_arrays(x1, x2), _arrays(n1, n2), (0.0, 0.0))
    table = [[x2, n2 - x2], [x1, n1 - x1]]
    one_sided = [stats.fisher_exact(table, alternative=side).pvalue for side in ("greater", "less")]
    assert found.p[0] == pytest.approx(min(2 * min(one_sided), 1.0))


def test_the_interval_of_a_difference_of_shares_is_the_published_one():
    found = tests.shares_differ(_arrays(48, 56), _arrays(80, 70), (0.0, 0.0))
    # Newcombe (1998), method 10, 56/70 against 48/80.
    assert (found.low[0], found.high[0]) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_limits_take_over_where_the_exact_test_ends(monkeypatch):
    few, many = ((900.0, 1100.0), (500_000.0, 400_000.0)), ((100_000.0, 81_000.0), (500_000.0, 400_000.0))
    exact = [tests.shares_differ(_arrays(*x), _arrays(*n), (0.0, 0.0)).p[0] for x, n in (few, many)]
    monkeypatch.setattr(tests, "_MOST_EXACT", 1000)
    limits = [tests.shares_differ(_arrays(*x), _arrays(*n), (0.0, 0.0)).p[0] for x, n in (few, many)]
    assert np.log(limits) == pytest.approx(np.log(exact), rel=0.05)


def test_what_is_allowed_is_not_found():
    x, n = _arrays(100, 180), _arrays(1000, 1000)
    assert tests.shares_differ(x, n, (0.0, 0.0)).p[0] < 1e-5
    assert tests.shares_differ(x, n, (-0.08, 0.08)).p[0] > 0.9
    assert tests.shares_differ(x, n, (-1.0, 0.0)).p[0] < 1e-5


def test_means_are_compared_by_welchs_test():
    rng = np.random.default_rng(0)
    then, now = rng.normal(size=40), 0.6 + 3.0 * rng.normal(size=25)
    asked = (_arrays(40, 25), _arrays(then.mean(), now.mean()), _arrays(then.var(ddof=1), now.var(ddof=1)))
    found = tests.means_differ(*asked, (0.0, 0.0))
    assert found.p[0] == pytest.approx(stats.ttest_ind(now, then, equal_var=False).pvalue)
    shifted = tests.means_differ(*asked, (-0.3, 0.3))
    excess = stats.ttest_ind(now - np.sign(now.mean() - then.mean()) * 0.3, then, equal_var=False).pvalue
    assert shifted.p[0] == pytest.approx(excess)


def test_constants_that_change_are_found_and_single_values_are_not():
    none = _arrays(0.0, 0.0)
    assert tests.means_differ(_arrays(9, 9), _arrays(1.0, 2.0), none, (-0.5, 0.5)).p[0] == 0.0
    assert tests.means_differ(_arrays(9, 9), _arrays(1.0, 1.0), none, (0.0, 0.0)).p[0] == 1.0
    assert tests.means_differ(_arrays(9, 1), _arrays(1.0, 2.0), none, (0.0, 0.0)).p[0] == 1.0
    assert tests.shares_differ(_arrays(0, 0), _arrays(0, 5), (0.0, 0.0)).p[0] == 1.0


def test_holms_procedure_adjusts_all_families_together():
    first, second = tests.holm(np.array([0.01, np.nan]), np.array([[0.02], [0.3]]))
    assert first.tolist() == pytest.approx([0.04, 1.0])
    assert second.ravel().tolist() == pytest.approx([0.06, 0.6])


def test_distance_of_distributions_is_that_of_the_samples_to_within_a_step():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=3000), 0.4 + 1.3 * rng.normal(size=2000)
    levels = np.linspace(0.0, 1.0, 129)
    found = tests.ks_distance(np.quantile(first, levels), np.quantile(second, levels))
    true = stats.ks_2samp(first, second)
    assert true.statistic - 3 / 129 <= found <= true.statistic
    assert tests.ks_p_value(true.statistic, 3000, 2000) == pytest.approx(true.pvalue, rel=0.2)


def _arrays(one, other):
    return np.array([one], dtype=float), np.array([other], dtype=float)
