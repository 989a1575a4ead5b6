import numpy as np
import pytest

from allegiance.report import _shown
from allegiance.report._quantity import quantity_of
from allegiance.report._shown import Part


def choose_points(result):
    return _shown.choose_points(result, quantity_of(result).values)


@pytest.fixture
def small_page(monkeypatch):
    monkeypatch.setattr(_shown, "MAX_DOUBTFUL", 50)
    monkeypatch.setattr(_shown, "MAX_SUPPORTED", 20)
    monkeypatch.setattr(_shown, "MAX_NOISE", 10)


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_small_result_is_shown_whole(random_result, calibrated):
    shown = choose_points(random_result(200, 4, calibrated=calibrated))
    assert sorted(shown.rows) == list(range(200))
    assert shown.is_complete


@pytest.mark.usefixtures("small_page")
@pytest.mark.parametrize("calibrated", [False, True])
def test_doubtful_labels_are_kept_and_others_sampled(random_result, rng, calibrated):
    result = random_result(500, 4, 1.0, label=rng.integers(-1, 4, 500), calibrated=calibrated)
    doubtful = np.isin(result.verdict, ["contested", "contradicted"])
    supported = result.verdict == "supported"
    shown = choose_points(result)
    assert shown.doubtful == Part(50, doubtful.sum())
    assert shown.supported == Part(20, supported.sum())
    assert shown.noise == Part(10, result.noise.sum())
    assert min(shown.doubtful.of - 50, shown.supported.of - 20, shown.noise.of - 10) > 0
    assert not shown.is_complete
    least = np.flatnonzero(doubtful)[np.argsort(result.ranking[doubtful], kind="stable")[:50]]
    assert set(shown.rows[doubtful[shown.rows]]) == set(least)
    assert np.unique(shown.rows).size == 80


@pytest.mark.usefixtures("small_page")
def test_noise_comes_first_and_the_least_trusted_last(random_result, rng):
    result = random_result(300, 4, 1.0, label=rng.integers(-1, 4, 300))
    rows = choose_points(result).rows
    assert result.noise[rows].tolist() == [True] * 10 + [False] * 70
    assert (np.diff(result.trust[rows[10:]]) <= 0).all()


@pytest.mark.usefixtures("small_page")
def test_the_sample_depends_on_the_seed_only(random_result):
    result = random_result(500, 4, 0.2)
    again, other = choose_points(result), choose_points(random_result(500, 4, 0.2, seed=8))
    assert choose_points(result).rows.tolist() == again.rows.tolist()
    assert set(other.rows) != set(again.rows)


@pytest.mark.usefixtures("small_page")
def test_supported_labels_are_drawn_evenly(make_result):
    n = 4_000
    result = make_result(np.column_stack([np.linspace(0.6, 0.9, n), np.linspace(0.4, 0.1, n)]))
    drawn = np.concatenate([choose_points(make_result(result.affinity, seed=seed)).rows for seed in range(200)])
    # 4,000 draws from 0 .. n - 1: the standard error of their mean is n / sqrt(12 * 4000). False alarm rate: 6e-5.
    assert abs(drawn.mean() - n / 2) < 4 * n / np.sqrt(12 * drawn.size)
