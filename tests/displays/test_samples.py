"""Samples of a territory."""

import numpy as np
import pytest

from allegiance import AffinityScorer, Weights
from allegiance.displays import SamplesDisplay


@pytest.mark.parametrize("kw", [{}, {"weights": [1.0, 0.5, 2.0, 0.0]}, {"domain": "ball"}], ids=str)
def test_samples_lie_where_the_point_is_closest(blobs, brute_owner, kw):
    X, y = blobs
    scorer = AffinityScorer(**kw).fit(X, y)
    query = np.array([4.0, 4.5])
    samples = SamplesDisplay.from_estimator(scorer, query, X, n_samples=400).frame()
    places = samples[["x", "y"]].to_numpy()
    weights = np.array(kw.get("weights", [0.0] * 4))
    own = np.mean(weights) * 4 / len(X)
    sites, all_weights = np.vstack([scorer.cluster_centers_, query]), np.append(weights, own)
    assert (brute_owner(places, sites, weights=all_weights) == 4).all()
    np.testing.assert_array_equal(samples["owner"], brute_owner(places, scorer.cluster_centers_, weights=weights))
    assert len(samples) == 400


def test_counts_estimate_the_affinities(scorer, blobs):
    samples = SamplesDisplay.from_estimator(scorer, [4.0, 4.5], blobs[0], n_samples=5000).frame()
    counted = np.bincount(samples["owner"], minlength=4) / 5000
    np.testing.assert_allclose(counted, scorer.affinity([[4.0, 4.5]]).affinity[0], atol=0.05)


def test_same_seed_same_samples(scorer):
    first, again, other = (
        SamplesDisplay.from_estimator(scorer, [4.0, 4.5], n_samples=50, random_state=seed).samples for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_artists(scorer, blobs):
    display = SamplesDisplay.from_estimator(scorer, [4.0, 4.5], blobs[0], n_samples=60)
    assert sum(len(drawn.get_offsets()) for drawn in display.samples_) == 60
    np.testing.assert_array_equal(display.query_.get_offsets()[0], [4.0, 4.5])
    np.testing.assert_allclose(np.unique(display.cell_.get_xy(), axis=0), np.unique(display.cell, axis=0))
    assert "60 hit-and-run samples" in display.ax_.get_title()


def test_section_of_more_features(scorer_4d):
    X, scorer = scorer_4d
    display = SamplesDisplay.from_estimator(scorer, X[0], X, n_samples=200, features=(0, 2))
    places = np.tile(X[0], (200, 1))
    places[:, [0, 2]] = display.samples
    own = ((places - X[0]) ** 2).sum(axis=1)
    others = ((places[:, None] - scorer.cluster_centers_) ** 2).sum(axis=2).min(axis=1)
    assert (own <= others + 1e-9).all()


def test_nothing_to_sample(blobs):
    scorer = AffinityScorer(weights=Weights([5.0, 5.0, 5.0, 5.0], query=0.0)).fit(*blobs)
    with pytest.raises(ValueError, match="owns no territory"):
        SamplesDisplay.from_estimator(scorer, scorer.cluster_centers_[0] + 0.1)
