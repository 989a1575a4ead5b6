"""The territory of one point: areas against the exact affinities of the scorer."""

import numpy as np
import pytest

from allegiance import KL, AffinityScorer, Mahalanobis, Polytope, Weights
from allegiance.displays import StolenAreaDisplay
from allegiance.displays._section import choose_view

QUERIES = [[4.0, 4.0], [7.0, 5.0]]
KINDS = {
    "voronoi": {},
    "power": {"weights": Weights([1.0, 0.5, 2.0, 0.0], query=0.2)},
    "mahalanobis": {"influence": Mahalanobis([[2.0, 0.8], [0.8, 1.0]])},
    "within": {"influence": "within"},
    "kl": {"influence": "kl"},
    "kl-smoothed": {"influence": KL(smoothing=1.0), "weights": [0.2, 0.1, 0.0, 0.3]},
    "polytope": {"domain": Polytope([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [25.0, 0.0, 0.0])},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_areas_are_the_affinities(blobs, kind, query):
    scorer = AffinityScorer(engine="exact", **KINDS[kind]).fit(*blobs)
    frame = StolenAreaDisplay.from_estimator(scorer, query, blobs[0]).frame()
    np.testing.assert_allclose(frame["area_share"], scorer.affinity([query]).affinity[0], atol=1e-9)
    np.testing.assert_array_equal(frame["affinity"], scorer.affinity([query]).affinity[0])
    assert frame["area"].sum() > 0


def test_uncut_territory_in_the_whole_space(blobs):
    scorer = AffinityScorer(centers=[[0, 0], [4, 0], [4, 4], [0, 4], [2, 2.5]], domain="space").fit(blobs[0])
    frame = StolenAreaDisplay.from_estimator(scorer, [1.5, 1.5]).frame()
    np.testing.assert_allclose(frame["area_share"], scorer.affinity([[1.5, 1.5]]).affinity[0], atol=1e-9)
    # Sibson's identity: the affinities of an uncut territory give the point back.
    np.testing.assert_allclose(frame["area_share"].to_numpy() @ scorer.cluster_centers_, [1.5, 1.5], atol=1e-9)


def test_ball(blobs):
    scorer = AffinityScorer(domain="ball", eps=0.01, random_state=0).fit(*blobs)
    frame = StolenAreaDisplay.from_estimator(scorer, [4.0, 4.0]).frame()
    np.testing.assert_allclose(frame["area_share"], frame["affinity"], atol=0.02)


def test_parts_make_up_the_cell(scorer, blobs):
    seen = choose_view(scorer, blobs[0], None, None, None, None)
    query = np.array([[4.0, 4.0]])
    from allegiance.displays._polygons import area

    assert sum(area(part) for part in seen.section.stolen_by(query)) == pytest.approx(area(seen.section.cell_of(query)))


def test_point_at_a_site_takes_all_of_its_cell(scorer):
    frame = StolenAreaDisplay.from_estimator(scorer, scorer.cluster_centers_[1]).frame()
    np.testing.assert_allclose(frame["area_share"], [0, 1, 0, 0], atol=1e-12)


def test_labels_are_the_percentages(scorer, blobs):
    display = StolenAreaDisplay.from_estimator(scorer, [4.0, 4.0], blobs[0])
    texts = [label.get_text() for label in display.labels_]
    expected = [f"{share:.0%}" for share in sorted(display.affinity, reverse=True) if share >= 0.005]
    assert texts[: len(expected)] == expected
    assert texts[len(expected) :] == ["0", "1", "2", "3"]
    assert len(display.parts_) == np.count_nonzero(display.affinity)


def test_slice_goes_through_the_point_and_says_so(scorer_4d):
    X, scorer = scorer_4d
    display = StolenAreaDisplay.from_estimator(scorer, X[3], X, features=(1, 2))
    np.testing.assert_allclose(display.query, X[3, [1, 2]])
    np.testing.assert_array_equal(display.affinity, scorer.affinity(X[3:4]).affinity[0])
    assert "shares of the whole territory" in " ".join(display.ax_.get_title().split())


def test_hidden_point_has_no_territory_to_show(blobs):
    scorer = AffinityScorer(weights=Weights([5.0, 5.0, 5.0, 5.0], query=0.0)).fit(*blobs)
    display = StolenAreaDisplay.from_estimator(scorer, scorer.cluster_centers_[0] + 0.1)
    assert display.parts_ == []
    assert "owns no territory" in display.ax_.get_title()
    assert display.frame()["area_share"].sum() == 0


@pytest.mark.parametrize("query", [[1.0], [[1.0, 2.0], [3.0, 4.0]], 5.0, [np.nan, 1.0]], ids=str)
def test_query_must_be_one_point(scorer, query):
    with pytest.raises(ValueError, match="query"):
        StolenAreaDisplay.from_estimator(scorer, query)


def test_query_outside_the_divergence(blobs):
    with pytest.raises(ValueError, match="query"):
        StolenAreaDisplay.from_estimator(AffinityScorer(influence="kl").fit(*blobs), [-1.0, 2.0])
