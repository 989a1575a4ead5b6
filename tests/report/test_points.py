"""Which points travel with the page, counts of all labels, where points lie, and their colors."""

import base64
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from allegiance import affinity
from allegiance.report import _clusters, _figures, _points
from allegiance.report._columns import Column
from allegiance.report._inputs import check_inputs
from browsing.colors import contrast, luminance


def choose_points(result, always=()):
    return _points.choose_points(result, np.array(always, dtype=int))


@pytest.fixture
def small_page(monkeypatch):
    for name, limit in (("POINTS", 200), ("LISTED", 30), ("DOUBTFUL", 20), ("FIRM", 20), ("NOISE", 10)):
        monkeypatch.setattr(_points, f"MAX_{name}", limit)


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_small_result_is_shown_whole(random_result, calibrated):
    sample = choose_points(random_result(200, 4, calibrated=calibrated))
    assert sorted(sample.rows) == list(range(200))
    assert sample.is_complete


@pytest.mark.usefixtures("small_page")
@pytest.mark.parametrize("calibrated", [False, True])
def test_labels_to_review_are_kept_and_others_sampled(random_result, rng, calibrated):
    result = random_result(500, 4, 0.2, label=rng.integers(-1, 4, 500), calibrated=calibrated)
    values = result.trust if calibrated else result.own_affinity
    firm = (values >= 0.8) & (result.label != -1)
    doubtful = (values < 0.8) & (result.label != -1)
    always = np.flatnonzero(firm)[:5]
    sample = choose_points(result, always)
    assert sample.parts == [(50, doubtful.sum()), (25, firm.sum()), (10, (result.label == -1).sum())]
    assert not sample.is_complete
    order = result.review(500).index.to_numpy()
    assert set(sample.rows[sample.kind == 0]) == {*order[doubtful[order]][:30], *always}
    weight = np.array(sample.weights)[sample.kind]
    for members in (doubtful, firm, (result.label == -1)):
        assert weight[members[sample.rows]].sum() == pytest.approx(members.sum())
    # Noise comes first, and what to review last.
    assert (result.label == -1)[sample.rows].tolist() == [True] * 10 + [False] * 75
    place = {row: number for number, row in enumerate(order.tolist())}
    assert (np.diff([place[row] for row in sample.rows[10:].tolist()]) < 0).all()


@pytest.mark.usefixtures("small_page")
def test_firm_labels_are_drawn_evenly_and_by_the_seed(make_result):
    n = 4_000
    result = make_result(np.column_stack([np.linspace(0.88, 0.95, n), np.linspace(0.12, 0.05, n)]))
    assert choose_points(result).rows.tolist() == choose_points(result).rows.tolist()
    rows = np.concatenate([choose_points(make_result(result.affinity, seed=seed)).rows for seed in range(200)])
    # 4,000 draws from 0 .. n - 1: the standard error of their mean is n / sqrt(12 * 4000). False alarm rate: 6e-5.
    assert abs(rows.mean() - n / 2) < 4 * n / np.sqrt(12 * rows.size)


value_lists = st.lists(
    st.one_of(st.integers(0, 100).map(lambda step: step / 100), st.floats(0, 1)), min_size=1, max_size=30
)


def groups_of(values, code, k):
    clusters = [_clusters.ClusterFigures(i, 1, 0.5, 0.4, 0.6, 0.5, 0, 0, 0, 0, 0, None) for i in range(k)]
    rivals = np.zeros((k, k), dtype=int)
    values = np.asarray(values, dtype=float)
    return _clusters.Groups(None, clusters, rivals, 0, np.arange(k), np.asarray(code), values, "trust")


@given(value_lists)
def test_levels_and_bins_count_the_labels_above_each_threshold(values):
    code = np.arange(len(values)) % 4
    counts, sums = _points.count_levels(groups_of(np.where(code == 3, np.nan, values), code, 3))
    edges = [step / _points.STEPS for step in range(_points.STEPS + 1)]
    for group in range(3):
        inside = [value for value, own in zip(values, code, strict=True) if own == group]
        for step, edge in enumerate(edges):
            above = [value for value in inside if value > edge]
            assert counts[group, step + 1 :].sum() == len(above)
            assert abs(sums[group, step + 1 :].sum() - sum(above)) < 1e-9
        expected = [sum(low < v <= high for v in inside) for low, high in pairwise(edges)]
        expected[0] += sum(v == 0 for v in inside)
        assert _figures.counts_in_bins(counts[group]).tolist() == expected


def test_columns_of_the_table_travel_until_the_budget_is_spent():
    rows = np.array([2, 0])
    columns = [
        Column("whole", "number", np.array([1.0, 2.0, 3.0])),
        Column("part", "number", np.array([0.5, np.nan, 1.5])),
        Column("kind", "category", np.array([0, 1, -1]), ("a", "b")),
        Column("said", "text", ["x", None, "y"]),
    ]
    whole, part, kind, texts = _points.table_columns(columns, rows)
    assert np.frombuffer(base64.b64decode(whole["data"]), "<i4").tolist() == [3, 1]
    assert np.frombuffer(base64.b64decode(part["data"]), "<f8").tolist() == [1.5, 0.5]
    assert list(base64.b64decode(kind["data"])) == [0, 1]
    assert texts == ["y", "x"]
    assert _points.table_columns(columns, rows, budget=20)[1:] == [None, None, None]


