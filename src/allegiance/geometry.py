"""Geometry of points and polytopes: spans, hulls, triangulated cells, and uniform samples."""

from __future__ import annotations

from math import factorial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

from allegiance._core.parallel import on_one_thread, resolve_seed, stream
from allegiance._core.validation import (
    AnyArray,
    BoolArray,
    FloatArray,
    RandomState,
    check_choice,
    check_count,
    real_array,
)

__all__ = ["sample_polytope"]

#: Cells whose largest ball is smaller than this, in a domain of size one, have no volume worth counting.
_FLAT_RADIUS = 1e-13


class TooManySimplicesError(ValueError):
    """A triangulation would be larger than its limit."""


class Triangulation(NamedTuple):
    """One convex cell as simplices."""

    vertices: FloatArray
    """(v, r)"""
    simplices: AnyArray
    """int32 (s, r + 1), rows of vertex indices."""
    volumes: FloatArray
    """(s,)"""


def triangulate(normals: FloatArray, offsets: FloatArray, max_simplices: int, *, joggle: bool = False) -> Triangulation:
    """Triangulate the bounded cell {y: normals y <= offsets} (rows of unit length).

    Qhull intersects the half-spaces around the center of the largest inscribed ball and triangulates the hull of the
    vertices; every facet that does not touch the first vertex forms one simplex with it. A cell without interior
    gives no simplex. Facets with many corners may come out of Qhull with overlapping simplices; ``joggle`` avoids that
    by a random perturbation while the facets are computed, at the price of more simplices.

    Raise TooManySimplicesError if the number of vertices implies more than about ``max_simplices``, and
    ArithmeticError if the cell is too thin or too narrow for Qhull.
    """
    r = normals.shape[1]
    if r == 1:
        return _interval(normals, offsets)
    center, radius = chebyshev_center(normals, offsets)
    if radius < _FLAT_RADIUS:
        return Triangulation(np.empty((0, r)), np.empty((0, r + 1), np.int32), np.empty(0))
    halfspaces = np.column_stack([normals, -offsets])
    try:
        return _star(HalfspaceIntersection(halfspaces, center).intersections, max_simplices, joggle)
    except QhullError as error:
        # The other lines describe the state of Qhull's memory.
        reason = str(error).partition("\n")[0]
        raise ArithmeticError(f"Qhull could not triangulate a cell: {reason}") from error


def _interval(normals: FloatArray, offsets: FloatArray) -> Triangulation:
    """Return the polytope {y: normals y <= offsets} on a line as one simplex."""
    right = normals[:, 0] > 0
    low = (offsets[~right] / normals[~right, 0]).max()
    high = (offsets[right] / normals[right, 0]).min()
    if high - low < _FLAT_RADIUS:
        return Triangulation(np.empty((0, 1)), np.empty((0, 2), np.int32), np.empty(0))
    return Triangulation(np.array([[low], [high]]), np.array([[0, 1]], np.int32), np.array([high - low]))


def _star(points: FloatArray, max_simplices: int, joggle: bool) -> Triangulation:
    """Triangulate the hull of ``points`` from one of its vertices."""
    n, r = points.shape
    # A cube of dimension r has 2^r vertices and r! simplices; cells with oblique walls take some r - 1 times more.
    if n * (r - 1) * factorial(r) / 2**r > max_simplices:
        raise TooManySimplicesError(
            f"a cell with {n} vertices in {r} dimensions needs more than {max_simplices} simplices"
        )
    try:
        hull = ConvexHull(points, qhull_options="QJ" if joggle else None)
    except QhullError:
        hull = ConvexHull(points, qhull_options="QJ")
    used, facets = np.unique(hull.simplices, return_inverse=True)
    facets = facets.reshape(hull.simplices.shape).astype(np.int32)
    vertices = np.asarray(points)[used]
    apex = np.bincount(facets.ravel()).argmax()
    facets = facets[(facets != apex).all(axis=1)]
    edges = vertices[facets] - vertices[apex]
    volumes = np.abs(np.linalg.det(edges)) / factorial(r)
    simplices = np.column_stack([np.full(facets.shape[0], apex, np.int32), facets])
    solid = volumes > 0
    return Triangulation(vertices, np.ascontiguousarray(simplices[solid]), volumes[solid])


