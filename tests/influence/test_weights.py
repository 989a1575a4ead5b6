"""Weights of clusters from their definitions."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from allegiance.influence import AffineFunctions, SpreadSums, Weights

CODES = np.array([0, 0, 0, 1, 1, 2, -1])
SPREAD = np.array([1.0, 2.0, 3.0, 8.0, 8.0, 4.0, 100.0])


class Found(NamedTuple):
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
    diagram = SimpleNamespace(positions=np.zeros((k, dim)), weighted=Found)
    return chosen.apply(diagram, SpreadSums.of(codes, spread, k))


def test_size():
    found = weights("size")
    np.testing.assert_allclose(found.sites, np.array([3, 2, 1]) / 6)
    assert found.query == pytest.approx(1 / 6), "the paper's 1/n"


@pytest.mark.parametrize("dim", [2, 4, 400])
def test_density(dim):
    found = weights("density", dim=dim)
    logarithm = np.log([3, 2, 1]) - dim / 2 * np.log([2.0, 8.0, 4.0])
    expected = np.exp(logarithm - logarithm.max())
    np.testing.assert_allclose(found.sites, expected / expected.sum(), rtol=1e-12)
    assert found.sites.sum() == pytest.approx(1.0)


def test_auto_scale_is_the_mean_spread_without_noise():
    mean = SPREAD[:-1].mean()
    found, plain = weights("size", scale="auto"), weights("size")
    np.testing.assert_allclose(found.sites, plain.sites * mean)
    assert found.query == pytest.approx(plain.query * mean)


def test_arrays_and_the_weight_of_a_query():
    found = weights([1.0, 5.0, 0.0], query=2.0, scale=0.5)
    np.testing.assert_allclose(found.sites, [0.5, 2.5, 0.0])
    assert found.query == 1.0
    assert weights([1.0, 5.0, 0.0]).query == pytest.approx(1.0), "the average over the six points"


def test_a_cluster_without_spread_has_a_finite_density():
    codes = np.array([0, 1, 1])
    found = weights("density", codes=codes, spread=np.array([0.0, 1.0, 1.0]))
    assert np.isfinite(found.sites).all()
    none = weights("density", codes=codes, spread=np.zeros(3))
    np.testing.assert_allclose(none.sites, [1 / 3, 2 / 3])


def test_sums_over_parts_are_those_of_the_whole():
    whole = SpreadSums.of(CODES, SPREAD, 3)
    parts = SpreadSums.of(CODES[:2], SPREAD[:2], 3).merge(SpreadSums.of(CODES[2:], SPREAD[2:], 3))
    np.testing.assert_array_equal(parts.sizes, whole.sizes)
    np.testing.assert_array_equal(parts.spread, whole.spread)
