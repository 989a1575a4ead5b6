import numpy as np
import pytest

from allegiance.report import _shown
from allegiance.report._shown import choose_points


@pytest.fixture
def small_page(monkeypatch):
    monkeypatch.setattr(_shown, "MAX_REVIEW", 50)
    monkeypatch.setattr(_shown, "MAX_STABLE", 20)


def test_a_small_result_is_shown_whole(random_result):
    shown = choose_points(random_result(200, 4))
    assert sorted(shown.rows) == list(range(200))
    assert shown.is_complete


@pytest.mark.usefixtures("small_page")
def test_the_least_confident_are_kept_and_stable_ones_sampled(random_result):
    result = random_result(500, 4, 1.0)
    review = np.flatnonzero(~result.stable)
    shown = choose_points(result)
    assert shown.all_review == review.size > 50
    assert (shown.review, shown.stable, shown.is_complete) == (50, 20, False)
    kept = shown.rows[~result.stable[shown.rows]]
    assert set(kept) == set(result.least_trusted(50))
    assert np.unique(shown.rows).size == 70
    assert (np.diff(result.confidence[shown.rows]) <= 0).all()


@pytest.mark.usefixtures("small_page")
def test_the_sample_depends_on_the_seed_only(random_result):
    result = random_result(500, 4, 0.2)
    again, other = choose_points(result), choose_points(random_result(500, 4, 0.2, seed=8))
    assert choose_points(result).rows.tolist() == again.rows.tolist()
    assert set(other.rows) != set(again.rows)


@pytest.mark.usefixtures("small_page")
def test_stable_points_are_drawn_evenly(make_result):
    n = 4_000
    result = make_result(np.column_stack([np.linspace(0.6, 0.9, n), np.linspace(0.4, 0.1, n)]))
    drawn = np.concatenate([choose_points(make_result(result.affinity, seed=seed)).rows for seed in range(200)])
    # 4,000 draws from 0 .. n - 1: the standard error of their mean is n / sqrt(12 * 4000).
    assert abs(drawn.mean() - n / 2) < 4 * n / np.sqrt(12 * drawn.size)