#: The tightest tolerances HiGHS accepts. They are absolute, so every program is first scaled to size one.
_TOLERANCE = 1e-10
_OPTIONS: Any = {"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE}
#: A ball smaller than this, relative to the scale of its program, is looked at again through a finer scale.
_COARSE = _ZOOM = 1e-5
_PASSES = 3
#: Slacks beyond this, relative to the scale, only spoil the arithmetic: the ball is close by.
_FAR_SLACK = 1e6
#: HiGHS takes entries of a matrix below 1e-9 for zero: rows of the user that come near have coordinates in units too
#: different for it.
_SMALLEST_ENTRY = 1e-7
_ROUNDED_ZERO = 1e-14


def unit_rows(A: ArrayLike, b: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
    """Check a system A y <= b, A (m, d) and b (m,) or zeros, and give every row a normal of length one.

    Rows that exclude nothing (a zero row with b >= 0, or b = +inf) are dropped. A row that excludes everything (a zero
    row with b < 0, or b = -inf) stays, with offset -inf.
    """
    A = real_array("A", A, 2)
    b = np.zeros(len(A)) if b is None else real_array("b", b, 1)
    if A.shape[1] == 0:
        raise ValueError("A must have at least one column, one for each coordinate of y.")
    if len(b) != len(A):
        raise ValueError(f"b must have one entry for each of the {len(A)} rows of A, got {len(b)}.")
    if np.isinf(A).any():
        raise ValueError("A contains an infinite entry; to switch a row off, set its entry of b to +inf.")
    lengths = np.linalg.norm(A, axis=1)
    zero = lengths == 0
    lengths[zero] = 1.0
    offsets = np.where(zero & (b < 0), -np.inf, b / lengths)
    needed = (offsets < np.inf) & ~(zero & (b >= 0))
    return A[needed] / lengths[needed, None], offsets[needed]


def check_scaling(A: ArrayLike) -> None:
    """Raise ValueError if a row of A (m, d) mixes units too different for linear programming."""
    sizes = np.abs(unit_rows(A)[0])
    # Below that an entry is what rounding left of a zero, such as cos(pi / 2).
    if ((sizes > _ROUNDED_ZERO) & (sizes < _SMALLEST_ENTRY)).any():
        raise ValueError(
            f"A is badly scaled: entries of one row differ by more than {1 / _SMALLEST_ENTRY:.0e} times. Measure the "
            "coordinates in units in which the polytope is about as long as wide."
        )


def _solve(cost: FloatArray, bounds: Any, **constraints: Any) -> tuple[int, FloatArray]:
    """Minimize ``cost @ x``; return the status of linprog, zero if solved, and x, empty if there is none."""
    from scipy.optimize import linprog

    answer = linprog(cost, bounds=bounds, method="highs", options=_OPTIONS, **constraints)
    return int(answer.status), np.empty(0) if answer.x is None else np.asarray(answer.x, dtype=np.float64)


def chebyshev_center(A: ArrayLike, b: ArrayLike) -> tuple[FloatArray, float]:
    """Find the largest ball inside {y : A y <= b}, A (m, d) and b (m,); return its center (d,) and radius.

    The radius is the least distance from the center to a facet. It is zero if the polytope is flat, up to rounding, and
    negative if it is empty: every half-space must move out by its absolute value to contain a point; ``-inf`` if a row
    such as 0 <= -1 can never hold. A polytope with arbitrarily large balls gets a finite one.

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
    scale = float(np.abs(offsets).max()) or 1.0
    radius, d = -np.inf, len(center)
    system = np.column_stack([normals, np.ones(len(normals))])
    for _ in range(_PASSES):
        # Maximize t over (step, t) with normals @ step + t <= slack; no step if that cannot be solved.
        slack = np.minimum((offsets - normals @ center) / scale, _FAR_SLACK)
        bounds = [(None, None)] * d + [(None, 2.0 * max(1.0, float(slack.max())))]
        _, solution = _solve(np.append(np.zeros(d), -1.0), bounds, A_ub=system, b_ub=slack)
        moved = center + scale * (solution[:d] if len(solution) else np.zeros(d))
        reached = _least_slack(normals, offsets, moved)
        if reached > radius:
            center, radius = moved, reached
        if abs(radius) >= _COARSE * scale:
            break
        scale = max(abs(radius), _ZOOM * scale)
    return center, radius


def _least_slack(normals: FloatArray, offsets: FloatArray, point: FloatArray) -> float:
    """Return the signed distance from ``point`` to the nearest facet, zero where it is only rounding."""
    slack = offsets - normals @ point
    nearest = int(np.argmin(slack))
    terms = np.abs(normals[nearest]) @ np.abs(point) + abs(offsets[nearest])
    noise = 2.0 * (len(point) + 2) * np.finfo(np.float64).eps * terms
    return 0.0 if abs(slack[nearest]) <= noise else float(slack[nearest])


def is_bounded(A: ArrayLike) -> bool:
    """Return whether {y : A y <= b} is bounded for every b, that is, whether only v = 0 has A v <= 0, for A (m, d).

    True exactly when A has rank d and some strictly positive combination of its rows is zero. Both are checked
    in an orthonormal basis of the column space of A, so skewness does not matter.
    """
    normals, _ = unit_rows(A)
    m, d = normals.shape
    if m <= d:
        return False
    basis, values, _ = np.linalg.svd(normals, full_matrices=False)
    if values[-1] <= m * np.finfo(np.float64).eps * values[0]:
        return False
    basis /= np.linalg.norm(basis, axis=1)[:, None]
    status, _ = _solve(np.zeros(m), (1.0, None), A_eq=basis.T, b_eq=np.zeros(d))
    return status == 0


def bounding_box(A: ArrayLike, b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the corners (d,) of the smallest axis-parallel box around {y : A y <= b}, A (m, d) and b (m,)."""
    normals, offsets = unit_rows(A, b)
    center = _inner_point(normals, offsets, flat=True)
    # Relative to a point inside, zero is feasible despite rounding, also if the polytope is flat.
    slack = np.maximum(offsets - normals @ center, 0.0)
    size = float(slack.max()) or 1.0
    low, high = center.copy(), center.copy()
    for axis, toward in enumerate(np.eye(len(center))):
        for side, sign in ((low, 1.0), (high, -1.0)):
            status, corner = _solve(sign * toward, (None, None), A_ub=normals, b_ub=slack / size)
            if status != 0:
                raise ValueError(
                    f"The extent of coordinate {axis} of A y <= b could not be computed: rescale the coordinates."
                )
            side[axis] += size * corner[axis]
    return low, high


def _inner_point(normals: FloatArray, offsets: FloatArray, *, flat: bool = False) -> FloatArray:
    """Return the center (d,) of the largest ball inside a bounded polytope, ValueError if there is none."""
    center, radius = chebyshev_center(normals, offsets)
    if radius < 0:
        raise ValueError("A y <= b has no solution: the polytope is empty. Check the signs of A and b.")
    if radius == 0 and not flat:
        raise ValueError(
            "The polytope A y <= b is flat: it has no interior, because some rows leave no room between them. "
            "Sample it in the coordinates of its own plane, or enlarge b."
        )
    if not is_bounded(normals):
        raise ValueError("The polytope A y <= b is unbounded. Add rows to A and b that bound it, such as a box.")
    return center


def span_axes(centered: FloatArray, size: float) -> FloatArray:
    """Return orthonormal rows (r, d) that span the rows of ``centered`` (k, d), the widest direction first.

    Directions at the level of rounding are left out, where ``size`` is that of the numbers before they were centered.
    The largest entry of each axis is positive, so that the axes keep their sign.
    """
    # Threads of BLAS change last bits, and wait busily for more work while ours need the core.
    with on_one_thread():
        _, singular, rows = np.linalg.svd(centered, full_matrices=False)
    noise = 4 * np.finfo(float).eps * max(centered.shape) * (singular[0] + size)
    axes = rows[: int(np.count_nonzero(singular > noise))]
    largest = np.abs(axes).argmax(axis=1)
    return axes * np.sign(axes[np.arange(axes.shape[0]), largest])[:, None]


#: Up to this dimension the facets of the hull are listed; above, each point is tested by itself.
_MAX_FACET_DIM = 6
#: Distances, relative to the size of the hull, that count as zero.
_ROUNDING = 1e-10


class Hull:
    """The convex hull of ``points`` (k, r), which span the space.

    Points on the boundary count as outside: their Voronoi cell is not bounded.
    """

    def __init__(self, points: FloatArray) -> None:
        self._center = points.mean(axis=0)
        self._size = float(np.abs(points - self._center).max())
        self._points = (points - self._center) / self._size
        r = points.shape[1]
        self._facets: FloatArray | None = None
        if r == 1:
            self._facets = np.array([[1.0, -self._points.max()], [-1.0, self._points.min()]])
        elif r <= _MAX_FACET_DIM:
            self._facets = ConvexHull(self._points).equations

    def contains(self, points: FloatArray) -> BoolArray:
        """Return which points (n, r) lie inside the convex hull."""
        points = (points - self._center) / self._size
        if self._facets is None:
            # Is a point a combination of the hull's? A little farther out than itself, so that the boundary is outside.
            system = np.vstack([self._points.T, np.ones(self._points.shape[0])])
            targets = np.column_stack([points * (1.0 + _ROUNDING), np.ones(points.shape[0])])
            return np.array([nnls(system, target)[1] < _ROUNDING for target in targets], dtype=bool)
        inside = np.ones(points.shape[0], dtype=bool)
        for facet in self._facets:
            inside &= (points * facet[:-1]).sum(axis=1) + facet[-1] < -_ROUNDING
        return inside


Directions = Literal["random", "coordinate"]

#: Numbers in one block of products A @ direction: small enough for the cache, large enough to hide the call.
_BLOCK_ENTRIES = 2**15

#: Rounding stops when the sample covariance has at most this condition number; below the second number, the
#: remainder may be the noise of a short walk, and the next one is twice as long.
_ISOTROPIC_CONDITION = 3.0
_NEARLY_ISOTROPIC_CONDITION = 100.0
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
    random_state: RandomState = None,
) -> FloatArray:
    """Draw points uniformly from the bounded polytope {y : A y <= b}.

    Parameters
    ----------
    A : array of shape (m, d)
    b : array of shape (m,)
        An entry +inf switches its row off.
    n_samples
        Number of points to return.
    burn_in
        Steps to walk before the first point may be kept. By default ``500 + 10 * d**2``.
    thin
        Keep every ``thin``-th step. The walk uses linear coordinates in which the polytope is about equally wide in
        every direction. There points are correlated over about d**2 steps along random directions and a third of that
        along coordinates; those further apart are nearly independent.
    directions
        ``"random"`` walks along directions uniform on the sphere, ``"coordinate"`` along the axes in turn.
    random_state
        The same integer gives the same points, and a larger ``n_samples`` continues a smaller one.

    Returns
    -------
    samples : array of shape (n_samples, d)

    Raises
    ------
    ValueError, TypeError
        If an argument is not as described, or the polytope is empty, flat (no interior), unbounded or badly scaled.

    Examples
    --------
    >>> from allegiance.geometry import sample_polytope
    >>> triangle = sample_polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1], 1000, thin=5, random_state=0)
    >>> triangle.shape
    (1000, 2)
    """
    normals, offsets = unit_rows(A, b)
    d = normals.shape[1]
    n_samples, thin = check_count(n_samples, "n_samples"), check_count(thin, "thin")
    if burn_in is None:
        burn_in = 500 + 10 * d**2
    elif burn_in != 0:
        burn_in = check_count(burn_in, "burn_in")
    check_choice(directions, "directions", ("random", "coordinate"))
    check_scaling(normals)
    seed = resolve_seed(random_state)
    origin, transform = _round(normals, offsets, _inner_point(normals, offsets), seed)
    slack = offsets - normals @ origin
    walk = _walk(normals @ transform, slack, n_samples, burn_in, thin, directions, keys=(seed, 0))
    return origin + walk @ transform.T


def _round(normals: FloatArray, offsets: FloatArray, origin: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Find coordinates z of a polytope, with y = origin + transform @ z, in which its samples are nearly isotropic.

    Each round walks from the origin and makes the covariance of its points the new unit of length. A round
    reaches about a hundred times the least width, so a very long polytope takes several.
    They go along the axes, which needs fewer and cheaper steps here than random directions. Return the last point
    reached, and the transform (d, d).
    """
    d = len(origin)
    transform = np.eye(d)
    n_kept = 100 * (d + 4)
    longest = 16 * n_kept
    for number in range(1, _MAX_ROUNDS + 1):
        slack = offsets - normals @ origin
        walk = _walk(normals @ transform, slack, n_kept, 0, d, "coordinate", keys=(seed, number))
        spread = np.cov(walk, rowvar=False).reshape(d, d)
        variances = np.linalg.eigvalsh(spread)
        if not 0.0 < variances[-1] < np.inf:
            break
        origin = origin + transform @ walk[-1]
        transform = transform @ np.linalg.cholesky(spread + _RIDGE * variances[-1] * np.eye(d))
        if variances[-1] <= _ISOTROPIC_CONDITION * variances[0] or n_kept >= longest:
            break
        if variances[-1] <= _NEARLY_ISOTROPIC_CONDITION * variances[0]:
            n_kept *= 2
    return origin, transform


def _walk(
    normals: FloatArray,
    slack: FloatArray,
    n_kept: int,
    burn_in: int,
    thin: int,
    directions: Directions,
    *,
    keys: tuple[int, int],
) -> FloatArray:
    """Walk inside the polytope {z : normals @ z <= slack} from z = 0, and return the samples that are kept.

    Blocks are always drawn whole and begin at fixed steps, so that neither burn-in, thinning nor the number
    of points changes the path. The slack is computed again for each block, so rounding errors do not add up.
    """
    from allegiance._kernels.walking import polytope_chain

    m, d = normals.shape
    for_directions, for_positions = (stream(*keys, part) for part in range(2))
    block = max(32, _BLOCK_ENTRIES // (m + d))
    kept = np.empty((n_kept, d))
    position = np.zeros(d)
    for first in range(0, burn_in + n_kept * thin, block):
        if directions == "random":
            # Hit-and-run does not see the length of a direction, so Gaussian vectors need not be normalized.
            toward = for_directions.standard_normal((block, d))
        else:
            toward = np.eye(d)[np.arange(first, first + block) % d]
        uniforms = for_positions.random(block)
        steps = min(block, burn_in + n_kept * thin - first)
        room = np.maximum(slack - normals @ position, 0.0)
        products = (toward @ normals.T)[:steps]
        polytope_chain(position, room, toward[:steps], products, uniforms[:steps], first - burn_in, thin, kept)
    return kept
