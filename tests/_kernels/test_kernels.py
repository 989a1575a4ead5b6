"""Each kernel against its plain twin."""

import numpy as np
import pytest

from allegiance._kernels.affine_block import BLOCK, LANES
from allegiance._kernels.counting import (
    count_owners,
    group_by_owner,
    own_and_other_squares,
    owners_at,
    owners_of,
    project_rows,
    weighted_shares,
)
from allegiance._kernels.cutting import stolen_volumes
from allegiance._kernels.pcg64 import draw_uniform
from allegiance._kernels.reflecting import SIZE, count_reflected, empty_blocks, own_samples
from allegiance._kernels.walking import walk_cells
from allegiance.engines import binomial_errors
from allegiance.engines._tessellation import SingleFunctions
from reference import kernels as twin


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
    """Of equals the first is the owner."""
    site_a, site_b, positions = rng.normal(size=(k, r)), rng.normal(size=k), rng.normal(size=(n, r))
    site_a, site_b = np.vstack([site_a, site_a]), np.append(site_b, site_b)
    site_b[k:] += rng.integers(2, size=k)
    owner = np.empty(n, np.int64)
    owners_at(positions, np.ascontiguousarray(site_a.T), site_b, owner)
    np.testing.assert_array_equal(owner, (site_b - positions @ site_a.T).argmin(axis=1))
    site_b[0] = np.inf
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


def _base_samples(rng, n, r, clear=None):
    """Blocks of base samples; with ``clear`` those all of whose reflections pass this test."""
    blocks, kept = empty_blocks(n, r), np.zeros((r, 0), np.float32)
    while kept.shape[1] < n * 16:
        base = rng.uniform(-1, 1, (r, n * 16)).astype(np.float32)
        if clear is not None:
            each = twin.reflections(np.ascontiguousarray(base.T)[:, :, None], r).reshape(n * 16, -1, r)
            base = base[:, clear(each).all(axis=1)]
        kept = np.hstack([kept, base])
    blocks[:, :r], blocks[:, r:] = kept[:, : n * 16].reshape(r, n, 16).transpose(1, 0, 2), 0.0
    return blocks


def _own(blocks, site_a, site_b):
    """The functions of the sites and the samples, as the kernel that counts takes them."""
    wide = np.zeros((len(site_a), blocks.shape[1]))
    wide[:, : site_a.shape[1]] = site_a
    slopes, constants, close = SingleFunctions.of(wide, site_b)
    owner, highest = (np.empty((len(blocks), SIZE), kind) for kind in (np.int32, np.float32))
    functions = site_a, site_b, slopes[: len(site_a)], constants[: len(site_a)], close
    own_samples(blocks, *functions, highest, owner)
    return (*functions, blocks, highest, owner)


@pytest.mark.parametrize(("r", "k"), [(1, 1), (3, 5), (32, 4), (33, 40), (70, 9)])
def test_owners_of_reflected_samples(rng, r, k):
    site_a, site_b = rng.normal(size=(k, r)), rng.normal(size=k)
    blocks = _base_samples(rng, 3, r)
    *_, highest, owner = _own(blocks, site_a, site_b)
    values = twin.reflections(blocks, r) @ site_a.T - site_b
    np.testing.assert_array_equal(owner, values.argmax(axis=2))
    np.testing.assert_allclose(highest, values.max(axis=2), atol=1e-5)


