"""Inputs of a fit: the columns of X, the transformers before a clusterer, and the clusterer."""

from __future__ import annotations

from collections.abc import Container
from copy import copy
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import KernelPCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import has_fit_parameter

from allegiance._core.validation import AnyArray, Rows, check_rows, is_sparse, join_names
from allegiance.calibration import is_pairwise

#: Dimensions in which points are scored if X is a distance matrix.
_COORDINATES = 10


class Columns(BaseEstimator):
    """The number of columns of X, their names if any, and the transformers before the clusterer if any.

    scikit-learn validates X with it. Fitted transformers, ``preparation``, validate X themselves, and ``n_prepared`` is
    the number of columns they produce; None to count them in the first points.
    """

    def __init__(
        self, n_features: int, names: Any = None, preparation: Any = None, n_prepared: int | None = None
    ) -> None:
        self.n_features = self.n_features_in_ = n_features
        self.names = names
        self.preparation = preparation
        self.n_prepared: Any = n_features if preparation is None else n_prepared
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)

    @classmethod
    def of(cls, estimator: Any, preparation: Any = None) -> Columns:
        """Return the columns that an estimator or pipeline was fitted on."""
        return cls(estimator.n_features_in_, getattr(estimator, "feature_names_in_", None), preparation)

    @property
    def known_names(self) -> AnyArray | None:
        """(d,) names of the columns of X, before the transformers, or None."""
        return getattr(self, "feature_names_in_", None)

    @property
    def prepared_names(self) -> AnyArray | None:
        """Names of the columns after the transformers of a pipeline, in which points are scored; None if unknown."""
        if self.preparation is None:
            return self.known_names
        try:
            return np.asarray(self.preparation.get_feature_names_out(), dtype=object)
        except (AttributeError, ValueError):
            return None

    def check(self, X: Any) -> Rows:
        """Return X as rows (n, d), after the transformers of the pipeline if there are any."""
        return self.prepare(X)[1]

    def prepare(self, X: Any) -> tuple[Any, Rows]:
        """Return X after the transformers of a pipeline, with its column names if it has any, and as checked rows."""
        if self.preparation is None:
            rows = check_rows(self, X, reset=False)
            return X if hasattr(X, "columns") else rows, rows
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        try:
            table = self.preparation.transform(X)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            if self.known_names is None or hasattr(X, "columns"):
                raise
            raise TypeError(
                f"X is of type {type(X).__name__}, but the scorer was fitted to a frame and finds its columns by "
                f"name: pass a frame with the columns {join_names(self.known_names, most=20)}."
            ) from error
        matrix = table if is_sparse(table) else np.asarray(table)
        if matrix.ndim != 2 or matrix.shape[0] != n_rows:
            raise ValueError(
                f"X has {n_rows} rows, but the transformers before the clusterer return an array of shape "
                f"{matrix.shape}: they must return one row of numbers for each row of X."
            )
        if self.n_prepared is None:
            self.n_prepared = matrix.shape[1]
        try:
            rows = Columns(self.n_prepared).check(matrix)
        except (TypeError, ValueError) as error:
            raise type(error)(f"X cannot be used after the transformers before the clusterer. {error}") from error
        return table if hasattr(table, "columns") else rows, rows


# scikit-learn's errors and warnings name the estimator that users know.
Columns.__name__ = "AffinityScorer"


class UnwrappedEstimator(NamedTuple):
    """The parts of a fitted estimator or pipeline."""

    preparation: Any
    """The fitted transformers before the clusterer, as one pipeline; None if there are none."""
    clusterer: Any
    """The clusterer, fitted to transformed points."""
    frozen: bool
    """Whether it was fitted earlier, possibly to other points."""


def has_pipeline(estimator: Any) -> bool:
    """Return whether an estimator is a pipeline, possibly frozen or inside a search."""
    return isinstance(without_wrappers(estimator), Pipeline)


def unwrap_estimator(estimator: Any) -> UnwrappedEstimator:
    """Split a fitted estimator through frozen estimators, searches and nested pipelines."""
    named: dict[str, Any] = {}
    frozen = False
    while True:
        if isinstance(estimator, Pipeline):
            *before, (name, last) = estimator.steps
            for step, transformer in before:
                if hasattr(transformer, "fit_resample"):
                    raise TypeError(
                        f"estimator is a pipeline whose step {step!r}, {transformer!r}, adds or removes rows: the "
                        "points scored must be the points clustered. Resample before, and pass the rest of the "
                        "pipeline."
                    )
                if transformer not in (None, "passthrough"):
                    named[unique_name(step, named)] = transformer
            if last in (None, "passthrough"):
                raise TypeError(f"estimator is a pipeline that ends in {name}={last!r}: it must end in a clusterer.")
            estimator = last
            continue
        inner = _inner_estimator(estimator)
        if getattr(estimator, "refit", True) is False:
            raise TypeError(f"estimator is {estimator!r}, which keeps no fitted estimator: use refit=True.")
        if inner is None:
            return UnwrappedEstimator(Pipeline(list(named.items())) if named else None, estimator, frozen)
        frozen = frozen or isinstance(estimator, FrozenEstimator)
        estimator = inner


