"""Labels from a clusterer, and from the nearest representative."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from allegiance._core import AnyArray, FloatArray, IntArray, for_row_blocks, kernel_ready
from allegiance.influence import Diagram

from ._pipelines import UnwrappedEstimator, unwrap_estimator


def check_clusterer(estimator: Any) -> None:
    """Raise unless ``estimator`` is something that can be fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be an instance of a clusterer, such as KMeans(10), got {estimator!r}.")


def fit_clusterer(estimator: Any, X: Any, fit_params: dict[str, Any]) -> Any:
    """Return a clone of ``estimator`` fitted to X; one that is frozen stays as it is."""
    return clone(estimator).fit(X, None, **fit_params)


def training_labels(unwrapped: UnwrappedEstimator, X: Any) -> AnyArray:
    """Return the labels (n,) that a fitted clusterer gave, or gives, to X, which is what its transformers made.

    Raises
    ------
    TypeError
        If it gives none.
    """
    clusterer = unwrapped.clusterer
    # The labels of a frozen clusterer may be those of other points.
    if hasattr(clusterer, "labels_") and not (unwrapped.frozen and hasattr(clusterer, "predict")):
        return np.asarray(clusterer.labels_)
    if hasattr(clusterer, "predict"):
        return np.asarray(clusterer.predict(X))
    raise TypeError(f"estimator must give labels, but {clusterer!r} has neither labels_ nor predict.")


def cluster(estimator: Any, X: Any) -> AnyArray:
    """Return the labels (n,) that a clone of an estimator, perhaps a pipeline, gives to X."""
    unwrapped = unwrap_estimator(fit_clusterer(estimator, X, {}))
    return training_labels(unwrapped, X if unwrapped.preparation is None else unwrapped.preparation.transform(X))


def without_feature_names(estimator: Any) -> Any:
    """Return a fitted estimator that takes arrays without a warning that names of columns are missing."""
    if "feature_names_in_" not in getattr(estimator, "__dict__", ()):
        return estimator
    found = copy(estimator)
    del found.feature_names_in_
    return found


def nearest_sites(diagram: Diagram, position: FloatArray, threads: int = 1) -> IntArray:
    """Return the number (n,) of the site with the lowest function at each position."""
    from allegiance._kernels.counting import owners_at

    position, columns, b = kernel_ready(position, diagram.functions.a.T, diagram.functions.b)
    nearest = np.empty(position.shape[0], np.int64)

    def work(rows: slice) -> None:
        owners_at(position[rows], columns, b, nearest[rows])

    for_row_blocks(work, position.shape[0], threads, products=position.size * b.size)
    return nearest
