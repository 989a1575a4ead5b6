"""Affinity and distance: geometry by hand, and the finding of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from reproduction.experiments.distance import CENTERS, compare


def test_affinity_prefers_one_of_two_equally_far_centers():
    result = compare(n_runs=1)
    assert result.distance[1] == result.distance[2]
    assert result.affinity[1] > 1.5 * result.affinity[2]
    axis = np.linspace(-4, 4, 801)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    distance = cdist(grid, CENTERS)
    stolen = np.linalg.norm(grid, axis=1) <= distance.min(axis=1)
    shares = np.bincount(distance[stolen].argmin(axis=1), minlength=4) / stolen.sum()
    np.testing.assert_allclose(result.affinity, shares, atol=5e-3)
    # Without the fourth center, the second and third are symmetric.
    without = compare(CENTERS[:3], n_runs=1)
    assert without.affinity[1] == pytest.approx(without.affinity[2], abs=1e-9)


def test_k_means_gives_the_point_to_the_second_more_often_than_to_the_third():
    runs = np.array([compare(n_runs=50, random_state=seed).runs for seed in range(4)])
    assert (runs.sum(axis=1) == 50).all()
    assert runs[:, 1].sum() > runs[:, 2].sum()


def test_on_a_line_affinity_is_the_inverse_distance():
    np.testing.assert_allclose(compare([[-3.0], [7.0]], n_runs=2).affinity, [0.7, 0.3], atol=1e-12)
