"""The plane that is drawn: all of a two-dimensional space, a slice along two features, or along principal axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from allegiance._core import FloatArray, Rows, check_choice, dense, is_sparse
from allegiance._scorer import AffinityScorer

from ._inputs import feature_names_of


@dataclass(frozen=True)
class Plane:
    """The points origin + u first + v second of the space of X.

    Attributes
    ----------
    origin
        (d,) where u = v = 0.
    axes
        (2, d) orthonormal directions.
    anchor
        (2,) coordinates of a point of the plane where the scorer is defined.
    names
        What the two axes of a picture are called.
    note
        What a reader must know of the plane; empty if it is the whole space.
    """

    origin: FloatArray
    axes: FloatArray
    anchor: FloatArray
    names: tuple[str, str]
    note: str

    @property
    def whole(self) -> bool:
        """Whether the plane is all there is."""
        return self.origin.shape[0] == 2

    def lift(self, uv: FloatArray) -> FloatArray:
        """Return the points (n, d) of the space at coordinates (n, 2)."""
        return self.origin + uv @ self.axes

    def project(self, X: Rows) -> FloatArray:
        """Return the coordinates (n, 2) of the points of the plane closest to rows of X."""
        if is_sparse(X):
            return np.asarray(X @ self.axes.T) - self.origin @ self.axes.T
        return np.asarray((X - self.origin) @ self.axes.T)


def sites_of(scorer: AffinityScorer) -> FloatArray | None:
    """Return the representatives (k, d) in the coordinates of X; None if cells have no flat sides there."""
    return scorer.fitted_.centers if scorer.fitted_.influence.flat_sides else None


def choose_plane(scorer: AffinityScorer, X: Rows | None, features: Any, projection: Any, at: Any) -> Plane:
    """Return the plane that the user asked for.

    Parameters
    ----------
    scorer
        A fitted scorer.
    X
        (n, d) data, for its mean and principal axes; None to take those of the representatives.
    features
        Two features, by number or name, or None.
    projection
        "pca", or None for the default: the features themselves if there are two, else "pca".
    at
        (d,) a point of the plane; None for the mean.
    """
    check_choice(projection, "projection", (None, "pca"))
    d = scorer.n_features_in_
    data = sites_of(scorer) if X is None else X
    if data is None:
        raise ValueError("X is needed to choose a plane: a kernel has no representatives in the space of X.")
    point = np.asarray(data.mean(axis=0), dtype=np.float64).ravel() if at is None else _check_point(at, d)
    where = "the mean" if at is None else "one point"
    if features is not None:
        if projection is not None:
            raise ValueError("features and projection exclude each other: choose a slice or a projection.")
        return _slice(feature_names_of(scorer), _check_features(scorer, features), point, where)
    if d == 2 and projection is None:
        return _slice(feature_names_of(scorer), (0, 1), point, where)
    return principal_plane(data, point, where)


def _slice(names: list[str], features: tuple[int, int], point: FloatArray, where: str) -> Plane:
    axes = np.eye(point.size)[list(features)]
    anchor = point[list(features)]
    note = f"slice through {where} of {point.size} features" if point.size > 2 else ""
    return Plane(point - anchor @ axes, axes, anchor, (names[features[0]], names[features[1]]), note)


def principal_plane(data: Rows, point: FloatArray, where: str) -> Plane:
    """Return the plane of the two principal axes of ``data`` (n, d) through a point (d,)."""
    from sklearn.decomposition import PCA

    n, d = data.shape
    if n < 2:
        raise ValueError("principal axes need at least two rows of X: give more, or choose features=(i, j).")
    if n == 2:
        data = np.vstack([dense(data), np.asarray(data.mean(axis=0)).reshape(1, d)])
    solver = "arpack" if is_sparse(data) and min(data.shape) > 2 else "auto"
    with np.errstate(invalid="ignore", divide="ignore"):
        pca = PCA(2, svd_solver=solver, random_state=0).fit(data if solver == "arpack" else dense(data))
    names = [f"principal axis {i + 1}{_share(pca.explained_variance_ratio_[i])}" for i in range(2)]
    note = f"principal plane through {where} of {d} features" if d > 2 else ""
    return Plane(point, pca.components_, np.zeros(2), (names[0], names[1]), note)


def _share(ratio: float) -> str:
    return f" ({ratio:.0%} of variance)" if np.isfinite(ratio) else ""


def _check_point(at: Any, d: int) -> FloatArray:
    point = np.asarray(at, dtype=np.float64)
    if point.shape != (d,) or not np.isfinite(point).all():
        raise ValueError(f"at must be one point of {d} finite features, got shape {point.shape}.")
    return point


def _check_features(scorer: AffinityScorer, features: Any) -> tuple[int, int]:
    names = feature_names_of(scorer)
    d = len(names)
    chosen = [features] if isinstance(features, str) or not np.iterable(features) else list(features)
    numbers = [names.index(item) if isinstance(item, str) and item in names else item for item in chosen]
    valid = all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) and 0 <= i < d for i in numbers)
    if len(numbers) != 2 or not valid or numbers[0] == numbers[1]:
        raise ValueError(
            f"features must be two different features, by name or number from 0 to {d - 1}, got {features!r}."
        )
    return int(numbers[0]), int(numbers[1])
