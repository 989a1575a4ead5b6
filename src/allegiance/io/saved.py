"""Saved models: plain values and arrays in one file, without pickle, and every array checked before it is used."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from allegiance._core import (
    STORED,
    AnyArray,
    Array,
    Kind,
    Lazy,
    Matrix,
    Number,
    OrNone,
    Parameters,
    Part,
    Size,
    Sizes,
    Spec,
    Text,
    Unchecked,
    check_parts,
    floats,
    is_sparse,
)
from allegiance.engines import Tessellation
from allegiance.fitting import Columns, Fitted, PreparedColumns
from allegiance.influence import DIVERGENCES, KERNELS, BregmanDivergence, divergence_by_name

from .files import replacing

if TYPE_CHECKING:
    from allegiance import AffinityScorer

FORMAT = "allegiance model"
#: The version of the format that this package writes.
VERSION = 1
_STATE, _CHECKSUMS = "state.json", "SHA256SUMS"
#: Every member has this date, so that the same scorer gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
#: The bit that marks an encrypted member of an archive.
_ENCRYPTED = 0x1
_CSR = ("data", "indices", "indptr")
#: Keys that mean something in a state, and so cannot be keys of a user's dict.
_RESERVED = {"kind", "array", "float"}
#: Types that a transformer can be told to make.
_DTYPES = ("bool", "int8", "int16", "int32", "int64", "float32", "float64", "object")


def load(path: str | os.PathLike[str]) -> AffinityScorer:
    """Return the fitted scorer of a file that :meth:`AffinityScorer.save` or ``allegiance score --save`` wrote.

    It gives the same scores to the last bit. It has no ``labels_`` and no ``estimator_``. New points get the label that
    k-means or a Gaussian mixture gave them, if that was the clusterer, and else that of the nearest representative.
    Nothing in the file is executed.

    Parameters
    ----------
    path
        The file, usually ``*.model``.

    Raises
    ------
    ValueError
        If the file is not a saved model, is incomplete or was altered, or was written by a later version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import allegiance
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> scorer = allegiance.AffinityScorer(random_state=0).fit(iris.data, iris.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scorer.save(Path(folder) / "iris.model")
    ...     loaded = allegiance.load(Path(folder) / "iris.model")
    >>> bool((loaded.affinity(iris.data).affinity == scorer.affinity(iris.data).affinity).all())
    True
    """
    from allegiance import AffinityScorer

    state = read_state(path)
    try:
        return AffinityScorer.from_dict(state)
    except Exception as error:
        # Parameters are checked by what they are passed to, which knows nothing of files.
        raise ValueError(f"{path} cannot be loaded: {error}") from error


# The fitted scorer.

#: What a state must hold: d features, k clusters, r coordinates in which volume is measured.
_PARTS: dict[str, Spec] = {
    "params": Unchecked(dict),
    "n_features": Size("d"),
    "feature_names": OrNone(Array(("d",), "label")),
    "classes": Array(("k",), "label"),
    "centers": OrNone(floats("k", "d")),
    "diagram": Part("power", "bregman", k="k", d="d", r="r"),
    "region": Part("region", r="r"),
    "members": OrNone(Part("member-distances", k="k")),
    "trust_map": OrNone(Part("trust-map", k="k")),
}

#: What a state may hold under "parts": objects are declared here, others are texts.
_OPTIONAL: dict[str, Spec] = {"baseline": Part("profile", k="k")}


def encode_scorer(params: dict[str, Any], fitted: Fitted) -> dict[str, Any]:
    """Return the state of a scorer; its estimator is left out, and its seed is the one that was used."""
    params = params | {"estimator": None, "random_state": fitted.specification.settings.seed}
    calibration = params["calibration"]
    if getattr(calibration, "clusterer", None) is not None:
        params["calibration"] = calibration.without_clusterer()
    columns, prepared = fitted.columns, None
    if isinstance(columns, PreparedColumns):
        prepared = {
            "n_features": columns.n_features,
            "feature_names": encode(columns.known_names, "feature_names_in_"),
            "transformer": encode_transformer(columns.preparation, "preparation"),
        }
    return {
        "format": FORMAT,
        "version": VERSION,
        "params": {name: encode(value, name) for name, value in params.items()},
        "n_features": columns.n_prepared,
        "feature_names": encode(None if prepared else columns.known_names, "feature_names_in_"),
        "classes": encode(fitted.classes, "classes_"),
        "centers": fitted.centers,
        "diagram": encode(fitted.tessellation.diagram, "diagram"),
        "region": encode(fitted.tessellation.region, "region"),
        "members": None if fitted.members is None else encode(fitted.members.value, "members"),
        "trust_map": encode(fitted.trust_map, "trust_map"),
        "preparation": prepared,
        "clusterer": _encode_estimator(fitted.clusterer, "clusterer") if _can_be_saved(fitted.clusterer) else None,
        "parts": {name: encode(value, name) for name, value in fitted.parts.items()},
    }


def decode_scorer(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a scorer, and the parts of its :class:`Fitted`, each checked."""
    _check_header(state)
    kinds = _kinds() | {"divergence": Kind(BregmanDivergence, {"name": Text(tuple(DIVERGENCES))})}
    check_parts(state, _PARTS, "", Sizes(), kinds)
    found = {name: decode(state[name]) for name in _PARTS}
    if np.unique(found["classes"]).size != found["classes"].size:
        raise ValueError("classes must name each cluster once.")
    parts = {name: found[name] for name in ("classes", "centers", "trust_map")}
    parts["members"] = None if found["members"] is None else Lazy.known(found["members"])
    parts["tessellation"] = Tessellation(found["diagram"], found["region"])
    columns = Columns(found["n_features"], found["feature_names"])
    try:
        extra = state.get("parts") or {}
        asked = {"classes": _PARTS["classes"]} | {name: _OPTIONAL.get(name, Text()) for name in extra}
        check_parts(extra | {"classes": state["classes"]}, asked, "", Sizes(), kinds)
        parts["parts"] = {name: decode(value) for name, value in extra.items()}
        prepared = state.get("preparation")
        if prepared is not None:
            given = Columns(prepared["n_features"], decode(prepared["feature_names"]))
            columns = PreparedColumns(given, decode_transformer(prepared["transformer"]), found["n_features"])
        if state.get("clusterer") is not None:
            parts["clusterer"] = _decode_estimator(state["clusterer"])
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"the state is incomplete: {type(error).__name__}: {error}") from error
    return found["params"], parts | {"columns": columns}


