"""Shared samples, hit-and-run and rejection against the exact engine, the closed form and each other."""

import numpy as np
import pytest

from allegiance import Polytope, PrecisionWarning, affinity
from allegiance.engines import ENGINE_NAMES, Settings, select_engine
from scenes import make_scene, points_in_hull


def _coverage(result, exact):
    return (np.abs(result.affinity - exact) <= 1.96 * result.standard_error).mean()


@pytest.mark.parametrize("r", [2, 3, 4])
@pytest.mark.parametrize("method", ["shared", "hit-and-run"])
def test_intervals_cover(r, method):
    """At least 93 % of 2,400 nominal 95 % intervals hold the exact value. Pairs of one point and of one sample depend
    on each other, so five seeds are pooled: over 40 pools with other seeds the mean was 96 to 98 % with a standard
    deviation of 1 % and the lowest 93.4 %, so a false alarm has a probability of about 0.1 %."""
    rng = np.random.default_rng(7)
    k = 6
    centers = rng.normal(size=(k, r))
    X = rng.normal(size=(80, r))
    exact = affinity(X, centers=centers, method="exact").affinity
    covered = [_coverage(affinity(X, centers=centers, method=method, random_state=seed), exact) for seed in range(5)]
    assert np.mean(covered) >= 0.93
    assert np.mean(covered) < 1.0, "intervals that always hold are too wide to mean 95 %"


def _long_cells(seed, r):
    """A tiny cluster of sites, up to thirty times as long as wide in some direction, in a wide box, and ten queries."""
    rng = np.random.default_rng([seed, r])
    widths = np.geomspace(1.0, rng.choice([0.3, 0.1, 0.03]), r)
    axes = [np.linalg.qr(rng.normal(size=(r, r)))[0] for _ in range(2)]
    shape = 1e-3 * (axes[0] * widths).T @ axes[1]
    centers = np.vstack([rng.normal(size=(r + 5, r)) @ shape, np.ones((1, r))])
    X = np.vstack([0.5 * rng.normal(size=(10, r)) @ shape, -np.ones((1, r))])
    scene, queries = make_scene(centers, X)
    return scene, queries.take(slice(0, 10))


@pytest.mark.slow
@pytest.mark.parametrize("r", [3, 4])
def test_intervals_of_walks_cover_in_long_cells(r):
    """Where a walk turns more slowly than a batch lasts, its intervals hold the exact share as often as they promise.

    Shares of 0.05 to 0.5 of 400 points in 40 scenes, each with a seed of its own. All points of a scene follow the same
    steps; the standard error of the coverage, from the scatter of the scenes, is 0.009. Over 250 other scenes it was
    0.971 in three dimensions and 0.965 in four, so that a false alarm has a probability of 1e-3. Batches of 8 sweeps
    taken for independent give 0.85.
    """
    covered = []
    for seed in range(40):
        scene, queries = _long_cells(seed, r)
        exact = select_engine(scene, Settings(), "exact").estimate(queries).affinity
        walked = select_engine(scene, Settings(eps=0.1, seed=seed), "hit-and-run").estimate(queries)
        shares = (exact >= 0.05) & (exact <= 0.5)
        error = np.abs(walked.affinity - exact)[shares]
        covered.extend(error <= 1.96 * walked.standard_error[shares])
    assert len(covered) >= 1000
    assert np.mean(covered) >= 0.935


@pytest.mark.parametrize("method", ["shared", "hit-and-run", "rejection"])
@pytest.mark.parametrize("eps", [0.1, 0.03])
def test_precision_is_reached(rng, method, eps):
    centers, X = rng.normal(size=(5, 3)), rng.normal(size=(30, 3))
    result = affinity(X, centers=centers, method=method, eps=eps, random_state=1)
    assert (1.96 * result.standard_error <= eps).all()
    exact = affinity(X, centers=centers, method="exact").affinity
    assert np.abs(result.affinity - exact).max() < 3 * eps
    assert set(result.engine) <= {method}


def test_shared_and_walk_agree_in_nine_dimensions():
    """In r = 9 differences of the two estimates stay within their joint 95 % intervals as often as they should."""
    rng = np.random.default_rng(3)
    centers, X = rng.normal(size=(10, 9)), rng.normal(size=(60, 9))
    shared = affinity(X, centers=centers, method="shared", random_state=1)
    walked = affinity(X, centers=centers, method="hit-and-run", random_state=2)
    joint = np.sqrt(shared.standard_error**2 + walked.standard_error**2)
    assert (np.abs(shared.affinity - walked.affinity) <= 1.96 * joint).mean() >= 0.93


def test_walks_find_the_closed_form_in_nine_dimensions():
    """Cells of points inside a simplex of ten sites are bounded, and their shares barycentric coordinates. Shared
    samples cannot serve them: without walls there is no region to sample, and between walls far enough not to cut these
    cells they would fill some 1e-8 of it."""
    rng = np.random.default_rng(4)
    centers = rng.normal(size=(10, 9))
    X = points_in_hull(rng, centers, 40)
    exact = affinity(X, centers=centers, domain=None, method="closed-form")
    np.testing.assert_allclose(exact.affinity @ centers, X, atol=1e-9)
    walked = affinity(X, centers=centers, domain=None, method="hit-and-run", random_state=0)
    assert _coverage(walked, exact.affinity) >= 0.93


