"""Affinity against distance: geometry by hand, votes by hand, and the finding of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from reproduction.against_distance import affinity_against_distance


def test_affinity_tells_apart_what_distance_cannot():
    found = affinity_against_distance()
    assert found.distance[1] == found.distance[2]
    assert found.affinity[1] > 1.5 * found.affinity[2]
    axis = np.linspace(-4, 4, 801)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    far = cdist(grid, found.centers)
    stolen = np.linalg.norm(grid - found.query, axis=1) <= far.min(axis=1)
    shares = np.bincount(far[stolen].argmin(axis=1), minlength=4) / stolen.sum()
    np.testing.assert_allclose(found.affinity, shares, atol=5e-3)
    # Without the fourth centre nothing tells the second from the third.
    without = affinity_against_distance(found.centers[:3], n_runs=1)
    assert without.affinity[1] == pytest.approx(without.affinity[2], abs=1e-9)


def test_k_means_gives_the_point_to_the_second_more_often_than_to_the_third():
    runs = np.array([affinity_against_distance(random_state=seed).runs for seed in range(5)])
    assert (runs.sum(axis=1) == 100).all()
    assert runs[:, 1].sum() > runs[:, 2].sum()


def test_on_a_line_affinity_is_the_share_by_distance():
    result = affinity_against_distance([[0.0], [10.0]], [3.0], n_runs=2)
    np.testing.assert_allclose(result.affinity, [0.7, 0.3], atol=1e-12)
    np.testing.assert_allclose(result.distance_share, [0.7, 0.3], atol=1e-12)


def test_seeds_and_runs():
    few, more = affinity_against_distance(n_runs=5), affinity_against_distance(n_runs=9)
    np.testing.assert_array_equal(more.assigned[:5], few.assigned)
    assert (affinity_against_distance(n_runs=1, random_state=1).X[:-1] != few.X[:-1]).all()
    with pytest.raises(ValueError, match="centers"):
        affinity_against_distance([[0.0, 0.0], [0.0, 0.0]])