def test_owners_and_counts_of_sites_that_nearly_coincide(rng):
    """Single precision cannot tell these sites apart: owners and counts are those of double precision all the same."""
    r = 40
    site_a = np.vstack([np.full(r, 0.3) + 1e-9 * rng.normal(size=(4, r)), rng.normal(size=(1, r))])
    site_b = np.square(site_a).sum(axis=1) / 4
    samples = _own(_base_samples(rng, 2, r), site_a, site_b)
    points, owner = twin.reflections(samples[-3], r), samples[-1]
    values = points @ site_a.T - site_b
    assert len(set(owner.ravel().tolist())) == 5
    assert (values.max(axis=2) - np.take_along_axis(values, owner[..., None], 2)[..., 0] <= 1e-14).all()
    tally = np.zeros((3, 1, 5), np.int64)
    query_a, query_b = site_a[:1] + 1e-9 * rng.normal(size=(1, r)), site_b[:1]
    count_reflected(np.arange(1), np.array([0, 1]), np.array([1]), query_a, query_b, *samples, *tally)
    others = site_a[owner]
    gap = ((query_a[0] - others) * points).sum(axis=2) - (query_b[0] - site_b[owner])
    counts = [np.bincount(owner[gap >= limit], minlength=5) for limit in (1e-15, -1e-15)]
    assert (np.diff([counts[0], tally[0, 0], counts[1]], axis=0) >= 0).all()
    assert counts[1].sum() - counts[0].sum() < 5 < counts[0].sum()


@pytest.mark.parametrize("r", [1, 3, 31, 32, 33, 70])
def test_count_reflected(rng, r):
    """Against counts in double precision. Float32 sums may move a sample across a plane only if it lies within 1e-5 of
    it; base samples of which a reflection does are left out."""
    k, n = 5, 13
    site_a, site_b = rng.normal(size=(k, r)), rng.normal(size=k)
    query_a, query_b = site_a[rng.integers(k, size=n)] + 0.3 * rng.normal(size=(n, r)), rng.normal(size=n)

    def gaps(points):
        return points @ query_a.T - query_b - (points @ site_a.T - site_b).max(axis=-1)[..., None]

    blocks = _base_samples(rng, 3, r, lambda points: (np.abs(gaps(points)) > 1e-5).all(axis=2))
    samples = _own(blocks, site_a, site_b)
    stolen = gaps(twin.reflections(blocks, r)) >= 0
    rows, firsts, sites = np.array([3, 0, 7, 9, 1]), np.array([0, 2, 4, 5]), np.array([4, 0, 2])
    tally = np.zeros((3, n, k), np.int64)
    count_reflected(rows, firsts, sites, query_a, query_b, *samples, *tally)
    for x in rows:
        np.testing.assert_array_equal(tally[:, x], twin.count_clusters(stolen[..., x], samples[-1], k))
    assert not np.delete(tally, rows, axis=1).any(), "other queries are left alone"


@pytest.mark.parametrize("size", [1.0, 2.0**-60, 2.0**60])
@pytest.mark.parametrize("r", [1, 5, 32, 127])
def test_samples_on_the_border_are_stolen(rng, r, size):
    """Whole numbers, so that all sums are exact: many samples lie on the plane of a query, and these count."""
    k, n = 3, 40
    site_a, query_a = (size * rng.integers(-3, 4, (rows, r)).astype(float) for rows in (k, n))
    site_b, query_b = (size * rng.integers(-2, 3, rows).astype(float) for rows in (k, n))
    blocks = _base_samples(rng, 2, r)
    blocks[:, :r] = rng.integers(-4, 5, (2, r, 16))
    samples = _own(blocks, site_a, site_b)
    points = twin.reflections(blocks, r)
    values = points @ site_a.T - site_b
    gaps = points @ query_a.T - query_b - values.max(axis=2)[..., None]
    assert (gaps == 0).any(axis=(0, 1)).sum() > 5
    tally = np.zeros((3, n, k), np.int64)
    count_reflected(np.arange(n), np.array([0, n]), np.array([0]), query_a, query_b, *samples, *tally)
    np.testing.assert_array_equal(tally[0].sum(axis=1), (gaps >= 0).sum(axis=(0, 1)))


