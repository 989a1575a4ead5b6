"""Bad input: always a ValueError or TypeError that names the argument, and never a half-fitted estimator."""

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, KMeans
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from allegiance import AffinityScorer, Calibration, trust
from allegiance.domains import Box, Polytope
from allegiance.engines import Auto, Exact, HitAndRun, SharedSamples
from allegiance.influence import KL, ItakuraSaito, Kernel, Weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
LABELS = np.arange(12) % 3
CENTERS = X[:3]


def with_entry(values: np.ndarray, entry: Any) -> np.ndarray:
    """Return a copy of an array with one entry replaced."""
    values = np.array(values, dtype=np.result_type(np.asarray(values), np.asarray(entry)))
    values.flat[4] = entry
    return values


def case(kind: type[Exception] | tuple[type[Exception], ...], name: str, *data: Any, id: str, **settings: Any) -> Any:
    """Name a bad call: the error it must raise, what its message must name, then X, labels and settings."""
    given = {"X": X, "labels": LABELS, **dict(zip(("X", "labels"), data, strict=False))}
    return pytest.param(kind, name, given["X"], given["labels"], settings, id=f"{name.partition('.')[0]}: {id}")


def cases(kind: type[Exception], name: str, *values: Any, says: str | None = None) -> list[Any]:
    """Name the bad calls that give each of ``values`` for one setting, and what the message says if not its name."""
    # Processes that share the tests must agree on their names, so that none may hold an address or a path.
    unstable = [callable(value) or isinstance(value, np.ndarray | ModuleType) for value in values]
    shown = [type(value).__name__ if bad else repr(value) for value, bad in zip(values, unstable, strict=True)]
    return [case(kind, says or name, id=text, **{name: value}) for text, value in zip(shown, values, strict=True)]


