"""Uniform samples of a polytope by hit-and-run: SamplePolytope of the paper."""

from __future__ import annotations

import operator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from allegiance._core import FloatArray, RandomState, real_array, resolve_seed, stream

from ._halfspaces import chebyshev_center, require_bounded, unit_rows

#: Largest number of samples or steps: more would not fit into any memory.
_MOST = 2**40

Directions = Literal["random", "coordinate"]

#: Numbers in one block of products A @ direction: small enough for the cache, large enough to hide the call.
_BLOCK_ENTRIES = 2**15

#: Rounding stops when the sample covariance has at most this condition number; below the second number, what
#: is left may be the noise of a short walk, and the next one is twice as long.
_ISOTROPIC = 3.0
_NEARLY = 100.0
_MAX_ROUNDS = 40

#: Added to a sample covariance, relative to its largest eigenvalue, so that a factor exists for any skewness.
_RIDGE = 1e-12


def sample_polytope(
    A: ArrayLike,
    b: ArrayLike,
    n_samples: int,
    *,
    burn_in: int | None = None,
    thin: int = 1,
    directions: Directions = "random",
    rounding: bool = True,
    start: ArrayLike | None = None,
    random_state: RandomState = None,
) -> FloatArray:
    """Draw points uniformly from the bounded polytope {y : A y <= b}.

    Parameters
    ----------
    A : array of shape (m, d)
    b : array of shape (m,)
        An entry +inf switches its row off.
    n_samples
        Number of points to return; zero is allowed.
    burn_in
        Steps to walk before the first point may be kept. By default ``500 + 10 * d**2``.
    thin
        Keep every ``thin``-th step. In a rounded polytope points are correlated over about d**2 steps along
        random directions and a third of that along coordinates; those further apart are nearly independent.
    directions
        ``"random"`` walks along directions uniform on the sphere, ``"coordinate"`` along the axes in turn;
        both in the rounded space.
    rounding
        First find linear coordinates in which the polytope is about as wide in every direction. Without it a
        polytope much longer than wide is explored too slowly.
    start : array of shape (d,), optional
        Where the chain begins, strictly inside. By default the centre of the largest inscribed ball or, after
        rounding, the point where rounding ended.
    random_state
        The same integer gives the same points, and a larger ``n_samples`` continues a smaller one.

    Returns
    -------
    samples : array of shape (n_samples, d)

    Raises
    ------
    ValueError, TypeError
        If an argument is not as described, or the polytope is empty, flat (no interior) or unbounded.

    Examples
    --------
    >>> from allegiance.geometry import sample_polytope
    >>> triangle = sample_polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1], 1000, thin=5, random_state=0)
    >>> triangle.shape
    (1000, 2)
    """
    normals, offsets = unit_rows(A, b)
    d = normals.shape[1]
    n_samples = _count("n_samples", n_samples, 0)
    burn_in = 500 + 10 * d**2 if burn_in is None else _count("burn_in", burn_in, 0)
    thin = _count("thin", thin, 1)
    if directions not in ("random", "coordinate"):
        raise ValueError(f'directions must be "random" or "coordinate", got {directions!r}.')
    origin = _inner_point(normals, offsets) if start is None else _check_start(normals, offsets, start)
    require_bounded(normals)
    seed = resolve_seed(random_state)
    transform = np.eye(d)
    if rounding:
        reached, transform = _round(normals, offsets, origin, seed)
        origin = reached if start is None else origin
    walk = _walk(
        normals @ transform,
        offsets - normals @ origin,
        n_samples,
        burn_in=burn_in,
        thin=thin,
        directions=directions,
        streams=(stream(seed, 0, 0), stream(seed, 0, 1)),
    )
    return origin + walk @ transform.T


def _count(name: str, value: int, least: int) -> int:
    """Return ``value`` as an integer of at least ``least``."""
    kind = "non-negative" if least == 0 else "positive"
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be a {kind} integer, got {value!r} of type {type(value).__name__}.")
    if number < least:
        raise ValueError(f"{name} must be a {kind} integer, got {number}.")
    if number > _MOST:
        raise ValueError(f"{name} must be at most {_MOST:,}, got {number}.")
    return number


