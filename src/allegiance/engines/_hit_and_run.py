"""Hit-and-run walks inside the cell of each query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import optimize
from scipy.special import stdtrit

from allegiance._core.arithmetic import row_sums
from allegiance._core.parallel import for_row_blocks, kernel_ready, slices, stream
from allegiance._core.validation import AnyArray, BoolArray, FloatArray
from allegiance.domains import Region

from ._base import (
    ENGINES,
    HIT_AND_RUN,
    LIMIT,
    MAX_SAMPLES,
    Z95,
    Engine,
    Estimate,
    FittedEngine,
    Queries,
    Settings,
    binomial_errors,
)
from ._tessellation import Tessellation

#: Batches whose means tell the precision of a walk.
_BATCHES = 32
#: New batches before the next look at the precision, once there are that many: a walk grows by half, then by a third.
_BATCHES_PER_LOOK = 8
#: Sweeps through all axes before counting starts, and in the first batches.
_BURN_IN_SWEEPS = 30
_SWEEPS_PER_BATCH = 8
#: Where successive batches are more alike than this, 32 of them cannot tell how much more.
_MAX_CORRELATION = 0.9
#: Where they are more alike than this at the first look, the walk is slow, and starts again along the axes of its cell.
#: In many dimensions a walk along its own axes costs as much as a walk that is several times longer.
_SLOW_CORRELATION, _SLOW_CORRELATION_IN_MANY, _MANY_DIMENSIONS = 0.1, 0.4, 64
_TINY = np.finfo(np.float64).tiny
#: Counts held at a time (queries x batches x sites).
_MAX_COUNTS = 2**23
#: Most steps handed to the kernel in one call.
_MAX_STEPS = 2**16
#: A cell less deep than this share of the numbers it is computed from is empty.
_EMPTY_DEPTH = 1e-13
#: Standard error of shares that are not known at all: the largest that a number between 0 and 1 can have.
_UNKNOWN_ERROR = 0.5


class _Steps(NamedTuple):
    """Directions and jumps of a stretch of the walk, the same for every query; see ``walk_cells``."""

    axes: AnyArray
    directions: FloatArray
    site_rates: AnyArray
    wall_rates: FloatArray
    jumps: FloatArray


class _Walkers(NamedTuple):
    """Queries on their way."""

    queries: Queries
    clearance: FloatArray
    """(n, k) slack at their own position."""
    offset: FloatArray
    """(n, r) how far they have gone."""

    def take(self, rows: AnyArray | slice) -> _Walkers:
        """Return some of the walkers."""
        return _Walkers(self.queries.take(rows), self.clearance[rows], self.offset[rows])


@ENGINES.register("hit-and-run")
@dataclass(frozen=True, eq=False, repr=False)
class HitAndRun(Engine):
    """A random walk inside the cell of each point, the paper's algorithm: for any domain, and to check other engines.

    Parameters
    ----------
    max_samples
        Most steps spent on one point. Points that need more get fewer, a larger ``standard_error`` and one warning.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from allegiance import affinity
    >>> from allegiance.engines import HitAndRun
    >>> wine = load_wine()
    >>> result = affinity(wine.data[:5], centers=wine.data[::60], engine=HitAndRun(), eps=0.1)
    >>> result.affinity.shape
    (5, 3)
    """

    max_samples: int = MAX_SAMPLES

    def why_unsupported(self, tessellation: Tessellation) -> str | None:
        """Return None: a walk can go anywhere."""
        return None

    def build(self, tessellation: Tessellation, settings: Settings) -> FittedEngine:
        """Build the walking engine."""
        return FittedHitAndRun(tessellation, settings, self.max_samples)


class FittedHitAndRun(FittedEngine):
    """Estimate shares by a random walk in the cell of each query that counts the owners it visits.

    A sweep is one step along each axis and one in a random direction. All queries follow the same directions and
    jumps, so that directions are multiplied with the sites once for all, and no answer depends on the order or number
    of queries. A walk starts at the query itself, which lies in its own cell, or else at the cell's deepest
    point; if the cell is empty, the limit of a vanishing cell is returned.

    Samples of a walk depend on each other. The precision comes from the means of 32 batches and the correlation of
    successive ones, and the walk goes on until the 95% interval of every affinity is within ``eps``. Where they are
    much alike, the cell is long and thin: the walk starts again along the axes of its own cell.
    """

    block = 4096

    def __init__(self, tessellation: Tessellation, settings: Settings, max_samples: int = MAX_SAMPLES) -> None:
        self._tessellation = tessellation
        self._settings = settings
        self._max_samples = max_samples
        wanted = _SWEEPS_PER_BATCH * (tessellation.dim + 1)
        self._batch_steps = max(min(wanted, max_samples // _BATCHES), 1)

    def estimate(self, queries: Queries) -> Estimate:
        """Walk in the cell of every query, or return the limit where it is empty: every query gets an answer."""
        k = self._tessellation.n_sites
        estimate = Estimate.blank(queries.n, k, HIT_AND_RUN)
        for part in slices(queries.n, max(_MAX_COUNTS // (_BATCHES * k), 64)):
            block = queries.take(part)
            clearance = self._tessellation.clearance(block)
            offset, empty_cell, multipliers, unsolved = self._starts(block, clearance)
            empty = part.start + np.flatnonzero(empty_cell)
            estimate.affinity[empty], estimate.engine[empty] = multipliers[empty_cell], LIMIT
            estimate.empty_cell[empty] = True
            estimate.standard_error[part.start + np.flatnonzero(unsolved)] = _UNKNOWN_ERROR
            walking = np.flatnonzero(~empty_cell)
            walkers = _Walkers(block.take(walking), clearance[walking], offset[walking])
            rows = part.start + walking
            estimate.affinity[rows], estimate.standard_error[rows] = self._walk(walkers)
        return estimate

    def _starts(self, queries: Queries, clearance: FloatArray) -> tuple[FloatArray, BoolArray, FloatArray, BoolArray]:
        """Return a start (n, r) from each query into its cell, which cells are empty, and their multipliers (n, k).

        A query whose linear program has no solution counts as empty, with all of it at the site that is closest to it;
        the last array (n,) tells which these are.
        """
        offset = np.zeros_like(queries.position)
        multipliers = np.zeros_like(clearance)
        empty_cell, unsolved = np.zeros((2, queries.n), dtype=bool)
        at_home = (clearance > 0).all(axis=1) & self._tessellation.region.contains(queries.position)
        for row in np.flatnonzero(~at_home):
            try:
                deepest = deepest_point(self._tessellation, queries.take(slice(row, row + 1)))
            except ArithmeticError:
                multipliers[row, clearance[row].argmin()] = 1.0
                empty_cell[row] = unsolved[row] = True
                continue
            offset[row] = deepest.position - queries.position[row]
            multipliers[row] = deepest.multipliers
            empty_cell[row] = deepest.depth <= _EMPTY_DEPTH
        return offset, empty_cell, multipliers, unsolved

    def _walk(self, walkers: _Walkers, axes: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return shares (n, k) and their standard errors, by steps along axes (r, r), or else along coordinates."""
        settings = self._settings
        n, k = walkers.clearance.shape
        affinity, error = np.zeros((n, k)), np.zeros((n, k))
        active = np.arange(n)
        burn_in = self._steps(_BURN_IN_SWEEPS * (self._tessellation.dim + 1), (0, 0, 0), axes)
        self._run(walkers, burn_in, np.zeros((n, 0, k), np.int32))
        counts = np.zeros((n, 0, k), np.int32)
        length, level, look = self._batch_steps, 1, 0
        while active.size:
            # The first time all batches are new; afterwards pairs of old ones make half of the longer ones.
            fresh = _BATCHES if level == 1 else _BATCHES_PER_LOOK
            counts = np.concatenate([counts, self._count(walkers, fresh, length, (level, look), axes)], axis=1)
            affinity[active], error[active], correlation = _batch_means(counts, length)
            full = counts.shape[1] == _BATCHES
            spent = full and 2 * _BATCHES * length > self._max_samples
            more = (Z95 * error[active].max(axis=1) > settings.eps) & (not spent)
            if axes is None and level == 1 and not spent:
                many = self._tessellation.dim > _MANY_DIMENSIONS
                slow = correlation > (_SLOW_CORRELATION_IN_MANY if many else _SLOW_CORRELATION)
                affinity[active[slow]], error[active[slow]] = self._walk_along_cells(walkers.take(slow))
                more &= ~slow
            active, walkers, counts = active[more], walkers.take(more), counts[more]
            look += 1
            if full:
                counts = counts.reshape(active.size, _BATCHES // 2, 2, k).sum(axis=2, dtype=np.int32)
                length, level, look = 2 * length, level + 1, 0
        return affinity, error

    def _walk_along_cells(self, walkers: _Walkers) -> tuple[FloatArray, FloatArray]:
        """Return what :meth:`_walk` does, each walk along the axes of its own cell: for skewed cells."""
        n, k = walkers.clearance.shape
        affinity, error = np.zeros((n, k)), np.zeros((n, k))

        def walk_alone(rows: slice) -> None:
            for row in range(rows.start, rows.stop):
                walker = walkers.take(slice(row, row + 1))
                query = walker.queries
                slopes = self._tessellation.functions.a - query.a
                axes = cell_axes(
                    slopes, walker.clearance[0], self._tessellation.region, query.position[0], walker.offset[0]
                )
                affinity[row], error[row] = (part[0] for part in self._walk(walker, axes))

        for_row_blocks(walk_alone, n, self._settings.threads)
        return affinity, error

    def _count(
        self, walkers: _Walkers, n_batches: int, length: int, keys: tuple[int, ...], axes: FloatArray | None
    ) -> AnyArray:
        """Walk on for ``n_batches`` batches and return their counts (n, n_batches, k)."""
        n, k = walkers.clearance.shape
        counts = np.zeros((n, n_batches, k), np.int32)
        for key, part in enumerate(slices(n_batches, max(_MAX_STEPS // length, 1))):
            steps = self._steps((part.stop - part.start) * length, (*keys, key), axes)
            stretch = np.zeros((n, part.stop - part.start, k), np.int32)
            self._run(walkers, steps, stretch)
            counts[:, part] = stretch
        return counts

    def _steps(self, n: int, keys: tuple[int, ...], along: FloatArray | None) -> _Steps:
        """Draw ``n`` steps: along the axes in turn, then in one random direction, and so on."""
        r = self._tessellation.dim
        rng = stream(self._settings.seed, HIT_AND_RUN, *keys)
        axes = np.arange(n) % (r + 1)
        free = axes == r
        directions = rng.standard_normal((int(free.sum()), r))
        axes[free] = r + np.arange(directions.shape[0])
        if along is not None:
            # First the axes of the cell, then the random directions.
            directions, axes = np.vstack([along, directions @ along]), axes + r
        directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
        sites, walls = (
            np.vstack([normals.T, directions @ normals.T])
            for normals in (self._tessellation.functions.a, self._tessellation.region.walls)
        )
        rounded = sites.astype(np.float32)
        rates = np.stack([rounded, (sites - rounded).astype(np.float32)], axis=1)
        return _Steps(axes, directions, rates, walls, rng.random(n))

    def _run(self, walkers: _Walkers, steps: _Steps, counts: AnyArray) -> None:
        """Let walkers take the same steps, each in its own cell, and count the owners that they visit."""
        from allegiance._kernels.walking import walk_cells

        region = self._tessellation.region
        queries = walkers.queries
        slopes, walls, wall_offsets = kernel_ready(self._tessellation.functions.a, region.walls, region.wall_offsets)

        def walk_rows(rows: slice) -> None:
            walk_cells(
                queries.a[rows], slopes, walkers.clearance[rows], walls, wall_offsets, region.half_width, region.radius,
                *steps, queries.position[rows], walkers.offset[rows], counts[rows],
            )  # fmt: skip

        for_row_blocks(walk_rows, queries.n, self._settings.threads)


def _batch_means(counts: AnyArray, length: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shares (n, k), their standard errors, and the correlation (n,) of successive batches of counts (n, B, k).

    The error is widened from the t distribution of few batches to the normal quantile that readers will multiply with.
    It is never below that of as many independent samples as the walk is worth by its worst share, so that a site
    never visited does not look certain. The worst of more shares than batches is mostly noise: there it is what the
    walk is worth by all shares together.
    """
    n_batches = counts.shape[1]
    steps = n_batches * length
    means = counts / length
    share = means.mean(axis=1)
    deviation = means - share[:, None, :]
    squares = (deviation * deviation).sum(axis=1)
    products = (deviation[:, 1:] * deviation[:, :-1]).sum(axis=1)
    # One correlation for all shares of a walk: that of a single one is noisy. 1 / B corrects for subtracting the mean.
    correlation = row_sums(products) / np.maximum(row_sums(squares), _TINY) + 1.0 / n_batches
    # The variance of a mean grows by (1 + c) / (1 - c). That is right in both limits: where batches are longer than the
    # memory of the walk, so that only neighbors are correlated (1 + 2 c), and where they are much shorter, so that
    # correlations decay geometrically.
    c = np.clip(correlation, 0.0, _MAX_CORRELATION)
    variance = squares / (n_batches * (n_batches - 1)) * ((1.0 + c) / (1.0 - c))[:, None]
    plain = share * (1.0 - share) / steps
    if share.shape[1] > n_batches:
        inflation = row_sums(variance) / np.maximum(row_sums(plain), _TINY)
    else:
        inflation = np.divide(variance, plain, out=np.ones_like(plain), where=plain > 0).max(axis=1)
    worth = steps / np.maximum(inflation, 1.0)
    floor = binomial_errors(share * worth[:, None], worth)
    widened = float(stdtrit(n_batches - 1, 0.975)) / Z95
    return share, np.maximum(np.sqrt(variance) * widened, floor), correlation


#: Most Newton steps to the middle of a cell, and the decrement that is near enough. The shape need not be exact: a walk
#: is right along any axes.
_NEWTON_STEPS = 30
_NEAR_DECREMENT = 0.1
#: Added to the diagonal of a matrix that is scaled to ones there, against rounding.
_RIDGE = 1e-13
#: A slack whose inverse square is still a number.
_THIN_SLACK = 1e-150


def cell_axes(
    slopes: FloatArray, clearance: FloatArray, region: Region, position: FloatArray, inside: FloatArray
) -> FloatArray:
    """Return axes (r, r), one in each row, in whose coordinates the cell is about as long as wide.

    The cell is where <slopes_i, z> <= clearance_i and position + z lies in the region. The ellipsoid of the logarithmic
    barrier in its middle has its shape, up to the number of walls, and exactly for a simplex. ``inside`` (r,) is a z
    inside the cell.
    """
    walls, wall_offsets = region.halfspaces()
    normals = np.vstack([slopes, walls])
    offsets = np.concatenate([clearance, wall_offsets - walls @ position])
    z, hessian = inside, np.eye(inside.size)
    for _ in range(_NEWTON_STEPS):
        slack = offsets - normals @ z
        y = position + z
        room = region.radius**2 - y @ y
        if not (slack > _THIN_SLACK).all() or not room > _THIN_SLACK:
            # Rounding has carried the point to a wall: what is known of the shape must do.
            break
        scaled = normals / slack[:, None]
        gradient = scaled.sum(axis=0) + 2.0 * y / room
        hessian = scaled.T @ scaled + 2.0 * np.eye(y.size) / room + 4.0 * np.outer(y, y) / room**2
        step = -np.linalg.solve(hessian + _RIDGE * np.diag(np.diag(hessian)), gradient)
        decrement = np.sqrt(max(float(-gradient @ step), 0.0))
        if decrement < _NEAR_DECREMENT:
            break
        # A damped step of this length stays inside, whatever the walls.
        z = z + step / (1.0 + decrement)
    # Coordinates are brought to one length first, so that a cell thin along one of them loses no digits. Unlike the
    # principal axes, those of a Cholesky factor hardly move with the last bits of the ellipsoid.
    length = 1.0 / np.sqrt(np.diag(hessian))
    root = np.linalg.cholesky(hessian * length[:, None] * length + _RIDGE * np.eye(length.size))
    axes: FloatArray = np.linalg.solve(root, np.diag(length))
    return axes / np.sqrt((axes * axes).sum(axis=1).max())


#: Tangent planes added to a ball before its flat approximation is good enough, and how good that is.
_MAX_TANGENTS = 200
_TANGENCY = 1e-7
#: How far away, in spreads of the sites, a query or a heavy site still matters for where a cell vanishes.
_MAX_SPREADS = 1e4
#: The solver takes numbers some orders larger than this for infinite.
_LARGEST_NUMBER = 1e15


class Deepest(NamedTuple):
    """Where the least slack f_i - f_x over the region is largest."""

    depth: float
    """That slack; not positive if the cell is empty."""
    position: FloatArray
    """(r,)"""
    multipliers: FloatArray
    """(k,) of the sites in the linear program; they sum to 1."""


def deepest_point(tessellation: Tessellation, query: Queries) -> Deepest:
    """Solve max t subject to f_i(z) - f_x(z) >= t for all sites i and z in the region, for one query.

    If the cell of the query has an interior, the solution is a point well inside it. If not, the multipliers are the
    limit of the affinities as a cell shrinks to nothing: just before it vanishes the cell is a simplex, and uniform
    points of a simplex have their least slack at site i with probability proportional to its multiplier.

    A ball is approximated by its tangent planes, added where the solution leaves it.
    """
    region = tessellation.region
    a, b = tessellation.functions
    k, r = a.shape
    slopes, offsets, target = _scale_program(a, b, query.a[0], region.bounded)
    walls, wall_offsets = region.halfspaces()
    if not region.polyhedral:
        walls = np.vstack([walls, np.eye(r), -np.eye(r)])
        wall_offsets = np.concatenate([wall_offsets, np.full(2 * r, region.radius)])
    for _ in range(_MAX_TANGENTS):
        result = optimize.linprog(
            -np.append(target, 1.0),
            A_ub=np.vstack([np.column_stack([slopes, np.ones(k)]), np.column_stack([walls, np.zeros(walls.shape[0])])]),
            b_ub=np.concatenate([offsets, wall_offsets]),
            bounds=(None, None),
            method="highs",
        )
        if result.status != 0:
            raise ArithmeticError(f"the deepest point of a cell was not found: {result.message}")
        position = np.asarray(result.x)[:-1]
        distance = float(np.linalg.norm(position))
        if region.polyhedral or distance <= region.radius * (1.0 + _TANGENCY):
            break
        walls = np.vstack([walls, position / distance])
        wall_offsets = np.append(wall_offsets, region.radius)
    if not region.polyhedral and distance > region.radius * (1.0 - _TANGENCY):
        position = position * (region.radius * (1.0 - _TANGENCY) / distance)
    multipliers = np.maximum(-np.asarray(result.ineqlin.marginals)[:k], 0.0)
    depth = float(((b - query.b[0]) - (a - query.a[0]) @ position).min())
    return Deepest(depth, position, multipliers / multipliers.sum())


def _scale_program(
    a: FloatArray, b: FloatArray, query_a: FloatArray, bounded: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return slopes (k, r), offsets (k,) and target (r,) of a linear program for the deepest point, well scaled.

    With h <= f_i(z) for all i, maximize h - f_x(z). The constraints then hold only the sites, and of the query only
    the slope of f_x matters. Beyond ``_MAX_SPREADS`` times the spread of the sites its length changes only rounding.
    """
    middle = a.mean(axis=0)
    size = max(float(np.abs(a - middle).max()), np.finfo(float).tiny)
    # Over a region of size one a site that starts more than 2 r sizes above another is nowhere the lowest.
    matters = size * (max(_MAX_SPREADS, 4.0 * a.shape[1]) if bounded else _LARGEST_NUMBER)
    above = b - b.min()
    if above.max() > matters:
        b = np.minimum(above, matters)
    target = (query_a - middle) / size
    target *= min(1.0, _MAX_SPREADS / max(float(np.abs(target).max()), _MAX_SPREADS))
    return (a - middle) / size, (b - b.mean()) / size, target