BAD_DATA = [
    case(ValueError, "X", with_entry(X, np.nan), id="NaN"),
    case(ValueError, "X", with_entry(X, np.inf), id="inf"),
    case(ValueError, "X", with_entry(X, -np.inf), id="-inf"),
    case(ValueError, "X", with_entry(X.astype(np.float32), np.float32(np.nan)), id="NaN in float32"),
    case(ValueError, "X", sp.csr_array(with_entry(X, np.nan)), id="NaN in CSR"),
    case(ValueError, "X", np.sign(X) * np.finfo(float).max, id="too large to subtract"),
    case(ValueError, "X", np.ma.masked_less(X, -1), id="masked"),
    case(TypeError, "X", SimpleNamespace(obsm={"X_pca": X}, obs={}), id="AnnData"),
    case(TypeError, "X", {"a": X[:, 0]}, id="dict"),
    case(TypeError, "X", object(), id="object"),
    case(ValueError, "X", X[:, 0], id="1-D"),
    case(ValueError, "X", X[0, 0], id="scalar"),
    case(ValueError, "X", X[None], id="3-D"),
    case(ValueError, "X", np.empty((0, 3)), [], id="no rows"),
    case(ValueError, "X", np.empty((12, 0)), id="no columns"),
    case(ValueError, "X", np.full((12, 3), "text"), id="text"),
    case(ValueError, "X", X + 1j, id="complex"),
    case((TypeError, ValueError), "X", None, id="None"),
]
BAD_LABELS = [
    case(ValueError, "labels", X, LABELS[:-1], id="too short"),
    case(ValueError, "labels", X, np.append(LABELS, 0), id="too long"),
    case(ValueError, "labels", X, [], id="empty"),
    case(ValueError, "labels", X, LABELS[:, None], id="2-D"),
    case(ValueError, "labels", X, 3, id="scalar"),
    case(ValueError, "labels", X, with_entry(LABELS, np.nan), id="NaN"),
    case(ValueError, "labels", X, with_entry(LABELS, np.inf), id="inf"),
    case(ValueError, "labels", X, with_entry(LABELS, 0.5), id="fractional"),
    case(ValueError, "labels", X, X[:, 0], id="a target of regression"),
    case(ValueError, "labels", X, [None, *LABELS[1:].tolist()], id="None among them"),
    case(ValueError, "labels", X, [None] * 12, id="all None"),
    case(TypeError, "labels", X, np.array(["a", *LABELS[1:].tolist()], dtype=object), id="mixed types"),
    case(TypeError, "labels", X, ["a", "b", -1] * 4, id="names with -1 for noise, as a list"),
    case(TypeError, "labels", X, LABELS + 1j, id="complex"),
    case(TypeError, "labels", X, np.array(["2020-01-01"] * 12, dtype="datetime64[D]"), id="dates"),
    case(ValueError, "labels", X, np.full(12, -1), id="only noise"),
    case(ValueError, "labels", X, np.full(12, -1.0), id="only noise, as floats"),
    case(ValueError, "labels", X, None, id="nothing given"),
]
BAD_CENTERS = [
    case(ValueError, "centers", X, None, centers=CENTERS[:, :2], id="too narrow"),
    case(ValueError, "centers", X, None, centers=np.ones((3, 4)), id="too wide"),
    case(ValueError, "centers", X, None, centers=with_entry(CENTERS, np.nan), id="NaN"),
    case(ValueError, "centers", X, None, centers=with_entry(CENTERS, np.inf), id="inf"),
    case(ValueError, "centers", X, None, centers=np.sign(CENTERS) * np.finfo(float).max, id="too large to subtract"),
    case(ValueError, "centers", X, None, centers=CENTERS[0], id="1-D"),
    case(ValueError, "centers", X, None, centers=CENTERS[None], id="3-D"),
    case(ValueError, "centers", X, None, centers=3, id="a number"),
    case(ValueError, "centers", X, None, centers=np.empty((0, 3)), id="none at all"),
    case(TypeError, "centers", X, None, centers="kmeans", id="text"),
    case(TypeError, "centers", X, None, centers=[["a", "b", "c"]], id="array of text"),
    case((TypeError, ValueError), "centers", X, None, centers=[[1, 2, 3], [4, 5]], id="ragged"),
    case(TypeError, "centers", X, None, centers=CENTERS + 1j, id="complex"),
    case(ValueError, "centers", centers=CENTERS[:2], id="fewer than the clusters of labels"),
    case(ValueError, "labels", X, LABELS + 5, centers=X[:4], id="labels that name no centre"),
    case(ValueError, "labels", X, LABELS - 2, centers=CENTERS, id="negative labels"),
]
BAD_SETTINGS = [
    *cases(ValueError, "eps", 0, 0.0, 1, 1.5, -0.1, np.nan, np.inf),
    *cases(TypeError, "eps", "0.1", None, True, [0.1], 0.1j),
    *cases(ValueError, "engine", "fast", "EXACT", "", "rejection"),
    *cases(TypeError, "engine", None, 3, ["auto"], Exact, Box()),
    *cases(ValueError, "engine", SharedSamples(0), Auto(-5), HitAndRun(0), SharedSamples(10**30), says="max_samples"),
    *cases(TypeError, "engine", Auto(1e3), Auto("1000"), SharedSamples(None), HitAndRun(True), says="max_samples"),
    *cases(ValueError, "domain", "cube", "None", "", "polytope"),
    *cases(TypeError, "domain", None, 3, False, [[0, 1]], Polytope, np.eye(3), Exact()),
    *cases(ValueError, "domain", Box(-0.1), Box(-1), Box(np.nan), Box(np.inf), Box(1e300), says="margin of Box"),
    *cases(TypeError, "domain", Box("wide"), Box(None), Box([0.1]), Box(True), says="margin of Box"),
    *cases(ValueError, "representative", "mode", None, 0, np.mean),
    *cases(ValueError, "influence", "manhattan", "exponential", "", "mahalanobis"),
    *cases(TypeError, "influence", None, 2, np.array(["euclidean"]), KL, Box()),
    *cases(ValueError, "influence", KL(-1.0), KL(np.nan), ItakuraSaito(-1.0), says="smoothing of"),
    *cases(TypeError, "influence", KL("a little"), KL(None), says="smoothing of KL"),
    *cases(ValueError, "influence", Kernel("gauss"), Kernel(3), Kernel(["rbf"]), says="kernel"),
    *cases(ValueError, "influence", Kernel("precomputed", gamma=1.0), says=r"Kernel\('precomputed'\) got gamma"),
    *cases(ValueError, "weights", "big", [1, 2], 1.0, np.ones((3, 1)), [1, 2, np.nan], [1, 2, np.inf]),
    *cases(TypeError, "weights", ["a", "b", "c"], [1, 2, 3j]),
    *cases(ValueError, "weights", Weights("size", query=np.nan), says="query of Weights"),
    *cases(TypeError, "weights", Weights("size", query="1"), Weights("size", query=[1.0]), says="query of Weights"),
    *cases(ValueError, "weights", *(Weights("size", value) for value in ("big", 0.0, -1.0, np.nan)), says="scale of"),
    *cases(TypeError, "weights", Weights("size", None), Weights("size", [1.0]), says="scale of Weights"),
    *cases(ValueError, "calibration", 0, 1, -3, says="n_resamples"),
    *cases(TypeError, "calibration", 2.5, "20", [20], says="n_resamples"),
    *cases(ValueError, "calibration", Calibration(rows_per_subsample=1), says="rows_per_subsample"),
    *cases(ValueError, "calibration", Calibration(size_prior=-1.0), says="size_prior"),
    *cases(TypeError, "calibration", Calibration(clusterer=KMeans), Calibration(clusterer="k"), says="clusterer"),
    *cases(ValueError, "n_jobs", 0),
    *cases(TypeError, "n_jobs", "all", 1.0, True),
    *cases(ValueError, "random_state", -1, -(2**70)),
    *cases(TypeError, "random_state", "seed", 1.5, True, [1, 2], np.random),
]
MANY = RNG.normal(size=(30, 12))
SIMPLICES = RNG.normal(size=(400, 7))
CANNOT_SERVE = [
    case(ValueError, "engine", engine="exact", domain="ball", id="exact in a ball"),
    case(ValueError, "engine", MANY, np.arange(30) % 11, engine="exact", id="exact in ten dimensions"),
    case(ValueError, "engine.*simplices", SIMPLICES, np.arange(400) % 40, engine="exact", id="too many simplices"),
    case(ValueError, "engine", engine="closed-form", id="closed form in a box"),
    case(ValueError, "engine", engine="closed-form", domain="ball", id="closed form in a ball"),
    case(ValueError, "engine", X[:, :1], LABELS, engine="closed-form", domain="space", id="three sites on a line"),
    case(ValueError, "domain", domain=Polytope.box([0, 0], [1, 1]), id="Polytope of another width"),
    case(ValueError, r"influence='mahalanobis' needs covariance: pass Mahalanobis", influence="mahalanobis", id="bare"),
    case(ValueError, "within", X[:3], [0, 1, 2], influence="within", id="within without variation"),
    case(ValueError, r"X.*row 0, column 1", influence="kl", id="negative counts"),
    case(ValueError, r"centers.*row 0, column 1", abs(X), None, centers=CENTERS, influence="kl", id="negative centers"),
    case(ValueError, "smoothing", np.zeros((12, 3)), influence="kl", id="zeros in counts"),
    case(TypeError, "X", sp.csr_array(np.abs(X)), influence="kl", id="sparse counts"),
    case(ValueError, "influence.*centers", influence="rbf", centers=CENTERS, id="kernel and centers"),
    case(ValueError, "influence.*representative", influence="rbf", representative="medoid", id="kernel and medoids"),
    case(ValueError, "domain.*influence", influence="rbf", domain=Polytope.box([0] * 3, [1] * 3), id="and a kernel"),
    case(ValueError, "domain.*Cosine", influence="cosine", domain=Polytope.box([0] * 3, [1] * 3), id="and cosine"),
    case(ValueError, "domain.*divergence", abs(X[:, :2]), influence="kl", domain="space", id="space and KL"),
    case(ValueError, "gamma of Kernel", influence=Kernel("rbf", gamma=-1.0), id="negative"),
    case(TypeError, "representative", sp.csr_array(X), representative="median", id="median of sparse X"),
]
EVERYTHING = BAD_DATA + BAD_LABELS + BAD_CENTERS + BAD_SETTINGS + CANNOT_SERVE


