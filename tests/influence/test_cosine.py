"""Cosine distance beside what it is defined by: Euclidean distance of normalised rows, and the kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from allegiance import AffinityScorer, affinity, trust
from allegiance.displays import AffinityMapDisplay
from allegiance.domains import Polytope
from allegiance.influence import Cosine, Kernel

RNG = np.random.default_rng(3)
DIRECTIONS = RNG.normal(size=(4, 6))
LABELS = np.repeat(np.arange(4), 40)
X = (DIRECTIONS[LABELS] + 0.6 * RNG.normal(size=(160, 6))) * RNG.lognormal(size=(160, 1))


def test_is_euclidean_distance_of_normalised_rows():
    cosine, euclidean = affinity(X, LABELS, influence="cosine"), affinity(normalize(X), LABELS, influence="euclidean")
    np.testing.assert_allclose(cosine.affinity, euclidean.affinity, atol=1e-12)
    np.testing.assert_allclose(cosine.closeness, euclidean.closeness, atol=1e-12)
    assert cosine.how.influence == "cosine"


def test_agrees_with_the_cosine_kernel():
    # Two computations of the same distances; the box lies along other axes, so only what it does not touch is compared.
    direct, kernel = affinity(X, LABELS, influence="cosine"), affinity(X, LABELS, influence=Kernel("cosine"))
    np.testing.assert_allclose(direct.closeness, kernel.closeness, atol=1e-9)
    np.testing.assert_allclose(direct.distance, kernel.distance, atol=1e-9)


def test_lengths_of_rows_do_not_count():
    # Powers of two, which round nothing; up to where squares would overflow or vanish.
    factors = 2.0 ** np.random.default_rng(0).integers(-700, 700, size=(160, 1))
    assert (
        affinity(X * factors, LABELS, influence="cosine").affinity == affinity(X, LABELS, influence="cosine").affinity
    ).all()


def test_lengths_of_centers_do_not_count():
    one = affinity(X, centers=DIRECTIONS, influence="cosine")
    other = affinity(X, centers=DIRECTIONS * [[1], [2], [4], [8]], influence="cosine")
    assert (one.affinity == other.affinity).all()


def test_sparse_rows_score_as_dense_ones():
    rows = np.where(RNG.random((160, 30)) < 0.2, RNG.random((160, 30)), 0.0)
    rows[:, :6] += np.maximum(X, 0)
    rows[7] = 0.0
    for scale in (1.0, 1e-200, 1e200):
        dense, sparse = (
            affinity(data, LABELS, influence="cosine") for data in (rows * scale, sp.csr_matrix(rows * scale))
        )
        np.testing.assert_allclose(dense.affinity, sparse.affinity, atol=1e-9)
        np.testing.assert_allclose(dense.closeness, sparse.closeness, atol=1e-7)


def test_a_row_of_zeros_stays_at_the_origin():
    rows = X.copy()
    rows[5] = 0.0
    scorer = AffinityScorer(influence="cosine").fit(X, LABELS)
    result = scorer.affinity(rows)
    np.testing.assert_allclose(result.distance[5], np.linalg.norm(scorer.cluster_centers_, axis=1).min(), atol=1e-12)
    assert np.isfinite(result.affinity).all()


def test_single_precision_stays_so_and_rows_are_scored_alike_in_any_company():
    rows = X.astype(np.float32)
    assert Cosine().prepare(rows).dtype == np.float32
    assert Cosine().prepare(sp.csr_matrix(rows)).dtype == np.float32
    scorer = AffinityScorer(influence=Cosine()).fit(rows, LABELS)
    assert (scorer.transform(rows)[100:103] == scorer.transform(rows[100:103])).all()


def test_trust_finds_labels_that_were_swapped():
    wrong = np.zeros(160, dtype=bool)
    wrong[[3, 50, 90, 130]] = True
    result = trust(X, np.where(wrong, (LABELS + 1) % 4, LABELS), influence="cosine")
    assert result.trust[wrong].max() < np.median(result.trust[~wrong])
    assert (result.rival[wrong] == LABELS[wrong]).all()


def test_flat_sides_are_refused_where_there_are_none():
    plt = pytest.importorskip("matplotlib.pyplot")
    scorer = AffinityScorer(influence="cosine").fit(X, LABELS)
    assert AffinityMapDisplay.from_estimator(scorer, X, resolution=12).sites_ is None
    plt.close("all")
    with pytest.raises(ValueError, match=r"domain=Polytope is given in the coordinates of X.*Cosine\(\)"):
        affinity(X, LABELS, influence="cosine", domain=Polytope.box([-1.0] * 6, [1.0] * 6))
