"""Labels from a clusterer, and from the nearest representative."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from allegiance._core import AnyArray, FloatArray, IntArray, for_row_blocks, row_dots
from allegiance.influence import Diagram

from ._pipelines import Followed, follow

#: Rows compared with all sites at a time.
_ROWS = 8192


def check_clusterer(estimator: Any) -> None:
    """Raise unless ``estimator`` is something that can be fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be an instance of a clusterer, such as KMeans(10), got {estimator!r}.")


def fit_clusterer(estimator: Any, X: Any, fit_params: dict[str, Any]) -> Any:
    """Return a clone of ``estimator`` fitted to X; one that is frozen stays as it is."""
    return clone(estimator).fit(X, None, **fit_params)


def labels_by(followed: Followed, X: Any) -> AnyArray:
    """Return the labels (n,) that a fitted clusterer gave, or gives, to X, which is what its transformers made.

    Raises
    ------
    TypeError
        If it gives none.
    """
    clusterer = followed.clusterer
    # The labels of a frozen clusterer may be those of other points.
    if hasattr(clusterer, "labels_") and not (followed.frozen and hasattr(clusterer, "predict")):
        return np.asarray(clusterer.labels_)
    if hasattr(clusterer, "predict"):
        return np.asarray(clusterer.predict(X))
    raise TypeError(f"estimator must give labels, but {clusterer!r} has neither labels_ nor predict.")


def cluster(estimator: Any, X: Any) -> AnyArray:
    """Return the labels (n,) that a clone of an estimator, perhaps a pipeline, gives to X."""
    followed = follow(fit_clusterer(estimator, X, {}))
    return labels_by(followed, X if followed.preparation is None else followed.preparation.transform(X))


def nameless(estimator: Any) -> Any:
    """Return a fitted estimator that takes arrays without a warning that names of columns are missing."""
    if "feature_names_in_" not in getattr(estimator, "__dict__", ()):
        return estimator
    found = copy(estimator)
    del found.feature_names_in_
    return found


def nearest_sites(diagram: Diagram, position: FloatArray, threads: int = 1) -> IntArray:
    """Return the number (n,) of the site with the lowest function at each position."""
    a, b = diagram.functions
    nearest = np.zeros(position.shape[0], dtype=np.int64)

    def work(rows: slice) -> None:
        for start in range(rows.start, rows.stop, _ROWS):
            part = slice(start, min(start + _ROWS, rows.stop))
            lowest = np.full(nearest[part].shape, np.inf)
            for i in range(b.size):
                value = b[i] - row_dots(position[part], a[i])
                np.copyto(nearest[part], i, where=value < lowest)
                np.minimum(lowest, value, out=lowest)

    for_row_blocks(work, position.shape[0], threads)
    return nearest