@pytest.mark.parametrize(("kind", "name", "X", "labels", "settings"), EVERYTHING)
def test_bad_calls_name_the_argument_and_leave_nothing_fitted(kind, name, X, labels, settings):
    scorer = AffinityScorer(**settings)
    with pytest.raises(kind, match=rf"\b{name}\b"):
        scorer.fit(X, labels)
    with pytest.raises(NotFittedError):
        check_is_fitted(scorer)
    with pytest.raises(NotFittedError):
        scorer.affinity(np.zeros((2, 3)))


class TestPolytope:
    SQUARE = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])

    @pytest.mark.parametrize(
        ("A", "b", "says"),
        [
            (SQUARE, [1, -2, 1, 1], "no interior"),
            (SQUARE, [1, -1, 1, 1], "no interior"),
            (SQUARE[:3], [1, 1, 1], "unbounded"),
            ([[1.0, 0.0]], [1.0], "unbounded"),
            (np.empty((0, 2)), [], "unbounded"),
            ([[0.0, 0.0]], [1.0], "unbounded"),
            (np.vstack([SQUARE, [[0.0, 0.0]]]), [1, 1, 1, 1, -1], "no interior"),
            (SQUARE, [1, 1, 1], "shape"),
            (SQUARE, np.ones((4, 1)), "shape"),
            (SQUARE[0], [1], "shape"),
            (np.empty((4, 0)), np.ones(4), "shape|column"),
            (with_entry(SQUARE, np.nan), np.ones(4), "finite"),
            (with_entry(SQUARE, np.inf), np.ones(4), "finite"),
            (SQUARE, [1, 1, 1, np.nan], "finite"),
            ("text", [1], ""),
            ([["a", "b"]], [1], ""),
            (SQUARE, "text", ""),
            (SQUARE + 1j, np.ones(4), ""),
            (None, None, ""),
        ],
    )
    def test_bad_walls(self, A, b, says):
        with pytest.raises((TypeError, ValueError), match=rf"(Polytope|\bA\b|\bb\b).*({says})"):
            Polytope(A, b).check()

    @pytest.mark.parametrize(
        ("lower", "upper"),
        [([0, 0], [1, 0]), ([0, 2], [1, 1]), ([0, 0], [1, np.nan]), ([0], [1, 1]), (0, 1), ([], [])],
        ids=["flat", "crossed", "NaN", "other length", "numbers", "no dimension"],
    )
    def test_bad_corners(self, lower, upper):
        with pytest.raises(ValueError, match=r"lower|Polytope|\bA\b"):
            Polytope.box(lower, upper).check()


