import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, load_wine, make_circles, make_moons

from allegiance.calibration import Calibration, calibrate
from calibration.scenes import blobs, evidence


def reason(points, codes, **settings):
    known, _ = evidence(points, codes)
    mapping = calibrate(Calibration(**settings), known, int(codes.max()) + 1, 0, rows=points)
    return mapping.reason


@pytest.mark.parametrize("n", [100, 1000])
def test_curved_clusters_are_blamed_on_the_stand_in(n):
    for points, codes in (
        make_moons(n, noise=0.05, random_state=0),
        make_circles(n, factor=0.5, noise=0.05, random_state=0),
    ):
        assert "pass clusterer=, the clusterer that made them" in reason(points, codes)


def test_nothing_is_blamed_if_the_right_clusterer_is_given():
    points, codes = make_moons(400, noise=0.05, random_state=0)
    assert reason(points, codes, clusterer=AgglomerativeClustering(2, linkage="single")) is None


def test_a_clusterer_that_did_not_make_the_labels_is_named():
    points, codes = make_moons(400, noise=0.05, random_state=0)
    assert reason(points, codes, clusterer=KMeans(2, n_init=3)).startswith("clusterer=KMeans(")


@pytest.mark.parametrize("k", [2, 3, 10])
def test_shuffled_labels_are_called_unrelated(rng, k):
    points, codes = blobs(rng, n=60 * k, k=k, apart=10.0)
    assert "unrelated" in reason(points, rng.permutation(codes))


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_usual_clusterings_of_real_tables_pass(load):
    points = load().data
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    for k in (2, 3, 4):
        for clusterer in (KMeans(k, n_init=5, random_state=0), AgglomerativeClustering(k)):
            assert reason(points, clusterer.fit_predict(points)) is None


def test_one_cluster_has_nothing_to_explain(rng):
    points = rng.normal(size=(60, 2))
    assert reason(points, np.zeros(60, dtype=int)) is None
    assert reason(points, np.zeros(60, dtype=int), clusterer=KMeans(3, n_init=1)) is None
