"""Calls that random attacks found to fail, each in its smallest form."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from allegiance import AffinityScorer, affinity, trust
from allegiance.geometry import sample_polytope
from allegiance.influence import KL, Kernel, Logistic
from allegiance.influence._bregman_diagram import norms

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
LABELS = np.arange(20) % 3


@pytest.mark.parametrize("weights", ["density", [1e308, 1e308, 1e308]])
@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_weights_that_cannot_be_measured_in_units_of_x_are_refused(weights, size):
    """Once: affinities without meaning, after a warning of NumPy's."""
    with pytest.raises(ValueError, match="weights, or squared distances of X, are beyond the numbers there are"):
        affinity(X * size, LABELS, weights=weights, influence="euclidean")


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_trust_does_not_depend_on_the_size_of_the_data(size):
    """Once: squares overflowed in k-means and in the spread of clusters."""
    power = 2.0 ** round(np.log2(size))
    expected = trust(X, LABELS, influence="euclidean", n_resamples=3).trust
    np.testing.assert_allclose(trust(X * power, LABELS, influence="euclidean", n_resamples=3).trust, expected)


def test_points_far_from_a_single_place_have_a_finite_distance_from_it():
    """Once: infinite, since no coordinate was there to be too far."""
    scorer = AffinityScorer(influence="euclidean").fit(np.ones((5, 2)), np.zeros(5, dtype=int))
    residual = scorer.affinity([[1e200, 1e200], [2.0, 1.0]]).residual
    np.testing.assert_allclose(residual, [np.sqrt(2) * 1e200, 1.0])


def test_equal_points_can_be_calibrated_under_a_kernel():
    """Once: "Found array with 0 feature(s)", of a matrix the user never saw."""
    result = trust(np.zeros((9, 3)), np.arange(9) % 4, influence="laplacian", n_resamples=2)
    assert ((result.trust >= 0) & (result.trust <= 1)).all()


def test_tiny_numbers_under_a_divergence_are_divided_by_no_zero():
    """Once: normals of walls whose squares vanish, divided by their length of zero."""
    rows = np.abs(RNG.normal(size=(8, 2))) * 1e-200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = affinity(rows, [0, 1, 2, 3] * 2, influence=Logistic())
    np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0)


def test_a_projection_of_huge_rows_is_not_taken_for_found():
    """Once: the length of a row overflowed, and every error was small beside it."""
    np.testing.assert_allclose(norms(np.array([[3e200, 4e200], [3.0, 4.0]])), [5e200, 5.0])


def test_kernels_over_huge_rows_can_be_saved(tmp_path):
    """Once: squared norms that the kernel does not use were infinite, and the file was refused."""
    with np.errstate(over="ignore"):
        scorer = AffinityScorer(influence="cosine").fit(X * 1e200, LABELS)
        scorer.save(tmp_path / "a.scorer")
        found = AffinityScorer.load(tmp_path / "a.scorer").affinity(X * 1e200).affinity
    np.testing.assert_array_equal(found, scorer.affinity(X * 1e200).affinity)


def test_more_samples_than_any_memory_holds_are_refused_by_name():
    with pytest.raises(ValueError, match="n_samples must be at most"):
        sample_polytope([[1.0], [-1.0]], [1.0, 1.0], 10**30)


@pytest.mark.filterwarnings("error")
def test_rows_beyond_the_arithmetic_of_a_divergence_are_refused_by_name():
    """Once: "c must not contain values inf, nan, or None", from a solver the user never called."""
    scorer = AffinityScorer(influence="itakura-saito").fit(np.abs(X) * 1e-200, LABELS)
    with pytest.raises(ValueError, match="X"):
        scorer.affinity([[1e150, 1e-200, 1.0], [1e160, 1e170, 1.0]])


@pytest.mark.parametrize(
    ("settings", "says"), [({"eps": 1e-300}, "eps must be in"), ({"influence": KL(smoothing=1e300)}, "smoothing of KL")]
)
def test_numbers_that_would_overflow_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        affinity(np.abs(X).astype(np.float32), LABELS, **{"influence": "euclidean"} | settings)


def test_rows_too_large_for_landmarks_are_refused_by_name():
    """Once: "SVD did not converge"."""
    with pytest.raises(ValueError, match="X is too large for a kernel"):
        affinity([[1e200], [-1e200], [3e199]], [0, 1, 2], influence=Kernel("rbf", gamma=1.0, approximation="nystroem"))
