"""Which plane is drawn, and errors that say how to choose one."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from allegiance import AffinityScorer
from allegiance.displays._plane import choose_plane


def test_two_features_are_the_plane(scorer, blobs):
    plane = choose_plane(scorer, blobs[0], None, None, None)
    np.testing.assert_array_equal(plane.project(blobs[0]), blobs[0])
    assert plane.whole
    assert plane.note == ""


def test_slice_holds_the_other_features_at_the_mean_or_a_point(scorer_4d):
    X, scorer = scorer_4d
    lifted = choose_plane(scorer, X, (3, 1), None, None).lift(np.array([[5.0, 7.0]]))[0]
    np.testing.assert_allclose(lifted, [X[:, 0].mean(), 7.0, X[:, 2].mean(), 5.0])
    lifted = choose_plane(scorer, X, (0, 2), None, [1.0, 2.0, 3.0, 4.0]).lift(np.array([[5.0, 7.0]]))[0]
    np.testing.assert_allclose(lifted, [5.0, 2.0, 7.0, 4.0])


def test_principal_plane_goes_through_the_mean_along_principal_axes(scorer_4d):
    X, scorer = scorer_4d
    plane = choose_plane(scorer, X, None, None, None)
    np.testing.assert_allclose(plane.project(X), PCA(2).fit_transform(X), atol=1e-10)
    np.testing.assert_allclose(plane.lift(np.zeros((1, 2)))[0], X.mean(axis=0))
    sparse = choose_plane(scorer, sp.csr_matrix(X), None, None, None)
    np.testing.assert_allclose(np.abs(sparse.project(sp.csr_matrix(X))), np.abs(plane.project(X)), atol=1e-8)


def test_features_by_name():
    X = load_iris(as_frame=True).data
    scorer = AffinityScorer(random_state=0).fit(X, load_iris().target)
    plane = choose_plane(scorer, X.to_numpy(), ("petal width (cm)", 0), None, None)
    assert plane.names == ("petal width (cm)", "sepal length (cm)")
    np.testing.assert_array_equal(plane.axes, np.eye(4)[[3, 0]])


@pytest.mark.parametrize("features", [(0,), (0, 0), (0, 4), (-1, 0), ("x", 1), 3, "ab", (0, 1, 2), (True, 0)])
def test_features_must_be_two_of_them(scorer_4d, features):
    X, scorer = scorer_4d
    with pytest.raises(ValueError, match="features must be two different features"):
        choose_plane(scorer, X, features, None, None)


def test_other_mistakes(scorer_4d):
    X, scorer = scorer_4d
    with pytest.raises(ValueError, match="exclude each other"):
        choose_plane(scorer, X, (0, 1), "pca", None)
    with pytest.raises(ValueError, match="at must be one point of 4"):
        choose_plane(scorer, X, (0, 1), None, [1.0, 2.0])
    with pytest.raises(ValueError, match="projection must be one of"):
        choose_plane(scorer, X, None, "tsne", None)
    with pytest.raises(ValueError, match="at least two rows"):
        choose_plane(scorer, X[:1], None, None, None)


def test_two_rows_are_enough_for_a_plane(scorer_4d):
    X, scorer = scorer_4d
    plane = choose_plane(scorer, X[:2], None, None, None)
    np.testing.assert_allclose(plane.axes @ plane.axes.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.ptp(plane.project(X[:2])[:, 0]), np.linalg.norm(X[0] - X[1]))
