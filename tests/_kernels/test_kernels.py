"""Each kernel against its plain twin."""

import numpy as np
import pytest
from allegiance._kernels.banks import choose_samples, count_stolen, empty_pairs, weighted_shares

from allegiance._kernels.affine_block import BLOCK, CLASSES, COARSE, LANES
from allegiance._kernels.counting import (
    count_owners,
    group_by_owner,
    own_and_other_squares,
    owners_at,
    owners_of,
    project_rows,
)
from allegiance._kernels.cutting import stolen_volumes
from allegiance._kernels.pcg64 import draw_uniform
from allegiance._kernels.walking import walk_cells
from allegiance.engines import binomial_errors
from allegiance.engines._tessellation import SingleFunctions
from reference import kernels as twin
from reference.volumes import polytope_volume


@pytest.mark.parametrize("m", [2, 64, 66, 5000])
@pytest.mark.parametrize("seed", [0, 1, 2**64])
def test_draw_uniform_gives_the_numbers_of_numpy(m, seed):
    """Both halves of the words of PCG64, as whole numbers and as ``Generator.random`` makes floats of them."""
    numbers = np.random.PCG64(seed).state["state"]
    state = np.array([[numbers[name] >> 64, numbers[name] % 2**64] for name in ("state", "inc")], np.uint64)
    out = np.empty(m, np.float32)
    draw_uniform(state, 0, out)
    words = np.random.PCG64(seed).random_raw(m // 2)
    np.testing.assert_array_equal(out, words.view(np.int32).astype(np.float32) / np.float32(2**31))
    draw_uniform(state, 8, out)
    expected = np.random.Generator(np.random.PCG64(seed)).random(m, dtype=np.float32)
    np.testing.assert_array_equal(out, 2 * expected - 1)


def test_project_rows(rng):
    X, shift, basis = rng.normal(size=(50, 30)), rng.normal(size=30), rng.normal(size=(30, 4))
    out, norms = np.empty((50, 4)), np.empty(50)
    project_rows(X, shift, np.ascontiguousarray(basis.T), out, norms)
    expected, expected_norms = twin.project_rows(X, shift, basis)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(norms, expected_norms, rtol=1e-13)


@pytest.mark.parametrize(("m", "r", "k"), [(3000, 3, 5), (256, 1, 1), (17, 2, 9), (1, 4, 3)])
def test_owners_of(rng, m, r, k):
    site_a, site_b = rng.normal(size=(k, r)), rng.normal(size=k)
    points = rng.uniform(-1, 1, (m, r)).astype(np.float32)
    owner = np.empty(m, np.int32)
    owners_of(np.ascontiguousarray(points.T), site_a, site_b, *SingleFunctions.of(site_a, site_b), owner)
    np.testing.assert_array_equal(owner, (site_b - points.astype(np.float64) @ site_a.T).argmin(axis=1))


@pytest.mark.parametrize(("n", "r", "k"), [(1, 1, 1), (50, 0, 3), (50, 4, 7), (20, 30, 40)])
def test_owners_at(rng, n, r, k):
    site_a, site_b, positions = rng.normal(size=(k, r)), rng.normal(size=k), rng.normal(size=(n, r))
    owner = np.empty(n, np.int64)
    owners_at(positions, np.ascontiguousarray(site_a.T), site_b, owner)
    np.testing.assert_array_equal(owner, (site_b - positions @ site_a.T).argmin(axis=1))


@pytest.mark.parametrize(("r", "k"), [(1, 1), (0, 3), (4, 7), (30, 40)])
def test_own_and_other_squares(rng, r, k):
    sites, positions, codes = rng.normal(size=(k, r)), rng.normal(size=(50, r)), rng.integers(-1, k, 50)
    own, other = np.empty((2, 50))
    own_and_other_squares(positions, np.ascontiguousarray(sites.T), codes, own, other)
    squares = np.square(positions[:, None] - sites).sum(axis=2)
    others = np.where(np.arange(k) == codes[:, None], np.inf, squares).min(axis=1)
    np.testing.assert_allclose(other, others)
    np.testing.assert_allclose(own, np.where(codes >= 0, squares[np.arange(50), codes], others))


def test_owners_at_equals_gives_the_first():
    owner = np.empty(2, np.int64)
    owners_at(np.array([[1.0], [-1.0]]), np.array([[0.0, 1.0, 1.0, -1.0]]), np.array([np.inf, 0.0, 0.0, 0.0]), owner)
    np.testing.assert_array_equal(owner, [1, 3])


def _group(points, owner, k):
    sizes = np.bincount(owner, minlength=k)
    blocks = np.zeros((np.ceil(sizes / BLOCK).astype(int).sum(), points.shape[1] + 1, BLOCK), np.float32)
    return blocks, *group_by_owner(points.T.astype(np.float32, order="C"), owner.astype(np.int32), sizes, blocks)


@pytest.mark.parametrize(("m", "r", "k"), [(3000, 3, 5), (256, 1, 1), (17, 2, 9), (1, 4, 3)])
def test_group_by_owner(rng, m, r, k):
    """Every point stands once, in the group of its owner, in its order; unused places have an infinite margin."""
    points, owner = rng.uniform(-1, 1, (m, r)).astype(np.float32), rng.integers(k, size=m)
    blocks, strips, owners = _group(points, owner, k)
    assert (np.diff(owners) >= 0).all()
    assert np.isin(blocks[:, 0], [0.0, np.inf]).all()
    used = blocks[:, 0] == 0.0
    for i in range(k):
        rows = blocks[owners == i, 1:].transpose(0, 2, 1)[used[owners == i]]
        np.testing.assert_array_equal(rows, points[owner == i])
        assert (owners == i).sum() == -(-(owner == i).sum() // BLOCK)
    np.testing.assert_array_equal(strips, -(-used.sum(axis=1) // LANES))


@pytest.mark.parametrize("r", [1, 2, 3, 4, 7, 9, 50])
def test_count_owners(rng, r):
    """Float32 sums may move a sample across a plane only if it lies within 1e-5 of it; such samples are left out."""
    k, n, m = 5, 12, 3000
    site_a, site_b = rng.normal(size=(k, r)), rng.normal(size=k)
    query_a, query_b = rng.normal(size=(n, r)), rng.normal(size=n)
    points = rng.uniform(-1, 1, (m, r)).astype(np.float32).astype(np.float64)
    owner = (site_b - points @ site_a.T).argmin(axis=1)
    gap = (query_b - points @ query_a.T) - (site_b[owner] - (points * site_a[owner]).sum(axis=1))[:, None]
    clear = (np.abs(gap) > 1e-5).all(axis=1)
    points, owner = points[clear], owner[clear]
    blocks, strips, owners = _group(points, owner, k)
    counts = np.zeros((n, k), np.int64)
    rows = np.array([3, 0, 7, 9, 1])
    count_owners(rows, query_a, query_b, site_a, site_b, blocks, strips, owners, counts)
    expected = twin.count_owners(query_a, query_b, site_a, site_b, points, owner)
    np.testing.assert_array_equal(counts[rows], expected[rows])
    assert not np.delete(counts, rows, axis=0).any(), "other queries are left alone"


def _draw(rng, m, r, k):
    """Sites, samples whose owner is beyond doubt in single precision, and limits that make all classes occur."""
    site_a, site_b = rng.normal(size=(k, r)), rng.normal(size=k)
    points = rng.uniform(-1, 1, (2 * m + 300, r)).astype(np.float32)
    values = points.astype(np.float64) @ site_a.T - site_b
    ranked = np.sort(values, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-4 if k > 1 else np.ones(len(points), dtype=bool)
    margins = np.quantile(ranked[:, -1] - ranked[:, 0], np.linspace(0.05, 0.7, CLASSES - 1))
    limits = np.append(margins, np.inf).astype(np.float32)
    return site_a, site_b, points[clear][:m], np.tile(limits, (k, 1))


def _choose(site_a, site_b, points, limits, wanted=True):
    """Samples, and what is chosen among them, as the kernel that counts takes it."""
    (m, r), k = points.shape, len(site_a)
    samples, coarse = np.empty((m, r), np.float32), empty_pairs(m if COARSE else 0, r)
    owner = np.empty(m, np.uint16)
    starts, most = np.empty((m // BLOCK, k), np.int64), m * k + BLOCK
    chosen = np.empty(most, np.uint8), np.empty(most, np.uint8), np.empty(most, np.float32)
    single = SingleFunctions.of(site_a, site_b)
    columns = np.ascontiguousarray(points.T)
    n = choose_samples(
        columns, site_a, site_b, *single, limits, np.full(k, wanted), samples, coarse, owner, *chosen, starts
    )
    np.testing.assert_array_equal(samples, points)
    return (
        samples,
        coarse,
        owner,
        *(part[:n] for part in chosen),
        np.column_stack([starts, np.append(starts[1:, 0], n)]),
    )


@pytest.mark.parametrize(("m", "r", "k"), [(3072, 3, 5), (256, 1, 1), (768, 9, 12)])
def test_choose_samples(rng, m, r, k):
    """A margin within 1e-5 of a limit may round to the other side; such samples are not compared."""
    site_a, site_b, points, limits = _draw(rng, m, r, k)
    _, _, owner, places, classes, margins, starts = _choose(site_a, site_b, points, limits)
    expected_owner, expected, near = twin.choose_samples(points, site_a, site_b, limits)
    np.testing.assert_array_equal(owner, expected_owner)
    values = points.astype(np.float64) @ site_a.T - site_b
    for i in range(k):
        found = {}
        for b in range(m // BLOCK):
            part = slice(starts[b, i], starts[b, i + 1])
            samples = b * BLOCK + places[part].astype(int)
            found.update(zip(samples, classes[part].tolist(), strict=True))
            np.testing.assert_allclose(margins[part], values[samples].max(axis=1) - values[samples, i], atol=1e-5)
        assert {s: c for s, c in found.items() if s not in near[i]} == expected[i]
    assert not _choose(site_a, site_b, points, limits, wanted=False)[3].size


def test_owners_and_margins_of_sites_that_nearly_coincide(rng):
    """Single precision cannot tell these sites apart: owners and margins are those of double precision all the same."""
    r = 3
    site_a = np.vstack([np.full(r, 0.3) + 1e-9 * rng.normal(size=(4, r)), [[-0.5, 0.2, 0.1]]])
    site_b = np.square(site_a).sum(axis=1) / 4
    points = rng.uniform(-1, 1, (1024, r)).astype(np.float32)
    _, _, owner, places, _, margins, starts = _choose(site_a, site_b, points, np.full((5, CLASSES), np.inf, np.float32))
    values = (site_a[:, None] * points.astype(np.float64)).sum(axis=2) - site_b[:, None]
    best = values.max(axis=0)
    assert (best - values[owner, np.arange(1024)] <= 1e-15).all()
    assert len(set(owner.tolist())) == 5
    first = places[starts[0, 1] : starts[0, 2]]
    np.testing.assert_allclose(margins[starts[0, 1] : starts[0, 2]], (best - values[1])[first], rtol=1e-4, atol=1e-15)


@pytest.mark.parametrize("r", [1, 2, 3, 4, 7, 9, 50])
def test_banks_count_what_is_stolen(rng, r):
    """Choosing and counting together, against weights summed over all samples in double precision. Float32 sums may
    move a sample across a plane only if it lies within 1e-4 of it; such samples are left out."""
    k, n = 5, 13
    site_a, site_b, points, limits = _draw(rng, 6000, r, k)
    query_a, query_b = site_a[rng.integers(k, size=n)] + 0.3 * rng.normal(size=(n, r)), rng.normal(size=n)
    values = points.astype(np.float64) @ site_a.T - site_b
    gaps = points.astype(np.float64) @ query_a.T - query_b - values.max(axis=1)[:, None]
    points = points[(np.abs(gaps) > 1e-4).all(axis=1)][: 12 * BLOCK]
    points = np.ascontiguousarray(points[: len(points) // BLOCK * BLOCK])
    chosen = _choose(site_a, site_b, points, limits)
    _, _, owner, places, classes, _, starts = chosen
    rows, firsts, sites = np.array([3, 0, 7, 9, 1]), np.array([0, 2, 4, 5]), np.array([4, 0, 2])
    sums, squares = np.zeros((2, n, k), np.int64)
    count_stolen(rows, firsts, sites, query_a, query_b, site_a, site_b, *chosen, sums, squares)
    for piece, site in enumerate(sites):
        parts = [np.arange(a, b) for a, b in zip(starts[:, site], starts[:, site + 1], strict=True)]
        part = np.concatenate(parts)
        samples = np.repeat(np.arange(len(parts)), [len(some) for some in parts]) * BLOCK + places[part]
        expected = twin.count_stolen(
            query_a, query_b, site_a, site_b, points[samples], owner[samples].astype(int), classes[part]
        )
        mine = rows[firsts[piece] : firsts[piece + 1]]
        np.testing.assert_array_equal(sums[mine], expected[0][mine])
        np.testing.assert_array_equal(squares[mine], expected[1][mine])
    assert not np.delete(sums, rows, axis=0).any(), "other queries are left alone"


@pytest.mark.parametrize("size", [1.0, 1e-36, 1e-18, 1e18, 1e36])
@pytest.mark.parametrize("r", [1, 2, 5, 49, 127])
def test_samples_on_the_border_are_decided_in_single_precision(rng, r, size):
    """The plane of each query goes through a sample, up to rounding: integers cannot tell, and must not decide."""
    k, n = 3, 200
    site_a, site_b = rng.normal(size=(k, r)), np.zeros(k)
    site_a[0] = 0.0
    points = rng.uniform(-1, 1, (2 * BLOCK, r)).astype(np.float32)
    points[:4] = np.sign(points[:4])
    chosen = _choose(site_a, site_b, points, np.full((k, CLASSES), np.inf, np.float32))
    samples, _, _, places, classes, margins, starts = chosen
    query_a = size * rng.normal(size=(n, r)) * (10.0 ** rng.integers(-3, 1, (n, r)))
    query_a[0], query_a[1, 1:] = 0.0, 0.0
    part = np.concatenate([np.arange(starts[b, 0], starts[b, 1]) for b in range(2)])
    y, margin = samples[np.repeat([0, BLOCK], np.diff(starts)[:, 0]) + places[part]], margins[part]
    touched = np.arange(n) % len(part)
    query_b = (query_a * y[touched]).sum(axis=1) - margin[touched]
    value = np.float32(-query_b)[:, None] - margin
    exact = value.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for c in range(r):
            # Products of two single-precision numbers are exact in double precision: fused, the sum is rounded once.
            slope = query_a[:, c].astype(np.float32)
            value = (slope[:, None].astype(np.float64) * y[:, c] + value).astype(np.float32)
            exact += slope[:, None].astype(np.float64) * y[:, c]
    weights = 2 ** classes[part].astype(np.int64)
    sums, squares = np.zeros((2, n, k), np.int64)
    count_stolen(
        np.arange(n), np.array([0, n]), np.array([0]), query_a, query_b, site_a, site_b, *chosen, sums, squares
    )
    np.testing.assert_array_equal(sums.sum(axis=1), (value >= 0) @ weights)
    np.testing.assert_array_equal(squares.sum(axis=1), (value >= 0) @ weights**2)
    if size == 1.0 and r > 2:
        assert ((value >= 0) != (exact >= 0)).any(), "rounding decides some of them"


def test_the_heaviest_bank_does_not_overflow():
    """All 2**18 samples of a round are stolen, each of the heaviest class for which its place is chosen."""
    levels = np.minimum(np.log2(BLOCK / (BLOCK - np.arange(BLOCK))).astype(int), CLASSES - 1)
    assert 2**18 // BLOCK * (4**levels).sum() < 2**31


def test_weighted_shares_of_equal_weights_are_those_of_plain_counting(rng):
    """With one weight for all, errors are binomial ones with two successes and two failures added."""
    counts = rng.integers(0, 40, (30, 6))
    shares, errors, totals, worst = np.zeros((30, 6)), np.zeros((30, 6)), np.zeros(30), np.zeros(30)
    weighted_shares(4 * counts, 16 * counts, np.arange(30), shares, errors, totals, worst)
    np.testing.assert_allclose(shares, counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(errors, binomial_errors(counts, counts.sum(axis=1)), rtol=1e-12)
    np.testing.assert_array_equal(totals, 4 * counts.sum(axis=1))
    np.testing.assert_array_equal(worst, errors.max(axis=1))


@pytest.mark.parametrize("r", [1, 2, 3, 4, 5])
def test_simplex_share_against_volumes(rng, r):
    """The recursion against the volume of the unit simplex cut by a half-space, from Qhull."""
    walls = np.vstack([-np.eye(r), np.ones((1, r)) / np.sqrt(r)])
    offsets = np.append(np.zeros(r), 1 / np.sqrt(r))
    whole = polytope_volume(walls, offsets)
    corners = np.vstack([np.zeros(r), np.eye(r)])
    for _ in range(20):
        slope, constant = rng.normal(size=r), rng.normal() / 3
        values = constant + corners @ slope
        norm = np.linalg.norm(slope)
        part = polytope_volume(np.vstack([walls, slope / norm]), np.append(offsets, -constant / norm))
        assert twin.simplex_share(values) == pytest.approx(part / whole, abs=1e-9)


@pytest.mark.parametrize("from_home", [False, True])
@pytest.mark.parametrize("r", [1, 2, 3, 6])
def test_stolen_volumes(rng, r, from_home):
    """Gaps from the functions, and the same gaps from the clearance at home."""
    n, cells, simplices_each = 20, 3, 4
    n_vertices = cells * (r + 4)
    vertices = rng.normal(size=(r, n_vertices))
    site_a, site_b = rng.normal(size=(cells, r)), rng.normal(size=cells)
    cell = np.repeat(np.arange(cells), r + 4)
    values = site_b[cell] - (site_a[cell] * vertices.T).sum(axis=1)
    simplices = np.vstack(
        [i * (r + 4) + rng.permutation(r + 4)[: r + 1] for i in range(cells) for _ in range(simplices_each)]
    ).astype(np.int32)
    volumes = rng.uniform(0.1, 1, len(simplices))
    vertex_start = np.arange(cells + 1) * (r + 4)
    simplex_start = np.arange(cells + 1) * simplices_each
    cell_volumes = volumes.reshape(cells, -1).sum(axis=1)
    query_a, query_b, home = rng.normal(size=(n, r)), rng.normal(size=n), rng.normal(size=(n, r))
    clearance = (site_b - home @ site_a.T) - (query_b - (query_a * home).sum(axis=1))[:, None]
    stolen, depth = np.empty((n, cells)), np.empty(n)
    stolen_volumes(
        query_a, query_b, home, clearance if from_home else np.empty((0, cells)), 0.5, site_a, np.ones(r), vertices,
        values, vertex_start, simplices, volumes, simplex_start, cell_volumes, stolen, depth,
    )  # fmt: skip
    for q in range(n):
        gap = query_b[q] - query_a[q] @ vertices - values
        if from_home:
            again = twin.gap_from_home(query_a[q], home[q], clearance[q], 0.5, site_a, vertices, cell)
            steepness = 0.5 + np.abs(query_a[q] - site_a).sum(axis=1)
            np.testing.assert_allclose(again, gap / steepness[cell], rtol=1e-9, atol=1e-12)
            gap = again
        for i in range(cells):
            own = range(i * simplices_each, (i + 1) * simplices_each)
            expected = sum(volumes[s] * twin.simplex_share(gap[simplices[s]]) for s in own)
            assert stolen[q, i] == pytest.approx(expected, rel=1e-12, abs=1e-15)
        assert depth[q] == pytest.approx(max(0.0, -gap.min()), rel=1e-12)


def _chain_input(rng, r, k, n_steps):
    site_a = rng.normal(size=(k, r))
    query_a = rng.normal(size=(6, r)) * 0.3
    axes = np.arange(n_steps) % (r + 1)
    axes[axes == r] = -1
    directions = rng.normal(size=(n_steps, r))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions[axes >= 0] = np.eye(r)[axes[axes >= 0]]
    return site_a, query_a, axes, directions, rng.random(n_steps)


@pytest.mark.parametrize("kind", ["cube", "ball", "walls"])
@pytest.mark.parametrize("r", [1, 2, 4])
def test_walk_cells_follows_its_twin(rng, kind, r):
    """Position and counts of 240 steps, in float64. The kernel keeps slacks in float32, which moves a few owners."""
    k, n_batches = 4, 3
    site_a, query_a, axes, directions, jumps = _chain_input(rng, r, k, 240)
    walls, wall_offsets = np.empty((0, r)), np.empty(0)
    half_width, radius = np.inf, np.inf
    if kind == "cube":
        half_width = 1.0
    elif kind == "ball":
        radius = 1.0
    else:
        walls = np.vstack([np.eye(r), -np.eye(r), np.ones((1, r)) / np.sqrt(r)])
        wall_offsets = np.append(np.ones(2 * r), 0.9)
    free = directions[axes < 0]
    rows = np.where(axes < 0, r - 1 + np.cumsum(axes < 0), axes)
    site_rates, wall_rates = (np.vstack([normals.T, free @ normals.T]) for normals in (site_a, walls))
    rounded = site_rates.astype(np.float32)
    site_rates = np.stack([rounded, (site_rates - rounded).astype(np.float32)], axis=1)
    origin = query_a / 2
    clearance = ((origin[:, None] - site_a / 2) ** 2).sum(axis=2)
    counts = np.zeros((len(query_a), n_batches, k), np.int32)
    end = np.full(origin.shape, 1e-3)
    walk_cells(
        query_a, site_a, clearance, walls, wall_offsets, half_width, radius,
        rows, free, site_rates, wall_rates, jumps, origin, end, counts,
    )  # fmt: skip
    for q in range(len(query_a)):
        z, expected = twin.walk_cell(
            query_a[q], site_a, clearance[q], (walls, wall_offsets, half_width, radius),
            (axes, directions, jumps), origin[q], np.full(r, 1e-3), n_batches,
        )  # fmt: skip
        assert np.abs(counts[q] - expected).sum() <= 4
        np.testing.assert_allclose(end[q], z, atol=1e-4)
    assert (counts.sum(axis=2) == 80).all()
