"""Saved models: the same scores to the last bit, or a clear refusal, also of files that were made to do harm."""

import contextlib
import copy
import io
import json
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler

from allegiance import AffinityScorer, Calibration, load
from allegiance.domains import Ball, Box, Polytope
from allegiance.drift import compare_periods
from allegiance.engines import HitAndRun
from allegiance.influence import KL, Bregman, ItakuraSaito, Kernel, Mahalanobis, Weights
from allegiance.io import Model, open_table, propose
from allegiance.io.encoding import decode, encode
from allegiance.io.saved import VERSION, read_state, write_state
from tables import customers

IRIS = load_iris().data
LABELS = KMeans(3, n_init=1, random_state=0).fit_predict(IRIS)

SETTINGS: dict[str, dict[str, Any]] = {
    "euclidean": {},
    "weights": {"weights": Weights("size", scale="auto")},
    "given weights": {"weights": Weights([0.1, 0.2, 0.3], query=0.05)},
    "weights as an array": {"weights": np.array([0.1, 0.2, 0.3])},
    "mahalanobis": {"influence": Mahalanobis(np.cov(IRIS.T))},
    "kl in a ball": {"influence": KL(), "domain": "ball"},
    "smoothed": {"influence": ItakuraSaito(smoothing=0.5)},
    "polynomial": {"influence": Kernel("polynomial", degree=2, gamma=np.float32(0.1))},
    "cosine": {"influence": "cosine"},
    "ball": {"domain": Ball()},
    "margin": {"domain": Box(margin=0.5)},
    "whole space": {"domain": "space"},
    "own region": {"domain": Polytope.box([0.0] * 4, [9.0] * 4)},
    "own region, as lists": {
        "domain": Polytope([[1, 0, 0, 0], *(-np.eye(4)).tolist(), [1, 1, 1, 1]], [9, 0, 0, 0, 0, 30])
    },
    "shared": {"engine": "shared"},
    "walk": {"engine": HitAndRun(max_samples=200_000)},
    "given centers": {"centers": IRIS[:3].tolist()},
    "median": {"representative": "median"},
    "calibrated by a clusterer": {"calibration": Calibration(3, clusterer=AgglomerativeClustering(3))},
}


def fitted(**settings: Any) -> AffinityScorer:
    # Without a seed: the one that was drawn must be part of the state.
    return AffinityScorer(**{"random_state": None} | settings).fit(IRIS, LABELS)


SCORES = ("affinity", "standard_error", "label", "classes", "typicality")
TRUST = ("trust", "replication", "replication_interval")


def assert_scores_alike(one: AffinityScorer, *others: AffinityScorer, X: Any = IRIS) -> None:
    first = one.affinity(X)
    for second in (other.affinity(X) for other in others):
        for name in (*SCORES, *TRUST) if first.summary().replication is not None else SCORES:
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
        assert first.frame(details=True).equals(second.frame(details=True))
        assert first.summary().note == second.summary().note


def saved_and_loaded(scorer: AffinityScorer, folder: Path, X: Any = IRIS) -> AffinityScorer:
    """Return a loaded scorer: it and a pickle have the same scores, and it gives the same file if saved again."""
    scorer.save(folder / "a.model")
    loaded = load(folder / "a.model")
    assert_scores_alike(scorer, loaded, pickle.loads(pickle.dumps(scorer)), X=X)
    loaded.save(folder / "b.model")
    assert (folder / "a.model").read_bytes() == (folder / "b.model").read_bytes()
    return loaded


#: Loaded every day; the others in the slow run.
DAILY = ("kl in a ball", "own region", "given weights", "calibrated by a clusterer")


@pytest.mark.parametrize(
    "name", [name if name in DAILY else pytest.param(name, marks=pytest.mark.slow) for name in SETTINGS]
)
def test_a_loaded_scorer_gives_the_same_bits(name, tmp_path):
    saved_and_loaded(fitted(**SETTINGS[name]), tmp_path)


