"""Polytopes given by half-spaces, {y : A y <= b}: largest ball, boundedness, bounding box."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allegiance._core import FloatArray, real_array

#: The tightest tolerances HiGHS accepts. They are absolute, so every program is first scaled to size one.
_TOLERANCE = 1e-10
_OPTIONS: Any = {"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE}

#: A ball smaller than this, relative to the scale of its program, is looked at again through a finer scale.
_COARSE = 1e-5
_ZOOM = 1e-5
_FAR = 1e6
_PASSES = 3

#: HiGHS takes smaller entries of a matrix for zero.
_DROPPED = 1e-9


def unit_rows(A: ArrayLike, b: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
    """Check a system A y <= b and give every row a normal of length one.

    Rows that exclude nothing (a zero row with b >= 0, or b = +inf) are dropped. A row that excludes
    everything (a zero row with b < 0, or b = -inf) stays, with offset -inf.

    Parameters
    ----------
    A : array of shape (m, d)
    b : array of shape (m,), optional
        Zeros by default.

    Returns
    -------
    normals : array of shape (m', d)
    offsets : array of shape (m',)
    """
    A = real_array("A", A, 2)
    b = np.zeros(len(A)) if b is None else real_array("b", b, 1)
    if A.shape[1] == 0:
        raise ValueError("A must have at least one column, one for each coordinate of y.")
    if len(b) != len(A):
        raise ValueError(f"b must have one entry for each of the {len(A)} rows of A, got {len(b)}.")
    if np.isinf(A).any():
        raise ValueError("A contains an infinite entry; to switch a row off, set its entry of b to +inf.")
    # Dividing by the largest entry first keeps rows such as 1e-200 from underflowing to zero length.
    peak = np.max(np.abs(A), axis=1, initial=0.0)
    zero = peak == 0
    peak[zero] = 1.0
    with np.errstate(over="ignore"):
        normals, offsets = A / peak[:, None], b / peak
    lengths = np.where(zero, 1.0, np.linalg.norm(normals, axis=1))
    offsets = np.where(zero & (b < 0), -np.inf, offsets / lengths)
    needed = (offsets < np.inf) & ~(zero & (b >= 0))
    return normals[needed] / lengths[needed, None], offsets[needed]


def _solve(cost: FloatArray, bounds: Any, **constraints: Any) -> tuple[int, FloatArray]:
    """Minimise ``cost @ x``; return the status of linprog, zero if solved, and x, empty if there is none."""
    from scipy.optimize import linprog

    answer = linprog(cost, bounds=bounds, method="highs", options=_OPTIONS, **constraints)
    return int(answer.status), np.empty(0) if answer.x is None else np.asarray(answer.x, dtype=np.float64)


def chebyshev_center(A: ArrayLike, b: ArrayLike) -> tuple[FloatArray, float]:
    """Find the largest ball inside {y : A y <= b}.

    Parameters
    ----------
    A : array of shape (m, d)
    b : array of shape (m,)
        An entry +inf switches its row off.

    Returns
    -------
    center : array of shape (d,)
    radius : float
        Positive: the least distance from ``center`` to a facet. Zero: the polytope is flat, up to rounding.
        Negative: it is empty, and every half-space must move out by ``-radius`` to give it a point; ``-inf``
        if a row such as 0 <= -1 can never hold. A polytope with arbitrarily large balls gets a finite one.

    Notes
    -----
    The program is max t subject to <n_i, y> + t <= h_i over unit normals n_i. For a bounded polytope some
    convex combination of the normals is zero, so t <= max h_i: a cap beyond that binds only where t has none.
    """
    normals, offsets = unit_rows(A, b)
    center = np.zeros(normals.shape[1])
    if np.isneginf(offsets).any():
        return center, -np.inf
    if len(normals) == 0:
        return center, 1.0
    units = _coordinate_units(normals)
    lengths = np.linalg.norm(normals / units, axis=1)
    rows = normals / units / lengths[:, None]
    scale = float(np.max(np.abs(offsets / lengths))) or 1.0
    radius = -np.inf
    for _ in range(_PASSES):
        step = _ball_step(rows, lengths.min() / lengths, (offsets - normals @ center) / lengths / scale)
        moved = center + scale * step / units
        reached = _least_slack(normals, offsets, moved)
        if reached > radius:
            center, radius = moved, reached
        thickness = abs(radius) / lengths.min()
        if thickness >= _COARSE * scale:
            break
        scale = max(thickness, _ZOOM * scale)
    return center, radius


def _coordinate_units(normals: FloatArray) -> FloatArray:
    """Find units of the coordinates, (d,), in which the non-zero entries of a row are about the same size.

    Where users mix metres and micrometres, the solver would take entries of ``normals`` for zero that matter;
    those of ``normals / units`` are even. Least squares in logarithms, after Curtis and Reid (1972); rows of
    one entry have no say.
    """
    sizes = np.abs(normals)
    used = sizes > np.finfo(np.float64).eps * np.max(sizes, axis=1, keepdims=True, initial=0.0)
    counts = np.maximum(used.sum(axis=1, keepdims=True), 1)
    logs = np.log(np.where(used, sizes, 1.0))
    residuals = np.where(used, logs - logs.sum(axis=1, keepdims=True) / counts, 0.0)
    weights = used.astype(np.float64)
    system = np.diag(weights.sum(axis=0)) - weights.T @ (weights / counts)
    return np.asarray(np.exp(np.linalg.lstsq(system, residuals.sum(axis=0), rcond=1e-9)[0]), dtype=np.float64)


def _ball_step(rows: FloatArray, speeds: FloatArray, slack: FloatArray) -> FloatArray:
    """Maximise t over (step, t) with rows @ step + speeds * t <= slack; no step if that cannot be solved."""
    d = rows.shape[1]
    # A speed taken for zero would let the centre lie on its facet. Rows far beyond the scale only spoil the
    # arithmetic: the ball is close by.
    matrix = np.column_stack([rows, np.maximum(speeds, 10 * _DROPPED)])
    near = np.minimum(slack, _FAR)
    cap = 2.0 * max(1.0, float(np.max(near / matrix[:, d])))
    cost = np.append(np.zeros(d), -1.0)
    _, solution = _solve(cost, [(None, None)] * d + [(None, cap)], A_ub=matrix, b_ub=near)
    return solution[:d] if len(solution) else np.zeros(d)


def _least_slack(normals: FloatArray, offsets: FloatArray, point: FloatArray) -> float:
    """Return the signed distance from ``point`` to the nearest facet, zero where it is only rounding."""
    slack = offsets - normals @ point
    nearest = int(np.argmin(slack))
    terms = np.abs(normals[nearest]) @ np.abs(point) + abs(offsets[nearest])
    noise = 2.0 * (len(point) + 2) * np.finfo(np.float64).eps * terms
    return 0.0 if abs(slack[nearest]) <= noise else float(slack[nearest])


def is_bounded(A: ArrayLike) -> bool:
    """Tell whether {y : A y <= b} is bounded for every b, that is, whether only v = 0 has A v <= 0.

    Parameters
    ----------
    A : array of shape (m, d)

    Notes
    -----
    True exactly when A has rank d and some strictly positive combination of its rows is zero. Both are asked
    of an orthonormal basis of the column space of A, so units and skewness of the coordinates do not matter.
    """
    normals, _ = unit_rows(A)
    m, d = normals.shape
    if m <= d:
        return False
    basis, values, _ = np.linalg.svd(normals / _coordinate_units(normals), full_matrices=False)
    if values[-1] <= m * np.finfo(np.float64).eps * values[0]:
        return False
    basis /= np.linalg.norm(basis, axis=1)[:, None]
    status, _ = _solve(np.zeros(m), (1.0, None), A_eq=basis.T, b_eq=np.zeros(d))
    return status == 0


def recession_direction(A: ArrayLike) -> FloatArray | None:
    """Find a unit vector v with A v <= 0, along which {y : A y <= b} runs to infinity; None if there is none.

    Parameters
    ----------
    A : array of shape (m, d)

    Returns
    -------
    direction : array of shape (d,), or None
    """
    normals, _ = unit_rows(A)
    m, d = normals.shape
    units = _coordinate_units(normals)
    rows = normals / units
    _, values, axes = np.linalg.svd(np.vstack([rows, np.zeros((d, d))]), full_matrices=False)
    if values[-1] <= max(m, d) * np.finfo(np.float64).eps * values[0]:
        direction = axes[-1] / units
    else:
        total = rows.sum(axis=0)
        _, solution = _solve(total, (-1.0, 1.0), A_ub=rows, b_ub=np.zeros(m))
        if len(solution) == 0 or total @ solution >= -np.sqrt(_TOLERANCE):
            return None
        direction = solution / units
    return np.asarray(direction / np.linalg.norm(direction), dtype=np.float64)


def require_bounded(A: ArrayLike) -> None:
    """Raise ValueError, with a direction, if {y : A y <= b} runs to infinity. A has shape (m, d)."""
    if is_bounded(A):
        return
    direction = recession_direction(A)
    along = ""
    if direction is not None:
        # Adding zero turns -0. into 0.
        shown = np.array2string(np.round(direction, 3) + 0.0, threshold=8, edgeitems=3)
        along = f" It runs to infinity along {shown}."
    raise ValueError(f"The polytope A y <= b is unbounded.{along} Add rows to A and b that bound it, such as a box.")


def bounding_box(A: ArrayLike, b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Find the smallest axis-parallel box around {y : A y <= b}.

    Parameters
    ----------
    A : array of shape (m, d)
    b : array of shape (m,)
        An entry +inf switches its row off.

    Returns
    -------
    low, high : arrays of shape (d,)

    Raises
    ------
    ValueError
        If the polytope is empty or unbounded. A flat one has a box.
    """
    normals, offsets = unit_rows(A, b)
    units = _coordinate_units(normals)
    normals, offsets = unit_rows(normals / units, offsets)
    center, radius = chebyshev_center(normals, offsets)
    if radius < 0:
        raise ValueError("A y <= b has no solution: the polytope is empty. Check the signs of A and b.")
    require_bounded(A)
    # Seen from a point inside, zero is feasible whatever the rounding, also when the polytope is flat.
    slack = np.maximum(offsets - normals @ center, 0.0)
    transform = _dikin_axes(normals, slack)
    rows = normals @ transform
    lengths = np.linalg.norm(rows, axis=1)
    low, high = center.copy(), center.copy()
    for axis, towards in enumerate(transform):
        cost = towards / np.linalg.norm(towards)
        for side, sign in ((low, 1.0), (high, -1.0)):
            status, corner = _solve(sign * cost, (None, None), A_ub=rows / lengths[:, None], b_ub=slack / lengths)
            if status != 0:
                raise RuntimeError(f"The linear program for the extent of coordinate {axis} could not be solved.")
            side[axis] += towards @ corner
    return low / units, high / units


def _dikin_axes(normals: FloatArray, slack: FloatArray) -> FloatArray:
    """Find coordinates z, y = transform @ z, in which a bounded polytope around zero is no needle.

    The transform, (d, d), maps the unit ball to the ellipsoid {y : sum (<n_i, y> / slack_i)^2 <= 1}, which
    lies inside the polytope and is about as skewed. A flat polytope has none and is only scaled.
    """
    if slack.min() > 0:
        triangle = np.linalg.qr(normals / slack[:, None], mode="r")
        return np.asarray(np.linalg.inv(triangle), dtype=np.float64)
    return np.eye(normals.shape[1]) * (float(np.max(slack)) or 1.0)
