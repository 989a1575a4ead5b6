import numpy as np
import pytest

from allegiance.report import _shown
from allegiance.report._quantity import quantity_of
from allegiance.report._shown import Part


def choose_points(result, typical=()):
    return _shown.choose_points(result, quantity_of(result).values, np.array(typical, dtype=int))


@pytest.fixture
def small_page(monkeypatch):
    for name, limit in (("POINTS", 200), ("LISTED", 30), ("DOUBTFUL", 20), ("SUPPORTED", 20), ("NOISE", 10)):
        monkeypatch.setattr(_shown, f"MAX_{name}", limit)


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_small_result_is_shown_whole(random_result, calibrated):
    shown = choose_points(random_result(200, 4, calibrated=calibrated))
    assert sorted(shown.rows) == list(range(200))
    assert shown.is_complete


@pytest.mark.usefixtures("small_page")
@pytest.mark.parametrize("calibrated", [False, True])
def test_labels_to_review_are_kept_and_others_sampled(random_result, rng, calibrated):
    result = random_result(500, 4, 1.0, label=rng.integers(-1, 4, 500), calibrated=calibrated)
    doubtful = np.isin(result.verdict, ["contested", "contradicted"])
    supported = result.verdict == "supported"
    typical = np.flatnonzero(supported)[:5]
    shown = choose_points(result, typical)
    assert shown.doubtful == Part(50, doubtful.sum())
    assert shown.supported == Part(25, supported.sum())
    assert shown.noise == Part(10, result.noise.sum())
    assert not shown.is_complete
    least = np.flatnonzero(doubtful)[np.argsort(result.ranking[doubtful], kind="stable")[:30]]
    assert set(shown.rows[shown.kind == 0]) == {*least, *typical}
    assert np.unique(shown.rows).size == 85


@pytest.mark.usefixtures("small_page")
def test_points_on_the_page_stand_for_all(random_result, rng):
    result = random_result(500, 4, 1.0, label=rng.integers(-1, 4, 500))
    shown = choose_points(result, [3, 4])
    weight = np.array(shown.weights)[shown.kind]
    for verdicts in (["contested", "contradicted"], ["supported"], ["noise"]):
        members = np.isin(result.verdict, verdicts)
        assert weight[members[shown.rows]].sum() == pytest.approx(members.sum())


@pytest.mark.usefixtures("small_page")
def test_no_level_of_trust_is_missing_from_a_sample(random_result, rng, monkeypatch):
    monkeypatch.setattr(_shown, "MAX_DOUBTFUL", 400)
    result = random_result(5_000, 4, 20.0, label=rng.integers(4, size=5_000))
    doubtful = np.isin(result.verdict, ["contested", "contradicted"])
    shown = choose_points(result)
    kept = shown.rows[doubtful[shown.rows]]
    edges = np.quantile(result.trust[doubtful], np.linspace(0, 1, 9))
    # Each eighth of 3,700 labels has 46 of 400 draws on average: fewer than 15 has a chance below 1e-6.
    assert np.histogram(result.trust[kept], edges)[0].min() > 15


def test_typical_members_are_those_that_lie_closest(random_result, rng):
    result = random_result(300, 4, label=rng.integers(-1, 4, 300))
    for cluster, rows in enumerate(_shown.typical_members(result, result.trust)):
        members = np.flatnonzero(result.codes == cluster)
        expected = members[np.argsort(-result.typicality[members], kind="stable")][: _shown.TYPICAL]
        assert rows.tolist() == expected.tolist()


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