def project(result, X, names=None):
    """Return the last choice of axes: principal components, if there are more than two columns."""
    return _figures.project(result, check_inputs(result, X, feature_names=names), _clusters.sort_clusters(result))[-1]


def test_two_directions_of_a_plane_keep_all_distances(random_result, rng):
    basis = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    X = rng.normal(size=(50, 2)) @ basis.T + 3
    xy = project(random_result(50, 3), X).xy
    np.testing.assert_allclose(pdist(xy), pdist(X))
    assert xy[:, 0].var() >= xy[:, 1].var()


def test_units_do_not_change_the_map_where_closeness_ignores_them(rng):
    codes = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 5.0 * codes[:, None]
    maps = [project(affinity(X * unit, codes), X * unit) for unit in ([1.0] * 4, [1.0, 1e3, 1e-3, 1.0])]
    np.testing.assert_allclose(pdist(maps[0].xy), pdist(maps[1].xy), rtol=1e-6)
    assert "standardized" in maps[0].description


def test_discriminant_axes_separate_clusters_that_principal_components_do_not(rng):
    codes = np.arange(300) % 3
    X = np.column_stack([20 * rng.normal(size=(300, 2)), np.eye(3)[codes] * 8 + rng.normal(size=(300, 3))])
    result = affinity(X, codes, influence="euclidean", random_state=0)
    first, last = _figures.project(result, check_inputs(result, X), _clusters.sort_clusters(result))
    assert (first.name, last.name) == ("discriminant axes", "principal components")

    def separation(xy):
        centers = np.array([xy[codes == code].mean(axis=0) for code in range(3)])
        spread = np.mean([xy[codes == code].std() for code in range(3)])
        return pdist(centers).min() / spread

    assert separation(first.xy) > 3 > 1 > separation(last.xy)


def test_far_outliers_do_not_set_the_limits_of_the_map(random_result, rng):
    X = rng.normal(size=(1000, 2))
    X[0] = [1e6, -1e6]
    (left, right), (bottom, top) = project(random_result(1000, 3), X).limits
    assert max(abs(left), abs(right), abs(bottom), abs(top)) < 10
    assert np.mean((X[:, 0] > left) & (X[:, 0] < right)) > 0.99
    (left, right), _ = project(random_result(1000, 3), np.ones((1000, 2))).limits
    assert left < 1 < right


@pytest.mark.parametrize("shape", [(40, 5), (30, 1500), (2, 3), (3, 1200)])
def test_sparse_data_lie_where_dense_data_do(shape, random_result, rng):
    X = rng.normal(size=shape) * (rng.random(shape) < 0.3)
    result = random_result(shape[0], 3)
    np.testing.assert_allclose(project(result, sp.csr_array(X)).xy[:, 0], project(result, X).xy[:, 0], atol=1e-8)


def test_one_and_two_features_are_shown_as_they_are(random_result, rng):
    result = random_result(20, 3, label=np.arange(20) % 4 - 1)
    X = rng.normal(size=(20, 2))
    both = project(result, X, ["width", "height"])
    assert both.labels == ("width", "height")
    np.testing.assert_array_equal(both.xy, X)
    one = project(result, X[:, :1])
    np.testing.assert_array_equal(one.xy[:, 1], np.where((result.label == -1), 0.0, result.trust.clip(max=1.0)))
    assert project(random_result(20, 3, calibrated=False), X[:, :1]).labels[1] == "own affinity"


@pytest.mark.parametrize(("k", "scale"), [*((k, None) for k in (1, 2, 3, 6)), (3, 0.0), (3, 1e-40), (3, 1e40)])
def test_coordinates_are_finite_and_affinities_stand_in_for_the_features(k, scale, random_result, rng):
    projection = project(random_result(30, k), None if scale is None else rng.normal(size=(30, 4)) * scale)
    assert np.isfinite(projection.xy).all()
    assert ("affinit" in projection.description) == (scale is None)


@pytest.mark.parametrize("kind", ["trust", "verdict", "cluster", "levels"])
def test_every_color_can_be_seen_on_a_light_and_on_a_dark_page(kind):
    colors = _figures.palettes(200)[kind]
    assert min(contrast(color, page) for color in colors for page in ("#ffffff", "#14171d")) > 3


def test_trust_goes_from_strong_orange_to_calm_blue_and_clusters_differ():
    colors = _figures.palettes(60)["trust"]
    red, _, blue = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors]).T
    assert red[0] - blue[0] > 100
    assert blue[-1] - red[-1] > 50
    assert luminance(colors[0]) < luminance(colors[-1])
    many = _figures.palettes(60)["cluster"][:60]
    assert len(set(many)) == len(set(many[:24])) == 24
