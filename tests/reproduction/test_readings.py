"""Readings of the text, where they can be known: on points for which two readings must agree."""

from __future__ import annotations

import numpy as np
import pytest

from allegiance import affinity
from allegiance.domains import Polytope
from reproduction.datasets import DataSet
from reproduction.experiments._clustered import Clustered, cluster
from reproduction.experiments._readings import READINGS, in_the_hull, uncentered
from reproduction.experiments.reduction import _small_example


def case_of(X, centers):
    n = len(X)
    return Clustered(X, np.zeros(n, np.intp), centers, np.zeros(n, bool), np.arange(n), 0)


def test_points_in_the_hull_stay(rng):
    centers = rng.normal(size=(4, 6))
    weights = rng.dirichlet(np.ones(4), 20)
    np.testing.assert_allclose(in_the_hull(case_of(weights @ centers, centers)), weights, atol=1e-5)


def test_points_beyond_a_centre_go_to_it():
    centers = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    shares = in_the_hull(case_of(np.array([[-3.0, -3.0], [9.0, 0.0]]), centers))
    np.testing.assert_allclose(shares, [[1, 0, 0], [0, 1, 0]], atol=1e-5)


def test_without_centring_two_centres_span_a_plane(rng):
    """Centres next to each other above the origin: centred they span a line, as vectors the plane, axes unturned."""
    centers = np.array([[-1.0, 5.0], [1.0, 5.0]])
    X = rng.normal(size=(30, 2)) * [3.0, 2.0] + [0.0, 5.0]
    extent = np.ptp(X, axis=0)
    plane = Polytope.box(X.min(axis=0) - 0.1 * extent, X.max(axis=0) + 0.1 * extent)
    expected = affinity(X, centers=centers, domain=plane, random_state=0, influence="euclidean").affinity
    np.testing.assert_allclose(uncentered(case_of(X, centers)), expected, atol=1e-9)


def test_the_small_example_of_the_reduction():
    projected, true = _small_example()
    assert projected == pytest.approx(0.75)
    assert true == pytest.approx(0.630, abs=5e-4)


def test_every_reading_gives_shares():
    rng = np.random.default_rng(0)
    reference = np.repeat(np.arange(3), 20)
    data = DataSet("made up", rng.normal(size=(60, 5)) + 3 * np.eye(5)[reference], reference)
    case = cluster(data, 0, most_rows=25)
    assert case.rows.size == 25
    for name, reading in READINGS.items():
        shares = reading(case)
        assert shares.shape == (25, 3), name
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-9, err_msg=name)
