"""The synthetic data sets: five Gaussians, four in the corners and one in the middle."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from reproduction.arrays import FloatArray, IntArray, stream

#: Points of each cluster, and those the corners gain in the larger set.
_EACH, _MORE = 100, 400
_SQUARE = np.array([[0, 0], [-3, -3], [-3, 3], [3, -3], [3, 3]], dtype=float)
#: The corners of a regular tetrahedron, as far from the middle as the corners of the square.
_TETRAHEDRON = np.sqrt(6.0) * np.array([[0, 0, 0], [1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


def load_2d5c(n_points: int = 500, *, spread: float = 1.0, random_state: int | None = 0) -> Bunch:
    """Draw 2D5C: five Gaussians in the plane, four at the corners of a square and one in the middle.

    The paper gives the sizes of the clusters and no coordinates. Ours: the middle is (0, 0), the corners are (±3, ±3),
    and every cluster is round with standard deviation ``spread``. 2D5C-500 has 100 points in each cluster. 2D5C-2100
    is the same 500 points, followed by 400 more in each corner.

    Parameters
    ----------
    n_points
        500 or 2100.
    spread
        The standard deviation of every cluster. 1 gives clusters that are visibly separate and just touch.
    random_state
        Seed; None for new points at each call. The default draws the same points always.

    Returns
    -------
    Bunch
        ``data`` (n, 2), ``target`` (n,) the cluster each point was drawn from, 0 for the middle, ``centers`` (5, 2),
        ``feature_names``, ``target_names``, ``DESCR``.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.datasets import load_2d5c
    >>> np.bincount(load_2d5c(2100).target)
    array([100, 500, 500, 500, 500])
    """
    if isinstance(n_points, bool) or n_points not in (500, 2100):
        raise ValueError(f"n_points must be 500 or 2100, got {n_points!r}.")
    target = np.repeat(np.arange(5), _EACH)
    if n_points == 2100:
        target = np.concatenate([target, np.repeat(np.arange(1, 5), _MORE)])
    return Bunch(
        data=_gaussians(_SQUARE, target, spread, random_state),
        target=target,
        centers=_SQUARE.copy(),
        feature_names=["x", "y"],
        target_names=["middle", "bottom left", "top left", "bottom right", "top right"],
        DESCR=f"2D5C-{n_points}: Gaussians of standard deviation {spread:g} around (0, 0) and (±3, ±3).",
    )


def load_3d5c(*, spread: float = 1.0, random_state: int | None = 0) -> Bunch:
    """Draw 3D5C: five Gaussians in space, four at the corners of a tetrahedron and one in the middle, 100 points each.

    The paper only names this data set. We give the clusters the distance of 2D5C from the middle, √18.

    Parameters
    ----------
    spread
        The standard deviation of every cluster.
    random_state
        Seed; None for new points at each call. The default draws the same points always.

    Returns
    -------
    Bunch
        ``data`` (500, 3), ``target`` (500,) the cluster each point was drawn from, 0 for the middle, ``centers``
        (5, 3), ``feature_names``, ``target_names``, ``DESCR``.

    Examples
    --------
    >>> from reproduction.datasets import load_3d5c
    >>> load_3d5c().data.shape
    (500, 3)
    """
    target = np.repeat(np.arange(5), _EACH)
    return Bunch(
        data=_gaussians(_TETRAHEDRON, target, spread, random_state),
        target=target,
        centers=_TETRAHEDRON.copy(),
        feature_names=["x", "y", "z"],
        target_names=["middle", "corner 1", "corner 2", "corner 3", "corner 4"],
        DESCR=(
            f"3D5C-500: Gaussians of standard deviation {spread:g} around the origin and the corners of a regular "
            "tetrahedron, √18 away from it."
        ),
    )


def _gaussians(means: FloatArray, target: IntArray, spread: float, random_state: int | None) -> FloatArray:
    """Draw one point around the mean of each entry of ``target``; more entries leave the first points as they were."""
    if not 0.0 < spread < np.inf:
        raise ValueError(f"spread must be a positive number, got {spread!r}.")
    return means[target] + spread * stream(random_state).normal(size=(target.size, means.shape[1]))
