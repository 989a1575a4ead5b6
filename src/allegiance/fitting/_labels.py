"""Labels: from a clusterer, from the nearest site, and back to the user's own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from allegiance._core._rows import row_dots
from allegiance._core._typing import AnyArray, FloatArray, Rows
from allegiance._core._validation import NOISE, Membership
from allegiance.influence import Diagram

#: Rows compared with all sites at a time.
_ROWS = 8192


class Clustered(NamedTuple):
    """A fitted clusterer and the labels (n,) it gave."""

    estimator: Any
    labels: AnyArray


def check_clusterer(estimator: Any) -> None:
    """Raise unless ``estimator`` is something that can be fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be an instance of a clusterer, such as KMeans(10), got {estimator!r}.")


def fit_clusterer(estimator: Any, X: Rows, fit_params: dict[str, Any]) -> Clustered:
    """Fit a clone of ``estimator`` to X; one that is frozen only labels X."""
    fitted = clone(estimator).fit(X, None, **fit_params)
    frozen = isinstance(fitted, FrozenEstimator)
    if hasattr(fitted, "labels_") and not (frozen and hasattr(fitted, "predict")):
        return Clustered(fitted, np.asarray(fitted.labels_))
    if hasattr(fitted, "predict"):
        return Clustered(fitted, np.asarray(fitted.predict(X)))
    raise TypeError(f"estimator must give labels, but {estimator!r} has neither labels_ nor predict.")


def means_without_each(codes: AnyArray, means: FloatArray, position: FloatArray) -> FloatArray:
    """Return, for each point, the mean (n, r) of its cluster without it; NaN if it was the only one.

    Parameters
    ----------
    codes
        (n,) cluster of each point, -1 for none.
    means
        (k, r) means of the clusters.
    position
        (n, r) the points.
    """
    sizes = np.bincount(codes[codes >= 0], minlength=means.shape[0])
    own = means[codes]
    others = sizes[codes][:, None] - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        without = own + (own - position) / others
    without[others[:, 0] <= 0] = np.nan
    return without


def nearest_sites(diagram: Diagram, position: FloatArray) -> AnyArray:
    """Return the number (n,) of the site with the lowest function at each position."""
    a, b = diagram.functions
    nearest = np.zeros(position.shape[0], dtype=np.int64)
    for start in range(0, position.shape[0], _ROWS):
        rows = slice(start, start + _ROWS)
        lowest = np.full(nearest[rows].shape, np.inf)
        for i in range(b.size):
            value = b[i] - row_dots(position[rows], a[i])
            np.copyto(nearest[rows], i, where=value < lowest)
            np.minimum(lowest, value, out=lowest)
    return nearest


def labels_of(members: Membership) -> AnyArray:
    """Return the user's labels again, noise as -1."""
    labels: AnyArray = members.classes[members.codes]
    if (members.codes == NOISE).any():
        labels = np.where(members.codes == NOISE, NOISE, labels)
    return labels
