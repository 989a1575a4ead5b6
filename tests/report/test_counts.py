from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from allegiance.report._counts import (
    STEPS,
    Groups,
    count_levels,
    counts_in_bins,
    group_points,
    level_of,
    sorted_profile,
)

value_lists = st.lists(
    st.one_of(st.integers(0, 100).map(lambda step: step / 100), st.floats(0, 1)), min_size=1, max_size=30
)


def groups_of(code, names):
    return Groups(names, np.arange(len(names)), code)


@given(value_lists)
def test_labels_above_a_threshold_are_those_of_the_levels_above_it(values):
    code = np.arange(len(values)) % 4
    ranked = np.where(code == 3, np.nan, values)
    counts, sums = count_levels(level_of(ranked), ranked, groups_of(code, ["a", "b", "c"]))
    assert counts.shape == sums.shape == (3, STEPS + 1)
    for group in range(3):
        inside = [value for value, own in zip(values, code, strict=True) if own == group]
        for step in range(STEPS + 1):
            above = [value for value in inside if value > step / STEPS]
            assert counts[group, step + 1 :].sum() == len(above)
            assert abs(sums[group, step + 1 :].sum() - sum(above)) < 1e-9


@given(value_lists)
def test_every_label_is_in_one_bin(values):
    ranked = np.array(values)
    counts, _ = count_levels(level_of(ranked), ranked, groups_of(np.zeros(len(values), dtype=int), ["a"]))
    edges = [step / STEPS for step in range(STEPS + 1)]
    expected = [sum(low < v <= high for v in values) for low, high in pairwise(edges)]
    expected[0] += sum(v == 0 for v in values)
    assert counts_in_bins(counts[0]).tolist() == expected


def test_clusters_stand_in_the_order_of_their_trouble(make_result):
    affinity = [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.2, 0.1, 0.7], [0.6, 0.4, 0.0]]
    result = make_result(affinity, [3, 5, 8, -1], [3, 5, 8])
    groups = group_points(result, result.tally().worst_first())
    assert groups.names == ["8", "5", "3"]
    assert groups.place.tolist() == [2, 1, 0]
    assert groups.code.tolist() == [2, 1, 0, 3]


def test_bands_hold_their_points_in_falling_order(rng):
    values = rng.random(500)
    code = rng.integers(5, size=500)
    profile = sorted_profile(values, groups_of(code, list("abcd")))
    assert np.isnan(profile.position[code == 4]).all()
    for group in range(4):
        rows = np.flatnonzero(code == group)
        rows = rows[np.argsort(profile.position[rows])]
        assert (np.diff(values[rows]) <= 0).all()
        assert (np.floor(profile.position[rows]) == group).all()
        xs, ys = profile.bands[group]
        assert xs.max() == values[rows].max()
        # The outline encloses as much as the bars of the points, up to what thinning loses.
        area = abs(np.sum(xs * np.roll(ys, -1) - ys * np.roll(xs, -1))) / 2
        height = ys.max() - ys.min()
        np.testing.assert_allclose(area / height, values[rows].mean(), atol=0.02)


def test_an_empty_cluster_has_no_band():
    profile = sorted_profile(np.array([0.5]), groups_of(np.array([1]), ["a", "b"]))
    assert [band[0].size for band in profile.bands] == [0, 4]
