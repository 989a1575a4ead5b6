"""Hit-and-run kernels: one chain per query cell, or one chain in a polytope."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from allegiance._core.validation import AnyArray, FloatArray

from .affine_block import VECTOR
from .jit import Call, element, jit, splat, vector_intrinsic

_INDEX = ir.IntType(64)
_FLOATS, _DOUBLES = (ir.VectorType(kind, VECTOR) for kind in (ir.FloatType(), ir.DoubleType()))
_OWNERS = ir.VectorType(ir.IntType(32), VECTOR)
#: A slack below this, which rounding may make negative, counts as this: its inverse is still a number.
_LEAST_SLACK = 2.0**-100


def _larger(builder: Any, one: Any, other: Any) -> Any:
    """Return the larger of two vectors of a walk, lane by lane; ``other`` where they cannot be compared."""
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


@vector_intrinsic(
    query_rates=types.float64, site_rates=types.float32, row=int, slack=types.float32, rates=types.float32,
    ends=types.float32,
)  # fmt: skip
def cut_chords(call: Call) -> None:
    """Shorten the chords ``ends`` (2, VECTOR) of walks to where no slack (k, VECTOR) is negative, and write ``rates``.

    The slack of site i changes at the rate ``query_rates`` less ``site_rates[row, :, i]``, two float32 that add up to
    the rate of the site. The difference is rounded only where it is not small: rates nearly alike lose no digits.
    """
    builder, k = call.builder, call.width("site_rates", 2)
    queries, slacks, out, bounds = (call.pointer(name) for name in ("query_rates", "slack", "rates", "ends"))
    row = builder.mul(builder.mul(call.number("row"), k), _INDEX(2))
    sites = element(builder, call.pointer("site_rates"), row)
    rests = element(builder, sites, k)
    exact = builder.load(queries, align=8, typ=_DOUBLES)
    own = builder.fptrunc(exact, _FLOATS)
    own_rest = builder.fptrunc(builder.fsub(exact, builder.fpext(own, _DOUBLES)), _FLOATS)
    tiny = ir.Constant(_FLOATS, [_LEAST_SLACK] * VECTOR)
    # The inverses of how far the chord goes on and back: the largest loss of slack, relative to what is left.
    ahead, behind = (cgutils.alloca_once_value(builder, ir.Constant(_FLOATS, [0.0] * VECTOR)) for _ in range(2))
    with cgutils.for_range(builder, k) as site:
        theirs, rest = (
            splat(builder, builder.load(element(builder, part, site.index), typ=ir.FloatType()), _FLOATS)
            for part in (sites, rests)
        )
        rate = builder.fadd(builder.fsub(own, theirs), builder.fsub(own_rest, rest))
        at = builder.mul(site.index, _INDEX(VECTOR))
        builder.store(rate, element(builder, out, at), align=4)
        left = _larger(builder, builder.load(element(builder, slacks, at), align=4, typ=_FLOATS), tiny)
        gain = builder.fdiv(rate, left)
        for slot, change in ((ahead, builder.fneg(gain)), (behind, gain)):
            builder.store(_larger(builder, change, builder.load(slot, typ=_FLOATS)), slot)
    ones = ir.Constant(_FLOATS, [1.0] * VECTOR)
    last = element(builder, bounds, _INDEX(VECTOR))
    back = builder.fneg(builder.fdiv(ones, builder.load(behind, typ=_FLOATS)))
    builder.store(_larger(builder, back, builder.load(bounds, align=4, typ=_FLOATS)), bounds, align=4)
    on, most = builder.fdiv(ones, builder.load(ahead, typ=_FLOATS)), builder.load(last, align=4, typ=_FLOATS)
    builder.store(builder.select(builder.fcmp_ordered("<", on, most), on, most), last, align=4)


@vector_intrinsic(jumps=types.float32, rates=types.float32, slack=types.float32, owners=types.int32)
def move_along(call: Call) -> None:
    """Add ``jumps`` (VECTOR,) times ``rates`` to the slack (k, VECTOR), and write the sites of least slack."""
    builder, k = call.builder, call.width("rates", 0)
    steps, slopes, slacks, out = (call.pointer(name) for name in ("jumps", "rates", "slack", "owners"))
    jump = builder.load(steps, align=4, typ=_FLOATS)
    least = cgutils.alloca_once_value(builder, ir.Constant(_FLOATS, [float("inf")] * VECTOR))
    owner = cgutils.alloca_once_value(builder, ir.Constant(_OWNERS, [0] * VECTOR))
    with cgutils.for_range(builder, k) as site:
        at = builder.mul(site.index, _INDEX(VECTOR))
        rate = builder.load(element(builder, slopes, at), align=4, typ=_FLOATS)
        place = element(builder, slacks, at)
        change = builder.fmul(jump, rate)
        left = builder.fadd(builder.load(place, align=4, typ=_FLOATS), change)
        builder.store(left, place, align=4)
        before = builder.load(least, typ=_FLOATS)
        less = builder.fcmp_ordered("<", left, before)
        builder.store(builder.select(less, left, before), least)
        number = splat(builder, builder.trunc(site.index, ir.IntType(32)), _OWNERS)
        builder.store(builder.select(less, number, builder.load(owner, typ=_OWNERS)), owner)
    builder.store(builder.load(owner, typ=_OWNERS), out, align=4)


@jit()
def walk_cells(
    query_a: FloatArray,
    site_a: FloatArray,
    clearance: FloatArray,
    walls: FloatArray,
    wall_offsets: FloatArray,
    half_width: float,
    radius: float,
    axes: AnyArray,
    directions: FloatArray,
    site_rates: AnyArray,
    wall_rates: FloatArray,
    jumps: FloatArray,
    origin: FloatArray,
    offset: FloatArray,
    counts: AnyArray,
) -> None:
    """Walk every query through the same directions and jumps, in place, and count the owner after each step.

    Positions are y = origin + offset, and the slack of site i at y is clearance_i - <a_i - a_x, offset>, where
    ``clearance`` (n, k) is the slack at the origin. With the origin at the query, cells much smaller than the domain
    keep their accuracy. The cell of a query is where no slack is negative, inside the domain: the cube
    |y_c| <= half_width, the ball |y| <= radius and the ``walls`` (m, r), each possibly absent (inf, inf, no row). The
    owner of y is the site of least slack. VECTOR queries walk side by side. Positions are float64; slacks are float32,
    updated along the chord and computed again at each batch.

    Direction t is the axis ``axes[t]``, or the unit vector ``directions[axes[t] - r]``. The products of axes and
    directions with the sites, ``site_rates`` (r + number of directions, 2, k), numbers and what their rounding to
    float32 leaves, and with the walls, ``wall_rates``, are the same for every query. ``jumps`` (T,) in (0, 1) say how
    far along the chord to go. ``origin`` is (n, r); ``offset`` (n, r) holds the start and the end of each walk;
    ``counts`` int32 (n, B, k) gets the T steps in B batches of equal length, or with B = 0 nothing (burn-in).
    """
    n, r = query_a.shape
    k = site_a.shape[0]
    n_walls = walls.shape[0]
    n_steps = axes.shape[0]
    n_batches = counts.shape[1]
    length = n_steps // n_batches if n_batches > 0 else n_steps
    slack = np.empty((k, VECTOR), np.float32)
    rates = np.empty((k, VECTOR), np.float32)
    wall_slack = np.empty((n_walls, VECTOR))
    ends = np.empty((2, VECTOR), np.float32)
    jump = np.empty(VECTOR, np.float32)
    owner = np.empty(VECTOR, np.int32)
    value = np.empty(VECTOR)
    query_rates = np.empty(VECTOR)
    along = np.empty(VECTOR)
    low = np.empty(VECTOR)
    high = np.empty(VECTOR)
    y = np.empty((r, VECTOR))
    z = np.empty((r, VECTOR))
    slopes = np.empty((r, VECTOR))
    for first in range(0, n, VECTOR):
        width = min(VECTOR, n - first)
        for lane in range(VECTOR):
            # The last lanes may repeat a query, which is counted once.
            q = first + min(lane, width - 1)
            for c in range(r):
                z[c, lane] = offset[q, c]
                y[c, lane] = origin[q, c] + offset[q, c]
                slopes[c, lane] = query_a[q, c]
        for t in range(n_steps):
            if t % length == 0:
                for i in range(k):
                    for lane in range(VECTOR):
                        value[lane] = clearance[first + min(lane, width - 1), i]
                    for c in range(r):
                        for lane in range(VECTOR):
                            value[lane] -= (site_a[i, c] - slopes[c, lane]) * z[c, lane]
                    for lane in range(VECTOR):
                        slack[i, lane] = max(value[lane], 0.0)
                for m in range(n_walls):
                    for lane in range(VECTOR):
                        wall_slack[m, lane] = wall_offsets[m]
                        for c in range(r):
                            wall_slack[m, lane] -= walls[m, c] * y[c, lane]
            axis = axes[t]
            if axis < r:
                for lane in range(VECTOR):
                    query_rates[lane] = slopes[axis, lane]
                    along[lane] = y[axis, lane]
                    low[lane] = -half_width - y[axis, lane]
                    high[lane] = half_width - y[axis, lane]
            else:
                for lane in range(VECTOR):
                    query_rates[lane] = 0.0
                    along[lane] = 0.0
                    low[lane] = -np.inf
                    high[lane] = np.inf
                for c in range(r):
                    u = directions[axis - r, c]
                    if u == 0.0:
                        continue
                    # Towards the wall ahead, and away from the one behind.
                    ahead, behind = (half_width, -half_width) if u > 0.0 else (-half_width, half_width)
                    for lane in range(VECTOR):
                        query_rates[lane] += slopes[c, lane] * u
                        along[lane] += y[c, lane] * u
                        low[lane] = max(low[lane], (behind - y[c, lane]) / u)
                        high[lane] = min(high[lane], (ahead - y[c, lane]) / u)
            if radius < np.inf:
                for lane in range(VECTOR):
                    value[lane] = along[lane] * along[lane] + radius * radius
                for c in range(r):
                    for lane in range(VECTOR):
                        value[lane] -= y[c, lane] * y[c, lane]
                for lane in range(VECTOR):
                    root = np.sqrt(max(value[lane], 0.0))
                    low[lane] = max(low[lane], -along[lane] - root)
                    high[lane] = min(high[lane], -along[lane] + root)
            for m in range(n_walls):
                step = wall_rates[axis, m]
                for lane in range(VECTOR):
                    if step > 0.0:
                        high[lane] = min(high[lane], wall_slack[m, lane] / step)
                    elif step < 0.0:
                        low[lane] = max(low[lane], wall_slack[m, lane] / step)
            for lane in range(VECTOR):
                ends[0, lane] = low[lane]
                ends[1, lane] = high[lane]
            cut_chords(query_rates, site_rates, axis, slack, rates, ends)
            for lane in range(VECTOR):
                chord = ends[1, lane] - ends[0, lane]
                jump[lane] = ends[0, lane] + np.float32(jumps[t]) * chord if chord > 0.0 else np.float32(0.0)
            move_along(jump, rates, slack, owner)
            if axis < r:
                for lane in range(VECTOR):
                    z[axis, lane] += jump[lane]
                    y[axis, lane] += jump[lane]
            else:
                for c in range(r):
                    u = directions[axis - r, c]
                    for lane in range(VECTOR):
                        z[c, lane] += jump[lane] * u
                        y[c, lane] += jump[lane] * u
            for m in range(n_walls):
                for lane in range(VECTOR):
                    wall_slack[m, lane] -= jump[lane] * wall_rates[axis, m]
            if n_batches > 0:
                for lane in range(width):
                    counts[first + lane, t // length, owner[lane]] += 1
        for lane in range(width):
            for c in range(r):
                offset[first + lane, c] = z[c, lane]


@jit()
def polytope_chain(
    position: FloatArray,
    slack: FloatArray,
    directions: FloatArray,
    products: FloatArray,
    uniforms: FloatArray,
    age: int,
    thin: int,
    kept: FloatArray,
) -> None:
    """Walk one block of hit-and-run steps in a polytope, in O(m + d) operations each.

    A step goes to a uniform point of the chord through ``position`` (d,) along its direction, a row of ``directions``
    (s, d) of any length; ``uniforms`` (s,) in [0, 1) say where on the chord. ``slack`` (m,) is b - A @ position, not
    negative, and ``products`` (s, m) are directions @ A.T. Position and slack are updated. Row i of ``kept`` (n, d)
    receives the position of age ``(i + 1) * thin``, where ``age`` counts the steps since the end of the burn-in, and is
    negative before it. All arrays are float64 and C-contiguous.
    """
    for step in range(directions.shape[0]):
        back, ahead = -np.inf, np.inf
        for row in range(slack.shape[0]):
            speed = products[step, row]
            if speed > 0.0:
                ahead = min(ahead, slack[row] / speed)
            elif speed < 0.0:
                back = max(back, slack[row] / speed)
        # Slack is never negative, so the chord holds zero. If rounding makes it empty or endless, stay put.
        chord = ahead - back
        if 0.0 < chord < np.inf:
            move = back + uniforms[step] * chord
            for axis in range(position.shape[0]):
                position[axis] += move * directions[step, axis]
            for row in range(slack.shape[0]):
                slack[row] = max(slack[row] - move * products[step, row], 0.0)
        age += 1
        if age > 0 and age % thin == 0:
            kept[age // thin - 1] = position