def test_walks_in_a_wide_box_find_the_closed_form():
    """In r = 9 a box thirty times as wide as the simplex of sites holds the whole cell of points near its centre."""
    centers = np.eye(10)
    X = 0.1 + 0.3 * (np.random.default_rng(0).dirichlet(np.ones(10), 20) - 0.1)
    wide = np.vstack([X, 30 * (centers - 0.1)])
    exact = affinity(X, centers=centers, domain=None, method="closed-form").affinity
    walked = affinity(wide, centers=centers, method="hit-and-run", random_state=0)
    inside = np.abs(walked.affinity[:20] - exact) <= 1.96 * walked.standard_error[:20]
    assert inside.mean() >= 0.93


@pytest.mark.parametrize("r", [2, 3])
def test_shared_samples_find_the_closed_form(r):
    """Where a box that does not cut the cells leaves them a share worth sampling, shared samples find it too: within
    4.5 standard errors, which 80 independent estimates would leave with a probability of 5e-4."""
    rng = np.random.default_rng(1)
    centers = np.vstack([np.eye(r), -np.ones((1, r))])
    X = 0.2 * points_in_hull(rng, centers, 20)
    exact = affinity(X, centers=centers, domain=None, method="closed-form").affinity
    region = Polytope.box(np.full(r, -4.0), np.full(r, 4.0))
    uncut = affinity(X, centers=centers, domain=region, method="exact").affinity
    np.testing.assert_allclose(uncut, exact, atol=1e-9)
    shared = affinity(X, centers=centers, domain=region, method="shared", random_state=0)
    assert (np.abs(shared.affinity - exact) <= 4.5 * shared.standard_error).all()


def test_small_cells_are_walked(rng):
    """Points whose cell gets almost no shared sample are handed to hit-and-run, and still reach the precision."""
    centers = np.vstack([rng.normal(size=(8, 2)) * 1e-3, [[1000.0, 1000.0]]])
    X = rng.normal(size=(20, 2)) * 1e-3
    scene, queries = make_scene(centers, np.vstack([X, [[-1000.0, -1000.0]]]))
    exact = select_engine(scene, Settings(), "exact").estimate(queries)
    mixed = select_engine(scene, Settings(max_samples=100_000), "shared").estimate(queries)
    assert {ENGINE_NAMES[code] for code in mixed.engine} == {"shared", "hit-and-run"}
    assert not mixed.hidden.any()
    assert np.abs(mixed.affinity - exact.affinity).max() < 0.06


def test_too_few_samples_warn_once(rng):
    centers, X = rng.normal(size=(5, 6)), rng.normal(size=(40, 6))
    with pytest.warns(PrecisionWarning, match="did not reach eps=0.01") as record:
        result = affinity(X, centers=centers, method="shared", eps=0.01, max_samples=3000, random_state=0)
    assert len(record) == 1
    assert (1.96 * result.standard_error).max() > 0.01
    np.testing.assert_allclose(result.affinity.sum(axis=1), 1)


def test_decisions_do_not_claim_certainty_at_zero(rng):
    """A share never seen still has an error bar; so has a share of one."""
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    for method in ("shared", "hit-and-run"):
        result = affinity([[0.1, 0.1], [9.0, 9.0]], centers=centers, method=method, random_state=0)
        assert (result.standard_error > 0).all()


@pytest.mark.parametrize("domain", ["box", "ball"])
def test_leave_one_out_moves_the_own_site(rng, domain):
    """Against the definition: for each point, the mean of its cluster is computed without it."""
    X = rng.normal(size=(12, 2))
    labels = np.repeat([0, 1, 2], 4)
    result = affinity(X, labels, leave_one_out=True, domain=domain, random_state=0)
    centers = np.array([X[labels == i].mean(axis=0) for i in range(3)])
    scene, _ = make_scene(centers, X, domain)
    lower, upper = scene.domain.center - scene.domain.scale, scene.domain.center + scene.domain.scale
    for row in range(12):
        moved = centers.copy()
        rest = (labels == labels[row]) & (np.arange(12) != row)
        moved[labels[row]] = X[rest].mean(axis=0)
        y = rng.uniform(-1, 1, (200_000, 2)) * scene.domain.scale + scene.domain.center
        if domain == "ball":
            y = y[((y - scene.domain.center) ** 2).sum(axis=1) < scene.domain.scale[0] ** 2]
        unit = VoronoiUnits(scene)
        distance = ((unit(y)[:, None] - moved) ** 2).sum(axis=2)
        stolen = ((unit(y) - X[row]) ** 2).sum(axis=1) <= distance.min(axis=1)
        expected = np.bincount(distance[stolen].argmin(axis=1), minlength=3) / stolen.sum()
        assert np.abs(result.affinity[row] - expected).max() < 0.05
    assert (lower < upper).all()


class VoronoiUnits:
    """Coordinates of the user for points in the coordinates of a scene's diagram, where the axes were kept."""

    def __init__(self, scene):
        self.reduction = scene.diagram.embedding.reduction

    def __call__(self, y):
        return (y / self.reduction.rescale + self.reduction.shift) / self.reduction.factor


def test_leave_one_out_of_a_singleton(rng):
    X = np.vstack([rng.normal(size=(8, 2)), [[5.0, 5.0]]])
    labels = np.array([0] * 4 + [1] * 4 + [2])
    result = affinity(X, labels, leave_one_out=True, random_state=0)
    assert result.affinity[-1, 2] == 0, "without its only point the cluster is gone"
    np.testing.assert_allclose(result.affinity.sum(axis=1), 1)
