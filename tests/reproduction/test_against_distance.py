"""Affinity against distance: geometry by hand, votes by hand, and the finding of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from reproduction import against_distance
from reproduction.against_distance import affinity_against_distance


@pytest.fixture(scope="module")
def default():
    return affinity_against_distance()


class TestTheFigure:
    def test_the_point_is_equally_far_from_two_centres_and_nearer_to_the_first(self, default):
        distance = default.distance
        assert distance[1] == distance[2]
        assert distance[0] < distance[1] < distance[3]

    def test_distance_cannot_tell_the_two_apart_and_affinity_can(self, default):
        assert default.distance_share[1] == default.distance_share[2]
        assert default.affinity[1] > 1.5 * default.affinity[2]

    def test_the_fourth_centre_takes_influence_from_the_third(self, default):
        without = affinity_against_distance(default.centers[:3], n_runs=1)
        assert without.affinity[1] == pytest.approx(without.affinity[2], abs=1e-9)
        # In the whole space the point would not be inside the triangle of the other three, so compare shares.
        assert default.affinity[2] / default.affinity[1] < without.affinity[2] / without.affinity[1]

    def test_k_means_gives_the_point_to_the_second_more_often_than_to_the_third(self):
        runs = np.array([affinity_against_distance(random_state=seed).runs for seed in range(5)])
        assert (runs.sum(axis=1) == 100).all()
        assert (runs[:, 1] >= runs[:, 2]).all()
        assert runs[:, 1].sum() > runs[:, 2].sum()

    def test_affinity_by_a_grid(self, default):
        axis = np.linspace(-4, 4, 801)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        far = cdist(grid, default.centers)
        stolen = np.linalg.norm(grid - default.query, axis=1) <= far.min(axis=1)
        shares = np.bincount(far[stolen].argmin(axis=1), minlength=4) / stolen.sum()
        np.testing.assert_allclose(default.affinity, shares, atol=5e-3)

    def test_data_is_what_it_says(self, default):
        assert default.X.shape == (201, 2)
        np.testing.assert_array_equal(default.X[-1], default.query)
        np.testing.assert_array_equal(default.origin, [*np.repeat(np.arange(4), 50), -1])
        residual = default.X[:-1] - default.centers[default.origin[:-1]]
        assert residual.std() == pytest.approx(0.7, abs=0.08)


class TestMeasures:
    def test_on_a_line_affinity_is_the_share_by_distance(self):
        result = affinity_against_distance([[0.0], [10.0]], [3.0], n_runs=2)
        np.testing.assert_allclose(result.affinity, [0.7, 0.3], atol=1e-12)
        np.testing.assert_allclose(result.distance_share, [0.7, 0.3], atol=1e-12)

    def test_at_a_centre_both_are_certain(self):
        result = affinity_against_distance([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], [4.0, 0.0], n_runs=2)
        np.testing.assert_array_equal(result.distance_share, [0, 1, 0])
        np.testing.assert_allclose(result.affinity, [0, 1, 0], atol=1e-9)

    def test_shares_sum_to_one(self, default):
        assert default.affinity.sum() == pytest.approx(1)
        assert default.distance_share.sum() == pytest.approx(1)

    def test_seeds(self):
        first, again = affinity_against_distance(n_runs=5), affinity_against_distance(n_runs=5)
        np.testing.assert_array_equal(first.assigned, again.assigned)
        np.testing.assert_array_equal(first.X, again.X)
        assert (affinity_against_distance(n_runs=1, random_state=1).X[:-1] != first.X[:-1]).all()

    def test_more_runs_begin_with_the_same(self):
        few, more = affinity_against_distance(n_runs=5), affinity_against_distance(n_runs=9)
        np.testing.assert_array_equal(more.assigned[:5], few.assigned)


class TestVotes:
    """Where the point went is read off its companions: a stand-in for k-means tells exactly what to read."""

    SITES = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0]])
    ORIGIN = np.array([0, 0, 1, 1, 2, 2, -1])

    def given_to(self, monkeypatch, labels, mean):
        class Run:
            def __init__(self, n_clusters, **settings):
                assert settings["init"] == "random"
                assert settings["n_init"] == 1

            def fit(self, X):
                self.labels_ = np.array(labels)
                self.cluster_centers_ = np.full((3, 2), 99.0)
                self.cluster_centers_[labels[-1]] = mean
                return self

        monkeypatch.setattr(against_distance, "KMeans", Run)
        return against_distance._given_to(np.zeros((7, 2)), self.ORIGIN, self.SITES, 0)

    def test_most_companions_decide_wherever_the_mean_is(self, monkeypatch):
        assert self.given_to(monkeypatch, [0, 0, 1, 1, 1, 2, 1], [0.0, 0.0]) == 1

    def test_a_tie_goes_to_the_nearer_of_those_that_tie(self, monkeypatch):
        # A merger of the outer two has its mean nearest to the centre between them, which has no vote.
        assert self.given_to(monkeypatch, [0, 0, 1, 2, 0, 0, 0], [9.0, 0.0]) == 0
        assert self.given_to(monkeypatch, [0, 0, 1, 2, 0, 0, 0], [11.0, 0.0]) == 2

    def test_alone_it_goes_to_the_nearest(self, monkeypatch):
        assert self.given_to(monkeypatch, [0, 0, 0, 0, 1, 1, 2], [12.0, 0.0]) == 1

    def test_separate_clusters_always_keep_the_point(self):
        centers = [[0.0, 0.0], [50.0, 0.0]]
        result = affinity_against_distance(centers, [10.0, 0.0], spread=0.1, n_runs=20)
        np.testing.assert_array_equal(result.runs, [20, 0])


def test_equal_centres_are_refused():
    with pytest.raises(ValueError, match="centers"):
        affinity_against_distance([[0.0, 0.0], [0.0, 0.0]])