def last_estimator(estimator: Any) -> Any:
    """Return the clusterer at the end of a pipeline, without frozen wrappers and searches."""
    estimator = without_wrappers(estimator)
    return last_estimator(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def without_wrappers(estimator: Any) -> Any:
    """Return the estimator or pipeline to clone for another clustering, without frozen wrappers and searches."""
    inner = _inner_estimator(estimator)
    if inner is not None:
        return without_wrappers(inner)
    if isinstance(estimator, Pipeline):
        *before, (name, last) = estimator.steps
        return Pipeline([*before, (name, without_wrappers(last))])
    return estimator


def _inner_estimator(estimator: Any) -> Any:
    """Return the estimator or pipeline inside a frozen wrapper or a search; None for others."""
    if isinstance(estimator, FrozenEstimator):
        return estimator.estimator
    if hasattr(estimator, "refit") and hasattr(estimator, "estimator"):
        return getattr(estimator, "best_estimator_", estimator.estimator)
    return None


def unique_name(name: str, names: Container[str]) -> str:
    """Return the name of a pipeline step or clustering, with a number if it is among ``names``."""
    candidates = (f"{name} {number}" for number in count(2))
    return name if name not in names else next(other for other in candidates if other not in names)


def fit_preparation(clusterer: Any, X: Any) -> Any:
    """Return the fitted transformers before a clusterer, or the classical scaling of a matrix; None without."""
    kind = is_pairwise(clusterer)
    if kind is None:
        return unwrap_estimator(fit_clusterer(clusterer, X, {})).preparation if has_pipeline(clusterer) else None
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X has shape {X.shape}, but {clusterer!r} takes {kind} between all rows: pass a square matrix, or remove "
            "'precomputed' to pass rows."
        )
    scaling = KernelPCA(min(_COORDINATES, X.shape[0] - 1), kernel="precomputed", remove_zero_eig=True)
    return Pipeline(
        [("kernel", FunctionTransformer(_inner_products, kw_args={"kind": kind})), ("scaling", scaling)]
    ).fit(X)


def _inner_products(X: Any, kind: str) -> AnyArray:
    """Return similarities (n, m) unchanged, and distances as inner products: the first step of classical scaling."""
    dense = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    return -0.5 * dense**2 if kind == "distances" else dense


def fit_clusterer(estimator: Any, X: Any, fit_params: dict[str, Any], weights: Any = None) -> Any:
    """Return a clone of an estimator or pipeline fitted to X, with weights (n,) if any; frozen ones stay unchanged."""
    if weights is not None:
        if not has_fit_parameter(last_estimator(estimator), "sample_weight"):
            raise TypeError(f"sample_weight was passed, but {last_estimator(estimator)!r} does not take it.")
        name = f"{estimator.steps[-1][0]}__sample_weight" if hasattr(estimator, "steps") else "sample_weight"
        fit_params = fit_params | {name: np.asarray(weights, dtype=np.float64)}
    return clone(estimator).fit(X, None, **fit_params)


def training_labels(unwrapped: UnwrappedEstimator, X: Any) -> AnyArray:
    """Return the labels (n,) of transformed X by the fitted clusterer of a pipeline; TypeError if it has none."""
    clusterer = unwrapped.clusterer
    # The labels of a frozen clusterer may belong to other points.
    if hasattr(clusterer, "labels_") and not (unwrapped.frozen and hasattr(clusterer, "predict")):
        return np.asarray(clusterer.labels_)
    if hasattr(clusterer, "predict"):
        return np.asarray(clusterer.predict(X))
    raise TypeError(f"estimator must produce labels, but {clusterer!r} has neither labels_ nor predict.")


def cluster(estimator: Any, X: Any) -> AnyArray:
    """Cluster X with a clone of an estimator or pipeline, and return the labels (n,)."""
    unwrapped = unwrap_estimator(fit_clusterer(estimator, X, {}))
    return training_labels(unwrapped, X if unwrapped.preparation is None else unwrapped.preparation.transform(X))


def without_feature_names(estimator: Any) -> Any:
    """Return a fitted estimator of a pipeline that takes arrays without a warning about missing column names."""
    if "feature_names_in_" not in getattr(estimator, "__dict__", ()):
        return estimator
    nameless = copy(estimator)
    del nameless.feature_names_in_
    return nameless
