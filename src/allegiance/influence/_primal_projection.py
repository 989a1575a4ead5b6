"""The member of a family with a given position, from phi and its gradient alone: one row at a time, slowly."""

from __future__ import annotations

import numpy as np

from allegiance._core import FloatArray

from ._divergence import BregmanDivergence

_MAX_STEPS, _MAX_HALVINGS = 200, 60
#: Gradients equal to this share of their size are equal; a share this much larger is accepted if no step improves it.
_FOUND, _STALLED = 1e-13, 1e-7
#: Step of the finite differences of the gradient, relative to the room that the domain leaves.
_DIFFERENCE = 1e-5


def project_in_primal(
    divergence: BregmanDivergence, origin: FloatArray, axes: FloatArray, position: FloatArray
) -> FloatArray | None:
    """Return the member y (d,) with one position, which is the point there closest to the origin; None if lost.

    Minimises D(y ‖ origin) over y with axes (y - origin) = position, by damped Newton steps in the directions that keep
    the position, with second derivatives from differences of the gradient. At the minimum ∇phi(y) - ∇phi(origin) is
    orthogonal to those directions, so that y belongs to the family.

    Parameters
    ----------
    origin
        (d,) inside the domain.
    axes
        (r, d) orthonormal rows.
    position
        (r,)
    """
    free = np.linalg.qr(axes.T, mode="complete")[0][:, axes.shape[0] :]
    y = _feasible(divergence, origin, axes, position)
    if y is None:
        return None
    slopes = divergence.slopes(y[None], origin)[0]
    for _ in range(_MAX_STEPS):
        residual = free.T @ slopes
        error = np.linalg.norm(residual) / np.linalg.norm(slopes) if np.any(slopes) else 0.0
        if error <= _FOUND:
            return y
        step = _newton_step(divergence, y, origin, free, residual)
        moved = None if step is None else _downhill(divergence, y, origin, step, slopes)
        if moved is None:
            return y if error <= _STALLED else None
        after = float(np.linalg.norm(free.T @ moved[1]))
        if error <= _STALLED and after >= np.linalg.norm(residual):
            return y
        y, slopes = moved
    return None


def _feasible(
    divergence: BregmanDivergence, origin: FloatArray, axes: FloatArray, position: FloatArray
) -> FloatArray | None:
    """Return a point (d,) inside the domain with the position: the nearest to the origin, or the deepest inside."""
    near = origin + position @ axes
    if _room(divergence, near) > 0:
        return near
    from scipy.optimize import linprog

    d = origin.shape[0]
    low, high = divergence.domain
    walls, offsets = [], []
    if np.isfinite(low):
        walls.append(np.hstack([-np.eye(d), np.ones((d, 1))]))
        offsets.append(np.full(d, -low))
    if np.isfinite(high):
        walls.append(np.hstack([np.eye(d), np.ones((d, 1))]))
        offsets.append(np.full(d, high))
    solution = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.vstack(walls),
        b_ub=np.concatenate(offsets),
        A_eq=np.hstack([axes, np.zeros((axes.shape[0], 1))]),
        b_eq=axes @ near,
        bounds=[(None, None)] * d + [(None, 1.0)],
    )
    if solution.x is None:
        return None
    # The solver meets equations to seven digits only; the rest is added along the axes.
    deepest = np.asarray(solution.x[:d])
    deepest = deepest + (axes @ (near - deepest)) @ axes
    return deepest if _room(divergence, deepest) > 0 else None


def _room(divergence: BregmanDivergence, y: FloatArray) -> float:
    """Return the distance of y (d,) from the edge of the domain, in its worst coordinate."""
    low, high = divergence.domain
    return float(min(np.min(y - low), np.min(high - y)))


def _newton_step(
    divergence: BregmanDivergence, y: FloatArray, origin: FloatArray, free: FloatArray, residual: FloatArray
) -> FloatArray | None:
    """Return the step (d,) to the minimum of the quadratic that touches D(. ‖ origin) at y."""
    low, high = divergence.domain
    steps = _DIFFERENCE * np.minimum(np.minimum(y - low, high - y), 1.0 + np.abs(y))
    ends = np.concatenate([y + np.diag(steps), y - np.diag(steps)])
    slopes = divergence.slopes(ends, origin)
    hessian = (slopes[: y.size] - slopes[y.size :]) / (2.0 * steps)[:, None]
    reduced = free.T @ ((hessian + hessian.T) / 2.0) @ free
    if not np.isfinite(reduced).all():
        return None
    try:
        return -free @ np.linalg.solve(reduced, residual)
    except np.linalg.LinAlgError:
        return None


def _downhill(
    divergence: BregmanDivergence, y: FloatArray, origin: FloatArray, step: FloatArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the end of the step and its slopes (d,), the step shortened until it stays inside and downhill."""
    steepness = -float(step @ slopes)
    if not steepness > 0:
        return None
    length = 1.0
    for _ in range(_MAX_HALVINGS):
        trial = y + length * step
        if _room(divergence, trial) > 0:
            ahead = divergence.slopes(trial[None], origin)[0]
            if step @ ahead <= 0.5 * steepness:
                return trial, ahead
        length *= 0.5
    return None