class TestNewPoints:
    @pytest.mark.parametrize("method", ["affinity", "transform", "predict", "score_samples"])
    @pytest.mark.parametrize(
        "points",
        [X[:, :2], np.hstack([X, X]), X[:, 0], np.empty((0, 3)), with_entry(X, np.nan), with_entry(X, np.inf)],
        ids=["too narrow", "too wide", "1-D", "no rows", "NaN", "inf"],
    )
    def test_bad_points(self, method, points):
        scorer = AffinityScorer().fit(X, LABELS)
        with pytest.raises(ValueError, match=r"\bX\b"):
            getattr(scorer, method)(points)

    @pytest.mark.parametrize(("engine", "row"), [("closed-form", 1), ("shared", 0)])
    def test_the_row_that_an_engine_cannot_serve_is_named(self, engine, row):
        """The closed form serves only points inside the hull, shared samples only those outside."""
        scorer = AffinityScorer(engine=engine, domain="space").fit(X, LABELS)
        inside, outside = scorer.cluster_centers_.mean(axis=0), 100 * scorer.cluster_centers_[0]
        assert set(scorer.affinity([outside if row == 0 else inside]).frame(details=True)["engine"]) == {engine}
        with pytest.raises(ValueError, match=rf"engine=\w+\(\).*row {row}\b"):
            scorer.affinity([inside, outside])


@pytest.mark.parametrize(
    ("estimator", "kind", "says"),
    [
        *((thing, TypeError, r"\bestimator\b") for thing in (KMeans, "kmeans", 3)),
        (np.mean, ValueError, "function mean must return one label for each of"),
        (DBSCAN(eps=1e-9), ValueError, "labels.*noise"),
        (KMeans(100), ValueError, "n_samples"),
    ],
    ids=["class", "text", "number", "function", "clusters nothing", "fails"],
)
def test_an_estimator_that_cannot_serve_leaves_nothing_fitted(estimator, kind, says):
    scorer = AffinityScorer(estimator)
    with pytest.raises(kind, match=says):
        scorer.fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(scorer)


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ({}, ValueError, "labels are missing: pass labels, clusterer="),
        ({"clusterer": KMeans}, TypeError, "clusterer must be"),
        ({"clusterer": "k-means"}, TypeError, "clusterer must be"),
    ],
)
def test_trust_names_its_own_arguments(given, kind, says):
    with pytest.raises(kind, match=f"^{says}"):
        trust(X, **given)
