import itertools

import numpy as np

from allegiance import AffinityScorer
from allegiance.calibration import pair_company
from calibration.scenes import blobs


def counted(codes, new, k):
    """Look at every pair of every new clustering."""
    same, pairs = np.zeros((k, k)), np.zeros((k, k))
    for found in new:
        for i, j in itertools.permutations(np.flatnonzero(found >= 0), 2):
            pairs[codes[i], codes[j]] += 1
            same[codes[i], codes[j]] += found[i] == found[j]
    with np.errstate(invalid="ignore"):
        return same / pairs, same.sum() / pairs.sum()


def test_pairs_are_those_that_one_counts(rng):
    codes, new = rng.integers(3, size=40), rng.integers(-1, 4, size=(5, 40))
    found = pair_company(codes, new, 4)
    expected, chance = counted(codes, new, 4)
    np.testing.assert_allclose(found.together, expected)
    np.testing.assert_allclose(found.chance, chance)
    assert np.isnan(found.together[3]).all()


def test_a_cluster_that_comes_apart_and_two_that_come_as_one():
    codes = np.repeat([0, 1, 2], 40)
    new = np.tile(np.concatenate([np.repeat([0, 1], 20), np.full(80, 2)]), (6, 1))
    found = pair_company(codes, new, 3)
    assert found.is_split(0)
    assert not found.is_split(1)
    assert found.merged_with(1).tolist() == [2]
    assert found.merged_with(0).size == 0


def test_a_fitted_scorer_tells_a_halved_blob_from_whole_ones(rng):
    points, codes = blobs(rng, n=900, k=3, apart=30.0)
    halved = np.where((codes == 0) & (points[:, 0] > points[codes == 0, 0].mean()), 3, codes)
    fitted = AffinityScorer(influence="euclidean").fit(points, halved).fitted_
    together = fitted.pair_company(points, halved).together
    # Four clusters are asked for where there are three: the halves of one blob share company as no others do.
    assert together[0, 3] > 0.4
    assert max(together[1, 2], together[0, 1], together[2, 3]) < 0.1
