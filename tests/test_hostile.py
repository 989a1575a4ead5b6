"""Inputs that break careless arithmetic: rows still sum to 1, nothing is NaN, and scale and place do not matter."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from allegiance import AffinityResult, AffinityScorer
from allegiance.engines import ENGINES
from scenes import euclidean

Scorer = partial(AffinityScorer, influence="euclidean")

pytestmark = pytest.mark.filterwarnings("ignore::allegiance.PrecisionWarning")

#: Every domain with the engines that measure in it; all but the first only in the slow run.
MEASURES = {"box": ("auto", "shared", "hit-and-run"), "ball": ("auto", "hit-and-run"), "space": ("auto", "hit-and-run")}
each_measure = pytest.mark.parametrize(
    ("domain", "engine"),
    [
        pytest.param(domain, engine, marks=[] if (domain, engine) == ("box", "auto") else pytest.mark.slow)
        for domain, engines in MEASURES.items()
        for engine in engines
    ],
)


class Hostile(NamedTuple):
    """A clustering, and more points to score."""

    X: Any
    labels: Any = None
    centers: Any = None
    queries: Any = None


def cloud(n: int = 24, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def turns(n: int, k: int) -> np.ndarray:
    """Return labels 0, 1, .., k - 1, 0, 1, .. of n points."""
    return np.arange(n) % k


def with_an_outlier() -> np.ndarray:
    X = cloud(d=2)
    X[5] = [1e8, -1e8]
    return X


OCTAGON = [[np.cos(angle), np.sin(angle)] for angle in np.arange(8) * np.pi / 4]
FAR = np.array([[1e69, 0, 0], [-1e69, 1e69, 1e-300], [0, 0, 1e50], [1e9, 1e60, 1.0]])

SCENES: dict[str, Callable[[], Hostile]] = {
    "constant columns": lambda: Hostile(cloud(d=5) * [1, 0, 1, 0, 1] + [0, 7, 0, 0, 0], turns(24, 3)),
    "all columns constant but one": lambda: Hostile(cloud() * [0, 1, 0] + 5.0, turns(24, 3)),
    "centres that differ in one column": lambda: Hostile(cloud(), centers=[[0, 0, 0], [0, 1, 0], [0, 3, 0]]),
    "all points equal": lambda: Hostile(np.full((24, 3), 2.5), turns(24, 3), queries=cloud()),
    "all points zero": lambda: Hostile(np.zeros((24, 3)), turns(24, 2), queries=cloud()),
    "zero sparse matrix": lambda: Hostile(sp.csr_array((24, 3)), turns(24, 2)),
    "every point three times": lambda: Hostile(np.repeat(cloud(8), 3, axis=0), np.repeat(turns(8, 3), 3)),
    "centres twice": lambda: Hostile(cloud(), centers=np.repeat(cloud(4, seed=1), 2, axis=0)),
    "all centres equal": lambda: Hostile(cloud(), centers=np.ones((4, 3))),
    "centres 1e-12 apart": lambda: Hostile(cloud(), centers=[[0, 0, 0], [1e-12, 0, 0], [1, 1, 1], [1, 1, 1 + 1e-12]]),
    "centres one rounding apart": lambda: Hostile(cloud(d=2), centers=[[1, 1], [1 + 2**-52, 1], [2, 0]]),
    "centres on a line": lambda: Hostile(cloud(d=2), centers=[[0, 0], [1, 1], [2, 2], [3, 3], [7, 7]]),
    "centres on a circle": lambda: Hostile(cloud(d=2), centers=OCTAGON, queries=np.zeros((1, 2))),
    "centres on a grid": lambda: Hostile(
        cloud(d=2), centers=[[i, j] for i in range(4) for j in range(4)], queries=[[0.5, 0.5], [1, 0.5], [1.5, 1.5]]
    ),
    "one cluster": lambda: Hostile(cloud(), turns(24, 1)),
    "two clusters": lambda: Hostile(cloud(), turns(24, 2)),
    "every point a cluster": lambda: Hostile(cloud(), np.arange(24)),
    "more clusters than dimensions": lambda: Hostile(cloud(60, 2), turns(60, 12)),
    "one dimension, many clusters": lambda: Hostile(cloud(60, 1), turns(60, 20)),
    "one point": lambda: Hostile(cloud(1), [4], queries=cloud(seed=2)),
    "two points": lambda: Hostile(cloud(2), [0, 1], queries=cloud(seed=2)),
    "one query": lambda: Hostile(cloud(), turns(24, 3), queries=cloud(1, seed=2)),
    "size 1e69": lambda: Hostile(cloud() * 1e69, turns(24, 4)),
    "size 1e-69": lambda: Hostile(cloud() * 1e-69, turns(24, 4)),
    "sizes 1e60 and 1e-60": lambda: Hostile(cloud(d=2) * [1e60, 1e-60], turns(24, 3)),
    "subnormal float32": lambda: Hostile((cloud() * 1e-40).astype(np.float32), turns(24, 4)),
    "largest float32": lambda: Hostile(cloud(d=2).astype(np.float32) * np.float32(1e38), turns(24, 4)),
    "sizes 1e6 and 1e-6": lambda: Hostile(cloud(d=2) * [1e6, 1e-6], turns(24, 4)),
    "sizes from 1e-4 to 1e6": lambda: Hostile(cloud(8, 6) * [1e-4, 1e-2, 1, 1e2, 1e4, 1e6], turns(8, 7)),
    "offset 1e9": lambda: Hostile(cloud() + 1e9, turns(24, 4)),
    "offset 1e15": lambda: Hostile(cloud() * 10 + 1e15, turns(24, 4)),
    "offset beyond resolution": lambda: Hostile(cloud() + 1e18, turns(24, 4)),
    "784 dimensions": lambda: Hostile(cloud(20, 784), turns(20, 10)),
    "784 dimensions, few points": lambda: Hostile(cloud(6, 784), turns(6, 5), queries=cloud(5, 784, seed=2)),
    "queries at the largest size": lambda: Hostile(cloud(), turns(24, 4), queries=FAR),
    "queries at the largest size, reduced": lambda: Hostile(cloud(), turns(24, 3), queries=FAR),
    "queries at the largest size, sparse": lambda: Hostile(cloud(), turns(24, 3), queries=sp.csr_array(FAR)),
    "an outlier in a cluster": lambda: Hostile(with_an_outlier(), turns(24, 3)),
    "an outlier by itself": lambda: Hostile(with_an_outlier(), np.where(np.arange(24) == 5, 9, turns(24, 3))),
    "noise at the largest size": lambda: Hostile(np.vstack([cloud(), FAR[:1]]), [*turns(24, 4), -1]),
    "an outlier as noise": lambda: Hostile(with_an_outlier(), np.where(np.arange(24) == 5, -1, turns(24, 3))),
}


def assert_sane(result: AffinityResult) -> None:
    """Check all that must hold whatever the input."""
    assert not np.isnan(result.affinity).any()
    assert (result.affinity >= 0).all()
    np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    details = result.frame(details=True)
    for name in ("residual", "own_affinity", "closeness"):
        values = details[name].to_numpy()
        assert np.isfinite(values).all(), name
        assert (values >= 0).all(), name
    assert ((result.standard_error >= 0) & (result.standard_error <= 1)).all()
    assert (details["closeness"] <= 1).all()
    labeled = result.label != -1
    assert ((result.typicality[labeled] > 0) & (result.typicality[labeled] <= 1)).all()
    assert np.isnan(result.typicality[~labeled]).all()
    assert np.isin(details["owner"], result.classes).all()
    assert str(result)


def scored(hostile: Hostile, engine: str, **settings: Any) -> list[AffinityResult]:
    """Score the points of the fit, then the centres, then the queries."""
    limited = ENGINES[engine](max_samples=20_000)
    settings = {"eps": 0.25, "engine": limited, **settings}
    scorer = Scorer(centers=hostile.centers, **settings)
    results = [scorer.fit_affinity(hostile.X, hostile.labels), scorer.affinity(scorer.cluster_centers_)]
    if hostile.queries is not None:
        results.append(scorer.affinity(hostile.queries))
    return results


@each_measure
@pytest.mark.parametrize("name", SCENES)
def test_rows_sum_to_one_and_nothing_is_nan(name, domain, engine):
    for result in scored(SCENES[name](), domain=domain, engine=engine):
        assert_sane(result)


@each_measure
@pytest.mark.parametrize(
    "name",
    [
        "two clusters",
        "every point a cluster",
        "more clusters than dimensions",
        "centres on a circle",
        "784 dimensions",
        "offset 1e9",
    ],
)
def test_a_point_at_a_centre_belongs_to_it_alone(name, domain, engine):
    hostile = SCENES[name]()
    scorer = Scorer(centers=hostile.centers, domain=domain, engine=engine).fit(hostile.X, hostile.labels)
    at_centres = scorer.affinity(scorer.cluster_centers_)
    np.testing.assert_array_equal(at_centres.affinity, np.eye(at_centres.classes.size))
    assert (at_centres.standard_error == 0).all()


@each_measure
def test_equal_centres_share_equally(domain, engine):
    centers = cloud(4, seed=1)
    settings = {"domain": domain, "engine": engine, "eps": 0.1}
    once = Scorer(centers=centers, **settings).fit(cloud()).affinity(cloud())
    twice = Scorer(centers=np.concatenate([centers, centers[:1]]), **settings).fit(cloud()).affinity(cloud())
    np.testing.assert_array_equal(twice.affinity[:, 0], twice.affinity[:, 4])
    joined = np.column_stack([twice.affinity[:, 0] + twice.affinity[:, 4], twice.affinity[:, 1:4]])
    # The walls of a ball and the axes of the reduced space follow the mean of the centres, which moves.
    tolerance = {"box": 1e-9, "ball": 0.2, "space": 1e-9}[domain] if engine == "auto" else 0.2
    np.testing.assert_allclose(joined, once.affinity, atol=tolerance)


@each_measure
def test_copies_of_all_points_change_nothing(domain, engine):
    X, labels = cloud(24, 2), turns(24, 4)
    centers = np.array([X[labels == i].mean(axis=0) for i in range(4)])
    settings = {"centers": centers, "domain": domain, "engine": engine, "eps": 0.1}
    once = euclidean(X, labels, **settings)
    thrice = euclidean(np.repeat(X, 3, axis=0), np.repeat(labels, 3), **settings)
    np.testing.assert_array_equal(thrice.affinity, np.repeat(once.affinity, 3, axis=0))


@each_measure
@pytest.mark.parametrize("d", [3, 6], ids=["own axes", "reduced"])
@pytest.mark.parametrize("power", [-220, -40, 40, 220])
def test_rescaling_by_a_power_of_two_changes_no_bit(d, power, domain, engine):
    X, labels = cloud(24, d), turns(24, 4)
    settings = {"domain": domain, "engine": engine, "eps": 0.25}
    plain = euclidean(X, labels, **settings)
    scaled = euclidean(X * 2.0**power, labels, **settings)
    residual, expected = (result.frame(details=True)["residual"] for result in (scaled, plain))
    np.testing.assert_allclose(residual, expected * 2.0**power, rtol=1e-13)
    for name in ("affinity", "standard_error", "typicality"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(plain, name), err_msg=name)


@pytest.mark.parametrize("domain", ["box", "ball", "space"])
@pytest.mark.parametrize("d", [2, 5], ids=["own axes", "reduced"])
@pytest.mark.parametrize(("offset", "tolerance"), [(1e3, 1e-10), (1e6, 1e-7), (1e9, 1e-4)])
def test_an_offset_changes_no_more_than_its_rounding(d, offset, tolerance, domain):
    # On a lattice that the offset does not round, so that only our own arithmetic is on trial.
    X = np.round(cloud(24, d) * 2**10) / 2**10
    labels = turns(24, 3)
    plain, moved = (euclidean(rows, labels, domain=domain, eps=0.1) for rows in (X, X + offset))
    # Samples in a ball are counted: rounding moves one of them to another cell.
    tolerance = 0.02 if domain == "ball" else tolerance
    np.testing.assert_allclose(moved.affinity, plain.affinity, atol=tolerance)


@pytest.mark.parametrize("size", [1e6, 1e12, 1e40, 1e69])
def test_far_outside_a_box_a_point_belongs_to_the_owner_of_the_corner_it_faces(size):
    X, labels = cloud(40, 2), turns(40, 4)
    scorer = Scorer().fit(X, labels)
    directions = np.array([[1.0, 0.7], [-0.6, 1.0], [-1.0, -0.8], [0.9, -1.0]])
    result = scorer.affinity(directions * size)
    everything = np.concatenate([X, scorer.cluster_centers_])
    low, high = everything.min(axis=0), everything.max(axis=0)
    reach = 0.1 * (high - low)
    corners = np.where(directions > 0, high + reach, low - reach)
    nearest = ((corners[:, None] - scorer.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)
    assert result.frame(details=True)["empty_cell"].all()
    np.testing.assert_allclose(result.affinity, np.eye(4)[nearest], atol=1e-9)


@pytest.mark.parametrize("d", [2, 5], ids=["own axes", "reduced"])
@pytest.mark.parametrize("size", [1e9, 1e40, 1e69])
def test_far_out_in_the_whole_space_only_the_direction_counts(d, size):
    X, labels = cloud(40, d), turns(40, 3)
    scorer = Scorer(domain="space").fit(X, labels)
    away = cloud(10, d, seed=5)
    near = scorer.affinity(scorer.cluster_centers_.mean(axis=0) + away * 1e7)
    np.testing.assert_allclose(scorer.affinity(away * size).affinity, near.affinity, atol=1e-5)


def test_an_outlier_outside_all_clusters_leaves_the_whole_space_alone():
    X = with_an_outlier()
    labels = np.where(np.arange(24) == 5, -1, turns(24, 3))
    others = np.arange(24) != 5
    result = euclidean(X, labels, domain="space")
    without = euclidean(X[others], labels[others], domain="space")
    np.testing.assert_allclose(result.affinity[others], without.affinity, atol=1e-12)
