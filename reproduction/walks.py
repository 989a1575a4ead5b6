"""The cell of a point, and random walks in the cells of many points at once, without reduction to the centers' span.

The cell of x among the centers is {z: <z, c_i - x> <= (|c_i|² - |x|²) / 2 for all i}, inside a region. A walk starts at
x. The owner of a place z of the cell is the center nearest to it, which is the one with the smallest slack.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.datasets import FloatArray


def cell_walls(sites: FloatArray, x: FloatArray, lower: Any, upper: Any) -> tuple[FloatArray, FloatArray]:
    """Return A and b of the cell {z: A z <= b} of ``x`` (d,) among the sites (k, d), inside a box."""
    eye = np.eye(x.size)
    A = np.vstack([2.0 * (sites - x), eye, -eye])
    return A, np.concatenate([(sites**2).sum(axis=1) - x @ x, np.asarray(upper), -np.asarray(lower)])


def widened_box(X: FloatArray, margin: float = 0.1) -> tuple[FloatArray, FloatArray]:
    """Return the corners of the box around points, widened by a share of its extent."""
    lower, upper = X.min(axis=0), X.max(axis=0)
    return lower - margin * (upper - lower), upper + margin * (upper - lower)


def root_mean_square(errors: FloatArray) -> float:
    """Return the root of the mean of the squares."""
    return float(np.sqrt((errors**2).mean()))


def shares_in_ball(
    centers: FloatArray,
    X: FloatArray,
    radius: float,
    *,
    n_steps: int,
    burn_in: int,
    one_sided: bool,
    rng: np.random.Generator,
) -> FloatArray:
    """Return affinities (n, k) in a ball around the origin: steps in random directions, an owner counted at each.

    A step is uniform on the whole chord through the walk's place, or, one-sided, on its part ahead. Only the whole
    chord samples the cell uniformly.

    Of a place we keep the coordinates in the span of the centers, the one along the part of x off that span, and the
    length of the rest, whose direction does not matter: directions are uniform, the cell does not depend on the rest,
    and the ball only on its length. So a step costs the same in 784 dimensions as in 11. The origin must be in the
    affine span of the centers.
    """
    sites, rows = in_few_coordinates(centers, X)
    (n, r), k = rows.shape, sites.shape[0]
    n_rest = X.shape[1] - r
    z, rest = rows.copy(), np.zeros(n)
    normals = sites - rows[:, None, :]
    slack = _slack(sites, rows, rows)
    counts = np.zeros((n, k))
    for step in range(burn_in + n_steps):
        direction = rng.standard_normal((n, r))
        # The direction's part in the rest: along the place's own rest, and the length of what is across it.
        along = rng.standard_normal(n) if n_rest > 0 else np.zeros(n)
        across = rng.chisquare(n_rest - 1, n) if n_rest > 1 else np.zeros(n)
        squared = (direction**2).sum(axis=1) + along**2 + across
        product = (z * direction).sum(axis=1) + rest * along
        room = radius**2 - (z**2).sum(axis=1) - rest**2
        reach = np.sqrt(product**2 + squared * np.maximum(room, 0.0))
        speed = np.einsum("nkr,nr->nk", normals, direction)
        back, ahead = _chord(slack, speed)
        ahead = np.minimum(ahead, (reach - product) / squared)
        back = np.zeros(n) if one_sided else np.maximum(back, (-reach - product) / squared)
        move = back + rng.random(n) * (ahead - back)
        z += move[:, None] * direction
        rest = np.sqrt((rest + move * along) ** 2 + move**2 * across)
        slack = np.maximum(slack - move[:, None] * speed, 0.0)
        if step >= burn_in:
            counts[np.arange(n), slack.argmin(axis=1)] += 1
    return counts / n_steps


def _slack(centers: FloatArray, X: FloatArray, z: FloatArray) -> FloatArray:
    """Return how far (n, k) places are from leaving the cells of X: half the difference of squared distances."""
    to_centers = ((z[:, None, :] - centers) ** 2).sum(axis=2)
    return (to_centers - ((z - X) ** 2).sum(axis=1, keepdims=True)) / 2.0


def _chord(slack: FloatArray, speed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends (n,) of the chord inside the cells."""
    with np.errstate(divide="ignore", invalid="ignore"):
        time = slack / speed
    ahead = np.where(speed > 0, time, np.inf).min(axis=1)
    back = np.where(speed < 0, time, -np.inf).max(axis=1)
    return back, ahead


def in_few_coordinates(centers: FloatArray, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return centers and rows in coordinates of the centers' span, and, if there are more, the distance off it."""
    _, sizes, axes = np.linalg.svd(centers, full_matrices=False)
    span = axes[sizes > 1e-9 * sizes[0]]
    sites, rows = centers @ span.T, X @ span.T
    if span.shape[0] == X.shape[1]:
        return sites, rows
    off = np.sqrt(np.maximum((X**2).sum(axis=1) - (rows**2).sum(axis=1), 0.0))
    return np.column_stack([sites, np.zeros(len(sites))]), np.column_stack([rows, off])
