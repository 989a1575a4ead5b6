"""Hit-and-run walks: inside the cell of each query, and inside one polytope."""

from __future__ import annotations

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray

from .jit import jit


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
    site_rates: FloatArray,
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
    owner of y is the site of least slack. Slacks are updated along the chord and renewed at each batch.

    Direction t is the axis ``axes[t]``, or the unit vector ``directions[t]`` where ``axes[t]`` is -1. Its products
    with the sites, ``site_rates`` (T, k), and with the walls, ``wall_rates`` (T, m), are the same for every query
    and come ready made. ``jumps`` (T,) in (0, 1) say how far along the chord to go. ``origin`` is (n, r); ``offset``
    (n, r) holds the start and the end of each walk; ``counts`` int32 (n, B, k) gets the T steps in B batches of equal
    length, or with B = 0 nothing (burn-in).
    """
    n, r = query_a.shape
    k = site_a.shape[0]
    n_walls = walls.shape[0]
    n_steps = axes.shape[0]
    n_batches = counts.shape[1]
    length = n_steps // n_batches if n_batches > 0 else n_steps
    slack = np.empty(k)
    rate = np.empty(k)
    wall_slack = np.empty(n_walls)
    z = np.empty(r)
    for q in range(n):
        for c in range(r):
            z[c] = offset[q, c]
        for t in range(n_steps):
            if t % length == 0:
                for i in range(k):
                    value = clearance[q, i]
                    for c in range(r):
                        value -= (site_a[i, c] - query_a[q, c]) * z[c]
                    slack[i] = value
                for m in range(n_walls):
                    value = wall_offsets[m]
                    for c in range(r):
                        value -= walls[m, c] * (origin[q, c] + z[c])
                    wall_slack[m] = value
            low = -np.inf
            high = np.inf
            axis = axes[t]
            query_rate = 0.0
            along = 0.0
            if axis >= 0:
                query_rate = query_a[q, axis]
                along = origin[q, axis] + z[axis]
                low = -half_width - along
                high = half_width - along
            else:
                for c in range(r):
                    u = directions[t, c]
                    y = origin[q, c] + z[c]
                    query_rate += query_a[q, c] * u
                    along += y * u
                    if u > 0.0:
                        low = max(low, (-half_width - y) / u)
                        high = min(high, (half_width - y) / u)
                    elif u < 0.0:
                        low = max(low, (half_width - y) / u)
                        high = min(high, (-half_width - y) / u)
            if radius < np.inf:
                square = along * along + radius * radius
                for c in range(r):
                    y = origin[q, c] + z[c]
                    square -= y * y
                root = np.sqrt(max(square, 0.0))
                low = max(low, -along - root)
                high = min(high, -along + root)
            for i in range(k):
                rate[i] = query_rate - site_rates[t, i]
            for i in range(k):
                if rate[i] < 0.0:
                    high = min(high, -slack[i] / rate[i])
                elif rate[i] > 0.0:
                    low = max(low, -slack[i] / rate[i])
            for m in range(n_walls):
                step = wall_rates[t, m]
                if step > 0.0:
                    high = min(high, wall_slack[m] / step)
                elif step < 0.0:
                    low = max(low, wall_slack[m] / step)
            jump = 0.0
            if low < high:
                jump = low + jumps[t] * (high - low)
            if axis >= 0:
                z[axis] += jump
            else:
                for c in range(r):
                    z[c] += jump * directions[t, c]
            owner = 0
            least = np.inf
            for i in range(k):
                slack[i] += jump * rate[i]
                if slack[i] < least:
                    least = slack[i]
                    owner = i
            for m in range(n_walls):
                wall_slack[m] -= jump * wall_rates[t, m]
            if n_batches > 0:
                counts[q, t // length, owner] += 1
        for c in range(r):
            offset[q, c] = z[c]


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
    """Walk one block of hit-and-run steps, in O(m + d) operations each.

    A step goes to a uniform point of the chord through the position along its direction; the length of the
    direction does not matter. All arrays are float64 and C-contiguous.

    Parameters
    ----------
    position : array of shape (d,)
        Where the block starts; overwritten with where it ends.
    slack : array of shape (m,)
        b - A @ position, not negative; updated along with the position.
    directions : array of shape (s, d)
    products : array of shape (s, m)
        directions @ A.T.
    uniforms : array of shape (s,)
        In [0, 1): where on its chord each step lands.
    age
        Steps since the end of the burn-in, negative before it.
    thin
        The positions of age ``thin``, ``2 * thin``, ... are kept.
    kept : array of shape (n, d)
        Row i receives the position of age ``(i + 1) * thin``.
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
