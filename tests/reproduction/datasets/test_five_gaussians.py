"""The synthetic sets: their sizes, their prefix, and that they are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.datasets import load_2d5c, load_3d5c


def test_sizes_are_those_of_the_paper():
    np.testing.assert_array_equal(np.bincount(load_2d5c(500).target), [100] * 5)
    np.testing.assert_array_equal(np.bincount(load_2d5c(2100).target), [100, 500, 500, 500, 500])
    np.testing.assert_array_equal(np.bincount(load_3d5c().target), [100] * 5)
    assert load_2d5c(500).data.shape == (500, 2)
    assert load_2d5c(2100).data.shape == (2100, 2)
    assert load_3d5c().data.shape == (500, 3)


@pytest.mark.parametrize("seed", [0, 7])
def test_the_larger_set_begins_with_the_smaller(seed):
    small, large = load_2d5c(500, random_state=seed), load_2d5c(2100, random_state=seed)
    np.testing.assert_array_equal(large.data[:500], small.data)
    np.testing.assert_array_equal(large.target[:500], small.target)


@pytest.mark.parametrize("load", [load_2d5c, load_3d5c])
class TestDraws:
    def test_the_default_is_always_the_same(self, load):
        np.testing.assert_array_equal(load().data, load().data)
        np.testing.assert_array_equal(load().data, load(random_state=0).data)

    def test_seeds_differ_and_none_is_new(self, load):
        assert (load(random_state=1).data != load().data).all()
        assert (load(random_state=None).data != load(random_state=None).data).all()

    def test_clusters_have_their_mean_and_spread(self, load):
        bunch = load(spread=2.0)
        residual = bunch.data - bunch.centers[bunch.target]
        # 500 draws of each coordinate: standard errors of 0.09 and 0.06.
        np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=0.36)
        np.testing.assert_allclose(residual.std(axis=0), 2.0, atol=0.25)

    def test_spread_scales_the_same_draw(self, load):
        one, two = load(), load(spread=2.0)
        offset = one.centers[one.target]
        np.testing.assert_allclose(two.data - offset, 2 * (one.data - offset))

    def test_one_in_the_middle_and_four_corners_as_far_from_it(self, load):
        centers = load().centers
        np.testing.assert_array_equal(centers[0], 0.0)
        np.testing.assert_allclose(np.linalg.norm(centers[1:], axis=1), np.sqrt(18))

    def test_names_fit(self, load):
        bunch = load()
        assert len(bunch.feature_names) == bunch.data.shape[1]
        assert len(bunch.target_names) == 5
        assert "deviation 1" in bunch.DESCR

    @pytest.mark.parametrize("spread", [0, -1.0, np.nan, np.inf])
    def test_spread_must_be_positive(self, load, spread):
        with pytest.raises(ValueError, match="spread"):
            load(spread=spread)


def test_corners_of_the_tetrahedron_are_equally_far_apart():
    corners = load_3d5c().centers[1:]
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=-1)[np.triu_indices(4, 1)]
    np.testing.assert_allclose(apart, np.sqrt(48))


@pytest.mark.parametrize("n_points", [0, 501, "500", None, True, 2100.5])
def test_only_two_sizes_exist(n_points):
    with pytest.raises(ValueError, match="n_points must be 500 or 2100"):
        load_2d5c(n_points)


def test_changing_the_centers_changes_no_later_draw():
    before = load_2d5c().data
    load_2d5c().centers[:] = 99.0
    np.testing.assert_array_equal(load_2d5c().data, before)
