"""Rotations and the numbering of clusters must not change affinities; test_hostile.py moves and scales the data."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from scenes import euclidean

seeds = st.integers(0, 2**32 - 1)
shapes = st.sampled_from([(2, 4, 12), (3, 5, 12), (2, 3, 8), (5, 3, 10)])
everyday = settings(max_examples=25, deadline=None)


def _data(seed, shape):
    d, k, n = shape
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(k, d)), rng


@everyday
@given(seeds, st.sampled_from([(2, 4, 12), (2, 3, 8), (5, 3, 10)]))
def test_rotation_without_domain(seed, shape):
    """In the plane, also after reduction to it, everything is exact and must not feel the axes."""
    X, centers, rng = _data(seed, shape)
    turn = ortho_group.rvs(shape[0], random_state=rng)
    here = euclidean(X, centers=centers, domain="space")
    there = euclidean(X @ turn, centers=centers @ turn, domain="space")
    np.testing.assert_allclose(there.affinity, here.affinity, atol=1e-8)


@settings(max_examples=8, deadline=None)
@given(seeds, shapes)
def test_rotation_of_a_ball(seed, shape):
    """The sample is fixed in space, so turned data meet other samples: they must agree within their intervals. Six
    standard errors of the difference: a false alarm has probability 1e-7 in all."""
    X, centers, rng = _data(seed, shape)
    turn = ortho_group.rvs(shape[0], random_state=rng)
    here = euclidean(X, centers=centers, domain="ball")
    there = euclidean(X @ turn, centers=centers @ turn, domain="ball", random_state=1)
    joint = np.sqrt(here.standard_error**2 + there.standard_error**2)
    assert (np.abs(there.affinity - here.affinity) <= 6 * joint + 1e-12).all()


@everyday
@given(seeds, shapes, st.sampled_from(["box", "ball"]), st.sampled_from(["auto", "shared", "hit-and-run"]))
def test_numbering_of_clusters(seed, shape, domain, engine):
    X, centers, rng = _data(seed, shape)
    order = rng.permutation(len(centers))
    options = {"domain": domain, "engine": engine, "eps": 0.1}
    here = euclidean(X, centers=centers, **options)
    there = euclidean(X, centers=centers[order], **options)
    tolerance = 0.02 if engine == "hit-and-run" else 1e-9
    np.testing.assert_allclose(there.affinity, here.affinity[:, order], atol=tolerance)
