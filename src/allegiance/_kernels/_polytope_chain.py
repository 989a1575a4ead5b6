"""Hit-and-run on one polytope."""

from __future__ import annotations

import numpy as np

from allegiance._core import FloatArray

from ._jit import jit


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
    direction is of no account. All arrays are float64 and C-contiguous.

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
