import numpy as np
import pytest

from allegiance.calibration import above_chance, expected_dice
from allegiance.calibration._company import company_kept
from allegiance.calibration._overlap import dice_overlap


def slow_dice(old, new, point):
    a, b = set(np.flatnonzero(old == old[point])), set(np.flatnonzero(new == new[point]))
    return 2 * len(a & b) / (len(a) + len(b))


def test_overlap_by_sets(rng):
    old, new = rng.integers(0, 4, 50), rng.integers(0, 7, 50)
    expected = [slow_dice(old, new, point) for point in range(50)]
    np.testing.assert_allclose(dice_overlap(old, new)[old, new], expected, rtol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_chance_is_one_kth_for_equal_clusters(k):
    assert expected_dice(np.full(k, 1 / k), np.full(k, 1 / k)) == pytest.approx(1 / k)


def test_chance_is_the_overlap_of_shuffled_labels(rng):
    # 200 shuffles of 2,000 points: the error of the mean is about 1e-4, the bias of order 1/n; 2e-3 is never reached.
    old, new = rng.choice(3, 2000, p=[0.6, 0.3, 0.1]), rng.choice(5, 2000, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    p, q = np.bincount(old) / 2000, np.bincount(new) / 2000
    shuffles = [rng.permutation(new) for _ in range(200)]
    seen = np.mean([dice_overlap(old, mixed)[old, mixed].mean() for mixed in shuffles])
    assert expected_dice(p, q) == pytest.approx(seen, abs=2e-3)
    assert expected_dice(p, q) == pytest.approx(expected_dice(q, p))


def test_empty_clusters_do_not_matter():
    assert expected_dice(np.array([0.5, 0.0, 0.5]), np.array([0.0, 1.0])) == expected_dice(
        np.array([0.5, 0.5]), np.array([1.0])
    )


def test_above_chance():
    assert above_chance(1.0, 0.25) == 1.0
    assert above_chance(0.25, 0.25) == 0.0
    assert above_chance(1.0, 1.0) == 0.0


def test_company_leaves_out_the_half_and_new_noise(rng):
    codes = rng.integers(0, 3, 40)
    new = rng.integers(-1, 4, (5, 40))
    inside = rng.uniform(size=(5, 40)) < 0.5
    company = company_kept(codes, new, inside)
    for resample in range(5):
        placed = np.flatnonzero(new[resample] >= 0)
        for point in range(40):
            left_out = point in placed and not inside[resample, point]
            assert company.seen[resample, point] == left_out
            position = np.searchsorted(placed, point)
            expected = slow_dice(codes[placed], new[resample, placed], position) if left_out else 0.0
            assert company.kept[resample, point] == pytest.approx(expected)