@pytest.mark.parametrize(
    "labels", [np.array(["a", "b", "c"])[LABELS], LABELS * 7, LABELS == 1, LABELS.astype(float) + 2]
)
def test_labels_of_any_kind_come_back(labels, tmp_path):
    scorer = AffinityScorer(random_state=0).fit(IRIS, labels)
    assert saved_and_loaded(scorer, tmp_path).classes_.dtype == scorer.classes_.dtype


def test_a_loaded_scorer_is_an_ordinary_one(tmp_path):
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    # Its clusterer takes the nearest by Euclidean distance, though influence is measured otherwise.
    scorer = AffinityScorer(KMeans(3, n_init=1, random_state=0), influence="within", random_state=0).fit(frame)
    loaded = saved_and_loaded(scorer, tmp_path, frame)
    assert list(loaded.feature_names_in_) == list("abcd")
    assert loaded.get_feature_names_out().size == 3
    np.testing.assert_array_equal(loaded.cluster_centers_, scorer.cluster_centers_)
    np.testing.assert_array_equal(loaded.predict(frame), scorer.labels_)
    assert not hasattr(loaded, "labels_")
    assert loaded.estimator is None
    assert_scores_alike(loaded, pickle.loads(pickle.dumps(loaded)), X=frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.affinity(frame.rename(columns={"a": "z"}))
    again = clone(loaded).fit(frame, scorer.labels_)
    np.testing.assert_array_equal(again.transform(frame), scorer.transform(frame))


def test_state_is_plain_and_holds_no_training_data():
    state = fitted().to_dict()
    members = state.pop("members")

    def walk(value: Any) -> int:
        if isinstance(value, dict):
            return sum(walk(item) for item in value.values())
        assert value is None or type(value) in (bool, int, float, str, np.ndarray)
        return value.size if isinstance(value, np.ndarray) else 1

    assert walk(state) < IRIS.size / 4
    assert walk(members) < 3.1 * len(IRIS), "a distance, a hash and a count of each member, and nothing else of it"
    state["members"] = members
    assert_scores_alike(AffinityScorer.from_dict(state), AffinityScorer.from_dict(state))


def one_of_their_own(A: Any, B: Any) -> Any:
    return A @ B.T


class _Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


def prepared_by(transformer: Any) -> dict[str, Any]:
    return {"estimator": make_pipeline(transformer, KMeans(2, n_init=1, random_state=0))}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"influence": Kernel(one_of_their_own)}, "influence.name is <function one_of_their_own"),
        ({"influence": Bregman(lambda Y: (Y**4).sum(axis=1), lambda Y: 4 * Y**3, lambda G: np.cbrt(G / 4))},
         "influence.phi is <function"),
        (prepared_by(_Own()), r"preparation.* is _Own\(\), which cannot be saved.*StandardScaler.*Pipeline"),
        (prepared_by(PolynomialFeatures()), "PolynomialFeatures"),
        (prepared_by(KNNImputer()), "KNNImputer"),
        (prepared_by(FunctionTransformer(np.log1p)), "FunctionTransformer"),
        (prepared_by(SimpleImputer()), "SimpleImputer.*For a table with categories or missing values use"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused_by_name_and_leaves_no_file(settings, named, tmp_path):
    scorer = AffinityScorer(random_state=0, **settings).fit(IRIS, None if "estimator" in settings else LABELS)
    with pytest.raises(TypeError, match=named):
        scorer.save(tmp_path / "a.model")
    assert list(tmp_path.iterdir()) == []


def test_saving_replaces_only_with_a_complete_file(tmp_path, monkeypatch):
    path = tmp_path / "a.model"
    fitted(random_state=0).save(path)
    before = path.read_bytes()
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        fitted(random_state=1).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def rewrite(path: Path, change: Callable[[dict[str, bytes]], Any], compression: int = zipfile.ZIP_STORED) -> None:
    """Change the members of a saved scorer."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def member(name: str, content: bytes) -> Callable[[dict[str, bytes]], Any]:
    """Return a change that replaces a member."""
    return lambda files: files.update({name: content})


def in_state(**changes: Any) -> Callable[[dict[str, bytes]], Any]:
    """Return a change that replaces entries of the state, or removes them."""

    def change(files: dict[str, bytes]) -> None:
        state = json.loads(files["state.json"]) | changes
        files["state.json"] = json.dumps({name: value for name, value in state.items() if value != "gone"}).encode()

    return change


def array_with_header(header: bytes) -> Callable[[dict[str, bytes]], Any]:
    """Return a change that gives an array another header, and 64 bytes of data."""
    padded = header + b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + b"\0" * 64
    return member("region.center.npy", content)


def described(descr: bytes, shape: bytes) -> Callable[[dict[str, bytes]], Any]:
    return array_with_header(b"{'descr': " + descr + b", 'fortran_order': False, 'shape': " + shape + b", }")


PICKLED = io.BytesIO()
np.save(PICKLED, np.array([{"a": 1}], dtype=object), allow_pickle=True)
DAMAGE: dict[str, tuple[Callable[[dict[str, bytes]], Any], str]] = {
    "shorter array": (lambda files: member("centers.npy", files["centers.npy"][:-8])(files), "has 88 bytes"),
    "no array": (lambda files: files.pop("centers.npy"), "centers.npy.*missing"),
    "no state": (lambda files: files.pop("state.json"), "state.json.*missing"),
    "later version": (in_state(version=VERSION + 1), "format version 3, .* update allegiance"),
    "no version": (in_state(version="gone"), "format version None"),
    "unreleased": (in_state(version=1), r"development versions wrote before the first release.*fit and save"),
    "other format": (in_state(format="recipe"), "not the state of a scorer"),
    "unknown kind": (in_state(region={"kind": "torus"}), "torus"),
    "unknown parameters": (
        in_state(params={"influence": {"kind": "parameters", "class": "Psychic", "params": {}}}),
        "Psychic",
    ),
    "missing part": (in_state(diagram="gone"), "diagram is missing"),
    "open state": (member("state.json", b"{"), "cannot be loaded"),
    "deep objects": (member("state.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000), "cannot be loaded"),
    "deep lists": (member("state.json", b"[" * 100_000), "cannot be loaded"),
    "NaN": (member("state.json", b"NaN"), "cannot be loaded"),
    "no text": (member("state.json", b"\xff\xfe"), "cannot be loaded"),
    "no name": (
        member("state.json", b'{"format": "allegiance model", "version": 2, "a": {"array": 7}}'),
        "cannot be loaded",
    ),
    "long number": (member("state.json", b"1" * 9999), "cannot be loaded"),
    "huge": (described(b"'<f8'", b"(10000000000000,)"), "64 bytes, not those of float64"),
    "overflowing": (described(b"'<f8'", b"(1" + b"0" * 40 + b",)"), "64 bytes"),
    "negative": (described(b"'<f8'", b"(-8, -1)"), "64 bytes"),
    "short": (described(b"'<f8'", b"(7,)"), "64 bytes"),
    "long texts": (described(b"'<U900000000'", b"(0,)"), "cannot be loaded"),
    "structured": (described(b"[('a', '<f8')]", b"(8,)"), "numbers and texts"),
    "pickled": (member("region.center.npy", PICKLED.getvalue()), "cannot be loaded.*allow_pickle"),
    "objects": (described(b"'|O'", b"(8,)"), "without pickle"),
    "header of a list": (array_with_header(b"[1, 2]"), "cannot be loaded"),
    "open header": (array_with_header(b"{'descr': '<f8', 'shape': ("), "cannot be loaded"),
    "triple quote": (array_with_header(b'{\'descr\': """'), "cannot be loaded"),
    "deep header": (array_with_header(b"(" * 5000), "cannot be loaded"),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    fitted(random_state=0).save(tmp_path / "a.model")
    return tmp_path / "a.model"


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files_are_refused(name, model):
    change, says = DAMAGE[name]
    rewrite(model, change)
    with pytest.raises(ValueError, match=says) as caught:
        load(model)
    assert str(model) in str(caught.value)


def test_compressed_files_are_refused_before_they_are_unpacked(model, monkeypatch):
    rewrite(model, lambda files: None, zipfile.ZIP_DEFLATED)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("a member was read"))
    with pytest.raises(ValueError, match="is compressed"):
        load(model)


