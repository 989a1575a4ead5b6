"""Where the points lie on the map."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from allegiance._core import FloatArray, Rows, dense, is_sparse
from allegiance.results import AffinityResult

from ._inputs import Coordinates, Features
from ._largest import all_affinities
from ._quantity import Quantity

#: Columns up to which the covariance matrix is decomposed; above, only its two largest directions are searched.
_MANY_COLUMNS = 1000
#: Entries up to which a sparse matrix is made dense.
_SMALL = 10_000_000
#: Numbers beyond this are scaled down, since their squares could overflow.
_LARGE = 1e100


class Projection(NamedTuple):
    """Two coordinates for each point."""

    x: FloatArray
    y: FloatArray
    x_label: str
    y_label: str
    description: str
    """What the map shows, for the reader of the page."""


def project(
    result: AffinityResult | None, features: Features | None, quantity: Quantity, coordinates: Coordinates | None = None
) -> Projection:
    """Place the points where the user says, or by two principal components of their features or affinities.

    Parameters
    ----------
    result
        The result; None if only its scores are known, and there are features or coordinates.
    features
        The data; None if there is none.
    quantity
        What a single feature is drawn against; noise, which has none, lies at 0.
    coordinates
        The user's own; None if there are none.
    """
    if coordinates is not None:
        x_label, y_label = coordinates.names
        values = coordinates.values
        return Projection(values[:, 0], values[:, 1], x_label, y_label, f"{x_label} and {y_label}, as given")
    if features is not None:
        values, names, subject = features.rows, features.names, "the features"
    else:
        assert result is not None
        values, subject = all_affinities(result), "the affinities"
        names = [f"affinity to {name}" for name in result.classes.tolist()]
        if result.n_clusters == 2:  # They sum to 1: the second says nothing new.
            values, names = values[:, :1], names[:1]
    if values.shape[1] == 1:
        y = np.nan_to_num(quantity.values)
        return Projection(dense(values)[:, 0], y, names[0], quantity.name, f"{names[0]}, against {quantity.name}")
    if values.shape[1] == 2 or values.shape[0] == 1:
        x, y = dense(values[:, :2]).T
        return Projection(x, y, names[0], names[1], f"{names[0]} and {names[1]}, as they are")
    components, shares = _principal_components(values, 0 if result is None else result.how.seed)
    first, second = (f"principal component ({share:.0%} of the variance)" for share in shares)
    return Projection(
        components[:, 0],
        components[:, 1],
        f"first {first}",
        f"second {second}",
        f"the first two principal components of {subject}",
    )


def _principal_components(values: Rows, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return coordinates (n, 2) and the shares (2,) of the variance."""
    n, d = values.shape
    if is_sparse(values) and (n <= 3 or n * d <= _SMALL):
        values = dense(values)
    largest = float(abs(values).max())
    scale = largest if largest > _LARGE else 1.0
    solver = "covariance_eigh" if d <= _MANY_COLUMNS else "arpack" if is_sparse(values) else "randomized"
    pca = PCA(2, svd_solver=solver, random_state=seed % 2**32)
    with np.errstate(divide="ignore", invalid="ignore"):  # All points may be equal: no variance to share out.
        coordinates = pca.fit_transform(values / scale)
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    return np.asarray(coordinates, dtype=np.float64) * scale, shares