# Values: diagrams, domains, parameters, arrays.


@cache
def _feature_maps() -> dict[str, Kind]:
    """Return the kinds of scikit-learn's feature maps, which are imported only if a state is made."""
    from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

    seen: dict[str, Spec] = {"n_features_in_": Size("d"), "n_components": Size("m"), "random_state": Unchecked()}
    number: Spec = OrNone(Number())
    drawn = seen | {"gamma": Number(), "random_weights_": floats("d", "m"), "random_offset_": floats("m")}
    sketch = seen | {
        "gamma": Number(),
        "degree": Size("degree"),
        "coef0": Number(),
        "indexHash_": Array(("degree", "hashed"), "int", low=0),
        "bitHash_": Array(("degree", "hashed"), "int", low=-1, high=1),
    }
    landmarks = seen | {
        **dict.fromkeys(("gamma", "degree", "coef0"), number),
        "kernel": Text(KERNELS),
        **dict.fromkeys(("kernel_params", "n_jobs"), Unchecked()),
        "components_": Matrix("m", "d"),
        "normalization_": floats("m", "m"),
    }
    return {
        "fourier": Kind(RBFSampler, drawn),
        "count-sketch": Kind(PolynomialCountSketch, sketch, _hashes_in_range),
        "nystroem": Kind(Nystroem, landmarks),
    }