def test_sizes_are_compared_before_reading(model, monkeypatch):
    """Members that overlap, so that each has the size of the file, would need as many times its memory."""
    listed = zipfile.ZipFile.infolist

    def overlapping(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        result = listed(archive)
        for entry in result[1:]:
            entry.file_size = entry.compress_size = model.stat().st_size
        return result

    monkeypatch.setattr(zipfile.ZipFile, "infolist", overlapping)
    with pytest.raises(ValueError, match="longer than the file"):
        load(model)


def encrypted(content: bytes) -> bytes:
    """Set the bit that says so in every entry of the central directory."""
    changed = bytearray(content)
    position = -1
    while (position := content.find(b"PK\x01\x02", position + 1)) >= 0:
        changed[position + 8] |= 1
    return bytes(changed)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (encrypted, "is encrypted"),
        (lambda content: content.replace(b"allegiance model", b"allegiance modem"), "damaged.*CRC"),
        (lambda content: b"", "not a saved model, or is damaged"),
        (lambda content: content[:-200], "damaged"),
        (lambda content: content[100:], "damaged"),
        (lambda content: content[:200] + content[150:], "damaged"),
    ],
    ids=["encrypted", "a letter changed", "empty", "truncated", "beheaded", "spliced"],
)
def test_archives_that_are_none_are_refused(change, says, model):
    model.write_bytes(change(model.read_bytes()))
    with pytest.raises(ValueError, match=says):
        load(model)


