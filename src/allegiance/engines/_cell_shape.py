"""The shape of one cell: along which axes a walk through it should step."""

from __future__ import annotations

import numpy as np

from allegiance._core import FloatArray
from allegiance.domains import Region

#: Most Newton steps to the middle of a cell, and the decrement that is near enough. The shape need not be exact: a walk
#: is right along any axes.
_NEWTON_STEPS = 30
_NEAR = 0.1
#: Added to the diagonal of a matrix that is scaled to ones there, against rounding.
_RIDGE = 1e-13
#: A slack whose inverse square is still a number.
_TINY = 1e-150


def cell_axes(
    slopes: FloatArray, clearance: FloatArray, region: Region, position: FloatArray, inside: FloatArray
) -> FloatArray:
    """Return axes (r, r), one in each row, in whose coordinates the cell is about as long as wide.

    The cell is where <slopes_i, z> <= clearance_i and position + z lies in the region. The ellipsoid of the logarithmic
    barrier in its middle has its shape, up to the number of walls, and exactly for a simplex.

    Parameters
    ----------
    slopes
        (k, r)
    clearance
        (k,), inf for a wall that is absent.
    position, inside
        (r,) the origin of z in the region, and a z inside the cell.
    """
    walls, wall_offsets = region.halfspaces()
    present = np.isfinite(clearance)
    normals = np.vstack([slopes[present], walls])
    offsets = np.concatenate([clearance[present], wall_offsets - walls @ position])
    z, hessian = inside, np.eye(inside.size)
    for _ in range(_NEWTON_STEPS):
        slack = offsets - normals @ z
        y = position + z
        room = region.radius**2 - y @ y
        if not (slack > _TINY).all() or not room > _TINY:
            # Rounding has carried the point to a wall: what is known of the shape must do.
            break
        scaled = normals / slack[:, None]
        gradient = scaled.sum(axis=0) + 2.0 * y / room
        hessian = scaled.T @ scaled + 2.0 * np.eye(y.size) / room + 4.0 * np.outer(y, y) / room**2
        step = -np.linalg.solve(hessian + _RIDGE * np.diag(np.diag(hessian)), gradient)
        decrement = np.sqrt(max(float(-gradient @ step), 0.0))
        if decrement < _NEAR:
            break
        # A damped step of this length stays inside, whatever the walls.
        z = z + step / (1.0 + decrement)
    # Coordinates are brought to one length first, so that a cell thin along one of them loses no digits. Unlike the
    # principal axes, those of a Cholesky factor hardly move with the last bits of the ellipsoid.
    length = 1.0 / np.sqrt(np.diag(hessian))
    root = np.linalg.cholesky(hessian * length[:, None] * length + _RIDGE * np.eye(length.size))
    axes: FloatArray = np.linalg.solve(root, np.diag(length))
    return axes / np.sqrt((axes * axes).sum(axis=1).max())