def _inner_point(normals: FloatArray, offsets: FloatArray) -> FloatArray:
    """Return the centre of the largest ball inside, or say why there is none."""
    center, radius = chebyshev_center(normals, offsets)
    if radius < 0:
        raise ValueError("A y <= b has no solution: the polytope is empty. Check the signs of A and b.")
    if radius == 0:
        raise ValueError(
            "The polytope A y <= b is flat: it has no interior, since some rows leave no room between them. "
            "Sample it in the coordinates of its own plane, or enlarge b."
        )
    return center


def _check_start(normals: FloatArray, offsets: FloatArray, start: ArrayLike) -> FloatArray:
    """Return ``start`` as an array, or say why the chain cannot begin there."""
    d = normals.shape[1]
    point = real_array("start", start, 1)
    if len(point) != d:
        raise ValueError(f"start must have {d} entries, one for each column of A, got {len(point)}.")
    if np.isinf(point).any():
        raise ValueError("start contains an infinite entry; give a point strictly inside A y <= b.")
    excess = float(np.max(normals @ point - offsets, initial=-np.inf))
    if excess >= 0:
        raise ValueError(
            f"start must lie strictly inside A y <= b; it is {excess:.3g} beyond the nearest facet. "
            "Leave start=None to begin at the centre of the largest inscribed ball."
        )
    return point


def _round(normals: FloatArray, offsets: FloatArray, origin: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Find coordinates z, with y = origin + transform @ z, in which the polytope is nearly isotropic.

    Each round walks from the origin and makes the covariance of what it saw the new unit of length. A round
    sees no further than it walks, some hundred times the least width, so a very long polytope takes several.
    They go along the axes, which needs fewer and cheaper steps here than random directions.

    Returns
    -------
    origin : array of shape (d,)
        The last point reached.
    transform : array of shape (d, d)
    """
    d = len(origin)
    transform = np.eye(d)
    n_kept = 100 * (d + 4)
    longest = 16 * n_kept
    for number in range(1, _MAX_ROUNDS + 1):
        walk = _walk(
            normals @ transform,
            offsets - normals @ origin,
            n_kept,
            burn_in=0,
            thin=d,
            directions="coordinate",
            streams=(stream(seed, number, 0), stream(seed, number, 1)),
        )
        spread = np.cov(walk, rowvar=False).reshape(d, d)
        variances = np.linalg.eigvalsh(spread)
        if not 0.0 < variances[-1] < np.inf:
            break
        origin = origin + transform @ walk[-1]
        transform = transform @ np.linalg.cholesky(spread + _RIDGE * variances[-1] * np.eye(d))
        if variances[-1] <= _ISOTROPIC * variances[0] or n_kept >= longest:
            break
        if variances[-1] <= _NEARLY * variances[0]:
            n_kept *= 2
    return origin, transform


def _walk(
    normals: FloatArray,
    slack: FloatArray,
    n_kept: int,
    *,
    burn_in: int,
    thin: int,
    directions: Directions,
    streams: tuple[np.random.Generator, np.random.Generator],
) -> FloatArray:
    """Walk inside {z : normals @ z <= slack} from z = 0.

    Blocks are always drawn whole and begin at fixed steps, so that neither burn-in, thinning nor the number
    of points changes the path. The slack starts afresh with each block, so rounding errors do not add up.

    Returns
    -------
    kept : array of shape (n_kept, d)
    """
    from allegiance._kernels._polytope_chain import polytope_chain

    m, d = normals.shape
    block = max(32, _BLOCK_ENTRIES // (m + d))
    kept = np.empty((n_kept, d))
    position = np.zeros(d)
    for first in range(0, burn_in + n_kept * thin, block):
        if directions == "random":
            # Hit-and-run does not see the length of a direction, so Gaussian vectors need not be normalised.
            towards = streams[0].standard_normal((block, d))
        else:
            towards = np.eye(d)[np.arange(first, first + block) % d]
        uniforms = streams[1].random(block)
        steps = min(block, burn_in + n_kept * thin - first)
        polytope_chain(
            position,
            np.maximum(slack - normals @ position, 0.0),
            towards[:steps],
            (towards @ normals.T)[:steps],
            uniforms[:steps],
            first - burn_in,
            thin,
            kept,
        )
    return kept
