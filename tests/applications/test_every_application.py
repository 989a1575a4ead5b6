"""What holds for all applications: bad input that is named, data in single precision."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import (
    ActiveKMeans,
    AffinityScorer,
    ConsensusClustering,
    IncrementalKMeans,
    compare_clusterings,
    stability_curve,
    validate_consensus,
)
from allegiance.influence import Kernel
from allegiance.metrics import lift_emd

ESTIMATORS = [ActiveKMeans, IncrementalKMeans, ConsensusClustering]
X, LABELS = make_blobs(300, 6, centers=4, cluster_std=0.7, random_state=3)
SINGLE = X.astype(np.float32)
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)


def bad(name, *values, kind=ValueError, says=None):
    """List one case for each bad value of an argument, whose name the message has unless it ``says`` more."""
    return [(name, value, kind, says or name) for value in values]


BAD_SETTINGS = {
    ActiveKMeans: [
        *bad("n_clusters", 0, 301),
        *bad("sample_size", 0, 1.5),
        *bad("sample_size", "sqrt(n)", kind=TypeError),
        *bad("stable_fraction", 1.1, np.nan),
        *bad("stable_fraction", "auto", kind=TypeError),
        *bad("n_init", 0),
    ],
    IncrementalKMeans: [
        *bad("n_clusters", 0),
        *bad("init_size", 0),
        *bad("max_pending", 0),
    ],
    ConsensusClustering: [
        *bad("n_clusters", 0, 301),
        *bad("clusterings", []),
        *bad("clusterings", KMeans(2), "kmeans", kind=TypeError, says="clusterings must be a dictionary"),
        *bad("clusterings", [KMeans], kind=TypeError, says=r"clusterings\['KMeans'\]"),
        *bad("clusterings", {"a": [0, 1]}, says=r"clusterings \(a\)"),
        *bad("clusterings", [[-1] * 300], says="no cluster"),
        *bad("clusterings", [DBSCAN().fit([[0.0], [1.0]])], says="fitted to data other than"),
        *bad("method", "ward"),
        *bad("kernel", "linear"),
        *bad("kernel", Kernel("rbf", gamma=-1), says="gamma of Kernel"),
    ],
}
EVERYWHERE = [*bad("n_jobs", 0), *bad("random_state", -1), *bad("random_state", "x", kind=TypeError)]


@pytest.mark.parametrize(
    ("estimator", "name", "value", "kind", "says"),
    [(estimator, *case) for estimator in ESTIMATORS for case in BAD_SETTINGS[estimator] + EVERYWHERE],
)
def test_bad_settings_are_named_and_nothing_is_fitted(estimator, name, value, kind, says):
    for method in ("fit", "partial_fit") if estimator is IncrementalKMeans else ("fit",):
        model = estimator(n_clusters=4).set_params(**{name: value})
        with pytest.raises(kind, match=says):
            getattr(model, method)(X)
        with pytest.raises(NotFittedError):
            model.predict(X)


@each_estimator
@pytest.mark.parametrize(
    "data",
    [np.ones(5), np.empty((0, 2)), [[1, np.nan]] * 9, [[1, np.inf]] * 9, [["a", "b"]] * 9, np.eye(9) * 1e200, None],
    ids=["1-D", "no rows", "NaN", "inf", "text", "too large", "None"],
)
def test_bad_data_are_named_and_nothing_is_fitted(estimator, data):
    model = estimator(n_clusters=2)
    with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
        model.fit(data)
    with pytest.raises(NotFittedError):
        model.predict(X)


FEW, GROUPS = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 3
CURVE = {"X": FEW, "clusterer": KMeans(n_init=1), "values": (2, 3), "n_references": 2, "n_resamples": 2, "n_jobs": 1}
COMPARISON = {"X": FEW, "clusterings": {"mine": GROUPS}}
VALIDATION = {"X": FEW, "clusterings": [GROUPS], "consensus": GROUPS}
PIPELINE = make_pipeline(StandardScaler(), KMeans())
BAD_ARGUMENTS = {
    (stability_curve, "curve"): [
        *bad("X", np.where(FEW > 1, np.nan, FEW), FEW[:, 0], np.empty((0, 3)), np.sign(FEW) * 1e308, says=r"\bX\b"),
        *bad("X", None, kind=(TypeError, ValueError), says=r"\bX\b"),
        *bad("X", sp.csr_array(FEW), kind=TypeError, says="X is sparse"),
        *bad("clusterer", None, KMeans, lambda k: None, kind=TypeError),
        *bad("clusterer", DBSCAN(), PIPELINE, kind=TypeError, says="param="),
        *bad("param", "resolution", says="param='resolution'"),
        *bad("values", 3, "23", [2.5], kind=TypeError),
        *bad("values", [], [1, 2], [2, 13]),
        *bad("n_references", 1),
        *bad("n_references", 2.0, kind=TypeError),
        *bad("n_resamples", 1),
        *EVERYWHERE,
    ],
    (compare_clusterings, "comparison"): [
        *bad("clusterings", None, GROUPS, KMeans(3), kind=TypeError),
        *bad("clusterings", {}),
        *bad("scorer", AffinityScorer(KMeans(3), calibration=5), says="estimator"),
        *bad("scorer", AffinityScorer(centers=FEW[:3], calibration=5), says="centers"),
        *bad("scorer", AffinityScorer(), says="calibration"),
        *bad("scorer", AffinityScorer(calibration=1), says="n_resamples"),
        *bad("scorer", KMeans(3), kind=TypeError, says="AffinityScorer"),
    ],
    (validate_consensus, "validation"): [
        *bad("clusterings", []),
        *bad("clusterings", "kmeans", kind=TypeError),
        *bad("clusterings", [[0, 1]], says="labels has 2 entries"),
        *bad("clusterings", [0, 1] * 6, kind=(TypeError, ValueError), says="labels"),
        *bad("consensus", [0, 1], says="labels has 2 entries"),
        *bad("scorer", AffinityScorer(), says="calibration"),
    ],
}
GOOD = {"curve": CURVE, "comparison": COMPARISON, "validation": VALIDATION}


@pytest.mark.parametrize(
    ("function", "good", "name", "value", "kind", "says"),
    [(*function, *case) for function, cases in BAD_ARGUMENTS.items() for case in cases],
)
def test_bad_arguments_are_named(function, good, name, value, kind, says):
    with pytest.raises(kind, match=says):
        function(**GOOD[good] | {name: value})


def test_values_of_a_curve_are_numbers():
    with pytest.raises(TypeError, match="values"):
        stability_curve(**CURVE | {"values": ["a"], "param": "init"})


@pytest.mark.parametrize(
    "labels",
    [GROUPS[:-1], GROUPS[:, None], np.full(12, -1), GROUPS + 0.5, None, "k-means", KMeans],
    ids=["too short", "2-D", "only noise", "fractional", "None", "a name", "a class"],
)
def test_a_bad_candidate_is_named(labels):
    with pytest.raises((TypeError, ValueError), match="labels") as caught:
        compare_clusterings(FEW, {"good": GROUPS, "bad one": labels})
    message = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "'bad one'" in message


@each_estimator
def test_clusters_are_the_same_in_single_precision(estimator):
    actual = [estimator(n_clusters=4, random_state=0).fit(data).labels_ for data in (X, SINGLE)]
    assert adjusted_rand_score(*actual) == 1.0


def test_figures_are_nearly_the_same_in_single_precision():
    other = np.roll(LABELS, 5)
    assert lift_emd(SINGLE, LABELS, other) == pytest.approx(lift_emd(X, LABELS, other), abs=1e-6)
    clusterer, scorer = KMeans(4, n_init=1, random_state=0), AffinityScorer(calibration=4)
    candidates = {"k-means": clusterer, "truth": LABELS}
    double, single = (compare_clusterings(data, candidates, scorer=scorer).trust for data in (X, SINGLE))
    np.testing.assert_allclose(single, double, atol=1e-4)
    assert (validate_consensus(SINGLE, [LABELS], LABELS, scorer=scorer).gain == 0).all()
    actual = [stability_curve(data, clusterer, (3, 4, 5), n_references=3).suggestion for data in (X, SINGLE)]
    assert actual == [4, 4]