def _hashes_in_range(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless every column, and the constant one if there is one, has a place among the features."""
    sizes.settle("hashed", sizes["d"] + (parts["coef0"] != 0), "indexHash_")
    if parts["indexHash_"].max() >= sizes["m"]:
        raise ValueError(f"indexHash_ names features beyond the {sizes['m']} there are.")


def _kinds() -> dict[str, Kind]:
    return STORED | _feature_maps()


def encode(value: Any, name: str) -> Any:  # noqa: C901
    """Return a value as None, numbers, texts, arrays, and lists and dicts of them; ``name`` is for messages.

    Raises
    ------
    TypeError
        If it holds something else, such as a function.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return _encode_array(value, name)
    if isinstance(value, type | np.dtype) and np.dtype(value).name in _DTYPES:
        return {"kind": "dtype", "name": np.dtype(value).name}
    if is_sparse(value):
        rows = sp.csr_array(value)
        return {"kind": "csr", "shape": list(rows.shape)} | {part: getattr(rows, part) for part in _CSR}
    if isinstance(value, BregmanDivergence) and value.name in DIVERGENCES and value is divergence_by_name(value.name):
        return {"kind": "divergence", "name": value.name}
    if getattr(value, "__name__", "") == "category_name":
        return {"kind": "category_name"}
    for kind, (cls, parts, _) in _kinds().items():
        if type(value) is cls:
            return {"kind": kind} | {part: encode(getattr(value, part), f"{name}.{part}") for part in parts}
    if isinstance(value, Parameters):
        params = {key: encode(item, f"{name}.{key}") for key, item in value.get_params(deep=False).items()}
        return {"kind": "parameters", "class": type(value).__name__, "params": params}
    if isinstance(value, list | tuple):
        items = {str(i): encode(item, f"{name}.{i}") for i, item in enumerate(value)}
        return {"kind": type(value).__name__ if type(value) in (list, tuple) else "tuple", "items": items}
    if isinstance(value, dict) and all(isinstance(key, str) and key not in _RESERVED for key in value):
        return {key: encode(item, f"{name}.{key}") for key, item in value.items()}
    raise TypeError(
        f"{name} is {value!r}, which cannot be saved: a model holds settings and numbers, never code. Use a named "
        "influence, or fit again where the scorer is needed."
    )


def _encode_array(value: AnyArray, name: str) -> Any:
    if value.dtype.kind in "biufUS":
        return value
    values = [item.item() if isinstance(item, np.generic) else item for item in value.ravel()]
    plain = all(item is None or isinstance(item, bool | int | float | str) for item in values)
    if value.ndim != 1 or value.dtype.kind != "O" or not plain:
        raise TypeError(f"{name} holds {value.dtype} in {value.ndim} dimensions, which cannot be saved.")
    return {"kind": "objects", "values": values}


def decode(value: Any) -> Any:
    """Return what :func:`encode` was given."""
    if not isinstance(value, dict):
        return value
    if "kind" not in value:
        return {key: decode(item) for key, item in value.items()}
    parts = {key: decode(item) for key, item in value.items() if key != "kind"}
    kind = value["kind"]
    try:
        if kind in ("list", "tuple"):
            items = [parts["items"][str(i)] for i in range(len(parts["items"]))]
            return tuple(items) if kind == "tuple" else items
        if kind == "csr":
            return sp.csr_array(tuple(parts[part] for part in _CSR), shape=tuple(parts["shape"]))
        if kind == "divergence":
            return divergence_by_name(parts["name"])
        if kind == "parameters":
            return Parameters.named(parts["class"])(**parts["params"])
        if kind == "objects":
            made = np.empty(len(parts["values"]), dtype=object)
            made[:] = parts["values"]
            return made
        if kind == "category_name":
            from allegiance.preparation import category_name

            return category_name
        if kind == "dtype":
            return np.dtype(_DTYPES[_DTYPES.index(parts["name"])]).type
        cls, attributes, _ = _kinds()[kind]
        chosen = {attribute: parts[attribute] for attribute in attributes}
    except KeyError as error:
        raise ValueError(f"the state is incomplete: {error} of {kind!r} is unknown or missing.") from error
    if issubclass(cls, tuple):
        return cls(*chosen.values())
    # Not through the constructor: the parts were checked, and must not be computed a second time.
    made = object.__new__(cls)
    vars(made).update(chosen)
    return made


# Transformers that people put before a clusterer, and clusterers that label new points.


class _Codec(NamedTuple):
    """How a fitted estimator of one class is saved."""

    cls: Any
    fitted: Mapping[str, Spec]
    """What its fitted attributes must be in a file."""
    refit: Callable[[Any, dict[str, Any]], None] | None = None
    """Fits the estimator to one row that gives these attributes: private ones of scikit-learn are not saved."""
    unsupported: tuple[str, ...] = ()
    """Parameters that must have their defaults."""


class _Finite(Spec):
    """An array of finite numbers of any precision; its sides by name, or any shape."""

    def __init__(self, *shape: str) -> None:
        self._shape = shape

    def check(self, value: Any, name: str, sizes: Sizes, kinds: Mapping[str, Any]) -> None:
        """See :class:`Spec`."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf" or not np.isfinite(value).all():
            raise ValueError(f"{name} must be an array of finite numbers.")
        if self._shape and value.ndim != len(self._shape):
            raise ValueError(f"{name} must have {len(self._shape)} dimensions, not shape {value.shape}.")
        for size, found in zip(self._shape, value.shape, strict=False):
            sizes.settle(size, found, name)


#: What every estimator knows about the columns that it was fitted to.
_SEEN: dict[str, Spec] = {"n_features_in_": Size("d"), "feature_names_in_": Array(("d",), "label")}
#: The most columns that a transformer in a file may have.
_WIDEST = 2**24
_COLUMN_SETTINGS = ("sparse_threshold", "n_jobs", "transformer_weights", "verbose", "verbose_feature_names_out")


@cache
def _codecs() -> dict[str, _Codec]:
    """Return the estimators that can be saved, by name."""
    from sklearn import cluster, decomposition, impute, mixture, preprocessing

    row, matrix, later = _Finite("d"), _Finite("m", "d"), Unchecked()
    spread: dict[str, Spec] = dict.fromkeys(("mean_", "var_", "scale_"), OrNone(row)) | {"n_samples_seen_": later}
    extent: dict[str, Spec] = dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), row)
    middle: dict[str, Spec] = dict.fromkeys(("center_", "scale_"), OrNone(row))
    explained = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
    axes: dict[str, Spec] = {"components_": matrix} | dict.fromkeys(explained, _Finite("m"))
    pca = axes | {"mean_": row, "n_components_": Size("m"), "noise_variance_": Number(), "n_samples_": later}
    centers: dict[str, Spec] = {"cluster_centers_": matrix, "inertia_": later, "n_iter_": later}
    mixed: dict[str, Spec] = {"weights_": _Finite("m"), "means_": matrix, "converged_": later, "n_iter_": later}
    spreads: dict[str, Spec] = dict.fromkeys(("covariances_", "precisions_", "precisions_cholesky_"), _Finite())
    grouping = ("min_frequency", "max_categories")
    from allegiance.preparation import Dates, Numbers, Texts

    known = [
        *(_Codec(cls, {}) for cls in (Dates, Numbers, Texts)),
        _Codec(preprocessing.StandardScaler, spread),
        _Codec(preprocessing.MinMaxScaler, extent | {"n_samples_seen_": later}),
        _Codec(preprocessing.RobustScaler, middle),
        _Codec(preprocessing.OneHotEncoder, {"categories_": later}, _refit_encoder, grouping),
        _Codec(impute.SimpleImputer, {"statistics_": later}, _refit_imputer, ("add_indicator",)),
        _Codec(decomposition.PCA, pca),
        _Codec(decomposition.TruncatedSVD, axes),
        _Codec(cluster.KMeans, centers, _refit_kmeans),
        _Codec(cluster.MiniBatchKMeans, centers, _refit_kmeans),
        _Codec(mixture.GaussianMixture, mixed | spreads),
    ]
    return {codec.cls.__name__: codec for codec in known}


def _can_be_saved(estimator: Any) -> bool:
    codec = _codecs().get(type(estimator).__name__)
    return codec is not None and type(estimator) is codec.cls and not _unsupported(estimator, codec)


def _unsupported(estimator: Any, codec: _Codec) -> list[str]:
    default = codec.cls()
    return [name for name in codec.unsupported if getattr(estimator, name) != getattr(default, name)]


def _encode_estimator(estimator: Any, name: str) -> dict[str, Any]:
    codec = _codecs().get(type(estimator).__name__)
    if codec is None or type(estimator) is not codec.cls:
        known = ", ".join(_codecs())
        raise TypeError(
            f"{name} is {estimator!r}, which cannot be saved: a model holds numbers, never code. It can hold Pipeline, "
            f"ColumnTransformer, {known}. Transform X first and fit to the result, or fit again where the scorer is "
            "needed."
        )
    unsupported = _unsupported(estimator, codec)
    if unsupported:
        raise TypeError(f"{name} is {estimator!r}, which cannot be saved with {' or '.join(unsupported)}.")
    params = estimator.get_params(deep=False)
    if "random_state" in params and not isinstance(params["random_state"], int):
        params["random_state"] = None  # it has done its work
    fitted = {part: getattr(estimator, part) for part in (*_SEEN, *codec.fitted) if hasattr(estimator, part)}
    return {
        "class": type(estimator).__name__,
        "params": {key: encode(value, f"{name}.{key}") for key, value in params.items()},
        "fitted": {key: encode(value, f"{name}.{key}") for key, value in fitted.items()},
        "output": _output(estimator),
    }


def _decode_estimator(state: dict[str, Any]) -> Any:
    codec = _codecs().get(state["class"])
    if codec is None:
        raise ValueError(f"the state has an estimator {state['class']!r}, which this allegiance does not know.")
    estimator = codec.cls(**{key: decode(value) for key, value in state["params"].items()})
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()  # as its fit would have
    fitted = {key: decode(value) for key, value in state["fitted"].items()}
    declared = {**_SEEN, **codec.fitted}
    unknown = set(fitted) - set(declared)
    if unknown:
        raise ValueError(f"the state has {min(unknown)!r} of {state['class']}, which is not one of its attributes.")
    check_parts(fitted, {key: declared[key] for key in fitted}, state["class"], Sizes(), {})
    if codec.refit is not None:
        codec.refit(estimator, fitted)
    for key, value in fitted.items():
        setattr(estimator, key, value)
    return _with_output(estimator, state["output"])


def _output(estimator: Any) -> str | None:
    """Return the kind of frame that a transformer was told to make by ``set_output``."""
    found = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    return None if found is None else str(found)


def _with_output(estimator: Any, output: str | None) -> Any:
    return estimator if output is None else estimator.set_output(transform=output)


def _refit_imputer(imputer: Any, fitted: dict[str, Any]) -> None:
    # The median, the mode and the mean of a single row are the row.
    row = fitted["statistics_"].reshape(1, -1)
    if all(isinstance(value, int | float) for value in row[0].tolist()):
        row = row.astype(np.float64 if row.dtype.kind == "O" else row.dtype)  # constants come as objects
    imputer.fit(row)


def _refit_encoder(encoder: Any, fitted: dict[str, Any]) -> None:
    categories, asked = fitted["categories_"], encoder.categories
    row = np.array([[values[0] for values in categories]], dtype=object)
    encoder.set_params(categories=categories).fit(row)
    encoder.set_params(categories=asked)


def _refit_kmeans(kmeans: Any, fitted: dict[str, Any]) -> None:
    asked, centers = kmeans.get_params(deep=False), fitted["cluster_centers_"]
    # Centers may be equal; places that differ tell k-means how many there are.
    places = np.arange(centers.size, dtype=centers.dtype).reshape(centers.shape)
    kmeans.set_params(n_clusters=len(centers), init=places, n_init=1, max_iter=1, tol=0.0, random_state=0).fit(places)
    kmeans.set_params(**asked)
    del kmeans.labels_  # those of the places


def encode_transformer(transformer: Any, name: str) -> Any:
    """Return a fitted transformer, perhaps with others inside, as plain values and arrays."""
    if isinstance(transformer, FrozenEstimator):
        return encode_transformer(transformer.estimator, name)
    if transformer is None or isinstance(transformer, str):
        return transformer
    if type(transformer) is Pipeline:
        steps = {
            str(i): {"name": step, "step": encode_transformer(inner, f"{name}.{step}")}
            for i, (step, inner) in enumerate(transformer.steps)
        }
        return {"class": "Pipeline", "steps": steps, "output": _output(transformer)}
    if type(transformer) is ColumnTransformer:
        return _encode_columns(transformer, name)
    return _encode_estimator(transformer, name)


def decode_transformer(state: Any) -> Any:
    """Return the transformer that :func:`encode_transformer` described."""
    if state in (None, "passthrough", "drop"):
        return state
    if state["class"] == "ColumnTransformer":
        return _decode_columns(state)
    if state["class"] != "Pipeline":
        return _decode_estimator(state)
    steps = [state["steps"][str(i)] for i in range(len(state["steps"]))]
    pipeline = Pipeline([(step["name"], decode_transformer(step["step"])) for step in steps])
    return _with_output(pipeline, state["output"])


def _encode_columns(transformer: ColumnTransformer, name: str) -> dict[str, Any]:
    # In place of a fitted stand-in, the word that the user gave: "drop" or "passthrough".
    given = {part: inner for part, inner, _ in transformer.transformers} | {"remainder": transformer.remainder}
    entries = {}
    for i, (part, inner, columns) in enumerate(transformer.transformers_):
        width, where = transformer.output_indices_[part], f"{name}.{part}"
        entries[str(i)] = {
            "name": part,
            "columns": encode(_listed(transformer, columns, where), where),
            "transformer": encode_transformer(given[part] if isinstance(given[part], str) else inner, where),
            "width": width.stop - width.start,
        }
    return {
        "class": "ColumnTransformer",
        "entries": entries,
        "settings": {key: encode(getattr(transformer, key), f"{name}.{key}") for key in _COLUMN_SETTINGS},
        "n_features": transformer.n_features_in_,
        "feature_names": encode(getattr(transformer, "feature_names_in_", None), f"{name}.feature_names_in_"),
        "sparse_output": bool(transformer.sparse_output_),
        "output": _output(transformer),
    }


def _listed(transformer: ColumnTransformer, columns: Any, name: str) -> Any:
    """Return columns as a name, a number or a list of them."""
    if isinstance(columns, str | int | np.integer):
        return columns
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            raise TypeError(f"{name} takes {columns!r}, which cannot be saved: list the names of the columns.")
        columns = np.arange(transformer.n_features_in_)[columns]
    values = np.asarray(columns)
    return (np.flatnonzero(values) if values.dtype.kind == "b" else values).tolist()


def _decode_columns(state: dict[str, Any]) -> ColumnTransformer:
    entries = [state["entries"][str(i)] for i in range(len(state["entries"]))]
    names, n = decode(state["feature_names"]), state["n_features"]
    for size in (n, *(entry["width"] for entry in entries)):
        Number(0, _WIDEST, whole=True).check(size, "a number of columns", Sizes(), {})
    real = {entry["name"]: decode_transformer(entry["transformer"]) for entry in entries}
    stubs = {
        entry["name"]: inner if isinstance(inner, str) else _Stub(entry["width"])
        for entry, inner in zip(entries, real.values(), strict=True)
    }
    parts = [
        (entry["name"], stubs[entry["name"]], decode(entry["columns"]))
        for entry in entries
        if entry["name"] != "remainder"
    ]
    settings = {key: decode(value) for key, value in state["settings"].items() if key in _COLUMN_SETTINGS}
    made = ColumnTransformer(parts, remainder=stubs.get("remainder", "drop"), **settings)
    # The fit finds out which columns are meant; then fitted transformers take the places of the stubs.
    made.fit(np.zeros((1, n)) if names is None else _one_row([str(name) for name in names]))
    made.transformers_ = [
        (name, inner if isinstance(real.get(name, "drop"), str) else real[name], columns)
        for name, inner, columns in made.transformers_
    ]
    unfitted = {name: inner if isinstance(inner, str) else clone(inner) for name, inner in real.items()}
    made.transformers = [(name, unfitted[name], columns) for name, _, columns in parts]
    made.remainder = unfitted.get("remainder", "drop")
    made.sparse_output_ = bool(state["sparse_output"])
    return _with_output(made, state["output"])


def _one_row(names: list[str]) -> Any:
    """Return a frame of zeros with these columns, of a library that is installed."""
    backend = next((library for library in ("pandas", "polars") if find_spec(library) is not None), None)
    if backend is None:
        raise ImportError("this model finds columns by name, which needs frames: pip install 'allegiance[pandas]'.")
    return nw.from_dict({name: [0.0] for name in names}, backend=backend).to_native()  # type: ignore[arg-type]


class _Stub(TransformerMixin, BaseEstimator):
    """Takes the place of a transformer that makes ``width`` columns."""

    def __init__(self, width: int) -> None:
        self.width = width

    def fit(self, X: Any, y: Any = None) -> _Stub:
        """Do nothing."""
        self.n_features_in_ = X.shape[1] if len(X.shape) > 1 else 1
        return self

    def transform(self, X: Any) -> Any:
        """Return zeros."""
        return np.zeros((X.shape[0], self.width))


# The file: a zip archive of JSON, NumPy arrays and their checksums.


def write_state(state: dict[str, Any], path: Any, *, force: bool = True) -> None:
    """Write a state to a file, which appears, or replaces an existing one, only when it is complete."""
    files = _members(state)
    files[_CHECKSUMS] = _checksums(files)
    with replacing(path, force=force) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)


def read_state(path: Any) -> dict[str, Any]:
    """Read a state from a file, in memory that is in proportion to its size, whatever it claims to hold."""
    with open(path, "rb") as file:
        # The file may come from anywhere; whatever the parsers make of it is not the caller's mistake.
        try:
            files = _stored_members(file)
        except Exception as error:
            raise ValueError(f"{path} is not a saved model, or is damaged: {_reason(error)}") from error
    try:
        state = json.loads(files[_STATE], parse_constant=_refuse_constant)
        _check_header(state)
        _verify(files)
        loaded: dict[str, Any] = _with_arrays(state, files)
    except Exception as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else _reason(error)
        raise ValueError(f"{path} cannot be loaded: {what}") from error
    return loaded


def fingerprint(state: dict[str, Any]) -> str:
    """Return a hash of all that a state holds: equal states score alike."""
    return hashlib.sha256(_checksums(_members(state))).hexdigest()


def _members(state: dict[str, Any]) -> dict[str, bytes]:
    """Return the files that make up a state, by name: the JSON, then an .npy file for each array."""
    arrays: dict[str, AnyArray] = {}
    text = json.dumps(_without_arrays(state, "", arrays), indent=1, ensure_ascii=False, allow_nan=False)
    return {_STATE: text.encode()} | {name: _npy(array) for name, array in arrays.items()}


def _check_header(state: Any) -> None:
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError("this is not the state of a scorer.")
    version = state.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise ValueError(
            f"the state has version {version!r} of its format, but this allegiance reads versions up to {VERSION}: "
            "update allegiance."
        )


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) and str(error) else f"{type(error).__name__}: {error}"


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{_STATE} holds {text}, which is not JSON.")


def _stored_members(file: IO[bytes]) -> dict[str, bytes]:
    """Return the members of an archive by name, if they are not compressed and fit into it."""
    left = os.fstat(file.fileno()).st_size
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.flag_bits & _ENCRYPTED:
                raise ValueError(f"{member.filename} is encrypted.")
            if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                raise ValueError(f"{member.filename} is compressed, which saved models never are.")
            if member.filename in files:
                raise ValueError(f"{member.filename} is there twice.")
            left -= member.file_size
            if left < 0:
                raise ValueError(f"{member.filename} claims to be longer than the file.")
            files[member.filename] = archive.read(member)
    return files


def _verify(files: dict[str, bytes]) -> None:
    listed: dict[str, str] = {}
    for line in files.pop(_CHECKSUMS).decode().splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    for name in [*listed, *files]:
        if hashlib.sha256(files[name]).hexdigest() != listed.get(name):
            raise ValueError(f"{name} was altered: its checksum does not fit.")


def _checksums(files: dict[str, bytes]) -> bytes:
    """Return what ``sha256sum --check`` reads."""
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items())]
    return "".join(lines).encode()


def _npy(array: AnyArray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _array(name: str, content: bytes) -> AnyArray:
    """Return the array of an .npy file, after comparing what its header says with the bytes that are there."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"{name} has version {version} of the NumPy format; saved models have (1, 0).")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "biufUS":
        raise ValueError(f"{name} holds {dtype}; saved models hold numbers and texts, without pickle (allow_pickle).")
    start = file.tell()
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size != len(content) - start or dtype.itemsize > len(content):
        raise ValueError(f"{name} has {len(content) - start:,} bytes, not those of {dtype} in shape {shape}.")
    values = np.frombuffer(bytearray(content[start:]), dtype) if size else np.empty(0, dtype)
    # In the byte order of this machine, which need not be that of the one that wrote the file.
    return values.reshape(shape, order="F" if by_columns else "C").astype(dtype.newbyteorder("="), copy=False)


def _without_arrays(value: Any, name: str, arrays: dict[str, AnyArray]) -> Any:
    """Return a state in which arrays, moved to ``arrays``, and infinite numbers are replaced by what JSON can hold."""
    if isinstance(value, np.ndarray):
        arrays[f"{name}.npy"] = value
        return {"array": f"{name}.npy"}
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, dict):
        return {key: _without_arrays(item, f"{name}.{key}".lstrip("."), arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_arrays(item, name, arrays) for item in value]
    return value


def _with_arrays(value: Any, files: dict[str, bytes]) -> Any:
    if isinstance(value, list):
        return [_with_arrays(item, files) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array"}:
        return _array(value["array"], files[value["array"]])
    if value.keys() == {"float"}:
        return float(value["float"])
    return {key: _with_arrays(item, files) for key, item in value.items()}
