"""Plain NumPy twins of the compiled kernels. The chain in a polytope follows its kernel to the last bit."""

import numpy as np
from scipy.linalg import hadamard


def project_rows(X, shift, basis):
    rows = X - shift
    return rows @ basis, (rows * rows).sum(axis=1)


def count_owners(query_a, query_b, site_a, site_b, points, owner):
    """Counts from ungrouped float64 samples, one query after another."""
    counts = np.zeros((len(query_a), len(site_a)), dtype=np.int64)
    site_value = site_b[owner] - (points * site_a[owner]).sum(axis=1)
    for q in range(len(query_a)):
        stolen = query_b[q] - points @ query_a[q] <= site_value
        counts[q] = np.bincount(owner[stolen], minlength=len(site_a))
    return counts


def reflections(blocks, r):
    """All samples (number of blocks, SIZE, r) of blocks of base samples, with signs from SciPy's Hadamard matrix."""
    signs = hadamard(32)[:, np.arange(r) % 32]
    base = blocks[:, :r].transpose(0, 2, 1).astype(np.float64)
    return (np.vstack([signs, -signs])[:, None] * base[:, None]).reshape(len(blocks), -1, r)


def count_clusters(stolen, owner, k, lanes=16):
    """Sums of h_i, h_i^2 and h_i h over base samples, of the stolen samples (number of blocks, SIZE) by owner."""
    hits = np.zeros((len(owner), lanes, k), np.int64)
    b, s = np.nonzero(stolen)
    np.add.at(hits, (b, s % lanes, owner[b, s]), 1)
    return [(hits * other).sum(axis=(0, 1)) for other in (1, hits, hits.sum(axis=2, keepdims=True))]


def simplex_share(values):
    """Share of a simplex where the affine function with these vertex values is negative, by recursion on corners."""
    inside = [-value for value in values if value < 0]
    outside = [value for value in values if value >= 0]
    share = [0.0] + [1.0] * len(inside)
    for q in outside:
        for j, p in enumerate(inside, start=1):
            share[j] = (p * share[j] + q * share[j - 1]) / (p + q)
    return share[-1] if inside else 0.0


def gap_from_home(query_a, home, clearance, clearance_scale, site_a, vertices, cell):
    """f_q - f_i at each vertex (V,) of cell i, as a share of the numbers it is computed from."""
    slope = query_a - site_a[cell]
    offset = -clearance[cell] + slope @ home
    return (offset - (slope * vertices.T).sum(axis=1)) / (clearance_scale + np.abs(slope).sum(axis=1))


def walk_cell(query_a, site_a, clearance, domain, steps, origin, offset, n_batches):
    """One chain of the owner walk; ``domain`` is (walls, wall_offsets, half_width, radius)."""
    walls, wall_offsets, half_width, radius = domain
    z, length = offset.copy(), len(steps[0]) // n_batches
    counts = np.zeros((n_batches, len(site_a)), dtype=np.int64)
    for t, (u, jump) in enumerate(zip(*steps, strict=True)):
        y = origin + z
        if t % length == 0:
            slack, wall_slack = clearance - (site_a - query_a) @ z, wall_offsets - walls @ y
        # The chord along u in the cube, in the ball, in the cell and between the walls.
        low, high = np.sort((np.array([[-half_width], [half_width]]) - y[u != 0]) / u[u != 0], axis=0)
        root = np.sqrt(max((y @ u) ** 2 + radius * radius - y @ y, 0.0))
        rate, wall_rate = (query_a - site_a) @ u, walls @ u
        closing, room = np.append(-rate, wall_rate), np.append(slack, wall_slack)
        back, ahead = closing < 0, closing > 0
        low = max(low.max(), -(y @ u) - root, (room[back] / closing[back]).max(initial=-np.inf))
        high = min(high.min(), -(y @ u) + root, (room[ahead] / closing[ahead]).min(initial=np.inf))
        move = low + jump * (high - low) if low < high else 0.0
        z, slack, wall_slack = z + move * u, slack + move * rate, wall_slack - move * wall_rate
        counts[t // length, slack.argmin()] += 1
    return z, counts


def polytope_chain(position, slack, directions, products, uniforms, age, thin, kept):
    """Hit-and-run on one polytope, one step at a time."""
    for direction, speeds, uniform in zip(directions, products, uniforms, strict=True):
        leaving, entering = speeds > 0, speeds < 0
        ahead = np.min(slack[leaving] / speeds[leaving], initial=np.inf)
        back = np.max(slack[entering] / speeds[entering], initial=-np.inf)
        chord = ahead - back
        if 0 < chord < np.inf:
            move = back + uniform * chord
            position += move * direction
            slack[:] = np.maximum(slack - move * speeds, 0.0)
        age += 1
        if age > 0 and age % thin == 0:
            kept[age // thin - 1] = position
