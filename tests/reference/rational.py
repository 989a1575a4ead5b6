"""Affinities in rational arithmetic: every number is exact, so nothing but the input can be wrong."""

from fractions import Fraction

import numpy as np


def affinity(centers, x, lower, upper, weights=None, query_weight=0.0):
    """Shares (k,) of the power cell of ``x`` inside the box, each rounded once at the end."""
    centers = [[Fraction(float(c)) for c in row] for row in centers]
    x = [Fraction(float(c)) for c in x]
    weights = [Fraction(float(w)) for w in (np.zeros(len(centers)) if weights is None else weights)]
    walls = box(lower, upper)
    volumes = []
    for i, site in enumerate(centers):
        owned = [closer(site, other, weights[i], weights[j]) for j, other in enumerate(centers) if j != i]
        taken = closer(x, site, Fraction(float(query_weight)), weights[i])
        volumes.append(volume([*walls, *owned, taken]))
    return np.array([float(part / sum(volumes)) for part in volumes])


def closer(p, q, p_weight, q_weight):
    """The half-space |y - p|² - p_weight <= |y - q|² - q_weight as (normal, offset) with <normal, y> <= offset."""
    normal = [2 * (b - a) for a, b in zip(p, q, strict=True)]
    return normal, sum(b * b - a * a for a, b in zip(p, q, strict=True)) + p_weight - q_weight


def box(lower, upper):
    """The walls of a box, as half-spaces."""
    walls = []
    for c, (low, high) in enumerate(zip(lower, upper, strict=True)):
        axis = [Fraction(int(c == other)) for other in range(len(lower))]
        walls += [(axis, Fraction(float(high))), ([-a for a in axis], -Fraction(float(low)))]
    return walls


def volume(halfspaces):
    """Volume of a bounded polytope by Lasserre's recursion: the sum over facets of pyramids with their tip at 0.

    Facets are measured in the coordinates that remain when one is eliminated, so that no root is taken.
    """
    rows = _tightest(halfspaces)
    if rows is None:
        return Fraction(0)
    r = len(rows[0][0])
    if r == 1:
        high = min(offset / normal[0] for normal, offset in rows if normal[0] > 0)
        low = max(offset / normal[0] for normal, offset in rows if normal[0] < 0)
        return max(high - low, Fraction(0))
    total = Fraction(0)
    for i, (normal, offset) in enumerate(rows):
        if offset == 0:
            continue
        pivot = max(range(r), key=lambda c: abs(normal[c]))
        others = rows[:i] + rows[i + 1 :]
        facet = volume([_eliminate(other, normal, offset, pivot) for other in others])
        total += offset / abs(normal[pivot]) * facet
    return total / r


def _eliminate(row, normal, offset, pivot):
    """One half-space on the plane <normal, y> = offset, without the coordinate ``pivot``."""
    factor = row[0][pivot] / normal[pivot]
    rest = [a - factor * b for c, (a, b) in enumerate(zip(row[0], normal, strict=True)) if c != pivot]
    return rest, row[1] - factor * offset


def _tightest(halfspaces):
    """Half-spaces without zero rows and repeated directions; None if one of them can never hold."""
    best = {}
    for normal, offset in halfspaces:
        size = max(abs(a) for a in normal)
        if size == 0:
            if offset < 0:
                return None
            continue
        direction = tuple(a / size for a in normal)
        best[direction] = min(best.get(direction, offset / size), offset / size)
    return [(list(direction), offset) for direction, offset in best.items()]
