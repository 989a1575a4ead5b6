"""Convert fitted objects to plain values and arrays for saved files, and back without loss."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
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
from allegiance._core.validation import is_sparse
from allegiance.influence import KERNELS

_CSR = ("data", "indices", "indptr")
#: Reserved keys of a state; user dicts cannot have them.
_RESERVED = {"kind", "array", "float"}


@cache
def _feature_maps() -> dict[str, Kind]:
    """Return the schemas of scikit-learn's feature maps, imported on first use."""
    from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

    common: dict[str, Spec] = {"n_features_in_": Size("d"), "n_components": Size("m"), "random_state": Unchecked()}
    number: Spec = OrNone(Number())
    fourier = common | {"gamma": Number(), "random_weights_": floats("d", "m"), "random_offset_": floats("m")}
    sketch = common | {
        "gamma": Number(),
        "degree": Size("degree"),
        "coef0": Number(),
        "indexHash_": Array(("degree", "hashed"), "int", low=0),
        "bitHash_": Array(("degree", "hashed"), "int", low=-1, high=1),
    }
    landmarks = common | {
        **dict.fromkeys(("gamma", "degree", "coef0"), number),
        "kernel": Text(KERNELS),
        **dict.fromkeys(("kernel_params", "n_jobs"), Unchecked()),
        "components_": Matrix("m", "d"),
        "normalization_": floats("m", "m"),
    }
    return {
        "fourier": Kind(RBFSampler, fourier),
        "count-sketch": Kind(PolynomialCountSketch, sketch, _check_hashes),
        "nystroem": Kind(Nystroem, landmarks),
    }


