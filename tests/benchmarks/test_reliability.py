import numpy as np
import pytest

from quality._reliability import BINS, binned, brier, calibration_error, chance_error, pooled, surplus


def test_bins_hold_every_point_once(rng):
    chance = np.concatenate([rng.random(50), [0.0, 1.0, 0.1, 0.999999]])
    table = binned(chance, rng.random(54) < 0.3, rng.random(54) < 0.5)
    assert table.shape == (BINS, 4)
    assert table[:, 0].sum() == 54
    assert table[:, 1].sum() == pytest.approx(chance.sum())
    low, high = np.arange(BINS) / BINS, (np.arange(BINS) + 1) / BINS
    means = table[:, 1] / np.maximum(table[:, 0], 1)
    assert np.all((table[:, 0] == 0) | ((means >= low) & (means <= high)))


def test_calibration_error_is_the_mean_gap_of_the_bins():
    chance = np.array([0.95, 0.95, 0.95, 0.95, 0.15, 0.15])
    wrong = np.array([False, False, False, True, True, True])
    table = binned(chance, wrong, np.ones(6, bool))
    assert calibration_error(table) == pytest.approx((4 * abs(0.95 - 0.75) + 2 * 0.15) / 6)
    assert calibration_error(table, "matched") == pytest.approx(chance.mean())
    assert surplus(table) == pytest.approx(chance.mean() - 0.5)


def test_a_true_chance_is_calibrated(rng):
    # The error of a true chance is sampling noise: under 0.02 for 20,000 points, by a wide margin.
    chance = rng.random(20_000)
    wrong = rng.random(20_000) > chance
    table = binned(chance, wrong, wrong)
    assert calibration_error(table) < 0.02
    assert calibration_error(binned(chance**3, wrong, wrong)) > 0.2
    assert brier(chance, wrong) == pytest.approx(1 / 6, abs=0.01)


def test_pooled_clusterings_have_the_same_weight():
    one = binned(np.full(10, 0.55), np.zeros(10, bool), np.zeros(10, bool))
    other = binned(np.full(1000, 0.55), np.ones(1000, bool), np.ones(1000, bool))
    assert calibration_error(pooled([one, other])) == pytest.approx(0.05)
    assert calibration_error(one) == pytest.approx(0.45)
    assert calibration_error(other) == pytest.approx(0.55)


def test_a_true_chance_of_few_points_has_an_error(rng):
    # Mean of 400 draws of 300 points: its standard error is under 0.001.
    chance = rng.random(300)
    errors = []
    for _ in range(400):
        wrong = rng.random(300) > chance
        errors.append(calibration_error(binned(chance, wrong, wrong)))
    assert chance_error(binned(chance, wrong, wrong)) == pytest.approx(np.mean(errors), abs=0.004)
