"""Affinities by intersecting polytopes one by one: slow, obvious, and sharing no code with the package."""

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection


def closer_than(p, q, p_weight=0.0, q_weight=0.0):
    """Half-spaces {y: |y - p|² - p_weight <= |y - q|² - q_weight} for rows q, as normals and offsets of unit rows."""
    normals = np.atleast_2d(q - p)
    offsets = (normals * (np.atleast_2d(q + p) / 2)).sum(axis=1) + (p_weight - q_weight) / 2
    norms = np.linalg.norm(normals, axis=1)
    return normals / norms[:, None], offsets / norms


def box_walls(lower, upper):
    r = len(lower)
    return np.vstack([np.eye(r), -np.eye(r)]), np.concatenate([upper, -np.asarray(lower)])


def polytope_volume(normals, offsets):
    """Volume of {y: normals y <= offsets}; 0 if it has no interior. Rows are of unit length."""
    r = normals.shape[1]
    if r == 1:
        right = normals[:, 0] > 0
        return max((offsets[right] / normals[right, 0]).min() - (offsets[~right] / normals[~right, 0]).max(), 0.0)
    ball = linprog(
        np.append(np.zeros(r), -1.0),
        A_ub=np.column_stack([normals, np.ones(len(normals))]),
        b_ub=offsets,
        bounds=[(None, None)] * r + [(0, None)],
        method="highs",
    )
    if ball.status != 0 or ball.x[-1] < 1e-13:
        return 0.0
    corners = HalfspaceIntersection(np.column_stack([normals, -offsets]), ball.x[:-1]).intersections
    return ConvexHull(corners).volume


def stolen_volumes(centers, x, lower, upper, weights=None, query_weight=0.0):
    """Volume taken from each centre by x inside the box: V_x and V_i are both written out in full."""
    weights = np.zeros(len(centers)) if weights is None else weights
    walls, mine = box_walls(lower, upper), closer_than(x, centers, query_weight, weights)
    volumes = np.zeros(len(centers))
    for i in range(len(centers)):
        others = np.arange(len(centers)) != i
        parts = [mine, walls]
        parts += [closer_than(centers[i], centers[others], weights[i], weights[others])] if others.any() else []
        volumes[i] = polytope_volume(
            np.vstack([normals for normals, _ in parts]), np.concatenate([offsets for _, offsets in parts])
        )
    return volumes


def box_affinity(centers, x, lower, upper):
    volumes = stolen_volumes(centers, x, lower, upper)
    return volumes / volumes.sum()


def default_box(X, centers, margin=0.1):
    points = np.vstack([X, centers])
    lower, upper = points.min(axis=0), points.max(axis=0)
    extent = upper - lower
    return lower - margin * extent, upper + margin * extent


def direction_shares(centers, x, directions):
    """Shares of the directions in which x lies beyond every centre, by which centre comes second."""
    reach = directions @ centers.T
    mine = (directions @ x)[:, None] >= reach
    owners = reach[mine.all(axis=1)].argmax(axis=1)
    return np.bincount(owners, minlength=len(centers)) / max(len(owners), 1), len(owners)
