"""Fitted objects and scikit-learn's transformers as plain values and arrays, and back to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from allegiance._core.parameters import Parameters
from allegiance._core.stored import (
    STORED,
    Array,
    Kind,
    Matrix,
    Number,
    OrNone,
    Size,
    Sizes,
    Spec,
    Text,
    Unchecked,
    check_parts,
    floats,
)
from allegiance._core.validation import is_sparse, require
from allegiance.influence import DIVERGENCES, KERNELS, BregmanDivergence

_CSR = ("data", "indices", "indptr")
#: Keys that mean something in a state, and so cannot be keys of a user's dict.
_RESERVED = {"kind", "array", "float"}
#: Types that a transformer can be told to make.
_DTYPES = ("bool", "int8", "int16", "int32", "int64", "float32", "float64", "object")


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
    sizes.agree("hashed", sizes["d"] + (parts["coef0"] != 0), "indexHash_")
    if parts["indexHash_"].max() >= sizes["m"]:
        raise ValueError(f"indexHash_ names features beyond the {sizes['m']} there are.")


def _kinds() -> dict[str, Kind]:
    return STORED | _feature_maps()


def check(values: Mapping[str, Any], parts: Mapping[str, Spec]) -> None:
    """Raise ValueError unless encoded values are, part by part, what they must be, and fit together."""
    named = {"divergence": Kind(BregmanDivergence, {"name": Text(tuple(DIVERGENCES))})}
    check_parts(values, parts, "", Sizes({}, _kinds() | named))


def encode(value: Any, name: str) -> Any:
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
    if isinstance(value, np.ndarray) or is_sparse(value):
        return _encode_array(value, name)
    if isinstance(value, type | np.dtype) and np.dtype(value).name in _DTYPES:
        return {"kind": "dtype", "name": np.dtype(value).name}
    if isinstance(value, BregmanDivergence) and value in DIVERGENCES.values():
        return {"kind": "divergence", "name": value.name}
    for kind, (cls, parts, _) in _kinds().items():
        if type(value) is cls:
            return {"kind": kind} | {part: encode(getattr(value, part), f"{name}.{part}") for part in parts}
    if isinstance(value, BaseEstimator):
        return _encode_estimator(value, name)
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


def _encode_array(value: Any, name: str) -> Any:
    if is_sparse(value):
        rows = sp.csr_array(value)
        return {"kind": "csr", "shape": list(rows.shape)} | {part: getattr(rows, part) for part in _CSR}
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
        if kind == "estimator":
            return _decode_estimator(**parts)
        if kind in ("list", "tuple"):
            items = [parts["items"][str(i)] for i in range(len(parts["items"]))]
            return tuple(items) if kind == "tuple" else items
        if kind == "csr":
            return sp.csr_array(tuple(parts[part] for part in _CSR), shape=tuple(parts["shape"]))
        if kind == "divergence":
            return DIVERGENCES[parts["name"]]
        if kind == "parameters":
            return Parameters.named(parts["class"])(**parts["params"])
        if kind == "objects":
            values = np.empty(len(parts["values"]), dtype=object)
            values[:] = parts["values"]
            return values
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
    """Fits the estimator to one row that gives these attributes, as private ones are not saved, or checks more."""
    unsupported: tuple[str, ...] = ()
    """Parameters that must have their defaults."""


#: What every estimator knows about the columns that it was fitted to.
_SEEN: dict[str, Spec] = {"n_features_in_": Size("d"), "feature_names_in_": Array(("d",), "label")}
#: The most columns that a transformer in a file may have.
_WIDEST = 2**24
#: What a mixture knows about the spread of its components, and its shape by the type of covariances.
_SPREADS = ("covariances_", "precisions_", "precisions_cholesky_")
_SPREAD_SHAPES = {"full": ("m", "d", "d"), "tied": ("d", "d"), "diag": ("m", "d"), "spherical": ("m",)}


def _numbers(*shape: str) -> Array:
    return Array(shape, "number")


@cache
def _codecs() -> dict[str, _Codec]:
    """Return the estimators that can be saved, by name."""
    from sklearn import cluster, decomposition, impute, mixture, preprocessing

    row, matrix, later = _numbers("d"), _numbers("m", "d"), Unchecked()
    spread: dict[str, Spec] = dict.fromkeys(("mean_", "var_", "scale_"), OrNone(row)) | {"n_samples_seen_": later}
    extent: dict[str, Spec] = dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), row)
    middle: dict[str, Spec] = dict.fromkeys(("center_", "scale_"), OrNone(row))
    explained = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
    axes: dict[str, Spec] = {"components_": matrix, **dict.fromkeys(explained, _numbers("m"))}
    pca = axes | {"mean_": row, "n_components_": Size("m"), "noise_variance_": Number(), "n_samples_": later}
    centers: dict[str, Spec] = {"cluster_centers_": matrix, "inertia_": later, "n_iter_": later}
    mixed: dict[str, Spec] = {"weights_": _numbers("m"), "means_": matrix, "converged_": later, "n_iter_": later}
    spreads: dict[str, Spec] = dict.fromkeys(_SPREADS, later)
    grouping = ("min_frequency", "max_categories")
    known = [
        _Codec(preprocessing.StandardScaler, spread),
        _Codec(preprocessing.MinMaxScaler, extent | {"n_samples_seen_": later}),
        _Codec(preprocessing.RobustScaler, middle),
        _Codec(preprocessing.OneHotEncoder, {"categories_": later}, _refit_encoder, grouping),
        _Codec(impute.SimpleImputer, {"statistics_": later}, _refit_imputer, ("add_indicator",)),
        _Codec(decomposition.PCA, pca),
        _Codec(decomposition.TruncatedSVD, axes),
        _Codec(cluster.KMeans, centers, _refit_kmeans),
        _Codec(cluster.MiniBatchKMeans, centers, _refit_kmeans),
        _Codec(mixture.GaussianMixture, mixed | spreads, _check_mixture),
        _Codec(ColumnTransformer, {"sparse_output_": Unchecked(bool), "parts": Unchecked(list)}, _refit_columns),
    ]
    found = {codec.cls.__name__: codec._replace(fitted={**_SEEN, **codec.fitted}) for codec in known}
    return found | {"Pipeline": _Codec(Pipeline, {})}


def can_be_saved(estimator: Any) -> bool:
    """Tell whether an estimator, not a pipeline, can be saved."""
    codec = _codecs().get(type(estimator).__name__)
    return codec is not None and type(estimator) is codec.cls and not _unsupported(estimator, codec)


def _unsupported(estimator: Any, codec: _Codec) -> list[str]:
    return [name for name in codec.unsupported if getattr(estimator, name) != getattr(codec.cls(), name)]


def _encode_estimator(estimator: Any, name: str) -> dict[str, Any]:
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    codec = _codecs().get(type(estimator).__name__)
    if codec is None or type(estimator) is not codec.cls:
        raise TypeError(
            f"{name} is {estimator!r}, which cannot be saved: a model holds numbers, never code. It can hold "
            f"{', '.join(_codecs())}. Transform X first and fit to the result, or fit again where the scorer is needed."
        )
    unsupported = _unsupported(estimator, codec)
    if unsupported:
        raise TypeError(f"{name} is {estimator!r}, which cannot be saved with {' or '.join(unsupported)}.")
    params = estimator.get_params(deep=False)
    if "random_state" in params and not isinstance(params["random_state"], int):
        params["random_state"] = None  # it has done its work
    fitted = {part: getattr(estimator, part) for part in codec.fitted if hasattr(estimator, part)}
    if isinstance(estimator, ColumnTransformer):
        params |= {"transformers": [], "remainder": "drop"}
        fitted["parts"] = _column_parts(estimator, name)
    elif isinstance(estimator, Pipeline):
        params |= {"steps": [list(step) for step in estimator.steps], "memory": None}
    return {
        "kind": "estimator",
        "cls": type(estimator).__name__,
        "params": {key: encode(value, f"{name}.{key}") for key, value in params.items()},
        "fitted": {key: encode(value, f"{name}.{key}") for key, value in fitted.items()},
        "output": getattr(estimator, "_sklearn_output_config", {}).get("transform"),
    }


def _decode_estimator(cls: str, params: dict[str, Any], fitted: dict[str, Any], output: str | None) -> Any:
    codec = _codecs().get(cls)
    if codec is None:
        raise ValueError(f"the state has an estimator {cls!r}, which this allegiance does not know.")
    unknown = set(fitted) - set(codec.fitted)
    if unknown:
        raise ValueError(f"the state has {min(unknown)!r} of {cls}, which is not one of its attributes.")
    estimator = codec.cls(**params)
    estimator._validate_params()  # as its fit would have
    check_parts(fitted, {key: codec.fitted[key] for key in fitted}, cls, Sizes({}, {}))
    if codec.refit is not None:
        codec.refit(estimator, fitted)
    for key, value in fitted.items():
        setattr(estimator, key, value)
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


def _check_mixture(mixture: Any, fitted: dict[str, Any]) -> None:
    """Raise unless the spreads of a mixture have the shape that its type of covariances asks for."""
    n_components, n_features = fitted["means_"].shape
    for name in _SPREADS:
        sizes = Sizes({"m": n_components, "d": n_features}, {})
        _numbers(*_SPREAD_SHAPES[mixture.covariance_type])(fitted[name], name, sizes)


def _column_parts(transformer: ColumnTransformer, name: str) -> list[list[Any]]:
    """Return the name, the transformer, the columns and the width of each part; words as the user gave them."""
    given = {part: inner for part, inner, _ in transformer.transformers} | {"remainder": transformer.remainder}
    widths = {part: width.stop - width.start for part, width in transformer.output_indices_.items()}
    return [
        [
            part,
            given[part] if isinstance(given[part], str) else inner,
            _listed(transformer, columns, f"{name}.{part}"),
            widths[part],
        ]
        for part, inner, columns in transformer.transformers_
    ]


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


def _refit_columns(made: ColumnTransformer, fitted: dict[str, Any]) -> None:
    """Fit with stubs, which finds out which columns are meant; then fitted transformers take their places."""
    parts, n = fitted.pop("parts"), fitted["n_features_in_"]
    for size in (n, *(width for *_, width in parts)):
        Number(0, _WIDEST, whole=True)(size, "a number of columns", Sizes({}, {}))
    real = {name: inner for name, inner, _, _ in parts}
    stubs = {name: inner if isinstance(inner, str) else _Stub(width) for name, inner, _, width in parts}
    named = [(name, columns) for name, _, columns, _ in parts if name != "remainder"]
    made.transformers = [(name, stubs[name], columns) for name, columns in named]
    made.remainder = stubs.get("remainder", "drop")
    names, row = fitted.get("feature_names_in_"), np.zeros((1, n))
    if names is not None:
        row = require("pandas", "io", "a model that finds columns by name").DataFrame(row, columns=list(names))
    made.fit(row)
    made.transformers_ = [
        (name, inner if isinstance(real.get(name, "drop"), str) else real[name], columns)
        for name, inner, columns in made.transformers_
    ]
    unfitted = {name: inner if isinstance(inner, str) else clone(inner) for name, inner in real.items()}
    made.transformers = [(name, unfitted[name], columns) for name, columns in named]
    made.remainder = unfitted.get("remainder", "drop")


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
