"""Calls that random attacks found to fail, each in its smallest form."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import HDBSCAN

from allegiance import AffinityScorer, affinity, trust
from allegiance.geometry import sample_polytope
from allegiance.influence import KL
from allegiance.io import open_table, propose

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
LABELS = np.arange(20) % 3


def test_points_far_from_a_single_place_have_a_finite_distance_from_it():
    """Once: infinite, since no coordinate was there to be too far."""
    scorer = AffinityScorer(influence="euclidean").fit(np.ones((5, 2)), np.zeros(5, dtype=int))
    residual = scorer.affinity([[1e60, 1e60], [2.0, 1.0]]).frame(details=True)["residual"]
    np.testing.assert_allclose(residual, [np.sqrt(2) * 1e60, 1.0])


def test_equal_points_can_be_calibrated_under_a_kernel():
    """Once: "Found array with 0 feature(s)", of a matrix the user never saw."""
    result = trust(np.zeros((9, 3)), np.arange(9) % 4, influence="laplacian", n_resamples=2)
    assert ((result.trust >= 0) & (result.trust <= 1)).all()


def test_labels_of_a_few_points_that_hardly_come_back_have_trust():
    """Once: "f(a) and f(b) must have different signs", where the corrected share of labels was 0."""
    line = np.array([-0.5, -1.3, 0.7, 1.0, 0.5, -2.6])[:, None]
    scorer = AffinityScorer(influence="within", weights="size", calibration=2, eps=0.2, random_state=0)
    result = scorer.fit_affinity(line, [3, 1, 0, 0, 0, 2])
    assert 0.0 <= result.replication < 0.6
    assert ((result.trust >= 0) & (result.trust <= 1)).all()


def test_more_samples_than_any_memory_holds_are_refused_by_name():
    with pytest.raises(ValueError, match="n_samples must be at most"):
        sample_polytope([[1.0], [-1.0]], [1.0, 1.0], 10**30)


@pytest.mark.parametrize(
    ("settings", "says"), [({"eps": 1e-300}, "eps must be in"), ({"influence": KL(smoothing=1e300)}, "smoothing of KL")]
)
def test_numbers_that_would_overflow_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        affinity(np.abs(X).astype(np.float32), LABELS, **{"influence": "euclidean"} | settings)


@pytest.mark.parametrize("size", [1e71, 1e200, 1e-80, 1e-200])
@pytest.mark.parametrize("influence", ["euclidean", "within", "cosine", "rbf"])
def test_tables_of_extreme_numbers_are_refused_with_a_remedy(size, influence):
    with pytest.raises(ValueError, match=r"X is too (large|small).*[Rr]escale"):
        affinity(X * size, LABELS, influence=influence)


def test_new_rows_may_be_tiny_but_not_huge():
    scorer = AffinityScorer().fit(X, LABELS)
    assert np.isfinite(scorer.transform(X[:2] * 1e-200)).all()
    with pytest.raises(ValueError, match="X is too large"):
        scorer.transform(X * 1e71)
    with pytest.raises(ValueError, match="centers is too large"):
        affinity(X, centers=X[:3] * 1e71)


@pytest.mark.parametrize("influence", ["euclidean", "cosine"])
def test_clusters_that_nearly_coincide_next_to_a_large_column_are_refused(influence):
    tiny = np.column_stack([X * 1e-200, np.full(len(X), 3.0)])
    with pytest.raises(ValueError, match=r"clusters of X are at most .* apart"):
        affinity(tiny, LABELS, influence=influence)


def test_trust_of_five_rows_needs_no_curvature():
    rows = [[-2.082446637269783, -1.4462462042061495], [-1.3240043009123699, -1.5652540307476046],
            [0.15855122239945296, -0.027573423368158875], [-2.2549487528098653, -0.017158637599052957],
            [0.010044851965725224, 1.2447754526476587]]  # fmt: skip
    scorer = AffinityScorer(calibration=3, eps=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no stand-in reproduces the labels
        for Z in (np.array(rows), sp.csr_array(rows)):  # k-means draws other starts for sparse rows
            trusted = scorer.fit_affinity(Z, [0, 1, 2, 3, 3]).trust
            assert ((trusted >= 0.0) & (trusted <= 1.0)).all()


def test_trust_where_hdbscan_finds_no_cluster_in_normal_data():
    rng = np.random.default_rng(0)
    groups = np.vstack([rng.normal(size=(30, 2)), rng.normal([4.0, 0.0], 1.0, size=(30, 2))])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = trust(groups, clusterer=HDBSCAN(min_cluster_size=10, copy=True), n_resamples=3)
    assert 0.0 < result.replication < 1.0


def test_a_word_among_numeric_labels_is_a_label(tmp_path):
    """Once: a missing label, so that its row was left out."""
    path = tmp_path / "words.csv"
    lines = [f"r{i},{i * 7 % 11},{i * 5 % 13},{i % 3}" for i in range(33)]
    path.write_text("\n".join(["id,x,y,kind", *lines, "last,0.5,1.0,c0\n"]))
    plan = propose(path, labels=["kind"])
    assert not [finding for finding in plan.findings if finding.kind == "labels"]
    (batch,) = open_table(path).batches(["kind"])
    assert batch["kind"].to_pylist() == [*(str(i % 3) for i in range(33)), "c0"]