def test_weighted_shares_are_those_of_a_ratio_of_sums(rng):
    """Against the variance of a ratio estimate, of clusters of independent and of equal hits."""
    hits = rng.poisson(rng.uniform(0, 3, (1, 40_000, 6)) * [1, 2, 3, 4, 5, 0.5])
    sums, squares, products = (hits * other for other in (1, hits, hits.sum(axis=2, keepdims=True)))
    shares, errors, totals, worst = np.zeros((1, 6)), np.zeros((1, 6)), np.zeros(1), np.zeros(1)
    counts = [each.sum(axis=1) for each in (sums, squares, products)]
    weighted_shares(*counts, np.arange(1), shares, errors, totals, worst)
    share = hits.sum(axis=1) / hits.sum()
    residual = hits[0] - share * hits[0].sum(axis=1, keepdims=True)
    expected = np.sqrt((residual**2).sum(axis=0)) / hits.sum()
    np.testing.assert_allclose(shares, share)
    assert (expected > np.sqrt(share * (1 - share) / hits.sum())).sum() > 3, "most clusters are not independent samples"
    np.testing.assert_allclose(errors[0], np.maximum(expected, np.sqrt(share * (1 - share) / hits.sum()))[0], rtol=0.02)


def test_weighted_shares_of_equal_weights_are_those_of_plain_counting(rng):
    """With clusters of one sample, errors are binomial ones with two successes and two failures added."""
    counts = rng.integers(0, 40, (30, 6))
    shares, errors, totals, worst = np.zeros((30, 6)), np.zeros((30, 6)), np.zeros(30), np.zeros(30)
    weighted_shares(counts, counts, counts, np.arange(30), shares, errors, totals, worst)
    np.testing.assert_allclose(shares, counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(errors, binomial_errors(counts, counts.sum(axis=1)), rtol=1e-12)
    np.testing.assert_array_equal(totals, counts.sum(axis=1))
    np.testing.assert_array_equal(worst, errors.max(axis=1))


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


@pytest.mark.parametrize("kind", ["cube", "ball", "walls"])
@pytest.mark.parametrize("r", [1, 2, 4])
def test_walk_cells_follows_its_twin(rng, kind, r):
    """Position and counts of 240 steps, in float64. The kernel keeps slacks in float32, which moves a few owners."""
    k, n_batches, axes = 4, 3, np.arange(240) % (r + 1)
    site_a, query_a, jumps = rng.normal(size=(k, r)), 0.3 * rng.normal(size=(6, r)), rng.random(240)
    # Steps along each axis, and every r + 1 steps in a free direction.
    free = rng.normal(size=(240 // (r + 1), r))
    free /= np.linalg.norm(free, axis=1, keepdims=True)
    rows = np.where(axes == r, r - 1 + np.cumsum(axes == r), axes)
    directions = np.vstack([np.eye(r), free])[rows]
    half_width, radius = (1.0 if kind == name else np.inf for name in ("cube", "ball"))
    walls, wall_offsets = np.empty((0, r)), np.empty(0)
    if kind == "walls":
        walls = np.vstack([np.eye(r), -np.eye(r), np.ones((1, r)) / np.sqrt(r)])
        wall_offsets = np.append(np.ones(2 * r), 0.9)
    site_rates, wall_rates = (np.vstack([normals.T, free @ normals.T]) for normals in (site_a, walls))
    rounded = site_rates.astype(np.float32)
    site_rates = np.stack([rounded, (site_rates - rounded).astype(np.float32)], axis=1)
    origin = query_a / 2
    clearance = ((origin[:, None] - site_a / 2) ** 2).sum(axis=2)
    counts, end = np.zeros((len(query_a), n_batches, k), np.int32), np.full(origin.shape, 1e-3)
    walk_cells(
        query_a, site_a, clearance, walls, wall_offsets, half_width, radius,
        rows, free, site_rates, wall_rates, jumps, origin, end, counts,
    )  # fmt: skip
    domain = walls, wall_offsets, half_width, radius
    for q in range(len(query_a)):
        chain = clearance[q], domain, (directions, jumps), origin[q], np.full(r, 1e-3), n_batches
        z, expected = twin.walk_cell(query_a[q], site_a, *chain)
        assert np.abs(counts[q] - expected).sum() <= 4
        np.testing.assert_allclose(end[q], z, atol=1e-4)
    assert (counts.sum(axis=2) == 80).all()