# Files that were made to do harm: their checksums fit, their contents do not.

SPARSE = sp.csr_array(np.where(IRIS > 1.5, IRIS, 0.0))
GRAM = IRIS @ IRIS.T
SPECIES = load_iris().target

#: Between them they hold every kind of object that can be saved.
SCORERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "power": (IRIS, {"weights": Weights([0.1, 0.2, 0.3]), "influence": "within", "calibration": 3}),
    "bregman": (IRIS[:, :3], {"influence": "kl", "weights": "size"}),
    "kernel": (IRIS, {"influence": "rbf"}),
    "sparse": (SPARSE, {"influence": "polynomial"}),
    "precomputed": (GRAM, {"influence": "precomputed"}),
    "fourier": (IRIS, {"influence": Kernel("rbf", approximation="fourier")}),
    "nystroem": (IRIS, {"influence": Kernel("rbf", approximation="nystroem")}),
    "sketch": (IRIS, {"influence": Kernel("polynomial", approximation="hashing")}),
}


@pytest.fixture(scope="module", params=SCORERS)
def scorer(request: pytest.FixtureRequest) -> tuple[AffinityScorer, Any]:
    X, settings = SCORERS[request.param]
    return AffinityScorer(random_state=0, **settings).fit(X, SPECIES), X


def test_a_scorer_of_any_rows_comes_back(scorer, tmp_path):
    """Sparse ones and those of a precomputed kernel included."""
    fitted, X = scorer
    saved_and_loaded(fitted, tmp_path, X)


