import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from allegiance.report._counts import STEPS, Groups, counts_above, group_points, sorted_profile

confidence_lists = st.lists(
    st.one_of(st.integers(0, 100).map(lambda step: step / 100), st.floats(0, 1)), min_size=1, max_size=30
)


@given(confidence_lists)
def test_counts_agree_with_counting_one_by_one(values):
    confidence = np.array(values)
    code = np.arange(confidence.size) % 3
    counts = counts_above(confidence, Groups(["a", "b", "c"], code))
    for group in range(3):
        inside = [value for value, own in zip(values, code, strict=True) if own == group]
        assert counts[group].tolist() == [sum(v > step / STEPS for v in inside) for step in range(STEPS + 1)]


def test_noise_is_a_group_of_its_own(make_result):
    groups = group_points(make_result([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [3, 5, -1], [3, 5]))
    assert groups.names == ["3", "5", "noise"]
    assert groups.code.tolist() == [0, 1, 2]


def test_bands_hold_their_points_in_falling_order(rng):
    confidence = rng.random(500)
    code = rng.integers(4, size=500)
    profile = sorted_profile(confidence, Groups(list("abcd"), code))
    for group in range(4):
        rows = np.flatnonzero(code == group)
        rows = rows[np.argsort(profile.position[rows])]
        assert (np.diff(confidence[rows]) <= 0).all()
        assert (np.floor(profile.position[rows]) == group).all()
        xs, ys = profile.bands[group]
        assert xs.max() == confidence[rows].max()
        # The outline encloses as much as the bars of the points, up to what thinning loses.
        area = abs(np.sum(xs * np.roll(ys, -1) - ys * np.roll(xs, -1))) / 2
        height = ys.max() - ys.min()
        np.testing.assert_allclose(area / height, confidence[rows].mean(), atol=0.02)


def test_an_empty_group_has_no_band():
    profile = sorted_profile(np.array([0.5]), Groups(["a", "b"], np.array([1])))
    assert [band[0].size for band in profile.bands] == [0, 4]
