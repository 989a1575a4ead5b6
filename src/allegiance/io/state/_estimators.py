"""Fitted transformers and clusterers of scikit-learn as plain values and arrays: those known here, and no others.

Each has one entry in :func:`codecs`: which of its fitted attributes are kept. Parameters are kept by themselves. What
an estimator keeps in private attributes is not read: the few that need such are fitted again, to one row that gives the
same values, so that files outlive changes inside scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import Array, CheckedLater, Number, OrNone, Size, Sizes, Spec, check_parts

from ._values import decode_value, encode_value


class Finite(Spec):
    """An array of finite numbers of any precision.

    Parameters
    ----------
    *shape
        The names of its sizes; none for any shape.
    """

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


#: What every estimator knows of the columns that it was fitted to.
_SEEN: dict[str, Spec] = {"n_features_in_": Size("d"), "feature_names_in_": Array(("d",), "label")}


class Codec(NamedTuple):
    """How a fitted estimator of one class is kept."""

    cls: Any
    fitted: Mapping[str, Spec] = MappingProxyType({})
    """Its fitted attributes, besides the number and names of columns, and what they must be in a file."""
    refit: Callable[[Any, dict[str, Any]], None] | None = None
    """Fits an estimator to one row that gives these attributes, before they are set."""
    refuse: Callable[[Any], str | None] | None = None
    """Says why an estimator with these parameters cannot be kept; None if it can."""


@cache
def codecs() -> dict[str, Codec]:
    """Return all estimators that can be saved, by the name that stands for them in files."""
    from sklearn import cluster, decomposition, feature_selection, impute, mixture, preprocessing
    from sklearn.feature_extraction.text import TfidfTransformer

    from allegiance.preparation import Dates, Numbers, Texts

    row, matrix, count = Finite("d"), Finite("m", "d"), CheckedLater()
    spread = dict.fromkeys(("mean_", "var_", "scale_"), OrNone(row)) | {"n_samples_seen_": count}
    extent = dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), row) | {
        "n_samples_seen_": count
    }
    explained = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
    axes = {"components_": matrix} | dict.fromkeys(explained, Finite("m"))
    centers = {"cluster_centers_": matrix, "inertia_": count, "n_iter_": count}
    mixed = {"weights_": Finite("m"), "means_": matrix, "converged_": count, "n_iter_": count}
    spreads = dict.fromkeys(("covariances_", "precisions_", "precisions_cholesky_"), Finite())
    known = [
        Codec(Numbers),
        Codec(Dates),
        Codec(Texts),
        Codec(preprocessing.StandardScaler, spread),
        Codec(preprocessing.MinMaxScaler, extent),
        Codec(preprocessing.MaxAbsScaler, {"scale_": row, "max_abs_": row, "n_samples_seen_": count}),
        Codec(preprocessing.RobustScaler, {"center_": OrNone(row), "scale_": OrNone(row)}),
        Codec(preprocessing.Normalizer),
        Codec(preprocessing.Binarizer),
        Codec(preprocessing.FunctionTransformer),
        Codec(
            preprocessing.QuantileTransformer,
            {"quantiles_": matrix, "references_": Finite("m"), "n_quantiles_": Size("m")},
        ),
        Codec(preprocessing.OneHotEncoder, {"categories_": count}, _refit_encoder, _infrequent),
        Codec(preprocessing.OrdinalEncoder, {"categories_": count}, _refit_encoder, _infrequent),
        Codec(impute.SimpleImputer, {"statistics_": count}, _refit_imputer, _indicator),
        Codec(
            decomposition.PCA,
            axes | {"mean_": row, "n_components_": Size("m"), "noise_variance_": Number(), "n_samples_": count},
        ),
        Codec(decomposition.TruncatedSVD, axes),
        Codec(feature_selection.VarianceThreshold, {"variances_": row}),
        Codec(TfidfTransformer, {"idf_": row}),
        Codec(cluster.KMeans, centers, _refit_kmeans),
        Codec(cluster.MiniBatchKMeans, centers, _refit_kmeans),
        Codec(mixture.GaussianMixture, mixed | spreads),
    ]
    return {codec.cls.__name__: codec for codec in known}


def can_be_saved(estimator: Any) -> bool:
    """Tell whether an estimator, not a pipeline, is known here."""
    codec = codecs().get(type(estimator).__name__)
    return codec is not None and type(estimator) is codec.cls and not (codec.refuse and codec.refuse(estimator))


def encode_estimator(estimator: Any, name: str) -> dict[str, Any]:
    """Return a fitted estimator as plain values and arrays.

    Parameters
    ----------
    estimator
        Fitted.
    name
        Where it belongs, for the message of an error.

    Raises
    ------
    TypeError
        If its class, or something in its parameters, is not known here.
    """
    codec = codecs().get(type(estimator).__name__)
    if codec is None or type(estimator) is not codec.cls:
        raise TypeError(
            f"{name} is {estimator!r}, which cannot be saved: files hold numbers, never code. Known are Pipeline, "
            f"ColumnTransformer, {', '.join(codecs())}. Transform X before, or fit again where the scorer is needed."
        )
    reason = None if codec.refuse is None else codec.refuse(estimator)
    if reason is not None:
        raise TypeError(f"{name} is {estimator!r}, which cannot be saved: {reason}.")
    params = estimator.get_params(deep=False)
    if "random_state" in params and not isinstance(params["random_state"], int):
        params["random_state"] = None  # it has done its work
    fitted = {part: getattr(estimator, part) for part in (*_SEEN, *codec.fitted) if hasattr(estimator, part)}
    return {
        "class": type(estimator).__name__,
        "params": {key: encode_value(value, f"{name}.{key}") for key, value in params.items()},
        "fitted": {key: encode_value(value, f"{name}.{key}") for key, value in fitted.items()},
        "output": output_of(estimator),
    }


def decode_estimator(state: dict[str, Any]) -> Any:
    """Return the estimator that :func:`encode_estimator` described.

    Raises
    ------
    ValueError
        If its class is not known here.
    """
    codec = codecs().get(state["class"])
    if codec is None:
        raise ValueError(f"the state has an estimator {state['class']!r}, which this allegiance does not know.")
    estimator = codec.cls(**{key: decode_value(value) for key, value in state["params"].items()})
    fitted = {key: decode_value(value) for key, value in state["fitted"].items()}
    declared = {**_SEEN, **codec.fitted}
    unknown = set(fitted) - set(declared)
    if unknown:
        raise ValueError(f"the state has {min(unknown)!r} of {state['class']}, which is not one of its attributes.")
    check_parts(fitted, {key: declared[key] for key in fitted}, state["class"], Sizes(), {})
    if codec.refit is not None:
        codec.refit(estimator, fitted)
    for key, value in fitted.items():
        setattr(estimator, key, value)
    return with_output(estimator, state["output"])


def output_of(estimator: Any) -> str | None:
    """Return the kind of frame that a transformer was told to make by ``set_output``."""
    found = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    return None if found is None else str(found)


def with_output(estimator: Any, output: str | None) -> Any:
    """Tell a transformer which kind of frame to make, and return it."""
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
    asked = kmeans.get_params(deep=False)
    centers = fitted["cluster_centers_"]
    # Centres may be equal; places that are not tell k-means how many there are.
    places = np.arange(centers.size, dtype=centers.dtype).reshape(centers.shape)
    kmeans.set_params(n_clusters=len(centers), init=places, n_init=1, max_iter=1, tol=0.0, random_state=0).fit(places)
    kmeans.set_params(**asked)
    del kmeans.labels_  # those of the places


def _indicator(imputer: Any) -> str | None:
    return "add_indicator=True is not supported" if imputer.add_indicator else None


def _infrequent(encoder: Any) -> str | None:
    grouped = encoder.min_frequency is not None or encoder.max_categories is not None
    return "min_frequency and max_categories are not supported" if grouped else None
