"""Weights from their definitions, and kinds of influence and weights as users meet them."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_circles, make_moons

from allegiance import AffinityScorer, affinity
from allegiance.influence import KL, AffineFunctions, Kernel, SpreadSums, Weights

CODES = np.array([0, 0, 0, 1, 1, 2, -1])
SPREAD = np.array([1.0, 2.0, 3.0, 8.0, 8.0, 4.0, 100.0])


class StubDiagram(NamedTuple):
    sites: np.ndarray
    query: float

    @property
    def functions(self):
        return AffineFunctions(np.zeros((self.sites.size, 2)), -self.sites)

    @property
    def clearance_scale(self):
        return np.abs(self.query - self.sites).max()


def weights(of, query=None, scale=1.0, dim=2, codes=CODES, spread=SPREAD):
    """Return the weights that a diagram of three clusters, or as many as there are, is given."""
    chosen = Weights.resolve(Weights(of, scale=scale, query=query))
    k = codes.max() + 1
    diagram = SimpleNamespace(positions=np.zeros((k, dim)), weighted=StubDiagram)
    return chosen.apply(diagram, SpreadSums.of(codes, spread, k))


def test_size():
    result = weights("size")
    np.testing.assert_allclose(result.sites, np.array([3, 2, 1]) / 6)
    assert result.query == pytest.approx(1 / 6), "the paper's 1/n"


@pytest.mark.parametrize("dim", [2, 4, 400])
def test_density(dim):
    result = weights("density", dim=dim)
    logarithm = np.log([3, 2, 1]) - dim / 2 * np.log([2.0, 8.0, 4.0])
    expected = np.exp(logarithm - logarithm.max())
    np.testing.assert_allclose(result.sites, expected / expected.sum(), rtol=1e-12)
    assert result.sites.sum() == pytest.approx(1.0)


def test_auto_scale_is_the_mean_spread_without_noise():
    mean = SPREAD[:-1].mean()
    result, plain = weights("size", scale="auto"), weights("size")
    np.testing.assert_allclose(result.sites, plain.sites * mean)
    assert result.query == pytest.approx(plain.query * mean)


def test_arrays_and_the_weight_of_a_query():
    result = weights([1.0, 5.0, 0.0], query=2.0, scale=0.5)
    np.testing.assert_allclose(result.sites, [0.5, 2.5, 0.0])
    assert result.query == 1.0
    assert weights([1.0, 5.0, 0.0]).query == pytest.approx(1.0), "the average over the six points"


def test_a_cluster_without_spread_has_a_finite_density():
    codes = np.array([0, 1, 1])
    result = weights("density", codes=codes, spread=np.array([0.0, 1.0, 1.0]))
    assert np.isfinite(result.sites).all()
    none = weights("density", codes=codes, spread=np.zeros(3))
    np.testing.assert_allclose(none.sites, [1 / 3, 2 / 3])


def test_sums_over_parts_are_those_of_the_whole():
    whole = SpreadSums.of(CODES, SPREAD, 3)
    parts = SpreadSums.of(CODES[:2], SPREAD[:2], 3).merge(SpreadSums.of(CODES[2:], SPREAD[2:], 3))
    np.testing.assert_array_equal(parts.sizes, whole.sizes)
    np.testing.assert_array_equal(parts.spread, whole.spread)


IRIS = load_iris().data
LABELS = KMeans(3, n_init=3, random_state=0).fit_predict(IRIS)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("weights", ["size", "density"])
def test_auto_scale_makes_weights_independent_of_units(factor, weights):
    plain = affinity(IRIS, LABELS, weights=Weights(weights, scale="auto"), influence="euclidean")
    scaled = affinity(factor * IRIS, LABELS, weights=Weights(weights, scale="auto"), influence="euclidean")
    np.testing.assert_allclose(scaled.affinity, plain.affinity, atol=1e-9)


def test_paper_scale_depends_on_units():
    small = affinity(0.01 * IRIS, LABELS, weights="size", influence="euclidean")
    large = affinity(100.0 * IRIS, LABELS, weights="size", influence="euclidean")
    unweighted = affinity(IRIS, LABELS, influence="euclidean").affinity
    assert np.abs(large.affinity - unweighted).max() < 1e-3
    assert np.abs(small.affinity - unweighted).max() > 0.1
    assert small.frame(details=True)["empty_cell"].any(), "light points next to heavy clusters own nothing"


def test_denser_corners_leave_fewer_unstable_points():
    """The paper's pair: 100 points in each of five clusters, then 500 in each corner. Over ten draws the share of
    unstable points fell from 5.5 % to 2.5 % with a standard deviation below 1 %; one draw is checked here."""
    means = np.array([[0, 0], [-3, -3], [-3, 3], [3, -3], [3, 3]])
    shares = []
    for corners in (100, 500):
        labels = np.repeat(np.arange(5), [100, *[corners] * 4])
        X = means[labels] + np.random.default_rng(0).normal(size=(labels.size, 2))
        shares.append(1 - affinity(X, labels, weights="size", influence="euclidean").stable.mean())
    assert shares[1] < 0.75 * shares[0]


def test_counts_with_zeros_need_smoothing(rng):
    counts = rng.poisson(2.0, (30, 6)).astype(float)
    labels = np.arange(30) % 3
    with pytest.raises(ValueError, match=r"row \d+, column \d+.*smoothing"):
        affinity(counts, labels, influence="kl")
    result = affinity(counts, labels, influence=KL(smoothing=0.5))
    np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0)
    given = AffinityScorer(centers=counts[:3], influence=KL(smoothing=0.5)).fit(counts)
    np.testing.assert_array_equal(given.cluster_centers_, counts[:3])
    assert given.affinity(counts[:3]).affinity.max(axis=1).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("make", [make_circles, make_moons])
def test_rings_and_moons(make):
    """Points of curved clusters: RBF affinity is right about nearly all, Euclidean affinity is wrong about many."""
    options = {"factor": 0.4} if make is make_circles else {}
    X, labels = make(300, noise=0.05, random_state=0, **options)
    euclidean = affinity(X, labels, influence="euclidean")
    rbf = affinity(X, labels, influence=Kernel("rbf", gamma=6.0))
    assert (rbf.frame(details=True)["owner"] == labels).mean() > 0.98
    assert (euclidean.frame(details=True)["owner"] != labels).mean() > 0.1


def test_the_summary_says_what_closeness_means():
    assert "closeness    within, weights size" in repr(affinity(IRIS, LABELS, influence="within", weights="size"))
    assert "closeness    euclidean\n" in repr(affinity(IRIS, LABELS, influence="euclidean"))