def _check_hashes(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless every column of an encoded count sketch maps to an existing feature."""
    sizes.agree("hashed", sizes["d"] + (parts["coef0"] != 0), "indexHash_")
    if parts["indexHash_"].max() >= sizes["m"]:
        raise ValueError(f"indexHash_ refers to features beyond the {sizes['m']} that exist.")


def _kinds() -> dict[str, Kind]:
    """Return the schemas of all kinds of objects that can be encoded."""
    return STORED | _feature_maps()


def check_encoded(values: Mapping[str, Any], parts: Mapping[str, Spec]) -> None:
    """Raise ValueError unless encoded values match their specifications and each other."""
    check_parts(values, parts, "", Sizes({}, _kinds()))


def encode(value: Any, name: str) -> Any:
    """Encode a value as None, numbers, texts, arrays, and lists and dicts of these; ``name`` is for messages."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) or is_sparse(value):
        return _encode_array(value, name)
    for kind, (cls, parts, _) in _kinds().items():
        if type(value) is cls:
            return {"kind": kind} | {part: encode(getattr(value, part), f"{name}.{part}") for part in parts}
    if isinstance(value, BaseEstimator):
        return _encode_transformer(value, name)
    if isinstance(value, Parameters):
        params = {key: encode(item, f"{name}.{key}") for key, item in value.get_params(deep=False).items()}
        return {"kind": "parameters", "class": type(value).__name__, "params": params}
    if isinstance(value, list | tuple):
        items = {str(i): encode(item, f"{name}.{i}") for i, item in enumerate(value)}
        return {"kind": type(value).__name__ if type(value) in (list, tuple) else "tuple", "items": items}
    if isinstance(value, dict) and all(isinstance(key, str) and key not in _RESERVED for key in value):
        return {key: encode(item, f"{name}.{key}") for key, item in value.items()}
    raise TypeError(
        f"{name} is {value!r}, which cannot be saved: a model file holds settings and numbers, never code. Use a "
        "built-in influence, or fit again where you need the scorer."
    )


def _encode_array(value: Any, name: str) -> Any:
    """Encode an array, sparse matrix or array of plain objects."""
    if is_sparse(value):
        rows = sp.csr_array(value)
        return {"kind": "csr", "shape": list(rows.shape)} | {part: getattr(rows, part) for part in _CSR}
    if value.dtype.kind in "biufUS":
        return value
    values = [item.item() if isinstance(item, np.generic) else item for item in value.ravel()]
    plain = all(item is None or isinstance(item, bool | int | float | str) for item in values)
    if value.ndim != 1 or value.dtype.kind != "O" or not plain:
        raise TypeError(f"{name} is a {value.ndim}-D array of {value.dtype}, which cannot be saved.")
    return {"kind": "objects", "values": values}


def decode(value: Any) -> Any:
    """Decode a value from the result of :func:`encode`."""
    if not isinstance(value, dict):
        return value
    if "kind" not in value:
        return {key: decode(item) for key, item in value.items()}
    parts = {key: decode(item) for key, item in value.items() if key != "kind"}
    kind = value["kind"]
    try:
        if kind == "transformer":
            return _decode_transformer(**parts)
        if kind in ("list", "tuple"):
            items = [parts["items"][str(i)] for i in range(len(parts["items"]))]
            return tuple(items) if kind == "tuple" else items
        if kind == "csr":
            return sp.csr_array(tuple(parts[part] for part in _CSR), shape=tuple(parts["shape"]))
        if kind == "parameters":
            return Parameters.class_named(parts["class"])(**parts["params"])
        if kind == "objects":
            values = np.empty(len(parts["values"]), dtype=object)
            values[:] = parts["values"]
            return values
        cls, attributes, _ = _kinds()[kind]
        chosen = {attribute: parts[attribute] for attribute in attributes}
    except KeyError as error:
        raise ValueError(f"the state is incomplete: {error} of {kind!r} is unknown or missing.") from error
    if issubclass(cls, tuple):
        return cls(*chosen.values())
    # Bypass the constructor: the parts are checked, and recomputing them could change bits.
    instance = object.__new__(cls)
    vars(instance).update(chosen)
    return instance


# Clusterers that label new points.

#: Shapes of the precision factors of a mixture by covariance type.
_FACTOR_SHAPES = {"full": ("m", "d", "d"), "tied": ("d", "d"), "diag": ("m", "d"), "spherical": ("m",)}


def encode_clusterer(clusterer: Any) -> dict[str, Any] | None:
    """Encode k-means or a Gaussian mixture as the arrays that label new points; None for other clusterers."""
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.mixture import GaussianMixture

    if type(clusterer) in (KMeans, MiniBatchKMeans):
        return {"algorithm": "k-means", "centers": clusterer.cluster_centers_}
    if type(clusterer) is GaussianMixture:
        return {
            "algorithm": "mixture",
            "covariance_type": clusterer.covariance_type,
            "weights": clusterer.weights_,
            "means": clusterer.means_,
            "factors": clusterer.precisions_cholesky_,
        }
    return None


def decode_clusterer(state: Mapping[str, Any], n_features: int) -> Any:
    """Decode a clusterer that labels new points like the encoded one."""
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture

    sizes = Sizes({"d": n_features}, {})
    check_parts(state, {"algorithm": Text(("k-means", "mixture"))}, "clusterer", sizes)
    clusterer: Any
    if state["algorithm"] == "k-means":
        check_parts(state, {"centers": Array(("m", "d"), "number")}, "clusterer", sizes)
        clusterer = KMeans(sizes["m"])
        clusterer.cluster_centers_, clusterer._n_threads = state["centers"], 1
    else:
        check_parts(state, {"covariance_type": Text(tuple(_FACTOR_SHAPES))}, "clusterer", sizes)
        shape = _FACTOR_SHAPES[state["covariance_type"]]
        arrays = {"weights": Array(("m",), "number"), "means": Array(("m", "d"), "number")}
        check_parts(state, arrays | {"factors": Array(shape, "number")}, "clusterer", sizes)
        clusterer = GaussianMixture(sizes["m"], covariance_type=state["covariance_type"])
        clusterer.weights_, clusterer.means_ = state["weights"], state["means"]
        clusterer.precisions_cholesky_ = state["factors"]
    clusterer.n_features_in_ = n_features
    return clusterer


# Transformers that public arrays describe completely.

#: Attributes of every transformer about its input columns.
_INPUT: dict[str, Spec] = {"n_features_in_": Size("d"), "feature_names_in_": Array(("d",), "label")}


@cache
def _transformers() -> dict[str, tuple[Any, dict[str, Spec]]]:
    """Return the transformers that can be saved, by name, and the specifications of their fitted attributes."""
    from sklearn import decomposition, preprocessing

    row, count = Array(("d",), "number"), Unchecked()
    scales: dict[str, Spec] = dict.fromkeys(("mean_", "var_", "scale_"), OrNone(row)) | {"n_samples_seen_": count}
    extent: dict[str, Spec] = dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), row)
    middle: dict[str, Spec] = dict.fromkeys(("center_", "scale_"), OrNone(row))
    variances = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
    axes: dict[str, Spec] = dict.fromkeys(variances, Array(("m",), "number"))
    axes = {"components_": Array(("m", "d"), "number")} | axes
    pca = axes | {"mean_": row, "n_components_": Size("m"), "noise_variance_": Number(), "n_samples_": count}
    known: list[tuple[Any, dict[str, Spec]]] = [
        (preprocessing.StandardScaler, scales),
        (preprocessing.MinMaxScaler, extent | {"n_samples_seen_": count}),
        (preprocessing.RobustScaler, middle),
        (decomposition.PCA, pca),
        (decomposition.TruncatedSVD, axes),
    ]
    return {cls.__name__: (cls, _INPUT | fitted) for cls, fitted in known} | {"Pipeline": (Pipeline, {})}


