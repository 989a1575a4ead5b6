"""Pictures of territories."""

import numpy as np
import pytest

from allegiance import AffinityScorer, Mahalanobis
from allegiance.displays import DiagramDisplay

WEIGHTS = np.array([1.0, 0.25, 4.0, 0.0])


def test_areas_and_sites(scorer, blobs):
    X, _ = blobs
    display = DiagramDisplay.from_estimator(scorer)
    frame = display.frame()
    assert frame["area"].sum() == pytest.approx(np.prod(1.2 * np.ptp(X, axis=0)))
    np.testing.assert_array_equal(frame[["x", "y"]], scorer.cluster_centers_)
    assert len(display.cells_.get_paths()) == 4
    assert display.circles_ == []


def test_circles_have_the_root_of_the_weight_as_radius(blobs):
    scorer = AffinityScorer(weights=WEIGHTS).fit(*blobs)
    display = DiagramDisplay.from_estimator(scorer, blobs[0])
    assert len(display.circles_) == 3
    for i, circle in enumerate(display.circles_):
        away = circle.get_xy() - scorer.cluster_centers_[i]
        np.testing.assert_allclose(np.hypot(*away.T), np.sqrt(WEIGHTS[i]), rtol=1e-9)
    np.testing.assert_array_equal(display.frame()["weight"], WEIGHTS)
    assert DiagramDisplay.from_estimator(scorer, show_weights=False).circles_ == []


def test_outlines_of_weights_under_mahalanobis_distance_and_kl(blobs):
    covariance = np.array([[2.0, 0.8], [0.8, 1.0]])
    scorer = AffinityScorer(influence=Mahalanobis(covariance), weights=WEIGHTS).fit(*blobs)
    for i, circle in enumerate(DiagramDisplay.from_estimator(scorer).circles_):
        away = circle.get_xy() - scorer.cluster_centers_[i]
        squared = np.einsum("nd,de,ne->n", away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(squared, WEIGHTS[i], rtol=1e-9)
    scorer = AffinityScorer(influence="kl", weights=WEIGHTS / 4).fit(*blobs)
    for i, circle in enumerate(DiagramDisplay.from_estimator(scorer).circles_):
        line, center = circle.get_xy(), scorer.cluster_centers_[i]
        divergence = (line * np.log(line / center) - line + center).sum(axis=1)
        np.testing.assert_allclose(divergence, WEIGHTS[i] / 4, rtol=1e-8)


def test_outline_of_a_weight_stops_where_the_divergence_does(blobs):
    scorer = AffinityScorer(influence="kl", weights=[9.0, 0.0, 0.0, 0.0]).fit(*blobs)
    (line,) = (circle.get_xy() for circle in DiagramDisplay.from_estimator(scorer).circles_)
    assert (line >= 0).all()
    assert line.min() < 1e-6


def test_slice_shows_no_circles_but_says_that_it_is_one(scorer_4d):
    X, scorer = scorer_4d
    weighted = AffinityScorer(weights="size", random_state=0).fit(X, scorer.labels_)
    display = DiagramDisplay.from_estimator(weighted, X, features=(0, 1))
    assert display.circles_ == []
    assert "slice through the mean of 4 features" in display.ax_.get_title()


def test_points_in_the_colours_of_their_labels(scorer, blobs):
    X, y = blobs
    display = DiagramDisplay.from_estimator(scorer, X, labels=y)
    assert [len(drawn.get_offsets()) for drawn in display.points_] == np.bincount(y).tolist()
    colors = {tuple(drawn.get_facecolor()[0]) for drawn in display.points_}
    assert len(colors) == 4


def test_more_clusters_than_colours_differ_in_hatch_or_marker(rng):
    X = rng.uniform(0, 10, (30, 2))
    display = DiagramDisplay.from_estimator(AffinityScorer().fit(X, np.arange(30)), X)
    looks = {(tuple(d.get_facecolor()[0]), d.get_paths()[0].vertices.tobytes()) for d in display.points_}
    assert len(looks) == 30
    patches = [patch for patch in display.ax_.patches if patch.get_fill()]
    assert len({(patch.get_facecolor(), patch.get_hatch()) for patch in patches}) == 30


def test_kernel_is_refused(blobs):
    with pytest.raises(ValueError, match="use AffinityMapDisplay"):
        DiagramDisplay.from_estimator(AffinityScorer(influence="rbf").fit(*blobs))