def arrays(state: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where the arrays of a state are, those of parameters aside: these are checked like any user's."""
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            yield (*path, name)
        elif isinstance(value, dict) and name != "params":
            yield from arrays(value, (*path, name))


def changed(state: dict[str, Any], path: tuple[str, ...], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a state with one of its values replaced."""
    name, *rest = path
    inner = changed(state[name], tuple(rest), change) if rest else change(state[name])
    return state | {name: inner}


def with_last(value: Any, entry: Any) -> Any:
    if not value.size:
        return value[None]
    value = value.copy()
    if value.dtype.kind == "i":
        entry = np.clip(entry, np.iinfo(value.dtype).min, np.iinfo(value.dtype).max)
    value.flat[-1] = entry
    return value


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a row less": lambda array: array[:-1] if array.size else array[None],
    "a row more": lambda array: np.concatenate([array, array[-1:]]) if array.size else array[None],
    "a side more": lambda array: array[None],
    "no entry": lambda array: array[:0] if array.size else array[None],
    "texts": lambda array: np.full(array.shape, "NaN", "U3"),
    "complex": lambda array: array.astype(complex) if array.dtype.kind in "fiu" else array[None],
    "NaN": lambda array: with_last(array, np.nan) if array.dtype.kind == "f" else array[None],
    "infinite": lambda array: with_last(array, -np.inf) if array.dtype.kind == "f" else array[None],
    "far out": lambda array: with_last(array, 2**40) if array.dtype.kind == "i" else array[None],
    "negative": lambda array: with_last(array, -(2**40)) if array.dtype.kind == "i" else array[None],
    "not an array": lambda array: array.tolist(),
    "a number": lambda _: 1.0,
}
#: Names of clusters may be any, numbers too, and there is nothing to compare these arrays with.
FREE = {("classes", "texts"), ("classes", "far out"), ("classes", "negative")}


def test_no_array_that_does_not_fit_is_loaded(scorer):
    """Once: indices of sparse rows out of range were loaded, and scoring corrupted the heap."""
    fitted, _ = scorer
    state = fitted.to_dict()
    loaded = []
    for path in arrays(state):
        for name, change in CHANGES.items():
            if (path[-1], name) in FREE:
                continue
            with contextlib.suppress(ValueError):
                AffinityScorer.from_dict(changed(state, path, change))
                loaded.append((".".join(path), name))
    assert loaded == []


CALIBRATED: dict[str, Any] = {"calibration": 3, "influence": "within"}


@pytest.mark.parametrize(
    ("settings", "path", "change", "says"),
    [
        (CALIBRATED, "n_features", lambda _: 5, "length 4"),
        (CALIBRATED, "n_features", lambda _: "4", "whole number"),
        (CALIBRATED, "classes", lambda _: np.array([0, 1, 1]), "each cluster once"),
        (CALIBRATED, "region.scale", lambda _: np.zeros(2), "region.scale"),
        (CALIBRATED, "region.half_width", lambda _: -1.0, "region.half_width"),
        (CALIBRATED, "region.half_width", lambda _: True, "region.half_width must be a number"),
        (CALIBRATED, "trust_map.chance", lambda _: 7.0, "trust_map.chance"),
        (CALIBRATED, "diagram.kind", lambda _: "region", "'region', which is unknown there"),
        (CALIBRATED, "diagram.embedding", lambda _: None, "diagram.embedding"),
        (CALIBRATED, "diagram.embedding.unit", lambda _: 0.0, "embedding.unit"),
        (CALIBRATED, "params", lambda _: {"influence": "psychic"}, "influence"),
        (CALIBRATED, "params", lambda _: {"colour": "red"}, "colour"),
        (CALIBRATED, "region", lambda _: [], "region"),
        ({"influence": "kl"}, "diagram.sites", lambda sites: -sites, "sites lies outside the domain"),
        # Once: an ArithmeticError inside the solver when points were scored.
        ({"influence": "euclidean", "domain": Polytope.box(IRIS.min(axis=0), IRIS.max(axis=0))}, "region.wall_offsets",
         lambda offsets: with_last(offsets, -1e300), "region.wall_offsets"),
        # Once: an UnboundLocalError inside scikit-learn when points were labelled.
        ({"estimator": GaussianMixture(3, random_state=0)}, "clusterer.covariance_type", lambda _: "text",
         "covariance_type"),
        # Once: an IndexError inside scikit-learn when points were labelled.
        ({"estimator": GaussianMixture(3, random_state=0)}, "clusterer.factors", lambda array: array[:-1],
         "clusterer.factors has length 2"),
        ({"estimator": GaussianMixture(3, covariance_type="tied", random_state=0)}, "clusterer.factors",
         lambda array: array[0], "clusterer.factors must have 2 dimensions"),
        ({"estimator": KMeans(3, n_init=1, random_state=0)}, "clusterer.centers", lambda array: array[:, :2],
         "clusterer.centers has length 2"),
    ],
)  # fmt: skip
def test_numbers_names_and_kinds_are_checked_too(settings, path, change, says, tmp_path):
    fitted = AffinityScorer(random_state=0, **settings).fit(IRIS, None if "estimator" in settings else SPECIES)
    write_state(changed(fitted.to_dict(), tuple(path.split(".")), change), tmp_path / "a.model")
    with pytest.raises(ValueError, match=says):
        load(tmp_path / "a.model")


def test_files_of_the_other_byte_order_are_read(tmp_path):
    scorer = AffinityScorer(random_state=0).fit(IRIS, SPECIES)
    state = scorer.to_dict()
    for path in arrays(state):
        state = changed(state, path, lambda array: array.astype(array.dtype.newbyteorder(">")))
    write_state(state, tmp_path / "a.model")
    loaded = load(tmp_path / "a.model")
    np.testing.assert_array_equal(loaded.affinity(IRIS).affinity, scorer.affinity(IRIS).affinity)


# Transformers and clusterers.

WINE = load_wine().data
GAPS = np.where(np.random.default_rng(0).random(WINE.shape) < 0.05, np.nan, WINE)


def kept(transformer, tmp_path):
    """Return a transformer as it comes back from a file."""
    state = {"format": "allegiance model", "version": VERSION, "transformer": encode(transformer, "it")}
    write_state(state, tmp_path / "it.model")
    return decode(read_state(tmp_path / "it.model")["transformer"])


TRANSFORMERS = {
    "standard": (StandardScaler(), WINE),
    "standard with gaps": (StandardScaler(), GAPS),
    "min max": (MinMaxScaler((-1, 2)), WINE),
    "robust": (RobustScaler(quantile_range=(10.0, 90.0)), WINE),
    "pca": (PCA(3, whiten=True), WINE),
    "svd": (TruncatedSVD(3, random_state=0), sp.csr_array(WINE)),
    "pipeline": (make_pipeline(StandardScaler(), PCA(2)), WINE),
    "frozen": (make_pipeline(FrozenEstimator(StandardScaler().fit(WINE)), PCA(2)), WINE),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_transformer_comes_back_from_a_file_and_makes_the_same(name, tmp_path):
    transformer, X = TRANSFORMERS[name]
    fitted = copy.deepcopy(transformer).fit(X)
    result = kept(fitted, tmp_path)
    expected, made = fitted.transform(X), result.transform(X)
    assert type(made) is type(expected)
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)
    assert result.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    if hasattr(fitted, "get_feature_names_out") and name != "frozen":
        assert result.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    # And once more, as a model that was loaded is saved again.
    np.testing.assert_array_equal(kept(result, tmp_path).transform(X), expected)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_the_frame_type_of_set_output_is_kept(output, tmp_path):
    frame = pd.DataFrame(WINE, columns=load_wine().feature_names)
    fitted = make_pipeline(StandardScaler(), RobustScaler()).set_output(transform=output).fit(frame)
    made, expected = kept(fitted, tmp_path).transform(frame), fitted.transform(frame)
    assert type(made) is type(expected)
    assert made.equals(expected)


CLUSTERERS = {
    "k-means": KMeans(4, random_state=0),
    "minibatch": MiniBatchKMeans(4, random_state=0),
    **{
        kind: GaussianMixture(4, covariance_type=kind, random_state=0) for kind in ("full", "tied", "diag", "spherical")
    },
}


@pytest.mark.parametrize("name", CLUSTERERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_clusterer_labels_new_points_as_before(name, dtype, tmp_path):
    X = WINE.astype(dtype)
    clusterer = clone(CLUSTERERS[name]).fit(X[::2])
    scorer = AffinityScorer(FrozenEstimator(clusterer), random_state=0).fit(X[::2])
    loaded = saved_and_loaded(scorer, tmp_path, X)
    np.testing.assert_array_equal(loaded.predict(X), clusterer.predict(X))


def test_files_cannot_name_other_classes_attributes_or_functions():
    state = encode(StandardScaler().fit(WINE), "it")
    with pytest.raises(ValueError, match="'Popen', which this version of allegiance does not support"):
        decode(state | {"cls": "Popen"})
    with pytest.raises(ValueError, match="'transform', which is not an attribute of StandardScaler"):
        decode(state | {"fitted": state["fitted"] | {"transform": 1}})


# Models for tables, remote files and older files.


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    table = customers(240).drop(columns=["customer", "visits"])
    return table.assign(plan=table["plan"].where(table["spent"] < 700))


def table_model(frame: pd.DataFrame) -> Model:
    plan = propose(open_table(frame))
    scorer = AffinityScorer(KMeans(3, n_init=2, random_state=0), calibration=3, random_state=0)
    model = Model(plan, scorer.fit(plan.matrix(frame)), {"note": "January", "rows": 240})
    return model.keep_baseline(frame)


@pytest.mark.parametrize("place", ["{folder}/a.model", "memory://models/a.model"])
def test_a_model_comes_back_from_local_and_remote_files(place, frame, tmp_path):
    model, path = table_model(frame), place.format(folder=tmp_path)
    model.save(path)
    loaded = load(path)
    assert isinstance(loaded, Model)
    assert (loaded.id, loaded.about) == (model.id, model.about)
    one, other = model.affinity(frame), loaded.affinity(frame)
    for name in (*SCORES, *TRUST):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(loaded.predict(frame), one.label)
    np.testing.assert_array_equal(model.scorer.affinity(model.plan.matrix(frame)).trust, one.trust)
    assert not compare_periods(loaded, None, frame).drifted
    with pytest.raises(FileExistsError, match="already exists"):
        model.save(path, force=False)


def test_a_model_names_what_made_it(frame, tmp_path):
    model = table_model(frame)
    model.save(tmp_path / "a.model")
    state = read_state(tmp_path / "a.model")
    assert state["id"] == model.id
    assert state["made_with"]["numpy"] == np.__version__
    assert state["params"]["random_state"] == 0
    # Threads change no score, and so not the id; the data does, and so its fingerprint.
    assert load(tmp_path / "a.model", n_jobs=1).id == model.id
    other = table_model(frame.assign(spent=frame["spent"] + 1.0))
    assert other.to_dict()["data"] != state["data"]
    assert other.id != model.id


def test_a_plan_and_a_scorer_must_fit_together(frame):
    with pytest.raises(ValueError, match="the plan makes 5 features, but the scorer has 4"):
        Model(propose(open_table(frame)), AffinityScorer().fit(IRIS, LABELS))


#: Saved by ``python tests/data/save_models.py`` with the release in its name, and never changed afterwards.
RELEASED = sorted((Path(__file__).parents[1] / "data").glob("*.model"))


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_models_of_released_versions_load(path):
    model, rows = load(path), pd.read_csv(path.parent / "rows.csv")
    expected = pd.read_csv(path.with_suffix(".csv"))
    result = model.affinity(rows)
    assert result.label.tolist() == expected["label"].tolist()
    np.testing.assert_allclose(result.trust, expected["trust"], atol=1e-6)
    assert not compare_periods(model, None, rows).drifted