def _encode_transformer(transformer: Any, name: str) -> dict[str, Any]:
    """Encode a fitted scikit-learn transformer as parameters and arrays."""
    while isinstance(transformer, FrozenEstimator):
        transformer = transformer.estimator
    cls, specs = _transformers().get(type(transformer).__name__, (None, {}))
    if type(transformer) is not cls:
        raise TypeError(
            f"{name} is {transformer!r}, which cannot be saved: a model file holds numbers, never code. It can hold "
            f"{', '.join(_transformers())}. For a table with categories or missing values use allegiance.io.Model: "
            "its plan encodes and fills columns. Otherwise transform X first, and fit to the result."
        )
    params = transformer.get_params(deep=False)
    if "random_state" in params and not isinstance(params["random_state"], int):
        params["random_state"] = None  # the fit has used it
    if isinstance(transformer, Pipeline):
        params |= {"steps": [list(step) for step in transformer.steps], "memory": None}
    fitted = {part: getattr(transformer, part) for part in specs if hasattr(transformer, part)}
    return {
        "kind": "transformer",
        "cls": type(transformer).__name__,
        "params": {key: encode(value, f"{name}.{key}") for key, value in params.items()},
        "fitted": {key: encode(value, f"{name}.{key}") for key, value in fitted.items()},
        "output": getattr(transformer, "_sklearn_output_config", {}).get("transform"),
    }


def _decode_transformer(cls: str, params: dict[str, Any], fitted: dict[str, Any], output: str | None) -> Any:
    """Decode a transformer from its encoded parts, after checking its arrays."""
    if cls not in _transformers():
        raise ValueError(f"the state has a transformer {cls!r}, which this version of allegiance does not support.")
    constructor, specs = _transformers()[cls]
    unknown = set(fitted) - set(specs)
    if unknown:
        raise ValueError(f"the state has {min(unknown)!r}, which is not an attribute of {cls}.")
    transformer = constructor(**params)
    transformer._validate_params()  # its fit would have done so
    check_parts(fitted, {key: specs[key] for key in fitted}, cls, Sizes({}, {}))
    for key, value in fitted.items():
        setattr(transformer, key, value)
    return transformer if output is None else transformer.set_output(transform=output)
